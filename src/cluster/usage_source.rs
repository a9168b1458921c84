//! The sources of usage: metrics.k8s.io and Prometheus. Prometheus also answers the guards.

use std::time::Duration;

use jiff::Timestamp;
use kube::Client;

use crate::model::snapshot::node_addresses::NodeAddresses;
use crate::model::usage::Readings;
use crate::policy::{SourceKind, UsagePolicy};

use self::metrics_api::MetricsApi;
use self::prometheus::Prometheus;
use self::prometheus::error::PrometheusError;

pub mod metrics_api;
pub mod prometheus;
pub mod guards;

/// A source of usage.
#[derive(Clone)]
pub enum Source {
    /// The API metrics.k8s.io of the cluster.
    MetricsApi(MetricsApi),
    /// A Prometheus server.
    Prometheus(Prometheus),
}

/// Why a source yields no usage.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The API is not registered.
    #[error("the API {api} does not exist in this cluster; install metrics-server")]
    Absent {
        /// Group and version.
        api: &'static str,
    },
    /// The API is registered, but its server does not respond.
    #[error("{api} is unavailable: is metrics-server running? ({why})")]
    Down {
        /// Group and version.
        api: &'static str,
        /// The message of the API server.
        why: String,
    },
    /// RBAC denies the request.
    #[error(
        "cannot list {resource} of {api}: the role must allow verb list on {resource} in API \
         group metrics.k8s.io ({why})"
    )]
    Forbidden {
        /// Group and version.
        api: &'static str,
        /// `nodes` or `pods`.
        resource: &'static str,
        /// The message of the API server.
        why: String,
    },
    /// No response within the deadline.
    #[error("{what} took longer than {} s", limit.as_secs())]
    Slow {
        /// The requested resource.
        what: String,
        /// The deadline.
        limit: Duration,
    },
    /// Prometheus yields no usage.
    #[error("Prometheus at {url} {error}")]
    Prometheus {
        /// Its URL.
        url: String,
        /// The reason.
        error: PrometheusError,
    },
    /// Any other failure.
    #[error("cannot read {what}: {why}")]
    Failed {
        /// The requested resource.
        what: String,
        /// The reason.
        why: String,
    },
}

impl SourceError {
    /// The stable value of the metric label.
    pub const fn kind(&self) -> &'static str {
        match self {
            SourceError::Absent { .. } => "absent",
            SourceError::Down { .. } => "down",
            SourceError::Forbidden { .. } => "forbidden",
            SourceError::Slow { .. } => "slow",
            SourceError::Prometheus { error, .. } => error.kind(),
            SourceError::Failed { .. } => "failed",
        }
    }
}

impl Source {
    /// The preferred source of a policy. metrics.k8s.io is read through `client`.
    pub fn first(usage: &UsagePolicy, client: &Client) -> Self {
        Source::of(usage.source, usage, client)
    }

    /// The source to use while the preferred one fails, if the policy names one.
    pub fn fallback(usage: &UsagePolicy, client: &Client) -> Option<Self> {
        usage.fallback.map(|kind| Source::of(kind, usage, client))
    }

    fn of(kind: SourceKind, usage: &UsagePolicy, client: &Client) -> Self {
        match (kind, &usage.prometheus) {
            (SourceKind::Prometheus, Some(policy)) => {
                Source::Prometheus(Prometheus::new(policy.clone(), usage))
            }
            // The policy parser rejects Prometheus without a URL, so the first case does not occur.
            (SourceKind::Prometheus, None) | (SourceKind::MetricsApi, _) => {
                Source::MetricsApi(MetricsApi::new(client.clone()))
            }
        }
    }

    /// The kind of source, as in the policy.
    pub const fn kind(&self) -> SourceKind {
        match self {
            Source::MetricsApi(_) => SourceKind::MetricsApi,
            Source::Prometheus(_) => SourceKind::Prometheus,
        }
    }

    /// Reads the present usage of all nodes and pods.
    pub async fn read(&self, node_addresses: &NodeAddresses) -> Result<Readings, SourceError> {
        match self {
            Source::MetricsApi(api) => api.read().await,
            Source::Prometheus(prometheus) => prometheus
                .read(node_addresses)
                .await
                .map_err(|error| from_prometheus(prometheus, error)),
        }
    }

    /// Reads the usage since a time, but at most of one window and of the time in which trends look
    /// back, and passes it to `take` in the order of time. `samples` is about the number of nodes
    /// and pods. metrics.k8s.io keeps no past.
    pub async fn read_past(
        &self,
        node_addresses: &NodeAddresses,
        since: Option<Timestamp>,
        samples: usize,
        take: impl FnMut(Timestamp, Readings),
    ) -> Result<(), SourceError> {
        match self {
            Source::MetricsApi(_) => Ok(()),
            Source::Prometheus(prometheus) => prometheus
                .read_past(node_addresses, since, samples, take)
                .await
                .map_err(|error| from_prometheus(prometheus, error)),
        }
    }
}

fn from_prometheus(prometheus: &Prometheus, error: PrometheusError) -> SourceError {
    SourceError::Prometheus { url: prometheus.url().to_owned(), error }
}
