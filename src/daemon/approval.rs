//! Evictions that wait for an approval: a cycle reads the approval before it decides, and writes
//! the proposal after it has acted.

use tracing::{info, warn};

use crate::cluster::failures::Request;
use crate::cluster::proposal_store::{ProposalStore, StoredProposal};
use crate::model::approval::Proposal;
use crate::model::plan::Plan;
use crate::model::record::{APPROVAL, EventDetails};

use super::cycle::Cycle;

/// The proposal of this process, and where it is stored.
pub struct Approvals {
    /// The ConfigMap.
    pub store: ProposalStore,
    /// The plan that a person has given to this run, in place of the ConfigMap.
    pub given: Option<Proposal>,
    /// The proposal that waits for an approval.
    pub(super) waiting: Option<Proposal>,
    /// The evictions of this process.
    pub(super) made: usize,
}

impl Approvals {
    /// Creates the state of a process that has proposed nothing yet.
    pub const fn new(store: ProposalStore, given: Option<Proposal>) -> Self {
        Approvals {
            store,
            given,
            waiting: None,
            made: 0,
        }
    }
}

impl Cycle<'_> {
    /// Tells the engine which evictions are approved. Returns the stored proposal, unless approvals
    /// are not required, or it cannot be read; then no eviction is approved.
    pub(super) async fn read_approval(&mut self) -> Option<StoredProposal> {
        self.engine.approve(&[]);
        let rule = self.engine.policy().approval;
        // A dry run makes no evictions and writes nothing.
        if !rule.required || self.dry() {
            return None;
        }
        if let Some(given) = &self.daemon.approvals.given {
            self.engine.approve(&given.moves);
            return None;
        }
        let read = self.daemon.approvals.store.read();
        let read = self.daemon.stop.run_until_cancelled(read).await?;
        let failure = read.as_ref().map(drop).map_err(String::as_str);
        self.daemon
            .cluster
            .failures()
            .record(Request::Proposal, failure);
        let stored = read.ok()?;
        if let Some(proposal) = stored.proposal_if_approved() {
            let (id, by) = (&proposal.id, stored.approved_by.as_deref());
            let by = by.unwrap_or("a person who is not named");
            match proposal.check(rule.expires, self.started.wall()) {
                Ok(()) => {
                    info!(proposal = id, "approval: by {by}");
                    self.engine.approve(&proposal.moves);
                    let pods: Vec<String> =
                        proposal.moves.iter().map(ToString::to_string).collect();
                    let event = EventDetails {
                        outcome: "approved".to_owned(),
                        message: format!("{by} approved the eviction of {}", pods.join(", ")),
                    };
                    let fact = event.fact(APPROVAL, id, self.started.wall());
                    self.engine.keep_fact(fact);
                }
                Err(flaw) => warn!(proposal = id, "approval: by {by}, ignored, {flaw}"),
            }
        }
        Some(stored)
    }

    /// Logs the approved evictions that the plan does not make.
    pub(super) fn log_unmade(plan: &Plan) {
        for unmade in &plan.unmade {
            warn!("approval: {unmade}");
        }
    }

    /// Stores the evictions of the plan that wait for an approval.
    ///
    /// An earlier proposal stays until it expires, is carried out, or none of its evictions is
    /// wanted any more, so that a person has time to read it.
    pub(super) async fn propose(&mut self, stored: StoredProposal, plan: &Plan) {
        let rule = self.engine.policy().approval;
        let is_wanted = |proposal: &Proposal| {
            let mut moves = proposal.moves.iter();
            moves.any(|one| plan.proposed.iter().any(|m| m.uid == one.uid))
        };
        let now = self.started.wall();
        let stays = |proposal: &&Proposal| {
            let is_valid = proposal.check(rule.expires, now).is_ok();
            stored.proposal_if_approved().is_none() && is_valid && is_wanted(proposal)
        };
        if let Some(proposal) = stored.proposal.as_ref().filter(stays) {
            self.daemon.approvals.waiting = Some(proposal.clone());
            return;
        }
        let proposal = Some(plan.proposal()).filter(|proposal| !proposal.moves.is_empty());
        self.daemon.approvals.waiting.clone_from(&proposal);
        let is_same = proposal.is_none() && stored.proposal.is_none();
        if is_same || !self.daemon.lead.holds() {
            return;
        }
        let written = self.daemon.approvals.store.write(stored, proposal.as_ref());
        let Some(written) = self.daemon.stop.run_until_cancelled(written).await else {
            return;
        };
        let failure = written.as_ref().map(drop).map_err(String::as_str);
        self.daemon
            .cluster
            .failures()
            .record(Request::Proposal, failure);
        if let (Ok(()), Some(proposal)) = (written, proposal) {
            let (id, evictions) = (&proposal.id, proposal.moves.len());
            info!(
                proposal = id,
                evictions, "approval: needed; `evenkeel approve` shows the evictions"
            );
        }
    }
}

#[cfg(test)]
mod tests;
