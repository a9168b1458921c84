//! The progress of a long simulation, shown on a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::SignedDuration;

use crate::values::text::duration;

/// Shorter runs show no progress.
const PATIENCE: Duration = Duration::from_secs(1);
const UPDATES_PER_SECOND: u8 = 5;

/// A bar on standard error. It stays hidden if that is not a terminal.
pub(super) struct Progress {
    bar: ProgressBar,
    total: SignedDuration,
    shown: bool,
}

impl Progress {
    /// The progress of a run of `total` simulated time.
    pub(super) fn new(total: SignedDuration) -> Self {
        let length = total.as_secs().unsigned_abs();
        let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{msg}  {bar:16}  {percent}%, {eta} left");
        // The template is fixed; a wrong one would still show a plain bar.
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress { bar, total, shown: false }
    }

    /// Shows the simulated time so far, once the run has taken longer than a moment.
    pub(super) fn update(&mut self, elapsed: SignedDuration) {
        if !self.shown && self.bar.elapsed() < PATIENCE {
            return;
        }
        let (done, total) = (duration(elapsed), duration(self.total));
        self.bar.set_message(format!("simulated {done} of {total}"));
        self.bar.set_position(elapsed.as_secs().unsigned_abs());
        if !self.shown {
            self.shown = true;
            let target = ProgressDrawTarget::stderr_with_hz(UPDATES_PER_SECOND);
            self.bar.set_draw_target(target);
        }
    }

    /// Removes the bar before the result is printed.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
