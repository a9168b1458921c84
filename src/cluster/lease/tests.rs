//! The calls that are made, against an API server that keeps one Lease.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::election::{Election, Timing};
use super::{Candidacy, Elector, Failed, Leadership, Standing};
use crate::cluster::client::tests::{Asked, client_of, fake, serve, status};

const PATH: &str = "/apis/coordination.k8s.io/v1/namespaces/system/leases";

/// The Lease that is kept, and what to answer in its stead.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    lease: Option<Value>,
    version: u64,
    /// Requests of this method are answered so: before they are done, or in place of their answer.
    instead: Option<(&'static str, bool, (u16, String))>,
}

impl Kept {
    /// An API server with no Lease.
    pub(crate) async fn serve(&self) -> (Client, Asked) {
        let kept = self.clone();
        fake(move |method, uri, body| kept.answer(method, uri, body)).await
    }

    pub(crate) fn answer(&self, method: &str, uri: &str, body: &str) -> (u16, String) {
        assert!(uri.starts_with(PATH), "{uri}");
        let mut state = self.0.lock().unwrap();
        let instead = state.instead.clone().filter(|(of, ..)| *of == method);
        if let Some((_, false, answer)) = instead {
            return answer;
        }
        let answer = state.serve(method, body);
        instead.map_or(answer, |(.., instead)| instead)
    }

    fn spec(&self) -> Value {
        self.0
            .lock()
            .unwrap()
            .lease
            .as_ref()
            .map_or(Value::Null, |lease| lease["spec"].clone())
    }

    pub(crate) fn put(&self, spec: &Value) {
        let mut state = self.0.lock().unwrap();
        let lease =
            json!({"metadata": {"name": "evenkeel", "annotations": {"team": "a"}}, "spec": spec});
        state.keep(lease);
    }

