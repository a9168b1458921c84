//! Log lines of the loop: one line with the outcome of each cycle, and lines for changes of
//! the nodes that are left alone.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use tracing::{debug, info, warn};

use crate::cluster::clock;
use crate::model::approval::Proposal;
use crate::model::guard::GuardStop;
use crate::model::ledger::Settled;
use crate::model::plan::{Class, Kept, Move, Outcome, Plan, UnknownObjects, Verdict};
use crate::model::record::{EventDetails, Fact, GUARD};
use crate::model::snapshot::{Pod, Snapshot};
use crate::model::usage::Unmeasured;
use crate::values::text;
use crate::view::status::headline::{awaiting_approval, no_evictions};

use super::Daemon;

/// Most names in one line; the rest is a number.
const MAX_NAMES: usize = 5;

/// Nodes that are logged already, so that only changes are logged.
#[derive(Clone, Debug, Default)]
pub struct LogState {
    /// Nodes that are left alone, by the code of the reason.
    left_alone: BTreeMap<&'static str, Vec<String>>,
    /// Objects that are not known.
    unknown: Vec<UnknownObjects>,
    /// Evictions that guards stop.
    stopped: Vec<GuardStop>,
    /// Those of which the record has a line by this instance since it leads.
    recorded: Vec<GuardStop>,
}

/// Nodes that are left alone for the same reason.
#[derive(Default)]
struct NodesLeftAlone {
    names: Vec<String>,
    reason: String,
}

impl LogState {
    /// Logs the nodes that are left alone because their usage is unknown or doubtful, if they have
    /// changed.
    pub(super) fn log_nodes(&mut self, plan: &Plan) {
        let groups = nodes_left_alone(plan);
        if groups.is_empty() && !self.left_alone.is_empty() {
            info!("usage of every node is known again");
        }
        for (code, group) in &groups {
            // The reason contains ages that change in every cycle, so only the names are compared.
            if self.left_alone.get(code) != Some(&group.names) {
                group.log(code);
            }
        }
        self.left_alone = groups.into_iter().map(|(code, group)| (code, group.names)).collect();
    }

    /// Logs the objects that are not known, if they have changed.
    pub(super) fn log_unknown(&mut self, plan: &Plan) {
        for unknown in &plan.unknown {
            if !self.unknown.contains(&unknown.objects) {
                warn!(pods = unknown.pods, "{unknown}; {}", unknown.objects.remedy());
            }
        }
        // Pods come and go, so their number is not compared.
        let objects = plan.unknown.iter().map(|unknown| &unknown.objects);
        self.unknown = objects.cloned().collect();
    }

    /// Logs the evictions that guards stop, if they have changed.
    pub(super) fn log_guards(&mut self, stops: &[GuardStop]) {
        for change in changes(&self.stopped, stops) {
            let (guard, message) = (&change.first.guard, change.message());
            if change.begins {
                warn!(guard, code = change.first.cause.code(), "{message}");
            } else {
                info!(guard, "{message}");
            }
        }
        self.stopped = stops.to_vec();
    }

    /// Returns what the record says about the evictions that guards stop, if they have changed
    /// since this instance records.
    pub(super) fn record_guards(&mut self, stops: &[GuardStop], now: Timestamp) -> Vec<Fact> {
        let facts = changes(&self.recorded, stops).iter().map(|change| change.fact(now)).collect();
        self.recorded = stops.to_vec();
        facts
    }

    /// Forgets what the record says of guards, because another instance records from now on.
    pub(super) fn forget_recorded_guards(&mut self) {
        self.recorded.clear();
    }
}

/// A change of the evictions that a guard stops.
struct GuardChange<'s> {
    /// The first of the stops that begin or end.
    first: &'s GuardStop,
    /// The targets of all of them.
    targets: Vec<String>,
    /// Whether the guard begins to stop them, and not ceases.
    begins: bool,
}

