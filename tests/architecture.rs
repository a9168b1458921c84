//! The house rules that the compiler cannot check. See ARCHITECTURE.md and CONTRIBUTING.md.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, helpers included"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const CORE_ENDS_AT: &str = "── edges";
const MOST_MODULES: usize = 9;
const MOST_LINES: usize = 400;

struct File {
    path: PathBuf,
    /// The path below `src` without its ending: `decide/gate/limits`.
    name: String,
    text: String,
}

impl File {
    /// The text up to the unit tests, or nothing for a file that holds only those.
    fn product(&self) -> &str {
        if self.name.split('/').any(|part| part == "tests") {
            return "";
        }
        self.text.split("#[cfg(test)]").next().unwrap()
    }

    /// The first `depth` parts of the name, as a path of modules.
    fn module(&self, depth: usize) -> Vec<&str> {
        self.name.split('/').take(depth).collect()
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
            // The built-in scenarios are YAML files.
            if path.extension().is_none_or(|ending| ending != "rs") {
                continue;
            }
            let inside = path.strip_prefix(source()).unwrap().with_extension("");
            let name = inside.to_str().unwrap().to_owned();
            let text = fs::read_to_string(&path).unwrap();
            found.push(File { path, name, text });
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.len() > 20, "the test looks at the wrong place");
    found
}

/// The modules that a file declares, in order.
fn declared(file: &str) -> Vec<String> {
    let text = fs::read_to_string(source().join(file)).unwrap();
    let names = text
        .lines()
        .filter_map(|l| l.strip_prefix("pub mod ")?.strip_suffix(';'));
    names.map(str::to_owned).collect()
}

/// The modules of the core.
fn core() -> Vec<String> {
    let lib = fs::read_to_string(source().join("lib.rs")).unwrap();
    let part = lib.split(CORE_ENDS_AT).next().unwrap();
    let names = part
        .lines()
        .filter_map(|l| l.strip_prefix("pub mod ")?.strip_suffix(';'));
    let names: Vec<String> = names.map(str::to_owned).collect();
    assert!(
        names.len() > 3 && names.len() < declared("lib.rs").len(),
        "lib.rs lost its sections"
    );
    names
}

