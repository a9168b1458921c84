//! kube-scheduler's filters as pure functions over the draft: may this pod go to that node?
//!
//! Each file is one plugin of the scheduler's default profile. See
//! <https://kubernetes.io/docs/reference/scheduling/config/#scheduling-plugins>.

use std::fmt;

use crate::draft::Draft;
use crate::snapshot::{Node, NodeId, Pod, PodId};

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

/// Whether the pod tolerates every taint of the node that keeps new pods out.
pub fn tolerates(pod: &Pod, node: &Node) -> bool {
    taints::tolerated(&node.taints, &pod.tolerations)
}

/// Whether the pod's node selector and required node affinity admit the node.
pub fn selects(pod: &Pod, node: &Node) -> bool {
    node_affinity::admits(pod, node)
}

/// Whether the scheduler could put a pod on a node, given the draft.
pub fn fits(draft: &Draft<'_>, pod: PodId, node: NodeId) -> Result<(), Misfit> {
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
    if !node_affinity::admits(it, there) {
        return Err(Misfit::Affinity);
    }
    if let Some(resource) = node_resources::lacking(draft, pod, node) {
        return Err(Misfit::Full(draft.world.snapshot.resources.name(resource).to_owned()));
    }
    if pod_affinity::avoids(draft, pod, node) {
        return Err(Misfit::AntiAffinity);
    }
    Ok(())
}
