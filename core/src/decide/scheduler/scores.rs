//! All scores, each from 0 to 100 and weighted by the profile.

use crate::model::snapshot::NodeId;
use crate::policy::ScorePlugin;

use super::question::{Question, ours};
use super::{
    Parts, Scored, balanced_allocation, image_locality, node_affinity, node_resources,
    pod_affinity, taints, topology_spread,
};

/// Scores the feasible nodes. Some scores depend on the set of nodes.
pub(super) fn of(question: &Question<'_, '_>, nodes: &[NodeId]) -> Vec<Scored> {
    let unscored = |node: &NodeId| Scored { node: *node, total: 0, parts: Parts::default() };
    let mut scored: Vec<Scored> = nodes.iter().map(unscored).collect();
    weigh(question, &ScorePlugin::ALL, nodes, &mut scored);
    scored
}

/// The plugins whose score of a node depends only on the requests of the pods there.
const BY_REQUESTS: [ScorePlugin; 2] =
    [ScorePlugin::NodeResourcesFit, ScorePlugin::NodeResourcesBalancedAllocation];

/// Scores nodes again after nothing but the requests of their pods has changed.
pub(super) fn update(question: &Question<'_, '_>, scored: &mut [Scored]) {
    let nodes: Vec<NodeId> = scored.iter().map(|s| s.node).collect();
    weigh(question, &BY_REQUESTS, &nodes, scored);
}

/// Sets the weighted points of some plugins, and the totals.
fn weigh(
    question: &Question<'_, '_>,
    plugins: &[ScorePlugin],
    nodes: &[NodeId],
    scored: &mut [Scored],
) {
    if !ours(question.pod, question.profile) {
        return;
    }
    for &plugin in plugins.iter().filter(|plugin| question.weight(**plugin) != 0) {
        let points = by(plugin, question, nodes).into_iter().flatten();
        for (one, points) in scored.iter_mut().zip(points) {
            one.parts.0[plugin as usize] = question.weight(plugin) * points;
        }
    }
    for one in scored {
        one.total = one.parts.total();
    }
}

/// Returns the scores of one plugin; `None` if the plugin does not apply to this pod.
fn by(plugin: ScorePlugin, question: &Question<'_, '_>, nodes: &[NodeId]) -> Option<Vec<i64>> {
    match plugin {
        ScorePlugin::TaintToleration => Some(taints::score(question, nodes)),
        ScorePlugin::NodeAffinity => node_affinity::score(question, nodes),
        ScorePlugin::NodeResourcesFit => Some(node_resources::score(question, nodes)),
        ScorePlugin::PodTopologySpread => topology_spread::score(question, nodes),
        ScorePlugin::InterPodAffinity => pod_affinity::score(question, nodes),
        ScorePlugin::NodeResourcesBalancedAllocation => balanced_allocation::score(question, nodes),
        ScorePlugin::ImageLocality => image_locality::score(question, nodes),
    }
}
