//! All that can be said of a node, and of a workload.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;

use crate::decide::steering;
use crate::model::plan::{Idle, Steer};
use crate::model::snapshot::facts::OwnerKey;
use crate::model::snapshot::{NodeId, PodId, WorkloadId};
use crate::policy::Basis;
use crate::values::{Amount, Ratio};

use super::decided::{Decided, Made};
use super::load::{self, Load, Use};
use super::memory::{self, Memory};
use super::of_pod::BudgetLine;
use super::{Case, Said, Told};

/// All that can be said of a node.
#[derive(Clone, Debug, Serialize)]
pub struct OfNode {
    /// When.
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
    /// Why what is known of it may be wrong.
    pub doubt: Option<Told>,
    /// Why nothing at all is considered, if so.
    pub halted: Option<Told>,
    /// What it uses, and what its pods request.
    pub load: Load,
    /// What each strategy that looks at nodes as a whole makes of it.
    pub views: Vec<View>,
    /// What is done about its soft taint.
    pub steering: Option<Steer>,
    /// Pods of other nodes that are to land on it, as `namespace/name`.
    pub arriving: Vec<String>,
    /// What is on it, the heaviest first.
    pub pods: Vec<PodLine>,
}

/// What one strategy makes of a node.
#[derive(Clone, Debug, Serialize)]
pub struct View {
    /// The strategy.
    pub strategy: &'static str,
    /// The profile of the policy that it stands in.
    pub profile: String,
    /// What it takes the node for.
    pub class: Told,
    /// Why it does nothing, by pool; empty where it does something.
    pub idle: BTreeMap<String, Told>,
    /// How the node stands, by resource.
    pub standing: BTreeMap<String, Standing>,
}

/// How a node stands in one resource.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// What is weighed.
    pub basis: Basis,
    /// Its ratio; `None` where that is not known.
    pub ratio: Option<Ratio>,
    /// The same once the moves of this cycle are made and have landed as foreseen.
    pub after: Option<Ratio>,
    /// The threshold.
    pub low: Option<Ratio>,
    /// The target.
    pub high: Option<Ratio>,
    /// What it is over the target by, in base units: nanocores, bytes or pieces.
    pub over: Option<Amount>,
}

/// One pod of a node or a workload, in a line.
#[derive(Clone, Debug, Serialize)]
pub struct PodLine {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What controls it at the top.
    pub workload: Option<OwnerKey>,
    /// Where it is.
    pub node: Option<String>,
    /// Whether it is Ready.
    pub ready: bool,
    /// What it uses, smoothed or estimated; `None` where it is not known.
    pub used: Option<Use>,
    /// What it requests.
    pub requests: Use,
    /// What each strategy says of it.
    pub words: Vec<Said>,
}

/// All that can be said of a workload.
#[derive(Clone, Debug, Serialize)]
pub struct OfWorkload {
    /// When.
    pub at: Timestamp,
    /// Its namespace, kind and name.
    pub workload: OwnerKey,
    /// How many pods it has that stay.
    pub replicas: u32,
    /// How many of them are Ready.
    pub ready: u32,
    /// The budgets that cover any of its pods.
    pub budgets: Vec<BudgetLine>,
    /// Why nothing at all is considered, if so.
    pub halted: Option<Told>,
    /// What is remembered of it.
    pub ledger: Memory,
    /// Its pods, the heaviest first.
    pub pods: Vec<PodLine>,
}

pub(super) fn of_node(case: &Case<'_>, node: NodeId) -> OfNode {
    let snapshot = case.world.snapshot;
    let it = snapshot.node(node);
    let pods = heaviest_first(case, it.pods.clone());
    let decided = Decided::new(case, &pods, Some(node));
    let steering = steering::steer(
        case.world,
        decided.draft.verdicts(),
        &decided.draft.destinations(),
        case.halted,
    );
    let doubt = it
        .doubt
        .as_ref()
        .map(|doubt| Told::class(&crate::model::plan::Class::Doubtful(doubt.clone())));
    let lands = |pod: &PodId| decided.draft.landing(*pod) == Some(node);
    OfNode {
        at: case.world.now,
        name: it.name.clone(),
        ready: it.ready,
        cordoned: it.cordoned,
        labels: it.labels.clone(),
        taints: it.taints.iter().map(ToString::to_string).collect(),
        doubt,
        halted: case.halted.map(Told::halt),
        load: load::of_node(case, node),
        views: decided
            .made
            .iter()
            .filter_map(|made| view(&decided, made, node))
            .collect(),
        steering: steering.into_iter().find(|steer| steer.node == it.name),
        arriving: snapshot
            .pod_ids()
            .filter(lands)
            .map(|pod| name_of(case, pod))
            .collect(),
        pods: lines(case, &decided, &pods),
    }
}

