//! InterPodAffinity: required affinity and anti-affinity of the pod, required anti-affinity of
//! other pods against it, and the preferences of the pod and of others.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::decide::placement::Placement;
use crate::decide::placement::index::{Pods, TermKind, Topology};
use crate::model::plan::Misfit;
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::{FilterPlugin, ScorePlugin};

use super::anti_affinity_matches;
use super::question::Question;

/// Returns true if a pod that this one avoids is on this node now, for terms whose label the node
/// has.
pub(super) fn has_anti_affinity_on(placement: &Placement<'_>, pod: PodId, node: NodeId) -> bool {
    let snapshot = placement.snapshot;
    let (own, there) = (snapshot.pod(pod), snapshot.node(node));
    own.required_anti_affinity
        .iter()
        .filter(|term| there.labels.contains_key(&term.topology_key))
        .any(|term| {
            there.pods.iter().any(|other| {
                *other != pod && anti_affinity_matches(snapshot, term, own, snapshot.pod(*other))
            })
        })
}

/// Counts per domain of one topology key.
#[derive(Debug)]
struct DomainCounts {
    topology: Rc<Topology>,
    sums: Vec<i64>,
}

impl DomainCounts {
    fn new(question: &Question<'_, '_>, key: &str) -> Self {
        let topology = question.index().topology(key);
        DomainCounts { sums: vec![0; topology.count], topology }
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

/// Counts of several terms, by topology key.
type CountsByKey<'w> = Vec<(&'w str, DomainCounts)>;

/// The domains of the pods that matter to the filters.
#[derive(Default)]
pub(super) struct AffinityDomains<'w> {
    /// Pods that the pod avoids, by topology key.
    anti_affinity: CountsByKey<'w>,
    /// Pods that avoid the pod, by topology key.
    anti_affinity_of_others: CountsByKey<'w>,
    /// Pods that the pod must run near, one table per term.
    affinity: Vec<DomainCounts>,
    /// Whether no such pod exists and the pod matches its own terms: the first pod of a group that
    /// wants to be together.
    first: bool,
}

impl<'w> AffinityDomains<'w> {
    pub(super) fn new(question: &Question<'_, 'w>) -> Self {
        if !question.runs(FilterPlugin::InterPodAffinity) {
            return AffinityDomains::default();
        }
        let index = question.index();
        let own = |kind: TermKind| {
            index.terms_of(question.id).iter().filter(move |t| index.term(**t).kind == kind)
        };
        let (mut anti_affinity, mut anti_affinity_of_others) = (Vec::new(), Vec::new());
        for t in own(TermKind::RequiredAntiAffinity) {
            count(question, &mut anti_affinity, *t, &index.matched_pods(*t), 1);
        }
        for t in index.terms_matching(question.id).iter() {
            let term = index.term(*t);
            if term.kind == TermKind::RequiredAntiAffinity {
                count(question, &mut anti_affinity_of_others, *t, &term.pods, 1);
            }
        }
        let own_affinity: Vec<usize> = own(TermKind::RequiredAffinity).copied().collect();
        let near = matched_by_all(question, &own_affinity);
        let affinity: Vec<DomainCounts> =
            own_affinity.iter().map(|t| counts(question, *t, &near)).collect();
        AffinityDomains {
            anti_affinity,
            anti_affinity_of_others,
            first: affinity.iter().all(|t| t.sums.iter().all(|n| *n == 0))
                && matches_itself(question, &own_affinity),
            affinity,
        }
    }

    pub(super) fn admit(&self, node: NodeId) -> Result<(), Misfit> {
        let found = |counts: &DomainCounts| counts.at(node).is_some_and(|n| n > 0);
        let labelled = || self.affinity.iter().all(|counts| counts.at(node).is_some());
        if !(self.affinity.iter().all(found) || self.first && labelled()) {
            return Err(Misfit::PodAffinity);
        }
        if self.anti_affinity.iter().any(|(_, counts)| found(counts)) {
            return Err(Misfit::PodAntiAffinity);
        }
        let mut of_others = self.anti_affinity_of_others.iter();
        if of_others.any(|(_, counts)| found(counts)) {
            Err(Misfit::AntiAffinityOfOthers)
        } else {
            Ok(())
        }
    }
}

/// Counts these pods per domain of a term.
fn counts(question: &Question<'_, '_>, term: usize, pods: &[PodId]) -> DomainCounts {
    let mut counts = DomainCounts::new(question, &question.index().term(term).term.topology_key);
    pods.iter().flat_map(|p| question.places(*p)).for_each(|node| counts.add(node, 1));
    counts
}

