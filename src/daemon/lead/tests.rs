//! What is done, and what is left undone, when the lead is won and lost.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use super::{Candidate, Daemon, Lead, Stage, Steered};
use crate::cluster::Cluster;
use crate::cluster::client::tests::{ApiRequests, fake, status};
use crate::cluster::evict::tests::planned;
use crate::cluster::lease::tests::FakeElection;
use crate::cluster::ledger_store::{LedgerStore, StoreError};
use crate::daemon::cycle::Cycle;
use crate::daemon::telemetry::Health;
use crate::daemon::telemetry::metrics::{Form, Metrics};
use crate::daemon::telemetry::status::Board;
use crate::daemon::{Feed, Told as Said};
use crate::decide::engine::Engine;
use crate::model::ledger::Ledger;
use crate::model::plan::{Move, Outcome, Steer, SteerAction, SteerReason, SteerValue};
use crate::policy::Policy;

const LEDGER: &str = r#"{"entries":[],"resting":{"shop/Deployment/web":{"attempt":"2026-11-21T12:00:00Z","until":"2026-11-21T13:00:00Z","useless":1}},"version":1}"#;

type Answer = (u16, String);

/// A daemon that is a candidate, an engine that knows nothing, who decides the election, and what was asked.
struct Play {
    daemon: Daemon,
    engine: Engine,
    ruler: Arc<Mutex<FakeElection>>,
    asked: ApiRequests,
}

impl Play {
    /// Requests about the ledger are answered so; each eviction is granted, and the lead is lost with this one.
    async fn new(ledger: Answer, last: usize) -> Self {
        let (ruler, leadership) = FakeElection::new();
        let ruler = Arc::new(Mutex::new(ruler));
        let (lord, evictions) = (Arc::clone(&ruler), Arc::new(Mutex::new(0)));
        let (client, asked) = fake(move |_, uri, _| {
            if uri.contains("/configmaps") {
                return ledger.clone();
            }
            if uri.contains("/eviction") {
                let mut evictions = evictions.lock().unwrap();
                *evictions += 1;
                if *evictions == last {
                    lord.lock().unwrap().depose();
                }
            }
            (201, r#"{"kind": "Status", "status": "Success"}"#.to_owned())
        })
        .await;
        let text = "{apiVersion: evenkeel/v1alpha1, kind: Policy, strategies: [{removePodsViolatingNodeTaints: {}}]}";
        let policy = Policy::parse("p", text).unwrap();
        let candidate = Candidate {
            leadership,
            stage: Stage::Over,
            term: None,
            trouble: None,
            told: None,
        };
        let daemon = Daemon {
            usage: Feed::new(&policy.usage, &client),
            store: LedgerStore::new(client.clone(), "system", "ledger"),
            cluster: Cluster::new(client),
            health: Health::default(),
            metrics: Metrics::default(),
            dry_run: false,
            instance: "evenkeel-0".to_owned(),
            told: Said::default(),
            steered: Steered::default(),
            board: Board::default(),
            lead: Lead(Some(candidate)),
        };
        Play {
            daemon,
            engine: Engine::new(policy, Ledger::default()),
            ruler,
            asked,
        }
    }

    async fn leading(last: usize) -> Self {
        let mut play = Play::new(kept(LEDGER), last).await;
        play.ruler.lock().unwrap().elect();
        assert!(play.daemon.take_lead(&mut play.engine).await.unwrap());
        play.asked.lock().unwrap().clear();
        play
    }

    /// How many requests there were by this method to paths with these words.
    fn asked(&self, method: &str, words: &str) -> usize {
        let asked = self.asked.lock().unwrap();
        asked
            .iter()
            .filter(|(how, uri, _)| how == method && uri.contains(words))
            .count()
    }

    fn says(&self, leader: u8) -> bool {
        self.daemon
            .metrics
            .text(Form::Classic)
            .contains(&format!("evenkeel_leader {leader}\n"))
    }
}

fn kept(ledger: &str) -> Answer {
    (200, json!({"metadata": {"name": "ledger", "resourceVersion": "7"}, "data": {"ledger.json": ledger}}).to_string())
}

fn moves(count: usize) -> Vec<Move> {
    (0..count)
        .map(|i| Move {
            pod: format!("web-{i}"),
            uid: format!("u-{i}"),
            ..planned()
        })
        .collect()
}

#[tokio::test]
async fn whoever_takes_over_reads_the_ledger_first() {
    let mut play = Play::new(kept(LEDGER), 0).await;
    assert!(!play.daemon.take_lead(&mut play.engine).await.unwrap());
    assert!(!play.daemon.lead.holds() && play.says(0));
    assert!(
        play.asked.lock().unwrap().is_empty(),
        "who stands by asks for nothing"
    );
    play.ruler.lock().unwrap().elect();
    assert!(!play.daemon.lead.holds(), "the ledger has not been read");
    assert!(play.daemon.take_lead(&mut play.engine).await.unwrap());
    assert!(play.daemon.lead.holds() && play.says(1));
    assert_eq!(play.engine.ledger().write(), LEDGER);
    assert!(
        !play.daemon.take_lead(&mut play.engine).await.unwrap(),
        "it leads already"
    );
    // Lost and won again: others may have written meanwhile.
    play.ruler.lock().unwrap().elect();
    assert!(!play.daemon.lead.holds());
    assert!(play.daemon.take_lead(&mut play.engine).await.unwrap());
    assert_eq!(play.asked("GET", "/configmaps/ledger"), 2);
}

#[tokio::test]
async fn without_the_ledger_nobody_leads() {
    let mut play = Play::new(status(500, "etcd is away"), 0).await;
    play.ruler.lock().unwrap().elect();
    assert!(!play.daemon.take_lead(&mut play.engine).await.unwrap());
    assert!(!play.daemon.lead.holds() && play.says(0));
    let trouble = play.daemon.lead.trouble().unwrap();
    assert_eq!(
        trouble,
        "the ledger: cannot get configmap system/ledger: etcd is away"
    );
    let mut play = Play::new(kept("scribbles"), 0).await;
    play.ruler.lock().unwrap().elect();
    let error = play.daemon.take_lead(&mut play.engine).await.unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("the ledger cannot be read, so nothing may be evicted: "),
        "{error}"
    );
}

