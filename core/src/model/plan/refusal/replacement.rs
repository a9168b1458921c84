//! Pods without a replacement that could take over.

use jiff::SignedDuration;

use crate::model::plan::{MisfitCounts, UnknownObjects};
use crate::values::text::duration;

use super::start_flaw::StartFlaw;

/// The reason why the pod would have no replacement, or none that could start.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum Replacement {
    #[error("no controller would recreate it")]
    Bare,
    #[error("its {0} does not exist or cannot be read, so whether it is replaced is unknown")]
    UnknownOwner(String),
    #[error("its {owner} creates no replacement: {cause}")]
    NoReplacement {
        /// The kind and name of the controller.
        owner: String,
        cause: NoReplacementCause,
    },
    #[error("its namespace {0} is being deleted, so the API server would refuse its eviction")]
    NamespaceDeleted(String),
    #[error("it runs to completion, and its {0} may lose its work or fail without it")]
    RunsToCompletion(String),
    #[error("its eviction would fail its {job}: {cause}")]
    JobWouldFail {
        /// The kind and name of the Job.
        job: String,
        cause: JobFailureCause,
    },
    #[error("the template of its {owner} names node {node}, so its replacement returns to it")]
    NamesNode {
        /// The kind and name of the controller.
        owner: String,
        node: String,
    },
    #[error(
        "the template of its {0} has scheduling gates, so its replacement waits until they are removed"
    )]
    Gated(String),
    #[error("its {owner} would replace it by revision {revision}, which is not its own")]
    OtherRevision {
        /// The kind and name of the controller.
        owner: String,
        /// The revision of the replacement.
        revision: String,
    },
    #[error("its StatefulSet starts pods in order, and {pod} {cause}")]
    WaitsInOrder { pod: String, cause: OrderCause },
    #[error("new pods of its {owner} do not start: {pod} {flaw}")]
    DoesNotStart {
        /// The kind and name of the controller.
        owner: String,
        pod: String,
        /// The reason why it does not start.
        flaw: StartFlaw,
    },
    /// The API server refuses new pods with this PriorityClass, because it does not exist.
    #[error("its PriorityClass {0} does not exist, so the API server would refuse its replacement")]
    MissingPriorityClass(String),
    #[error("its data on its node would be lost")]
    LocalStorage,
    #[error("its replacement needs a new volume for claim {0}, which may be provisioned anywhere")]
    NewVolume(String),
    #[error("its PersistentVolumeClaim {claim} {flaw}, so its replacement could not start")]
    Claim { claim: String, flaw: ClaimFlaw },
    #[error(
        "its PersistentVolumeClaim {claim} can be used on one node at a time, and {pod} uses it too"
    )]
    SharedVolume { claim: String, pod: String },
    #[error("the decision depends on {0}")]
    Unknown(UnknownObjects),
    #[error("no other node can take it: {0}")]
    NoRoom(MisfitCounts),
    /// No node has room for the replacement, and the scheduler could remove another pod for it.
    #[error("its replacement fits on no node and could remove {pod} of lower priority from {node}")]
    WouldPreempt {
        node: String,
        /// The pod that could be removed.
        pod: String,
    },
}

impl Replacement {
    /// Returns true if the pod can probably move in a later cycle.
    pub(super) const fn is_temporary(&self) -> bool {
        matches!(self, Replacement::WaitsInOrder { cause: OrderCause::Moves, .. })
    }

    pub(super) fn code_and_remedy(&self) -> (&'static str, String) {
        match self {
            Replacement::Bare => ("bare-pod", BARE.into()),
            Replacement::UnknownOwner(_) => ("unknown-owner", UNKNOWN_OWNER.into()),
            Replacement::NoReplacement { cause, .. } => ("no-replacement", cause.remedy().into()),
            Replacement::NamespaceDeleted(_) => {
                ("namespace-deleted", "nothing: it ends with its namespace".into())
            }
            Replacement::RunsToCompletion(_) => ("runs-to-completion", RUNS_TO_COMPLETION.into()),
            Replacement::JobWouldFail { cause, .. } => ("job-would-fail", cause.remedy().into()),
            Replacement::NamesNode { .. } => {
                ("names-node", "remove `nodeName` from the template".into())
            }
            Replacement::Gated(_) => ("gated", "remove `schedulingGates` from the template".into()),
            Replacement::OtherRevision { .. } => ("other-revision", OTHER_REVISION.into()),
            Replacement::WaitsInOrder { pod, cause } => {
                ("waits-in-order", cause.remedy(pod) + PARALLEL)
            }
            Replacement::DoesNotStart { pod, flaw, .. } => ("does-not-start", flaw.remedy(pod)),
            Replacement::MissingPriorityClass(name) => (
                "missing-priority-class",
                format!("create PriorityClass {name}, or change the template"),
            ),
            Replacement::LocalStorage => ("local-storage", LOCAL_STORAGE.into()),
            Replacement::NewVolume(_) => ("new-volume", NEW_VOLUME.into()),
            Replacement::Claim { claim, flaw } => ("unusable-claim", flaw.remedy(claim)),
            Replacement::SharedVolume { .. } => ("shared-volume", SHARED_VOLUME.into()),
            Replacement::Unknown(objects) => ("unknown-objects", objects.remedy()),
            Replacement::NoRoom(misfits) => ("no-room", misfits.remedy()),
            Replacement::WouldPreempt { .. } => ("would-preempt", PREEMPTION.into()),
        }
    }
}

