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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::client::tests::{fake, status};
    use crate::cluster::evict::tests::planned;
    use serde_json::{Value, json};

    #[tokio::test]
    async fn an_event_tells_who_and_why() {
        let (client, asked) = fake(|_, _, body| (201, body.to_owned())).await;
        let at = "2026-01-01T00:00:00.123456Z".parse().unwrap();
        evicted(&client, &planned(), "evenkeel-0", at).await;
        let (method, uri, body) = asked.lock().unwrap()[0].clone();
        assert_eq!(
            (method.as_str(), uri.split('?').next()),
            ("POST", Some("/apis/events.k8s.io/v1/namespaces/shop/events"))
        );
        let expected = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"generateName": "web-1-", "namespace": "shop"},
            "type": "Normal",
            "reason": "LowNodeUtilization",
            "action": "Evicted",
            "note": "evicted from n1 by evenkeel/LowNodeUtilization: node usage: cpu 89% is above its target of 50%",
            "eventTime": "2026-01-01T00:00:00.123456Z",
            "reportingController": "evenkeel",
            "reportingInstance": "evenkeel-0",
            "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web-1", "uid": "u-1"},
        });
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), expected);
    }

    #[tokio::test]
    async fn an_event_that_is_refused_harms_nobody() {
        let (client, asked) = fake(|_, _, _| status(403, "no")).await;
        evicted(&client, &planned(), "evenkeel-0", Timestamp::UNIX_EPOCH).await;
        assert_eq!(asked.lock().unwrap().len(), 1);
    }

    #[test]
    fn what_is_too_long_is_cut_between_characters() {
        assert_eq!(cut("añb", 2), "a");
        assert_eq!(cut("añb", 3), "añ");
        assert_eq!(cut("añb", 9), "añb");
    }
}
