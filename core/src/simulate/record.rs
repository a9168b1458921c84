//! Recording of the trace: series for each step, evictions with their outcomes, refusals, and the
//! summary.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::decide::engine::Engine;
use crate::decide::engine::balance_report::balance;
use crate::model::ledger::{Ending, Settled};
use crate::model::plan::{Balance, Class, Move, NodePicture, Outcome, Plan};
use crate::model::relief::CycleRelief;
use crate::model::snapshot::Snapshot;
use crate::model::snapshot::facts::Skipped;
use crate::policy::{Basis, Policy};
use crate::values::Ratio;

use super::cluster::SimulatedCluster;
use super::metrics::Used;
use super::scenario::Scenario;
use super::trace::{Eviction, NodeTrace, Refused, Summary, Trace, TraceBand};

mod above_target;
mod state;

use above_target::HotTimeCount;
use state::{NodeState, bands, states};

/// The most points of a series.
const MOST_POINTS: i32 = 400;

/// The code of the cycles in which something stopped all evictions, as in `explain`.
const STOPPED: &str = "halted";

/// The record of the run so far.
pub(super) struct Recorder {
    trace: Trace,
    next: Timestamp,
    points: usize,
    /// Whether the last point shows a time between two steps of the series.
    last_is_between: bool,
    nodes: BTreeMap<String, NodeTrace>,
    resources: BTreeSet<String>,
    above_target: HotTimeCount,
    /// Whether a strategy has hot nodes, so that a stopped cycle may have some too.
    finds_hot: bool,
    cycles: u64,
    /// The balance when the first pod was evicted.
    at_first_eviction: Option<BTreeMap<String, Balance>>,
    /// The nodes whose usage a decision knew, and those of which one did not.
    known: BTreeSet<String>,
    unknown: BTreeSet<String>,
    /// The evictions that hot nodes needed first, and in the last decision.
    needed: Option<(usize, usize)>,
    /// The first cycle since which every cycle has had a hot node.
    hot_since: Option<Timestamp>,
    /// The longest time from such a cycle to the next one without a hot node.
    longest_hot: SignedDuration,
}

impl Recorder {
    pub(super) fn new(
        scenario: &Scenario,
        policy: &Policy,
        policy_name: &str,
        tick: SignedDuration,
    ) -> Self {
        let start = scenario.start();
        let ticks = scenario.duration.as_secs() / tick.as_secs().max(1);
        // Long runs record only every n-th step, so that the trace and its page stay small.
        let every =
            i32::try_from(ticks / i64::from(MOST_POINTS)).unwrap_or(i32::MAX).saturating_add(1);
        let (basis, bands) = bands(policy);
        let finds_hot = policy.low_node_utilization().next().is_some();
        let weighed = ["cpu", "memory"].into_iter().chain(policy.resources());
        let above_target = HotTimeCount::new(start, basis, &bands);
        let trace = Trace {
            scenario: scenario.name.clone(),
            about: scenario.about.clone(),
            policy: policy_name.to_owned(),
            start,
            end: start,
            step: tick.saturating_mul(every),
            basis,
            targets_vary: finds_hot && bands.is_empty(),
            bands,
            dry_run: policy.dry_run,
            unknown_objects: Vec::new(),
            nodes: Vec::new(),
            evictions: Vec::new(),
            reliefs: Vec::new(),
            events: Vec::new(),
            balance: BTreeMap::new(),
            refusals: BTreeMap::new(),
            summary: Summary::default(),
        };
        Recorder {
            next: start,
            points: 0,
            last_is_between: false,
            nodes: BTreeMap::new(),
            resources: weighed.map(str::to_owned).collect(),
            above_target,
            finds_hot,
            cycles: 0,
            trace,
            at_first_eviction: None,
            known: BTreeSet::new(),
            unknown: BTreeSet::new(),
            needed: None,
            hot_since: None,
            longest_hot: SignedDuration::ZERO,
        }
    }

