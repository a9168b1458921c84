//! A plan ends when the program stops, when it is too old, and when the cluster has changed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::client::Body;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::super::Cycle;
use super::LONGEST_PLAN;
use crate::cluster::Cluster;
use crate::cluster::client::tests::status;
use crate::cluster::clock::{self, LocalTime};
use crate::cluster::usage_source::guards::GuardSource;
use crate::daemon::Daemon;
use crate::daemon::fixture::{self, guard_server, moves, node, objects, pod};
use crate::daemon::stop::GRACE;
use crate::decide::engine::Engine;
use crate::model::ledger::Ledger;
use crate::model::plan::{Outcome, Untried};
use crate::model::record::{EventDetails, GUARD};
use crate::model::snapshot::objects::Object;
use crate::policy::Policy;

fn granted() -> (u16, String) {
    (201, r#"{"kind": "Status", "status": "Success"}"#.to_owned())
}

/// A daemon, an engine, and how often an eviction was requested.
struct ActFixture {
    daemon: Daemon,
    engine: Engine,
    evictions: Arc<Mutex<usize>>,
}

impl ActFixture {
    /// The API server grants each eviction after this time, and an event never.
    fn new(slowness: Duration) -> Self {
        ActFixture::answering(move |_| (slowness, granted()))
    }

    /// The API server answers each eviction after some time with a status and a message, and an
    /// event never.
    fn answering(
        answer: impl Fn(&str) -> (Duration, (u16, String)) + Clone + Send + 'static,
    ) -> Self {
        let evictions = Arc::new(Mutex::new(0));
        let count = Arc::clone(&evictions);
        let service = tower::service_fn(move |request: Request<Body>| {
            let path = request.uri().path();
            let answer = path.ends_with("/eviction").then(|| answer(path));
            *count.lock().unwrap() += usize::from(answer.is_some());
            async move {
                let Some((slowness, (code, body))) = answer else {
                    return std::future::pending().await;
                };
                sleep(slowness).await;
                let response = Response::builder().status(code);
                let wait = if code == 429 { "2" } else { "" };
                response.header("Retry-After", wait).body(Body::from(body.into_bytes()))
            }
        });
        ActFixture::by(&Client::new(service, "default"), evictions)
    }

    /// The API server answers each eviction with this status, except those of `spared`.
    fn rejecting(code: u16, message: &'static str, spared: &'static [&'static str]) -> Self {
        ActFixture::answering(move |path| {
            let is_spared = spared.iter().any(|pod| path.contains(&format!("/{pod}/")));
            (Duration::ZERO, if is_spared { granted() } else { status(code, message) })
        })
    }

    fn by(client: &Client, evictions: Arc<Mutex<usize>>) -> Self {
        let policy = fixture::policy("strategies: [{removePodsViolatingNodeTaints: {}}]");
        let daemon = Daemon::fake(client, &policy);
        daemon.cluster.apply(objects(20));
        ActFixture { daemon, engine: Engine::new(policy, Ledger::default()), evictions }
    }

    /// Executes twenty moves. `change` happens as soon as the first eviction is requested.
    async fn act_while(
        &mut self,
        change: impl FnOnce(&Cluster, &CancellationToken),
    ) -> Vec<Outcome> {
        let (evictions, moves) = (Arc::clone(&self.evictions), moves(20));
        let (cluster, stop) = (self.daemon.cluster.clone(), self.daemon.stop.clone());
        let decided = cluster.snapshot(self.engine.policy().resources());
        let mut cycle = Cycle::new(&mut self.daemon, &mut self.engine);
        let changed = async {
            while *evictions.lock().unwrap() == 0 {
                tokio::task::yield_now().await;
            }
            change(&cluster, &stop);
        };
        tokio::join!(cycle.act(&decided, &moves), changed).0
    }

    /// Executes twenty moves.
    async fn act(&mut self) -> Vec<Outcome> {
        let decided = self.daemon.cluster.snapshot(self.engine.policy().resources());
        Cycle::new(&mut self.daemon, &mut self.engine).act(&decided, &moves(20)).await
    }

    /// Executes twenty moves and applies these objects as soon as the first eviction is requested.
    async fn act_with(&mut self, changed: Vec<Object>) -> Vec<Outcome> {
        self.act_while(|cluster, _| cluster.apply(changed)).await
    }

    fn requested(&self) -> usize {
        *self.evictions.lock().unwrap()
    }
}

fn untried(outcome: &Outcome) -> &Untried {
    let Outcome::Untried(why) = outcome else {
        panic!("{outcome:?}");
    };
    why
}

/// A guard that begins to fire as soon as the first eviction is requested.
async fn guarded() -> ActFixture {
    let mut fixture = ActFixture::new(SLOW);
    let evictions = Arc::clone(&fixture.evictions);
    let url = guard_server(move || *evictions.lock().unwrap() > 0).await;
    let policy = fixture::policy(&format!(
        "strategies: [removeDuplicates], \
          usage: {{poll: 1s, prometheus: {{url: '{url}'}}}}, guards: [{{name: g, query: ALERTS}}]"
    ));
    fixture.daemon.guards = GuardSource::new(&policy);
    fixture.engine.change_policy(policy);
    fixture.engine.keep_facts();
    fixture
}

fn facts(fixture: &ActFixture) -> Vec<String> {
    let facts = fixture.engine.ledger().facts().iter();
    let facts = facts.filter(|fact| fact.kind == GUARD);
    facts.map(|fact| fact.data["message"].to_string()).collect()
}

#[tokio::test]
async fn a_dry_run_keeps_no_fact_about_a_guard() {
    let mut fixture = guarded().await;
    *fixture.evictions.lock().unwrap() = 1;
    let policy = fixture.engine.policy().clone();
    fixture.engine.change_policy(Policy { dry_run: true, ..policy });
    fixture.daemon.ask_guards(&mut fixture.engine).await;
    assert!(!fixture.engine.guards().stops(clock::now()).is_empty());
    assert!(facts(&fixture).is_empty());
}

/// A cycle that is skipped saves no ledger, and the guards are asked all the same.
#[tokio::test]
async fn facts_about_guards_take_no_more_room_than_the_ledger_has() {
    let mut fixture = guarded().await;
    *fixture.evictions.lock().unwrap() = 1;
    for second in 0..400 {
        let details = EventDetails { outcome: "stopped".to_owned(), message: "m".repeat(1000) };
        let time = Timestamp::from_second(second).unwrap();
        fixture.engine.keep_fact(details.fact(GUARD, "g", time));
    }
    fixture.daemon.ask_guards(&mut fixture.engine).await;
    let facts = facts(&fixture);
    assert!((200..300).contains(&facts.len()), "{}", facts.len());
    assert!(facts.last().unwrap().contains("guard g stops"), "the newest stays");
}

#[tokio::test]
async fn a_guard_stops_the_plan_within_one_poll() {
    let mut fixture = guarded().await;
    fixture.daemon.ask_guards(&mut fixture.engine).await;
    let outcomes = fixture.act_with(Vec::new()).await;
    assert_eq!(outcomes[0], Outcome::Evicted);
    let why = untried(&outcomes[1]).to_string();
    assert_eq!(why, "guard g stops all evictions: its value 1 is above 0");
    assert_eq!(fixture.requested(), 1);
    assert_eq!(facts(&fixture), [format!("\"{why}\"")]);
}

/// A guard whose server accepts connections and never answers, which allows evictions.
async fn silent(fixture: &mut ActFixture) -> tokio::net::TcpListener {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let policy = fixture::policy(&format!(
        "strategies: [removeDuplicates], \
          usage: {{poll: 15s, prometheus: {{url: 'http://{}'}}}}, \
          guards: [{{name: g, query: ALERTS, missing: allow}}]",
        listener.local_addr().unwrap()
    ));
    fixture.daemon.guards = GuardSource::new(&policy);
    fixture.engine.change_policy(policy);
    listener
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_does_not_answer_in_time_is_not_asked_again_at_once() {
    let mut fixture = ActFixture::new(Duration::from_millis(10));
    let _listener = silent(&mut fixture).await;
    fixture.daemon.ask_guards(&mut fixture.engine).await;
    let start = Instant::now();
    let outcomes = fixture.act().await;
    assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Evicted), "{outcomes:?}");
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn no_guard_is_asked_once_the_plan_has_ended() {
    // The only eviction takes longer than a poll.
    let slowness = Duration::from_secs(8);
    let mut fixture = ActFixture::answering(move |_| (slowness, status(401, "Unauthorized")));
    let _listener = silent(&mut fixture).await;
    fixture.daemon.ask_guards(&mut fixture.engine).await;
    sleep(Duration::from_secs(8)).await;
    let start = Instant::now();
    let outcomes = fixture.act().await;
    assert_eq!(outcomes[0].code(), "unauthorized");
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
}

#[tokio::test]
async fn the_record_has_the_end_of_a_stop_whose_guard_a_reload_removes() {
    let mut fixture = guarded().await;
    *fixture.evictions.lock().unwrap() = 1;
    fixture.daemon.ask_guards(&mut fixture.engine).await;
    let mut policy = fixture.engine.policy().clone();
    policy.guards.clear();
    fixture.daemon.guards = GuardSource::new(&policy);
    fixture.engine.change_policy(policy);
    fixture.daemon.ask_guards(&mut fixture.engine).await;
    assert_eq!(facts(&fixture)[1..], ["\"guard g no longer stops all evictions\""]);
}

/// More than a second, after which moves are checked with a new snapshot.
const SLOW: Duration = Duration::from_millis(1100);

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_plan_after_the_eviction_in_flight() {
    let mut fixture = ActFixture::new(SLOW);
    let outcomes = fixture.act_while(|_, stop| stop.cancel()).await;
    assert_eq!(outcomes[0], Outcome::Evicted, "its answer is awaited");
    assert_eq!(untried(&outcomes[1]), &Untried::Stopping);
    assert_eq!((outcomes.len(), fixture.requested()), (20, 1));
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_an_eviction_that_hangs() {
    let mut fixture = ActFixture::new(Duration::from_secs(3600));
    let start = Instant::now();
    let outcomes = fixture.act_while(|_, stop| stop.cancel()).await;
    assert_eq!(outcomes[0].code(), "unanswered");
    assert!(start.elapsed() <= GRACE + SLOW, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_plan_expires() {
    let mut fixture = ActFixture::new(Duration::from_secs(8));
    let outcomes = fixture.act_while(|_, _| {}).await;
    // Begun after 0, 8 and 16 seconds.
    assert_eq!(fixture.requested(), 3);
    assert!(outcomes[..3].iter().all(|o| *o == Outcome::Evicted));
    assert_eq!(untried(&outcomes[3]), &Untried::Expired(LONGEST_PLAN));
}

/// The API server waits 30 s for a webhook at most, and then evicts if its failures are ignored.
#[tokio::test(start_paused = true)]
async fn an_eviction_waits_for_a_webhook_that_does_not_respond() {
    let mut fixture = ActFixture::new(Duration::from_secs(31));
    let outcomes = fixture.act_while(|_, _| {}).await;
    assert_eq!(outcomes[0], Outcome::Evicted);
    assert_eq!(untried(&outcomes[1]), &Untried::Expired(LONGEST_PLAN));
}

#[tokio::test(start_paused = true)]
async fn the_plan_ends_when_the_cluster_can_no_longer_be_judged() {
    type Change = fn(&Cluster);
    let changes: [(Change, &str); 4] = [
        (
            |cluster| cluster.apply(["n1", "n2", "n3"].map(|name| node(name, false))),
            "ready and selected nodes: 0; moving a pod requires two",
        ),
        (
            |cluster| cluster.interrupt(LocalTime::now().minus(Duration::from_mins(1))),
            "watch of Pod disconnected since ",
        ),
        (|cluster| cluster.list_namespaces(false), "pauses are unknown, because Namespaces"),
        (
            |cluster| cluster.see_date(clock::now() - SignedDuration::from_hours(1)),
            "the local clock is 1h ahead of that of the API server",
        ),
    ];
    tokio::time::advance(Duration::from_mins(2)).await;
    for (change, expected) in changes {
        let mut fixture = ActFixture::new(SLOW);
        let outcomes = fixture.act_while(|cluster, _| change(cluster)).await;
        assert_eq!(fixture.requested(), 1, "{expected}");
        let why = untried(&outcomes[1]).to_string();
        assert!(why.starts_with(expected), "{why}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_ends_the_plan_and_gets_no_eviction_before_the_time_that_it_names() {
    let mut fixture = ActFixture::answering(|_| (Duration::ZERO, (429, String::new())));
    let outcomes = fixture.act_while(|_, _| {}).await;
    assert_eq!(outcomes[0].code(), "throttled");
    assert_eq!((untried(&outcomes[1]), fixture.requested()), (&Untried::Throttled, 1));
    sleep(Duration::from_millis(1900)).await;
    let outcomes = fixture.act_while(|_, _| {}).await;
    assert_eq!((untried(&outcomes[0]), fixture.requested()), (&Untried::Throttled, 1));
    sleep(Duration::from_millis(200)).await;
    fixture.act_while(|_, _| {}).await;
    assert_eq!(fixture.requested(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_has_changed_stays_and_the_others_go() {
    let mut fixture = ActFixture::new(SLOW);
    let changed = vec![pod("web-1", "another", "n1"), pod("web-2", "u-2", "n3")];
    let outcomes = fixture.act_with(changed).await;
    assert_eq!(untried(&outcomes[1]), &Untried::PodChanged);
    assert_eq!(untried(&outcomes[2]), &Untried::PodChanged);
    assert_eq!((&outcomes[3], fixture.requested()), (&Outcome::Evicted, 18));
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_destination_has_changed_stays() {
    let mut fixture = ActFixture::new(SLOW);
    let outcomes = fixture.act_with(vec![node("n2", false)]).await;
    assert_eq!(fixture.requested(), 1);
    let changed = Untried::DestinationChanged("n2".to_owned());
    assert!(outcomes[1..].iter().all(|o| *untried(o) == changed));
}

#[tokio::test(start_paused = true)]
async fn an_event_that_hangs_delays_no_eviction() {
    let mut fixture = ActFixture::new(Duration::from_millis(10));
    let start = Instant::now();
    fixture.act_while(|_, _| {}).await;
    assert_eq!(fixture.requested(), 20);
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_long_plan_does_not_look_stuck() {
    let mut fixture = ActFixture::new(SLOW);
    fixture.daemon.health.beat(Instant::now());
    tokio::time::advance(Duration::from_mins(5)).await;
    assert!(fixture.daemon.health.is_stuck());
    fixture.act_while(|_, _| {}).await;
    assert!(!fixture.daemon.health.is_stuck());
}

const NO_ENDPOINTS: &str = "Internal error occurred: failed calling webhook \"guard.example.com\": \
    no endpoints available for service \"guard\"";

#[tokio::test(start_paused = true)]
async fn a_pod_whose_webhook_does_not_respond_does_not_end_the_plan() {
    let all_but_the_first = &["web-1", "web-2", "web-3", "web-4"];
    let mut fixture = ActFixture::rejecting(500, NO_ENDPOINTS, all_but_the_first);
    let outcomes = fixture.act_while(|_, _| {}).await;
    assert_eq!(outcomes[0].code(), "failed");
    assert!(outcomes[1..5].iter().all(|o| *o == Outcome::Evicted));
    assert_eq!(outcomes[5].code(), "failed");
}

#[tokio::test(start_paused = true)]
async fn a_plan_whose_evictions_all_fail_ends_after_three() {
    let mut fixture = ActFixture::rejecting(500, NO_ENDPOINTS, &[]);
    let outcomes = fixture.act_while(|_, _| {}).await;
    assert_eq!(fixture.requested(), 3);
    assert!(untried(&outcomes[3]).ends_the_plan());
}

#[tokio::test(start_paused = true)]
async fn a_missing_right_to_evict_costs_one_request() {
    let denied = "pods \"web-0\" is forbidden: User cannot create resource \"pods/eviction\"";
    let mut fixture = ActFixture::rejecting(403, denied, &[]);
    let outcomes = fixture.act_while(|_, _| {}).await;
    assert_eq!(fixture.requested(), 1);
    assert_eq!(outcomes[0].code(), "forbidden");
    assert_eq!(untried(&outcomes[1]), &Untried::Forbidden("shop".to_owned()));
}
