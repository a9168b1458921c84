//! The policy of the operator: parsed and validated once, then trusted.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use serde::Serialize;

use crate::values::Ratio;
use crate::values::selector::{Labels, Selector};

mod approval;
mod arguments;
mod descheduler;
mod document;
mod evictable;
mod guards;
mod help;
mod kubernetes_release;
mod levels;
mod limits;
pub(crate) mod native;
mod node_utilization;
pub(crate) mod other_file;
mod plugin;
mod pod_states;
mod prometheus;
mod ramp;
mod rightsizing;
mod rule;
mod scheduler_config;
mod scheduler_profile;
mod steering;
mod strategies;
mod usage;
mod windows;

pub use crate::schema::names::Names;
pub use crate::schema::share::Share;
pub use approval::ApprovalPolicy;
pub use evictable::{
    Evictable, PriorityThreshold, Profile, Protections, SYSTEM_CRITICAL, StorageClasses,
};
pub use guards::{Guard, GuardScope, WhenMissing};
pub use kubernetes_release::{KubernetesRelease, UnknownRelease};
pub use limits::{Cooldown, ForecastPolicy, Limits, Safety};
pub use prometheus::{ClientCertificate, Login, PrometheusPolicy, Queries};
pub use ramp::RampPolicy;
pub use rightsizing::RightsizingPolicy;
pub use rule::{
    AffinityKind, AntiAffinity, ConditionTest, FailedPods, HighNodeUtilization, LowNodeUtilization,
    NodeAffinity, NodeTaints, PodLifeTime, Pool, RemoveDuplicates, Rule, Scope, Thresholds,
    TooManyRestarts, TopologySpread,
};
pub use scheduler_config::{DEFAULT_SCHEDULER, SchedulerConfig};
pub use scheduler_profile::{
    AddedAffinity, DefaultConstraint, DefaultSpread, FilterPlugin, Fit, FitStrategy, PodAffinity,
    SchedulerProfile, ScorePlugin, Weights,
};
pub use steering::Steering;
pub use usage::{Smoothing, SourceKind, UsagePolicy};
pub use windows::Windows;

use crate::schema::problem::{self, PolicyError, Problem};
use crate::schema::read::Report;
use crate::schema::tree;

/// A whole policy, complete with defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Time between the starts of two cycles.
    pub interval: SignedDuration,
    /// Decide and report, but evict nothing.
    pub dry_run: bool,
    /// The nodes that strategies look at; all nodes where `None`.
    pub node_selector: Option<Selector>,
    /// How usage is measured and smoothed.
    pub usage: UsagePolicy,
    /// The termination grace period of evicted pods, instead of their own.
    pub grace_period: Option<SignedDuration>,
    /// How much may be evicted.
    pub limits: Limits,
    /// How long a workload is left alone.
    pub cooldown: Cooldown,
    /// How the first eviction of a workload is watched; `None` if the next need not wait for it.
    pub ramp: Option<RampPolicy>,
    /// When evictions are allowed.
    pub windows: Windows,
    /// When the cluster is too unhealthy for evictions.
    pub safety: Safety,
    /// Queries that stop evictions while a service suffers.
    pub guards: Vec<Guard>,
    /// Which evictions need the approval of a person.
    pub approval: ApprovalPolicy,
    /// How certain it must be that a move helps.
    pub forecast: ForecastPolicy,
    /// Which pods may be evicted at all; strategies refer to these by position.
    pub profiles: Vec<Profile>,
    /// The strategies to run, in this order.
    pub strategies: Vec<Strategy>,
    /// The configuration of the cluster's scheduler, from which the forecast follows.
    pub scheduler: SchedulerProfile,
    /// The configuration of additional schedulers, for pods that name them.
    pub other_schedulers: Vec<SchedulerProfile>,
    /// The nodes that the scheduler is steered away from.
    pub steering: Steering,
    /// When requests count as far from the usage of pods.
    pub rightsizing: RightsizingPolicy,
    /// Execute exactly as descheduler: its order of victims, without our own checks
    /// (ledger, workload limits, landing). [`Policy::exactly`] sets it, with other values.
    pub exact: bool,
    /// Fields of the file that have no effect here, or an unexpected one.
    pub warnings: Vec<Problem>,
}

