//! Parts of messages: paths, alternatives and suggestions.

use super::problem::printable;

/// A part of a path behind an opening bracket, without the number of a list item.
pub(crate) fn without_index(i: usize, part: &str) -> &str {
    if i == 0 { part } else { part.trim_start_matches(|c: char| c.is_ascii_digit()) }
}

/// Alternatives in a sentence: `a, b or c`.
pub(crate) fn either(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

/// The path of a field: `a.b`, or `a["b.c/d"]` where the name is not one word.
pub(crate) fn below(parent: &str, name: &str) -> String {
    let simple =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    match (simple, parent) {
        (true, "") => name.to_owned(),
        (true, _) => format!("{parent}.{name}"),
        (false, _) => format!("{parent}[\"{}\"]", printable(name, 60)),
    }
}

/// The most similar name, if one is similar enough.
pub(crate) fn nearest(written: &str, names: &[&'static str]) -> Option<&'static str> {
    let written: String = written.chars().take(60).collect::<String>().to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&written, &name.to_lowercase());
    let (distance, name) = names.iter().map(|name| (distance(name), *name)).min()?;
    (distance <= (name.len() / 3).max(1)).then_some(name)
}