fn matched_by_all(question: &Question<'_, '_>, terms: &[usize]) -> Pods {
    let mut lists = terms.iter().map(|t| question.index().matched_pods(*t));
    let first = lists.next().unwrap_or_else(|| Rc::from([]));
    lists.fold(first, |both, list| {
        let list: BTreeSet<PodId> = list.iter().copied().collect();
        both.iter().filter(|p| list.contains(p)).copied().collect()
    })
}

fn matches_itself(question: &Question<'_, '_>, terms: &[usize]) -> bool {
    let named = question.index().terms_matching(question.id);
    terms.iter().all(|t| named.contains(t))
}

/// Scores the nodes: the sum of the weights of all preferences, scaled from 0 to 100.
pub(super) fn score(question: &Question<'_, '_>, nodes: &[NodeId]) -> Option<Vec<i64>> {
    debug_assert!(question.weight(ScorePlugin::InterPodAffinity) != 0);
    let tallies = preferences(question);
    if tallies.is_empty() {
        return None;
    }
    let sum =
        |node: &NodeId| tallies.iter().filter_map(|(_, counts)| counts.at(*node)).sum::<i64>();
    let sums: Vec<i64> = nodes.iter().map(sum).collect();
    let (least, most) = (
        sums.iter().copied().min().unwrap_or_default(),
        sums.iter().copied().max().unwrap_or_default(),
    );
    Some(sums.into_iter().map(|sum| scaled(sum, least, most)).collect())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "as the scheduler rounds it"
)]
fn scaled(sum: i64, least: i64, most: i64) -> i64 {
    if most == least { 0 } else { (100.0 * ((sum - least) as f64 / (most - least) as f64)) as i64 }
}

/// Collects the preferences by topology key.
fn preferences<'w>(question: &Question<'_, 'w>) -> CountsByKey<'w> {
    let index = question.index();
    let rules = question.profile.pod_affinity;
    let mut all = Vec::new();
    for term in index.terms_of(question.id) {
        if let TermKind::Preferred(weight) = index.term(*term).kind {
            count(question, &mut all, *term, &index.matched_pods(*term), weight);
        }
    }
    if question.pod.preferred_terms.is_empty() && rules.ignore_preferences_of_others {
        return all;
    }
    for term in index.terms_matching(question.id).iter() {
        let weight = match index.term(*term).kind {
            TermKind::RequiredAntiAffinity => continue,
            TermKind::RequiredAffinity => rules.hard_weight,
            TermKind::Preferred(weight) => weight,
        };
        if weight != 0 {
            count(question, &mut all, *term, &index.term(*term).pods, weight);
        }
    }
    all
}

/// The preferred anti-affinity that a pod would violate, counted once for all nodes: its own terms,
/// and those of other pods against it. Terminating pods do not count.
///
/// Both directions count, so that a move that lowers the sum of one pod lowers the sum of all.
/// Moves that only lower it come to an end.
#[derive(Debug)]
pub struct ViolatedPreferences<'w>(CountsByKey<'w>);

impl<'w> ViolatedPreferences<'w> {
    pub(super) fn new(question: &Question<'_, 'w>) -> Self {
        let (index, snapshot) = (question.index(), question.snapshot);
        let mut all = Vec::new();
        let mut add = |term: usize, pods: &[PodId]| {
            if let TermKind::Preferred(weight @ ..0) = index.term(term).kind {
                let staying = pods.iter().filter(|p| !snapshot.pod(**p).terminating);
                let staying: Vec<PodId> = staying.copied().collect();
                count(question, &mut all, term, &staying, -weight);
            }
        };
        for term in index.terms_of(question.id) {
            add(*term, &index.matched_pods(*term));
        }
        for term in index.terms_matching(question.id).iter() {
            add(*term, &index.term(*term).pods);
        }
        ViolatedPreferences(all)
    }

    /// Returns the sum of the weights that the pod would violate on a node.
    pub fn at(&self, node: NodeId) -> i64 {
        self.0.iter().filter_map(|(_, counts)| counts.at(node)).sum()
    }
}

/// Adds the weight for each of these pods of a term, in the domain where it is.
fn count<'w>(
    question: &Question<'_, 'w>,
    all: &mut CountsByKey<'w>,
    term: usize,
    pods: &[PodId],
    weight: i64,
) {
    let key = question.index().term(term).term.topology_key.as_str();
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
