//! Affinity and topology spread constraints of pods: k8s.io/api/core/v1.

use super::messages::messages;
use super::metadata::{ApiRequirement, ApiSelector};

messages! {
    struct ApiAffinity {
        node_affinity: ApiNodeAffinity = 1 (message, required),
        pod_affinity: ApiPodAffinity = 2 (message, required),
        pod_anti_affinity: ApiPodAffinity = 3 (message, required),
    }

    struct ApiNodeAffinity {
        #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
        required: Option<ApiNodeSelector> = 1 (message, optional),
        #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
        preferred: Vec<ApiPreferredNode> = 2 (message, repeated),
    }

    struct ApiNodeSelector {
        node_selector_terms: Vec<ApiNodeSelectorTerm> = 1 (message, repeated),
    }

    struct ApiNodeSelectorTerm {
        match_expressions: Vec<ApiRequirement> = 1 (message, repeated),
        match_fields: Vec<ApiRequirement> = 2 (message, repeated),
    }

    /// `PreferredSchedulingTerm`.
    struct ApiPreferredNode {
        weight: i32 = 1 (int32),
        preference: ApiNodeSelectorTerm = 2 (message, required),
    }

    /// `PodAffinity`, and with the same fields `PodAntiAffinity`.
    struct ApiPodAffinity {
        #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
        required: Vec<ApiPodAffinityTerm> = 1 (message, repeated),
        #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
        preferred: Vec<ApiWeightedTerm> = 2 (message, repeated),
    }

    struct ApiPodAffinityTerm {
        label_selector: Option<ApiSelector> = 1 (message, optional),
        namespaces: Vec<String> = 2 (string, repeated),
        topology_key: String = 3 (string),
        namespace_selector: Option<ApiSelector> = 4 (message, optional),
        match_label_keys: Vec<String> = 5 (string, repeated),
        mismatch_label_keys: Vec<String> = 6 (string, repeated),
    }

    /// `WeightedPodAffinityTerm`.
    struct ApiWeightedTerm {
        weight: i32 = 1 (int32),
        pod_affinity_term: ApiPodAffinityTerm = 2 (message, required),
    }

    /// `TopologySpreadConstraint`.
    struct ApiSpreadConstraint {
        max_skew: i32 = 1 (int32),
        topology_key: String = 2 (string),
        when_unsatisfiable: String = 3 (string),
        label_selector: Option<ApiSelector> = 4 (message, optional),
        min_domains: Option<i32> = 5 (int32, optional),
        node_affinity_policy: String = 6 (string),
        node_taints_policy: String = 7 (string),
        match_label_keys: Vec<String> = 8 (string, repeated),
    }
}
