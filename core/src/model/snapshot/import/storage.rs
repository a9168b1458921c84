//! Conversion of persistent volume claims, persistent volumes, storage classes, CSI nodes and
//! volume attachments.

use crate::model::api::{
    ApiClaim, ApiClaimRef, ApiCsiNode, ApiInTreeDisk, ApiMetadata, ApiPersistentVolume,
    ApiPersistentVolumeSource, ApiStorageClass, ApiTopologyTerm, ApiVolumeAttachment,
};
use crate::model::snapshot::facts::{
    Attachment, Claim, ClaimRef, ClaimState, CsiDrivers, StorageClass, UidHash, Volume, VolumeState,
};
use crate::model::snapshot::objects::Name;

use crate::values::selector::{Requirement, Selector, Test};

use super::{Wrong, affinity, annotation, filled, name_of, namespace_of, time};

/// The labels that the scheduler's VolumeZone plugin uses.
const ZONES: [&str; 4] = [
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
];

/// The annotations of a default class. The second one is older and still counts
/// (`IsDefaultAnnotation` in kubernetes/pkg/volume/util/storageclass.go).
const DEFAULT_CLASS: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];

/// Returns the name and facts of a claim.
pub(super) fn claim(claim: &ApiClaim) -> Result<(Name, Claim), Wrong> {
    let meta = &claim.metadata;
    let spec = &claim.spec;
    // The annotation is older than the field and still takes precedence.
    let annotated = annotation(meta, "volume.beta.kubernetes.io/storage-class");
    let class = annotated.or(spec.storage_class_name.as_deref());
    let facts = Claim {
        uid: UidHash::of(&meta.uid),
        class: class.map(str::to_owned),
        volume: filled(&spec.volume_name),
        one_pod: spec.access_modes.iter().any(|m| m == "ReadWriteOncePod"),
        one_node: !spec.access_modes.is_empty()
            && spec.access_modes.iter().all(|m| m == "ReadWriteOnce"),
        state: claim_state(claim),
        selected_node: annotation(meta, "volume.kubernetes.io/selected-node").and_then(filled),
    };
    Ok(((namespace_of(meta), name_of(meta)?), facts))
}

/// The phase alone tells that a claim is bound where a file has no annotations. A claim without
/// either counts as bound, because only a claim that was bound names a volume. One that is bound
/// and names none is half restored.
fn claim_state(claim: &ApiClaim) -> ClaimState {
    let meta = &claim.metadata;
    let completed = annotation(meta, "pv.kubernetes.io/bind-completed").is_some();
    match claim.status.phase.as_str() {
        _ if is_deleted(meta) => ClaimState::Deleting,
        "Lost" => ClaimState::Lost,
        "Pending" if !completed && !claim.spec.volume_name.is_empty() => ClaimState::NotBoundYet,
        "Bound" if claim.spec.volume_name.is_empty() => ClaimState::NotBoundYet,
        _ => ClaimState::Usable,
    }
}

const fn is_deleted(meta: &ApiMetadata) -> bool {
    meta.deletion_timestamp.is_some()
}

/// Returns the name and facts of a volume.
pub(super) fn volume(volume: &ApiPersistentVolume) -> Result<(String, Volume), Wrong> {
    let meta = &volume.metadata;
    let required = volume.spec.node_affinity.required.as_ref();
    let term = |(i, term)| affinity::node_term(&format!("spec.nodeAffinity.required[{i}]"), term);
    let nodes = required
        .map(|r| r.node_selector_terms.iter().enumerate().map(term).collect::<Result<_, _>>());
    let zones = meta.labels.iter().filter(|(key, _)| ZONES.contains(&key.as_str()));
    let zones = zones.map(|(key, value)| (key.clone(), value.clone())).collect();
    Ok((
        name_of(meta)?,
        Volume {
            nodes: nodes.transpose()?,
            zones,
            csi: attached_by(&volume.spec.source),
            owner: owner(&volume.spec.claim_ref),
            on_node: volume.spec.source.host_path.is_some() || volume.spec.source.local.is_some(),
            strictly_local: is_strictly_local(&volume.spec.source),
            shared: is_shared(&volume.spec.source),
            state: match volume.status.phase.as_str() {
                _ if is_deleted(meta) => VolumeState::Deleting,
                "Failed" => VolumeState::Failed,
                "Released" => VolumeState::Released,
                _ => VolumeState::Usable,
            },
        },
    ))
}

