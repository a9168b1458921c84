//! How the exact mode classifies nodes and lists the pods of the sources.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::decide::draft::{Candidate, Draft};
use crate::decide::gate;
use crate::decide::scheduler;
use crate::decide::strategy::importance::importance;
use crate::decide::strategy::listing::in_proportion;
use crate::decide::targets::unfit;
use crate::model::plan::{Class, Idle, Misfit, Reason, Refusal, Replacement, Stop};
use crate::model::snapshot::facts::NodeClosure;
use crate::model::snapshot::{NodeId, PodId};
use crate::model::usage::Unmeasured;
use crate::policy::{Basis, HighNodeUtilization, LowNodeUtilization, Thresholds};
use crate::values::ResourceId;

use super::percent::{MeasuredNode, PercentThresholds, to_ratio, weight};
use super::{ExactUtilizationRun, SourceNode, SourcePool};

impl<'w> ExactUtilizationRun<'w> {
    /// Starts LowNodeUtilization.
    pub(in crate::decide::strategy::exact) fn low(
        draft: &mut Draft<'w>,
        position: usize,
        rule: &'w LowNodeUtilization,
    ) -> Self {
        let mut run = Self::new(position, None);
        let mut remaining = run.set_aside(draft, rule.basis);
        for pool in &rule.pools {
            let snapshot = draft.world.snapshot;
            let selector = pool.selector.as_ref();
            let (mine, others): (Vec<NodeId>, Vec<NodeId>) = remaining
                .into_iter()
                .partition(|n| selector.is_none_or(|s| s.matches(&snapshot.node(*n).labels)));
            remaining = others;
            match PercentThresholds::new(draft, rule.basis, &pool.thresholds, &pool.targets) {
                Ok(thresholds) => run.add_low(draft, rule, &pool.name, thresholds, &mine),
                Err(why) => run.note(draft, &pool.name, &mine, &why),
            }
        }
        let not_selected = remaining.into_iter().map(|node| (node, Class::NotSelected));
        run.classes.extend(not_selected);
        run.write_verdicts(draft);
        run
    }

    /// Starts HighNodeUtilization.
    pub(in crate::decide::strategy::exact) fn high(
        draft: &mut Draft<'w>,
        position: usize,
        rule: &'w HighNodeUtilization,
    ) -> Self {
        let only = rule.only_thresholding_resources;
        let mut run = Self::new(position, only.then_some(&rule.thresholds));
        let nodes = run.set_aside(draft, rule.basis);
        match PercentThresholds::new(draft, rule.basis, &rule.thresholds, &Vec::new()) {
            Ok(thresholds) => run.add_high(draft, rule, &thresholds, &nodes),
            Err(why) => run.note(draft, "default", &nodes, &why),
        }
        run.write_verdicts(draft);
        run
    }

    const fn new(position: usize, requested: Option<&'w Thresholds>) -> Self {
        ExactUtilizationRun {
            position,
            requested,
            pools: VecDeque::new(),
            classes: BTreeMap::new(),
            idle: BTreeMap::new(),
            levels: BTreeMap::new(),
            relieved: BTreeSet::new(),
        }
    }

    /// Classifies the nodes that cannot be weighed, and returns the others.
    fn set_aside(&mut self, draft: &Draft<'_>, basis: Basis) -> Vec<NodeId> {
        let mut fit = Vec::new();
        for node in draft.world.snapshot.node_ids() {
            match unfit(draft, basis, node) {
                Some(class) => {
                    self.classes.insert(node, class);
                }
                None => fit.push(node),
            }
        }
        fit
    }

    /// Records why nothing is done with the nodes of a pool.
    fn note(&mut self, draft: &mut Draft<'_>, pool: &str, nodes: &[NodeId], why: &Idle) {
        let strategy = draft.world.strategy(self.position).rule.name();
        draft.note(strategy, pool, why.clone());
        self.idle.extend(nodes.iter().map(|n| (*n, why.clone())));
    }

    /// Records the class of each node by its name.
    fn write_verdicts(&self, draft: &mut Draft<'_>) {
        let strategy = draft.world.strategy(self.position).rule.name();
        for (node, class) in &self.classes {
            draft.add_verdict(strategy, *node, class.clone());
        }
    }

