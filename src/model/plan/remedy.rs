//! What would have to change: for each reason why nothing is done, the way out of it.

use jiff::SignedDuration;

use crate::model::usage::Unmeasured;
use crate::policy::{Basis, ScorePlugin};

use super::refusal::short;
use super::{Class, Halt, Idle, PlacementCause, Refusal, SteerReason};

impl Refusal {
    /// What would have to change for the pod to go: a clause for people, with the values at hand.
    #[expect(
        clippy::too_many_lines,
        reason = "one clause for each refusal, in one place"
    )]
    pub fn remedy(&self) -> String {
        match self {
            Refusal::Mirror | Refusal::Static => "move its manifest on the node; no policy lets it go".to_owned(),
            Refusal::Terminating => "nothing: it is going".to_owned(),
            Refusal::DaemonSet => "`evictable.allow: [daemonSets]`; seldom of use".to_owned(),
            Refusal::SystemCritical => "`evictable.allow: [systemCritical]`, or a lower priority".to_owned(),
            Refusal::Priority { priority, .. } => {
                format!("an `evictable.priorityBelow` above {priority}, or a lower priority")
            }
            Refusal::UnknownPriorityClass(name) => {
                format!("create the PriorityClass {name}, or mend `evictable.priorityBelow`")
            }
            Refusal::Bare => "give it a controller; failed bare pods: `evictable.allow: [failedBare]`".to_owned(),
            Refusal::LocalStorage => "`evictable.allow: [localStorage]`, or no emptyDir and hostPath".to_owned(),
            Refusal::PersistentVolume(_) => {
                "take `persistentVolumes` out of `evictable.protect`, or name classes in `protectedStorageClasses`"
                    .to_owned()
            }
            Refusal::ResourceClaims => "take `resourceClaims` out of `evictable.protect`".to_owned(),
            Refusal::NoBudget => {
                "give it a PodDisruptionBudget, or take `withoutBudget` out of `evictable.protect`".to_owned()
            }
            Refusal::PrefersToStay => "remove the annotation, or `evictable.allow: [preferNoEviction]`".to_owned(),
            Refusal::Namespace(name) => format!(
                "let {name} in by `evictable.namespaces`, `evictable.namespaceSelector` or the strategy's own namespaces"
            ),
            Refusal::PodSelector => "another `evictable.podSelector`, or other labels of the pod".to_owned(),
            Refusal::Young { age, least } => {
                format!("wait {}, or a shorter `evictable.minPodAge`", short(at_least_a_second(*least, *age)))
            }
            Refusal::TooFewReplicas { have, .. } => {
                format!("more replicas, or `evictable.minReplicas: {have}`")
            }
            Refusal::LastReady { planned: 0, .. } => {
                "wait until other replicas are Ready, or a lower `evictable.minReplicas`".to_owned()
            }
            Refusal::LastReady { .. } => {
                "wait until the replacements of the others are Ready, or a lower `evictable.minReplicas`".to_owned()
            }
            Refusal::Unmeasured(why) => unmeasured(*why),
            Refusal::Doubtful(_) => "mend the object that cannot be read".to_owned(),
            Refusal::CycleLimit(most) => format!("wait for the next cycle, or a `limits.perCycle` above {most}"),
            Refusal::NodeLimit(most) => format!(
                "wait for the next cycle, or a `limits.perNode` (or the strategy's `evictionLimits`) above {most}"
            ),
            Refusal::NamespaceLimit(most) => {
                format!("wait for the next cycle, or a `limits.perNamespace` above {most}")
            }
            Refusal::RateLimit(most) => format!("wait a minute, or a `limits.perMinute` above {most}"),
            Refusal::WorkloadLimit { most, .. } => {
                format!("wait until its replacements are Ready, or a `limits.perWorkload` above {most}")
            }
            Refusal::Budget { name, planned: 0 } => {
                format!("more healthy replicas, or a PodDisruptionBudget {name} that allows more")
            }
            Refusal::Budget { name, .. } => {
                format!("wait until the planned ones are replaced, or a PodDisruptionBudget {name} that allows more")
            }
            Refusal::SeveralBudgets(_) => "let one PodDisruptionBudget alone cover the pod".to_owned(),
            Refusal::StaleBudget(_) => "wait for the disruption controller".to_owned(),
            Refusal::Resting(left) => format!("wait {}, or a shorter `cooldown.rest`", short(*left)),
            Refusal::Useless { left, .. } => {
                format!("wait {}; better, mend what draws the pod back, such as a preferred affinity", short(*left))
            }
            Refusal::LedgerFull(_) => "wait until entries are forgotten, or a shorter `cooldown.rest`".to_owned(),
            Refusal::NoRoom(_) => "room on another node that may take it, by requests and by usage".to_owned(),
            Refusal::WouldReturn { node, pull, .. } => home(node, pull),
            Refusal::WouldBeHot { basis: Basis::Actual, .. } => {
                "requests nearer to what pods use, so that the scheduler sees it; more room; or `forecast.tolerance`"
                    .to_owned()
            }
            Refusal::WouldBeHot { node, .. } => {
                format!("what draws it to {node}; more room by requests; or `forecast.tolerance`")
            }
            Refusal::WouldBeUnknown(node) => {
                format!("the source must tell of {node} (see `usage` in the policy), or what draws it there")
            }
            Refusal::WouldNotHelp(node) => {
                format!("what draws it to {node} rather than to a node where it would help; or `forecast.tolerance`")
            }
            Refusal::WouldBeExcluded(node) => format!("`evictable.destinations`, or what draws it to {node}"),
            Refusal::Unremovable(_) => "the annotations of cluster-autoscaler on the node and its pods".to_owned(),
            Refusal::NotAlone(pod) => {
                format!("whatever keeps {pod}: a node is emptied as a whole or not at all (`explain` it)")
            }
        }
    }
}

