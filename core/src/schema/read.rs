//! Reads typed values from a tree, and gathers every problem on the way.
//!
//! A reader gets `None` for a field that is absent or invalid, and continues with the default. If
//! any field is invalid, the policy is dropped and only the list of problems is kept.

use std::fmt::Display;

use super::problem::{Code, Position, Problem};
use super::tree::{MapEntry, Value, YamlNode};
use super::wording::{below, either};

mod checks;
mod report;

pub(crate) use checks::Bound;
pub(crate) use report::Report;
use report::Unknown;

/// The place of a field in a file. Places are in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) at: Position,
    /// The names of the fields above it and its own, such as `usage.window`.
    pub(crate) path: String,
}

impl Place {
    /// The start of a file, which is no field.
    pub(crate) const START: Self = Place { at: Position::START, path: String::new() };
}

impl Report {
    /// Reads a whole document.
    pub(crate) fn read<'t, T>(
        &mut self,
        root: &'t YamlNode,
        read: impl FnOnce(Spot<'_, 't>) -> T,
    ) -> T {
        // YAML forbids repeated keys, but many parsers keep the last one. That hides mistakes.
        self.find_repeats(root, "");
        read(Spot {
            report: self,
            node: Some(root),
            at: root.at,
            key: root.at,
            path: String::new(),
        })
    }
}

/// A place in the file that may have a value.
pub(crate) struct Spot<'r, 't> {
    report: &'r mut Report,
    node: Option<&'t YamlNode>,
    at: Position,
    /// The position of the field's name, which is reported when a field below it is missing.
    key: Position,
    path: String,
}

