//! What the operator asks for: parsed once, then trusted.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use serde::Serialize;

use crate::selector::Selector;
use crate::units::Ratio;

mod native;
pub mod problem;
mod read;
mod scalar;
mod strategies;
mod tree;

use problem::{Code, PolicyError, Problem};
use read::Report;

/// A whole policy, complete with defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Time between the starts of two cycles.
    pub interval: SignedDuration,
    /// Decide, but evict nothing.
    pub dry_run: bool,
    /// The nodes that strategies look at; all where `None`.
    pub node_selector: Option<Selector>,
    /// How usage is read and smoothed.
    pub usage: UsagePolicy,
    /// How much may be evicted.
    pub limits: Limits,
    /// How long a workload rests.
    pub cooldown: Cooldown,
    /// When the cluster itself is too unwell to touch.
    pub safety: Safety,
    /// Which pods may go at all; strategies refer to these by position. A native policy has exactly one.
    pub profiles: Vec<Profile>,
    /// What to do, in this order.
    pub strategies: Vec<Strategy>,
    /// As descheduler would: its victim order, and none of our guards (ledger, workload limits, landing).
    pub exact: bool,
}

impl Policy {
    /// A policy that shows and explains every field.
    pub const EXAMPLE: &str = include_str!("../policy.example.yaml");

    /// Reads a policy file. The name is for messages only.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, PolicyError> {
        let fail = |problems| PolicyError::new(file_name, text, problems);
        let root = tree::parse(text).map_err(|problem| fail(vec![problem]))?;
        let mut report = Report::default();
        let policy = Policy::dispatch(&root, &mut report);
        let problems: Vec<Problem> = report.close();
        policy.filter(|_| problems.is_empty()).ok_or_else(|| fail(problems))
    }

    /// What holds where there is no file: every default, and no strategy.
    pub fn default_native() -> Self {
        Report::default().read(&tree::Node::null(problem::Position::START), native::policy)
    }

    /// The resources that its thresholds name.
    pub fn resources(&self) -> BTreeSet<&str> {
        let thresholds = self.strategies.iter().flat_map(|strategy| match &strategy.rule {
            Rule::LowNodeUtilization(rule) => {
                rule.pools.iter().flat_map(|pool| pool.thresholds.iter().chain(&pool.targets)).collect::<Vec<_>>()
            }
            Rule::HighNodeUtilization(rule) => rule.thresholds.iter().collect(),
            _ => Vec::new(),
        });
        thresholds.map(|(name, _)| name.as_str()).collect()
    }

    /// Chooses the reader by version. A file that gives none is read as a native one, to find all that it lacks.
    fn dispatch(root: &tree::Node, report: &mut Report) -> Option<Self> {
        match root.get("apiVersion").map(|node| &node.value) {
            None | Some(tree::Value::Null) => Some(report.read(root, native::policy)),
            Some(tree::Value::Text(version)) if version == native::VERSION => Some(report.read(root, native::policy)),
            // Of another format the fields are other ones: what is wrong with them is not known.
            Some(_) => {
                report.read(root, |root| {
                    root.entry("apiVersion")?.word(Code::UnsupportedVersion, &[(native::VERSION, ())])
                });
                None
            }
        }
    }
}

/// What a strategy weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// The sum of what pods request, as kube-scheduler sees it.
    Requests,
    /// What nodes and pods really use, smoothed.
    Actual,
}

/// How usage is read and smoothed.
#[derive(Clone, Debug, PartialEq)]
pub struct UsagePolicy {
    /// Where readings come from.
    pub source: SourceKind,
    /// Time between two readings.
    pub poll: SignedDuration,
    /// How far back samples count.
    pub window: SignedDuration,
    /// How the samples of a window become one figure.
    pub smoothing: Smoothing,
    /// A series whose newest sample is older than this is unknown.
    pub stale_after: SignedDuration,
    /// A series with fewer samples than this in its window is unknown.
    pub min_samples: u32,
}

/// Where readings come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The resource metrics API, metrics.k8s.io, as metrics-server serves it.
    MetricsApi,
}

/// How the samples of a window become one figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Smoothing {
    /// An average in which a sample's weight halves with each such time of age.
    HalfLife(SignedDuration),
    /// All samples count alike.
    Mean,
    /// The largest sample.
    Max,
    /// The smallest value that at least this share of the samples does not exceed.
    Percentile(Ratio),
}

/// How much may be evicted; `None` is no limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Evictions in one cycle.
    pub per_cycle: Option<u32>,
    /// Evictions from one node in one cycle.
    pub per_node: Option<u32>,
    /// Evictions in one namespace in one cycle.
    pub per_namespace: Option<u32>,
    /// Pods of one workload that are away at a time: evicted, and the replacement not yet Ready.
    pub per_workload: Option<Share>,
    /// Evictions in any minute, over cycles and restarts.
    pub per_minute: Option<u32>,
}

