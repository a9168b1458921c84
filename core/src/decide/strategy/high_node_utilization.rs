//! HighNodeUtilization: empties nodes below their thresholds, so that fewer nodes do the work.
//!
//! A node is emptied only as a whole, because half an emptied node saves nothing. Every pod must be
//! evictable, except those that every node has, and every replacement must be expected on a node
//! that stays. The emptiest nodes are tried first. Their pods go to nodes in use, to nodes that
//! cannot be emptied, or at least to fuller nodes. A scheduler that packs (`MostAllocated`) places
//! replacements there. One that spreads would place them on the emptied node, which the forecast
//! shows.
//!
//! The purpose and the thresholds are those of descheduler's `HighNodeUtilization`.
//! cluster-autoscaler removes emptied nodes: a node that it may not remove is not emptied, and a
//! node that it is about to remove receives no pods. See
//! <https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md>.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::decide::draft::{Candidate, Draft};
use crate::decide::gate;
use crate::model::plan::{Class, Idle, NotSelected, Reason};
use crate::model::snapshot::facts::NotSafeToEvict;
use crate::model::snapshot::{NodeId, Pod, PodId};
use crate::policy::{HighNodeUtilization, Rule};
use crate::values::{Ratio, ResourceId};

use super::{ResourceLevel, SelectPods, StrategyRun};

use nodes::EmptyingNodes;
use rule::EmptyingRule;
use search::Search;

mod bound;
mod emptying;
pub mod nodes;
pub mod rule;
mod search;

/// One cycle of the strategy.
#[derive(Debug)]
pub(super) struct HighNodeUtilizationRun<'w> {
    rule: EmptyingRule<'w>,
    /// The class of each node when the strategy began.
    classes: BTreeMap<NodeId, Class>,
    /// The sources and destinations when the strategy began.
    initial: EmptyingNodes,
    /// Why nothing is done; `None` if something is.
    idle: Option<Idle>,
    /// Nodes that are not emptied because pods of other nodes go there.
    filled: BTreeSet<NodeId>,
    /// Nodes that the search did not reach.
    not_reached: BTreeSet<NodeId>,
    queue: VecDeque<Candidate>,
    /// The work of the search, in forecasts times nodes.
    work: usize,
}

impl<'w> HighNodeUtilizationRun<'w> {
    pub(super) fn start(
        draft: &mut Draft<'w>,
        position: usize,
        rule: &'w HighNodeUtilization,
    ) -> Self {
        let emptying = EmptyingRule::new(draft, position, rule);
        let classes = nodes::classify(draft, &emptying);
        for (node, class) in &classes {
            draft.add_verdict(HighNodeUtilization::NAME, *node, class.clone());
        }
        let initial = EmptyingNodes::new(draft, &emptying, &classes);
        let mut nodes = initial.clone();
        let idle = nodes.idle(rule);
        let mut queue = VecDeque::new();
        let mut search = Search::new(&nodes.order, draft, position);
        if idle.is_none() {
            queue = emptying.empty_all(draft, &mut nodes, &mut search);
        }
        if queue.is_empty() {
            let why = idle.clone().or_else(|| nodes.unfinished());
            let in_use = || bound::in_use(draft, &emptying, &classes);
            let why = why.unwrap_or_else(|| Idle::NothingToEmpty(in_use()));
            draft.note(HighNodeUtilization::NAME, "default", why);
        } else {
            draft.empties(bound::in_use(draft, &emptying, &classes));
        }
        HighNodeUtilizationRun {
            rule: emptying,
            classes,
            initial,
            idle,
            filled: nodes.filled,
            not_reached: nodes.not_reached,
            queue,
            work: search.work(),
        }
    }

    /// Decides about a pod, given the draft in which the strategy began.
    fn judge(&self, draft: &Draft<'_>, pod: PodId) -> Result<(), NotSelected> {
        let node = draft.world.snapshot.pod(pod).node;
        let node = node.ok_or(NotSelected::Nowhere)?;
        let class = self.classes.get(&node).unwrap_or(&Class::NotSelected);
        if *class != Class::Underused {
            return Err(NotSelected::Node(class.clone()));
        }
        if let Some(idle) = &self.idle {
            return Err(NotSelected::Idle(idle.clone()));
        }
        match self.rule.judge(draft, pod) {
            Err(why @ (NotSelected::GoesWithNode | NotSelected::RequestsNothing)) => Err(why),
            Ok(()) | Err(_) if self.filled.contains(&node) => Err(NotSelected::Filled),
            Ok(()) if self.not_reached.contains(&node) => Err(NotSelected::NotReached),
            verdict => verdict,
        }
    }
}

