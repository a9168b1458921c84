//! InterPodAffinity: required affinity and anti-affinity of the pod, required anti-affinity of
//! other pods against it, and the preferences of the pod and of others.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::decide::draft::Draft;
use crate::decide::draft::index::{Pods, Topology, Want};
use crate::model::plan::Misfit;
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::{FilterPlugin, ScorePlugin};

use super::avoids;
use super::question::Question;

/// Returns true if a pod that this one avoids is on this node now, for terms whose label the node
/// has.
pub(super) fn avoids_on(draft: &Draft<'_>, pod: PodId, node: NodeId) -> bool {
    let snapshot = draft.world.snapshot;
    let (own, there) = (snapshot.pod(pod), snapshot.node(node));
    own.avoids
        .iter()
        .filter(|term| there.labels.contains_key(&term.topology_key))
        .any(|term| {
            there
                .pods
                .iter()
                .any(|other| *other != pod && avoids(snapshot, term, own, snapshot.pod(*other)))
        })
}

/// Counts per domain of one topology key.
struct DomainCounts {
    topology: Rc<Topology>,
    sums: Vec<i64>,
}

impl DomainCounts {
    fn new(question: &Question<'_, '_>, key: &str) -> Self {
        let topology = question.index().topology(key);
        DomainCounts {
            sums: vec![0; topology.count],
            topology,
        }
    }

    fn add(&mut self, node: NodeId, weight: i64) {
        if let Some(place) = self.topology.place(node) {
            self.sums[place] += weight;
        }
    }

    /// Returns the count; `None` if the node is in no domain.
    fn at(&self, node: NodeId) -> Option<i64> {
        self.topology.place(node).map(|place| self.sums[place])
    }
}

/// The domains of the pods that matter to the filters.
#[derive(Default)]
pub(super) struct AffinityDomains {
    /// Pods that the pod avoids.
    avoided: Vec<DomainCounts>,
    /// Pods that avoid the pod.
    avoiding: Vec<DomainCounts>,
    /// Pods that the pod must run near, one table per term.
    sought: Vec<DomainCounts>,
    /// Whether no such pod exists and the pod matches its own terms: the first pod of a group that
    /// wants to be together.
    first: bool,
}

impl AffinityDomains {
    pub(super) fn new(question: &Question<'_, '_>) -> Self {
        if !question.runs(FilterPlugin::InterPodAffinity) {
            return AffinityDomains::default();
        }
        let index = question.index();
        let own = |want: Want| {
            index
                .terms_of(question.id)
                .iter()
                .filter(move |t| index.term(**t).want == want)
        };
        let avoided = own(Want::Avoid).map(|t| counts(question, *t, &index.meant(*t)));
        let others = index.terms_meaning(question.id);
        let others = others
            .iter()
            .filter(|t| index.term(**t).want == Want::Avoid);
        let avoiding = others.map(|t| counts(question, *t, &index.term(*t).carriers));
        let seeks: Vec<usize> = own(Want::Seek).copied().collect();
        let near = meant_by_all(question, &seeks);
        let sought: Vec<DomainCounts> = seeks.iter().map(|t| counts(question, *t, &near)).collect();
        AffinityDomains {
            avoided: avoided.filter(|t| t.sums.iter().any(|n| *n > 0)).collect(),
            avoiding: avoiding.filter(|t| t.sums.iter().any(|n| *n > 0)).collect(),
            first: sought.iter().all(|t| t.sums.iter().all(|n| *n == 0))
                && means_itself(question, &seeks),
            sought,
        }
    }

    pub(super) fn admit(&self, node: NodeId) -> Result<(), Misfit> {
        let found = |counts: &DomainCounts| counts.at(node).is_some_and(|n| n > 0);
        let labelled = || self.sought.iter().all(|counts| counts.at(node).is_some());
        if !(self.sought.iter().all(found) || self.first && labelled()) {
            return Err(Misfit::Lonely);
        }
        if self.avoided.iter().any(found) {
            return Err(Misfit::AntiAffinity);
        }
        if self.avoiding.iter().any(found) {
            Err(Misfit::Avoided)
        } else {
            Ok(())
        }
    }
}

/// Counts these pods per domain of a term.
fn counts(question: &Question<'_, '_>, term: usize, pods: &[PodId]) -> DomainCounts {
    let mut counts = DomainCounts::new(question, &question.index().term(term).whom.topology_key);
    pods.iter()
        .flat_map(|p| question.places(*p))
        .for_each(|node| counts.add(node, 1));
    counts
}