/// A number, or a percentage of a workload's replicas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// So many.
    Count(u32),
    /// This share, rounded down, but at least one.
    Portion(Ratio),
}

impl Share {
    /// How many of `replicas` that is.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a u32 fits; casts saturate"
    )]
    pub fn of(self, replicas: u32) -> u32 {
        match self {
            Share::Count(n) => n,
            // A hair of tolerance, so that 10 % of 10 is 1 in binary floating point too.
            Share::Portion(ratio) => ((f64::from(replicas) * ratio.get() + 1e-9).floor() as u32).max(1),
        }
    }
}

/// How long a workload rests.
#[derive(Clone, Debug, PartialEq)]
pub struct Cooldown {
    /// How long a replacement is left alone, and a workload after its first useless move.
    pub rest: SignedDuration,
    /// The longest rest that doubling leads to.
    pub cap: SignedDuration,
}

/// When the cluster itself is too unwell to touch.
#[derive(Clone, Debug, PartialEq)]
pub struct Safety {
    /// Evict nothing when more than this share of the nodes is not ready.
    pub max_not_ready: Ratio,
    /// Evict nothing when more than this share of the pods waits for a node.
    pub max_pending: Ratio,
}

/// Which pods may go at all, for the strategies that refer to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Shown in plans and events.
    pub name: String,
    /// The rules.
    pub evictable: Evictable,
}

/// Which pods may go at all.
#[derive(Clone, Debug, PartialEq)]
pub struct Evictable {
    /// Namespaces whose pods may go.
    pub namespaces: Names,
    /// Labels that a pod's namespace must carry.
    pub namespace_selector: Option<Selector>,
    /// Labels that a pod must carry.
    pub pod_selector: Option<Selector>,
    /// Only pods with a priority below this may go; pods without a priority always may.
    pub priority_below: PriorityThreshold,
    /// A workload with fewer replicas than this is left alone, and a move leaves at least one less than this Ready.
    pub min_replicas: u32,
    /// A pod younger than this is left alone.
    pub min_pod_age: SignedDuration,
    /// What is protected.
    pub protected: Protections,
    /// Nodes that count as destinations; all where `None`.
    pub destinations: Option<Selector>,
    /// A pod may go only if it fits another node. Balancing strategies of native policies always ask that.
    pub node_fit: bool,
}

/// Names that are taken in or left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Names {
    /// All but these.
    Except(Vec<String>),
    /// These alone.
    Only(Vec<String>),
}

impl Names {
    /// All names.
    pub const ALL: Names = Names::Except(Vec::new());

    /// Whether this name is taken in.
    pub fn admit(&self, name: &str) -> bool {
        match self {
            Names::Except(names) => !names.iter().any(|n| n == name),
            Names::Only(names) => names.iter().any(|n| n == name),
        }
    }
}

/// A priority, or the name of a class that has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PriorityThreshold {
    /// This value.
    Value(i32),
    /// The value of this PriorityClass, as the cluster has it.
    Class(String),
}

/// What is protected from eviction. Mirror and static pods always are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent protection of the policy file")]
pub struct Protections {
    /// Pods with an emptyDir or hostPath volume.
    pub local_storage: bool,
    /// Pods of a DaemonSet.
    pub daemon_sets: bool,
    /// Pods with a priority of 2,000,000,000 or more.
    pub system_critical: bool,
    /// Pods with no owner that have failed; other pods with no owner are always protected.
    pub failed_bare: bool,
    /// Pods with a persistentVolumeClaim.
    pub persistent_volumes: Option<StorageClasses>,
    /// Pods that no PodDisruptionBudget selects.
    pub without_budget: bool,
    /// Pods with dynamic resource claims.
    pub resource_claims: bool,
    /// Pods with the annotation `descheduler.alpha.kubernetes.io/prefer-no-eviction`.
    pub prefer_no_eviction: bool,
}

/// Which persistent volumes protect their pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageClasses {
    /// All of them.
    Any,
    /// Those of these classes, and those whose class cannot be told.
    Named(Vec<String>),
}

/// One strategy to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Strategy {
    /// Position of its profile in [`Policy::profiles`].
    pub profile: usize,
    /// What it does.
    pub rule: Rule,
}

