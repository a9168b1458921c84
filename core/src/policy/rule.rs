//! The strategies with their arguments.

use jiff::SignedDuration;

use super::{Basis, Names};
use crate::values::Ratio;
use crate::values::selector::{Labels, Selector};

/// A strategy with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// Balances: moves pods from nodes above their target to nodes below their threshold.
    LowNodeUtilization(LowNodeUtilization),
    /// Packs: empties nodes that are below their threshold.
    HighNodeUtilization(HighNodeUtilization),
    /// Spreads replicas of one owner over the nodes.
    RemoveDuplicates(RemoveDuplicates),
    /// Restores topology spread constraints that are violated.
    RemovePodsViolatingTopologySpreadConstraint(TopologySpread),
    /// Separates pods that anti-affinity keeps apart.
    RemovePodsViolatingInterPodAntiAffinity(AntiAffinity),
    /// Moves pods to nodes that match their node affinity.
    RemovePodsViolatingNodeAffinity(NodeAffinity),
    /// Moves pods from nodes with taints that they do not tolerate.
    RemovePodsViolatingNodeTaints(NodeTaints),
    /// Renews pods that keep restarting, on another node or on their own.
    RemovePodsHavingTooManyRestarts(TooManyRestarts),
    /// Evicts pods that are old, or in a state that they do not leave.
    PodLifeTime(PodLifeTime),
    /// Removes failed pods.
    RemoveFailedPods(FailedPods),
}

// The names in plans, events and logs.
crate::codes! {
    Rule::name {
        LowNodeUtilization = "LowNodeUtilization",
        HighNodeUtilization = "HighNodeUtilization",
        RemoveDuplicates = "RemoveDuplicates",
        RemovePodsViolatingTopologySpreadConstraint = "RemovePodsViolatingTopologySpreadConstraint",
        RemovePodsViolatingInterPodAntiAffinity = "RemovePodsViolatingInterPodAntiAffinity",
        RemovePodsViolatingNodeAffinity = "RemovePodsViolatingNodeAffinity",
        RemovePodsViolatingNodeTaints = "RemovePodsViolatingNodeTaints",
        RemovePodsHavingTooManyRestarts = "RemovePodsHavingTooManyRestarts",
        PodLifeTime = "PodLifeTime",
        RemoveFailedPods = "RemoveFailedPods",
    }
}

/// Arguments of LowNodeUtilization.
#[derive(Clone, Debug, PartialEq)]
pub struct LowNodeUtilization {
    /// The usage that it compares.
    pub basis: Basis,
    /// Groups of nodes that are balanced separately; a node belongs to the first pool that selects
    /// it.
    pub pools: Vec<Pool>,
    /// Thresholds are distances from the mean of the pool instead of shares.
    pub deviation: bool,
    /// Act only when more nodes than this are below every threshold. With `None`, act whenever the
    /// forecast finds a place for a pod.
    pub number_of_nodes: Option<u32>,
    /// How long a node must be above a target before it is hot. Requests do not fluctuate, so they
    /// do not wait.
    pub sustained_for: SignedDuration,
    /// Namespaces whose pods this strategy may move.
    pub evictable_namespaces: Names,
    /// Evictions by this strategy from one node in one cycle.
    pub per_node: Option<u32>,
}

/// The pods that a strategy looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Their namespaces.
    pub namespaces: Names,
    /// Their labels; all pods where `None`.
    pub pods: Option<Selector>,
}

/// Arguments of HighNodeUtilization.
#[derive(Clone, Debug, PartialEq)]
pub struct HighNodeUtilization {
    /// The usage that it compares.
    pub basis: Basis,
    /// A node at or below all of these is emptied.
    pub thresholds: Thresholds,
    /// Upper limits of a node's actual usage when it is filled. They apply with any `basis`.
    pub ceilings: Thresholds,
    /// Act only when more nodes than this are below their threshold.
    pub number_of_nodes: u32,
    /// Move only pods that request a resource with a threshold.
    pub only_thresholding_resources: bool,
    /// Namespaces whose pods this strategy may move.
    pub evictable_namespaces: Names,
}

impl Scope {
    /// All pods.
    pub const ALL: Scope = Scope { namespaces: Names::ALL, pods: None };
}