/// What would keep a replacement from coming home.
fn home(node: &str, pull: &PlacementCause) -> String {
    let mend = match pull {
        PlacementCause::Lot
        | PlacementCause::Score(
            ScorePlugin::NodeResourcesFit | ScorePlugin::NodeResourcesBalancedAllocation,
        ) => "requests nearer to what pods use, so that the scheduler sees which node is full"
            .to_owned(),
        PlacementCause::Unscored => format!(
            "its scheduler's profile, by `--scheduler-config`, or a filter that closes {node}"
        ),
        PlacementCause::Score(ScorePlugin::ImageLocality) => {
            "its images on the other nodes".to_owned()
        }
        PlacementCause::Score(ScorePlugin::TaintToleration) => {
            "the soft taints of the free nodes, or a toleration of them".to_owned()
        }
        PlacementCause::Score(ScorePlugin::NodeAffinity) => {
            format!("a preferred node affinity that does not favour {node}")
        }
        PlacementCause::Score(ScorePlugin::InterPodAffinity) => {
            format!("a preferred pod affinity that does not favour {node}")
        }
        PlacementCause::Score(ScorePlugin::PodTopologySpread) => {
            format!("a soft topology spread that does not favour {node}")
        }
    };
    match pull {
        PlacementCause::Unscored => mend,
        PlacementCause::Lot | PlacementCause::Score(_) => {
            format!("{mend}; or `steering`, by which hot nodes draw less")
        }
    }
}

/// What would have to change for usage to be known.
fn unmeasured(why: Unmeasured) -> String {
    match why {
        Unmeasured::Missing => "the source must tell of it; see `usage` in the policy".to_owned(),
        Unmeasured::Stale(_) => {
            "the source must be fresh again, or a longer `usage.staleAfter`".to_owned()
        }
        Unmeasured::Future(_) => "the clocks must agree".to_owned(),
        Unmeasured::Few { have, need } => {
            format!(
                "wait for {} more of them, or a lower `usage.minSamples`",
                need.saturating_sub(have)
            )
        }
    }
}

