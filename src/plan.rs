//! What was decided: moves, refusals and the picture before and after, as plain data that can be printed or carried out.

use std::collections::BTreeMap;
use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Serialize, Serializer};

use crate::policy::Basis;
use crate::snapshot::facts::{Owner, OwnerKey, Skipped};
use crate::units::Ratio;
use crate::usage::Unmeasured;

/// A finished plan. The same world gives the same plan, byte for byte.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// When it was decided.
    pub at: Timestamp,
    /// Why nothing at all was considered; `None` in the ordinary case.
    pub halted: Option<Halt>,
    /// The evictions, in the order in which they are to be made.
    pub moves: Vec<Move>,
    /// Pods that a strategy would have moved, and why they stay.
    pub kept: Vec<Kept>,
    /// What each strategy made of each node.
    pub nodes: Vec<Verdict>,
    /// Why a strategy as a whole does nothing.
    pub notes: Vec<Note>,
    /// The cluster as it is.
    pub before: Picture,
    /// The cluster as it will be when every replacement has landed as foreseen.
    pub after: Picture,
    /// Objects that could not be read.
    pub skipped: Vec<Skipped>,
}

/// One eviction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Move {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// The pod's identity, a precondition of the eviction.
    pub uid: String,
    /// Where it is.
    pub node: String,
    /// A node that has room for the replacement. The scheduler decides where it goes.
    pub to: Option<String>,
    /// Who asked for it.
    pub strategy: &'static str,
    /// The profile of the policy that the strategy stands in.
    pub profile: String,
    /// The pod's first owner; the pod itself where it has none.
    pub owner: Owner,
    /// What controls the pod at the top.
    pub workload: Option<OwnerKey>,
    /// Why.
    pub reason: Reason,
}

/// Why a pod is moved. Serialises as its sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// Its node is above the target.
    HotNode {
        /// The resource that is over, the worst first.
        resource: String,
        /// The node's ratio before this move.
        ratio: Ratio,
        /// The target.
        target: Ratio,
        /// What was weighed.
        basis: Basis,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::HotNode { resource, ratio, target, basis } => {
                write!(f, "node {} {resource} {ratio} is above its target of {target}", basis.verb())
            }
        }
    }
}

impl Basis {
    /// The word in policies and plans.
    pub const fn label(self) -> &'static str {
        match self {
            Basis::Requests => "requests",
            Basis::Actual => "actual",
        }
    }

    const fn verb(self) -> &'static str {
        match self {
            Basis::Requests => "requests:",
            Basis::Actual => "usage:",
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A pod that a strategy would have moved, and why it stays.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// Where it is.
    pub node: String,
    /// Who asked.
    pub strategy: &'static str,
    /// Why it stays.
    pub refusal: Refusal,
}

impl Serialize for Kept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut out = serializer.serialize_struct("Kept", 6)?;
        out.serialize_field("namespace", &self.namespace)?;
        out.serialize_field("pod", &self.pod)?;
        out.serialize_field("node", &self.node)?;
        out.serialize_field("strategy", self.strategy)?;
        out.serialize_field("code", self.refusal.code())?;
        out.serialize_field("message", &self.refusal.to_string())?;
        out.end()
    }
}

