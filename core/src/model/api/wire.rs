//! Envelopes, lists, watch events and errors.

use prost::bytes::Bytes;
use serde::Deserialize;

use super::nullable::nullable;

/// `Unknown` of k8s.io/apimachinery/pkg/runtime: the envelope of every protobuf object, after the
/// four bytes of [`Envelope::MAGIC`].
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Envelope {
    /// `raw`: the object.
    #[prost(bytes = "bytes", tag = "2")]
    pub raw: Bytes,
}

impl Envelope {
    /// The first bytes of a protobuf object of Kubernetes.
    pub const MAGIC: [u8; 4] = *b"k8s\0";
}

/// `ListMeta` of k8s.io/apimachinery/pkg/apis/meta/v1.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ListMetadata {
    /// `resourceVersion`.
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub resource_version: String,
    /// `continue`: the token of the next page; empty on the last.
    #[prost(string, tag = "3")]
    #[serde(rename = "continue", deserialize_with = "nullable")]
    pub next: String,
}

/// `WatchEvent` of k8s.io/apimachinery/pkg/apis/meta/v1, in protobuf.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct WatchEvent {
    /// `type`: `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`.
    #[prost(string, tag = "1")]
    pub kind: String,
    /// `object`, a `RawExtension` of k8s.io/apimachinery/pkg/runtime.
    #[prost(message, required, tag = "2")]
    pub object: RawExtension,
}

/// `RawExtension` of k8s.io/apimachinery/pkg/runtime.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct RawExtension {
    /// `raw`: the object in its envelope.
    #[prost(bytes = "bytes", tag = "1")]
    pub raw: Bytes,
}

/// `Status` of k8s.io/apimachinery/pkg/apis/meta/v1: the answer to a request that fails.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct Status {
    /// `message`.
    #[prost(string, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub message: String,
    /// `reason`.
    #[prost(string, tag = "4")]
    #[serde(deserialize_with = "nullable")]
    pub reason: String,
    /// `details`.
    #[prost(message, required, tag = "5")]
    #[serde(deserialize_with = "nullable")]
    pub details: StatusDetails,
    /// `code`: the HTTP status.
    #[prost(int32, tag = "6")]
    #[serde(deserialize_with = "nullable")]
    pub code: i32,
}

/// `StatusDetails` of k8s.io/apimachinery/pkg/apis/meta/v1.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusDetails {
    /// `retryAfterSeconds`.
    #[prost(int32, tag = "5")]
    #[serde(deserialize_with = "nullable")]
    pub retry_after_seconds: i32,
}
