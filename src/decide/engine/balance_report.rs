//! The picture that a plan gives of the nodes: their ratios, the bands that they are measured by, and how even they are.

use std::collections::{BTreeMap, BTreeSet};

use crate::decide::draft::Draft;
use crate::decide::strategy::low_node_utilization;
use crate::model::plan::{Balance, BalanceReport, Band, NodePicture, PoolPicture};
use crate::model::snapshot::NodeId;
use crate::model::usage::Unmeasured;
use crate::policy::{Basis, HighNodeUtilization, LowNodeUtilization, Rule, Thresholds};
use crate::values::{Ratio, ResourceId};

/// The pool of policies in which no strategy balances.
const ALL: &str = "all";

/// Nodes that are measured by the same marks.
struct Span {
    pool: String,
    basis: Basis,
    nodes: Vec<NodeId>,
    low: Vec<(ResourceId, Ratio)>,
    high: Vec<(ResourceId, Ratio)>,
}

/// The nodes as they are once all that the draft holds is done.
pub(super) fn balance_report(draft: &Draft<'_>) -> BalanceReport {
    let snapshot = draft.world.snapshot;
    let spans = spans(draft);
    let basis = spans.first().map_or(Basis::Actual, |span| span.basis);
    let weighed = weighed(&spans);
    let own = measured_by(&spans, basis);
    let nodes = snapshot
        .node_ids()
        .map(|n| node_picture(draft, n, basis, (own.get(&n).copied(), &weighed)))
        .collect();
    let outside = first_outside(draft, &spans);
    let known = |r: ResourceId| {
        snapshot
            .node_ids()
            .filter_map(|n| draft.ratio(n, r, basis))
            .collect::<Vec<_>>()
    };
    let named = |r: &ResourceId| snapshot.resources.name(*r).to_owned();
    let balance = weighed
        .iter()
        .filter_map(|r| Some((named(r), balance(&known(*r), outside)?)))
        .collect();
    let pools = spans
        .iter()
        .map(|span| span.report(draft, &weighed))
        .collect();
    BalanceReport {
        basis,
        nodes,
        balance,
        pools,
    }
}

/// What each node is measured by on a basis: the first that has it.
fn measured_by(spans: &[Span], basis: Basis) -> BTreeMap<NodeId, &Span> {
    let mut own = BTreeMap::new();
    for span in spans.iter().filter(|span| span.basis == basis) {
        for node in &span.nodes {
            own.entry(*node).or_insert(span);
        }
    }
    own
}

fn node_picture(
    draft: &Draft<'_>,
    node: NodeId,
    basis: Basis,
    (span, weighed): (Option<&Span>, &BTreeSet<ResourceId>),
) -> NodePicture {
    let name = |r: &ResourceId| draft.world.snapshot.resources.name(*r).to_owned();
    let ratios = |basis: Basis| {
        weighed
            .iter()
            .map(|r| (name(r), draft.ratio(node, *r, basis)))
            .collect()
    };
    let measured = [ResourceId::CPU, ResourceId::MEMORY];
    NodePicture {
        name: draft.world.snapshot.node(node).name.clone(),
        ratios: ratios(basis),
        requests: ratios(Basis::Requests),
        actual: ratios(Basis::Actual),
        latest: measured
            .iter()
            .map(|r| (name(r), latest(draft, node, *r)))
            .collect(),
        pool: span.map(|span| span.pool.clone()),
        band: span.map(|span| span.band(draft)).unwrap_or_default(),
    }
}

/// The newest reading, unless there is none that says how things are now.
fn latest(draft: &Draft<'_>, node: NodeId, resource: ResourceId) -> Option<Ratio> {
    match draft.world.usage.unmeasured(node) {
        None | Some(Unmeasured::Few { .. }) => {}
        Some(Unmeasured::Missing | Unmeasured::Stale(_) | Unmeasured::Future(_)) => return None,
    }
    let reading = draft.world.usage.reading(node)?;
    let used = if resource == ResourceId::CPU {
        reading.cpu
    } else {
        reading.memory
    };
    used.share_of(draft.world.snapshot.node(node).allocatable[resource])
}

/// What the strategies measure nodes by, the first that balances first. Of two that measure a pool of the same name on the
/// same basis, the first counts.
fn spans(draft: &Draft<'_>) -> Vec<Span> {
    let rules = || draft.world.policy.strategies.iter().map(|s| &s.rule);
    let mut spans: Vec<Span> = Vec::new();
    for rule in rules() {
        if let Some(rule) = LowNodeUtilization::of(rule) {
            spans.extend(
                low_node_utilization::in_force(draft, rule)
                    .into_iter()
                    .map(|it| Span {
                        pool: it.pool,
                        basis: rule.basis,
                        nodes: it.nodes,
                        low: it.low.to_vec(),
                        high: it.high.to_vec(),
                    }),
            );
        }
    }
    for rule in rules() {
        if let Rule::HighNodeUtilization(rule) = rule {
            spans.extend(emptying(draft, rule));
        }
    }
    if spans.is_empty() {
        spans.extend([Basis::Actual, Basis::Requests].map(|basis| Span::around(draft, ALL, basis)));
    }
    let mut seen = BTreeSet::new();
    spans.retain(|span| seen.insert((span.pool.clone(), span.basis.label())));
    spans
}

