//! Why: all that can be said now of one pod, one node or one workload, as plain data.
//!
//! Nothing is decided here. The strategies have their turns as in a plan, and then each is asked what it made of the pod;
//! every gate is asked by itself; and the forecast, the window and the ledger are laid open.

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use crate::decide::draft::World;
use crate::model::plan::{Class, Halt, PodVerdict, Refusal};
use crate::model::usage::history::History;

mod decided;
mod find;
mod landing;
mod load;
mod memory;
mod of_node;
mod of_pod;

pub use find::{NotFound, Subject};
pub use landing::{Fit, Landing, Misfits};
pub use load::{Load, Point, Use};
pub use memory::{Eviction, Memory, Useless};
pub use of_node::{OfNode, OfWorkload, PodLine, Standing, View};
pub use of_pod::{Answer, Asked, BudgetLine, OfPod};

/// What an explanation is made from.
#[derive(Clone, Copy, Debug)]
pub struct Case<'w> {
    /// The world.
    pub world: World<'w>,
    /// The windows.
    pub history: &'w History,
    /// Why nothing at all is considered, if so.
    pub halted: Option<&'w Halt>,
}

/// All that can be said of one thing now.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Explanation {
    /// Of a pod.
    Pod(Box<OfPod>),
    /// Of a node.
    Node(Box<OfNode>),
    /// Of a workload.
    Workload(Box<OfWorkload>),
}

impl Explanation {
    /// When it was made.
    pub fn at(&self) -> Timestamp {
        match self {
            Explanation::Pod(it) => it.at,
            Explanation::Node(it) => it.at,
            Explanation::Workload(it) => it.at,
        }
    }
}

/// A stable label, a sentence, and what would have to change, if anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told {
    /// The label.
    pub code: &'static str,
    /// The sentence.
    pub message: String,
    /// What would have to change.
    pub remedy: Option<String>,
}

impl Told {
    fn refusal(why: &Refusal) -> Self {
        Told {
            code: why.code(),
            message: why.to_string(),
            remedy: Some(why.remedy()),
        }
    }

    fn class(class: &Class) -> Self {
        Told {
            code: class.code(),
            message: class.to_string(),
            remedy: class.remedy(),
        }
    }

    fn halt(halt: &Halt) -> Self {
        Told {
            code: "halted",
            message: halt.to_string(),
            remedy: Some(halt.remedy()),
        }
    }
}

/// What one strategy says of one pod.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// The strategy.
    pub strategy: &'static str,
    /// The profile of the policy that it stands in.
    pub profile: String,
    /// What it says.
    pub word: PodVerdict,
}

impl Serialize for Said {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let answer = match self.word {
            PodVerdict::Moved { .. } => "moved",
            PodVerdict::Kept(_) => "kept",
            PodVerdict::NotSelected(_) => "not_selected",
        };
        let mut out = serializer.serialize_struct("Said", 6)?;
        out.serialize_field("strategy", self.strategy)?;
        out.serialize_field("profile", &self.profile)?;
        out.serialize_field("answer", answer)?;
        out.serialize_field("code", self.word.code())?;
        out.serialize_field("message", &self.word.to_string())?;
        out.serialize_field("remedy", &self.word.remedy())?;
        out.end()
    }
}

/// The word that matters most of those that strategies say of one pod: that it goes, else why it stays, else the first.
pub fn foremost(said: &[Said]) -> Option<&Said> {
    let rank = |said: &&Said| match said.word {
        PodVerdict::Moved { .. } => 0,
        PodVerdict::Kept(_) => 1,
        PodVerdict::NotSelected(_) => 2,
    };
    said.iter().min_by_key(rank)
}

/// Explains one thing; an error names what is alike where there is no such thing.
pub fn explain(case: &Case<'_>, subject: &Subject) -> Result<Explanation, NotFound> {
    let snapshot = case.world.snapshot;
    Ok(match find::find(snapshot, subject)? {
        find::Found::Pod(pod) => Explanation::Pod(Box::new(of_pod::of_pod(case, pod))),
        find::Found::Node(node) => Explanation::Node(Box::new(of_node::of_node(case, node))),
        find::Found::Workload(workload) => {
            Explanation::Workload(Box::new(of_node::of_workload(case, workload)))
        }
    })
}
