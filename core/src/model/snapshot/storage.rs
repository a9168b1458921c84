//! The volumes of pods: those that are attached, and those that a replacement gets.

use std::collections::BTreeSet;

use super::facts::{Attachment, Claim, EphemeralClaim, StorageClass, Volume};
use super::{Node, NodeId, Pod, Snapshot};

/// A volume that a CSI driver attaches to a node. Equal values mean the same volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttachedVolume<'w> {
    /// The CSI driver.
    pub driver: &'w str,
    /// The handle of the volume, or namespace and name of a claim that has no volume yet.
    handle: (&'w str, &'w str),
}

/// A volume that does not exist yet, because a replacement claims it.
#[derive(Clone, Copy, Debug)]
pub struct NewVolume<'w> {
    /// The name of the claim.
    pub claim: &'w str,
    /// Its storage class; `None` if the class is unknown.
    pub class: Option<&'w StorageClass>,
    /// The volume that the replaced pod has for this claim.
    pub replaces: Option<&'w Volume>,
}

impl NewVolume<'_> {
    /// Returns true if the volume is provisioned where the scheduler places the pod, or can be
    /// accessed from every node, like the volume that it replaces.
    pub fn follows(&self) -> bool {
        let everywhere = |v: &Volume| v.nodes.is_none() && v.zones.is_empty();
        self.class.is_some_and(|class| {
            class.provisions() && (class.waits || self.replaces.is_some_and(everywhere))
        })
    }
}

impl Snapshot {
    /// Returns the volumes that a replacement of the pod needs and that do not exist yet.
    ///
    /// A claim that is unknown is left out: the gate `replacement` keeps the pod.
    pub fn new_volumes<'w>(&'w self, pod: &'w Pod) -> Vec<NewVolume<'w>> {
        let lasting = pod.volumes.claims.iter().filter_map(|name| {
            let claim = self.claim(pod, name).filter(|c| c.volume.is_none())?;
            Some(NewVolume { claim: name, class: self.class_of_claim(claim), replaces: None })
        });
        let ephemeral = pod.volumes.ephemeral.iter().map(|own| NewVolume {
            claim: &own.name,
            class: self.class_of(own),
            replaces: self.claim(pod, &own.name).and_then(|c| self.volume_of(c)),
        });
        lasting.chain(ephemeral).collect()
    }

    /// Returns the volumes of a pod that CSI drivers attach to its node. See
    /// `filterAttachableVolumes` in the source of the scheduler's NodeVolumeLimits plugin.
    pub fn attached_volumes<'w>(&'w self, pod: &'w Pod) -> Vec<AttachedVolume<'w>> {
        let lasting = pod.volumes.claims.iter().map(|name| {
            let claim = self.claim(pod, name)?;
            self.attached(pod, name, Some(claim), self.class_of_claim(claim))
        });
        let ephemeral = pod.volumes.ephemeral.iter().map(|own| {
            let claim = self.claim(pod, &own.name);
            self.attached(pod, &own.name, claim, self.class_of(own))
        });
        lasting.chain(ephemeral).flatten().collect()
    }

    /// Returns the volumes that are attached to a node without a pod on it that uses them. The
    /// scheduler counts them, but only those with a CSI PersistentVolume
    /// (`getNodeVolumeAttachmentInfo` in the source of NodeVolumeLimits).
    pub fn left_attached(&self) -> Vec<(NodeId, AttachedVolume<'_>)> {
        let of_attachments = self.attachments.values();
        let of_attachments = of_attachments.filter_map(|attachment| self.attached_at(attachment));
        let all: BTreeSet<(NodeId, AttachedVolume<'_>)> = of_attachments.collect();
        let nodes: BTreeSet<NodeId> = all.iter().map(|(node, _)| *node).collect();
        let used = nodes.into_iter().flat_map(|node| {
            let pods = self.node(node).pods.iter().map(|pod| self.pod(*pod));
            pods.flat_map(|pod| self.attached_volumes(pod)).map(move |volume| (node, volume))
        });
        let used: BTreeSet<_> = used.collect();
        all.difference(&used).copied().collect()
    }

    /// The node and the volume of an attachment; `None` if one of them does not exist.
    fn attached_at<'w>(
        &'w self,
        attachment: &'w Attachment,
    ) -> Option<(NodeId, AttachedVolume<'w>)> {
        let volume = self.volumes.get(attachment.volume.as_ref()?)?;
        let (_, handle) = volume.csi.as_ref()?;
        let volume = AttachedVolume { driver: &attachment.driver, handle: (handle, "") };
        Some((self.find_node(&attachment.node)?, volume))
    }

