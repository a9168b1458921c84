//! Usage of nodes and pods: raw readings, and smoothed usage aligned with one snapshot.

use std::collections::BTreeMap;
use std::fmt;

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::{NodeId, PodId};
use crate::values::Amount;

mod compact;
mod hindsight;
pub mod history;
pub mod import;
mod outlook;
pub mod recorded;
mod rhythm;
mod skipped;
mod smoothing;

pub use hindsight::{EndedHour, Hindsight};
pub use outlook::{ExpectedDay, Outlook};
pub use skipped::SkippedSamples;

/// An amount of cpu and of memory, the two resources that usage sources measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// Nanocores.
    pub cpu: Amount,
    /// Working set in bytes.
    pub memory: Amount,
}

impl Measure {
    /// Returns the sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Measure {
            cpu: self.cpu.plus(other.cpu),
            memory: self.memory.plus(other.memory),
        }
    }

    /// Returns the difference, not below zero.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Measure {
            cpu: self.cpu.minus(other.cpu),
            memory: self.memory.minus(other.memory),
        }
    }
}

/// One sample of a node or pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The time of the sample by the clock of the source.
    pub at: Timestamp,
    /// The period before that time over which the sample is an average; zero if unknown.
    pub window: SignedDuration,
    /// The usage.
    pub used: Measure,
}

/// The result of one poll of a source.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    /// Samples by node name.
    pub nodes: BTreeMap<String, Sample>,
    /// Samples by namespace and pod name.
    pub pods: BTreeMap<(String, String), Sample>,
    /// The node of each pod, if the source reports it.
    pub placed: BTreeMap<(String, String), String>,
    /// Samples that could not be read.
    pub skipped: SkippedSamples,
}

/// Usage smoothed over the window, by position in one snapshot.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// Usage per node: the sum over its pods, plus the remainder that belongs to no pod.
    pub nodes: Vec<NodeUsage>,
    /// Usage per pod.
    pub pods: Vec<PodUsage>,
    /// The standard deviation of each pod's samples from their average; zero if unknown.
    pub deviations: Vec<Measure>,
    /// The latest total per node as the source reported it, not smoothed.
    pub readings: Vec<Option<Measure>>,
    /// Present usage of nodes and pods, if `nodes` and `pods` are what is expected.
    pub present: Option<Box<PresentUsage>>,
}

/// Smoothed usage at present, by position in one snapshot, and what is expected beyond the hours
/// that decide.
#[derive(Clone, Debug)]
pub struct PresentUsage {
    /// The period after now for which usage is expected.
    pub ahead: SignedDuration,
    /// Usage per node.
    pub nodes: Vec<NodeUsage>,
    /// Usage per pod.
    pub pods: Vec<PodUsage>,
    /// Expected cpu of the next day.
    pub outlook: Outlook,
}

/// The usage of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeUsage {
    /// The sum over the pods that stay on the node, plus the smoothed remainder.
    Known(Measure),
    /// Too little is known.
    Unknown(Unmeasured),
}

/// The usage of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodUsage {
    /// Smoothed over enough samples.
    Known(Measure),
    /// Estimated because the pod is too new to have samples: the typical usage of its siblings, or
    /// its request.
    Estimated(Measure),
    /// Too little is known. The last known usage still counts on its node.
    Unknown(Unmeasured, Measure),
}

/// The reason why usage is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmeasured {
    /// The source has no sample.
    Missing,
    /// The latest sample is this old.
    Stale(SignedDuration),
    /// The latest sample is this far ahead of our clock.
    Future(SignedDuration),
    /// The window holds fewer samples than needed.
    Few {
        /// Samples in the window.
        have: u32,
        /// Samples needed.
        need: u32,
    },
}

impl Unmeasured {
    /// The kind of a window that is still filling, which resolves by itself.
    pub const FEW: &str = "few-samples";

    /// Returns the stable code.
    pub const fn kind(self) -> &'static str {
        match self {
            Unmeasured::Missing => "missing",
            Unmeasured::Stale(_) => "stale",
            Unmeasured::Future(_) => "future",
            Unmeasured::Few { .. } => Unmeasured::FEW,
        }
    }
}

impl fmt::Display for Unmeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unmeasured::Missing => f.write_str("no samples"),
            Unmeasured::Stale(age) => write!(f, "the latest sample is {:#} old", whole(*age)),
            Unmeasured::Future(lead) => {
                write!(
                    f,
                    "the latest sample is {:#} ahead of the local clock",
                    whole(*lead)
                )
            }
            Unmeasured::Few { have, need } => write!(f, "{have} of {need} required samples"),
        }
    }
}

/// Rounds down to whole seconds, which is precise enough for people.
fn whole(duration: SignedDuration) -> SignedDuration {
    SignedDuration::from_secs(duration.as_secs())
}

impl Usage {
    /// Returns the usage of a node, if known.
    pub fn node(&self, id: NodeId) -> Option<Measure> {
        match self.nodes.get(id.0) {
            Some(NodeUsage::Known(used)) => Some(*used),
            Some(NodeUsage::Unknown(_)) | None => None,
        }
    }

    /// Returns the present usage of a node and the period for which usage is expected; `None` if
    /// the known usage is the present.
    pub fn at_present(&self, id: NodeId) -> Option<(Measure, SignedDuration)> {
        let present = self.present.as_ref()?;
        match present.nodes.get(id.0) {
            Some(NodeUsage::Known(used)) => Some((*used, present.ahead)),
            Some(NodeUsage::Unknown(_)) | None => None,
        }
    }

    /// Returns the expected cpu of the next day; `None` if only the present is known.
    pub fn outlook(&self) -> Option<&Outlook> {
        Some(&self.present.as_ref()?.outlook)
    }

    /// Returns the latest total of a node as the source reported it, regardless of its pods.
    pub fn reading(&self, id: NodeId) -> Option<Measure> {
        self.readings.get(id.0).copied().flatten()
    }

    /// Returns the reason why a node's usage is unknown; `None` if it is known.
    pub fn unmeasured(&self, id: NodeId) -> Option<Unmeasured> {
        match self.nodes.get(id.0) {
            Some(NodeUsage::Known(_)) => None,
            Some(NodeUsage::Unknown(why)) => Some(*why),
            None => Some(Unmeasured::Missing),
        }
    }

    /// Returns the usage of a pod, if known or estimated.
    pub fn pod(&self, id: PodId) -> Option<Measure> {
        match self.pods.get(id.0) {
            Some(PodUsage::Known(used) | PodUsage::Estimated(used)) => Some(*used),
            Some(PodUsage::Unknown(..)) | None => None,
        }
    }

    /// Returns how far the samples of a pod usually are from their average; zero if unknown.
    pub fn deviation(&self, id: PodId) -> Measure {
        self.deviations.get(id.0).copied().unwrap_or_default()
    }

    /// Returns the reason why a pod's usage is unknown; `None` if it is known or estimated.
    pub fn unmeasured_pod(&self, id: PodId) -> Option<Unmeasured> {
        match self.pods.get(id.0) {
            Some(PodUsage::Known(_) | PodUsage::Estimated(_)) => None,
            Some(PodUsage::Unknown(why, _)) => Some(*why),
            None => Some(Unmeasured::Missing),
        }
    }
}
