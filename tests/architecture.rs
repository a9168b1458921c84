//! House rules that the compiler and clippy cannot check. CONTRIBUTING.md lists them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use self::source::{CRATES, File, files_of, root, source_files};
use self::uses::{NamedPath, named_paths};

mod prose;
mod source;
mod uses;
mod vocabulary;

/// The heading in `src/lib.rs` above the modules that may reach outside the process.
const EDGES_BEGIN_AT: &str = "── edges";
const MOST_MODULES: usize = 12;
const MOST_LINES: usize = 400;
const MOST_COLUMNS: usize = 100;
/// Type names that may occur more than once, each with the reason.
const REPEATED_TYPES: [(&str, &str); 1] = [("Args", "each command has its own arguments")];
/// Code that reads or changes anything outside the process, or that depends on chance.
const ONLY_AT_THE_EDGES: [&str; 20] = [
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

/// The modules that a file declares as public, in order.
fn declared(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
        .map(str::to_owned)
        .collect()
}

fn declared_in(file: &str) -> Vec<String> {
    declared(&fs::read_to_string(root().join(file)).unwrap())
}

/// The modules of both crates, in order.
fn modules() -> Vec<String> {
    let of_crate = |folder| declared_in(&format!("{folder}/lib.rs"));
    CRATES.into_iter().flat_map(of_crate).collect()
}

/// The modules above the edges: those of the core, and what only reads and draws plain data.
fn above_the_edges() -> Vec<String> {
    let lib = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let (above, below) = lib.split_once(EDGES_BEGIN_AT).unwrap();
    let mut modules = declared_in("core/src/lib.rs");
    modules.extend(declared(above));
    assert!(modules.len() > 6 && !declared(below).is_empty());
    modules
}

/// Uses of modules that are declared below the file's own module. `parent` is empty for the modules
/// of the crates.
fn upward_uses(files: &[File], parent: &str, order: &[String]) -> Vec<String> {
    let depth = usize::from(!parent.is_empty());
    let mut wrong = Vec::new();
    for file in files {
        let own = file.module(depth + 1);
        if own.len() <= depth || (depth == 1 && own[0] != parent) {
            continue;
        }
        let Some(position) = order.iter().position(|module| module == own[depth]) else {
            continue;
        };
        for used in file.all_uses().iter().filter(|used| used.len() > depth) {
            let same_parent = depth == 0 || used[0] == parent;
            if same_parent && order[position + 1..].contains(&used[depth]) {
                wrong.push(format!("{} uses {}", file.path, used.join("::")));
            }
        }
    }
    wrong
}

/// Upward uses among the modules of both crates, and among those of each layered module.
fn all_upward_uses(files: &[File]) -> Vec<String> {
    let mut wrong = upward_uses(files, "", &modules());
    for layered in ["model", "decide"] {
        let order = declared_in(&format!("core/src/{layered}.rs"));
        wrong.extend(upward_uses(files, layered, &order));
    }
    wrong
}

#[test]
fn a_module_uses_only_modules_above_it() {
    let wrong = all_upward_uses(source_files());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn there_are_few_modules() {
    let modules = modules();
    assert!(modules.len() <= MOST_MODULES, "{modules:?}");
}

/// Each module uses these modules.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// The files that a file names by `crate::` or `super::`.
fn used_files(file: &File, names: &BTreeSet<String>) -> BTreeSet<String> {
    file.uses().into_iter().filter_map(|path| longest_file(path, names)).collect()
}

/// The file that holds the item at this path.
fn longest_file(mut path: NamedPath, names: &BTreeSet<String>) -> Option<String> {
    while !path.is_empty() {
        let name = path.join("/");
        if names.contains(&name) {
            return Some(name);
        }
        path.pop();
    }
    None
}

/// Whether a module uses itself by way of others.
fn is_in_circle(graph: &Graph, module: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut next = vec![module];
    while let Some(current) = next.pop() {
        for used in graph.get(current).into_iter().flatten() {
            if used == module {
                return true;
            }
            if seen.insert(used) {
                next.push(used);
            }
        }
    }
    false
}

/// Which siblings use which, folder by folder. A sibling is a file together with the folder of its
/// parts.
fn sibling_graphs(files: &[File]) -> BTreeMap<String, Graph> {
    let names: BTreeSet<String> = files.iter().map(|file| file.name.clone()).collect();
    let mut graphs: BTreeMap<String, Graph> = BTreeMap::new();
    for file in files {
        let own: Vec<&str> = file.name.split('/').collect();
        for used in used_files(file, &names) {
            let other: Vec<&str> = used.split('/').collect();
            let shared = own.iter().zip(&other).take_while(|(a, b)| a == b).count();
            if shared < own.len() && shared < other.len() {
                let graph = graphs.entry(own[..shared].join("/")).or_default();
                let uses = graph.entry(own[shared].to_owned()).or_default();
                uses.insert(other[shared].to_owned());
            }
        }
    }
    graphs
}

/// The modules that use themselves by way of siblings.
fn circles(files: &[File]) -> Vec<String> {
    let mut circles = Vec::new();
    for (folder, graph) in sibling_graphs(files) {
        let modules = graph.keys().filter(|module| is_in_circle(&graph, module));
        circles.extend(modules.map(|module| format!("{folder}/{module}")));
    }
    circles
}

#[test]
fn siblings_do_not_use_each_other_in_a_circle() {
    let circles = circles(source_files());
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}

/// Files that exist only in a test.
fn planted(files: &[(&str, &str)]) -> Vec<File> {
    let file = |(path, text): &(&str, &str)| File::of(path.as_ref(), (*text).to_owned());
    files.iter().map(file).collect()
}

#[test]
fn a_planted_circle_is_found() {
    let circle = planted(&[
        ("src/a/one.rs", "use super::{three, two::Two};"),
        ("src/a/two.rs", "fn f() { super::three::g() }"),
        ("src/a/three.rs", "use crate::a::{one::{One, Other}};"),
        ("src/a/four.rs", "use super::{one, two};"),
    ]);
    assert_eq!(circles(&circle), ["a/one", "a/three", "a/two"]);
    assert_eq!(circles(&circle[1..]), [""; 0]);
}

#[test]
fn a_planted_upward_use_is_found() {
    let files = planted(&[
        ("core/src/model/plan.rs", "use crate::{values::Ratio, decide::{gate}};"),
        ("core/src/decide/gate.rs", "use super::{scheduler, strategy::{Strategy}};"),
        ("core/src/decide/draft.rs", "#[cfg(test)]\nmod tests { use crate::decide::gate; }"),
    ]);
    let found = [
        "core/src/model/plan.rs uses decide::gate",
        "core/src/decide/gate.rs uses decide::strategy::Strategy",
        "core/src/decide/draft.rs uses decide::gate",
    ];
    assert_eq!(all_upward_uses(&files), found);
}

#[test]
fn nothing_above_the_edges_does_io() {
    let above = above_the_edges();
    let mut wrong = Vec::new();
    for file in source_files() {
        if !above.iter().any(|module| module == file.module(1)[0]) {
            continue;
        }
        for line in file.product().lines() {
            let banned = ONLY_AT_THE_EDGES.iter().find(|banned| line.contains(*banned));
            wrong.extend(banned.map(|banned| format!("{}: {banned}: {line}", file.path)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Everything else that differs in the exact mode is in a folder of its own, or a value of the
/// policy.
#[test]
fn the_core_asks_for_the_exact_mode_in_two_places() {
    let mut places = Vec::new();
    for file in source_files() {
        if file.path.starts_with(CRATES[0]) && file.module(1)[0] != "policy" {
            let asks = |line: &&str| line.contains(".exact") && words(line).any(|w| w == "exact");
            places.extend(file.product().lines().filter(asks).map(|_| &file.path));
        }
    }
    places.sort();
    assert_eq!(places, ["core/src/decide/gate.rs", "core/src/decide/strategy.rs"]);
}

#[test]
fn only_the_command_line_uses_anyhow() {
    for file in source_files() {
        let may = ["cli", "main"].contains(&file.module(1)[0]);
        assert!(may || !file.product().contains("anyhow"), "{}", file.path);
    }
}

#[test]
fn every_file_starts_with_a_sentence_and_is_short() {
    for file in source_files() {
        let path = &file.path;
        assert!(file.text.starts_with("//! "), "{path} has no //! line");
        let lines = file.product().lines().count();
        assert!(lines <= MOST_LINES, "{path} has {lines} lines before tests");
        assert!(!path.ends_with("mod.rs"), "{path} is named mod.rs");
    }
}

/// Clippy denies `#[allow]` on an item and private glob imports, but not these.
#[test]
fn no_module_allows_a_lint_or_exports_all_and_no_test_is_ignored() {
    for file in source_files() {
        for banned in ["#![allow", "#[ignore"] {
            assert!(!file.code.contains(banned), "{}: {banned}", file.path);
        }
        assert!(!file.product().contains("::*;"), "{} exports everything", file.path);
    }
}

/// The lines whose code and comments together are too wide. The text of literals does not count,
/// because a sentence that is broken wherever a line ends is harder to read and to find.
fn wide_lines(file: &File) -> impl Iterator<Item = usize> {
    let lines = file.text.lines().enumerate();
    lines.filter_map(|(index, line)| {
        let columns = line.chars().count();
        let literals = file.strings.iter().filter(|text| text.line == index + 1);
        let text: usize = literals.map(|text| text.text.chars().count()).sum();
        (columns > MOST_COLUMNS + text).then_some(index + 1)
    })
}

#[test]
fn no_line_is_wider_than_a_hundred_columns_without_its_literals() {
    let mut wide = Vec::new();
    for file in source_files() {
        wide.extend(wide_lines(file).map(|line| format!("{}:{line}", file.path)));
    }
    assert!(wide.is_empty(), "{}\n{}", wide.join("\n"), wide.len());
}

#[test]
fn no_function_takes_a_tuple_apart() {
    let mut found = Vec::new();
    for file in source_files() {
        let lines = file.code.lines().enumerate();
        // A closure takes the items of an iterator as they are.
        let differs = |line: &str| line.contains("let (") || line.contains('|');
        let is_tuple = |line: &str| {
            let mut parts = line.split("): ");
            // A type follows a name, or the names of the parts of a tuple.
            let ends = parts.next().filter(|_| parts.next().is_some());
            let names = ends.and_then(|before| before.rsplit_once('('));
            names.is_some_and(|(_, names)| names.contains(", ") && !names.contains(':'))
        };
        let tuples = lines.filter(|(_, line)| is_tuple(line) && !differs(line));
        found.extend(tuples.map(|(index, _)| format!("{}:{}", file.path, index + 1)));
    }
    assert!(found.is_empty(), "each part is a parameter: {found:?}");
}

/// The words of a line of code.
fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// The name of the type or trait that a line defines. An associated type is indented and does not
/// count.
fn defined_type(line: &str) -> Option<&str> {
    let is_alias = line.starts_with("type ") || line.starts_with("pub");
    let mut words = words(line)
        .filter(|word| !["pub", "crate", "super", "in", "self", "unsafe"].contains(word));
    match words.next()? {
        "struct" | "enum" | "trait" => words.next(),
        "type" if is_alias => words.next(),
        _ => None,
    }
}

#[test]
fn a_type_name_is_used_once() {
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in source_files() {
        for name in file.product().lines().filter_map(defined_type) {
            let places = files.entry(name.to_owned()).or_default();
            places.push(file.path.clone());
        }
    }
    files.retain(|name, places| {
        places.len() > 1 && !REPEATED_TYPES.iter().any(|(repeated, _)| repeated == name)
    });
    let found: Vec<String> =
        files.iter().map(|(name, places)| format!("{name}: {}", places.join(", "))).collect();
    assert!(found.is_empty(), "{}\n{}", found.join("\n"), found.len());
}

#[test]
fn modules_are_found_by_their_names() {
    for file in source_files().iter().chain(&files_of("tests")) {
        assert!(!file.code.contains("#[path"), "{} has #[path]", file.path);
    }
}

/// The commands of the steps, without their names.
fn commands(text: &str, start: &str) -> BTreeSet<String> {
    text.lines().filter_map(|line| line.trim_end().strip_prefix(start)).map(str::to_owned).collect()
}

/// Without seeds, a fuzz target hardly gets past the first check of the format.
#[test]
fn every_fuzz_target_has_seeds() {
    let targets = files_of("fuzz/src/bin");
    assert!(targets.len() > 5);
    for target in targets {
        let name = target.name.rsplit('/').next().unwrap();
        let seeds = fs::read_dir(root().join("fuzz/corpus").join(name));
        let seeds = seeds.unwrap_or_else(|error| panic!("fuzz/corpus/{name}: {error}"));
        assert!(seeds.count() > 0, "fuzz/corpus/{name} is empty");
    }
}

#[test]
fn the_justfile_has_the_steps_of_ci() {
    let justfile = fs::read_to_string(root().join("justfile")).unwrap();
    let script = fs::read_to_string(root().join(".ci/run")).unwrap();
    let mut recipes = commands(&justfile, "    ");
    recipes.retain(|command| !command.starts_with(".ci/") && !command.starts_with("tests/"));
    let steps: BTreeSet<String> =
        [commands(&script, "step "), commands(&script, "  step ")].into_iter().flatten().collect();
    assert_eq!(recipes, steps);
}

/// The files outside the folder of their source file that the product includes, from the root.
fn included_from_elsewhere(file: &File) -> impl Iterator<Item = String> {
    let product = &file.text[..file.product().len()];
    let paths = product.split("include_str!(\"").skip(1);
    paths
        .filter_map(|rest| rest.split_once('"'))
        .map(|(path, _)| path)
        .filter(|path| path.starts_with("../"))
        .map(|path| {
            let mut folder = Path::new(&file.path).parent().unwrap();
            let mut below = path;
            while let Some(rest) = below.strip_prefix("../") {
                (folder, below) = (folder.parent().unwrap(), rest);
            }
            folder.join(below).to_str().unwrap().to_owned()
        })
}

#[test]
fn the_image_is_built_with_every_included_file() {
    let ignored = fs::read_to_string(root().join(".dockerignore")).unwrap();
    let copied: Vec<&str> = ignored.lines().filter_map(|l| l.strip_prefix('!')).collect();
    let included: Vec<String> = source_files().iter().flat_map(included_from_elsewhere).collect();
    assert!(!included.is_empty());
    for path in included.iter().map(String::as_str).chain(CRATES) {
        let is_copied = copied.iter().any(|folder| Path::new(path).starts_with(folder));
        assert!(is_copied, ".dockerignore leaves out {path}");
    }
    // Cargo looks for the file of a target without a path before it builds another one.
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let targets = manifest.split("[[").skip(1);
    for target in targets.map(|rest| rest.split("\n\n").next().unwrap()) {
        assert!(target.contains("\npath = "), "no path: [[{target}");
    }
}

/// A file that no module names is not compiled, so its tests would never run.
#[test]
fn every_file_of_tests_is_compiled() {
    for (folder, list) in [("tests/it", "tests/main.rs"), ("tests/e2e", "tests/e2e.rs")] {
        let listed = fs::read_to_string(root().join(list)).unwrap();
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let is_rust = path.extension().is_some_and(|extension| extension == "rs");
            let named = listed.contains(&format!("mod {name};"));
            assert!(!is_rust || named || name == "soak", "{list} has no {name}");
        }
    }
}