impl SelectPods for HighNodeUtilizationRun<'_> {
    fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        let mut queue = std::iter::from_fn(|| self.queue.pop_front());
        queue.find(|one| !draft.is_on_closed_node(one.strategy, one.pod))
    }

    fn work(&self) -> Option<usize> {
        Some(self.work)
    }

    fn not_selected(&self, run: &StrategyRun<'_, '_>, pod: PodId) -> NotSelected {
        run.or_late(pod, self.judge(run.before, pod))
    }

    /// The pod as a candidate if its node were emptied.
    fn candidate(&self, run: &StrategyRun<'_, '_>, pod: PodId) -> Candidate {
        let node = run.before.world.snapshot.pod(pod).node;
        let Some(node) = node else {
            return Candidate::counted(pod, run.position);
        };
        let destinations = self.initial.destinations(run.before, node);
        let limits = self.rule.limits(&destinations);
        self.rule.candidate(pod, &Reason::Counted, &limits)
    }

    fn levels(&self, run: &StrategyRun<'_, '_>, node: NodeId) -> Vec<ResourceLevel> {
        let basis = self.rule.basis();
        let level = |(resource, threshold): &(ResourceId, Ratio)| ResourceLevel {
            resource: *resource,
            basis,
            ratio: run.before.ratio(node, *resource, basis),
            threshold: Some(*threshold),
            target: None,
        };
        let judged = run.before.judged_by(node, self.rule.thresholds());
        judged.map(level).collect()
    }
}

/// The labels of a node of the control plane, which belongs to no group that an autoscaler shrinks.
/// The second one is that of kubeadm before 1.20.
const CONTROL_PLANE: [&str; 2] =
    ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/// Why an autoscaler may not remove a node after these pods have left it.
///
/// cluster-autoscaler does not ask the pods that every node has (`simulator/drainability/rules` in
/// kubernetes/autoscaler). Karpenter asks every pod that runs (`ValidatePodsDisruptable` in
/// `pkg/controllers/state/statenode.go` of kubernetes-sigs/karpenter).
fn unremovable(draft: &Draft<'_>, node: NodeId, leaving: &[PodId]) -> Option<String> {
    let snapshot = draft.world.snapshot;
    if let Some(annotation) = snapshot.node(node).unremovable {
        return Some(format!("the node has the annotation {annotation}: true"));
    }
    let labels = &snapshot.node(node).labels;
    if let Some(label) = CONTROL_PLANE.into_iter().find(|label| labels.contains_key(*label)) {
        return Some(format!("the node has the label {label}"));
    }
    let staying = snapshot.node(node).pods.iter().filter(|pod| !leaving.contains(pod));
    let staying = staying.filter(|pod| !draft.moves(**pod)).map(|pod| snapshot.pod(*pod));
    staying.filter(|pod| pod.stays()).find_map(|pod| {
        let not_safe = pod.annotations.not_safe_to_evict == Some(NotSafeToEvict::Always);
        let annotation = if gate::do_not_disrupt(pod, draft).is_err() {
            "karpenter.sh/do-not-disrupt"
        } else if not_safe && !goes_with_its_node(pod) {
            "safe-to-evict: false"
        } else {
            return None;
        };
        Some(format!("pod {} has the annotation {annotation}", pod.name))
    })
}

/// Whether a node counts as empty despite this pod: every node has such a pod, or the pod has ended
/// or is terminating.
fn goes_with_its_node(pod: &Pod) -> bool {
    let of_the_node = pod.annotations.mirror
        || pod.annotations.static_pod
        || pod.owners.iter().any(|o| o.kind == "DaemonSet");
    of_the_node || !pod.stays()
}

impl HighNodeUtilization {
    /// The name in verdicts and moves.
    pub const NAME: &str = "HighNodeUtilization";

    /// The HighNodeUtilization rule; `None` for other rules.
    pub const fn of(rule: &Rule) -> Option<&HighNodeUtilization> {
        if let Rule::HighNodeUtilization(rule) = rule { Some(rule) } else { None }
    }
}