/// Why a pod stays: a stable code for machines, a sentence for people.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// The API server's image of a static pod.
    Mirror,
    /// Not made through the API server.
    Static,
    /// Told to go already.
    Terminating,
    /// Of a DaemonSet, which would put it back.
    DaemonSet,
    /// Of a priority that the system keeps for itself.
    SystemCritical,
    /// Its priority is not below the threshold.
    Priority {
        /// The pod's.
        priority: i32,
        /// The policy's.
        threshold: i32,
    },
    /// The policy names a PriorityClass that the cluster does not have.
    UnknownPriorityClass(String),
    /// Nothing would make it anew.
    Bare,
    /// Its emptyDir or hostPath would be lost.
    LocalStorage,
    /// It has a persistent volume that the policy protects.
    PersistentVolume(String),
    /// It has dynamic resource claims.
    ResourceClaims,
    /// No PodDisruptionBudget covers it.
    NoBudget,
    /// Its annotation asks not to be evicted.
    PrefersToStay,
    /// Its namespace is not evictable.
    Namespace(String),
    /// Its labels are not those that the policy asks for.
    PodSelector,
    /// It has not run for long enough.
    Young {
        /// Its age.
        age: SignedDuration,
        /// What the policy asks for.
        least: SignedDuration,
    },
    /// Its workload has too few replicas.
    TooFewReplicas {
        /// What it has.
        have: u32,
        /// What the policy asks for.
        least: u32,
    },
    /// Too few other replicas would be Ready.
    LastReady {
        /// Ready ones that would be left.
        left: u32,
        /// What the policy asks for.
        least: u32,
    },
    /// Its own usage is not known.
    Unmeasured(Unmeasured),
    /// What is known of its node may be wrong.
    Doubtful(String),
    /// The limit of the cycle is reached.
    CycleLimit(u32),
    /// The limit of the node is reached.
    NodeLimit(u32),
    /// The limit of the namespace is reached.
    NamespaceLimit(u32),
    /// The limit in time is reached.
    RateLimit(u32),
    /// Enough of its workload is away already.
    WorkloadLimit {
        /// Away now.
        away: u32,
        /// Allowed.
        most: u32,
    },
    /// Its PodDisruptionBudget allows no further disruption.
    Budget(String),
    /// More than one PodDisruptionBudget covers it, which the API server refuses.
    SeveralBudgets(Vec<String>),
    /// Its PodDisruptionBudget has not been looked at since it changed.
    StaleBudget(String),
    /// It replaces a pod that was evicted not long ago.
    Resting(SignedDuration),
    /// The last move of its workload did not help.
    Useless {
        /// How often in a row.
        times: u32,
        /// How long the workload still rests.
        left: SignedDuration,
    },
    /// The ledger has no room for another entry.
    LedgerFull(usize),
    /// No node that may take it has room.
    NoRoom(String),
}

/// How far a refusal reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This pod alone.
    Pod,
    /// Whatever is on its node.
    Node,
    /// Everything in this cycle.
    Cycle,
}

impl Refusal {
    /// The stable label, as in metrics and JSON.
    pub const fn code(&self) -> &'static str {
        match self {
            Refusal::Mirror => "mirror-pod",
            Refusal::Static => "static-pod",
            Refusal::Terminating => "terminating",
            Refusal::DaemonSet => "daemon-set",
            Refusal::SystemCritical => "system-critical",
            Refusal::Priority { .. } => "priority",
            Refusal::UnknownPriorityClass(_) => "unknown-priority-class",
            Refusal::Bare => "bare-pod",
            Refusal::LocalStorage => "local-storage",
            Refusal::PersistentVolume(_) => "persistent-volume",
            Refusal::ResourceClaims => "resource-claims",
            Refusal::NoBudget => "no-budget",
            Refusal::PrefersToStay => "prefers-to-stay",
            Refusal::Namespace(_) => "namespace",
            Refusal::PodSelector => "pod-selector",
            Refusal::Young { .. } => "too-young",
            Refusal::TooFewReplicas { .. } => "too-few-replicas",
            Refusal::LastReady { .. } => "last-ready-replica",
            Refusal::Unmeasured(_) => "unmeasured",
            Refusal::Doubtful(_) => "doubtful-node",
            Refusal::CycleLimit(_) => "cycle-limit",
            Refusal::NodeLimit(_) => "node-limit",
            Refusal::NamespaceLimit(_) => "namespace-limit",
            Refusal::RateLimit(_) => "rate-limit",
            Refusal::WorkloadLimit { .. } => "workload-limit",
            Refusal::Budget(_) => "disruption-budget",
            Refusal::SeveralBudgets(_) => "several-budgets",
            Refusal::StaleBudget(_) => "stale-budget",
            Refusal::Resting(_) => "resting",
            Refusal::Useless { .. } => "useless-move",
            Refusal::LedgerFull(_) => "ledger-full",
            Refusal::NoRoom(_) => "no-room",
        }
    }

    /// How far it reaches: a limit of the cycle need not be asked of every other pod.
    pub const fn reach(&self) -> Reach {
        match self {
            Refusal::CycleLimit(_) | Refusal::RateLimit(_) | Refusal::LedgerFull(_) => Reach::Cycle,
            Refusal::NodeLimit(_) | Refusal::Doubtful(_) => Reach::Node,
            _ => Reach::Pod,
        }
    }

    /// Whether the same pod may well go in a later cycle, so that no worse pod need go in its stead now.
    pub const fn is_for_now(&self) -> bool {
        matches!(
            self,
            Refusal::CycleLimit(_)
                | Refusal::NodeLimit(_)
                | Refusal::NamespaceLimit(_)
                | Refusal::RateLimit(_)
                | Refusal::WorkloadLimit { .. }
                | Refusal::Young { .. }
                | Refusal::Terminating
        )
    }
}

