//! What the daemon shows of itself: the loop publishes it after each cycle and each poll, and whoever asks gets it as a page
//! or as JSON.
//!
//! What is published is never changed again: the loop puts another in its place, so that nobody waits for a page to be drawn.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::Health;

pub use self::facts::Part;
use self::facts::{About, Past, Remembered, Round, Source};
pub use self::server::serve;
pub use self::state::State;

pub mod facts;
mod page;
mod round;
mod server;
mod state;

/// So many cycles are remembered: two hours of minutes.
const REMEMBERED: usize = 120;

/// Where the loop publishes; clones share it. The default one is off: what is given to it is not even made.
#[derive(Clone, Debug, Default)]
pub struct Board(Option<Arc<RwLock<Arc<Status>>>>);

/// All that is known between two cycles.
#[derive(Clone, Debug)]
struct Status {
    about: Arc<About>,
    part: Part,
    /// When the next cycle is due.
    next: Option<Timestamp>,
    sources: Vec<Source>,
    round: Option<Arc<Round>>,
    ledger: Option<Arc<Remembered>>,
    /// The newest last.
    history: VecDeque<Arc<Past>>,
}

impl Board {
    /// One that shows something.
    pub fn new(about: About) -> Self {
        let status = Status {
            about: Arc::new(about),
            part: Part::Alone,
            next: None,
            sources: Vec::new(),
            round: None,
            ledger: None,
            history: VecDeque::new(),
        };
        Board(Some(Arc::new(RwLock::new(Arc::new(status)))))
    }

    /// How the sources of usage are doing.
    pub fn sources(&self, sources: impl FnOnce() -> Vec<Source>) {
        self.change(|status| status.sources = sources());
    }

    /// What this instance is among several. One that stands by has no plan and no ledger of its own to show.
    pub fn part(&self, part: impl FnOnce() -> Part) {
        self.change(|status| {
            status.part = part();
            if matches!(status.part, Part::Standby(_)) {
                (status.round, status.ledger) = (None, None);
            }
        });
    }

    /// When the next cycle is due.
    pub fn due(&self, next: Timestamp) {
        self.change(|status| status.next = Some(next));
    }

    /// A cycle that has come to a plan.
    pub fn round(&self, made: impl FnOnce() -> (Round, Past, Remembered)) {
        self.change(|status| {
            let (round, past, ledger) = made();
            (status.round, status.ledger) = (Some(Arc::new(round)), Some(Arc::new(ledger)));
            status.remember(past);
        });
    }

    /// A cycle that has come to none, by `waiting` or `failed`.
    pub fn none(&self, at: Timestamp, outcome: &'static str, why: &str) {
        self.change(|status| {
            let (message, deviation) = (why.to_owned(), std::collections::BTreeMap::new());
            status.remember(Past {
                at,
                took_ms: 0,
                outcome,
                message,
                planned: 0,
                evicted: 0,
                hot: 0,
                deviation,
            });
        });
    }

    /// The lock is held to take or to put a pointer, and for nothing else. The loop alone changes anything.
    fn change(&self, change: impl FnOnce(&mut Status)) {
        let Some(shared) = &self.0 else { return };
        let mut status = Status::clone(&shared.read().unwrap_or_else(PoisonError::into_inner));
        change(&mut status);
        *shared.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(status);
    }

    fn status(&self) -> Option<Arc<Status>> {
        self.0
            .as_ref()
            .map(|shared| Arc::clone(&shared.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// What a page would tell now, for scripts; `None` where it is off.
    pub fn json(&self, health: &Health, now: Timestamp) -> Option<String> {
        let status = self.status()?;
        // Each of its values is text, a number or a list of such: this cannot fail.
        Some(serde_json::json!(Look::of(&status, health, now)).to_string() + "\n")
    }

    /// The page; `None` where it is off.
    pub fn html(&self, health: &Health, now: Timestamp) -> Option<String> {
        let status = self.status()?;
        Some(page::html(&Look::of(&status, health, now)))
    }
}

impl Status {
    fn remember(&mut self, past: Past) {
        self.history.push_back(Arc::new(past));
        if self.history.len() > REMEMBERED {
            self.history.pop_front();
        }
    }
}

/// What there is to see at one moment. Its fields are the keys of `/status.json`.
#[derive(Serialize)]
struct Look<'s> {
    /// When it was asked for.
    now: Timestamp,
    state: State,
    about: &'s About,
    part: &'s Part,
    next_cycle: Option<Timestamp>,
    sources: &'s [Source],
    /// The last plan.
    plan: Option<&'s Round>,
    ledger: Option<&'s Remembered>,
    /// The oldest first.
    history: Vec<&'s Past>,
}

impl<'s> Look<'s> {
    fn of(status: &'s Status, health: &Health, now: Timestamp) -> Self {
        Look {
            now,
            state: State::of(status, health, now),
            about: &status.about,
            part: &status.part,
            next_cycle: status.next,
            sources: &status.sources,
            plan: status.round.as_deref(),
            ledger: status.ledger.as_deref(),
            history: status.history.iter().map(AsRef::as_ref).collect(),
        }
    }

    fn since(&self, at: Timestamp) -> SignedDuration {
        self.now.duration_since(at)
    }
}
