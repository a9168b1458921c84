//! The input of a decision.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;

use crate::model::approval::Approved;
use crate::model::guard::GuardStates;
use crate::model::ledger::Ledger;
use crate::model::search_start::SearchStart;
use crate::model::snapshot::{Pod, Snapshot};
use crate::model::usage::Usage;
use crate::policy::{Policy, Strategy};

/// The time since when a node has been above a target, by strategy position and node name.
pub type HotSince = BTreeMap<(usize, String), Timestamp>;

/// The complete input of a decision.
#[derive(Clone, Copy, Debug)]
pub struct World<'w> {
    /// The policy.
    pub policy: &'w Policy,
    /// The nodes, pods and budgets of the cluster.
    pub snapshot: &'w Snapshot,
    /// The usage of nodes and pods.
    pub usage: &'w Usage,
    /// Past evictions.
    pub ledger: &'w Ledger,
    /// The guards of the policy with their states.
    pub guards: &'w GuardStates,
    /// The evictions that a person has approved, where the policy requires that.
    pub approved: &'w Approved,
    /// The time since when nodes have been hot.
    pub hot_since: &'w HotSince,
    /// Where kube-scheduler may start its next search.
    pub search_start: &'w SearchStart,
    /// The current time.
    pub now: Timestamp,
}

/// The memory of an engine that has seen nothing yet.
#[derive(Default)]
struct NoMemory {
    ledger: Ledger,
    guards: GuardStates,
    approved: Approved,
    hot_since: HotSince,
    search_start: SearchStart,
}

static NO_MEMORY: LazyLock<NoMemory> = LazyLock::new(NoMemory::default);

impl<'w> World<'w> {
    /// Returns a number that grows by one from cycle to cycle.
    pub fn cycle(&self) -> usize {
        let interval = self.policy.interval.as_millis().max(1);
        let cycles = i128::from(self.now.as_millisecond()) / interval;
        usize::try_from(cycles).unwrap_or_default()
    }

    /// Returns true if a pod was asked to leave. A watch that lags still shows it as Ready.
    pub fn is_under_way(&self, pod: &Pod) -> bool {
        self.ledger.is_under_way(&pod.uid, &self.policy.cooldown, self.now)
    }

    /// Creates a world without anything from earlier cycles.
    pub fn without_memory(
        policy: &'w Policy,
        snapshot: &'w Snapshot,
        usage: &'w Usage,
        now: Timestamp,
    ) -> Self {
        World {
            policy,
            snapshot,
            usage,
            ledger: &NO_MEMORY.ledger,
            guards: &NO_MEMORY.guards,
            approved: &NO_MEMORY.approved,
            hot_since: &NO_MEMORY.hot_since,
            search_start: &NO_MEMORY.search_start,
            now,
        }
    }

    /// Returns the strategy at a position of the policy.
    pub fn strategy(&self, position: usize) -> &'w Strategy {
        &self.policy.strategies[position]
    }
}
