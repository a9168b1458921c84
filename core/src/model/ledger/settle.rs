//! Settling of evictions: whether each was made, which pod replaced the evicted one, and whether
//! that helped.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::model::record::Fact;
use crate::model::snapshot::facts::{OwnerKey, PodPhase};
use crate::model::snapshot::{NodeId, PodId, Snapshot};
use crate::policy::Cooldown;
use crate::values::Ratio;

use super::ramp::{EntryProgress, RampRule};
use super::{
    Aim, DEFERRED, Ending, Entry, IN_FLIGHT, Landed, Ledger, State, find_pod, patience, pods_of,
};

/// An eviction with a known outcome, for logs and events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The workload.
    pub workload: OwnerKey,
    /// The name of the evicted pod.
    pub pod: String,
    /// The node of the evicted pod.
    pub from: String,
    /// The node of the replacement.
    pub to: Option<String>,
    /// How that node compares with the forecast; `None` without a replacement on a node.
    pub landed: Option<Landed>,
    /// The uid of the replacement; `None` without one.
    pub replacement: Option<String>,
    /// The outcome.
    pub ending: Ending,
}

/// How long a node that a move has left must stay relieved.
const RELIEVED_FOR: SignedDuration = SignedDuration::from_mins(30);

/// The loads of nodes, as decisions see them.
#[derive(Clone, Copy)]
pub struct NodeLoads<'l> {
    /// Returns true for a node above a target now, and `None` if its usage is unknown.
    pub hot: &'l dyn Fn(NodeId) -> Option<bool>,
    /// Returns the usage of the node of this name in `cpu` or `memory`; `None` if it is unknown.
    pub ratio: &'l dyn Fn(&str, &str) -> Option<Ratio>,
}

impl Ledger {
    /// Determines the outcome of evictions that are not settled yet, where trials end by a ramp,
    /// and of moves whose nodes have been watched since. Returns also what the record says about
    /// it.
    pub fn settle(
        &mut self,
        snapshot: &Snapshot,
        loads: NodeLoads<'_>,
        cooldown: &Cooldown,
        ramp: Option<&RampRule<'_>>,
        now: Timestamp,
    ) -> (Vec<Settled>, Vec<Fact>) {
        // Before the endings, so that each of them counts in one cycle at least.
        self.entries.retain(|entry| !entry.is_expired(snapshot, cooldown, now));
        let mut facts = self.reconcile(snapshot, now);
        // Before the endings, because an ending is judged by the replacement.
        self.match_replacements(snapshot);
        let mut settled = Vec::new();
        for position in 0..self.entries.len() {
            let entry = &self.entries[position];
            let (ending, to) = match entry.next_ending(snapshot, loads, cooldown, ramp, now) {
                EntryProgress::Ended(ending, to) => (ending, to),
                open @ (EntryProgress::Open | EntryProgress::Watched) => {
                    self.entries[position].watch(open == EntryProgress::Watched);
                    continue;
                }
            };
            let to = to.map(|n| snapshot.node(n).name.clone());
            let has_just_landed = !entry.is_node_watched();
            let landed = to.as_deref().filter(|_| has_just_landed).map(|to| self.landed(entry, to));
            let outcome = entry.settled(ending, to.clone(), landed);
            let entry = entry.clone();
            facts.push(entry.outcome(&outcome, now));
            settled.push(outcome);
            self.entries[position].end(ending, now);
            // Once: a later move of the workload may have landed badly since.
            if has_just_landed {
                let unlucky =
                    ending == Ending::HotNode && is_unlucky(&entry, landed, to.as_deref());
                self.remember(&entry, ending, unlucky, cooldown, now);
                self.learn_start(&entry, ending, entry.took(snapshot, now), cooldown);
            }
        }
        self.learn_late_starts(snapshot, now);
        // Those whose nodes are watched no longer have an ending all the same.
        for entry in self.prune(snapshot, cooldown, now).iter().filter(|e| e.is_node_watched()) {
            let outcome = entry.settled(Ending::Renewed, None, None);
            facts.push(entry.outcome(&outcome, now));
            settled.push(outcome);
        }
        (settled, facts)
    }

    /// Returns evicted pods whose replacements do not run anywhere yet, with the names of the nodes
    /// where they are expected.
    ///
    /// Once a replacement exists, it is returned as long as it has no node. Before that, the
    /// evicted pod is returned as long as it terminates, because a StatefulSet creates the
    /// replacement only afterwards.
    pub fn pending_replacements(
        &self,
        snapshot: &Snapshot,
    ) -> impl Iterator<Item = (PodId, &[String])> {
        let expected = self.replacing().filter(|e| !e.possible_nodes.is_empty());
        expected.filter_map(|entry| {
            let pod = match &entry.replacement {
                Some(uid) => find_pod(snapshot, &entry.workload, uid)
                    .filter(|id| snapshot.pod(*id).node.is_none()),
                None => entry.ending_pod(snapshot),
            };
            Some((pod?, &entry.possible_nodes[..]))
        })
    }