impl Policy {
    /// The policy of commands without `--policy`. It balances by actual usage, and the gap between
    /// threshold and target keeps pods from moving back and forth.
    pub const BUILT_IN: &str = "\
apiVersion: evenkeel/v1alpha1
kind: Policy
strategies:
- lowNodeUtilization:
    basis: actual
    thresholds: {cpu: 30%, memory: 40%}
    targetThresholds: {cpu: 60%, memory: 70%}
";

    /// Writes a policy that shows and explains every field, from the declared fields.
    pub fn example() -> String {
        document::example::example(&native::outline())
    }

    /// Writes the reference of all fields in Markdown.
    pub fn reference() -> String {
        document::reference::reference(&native::outline())
    }

    /// Writes the JSON Schema of native policies.
    pub fn schema() -> String {
        format!("{:#}\n", document::schema::schema(&native::outline()))
    }

    /// Reads a policy file. The name is for messages only.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, PolicyError> {
        let fail = |problems| PolicyError::new(file_name, text, problems);
        let root = tree::parse(text).map_err(|problem| fail(vec![problem]))?;
        let mut report = Report::default();
        let policy = Policy::dispatch(&root, &mut report);
        let warnings = report.take_warnings();
        let problems: Vec<Problem> = report.close();
        let policy = policy.filter(|_| problems.is_empty()).ok_or_else(|| fail(problems))?;
        Ok(Policy { warnings, ..policy })
    }

    /// The same policy in the native format. Reading it gives this policy again, except for
    /// `warnings` and `exact`, unless no strategy is enabled, which the format does not allow.
    pub fn to_native(&self) -> String {
        native::write(self)
    }

    /// The same policy as descheduler executes it: with its order of victims, and without
    /// checks that it does not have.
    #[must_use]
    pub fn exactly(mut self) -> Self {
        self.exact = true;
        self.usage.ahead = None;
        // A pod counts with its newest sample, and as soon as it has one.
        self.usage.smoothing = Smoothing::HalfLife(SignedDuration::from_secs(1));
        self.usage.min_samples = 1;
        self.usage.every_sample = true;
        self.steering = self.steering.off();
        (self.limits.per_workload, self.limits.per_minute) = (None, None);
        self.ramp = None;
        self.safety = Safety { max_not_ready: Ratio::ONE, max_pending: Ratio::ONE };
        for profile in &mut self.profiles {
            let protected = &mut profile.evictable.protected;
            let claims = protected.resource_claims_exactly;
            protected.resource_claims = claims.unwrap_or(protected.resource_claims);
        }
        for strategy in &mut self.strategies {
            if let Rule::LowNodeUtilization(rule) = &mut strategy.rule {
                rule.sustained_for = SignedDuration::ZERO;
            } else if let Rule::HighNodeUtilization(rule) = &mut strategy.rule {
                rule.ceilings.clear();
            }
        }
        self
    }

    /// Whether the policy selects nodes with these labels.
    pub fn selects(&self, labels: &Labels) -> bool {
        let selector = self.node_selector.as_ref();
        selector.is_none_or(|selector| selector.matches(labels))
    }

    /// Whether strategies take every Ready node as it is. To descheduler, a node without a Ready
    /// condition is Ready, one that is being deleted is like any other, and each has all resources.
    pub const fn takes_any_node(&self) -> bool {
        self.exact
    }

    /// Whether a forecast of the scheduler decides where replacements take room. Descheduler makes
    /// none.
    pub const fn forecasts(&self) -> bool {
        !self.exact
    }

    /// Whether plans say what fewer `minReplicas` would achieve.
    pub const fn suggests_replicas(&self) -> bool {
        !self.exact
    }

    /// The first PriorityClass of a threshold that the cluster lacks, or that belongs to the
    /// system.
    pub fn bad_class(&self, classes: &BTreeMap<String, i32>) -> Option<BadClass> {
        let mut names = self.profiles.iter().filter_map(|p| match &p.evictable.priority_below {
            PriorityThreshold::Class(name) => Some(name),
            PriorityThreshold::Value(_) => None,
        });
        names.find_map(|name| BadClass::of(name, classes.get(name).copied()))
    }

    /// The policy without a file: all defaults, and no strategy.
    pub fn default_native() -> Self {
        Report::default().read(&tree::YamlNode::null(problem::Position::START), native::policy)
    }

    /// The arguments of each LowNodeUtilization, in the order of the policy.
    pub fn low_node_utilization(&self) -> impl Iterator<Item = &LowNodeUtilization> {
        self.strategies.iter().filter_map(|strategy| LowNodeUtilization::of(&strategy.rule))
    }

    /// Whether any of its strategies compares actual usage.
    pub fn weighs_usage(&self) -> bool {
        self.strategies.iter().any(|s| {
            let low = LowNodeUtilization::of(&s.rule).map(|low| low.basis);
            let basis = low.or(HighNodeUtilization::of(&s.rule).map(|high| high.basis));
            basis == Some(Basis::Actual)
        })
    }

    /// Whether a strategy limits the usage of the nodes that it fills.
    fn has_ceilings(&self) -> bool {
        let mut rules = self.strategies.iter().map(|s| &s.rule);
        rules.any(|rule| HighNodeUtilization::of(rule).is_some_and(|h| !h.ceilings.is_empty()))
    }

    /// The resources that thresholds and scheduler profiles name.
    pub fn resources(&self) -> BTreeSet<&str> {
        let mut names: BTreeSet<&str> =
            self.schedulers().flat_map(SchedulerProfile::resources).collect();
        let pools = self.low_node_utilization().flat_map(|rule| &rule.pools);
        let levels = pools.flat_map(|pool| pool.thresholds.iter().chain(&pool.targets));
        names.extend(levels.map(|(name, _)| name.as_str()));
        for strategy in &self.strategies {
            if let Rule::HighNodeUtilization(rule) = &strategy.rule {
                names.extend(rule.thresholds.iter().map(|(name, _)| name.as_str()));
            }
        }
        names
    }

    /// Chooses the reader by version. A file without a version is read as a native one, to report
    /// all missing fields.
    fn dispatch(root: &tree::YamlNode, report: &mut Report) -> Option<Self> {
        if let Some(problem) = other_file::recognise(root) {
            report.add(problem);
            return None;
        }
        match root.get("apiVersion").map(|node| &node.value) {
            None | Some(tree::Value::Null) => Some(report.read(root, native::policy)),
            Some(tree::Value::Text(version)) if version == native::VERSION => {
                Some(report.read(root, native::policy))
            }
            Some(tree::Value::Text(version)) if descheduler::knows(version) => {
                Some(descheduler::read(root, version, report))
            }
            // The fields of an unknown format cannot be checked.
            Some(_) => {
                report.read(root, |root| {
                    let versions = [native::VERSION, descheduler::V1ALPHA2, descheduler::V1ALPHA1]
                        .map(|v| (v, ()));
                    root.entry("apiVersion")?.word(problem::Code::UnsupportedVersion, &versions)
                });
                None
            }
        }
    }
}

