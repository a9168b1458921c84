//! The values that fields take: durations, percentages, numbers, words and label selectors.

use jiff::SignedDuration;

use super::problem::Code;
use super::read::{Fields, Spot};
use super::tree::{Node, Value};
use super::wording::either;
use super::{Names, Share};
use crate::values::Ratio;
use crate::values::selector::{Requirement, Selector, Test};

/// No duration of a policy may be longer: a year.
const LONGEST: SignedDuration = SignedDuration::from_hours(8760);

impl Spot<'_, '_> {
    /// `true` or `false`.
    pub(crate) fn bool(self) -> Option<bool> {
        self.scalar("true or false", |node| match node.value {
            Value::Bool(value) => Ok(value),
            Value::Null
            | Value::Int(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::List(_)
            | Value::Map(_) => Err(Code::WrongType),
        })
    }

    /// A whole number from `least` on.
    pub(crate) fn whole(self, least: u32) -> Option<u32> {
        self.scalar(&format!("a whole number from {least} on"), |node| {
            whole(node, least)
        })
    }

    /// A whole number, or the word `none`, which is `Some(None)`.
    pub(crate) fn limit(self) -> Option<Option<u32>> {
        self.scalar("a whole number from 0 on, or none for no limit", |node| {
            if is_none(node) {
                Ok(None)
            } else {
                whole(node, 0).map(Some)
            }
        })
    }

    /// A whole number or a percentage, or the word `none`, which is `Some(None)`.
    pub(crate) fn share(self) -> Option<Option<Share>> {
        // A portion is at least one pod, and no portion is none.
        let portion = |p| {
            if p == Ratio::ZERO {
                Share::Count(0)
            } else {
                Share::Portion(p)
            }
        };
        self.scalar(
            "a whole number, a percentage from 0% to 100%, or none for no limit",
            |node| match (&node.value, is_none(node)) {
                (_, true) => Ok(None),
                (Value::Int(_), _) => whole(node, 0).map(|n| Some(Share::Count(n))),
                (Value::Float(_), _) => Err(Code::WrongType),
                _ => percent(node).map(|p| Some(portion(p))),
            },
        )
    }

    /// A percentage, with its sign or as a plain number of percents.
    pub(crate) fn percent(self) -> Option<Ratio> {
        if self.lenient() {
            return self.scalar("a percentage from 0 to 100, as a number", |node| {
                if matches!(node.value, Value::Int(_) | Value::Float(_)) {
                    percent(node)
                } else {
                    Err(Code::WrongType)
                }
            });
        }
        let fraction = self
            .node()
            .is_some_and(|n| matches!(n.value, Value::Float(f) if f > 0.0 && f < 1.0));
        if fraction {
            return self.refuse(
                Code::WrongType,
                "a percentage such as 30%; less than one percent needs the sign",
            );
        }
        self.scalar("a percentage from 0% to 100%", percent)
    }

    /// A percentile from 1 to 100.
    pub(crate) fn percentile(self) -> Option<Ratio> {
        self.scalar("a percentile from 1 to 100", |node| {
            let percentile = percent(node)?;
            if percentile.get() < 0.01 {
                return Err(Code::OutOfRange);
            }
            Ok(percentile)
        })
    }

    /// A whole number of seconds.
    pub(crate) fn seconds(self) -> Option<SignedDuration> {
        self.whole(0)
            .map(|seconds| SignedDuration::from_secs(i64::from(seconds)))
    }

    /// The code with which a container ends.
    pub(crate) fn exit_code(self) -> Option<i32> {
        self.scalar("an exit code, a whole number", |node| match node.value {
            Value::Int(number) => i32::try_from(number).map_err(|_| Code::OutOfRange),
            Value::Null
            | Value::Bool(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::List(_)
            | Value::Map(_) => Err(Code::WrongType),
        })
    }

    /// A duration such as `1h30m`, from `least` to a year.
    pub(crate) fn duration(self, least: SignedDuration) -> Option<SignedDuration> {
        let expected =
            format!("a duration from {least:#} to {LONGEST:#}, such as 90s, 5m or 1h30m");
        self.scalar(&expected, |node| {
            // Days and weeks are not of the same length everywhere, and Kubernetes does not know them.
            let written = text(node)?;
            if written.contains(['d', 'w', 'y', ' ']) {
                return Err(Code::WrongType);
            }
            let duration: SignedDuration = written.parse().map_err(|_| Code::WrongType)?;
            if (least..=LONGEST).contains(&duration) {
                Ok(duration)
            } else {
                Err(Code::OutOfRange)
            }
        })
    }

    /// Text that is not empty.
    pub(crate) fn name(self) -> Option<String> {
        let looks_like_text = self.node().and_then(|n| match n.value {
            Value::Bool(_) | Value::Int(_) | Value::Float(_) => n.plain.as_ref(),
            Value::Null | Value::Text(_) | Value::List(_) | Value::Map(_) => None,
        });
        if let Some(plain) = looks_like_text {
            return self.refuse(
                Code::WrongType,
                format!("text; write \"{plain}\", with quotes"),
            );
        }
        self.scalar("text", |node| match text(node)? {
            "" => Err(Code::OutOfRange),
            text => Ok(text.to_owned()),
        })
    }

    /// Text that passes a test; one that does not says what is wrong.
    pub(super) fn checked<T>(
        self,
        check: impl FnOnce(&str) -> Result<T, &'static str>,
    ) -> Option<T> {
        match &self.node()?.value {
            Value::Text(text) if !text.is_empty() => match check(text) {
                Ok(value) => Some(value),
                Err(sentence) => self.complain(Code::WrongType, sentence),
            },
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::List(_)
            | Value::Map(_) => self.name().and(None),
        }
    }

    /// A list of names.
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method is of one lifetime, the closure of all"
    )]
    pub(crate) fn names(self) -> Option<Vec<String>> {
        self.list("names", |item| item.name())
    }

