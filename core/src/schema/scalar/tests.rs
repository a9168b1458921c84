//! Values that fields take, and the messages for values that they refuse.

#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method is of one lifetime, the closure of all"
)]

use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::schema::names::Names;
use crate::schema::problem::{Code, PolicyError};
use crate::schema::read::{Report, Spot};
use crate::schema::tree;

/// Reads one value, or returns the problems.
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
fn refusals<T: std::fmt::Debug>(values: &[&str], by: impl Fn(Spot<'_, '_>) -> Option<T>) -> String {
    let lines = values
        .iter()
        .map(|v| read(v, &by).unwrap_err().lines().next().unwrap_or_default().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn durations_are_read_in_the_notation_of_kubernetes() {
    for (text, seconds) in
        [("90s", 90), ("5m", 300), ("1h30m", 5400), ("\"2h\"", 7200), ("1m30s", 90), ("0s", 0)]
    {
        assert_eq!(
            read(text, |s| s.duration(SignedDuration::ZERO)),
            Ok(SignedDuration::from_secs(seconds)),
            "{text}"
        );
    }
    // Native policies take only the usual notation, without what Go reads besides.
    for text in ["PT5M", "'1:30:00'", "5min", "1hr", "1h 5m", "'0'", ".5h", "1m1h"] {
        assert!(read(text, |s| s.duration(SignedDuration::ZERO)).is_err(), "{text}");
    }
    assert_snapshot!(refusals(&["5", "-1m", "5 parsecs", "0s", "9000h", "", "99999999999h"],
        |s| s.duration(SignedDuration::from_secs(1))), @"
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
fn percentages_are_read_with_and_without_a_percent_sign() {
    for (text, share) in [
        ("30%", 0.3),
        ("30", 0.3),
        ("\"30%\"", 0.3),
        ("0", 0.0),
        ("100%", 1.0),
        ("12.5%", 0.125),
        ("0.5%", 0.005),
    ] {
        assert!((read(text, |s| s.percent()).unwrap().get() - share).abs() < 1e-12, "{text}");
    }
    assert_snapshot!(refusals(&["130%", "-5%", "-5", "0.3", "\"30\"", "thirty", "1e1", ".inf",
        "'%'", "1.2.3%", "true"], |s| s.percent()), @r#"
    f:1:1: found 130%, expected a percentage from 0% to 100%
    f:1:1: found -5%, expected a percentage from 0% to 100%
    f:1:1: found -5, expected a percentage from 0% to 100%
    f:1:1: found 0.3, expected a percentage such as 30%; less than one percent needs the % sign
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
fn names_are_text_and_other_scalars_need_quotes() {
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

/// A pattern would match nothing, so that `exclude` would protect nothing.
#[test]
fn a_name_is_no_pattern() {
    assert_snapshot!(refusals(&["[prod, 'prod-*']", "['.+']", "[a|b]"], |s| s.names()), @r#"
    f:1:8: [1]: found "prod-*", expected a whole name, not a pattern
    f:1:2: [0]: found ".+", expected a whole name, not a pattern
    f:1:2: [0]: found a|b, expected a whole name, not a pattern
    "#);
}

#[test]
fn names_are_included_or_excluded() {
    assert_eq!(
        read("{exclude: [a]}", |s| s.names_in_or_out()),
        Ok(Names::Except(vec!["a".into()]))
    );
    assert_eq!(read("{include: [a]}", |s| s.names_in_or_out()), Ok(Names::Only(vec!["a".into()])));
    assert_snapshot!(refusals(&["{include: [a], exclude: [b]}", "{include: []}", "[a]"],
        |s| s.names_in_or_out()), @"
    f:1:2: include: include and exclude are both given; keep one of them
    f:1:2: include: nothing is included; name something, or remove the field
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
        assert_eq!(read(text, |s| s.selector()).unwrap().to_string(), "pool=web");
    }
    assert_eq!(read("{matchLabels: {pool: ''}}", |s| s.selector()).unwrap().to_string(), "pool=");
    let broken = [
        "a b",
        "pool notin (gpu cpu)",
        "pool!=gpu/a100",
        "-pool=a",
        "5",
        "{matchLabels: {gpu: true}}",
        "{matchLabels: [a]}",
        "{matchExpressions: [{key: a, operator: Like}]}",
        "{matchExpressions: [{key: a, operator: In}]}",
        "{matchExpressions: [{operator: In}]}",
        "{labels: {a: b}}",
    ];
    assert_snapshot!(refusals(&broken, |s| s.selector()), @"
    f:1:1: invalid label selector at \"b\"; expected key=value, key!=value, key in (a,b), key notin (a,b), key>1, key<1, key or !key
    f:1:1: invalid label selector at \"cpu\"; expected key=value, key!=value, key in (a,b), key notin (a,b), key>1, key<1, key or !key
    f:1:1: invalid label selector: \"gpu/a100\" is not the value of a label: at most 63 letters, digits, -, _ or .
    f:1:1: invalid label selector: \"-pool\" is not the name of a label
    f:1:1: found 5, expected a label selector: text such as pool=a,!gpu, or matchLabels and matchExpressions
    f:1:21: matchLabels.gpu: found true, expected text; write \"true\", with quotes
    f:1:15: matchLabels: found a list, expected a map of labels
    f:1:30: matchExpressions[0].operator: unknown operator \"Like\"; expected In, NotIn, Exists, DoesNotExist, or for nodes Gt or Lt
    f:1:30: matchExpressions[0].operator: operator In of key \"a\" does not take 0 values
    f:1:21: matchExpressions[0].key: missing, expected the name of a label
    f:1:2: labels: unknown field; allowed here: matchLabels, matchExpressions
    ");
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
fn out_of_range_and_wrong_type_have_different_codes() {
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
