//! The balance report of a plan: the ratios of the nodes, their thresholds and targets, and how
//! even they are.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use statrs::statistics::Statistics;

use crate::decide::draft::Draft;
use crate::decide::targets::{self, PoolInForce, ResourceRatios};
use crate::model::plan::{Balance, BalanceReport, NodePicture, PoolPicture, TargetBand};
use crate::model::snapshot::NodeId;
use crate::model::usage::Unmeasured;
use crate::policy::{Basis, HighNodeUtilization, Rule};
use crate::values::{Ratio, ResourceId};

/// The name of the pool if no strategy balances nodes.
const ALL: &str = "all";

/// The name of HighNodeUtilization's pool.
const DEFAULT: &str = "default";

/// Nodes with the same thresholds and targets.
struct WeighedPool {
    in_force: PoolInForce,
    /// Whether requests of terminating pods count, as for kube-scheduler.
    with_ending: bool,
}

/// The load that ratios count.
#[derive(Clone, Copy)]
struct CountedLoad {
    basis: Basis,
    with_ending: bool,
}

impl CountedLoad {
    const fn of(basis: Basis) -> Self {
        CountedLoad { basis, with_ending: false }
    }

    fn ratio(self, draft: &Draft<'_>, node: NodeId, resource: ResourceId) -> Option<Ratio> {
        if self.with_ending {
            draft.room_ratio(node, resource, self.basis)
        } else {
            draft.known_ratio(node, resource, self.basis)
        }
    }
}

/// The nodes after the moves of the draft.
pub(super) fn balance_report(draft: &Draft<'_>) -> BalanceReport {
    let snapshot = draft.world.snapshot;
    let pools = weighed_pools(draft);
    let load = pools.first().map_or(CountedLoad::of(Basis::Actual), WeighedPool::load);
    let basis = load.basis;
    let resources = resources(&pools);
    let pool_of = first_pools(&pools, basis);
    let all: Vec<NodeId> = snapshot.node_ids().collect();
    let outside = first_outside(draft, &pools);
    let nodes = all.iter().map(|node| {
        let pool = pool_of.get(node).copied();
        node_picture(draft, *node, load, pool, &resources)
    });
    BalanceReport {
        basis,
        nodes: nodes.collect(),
        balance: balances(draft, &all, load, &resources, outside),
        pools: pools.iter().map(|p| p.report(draft, &resources)).collect(),
    }
}

fn first_pools(pools: &[WeighedPool], basis: Basis) -> BTreeMap<NodeId, &WeighedPool> {
    let mut first = BTreeMap::new();
    for pool in pools.iter().filter(|pool| pool.in_force.basis == basis) {
        for node in &pool.in_force.nodes {
            first.entry(*node).or_insert(pool);
        }
    }
    first
}

fn node_picture(
    draft: &Draft<'_>,
    node: NodeId,
    load: CountedLoad,
    pool: Option<&WeighedPool>,
    resources: &BTreeSet<ResourceId>,
) -> NodePicture {
    let measured = [ResourceId::CPU, ResourceId::MEMORY];
    NodePicture {
        name: draft.world.snapshot.node(node).name.clone(),
        ratios: ratios(draft, node, load, resources),
        requests: ratios(draft, node, CountedLoad::of(Basis::Requests), resources),
        actual: ratios(draft, node, CountedLoad::of(Basis::Actual), resources),
        latest: measured.iter().map(|r| (name(draft, *r), latest(draft, node, *r))).collect(),
        pool: pool.map(|pool| pool.in_force.pool.clone()),
        band: pool.map(|pool| pool.band(draft)).unwrap_or_default(),
    }
}

fn name(draft: &Draft<'_>, resource: ResourceId) -> String {
    draft.world.snapshot.resources.name(resource).to_owned()
}

fn ratios(
    draft: &Draft<'_>,
    node: NodeId,
    load: CountedLoad,
    resources: &BTreeSet<ResourceId>,
) -> BTreeMap<String, Option<Ratio>> {
    resources
        .iter()
        .filter(|r| !draft.lacks(node, **r))
        .map(|r| (name(draft, *r), load.ratio(draft, node, *r)))
        .collect()
}

/// The latest reading as a ratio; `None` if it is missing, stale or in the future.
fn latest(draft: &Draft<'_>, node: NodeId, resource: ResourceId) -> Option<Ratio> {
    match draft.world.usage.unmeasured(node) {
        None | Some(Unmeasured::Few { .. }) => {}
        Some(
            Unmeasured::Missing
            | Unmeasured::Starting
            | Unmeasured::Stale(_)
            | Unmeasured::Future(_)
            | Unmeasured::Flawed(_),
        ) => return None,
    }
    let reading = draft.world.usage.reading(node)?;
    let used = if resource == ResourceId::CPU { reading.cpu } else { reading.memory };
    draft.share(node, resource, used)
}

/// The pools of the strategies, those of LowNodeUtilization first.
///
/// Of two pools with the same name and basis, the first counts.
fn weighed_pools(draft: &Draft<'_>) -> Vec<WeighedPool> {
    let policy = draft.world.policy;
    let mut pools: Vec<WeighedPool> = Vec::new();
    for rule in policy.low_node_utilization() {
        let in_force = targets::in_force(draft, rule).into_iter();
        pools.extend(in_force.map(|in_force| WeighedPool { in_force, with_ending: true }));
    }
    for strategy in &policy.strategies {
        if let Rule::HighNodeUtilization(rule) = &strategy.rule {
            pools.extend(emptying_pools(draft, rule));
        }
    }
    if pools.is_empty() {
        let bases = [Basis::Actual, Basis::Requests];
        pools.extend(bases.map(|basis| WeighedPool::of_all(draft, ALL, basis)));
    }
    let mut seen = BTreeSet::new();
    pools.retain(|WeighedPool { in_force, .. }| {
        seen.insert((in_force.pool.clone(), in_force.basis.label()))
    });
    pools
}

