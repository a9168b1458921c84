//! Readers for scalar values: durations, percentages, numbers, words and names.

#![expect(clippy::option_option, reason = "`none` is a value, unlike an invalid field")]

use jiff::SignedDuration;

use super::names::Names;
use super::problem::Code;
use super::read::Spot;
use super::share::Share;
use super::tree::{Value, YamlNode};
use super::wording::either;
use crate::values::Ratio;
use crate::values::query_value::QueryValue;

mod durations;
mod selectors;

/// Characters of patterns, which no name in Kubernetes or Prometheus has.
const OF_PATTERNS: [char; 6] = ['*', '?', '+', '|', '^', '$'];

impl Spot<'_, '_> {
    /// `true` or `false`.
    pub(crate) fn bool(self) -> Option<bool> {
        self.scalar("true or false", |node| {
            let Value::Bool(value) = node.value else {
                return Err(Code::WrongType);
            };
            Ok(value)
        })
    }

    /// A whole number from `least` on.
    pub(crate) fn whole(self, least: u32) -> Option<u32> {
        let range = self.range_from(least);
        self.scalar(&format!("a whole number from {range}"), |node| whole(node, least))
    }

    /// A finite number.
    pub(crate) fn number(self) -> Option<QueryValue> {
        self.scalar("a number", number)
    }

    /// A finite number, or the word `none`, which is `Some(None)`.
    pub(crate) fn number_or_none(self) -> Option<Option<QueryValue>> {
        self.scalar("a number, or none", or_none(number))
    }

    /// A whole number, or the word `none`, which is `Some(None)`.
    pub(crate) fn limit(self) -> Option<Option<u32>> {
        let range = self.range_from(0);
        self.scalar(
            &format!("a whole number from {range}, or none for no limit"),
            or_none(|node| whole(node, 0)),
        )
    }

    /// The allowed whole numbers. The largest one is named only where the value is above it.
    fn range_from(&self, least: u32) -> String {
        if self.node().is_some_and(is_too_large) {
            format!("{least} to {}", u32::MAX)
        } else {
            format!("{least} on")
        }
    }

    /// The words for whole numbers among other values.
    fn whole_number(&self) -> String {
        if self.node().is_some_and(is_too_large) {
            format!("a whole number up to {}", u32::MAX)
        } else {
            "a whole number".to_owned()
        }
    }

    /// A whole number or a percentage, or the word `none`, which is `Some(None)`.
    pub(crate) fn share(self) -> Option<Option<Share>> {
        let number = self.whole_number();
        self.scalar(
            &format!("{number}, a percentage from 0% to 100%, or none for no limit"),
            or_none(share),
        )
    }

    /// A share, or the larger of a number and a percentage, such as `20 or 1%`.
    pub(crate) fn growing_share(self) -> Option<Option<Share>> {
        let number = self.whole_number();
        self.scalar(
            &format!(
                "{number}, a percentage from 0% to 100%, the larger of both such as 20 or 1%, or none for no limit"
            ),
            or_none(|node| larger(node).map_or_else(|| share(node), Ok)),
        )
    }

    /// A percentage, with a percent sign or as a plain number.
    pub(crate) fn percent(self) -> Option<Ratio> {
        if self.lenient() {
            return self.scalar("a percentage from 0 to 100, as a number", percent_of_number);
        }
        // Thresholds are percentages. 0.3 most likely means 30 %, so it is refused instead of read
        // as 0.3 %.
        let fraction =
            self.node().is_some_and(|n| matches!(n.value, Value::Float(f) if f > 0.0 && f < 1.0));
        if fraction {
            return self.refuse(
                Code::WrongType,
                "a percentage such as 30%; less than one percent needs the % sign",
            );
        }
        self.scalar("a percentage from 0% to 100%", percent)
    }

    /// A percentile from 1 to 100.
    pub(crate) fn percentile(self) -> Option<Ratio> {
        self.scalar("a percentile from 1 to 100", |node| {
            let percentile = percent(node)?;
            // A percentile of 0.95 most likely means 95.
            if percentile.get() < 0.01 {
                return Err(Code::OutOfRange);
            }
            Ok(percentile)
        })
    }

