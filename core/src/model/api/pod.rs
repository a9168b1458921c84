//! Pods: k8s.io/api/core/v1.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::affinity::{ApiAffinity, ApiSpreadConstraint};
use super::messages::{messages, nullable};
use super::metadata::ApiMetadata;
use super::node::ApiCondition;
use super::primitive::{ApiPresence, ApiTime, Quantities};
use super::storage::ApiClaimSpec;

messages! {
    struct ApiPod {
        metadata: ApiMetadata = 1 (message, required),
        spec: ApiPodSpec = 2 (message, required),
        status: ApiPodStatus = 3 (message, required),
    }

    struct ApiPodSpec {
        volumes: Vec<ApiVolume> = 1 (message, repeated),
        containers: Vec<ApiContainer> = 2 (message, repeated),
        restart_policy: String = 3 (string),
        termination_grace_period_seconds: Option<i64> = 4 (int64, optional),
        node_selector: BTreeMap<String, String> = 7 (btree_map = "string, string"),
        node_name: String = 10 (string),
        host_network: bool = 11 (bool),
        security_context: ApiPodSecurityContext = 14 (message, required),
        affinity: ApiAffinity = 18 (message, required),
        scheduler_name: String = 19 (string),
        init_containers: Vec<ApiContainer> = 20 (message, repeated),
        tolerations: Vec<ApiToleration> = 22 (message, repeated),
        priority_class_name: String = 24 (string),
        priority: Option<i32> = 25 (int32, optional),
        runtime_class_name: String = 29 (string),
        preemption_policy: String = 31 (string),
        overhead: Quantities = 32 (btree_map = "string, message"),
        topology_spread_constraints: Vec<ApiSpreadConstraint> = 33 (message, repeated),
        ephemeral_containers: Vec<ApiEphemeralContainer> = 34 (message, repeated),
        os: ApiPodOs = 36 (message, required),
        host_users: Option<bool> = 37 (bool, optional),
        scheduling_gates: Vec<ApiPresence> = 38 (message, repeated),
        resource_claims: Vec<ApiPresence> = 39 (message, repeated),
        /// Those of the whole pod.
        resources: Option<ApiResources> = 40 (message, optional),
        /// Of Kubernetes 1.35, before `schedulingGroup`.
        workload_ref: ApiWorkloadReference = 42 (message, required),
        scheduling_group: ApiSchedulingGroup = 43 (message, required),
    }

    struct ApiPodSecurityContext {
        supplemental_groups_policy: String = 12 (string),
    }

    struct ApiPodOs {
        name: String = 1 (string),
    }

    /// `PodSchedulingGroup`.
    struct ApiSchedulingGroup {
        pod_group_name: String = 1 (string),
    }

    struct ApiWorkloadReference {
        name: String = 1 (string),
        pod_group: String = 2 (string),
        pod_group_replica_key: String = 3 (string),
    }

    struct ApiContainer {
        name: String = 1 (string),
        image: String = 2 (string),
        ports: Vec<ApiPort> = 6 (message, repeated),
        resources: ApiResources = 8 (message, required),
        image_pull_policy: String = 14 (string),
        restart_policy: String = 24 (string),
    }

    /// `ResourceRequirements`.
    struct ApiResources {
        limits: Quantities = 1 (btree_map = "string, message"),
        requests: Quantities = 2 (btree_map = "string, message"),
    }

    /// `ContainerPort`.
    struct ApiPort {
        host_port: i32 = 2 (int32),
        container_port: i32 = 3 (int32),
        protocol: String = 4 (string),
        #[serde(rename = "hostIP")]
        host_ip: String = 5 (string),
    }

    struct ApiToleration {
        key: String = 1 (string),
        operator: String = 2 (string),
        value: String = 3 (string),
        effect: String = 4 (string),
        toleration_seconds: Option<i64> = 5 (int64, optional),
    }

    struct ApiVolumeSource {
        host_path: Option<ApiPresence> = 1 (message, optional),
        empty_dir: Option<ApiPresence> = 2 (message, optional),
        persistent_volume_claim: Option<ApiClaimSource> = 10 (message, optional),
        csi: Option<ApiInlineCsiVolume> = 28 (message, optional),
        ephemeral: Option<ApiEphemeralSource> = 29 (message, optional),
        image: Option<ApiImageSource> = 30 (message, optional),
    }

    /// `ImageVolumeSource`.
    struct ApiImageSource {
        reference: String = 1 (string),
        pull_policy: String = 2 (string),
    }

    /// `CSIVolumeSource`.
    struct ApiInlineCsiVolume {
        driver: String = 1 (string),
    }

    /// `PersistentVolumeClaimVolumeSource`.
    struct ApiClaimSource {
        claim_name: String = 1 (string),
    }

    /// `EphemeralVolumeSource`.
    struct ApiEphemeralSource {
        volume_claim_template: ApiClaimTemplate = 1 (message, required),
    }

    /// `PersistentVolumeClaimTemplate`.
    struct ApiClaimTemplate {
        spec: ApiClaimSpec = 2 (message, required),
    }

    struct ApiPodStatus {
        phase: String = 1 (string),
        conditions: Vec<ApiCondition> = 2 (message, repeated),
        reason: String = 4 (string),
        start_time: Option<ApiTime> = 7 (message, optional),
        container_statuses: Vec<ApiContainerStatus> = 8 (message, repeated),
        qos_class: String = 9 (string),
        init_container_statuses: Vec<ApiContainerStatus> = 10 (message, repeated),
        nominated_node_name: String = 11 (string),
        ephemeral_container_statuses: Vec<ApiContainerStatus> = 13 (message, repeated),
        /// Devices by dynamic resource claims that the pod requests as an extended resource.
        extended_resource_claim_status: Option<ApiPresence> = 18 (message, optional),
        /// Those of the whole pod.
        allocated_resources: Quantities = 19 (btree_map = "string, message"),
        /// Those of the whole pod.
        resources: Option<ApiResources> = 20 (message, optional),
    }

    struct ApiContainerStatus {
        name: String = 1 (string),
        state: ApiContainerState = 2 (message, required),
        last_state: ApiContainerState = 3 (message, required),
        restart_count: i32 = 5 (int32),
        allocated_resources: Quantities = 10 (btree_map = "string, message"),
        resources: Option<ApiResources> = 11 (message, optional),
    }
}

/// `EphemeralContainer`, whose fields are one message in protobuf and stand side by side in JSON.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiEphemeralContainer {
    /// `ephemeralContainerCommon`.
    #[prost(message, required, tag = "1")]
    #[serde(flatten)]
    pub container: ApiContainer,
}

#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiVolume {
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// `volumeSource`, whose fields stand beside the name in JSON.
    #[prost(message, required, tag = "2")]
    #[serde(flatten)]
    pub source: ApiVolumeSource,
}

messages! {
    struct ApiContainerState {
        waiting: Option<ApiWaiting> = 1 (message, optional),
        running: Option<ApiRunning> = 2 (message, optional),
        terminated: Option<ApiTerminated> = 3 (message, optional),
    }

    /// `ContainerStateRunning`.
    struct ApiRunning {
        started_at: Option<ApiTime> = 1 (message, optional),
    }

    /// `ContainerStateWaiting`.
    struct ApiWaiting {
        reason: Option<String> = 1 (string, optional),
    }

    /// `ContainerStateTerminated`.
    struct ApiTerminated {
        exit_code: i32 = 1 (int32),
        reason: String = 3 (string),
    }
}
