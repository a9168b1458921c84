//! A day's cycles in less than half an hour: the program runs at an interval of a second while pods
//! and nodes come and go, and must not grow. Run it with `tests/soak.sh`.
//!
//! The policy ends every pod that is older than a second, so evictions never stop. Every few
//! seconds, a new Deployment replaces the oldest of several, and a new node the oldest of several,
//! each with a name that never comes again. Every ten seconds the program is measured.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use crate::e2e::support::{ControlPlane, Launch, Process, scene};

use churn::Churn;
use sample::Sample;

mod churn;
mod growth;
mod sample;

/// Cycles of a day at an interval of a minute.
const DAY: usize = 1440;
/// The time between two samples.
const PERIOD: Duration = Duration::from_secs(10);
/// The time within which the program has to make its cycles, as a multiple of the shortest.
const PATIENCE: u64 = 3;

const POLICY: &str = "\
apiVersion: evenkeel/v1alpha1
kind: Policy
interval: 1s
usage: {poll: 5s, window: 40s, smoothing: mean, staleAfter: 90s, minSamples: 2}
evictable: {minPodAge: 0s}
limits: {perCycle: 3, perNode: none, perNamespace: none, perWorkload: 25%, perMinute: 60}
cooldown: {rest: 20s, cap: 1m}
safety: {maxNotReady: 60%, maxPending: 60%}
steering: {taintHot: true}
strategies:
- lowNodeUtilization: {thresholds: {cpu: 20%}, targetThresholds: {cpu: 30%}, sustainedFor: 10s}
- podLifeTime: {maxPodLifeTimeSeconds: 1}
";

/// Runs the program for this many cycles and fails if it grows.
pub(crate) fn soak(cycles: Option<usize>) {
    let cycles = cycles.unwrap_or(DAY);
    scene::with_rights(async |control_plane| {
        scene::nodes(control_plane, 6).await;
        scene::deployment(control_plane, "web", 40, "300m").await;
        let launch = Launch::written(control_plane, POLICY).await.shown();
        let mut process = launch.run(&["--leader-elect"]);
        let churn = Churn::of(control_plane);
        let samples = tokio::select! {
            () = churn.go_on() => unreachable!("the churn never ends"),
            samples = measured(control_plane, &launch, &mut process, cycles) => samples,
        };
        println!("{}", growth::table(&samples));
        let (table, flat) = growth::judged(&samples);
        println!("{table}\n{churn}");
        assert!(flat, "the program grows");
        let status = process.stop(25).await;
        assert!(status.success(), "{status}");
    });
}

/// Measures the program until it has made this many cycles.
async fn measured(
    control_plane: &ControlPlane,
    launch: &Launch,
    process: &mut Process,
    cycles: usize,
) -> Vec<Sample> {
    // The first plan waits for usage.
    process.cycles(1, 120).await;
    let began = Instant::now();
    let latest = began + Duration::from_secs(PATIENCE * cycles as u64 + 60);
    let mut samples: Vec<Sample> = Vec::new();
    let mut next = began;
    while samples.last().is_none_or(|last| last.cycles < cycles) {
        assert!(Instant::now() < latest, "too slow: {samples:#?}");
        next += PERIOD;
        sleep_until(next).await;
        let sample = Sample::take(control_plane, launch, process, began.elapsed()).await;
        eprintln!("{sample}");
        samples.push(sample);
    }
    // A request of the churn may be under way.
    sleep(Duration::from_secs(1)).await;
    samples
}
