//! How far a refusal reaches: to which pods, and for how long.

use jiff::SignedDuration;

use super::{BudgetCause, Refusal};

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
    /// Returns the scope. Other pods in the same scope need not be checked again.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a new refusal is about one pod unless it is listed here"
    )]
    pub const fn reach(&self) -> Reach {
        match self {
            Refusal::CycleLimit(_) | Refusal::RateLimit(_) | Refusal::NeedsApproval => Reach::Cycle,
            Refusal::LedgerFull(_) => Reach::Replaced,
            Refusal::NodeLimit(_) | Refusal::Unreadable(_) => Reach::Node,
            _ => Reach::Pod,
        }
    }

    /// Returns the time after which the reason no longer holds, if that is known.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "no other reason ends at a known time"
    )]
    pub fn wait(&self) -> Option<SignedDuration> {
        match self {
            Refusal::Young { age, least } => Some(*least - *age),
            Refusal::Resting(left)
            | Refusal::Ineffective { left, .. }
            | Refusal::OutsideWindow(left)
            | Refusal::DoNotDisrupt(Some(left))
            | Refusal::GotWorse { left, .. }
            | Refusal::Rejected { left, .. }
            | Refusal::NoRight(left)
            // At least this long.
            | Refusal::Trial(left) => Some(*left),
            _ => None,
        }
    }

    /// Returns true if the pod stays because its replacement could return, land on a hot node, or
    /// land where the move would improve nothing. Steering can change that.
    pub const fn lies_in_the_landing(&self) -> bool {
        matches!(
            self,
            Refusal::WouldReturn { .. } | Refusal::WouldBeHot { .. } | Refusal::WouldNotHelp { .. }
        )
    }

    /// Returns the node on which the replacement could land, and which would then be hot.
    pub fn would_be_hot(&self) -> Option<&str> {
        if let Refusal::WouldBeHot { node, .. } = self {
            Some(node)
        } else {
            None
        }
    }

    /// Returns true if the pod can probably move in a later cycle, so no worse pod should move
    /// instead of it now.
    pub const fn is_temporary(&self) -> bool {
        matches!(
            self,
            Refusal::OutsideWindow(_)
                | Refusal::NeedsApproval
                | Refusal::CycleLimit(_)
                | Refusal::NodeLimit(_)
                | Refusal::NamespaceLimit(_)
                | Refusal::RateLimit(_)
                | Refusal::WorkloadLimit { .. }
                | Refusal::LastReady { planned: 1.., .. }
                | Refusal::Budget {
                    cause: BudgetCause::Planned(_),
                    ..
                }
                | Refusal::Young { .. }
                | Refusal::DoNotDisrupt(Some(_))
                | Refusal::Terminating
                | Refusal::UnderWay
                | Refusal::Trial(_)
        )
    }
}
