//! Owners of objects, and the facts of the controllers that create pods.

use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::OwnerKey;

/// An owner reference of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Owner {
    /// The kind, such as `ReplicaSet`.
    pub kind: String,
    /// The name, in the namespace of the object.
    pub name: String,
    /// Whether this owner is the controller of the object.
    #[serde(skip)]
    pub controller: bool,
    /// The API group, such as `apps`; empty for core kinds and in files that name none.
    #[serde(skip)]
    pub group: String,
    /// Its uid; `None` in files that have none.
    #[serde(skip)]
    pub uid: Option<UidHash>,
}

/// The hash of a uid. It tells an owner from a later one of the same name in eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UidHash(u64);

impl UidHash {
    /// The hash of a uid; `None` for an empty one.
    pub fn of(uid: &str) -> Option<Self> {
        let mut hasher = DefaultHasher::new();
        uid.hash(&mut hasher);
        (!uid.is_empty()).then(|| UidHash(hasher.finish()))
    }
}

/// The words of the API server where a ResourceQuota admits no more pods.
pub const OVER_QUOTA: &str = "exceeded quota";

/// The endings of kinds whose pods run to completion.
const ENDINGS: [&str; 4] = ["Job", "Run", "Workflow", "SparkApplication"];

impl Owner {
    /// Returns the key of the owner of an object in this namespace.
    pub fn key(&self, namespace: &str) -> OwnerKey {
        OwnerKey {
            namespace: namespace.to_owned(),
            kind: self.kind.clone(),
            name: self.name.clone(),
        }
    }

    /// Returns true if this is the same object, whether or not it is the controller.
    pub fn same(&self, other: &Self) -> bool {
        self.uid == other.uid && self.kind == other.kind && self.name == other.name
    }

    /// Returns the ending by which a kind says that its pods run to completion, regardless of their
    /// restart policy; `None` if it has none.
    pub fn ending_of(kind: &str) -> Option<&'static str> {
        ENDINGS.into_iter().find(|ending| kind.ends_with(ending))
    }

    /// Returns true if this is none of Kubernetes' own kinds. A file may name no group.
    pub fn is_custom(&self) -> bool {
        !["", "apps", "batch"].contains(&self.group.as_str())
    }

    /// Returns true if this is the kind of this API group. A file may name no group.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.kind == kind && (self.group == group || self.group.is_empty())
    }
}

/// The facts of a controller that creates pods: a ReplicaSet, ReplicationController, StatefulSet or
/// Job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerFacts {
    /// Its own controller, such as a Deployment or CronJob. That of a StatefulSet is left out,
    /// because the workload of its pods is the StatefulSet.
    pub above: Option<Owner>,
    /// Its uid; `None` in files that have none.
    pub uid: Option<UidHash>,
    /// Whether it is being deleted, so that it creates no pod any more.
    pub deleting: bool,
    /// Why it says that it cannot create pods, by the condition `ReplicaFailure` of a ReplicaSet or
    /// ReplicationController; `None` if it does not.
    pub fails: Option<CreationFailure>,
    /// The number of pods that it wants to run now; `None` in files that do not say it.
    pub wanted: Option<u32>,
    /// The node that its template names. The scheduler does not see such pods.
    pub node: Option<Box<str>>,
    /// Whether its template has scheduling gates, so that a new pod waits until they are removed.
    pub gated: bool,
    /// How a StatefulSet numbers and creates its pods; `None` for other kinds.
    pub numbering: Option<Box<Numbering>>,
    /// The conditions that end a Job; `None` for other kinds.
    pub job: Option<Box<JobFacts>>,
}

/// Why a controller cannot create pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreationFailure {
    /// A ResourceQuota is exceeded.
    Quota,
    /// Anything else, such as a webhook.
    Other,
}

/// How a StatefulSet numbers and creates its pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbering {
    /// The first ordinal: `ordinals.start`.
    pub first: u32,
    /// Whether a pod is created only while those of lower ordinals are available
    /// (`podManagementPolicy: OrderedReady`).
    pub ordered: bool,
    /// The time for which a pod must be Ready to be available: `minReadySeconds`.
    pub min_ready: SignedDuration,
    /// The newest revision of its template; `None` in files that do not say it.
    pub newest: Option<Revision>,
}

/// The newest revision of a StatefulSet's template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Its name, which the pods have as the label `controller-revision-hash`.
    pub name: String,
    /// The first ordinal whose pod is created by it. The `partition` of a RollingUpdate keeps the
    /// pods below at the revision before.
    pub from: u32,
}

/// The facts that decide whether a Job survives the loss of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFacts {
    /// The pods that may fail before the Job fails: `backoffLimit`, or its default.
    pub backoff_limit: u32,
    /// The same for each index: `backoffLimitPerIndex`.
    pub backoff_limit_per_index: Option<u32>,
    /// The pods that have failed: `status.failed` and `status.uncountedTerminatedPods.failed`.
    pub failed: u32,
    /// Whether a pod that is being deleted counts as failed only once it has ended
    /// (`podReplacementPolicy: Failed`, which a `podFailurePolicy` implies).
    pub counts_late: bool,
    /// The effect of an evicted pod by its `podFailurePolicy`.
    pub when_evicted: WhenEvicted,
    /// The time at which the Job fails: `activeDeadlineSeconds` after its start.
    pub deadline: Option<Timestamp>,
    /// Another controller manages it (`managedBy`), whose rules are unknown.
    pub foreign: bool,
}

/// The effect of an evicted pod on its Job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenEvicted {
    /// The pod counts as failed.
    #[default]
    Counts,
    /// The pod is replaced and does not count.
    Ignored,
    /// The Job fails.
    FailsJob,
    /// The index of the pod fails.
    FailsIndex,
}
