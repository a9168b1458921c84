//! Node affinity as core/v1 writes it, for `NodeAffinityArgs.addedAffinity`.

use super::super::scheduler_profile::AddedAffinity;
use crate::schema::problem::Code;
use crate::schema::read::{Fields, Spot};
use crate::values::selector::{NodeTerm, Requirement, Selector};

/// Reads a `NodeAffinity`.
pub(super) fn added(spot: Spot<'_, '_>) -> AddedAffinity {
    spot.section(|f| {
        let required = f.field("requiredDuringSchedulingIgnoredDuringExecution");
        let required = if required.is_absent() { None } else { required.section(terms) };
        let preferred = f.field("preferredDuringSchedulingIgnoredDuringExecution");
        let preferred = preferred.list("preferences", |item| item.section(preference));
        AddedAffinity { required, preferred: preferred.unwrap_or_default() }
    })
}

fn terms(f: &mut Fields<'_, '_>) -> Option<Vec<NodeTerm>> {
    f.required("nodeSelectorTerms", "a list of terms")
        .list("terms", |item| Some(item.section(term)))
}

fn preference(f: &mut Fields<'_, '_>) -> Option<(i32, NodeTerm)> {
    let weight = f.required("weight", "a whole number from 1 to 100").between(1, 100);
    let term =
        f.required("preference", "a term with matchExpressions or matchFields").section(term);
    Some((i32::try_from(weight?).ok()?, term))
}

fn term(f: &mut Fields<'_, '_>) -> NodeTerm {
    NodeTerm {
        labels: requirements(f.field("matchExpressions")),
        fields: requirements(f.field("matchFields")),
    }
}

fn requirements(spot: Spot<'_, '_>) -> Selector {
    let all = spot.list("requirements", |item| item.section(requirement));
    Selector::new(all.unwrap_or_default())
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method is of one lifetime, the closure of all"
)]
fn requirement(f: &mut Fields<'_, '_>) -> Option<Requirement> {
    let key = f.required("key", "the name of a label").name();
    let operator = f.required("operator", "In, NotIn, Exists, DoesNotExist, Gt or Lt").name();
    let values = f.field("values").list("values", |item| item.name()).unwrap_or_default();
    let requirement = Requirement::from_parts(key?, &operator?, values);
    requirement.map_err(|error| f.complain(Code::BadSelector, "operator", error)).ok()
}