    /// Records the state of the cluster as the last point of the series, instead of one at which
    /// none was due. The snapshot must be the current one.
    pub(super) fn note(&mut self, now: Timestamp, snapshot: &Snapshot, used: &Used) {
        self.trace.end = now;
        self.above_target.note(now, snapshot, used);
        if std::mem::replace(&mut self.last_is_between, now < self.next) {
            self.drop_last_point();
        }
        if !self.last_is_between {
            let next = self.next.saturating_add(self.trace.step);
            self.next = next.unwrap_or(Timestamp::MAX);
        }
        let resources = self.resources.clone();
        let states = states(&resources, snapshot, used);
        for name in states.keys() {
            if !self.nodes.contains_key(*name) {
                self.nodes.insert((*name).to_owned(), self.blank(name));
            }
        }
        for (name, node) in &mut self.nodes {
            let state = states.get(name.as_str());
            node.pods.push(state.map_or(0, |s| s.pods));
            for (resource, series) in &mut node.actual {
                series.push(state.and_then(|s| s.actual.get(resource.as_str()).copied()));
            }
            for (resource, series) in &mut node.requests {
                series.push(state.and_then(|s| s.requests.get(resource.as_str()).copied()));
            }
        }
        self.points += 1;
        self.note_balance(&states);
    }

    fn drop_last_point(&mut self) {
        for node in self.nodes.values_mut() {
            node.pods.pop();
            for series in node.actual.values_mut().chain(node.requests.values_mut()) {
                series.pop();
            }
        }
        for series in self.trace.balance.values_mut() {
            series.pop();
        }
        self.points -= 1;
    }

    fn balance_at(&self, point: usize) -> BTreeMap<String, Balance> {
        let each = self.trace.balance.iter();
        each.filter_map(|(r, series)| Some((r.clone(), series.get(point).copied().flatten()?)))
            .collect()
    }

    /// Adds a node that joins now. Its earlier points are unknown.
    fn blank(&self, name: &str) -> NodeTrace {
        let nothing = || vec![None; self.points];
        let measured = ["cpu", "memory"].into_iter().map(|r| (r.to_owned(), nothing()));
        NodeTrace {
            name: name.to_owned(),
            actual: measured.collect(),
            requests: self.resources.iter().map(|r| (r.clone(), nothing())).collect(),
            pods: vec![0; self.points],
        }
    }

    fn note_balance(&mut self, states: &BTreeMap<&str, NodeState<'_>>) {
        let (basis, bands) = (self.trace.basis, &self.trace.bands);
        for resource in &self.resources {
            let measured = basis == Basis::Actual && ["cpu", "memory"].contains(&resource.as_str());
            let ratios =
                states.values().map(|state| if measured { &state.actual } else { &state.requests });
            let ratios: Vec<Ratio> =
                ratios.filter_map(|ratios| ratios.get(resource.as_str()).copied()).collect();
            let outside = bands.get(resource).and_then(|band| band.outside(&ratios));
            let series = self.trace.balance.entry(resource.clone()).or_default();
            series.push(balance(&ratios, outside));
        }
    }

    pub(super) fn decided(&mut self, plan: &Plan) {
        if self.cycles == 0 {
            let unknown = plan.unknown.iter().map(ToString::to_string);
            self.trace.unknown_objects = unknown.chain(Skipped::summary(&plan.skipped)).collect();
        }
        self.cycles += 1;
        for kept in &plan.kept {
            self.refused(kept.refusal.code(), kept.refusal.to_string());
        }
        for verdict in &plan.nodes {
            let unknown = matches!(verdict.class, Class::Unknown(_));
            self.seen(&verdict.node, !unknown);
        }
        // Several strategies may judge the same node.
        let needs = plan.nodes.iter().map(|one| (&one.node, one.class.needed().unwrap_or(0)));
        let needed = needs.collect::<BTreeMap<_, _>>().into_values().sum();
        self.needed = match self.needed {
            Some((first, _)) => Some((first, needed)),
            None => (needed > 0).then_some((needed, needed)),
        };
        let mut classes = plan.nodes.iter().map(|verdict| &verdict.class);
        let mut hot =
            classes.any(|class| matches!(class, Class::Hot { .. } | Class::Warming { .. }));
        if let Some(halt) = &plan.halted {
            self.refused(STOPPED, halt.to_string());
            // No strategy has looked at the nodes, so that only their usage tells.
            let measured = plan.before.nodes.iter().filter(|node| node.is_measured());
            measured.for_each(|node| self.seen(&node.name, true));
        }
        hot |= self.finds_hot && has_unjudged_hot_node(plan, &self.trace.bands);
        if hot {
            self.hot_since = self.hot_since.or(Some(plan.at));
        } else if let Some(since) = self.hot_since.take() {
            self.longest_hot = self.longest_hot.max(plan.at.duration_since(since));
        }
    }

