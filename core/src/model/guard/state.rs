//! The state of one guard: its newest answer, and how long each value has been above its limit.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::Snapshot;
use crate::model::snapshot::facts::OwnerKey;
use crate::policy::{Guard, GuardScope, WhenMissing};
use crate::values::query_value::QueryValue;
use crate::values::text::duration;

use super::series::{Named, exists, workload_of};
use super::{GuardAnswer, GuardCause, GuardReport, GuardStop, GuardTarget};

const LOST: &str = "it returned a series before and returns none now";
const NO_NUMBER: &str = "its value is not a number";

#[derive(Clone, Debug)]
pub(super) struct GuardState {
    pub(super) rule: Guard,
    /// Why the last question had no answer.
    pub(super) error: Option<String>,
    /// The time of the newest answer.
    answered: Option<Timestamp>,
    /// The number of its series.
    series: usize,
    /// Its highest value.
    highest: Option<QueryValue>,
    /// Why one of its series names nothing.
    flaw: Option<String>,
    /// Objects that its series name and that are not known.
    unknown: BTreeSet<String>,
    /// Whether any answer had a value within the limit, or one that is not a number.
    measures: bool,
    /// The workloads of the pods that the newest answer names. A pod that is gone has series for
    /// some minutes.
    pods: BTreeMap<(String, String), OwnerKey>,
    targets: BTreeMap<GuardTarget, TargetState>,
}

/// The values of one target.
#[derive(Clone, Debug, Default)]
struct TargetState {
    /// The highest value of the newest answer.
    value: Option<QueryValue>,
    /// The object that the series names, if it is not known.
    unknown: Option<String>,
    /// The first of the last answers, all of which were above the limit.
    above_since: Option<Timestamp>,
    /// The first of the last answers, all of which were within the limit.
    within_since: Option<Timestamp>,
    stopped: bool,
    /// Why the newest answer has no value, if that is missed.
    lost: Option<&'static str>,
}

/// The values of an answer by target, each with the object that is not known.
type Values = BTreeMap<GuardTarget, (Option<QueryValue>, Option<String>)>;

impl GuardState {
    pub(super) fn new(rule: &Guard) -> Self {
        GuardState {
            rule: rule.clone(),
            error: None,
            answered: None,
            series: 0,
            highest: None,
            flaw: None,
            unknown: BTreeSet::new(),
            measures: false,
            pods: BTreeMap::new(),
            targets: BTreeMap::new(),
        }
    }

    /// Returns true if no series was above the limit or lost lately.
    pub(super) fn is_quiet(&self) -> bool {
        let mut states = self.targets.values();
        states.all(|state| !state.stopped && state.lost.is_none())
    }

    /// Limits all times to this one if the last answer is later, because the clock was set back.
    pub(super) fn set_back(&mut self, now: Timestamp) {
        if self.answered.is_none_or(|last| last <= now) {
            return;
        }
        self.answered = None;
        for state in self.targets.values_mut() {
            for time in [&mut state.above_since, &mut state.within_since] {
                *time = time.map(|time| time.min(now));
            }
        }
    }

    /// Records an answer. One that is not newer than the last changes nothing.
    pub(super) fn observe(&mut self, snapshot: &Snapshot, answer: &GuardAnswer) {
        if self.answered.is_some_and(|last| answer.at <= last) {
            return;
        }
        (self.answered, self.error) = (Some(answer.at), None);
        self.series = answer.series.len();
        self.highest = answer.series.iter().filter_map(|series| series.value).max();
        match self.values(snapshot, answer) {
            Ok(mut values) => {
                let mut all = answer.series.iter().map(|series| series.value);
                self.measures |= all.any(|value| value <= Some(self.rule.above));
                for target in values.keys() {
                    self.targets.entry(target.clone()).or_default();
                }
                let (rule, measures) = (&self.rule, self.measures);
                for (target, state) in &mut self.targets {
                    let found = values.remove(target);
                    let why = if found.is_some() { NO_NUMBER } else { LOST };
                    let (value, unknown) = found.unwrap_or_default();
                    let lost = value.is_none() && is_missed(target, rule, measures, snapshot);
                    (state.unknown, state.lost) = (unknown, lost.then_some(why));
                    state.observe(rule, value, answer.at);
                }
                self.targets.retain(|_, state| state.counts());
            }
            Err(flaw) => self.flaw = Some(flaw),
        }
    }

