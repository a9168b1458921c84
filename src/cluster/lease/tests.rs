//! The requests of candidates to an API server that stores one Lease.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::LeaseSpec;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::election::{Election, LeaseTiming};
use super::{Candidacy, Elector, Leadership, LeadershipState, LeaseError};
use crate::cluster::client::tests::{ApiRequests, FakeObject, client_of, fake, serve, status};

const PATH: &str = "/apis/coordination.k8s.io/v1/namespaces/system/leases";

/// A stored Lease, and responses that replace the real ones.
#[derive(Clone, Default)]
pub(crate) struct FakeLease(Arc<Mutex<FakeLeaseState>>);

#[derive(Default)]
struct FakeLeaseState {
    lease: FakeObject,
    /// The replaced method, whether the request still takes effect, and the response.
    instead: Option<(&'static str, bool, (u16, String))>,
}

impl FakeLease {
    /// Serves an API server without a Lease.
    pub(crate) async fn serve(&self) -> (Client, ApiRequests) {
        let lease_server = self.clone();
        fake(move |method, uri, body| lease_server.respond(method, uri, body)).await
    }

    pub(crate) fn respond(&self, method: &str, uri: &str, body: &str) -> (u16, String) {
        assert!(uri.starts_with(PATH), "{uri}");
        let mut state = self.0.lock().unwrap();
        let instead = state.instead.clone().filter(|(of, ..)| *of == method);
        if let Some((_, false, response)) = instead {
            return response;
        }
        let response = state.lease.answer(method, body);
        instead.map_or(response, |(.., instead)| instead)
    }

    fn spec(&self) -> Value {
        self.0
            .lock()
            .unwrap()
            .lease
            .kept
            .as_ref()
            .map_or(Value::Null, |lease| lease["spec"].clone())
    }

    pub(crate) fn put(&self, spec: &Value) {
        let mut state = self.0.lock().unwrap();
        let lease =
            json!({"metadata": {"name": "evenkeel", "annotations": {"team": "a"}}, "spec": spec});
        state.lease.keep(lease);
    }

