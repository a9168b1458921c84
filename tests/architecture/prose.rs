//! Plain English in comments, messages and documentation: each marker makes readers stumble.
//!
//! The list is short on purpose. It holds constructions that have a plain equivalent, not words
//! that are merely rare.

use std::fs;
use std::sync::LazyLock;

use super::source::{File, Fragment, files_of, paths_of, root, source_files};

/// The markers, each with its advice, and example sentences. `openings` start a sentence; `phrases`
/// stand anywhere in it.
const WORD_LIST: &str = include_str!("../data/prose.txt");

/// The lines of a section of the word list.
fn section(name: &str) -> impl Iterator<Item = &'static str> {
    let heading = format!("[{name}]");
    WORD_LIST
        .lines()
        .skip_while(move |line| *line != heading)
        .skip(1)
        .take_while(|line| !line.is_empty())
}

/// The markers of a section, each with its advice.
fn markers(name: &str) -> Vec<(&'static str, &'static str)> {
    section(name).map(|line| line.split_once(" = ").unwrap()).collect()
}

/// The markers, read once.
struct Markers {
    openings: Vec<(&'static str, &'static str)>,
    phrases: Vec<(&'static str, &'static str)>,
}

static MARKERS: LazyLock<Markers> =
    LazyLock::new(|| Markers { openings: markers("openings"), phrases: markers("phrases") });

/// Words after ", for" that start a clause, so that "for" means "because".
const CLAUSE_STARTS: [&str; 11] =
    ["it", "they", "we", "he", "there", "nobody", "none", "nothing", "what", "those", "otherwise"];
/// Words after ", for" that start a clause only if a verb follows soon.
const DETERMINERS: [&str; 8] = ["the", "a", "an", "its", "their", "each", "no", "all"];
const VERBS: [&str; 16] = [
    "is", "are", "was", "were", "has", "have", "had", "does", "do", "can", "cannot", "could",
    "would", "will", "must", "may",
];
/// How far behind the determiner a verb may stand.
const CLAUSE_WORDS: usize = 4;
const BECAUSE: &str = "use \"because\" or a new sentence";

/// The advice for the first marker in a text.
fn advice(text: &str) -> Option<&'static str> {
    let text = text.to_lowercase();
    sentences(&text)
        .find_map(|sentence| {
            let opening = MARKERS.openings.iter().find(|(start, _)| opens_with(sentence, start));
            opening.map(|(_, advice)| *advice)
        })
        .or_else(|| {
            let phrase = MARKERS.phrases.iter().find(|(phrase, _)| has_words(&text, phrase));
            phrase.map(|(_, advice)| *advice)
        })
        .or_else(|| has_causal_for(&text).then_some(BECAUSE))
}

/// Whether a sentence starts with these words, followed by others.
fn opens_with(sentence: &str, words: &str) -> bool {
    sentence.strip_prefix(words).is_some_and(|rest| rest.starts_with(' '))
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    // "What if …" is a plain question.
    text.split(". ")
        .map(str::trim_start)
        .filter(|sentence| !sentence.starts_with("what if") && !sentence.ends_with('?'))
}

/// Whether the text has these words, not merely as part of longer ones.
fn has_words(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + words.len()..].chars().next();
        let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        (words.starts_with('\'') || !joins(before)) && !joins(after)
    })
}

/// Whether the text has "for" in the sense of "because".
fn has_causal_for(text: &str) -> bool {
    text.split(", for ").skip(1).any(|rest| {
        let mut words = rest.split(|c: char| !c.is_alphanumeric());
        let first = words.next().unwrap_or_default();
        let verb_follows = || words.take(CLAUSE_WORDS).any(|word| VERBS.contains(&word));
        CLAUSE_STARTS.contains(&first) || (DETERMINERS.contains(&first) && verb_follows())
    })
}

fn complaint(path: &str, line: usize, text: &str) -> Option<String> {
    let advice = advice(text)?;
    Some(format!("{path}:{line}: {advice}: {}", text.trim()))
}

fn complaints<'f>(
    path: &'f str,
    fragments: impl IntoIterator<Item = &'f Fragment>,
) -> impl Iterator<Item = String> {
    fragments.into_iter().filter_map(move |fragment| complaint(path, fragment.line, &fragment.text))
}

/// The messages of a file: literals of at least three words, outside tests.
fn messages(file: &File) -> impl Iterator<Item = &Fragment> {
    let lines = file.product().lines().count();
    let is_message = move |s: &&Fragment| s.line <= lines && s.text.matches(' ').count() >= 2;
    file.strings.iter().filter(is_message)
}

/// The lines of a Markdown file outside code blocks, and the comments of a YAML file.
fn documentation(text: &str, is_markdown: bool) -> Vec<Fragment> {
    let mut in_code = false;
    let mut fragments = Vec::new();
    for (index, line) in text.lines().enumerate() {
        in_code ^= line.trim_start().starts_with("```");
        let reads = if is_markdown {
            !in_code && !line.starts_with("    ")
        } else {
            line.trim_start().starts_with("# ")
        };
        if reads {
            fragments.push(Fragment {
                line: index + 1,
                text: line.trim_start_matches([' ', '-', '*', '#', '>', '|']).to_owned(),
            });
        }
    }
    fragments
}

#[test]
fn comments_are_plain_english() {
    let mut found = Vec::new();
    for folder in ["core", "src", "tests", "benches", "fuzz"] {
        for file in files_of(folder) {
            if file.name != "tests/architecture/prose" {
                found.extend(complaints(&file.path, &file.comments));
            }
        }
    }
    assert!(found.is_empty(), "{}\n{}", found.join("\n"), found.len());
}

#[test]
fn messages_are_plain_english() {
    let mut found = Vec::new();
    for file in source_files() {
        found.extend(complaints(&file.path, messages(file)));
    }
    assert!(found.is_empty(), "{}\n{}", found.join("\n"), found.len());
}

#[test]
fn documentation_is_plain_english() {
    let mut found = Vec::new();
    for (folder, extension) in [("", "md"), ("deploy", "yaml"), ("examples", "yaml"), ("", "yaml")]
    {
        for path in paths_of(folder, extension) {
            let below = path.strip_prefix(root()).unwrap().to_str().unwrap();
            let is_nested_yaml = folder.is_empty() && extension == "yaml" && below.contains('/');
            let is_foreign = ["target/", "tests/data/", "."].iter().any(|f| below.starts_with(f));
            if is_foreign || is_nested_yaml {
                continue;
            }
            let fragments = documentation(&fs::read_to_string(&path).unwrap(), extension == "md");
            found.extend(complaints(below, &fragments));
        }
    }
    assert!(found.is_empty(), "{}\n{}", found.join("\n"), found.len());
}

#[test]
fn markers_are_found_and_plain_sentences_pass() {
    assert!(MARKERS.openings.len() > 5 && MARKERS.phrases.len() > 30);
    for strained in section("strained") {
        assert!(advice(strained).is_some(), "{strained}");
    }
    for plain in section("plain") {
        assert_eq!(advice(plain), None, "{plain}");
    }
}
