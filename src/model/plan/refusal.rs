//! Reasons for keeping a pod: a stable code for machines, a sentence for people.

use jiff::SignedDuration;

use crate::model::guard::GuardStop;
use crate::model::ledger::{Decline, Rest};
use crate::model::snapshot::facts::NodeClosure;
use crate::model::snapshot::pause::Pause;
use crate::model::usage::Unmeasured;
use crate::policy::Basis;
use crate::values::{NodeMinutes, Ratio};

use super::duration_text::short;
use super::refusal_text::{
    for_another, horizon, last_evictions, last_moves, pods_are, weighed, would,
};
use super::{
    BrokenPreference, BudgetCause, ClaimFlaw, JobFailureCause, MisfitCounts, NoGain,
    NoReplacementCause, OtherSystem, PlacementCause, UnknownObjects,
};

/// A gate's reason for keeping a pod where it is.
///
/// [`Refusal::code`] is stable and meant for machines. The `Display` sentence is meant for people
/// and may be reworded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The pod mirrors a static pod in the API server.
    #[error("mirror pod: the kubelet would recreate it")]
    Mirror,
    /// The kubelet runs the pod from a manifest on its node.
    #[error("static pod: the kubelet would recreate it")]
    Static,
    /// The pod is being deleted.
    #[error("it is already terminating")]
    Terminating,
    /// A DaemonSet owns the pod and would recreate it on the same node.
    #[error("its DaemonSet would recreate it on the same node")]
    DaemonSet,
    /// The pod has a priority that Kubernetes reserves for system components.
    #[error("its priority is system-critical")]
    SystemCritical,
    /// The pod's priority is not below the threshold of the policy.
    #[error("its priority {priority} is not below the threshold {threshold}")]
    Priority {
        /// The priority of the pod.
        priority: i32,
        /// The threshold of the policy.
        threshold: i32,
    },
    /// The policy names a PriorityClass that the cluster does not have.
    #[error("the policy names PriorityClass {0}, which does not exist in the cluster")]
    UnknownPriorityClass(String),
    /// The pod has no controller that would recreate it.
    #[error("no controller would recreate it")]
    Bare,
    /// The controller of the pod does not exist or cannot be read.
    #[error("its {0} does not exist or cannot be read, so whether it is replaced is unknown")]
    UnknownOwner(String),
    /// The controller of the pod creates no replacement.
    #[error("its {owner} creates no replacement: {cause}")]
    NoReplacement {
        /// The kind and name of the controller.
        owner: String,
        /// The reason.
        cause: NoReplacementCause,
    },
    /// The pod does work that ends, and its controller may not start it again.
    #[error("it runs to completion, and its {0} may lose its work or fail without it")]
    RunsToCompletion(String),
    /// The eviction would fail the pod's Job.
    #[error("its eviction would fail its {job}: {cause}")]
    JobWouldFail {
        /// The kind and name of the Job.
        job: String,
        /// The reason.
        cause: JobFailureCause,
    },
    /// The pod template of the controller names a node.
    #[error("the template of its {owner} names node {node}, so its replacement returns to it")]
    NamesNode {
        /// The kind and name of the controller.
        owner: String,
        /// The node.
        node: String,
    },
    /// The StatefulSet of the pod creates no pod before this one is Ready.
    #[error("its StatefulSet starts pods in order, and {0} is not Ready")]
    WaitsInOrder(String),
    /// The API server refuses new pods with this PriorityClass, because it does not exist.
    #[error("its PriorityClass {0} does not exist, so the API server would refuse its replacement")]
    MissingPriorityClass(String),
    /// The pod has only the name of a PriorityClass, whose value is unknown.
    #[error("its priority is unknown: it has none, and neither has its PriorityClass {0}")]
    UnknownPriority(String),
    /// The pod would lose the data in its emptyDir or hostPath volumes.
    #[error("its emptyDir or hostPath data would be lost")]
    LocalStorage,
    /// The pod uses this persistent volume claim, which the policy protects.
    #[error("it uses PersistentVolumeClaim {0}")]
    PersistentVolume(String),
    /// The pod uses dynamic resource claims.
    #[error("it uses dynamic resource claims")]
    ResourceClaims,
    /// No PodDisruptionBudget covers the pod, and the policy requires one.
    #[error("no PodDisruptionBudget covers it")]
    NoBudget,
    /// The annotation `descheduler.alpha.kubernetes.io/evict` of the pod is `false`.
    #[error("its annotation descheduler.alpha.kubernetes.io/evict is false")]
    EvictFalse,
    /// The annotation `descheduler.alpha.kubernetes.io/prefer-no-eviction` asks not to evict the
    /// pod.
    #[error("its annotation prefer-no-eviction asks not to evict it")]
    PreferNoEviction,
    /// The replacement of the pod needs a new volume for this claim, at a place that cannot be
    /// foreseen.
    #[error("its replacement needs a new volume for claim {0}, which may be provisioned anywhere")]
    NewVolume(String),
    /// The replacement of the pod could not start with this claim.
    #[error("its PersistentVolumeClaim {claim} {flaw}, so its replacement could not start")]
    Claim {
        /// The name of the claim.
        claim: String,
        /// The reason.
        flaw: ClaimFlaw,
    },
    /// Another pod on the node uses a volume that only one node can use at a time.
    #[error(
        "its PersistentVolumeClaim {claim} can be used on one node at a time, and {pod} uses it \
         here"
    )]
    SharedVolume {
        /// The name of the claim.
        claim: String,
        /// The other pod.
        pod: String,
    },
    /// The place of the replacement depends on objects that are not known.
    #[error("the decision depends on {0}")]
    Unknown(UnknownObjects),
    /// The pod belongs to this group of pods that start and stop together.
    #[error("it belongs to {0}, whose other pods would stop or wait without it")]
    Gang(String),
    /// The annotation `karpenter.sh/do-not-disrupt` protects the pod, for this long or always.
    #[error("its annotation karpenter.sh/do-not-disrupt protects it{}", for_another(*.0))]
    DoNotDisrupt(Option<SignedDuration>),
    /// The annotation `cluster-autoscaler.kubernetes.io/safe-to-evict` of the pod is `false`.
    #[error("its annotation cluster-autoscaler.kubernetes.io/safe-to-evict is false")]
    NotSafeToEvict,
    /// The policy allows no evictions in the pod's namespace.
    #[error("the policy does not allow evictions in namespace {0}")]
    Namespace(String),
    /// A person has stopped the evictions of its namespace.
    #[error("{}", .0.sentence())]
    Paused(Pause),
    /// A guard of the policy stops its evictions, or those in its namespace.
    #[error("{0}")]
    Guarded(Box<GuardStop>),
    /// The pod's labels do not match the selector of the policy.
    #[error("its labels do not match the policy's podSelector")]
    PodSelector,
    /// The pod is younger than the minimum age of the policy.
    #[error("it is {} old, and the minimum age is {}", short(*.age), short(*.least))]
    Young {
        /// The age of the pod.
        age: SignedDuration,
        /// The minimum age.
        least: SignedDuration,
    },
    /// The pod's workload has fewer replicas than the policy requires.
    #[error("its workload has {have} of the {least} replicas that the policy requires")]
    TooFewReplicas {
        /// Replicas that the workload has.
        have: u32,
        /// Replicas that the policy requires.
        least: u32,
    },
    /// Too few replicas of the workload would stay Ready.
    #[error("{left} other replicas would be Ready, and at least {least} must be")]
    LastReady {
        /// Ready replicas that would be left.
        left: u32,
        /// Ready replicas that the policy requires.
        least: u32,
        /// Evictions of other replicas in this plan; with zero, too few were Ready to begin with.
        planned: u32,
    },
    /// The usage of the pod is unknown.
    #[error("its usage is unknown: {0}")]
    Unmeasured(Unmeasured),
    /// The data about the pod's node may be wrong.
    #[error("its node is left alone: {0}")]
    Unreadable(String),
    /// Its eviction has been requested already.
    #[error("its eviction is under way")]
    UnderWay,
    /// The policy forbids evictions now, for this long.
    #[error("the windows of the policy forbid evictions for another {}", short(*.0))]
    OutsideWindow(SignedDuration),
    /// A person has to approve its eviction first.
    #[error("a person has to approve its eviction")]
    NeedsApproval,
    /// A person has approved other evictions, which this cycle makes.
    #[error("only approved evictions are made in this cycle, and its eviction is not one of them")]
    NotApproved,
    /// Its eviction is approved, but with other nodes for its replacement.
    #[error("its replacement would land on {0}, which is none of the nodes that were approved")]
    LandsElsewhere(String),
    /// The limit of evictions per cycle is reached.
    #[error("the limit of {0} evictions per cycle is reached")]
    CycleLimit(u32),
    /// The limit of evictions per node is reached.
    #[error("the limit of {0} evictions per node is reached")]
    NodeLimit(u32),
    /// The limit of evictions per namespace is reached.
    #[error("the limit of {0} evictions per namespace is reached")]
    NamespaceLimit(u32),
    /// The limit of evictions per minute is reached.
    #[error("the limit of {0} evictions per minute is reached")]
    RateLimit(u32),
    /// As many pods of the workload are away as the policy allows.
    #[error(
        "{} not Ready or being replaced in its workload, and the limit is {most}",
        pods_are(*.away)
    )]
    WorkloadLimit {
        /// Pods that are missing, not Ready or being replaced.
        away: u32,
        /// The limit.
        most: u32,
    },
    /// The pod's PodDisruptionBudget allows no further disruption.
    #[error("PodDisruptionBudget {name} {cause}")]
    Budget {
        /// The name of the budget.
        name: String,
        /// Why it allows none.
        cause: BudgetCause,
    },
    /// Several PodDisruptionBudgets cover the pod, so the API server would reject its eviction.
    #[error(
        "several PodDisruptionBudgets cover it ({}), so the API server would reject its eviction",
        .0.join(", ")
    )]
    SeveralBudgets(Vec<String>),
    /// The disruption controller has not processed the latest change of the PodDisruptionBudget.
    #[error("PodDisruptionBudget {0} has changed, and its status is not up to date yet")]
    StaleBudget(String),
    /// The pod replaced an evicted pod recently; the workload rests for this long.
    #[error("it replaced an evicted pod recently and rests for another {}", short(*.0))]
    Resting(SignedDuration),
    /// The last moves of the pod's workload did not help.
    #[error(
        "{} did not help; the workload rests for another {}",
        last_moves(*.times),
        short(*.left)
    )]
    Ineffective {
        /// Consecutive moves that did not help.
        times: u32,
        /// Time for which the workload still rests.
        left: SignedDuration,
    },
    /// The first eviction of the pod's workload is a trial, whose replacement has to be Ready for
    /// this long.
    #[error(
        "the first eviction of its workload is a trial; the next waits until the replacement has \
         been Ready for {}",
        short(*.0)
    )]
    Trial(SignedDuration),
    /// The pod's workload got worse by its last eviction.
    #[error("its workload got worse by an eviction and rests for another {}: {decline}", short(*.left))]
    GotWorse {
        /// How it got worse.
        decline: Decline,
        /// Time for which the workload still rests.
        left: SignedDuration,
    },
    /// The move could save the node less time above its target than the replacement takes to start.
    #[error(
        "its move could save {node} {above} above the target in the next hour, and its replacement \
         takes about {} to be Ready",
        short(*.start)
    )]
    NotWorthIt {
        /// The node of the pod.
        node: String,
        /// The time that the node is expected to be above its target in the next hour.
        above: NodeMinutes,
        /// The time until the replacement is Ready, by earlier ones of the workload.
        start: SignedDuration,
    },
    /// The API server rejected the last evictions of the pod.
    #[error("{} rejected; it rests for another {}", last_evictions(*.times), short(*.left))]
    Rejected {
        /// Consecutive evictions that were rejected.
        times: u32,
        /// Time for which the pod still rests.
        left: SignedDuration,
    },
    /// The eviction of another pod of its workload was rejected.
    #[error("an eviction in its workload was rejected, so its pods are tried one at a time")]
    WorkloadRejected,
    /// The right to evict pods in its namespace is missing; the next attempt is after this time.
    #[error("no right to evict pods in its namespace; the next attempt is in {}", short(*.0))]
    NoRight(SignedDuration),
    /// The ledger has reached this many kB and has no room for another eviction.
    #[error("the ledger is full at {0} kB")]
    LedgerFull(usize),
    /// No other node that may run the pod has room for it.
    #[error("no other node can take it: {0}")]
    NoRoom(MisfitCounts),
    /// No node has room for the replacement, and the scheduler could remove another pod for it.
    #[error("its replacement fits on no node and could remove {pod} of lower priority from {node}")]
    WouldPreempt {
        /// The node.
        node: String,
        /// The pod that could be removed.
        pod: String,
    },
    /// The scheduler would or could put the replacement back on the same node.
    #[error("its replacement {} return to {node}: {cause}", would(*.chance))]
    WouldReturn {
        /// The node.
        node: String,
        /// The probability.
        chance: Ratio,
        /// The reason why the scheduler prefers the node.
        cause: PlacementCause,
    },
    /// The scheduler could put the replacement on a node that would then exceed its target.
    #[error(
        "its replacement could land on {node}, where {resource} {} would reach {ratio}{}, above \
         the target of {target}",
        weighed(*.basis),
        horizon(*.within_a_day)
    )]
    WouldBeHot {
        /// The node.
        node: String,
        /// The resource that would exceed its target.
        resource: String,
        /// The ratio that the resource would reach.
        ratio: Ratio,
        /// The target.
        target: Ratio,
        /// Whether usage or requests would exceed the target.
        basis: Basis,
        /// Whether the node would exceed its target in an hour of the next day, and not at once.
        within_a_day: bool,
    },
    /// The scheduler could put the replacement on a node with unknown usage.
    #[error("its replacement could land on {0}, whose usage is unknown")]
    WouldBeUnknown(String),
    /// The scheduler could put the replacement on a node where the move improves nothing.
    #[error(
        "its replacement could land on {node}, where the move would improve nothing: {node} {why}"
    )]
    WouldNotHelp {
        /// The node.
        node: String,
        /// Why the move improves nothing there.
        why: NoGain,
    },
    /// The scheduler could put the replacement on a node where another preference of the pod would
    /// be violated more than now.
    #[error(
        "its replacement could land on {0}, where the move would break another preference: {1}"
    )]
    WouldTrade(String, BrokenPreference),
    /// The scheduler could put the replacement on a node that takes no new pods.
    #[error("its replacement could land on {0}, which is {1}")]
    WouldBeClosed(String, NodeClosure),
    /// The scheduler, which does not compare operating systems, could put the replacement on a node
    /// whose kubelet would refuse it.
    #[error("its replacement could land on {0}, whose kubelet would refuse it: {1}")]
    WouldBeRefused(String, OtherSystem),
    /// The scheduler could put the replacement on a node that the policy excludes as a destination.
    #[error("its replacement could land on {0}, which the policy excludes as a destination")]
    WouldBeExcluded(String),
    /// No autoscaler could remove the pod's node after it was emptied.
    #[error("emptying its node would gain nothing, because no autoscaler may remove it: {0}")]
    Unremovable(String),
    /// The pod's node is emptied completely or not at all, and this other pod has to stay.
    #[error("its node is emptied completely or not at all, and {0} has to stay")]
    NotAlone(String),
}

impl From<Rest> for Refusal {
    fn from(rest: Rest) -> Self {
        match rest {
            Rest::Replacement(left) => Refusal::Resting(left),
            Rest::Ineffective { times, left } => Refusal::Ineffective { times, left },
            Rest::GotWorse { decline, left } => Refusal::GotWorse { decline, left },
            Rest::Rejected { times, left } => Refusal::Rejected { times, left },
            Rest::NoRight(left) => Refusal::NoRight(left),
        }
    }
}
