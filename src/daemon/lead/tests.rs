//! Actions of an instance before, while and after it leads.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::fixture::{self, moves};
use super::{Daemon, ElectionCandidate, ElectionStage, LeaderRole};
use crate::cluster::client::tests::{ApiRequests, fake, status};
use crate::cluster::failures::Request;
use crate::cluster::lease::tests::FakeElection;
use crate::cluster::ledger_store::StoreError;
use crate::cluster::usage_source::guards::GuardSource;
use crate::daemon::DaemonError;
use crate::daemon::cycle::Cycle;
use crate::decide::engine::Engine;
use crate::model::ledger::Ledger;
use crate::model::plan::{
    Move, Outcome, STEERING_KEY, Steer, SteerAction, SteerReason, SteerValue, Untried,
};
use crate::model::snapshot::objects::Object;

const LEDGER: &str = "{\"entries\":[],\"resting\":{\"shop/Deployment/web\":\
    {\"attempt\":\"2026-11-21T12:00:00Z\",\"until\":\"2026-11-21T13:00:00Z\",\"useless\":\
    1}},\"version\":1}";

type Response = (u16, String);

/// A daemon that is a candidate, an empty engine, control over the election, and the requests so
/// far.
struct LeadFixture {
    daemon: Daemon,
    engine: Engine,
    ruler: Arc<Mutex<FakeElection>>,
    asked: ApiRequests,
}

impl LeadFixture {
    /// Responds to requests for the ledger like this and grants each eviction. The eviction with
    /// number `last` loses the lead.
    async fn new(ledger: Response, last: usize) -> Self {
        let (ruler, leadership) = FakeElection::new();
        let ruler = Arc::new(Mutex::new(ruler));
        let (election, evictions) = (Arc::clone(&ruler), Arc::new(Mutex::new(0)));
        let (client, asked) = fake(move |_, uri, _| {
            if uri.contains("/configmaps") {
                return ledger.clone();
            }
            if uri.contains("/eviction") {
                let mut evictions = evictions.lock().unwrap();
                *evictions += 1;
                if *evictions == last {
                    election.lock().unwrap().depose();
                }
            }
            (201, r#"{"kind": "Status", "status": "Success"}"#.to_owned())
        })
        .await;
        let policy = fixture::policy("strategies: [{removePodsViolatingNodeTaints: {}}]");
        let candidate = ElectionCandidate {
            leadership,
            stage: ElectionStage::Over,
            takeover: Duration::from_secs(30),
            term: None,
            load_error: None,
            logged: None,
        };
        let mut daemon = Daemon::fake(&client, &policy);
        daemon.lead = LeaderRole(Some(candidate));
        daemon.cluster.apply(fixture::objects(4));
        LeadFixture { daemon, engine: Engine::new(policy, Ledger::default()), ruler, asked }
    }

    async fn leading(last: usize) -> Self {
        let mut fixture = LeadFixture::new(stored(LEDGER), last).await;
        fixture.ruler.lock().unwrap().elect();
        assert!(fixture.daemon.take_lead(&mut fixture.engine).await.unwrap());
        fixture.asked.lock().unwrap().clear();
        fixture
    }

    async fn act(&mut self, moves: &[Move]) -> Vec<Outcome> {
        let decided = self.daemon.cluster.snapshot(self.engine.policy().resources());
        Cycle::new(&mut self.daemon, &mut self.engine).act(&decided, moves).await
    }

    /// Number of requests with this method whose path contains this text.
    fn requests(&self, method: &str, text: &str) -> usize {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|(how, uri, _)| how == method && uri.contains(text)).count()
    }

    fn exposes_leader(&self, leader: u8) -> bool {
        self.daemon.metrics.text().contains(&format!("evenkeel_leader {leader}\n"))
    }
}

fn stored(ledger: &str) -> Response {
    (
        200,
        json!({"metadata": {"name": "ledger", "resourceVersion": "7"},
        "data": {"ledger.json": ledger}})
        .to_string(),
    )
}

#[tokio::test]
async fn a_new_leader_reads_the_ledger_first() {
    let mut fixture = LeadFixture::new(stored(LEDGER), 0).await;
    assert!(!fixture.daemon.take_lead(&mut fixture.engine).await.unwrap());
    assert!(!fixture.daemon.lead.holds() && fixture.exposes_leader(0));
    assert!(fixture.asked.lock().unwrap().is_empty(), "a standby sends no request");
    fixture.ruler.lock().unwrap().elect();
    assert!(!fixture.daemon.lead.holds(), "the ledger has not been read");
    assert!(fixture.daemon.take_lead(&mut fixture.engine).await.unwrap());
    assert!(fixture.daemon.lead.holds() && fixture.exposes_leader(1));
    assert_eq!(fixture.engine.ledger().write(), LEDGER);
    assert!(!fixture.daemon.take_lead(&mut fixture.engine).await.unwrap(), "already leading");
    // Lost and won again: another leader may have written the ledger meanwhile.
    fixture.ruler.lock().unwrap().elect();
    assert!(!fixture.daemon.lead.holds());
    assert!(fixture.daemon.take_lead(&mut fixture.engine).await.unwrap());
    assert_eq!(fixture.requests("GET", "/configmaps/ledger"), 2);
}

