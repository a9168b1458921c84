//! The API server accepts the replacement's PriorityClass.
//!
//! The admission plugin Priority refuses a new pod whose `priorityClassName` does not exist
//! (kubernetes/plugin/pkg/admission/priority). Pods that exist keep their priority.

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::Replacement;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let snapshot = draft.world.snapshot;
    match &snapshot.pod(candidate.pod).priority_class {
        Some(class) if !snapshot.may_have_class(class) => {
            Err(Replacement::MissingPriorityClass(class.clone()))
        }
        Some(_) | None => Ok(()),
    }
}
