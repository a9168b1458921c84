//! A forecast of kube-scheduler: where it would put a pod, as a pure function of a placement. It
//! applies the filters, the scores and the choice among ties of the scheduler profile in the
//! policy.
//!
//! Each file is one plugin of the scheduler's default profile, as of Kubernetes 1.31 to 1.37. See
//! <https://kubernetes.io/docs/reference/scheduling/config/#scheduling-plugins>. Not covered:
//! dynamic resources, capacity for volumes that are not provisioned yet, attach limits of volumes
//! that are not of a CSI driver, topology spread with pods that are only nominated for a node, and
//! image volumes in ImageLocality. Since 1.35 the scheduler may put a pod on the next best node of
//! an equal pod just before it, without another search (opportunistic batching); a forecast assumes
//! a search for every pod. With more than 100 nodes, scores that depend on the set of nodes are
//! those among all feasible nodes; the scheduler scales them among those that it finds.
//! A forecast never counts on preemption; [`preempted`] finds out whether it may happen.
//!
//! # Examples
//!
//! ```
//! use evenkeel_core::decide::placement::Placement;
//! use evenkeel_core::decide::scheduler::forecast;
//! use evenkeel_core::model::search_start::SearchStart;
//! use evenkeel_core::model::snapshot::objects::Objects;
//! use evenkeel_core::model::snapshot::{Snapshot, import};
//! use evenkeel_core::policy::Policy;
//! use serde_json::json;
//!
//! let mut objects = Objects::default();
//! let ready = json!([{"type": "Ready", "status": "True"}]);
//! for object in [
//!     json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "cordoned"},
//!         "spec": {"unschedulable": true},
//!         "status": {"conditions": ready, "allocatable": {"cpu": "4", "pods": "110"}}}),
//!     json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "free"},
//!         "status": {"conditions": ready, "allocatable": {"cpu": "4", "pods": "110"}}}),
//!     json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}),
//! ] {
//!     let facts = import::object(&object).expect("a readable object");
//!     facts.into_iter().for_each(|facts| objects.apply(facts));
//! }
//!
//! let text = "{apiVersion: evenkeel/v1alpha1, kind: Policy, strategies: [removeDuplicates]}";
//! let policy = Policy::parse("policy.yaml", text).expect("a valid policy");
//! let snapshot = Snapshot::join(&objects, policy.resources());
//! let unknown = SearchStart::default();
//! let placement = Placement::new(&policy, &snapshot, &unknown);
//! let pod = snapshot.find_pod("default", "web").expect("the pod");
//! let forecast = forecast(&placement, pod);
//! let nodes = forecast.possible_nodes.iter();
//! let names: Vec<_> = nodes.map(|possible| &snapshot.node(possible.node).name).collect();
//! assert_eq!(names, ["free"]);
//! ```

use std::cmp::{Ordering, Reverse};
use std::ops::Index;

use crate::decide::placement::{Placement, Starts};
use crate::model::plan::{Misfit, PlacementCause, Removal};
use crate::model::snapshot::facts::{NodeClosure, NodeFacts, PodAffinityTerm, PodFacts, Taint};
use crate::model::snapshot::{Node, NodeId, Pod, PodId, Snapshot};
use crate::policy::ScorePlugin;
use crate::values::Ratio;

mod balanced_allocation;
mod choice;
mod claims;
mod filters;
mod image_locality;
mod equal_pods;
mod node_affinity;
mod node_ports;
mod node_resources;
mod nominated;
mod normalise;
mod pod_affinity;
mod preemption;
mod question;
mod replacement;
mod scores;
mod search_start;
mod taints;
mod topology_spread;
mod volume_limits;
mod volumes;
mod waiting;
mod walk;

pub use claims::{claim_flaw, template_flaw};
pub use equal_pods::{PodParts, WithoutDestination, parts};
pub use pod_affinity::ViolatedPreferences;
pub use question::in_turn;
pub use search_start::evaluate;
pub use topology_spread::SpreadExcess;
pub use waiting::{WaitingPod, expect_waiting, waiting};

use filters::Filters;
use question::Question;

/// The most work of the strategies of one kind in one cycle, in forecasts times nodes: between half
/// a second and a few seconds of one core in a cluster of any size. Without a limit, a search in a
/// cluster of 500 nodes with 8 pods each took 70 s.
pub const MOST_WORK: usize = 1_000_000;

/// The nodes where the scheduler may put a pod.
#[derive(Clone, Debug, Default)]
pub struct Forecast {
    /// The nodes that may win with their probabilities, the most likely first. The probabilities
    /// add up to one. Empty if no node is feasible.
    ///
    /// In a cluster so large that the scheduler scores only a part of the nodes, nodes that
    /// together are less likely than 1% are omitted.
    pub possible_nodes: Vec<PossibleNode>,
    /// Every feasible node with its score, the best first.
    pub scored: Vec<Scored>,
    /// Every other node with the reason why it is not feasible.
    pub misfits: Vec<(NodeId, Misfit)>,
    /// Where the search for the next pod may start. `None` if that is not known.
    pub starts: Option<Starts>,
}

