//! The engine: it remembers usage and evictions, and has the verbs `observe`, `settle`, `decide`
//! and `explain`.
//!
//! A real cluster, a file and a test all drive the same engine. It never acts: a dry run decides
//! and stops.

use std::cell::OnceCell;

use jiff::Timestamp;

use crate::decide::doctor::{self, Diagnosis};
use crate::decide::draft::{Candidate, Draft};
use crate::decide::explain::{self, Context, Explanation, NotFound, Subject};
use crate::decide::gate;
use crate::decide::placement::Landing;
use crate::decide::projection::{HotSince, World};
use crate::decide::rightsizing;
use crate::decide::scheduler;
use crate::decide::steering;
use crate::decide::strategy;
use crate::model::approval::Approved;
use crate::model::guard::GuardStates;
use crate::model::ledger::{Aim, Entry, Ledger};
use crate::model::plan::{Move, NoTrend, PausedNamespace, Plan, Rightsizing};
use crate::model::relief::ReliefWatch;
use crate::model::search_start::SearchStart;
use crate::model::snapshot::{NodeId, Snapshot};
use crate::model::usage::history::History;
use crate::model::usage::{Hindsight, Readings, Usage};
use crate::policy::{Basis, KubernetesRelease, Policy, Smoothing, Strategy};

use balance_report::balance_report;

pub mod balance_report;
mod approval;
mod halt;
mod outcomes;
pub mod recheck;
mod replica_trial;
mod settle;
mod sustained;
mod trial;

/// The policy, and the memory between cycles.
#[derive(Clone, Debug)]
pub struct Engine {
    policy: Policy,
    history: History,
    ledger: Ledger,
    approved: Approved,
    guards: GuardStates,
    hot_since: HotSince,
    /// When it was last noted which nodes are hot.
    looked: Option<Timestamp>,
    search_start: SearchStart,
    relief: ReliefWatch,
    /// Whether the ledger keeps facts for a record.
    keeps_facts: bool,
}

/// The cluster at one instant, joined once and used by every step of a cycle.
#[derive(Debug)]
pub struct Observed<'s> {
    /// The objects of the cluster.
    pub snapshot: &'s Snapshot,
    /// The usage of its nodes and pods.
    pub usage: Usage,
    /// The time.
    pub now: Timestamp,
    /// Nodes above a target, by the position of the strategy. Not every step asks for them.
    hot: OnceCell<Vec<(usize, NodeId)>>,
}

impl<'s> Observed<'s> {
    const fn new(snapshot: &'s Snapshot, usage: Usage, now: Timestamp) -> Self {
        Observed { snapshot, usage, now, hot: OnceCell::new() }
    }
}

impl Engine {
    /// An engine that has not observed anything yet.
    pub fn new(policy: Policy, ledger: Ledger) -> Self {
        let history = History::new(policy.usage.clone());
        Engine {
            guards: GuardStates::new(&policy),
            policy,
            history,
            ledger,
            approved: Approved::default(),
            hot_since: HotSince::new(),
            looked: None,
            search_start: SearchStart::default(),
            relief: ReliefWatch::default(),
            keeps_facts: false,
        }
    }

    /// The policy.
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Changes the release of Kubernetes whose scheduler places the pods.
    pub fn set_release(&mut self, release: KubernetesRelease) {
        self.policy.set_release(release);
    }

    /// The record of evictions.
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Replaces the ledger by the one that another instance has written.
    pub fn reload(&mut self, ledger: Ledger) {
        self.ledger = ledger;
    }

    /// Limits times of the ledger that lie in the future. Returns how many there were.
    pub fn clamp_ledger(&mut self, now: Timestamp) -> usize {
        self.ledger.clamp(&self.policy.cooldown, now)
    }

    /// Replaces the policy. Windows and ledger stay.
    pub fn change_policy(&mut self, policy: Policy) {
        let old = &self.policy;
        // How long a node has been hot is counted for a position in the list of strategies.
        let counts_the_same = old.strategies == policy.strategies
            && old.usage == policy.usage
            && old.node_selector == policy.node_selector;
        if !counts_the_same {
            self.hot_since.clear();
            self.looked = None;
        }
        self.history.change_rules(policy.usage.clone());
        self.guards.change(&policy);
        self.policy = policy;
    }

