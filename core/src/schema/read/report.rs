//! Everything that is wrong with a document, gathered while it is read.

use std::collections::BTreeSet;

use crate::schema::problem::{Code, Position, Problem};
use crate::schema::tree::{MapEntry, Value, YamlNode};
use crate::schema::wording::{below, either, nearest, without_index};

/// The problems found so far, and the fields that readers have asked for.
#[derive(Default)]
pub(crate) struct Report {
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<Problem>,
    /// Values are read as descheduler reads them: null counts as absent, and a list may be empty.
    pub(super) lenient: bool,
    pub(super) unknown: Vec<Unknown>,
    /// Every field that was asked for, such as `strategies[].lowNodeUtilization`.
    pub(crate) asked: BTreeSet<String>,
}

/// A field that no reader asked for, and the fields that are allowed beside it.
pub(super) struct Unknown {
    what: &'static str,
    at: Position,
    parent: String,
    key: String,
    allowed: Vec<&'static str>,
    /// Where the field belongs, if its reader knows.
    belongs: Option<String>,
}

impl Unknown {
    pub(super) fn new(
        what: &'static str,
        entry: &MapEntry,
        parent: &str,
        allowed: Vec<&'static str>,
    ) -> Self {
        Unknown {
            what,
            at: entry.at,
            parent: parent.to_owned(),
            key: entry.key.clone(),
            allowed,
            belongs: None,
        }
    }

    /// Adds where the field belongs.
    pub(super) fn belonging(mut self, place: impl Fn(&str) -> Option<String>) -> Self {
        self.belongs = place(&self.key);
        self
    }
}

impl Report {
    /// From here on, values are read as descheduler reads them.
    pub(crate) fn be_lenient(&mut self) {
        self.lenient = true;
    }

    /// Adds a problem of the document as a whole.
    pub(crate) fn add(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// The warnings: fields that have no effect, or an unexpected one.
    pub(crate) fn take_warnings(&mut self) -> Vec<Problem> {
        let mut warnings = std::mem::take(&mut self.warnings);
        warnings.sort_by_key(|w| (w.line, w.column));
        warnings
    }

    /// All problems, once everything has been read.
    pub(crate) fn close(mut self) -> Vec<Problem> {
        for unknown in std::mem::take(&mut self.unknown) {
            let path = below(&unknown.parent, &unknown.key);
            let hint = self.hint(&unknown);
            let sentence = format!(
                "unknown {}{hint}; allowed here: {}",
                unknown.what,
                unknown.allowed.join(", ")
            );
            self.problems.push(Problem::new(Code::UnknownField, unknown.at, &path, None, sentence));
        }
        self.problems
    }

    /// The likely meaning of an unknown field: a field of another section, or one with a similar
    /// name.
    fn hint(&self, unknown: &Unknown) -> String {
        if let Some(place) = &unknown.belongs {
            return format!(" (it belongs in {place})");
        }
        // Elsewhere in the same kind of section is not another place.
        let own = normal(&unknown.parent);
        let parents = self.asked.iter().filter_map(|path| path.strip_suffix(unknown.key.as_str()));
        let parents: Vec<String> = parents
            .filter_map(|parent| match parent.strip_suffix('.') {
                Some(parent) => (parent != own).then(|| format!("`{parent}`")),
                None => parent.is_empty().then(|| "the top level".to_owned()),
            })
            .collect();
        if !parents.is_empty() {
            return format!(
                " (it belongs in {})",
                either(&parents.iter().map(String::as_str).collect::<Vec<_>>())
            );
        }
        let near = nearest(&unknown.key, &unknown.allowed);
        near.map_or(String::new(), |name| format!(" (did you mean `{name}`?)"))
    }

    /// Remembers that a reader asked for a field. All items of a list count as one.
    pub(super) fn note(&mut self, parent: &str, name: &str) {
        self.asked.insert(normal(&below(parent, name)));
    }

    pub(super) fn find_repeats(&mut self, node: &YamlNode, path: &str) {
        match &node.value {
            Value::Map(entries) => {
                let mut seen = BTreeSet::new();
                for entry in entries {
                    let path = below(path, &entry.key);
                    if !seen.insert(&entry.key) {
                        let sentence = "this field is repeated; keep one of them";
                        self.problems.push(Problem::new(
                            Code::RepeatedField,
                            entry.at,
                            &path,
                            None,
                            sentence,
                        ));
                    }
                    self.find_repeats(&entry.value, &path);
                }
            }
            Value::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.find_repeats(item, &format!("{path}[{i}]"));
                }
            }
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => {}
        }
    }
}

/// Returns a path without the positions in lists.
fn normal(path: &str) -> String {
    let parts = path.split_inclusive('[').enumerate();
    parts.map(|(i, part)| without_index(i, part)).collect()
}
