//! No volume of the pod is storage of its node that the replacement would look for elsewhere.
//!
//! The scheduler keeps a pod near a `hostPath` or `local` PersistentVolume only by the node
//! affinity of the volume (`CheckNodeAffinity` in k8s.io/component-helpers/storage/volume). API
//! validation requires it for `local` alone, and provisioners of development clusters leave it
//! out. The same path on another node has other data, or none.
//!
//! A generic ephemeral volume that no other node can use is storage of its node too, as of TopoLVM.
//! Its data ends like that of an emptyDir, and how much storage other nodes have left is unknown:
//! the scheduler compares it with each CSIStorageCapacity (`hasEnoughCapacity` of VolumeBinding).

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::Replacement;
use crate::model::snapshot::Node;
use crate::model::snapshot::facts::Volume;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    let protected = &candidate.rules(draft.world).protected;
    let elsewhere = |volume: &Volume| {
        let mut others = snapshot.node_ids().filter(|id| Some(*id) != pod.node);
        others.any(|id| may_use(volume, snapshot.node(id)))
    };
    let volumes = pod.volumes.claims.iter().filter_map(|name| {
        let claim = snapshot.claim(pod, name)?;
        snapshot.volumes.get(claim.volume.as_ref()?)
    });
    let mut on_node = volumes.filter(|volume| volume.on_node);
    let scratch = pod.volumes.ephemeral.iter();
    let mut scratch = scratch.filter_map(|own| snapshot.volume_of(snapshot.claim(pod, &own.name)?));
    let mut is_of_node = || scratch.any(|volume| is_below_zones(volume) && !elsewhere(volume));
    if protected.local_storage && (on_node.any(elsewhere) || is_of_node()) {
        return Err(Replacement::LocalStorage);
    }
    Ok(())
}

/// Whether the node affinity of a volume names nodes, and not a zone, which may have one node.
fn is_below_zones(volume: &Volume) -> bool {
    let terms = volume.nodes.iter().flatten();
    let mut requirements = terms.flat_map(|term| term.labels.requirements());
    requirements.all(|requirement| Volume::place_end(&requirement.key).is_none())
}

fn may_use(volume: &Volume, node: &Node) -> bool {
    let terms = volume.nodes.as_ref();
    terms.is_none_or(|terms| terms.iter().any(|term| term.labels.matches(&node.labels)))
}
