//! The Kubernetes controllers: they replace pods, update budgets, and evict from nodes that fail or
//! are drained.

use std::rc::Rc;

use jiff::SignedDuration;

use crate::model::plan::{STEERING_KEY, Steer, SteerAction};
use crate::model::snapshot::facts::{Effect, NodeClosure, Taint};
use crate::model::snapshot::objects::{Name, Object};

use super::cluster::{Life, PodTemplate, SimulatedCluster, Work, after};
use super::eviction;
use super::scenario::{NodeSpec, Scenario, WorkloadKind};
use super::setting;

mod daemon_set;

/// The time that admission lets each pod stay on an unreachable node (DefaultTolerationSeconds).
const TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

/// Applies the node events since the last step: joins, failures, drains and recoveries.
pub(super) fn nodes(cluster: &mut SimulatedCluster, scenario: &Scenario, last: SignedDuration) {
    let now = cluster.elapsed();
    let first = now == SignedDuration::ZERO;
    // Each event is applied in exactly one step: after the last one and not after now. The first
    // step has no earlier one.
    let due = |at: Option<SignedDuration>| at.is_some_and(|at| at <= now && (at > last || first));
    let mut joined: Vec<&str> = Vec::new();
    for spec in &scenario.nodes {
        if due(spec.joins) {
            setting::join(cluster, spec);
            joined.push(spec.name.as_str());
        }
        if due(spec.fails) {
            fail(cluster, &spec.name);
        }
        if due(spec.drains) {
            drain(cluster, &spec.name);
        }
        // Recovery is last: a step may be longer than the time between a failure and its end.
        if due(spec.recovers) {
            recover(cluster, spec);
        }
    }
    match joined[..] {
        [] => {}
        [one] => cluster.tell(format!("node {one} joins")),
        [first, .., last] => {
            cluster.tell(format!("{} nodes join, {first} to {last}", joined.len()));
        }
    }
    let leaving = cluster.nodes.iter().filter(|(_, machine)| {
        let gone = machine.down.is_some_and(|at| after(at, TOLERANCE) <= cluster.now);
        gone || machine.draining
    });
    for name in leaving.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
        evict_from(cluster, &name);
    }
}

/// Taints a node that is down, as the node lifecycle controller does. Its pods are no longer Ready.
fn fail(cluster: &mut SimulatedCluster, node: &str) {
    let now = cluster.now;
    cluster.change_node(node, |machine| {
        (machine.down, machine.facts.ready) = (Some(now), false);
        for taint in unreachable() {
            machine.taint(taint);
        }
    });
    for pod in cluster.pods_on(node) {
        cluster.change_pod(&pod, |life| life.facts.set_ready(false, now));
    }
    cluster.tell(format!("node {node} fails"));
}

fn unreachable() -> [Taint; 2] {
    [Effect::NoSchedule, Effect::NoExecute]
        .map(|effect| taint("node.kubernetes.io/unreachable", effect))
}

fn taint(key: &str, effect: Effect) -> Taint {
    Taint { key: key.to_owned(), value: String::new(), effect }
}

/// Drains a node as `kubectl drain` does: cordons it, and evicts its pods as budgets allow.
fn drain(cluster: &mut SimulatedCluster, node: &str) {
    cluster.change_node(node, |machine| {
        (machine.draining, machine.facts.closures) = (true, vec![NodeClosure::Cordoned]);
        machine.taint(taint("node.kubernetes.io/unschedulable", Effect::NoSchedule));
    });
    cluster.tell(format!("node {node} is drained"));
}

fn recover(cluster: &mut SimulatedCluster, spec: &NodeSpec) {
    let node = spec.name.as_str();
    cluster.change_node(node, |machine| {
        (machine.down, machine.facts.ready) = (None, true);
        (machine.draining, machine.facts.closures) = (false, Vec::new());
        // This also drops the steering taint. The next plan adds it again if it is still needed.
        machine.facts.taints.clone_from(&spec.taints);
    });
    for pod in cluster.pods_on(node) {
        let Some(life) = cluster.pods.get(&pod) else {
            continue;
        };
        if life.facts.terminating {
            cluster.let_go(&pod);
        // A pod that was still starting when the node failed becomes Ready later, by its own agenda
        // entry.
        } else if life.ready_at.is_none_or(|at| at <= cluster.now) {
            let now = cluster.now;
            cluster.change_pod(&pod, |life| life.facts.set_ready(true, now));
        }
    }
    cluster.tell(format!("node {node} is back"));
}

