//! Admission by the kubelet: a node may refuse a pod that kube-scheduler has put there. The pod
//! then fails, and its controller creates another one, which may meet the same node again.
//!
//! The kubelet compares the pod with its own operating system, and kube-scheduler does not
//! (`rejectPodAdmissionBasedOnOSField` and `rejectPodAdmissionBasedOnOSSelector` in the kubelet's
//! source). There is no such check of the processor architecture. Conditions of the node are
//! [`crate::model::snapshot::facts::NodeClosure`]. The kubelet checks more that objects of the API
//! do not show, so it is not foreseen: topology, cpu and memory managers, device plugins, AppArmor,
//! unsafe sysctls, `supplementalGroupsPolicy`, and a shutdown that has not been reported yet.

use crate::model::plan::OtherSystem;
use crate::model::snapshot::{Node, Pod};

/// The label of pods and nodes that names an operating system.
const OS: &str = "kubernetes.io/os";

/// Returns an error if the kubelet of a node would refuse a pod, or may do so because the node's
/// operating system is unknown. Many pods do not name their system. Images are built for one, so a
/// pod that is Ready needs that of its node, `home`.
pub(super) fn admits(pod: &Pod, home: Option<&Node>, node: &Node) -> Result<(), OtherSystem> {
    let shown = home.filter(|_| pod.ready && node.os.is_some()).and_then(|home| home.os.as_ref());
    let mut needed = pod.os.iter().chain(pod.labels.get(OS)).chain(shown);
    match needed.find(|needs| node.os.as_ref() != Some(*needs)) {
        Some(needs) => Err(OtherSystem { needs: needs.clone(), runs: node.os.clone() }),
        None => Ok(()),
    }
}
