//! The ledger of a cycle: what is not understood stays, what was not saved is saved later, and what
//! another process wrote is kept.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use serde_json::{Value, json};

use super::Cycle;
use super::act::{LONGEST_PLAN, too_late};
use crate::cluster::client::tests::{fake, status};
use crate::cluster::clock::{self, LocalTime};
use crate::cluster::failures::Request;
use crate::cluster::usage_source::guards::GuardSource;
use crate::daemon::fixture::{
    self, guard_server, namespace, node, objects, pod, replica_set, tainted,
};
use crate::daemon::{Daemon, DaemonError};
use crate::decide::engine::Engine;
use crate::model::ledger::{Ledger, State};
use crate::model::plan::Untried;
use crate::model::snapshot::objects::Object;
use crate::policy::Policy;

/// A ConfigMap with the text of a ledger, and how the API server treats requests.
#[derive(Default)]
struct FakeStore {
    version: u64,
    text: Option<String>,
    /// The next writes that fail with 500, by number.
    failing: Vec<usize>,
    /// Those of them that are stored all the same.
    stored: Vec<usize>,
    writes: usize,
    evictions: usize,
    /// Whether the right to evict is missing.
    denied: bool,
    /// Whether the right to write the ledger is missing.
    read_only: bool,
    /// The text that another process writes when the first eviction is requested.
    foreign: Option<String>,
}

const DENIED: &str = "pods \"web-0\" is forbidden: User \"me\" cannot create resource \
    \"pods/eviction\" in API group \"\" in the namespace \"shop\"";

struct CycleFixture {
    daemon: Daemon,
    engine: Engine,
    store: Arc<Mutex<FakeStore>>,
}

fn configmap(store: &FakeStore) -> String {
    let data = store.text.as_ref().map(|text| json!({"ledger.json": text}));
    let metadata = json!({"name": "ledger", "resourceVersion": store.version.to_string()});
    json!({"metadata": metadata, "data": data}).to_string()
}

