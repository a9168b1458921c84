//! Where usage comes from.

use std::time::Duration;

use jiff::Timestamp;
use kube::Client;

use crate::model::snapshot::node_addresses::NodeAddresses;
use crate::model::usage::Readings;
use crate::policy::{SourceKind, UsagePolicy};

use self::metrics_api::MetricsApi;
use self::prometheus::Prometheus;
use self::prometheus::trouble::Trouble;

pub mod metrics_api;
pub mod prometheus;

/// A source of usage.
#[derive(Clone)]
pub enum Source {
    /// The API metrics.k8s.io of the cluster.
    MetricsApi(MetricsApi),
    /// A Prometheus.
    Prometheus(Prometheus),
}

/// Why a source told nothing.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The API is not there.
    #[error("the API {api} does not exist in this cluster; it comes with metrics-server")]
    Absent {
        /// Group and version.
        api: &'static str,
    },
    /// The API is there, but nobody serves it.
    #[error("{api} does not answer: is metrics-server running? ({why})")]
    Down {
        /// Group and version.
        api: &'static str,
        /// What the API server said.
        why: String,
    },
    /// RBAC does not allow it.
    #[error(
        "may not list {resource} of {api}: the role must allow verb list on {resource} in API group metrics.k8s.io ({why})"
    )]
    Forbidden {
        /// Group and version.
        api: &'static str,
        /// `nodes` or `pods`.
        resource: &'static str,
        /// What the API server said.
        why: String,
    },
    /// No answer in time.
    #[error("{what} took longer than {} s", limit.as_secs())]
    Slow {
        /// What was asked for.
        what: String,
        /// How long it may take.
        limit: Duration,
    },
    /// A Prometheus is of no use.
    #[error("Prometheus at {url} {trouble}")]
    Prometheus {
        /// Where it is.
        url: String,
        /// What is wrong.
        trouble: Trouble,
    },
    /// Anything else.
    #[error("cannot read {what}: {why}")]
    Failed {
        /// What was asked for.
        what: String,
        /// What went wrong.
        why: String,
    },
}

impl SourceError {
    /// The stable label, one of few.
    pub const fn kind(&self) -> &'static str {
        match self {
            SourceError::Absent { .. } => "absent",
            SourceError::Down { .. } => "down",
            SourceError::Forbidden { .. } => "forbidden",
            SourceError::Slow { .. } => "slow",
            SourceError::Prometheus { trouble, .. } => trouble.kind(),
            SourceError::Failed { .. } => "failed",
        }
    }
}

impl Source {
    /// The source that a policy asks for first; metrics.k8s.io is that of this cluster.
    pub fn first(usage: &UsagePolicy, client: &Client) -> Self {
        Source::of(usage.source, usage, client)
    }

    /// The source that stands in for the first, if any.
    pub fn fallback(usage: &UsagePolicy, client: &Client) -> Option<Self> {
        usage.fallback.map(|kind| Source::of(kind, usage, client))
    }

    fn of(kind: SourceKind, usage: &UsagePolicy, client: &Client) -> Self {
        match (kind, &usage.prometheus) {
            (SourceKind::Prometheus, Some(policy)) => {
                Source::Prometheus(Prometheus::new(policy.clone(), usage))
            }
            // No policy is read that names Prometheus and does not say where it is.
            (SourceKind::Prometheus, None) | (SourceKind::MetricsApi, _) => {
                Source::MetricsApi(MetricsApi::new(client.clone()))
            }
        }
    }

    /// What it is.
    pub const fn kind(&self) -> SourceKind {
        match self {
            Source::MetricsApi(_) => SourceKind::MetricsApi,
            Source::Prometheus(_) => SourceKind::Prometheus,
        }
    }

    /// Reads the usage of all nodes and pods once.
    pub async fn read(&self, node_addresses: &NodeAddresses) -> Result<Readings, SourceError> {
        match self {
            Source::MetricsApi(api) => api.read().await,
            Source::Prometheus(it) => it
                .read(node_addresses)
                .await
                .map_err(|trouble| of_prometheus(it, trouble)),
        }
    }

    /// Reads what was used since then, or in a whole window, in the order of time; nothing where it has no memory.
    pub async fn read_past(
        &self,
        node_addresses: &NodeAddresses,
        since: Option<Timestamp>,
    ) -> Result<Vec<(Timestamp, Readings)>, SourceError> {
        match self {
            Source::MetricsApi(_) => Ok(Vec::new()),
            Source::Prometheus(it) => it
                .read_past(node_addresses, since)
                .await
                .map_err(|trouble| of_prometheus(it, trouble)),
        }
    }
}

fn of_prometheus(it: &Prometheus, trouble: Trouble) -> SourceError {
    SourceError::Prometheus {
        url: it.url().to_owned(),
        trouble,
    }
}
