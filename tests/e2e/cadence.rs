//! When evenkeel acts: in its windows, and early when a node can take pods.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::e2e::support::{
    Launch, Policy, Process, even, evicted, evictions, present, say, scene, that,
};

const MINUTE: i64 = 60;

/// A time of day in UTC, as a policy has it.
fn time_of_day(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%H:%M").to_string()
}

/// The first full minute that is at least this far away.
fn full_minute_in(seconds: i64) -> Timestamp {
    let second = present().as_second() + seconds + MINUTE - 1;
    Timestamp::from_second(second - second % MINUTE).unwrap()
}

/// The sum of a metric's series that contain this text.
async fn sum(process: &Process, series: &str) -> f64 {
    let text = process.metrics().await;
    let values = text.lines().filter(|line| line.contains(series));
    values.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

#[test]
fn before_its_window_opens_it_plans_and_evicts_nothing() {
    scene::with(scene::lopsided, async |control_plane| {
        let opens = full_minute_in(3 * MINUTE);
        let window = format!(
            "{}-{}",
            time_of_day(opens),
            time_of_day(opens + jiff::SignedDuration::from_hours(1))
        );
        let policy = Policy::USUAL.by("") + &format!("windows: {{allow: [{window}]}}\n");
        let launch = Launch::written(control_plane, &policy).await;
        let mut process = launch.run(&[]);
        process
            .eventually("pods to stay because of the window", 170, async |process| {
                let kept = sum(process, "evenkeel_kept_pods{").await;
                let outside = sum(process, "code=\"outside-window\"").await;
                that(outside >= 1.0, format!("{kept} pods stay for other reasons"))
            })
            .await;
        assert_eq!(evictions(control_plane).len(), 0);
        even(control_plane, &mut process, 420).await;
        let made = evictions(control_plane);
        assert_eq!(made.len(), 3);
        assert!(made.iter().all(|e| e.at >= opens), "{opens}: {made:#?}");
    });
}

#[test]
fn a_node_that_can_take_pods_again_leads_to_an_early_cycle() {
    scene::with(scene::lopsided, async |control_plane| {
        scene::cordon(control_plane, &scene::names(2, 4)).await;
        let policy = Policy { interval: "30m", ..Policy::USUAL };
        let policy = policy.by("").replace("sustainedFor: 10s", "sustainedFor: 0s");
        let launch = Launch::written(control_plane, &policy).await;
        let mut process = launch.run(&[]);
        process
            .eventually("enough samples", 120, async |process| {
                let reads = sum(process, "evenkeel_source_reads_total{").await;
                that(reads >= 6.0, format!("{reads} reads"))
            })
            .await;
        assert_eq!(evictions(control_plane).len(), 0);
        let uncordoned = present();
        scene::uncordon(control_plane, &scene::names(2, 4)).await;
        process.says(&["cycle: early, nodes can take pods now"], 1, 60).await;
        evicted(control_plane, &mut process, 1, 60).await;
        let first = evictions(control_plane)[0].at;
        say(&format!(
            "early cycle: the first eviction {} s after the nodes could take pods, with an \
             interval of 30 minutes",
            first.duration_since(uncordoned).as_secs()
        ));
    });
}
