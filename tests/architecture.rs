//! The house rules that the compiler cannot check. See ARCHITECTURE.md and CONTRIBUTING.md.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, helpers included")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const CORE_ENDS_AT: &str = "── what we touch";
const MOST_LINES: usize = 400;

struct File {
    path: PathBuf,
    module: String,
    text: String,
}

impl File {
    /// The text up to the unit tests; nothing of a file that holds only those.
    fn product(&self) -> &str {
        let inside = self.path.strip_prefix(source()).unwrap();
        if inside.iter().any(|part| part == "tests" || part == "tests.rs") {
            return "";
        }
        self.text.split("#[cfg(test)]").next().unwrap()
    }
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn files() -> Vec<File> {
    let mut found = Vec::new();
    let mut folders = vec![source()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            // Scenarios are files of another kind.
            if path.extension().is_none_or(|ending| ending != "rs") {
                continue;
            }
            let inside = path.strip_prefix(source()).unwrap();
            let module = inside.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned();
            let text = fs::read_to_string(&path).unwrap();
            found.push(File { path, module, text });
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.len() > 20, "the test looks at the wrong place");
    found
}

/// The modules in reading order, and how many of them are the core.
fn order() -> (Vec<String>, usize) {
    let lib = fs::read_to_string(source().join("lib.rs")).unwrap();
    let (mut modules, mut core) = (Vec::new(), 0);
    for line in lib.lines() {
        if line.contains(CORE_ENDS_AT) {
            core = modules.len();
        }
        if let Some(name) = line.strip_prefix("pub mod ").and_then(|l| l.strip_suffix(';')) {
            modules.push(name.to_owned());
        }
    }
    assert!(core > 5 && modules.len() > core, "lib.rs has lost its sections");
    (modules, core)
}

/// The modules that a text names after `crate::`.
fn uses(text: &str) -> BTreeSet<String> {
    let named = |part: &str| part.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect::<String>();
    text.split("crate::").skip(1).map(named).filter(|n| !n.is_empty()).collect()
}

#[test]
fn a_module_uses_only_modules_above_it() {
    let (modules, _) = order();
    let place = |name: &str| modules.iter().position(|m| m == name);
    let mut wrong = Vec::new();
    for file in files().iter().filter(|f| !["lib", "main"].contains(&f.module.as_str())) {
        let own = place(&file.module).unwrap_or_else(|| panic!("{} is not in lib.rs", file.path.display()));
        for used in uses(&file.text) {
            if place(&used).is_some_and(|p| p > own) {
                wrong.push(format!("{} uses {used}, which stands below it", file.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_core_touches_nothing() {
    let (modules, core) = order();
    let banned = [
        "async ",
        ".await",
        "kube::",
        "reqwest::",
        "tokio::",
        "axum::",
        "tracing::",
        "std::fs",
        "std::env",
        "std::net",
        "std::process",
        "std::thread",
        "Instant",
        "SystemTime",
        "Timestamp::now",
        "Zoned::now",
        "HashMap",
        "HashSet",
        "println!",
        "rand::",
    ];
    let mut wrong = Vec::new();
    for file in files().iter().filter(|f| modules[..core].contains(&f.module)) {
        let lines = file.product().lines().filter(|l| !l.trim_start().starts_with("//"));
        for line in lines {
            wrong.extend(
                banned.iter().filter(|b| line.contains(*b)).map(|b| format!("{}: {b}: {line}", file.path.display())),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_edges_do_not_know_each_other() {
    // A source may need the client of the cluster, for metrics.k8s.io is served by the same API server.
    let edges = [
        ("source", vec!["telemetry"]),
        ("cluster", vec!["source", "telemetry"]),
        ("telemetry", vec!["source", "cluster"]),
    ];
    for (edge, others) in edges {
        for file in files().iter().filter(|f| f.module == edge) {
            for other in &others {
                assert!(!uses(&file.text).contains(*other), "{} uses {other}", file.path.display());
            }
        }
    }
}

#[test]
fn only_the_command_line_gives_up_the_type_of_an_error() {
    for file in files().iter().filter(|f| !["cli", "main"].contains(&f.module.as_str())) {
        assert!(!file.product().contains("anyhow"), "{} uses anyhow", file.path.display());
    }
}

#[test]
fn every_file_says_what_it_is_and_is_short() {
    for file in files() {
        assert!(file.text.starts_with("//! "), "{} has no //! line", file.path.display());
        let lines = file.product().lines().count();
        assert!(lines <= MOST_LINES, "{} has {lines} lines without tests", file.path.display());
        assert!(!file.path.ends_with("mod.rs"), "{}", file.path.display());
    }
}

#[test]
fn lints_are_expected_with_a_reason_and_never_allowed() {
    for file in files() {
        assert!(!file.text.contains("#[allow") && !file.text.contains("#![allow"), "{}", file.path.display());
        assert!(!file.text.contains("#[ignore"), "{}", file.path.display());
        assert!(!file.product().contains("::*;"), "{} imports everything", file.path.display());
    }
}
