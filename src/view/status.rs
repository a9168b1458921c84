//! The status of a running instance: its data, its page, and its text for the terminal.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::values::text::list;

use self::facts::{
    CycleSummary, ElectionRole, InstanceInfo, LastingFailure, LedgerStatus, PlanStatus,
    SourceStatus,
};
use self::headline::Headline;

pub mod facts;
pub mod headline;
mod ledger_status;
pub(crate) mod page;
mod plan_status;
pub(crate) mod shown;
pub(crate) mod text;

/// The number of past cycles that are kept: two hours of one-minute cycles.
const REMEMBERED: usize = 120;

/// Everything that is published at one moment.
#[derive(Clone, Debug)]
pub(crate) struct BoardState {
    pub(crate) about: Arc<InstanceInfo>,
    pub(crate) role: ElectionRole,
    /// The start of the next cycle.
    pub(crate) next: Option<Timestamp>,
    pub(crate) sources: Vec<SourceStatus>,
    pub(crate) plan: Option<Arc<PlanStatus>>,
    pub(crate) ledger: Option<Arc<LedgerStatus>>,
    /// Past cycles, the newest last.
    pub(crate) history: VecDeque<Arc<CycleSummary>>,
}

/// The condition of the loop at the time of a request.
#[derive(Debug)]
pub(crate) struct LoopHealth {
    /// How late the loop is, if it counts as stuck.
    pub(crate) overdue: Option<SignedDuration>,
    /// Why the loop cannot decide; `None` if it can, or has not tried yet.
    pub(crate) waiting_for: Option<String>,
    /// Requests that keep failing.
    pub(crate) failures: Vec<LastingFailure>,
}

impl BoardState {
    /// Keeps the summary of a cycle, and drops the oldest.
    pub(crate) fn remember(&mut self, summary: CycleSummary) {
        self.history.push_back(Arc::new(summary));
        if self.history.len() > REMEMBERED {
            self.history.pop_front();
        }
    }
}

/// The most failing requests of one cause that are named.
const MOST_NAMES: usize = 2;

/// Puts failures of one cause together, with the names of their requests: one outage usually fails
/// many.
fn by_cause<'f, F, C: PartialEq>(
    failures: &'f [F],
    request: impl Fn(&'f F) -> &'f str,
    cause: impl Fn(&'f F) -> C,
) -> Vec<(String, Vec<&'f F>)> {
    let mut groups: Vec<Vec<&F>> = Vec::new();
    for failure in failures {
        let alike = |group: &&mut Vec<&'f F>| cause(group[0]) == cause(failure);
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(failure),
            None => groups.push(vec![failure]),
        }
    }
    let named = groups.into_iter().map(|group| {
        let requests: Vec<&str> = group.iter().map(|failure| request(failure)).collect();
        (list(&requests, MOST_NAMES), group)
    });
    named.collect()
}

/// The state as seen by one request. Its fields are the keys of `/status.json`.
#[derive(Serialize)]
pub(crate) struct StatusView<'s> {
    /// The time of the request.
    now: Timestamp,
    state: Headline,
    about: &'s InstanceInfo,
    part: &'s ElectionRole,
    next_cycle: Option<Timestamp>,
    sources: &'s [SourceStatus],
    /// Requests that keep failing.
    failures: &'s [LastingFailure],
    /// The last plan.
    plan: Option<&'s PlanStatus>,
    ledger: Option<&'s LedgerStatus>,
    /// Past cycles, the oldest first.
    history: Vec<&'s CycleSummary>,
}

impl<'s> StatusView<'s> {
    pub(crate) fn of(status: &'s BoardState, health: &'s LoopHealth, now: Timestamp) -> Self {
        StatusView {
            now,
            state: Headline::of(status, health, now),
            about: &status.about,
            part: &status.role,
            next_cycle: status.next,
            sources: &status.sources,
            failures: &health.failures,
            plan: status.plan.as_deref(),
            ledger: status.ledger.as_deref(),
            history: status.history.iter().map(AsRef::as_ref).collect(),
        }
    }

    fn since(&self, at: Timestamp) -> SignedDuration {
        self.now.duration_since(at)
    }
}
