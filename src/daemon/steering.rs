//! Sets and removes the steering taints of a plan, and removes all of them at the end.
//!
//! The roles may not grant the right to change taints, or an admission policy may refuse it. Before
//! the first plan, and then until the right is granted, each cycle asks the API server by a dry
//! run. Without the right no taint is planned, and decisions never count on a taint that a node
//! does not have.

use std::collections::BTreeSet;

use tokio::time::Instant;
use tracing::{info, warn};

use crate::cluster::clock;
use crate::cluster::failures::Request;
use crate::cluster::taints::{self, SteeringRight};
use crate::decide::engine::Engine;
use crate::decide::steering;
use crate::model::plan::{
    Plan, STEERING_KEY, Steer, SteerAction, SteerOutcome, SteerReason, SteerValue,
};
use crate::model::snapshot::Snapshot;

use super::Daemon;
use super::stop::{end_of_release, finish};

/// Taints that this process has changed, and its right to change them.
#[derive(Clone, Debug, Default)]
pub struct Steered {
    /// Nodes that may have the taint, even if no watch event shows it yet.
    nodes: BTreeSet<String>,
    /// `None` until the API server has given a clear response.
    right: Option<SteeringRight>,
    /// Whether the right is certain, so that no further dry run is needed.
    certain: bool,
    /// The node that the dry runs are about.
    asked_node: Option<String>,
    /// Nodes whose taint an admission policy refuses although others are allowed; logged once.
    refused_nodes: BTreeSet<String>,
}

impl Steered {
    /// Forgets the nodes, because another instance removes the taints from now on.
    pub(super) fn forget_nodes(&mut self) {
        self.nodes.clear();
    }

    /// Returns why this process may not change taints; `None` if it may or if that is unknown.
    pub(super) fn denied(&self) -> Option<&str> {
        match &self.right {
            Some(SteeringRight::Denied(reason)) => Some(reason),
            Some(SteeringRight::Granted | SteeringRight::Unlimited) | None => None,
        }
    }

    /// Records the right, and logs it unless that is done or nothing is wrong.
    fn record(&mut self, right: SteeringRight) {
        let was_denied = self.denied().is_some();
        match &right {
            SteeringRight::Denied(reason) if !was_denied => warn!(
                reason,
                "steering disabled: no permission to change the taint {STEERING_KEY}; \
                    replacements may return to hot nodes, so more pods stay; apply \
                    deploy/base/steering.yaml, or remove steering from the policy"
            ),
            SteeringRight::Granted | SteeringRight::Unlimited if was_denied => {
                info!("steering enabled: permission to change the taint {STEERING_KEY} granted");
            }
            SteeringRight::Denied(_) | SteeringRight::Granted | SteeringRight::Unlimited => {}
        }
        // A policy that was just applied takes a moment to be in force, so one response is not
        // enough.
        let confirmed = self.right.as_ref() == Some(&right);
        if right == SteeringRight::Unlimited && confirmed && !self.certain {
            warn!(
                "permission to patch nodes is not limited to the taint {STEERING_KEY}: no \
                    admission policy applies to this account; steering works, but apply \
                    deploy/base/steering.yaml"
            );
        }
        self.certain = match &right {
            SteeringRight::Granted => true,
            SteeringRight::Unlimited => confirmed,
            SteeringRight::Denied(_) => false,
        };
        self.right = Some(right);
    }

    /// Remembers which nodes may have the taint after a change.
    fn remember(&mut self, steer: &Steer, outcome: &SteerOutcome) {
        if !matches!(steer.action, SteerAction::Remove)
            || matches!(outcome, SteerOutcome::Unanswered(_))
        {
            self.nodes.insert(steer.node.clone());
        } else if matches!(outcome, SteerOutcome::Done | SteerOutcome::Unneeded) {
            self.nodes.remove(&steer.node);
        }
    }

    /// Logs the refusal of one node, once.
    fn log_refused_node(&mut self, node: &str, reason: &str) {
        if self.refused_nodes.insert(node.to_owned()) {
            warn!(node, reason, "taint of this node refused: steering leaves it alone");
        }
    }
}

impl Daemon {
    /// Asks the API server whether taints may be changed, unless that is known. Nothing is changed.
    pub(super) async fn ask_steering_right(&mut self, snapshot: &Snapshot) {
        // Nodes come and go for months.
        let exists = |name: &String| snapshot.find_node(name).is_some();
        self.steered.refused_nodes.retain(exists);
        self.steered.nodes.retain(exists);
        if self.steered.certain {
            return;
        }
        // Any node will do.
        self.steered.asked_node = snapshot.nodes.first().map(|node| node.name.clone());
        if let Some(node) = self.steered.asked_node.clone() {
            self.ask_about(&node).await;
        }
    }

