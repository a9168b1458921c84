//! The start of a simulation: nodes, workloads and budgets of the scenario, or a recorded cluster.

use std::collections::VecDeque;
use std::rc::Rc;

use jiff::Timestamp;

use crate::model::snapshot::facts::{
    BudgetFacts, JobFacts, NamespaceFacts, NodeFacts, NonZeroRequests, Owner, OwnerFacts, OwnerKey,
    PodAffinityTerm, PodFacts, PodSizes, PodSpecFacts, Qos, Spread, Tolerates, Toleration, Volumes,
};
use crate::model::snapshot::objects::{Object, ObjectKind};
use crate::policy::Policy;
use crate::values::selector::{Labels, Selector};

use super::cluster::{Machine, PodTemplate, SimulatedCluster, Work, after};
use super::load::Load;
use super::recorded_cluster;
use super::scenario::{FirstNodes, NodeSpec, Scenario, ScenarioWorkload, WorkloadKind};

/// Replaces the hash in ReplicaSet names. A scenario has no rollouts.
const HASH: &str = "5d8c7b9f64";

pub(super) fn begin(scenario: &Scenario, policy: &Policy) -> SimulatedCluster {
    let mut cluster = SimulatedCluster::new(scenario.start(), scenario.seed, policy);
    if let Some(given) = &scenario.given {
        recorded_cluster::take_over(&mut cluster, given);
    }
    // Nodes come before workloads, because workloads can be placed on all of them.
    for spec in scenario.nodes.iter().filter(|n| n.joins.is_none()) {
        join(&mut cluster, spec);
    }
    for namespace in scenario.namespaces() {
        let labels =
            Labels::from([("kubernetes.io/metadata.name".to_owned(), namespace.to_owned())]);
        let facts = NamespaceFacts { labels, ..NamespaceFacts::default() };
        cluster.apply(Object::Namespace(namespace.to_owned(), facts));
    }
    for workload in &scenario.workloads {
        add(&mut cluster, workload, scenario.nodes.len());
    }
    cluster
}

/// Adds a node to the cluster.
pub(super) fn join(cluster: &mut SimulatedCluster, spec: &NodeSpec) {
    let facts = NodeFacts {
        created: cluster.now,
        name: spec.name.clone(),
        labels: spec.labels.clone(),
        taints: spec.taints.clone(),
        ready: true,
        allocatable: spec.allocatable.clone(),
        ..NodeFacts::default()
    };
    let machine = Machine {
        facts: facts.clone(),
        base: Some(Load::steady(spec.base)),
        down: None,
        draining: false,
    };
    cluster.nodes.insert(spec.name.clone(), machine);
    cluster.apply(Object::Node(facts));
    cluster.stirred = true;
}

fn add(cluster: &mut SimulatedCluster, workload: &ScenarioWorkload, nodes: usize) {
    let on = match &workload.on {
        FirstNodes::Scheduled => Vec::new(),
        FirstNodes::On(nodes) => nodes.clone(),
        FirstNodes::Evenly => cluster.nodes.keys().cloned().collect(),
    };
    let times = [workload.from, workload.until];
    let [from, until] = times.map(|wait| Some(after(cluster.start, wait?)));
    cluster.add_work(Work {
        key: OwnerKey {
            namespace: workload.namespace.clone(),
            kind: workload.kind.name().to_owned(),
            name: workload.name.clone(),
        },
        kind: workload.kind,
        replicas: workload.replicas,
        names: names(workload),
        templates: templates(workload, nodes),
        vacant: VecDeque::new(),
        from,
        until,
        on,
        made: 0,
    });
    if let Some(controller) = controller(workload) {
        cluster.apply(controller);
    }
    if let Some(rule) = workload.budget {
        let facts = BudgetFacts {
            namespace: workload.namespace.clone(),
            name: workload.name.clone(),
            selector: Some(workload.selector()),
            desired: rule.desired(workload.replicas),
            expected: workload.replicas,
            ..BudgetFacts::default()
        };
        cluster.apply(Object::Budget(facts.clone()));
        cluster.budgets.push(facts);
    }
}

/// Returns the names of the pods of a StatefulSet.
fn names(workload: &ScenarioWorkload) -> Vec<String> {
    if workload.kind != WorkloadKind::StatefulSet {
        return Vec::new();
    }
    let ordinals = 0..workload.replicas;
    ordinals.map(|ordinal| format!("{}-{ordinal}", workload.name)).collect()
}

/// Creates the object that owns the pods, if its kind is watched. A Job survives the eviction of
/// its pods.
fn controller(workload: &ScenarioWorkload) -> Option<Object> {
    let mut facts = OwnerFacts::default();
    let mut name = workload.name.clone();
    let kind = match workload.kind {
        WorkloadKind::Deployment => {
            facts.above = Some(owner(workload.kind.name(), &name));
            name = replica_set(workload);
            ObjectKind::ReplicaSet
        }
        WorkloadKind::StatefulSet => ObjectKind::StatefulSet,
        WorkloadKind::Job => {
            facts.job = Some(Box::new(JobFacts { backoff_limit: u32::MAX, ..JobFacts::default() }));
            ObjectKind::Job
        }
        WorkloadKind::DaemonSet | WorkloadKind::Bare => return None,
    };
    let name = (workload.namespace.clone(), name);
    Some(Object::Owner(kind, name, facts))
}

