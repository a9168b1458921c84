//! One profile of a `KubeSchedulerConfiguration`: the settings that influence where a pod lands.
//! The default is the default profile of Kubernetes, which is the same from 1.31 to 1.37.
//!
//! See <https://kubernetes.io/docs/reference/scheduling/config/>.

use std::collections::BTreeSet;
use std::ops::{Index, IndexMut};

use crate::values::selector::NodeTerm;

use super::kubernetes_release::KubernetesRelease;

/// One profile of kube-scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerProfile {
    /// The release of Kubernetes, which decides about formulas.
    pub release: KubernetesRelease,
    /// `schedulerName`: it places the pods that name it.
    pub name: String,
    /// The weight of each score.
    pub weights: Weights,
    /// Disabled filters.
    pub filters_off: BTreeSet<FilterPlugin>,
    /// Whether a pod that fits on no node may remove pods of lower priority: `DefaultPreemption`.
    pub preempts: bool,
    /// `NodeResourcesFitArgs`.
    pub fit: Fit,
    /// `NodeResourcesBalancedAllocationArgs.resources`: the resources whose requested shares should
    /// be similar.
    pub balanced: Vec<String>,
    /// `PodTopologySpreadArgs`: the constraints of pods that have none of their own.
    pub spread: DefaultSpread,
    /// `InterPodAffinityArgs`.
    pub pod_affinity: PodAffinity,
    /// `NodeAffinityArgs.addedAffinity`: node affinity that every pod gets in addition to its own.
    pub added_affinity: AddedAffinity,
    /// `percentageOfNodesToScore`; `None` and zero leave it to the size of the cluster.
    pub percentage_of_nodes_to_score: Option<u32>,
    /// Something other than kube-scheduler itself scores nodes, so that the total scores are
    /// unknown.
    pub unknown_scores: bool,
    /// Nothing scores nodes, and no extender filters them, so that a search ends with the first
    /// node that can take the pod.
    pub takes_first: bool,
}

crate::names! {
    /// A plugin that scores nodes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum ScorePlugin {
        /// `TaintToleration`: prefers nodes with few untolerated `PreferNoSchedule` taints.
        TaintToleration = "TaintToleration",
        /// `NodeAffinity`: preferred node affinity.
        NodeAffinity = "NodeAffinity",
        /// `NodeResourcesFit`: how full the node would be, by requests.
        NodeResourcesFit = "NodeResourcesFit",
        /// `PodTopologySpread`: constraints with `ScheduleAnyway`.
        PodTopologySpread = "PodTopologySpread",
        /// `InterPodAffinity`: preferred affinity and anti-affinity, of the pod and of others.
        InterPodAffinity = "InterPodAffinity",
        /// `NodeResourcesBalancedAllocation`: similar requested shares of all resources.
        NodeResourcesBalancedAllocation = "NodeResourcesBalancedAllocation",
        /// `ImageLocality`: the node has the pod's images.
        ImageLocality = "ImageLocality",
    }
    /// The name in a `KubeSchedulerConfiguration`.
    pub fn name;
}

crate::names! {
    /// A plugin that filters nodes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum FilterPlugin {
        /// `NodeUnschedulable`: the node is not cordoned.
        NodeUnschedulable = "NodeUnschedulable",
        /// `NodeName`: the node is the one that the pod names.
        NodeName = "NodeName",
        /// `TaintToleration`: the pod tolerates all taints.
        TaintToleration = "TaintToleration",
        /// `NodeAffinity`: the node matches the node selector and the required node affinity.
        NodeAffinity = "NodeAffinity",
        /// `NodePorts`: the host ports are free.
        NodePorts = "NodePorts",
        /// `NodeResourcesFit`: the requested resources are free.
        NodeResourcesFit = "NodeResourcesFit",
        /// `VolumeRestrictions`: a ReadWriteOncePod claim is not in use.
        VolumeRestrictions = "VolumeRestrictions",
        /// `NodeVolumeLimits`: the CSI drivers can attach the volumes to the node.
        NodeVolumeLimits = "NodeVolumeLimits",
        /// `VolumeBinding`: the node can reach the volumes.
        VolumeBinding = "VolumeBinding",
        /// `VolumeZone`: the volumes are in the node's zone.
        VolumeZone = "VolumeZone",
        /// `PodTopologySpread`: constraints with `DoNotSchedule`.
        PodTopologySpread = "PodTopologySpread",
        /// `InterPodAffinity`: required affinity and anti-affinity, of the pod and of others to it.
        InterPodAffinity = "InterPodAffinity",
    }
    /// The name in a `KubeSchedulerConfiguration`.
    pub fn name;
}

