//! Refused changes of taints.

use serde_json::json;

use super::{Daemon, Steered};
use crate::cluster::client::tests::{ApiRequests, fake, status};
use crate::cluster::taints::SteeringRight;
use crate::model::plan::{Steer, SteerAction, SteerReason, SteerValue};
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
