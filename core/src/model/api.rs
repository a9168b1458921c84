//! Objects of the Kubernetes API, reduced to the fields that facts are made from.
//!
//! Each type can be decoded from protobuf, which the API server sends, and from JSON, which files
//! have and which some servers and proxies send instead. Both skip unknown fields, so a field that
//! is not declared here costs neither time nor memory.
//!
//! The number of each field is the one in `generated.proto` of the Go module that the type names,
//! version 0.36. Numbers never change within an API version. A missing field, `null` and an empty
//! value mean the same wherever the field is not an `Option`.
#![expect(missing_docs, reason = "a message has the name and the fields of the API")]

mod affinity;
mod controllers;
mod messages;
mod metadata;
mod metrics;
mod node;
mod outline;
mod pod;
mod primitive;
mod storage;
mod various;
mod wire;

pub use affinity::{
    ApiAffinity, ApiNodeAffinity, ApiNodeSelector, ApiNodeSelectorTerm, ApiPodAffinity,
    ApiPodAffinityTerm, ApiPreferredNode, ApiSpreadConstraint, ApiWeightedTerm,
};
pub use controllers::{
    ApiJob, ApiJobSpec, ApiJobStatus, ApiOnExitCodes, ApiPodFailureRule, ApiPodTemplate,
    ApiReplicaSet, ApiReplicaSetCondition, ApiStatefulSet,
};
pub use metadata::{ApiMetadata, ApiOwner, ApiRequirement, ApiSelector, MetadataOnly};
pub use metrics::{ContainerMetrics, NodeMetrics, PodMetrics};
pub use node::{ApiAddress, ApiCondition, ApiImage, ApiNode, ApiNodeStatus, ApiTaint};
pub use outline::{NodeNameOnly, ObjectNames, ObjectOutline, VersionOnly};
pub use pod::{
    ApiContainer, ApiContainerState, ApiContainerStatus, ApiEphemeralContainer, ApiPod, ApiPodSpec,
    ApiPodStatus, ApiPort, ApiResources, ApiTerminated, ApiToleration, ApiVolume,
};
pub use primitive::{ApiDuration, ApiQuantity, ApiTime, Quantities};
pub use storage::{
    ApiClaim, ApiClaimRef, ApiClaimSpec, ApiCsiDriver, ApiCsiNode, ApiCsiVolume, ApiInTreeDisk,
    ApiPersistentVolume, ApiPersistentVolumeSource, ApiStorageClass, ApiTopologyRequirement,
    ApiTopologyTerm, ApiVolumeAttachment,
};
pub use various::{
    ApiBudget, ApiBudgetSpec, ApiBudgetStatus, ApiIntOrString, ApiPriorityClass, ApiService,
};
pub use wire::{Envelope, ListMetadata, Status, WatchEvent};
