//! Why a pod stays: a stable code for machines, a sentence for people.

use std::fmt;

use jiff::SignedDuration;

use crate::model::usage::Unmeasured;
use crate::policy::Basis;
use crate::values::Ratio;

use super::PlacementCause;

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
        /// How many others this plan takes away; with none, too few were Ready before.
        planned: u32,
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
    Budget {
        /// The budget.
        name: String,
        /// How many disruptions this plan has used up; with none, the budget was at its end before.
        planned: u32,
    },
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
    /// The scheduler would, or may, put its replacement back on its node.
    WouldReturn {
        /// The node.
        node: String,
        /// How likely.
        chance: Ratio,
        /// What draws it there.
        pull: PlacementCause,
    },
    /// The scheduler would, or may, put its replacement on a node that would then be above its target.
    WouldBeHot {
        /// The node.
        node: String,
        /// The resource that would be over.
        resource: String,
        /// At which ratio it would be.
        ratio: Ratio,
        /// The target.
        target: Ratio,
        /// What is weighed.
        basis: Basis,
    },
    /// The scheduler would, or may, put its replacement on a node of which the usage is unknown.
    WouldBeUnknown(String),
    /// The scheduler would, or may, put its replacement on a node where nothing is gained.
    WouldNotHelp(String),
    /// The scheduler would, or may, put its replacement on a node that the policy excludes as destination.
    WouldBeExcluded(String),
    /// Its node would be emptied, but could not be taken away then.
    Unremovable(String),
    /// Its node is emptied as a whole or not at all, and this other pod has to stay.
    NotAlone(String),
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
            Refusal::PrefersToStay => "prefer-no-eviction",
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
            Refusal::Budget { .. } => "disruption-budget",
            Refusal::SeveralBudgets(_) => "several-budgets",
            Refusal::StaleBudget(_) => "stale-budget",
            Refusal::Resting(_) => "resting",
            Refusal::Useless { .. } => "ineffective-move",
            Refusal::LedgerFull(_) => "ledger-full",
            Refusal::NoRoom(_) => "no-room",
            Refusal::WouldReturn { .. } => "would-return",
            Refusal::WouldBeHot { .. } => "would-land-hot",
            Refusal::WouldBeUnknown(_) => "would-land-unknown",
            Refusal::WouldNotHelp(_) => "would-not-help",
            Refusal::WouldBeExcluded(_) => "would-land-excluded",
            Refusal::Unremovable(_) => "unremovable-node",
            Refusal::NotAlone(_) => "not-alone",
        }
    }

    /// How far it reaches: a limit of the cycle need not be asked of every other pod.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a new refusal reaches its own pod unless it says otherwise"
    )]
    pub const fn reach(&self) -> Reach {
        match self {
            Refusal::CycleLimit(_) | Refusal::RateLimit(_) | Refusal::LedgerFull(_) => Reach::Cycle,
            Refusal::NodeLimit(_) | Refusal::Doubtful(_) => Reach::Node,
            _ => Reach::Pod,
        }
    }

    /// Whether the same pod may well go in a later cycle, so that no worse pod need go in its stead now.
    pub const fn is_temporary(&self) -> bool {
        matches!(
            self,
            Refusal::CycleLimit(_)
                | Refusal::NodeLimit(_)
                | Refusal::NamespaceLimit(_)
                | Refusal::RateLimit(_)
                | Refusal::WorkloadLimit { .. }
                | Refusal::LastReady { planned: 1.., .. }
                | Refusal::Budget { planned: 1.., .. }
                | Refusal::Young { .. }
                | Refusal::Terminating
        )
    }
}

