//! Explanations of one pod, one node or one workload, as plain data.
//!
//! The strategies run as they do for a plan, and then each gives its verdict about the pod. Every
//! gate is asked separately. The forecast, the usage window and the ledger are shown as they are.

use jiff::Timestamp;
use serde::Serialize;

use crate::decide::projection::World;
use crate::model::plan::{Class, Halt, Idle, PodVerdict, Refusal};
use crate::model::usage::Unmeasured;
use crate::model::usage::history::History;

mod decided;
mod find;
mod landing;
mod load;
mod memory;
mod of_node;
mod of_pod;

pub use find::{NotFound, Subject};
pub use landing::{FittingNode, Misfits, ReplacementForecast};
pub use load::{LoadSummary, UsagePoint};
pub use memory::{PastEviction, UselessMoves, WorkloadRecord};
pub use of_node::{NodeExplanation, PodLine, ResourceStatus, StrategyView, WorkloadExplanation};
pub use of_pod::{BudgetLine, GateVerdict, GateVerdicts, PodExplanation, RuleVerdict};

/// The input of an explanation.
#[derive(Clone, Copy, Debug)]
pub struct Context<'w> {
    /// The cluster, the policy and the memory.
    pub world: World<'w>,
    /// The usage samples.
    pub history: &'w History,
    /// Why no eviction is considered; `None` if evictions are.
    pub halted: Option<&'w Halt>,
}

/// The explanation of one object.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Explanation {
    /// A pod.
    Pod(Box<PodExplanation>),
    /// A node.
    Node(Box<NodeExplanation>),
    /// A workload.
    Workload(Box<WorkloadExplanation>),
}

impl Explanation {
    /// The time of the explanation.
    pub fn at(&self) -> Timestamp {
        match self {
            Explanation::Pod(pod) => pod.at,
            Explanation::Node(node) => node.at,
            Explanation::Workload(workload) => workload.at,
        }
    }
}

/// A stable code, a sentence and, if there is one, a remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CodedMessage {
    /// The stable code.
    pub code: &'static str,
    /// The sentence.
    pub message: String,
    /// How to get a different result.
    pub remedy: Option<String>,
}

impl CodedMessage {
    fn refusal(why: &Refusal) -> Self {
        CodedMessage { code: why.code(), message: why.to_string(), remedy: Some(why.remedy()) }
    }

    /// The reason why the usage of a node is unknown. Only strategies on usage leave it alone.
    fn unknown(why: &Unmeasured) -> Self {
        let class = Class::Unknown(why.clone());
        CodedMessage { code: class.code(), message: why.to_string(), remedy: class.remedy() }
    }

    fn class(class: &Class) -> Self {
        CodedMessage { code: class.code(), message: class.to_string(), remedy: class.remedy() }
    }

    fn idle(idle: &Idle) -> Self {
        CodedMessage { code: idle.code(), message: idle.to_string(), remedy: Some(idle.remedy()) }
    }

    fn halt(halt: &Halt) -> Self {
        CodedMessage { code: "halted", message: halt.to_string(), remedy: Some(halt.remedy()) }
    }
}

/// The verdict of one strategy about one pod.
#[derive(Clone, Debug, PartialEq)]
pub struct StrategyVerdict {
    /// The strategy.
    pub strategy: &'static str,
    /// The profile of the policy that contains it.
    pub profile: String,
    /// The verdict.
    pub verdict: PodVerdict,
}

crate::object!(StrategyVerdict, |line| {
    "strategy": line.strategy,
    "profile": line.profile,
    "answer": match line.verdict {
        PodVerdict::Moved { .. } => "moved",
        PodVerdict::Proposed { .. } => "proposed",
        PodVerdict::Kept(_) => "kept",
        PodVerdict::NotSelected(_) => "not_selected",
    },
    "code": line.verdict.code(),
    "message": line.verdict.to_string(),
    "remedy": line.verdict.remedy(),
});

/// The most important verdict about a pod: the one that moves it, otherwise one that would, with
/// an approval, otherwise one that keeps it, otherwise the first.
pub fn foremost(verdicts: &[StrategyVerdict]) -> Option<&StrategyVerdict> {
    let rank = |line: &&StrategyVerdict| match line.verdict {
        PodVerdict::Moved { .. } => 0,
        PodVerdict::Proposed { .. } => 1,
        PodVerdict::Kept(_) => 2,
        PodVerdict::NotSelected(_) => 3,
    };
    verdicts.iter().min_by_key(rank)
}

/// Explains one object. The error lists similar names.
pub fn explain(case: &Context<'_>, subject: &Subject) -> Result<Explanation, NotFound> {
    let snapshot = case.world.snapshot;
    Ok(match find::find(snapshot, subject)? {
        find::Match::Pod(pod) => Explanation::Pod(Box::new(of_pod::of_pod(case, pod))),
        find::Match::Node(node) => Explanation::Node(Box::new(of_node::of_node(case, node))),
        find::Match::Workload(workload) => {
            Explanation::Workload(Box::new(of_node::of_workload(case, workload)))
        }
    })
}
