//! The gates: each may refuse a candidate, in words. All must admit it.
//!
//! What lies in the pod comes first, what lies in the moment last: so a refusal names the reason that will outlive the
//! others, and only pods that could go use up a limit.

use crate::draft::{Candidate, Draft, Landing};
use crate::plan::{Reason, Refusal};
use crate::snapshot::PodId;

mod cooldown;
mod disruption;
mod evictable;
mod exact_landing;
mod landing;
mod limits;

/// Asks every gate in turn.
pub fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<Landing, Refusal> {
    evictable::admit(candidate, draft)?;
    disruption::admit(candidate, draft)?;
    cooldown::admit(candidate, draft)?;
    let landing = landing(candidate, draft)?;
    limits::admit(candidate, draft)?;
    Ok(landing)
}

/// Whether a pod may go at all, by what it is: for strategies that count only such pods.
pub fn evictable(pod: PodId, strategy: usize, draft: &Draft<'_>) -> Result<(), Refusal> {
    evictable::admit(&Candidate { pod, strategy, reason: Reason::Counted, room: None }, draft)
}

/// Whether the budgets let a pod go.
pub fn disruption(pod: PodId, strategy: usize, draft: &Draft<'_>) -> Result<(), Refusal> {
    disruption::admit(&Candidate { pod, strategy, reason: Reason::Counted, room: None }, draft)
}

/// Where a candidate would land, whatever the moment says: for strategies that move some pods together or not at all.
pub fn landing(candidate: &Candidate, draft: &Draft<'_>) -> Result<Landing, Refusal> {
    if draft.world.policy.exact { exact_landing::find(candidate, draft) } else { landing::find(candidate, draft) }
}
