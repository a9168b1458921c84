//! `DefaultEvictor`: which pods may be evicted at all.

use jiff::SignedDuration;

use super::super::evictable::SYSTEM_CRITICAL;
use super::super::{Evictable, Names, PriorityThreshold, Protections, StorageClasses};
use super::{text, unless_empty};
use crate::schema::problem::Code;
use crate::schema::read::Fields;
use crate::schema::scalar::int32;

/// The rules of a profile that does not configure it.
pub(super) fn defaults() -> Evictable {
    Evictable {
        namespaces: Names::ALL,
        namespace_selector: None,
        pod_selector: None,
        priority_below: PriorityThreshold::Value(SYSTEM_CRITICAL),
        min_replicas: 1,
        min_pod_age: SignedDuration::ZERO,
        protected: DeprecatedFlags::default().protections(),
        destinations: None,
        node_fit: false,
    }
}

/// Reads the arguments of `DefaultEvictor`.
pub(super) fn evictable(f: &mut Fields<'_, '_>) -> Evictable {
    let priority_below = f.field("priorityThreshold").section(|f| threshold(f, "value", "name"));
    let mut evictable = Evictable {
        namespaces: Names::ALL,
        namespace_selector: f.field("namespaceLabelSelector").selector(),
        pod_selector: f.field("labelSelector").selector(),
        priority_below,
        // descheduler treats 0 and 1 alike: only a larger value protects small workloads.
        min_replicas: f.field("minReplicas").whole(0).unwrap_or(1).max(1),
        min_pod_age: f
            .field("minPodAge")
            .duration(SignedDuration::ZERO)
            .map_or(SignedDuration::ZERO, started),
        protected: protections(f),
        destinations: f.field("nodeSelector").text_selector(),
        node_fit: f.field("nodeFit").bool().unwrap_or(false),
    };
    // descheduler reads the selector where it looks for a node that fits, and nowhere else.
    if evictable.destinations.is_some() && !evictable.node_fit {
        evictable.destinations = None;
        let sentence = "it selects the nodes of `nodeFit`, which is off, so it has no effect, as in descheduler";
        f.warn(Code::Ignored, "nodeSelector", sentence);
    }
    let bounded = evictable.priority_below != PriorityThreshold::Value(SYSTEM_CRITICAL);
    // descheduler drops the threshold with `evictSystemCriticalPods`. We keep it outside the exact
    // mode, because it was written.
    if bounded && !evictable.protected.system_critical {
        let sentence = "the threshold applies although system-critical pods may be evicted; \
            descheduler would ignore it, and so does --exact";
        f.warn(Code::Ignored, "priorityThreshold", sentence);
    }
    evictable
}

/// The age that descheduler really requires: with any minimum, even zero, it also requires that the
/// pod has started. The shortest duration requires the same.
fn started(least: SignedDuration) -> SignedDuration {
    least.max(SignedDuration::from_nanos(1))
}

/// A priority, as a value or by the name of its class.
pub(super) fn threshold(
    f: &mut Fields<'_, '_>,
    value: &'static str,
    name: &'static str,
) -> PriorityThreshold {
    let expected = format!("a whole number up to {SYSTEM_CRITICAL}");
    let number = f.field(value).scalar(&expected, |node| {
        let number = int32(node)?;
        let allowed = number <= SYSTEM_CRITICAL;
        allowed.then_some(number).ok_or(Code::OutOfRange)
    });
    let class = text(f.field(name));
    if number.is_some() && class.is_some() {
        f.complain(
            Code::Conflict,
            name,
            format!("{value} and {name} exclude each other; keep one of them"),
        );
    }
    let otherwise = PriorityThreshold::Value(number.unwrap_or(SYSTEM_CRITICAL));
    class.map_or(otherwise, PriorityThreshold::Class)
}

/// The deprecated booleans of descheduler.
#[derive(Clone, Copy, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one field of the policy file")]
pub(super) struct DeprecatedFlags {
    pub(super) local_storage: bool,
    pub(super) daemon_sets: bool,
    pub(super) system_critical: bool,
    pub(super) failed_bare: bool,
    pub(super) keep_volumes: bool,
    pub(super) keep_without_budget: bool,
}

impl DeprecatedFlags {
    /// Reads the flags that both formats have.
    pub(super) fn read(f: &mut Fields<'_, '_>) -> Self {
        let mut flag = |name| f.field(name).bool().unwrap_or(false);
        DeprecatedFlags {
            local_storage: flag("evictLocalStoragePods"),
            daemon_sets: flag("evictDaemonSetPods"),
            system_critical: flag("evictSystemCriticalPods"),
            failed_bare: flag("evictFailedBarePods"),
            keep_volumes: flag("ignorePvcPods"),
            ..DeprecatedFlags::default()
        }
    }

