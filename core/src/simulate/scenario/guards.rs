//! The series of guards, and their parsing.

use jiff::SignedDuration;

use crate::schema::problem::Code;
use crate::schema::read::{Fields, Spot};
use crate::values::query_value::QueryValue;
use crate::values::selector::Labels;

use super::fields::labels;

/// A series of a guard with one value, or a time in which its query has no answer. Times count from
/// the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardCourse {
    /// The name of the guard in the policy.
    pub guard: String,
    /// The labels that name its target.
    pub labels: Labels,
    /// The value; `None` if the query of the guard has no answer, as when Prometheus is down.
    pub value: Option<QueryValue>,
    /// The time from which the series exists.
    pub from: SignedDuration,
    /// The time at which it ends; `None` if it does not.
    pub until: Option<SignedDuration>,
}

pub(super) fn read(spot: Spot<'_, '_>) -> Vec<GuardCourse> {
    let all = spot.list("series of guards", |item| item.section(course));
    all.unwrap_or_default()
}

fn course(f: &mut Fields<'_, '_>) -> Option<GuardCourse> {
    let guard = f.required("guard", "the name of a guard of the policy").name();
    let value = f.required("value", "the value of the series, or none for no answer");
    let value = value.number_or_none();
    let from = f.field("from").duration(SignedDuration::ZERO);
    let from = from.unwrap_or_default();
    let until = f.field("until").duration(SignedDuration::ZERO);
    if until.is_some_and(|until| until <= from) {
        f.complain(Code::Conflict, "until", "must be later than from");
    }
    let labels = labels(f.field("labels"));
    if value == Some(None) && !labels.is_empty() {
        let sentence = "a query without an answer has no series; remove the labels, or the item to let a series be lost";
        f.complain(Code::Conflict, "labels", sentence);
    }
    Some(GuardCourse { labels, guard: guard?, value: value?, from, until })
}
