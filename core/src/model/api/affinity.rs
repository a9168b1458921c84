//! Affinity and topology spread constraints of pods: k8s.io/api/core/v1.

use serde::Deserialize;

use super::metadata::{ApiRequirement, ApiSelector};
use super::nullable::nullable;

/// `Affinity`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiAffinity {
    /// `nodeAffinity`.
    #[prost(message, required, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub node_affinity: ApiNodeAffinity,
    /// `podAffinity`.
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub pod_affinity: ApiPodAffinity,
    /// `podAntiAffinity`.
    #[prost(message, required, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub pod_anti_affinity: ApiPodAffinity,
}

/// `NodeAffinity`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiNodeAffinity {
    /// `requiredDuringSchedulingIgnoredDuringExecution`.
    #[prost(message, optional, tag = "1")]
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub required: Option<ApiNodeSelector>,
    /// `preferredDuringSchedulingIgnoredDuringExecution`.
    #[prost(message, repeated, tag = "2")]
    #[serde(
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "nullable"
    )]
    pub preferred: Vec<ApiPreferredNode>,
}

/// `NodeSelector`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiNodeSelector {
    /// `nodeSelectorTerms`.
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub node_selector_terms: Vec<ApiNodeSelectorTerm>,
}

/// `NodeSelectorTerm`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiNodeSelectorTerm {
    /// `matchExpressions`.
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub match_expressions: Vec<ApiRequirement>,
    /// `matchFields`.
    #[prost(message, repeated, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub match_fields: Vec<ApiRequirement>,
}

/// `PreferredSchedulingTerm`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiPreferredNode {
    /// `weight`.
    #[prost(int32, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub weight: i32,
    /// `preference`.
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub preference: ApiNodeSelectorTerm,
}

/// `PodAffinity`, and with the same fields `PodAntiAffinity`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiPodAffinity {
    /// `requiredDuringSchedulingIgnoredDuringExecution`.
    #[prost(message, repeated, tag = "1")]
    #[serde(
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "nullable"
    )]
    pub required: Vec<ApiPodAffinityTerm>,
    /// `preferredDuringSchedulingIgnoredDuringExecution`.
    #[prost(message, repeated, tag = "2")]
    #[serde(
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "nullable"
    )]
    pub preferred: Vec<ApiWeightedTerm>,
}

/// `PodAffinityTerm`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiPodAffinityTerm {
    /// `labelSelector`.
    #[prost(message, optional, tag = "1")]
    pub label_selector: Option<ApiSelector>,
    /// `namespaces`.
    #[prost(string, repeated, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub namespaces: Vec<String>,
    /// `topologyKey`.
    #[prost(string, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub topology_key: String,
    /// `namespaceSelector`.
    #[prost(message, optional, tag = "4")]
    pub namespace_selector: Option<ApiSelector>,
    /// `matchLabelKeys`.
    #[prost(string, repeated, tag = "5")]
    #[serde(deserialize_with = "nullable")]
    pub match_label_keys: Vec<String>,
    /// `mismatchLabelKeys`.
    #[prost(string, repeated, tag = "6")]
    #[serde(deserialize_with = "nullable")]
    pub mismatch_label_keys: Vec<String>,
}

/// `WeightedPodAffinityTerm`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiWeightedTerm {
    /// `weight`.
    #[prost(int32, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub weight: i32,
    /// `podAffinityTerm`.
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub pod_affinity_term: ApiPodAffinityTerm,
}

/// `TopologySpreadConstraint`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiSpreadConstraint {
    /// `maxSkew`.
    #[prost(int32, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub max_skew: i32,
    /// `topologyKey`.
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub topology_key: String,
    /// `whenUnsatisfiable`.
    #[prost(string, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub when_unsatisfiable: String,
    /// `labelSelector`.
    #[prost(message, optional, tag = "4")]
    pub label_selector: Option<ApiSelector>,
    /// `minDomains`.
    #[prost(int32, optional, tag = "5")]
    pub min_domains: Option<i32>,
    /// `nodeAffinityPolicy`.
    #[prost(string, tag = "6")]
    #[serde(deserialize_with = "nullable")]
    pub node_affinity_policy: String,
    /// `nodeTaintsPolicy`.
    #[prost(string, tag = "7")]
    #[serde(deserialize_with = "nullable")]
    pub node_taints_policy: String,
    /// `matchLabelKeys`.
    #[prost(string, repeated, tag = "8")]
    #[serde(deserialize_with = "nullable")]
    pub match_label_keys: Vec<String>,
}
