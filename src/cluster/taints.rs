//! The steering taints on nodes. Taints with other keys stay unchanged.

use k8s_openapi::api::core::v1::Node;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, Client, Error};
use serde_json::{Value, json};

use crate::model::plan::{STEERING_KEY, Steer, SteerAction, SteerOutcome, SteerValue};

use super::client::{TIMEOUT, error_message, status_code};
use super::error_text::is_denied_by_admission;

/// How often a write is tried while others change the node between read and write.
const ATTEMPTS: usize = 5;

/// Adds or removes the steering taint of a node, as planned.
///
/// The patch contains all taints and the resource version, so that the API server rejects it if the
/// node has changed since. It needs the verbs `list`, which the watch needs as well, and `patch`.
pub async fn steer(client: &Client, planned: &Steer) -> SteerOutcome {
    change(client, &planned.node, planned.action, &PatchParams::default()).await
}

/// The right of this account to change the steering taint, as far as the API server tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SteeringRight {
    /// It may change the taint and, as far as known, nothing else of a node.
    Granted,
    /// It may change the taint and other fields of nodes, because no admission policy limits it.
    Unlimited,
    /// It may not change the taint; holds the message of the API server.
    Denied(String),
}

/// Finds out whether evenkeel may change the taint of a node, by a dry run that changes nothing.
/// Returns `None` if there is no clear response.
///
/// A SelfSubjectAccessReview would only ask the roles. A dry run also asks admission policies and
/// webhooks.
pub async fn right(client: &Client, node: &str) -> Option<SteeringRight> {
    let dry_run = PatchParams::default().dry_run();
    let mut outcome = SteerOutcome::Unneeded;
    // Unneeded means that the node has the taint, so its removal is tried.
    for action in [SteerAction::Add(SteerValue::Hot), SteerAction::Remove] {
        if outcome == SteerOutcome::Unneeded {
            outcome = change(client, node, action, &dry_run).await;
        }
    }
    match outcome {
        SteerOutcome::Done if changes_annotations(client, node).await => {
            Some(SteeringRight::Unlimited)
        }
        SteerOutcome::Done => Some(SteeringRight::Granted),
        SteerOutcome::Forbidden(reason) => Some(SteeringRight::Denied(reason)),
        SteerOutcome::Unneeded | SteerOutcome::Failed(_) | SteerOutcome::Unanswered(_) => None,
    }
}

/// Whether evenkeel may change an annotation of a node, which it never needs to.
async fn changes_annotations(client: &Client, node: &str) -> bool {
    let patch = json!({"metadata": {"annotations": {STEERING_KEY: "dry-run"}}});
    let dry_run = PatchParams::default().dry_run();
    checked(nodes(client).patch(node, &dry_run, &Patch::Merge(patch))).await.is_ok()
}

fn nodes(client: &Client) -> Api<DynamicObject> {
    Api::all_with(client.clone(), &ApiResource::erase::<Node>(&()))
}

async fn change(
    client: &Client,
    node: &str,
    action: SteerAction,
    params: &PatchParams,
) -> SteerOutcome {
    let nodes = nodes(client);
    for _ in 0..ATTEMPTS {
        match attempt(&nodes, node, action, params).await {
            Err(TaintError::Conflict) => {}
            Ok(outcome) | Err(TaintError::Final(outcome)) => return outcome,
        }
    }
    SteerOutcome::Failed(format!("the node changed during each of {ATTEMPTS} attempts"))
}

enum TaintError {
    /// The node has changed since it was read, so it has to be read again.
    Conflict,
    /// Another attempt would not help.
    Final(SteerOutcome),
}

async fn attempt(
    nodes: &Api<DynamicObject>,
    name: &str,
    action: SteerAction,
    params: &PatchParams,
) -> Result<SteerOutcome, TaintError> {
    // A list instead of a get, which would need another verb in the role.
    let only = ListParams::default().fields(&format!("metadata.name={name}"));
    let Some(node) = checked(nodes.list(&only)).await?.items.pop() else {
        return Ok(SteerOutcome::Unneeded);
    };
    let current =
        node.data.pointer("/spec/taints").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(taints) = changed(&current, action) else {
        return Ok(SteerOutcome::Unneeded);
    };
    let patch = json!({
        "metadata": {"resourceVersion": node.metadata.resource_version},
        "spec": {"taints": if taints.is_empty() { Value::Null } else { Value::Array(taints) }},
    });
    checked(nodes.patch(name, params, &Patch::Merge(patch))).await?;
    Ok(SteerOutcome::Done)
}

