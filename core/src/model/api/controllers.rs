//! Controllers that create pods: k8s.io/api/apps/v1, batch/v1 and core/v1.

use serde::Deserialize;

use super::metadata::ApiMetadata;
use super::nullable::nullable;
use super::primitive::ApiTime;

/// `ReplicaSet` and `ReplicationController`, which have these fields with the same numbers.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiReplicaSet {
    /// `metadata`.
    #[prost(message, required, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub metadata: ApiMetadata,
    /// `spec`.
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub spec: ApiReplicaSetSpec,
}

/// `ReplicaSetSpec` and `ReplicationControllerSpec`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiReplicaSetSpec {
    /// `replicas`.
    #[prost(int32, optional, tag = "1")]
    pub replicas: Option<i32>,
    /// `template`.
    #[prost(message, required, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub template: ApiPodTemplate,
}

/// `PodTemplateSpec`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiPodTemplate {
    /// `spec`.
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub spec: ApiTemplateSpec,
}

/// `PodSpec` of a template.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiTemplateSpec {
    /// `nodeName`.
    #[prost(string, tag = "10")]
    #[serde(deserialize_with = "nullable")]
    pub node_name: String,
}

/// `StatefulSet`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiStatefulSet {
    /// `metadata`.
    #[prost(message, required, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub metadata: ApiMetadata,
    /// `spec`.
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub spec: ApiStatefulSetSpec,
}

/// `StatefulSetSpec`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiStatefulSetSpec {
    /// `replicas`.
    #[prost(int32, optional, tag = "1")]
    pub replicas: Option<i32>,
    /// `template`.
    #[prost(message, required, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub template: ApiPodTemplate,
    /// `podManagementPolicy`.
    #[prost(string, tag = "6")]
    #[serde(deserialize_with = "nullable")]
    pub pod_management_policy: String,
    /// `ordinals`.
    #[prost(message, required, tag = "11")]
    #[serde(deserialize_with = "nullable")]
    pub ordinals: ApiOrdinals,
}

/// `StatefulSetOrdinals`.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiOrdinals {
    /// `start`.
    #[prost(int32, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub start: i32,
}

/// `Job`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiJob {
    /// `metadata`.
    #[prost(message, required, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub metadata: ApiMetadata,
    /// `spec`.
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub spec: ApiJobSpec,
    /// `status`.
    #[prost(message, required, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub status: ApiJobStatus,
}

/// `JobSpec`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiJobSpec {
    /// `parallelism`.
    #[prost(int32, optional, tag = "1")]
    pub parallelism: Option<i32>,
    /// `completions`.
    #[prost(int32, optional, tag = "2")]
    pub completions: Option<i32>,
    /// `activeDeadlineSeconds`.
    #[prost(int64, optional, tag = "3")]
    pub active_deadline_seconds: Option<i64>,
    /// `template`.
    #[prost(message, required, tag = "6")]
    #[serde(deserialize_with = "nullable")]
    pub template: ApiPodTemplate,
    /// `backoffLimit`.
    #[prost(int32, optional, tag = "7")]
    pub backoff_limit: Option<i32>,
    /// `suspend`.
    #[prost(bool, tag = "10")]
    #[serde(deserialize_with = "nullable")]
    pub suspend: bool,
    /// `podFailurePolicy`.
    #[prost(message, required, tag = "11")]
    #[serde(deserialize_with = "nullable")]
    pub pod_failure_policy: ApiPodFailurePolicy,
    /// `backoffLimitPerIndex`.
    #[prost(int32, optional, tag = "12")]
    pub backoff_limit_per_index: Option<i32>,
    /// `managedBy`.
    #[prost(string, tag = "15")]
    #[serde(deserialize_with = "nullable")]
    pub managed_by: String,
}

/// `PodFailurePolicy`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiPodFailurePolicy {
    /// `rules`.
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub rules: Vec<ApiPodFailureRule>,
}

/// `PodFailurePolicyRule`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiPodFailureRule {
    /// `action`.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub action: String,
    /// `onExitCodes`.
    #[prost(message, optional, tag = "2")]
    pub on_exit_codes: Option<ApiOnExitCodes>,
    /// `onPodConditions`.
    #[prost(message, repeated, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub on_pod_conditions: Vec<ApiOnPodCondition>,
}

/// `PodFailurePolicyOnExitCodesRequirement`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiOnExitCodes {
    /// `operator`.
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub operator: String,
    /// `values`.
    #[prost(int32, repeated, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub values: Vec<i32>,
}

/// `PodFailurePolicyOnPodConditionsPattern`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiOnPodCondition {
    /// `type`.
    #[prost(string, tag = "1")]
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub kind: String,
    /// `status`.
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub status: String,
}

/// `JobStatus`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiJobStatus {
    /// `conditions`.
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub conditions: Vec<ApiJobCondition>,
    /// `startTime`.
    #[prost(message, optional, tag = "2")]
    pub start_time: Option<ApiTime>,
    /// `succeeded`.
    #[prost(int32, tag = "5")]
    #[serde(deserialize_with = "nullable")]
    pub succeeded: i32,
    /// `failed`.
    #[prost(int32, tag = "6")]
    #[serde(deserialize_with = "nullable")]
    pub failed: i32,
}

/// `JobCondition`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiJobCondition {
    /// `type`.
    #[prost(string, tag = "1")]
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub kind: String,
    /// `status`.
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub status: String,
}
