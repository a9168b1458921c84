//! Remedies: for each reason for doing nothing, the change that would remove it.

use jiff::SignedDuration;

use crate::model::usage::{SampleFlaw, Unmeasured};
use crate::policy::{Basis, ScorePlugin};

use super::duration_text::short;
use super::replacement_cause::{
    JOB_WOULD_FAIL, NEW_VOLUME, READY_REPLACEMENTS, READY_REPLICAS, RESOURCE_CLAIMS,
    RUNS_TO_COMPLETION, UNKNOWN_OWNER, make_ready, missing_class, record_class,
};
use super::{BrokenPreference, Class, Idle, NoGain, PlacementCause, Refusal};

impl Refusal {
    /// Returns the change that would let the pod move: a clause for people that names the actual
    /// values.
    #[expect(clippy::too_many_lines, reason = "one arm for each refusal")]
    pub fn remedy(&self) -> String {
        let fixed = match self {
            Refusal::Priority { priority, .. } => return priority_below(*priority),
            Refusal::UnknownPriorityClass(name) => return create_class(name),
            Refusal::Namespace(name) => return allow_namespace(name),
            Refusal::Young { age, least } => {
                return wait(
                    at_least_a_second(*least, *age),
                    "lower `evictable.minPodAge`",
                );
            }
            Refusal::TooFewReplicas { have, .. } => return replicas(*have),
            Refusal::Unmeasured(why) => return unmeasured(why),
            Refusal::MissingPriorityClass(name) => return missing_class(name),
            Refusal::UnknownPriority(name) => return record_class(name),
            Refusal::WaitsInOrder(pod) => return make_ready(pod),
            Refusal::OutsideWindow(left) => return wait(*left, "change `windows`"),
            Refusal::CycleLimit(most) => return next_cycle("`limits.perCycle`", *most),
            Refusal::NodeLimit(most) => return next_cycle(NODE_LIMITS, *most),
            Refusal::NamespaceLimit(most) => return next_cycle("`limits.perNamespace`", *most),
            Refusal::RateLimit(most) => return next_minute(*most),
            Refusal::WorkloadLimit { most, .. } => return workload(*most),
            Refusal::Budget { name, cause } => {
                return cause.remedy(&format!("PodDisruptionBudget {name}"));
            }
            Refusal::Resting(left) => return wait(*left, "lower `cooldown.rest`"),
            Refusal::Ineffective { left, .. } => return ineffective(*left),
            Refusal::GotWorse { left, .. } => return got_worse(*left),
            Refusal::Rejected { left, .. } => return wait(*left, REJECTED),
            Refusal::NoRight(left) => return wait(*left, NO_RIGHT),
            Refusal::WouldReturn { node, cause, .. } => return keep_away(node, cause),
            Refusal::WouldBeHot { node, basis, .. } => return lower_load(node, *basis),
            Refusal::WouldBeUnknown(node) => return measure(node),
            Refusal::WouldNotHelp { node, why } => return elsewhere(node, why),
            Refusal::WouldTrade(_, preference) => return settle_preferences(preference),
            Refusal::WouldBeClosed(node, _) => return until_open(node),
            Refusal::WouldBeRefused(_, other) => return ask_for_system(&other.needs),
            Refusal::WouldBeExcluded(node) => return other_destination(node),
            Refusal::NoRoom(misfits) => return misfits.remedy(),
            Refusal::NotAlone(pod) => return free_other_pod(pod),
            Refusal::Guarded(stop) => return stop.remedy(),
            Refusal::Claim { claim, flaw } => return flaw.remedy(claim),
            Refusal::SharedVolume { claim, .. } => return share_claim(claim),
            Refusal::Unknown(objects) => return objects.remedy(),
            Refusal::DoNotDisrupt(Some(left)) => return wait(*left, DO_NOT_DISRUPT),
            Refusal::DoNotDisrupt(None) => DO_NOT_DISRUPT,
            Refusal::NotSafeToEvict => {
                "remove the annotation, or set `evictable.allow: [notSafeToEvict]`"
            }
            Refusal::Gang(_) => GANG,
            Refusal::NewVolume(_) => NEW_VOLUME,
            Refusal::Mirror | Refusal::Static => MANIFEST,
            Refusal::Terminating => "nothing: it is leaving",
            Refusal::Paused(pause) => pause.remedy(),
            Refusal::NeedsApproval => {
                "approve it (`evenkeel approve`), or raise `approval.automatic`"
            }
            Refusal::NotApproved => "wait for the next cycle",
            Refusal::LandsElsewhere(_) => "approve the next proposal",
            Refusal::Trial(_) => "wait for the result of the trial, or change `ramp`",
            Refusal::NotWorthIt { .. } => {
                "nothing, or let its workload start faster, for example by smaller images"
            }
            Refusal::UnderWay => "wait for the component that evicts it, such as KubeVirt",
            Refusal::DaemonSet => "set `evictable.allow: [daemonSets]`; rarely useful",
            Refusal::SystemCritical => SYSTEM_CRITICAL,
            Refusal::Bare => BARE,
            Refusal::UnknownOwner(_) => UNKNOWN_OWNER,
            Refusal::NoReplacement { .. } => "nothing: it is not wanted any more",
            Refusal::RunsToCompletion(_) => RUNS_TO_COMPLETION,
            Refusal::JobWouldFail { .. } => JOB_WOULD_FAIL,
            Refusal::NamesNode { .. } => "remove `nodeName` from the template",
            Refusal::LocalStorage => LOCAL_STORAGE,
            Refusal::PersistentVolume(_) => PERSISTENT_VOLUME,
            Refusal::ResourceClaims => RESOURCE_CLAIMS,
            Refusal::NoBudget => NO_BUDGET,
            Refusal::PreferNoEviction => PREFER_NO_EVICTION,
            Refusal::EvictFalse => "remove the annotation; no policy overrides it",
            Refusal::PodSelector => "change `evictable.podSelector` or the pod's labels",
            Refusal::LastReady { planned: 0, .. } => READY_REPLICAS,
            Refusal::LastReady { .. } => READY_REPLACEMENTS,
            Refusal::Unreadable(_) => "correct the object that cannot be read",
            Refusal::SeveralBudgets(_) => "let only one PodDisruptionBudget select the pod",
            Refusal::StaleBudget(_) => "wait for the disruption controller",
            Refusal::WorkloadRejected => "wait until one of its pods is evicted",
            Refusal::LedgerFull(_) => "wait until entries expire, or lower `cooldown.rest`",
            Refusal::WouldPreempt { .. } => PREEMPTION,
            Refusal::Unremovable(_) => "remove the annotation from the node or the pod",
        };
        fixed.to_owned()
    }
}

