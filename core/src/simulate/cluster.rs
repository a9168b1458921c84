//! The simulated cluster: the objects of the API server, and the state of each pod.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::Snapshot;
use crate::model::snapshot::facts::{BudgetFacts, NodeFacts, OwnerKey, PodFacts, PodPhase, Taint};
use crate::model::snapshot::objects::{Name, Object, ObjectKind, Objects};
use crate::policy::Policy;

use super::load::Load;
use super::random::Random;
use super::scenario::WorkloadKind;
use super::trace::Event;

mod jobs;
mod pod_lists;
mod snapshot_cache;

use pod_lists::PodLists;
pub(super) use snapshot_cache::RunningPod;
use snapshot_cache::SnapshotCache;

/// The age of the initial objects.
const AGE: SignedDuration = SignedDuration::from_hours(1);

/// The complete state at one time.
pub(super) struct SimulatedCluster {
    pub(super) start: Timestamp,
    pub(super) now: Timestamp,
    pub(super) objects: Objects,
    pub(super) nodes: BTreeMap<String, Machine>,
    pub(super) pods: BTreeMap<Name, Life>,
    pub(super) works: Vec<Work>,
    pub(super) budgets: Vec<BudgetFacts>,
    pub(super) random: Random,
    pub(super) events: Vec<Event>,
    /// The times at which pods change their state.
    agenda: BTreeSet<(Timestamp, Name)>,
    resources: Vec<String>,
    cache: SnapshotCache,
    pub(super) lists: PodLists,
    /// Whether anything has changed since the budgets were counted.
    pub(super) uncounted: bool,
    /// Whether pods came, left or changed since the controllers ran.
    pub(super) stirred: bool,
    serial: u64,
    /// The node at which the scheduler starts the search for the next pod.
    pub(super) next_node: usize,
    /// Whether the initial objects have been created.
    pub(super) begun: bool,
}

/// A node.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub(super) facts: NodeFacts,
    /// Usage of the system outside of pods; `None` if no source measures the node.
    pub(super) base: Option<Load>,
    /// The time since when it is down.
    pub(super) down: Option<Timestamp>,
    pub(super) draining: bool,
}

#[derive(Debug)]
pub(super) struct PodTemplate {
    pub(super) facts: PodFacts,
    /// Its usage; `None` if no source measures it.
    pub(super) load: Option<Load>,
    pub(super) startup: SignedDuration,
    pub(super) ending: SignedDuration,
    pub(super) runs: Option<SignedDuration>,
}

/// A pod.
#[derive(Clone, Debug)]
pub(super) struct Life {
    pub(super) facts: PodFacts,
    pub(super) template: Rc<PodTemplate>,
    pub(super) work: Option<usize>,
    /// The position in the order of creation.
    pub(super) serial: u64,
    pub(super) ready_at: Option<Timestamp>,
    pub(super) gone_at: Option<Timestamp>,
    pub(super) done_at: Option<Timestamp>,
    pub(super) budgets: Vec<usize>,
}

/// A workload with its pods that are due.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) key: OwnerKey,
    pub(super) kind: WorkloadKind,
    pub(super) replicas: u32,
    /// The names of the pods of a StatefulSet, by ordinal.
    pub(super) names: Vec<String>,
    /// The templates of the initial pods in turn; none of a recorded DaemonSet.
    pub(super) templates: Vec<Rc<PodTemplate>>,
    /// Deleted pods that controllers still have to replace.
    pub(super) vacant: VecDeque<Vacancy>,
    pub(super) from: Option<Timestamp>,
    pub(super) until: Option<Timestamp>,
    pub(super) on: Vec<String>,
    pub(super) made: u32,
}

/// The place of a deleted pod in its workload.
#[derive(Debug)]
pub(super) struct Vacancy {
    /// The name of the deleted pod.
    pub(super) pod: String,
    pub(super) template: Rc<PodTemplate>,
}

impl SimulatedCluster {
    pub(super) fn new(start: Timestamp, seed: u64, policy: &Policy) -> Self {
        SimulatedCluster {
            start,
            now: start,
            objects: Objects::default(),
            nodes: BTreeMap::new(),
            pods: BTreeMap::new(),
            works: Vec::new(),
            budgets: Vec::new(),
            random: Random::new(seed),
            events: Vec::new(),
            agenda: BTreeSet::new(),
            resources: policy.resources().into_iter().map(str::to_owned).collect(),
            cache: SnapshotCache::default(),
            lists: PodLists::default(),
            uncounted: true,
            stirred: true,
            serial: 0,
            next_node: 0,
            begun: false,
        }
    }