impl Forecast {
    /// Returns the probability of a node; zero if it cannot win.
    pub fn chance(&self, node: NodeId) -> Ratio {
        let found = self.possible_nodes.iter().find(|possible| possible.node == node);
        found.map_or(Ratio::ZERO, |possible| possible.chance)
    }
}

/// A node that may win.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PossibleNode {
    /// The node.
    pub node: NodeId,
    /// The probability.
    pub chance: Ratio,
}

/// The score of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scored {
    /// The node.
    pub node: NodeId,
    /// The sum of the plugin scores; zero if the scheduler of the pod is unknown.
    pub total: i64,
    /// The weighted score of each plugin.
    pub parts: Parts,
}

/// The weighted score of each plugin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts([i64; ScorePlugin::ALL.len()]);

impl Parts {
    /// Returns the sum of the plugin scores.
    pub fn total(&self) -> i64 {
        self.0.iter().sum()
    }
}

impl Index<ScorePlugin> for Parts {
    type Output = i64;
    fn index(&self, plugin: ScorePlugin) -> &i64 {
        &self.0[plugin as usize]
    }
}

/// Forecasts where the scheduler puts a pending pod, or the replacement of a pod that leaves, in
/// a placement.
///
/// Usually the replaced pod still terminates and occupies its node when the scheduler places the
/// replacement. It may also be gone by then, as always with a StatefulSet. The forecast covers both
/// cases: a node that wins in either may win. The first case counts three times as much.
pub fn forecast(placement: &Placement<'_>, pod: PodId) -> Forecast {
    if is_beside(placement, pod) {
        replacement::forecast(placement, pod)
    } else {
        choice::forecast(&Question::after(placement, pod))
    }
}

/// Whether a pod may still terminate on its node while the scheduler places its replacement.
fn is_beside(placement: &Placement<'_>, pod: PodId) -> bool {
    let leaves = placement.place(pod).is_some() && !placement.expects(pod);
    leaves && !in_turn(placement.snapshot, placement.snapshot.pod(pod))
}

/// Returns the nodes with the best score among those that the scheduler visits from position
/// `start`, and the start position for the next pod.
///
/// Meant for pending pods, and for nodes that joined while the scheduler ran. In a large cluster
/// the scheduler visits only some feasible nodes (`percentageOfNodesToScore`) and continues from
/// there with the next pod.
pub fn choose(placement: &Placement<'_>, pod: PodId, start: usize) -> (Vec<NodeId>, usize) {
    choice::choose(&Question::after(placement, pod), start)
}

/// Returns true if the scores of the pod's scheduler are known.
pub fn is_known(placement: &Placement<'_>, pod: PodId) -> bool {
    let pod = placement.snapshot.pod(pod);
    question::ours(pod, placement.policy.scheduler_of(pod.scheduler.as_deref()))
}

/// Returns the reason why the scheduler may choose `home` although it could choose `other`.
///
/// The scores are those of one case. A node with the lower score may win because the scheduler does
/// not score every node, or because the pod has ended by then.
pub fn placement_cause(
    placement: &Placement<'_>,
    pod: PodId,
    home: &Scored,
    other: &Scored,
) -> PlacementCause {
    match home.total.cmp(&other.total) {
        Ordering::Greater => {
            let lead = |plugin: &ScorePlugin| home.parts[*plugin] - other.parts[*plugin];
            let strongest =
                ScorePlugin::ALL.into_iter().max_by_key(|plugin| (lead(plugin), Reverse(*plugin)));
            strongest.map_or(PlacementCause::Tie, |plugin| favoured_by(placement, pod, plugin))
        }
        Ordering::Equal => PlacementCause::Tie,
        Ordering::Less if walk::visits_all(placement.snapshot.nodes.len()) => PlacementCause::Ended,
        Ordering::Less => PlacementCause::Sampled,
    }
}

/// The origin of a plugin's score: the pod's spec, the scheduler's configuration, or other pods.
fn favoured_by(placement: &Placement<'_>, pod: PodId, plugin: ScorePlugin) -> PlacementCause {
    let facts = placement.snapshot.pod(pod);
    match plugin {
        ScorePlugin::PodTopologySpread if facts.spread.is_empty() => PlacementCause::DefaultSpread,
        ScorePlugin::NodeAffinity if facts.preferred_nodes.is_empty() => {
            PlacementCause::AddedAffinity
        }
        ScorePlugin::InterPodAffinity if facts.preferred_terms.is_empty() => {
            PlacementCause::OtherPods
        }
        ScorePlugin::NodeResourcesFit
        | ScorePlugin::NodeResourcesBalancedAllocation
        | ScorePlugin::ImageLocality
        | ScorePlugin::TaintToleration
        | ScorePlugin::NodeAffinity
        | ScorePlugin::InterPodAffinity
        | ScorePlugin::PodTopologySpread => PlacementCause::Score(plugin),
    }
}

/// Returns an error if the scheduler could not put a pod on a node.
pub fn fits(placement: &Placement<'_>, pod: PodId, node: NodeId) -> Result<(), Misfit> {
    fitting(placement, pod)(node)
}

