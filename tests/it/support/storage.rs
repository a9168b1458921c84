//! Volumes in a text cluster.
//!
//! - `storage-class fast driver=ebs`: a class whose volumes wait for a pod, with `zones=a,b` only
//!   in these zones, with `immediate` for volumes that do not wait, and with `default` for claims
//!   without a class (the newest, by `created=2026-01-01T00:00:00Z`)
//! - node: `attach=ebs:2` (driver ebs attaches at most two volumes), `drivers=ebs,nfs` (without a
//!   limit; `drivers=` for a CSINode without drivers)
//! - pod: `volume=ebs` (a claim of its own, bound to a volume of this driver), `ephemeral=fast` (a
//!   generic ephemeral volume of this class; `-` for no class, `?` for the default one, also in
//!   `unbound=`),
//!   `inline=secrets` (an inline volume of this CSI driver),
//!   `claim` (a claim that does not exist), `unbound=fast` (a claim of its own, without a volume
//!   yet; with `selected=n3` the scheduler has chosen that node for it), `shares=ebs` (the claim
//!   `shared`, bound to a volume of this driver that one node can use at a time; with `one-pod` one
//!   pod)

use evenkeel::model::snapshot::facts::{
    Claim, CsiDrivers, EphemeralClaim, PodFacts, StorageClass, Volume,
};
use evenkeel::model::snapshot::objects::Object;
use evenkeel::values::selector::Selector;

use super::Words;

pub(super) fn class(words: &Words<'_>) -> Object {
    let zone = |zone: &str| Selector::parse(&format!("zone={zone}")).unwrap();
    let zones = words.get("zones").into_iter().flat_map(|z| z.split(','));
    let class = StorageClass {
        provisioner: words.get("driver").unwrap().to_owned(),
        waits: !words.has("immediate"),
        topologies: zones.map(zone).collect(),
        is_default: words.has("default"),
        created: words.get("created").map_or_else(Default::default, |t| t.parse().unwrap()),
    };
    Object::StorageClass(words.second.to_owned(), class)
}

/// Returns the CSINode of a node; `None` if the line says nothing about it.
pub(super) fn csi_node(words: &Words<'_>) -> Option<Object> {
    let limit = words.get("attach").and_then(|text| text.split_once(':'));
    let limit = limit.map(|(driver, count)| (driver.to_owned(), Some(count.parse().unwrap())));
    let others = words.get("drivers");
    let named = others.into_iter().flat_map(|text| text.split(','));
    let named = named.filter(|driver| !driver.is_empty());
    let drivers = limit.into_iter().chain(named.map(|driver| (driver.to_owned(), None)));
    let drivers: CsiDrivers = drivers.collect();
    (others.is_some() || !drivers.is_empty())
        .then(|| Object::CsiNode(words.second.to_owned(), drivers))
}

pub(super) fn claims(words: &Words<'_>, pod: &str) -> Vec<String> {
    if words.has("claim") {
        vec!["data".to_owned()]
    } else {
        let own = words.get("volume").or(words.get("unbound"));
        let own = own.map(|_| format!("{pod}-data"));
        let shared = words.get("shares").map(|_| "shared".to_owned());
        own.into_iter().chain(shared).collect()
    }
}

/// Returns the class that a claim names: `-` is no class, and `?` the default one.
fn class_name(text: &str) -> Option<String> {
    match text {
        "?" => None,
        "-" => Some(String::new()),
        class => Some(class.to_owned()),
    }
}

pub(super) fn ephemeral(words: &Words<'_>, pod: &str) -> Vec<EphemeralClaim> {
    let class = words.get("ephemeral");
    let claim = class
        .map(|class| EphemeralClaim { name: format!("{pod}-scratch"), class: class_name(class) });
    claim.into_iter().collect()
}

/// Returns the claim and the volume of `volume=` or `shares=`.
pub(super) fn bound(words: &Words<'_>, pod: &PodFacts) -> Vec<Object> {
    if let Some(class) = words.get("unbound") {
        let claim = Claim {
            class: class_name(class),
            selected_node: words.get("selected").map(str::to_owned),
            ..Claim::default()
        };
        let name = format!("{}-data", pod.name);
        return vec![Object::Claim((pod.namespace.clone(), name), claim)];
    }
    let own = words.get("volume").map(|driver| (driver, format!("{}-data", pod.name)));
    let shared = words.get("shares").map(|driver| (driver, "shared".to_owned()));
    let Some((driver, name)) = own.or(shared) else {
        return Vec::new();
    };
    let claim = Claim {
        volume: Some(name.clone()),
        one_node: words.get("shares").is_some() && !words.has("one-pod"),
        one_pod: words.has("one-pod"),
        ..Claim::default()
    };
    let volume = Volume { csi: Some((driver.to_owned(), name.clone())), ..Volume::default() };
    vec![Object::Claim((pod.namespace.clone(), name.clone()), claim), Object::Volume(name, volume)]
}
