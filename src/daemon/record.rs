//! Writes the record on a task of its own, because a sink that is slow or down must not delay an
//! eviction.
//!
//! The ledger keeps each fact until its line is written. The task gets only facts that are stored,
//! so a line is written for nothing that a crash could undo. If the program dies before the ledger
//! is saved without the fact, the next leader writes the line again and marks it. So does this
//! process after an error that does not say whether the sink has the line.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tracing::warn;

use crate::cluster::failures::{Failures, Request};
use crate::cluster::lock;
use crate::decide::engine::Engine;
use crate::model::ledger::Ledger;
use crate::model::record::{Fact, RecordLine};
use crate::policy::Policy;

use super::Daemon;
use super::cycle::Cycle;
use super::stop::{LAST_LINES, LINES_OF_A_RUN};
use crate::telemetry::metrics::{LineResult, Metrics};

pub mod http_sink;
pub mod sink;
pub mod sink_error;

use sink::Sink;

/// The pause after the first failure. It doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Where the record goes.
pub struct RecordSettings {
    /// The name of the cluster in each line.
    pub source: String,
    /// Where the lines go.
    pub sink: Sink,
}

/// The task that writes lines, and the facts that it shares with the loop.
pub struct RecordTask {
    queue: Arc<RecordQueue>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct RecordQueue {
    state: Mutex<QueueState>,
    changed: Notify,
    /// Tells who waits for the last line that one more needs none.
    finished: Notify,
}

#[derive(Default)]
struct QueueState {
    /// Stored facts without a line, oldest first. The ledger limits them.
    waiting: VecDeque<Fact>,
    /// Facts that need no line any more and that the ledger still has.
    done: BTreeSet<String>,
    /// Facts whose line the sink may have, although it returned an error.
    doubtful: BTreeSet<String>,
}

impl RecordTask {
    /// Starts the task.
    fn start(settings: RecordSettings, failures: Failures, metrics: Metrics) -> Self {
        let queue = Arc::new(RecordQueue::default());
        let writer = RecordWriter { queue: Arc::clone(&queue), settings, failures, metrics };
        let task = tokio::spawn(writer.run());
        RecordTask { queue, task }
    }

    /// Removes facts from the ledger whose lines are written. If the ledger is stored as it is, its
    /// other facts are the next ones to be written.
    fn exchange(&self, engine: &mut Engine, is_stored: bool) {
        let mut state = self.queue.state();
        let done = std::mem::take(&mut state.done);
        engine.recorded(&done);
        if is_stored {
            state.waiting = engine.ledger().facts().iter().cloned().collect();
            self.queue.changed.notify_one();
        }
    }

    /// Writes no further line, because another instance leads.
    fn withdraw(&self) {
        self.queue.state().waiting.clear();
    }

    /// Waits until every line is written, for at most this time.
    async fn flush(&self, longest: Duration) {
        let empty = async {
            loop {
                // Before the look at the queue, so that no change is missed.
                let finished = self.queue.finished.notified();
                if self.queue.state().waiting.is_empty() {
                    return;
                }
                finished.await;
            }
        };
        // The lines that are left are written by the next process.
        let _ = tokio::time::timeout(longest, empty).await;
    }
}

impl Drop for RecordTask {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl RecordQueue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        lock(&self.state)
    }

    /// Waits for the oldest fact, which stays in the queue.
    async fn next(&self) -> Fact {
        loop {
            if let Some(fact) = self.state().oldest() {
                return fact;
            }
            self.changed.notified().await;
        }
    }

    /// Marks the next line about a fact, because the sink may have this one.
    fn doubt(&self, fact: &Fact) {
        let state = &mut *self.state();
        let waiting = &state.waiting;
        // The ledger may have dropped others.
        let waits = |id: &String| waiting.iter().any(|fact| fact.id == *id);
        state.doubtful.retain(waits);
        state.doubtful.insert(fact.id.clone());
    }

