//! The soft taints on nodes: ours, by their key, and no other.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, Client, Error};
use serde_json::{Value, json};

use crate::model::plan::{STEERING_KEY, Steer, SteerAction, SteerOutcome};

use super::client::{code, why};

/// How long the API server may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// So often others may write to the node between our reading and our writing.
const ATTEMPTS: usize = 5;

/// Puts our taint on a node, or takes it away, as planned. Taints of others are written back as they were read, and only
/// if nobody has written to the node since: its version goes along with the patch.
///
/// Needs `list`, which is there for the watch, and `patch`.
pub async fn steer(client: &Client, planned: &Steer) -> SteerOutcome {
    let nodes: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::erase::<Node>(&()));
    for _ in 0..ATTEMPTS {
        match attempt(&nodes, planned).await {
            Err(Missed::Conflict) => {}
            Ok(outcome) | Err(Missed::Answer(outcome)) => return outcome,
        }
    }
    SteerOutcome::Failed(format!(
        "others wrote to the node {ATTEMPTS} times meanwhile"
    ))
}

enum Missed {
    /// Others have written to the node: it has to be read again.
    Conflict,
    Answer(SteerOutcome),
}

async fn attempt(nodes: &Api<DynamicObject>, planned: &Steer) -> Result<SteerOutcome, Missed> {
    // Not a get, for which the role would need another verb.
    let params = ListParams::default().fields(&format!("metadata.name={}", planned.node));
    let Some(node) = answer(nodes.list(&params)).await?.items.pop() else {
        return Ok(SteerOutcome::Unneeded);
    };
    let there = node
        .data
        .pointer("/spec/taints")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let Some(taints) = changed(&there, planned.action) else {
        return Ok(SteerOutcome::Unneeded);
    };
    let patch = json!({
        "metadata": {"resourceVersion": node.metadata.resource_version},
        "spec": {"taints": if taints.is_empty() { Value::Null } else { Value::Array(taints) }},
    });
    answer(nodes.patch(&planned.node, &PatchParams::default(), &Patch::Merge(patch))).await?;
    Ok(SteerOutcome::Done)
}

/// The taints as they should be; `None` where they are so.
fn changed(there: &[Value], action: SteerAction) -> Option<Vec<Value>> {
    let mut taints: Vec<Value> = there
        .iter()
        .filter(|t| t["key"] != STEERING_KEY)
        .cloned()
        .collect();
    if let SteerAction::Add(value) = action {
        let ours =
            json!({"key": STEERING_KEY, "value": value.text(), "effect": "PreferNoSchedule"});
        let same = |t: &Value| {
            ["key", "value", "effect"]
                .iter()
                .all(|field| t[*field] == ours[*field])
        };
        if there.iter().any(same) {
            return None;
        }
        taints.push(ours);
    }
    (taints != there).then_some(taints)
}

async fn answer<T>(request: impl Future<Output = Result<T, Error>>) -> Result<T, Missed> {
    let error = match tokio::time::timeout(TIMEOUT, request).await {
        Ok(Ok(answer)) => return Ok(answer),
        Ok(Err(error)) => error,
        Err(_) => {
            let why = format!("the API server took longer than {} s", TIMEOUT.as_secs());
            return Err(Missed::Answer(SteerOutcome::Unanswered(why)));
        }
    };
    let why = why(&error);
    Err(match code(&error) {
        Some(409) => Missed::Conflict,
        Some(404) => Missed::Answer(SteerOutcome::Unneeded),
        Some(403) => Missed::Answer(SteerOutcome::Forbidden(why)),
        Some(_) => Missed::Answer(SteerOutcome::Failed(why)),
        None => Missed::Answer(SteerOutcome::Unanswered(why)),
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
        Steer {
            node: "n1".to_owned(),
            action,
            why: SteerReason::Cooled,
        }
    }

    fn add() -> Steer {
        planned(SteerAction::Add(SteerValue::Hot))
    }

    fn foreign() -> Value {
        json!({"key": "dedicated", "value": "gpu", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z", "new": 1})
    }

    fn ours(value: &str) -> Value {
        json!({"key": STEERING_KEY, "value": value, "effect": "PreferNoSchedule"})
    }

    fn node(taints: &[Value]) -> String {
        let node =
            json!({"metadata": {"name": "n1", "resourceVersion": "7"}, "spec": {"taints": taints}});
        json!({"apiVersion": "v1", "kind": "NodeList", "metadata": {}, "items": [node]}).to_string()
    }

    /// What is patched where these taints are found, and what came of it.
    async fn patched(taints: &[Value], action: SteerAction) -> (SteerOutcome, Option<Value>) {
        let list = node(taints);
        let (client, asked) = fake(move |method, uri, _| {
            let read = method == "GET"
                && uri.contains("/api/v1/nodes?")
                && uri.contains("metadata.name%3Dn1");
            let one =
                json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}).to_string();
            if read {
                (200, list.clone())
            } else {
                (200, one)
            }
        })
        .await;
        let outcome = steer(&client, &planned(action)).await;
        let asked = asked.lock().unwrap();
        let patch = asked.iter().find(|(method, ..)| method == "PATCH");
        (
            outcome,
            patch.map(|(_, _, body)| serde_json::from_str(body).unwrap()),
        )
    }

    #[tokio::test]
    async fn others_stay_as_they_are_and_the_version_goes_along() {
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
    async fn a_node_has_one_of_ours_at_most() {
        let closed = json!({"key": STEERING_KEY, "effect": "NoSchedule"});
        let (_, patch) = patched(
            &[ours("emptying"), closed],
            SteerAction::Add(SteerValue::Hot),
        )
        .await;
        assert_eq!(patch.unwrap()["spec"]["taints"], json!([ours("hot")]));
        let (_, patch) = patched(&[ours("hot")], SteerAction::Remove).await;
        assert_eq!(patch.unwrap()["spec"]["taints"], Value::Null);
    }

    #[tokio::test]
    async fn what_is_so_already_is_not_written() {
        for (taints, action) in [
            (
                vec![foreign(), ours("hot")],
                SteerAction::Add(SteerValue::Hot),
            ),
            (vec![foreign()], SteerAction::Remove),
            (vec![], SteerAction::Remove),
        ] {
            assert_eq!(
                patched(&taints, action).await,
                (SteerOutcome::Unneeded, None)
            );
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
    async fn where_others_write_meanwhile_it_is_read_again() {
        let writes = Arc::new(AtomicUsize::new(0));
        let (client, asked) = fake(move |method, _, _| {
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
        assert_eq!(asked.lock().unwrap().len(), 6);
        let (busy, _) = fake(|method, _, _| {
            if method == "GET" {
                (200, node(&[]))
            } else {
                status(409, "m")
            }
        })
        .await;
        assert_eq!(steer(&busy, &add()).await.code(), "failed");
    }

    #[tokio::test]
    async fn each_answer_is_taken_for_what_it_means() {
        for (code, expected) in [
            (403, SteerOutcome::Forbidden("m".to_owned())),
            (404, SteerOutcome::Unneeded),
            (500, SteerOutcome::Failed("m".to_owned())),
        ] {
            let (client, _) = fake(move |method, _, _| {
                if method == "GET" {
                    (200, node(&[]))
                } else {
                    status(code, "m")
                }
            })
            .await;
            assert_eq!(steer(&client, &add()).await, expected);
        }
        assert_eq!(
            steer(&client_of("http://127.0.0.1:1"), &add()).await.code(),
            "unanswered"
        );
    }
}
