//! The explanation of a pod.

use jiff::Timestamp;
use serde::Serialize;

use crate::decide::draft::{Candidate, Draft};
use crate::decide::gate::{Gate, REPLACEMENT_RULES};
use crate::model::ledger::key_of;
use crate::model::plan::Refusal;
use crate::model::snapshot::facts::{Owner, OwnerKey};
use crate::model::snapshot::{BudgetId, PodId, Snapshot};

use super::decided::AllVerdicts;
use super::landing::{self, ReplacementForecast};
use super::load::{self, LoadSummary};
use super::memory::{self, WorkloadRecord};
use super::{CodedMessage, Context, StrategyVerdict};

/// The explanation of a pod.
#[derive(Clone, Debug, Serialize)]
pub struct PodExplanation {
    /// The time of the explanation.
    pub at: Timestamp,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its node, also if that is not known.
    pub node: Option<String>,
    /// Its top controller.
    pub workload: Option<OwnerKey>,
    /// Its own owners.
    pub owners: Vec<Owner>,
    /// Its phase.
    pub phase: &'static str,
    /// Whether it is Ready.
    pub ready: bool,
    /// When it was created; `None` if that is unknown.
    pub created: Option<Timestamp>,
    /// Its priority.
    pub priority: Option<i32>,
    /// The budgets that cover it.
    pub budgets: Vec<BudgetLine>,
    /// Why no eviction is considered; `None` if evictions are.
    pub halted: Option<CodedMessage>,
    /// Its usage and requests.
    pub load: LoadSummary,
    /// The verdict of each strategy of the policy, in order.
    pub verdicts: Vec<StrategyVerdict>,
    /// The verdict of each gate; `None` if the policy has no strategy.
    pub gates: Option<GateVerdicts>,
    /// Where its replacement would land; `None` if the policy has no strategy, or it has finished.
    pub landing: Option<ReplacementForecast>,
    /// The evictions of its workload in the ledger.
    pub ledger: WorkloadRecord,
}

/// The verdicts of the gates about a pod as a candidate of one strategy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GateVerdicts {
    /// The strategy.
    pub strategy: &'static str,
    /// One verdict per gate, in order. A refusal of one gate does not keep the others from being
    /// asked.
    pub answers: Vec<GateVerdict>,
    /// One verdict per rule of the gate `replacement`, in order; none of a finished pod.
    pub replacement: Vec<RuleVerdict>,
}

/// The verdict of one gate.
#[derive(Clone, Debug, PartialEq)]
pub struct GateVerdict {
    /// The gate.
    pub gate: Gate,
    /// Why it refuses; `None` if it admits the pod.
    pub refusal: Option<Refusal>,
}

/// The verdict of one rule of the gate `replacement`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleVerdict {
    /// The stable name of the rule.
    pub rule: &'static str,
    /// The question that it answers.
    pub question: &'static str,
    /// Why it refuses; `None` if it admits the pod.
    pub refusal: Option<CodedMessage>,
}

crate::object!(GateVerdict, |verdict| {
    "gate": verdict.gate.code(),
    "admits": verdict.refusal.is_none(),
    "code": verdict.refusal.as_ref().map(Refusal::code),
    "message": verdict.refusal.as_ref().map(Refusal::to_string),
    "remedy": verdict.refusal.as_ref().map(Refusal::remedy),
});

/// A PodDisruptionBudget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BudgetLine {
    /// Its name.
    pub name: String,
    /// The number of disruptions that it allows now.
    pub allowed: u32,
    /// The number of its healthy pods.
    pub healthy: u32,
    /// The number of pods that must be healthy.
    pub desired: u32,
    /// Whether its status is older than its spec.
    pub stale: bool,
}

impl BudgetLine {
    pub(super) fn of(snapshot: &Snapshot, id: BudgetId) -> Self {
        let budget = &snapshot.budgets[id.0];
        BudgetLine {
            name: budget.name.clone(),
            allowed: budget.allowed,
            healthy: budget.healthy,
            desired: budget.desired,
            stale: budget.stale,
        }
    }
}

pub(super) fn of_pod(case: &Context<'_>, pod: PodId) -> PodExplanation {
    let snapshot = case.world.snapshot;
    let facts = snapshot.pod(pod);
    let decided = AllVerdicts::new(case, &[pod], facts.node);
    let candidate = decided.candidate(pod);
    let gates = candidate.as_ref().map(|(c, draft)| ask_gates(c, draft));
    let landing = candidate.as_ref().filter(|_| !facts.finished());
    let landing = landing.map(|(c, draft)| landing::landing(c, draft));
    let budgets = facts.budgets.iter();
    PodExplanation {
        at: case.world.now,
        namespace: facts.namespace.clone(),
        name: facts.name.clone(),
        uid: facts.uid.clone(),
        node: (**facts).node.clone(),
        workload: facts.workload.map(|id| snapshot.workload(id).key.clone()),
        owners: facts.owners.clone(),
        phase: facts.phase.name(),
        ready: facts.ready,
        created: facts.age(case.world.now).map(|_| facts.created),
        priority: facts.priority,
        budgets: budgets.map(|id| BudgetLine::of(snapshot, *id)).collect(),
        halted: case.halted.map(CodedMessage::halt),
        load: load::of_pod(case, pod),
        verdicts: decided.of_pod(0),
        gates,
        landing,
        ledger: memory::memory(case, &key_of(snapshot, facts), facts.workload, Some(pod)),
    }
}

/// Asks every gate about a candidate.
fn ask_gates(candidate: &Candidate, draft: &Draft<'_>) -> GateVerdicts {
    let answer = |gate: Gate| GateVerdict { gate, refusal: gate.ask(candidate, draft).err() };
    GateVerdicts {
        strategy: draft.world.strategy(candidate.strategy).rule.name(),
        answers: Gate::ALL.map(answer).to_vec(),
        replacement: ask_rules(candidate, draft),
    }
}

fn ask_rules(candidate: &Candidate, draft: &Draft<'_>) -> Vec<RuleVerdict> {
    if draft.world.snapshot.pod(candidate.pod).finished() {
        return Vec::new();
    }
    let rules = REPLACEMENT_RULES.iter().map(|rule| RuleVerdict {
        rule: rule.name,
        question: rule.question,
        refusal: rule.ask(candidate, draft).err().as_ref().map(CodedMessage::refusal),
    });
    rules.collect()
}