/// The weight of each score; zero for a disabled score.
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
    /// The weights of the default profile.
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
    /// Which nodes score high.
    pub strategy: FitStrategy,
    /// The resources that count, with their weights.
    pub resources: Vec<(String, i64)>,
    /// Resources that need not be free.
    pub ignored_resources: BTreeSet<String>,
    /// Prefixes, before the slash, of resources that need not be free.
    pub ignored_resource_groups: BTreeSet<String>,
}

/// Which nodes `NodeResourcesFit` scores high.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FitStrategy {
    /// Nodes with the most free resources.
    LeastAllocated,
    /// Nodes with the least free resources.
    MostAllocated,
    /// By this function: points of utilization, from 0 to 100 in rising order, and score, from 0 to
    /// 10.
    RequestedToCapacityRatio(Vec<(i64, i64)>),
}

/// The constraints of pods that have none of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultSpread {
    /// `ScheduleAnyway` over hosts with a skew of 3 and over zones with a skew of 5. A node without
    /// a zone label takes part.
    System,
    /// These constraints.
    List(Vec<DefaultConstraint>),
}

/// A constraint for pods that have none of their own. It counts the pods of the same services and
/// the same controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultConstraint {
    /// The accepted difference between the number of pods in two domains.
    pub max_skew: u32,
    /// The label whose value names the domain of a node.
    pub topology_key: String,
    /// Whether it is `DoNotSchedule`; otherwise it is `ScheduleAnyway`.
    pub hard: bool,
    /// The least number of domains.
    pub min_domains: Option<u32>,
    /// Only nodes that match the pod's node affinity and selector count (`nodeAffinityPolicy:
    /// Honor`, the default).
    pub honours_affinity: bool,
    /// Only nodes whose taints the pod tolerates count (`nodeTaintsPolicy: Honor`).
    pub honours_taints: bool,
}

/// `InterPodAffinityArgs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodAffinity {
    /// `hardPodAffinityWeight`: the score, from 0 to 100, for a node near a pod whose required
    /// affinity matches this pod.
    pub hard_weight: i64,
    /// `ignorePreferredTermsOfExistingPods`: preferences of other pods do not count for a pod
    /// without preferences.
    pub ignore_preferences_of_others: bool,
}

/// Node affinity that every pod gets in addition to its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddedAffinity {
    /// One of these terms must match; `None` if nothing is required.
    pub required: Option<Vec<NodeTerm>>,
    /// Preferred terms, with weights from 1 to 100.
    pub preferred: Vec<(i32, NodeTerm)>,
}

impl SchedulerProfile {
    /// The resources that its scores use, except cpu and memory.
    pub fn resources(&self) -> BTreeSet<&str> {
        let names = self.fit.resources.iter().map(|(name, _)| name).chain(&self.balanced);
        names.map(String::as_str).filter(|name| !["cpu", "memory"].contains(name)).collect()
    }
}

impl Default for SchedulerProfile {
    fn default() -> Self {
        SchedulerProfile {
            release: KubernetesRelease::default(),
            name: "default-scheduler".to_owned(),
            weights: Weights::default(),
            filters_off: BTreeSet::new(),
            preempts: true,
            fit: Fit::default(),
            balanced: vec!["cpu".to_owned(), "memory".to_owned()],
            spread: DefaultSpread::System,
            pod_affinity: PodAffinity { hard_weight: 1, ignore_preferences_of_others: false },
            added_affinity: AddedAffinity::default(),
            percentage_of_nodes_to_score: None,
            unknown_scores: false,
            takes_first: false,
        }
    }
}

impl Default for Fit {
    /// The most free cpu and memory, with equal weights.
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
