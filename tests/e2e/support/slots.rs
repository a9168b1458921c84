//! How many control planes run at once, and which test gets the next one.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// Tests mostly wait, so each core carries several control planes. With three of them, two cores
/// are idle for half of the time.
const PER_CORE: usize = 6;
/// More would take too much memory: a control plane needs up to 1 GB.
const AT_MOST: usize = 12;
/// Overrides the number of control planes.
const VARIABLE: &str = "EVENKEEL_CONTROL_PLANES";
/// No slot is given before every test thread had time to queue, so that the longest tests really
/// start first.
const QUEUEING: Duration = Duration::from_secs(1);

/// The longest tests, by measured time. They start first, because a long test that starts last
/// would run alone.
const LONGEST: [&str; 10] = [
    "steering::the_dead_loop",
    "strategies::strategies_that_weigh",
    "circles::a_move_that_does",
    "agree::daily_wave",
    "packing::where_the_scheduler_spreads",
    "agree::noisy_neighbour",
    "circles::",
    "outage::",
    "packing::",
    "strategies::",
];

static QUEUE: Mutex<Queue> =
    Mutex::new(Queue { opened: None, running: 0, tickets: 0, waiting: BTreeSet::new() });
static CHANGED: Condvar = Condvar::new();

struct Queue {
    opened: Option<Instant>,
    running: usize,
    tickets: usize,
    /// The position in `LONGEST`, then the order of arrival.
    waiting: BTreeSet<(usize, usize)>,
}

/// The right to run one control plane.
pub struct Slot {
    since: Instant,
}

impl Slot {
    /// For how long the test has had the slot.
    pub fn seconds(&self) -> u64 {
        self.since.elapsed().as_secs()
    }
}

/// Waits for a slot.
#[expect(clippy::disallowed_methods, reason = "the queue works by the real clock")]
pub fn acquire() -> Slot {
    let mut queue = QUEUE.lock().unwrap();
    let opened = *queue.opened.get_or_insert_with(Instant::now);
    let own = (rank(), queue.tickets);
    queue.tickets += 1;
    queue.waiting.insert(own);
    while opened.elapsed() < QUEUEING
        || queue.running >= at_once()
        || queue.waiting.first() != Some(&own)
    {
        (queue, _) = CHANGED.wait_timeout(queue, QUEUEING).unwrap();
    }
    queue.waiting.remove(&own);
    queue.running += 1;
    CHANGED.notify_all();
    Slot { since: Instant::now() }
}

impl Drop for Slot {
    fn drop(&mut self) {
        QUEUE.lock().unwrap().running -= 1;
        CHANGED.notify_all();
    }
}

/// The name of the running test: the test harness names its threads after the tests.
pub fn test_name() -> String {
    std::thread::current().name().unwrap_or_default().to_owned()
}

fn rank() -> usize {
    let name = test_name();
    let position = LONGEST.iter().position(|long| name.contains(long));
    position.unwrap_or(LONGEST.len())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the right number depends on what else the machine runs"
)]
fn at_once() -> usize {
    let asked = std::env::var(VARIABLE).ok();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    asked.and_then(|number| number.parse().ok()).unwrap_or((cores * PER_CORE).min(AT_MOST))
}
