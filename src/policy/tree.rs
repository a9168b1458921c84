//! A YAML document as a tree in which every value and every key knows where it stands.
//!
//! Strict where YAML is surprising: one document, no tags, keys are plain words. Numbers and words are told apart as in
//! YAML 1.2, so `yes` is a word; [`Node::plain`] keeps what was written, for a reader with other habits.

use std::collections::{BTreeMap, BTreeSet};

use granit_parser::{Event, Marker, Parser, ScalarStyle, ScanError};

use super::problem::{Code, Position, Problem, printable};

/// More values than this are refused, counted after aliases are followed: no policy is so large, but a bomb is.
const MOST_NODES: usize = 50_000;
/// Values nested deeper than this are refused.
const MOST_DEPTH: usize = 64;

/// A value, and where it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) at: Position,
    pub(super) value: Value,
    /// A scalar without quotes, as it is written: `30%`, `0x1F`, `yes`, or nothing at all.
    pub(super) plain: Option<String>,
}

/// A value of YAML.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// `null`, `~` or nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// Text, with quotes or without.
    Text(String),
    /// Values in order.
    List(Vec<Node>),
    /// Fields in order, each as often as it is written.
    Map(Vec<Entry>),
}

/// A field of a map.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) at: Position,
    pub(super) value: Node,
}

impl Node {
    /// Nothing, at a place.
    pub(super) const fn null(at: Position) -> Self {
        Node { at, value: Value::Null, plain: None }
    }

    /// How a message shows it: scalars as they are written.
    pub(super) fn shown(&self) -> String {
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
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let Value::Map(entries) = &self.value else { return None };
        entries.iter().find(|e| e.key == key).map(|e| &e.value)
    }

    /// How many values it holds, itself among them, and how deep they are nested.
    fn extent(&self) -> (usize, usize) {
        let children: Vec<&Node> = match &self.value {
            Value::List(items) => items.iter().collect(),
            Value::Map(entries) => entries.iter().map(|e| &e.value).collect(),
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => Vec::new(),
        };
        let below = children.into_iter().map(Node::extent);
        let (count, depth) = below.fold((0, 0), |(n, d), (count, depth)| (n + count, d.max(depth)));
        (count + 1, depth + 1)
    }
}

/// Reads the one document of a text. A text without any is an empty document.
pub(super) fn parse(text: &str) -> Result<Node, Problem> {
    let options = granit_parser::options! { emit_comments: false, flow_nesting_limit: MOST_DEPTH, block_nesting_limit: MOST_DEPTH };
    let mut builder = Builder::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|e| misread(&e))?;
        let tag = span.tag_span().map(|tag| position(tag.start));
        builder.take(event, tag.unwrap_or(position(span.start)))?;
    }
    Ok(builder.root.unwrap_or(Node::null(Position::START)))
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

/// What is known while the events of a document come in.
#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: BTreeMap<usize, Node>,
    nodes: usize,
    documents: usize,
    root: Option<Node>,
}

/// A list or map that has begun and not ended.
struct Open {
    at: Position,
    anchor: usize,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, key: Option<(String, Position)> },
}

