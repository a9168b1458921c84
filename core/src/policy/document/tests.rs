//! The generated files are up to date, and agree with the reader.

use std::path::Path;

use super::wrapped;
use crate::policy::Policy;

/// Compares a generated file with the one in the repository; with `UPDATE_GENERATED=1`, writes it
/// instead.
fn check(path: &str, text: &str) {
    let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(path);
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(&file, text).unwrap();
    }
    let current = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        current == text,
        "{path} is out of date: run UPDATE_GENERATED=1 cargo test --lib policy::document"
    );
}

#[test]
fn the_example_is_up_to_date() {
    check("policy.example.yaml", &Policy::example());
}

#[test]
fn the_reference_is_up_to_date() {
    check("docs/policy.md", &Policy::reference());
}

#[test]
fn the_schema_is_up_to_date() {
    check("docs/policy.schema.json", &Policy::schema());
}

#[test]
fn long_lines_are_wrapped_and_indented_ones_are_kept() {
    assert_eq!(wrapped("a bb ccc\n  dd  ee ff", 4), ["a bb", "ccc", "  dd  ee ff"]);
}
