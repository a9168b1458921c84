//! Kubernetes events, one for each eviction, each taint and each workload that got worse.
//! `kubectl describe` shows them.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::{debug, warn};

use crate::model::ledger::Settled;
use crate::model::plan::{Move, Steer};
use crate::model::snapshot::Pod;

use super::client::within_deadline;
use super::failures::{Failures, Request};

/// Reason of the event about a policy that does not take effect.
pub const POLICY_REFUSED: &str = "PolicyRefused";

// Limits of the API server, in bytes.
const LONGEST_INSTANCE: usize = 128;
const LONGEST_NOTE: usize = 1024;

/// Events that may wait to be written. A burst of evictions is far smaller.
const LONGEST_QUEUE: usize = 1000;

/// Writes events on a task of its own, one after another: an event must not delay an eviction.
pub struct EventWriter {
    queue: mpsc::Sender<Event>,
    task: JoinHandle<()>,
}

impl EventWriter {
    /// Starts the task. `instance` is the name of the own pod or host.
    pub fn start(client: Client, instance: &str, failures: Failures) -> Self {
        let (queue, waiting) = mpsc::channel(LONGEST_QUEUE);
        let instance = cut(instance, LONGEST_INSTANCE);
        let task = tokio::spawn(write_all(client, instance, failures, waiting));
        EventWriter { queue, task }
    }

    /// Records an eviction.
    pub fn evicted(&self, done: &Move, at: Timestamp) {
        self.add(of_eviction(done), at);
    }

    /// Records a change of the steering taint.
    pub fn steered(&self, done: &Steer, at: Timestamp) {
        self.add(of_taint(done), at);
    }

    /// Records on the replacement that its workload got worse.
    pub fn got_worse(&self, settled: &Settled, replacement: &Pod, at: Timestamp) {
        self.add(of_decline(settled, replacement), at);
    }

    /// Records a change of the policy on this instance's own pod, with this reason and note.
    pub fn policy(&self, own: &Pod, reason: &str, note: &str, at: Timestamp) {
        self.add(of_policy(own, reason, note), at);
    }

    /// Writes the waiting events, for at most this time.
    pub async fn finish(self, longest: Duration) {
        drop(self.queue);
        if tokio::time::timeout(longest, self.task).await.is_err() {
            warn!("cannot write all events in time");
        }
    }

    fn add(&self, event: Event, at: Timestamp) {
        let event = Event { event_time: Some(MicroTime(at)), ..event };
        // A failure is only logged, because the change has happened.
        if let Err(error) = self.queue.try_send(event) {
            warn!("cannot create an event: {error}");
        }
    }
}

async fn write_all(
    client: Client,
    instance: String,
    failures: Failures,
    mut waiting: mpsc::Receiver<Event>,
) {
    while let Some(event) = waiting.recv().await {
        let about = event.regarding.clone().unwrap_or_default();
        let written = write(&client, event, &instance).await;
        failures.record(Request::Events, written.as_ref().copied().map_err(String::as_str));
        if let Err(why) = written {
            let (kind, namespace, name) = (about.kind, about.namespace, about.name);
            debug!(kind, namespace, name, why, "cannot create an event");
        }
    }
}

async fn write(client: &Client, event: Event, instance: &str) -> Result<(), String> {
    let namespace = event.metadata.namespace.clone().unwrap_or_default();
    let event = Event {
        type_: event.type_.or_else(|| Some("Normal".to_owned())),
        note: event.note.map(|note| cut(&note, LONGEST_NOTE)),
        reporting_controller: Some("evenkeel".to_owned()),
        reporting_instance: Some(instance.to_owned()),
        ..event
    };
    let events: Api<Event> = Api::namespaced(client.clone(), &namespace);
    let written = within_deadline(events.create(&PostParams::default(), &event)).await;
    written.map(drop)
}

fn of_eviction(done: &Move) -> Event {
    Event {
        metadata: meta(&done.pod, &done.namespace),
        reason: Some(done.strategy.to_owned()),
        action: Some("Evicted".to_owned()),
        note: Some(format!(
            "evicted from {} by evenkeel/{}: {}",
            done.node,
            done.strategy,
            done.why()
        )),
        regarding: Some(pod(&done.namespace, &done.pod, &done.uid)),
        ..Event::default()
    }
}

fn of_taint(done: &Steer) -> Event {
    let (action, what) = match done.action.value() {
        Some(value) => ("Tainted", format!("steering taint added ({})", value.text())),
        None => ("Untainted", "steering taint removed".to_owned()),
    };
    Event {
        // Nodes have no namespace. The API server accepts events of such objects only in `default`.
        metadata: meta(&done.node, "default"),
        reason: Some("Steering".to_owned()),
        action: Some(action.to_owned()),
        note: Some(format!("{what}: {}", done.why)),
        // The kubelet also uses the name as uid, and `kubectl describe node` searches by it.
        regarding: Some(reference("Node", None, &done.node, &done.node)),
        ..Event::default()
    }
}

