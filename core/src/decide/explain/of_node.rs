//! The explanation of a node, and of a workload.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;

use crate::decide::draft::Draft;
use crate::decide::steering;
use crate::decide::strategy::ResourceLevel;
use crate::decide::targets::AboveTarget;
use crate::model::plan::{Class, Steer};
use crate::model::snapshot::facts::{NodeClosure, OwnerKey};
use crate::model::snapshot::{BudgetId, NodeId, PodId, WorkloadId};
use crate::model::usage::Measure;
use crate::policy::Basis;
use crate::values::{Amount, Ratio};

use super::decided::{AllVerdicts, NodeVerdict};
use super::load::{self, LoadSummary};
use super::memory::{self, WorkloadRecord};
use super::of_pod::BudgetLine;
use super::{CodedMessage, Context, StrategyVerdict};

/// The explanation of a node.
#[derive(Clone, Debug, Serialize)]
pub struct NodeExplanation {
    /// The time of the explanation.
    pub at: Timestamp,
    /// Its name.
    pub name: String,
    /// Whether it is Ready.
    pub ready: bool,
    /// Whether it is cordoned.
    pub cordoned: bool,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its taints, as kubectl writes them.
    pub taints: Vec<String>,
    /// Why its data may be wrong.
    pub unreadable: Option<CodedMessage>,
    /// Why no eviction is considered; `None` if evictions are.
    pub halted: Option<CodedMessage>,
    /// Its usage, and the requests of its pods.
    pub load: LoadSummary,
    /// How each strategy that classifies nodes sees it.
    pub views: Vec<StrategyView>,
    /// The change of its steering taint.
    pub steering: Option<Steer>,
    /// Pods of other nodes whose replacements are expected on it, as `namespace/name`.
    pub arriving: Vec<String>,
    /// Its pods, those with the highest usage first.
    pub pods: Vec<PodLine>,
}

/// How one strategy sees a node.
#[derive(Clone, Debug, Serialize)]
pub struct StrategyView {
    /// The strategy.
    pub strategy: &'static str,
    /// The profile of the policy that contains it.
    pub profile: String,
    /// The class of the node.
    pub class: CodedMessage,
    /// Why the strategy does nothing, by pool; empty if it does something.
    pub idle: BTreeMap<String, CodedMessage>,
    /// The node's ratios and thresholds, by resource.
    pub standing: BTreeMap<String, ResourceStatus>,
}

/// A node's ratio in one resource, beside the strategy's thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ResourceStatus {
    /// Whether usage or requests are weighed.
    pub basis: Basis,
    /// The ratio; `None` if it is unknown.
    pub ratio: Option<Ratio>,
    /// The ratio after the moves of this cycle, if they land as expected.
    pub after: Option<Ratio>,
    /// The threshold.
    pub threshold: Option<Ratio>,
    /// The target.
    pub target: Option<Ratio>,
    /// The amount above the target in base units: nanocores, bytes or counts.
    pub over: Option<Amount>,
}

/// One pod of a node or a workload.
#[derive(Clone, Debug, Serialize)]
pub struct PodLine {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its top controller.
    pub workload: Option<OwnerKey>,
    /// Its node.
    pub node: Option<String>,
    /// Whether it is Ready.
    pub ready: bool,
    /// Its usage, smoothed or estimated; `None` if it is unknown.
    pub used: Option<Measure>,
    /// Its requests.
    pub requests: Measure,
    /// The verdict of each strategy.
    pub verdicts: Vec<StrategyVerdict>,
}

/// The explanation of a workload.
#[derive(Clone, Debug, Serialize)]
pub struct WorkloadExplanation {
    /// The time of the explanation.
    pub at: Timestamp,
    /// Its namespace, kind and name.
    pub workload: OwnerKey,
    /// The number of its pods that stay.
    pub replicas: u32,
    /// The number of them that are Ready.
    pub ready: u32,
    /// The budgets that cover any of its pods.
    pub budgets: Vec<BudgetLine>,
    /// Why no eviction is considered; `None` if evictions are.
    pub halted: Option<CodedMessage>,
    /// Its evictions in the ledger.
    pub ledger: WorkloadRecord,
    /// Its pods, those with the highest usage first.
    pub pods: Vec<PodLine>,
}