impl fmt::Display for Refusal {
    #[expect(clippy::too_many_lines, reason = "one sentence for each refusal, in one place")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Mirror => f.write_str("a mirror pod: the kubelet would put it back"),
            Refusal::Static => f.write_str("a static pod: the kubelet would put it back"),
            Refusal::Terminating => f.write_str("on its way out already"),
            Refusal::DaemonSet => f.write_str("its DaemonSet would put it back on the same node"),
            Refusal::SystemCritical => f.write_str("its priority is system-critical"),
            Refusal::Priority { priority, threshold } => {
                write!(f, "its priority {priority} is not below the threshold {threshold}")
            }
            Refusal::UnknownPriorityClass(name) => {
                write!(f, "the policy's PriorityClass {name} does not exist in the cluster")
            }
            Refusal::Bare => f.write_str("it has no owner that would make it anew"),
            Refusal::LocalStorage => f.write_str("its emptyDir or hostPath would be lost"),
            Refusal::PersistentVolume(claim) => write!(f, "it uses the persistent volume claim {claim}"),
            Refusal::ResourceClaims => f.write_str("it has dynamic resource claims"),
            Refusal::NoBudget => f.write_str("no PodDisruptionBudget covers it"),
            Refusal::PrefersToStay => f.write_str("its annotation prefer-no-eviction asks to stay"),
            Refusal::Namespace(name) => write!(f, "namespace {name} is not evictable by the policy"),
            Refusal::PodSelector => f.write_str("its labels do not match the policy's podSelector"),
            Refusal::Young { age, least } => write!(f, "it is {} old, younger than {}", short(*age), short(*least)),
            Refusal::TooFewReplicas { have, least } => {
                write!(f, "its workload has {have} of the {least} replicas that the policy asks for")
            }
            Refusal::LastReady { left, least } => {
                write!(f, "{left} other replicas would be Ready, and at least {least} must be")
            }
            Refusal::Unmeasured(why) => write!(f, "its usage is unknown: {why}"),
            Refusal::Doubtful(why) => write!(f, "its node is left alone: {why}"),
            Refusal::CycleLimit(most) => write!(f, "the limit of {most} evictions per cycle is reached"),
            Refusal::NodeLimit(most) => write!(f, "the limit of {most} evictions from one node is reached"),
            Refusal::NamespaceLimit(most) => write!(f, "the limit of {most} evictions in one namespace is reached"),
            Refusal::RateLimit(most) => write!(f, "the limit of {most} evictions per minute is reached"),
            Refusal::WorkloadLimit { away, most } => {
                write!(f, "{away} pods of its workload are away, and at most {most} may be at a time")
            }
            Refusal::Budget(name) => write!(f, "PodDisruptionBudget {name} allows no further disruption"),
            Refusal::SeveralBudgets(names) => {
                write!(
                    f,
                    "several PodDisruptionBudgets cover it ({}), so the API server would refuse",
                    names.join(", ")
                )
            }
            Refusal::StaleBudget(name) => write!(f, "PodDisruptionBudget {name} has changed and awaits its controller"),
            Refusal::Resting(left) => write!(f, "it replaces an evicted pod and rests for another {}", short(*left)),
            Refusal::Useless { times: 1, left } => {
                write!(f, "the last move of its workload did not help; it rests for another {}", short(*left))
            }
            Refusal::Useless { times, left } => {
                write!(f, "the last {times} moves of its workload did not help; it rests for another {}", short(*left))
            }
            Refusal::LedgerFull(most) => write!(f, "the ledger is full at {most} entries"),
            Refusal::NoRoom(why) => write!(f, "no other node can take it: {why}"),
        }
    }
}

