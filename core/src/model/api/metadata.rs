//! Metadata and label selectors: k8s.io/apimachinery/pkg/apis/meta/v1.

use std::collections::BTreeMap;

use super::messages::messages;
use super::primitive::ApiTime;

messages! {
    /// `ObjectMeta`.
    struct ApiMetadata {
        name: String = 1 (string),
        namespace: String = 3 (string),
        uid: String = 5 (string),
        resource_version: String = 6 (string),
        generation: i64 = 7 (int64),
        creation_timestamp: Option<ApiTime> = 8 (message, optional),
        deletion_timestamp: Option<ApiTime> = 9 (message, optional),
        labels: BTreeMap<String, String> = 11 (btree_map = "string, string"),
        annotations: BTreeMap<String, String> = 12 (btree_map = "string, string"),
        owner_references: Vec<ApiOwner> = 13 (message, repeated),
    }

    /// `OwnerReference`.
    struct ApiOwner {
        kind: String = 1 (string),
        name: String = 3 (string),
        uid: String = 4 (string),
        api_version: String = 5 (string),
        controller: bool = 6 (bool),
    }

    /// Any object of which only the metadata is read. Every kind has it in field 1.
    struct MetadataOnly {
        metadata: ApiMetadata = 1 (message, required),
    }

    /// `LabelSelector`.
    struct ApiSelector {
        match_labels: BTreeMap<String, String> = 1 (btree_map = "string, string"),
        match_expressions: Vec<ApiRequirement> = 2 (message, repeated),
    }

    /// `LabelSelectorRequirement`, and with the same fields `NodeSelectorRequirement` of
    /// k8s.io/api/core/v1.
    struct ApiRequirement {
        key: String = 1 (string),
        operator: String = 2 (string),
        values: Vec<String> = 3 (string, repeated),
    }
}