/// Returns the pods that all of these terms match.
fn meant_by_all(question: &Question<'_, '_>, terms: &[usize]) -> Pods {
    let mut lists = terms.iter().map(|t| question.index().meant(*t));
    let first = lists.next().unwrap_or_else(|| Rc::from([]));
    lists.fold(first, |both, list| {
        let list: BTreeSet<PodId> = list.iter().copied().collect();
        both.iter().filter(|p| list.contains(p)).copied().collect()
    })
}

fn means_itself(question: &Question<'_, '_>, terms: &[usize]) -> bool {
    let named = question.index().terms_meaning(question.id);
    terms.iter().all(|t| named.contains(t))
}

/// Scores the nodes: the sum of the weights of all preferences, scaled from 0 to 100.
pub(super) fn score(question: &Question<'_, '_>, nodes: &[NodeId]) -> Option<Vec<i64>> {
    debug_assert!(question.weight(ScorePlugin::InterPodAffinity) != 0);
    let tallies = preferences(question);
    if tallies.is_empty() {
        return None;
    }
    let sum = |node: &NodeId| {
        tallies
            .iter()
            .filter_map(|(_, counts)| counts.at(*node))
            .sum::<i64>()
    };
    let sums: Vec<i64> = nodes.iter().map(sum).collect();
    let (least, most) = (
        sums.iter().copied().min().unwrap_or_default(),
        sums.iter().copied().max().unwrap_or_default(),
    );
    Some(
        sums.into_iter()
            .map(|sum| scaled(sum, least, most))
            .collect(),
    )
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "as the scheduler rounds it"
)]
fn scaled(sum: i64, least: i64, most: i64) -> i64 {
    if most == least {
        0
    } else {
        (100.0 * ((sum - least) as f64 / (most - least) as f64)) as i64
    }
}

/// Collects the preferences by topology key.
fn preferences<'w>(question: &Question<'_, 'w>) -> Vec<(&'w str, DomainCounts)> {
    let index = question.index();
    let rules = question.profile.pod_affinity;
    let mut all = Vec::new();
    for term in index.terms_of(question.id) {
        if let Want::Like(weight) = index.term(*term).want {
            prefer(question, &mut all, *term, &index.meant(*term), weight);
        }
    }
    if question.pod.likes.is_empty() && rules.ignore_preferences_of_others {
        return all;
    }
    for term in index.terms_meaning(question.id).iter() {
        let weight = match index.term(*term).want {
            Want::Avoid => continue,
            Want::Seek => rules.hard_weight,
            Want::Like(weight) => weight,
        };
        if weight != 0 {
            prefer(
                question,
                &mut all,
                *term,
                &index.term(*term).carriers,
                weight,
            );
        }
    }
    all
}

/// Returns for each node the sum of the weights of preferred anti-affinity that a pod would violate
/// there: its own terms, and those of other pods against it. Terminating pods do not count.
///
/// Both directions count, so that a move that lowers the sum of one pod lowers the sum of all.
/// Moves that only lower it come to an end.
pub(super) fn violated_preferences(question: &Question<'_, '_>, nodes: &[NodeId]) -> Vec<i64> {
    let (index, snapshot) = (question.index(), question.draft.world.snapshot);
    let mut all = Vec::new();
    let mut add = |term: usize, pods: &[PodId]| {
        if let Want::Like(weight @ ..0) = index.term(term).want {
            let staying = pods.iter().filter(|p| !snapshot.pod(**p).terminating);
            let staying: Vec<PodId> = staying.copied().collect();
            prefer(question, &mut all, term, &staying, -weight);
        }
    };
    for term in index.terms_of(question.id) {
        add(*term, &index.meant(*term));
    }
    for term in index.terms_meaning(question.id).iter() {
        add(*term, &index.term(*term).carriers);
    }
    let sum = |node: &NodeId| all.iter().filter_map(|(_, counts)| counts.at(*node)).sum();
    nodes.iter().map(sum).collect()
}

fn prefer<'w>(
    question: &Question<'_, 'w>,
    all: &mut Vec<(&'w str, DomainCounts)>,
    term: usize,
    pods: &[PodId],
    weight: i64,
) {
    let key = question.index().term(term).whom.topology_key.as_str();
    for node in pods.iter().flat_map(|p| question.places(*p)) {
        let known = all.iter().position(|(k, _)| *k == key).unwrap_or_else(|| {
            all.push((key, DomainCounts::new(question, key)));
            all.len() - 1
        });
        all[known].1.add(node, weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_scaled_between_the_smallest_and_the_largest() {
        assert_eq!([-10, 0, 20].map(|sum| scaled(sum, -10, 20)), [0, 33, 100]);
        assert_eq!(scaled(5, 5, 5), 0);
    }
}
