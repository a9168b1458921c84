//! Shortens built-in scenarios from hours to minutes, because a control plane runs in real time.

use evenkeel::model::usage::Measure;
use evenkeel::policy::{Policy, Rule, Smoothing};
use evenkeel::simulate::load::{Curve, Load, Shape};
use evenkeel::simulate::scenario::{MetricsSettings, PolicySource, Scenario, ScenarioWorkload};
use evenkeel::values::{Amount, Ratio};
use jiff::SignedDuration;

/// The policy of `evenkeel simulate` for scenarios that name none.
const BUILT_IN: &str =
    "{apiVersion: evenkeel/v1alpha1, kind: Policy, strategies: [{lowNodeUtilization: {
    thresholds: {cpu: 30%, memory: 40%}, targetThresholds: {cpu: 60%, memory: 70%}}}]}";

/// How a scenario is shortened.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    pub scenario: &'static str,
    /// The factor by which events of the scenario happen sooner.
    pub faster: i32,
    /// The end of the scenario, in seconds.
    pub end: i64,
}

impl Cut {
    /// The scenario and its policy, for both the simulator and the testbed.
    pub fn make(self) -> (Scenario, Policy) {
        let text = Scenario::built_in(self.scenario).unwrap();
        let mut scenario = Scenario::parse(self.scenario, text).unwrap();
        let policy = match scenario.policy.take() {
            None => Policy::parse("built-in", BUILT_IN).unwrap(),
            Some(PolicySource::Inline(policy)) => *policy,
            Some(PolicySource::File(name)) => panic!("a built-in scenario names a file: {name}"),
        };
        scenario.duration = SignedDuration::from_secs(self.end);
        scenario.metrics = metrics();
        for node in &mut scenario.nodes {
            assert!(
                node.fails.is_none() && node.drains.is_none(),
                "{}: a node that goes is not played",
                node.name
            );
            node.joins = node.joins.map(|at| at / self.faster);
            // metrics-server reports nothing about a node that uses nothing.
            let least = Measure { cpu: Amount::millicores(1), memory: Amount::new(1 << 20) };
            node.base = Measure {
                cpu: node.base.cpu.max(least.cpu),
                memory: node.base.memory.max(least.memory),
            };
        }
        for workload in &mut scenario.workloads {
            self.hasten(workload);
        }
        (scenario, shortened(policy))
    }

    fn hasten(self, workload: &mut ScenarioWorkload) {
        for at in [&mut workload.from, &mut workload.until, &mut workload.runs] {
            *at = at.map(|at| at / self.faster);
        }
        // kwok starts a pod as soon as it is bound, and lets it go as soon as it is deleted.
        (workload.startup, workload.ending) = (SignedDuration::ZERO, SignedDuration::ZERO);
        workload.usage = workload
            .usage
            .take()
            .map(|load| Load { cpu: self.curve(&load.cpu), memory: self.curve(&load.memory) });
    }

    fn curve(self, curve: &Curve) -> Curve {
        let shape = match curve.shape.clone() {
            Shape::Wave { mean, swing, period, peak } => {
                Shape::Wave { mean, swing, period: period / self.faster, peak: peak / self.faster }
            }
            Shape::Bursts { base, peak, every, length } => Shape::Bursts {
                base,
                peak,
                every: every / self.faster,
                length: length / self.faster,
            },
            Shape::Trace { rows, row, step, unit } => {
                Shape::Trace { rows, row, step: step / self.faster, unit }
            }
            same @ (Shape::Steady(_) | Shape::Leak { .. }) => same,
        };
        // The comparison looks at one moment, and noise would differ between the simulator and the
        // testbed.
        Curve { shape, noise: Ratio::ZERO }
    }
}

/// Shortens the durations of a policy so that it acts within minutes. Its targets stay.
fn shortened(mut policy: Policy) -> Policy {
    let seconds = SignedDuration::from_secs;
    policy.interval = seconds(15);
    policy.usage.poll = seconds(5);
    policy.usage.window = seconds(40);
    policy.usage.smoothing = Smoothing::Mean;
    policy.usage.stale_after = seconds(60);
    policy.usage.min_samples = 2;
    // Twice the window, as by default.
    policy.cooldown.rest = seconds(80);
    for profile in &mut policy.profiles {
        // In the simulator, pods that exist from the start are an hour old.
        profile.evictable.min_pod_age = SignedDuration::ZERO;
    }
    for strategy in &mut policy.strategies {
        if let Rule::LowNodeUtilization(rule) = &mut strategy.rule {
            rule.sustained_for = seconds(10);
        }
    }
    policy
}

/// The delay and resolution of the testbed's metrics-server.
fn metrics() -> MetricsSettings {
    let resolution = SignedDuration::from_secs(10);
    MetricsSettings { delay: resolution, resolution, gaps: Vec::new() }
}