    /// Removes a fact that needs no line any more.
    fn finish(&self, fact: &Fact) {
        let mut state = self.state();
        // The loop may have changed the queue meanwhile.
        state.waiting.retain(|waiting| waiting.id != fact.id);
        state.doubtful.remove(&fact.id);
        state.done.insert(fact.id.clone());
        self.finished.notify_waiters();
    }
}

impl QueueState {
    fn oldest(&self) -> Option<Fact> {
        let fact = self.waiting.front()?;
        Some(Fact {
            possibly_repeated: fact.possibly_repeated || self.doubtful.contains(&fact.id),
            ..fact.clone()
        })
    }
}

struct RecordWriter {
    queue: Arc<RecordQueue>,
    settings: RecordSettings,
    failures: Failures,
    metrics: Metrics,
}

impl RecordWriter {
    async fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let fact = self.queue.next().await;
            let line = RecordLine::of(&fact, &self.settings.source);
            match self.settings.sink.write(&line).await {
                Ok(()) => {
                    self.failures.works(Request::Record);
                    self.metrics.lines(LineResult::Written, 1);
                    self.queue.finish(&fact);
                    pause = FIRST_PAUSE;
                }
                // The sink will never take this line, and others wait.
                Err(error) if error.is_about_the_line() => {
                    warn!(id = fact.id, "line of the record dropped: {error}");
                    // One that takes no line at all is seen like one that is down.
                    self.failures.record(Request::Record, Err(&error.to_string()));
                    self.metrics.lines(LineResult::Rejected, 1);
                    self.queue.finish(&fact);
                }
                Err(error) => {
                    if error.may_be_written() {
                        self.queue.doubt(&fact);
                    }
                    let error = error.to_string();
                    self.failures.record(Request::Record, Err(&error));
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }
}

impl Daemon {
    /// Starts to write the record.
    pub fn recorder(&self, settings: RecordSettings) -> RecordTask {
        let failures = self.cluster.failures().clone();
        RecordTask::start(settings, failures, self.metrics.clone())
    }

    /// Creates the engine, which keeps facts only if there is a record.
    pub(super) fn engine(&self, policy: Policy, ledger: Ledger) -> Engine {
        let mut engine = Engine::new(policy, ledger);
        if self.recorder.is_some() {
            engine.keep_facts();
        }
        engine
    }

    /// Exchanges facts between the ledger and the record.
    pub(super) fn exchange_facts(&self, engine: &mut Engine) {
        let Some(recorder) = &self.recorder else {
            return;
        };
        // A dry run does not write the ledger, so it could not remember which lines are written.
        if !engine.policy().dry_run {
            let is_stored = self.store.holds(engine.ledger());
            recorder.exchange(engine, is_stored);
        }
    }

    /// Drops the oldest facts if all of them take too much room.
    pub(super) fn limit_facts(&self, engine: &mut Engine) {
        let dropped = engine.limit_facts();
        self.metrics.lines(LineResult::Dropped, dropped);
    }

    /// Writes no further line, because another instance leads.
    pub(super) fn withdraw_facts(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.withdraw();
        }
    }

    /// Writes the last lines, and saves in the ledger that they are written. Otherwise the next
    /// process would write them again.
    pub(super) async fn finish_record(&mut self, engine: &mut Engine) {
        let Some(recorder) = &self.recorder else {
            return;
        };
        if engine.policy().dry_run || !self.lead.holds() {
            return;
        }
        // Nothing presses a single run, and a Job has no successor that would write its lines.
        self.stop.run_until_cancelled(recorder.flush(LINES_OF_A_RUN)).await;
        recorder.flush(LAST_LINES).await;
        recorder.exchange(engine, false);
        let lines = engine.ledger().facts().len();
        if lines > 0 {
            warn!(
                lines,
                "lines of the record are left in the ledger; the next process writes them"
            );
        }
        if !self.store.holds(engine.ledger())
            && let Err(error) = Cycle::new(self, engine).save().await
        {
            warn!(
                "cannot save which lines of the record are written: {error}; the next process \
                writes them again"
            );
        }
    }
}

#[cfg(test)]
mod tests;
