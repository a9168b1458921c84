//! A node that is being deleted: kube-scheduler does not see that, and evenkeel must not count on
//! the node.

use serde_json::Value;

use crate::e2e::support::control_plane::ControlPlane;
use crate::e2e::support::process::{Launch, Policy};
use crate::e2e::support::scene;
use crate::e2e::support::wait::say;

#[test]
fn no_pod_goes_where_it_may_land_on_a_node_that_is_being_deleted() {
    scene::with(scene::lopsided, async |control_plane| {
        let launch = Launch::new(control_plane, &Policy::USUAL).await;
        let before = launch.plan();
        assert!(!moves(&before).is_empty(), "{before:#}");

        delete_slowly(control_plane, "n2");
        let plan = launch.plan();
        let verdicts = plan["nodes"].as_array().unwrap();
        let n2 = verdicts.iter().find(|verdict| verdict["node"] == "n2");
        assert_eq!(n2.unwrap()["code"], "deleting", "{verdicts:#?}");
        let lands = |planned: &Value| planned["may_land"].to_string().contains("\"n2\"");
        assert!(!moves(&plan).iter().any(lands), "{plan:#}");

        // Pods that ask for the node still get it.
        let on_n2 = serde_json::json!({"nodeSelector": {"kubernetes.io/hostname": "n2"}});
        scene::deployment_with(control_plane, "late", 1, "100m", &on_n2).await;

        for node in ["n3", "n4"] {
            delete_slowly(control_plane, node);
        }
        let plan = launch.plan();
        assert!(moves(&plan).is_empty(), "{plan:#}");
        say(&format!("nodes being deleted: {} moves before, none after", moves(&before).len()));
    });
}

fn moves(plan: &Value) -> &[Value] {
    plan["moves"].as_array().unwrap()
}

/// Deletes a node that a finalizer holds, as Karpenter does while it drains a node.
fn delete_slowly(control_plane: &ControlPlane, node: &str) {
    let finalizer = r#"{"metadata": {"finalizers": ["example.com/drain"]}}"#;
    control_plane.kubectl(&["patch", "node", node, "--type", "merge", "-p", finalizer]);
    control_plane.kubectl(&["delete", "node", node, "--wait=false"]);
}