    /// Notes whether a decision knew the usage of a node.
    fn seen(&mut self, node: &str, known: bool) {
        let nodes = if known { &mut self.known } else { &mut self.unknown };
        if !nodes.contains(node) {
            nodes.insert(node.to_owned());
        }
    }

    fn refused(&mut self, code: &str, why: String) {
        let refused = self.trace.refusals.entry(code.to_owned());
        let refused = refused.or_insert_with(|| Refused { times: 0, last: String::new() });
        refused.times += 1;
        refused.last = why;
    }

    pub(super) fn outcome(
        &mut self,
        at: Timestamp,
        planned: &Move,
        age: SignedDuration,
        outcome: &Outcome,
    ) {
        if *outcome != Outcome::Evicted {
            self.refused(&format!("api-{}", outcome.code()), outcome.to_string());
            return;
        }
        if self.at_first_eviction.is_none() {
            self.at_first_eviction = Some(self.balance_at(self.points.saturating_sub(1)));
        }
        self.trace.evictions.push(Eviction {
            at,
            namespace: planned.namespace.clone(),
            pod: planned.pod.clone(),
            workload: planned.workload.as_ref().map(ToString::to_string),
            from: planned.node.clone(),
            age,
            foreseen: planned.to.clone(),
            may_land: planned.possible_nodes.clone(),
            to: None,
            helped: None,
            strategy: planned.strategy.to_owned(),
            reason: planned.why(),
        });
    }

    pub(super) fn settled(&mut self, settled: &Settled) {
        let namespace = &settled.workload.namespace;
        // The newest one: a StatefulSet may have had a pod of this name evicted before.
        let mut newest_first = self.trace.evictions.iter_mut().rev();
        if let Some(eviction) = newest_first
            .find(|e| e.helped.is_none() && e.pod == settled.pod && e.namespace == *namespace)
        {
            eviction.to = settled.to.clone().or_else(|| eviction.to.take());
            let is_known = !matches!(settled.ending, Ending::Landed | Ending::NotReplaced);
            eviction.helped = is_known.then(|| settled.ending.has_helped());
        }
    }

    pub(super) fn relieved(&mut self, relief: CycleRelief) {
        self.trace.reliefs.push(relief);
    }

