//! The answers to the guards of a policy: the series of the scenario and those of a recording.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::model::guard::{GuardAnswer, GuardReading, GuardSeries, recorded};
use crate::policy::Policy;

use super::scenario::{GuardCourse, Scenario};

impl Scenario {
    /// Returns the names of the guards that have a series.
    pub fn guards(&self) -> BTreeSet<&str> {
        let own = self.guard_courses.iter().map(|course| &course.guard);
        let given = self.given.iter().flat_map(|given| &given.guards);
        let all = own.chain(given.map(|history| &history.guard));
        all.map(String::as_str).collect()
    }
}

/// The cause of a guard that the scenario leaves without an answer.
const NO_ANSWER: &str = "the scenario has no answer";

impl GuardCourse {
    fn exists_at(&self, elapsed: SignedDuration) -> bool {
        self.from <= elapsed && self.until.is_none_or(|until| elapsed < until)
    }

    fn series(&self) -> GuardSeries {
        GuardSeries { labels: self.labels.clone(), value: self.value }
    }
}

/// Removes the guards without a series. They would count as missing for the whole simulation.
pub(super) fn retain_known(policy: &mut Policy, scenario: &Scenario) {
    let known = scenario.guards();
    let guards = &mut policy.guards;
    guards.retain(|guard| known.contains(guard.name.as_str()));
}

pub(super) fn ask(
    scenario: &Scenario,
    policy: &Policy,
    elapsed: SignedDuration,
    now: Timestamp,
) -> Vec<GuardReading> {
    let ask = |guard: &str| {
        let own = scenario.guard_courses.iter();
        let own = own.filter(|c| c.guard == guard && c.exists_at(elapsed));
        if own.clone().any(|course| course.value.is_none()) {
            return Err(NO_ANSWER.to_owned());
        }
        let given = scenario.given.iter();
        let recorded = given.filter_map(|given| recorded::answer(&given.guards, guard, now));
        let series = own.map(GuardCourse::series);
        let series = series.chain(recorded.flat_map(|answer| answer.series));
        let series = series.collect();
        Ok(vec![GuardAnswer { at: now, series }])
    };
    let guards = policy.guards.iter();
    guards
        .map(|guard| GuardReading { guard: guard.name.clone(), answers: ask(&guard.name) })
        .collect()
}