    /// Returns the snapshot that watches show now.
    pub(super) fn snapshot(&mut self) -> Rc<Snapshot> {
        self.cache.snapshot(&self.objects, &self.resources)
    }

    /// Stores an object.
    pub(super) fn apply(&mut self, object: Object) {
        self.objects.apply(object);
        self.cache.outdate();
        self.uncounted = true;
    }

    pub(super) fn tell(&mut self, what: String) {
        self.events.push(Event { at: self.now, what });
    }

    /// Changes a node and informs the watches.
    pub(super) fn change_node(&mut self, name: &str, change: impl FnOnce(&mut Machine)) {
        let Some(machine) = self.nodes.get_mut(name) else {
            return;
        };
        change(machine);
        let facts = machine.facts.clone();
        self.apply(Object::Node(facts));
    }

    /// Changes a pod and informs the watches.
    pub(super) fn change_pod(&mut self, name: &Name, change: impl FnOnce(&mut Life)) {
        let Some(life) = self.pods.get_mut(name) else {
            return;
        };
        change(life);
        self.lists.note(name, life);
        let facts = life.facts.clone();
        self.apply(Object::Pod(Box::new(facts)));
        self.stirred = true;
    }

    /// Creates a pending pod.
    pub(super) fn create(
        &mut self,
        work: usize,
        name: String,
        template: Rc<PodTemplate>,
        created: Timestamp,
    ) -> Name {
        self.serial += 1;
        let base = &template.facts;
        let facts = PodFacts {
            name,
            uid: format!("sim-{:06}", self.serial),
            node: None,
            phase: PodPhase::Pending,
            ready: false,
            terminating: false,
            ends: None,
            created,
            started: None,
            ..base.clone()
        };
        self.works[work].made += 1;
        self.adopt(facts, template, Some(work))
    }

    /// Adds an existing pod.
    pub(super) fn adopt(
        &mut self,
        facts: PodFacts,
        template: Rc<PodTemplate>,
        work: Option<usize>,
    ) -> Name {
        let name = (facts.namespace.clone(), facts.name.clone());
        let budgets = self.budgets.iter().enumerate();
        let covering = budgets.filter(|(_, budget)| budget.covers(&facts));
        let budgets = covering.map(|(position, _)| position).collect();
        self.serial += 1;
        self.apply(Object::Pod(Box::new(facts.clone())));
        let (serial, none) = (self.serial, None);
        let life = Life {
            facts,
            template,
            work,
            serial,
            ready_at: none,
            gone_at: none,
            done_at: none,
            budgets,
        };
        self.lists.note(&name, &life);
        self.pods.insert(name.clone(), life);
        self.stirred = true;
        name
    }

    /// Binds a pod to a node, where the kubelet starts it.
    pub(super) fn bind(&mut self, name: &Name, node: &str, at: Timestamp) {
        let mut ready_at = None;
        self.change_pod(name, |life| {
            life.facts.node = Some(node.to_owned());
            life.facts.started = Some(at);
            life.facts.phase = PodPhase::Running;
            life.ready_at = Some(after(at, life.template.startup));
            ready_at = life.ready_at;
        });
        if let Some(ready_at) = ready_at {
            self.agenda.insert((ready_at, name.clone()));
        }
        self.live_through_agenda();
    }

