//! What nodes and pods really use: readings as they come, and usage smoothed and laid beside one snapshot.

use std::collections::BTreeMap;
use std::fmt;

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::facts::Skipped;
use crate::model::snapshot::{NodeId, PodId};
use crate::values::Amount;

pub mod history;
pub mod import;
mod smoothing;

/// An amount of cpu and of memory, which is what metrics tell of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// Nanocores.
    pub cpu: Amount,
    /// Bytes of working set.
    pub memory: Amount,
}

impl Measure {
    /// The sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Measure {
            cpu: self.cpu.plus(other.cpu),
            memory: self.memory.plus(other.memory),
        }
    }

    /// The difference, not below zero.
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
    /// When it was taken, by the source's clock.
    pub at: Timestamp,
    /// Over how long before that it is the average; zero where the source does not say.
    pub window: SignedDuration,
    /// What was used.
    pub used: Measure,
}

/// One poll of a source.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    /// By node name.
    pub nodes: BTreeMap<String, Sample>,
    /// By namespace and pod name.
    pub pods: BTreeMap<(String, String), Sample>,
    /// The node that each pod was on, where the source tells it.
    pub placed: BTreeMap<(String, String), String>,
    /// Samples that could not be read.
    pub skipped: Vec<Skipped>,
}

/// Usage smoothed over the window, by position in one snapshot.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// Per node: what its pods use, and what no pod accounts for.
    pub nodes: Vec<NodeUsage>,
    /// Per pod.
    pub pods: Vec<PodUsage>,
    /// Per node: the newest total that the source told, not smoothed.
    pub readings: Vec<Option<Measure>>,
}

/// What a node uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeUsage {
    /// The sum over the pods that stay on it, and the smoothed remainder.
    Known(Measure),
    /// Not known well enough.
    Unknown(Unmeasured),
}

/// What a pod uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodUsage {
    /// Smoothed over enough samples.
    Known(Measure),
    /// Too new to have samples: what its siblings typically use, or its request.
    Estimated(Measure),
    /// Not known well enough; what was last known still counts on its node.
    Unknown(Unmeasured, Measure),
}

/// Why usage is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmeasured {
    /// The source has never told of it.
    Missing,
    /// The newest sample is this old.
    Stale(SignedDuration),
    /// The newest sample is this far ahead of our clock.
    Future(SignedDuration),
    /// The window holds so few samples of those needed.
    Few {
        /// In the window.
        have: u32,
        /// Needed.
        need: u32,
    },
}

impl Unmeasured {
    /// The kind of a window that is still filling, which passes by itself.
    pub const FEW: &str = "few-samples";

    /// The stable label.
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
            Unmeasured::Missing => f.write_str("no metrics"),
            Unmeasured::Stale(age) => write!(f, "metrics are {:#} old", whole(*age)),
            Unmeasured::Future(lead) => {
                write!(f, "metrics are {:#} ahead of our clock", whole(*lead))
            }
            Unmeasured::Few { have, need } => write!(f, "{have} of the {need} samples needed"),
        }
    }
}

/// Whole seconds: more says nothing to a person.
fn whole(duration: SignedDuration) -> SignedDuration {
    SignedDuration::from_secs(duration.as_secs())
}

impl Usage {
    /// What a node uses, where that is known.
    pub fn node(&self, id: NodeId) -> Option<Measure> {
        match self.nodes.get(id.0) {
            Some(NodeUsage::Known(used)) => Some(*used),
            Some(NodeUsage::Unknown(_)) | None => None,
        }
    }

    /// The newest total of a node as the source told it, whatever its pods come to.
    pub fn reading(&self, id: NodeId) -> Option<Measure> {
        self.readings.get(id.0).copied().flatten()
    }

    /// Why a node's usage is not known; `None` where it is.
    pub fn unmeasured(&self, id: NodeId) -> Option<Unmeasured> {
        match self.nodes.get(id.0) {
            Some(NodeUsage::Known(_)) => None,
            Some(NodeUsage::Unknown(why)) => Some(*why),
            None => Some(Unmeasured::Missing),
        }
    }

    /// What a pod uses, where that is known or can be estimated.
    pub fn pod(&self, id: PodId) -> Option<Measure> {
        match self.pods.get(id.0) {
            Some(PodUsage::Known(used) | PodUsage::Estimated(used)) => Some(*used),
            Some(PodUsage::Unknown(..)) | None => None,
        }
    }

    /// Why a pod's usage is not known; `None` where it is, or can be estimated.
    pub fn unmeasured_pod(&self, id: PodId) -> Option<Unmeasured> {
        match self.pods.get(id.0) {
            Some(PodUsage::Known(_) | PodUsage::Estimated(_)) => None,
            Some(PodUsage::Unknown(why, _)) => Some(*why),
            None => Some(Unmeasured::Missing),
        }
    }
}
