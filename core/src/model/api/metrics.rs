//! Usage: k8s.io/metrics/pkg/apis/metrics/v1beta1, only in protobuf.

use super::metadata::ApiMetadata;
use super::primitive::{ApiDuration, ApiTime, Quantities};

/// `NodeMetrics`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct NodeMetrics {
    /// `metadata`.
    #[prost(message, required, tag = "1")]
    pub metadata: ApiMetadata,
    /// `timestamp`.
    #[prost(message, optional, tag = "2")]
    pub timestamp: Option<ApiTime>,
    /// `window`.
    #[prost(message, optional, tag = "3")]
    pub window: Option<ApiDuration>,
    /// `usage`.
    #[prost(btree_map = "string, message", tag = "4")]
    pub usage: Quantities,
}

/// `PodMetrics`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct PodMetrics {
    /// `metadata`.
    #[prost(message, required, tag = "1")]
    pub metadata: ApiMetadata,
    /// `timestamp`.
    #[prost(message, optional, tag = "2")]
    pub timestamp: Option<ApiTime>,
    /// `window`.
    #[prost(message, optional, tag = "3")]
    pub window: Option<ApiDuration>,
    /// `containers`.
    #[prost(message, repeated, tag = "4")]
    pub containers: Vec<ContainerMetrics>,
}

/// `ContainerMetrics`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ContainerMetrics {
    /// `name`.
    #[prost(string, tag = "1")]
    pub name: String,
    /// `usage`.
    #[prost(btree_map = "string, message", tag = "2")]
    pub usage: Quantities,
}