    /// Returns true if a node limits the number of volumes of this driver.
    pub fn limits_driver(&self, driver: &str) -> bool {
        self.nodes.iter().any(|n| n.attach_limit(driver).is_some())
    }

    /// Returns a CSI driver of the pod's volumes that a node lacks, so that its kubelet could never
    /// mount them; `None` if there is none. A driver of no node at all is unknown: it may need
    /// nothing on the nodes.
    pub fn missing_driver<'w>(&'w self, pod: &'w Pod, node: &Node) -> Option<&'w str> {
        let volumes = self.attached_volumes(pod).into_iter();
        let inline = pod.volumes.inline_drivers.iter().map(String::as_str);
        let mut drivers = volumes.map(|volume| volume.driver).chain(inline);
        drivers.find(|driver| node.lacks_driver(driver) && self.csi_drivers.contains(*driver))
    }

    fn attached<'w>(
        &'w self,
        pod: &'w Pod,
        name: &'w str,
        claim: Option<&'w Claim>,
        class: Option<&'w StorageClass>,
    ) -> Option<AttachedVolume<'w>> {
        match claim.and_then(|c| self.volume_of(c)) {
            Some(volume) => {
                let (driver, handle) = volume.csi.as_ref()?;
                let handle = (handle.as_str(), "");
                Some(AttachedVolume { driver, handle })
            }
            None => {
                Some(AttachedVolume { driver: &class?.provisioner, handle: (&pod.namespace, name) })
            }
        }
    }

    /// Returns the claim with this name in the namespace of a pod.
    pub fn claim(&self, pod: &Pod, name: &str) -> Option<&Claim> {
        self.claims.get(&(pod.namespace.clone(), name.to_owned()))
    }

    /// Returns the volume of a claim; `None` if it has none, or it is not known.
    pub fn volume_of(&self, claim: &Claim) -> Option<&Volume> {
        self.volumes.get(claim.volume.as_ref()?)
    }

    /// Returns the class that a new claim of the pod's template gets. That of an earlier claim says
    /// nothing: the default class may have changed since.
    pub fn class_of(&self, own: &EphemeralClaim) -> Option<&StorageClass> {
        self.storage_class(own.class.as_deref())
    }

    /// Returns the class of a claim. An unbound claim without one gets the default class as soon as
    /// there is one (`assignDefaultStorageClass` in kubernetes/pkg/controller/volume).
    pub fn class_of_claim(&self, claim: &Claim) -> Option<&StorageClass> {
        let has_class = claim.class.is_some() || claim.volume.is_none();
        has_class.then(|| self.storage_class(claim.class.as_deref())).flatten()
    }

    /// Returns a class by name, or the default class: of several the newest, and of equally old
    /// ones the first by name (`GetDefaultClass` in kubernetes/pkg/volume/util/storageclass.go).
    /// No class has an empty name.
    fn storage_class(&self, name: Option<&str>) -> Option<&StorageClass> {
        if let Some(name) = name {
            return self.storage_classes.get(name);
        }
        let defaults = self.storage_classes.values().rev();
        let defaults = defaults.filter(|class| class.is_default);
        defaults.max_by_key(|class| class.created)
    }
}