    /// Returns the highest value of each target, or why the answer cannot be used.
    fn values(&mut self, snapshot: &Snapshot, answer: &GuardAnswer) -> Result<Values, String> {
        let (mut values, mut pods) = (Values::new(), BTreeMap::new());
        let mut unknown = BTreeSet::new();
        self.flaw = None;
        for series in &answer.series {
            let named = series.named(self.rule.scope, snapshot, |namespace, name| {
                let pod = (namespace.to_owned(), name.to_owned());
                let key = workload_of(namespace, name, snapshot);
                let key = key.or_else(|| self.pods.get(&pod).cloned())?;
                pods.insert(pod, key.clone());
                Some(key)
            });
            let named = match named {
                Ok(named) => named,
                Err(flaw) if self.rule.missing == WhenMissing::Stop => return Err(flaw),
                // It is missing, and the others count.
                Err(flaw) => {
                    self.flaw = Some(flaw);
                    continue;
                }
            };
            let (targets, missing) = match named {
                Named::Known(targets) => (targets, None),
                Named::Unknown { name, namespace } => {
                    unknown.insert(name.clone());
                    let stops = self.rule.missing == WhenMissing::Stop
                        && series.value.is_some_and(|value| value > self.rule.above);
                    let target = stops.then_some(GuardTarget::Namespace(namespace));
                    (target.into_iter().collect(), Some(name))
                }
            };
            for target in targets {
                let highest = values.entry(target);
                let highest = highest.or_insert_with(|| (series.value, missing.clone()));
                // Not a number is less than any number.
                if series.value > highest.0 {
                    *highest = (series.value, missing.clone());
                }
            }
        }
        (self.pods, self.unknown) = (pods, unknown);
        Ok(values)
    }

    /// Returns why there is no answer; `None` if there is one.
    fn unanswered(&self, stale_after: SignedDuration, now: Timestamp) -> Option<String> {
        let age = self.answered.map(|at| now.duration_since(at));
        match (age, &self.error) {
            (Some(age), _) if age <= stale_after => None,
            (_, Some(error)) => Some(format!("no answer: {error}")),
            (Some(age), None) => Some(format!("its newest answer is {} old", duration(age))),
            (None, None) => Some("its query has not been asked yet".to_owned()),
        }
    }

    /// Returns why the evictions of a target are stopped.
    pub(super) fn stop_of(
        &self,
        target: &GuardTarget,
        stale_after: SignedDuration,
        now: Timestamp,
    ) -> Option<GuardStop> {
        let stops = self.rule.missing == WhenMissing::Stop;
        let flaw = self.flaw.clone().filter(|_| stops);
        let cause = match self.unanswered(stale_after, now).or(flaw) {
            Some(why) => {
                let stops = stops && *target == GuardTarget::Cluster;
                stops.then_some(GuardCause::Missing(why))?
            }
            None => self.targets.get(target)?.cause(&self.rule, now)?,
        };
        Some(GuardStop { guard: self.rule.name.clone(), target: target.clone(), cause })
    }

    /// Returns everything that is stopped now.
    pub(super) fn stops(&self, stale_after: SignedDuration, now: Timestamp) -> Vec<GuardStop> {
        let cluster = std::iter::once(&GuardTarget::Cluster);
        let others = self.targets.keys().filter(|t| **t != GuardTarget::Cluster);
        cluster.chain(others).filter_map(|target| self.stop_of(target, stale_after, now)).collect()
    }

    pub(super) fn report(&self, stale_after: SignedDuration, now: Timestamp) -> GuardReport {
        let unanswered = self.unanswered(stale_after, now);
        GuardReport {
            guard: self.rule.name.clone(),
            scope: self.rule.scope,
            answered: self.answered,
            series: self.series,
            highest: self.highest.filter(|_| unanswered.is_none()),
            missing: unanswered.or_else(|| self.flaw.clone()),
            limit: self.rule.above,
            unknown: self.unknown.iter().cloned().collect(),
            stops: self.stops(stale_after, now),
        }
    }
}

/// Returns true if a target without a series is missing, and not quiet.
fn is_missed(target: &GuardTarget, rule: &Guard, measures: bool, snapshot: &Snapshot) -> bool {
    // Another scope than that of the guard stands for an object that does not exist.
    let is_own = match target {
        GuardTarget::Cluster => rule.scope == GuardScope::Cluster,
        GuardTarget::Namespace(_) => rule.scope == GuardScope::Namespace,
        GuardTarget::Workload(_) => rule.scope == GuardScope::Workload,
    };
    measures && rule.missing == WhenMissing::Stop && is_own && exists(target, snapshot)
}

impl TargetState {
    fn observe(&mut self, rule: &Guard, value: Option<QueryValue>, at: Timestamp) {
        self.value = value;
        if self.lost.is_some() {
            (self.above_since, self.within_since) = (None, None);
        } else if value.is_some_and(|value| value > rule.above) {
            self.within_since = None;
            let since = *self.above_since.get_or_insert(at);
            self.stopped |= at.duration_since(since) >= rule.hold;
        } else {
            self.above_since = None;
            let since = *self.within_since.get_or_insert(at);
            self.stopped &= at.duration_since(since) < rule.recover;
        }
    }

    /// Returns true while the next answer depends on this one.
    const fn counts(&self) -> bool {
        self.value.is_some() || self.stopped || self.lost.is_some()
    }

    fn cause(&self, rule: &Guard, now: Timestamp) -> Option<GuardCause> {
        let limit = rule.above;
        if let Some(why) = self.lost {
            return Some(GuardCause::Missing(why.to_owned()));
        }
        if !self.stopped {
            return None;
        }
        Some(match (self.value, self.within_since) {
            (Some(value), None) => {
                GuardCause::Above { value, limit, unknown: self.unknown.clone() }
            }
            (_, since) => {
                let within = now.duration_since(since.unwrap_or(now));
                let left = rule.recover.saturating_sub(within);
                GuardCause::Recovering { limit, left: left.max(SignedDuration::ZERO) }
            }
        })
    }
}
