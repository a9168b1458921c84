//! Nodes: k8s.io/api/core/v1.

use super::messages::messages;
use super::metadata::ApiMetadata;
use super::primitive::{ApiTime, Quantities};

messages! {
    struct ApiNode {
        metadata: ApiMetadata = 1 (message, required),
        spec: ApiNodeSpec = 2 (message, required),
        status: ApiNodeStatus = 3 (message, required),
    }

    struct ApiNodeSpec {
        unschedulable: bool = 4 (bool),
        taints: Vec<ApiTaint> = 5 (message, repeated),
    }

    struct ApiTaint {
        key: String = 1 (string),
        value: String = 2 (string),
        effect: String = 3 (string),
    }

    struct ApiNodeStatus {
        capacity: Quantities = 1 (btree_map = "string, message"),
        allocatable: Quantities = 2 (btree_map = "string, message"),
        /// Those of nodes have another field 3 than those of pods and no field 7.
        conditions: Vec<ApiCondition> = 4 (message, repeated),
        addresses: Vec<ApiAddress> = 5 (message, repeated),
        node_info: ApiNodeInfo = 7 (message, required),
        images: Vec<ApiImage> = 8 (message, repeated),
        runtime_handlers: Vec<ApiRuntimeHandler> = 12 (message, repeated),
        features: ApiNodeFeatures = 13 (message, required),
    }

    /// `NodeRuntimeHandler`.
    struct ApiRuntimeHandler {
        name: String = 1 (string),
        features: ApiRuntimeHandlerFeatures = 2 (message, required),
    }

    /// `NodeRuntimeHandlerFeatures`.
    struct ApiRuntimeHandlerFeatures {
        user_namespaces: bool = 2 (bool),
    }

    /// `NodeFeatures`.
    struct ApiNodeFeatures {
        supplemental_groups_policy: bool = 1 (bool),
    }

    /// `NodeSystemInfo`.
    struct ApiNodeInfo {
        operating_system: String = 9 (string),
    }

    /// `NodeCondition` and `PodCondition`, which have these fields with the same numbers.
    struct ApiCondition {
        #[serde(rename = "type")]
        kind: String = 1 (string),
        status: String = 2 (string),
        last_transition_time: Option<ApiTime> = 4 (message, optional),
        reason: String = 5 (string),
    }

    /// `NodeAddress`.
    struct ApiAddress {
        #[serde(rename = "type")]
        kind: String = 1 (string),
        address: String = 2 (string),
    }

    /// `ContainerImage`.
    struct ApiImage {
        names: Vec<String> = 1 (string, repeated),
        size_bytes: i64 = 2 (int64),
    }
}
