//! Reasons why the scheduler would put a replacement on an unwanted node.

use crate::policy::ScorePlugin;

/// The reason why the scheduler prefers, or may choose, a node for a replacement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementCause {
    /// Another node has the same score, and the scheduler chooses among ties at random.
    #[error("the scheduler scores the free nodes no higher")]
    Tie,
    /// The scores of the pod's scheduler are unknown, so any feasible node may win.
    #[error("it has its own scheduler, whose preferences are unknown")]
    Unscored,
    /// This plugin scores the node higher.
    #[error("{}", score(*.0))]
    Score(ScorePlugin),
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
        ScorePlugin::InterPodAffinity => "its preferred pod affinity outweighs the free nodes",
        ScorePlugin::PodTopologySpread => "its topology spread constraints outweigh the free nodes",
    }
}