    /// One of these words.
    pub(crate) fn one_of<T: Copy>(self, words: &[(&str, T)]) -> Option<T> {
        self.word(Code::WrongType, words)
    }

    /// One of these words; anything else is a problem of this kind.
    pub(crate) fn word<T: Copy>(self, code: Code, words: &[(&str, T)]) -> Option<T> {
        let allowed: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let chosen = |node| {
            words
                .iter()
                .find(|(word, _)| text(node) == Ok(word))
                .map(|(_, value)| *value)
        };
        self.scalar(&either(&allowed), |node| chosen(node).ok_or(code))
    }

    /// Names to take in or to leave out.
    pub(crate) fn names_in_or_out(self) -> Option<Names> {
        self.node()?;
        self.section(|f| {
            let (mut exclude, mut include) =
                (f.field("exclude").names(), f.field("include").names());
            if f.lenient()
                && [&exclude, &include]
                    .into_iter()
                    .flatten()
                    .any(Vec::is_empty)
            {
                (exclude, include) = (
                    exclude.filter(|n| !n.is_empty()),
                    include.filter(|n| !n.is_empty()),
                );
                return include
                    .map(Names::Only)
                    .or_else(|| exclude.map(Names::Except));
            }
            if f.has("include") && f.has("exclude") {
                f.complain(
                    Code::Conflict,
                    "include",
                    "include and exclude do not go together; keep one of them",
                );
            } else if include.as_ref().is_some_and(Vec::is_empty) {
                f.complain(
                    Code::OutOfRange,
                    "include",
                    "nothing is included; name something, or leave the field out",
                );
            }
            include
                .map(Names::Only)
                .or_else(|| exclude.map(Names::Except))
        })
    }

    /// A label selector, as text or as an object. One that selects everything is none.
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

    /// A label selector as text. One that selects everything is none.
    pub(crate) fn text_selector(self) -> Option<Selector> {
        let Value::Text(text) = &self.node()?.value else {
            return self.refuse(
                Code::WrongType,
                "a label selector as text, such as pool=a,!gpu",
            );
        };
        match Selector::parse(text) {
            Ok(selector) => Some(selector).filter(|s| !s.is_empty()),
            Err(error) => self.complain(Code::BadSelector, error),
        }
    }