/// A duration in whole seconds, as people write it: `1h30m`, `45s`.
pub fn short(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().max(0);
    let parts = [(seconds / 3600, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let text: String = parts.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n}{unit}")).collect();
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// What one strategy made of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The node.
    pub node: String,
    /// Who says so.
    pub strategy: &'static str,
    /// What it is.
    pub class: Class,
}

/// What a strategy takes a node for.
#[derive(Clone, Debug, PartialEq)]
pub enum Class {
    /// Above a target: pods should leave.
    Hot {
        /// The resource that is furthest over.
        resource: String,
        /// The ratio.
        ratio: Ratio,
        /// The target.
        target: Ratio,
    },
    /// Above a target, but not for long enough.
    Warming {
        /// The resource that is furthest over.
        resource: String,
        /// The ratio.
        ratio: Ratio,
        /// The target.
        target: Ratio,
        /// For how long.
        since: SignedDuration,
        /// How long it takes.
        sustained_for: SignedDuration,
    },
    /// At or below every threshold: may take pods.
    Cold,
    /// At or below every threshold, but cordoned.
    ColdCordoned,
    /// Between threshold and target.
    Even,
    /// Its usage is not known: neither source nor destination.
    Unknown(Unmeasured),
    /// Something on it could not be read: neither source nor destination.
    Doubtful(String),
    /// It is not ready: neither source nor destination.
    NotReady,
    /// The policy does not select it, or no pool does.
    NotSelected,
}

impl Class {
    /// The stable label.
    pub const fn code(&self) -> &'static str {
        match self {
            Class::Hot { .. } => "hot",
            Class::Warming { .. } => "warming",
            Class::Cold => "cold",
            Class::ColdCordoned => "cold-cordoned",
            Class::Even => "even",
            Class::Unknown(_) => "unknown",
            Class::Doubtful(_) => "doubtful",
            Class::NotReady => "not-ready",
            Class::NotSelected => "not-selected",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Class::Hot { resource, ratio, target } => write!(f, "hot: {resource} {ratio} is above the target {target}"),
            Class::Warming { resource, ratio, target, since, sustained_for } => write!(
                f,
                "{resource} {ratio} is above the target {target} for {}, and counts as hot after {}",
                short(*since),
                short(*sustained_for)
            ),
            Class::Cold => f.write_str("at or below every threshold: may take pods"),
            Class::ColdCordoned => f.write_str("at or below every threshold, but cordoned: takes no pods"),
            Class::Even => f.write_str("between threshold and target: nothing to do"),
            Class::Unknown(why) => write!(f, "left alone: {why}"),
            Class::Doubtful(why) => write!(f, "left alone: {why}"),
            Class::NotReady => f.write_str("left alone: not ready"),
            Class::NotSelected => f.write_str("left alone: not selected by the policy"),
        }
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut out = serializer.serialize_struct("Verdict", 4)?;
        out.serialize_field("node", &self.node)?;
        out.serialize_field("strategy", self.strategy)?;
        out.serialize_field("code", self.class.code())?;
        out.serialize_field("message", &self.class.to_string())?;
        out.end()
    }
}

/// Why a strategy as a whole does nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// The strategy.
    pub strategy: &'static str,
    /// The pool of nodes that it is about.
    pub pool: String,
    /// Why.
    pub why: Idle,
}

/// Why a strategy does nothing in a pool of nodes.
#[derive(Clone, Debug, PartialEq)]
pub enum Idle {
    /// No node is above a target.
    NothingHot,
    /// So many nodes are hot, but none is below its thresholds.
    NothingCold(usize),
    /// Every node is below its thresholds.
    AllCold,
    /// Not more nodes are below their thresholds than `numberOfNodes` asks for.
    FewCold {
        /// So many are.
        cold: usize,
        /// More than this must be.
        more_than: u32,
    },
}

impl Idle {
    /// The stable label.
    pub const fn code(&self) -> &'static str {
        match self {
            Idle::NothingHot => "nothing-hot",
            Idle::NothingCold(_) => "nothing-cold",
            Idle::AllCold => "all-cold",
            Idle::FewCold { .. } => "few-cold",
        }
    }
}

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Idle::NothingHot => f.write_str("no node is above its target"),
            Idle::NothingCold(hot) => {
                write!(f, "{hot} nodes are above their target, but no node is below its thresholds to take pods")
            }
            Idle::AllCold => f.write_str("every node is below its thresholds: the cluster is idle, not uneven"),
            Idle::FewCold { cold, more_than } => {
                write!(f, "{cold} nodes are below their thresholds, and numberOfNodes asks for more than {more_than}")
            }
        }
    }
}

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut out = serializer.serialize_struct("Note", 4)?;
        out.serialize_field("strategy", self.strategy)?;
        out.serialize_field("pool", &self.pool)?;
        out.serialize_field("code", self.why.code())?;
        out.serialize_field("message", &self.why.to_string())?;
        out.end()
    }
}

