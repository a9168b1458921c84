//! Walks a tree, takes what it asks for, and gathers everything that is wrong on the way.
//!
//! A reader gets `None` where a field is absent or broken and goes on with the default: once anything is broken, the
//! policy is thrown away and only the list of problems is kept.

use std::collections::BTreeSet;
use std::fmt::Display;

use super::problem::{Code, Position, Problem};
use super::tree::{Entry, Node, Value};
use super::wording::{below, either, nearest, without_index};

/// What has been asked and found so far.
#[derive(Default)]
pub(crate) struct Report {
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
    /// Values are read as descheduler reads them: nothing is as good as absent, and a list may be empty.
    lenient: bool,
    unknown: Vec<Unknown>,
    /// Every field that was asked for, such as `strategies[].lowNodeUtilization`.
    pub(crate) asked: BTreeSet<String>,
}

/// The position of a field in the file, and its path.
pub(crate) type Place = (Position, String);

/// A field that nobody asked for, and the names that were asked for beside it.
struct Unknown {
    what: &'static str,
    at: Position,
    parent: String,
    key: String,
    allowed: Vec<&'static str>,
}

impl Unknown {
    fn new(what: &'static str, entry: &Entry, parent: &str, allowed: Vec<&'static str>) -> Self {
        Unknown {
            what,
            at: entry.at,
            parent: parent.to_owned(),
            key: entry.key.clone(),
            allowed,
        }
    }
}

