//! Nodes where the replacement must not land.

use crate::model::plan::{KubeletRefusal, Removal};
use crate::model::snapshot::facts::NodeClosure;
use crate::policy::{Basis, ScorePlugin};
use crate::values::Ratio;

use super::no_gain::{BrokenPreference, NoGain};

/// The reason why the replacement must not land on a node on which it could.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum BadLanding {
    #[error(
        "its replacement {} return to {node}: {cause}",
        if *.chance < Ratio::ONE { "could" } else { "would" }
    )]
    WouldReturn {
        node: String,
        /// The probability.
        chance: Ratio,
        /// The reason why the scheduler prefers the node.
        cause: PlacementCause,
    },
    #[error(
        "its replacement could land on {node}, where {resource} {} would reach {ratio}{}, above the {} of {target}",
        basis.weighed(),
        horizon(*.within_a_day),
        limit_name(*.while_emptying)
    )]
    WouldBeHot {
        node: String,
        /// The resource that would exceed its target.
        resource: String,
        /// The ratio that the resource would reach.
        ratio: Ratio,
        /// The target, or the ceiling.
        target: Ratio,
        /// Whether the limit is a ceiling of HighNodeUtilization.
        while_emptying: bool,
        /// Whether usage or requests would exceed the target.
        basis: Basis,
        /// Whether the node would exceed its target in an hour of the next day, and not at once.
        within_a_day: bool,
    },
    #[error("its replacement could land on {0}, whose usage is unknown")]
    WouldBeUnknown(String),
    #[error("its replacement could land on {node}, {}", why.at(node))]
    WouldNotHelp {
        node: String,
        /// Why the move improves nothing there.
        why: NoGain,
    },
    #[error(
        "its replacement could land on {0}, where the move would break another preference: {1}"
    )]
    WouldTrade(String, BrokenPreference),
    #[error("its replacement could land on {0}, which is left alone: {1}")]
    WouldBeUnreadable(String, String),
    #[error("its replacement could land on {0}, which is {1}")]
    WouldBeClosed(String, NodeClosure),
    #[error("its replacement could land on {0}, which cannot run it: {1}")]
    WouldBeRefused(String, KubeletRefusal),
    /// The scheduler, which does not look for the CSI drivers of volumes, could put the replacement
    /// on a node without this one.
    #[error("its replacement could land on {0}, which lacks the CSI driver {1} of its volume")]
    WouldLackDriver(String, String),
    #[error("its replacement could land on {0}, which it would soon leave: {1}")]
    WouldBeRemoved(String, Removal),
    #[error("its replacement could land on {0}, which the policy excludes as a destination")]
    WouldBeExcluded(String),
    #[error("its replacement could take the place on {node} of that of {pod}, which comes later")]
    WouldDisplace {
        node: String,
        /// The pod whose replacement is created only after it has ended.
        pod: String,
    },
    #[error("{first} could land on {node}, and no node could then take its own replacement")]
    CouldBeDisplaced {
        node: String,
        /// The earlier replacement, or the waiting pod.
        first: String,
    },
    #[error("its replacement would land on {0}, which is none of the nodes that were approved")]
    LandsElsewhere(String),
}

