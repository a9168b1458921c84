//! Carries out what a plan says of taints, and leaves none behind.

use std::collections::BTreeSet;
use std::time::Duration;

use tracing::{info, warn};

use crate::cluster::{events, taints};
use crate::decide::engine::Engine;
use crate::decide::steering;
use crate::model::plan::{Steer, SteerAction, SteerOutcome, SteerReason, SteerValue};

use super::{Daemon, clock};

/// A pod gets 30 s to end by default, and this is the last that it does.
const LONGEST_RELEASE: Duration = Duration::from_secs(20);

/// What has been done about taints by this process.
#[derive(Clone, Debug, Default)]
pub struct Steered {
    /// Nodes that may have the taint, whether or not a watch has told of it.
    nodes: BTreeSet<String>,
    /// Whether it has been said that the right is missing.
    forbidden: bool,
}

impl Daemon {
    /// Changes these taints, up to the first that fails: where the API server errs, the next cycle tries again.
    pub(super) async fn steer(&mut self, steering: impl Iterator<Item = &Steer>) {
        for it in steering {
            if !self.lead.holds() {
                return;
            }
            let outcome = taints::steer(self.cluster.client(), it).await;
            self.metrics.taint(it, &outcome);
            if let SteerOutcome::Forbidden(why) = outcome {
                self.forbidden(&why);
                return;
            }
            self.steered.forbidden &= outcome != SteerOutcome::Done;
            if !matches!(it.action, SteerAction::Remove)
                || matches!(outcome, SteerOutcome::Unanswered(_))
            {
                self.steered.nodes.insert(it.node.clone());
            } else if matches!(outcome, SteerOutcome::Done | SteerOutcome::Unneeded) {
                self.steered.nodes.remove(&it.node);
            }
            let (action, code, value) = (
                it.action.code(),
                outcome.code(),
                it.action.value().map(SteerValue::text),
            );
            match outcome {
                SteerOutcome::Done | SteerOutcome::Unneeded | SteerOutcome::Forbidden(_) => {
                    info!(node = it.node, action, value, outcome = code, why = %it.why, "taint: {outcome}");
                }
                SteerOutcome::Failed(_) | SteerOutcome::Unanswered(_) => {
                    warn!(node = it.node, action, value, outcome = code, why = %it.why, "taint: {outcome}");
                    return;
                }
            }
            if outcome == SteerOutcome::Done {
                events::steered(self.cluster.client(), it, &self.instance, clock()).await;
            }
        }
    }

    /// Says what would be done about taints.
    pub(super) fn would_steer(steering: &[Steer]) {
        for it in steering.iter().filter(|s| s.action.is_change()) {
            let (action, value) = (it.action.code(), it.action.value().map(SteerValue::text));
            info!(node = it.node, action, value, why = %it.why, "dry run: the taint would be changed");
        }
    }

    /// Takes all our taints away, for nobody would when we are gone.
    pub(super) async fn release(&mut self, engine: &Engine) {
        let mut all = steering::release(&self.cluster.snapshot(engine.policy().resources()));
        let unseen = self
            .steered
            .nodes
            .iter()
            .filter(|node| !all.iter().any(|s| s.node == **node));
        let remove = |node: &String| Steer {
            node: node.clone(),
            action: SteerAction::Remove,
            why: SteerReason::Ending,
        };
        let unseen: Vec<Steer> = unseen.map(remove).collect();
        all.extend(unseen);
        // What is not taken away by then is by the next process, which knows our taints by their key.
        if tokio::time::timeout(LONGEST_RELEASE, self.steer(all.iter()))
            .await
            .is_err()
        {
            warn!(
                "not all taints could be taken away in time; the next start takes away the others"
            );
        }
    }

    fn forbidden(&mut self, why: &str) {
        if !std::mem::replace(&mut self.steered.forbidden, true) {
            warn!(
                why,
                "no node is tainted or freed of a taint: this takes the right to patch nodes, which deploy/components/steering grants; all else goes on"
            );
        }
    }
}