/// HighNodeUtilization has its thresholds on its own basis, and its ceilings on what is really used.
fn emptying(draft: &Draft<'_>, rule: &HighNodeUtilization) -> Vec<Span> {
    const POOL: &str = "default";
    let known = |levels: &Thresholds| -> Vec<(ResourceId, Ratio)> {
        let resources = &draft.world.snapshot.resources;
        levels
            .iter()
            .filter_map(|(name, ratio)| Some((resources.find(name)?, *ratio)))
            .collect()
    };
    let high = if draft.world.policy.exact {
        Vec::new()
    } else {
        known(&rule.ceilings)
    };
    let own = Span {
        low: known(&rule.thresholds),
        ..Span::around(draft, POOL, rule.basis)
    };
    match rule.basis {
        Basis::Actual => vec![Span { high, ..own }],
        Basis::Requests if high.is_empty() => vec![own],
        Basis::Requests => vec![
            own,
            Span {
                high,
                ..Span::around(draft, POOL, Basis::Actual)
            },
        ],
    }
}

impl Span {
    /// All nodes that can be weighed, by no marks.
    fn around(draft: &Draft<'_>, pool: &str, basis: Basis) -> Self {
        let nodes = low_node_utilization::fit(draft, basis);
        Span {
            pool: pool.to_owned(),
            basis,
            nodes,
            low: Vec::new(),
            high: Vec::new(),
        }
    }

    fn band(&self, draft: &Draft<'_>) -> BTreeMap<String, Band> {
        let mut band: BTreeMap<String, Band> = BTreeMap::new();
        let name = |r: ResourceId| draft.world.snapshot.resources.name(r).to_owned();
        for (resource, low) in &self.low {
            band.entry(name(*resource)).or_default().low = Some(*low);
        }
        for (resource, high) in &self.high {
            band.entry(name(*resource)).or_default().high = Some(*high);
        }
        band
    }

    fn report(&self, draft: &Draft<'_>, weighed: &BTreeSet<ResourceId>) -> PoolPicture {
        let ratios = |r: &ResourceId| {
            self.nodes
                .iter()
                .filter_map(|n| draft.ratio(*n, *r, self.basis))
                .collect::<Vec<_>>()
        };
        let name = |r: &ResourceId| draft.world.snapshot.resources.name(*r).to_owned();
        let outside = self.outside(draft);
        let share = outside.and_then(|count| share(count, self.nodes.len()));
        PoolPicture {
            name: self.pool.clone(),
            basis: self.basis,
            balance: weighed
                .iter()
                .filter_map(|r| Some((name(r), balance(&ratios(r), share)?)))
                .collect(),
            outside_band: outside,
            band: self.band(draft),
            nodes: self.nodes.len(),
        }
    }

    /// How many nodes are above a high mark, or at or below every low one; `None` where there are no marks.
    fn outside(&self, draft: &Draft<'_>) -> Option<usize> {
        if self.low.is_empty() && self.high.is_empty() {
            return None;
        }
        let ratio = |n: NodeId, r: ResourceId| draft.ratio(n, r, self.basis);
        let above = |n: NodeId| {
            self.high
                .iter()
                .any(|(r, high)| ratio(n, *r).is_some_and(|is| is > *high))
        };
        let below = |n: NodeId| {
            self.low
                .iter()
                .all(|(r, low)| ratio(n, *r).is_some_and(|is| is <= *low))
        };
        Some(
            self.nodes
                .iter()
                .filter(|n| above(**n) || (!self.low.is_empty() && below(**n)))
                .count(),
        )
    }
}

/// Cpu and memory, and whatever else there are marks for.
fn weighed(spans: &[Span]) -> BTreeSet<ResourceId> {
    let named = spans.iter().flat_map(|span| {
        span.low
            .iter()
            .chain(&span.high)
            .map(|(resource, _)| *resource)
    });
    named.chain([ResourceId::CPU, ResourceId::MEMORY]).collect()
}

/// The share of the nodes that are outside the bands of the first LowNodeUtilization.
fn first_outside(draft: &Draft<'_>, spans: &[Span]) -> Option<Ratio> {
    let rule = draft
        .world
        .policy
        .strategies
        .iter()
        .find_map(|s| LowNodeUtilization::of(&s.rule))?;
    let own: Vec<&Span> = spans.iter().take(rule.pools.len()).collect();
    let outside = own.iter().filter_map(|span| span.outside(draft)).sum();
    share(outside, own.iter().map(|span| span.nodes.len()).sum())
}

fn share(part: usize, of: usize) -> Option<Ratio> {
    let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    Ratio::new(count(part) / count(of))
}

/// How even ratios are; `None` where there is none.
pub fn balance(ratios: &[Ratio], outside_band: Option<Ratio>) -> Option<Balance> {
    let values: Vec<f64> = ratios.iter().map(|r| r.get()).collect();
    let mean = Ratio::new(statrs::statistics::Statistics::mean(&values))?;
    let deviation = Ratio::new(statrs::statistics::Statistics::population_std_dev(&values))?;
    let most = ratios.iter().copied().max_by(|a, b| a.order(*b))?;
    Some(Balance {
        mean,
        deviation,
        above_mean: most.minus(mean),
        outside_band,
    })
}
