//! Evictions that wait for an approval: a cycle reads the approval before it decides, and writes
//! the proposal after it has acted.

use tracing::{info, warn};

use crate::cluster::failures::Request;
use crate::cluster::proposal_store::{ProposalStore, StoredProposal};
use crate::model::approval::Proposal;
use crate::model::plan::Plan;
use crate::model::record::{APPROVAL, EventDetails};
use crate::values::text::{agree, count, list};

use super::cycle::Cycle;

/// Most pods in one line; the rest is a number.
const MOST_NAMES: usize = 5;

/// The proposal of this process, and its store.
pub struct Approvals {
    /// The ConfigMap.
    pub store: ProposalStore,
    /// The plan that a person has given to this run, in place of the ConfigMap.
    pub given: Option<Proposal>,
    /// The proposal that waits for an approval.
    pub(super) waiting: Option<Proposal>,
    /// The id of the newest proposal whose approval is in the record.
    recorded: Option<String>,
    /// The evictions of this process.
    pub(super) made: usize,
}

impl Approvals {
    /// Creates the state of a process that has proposed nothing yet.
    pub const fn new(store: ProposalStore, given: Option<Proposal>) -> Self {
        Approvals { store, given, waiting: None, recorded: None, made: 0 }
    }
}

impl Cycle<'_> {
    /// Tells the engine which evictions are approved. Returns the stored proposal, unless approvals
    /// are not required, or it cannot be read; then no eviction is approved.
    pub(super) async fn read_approval(&mut self) -> Option<StoredProposal> {
        self.engine.approve(&[]);
        self.daemon.approvals.waiting = None;
        // A dry run makes no evictions and writes nothing.
        if !self.engine.policy().approval.required || self.dry() {
            return None;
        }
        if let Some(given) = &self.daemon.approvals.given {
            self.engine.approve(&given.moves);
            return None;
        }
        let read = self.daemon.approvals.store.read();
        let read = self.daemon.stop.run_until_cancelled(read).await?;
        self.record_request(&read);
        let stored = read.ok()?;
        if let Some(proposal) = stored.proposal_if_approved() {
            self.approve(proposal, stored.approved_by.as_deref());
        }
        Some(stored)
    }

    /// Approves a stored proposal, if it is still valid.
    fn approve(&mut self, proposal: &Proposal, by: Option<&str>) {
        let (id, now) = (&proposal.id, self.started.wall());
        let by = by.unwrap_or("a person without a name");
        let expires = self.engine.policy().approval.expires;
        if let Err(flaw) = proposal.check(expires, now) {
            warn!(proposal = id, "approval by {by} ignored: {flaw}");
            return;
        }
        let evictions = count(proposal.moves.len(), "eviction");
        info!(proposal = id, "{evictions} approved by {by}");
        self.engine.approve(&proposal.moves);
        self.record_approval(proposal, by);
    }

    /// Keeps one fact for an approval, however many cycles see it.
    fn record_approval(&mut self, proposal: &Proposal, by: &str) {
        let id = &proposal.id;
        if self.daemon.approvals.recorded.as_ref() == Some(id) {
            return;
        }
        self.daemon.approvals.recorded = Some(id.clone());
        let pods: Vec<String> = proposal.moves.iter().map(ToString::to_string).collect();
        let pods = list(&pods, MOST_NAMES);
        let event = EventDetails {
            outcome: "approved".to_owned(),
            message: format!("{by} approved the eviction of {pods}"),
        };
        let mut fact = event.fact(APPROVAL, id, self.started.wall());
        // Its evictions were saved together with this fact, by another process.
        let mut entries = self.engine.ledger().entries().iter();
        fact.possibly_repeated =
            entries.any(|entry| proposal.moves.iter().any(|one| one.uid == entry.uid));
        self.engine.keep_fact(fact);
    }

    fn record_request<T>(&self, result: &Result<T, String>) {
        let failures = self.daemon.cluster.failures();
        let result = result.as_ref().map(drop).map_err(String::as_str);
        failures.record(Request::Proposal, result);
    }

    /// Logs the approved evictions that the plan does not make.
    pub(super) fn log_unmade(plan: &Plan) {
        for unmade in &plan.unmade {
            warn!("{unmade}");
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
        self.record_request(&written);
        if let (Ok(()), Some(proposal)) = (written, proposal) {
            let (id, evictions) = (&proposal.id, count(proposal.moves.len(), "eviction"));
            let wait = agree(proposal.moves.len(), "waits", "wait");
            info!(
                proposal = id,
                "{evictions} {wait} for an approval; `evenkeel approve {id}` gives it"
            );
        }
    }
}

#[cfg(test)]
mod tests;
