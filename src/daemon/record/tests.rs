//! The record: each eviction has one line, or the others are marked, wherever the program is
//! killed; and a sink that is down delays nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::http_sink::{BodyFormat, HttpSink};
use super::*;
use crate::cluster::client::tests::{served, status};
use crate::cluster::clock;
use crate::daemon::fixture::{self, namespace, node, replica_set, tainted};
use crate::model::ledger::State;
use crate::model::record::{EVICTION, EvictionDetails, OUTCOME};
use crate::model::snapshot::facts::OwnerKey;
use crate::model::snapshot::import;
use crate::model::snapshot::objects::{Object, ObjectKind};

/// The fact that the pod with this uid was evicted.
pub(super) fn fact(uid: &str) -> Fact {
    let time = "2026-11-21T12:00:00Z".parse().unwrap();
    let details = EvictionDetails {
        namespace: "shop".to_owned(),
        pod: "web-1".to_owned(),
        uid: uid.to_owned(),
        workload: OwnerKey::try_from("shop/Deployment/web".to_owned()).unwrap(),
        node: "n1".to_owned(),
        decided: time,
        outcome: "evicted".to_owned(),
        message: None,
        strategy: None,
        reason: None,
        relief: None,
        trial: false,
        may_land: Vec::new(),
        to: None,
        forecast: None,
    };
    details.fact(EVICTION, time)
}

/// The moment of a kill, relative to a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cut {
    /// The request or the line does not arrive.
    Before,
    /// It arrives, and the program does not learn that.
    After,
}