/// Adds or removes the steering taint of a node.
pub(super) fn steer(cluster: &mut SimulatedCluster, steer: &Steer) {
    let value = match steer.action {
        SteerAction::Add(value) => Some(value),
        SteerAction::Remove => None,
        SteerAction::Keep(_) | SteerAction::Withhold(_) => return,
    };
    cluster.change_node(&steer.node, |machine| {
        machine.facts.taints.retain(|taint| taint.key != STEERING_KEY);
        machine
            .facts
            .taints
            .extend(value.map(|value| Taint { value: value.text().to_owned(), ..soft() }));
    });
    let done = if value.is_some() { "gets the steering taint" } else { "loses the steering taint" };
    cluster.tell(format!("node {} {done}: {}", steer.node, steer.why));
}

fn soft() -> Taint {
    taint(STEERING_KEY, Effect::PreferNoSchedule)
}

/// Removes pods from a node that has been down for too long, and from a drained node.
fn evict_from(cluster: &mut SimulatedCluster, node: &str) {
    let Some(machine) = cluster.nodes.get(node) else {
        return;
    };
    let draining = machine.draining && machine.down.is_none();
    for pod in cluster.pods_on(node) {
        // `kubectl drain --ignore-daemonsets` leaves such pods, and the DaemonSet controller lets
        // them tolerate an unreachable node.
        let life = cluster.pods.get(&pod);
        if life.is_none_or(|l| l.facts.terminating || l.template.stays_with_its_node()) {
            continue;
        }
        if draining {
            // A budget may refuse the eviction. The next step tries again, as kubectl does.
            eviction::evict(cluster, &pod, None);
        } else {
            cluster.remove(&pod, None);
        }
    }
}

/// Creates the missing pods of workloads and deletes the pods of workloads that have ended.
pub(super) fn workloads(cluster: &mut SimulatedCluster) {
    let now = cluster.now;
    let turned = |w: &Work| w.from == Some(now) || w.until.is_some_and(|until| until <= now);
    let waiting =
        |w: &Work| w.from.is_some_and(|from| from <= now) && w.made == 0 && w.replicas > 0;
    // Most steps change no pod.
    if !cluster.stirred && !cluster.works.iter().any(|w| turned(w) || waiting(w)) {
        return;
    }
    let changed = cluster.lists.take_changed();
    for work in 0..cluster.works.len() {
        let workload = &cluster.works[work];
        if workload.from.is_some_and(|from| from > now) {
            continue;
        }
        // The others may react to nodes and to pods of other workloads.
        let alone = matches!(
            workload.kind,
            WorkloadKind::Deployment | WorkloadKind::Job | WorkloadKind::Bare
        );
        if alone && !changed.contains(&work) && !turned(workload) && !waiting(workload) {
            continue;
        }
        let own = cluster.lists.of(work);
        if workload.until.is_some_and(|until| until <= now) {
            for pod in &own {
                cluster.remove(pod, None);
            }
            continue;
        }
        match workload.kind {
            WorkloadKind::StatefulSet => ordered(cluster, work),
            WorkloadKind::DaemonSet => daemon_set::everywhere(cluster, work, &own),
            WorkloadKind::Deployment | WorkloadKind::Job => alike(cluster, work, &own),
            WorkloadKind::Bare => bare(cluster, work),
        }
    }
    cluster.stirred = false;
}

/// Replaces a pod that was just evicted, as the controllers of a Deployment or Job do within
/// milliseconds, so before the next eviction. Others wait until the pod has ended.
pub(super) fn replace_evicted(cluster: &mut SimulatedCluster, evicted: &Name) {
    let Some(work) = cluster.pods.get(evicted).and_then(|life| life.work) else {
        return;
    };
    if matches!(cluster.works[work].kind, WorkloadKind::Deployment | WorkloadKind::Job) {
        let own = cluster.lists.of(work);
        alike(cluster, work, &own);
    }
}