    pub(super) fn finish(mut self, mut cluster: SimulatedCluster, engine: &Engine) -> Trace {
        self.find_landings(&mut cluster, engine);
        let evictions = &self.trace.evictions;
        let count = |of: &dyn Fn(&Eviction) -> bool| {
            u32::try_from(evictions.iter().filter(|e| of(e)).count()).unwrap_or(u32::MAX)
        };
        let before = self.at_first_eviction.take();
        let waits =
            cluster.pods.values().filter(|l| l.facts.node.is_none() && l.facts.stays()).count();
        let summary = Summary {
            cycles: self.cycles,
            stopped: self.trace.refusals.get(STOPPED).map_or(0, |stops| stops.times),
            evictions: count(&|_| true),
            helped: count(&|e| e.helped == Some(true)),
            unknown: count(&|e| e.helped.is_none()),
            foreseen: (
                count(&|e| {
                    e.to.as_ref().is_some_and(|to| foreseen(evictions, e).any(|node| node == to))
                }),
                count(&|e| e.to.is_some() && !e.may_land.is_empty()),
            ),
            needed: self.needed,
            pending: u32::try_from(waits).unwrap_or(u32::MAX),
            time_to_balance: self.hot_since.is_none().then_some(self.longest_hot),
            before: before.unwrap_or_else(|| self.balance_at(0)),
            after: self.balance_at(self.points.saturating_sub(1)),
            relieved_after: self.above_target.relieved_after(),
            moved_again: count(&|e| e.age < e.at.duration_since(self.trace.start)),
            above_target: self.above_target.finish(),
            unknown_nodes: self.unknown.difference(&self.known).cloned().collect(),
            empty_nodes: empty_nodes(&cluster),
        };
        Trace {
            nodes: self.nodes.into_values().collect(),
            events: cluster.events,
            summary,
            ..self.trace
        }
    }

    /// Returns the nodes of replacements that the ledger has not settled yet.
    fn find_landings(&mut self, cluster: &mut SimulatedCluster, engine: &Engine) {
        let mut ledger = engine.ledger().clone();
        // No cycle has seen the replacements of the last evictions.
        ledger.match_replacements(&cluster.snapshot());
        let places: BTreeMap<&str, &str> = cluster
            .pods
            .values()
            .filter_map(|l| Some((l.facts.uid.as_str(), l.facts.node.as_deref()?)))
            .collect();
        for entry in ledger.entries() {
            let place = entry.replacement.as_deref().and_then(|uid| places.get(uid));
            let is_it = |e: &&mut Eviction| {
                let is_same = e.pod == entry.pod && e.namespace == entry.workload.namespace;
                e.to.is_none() && is_same && e.at == entry.at
            };
            if let (Some(place), Some(eviction)) =
                (place, self.trace.evictions.iter_mut().find(is_it))
            {
                eviction.to = Some((*place).to_owned());
            }
        }
    }
}

/// Returns true if a node is above a target and no strategy has judged it, because it is left alone
/// or everything is stopped.
fn has_unjudged_hot_node(plan: &Plan, bands: &BTreeMap<String, TraceBand>) -> bool {
    let mut nodes = plan.before.nodes.iter();
    if plan.halted.is_some() {
        return nodes.any(NodePicture::is_above_target);
    }
    let alone = plan.nodes.iter().filter(|verdict| verdict.class.is_left_alone());
    let alone: BTreeSet<&str> = alone.map(|verdict| verdict.node.as_str()).collect();
    // A node that is left alone is in no pool, so that its picture has no target.
    let is_hot = |node: &NodePicture| {
        let ratio = |resource| node.ratios.get(resource).copied().flatten();
        bands.iter().any(|(resource, band)| ratio(resource).is_some_and(|r| r > band.target))
    };
    nodes.any(|node| alone.contains(node.name.as_str()) && is_hot(node))
}

/// Returns true if a replacement landed as forecast for its pod or for one evicted together with
/// it. It is unknowable which replacement belongs to which pod.
fn foreseen<'e>(all: &'e [Eviction], one: &'e Eviction) -> impl Iterator<Item = &'e String> {
    let twin = move |other: &&Eviction| other.at == one.at && other.workload == one.workload;
    all.iter().filter(twin).flat_map(|e| &e.may_land)
}

/// Returns the number of nodes without pods other than those that stay with their node.
fn empty_nodes(cluster: &SimulatedCluster) -> u32 {
    let pods = cluster.pods.values();
    let moving = pods.filter(|l| !l.facts.finished() && !l.template.stays_with_its_node());
    let busy: BTreeSet<&str> = moving.filter_map(|l| l.facts.node.as_deref()).collect();
    let nodes = cluster.nodes.keys();
    let empty = nodes.filter(|n| !busy.contains(n.as_str()));
    u32::try_from(empty.count()).unwrap_or(u32::MAX)
}
