//! The API server accepts the replacement's PriorityClass.
//!
//! The admission plugin Priority refuses a new pod whose `priorityClassName` does not exist
//! (kubernetes/plugin/pkg/admission/priority). Pods that exist keep their priority.

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::Replacement;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let snapshot = draft.world.snapshot;
    let class = snapshot.pod(candidate.pod).priority_class.as_ref();
    let missing = class.filter(|class| !snapshot.may_have_class(class));
    missing.map_or(Ok(()), |class| Err(Replacement::MissingPriorityClass(class.clone())))
}
