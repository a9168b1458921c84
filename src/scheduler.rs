//! kube-scheduler's filters as pure functions over the draft: may this pod go to that node?
//!
//! Each file is one plugin of the scheduler's default profile. See
//! <https://kubernetes.io/docs/reference/scheduling/config/#scheduling-plugins>.

use std::fmt;

use crate::draft::Draft;
use crate::plan::Pull;
use crate::snapshot::facts::{Neighbours, Taint};
use crate::snapshot::{Node, NodeId, Pod, PodId, Snapshot};
use crate::units::Ratio;

mod node_affinity;
mod node_resources;
mod pod_affinity;
mod taints;

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
    /// A pod on it, or in its zone, is one that this pod avoids.
    AntiAffinity,
    /// Too little of this resource is free.
    Full(String),
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::NotReady => f.write_str("not ready"),
            Misfit::Cordoned => f.write_str("cordoned"),
            Misfit::Taint => f.write_str("tainted"),
            Misfit::Affinity => f.write_str("not selected by the pod's node affinity"),
            Misfit::AntiAffinity => f.write_str("taken by a pod that this one avoids"),
            Misfit::Full(resource) => write!(f, "without enough {resource} to request"),
        }
    }
}

/// Where the scheduler would put a pod.
#[derive(Clone, Debug, Default)]
pub struct Forecast {
    /// The nodes that may win, the likeliest first; their chances add up to one. Empty where no node takes the pod.
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
    /// The sum.
    pub total: i64,
}

/// Where the scheduler would put a pod that waits, or the replacement of one that leaves, given the draft.
pub fn forecast(draft: &Draft<'_>, pod: PodId) -> Forecast {
    let mut forecast = Forecast::default();
    for node in draft.world.snapshot.node_ids() {
        match fits(draft, pod, node) {
            Ok(()) => forecast.scored.push(Scored { node, total: node_resources::spare(draft, pod, node) }),
            Err(why) => forecast.misfits.push((node, why)),
        }
    }
    forecast.scored.sort_by_key(|s| (std::cmp::Reverse(s.total), s.node));
    let best = forecast.scored.first().map(|s| s.total);
    let ties: Vec<NodeId> = forecast.scored.iter().take_while(|s| Some(s.total) == best).map(|s| s.node).collect();
    let chance =
        Ratio::new(1.0 / f64::from(u32::try_from(ties.len().max(1)).unwrap_or(u32::MAX))).unwrap_or(Ratio::ONE);
    forecast.winners = ties.into_iter().map(|node| Winner { node, chance }).collect();
    forecast
}

/// What makes one node better than another to the scheduler.
pub fn pull(home: &Scored, other: &Scored) -> Pull {
    if home.total > other.total { Pull::Requests } else { Pull::Lot }
}

/// Whether the scheduler could put a pod on a node, given the draft.
pub fn fits(draft: &Draft<'_>, pod: PodId, node: NodeId) -> Result<(), Misfit> {
    open(draft, pod, node)?;
    if let Some(resource) = node_resources::lacking(draft, pod, |r| draft.free(node, r)) {
        return Err(Misfit::Full(draft.world.snapshot.resources.name(resource).to_owned()));
    }
    if pod_affinity::avoids(draft, pod, node) { Err(Misfit::AntiAffinity) } else { Ok(()) }
}

/// Whether descheduler's `nodeFit` would say so: by the cluster as it is, so that many pods may go for the room of one,
/// and with anti-affinity looked for on this node alone rather than in its zone. Both are kept for exact mode, where the
/// same pods have to go. Its taking pods of one name for one pod, and its passing over namespace selectors, are not.
pub fn fits_today(draft: &Draft<'_>, pod: PodId, node: NodeId) -> Result<(), Misfit> {
    open(draft, pod, node)?;
    if pod_affinity::avoids_on(draft, pod, node) {
        return Err(Misfit::AntiAffinity);
    }
    match node_resources::lacking(draft, pod, |r| draft.free_today(node, r)) {
        Some(resource) => Err(Misfit::Full(draft.world.snapshot.resources.name(resource).to_owned())),
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
    node_affinity::preference(pod, node)
}

/// Whether a term of required anti-affinity of one pod means another, wherever the two are.
pub fn avoids(snapshot: &Snapshot, term: &Neighbours, of: &Pod, other: &Pod) -> bool {
    pod_affinity::selects(snapshot, term, of, other)
}

/// What is asked of the node itself, whatever is on it.
fn open(draft: &Draft<'_>, pod: PodId, node: NodeId) -> Result<(), Misfit> {
    let (it, there) = (draft.world.snapshot.pod(pod), draft.world.snapshot.node(node));
    if !there.ready {
        return Err(Misfit::NotReady);
    }
    if there.cordoned {
        return Err(Misfit::Cordoned);
    }
    if !taints::tolerated(&there.taints, &it.tolerations) {
        return Err(Misfit::Taint);
    }
    if node_affinity::admits(it, there) { Ok(()) } else { Err(Misfit::Affinity) }
}
