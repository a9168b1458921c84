//! Limits of the moment, which do not hold for long.

use jiff::SignedDuration;

use crate::model::plan::remedy::{at_least_a_second, wait};
use crate::values::text::duration;

use super::Reach;
use super::protected::DO_NOT_DISRUPT;

/// A limit of the moment. The pod can probably move in a later cycle.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum Temporary {
    #[error("it is already terminating")]
    Terminating,
    #[error("its eviction is under way")]
    UnderWay,
    /// The annotation `karpenter.sh/do-not-disrupt` protects the pod for this long.
    #[error("its annotation karpenter.sh/do-not-disrupt protects it for another {}", duration(*.0))]
    DoNotDisrupt(SignedDuration),
    #[error("it is {} old, and the minimum age is {}", duration(*.age), duration(*.least))]
    Young {
        age: SignedDuration,
        /// The minimum age.
        least: SignedDuration,
    },
    #[error("the windows of the policy forbid evictions for another {}", duration(*.0))]
    OutsideWindow(SignedDuration),
    #[error("a person has to approve its eviction")]
    NeedsApproval {
        /// Whether a person was asked about this pod; otherwise the automatic evictions of the
        /// cycle are used up.
        asked: bool,
    },
    #[error("the limit of {0} evictions per cycle is reached")]
    CycleLimit(u32),
    #[error("the limit of {0} evictions per node is reached")]
    NodeLimit(u32),
    #[error("the limit of {0} evictions per namespace is reached")]
    NamespaceLimit(u32),
    #[error("the limit of {0} evictions per minute is reached")]
    RateLimit(u32),
    #[error(
        "{away} {} not Ready, being replaced or moved by this plan in its workload, and the limit is {most}",
        if *.away == 1 { "pod is" } else { "pods are" }
    )]
    WorkloadLimit {
        /// Pods that are missing, not Ready or being replaced.
        away: u32,
        /// Those of them that are being replaced because of an eviction.
        leaving: u32,
        /// The limit.
        most: u32,
    },
    #[error(
        "the first eviction of its workload is a trial; the next waits until the replacement has been Ready for {}",
        duration(*.watch)
    )]
    Trial {
        /// How long the replacement has to be Ready.
        watch: SignedDuration,
        /// How long it may take until the result is known.
        within: SignedDuration,
    },
}

impl Temporary {
    /// Returns true if the pod can move soon. It is not known how long pods stay away that were not
    /// evicted.
    pub(super) const fn ends_soon(&self) -> bool {
        if let Temporary::WorkloadLimit { away, leaving, most } = self {
            away.saturating_sub(*leaving) < *most
        } else {
            true
        }
    }

    pub(super) fn code_and_remedy(&self) -> (&'static str, String) {
        match self {
            Temporary::Terminating => ("terminating", "nothing: it is leaving".into()),
            Temporary::UnderWay => ("under-way", UNDER_WAY.into()),
            Temporary::DoNotDisrupt(left) => ("do-not-disrupt", wait(*left, DO_NOT_DISRUPT)),
            Temporary::Young { age, least } => {
                let left = at_least_a_second(*least, *age);
                ("too-young", wait(left, "lower `evictable.minPodAge`"))
            }
            Temporary::OutsideWindow(left) => ("outside-window", wait(*left, "change `windows`")),
            Temporary::NeedsApproval { .. } => ("needs-approval", APPROVE.into()),
            Temporary::CycleLimit(most) => ("cycle-limit", next_cycle("`limits.perCycle`", *most)),
            Temporary::NodeLimit(most) => ("node-limit", next_cycle(NODE_LIMITS, *most)),
            Temporary::NamespaceLimit(most) => {
                ("namespace-limit", next_cycle("`limits.perNamespace`", *most))
            }
            Temporary::RateLimit(most) => {
                ("rate-limit", wait_or_raise("wait a minute", "`limits.perMinute`", *most))
            }
            Temporary::WorkloadLimit { most, .. } => {
                ("workload-limit", wait_or_raise(OTHERS_READY, "`limits.perWorkload`", *most))
            }
            Temporary::Trial { .. } => ("trial", TRIAL.into()),
        }
    }

    /// The scope, and the time after which the limit no longer holds, if that is known.
    pub(super) fn reach_and_wait(&self) -> (Reach, Option<SignedDuration>) {
        match self {
            Temporary::Young { age, least } => (Reach::Pod, Some(*least - *age)),
            Temporary::DoNotDisrupt(left)
            | Temporary::OutsideWindow(left)
            | Temporary::Trial { within: left, .. } => (Reach::Pod, Some(*left)),
            Temporary::NeedsApproval { asked: false }
            | Temporary::CycleLimit(_)
            | Temporary::RateLimit(_) => (Reach::Cycle, None),
            Temporary::NodeLimit(_) => (Reach::Node, None),
            Temporary::NeedsApproval { asked: true }
            | Temporary::Terminating
            | Temporary::UnderWay
            | Temporary::NamespaceLimit(_)
            | Temporary::WorkloadLimit { .. } => (Reach::Pod, None),
        }
    }
}

const UNDER_WAY: &str = "wait for the component that evicts it, such as KubeVirt";
const APPROVE: &str = "approve it (`evenkeel approve`), or raise `approval.automatic`";
const TRIAL: &str = "wait for the result of the trial, or change `ramp`";
const NODE_LIMITS: &str = "`limits.perNode` (or the strategy's `evictionLimits`)";

const OTHERS_READY: &str = "wait until the other pods are Ready";

fn next_cycle(field: &str, most: u32) -> String {
    wait_or_raise("wait for the next cycle", field, most)
}

/// A limit of 0 never passes.
fn wait_or_raise(wait: &str, field: &str, most: u32) -> String {
    match most {
        0 => format!("set {field} above 0"),
        _ => format!("{wait}, or set {field} above {most}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_zero_does_not_pass_by_itself() {
        let remedy = |limit: Temporary| limit.code_and_remedy().1;
        assert_eq!(remedy(Temporary::CycleLimit(0)), "set `limits.perCycle` above 0");
        assert_eq!(remedy(Temporary::RateLimit(0)), "set `limits.perMinute` above 0");
        assert_eq!(
            remedy(Temporary::CycleLimit(3)),
            "wait for the next cycle, or set `limits.perCycle` above 3"
        );
    }
}