fn replica_set(workload: &ScenarioWorkload) -> String {
    format!("{}-{HASH}", workload.name)
}

/// Creates the templates of a workload's pods: one for all, or one for each if their usage differs.
fn templates(workload: &ScenarioWorkload, nodes: usize) -> Vec<Rc<PodTemplate>> {
    let load = workload.load();
    let facts = template_facts(workload);
    let replicas = match workload.kind {
        _ if !load.differs_between_replicas() => 1,
        WorkloadKind::DaemonSet => nodes,
        WorkloadKind::Deployment
        | WorkloadKind::StatefulSet
        | WorkloadKind::Job
        | WorkloadKind::Bare => usize::try_from(workload.replicas).unwrap_or(usize::MAX),
    };
    let templates = (0..replicas.max(1)).map(|replica| {
        Rc::new(PodTemplate {
            facts: facts.clone(),
            load: Some(load.of_replica(replica)),
            startup: workload.startup,
            ending: workload.ending,
            runs: workload.runs,
        })
    });
    templates.collect()
}

fn template_facts(workload: &ScenarioWorkload) -> PodFacts {
    let mut labels = workload.labels.clone();
    labels.insert("app".to_owned(), workload.name.clone());
    let owners = match workload.kind {
        WorkloadKind::Deployment => {
            labels.insert("pod-template-hash".to_owned(), HASH.to_owned());
            vec![owner("ReplicaSet", &replica_set(workload))]
        }
        WorkloadKind::Bare => Vec::new(),
        WorkloadKind::StatefulSet | WorkloadKind::DaemonSet | WorkloadKind::Job => {
            vec![owner(workload.kind.name(), &workload.name)]
        }
    };
    // The DaemonSet controller adds tolerations for all taints of the node lifecycle.
    let everything =
        || vec![Toleration { key: None, operator: Tolerates::Any, effect: None, seconds: None }];
    let anti_affinity = |key: &String| PodAffinityTerm {
        pods: Some(workload.selector()),
        namespaces: Vec::new(),
        namespace_selector: None,
        topology_key: key.clone(),
    };
    let requests = workload.requests.iter();
    let requests = requests.map(|(name, amount)| (name.clone().into(), *amount));
    PodFacts {
        namespace: workload.namespace.clone(),
        labels: labels.into(),
        volumes: Volumes { local: workload.empty_dir, ..Volumes::default() }.into(),
        sizes: PodSizes {
            requests: requests.collect(),
            non_zero_requests: non_zero_requests(workload),
            non_zero_requests_of_containers: non_zero_requests(workload),
            ..PodSizes::default()
        }
        .into(),
        spec: PodSpecFacts {
            owners,
            priority: Some(workload.priority),
            preempts: true,
            qos: if workload.requests.is_empty() { Qos::BestEffort } else { Qos::Burstable },
            grace: workload.ending.max(PodSpecFacts::USUAL_GRACE),
            tolerations: match workload.kind {
                WorkloadKind::DaemonSet => everything(),
                WorkloadKind::Deployment
                | WorkloadKind::StatefulSet
                | WorkloadKind::Job
                | WorkloadKind::Bare => workload.tolerations.clone(),
            },
            node_selector: workload.node_selector.clone(),
            required_nodes: workload.required_nodes.clone(),
            preferred_nodes: workload.preferred_nodes.clone(),
            spread: workload.spread.iter().map(|s| spread(s, workload.selector())).collect(),
            required_anti_affinity: workload.apart.iter().map(anti_affinity).collect(),
            ..PodSpecFacts::default()
        }
        .into(),
        ..PodFacts::default()
    }
}

/// Computes the scoring requests as for one container with all requests of the workload.
fn non_zero_requests(workload: &ScenarioWorkload) -> NonZeroRequests {
    let usual = NonZeroRequests::PER_CONTAINER;
    NonZeroRequests {
        cpu: workload.requested("cpu").unwrap_or(usual.cpu),
        memory: workload.requested("memory").unwrap_or(usual.memory),
    }
}

fn spread(evenness: &super::scenario::Evenness, pods: Selector) -> Spread {
    Spread {
        max_skew: evenness.max_skew,
        topology_key: evenness.topology_key.clone(),
        hard: evenness.hard,
        pods: Some(pods),
        min_domains: None,
        honours_affinity: true,
        honours_taints: false,
    }
}

/// Returns the creation time of a workload's initial objects.
pub(super) fn made_at(cluster: &SimulatedCluster, work: usize) -> Timestamp {
    if cluster.works[work].from.is_none() && !cluster.begun {
        cluster.long_ago()
    } else {
        cluster.now
    }
}

/// Returns the controller of a pod from its owner references.
fn owner(kind: &str, name: &str) -> Owner {
    Owner { kind: kind.to_owned(), name: name.to_owned(), controller: true, ..Owner::default() }
}
