//! Admission by the kubelet: a node may refuse a pod that kube-scheduler has put there. The pod
//! then fails, and its controller creates another one, which may meet the same node again.
//!
//! The kubelet compares the pod with its own operating system, and kube-scheduler does not
//! (`rejectPodAdmissionBasedOnOSField` and `rejectPodAdmissionBasedOnOSSelector` in the kubelet's
//! source). There is no such check of the processor architecture. Conditions of the node are
//! [`crate::model::snapshot::facts::NodeClosure`]. The kubelet checks more that objects of the API
//! do not show: topology, cpu and memory managers, device plugins, AppArmor, unsafe sysctls, and a
//! shutdown that has not been reported yet. A pod of the workload that it has refused shows that.
//!
//! Nodes report what their container runtimes can do (`features` and `runtimeHandlers` of their
//! status). Where the pod's own node reports a feature that the pod needs, the other one must
//! report it too (`rejectPodAdmissionBasedOnSupplementalGroupsPolicy`, and
//! `GetOrCreateUserNamespaceMappings` of the user namespace manager). RuntimeClasses are not read,
//! so a handler counts only if it has the name of its class. `declaredFeatures` are left out: they
//! differ only while kubelets are upgraded.
//!
//! It does not pull the image of a container or volume whose pull policy is `Never`. A node lists
//! no more than 50 images (`nodeStatusMaxImages`), so it may have one that it does not list.

use crate::decide::projection::Projection;
use crate::model::plan::KubeletRefusal;
use crate::model::snapshot::facts::{Image, NodeFeature};
use crate::model::snapshot::{Node, NodeId, Pod, PodId};

/// The label of pods and nodes that names an operating system.
const OS: &str = "kubernetes.io/os";

/// Returns an error if the kubelet of a node would not run a pod, or may not.
pub(super) fn admits(
    projection: &Projection<'_>,
    pod: PodId,
    node: NodeId,
) -> Result<(), KubeletRefusal> {
    let snapshot = projection.world.snapshot;
    let (pod, there) = (snapshot.pod(pod), snapshot.node(node));
    let home = pod.node.map(|home| snapshot.node(home));
    runs_its_system(pod, home, there)?;
    has_its_features(pod, home, there)?;
    has_its_images(pod, there)?;
    let refused = pod.workload.and_then(|workload| projection.refused_at(node, workload));
    refused.map_or(Ok(()), |reason| Err(KubeletRefusal::RefusedAnother(reason.to_owned())))
}

/// Many pods do not name their operating system. Images are built for one, so a pod that is Ready
/// needs that of its node, `home`.
fn runs_its_system(pod: &Pod, home: Option<&Node>, node: &Node) -> Result<(), KubeletRefusal> {
    let shown = home.filter(|_| pod.ready && node.os.is_some()).and_then(|home| home.os.as_ref());
    let mut needed = pod.os.iter().chain(pod.labels.get(OS)).chain(shown);
    let other = needed.find(|needs| node.os.as_ref() != Some(*needs));
    other.map_or(Ok(()), |needs| {
        Err(KubeletRefusal::OtherSystem { needs: needs.clone(), runs: node.os.clone() })
    })
}

fn has_its_features(pod: &Pod, home: Option<&Node>, node: &Node) -> Result<(), KubeletRefusal> {
    let at_home = |need: &&NodeFeature| home.is_some_and(|home| home.features.contains(need));
    let lacks = pod.needs.iter().filter(at_home).find(|need| !node.features.contains(need));
    lacks.map_or(Ok(()), |need| Err(KubeletRefusal::LacksFeature(need.clone())))
}

fn has_its_images(pod: &Pod, node: &Node) -> Result<(), KubeletRefusal> {
    let unpulled = pod.containers.iter().filter(|container| container.never_pulled);
    let mut unpulled = unpulled.map(|container| &container.image).chain(&pod.volumes.never_pulled);
    let lacks = unpulled.find(|image| !lists(node, image));
    lacks.map_or(Ok(()), |image| Err(KubeletRefusal::LacksImage(image.clone())))
}

/// A container runtime lists an image with its registry and its tag, which a pod may leave out.
fn lists(node: &Node, image: &str) -> bool {
    let image = Image::with_tag(image);
    let is_it = |name: &String| {
        let name = Image::with_tag(name);
        name.strip_suffix(&*image).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    node.images.iter().flat_map(|stored| &stored.names).any(is_it)
}