impl Builder {
    fn take(&mut self, event: Event<'_>, at: Position) -> Result<(), Problem> {
        match event {
            Event::Scalar(_, _, _, Some(tag))
            | Event::SequenceStart(_, _, Some(tag))
            | Event::MappingStart(_, _, Some(tag)) => {
                let tag = printable(&format!("{}{}", tag.original_handle(), tag.suffix()), 40);
                Err(refusal(
                    at,
                    format!(
                        "`{tag}` is a YAML tag, which a policy cannot have; put text that begins with `!` in quotes"
                    ),
                ))
            }
            Event::Scalar(text, style, anchor, None) => self.place(scalar(text.into_owned(), style, at), anchor),
            Event::SequenceStart(_, anchor, None) => self.begin(at, anchor, Content::List(Vec::new())),
            Event::MappingStart(_, anchor, None) => {
                self.begin(at, anchor, Content::Map { entries: Vec::new(), key: None })
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => self.follow(anchor, at),
            Event::DocumentStart(..) => {
                self.documents += 1;
                let second = self.documents > 1;
                if second { Err(refusal(at, "a second document begins here; a policy file holds one")) } else { Ok(()) }
            }
            // Not asked for, or not of the document.
            _ => Ok(()),
        }
    }

    fn begin(&mut self, at: Position, anchor: usize, content: Content) -> Result<(), Problem> {
        if self.open.len() >= MOST_DEPTH {
            return Err(refusal(at, format!("values are nested more than {MOST_DEPTH} deep")));
        }
        self.open.push(Open { at, anchor, content });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Problem> {
        let Some(Open { at, anchor, content }) = self.open.pop() else { return Ok(()) };
        let value = match content {
            Content::List(items) => Value::List(items),
            Content::Map { entries, .. } => Value::Map(merged(entries)?),
        };
        self.place(Node { at, value, plain: None }, anchor)
    }

    /// Puts the value that an alias stands for in its place. It keeps the position where it is written.
    fn follow(&mut self, anchor: usize, at: Position) -> Result<(), Problem> {
        let Some(node) = self.anchors.get(&anchor) else {
            return Err(refusal(at, "this alias stands inside the value that it refers to"));
        };
        let (count, depth) = node.extent();
        self.nodes += count;
        if self.open.len() + depth > MOST_DEPTH {
            return Err(refusal(at, format!("with this alias, values are nested more than {MOST_DEPTH} deep")));
        }
        let node = if self.nodes > MOST_NODES { Node::null(at) } else { node.clone() };
        self.place(node, 0)
    }

    fn place(&mut self, node: Node, anchor: usize) -> Result<(), Problem> {
        self.nodes += 1;
        if self.nodes > MOST_NODES {
            return Err(refusal(node.at, format!("more than {MOST_NODES} values, counting what aliases stand for")));
        }
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.root = Some(node),
            Some(Content::List(items)) => items.push(node),
            Some(Content::Map { entries, key }) => match key.take() {
                Some((key, at)) => entries.push(Entry { key, at, value: node }),
                None => *key = Some((key_text(&node)?, node.at)),
            },
        }
        Ok(())
    }
}

fn key_text(node: &Node) -> Result<String, Problem> {
    match (&node.value, &node.plain) {
        (_, Some(plain)) => Ok(plain.clone()),
        (Value::Text(text), None) => Ok(text.clone()),
        _ => Err(refusal(node.at, "the name of a field must be a word, not a list or map")),
    }
}

/// The fields of a map, with those that merge keys (`<<: *base`) bring in where it has none of its own.
fn merged(entries: Vec<Entry>) -> Result<Vec<Entry>, Problem> {
    let (merges, mut own): (Vec<Entry>, Vec<Entry>) = entries.into_iter().partition(|e| e.key == "<<");
    let mut names: BTreeSet<String> =
        if merges.is_empty() { BTreeSet::new() } else { own.iter().map(|e| e.key.clone()).collect() };
    for merge in merges {
        let sources = match merge.value.value {
            Value::List(items) => items.into_iter().map(|i| i.value).collect(),
            one => vec![one],
        };
        for source in sources {
            let Value::Map(fields) = source else {
                return Err(refusal(merge.at, "`<<` merges maps, and this is none"));
            };
            own.extend(fields.into_iter().filter(|f| names.insert(f.key.clone())));
        }
    }
    Ok(own)
}

fn scalar(text: String, style: ScalarStyle, at: Position) -> Node {
    if style != ScalarStyle::Plain {
        return Node { at, value: Value::Text(text), plain: None };
    }
    let value = match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(&text).unwrap_or_else(|| Value::Text(text.clone())),
    };
    Node { at, value, plain: Some(text) }
}

/// A number, by the core schema of YAML 1.2.
fn number(text: &str) -> Option<Value> {
    let radix = |prefix, radix| text.strip_prefix(prefix).and_then(|digits| i64::from_str_radix(digits, radix).ok());
    let bare = text.trim_start_matches(['+', '-']);
    if bare.len() + 1 < text.len() {
        return None;
    }
    match bare {
        ".inf" | ".Inf" | ".INF" => {
            return Some(Value::Float(if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY }));
        }
        ".nan" | ".NaN" | ".NAN" => return Some(Value::Float(f64::NAN)),
        _ => {}
    }
    // Rust also reads `inf` and `nan`, which are words here.
    if !bare.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let whole = radix("0o", 8).or_else(|| radix("0x", 16)).or_else(|| text.parse().ok());
    whole.map(Value::Int).or_else(|| text.parse().ok().map(Value::Float))
}