    /// Deletes a pod. On a node that is down the pod stays until the node is back.
    pub(super) fn remove(&mut self, name: &Name, grace: Option<SignedDuration>) {
        let Some(life) = self.pods.get(name).filter(|life| !life.facts.terminating) else {
            return;
        };
        let (work, template) = (life.work, Rc::clone(&life.template));
        // Deleting a finished pod leaves no gap that a controller has to fill.
        let replaced = life.facts.stays();
        let down = life
            .facts
            .node
            .as_ref()
            .is_some_and(|n| self.nodes.get(n).is_some_and(|m| m.down.is_some()));
        let ending = match (life.facts.started.is_some() && !life.facts.finished(), grace) {
            (false, _) => SignedDuration::ZERO,
            (true, Some(grace)) => template.ending.min(grace),
            (true, None) => template.ending,
        };
        // Only the kubelet confirms that a pod has ended, so on a node that is down the pod keeps
        // terminating.
        let now = self.now;
        self.count_failed(name, false);
        let gone_at = (!down).then(|| after(now, ending));
        self.change_pod(name, |life| {
            life.facts.terminating = true;
            life.facts.ends = Some(after(now, life.facts.grace));
            life.gone_at = gone_at;
        });
        if let Some(work) = work.filter(|_| replaced) {
            let pod = name.1.clone();
            self.works[work].vacant.push_back(Vacancy { pod, template });
        }
        self.agenda.extend(gone_at.map(|at| (at, name.clone())));
    }

    /// Ends the deleted pods of a node that is up again.
    pub(super) fn let_go(&mut self, name: &Name) {
        let now = self.now;
        self.change_pod(name, |life| life.gone_at = Some(now));
        self.agenda.insert((now, name.clone()));
    }

    /// Applies the pod changes that are due.
    pub(super) fn live_through_agenda(&mut self) {
        while let Some((at, name)) = self.agenda.first().cloned().filter(|(at, _)| *at <= self.now)
        {
            self.agenda.pop_first();
            self.step(&name, at);
        }
    }

    fn step(&mut self, name: &Name, at: Timestamp) {
        let Some(life) = self.pods.get(name) else {
            return;
        };
        // An agenda entry may be outdated because the pod was deleted since. The times of the pod
        // decide.
        if life.gone_at == Some(at) {
            self.lists.forget(name, life);
            self.count_failed(name, true);
            self.pods.remove(name);
            self.objects.delete(ObjectKind::Pod, name);
            self.cache.outdate();
            (self.uncounted, self.stirred) = (true, true);
        } else if life.done_at == Some(at) && !life.facts.terminating {
            if let Some(work) = life.work {
                self.works[work].complete_one();
            }
            self.change_pod(name, |life| {
                (life.facts.phase, life.facts.ready) = (PodPhase::Succeeded, false);
            });
        } else if life.ready_at == Some(at) {
            let up = self.answers(life.facts.node.as_deref());
            let done_at = life.template.runs.map(|runs| after(at, runs));
            self.change_pod(name, |life| {
                life.facts.set_ready(up, at);
                life.done_at = done_at;
            });
            self.agenda.extend(done_at.map(|done| (done, name.clone())));
        }
    }

    fn answers(&self, node: Option<&str>) -> bool {
        node.and_then(|n| self.nodes.get(n)).is_some_and(|m| m.down.is_none())
    }

    /// Returns the unfinished pods on a node.
    pub(super) fn pods_on(&self, node: &str) -> Vec<Name> {
        let here = self
            .pods
            .iter()
            .filter(|(_, life)| life.facts.node.as_deref() == Some(node) && !life.facts.finished());
        here.map(|(name, _)| name.clone()).collect()
    }

    /// Returns the age of a pod; zero if it does not exist.
    pub(super) fn age(&self, name: &Name) -> SignedDuration {
        self.pods
            .get(name)
            .map_or(SignedDuration::ZERO, |life| self.now.duration_since(life.facts.created))
    }

    /// Returns the creation time of the initial objects.
    pub(super) fn long_ago(&self) -> Timestamp {
        self.start.saturating_sub(AGE).unwrap_or(self.start)
    }

    /// Returns the simulated time since the start.
    pub(super) fn elapsed(&self) -> SignedDuration {
        self.now.duration_since(self.start)
    }
}

impl Machine {
    /// Adds a taint, replacing one with the same key and effect.
    pub(super) fn taint(&mut self, taint: Taint) {
        self.facts.taints.retain(|t| t.key != taint.key || t.effect != taint.effect);
        self.facts.taints.push(taint);
    }
}

impl PodTemplate {
    /// Returns true if a DaemonSet owns the pod.
    pub(super) fn stays_with_its_node(&self) -> bool {
        self.facts.owners.iter().any(|o| o.kind == "DaemonSet")
    }
}

/// Returns a later time.
pub(super) fn after(at: Timestamp, wait: SignedDuration) -> Timestamp {
    at.saturating_add(wait).unwrap_or(Timestamp::MAX)
}