    async fn ask_about(&mut self, node: &str) {
        if let Some(right) = taints::right(self.cluster.client(), node).await {
            self.steered.record(right);
        }
    }

    /// Finds out whether a refused change concerns one node or all, and returns true for all.
    async fn is_denied_everywhere(&mut self, node: &str) -> bool {
        let asked = self.steered.asked_node.clone();
        self.ask_about(asked.as_deref().unwrap_or(node)).await;
        self.steered.denied().is_some()
    }

    /// Withholds the taints of a plan if this process may not set them.
    pub(super) fn withhold_taints(&self, plan: &mut Plan) {
        if self.steered.denied().is_some() {
            plan.steering.iter_mut().for_each(Steer::withhold);
        }
    }

    /// Changes a taint. Returns false after an error that is not about this node only: then the
    /// others wait for the next cycle.
    pub(super) async fn steer(&mut self, steer: &Steer) -> bool {
        // A slow API server must not look like a stuck program.
        self.health.beat(Instant::now());
        let request = taints::steer(self.cluster.client(), steer);
        let outcome = finish(&self.stop, request)
            .await
            .unwrap_or_else(|| SteerOutcome::Unanswered("the program is stopping".to_owned()));
        self.metrics.taint(steer, &outcome);
        if let SteerOutcome::Forbidden(reason) = outcome {
            if self.is_denied_everywhere(&steer.node).await {
                return false;
            }
            self.steered.log_refused_node(&steer.node, &reason);
            return true;
        }
        self.record_taints(&outcome);
        self.steered.remember(steer, &outcome);
        let (action, code, value) =
            (steer.action.code(), outcome.code(), steer.action.value().map(SteerValue::text));
        match outcome {
            SteerOutcome::Done | SteerOutcome::Unneeded | SteerOutcome::Forbidden(_) => {
                info!(node = steer.node, action, value, outcome = code, why = %steer.why,
                    "taint: {outcome}");
            }
            SteerOutcome::Failed(_) | SteerOutcome::Unanswered(_) => {
                warn!(node = steer.node, action, value, outcome = code, why = %steer.why,
                    "taint: {outcome}");
                return false;
            }
        }
        if outcome == SteerOutcome::Done {
            self.events.steered(steer, clock::now());
        }
        true
    }

    fn record_taints(&self, outcome: &SteerOutcome) {
        let failures = self.cluster.failures();
        match outcome {
            SteerOutcome::Failed(why) | SteerOutcome::Unanswered(why) => {
                failures.record(Request::Taints, Err(why));
            }
            SteerOutcome::Done | SteerOutcome::Unneeded => failures.works(Request::Taints),
            SteerOutcome::Forbidden(_) => {}
        }
    }

    /// Logs the taint changes of a dry run.
    pub(super) fn log_dry_run(steering: &[Steer]) {
        for steer in steering.iter().filter(|s| s.action.is_change()) {
            let (action, value) = (steer.action.code(), steer.action.value().map(SteerValue::text));
            info!(node = steer.node, action, value, why = %steer.why, "dry run: would change \
                taint");
        }
    }

    /// Removes all our taints at the end of the program, or before the policy selects other nodes,
    /// because no other process would. One that another instance may count on stays: this one
    /// removes none after it has lost the lead.
    pub(super) async fn remove_taints(&mut self, engine: &Engine) {
        let policy = engine.policy();
        let mut all = steering::release(&self.cluster.snapshot(policy.resources()), policy);
        // A watch may not show a taint yet that was added moments ago.
        let unseen = self.steered.nodes.iter().filter(|node| !all.iter().any(|s| s.node == **node));
        let remove = |node: &String| Steer {
            node: node.clone(),
            action: SteerAction::Remove,
            why: SteerReason::Ending,
        };
        let unseen: Vec<Steer> = unseen.map(remove).collect();
        all.extend(unseen);
        let stop = self.stop.clone();
        let removed = async {
            for steer in &all {
                if !self.lead.holds() {
                    break;
                }
                // No cycle tries the others again, so one bad node must not keep them.
                if !self.steer(steer).await && self.steered.denied().is_some() {
                    break;
                }
            }
        };
        tokio::select! {
            () = removed => {}
            // It recognises our taints by their key.
            () = end_of_release(&stop) => warn!(
                "cannot remove all steering taints in time; a leader whose policy selects the \
                    other nodes removes theirs"
            ),
        }
    }
}

#[cfg(test)]
mod tests;