    /// Returns true if a replacement that should not land on this node does not exist yet or has no
    /// node: that of a pod evicted from it, or of a StatefulSet. The latter is created when the pod
    /// has ended, which may take minutes, and was forecast with the taints of before.
    pub fn has_unplaced_replacement(&self, snapshot: &Snapshot, node: &str) -> bool {
        let waits = |id: PodId| snapshot.pod(id).node.is_none();
        let unplaced = |e: &Entry| match &e.replacement {
            Some(uid) => find_pod(snapshot, &e.workload, uid).is_none_or(waits),
            None => true,
        };
        let of_node = |e: &&Entry| e.node == node || e.workload.kind == "StatefulSet";
        self.replacing().filter(of_node).any(unplaced)
    }

    /// Evictions whose replacements are not settled yet.
    pub(super) fn replacing(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|e| !e.state.is_settled() && e.aim != Aim::Clear)
    }

    /// Compares the node of a replacement with the forecast. Pods of one workload evicted together
    /// share their forecasts, because it is unknowable which replacement replaces which pod.
    fn landed(&self, entry: &Entry, to: &str) -> Landed {
        let twins = self.entries.iter().filter(|e| e.is_twin_of(entry));
        if entry.possible_nodes.is_empty() {
            Landed::Unknown
        } else if twins.flat_map(|e| &e.possible_nodes).any(|node| node == to) {
            Landed::AsForeseen
        } else {
            Landed::Elsewhere
        }
    }

    /// Drops forecasts that no longer matter. Those of pods evicted together matter until all of
    /// them are settled.
    pub(super) fn forget_forecasts(&mut self) {
        let unsettled = self.entries.iter().filter(|e| !e.state.is_settled());
        let unsettled: BTreeSet<(Timestamp, OwnerKey)> =
            unsettled.map(|e| (e.at, e.workload.clone())).collect();
        for entry in
            self.entries.iter_mut().filter(|e| !unsettled.contains(&(e.at, e.workload.clone())))
        {
            entry.possible_nodes = Vec::new();
        }
    }

    /// Resolves entries whose eviction request may never have been sent, for example after a crash.
    /// If the pod still runs when any request would have arrived, none was sent.
    fn reconcile(&mut self, snapshot: &Snapshot, now: Timestamp) -> Vec<Fact> {
        let mut facts = Vec::new();
        self.entries.retain_mut(|entry| match entry.state {
            State::Intended if still_there(entry, snapshot) => {
                let may_be_on_its_way = now.duration_since(entry.at) < IN_FLIGHT;
                if !may_be_on_its_way {
                    facts.push(entry.unanswered());
                }
                may_be_on_its_way
            }
            State::Intended => {
                entry.state = State::Evicted;
                facts.push(entry.gone("no response is known, and the pod is gone", entry.at));
                true
            }
            State::Deferred if !still_there(entry, snapshot) => {
                // Its replacement gets as long as that of any other pod.
                (entry.state, entry.at) = (State::Evicted, now);
                facts.push(entry.gone("another component has evicted the pod", now));
                true
            }
            State::Deferred | State::Evicted | State::Watched | State::Settled(_) => true,
        });
        facts
    }

    /// Assigns to each eviction that is not settled, oldest first, a new pod of its workload that
    /// is not yet assigned: one on a node that the forecast named, or else the oldest. An
    /// autoscaler may have added pods at the same time, and these must not make a good move look
    /// useless.
    pub fn match_replacements(&mut self, snapshot: &Snapshot) {
        let mut taken: BTreeSet<String> =
            self.entries.iter().filter_map(|e| e.replacement.clone()).collect();
        for entry in self.entries.iter_mut().filter(|e| e.state.lacks_ending()) {
            let here = |uid: &String| find_pod(snapshot, &entry.workload, uid).is_some();
            // A replacement can itself be deleted. Then the next new pod counts.
            if entry.replacement.as_ref().is_some_and(here) {
                continue;
            }
            let possible_nodes = entry.possible_nodes.clone();
            let lands_as_foreseen = |snapshot: &Snapshot, id: PodId| {
                let node = snapshot.pod(id).node.map(|n| &snapshot.node(n).name);
                node.is_some_and(|node| possible_nodes.contains(node))
            };
            let mut newer: Vec<PodId> = pods_of(snapshot, &entry.workload)
                .filter(|id| {
                    let pod = snapshot.pod(*id);
                    pod.stays() && entry.is_replaced_by(pod) && !taken.contains(&pod.uid)
                })
                .collect();
            newer.sort_by_key(|id| {
                (!lands_as_foreseen(snapshot, *id), snapshot.pod(*id).created, *id)
            });
            entry.replacement = newer.first().map(|id| snapshot.pod(*id).uid.clone());
            taken.extend(entry.replacement.clone());
        }
    }
}

/// Whether the replacement landed where the forecast named a possible, but not the likeliest node.
/// Then the forecast was right, and the same move may well help the next time.
fn is_unlucky(entry: &Entry, landed: Option<Landed>, to: Option<&str>) -> bool {
    let likeliest = entry.possible_nodes.first().map(String::as_str);
    landed == Some(Landed::AsForeseen) && likeliest != to
}

