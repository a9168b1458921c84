//! Faults, and the schedule that a seed stands for.

use std::time::Duration;

use http::{Method, StatusCode};

use super::LONGEST_PAUSE;
use crate::dice::Dice;

/// The faults of one seed.
const LENGTH: usize = 12;

/// Something that goes wrong.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// Requests of these methods with this text are answered with this status.
    Status(StatusCode, &'static [Method], &'static str, Duration),
    /// Evictions are answered like priority and fairness does.
    Busy(Duration),
    /// Requests with this text are executed and their answers lost.
    Lost(&'static str, Duration),
    /// Requests with this text wait before they are forwarded.
    Slow(&'static str, Duration, Duration),
    /// All watches break off.
    Cut,
    /// All watches break off, and the next ones end after a while without an event or a bookmark.
    Silence(Duration, Duration),
    /// The clock of an instance is set ahead or back by these seconds, for a while.
    Clock(usize, i64, Duration),
    /// Another process adds an entry to the ledger.
    Writer,
    /// The ledger has this text for a while.
    Corrupt(&'static str, Duration),
    /// SIGKILL and a new start.
    Kill(usize),
    /// SIGTERM and a new start.
    Stop(usize),
    /// SIGSTOP for longer than the lease, then SIGCONT.
    Suspend(usize, Duration),
}

const WRITES: &[Method] = &[Method::PUT, Method::POST];
const READS: &[Method] = &[Method::GET];
const LEDGER: &str = "/configmaps/";
const EVICTION: &str = "/eviction";
const LEASE: &str = "/leases/";

const HOUR: i64 = 3600;
const YEAR: i64 = 365 * 24 * HOUR;

impl Dice {
    fn millis(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.below(to - from))
    }

    fn instance(&mut self) -> usize {
        self.pick(&[0, 1])
    }
}

/// The faults of a seed, each with the pause before it.
pub(super) fn schedule(seed: u64) -> Vec<(Duration, Fault)> {
    let mut dice = Dice(seed);
    let longest = u64::try_from(LONGEST_PAUSE.as_millis()).unwrap();
    (0..LENGTH).map(|_| (dice.millis(0, longest), fault(&mut dice))).collect()
}

/// The pauses between kills that happen beside the faults of a seed, each with its instance.
pub(super) fn kills(seed: u64, count: usize) -> Vec<(Duration, usize)> {
    let mut dice = Dice(!seed);
    (0..count).map(|_| (dice.millis(500, 6000), dice.instance())).collect()
}

fn fault(dice: &mut Dice) -> Fault {
    let time = dice.millis(500, 4000);
    match dice.below(16) {
        0 => Fault::Status(
            dice.pick(&[StatusCode::INTERNAL_SERVER_ERROR, StatusCode::SERVICE_UNAVAILABLE]),
            WRITES,
            dice.pick(&[LEDGER, EVICTION, LEASE]),
            time,
        ),
        // Watches end with 410 or 500, and the lists after them fail page by page.
        1 => Fault::Status(StatusCode::GONE, READS, "watch=true", time),
        2 => Fault::Status(StatusCode::INTERNAL_SERVER_ERROR, READS, "limit=", time),
        3 => Fault::Busy(time),
        4 => Fault::Lost(EVICTION, time),
        5 => Fault::Lost(LEDGER, time),
        6 => Fault::Slow(dice.pick(&[LEDGER, EVICTION, LEASE]), dice.millis(200, 3000), time),
        7 => Fault::Cut,
        8 => Fault::Writer,
        9 => Fault::Corrupt(dice.pick(&["scribbles", "", r#"{"version":9,"more":[]}"#]), time),
        10 | 11 => Fault::Kill(dice.instance()),
        12 => Fault::Silence(dice.millis(500, 3000), time),
        13 | 14 => {
            Fault::Clock(dice.instance(), dice.pick(&[-YEAR, -HOUR, -600, 600, HOUR, YEAR]), time)
        }
        _ => dice.pick(&[
            Fault::Stop(0),
            Fault::Stop(1),
            Fault::Suspend(0, Duration::from_secs(8)),
            Fault::Suspend(1, Duration::from_secs(8)),
        ]),
    }
}
