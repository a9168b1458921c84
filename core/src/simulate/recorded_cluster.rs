//! The start of a simulation with a recorded cluster.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::facts::{NodeFacts, OwnerKey, PodFacts};
use crate::model::snapshot::objects::{Object, ObjectKind, Objects};
use crate::model::snapshot::{Node, Pod, Snapshot};
use crate::model::usage::Measure;

use super::cluster::{Machine, PodTemplate, SimulatedCluster, Work};
use super::load::Load;
use super::replay::Replay;
use super::scenario::{Given, WorkloadKind};

/// The time that a recorded pod takes to start and to end, which is not in the recording.
const CHANGE: SignedDuration = SignedDuration::from_secs(5);

/// Loads a recorded cluster. Its recorded usage is replayed. Without one, measured usage stays
/// constant. Unmeasured objects stay unmeasured.
pub(super) fn take_over(cluster: &mut SimulatedCluster, given: &Given) {
    cluster.objects = given.objects.clone();
    let snapshot = Snapshot::join(&given.objects, []);
    forget_attachments(&mut cluster.objects, &snapshot);
    let replay = given.history.as_ref().map(|h| Replay::new(h, &snapshot));
    for node in &snapshot.nodes {
        add_node(cluster, given, &snapshot, node, replay.as_ref());
    }
    // Storing a node makes it readable.
    for skipped in given.objects.skipped().filter(|one| one.kind == ObjectKind::Node.name()) {
        cluster.objects.skip(ObjectKind::Node, skipped.clone());
    }
    cluster.budgets.extend(snapshot.budgets.iter().map(|budget| (**budget).clone()));
    let mut works = BTreeMap::new();
    for pod in &snapshot.pods {
        let facts = at_start(cluster, pod, replay.as_ref());
        let replayed = replay.as_ref().and_then(|replay| replay.pod(pod));
        let template = Rc::new(PodTemplate {
            facts: facts.clone(),
            load: replayed.or_else(|| measured(given, pod).map(Load::steady)),
            startup: CHANGE,
            ending: CHANGE,
            runs: None,
        });
        let work = pod.workload.map(|w| {
            // Pods of one workload share an entry, even if several ReplicaSets own them.
            let key: &OwnerKey = &snapshot.workload(w).key;
            *works.entry(key.clone()).or_insert_with(|| found(cluster, key.clone()))
        });
        // The recording has no replica counts. The pods that stay are the replicas that are due.
        if let Some(work) = work.map(|work| &mut cluster.works[work]) {
            count_in(work, &snapshot, pod, &template);
        }
        let name = cluster.adopt(facts, template, work);
        // Its end is overdue: the time of its deletion is not in the recording.
        if pod.terminating {
            cluster.let_go(&name);
        }
    }
}

/// Counts a recorded pod as one that its workload is to have.
fn count_in(work: &mut Work, snapshot: &Snapshot, pod: &Pod, template: &Rc<PodTemplate>) {
    if work.kind == WorkloadKind::StatefulSet {
        name_in(work, snapshot, pod);
    }
    if !pod.stays() {
        return;
    }
    work.replicas += 1;
    // A pod of a DaemonSet belongs to its node, so only one that left is created again.
    if work.kind != WorkloadKind::DaemonSet {
        work.templates.push(Rc::clone(template));
    }
}

/// Adds the name of a pod of a StatefulSet, which recreates it even if it is being deleted now.
fn name_in(work: &mut Work, snapshot: &Snapshot, pod: &Pod) {
    if pod.finished() {
        return;
    }
    // A shorter name has a lower ordinal.
    let is_lower =
        |other: &String| (other.len(), other.as_str()) < (pod.name.len(), pod.name.as_str());
    let place = work.names.partition_point(is_lower);
    work.names.insert(place, pod.name.clone());
    let set = pod.controller();
    let set = set.and_then(|set| snapshot.controller_facts(&pod.namespace, set));
    if let Some(wanted) = set.and_then(|set| set.wanted) {
        // The highest ordinals end for good where a StatefulSet was scaled down.
        work.names.truncate(usize::try_from(wanted).unwrap_or(usize::MAX));
    }
}

/// Removes the attachments of volumes. A pod tells that its volume is attached, and in the
/// simulation nothing would ever detach one whose pod has left.
fn forget_attachments(objects: &mut Objects, snapshot: &Snapshot) {
    for name in snapshot.attachments.keys() {
        objects.delete(ObjectKind::Attachment, &(String::new(), name.clone()));
    }
}

fn add_node(
    cluster: &mut SimulatedCluster,
    given: &Given,
    snapshot: &Snapshot,
    node: &Node,
    replay: Option<&Replay>,
) {
    let reading = given.readings.nodes.get(&node.name).map(|s| s.used);
    let of_pods = node.pods.iter().map(|p| snapshot.pod(*p)).filter_map(|p| measured(given, p));
    let of_pods = of_pods.fold(Measure::default(), Measure::plus);
    // The rest belongs to the system, so that pods which leave take only their own share along.
    let rest = reading.map(|all| Load::steady(all.minus(of_pods)));
    // A node that was down in the recording stays down.
    let down = (!node.ready).then_some(cluster.start);
    // Simulated usage has no bound, so the size of the machine does not count.
    let facts = NodeFacts {
        capacity: Vec::new(),
        created: not_late(cluster, node.created),
        ..(**node).clone()
    };
    cluster.objects.apply(Object::Node(facts.clone()));
    let machine = Machine {
        facts,
        base: replay.and_then(|replay| replay.node(&node.name)).or(rest),
        down,
        draining: false,
    };
    cluster.nodes.insert(node.name.clone(), machine);
}

/// Returns the facts of a pod at the start of the replay: on the node where its row begins, and
/// not younger than other initial pods.
fn at_start(cluster: &SimulatedCluster, pod: &Pod, replay: Option<&Replay>) -> PodFacts {
    let mut facts = (**pod).clone();
    facts.created = not_late(cluster, facts.created);
    facts.started = facts.started.map(|at| not_late(cluster, at));
    facts.running_since = facts.running_since.map(|at| not_late(cluster, at));
    for condition in &mut facts.conditions {
        condition.since = condition.since.map(|at| not_late(cluster, at));
    }
    let node = replay.and_then(|replay| replay.node_of(pod));
    if let Some(node) = node.filter(|node| pod.stays() && cluster.nodes.contains_key(*node)) {
        facts.node = facts.node.map(|_| node.to_owned());
    }
    facts
}

/// Returns a time of an object that exists from the start of the replay: one after that is that of
/// other initial objects.
fn not_late(cluster: &SimulatedCluster, at: Timestamp) -> Timestamp {
    if at > cluster.start { cluster.long_ago() } else { at }
}

fn measured(given: &Given, pod: &PodFacts) -> Option<Measure> {
    given.readings.pods.get(&(pod.namespace.clone(), pod.name.clone())).map(|s| s.used)
}

fn found(cluster: &mut SimulatedCluster, key: OwnerKey) -> usize {
    let kind = match key.kind.as_str() {
        "StatefulSet" => WorkloadKind::StatefulSet,
        "DaemonSet" => WorkloadKind::DaemonSet,
        "Job" | "CronJob" => WorkloadKind::Job,
        _ => WorkloadKind::Deployment,
    };
    cluster.add_work(Work {
        key,
        kind,
        replicas: 0,
        names: Vec::new(),
        templates: Vec::new(),
        vacant: VecDeque::new(),
        from: None,
        until: None,
        on: Vec::new(),
        made: 0,
    })
}