impl GuardChange<'_> {
    fn message(&self) -> String {
        let (guard, targets) = (&self.first.guard, text::list(&self.targets, MAX_NAMES));
        match (self.begins, self.targets.len()) {
            (true, 1) => self.first.to_string(),
            (true, _) => format!("guard {guard} stops {targets}; the first: {}", self.first.cause),
            (false, _) => format!("guard {guard} no longer stops {targets}"),
        }
    }

    /// Returns what the record says about it.
    fn fact(&self, now: Timestamp) -> Fact {
        let outcome = if self.begins { "stopped" } else { "resumed" };
        let event = EventDetails { outcome: outcome.to_owned(), message: self.message() };
        let scope = match &self.targets[..] {
            [target] => target.clone(),
            targets => text::count(targets.len(), "scope"),
        };
        event.fact(GUARD, &format!("{}/{scope}", self.first.guard), now)
    }
}

/// Returns the changes of each guard: one for each target, or a single one if there are many.
fn changes<'s>(before: &'s [GuardStop], after: &'s [GuardStop]) -> Vec<GuardChange<'s>> {
    let key = |stop: &'s GuardStop| (&stop.guard, &stop.target);
    let (known, stopped): (BTreeSet<_>, BTreeSet<_>) =
        (before.iter().map(key).collect(), after.iter().map(key).collect());
    let begun = after.iter().filter(|stop| !known.contains(&key(stop)));
    // A guard without an answer stops more than before.
    let still = |stop: &GuardStop| {
        let mut wider = stop.target.wider().into_iter();
        wider.any(|target| stopped.contains(&(&stop.guard, &target)))
    };
    let ended = before.iter().filter(|stop| !still(stop));
    let mut groups: BTreeMap<(bool, &str), Vec<&GuardStop>> = BTreeMap::new();
    for (ends, stop) in begun.map(|stop| (false, stop)).chain(ended.map(|stop| (true, stop))) {
        groups.entry((ends, stop.guard.as_str())).or_default().push(stop);
    }
    let changes = groups.iter().flat_map(|((ends, _), stops)| {
        let size = if stops.len() > MAX_NAMES { stops.len() } else { 1 };
        stops.chunks(size).map(move |stops| GuardChange {
            first: stops[0],
            targets: stops.iter().map(|stop| stop.target.to_string()).collect(),
            begins: !ends,
        })
    });
    changes.collect()
}

impl Daemon {
    /// Reports how an eviction ended. A workload that got worse has an event too, except in a dry
    /// run, which writes none.
    pub(super) fn report_settled(&self, settled: &Settled, snapshot: &Snapshot, dry: bool) {
        self.metrics.settled(settled);
        let (workload, from, to) = (&settled.workload, &settled.from, &settled.to);
        let (pod, ending) = (&settled.pod, settled.ending);
        if ending.decline().is_none() {
            info!(%workload, pod, from, to, "settled: {ending}");
            return;
        }
        let code = ending.code();
        warn!(%workload, pod, from, to, code, "settled: {ending}; the workload rests");
        let is_it = |pod: &&Pod| Some(&pod.uid) == settled.replacement.as_ref();
        if let Some(replacement) = snapshot.pods.iter().find(is_it).filter(|_| !dry) {
            self.events.got_worse(settled, replacement, clock::now());
        }
    }
}

impl NodesLeftAlone {
    fn log(&self, code: &'static str) {
        let (nodes, names, reason) = (self.names.len(), list(&self.names), &self.reason);
        if code == Unmeasured::FEW {
            // Expected after a start: the window is still filling.
            info!(nodes, "{names}: {reason}");
        } else {
            warn!(nodes, code, "{names}: {reason}");
        }
    }
}

/// Groups nodes whose usage cannot be used, and logs the others at debug level.
fn nodes_left_alone(plan: &Plan) -> BTreeMap<&'static str, NodesLeftAlone> {
    let mut groups: BTreeMap<&'static str, NodesLeftAlone> = BTreeMap::new();
    for verdict in &plan.nodes {
        let Some(code) = exclusion(verdict) else {
            debug!(node = verdict.node, strategy = verdict.strategy, "{}", verdict.class);
            continue;
        };
        let group = groups.entry(code).or_default();
        if group.names.is_empty() {
            group.reason = verdict.class.to_string();
        }
        group.names.push(verdict.node.clone());
    }
    groups
}

