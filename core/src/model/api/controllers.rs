//! Controllers that create pods: k8s.io/api/apps/v1, batch/v1 and core/v1.

use super::messages::messages;
use super::metadata::ApiMetadata;
use super::primitive::{ApiPresence, ApiTime};

messages! {
    /// `ReplicaSet` and `ReplicationController`, which have these fields with the same numbers.
    struct ApiReplicaSet {
        metadata: ApiMetadata = 1 (message, required),
        spec: ApiReplicaSetSpec = 2 (message, required),
        status: ApiReplicaSetStatus = 3 (message, required),
    }

    /// `ReplicaSetStatus` and `ReplicationControllerStatus`.
    struct ApiReplicaSetStatus {
        conditions: Vec<ApiReplicaSetCondition> = 6 (message, repeated),
    }

    /// `ReplicaSetCondition` and `ReplicationControllerCondition`.
    struct ApiReplicaSetCondition {
        #[serde(rename = "type")]
        kind: String = 1 (string),
        status: String = 2 (string),
        reason: String = 4 (string),
        message: String = 5 (string),
    }

    /// `ReplicaSetSpec` and `ReplicationControllerSpec`.
    struct ApiReplicaSetSpec {
        replicas: Option<i32> = 1 (int32, optional),
        template: ApiPodTemplate = 3 (message, required),
    }

    /// `PodTemplateSpec`.
    struct ApiPodTemplate {
        spec: ApiTemplateSpec = 2 (message, required),
    }

    /// `PodSpec` of a template.
    struct ApiTemplateSpec {
        node_name: String = 10 (string),
        scheduling_gates: Vec<ApiPresence> = 38 (message, repeated),
    }

    struct ApiStatefulSet {
        metadata: ApiMetadata = 1 (message, required),
        spec: ApiStatefulSetSpec = 2 (message, required),
        status: ApiStatefulSetStatus = 3 (message, required),
    }

    struct ApiStatefulSetSpec {
        replicas: Option<i32> = 1 (int32, optional),
        template: ApiPodTemplate = 3 (message, required),
        pod_management_policy: String = 6 (string),
        update_strategy: ApiUpdateStrategy = 7 (message, required),
        min_ready_seconds: i32 = 9 (int32),
        ordinals: ApiOrdinals = 11 (message, required),
    }

    /// `StatefulSetUpdateStrategy`.
    #[derive(Copy)]
    struct ApiUpdateStrategy {
        rolling_update: ApiRollingUpdate = 2 (message, required),
    }

    /// `RollingUpdateStatefulSetStrategy`.
    #[derive(Copy)]
    struct ApiRollingUpdate {
        partition: i32 = 1 (int32),
    }

    struct ApiStatefulSetStatus {
        update_revision: String = 7 (string),
    }

    /// `StatefulSetOrdinals`.
    #[derive(Copy)]
    struct ApiOrdinals {
        start: i32 = 1 (int32),
    }

    struct ApiJob {
        metadata: ApiMetadata = 1 (message, required),
        spec: ApiJobSpec = 2 (message, required),
        status: ApiJobStatus = 3 (message, required),
    }

    struct ApiJobSpec {
        parallelism: Option<i32> = 1 (int32, optional),
        completions: Option<i32> = 2 (int32, optional),
        active_deadline_seconds: Option<i64> = 3 (int64, optional),
        template: ApiPodTemplate = 6 (message, required),
        backoff_limit: Option<i32> = 7 (int32, optional),
        suspend: bool = 10 (bool),
        pod_failure_policy: Option<ApiPodFailurePolicy> = 11 (message, optional),
        backoff_limit_per_index: Option<i32> = 12 (int32, optional),
        pod_replacement_policy: String = 14 (string),
        managed_by: String = 15 (string),
    }

    struct ApiPodFailurePolicy {
        rules: Vec<ApiPodFailureRule> = 1 (message, repeated),
    }

    /// `PodFailurePolicyRule`.
    struct ApiPodFailureRule {
        action: String = 1 (string),
        on_exit_codes: Option<ApiOnExitCodes> = 2 (message, optional),
        on_pod_conditions: Vec<ApiOnPodCondition> = 3 (message, repeated),
    }

    /// `PodFailurePolicyOnExitCodesRequirement`.
    struct ApiOnExitCodes {
        operator: String = 2 (string),
        values: Vec<i32> = 3 (int32, repeated),
    }

    /// `PodFailurePolicyOnPodConditionsPattern`.
    struct ApiOnPodCondition {
        #[serde(rename = "type")]
        kind: String = 1 (string),
        status: String = 2 (string),
    }

    struct ApiJobStatus {
        conditions: Vec<ApiJobCondition> = 1 (message, repeated),
        start_time: Option<ApiTime> = 2 (message, optional),
        succeeded: i32 = 5 (int32),
        failed: i32 = 6 (int32),
        uncounted_terminated_pods: ApiUncountedPods = 8 (message, required),
    }

    /// `UncountedTerminatedPods`.
    struct ApiUncountedPods {
        /// The uids of pods that have failed and are not in the number of failed ones yet.
        failed: Vec<String> = 2 (string, repeated),
    }

    struct ApiJobCondition {
        #[serde(rename = "type")]
        kind: String = 1 (string),
        status: String = 2 (string),
    }
}
