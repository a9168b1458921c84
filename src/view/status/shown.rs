//! The part of `/status.json` that the terminal shows. Unknown keys are ignored and missing ones
//! are empty, so that this program can show an instance of another version.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

use crate::model::plan::TargetBand;
use crate::values::Ratio;

use super::facts::{
    ClassCount, GuardStatus, InstanceInfo, LastingFailure, LedgerStatus, ProposalStatus,
    SourceStatus, Truncated,
};

/// The answer of an instance.
#[derive(Debug, Deserialize)]
pub(crate) struct ShownStatus {
    /// The time of the answer.
    pub(super) now: Timestamp,
    pub(super) state: ShownHeadline,
    pub(super) about: InstanceInfo,
    #[serde(default)]
    pub(super) part: ShownRole,
    pub(super) next_cycle: Option<Timestamp>,
    #[serde(default)]
    pub(super) sources: Vec<SourceStatus>,
    #[serde(default)]
    pub(super) failures: Vec<LastingFailure>,
    pub(super) plan: Option<ShownPlan>,
    pub(super) ledger: Option<LedgerStatus>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ShownHeadline {
    pub(super) code: String,
    pub(super) message: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ShownRole {
    pub(super) code: String,
    pub(super) holder: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ShownPlan {
    pub(super) at: Timestamp,
    #[serde(default)]
    pub(super) classes: Vec<ClassCount>,
    #[serde(default)]
    pub(super) nodes: Truncated<ShownNode>,
    #[serde(default)]
    pub(super) moves: Truncated<ShownMove>,
    #[serde(default)]
    pub(super) kept: Vec<ShownRefusal>,
    #[serde(default)]
    pub(super) paused: Vec<ShownPause>,
    #[serde(default)]
    pub(super) guards: Truncated<ShownMessage>,
    #[serde(default)]
    pub(super) guard_states: Truncated<GuardStatus>,
    pub(super) proposal: Option<ProposalStatus>,
    #[serde(default)]
    pub(super) notes: Vec<ShownMessage>,
    pub(super) nodes_in_use: Option<ShownMessage>,
    #[serde(default)]
    pub(super) steering: Truncated<ShownTaint>,
    pub(super) steering_denied: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ShownPause {
    pub(super) namespace: String,
    pub(super) pause: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ShownNode {
    pub(super) name: String,
    pub(super) class: Option<String>,
    #[serde(default)]
    pub(super) ratios: BTreeMap<String, Option<Ratio>>,
    #[serde(default)]
    pub(super) band: BTreeMap<String, TargetBand>,
    #[serde(default)]
    pub(super) verdicts: Vec<ShownMessage>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ShownMove {
    pub(super) namespace: String,
    pub(super) pod: String,
    pub(super) node: String,
    pub(super) to: Option<String>,
    /// The outcome; `None` in a dry run.
    pub(super) message: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ShownRefusal {
    #[serde(default)]
    pub(super) code: String,
    pub(super) message: String,
    #[serde(default)]
    pub(super) pods: Truncated<serde::de::IgnoredAny>,
}

/// An entry of which only the sentence is shown.
#[derive(Debug, Deserialize)]
pub(super) struct ShownMessage {
    pub(super) message: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ShownTaint {
    pub(super) node: String,
    pub(super) action: String,
    pub(super) message: String,
}