/// Returns why a node is left alone; `None` if a strategy can classify it.
fn exclusion(verdict: &Verdict) -> Option<&'static str> {
    match &verdict.class {
        Class::Unknown(reason) => Some(reason.kind()),
        Class::Unreadable(_) => Some("doubtful"),
        Class::NoAllocatable(_) => Some("no-allocatable"),
        Class::Hot { .. }
        | Class::Warming { .. }
        | Class::Cold
        | Class::ColdClosed(_)
        | Class::Even
        | Class::Underused
        | Class::InUse
        | Class::InUseClosed(_)
        | Class::Leaving
        | Class::NotReady
        | Class::Deleting
        | Class::Lacks(_)
        | Class::NotSelected => None,
    }
}

fn list(names: &[String]) -> String {
    let noun = text::plural(names.len(), "node");
    format!("{noun} {}", text::list(names, MAX_NAMES))
}

/// Nodes where the replacement may land, the most likely first; `None` without a forecast.
pub(super) fn destinations(planned: &Move) -> Option<String> {
    let nodes = &planned.possible_nodes;
    // No name of a node contains a comma.
    (!nodes.is_empty()).then(|| text::list(nodes, MAX_NAMES).replace(", ", " "))
}

/// Logs the line of a cycle and returns the code of its outcome and its summary.
pub(super) fn cycle(
    plan: &Plan,
    outcomes: &[Outcome],
    waiting: Option<&Proposal>,
    dry: bool,
    took: SignedDuration,
) -> (&'static str, String) {
    // The order matters: a halted plan has no moves either.
    let outcome = match (plan.halted.is_some(), plan.moves.is_empty(), dry) {
        (true, _, _) => "halted",
        (_, true, _) => "idle",
        (_, _, true) => "dry-run",
        _ => "acted",
    };
    if dry {
        log_dry_run(&plan.moves);
    }
    let evicted = outcomes.iter().filter(|outcome| **outcome == Outcome::Evicted).count();
    let summary = summary(plan, evicted, waiting);
    let nodes = count(plan.nodes.iter().map(|verdict| verdict.class.code()));
    let kept = count(plan.kept.iter().map(|kept| kept.refusal.code()));
    let (planned, skipped, millis) = (plan.moves.len(), plan.skipped.len(), took.as_millis());
    info!(outcome, planned, evicted, nodes, kept, skipped, took_ms = %millis,
        "cycle: {summary}");
    (outcome, summary)
}

fn log_dry_run(moves: &[Move]) {
    for planned in moves {
        info!(
            namespace = planned.namespace,
            pod = planned.pod,
            node = planned.node,
            may_land = destinations(planned),
            strategy = planned.strategy,
            reason = %planned.why(),
            "dry run: would evict"
        );
    }
}

/// Summarises a cycle in one clause.
fn summary(plan: &Plan, evicted: usize, waiting: Option<&Proposal>) -> String {
    if let Some(halt) = &plan.halted {
        return halt.to_string();
    }
    match (plan.moves.len(), waiting) {
        (0, Some(proposal)) => awaiting_approval(proposal.moves.len()),
        (0, None) if !plan.kept.is_empty() => all_stay(&plan.kept) + &plan.not_reached(),
        (0, None) if plan.notes.is_empty() => no_candidate(&plan.nodes),
        (0, None) => {
            let notes: Vec<String> = plan.notes.iter().map(|note| note.why.to_string()).collect();
            format!("nothing to do: {}{}", notes.join("; "), plan.aside())
        }
        (planned, _) => format!("{evicted} of {} evicted", text::count(planned, "pod")),
    }
}

/// Names the most frequent reason why candidates stay.
fn all_stay(kept: &[Kept]) -> String {
    let (number, reason) = most_frequent(kept.iter().map(|kept| kept.refusal.to_string()));
    let share = if number < kept.len() { format!("{number} of them: ") } else { String::new() };
    no_evictions(kept.len(), &format!("{share}{reason}"))
}

/// Says why no strategy has a candidate, although none gives a reason.
fn no_candidate(nodes: &[Verdict]) -> String {
    let unknown = nodes.iter().filter(|verdict| matches!(verdict.class, Class::Unknown(_))).count();
    if unknown == 0 {
        return "nothing to do: no strategy selects a pod".to_owned();
    }
    format!("no evictions; usage is unknown for {unknown} of {} nodes", nodes.len())
}

