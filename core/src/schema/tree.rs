//! A YAML document as a tree in which every value and every key has its position.
//!
//! The parser is strict where YAML is surprising: one document, no tags, keys are words. Scalars
//! have the types of YAML 1.2, so `yes` is text. [`Node::plain`] keeps the written text for readers
//! with other rules.

use granit_parser::{Marker, Parser, ScanError};

use super::problem::{Code, Position, Problem};

mod builder;
mod scalars;

use builder::Builder;

/// The most values of a document, counted after aliases are resolved: no policy is so large, but a
/// YAML bomb is.
const MOST_NODES: usize = 50_000;
/// The deepest nesting of values.
const MOST_DEPTH: usize = 64;

/// A value and the position where it begins.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct YamlNode {
    pub(crate) at: Position,
    pub(crate) value: Value,
    /// The written text of a scalar without quotes: `30%`, `0x1F`, `yes`, or nothing at all.
    pub(crate) plain: Option<String>,
}

/// A YAML value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// `null`, `~` or nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// Text, with or without quotes.
    Text(String),
    /// Values in order.
    List(Vec<YamlNode>),
    /// Fields in order, including repeated ones.
    Map(Vec<MapEntry>),
}

/// A field of a map.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MapEntry {
    pub(crate) key: String,
    pub(crate) at: Position,
    pub(crate) value: YamlNode,
}

impl YamlNode {
    pub(crate) const fn null(at: Position) -> Self {
        YamlNode { at, value: Value::Null, plain: None }
    }

    /// The same value as Kubernetes programs read it. They read YAML 1.1, where `yes` is true,
    /// `010` is eight and `1_000` is a thousand, and turn it into JSON, where `1.0` and `1e3` are
    /// whole numbers.
    pub(crate) fn in_yaml_1_1(&self) -> Self {
        let value = match &self.value {
            Value::List(items) => Value::List(items.iter().map(YamlNode::in_yaml_1_1).collect()),
            Value::Map(entries) => {
                let of = |e: &MapEntry| MapEntry {
                    key: e.key.clone(),
                    at: e.at,
                    value: e.value.in_yaml_1_1(),
                };
                Value::Map(entries.iter().map(of).collect())
            }
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => {
                let plain = self.plain.as_deref().and_then(scalars::yaml_1_1);
                scalars::in_json(plain.unwrap_or_else(|| self.value.clone()))
            }
        };
        YamlNode { at: self.at, value, plain: self.plain.clone() }
    }

    /// The value in messages: scalars as they are written.
    pub(crate) fn shown(&self) -> String {
        match (&self.value, &self.plain) {
            (Value::Null, _) => "nothing".to_owned(),
            (Value::List(items), _) if items.is_empty() => "an empty list".to_owned(),
            (Value::Map(entries), _) if entries.is_empty() => "an empty map".to_owned(),
            (Value::List(_), _) => "a list".to_owned(),
            (Value::Map(_), _) => "a map".to_owned(),
            (_, Some(plain)) => plain.clone(),
            (Value::Text(text), None) => format!("{text:?}"),
            (value, None) => format!("{value:?}"),
        }
    }

    /// The field of this name, if this is a map that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&YamlNode> {
        let Value::Map(entries) = &self.value else {
            return None;
        };
        entries.iter().find(|e| e.key == key).map(|e| &e.value)
    }

    /// The number of values, including this one, and the depth of their nesting.
    fn extent(&self) -> (usize, usize) {
        let children: Vec<&YamlNode> = match &self.value {
            Value::List(items) => items.iter().collect(),
            Value::Map(entries) => entries.iter().map(|e| &e.value).collect(),
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => {
                Vec::new()
            }
        };
        let below = children.into_iter().map(YamlNode::extent);
        let (count, depth) = below.fold((0, 0), |(n, d), (count, depth)| (n + count, d.max(depth)));
        (count + 1, depth + 1)
    }
}

/// Reads the only document of a text. A text without a document is null.
pub(crate) fn parse(text: &str) -> Result<YamlNode, Problem> {
    let options = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: MOST_DEPTH,
        block_nesting_limit: MOST_DEPTH,
    };
    let mut builder = Builder::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|e| misread(&e))?;
        let tag = span.tag_span().map(|tag| position(tag.start));
        builder.take(event, tag.unwrap_or(position(span.start)))?;
    }
    Ok(builder.finish().unwrap_or(YamlNode::null(Position::START)))
}

fn position(marker: Marker) -> Position {
    Position { line: marker.line().max(1), column: marker.col() + 1 }
}

fn misread(error: &ScanError) -> Problem {
    refusal(position(*error.marker()), format!("not valid YAML: {}", error.kind()))
}

fn refusal(at: Position, sentence: impl std::fmt::Display) -> Problem {
    Problem::new(Code::Syntax, at, "", None, sentence)
}

#[cfg(test)]
mod tests;
