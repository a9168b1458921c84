//! The paths that Rust source names, with every list in braces expanded.

/// A path, as a list of its parts from the crate's root.
pub(super) type NamedPath = Vec<String>;

/// The paths that code names after `crate::` or `super::`, in `use` items and elsewhere.
///
/// `module` is the module of the code. Of a path that begins with `super`, the result has the whole
/// path from the crate's root.
pub(super) fn named_paths(code: &str, module: &[&str]) -> Vec<NamedPath> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some((start, keyword)) = next_keyword(rest) {
        let in_word = rest[..start].ends_with(is_word);
        rest = &rest[start + keyword.len()..];
        if in_word {
            continue;
        }
        let mut base: NamedPath = Vec::new();
        if keyword == SUPER {
            base.extend(module.iter().map(|part| (*part).to_owned()));
            base.pop();
            while let Some(further) = rest.strip_prefix(SUPER) {
                base.pop();
                rest = further;
            }
        }
        rest = tree(rest, base, &mut found);
    }
    found
}

const CRATE: &str = "crate::";
const SUPER: &str = "super::";

fn next_keyword(code: &str) -> Option<(usize, &'static str)> {
    let starts = [CRATE, SUPER].map(|keyword| code.find(keyword).map(|start| (start, keyword)));
    starts.into_iter().flatten().min()
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Reads what follows `base::` and returns the rest of the code.
fn tree<'a>(code: &'a str, mut base: NamedPath, found: &mut Vec<NamedPath>) -> &'a str {
    let mut rest = code.trim_start();
    if let Some(list) = rest.strip_prefix('{') {
        return branches(list, &base, found);
    }
    let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    if end > 0 && &rest[..end] != "self" {
        base.push(rest[..end].to_owned());
    }
    rest = &rest[end..];
    match rest.strip_prefix("::") {
        Some(deeper) if deeper.trim_start().starts_with(|c| is_word(c) || c == '{') => {
            tree(deeper, base, found)
        }
        Some(_) | None => {
            found.push(base);
            rest
        }
    }
}

/// Reads the trees of a list up to its closing brace.
fn branches<'a>(list: &'a str, base: &NamedPath, found: &mut Vec<NamedPath>) -> &'a str {
    let mut rest = list;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        if rest.is_empty() {
            return rest;
        }
        if let Some(after) = rest.strip_prefix('}') {
            return after;
        }
        if rest.starts_with(|c| is_word(c) || c == '{') {
            rest = tree(rest, base.clone(), found);
        }
        // A name after `as`, and a star, lead nowhere.
        rest = rest.trim_start_matches(|c| !",}".contains(c));
    }
}

#[test]
fn lists_in_braces_are_expanded() {
    let code = "use crate::a::{self, b::{c, D as E}, *};\nlet x = super::super::f::<T>();";
    let named: Vec<String> =
        named_paths(code, &["one", "two", "three"]).iter().map(|path| path.join("/")).collect();
    assert_eq!(named, ["a", "a/b/c", "a/b/D", "one/f"]);
}
