//! Sets and removes the steering taints of a plan, and removes all of them at the end.

use std::collections::BTreeSet;
use std::time::Duration;

use tracing::{info, warn};

use crate::cluster::{events, taints};
use crate::decide::engine::Engine;
use crate::decide::steering;
use crate::model::plan::{Steer, SteerAction, SteerOutcome, SteerReason, SteerValue};

use super::{Daemon, clock};

/// Time to remove taints at the end, within the 30 s that Kubernetes gives a pod by default.
const LONGEST_RELEASE: Duration = Duration::from_secs(20);

/// Taints that this process has changed.
#[derive(Clone, Debug, Default)]
pub struct Steered {
    /// Nodes that may have the taint, even if no watch event shows it yet.
    nodes: BTreeSet<String>,
    /// Whether the missing permission has been logged.
    forbidden: bool,
}

impl Daemon {
    /// Changes these taints and stops at the first error, because the next cycle tries again.
    pub(super) async fn steer(&mut self, steering: impl Iterator<Item = &Steer>) {
        for steer in steering {
            if !self.lead.holds() {
                return;
            }
            let outcome = taints::steer(self.cluster.client(), steer).await;
            self.metrics.taint(steer, &outcome);
            if let SteerOutcome::Forbidden(reason) = outcome {
                self.log_forbidden(&reason);
                return;
            }
            // A success shows that the permission exists now, so a later refusal is logged again.
            self.steered.forbidden &= outcome != SteerOutcome::Done;
            if !matches!(steer.action, SteerAction::Remove)
                || matches!(outcome, SteerOutcome::Unanswered(_))
            {
                self.steered.nodes.insert(steer.node.clone());
            } else if matches!(outcome, SteerOutcome::Done | SteerOutcome::Unneeded) {
                self.steered.nodes.remove(&steer.node);
            }
            let (action, code, value) = (
                steer.action.code(),
                outcome.code(),
                steer.action.value().map(SteerValue::text),
            );
            match outcome {
                SteerOutcome::Done | SteerOutcome::Unneeded | SteerOutcome::Forbidden(_) => {
                    info!(node = steer.node, action, value, outcome = code, why = %steer.why,
                        "taint: {outcome}");
                }
                SteerOutcome::Failed(_) | SteerOutcome::Unanswered(_) => {
                    warn!(node = steer.node, action, value, outcome = code, why = %steer.why,
                        "taint: {outcome}");
                    return;
                }
            }
            if outcome == SteerOutcome::Done {
                events::steered(self.cluster.client(), steer, &self.instance, clock()).await;
            }
        }
    }

    /// Logs the taint changes of a dry run.
    pub(super) fn log_dry_run(steering: &[Steer]) {
        for steer in steering.iter().filter(|s| s.action.is_change()) {
            let (action, value) = (
                steer.action.code(),
                steer.action.value().map(SteerValue::text),
            );
            info!(node = steer.node, action, value, why = %steer.why, "dry run: would change \
                taint");
        }
    }

    /// Removes all our taints at the end of the program, because no other process would.
    pub(super) async fn release(&mut self, engine: &Engine) {
        let mut all = steering::release(&self.cluster.snapshot(engine.policy().resources()));
        // A watch may not show a taint yet that was added moments ago.
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
        // The next process removes the rest. It recognises our taints by their key.
        if tokio::time::timeout(LONGEST_RELEASE, self.steer(all.iter()))
            .await
            .is_err()
        {
            warn!("cannot remove all steering taints in time; the next start removes the rest");
        }
    }

    fn log_forbidden(&mut self, reason: &str) {
        if !std::mem::replace(&mut self.steered.forbidden, true) {
            warn!(
                reason,
                "steering does nothing: no permission to patch nodes; apply \
                    deploy/components/steering, everything else continues"
            );
        }
    }
}
