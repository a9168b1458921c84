//! The data of the status page and `/status.json`: types of the plan, and summaries of the rest.
//!
//! Every list that grows with the cluster is bounded.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::model::approval::ProposedMove;
use crate::model::guard::GuardStop;
use crate::model::plan::{
    Balance, Halt, Kept, Move, NoTrend, NodePicture, NodesInUse, Note, Outcome, PausedNamespace,
    ReplicaTrial, Rightsizing, Steer, SteeringTrial, UnknownKind, Verdict,
};
use crate::model::snapshot::facts::Skipped;
use crate::policy::Basis;
use crate::values::Ratio;
use crate::values::query_value::QueryValue;

/// The first items of a long list, and the number of items left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Truncated<T> {
    /// The first items.
    pub items: Vec<T>,
    /// The number of items left out.
    pub more: usize,
}

impl<T> Default for Truncated<T> {
    fn default() -> Self {
        Truncated { items: Vec::new(), more: 0 }
    }
}

impl<T> Truncated<T> {
    /// Keeps at most the first `most` items.
    pub fn first(most: usize, all: impl IntoIterator<Item = T>) -> Self {
        let mut all = all.into_iter();
        let items = all.by_ref().take(most).collect();
        Truncated { items, more: all.count() }
    }

    /// The number of all items, including those left out.
    pub const fn total(&self) -> usize {
        self.items.len() + self.more
    }
}

/// The program and its policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InstanceInfo {
    /// The version of evenkeel.
    pub version: Cow<'static, str>,
    /// The name under which evictions are reported.
    pub instance: String,
    /// The policy in one sentence.
    pub policy: String,
    /// When this policy took effect.
    pub policy_since: Timestamp,
    /// The newer policy that does not take effect, because it is invalid.
    pub policy_refused: Option<RefusedPolicy>,
    /// Whether this instance decides but evicts nothing.
    pub dry_run: bool,
    /// Whether this instance chooses pods exactly as descheduler would.
    pub exact: bool,
    /// The start of the program.
    pub started: Timestamp,
}

/// A policy file that was changed and refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedPolicy {
    /// When the file was read.
    pub at: Timestamp,
    /// All problems in the file.
    pub error: String,
}

/// The role of this instance in leader election.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "code", content = "holder", rename_all = "snake_case")]
pub enum ElectionRole {
    /// Leader election is off.
    #[default]
    Alone,
    /// This instance leads and acts.
    Leading,
    /// Another instance leads: the one named here, if known.
    Standby(Option<String>),
}

/// The state of one usage source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceStatus {
    /// The name of the source in the policy.
    pub name: Cow<'static, str>,
    /// Whether decisions use this source now.
    pub in_use: bool,
    /// The last successful read.
    pub read: Option<Timestamp>,
    /// The timestamp of the newest node sample, by the clock of the source.
    pub newest_sample: Option<Timestamp>,
    /// The error of the last read; `None` if it succeeded.
    pub error: Option<String>,
}

/// Requests that keep failing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LastingFailure {
    /// The subject of the request.
    pub request: String,
    /// Time since the first failure in a row.
    pub lasts: SignedDuration,
    /// The cause of the last failure.
    pub why: String,
    /// The consequence.
    pub effect: Cow<'static, str>,
}

/// One past cycle.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CycleSummary {
    /// The start of the cycle.
    pub at: Timestamp,
    /// The duration of the cycle, in milliseconds.
    pub took_ms: i64,
    /// The outcome: `acted`, `idle`, `dry-run`, `halted`, `waiting` or `failed`.
    pub outcome: &'static str,
    /// The outcome in one clause.
    pub message: String,
    /// The number of planned evictions.
    pub planned: usize,
    /// The number of evictions made.
    pub evicted: usize,
    /// The number of hot nodes.
    pub hot: usize,
    /// The standard deviation of the nodes' ratios, by resource.
    pub deviation: BTreeMap<String, Ratio>,
}

