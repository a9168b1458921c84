//! Positions, values and refusals of the YAML tree.

use insta::assert_snapshot;

use super::{Value, YamlNode, parse};
use crate::schema::problem::Position;

/// Every value with its position, one per line.
fn show(text: &str) -> String {
    fn walk(node: &YamlNode, name: &str, lines: &mut Vec<String>) {
        let Position { line, column } = node.at;
        match &node.value {
            Value::List(items) => items.iter().for_each(|n| walk(n, &format!("{name}[]"), lines)),
            Value::Map(entries) => entries.iter().for_each(|e| {
                walk(&e.value, &format!("{name}/{}@{}:{}", e.key, e.at.line, e.at.column), lines);
            }),
            value @ (Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Text(_)) => {
                lines.push(format!("{line}:{column} {name} {value:?} {}", node.shown()));
            }
        }
    }
    let mut lines = Vec::new();
    walk(&parse(text).unwrap(), "", &mut lines);
    lines.join("\n")
}

#[test]
fn yaml_1_1_reads_some_words_and_digits_differently() {
    let list = "[y, No, 'yes', on, true, 010, -0b11, 0o17, 0x1F, 1_000, 1_0.5, 08, 0, -0, x_1, _1, 2h, y_, 1:30, 30%, 1.0, 1e+06, .5e1, 1e20, '1.0', .inf]";
    let Value::List(items) = parse(list).unwrap().in_yaml_1_1().value else { panic!("not a list") };
    let values: Vec<String> = items.iter().map(|node| format!("{:?}", node.value)).collect();
    assert_snapshot!(values.join(" "),
        @"Bool(true) Bool(false) Text(\"yes\") Bool(true) Bool(true) Int(8) Int(-3) Int(15) Int(31) Int(1000) Float(10.5) Int(8) Int(0) Int(0) Text(\"x_1\") Text(\"_1\") Text(\"2h\") Text(\"y_\") Text(\"1:30\") Text(\"30%\") Int(1) Int(1000000) Int(5) Float(1e20) Text(\"1.0\") Float(inf)");
    assert_eq!(parse("a: [{b: off}]").unwrap().in_yaml_1_1(), {
        let mut node = parse("a: [{b: off}]").unwrap();
        let Value::Map(entries) = &mut node.value else { panic!("not a map") };
        let Value::List(items) = &mut entries[0].value.value else { panic!("not a list") };
        let Value::Map(inner) = &mut items[0].value else { panic!("not a map") };
        inner[0].value.value = Value::Bool(false);
        node
    });
}

fn refused(text: &str) -> String {
    let problem = parse(text).unwrap_err();
    format!("{}:{}: {problem}", problem.line, problem.column)
}

