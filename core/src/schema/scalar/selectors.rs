//! Label selectors, as text and as objects.

use crate::schema::problem::Code;
use crate::schema::read::{Fields, Spot};
use crate::schema::scalar::text;
use crate::schema::tree::Value;
use crate::values::selector::{Requirement, Selector, Test, is_label_key, is_label_value};

impl Spot<'_, '_> {
    /// A label selector, as text or as an object. A selector of everything is `None`.
    pub(crate) fn selector(self) -> Option<Selector> {
        const EXPECTED: &str =
            "a label selector: text such as pool=a,!gpu, or matchLabels and matchExpressions";
        let selector = match &self.node()?.value {
            Value::Text(_) if self.lenient() => {
                return self.refuse(
                    Code::WrongType,
                    "a label selector with matchLabels or matchExpressions",
                );
            }
            Value::Text(_) => return self.text_selector(),
            Value::Map(_) => Some(self.section(object_selector)),
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::List(_) => {
                self.refuse(Code::WrongType, EXPECTED)
            }
        };
        selector.filter(|s| !s.is_empty())
    }

    /// A label selector as text. A selector of everything is `None`.
    pub(crate) fn text_selector(self) -> Option<Selector> {
        let Value::Text(text) = &self.node()?.value else {
            return self.refuse(Code::WrongType, "a label selector as text, such as pool=a,!gpu");
        };
        match Selector::parse(text) {
            Ok(selector) => Some(selector).filter(|s| !s.is_empty()),
            Err(error) => self.complain(Code::BadSelector, error),
        }
    }

    /// The value of a label, which may be empty.
    fn label(self) -> Option<String> {
        match text(self.node()?) {
            Ok(text) if is_label_value(text) => Some(text.to_owned()),
            Ok(_) => self.refuse(
                Code::BadSelector,
                "the value of a label: at most 63 letters, digits, -, _ or .",
            ),
            Err(_) => self.name(),
        }
    }
}

fn object_selector(f: &mut Fields<'_, '_>) -> Selector {
    let labels = f.field("matchLabels").each("labels", |entry, value| {
        if !is_label_key(&entry.key) {
            return value.at_key().complain(Code::BadSelector, "not the name of a label");
        }
        Some(Requirement { key: entry.key.clone(), test: Test::In(vec![value.label()?]) })
    });
    let expressions =
        f.field("matchExpressions").list("expressions", |item| item.section(expression));
    Selector::new(labels.into_iter().flatten().chain(expressions.into_iter().flatten()).collect())
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method is of one lifetime, the closure of all"
)]
fn expression(f: &mut Fields<'_, '_>) -> Option<Requirement> {
    let key = f.required("key", "the name of a label").name();
    let operator = f.required("operator", "In, NotIn, Exists or DoesNotExist").name();
    let values = f.field("values").list("values", |item| item.label()).unwrap_or_default();
    let (key, operator) = (key?, operator?);
    if !is_label_key(&key) {
        f.complain(Code::BadSelector, "key", "not the name of a label");
    }
    if !f.sound() {
        return None;
    }
    let numeric = matches!(operator.as_str(), "Gt" | "Lt");
    if numeric {
        return f.field("operator").refuse(Code::BadSelector, "In, NotIn, Exists or DoesNotExist");
    }
    let requirement = Requirement::from_parts(key, &operator, values);
    requirement.map_err(|error| f.complain(Code::BadSelector, "operator", error)).ok()
}