const NODE_LIMITS: &str = "`limits.perNode` (or the strategy's `evictionLimits`)";
const MANIFEST: &str = "move its manifest to another node; no policy allows its eviction";
const SYSTEM_CRITICAL: &str =
    "set `evictable.allow: [systemCritical]`, or give it a lower priority";
const BARE: &str = "give it a controller; for failed pods set `evictable.allow: [failedBare]`";
const LOCAL_STORAGE: &str =
    "set `evictable.allow: [localStorage]`, or remove its emptyDir and hostPath volumes";
const PERSISTENT_VOLUME: &str = "remove `persistentVolumes` from `evictable.protect`, \
                                 or name classes in `protectedStorageClasses`";
const NO_BUDGET: &str =
    "give it a PodDisruptionBudget, or remove `withoutBudget` from `evictable.protect`";
const PREFER_NO_EVICTION: &str =
    "remove the annotation, or set `evictable.allow: [preferNoEviction]`";
const GANG: &str = "set `evictable.allow: [gangs]`; \
                    only where a group continues without one of its pods";
const DO_NOT_DISRUPT: &str = "remove the annotation, or set `evictable.allow: [doNotDisrupt]`";
const REJECTED: &str = "see the message of the API server in the log; most often a webhook refuses \
                        the pod or does not respond";
const NO_RIGHT: &str = "grant `create` on `pods/eviction` (`evenkeel doctor` names missing rights)";
const PREEMPTION: &str =
    "make room on a node that may run it, or set `evictable.allow: [preemption]`";
const CLOSER_REQUESTS: &str = "set requests closer to usage, so that the scheduler sees the load";

fn share_claim(claim: &str) -> String {
    format!("give the pods their own claims, or PersistentVolumeClaim {claim} ReadWriteMany")
}

fn priority_below(priority: i32) -> String {
    format!("set `evictable.priorityBelow` above {priority}, or give it a lower priority")
}

fn create_class(name: &str) -> String {
    format!("create PriorityClass {name}, or correct `evictable.priorityBelow`")
}

fn allow_namespace(name: &str) -> String {
    format!(
        "allow {name} in `evictable.namespaces`, `evictable.namespaceSelector` or the strategy's \
         `namespaces`"
    )
}

fn wait(left: SignedDuration, otherwise: &str) -> String {
    format!("wait {}, or {otherwise}", short(left))
}