#[test]
fn every_value_and_every_key_has_its_position() {
    assert_snapshot!(show("# a comment\na:\n  - b: 1\n    c: [x, 'y']\n\"d e\": {ü: z, f: }\ng: \
        |\n   h"), @r#"
    3:8 /a@2:1[]/b@3:5 Int(1) 1
    4:9 /a@2:1[]/c@4:5[] Text("x") x
    4:12 /a@2:1[]/c@4:5[] Text("y") "y"
    5:12 /d e@5:1/ü@5:9 Text("z") z
    5:16 /d e@5:1/f@5:15 Null nothing
    7:4 /g@6:1 Text("h\n") "h\n"
    "#);
}

#[test]
fn quoted_text_is_neither_a_number_nor_a_word() {
    assert_snapshot!(show("[20, '20', 0x1F, 1e3, -.5, yes, true, 'true', ~, 30%, 5m, 99999999999999999999, inf, --1, 1.2.3]"), @r#"
    1:2 [] Int(20) 20
    1:6 [] Text("20") "20"
    1:12 [] Int(31) 0x1F
    1:18 [] Float(1000.0) 1e3
    1:23 [] Float(-0.5) -.5
    1:28 [] Text("yes") yes
    1:33 [] Bool(true) true
    1:39 [] Text("true") "true"
    1:47 [] Null nothing
    1:50 [] Text("30%") 30%
    1:55 [] Text("5m") 5m
    1:59 [] Float(1e20) 99999999999999999999
    1:81 [] Text("inf") inf
    1:86 [] Text("--1") --1
    1:91 [] Text("1.2.3") 1.2.3
    "#);
}

#[test]
fn a_repeated_key_is_kept() {
    assert_snapshot!(show("a: 1\na: 2"), @"
    1:4 /a@1:1 Int(1) 1
    2:4 /a@2:1 Int(2) 2
    ");
}

#[test]
fn aliases_and_merge_keys_are_resolved() {
    assert_snapshot!(show("a: &x {b: 1, c: 2}\nd: *x\ne: {<<: *x, c: 3}"), @"
    1:11 /a@1:1/b@1:8 Int(1) 1
    1:17 /a@1:1/c@1:14 Int(2) 2
    1:11 /d@2:1/b@1:8 Int(1) 1
    1:17 /d@2:1/c@1:14 Int(2) 2
    3:16 /e@3:1/c@3:13 Int(3) 3
    1:11 /e@3:1/b@1:8 Int(1) 1
    ");
    assert_snapshot!(refused("a: {<<: 5}"), @"1:5: `<<` needs a map");
}

#[test]
fn windows_line_ends_and_byte_order_marks_do_not_shift_positions() {
    assert_snapshot!(show("\u{feff}a: 1\r\nb: 2\r\n"), @"
    1:4 /a@1:1 Int(1) 1
    2:4 /b@2:1 Int(2) 2
    ");
}

#[test]
fn nothing_may_follow_after_a_separator() {
    for text in [
        "a: 1\n---",
        "a: 1\n---\n",
        "---\na: 1\n---\n# a comment\n---\n",
        "a: 1\n...\n",
        "a: 1\n--- ~",
    ] {
        let root = parse(text).unwrap();
        assert_eq!(root.get("a").unwrap().value, Value::Int(1), "{text}");
    }
    let more = ["a: 1\n---\n---\n[]", "---\n---\na: 1", "a: 1\n---\nb: 2", "a: 1\n--- ''"];
    assert_snapshot!(more.map(refused).join("\n"), @"
    3:1: a second document begins here; a policy file holds only one
    2:1: a second document begins here; a policy file holds only one
    2:1: a second document begins here; a policy file holds only one
    2:1: a second document begins here; a policy file holds only one
    ");
}

#[test]
fn a_text_without_a_document_is_null() {
    for text in ["", "# only a comment", "---", "---\n..."] {
        assert_eq!(parse(text).unwrap().value, Value::Null, "{text}");
    }
}

#[test]
fn invalid_yaml_is_refused_with_its_position() {
    let broken = [
        "a: [1,",
        "a: b\n  c: d",
        "a:\n\t- b",
        "a: 'b",
        "a: b: c",
        "a: @b",
        "- a\nb: c",
        "a: *b",
        "\u{0}",
    ];
    assert_snapshot!(broken.map(refused).join("\n"), @r"
    1:4: not valid YAML: unclosed bracket '['
    2:4: not valid YAML: mapping values are not allowed in this context
    2:2: not valid YAML: tabs disallowed within this context (block indentation)
    1:4: not valid YAML: unclosed quote
    1:5: not valid YAML: mapping values are not allowed in this context
    1:4: not valid YAML: unexpected character: `@'
    2:1: not valid YAML: while parsing a block collection, did not find expected '-' indicator
    1:4: not valid YAML: while parsing node, found unknown anchor
    1:1: not valid YAML: unexpected character: `\u{0}'
    ");
}

#[test]
fn yaml_features_that_a_policy_must_not_use_are_refused() {
    let refusals = ["a: 1\n---\nb: 2", "a: !gpu", "a: !!str 5", "? [a]\n: b", "a: &x [*x]"];
    assert_snapshot!(refusals.map(refused).join("\n"), @"
    2:1: a second document begins here; a policy file holds only one
    1:4: YAML tags such as `!gpu` are not supported; quote text that begins with `!`
    1:4: YAML tags such as `!!str` are not supported; quote text that begins with `!`
    1:3: the name of a field must be text, not a list or map
    1:8: this alias is inside the value that it refers to
    ");
}

#[test]
fn deep_nesting_and_yaml_bombs_are_refused() {
    assert_snapshot!(refused(&"[".repeat(10_000)),
        @"1:65: not valid YAML: recursion limit exceeded");
    assert_snapshot!(refused(&"- ".repeat(10_000)),
        @"1:129: not valid YAML: recursion limit exceeded");
    let row = |i: usize, times| {
        format!("a{i}: &a{i} [{}]\n", vec![format!("*a{}", i.saturating_sub(1)); times].join(","))
    };
    let bomb: String =
        std::iter::once("a0: &a0 [x]\n".to_owned()).chain((1..10).map(|i| row(i, 10))).collect();
    assert_snapshot!(refused(&bomb), @"6:14: more than 50000 values, including those of aliases");
    let tower: String =
        std::iter::once("a0: &a0 [x]\n".to_owned()).chain((1..100).map(|i| row(i, 1))).collect();
    assert_snapshot!(refused(&tower),
        @"63:12: with this alias, values are nested more than 64 deep");
}
