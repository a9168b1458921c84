//! The simulator and a real control plane give the same result for the built-in scenarios,
//! shortened to minutes.
//!
//! `large` is left out. It measures speed, and a control plane beside other tests cannot create its
//! 30,000 pods in minutes. So is `noisy-neighbour`: whether a burst is a peak that passes shows
//! after a quarter of an hour, however short the scenario is. Each scenario ends when nothing has
//! changed for a while.

mod manifests;
mod player;
mod short;

use evenkeel::simulate;
use evenkeel::simulate::trace::Trace;

use crate::e2e::support::{Launch, evictions, say, scene};

use player::Player;
use short::Cut;

/// The day of `daily-wave` takes five minutes: in a shorter one, usage would change faster than
/// metrics show it.
#[test]
fn daily_wave_agrees() {
    in_both(Cut { scenario: "daily-wave", faster: 288, end: 300 });
}

#[test]
fn late_nodes_agrees() {
    in_both(Cut { scenario: "late-nodes", faster: 60, end: 120 });
}

#[test]
fn forty_replicas_agrees() {
    in_both(Cut { scenario: "forty-replicas", faster: 30, end: 120 });
}

#[test]
fn consolidation_agrees() {
    in_both(Cut { scenario: "consolidation", faster: 30, end: 90 });
}

#[test]
fn dead_loop_agrees() {
    in_both(Cut { scenario: "dead-loop", faster: 30, end: 75 });
}

#[test]
fn two_workers_agrees() {
    in_both(Cut { scenario: "two-workers", faster: 30, end: 60 });
}

#[test]
fn third_node_agrees() {
    in_both(Cut { scenario: "third-node", faster: 30, end: 60 });
}

/// Runs the scenario in the simulator and on a control plane, and compares evictions and balance.
fn in_both(cut: Cut) {
    let (scenario, policy) = cut.make();
    scene::with_rights(async |control_plane| {
        let foreseen = simulate::run(&scenario, policy.clone(), "short", |_| {});
        let player = Player { control_plane, scenario: &scenario };
        player.set().await;
        let launch = Launch::written(control_plane, &policy.to_native()).await;
        let config = control_plane.dir.join("scheduler.yaml");
        let mut process = launch.run(&["--scheduler-config", config.to_str().unwrap()]);
        let wanted = usize::try_from(foreseen.summary.evictions).unwrap();
        player.play(&mut process, || evictions(control_plane).len() >= wanted).await;
        process.stop(30).await;
        let (deviation, above) = player.balance().await;
        compare(&foreseen, evictions(control_plane).len(), deviation, above);
    });
}

fn compare(foreseen: &Trace, evictions: usize, deviation: f64, above: f64) {
    let summary = &foreseen.summary;
    let cpu = summary.after["cpu"];
    let simulated = (cpu.deviation.get() * 100.0, cpu.above_mean.get() * 100.0);
    say(&format!(
        "{}: evictions {} simulated, {evictions} real; cpu at the end: deviation {:.1} % \
         simulated, {deviation:.1} % real; fullest above the mean by {:.1} % simulated, {above:.1} \
         % real",
        foreseen.scenario, summary.evictions, simulated.0, simulated.1
    ));
    let apart = usize::try_from(summary.evictions).unwrap().abs_diff(evictions);
    assert!(apart <= 1, "{}: evictions differ by {apart}", foreseen.scenario);
    let far = (simulated.0 - deviation).abs().max((simulated.1 - above).abs());
    assert!(far <= 2.0, "{}: balance differs by {far:.1} points", foreseen.scenario);
}