#[tokio::test]
async fn an_instance_without_the_ledger_does_not_lead() {
    let mut fixture = LeadFixture::new(status(500, "etcd is away"), 0).await;
    fixture.ruler.lock().unwrap().elect();
    assert!(!fixture.daemon.take_lead(&mut fixture.engine).await.unwrap());
    assert!(!fixture.daemon.lead.holds() && fixture.exposes_leader(0));
    let reason = fixture.daemon.lead.error().unwrap();
    assert_eq!(reason, "the ledger: cannot get configmap system/ledger: etcd is away");
    let mut fixture = LeadFixture::new(stored("scribbles"), 0).await;
    fixture.ruler.lock().unwrap().elect();
    let error = fixture.daemon.take_lead(&mut fixture.engine).await.unwrap_err();
    assert!(error.to_string().starts_with("cannot parse the ledger: "), "{error}");
}

#[tokio::test]
async fn the_rest_of_a_plan_is_not_tried_once_the_lead_is_lost() {
    let mut fixture = LeadFixture::leading(2).await;
    let outcomes = fixture.act(&moves(4)).await;
    assert_eq!(
        outcomes,
        [
            Outcome::Evicted,
            Outcome::Evicted,
            Outcome::Untried(Untried::NotLeading),
            Outcome::Untried(Untried::NotLeading)
        ]
    );
    assert_eq!(fixture.requests("POST", "/eviction"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_lead_is_lost_when_its_deadline_passes_unnoticed() {
    let mut fixture = LeadFixture::leading(0).await;
    // As if the process had been stopped by SIGSTOP.
    tokio::time::advance(Duration::from_secs(11)).await;
    let outcomes = fixture.act(&moves(2)).await;
    assert_eq!(
        (outcomes, fixture.requests("POST", "")),
        (vec![Outcome::Untried(Untried::NotLeading); 2], 0)
    );
}

/// A node with our taint.
fn steered() -> Object {
    let Object::Node(mut facts) = fixture::tainted("n1") else {
        panic!("a node");
    };
    facts.taints[0].key = STEERING_KEY.to_owned();
    Object::Node(facts)
}

/// The next leader counts on the taints that it finds.
#[tokio::test]
async fn the_taints_are_removed_before_the_lease_is_released() {
    let mut fixture = LeadFixture::leading(0).await;
    fixture.daemon.cluster.apply([steered()]);
    let (stop, asked) = (CancellationToken::new(), Arc::clone(&fixture.asked));
    let stopped = stop.clone();
    let task = tokio::spawn(async move {
        stopped.cancelled().await;
        let lease = ("PUT".to_owned(), "/leases/".to_owned(), String::new());
        asked.lock().unwrap().push(lease);
    });
    let candidate = fixture.daemon.lead.0.as_mut().unwrap();
    candidate.stage = ElectionStage::Running(task, stop);
    fixture.daemon.resign(&fixture.engine).await;
    let asked = fixture.asked.lock().unwrap();
    let first = |text: &str| asked.iter().position(|(_, uri, _)| uri.contains(text));
    assert!(first("/nodes").is_some(), "{asked:?}");
    assert!(first("/nodes") < first("/leases/"), "{asked:?}");
}

#[tokio::test]
async fn an_instance_that_lost_the_lead_removes_no_taint_at_its_end() {
    let mut fixture = LeadFixture::leading(0).await;
    fixture.daemon.cluster.apply([steered()]);
    fixture.ruler.lock().unwrap().depose();
    fixture.daemon.resign(&fixture.engine).await;
    assert_eq!(*fixture.asked.lock().unwrap(), []);
}

#[tokio::test]
async fn an_instance_that_lost_the_lead_writes_no_ledger_and_no_taint() {
    for lost in [false, true] {
        let mut fixture = LeadFixture::leading(0).await;
        if lost {
            fixture.ruler.lock().unwrap().depose();
        }
        let saved = Cycle::new(&mut fixture.daemon, &mut fixture.engine).save().await;
        assert_eq!(
            (saved.err(), fixture.requests("PUT", "")),
            (lost.then_some(StoreError::NotLeading), usize::from(!lost))
        );
        let action = SteerAction::Add(SteerValue::Hot);
        let taint = [Steer { node: "n1".to_owned(), action, why: SteerReason::Ending }];
        let mut cycle = Cycle::new(&mut fixture.daemon, &mut fixture.engine);
        cycle.change_taints(&taint.iter().collect::<Vec<_>>()).await;
        assert_eq!(fixture.requests("GET", "/nodes"), usize::from(!lost));
    }
}

/// The first poll comes before the lead.
#[tokio::test]
async fn a_guard_that_stopped_evictions_before_the_lead_has_a_line_with_it() {
    let url = fixture::guard_server(|| true).await;
    let mut fixture = LeadFixture::new(stored(LEDGER), 0).await;
    let policy = fixture::policy(&format!(
        "strategies: [removeDuplicates], \
         usage: {{prometheus: {{url: '{url}'}}}}, guards: [{{name: g, query: ALERTS}}]"
    ));
    fixture.daemon.guards = GuardSource::new(&policy);
    fixture.engine.change_policy(policy);
    fixture.engine.keep_facts();
    fixture.daemon.ask_guards(&mut fixture.engine).await;
    assert!(fixture.engine.ledger().facts().is_empty(), "a standby records nothing");
    // The stored ledger has no line of an earlier term.
    for _ in 0..2 {
        fixture.ruler.lock().unwrap().elect();
        fixture.daemon.take_lead(&mut fixture.engine).await.unwrap();
        for _ in 0..2 {
            Cycle::new(&mut fixture.daemon, &mut fixture.engine).run().await.unwrap();
        }
        assert_eq!(fixture.engine.ledger().facts().len(), 1);
        fixture.ruler.lock().unwrap().depose();
        fixture.daemon.ask_guards(&mut fixture.engine).await;
    }
}

/// It does not ask again, so they would fail for ever.
#[tokio::test]
async fn an_instance_that_lost_the_lead_reports_no_failure_of_what_only_a_leader_asks() {
    let mut fixture = LeadFixture::leading(0).await;
    for request in [Request::Proposal, Request::Guards] {
        fixture.daemon.cluster.failures().record(request, Err("refused"));
    }
    fixture.ruler.lock().unwrap().depose();
    fixture.daemon.take_lead(&mut fixture.engine).await.unwrap();
    let failures = fixture.daemon.cluster.failures();
    let fails = [Request::Proposal, Request::Guards].map(|request| failures.is_failing(request));
    assert_eq!(fails, [false, true]);
}

#[tokio::test(start_paused = true)]
async fn a_single_run_ends_when_the_leader_renews_its_lease() {
    let mut fixture = LeadFixture::new(stored(LEDGER), 0).await;
    fixture.ruler.lock().unwrap().depose();
    let ruler = Arc::clone(&fixture.ruler);
    let renewal = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        ruler.lock().unwrap().renewed_by_another();
    };
    let began = Instant::now();
    let (won, ()) = tokio::join!(fixture.daemon.win_lead(&mut fixture.engine), renewal);
    let error = won.unwrap_err();
    assert!(matches!(error, DaemonError::NotLeading { .. }));
    assert_eq!(
        error.to_string(),
        "no evictions: another instance leads: other; stop it before a single run"
    );
    assert!(began.elapsed() < Duration::from_secs(7), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_single_run_waits_for_a_leader_that_may_have_died() {
    let mut fixture = LeadFixture::new(stored(LEDGER), 0).await;
    fixture.ruler.lock().unwrap().depose();
    let ruler = Arc::clone(&fixture.ruler);
    let end = async {
        tokio::time::sleep(Duration::from_secs(29)).await;
        ruler.lock().unwrap().elect();
    };
    let (won, ()) = tokio::join!(fixture.daemon.win_lead(&mut fixture.engine), end);
    won.unwrap();
    assert!(fixture.daemon.lead.holds());
}

/// An API server that has just started refuses everything until it has read its roles.
#[tokio::test(start_paused = true)]
async fn a_single_run_does_without_an_election_only_after_a_lasting_refusal() {
    for (seconds, elected) in [(3, true), (60, false)] {
        let mut fixture = LeadFixture::new(stored(LEDGER), 0).await;
        fixture.ruler.lock().unwrap().forbid(true);
        let ruler = Arc::clone(&fixture.ruler);
        let end = async {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            ruler.lock().unwrap().elect();
        };
        let (won, ()) = tokio::join!(fixture.daemon.win_lead(&mut fixture.engine), end);
        won.unwrap();
        assert_eq!(fixture.daemon.lead.0.is_some(), elected);
    }
}
