//! One event for each eviction, for those who ask `kubectl describe` where their pod went.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::PostParams;
use kube::{Api, Client};
use tracing::warn;

use crate::plan::Move;

use super::client::why;

const TIMEOUT: Duration = Duration::from_secs(10);

/// What the API server takes: bytes of the reporting instance and of the note.
const LONGEST: (usize, usize) = (128, 1024);

/// Writes that a pod was evicted. `instance` is the name of our own pod or host. An event that cannot be written is
/// logged and no more, for the eviction has happened.
pub async fn evicted(client: &Client, done: &Move, instance: &str, at: Timestamp) {
    let events: Api<Event> = Api::namespaced(client.clone(), &done.namespace);
    let event = event(done, instance, at);
    let params = PostParams::default();
    let why = match tokio::time::timeout(TIMEOUT, events.create(&params, &event)).await {
        Ok(Ok(_)) => return,
        Ok(Err(error)) => why(&error),
        Err(_) => format!("no answer within {} s", TIMEOUT.as_secs()),
    };
    warn!(namespace = done.namespace, pod = done.pod, why, "the event of an eviction is lost");
}

fn event(done: &Move, instance: &str, at: Timestamp) -> Event {
    let note = format!("evicted from {} by evenkeel/{}: {}", done.node, done.strategy, done.reason);
    Event {
        metadata: ObjectMeta {
            generate_name: Some(format!("{}-", done.pod)),
            namespace: Some(done.namespace.clone()),
            ..ObjectMeta::default()
        },
        type_: Some("Normal".to_owned()),
        reason: Some(done.strategy.to_owned()),
        action: Some("Evicted".to_owned()),
        note: Some(cut(&note, LONGEST.1)),
        event_time: Some(MicroTime(at)),
        reporting_controller: Some("evenkeel".to_owned()),
        reporting_instance: Some(cut(instance, LONGEST.0)),
        regarding: Some(ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            namespace: Some(done.namespace.clone()),
            name: Some(done.pod.clone()),
            uid: Some(done.uid.clone()),
            ..ObjectReference::default()
        }),
        ..Event::default()
    }
}

fn cut(text: &str, longest: usize) -> String {
    let end = (0..=longest.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    text[..end].to_owned()
}
