//! The part of `/status.json` that the terminal shows. Unknown keys are ignored and missing ones
//! are empty, so that this program can show an instance of another version.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

use crate::values::Ratio;

/// The answer of an instance.
#[derive(Debug, Deserialize)]
pub(super) struct Status {
    /// The time of the answer.
    pub(super) now: Timestamp,
    pub(super) state: Headline,
    pub(super) about: Instance,
    #[serde(default)]
    pub(super) part: Role,
    pub(super) next_cycle: Option<Timestamp>,
    #[serde(default)]
    pub(super) sources: Vec<Source>,
    pub(super) plan: Option<PlanView>,
    pub(super) ledger: Option<LedgerView>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Headline {
    pub(super) code: String,
    pub(super) message: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Instance {
    pub(super) version: String,
    pub(super) instance: String,
    pub(super) policy: String,
    pub(super) policy_since: Timestamp,
    pub(super) policy_refused: Option<Refused>,
    #[serde(default)]
    pub(super) dry_run: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Refused {
    pub(super) at: Timestamp,
    pub(super) error: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Role {
    pub(super) code: String,
    pub(super) holder: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) newest_sample: Option<Timestamp>,
    pub(super) error: Option<String>,
}

/// The first items of a list, and how many were left out.
#[derive(Debug, Deserialize)]
#[serde(default)]
pub(super) struct Items<T> {
    pub(super) items: Vec<T>,
    pub(super) more: usize,
}

impl<T> Default for Items<T> {
    fn default() -> Self {
        Items {
            items: Vec::new(),
            more: 0,
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct PlanView {
    pub(super) at: Timestamp,
    #[serde(default)]
    pub(super) classes: Vec<ClassCount>,
    #[serde(default)]
    pub(super) nodes: Items<Node>,
    #[serde(default)]
    pub(super) moves: Items<Move>,
    #[serde(default)]
    pub(super) kept: Vec<Kept>,
    #[serde(default)]
    pub(super) notes: Vec<Message>,
    #[serde(default)]
    pub(super) steering: Items<Steered>,
    pub(super) steering_denied: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ClassCount {
    pub(super) class: String,
    pub(super) nodes: usize,
}

#[derive(Debug, Deserialize)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) class: Option<String>,
    #[serde(default)]
    pub(super) ratios: BTreeMap<String, Option<Ratio>>,
    #[serde(default)]
    pub(super) band: BTreeMap<String, Band>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Band {
    pub(super) low: Option<Ratio>,
    pub(super) high: Option<Ratio>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Move {
    pub(super) namespace: String,
    pub(super) pod: String,
    pub(super) node: String,
    pub(super) to: Option<String>,
    /// The outcome; `None` in a dry run.
    pub(super) message: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Kept {
    pub(super) message: String,
    #[serde(default)]
    pub(super) pods: Items<serde::de::IgnoredAny>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message {
    pub(super) message: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Steered {
    pub(super) node: String,
    pub(super) action: String,
    pub(super) message: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct LedgerView {
    #[serde(default)]
    pub(super) entries: Items<Eviction>,
    #[serde(default)]
    pub(super) open: usize,
    #[serde(default)]
    pub(super) resting: Items<Resting>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Eviction {
    pub(super) workload: String,
    pub(super) from: String,
    pub(super) to: Option<String>,
    pub(super) at: Timestamp,
    pub(super) message: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Resting {
    pub(super) workload: String,
    pub(super) until: Timestamp,
}
