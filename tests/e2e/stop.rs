//! A stop ends the program soon even if requests hang, and nothing is evicted after it.

use http::Method;

use crate::e2e::support::{
    ControlPlane, Launch, Policy, Process, Proxy, Stage, evictions, ledger, say, scene, that,
};

/// The seconds that a pod has by default before it is killed, less a margin.
const LONGEST: u64 = 25;
const WRITES: &[Method] = &[Method::PUT, Method::PATCH, Method::POST];

/// A program that leads, on a lopsided cluster behind a proxy.
async fn started(control_plane: &ControlPlane) -> (Proxy, Process) {
    scene::more_lopsided(control_plane).await;
    let proxy = Proxy::start(control_plane).await;
    let policy = Policy { steering: "{taintHot: true}", ..Policy::USUAL };
    let launch = Launch::by(control_plane, &policy, &proxy.url()).await;
    (proxy, launch.run(&["--leader-elect"]))
}

#[test]
fn a_stop_while_everything_hangs_ends_the_program_and_its_plan() {
    scene::with_rights(async |control_plane| {
        let (proxy, mut process) = started(control_plane).await;
        let eviction = proxy.hold(Stage::Unanswered, &[Method::POST], "/eviction");
        eviction.caught(120).await;
        let _writes = proxy.hold(Stage::Unsent, WRITES, "/");
        let start = tokio::time::Instant::now();
        assert!(process.stop(LONGEST).await.success());
        say(&format!("stopped within {} s while each write hung", start.elapsed().as_secs()));
        let evicted = evictions(control_plane);
        let written: Vec<_> = ledger::entries(control_plane).await;
        assert_eq!(evicted.len(), 1, "the one that was in flight");
        assert!(written.iter().any(|e| ledger::pod(e) == evicted[0].name));
    });
}

#[test]
fn a_stop_during_a_plan_makes_no_further_eviction_and_releases_the_lease_last() {
    scene::with_rights(async |control_plane| {
        let (proxy, mut process) = started(control_plane).await;
        let eviction = proxy.hold(Stage::Unanswered, &[Method::POST], "/eviction");
        eviction.caught(120).await;
        process.signal("TERM");
        process
            .eventually("the signal", 10, async |process| {
                let stopping = process.count(&["stopping on a signal"]);
                that(stopping == 1, "not noticed")
            })
            .await;
        eviction.release();
        assert!(process.ended(LONGEST).await.success());
        let made = evictions(control_plane).len();
        assert_eq!(made, 1, "the one that was in flight");
        let outcomes = ledger::entries(control_plane).await;
        let states: Vec<_> = outcomes.iter().map(|e| e["state"].to_string()).collect();
        assert_eq!(states, ["\"evicted\""], "the others are withdrawn");
        let log = process.log();
        let line = |words: &str| log.iter().position(|line| line.contains(words));
        let (lease, taint) = (line("released the lease"), line("\"action\":\"remove\""));
        assert!(lease.is_some() && taint.is_none_or(|taint| Some(taint) < lease));
    });
}