/// A plan and the outcomes of its moves.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanStatus {
    /// When the plan was decided.
    pub at: Timestamp,
    /// The duration of the cycle, in milliseconds.
    pub took_ms: i64,
    /// Whether this was a dry run, so that no move was made.
    pub dry_run: bool,
    /// Why the cycle considered no pod at all.
    pub halted: Option<Halt>,
    /// The namespaces whose evictions people have stopped.
    pub paused: Vec<PausedNamespace>,
    /// The evictions that guards of the policy stop.
    pub guards: Truncated<GuardStop>,
    /// The guards of the policy with their states.
    pub guard_states: Truncated<GuardStatus>,
    /// The evictions that wait for the approval of a person.
    pub proposal: Option<ProposalStatus>,
    /// The basis of ratios and balance: actual usage or requests.
    pub basis: Basis,
    /// Nodes per class, the worst class first. A node counts for its worst class.
    pub classes: Vec<ClassCount>,
    /// The balance of the nodes, by resource.
    pub balance: BTreeMap<String, BalanceChange>,
    /// The nodes, the worst first.
    pub nodes: Truncated<NodeStatus>,
    /// The evictions, in their order.
    pub moves: Truncated<MoveStatus>,
    /// The number of evictions made.
    pub evicted: usize,
    /// Candidates that stay, grouped by refusal, the most frequent refusal first.
    pub kept: Vec<RefusalGroup>,
    /// Why a strategy as a whole does nothing.
    pub notes: Vec<Note>,
    /// The nodes in use, and how many of them would do; `None` if no node is emptied.
    pub nodes_in_use: Option<NodesInUse>,
    /// Workloads whose requests are far from their usage, the worst first.
    pub rightsizing: Truncated<Rightsizing>,
    /// The soft taints that steer the scheduler.
    pub steering: Truncated<Steer>,
    /// Why evenkeel may not change taints; `None` if it may.
    pub steering_denied: Option<String>,
    /// The effect that steering would have, if it is not in force and would relieve more nodes.
    pub steering_trial: Option<SteeringTrial>,
    /// The effect of a lower `evictable.minReplicas`, as a trial decision shows it.
    pub replica_trial: Option<ReplicaTrial>,
    /// Objects that could not be read.
    pub skipped: Truncated<Skipped>,
    /// Objects that are not known, and the number of pods that this concerns.
    pub unknown: Truncated<UnknownKind>,
    /// Nodes whose usage has no trend yet.
    pub no_trend: Option<NoTrend>,
}

/// A guard of the policy and its state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GuardStatus {
    /// Its name.
    pub guard: String,
    /// Its scope: `cluster`, `namespace` or `workload`.
    pub scope: Cow<'static, str>,
    /// The highest value of the newest answer; `None` without a usable answer or a value.
    pub value: Option<QueryValue>,
    /// The limit.
    pub limit: QueryValue,
    /// The time of the newest answer.
    pub answered: Option<Timestamp>,
    /// The state: `stops`, `missing` (evictions go on) or `quiet`.
    pub state: Cow<'static, str>,
    /// The reason for the state, in one sentence.
    pub message: String,
}

/// Evictions that wait for the approval of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalStatus {
    /// The id of the stored proposal; `None` if none is stored, as in a dry run.
    pub id: Option<String>,
    /// The number of evictions.
    pub evictions: usize,
    /// The evictions, in their order.
    #[serde(default)]
    pub moves: Truncated<ProposedStatus>,
}

/// An eviction that waits for an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedStatus {
    /// The eviction, with only the first of its possible destinations.
    #[serde(flatten)]
    pub planned: ProposedMove,
    /// The number of possible destinations left out.
    pub may_land_more: usize,
}

/// The number of nodes of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClassCount {
    /// The code of the class.
    pub class: Cow<'static, str>,
    /// The number of nodes.
    pub nodes: usize,
}

/// The balance before and after the plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BalanceChange {
    /// The balance now.
    pub before: Balance,
    /// The balance once every replacement has landed where the plan forecasts it.
    pub after: Option<Balance>,
}