    /// A whole number of seconds.
    pub(crate) fn seconds(self) -> Option<SignedDuration> {
        self.whole(0).map(|seconds| SignedDuration::from_secs(i64::from(seconds)))
    }

    /// The exit code of a container.
    pub(crate) fn exit_code(self) -> Option<i32> {
        self.scalar("an exit code, a whole number", int32)
    }

    /// Text that is not empty.
    pub(crate) fn name(self) -> Option<String> {
        let looks_like_text = self.node().and_then(|n| match n.value {
            Value::Bool(_) | Value::Int(_) | Value::Float(_) => n.plain.as_ref(),
            Value::Null | Value::Text(_) | Value::List(_) | Value::Map(_) => None,
        });
        if let Some(plain) = looks_like_text {
            return self.refuse(Code::WrongType, format!("text; write \"{plain}\", with quotes"));
        }
        self.scalar("text", |node| match text(node)? {
            "" => Err(Code::OutOfRange),
            text => Ok(text.to_owned()),
        })
    }

    /// Text that passes a check; a failed check returns the sentence to report.
    pub(crate) fn checked<T>(
        self,
        check: impl FnOnce(&str) -> Result<T, &'static str>,
    ) -> Option<T> {
        match text(self.node()?) {
            Ok(text) if !text.is_empty() => match check(text) {
                Ok(value) => Some(value),
                Err(sentence) => self.complain(Code::WrongType, sentence),
            },
            _ => self.name().and(None),
        }
    }

    /// A list of names, each of which is compared as a whole.
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method is of one lifetime, the closure of all"
    )]
    pub(crate) fn names(self) -> Option<Vec<String>> {
        self.list("names", |item| item.whole_name())
    }

    /// A name, and no pattern: it would match nothing, and so protect nothing.
    fn whole_name(mut self) -> Option<String> {
        if self.node().is_some_and(|n| text(n).is_ok_and(|name| name.contains(OF_PATTERNS))) {
            if !self.lenient() {
                return self.refuse(Code::WrongType, "a whole name, not a pattern");
            }
            self.warn(Code::Ignored, "no effect: this is compared as a name, not as a pattern");
        }
        self.name()
    }

    pub(crate) fn one_of<T: Copy>(self, words: &[(&str, T)]) -> Option<T> {
        self.word(Code::WrongType, words)
    }

    /// One of these words; anything else is a problem with this code.
    pub(crate) fn word<T: Copy>(self, code: Code, words: &[(&str, T)]) -> Option<T> {
        let allowed: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let chosen =
            |node| words.iter().find(|(word, _)| text(node) == Ok(word)).map(|(_, value)| *value);
        self.scalar(&either(&allowed), |node| chosen(node).ok_or(code))
    }

    /// Names to include or to exclude.
    pub(crate) fn names_in_or_out(self) -> Option<Names> {
        self.node()?;
        self.section(|f| {
            let (mut exclude, mut include) =
                (f.field("exclude").names(), f.field("include").names());
            // descheduler treats an empty list as absent.
            if f.lenient() && [&exclude, &include].into_iter().flatten().any(Vec::is_empty) {
                (exclude, include) =
                    (exclude.filter(|n| !n.is_empty()), include.filter(|n| !n.is_empty()));
                return include.map(Names::Only).or_else(|| exclude.map(Names::Except));
            }
            if f.has("include") && f.has("exclude") {
                f.complain(
                    Code::Conflict,
                    "include",
                    "include and exclude are both given; keep one of them",
                );
            } else if include.as_ref().is_some_and(Vec::is_empty) {
                f.complain(
                    Code::OutOfRange,
                    "include",
                    "nothing is included; name something, or remove the field",
                );
            }
            include.map(Names::Only).or_else(|| exclude.map(Names::Except))
        })
    }
}

pub(crate) fn text(node: &YamlNode) -> Result<&str, Code> {
    let Value::Text(text) = &node.value else {
        return Err(Code::WrongType);
    };
    Ok(text)
}

/// A whole number of the size that Kubernetes uses.
pub(crate) fn int32(node: &YamlNode) -> Result<i32, Code> {
    let Value::Int(number) = node.value else {
        return Err(Code::WrongType);
    };
    i32::try_from(number).map_err(|_| Code::OutOfRange)
}

