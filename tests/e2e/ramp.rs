//! The ramp: a workload that its first eviction harms loses one pod, and a workload that stays well
//! loses all eight that have to leave.

use serde_json::Value;

use crate::e2e::support::{
    ControlPlane, Launch, Policy, Process, even, evictions, say, scene, that, usage,
};

const NO_LIMITS: Policy = Policy { limits: "{perNode: none, perWorkload: 100%}", ..Policy::USUAL };
/// Over in the third cycle after the first eviction.
const RAMP: &str = "ramp: {watch: 25s}\n";
const PODS: &str = "/api/v1/namespaces/default/pods?labelSelector=app%3Dweb";

/// Twelve pods on n1, of which eight have to leave, and three empty nodes.
async fn eight_too_many(control_plane: &ControlPlane) {
    scene::on_n1(control_plane, &[("web", 12, "900m")]).await;
}

/// Waits for the first eviction, and makes each replacement restart, as one that does not find what
/// it needs on its new node.
async fn harm_replacements(control_plane: &ControlPlane, process: &mut Process) {
    process
        .eventually("a replacement on another node", 240, async |_| {
            let pods = control_plane.list(PODS).await;
            let moved = pods.iter().filter(|pod| is_ready_elsewhere(pod));
            let names: Vec<String> = moved.map(usage::name).collect();
            for name in &names {
                let status = r#"{"status":{"containerStatuses":[{"name":"main","image":"main",
                    "imageID":"","ready":true,"started":true,"restartCount":3,
                    "state":{"running":{}}}]}}"#;
                control_plane.kubectl(&[
                    "patch",
                    "pod",
                    name,
                    "--subresource=status",
                    "-p",
                    status,
                ]);
            }
            that(!names.is_empty(), "none")
        })
        .await;
}

fn is_ready_elsewhere(pod: &Value) -> bool {
    scene::is_ready(pod) && !["", "n1"].contains(&scene::node_of(pod).as_str())
}

#[test]
fn a_workload_that_its_first_eviction_harms_loses_no_second_pod() {
    scene::with(eight_too_many, async |control_plane| {
        let policy = format!("{}{RAMP}", NO_LIMITS.by(""));
        let launch = Launch::written(control_plane, &policy).await.shown();
        let mut process = launch.run(&[]);
        harm_replacements(control_plane, &mut process).await;
        process.says(&["\"code\":\"got-worse\"", "restarted more often"], 1, 90).await;
        process.cycles(6, 120).await;
        let made = evictions(control_plane).len();
        say(&format!("ramp: {made} of 8 evictions after a regression"));
        assert_eq!(made, 1, "evicted although it got worse");

        let plan = launch.plan();
        let kept = plan["kept"].as_array().unwrap();
        assert!(!kept.is_empty(), "{plan}");
        for one in kept {
            assert_eq!(one["code"], "got-worse", "{one}");
        }
        let page = launch.status_text();
        // Lines are folded.
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "its workload got worse by an eviction",
            "it got worse by its last eviction: the replacement has restarted more often",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        let metrics = process.metrics().await;
        for part in ["evenkeel_settled_moves_total{ending=\"got-worse\"} 1\n", "code=\"got-worse\""]
        {
            assert!(metrics.contains(part), "{part}: {metrics}");
        }
        let events = "/apis/events.k8s.io/v1/namespaces/default/events";
        process
            .eventually("an event of the replacement", 30, async |_| {
                let events = control_plane.list(events).await;
                let warned = |e: &&Value| e["reason"] == "GotWorse" && e["type"] == "Warning";
                that(events.iter().filter(warned).count() == 1, "none")
            })
            .await;
    });
}

#[test]
fn a_workload_that_stays_well_loses_all_eight() {
    scene::with(eight_too_many, async |control_plane| {
        let policy = format!("{}{RAMP}", NO_LIMITS.by(""));
        let launch = Launch::written(control_plane, &policy).await;
        let mut process = launch.run(&[]);
        even(control_plane, &mut process, 300).await;
        let made = evictions(control_plane);
        assert_eq!(made.len(), 8, "{made:#?}");
        let waited = made[1].at.duration_since(made[0].at);
        say(&format!("ramp: the second eviction came {waited:#} after the first"));
        assert!(waited.as_secs() >= 25, "{made:#?}");
    });
}
