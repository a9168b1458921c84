//! Checks of the fields of a map, and the problems that they report.

use std::fmt::Display;

use super::{Fields, Place};
use crate::schema::problem::{Code, Problem};
use crate::schema::tree::Value;
use crate::schema::wording::below;

impl Fields<'_, '_> {
    /// Warns that a field has no effect, or an unexpected one.
    pub(crate) fn warn(&mut self, code: Code, name: &str, sentence: impl Display) {
        self.warn_at(code, &self.place_of(name), sentence);
    }

    /// Warns about a place that was noted before.
    pub(crate) fn warn_at(&mut self, code: Code, place: &Place, sentence: impl Display) {
        self.report.warnings.push(Problem::new(code, place.at, &place.path, None, sentence));
    }

    /// Reports that a field is missing, if it is.
    pub(crate) fn require(&mut self, name: &str, expected: &str) {
        // A value that is not a map has been reported already. Its missing fields would only be
        // noise.
        if !self.has(name) && !self.broken {
            let sentence = format!("missing, expected {expected}");
            self.complain(Code::MissingField, name, sentence);
        }
    }

    /// Reports that a field is missing in a map that has been read already.
    pub(crate) fn complain_missing_below(&mut self, map: &Place, name: &str, expected: &str) {
        let place = Place { at: map.at, path: below(&map.path, name) };
        self.complain_at(Code::MissingField, &place, format!("missing, expected {expected}"));
    }

    /// Whether the file has this map, even if it is empty.
    pub(crate) const fn is_written(&self) -> bool {
        self.written
    }

    /// The place of this map, unless its value is not a map.
    pub(crate) fn place(&self) -> Option<Place> {
        (!self.broken).then(|| Place { at: self.at, path: self.path.clone() })
    }

    /// The place of a field, or of this map where the field is absent.
    pub(crate) fn place_of(&self, name: &str) -> Place {
        let at = self.entry(name).map_or(self.at, |e| e.at);
        let path = below(&self.path, name);
        Place { at, path }
    }

    /// The place of a field of a map in a field, or of the nearest one that the file has.
    pub(crate) fn place_below(&self, map: &str, name: &str) -> Place {
        let Place { at, path } = self.place_of(map);
        let entry = match self.entry(map).map(|e| &e.value.value) {
            Some(Value::Map(entries)) => entries.iter().find(|e| e.key == name),
            Some(_) | None => None,
        };
        Place { at: entry.map_or(at, |e| e.at), path: below(&path, name) }
    }

    /// The place of a field of a map in a list, or of the nearest one that the file has.
    pub(crate) fn place_in_list(&self, list: &str, position: usize, name: &str) -> Place {
        let Place { at, path } = self.place_of(list);
        let item = match self.entry(list).map(|e| &e.value.value) {
            Some(Value::List(items)) => items.get(position),
            Some(_) | None => None,
        };
        let field = match item.map(|item| &item.value) {
            Some(Value::Map(entries)) => entries.iter().find(|e| e.key == name),
            Some(_) | None => None,
        };
        Place {
            at: field.map_or(item.map_or(at, |item| item.at), |field| field.at),
            path: below(&format!("{path}[{position}]"), name),
        }
    }

    /// Whether a field is a list without items.
    pub(crate) fn is_empty_list(&self, name: &str) -> bool {
        self.entry(name).is_some_and(|e| e.value.value == Value::List(Vec::new()))
    }

    pub(crate) fn has_items(&self, name: &str) -> bool {
        let entry = self.entry(name);
        entry.is_some_and(|e| matches!(&e.value.value, Value::List(items) if !items.is_empty()))
    }

    /// Whether the file has this field.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    /// Whether everything read here so far is valid, so that values can be compared.
    pub(crate) fn sound(&self) -> bool {
        self.report.problems.len() == self.before
    }

    pub(crate) fn complain(&mut self, code: Code, name: &str, sentence: impl Display) {
        self.complain_at(code, &self.place_of(name), sentence);
    }

    /// Reports a problem at a place that was noted before.
    pub(crate) fn complain_at(&mut self, code: Code, place: &Place, sentence: impl Display) {
        self.report.problems.push(Problem::new(code, place.at, &place.path, None, sentence));
    }

    /// Refuses a lower bound above its upper bound. The problem is reported at the bound that the
    /// file has.
    pub(crate) fn ordered<T: PartialOrd>(&mut self, low: &Bound<'_, T>, high: &Bound<'_, T>) {
        if low.value <= high.value {
            return;
        }
        // Only a field of the file can be mended by the user. The other side may be a default.
        let (own, other, side) =
            if self.has(high.field) { (high, low, "least") } else { (low, high, "most") };
        let default = if self.has(other.field) { "" } else { " by default" };
        let sentence = format!(
            "{} is {}, but must be at {side} {}, which is {}{default}",
            own.name, own.shown, other.name, other.shown
        );
        self.complain(Code::Conflict, own.field, sentence);
    }
}

/// One side of a comparison between two fields.
pub(crate) struct Bound<'f, T> {
    /// The field to point at.
    pub(crate) field: &'f str,
    /// The name of the compared value, which may be computed from several fields.
    pub(crate) name: &'f str,
    pub(crate) value: T,
    pub(crate) shown: String,
}