    fn add_low(
        &mut self,
        draft: &mut Draft<'_>,
        rule: &LowNodeUtilization,
        pool: &str,
        mut thresholds: PercentThresholds,
        nodes: &[NodeId],
    ) {
        let measured: Vec<MeasuredNode> =
            nodes.iter().map(|n| thresholds.measure(draft, *n)).collect();
        if rule.deviation {
            thresholds.around_the_mean(&measured);
        }
        let (mut cold, mut hot) = (Vec::new(), Vec::new());
        for node in &measured {
            self.levels.insert(node.node, thresholds.levels(node));
            let class = thresholds.class(draft, node);
            if class == Class::Cold {
                cold.push(node);
            } else if let Class::Hot { .. } = class {
                hot.push(node);
            }
            self.classes.insert(node.node, class);
        }
        if let Some(why) =
            idle_low(cold.len(), hot.len(), measured.len(), rule.number_of_nodes.unwrap_or(0))
        {
            self.note(draft, pool, nodes, &why);
            return;
        }
        hot.sort_by_key(|node| Reverse(node.raw_sum()));
        let free = thresholds.free(draft, &cold);
        let mut sources = VecDeque::new();
        for node in hot {
            let reason = self.hot_reason(node.node, rule.basis);
            sources.push_back(self.source(draft, &thresholds, node, reason, &cold));
        }
        self.pools.push_back(SourcePool { basis: rule.basis, to_the_last: false, sources, free });
    }

    fn add_high(
        &mut self,
        draft: &mut Draft<'_>,
        rule: &HighNodeUtilization,
        thresholds: &PercentThresholds,
        nodes: &[NodeId],
    ) {
        let measured: Vec<MeasuredNode> =
            nodes.iter().map(|n| thresholds.measure(draft, *n)).collect();
        let (mut under, mut takers) = (Vec::new(), Vec::new());
        for node in &measured {
            self.levels.insert(node.node, thresholds.levels(node));
            let class = if thresholds.is_under(node) {
                under.push(node);
                Class::Underused
            } else if draft.world.snapshot.node(node.node).is_closed_by(NodeClosure::Cordoned) {
                Class::InUseClosed(NodeClosure::Cordoned)
            } else {
                takers.push(node);
                Class::InUse
            };
            self.classes.insert(node.node, class);
        }
        if let Some(why) = idle_high(under.len(), takers.len(), rule.number_of_nodes) {
            self.note(draft, "default", nodes, &why);
            return;
        }
        under.sort_by_key(|node| node.raw_sum());
        let free = thresholds.free(draft, &takers);
        let mut sources = VecDeque::new();
        for node in under {
            let reason = thresholds.underused_reason(draft, node);
            sources.push_back(self.source(draft, thresholds, node, reason, &takers));
        }
        self.pools.push_back(SourcePool { basis: rule.basis, to_the_last: true, sources, free });
    }

    /// Why pods leave a node of class `Hot`.
    fn hot_reason(&self, node: NodeId, basis: Basis) -> Reason {
        match self.classes.get(&node) {
            Some(Class::Hot { resource, ratio, target, .. }) => Reason::HotNode {
                resource: resource.clone(),
                ratio: *ratio,
                target: *target,
                basis,
                expected: None,
            },
            _ => Reason::Counted,
        }
    }

    fn source(
        &self,
        draft: &mut Draft<'_>,
        thresholds: &PercentThresholds,
        node: &MeasuredNode,
        reason: Reason,
        takers: &[&MeasuredNode],
    ) -> SourceNode {
        let amount =
            |(r, used): (&ResourceId, &crate::values::Amount)| (*r, i128::from(used.get()));
        SourceNode {
            node: node.node,
            reason,
            usage: node.usage.iter().map(amount).collect(),
            targets: thresholds.targets(draft, node.node),
            pods: self.pods(draft, thresholds.basis, node.node, takers).into(),
        }
    }

