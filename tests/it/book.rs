//! The documentation: every page is in the book, and every link leads somewhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The pages in a folder, not below it.
fn pages_in(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|e| e == "md")).collect()
}

/// The targets of all links of a page, without code.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        in_code ^= line.trim_start().starts_with("```");
        if in_code {
            continue;
        }
        for part in line.split("](").skip(1) {
            links.extend(part.split_once(')').map(|(target, _)| target.to_owned()));
        }
    }
    links
}

/// The anchor of a heading, as GitHub and mdBook write it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#'))).collect()
}

#[test]
fn every_relative_link_leads_to_a_file_and_a_heading() {
    let mut broken = Vec::new();
    let folders =
        ["", "docs", "docs/decisions", "deploy", "deploy/helm/evenkeel", "tests", "tests/testbed"];
    for page in folders.iter().flat_map(|folder| pages_in(folder)) {
        let text = read(&page);
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target =
                if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let is_page = target.extension().is_some_and(|e| e == "md");
            let found = target.exists()
                && (heading.is_empty() || !is_page || anchors(&read(&target)).contains(heading));
            if !found {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The cells of the tables of a page, without the commas of numbers.
fn rows(page: &str) -> Vec<Vec<String>> {
    let text = read(&root().join(page)).replace(',', "");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    rows.map(|row| row.split(" | ").map(str::to_owned).collect()).collect()
}

/// The name of a row of the arena in the comparison, its way, and its figures there.
fn compared(row: &[String]) -> Option<(String, &str, String)> {
    match row {
        [file, way, minutes, evictions] => {
            Some((format!("recorded day {file} "), way, format!("{evictions} evictions {minutes}")))
        }
        [nodes, seeds, way, _, _, hot, evictions, ..] => Some((
            format!("{seeds} random clusters of {nodes} nodes "),
            way,
            format!("{evictions} evictions {hot} hot"),
        )),
        _ => None,
    }
}

#[test]
fn the_comparison_has_the_figures_of_the_arena() {
    let arena = rows("docs/arena.md");
    let mut found = 0;
    for row in rows("docs/comparison.md") {
        for (name, way, figures) in arena.iter().filter_map(|row| compared(row)) {
            let column = match way {
                "descheduler's choice" => 2,
                "evenkeel stock scheduler" => 3,
                "evenkeel with steering" => 4,
                _ => continue,
            };
            if row[0].starts_with(&name) {
                assert_eq!(row[column], figures, "{name}");
                found += 1;
            }
        }
    }
    assert_eq!(found, 15, "three ways of two sizes of clusters and of three recorded days");
}

#[test]
fn every_page_of_docs_is_in_the_book() {
    let summary = root().join("docs/SUMMARY.md");
    let listed: BTreeSet<String> = links(&read(&summary)).into_iter().collect();
    let docs = root().join("docs");
    let pages = [pages_in("docs"), pages_in("docs/decisions")].concat();
    let names = pages.iter().map(|page| page.strip_prefix(&docs).unwrap());
    let names = names.map(|name| name.to_str().unwrap().to_owned());
    let present: BTreeSet<String> = names.filter(|name| name != "SUMMARY.md").collect();
    assert_eq!(listed, present);
}

/// The text of every source file and every file of cases.
fn all_tests() -> String {
    let mut folders: Vec<PathBuf> = ["src", "core/src", "tests"].map(|f| root().join(f)).into();
    let mut text = String::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let kind = path.extension().and_then(|kind| kind.to_str());
            match kind {
                _ if path.is_dir() => folders.push(path),
                Some("rs" | "txt") => text += &read(&path),
                _ => {}
            }
        }
    }
    text
}

#[test]
fn the_evidence_of_a_decision_exists() {
    let tests = all_tests();
    let mut missing = Vec::new();
    for page in pages_in("docs/decisions") {
        let text = read(&page).split_whitespace().collect::<Vec<_>>().join(" ");
        let is_test = |code: &&str| {
            let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            code.matches('_').count() > 2 && code.chars().all(is_name)
        };
        let names = text.split('`').skip(1).step_by(2).filter(is_test);
        let functions = names.map(|name| format!("fn {name}("));
        // A case in text, before its file.
        let mut before: Vec<&str> = text.split("\" (`tests/it/").collect();
        before.pop();
        let cases = before.into_iter().filter_map(|before| before.rsplit_once('"'));
        let cases = cases.map(|(_, case)| format!("## {case}\n"));
        let all = functions.chain(cases).filter(|wanted| !tests.contains(wanted));
        missing.extend(all.map(|wanted| format!("{}: {wanted}", page.display())));
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