    /// The value of a label, which may be empty.
    fn label(self) -> Option<String> {
        match &self.node()?.value {
            Value::Text(text) if text.is_empty() || is_label_word(text) => Some(text.clone()),
            Value::Text(_) => self.refuse(
                Code::BadSelector,
                "the value of a label: at most 63 letters, digits, -, _ or .",
            ),
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::List(_)
            | Value::Map(_) => self.name(),
        }
    }
}

fn object_selector(f: &mut Fields<'_, '_>) -> Selector {
    let labels = f.field("matchLabels").each("labels", |entry, value| {
        if !is_label_key(&entry.key) {
            return value
                .at_key()
                .complain(Code::BadSelector, "not the name of a label");
        }
        Some(Requirement {
            key: entry.key.clone(),
            test: Test::In(vec![value.label()?]),
        })
    });
    let expressions = f
        .field("matchExpressions")
        .list("expressions", |item| item.section(expression));
    Selector::new(
        labels
            .into_iter()
            .flatten()
            .chain(expressions.into_iter().flatten())
            .collect(),
    )
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method is of one lifetime, the closure of all"
)]
fn expression(f: &mut Fields<'_, '_>) -> Option<Requirement> {
    let key = f.required("key", "the name of a label").name();
    let operator = f
        .required("operator", "In, NotIn, Exists or DoesNotExist")
        .name();
    let values = f
        .field("values")
        .list("values", |item| item.label())
        .unwrap_or_default();
    let (key, operator) = (key?, operator?);
    if !is_label_key(&key) {
        f.complain(Code::BadSelector, "key", "not the name of a label");
    }
    if !f.sound() {
        return None;
    }
    let numeric = matches!(operator.as_str(), "Gt" | "Lt");
    if numeric {
        return f
            .field("operator")
            .refuse(Code::BadSelector, "In, NotIn, Exists or DoesNotExist");
    }
    let requirement = Requirement::from_parts(key, &operator, values);
    requirement
        .map_err(|error| f.complain(Code::BadSelector, "operator", error))
        .ok()
}

/// A name, with the domain that it belongs to before a slash, if any.
fn is_label_key(key: &str) -> bool {
    let (domain, name) = key
        .split_once('/')
        .map_or((None, key), |(domain, name)| (Some(domain), name));
    is_label_word(name)
        && domain.is_none_or(|d| !d.is_empty() && d.len() <= 253 && !d.contains('/'))
}

fn is_label_word(word: &str) -> bool {
    let ends = word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.ends_with(|c: char| c.is_ascii_alphanumeric());
    ends && word.len() <= 63
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

fn text(node: &Node) -> Result<&str, Code> {
    match &node.value {
        Value::Text(text) => Ok(text),
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::List(_)
        | Value::Map(_) => Err(Code::WrongType),
    }
}

fn is_none(node: &Node) -> bool {
    text(node) == Ok("none")
}

fn whole(node: &Node, least: u32) -> Result<u32, Code> {
    let Value::Int(number) = node.value else {
        return Err(Code::WrongType);
    };
    u32::try_from(number)
        .ok()
        .filter(|n| *n >= least)
        .ok_or(Code::OutOfRange)
}

/// A percentage, written with its sign or as a plain number.
pub(crate) fn percent(node: &Node) -> Result<Ratio, Code> {
    let written = match (&node.value, &node.plain) {
        (Value::Int(_) | Value::Float(_), Some(plain)) => plain.as_str(),
        _ => text(node)?
            .trim()
            .strip_suffix('%')
            .ok_or(Code::WrongType)?
            .trim_end(),
    };
    let digits = written.strip_prefix('-').unwrap_or(written);
    if !digits.starts_with(|c: char| c.is_ascii_digit())
        || !digits.chars().all(|c| c.is_ascii_digit() || c == '.')
    {
        return Err(Code::WrongType);
    }
    let percent: f64 = digits.parse().map_err(|_| Code::WrongType)?;
    let in_range = percent <= 100.0 && digits.len() == written.len();
    Ratio::percent(percent)
        .filter(|_| in_range)
        .ok_or(Code::OutOfRange)
}

#[cfg(test)]
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method is of one lifetime, the closure of all"
)]
mod tests {
    use insta::assert_snapshot;
    use jiff::SignedDuration;

