//! Where kube-scheduler would put a pod, as a pure function of the draft: its filters, its scores and its choice among the
//! best, by the profile that the policy holds.
//!
//! Each file is one plugin of the scheduler's default profile, as of Kubernetes 1.36. See
//! <https://kubernetes.io/docs/reference/scheduling/config/#scheduling-plugins>. Left out are preemption, dynamic resources,
//! limits of volumes per node, and room for volumes that are still to be made.

use std::fmt;
use std::ops::Index;

use crate::decide::draft::Draft;
use crate::model::plan::PlacementCause;
use crate::model::snapshot::facts::{Neighbours, Taint};
use crate::model::snapshot::{Node, NodeId, Pod, PodId, Snapshot};
use crate::policy::ScorePlugin;
use crate::values::Ratio;

mod balanced_allocation;
mod choice;
mod filters;
mod image_locality;
mod node_affinity;
mod node_ports;
mod node_resources;
mod pod_affinity;
mod question;
mod scores;
mod taints;
mod topology_spread;
mod volumes;

use filters::Filters;
use question::Question;

/// Why a node cannot take a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Misfit {
    /// It is not ready.
    NotReady,
    /// It is cordoned.
    Cordoned,
    /// It has a taint that the pod does not tolerate.
    Taint,
    /// The pod's node selector or required node affinity does not match it.
    Affinity,
    /// A port of the node that the pod takes is in use.
    Port,
    /// Too little of this resource is free.
    Full(String),
    /// Another pod has a claim in use that one pod alone may use.
    Claim,
    /// A volume of the pod cannot be reached from it.
    Volume,
    /// Too many pods like this one would be in its place.
    Spread,
    /// No pod that this one must be near is in its place.
    Lonely,
    /// A pod on it, or in its zone, is one that this pod avoids.
    AntiAffinity,
    /// A pod on it, or in its zone, avoids this one.
    Avoided,
    /// The pod has scheduling gates, and no node takes it.
    Gated,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Misfit::NotReady => "not ready",
            Misfit::Cordoned => "cordoned",
            Misfit::Taint => "tainted",
            Misfit::Affinity => "not selected by the pod's node affinity",
            Misfit::Port => "using a port that the pod takes",
            Misfit::Full(resource) => return write!(f, "without enough {resource} to request"),
            Misfit::Claim => "barred while another pod uses the pod's volume claim",
            Misfit::Volume => "out of reach of the pod's volumes",
            Misfit::Spread => "ruled out by the pod's topology spread",
            Misfit::Lonely => "not near a pod that this one must be near",
            Misfit::AntiAffinity => "taken by a pod that this one avoids",
            Misfit::Avoided => "taken by a pod that avoids this one",
            Misfit::Gated => "closed to a pod with scheduling gates",
        })
    }
}

/// Where the scheduler would put a pod.
#[derive(Clone, Debug, Default)]
pub struct Forecast {
    /// The nodes that may win, the likeliest first; their chances add up to one. Empty where no node takes the pod. What
    /// is left out of a cluster so large that the scheduler looks at a part of it is less likely than 1 % together.
    pub winners: Vec<Winner>,
    /// Every node that could take it, with its score, the best first.
    pub scored: Vec<Scored>,
    /// Every other node, and why it could not.
    pub misfits: Vec<(NodeId, Misfit)>,
}

/// A node that may win.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Winner {
    /// The node.
    pub node: NodeId,
    /// How likely.
    pub chance: Ratio,
}

/// What a node scores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scored {
    /// The node.
    pub node: NodeId,
    /// The sum; zero where the pod has another scheduler, of which nothing is known.
    pub total: i64,
    /// What each plugin adds to it.
    pub parts: Parts,
}

/// What each plugin adds to the score of a node, weighted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts([i64; ScorePlugin::ALL.len()]);

