//! Do the simulator and a real control plane come to the same? The built-in scenarios, cut to minutes, in both.
//!
//! All but `large`, which is for speed: its thousand nodes and thirty thousand pods are more than a
//! control plane beside other tests can take in minutes.

mod manifests;
mod player;
mod short;

use std::sync::Mutex;

use evenkeel::simulate;
use evenkeel::simulate::trace::Trace;

use crate::kit::audit::evictions;
use crate::kit::control_plane::on_a_bed;
use crate::kit::process::Launch;
use crate::kit::scene;
use crate::kit::wait::say;

use player::Player;
use short::Cut;

/// As many as there may be control planes.
const SIDE_BY_SIDE: usize = 3;
/// Each ends when things have long been quiet, and the day of `daily-wave` takes five minutes: a shorter one would be over
/// before metrics have shown it. The longest first.
const CUTS: [Cut; 8] = [
    Cut {
        scenario: "daily-wave",
        faster: 288,
        end: 300,
    },
    Cut {
        scenario: "noisy-neighbour",
        faster: 10,
        end: 255,
    },
    Cut {
        scenario: "late-nodes",
        faster: 60,
        end: 120,
    },
    Cut {
        scenario: "forty-replicas",
        faster: 30,
        end: 120,
    },
    Cut {
        scenario: "consolidation",
        faster: 30,
        end: 90,
    },
    Cut {
        scenario: "dead-loop",
        faster: 30,
        end: 75,
    },
    Cut {
        scenario: "two-workers",
        faster: 30,
        end: 60,
    },
    Cut {
        scenario: "third-node",
        faster: 30,
        end: 60,
    },
];

#[test]
fn simulate_and_the_testbed_agree() {
    let queue = Mutex::new(CUTS.into_iter());
    let next = || queue.lock().unwrap().next();
    std::thread::scope(|threads| {
        for _ in 0..SIDE_BY_SIDE {
            threads.spawn(|| {
                while let Some(cut) = next() {
                    in_both(cut);
                }
            });
        }
    });
}

fn in_both(cut: Cut) {
    let (scenario, policy) = cut.make();
    on_a_bed(async |control_plane| {
        let foreseen = simulate::run(&scenario, policy.clone(), "short", |_| {});
        scene::rights(control_plane);
        let player = Player {
            control_plane,
            scenario: &scenario,
        };
        player.set().await;
        let launch = Launch::written(control_plane, &policy.to_native()).await;
        let config = control_plane.dir.join("scheduler.yaml");
        let mut process = launch.run(&["--scheduler-config", config.to_str().unwrap()]);
        let wanted = usize::try_from(foreseen.summary.evictions).unwrap();
        player
            .play(&mut process, || evictions(control_plane).len() >= wanted)
            .await;
        process.stop(30).await;
        compare(
            &foreseen,
            evictions(control_plane).len(),
            player.balance().await,
        );
    });
}

fn compare(foreseen: &Trace, evictions: usize, (deviation, above): (f64, f64)) {
    let summary = &foreseen.summary;
    let cpu = summary.after["cpu"];
    let simulated = (cpu.deviation.get() * 100.0, cpu.above_mean.get() * 100.0);
    say(&format!(
        "{}: evictions {} simulated, {evictions} real; cpu at the end: deviation {:.1} % simulated, {deviation:.1} % real; \
         fullest above the mean by {:.1} % simulated, {above:.1} % real",
        foreseen.scenario, summary.evictions, simulated.0, simulated.1
    ));
    let apart = usize::try_from(summary.evictions)
        .unwrap()
        .abs_diff(evictions);
    assert!(
        apart <= 1,
        "{}: evictions differ by {apart}",
        foreseen.scenario
    );
    let far = (simulated.0 - deviation)
        .abs()
        .max((simulated.1 - above).abs());
    assert!(
        far <= 2.0,
        "{}: balance differs by {far:.1} points",
        foreseen.scenario
    );
}