#[tokio::test]
async fn what_is_left_of_a_plan_is_not_tried_once_the_lead_is_lost() {
    let mut play = Play::leading(2).await;
    let outcomes = Cycle::new(&mut play.daemon, &mut play.engine)
        .act(&moves(4))
        .await;
    assert_eq!(
        outcomes,
        [
            Outcome::Evicted,
            Outcome::Evicted,
            Outcome::Untried,
            Outcome::Untried
        ]
    );
    assert_eq!(play.asked("POST", "/eviction"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_has_passed_is_a_lost_lead_though_nobody_says_so() {
    let mut play = Play::leading(0).await;
    // As by SIGSTOP.
    tokio::time::advance(Duration::from_secs(11)).await;
    let outcomes = Cycle::new(&mut play.daemon, &mut play.engine)
        .act(&moves(2))
        .await;
    assert_eq!(
        (outcomes, play.asked("POST", "")),
        (vec![Outcome::Untried, Outcome::Untried], 0)
    );
}

#[tokio::test]
async fn whoever_has_lost_the_lead_writes_no_ledger_and_touches_no_taint() {
    for lost in [false, true] {
        let mut play = Play::leading(0).await;
        if lost {
            play.ruler.lock().unwrap().depose();
        }
        let saved = Cycle::new(&mut play.daemon, &mut play.engine).save().await;
        assert_eq!(
            (saved.err(), play.asked("PUT", "")),
            (lost.then_some(StoreError::NotLeading), usize::from(!lost))
        );
        let action = SteerAction::Add(SteerValue::Hot);
        let taint = [Steer {
            node: "n1".to_owned(),
            action,
            why: SteerReason::Ending,
        }];
        play.daemon.steer(taint.iter()).await;
        assert_eq!(play.asked("GET", "/nodes"), usize::from(!lost));
    }
}