fn is_none(node: &YamlNode) -> bool {
    text(node) == Ok("none")
}

/// Also accepts the word `none`, which is `None`.
fn or_none<T>(
    read: impl Fn(&YamlNode) -> Result<T, Code>,
) -> impl Fn(&YamlNode) -> Result<Option<T>, Code> {
    move |node| {
        if is_none(node) { Ok(None) } else { read(node).map(Some) }
    }
}

fn number(node: &YamlNode) -> Result<QueryValue, Code> {
    let number = match node.value {
        Value::Int(_) | Value::Float(_) => node.plain.as_deref(),
        Value::Null | Value::Bool(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => None,
    };
    let number: f64 = number.and_then(|n| n.parse().ok()).ok_or(Code::WrongType)?;
    QueryValue::new(number).filter(|_| number.is_finite()).ok_or(Code::OutOfRange)
}

fn is_too_large(node: &YamlNode) -> bool {
    match node.value {
        Value::Int(number) => number > i64::from(u32::MAX),
        Value::Float(number) => number > f64::from(u32::MAX),
        Value::Null | Value::Bool(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => false,
    }
}

fn whole(node: &YamlNode, least: u32) -> Result<u32, Code> {
    let Value::Int(number) = node.value else {
        return Err(Code::WrongType);
    };
    u32::try_from(number).ok().filter(|n| *n >= least).ok_or(Code::OutOfRange)
}

/// A whole number or a percentage.
fn share(node: &YamlNode) -> Result<Share, Code> {
    match &node.value {
        Value::Int(_) => whole(node, 0).map(Share::Count),
        Value::Float(_) => Err(Code::WrongType),
        // A portion is at least one pod, so 0% must become the number 0.
        Value::Null | Value::Bool(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => {
            percent(node).map(|p| match p {
                Ratio::ZERO => Share::Count(0),
                portion => Share::Portion(portion),
            })
        }
    }
}

/// The larger of a number and a percentage, such as `20 or 1%`; `None` if the text is not of this
/// form.
fn larger(node: &YamlNode) -> Option<Share> {
    let (count, portion) = text(node).ok()?.split_once(" or ")?;
    let count = count.trim().parse().ok()?;
    match percent_of(portion.trim().strip_suffix('%')?.trim_end()).ok()? {
        Ratio::ZERO => Some(Share::Count(count)),
        portion => Some(Share::Larger(count, portion)),
    }
}

/// A percentage, written with a percent sign or as a plain number.
pub(crate) fn percent(node: &YamlNode) -> Result<Ratio, Code> {
    let written = match (&node.value, &node.plain) {
        // The text as written, because a float may not print as it was written.
        (Value::Int(_) | Value::Float(_), Some(plain)) => plain.as_str(),
        _ => text(node)?.trim().strip_suffix('%').ok_or(Code::WrongType)?.trim_end(),
    };
    percent_of(written)
}

/// A percentage as the number that it is, however it is written.
fn percent_of_number(node: &YamlNode) -> Result<Ratio, Code> {
    let percent = match node.value {
        Value::Int(number) => u8::try_from(number).map_err(|_| Code::OutOfRange)?.into(),
        Value::Float(number) => number,
        Value::Null | Value::Bool(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => {
            return Err(Code::WrongType);
        }
    };
    Ratio::percent(percent).filter(|_| percent <= 100.0).ok_or(Code::OutOfRange)
}

fn percent_of(written: &str) -> Result<Ratio, Code> {
    let digits = written.strip_prefix('-').unwrap_or(written);
    // Rust also parses `1e3` and `inf`, which are mistakes here.
    if !digits.starts_with(|c: char| c.is_ascii_digit())
        || !digits.chars().all(|c| c.is_ascii_digit() || c == '.')
    {
        return Err(Code::WrongType);
    }
    let percent: f64 = digits.parse().map_err(|_| Code::WrongType)?;
    let in_range = percent <= 100.0 && digits.len() == written.len();
    Ratio::percent(percent).filter(|_| in_range).ok_or(Code::OutOfRange)
}

#[cfg(test)]
mod tests;
