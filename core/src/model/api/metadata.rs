//! Metadata and label selectors: k8s.io/apimachinery/pkg/apis/meta/v1.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::nullable::nullable;
use super::primitive::ApiTime;

/// `ObjectMeta`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiMetadata {
    /// `name`.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// `namespace`.
    #[prost(string, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub namespace: String,
    /// `uid`.
    #[prost(string, tag = "5")]
    #[serde(deserialize_with = "nullable")]
    pub uid: String,
    /// `resourceVersion`.
    #[prost(string, tag = "6")]
    #[serde(deserialize_with = "nullable")]
    pub resource_version: String,
    /// `generation`.
    #[prost(int64, tag = "7")]
    #[serde(deserialize_with = "nullable")]
    pub generation: i64,
    /// `creationTimestamp`.
    #[prost(message, optional, tag = "8")]
    pub creation_timestamp: Option<ApiTime>,
    /// `deletionTimestamp`.
    #[prost(message, optional, tag = "9")]
    pub deletion_timestamp: Option<ApiTime>,
    /// `labels`.
    #[prost(btree_map = "string, string", tag = "11")]
    #[serde(deserialize_with = "nullable")]
    pub labels: BTreeMap<String, String>,
    /// `annotations`.
    #[prost(btree_map = "string, string", tag = "12")]
    #[serde(deserialize_with = "nullable")]
    pub annotations: BTreeMap<String, String>,
    /// `ownerReferences`.
    #[prost(message, repeated, tag = "13")]
    #[serde(deserialize_with = "nullable")]
    pub owner_references: Vec<ApiOwner>,
}

/// `OwnerReference`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiOwner {
    /// `kind`.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub kind: String,
    /// `name`.
    #[prost(string, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// `uid`.
    #[prost(string, tag = "4")]
    #[serde(deserialize_with = "nullable")]
    pub uid: String,
    /// `apiVersion`.
    #[prost(string, tag = "5")]
    #[serde(deserialize_with = "nullable")]
    pub api_version: String,
    /// `controller`.
    #[prost(bool, tag = "6")]
    #[serde(deserialize_with = "nullable")]
    pub controller: bool,
}

/// Any object of which only the metadata is read. Every kind has it in field 1.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct MetadataOnly {
    /// `metadata`.
    #[prost(message, required, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub metadata: ApiMetadata,
}

/// `LabelSelector`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiSelector {
    /// `matchLabels`.
    #[prost(btree_map = "string, string", tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub match_labels: BTreeMap<String, String>,
    /// `matchExpressions`.
    #[prost(message, repeated, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub match_expressions: Vec<ApiRequirement>,
}

/// `LabelSelectorRequirement`, and with the same fields `NodeSelectorRequirement` of
/// k8s.io/api/core/v1.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiRequirement {
    /// `key`.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub key: String,
    /// `operator`.
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub operator: String,
    /// `values`.
    #[prost(string, repeated, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub values: Vec<String>,
}
