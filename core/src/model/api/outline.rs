//! The names of objects that cannot be decoded.
//!
//! Parts and texts are bytes here, so that nothing in them can fail.

use prost::bytes::Bytes;
use serde::Deserialize;

/// Any object: its parts.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ObjectOutline {
    #[prost(bytes = "bytes", tag = "1")]
    pub metadata: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub spec: Bytes,
}

/// `ObjectMeta`: the names.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ObjectNames {
    #[prost(bytes = "bytes", tag = "1")]
    pub name: Bytes,
    #[prost(bytes = "bytes", tag = "3")]
    pub namespace: Bytes,
}

/// `PodSpec` or `VolumeAttachmentSpec`: the name of the node.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct NodeNameOnly {
    /// `nodeName` of a pod.
    #[prost(bytes = "bytes", tag = "10")]
    pub of_pod: Bytes,
    /// `nodeName` of an attachment.
    #[prost(bytes = "bytes", tag = "3")]
    pub of_attachment: Bytes,
}

/// Any object: the metadata that a watch needs.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct VersionOnly {
    #[prost(message, required, tag = "1")]
    pub metadata: ObjectVersion,
}

/// `ObjectMeta`: the version.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectVersion {
    #[prost(string, tag = "6")]
    pub resource_version: String,
}