    fn instead(&self, instead: Option<(&'static str, bool, (u16, String))>) {
        self.0.lock().unwrap().instead = instead;
    }
}

pub(crate) fn candidacy(name: &str) -> Candidacy {
    let [lease, renew, retry] = [15, 10, 2].map(Duration::from_secs);
    Candidacy {
        namespace: "system".to_owned(),
        name: "evenkeel".to_owned(),
        identity: name.to_owned(),
        timing: LeaseTiming::new(lease, renew, retry).unwrap(),
    }
}

fn elector(client: &Client, name: &str) -> (Elector, Leadership) {
    Elector::new(client.clone(), candidacy(name))
}

fn methods(requests: &ApiRequests) -> Vec<String> {
    requests.lock().unwrap().drain(..).map(|(method, ..)| method).collect()
}

#[tokio::test]
async fn the_first_creates_the_lease_and_renews_it() {
    let lease_server = FakeLease::default();
    let (client, requests) = lease_server.serve().await;
    let (mut one, mut leadership) = elector(&client, "one");
    one.round().await;
    assert!(leadership.term_and_update().is_some());
    assert_eq!(methods(&requests), ["GET", "POST"]);
    let first = lease_server.spec();
    assert_eq!(
        (&first["holderIdentity"], &first["leaseDurationSeconds"]),
        (&json!("one"), &json!(15))
    );
    let term = leadership.term();
    one.round().await;
    assert_eq!(methods(&requests), ["PUT"], "a leader does not read first");
    let second = lease_server.spec();
    assert_eq!(first["acquireTime"], second["acquireTime"]);
    assert_ne!(first["renewTime"], second["renewTime"]);
    assert_eq!(leadership.term(), term);
}

#[tokio::test]
async fn the_second_stands_by_and_takes_over_when_the_first_releases() {
    let lease_server = FakeLease::default();
    let (client, requests) = lease_server.serve().await;
    let ((mut one, _), (mut other, standby)) = (elector(&client, "one"), elector(&client, "other"));
    one.round().await;
    other.round().await;
    assert_eq!((standby.term(), standby.holder().as_deref()), (None, Some("one")));
    methods(&requests);
    one.release().await;
    assert_eq!(
        (methods(&requests), lease_server.spec().get("holderIdentity")),
        (vec!["PUT".to_owned()], None)
    );
    other.round().await;
    assert!(standby.term().is_some());
    assert_eq!(
        (&lease_server.spec()["holderIdentity"], &lease_server.spec()["leaseTransitions"]),
        (&json!("other"), &json!(1))
    );
    // A release by a process that does not hold the Lease changes nothing.
    elector(&client, "third").0.release().await;
    assert_eq!(lease_server.spec()["holderIdentity"], "other");
}

#[tokio::test]
async fn of_two_simultaneous_candidates_one_leads() {
    let lease_server = FakeLease::default();
    let (client, _) = lease_server.serve().await;
    let ((mut one, first), (mut other, second)) =
        (elector(&client, "one"), elector(&client, "other"));
    // Both have read that no Lease exists.
    one.read().await.unwrap_or_else(|_| panic!());
    other.read().await.unwrap_or_else(|_| panic!());
    assert!(one.step().await.is_ok());
    assert!(matches!(other.step().await, Err(LeaseError::Conflict)));
    other.election.unsure();
    other.round().await;
    one.publish(None, false);
    assert!(first.term().is_some() && second.term().is_none());
    assert_eq!(second.holder().as_deref(), Some("one"));
}

#[tokio::test]
async fn fields_of_others_in_the_lease_stay() {
    let lease_server = FakeLease::default();
    lease_server.put(&json!({"holderIdentity": ""}));
    let (client, _) = lease_server.serve().await;
    elector(&client, "one").0.round().await;
    let lease = lease_server.0.lock().unwrap().lease.kept.clone().unwrap();
    assert_eq!(
        (&lease["metadata"]["annotations"]["team"], &lease["spec"]["holderIdentity"]),
        (&json!("a"), &json!("one"))
    );
}

#[tokio::test]
async fn an_invalid_lease_is_an_error_and_makes_no_leader() {
    let garbage = json!({"holderIdentity": 7, "renewTime": "yesterday"});
    let lease_server = FakeLease::default();
    lease_server.put(&garbage);
    let (client, requests) = lease_server.serve().await;
    let (mut one, leadership) = elector(&client, "one");
    one.round().await;
    assert_eq!((leadership.term(), methods(&requests)), (None, vec!["GET".to_owned()]));
    let error = leadership.error().unwrap();
    assert!(error.starts_with("no response for lease system/evenkeel: "), "{error}");
    lease_server.put(&json!(null));
    one.round().await;
    assert!(leadership.term().is_some() && leadership.error().is_none(), "an empty lease is free");
}

#[tokio::test]
async fn a_missing_permission_is_named() {
    for (method, expected) in [
        ("GET", "cannot get lease system/evenkeel: the role must allow it: no"),
        (
            "POST",
            "cannot create lease system/evenkeel: it does not exist, so apply the manifests again, \
             or let the role create it: no",
        ),
    ] {
        let lease_server = FakeLease::default();
        lease_server.instead(Some((method, false, status(403, "no"))));
        let (client, _) = lease_server.serve().await;
        let (mut one, leadership) = elector(&client, "one");
        one.round().await;
        assert_eq!((leadership.term(), leadership.error().as_deref()), (None, Some(expected)));
    }
    let (mut one, leadership) = elector(&client_of("http://127.0.0.1:1"), "one");
    one.round().await;
    assert!(leadership.error().unwrap().contains("Connection refused"));
}

#[tokio::test]
async fn the_end_of_a_candidate_is_not_the_end_of_its_error() {
    let lease_server = FakeLease::default();
    lease_server.instead(Some(("GET", false, status(403, "no"))));
    let (client, _) = lease_server.serve().await;
    let (mut one, leadership) = elector(&client, "one");
    one.round().await;
    let error = leadership.error();
    one.release().await;
    assert!(error.is_some() && leadership.is_forbidden());
    assert_eq!(leadership.error(), error);
}

#[tokio::test]
async fn a_deleted_lease_is_created_again_in_a_new_term() {
    let lease_server = FakeLease::default();
    let (client, requests) = lease_server.serve().await;
    let (mut one, leadership) = elector(&client, "one");
    one.round().await;
    let term = leadership.term();
    lease_server.0.lock().unwrap().lease.kept = None;
    methods(&requests);
    one.round().await;
    assert_eq!(methods(&requests), ["PUT", "GET", "POST"]);
    assert!(leadership.term().is_some() && leadership.term() != term);
}

#[tokio::test]
async fn a_release_after_a_renewal_without_response_reads_the_lease_first() {
    let lease_server = FakeLease::default();
    let (client, _) = lease_server.serve().await;
    let (mut one, leadership) = elector(&client, "one");
    one.round().await;
    lease_server.instead(Some(("PUT", true, (502, "bad gateway".to_owned()))));
    one.round().await;
    lease_server.instead(None);
    one.release().await;
    assert_eq!((lease_server.spec().get("holderIdentity"), leadership.term()), (None, None));
}

#[tokio::test(start_paused = true)]
async fn a_hanging_api_server_ends_the_leadership_at_its_deadline() {
    let lease_server = FakeLease::default();
    let hangs = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (server, hang) = (lease_server.clone(), Arc::clone(&hangs));
    let router = axum::Router::new().fallback(move |request: axum::extract::Request| {
        let (lease_server, hang) = (server.clone(), Arc::clone(&hang));
        async move {
            if hang.load(std::sync::atomic::Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            let (method, uri) = (request.method().to_string(), request.uri().to_string());
            let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap();
            let (code, text) =
                lease_server.respond(&method, &uri, std::str::from_utf8(&body).unwrap());
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
    waited.term_and_update();
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
    assert_eq!(lease_server.spec().get("holderIdentity"), None);
}

/// Sets the result of an election without a Lease.
pub(crate) struct FakeElection {
    state: watch::Sender<LeadershipState>,
    election: Election,
}

impl FakeElection {
    pub(crate) fn new() -> (Self, Leadership) {
        let (state, receiver) = watch::channel(LeadershipState::default());
        (
            FakeElection {
                state,
                election: Election::new("me".to_owned(), candidacy("me").timing),
            },
            Leadership(receiver),
        )
    }

    /// Starts a new term, whose renew deadline is ten seconds from now.
    pub(crate) fn elect(&mut self) {
        self.election.resign(Instant::now());
        self.election.written(LeaseSpec::default(), Instant::now(), Instant::now());
        let active = self.election.active(Instant::now());
        let holder = Some("me".to_owned());
        self.state.send_replace(LeadershipState { active, holder, ..LeadershipState::default() });
    }

    pub(crate) fn depose(&self) {
        let holder = Some("other".to_owned());
        self.state.send_replace(LeadershipState { holder, ..LeadershipState::default() });
    }

    /// The API server refuses requests.
    pub(crate) fn forbid(&self, forbidden: bool) {
        self.state.send_modify(|state| state.forbidden = forbidden);
    }

    /// Another process holds the Lease and renews it.
    pub(crate) fn renewed_by_another(&self) {
        self.depose();
        self.state.send_modify(|state| state.held_by_living = true);
    }
}
