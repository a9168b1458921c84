//! Envelopes, lists, watch events and errors.

use prost::bytes::Bytes;

use super::messages::messages;

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

messages! {
    /// `ListMeta` of k8s.io/apimachinery/pkg/apis/meta/v1.
    struct ListMetadata {
        resource_version: String = 2 (string),
        /// The token of the next page; empty on the last.
        #[serde(rename = "continue")]
        next: String = 3 (string),
    }

    /// `Status` of k8s.io/apimachinery/pkg/apis/meta/v1: the answer to a request that fails.
    struct Status {
        message: String = 3 (string),
        reason: String = 4 (string),
        details: StatusDetails = 5 (message, required),
        /// The HTTP status.
        code: i32 = 6 (int32),
    }

    /// `StatusDetails` of k8s.io/apimachinery/pkg/apis/meta/v1.
    #[derive(Copy)]
    struct StatusDetails {
        retry_after_seconds: i32 = 5 (int32),
    }
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