impl fmt::Display for Refusal {
    #[expect(
        clippy::too_many_lines,
        reason = "one sentence for each refusal, in one place"
    )]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Mirror => f.write_str("a mirror pod: the kubelet would put it back"),
            Refusal::Static => f.write_str("a static pod: the kubelet would put it back"),
            Refusal::Terminating => f.write_str("on its way out already"),
            Refusal::DaemonSet => f.write_str("its DaemonSet would put it back on the same node"),
            Refusal::SystemCritical => f.write_str("its priority is system-critical"),
            Refusal::Priority {
                priority,
                threshold,
            } => {
                write!(
                    f,
                    "its priority {priority} is not below the threshold {threshold}"
                )
            }
            Refusal::UnknownPriorityClass(name) => {
                write!(
                    f,
                    "the policy's PriorityClass {name} does not exist in the cluster"
                )
            }
            Refusal::Bare => f.write_str("it has no owner that would make it anew"),
            Refusal::LocalStorage => f.write_str("its emptyDir or hostPath would be lost"),
            Refusal::PersistentVolume(claim) => {
                write!(f, "it uses the persistent volume claim {claim}")
            }
            Refusal::ResourceClaims => f.write_str("it has dynamic resource claims"),
            Refusal::NoBudget => f.write_str("no PodDisruptionBudget covers it"),
            Refusal::PrefersToStay => f.write_str("its annotation prefer-no-eviction asks to stay"),
            Refusal::Namespace(name) => {
                write!(f, "namespace {name} is not evictable by the policy")
            }
            Refusal::PodSelector => f.write_str("its labels do not match the policy's podSelector"),
            Refusal::Young { age, least } => write!(
                f,
                "it is {} old, younger than {}",
                short(*age),
                short(*least)
            ),
            Refusal::TooFewReplicas { have, least } => {
                write!(
                    f,
                    "its workload has {have} of the {least} replicas that the policy asks for"
                )
            }
            Refusal::LastReady { left, least, .. } => {
                write!(
                    f,
                    "{left} other replicas would be Ready, and at least {least} must be"
                )
            }
            Refusal::Unmeasured(why) => write!(f, "its usage is unknown: {why}"),
            Refusal::Doubtful(why) => write!(f, "its node is left alone: {why}"),
            Refusal::CycleLimit(most) => {
                write!(f, "the limit of {most} evictions per cycle is reached")
            }
            Refusal::NodeLimit(most) => {
                write!(f, "the limit of {most} evictions from one node is reached")
            }
            Refusal::NamespaceLimit(most) => write!(
                f,
                "the limit of {most} evictions in one namespace is reached"
            ),
            Refusal::RateLimit(most) => {
                write!(f, "the limit of {most} evictions per minute is reached")
            }
            Refusal::WorkloadLimit { away, most } => {
                write!(
                    f,
                    "its workload gives {most} at a time, and {away} of its pods {} away",
                    if *away == 1 { "is" } else { "are" }
                )
            }
            Refusal::Budget { name, planned: 0 } => {
                write!(f, "PodDisruptionBudget {name} allows no disruption now")
            }
            Refusal::Budget { name, planned } => {
                write!(
                    f,
                    "PodDisruptionBudget {name} allows no disruption beyond the {planned} planned"
                )
            }
            Refusal::SeveralBudgets(names) => {
                write!(
                    f,
                    "several PodDisruptionBudgets cover it ({}), so the API server would refuse",
                    names.join(", ")
                )
            }
            Refusal::StaleBudget(name) => write!(
                f,
                "PodDisruptionBudget {name} has changed and awaits its controller"
            ),
            Refusal::Resting(left) => write!(
                f,
                "it replaces an evicted pod and rests for another {}",
                short(*left)
            ),
            Refusal::Useless { times: 1, left } => {
                write!(
                    f,
                    "the last move of its workload did not help; it rests for another {}",
                    short(*left)
                )
            }
            Refusal::Useless { times, left } => {
                write!(
                    f,
                    "the last {times} moves of its workload did not help; it rests for another {}",
                    short(*left)
                )
            }
            Refusal::LedgerFull(most) => write!(f, "the ledger is full at {most} entries"),
            Refusal::NoRoom(why) => write!(f, "no other node can take it: {why}"),
            Refusal::WouldReturn { node, chance, pull } => {
                let would = if *chance < Ratio::ONE { "may" } else { "would" };
                write!(f, "{would} return to {node}: {pull}")
            }
            Refusal::WouldBeHot {
                node,
                resource,
                ratio,
                target,
                basis,
            } => {
                let by = match basis {
                    Basis::Requests => "by requests ",
                    Basis::Actual => "",
                };
                write!(
                    f,
                    "would land on {node}, and {by}{resource} there be {ratio}, above the target of {target}"
                )
            }
            Refusal::WouldBeUnknown(node) => {
                write!(f, "would land on {node}, whose usage is unknown")
            }
            Refusal::WouldNotHelp(node) => {
                write!(f, "would land on {node}, where nothing is gained")
            }
            Refusal::WouldBeExcluded(node) => {
                write!(
                    f,
                    "would land on {node}, which the policy excludes as destination"
                )
            }
            Refusal::Unremovable(why) => {
                write!(
                    f,
                    "emptying its node would gain nothing, as cluster-autoscaler has to leave it: {why}"
                )
            }
            Refusal::NotAlone(pod) => {
                write!(
                    f,
                    "its node is emptied as a whole or not at all, and {pod} has to stay"
                )
            }
        }
    }
}

/// An age, as people say it: its two largest units, such as `8d3h`.
pub fn whole(age: SignedDuration) -> String {
    let seconds = age.as_secs();
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    match (days, hours) {
        (0, 0) => short(age),
        (0, _) => short(SignedDuration::from_mins(seconds / 60)),
        (_, 0) => format!("{days}d"),
        _ => format!("{days}d{hours}h"),
    }
}

/// A duration in whole seconds, as people write it: `1h30m`, `45s`.
pub fn short(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().max(0);
    let parts = [
        (seconds / 3600, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, unit)| format!("{n}{unit}"))
        .collect();
    if parts.is_empty() {
        "0s".to_owned()
    } else {
        parts.concat()
    }
}