/// What a strategy does, with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// Evens out: from nodes above their target to nodes below their threshold.
    LowNodeUtilization(LowNodeUtilization),
    /// Packs: empties nodes that are below their threshold.
    HighNodeUtilization(HighNodeUtilization),
    /// Spreads equal pods of one owner over the nodes.
    RemoveDuplicates(RemoveDuplicates),
    /// Keeps topology spread constraints that have come to be violated.
    RemovePodsViolatingTopologySpreadConstraint(TopologySpread),
    /// Parts pods that required anti-affinity keeps apart.
    RemovePodsViolatingInterPodAntiAffinity(Scope),
    /// Moves pods to nodes that their node affinity asks for.
    RemovePodsViolatingNodeAffinity(NodeAffinity),
    /// Moves pods from nodes with taints that they do not tolerate.
    RemovePodsViolatingNodeTaints(NodeTaints),
    /// Gives pods that keep restarting another node.
    RemovePodsHavingTooManyRestarts(TooManyRestarts),
    /// Ends pods that are old, or in a state that they do not leave.
    PodLifeTime(PodLifeTime),
    /// Clears failed pods away.
    RemoveFailedPods(FailedPods),
}

impl Rule {
    /// The name that users know, in plans, events and logs.
    pub const fn name(&self) -> &'static str {
        match self {
            Rule::LowNodeUtilization(_) => "LowNodeUtilization",
            Rule::HighNodeUtilization(_) => "HighNodeUtilization",
            Rule::RemoveDuplicates(_) => "RemoveDuplicates",
            Rule::RemovePodsViolatingTopologySpreadConstraint(_) => "RemovePodsViolatingTopologySpreadConstraint",
            Rule::RemovePodsViolatingInterPodAntiAffinity(_) => "RemovePodsViolatingInterPodAntiAffinity",
            Rule::RemovePodsViolatingNodeAffinity(_) => "RemovePodsViolatingNodeAffinity",
            Rule::RemovePodsViolatingNodeTaints(_) => "RemovePodsViolatingNodeTaints",
            Rule::RemovePodsHavingTooManyRestarts(_) => "RemovePodsHavingTooManyRestarts",
            Rule::PodLifeTime(_) => "PodLifeTime",
            Rule::RemoveFailedPods(_) => "RemoveFailedPods",
        }
    }
}

/// Arguments of LowNodeUtilization.
#[derive(Clone, Debug, PartialEq)]
pub struct LowNodeUtilization {
    /// What it weighs.
    pub basis: Basis,
    /// Groups of nodes that are balanced each in itself; a node belongs to the first that selects it.
    pub pools: Vec<Pool>,
    /// Thresholds are distances from the mean of the pool rather than shares.
    pub deviation: bool,
    /// Act only when more nodes than this are below their threshold.
    pub number_of_nodes: u32,
    /// A node counts as hot only when it has been so for this long. Requests are not noisy and do not wait.
    pub sustained_for: SignedDuration,
    /// Namespaces whose pods this strategy may move.
    pub evictable_namespaces: Names,
    /// Evictions by this strategy from one node in one cycle.
    pub per_node: Option<u32>,
}

/// Which pods a strategy looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// In these namespaces.
    pub namespaces: Names,
    /// With these labels; all where `None`.
    pub pods: Option<Selector>,
}

/// Arguments of HighNodeUtilization.
#[derive(Clone, Debug, PartialEq)]
pub struct HighNodeUtilization {
    /// What it weighs.
    pub basis: Basis,
    /// A node at or below all of these is emptied.
    pub thresholds: Thresholds,
    /// Act only when more nodes than this are below their threshold.
    pub number_of_nodes: u32,
    /// Move only pods that request a resource with a threshold.
    pub only_thresholding_resources: bool,
    /// Namespaces whose pods this strategy may move.
    pub evictable_namespaces: Names,
}

/// Arguments of RemoveDuplicates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoveDuplicates {
    /// In these namespaces.
    pub namespaces: Names,
    /// Pods with an owner of such a kind are left alone.
    pub exclude_owner_kinds: Vec<String>,
}

/// Arguments of RemovePodsViolatingTopologySpreadConstraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologySpread {
    /// Which pods it looks at.
    pub scope: Scope,
    /// Constraints with `whenUnsatisfiable: DoNotSchedule`.
    pub hard: bool,
    /// Constraints with `whenUnsatisfiable: ScheduleAnyway`.
    pub soft: bool,
    /// Move only pods that fit a node of a domain below the average.
    pub node_fit: bool,
}

/// Arguments of RemovePodsViolatingNodeAffinity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAffinity {
    /// Which pods it looks at.
    pub scope: Scope,
    /// The kinds of affinity to keep, in this order.
    pub kinds: Vec<AffinityKind>,
}

/// A kind of node affinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AffinityKind {
    /// `requiredDuringSchedulingIgnoredDuringExecution`.
    Required,
    /// `preferredDuringSchedulingIgnoredDuringExecution`.
    Preferred,
}

/// Arguments of RemovePodsViolatingNodeTaints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTaints {
    /// Which pods it looks at.
    pub scope: Scope,
    /// Taints with effect PreferNoSchedule count as well.
    pub include_prefer_no_schedule: bool,
    /// The taints that count, as `key` or `key=value`.
    pub taints: Names,
}

