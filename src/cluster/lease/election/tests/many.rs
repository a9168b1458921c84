//! Three candidates whose clocks go at other speeds and show other times; a network that delays, loses and reorders calls
//! and answers; processes that are stopped, killed and told to end. Time is simulated.

use std::cell::Cell;
use std::collections::BTreeMap;

use proptest::prelude::{Just, Strategy, prop_assert};
use proptest::prop_oneof;
use proptest::test_runner::{Config, TestRunner};

use super::{Duration, Election, Instant, LeaseSpec, Step, Timestamp, stamp, timing};

const COUNT: usize = 3;
/// What happens, happens before this; then there is calm. Milliseconds of true time.
const TROUBLED: u64 = 300_000;
const CALM: u64 = 60_000;
/// As the calls of this timing have it.
const TIMEOUT: u64 = 3_333;

#[derive(Clone, Debug)]
struct World {
    /// The speed of each clock, in thousandths, and what it shows at the beginning.
    clocks: [(u64, i64); COUNT],
    /// What becomes of each call and its answer, in turn: milliseconds, or lost.
    network: Vec<(Option<u64>, Option<u64>)>,
    mishaps: Vec<(u64, usize, Mishap)>,
}

#[derive(Clone, Copy, Debug)]
enum Mishap {
    /// As by SIGSTOP, for so long.
    Stopped(u64),
    /// As by SIGKILL; it starts again after so long, by another identity.
    Killed(u64),
    /// As by SIGTERM.
    Ended(u64),
    /// Its calls reach nobody for so long.
    CutOff(u64),
}

#[derive(Clone, Debug)]
enum Call {
    Read,
    Write(LeaseSpec, Option<u64>),
    Release(LeaseSpec, Option<u64>),
}

#[derive(Clone, Debug)]
enum Answer {
    Found(Option<(LeaseSpec, u64)>),
    Written(LeaseSpec, u64),
    Conflict,
}

#[derive(Clone, Debug)]
enum Event {
    Round,
    Arrives(u64, Call),
    Answered(u64, Answer),
    TimedOut(u64),
    Mishap(Mishap),
    Starts,
}

struct Candidate {
    election: Election,
    /// Which process this is, of all that there were in this place.
    life: u64,
    /// The version that it saw last.
    version: Option<u64>,
    /// The call that it waits for, and when it was sent.
    waiting: Option<(u64, Instant)>,
    calls: usize,
    stopped_until: u64,
    cut_off_until: u64,
}

struct Play<'w> {
    world: &'w World,
    zero: Instant,
    now: u64,
    lease: Option<(LeaseSpec, u64)>,
    versions: u64,
    ids: u64,
    sent: usize,
    candidates: Vec<Candidate>,
    /// What is to come: by time, then by order; for whom, and for which life of it.
    queue: BTreeMap<(u64, u64), (usize, u64, Event)>,
    /// How often the lead went from one to another.
    handovers: usize,
    last: Option<(usize, u64)>,
}

impl<'w> Play<'w> {
    fn new(world: &'w World) -> Self {
        let zero = Instant::now();
        let candidate = |at: usize| Candidate {
            election: Election::new(format!("{at}-0"), timing()),
            life: 0,
            version: None,
            waiting: None,
            calls: 0,
            stopped_until: 0,
            cut_off_until: 0,
        };
        let candidates = (0..COUNT).map(candidate).collect();
        let (queue, lease) = (BTreeMap::new(), None);
        let mut play = Play {
            world,
            zero,
            now: 0,
            lease,
            versions: 0,
            ids: 0,
            sent: 0,
            candidates,
            queue,
            handovers: 0,
            last: None,
        };
        for at in 0..COUNT {
            play.plan(at as u64 * 700, at, Event::Round);
        }
        for (time, at, mishap) in &world.mishaps {
            play.ids += 1;
            // Whatever life it is in by then.
            play.queue
                .insert((*time, play.ids), (*at, u64::MAX, Event::Mishap(*mishap)));
        }
        play
    }

    /// Plays to the end. Tells who led together at some time, if anybody did.
    fn run(&mut self) -> Result<(), String> {
        while let Some(((time, id), (at, life, event))) = self.queue.pop_first() {
            if time > TROUBLED + CALM {
                break;
            }
            self.now = time;
            let candidate = &self.candidates[at];
            let inside = !matches!(event, Event::Arrives(..) | Event::Mishap(_));
            if inside && life != candidate.life {
                continue;
            }
            if inside && time < candidate.stopped_until {
                self.queue
                    .insert((candidate.stopped_until, id), (at, life, event));
                continue;
            }
            self.happens(at, event);
            self.check()?;
        }
        Ok(())
    }