/// Whether Longhorn attaches a volume only on the node of its one replica. It has given such
/// volumes a node affinity since v1.5: <https://github.com/longhorn/longhorn/issues/5448>.
fn is_strictly_local(source: &ApiPersistentVolumeSource) -> bool {
    let locality = source.csi.as_ref().and_then(|csi| csi.volume_attributes.get("dataLocality"));
    locality.is_some_and(|locality| locality == "strict-local")
}

/// Whether the plugin of a volume attaches nothing, so that the access mode keeps no node out:
/// neither is an `AttachableVolumePlugin` (kubernetes/pkg/volume).
const fn is_shared(source: &ApiPersistentVolumeSource) -> bool {
    source.nfs.is_some() || source.azure_file.is_some()
}

fn owner(found: &ApiClaimRef) -> Option<Box<ClaimRef>> {
    let name = filled(&found.name)?;
    Some(Box::new(ClaimRef {
        namespace: found.namespace.clone(),
        name,
        uid: UidHash::of(&found.uid),
    }))
}

/// Returns the CSI driver and the handle. The names of the drivers are those of
/// k8s.io/csi-translation-lib.
fn attached_by(source: &ApiPersistentVolumeSource) -> Option<(String, String)> {
    if let Some(csi) = &source.csi {
        return Some((csi.driver.clone(), csi.volume_handle.clone()));
    }
    let disks: [(&Option<ApiInTreeDisk>, &str); 5] = [
        (&source.gce_persistent_disk, "pd.csi.storage.gke.io"),
        (&source.aws_elastic_block_store, "ebs.csi.aws.com"),
        (&source.cinder, "cinder.csi.openstack.org"),
        (&source.vsphere_volume, "csi.vsphere.vmware.com"),
        (&source.azure_disk, "disk.csi.azure.com"),
    ];
    let disk = disks.into_iter().find_map(|(disk, driver)| Some((disk.as_ref()?, driver)));
    disk.map(|(disk, driver)| (driver.to_owned(), disk.name.clone()))
}

pub(super) fn attachment(attachment: &ApiVolumeAttachment) -> Result<(String, Attachment), Wrong> {
    let spec = &attachment.spec;
    let facts = Attachment {
        driver: spec.attacher.clone(),
        volume: filled(&spec.source.persistent_volume_name),
        node: spec.node_name.clone(),
    };
    Ok((name_of(&attachment.metadata)?, facts))
}

pub(super) fn class(class: &ApiStorageClass) -> Result<(String, StorageClass), Wrong> {
    let meta = &class.metadata;
    let is_default = DEFAULT_CLASS.iter().any(|name| annotation(meta, name) == Some("true"));
    let topologies = class.allowed_topologies.iter();
    let facts = StorageClass {
        provisioner: migrated(&class.provisioner).to_owned(),
        waits: class.volume_binding_mode == "WaitForFirstConsumer",
        topologies: topologies.map(topology).collect(),
        is_default,
        created: time("metadata.creationTimestamp", meta.creation_timestamp)?.unwrap_or_default(),
    };
    Ok((name_of(meta)?, facts))
}

/// Returns the CSI driver that provisions for a class of a plugin that CSI migration has replaced.
fn migrated(provisioner: &str) -> &str {
    match provisioner {
        "kubernetes.io/gce-pd" => "pd.csi.storage.gke.io",
        "kubernetes.io/aws-ebs" => "ebs.csi.aws.com",
        "kubernetes.io/cinder" => "cinder.csi.openstack.org",
        "kubernetes.io/vsphere-volume" => "csi.vsphere.vmware.com",
        "kubernetes.io/azure-disk" => "disk.csi.azure.com",
        other => other,
    }
}

fn topology(term: &ApiTopologyTerm) -> Selector {
    let requirements = term.match_label_expressions.iter().map(|expression| Requirement {
        key: expression.key.clone(),
        test: Test::In(expression.values.clone()),
    });
    Selector::new(requirements.collect())
}

