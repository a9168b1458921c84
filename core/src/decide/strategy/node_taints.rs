//! RemovePodsViolatingNodeTaints: evicts pods from nodes with a taint that they do not tolerate.
//!
//! Only the effects `NoSchedule` and, on request, `PreferNoSchedule` count, as in descheduler.
//! Kubernetes itself evicts pods because of `NoExecute`. A pod leaves a `PreferNoSchedule` taint
//! only for a node with fewer of them. Otherwise the strategy would find it there again.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::decide::draft::Draft;
use crate::decide::scheduler;
use crate::model::plan::{NoGain, NotSelected, Reason, STEERING_KEY};
use crate::model::snapshot::facts::{Effect, Taint, address};
use crate::model::snapshot::{Node, NodeId, Pod, PodId};
use crate::policy::{Names, NodeTaints, Scope};

use super::listing::{only_on, ready_nodes};
use super::per_pod::{JudgePod, Selected};

/// The rule, and the nodes that may be destinations.
#[derive(Debug)]
pub(super) struct NodeTaintsRule<'w> {
    rule: &'w NodeTaints,
    nodes: Vec<NodeId>,
    less_tainted: RefCell<LessTainted>,
}

/// The nodes with fewer soft taints than so many, by the address of the pod's spec, as the pods of
/// one controller share it in memory. The list has up to all nodes, and in a large cluster
/// thousands of pods wait with one.
type LessTainted = BTreeMap<(usize, usize), Rc<[NodeId]>>;

impl<'w> NodeTaintsRule<'w> {
    pub(super) fn new(draft: &Draft<'w>, rule: &'w NodeTaints) -> Self {
        NodeTaintsRule { rule, nodes: ready_nodes(draft), less_tainted: RefCell::default() }
    }

    /// The nodes with fewer soft taints that count and that the pod does not tolerate.
    fn less_tainted(&self, draft: &Draft<'_>, node: NodeId, pod: &Pod) -> Rc<[NodeId]> {
        let soft = |n: NodeId| {
            let violated = self.rule.all_violated(pod, draft.world.snapshot.node(n));
            violated.filter(|taint| is_soft(taint)).count()
        };
        let own = soft(node);
        let nodes = || self.nodes.iter().copied().filter(|n| soft(*n) < own).collect();
        let mut known = self.less_tainted.borrow_mut();
        Rc::clone(known.entry((address(&pod.spec), own)).or_insert_with(nodes))
    }
}

impl JudgePod for NodeTaintsRule<'_> {
    fn scope(&self) -> &Scope {
        &self.rule.scope
    }

    fn judge(&self, draft: &Draft<'_>, node: NodeId, pod: PodId) -> Result<Selected, NotSelected> {
        let selected = self.rule.judge(draft, node, pod)?;
        if !selected.reason.is_a_wish() {
            return Ok(selected);
        }
        let nodes = self.less_tainted(draft, node, draft.world.snapshot.pod(pod));
        if nodes.is_empty() {
            return Err(NotSelected::NoLessTainted);
        }
        Ok(Selected { destinations: Some(only_on(nodes, NoGain::Taint)), ..selected })
    }
}

/// The rule of descheduler, which does not ask where the pod goes.
impl JudgePod for NodeTaints {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn judge(&self, draft: &Draft<'_>, node: NodeId, pod: PodId) -> Result<Selected, NotSelected> {
        let snapshot = draft.world.snapshot;
        let taint = self.violated(snapshot.pod(pod), snapshot.node(node))?;
        Ok(Selected::anywhere(Reason::Taint(taint.clone())))
    }
}

impl NodeTaints {
    /// A taint of the node that counts and that the pod does not tolerate. One that keeps pods away
    /// goes before one that only discourages them.
    fn violated<'n>(&self, pod: &Pod, node: &'n Node) -> Result<&'n Taint, NotSelected> {
        if pod.finished() {
            return Err(NotSelected::Finished);
        }
        if !node.taints.iter().any(|t| self.counts(t)) {
            return Err(NotSelected::NoTaint);
        }
        let violated = self.all_violated(pod, node);
        violated.min_by_key(|t| is_soft(t)).ok_or(NotSelected::Tolerated)
    }

    /// The taints of the node that count and that the pod does not tolerate.
    fn all_violated<'n>(&self, pod: &Pod, node: &'n Node) -> impl Iterator<Item = &'n Taint> {
        let counted = node.taints.iter().filter(|t| self.counts(t));
        counted.filter(|t| !scheduler::tolerates(pod, t))
    }

    /// Whether the strategy acts on a taint.
    fn counts(&self, taint: &Taint) -> bool {
        let effect = match taint.effect {
            Effect::NoSchedule => true,
            Effect::PreferNoSchedule => self.include_prefer_no_schedule,
            Effect::NoExecute => false,
        };
        // Ignore our own steering taint: it only discourages new pods.
        effect && taint.key != STEERING_KEY && self.names(taint)
    }

    /// Whether the policy names a taint, by its key or as `key=value`.
    fn names(&self, taint: &Taint) -> bool {
        let is = |name: &String| match name.strip_prefix(&taint.key) {
            Some("") => true,
            Some(rest) => !taint.value.is_empty() && rest.strip_prefix('=') == Some(&taint.value),
            None => false,
        };
        match &self.taints {
            Names::Except(names) => !names.iter().any(is),
            Names::Only(names) => names.iter().any(is),
        }
    }
}

/// Whether a taint only discourages pods.
fn is_soft(taint: &Taint) -> bool {
    taint.effect == Effect::PreferNoSchedule
}