pub(super) fn of_node(case: &Context<'_>, node: NodeId) -> NodeExplanation {
    let snapshot = case.world.snapshot;
    let facts = snapshot.node(node);
    let pods = heaviest_first(case, facts.pods.clone());
    let decided = AllVerdicts::new(case, &pods, Some(node));
    let landings = steering::Landings::of(&decided.draft);
    let steering = steering::steer(case.world, decided.draft.verdicts(), &landings, case.halted);
    let unreadable = facts.unreadable.clone().map(Class::Unreadable);
    let arriving = snapshot.pod_ids().filter(|pod| decided.draft.landing(*pod) == Some(node));
    let views = decided.of_node.iter();
    NodeExplanation {
        at: case.world.now,
        name: facts.name.clone(),
        ready: facts.ready,
        cordoned: facts.is_closed_by(NodeClosure::Cordoned),
        labels: facts.labels.clone(),
        taints: facts.taints.iter().map(ToString::to_string).collect(),
        unreadable: unreadable.as_ref().map(CodedMessage::class),
        halted: case.halted.map(CodedMessage::halt),
        load: load::of_node(case, node),
        views: views.filter_map(|verdict| view(&decided, verdict, node)).collect(),
        steering: steering.into_iter().find(|s| s.node == facts.name),
        arriving: arriving.map(|pod| name_of(case, pod)).collect(),
        pods: lines(case, &decided, &pods),
    }
}

pub(super) fn of_workload(case: &Context<'_>, id: WorkloadId) -> WorkloadExplanation {
    let snapshot = case.world.snapshot;
    let workload = snapshot.workload(id);
    let pods = heaviest_first(case, workload.pods.clone());
    let decided = AllVerdicts::new(case, &pods, None);
    let facts = || pods.iter().map(|pod| snapshot.pod(*pod));
    let budgets: BTreeSet<usize> = facts().flat_map(|p| &p.budgets).map(|id| id.0).collect();
    let ready = facts().filter(|pod| pod.serves()).count();
    WorkloadExplanation {
        at: case.world.now,
        workload: workload.key.clone(),
        replicas: snapshot.replicas(id),
        ready: u32::try_from(ready).unwrap_or(u32::MAX),
        budgets: budgets.into_iter().map(|id| BudgetLine::of(snapshot, BudgetId(id))).collect(),
        halted: case.halted.map(CodedMessage::halt),
        ledger: memory::memory(case, &workload.key, Some(id), None),
        pods: lines(case, &decided, &pods),
    }
}

fn name_of(case: &Context<'_>, pod: PodId) -> String {
    let facts = case.world.snapshot.pod(pod);
    format!("{}/{}", facts.namespace, facts.name)
}

/// Sorts by cpu usage, then by memory usage. Pods with unknown usage come last.
fn heaviest_first(case: &Context<'_>, mut pods: Vec<PodId>) -> Vec<PodId> {
    pods.sort_by_key(|pod| {
        let used = case.world.usage.pod(*pod);
        (Reverse(used.map(|used| (used.cpu, used.memory))), *pod)
    });
    pods
}

fn lines(case: &Context<'_>, decided: &AllVerdicts<'_>, pods: &[PodId]) -> Vec<PodLine> {
    let snapshot = case.world.snapshot;
    let mut lines = Vec::new();
    for (position, pod) in pods.iter().enumerate() {
        let facts = snapshot.pod(*pod);
        lines.push(PodLine {
            namespace: facts.namespace.clone(),
            name: facts.name.clone(),
            workload: facts.workload.map(|id| snapshot.workload(id).key.clone()),
            node: facts.node.map(|node| snapshot.node(node).name.clone()),
            ready: facts.ready,
            used: case.world.usage.pod(*pod),
            requests: Measure::from_all(&facts.requests),
            verdicts: decided.of_pod(position),
        });
    }
    lines
}

/// How a strategy sees a node; `None` if it does not classify nodes.
fn view(decided: &AllVerdicts<'_>, verdict: &NodeVerdict, node: NodeId) -> Option<StrategyView> {
    let draft = &decided.draft;
    let strategy = draft.world.strategy(verdict.strategy);
    let (policy, resources) = (draft.world.policy, &draft.world.snapshot.resources);
    let idle = verdict.idle.iter();
    let levels = verdict.levels.iter();
    Some(StrategyView {
        strategy: strategy.rule.name(),
        profile: policy.profiles[strategy.profile].name.clone(),
        class: CodedMessage::class(verdict.class.as_ref()?),
        idle: idle.map(|(pool, idle)| (pool.clone(), CodedMessage::idle(idle))).collect(),
        standing: levels
            .map(|level| {
                let name = resources.name(level.resource).to_owned();
                (name, standing(draft, node, level))
            })
            .collect(),
    })
}

/// A node's ratio in one resource, before and after the moves of this cycle.
fn standing(draft: &Draft<'_>, node: NodeId, level: &ResourceLevel) -> ResourceStatus {
    let whole = draft.world.snapshot.node(node).allocatable[level.resource];
    let above = level.ratio.zip(level.target);
    let above = above.and_then(|(ratio, target)| AboveTarget::new(level.resource, ratio, target));
    // Only strategies with targets weigh terminating pods (`room_ratio`).
    let after = match level.target {
        Some(_) => draft.room_ratio(node, level.resource, level.basis),
        None => draft.ratio(node, level.resource, level.basis),
    };
    ResourceStatus {
        basis: level.basis,
        ratio: level.ratio,
        after,
        threshold: level.threshold,
        target: level.target,
        over: above.map(|above| whole.times(above.distance())),
    }
}
