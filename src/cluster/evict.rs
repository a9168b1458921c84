//! One eviction, asked for once.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::Eviction;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{DeleteOptions, ObjectMeta, Preconditions};
use kube::api::PostParams;
use kube::{Api, Client, Error};
use serde_json::Value;

use crate::plan::{Move, Outcome};

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
        Err(_) => Outcome::Unanswered(format!("the API server took longer than {} s", TIMEOUT.as_secs())),
    }
}

fn eviction(planned: &Move, grace: Option<i64>) -> Eviction {
    let annotations = BTreeMap::from([
        ("reason".to_owned(), format!("{}: {}", planned.strategy, planned.reason)),
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
            preconditions: Some(Preconditions { uid: Some(planned.uid.clone()), resource_version: None }),
            grace_period_seconds: grace,
            ..DeleteOptions::default()
        }),
    }
}

fn outcome(answer: Result<Value, Error>) -> Outcome {
    let error = match answer {
        Ok(_) => return Outcome::Evicted,
        Err(error) => error,
    };
    let why = why(&error);
    let Error::Api(status) = error else { return Outcome::Unanswered(why) };
    match status.code {
        404 => Outcome::Gone,
        409 => Outcome::Changed,
        429 => Outcome::Refused(why),
        // Something between us and the pod gave up waiting; the eviction may have gone through behind it.
        502 | 504 => Outcome::Unanswered(why),
        _ if why.contains("request timed out") => Outcome::Unanswered(why),
        _ => Outcome::Failed(why),
    }
}
