//! Remedies: for each reason for doing nothing, the change that would remove it.

use jiff::SignedDuration;

use crate::model::snapshot::facts::NodeClosure;
use crate::model::usage::{SampleFlaw, Unmeasured};
use crate::values::text::duration;

use super::{Class, Idle};

pub(super) fn wait(left: SignedDuration, otherwise: &str) -> String {
    format!("wait {}, or {otherwise}", duration(left))
}

/// Returns the change that would make the usage known.
pub(super) fn unmeasured(why: &Unmeasured) -> String {
    match why {
        Unmeasured::Missing => {
            "make the usage source report it (see `usage` in the policy)".to_owned()
        }
        Unmeasured::Starting => "wait until it has run for a few minutes".to_owned(),
        Unmeasured::Stale(_) => "wait for a fresh sample, or raise `usage.staleAfter`".to_owned(),
        Unmeasured::Future(_) => "synchronise the clocks".to_owned(),
        Unmeasured::Flawed(flaw) => flaw_remedy(flaw),
        Unmeasured::Few { have, need } => {
            format!(
                "wait for {} more samples, or lower `usage.minSamples`",
                need.saturating_sub(*have)
            )
        }
    }
}

fn flaw_remedy(flaw: &SampleFlaw) -> String {
    match flaw {
        SampleFlaw::Unreadable(_) | SampleFlaw::Contradictory(_) => {
            "correct what the usage source reports (see `usage` in the policy)".to_owned()
        }
        SampleFlaw::Partial(container) => {
            format!("wait until the usage source measures container {container}")
        }
        SampleFlaw::OtherNode(_) => {
            "correct the label that names the node in its series (see `usage.prometheus`)"
                .to_owned()
        }
    }
}

/// Returns the remaining time, at least one second.
pub(super) fn at_least_a_second(whole: SignedDuration, gone: SignedDuration) -> SignedDuration {
    whole.saturating_sub(gone).max(SignedDuration::from_secs(1))
}

impl Class {
    /// Returns the change that would let the node take part or take pods; `None` if nothing
    /// prevents it.
    pub fn remedy(&self) -> Option<String> {
        Some(match self {
            Class::Warming { since, sustained_for, .. } => {
                wait(at_least_a_second(*sustained_for, *since), "lower `sustainedFor`")
            }
            Class::ColdClosed(NodeClosure::Cordoned)
            | Class::InUseClosed(NodeClosure::Cordoned) => "uncordon the node".to_owned(),
            Class::Deleting
            | Class::ColdClosed(NodeClosure::Leaving | NodeClosure::Stopping)
            | Class::InUseClosed(NodeClosure::Leaving | NodeClosure::Stopping) => {
                "nothing: it is leaving".to_owned()
            }
            Class::ColdClosed(NodeClosure::StartsNothing)
            | Class::InUseClosed(NodeClosure::StartsNothing) => {
                "see the events of the pods that wait there, or cordon the node".to_owned()
            }
            Class::ColdClosed(_) | Class::InUseClosed(_) => {
                "remove what causes the condition of the node".to_owned()
            }
            Class::NoAllocatable(_) => "wait until its kubelet reports allocatable".to_owned(),
            Class::Lacks(_) => "nothing: the strategy weighs nothing that the node has".to_owned(),
            Class::Leaving => "nothing: an autoscaler has marked it".to_owned(),
            Class::Unknown(why) => unmeasured(why),
            Class::Unreadable(_) => "correct the object that cannot be read".to_owned(),
            Class::NotReady => "wait until its kubelet reports Ready".to_owned(),
            Class::NotSelected => {
                "change the `nodeSelector` of the policy or of the strategy's pools".to_owned()
            }
            Class::Hot { .. } | Class::Cold | Class::Even | Class::Underused | Class::InUse => {
                return None;
            }
        })
    }
}

impl Idle {
    /// Returns the change that would let the strategy act.
    pub fn remedy(&self) -> String {
        match self {
            Idle::NothingHot => {
                "nothing: no node that takes part is above its `targetThresholds`".to_owned()
            }
            Idle::NotForLong(_) => "wait, or lower `sustainedFor`".to_owned(),
            Idle::NothingCold(_) => "add nodes, or raise `thresholds`".to_owned(),
            Idle::AllCold => {
                "nothing: no node that takes part needs relief, and fewer would suffice".to_owned()
            }
            Idle::FewCold { cold, .. } => {
                format!("add nodes or raise `thresholds`, or set `numberOfNodes` below {cold}")
            }
            Idle::NothingUnderused => "nothing, or raise `thresholds`".to_owned(),
            Idle::NothingToEmpty(_) => {
                "the refusals of their pods say why the other nodes stay (`plan`, `explain node`); \
                 where they would land on full nodes, `steering.taintEmptying` has to be set"
                    .to_owned()
            }
            Idle::SearchUnfinished { .. } => "nothing: later cycles try the others".to_owned(),
            Idle::NoDestination => {
                "uncordon a node above its thresholds, or lower `thresholds`".to_owned()
            }
            Idle::Unmeasurable(resource) => {
                format!("remove the threshold for {resource}, or set `basis: requests`")
            }
        }
    }
}
