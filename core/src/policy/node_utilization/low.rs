//! The arguments of lowNodeUtilization.

use jiff::SignedDuration;

use super::{BASES_AGAIN, evictable_namespaces};
use crate::policy::levels::{
    PoolLevels, THRESHOLDS, compare, levels, placeless, plain, read as read_levels,
};
use crate::policy::{Basis, LowNodeUtilization, Names, Pool};
use crate::schema::item::Item;
use crate::schema::kind::{
    Kind, boolean, choice, duration, limit, selector, selector_item, text, whole,
};
use crate::schema::problem::Code;
use crate::schema::read::{Fields, Place};
use crate::schema::section::{Section, map, maps};
use crate::values::selector::Selector;

/// The pool of a strategy's own thresholds.
const DEFAULT_POOL: &str = "default";

/// The arguments of lowNodeUtilization as they are written.
#[derive(Clone)]
pub(in crate::policy) struct LowArguments {
    basis: Basis,
    levels: PoolLevels,
    deviation: bool,
    number_of_nodes: Option<u32>,
    sustained_for: SignedDuration,
    selector: Option<Selector>,
    pools: Vec<PoolArguments>,
    evictable_namespaces: Names,
    limits: EvictionLimits,
}

/// An item of `nodePools`.
#[derive(Clone, Default)]
struct PoolArguments {
    name: String,
    selector: Option<Selector>,
    levels: PoolLevels,
    /// Whether the pool has thresholds and targets of its own, valid or not.
    written: (bool, bool),
    /// The places of the pool and of its name; `None` for an item that is not a map.
    places: Option<(Place, Place)>,
}

#[derive(Clone, Default)]
struct EvictionLimits {
    node: Option<u32>,
}

/// Declares lowNodeUtilization.
pub(in crate::policy) fn low(basis: Basis) -> Section<LowArguments> {
    let section = Section::new(LowArguments {
        basis,
        levels: PoolLevels::default(),
        deviation: false,
        number_of_nodes: None,
        sustained_for: SignedDuration::ZERO,
        selector: None,
        pools: Vec::new(),
        evictable_namespaces: Names::ALL,
        limits: EvictionLimits::default(),
    });
    low_scope(low_pools(low_conditions(low_thresholds(section)))).check(check_low)
}

fn low_thresholds(section: Section<LowArguments>) -> Section<LowArguments> {
    section
        .field("basis", choice(&BASES_AGAIN), |r| &mut r.basis)
        .help(
            "The usage that this strategy compares; the default is `basis` above. Resources other than cpu and memory are always compared by requests, because their usage is not measured.",
        )
        .always_written()
        .field("thresholds", levels(), |r| &mut r.levels.thresholds)
        .help(
            "A node at or below all of these is underused and may receive pods. There is no default. Resources are cpu, memory, pods, ephemeral-storage, hugepages-2Mi and similar ones, and extended resources such as nvidia.com/gpu.",
        )
        .shown_as("{cpu: 30%, memory: 40%}")
        .field("targetThresholds", levels(), |r| &mut r.levels.targets)
        .help(
            "A node above any of these is hot and gives pods. The same resources, and none below its threshold.",
        )
        .shown_as("{cpu: 60%, memory: 70%}")
        .field("useDeviationThresholds", boolean(), |r| &mut r.deviation)
        .help(
            "Read thresholds and targets as distances from the mean of the nodes: a node is underused below the mean minus the threshold, and hot above the mean plus the target.",
        )
}

fn low_conditions(section: Section<LowArguments>) -> Section<LowArguments> {
    section
        .field("numberOfNodes", whole(0).optional(), |r| &mut r.number_of_nodes)
        .help(
            "Act only if more nodes than this are underused. By default no node has to be: a pod moves wherever the forecast finds a good place for it.",
        )
        .off("0")
        .field("sustainedFor", duration(SignedDuration::ZERO), |r| &mut r.sustained_for)
        .help(
            "A node is hot only after it has been above a target for this long; by default at once, because the trend of its usage follows no peak of a few minutes. No effect on requests, which do not fluctuate.",
        )
}

