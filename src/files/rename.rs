//! Scrambled names: equal names stay equal, and nothing of a real name is left.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use crate::model::snapshot::facts::{Owner, Volume};
use crate::model::snapshot::role_end;

use self::kept::KEPT_VALUES;

mod kept;

/// Kinds of names. Equal names of one kind stay equal; names of different kinds are unrelated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum NameKind {
    Node,
    Namespace,
    Pod,
    ReplicaSet,
    ReplicationController,
    Job,
    /// Deployments, StatefulSets and other owners of pods.
    Workload,
    /// Kinds of custom resources.
    Kind,
    /// API groups with their versions.
    Version,
    Budget,
    Service,
    Priority,
    Storage,
    Claim,
    Volume,
    Attachment,
    /// CSI drivers, which are the provisioners of storage classes.
    Driver,
    Container,
    Image,
    Key,
    Value,
    Resource,
    /// Types of conditions.
    Condition,
    /// Reasons of conditions.
    Reason,
    /// Values of annotations.
    Text,
    Scheduler,
    Address,
    /// Parts of an object that no other object refers to.
    Part,
    Uid,
}

impl NameKind {
    const fn prefix(self) -> &'static str {
        match self {
            NameKind::Node => "node-",
            NameKind::Namespace => "namespace-",
            NameKind::Pod => "pod-",
            NameKind::ReplicaSet => "replicaset-",
            NameKind::ReplicationController => "controller-",
            NameKind::Job => "job-",
            NameKind::Workload => "workload-",
            NameKind::Kind => "Kind",
            NameKind::Version => "example.com/v",
            NameKind::Budget => "budget-",
            NameKind::Service => "service-",
            NameKind::Priority => "priority-",
            NameKind::Storage => "storage-",
            NameKind::Claim => "claim-",
            NameKind::Volume => "volume-",
            NameKind::Attachment => "attachment-",
            NameKind::Driver => "driver-",
            NameKind::Container => "container-",
            NameKind::Image => "image-",
            NameKind::Key => "label-",
            NameKind::Value => "value-",
            NameKind::Resource => "example.com/resource-",
            NameKind::Condition => "example.com/condition-",
            NameKind::Reason => "Reason",
            NameKind::Text => "text-",
            NameKind::Scheduler => "scheduler-",
            NameKind::Address => "address-",
            NameKind::Part => "part-",
            NameKind::Uid => "uid-",
        }
    }

    /// The end of a replacement, which decisions read.
    fn suffix(self, real: &str) -> &'static str {
        if self == NameKind::Kind {
            return Owner::ending_of(real).unwrap_or_default();
        }
        if self == NameKind::Key {
            return role_end(real).or_else(|| Volume::place_end(real)).unwrap_or_default();
        }
        // An image without a tag would get the implied tag `latest` and differ from itself.
        if self == NameKind::Image { ":1" } else { "" }
    }
}

/// Replaces the names in an object.
pub(super) trait Renamer {
    /// Replaces a name.
    fn name(&mut self, kind: NameKind, real: &str) -> String;

    /// Replaces the value of a label or taint.
    fn value(&mut self, key: &str, real: &str) -> String;

    /// Takes note that the values of this label are compared as numbers.
    fn compare_as_numbers(&mut self, _key: &str) {}
}

/// Keeps all names.
pub(super) struct RealNames;

impl Renamer for RealNames {
    fn name(&mut self, _kind: NameKind, real: &str) -> String {
        real.to_owned()
    }

    fn value(&mut self, _key: &str, real: &str) -> String {
        real.to_owned()
    }
}

/// Collects all names and keeps them.
#[derive(Default)]
pub(super) struct NameCollector {
    names: BTreeSet<(NameKind, String)>,
    compared: BTreeSet<String>,
    /// The pods of StatefulSets, each with the name of its set.
    of_sets: BTreeSet<(String, String)>,
    /// The pods with generic ephemeral volumes, each with the name of one.
    with_volumes: BTreeSet<(String, String)>,
}

impl Renamer for NameCollector {
    fn name(&mut self, kind: NameKind, real: &str) -> String {
        let _ = self.names.insert((kind, normalised(kind, real)));
        real.to_owned()
    }

    fn value(&mut self, key: &str, real: &str) -> String {
        for part in parts(key, real) {
            self.name(value_kind(key), part);
        }
        real.to_owned()
    }

    fn compare_as_numbers(&mut self, key: &str) {
        self.compared.insert(key.to_owned());
    }
}

/// Replaces each collected name.
pub(super) struct ScrambledNames {
    replacements: BTreeMap<(NameKind, String), String>,
    compared: BTreeSet<String>,
}

impl NameCollector {
    /// Takes note that a StatefulSet owns a pod. The name of such a pod ends in its ordinal, which
    /// is the order in which the set starts its pods.
    pub(super) fn note_set(&mut self, pod: &str, set: &str) {
        let _ = self.of_sets.insert((pod.to_owned(), set.to_owned()));
    }

