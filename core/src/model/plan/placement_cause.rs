//! Reasons why the scheduler would put a replacement on an unwanted node.

use crate::policy::ScorePlugin;

/// The reason why the scheduler prefers, or may choose, a node for a replacement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementCause {
    /// Another node has the same score, and the scheduler chooses among ties at random.
    #[error("the scheduler scores the free nodes no higher")]
    Tie,
    /// No other node can run the pod.
    #[error("no other node can run it")]
    OnlyNode,
    /// Another node has a higher score, but the scheduler scores only some of many nodes.
    #[error("the scheduler does not score every node, and may pass over those that it prefers")]
    Sampled,
    /// Another node has a higher score as long as the pod terminates, but not once it has ended.
    #[error("once the pod has ended, the scheduler scores the free nodes no higher")]
    Ended,
    /// The scores of the pod's scheduler are unknown, so any feasible node may win.
    #[error("it has its own scheduler, whose preferences are unknown")]
    Unscored,
    /// This plugin scores the node higher.
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
