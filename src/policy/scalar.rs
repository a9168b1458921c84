//! The values that fields take: durations, percentages, numbers, words and label selectors.

use jiff::SignedDuration;

use super::problem::Code;
use super::read::{Fields, Spot, either};
use super::tree::{Node, Value};
use super::{Names, Share};
use crate::selector::{Requirement, Selector, Test};
use crate::units::Ratio;

/// No duration of a policy may be longer: a year.
const LONGEST: SignedDuration = SignedDuration::from_hours(8760);

impl Spot<'_, '_> {
    /// `true` or `false`.
    pub(super) fn bool(self) -> Option<bool> {
        self.scalar("true or false", |node| match node.value {
            Value::Bool(value) => Ok(value),
            Value::Null | Value::Int(_) | Value::Float(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => {
                Err(Code::WrongType)
            }
        })
    }

    /// A whole number from `least` on.
    pub(super) fn whole(self, least: u32) -> Option<u32> {
        self.scalar(&format!("a whole number from {least} on"), |node| whole(node, least))
    }

    /// A whole number, or the word `none`.
    pub(super) fn limit(self) -> Option<Option<u32>> {
        self.scalar("a whole number from 0 on, or none for no limit", |node| match is_none(node) {
            true => Ok(None),
            false => whole(node, 0).map(Some),
        })
    }

    /// A whole number or a percentage, or the word `none`.
    pub(super) fn share(self) -> Option<Option<Share>> {
        self.scalar("a whole number, a percentage from 0% to 100%, or none for no limit", |node| {
            match (&node.value, is_none(node)) {
                (_, true) => Ok(None),
                (Value::Int(_), _) => whole(node, 0).map(|n| Some(Share::Count(n))),
                // A portion is at least one pod, and no portion is none.
                _ => percent(node).map(|p| Some(if p == Ratio::ZERO { Share::Count(0) } else { Share::Portion(p) })),
            }
        })
    }

    /// A percentage, with its sign or as a plain number of percents.
    pub(super) fn percent(self) -> Option<Ratio> {
        let fraction = self.node().is_some_and(|n| matches!(n.value, Value::Float(f) if f > 0.0 && f < 1.0));
        if fraction {
            return self.refuse(Code::WrongType, "a percentage such as 30%; less than one percent needs the sign");
        }
        self.scalar("a percentage from 0% to 100%", percent)
    }

    /// A duration such as `1h30m`, from `least` to a year.
    pub(super) fn duration(self, least: SignedDuration) -> Option<SignedDuration> {
        let expected = format!("a duration from {least:#} to {LONGEST:#}, such as 90s, 5m or 1h30m");
        self.scalar(&expected, |node| {
            let duration: SignedDuration = text(node)?.parse().map_err(|_| Code::WrongType)?;
            if (least..=LONGEST).contains(&duration) { Ok(duration) } else { Err(Code::OutOfRange) }
        })
    }

    /// Text that is not empty.
    pub(super) fn name(self) -> Option<String> {
        if let Some(Node { value: Value::Bool(_) | Value::Int(_) | Value::Float(_), plain: Some(plain), .. }) =
            self.node()
        {
            let expected = format!("text; in quotes it is that: \"{plain}\"");
            return self.refuse(Code::WrongType, expected);
        }
        self.scalar("text", |node| {
            text(node).and_then(|t| if t.is_empty() { Err(Code::OutOfRange) } else { Ok(t.to_owned()) })
        })
    }

    /// A list of names.
    pub(super) fn names(self) -> Option<Vec<String>> {
        self.list("names", |item| item.name())
    }

    /// One of these words.
    pub(super) fn one_of<T: Copy>(self, words: &[(&str, T)]) -> Option<T> {
        self.word(Code::WrongType, words)
    }

    /// One of these words; anything else is a problem of this kind.
    pub(super) fn word<T: Copy>(self, code: Code, words: &[(&str, T)]) -> Option<T> {
        let allowed: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let chosen = |node| words.iter().find(|(word, _)| text(node) == Ok(word)).map(|(_, value)| *value);
        self.scalar(&either(&allowed), |node| chosen(node).ok_or(code))
    }

    /// Names to take in or to leave out.
    pub(super) fn names_in_or_out(self) -> Option<Names> {
        self.node()?;
        self.section(|f| {
            let exclude = f.field("exclude").names();
            let include = f.field("include").names();
            if f.has("include") && f.has("exclude") {
                f.complain(Code::Conflict, "include", "include and exclude do not go together; keep one of them");
            } else if include.as_ref().is_some_and(Vec::is_empty) {
                f.complain(
                    Code::OutOfRange,
                    "include",
                    "nothing would be taken in; name something, or leave the field out",
                );
            }
            include.map(Names::Only).or_else(|| exclude.map(Names::Except))
        })
    }

    /// A label selector, as text or as an object. One that selects everything is none.
    pub(super) fn selector(self) -> Option<Selector> {
        let selector = match &self.node()?.value {
            Value::Text(text) => match Selector::parse(text) {
                Ok(selector) => Some(selector),
                Err(error) => self.complain(Code::BadSelector, error),
            },
            Value::Map(_) => Some(self.section(object_selector)),
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::List(_) => self.refuse(
                Code::WrongType,
                "a label selector: text such as pool=a,!gpu, or matchLabels and matchExpressions",
            ),
        };
        selector.filter(|s| !s.is_empty())
    }

    fn label(self) -> Option<String> {
        if matches!(self.node()?.value, Value::Text(_)) {
            self.scalar("text", |n| text(n).map(str::to_owned))
        } else {
            self.name()
        }
    }
}

fn object_selector(f: &mut Fields<'_, '_>) -> Selector {
    let labels = f.field("matchLabels").each("labels", |entry, value| {
        Some(Requirement { key: entry.key.clone(), test: Test::In(vec![value.label()?]) })
    });
    let expressions = f.field("matchExpressions").list("expressions", |expression| {
        expression.section(|f| {
            let key = f.required("key", "the name of a label").name();
            let operator = f.required("operator", "In, NotIn, Exists or DoesNotExist").name();
            let values = f.field("values").list("values", |item| item.label()).unwrap_or_default();
            let (key, operator) = (key?, operator?);
            if !f.sound() {
                return None;
            }
            Requirement::from_parts(key, &operator, values)
                .map_err(|error| f.complain(Code::BadSelector, "operator", error))
                .ok()
        })
    });
    Selector::new(labels.into_iter().flatten().chain(expressions.into_iter().flatten()).collect())
}

fn text(node: &Node) -> Result<&str, Code> {
    match &node.value {
        Value::Text(text) => Ok(text),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => {
            Err(Code::WrongType)
        }
    }
}

fn is_none(node: &Node) -> bool {
    text(node) == Ok("none")
}

fn whole(node: &Node, least: u32) -> Result<u32, Code> {
    let Value::Int(number) = node.value else { return Err(Code::WrongType) };
    u32::try_from(number).ok().filter(|n| *n >= least).ok_or(Code::OutOfRange)
}

/// A percentage, written with its sign or as a plain number.
pub(super) fn percent(node: &Node) -> Result<Ratio, Code> {
    let written = match (&node.value, &node.plain) {
        (Value::Int(_) | Value::Float(_), Some(plain)) => plain.as_str(),
        _ => text(node)?.trim().strip_suffix('%').ok_or(Code::WrongType)?.trim_end(),
    };
    let digits = written.strip_prefix('-').unwrap_or(written);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) || !digits.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return Err(Code::WrongType);
    }
    let percent: f64 = digits.parse().map_err(|_| Code::WrongType)?;
    let in_range = percent <= 100.0 && digits.len() == written.len();
    Ratio::percent(percent).filter(|_| in_range).ok_or(Code::OutOfRange)
}