    /// The protections that follow from these flags.
    pub(super) fn protections(self) -> Protections {
        Protections {
            local_storage: !self.local_storage,
            daemon_sets: !self.daemon_sets,
            system_critical: !self.system_critical,
            failed_bare: !self.failed_bare,
            persistent_volumes: self.keep_volumes.then_some(StorageClasses::Any),
            without_budget: self.keep_without_budget,
            resource_claims_exactly: Some(false),
            prefer_no_eviction: false,
            ..Protections::USUAL
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Protection {
    LocalStorage,
    DaemonSets,
    SystemCritical,
    FailedBare,
    Volumes,
    WithoutBudget,
    ResourceClaims,
}

const DEFAULT: [(&str, Protection); 4] = [
    ("PodsWithLocalStorage", Protection::LocalStorage),
    ("DaemonSetPods", Protection::DaemonSets),
    ("SystemCriticalPods", Protection::SystemCritical),
    ("FailedBarePods", Protection::FailedBare),
];
const EXTRA: [(&str, Protection); 3] = [
    ("PodsWithPVC", Protection::Volumes),
    ("PodsWithoutPDB", Protection::WithoutBudget),
    ("PodsWithResourceClaims", Protection::ResourceClaims),
];

/// The lists of `podProtections`.
struct ProtectionLists {
    disabled: Vec<Protection>,
    extra: Vec<Protection>,
    classes: Option<Vec<String>>,
}

fn protections(f: &mut Fields<'_, '_>) -> Protections {
    let mut old = DeprecatedFlags::read(f);
    old.keep_without_budget = f.field("ignorePodsWithoutPDB").bool().unwrap_or(false);
    let policies = [("Preferred", false), ("Mandatory", true)];
    let mandatory = unless_empty(f.field("noEvictionPolicy")).one_of(&policies).unwrap_or(false);
    let new = f.field("podProtections").section(protection_lists);
    let lists = !new.disabled.is_empty() || !new.extra.is_empty();
    if lists && old != DeprecatedFlags::default() {
        let sentence = "the lists of podProtections and the evict… and ignore… fields exclude each other; keep one of them";
        f.complain(Code::Conflict, "podProtections", sentence);
    }
    // Both together have been refused above, as descheduler does.
    let protected = if lists { new.protections() } else { old.protections() };
    Protections { prefer_no_eviction: mandatory, ..protected }
}

fn protection_lists(f: &mut Fields<'_, '_>) -> ProtectionLists {
    let disabled = protection_list(f, "defaultDisabled", &DEFAULT);
    let extra = protection_list(f, "extraEnabled", &EXTRA);
    let classes = f.field("config").section(|f| {
        f.field("PodsWithPVC").section(|f| {
            let what = "storage classes, each with a name";
            f.field("protectedStorageClasses").list(what, |item| {
                item.section(|f| f.required("name", "the name of a storage class").name())
            })
        })
    });
    let classes = classes.filter(|c| !c.is_empty());
    if classes.is_some() && !extra.contains(&Protection::Volumes) {
        let sentence = "no effect, because extraEnabled does not contain PodsWithPVC";
        f.warn(Code::Ignored, "config", sentence);
    }
    ProtectionLists { disabled, extra, classes }
}

fn protection_list(
    f: &mut Fields<'_, '_>,
    name: &'static str,
    allowed: &'static [(&'static str, Protection)],
) -> Vec<Protection> {
    let mut seen: Vec<Protection> = Vec::new();
    f.field(name)
        .list("protections", |item| {
            let place = item.place();
            let protection = item.one_of(allowed)?;
            Some((place, protection))
        })
        .into_iter()
        .flatten()
        .for_each(|(place, protection)| {
            if seen.contains(&protection) {
                f.complain_at(Code::RepeatedField, &place, "this item is repeated");
            }
            seen.push(protection);
        });
    seen
}

impl ProtectionLists {
    fn protections(self) -> Protections {
        let kept = |protection| !self.disabled.contains(&protection);
        let added = |protection| self.extra.contains(&protection);
        let classes = self.classes.map_or(StorageClasses::Any, StorageClasses::Named);
        Protections {
            local_storage: kept(Protection::LocalStorage),
            daemon_sets: kept(Protection::DaemonSets),
            system_critical: kept(Protection::SystemCritical),
            failed_bare: kept(Protection::FailedBare),
            persistent_volumes: added(Protection::Volumes).then_some(classes),
            without_budget: added(Protection::WithoutBudget),
            resource_claims_exactly: Some(added(Protection::ResourceClaims)),
            ..DeprecatedFlags::default().protections()
        }
    }
}
