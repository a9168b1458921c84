//! Kinds of which no object is known.

use std::collections::BTreeSet;

use crate::decide::draft::Draft;
use crate::decide::gate;
use crate::model::plan::{UnknownKind, UnknownObjects};
use crate::model::snapshot::Snapshot;
use crate::model::snapshot::objects::ObjectKind;

use super::Diagnosis;

/// The kinds of which no object is known, such as those that the account may not list.
pub(super) fn kinds(draft: &Draft<'_>) -> Diagnosis {
    let mut unknown = gate::unknown_kinds(draft);
    // Budgets have a line of their own, and so have pauses.
    unknown.retain(|UnknownKind { objects, .. }| {
        objects.kind != ObjectKind::Budget && !objects.hide_pauses()
    });
    if unknown.is_empty() {
        return Diagnosis::ok("kinds", "the objects that replacements depend on are known");
    }
    let lines: Vec<String> = unknown.iter().map(ToString::to_string).collect();
    let remedies: BTreeSet<String> = unknown.iter().map(|one| one.objects.remedy()).collect();
    let remedies: Vec<String> = remedies.into_iter().collect();
    Diagnosis::warning("kinds", lines.join("; "), remedies.join("; "))
}

/// The failure that pauses are not seen, also in the exact mode, which names no kinds.
pub(super) fn unseen_pauses(snapshot: &Snapshot) -> Option<Diagnosis> {
    let lack = snapshot.lacking.get(&ObjectKind::Namespace)?;
    let objects = UnknownObjects::all(ObjectKind::Namespace, *lack);
    let remedy = objects.remedy();
    let is_failure = objects.hide_pauses();
    let message = UnknownKind { objects, pods: 0 }.to_string();
    is_failure.then(|| Diagnosis::failure("pauses", message, remedy))
}
