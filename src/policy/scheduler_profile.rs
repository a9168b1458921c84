//! What the cluster's scheduler is told to do: one profile of a `KubeSchedulerConfiguration`, as far as it bears on where
//! a pod lands. The default is the default profile of Kubernetes 1.36.
//!
//! See <https://kubernetes.io/docs/reference/scheduling/config/>.

use std::collections::BTreeSet;
use std::ops::{Index, IndexMut};

use crate::values::selector::NodeTerm;

/// One profile of kube-scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerProfile {
    /// `schedulerName`: the pods that name it are the ones that it places.
    pub name: String,
    /// What each score counts.
    pub weights: Weights,
    /// Filters that are disabled.
    pub filters_off: BTreeSet<FilterPlugin>,
    /// `NodeResourcesFitArgs`.
    pub fit: Fit,
    /// `NodeResourcesBalancedAllocationArgs.resources`: the resources whose shares should be alike.
    pub balanced: Vec<String>,
    /// `PodTopologySpreadArgs`: what spreads pods that have no constraint of their own.
    pub spread: DefaultSpread,
    /// `InterPodAffinityArgs`.
    pub pod_affinity: PodAffinity,
    /// `NodeAffinityArgs.addedAffinity`: what every pod requires and prefers beside its own affinity.
    pub added_affinity: AddedAffinity,
    /// `percentageOfNodesToScore`; `None` and zero leave it to the size of the cluster.
    pub percentage_of_nodes_to_score: Option<u32>,
    /// Something scores nodes that is not of kube-scheduler itself, so that nothing is known of the sum.
    pub unknown_scores: bool,
}

/// A plugin that scores nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScorePlugin {
    /// `TaintToleration`: few taints that only discourage.
    TaintToleration,
    /// `NodeAffinity`: preferred node affinity.
    NodeAffinity,
    /// `NodeResourcesFit`: how full the node would be by requests.
    NodeResourcesFit,
    /// `PodTopologySpread`: constraints that may be broken.
    PodTopologySpread,
    /// `InterPodAffinity`: preferred affinity and anti-affinity, of the pod and of others to it.
    InterPodAffinity,
    /// `NodeResourcesBalancedAllocation`: resources requested in like shares.
    NodeResourcesBalancedAllocation,
    /// `ImageLocality`: the pod's images are there.
    ImageLocality,
}

impl ScorePlugin {
    /// All of them, in the order of the default profile.
    pub const ALL: [ScorePlugin; 7] = [
        ScorePlugin::TaintToleration,
        ScorePlugin::NodeAffinity,
        ScorePlugin::NodeResourcesFit,
        ScorePlugin::PodTopologySpread,
        ScorePlugin::InterPodAffinity,
        ScorePlugin::NodeResourcesBalancedAllocation,
        ScorePlugin::ImageLocality,
    ];

    /// As a `KubeSchedulerConfiguration` spells it.
    pub const fn name(self) -> &'static str {
        match self {
            ScorePlugin::TaintToleration => "TaintToleration",
            ScorePlugin::NodeAffinity => "NodeAffinity",
            ScorePlugin::NodeResourcesFit => "NodeResourcesFit",
            ScorePlugin::PodTopologySpread => "PodTopologySpread",
            ScorePlugin::InterPodAffinity => "InterPodAffinity",
            ScorePlugin::NodeResourcesBalancedAllocation => "NodeResourcesBalancedAllocation",
            ScorePlugin::ImageLocality => "ImageLocality",
        }
    }
}

/// A plugin that rules nodes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FilterPlugin {
    /// `NodeUnschedulable`: no cordoned node.
    NodeUnschedulable,
    /// `NodeName`: the node that the pod names.
    NodeName,
    /// `TaintToleration`: no taint that the pod does not tolerate.
    TaintToleration,
    /// `NodeAffinity`: node selector and required node affinity.
    NodeAffinity,
    /// `NodePorts`: host ports that are free.
    NodePorts,
    /// `NodeResourcesFit`: what the pod requests is free.
    NodeResourcesFit,
    /// `VolumeRestrictions`: a claim that one pod alone may use is not in use.
    VolumeRestrictions,
    /// `VolumeBinding`: the volumes can be reached.
    VolumeBinding,
    /// `VolumeZone`: the volumes are in the node's zone.
    VolumeZone,
    /// `PodTopologySpread`: constraints that must be kept.
    PodTopologySpread,
    /// `InterPodAffinity`: required affinity and anti-affinity, of the pod and of others to it.
    InterPodAffinity,
}

impl FilterPlugin {
    /// All of them, in the order of the default profile.
    pub const ALL: [FilterPlugin; 11] = [
        FilterPlugin::NodeUnschedulable,
        FilterPlugin::NodeName,
        FilterPlugin::TaintToleration,
        FilterPlugin::NodeAffinity,
        FilterPlugin::NodePorts,
        FilterPlugin::NodeResourcesFit,
        FilterPlugin::VolumeRestrictions,
        FilterPlugin::VolumeBinding,
        FilterPlugin::VolumeZone,
        FilterPlugin::PodTopologySpread,
        FilterPlugin::InterPodAffinity,
    ];

    /// As a `KubeSchedulerConfiguration` spells it.
    pub const fn name(self) -> &'static str {
        match self {
            FilterPlugin::NodeUnschedulable => "NodeUnschedulable",
            FilterPlugin::NodeName => "NodeName",
            FilterPlugin::TaintToleration => "TaintToleration",
            FilterPlugin::NodeAffinity => "NodeAffinity",
            FilterPlugin::NodePorts => "NodePorts",
            FilterPlugin::NodeResourcesFit => "NodeResourcesFit",
            FilterPlugin::VolumeRestrictions => "VolumeRestrictions",
            FilterPlugin::VolumeBinding => "VolumeBinding",
            FilterPlugin::VolumeZone => "VolumeZone",
            FilterPlugin::PodTopologySpread => "PodTopologySpread",
            FilterPlugin::InterPodAffinity => "InterPodAffinity",
        }
    }
}

