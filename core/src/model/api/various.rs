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
    /// `minAvailable`.
    #[prost(message, optional, tag = "1")]
    pub min_available: Option<ApiIntOrString>,
    /// `selector`.
    #[prost(message, optional, tag = "2")]
    pub selector: Option<ApiSelector>,
    /// `maxUnavailable`.
    #[prost(message, optional, tag = "3")]
    pub max_unavailable: Option<ApiIntOrString>,
    /// `unhealthyPodEvictionPolicy`.
    #[prost(string, tag = "4")]
    #[serde(deserialize_with = "nullable")]
    pub unhealthy_pod_eviction_policy: String,
}

/// `PodDisruptionBudgetStatus`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
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
    /// `expectedPods`.
    #[prost(int32, tag = "6")]
    #[serde(deserialize_with = "nullable")]
    pub expected_pods: i32,
    /// `conditions`.
    #[prost(message, repeated, tag = "7")]
    #[serde(deserialize_with = "nullable")]
    pub conditions: Vec<ApiStatusCondition>,
}

/// `Condition` of k8s.io/apimachinery/pkg/apis/meta/v1.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiStatusCondition {
    /// `type`.
    #[prost(string, tag = "1")]
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub kind: String,
    /// `status`.
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub status: String,
    /// `reason`.
    #[prost(string, tag = "5")]
    #[serde(deserialize_with = "nullable")]
    pub reason: String,
    /// `message`.
    #[prost(string, tag = "6")]
    #[serde(deserialize_with = "nullable")]
    pub message: String,
}

/// `IntOrString` of k8s.io/apimachinery/pkg/util/intstr: the text is used where `kind` is 1.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(from = "IntOrText")]
pub struct ApiIntOrString {
    /// `type`.
    #[prost(int64, tag = "1")]
    pub kind: i64,
    /// `intVal`.
    #[prost(int32, tag = "2")]
    pub int: i32,
    /// `strVal`.
    #[prost(string, tag = "3")]
    pub text: String,
}

/// The same in JSON.
#[derive(Deserialize)]
#[serde(untagged)]
enum IntOrText {
    Int(i32),
    Text(String),
}

impl From<IntOrText> for ApiIntOrString {
    fn from(value: IntOrText) -> Self {
        match value {
            IntOrText::Int(int) => ApiIntOrString {
                int,
                ..ApiIntOrString::default()
            },
            IntOrText::Text(text) => ApiIntOrString {
                kind: 1,
                text,
                ..ApiIntOrString::default()
            },
        }
    }
}

impl ApiIntOrString {
    /// The value as in the manifest, such as `1` or `50%`.
    pub fn shown(&self) -> String {
        match self.kind {
            1 => self.text.clone(),
            _ => self.int.to_string(),
        }
    }
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
