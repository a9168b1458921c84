//! The engine: what has memory (usage and ledger) in one value with three verbs, `observe`, `decide` and `settle`.
//!
//! A real cluster, a file and a test all drive this same value. Nothing in it acts: a dry run is to decide, and stop.

use jiff::{SignedDuration, Timestamp};

use crate::decide::draft::{Draft, HotSince, World};
use crate::decide::explain::{self, Case, Explanation, NotFound, Subject};
use crate::decide::rightsizing;
use crate::decide::steering;
use crate::decide::strategy::{self, low_node_utilization};
use crate::model::ledger::{Aim, Entry, Ledger, Settled};
use crate::model::plan::{Halt, Move, Outcome, Plan, Rightsizing};
use crate::model::snapshot::{NodeId, Snapshot};
use crate::model::usage::history::History;
use crate::model::usage::{Readings, Usage};
use crate::policy::{LowNodeUtilization, Policy, Strategy};
use crate::values::Ratio;

use balance_report::balance_report;

pub mod balance_report;

/// A pod that is younger than this may still find a node, so it does not count as waiting for one.
const PENDING_GRACE: SignedDuration = SignedDuration::from_secs(60);

/// The policy, and all that is remembered.
#[derive(Clone, Debug)]
pub struct Engine {
    policy: Policy,
    history: History,
    ledger: Ledger,
    hot_since: HotSince,
}

impl Engine {
    /// Nothing observed yet.
    pub fn new(policy: Policy, ledger: Ledger) -> Self {
        let history = History::new(policy.usage.clone());
        Engine {
            policy,
            history,
            ledger,
            hot_since: HotSince::new(),
        }
    }

    /// The policy.
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What is remembered of evictions.
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Takes the ledger as someone else has written it.
    pub fn reload(&mut self, ledger: Ledger) {
        self.ledger = ledger;
    }

    /// Takes in one poll of the usage source, and notes which nodes are hot.
    pub fn observe(&mut self, snapshot: &Snapshot, readings: &Readings, now: Timestamp) {
        for entry in self
            .ledger
            .entries()
            .iter()
            .filter(|e| e.at <= now || !tells_of(readings, e))
        {
            self.history.departed(&entry.node, entry.at);
        }
        self.history.record(snapshot, readings, now);
        let mut hot = HotSince::new();
        for (position, node) in self.hot_nodes(snapshot, now) {
            let key = (position, snapshot.node(node).name.clone());
            // Not later than now, should the clock have been set back.
            let since = self.hot_since.get(&key).copied().unwrap_or(now).min(now);
            hot.insert(key, since);
        }
        self.hot_since = hot;
    }

    /// Takes in what was used before we looked, in the order of time: as if we had looked all along. After a restart,
    /// or when the source has been away, nothing then waits for a window to fill anew.
    pub fn catch_up(
        &mut self,
        snapshot: &Snapshot,
        past: &[(Timestamp, Readings)],
        now: Timestamp,
    ) {
        for (at, readings) in past.iter().filter(|(at, _)| *at <= now) {
            self.observe(snapshot, readings, *at);
        }
    }

    /// Takes one poll for all there is to know: as if usage had been so for a whole window.
    pub fn observe_steady(&mut self, snapshot: &Snapshot, readings: &Readings, now: Timestamp) {
        self.history.record_steady(snapshot, readings, now);
        let always = |key| (key, Timestamp::MIN);
        let hot = self.hot_nodes(snapshot, now).into_iter();
        self.hot_since = hot
            .map(|(position, node)| always((position, snapshot.node(node).name.clone())))
            .collect();
    }

    /// What should be done now. Changes nothing: the same world gives the same plan.
    pub fn decide(&self, snapshot: &Snapshot, now: Timestamp) -> Plan {
        self.decide_with_progress(snapshot, now, |_| {})
    }

    /// The same, and tells whoever has a clock when the strategies begin, and of each when it has decided.
    pub fn decide_with_progress(
        &self,
        snapshot: &Snapshot,
        now: Timestamp,
        mut tell: impl FnMut(Option<&Strategy>),
    ) -> Plan {
        let usage = self.history.usage(snapshot, now);
        let mut draft = Draft::new(self.world(snapshot, &usage, now));
        let before = balance_report(&draft);
        let halted = halt(&self.policy, snapshot, now);
        if halted.is_none() {
            tell(None);
            for (position, strategy) in self.policy.strategies.iter().enumerate() {
                strategy::run(&mut draft, position, |_, _| {});
                tell(Some(strategy));
            }
        }
        let after = balance_report(&draft);
        let (world, goals) = (draft.world, draft.destinations());
        let (moves, kept, verdicts, notes) = draft.finish();
        let steering = steering::steer(world, &verdicts, &goals, halted.as_ref());
        let rightsizing = self.rightsizing(world);
        let skipped = snapshot.skipped.clone();
        Plan {
            at: now,
            halted,
            steering,
            moves,
            kept,
            nodes: verdicts,
            notes,
            before,
            after,
            rightsizing,
            skipped,
        }
    }