impl Parts {
    /// The sum.
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

/// Where the scheduler would put a pod that waits, or the replacement of one that leaves, given the draft.
///
/// A replacement is mostly placed while the pod that it replaces still ends, and then that one still takes room; it may
/// also have gone by then, as always with a StatefulSet. Both are forecast, and who wins in either may win.
pub fn forecast(draft: &Draft<'_>, pod: PodId) -> Forecast {
    let after = || choice::forecast(&Question::after(draft, pod));
    if draft.place(pod).is_none() || question::in_turn(draft.world.snapshot.pod(pod)) {
        return after();
    }
    choice::either(choice::forecast(&Question::during(draft, pod)), after())
}

/// The nodes that score best among those that the scheduler looks at when it begins at this position, and the position
/// at which it begins for the next pod. Meant for pods that wait: of a large cluster it looks only at so many nodes that
/// could take the pod (`percentageOfNodesToScore`), and goes on from there with the next one.
pub fn choose(draft: &Draft<'_>, pod: PodId, start: usize) -> (Vec<NodeId>, usize) {
    choice::choose(&Question::after(draft, pod), start)
}

/// Whether it is known how the scheduler of a pod scores nodes.
pub fn is_known(draft: &Draft<'_>, pod: PodId) -> bool {
    let pod = draft.world.snapshot.pod(pod);
    scores::ours(
        pod,
        draft.world.policy.scheduler_of(pod.scheduler.as_deref()),
    )
}

/// What makes one node at least as good as another to the scheduler: the plugin that speaks for it most.
pub fn pull(home: &Scored, other: &Scored) -> PlacementCause {
    let lead = |plugin: &ScorePlugin| home.parts[*plugin] - other.parts[*plugin];
    let strongest = ScorePlugin::ALL
        .into_iter()
        .max_by_key(|plugin| (lead(plugin), std::cmp::Reverse(*plugin)));
    match strongest.filter(|plugin| home.total > other.total && lead(plugin) > 0) {
        Some(plugin) => PlacementCause::Score(plugin),
        None => PlacementCause::Lot,
    }
}

/// Whether the scheduler could put a pod on a node, given the draft.
pub fn fits(draft: &Draft<'_>, pod: PodId, node: NodeId) -> Result<(), Misfit> {
    fitting(draft, pod)(node)
}

/// The same for one node after another: what depends on the pod alone is looked up once.
pub fn fitting<'q, 'w>(
    draft: &'q Draft<'w>,
    pod: PodId,
) -> impl Fn(NodeId) -> Result<(), Misfit> + use<'q, 'w> {
    let after = Filters::new(&Question::after(draft, pod));
    let replaced = draft.place(pod).is_some() && !question::in_turn(draft.world.snapshot.pod(pod));
    let during = replaced.then(|| Filters::new(&Question::during(draft, pod)));
    move |node| {
        let gone = after.admit(node);
        match &during {
            Some(during) if gone.is_err() => during.admit(node).or(gone),
            _ => gone,
        }
    }
}

/// Whether descheduler's `nodeFit` would say so: by the cluster as it is, so that many pods may go for the room of one,
/// and with anti-affinity looked for on this node alone rather than in its zone. Both are kept for exact mode, where the
/// same pods have to go. Its taking pods of one name for one pod, and its passing over namespace selectors, are not.
pub fn fits_today(draft: &Draft<'_>, pod: PodId, node: NodeId) -> Result<(), Misfit> {
    let (it, there) = (
        draft.world.snapshot.pod(pod),
        draft.world.snapshot.node(node),
    );
    if !there.ready {
        return Err(Misfit::NotReady);
    }
    if there.cordoned {
        return Err(Misfit::Cordoned);
    }
    if !taints::tolerated(&there.taints, &it.tolerations) {
        return Err(Misfit::Taint);
    }
    if !node_affinity::admits(it, there) {
        return Err(Misfit::Affinity);
    }
    if pod_affinity::avoids_on(draft, pod, node) {
        return Err(Misfit::AntiAffinity);
    }
    match node_resources::lacking(&it.requests, |r| draft.free_today(node, r)) {
        Some(resource) => Err(Misfit::Full(
            draft.world.snapshot.resources.name(resource).to_owned(),
        )),
        None => Ok(()),
    }
}

/// Whether a pod tolerates a taint.
pub fn tolerates(pod: &Pod, taint: &Taint) -> bool {
    pod.tolerations.iter().any(|by| taints::covers(by, taint))
}

/// Whether a pod tolerates every taint of a node that keeps new pods out.
pub fn tolerates_all(pod: &Pod, node: &Node) -> bool {
    taints::tolerated(&node.taints, &pod.tolerations)
}

/// Whether a pod's node selector and required node affinity admit a node.
pub fn admits(pod: &Pod, node: &Node) -> bool {
    node_affinity::admits(pod, node)
}

/// How much a pod prefers a node: the sum of the weights of its preferred terms that match.
pub fn preference(pod: &Pod, node: &Node) -> i64 {
    node_affinity::preference(&pod.preferred_nodes, node)
}

/// Whether a term of required anti-affinity of one pod means another, wherever the two are.
pub fn avoids(snapshot: &Snapshot, term: &Neighbours, of: &Pod, other: &Pod) -> bool {
    term.mean(
        &snapshot.namespaces,
        &of.namespace,
        &other.namespace,
        &other.labels,
    )
}

#[cfg(test)]
mod tests;