    /// Joins a snapshot with the usage known now. One value serves every step of a cycle.
    pub fn join_usage<'s>(&self, snapshot: &'s Snapshot, now: Timestamp) -> Observed<'s> {
        Observed::new(snapshot, self.usage(snapshot, now), now)
    }

    /// Records one poll of the usage source. Notes which nodes are hot, if the policy asks for that
    /// and no cycle has noted it lately: usage takes long to compute, and most polls need not.
    pub fn observe(&mut self, snapshot: &Snapshot, readings: &Readings, now: Timestamp) {
        for entry in self.ledger.entries() {
            if entry.at <= now || !shows_before(readings, entry) {
                self.history.departed(&entry.node, entry.at);
            }
        }
        self.history.record(snapshot, readings, now);
        self.relief.observe(snapshot, readings, &self.ledger);
        if self.is_look_due(now) {
            self.note_hot(&self.join_usage(snapshot, now));
        }
        self.follow_scheduler(snapshot, now);
    }

    /// Finds out where kube-scheduler starts its next search.
    fn follow_scheduler(&mut self, snapshot: &Snapshot, now: Timestamp) {
        self.search_start = scheduler::evaluate(&self.policy, snapshot, &self.search_start, now);
    }

    /// Returns how right the expectations of usage in the last hour were. Nothing if the policy
    /// expects nothing any more.
    pub fn hindsight(&self) -> Hindsight {
        let learns = self.policy.usage.ahead.is_some();
        if learns { *self.history.hindsight() } else { Hindsight::default() }
    }

    /// Records one poll as if usage had been the same for a whole window.
    pub fn observe_steady(&mut self, snapshot: &Snapshot, readings: &Readings, now: Timestamp) {
        self.history.record_steady(snapshot, readings, now);
        let observed = self.join_usage(snapshot, now);
        let hot = self.hot_since(&observed).into_keys();
        self.hot_since = hot.map(|key| (key, Timestamp::MIN)).collect();
    }

    /// Makes the plan for now. It changes nothing: the same world gives the same plan.
    pub fn decide(&self, snapshot: &Snapshot, now: Timestamp) -> Plan {
        self.decide_observed(&self.join_usage(snapshot, now), |_| {})
    }

    /// Like [`Engine::decide`], with a snapshot that is already joined. Reports when the first
    /// strategy starts (`None`), and each strategy that ends.
    pub fn decide_observed(
        &self,
        observed: &Observed<'_>,
        mut report: impl FnMut(Option<&Strategy>),
    ) -> Plan {
        let snapshot = observed.snapshot;
        let mut draft = Draft::new(self.world(observed));
        let before = balance_report(&draft);
        let halted = self.halt(snapshot, observed.now);
        if halted.is_none() {
            report(None);
            for (position, strategy) in self.policy.strategies.iter().enumerate() {
                strategy::run(&mut draft, position, |_, _| {});
                report(Some(strategy));
            }
        }
        let unknown = gate::unknown_kinds(&draft);
        let after =
            if draft.accepted().next().is_none() { before.clone() } else { balance_report(&draft) };
        let basis = before.basis;
        let (world, landings) = (draft.world, steering::Landings::of(&draft));
        let nodes_in_use = draft.nodes_in_use().cloned();
        let (moves, kept, verdicts, notes) = draft.finish();
        Plan {
            at: observed.now,
            steering: steering::steer(world, &verdicts, &landings, halted.as_ref()),
            paused: paused(world),
            guards: self.guards.stops(observed.now),
            proposed: Vec::new(),
            unmade: approval::unmade(world, halted.as_ref(), &moves, &kept, &verdicts),
            halted,
            moves,
            kept,
            nodes: verdicts,
            notes,
            nodes_in_use,
            before,
            after,
            rightsizing: Vec::new(),
            steering_trial: None,
            replica_trial: None,
            skipped: snapshot.skipped.clone(),
            unknown,
            no_trend: no_trend(world, basis),
        }
    }

    /// Names the expected node of each replacement in a plan of the exact mode, which asks for no
    /// forecast, and counts its load there. A replacement that no node can run keeps none.
    ///
    /// For people who read the plan: nothing is decided by it. In any other plan, the landing gate
    /// has named these nodes.
    pub fn predict_landings(&self, observed: &Observed<'_>, plan: &mut Plan) {
        let unpredicted = |planned: &Move| planned.to.is_none() && planned.aim != Aim::Clear;
        if self.policy.forecasts() || !plan.moves.iter().any(unpredicted) {
            return;
        }
        let snapshot = observed.snapshot;
        let mut draft = Draft::new(self.world(observed));
        for planned in &mut plan.moves {
            let Some(pod) = snapshot.find_pod(&planned.namespace, &planned.pod) else {
                continue;
            };
            if unpredicted(planned) {
                let likeliest = scheduler::forecast(&draft, pod).possible_nodes.first().copied();
                planned.to = likeliest.map(|possible| snapshot.node(possible.node).name.clone());
            }
            let to = planned.to.as_deref();
            let landing =
                Landing { on: to.and_then(|name| snapshot.find_node(name)), ..Landing::default() };
            draft.accept(Candidate::counted(pod, 0), landing);
        }
        plan.after = balance_report(&draft);
    }

    /// Explains what [`Engine::decide`] does with a pod, a node or a workload. It changes nothing.
    pub fn explain(
        &self,
        snapshot: &Snapshot,
        subject: &Subject,
        now: Timestamp,
    ) -> Result<Explanation, NotFound> {
        let observed = self.join_usage(snapshot, now);
        let halted = self.halt(snapshot, now);
        let case = Context {
            world: self.world(&observed),
            history: &self.history,
            halted: halted.as_ref(),
        };
        explain::explain(&case, subject)
    }

    /// Checks whether the cluster lets evenkeel do its work.
    pub fn examine(&self, observed: &Observed<'_>) -> Vec<Diagnosis> {
        let halted = self.halt(observed.snapshot, observed.now);
        doctor::examine(self.world(observed), halted.as_ref())
    }

    /// The usage of nodes and pods as far as it is known.
    pub fn usage(&self, snapshot: &Snapshot, now: Timestamp) -> Usage {
        self.history.usage(snapshot, now)
    }

    const fn world<'w>(&'w self, observed: &'w Observed<'_>) -> World<'w> {
        World {
            policy: &self.policy,
            snapshot: observed.snapshot,
            usage: &observed.usage,
            ledger: &self.ledger,
            approved: &self.approved,
            guards: &self.guards,
            hot_since: &self.hot_since,
            search_start: &self.search_start,
            now: observed.now,
        }
    }

    /// Recommends requests for a plan of these observations. Nothing is decided by it, and in a
    /// large cluster it takes half as long as a decision that finds nothing to do.
    pub fn rightsizing(&self, observed: &Observed<'_>) -> Vec<Rightsizing> {
        if !self.policy.rightsizing.is_on() {
            return Vec::new();
        }
        rightsizing::suggest(self.world(observed), &self.history.samples(observed.snapshot))
    }
}