/// Everything that outlives the program: the ConfigMap, the pods and the record. Each request and
/// each line is a step, and the program is killed at one of them.
struct World {
    version: u64,
    ledger: Option<String>,
    pods: BTreeMap<String, Value>,
    evicted: BTreeSet<String>,
    record: String,
    created: usize,
    /// The number of the process that runs.
    process: usize,
    /// The kind of step at which the program is killed, and how many of them are left.
    kill_at: (&'static str, usize),
    cut: Cut,
    killed: bool,
    /// The steps at which the program was killed, and the cut.
    kills: BTreeMap<(&'static str, Cut), usize>,
}

/// The world as one process sees it.
#[derive(Clone)]
struct SharedWorld {
    world: Arc<Mutex<World>>,
    /// The number of the process. A thread of an earlier one may still run.
    process: usize,
    killed: Arc<Notify>,
}

const NODE: &str = "n1";
const NEVER: (&str, usize) = ("save", usize::MAX);

impl World {
    fn create(&mut self, node: &str, owner: &str, age: SignedDuration) {
        self.created += 1;
        let name = format!("web-{}", self.created);
        let created = clock::now() - age;
        let pod = json!({
            "metadata": {"namespace": "shop", "name": name, "uid": format!("uid-{name}"),
                "creationTimestamp": created.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner,
                    "uid": owner, "controller": true}]},
            "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        });
        self.pods.insert(name, pod);
    }

    /// The pod ends, its controller replaces it on another node, and another pod needs a move.
    fn evict(&mut self, name: &str) {
        let pod = self.pods.remove(name).unwrap();
        self.evicted.insert(pod["metadata"]["uid"].as_str().unwrap().to_owned());
        let owner = pod["metadata"]["ownerReferences"][0]["name"].as_str();
        self.create("n2", owner.unwrap(), SignedDuration::ZERO);
        let next = format!("set-{}", self.created);
        self.create(NODE, &next, SignedDuration::from_hours(1));
        // Old replacements are no longer looked at.
        let replacements = self.pods.iter();
        let replacements = replacements.filter(|(_, pod)| pod["spec"]["nodeName"] == "n2");
        let names: Vec<String> = replacements.map(|(name, _)| name.clone()).collect();
        if names.len() > 20 {
            self.pods.remove(&names[0]);
        }
    }

    fn answer(&mut self, method: &str, path: &str, body: &str) -> (u16, String) {
        if path.ends_with("/eviction") {
            let pod = path.rsplit('/').nth(1).unwrap();
            self.evict(pod);
            return (201, r#"{"kind": "Status", "status": "Success"}"#.to_owned());
        }
        match (method, &self.ledger) {
            ("GET" | "PUT", None) => return status(404, "not found"),
            ("GET", Some(_)) => {}
            _ => {
                let sent: Value = serde_json::from_str(body).unwrap();
                self.ledger = sent["data"]["ledger.json"].as_str().map(str::to_owned);
                self.version += 1;
            }
        }
        let metadata = json!({"name": "ledger", "resourceVersion": self.version.to_string()});
        let map = json!({"metadata": metadata, "data": {"ledger.json": self.ledger}});
        (200, map.to_string())
    }

    /// Counts a step. Returns what a kill cuts; `None` if the program lives.
    fn step(&mut self, process: usize, name: &'static str) -> Option<Cut> {
        if self.killed || self.process != process {
            return Some(Cut::Before);
        }
        if self.kill_at.0 == name {
            self.kill_at.1 -= 1;
            self.killed = self.kill_at.1 == 0;
        }
        if self.killed {
            *self.kills.entry((name, self.cut)).or_default() += 1;
        }
        self.killed.then_some(self.cut)
    }

    /// The next process starts two minutes later, when no request of the last one is on its way.
    fn restart(&mut self, kill_at: (&'static str, usize), cut: Cut) {
        self.process += 1;
        (self.kill_at, self.cut, self.killed) = (kill_at, cut, false);
        if !self.record.is_empty() && !self.record.ends_with('\n') {
            self.record.push('\n');
        }
        if let Some(text) = &self.ledger {
            let mut ledger: Value = serde_json::from_str(text).unwrap();
            for entry in ledger["entries"].as_array_mut().unwrap() {
                let at: Timestamp = entry["at"].as_str().unwrap().parse().unwrap();
                entry["at"] = json!(at - SignedDuration::from_mins(2));
            }
            self.ledger = Some(ledger.to_string());
        }
    }

    fn objects(&self) -> Vec<Object> {
        let nodes = [tainted(NODE), node("n2", true), node("n3", true)];
        let pods = self.pods.values();
        let pods = pods.map(|pod| import::json(ObjectKind::Pod, pod.to_string().as_bytes()));
        let owners = self.pods.values();
        let owners = owners.map(|pod| pod["metadata"]["ownerReferences"][0]["name"].as_str());
        let sets = owners.map(|owner| replica_set(owner.unwrap()));
        let others = nodes.into_iter().chain([namespace()]).chain(sets);
        others.chain(pods.map(Result::unwrap)).collect()
    }
}

impl SharedWorld {
    fn new() -> Self {
        let mut world = World {
            version: 1,
            ledger: None,
            pods: BTreeMap::new(),
            evicted: BTreeSet::new(),
            record: String::new(),
            created: 0,
            process: 0,
            kill_at: NEVER,
            cut: Cut::Before,
            killed: false,
            kills: BTreeMap::new(),
        };
        for pod in 0..4 {
            world.create(NODE, &format!("first-{pod}"), SignedDuration::from_hours(1));
        }
        SharedWorld { world: Arc::new(Mutex::new(world)), process: 0, killed: Arc::default() }
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    fn client(&self) -> Client {
        let shared = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let shared = shared.clone();
            async move {
                let (parts, body) = request.into_parts();
                let (method, path) = (parts.method.as_str(), parts.uri.path());
                if path.ends_with("/events") {
                    return Response::builder().status(201).body(Body::from(Vec::new()));
                }
                let body = body.collect_bytes().await.unwrap();
                let body = String::from_utf8(body.to_vec()).unwrap();
                let name = match (method, path.ends_with("/eviction")) {
                    (_, true) => "eviction",
                    ("GET", _) => "load",
                    _ => "save",
                };
                let cut = shared.world().step(shared.process, name);
                let answer =
                    (cut != Some(Cut::Before)).then(|| shared.world().answer(method, path, &body));
                if let (Some((code, text)), None) = (answer, cut) {
                    let body = Body::from(text.into_bytes());
                    return Response::builder().status(code).body(body);
                }
                shared.killed.notify_one();
                std::future::pending().await
            }
        });
        Client::new(service, "default")
    }

    /// A policy by which one pod goes in each cycle.
    fn policy() -> Policy {
        fixture::policy(
            "limits: {perCycle: 1, perMinute: none, perWorkload: none}, \
            evictable: {minReplicas: 1, minPodAge: 0s}, \
            strategies: [{removePodsViolatingNodeTaints: {}}]",
        )
    }

    /// Starts the program, which is killed at this step.
    fn restarted(&self, kill_at: (&'static str, usize), cut: Cut) -> Self {
        let mut world = self.world();
        world.restart(kill_at, cut);
        SharedWorld {
            world: Arc::clone(&self.world),
            process: world.process,
            killed: Arc::default(),
        }
    }

    /// Runs the program until it is killed, or for some cycles.
    async fn live(&self, cycles: usize) {
        let policy = Self::policy();
        let mut daemon = Daemon::fake(&self.client(), &policy);
        daemon.recorder = Some(daemon.recorder(RecordSettings {
            source: "test".to_owned(),
            sink: Sink::Output(Arc::new(Mutex::new(self.clone()))),
        }));
        let run = async {
            let ledger = daemon.store.load().await.unwrap();
            let mut engine = daemon.engine(policy, ledger);
            for _ in 0..cycles {
                daemon.cluster.apply(self.world().objects());
                let _ = Cycle::new(&mut daemon, &mut engine).run().await;
                sleep(Duration::from_secs(10)).await;
            }
            daemon.finish_record(&mut engine).await;
        };
        tokio::select! {
            biased;
            () = self.killed.notified() => {}
            () = run => {}
        }
    }
}

impl Write for SharedWorld {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut world = self.world();
        let was_killed = world.killed || world.process != self.process;
        let cut = world.step(self.process, "line");
        let text = std::str::from_utf8(bytes).unwrap();
        match cut {
            Some(_) if was_killed => {}
            None | Some(Cut::After) => world.record.push_str(text),
            Some(Cut::Before) => world.record.push_str(&text[..text.len() / 2]),
        }
        if cut.is_none() {
            return Ok(bytes.len());
        }
        self.killed.notify_one();
        Err(io::Error::other("killed"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lines of a type by id, each with whether it is marked.
fn lines_of(record: &str, kind: &str) -> BTreeMap<String, Vec<bool>> {
    let mut by_id: BTreeMap<String, Vec<bool>> = BTreeMap::new();
    for line in record.lines().filter_map(|line| RecordLine::parse(line).ok()) {
        if line.kind == kind {
            by_id.entry(line.id).or_default().push(line.possiblyrepeated);
        }
    }
    by_id
}

#[tokio::test(start_paused = true)]
async fn two_hundred_kills_lose_no_line_and_repeat_none_without_a_mark() {
    let shared = SharedWorld::new();
    let mut chance: usize = 7;
    for kill in 0..200 {
        // Numerical Recipes' generator; its high bits are the better ones.
        chance = (chance * 1_664_525 + 1_013_904_223) % (1 << 32);
        let cut = if kill % 2 == 0 { Cut::Before } else { Cut::After };
        let step = ["save", "eviction", "line"][kill / 2 % 3];
        let process = shared.restarted((step, 1 + (chance >> 16) % 6), cut);
        Box::pin(process.live(20)).await;
        assert!(shared.world().killed, "each process is killed");
    }
    Box::pin(shared.restarted(NEVER, Cut::Before).live(3)).await;

    let world = shared.world();
    for step in ["save", "eviction", "line"] {
        for cut in [Cut::Before, Cut::After] {
            let kills = world.kills.get(&(step, cut)).copied().unwrap_or_default();
            assert!(kills > 30, "{step} {cut:?}: {:?}", world.kills);
        }
    }
    let (mut recorded, mut repeated) = (BTreeSet::new(), 0);
    for kind in [EVICTION, OUTCOME] {
        for (id, marks) in lines_of(&world.record, kind) {
            let unmarked = marks.iter().filter(|marked| !**marked).count();
            assert!(unmarked <= 1, "{id}: {marks:?}");
            repeated += marks.len() - 1;
            let uid = id.split('/').next().unwrap().to_owned();
            assert!(kind == OUTCOME || recorded.insert(uid), "two ids: {id}");
        }
    }
    assert_eq!(recorded, world.evicted, "each eviction, and nothing else");
    assert!(recorded.len() > 100 && repeated > 30, "{repeated}");
    let ledger = Ledger::parse(world.ledger.as_ref().unwrap()).unwrap();
    let settled = |state: State| matches!(state, State::Settled(_));
    let outcomes = lines_of(&world.record, OUTCOME).len();
    let open = ledger.entries().iter().filter(|e| !settled(e.state));
    assert_eq!(outcomes + open.count(), recorded.len(), "each has an outcome");
}

/// A writer that fails so many times first.
struct Flaky {
    failures: usize,
    written: Arc<Mutex<String>>,
}

impl Write for Flaky {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.failures > 0 {
            self.failures -= 1;
            return Err(io::Error::other("no space left"));
        }
        let text = std::str::from_utf8(bytes).unwrap();
        self.written.lock().unwrap().push_str(text);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A sink that fails so many times first, and what it has written.
fn flaky(failures: usize) -> (Arc<Mutex<String>>, Sink) {
    let written: Arc<Mutex<String>> = Arc::default();
    let flaky = Flaky { failures, written: Arc::clone(&written) };
    (written, Sink::Output(Arc::new(Mutex::new(flaky))))
}

/// A recorder, its daemon, and an engine whose stored ledger has facts with these uids.
fn recorder(sink: Sink, uids: &[&str]) -> (Daemon, RecordTask, Engine) {
    let policy = fixture::policy("strategies: [{removeDuplicates: {}}]");
    let daemon = Daemon::fake(&SharedWorld::new().client(), &policy);
    let source = "test".to_owned();
    let recorder = daemon.recorder(RecordSettings { source, sink });
    let mut ledger = Ledger::default();
    for uid in uids {
        ledger.add_fact(fact(uid));
    }
    (daemon, recorder, Engine::new(policy, ledger))
}

fn uids(record: &str) -> Vec<String> {
    let lines = record.lines().map(|line| RecordLine::parse(line).unwrap());
    lines.map(|line| line.details().unwrap().unwrap().uid).collect()
}

#[tokio::test(start_paused = true)]
async fn a_single_run_waits_for_its_lines_unless_it_is_stopped() {
    for (is_stopped, expected) in [(false, 2), (true, 0)] {
        let (written, sink) = flaky(4);
        let (mut daemon, recorder, mut engine) = recorder(sink, &["u-1", "u-2"]);
        recorder.exchange(&mut engine, true);
        daemon.recorder = Some(recorder);
        if is_stopped {
            daemon.stop.cancel();
        }
        daemon.finish_record(&mut engine).await;
        let written = uids(&written.lock().unwrap()).len();
        assert_eq!((written, engine.ledger().facts().len()), (expected, 2 - expected));
    }
}

#[tokio::test(start_paused = true)]
async fn a_sink_that_fails_gets_the_same_line_after_growing_pauses() {
    let (written, sink) = flaky(4);
    let (daemon, recorder, mut engine) = recorder(sink, &["u-1", "u-2"]);
    let start = Instant::now();
    recorder.exchange(&mut engine, true);
    recorder.flush(Duration::from_secs(3600)).await;
    assert_eq!(uids(&written.lock().unwrap()), ["u-1", "u-2"]);
    let pauses = start.elapsed().as_secs();
    assert_eq!(pauses, 1 + 2 + 4 + 8);
    assert_eq!(engine.ledger().facts().len(), 2, "until the next cycle");
    recorder.exchange(&mut engine, false);
    assert!(engine.ledger().facts().is_empty());
    let metrics = daemon.metrics.text();
    let sample = "evenkeel_record_lines_total{result=\"written\"} 2";
    assert!(metrics.contains(sample), "{metrics}");
}

/// Each cycle exchanges the facts, which must not lose the mark.
#[tokio::test(start_paused = true)]
async fn a_line_that_the_sink_may_have_is_marked_when_it_comes_again() {
    let (written, sink) = flaky(1);
    let (_daemon, recorder, mut engine) = recorder(sink, &["u-1", "u-2"]);
    recorder.exchange(&mut engine, true);
    sleep(FIRST_PAUSE / 2).await;
    recorder.exchange(&mut engine, true);
    recorder.flush(Duration::from_secs(3600)).await;
    let written = written.lock().unwrap();
    let lines = written.lines().map(|line| RecordLine::parse(line).unwrap());
    let marks: Vec<bool> = lines.map(|line| line.possiblyrepeated).collect();
    assert_eq!(marks, [true, false]);
}

#[tokio::test(start_paused = true)]
async fn facts_that_are_not_stored_are_not_written() {
    let shared = SharedWorld::new();
    let sink = Sink::Output(Arc::new(Mutex::new(shared.clone())));
    let (_daemon, recorder, mut engine) = recorder(sink, &["u-1"]);
    recorder.exchange(&mut engine, false);
    recorder.flush(Duration::from_secs(1)).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(shared.world().record, "");
    recorder.exchange(&mut engine, true);
    recorder.flush(Duration::from_secs(1)).await;
    assert_eq!(uids(&shared.world().record), ["u-1"]);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_no_longer_leads_writes_nothing_more() {
    let flaky = Flaky { failures: 1, written: Arc::default() };
    let written = Arc::clone(&flaky.written);
    let sink = Sink::Output(Arc::new(Mutex::new(flaky)));
    let (_daemon, recorder, mut engine) = recorder(sink, &["u-1", "u-2"]);
    recorder.exchange(&mut engine, true);
    sleep(FIRST_PAUSE / 2).await;
    recorder.withdraw();
    sleep(LONGEST_PAUSE).await;
    assert_eq!(*written.lock().unwrap(), "");
}

#[tokio::test]
async fn a_line_that_the_server_rejects_does_not_hold_up_the_others() {
    let received: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&received);
    let router = axum::Router::new().fallback(move |body: String| {
        let is_bad = body.contains("u-1");
        log.lock().unwrap().push(body);
        async move { axum::http::StatusCode::from_u16(if is_bad { 400 } else { 204 }).unwrap() }
    });
    let url = served(router).await.parse().unwrap();
    let sink = HttpSink::new(url, BodyFormat::CloudEvent, None, None);
    let (daemon, recorder, mut engine) = recorder(Sink::Http(Box::new(sink)), &["u-1", "u-2"]);
    recorder.exchange(&mut engine, true);
    recorder.flush(Duration::from_secs(30)).await;
    assert_eq!(uids(&received.lock().unwrap().join("\n")), ["u-1", "u-2"]);
    let metrics = daemon.metrics.text();
    for result in ["written", "rejected"] {
        let sample = format!("evenkeel_record_lines_total{{result=\"{result}\"}} 1");
        assert!(metrics.contains(&sample), "{metrics}");
    }
}

/// As a chat does with lines in the wrong format.
#[tokio::test]
async fn a_server_that_rejects_every_line_is_named_as_one_that_fails() {
    let router = axum::Router::new().fallback(async || axum::http::StatusCode::BAD_REQUEST);
    let url = served(router).await.parse().unwrap();
    let sink = HttpSink::new(url, BodyFormat::CloudEvent, None, None);
    let (daemon, recorder, mut engine) = recorder(Sink::Http(Box::new(sink)), &["u-1"]);
    recorder.exchange(&mut engine, true);
    recorder.flush(Duration::from_secs(30)).await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(60)).await;
    tokio::time::resume();
    engine.keep_facts();
    engine.keep_fact(fact("u-2"));
    recorder.exchange(&mut engine, true);
    recorder.flush(Duration::from_secs(30)).await;
    let failing = daemon.cluster.failures().lasting();
    assert_eq!(failing[0].request, "record");
    assert_eq!(failing[0].why, "HTTP status 400");
}

/// A writer that hangs until its sender is dropped.
struct Hanging(std::sync::mpsc::Receiver<()>);

impl Write for Hanging {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        let _ = self.0.recv();
        Err(io::Error::other("the reader is gone"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_sink_that_hangs_delays_no_eviction() {
    let (release, hanging) = std::sync::mpsc::channel();
    let shared = SharedWorld::new();
    let policy = SharedWorld::policy();
    let mut daemon = Daemon::fake(&shared.client(), &policy);
    daemon.recorder = Some(daemon.recorder(RecordSettings {
        source: "test".to_owned(),
        sink: Sink::Output(Arc::new(Mutex::new(Hanging(hanging)))),
    }));
    let ledger = daemon.store.load().await.unwrap();
    let mut engine = daemon.engine(policy, ledger);
    daemon.cluster.apply(shared.world().objects());
    let start = Instant::now();
    for _ in 0..3 {
        Cycle::new(&mut daemon, &mut engine).run().await.unwrap();
        tokio::task::yield_now().await;
    }
    assert_eq!(shared.world().evicted.len(), 3);
    assert!(start.elapsed() < Duration::from_secs(20));
    assert!(engine.ledger().facts().len() >= 3, "the lines wait");
    drop(release);
}
