//! Usage: k8s.io/metrics/pkg/apis/metrics/v1beta1, only in protobuf.

use super::metadata::ApiMetadata;
use super::primitive::{ApiDuration, ApiTime, Quantities};

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct NodeMetrics {
    #[prost(message, required, tag = "1")]
    pub metadata: ApiMetadata,
    #[prost(message, optional, tag = "2")]
    pub timestamp: Option<ApiTime>,
    #[prost(message, optional, tag = "3")]
    pub window: Option<ApiDuration>,
    #[prost(btree_map = "string, message", tag = "4")]
    pub usage: Quantities,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct PodMetrics {
    #[prost(message, required, tag = "1")]
    pub metadata: ApiMetadata,
    #[prost(message, optional, tag = "2")]
    pub timestamp: Option<ApiTime>,
    #[prost(message, optional, tag = "3")]
    pub window: Option<ApiDuration>,
    #[prost(message, repeated, tag = "4")]
    pub containers: Vec<ContainerMetrics>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ContainerMetrics {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(btree_map = "string, message", tag = "2")]
    pub usage: Quantities,
}
