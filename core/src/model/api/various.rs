//! Budgets, priority classes and services: k8s.io/api/policy/v1, scheduling/v1 and core/v1.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::messages::messages;
use super::metadata::{ApiMetadata, ApiSelector};

messages! {
    /// `PodDisruptionBudget`.
    struct ApiBudget {
        metadata: ApiMetadata = 1 (message, required),
        spec: ApiBudgetSpec = 2 (message, required),
        status: ApiBudgetStatus = 3 (message, required),
    }

    /// `PodDisruptionBudgetSpec`.
    struct ApiBudgetSpec {
        min_available: Option<ApiIntOrString> = 1 (message, optional),
        selector: Option<ApiSelector> = 2 (message, optional),
        max_unavailable: Option<ApiIntOrString> = 3 (message, optional),
        unhealthy_pod_eviction_policy: String = 4 (string),
    }

    /// `PodDisruptionBudgetStatus`.
    struct ApiBudgetStatus {
        observed_generation: i64 = 1 (int64),
        disruptions_allowed: i32 = 3 (int32),
        current_healthy: i32 = 4 (int32),
        desired_healthy: i32 = 5 (int32),
        expected_pods: i32 = 6 (int32),
        conditions: Vec<ApiStatusCondition> = 7 (message, repeated),
    }

    /// `Condition` of k8s.io/apimachinery/pkg/apis/meta/v1.
    struct ApiStatusCondition {
        #[serde(rename = "type")]
        kind: String = 1 (string),
        status: String = 2 (string),
        reason: String = 5 (string),
        message: String = 6 (string),
    }

    struct ApiPriorityClass {
        metadata: ApiMetadata = 1 (message, required),
        value: i32 = 2 (int32),
    }

    struct ApiService {
        metadata: ApiMetadata = 1 (message, required),
        spec: ApiServiceSpec = 2 (message, required),
    }

    struct ApiServiceSpec {
        selector: BTreeMap<String, String> = 2 (btree_map = "string, string"),
    }
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
            IntOrText::Int(int) => ApiIntOrString { int, ..ApiIntOrString::default() },
            IntOrText::Text(text) => ApiIntOrString { kind: 1, text, ..ApiIntOrString::default() },
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
