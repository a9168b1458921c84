//! Evictions that wait for an approval: a cycle reads the approval before it decides, and writes
//! the proposal after it has acted.

use tracing::{info, warn};

use crate::cluster::failures::Request;
use crate::cluster::proposal_store::{ProposalStore, StoredProposal};
use crate::model::approval::{Proposal, ProposedMove};
use crate::model::plan::{Outcome, Plan};
use crate::model::record::{APPROVAL, EventDetails};
use crate::model::snapshot::Snapshot;
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
    /// The id of the newest proposal whose approval is in the log.
    logged: Option<String>,
    /// The id of the newest proposal whose approval is in the record.
    recorded: Option<String>,
    /// The evictions of this process.
    pub(super) made: usize,
    /// Whether no proposal of another policy or process can be left, as no approval is required.
    is_clear: bool,
}

impl Approvals {
    /// Creates the state of a process that has proposed nothing yet.
    pub const fn new(store: ProposalStore, given: Option<Proposal>) -> Self {
        Approvals {
            store,
            given,
            waiting: None,
            logged: None,
            recorded: None,
            made: 0,
            is_clear: false,
        }
    }
}

impl Cycle<'_> {
    /// Tells the engine which evictions are approved. Returns the stored proposal, unless approvals
    /// are not required, or it cannot be read; then no eviction is approved.
    pub(super) async fn read_approval(&mut self) -> Option<StoredProposal> {
        self.engine.approve(&[]);
        if !self.engine.policy().approval.required {
            self.clear().await;
            return None;
        }
        self.daemon.approvals.is_clear = false;
        if let Some(given) = &self.daemon.approvals.given {
            self.engine.approve(&given.moves);
            return None;
        }
        // A dry run makes no evictions and writes nothing.
        if self.dry() {
            self.daemon.approvals.waiting = None;
            return None;
        }
        self.engine.wait_for(None);
        let read = self.daemon.approvals.store.read();
        let read = self.daemon.stop.run_until_cancelled(read).await?;
        // Without an error nothing is recorded yet: one of the last write would seem to have ended.
        let stored = read.inspect_err(|error| self.record_request(Err(error))).ok()?;
        let asked = stored.proposal.as_ref().filter(|proposal| self.is_valid(proposal));
        self.engine.wait_for(Some(asked.map_or(&[], |proposal| &proposal.moves)));
        if let Some(proposal) = stored.proposal_if_approved() {
            self.approve(proposal, stored.approved_by.as_deref());
        }
        Some(stored)
    }

    /// Removes a proposal that was stored when approvals were required. Looks once.
    async fn clear(&mut self) {
        self.daemon.approvals.waiting = None;
        if self.daemon.approvals.is_clear || self.dry() || !self.daemon.lead.holds() {
            return;
        }
        let store = &self.daemon.approvals.store;
        let removed = async {
            match store.read().await {
                Ok(stored) if stored.proposal.is_some() => store.write(stored, None).await,
                // The right to read it may be missing where no approval was ever required.
                Ok(_) | Err(_) => Ok(()),
            }
        };
        if let Some(removed) = self.daemon.stop.run_until_cancelled(removed).await {
            self.daemon.approvals.is_clear = removed.is_ok();
            if let Err(error) = removed {
                warn!("cannot remove the proposal of the policy before: {error}");
            }
        }
    }

    /// Approves a stored proposal, if it is still valid.
    fn approve(&mut self, proposal: &Proposal, by: Option<&str>) {
        let (id, now) = (&proposal.id, self.started.wall());
        let by = name_of(by);
        let expires = self.engine.policy().approval.expires;
        if let Err(flaw) = proposal.check(expires, now) {
            warn!(proposal = id, "approval by {by} ignored: {flaw}");
            return;
        }
        // An approval stays in the ConfigMap until its evictions are made.
        if self.daemon.approvals.logged.as_ref() != Some(id) {
            let evictions = count(proposal.moves.len(), "eviction");
            info!(proposal = id, "{evictions} approved by {by}");
            self.daemon.approvals.logged = Some(id.clone());
        }
        self.engine.approve(&proposal.moves);
    }

    /// Keeps one fact for an approval that the plan carries out, however many cycles see it.
    pub(super) fn record_approval(
        &mut self,
        stored: &StoredProposal,
        snapshot: &Snapshot,
        plan: &Plan,
    ) {
        let approved = stored.proposal_if_approved();
        let Some(proposal) = approved.filter(|proposal| self.is_valid(proposal)) else {
            return;
        };
        let is_recorded = self.daemon.approvals.recorded.as_ref() == Some(&proposal.id);
        let is_planned = |one: &ProposedMove| plan.moves.iter().any(|m| m.uid == one.uid);
        let is_spent = proposal.moves.iter().any(is_planned);
        if is_recorded || !is_spent && self.leaves_open(plan, &[], proposal, snapshot) {
            return;
        }
        let (id, by) = (&proposal.id, name_of(stored.approved_by.as_deref()));
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

    fn is_valid(&self, proposal: &Proposal) -> bool {
        let expires = self.engine.policy().approval.expires;
        proposal.check(expires, self.started.wall()).is_ok()
    }

    /// Returns true if a later plan may make an eviction of a proposal about which this one could
    /// not decide, or whose turn had not come when all evictions were stopped. Outside of the
    /// windows no plan can, so that a person may answer in the daytime about evictions of the
    /// night.
    fn leaves_open(
        &self,
        plan: &Plan,
        outcomes: &[Outcome],
        proposal: &Proposal,
        snapshot: &Snapshot,
    ) -> bool {
        let is_closed = self.engine.policy().windows.closed_for(self.started.wall()).is_some();
        let is_open =
            |one: &ProposedMove| match plan.moves.iter().position(|planned| planned.uid == one.uid)
            {
                Some(planned) => !outcomes.get(planned).is_some_and(is_tried),
                None => is_closed || plan.leaves_open(one),
            };
        proposal.moves.iter().any(|one| one.stays(snapshot) && is_open(one))
    }

    fn record_request(&self, result: Result<(), &str>) {
        self.daemon.cluster.failures().record(Request::Proposal, result);
    }

    /// Stores the evictions of the plan that wait for an approval. Returns true if the stored
    /// proposal stays as it is, with its approval.
    ///
    /// An earlier proposal stays until it expires, is carried out, or none of its evictions is
    /// wanted any more, so that a person has time to read it. A plan that cannot know that, as
    /// after a start, during a pause or outside of the windows, leaves it as it is, and its
    /// approval too. So does one that is not tried, because all evictions have been stopped since.
    pub(super) async fn propose(
        &mut self,
        stored: StoredProposal,
        snapshot: &Snapshot,
        plan: &Plan,
        outcomes: &[Outcome],
    ) -> bool {
        let is_wanted = |proposal: &Proposal| {
            let mut moves = proposal.moves.iter();
            moves.any(|one| plan.proposed.iter().any(|m| m.uid == one.uid))
        };
        let stays = |proposal: &&Proposal| {
            let waits = || stored.proposal_if_approved().is_none() && is_wanted(proposal);
            let is_open = || self.leaves_open(plan, outcomes, proposal, snapshot);
            self.is_valid(proposal) && (is_open() || waits())
        };
        if let Some(proposal) = stored.proposal.as_ref().filter(stays) {
            let asked = Some(proposal).filter(|_| stored.proposal_if_approved().is_none());
            self.daemon.approvals.waiting = asked.cloned();
            self.record_request(Ok(()));
            return true;
        }
        self.daemon.approvals.waiting = None;
        let mut proposal = Some(plan.proposal()).filter(|proposal| !proposal.moves.is_empty());
        if let Some(proposal) = &mut proposal {
            let expires = self.engine.policy().approval.expires;
            proposal.expires = proposal.at.saturating_add(expires).ok();
        }
        if proposal.is_none() && stored.proposal.is_none() {
            self.record_request(Ok(()));
            return false;
        }
        if !self.daemon.lead.holds() {
            return false;
        }
        let written = self.daemon.approvals.store.write(stored, proposal.as_ref());
        let Some(written) = self.daemon.stop.run_until_cancelled(written).await else {
            return false;
        };
        self.record_request(written.as_ref().copied().map_err(String::as_str));
        if let (Ok(()), Some(proposal)) = (written, proposal) {
            let (id, evictions) = (&proposal.id, count(proposal.moves.len(), "eviction"));
            let wait = agree(proposal.moves.len(), "waits", "wait");
            info!(
                proposal = id,
                "{evictions} {wait} for an approval; `evenkeel approve {id}` gives it"
            );
            self.daemon.approvals.waiting = Some(proposal);
        }
        false
    }
}

/// Returns false if nothing was evicted any more when it was the turn of this eviction.
fn is_tried(outcome: &Outcome) -> bool {
    if let Outcome::Untried(why) = outcome { !why.ends_the_plan() } else { true }
}

fn name_of(by: Option<&str>) -> &str {
    by.unwrap_or("a person without a name")
}

#[cfg(test)]
mod tests;