/// A node of the plan and its classification.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeStatus {
    /// The node's ratios and band.
    #[serde(flatten)]
    pub picture: NodePicture,
    /// The worst class that a strategy gives the node; `None` if no strategy classifies nodes.
    pub class: Option<&'static str>,
    /// The verdict of each strategy.
    pub verdicts: Vec<Verdict>,
}

/// A move of the plan and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MoveStatus {
    /// The move, with only the first of its possible destinations.
    #[serde(flatten)]
    pub planned: Move,
    /// The number of possible destinations left out.
    pub may_land_more: usize,
    /// The code of the outcome; `None` in a dry run.
    pub outcome: Option<&'static str>,
    /// The outcome in one sentence.
    pub message: Option<String>,
}

impl MoveStatus {
    /// Keeps at most the first `destinations` of the nodes on which the replacement may land.
    pub fn new(planned: &Move, outcome: Option<&Outcome>, destinations: usize) -> Self {
        let mut planned = planned.clone();
        let may_land_more = keep_first(&mut planned.possible_nodes, destinations);
        MoveStatus {
            planned,
            may_land_more,
            outcome: outcome.map(Outcome::code),
            message: outcome.map(ToString::to_string),
        }
    }
}

impl ProposedStatus {
    /// Keeps at most the first `destinations` of the nodes on which the replacement may land.
    pub fn new(mut planned: ProposedMove, destinations: usize) -> Self {
        let may_land_more = keep_first(&mut planned.possible_nodes, destinations);
        ProposedStatus { planned, may_land_more }
    }
}

/// Keeps the first of these nodes, and returns how many are left out.
fn keep_first(nodes: &mut Vec<String>, most: usize) -> usize {
    let left_out = nodes.len().saturating_sub(most);
    nodes.truncate(most);
    left_out
}

/// Pods that stay for the same reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RefusalGroup {
    /// The code of the refusal.
    pub code: &'static str,
    /// The most frequent sentence among these refusals.
    pub message: String,
    /// The pods.
    pub pods: Truncated<Kept>,
}

/// The evictions in the ledger.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LedgerStatus {
    /// Evictions that still matter, the newest first.
    pub entries: Truncated<LedgerEviction>,
    /// The number of evictions whose replacements are not known to be Ready.
    pub open: usize,
    /// Workloads in cooldown because their moves did not help, the longest cooldown first.
    pub resting: Truncated<RestingWorkload>,
    /// Pods in cooldown because the API server rejected their evictions, the longest first.
    pub rejected: Truncated<RejectedPod>,
}

/// An eviction in the ledger.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LedgerEviction {
    /// The pod's top-level controller.
    pub workload: String,
    /// The evicted pod.
    pub pod: String,
    /// The node that the pod was on.
    pub from: String,
    /// The node of the replacement, if it is known and still exists.
    pub to: Option<String>,
    /// When the eviction was decided.
    pub at: Timestamp,
    /// The state: `intended`, `deferred`, `evicted`, `watched`, or the code of the result.
    pub state: Cow<'static, str>,
    /// The state in one sentence.
    pub message: String,
    /// The end of the replacement's cooldown; `None` without a replacement, or once the cooldown is
    /// over.
    pub rests_until: Option<Timestamp>,
}

/// A pod whose last evictions the API server rejected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RejectedPod {
    /// The pod.
    pub pod: String,
    /// The workload.
    pub workload: String,
    /// The number of consecutive evictions that were rejected.
    pub times: u32,
    /// The end of its cooldown.
    pub until: Timestamp,
}

/// A workload whose last moves did not help.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RestingWorkload {
    /// The workload.
    pub workload: String,
    /// The number of consecutive moves that did not help.
    pub useless: u32,
    /// How it got worse by the last one; `None` if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub got_worse: Option<String>,
    /// The end of its cooldown.
    pub until: Timestamp,
}
