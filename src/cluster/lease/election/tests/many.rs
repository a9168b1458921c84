//! Three candidates in simulated time. Their clocks run at different speeds and show different
//! times; the network delays, loses and reorders requests and responses; processes are stopped,
//! killed and terminated.

use std::cell::Cell;
use std::collections::BTreeMap;

use proptest::prelude::{Just, Strategy, prop_assert};
use proptest::prop_oneof;
use proptest::test_runner::{Config, TestRunner};

use super::{Duration, Election, ElectionStep, Instant, LeaseSpec, Timestamp, stamp, timing};

const COUNT: usize = 3;
/// Faults happen before this time, in milliseconds. A calm period follows.
const FAULTY: u64 = 300_000;
const CALM: u64 = 60_000;
/// The deadline of a request with this timing, in milliseconds.
const TIMEOUT: u64 = 3_333;

#[derive(Clone, Debug)]
struct ElectionScenario {
    /// The speed of each clock, in thousandths, and the offset of its wall time in seconds.
    clocks: [(u64, i64); COUNT],
    /// The delay in milliseconds of each request and its response; `None` if it is lost.
    network: Vec<(Option<u64>, Option<u64>)>,
    faults: Vec<(u64, usize, ProcessFault)>,
}

#[derive(Clone, Copy, Debug)]
enum ProcessFault {
    /// SIGSTOP for this time.
    Stopped(u64),
    /// SIGKILL. The process starts again after this time with another identity.
    Killed(u64),
    /// SIGTERM, and a new start after this time.
    Ended(u64),
    /// Its requests are lost for this time.
    CutOff(u64),
}

#[derive(Clone, Debug)]
enum LeaseCall {
    Read,
    Write(LeaseSpec, Option<u64>),
    Release(LeaseSpec, Option<u64>),
}

#[derive(Clone, Debug)]
enum LeaseResponse {
    Found(Option<(LeaseSpec, u64)>),
    Written(LeaseSpec, u64),
    Conflict,
}

#[derive(Clone, Debug)]
enum SimulatedEvent {
    Round,
    Arrives(u64, LeaseCall),
    Response(u64, LeaseResponse),
    TimedOut(u64),
    ProcessFault(ProcessFault),
    Starts,
}

struct SimulatedCandidate {
    election: Election,
    /// The number of restarts.
    life: u64,
    /// The last seen resource version.
    version: Option<u64>,
    /// The open request and the time of sending.
    waiting: Option<(u64, Instant)>,
    calls: usize,
    stopped_until: u64,
    cut_off_until: u64,
}

struct ElectionSimulation<'w> {
    scenario: &'w ElectionScenario,
    zero: Instant,
    now: u64,
    lease: Option<(LeaseSpec, u64)>,
    versions: u64,
    ids: u64,
    sent: usize,
    candidates: Vec<SimulatedCandidate>,
    /// Future events by time and order, with the candidate and the number of its restarts.
    queue: BTreeMap<(u64, u64), (usize, u64, SimulatedEvent)>,
    /// How often the leader changed.
    handovers: usize,
    last: Option<(usize, u64)>,
}