fn replicas(have: u32) -> String {
    format!(
        "add replicas; or set `evictable.minReplicas: {have}`, or give the pod the annotation \
         evenkeel.io/evict-single-replica: \"true\""
    )
}

fn next_cycle(field: &str, most: u32) -> String {
    format!("wait for the next cycle, or set {field} above {most}")
}

fn next_minute(most: u32) -> String {
    format!("wait a minute, or set `limits.perMinute` above {most}")
}

fn workload(most: u32) -> String {
    format!("wait until the other pods are Ready, or set `limits.perWorkload` above {most}")
}

fn ineffective(left: SignedDuration) -> String {
    format!(
        "wait {}; better, remove what attracts the pod to its node, such as a preferred affinity",
        short(left)
    )
}

fn got_worse(left: SignedDuration) -> String {
    format!(
        "wait {}; better, find out what the replacement lacks on its node",
        short(left)
    )
}

fn lower_load(node: &str, basis: Basis) -> String {
    let first = match basis {
        Basis::Actual => CLOSER_REQUESTS.to_owned(),
        Basis::Requests => format!("remove what attracts the pod to {node}"),
    };
    format!("{first}; or add capacity; or raise `forecast.tolerance`")
}

fn measure(node: &str) -> String {
    format!(
        "make the usage source report {node} (see `usage` in the policy), or remove what attracts \
         the pod to it"
    )
}

fn elsewhere(node: &str, why: &NoGain) -> String {
    let otherwise = match why {
        NoGain::NoPool | NoGain::OtherPool(_) => "change the `nodeSelector` of the pools",
        NoGain::NotSelected => "widen the `nodeSelector` of the policy",
        NoGain::NotReady => "wait until it is Ready",
        NoGain::Unreadable => "correct the object that cannot be read",
        NoGain::Hot
        | NoGain::Lacks
        | NoGain::NotOpening
        | NoGain::Leaving
        | NoGain::NodeAffinity
        | NoGain::AntiAffinity
        | NoGain::FullShare
        | NoGain::Spread(_) => "raise `forecast.tolerance`",
    };
    format!(
        "remove what attracts the pod to {node} instead of a node where it would help, or \
         {otherwise}"
    )
}

fn other_destination(node: &str) -> String {
    format!("change `evictable.destinations`, or remove what attracts the pod to {node}")
}

fn settle_preferences(preference: &BrokenPreference) -> String {
    format!(
        "make room on a node that suits both preferences, or change one: the other is {preference}"
    )
}

fn until_open(node: &str) -> String {
    format!("wait until {node} takes pods or is gone, or cordon it")
}

fn ask_for_system(needs: &str) -> String {
    format!("give it the node selector kubernetes.io/os: {needs}, which the scheduler honours")
}

fn free_other_pod(pod: &str) -> String {
    format!("remove what keeps {pod} (`explain` it): a node is emptied completely or not at all")
}

/// Returns the change that would keep a replacement from returning to its node.
fn keep_away(node: &str, cause: &PlacementCause) -> String {
    let first = match cause {
        PlacementCause::Unscored => {
            return format!(
                "pass its scheduler's profile by `--scheduler-config`, or let a filter exclude \
                 {node}"
            );
        }
        PlacementCause::OnlyNode => {
            return "provide another node that can run it (`explain` lists what keeps it away)"
                .to_owned();
        }
        PlacementCause::Tie | PlacementCause::Ended => CLOSER_REQUESTS.to_owned(),
        PlacementCause::Sampled => "let the scheduler score more nodes \
                                    (`percentageOfNodesToScore`)"
            .to_owned(),
        PlacementCause::Score(plugin) => weaken(*plugin, node),
        PlacementCause::DefaultSpread => "give it its own topology spread constraints, or change \
                                          the defaults of the scheduler"
            .to_owned(),
        PlacementCause::AddedAffinity => {
            "change `addedAffinity` in the configuration of the scheduler".to_owned()
        }
        PlacementCause::OtherPods => {
            format!("change the affinity of other pods so that it does not favour {node}")
        }
    };
    format!("{first}; or use `steering`, so that the scheduler avoids hot nodes")
}

fn weaken(plugin: ScorePlugin, node: &str) -> String {
    match plugin {
        ScorePlugin::NodeResourcesFit | ScorePlugin::NodeResourcesBalancedAllocation => {
            CLOSER_REQUESTS.to_owned()
        }
        ScorePlugin::ImageLocality => "pull its images on the other nodes".to_owned(),
        ScorePlugin::TaintToleration => {
            "remove the PreferNoSchedule taints of the free nodes, or add a toleration".to_owned()
        }
        ScorePlugin::NodeAffinity => prefer_less("node affinity", node),
        ScorePlugin::InterPodAffinity => prefer_less("pod affinity or anti-affinity", node),
        ScorePlugin::PodTopologySpread => {
            format!("change the soft topology spread constraint so that it does not favour {node}")
        }
    }
}