const BARE: &str = "give it a controller; for failed pods set `evictable.allow: [failedBare]`";
const UNKNOWN_OWNER: &str = "correct the owner reference of the pod, or the object if it cannot be read; a file must contain it";
const RUNS_TO_COMPLETION: &str = "wait until it has ended; \
    set `evictable.allow: [runsToCompletion]` only where the work can begin again";
const OTHER_REVISION: &str = "finish the rollout or undo it; with `updateStrategy: OnDelete`, delete the pod at a time of your choice";
const LOCAL_STORAGE: &str =
    "set `evictable.allow: [localStorage]`, or remove its volumes on the node";
const NEW_VOLUME: &str = "give the claim a storage class with `volumeBindingMode: \
                          WaitForFirstConsumer`, or set `evictable.allow: [newVolumes]`";
const SHARED_VOLUME: &str =
    "give the pods their own claims, or a new claim with the access mode ReadWriteMany";
const PARALLEL: &str = ", or recreate the StatefulSet with `podManagementPolicy: Parallel`";
const PREEMPTION: &str =
    "make room on a node that may run it, or set `evictable.allow: [preemption]`";

/// The reason why a replacement could not start with a PersistentVolumeClaim. The sentence follows
/// the name of the claim.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum ClaimFlaw {
    #[error("does not exist")]
    Missing,
    #[error("cannot be read")]
    Unreadable,
    #[error("is being deleted")]
    Deleting,
    #[error("has lost its volume")]
    Lost,
    #[error("is not bound, and does not wait for a pod to be bound")]
    Unbound,
    #[error("names StorageClass {0}, which does not exist or cannot be read")]
    NoClass(String),
    #[error("names no StorageClass, and none is the default")]
    NoDefaultClass,
    #[error("is bound to PersistentVolume {0}, which does not exist or cannot be read")]
    NoVolume(String),
    #[error("is bound to PersistentVolume {0}, which belongs to another claim")]
    VolumeOfOther(String),
    #[error("is bound to PersistentVolume {0}, which is being deleted")]
    VolumeDeleting(String),
    /// The volume has the phase `Failed`.
    #[error("is bound to PersistentVolume {0}, which has failed")]
    VolumeFailed(String),
    /// The volume has the phase `Released`.
    #[error("is bound to PersistentVolume {0}, which is released")]
    VolumeReleased(String),
    /// The volume has `dataLocality: strict-local` and no node affinity.
    #[error("is bound to PersistentVolume {0}, which no other node can attach")]
    VolumeStrictlyLocal(String),
}

impl ClaimFlaw {
    /// Returns the change that makes the claim usable.
    fn remedy(&self, claim: &str) -> String {
        match self {
            ClaimFlaw::Missing => format!("create PersistentVolumeClaim {claim}"),
            ClaimFlaw::Unreadable => format!("correct PersistentVolumeClaim {claim}"),
            ClaimFlaw::Deleting => format!(
                "restore the data and the pod at a time of your choice: PersistentVolumeClaim {claim} ends with the pod"
            ),
            ClaimFlaw::Lost | ClaimFlaw::Unbound => {
                format!("bind PersistentVolumeClaim {claim} to a volume (`kubectl describe pvc`)")
            }
            ClaimFlaw::NoClass(class) => format!("create or correct StorageClass {class}"),
            ClaimFlaw::NoDefaultClass => "make a StorageClass the default one".into(),
            ClaimFlaw::VolumeStrictlyLocal(volume) => {
                format!("change `dataLocality` of the Longhorn volume of PersistentVolume {volume}")
            }
            ClaimFlaw::VolumeOfOther(volume) => {
                format!("correct `claimRef` of PersistentVolume {volume}")
            }
            ClaimFlaw::NoVolume(volume)
            | ClaimFlaw::VolumeDeleting(volume)
            | ClaimFlaw::VolumeFailed(volume)
            | ClaimFlaw::VolumeReleased(volume) => format!(
                "restore or correct PersistentVolume {volume}, or let the pod use another volume"
            ),
        }
    }
}

