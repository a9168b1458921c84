//! The strategies of the native format, each with its arguments.

use jiff::SignedDuration;

use super::native::basis;
use super::problem::{Code, Position};
use super::read::{Fields, Spot};
use super::tree::Value;
use super::{Basis, LowNodeUtilization, Names, Pool, Rule, Strategy, Thresholds};
use crate::selector::Selector;
use crate::units::Ratio;

type Reader = fn(Spot<'_, '_>, Basis) -> Rule;

/// The strategies by the names that a policy gives them.
const STRATEGIES: [(&str, Reader); 1] = [("lowNodeUtilization", low_node_utilization)];

/// The pool of a strategy's own thresholds.
const DEFAULT_POOL: &str = "default";

/// Reads one item of the list of strategies.
pub(super) fn strategy(item: Spot<'_, '_>, basis: Basis) -> Option<Strategy> {
    let (read, arguments) = item.choice("strategy", &STRATEGIES)?;
    Some(Strategy { profile: 0, rule: read(arguments, basis) })
}

fn low_node_utilization(spot: Spot<'_, '_>, default: Basis) -> Rule {
    Rule::LowNodeUtilization(spot.section(|f| {
        let basis = basis(f.field("basis")).unwrap_or(default);
        let deviation = f.field("useDeviationThresholds").bool().unwrap_or(false);
        LowNodeUtilization {
            basis,
            pools: pools(f, deviation),
            deviation,
            number_of_nodes: f.field("numberOfNodes").whole(0).unwrap_or(0),
            sustained_for: f
                .field("sustainedFor")
                .duration(SignedDuration::ZERO)
                .unwrap_or(SignedDuration::from_mins(2)),
            evictable_namespaces: f.field("evictableNamespaces").names_in_or_out().unwrap_or(Names::ALL),
            per_node: f.field("evictionLimits").section(|f| f.field("node").limit()).unwrap_or(None),
        }
    }))
}

/// Both bounds of a pool, as far as the file gives them.
struct Bounds {
    low: Option<Vec<Level>>,
    high: Option<Vec<Level>>,
}

/// The bound of one resource, and where it stands.
#[derive(Clone)]
struct Level {
    resource: String,
    share: Ratio,
    place: (Position, String),
}

/// The named pools, and last the one of the strategy's own thresholds.
fn pools(f: &mut Fields<'_, '_>, deviation: bool) -> Vec<Pool> {
    let own = ["thresholds", "targetThresholds"].iter().any(|name| f.has(name));
    let bounds = bounds(f, own || !f.has("nodePools"), None);
    let selector = f.field("nodeSelector").selector();
    if selector.is_some() && !own && f.has("nodePools") {
        let sentence = "this selects the nodes of the thresholds beside it, of which there are none";
        f.complain(Code::Conflict, "nodeSelector", sentence);
    }
    compare(f, &bounds, deviation);
    let inherited = own.then_some(&bounds);
    let mut names = Vec::new();
    let pools = f
        .field("nodePools")
        .list("node pools", |item| item.section(|f| named_pool(f, inherited, deviation, &mut names)));
    let mut pools = pools.unwrap_or_default();
    if f.has("nodePools") && !own && pools.is_empty() && f.sound() {
        f.complain(
            Code::OutOfRange,
            "nodePools",
            "without thresholds of the strategy's own there must be at least one pool",
        );
    }
    pools.extend(pool(DEFAULT_POOL.to_owned(), selector, bounds));
    pools
}

fn named_pool(
    f: &mut Fields<'_, '_>,
    inherited: Option<&Bounds>,
    deviation: bool,
    names: &mut Vec<String>,
) -> Option<Pool> {
    let name = f.required("name", "a name, to be shown in plans").name();
    if name.as_deref() == Some(DEFAULT_POOL) || name.as_ref().is_some_and(|n| names.contains(n)) {
        f.complain(
            Code::Conflict,
            "name",
            "another pool has this name; `default` is that of the strategy's own thresholds",
        );
    }
    names.extend(name.clone());
    let selector = f.required("nodeSelector", "a label selector, such as pool=gpu").selector();
    let bounds = bounds(f, inherited.is_none(), inherited);
    if f.has("thresholds") || f.has("targetThresholds") {
        compare(f, &bounds, deviation);
    }
    pool(name?, selector, bounds)
}

fn pool(name: String, selector: Option<Selector>, bounds: Bounds) -> Option<Pool> {
    let plain = |levels: Vec<Level>| levels.into_iter().map(|l| (l.resource, l.share)).collect::<Thresholds>();
    Some(Pool { name, selector, thresholds: plain(bounds.low?), targets: plain(bounds.high?) })
}

fn bounds(f: &mut Fields<'_, '_>, required: bool, inherited: Option<&Bounds>) -> Bounds {
    let mut read = |name| {
        let what = "a percentage for each resource, such as {cpu: 30%, memory: 40%}";
        levels(if required { f.required(name, what) } else { f.field(name) })
    };
    let (low, high) = (read("thresholds"), read("targetThresholds"));
    Bounds {
        low: low.or_else(|| inherited.and_then(|b| b.low.clone())),
        high: high.or_else(|| inherited.and_then(|b| b.high.clone())),
    }
}

/// A percentage for each resource, by name; nothing unless every one of them can be read.
fn levels(spot: Spot<'_, '_>) -> Option<Vec<Level>> {
    let mut written = 0;
    if spot.node().is_some_and(|n| n.value == Value::Map(Vec::new())) {
        return spot.refuse(Code::OutOfRange, "at least one resource, such as {cpu: 30%}");
    }
    let mut levels = spot.each("resources and percentages, such as {cpu: 30%}", |entry, spot| {
        written += 1;
        if !is_resource(&entry.key) {
            let sentence = "not the name of a resource; these are cpu, memory, pods, ephemeral-storage, hugepages-… \
                            and names with a slash, such as nvidia.com/gpu";
            return spot.complain(Code::UnknownField, sentence);
        }
        let place = spot.place();
        Some(Level { resource: entry.key.clone(), share: spot.percent()?, place })
    })?;
    levels.sort_by(|a, b| a.resource.cmp(&b.resource));
    (levels.len() == written).then_some(levels)
}

fn is_resource(name: &str) -> bool {
    let extended = name.split_once('/').is_some_and(|(domain, rest)| !domain.is_empty() && !rest.is_empty());
    ["cpu", "memory", "pods", "ephemeral-storage"].contains(&name) || name.starts_with("hugepages-") || extended
}

/// Both bounds must be of the same resources, and the lower one not above the upper one.
fn compare(f: &mut Fields<'_, '_>, bounds: &Bounds, deviation: bool) {
    let (Some(low), Some(high)) = (&bounds.low, &bounds.high) else { return };
    for (one, other, name) in [(low, high, "targetThresholds"), (high, low, "thresholds")] {
        for level in one.iter().filter(|l| other.iter().all(|o| o.resource != l.resource)) {
            let sentence = format!("{name} has no {}; both need the same resources", level.resource);
            f.complain_at(Code::Conflict, level.place.clone(), sentence);
        }
    }
    // Distances from the mean go to both sides of it, so either may be the larger.
    for level in low.iter().filter(|_| !deviation) {
        let target = high.iter().find(|h| h.resource == level.resource && h.share < level.share);
        if let Some(target) = target {
            let sentence = format!(
                "{} is above the targetThreshold, {}; a node would be idle and hot at once",
                level.share, target.share
            );
            f.complain_at(Code::Conflict, level.place.clone(), sentence);
        }
    }
}