    /// The pods of a source, the first to evict in front.
    ///
    /// Pods that only this strategy refuses are recorded here.
    fn pods(
        &self,
        draft: &mut Draft<'_>,
        basis: Basis,
        node: NodeId,
        takers: &[&MeasuredNode],
    ) -> Vec<PodId> {
        let snapshot = draft.world.snapshot;
        let mut pods = Vec::new();
        for &pod in &snapshot.node(node).pods {
            if self.judge(draft, pod).is_err() {
                continue;
            }
            match refusal(draft, self.position, basis, pod, takers) {
                Some(why) => draft.refuse(&Candidate::counted(pod, self.position), why),
                None => pods.push(pod),
            }
        }
        in_proportion(snapshot, pods.into_iter().map(|p| (importance(snapshot.pod(p)), p)))
    }
}

/// Why the strategy itself refuses a pod. If the gate refuses it as well, the gate's reason comes
/// first.
fn refusal(
    draft: &Draft<'_>,
    position: usize,
    basis: Basis,
    pod: PodId,
    takers: &[&MeasuredNode],
) -> Option<Refusal> {
    let snapshot = draft.world.snapshot;
    if gate::evictable(pod, position, draft).is_err() {
        return None;
    }
    if basis == Basis::Actual && weight(draft, basis, pod, ResourceId::CPU).is_none() {
        return Some(Stop::Unmeasured(Unmeasured::Missing).into());
    }
    let pod = snapshot.pod(pod);
    let mut nodes = takers.iter().map(|to| snapshot.node(to.node));
    let admitted = nodes.any(|node| scheduler::tolerates_all(pod, node));
    let tainted = takers.iter().map(|_| Misfit::Taint);
    (!admitted).then(|| Replacement::NoRoom(tainted.collect()).into())
}

impl PercentThresholds {
    /// The class of a node for LowNodeUtilization.
    fn class(&self, draft: &Draft<'_>, node: &MeasuredNode) -> Class {
        let snapshot = draft.world.snapshot;
        let cordoned = snapshot.node(node.node).is_closed_by(NodeClosure::Cordoned);
        match (self.is_under(node), cordoned, self.over(node)) {
            (true, false, _) => Class::Cold,
            (_, _, Some((resource, percent, high))) => Class::Hot {
                resource: snapshot.resources.name(resource).to_owned(),
                ratio: to_ratio(percent),
                target: to_ratio(high),
                expected: None,
                needed: None,
            },
            (true, true, None) => Class::ColdClosed(NodeClosure::Cordoned),
            (false, _, None) => Class::Even,
        }
    }

    /// Why a node is emptied: the resource that is nearest to its threshold.
    fn underused_reason(&self, draft: &Draft<'_>, node: &MeasuredNode) -> Reason {
        let percent = |r: &ResourceId| node.percent.get(r).copied().unwrap_or(0.0);
        let nearest = self.low.iter().min_by(|(r, low), (s, other)| {
            let (a, b) = (**low - percent(r), **other - percent(s));
            a.total_cmp(&b)
        });
        let (resource, low) = nearest.map_or((ResourceId::CPU, 0.0), |(r, low)| (*r, *low));
        Reason::UnderusedNode {
            resource: draft.world.snapshot.resources.name(resource).to_owned(),
            ratio: to_ratio(percent(&resource)),
            threshold: to_ratio(low),
            basis: self.basis,
        }
    }
}

/// Why LowNodeUtilization does nothing in a pool. Descheduler checks the conditions in this order.
fn idle_low(cold: usize, hot: usize, all: usize, number_of_nodes: u32) -> Option<Idle> {
    let few_cold = || Idle::few_cold(cold, number_of_nodes);
    match (cold, hot) {
        _ if all == 0 => None,
        (0, 0) => Some(Idle::NothingHot),
        (0, _) => Some(Idle::NothingCold(hot)),
        _ if cold == all => few_cold().or(Some(Idle::AllCold)),
        (_, 0) => few_cold().or(Some(Idle::NothingHot)),
        _ => few_cold(),
    }
}

/// Why HighNodeUtilization does nothing. Descheduler checks the conditions in this order.
fn idle_high(under: usize, takers: usize, number_of_nodes: u32) -> Option<Idle> {
    if under == 0 {
        Some(Idle::NothingUnderused)
    } else {
        let no_taker = (takers == 0).then_some(Idle::NoDestination);
        Idle::few_cold(under, number_of_nodes).or(no_taker)
    }
}
