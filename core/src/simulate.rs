//! A cluster in memory, driven by the same [`Engine`] and the same scheduler forecast as a real
//! one.
//!
//! A [`Scenario`] describes the cluster, its real usage and its events. [`run`] simulates hours of
//! it within moments and returns a [`Trace`]. Equal scenarios, policies and seeds give equal
//! traces, byte for byte.
//!
//! Simulated: controllers that replace pods, budgets, evictions, nodes that join, fail and are
//! drained, and delayed metrics. Not simulated: preemption, volumes, rollouts and memory
//! exhaustion.

use jiff::{SignedDuration, Timestamp};

use crate::decide::engine::{Engine, Observed};
use crate::model::ledger::Ledger;
use crate::model::plan::{Outcome, Plan, Setbacks, Steer, SteerAction};
use crate::model::snapshot::Snapshot;
use crate::model::usage::Readings;
use crate::model::usage::recorded::HistoryRange;
use crate::model::usage::recorded::recorder::UsageRecorder;
use crate::policy::Policy;

use self::cluster::{SimulatedCluster, after};
use self::metrics::SimulatedMetricsApi;
use self::record::Recorder;
use self::scenario::{Given, Scenario};
use self::trace::Trace;

mod cluster;
pub mod compare;
mod controllers;
mod eviction;
mod guards;
pub mod load;
mod metrics;
mod random;
mod record;
mod recorded_cluster;
mod replay;
pub mod rows;
pub mod scenario;
mod scheduling;
mod setting;
pub mod trace;

/// Runs a scenario under a policy from start to end. `policy_name` appears in the trace. `watch`
/// receives the progress after each step of simulated time.
pub fn run(
    scenario: &Scenario,
    policy: Policy,
    policy_name: &str,
    mut watch: impl FnMut(SignedDuration),
) -> Trace {
    let progress = |run: &mut Run<'_>| watch(run.cluster.elapsed());
    let (run, recorder) = drive(scenario, policy, policy_name, progress);
    recorder.finish(run.cluster, &run.engine)
}

/// Like [`run`]. Also returns the cluster at the end with its usage at each `step` of the run, as
/// `evenkeel snapshot --history` records a real cluster.
pub fn run_and_record(
    scenario: &Scenario,
    policy: Policy,
    policy_name: &str,
    step: SignedDuration,
) -> (Trace, Given) {
    let mut all: Vec<(Timestamp, Readings)> = Vec::new();
    let note = |run: &mut Run<'_>| {
        let due = all.last().is_none_or(|(at, _)| after(*at, step) <= run.cluster.now);
        if due {
            all.push((run.cluster.now, run.readings()));
        }
    };
    let (mut run, recorder) = drive(scenario, policy, policy_name, note);
    let range = HistoryRange { start: run.cluster.start, step, steps: all.len() };
    let snapshot = run.cluster.snapshot();
    let mut history = UsageRecorder::new(&snapshot, range);
    for (at, readings) in &all {
        history.add(*at, readings);
    }
    let given = Given {
        objects: run.cluster.objects.clone(),
        readings: run.readings(),
        at: run.cluster.now,
        history: Some(history.finish()),
        guards: Vec::new(),
    };
    (recorder.finish(run.cluster, &run.engine), given)
}

/// Runs a scenario. `watch` sees the run after each step.
fn drive<'s>(
    scenario: &'s Scenario,
    mut policy: Policy,
    policy_name: &str,
    mut watch: impl FnMut(&mut Run<'s>),
) -> (Run<'s>, Recorder) {
    if let Some(strategy) = &scenario.scheduler {
        policy.scheduler.fit.strategy = strategy.clone();
    }
    guards::retain_known(&mut policy, scenario);
    // One step per poll, because the engine sees nothing between two polls.
    let tick = policy.usage.poll;
    let mut run = Run::new(scenario, policy);
    let mut recorder = Recorder::new(scenario, run.engine.policy(), policy_name, tick);
    let end = after(run.cluster.start, scenario.duration);
    let mut last = SignedDuration::ZERO;
    loop {
        run.pass(last, &mut recorder);
        last = run.cluster.elapsed();
        watch(&mut run);
        let next = after(run.cluster.now, tick);
        // The time stands still at the latest timestamp, which would loop for ever.
        if next > end || next <= run.cluster.now {
            return (run, recorder);
        }
        run.cluster.now = next;
    }
}

/// Returns the snapshot and the usage of a scenario at its start.
pub fn at_start(scenario: &Scenario, policy: &Policy) -> (Snapshot, Readings) {
    let mut cluster = setting::begin(scenario, policy);
    cluster.settle_down(policy);
    let snapshot = Snapshot::clone(&cluster.snapshot());
    let used = metrics::used(&mut cluster, &snapshot);
    let readings =
        SimulatedMetricsApi::new(scenario.metrics.clone()).read(&cluster, &snapshot, &used);
    (snapshot, readings)
}

