//! Probes report the state of the program, and the program ends on SIGTERM.

use http::Method;

use crate::e2e::support::{Launch, Policy, Proxy, Stage, scene, that};

#[test]
fn the_program_is_ready_after_its_first_lists_and_ends_on_sigterm() {
    scene::with_rights(async |control_plane| {
        scene::nodes(control_plane, 2).await;
        let proxy = Proxy::start(control_plane).await;
        let lists = proxy.hold(Stage::Unsent, &[Method::GET], "/api/v1/pods");
        let mut process = Launch::by(control_plane, &Policy::USUAL, &proxy.url()).await.run(&[]);
        lists.caught(30).await;
        process
            .eventually("the answer of a live process", 30, async |process| {
                that(process.probe("/healthz").await == Ok(200), "not alive")
            })
            .await;
        let early = process.probe("/readyz").await;
        assert!(early.as_ref().is_ok_and(|code| *code >= 500), "ready without the pods: {early:?}");

        lists.release();
        process
            .eventually("readiness", 60, async |process| {
                let code = process.probe("/readyz").await;
                that(code == Ok(200), format!("{code:?}"))
            })
            .await;
        let status = process.stop(5).await;
        assert!(status.success(), "{status}");
    });
}

/// The kubelet ends a pod whose liveness probe fails for a minute, and a run may observe for
/// longer.
#[test]
fn a_single_run_answers_the_probe_of_deschedulers_manifest() {
    scene::with_rights(async |control_plane| {
        scene::nodes(control_plane, 2).await;
        // Without usage the run waits.
        control_plane.component("stop", "metrics-server");
        let launch = Launch::new(control_plane, &Policy::USUAL).await;
        let mut process = launch.as_descheduler(&["--dry-run"]);
        process
            .eventually("the answer of a single run", 30, async |process| {
                that(process.probe_by_tls("/healthz").await == Ok(200), "not alive")
            })
            .await;
    });
}
