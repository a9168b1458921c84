//! The stored format of the ledger.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::snapshot::facts::OwnerKey;

use super::records::Records;
use super::rejections::Rejections;
use super::rests::ReplacementRests;
use super::{Entry, Ledger, StartTimes, Streak};

/// The version of the stored format.
const VERSION: u32 = 1;

/// The field that every version has.
#[derive(Deserialize)]
struct LedgerVersion {
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LedgerDocument {
    version: u32,
    entries: Vec<Entry>,
    resting: BTreeMap<OwnerKey, Streak>,
    #[serde(default, skip_serializing_if = "ReplacementRests::is_empty")]
    replacements: ReplacementRests,
    #[serde(default, skip_serializing_if = "Rejections::is_empty")]
    rejected: Rejections,
    #[serde(default, skip_serializing_if = "Records::is_empty")]
    unrecorded: Records,
}

/// A stored ledger that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The text does not have the stored format.
    #[error("not a ledger: {0}")]
    Form(#[from] serde_json::Error),
    /// A newer evenkeel wrote the ledger.
    #[error("unsupported version {0}, expected {VERSION}")]
    Version(u64),
}

impl LedgerError {
    /// Returns what the operator can do. Nothing else may change the stored ledger, because that
    /// would lose evictions that it records.
    pub const fn remedy(&self) -> &'static str {
        match self {
            // Also a newer version with the same number, whose entries say more.
            LedgerError::Form(_) => "run the evenkeel that wrote it, or restore it",
            LedgerError::Version(_) => "run the evenkeel that wrote it",
        }
    }
}

impl Ledger {
    /// The key of the stored format in its ConfigMap.
    pub const KEY: &str = "ledger.json";

    /// Reads the stored format.
    ///
    /// Returns an error if the text is not a ledger, or has another version.
    pub fn parse(text: &str) -> Result<Self, LedgerError> {
        // First, because a newer version may have other fields.
        let LedgerVersion { version } = serde_json::from_str(text)?;
        if version != u64::from(VERSION) {
            return Err(LedgerError::Version(version));
        }
        let stored: LedgerDocument = serde_json::from_str(text)?;
        Ok(Ledger {
            entries: stored.entries,
            rests: stored.replacements,
            rejections: stored.rejected,
            streaks: stored.resting,
            records: stored.unrecorded,
            starts: StartTimes::default(),
        })
    }

    /// Returns the stored format. Equal ledgers give equal texts. It does not contain the
    /// [`StartTimes`].
    pub fn write(&self) -> String {
        let stored = LedgerDocument {
            version: VERSION,
            entries: self.entries.clone(),
            resting: self.streaks.clone(),
            replacements: self.rests.clone(),
            rejected: self.rejections.clone(),
            unrecorded: self.records.clone(),
        };
        // This cannot fail: every key is text, and every value is text, a number or a list.
        serde_json::json!(stored).to_string()
    }
}