fn low_pools(section: Section<LowArguments>) -> Section<LowArguments> {
    section
        .field("nodeSelector", selector(), |r| &mut r.selector)
        .help(
            "The nodes that the thresholds above are for. An empty selector means all nodes that are in no pool below.",
        )
        .field("nodePools", maps("node pools", pool()), |r| &mut r.pools)
        .help(
            "Groups of nodes that are balanced separately. A node belongs to the first pool that selects it. A pool needs a name and a nodeSelector. It takes missing thresholds and targets from above. Without thresholds above, nodes in no pool are left alone.",
        )
        .off(
            "\n- {name: gpu, nodeSelector: pool=gpu, thresholds: {nvidia.com/gpu: 50%}, targetThresholds: {nvidia.com/gpu: 90%}}",
        )
}

fn low_scope(section: Section<LowArguments>) -> Section<LowArguments> {
    let limits = Section::new(EvictionLimits::default())
        .field("node", limit(), |l| &mut l.node)
        .help("Evictions by this strategy from one node in one cycle.");
    evictable_namespaces(section, |r| &mut r.evictable_namespaces)
        .field("evictionLimits", map(limits), |r| &mut r.limits)
        .help("Limits of this strategy alone.")
}

fn pool() -> Section<PoolArguments> {
    Section::new(PoolArguments::default())
        .field("name", text(), |p| &mut p.name)
        .help("The name in plans.")
        .required("a name, to be shown in plans")
        .field("nodeSelector", pool_selector(), |p| &mut p.selector)
        .help("The nodes of the pool.")
        .required("a label selector, such as pool=gpu")
        .always_written()
        .field("thresholds", levels(), |p| &mut p.levels.thresholds)
        .help("As above.")
        .field("targetThresholds", levels(), |p| &mut p.levels.targets)
        .help("As above.")
        .check(|f, p| {
            p.written = (f.has("thresholds"), f.has("targetThresholds"));
            p.places = f.place().map(|place| (place, f.place_of("name")));
        })
}

/// A selector that is written also where it selects everything, because a pool needs it.
fn pool_selector() -> Kind<Option<Selector>> {
    let write = |s: &Option<Selector>| Some(s.as_ref().map_or(Item::text(""), selector_item));
    Kind { write: Box::new(write), ..selector() }
}

fn check_low(f: &mut Fields<'_, '_>, low: &mut LowArguments) {
    let own = f.has("thresholds") || f.has("targetThresholds");
    if own || !f.has("nodePools") {
        f.require("thresholds", THRESHOLDS);
        f.require("targetThresholds", THRESHOLDS);
    }
    compare(f, &low.levels, low.deviation, &Place::START);
    if low.basis == Basis::Requests && !low.sustained_for.is_zero() {
        f.warn(Code::Ignored, "sustainedFor", "has no effect on requests");
    }
    let mut names: Vec<String> = Vec::new();
    for pool in &mut low.pools {
        check_pool(f, pool, own.then_some(&low.levels), low.deviation, &names);
        names.push(pool.name.clone());
    }
    if !own && f.has("nodePools") {
        if low.selector.is_some() {
            let sentence =
                "this selects the nodes of the strategy's own thresholds, which are missing";
            f.complain(Code::Conflict, "nodeSelector", sentence);
        }
        if low.pools.is_empty() && f.sound() {
            let sentence = "there is no pool here, and the strategy has no thresholds of its own";
            f.complain(Code::OutOfRange, "nodePools", sentence);
        }
    }
}