/// Returns the same check for many nodes. It computes the data that depends only on the pod once.
pub fn fitting<'q, 'w>(
    placement: &'q Placement<'w>,
    pod: PodId,
) -> impl Fn(NodeId) -> Result<(), Misfit> + use<'q, 'w> {
    let after = Filters::new(&Question::after(placement, pod));
    let during = is_beside(placement, pod).then(|| Filters::new(&Question::during(placement, pod)));
    move |node| {
        let gone = after.admit(node);
        match &during {
            Some(during) if gone.is_err() => during.admit(node).or(gone),
            _ => gone,
        }
    }
}

/// Returns a pod that the scheduler could remove to place the replacement of a pod, and its node.
/// `None` if the replacement fits on a node as it is, or cannot remove any pod.
///
/// The scheduler removes only pods of lower priority, and only for pods whose `preemptionPolicy` is
/// not `Never`. See
/// <https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/>.
pub fn preempted(placement: &Placement<'_>, pod: PodId) -> Option<(NodeId, PodId)> {
    let question = Question::after(placement, pod);
    let is_lower = |priority: i32| priority < question.pod.priority_or_zero();
    let may = question.pod.preempts && question.profile.preempts;
    if !may || !placement.index().lowest_priority().is_some_and(is_lower) {
        return None;
    }
    let fits = fitting(placement, pod);
    let mut nodes = placement.snapshot.node_ids();
    if nodes.any(|node| fits(node).is_ok()) {
        return None;
    }
    preemption::find(&question)
}

/// Checks a node as descheduler's `nodeFit` does.
///
/// It uses the current cluster, so several pods may move to room for one. It evaluates
/// anti-affinity per node, not per zone. Exact mode needs both rules to select the same pods. Two
/// behaviours of descheduler are not copied: it treats pods of one name as one pod, and it ignores
/// namespace selectors.
pub fn fits_today(placement: &Placement<'_>, pod: PodId, node: NodeId) -> Result<(), Misfit> {
    let snapshot = placement.snapshot;
    let (pod_facts, node_facts) = (snapshot.pod(pod), snapshot.node(node));
    if !node_facts.ready {
        return Err(Misfit::NotReady);
    }
    if node_facts.is_closed_by(NodeClosure::Cordoned) {
        return Err(Misfit::Closed(NodeClosure::Cordoned));
    }
    if !taints::tolerated(&node_facts.taints, &pod_facts.tolerations) {
        return Err(Misfit::Taint);
    }
    node_affinity::check(pod_facts, node_facts)?;
    if pod_affinity::has_anti_affinity_on(placement, pod, node) {
        return Err(Misfit::PodAntiAffinity);
    }
    match node_resources::lacking(&pod_facts.requests, |r| placement.free_before(node, r)) {
        Some(resource) => {
            let name = snapshot.resources.name(resource);
            Err(Misfit::Full(name.to_owned()))
        }
        None => Ok(()),
    }
}

/// Returns true if a pod tolerates a taint.
pub fn tolerates(pod: &Pod, taint: &Taint) -> bool {
    pod.tolerations.iter().any(|by| taints::covers(by, taint))
}

/// Returns true if a pod tolerates every taint of a node that keeps new pods away.
pub fn tolerates_all(pod: &PodFacts, node: &NodeFacts) -> bool {
    taints::tolerated(&node.taints, &pod.tolerations)
}

/// Returns the taint that would remove a pod from a node after a while, although the pod tolerates
/// it and may land there; `None` if none would.
pub fn removal(pod: &Pod, node: &Node) -> Option<Removal> {
    let (taint, after) = taints::removed_by(&node.taints, &pod.tolerations)?;
    Some(Removal { taint: taint.clone(), after })
}

/// Returns true if a node matches the pod's node selector and required node affinity.
pub fn admits(pod: &PodFacts, node: &NodeFacts) -> bool {
    node_affinity::admits(pod, node)
}

/// Returns how much a pod prefers a node: the sum of the weights of its matching preferred terms.
pub fn preference(pod: &Pod, node: &Node) -> i64 {
    node_affinity::preference(&pod.preferred_nodes, node)
}

/// Returns how much preferred anti-affinity a pod would violate on each node: its own terms, and
/// those of other pods against it.
pub fn violated_preferences<'w>(placement: &Placement<'w>, pod: PodId) -> ViolatedPreferences<'w> {
    ViolatedPreferences::new(&Question::after(placement, pod))
}

/// Returns how many pods too many the topology spread constraints of a pod would have with the pod
/// on each node.
pub fn spread_excess<'w>(placement: &Placement<'w>, pod: PodId) -> SpreadExcess<'w> {
    SpreadExcess::new(&Question::after(placement, pod))
}

/// Returns true if a required anti-affinity term of one pod matches another pod, wherever both run.
pub fn anti_affinity_matches(
    snapshot: &Snapshot,
    term: &PodAffinityTerm,
    of: &Pod,
    other: &Pod,
) -> bool {
    term.matches(&snapshot.namespaces, &of.namespace, &other.namespace, &other.labels)
}

#[cfg(test)]
mod tests;
