//! From the intention of an eviction to its ending.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::decide::projection::Projection;
use crate::model::ledger::{NodeLoads, RampRule, Settled};
use crate::model::plan::Move;
use crate::model::snapshot::facts::OwnerKey;
use crate::model::snapshot::{NodeId, Snapshot};
use crate::policy::Basis;
use crate::values::Ratio;

use super::{Engine, Observed, halt};

impl Engine {
    /// Records in the ledger which evictions are about to be made. Save the ledger before making
    /// them.
    pub fn intend(&mut self, snapshot: &Snapshot, moves: &[Move], now: Timestamp) {
        for planned in moves {
            let Some(pod) = snapshot.find_pod(&planned.namespace, &planned.pod) else {
                continue;
            };
            let (aim, nodes) = (planned.aim, &planned.possible_nodes);
            self.ledger.intend(snapshot, pod, aim, nodes, now);
            if let Some(relief) = planned.relief_of_node() {
                self.ledger.expect_relief(&planned.uid, relief);
            }
            if self.policy.ramp.is_some() {
                self.ledger.try_out(snapshot, pod);
            }
        }
    }

    /// Finds out from a snapshot how earlier evictions ended.
    pub fn settle(&mut self, snapshot: &Snapshot, now: Timestamp) -> Vec<Settled> {
        let observed = self.join_usage(snapshot, now);
        self.settle_observed(&observed)
    }

    /// Like [`Engine::settle`], with a snapshot that is already joined.
    pub fn settle_observed(&mut self, observed: &Observed<'_>) -> Vec<Settled> {
        self.follow_scheduler(observed.snapshot, observed.now);
        self.note_hot(observed);
        let hot = self.hot_nodes(observed);
        let weighs_usage = self.policy.weighs_usage();
        let is_hot = |node: NodeId| {
            let is_known = !weighs_usage || observed.usage.node(node).is_some();
            is_known.then(|| hot.iter().any(|(_, n)| *n == node))
        };
        let ratios = self.ratios_of_watched(observed);
        let ratio = |node: &str, resource: &str| {
            ratios.get(&(node.to_owned(), resource.to_owned())).copied()
        };
        let loads = NodeLoads { hot: &is_hot, ratio: &ratio };
        let (cooldown, now) = (&self.policy.cooldown, observed.now);
        let guards = |workload: &OwnerKey| halt::guard_signal(&self.guards, workload, now);
        let ramp = self.policy.ramp.map(|ramp| RampRule { watch: ramp.watch, guards: &guards });
        let snapshot = observed.snapshot;
        let (settled, facts) = self.ledger.settle(snapshot, loads, cooldown, ramp.as_ref(), now);
        self.keep(facts);
        settled
    }

    /// The usage of the nodes that the ledger watches, by node and resource, as decisions see it.
    fn ratios_of_watched(&self, observed: &Observed<'_>) -> BTreeMap<(String, String), Ratio> {
        let mut watched = self.ledger.watched_nodes().peekable();
        if watched.peek().is_none() {
            return BTreeMap::new();
        }
        let projection = Projection::new(self.world(observed));
        let snapshot = observed.snapshot;
        let known = watched.filter_map(|(name, resource)| {
            let (node, id) = (snapshot.find_node(name)?, snapshot.resources.find(resource)?);
            let ratio = projection.known_ratio(node, id, Basis::Actual)?;
            Some(((name.to_owned(), resource.to_owned()), ratio))
        });
        known.collect()
    }
}
