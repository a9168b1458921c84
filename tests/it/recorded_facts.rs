//! Facts for the record: one for each result of a request, and one for each outcome.

use std::time::Duration;

use evenkeel::decide::engine::Engine;
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::{Outcome, Plan, Untried};
use evenkeel::model::record::{EVICTION, EvictionDetails, OUTCOME, REFUSAL, RecordLine};
use evenkeel::model::snapshot::Snapshot;

use crate::it::support::{Cluster, EVEN, after, noon, parse};

/// A hot node, and an engine whose plan moves one of its pods.
struct Recorded {
    engine: Engine,
    snapshot: Snapshot,
    plan: Plan,
}

const HOT: &str = "node n1 cpu=4\n  web*5 cpu=100m uses=0.6\nnode n2 cpu=4\nnode n3 cpu=4";

impl Recorded {
    fn new() -> Self {
        let cluster = Cluster::parse(HOT);
        let (mut engine, snapshot) = cluster.seen(parse(EVEN), Ledger::default());
        engine.keep_facts();
        let plan = engine.decide(&snapshot, noon());
        engine.intend(&snapshot, &plan.moves[..1], noon());
        Recorded { engine, snapshot, plan }
    }

    fn resolve(&mut self, outcome: &Outcome) {
        self.engine.resolve(&self.plan.moves[0], outcome);
    }

    /// The types and details of the facts.
    fn facts(&self) -> Vec<(String, EvictionDetails)> {
        let facts = self.engine.ledger().facts().iter();
        let lines = facts.map(|fact| RecordLine::of(fact, "test"));
        lines.map(|line| (line.kind.clone(), line.details().unwrap().unwrap())).collect()
    }
}

/// The type of the only fact about a request, and its code; `None` without a fact.
fn of_request(outcome: &Outcome) -> Option<(String, String)> {
    let mut recorded = Recorded::new();
    recorded.resolve(outcome);
    let mut facts = recorded.facts();
    assert!(facts.len() <= 1, "{facts:?}");
    let (kind, details) = facts.pop()?;
    assert_eq!(details.strategy.as_deref(), Some("LowNodeUtilization"));
    let message = (*outcome != Outcome::Evicted).then(|| outcome.to_string());
    assert_eq!(details.message, message);
    Some((kind, details.outcome))
}

#[test]
fn each_request_that_had_a_response_about_a_pod_is_one_fact() {
    let why = || "why".to_owned();
    let fact = |kind: &str, code: &str| Some((kind.to_owned(), code.to_owned()));
    let expected = [
        (Outcome::Evicted, fact(EVICTION, "evicted")),
        (Outcome::Deferred(why()), fact(EVICTION, "deferred")),
        (Outcome::OverBudget(why()), fact(REFUSAL, "refused")),
        (Outcome::Refused(why()), fact(REFUSAL, "refused")),
        (Outcome::Forbidden(why()), fact(REFUSAL, "forbidden")),
        (Outcome::Unauthorized(why()), fact(REFUSAL, "unauthorized")),
        (Outcome::Throttled(why(), Some(Duration::from_secs(1))), fact(REFUSAL, "throttled")),
        (Outcome::Failed(why()), fact(REFUSAL, "failed")),
        (Outcome::Gone, None),
        (Outcome::Changed, None),
        (Outcome::Unanswered(why()), None),
        (Outcome::Untried(Untried::Stopping), None),
    ];
    for (outcome, expected) in expected {
        assert_eq!(of_request(&outcome), expected, "{outcome:?}");
    }
}

#[test]
fn an_eviction_of_a_hot_node_says_what_it_relieves_and_where_its_replacement_may_land() {
    let mut recorded = Recorded::new();
    recorded.resolve(&Outcome::Evicted);
    let (_, details) = recorded.facts().remove(0);
    let relief = details.relief.unwrap();
    // Each pod uses 0.6 of 4 cores.
    assert_eq!(relief.resource, "cpu");
    assert!((relief.share.get() - 0.15).abs() < 1e-9, "{relief:?}");
    assert_eq!(details.may_land, ["n2", "n3"]);
    assert!(details.reason.unwrap().starts_with("node usage: cpu "));
}

#[test]
fn a_request_without_a_response_is_a_fact_once_the_watch_shows_its_effect() {
    let mut stays = Recorded::new();
    stays.resolve(&Outcome::Unanswered("timeout".to_owned()));
    stays.engine.settle(&stays.snapshot, after(59));
    assert_eq!(stays.facts().len(), 0, "it may be on its way");
    stays.engine.settle(&stays.snapshot, after(61));
    let (kind, details) = stays.facts().remove(0);
    assert_eq!((kind.as_str(), details.outcome.as_str()), (REFUSAL, "unanswered"));

    let mut leaves = Recorded::new();
    leaves.resolve(&Outcome::Unanswered("timeout".to_owned()));
    let without = Cluster::parse(&HOT.replace("web*5", "other*4"));
    let without = without.snapshot(leaves.engine.policy());
    leaves.engine.settle(&without, after(5));
    let (kind, details) = leaves.facts().remove(0);
    assert_eq!((kind.as_str(), details.outcome.as_str()), (EVICTION, "evicted"));
    assert_eq!(details.strategy, None, "only the response is recorded with it");
    // Nothing replaces the pod.
    leaves.engine.settle(&without, after(3600));
    let (kind, details) = leaves.facts().remove(1);
    assert_eq!((kind.as_str(), details.outcome.as_str()), (OUTCOME, "not-replaced"));
    assert_eq!(details.decided, noon());
}

#[test]
fn an_engine_without_a_record_keeps_no_facts_and_forgets_those_of_earlier() {
    let mut recorded = Recorded::new();
    recorded.resolve(&Outcome::Evicted);
    let ledger = Ledger::parse(&recorded.engine.ledger().write()).unwrap();
    assert_eq!(ledger.facts().len(), 1);
    let mut engine = Engine::new(parse(EVEN), ledger);
    engine.settle(&recorded.snapshot, after(1));
    assert!(engine.ledger().facts().is_empty());
    assert!(!engine.ledger().write().contains("unrecorded"));
}