impl Report {
    /// Reads a whole document.
    pub(crate) fn read<'t, T>(
        &mut self,
        root: &'t Node,
        read: impl FnOnce(Spot<'_, 't>) -> T,
    ) -> T {
        self.find_repeats(root, "");
        read(Spot {
            report: self,
            node: Some(root),
            at: root.at,
            key: root.at,
            path: String::new(),
        })
    }

    /// From here on, values are read as descheduler reads them.
    pub(crate) fn be_lenient(&mut self) {
        self.lenient = true;
    }

    /// What was read and has no effect, or another one than might be thought.
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
            self.problems.push(Problem::new(
                Code::UnknownField,
                unknown.at,
                &path,
                None,
                sentence,
            ));
        }
        self.problems
    }

    /// What an unknown field may have been meant for: one of another place, or one with a similar name.
    fn hint(&self, unknown: &Unknown) -> String {
        let parents = self
            .asked
            .iter()
            .filter_map(|path| path.strip_suffix(unknown.key.as_str()));
        let parents: Vec<String> = parents
            .filter_map(|parent| match parent.strip_suffix('.') {
                Some(parent) => Some(format!("`{parent}`")),
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

    /// Remembers that a field was asked for; list items are one to it.
    fn note(&mut self, parent: &str, name: &str) {
        let parent: String = below(parent, name)
            .split_inclusive('[')
            .enumerate()
            .map(without_index)
            .collect();
        self.asked.insert(parent);
    }

    fn find_repeats(&mut self, node: &Node, path: &str) {
        match &node.value {
            Value::Map(entries) => {
                let mut seen = BTreeSet::new();
                for entry in entries {
                    let path = below(path, &entry.key);
                    if !seen.insert(&entry.key) {
                        let sentence = "this field stands here a second time; keep one of them";
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

/// A place in the file where a value may stand.
pub(crate) struct Spot<'r, 't> {
    report: &'r mut Report,
    node: Option<&'t Node>,
    at: Position,
    /// Where the name of the field stands, to point at when something is missing below it.
    key: Position,
    path: String,
}

impl<'r, 't> Spot<'r, 't> {
    /// The value, if there is one.
    pub(crate) fn node(&self) -> Option<&'t Node> {
        self.node
    }

    /// Where it is, and what it is called.
    pub(crate) fn place(&self) -> (Position, String) {
        (self.at, self.path.clone())
    }

    /// Whether values are read as descheduler reads them.
    pub(crate) fn lenient(&self) -> bool {
        self.report.lenient
    }

    /// Whether nothing stands here.
    pub(crate) fn is_absent(&self) -> bool {
        self.node.is_none()
    }

    /// The same place, as if nothing stood there.
    pub(crate) fn without_value(self) -> Self {
        Spot { node: None, ..self }
    }

    /// The same place, pointing at the name of the field rather than at its value.
    pub(crate) fn at_key(self) -> Self {
        Spot {
            at: self.key,
            ..self
        }
    }

    /// Reports that something else stands here than what is expected.
    pub(crate) fn refuse<T>(self, code: Code, expected: impl Display) -> Option<T> {
        let found = self.node.map(Node::shown);
        self.report
            .problems
            .push(Problem::new(code, self.at, &self.path, found, expected));
        None
    }

    /// Reports what is wrong here, as a sentence.
    pub(crate) fn complain<T>(self, code: Code, sentence: impl Display) -> Option<T> {
        self.report
            .problems
            .push(Problem::new(code, self.at, &self.path, None, sentence));
        None
    }

    /// Reads a value that stands alone. An absent one is not a problem.
    pub(crate) fn scalar<T>(
        self,
        expected: &str,
        read: impl FnOnce(&'t Node) -> Result<T, Code>,
    ) -> Option<T> {
        match read(self.node?) {
            Ok(value) => Some(value),
            Err(code) => self.refuse(code, expected),
        }
    }

    /// A field of the map that stands here, with no claim about its other fields.
    pub(crate) fn entry(self, name: &str) -> Option<Spot<'r, 't>> {
        let Value::Map(entries) = &self.node?.value else {
            return None;
        };
        let entry = entries.iter().find(|e| e.key == name)?;
        Some(entry_spot(self.report, entry, &self.path))
    }

    /// Reads a map of known fields. One that is absent, or has nothing in it, gives the defaults.
    pub(crate) fn section<T>(self, read: impl FnOnce(&mut Fields<'_, 't>) -> T) -> T {
        let before = self.report.problems.len();
        let (entries, broken): (&'t [Entry], bool) = match self.node.map(|n| &n.value) {
            None | Some(Value::Null) => (&[], false),
            Some(Value::Map(entries)) => (entries, false),
            Some(_) => (&[], true),
        };
        if broken {
            let found = self.node.map(Node::shown);
            self.report.problems.push(Problem::new(
                Code::WrongType,
                self.at,
                &self.path,
                found,
                "a map of fields",
            ));
        }
        let written = self.node.is_some();
        let Spot {
            report,
            path,
            key: at,
            ..
        } = self;
        let mut fields = Fields {
            report,
            path,
            at,
            entries,
            names: Vec::new(),
            before,
            broken,
            written,
        };
        let value = read(&mut fields);
        fields.finish();
        value
    }

    /// Reads the items of a list; broken ones are left out.
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

    /// Reads a map whose names are free; broken ones are left out.
    pub(crate) fn each<T>(
        self,
        what: &str,
        mut read: impl FnMut(&'t Entry, Spot<'_, 't>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let Value::Map(entries) = &self.node?.value else {
            return self.refuse(Code::WrongType, format!("a map of {what}"));
        };
        let values = entries
            .iter()
            .filter_map(|e| read(e, entry_spot(&mut *self.report, e, &self.path)));
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
        let entries: &[Entry] = match &self.node?.value {
            Value::Map(entries) => entries,
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::List(_) => &[],
        };
        match entries {
            [] => self.refuse(
                Code::WrongType,
                format!("a map with one {what}: {}", either(&allowed)),
            ),
            [only] => {
                let chosen = choices.iter().find(|(name, _)| *name == only.key);
                if chosen.is_none() {
                    self.report
                        .unknown
                        .push(Unknown::new(what, only, &self.path, allowed));
                }
                chosen.map(|(_, choice)| (*choice, entry_spot(self.report, only, &self.path)))
            }
            [first, second, ..] => {
                let sentence = if first.value.value == Value::Null {
                    format!(
                        "`{}` must be indented further than `{}` to belong to it",
                        second.key, first.key
                    )
                } else {
                    format!(
                        "a list item holds one {what}; begin `{}` with a dash of its own",
                        second.key
                    )
                };
                let (at, path) = (second.at, below(&self.path, &second.key));
                self.report
                    .problems
                    .push(Problem::new(Code::WrongType, at, &path, None, sentence));
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
    entries: &'t [Entry],
    names: Vec<&'static str>,
    /// How many problems there were when this map was begun.
    before: usize,
    /// The value is not a map, so it is pointless to report missing fields.
    broken: bool,
    /// The file has this map, even if it is empty.
    written: bool,
}

impl<'t> Fields<'_, 't> {
    /// A field that may be left out.
    pub(crate) fn field(&mut self, name: &'static str) -> Spot<'_, 't> {
        self.names.push(name);
        self.report.note(&self.path, name);
        if let Some(entry) = self.entry(name) {
            return entry_spot(&mut *self.report, entry, &self.path);
        }
        let path = below(&self.path, name);
        Spot {
            report: &mut *self.report,
            node: None,
            at: self.at,
            key: self.at,
            path,
        }
    }

    /// Whether values are read as descheduler reads them.
    pub(crate) fn lenient(&self) -> bool {
        self.report.lenient
    }

    /// Tells that a field has no effect, or another one than might be thought.
    pub(crate) fn warn(&mut self, code: Code, name: &str, sentence: impl Display) {
        let at = self.entry(name).map_or(self.at, |e| e.at);
        self.warn_at(code, (at, below(&self.path, name)), sentence);
    }

    /// The same for a place that was noted before.
    pub(crate) fn warn_at(
        &mut self,
        code: Code,
        (at, path): (Position, String),
        sentence: impl Display,
    ) {
        self.report
            .warnings
            .push(Problem::new(code, at, &path, None, sentence));
    }

    /// A field that must be there.
    pub(crate) fn required(&mut self, name: &'static str, expected: &str) -> Spot<'_, 't> {
        self.require(name, expected);
        self.field(name)
    }

    /// Reports that a field is missing, if it is.
    pub(crate) fn require(&mut self, name: &str, expected: &str) {
        if !self.has(name) && !self.broken {
            let sentence = format!("missing, expected {expected}");
            self.complain(Code::MissingField, name, sentence);
        }
    }

    /// Reports that a field is missing in a map that has been read already.
    pub(crate) fn complain_missing_below(&mut self, map: &Place, name: &str, expected: &str) {
        let place = (map.0, below(&map.1, name));
        self.complain_at(
            Code::MissingField,
            place,
            format!("missing, expected {expected}"),
        );
    }

    /// Whether the file has this map, even if it is empty.
    pub(crate) const fn is_written(&self) -> bool {
        self.written
    }

    /// The place of this map, unless its value is not a map.
    pub(crate) fn place(&self) -> Option<Place> {
        (!self.broken).then(|| (self.at, self.path.clone()))
    }

    /// The place of a field, or of this map where the field is absent.
    pub(crate) fn place_of(&self, name: &str) -> Place {
        let at = self.entry(name).map_or(self.at, |e| e.at);
        (at, below(&self.path, name))
    }

    /// Whether a field is a list without items.
    pub(crate) fn is_empty_list(&self, name: &str) -> bool {
        self.entry(name)
            .is_some_and(|e| e.value.value == Value::List(Vec::new()))
    }

    /// Whether a field is a list with items.
    pub(crate) fn has_items(&self, name: &str) -> bool {
        let entry = self.entry(name);
        entry.is_some_and(|e| matches!(&e.value.value, Value::List(items) if !items.is_empty()))
    }

    /// Whether the file has this field.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    /// Whether nothing was wrong with what has been read here so far, so that it can be compared.
    pub(crate) fn sound(&self) -> bool {
        self.report.problems.len() == self.before
    }

    /// Reports what is wrong with a field, as a sentence.
    pub(crate) fn complain(&mut self, code: Code, name: &str, sentence: impl Display) {
        let at = self.entry(name).map_or(self.at, |e| e.at);
        self.complain_at(code, (at, below(&self.path, name)), sentence);
    }

    /// Reports what is wrong at a place that was noted before.
    pub(crate) fn complain_at(
        &mut self,
        code: Code,
        (at, path): (Position, String),
        sentence: impl Display,
    ) {
        self.report
            .problems
            .push(Problem::new(code, at, &path, None, sentence));
    }

    /// Refuses a lower bound that lies above its upper bound, at whichever of the two the file has.
    pub(crate) fn ordered<T: PartialOrd>(&mut self, low: &Bound<'_, T>, high: &Bound<'_, T>) {
        if low.value <= high.value {
            return;
        }
        let (own, other, side) = if self.has(high.field) {
            (high, low, "least")
        } else {
            (low, high, "most")
        };
        let default = if self.has(other.field) {
            ""
        } else {
            " by default"
        };
        let sentence = format!(
            "{} is {}, but must be at {side} {}, which is {}{default}",
            own.name, own.shown, other.name, other.shown
        );
        self.complain(Code::Conflict, own.field, sentence);
    }

    fn entry(&self, name: &str) -> Option<&'t Entry> {
        let entry = self.entries.iter().find(|e| e.key == name)?;
        (!self.report.lenient || entry.value.value != Value::Null).then_some(entry)
    }

    fn finish(self) {
        let unknown = self
            .entries
            .iter()
            .filter(|e| !self.names.contains(&e.key.as_str()));
        self.report
            .unknown
            .extend(unknown.map(|e| Unknown::new("field", e, &self.path, self.names.clone())));
    }
}

/// One side of a comparison between two fields.
pub(crate) struct Bound<'f, T> {
    /// The field to point at.
    pub(crate) field: &'f str,
    /// What is compared, which may be made of several fields.
    pub(crate) name: &'f str,
    pub(crate) value: T,
    pub(crate) shown: String,
}

fn entry_spot<'r, 't>(report: &'r mut Report, entry: &'t Entry, parent: &str) -> Spot<'r, 't> {
    let at = if entry.value.value == Value::Null {
        entry.at
    } else {
        entry.value.at
    };
    Spot {
        report,
        node: Some(&entry.value),
        at,
        key: entry.at,
        path: below(parent, &entry.key),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::policy::tree;

    /// The problems of a reader that knows `limits.perNode`, `limits.perCycle` and `name`.
    fn problems(text: &str) -> String {
        let root = tree::parse(text).unwrap();
        let mut report = Report::default();
        report.read(&root, |root| {
            root.section(|f| {
                f.field("name").name();
                f.required("limits", "two numbers")
                    .section(|f| [f.field("perNode").whole(0), f.field("perCycle").whole(0)]);
            });
        });
        report
            .close()
            .iter()
            .map(Problem::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn absent_fields_are_no_problem_unless_required() {
        assert_snapshot!(problems("limits:"), @"");
        assert_snapshot!(problems("name: a"), @"limits: missing, expected two numbers");
    }

    #[test]
    fn an_unknown_field_is_told_of_the_nearest_name_or_of_its_place() {
        assert_snapshot!(problems("limits: {pernode: 1, perCicle: 2, name: x, perFortnight: 3}"), @"
        limits.pernode: unknown field (did you mean `perNode`?); allowed here: perNode, perCycle
        limits.perCicle: unknown field (did you mean `perCycle`?); allowed here: perNode, perCycle
        limits.name: unknown field (it belongs in the top level); allowed here: perNode, perCycle
        limits.perFortnight: unknown field; allowed here: perNode, perCycle
        ");
        assert_snapshot!(problems("{limits: {}, perNode: 1}"), @"perNode: unknown field (it belongs in `limits`); allowed here: name, limits");
    }

    #[test]
    fn names_that_are_not_one_word_are_quoted_in_paths() {
        assert_snapshot!(problems("{limits: {}, nvidia.com/gpu: 1, \"\\e[31m\": 2, '': 3}"), @r#"
        ["nvidia.com/gpu"]: unknown field; allowed here: name, limits
        ["\u{1b}[31m"]: unknown field; allowed here: name, limits
        [""]: unknown field; allowed here: name, limits
        "#);
    }

    #[test]
    fn a_field_stands_once_even_below_a_field_that_is_unknown() {
        assert_snapshot!(problems("{limits: {}, what: [{a: 1, a: 2}]}").lines().next().unwrap(), @"what[0].a: this field stands here a second time; keep one of them");
    }

    #[test]
    fn list_items_are_one_to_what_was_asked() {
        let mut report = Report::default();
        report.note("a[12].b[3]", "c");
        assert!(report.asked.contains("a[].b[].c"));
    }
}
