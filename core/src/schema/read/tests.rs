//! Problems that the readers of maps report.

use insta::assert_snapshot;

use super::Report;
use crate::schema::problem::Problem;
use crate::schema::tree;

/// The problems of a reader that knows `limits.perNode`, `limits.perCycle` and `name`.
fn problems(text: &str) -> String {
    let root = tree::parse(text).unwrap();
    let mut report = Report::default();
    report.read(&root, |root| {
        root.section(|f| {
            f.field("name").name();
            f.required("limits", "two numbers")
                .section(|f| [f.field("perNode").whole(0), f.field("perCycle").whole(0)]);
        });
    });
    report.close().iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn only_required_fields_may_be_reported_as_missing() {
    assert_snapshot!(problems("limits:"), @"");
    assert_snapshot!(problems("name: a"), @"limits: missing, expected two numbers");
}

#[test]
fn an_unknown_field_is_reported_with_the_nearest_name_or_its_right_place() {
    assert_snapshot!(problems("limits: {pernode: 1, perCicle: 2, name: x, perFortnight: 3}"), @"
    limits.pernode: unknown field (did you mean `perNode`?); allowed here: perNode, perCycle
    limits.perCicle: unknown field (did you mean `perCycle`?); allowed here: perNode, perCycle
    limits.name: unknown field (it belongs in the top level); allowed here: perNode, perCycle
    limits.perFortnight: unknown field; allowed here: perNode, perCycle
    ");
    assert_snapshot!(problems("{limits: {}, perNode: 1}"),
        @"perNode: unknown field (it belongs in `limits`); allowed here: name, limits");
}

#[test]
fn keys_with_special_characters_are_quoted_in_paths() {
    assert_snapshot!(problems("{limits: {}, nvidia.com/gpu: 1, \"\\e[31m\": 2, '': 3}"), @r#"
    ["nvidia.com/gpu"]: unknown field; allowed here: name, limits
    ["\u{1b}[31m"]: unknown field; allowed here: name, limits
    [""]: unknown field; allowed here: name, limits
    "#);
}

#[test]
fn repeated_fields_are_found_below_unknown_fields() {
    assert_snapshot!(problems("{limits: {}, what: [{a: 1, a: 2}]}").lines().next().unwrap(),
        @"what[0].a: this field is repeated; keep one of them");
}

#[test]
fn all_list_items_count_as_one_field() {
    let mut report = Report::default();
    report.note("a[12].b[3]", "c");
    assert!(report.asked.contains("a[].b[].c"));
}
