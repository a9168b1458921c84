//! Every name that the core compares with names of objects is kept.

use std::fs;
use std::path::{Path, PathBuf};

use super::NameKind;
use crate::files::fields::{
    ANNOTATIONS, GANGS, MIRROR, PAUSES, SELECTED_NODE, STORAGE_CLASS, fields_of_kind,
};

/// Names in the core that no object of a snapshot has to keep: the annotations of the ConfigMap of
/// a proposal, and the API group of metrics.
const OTHERS: [&str; 3] = ["evenkeel.io/approved", "evenkeel.io/approved-by", "metrics.k8s.io/"];

/// The lines of the core that take part in decisions, without comments and tests.
fn lines() -> Vec<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("core/src");
    let mut folders = vec![source.join("model"), source.join("decide")];
    let mut lines = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.ends_with("tests") || path.ends_with("tests.rs") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(path).unwrap();
            let product = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            let code = product.lines().map(str::trim).filter(|line| !line.starts_with("//"));
            lines.extend(code.map(str::to_owned));
        }
    }
    lines
}

/// The texts of the literals in a line.
fn literals(line: &str) -> impl Iterator<Item = &str> {
    line.split('"').skip(1).step_by(2)
}

/// Whether this is the key of a label, a taint or an annotation, or the name of a driver.
fn is_key(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "./_-".contains(c);
    let in_domain = text.split_once('/').is_some_and(|(domain, _)| domain.contains('.'));
    let is_version = text.rsplit('/').next().is_some_and(|last| last.starts_with("v1"));
    let is_driver = text.split('.').any(|part| part == "csi");
    let of_autoscaler = text.ends_with("ClusterAutoscaler");
    text.chars().all(is_plain) && (in_domain && !is_version || is_driver || of_autoscaler)
}

fn is_kept_key(text: &str) -> bool {
    let kinds = [NameKind::Key, NameKind::Driver, NameKind::Part];
    let by_kind = kinds.iter().any(|kind| kind.keeps(text));
    let zones = ["zone", "region"].map(|end| format!("{text}{end}"));
    let begins_a_zone = text.ends_with('/') && zones.iter().all(|key| NameKind::Key.keeps(key));
    let annotations = [&ANNOTATIONS[..], &GANGS, &PAUSES, &[STORAGE_CLASS, SELECTED_NODE, MIRROR]];
    by_kind || begins_a_zone || annotations.concat().contains(&text) || OTHERS.contains(&text)
}

#[test]
fn every_key_and_driver_that_the_core_reads_is_kept() {
    let lines = lines();
    let keys: Vec<&str> =
        lines.iter().flat_map(|line| literals(line)).filter(|k| is_key(k)).collect();
    assert!(keys.len() > 50, "{keys:?}");
    let lost: Vec<&str> = keys.into_iter().filter(|key| !is_kept_key(key)).collect();
    assert!(lost.is_empty(), "add these to the names that are kept: {lost:?}");
}

#[test]
fn every_kind_and_condition_that_the_core_compares_is_kept() {
    let lines = lines();
    let has_test = |line: &&String| {
        [".is(\"", "kind == \"", "(&owner.kind", "(&kind)"].iter().any(|test| line.contains(test))
    };
    let compared: Vec<&str> =
        lines.iter().filter(has_test).flat_map(|line| literals(line)).collect();
    assert!(compared.len() > 20, "{compared:?}");
    let is_kept = |name: &&str| {
        if name.chars().all(|c| c.is_ascii_lowercase() || c == '.') {
            return NameKind::Version.keeps(&format!("{name}/v1"));
        }
        NameKind::Kind.keeps(name)
            || NameKind::Condition.keeps(name)
            || NameKind::Key.keeps(name)
            || ["InternalIP", "True"].contains(name)
            || fields_of_kind(name).is_some()
    };
    let lost: Vec<&str> = compared.into_iter().filter(|name| !is_kept(name)).collect();
    assert!(lost.is_empty(), "add these to the names that are kept: {lost:?}");
}
