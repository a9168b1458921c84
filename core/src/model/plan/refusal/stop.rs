//! Evictions that something besides the pod stops.

use jiff::SignedDuration;

use crate::model::guard::GuardStop;
use crate::model::plan::remedy::unmeasured;
use crate::model::snapshot::pause::Pause;
use crate::model::usage::Unmeasured;
use crate::values::NodeMinutes;
use crate::values::text::duration;

use super::Reach;

/// Something besides the pod that stops its eviction: its node, another pod, a person, a guard or
/// the ledger.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum Stop {
    #[error("its node is left alone: {0}")]
    Unreadable(String),
    #[error("its usage is unknown: {0}")]
    Unmeasured(Unmeasured),
    #[error("{}", .0.sentence())]
    Paused(Pause),
    #[error("{0}")]
    Guarded(Box<GuardStop>),
    #[error("an eviction in its workload was rejected, so its pods are tried one at a time")]
    WorkloadRejected,
    #[error("the ledger is full at {0} kB")]
    LedgerFull(usize),
    #[error(
        "its move could save {node} {above} above the target in the next hour, and its replacement takes about {} to be Ready",
        duration(*.start)
    )]
    NotWorthIt {
        node: String,
        /// The time that the node is expected to be above its target in the next hour.
        above: NodeMinutes,
        /// The time until the replacement is Ready, by earlier ones of the workload.
        start: SignedDuration,
    },
    #[error("a person has approved other evictions, and its own is not one of them")]
    NotApproved,
    #[error("emptying its node would gain nothing, because no autoscaler may remove it: {0}")]
    Unremovable(String),
    #[error("its node is emptied completely or not at all, and {0} has to stay")]
    NotAlone(String),
}

impl Stop {
    pub(super) fn code_and_remedy(&self) -> (&'static str, String) {
        match self {
            Stop::Unreadable(_) => {
                ("doubtful-node", "correct the object that cannot be read".into())
            }
            Stop::Unmeasured(why) => ("unmeasured", unmeasured(why)),
            Stop::Paused(pause) => ("paused", pause.remedy().into()),
            Stop::Guarded(stop) => ("guarded", stop.remedy()),
            Stop::WorkloadRejected => ("rejected-workload", WORKLOAD_REJECTED.into()),
            Stop::LedgerFull(_) => ("ledger-full", LEDGER_FULL.into()),
            Stop::NotWorthIt { .. } => ("not-worth-it", FASTER_START.into()),
            Stop::NotApproved => {
                ("not-approved", "wait until those are made or their approval ends".into())
            }
            Stop::Unremovable(_) => ("unremovable-node", UNREMOVABLE.into()),
            Stop::NotAlone(pod) => ("not-alone", free_other_pod(pod)),
        }
    }

    pub(super) const fn reach(&self) -> Reach {
        match self {
            Stop::Unreadable(_) => Reach::Node,
            Stop::LedgerFull(_) => Reach::Replaced,
            Stop::Unmeasured(_)
            | Stop::Paused(_)
            | Stop::Guarded(_)
            | Stop::WorkloadRejected
            | Stop::NotWorthIt { .. }
            | Stop::NotApproved
            | Stop::Unremovable(_)
            | Stop::NotAlone(_) => Reach::Pod,
        }
    }
}

const WORKLOAD_REJECTED: &str = "wait until one of its pods is evicted";
const LEDGER_FULL: &str = "wait until entries expire, or lower `cooldown.rest`";
const FASTER_START: &str =
    "nothing, or let its workload start faster, for example by smaller images";
const UNREMOVABLE: &str =
    "remove the annotation from the node or the pod, or leave the node out by `nodeSelector`";

fn free_other_pod(pod: &str) -> String {
    format!("remove what keeps {pod} (`explain` it): a node is emptied completely or not at all")
}
