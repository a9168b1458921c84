//! Workloads and budgets that cannot spare the pod.

/// The reason why the workload or a PodDisruptionBudget cannot spare the pod.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum Disruption {
    #[error("its workload has {have} of the {least} replicas that the policy requires")]
    TooFewReplicas {
        /// Replicas that the workload has.
        have: u32,
        /// Replicas that the policy requires.
        least: u32,
    },
    #[error("{left} other replicas would be Ready, and at least {least} must be")]
    LastReady {
        /// Ready replicas that would be left.
        left: u32,
        /// Ready replicas that the policy requires.
        least: u32,
        /// Other replicas that this plan or an earlier one evicts; with zero, too few were Ready to
        /// begin with.
        leaving: u32,
    },
    #[error("PodDisruptionBudget {name} {cause}")]
    Budget {
        /// The name of the budget.
        name: String,
        /// Why it allows none.
        cause: BudgetCause,
    },
    #[error(
        "several PodDisruptionBudgets cover it ({0}), so the API server would reject its eviction"
    )]
    SeveralBudgets(String),
    #[error("PodDisruptionBudget {0} has changed, and its status is not up to date yet")]
    StaleBudget(String),
    #[error("PodDisruptionBudget {0} of its namespace cannot be read and may cover it")]
    UnreadableBudget(String),
}

impl Disruption {
    /// Returns the stable code, and the change that would let the pod move.
    pub fn code_and_remedy(&self) -> (&'static str, String) {
        match self {
            Disruption::TooFewReplicas { have, .. } => (
                "too-few-replicas",
                format!(
                    "add replicas; or set `evictable.minReplicas: {have}`, or give the pod the annotation evenkeel.io/evict-single-replica: \"true\""
                ),
            ),
            Disruption::LastReady { leaving: 0, .. } => {
                ("last-ready-replica", READY_REPLICAS.into())
            }
            Disruption::LastReady { .. } => ("last-ready-replica", READY_REPLACEMENTS.into()),
            Disruption::Budget { name, cause } => {
                let budget = format!("PodDisruptionBudget {name}");
                ("disruption-budget", cause.remedy(&budget))
            }
            Disruption::SeveralBudgets(_) => ("several-budgets", ONE_BUDGET.into()),
            Disruption::StaleBudget(_) => {
                ("stale-budget", "wait for the disruption controller".into())
            }
            Disruption::UnreadableBudget(name) => {
                ("unreadable-budget", format!("correct PodDisruptionBudget {name}"))
            }
        }
    }

    /// Returns true if evictions of this plan or earlier ones are the cause.
    pub(super) const fn is_temporary(&self) -> bool {
        match self {
            Disruption::LastReady { leaving, .. } => *leaving > 0,
            Disruption::Budget { cause, .. } => matches!(cause, BudgetCause::Planned(_)),
            Disruption::TooFewReplicas { .. }
            | Disruption::SeveralBudgets(_)
            | Disruption::StaleBudget(_)
            | Disruption::UnreadableBudget(_) => false,
        }
    }
}

const ONE_BUDGET: &str = "let only one PodDisruptionBudget select the pod";
const READY_REPLICAS: &str =
    "wait until other replicas are Ready, or lower `evictable.minReplicas`";
const READY_REPLACEMENTS: &str = "wait until the replacements of the other evictions are Ready, or lower `evictable.minReplicas`";

/// Why a PodDisruptionBudget allows no disruption. The text follows the name of the budget.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum BudgetCause {
    #[error("allows no disruption beyond the {0} planned")]
    Planned(u32),
    #[error("allows no disruption now")]
    Unhealthy,
    #[error("allows no disruption, because it needs {}", needs(*.desired, *.covered))]
    NeedsAll {
        /// The healthy pods that it requires.
        desired: u32,
        /// The pods that it covers.
        covered: u32,
    },
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
                    "let {budget} allow a disruption instead of {rule}; more replicas do not help"
                );
            }
            BudgetCause::SyncFailed(_) => {
                return format!(
                    "set an integer `minAvailable` in {budget}, or let it select only pods of controllers with a scale; more replicas do not help"
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
