//! Reasons why a PodDisruptionBudget allows no disruption.

/// Why a PodDisruptionBudget allows no disruption. The text follows the name of the budget.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetCause {
    /// This many disruptions of the plan use it up.
    #[error("allows no disruption beyond the {0} planned")]
    Planned(u32),
    /// Too few of its pods are healthy.
    #[error("allows no disruption now")]
    Unhealthy,
    /// It covers no more pods than it requires.
    #[error("allows no disruption, because it needs {}", needs(*.desired, *.covered))]
    NeedsAll {
        /// The healthy pods that it requires.
        desired: u32,
        /// The pods that it covers.
        covered: u32,
    },
    /// This field of its spec forbids every disruption, however many replicas there are.
    #[error("never allows a disruption: {0}")]
    Forbids(String),
    /// The disruption controller cannot count its pods; holds the message of its condition.
    #[error("allows no disruption, because its controller cannot count its pods: {0}")]
    SyncFailed(String),
}

impl BudgetCause {
    /// Returns true if no eviction is possible until somebody changes the budget or the workload.
    pub const fn lasts(&self) -> bool {
        match self {
            BudgetCause::NeedsAll { .. } | BudgetCause::Forbids(_) | BudgetCause::SyncFailed(_) => {
                true
            }
            BudgetCause::Planned(_) | BudgetCause::Unhealthy => false,
        }
    }

    /// Returns the change that would let a budget allow a disruption. `budget` names it.
    pub fn remedy(&self, budget: &str) -> String {
        let first = match self {
            BudgetCause::Planned(_) => "wait until the planned evictions are replaced",
            BudgetCause::Unhealthy => "wait until more of its pods are healthy",
            BudgetCause::NeedsAll { .. } => "add replicas",
            BudgetCause::Forbids(rule) => {
                return format!(
                    "let {budget} allow a disruption instead of {rule}; more \
                     replicas do not help"
                );
            }
            BudgetCause::SyncFailed(_) => {
                return format!(
                    "set an integer `minAvailable` in {budget}, or let it \
                     select only pods of controllers with a scale; more replicas do not help"
                );
            }
        };
        format!("{first}, or let {budget} allow more disruptions")
    }
}

fn needs(desired: u32, covered: u32) -> String {
    if desired == covered {
        format!("all of its {desired} pods")
    } else {
        format!("{desired} healthy pods and covers {covered}")
    }
}
