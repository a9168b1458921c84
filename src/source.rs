//! Where usage comes from.

use std::time::Duration;

use crate::usage::Readings;

use self::metrics_api::MetricsApi;

pub mod metrics_api;

/// A source of usage.
#[derive(Clone)]
pub enum Source {
    /// The API metrics.k8s.io of the cluster.
    MetricsApi(MetricsApi),
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
    /// Anything else.
    #[error("cannot read {what}: {why}")]
    Failed {
        /// What was asked for.
        what: String,
        /// What went wrong.
        why: String,
    },
}

impl Source {
    /// Reads the usage of all nodes and pods once.
    pub async fn read(&self) -> Result<Readings, SourceError> {
        match self {
            Source::MetricsApi(api) => api.read().await,
        }
    }
}