impl Entry {
    /// Returns the evicted pod while it exists, as far as the watch shows. By uid too, since a
    /// StatefulSet may have created a pod with the same name already.
    pub(super) fn evicted_pod(&self, snapshot: &Snapshot) -> Option<PodId> {
        let found = snapshot.find_pod(&self.workload.namespace, &self.pod);
        found.filter(|id| snapshot.pod(*id).uid == self.uid)
    }

    /// Returns the evicted pod while it ends.
    fn ending_pod(&self, snapshot: &Snapshot) -> Option<PodId> {
        self.evicted_pod(snapshot).filter(|id| snapshot.pod(*id).terminating)
    }
}

impl Entry {
    fn settled(&self, ending: Ending, to: Option<String>, landed: Option<Landed>) -> Settled {
        Settled {
            workload: self.workload.clone(),
            pod: self.pod.clone(),
            from: self.node.clone(),
            to,
            landed,
            replacement: self.replacement.clone(),
            ending,
        }
    }

    /// Finds out whether the eviction ends now, for the first time or after its node was watched.
    fn next_ending(
        &self,
        snapshot: &Snapshot,
        loads: NodeLoads<'_>,
        cooldown: &Cooldown,
        ramp: Option<&RampRule<'_>>,
        now: Timestamp,
    ) -> EntryProgress {
        if !self.is_node_watched() {
            let plain = ending(self, snapshot, loads, cooldown, now);
            return self.progress(snapshot, plain, ramp, cooldown, now);
        }
        let replacement = self.replacement.as_ref();
        let replacement = replacement.and_then(|uid| find_pod(snapshot, &self.workload, uid));
        let to = replacement.and_then(|id| snapshot.pod(id).node);
        let ending = self.relief_ending(loads, now);
        ending.map_or(EntryProgress::Open, |ending| EntryProgress::Ended(ending, to))
    }

    /// Judges a move by the node that the pod left. Unknown usage shows nothing.
    fn relief_ending(&self, loads: NodeLoads<'_>, now: Timestamp) -> Option<Ending> {
        let relief = self.relief.as_ref()?;
        let ratio = (loads.ratio)(&self.node, &relief.resource);
        if ratio.is_some_and(|ratio| ratio > relief.at_most) {
            return Some(Ending::NoRelief);
        }
        let is_over = relief.until.is_none_or(|until| now >= until);
        is_over.then_some(if ratio.is_some() { Ending::Helped } else { Ending::Renewed })
    }

    fn end(&mut self, ending: Ending, now: Timestamp) {
        self.state = State::Settled(ending);
        if let Some(relief) = self.relief.as_mut().filter(|_| ending == Ending::Landed) {
            let until = now.saturating_add(RELIEVED_FOR).ok();
            // Whole seconds take less room.
            relief.until = until.and_then(|until| Timestamp::from_second(until.as_second()).ok());
        }
    }
}

/// Returns true if the pod of an entry stays.
fn still_there(entry: &Entry, snapshot: &Snapshot) -> bool {
    entry.evicted_pod(snapshot).is_some_and(|id| !snapshot.pod(id).terminating)
}

fn ending(
    entry: &Entry,
    snapshot: &Snapshot,
    loads: NodeLoads<'_>,
    cooldown: &Cooldown,
    now: Timestamp,
) -> Option<(Ending, Option<NodeId>)> {
    // The component that took over the eviction has not made it.
    if entry.state == State::Deferred && now.duration_since(entry.at) > DEFERRED {
        return Some((Ending::NeverReady, None));
    }
    if !entry.state.lacks_ending() {
        return None;
    }
    // No controller replaces a finished pod that is cleared away.
    if entry.aim == Aim::Clear {
        return Some((Ending::NotReplaced, None));
    }
    let replacement =
        entry.replacement.as_ref().and_then(|uid| find_pod(snapshot, &entry.workload, uid));
    let replacement = replacement.map(|id| snapshot.pod(id));
    let waited_enough = entry.waited(replacement, now) > patience(cooldown);
    let Some(pod) = replacement else {
        // A StatefulSet replaces a pod that has ended, which may take longer.
        let not_replaced = waited_enough && entry.ending_pod(snapshot).is_none();
        return not_replaced.then_some((Ending::NotReplaced, None));
    };
    let never_ready = waited_enough.then_some((Ending::NeverReady, pod.node));
    let Some(node) = pod.node else {
        return never_ready;
    };
    // Known as soon as the pod is bound. It need not be Ready to show that the move was in vain.
    if entry.aim != Aim::Renew && snapshot.node(node).name == entry.node {
        return Some((Ending::SameNode, Some(node)));
    }
    let ending = match (loads.hot)(node) {
        _ if pod.phase == PodPhase::Succeeded => Ending::Renewed,
        _ if !pod.ready => return never_ready,
        _ if entry.aim != Aim::Move => Ending::Renewed,
        Some(true) => Ending::HotNode,
        Some(false) if entry.relief.is_some() => Ending::Landed,
        Some(false) => Ending::Helped,
        None if waited_enough => Ending::Renewed,
        None => return None,
    };
    Some((ending, Some(node)))
}