/// How often each score counts; zero where it is disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights([i64; ScorePlugin::ALL.len()]);

impl Weights {
    /// Every score disabled.
    pub const NONE: Weights = Weights([0; ScorePlugin::ALL.len()]);
}

impl Index<ScorePlugin> for Weights {
    type Output = i64;
    fn index(&self, plugin: ScorePlugin) -> &i64 {
        &self.0[plugin as usize]
    }
}

impl IndexMut<ScorePlugin> for Weights {
    fn index_mut(&mut self, plugin: ScorePlugin) -> &mut i64 {
        &mut self.0[plugin as usize]
    }
}

impl Default for Weights {
    /// Those of the default profile.
    fn default() -> Self {
        let mut weights = Weights([1; ScorePlugin::ALL.len()]);
        weights[ScorePlugin::TaintToleration] = 3;
        for two in [
            ScorePlugin::NodeAffinity,
            ScorePlugin::PodTopologySpread,
            ScorePlugin::InterPodAffinity,
        ] {
            weights[two] = 2;
        }
        weights
    }
}

/// `NodeResourcesFitArgs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Which nodes are liked.
    pub strategy: FitStrategy,
    /// The resources that count, and how much each.
    pub resources: Vec<(String, i64)>,
    /// Resources that need not be free.
    pub ignored_resources: BTreeSet<String>,
    /// What stands before the slash in the names of resources that need not be free.
    pub ignored_resource_groups: BTreeSet<String>,
}

/// Which nodes `NodeResourcesFit` likes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FitStrategy {
    /// Those with the most left.
    LeastAllocated,
    /// Those with the least left.
    MostAllocated,
    /// As this line of points says: a share from 0 to 100, rising, and what it is worth, from 0 to 10.
    RequestedToCapacityRatio(Vec<(i64, i64)>),
}

/// What spreads pods that have no constraint of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultSpread {
    /// Over hosts with a skew of 3 and over zones with one of 5, and better broken than kept waiting. A node without the
    /// label of a zone takes part.
    System,
    /// As the operator says.
    List(Vec<DefaultConstraint>),
}

/// A constraint for pods that have none of their own. The pods that it counts are those of the same services and the
/// same controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultConstraint {
    /// How many more of them may be in one place than in another.
    pub max_skew: u32,
    /// The label whose value makes two nodes one place.
    pub topology_key: String,
    /// Whether it must be kept (`DoNotSchedule`) or is better broken than kept waiting (`ScheduleAnyway`).
    pub hard: bool,
    /// At least so many places count as there.
    pub min_domains: Option<u32>,
    /// Only nodes that the pod's node affinity and selector admit count (`nodeAffinityPolicy: Honor`, the default).
    pub honours_affinity: bool,
    /// Only nodes whose taints the pod tolerates count (`nodeTaintsPolicy: Honor`).
    pub honours_taints: bool,
}

/// `InterPodAffinityArgs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodAffinity {
    /// `hardPodAffinityWeight`: what it is worth to land beside a pod that requires this one near, from 0 to 100.
    pub hard_weight: i64,
    /// `ignorePreferredTermsOfExistingPods`: what other pods prefer does not count for a pod that prefers nothing.
    pub ignore_preferences_of_others: bool,
}

/// What every pod requires and prefers of its node beside its own affinity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddedAffinity {
    /// One of these must hold; `None` where nothing is required.
    pub required: Option<Vec<NodeTerm>>,
    /// What is preferred, with weights from 1 to 100.
    pub preferred: Vec<(i32, NodeTerm)>,
}

impl SchedulerProfile {
    /// The resources that its scores weigh, beside cpu and memory.
    pub fn resources(&self) -> BTreeSet<&str> {
        let names = self
            .fit
            .resources
            .iter()
            .map(|(name, _)| name)
            .chain(&self.balanced);
        names
            .map(String::as_str)
            .filter(|name| !["cpu", "memory"].contains(name))
            .collect()
    }
}

impl Default for SchedulerProfile {
    /// The default profile of Kubernetes 1.36.
    fn default() -> Self {
        SchedulerProfile {
            name: "default-scheduler".to_owned(),
            weights: Weights::default(),
            filters_off: BTreeSet::new(),
            fit: Fit::default(),
            balanced: vec!["cpu".to_owned(), "memory".to_owned()],
            spread: DefaultSpread::System,
            pod_affinity: PodAffinity {
                hard_weight: 1,
                ignore_preferences_of_others: false,
            },
            added_affinity: AddedAffinity::default(),
            percentage_of_nodes_to_score: None,
            unknown_scores: false,
        }
    }
}

impl Default for Fit {
    /// The most left of cpu and memory, which count alike.
    fn default() -> Self {
        Fit {
            strategy: FitStrategy::LeastAllocated,
            resources: vec![("cpu".to_owned(), 1), ("memory".to_owned(), 1)],
            ignored_resources: BTreeSet::new(),
            ignored_resource_groups: BTreeSet::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_weights_are_those_of_the_default_profile() {
        let weights = Weights::default();
        assert_eq!(ScorePlugin::ALL.map(|p| weights[p]), [3, 2, 1, 2, 2, 1, 1]);
        assert_eq!(ScorePlugin::ALL.map(|p| p as usize), [0, 1, 2, 3, 4, 5, 6]);
    }
}
