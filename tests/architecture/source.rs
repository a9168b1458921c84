//! The Rust files of both crates, each split into code, comments and string literals.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A Rust file.
pub(super) struct File {
    /// The path below the root of the repository.
    pub(super) path: String,
    /// The module path below `src` or `core/src`: `decide/gate/limits`.
    pub(super) name: String,
    pub(super) text: String,
    /// The text with comments and string literals replaced by blanks, so that lines and columns
    /// stay.
    pub(super) code: String,
    /// Comments and doc comments, one per line.
    pub(super) comments: Vec<Fragment>,
    /// String literals, one per line.
    pub(super) strings: Vec<Fragment>,
}

/// A piece of text and its line, counted from 1.
pub(super) struct Fragment {
    pub(super) line: usize,
    pub(super) text: String,
}

impl File {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let path = path.strip_prefix(root()).unwrap();
        Self::of(path, text)
    }

    /// A file with this path below the root and this text, which need not exist.
    pub(super) fn of(path: &Path, text: String) -> Self {
        let below = path.strip_prefix("core").unwrap_or(path);
        let name = below.strip_prefix("src").unwrap_or(path).with_extension("");
        let mut scanner = Scanner::default();
        scanner.scan(&text);
        File {
            path: path.to_str().unwrap().to_owned(),
            name: name.to_str().unwrap().to_owned(),
            text,
            code: scanner.code,
            comments: scanner.comments,
            strings: scanner.strings,
        }
    }

    /// The code above the unit tests; empty for a file that holds only tests.
    pub(super) fn product(&self) -> &str {
        if self.name.split('/').any(|part| part == "tests") {
            return "";
        }
        self.code.split("#[cfg(test)]").next().unwrap_or_default()
    }

    /// The paths that the product names, from the crate's root.
    pub(super) fn uses(&self) -> Vec<super::NamedPath> {
        super::named_paths(self.product(), &self.module(usize::MAX))
    }

    /// Like [`File::uses`], with those of unit tests in the same file.
    pub(super) fn all_uses(&self) -> Vec<super::NamedPath> {
        let (mut module, mut uses) = (self.module(usize::MAX), self.uses());
        let tests = &self.code[self.product().len()..];
        if !self.product().is_empty() {
            module.push("tests");
        }
        uses.extend(super::named_paths(tests, &module));
        uses
    }

    /// The first `depth` parts of the name, as a module path.
    pub(super) fn module(&self, depth: usize) -> Vec<&str> {
        self.name.split('/').take(depth).collect()
    }
}

/// The root of the repository.
pub(super) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The Rust files of both crates, read once because most tests need all of them.
static SOURCE_FILES: LazyLock<Vec<File>> =
    LazyLock::new(|| CRATES.into_iter().flat_map(files_of).collect());

/// The source folders of the crates, the core first.
pub(super) const CRATES: [&str; 2] = ["core/src", "src"];

/// The Rust files of both crates.
pub(super) fn source_files() -> &'static [File] {
    let files = SOURCE_FILES.as_slice();
    assert!(files.len() > 20, "there are only {} files", files.len());
    files
}

/// The Rust files below a folder of the repository, in order.
pub(super) fn files_of(folder: &str) -> Vec<File> {
    paths_of(folder, "rs").iter().map(|path| File::read(path)).collect()
}

/// The files below a folder of the repository with this extension, in order.
pub(super) fn paths_of(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                // Thousands of files that no test reads.
                if !path.ends_with("target") && !path.ends_with(".git") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Splits Rust source without parsing it. It knows comments, strings, raw strings and characters.
#[derive(Default)]
struct Scanner {
    code: String,
    /// Line ends so far.
    lines: usize,
    comments: Vec<Fragment>,
    strings: Vec<Fragment>,
}

impl Scanner {
    fn scan(&mut self, text: &str) {
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            let length = if rest.starts_with("//") {
                self.comment(rest)
            } else if let Some(hashes) = raw_string(rest).filter(|_| !self.in_word()) {
                let opening = rest.find('"').unwrap_or_default() + 1;
                let closing = format!("\"{}", "#".repeat(hashes));
                let length = rest[opening..].find(&closing).unwrap_or_default();
                self.string(rest, opening, opening + length, closing.len())
            } else if next == '"' {
                self.string(rest, 1, 1 + string_length(&rest[1..]), 1)
            } else if let Some(length) = character(rest) {
                self.blank(&rest[..length])
            } else {
                self.lines += usize::from(next == '\n');
                self.code.push(next);
                next.len_utf8()
            };
            rest = &rest[length..];
        }
    }

    /// Whether the scanned code ends within a word: then `r"` is not the start of a raw string.
    fn in_word(&self) -> bool {
        self.code.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
    }

    fn line(&self) -> usize {
        self.lines + 1
    }

    fn comment(&mut self, rest: &str) -> usize {
        let length = rest.find('\n').unwrap_or(rest.len());
        let text = rest[..length].trim_start_matches(['/', '!']).trim();
        self.comments.push(Fragment { line: self.line(), text: text.to_owned() });
        self.blank(&rest[..length])
    }

    /// A string literal whose text lies between two offsets.
    fn string(&mut self, rest: &str, from: usize, to: usize, closing: usize) -> usize {
        let first = self.line();
        for (offset, text) in rest[from..to].lines().enumerate() {
            self.strings.push(Fragment { line: first + offset, text: text.to_owned() });
        }
        self.blank(&rest[..to + closing])
    }

    fn blank(&mut self, text: &str) -> usize {
        let blanks = text.chars().map(|c| if c == '\n' { '\n' } else { ' ' });
        self.code.extend(blanks);
        self.lines += text.matches('\n').count();
        text.len()
    }
}

/// The number of hashes if a raw string starts here.
fn raw_string(rest: &str) -> Option<usize> {
    let rest = rest.strip_prefix('b').unwrap_or(rest).strip_prefix('r')?;
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    rest[hashes..].starts_with('"').then_some(hashes)
}

/// The length of the text up to the closing quote.
fn string_length(rest: &str) -> usize {
    let mut escaped = false;
    for (offset, c) in rest.char_indices() {
        if c == '"' && !escaped {
            return offset;
        }
        escaped = c == '\\' && !escaped;
    }
    rest.len()
}

/// The length of a character literal, if one starts here. A lifetime has no closing quote.
fn character(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('\'')?;
    let first = inner.chars().next()?;
    let skipped = if first == '\\' { 2 } else { first.len_utf8() };
    let length = inner.get(skipped..)?.find('\'')?;
    (first == '\\' || length == 0).then_some(1 + skipped + length + 1)
}

#[test]
fn source_is_split_into_code_comments_and_strings() {
    let mut scanner = Scanner::default();
    scanner
        .scan("let a = \"x \\\" // no\"; // yes\nlet b = r#\"it\n\"it\"\"#; let c: &'a = '\"';\n");
    let lines: Vec<&str> = scanner.code.lines().map(str::trim_end).collect();
    assert_eq!(lines[0], "let a =             ;");
    assert_eq!(lines[2], "      ; let c: &'a =    ;");
    assert_eq!(scanner.comments[0].text, "yes");
    let strings: Vec<_> = scanner.strings.iter().map(|s| (s.line, &*s.text)).collect();
    assert_eq!(strings, [(1, "x \\\" // no"), (2, "it"), (3, "\"it\"")]);
}
