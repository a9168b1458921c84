//! The status page: what an operator reads, what a script reads, and that nothing in a name is markup.

use std::sync::Arc;

use evenkeel::engine::Engine;
use evenkeel::ledger::Ledger;
use evenkeel::plan::{Outcome, Plan};
use evenkeel::policy::Policy;
use evenkeel::snapshot::Snapshot;
use evenkeel::telemetry::Health;
use evenkeel::telemetry::status::facts::{About, Remembered, Round, Source};
use evenkeel::telemetry::status::{self, Board};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::kit::{Cluster, EVEN, after, noon, parse};

const UNEVEN: &str = "\
node n1
  web*7 cpu=100m uses=1/1Gi
  agent cpu=100m uses=100m daemon
node n2
  api*4 cpu=1 uses=500m
node n3 no-metrics
node n4
budget web allows=2
";

fn about() -> About {
    About {
        version: "0.1.0",
        instance: "evenkeel-0".to_owned(),
        policy: "1 strategy (LowNodeUtilization on actual usage), every 1m".to_owned(),
        dry_run: false,
        exact: false,
        started: noon() - SignedDuration::from_mins(3),
    }
}

/// A daemon as it is after its cycles, without the daemon.
struct Shown {
    board: Board,
    health: Health,
    engine: Engine,
}

impl Shown {
    fn new(policy: Policy) -> Self {
        let health = Health::default();
        health.ready();
        Shown { board: Board::new(about()), health, engine: Engine::new(policy, Ledger::default()) }
    }

    /// One cycle: each of its moves comes to this.
    fn cycle(&mut self, cluster: &Cluster, outcome: Option<&Outcome>, at: Timestamp) -> Plan {
        let snapshot = cluster.snapshot(self.engine.policy());
        self.engine.observe_steady(&snapshot, &cluster.readings(at), at);
        self.engine.settle(&snapshot, at);
        let plan = self.engine.decide(&snapshot, at);
        let outcomes: Vec<Outcome> = outcome.map(|o| vec![o.clone(); plan.moves.len()]).unwrap_or_default();
        self.engine.intend(&snapshot, &plan.moves, at);
        for (it, outcome) in plan.moves.iter().zip(&outcomes) {
            self.engine.resolve(it, outcome);
        }
        self.publish(&snapshot, &plan, &outcomes, at);
        plan
    }

    fn publish(&self, snapshot: &Snapshot, plan: &Plan, outcomes: &[Outcome], at: Timestamp) {
        let dry_run = outcomes.is_empty();
        self.board.round(|| {
            let round = Round::of(plan, outcomes, dry_run, SignedDuration::from_millis(12));
            let outcome = if dry_run { "dry-run" } else { "acted" };
            let past = round.past(outcome, format!("{} of {} evicted", round.evicted, plan.moves.len()));
            let rest = self.engine.policy().cooldown.rest;
            (round, past, Remembered::of(self.engine.ledger(), snapshot, rest, at))
        });
    }

    fn html(&self, at: Timestamp) -> String {
        self.board.html(&self.health, at).unwrap()
    }

    fn json(&self, at: Timestamp) -> Value {
        serde_json::from_str(&self.board.json(&self.health, at).unwrap()).unwrap()
    }

    fn headline(&self, at: Timestamp) -> String {
        self.json(at)["state"]["message"].as_str().unwrap().to_owned()
    }
}

#[test]
fn draw() {
    let Ok(path) = std::env::var("DRAW") else { return };
    let mut shown = Shown::new(parse(&format!("steering: {{taintHot: true}}\n{EVEN}")));
    let cluster = Cluster::parse(UNEVEN);
    for i in 0..30 {
        shown.cycle(&cluster, (i % 7 == 3).then_some(&Outcome::Evicted), after(i * 60));
    }
    shown.board.due(after(31 * 60));
    shown.board.sources(|| {
        vec![
            Source {
                name: "metricsApi",
                in_use: true,
                read: Some(after(1790)),
                newest_sample: Some(after(1780)),
                error: None,
            },
            Source {
                name: "prometheus",
                in_use: false,
                read: None,
                newest_sample: None,
                error: Some("Prometheus at http://x does not answer".into()),
            },
        ]
    });
    std::fs::write(format!("{path}/a.html"), shown.html(after(30 * 60))).unwrap();
    std::fs::write(format!("{path}/a.json"), serde_json::to_string_pretty(&shown.json(after(30 * 60))).unwrap())
        .unwrap();
}