fn respond(store: &mut FakeStore, method: &str, uri: &str, body: &str) -> (u16, String) {
    if uri.contains("/eviction") {
        store.evictions += 1;
        if let Some(text) = store.foreign.take() {
            store.text = Some(text);
            store.version += 1;
        }
    }
    if uri.contains("/eviction") && store.denied {
        return status(403, DENIED);
    }
    if !uri.contains("/configmaps") {
        return (201, r#"{"kind": "Status", "status": "Success"}"#.to_owned());
    }
    if method == "PUT" {
        let sent: Value = serde_json::from_str(body).unwrap();
        store.writes += 1;
        if store.read_only {
            return status(403, "cannot update configmaps");
        }
        let fails = store.failing.contains(&store.writes);
        if fails && !store.stored.contains(&store.writes) {
            return status(500, "etcd is away");
        }
        if sent["metadata"]["resourceVersion"] != json!(store.version.to_string()) {
            return status(409, "the object has been modified");
        }
        store.text = sent["data"]["ledger.json"].as_str().map(str::to_owned);
        store.version += 1;
        if fails {
            return status(500, "etcd is away");
        }
    }
    (200, configmap(store))
}

impl CycleFixture {
    /// A cluster in which one pod violates a taint of its node, so that one pod goes per cycle.
    async fn new() -> Self {
        let store = Arc::new(Mutex::new(FakeStore { version: 1, ..FakeStore::default() }));
        let shared = Arc::clone(&store);
        let answer = move |method: &str, uri: &str, body: &str| {
            respond(&mut shared.lock().unwrap(), method, uri, body)
        };
        let (client, _) = fake(answer).await;
        let policy = fixture::policy(
            "limits: {perCycle: 1}, evictable: {minReplicas: 1, minPodAge: 0s}, strategies: [{removePodsViolatingNodeTaints: {}}]",
        );
        let (daemon, engine) = violating_pods(&client, policy).await;
        CycleFixture { daemon, engine, store }
    }

    async fn cycle(&mut self) -> Result<Option<String>, DaemonError> {
        Cycle::new(&mut self.daemon, &mut self.engine).run().await
    }

    fn evictions(&self) -> usize {
        self.store.lock().unwrap().evictions
    }

    fn stored(&self) -> String {
        self.store.lock().unwrap().text.clone().unwrap_or_default()
    }

    fn write(&self, text: &str) {
        let mut store = self.store.lock().unwrap();
        store.text = Some(text.to_owned());
        store.version += 1;
    }

    /// The pods and states of the stored ledger.
    fn entries(&self) -> Vec<(String, State)> {
        let ledger = Ledger::parse(&self.stored()).unwrap();
        ledger.entries().iter().map(|e| (e.pod.clone(), e.state)).collect()
    }
}

/// A cluster in which each of nine pods violates a taint of its node.
pub(in crate::daemon) async fn violating_pods(client: &Client, policy: Policy) -> (Daemon, Engine) {
    let mut daemon = Daemon::fake(client, &policy);
    daemon.cluster.apply(objects(0));
    daemon.cluster.apply([tainted("n1")]);
    let sets = (0..9).map(|i| replica_set(&format!("web-{i}-set")));
    daemon.cluster.apply(sets);
    let pods = (0..9).map(|i| owned(&format!("web-{i}")));
    daemon.cluster.apply(pods);
    let ledger = daemon.store.load().await.unwrap();
    (daemon, Engine::new(policy, ledger))
}

pub(in crate::daemon) fn owned(name: &str) -> Object {
    let Object::Pod(mut facts) = pod(name, &format!("uid-{name}"), "n1") else {
        panic!("a pod");
    };
    facts.owners = vec![crate::model::snapshot::facts::Owner {
        kind: "ReplicaSet".to_owned(),
        name: format!("{name}-set"),
        controller: true,
        ..crate::model::snapshot::facts::Owner::default()
    }];
    Object::Pod(facts)
}

/// A ledger with one eviction of another process.
fn foreign(at: Timestamp) -> String {
    json!({"version": 1, "resting": {}, "entries": [{
        "workload": "shop/Deployment/job", "pod": "job-1", "uid": "uid-job-1", "node": "n1",
        "at": at, "newest": at, "state": "evicted",
    }]})
    .to_string()
}

#[tokio::test]
async fn scribbles_between_two_cycles_end_all_evictions_until_they_are_removed() {
    for text in ["scribbles", r#"{"version":7,"evictions":[]}"#] {
        let mut fixture = CycleFixture::new().await;
        fixture.cycle().await.unwrap();
        assert_eq!(fixture.evictions(), 1);
        fixture.write(text);
        for _ in 0..4 {
            let _ = fixture.cycle().await;
            assert_eq!((fixture.evictions(), fixture.stored().as_str()), (1, text));
        }
        fixture.store.lock().unwrap().text = None;
        for _ in 0..2 {
            let _ = fixture.cycle().await;
        }
        assert!(fixture.evictions() > 1, "it continues");
        let pods: Vec<_> = fixture.entries().into_iter().map(|(pod, _)| pod).collect();
        assert!(pods.contains(&"web-0".to_owned()), "from memory: {pods:?}");
    }
}

#[tokio::test]
async fn an_entry_of_another_process_between_two_saves_is_kept() {
    let mut fixture = CycleFixture::new().await;
    fixture.store.lock().unwrap().foreign = Some(foreign(clock::now()));
    fixture.cycle().await.unwrap();
    let expected = [("job-1", State::Evicted), ("web-0", State::Evicted)];
    let expected: Vec<_> = expected.map(|(pod, state)| (pod.to_owned(), state)).into();
    let mut entries = fixture.entries();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(entries, expected);
}

#[tokio::test]
async fn outcomes_that_could_not_be_saved_are_saved_by_the_next_cycle() {
    let mut fixture = CycleFixture::new().await;
    fixture.store.lock().unwrap().failing = vec![2];
    fixture.cycle().await.unwrap();
    let intended = ("web-0".to_owned(), State::Intended);
    assert_eq!(fixture.entries(), [intended]);
    // Nothing more to evict.
    fixture.daemon.cluster.apply([node("n1", true)]);
    fixture.cycle().await.unwrap();
    assert_eq!(fixture.evictions(), 1);
    assert_eq!(fixture.entries(), [("web-0".to_owned(), State::Evicted)]);
}

/// Nothing was sent for it, so the next cycle need not wait until that is certain.
#[tokio::test]
async fn an_intention_whose_failed_write_is_stored_is_withdrawn() {
    for (failing, stored) in [(1..2, 1..2), (1..2, 1..1), (1..3, 1..3), (1..3, 1..2)] {
        let mut fixture = CycleFixture::new().await;
        fixture.engine.keep_facts();
        let failed = failing.len();
        {
            let mut store = fixture.store.lock().unwrap();
            (store.failing, store.stored) = (failing.collect(), stored.collect());
        }
        for _ in 0..failed {
            assert!(fixture.cycle().await.is_err());
        }
        fixture.cycle().await.unwrap();
        assert_eq!(fixture.evictions(), 1);
        assert_eq!(fixture.entries(), [("web-0".to_owned(), State::Evicted)]);
        assert_eq!(fixture.engine.ledger().facts().len(), 1, "that it is evicted");
    }
}

#[tokio::test]
async fn times_in_the_future_do_not_stop_evictions() {
    let mut fixture = CycleFixture::new().await;
    let next_year = clock::now() + SignedDuration::from_hours(24 * 365);
    fixture.write(&foreign(next_year));
    let ledger = fixture.daemon.store.load().await.unwrap();
    fixture.engine.reload(ledger);
    fixture.cycle().await.unwrap();
    assert_eq!(fixture.evictions(), 1);
    let ledger = Ledger::parse(&fixture.stored()).unwrap();
    assert!(ledger.entries().iter().all(|e| e.at <= clock::now()));
}

/// With no move in the plan, nothing else would write the ledger and find the right.
#[tokio::test]
async fn a_denied_ledger_fails_until_it_can_be_written() {
    let mut fixture = CycleFixture::new().await;
    fixture.store.lock().unwrap().read_only = true;
    let fails = async |fixture: &mut CycleFixture| {
        let cycle = fixture.cycle().await.is_err();
        (cycle, fixture.daemon.cluster.failures().is_failing(Request::Ledger))
    };
    assert_eq!(fails(&mut fixture).await, (true, true));
    fixture.daemon.cluster.apply([node("n1", true)]);
    assert_eq!(fails(&mut fixture).await, (true, true), "nothing to evict");
    fixture.store.lock().unwrap().read_only = false;
    assert_eq!(fails(&mut fixture).await, (false, false));
    assert_eq!(fixture.evictions(), 0);
}

/// An alert about hot nodes would otherwise be about the last plan for ever.
#[tokio::test]
async fn the_metrics_of_a_plan_go_once_two_cycles_are_skipped() {
    let mut fixture = CycleFixture::new().await;
    let has_plan = |fixture: &CycleFixture| {
        let text = fixture.daemon.metrics.text();
        text.contains("evenkeel_planned_moves{")
    };
    fixture.cycle().await.unwrap();
    fixture.daemon.cluster.list_namespaces(false);
    fixture.cycle().await.unwrap();
    assert!(has_plan(&fixture), "a short interruption");
    tokio::time::pause();
    tokio::time::advance(fixture.engine.policy().interval.unsigned_abs() * 2).await;
    fixture.cycle().await.unwrap();
    assert!(!has_plan(&fixture));
}

/// So that a single run exits with 1, and the next one too, although it sends no request.
#[tokio::test]
async fn a_cycle_tells_that_a_missing_right_kept_it_from_evicting() {
    let mut fixture = CycleFixture::new().await;
    fixture.store.lock().unwrap().denied = true;
    let denied = fixture.cycle().await.unwrap().unwrap();
    assert!(denied.contains("cannot create resource \"pods/eviction\""), "{denied}");
    let resting = fixture.cycle().await.unwrap().unwrap();
    assert!(resting.starts_with("no right to evict pods in its namespace"), "{resting}");
    assert_eq!(fixture.evictions(), 1);
}

#[tokio::test]
async fn a_cycle_that_evicts_misses_no_right() {
    let mut fixture = CycleFixture::new().await;
    assert_eq!(fixture.cycle().await.unwrap(), None);
}

/// As while an API server starts, and its roles are not loaded yet. A pause may be among the
/// annotations.
#[tokio::test]
async fn no_pod_is_evicted_while_namespaces_cannot_be_listed() {
    let mut fixture = CycleFixture::new().await;
    fixture.daemon.cluster.list_namespaces(false);
    fixture.cycle().await.unwrap();
    assert_eq!((fixture.evictions(), fixture.stored().as_str()), (0, ""));
    let waiting = format!("{:?}", fixture.daemon.health);
    let expected = "pauses are unknown, because Namespaces cannot be listed: evenkeel may not \
        list them; no evictions until they can be, let evenkeel list and watch namespaces";
    assert!(waiting.contains(expected), "{waiting}");
    fixture.daemon.cluster.list_namespaces(true);
    fixture.daemon.cluster.apply([namespace()]);
    fixture.cycle().await.unwrap();
    assert_eq!(fixture.evictions(), 1);
}

/// A reload may have replaced the guards since the last poll. The ledger stays as it is, because
/// nothing is planned.
#[tokio::test]
async fn guards_that_were_not_asked_yet_are_asked_before_the_decision() {
    let mut fixture = CycleFixture::new().await;
    let url = guard_server(|| true).await;
    let policy = fixture::policy(&format!(
        "limits: {{perCycle: 1}}, \
          evictable: {{minReplicas: 1, minPodAge: 0s}}, \
          strategies: [{{removePodsViolatingNodeTaints: {{}}}}], \
          usage: {{prometheus: {{url: '{url}'}}}}, \
          guards: [{{name: g, query: ALERTS, missing: allow}}]"
    ));
    fixture.daemon.guards = GuardSource::new(&policy);
    fixture.engine.change_policy(policy);
    fixture.cycle().await.unwrap();
    assert_eq!((fixture.evictions(), fixture.stored().as_str()), (0, ""));
}

#[tokio::test]
async fn a_cycle_whose_plan_is_late_evicts_nothing_and_says_what_to_do() {
    let mut fixture = CycleFixture::new().await;
    let mut cycle = Cycle::new(&mut fixture.daemon, &mut fixture.engine);
    cycle.started = LocalTime::now().minus(Duration::from_secs(43));
    cycle.run().await.unwrap();
    assert_eq!((fixture.evictions(), fixture.stored().as_str()), (0, ""));
    fixture.cycle().await.unwrap();
    assert_eq!(fixture.evictions(), 1);
}

#[test]
fn only_an_expired_plan_is_late() {
    let elapsed = SignedDuration::from_millis(43_210);
    let expired = Untried::Expired(LONGEST_PLAN);
    let late = too_late(&expired, elapsed).unwrap();
    assert!(
        late.starts_with("the plan was ready 43.2 s after its cycle began, and expires after 20s")
    );
    assert_eq!(too_late(&Untried::Stopping, elapsed), None);
}