fn prefer_less(affinity: &str, node: &str) -> String {
    format!("change the preferred {affinity} so that it does not favour {node}")
}

/// Returns the change that would make the usage known.
fn unmeasured(why: &Unmeasured) -> String {
    match why {
        Unmeasured::Missing => {
            "make the usage source report it (see `usage` in the policy)".to_owned()
        }
        Unmeasured::Stale(_) => "wait for a fresh sample, or raise `usage.staleAfter`".to_owned(),
        Unmeasured::Future(_) => "synchronise the clocks".to_owned(),
        Unmeasured::Flawed(flaw) => flaw_remedy(flaw),
        Unmeasured::Few { have, need } => {
            format!(
                "wait for {} more samples, or lower `usage.minSamples`",
                need.saturating_sub(*have)
            )
        }
    }
}

fn flaw_remedy(flaw: &SampleFlaw) -> String {
    match flaw {
        SampleFlaw::Unreadable(_) | SampleFlaw::TooLarge(_) => {
            "correct what the usage source reports (see `usage` in the policy)".to_owned()
        }
        SampleFlaw::Partial(container) => {
            format!("wait until the usage source measures container {container}")
        }
        SampleFlaw::OtherNode(_) => {
            "correct the label that names the node in its series (see `usage.prometheus`)"
                .to_owned()
        }
    }
}

/// Returns the remaining time, at least one second.
fn at_least_a_second(whole: SignedDuration, gone: SignedDuration) -> SignedDuration {
    whole.saturating_sub(gone).max(SignedDuration::from_secs(1))
}

impl Class {
    /// Returns the change that would let the node take part or take pods; `None` if nothing
    /// prevents it.
    pub fn remedy(&self) -> Option<String> {
        Some(match self {
            Class::Warming {
                since,
                sustained_for,
                ..
            } => {
                let left = short(at_least_a_second(*sustained_for, *since));
                format!("wait {left}, or lower `sustainedFor`")
            }
            Class::ColdCordoned | Class::InUseCordoned => "uncordon the node".to_owned(),
            Class::ColdClosed(_) | Class::InUseClosed(_) => {
                "remove what causes the condition of the node".to_owned()
            }
            Class::Deleting => "nothing: it is leaving".to_owned(),
            Class::NoAllocatable(_) => "wait until its kubelet reports allocatable".to_owned(),
            Class::Lacks(_) => "nothing: the strategy weighs nothing that the node has".to_owned(),
            Class::Leaving => "nothing: cluster-autoscaler has marked it".to_owned(),
            Class::Unknown(why) => unmeasured(why),
            Class::Unreadable(_) => "correct the object that cannot be read".to_owned(),
            Class::NotReady => "wait until its kubelet reports Ready".to_owned(),
            Class::NotSelected => {
                "change the `nodeSelector` of the policy or of the strategy's pools".to_owned()
            }
            Class::Hot { .. } | Class::Cold | Class::Even | Class::Underused | Class::InUse => {
                return None;
            }
        })
    }
}

impl Idle {
    /// Returns the change that would let the strategy act.
    pub fn remedy(&self) -> String {
        match self {
            Idle::NothingHot => "nothing: no node is above its `targetThresholds`".to_owned(),
            Idle::NotForLong(_) => "wait, or lower `sustainedFor`".to_owned(),
            Idle::NothingCold(_) => "add nodes, or raise `thresholds`".to_owned(),
            Idle::AllCold => {
                "nothing: no node needs relief, and fewer nodes would suffice".to_owned()
            }
            Idle::FewCold { cold, .. } => {
                format!("add nodes or raise `thresholds`, or set `numberOfNodes` below {cold}")
            }
            Idle::NothingUnderused => "nothing, or raise `thresholds`".to_owned(),
            Idle::NothingToEmpty { .. } => {
                "the refusals of their pods say why the other nodes stay (`plan`, `explain node`); \
                 where they would land on full nodes, set `steering.taintEmptying`"
                    .to_owned()
            }
            Idle::NoDestination => {
                "uncordon a node above its thresholds, or lower `thresholds`".to_owned()
            }
            Idle::Unmeasurable(resource) => {
                format!("remove the threshold for {resource}, or set `basis: requests`")
            }
        }
    }
}
