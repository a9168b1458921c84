//! The annotations of a pod that affect decisions.

use jiff::SignedDuration;

/// The annotations of a pod that affect decisions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one independent annotation of the object"
)]
pub struct Annotations {
    /// `kubernetes.io/config.mirror`: the pod mirrors a static pod.
    pub mirror: bool,
    /// `kubernetes.io/config.source` other than `api`: the pod does not come from the API server.
    pub static_pod: bool,
    /// The value of `descheduler.alpha.kubernetes.io/evict`.
    pub evict: Option<String>,
    /// `descheduler.alpha.kubernetes.io/prefer-no-eviction` with any value except `false`.
    pub prefer_no_eviction: bool,
    /// `controller.kubernetes.io/pod-deletion-cost`: pods with a lower cost leave first; 0 if
    /// missing.
    pub deletion_cost: i32,
    /// `cluster-autoscaler.kubernetes.io/safe-to-evict` with a value that protects the pod; `None`
    /// for `true` and unknown values.
    pub not_safe_to_evict: Option<NotSafeToEvict>,
    /// `karpenter.sh/do-not-disrupt`; `None` if the value is neither `true` nor a duration. See
    ///
    /// <https://karpenter.sh/docs/concepts/disruption/#pod-level-controls>.
    pub do_not_disrupt: Option<DoNotDisrupt>,
    /// `descheduler.alpha.kubernetes.io/eviction-in-progress`: another component is evicting the
    /// pod, for example by migrating its virtual machine.
    pub eviction_in_progress: bool,
    /// `descheduler.alpha.kubernetes.io/request-evict-only`: another component answers an eviction
    /// request and evicts the pod later.
    pub request_evict_only: bool,
    /// `batch.kubernetes.io/job-index-failure-count`: how often the pod's index of an Indexed Job
    /// has failed; `None` if it is missing or no number.
    pub index_failures: Option<u32>,
    /// `evenkeel.io/evict-single-replica: "true"`: the pod may be evicted although its workload has
    /// too few replicas.
    pub evict_single_replica: bool,
}

impl Annotations {
    /// Returns true if the owner of the pod asks for its eviction, regardless of protections.
    pub fn asks_for_eviction(&self) -> bool {
        self.evict.is_some() && !self.forbids_eviction()
    }

    /// Returns true if the owner of the pod forbids its eviction.
    pub fn forbids_eviction(&self) -> bool {
        let forbids = |value: &String| ["false", "no", "0"].contains(&&*value.to_ascii_lowercase());
        self.evict.as_ref().is_some_and(forbids)
    }
}

crate::names! {
    /// How long cluster-autoscaler must not evict a pod to remove its node.
    ///
    /// See "What types of pods can prevent CA from removing a node?" in
    /// <https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md>, and
    /// `simulator/drainability/rules/oncompletion` there.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum NotSafeToEvict {
        /// As long as it runs. It also keeps the node.
        Always = "false",
        /// Until it has ended, which cluster-autoscaler waits for (since 1.36).
        UntilCompletion = "on-completion",
    }
    /// The value of the annotation.
    pub fn value;
}

impl NotSafeToEvict {
    /// The meaning of a value; `None` for `true` and unknown values.
    pub fn of_value(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.value() == value)
    }
}

/// How long a pod with the annotation `karpenter.sh/do-not-disrupt` must not be disrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoNotDisrupt {
    /// As long as it runs: the value `true`.
    Always,
    /// For this time after its start: a duration such as `5m`, since Karpenter 1.12.
    AfterStart(SignedDuration),
}
