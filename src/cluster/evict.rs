//! One eviction, asked for once.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::Eviction;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{DeleteOptions, ObjectMeta, Preconditions};
use kube::api::PostParams;
use kube::{Api, Client, Error};
use serde_json::Value;

use crate::model::plan::{Move, Outcome};

use super::client::why;

/// How long the API server may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Asks the API server to evict a pod, and tells what it said. The pod's uid is a precondition, so that a namesake that
/// came after the plan is safe. `grace` goes before the pod's own grace period.
///
/// The client must be one of [`super::client`], which asks once.
pub async fn evict(client: &Client, planned: &Move, grace: Option<i64>) -> Outcome {
    if planned.uid.is_empty() {
        return Outcome::Failed("the pod has no uid, so that its namesake could be hit".to_owned());
    }
    let pods: Api<Pod> = Api::namespaced(client.clone(), &planned.namespace);
    let body = eviction(planned, grace);
    let params = PostParams::default();
    // Not `Api::evict`, which writes `delete_options` where the API wants `deleteOptions`: precondition and grace
    // period would be lost.
    let request = pods.create_subresource::<_, Value>("eviction", &planned.pod, &params, &body);
    match tokio::time::timeout(TIMEOUT, request).await {
        Ok(answer) => outcome(answer),
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

fn outcome(answer: Result<Value, Error>) -> Outcome {
    let Err(error) = answer else {
        return Outcome::Evicted;
    };
    let why = why(&error);
    let Error::Api(status) = error else {
        return Outcome::Unanswered(why);
    };
    match status.code {
        404 => Outcome::Gone,
        409 => Outcome::Changed,
        401 | 408 => Outcome::Failed(why),
        // A budget, a webhook or a right that is missing: it is about this pod, and says nothing of the others.
        400..500 => Outcome::Refused(why),
        // Something between us and the pod gave up waiting, or answered in the API server's stead: the eviction may have
        // gone through behind it.
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
            },
        }
    }

    #[tokio::test]
    async fn the_uid_is_a_precondition_and_the_reason_is_told() {
        let (client, asked) =
            fake(|_, _, _| (201, r#"{"kind": "Status", "status": "Success"}"#.to_owned())).await;
        assert_eq!(evict(&client, &planned(), Some(5)).await, Outcome::Evicted);
        let (method, uri, body) = asked.lock().unwrap()[0].clone();
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
    async fn each_answer_is_taken_for_what_it_means_and_none_is_asked_for_twice() {
        let said = || "m".to_owned();
        for (code, expected) in [
            (404, Outcome::Gone),
            (409, Outcome::Changed),
            (429, Outcome::Refused(said())),
            (403, Outcome::Refused(said())),
            (422, Outcome::Refused(said())),
            (401, Outcome::Failed(said())),
            (500, Outcome::Failed(said())),
            (503, Outcome::Failed(said())),
            (502, Outcome::Unanswered(said())),
            (504, Outcome::Unanswered(said())),
        ] {
            let (client, asked) = fake(move |_, _, _| status(code, "m")).await;
            assert_eq!(evict(&client, &planned(), None).await, expected, "{code}");
            assert_eq!(asked.lock().unwrap().len(), 1, "{code}");
        }
        let (client, _) = fake(|_, _, _| status(500, "etcdserver: request timed out")).await;
        assert_eq!(evict(&client, &planned(), None).await.code(), "unanswered");
    }

    #[tokio::test]
    async fn without_an_answer_nobody_knows() {
        let nobody = client_of("http://127.0.0.1:1");
        assert_eq!(evict(&nobody, &planned(), None).await.code(), "unanswered");
        for strange in [
            (200, "<html>".to_owned()),
            (503, r#"{"error": "no upstream"}"#.to_owned()),
        ] {
            let (client, _) = fake(move |_, _, _| strange.clone()).await;
            assert_eq!(evict(&client, &planned(), None).await.code(), "unanswered");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_api_server_that_hangs_is_not_waited_for() {
        let client = serve(axum::Router::new().fallback(std::future::pending::<()>)).await;
        assert_eq!(evict(&client, &planned(), None).await.code(), "unanswered");
    }

    #[tokio::test]
    async fn without_a_uid_nothing_is_evicted() {
        let (client, asked) = fake(|_, _, _| (201, "{}".to_owned())).await;
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
        assert!(asked.lock().unwrap().is_empty());
    }
}