    use super::super::problem::{Code, PolicyError};
    use super::super::read::{Report, Spot};
    use super::super::{Names, tree};

    /// Reads one value, or says what is wrong with it.
    fn read<T>(text: &str, read: impl FnOnce(Spot<'_, '_>) -> Option<T>) -> Result<T, String> {
        let root = tree::parse(text).unwrap();
        let mut report = Report::default();
        let value = report.read(&root, read);
        let problems = report.close();
        value
            .filter(|_| problems.is_empty())
            .ok_or_else(|| PolicyError::new("f", text, problems).to_string())
    }

    /// The codes and messages for each of these values.
    fn refusals<T: std::fmt::Debug>(
        values: &[&str],
        by: impl Fn(Spot<'_, '_>) -> Option<T>,
    ) -> String {
        let lines = values.iter().map(|v| {
            read(v, &by)
                .unwrap_err()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned()
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn durations_read_as_kubernetes_writes_them() {
        for (text, seconds) in [
            ("90s", 90),
            ("5m", 300),
            ("1h30m", 5400),
            ("\"2h\"", 7200),
            ("1m30s", 90),
            ("0s", 0),
        ] {
            assert_eq!(
                read(text, |s| s.duration(SignedDuration::ZERO)),
                Ok(SignedDuration::from_secs(seconds)),
                "{text}"
            );
        }
        assert_snapshot!(refusals(&["5", "-1m", "5 parsecs", "0s", "9000h", "", "99999999999h"], |s| s.duration(SignedDuration::from_secs(1))), @"
        f:1:1: found 5, expected a duration from 1s to 8760h, such as 90s, 5m or 1h30m
        f:1:1: found -1m, expected a duration from 1s to 8760h, such as 90s, 5m or 1h30m
        f:1:1: found 5 parsecs, expected a duration from 1s to 8760h, such as 90s, 5m or 1h30m
        f:1:1: found 0s, expected a duration from 1s to 8760h, such as 90s, 5m or 1h30m
        f:1:1: found 9000h, expected a duration from 1s to 8760h, such as 90s, 5m or 1h30m
        f:1:1: found nothing, expected a duration from 1s to 8760h, such as 90s, 5m or 1h30m
        f:1:1: found 99999999999h, expected a duration from 1s to 8760h, such as 90s, 5m or 1h30m
        ");
    }

    #[test]
    fn percentages_read_with_their_sign_or_as_a_number_of_percents() {
        for (text, share) in [
            ("30%", 0.3),
            ("30", 0.3),
            ("\"30%\"", 0.3),
            ("0", 0.0),
            ("100%", 1.0),
            ("12.5%", 0.125),
            ("0.5%", 0.005),
        ] {
            assert!(
                (read(text, |s| s.percent()).unwrap().get() - share).abs() < 1e-12,
                "{text}"
            );
        }
        assert_snapshot!(refusals(&["130%", "-5%", "-5", "0.3", "\"30\"", "thirty", "1e1", ".inf", "'%'", "1.2.3%", "true"], |s| s.percent()), @r#"
        f:1:1: found 130%, expected a percentage from 0% to 100%
        f:1:1: found -5%, expected a percentage from 0% to 100%
        f:1:1: found -5, expected a percentage from 0% to 100%
        f:1:1: found 0.3, expected a percentage such as 30%; less than one percent needs the sign
        f:1:1: found "30", expected a percentage from 0% to 100%
        f:1:1: found thirty, expected a percentage from 0% to 100%
        f:1:1: found 1e1, expected a percentage from 0% to 100%
        f:1:1: found .inf, expected a percentage from 0% to 100%
        f:1:1: found "%", expected a percentage from 0% to 100%
        f:1:1: found 1.2.3%, expected a percentage from 0% to 100%
        f:1:1: found true, expected a percentage from 0% to 100%
        "#);
    }

    #[test]
    fn names_are_text_and_what_only_looks_like_text_is_told_to_take_quotes() {
        assert_eq!(
            read("[a, 'true', \"5\"]", |s| s.names()),
            Ok(vec!["a".into(), "true".into(), "5".into()])
        );
        assert_snapshot!(refusals(&["[true]", "[5]", "['']", "[[a]]", "a"], |s| s.names()), @r#"
        f:1:2: [0]: found true, expected text; write "true", with quotes
        f:1:2: [0]: found 5, expected text; write "5", with quotes
        f:1:2: [0]: found "", expected text
        f:1:2: [0]: found a list, expected text
        f:1:1: found a, expected a list of names
        "#);
    }

    #[test]
    fn names_are_taken_in_or_left_out() {
        assert_eq!(
            read("{exclude: [a]}", |s| s.names_in_or_out()),
            Ok(Names::Except(vec!["a".into()]))
        );
        assert_eq!(
            read("{include: [a]}", |s| s.names_in_or_out()),
            Ok(Names::Only(vec!["a".into()]))
        );
        assert_snapshot!(refusals(&["{include: [a], exclude: [b]}", "{include: []}", "[a]"], |s| s.names_in_or_out()), @"
        f:1:2: include: include and exclude do not go together; keep one of them
        f:1:2: include: nothing is included; name something, or leave the field out
        f:1:1: found a list, expected a map of fields
        ");
    }

    #[test]
    fn selectors_are_text_or_objects() {
        for text in [
            "pool=web",
            "{matchLabels: {pool: web}}",
            "{matchExpressions: [{key: pool, operator: In, values: [web]}]}",
        ] {
            assert_eq!(
                read(text, |s| s.selector()).unwrap().to_string(),
                "pool=web"
            );
        }
        assert_eq!(
            read("{matchLabels: {pool: ''}}", |s| s.selector())
                .unwrap()
                .to_string(),
            "pool="
        );
        let broken = [
            "a b",
            "5",
            "{matchLabels: {gpu: true}}",
            "{matchLabels: [a]}",
            "{matchExpressions: [{key: a, operator: Like}]}",
            "{matchExpressions: [{key: a, operator: In}]}",
            "{matchExpressions: [{operator: In}]}",
            "{labels: {a: b}}",
        ];
        assert_snapshot!(refusals(&broken, |s| s.selector()), @r#"
        f:1:1: not a label selector at "b"; allowed are key=value, key!=value, key in (a,b), key notin (a,b), key, !key
        f:1:1: found 5, expected a label selector: text such as pool=a,!gpu, or matchLabels and matchExpressions
        f:1:21: matchLabels.gpu: found true, expected text; write "true", with quotes
        f:1:15: matchLabels: found a list, expected a map of labels
        f:1:30: matchExpressions[0].operator: unknown operator "Like"; allowed are In, NotIn, Exists, DoesNotExist, and for nodes Gt and Lt
        f:1:30: matchExpressions[0].operator: operator In of key "a" does not take 0 values
        f:1:21: matchExpressions[0].key: missing, expected the name of a label
        f:1:2: labels: unknown field; allowed here: matchLabels, matchExpressions
        "#);
    }

    #[test]
    fn a_selector_of_everything_is_none() {
        for text in ["\"\"", "{}", "{matchLabels: {}}"] {
            let root = tree::parse(text).unwrap();
            let mut report = Report::default();
            assert_eq!(report.read(&root, |s| s.selector()), None);
            assert!(report.close().is_empty());
        }
    }

    #[test]
    fn too_much_is_told_from_what_is_of_another_type() {
        let code = |text: &str| {
            let root = tree::parse(text).unwrap();
            let mut report = Report::default();
            report.read(&root, |s| s.whole(1));
            report.close()[0].code
        };
        assert_eq!(code("0"), Code::OutOfRange);
        assert_eq!(code("4294967296"), Code::OutOfRange);
        assert_eq!(code("\"1\""), Code::WrongType);
    }
}