impl<'w> ElectionSimulation<'w> {
    fn new(scenario: &'w ElectionScenario) -> Self {
        let zero = Instant::now();
        let candidate = |at: usize| SimulatedCandidate {
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
        let mut simulation = ElectionSimulation {
            scenario,
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
            simulation.plan(at as u64 * 700, at, SimulatedEvent::Round);
        }
        for (time, at, fault) in &scenario.faults {
            simulation.ids += 1;
            // `u64::MAX` matches any number of restarts.
            simulation.queue.insert(
                (*time, simulation.ids),
                (*at, u64::MAX, SimulatedEvent::ProcessFault(*fault)),
            );
        }
        simulation
    }

    /// Runs to the end. Fails if two candidates lead at the same time.
    fn run(&mut self) -> Result<(), String> {
        while let Some(((time, id), (at, life, event))) = self.queue.pop_first() {
            if time > FAULTY + CALM {
                break;
            }
            self.now = time;
            let candidate = &self.candidates[at];
            let inside =
                !matches!(event, SimulatedEvent::Arrives(..) | SimulatedEvent::ProcessFault(_));
            if inside && life != candidate.life {
                continue;
            }
            if inside && time < candidate.stopped_until {
                self.queue.insert((candidate.stopped_until, id), (at, life, event));
                continue;
            }
            self.handle(at, event);
            self.check()?;
        }
        Ok(())
    }

    fn handle(&mut self, at: usize, event: SimulatedEvent) {
        match event {
            SimulatedEvent::Starts => {
                let (life, clock) = (self.candidates[at].life, self.clock(at));
                let candidate = &mut self.candidates[at];
                candidate.election = Election::new(format!("{at}-{life}"), timing());
                (candidate.version, candidate.waiting, candidate.calls) = (None, None, 0);
                candidate.election.begin(clock);
                self.step(at);
            }
            SimulatedEvent::Round => {
                let clock = self.clock(at);
                self.candidates[at].election.begin(clock);
                self.candidates[at].calls = 0;
                self.step(at);
            }
            SimulatedEvent::Arrives(id, call) => {
                let response = self.serve(call);
                let delay = if self.is_faulty() { self.network(id).1 } else { Some(1) };
                if let Some(delay) = delay {
                    let life = self.candidates[at].life;
                    self.ids += 1;
                    self.queue.insert(
                        (self.now + delay, self.ids),
                        (at, life, SimulatedEvent::Response(id, response)),
                    );
                }
            }
            SimulatedEvent::Response(id, response) => self.respond(at, id, response),
            SimulatedEvent::TimedOut(id) => {
                if self.candidates[at].waiting.is_some_and(|(waiting, _)| waiting == id) {
                    self.candidates[at].waiting = None;
                    self.candidates[at].election.unsure();
                    self.rest(at);
                }
            }
            SimulatedEvent::ProcessFault(fault) => self.fault(at, fault),
        }
    }

    fn respond(&mut self, at: usize, id: u64, response: LeaseResponse) {
        let clock = self.clock(at);
        let candidate = &mut self.candidates[at];
        let Some((_, sent)) = candidate.waiting.filter(|(waiting, _)| *waiting == id) else {
            return;
        };
        candidate.waiting = None;
        match response {
            LeaseResponse::Found(found) => {
                candidate.version = found.as_ref().map(|(_, version)| *version);
                candidate.election.read(found.map(|(spec, _)| spec), clock);
                self.step(at);
            }
            LeaseResponse::Written(spec, version) => {
                candidate.version = Some(version);
                candidate.election.written(spec, sent, clock);
                self.rest(at);
            }
            LeaseResponse::Conflict => {
                candidate.election.unsure();
                self.step(at);
            }
        }
    }

    fn fault(&mut self, at: usize, fault: ProcessFault) {
        match fault {
            ProcessFault::Stopped(long) => self.candidates[at].stopped_until = self.now + long,
            ProcessFault::CutOff(long) => self.candidates[at].cut_off_until = self.now + long,
            ProcessFault::Killed(pause) | ProcessFault::Ended(pause) => {
                if matches!(fault, ProcessFault::Ended(_))
                    && self.now >= self.candidates[at].stopped_until
                {
                    let clock = self.clock(at);
                    let candidate = &mut self.candidates[at];
                    candidate.election.resign(clock);
                    let over = candidate.version;
                    if let Some(spec) = candidate
                        .election
                        .released(stamp())
                        .filter(|_| candidate.election.is_sure())
                    {
                        self.send(at, LeaseCall::Release(spec, over));
                    }
                }
                let candidate = &mut self.candidates[at];
                // The process is gone, with its open request and its SIGSTOP.
                (candidate.life, candidate.waiting, candidate.stopped_until) =
                    (candidate.life + 1, None, 0);
                candidate.election = Election::new("dead".to_owned(), timing());
                self.plan(pause, at, SimulatedEvent::Starts);
            }
        }
    }

    fn serve(&mut self, call: LeaseCall) -> LeaseResponse {
        let (spec, over) = match call {
            LeaseCall::Read => return LeaseResponse::Found(self.lease.clone()),
            LeaseCall::Write(spec, over) | LeaseCall::Release(spec, over) => (spec, over),
        };
        if over != self.lease.as_ref().map(|(_, version)| *version) {
            return LeaseResponse::Conflict;
        }
        self.versions += 1;
        self.lease = Some((spec.clone(), self.versions));
        LeaseResponse::Written(spec, self.versions)
    }

    fn step(&mut self, at: usize) {
        let (clock, wall) = (self.clock(at), self.wall(at));
        let candidate = &mut self.candidates[at];
        candidate.calls += 1;
        if candidate.calls > 3 {
            return self.rest(at);
        }
        match candidate.election.step(clock, wall) {
            ElectionStep::Wait => self.rest(at),
            ElectionStep::Read => self.send(at, LeaseCall::Read),
            ElectionStep::Write(spec) => {
                let over = candidate.version;
                self.send(at, LeaseCall::Write(spec, over));
            }
        }
    }

    fn send(&mut self, at: usize, call: LeaseCall) {
        self.ids += 1;
        self.sent += 1;
        let id = self.sent as u64;
        self.candidates[at].waiting = Some((id, self.clock(at)));
        let delay = if self.is_faulty() { self.network(id).0 } else { Some(1) };
        if let Some(delay) = delay.filter(|_| self.now >= self.candidates[at].cut_off_until) {
            self.plan(delay, at, SimulatedEvent::Arrives(id, call));
        }
        self.plan(self.true_millis(at, TIMEOUT), at, SimulatedEvent::TimedOut(id));
    }

    fn rest(&mut self, at: usize) {
        self.plan(self.true_millis(at, 2_000), at, SimulatedEvent::Round);
    }

    fn plan(&mut self, after: u64, at: usize, event: SimulatedEvent) {
        self.ids += 1;
        self.queue.insert((self.now + after, self.ids), (at, self.candidates[at].life, event));
    }

    /// Fails if two candidates lead.
    fn check(&mut self) -> Result<(), String> {
        let leads = |at: &usize| self.candidates[*at].election.active(self.clock(*at)).is_some();
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

    fn is_faulty(&self) -> bool {
        self.now < FAULTY
    }

    fn network(&self, id: u64) -> (Option<u64>, Option<u64>) {
        self.scenario.network[usize::try_from(id).unwrap() % self.scenario.network.len()]
    }

    /// The monotonic clock of a candidate.
    fn clock(&self, at: usize) -> Instant {
        self.zero + Duration::from_micros(self.now * self.scenario.clocks[at].0)
    }

    /// The wall clock of a candidate.
    fn wall(&self, at: usize) -> Timestamp {
        stamp() + jiff::SignedDuration::from_secs(self.scenario.clocks[at].1)
    }

    /// The true duration, in milliseconds, of a duration on the candidate's clock.
    fn true_millis(&self, at: usize, millis: u64) -> u64 {
        millis * 1_000 / self.scenario.clocks[at].0
    }
}

fn scenarios() -> impl Strategy<Value = ElectionScenario> {
    // Clocks are up to 15 % off: 10 s of the slowest are less than 15 s of the fastest.
    let clock = || (prop_oneof![850..=1150u64, Just(850), Just(1150)], -40_000_000..40_000_000i64);
    // Most arrive soon, some around the timeout, some later, and some never.
    let delay = || {
        prop_oneof![
            14 => (0..300u64).prop_map(Some),
            2 => (2_500..3_900u64).prop_map(Some),
            2 => (0..20_000u64).prop_map(Some),
            1 => Just(None),
        ]
    };
    let fault = prop_oneof![
        (0..60_000u64).prop_map(ProcessFault::Stopped),
        (0..20_000u64).prop_map(ProcessFault::Killed),
        (0..20_000u64).prop_map(ProcessFault::Ended),
        (0..30_000u64).prop_map(ProcessFault::CutOff),
    ];
    let faults = proptest::collection::vec((0..FAULTY - 60_000, 0..COUNT, fault), 0..12);
    let network = proptest::collection::vec((delay(), delay()), 1..200);
    ((clock(), clock(), clock()), network, faults).prop_map(|((a, b, c), network, faults)| {
        ElectionScenario { clocks: [a, b, c], network, faults }
    })
}

#[test]
fn there_are_never_two_leaders_and_finally_there_is_one() {
    let handovers = Cell::new(0);
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let done = runner.run(&scenarios(), |scenario| {
        let mut simulation = ElectionSimulation::new(&scenario);
        let together = simulation.run();
        prop_assert!(together.is_ok(), "{}", together.unwrap_err());
        let leaders = (0..COUNT)
            .filter(|at| {
                simulation.candidates[*at].election.active(simulation.clock(*at)).is_some()
            })
            .count();
        prop_assert!(leaders == 1, "{leaders} leaders after a minute without faults");
        handovers.set(handovers.get() + simulation.handovers);
        Ok(())
    });
    done.unwrap_or_else(|error| panic!("{error}"));
    assert!(handovers.get() > 100, "only {} handovers, too few to prove anything", handovers.get());
}
