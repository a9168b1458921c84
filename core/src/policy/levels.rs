//! Thresholds: a percentage for each resource, and the comparison of lower with upper ones.

use serde_json::json;

use super::Thresholds;
use crate::schema::item::Item;
use crate::schema::kind::{Kind, ratio_item};
use crate::schema::problem::Code;
use crate::schema::read::{Fields, Place, Spot};
use crate::schema::tree::Value;
use crate::values::Ratio;

/// The expected value of a field with thresholds. descheduler does not accept percent signs.
pub(super) const THRESHOLDS: &str = "a percentage for each resource, such as {cpu: 30, memory: 40}";

/// The threshold of one resource, and its place in the file.
#[derive(Clone)]
pub(super) struct Level {
    resource: String,
    share: Ratio,
    place: Place,
}

/// The lower and upper thresholds of a pool, as far as the file gives them.
#[derive(Clone, Default)]
pub(super) struct PoolLevels {
    pub(super) thresholds: Option<Vec<Level>>,
    pub(super) targets: Option<Vec<Level>>,
}

/// Thresholds without their places.
pub(super) fn plain(levels: Vec<Level>) -> Thresholds {
    levels.into_iter().map(|l| (l.resource, l.share)).collect()
}

/// Thresholds that come from no file.
pub(super) fn placeless(thresholds: &Thresholds) -> Vec<Level> {
    let levels = thresholds.iter().map(|(resource, share)| Level {
        resource: resource.clone(),
        share: *share,
        place: Place::START,
    });
    levels.collect()
}

/// Thresholds that the caller compares with others.
pub(super) fn levels() -> Kind<Option<Vec<Level>>> {
    let write = |levels: &Option<Vec<Level>>| {
        let levels = levels.as_ref()?.iter();
        let fields = levels.map(|l| (l.resource.clone(), ratio_item(l.share)));
        Some(Item::Map(fields.collect()))
    };
    let schema = json!({"$ref": "#/$defs/thresholds"});
    Kind::new("percentages by resource", schema, |spot| read(spot).map(Some), write)
}

/// Thresholds that stand alone; an empty list is left out.
pub(super) fn thresholds() -> Kind<Thresholds> {
    let write = |thresholds: &Thresholds| {
        let fields =
            thresholds.iter().map(|(resource, share)| (resource.clone(), ratio_item(*share)));
        (!thresholds.is_empty()).then(|| Item::Map(fields.collect()))
    };
    let schema = json!({"$ref": "#/$defs/thresholds"});
    Kind::new("percentages by resource", schema, |spot| read(spot).map(plain), write)
}

/// Reads thresholds, sorted by resource; `None` unless every one of them is valid.
pub(super) fn read(spot: Spot<'_, '_>) -> Option<Vec<Level>> {
    if spot
        .node()
        // Without thresholds every node would count as underused.
        .is_some_and(|n| n.value == Value::Map(Vec::new()))
    {
        return spot.refuse(Code::OutOfRange, "at least one resource, such as {cpu: 30}");
    }
    let mut written = 0;
    let mut levels = spot.each("resources and percentages, such as {cpu: 30}", |entry, spot| {
        written += 1;
        if !is_resource(&entry.key) {
            let sentence = "not the name of a resource; these are cpu, memory, pods, ephemeral-storage, hugepages-… and names with a slash, such as nvidia.com/gpu";
            return spot.at_key().complain(Code::UnknownField, sentence);
        }
        let place = spot.place();
        let resource = entry.key.clone();
        let share = spot.percent()?;
        Some(Level { resource, share, place })
    })?;
    levels.sort_by(|a, b| a.resource.cmp(&b.resource));
    // A part of the thresholds must not be compared: the missing ones would be reported again.
    (levels.len() == written).then_some(levels)
}

fn is_resource(name: &str) -> bool {
    let extended =
        name.split_once('/').is_some_and(|(domain, rest)| !domain.is_empty() && !rest.is_empty());
    ["cpu", "memory", "pods", "ephemeral-storage"].contains(&name)
        || name.starts_with("hugepages-")
        || extended
}

/// Both levels must have the same resources, and no threshold may be above its target. A problem
/// with a threshold that is inherited from before `here` is reported at `here`.
pub(super) fn compare(f: &mut Fields<'_, '_>, levels: &PoolLevels, deviation: bool, here: &Place) {
    let (Some(thresholds), Some(targets)) = (&levels.thresholds, &levels.targets) else {
        return;
    };
    same_resources(f, thresholds, targets, "targetThresholds", here);
    same_resources(f, targets, thresholds, "thresholds", here);
    // Deviations are distances from the mean in both directions, so either may be the larger one.
    for level in thresholds.iter().filter(|_| !deviation) {
        let target = targets.iter().find(|t| t.resource == level.resource && t.share < level.share);
        if let Some(target) = target {
            let sentence =
                format!("a threshold of {} is above its target of {}", level.share, target.share);
            // The later of both is the one that the user most likely has just written.
            let later = (&level.place).max(&target.place);
            f.complain_at(Code::Conflict, &blamed(later, here), sentence);
        }
    }
}

fn same_resources(
    f: &mut Fields<'_, '_>,
    some: &[Level],
    others: &[Level],
    name: &str,
    here: &Place,
) {
    for level in some.iter().filter(|l| others.iter().all(|o| o.resource != l.resource)) {
        let sentence = format!("{} is not in {name}; both need the same resources", level.resource);
        f.complain_at(Code::Conflict, &blamed(&level.place, here), sentence);
    }
}

fn blamed(place: &Place, here: &Place) -> Place {
    let inherited = place.at < here.at;
    if inherited { here.clone() } else { place.clone() }
}