fn paused(world: World<'_>) -> Vec<PausedNamespace> {
    let paused = world.snapshot.pauses.namespaces(world.now);
    let paused = paused.map(|(namespace, pause)| PausedNamespace {
        namespace: namespace.to_owned(),
        pause: pause.clone(),
    });
    paused.collect()
}

/// The nodes whose usage would count by its trend if they had one.
fn no_trend(world: World<'_>, basis: Basis) -> Option<NoTrend> {
    if world.policy.usage.smoothing != Smoothing::Trend || basis != Basis::Actual {
        return None;
    }
    // An empty node never has a trend, and needs none.
    let counts = |node: &NodeId| {
        !world.snapshot.node(*node).pods.is_empty() && world.usage.node(*node).is_some()
    };
    let measured = || world.snapshot.node_ids().filter(counts);
    let nodes = measured().filter(|node| world.usage.error(*node).is_none()).count();
    (nodes > 0).then(|| NoTrend { nodes, of: measured().count() })
}

/// Whether a past reading still shows the evicted pod on its node.
fn shows_before(readings: &Readings, entry: &Entry) -> bool {
    let pod = (entry.workload.namespace.clone(), entry.pod.clone());
    readings.pods.contains_key(&pod) && readings.placed.get(&pod) == Some(&entry.node)
}
