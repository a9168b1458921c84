//! One word for each thing: names do not use the words that the glossary replaced.

use super::source::{File, source_files};

/// The refused words, each with its advice and perhaps a folder.
const WORD_LIST: &str = include_str!("../data/vocabulary.txt");

struct RefusedWord {
    word: &'static str,
    /// The start of the paths that it is refused in.
    folder: &'static str,
    advice: &'static str,
}

fn refused_words() -> Vec<RefusedWord> {
    let lines = WORD_LIST.lines().filter(|line| !line.starts_with('#'));
    let words = lines.map(|line| {
        let (left, advice) = line.split_once(" = ").unwrap();
        let (word, folder) = left.split_once(" in ").unwrap_or((left, ""));
        RefusedWord { word, folder, advice }
    });
    words.collect()
}

/// The parts of a name, in lower case: `pull_home` and `PullHome` both have `pull` and `home`.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut after_lower = false;
    for c in name.chars() {
        if c == '_' || (c.is_uppercase() && after_lower) {
            parts.push(String::new());
        }
        after_lower = c.is_lowercase();
        if c != '_' {
            parts.last_mut().unwrap().extend(c.to_lowercase());
        }
    }
    parts
}

/// The names of a file that use a refused word.
fn refusals(file: &File, refused: &[RefusedWord]) -> Vec<String> {
    let refused = refused.iter().filter(|r| file.path.starts_with(r.folder));
    let refused: Vec<&RefusedWord> = refused.collect();
    let mut found = Vec::new();
    for (line, code) in file.code.lines().enumerate() {
        for name in super::words(code) {
            let parts = parts(name);
            if let Some(refused) = refused.iter().find(|r| parts.iter().any(|p| p == r.word)) {
                let (path, advice) = (&file.path, refused.advice);
                found.push(format!("{path}:{}: {name}: {advice}", line + 1));
            }
        }
    }
    found
}

#[test]
fn names_use_the_words_of_the_glossary() {
    let refused = refused_words();
    let found = source_files().iter().flat_map(|f| refusals(f, &refused));
    let found: Vec<String> = found.collect();
    assert!(found.is_empty(), "{}\n{}", found.join("\n"), found.len());
}

#[test]
fn a_planted_synonym_is_found() {
    let code = "/// The winners.\nfn pull_home(ceiling: Winners) { \"likes\"; image_pulled() }";
    let planted = |path: &str| {
        let file = File::of(path.as_ref(), code.to_owned());
        refusals(&file, &refused_words())
    };
    let names = ["pull_home: cause", "ceiling: targets; `ceilings` is the field of a policy"];
    let everywhere = "Winners: possible_nodes";
    let gate = |text: &str| format!("core/src/decide/gate/planted.rs:2: {text}");
    let expected = [gate(names[0]), gate(names[1]), gate(everywhere)];
    assert_eq!(planted("core/src/decide/gate/planted.rs"), expected);
    let expected = [format!("src/cli/planted.rs:2: {everywhere}")];
    assert_eq!(planted("src/cli/planted.rs"), expected);
}