impl BadLanding {
    /// Returns the stable code, and the change that would let the pod move.
    pub fn code_and_remedy(&self) -> (&'static str, String) {
        match self {
            BadLanding::WouldReturn { node, cause, .. } => ("would-return", keep_away(node, cause)),
            BadLanding::WouldBeHot { node, basis, while_emptying, .. } => {
                let more = if *while_emptying { "`highNodeUtilization.ceilings` or " } else { "" };
                ("would-land-hot", lower_load(node, *basis, more))
            }
            BadLanding::WouldBeUnknown(node) => (
                "would-land-unknown",
                format!(
                    "make the usage source report {node} (see `usage` in the policy), or remove what attracts the pod to it"
                ),
            ),
            BadLanding::WouldNotHelp { node, why } => ("would-not-help", elsewhere(node, why)),
            BadLanding::WouldTrade(_, preference) => (
                "would-trade",
                format!(
                    "make room on a node that suits both preferences, or change one: the other is {preference}"
                ),
            ),
            BadLanding::WouldBeUnreadable(..) => {
                ("would-land-doubtful", "correct the object that cannot be read".into())
            }
            BadLanding::WouldBeClosed(node, _) => (
                "would-land-closed",
                format!("wait until {node} takes pods or is gone, or cordon it"),
            ),
            BadLanding::WouldBeRefused(node, why) => ("would-be-refused", avoid(node, why)),
            BadLanding::WouldLackDriver(node, driver) => (
                "would-lack-driver",
                format!("run {driver} on {node}, or keep the pod away from it by a node selector"),
            ),
            BadLanding::WouldBeRemoved(node, by) => (
                "would-be-removed",
                format!(
                    "remove `tolerationSeconds` from its toleration of {0}, or the toleration, or wait until {node} has lost the taint",
                    by.taint.key
                ),
            ),
            BadLanding::WouldDisplace { .. } => once_placed("would-displace"),
            BadLanding::CouldBeDisplaced { .. } => once_placed("could-be-displaced"),
            BadLanding::LandsElsewhere(_) => {
                ("lands-elsewhere", "approve the next proposal".into())
            }
            BadLanding::WouldBeExcluded(node) => (
                "would-land-excluded",
                format!(
                    "change `evictable.destinations`, or remove what attracts the pod to {node}"
                ),
            ),
        }
    }

    pub(super) const fn can_be_steered(&self) -> bool {
        match self {
            BadLanding::WouldReturn { .. }
            | BadLanding::WouldBeHot { .. }
            | BadLanding::WouldNotHelp { .. } => true,
            BadLanding::WouldBeUnknown(_)
            | BadLanding::WouldTrade(..)
            | BadLanding::WouldBeUnreadable(..)
            | BadLanding::WouldBeClosed(..)
            | BadLanding::WouldBeRefused(..)
            | BadLanding::WouldLackDriver(..)
            | BadLanding::WouldBeRemoved(..)
            | BadLanding::WouldBeExcluded(_)
            | BadLanding::WouldDisplace { .. }
            | BadLanding::CouldBeDisplaced { .. }
            | BadLanding::LandsElsewhere(_) => false,
        }
    }
}

const CLOSER_REQUESTS: &str = "set requests closer to usage, so that the scheduler sees the load";

fn once_placed(code: &'static str) -> (&'static str, String) {
    (code, "nothing: it moves once the other pod has a node".to_owned())
}

fn avoid(node: &str, why: &KubeletRefusal) -> String {
    match why {
        KubeletRefusal::OtherSystem { needs, .. } => format!(
            "give it the node selector kubernetes.io/os: {needs}, which the scheduler honours"
        ),
        KubeletRefusal::LacksImage(image) => {
            format!("load {image} on {node}, or keep the pod away from it by a node selector")
        }
        KubeletRefusal::LacksFeature(_) => {
            format!("keep the pod away from {node} by a node selector")
        }
        KubeletRefusal::RefusedAnother(_) => format!(
            "repair {node} by the message of its failed pod, or keep the pod away from it by a node selector"
        ),
    }
}

/// Returns the change that would let the pod land; `limit` are further settings to raise.
fn lower_load(node: &str, basis: Basis, limit: &str) -> String {
    let first = match basis {
        Basis::Actual => CLOSER_REQUESTS.to_owned(),
        Basis::Requests => format!("remove what attracts the pod to {node}"),
    };
    format!("{first}; or add capacity; or raise {limit}`forecast.tolerance`")
}