fn of_decline(settled: &Settled, replacement: &Pod) -> Event {
    Event {
        metadata: meta(&replacement.name, &replacement.namespace),
        type_: Some("Warning".to_owned()),
        reason: Some("GotWorse".to_owned()),
        action: Some("Watched".to_owned()),
        note: Some(format!(
            "evenkeel evicted {} from {}, and {}; {} rests",
            settled.pod, settled.from, settled.ending, settled.workload
        )),
        regarding: Some(pod(&replacement.namespace, &replacement.name, &replacement.uid)),
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
        regarding: Some(pod(&own.namespace, &own.name, &own.uid)),
        ..Event::default()
    }
}

fn pod(namespace: &str, name: &str, uid: &str) -> ObjectReference {
    reference("Pod", Some(namespace), name, uid)
}

fn reference(kind: &str, namespace: Option<&str>, name: &str, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some(kind.to_owned()),
        namespace: namespace.map(str::to_owned),
        name: Some(name.to_owned()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
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
    use crate::cluster::client::tests::{fake, serve, status};
    use crate::cluster::evict::tests::planned;
    use crate::model::ledger::{Decline, Ending};
    use crate::model::plan::{SteerAction, SteerReason, SteerValue};
    use crate::model::snapshot::objects::Objects;
    use crate::model::snapshot::{Snapshot, import};
    use serde_json::{Value, json};

    const SECOND: Duration = Duration::from_secs(1);

    /// The path and the body of the request for one event.
    async fn written(write: impl FnOnce(&EventWriter)) -> (String, Value) {
        let (client, requests) = fake(|_, _, body| (201, body.to_owned())).await;
        let events = EventWriter::start(client, "evenkeel-0", Failures::default());
        write(&events);
        events.finish(SECOND).await;
        let (method, uri, body) = requests.lock().unwrap()[0].clone();
        assert_eq!(method, "POST");
        (uri.split('?').next().unwrap().to_owned(), serde_json::from_str(&body).unwrap())
    }

    #[tokio::test]
    async fn the_event_of_an_eviction_names_source_and_reason() {
        let at = "2026-01-01T00:00:00.123456Z".parse().unwrap();
        let (path, body) = written(|events| events.evicted(&planned(), at)).await;
        assert_eq!(path, "/apis/events.k8s.io/v1/namespaces/shop/events");
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
        assert_eq!(body, expected);
    }

    #[tokio::test]
    async fn the_event_of_a_taint_names_the_reason() {
        let action = SteerAction::Add(SteerValue::Emptying);
        let done = Steer { node: "n1".to_owned(), action, why: SteerReason::Emptying };
        let (path, body) = written(|events| events.steered(&done, Timestamp::UNIX_EPOCH)).await;
        assert_eq!(path, "/apis/events.k8s.io/v1/namespaces/default/events");
        assert_eq!(body["action"], "Tainted");
        let note = body["note"].as_str().unwrap();
        assert!(note.starts_with("steering taint added (emptying): "), "{note}");
        assert_eq!(
            body["regarding"],
            json!({"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n1"})
        );
    }

    #[tokio::test]
    async fn the_event_of_a_workload_that_got_worse_is_a_warning_on_the_replacement() {
        let settled = Settled {
            workload: "shop/Deployment/web".to_owned().try_into().unwrap(),
            pod: "web-1".to_owned(),
            from: "n1".to_owned(),
            to: Some("n2".to_owned()),
            landed: None,
            replacement: Some("u-2".to_owned()),
            ending: Ending::GotWorse(Decline::Readiness),
        };
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-2", "namespace": "shop", "uid": "u-2",
            "creationTimestamp": "2026-01-01T00:00:00Z"}});
        let mut objects = Objects::default();
        objects.apply(import::object(&pod).unwrap().unwrap());
        let snapshot = Snapshot::join(&objects, []);
        let (_, body) = written(|events| {
            events.got_worse(&settled, &snapshot.pods[0], Timestamp::UNIX_EPOCH);
        })
        .await;
        assert_eq!(body["type"], "Warning");
        assert_eq!(body["reason"], "GotWorse");
        assert_eq!(
            body["note"],
            "evenkeel evicted web-1 from n1, and the workload got worse: fewer of its pods are \
             Ready than before; shop/Deployment/web rests"
        );
        assert_eq!(
            body["regarding"],
            json!({"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web-2",
                "uid": "u-2"})
        );
    }

    #[tokio::test]
    async fn a_rejected_event_is_not_an_error() {
        let (client, requests) = fake(|_, _, _| status(403, "no")).await;
        let events = EventWriter::start(client, "evenkeel-0", Failures::default());
        events.evicted(&planned(), Timestamp::UNIX_EPOCH);
        events.evicted(&planned(), Timestamp::UNIX_EPOCH);
        events.finish(SECOND).await;
        assert_eq!(requests.lock().unwrap().len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_that_hangs_delays_neither_the_caller_nor_the_end() {
        let client = serve(axum::Router::new().fallback(std::future::pending::<()>)).await;
        let start = tokio::time::Instant::now();
        let events = EventWriter::start(client, "evenkeel-0", Failures::default());
        for _ in 0..LONGEST_QUEUE + 10 {
            events.evicted(&planned(), Timestamp::UNIX_EPOCH);
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        events.finish(SECOND).await;
        assert!(start.elapsed() < SECOND * 2);
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(cut("añb", 2), "a");
        assert_eq!(cut("añb", 3), "añ");
        assert_eq!(cut("añb", 9), "añb");
    }
}
