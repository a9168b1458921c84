//! The program recovers from failures of its dependencies, without a restart and without acting on
//! stale data.

use http::{Method, StatusCode};

use crate::e2e::support::{
    ControlPlane, Launch, Policy, Process, Proxy, evictions, rounds::another_eviction, say, scene,
};

/// Evicts one pod per cycle, so that some are left to evict after the failure.
const SLOWLY: Policy =
    Policy { limits: "{perCycle: 1, perWorkload: 100%}", stale_after: "30s", ..Policy::USUAL };

/// A cycle in which nothing was decided.
const WAITING: &[&str] = &["\"outcome\":\"waiting\""];

#[test]
fn it_goes_on_after_the_api_server_was_restarted() {
    scene::with(scene::more_lopsided, async |control_plane| {
        let mut process = Launch::new(control_plane, &SLOWLY).await.run(&[]);
        another_eviction(control_plane, &mut process, 180).await;
        control_plane.component("restart", "apiserver");
        let seconds = another_eviction(control_plane, &mut process, 240).await;
        say(&format!("API server restarted: the next eviction {seconds} s later"));
    });
}

#[test]
fn it_waits_while_there_are_no_metrics() {
    scene::with_rights(async |control_plane| {
        let (proxy, mut process) = started(control_plane).await;

        let complaints = process.warnings();
        let outage =
            proxy.answer(StatusCode::SERVICE_UNAVAILABLE, &[Method::GET], "/apis/metrics.k8s.io");
        // The program may act on the last samples until they are stale, after 30 s.
        process.cycles(5, 120).await;
        let before = evictions(control_plane).len();
        process.cycles(8, 180).await;
        assert_eq!(evictions(control_plane).len(), before, "evicted on stale metrics");
        assert!(process.warnings() > complaints, "the log says nothing of the missing metrics");
        drop(outage);
        let seconds = another_eviction(control_plane, &mut process, 180).await;
        say(&format!(
            "no metrics for two minutes: the next eviction {seconds} s after they were back"
        ));
    });
}

#[test]
fn it_waits_while_its_watches_are_cut() {
    scene::with_rights(async |control_plane| {
        let (proxy, mut process) = started(control_plane).await;

        let complaints = process.warnings();
        let (lists, gone) = ("/api/v1/pods", "watch=true");
        let outages = [lists, gone]
            .map(|text| proxy.answer(StatusCode::SERVICE_UNAVAILABLE, &[Method::GET], text));
        proxy.cut_watches();
        process.cycles(2, 120).await;
        let before = evictions(control_plane).len();
        process.cycles(4, 150).await;
        assert_eq!(
            evictions(control_plane).len(),
            before,
            "evicted on a stale picture of the cluster"
        );
        assert!(process.warnings() > complaints, "the log says nothing of the watches");
        drop(outages);
        let seconds = another_eviction(control_plane, &mut process, 240).await;
        say(&format!(
            "watches cut for a minute: the next eviction {seconds} s after they were back"
        ));

        // A single cut that the server accepts again at once delays no cycle. Pauses grow with cuts
        // in a row, and two cuts are in a row unless the watch lasted 15 s between them.
        process.cycles(3, 90).await;
        let waits = process.count(WAITING);
        proxy.cut_watches();
        process.cycles(3, 90).await;
        assert_eq!(process.count(WAITING), waits);
    });
}

/// A program behind a proxy that has made an eviction.
async fn started(control_plane: &ControlPlane) -> (Proxy, Process) {
    scene::more_lopsided(control_plane).await;
    let proxy = Proxy::start(control_plane).await;
    let launch = Launch::by(control_plane, &SLOWLY, &proxy.url()).await;
    let mut process = launch.run(&[]);
    another_eviction(control_plane, &mut process, 180).await;
    (proxy, process)
}
