//! Kubernetes events, one for each eviction and each taint. `kubectl describe` shows them.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::PostParams;
use kube::{Api, Client};
use tracing::warn;

use crate::model::plan::{Move, Steer};
use crate::model::snapshot::Pod;

use super::client::error_message;

/// Reason of the event about a policy that does not take effect.
pub const POLICY_REFUSED: &str = "PolicyRefused";

const TIMEOUT: Duration = Duration::from_secs(10);

// Limits of the API server, in bytes.
const LONGEST_INSTANCE: usize = 128;
const LONGEST_NOTE: usize = 1024;

/// Records an eviction as an event. `instance` is the name of the own pod or host. A failure is
/// only logged, because the eviction has happened.
pub async fn evicted(client: &Client, done: &Move, instance: &str, at: Timestamp) {
    if let Err(why) = write(client, of_eviction(done), instance, at).await {
        warn!(
            namespace = done.namespace,
            pod = done.pod,
            why,
            "cannot create the event of an eviction"
        );
    }
}

/// Records a change of the steering taint as an event.
pub async fn steered(client: &Client, done: &Steer, instance: &str, at: Timestamp) {
    if let Err(why) = write(client, of_taint(done), instance, at).await {
        warn!(node = done.node, why, "cannot create the event of a taint");
    }
}

/// Records a change of the policy as an event on this instance's own pod, with this reason and note.
pub async fn policy(client: &Client, own: &Pod, (reason, note): (&str, &str), at: Timestamp) {
    if let Err(why) = write(client, of_policy(own, reason, note), &own.name, at).await {
        warn!(why, "cannot create the event of a policy");
    }
}

async fn write(client: &Client, event: Event, instance: &str, at: Timestamp) -> Result<(), String> {
    let namespace = event.metadata.namespace.clone().unwrap_or_default();
    let event = Event {
        type_: event.type_.or_else(|| Some("Normal".to_owned())),
        note: event.note.map(|note| cut(&note, LONGEST_NOTE)),
        event_time: Some(MicroTime(at)),
        reporting_controller: Some("evenkeel".to_owned()),
        reporting_instance: Some(cut(instance, LONGEST_INSTANCE)),
        ..event
    };
    let events: Api<Event> = Api::namespaced(client.clone(), &namespace);
    // The deadline is short, because an event must not delay the next eviction.
    match tokio::time::timeout(TIMEOUT, events.create(&PostParams::default(), &event)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error_message(&error)),
        Err(_) => Err(format!("no response within {} s", TIMEOUT.as_secs())),
    }
}

fn of_eviction(done: &Move) -> Event {
    Event {
        metadata: meta(&done.pod, &done.namespace),
        reason: Some(done.strategy.to_owned()),
        action: Some("Evicted".to_owned()),
        note: Some(format!(
            "evicted from {} by evenkeel/{}: {}",
            done.node, done.strategy, done.reason
        )),
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

fn of_taint(done: &Steer) -> Event {
    let (action, what) = match done.action.value() {
        Some(value) => (
            "Tainted",
            format!("steering taint added ({})", value.text()),
        ),
        None => ("Untainted", "steering taint removed".to_owned()),
    };
    Event {
        // Nodes have no namespace. The API server accepts events of such objects only in `default`.
        metadata: meta(&done.node, "default"),
        reason: Some("Steering".to_owned()),
        action: Some(action.to_owned()),
        note: Some(format!("{what}: {}", done.why)),
        regarding: Some(ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Node".to_owned()),
            name: Some(done.node.clone()),
            // The kubelet also uses the name as uid, and `kubectl describe node` searches by it.
            uid: Some(done.node.clone()),
            ..ObjectReference::default()
        }),
        ..Event::default()
    }
}

fn of_policy(own: &Pod, reason: &str, note: &str) -> Event {
    Event {
        metadata: meta(&own.name, &own.namespace),
        type_: (reason == POLICY_REFUSED).then(|| "Warning".to_owned()),
        reason: Some(reason.to_owned()),
        action: Some("ReadPolicy".to_owned()),
        note: Some(note.to_owned()),
        regarding: Some(ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            namespace: Some(own.namespace.clone()),
            name: Some(own.name.clone()),
            uid: Some(own.uid.clone()),
            ..ObjectReference::default()
        }),
        ..Event::default()
    }
}

fn meta(name: &str, namespace: &str) -> ObjectMeta {
    ObjectMeta {
        // The API server adds a suffix, so a second event about the same pod does not conflict.
        generate_name: Some(format!("{name}-")),
        namespace: Some(namespace.to_owned()),
        ..ObjectMeta::default()
    }
}

fn cut(text: &str, longest: usize) -> String {
    let end = (0..=longest.min(text.len()))
        .rev()
        // Slicing inside a character would panic.
        .find(|end| text.is_char_boundary(*end))
        .unwrap_or_default();
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::client::tests::{fake, status};
    use crate::cluster::evict::tests::planned;
    use crate::model::plan::{SteerAction, SteerReason, SteerValue};
    use serde_json::{Value, json};

    #[tokio::test]
    async fn the_event_of_an_eviction_names_source_and_reason() {
        let (client, requests) = fake(|_, _, body| (201, body.to_owned())).await;
        let at = "2026-01-01T00:00:00.123456Z".parse().unwrap();
        evicted(&client, &planned(), "evenkeel-0", at).await;
        let (method, uri, body) = requests.lock().unwrap()[0].clone();
        assert_eq!(
            (method.as_str(), uri.split('?').next()),
            (
                "POST",
                Some("/apis/events.k8s.io/v1/namespaces/shop/events")
            )
        );
        let expected = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"generateName": "web-1-", "namespace": "shop"},
            "type": "Normal",
            "reason": "LowNodeUtilization",
            "action": "Evicted",
            "note": "evicted from n1 by evenkeel/LowNodeUtilization: node usage: cpu 89% is above \
                its target of 50%",
            "eventTime": "2026-01-01T00:00:00.123456Z",
            "reportingController": "evenkeel",
            "reportingInstance": "evenkeel-0",
            "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web-1",
                "uid": "u-1"},
        });
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), expected);
    }

    #[tokio::test]
    async fn the_event_of_a_taint_names_the_reason() {
        let (client, requests) = fake(|_, _, body| (201, body.to_owned())).await;
        let action = SteerAction::Add(SteerValue::Emptying);
        let done = Steer {
            node: "n1".to_owned(),
            action,
            why: SteerReason::Emptying,
        };
        steered(&client, &done, "evenkeel-0", Timestamp::UNIX_EPOCH).await;
        let (_, uri, body) = requests.lock().unwrap()[0].clone();
        assert_eq!(
            uri.split('?').next(),
            Some("/apis/events.k8s.io/v1/namespaces/default/events")
        );
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["action"], "Tainted");
        let note = body["note"].as_str().unwrap();
        assert!(
            note.starts_with("steering taint added (emptying): "),
            "{note}"
        );
        assert_eq!(
            body["regarding"],
            json!({"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n1"})
        );
    }

    #[tokio::test]
    async fn a_rejected_event_is_not_an_error() {
        let (client, requests) = fake(|_, _, _| status(403, "no")).await;
        evicted(&client, &planned(), "evenkeel-0", Timestamp::UNIX_EPOCH).await;
        assert_eq!(requests.lock().unwrap().len(), 1);
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(cut("añb", 2), "a");
        assert_eq!(cut("añb", 3), "añ");
        assert_eq!(cut("añb", 9), "añb");
    }
}