/// Returns the most frequent sentence and its count.
fn most_frequent(sentences: impl Iterator<Item = String>) -> (usize, String) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for sentence in sentences {
        *counts.entry(sentence).or_default() += 1;
    }
    counts
        .into_iter()
        .map(|(sentence, number)| (number, sentence))
        .max_by_key(|(number, _)| *number)
        .unwrap_or_default()
}

/// Returns `code=number` for each code, in order of codes.
fn count<'c>(codes: impl Iterator<Item = &'c str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for code in codes {
        *counts.entry(code).or_default() += 1;
    }
    let counts: Vec<String> =
        counts.iter().map(|(code, number)| format!("{code}={number}")).collect();
    counts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::guard::{GuardCause, GuardTarget};
    use crate::model::snapshot::facts::OwnerKey;

    #[test]
    fn few_nodes_are_named_and_the_rest_is_counted() {
        let names = |n: usize| (1..=n).map(|i| format!("n{i}")).collect::<Vec<_>>();
        assert_eq!(list(&names(1)), "node n1");
        assert_eq!(list(&names(3)), "nodes n1, n2, n3");
        assert_eq!(list(&names(1000)), "nodes n1, n2, n3, n4, n5 and 995 more");
    }

    /// Without an answer it stops everything, so the workload does not resume.
    #[test]
    fn a_guard_that_stops_more_than_before_resumes_nothing() {
        let key = |namespace: &str| OwnerKey {
            namespace: namespace.to_owned(),
            kind: "Deployment".to_owned(),
            name: "web".to_owned(),
        };
        let stop = |guard: &str, target: &GuardTarget| GuardStop {
            guard: guard.to_owned(),
            target: target.clone(),
            cause: GuardCause::Missing("no answer".to_owned()),
        };
        let web = GuardTarget::Workload(key("shop"));
        let all = GuardTarget::Cluster;
        let namespace = GuardTarget::Namespace("shop".to_owned());
        let other = GuardTarget::Namespace("other".to_owned());
        // How many facts say that the second stop follows, or that the first has ended.
        let facts = |next: GuardStop| {
            let mut state = LogState::default();
            state.record_guards(&[stop("errors", &web)], Timestamp::UNIX_EPOCH);
            state.record_guards(&[next], Timestamp::UNIX_EPOCH).len()
        };
        assert_eq!(facts(stop("errors", &web)), 0);
        assert_eq!(facts(stop("errors", &all)), 1);
        assert_eq!(facts(stop("errors", &namespace)), 1);
        assert_eq!(facts(stop("errors", &other)), 2);
        assert_eq!(facts(stop("latency", &all)), 2);
    }

    #[test]
    fn many_changes_of_a_guard_at_one_time_are_one_line() {
        let stops = |count: usize| -> Vec<GuardStop> {
            let stop = |number: usize| GuardStop {
                guard: "errors".to_owned(),
                target: GuardTarget::Namespace(format!("ns-{number}")),
                cause: GuardCause::Missing("its value is not a number".to_owned()),
            };
            (1..=count).map(stop).collect()
        };
        let mut state = LogState::default();
        let mut facts = |count: usize| -> Vec<String> {
            let facts = state.record_guards(&stops(count), Timestamp::UNIX_EPOCH);
            facts.iter().map(|fact| format!("{}: {}", fact.subject, fact.data["message"])).collect()
        };
        assert_eq!(facts(5).len(), 5);
        let names = |from: usize| -> Vec<String> {
            (from..from + 5).map(|n| format!("evictions in namespace ns-{n}")).collect()
        };
        let message = format!(
            "guard errors stops {} and 1990 more; the first: its value is not a number",
            names(6).join(", ")
        );
        assert_eq!(facts(2000), [format!("errors/1995 scopes: {message:?}")]);
        let message = format!("guard errors no longer stops {} and 1995 more", names(1).join(", "));
        assert_eq!(facts(0), [format!("errors/2000 scopes: {message:?}")]);
    }

    #[test]
    fn the_most_frequent_reason_is_returned() {
        assert_eq!(
            most_frequent(["a", "b", "b"].map(str::to_owned).into_iter()),
            (2, "b".to_owned())
        );
    }

    #[test]
    fn codes_are_counted_in_alphabetical_order() {
        assert_eq!(count(["b", "a", "b"].into_iter()), "a=1 b=2");
    }
}