/// Why nothing at all was considered. Serialises as its sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Halt {
    /// Fewer than two nodes are ready and selected.
    FewNodes(usize),
    /// Too many nodes are not ready.
    NotReady {
        /// How many are not.
        not_ready: usize,
        /// Of how many.
        of: usize,
        /// The share that the policy puts up with.
        most: Ratio,
    },
    /// Too many pods wait for a node.
    Pending {
        /// How many wait.
        pending: usize,
        /// Of how many.
        of: usize,
        /// The share that the policy puts up with.
        most: Ratio,
    },
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Halt::FewNodes(count) => write!(f, "{count} ready nodes are selected, and it takes two to move anything"),
            Halt::NotReady { not_ready, of, most } => {
                write!(
                    f,
                    "{not_ready} of {of} nodes are not ready, more than {most}: the cluster is too unwell to touch"
                )
            }
            Halt::Pending { pending, of, most } => {
                write!(f, "{pending} of {of} pods wait for a node, more than {most}: the cluster is too full to touch")
            }
        }
    }
}

impl Serialize for Halt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Every node's ratios, and how even they are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Picture {
    /// What the ratios and the balance weigh.
    #[serde(serialize_with = "basis_label")]
    pub basis: Basis,
    /// By name.
    pub nodes: Vec<NodePicture>,
    /// By resource.
    pub balance: BTreeMap<String, Balance>,
}

fn basis_label<S: Serializer>(basis: &Basis, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(basis.label())
}

/// One node's ratios, by resource; `None` where unknown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodePicture {
    /// The node.
    pub name: String,
    /// On the basis of the picture.
    pub ratios: BTreeMap<String, Option<Ratio>>,
    /// By what the pods request.
    pub requests: BTreeMap<String, Option<Ratio>>,
    /// By what is really used.
    pub actual: BTreeMap<String, Option<Ratio>>,
}

/// How even the nodes are in one resource; the smaller, the better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Balance {
    /// Mean of the known ratios.
    pub mean: Ratio,
    /// Standard deviation of the known ratios, over the whole population.
    pub deviation: Ratio,
    /// The largest known ratio less the mean.
    pub above_mean: Ratio,
    /// Share of the nodes with a known ratio that are hot or cold by the first strategy that balances; `None` where no
    /// strategy does.
    pub outside_band: Option<Ratio>,
}

/// What became of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The API server accepted the eviction.
    Evicted,
    /// 429: a budget, or the server's own load, forbids it now.
    Refused(String),
    /// 404: the pod had gone.
    Gone,
    /// 409: a pod of that name is there, but another one.
    Changed,
    /// The API server answered with another error: the pod was not evicted.
    Failed(String),
    /// No answer came: whether the pod was evicted has to be seen.
    Unanswered(String),
    /// Not tried, since the API server had erred before.
    Untried,
}

impl Outcome {
    /// The stable label.
    pub const fn code(&self) -> &'static str {
        match self {
            Outcome::Evicted => "evicted",
            Outcome::Refused(_) => "refused",
            Outcome::Gone => "gone",
            Outcome::Changed => "changed",
            Outcome::Failed(_) => "failed",
            Outcome::Unanswered(_) => "unanswered",
            Outcome::Untried => "untried",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Evicted => f.write_str("evicted"),
            Outcome::Refused(why) => write!(f, "refused by the API server: {why}"),
            Outcome::Gone => f.write_str("gone already"),
            Outcome::Changed => f.write_str("another pod of this name has taken its place"),
            Outcome::Failed(why) => write!(f, "failed: {why}"),
            Outcome::Unanswered(why) => write!(f, "no answer: {why}"),
            Outcome::Untried => f.write_str("not tried, since the API server erred"),
        }
    }
}
