//! Reasons for keeping a pod: a stable code for machines, a sentence for people.
//!
//! Each group has its own file, in which the sentence, the code and the remedy of a refusal stand
//! together.

use jiff::SignedDuration;

use crate::model::ledger::Rest;
use crate::model::usage::Unmeasured;

mod bad_landing;
mod no_gain;
mod disruption;
mod protected;
mod start_flaw;
mod replacement;
mod rest;
mod stop;
mod temporary;

pub use bad_landing::{BadLanding, PlacementCause, horizon, limit_name};
pub use disruption::{BudgetCause, Disruption};
pub use no_gain::{BrokenPreference, NoGain};
pub use protected::Protected;
pub use replacement::{ClaimFlaw, JobFailureCause, NoReplacementCause, OrderCause, Replacement};
pub use start_flaw::StartFlaw;
pub use stop::Stop;
pub use temporary::Temporary;

/// A gate's reason for keeping a pod where it is.
///
/// [`Refusal::code`] is stable and meant for machines. The `Display` sentence is meant for people
/// and may be reworded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(transparent)]
pub enum Refusal {
    /// The pod is protected from evictions.
    Protected(#[from] Protected),
    /// The pod would have no replacement that could take over.
    Replacement(#[from] Replacement),
    /// Its workload or a budget cannot spare it.
    Disruption(#[from] Disruption),
    /// It rests, or its workload.
    Rest(#[from] Rest),
    /// Something besides the pod stops its eviction.
    Stop(#[from] Stop),
    /// A limit of the moment holds.
    Temporary(#[from] Temporary),
    /// Its replacement could land on the wrong node.
    Landing(#[from] BadLanding),
}

/// The scope of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This pod only.
    Pod,
    /// Every pod on its node.
    Node,
    /// Every pod in this cycle that a controller replaces.
    Replaced,
    /// Every pod in this cycle.
    Cycle,
}

impl Refusal {
    /// Returns the stable code that metrics and JSON use.
    pub fn code(&self) -> &'static str {
        self.code_and_remedy().0
    }

    /// Returns the change that would let the pod move: a clause for people that names the actual
    /// values.
    pub fn remedy(&self) -> String {
        self.code_and_remedy().1
    }

    fn code_and_remedy(&self) -> (&'static str, String) {
        match self {
            Refusal::Protected(why) => why.code_and_remedy(),
            Refusal::Replacement(why) => why.code_and_remedy(),
            Refusal::Disruption(why) => why.code_and_remedy(),
            Refusal::Rest(why) => why.code_and_remedy(),
            Refusal::Stop(why) => why.code_and_remedy(),
            Refusal::Temporary(why) => why.code_and_remedy(),
            Refusal::Landing(why) => why.code_and_remedy(),
        }
    }

    /// Returns true if only the approval of a person is missing.
    pub const fn needs_approval(&self) -> bool {
        matches!(self, Refusal::Temporary(Temporary::NeedsApproval { .. }))
    }

    /// Returns true if the pod stays until it has enough samples.
    pub const fn needs_samples(&self) -> bool {
        matches!(self, Refusal::Stop(Stop::Unmeasured(Unmeasured::Few { .. })))
    }

    /// Returns the scope. Other pods in the same scope need not be checked again.
    pub fn reach(&self) -> Reach {
        self.reach_and_wait().0
    }

    /// Returns the time after which the reason no longer holds, if that is known.
    pub fn wait(&self) -> Option<SignedDuration> {
        self.reach_and_wait().1
    }

    fn reach_and_wait(&self) -> (Reach, Option<SignedDuration>) {
        match self {
            Refusal::Rest(rest) => (Reach::Pod, Some(rest.left)),
            Refusal::Stop(why) => (why.reach(), None),
            Refusal::Temporary(why) => why.reach_and_wait(),
            Refusal::Protected(_)
            | Refusal::Replacement(_)
            | Refusal::Disruption(_)
            | Refusal::Landing(_) => (Reach::Pod, None),
        }
    }

    /// Returns true if the pod stays because its replacement could return, land on a hot node, or
    /// land where the move would improve nothing. Steering can change that.
    pub const fn lies_in_the_landing(&self) -> bool {
        match self {
            Refusal::Landing(why) => why.can_be_steered(),
            Refusal::Protected(_)
            | Refusal::Replacement(_)
            | Refusal::Disruption(_)
            | Refusal::Rest(_)
            | Refusal::Stop(_)
            | Refusal::Temporary(_) => false,
        }
    }

    /// Returns the node on which the replacement could land, and which would then be hot.
    pub fn would_be_hot(&self) -> Option<&str> {
        if let Refusal::Landing(BadLanding::WouldBeHot { node, .. }) = self {
            Some(node)
        } else {
            None
        }
    }

    /// Returns the replicas of the pod's workload, if they are too few.
    pub const fn too_few_replicas(&self) -> Option<u32> {
        if let Refusal::Disruption(Disruption::TooFewReplicas { have, .. }) = self {
            Some(*have)
        } else {
            None
        }
    }

    /// Returns true if the pod can probably move in a later cycle, so no worse pod should move
    /// instead of it now.
    pub const fn is_temporary(&self) -> bool {
        match self {
            Refusal::Temporary(why) => why.ends_soon(),
            Refusal::Disruption(why) => why.is_temporary(),
            Refusal::Replacement(why) => why.is_temporary(),
            Refusal::Protected(_) | Refusal::Rest(_) | Refusal::Stop(_) | Refusal::Landing(_) => {
                false
            }
        }
    }

    /// Returns true if the pod only has to wait for its turn, as for a limit or a window. Its own
    /// age or annotation may keep it for days, so it must not do so for longer than this.
    pub fn waits_for_its_turn(&self, longest: SignedDuration) -> bool {
        let keeps = matches!(
            self,
            Refusal::Temporary(Temporary::Young { .. } | Temporary::DoNotDisrupt(_))
        );
        self.is_temporary() && (!keeps || self.wait().is_some_and(|wait| wait <= longest))
    }
}
