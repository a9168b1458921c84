//! Plans: a verdict on each node, and the same plan for the same cluster.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::e2e::support::audit::eviction_calls;
use crate::e2e::support::process::{Launch, Policy};
use crate::e2e::support::scene;
use crate::e2e::support::wait::say;

/// By requests, all nodes are below 30 %, so no pod has to move.
#[test]
fn by_requests_no_node_is_hot_and_each_has_a_verdict() {
    scene::with(scene::late_nodes, async |control_plane| {
        let launch =
            Launch::new(control_plane, &Policy { basis: "requests", ..Policy::USUAL }).await;
        let plan = launch.plan();
        let verdicts = plan["nodes"].as_array().unwrap();
        let named: BTreeSet<&str> =
            verdicts.iter().map(|verdict| verdict["node"].as_str().unwrap()).collect();
        assert_eq!(named.len(), 10, "{verdicts:#?}");
        let mut codes: BTreeMap<&str, u32> = BTreeMap::new();
        for verdict in verdicts {
            *codes.entry(verdict["code"].as_str().unwrap()).or_default() += 1;
        }
        say(&format!("by requests: {codes:?}"));
        assert!(!codes.contains_key("hot") && !codes.contains_key("unknown"), "{verdicts:#?}");
        assert_eq!(plan["moves"], Value::Array(Vec::new()));

        let mut process = launch.run(&[]);
        process.cycles(3, 120).await;
        assert!(eviction_calls(control_plane).is_empty());
    });
}

#[test]
fn the_same_cluster_gives_the_same_plan_byte_for_byte() {
    scene::with(scene::lopsided, async |control_plane| {
        let (file, now) = scene::snapshot(control_plane).await;
        let launch = Launch::new(control_plane, &Policy::USUAL).await;
        let from = ["--from", file.to_str().unwrap(), "--now", &now];
        let first = launch.plan_text(&from);
        let plan: Value = serde_json::from_str(&first).unwrap();
        assert_eq!(plan["moves"].as_array().unwrap().len(), 3, "{plan:#}");
        for _ in 1..10 {
            assert_eq!(launch.plan_text(&from), first);
        }
        say(&format!("ten equal plans of {} bytes", first.len()));
    });
}