    fn happens(&mut self, at: usize, event: Event) {
        match event {
            Event::Starts => {
                let (life, clock) = (self.candidates[at].life, self.clock(at));
                let it = &mut self.candidates[at];
                it.election = Election::new(format!("{at}-{life}"), timing());
                (it.version, it.waiting, it.calls) = (None, None, 0);
                it.election.begin(clock);
                self.step(at);
            }
            Event::Round => {
                let clock = self.clock(at);
                self.candidates[at].election.begin(clock);
                self.candidates[at].calls = 0;
                self.step(at);
            }
            Event::Arrives(id, call) => {
                let answer = self.serve(call);
                let delay = if self.troubled() {
                    self.network(id).1
                } else {
                    Some(1)
                };
                if let Some(delay) = delay {
                    let life = self.candidates[at].life;
                    self.ids += 1;
                    self.queue.insert(
                        (self.now + delay, self.ids),
                        (at, life, Event::Answered(id, answer)),
                    );
                }
            }
            Event::Answered(id, answer) => self.answered(at, id, answer),
            Event::TimedOut(id) => {
                if self.candidates[at]
                    .waiting
                    .is_some_and(|(waiting, _)| waiting == id)
                {
                    self.candidates[at].waiting = None;
                    self.candidates[at].election.unsure();
                    self.rest(at);
                }
            }
            Event::Mishap(mishap) => self.mishap(at, mishap),
        }
    }

    fn answered(&mut self, at: usize, id: u64, answer: Answer) {
        let clock = self.clock(at);
        let it = &mut self.candidates[at];
        let Some((_, sent)) = it.waiting.filter(|(waiting, _)| *waiting == id) else {
            return;
        };
        it.waiting = None;
        match answer {
            Answer::Found(found) => {
                it.version = found.as_ref().map(|(_, version)| *version);
                it.election.read(found.map(|(spec, _)| spec), clock);
                self.step(at);
            }
            Answer::Written(spec, version) => {
                it.version = Some(version);
                it.election.written(spec, sent, clock);
                self.rest(at);
            }
            Answer::Conflict => {
                it.election.unsure();
                self.step(at);
            }
        }
    }

    fn mishap(&mut self, at: usize, mishap: Mishap) {
        match mishap {
            Mishap::Stopped(long) => self.candidates[at].stopped_until = self.now + long,
            Mishap::CutOff(long) => self.candidates[at].cut_off_until = self.now + long,
            Mishap::Killed(pause) | Mishap::Ended(pause) => {
                if matches!(mishap, Mishap::Ended(_))
                    && self.now >= self.candidates[at].stopped_until
                {
                    let clock = self.clock(at);
                    let it = &mut self.candidates[at];
                    it.election.resign(clock);
                    let over = it.version;
                    if let Some(spec) = it
                        .election
                        .released(stamp())
                        .filter(|_| it.election.is_sure())
                    {
                        self.send(at, Call::Release(spec, over));
                    }
                }
                let it = &mut self.candidates[at];
                // What it was is gone, whatever it waits for; nor is a dead process stopped.
                (it.life, it.waiting, it.stopped_until) = (it.life + 1, None, 0);
                it.election = Election::new("nobody".to_owned(), timing());
                self.plan(pause, at, Event::Starts);
            }
        }
    }

    fn serve(&mut self, call: Call) -> Answer {
        let (spec, over) = match call {
            Call::Read => return Answer::Found(self.lease.clone()),
            Call::Write(spec, over) | Call::Release(spec, over) => (spec, over),
        };
        if over != self.lease.as_ref().map(|(_, version)| *version) {
            return Answer::Conflict;
        }
        self.versions += 1;
        self.lease = Some((spec.clone(), self.versions));
        Answer::Written(spec, self.versions)
    }

    fn step(&mut self, at: usize) {
        let (clock, wall) = (self.clock(at), self.wall(at));
        let it = &mut self.candidates[at];
        it.calls += 1;
        if it.calls > 3 {
            return self.rest(at);
        }
        match it.election.step(clock, wall) {
            Step::Wait => self.rest(at),
            Step::Read => self.send(at, Call::Read),
            Step::Write(spec) => {
                let over = it.version;
                self.send(at, Call::Write(spec, over));
            }
        }
    }

