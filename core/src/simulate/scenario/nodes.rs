//! The nodes of a scenario file: groups of identical nodes.

use jiff::SignedDuration;

use crate::model::snapshot::facts::{Effect, Taint};
use crate::model::usage::Measure;
use crate::schema::problem::Code;
use crate::schema::read::{Fields, Spot};
use crate::values::Amount;
use crate::values::selector::Labels;

use super::NodeSpec;
use super::fields::{amounts, labels, object_name, quantity};

const GIB: u64 = 1 << 30;

pub(super) fn read(spot: Spot<'_, '_>) -> Vec<NodeSpec> {
    let groups = spot.list("nodes", |item| Some(item.section(group)));
    groups.unwrap_or_default().into_iter().flatten().collect()
}

fn group(f: &mut Fields<'_, '_>) -> Vec<NodeSpec> {
    let name = object_name(f.required("name", "a name")).unwrap_or_default();
    let count = f.field("count").whole(1);
    let first = f.field("first").whole(0).unwrap_or(1);
    let zones = f.field("zones").names().unwrap_or_default();
    let like = one(f);
    let Some(count) = count else {
        return vec![named(&like, name, zones.first())];
    };
    let zone = |i: u32| zones.get(usize::try_from(i).unwrap_or_default() % zones.len().max(1));
    // The check of the number of nodes comes later. This bound keeps a mistake from taking all
    // memory.
    (0..count.min(10_000))
        .map(|i| named(&like, format!("{name}{}", first.saturating_add(i)), zone(i)))
        .collect()
}

/// Creates a node of the group without its own fields.
fn one(f: &mut Fields<'_, '_>) -> NodeSpec {
    let cpu = quantity(f.field("cpu"), "cpu").unwrap_or(Amount::millicores(8000));
    let memory = quantity(f.field("memory"), "memory").unwrap_or(Amount::new(32 * GIB));
    let pods = f.field("pods").whole(1).unwrap_or(110);
    let mut allocatable = vec![
        ("cpu".to_owned(), cpu),
        ("memory".to_owned(), memory),
        ("pods".to_owned(), Amount::new(u64::from(pods))),
    ];
    allocatable.extend(amounts(f.field("resources")));
    let base = f.field("base").section(|f| Measure {
        cpu: quantity(f.field("cpu"), "cpu").unwrap_or_default(),
        memory: quantity(f.field("memory"), "memory").unwrap_or_default(),
    });
    let mut when = |name| f.field(name).duration(SignedDuration::ZERO);
    let (joins, fails, drains, recovers) =
        (when("joins"), when("fails"), when("drains"), when("recovers"));
    let (labels, taints) = (labels(f.field("labels")), taints(f.field("taints")));
    let first = fails.into_iter().chain(drains).min();
    if joins.zip(first).is_some_and(|(joins, first)| first < joins) {
        f.complain(Code::Conflict, "joins", "must not be later than fails and drains");
    }
    // `None` is less than any time, so one of them is enough.
    let begin = fails.max(drains);
    if recovers.is_some() && begin.is_none() {
        f.complain(Code::Conflict, "recovers", "requires fails or drains");
    } else if recovers.zip(begin).is_some_and(|(recovers, begin)| recovers <= begin) {
        f.complain(Code::Conflict, "recovers", "must be later than fails and drains");
    }
    NodeSpec {
        name: String::new(),
        labels,
        taints,
        allocatable,
        base,
        joins,
        fails,
        drains,
        recovers,
    }
}

fn named(like: &NodeSpec, name: String, zone: Option<&String>) -> NodeSpec {
    let mut labels = Labels::from([
        ("kubernetes.io/hostname".to_owned(), name.clone()),
        ("kubernetes.io/os".to_owned(), "linux".to_owned()),
    ]);
    labels.extend(zone.map(|zone| ("topology.kubernetes.io/zone".to_owned(), zone.clone())));
    // Last, so that the file can override the generated labels.
    labels.extend(like.labels.clone());
    NodeSpec { name, labels, ..like.clone() }
}

fn taints(spot: Spot<'_, '_>) -> Vec<Taint> {
    spot.list("taints", |item| item.section(taint)).unwrap_or_default()
}

fn taint(f: &mut Fields<'_, '_>) -> Option<Taint> {
    let key = f.required("key", "the key of the taint").name();
    let value = f.field("value").name().unwrap_or_default();
    let effect = effect(f.required("effect", "NoSchedule, PreferNoSchedule or NoExecute"));
    Some(Taint { key: key?, value, effect: effect? })
}

/// Parses the effect of a taint.
pub(super) fn effect(spot: Spot<'_, '_>) -> Option<Effect> {
    spot.one_of(&[
        ("NoSchedule", Effect::NoSchedule),
        ("PreferNoSchedule", Effect::PreferNoSchedule),
        ("NoExecute", Effect::NoExecute),
    ])
}
