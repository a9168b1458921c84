//! Nodes: k8s.io/api/core/v1.

use serde::Deserialize;

use super::metadata::ApiMetadata;
use super::nullable::nullable;
use super::primitive::{ApiTime, Quantities};

/// `Node`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiNode {
    /// `metadata`.
    #[prost(message, required, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub metadata: ApiMetadata,
    /// `spec`.
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub spec: ApiNodeSpec,
    /// `status`.
    #[prost(message, required, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub status: ApiNodeStatus,
}

/// `NodeSpec`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiNodeSpec {
    /// `unschedulable`.
    #[prost(bool, tag = "4")]
    #[serde(deserialize_with = "nullable")]
    pub unschedulable: bool,
    /// `taints`.
    #[prost(message, repeated, tag = "5")]
    #[serde(deserialize_with = "nullable")]
    pub taints: Vec<ApiTaint>,
}

/// `Taint`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiTaint {
    /// `key`.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub key: String,
    /// `value`.
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub value: String,
    /// `effect`.
    #[prost(string, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub effect: String,
}

/// `NodeStatus`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiNodeStatus {
    /// `capacity`.
    #[prost(btree_map = "string, message", tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub capacity: Quantities,
    /// `allocatable`.
    #[prost(btree_map = "string, message", tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub allocatable: Quantities,
    /// `conditions`. Those of nodes have another field 3 than those of pods and no field 7.
    #[prost(message, repeated, tag = "4")]
    #[serde(deserialize_with = "nullable")]
    pub conditions: Vec<ApiCondition>,
    /// `addresses`.
    #[prost(message, repeated, tag = "5")]
    #[serde(deserialize_with = "nullable")]
    pub addresses: Vec<ApiAddress>,
    /// `nodeInfo`.
    #[prost(message, required, tag = "7")]
    #[serde(deserialize_with = "nullable")]
    pub node_info: ApiNodeInfo,
    /// `images`.
    #[prost(message, repeated, tag = "8")]
    #[serde(deserialize_with = "nullable")]
    pub images: Vec<ApiImage>,
}

/// `NodeSystemInfo`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiNodeInfo {
    /// `operatingSystem`.
    #[prost(string, tag = "9")]
    #[serde(deserialize_with = "nullable")]
    pub operating_system: String,
}

/// `NodeCondition` and `PodCondition`, which have these fields with the same numbers.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiCondition {
    /// `type`.
    #[prost(string, tag = "1")]
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub kind: String,
    /// `status`.
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub status: String,
    /// `lastTransitionTime`.
    #[prost(message, optional, tag = "4")]
    pub last_transition_time: Option<ApiTime>,
    /// `reason`.
    #[prost(string, tag = "5")]
    #[serde(deserialize_with = "nullable")]
    pub reason: String,
}

/// `NodeAddress`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiAddress {
    /// `type`.
    #[prost(string, tag = "1")]
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub kind: String,
    /// `address`.
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub address: String,
}

/// `ContainerImage`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiImage {
    /// `names`.
    #[prost(string, repeated, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub names: Vec<String>,
    /// `sizeBytes`.
    #[prost(int64, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub size_bytes: i64,
}
