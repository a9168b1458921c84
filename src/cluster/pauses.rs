//! Writes the annotations of a namespace by which people pause evictions.

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, Error};
use serde_json::{Map, Value, json};

use crate::model::snapshot::pause::{Pause, PauseScope};

use super::client::within_deadline;

/// Begins a pause. Returns an earlier one of the same scope, which it replaces; `None` also without
/// the right to read the namespace.
///
/// # Errors
/// The message of the API server.
pub async fn pause(
    client: &Client,
    namespace: &str,
    pause: &Pause,
) -> Result<Option<Pause>, String> {
    let earlier = read(client, namespace, pause.scope).await;
    annotate(client, namespace, pause.annotations()).await?;
    Ok(earlier.ok().flatten())
}

/// Returns the pause of the cluster; `None` also for people who may not read its namespace.
pub async fn of_cluster(client: &Client) -> Option<Pause> {
    let namespace = PauseScope::CLUSTER_NAMESPACE;
    read(client, namespace, PauseScope::Cluster).await.ok().flatten()
}

/// Returns the pause of this scope that a namespace holds, even if it has ended by itself.
async fn read(
    client: &Client,
    namespace: &str,
    scope: PauseScope,
) -> Result<Option<Pause>, String> {
    let found = checked(namespace, namespaces(client).get(namespace)).await?;
    Ok(Pause::read(&found.metadata.annotations.unwrap_or_default(), scope))
}

/// Ends a pause. Returns the pause that there was, even if it had ended by itself.
///
/// # Errors
/// The message of the API server.
pub async fn resume(
    client: &Client,
    namespace: &str,
    scope: PauseScope,
) -> Result<Option<Pause>, String> {
    let Some(earlier) = read(client, namespace, scope).await? else {
        return Ok(None);
    };
    let removed = scope.annotations().map(|name| (name, None));
    annotate(client, namespace, removed).await?;
    Ok(Some(earlier))
}

/// Returns the name by which the API server knows the user; `None` if it does not say.
pub async fn user(client: &Client) -> Option<String> {
    let reviews: Api<SelfSubjectReview> = Api::all(client.clone());
    let (review, parameters) = (SelfSubjectReview::default(), PostParams::default());
    let answer = reviews.create(&parameters, &review);
    within_deadline(answer).await.ok()?.status?.user_info?.username
}

/// Sets annotations of a namespace; `None` removes one.
async fn annotate(
    client: &Client,
    namespace: &str,
    annotations: [(String, Option<String>); 4],
) -> Result<(), String> {
    let annotations = annotations.map(|(name, value)| (name, json!(value)));
    let annotations: Map<String, Value> = annotations.into_iter().collect();
    let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    let api = namespaces(client);
    let parameters = PatchParams::default();
    let patched = api.patch(namespace, &parameters, &patch);
    checked(namespace, patched).await.map(drop)
}

fn namespaces(client: &Client) -> Api<Namespace> {
    Api::all(client.clone())
}

async fn checked<T>(
    namespace: &str,
    request: impl Future<Output = Result<T, Error>>,
) -> Result<T, String> {
    within_deadline(request).await.map_err(|why| format!("namespace {namespace}: {why}"))
}
