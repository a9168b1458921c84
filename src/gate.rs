//! The gates: each may refuse a candidate, in words. All must admit it.
//!
//! What lies in the pod comes first, what lies in the moment last: so a refusal names the reason that will outlive the
//! others, and only pods that could go use up a limit.

use crate::draft::{Candidate, Draft, Landing};
use crate::plan::Refusal;

mod cooldown;
mod disruption;
mod evictable;
mod landing;
mod limits;

/// Asks every gate in turn.
pub fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<Landing, Refusal> {
    evictable::admit(candidate, draft)?;
    disruption::admit(candidate, draft)?;
    cooldown::admit(candidate, draft)?;
    let landing = landing::find(candidate, draft)?;
    limits::admit(candidate, draft)?;
    Ok(landing)
}
