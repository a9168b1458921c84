//! Single runs (`--once`) and dry runs.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::e2e::support::{
    ControlPlane, Launch, Policy, eventually, evictions, ledger, name, requests, say, scene, that,
};

#[test]
fn a_dry_run_evicts_nothing_and_writes_nothing() {
    scene::with(scene::lopsided, async |control_plane| {
        let mut process = Launch::new(control_plane, &Policy::USUAL).await.run(&["--dry-run"]);
        process
            .eventually("a plan with moves in the log", 120, async |process| {
                that(process.count(&["hot-"]) > 0, "no line names a pod")
            })
            .await;
        process.cycles(2, 60).await;
        assert_eq!(process.count(&["evenkeel 0.1.0: 1 strategy", ", dry run"]), 1);
        let wrote: Vec<_> = requests(control_plane)
            .into_iter()
            .filter(|r| !["get", "list", "watch"].contains(&r.verb.as_str()))
            .collect();
        assert!(wrote.is_empty(), "{wrote:#?}");
        assert!(ledger::entries(control_plane).await.is_empty());
    });
}

#[test]
fn once_acts_once_and_the_next_run_remembers_it() {
    scene::with(scene::lopsided, async |control_plane| {
        let originals = scene::pods(control_plane).await;
        // With this tolerance the forecast refuses nothing, so only the ledger protects the
        // replacements.
        let policy = Policy {
            limits: "{perCycle: 2, perWorkload: 100%}",
            tolerance: "100%",
            ..Policy::USUAL
        };
        let launch = Launch::new(control_plane, &policy).await;

        assert!(launch.run(&["--once"]).ended(120).await.success());
        assert_eq!(evictions(control_plane).len(), 2, "the limit of a cycle");
        assert_eq!(ledger::entries(control_plane).await.len(), 2);
        // Now only moves of replacements would help.
        heat_up_replacements(control_plane, &originals).await;
        assert!(launch.run(&["--once"]).ended(120).await.success());
        assert_eq!(evictions(control_plane).len(), 2, "a replacement was evicted within its rest");

        // As the manifests ship it.
        let ledger = "configmap/evenkeel-ledger";
        let empty = r#"{"data": null}"#;
        control_plane.kubectl(&["patch", "-n", "kube-system", ledger, "--type=merge", "-p", empty]);
        assert!(launch.run(&["--once"]).ended(120).await.success());
        let made = evictions(control_plane).len();
        say(&format!(
            "once: 2 evictions, none more in a second run, {} more without the ledger",
            made - 2
        ));
        assert!(made > 2, "it was not the ledger that kept the replacements");
    });
}

#[test]
fn every_eviction_has_one_event_that_says_why() {
    scene::with(scene::lopsided, async |control_plane| {
        assert!(
            Launch::new(control_plane, &Policy::USUAL)
                .await
                .run(&["--once"])
                .ended(120)
                .await
                .success()
        );
        let evicted: BTreeSet<String> =
            evictions(control_plane).into_iter().map(|e| e.name).collect();
        assert_eq!(evicted.len(), 3);
        let events = eventually("an event for each eviction", 30, async || {
            let events = own_events(control_plane).await;
            that(events.len() >= evicted.len(), format!("{events:#?}")).map(|()| events)
        })
        .await;
        let about: Vec<String> =
            events.iter().map(|e| e["regarding"]["name"].as_str().unwrap().to_owned()).collect();
        assert_eq!(about.len(), evicted.len(), "{about:?}");
        assert_eq!(about.iter().cloned().collect::<BTreeSet<_>>(), evicted);
        for event in &events {
            let note = event["note"].as_str().unwrap();
            say(&format!("event: {note}"));
            for word in ["LowNodeUtilization", "n1", "%", "50%"] {
                assert!(note.contains(word), "{word} is not in {note:?}");
            }
        }
    });
}

/// Makes every replacement heavy, on a node with a busy agent, and all other pods light.
async fn heat_up_replacements(control_plane: &ControlPlane, originals: &BTreeSet<String>) {
    let pods = control_plane.list("/api/v1/namespaces/default/pods").await;
    let (light, heavy): (Vec<_>, Vec<_>) = pods.iter().partition(|p| originals.contains(&name(p)));
    let hot: BTreeSet<String> = heavy.iter().map(|p| scene::node_of(p)).collect();
    let agents =
        control_plane.list("/api/v1/namespaces/kube-system/pods?labelSelector=app%3Dagent").await;
    for agent in agents.iter().filter(|p| hot.contains(&scene::node_of(p))) {
        scene::make_use(control_plane, agent, 2000);
    }
    for (pods, millicores) in [(light, 10), (heavy, 3000)] {
        for pod in pods.iter().filter(|p| p["metadata"]["deletionTimestamp"].is_null()) {
            scene::make_use(control_plane, pod, millicores);
        }
    }
    scene::usage_is_steady(control_plane).await;
}

/// The events that the program created.
async fn own_events(control_plane: &ControlPlane) -> Vec<Value> {
    let events = control_plane.list("/apis/events.k8s.io/v1/namespaces/default/events").await;
    let own =
        |e: &Value| e["reportingController"].as_str().is_some_and(|who| who.contains("evenkeel"));
    events.into_iter().filter(own).collect()
}
