//! Evictions that a PodDisruptionBudget forbids are not requested.

use serde_json::json;

use crate::e2e::support::audit::{eviction_calls, evictions};
use crate::e2e::support::control_plane::ControlPlane;
use crate::e2e::support::process::{Launch, Policy};
use crate::e2e::support::rounds::even;
use crate::e2e::support::scene;
use crate::e2e::support::wait::{eventually, say, that};

#[test]
fn a_budget_is_counted_ahead_of_the_call() {
    scene::with(scene::lopsided, async |control_plane| {
        one_at_a_time(control_plane).await;
        let launch = Launch::new(control_plane, &Policy::USUAL).await;
        let plan = launch.plan();
        let kept = plan["kept"].as_array().unwrap();
        let refused = kept.iter().filter(|k| k["code"] == "disruption-budget").count();
        assert_eq!(plan["moves"].as_array().unwrap().len(), 1, "{plan:#}");
        assert!(refused > 0, "{kept:#?}");

        let mut process = launch.run(&[]);
        even(control_plane, &mut process, 300).await;
        let (calls, made) = (eviction_calls(control_plane), evictions(control_plane));
        say(&format!(
            "a budget of one: {} evictions of {} calls, {refused} pods kept ahead",
            made.len(),
            calls.len()
        ));
        assert!(calls.iter().all(|call| call.code == 201), "{calls:#?}");
        assert_eq!(made.len(), 3, "{made:#?}");
    });
}

/// Creates a PodDisruptionBudget that allows one disruption of Deployment hot.
async fn one_at_a_time(control_plane: &ControlPlane) {
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "hot", "namespace": "default"},
        "spec": {"minAvailable": 5, "selector": {"matchLabels": {"app": "hot"}}},
    });
    control_plane.apply(&budget.to_string());
    eventually("the budget to be counted", 60, async || {
        let it =
            control_plane.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/hot").await;
        that(it["status"]["disruptionsAllowed"] == 1, it["status"].to_string())
    })
    .await;
}