/// Returns the planned taints, or `None` if the current ones are already so.
fn changed(current: &[Value], action: SteerAction) -> Option<Vec<Value>> {
    let mut taints: Vec<Value> =
        current.iter().filter(|t| t["key"] != STEERING_KEY).cloned().collect();
    if let SteerAction::Add(value) = action {
        let ours =
            json!({"key": STEERING_KEY, "value": value.text(), "effect": "PreferNoSchedule"});
        let same =
            |t: &Value| ["key", "value", "effect"].iter().all(|field| t[*field] == ours[*field]);
        if current.iter().any(same) {
            return None;
        }
        taints.push(ours);
    }
    (taints != current).then_some(taints)
}

async fn checked<T>(request: impl Future<Output = Result<T, Error>>) -> Result<T, TaintError> {
    let error = match tokio::time::timeout(TIMEOUT, request).await {
        Ok(Ok(response)) => return Ok(response),
        Ok(Err(error)) => error,
        Err(_) => {
            let why = format!("the API server took longer than {} s", TIMEOUT.as_secs());
            return Err(TaintError::Final(SteerOutcome::Unanswered(why)));
        }
    };
    let why = error_message(&error);
    Err(match status_code(&error) {
        Some(_) if is_denied_by_admission(&why) => TaintError::Final(SteerOutcome::Forbidden(why)),
        Some(409) => TaintError::Conflict,
        Some(404) => TaintError::Final(SteerOutcome::Unneeded),
        Some(403 | 422) => TaintError::Final(SteerOutcome::Forbidden(why)),
        Some(_) => TaintError::Final(SteerOutcome::Failed(why)),
        None => TaintError::Final(SteerOutcome::Unanswered(why)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::client::tests::{client_of, fake, status};
    use crate::model::plan::{SteerReason, SteerValue};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn planned(action: SteerAction) -> Steer {
        Steer { node: "n1".to_owned(), action, why: SteerReason::Cooled }
    }

    fn add() -> Steer {
        planned(SteerAction::Add(SteerValue::Hot))
    }

    fn foreign() -> Value {
        json!({"key": "dedicated", "value": "gpu", "effect": "NoSchedule",
            "timeAdded": "2026-01-01T00:00:00Z", "new": 1})
    }

    fn ours(value: &str) -> Value {
        json!({"key": STEERING_KEY, "value": value, "effect": "PreferNoSchedule"})
    }

    fn node(taints: &[Value]) -> String {
        let node =
            json!({"metadata": {"name": "n1", "resourceVersion": "7"}, "spec": {"taints": taints}});
        json!({"apiVersion": "v1", "kind": "NodeList", "metadata": {}, "items": [node]}).to_string()
    }

    /// The outcome and the patch for a node with these taints.
    async fn patched(taints: &[Value], action: SteerAction) -> (SteerOutcome, Option<Value>) {
        let list = node(taints);
        let (client, requests) = fake(move |method, uri, _| {
            let read = method == "GET"
                && uri.contains("/api/v1/nodes?")
                && uri.contains("metadata.name%3Dn1");
            let one =
                json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}).to_string();
            if read { (200, list.clone()) } else { (200, one) }
        })
        .await;
        let outcome = steer(&client, &planned(action)).await;
        let requests = requests.lock().unwrap();
        let patch = requests.iter().find(|(method, ..)| method == "PATCH");
        (outcome, patch.map(|(_, _, body)| serde_json::from_str(body).unwrap()))
    }

    #[tokio::test]
    async fn the_patch_keeps_other_taints_and_has_the_resource_version() {
        let (outcome, patch) = patched(&[foreign()], SteerAction::Add(SteerValue::Hot)).await;
        let expected = json!({
            "metadata": {"resourceVersion": "7"},
            "spec": {"taints": [foreign(), ours("hot")]},
        });
        assert_eq!((outcome, patch), (SteerOutcome::Done, Some(expected)));
        let (outcome, patch) = patched(&[ours("hot"), foreign()], SteerAction::Remove).await;
        assert_eq!(
            (outcome, &patch.unwrap()["spec"]["taints"]),
            (SteerOutcome::Done, &json!([foreign()]))
        );
    }

    #[tokio::test]
    async fn a_node_has_at_most_one_steering_taint() {
        let closed = json!({"key": STEERING_KEY, "effect": "NoSchedule"});
        let (_, patch) =
            patched(&[ours("emptying"), closed], SteerAction::Add(SteerValue::Hot)).await;
        assert_eq!(patch.unwrap()["spec"]["taints"], json!([ours("hot")]));
        let (_, patch) = patched(&[ours("hot")], SteerAction::Remove).await;
        assert_eq!(patch.unwrap()["spec"]["taints"], Value::Null);
    }

    #[tokio::test]
    async fn an_unneeded_change_is_not_written() {
        for (taints, action) in [
            (vec![foreign(), ours("hot")], SteerAction::Add(SteerValue::Hot)),
            (vec![foreign()], SteerAction::Remove),
            (vec![], SteerAction::Remove),
        ] {
            assert_eq!(patched(&taints, action).await, (SteerOutcome::Unneeded, None));
        }
        let (gone, _) = fake(|_, _, _| {
            (
                200,
                json!({"apiVersion": "v1", "kind": "NodeList", "metadata": {}, "items": []})
                    .to_string(),
            )
        })
        .await;
        assert_eq!(steer(&gone, &add()).await, SteerOutcome::Unneeded);
    }

    #[tokio::test]
    async fn after_a_conflict_the_node_is_read_again() {
        let writes = Arc::new(AtomicUsize::new(0));
        let (client, requests) = fake(move |method, _, _| {
            if method == "GET" {
                return (200, node(&[]));
            }
            if writes.fetch_add(1, Ordering::Relaxed) < 2 {
                return status(409, "the object has been modified");
            }
            (
                200,
                json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}).to_string(),
            )
        })
        .await;
        assert_eq!(steer(&client, &add()).await, SteerOutcome::Done);
        assert_eq!(requests.lock().unwrap().len(), 6);
        let (busy, _) =
            fake(|method, _, _| if method == "GET" { (200, node(&[])) } else { status(409, "m") })
                .await;
        assert_eq!(steer(&busy, &add()).await.code(), "failed");
    }

    #[tokio::test]
    async fn each_status_has_its_outcome() {
        let denied = "admission webhook \"v\" denied the request: not this node";
        for (code, message, expected) in [
            (403, "m", SteerOutcome::Forbidden("m".to_owned())),
            (422, "m", SteerOutcome::Forbidden("m".to_owned())),
            (404, "m", SteerOutcome::Unneeded),
            (500, "m", SteerOutcome::Failed("m".to_owned())),
            // The default of a webhook, and one that it may choose.
            (400, denied, SteerOutcome::Forbidden(denied.to_owned())),
            (409, denied, SteerOutcome::Forbidden(denied.to_owned())),
        ] {
            let answer = move |method: &str, _: &str, _: &str| {
                if method == "GET" { (200, node(&[])) } else { status(code, message) }
            };
            let (client, _) = fake(answer).await;
            assert_eq!(steer(&client, &add()).await, expected);
        }
        assert_eq!(steer(&client_of("http://127.0.0.1:1"), &add()).await.code(), "unanswered");
    }

    /// The right, if patches of taints and patches of annotations get these status codes. Every
    /// patch has to be a dry run.
    async fn right_with(taints: &[Value], taint: u16, annotation: u16) -> Option<SteeringRight> {
        let list = node(taints);
        let (client, _) = fake(move |method, uri, body| {
            if method == "GET" {
                return (200, list.clone());
            }
            assert!(uri.contains("dryRun=All"), "{uri}");
            let code = if body.contains("annotations") { annotation } else { taint };
            let one = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}});
            if code == 200 { (200, one.to_string()) } else { status(code, "m") }
        })
        .await;
        right(&client, "n1").await
    }

    #[tokio::test]
    async fn a_dry_run_shows_the_right_to_steer() {
        let denied = || Some(SteeringRight::Denied("m".to_owned()));
        for (taint, annotation, expected) in [
            (200, 403, Some(SteeringRight::Granted)),
            (200, 200, Some(SteeringRight::Unlimited)),
            (403, 403, denied()),
            (422, 200, denied()),
            (500, 200, None),
        ] {
            let right = right_with(&[foreign()], taint, annotation).await;
            assert_eq!(right, expected);
            // The node has the taint, so the dry run removes it.
            let right = right_with(&[ours("hot")], taint, annotation).await;
            assert_eq!(right, expected);
        }
    }
}
