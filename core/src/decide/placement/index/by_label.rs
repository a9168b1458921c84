//! Terms and groups of pods by label, so that a term is compared only with pods that have a label
//! which it asks for. In large clusters each workload has terms of its own, and nearly all of them
//! ask for a few values of one label.

use std::collections::BTreeMap;

use crate::values::selector::{Labels, Selector, Test};

use super::{Index, IndexedTerm, LabelGroup};

/// Positions by the name and the value of a label.
type Positions<'w> = BTreeMap<(&'w str, &'w str), Vec<usize>>;

/// Terms by a label that they ask for.
#[derive(Debug, Default)]
pub(super) struct TermsByLabel<'w> {
    asked: Positions<'w>,
    /// Terms that ask for no certain values of a label.
    others: Vec<usize>,
}

impl<'w> TermsByLabel<'w> {
    pub(super) fn new(terms: &[IndexedTerm<'w>]) -> Self {
        let mut by_label = TermsByLabel::default();
        for (position, term) in terms.iter().enumerate() {
            match term.term.pods.as_ref().and_then(asked_label) {
                Some((key, values)) => {
                    for value in values {
                        let terms = by_label.asked.entry((key, value)).or_default();
                        terms.push(position);
                    }
                }
                None => by_label.others.push(position),
            }
        }
        by_label
    }

    /// Returns the terms that may match pods with these labels, in order.
    pub(super) fn may_match(&self, labels: &Labels) -> Vec<usize> {
        let asked = labels.iter().filter_map(|(key, value)| {
            let label = (key.as_str(), value.as_str());
            self.asked.get(&label)
        });
        in_order(asked.flatten().chain(&self.others))
    }
}

/// Groups of pods by each of their labels.
#[derive(Debug)]
pub(super) struct GroupsByLabel<'w>(Positions<'w>);

impl<'w> GroupsByLabel<'w> {
    pub(super) fn new(groups: &[LabelGroup<'w>]) -> Self {
        let mut positions: Positions<'w> = BTreeMap::new();
        for (position, group) in groups.iter().enumerate() {
            for (key, value) in group.labels {
                let label = (key.as_str(), value.as_str());
                positions.entry(label).or_default().push(position);
            }
        }
        GroupsByLabel(positions)
    }

    /// Returns the groups that a selector may match, in order; `None` if it may match any.
    pub(super) fn may_match(&self, selector: &Selector) -> Option<Vec<usize>> {
        let (key, values) = asked_label(selector)?;
        let asked = values.iter();
        let asked = asked.filter_map(|value| self.0.get(&(key, value.as_str())));
        Some(in_order(asked.flatten()))
    }
}

impl<'w> Index<'w> {
    /// Returns the groups of pods that a term may match.
    pub(super) fn groups_for(&self, term: &IndexedTerm<'w>) -> Vec<&LabelGroup<'w>> {
        let groups = self.label_groups();
        match term.term.pods.as_ref().and_then(|s| self.labelled(s)) {
            Some(positions) => positions.into_iter().map(|p| &groups[p]).collect(),
            None if term.term.wide() => groups.iter().collect(),
            None => groups[self.range(term.namespace)].iter().collect(),
        }
    }

    /// Returns the groups of a namespace that a selector may match.
    pub(super) fn groups_in(&self, namespace: &str, selector: &Selector) -> Vec<&LabelGroup<'w>> {
        let (groups, range) = (self.label_groups(), self.range(namespace));
        match self.labelled(selector) {
            Some(mut positions) => {
                positions.retain(|position| range.contains(position));
                positions.into_iter().map(|p| &groups[p]).collect()
            }
            None => groups[range].iter().collect(),
        }
    }

    /// Returns the positions of the groups that a selector may match; `None` if it may match any.
    fn labelled(&self, selector: &Selector) -> Option<Vec<usize>> {
        let by_label = &self.groups_by_label;
        let by_label = by_label.get_or_init(|| GroupsByLabel::new(self.label_groups()));
        by_label.may_match(selector)
    }
}

/// Returns each position once, in order.
fn in_order<'p>(positions: impl Iterator<Item = &'p usize>) -> Vec<usize> {
    let mut positions: Vec<usize> = positions.copied().collect();
    positions.sort_unstable();
    positions.dedup();
    positions
}

/// Returns a label that every pod has which a selector matches, with the values that it may have.
fn asked_label(selector: &Selector) -> Option<(&str, &[String])> {
    selector.requirements().iter().find_map(|requirement| match &requirement.test {
        Test::In(values) => Some((requirement.key.as_str(), values.as_slice())),
        Test::NotIn(_) | Test::Exists | Test::Absent | Test::Above(_) | Test::Below(_) => None,
    })
}
