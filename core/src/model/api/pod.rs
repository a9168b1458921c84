//! Pods: k8s.io/api/core/v1.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::affinity::{ApiAffinity, ApiSpreadConstraint};
use super::container_state::ApiContainerState;
use super::metadata::ApiMetadata;
use super::node::ApiCondition;
use super::nullable::nullable;
use super::primitive::{ApiPresence, ApiTime, Quantities};
use super::storage::ApiClaimSpec;

/// `Pod`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiPod {
    /// `metadata`.
    #[prost(message, required, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub metadata: ApiMetadata,
    /// `spec`.
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub spec: ApiPodSpec,
    /// `status`.
    #[prost(message, required, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub status: ApiPodStatus,
}

/// `PodSpec`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiPodSpec {
    /// `volumes`.
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub volumes: Vec<ApiVolume>,
    /// `containers`.
    #[prost(message, repeated, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub containers: Vec<ApiContainer>,
    /// `restartPolicy`.
    #[prost(string, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub restart_policy: String,
    /// `terminationGracePeriodSeconds`.
    #[prost(int64, optional, tag = "4")]
    pub termination_grace_period_seconds: Option<i64>,
    /// `nodeSelector`.
    #[prost(btree_map = "string, string", tag = "7")]
    #[serde(deserialize_with = "nullable")]
    pub node_selector: BTreeMap<String, String>,
    /// `nodeName`.
    #[prost(string, tag = "10")]
    #[serde(deserialize_with = "nullable")]
    pub node_name: String,
    /// `affinity`.
    #[prost(message, required, tag = "18")]
    #[serde(deserialize_with = "nullable")]
    pub affinity: ApiAffinity,
    /// `schedulerName`.
    #[prost(string, tag = "19")]
    #[serde(deserialize_with = "nullable")]
    pub scheduler_name: String,
    /// `initContainers`.
    #[prost(message, repeated, tag = "20")]
    #[serde(deserialize_with = "nullable")]
    pub init_containers: Vec<ApiContainer>,
    /// `tolerations`.
    #[prost(message, repeated, tag = "22")]
    #[serde(deserialize_with = "nullable")]
    pub tolerations: Vec<ApiToleration>,
    /// `priorityClassName`.
    #[prost(string, tag = "24")]
    #[serde(deserialize_with = "nullable")]
    pub priority_class_name: String,
    /// `priority`.
    #[prost(int32, optional, tag = "25")]
    pub priority: Option<i32>,
    /// `preemptionPolicy`.
    #[prost(string, tag = "31")]
    #[serde(deserialize_with = "nullable")]
    pub preemption_policy: String,
    /// `overhead`.
    #[prost(btree_map = "string, message", tag = "32")]
    #[serde(deserialize_with = "nullable")]
    pub overhead: Quantities,
    /// `topologySpreadConstraints`.
    #[prost(message, repeated, tag = "33")]
    #[serde(deserialize_with = "nullable")]
    pub topology_spread_constraints: Vec<ApiSpreadConstraint>,
    /// `ephemeralContainers`.
    #[prost(message, repeated, tag = "34")]
    #[serde(deserialize_with = "nullable")]
    pub ephemeral_containers: Vec<ApiEphemeralContainer>,
    /// `os`.
    #[prost(message, required, tag = "36")]
    #[serde(deserialize_with = "nullable")]
    pub os: ApiPodOs,
    /// `schedulingGates`.
    #[prost(message, repeated, tag = "38")]
    #[serde(deserialize_with = "nullable")]
    pub scheduling_gates: Vec<ApiPresence>,
    /// `resourceClaims`.
    #[prost(message, repeated, tag = "39")]
    #[serde(deserialize_with = "nullable")]
    pub resource_claims: Vec<ApiPresence>,
    /// `resources` of the whole pod.
    #[prost(message, optional, tag = "40")]
    pub resources: Option<ApiResources>,
    /// `schedulingGroup`.
    #[prost(message, required, tag = "43")]
    #[serde(deserialize_with = "nullable")]
    pub scheduling_group: ApiSchedulingGroup,
}

/// `PodOS`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiPodOs {
    /// `name`.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub name: String,
}

/// `PodSchedulingGroup`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiSchedulingGroup {
    /// `podGroupName`.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub pod_group_name: String,
}

/// `Container`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiContainer {
    /// `name`.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// `image`.
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub image: String,
    /// `ports`.
    #[prost(message, repeated, tag = "6")]
    #[serde(deserialize_with = "nullable")]
    pub ports: Vec<ApiPort>,
    /// `resources`.
    #[prost(message, required, tag = "8")]
    #[serde(deserialize_with = "nullable")]
    pub resources: ApiResources,
    /// `restartPolicy`.
    #[prost(string, tag = "24")]
    #[serde(deserialize_with = "nullable")]
    pub restart_policy: String,
}