/// What is left of a time, in whole seconds, for as long as any is left.
fn at_least_a_second(whole: SignedDuration, gone: SignedDuration) -> SignedDuration {
    whole.saturating_sub(gone).max(SignedDuration::from_secs(1))
}

impl Class {
    /// What would have to change for the node to take part, or to take pods; `None` where nothing keeps it from that.
    pub fn remedy(&self) -> Option<String> {
        Some(match self {
            Class::Warming {
                since,
                sustained_for,
                ..
            } => {
                let left = short(at_least_a_second(*sustained_for, *since));
                format!("wait {left}, or a shorter `sustainedFor`")
            }
            Class::ColdCordoned | Class::InUseCordoned => "uncordon it".to_owned(),
            Class::Leaving => "nothing: cluster-autoscaler has marked it".to_owned(),
            Class::Unknown(why) => unmeasured(*why),
            Class::Doubtful(_) => "mend the object that cannot be read".to_owned(),
            Class::NotReady => "its kubelet has to be Ready again".to_owned(),
            Class::NotSelected => {
                "the policy's `nodeSelector`, or that of the strategy's pools".to_owned()
            }
            Class::Hot { .. } | Class::Cold | Class::Even | Class::Underused | Class::InUse => {
                return None;
            }
        })
    }
}

impl Idle {
    /// What would have to change for the strategy to do something.
    pub fn remedy(&self) -> String {
        match self {
            Idle::NothingHot => {
                "nothing: no node needs relief by its `targetThresholds`".to_owned()
            }
            Idle::NotForLong(_) => "wait, or a shorter `sustainedFor`".to_owned(),
            Idle::NothingCold(_) => {
                "a node below its thresholds: more nodes, or higher `thresholds`".to_owned()
            }
            Idle::AllCold => "nothing: no node needs relief; fewer nodes would do".to_owned(),
            Idle::FewCold { cold, .. } => {
                format!("more nodes below their thresholds, or a `numberOfNodes` below {cold}")
            }
            Idle::NothingUnderused => "nothing, or higher `thresholds`".to_owned(),
            Idle::NoDestination => {
                "a node above its thresholds that takes pods, or lower `thresholds`".to_owned()
            }
            Idle::Unmeasurable(resource) => {
                format!("no threshold for {resource}, or `basis: requests`")
            }
        }
    }
}

impl Halt {
    /// What would have to change for anything to be considered.
    pub fn remedy(&self) -> String {
        match self {
            Halt::FewNodes(_) => "more nodes that are Ready, or a wider `nodeSelector`".to_owned(),
            Halt::NotReady { .. } => {
                "more nodes that are Ready, or a higher `safety.maxNotReady`".to_owned()
            }
            Halt::Pending { .. } => {
                "room for the pods that wait, or a higher `safety.maxPending`".to_owned()
            }
        }
    }
}

impl SteerReason {
    /// What would have to change for the node to be steered around, or to be so no more; `None` where nothing is amiss.
    pub fn remedy(&self) -> Option<String> {
        match self {
            SteerReason::Enough(most) => Some(format!("a `steering.maxNodes` above {most}")),
            SteerReason::NotAsked => Some("`steering` in the policy".to_owned()),
            SteerReason::Cooling { resource, cool, .. } => {
                Some(format!("{resource} at or below {cool}"))
            }
            SteerReason::Unsure(_) => Some(
                "what keeps its usage from being known, or the cluster from being well".to_owned(),
            ),
            SteerReason::Hot { .. }
            | SteerReason::Unlanded
            | SteerReason::Emptying
            | SteerReason::Empty
            | SteerReason::Cooled
            | SteerReason::NotEmptied
            | SteerReason::Ending => None,
        }
    }
}
