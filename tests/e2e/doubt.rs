//! Nodes without metrics are left alone, and all nodes while the clock is wrong.

use std::time::Duration;

use serde_json::Value;

use crate::e2e::support::audit::evictions;
use crate::e2e::support::clock;
use crate::e2e::support::process::{Launch, Policy};
use crate::e2e::support::rounds::even;
use crate::e2e::support::scene::{self, MUTE};
use crate::e2e::support::usage::name;
use crate::e2e::support::wait::say;

#[test]
fn a_node_without_metrics_is_left_alone_and_the_others_are_balanced() {
    scene::with(scene::lopsided_beside_a_mute_node, async |control_plane| {
        let pods = control_plane.list("/api/v1/namespaces/default/pods").await;
        let on_mute: Vec<String> =
            pods.iter().filter(|p| scene::node_of(p) == MUTE).map(name).collect();
        assert_eq!(on_mute.len(), 6);

        let launch = Launch::new(control_plane, &Policy::USUAL).await;
        let plan = launch.plan();
        let verdicts = plan["nodes"].as_array().unwrap();
        let mute: Vec<&Value> = verdicts.iter().filter(|v| v["node"] == MUTE).collect();
        assert!(!mute.is_empty() && mute.iter().all(|v| v["code"] == "unknown"), "{verdicts:#?}");
        assert!(verdicts.iter().any(|v| v["node"] == "n1" && v["code"] == "hot"), "{verdicts:#?}");
        let to_or_from = |m: &Value| m["node"] == MUTE || m["to"] == MUTE;
        assert!(!plan["moves"].as_array().unwrap().iter().any(to_or_from), "{plan:#}");

        let mut process = launch.run(&[]);
        even(control_plane, &mut process, 240).await;
        process.cycles(2, 60).await;
        let evicted: Vec<String> = evictions(control_plane).into_iter().map(|e| e.name).collect();
        say(&format!("a node without metrics: {} evictions, none from it", evicted.len()));
        assert_eq!(evicted.len(), 3, "{evicted:?}");
        assert!(evicted.iter().all(|pod| !on_mute.contains(pod)), "{evicted:?} of {on_mute:?}");
        let after = control_plane.list("/api/v1/namespaces/default/pods").await;
        let on_mute_now = after.iter().filter(|p| scene::node_of(p) == MUTE).count();
        assert_eq!(on_mute_now, on_mute.len(), "a replacement landed on the node without metrics");
        assert!(process.count(&[MUTE]) > 0, "the log does not name the node");
    });
}

/// Ages and rests would be wrong by that hour. A clock that is set back delays no cycle.
#[test]
fn nothing_is_evicted_while_the_local_clock_is_wrong() {
    scene::with(scene::lopsided, async |control_plane| {
        let launch = Launch::new(control_plane, &Policy::USUAL).await;
        let launch = launch.with_clock(clock::set(control_plane, 0, 3600));
        let mut process = launch.run(&[]);
        let wrong = "the local clock is 1h ahead of that of the API server; no evictions";
        process.says(&[wrong], 3, 120).await;
        assert_eq!(evictions(control_plane).len(), 0);
        clock::set(control_plane, 0, 0);
        even(control_plane, &mut process, 240).await;
        assert_eq!(evictions(control_plane).len(), 3);

        clock::jump(control_plane, 0, Duration::from_secs(30)).await;
        process.cycles(2, 60).await;
        assert_eq!(evictions(control_plane).len(), 3);
    });
}
