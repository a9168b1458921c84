//! Budgets, priority classes and services: k8s.io/api/policy/v1, scheduling/v1 and core/v1.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::metadata::{ApiMetadata, ApiSelector};
use super::nullable::nullable;

/// `PodDisruptionBudget`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiBudget {
    /// `metadata`.
    #[prost(message, required, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub metadata: ApiMetadata,
    /// `spec`.
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub spec: ApiBudgetSpec,
    /// `status`.
    #[prost(message, required, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub status: ApiBudgetStatus,
}

/// `PodDisruptionBudgetSpec`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiBudgetSpec {
    /// `selector`.
    #[prost(message, optional, tag = "2")]
    pub selector: Option<ApiSelector>,
    /// `unhealthyPodEvictionPolicy`.
    #[prost(string, tag = "4")]
    #[serde(deserialize_with = "nullable")]
    pub unhealthy_pod_eviction_policy: String,
}

/// `PodDisruptionBudgetStatus`.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiBudgetStatus {
    /// `observedGeneration`.
    #[prost(int64, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub observed_generation: i64,
    /// `disruptionsAllowed`.
    #[prost(int32, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub disruptions_allowed: i32,
    /// `currentHealthy`.
    #[prost(int32, tag = "4")]
    #[serde(deserialize_with = "nullable")]
    pub current_healthy: i32,
    /// `desiredHealthy`.
    #[prost(int32, tag = "5")]
    #[serde(deserialize_with = "nullable")]
    pub desired_healthy: i32,
}

/// `PriorityClass`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiPriorityClass {
    /// `metadata`.
    #[prost(message, required, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub metadata: ApiMetadata,
    /// `value`.
    #[prost(int32, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub value: i32,
}

/// `Service`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiService {
    /// `metadata`.
    #[prost(message, required, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub metadata: ApiMetadata,
    /// `spec`.
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub spec: ApiServiceSpec,
}

/// `ServiceSpec`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiServiceSpec {
    /// `selector`.
    #[prost(btree_map = "string, string", tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub selector: BTreeMap<String, String>,
}