impl LowNodeUtilization {
    /// The rule, if it is this one.
    pub const fn of(rule: &Rule) -> Option<&LowNodeUtilization> {
        if let Rule::LowNodeUtilization(rule) = rule { Some(rule) } else { None }
    }

    /// The first pool that selects a node with these labels.
    pub fn pool_of(&self, labels: &Labels) -> Option<&Pool> {
        let selects = |pool: &&Pool| pool.selector.as_ref().is_none_or(|s| s.matches(labels));
        self.pools.iter().find(selects)
    }
}

impl HighNodeUtilization {
    /// 80 % of cpu and memory: full nodes leave no room for the next peak.
    pub fn default_ceilings() -> Thresholds {
        let most = Ratio::percent(80.0).unwrap_or(Ratio::ONE);
        ["cpu", "memory"].map(|name| (name.to_owned(), most)).to_vec()
    }
}

/// Arguments of RemoveDuplicates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoveDuplicates {
    /// Their namespaces.
    pub namespaces: Names,
    /// Pods with an owner of one of these kinds are left alone.
    pub exclude_owner_kinds: Vec<String>,
}

/// Arguments of RemovePodsViolatingInterPodAntiAffinity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AntiAffinity {
    /// The pods that it looks at.
    pub scope: Scope,
    /// Whether it separates pods that required anti-affinity keeps apart.
    pub required: bool,
    /// Whether it also moves pods to nodes that suit preferred anti-affinity better.
    pub preferred: bool,
}

impl From<Scope> for AntiAffinity {
    /// The strategy of descheduler: required anti-affinity only.
    fn from(scope: Scope) -> Self {
        AntiAffinity { scope, required: true, preferred: false }
    }
}

/// Arguments of RemovePodsViolatingTopologySpreadConstraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologySpread {
    /// The pods that it looks at.
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
    /// The pods that it looks at.
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
    /// The pods that it looks at.
    pub scope: Scope,
    /// Taints with effect `PreferNoSchedule` count as well.
    pub include_prefer_no_schedule: bool,
    /// The taints that count, as `key` or `key=value`.
    pub taints: Names,
}

/// Arguments of RemovePodsHavingTooManyRestarts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooManyRestarts {
    /// The pods that it looks at.
    pub scope: Scope,
    /// The number of restarts, over all containers, that is too many.
    pub threshold: u32,
    /// Restarts of init containers count as well.
    pub including_init_containers: bool,
    /// Only pods in one of these states: a phase, or the reason why a container waits; all pods
    /// where empty.
    pub states: Vec<String>,
}

/// Arguments of PodLifeTime. All given arguments must match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodLifeTime {
    /// The pods that it looks at.
    pub scope: Scope,
    /// Older than this.
    pub max_age: Option<SignedDuration>,
    /// In one of these states: a phase, a reason of the pod, or the reason why a container waits or
    /// terminated; all where empty.
    pub states: Vec<String>,
    /// With one of these conditions; all where empty.
    pub conditions: Vec<ConditionTest>,
    /// With a container that exited with one of these codes; all where empty.
    pub exit_codes: Vec<i32>,
    /// With an owner of one of these kinds (`Only`), or without one (`Except`).
    pub owner_kinds: Names,
    /// States and exit codes of init containers count as well.
    pub including_init_containers: bool,
    /// States of ephemeral containers count as well.
    pub including_ephemeral_containers: bool,
}

/// A test of a pod's condition. All given parts must match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionTest {
    /// Its type.
    pub kind: Option<String>,
    /// Its status.
    pub status: Option<String>,
    /// Its reason.
    pub reason: Option<String>,
    /// The least time since its status changed.
    pub for_at_least: Option<SignedDuration>,
}

/// Arguments of RemoveFailedPods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedPods {
    /// The pods that it looks at.
    pub scope: Scope,
    /// At least this old.
    pub min_age: SignedDuration,
    /// Failed for one of these reasons; all where empty.
    pub reasons: Vec<String>,
    /// With a container that exited with one of these codes; all where empty.
    pub exit_codes: Vec<i32>,
    /// Pods with an owner of one of these kinds are left alone.
    pub exclude_owner_kinds: Vec<String>,
    /// Reasons and exit codes of init containers count as well.
    pub including_init_containers: bool,
}

/// Nodes that are balanced together, with the same thresholds.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// The name in plans.
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