/// The paths that a text names after `crate::`, each as a list of parts.
fn uses(text: &str) -> Vec<Vec<String>> {
    let path = |part: &str| {
        let end = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':');
        let path = part.split(end).next().unwrap_or_default();
        path.split("::")
            .filter(|p| !p.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    text.split("crate::")
        .skip(1)
        .map(path)
        .filter(|p| !p.is_empty())
        .collect()
}

/// The lines in which a file of `parent` uses a module that is listed below its own.
fn upward(parent: &str, order: &[String]) -> Vec<String> {
    let depth = usize::from(!parent.is_empty());
    let place = |name: &str| order.iter().position(|m| m == name);
    let mut wrong = Vec::new();
    for file in files() {
        let own = file.module(depth + 1);
        if own.len() <= depth || (depth == 1 && own[0] != parent) || place(own[depth]).is_none() {
            continue;
        }
        for used in uses(&file.text).iter().filter(|u| u.len() > depth) {
            let inside = depth == 0 || used[0] == parent;
            if inside && place(&used[depth]) > place(own[depth]) {
                wrong.push(format!("{} uses {}", file.path.display(), used.join("::")));
            }
        }
    }
    wrong
}

#[test]
fn a_module_uses_only_modules_above_it() {
    let modules = declared("lib.rs");
    assert!(
        modules.len() <= MOST_MODULES,
        "{} top-level modules",
        modules.len()
    );
    let mut wrong = upward("", &modules);
    for layered in ["model", "decide"] {
        wrong.extend(upward(layered, &declared(&format!("{layered}.rs"))));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The files that a file names, by `crate::` or `super::`, as names below `src`.
fn named_files(file: &File, names: &BTreeSet<String>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut add = |mut path: Vec<String>| {
        while !path.is_empty() {
            if names.contains(&path.join("/")) {
                found.insert(path.join("/"));
                return;
            }
            path.pop();
        }
    };
    for path in uses(file.product()) {
        add(path);
    }
    for line in file
        .product()
        .lines()
        .filter_map(|l| l.split("use super::").nth(1))
    {
        let mut base: Vec<String> = file.name.split('/').map(str::to_owned).collect();
        base.pop();
        let mut rest = line;
        while let Some(further) = rest.strip_prefix("super::") {
            base.pop();
            rest = further;
        }
        let parts = rest.split("::").map(|p| p.trim_end_matches(';').to_owned());
        add(base.into_iter().chain(parts).collect());
    }
    found
}

/// Whether `from` leads to `to` over at least one step.
fn leads(graph: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut next = vec![from];
    while let Some(at) = next.pop() {
        for used in graph.get(at).into_iter().flatten() {
            if used == to {
                return true;
            }
            if seen.insert(used) {
                next.push(used);
            }
        }
    }
    false
}

/// The siblings of a folder are its files, each together with the folder of its parts.
#[test]
fn siblings_do_not_use_each_other_in_a_circle() {
    let files = files();
    let names: BTreeSet<String> = files.iter().map(|f| f.name.clone()).collect();
    let mut graphs: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for file in &files {
        for used in named_files(file, &names) {
            let (own, other): (Vec<&str>, Vec<&str>) =
                (file.name.split('/').collect(), used.split('/').collect());
            let shared = own.iter().zip(&other).take_while(|(a, b)| a == b).count();
            if shared < own.len() && shared < other.len() {
                let graph = graphs.entry(own[..shared].join("/")).or_default();
                graph
                    .entry(own[shared].to_owned())
                    .or_default()
                    .insert(other[shared].to_owned());
            }
        }
    }
    let mut circles = Vec::new();
    for (folder, graph) in &graphs {
        let in_circle = graph
            .keys()
            .filter(|n| leads(graph, n, n))
            .cloned()
            .collect::<Vec<_>>();
        if !in_circle.is_empty() {
            circles.push(format!("{folder}: {}", in_circle.join(", ")));
        }
    }
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}

#[test]
fn the_core_touches_nothing() {
    let core = core();
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
    for file in files()
        .iter()
        .filter(|f| core.iter().any(|c| c == f.module(1)[0]))
    {
        let lines = file
            .product()
            .lines()
            .filter(|l| !l.trim_start().starts_with("//"));
        for line in lines {
            wrong.extend(
                banned
                    .iter()
                    .filter(|b| line.contains(*b))
                    .map(|b| format!("{}: {b}: {line}", file.path.display())),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_the_command_line_gives_up_the_type_of_an_error() {
    for file in files()
        .iter()
        .filter(|f| !["cli", "main"].contains(&f.module(1)[0]))
    {
        assert!(
            !file.product().contains("anyhow"),
            "{} uses anyhow",
            file.path.display()
        );
    }
}

#[test]
fn every_file_says_what_it_is_and_is_short() {
    for file in files() {
        assert!(
            file.text.starts_with("//! "),
            "{} has no //! line",
            file.path.display()
        );
        let lines = file.product().lines().count();
        assert!(
            lines <= MOST_LINES,
            "{} has {lines} lines without tests",
            file.path.display()
        );
        assert!(!file.path.ends_with("mod.rs"), "{}", file.path.display());
    }
}

#[test]
fn lints_are_expected_with_a_reason_and_never_allowed() {
    for file in files() {
        assert!(
            !file.text.contains("#[allow") && !file.text.contains("#![allow"),
            "{}",
            file.path.display()
        );
        assert!(!file.text.contains("#[ignore"), "{}", file.path.display());
        assert!(
            !file.product().contains("::*;"),
            "{} imports everything",
            file.path.display()
        );
    }
}