    fn instead(&self, instead: Option<(&'static str, bool, (u16, String))>) {
        self.0.lock().unwrap().instead = instead;
    }
}

impl State {
    fn keep(&mut self, mut lease: Value) -> (u16, String) {
        self.version += 1;
        lease["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let text = lease.to_string();
        self.lease = Some(lease);
        (200, text)
    }

    fn serve(&mut self, method: &str, body: &str) -> (u16, String) {
        let version = |lease: &Value| lease["metadata"]["resourceVersion"].clone();
        match (method, &self.lease) {
            ("GET" | "PUT", None) => status(404, "leases \"evenkeel\" not found"),
            ("GET", Some(lease)) => (200, lease.to_string()),
            ("POST", Some(_)) => status(409, "already exists"),
            ("POST", None) => self.keep(serde_json::from_str(body).unwrap()),
            ("PUT", Some(lease)) => {
                let new: Value = serde_json::from_str(body).unwrap();
                assert!(
                    new["metadata"]["resourceVersion"].is_string(),
                    "written over whatever is there"
                );
                if version(&new) == version(lease) {
                    self.keep(new)
                } else {
                    status(409, "the object has been modified")
                }
            }
            _ => panic!("{method}"),
        }
    }
}

pub(crate) fn candidacy(name: &str) -> Candidacy {
    let [lease, renew, retry] = [15, 10, 2].map(Duration::from_secs);
    Candidacy {
        namespace: "system".to_owned(),
        name: "evenkeel".to_owned(),
        identity: name.to_owned(),
        timing: Timing::new(lease, renew, retry).unwrap(),
    }
}

fn elector(client: &Client, name: &str) -> (Elector, Leadership) {
    Elector::new(client.clone(), candidacy(name))
}

fn methods(asked: &Asked) -> Vec<String> {
    asked
        .lock()
        .unwrap()
        .drain(..)
        .map(|(method, ..)| method)
        .collect()
}

#[tokio::test]
async fn the_first_creates_the_lease_and_renews_it() {
    let kept = Kept::default();
    let (client, asked) = kept.serve().await;
    let (mut one, mut leadership) = elector(&client, "one");
    one.round().await;
    assert!(leadership.look().is_some());
    assert_eq!(methods(&asked), ["GET", "POST"]);
    let first = kept.spec();
    assert_eq!(
        (&first["holderIdentity"], &first["leaseDurationSeconds"]),
        (&json!("one"), &json!(15))
    );
    let term = leadership.term();
    one.round().await;
    assert_eq!(methods(&asked), ["PUT"], "it need not look first");
    let second = kept.spec();
    assert_eq!(first["acquireTime"], second["acquireTime"]);
    assert_ne!(first["renewTime"], second["renewTime"]);
    assert_eq!(leadership.term(), term);
}

#[tokio::test]
async fn the_second_stands_by_and_takes_over_when_the_first_gives_back() {
    let kept = Kept::default();
    let (client, asked) = kept.serve().await;
    let ((mut one, _), (mut other, standby)) = (elector(&client, "one"), elector(&client, "other"));
    one.round().await;
    other.round().await;
    assert_eq!(
        (standby.term(), standby.holder().as_deref()),
        (None, Some("one"))
    );
    methods(&asked);
    one.release().await;
    assert_eq!(
        (methods(&asked), kept.spec().get("holderIdentity")),
        (vec!["PUT".to_owned()], None)
    );
    other.round().await;
    assert!(standby.term().is_some());
    assert_eq!(
        (
            &kept.spec()["holderIdentity"],
            &kept.spec()["leaseTransitions"]
        ),
        (&json!("other"), &json!(1))
    );
    // Given back a second time, by one that does not have it: nothing happens.
    elector(&client, "third").0.release().await;
    assert_eq!(kept.spec()["holderIdentity"], "other");
}

#[tokio::test]
async fn of_two_who_are_as_quick_one_leads() {
    let kept = Kept::default();
    let (client, _) = kept.serve().await;
    let ((mut one, first), (mut other, second)) =
        (elector(&client, "one"), elector(&client, "other"));
    // Both have looked, and found none.
    one.read().await.unwrap_or_else(|_| panic!());
    other.read().await.unwrap_or_else(|_| panic!());
    assert!(one.call().await.is_ok());
    assert!(matches!(other.call().await, Err(Failed::Overtaken)));
    other.election.unsure();
    other.round().await;
    one.publish(None);
    assert!(first.term().is_some() && second.term().is_none());
    assert_eq!(second.holder().as_deref(), Some("one"));
}

#[tokio::test]
async fn what_others_wrote_into_it_stays() {
    let kept = Kept::default();
    kept.put(&json!({"holderIdentity": ""}));
    let (client, _) = kept.serve().await;
    elector(&client, "one").0.round().await;
    let lease = kept.0.lock().unwrap().lease.clone().unwrap();
    assert_eq!(
        (
            &lease["metadata"]["annotations"]["team"],
            &lease["spec"]["holderIdentity"]
        ),
        (&json!("a"), &json!("one"))
    );
}

#[tokio::test]
async fn a_lease_that_is_no_lease_is_trouble_and_nobody_leads_by_it() {
    let garbage = json!({"holderIdentity": 7, "renewTime": "yesterday"});
    let kept = Kept::default();
    kept.put(&garbage);
    let (client, asked) = kept.serve().await;
    let (mut one, leadership) = elector(&client, "one");
    one.round().await;
    assert_eq!(
        (leadership.term(), methods(&asked)),
        (None, vec!["GET".to_owned()])
    );
    let trouble = leadership.trouble().unwrap();
    assert!(
        trouble.starts_with("no answer about lease system/evenkeel: "),
        "{trouble}"
    );
    kept.put(&json!(null));
    one.round().await;
    assert!(
        leadership.term().is_some() && leadership.trouble().is_none(),
        "an empty one is free"
    );
}

#[tokio::test]
async fn what_is_missing_is_named() {
    for (method, expected) in [
        (
            "GET",
            "may not get lease system/evenkeel, which its role must allow: no",
        ),
        (
            "POST",
            "may not create lease system/evenkeel, which its role must allow: no",
        ),
    ] {
        let kept = Kept::default();
        kept.instead(Some((method, false, status(403, "no"))));
        let (client, _) = kept.serve().await;
        let (mut one, leadership) = elector(&client, "one");
        one.round().await;
        assert_eq!(
            (leadership.term(), leadership.trouble().as_deref()),
            (None, Some(expected))
        );
    }
    let (mut one, leadership) = elector(&client_of("http://127.0.0.1:1"), "one");
    one.round().await;
    assert!(leadership.trouble().unwrap().contains("Connection refused"));
}

#[tokio::test]
async fn a_renewal_whose_answer_is_lost_is_found_in_the_lease() {
    let kept = Kept::default();
    let (client, asked) = kept.serve().await;
    let (mut one, leadership) = elector(&client, "one");
    one.round().await;
    let term = leadership.term();
    methods(&asked);
    kept.instead(Some(("PUT", true, (502, "bad gateway".to_owned()))));
    one.round().await;
    assert!(leadership.trouble().is_some());
    assert_eq!(leadership.term(), term, "until its deadline");
    kept.instead(None);
    one.round().await;
    assert_eq!(methods(&asked), ["PUT", "GET", "PUT"]);
    assert_eq!((leadership.term(), leadership.trouble()), (term, None));
}

#[tokio::test]
async fn a_lease_that_was_deleted_is_created_again_for_another_term() {
    let kept = Kept::default();
    let (client, asked) = kept.serve().await;
    let (mut one, leadership) = elector(&client, "one");
    one.round().await;
    let term = leadership.term();
    kept.0.lock().unwrap().lease = None;
    methods(&asked);
    one.round().await;
    assert_eq!(methods(&asked), ["PUT", "GET", "POST"]);
    assert!(leadership.term().is_some() && leadership.term() != term);
}

#[tokio::test]
async fn what_is_given_back_is_looked_for_where_a_renewal_was_not_answered() {
    let kept = Kept::default();
    let (client, _) = kept.serve().await;
    let (mut one, leadership) = elector(&client, "one");
    one.round().await;
    kept.instead(Some(("PUT", true, (502, "bad gateway".to_owned()))));
    one.round().await;
    kept.instead(None);
    one.release().await;
    assert_eq!(
        (kept.spec().get("holderIdentity"), leadership.term()),
        (None, None)
    );
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_hangs_ends_the_lead_by_its_deadline_and_no_later() {
    let kept = Kept::default();
    let hangs = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (answers, hang) = (kept.clone(), Arc::clone(&hangs));
    let router = axum::Router::new().fallback(move |request: axum::extract::Request| {
        let (kept, hang) = (answers.clone(), Arc::clone(&hang));
        async move {
            if hang.load(std::sync::atomic::Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            let (method, uri) = (request.method().to_string(), request.uri().to_string());
            let body = axum::body::to_bytes(request.into_body(), usize::MAX)
                .await
                .unwrap();
            let (code, text) = kept.answer(&method, &uri, std::str::from_utf8(&body).unwrap());
            axum::response::Response::builder()
                .status(code)
                .body(axum::body::Body::from(text))
                .unwrap()
        }
    });
    let client = serve(router).await;
    let (mut one, leadership) = elector(&client, "one");
    one.round().await;
    assert!(leadership.term().is_some());
    let start = Instant::now();
    hangs.store(true, std::sync::atomic::Ordering::Relaxed);
    let stop = CancellationToken::new();
    let task = tokio::spawn(one.run(stop.clone()));
    let mut waited = leadership.clone();
    waited.look();
    waited.changed().await;
    assert!(
        start.elapsed() > Duration::from_secs(9) && leadership.term().is_none(),
        "{:?}",
        start.elapsed()
    );
    tokio::time::advance(Duration::from_secs(60)).await;
    hangs.store(false, std::sync::atomic::Ordering::Relaxed);
    waited.changed().await;
    assert!(leadership.term().is_some(), "it leads again");
    stop.cancel();
    task.await.unwrap();
    assert_eq!(kept.spec().get("holderIdentity"), None);
}

#[tokio::test(start_paused = true)]
async fn a_foreign_holder_that_stopped_renewing_is_followed_after_its_own_duration() {
    let kept = Kept::default();
    // By its clock it renews tomorrow, and by ours it is silent.
    let time = MicroTime("2099-01-01T00:00:00Z".parse().unwrap());
    kept.put(&json!({"holderIdentity": "go", "leaseDurationSeconds": 30, "renewTime": time, "leaseTransitions": 7}));
    let (client, _) = kept.serve().await;
    let (one, mut leadership) = elector(&client, "one");
    let start = Instant::now();
    let task = tokio::spawn(one.run(CancellationToken::new()));
    leadership.changed().await;
    let waited = start.elapsed().as_secs();
    assert!((30..=33).contains(&waited), "{waited} s");
    assert!(leadership.term().is_some());
    assert_eq!(kept.spec()["leaseTransitions"], 8);
    task.abort();
}

/// Who says how an election goes, so that no lease is needed.
pub(crate) struct Ruler {
    standing: watch::Sender<Standing>,
    terms: Election,
}

impl Ruler {
    pub(crate) fn new() -> (Self, Leadership) {
        let (standing, receiver) = watch::channel(Standing::default());
        (
            Ruler {
                standing,
                terms: Election::new("me".to_owned(), candidacy("me").timing),
            },
            Leadership(receiver),
        )
    }

    /// Another term begins; its renew deadline is ten seconds from now.
    pub(crate) fn crown(&mut self) {
        self.terms.resign(Instant::now());
        self.terms
            .written(LeaseSpec::default(), Instant::now(), Instant::now());
        let lead = self.terms.lead(Instant::now());
        self.standing.send_replace(Standing {
            lead,
            holder: Some("me".to_owned()),
            trouble: None,
        });
    }

    pub(crate) fn depose(&self) {
        self.standing.send_replace(Standing {
            lead: None,
            holder: Some("other".to_owned()),
            trouble: None,
        });
    }
}
