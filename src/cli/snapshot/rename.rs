//! Made-up names: the same for the same, and nothing of the real ones in them.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

/// Sorts of names. Two names of one sort that are equal stay equal; those of different sorts have nothing in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Space {
    Node,
    Namespace,
    Pod,
    ReplicaSet,
    ReplicationController,
    Job,
    /// Deployments, StatefulSets and whatever else owns pods.
    Workload,
    /// Kinds that are not part of Kubernetes.
    Kind,
    Budget,
    Service,
    Priority,
    Storage,
    Claim,
    Volume,
    Container,
    Image,
    Key,
    Value,
    Resource,
    Condition,
    Scheduler,
    Address,
    /// Parts of an object that nothing outside of it refers to.
    Part,
    Uid,
}

impl Space {
    const fn prefix(self) -> &'static str {
        match self {
            Space::Node => "node-",
            Space::Namespace => "namespace-",
            Space::Pod => "pod-",
            Space::ReplicaSet => "replicaset-",
            Space::ReplicationController => "controller-",
            Space::Job => "job-",
            Space::Workload => "workload-",
            Space::Kind => "Kind",
            Space::Budget => "budget-",
            Space::Service => "service-",
            Space::Priority => "priority-",
            Space::Storage => "storage-",
            Space::Claim => "claim-",
            Space::Volume => "volume-",
            Space::Container => "container-",
            Space::Image => "image-",
            Space::Key => "label-",
            Space::Value => "value-",
            Space::Resource => "example.com/resource-",
            Space::Condition => "example.com/condition-",
            Space::Scheduler => "scheduler-",
            Space::Address => "address-",
            Space::Part => "part-",
            Space::Uid => "uid-",
        }
    }

    /// Names that every cluster has and policies mean something by.
    fn keeps(self, name: &str) -> bool {
        match self {
            Space::Namespace => {
                ["default", "kube-system", "kube-public", "kube-node-lease"].contains(&name)
            }
            Space::Priority => ["system-cluster-critical", "system-node-critical"].contains(&name),
            Space::Scheduler => name == "default-scheduler",
            Space::Address => ["0.0.0.0", "127.0.0.1", "::"].contains(&name),
            Space::Key => KEYS.contains(&name),
            Space::Kind => KINDS.contains(&name),
            // Of the resources and conditions only those of others have a domain.
            Space::Resource => {
                !name.contains('/') || ["nvidia.com/gpu", "amd.com/gpu"].contains(&name)
            }
            Space::Condition => !name.contains('/'),
            Space::Node
            | Space::Pod
            | Space::ReplicaSet
            | Space::ReplicationController
            | Space::Job
            | Space::Workload
            | Space::Budget
            | Space::Service
            | Space::Storage
            | Space::Claim
            | Space::Volume
            | Space::Container
            | Space::Image
            | Space::Value
            | Space::Part
            | Space::Uid => false,
        }
    }
}

/// Keys of labels and taints that Kubernetes gives.
const KEYS: [&str; 30] = [
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
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/metadata.name",
    "kubernetes.io/os",
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
    "pod-template-hash",
    "statefulset.kubernetes.io/pod-name",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "apps.kubernetes.io/pod-index",
];

/// Kinds of Kubernetes that own others.
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

/// What becomes of the names in an object.
pub(super) trait Rename {
    /// A name of a sort.
    fn name(&mut self, space: Space, real: &str) -> String;

    /// The value of a label or taint.
    fn value(&mut self, key: &str, real: &str) -> String;

    /// The values of this label are compared as numbers.
    fn compared(&mut self, key: &str);
}

/// All names stay.
pub(super) struct Same;

impl Rename for Same {
    fn name(&mut self, _space: Space, real: &str) -> String {
        real.to_owned()
    }

    fn value(&mut self, _key: &str, real: &str) -> String {
        real.to_owned()
    }

    fn compared(&mut self, _key: &str) {}
}

/// Learns the names that there are.
#[derive(Default)]
pub(super) struct Learn {
    names: BTreeSet<(Space, String)>,
    compared: BTreeSet<String>,
}

impl Rename for Learn {
    fn name(&mut self, space: Space, real: &str) -> String {
        let _ = self.names.insert((space, plain(space, real)));
        real.to_owned()
    }

    fn value(&mut self, key: &str, real: &str) -> String {
        for part in parts(key, real) {
            self.name(space_of(key), part);
        }
        real.to_owned()
    }

    fn compared(&mut self, key: &str) {
        self.compared.insert(key.to_owned());
    }
}

/// Gives each name another.
pub(super) struct Made {
    made: BTreeMap<(Space, String), String>,
    compared: BTreeSet<String>,
}

impl Learn {
    /// Numbers the names of each sort in an order that only chance knows: that of the alphabet would tell something.
    pub(super) fn make(self, chance: u64) -> Made {
        let mut shuffled: Vec<(Space, u64, String)> = self
            .names
            .into_iter()
            .map(|(space, name)| {
                let mut hasher = DefaultHasher::new();
                (chance, space, &name).hash(&mut hasher);
                (space, hasher.finish(), name)
            })
            .collect();
        shuffled.sort();
        let mut made = BTreeMap::new();
        let mut counts: BTreeMap<Space, usize> = BTreeMap::new();
        for (space, _, name) in shuffled {
            let count = counts.entry(space).or_default();
            *count += 1;
            // A tag, so that no name becomes another by the one that is implied.
            let tag = if space == Space::Image { ":1" } else { "" };
            made.insert((space, name), format!("{}{count}{tag}", space.prefix()));
        }
        Made {
            made,
            compared: self.compared,
        }
    }
}

impl Rename for Made {
    fn name(&mut self, space: Space, real: &str) -> String {
        if real.is_empty() || space.keeps(real) {
            return real.to_owned();
        }
        // Every name has been learnt; if one had not, it had better be missing than be told.
        self.made
            .get(&(space, plain(space, real)))
            .cloned()
            .unwrap_or_else(|| format!("{}0", space.prefix()))
    }

    fn value(&mut self, key: &str, real: &str) -> String {
        if self.compared.contains(key) && real.parse::<i64>().is_ok() {
            return real.to_owned();
        }
        let made: Vec<String> = parts(key, real)
            .into_iter()
            .map(|part| self.name(space_of(key), part))
            .collect();
        made.join(ZONES)
    }

    fn compared(&mut self, _key: &str) {}
}

/// Between the zones of a volume that is in several.
const ZONES: &str = "__";

fn parts<'v>(key: &str, value: &'v str) -> Vec<&'v str> {
    if key.ends_with("/zone") || key.ends_with("/region") {
        value.split(ZONES).collect()
    } else {
        vec![value]
    }
}

/// Labels whose values are names.
fn space_of(key: &str) -> Space {
    match key {
        "kubernetes.io/hostname" => Space::Node,
        "kubernetes.io/metadata.name" => Space::Namespace,
        "statefulset.kubernetes.io/pod-name" => Space::Pod,
        "batch.kubernetes.io/job-name" => Space::Job,
        _ => Space::Value,
    }
}

/// Images are compared with the tag that is implied.
fn plain(space: Space, real: &str) -> String {
    let bare = |image: &str| {
        !image
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .contains([':', '@'])
    };
    if space == Space::Image && bare(real) {
        format!("{real}:latest")
    } else {
        real.to_owned()
    }
}