/// Why a controller creates no replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum NoReplacementCause {
    #[error("it is being deleted")]
    Deleting,
    #[error("its condition ReplicaFailure says that it cannot create pods")]
    Failing,
    #[error("the condition ReplicaFailure of others says that its namespace takes no new pods")]
    OthersFail,
    #[error("it wants {wanted} and has {have}")]
    Enough {
        /// The pods that it wants.
        wanted: u32,
        /// The pods that it has.
        have: u32,
    },
    #[error("it waits for no pod, and has not created its pod {ordinal}")]
    NotCreated {
        /// The ordinal of the pod.
        ordinal: u32,
    },
    #[error("it wants only the ordinals {first} to {last}")]
    Ordinal {
        /// The first ordinal.
        first: u32,
        /// The last one.
        last: u32,
    },
}

impl OrderCause {
    /// Returns the change that would let the pod move.
    fn remedy(self, pod: &str) -> String {
        match self {
            OrderCause::NotReady => format!("make {pod} Ready"),
            OrderCause::NotAvailable => format!("wait until {pod} is available"),
            OrderCause::Moves => format!("wait until {pod} is Ready again"),
        }
    }
}

impl NoReplacementCause {
    /// Returns the change that would let the pod move.
    pub const fn remedy(self) -> &'static str {
        match self {
            NoReplacementCause::Deleting
            | NoReplacementCause::Enough { .. }
            | NoReplacementCause::Ordinal { .. } => "nothing: it is not wanted any more",
            NoReplacementCause::Failing | NoReplacementCause::OthersFail => {
                "remove what refuses its pods, such as a quota or a webhook; the condition names it"
            }
            NoReplacementCause::NotCreated { .. } => {
                "remove what refuses its pods, such as a quota or a webhook; its events name it"
            }
        }
    }
}

impl JobFailureCause {
    /// Returns the change that would let the pod move. The `podFailurePolicy` of a Job cannot
    /// change.
    const fn remedy(self) -> &'static str {
        match self {
            JobFailureCause::BackoffLimit { .. } | JobFailureCause::IndexLimit { .. } => {
                "wait until it has ended; give the next Job a `podFailurePolicy` that ignores the condition DisruptionTarget"
            }
            JobFailureCause::FailurePolicy => {
                "wait until it has ended; in the next Job, let the first rule of the `podFailurePolicy` ignore the condition DisruptionTarget"
            }
            JobFailureCause::Deadline { .. } => {
                "wait until it has ended, or raise `activeDeadlineSeconds` of the Job"
            }
            JobFailureCause::Foreign => "wait until it has ended",
        }
    }
}

/// Why a StatefulSet that creates pods in order waits for another pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderCause {
    /// It is terminating or not Ready.
    #[error("is not Ready")]
    NotReady,
    /// It has been Ready for less than the `minReadySeconds` of the StatefulSet.
    #[error("has been Ready for less than minReadySeconds")]
    NotAvailable,
    /// The same plan moves it.
    #[error("moves before it")]
    Moves,
}

/// Why a Job would fail by an eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum JobFailureCause {
    #[error("its backoffLimit is {limit}, and {failed} of its pods {}", failed_or_leave(*.failed))]
    BackoffLimit {
        /// The pods that have failed or are going to.
        failed: u32,
        /// The `backoffLimit`.
        limit: u32,
    },
    #[error("the limit for each index is {limit}, and its index has failed {}", times(*.failed))]
    IndexLimit {
        /// How often the index has failed; `None` if that is unknown.
        failed: Option<u32>,
        /// The `backoffLimitPerIndex`.
        limit: u32,
    },
    /// A rule of the `podFailurePolicy` says so.
    #[error("a rule of its podFailurePolicy fails it")]
    FailurePolicy,
    #[error("its deadline is in {}, and the pod has worked for {}", duration(*.left), duration(*.done))]
    Deadline {
        /// The time until the deadline.
        left: SignedDuration,
        /// The time for which the pod has run.
        done: SignedDuration,
    },
    #[error("another controller manages it (managedBy), whose rules are unknown")]
    Foreign,
}

fn failed_or_leave(pods: u32) -> &'static str {
    if pods == 1 { "has failed or leaves" } else { "have failed or leave" }
}

fn times(failed: Option<u32>) -> String {
    failed.map_or_else(|| "an unknown number of times".to_owned(), |n| format!("{n} times"))
}
