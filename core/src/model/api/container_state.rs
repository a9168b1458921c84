//! States of containers: k8s.io/api/core/v1.

use serde::Deserialize;

use super::nullable::nullable;
use super::primitive::ApiTime;

/// `ContainerState`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiContainerState {
    /// `waiting`.
    #[prost(message, optional, tag = "1")]
    pub waiting: Option<ApiWaiting>,
    /// `running`.
    #[prost(message, optional, tag = "2")]
    pub running: Option<ApiRunning>,
    /// `terminated`.
    #[prost(message, optional, tag = "3")]
    pub terminated: Option<ApiTerminated>,
}

/// `ContainerStateRunning`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiRunning {
    /// `startedAt`.
    #[prost(message, optional, tag = "1")]
    pub started_at: Option<ApiTime>,
}

/// `ContainerStateWaiting`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default)]
pub struct ApiWaiting {
    /// `reason`.
    #[prost(string, optional, tag = "1")]
    pub reason: Option<String>,
}

/// `ContainerStateTerminated`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiTerminated {
    /// `exitCode`.
    #[prost(int32, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub exit_code: i32,
    /// `reason`.
    #[prost(string, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub reason: String,
}