    /// Takes note that a pod has a generic ephemeral volume. The name of its claim is made of both
    /// names.
    pub(super) fn note_volume(&mut self, pod: &str, volume: &str) {
        let _ = self.with_volumes.insert((pod.to_owned(), volume.to_owned()));
    }

    /// Numbers the names of each kind in an order that depends on the seed. Alphabetical order
    /// would reveal something.
    pub(super) fn scramble(self, seed: u64) -> ScrambledNames {
        let mut shuffled: Vec<(NameKind, u64, String)> = self
            .names
            .into_iter()
            .map(|(kind, name)| {
                let mut hasher = DefaultHasher::new();
                // Sorting by a hash shuffles, and the same seed gives the same file.
                (seed, kind, &name).hash(&mut hasher);
                (kind, hasher.finish(), name)
            })
            .collect();
        shuffled.sort();
        let mut replacements = BTreeMap::new();
        let mut counts: BTreeMap<NameKind, usize> = BTreeMap::new();
        for (kind, _, name) in shuffled {
            let count = counts.entry(kind).or_default();
            *count += 1;
            let replacement = format!("{}{count}{}", kind.prefix(), kind.suffix(&name));
            replacements.insert((kind, name), replacement);
        }
        let mut names = ScrambledNames { replacements, compared: self.compared };
        for (pod, set) in self.of_sets {
            if let Some(ordinal) = ordinal(&pod, &set) {
                let name = format!("{}-{ordinal}", names.replacement(NameKind::Workload, &set));
                names.replacements.insert((NameKind::Pod, pod), name);
            }
        }
        for (pod, volume) in self.with_volumes {
            let [of_pod, of_volume] = [(NameKind::Pod, &pod), (NameKind::Part, &volume)]
                .map(|(kind, real)| names.replacement(kind, real));
            let claim = (NameKind::Claim, format!("{pod}-{volume}"));
            names.replacements.insert(claim, format!("{of_pod}-{of_volume}"));
        }
        names
    }
}

/// The ordinal in the name of a pod of a StatefulSet.
fn ordinal<'p>(pod: &'p str, set: &str) -> Option<&'p str> {
    let ordinal = pod.strip_prefix(set)?.strip_prefix('-')?;
    ordinal.parse::<u32>().is_ok().then_some(ordinal)
}

impl ScrambledNames {
    /// Returns the replacement of a name.
    pub(super) fn replacement(&self, kind: NameKind, real: &str) -> String {
        // Every name is collected before. If one were not, a wrong name is better than the real
        // one.
        self.find(kind, real).unwrap_or_else(|| format!("{}0", kind.prefix()))
    }

    /// Returns the replacement of a name; `None` if no object has a name of this kind.
    pub(super) fn find(&self, kind: NameKind, real: &str) -> Option<String> {
        if real.is_empty() || kind.keeps(real) {
            return Some(real.to_owned());
        }
        self.replacements.get(&(kind, normalised(kind, real))).cloned()
    }
}

impl Renamer for ScrambledNames {
    fn name(&mut self, kind: NameKind, real: &str) -> String {
        self.replacement(kind, real)
    }

    fn value(&mut self, key: &str, real: &str) -> String {
        let is_number = || real.parse::<i64>().is_ok();
        if KEPT_VALUES.contains(&key) || self.compared.contains(key) && is_number() {
            return real.to_owned();
        }
        let replacements: Vec<String> =
            parts(key, real).into_iter().map(|part| self.name(value_kind(key), part)).collect();
        replacements.join(ZONE_SEPARATOR)
    }
}

/// Separates the zones in the label of a volume that is in several.
const ZONE_SEPARATOR: &str = "__";

fn parts<'v>(key: &str, value: &'v str) -> Vec<&'v str> {
    if key.ends_with("/zone") || key.ends_with("/region") {
        value.split(ZONE_SEPARATOR).collect()
    } else {
        vec![value]
    }
}

/// The kind of the values of a label.
fn value_kind(key: &str) -> NameKind {
    match key {
        "kubernetes.io/hostname" => NameKind::Node,
        "kubernetes.io/metadata.name" => NameKind::Namespace,
        "statefulset.kubernetes.io/pod-name" => NameKind::Pod,
        "batch.kubernetes.io/job-name" => NameKind::Job,
        _ => NameKind::Value,
    }
}

/// A name as it is compared: an image without a tag has the implied tag `latest`.
fn normalised(kind: NameKind, real: &str) -> String {
    if kind == NameKind::Image && !has_tag(real) {
        format!("{real}:latest")
    } else {
        real.to_owned()
    }
}

fn has_tag(image: &str) -> bool {
    let last = image.rsplit('/').next().unwrap_or_default();
    last.contains([':', '@'])
}

#[cfg(test)]
mod tests;
