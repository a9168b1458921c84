//! Evictions: each is requested once.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::Eviction;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{DeleteOptions, ObjectMeta, Preconditions};
use kube::api::PostParams;
use kube::{Api, Client, Error};
use serde_json::Value;

use crate::model::plan::{Move, Outcome};

use super::client::error_message;

/// The deadline of a request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Requests the eviction of a pod.
///
/// The pod's uid is a precondition, which protects a pod that took the name after the plan was
/// made. `grace` replaces the pod's own grace period. The client must come from [`super::client`],
/// because other clients repeat requests.
pub async fn evict(client: &Client, planned: &Move, grace: Option<i64>) -> Outcome {
    if planned.uid.is_empty() {
        return Outcome::Failed(
            "the pod has no uid, and another pod with its name could be evicted".to_owned(),
        );
    }
    let pods: Api<Pod> = Api::namespaced(client.clone(), &planned.namespace);
    let body = eviction(planned, grace);
    let params = PostParams::default();
    // Not `Api::evict`: it writes `delete_options` instead of `deleteOptions`, and the API server
    // would ignore precondition and grace period.
    let request = pods.create_subresource::<_, Value>("eviction", &planned.pod, &params, &body);
    match tokio::time::timeout(TIMEOUT, request).await {
        Ok(result) => outcome(result),
        Err(_) => Outcome::Unanswered(format!(
            "the API server took longer than {} s",
            TIMEOUT.as_secs()
        )),
    }
}

fn eviction(planned: &Move, grace: Option<i64>) -> Eviction {
    let annotations = BTreeMap::from([
        (
            "reason".to_owned(),
            format!("{}: {}", planned.strategy, planned.reason),
        ),
        ("requested-by".to_owned(), "evenkeel".to_owned()),
    ]);
    Eviction {
        metadata: ObjectMeta {
            name: Some(planned.pod.clone()),
            namespace: Some(planned.namespace.clone()),
            annotations: Some(annotations),
            ..ObjectMeta::default()
        },
        delete_options: Some(DeleteOptions {
            preconditions: Some(Preconditions {
                uid: Some(planned.uid.clone()),
                resource_version: None,
            }),
            grace_period_seconds: grace,
            ..DeleteOptions::default()
        }),
    }
}

fn outcome(result: Result<Value, Error>) -> Outcome {
    let Err(error) = result else {
        return Outcome::Evicted;
    };
    let why = error_message(&error);
    let Error::Api(status) = error else {
        return Outcome::Unanswered(why);
    };
    match status.code {
        404 => Outcome::Gone,
        // The uid precondition failed: another pod has the name now.
        409 => Outcome::Changed,
        // These concern the connection, so the other pods of the plan would fail too.
        401 | 408 => Outcome::Failed(why),
        // A budget, a webhook or a missing permission. It concerns this pod only.
        400..500 => Outcome::Refused(why),
        // A proxy gave up or responded instead of the API server. The eviction may have succeeded
        // behind it.
        0 | 502 | 504 => Outcome::Unanswered(why),
        _ if why.contains("request timed out") => Outcome::Unanswered(why),
        _ => Outcome::Failed(why),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::cluster::client::tests::{client_of, fake, serve, status};
    use crate::model::plan::Reason;
    use crate::model::snapshot::facts::Owner;
    use crate::policy::Basis;
    use crate::values::Ratio;

    pub(crate) fn planned() -> Move {
        Move {
            namespace: "shop".to_owned(),
            pod: "web-1".to_owned(),
            uid: "u-1".to_owned(),
            node: "n1".to_owned(),
            to: None,
            may_land: Vec::new(),
            strategy: "LowNodeUtilization",
            profile: "default".to_owned(),
            owner: Owner {
                kind: "ReplicaSet".to_owned(),
                name: "web".to_owned(),
                controller: true,
            },
            workload: None,
            reason: Reason::HotNode {
                resource: "cpu".to_owned(),
                ratio: Ratio::percent(89.0).unwrap(),
                target: Ratio::percent(50.0).unwrap(),
                basis: Basis::Actual,
                expected: None,
            },
        }
    }

    #[tokio::test]
    async fn the_request_has_the_uid_as_precondition_and_the_reason() {
        let (client, requests) =
            fake(|_, _, _| (201, r#"{"kind": "Status", "status": "Success"}"#.to_owned())).await;
        assert_eq!(evict(&client, &planned(), Some(5)).await, Outcome::Evicted);
        let (method, uri, body) = requests.lock().unwrap()[0].clone();
        assert_eq!(
            (method.as_str(), uri.split('?').next()),
            ("POST", Some("/api/v1/namespaces/shop/pods/web-1/eviction"))
        );
        let expected = serde_json::json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {
                "name": "web-1",
                "namespace": "shop",
                "annotations": {
                    "reason": "LowNodeUtilization: node usage: cpu 89% is above its target of 50%",
                    "requested-by": "evenkeel",
                },
            },
            "deleteOptions": {"gracePeriodSeconds": 5, "preconditions": {"uid": "u-1"}},
        });
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), expected);
    }

    #[tokio::test]
    async fn each_status_has_its_outcome_and_no_request_is_repeated() {
        let message = || "m".to_owned();
        for (code, expected) in [
            (404, Outcome::Gone),
            (409, Outcome::Changed),
            (429, Outcome::Refused(message())),
            (403, Outcome::Refused(message())),
            (422, Outcome::Refused(message())),
            (401, Outcome::Failed(message())),
            (500, Outcome::Failed(message())),
            (503, Outcome::Failed(message())),
            (502, Outcome::Unanswered(message())),
            (504, Outcome::Unanswered(message())),
        ] {
            let (client, requests) = fake(move |_, _, _| status(code, "m")).await;
            assert_eq!(evict(&client, &planned(), None).await, expected, "{code}");
            assert_eq!(requests.lock().unwrap().len(), 1, "{code}");
        }
        let (client, _) = fake(|_, _, _| status(500, "etcdserver: request timed out")).await;
        assert_eq!(evict(&client, &planned(), None).await.code(), "unanswered");
    }

    #[tokio::test]
    async fn without_a_valid_response_the_outcome_is_unknown() {
        let unreachable = client_of("http://127.0.0.1:1");
        assert_eq!(
            evict(&unreachable, &planned(), None).await.code(),
            "unanswered"
        );
        for invalid in [
            (200, "<html>".to_owned()),
            (503, r#"{"error": "no upstream"}"#.to_owned()),
        ] {
            let (client, _) = fake(move |_, _, _| invalid.clone()).await;
            assert_eq!(evict(&client, &planned(), None).await.code(), "unanswered");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_api_server_is_an_unknown_outcome() {
        let client = serve(axum::Router::new().fallback(std::future::pending::<()>)).await;
        assert_eq!(evict(&client, &planned(), None).await.code(), "unanswered");
    }

    #[tokio::test]
    async fn a_pod_without_uid_is_not_evicted() {
        let (client, requests) = fake(|_, _, _| (201, "{}".to_owned())).await;
        assert_eq!(
            evict(
                &client,
                &Move {
                    uid: String::new(),
                    ..planned()
                },
                None
            )
            .await
            .code(),
            "failed"
        );
        assert!(requests.lock().unwrap().is_empty());
    }
}
