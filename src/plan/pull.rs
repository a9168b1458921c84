//! Why the scheduler would put a replacement where it is not wanted, in words.

use std::fmt;

/// What draws a replacement to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pull {
    /// No other node can take it; why not, counted.
    Alone(String),
    /// Some other node would do as well, and the scheduler draws lots.
    Lot,
    /// Its scheduler is not one whose scores are known, so that any node that can take it may win.
    Unscored,
    /// By what pods request it is the best node, whatever they use (NodeResourcesFit).
    Requests,
    /// Its requests would be the most even (NodeResourcesBalancedAllocation).
    Evenness,
    /// Images are there already (ImageLocality).
    Images,
    /// Other nodes have taints PreferNoSchedule (TaintToleration).
    Taints,
    /// Its preferred node affinity (NodeAffinity).
    NodeAffinity,
    /// The pods that it prefers to be near, or away from (InterPodAffinity).
    PodAffinity,
    /// Its spread over nodes and zones (PodTopologySpread).
    Spread,
}

impl fmt::Display for Pull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Pull::Alone(others) => return write!(f, "no other node can take it: {others}"),
            Pull::Lot => "to the scheduler the free nodes are no better",
            Pull::Unscored => "it has a scheduler of its own, of which is not known what it prefers",
            Pull::Requests => {
                "by what pods request, which is all that the scheduler sees, the free nodes are no emptier"
            }
            Pull::Evenness => "to the scheduler its requests of cpu and memory would be more even there",
            Pull::Images => "its images are there already, which outweighs the free nodes",
            Pull::Taints => "the free nodes have taints PreferNoSchedule",
            Pull::NodeAffinity => "its preferred node affinity outweighs the free nodes",
            Pull::PodAffinity => "its preferred pod affinity outweighs the free nodes",
            Pull::Spread => "its spread over nodes and zones outweighs the free nodes",
        })
    }
}
