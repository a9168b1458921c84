//! Can it run as a Job, and can it be tried out without harm?

use std::collections::BTreeSet;

use serde_json::Value;

use crate::kit::audit::{evictions, requests};
use crate::kit::bed::{Bed, on_a_bed};
use crate::kit::keel::{Launch, Policy};
use crate::kit::ledger;
use crate::kit::scene;
use crate::kit::usage::name;
use crate::kit::wait::{eventually, say, that};

#[test]
fn a_dry_run_evicts_nothing_and_writes_nothing() {
    on_a_bed(async |bed| {
        scene::rights(bed);
        scene::lopsided(bed).await;
        let mut keel = Launch::new(bed, &Policy::USUAL).await.run(&["--dry-run"]);
        keel.eventually("a plan with moves in the log", 120, async |keel| {
            that(keel.count(&["hot-"]) > 0, "no line names a pod")
        })
        .await;
        keel.cycles(2, 60).await;
        let wrote: Vec<_> = requests(bed)
            .into_iter()
            .filter(|r| !["get", "list", "watch"].contains(&r.verb.as_str()))
            .collect();
        assert!(wrote.is_empty(), "{wrote:#?}");
        assert!(ledger::entries(bed).await.is_empty());
    });
}

#[test]
fn once_acts_once_and_the_next_run_remembers_it() {
    on_a_bed(async |bed| {
        scene::rights(bed);
        scene::lopsided(bed).await;
        let originals = scene::pods(bed).await;
        // Wherever pods may land: it is the ledger that is to keep the replacements, not the forecast.
        let policy = Policy {
            limits: "{perCycle: 2, perWorkload: 100%}",
            tolerance: "100%",
            ..Policy::USUAL
        };
        let launch = Launch::new(bed, &policy).await;

        assert!(launch.run(&["--once"]).ended(120).await.success());
        assert_eq!(evictions(bed).len(), 2, "the limit of a cycle");
        assert_eq!(ledger::entries(bed).await.len(), 2);
        // Now only replacements are worth a move.
        heat_up_replacements(bed, &originals).await;
        assert!(launch.run(&["--once"]).ended(120).await.success());
        assert_eq!(
            evictions(bed).len(),
            2,
            "a replacement was evicted within its rest"
        );

        bed.kubectl(&[
            "delete",
            "configmap",
            "-n",
            "kube-system",
            "evenkeel-ledger",
        ]);
        assert!(launch.run(&["--once"]).ended(120).await.success());
        let made = evictions(bed).len();
        say(&format!(
            "once: 2 evictions, none more in a second run, {} more without the ledger",
            made - 2
        ));
        assert!(made > 2, "it was not the ledger that kept the replacements");
    });
}

#[test]
fn every_eviction_has_one_event_that_says_why() {
    on_a_bed(async |bed| {
        scene::rights(bed);
        scene::lopsided(bed).await;
        assert!(
            Launch::new(bed, &Policy::USUAL)
                .await
                .run(&["--once"])
                .ended(120)
                .await
                .success()
        );
        let evicted: BTreeSet<String> = evictions(bed).into_iter().map(|e| e.name).collect();
        assert_eq!(evicted.len(), 3);
        let events = eventually("an event for each eviction", 30, async || {
            let events = own_events(bed).await;
            that(events.len() >= evicted.len(), format!("{events:#?}")).map(|()| events)
        })
        .await;
        let about: Vec<String> = events
            .iter()
            .map(|e| e["regarding"]["name"].as_str().unwrap().to_owned())
            .collect();
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

/// Makes every replaced pod heavy, on a node whose agent is busy, and all others light.
async fn heat_up_replacements(bed: &Bed, originals: &BTreeSet<String>) {
    let pods = bed.list("/api/v1/namespaces/default/pods").await;
    let (light, heavy): (Vec<_>, Vec<_>) = pods.iter().partition(|p| originals.contains(&name(p)));
    let hot: BTreeSet<String> = heavy.iter().map(|p| scene::node_of(p)).collect();
    let agents = bed
        .list("/api/v1/namespaces/kube-system/pods?labelSelector=app%3Dagent")
        .await;
    for agent in agents.iter().filter(|p| hot.contains(&scene::node_of(p))) {
        scene::make_use(bed, agent, 2000);
    }
    for (pods, millicores) in [(light, 10), (heavy, 3000)] {
        for pod in pods
            .iter()
            .filter(|p| p["metadata"]["deletionTimestamp"].is_null())
        {
            scene::make_use(bed, pod, millicores);
        }
    }
    scene::settle(bed).await;
}

/// The events that the program reported.
async fn own_events(bed: &Bed) -> Vec<Value> {
    let events = bed
        .list("/apis/events.k8s.io/v1/namespaces/default/events")
        .await;
    let own = |e: &Value| {
        e["reportingController"]
            .as_str()
            .is_some_and(|who| who.contains("evenkeel"))
    };
    events.into_iter().filter(own).collect()
}
