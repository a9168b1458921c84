//! Reasons why nodes cannot take a pod, or would not keep it.

use std::collections::BTreeMap;
use std::fmt;

use jiff::SignedDuration;

use crate::model::snapshot::facts::{NodeClosure, NodeFeature, Taint};
use crate::values::text::{are, duration};

/// The reason why a node cannot take a pod, after "is".
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum Misfit {
    #[error("not ready")]
    NotReady,
    #[error("{0}")]
    Closed(NodeClosure),
    #[error("tainted")]
    Taint,
    #[error("not matching its node selector")]
    NodeSelector,
    #[error("not matching the node affinity that its scheduler adds")]
    AddedNodeAffinity,
    #[error("not matching its node affinity")]
    NodeAffinity,
    #[error("already using one of its host ports")]
    Port,
    #[error("short of {0} by requests")]
    Full(String),
    #[error("blocked by another pod that uses its volume claim")]
    Claim,
    #[error("at the limit of volumes of {0}")]
    AttachLimit(String),
    #[error("unable to reach its volumes")]
    Volume,
    #[error("excluded by its topology spread constraints")]
    Spread,
    #[error("excluded by the default topology spread constraints of its scheduler")]
    DefaultSpread,
    #[error("without a pod that it must run near")]
    PodAffinity,
    #[error("occupied by a pod that it avoids")]
    PodAntiAffinity,
    #[error("occupied by a pod that avoids it")]
    AntiAffinityOfOthers,
    #[error("closed because it has scheduling gates")]
    Gated,
    /// The policy's selector for destinations excludes the node. Only the exact mode counts such
    /// nodes as unable to take a pod.
    #[error("excluded as destination by the policy")]
    Excluded,
}

impl Misfit {
    /// Returns the change that would let such a node take the pod.
    fn remedy(&self) -> String {
        let fixed = match self {
            Misfit::Full(resource) => {
                return format!(
                    "make room on another node that may run it, by {resource} requests"
                );
            }
            Misfit::AttachLimit(driver) => {
                return format!("provide a node to which {driver} can attach more volumes");
            }
            Misfit::NotReady => "wait until another node is Ready",
            Misfit::Closed(NodeClosure::Cordoned) => "uncordon another node",
            Misfit::Closed(_) => "remove what causes the condition of another node",
            Misfit::Taint => "add a toleration, or remove a taint of another node",
            Misfit::NodeSelector => "let its node selector match another node",
            Misfit::NodeAffinity => "let its node affinity match another node",
            Misfit::AddedNodeAffinity => {
                "change `addedAffinity` in the configuration of the scheduler"
            }
            Misfit::Port => "remove its host port, or free that port on another node",
            Misfit::Claim => "give it a new claim with another access mode than ReadWriteOncePod",
            Misfit::Volume => {
                "nothing, unless its data moves: a volume pins it to the nodes that can reach it"
            }
            Misfit::Spread => "relax its topology spread constraints, or add a node",
            Misfit::DefaultSpread => {
                "give it its own topology spread constraints, or change those of the scheduler"
            }
            Misfit::PodAffinity => "run a pod that it must run near on another node",
            Misfit::PodAntiAffinity => "provide a node without the pods that it avoids",
            Misfit::AntiAffinityOfOthers => "provide a node without the pods that avoid it",
            Misfit::Gated => "remove its scheduling gates",
            Misfit::Excluded => "change `evictable.destinations`",
        };
        fixed.to_owned()
    }
}

/// The number of nodes for each reason why they cannot take a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MisfitCounts(BTreeMap<Misfit, usize>);

impl MisfitCounts {
    /// The reasons, the most frequent first.
    fn by_frequency(&self) -> Vec<(&Misfit, usize)> {
        let mut reasons: Vec<_> = self.0.iter().map(|(why, count)| (why, *count)).collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        reasons
    }

    /// Returns the counts with one more node that has this reason.
    #[must_use]
    pub fn with(&self, why: Misfit) -> Self {
        let mut counts = self.0.clone();
        *counts.entry(why).or_default() += 1;
        MisfitCounts(counts)
    }

    /// Returns the counts with one node less that has this reason.
    #[must_use]
    pub fn without(mut self, why: &Misfit) -> Self {
        if let Some(count) = self.0.get_mut(why) {
            *count = count.saturating_sub(1);
        }
        self.0.retain(|_, count| *count > 0);
        self
    }

    /// Returns the changes that would let the nodes with the two most frequent reasons take the
    /// pod.
    pub fn remedy(&self) -> String {
        let reasons = self.by_frequency();
        let remedies: Vec<String> = reasons.iter().take(2).map(|(why, _)| why.remedy()).collect();
        if remedies.is_empty() {
            return "add another node that may run it".to_owned();
        }
        remedies.join("; or ")
    }
}

impl FromIterator<Misfit> for MisfitCounts {
    fn from_iter<I: IntoIterator<Item = Misfit>>(reasons: I) -> Self {
        let mut counts = BTreeMap::new();
        for why in reasons {
            *counts.entry(why).or_default() += 1;
        }
        MisfitCounts(counts)
    }
}

impl fmt::Display for MisfitCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("there is no other");
        }
        for (i, (why, count)) in self.by_frequency().into_iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{count} {} {why}", are(count))?;
        }
        Ok(())
    }
}

/// A NoExecute taint that a pod tolerates for a limited time only.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its taint {taint} would remove it after {}", duration(*.after))]
pub struct Removal {
    /// The taint.
    pub taint: Taint,
    /// The time from the landing until the removal.
    pub after: SignedDuration,
}

/// Why the kubelet of a node would not run a pod that kube-scheduler puts there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum KubeletRefusal {
    #[error("it needs {needs}, and the node runs {}", .runs.as_deref().unwrap_or(UNKNOWN_SYSTEM))]
    OtherSystem {
        /// The operating system that the pod needs.
        needs: String,
        /// The operating system of the node; `None` if it is unknown.
        runs: Option<String>,
    },
    #[error("it needs {0}, which the node does not report")]
    LacksFeature(NodeFeature),
    #[error("its pull policy is Never, and the node does not list its image {0}")]
    LacksImage(String),
    #[error("its kubelet refused another pod of the workload within the last hour, with {0}")]
    RefusedAnother(String),
}

const UNKNOWN_SYSTEM: &str = "an unknown operating system";