pub(super) fn of_workload(case: &Case<'_>, id: WorkloadId) -> OfWorkload {
    let snapshot = case.world.snapshot;
    let it = snapshot.workload(id);
    let pods = heaviest_first(case, it.pods.clone());
    let decided = Decided::new(case, &pods, None);
    let budgets: BTreeSet<_> = pods
        .iter()
        .flat_map(|pod| &snapshot.pod(*pod).budgets)
        .map(|id| id.0)
        .collect();
    let ready = pods
        .iter()
        .filter(|pod| snapshot.pod(**pod).serves())
        .count();
    OfWorkload {
        at: case.world.now,
        workload: it.key.clone(),
        replicas: snapshot.replicas(id),
        ready: u32::try_from(ready).unwrap_or(u32::MAX),
        budgets: budgets
            .into_iter()
            .map(|id| BudgetLine::of(snapshot, crate::model::snapshot::BudgetId(id)))
            .collect(),
        halted: case.halted.map(Told::halt),
        ledger: memory::memory(case, &it.key, Some(id), None),
        pods: lines(case, &decided, &pods),
    }
}

fn name_of(case: &Case<'_>, pod: PodId) -> String {
    let it = case.world.snapshot.pod(pod);
    format!("{}/{}", it.namespace, it.name)
}

/// By cpu, then by memory; what is unknown comes last.
fn heaviest_first(case: &Case<'_>, mut pods: Vec<PodId>) -> Vec<PodId> {
    pods.sort_by_key(|pod| {
        (
            Reverse(
                case.world
                    .usage
                    .pod(*pod)
                    .map(|used| (used.cpu, used.memory)),
            ),
            *pod,
        )
    });
    pods
}

fn lines(case: &Case<'_>, decided: &Decided<'_>, pods: &[PodId]) -> Vec<PodLine> {
    let snapshot = case.world.snapshot;
    let line = |(position, pod): (usize, &PodId)| {
        let it = snapshot.pod(*pod);
        PodLine {
            namespace: it.namespace.clone(),
            name: it.name.clone(),
            workload: it
                .workload
                .map(|workload| snapshot.workload(workload).key.clone()),
            node: it.node.map(|node| snapshot.node(node).name.clone()),
            ready: it.ready,
            used: case.world.usage.pod(*pod).map(Use::from),
            requests: Use::from(&it.requests),
            words: decided.of(position),
        }
    };
    pods.iter().enumerate().map(line).collect()
}

/// `None` of a strategy that does not look at nodes as a whole.
fn view(decided: &Decided<'_>, made: &Made, node: NodeId) -> Option<View> {
    let draft = &decided.draft;
    let strategy = draft.strategy(made.strategy);
    let snapshot = draft.world.snapshot;
    let told = |idle: &Idle| Told {
        code: idle.code(),
        message: idle.to_string(),
        remedy: Some(idle.remedy()),
    };
    let standing = made.levels.iter().map(|level| {
        let whole = snapshot.node(node).allocatable[level.resource];
        let beyond = level
            .ratio
            .zip(level.high)
            .filter(|(ratio, high)| ratio > high);
        let standing = Standing {
            basis: level.basis,
            ratio: level.ratio,
            after: draft.ratio(node, level.resource, level.basis),
            low: level.low,
            high: level.high,
            over: beyond.map(|(ratio, high)| whole.times(ratio.minus(high))),
        };
        (snapshot.resources.name(level.resource).to_owned(), standing)
    });
    Some(View {
        strategy: strategy.rule.name(),
        profile: draft.world.policy.profiles[strategy.profile].name.clone(),
        class: Told::class(made.class.as_ref()?),
        idle: made
            .idle
            .iter()
            .map(|(pool, idle)| (pool.clone(), told(idle)))
            .collect(),
        standing: standing.collect(),
    })
}
