//! All that can be said of a pod.

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use crate::decide::gate::Gate;
use crate::model::ledger::key_of;
use crate::model::plan::Refusal;
use crate::model::snapshot::facts::{Owner, OwnerKey};
use crate::model::snapshot::{BudgetId, PodId, Snapshot};

use super::decided::Decided;
use super::landing::{self, Landing};
use super::load::{self, Load};
use super::memory::{self, Memory};
use super::{Case, Said, Told};

/// All that can be said of a pod.
#[derive(Clone, Debug, Serialize)]
pub struct OfPod {
    /// When.
    pub at: Timestamp,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uid: String,
    /// Where it is.
    pub node: Option<String>,
    /// What controls it at the top.
    pub workload: Option<OwnerKey>,
    /// Its own owners.
    pub owners: Vec<Owner>,
    /// Where it is in its life.
    pub phase: &'static str,
    /// Whether it is Ready.
    pub ready: bool,
    /// When it was created.
    pub created: Timestamp,
    /// Its priority.
    pub priority: Option<i32>,
    /// The budgets that cover it.
    pub budgets: Vec<BudgetLine>,
    /// Why nothing at all is considered, if so.
    pub halted: Option<Told>,
    /// What it uses and requests.
    pub load: Load,
    /// What each strategy of the policy says of it, in order.
    pub words: Vec<Said>,
    /// What each gate says of it; `None` where the policy has no strategy.
    pub gates: Option<Asked>,
    /// Where its replacement would land; `None` where the policy has no strategy.
    pub landing: Option<Landing>,
    /// What is remembered of its workload.
    pub ledger: Memory,
}

/// What the gates say of a pod as a candidate of one strategy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Asked {
    /// The strategy.
    pub strategy: &'static str,
    /// By gate, in order; each is asked whatever the others say.
    pub answers: Vec<Answer>,
}

/// What one gate says.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The gate.
    pub gate: Gate,
    /// Why it refuses; `None` where it admits.
    pub refusal: Option<Refusal>,
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut out = serializer.serialize_struct("Answer", 5)?;
        out.serialize_field("gate", self.gate.code())?;
        out.serialize_field("admits", &self.refusal.is_none())?;
        out.serialize_field("code", &self.refusal.as_ref().map(Refusal::code))?;
        out.serialize_field("message", &self.refusal.as_ref().map(Refusal::to_string))?;
        out.serialize_field("remedy", &self.refusal.as_ref().map(Refusal::remedy))?;
        out.end()
    }
}

/// A PodDisruptionBudget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BudgetLine {
    /// Its name.
    pub name: String,
    /// How many disruptions it allows now.
    pub allowed: u32,
    /// How many of its pods are healthy.
    pub healthy: u32,
    /// How many must be.
    pub desired: u32,
    /// Whether its status is older than its spec.
    pub stale: bool,
}

impl BudgetLine {
    pub(super) fn of(snapshot: &Snapshot, id: BudgetId) -> Self {
        let it = &snapshot.budgets[id.0];
        BudgetLine {
            name: it.name.clone(),
            allowed: it.allowed,
            healthy: it.healthy,
            desired: it.desired,
            stale: it.stale,
        }
    }
}

pub(super) fn of_pod(case: &Case<'_>, pod: PodId) -> OfPod {
    let snapshot = case.world.snapshot;
    let it = snapshot.pod(pod);
    let decided = Decided::new(case, &[pod], it.node);
    let candidate = decided.candidate(pod);
    let asked = candidate.as_ref().map(|(candidate, draft)| Asked {
        strategy: draft.strategy(candidate.strategy).rule.name(),
        answers: Gate::ALL
            .map(|gate| Answer {
                gate,
                refusal: gate.ask(candidate, draft).err(),
            })
            .to_vec(),
    });
    OfPod {
        at: case.world.now,
        namespace: it.namespace.clone(),
        name: it.name.clone(),
        uid: it.uid.clone(),
        node: it.node.map(|node| snapshot.node(node).name.clone()),
        workload: it
            .workload
            .map(|workload| snapshot.workload(workload).key.clone()),
        owners: it.owners.clone(),
        phase: it.phase.name(),
        ready: it.ready,
        created: it.created,
        priority: it.priority,
        budgets: it
            .budgets
            .iter()
            .map(|id| BudgetLine::of(snapshot, *id))
            .collect(),
        halted: case.halted.map(Told::halt),
        load: load::of_pod(case, pod),
        words: decided.of(0),
        gates: asked,
        landing: candidate.map(|(candidate, draft)| landing::landing(&candidate, draft)),
        ledger: memory::memory(case, &key_of(snapshot, it), it.workload, Some(pod)),
    }
}