/// `EphemeralContainer`, whose fields are one message in protobuf and stand side by side in JSON.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiEphemeralContainer {
    /// `ephemeralContainerCommon`.
    #[prost(message, required, tag = "1")]
    #[serde(flatten)]
    pub container: ApiContainer,
}

/// `ResourceRequirements`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiResources {
    /// `limits`.
    #[prost(btree_map = "string, message", tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub limits: Quantities,
    /// `requests`.
    #[prost(btree_map = "string, message", tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub requests: Quantities,
}

/// `ContainerPort`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiPort {
    /// `hostPort`.
    #[prost(int32, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub host_port: i32,
    /// `protocol`.
    #[prost(string, tag = "4")]
    #[serde(deserialize_with = "nullable")]
    pub protocol: String,
    /// `hostIP`.
    #[prost(string, tag = "5")]
    #[serde(rename = "hostIP", deserialize_with = "nullable")]
    pub host_ip: String,
}

/// `Toleration`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiToleration {
    /// `key`.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub key: String,
    /// `operator`.
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub operator: String,
    /// `value`.
    #[prost(string, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub value: String,
    /// `effect`.
    #[prost(string, tag = "4")]
    #[serde(deserialize_with = "nullable")]
    pub effect: String,
}

/// `Volume`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiVolume {
    /// `name`.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// `volumeSource`, whose fields stand beside the name in JSON.
    #[prost(message, required, tag = "2")]
    #[serde(flatten)]
    pub source: ApiVolumeSource,
}

/// `VolumeSource`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiVolumeSource {
    /// `hostPath`.
    #[prost(message, optional, tag = "1")]
    pub host_path: Option<ApiPresence>,
    /// `emptyDir`.
    #[prost(message, optional, tag = "2")]
    pub empty_dir: Option<ApiPresence>,
    /// `persistentVolumeClaim`.
    #[prost(message, optional, tag = "10")]
    pub persistent_volume_claim: Option<ApiClaimSource>,
    /// `ephemeral`.
    #[prost(message, optional, tag = "29")]
    pub ephemeral: Option<ApiEphemeralSource>,
}

/// `PersistentVolumeClaimVolumeSource`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiClaimSource {
    /// `claimName`.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub claim_name: String,
}

/// `EphemeralVolumeSource`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiEphemeralSource {
    /// `volumeClaimTemplate`.
    #[prost(message, required, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub volume_claim_template: ApiClaimTemplate,
}

/// `PersistentVolumeClaimTemplate`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiClaimTemplate {
    /// `spec`.
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub spec: ApiClaimSpec,
}

/// `PodStatus`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiPodStatus {
    /// `phase`.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub phase: String,
    /// `conditions`.
    #[prost(message, repeated, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub conditions: Vec<ApiCondition>,
    /// `reason`.
    #[prost(string, tag = "4")]
    #[serde(deserialize_with = "nullable")]
    pub reason: String,
    /// `startTime`.
    #[prost(message, optional, tag = "7")]
    pub start_time: Option<ApiTime>,
    /// `containerStatuses`.
    #[prost(message, repeated, tag = "8")]
    #[serde(deserialize_with = "nullable")]
    pub container_statuses: Vec<ApiContainerStatus>,
    /// `qosClass`.
    #[prost(string, tag = "9")]
    #[serde(deserialize_with = "nullable")]
    pub qos_class: String,
    /// `initContainerStatuses`.
    #[prost(message, repeated, tag = "10")]
    #[serde(deserialize_with = "nullable")]
    pub init_container_statuses: Vec<ApiContainerStatus>,
    /// `nominatedNodeName`.
    #[prost(string, tag = "11")]
    #[serde(deserialize_with = "nullable")]
    pub nominated_node_name: String,
    /// `ephemeralContainerStatuses`.
    #[prost(message, repeated, tag = "13")]
    #[serde(deserialize_with = "nullable")]
    pub ephemeral_container_statuses: Vec<ApiContainerStatus>,
    /// `allocatedResources` of the whole pod.
    #[prost(btree_map = "string, message", tag = "19")]
    #[serde(deserialize_with = "nullable")]
    pub allocated_resources: Quantities,
    /// `resources` of the whole pod.
    #[prost(message, optional, tag = "20")]
    pub resources: Option<ApiResources>,
}

/// `ContainerStatus`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiContainerStatus {
    /// `name`.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// `state`.
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub state: ApiContainerState,
    /// `lastState`.
    #[prost(message, required, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub last_state: ApiContainerState,
    /// `restartCount`.
    #[prost(int32, tag = "5")]
    #[serde(deserialize_with = "nullable")]
    pub restart_count: i32,
    /// `allocatedResources`.
    #[prost(btree_map = "string, message", tag = "10")]
    #[serde(deserialize_with = "nullable")]
    pub allocated_resources: Quantities,
    /// `resources`.
    #[prost(message, optional, tag = "11")]
    pub resources: Option<ApiResources>,
}