fn elsewhere(node: &str, why: &NoGain) -> String {
    let otherwise = match why {
        NoGain::NoPool | NoGain::OtherPool(_) => "change the `nodeSelector` of the pools",
        NoGain::NotSelected => "widen the `nodeSelector` of the policy",
        NoGain::Hot
        | NoGain::Lacks
        | NoGain::NotOpening
        | NoGain::Leaving
        | NoGain::NodeAffinity
        | NoGain::AntiAffinity
        | NoGain::Taint
        | NoGain::FullShare
        | NoGain::Spread(_) => "raise `forecast.tolerance`",
    };
    format!(
        "remove what attracts the pod to {node} instead of a node where it would help, or {otherwise}"
    )
}

/// Returns the change that would keep a replacement from returning to its node.
fn keep_away(node: &str, cause: &PlacementCause) -> String {
    let first = match cause {
        PlacementCause::Unscored => {
            return format!(
                "pass its scheduler's profile by `--scheduler-config`, or let a filter exclude {node}"
            );
        }
        PlacementCause::OnlyNode => {
            return "provide another node that can run it (`explain` lists what keeps it away)"
                .to_owned();
        }
        PlacementCause::Tie | PlacementCause::Ended => CLOSER_REQUESTS.to_owned(),
        PlacementCause::Sampled => {
            "let the scheduler score more nodes (`percentageOfNodesToScore`)".to_owned()
        }
        PlacementCause::Score(plugin) => weaken(*plugin, node),
        PlacementCause::DefaultSpread => {
            "give it its own topology spread constraints, or change the defaults of the scheduler"
                .to_owned()
        }
        PlacementCause::AddedAffinity => {
            "change `addedAffinity` in the configuration of the scheduler".to_owned()
        }
        PlacementCause::OtherPods => {
            format!("change the affinity of other pods so that it does not favour {node}")
        }
    };
    format!("{first}; or use `steering`, so that the scheduler avoids its node")
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

/// Returns the words after a ratio that say when it is expected; none for a ratio at once.
pub const fn horizon(within_a_day: bool) -> &'static str {
    if within_a_day { " within a day" } else { "" }
}

/// Returns the name of the limit that a load exceeds.
pub const fn limit_name(while_emptying: bool) -> &'static str {
    if while_emptying { "ceiling" } else { "target" }
}

/// The reason why the scheduler prefers, or may choose, a node for a replacement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum PlacementCause {
    #[error("the scheduler scores the free nodes no higher")]
    Tie,
    #[error("no other node can run it")]
    OnlyNode,
    #[error("the scheduler does not score every node, and may pass over those that it prefers")]
    Sampled,
    #[error("once the pod has ended, the scheduler scores the free nodes no higher")]
    Ended,
    #[error("it has its own scheduler, whose preferences are unknown")]
    Unscored,
    #[error("{}", score(*.0))]
    Score(ScorePlugin),
    /// The topology spread constraints of the scheduler's configuration, because the pod has none.
    #[error("the default topology spread of its scheduler outweighs the free nodes")]
    DefaultSpread,
    /// `NodeAffinityArgs.addedAffinity`, because the pod has no preferred node affinity.
    #[error("the preferred node affinity that its scheduler adds outweighs the free nodes")]
    AddedAffinity,
    /// Affinity and anti-affinity of other pods, because the pod has no preferred one.
    #[error("affinity or anti-affinity of other pods to it outweighs the free nodes")]
    OtherPods,
}

const fn score(plugin: ScorePlugin) -> &'static str {
    match plugin {
        ScorePlugin::NodeResourcesFit => {
            "the free nodes are no better by requests, and the scheduler does not see usage"
        }
        ScorePlugin::NodeResourcesBalancedAllocation => {
            "the scheduler finds cpu and memory requests more balanced there"
        }
        ScorePlugin::ImageLocality => {
            "the node already has its images, which outweighs the free nodes"
        }
        ScorePlugin::TaintToleration => "the free nodes have PreferNoSchedule taints",
        ScorePlugin::NodeAffinity => "its preferred node affinity outweighs the free nodes",
        ScorePlugin::InterPodAffinity => {
            "preferred affinity or anti-affinity between it and other pods outweighs the free nodes"
        }
        ScorePlugin::PodTopologySpread => "its topology spread constraints outweigh the free nodes",
    }
}
