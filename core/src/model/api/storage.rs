//! Storage: k8s.io/api/core/v1 and k8s.io/api/storage/v1.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::affinity::ApiNodeSelector;
use super::messages::{messages, nullable};
use super::metadata::ApiMetadata;
use super::primitive::ApiPresence;

messages! {
    /// `PersistentVolumeClaim`.
    struct ApiClaim {
        metadata: ApiMetadata = 1 (message, required),
        spec: ApiClaimSpec = 2 (message, required),
        status: ApiStoragePhase = 3 (message, required),
    }

    /// The phase in `PersistentVolumeClaimStatus` and `PersistentVolumeStatus`.
    struct ApiStoragePhase {
        phase: String = 1 (string),
    }

    /// `PersistentVolumeClaimSpec`.
    struct ApiClaimSpec {
        access_modes: Vec<String> = 1 (string, repeated),
        volume_name: String = 3 (string),
        /// A text that is empty means no class, not even the default one.
        storage_class_name: Option<String> = 5 (string, optional),
    }

    struct ApiPersistentVolume {
        metadata: ApiMetadata = 1 (message, required),
        spec: ApiPersistentVolumeSpec = 2 (message, required),
        status: ApiStoragePhase = 3 (message, required),
    }

    /// `ObjectReference` of a claim.
    struct ApiClaimRef {
        namespace: String = 2 (string),
        name: String = 3 (string),
        uid: String = 4 (string),
    }

    struct ApiPersistentVolumeSource {
        gce_persistent_disk: Option<ApiInTreeDisk> = 1 (message, optional),
        aws_elastic_block_store: Option<ApiInTreeDisk> = 2 (message, optional),
        host_path: Option<ApiPresence> = 3 (message, optional),
        nfs: Option<ApiPresence> = 5 (message, optional),
        cinder: Option<ApiInTreeDisk> = 8 (message, optional),
        azure_file: Option<ApiPresence> = 13 (message, optional),
        vsphere_volume: Option<ApiInTreeDisk> = 14 (message, optional),
        azure_disk: Option<ApiInTreeDisk> = 16 (message, optional),
        local: Option<ApiPresence> = 20 (message, optional),
        csi: Option<ApiCsiVolume> = 22 (message, optional),
    }

    /// A disk of a plugin that CSI migration has replaced. All of these messages have the name of
    /// the disk as their first field.
    struct ApiInTreeDisk {
        /// `pdName`, `volumeID`, `volumePath` or `diskName`.
        #[serde(alias = "pdName", alias = "volumeID", alias = "volumePath", alias = "diskName")]
        name: String = 1 (string),
    }

    /// `CSIPersistentVolumeSource`.
    struct ApiCsiVolume {
        driver: String = 1 (string),
        volume_handle: String = 2 (string),
        volume_attributes: BTreeMap<String, String> = 5 (btree_map = "string, string"),
    }

    struct ApiVolumeNodeAffinity {
        required: Option<ApiNodeSelector> = 1 (message, optional),
    }

    struct ApiStorageClass {
        metadata: ApiMetadata = 1 (message, required),
        provisioner: String = 2 (string),
        volume_binding_mode: String = 7 (string),
        allowed_topologies: Vec<ApiTopologyTerm> = 8 (message, repeated),
    }

    /// `TopologySelectorTerm`.
    struct ApiTopologyTerm {
        match_label_expressions: Vec<ApiTopologyRequirement> = 1 (message, repeated),
    }

    /// `TopologySelectorLabelRequirement`.
    struct ApiTopologyRequirement {
        key: String = 1 (string),
        values: Vec<String> = 2 (string, repeated),
    }

    struct ApiCsiNode {
        metadata: ApiMetadata = 1 (message, required),
        spec: ApiCsiNodeSpec = 2 (message, required),
    }

    struct ApiCsiNodeSpec {
        drivers: Vec<ApiCsiDriver> = 1 (message, repeated),
    }

    /// `CSINodeDriver`.
    struct ApiCsiDriver {
        name: String = 1 (string),
        allocatable: ApiVolumeCount = 4 (message, required),
    }

    /// `VolumeNodeResources`.
    #[derive(Copy)]
    struct ApiVolumeCount {
        count: Option<i32> = 1 (int32, optional),
    }

    struct ApiVolumeAttachment {
        metadata: ApiMetadata = 1 (message, required),
        spec: ApiVolumeAttachmentSpec = 2 (message, required),
    }

    struct ApiVolumeAttachmentSpec {
        attacher: String = 1 (string),
        source: ApiVolumeAttachmentSource = 2 (message, required),
        node_name: String = 3 (string),
    }

    struct ApiVolumeAttachmentSource {
        persistent_volume_name: String = 1 (string),
    }
}

#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiPersistentVolumeSpec {
    /// `persistentVolumeSource`, whose fields stand beside the others in JSON.
    #[prost(message, required, tag = "2")]
    #[serde(flatten)]
    pub source: ApiPersistentVolumeSource,
    #[prost(message, required, tag = "4")]
    #[serde(deserialize_with = "nullable")]
    pub claim_ref: ApiClaimRef,
    #[prost(message, required, tag = "9")]
    #[serde(deserialize_with = "nullable")]
    pub node_affinity: ApiVolumeNodeAffinity,
}