/// The pools of HighNodeUtilization: its thresholds weigh its own basis, its ceilings always weigh
/// usage.
fn emptying_pools(draft: &Draft<'_>, rule: &HighNodeUtilization) -> Vec<WeighedPool> {
    let resources = &draft.world.snapshot.resources;
    let targets: ResourceRatios = resources.known(&rule.ceilings).collect();
    let mut own = WeighedPool::of_all(draft, DEFAULT, rule.basis);
    own.in_force.thresholds = resources.known(&rule.thresholds).collect();
    let judged = |node: &NodeId| targets::judged(draft, *node, &rule.thresholds);
    own.in_force.nodes.retain(judged);
    if rule.basis == Basis::Actual {
        own.in_force.targets = targets;
        return vec![own];
    }
    let mut pools = vec![own];
    if !targets.is_empty() {
        let mut usage = WeighedPool::of_all(draft, DEFAULT, Basis::Actual);
        usage.in_force.targets = targets;
        pools.push(usage);
    }
    pools
}

impl WeighedPool {
    /// All nodes that can be weighed, without thresholds.
    fn of_all(draft: &Draft<'_>, name: &str, basis: Basis) -> Self {
        WeighedPool {
            in_force: PoolInForce {
                pool: name.to_owned(),
                basis,
                nodes: targets::fit(draft, basis),
                thresholds: Rc::default(),
                targets: Rc::default(),
            },
            with_ending: false,
        }
    }

    const fn load(&self) -> CountedLoad {
        CountedLoad { basis: self.in_force.basis, with_ending: self.with_ending }
    }

    fn band(&self, draft: &Draft<'_>) -> BTreeMap<String, TargetBand> {
        let mut band: BTreeMap<String, TargetBand> = BTreeMap::new();
        for (resource, threshold) in self.in_force.thresholds.iter() {
            band.entry(name(draft, *resource)).or_default().threshold = Some(*threshold);
        }
        for (resource, target) in self.in_force.targets.iter() {
            band.entry(name(draft, *resource)).or_default().target = Some(*target);
        }
        band
    }

    fn report(&self, draft: &Draft<'_>, resources: &BTreeSet<ResourceId>) -> PoolPicture {
        let outside = self.outside(draft);
        let nodes = &self.in_force.nodes;
        let outside_share = outside.and_then(|count| Ratio::of_counts(count, nodes.len()));
        PoolPicture {
            name: self.in_force.pool.clone(),
            basis: self.in_force.basis,
            balance: balances(draft, nodes, self.load(), resources, outside_share),
            outside_band: outside,
            band: self.band(draft),
            nodes: nodes.len(),
        }
    }

    /// The number of nodes above a target, or at or below every threshold; `None` if there are
    /// neither.
    fn outside(&self, draft: &Draft<'_>) -> Option<usize> {
        let (pool, load) = (&self.in_force, self.load());
        if pool.thresholds.is_empty() && pool.targets.is_empty() {
            return None;
        }
        let outside = pool.nodes.iter().filter(|n| {
            let below = || draft.is_within(**n, &pool.thresholds, |r| load.ratio(draft, **n, r));
            pool.furthest_above(draft, **n).is_some() || below()
        });
        Some(outside.count())
    }
}

/// Cpu, memory, and every resource with a threshold or a target.
fn resources(pools: &[WeighedPool]) -> BTreeSet<ResourceId> {
    let pools = pools.iter().map(|pool| &pool.in_force);
    let limits = pools.flat_map(|pool| pool.thresholds.iter().chain(pool.targets.iter()));
    let named = limits.map(|(resource, _)| *resource);
    named.chain([ResourceId::CPU, ResourceId::MEMORY]).collect()
}

/// The share of nodes outside the thresholds and targets of the first LowNodeUtilization.
fn first_outside(draft: &Draft<'_>, pools: &[WeighedPool]) -> Option<Ratio> {
    let rule = draft.world.policy.low_node_utilization().next()?;
    let own = || pools.iter().take(rule.pools.len());
    let outside = own().filter_map(|pool| pool.outside(draft)).sum();
    Ratio::of_counts(outside, own().map(|pool| pool.in_force.nodes.len()).sum())
}

/// How even the nodes are, by resource. Nodes with an unknown ratio do not count.
fn balances(
    draft: &Draft<'_>,
    nodes: &[NodeId],
    load: CountedLoad,
    resources: &BTreeSet<ResourceId>,
    outside: Option<Ratio>,
) -> BTreeMap<String, Balance> {
    let mut balances = BTreeMap::new();
    for resource in resources {
        let ratios = nodes.iter().filter_map(|n| load.ratio(draft, *n, *resource));
        if let Some(balance) = balance(&ratios.collect::<Vec<_>>(), outside) {
            balances.insert(name(draft, *resource), balance);
        }
    }
    balances
}

/// How even ratios are; `None` if there are none.
pub fn balance(ratios: &[Ratio], outside_band: Option<Ratio>) -> Option<Balance> {
    let values: Vec<f64> = ratios.iter().map(|r| r.get()).collect();
    let mean = Ratio::new(Statistics::mean(&values))?;
    let deviation = Ratio::new(Statistics::population_std_dev(&values))?;
    let most = ratios.iter().copied().max_by(|a, b| a.order(*b))?;
    Some(Balance { mean, deviation, above_mean: most.minus(mean), outside_band })
}