/// Returns the missing pods of a ReplicaSet or Job. They ignore terminating pods, so they replace
/// them at once.
fn alike(cluster: &mut SimulatedCluster, work: usize, own: &[Name]) {
    let stays = |life: &Life| life.facts.stays();
    let have = own.iter().filter(|name| cluster.pods.get(*name).is_some_and(stays)).count();
    let lacks =
        usize::try_from(cluster.works[work].replicas).unwrap_or(usize::MAX).saturating_sub(have);
    for _ in 0..lacks {
        let Some(template) = next_template(cluster, work, None) else {
            return;
        };
        let prefix = prefix(&template, &cluster.works[work]);
        // The API server rejects a name that exists, and the controller draws another suffix.
        let name = loop {
            let name = format!("{prefix}-{}", cluster.random.suffix());
            if !cluster.pods.contains_key(&(template.facts.namespace.clone(), name.clone())) {
                break name;
            }
        };
        make(cluster, work, name, template);
    }
}

/// Returns the name prefix of a pod: the name of its ReplicaSet or Job.
fn prefix(template: &PodTemplate, work: &Work) -> String {
    template.facts.owners.first().map_or_else(|| work.key.name.clone(), |owner| owner.name.clone())
}

/// Returns the missing pods of a StatefulSet. It recreates a pod only after the old one with the
/// same name is gone.
fn ordered(cluster: &mut SimulatedCluster, work: usize) {
    let workload = &cluster.works[work];
    let namespace = &workload.key.namespace;
    // A pod of another workload may have this name. The API server would reject a second one.
    let is_free =
        |name: &&String| !cluster.pods.contains_key(&(namespace.clone(), (*name).clone()));
    let lacking: Vec<String> = workload.names.iter().filter(is_free).cloned().collect();
    for name in lacking {
        let Some(template) = next_template(cluster, work, Some(&name)) else {
            return;
        };
        make(cluster, work, name, template);
    }
}

fn bare(cluster: &mut SimulatedCluster, work: usize) {
    while cluster.works[work].made < cluster.works[work].replicas {
        let Some(template) = next_template(cluster, work, None) else {
            return;
        };
        let workload = &cluster.works[work];
        let name = if workload.replicas == 1 {
            workload.key.name.clone()
        } else {
            format!("{}-{}", workload.key.name, workload.made + 1)
        };
        make(cluster, work, name, template);
    }
}

/// Returns the template of a pod that left, preferably of the one with this name, or of an initial
/// one.
fn next_template(
    cluster: &mut SimulatedCluster,
    work: usize,
    name: Option<&str>,
) -> Option<Rc<PodTemplate>> {
    let workload = &mut cluster.works[work];
    let same = workload.vacant.iter().position(|v| name == Some(&v.pod));
    if let Some(vacancy) = workload.vacant.remove(same.unwrap_or_default()) {
        return Some(vacancy.template);
    }
    initial_template(workload)
}

/// Returns the template of an initial pod, in turn.
fn initial_template(workload: &Work) -> Option<Rc<PodTemplate>> {
    let made = usize::try_from(workload.made).unwrap_or_default();
    let turn = made.checked_rem(workload.templates.len())?;
    workload.templates.get(turn).map(Rc::clone)
}

/// Creates a pod, on a node if the scenario places the initial pods.
fn make(cluster: &mut SimulatedCluster, work: usize, name: String, template: Rc<PodTemplate>) {
    let at = setting::made_at(cluster, work);
    let workload = &cluster.works[work];
    let turn = usize::try_from(workload.made).unwrap_or_default();
    // Only the initial pods are placed by the scenario. Replacements go to the scheduler.
    let first = workload.made < workload.replicas;
    let node =
        (first && !workload.on.is_empty()).then(|| workload.on[turn % workload.on.len()].clone());
    let name = cluster.create(work, name, template, at);
    if let Some(node) = node.filter(|node| cluster.nodes.contains_key(node)) {
        cluster.bind(&name, &node, at);
    }
}

/// Updates the budgets as the disruption controller does: counts healthy pods and allowed
/// disruptions.
pub(super) fn budgets(cluster: &mut SimulatedCluster) {
    if cluster.budgets.is_empty() || !cluster.uncounted {
        return;
    }
    let mut healthy = vec![0_u32; cluster.budgets.len()];
    for life in cluster.pods.values().filter(|life| life.facts.ready && life.facts.stays()) {
        for budget in &life.budgets {
            healthy[*budget] += 1;
        }
    }
    for (position, healthy) in healthy.into_iter().enumerate() {
        let facts = &mut cluster.budgets[position];
        let allowed = healthy.saturating_sub(facts.desired);
        if (facts.healthy, facts.allowed) != (healthy, allowed) {
            (facts.healthy, facts.allowed) = (healthy, allowed);
            let facts = facts.clone();
            cluster.apply(Object::Budget(facts));
        }
    }
    cluster.uncounted = false;
}
