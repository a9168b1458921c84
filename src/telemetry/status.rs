//! The status page: the loop publishes its state after each cycle and each poll, and the server
//! renders it as HTML or JSON on request.
//!
//! A published state is immutable. The loop replaces it as a whole, so rendering a page never
//! blocks the loop.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock};

use jiff::Timestamp;

use crate::view::status::facts::{
    CycleSummary, ElectionRole, InstanceInfo, LedgerStatus, PlanStatus, SourceStatus,
};
use crate::view::status::{BoardState, StatusView, page};

use super::Health;

pub use self::server::serve;

mod server;

/// The published state, shared by all clones. The default board is off: it never calls the closures
/// that build a state.
#[derive(Clone, Debug, Default)]
pub struct Board(Option<Arc<RwLock<Arc<BoardState>>>>);

impl Board {
    /// Returns a board that is on.
    pub fn new(about: InstanceInfo) -> Self {
        let status = BoardState {
            about: Arc::new(about),
            role: ElectionRole::Alone,
            next: None,
            sources: Vec::new(),
            plan: None,
            ledger: None,
            history: VecDeque::new(),
        };
        Board(Some(Arc::new(RwLock::new(Arc::new(status)))))
    }

    /// Changes the description of the program and its policy.
    pub fn about(&self, change: impl FnOnce(&mut InstanceInfo)) {
        self.change(|status| change(Arc::make_mut(&mut status.about)));
    }

    /// Publishes the state of the usage sources.
    pub fn sources(&self, sources: impl FnOnce() -> Vec<SourceStatus>) {
        self.change(|status| status.sources = sources());
    }

    /// Publishes the role of this instance. A standby instance has no plan and no ledger of its
    /// own.
    pub fn role(&self, role: impl FnOnce() -> ElectionRole) {
        self.change(|status| {
            status.role = role();
            // The leader decides differently meanwhile, so the last own plan would mislead.
            if matches!(status.role, ElectionRole::Standby(_)) {
                (status.plan, status.ledger) = (None, None);
            }
        });
    }

    /// Publishes the start of the next cycle.
    pub fn due(&self, next: Timestamp) {
        self.change(|status| status.next = Some(next));
    }

    /// Publishes a cycle that made a plan.
    pub fn plan(&self, build: impl FnOnce() -> (PlanStatus, CycleSummary, LedgerStatus)) {
        self.change(|status| {
            let (plan, summary, ledger) = build();
            (status.plan, status.ledger) = (Some(Arc::new(plan)), Some(Arc::new(ledger)));
            status.remember(summary);
        });
    }

    /// Publishes a cycle without a plan; the outcome is `waiting` or `failed`.
    pub fn none(&self, at: Timestamp, outcome: &'static str, why: &str) {
        self.change(|status| {
            status.remember(CycleSummary {
                at,
                took_ms: 0,
                outcome,
                message: why.to_owned(),
                planned: 0,
                evicted: 0,
                hot: 0,
                deviation: BTreeMap::new(),
            });
        });
    }

    /// Replaces the state. The lock is held only to read or write a pointer, and only the loop
    /// writes.
    fn change(&self, change: impl FnOnce(&mut BoardState)) {
        let Some(shared) = &self.0 else { return };
        // A copy is cheap, because its large parts are behind `Arc`.
        let mut status = BoardState::clone(&shared.read().unwrap_or_else(PoisonError::into_inner));
        change(&mut status);
        *shared.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(status);
    }

    fn status(&self) -> Option<Arc<BoardState>> {
        self.0
            .as_ref()
            .map(|shared| Arc::clone(&shared.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Returns `/status.json`; `None` if the board is off.
    pub fn json(&self, health: &Health, now: Timestamp) -> Option<String> {
        let status = self.status()?;
        // Cannot fail: all keys are strings.
        Some(serde_json::json!(StatusView::of(&status, &health.of_loop(), now)).to_string() + "\n")
    }

    /// Returns the HTML page; `None` if the board is off.
    pub fn html(&self, health: &Health, now: Timestamp) -> Option<String> {
        let status = self.status()?;
        Some(page::html(&StatusView::of(&status, &health.of_loop(), now)))
    }
}
