//! Why the scheduler would put a replacement where it is not wanted, in words.

use std::fmt;

use crate::policy::ScorePlugin;

/// What draws a replacement to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacementCause {
    /// Some other node would do as well, and the scheduler draws lots.
    Lot,
    /// Its scheduler is not one whose scores are known, so that any node that can take it may win.
    Unscored,
    /// What this plugin makes of it.
    Score(ScorePlugin),
}

impl fmt::Display for PlacementCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PlacementCause::Lot => "to the scheduler the free nodes are no better",
            PlacementCause::Unscored => {
                "it has a scheduler of its own, and what that prefers is not known"
            }
            PlacementCause::Score(plugin) => score(*plugin),
        })
    }
}

const fn score(plugin: ScorePlugin) -> &'static str {
    match plugin {
        ScorePlugin::NodeResourcesFit => {
            "by what pods request, which is all that the scheduler sees, the free nodes are no better"
        }
        ScorePlugin::NodeResourcesBalancedAllocation => {
            "to the scheduler its requests of cpu and memory are more even there"
        }
        ScorePlugin::ImageLocality => {
            "its images are there already, which outweighs the free nodes"
        }
        ScorePlugin::TaintToleration => "the free nodes have taints PreferNoSchedule",
        ScorePlugin::NodeAffinity => "its preferred node affinity outweighs the free nodes",
        ScorePlugin::InterPodAffinity => "its preferred pod affinity outweighs the free nodes",
        ScorePlugin::PodTopologySpread => {
            "its spread over nodes and zones outweighs the free nodes"
        }
    }
}