/// Checks a pool, and fills in the thresholds that it inherits. `names` are those of the pools
/// before it.
fn check_pool(
    f: &mut Fields<'_, '_>,
    pool: &mut PoolArguments,
    inherited: Option<&PoolLevels>,
    deviation: bool,
    names: &[String],
) {
    let Some((place, name_place)) = pool.places.clone() else {
        return;
    };
    if pool.name == DEFAULT_POOL || (!pool.name.is_empty() && names.contains(&pool.name)) {
        let sentence =
            "another pool has this name; `default` is the pool of the strategy's own thresholds";
        f.complain_at(Code::Conflict, &name_place, sentence);
    }
    let (low_written, high_written) = pool.written;
    let Some(inherited) = inherited else {
        for (written, name) in [(low_written, "thresholds"), (high_written, "targetThresholds")] {
            if !written {
                f.complain_missing_below(&place, name, THRESHOLDS);
            }
        }
        return compare(f, &pool.levels, deviation, &place);
    };
    // A field that is written but invalid is not replaced, because the comparison would report it
    // again.
    if !low_written {
        pool.levels.thresholds.clone_from(&inherited.thresholds);
    }
    if !high_written {
        pool.levels.targets.clone_from(&inherited.targets);
    }
    if low_written || high_written {
        compare(f, &pool.levels, deviation, &place);
    }
}

impl From<LowArguments> for LowNodeUtilization {
    /// The named pools come first, the pool of the strategy's own thresholds last.
    fn from(low: LowArguments) -> Self {
        let own = build_pool(DEFAULT_POOL.to_owned(), low.selector, low.levels);
        let named = low.pools.into_iter();
        let named = named.filter_map(|p| build_pool(p.name, p.selector, p.levels));
        LowNodeUtilization {
            basis: low.basis,
            pools: named.chain(own).collect(),
            deviation: low.deviation,
            number_of_nodes: low.number_of_nodes,
            sustained_for: low.sustained_for,
            evictable_namespaces: low.evictable_namespaces,
            per_node: low.limits.node,
        }
    }
}

impl From<&LowNodeUtilization> for LowArguments {
    fn from(rule: &LowNodeUtilization) -> Self {
        let own = rule.pools.iter().find(|pool| pool.name == DEFAULT_POOL);
        let named = rule.pools.iter().filter(|pool| pool.name != DEFAULT_POOL);
        LowArguments {
            basis: rule.basis,
            levels: own.map(levels_of).unwrap_or_default(),
            deviation: rule.deviation,
            number_of_nodes: rule.number_of_nodes,
            sustained_for: rule.sustained_for,
            selector: own.and_then(|pool| pool.selector.clone()),
            pools: named.map(PoolArguments::of).collect(),
            evictable_namespaces: rule.evictable_namespaces.clone(),
            limits: EvictionLimits { node: rule.per_node },
        }
    }
}

impl PoolArguments {
    fn of(pool: &Pool) -> Self {
        PoolArguments {
            name: pool.name.clone(),
            selector: pool.selector.clone(),
            levels: levels_of(pool),
            ..PoolArguments::default()
        }
    }
}

fn levels_of(pool: &Pool) -> PoolLevels {
    PoolLevels {
        thresholds: Some(placeless(&pool.thresholds)),
        targets: Some(placeless(&pool.targets)),
    }
}

fn build_pool(name: String, selector: Option<Selector>, levels: PoolLevels) -> Option<Pool> {
    Some(Pool {
        name,
        selector,
        thresholds: plain(levels.thresholds?),
        targets: plain(levels.targets?),
    })
}

/// Reads the thresholds of a policy that has one pool of all nodes.
pub(in crate::policy) fn only_pool(f: &mut Fields<'_, '_>, deviation: bool) -> Vec<Pool> {
    let thresholds = read_levels(f.required("thresholds", THRESHOLDS));
    let targets = read_levels(f.required("targetThresholds", THRESHOLDS));
    let levels = PoolLevels { thresholds, targets };
    compare(f, &levels, deviation, &Place::START);
    build_pool(DEFAULT_POOL.to_owned(), None, levels).into_iter().collect()
}