/// A PriorityClass that cannot serve as a threshold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadClass {
    /// The cluster does not have it.
    #[error("priority threshold unknown: the cluster has no PriorityClass {0}")]
    Missing(String),
    /// It belongs to the system.
    #[error("priority threshold too high: PriorityClass {0} has the value {1}, above the limit of {limit}", limit = evictable::SYSTEM_CRITICAL)]
    TooHigh(String, i32),
}

impl BadClass {
    fn of(name: &str, value: Option<i32>) -> Option<Self> {
        match value {
            None => Some(BadClass::Missing(name.to_owned())),
            Some(value) if value > evictable::SYSTEM_CRITICAL => {
                Some(BadClass::TooHigh(name.to_owned(), value))
            }
            Some(_) => None,
        }
    }
}

/// The usage that a strategy compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// The sum of pod requests, as kube-scheduler sees it.
    Requests,
    /// The actual usage of nodes and pods, smoothed.
    Actual,
}

/// One strategy to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Strategy {
    /// Position of its profile in [`Policy::profiles`].
    pub profile: usize,
    /// The strategy with its arguments.
    pub rule: Rule,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, any, proptest};
    use proptest::sample::Index;

    use super::*;
    use crate::schema::problem::Code;

    /// The example with every commented setting turned on: those after a `#` without a space.
    fn everything_on() -> String {
        let is_setting = |text: &str| text.starts_with(|c: char| !c.is_whitespace());
        let on = |line: &str| match line.trim_start().strip_prefix('#') {
            Some(text) if is_setting(text) => line.replacen('#', "", 1),
            _ => line.to_owned(),
        };
        Policy::example().lines().map(on).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_example_shows_the_defaults() {
        let example =
            Policy::parse("example", &Policy::example()).unwrap_or_else(|e| panic!("{e}"));
        let short =
            "{apiVersion: evenkeel/v1alpha1, kind: Policy, strategies: [{lowNodeUtilization: {
            thresholds: {cpu: 30%, memory: 40%}, targetThresholds: {cpu: 60%, memory: 70%}}}]}";
        assert_eq!(example, Policy::parse("short.yaml", short).unwrap());
    }

    #[test]
    fn settings_that_the_example_comments_out_are_valid() {
        let error = Policy::parse("policy.example.yaml", &everything_on()).unwrap_err();
        // Some settings exclude each other; nothing else may be wrong.
        assert!(error.problems.iter().all(|p| p.code == Code::Conflict), "{error}");
    }

    #[test]
    fn the_example_names_every_field_that_is_read() {
        let text = everything_on();
        let root = tree::parse(&text).unwrap();
        let mut report = Report::default();
        Policy::dispatch(&root, &mut report);
        let fields = report.asked.clone();
        assert!(fields.len() > 50, "{fields:#?}");
        for field in fields {
            let name = field.rsplit('.').next().unwrap().trim_end_matches("[]");
            let named = text.contains(&format!("{name}:")) || text.contains(name);
            assert!(named, "the example does not name {field}");
        }
    }

    #[test]
    fn resources_are_those_with_thresholds() {
        let policy = Policy::parse("example", &Policy::example()).unwrap();
        assert!(policy.resources().into_iter().eq(["cpu", "memory"]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn no_file_causes_a_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            yaml in "[ab:,&*!<>|?%'\"#~\\-\\[\\]{}@\\n\\t 0-9.]{0,120}",
        ) {
            for text in [String::from_utf8_lossy(&bytes).into_owned(), yaml] {
                let _ = Policy::parse("f", &text).map_err(|error| error.to_string());
            }
        }

        #[test]
        fn no_change_to_the_example_causes_a_panic(
            edits in proptest::collection::vec((any::<Index>(), 0_usize..40,
                "[a-z0-9:%\\-\\[\\]{},#&*! \\n\"]{0,6}"), 1..6),
        ) {
            let mut text: Vec<char> = everything_on().chars().collect();
            for (place, length, new) in edits {
                let start = place.index(text.len());
                let end = (start + length).min(text.len());
                text.splice(start..end, new.chars());
            }
            let text: String = text.into_iter().collect();
            let _ = Policy::parse("f", &text).map_err(|e| e.to_string());
        }
    }
}