/// Returns the name of a node and its CSI drivers. Without a count, a driver has no limit.
pub(super) fn csi_node(node: &ApiCsiNode) -> Result<(String, CsiDrivers), Wrong> {
    let drivers = node.spec.drivers.iter().map(|driver| {
        let limit = driver.allocatable.count;
        let limit = limit.map(|count| u32::try_from(count).unwrap_or_default());
        (driver.name.clone(), limit)
    });
    Ok((name_of(&node.metadata)?, drivers.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::snapshot::import::tests::facts_of;
    use crate::model::snapshot::objects::Object;
    use crate::values::selector::Labels;

    #[test]
    fn a_storage_class_is_converted() {
        let class = |rest: &str| {
            let found = facts_of(&format!(
                "{{apiVersion: storage.k8s.io/v1, kind: StorageClass, provisioner: ebs, {rest}}}"
            ));
            let Object::StorageClass(_, class) = found else { panic!("{rest}") };
            class
        };
        let full = class(
            "metadata: {name: fast,
              annotations: {storageclass.kubernetes.io/is-default-class: 'true'}},
             volumeBindingMode: WaitForFirstConsumer,
             allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a, b]}]}]",
        );
        let topologies: Vec<_> = full.topologies.iter().map(ToString::to_string).collect();
        assert_eq!(topologies, ["zone in (a,b)"]);
        assert!(full.waits && full.is_default && full.provisioner == "ebs");
        let plain = class("metadata: {name: plain}");
        assert!(!plain.waits && !plain.is_default && plain.topologies.is_empty());
    }

    #[test]
    fn the_drivers_of_a_csi_node_and_their_limits_are_converted() {
        let found = facts_of(
            "{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: n1}, spec: {drivers: [
                {name: ebs, nodeID: i-1, allocatable: {count: 25}}, {name: nfs, nodeID: i-1}]}}",
        );
        let Object::CsiNode(name, drivers) = found else { panic!("{found:?}") };
        assert_eq!(
            (name.as_str(), drivers),
            ("n1", [("ebs".to_owned(), Some(25)), ("nfs".to_owned(), None)].into())
        );
    }

    #[test]
    fn a_claim_is_converted() {
        let claim = |rest: &str| {
            let found =
                facts_of(&format!("{{apiVersion: v1, kind: PersistentVolumeClaim, {rest}}}"));
            let Object::Claim(name, claim) = found else { panic!("{rest}") };
            (name.0, name.1, claim)
        };
        let spec = "{storageClassName: ssd, volumeName: pv-1, accessModes: [ReadWriteOncePod]}";
        let full = Claim {
            class: Some("ssd".into()),
            volume: Some("pv-1".into()),
            one_pod: true,
            ..Claim::default()
        };
        assert_eq!(
            claim(&format!("metadata: {{name: c}}, spec: {spec}")),
            ("default".into(), "c".into(), full)
        );
        let bare = claim("metadata: {name: c, namespace: shop}");
        assert_eq!(bare, ("shop".into(), "c".into(), Claim::default()));
        let (_, _, none) = claim("metadata: {name: c}, spec: {storageClassName: ''}");
        assert_eq!(none.class.as_deref(), Some(""), "not even the default class");
    }

    #[test]
    fn a_volume_and_its_topology_are_converted() {
        let found = facts_of(
            "{apiVersion: v1, kind: PersistentVolume,
              metadata: {name: pv-1, labels: {topology.kubernetes.io/zone: a__b, other: x}},
              spec: {csi: {driver: ebs, volumeHandle: vol-1},
                nodeAffinity: {required: {nodeSelectorTerms: [
                {matchExpressions: [{key: disk, operator: In, values: [ssd]}]}]}}}}",
        );
        let Object::Volume(name, volume) = found else { panic!("{found:?}") };
        let nodes: Vec<_> =
            volume.nodes.unwrap().iter().map(|term| term.labels.to_string()).collect();
        assert_eq!((name.as_str(), nodes), ("pv-1", vec!["disk=ssd".to_owned()]));
        assert_eq!(volume.csi, Some(("ebs".into(), "vol-1".into())));
        assert_eq!(
            volume.zones,
            Labels::from([("topology.kubernetes.io/zone".into(), "a__b".into())])
        );
    }
}