    /// All that can be said now of a pod, a node or a workload. Changes nothing, and tells what [`Engine::decide`] would do.
    pub fn explain(
        &self,
        snapshot: &Snapshot,
        subject: &Subject,
        now: Timestamp,
    ) -> Result<Explanation, NotFound> {
        let usage = self.history.usage(snapshot, now);
        let halted = halt(&self.policy, snapshot, now);
        let world = self.world(snapshot, &usage, now);
        explain::explain(
            &Case {
                world,
                history: &self.history,
                halted: halted.as_ref(),
            },
            subject,
        )
    }

    /// Writes down in the ledger what is about to be done. Save the ledger before doing it.
    pub fn intend(&mut self, snapshot: &Snapshot, moves: &[Move], now: Timestamp) {
        for (it, pod) in moves
            .iter()
            .filter_map(|m| Some((m, snapshot.find_pod(&m.namespace, &m.pod)?)))
        {
            let aim = if snapshot.pod(pod).finished() {
                Aim::Clear
            } else if it.reason.lies_in_the_pod() {
                Aim::Renew
            } else {
                Aim::Move
            };
            self.ledger.intend(snapshot, pod, (aim, &it.may_land), now);
        }
    }

    /// Writes down in the ledger what came of a move.
    pub fn resolve(&mut self, it: &Move, outcome: &Outcome) {
        match outcome {
            Outcome::Evicted => self.ledger.evicted(&it.uid),
            // Nobody knows yet: the next look at the cluster will tell.
            Outcome::Unanswered(_) => {}
            Outcome::Refused(_)
            | Outcome::Gone
            | Outcome::Changed
            | Outcome::Failed(_)
            | Outcome::Untried => {
                self.ledger.withdraw(&it.uid);
            }
        }
    }

    /// Looks at the cluster for what became of earlier evictions.
    pub fn settle(&mut self, snapshot: &Snapshot, now: Timestamp) -> Vec<Settled> {
        let hot: Vec<NodeId> = self
            .hot_nodes(snapshot, now)
            .into_iter()
            .map(|(_, node)| node)
            .collect();
        self.ledger.settle(
            snapshot,
            |node| hot.contains(&node),
            &self.policy.cooldown,
            now,
        )
    }

    /// What nodes and pods use, as far as is known.
    pub fn usage(&self, snapshot: &Snapshot, now: Timestamp) -> Usage {
        self.history.usage(snapshot, now)
    }

    fn world<'w>(&'w self, snapshot: &'w Snapshot, usage: &'w Usage, now: Timestamp) -> World<'w> {
        World {
            policy: &self.policy,
            snapshot,
            usage,
            ledger: &self.ledger,
            hot_since: &self.hot_since,
            now,
        }
    }

    fn rightsizing(&self, world: World<'_>) -> Vec<Rightsizing> {
        if !self.policy.rightsizing.is_on() {
            return Vec::new();
        }
        rightsizing::suggest(world, &self.history.samples(world.snapshot))
    }

    /// Which strategy, by position, finds which nodes above a target.
    fn hot_nodes(&self, snapshot: &Snapshot, now: Timestamp) -> Vec<(usize, NodeId)> {
        let usage = self.history.usage(snapshot, now);
        let draft = Draft::new(self.world(snapshot, &usage, now));
        let rules = self
            .policy
            .strategies
            .iter()
            .enumerate()
            .filter_map(|(i, s)| Some((i, LowNodeUtilization::of(&s.rule)?)));
        rules
            .flat_map(|(i, rule)| {
                low_node_utilization::above_target(&draft, rule)
                    .into_iter()
                    .map(move |n| (i, n))
            })
            .collect()
    }
}

/// Whether a reading of the past has the part that an evicted pod still had in its node.
fn tells_of(readings: &Readings, entry: &Entry) -> bool {
    let pod = (entry.workload.namespace.clone(), entry.pod.clone());
    readings.pods.contains_key(&pod) && readings.placed.get(&pod) == Some(&entry.node)
}

/// Nothing at all is evicted while the cluster itself is unwell.
fn halt(policy: &Policy, snapshot: &Snapshot, now: Timestamp) -> Option<Halt> {
    let share = |part: usize, of: usize| {
        let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
        Ratio::new(count(part) / count(of.max(1))).unwrap_or_default()
    };
    let selects = |n: &&crate::model::snapshot::Node| {
        policy
            .node_selector
            .as_ref()
            .is_none_or(|s| s.matches(&n.labels))
    };
    let ready = snapshot
        .nodes
        .iter()
        .filter(selects)
        .filter(|n| n.ready)
        .count();
    if ready < 2 {
        return Some(Halt::FewNodes(ready));
    }
    let (not_ready, of) = (
        snapshot.nodes.iter().filter(|n| !n.ready).count(),
        snapshot.nodes.len(),
    );
    if share(not_ready, of) > policy.safety.max_not_ready {
        return Some(Halt::NotReady {
            not_ready,
            of,
            most: policy.safety.max_not_ready,
        });
    }
    // What has scheduling gates waits for whoever set them, as in a queue of jobs, and not for room.
    let open = || snapshot.pods.iter().filter(|p| p.stays() && !p.gated);
    let pending = open()
        .filter(|p| p.facts().node.is_none() && now.duration_since(p.created) > PENDING_GRACE)
        .count();
    let of = open().count();
    let most = policy.safety.max_pending;
    (share(pending, of) > most).then_some(Halt::Pending { pending, of, most })
}