    fn send(&mut self, at: usize, call: Call) {
        self.ids += 1;
        self.sent += 1;
        let id = self.sent as u64;
        self.candidates[at].waiting = Some((id, self.clock(at)));
        let delay = if self.troubled() {
            self.network(id).0
        } else {
            Some(1)
        };
        if let Some(delay) = delay.filter(|_| self.now >= self.candidates[at].cut_off_until) {
            self.plan(delay, at, Event::Arrives(id, call));
        }
        self.plan(self.truly(at, TIMEOUT), at, Event::TimedOut(id));
    }

    fn rest(&mut self, at: usize) {
        self.plan(self.truly(at, 2_000), at, Event::Round);
    }

    fn plan(&mut self, after: u64, at: usize, event: Event) {
        self.ids += 1;
        self.queue.insert(
            (self.now + after, self.ids),
            (at, self.candidates[at].life, event),
        );
    }

    /// Nobody leads beside another, at any time.
    fn check(&mut self) -> Result<(), String> {
        let leads = |at: &usize| {
            self.candidates[*at]
                .election
                .lead(self.clock(*at))
                .is_some()
        };
        let leaders: Vec<usize> = (0..COUNT).filter(leads).collect();
        if leaders.len() > 1 {
            return Err(format!(
                "{leaders:?} lead at {} ms; the lease: {:?}",
                self.now, self.lease
            ));
        }
        if let [one] = leaders[..] {
            let now = (one, self.candidates[one].life);
            self.handovers += usize::from(self.last.is_some_and(|last| last != now));
            self.last = Some(now);
        }
        Ok(())
    }

    fn troubled(&self) -> bool {
        self.now < TROUBLED
    }

    fn network(&self, id: u64) -> (Option<u64>, Option<u64>) {
        self.world.network[usize::try_from(id).unwrap() % self.world.network.len()]
    }

    /// What the steady clock of a candidate shows.
    fn clock(&self, at: usize) -> Instant {
        self.zero + Duration::from_micros(self.now * self.world.clocks[at].0)
    }

    /// What its calendar shows.
    fn wall(&self, at: usize) -> Timestamp {
        stamp() + jiff::SignedDuration::from_secs(self.world.clocks[at].1)
    }

    /// How long it truly takes until its clock has gone on for so long.
    fn truly(&self, at: usize, millis: u64) -> u64 {
        millis * 1_000 / self.world.clocks[at].0
    }
}

fn worlds() -> impl Strategy<Value = World> {
    // Clocks up to 15 % off: 10 s of the slowest are less than 15 s of the fastest.
    let clock = || {
        (
            prop_oneof![850..=1150u64, Just(850), Just(1150)],
            -40_000_000..40_000_000i64,
        )
    };
    // Most come soon, some when they have hardly been waited for any longer, some later, and some never.
    let delay = || {
        prop_oneof![
            14 => (0..300u64).prop_map(Some),
            2 => (2_500..3_900u64).prop_map(Some),
            2 => (0..20_000u64).prop_map(Some),
            1 => Just(None),
        ]
    };
    let mishap = prop_oneof![
        (0..60_000u64).prop_map(Mishap::Stopped),
        (0..20_000u64).prop_map(Mishap::Killed),
        (0..20_000u64).prop_map(Mishap::Ended),
        (0..30_000u64).prop_map(Mishap::CutOff),
    ];
    let mishaps = proptest::collection::vec((0..TROUBLED - 60_000, 0..COUNT, mishap), 0..12);
    let network = proptest::collection::vec((delay(), delay()), 1..200);
    ((clock(), clock(), clock()), network, mishaps).prop_map(|((a, b, c), network, mishaps)| {
        World {
            clocks: [a, b, c],
            network,
            mishaps,
        }
    })
}

#[test]
fn there_are_never_two_leaders_and_in_the_end_there_is_one() {
    let handovers = Cell::new(0);
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::default()
    });
    let done = runner.run(&worlds(), |world| {
        let mut play = Play::new(&world);
        let together = play.run();
        prop_assert!(together.is_ok(), "{}", together.unwrap_err());
        let leaders = (0..COUNT)
            .filter(|at| {
                play.candidates[*at]
                    .election
                    .lead(play.clock(*at))
                    .is_some()
            })
            .count();
        prop_assert!(leaders == 1, "after a minute of calm {leaders} lead");
        handovers.set(handovers.get() + play.handovers);
        Ok(())
    });
    done.unwrap_or_else(|error| panic!("{error}"));
    assert!(
        handovers.get() > 100,
        "only {} handovers, so this shows nothing",
        handovers.get()
    );
}
