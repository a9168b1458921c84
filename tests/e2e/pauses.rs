//! A person pauses evictions by the command line and by kubectl, while a plan is carried out.

use http::Method;

use crate::e2e::support::{
    Launch, Policy, Proxy, Stage, eventually, evicted, evictions, scene, that,
};

#[test]
fn a_pause_stops_a_plan_that_is_being_carried_out_until_it_is_resumed() {
    scene::with(scene::more_lopsided, async |control_plane| {
        let proxy = Proxy::start(control_plane).await;
        let launch = Launch::by(control_plane, &Policy::USUAL, &proxy.url()).await.shown();
        let mut process = launch.run(&[]);
        let first = proxy.hold(Stage::Unanswered, &[Method::POST], "/eviction");
        first.caught(120).await;
        let said = Launch::as_person(
            control_plane,
            &["pause", "--reason", "incident 4711", "--for", "1h"],
        );
        assert!(said.starts_with("all evictions are paused by "), "{said}");
        watched(&launch, "incident 4711").await;
        first.release();
        process.cycles(3, 120).await;
        assert_eq!(evictions(control_plane).len(), 1, "the one in flight");
        let plan = launch.plan();
        let halted = plan["halted"].as_str().unwrap();
        assert!(halted.ends_with(": incident 4711"), "{halted}");
        let status = launch.status_text();
        assert!(status.contains("incident 4711"), "{status}");

        let said = Launch::as_person(control_plane, &["resume"]);
        assert!(said.starts_with("the cluster is no longer paused"), "{said}");
        evicted(control_plane, &mut process, 3, 240).await;
    });
}

#[test]
fn the_pods_of_a_namespace_stay_while_kubectl_pauses_it() {
    scene::with(scene::more_lopsided, async |control_plane| {
        let annotate =
            |what: &str| control_plane.kubectl(&["annotate", "namespace", "default", what]);
        annotate("evenkeel.io/pause=load test");
        let launch = Launch::new(control_plane, &Policy::USUAL).await;
        let mut process = launch.run(&[]);
        process.shows("code=\"paused\"", 240).await;
        assert!(evictions(control_plane).is_empty());
        let paused = &launch.plan()["paused"][0];
        assert_eq!(paused["namespace"], "default");
        assert_eq!(paused["pause"], "paused: load test");
        annotate("evenkeel.io/pause-");
        evicted(control_plane, &mut process, 1, 240).await;
    });
}

/// Waits until a plan of another process shows the pause, so that the API server has told all.
async fn watched(launch: &Launch, reason: &str) {
    eventually("the pause in a plan", 60, async || {
        let plan = launch.plan();
        let halted = plan["halted"].as_str().unwrap_or_default().to_owned();
        that(halted.contains(reason), halted)
    })
    .await;
}
