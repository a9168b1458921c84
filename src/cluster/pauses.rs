//! Writes the annotations of a namespace by which people pause evictions.

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, Error};
use serde_json::{Map, Value, json};

use crate::model::snapshot::pause::{Pause, PauseScope};

use super::client::within_deadline;

/// Begins a pause, or replaces an earlier one of the same scope.
///
/// # Errors
/// The message of the API server.
pub async fn pause(client: &Client, namespace: &str, pause: &Pause) -> Result<(), String> {
    annotate(client, namespace, pause.annotations()).await
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
    let found = checked(namespace, namespaces(client).get(namespace)).await?;
    let annotations = found.metadata.annotations.unwrap_or_default();
    let Some(earlier) = Pause::read(&annotations, scope) else {
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