/// Arguments of RemovePodsHavingTooManyRestarts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooManyRestarts {
    /// Which pods it looks at.
    pub scope: Scope,
    /// So many restarts, over all containers, are too many.
    pub threshold: u32,
    /// Restarts of init containers count as well.
    pub including_init_containers: bool,
    /// Only pods in one of these states: a phase, or why a container waits; all where empty.
    pub states: Vec<String>,
}

/// Arguments of PodLifeTime; what is given must all hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodLifeTime {
    /// Which pods it looks at.
    pub scope: Scope,
    /// Older than this.
    pub max_age: Option<SignedDuration>,
    /// In one of these states: a phase, a reason of the pod, or why a container waits or ended; all where empty.
    pub states: Vec<String>,
    /// With one of these conditions; all where empty.
    pub conditions: Vec<ConditionTest>,
    /// With a container that ended with one of these codes; all where empty.
    pub exit_codes: Vec<i32>,
    /// With an owner of such a kind (`Only`), or of none of these kinds (`Except`).
    pub owner_kinds: Names,
    /// States and exit codes of init containers count as well.
    pub including_init_containers: bool,
    /// States of ephemeral containers count as well.
    pub including_ephemeral_containers: bool,
}

/// What a pod's condition must be; what is given must all hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionTest {
    /// Its type.
    pub kind: Option<String>,
    /// Its status.
    pub status: Option<String>,
    /// Its reason.
    pub reason: Option<String>,
    /// It has been so for at least this long.
    pub for_at_least: Option<SignedDuration>,
}

/// Arguments of RemoveFailedPods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedPods {
    /// Which pods it looks at.
    pub scope: Scope,
    /// At least this old.
    pub min_age: SignedDuration,
    /// Failed for one of these reasons; all where empty.
    pub reasons: Vec<String>,
    /// With a container that ended with one of these codes; all where empty.
    pub exit_codes: Vec<i32>,
    /// Pods with an owner of such a kind are left alone.
    pub exclude_owner_kinds: Vec<String>,
    /// Reasons and exit codes of init containers count as well.
    pub including_init_containers: bool,
}

/// Nodes that are balanced among themselves, by the same thresholds.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// Shown in plans.
    pub name: String,
    /// The nodes; all where `None`.
    pub selector: Option<Selector>,
    /// A node at or below all of these may take pods.
    pub thresholds: Thresholds,
    /// A node above any of these is hot.
    pub targets: Thresholds,
}

/// A share for each named resource, in the order of the names.
pub type Thresholds = Vec<(String, Ratio)>;

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, any, proptest};
    use proptest::sample::Index;

    use super::*;

    /// The example with every setting turned on that it shows turned off: a `#` with no space behind it.
    fn everything_on() -> String {
        let is_setting = |text: &str| text.starts_with(|c: char| !c.is_whitespace());
        let on = |line: &str| match line.trim_start().strip_prefix('#') {
            Some(text) if is_setting(text) => line.replacen('#', "", 1),
            _ => line.to_owned(),
        };
        Policy::EXAMPLE.lines().map(on).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_example_shows_the_defaults() {
        let example = Policy::parse("policy.example.yaml", Policy::EXAMPLE).unwrap_or_else(|e| panic!("{e}"));
        let short = "{apiVersion: evenkeel/v1alpha1, kind: Policy, strategies: [{lowNodeUtilization: {
            thresholds: {cpu: 30%, memory: 40%}, targetThresholds: {cpu: 60%, memory: 70%}}}]}";
        assert_eq!(example, Policy::parse("short.yaml", short).unwrap());
    }

    #[test]
    fn what_the_example_shows_turned_off_can_be_turned_on() {
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
            let mut node = Some(&root);
            for name in field.split('.') {
                node = node.and_then(|n| n.get(name.trim_end_matches("[]")));
                if let (true, Some(tree::Value::List(items))) = (name.ends_with("[]"), node.map(|n| &n.value)) {
                    node = items.first();
                }
            }
            let selector = ["matchLabels", "matchExpressions"].iter().any(|name| field.ends_with(name));
            assert!(
                node.is_some() || selector && Policy::EXAMPLE.contains("matchLabels"),
                "the example does not name {field}"
            );
        }
    }

    #[test]
    fn resources_are_those_that_thresholds_name() {
        let policy = Policy::parse("policy.example.yaml", Policy::EXAMPLE).unwrap();
        assert!(policy.resources().into_iter().eq(["cpu", "memory"]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn no_file_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Policy::parse("f", &String::from_utf8_lossy(&bytes)).map_err(|e| e.to_string());
        }

        #[test]
        fn no_change_to_the_example_makes_it_panic(
            edits in proptest::collection::vec((any::<Index>(), 0_usize..40, "[a-z0-9:%\\-\\[\\]{},#&*! \\n\"]{0,6}"), 1..6),
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
