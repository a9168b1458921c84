//! Refused changes of taints.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{Daemon, Steered};
use crate::cluster::client::tests::{ApiRequests, fake, status};
use crate::cluster::taints::SteeringRight;
use crate::daemon::fixture::client;
use crate::decide::engine::Engine;
use crate::model::ledger::Ledger;
use crate::model::plan::{STEERING_KEY, Steer, SteerAction, SteerReason, SteerValue};
use crate::policy::Policy;

/// A daemon that does not need to be elected. The API server refuses changes of the nodes for which
/// `refuses` is true, and every change of an annotation.
async fn daemon(refuses: fn(&str) -> bool) -> (Daemon, ApiRequests) {
    let (client, asked) = fake(move |method, uri, body| {
        let name = ["n1", "n2", "n3"].into_iter().find(|n| uri.contains(n));
        let name = name.unwrap_or_default();
        let node = json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "resourceVersion": "7"}});
        if method == "GET" {
            let list = json!({"apiVersion": "v1", "kind": "NodeList", "metadata": {},
                "items": [node]});
            (200, list.to_string())
        } else if refuses(name) || body.contains("annotations") {
            status(403, "not here")
        } else {
            (200, node.to_string())
        }
    })
    .await;
    let policy = Policy::default_native();
    (Daemon::fake(&client, &policy), asked)
}

fn taint(node: &str) -> Steer {
    Steer {
        node: node.to_owned(),
        action: SteerAction::Add(SteerValue::Hot),
        why: SteerReason::Cooled,
    }
}

/// Real changes that were sent, by node.
fn changes(asked: &ApiRequests) -> Vec<String> {
    let asked = asked.lock().unwrap();
    let real = asked.iter().filter(|(method, uri, _)| method == "PATCH" && !uri.contains("dryRun"));
    real.map(|(_, uri, _)| uri.rsplit('/').next().unwrap()[..2].to_owned()).collect()
}

#[tokio::test]
async fn a_policy_that_protects_one_node_does_not_stop_steering() {
    let (mut daemon, asked) = daemon(|node| node == "n2").await;
    daemon.steered.asked_node = Some("n1".to_owned());
    for _ in 0..2 {
        for node in ["n1", "n2", "n3"] {
            assert!(daemon.steer(&taint(node)).await);
        }
    }
    assert_eq!(changes(&asked), ["n1", "n2", "n3", "n1", "n2", "n3"]);
    assert_eq!(daemon.steered.denied(), None);
    assert!(daemon.steered.refused_nodes.iter().eq(["n2"]));
}

#[tokio::test]
async fn a_right_that_was_withdrawn_ends_the_changes_of_a_plan() {
    let (mut daemon, asked) = daemon(|_| true).await;
    daemon.steered.asked_node = Some("n1".to_owned());
    assert!(!daemon.steer(&taint("n2")).await, "the others are not tried");
    assert_eq!(changes(&asked), ["n2"]);
    assert_eq!(daemon.steered.denied(), Some("not here"));
    assert!(daemon.steered.refused_nodes.is_empty());
}

#[test]
fn a_right_without_limit_is_confirmed_before_it_is_certain() {
    let mut steered = Steered::default();
    steered.record(SteeringRight::Unlimited);
    assert!(!steered.certain);
    steered.record(SteeringRight::Unlimited);
    assert!(steered.certain);
    steered.record(SteeringRight::Denied(String::new()));
    assert!(!steered.certain);
    steered.record(SteeringRight::Granted);
    assert!(steered.certain);
}

/// An engine of the default policy.
fn engine() -> Engine {
    Engine::new(Policy::default_native(), Ledger::default())
}

#[tokio::test]
async fn a_node_that_fails_keeps_no_other_taint_from_being_removed() {
    let (client, asked) = fake(|method, uri, _| {
        let name = ["n1", "n2", "n3"].into_iter().find(|n| uri.contains(n)).unwrap();
        let taint = json!({"key": STEERING_KEY, "value": "hot", "effect": "PreferNoSchedule"});
        let node = json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "resourceVersion": "7"}, "spec": {"taints": [taint]}});
        match (method, name) {
            ("GET", _) => (200, json!({"metadata": {}, "items": [node]}).to_string()),
            (_, "n1") => status(500, "a webhook is away"),
            _ => (200, node.to_string()),
        }
    })
    .await;
    let mut daemon = Daemon::fake(&client, &Policy::default_native());
    daemon.steered.nodes = ["n1", "n2", "n3"].map(str::to_owned).into();
    daemon.remove_taints(&engine()).await;
    assert_eq!(changes(&asked), ["n1", "n2", "n3"]);
    assert!(daemon.steered.nodes.iter().eq(["n1"]));
}

/// The pod is killed soon after it is asked to stop. A reload has no later process to rely on.
#[tokio::test(start_paused = true)]
async fn only_the_end_of_the_program_limits_the_time_to_remove_taints() {
    for (stops, limit) in [(false, 0..=300), (true, 6..=7)] {
        let client = client(|_| async {
            sleep(Duration::from_secs(1)).await;
            json!({"metadata": {}, "items": []}).to_string()
        });
        let mut daemon = Daemon::fake(&client, &Policy::default_native());
        daemon.steered.nodes = (0..30).map(|i| format!("n{i}")).collect();
        if stops {
            daemon.stop.cancel();
        }
        let start = Instant::now();
        daemon.remove_taints(&engine()).await;
        let (seconds, left) = (start.elapsed().as_secs(), daemon.steered.nodes.len());
        assert_eq!(left == 0, !stops, "{left}");
        assert!(limit.contains(&seconds), "{seconds}");
    }
}
