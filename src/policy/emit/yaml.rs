//! As much of YAML as a policy needs.

use std::fmt::Display;
use std::fmt::Write;

/// A value to be written.
pub(super) enum Item {
    Scalar(String),
    /// Values on one line.
    Flow(Vec<String>),
    List(Vec<Item>),
    Map(Fields),
}

/// Fields in order.
#[derive(Default)]
pub(super) struct Fields(Vec<(String, Item)>);

impl Item {
    /// What is known to need no quotes.
    pub(super) fn word(word: impl Into<String>) -> Self {
        Item::Scalar(word.into())
    }

    /// Any text.
    pub(super) fn text(text: &str) -> Self {
        Item::Scalar(quoted(text))
    }

    /// A list of any texts.
    pub(super) fn texts(texts: &[impl AsRef<str>]) -> Self {
        Item::Flow(texts.iter().map(|t| quoted(t.as_ref())).collect())
    }

    /// A list of numbers.
    pub(super) fn numbers(numbers: &[impl Display]) -> Self {
        Item::Flow(numbers.iter().map(ToString::to_string).collect())
    }

    pub(super) fn number(number: impl Display) -> Self {
        Item::Scalar(number.to_string())
    }

    pub(super) fn flag(flag: bool) -> Self {
        Item::Scalar(flag.to_string())
    }

    pub(super) fn list(items: impl IntoIterator<Item = Item>) -> Self {
        Item::List(items.into_iter().collect())
    }
}

impl Fields {
    /// A map of one field.
    pub(super) fn one(name: &str, item: Item) -> Item {
        let mut fields = Fields::default();
        fields.put(name, item);
        Item::Map(fields)
    }

    pub(super) fn put(&mut self, name: &str, item: Item) {
        self.0.push((quoted(name), item));
    }

    /// A field that is left out where it says the default.
    pub(super) fn unless(&mut self, default: bool, name: &str, item: Item) {
        if !default {
            self.put(name, item);
        }
    }

    pub(super) fn option(&mut self, name: &str, item: Option<Item>) {
        if let Some(item) = item {
            self.put(name, item);
        }
    }

    /// A map that is left out where it is empty.
    pub(super) fn section(&mut self, name: &str, fields: Fields) {
        self.unless(fields.is_empty(), name, Item::Map(fields));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A whole document.
pub(super) fn document(fields: &Fields) -> String {
    let mut text = String::new();
    map(fields, 0, &mut text);
    text
}

fn map(fields: &Fields, indent: usize, text: &mut String) {
    for (i, (name, item)) in fields.0.iter().enumerate() {
        // The first field stands behind the dash of its list item, or on a line that has begun already.
        if i > 0 || text.is_empty() || text.ends_with('\n') {
            let _ = write!(text, "{:indent$}", "");
        }
        let _ = write!(text, "{name}:");
        value(item, indent, text);
    }
}

fn value(item: &Item, indent: usize, text: &mut String) {
    match item {
        Item::Scalar(scalar) => _ = writeln!(text, " {scalar}"),
        Item::Flow(items) => _ = writeln!(text, " [{}]", items.join(", ")),
        Item::List(items) if items.is_empty() => text.push_str(" []\n"),
        Item::Map(fields) if fields.is_empty() => text.push_str(" {}\n"),
        Item::Map(fields) => {
            text.push('\n');
            map(fields, indent + 2, text);
        }
        Item::List(items) => {
            text.push('\n');
            for item in items {
                let _ = write!(text, "{:indent$}- ", "");
                match item {
                    Item::Map(fields) => map(fields, indent + 2, text),
                    Item::Scalar(scalar) => _ = writeln!(text, "{scalar}"),
                    Item::Flow(items) => _ = writeln!(text, "[{}]", items.join(", ")),
                    Item::List(_) => text.push_str("[]\n"),
                }
            }
        }
    }
}

/// Text as YAML, with quotes unless it can be taken for nothing else.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let misread = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let word = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(plain)
        && !misread.contains(&text.to_ascii_lowercase().as_str());
    if word {
        return text.to_owned();
    }
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => _ = write!(quoted, "\\U{:08X}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
