//! States of containers: k8s.io/api/core/v1.

use super::messages::messages;
use super::primitive::ApiTime;

messages! {
    /// `ContainerState`.
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