impl<'r, 't> Spot<'r, 't> {
    /// The value, if there is one.
    pub(crate) fn node(&self) -> Option<&'t YamlNode> {
        self.node
    }

    /// The place of the field.
    pub(crate) fn place(&self) -> Place {
        Place { at: self.at, path: self.path.clone() }
    }

    /// Whether values are read as descheduler reads them.
    pub(crate) fn lenient(&self) -> bool {
        self.report.lenient
    }

    /// Whether the file has no value here.
    pub(crate) fn is_absent(&self) -> bool {
        self.node.is_none()
    }

    /// The same place, as if the file had no value there.
    pub(crate) fn without_value(self) -> Self {
        Spot { node: None, ..self }
    }

    /// The same place, pointing at the name of the field rather than at its value.
    pub(crate) fn at_key(self) -> Self {
        Spot { at: self.key, ..self }
    }

    /// Reports an unexpected value.
    pub(crate) fn refuse<T>(self, code: Code, expected: impl Display) -> Option<T> {
        let found = self.node.map(YamlNode::shown);
        self.report.problems.push(Problem::new(code, self.at, &self.path, found, expected));
        None
    }

    pub(crate) fn complain<T>(self, code: Code, sentence: impl Display) -> Option<T> {
        self.report.problems.push(Problem::new(code, self.at, &self.path, None, sentence));
        None
    }

    pub(crate) fn warn(&mut self, code: Code, sentence: impl Display) {
        self.report.warnings.push(Problem::new(code, self.at, &self.path, None, sentence));
    }

    /// Reads a scalar. An absent one is not a problem.
    pub(crate) fn scalar<T>(
        self,
        expected: &str,
        read: impl FnOnce(&'t YamlNode) -> Result<T, Code>,
    ) -> Option<T> {
        match read(self.node?) {
            Ok(value) => Some(value),
            Err(code) => self.refuse(code, expected),
        }
    }

    /// A field of this map. Its other fields are not checked.
    pub(crate) fn entry(self, name: &str) -> Option<Spot<'r, 't>> {
        let Value::Map(entries) = &self.node?.value else {
            return None;
        };
        let entry = entries.iter().find(|e| e.key == name)?;
        Some(entry_spot(self.report, entry, &self.path))
    }

    /// Reads a map of known fields. An absent or empty map gives the defaults.
    pub(crate) fn section<T>(self, read: impl FnOnce(&mut Fields<'_, 't>) -> T) -> T {
        let before = self.report.problems.len();
        let (entries, broken): (&'t [MapEntry], bool) = match self.node.map(|n| &n.value) {
            None | Some(Value::Null) => (&[], false),
            Some(Value::Map(entries)) => (entries, false),
            Some(_) => (&[], true),
        };
        if broken {
            let found = self.node.map(YamlNode::shown);
            self.report.problems.push(Problem::new(
                Code::WrongType,
                self.at,
                &self.path,
                found,
                "a map of fields",
            ));
        }
        let written = self.node.is_some();
        let Spot { report, path, key: at, .. } = self;
        let mut fields = Fields {
            report,
            path,
            at,
            entries,
            names: Vec::new(),
            before,
            broken,
            written,
            belongs: |_| None,
        };
        let value = read(&mut fields);
        fields.finish();
        value
    }

    /// Reads the items of a list; invalid ones are left out.
    pub(crate) fn list<T>(
        self,
        what: &str,
        mut read: impl FnMut(Spot<'_, 't>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let items = match &self.node?.value {
            Value::List(items) => items,
            Value::Null => return None,
            Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) | Value::Map(_) => {
                return self.refuse(Code::WrongType, format!("a list of {what}"));
            }
        };
        let spots = items.iter().enumerate().filter_map(|(i, item)| {
            let path = format!("{}[{i}]", self.path);
            read(Spot {
                report: &mut *self.report,
                node: Some(item),
                at: item.at,
                key: item.at,
                path,
            })
        });
        Some(spots.collect())
    }

    /// Reads a map with any names; invalid values are left out.
    pub(crate) fn each<T>(
        self,
        what: &str,
        mut read: impl FnMut(&'t MapEntry, Spot<'_, 't>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let Value::Map(entries) = &self.node?.value else {
            return self.refuse(Code::WrongType, format!("a map of {what}"));
        };
        let values =
            entries.iter().filter_map(|e| read(e, entry_spot(&mut *self.report, e, &self.path)));
        Some(values.collect())
    }

    /// Reads a map with exactly one field, whose name chooses how its value is read.
    pub(crate) fn choice<T: Copy>(
        self,
        what: &'static str,
        choices: &[(&'static str, T)],
    ) -> Option<(T, Spot<'r, 't>)> {
        let allowed: Vec<&'static str> = choices.iter().map(|(name, _)| *name).collect();
        for name in &allowed {
            self.report.note(&self.path, name);
        }
        let entries: &[MapEntry] =
            if let Value::Map(entries) = &self.node?.value { entries } else { &[] };
        match entries {
            [] => {
                self.refuse(Code::WrongType, format!("a map with one {what}: {}", either(&allowed)))
            }
            [only] => {
                let chosen = choices.iter().find(|(name, _)| *name == only.key);
                if chosen.is_none() {
                    self.report.unknown.push(Unknown::new(what, only, &self.path, allowed));
                }
                chosen.map(|(_, choice)| (*choice, entry_spot(self.report, only, &self.path)))
            }
            [first, second, ..] => {
                // A strategy without a value, followed by another key, is nearly always wrong
                // indentation.
                let sentence = if first.value.value == Value::Null {
                    format!(
                        "`{}` must be indented further than `{}` to belong to it",
                        second.key, first.key
                    )
                } else {
                    format!("a list item holds one {what}; put a dash before `{}`", second.key)
                };
                let (at, path) = (second.at, below(&self.path, &second.key));
                self.report.problems.push(Problem::new(Code::WrongType, at, &path, None, sentence));
                None
            }
        }
    }
}

/// A map of known fields that is being read.
pub(crate) struct Fields<'r, 't> {
    report: &'r mut Report,
    path: String,
    at: Position,
    entries: &'t [MapEntry],
    names: Vec<&'static str>,
    /// The number of problems when this map was begun.
    before: usize,
    /// The value is not a map, so it is pointless to report missing fields.
    broken: bool,
    /// The file has this map, even if it is empty.
    written: bool,
    /// Where an unknown field belongs, if the reader knows.
    belongs: fn(&str) -> Option<String>,
}

impl<'t> Fields<'_, 't> {
    /// A field that may be left out.
    pub(crate) fn field(&mut self, name: &'static str) -> Spot<'_, 't> {
        // Every name that a reader asks for is known. The rest of the map is reported as unknown.
        self.names.push(name);
        self.report.note(&self.path, name);
        if let Some(entry) = self.entry(name) {
            return entry_spot(&mut *self.report, entry, &self.path);
        }
        let path = below(&self.path, name);
        Spot { report: &mut *self.report, node: None, at: self.at, key: self.at, path }
    }

    /// Names the place where a field belongs that is unknown here.
    pub(crate) fn say_where(&mut self, belongs: fn(&str) -> Option<String>) {
        self.belongs = belongs;
    }

    /// Whether values are read as descheduler reads them.
    pub(crate) fn lenient(&self) -> bool {
        self.report.lenient
    }

    /// A field that must be there.
    pub(crate) fn required(&mut self, name: &'static str, expected: &str) -> Spot<'_, 't> {
        self.require(name, expected);
        self.field(name)
    }

    fn entry(&self, name: &str) -> Option<&'t MapEntry> {
        let entry = self.entries.iter().find(|e| e.key == name)?;
        // Go decodes `null` as an absent field, so descheduler's files may contain it.
        (!self.report.lenient || entry.value.value != Value::Null).then_some(entry)
    }

    fn finish(self) {
        let unknown = self.entries.iter().filter(|e| !self.names.contains(&e.key.as_str()));
        self.report.unknown.extend(unknown.map(|e| {
            let unknown = Unknown::new("field", e, &self.path, self.names.clone());
            unknown.belonging(self.belongs)
        }));
    }
}

fn entry_spot<'r, 't>(report: &'r mut Report, entry: &'t MapEntry, parent: &str) -> Spot<'r, 't> {
    // An absent value has no position of its own. Its key is where the user has to write.
    let at = if entry.value.value == Value::Null { entry.at } else { entry.value.at };
    Spot { report, node: Some(&entry.value), at, key: entry.at, path: below(parent, &entry.key) }
}

#[cfg(test)]
mod tests;
