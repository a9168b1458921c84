//! Why usage is unknown.

use std::fmt;
use std::sync::Arc;

use jiff::SignedDuration;

/// The reason why usage is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmeasured {
    /// The source has no sample.
    Missing,
    /// The pod does not run yet, or not for long, so it has no samples that say what it uses.
    Starting,
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
    /// The source has a sample that cannot be used.
    Flawed(SampleFlaw),
}

/// Why a sample cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SampleFlaw {
    /// It cannot be read, for this reason.
    #[error("its sample cannot be read: {0}")]
    Unreadable(Arc<str>),
    /// It does not cover this container, which runs.
    #[error("its sample does not cover container {0}, which runs")]
    Partial(Arc<str>),
    /// It shows more than its node has, or much less than the pods of its node use.
    #[error("its sample is contradictory: {0}")]
    Contradictory(Arc<str>),
    /// The source measures the pod on this node, which is not its own.
    #[error("the usage source measures it on node {0}, where it is not")]
    OtherNode(Arc<str>),
}

impl Unmeasured {
    /// The kind of a window that is still filling, which resolves by itself.
    pub const FEW: &str = "few-samples";

    /// Returns the stable code.
    pub const fn kind(&self) -> &'static str {
        match self {
            Unmeasured::Missing => "missing",
            Unmeasured::Starting => "starting",
            Unmeasured::Stale(_) => "stale",
            Unmeasured::Future(_) => "future",
            Unmeasured::Few { .. } => Unmeasured::FEW,
            Unmeasured::Flawed(SampleFlaw::Unreadable(_)) => "unreadable",
            Unmeasured::Flawed(SampleFlaw::Partial(_)) => "partial",
            Unmeasured::Flawed(SampleFlaw::Contradictory(_)) => "contradictory",
            Unmeasured::Flawed(SampleFlaw::OtherNode(_)) => "other-node",
        }
    }
}

impl fmt::Display for Unmeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unmeasured::Missing => f.write_str("no samples"),
            Unmeasured::Starting => f.write_str("by its status, it does not run, or not for long"),
            Unmeasured::Stale(age) => write!(f, "the latest sample is {:#} old", whole(*age)),
            Unmeasured::Future(lead) => {
                let lead = whole(*lead);
                write!(f, "the latest sample is {lead:#} ahead of the local clock")
            }
            Unmeasured::Few { have, need } => write!(f, "{have} of {need} required samples"),
            Unmeasured::Flawed(flaw) => flaw.fmt(f),
        }
    }
}

/// Rounds down to whole seconds, which is precise enough for people.
fn whole(duration: SignedDuration) -> SignedDuration {
    SignedDuration::from_secs(duration.as_secs())
}