struct Run<'s> {
    scenario: &'s Scenario,
    cluster: SimulatedCluster,
    metrics: SimulatedMetricsApi,
    engine: Engine,
    next_cycle: Timestamp,
}

impl<'s> Run<'s> {
    fn new(scenario: &'s Scenario, policy: Policy) -> Self {
        let cluster = setting::begin(scenario, &policy);
        let (metrics, next_cycle) =
            (SimulatedMetricsApi::new(scenario.metrics.clone()), cluster.start);
        Run {
            scenario,
            cluster,
            metrics,
            engine: Engine::new(policy, Ledger::default()),
            next_cycle,
        }
    }

    /// Reads the present usage, with the node of each pod.
    fn readings(&mut self) -> Readings {
        let snapshot = self.cluster.snapshot();
        let used = metrics::used(&mut self.cluster, &snapshot);
        let mut readings = self.metrics.read(&self.cluster, &snapshot, &used);
        let placed = used.running.iter().map(|running| {
            let (pod, node) = (snapshot.pod(running.pod), snapshot.node(running.node));
            ((pod.namespace.clone(), pod.name.clone()), node.name.clone())
        });
        readings.placed = placed.collect();
        readings
    }

    /// Runs one tick: first the cluster's own events, then the steps of the daemon, in its order.
    fn pass(&mut self, last: SignedDuration, recorder: &mut Recorder) {
        self.cluster.live_through_agenda();
        controllers::nodes(&mut self.cluster, self.scenario, last);
        self.cluster.settle_down(self.engine.policy());
        // Only the initial objects get an age of an hour. Everything later is created now.
        self.cluster.begun = true;
        let snapshot = self.cluster.snapshot();
        let used = metrics::used(&mut self.cluster, &snapshot);
        self.metrics.sample(&self.cluster, &snapshot, &used);
        let now = self.cluster.now;
        recorder.note(now, &snapshot, &used);
        if let Some(readings) = self.metrics.newest(now) {
            self.engine.observe(&snapshot, readings, now);
        }
        let policy = self.engine.policy();
        if !policy.guards.is_empty() {
            let answers = guards::ask(self.scenario, policy, self.cluster.elapsed(), now);
            self.engine.observe_guards(&snapshot, &answers);
        }
        if now >= self.next_cycle {
            self.next_cycle = after(now, self.engine.policy().interval);
            self.cycle(&self.engine.join_usage(&snapshot, now), recorder);
        }
    }

    /// Runs one cycle of the daemon: settle, decide, save the ledger, evict, save again.
    fn cycle(&mut self, observed: &Observed<'_>, recorder: &mut Recorder) {
        for settled in self.engine.settle_observed(observed) {
            recorder.settled(&settled);
        }
        for relief in self.engine.take_reliefs(observed.now) {
            recorder.relieved(relief);
        }
        let plan = self.engine.decide_observed(observed, |_| {});
        recorder.decided(&plan);
        if self.engine.policy().dry_run {
            return;
        }
        let (snapshot, now) = (observed.snapshot, observed.now);
        self.engine.intend(snapshot, &plan.moves, now);
        self.act(&plan, recorder);
    }

    /// Applies a plan to the cluster. No other code does.
    fn act(&mut self, plan: &Plan, recorder: &mut Recorder) {
        // Same order as in the daemon: a move may depend on the removal of a taint.
        let (removed, added): (Vec<&Steer>, Vec<&Steer>) = plan
            .steering
            .iter()
            .filter(|s| s.action.is_change())
            .partition(|s| s.action == SteerAction::Remove);
        for steer in added {
            controllers::steer(&mut self.cluster, steer);
        }
        let grace = self.engine.policy().grace_period;
        let (mut setbacks, mut outcomes) = (Setbacks::default(), Vec::new());
        for planned in &plan.moves {
            let pod = (planned.namespace.clone(), planned.pod.clone());
            let age = self.cluster.age(&pod);
            let outcome = match setbacks.obstacle(planned) {
                Some(why) => Outcome::Untried(why),
                None => eviction::request(&mut self.cluster, planned, grace),
            };
            setbacks.note(planned, &outcome);
            if outcome == Outcome::Evicted {
                controllers::replace_evicted(&mut self.cluster, &pod);
            }
            self.engine.resolve(planned, &outcome);
            recorder.outcome(plan.at, planned, age, &outcome);
            outcomes.push(outcome);
        }
        self.engine.rest_rejected(&plan.moves, &outcomes, plan.at);
        // Replacements have to be scheduled while the taints are still there.
        if !plan.moves.is_empty() {
            self.cluster.settle_down(self.engine.policy());
        }
        for steer in removed {
            controllers::steer(&mut self.cluster, steer);
        }
    }
}

impl SimulatedCluster {
    /// Runs controllers and scheduler until both have no more work.
    fn settle_down(&mut self, policy: &Policy) {
        controllers::workloads(self);
        scheduling::schedule(self, policy);
        self.live_through_agenda();
        // Budgets are counted last, after the pods that just became Ready.
        controllers::budgets(self);
    }
}
