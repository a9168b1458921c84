//! Storage: k8s.io/api/core/v1 and k8s.io/api/storage/v1.

use serde::Deserialize;

use super::affinity::ApiNodeSelector;
use super::metadata::ApiMetadata;
use super::nullable::nullable;
use super::primitive::ApiPresence;

/// `PersistentVolumeClaim`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiClaim {
    /// `metadata`.
    #[prost(message, required, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub metadata: ApiMetadata,
    /// `spec`.
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub spec: ApiClaimSpec,
    /// `status`.
    #[prost(message, required, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub status: ApiStoragePhase,
}

/// The phase in `PersistentVolumeClaimStatus` and `PersistentVolumeStatus`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiStoragePhase {
    /// `phase`.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub phase: String,
}

/// `PersistentVolumeClaimSpec`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiClaimSpec {
    /// `accessModes`.
    #[prost(string, repeated, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub access_modes: Vec<String>,
    /// `volumeName`.
    #[prost(string, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub volume_name: String,
    /// `storageClassName`.
    #[prost(string, tag = "5")]
    #[serde(deserialize_with = "nullable")]
    pub storage_class_name: String,
}

/// `PersistentVolume`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiPersistentVolume {
    /// `metadata`.
    #[prost(message, required, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub metadata: ApiMetadata,
    /// `spec`.
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub spec: ApiPersistentVolumeSpec,
    /// `status`.
    #[prost(message, required, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub status: ApiStoragePhase,
}

/// `PersistentVolumeSpec`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiPersistentVolumeSpec {
    /// `persistentVolumeSource`, whose fields stand beside the others in JSON.
    #[prost(message, required, tag = "2")]
    #[serde(flatten)]
    pub source: ApiPersistentVolumeSource,
    /// `nodeAffinity`.
    #[prost(message, required, tag = "9")]
    #[serde(deserialize_with = "nullable")]
    pub node_affinity: ApiVolumeNodeAffinity,
}

/// `PersistentVolumeSource`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiPersistentVolumeSource {
    /// `gcePersistentDisk`.
    #[prost(message, optional, tag = "1")]
    pub gce_persistent_disk: Option<ApiInTreeDisk>,
    /// `awsElasticBlockStore`.
    #[prost(message, optional, tag = "2")]
    pub aws_elastic_block_store: Option<ApiInTreeDisk>,
    /// `hostPath`.
    #[prost(message, optional, tag = "3")]
    pub host_path: Option<ApiPresence>,
    /// `cinder`.
    #[prost(message, optional, tag = "8")]
    pub cinder: Option<ApiInTreeDisk>,
    /// `vsphereVolume`.
    #[prost(message, optional, tag = "14")]
    pub vsphere_volume: Option<ApiInTreeDisk>,
    /// `azureDisk`.
    #[prost(message, optional, tag = "16")]
    pub azure_disk: Option<ApiInTreeDisk>,
    /// `local`.
    #[prost(message, optional, tag = "20")]
    pub local: Option<ApiPresence>,
    /// `csi`.
    #[prost(message, optional, tag = "22")]
    pub csi: Option<ApiCsiVolume>,
}

/// A disk of a plugin that CSI migration has replaced. All of these messages have the name of the
/// disk as their first field.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiInTreeDisk {
    /// `pdName`, `volumeID`, `volumePath` or `diskName`.
    #[prost(string, tag = "1")]
    #[serde(
        alias = "pdName",
        alias = "volumeID",
        alias = "volumePath",
        alias = "diskName",
        deserialize_with = "nullable"
    )]
    pub name: String,
}

/// `CSIPersistentVolumeSource`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiCsiVolume {
    /// `driver`.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub driver: String,
    /// `volumeHandle`.
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub volume_handle: String,
}

/// `VolumeNodeAffinity`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiVolumeNodeAffinity {
    /// `required`.
    #[prost(message, optional, tag = "1")]
    pub required: Option<ApiNodeSelector>,
}

/// `StorageClass`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiStorageClass {
    /// `metadata`.
    #[prost(message, required, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub metadata: ApiMetadata,
    /// `provisioner`.
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub provisioner: String,
    /// `volumeBindingMode`.
    #[prost(string, tag = "7")]
    #[serde(deserialize_with = "nullable")]
    pub volume_binding_mode: String,
    /// `allowedTopologies`.
    #[prost(message, repeated, tag = "8")]
    #[serde(deserialize_with = "nullable")]
    pub allowed_topologies: Vec<ApiTopologyTerm>,
}

/// `TopologySelectorTerm`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiTopologyTerm {
    /// `matchLabelExpressions`.
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub match_label_expressions: Vec<ApiTopologyRequirement>,
}

/// `TopologySelectorLabelRequirement`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiTopologyRequirement {
    /// `key`.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub key: String,
    /// `values`.
    #[prost(string, repeated, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub values: Vec<String>,
}

/// `CSINode`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiCsiNode {
    /// `metadata`.
    #[prost(message, required, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub metadata: ApiMetadata,
    /// `spec`.
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub spec: ApiCsiNodeSpec,
}

/// `CSINodeSpec`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiCsiNodeSpec {
    /// `drivers`.
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub drivers: Vec<ApiCsiDriver>,
}

/// `CSINodeDriver`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiCsiDriver {
    /// `name`.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// `allocatable`.
    #[prost(message, required, tag = "4")]
    #[serde(deserialize_with = "nullable")]
    pub allocatable: ApiVolumeCount,
}

/// `VolumeNodeResources`.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiVolumeCount {
    /// `count`.
    #[prost(int32, optional, tag = "1")]
    pub count: Option<i32>,
}

/// `VolumeAttachment`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiVolumeAttachment {
    /// `metadata`.
    #[prost(message, required, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub metadata: ApiMetadata,
    /// `spec`.
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub spec: ApiVolumeAttachmentSpec,
}

/// `VolumeAttachmentSpec`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiVolumeAttachmentSpec {
    /// `attacher`.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub attacher: String,
    /// `source`.
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub source: ApiVolumeAttachmentSource,
    /// `nodeName`.
    #[prost(string, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub node_name: String,
}

/// `VolumeAttachmentSource`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiVolumeAttachmentSource {
    /// `persistentVolumeName`.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub persistent_volume_name: String,
}
