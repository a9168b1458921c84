//! Counters begin at nought: Prometheus tells by how much a counter has grown, so what it is first seen at is lost.

use crate::plan::{Outcome, SteerOutcome};
use crate::policy::Policy;

use super::Metrics;
use super::catalogue::{About, CYCLES, LANDINGS, PHASE, SETTLED, TAINTS, Values};
use super::families::{CycleLabels, EndingLabels, LandingLabels, OutcomeLabels, PhaseLabels, TaintLabels};

impl Metrics {
    /// Has every counter that alerts look at there, at nought, before anything is counted.
    pub fn begin(&self, policy: &Policy) {
        for strategy in policy.strategies.iter().map(|s| s.rule.name()) {
            for outcome in Outcome::CODES {
                drop(self.all.evictions.get_or_create(&OutcomeLabels { strategy, outcome }));
            }
        }
        for ending in values(&SETTLED, "ending") {
            drop(self.all.settled.get_or_create(&EndingLabels { ending }));
        }
        for forecast in values(&LANDINGS, "forecast") {
            drop(self.all.landings.get_or_create(&LandingLabels { forecast }));
        }
        for phase in values(&PHASE, "phase") {
            drop(self.all.phases.get_or_create(&PhaseLabels { phase }));
        }
        for outcome in values(&CYCLES, "outcome") {
            drop(self.all.cycles.get_or_create(&CycleLabels { outcome }));
        }
        if policy.steering.is_on() {
            for action in values(&TAINTS, "action") {
                for outcome in SteerOutcome::CODES {
                    drop(self.all.taints.get_or_create(&TaintLabels { action, outcome }));
                }
            }
        }
    }
}

/// What the list says of the values of a label.
fn values(about: &About, label: &str) -> impl Iterator<Item = &'static str> {
    let of = about.labels.iter().find(|it| it.0 == label).map(|it| it.1);
    if let Some(Values::These(values)) = of { values } else { &[] }.iter().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::metrics::Form;

    #[test]
    fn what_may_be_counted_is_there_before_it_is() {
        let text =
            "{apiVersion: evenkeel/v1alpha1, kind: Policy, steering: {taintHot: true}, strategies: [removeDuplicates,
            lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}}]}";
        let metrics = Metrics::default();
        metrics.begin(&Policy::parse("policy.yaml", text).unwrap());
        let text = metrics.text(Form::Classic);
        for series in [
            "evictions_total{strategy=\"RemoveDuplicates\",outcome=\"evicted\"}",
            "evictions_total{strategy=\"LowNodeUtilization\",outcome=\"refused\"}",
            "settled_moves_total{ending=\"same-node\"}",
            "landings_total{forecast=\"elsewhere\"}",
            "cycles_total{outcome=\"failed\"}",
            "taint_changes_total{action=\"add\",outcome=\"done\"}",
        ] {
            assert!(text.contains(&format!("evenkeel_{series} 0\n")), "{series}: {text}");
        }
    }
}
