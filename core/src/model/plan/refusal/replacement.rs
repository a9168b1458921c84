//! Pods without a replacement that could take over.

use crate::model::plan::{
    ClaimFlaw, JobFailureCause, MisfitCounts, NoReplacementCause, OrderCause, UnknownObjects,
};

/// The reason why the pod would have no replacement, or none that could start.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Replacement {
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
    /// The namespace of the pod is being deleted, and the API server refuses new pods in it.
    #[error("its namespace {0} is being deleted, so the API server would refuse its replacement")]
    NamespaceDeleted(String),
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
    /// The pod template of the controller has scheduling gates.
    #[error(
        "the template of its {0} has scheduling gates, so its replacement waits until they are \
         removed"
    )]
    Gated(String),
    /// The StatefulSet of the pod creates pods one after the other and waits for another one.
    #[error("its StatefulSet starts pods in order, and {pod} {cause}")]
    WaitsInOrder {
        /// The other pod.
        pod: String,
        /// The reason.
        cause: OrderCause,
    },
    /// The API server refuses new pods with this PriorityClass, because it does not exist.
    #[error("its PriorityClass {0} does not exist, so the API server would refuse its replacement")]
    MissingPriorityClass(String),
    /// The pod would lose the data in its emptyDir or hostPath volumes.
    #[error("its emptyDir or hostPath data would be lost")]
    LocalStorage,
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
    /// Another pod uses a volume that only one node can use at a time, or waits for it.
    #[error(
        "its PersistentVolumeClaim {claim} can be used on one node at a time, and {pod} uses it too"
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
            Replacement::WaitsInOrder { pod, cause } => {
                ("waits-in-order", cause.remedy(pod) + PARALLEL)
            }
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
const UNKNOWN_OWNER: &str = "correct the owner reference of the pod, \
                             or the object if it cannot be read; a file must contain it";
const RUNS_TO_COMPLETION: &str = "wait until it has ended; \
    set `evictable.allow: [runsToCompletion]` only where the work can begin again";
const LOCAL_STORAGE: &str =
    "set `evictable.allow: [localStorage]`, or remove its emptyDir and hostPath volumes";
const NEW_VOLUME: &str = "give the claim a storage class with `volumeBindingMode: \
                          WaitForFirstConsumer`, or set `evictable.allow: [newVolumes]`";
const SHARED_VOLUME: &str =
    "give the pods their own claims, or a new claim with the access mode ReadWriteMany";
const PARALLEL: &str = ", or recreate the StatefulSet with `podManagementPolicy: Parallel`";
const PREEMPTION: &str =
    "make room on a node that may run it, or set `evictable.allow: [preemption]`";
