//! Scrambled names: equal names stay equal, and nothing of a real name is left.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

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
    Condition,
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
            NameKind::Scheduler => "scheduler-",
            NameKind::Address => "address-",
            NameKind::Part => "part-",
            NameKind::Uid => "uid-",
        }
    }

    /// Whether a name is kept, because every cluster has it and policies refer to it.
    fn keeps(self, name: &str) -> bool {
        match self {
            NameKind::Namespace => {
                ["default", "kube-system", "kube-public", "kube-node-lease"].contains(&name)
            }
            NameKind::Priority => {
                ["system-cluster-critical", "system-node-critical"].contains(&name)
            }
            NameKind::Scheduler => name == "default-scheduler",
            NameKind::Address => ["0.0.0.0", "127.0.0.1", "::"].contains(&name),
            NameKind::Key => KEYS.contains(&name),
            // Volumes without a provisioner are not provisioned where a pod lands.
            NameKind::Driver => name == "kubernetes.io/no-provisioner",
            // The empty name means no class.
            NameKind::Storage => name.is_empty(),
            NameKind::Kind => KINDS.contains(&name),
            // Only custom resources and conditions have a domain.
            NameKind::Resource => {
                !name.contains('/') || ["nvidia.com/gpu", "amd.com/gpu"].contains(&name)
            }
            NameKind::Condition => !name.contains('/'),
            NameKind::Node
            | NameKind::Pod
            | NameKind::ReplicaSet
            | NameKind::ReplicationController
            | NameKind::Job
            | NameKind::Workload
            | NameKind::Budget
            | NameKind::Service
            | NameKind::Claim
            | NameKind::Volume
            | NameKind::Attachment
            | NameKind::Container
            | NameKind::Image
            | NameKind::Value
            | NameKind::Part
            | NameKind::Uid => false,
        }
    }
}

/// Well-known keys of labels and taints:
/// <https://kubernetes.io/docs/reference/labels-annotations-taints/>, and the labels that
/// `model::snapshot::import` reads.
const KEYS: [&str; 39] = [
    "app.kubernetes.io/component",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/name",
    "app.kubernetes.io/part-of",
    "app.kubernetes.io/version",
    "batch.kubernetes.io/job-name",
    "controller-revision-hash",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "grove.io/podgang",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/metadata.name",
    "kubernetes.io/os",
    "jobset.sigs.k8s.io/jobset-name",
    "kueue.x-k8s.io/pod-group-name",
    "leaderworkerset.sigs.k8s.io/group-index",
    "leaderworkerset.sigs.k8s.io/name",
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/instance-type",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/network-unavailable",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/out-of-service",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/unschedulable",
    "pod-group.scheduling.sigs.k8s.io",
    "pod-group.scheduling.sigs.k8s.io/name",
    "pod-template-hash",
    "scheduling.x-k8s.io/pod-group",
    "statefulset.kubernetes.io/pod-name",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "apps.kubernetes.io/pod-index",
    "volcano.sh/job-name",
];

/// Kinds of Kubernetes that own other objects.
const KINDS: [&str; 9] = [
    "CronJob",
    "DaemonSet",
    "Deployment",
    "Job",
    "Node",
    "Pod",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
];

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
            // An image without a tag would get the implied tag `latest` and differ from itself.
            let tag = if kind == NameKind::Image { ":1" } else { "" };
            replacements.insert((kind, name), format!("{}{count}{tag}", kind.prefix()));
        }
        for (pod, set) in self.of_sets {
            let Some(ordinal) = ordinal(&pod, &set) else {
                continue;
            };
            if let Some(set) = replacements.get(&(NameKind::Workload, set)) {
                let name = format!("{set}-{ordinal}");
                replacements.insert((NameKind::Pod, pod), name);
            }
        }
        ScrambledNames { replacements, compared: self.compared }
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
        if real.is_empty() || kind.keeps(real) {
            return real.to_owned();
        }
        // Every name is collected before. If one were not, a wrong name is better than the real
        // one.
        self.replacements
            .get(&(kind, normalised(kind, real)))
            .cloned()
            .unwrap_or_else(|| format!("{}0", kind.prefix()))
    }
}

impl Renamer for ScrambledNames {
    fn name(&mut self, kind: NameKind, real: &str) -> String {
        self.replacement(kind, real)
    }

    fn value(&mut self, key: &str, real: &str) -> String {
        if self.compared.contains(key) && real.parse::<i64>().is_ok() {
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
