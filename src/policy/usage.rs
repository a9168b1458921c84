//! How usage is read and smoothed.

use jiff::SignedDuration;

use super::Prometheus;
use crate::values::Ratio;

/// How usage is read and smoothed.
#[derive(Clone, Debug, PartialEq)]
pub struct UsagePolicy {
    /// Where readings come from.
    pub source: SourceKind,
    /// Where they come from while those of the source are stale.
    pub fallback: Option<SourceKind>,
    /// How Prometheus is asked; there whenever it is the source or the fallback.
    pub prometheus: Option<Prometheus>,
    /// Time between two readings.
    pub poll: SignedDuration,
    /// How far back samples count.
    pub window: SignedDuration,
    /// How the samples of a window become one figure.
    pub smoothing: Smoothing,
    /// A series whose newest sample is older than this is unknown.
    pub stale_after: SignedDuration,
    /// A series with fewer samples than this in its window is unknown.
    pub min_samples: u32,
}

/// Where readings come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The resource metrics API, metrics.k8s.io, as metrics-server serves it.
    MetricsApi,
    /// Prometheus, or what answers like it.
    Prometheus,
}

impl SourceKind {
    /// The word for it in a policy, in logs and metrics.
    pub const fn label(self) -> &'static str {
        match self {
            SourceKind::MetricsApi => "metricsApi",
            SourceKind::Prometheus => "prometheus",
        }
    }
}

/// How the samples of a window become one figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Smoothing {
    /// An average in which a sample's weight halves with each such time of age.
    HalfLife(SignedDuration),
    /// All samples count alike.
    Mean,
    /// The largest sample.
    Max,
    /// The smallest value that at least this share of the samples does not exceed.
    Percentile(Ratio),
}

impl Smoothing {
    /// The stable label.
    pub const fn label(self) -> &'static str {
        match self {
            Smoothing::HalfLife(_) => "half_life",
            Smoothing::Mean => "mean",
            Smoothing::Max => "max",
            Smoothing::Percentile(_) => "percentile",
        }
    }
}
