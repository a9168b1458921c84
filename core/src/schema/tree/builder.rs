//! Builds the tree from the events of the YAML parser.

use std::collections::{BTreeMap, BTreeSet};

use granit_parser::Event;

use super::scalars::node_of;
use super::{MOST_DEPTH, MOST_NODES, MapEntry, Value, YamlNode, refusal};
use crate::schema::problem::{Position, Problem, printable};

/// The state between two events of the parser.
#[derive(Default)]
pub(super) struct Builder {
    open: Vec<Open>,
    anchors: BTreeMap<usize, YamlNode>,
    nodes: usize,
    begun: bool,
    /// Where the latest document after the first begins. It may only be empty.
    next: Option<Position>,
    root: Option<YamlNode>,
}

/// A list or map that has begun but not ended.
struct Open {
    at: Position,
    anchor: usize,
    content: Content,
}

enum Content {
    List(Vec<YamlNode>),
    Map { entries: Vec<MapEntry>, key: Option<(String, Position)> },
}

impl Builder {
    /// The document, if there was one.
    pub(super) fn finish(self) -> Option<YamlNode> {
        self.root
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other events bring no value, and new ones are opt-in"
    )]
    pub(super) fn take(&mut self, event: Event<'_>, at: Position) -> Result<(), Problem> {
        if let Some(next) = self.next.filter(|_| brings_a_value(&event)) {
            return Err(refusal(
                next,
                "a second document begins here; a policy file holds only one",
            ));
        }
        match event {
            Event::Scalar(_, _, _, Some(tag))
            | Event::SequenceStart(_, _, Some(tag))
            // A tag can change the type of a value, and readers disagree on how.
            | Event::MappingStart(_, _, Some(tag)) => {
                let tag = printable(&format!("{}{}", tag.original_handle(), tag.suffix()), 40);
                let sentence = format!(
                    "YAML tags such as `{tag}` are not supported; quote text that begins with `!`"
                );
                Err(refusal(at, sentence))
            }
            Event::Scalar(text, style, anchor, None) => {
                self.place(node_of(text.into_owned(), style, at), anchor)
            }
            Event::SequenceStart(_, anchor, None) => {
                self.begin(at, anchor, Content::List(Vec::new()))
            }
            Event::MappingStart(_, anchor, None) => self.begin(
                at,
                anchor,
                Content::Map {
                    entries: Vec::new(),
                    key: None,
                },
            ),
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => self.follow(anchor, at),
            Event::DocumentStart(..) => {
                self.next = self.begun.then_some(at);
                self.begun = true;
                Ok(())
            }
            // Comments are off; the other events carry no value.
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
        let Some(Open { at, anchor, content }) = self.open.pop() else {
            return Ok(());
        };
        let value = match content {
            Content::List(items) => Value::List(items),
            Content::Map { entries, .. } => Value::Map(merged(entries)?),
        };
        self.place(YamlNode { at, value, plain: None }, anchor)
    }

    /// Puts the value of an anchor in the place of its alias. The value keeps the position of the
    /// anchor.
    fn follow(&mut self, anchor: usize, at: Position) -> Result<(), Problem> {
        let Some(node) = self.anchors.get(&anchor) else {
            return Err(refusal(at, "this alias is inside the value that it refers to"));
        };
        // Nested aliases multiply: without limits a few lines could expand to billions of values.
        let (count, depth) = node.extent();
        self.nodes += count;
        if self.nodes > MOST_NODES {
            return Err(too_many(at));
        }
        if self.open.len() + depth > MOST_DEPTH {
            return Err(refusal(
                at,
                format!("with this alias, values are nested more than {MOST_DEPTH} deep"),
            ));
        }
        self.place(node.clone(), 0)
    }

    fn place(&mut self, node: YamlNode, anchor: usize) -> Result<(), Problem> {
        self.nodes += 1;
        if self.nodes > MOST_NODES {
            return Err(too_many(node.at));
        }
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut().map(|open| &mut open.content) {
            None if self.next.is_some() => {}
            None => self.root = Some(node),
            Some(Content::List(items)) => items.push(node),
            Some(Content::Map { entries, key }) => match key.take() {
                Some((key, at)) => entries.push(MapEntry { key, at, value: node }),
                None => *key = Some((key_text(&node)?, node.at)),
            },
        }
        Ok(())
    }
}

/// Whether an event brings a value other than nothing.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the other events bring no value, and new ones are opt-in"
)]
fn brings_a_value(event: &Event<'_>) -> bool {
    match event {
        Event::Scalar(text, style, _, tag) => {
            let node = node_of(text.clone().into_owned(), *style, Position::START);
            tag.is_some() || node.value != Value::Null
        }
        Event::SequenceStart(..) | Event::MappingStart(..) => true,
        _ => false,
    }
}

fn too_many(at: Position) -> Problem {
    refusal(at, format!("more than {MOST_NODES} values, including those of aliases"))
}

fn key_text(node: &YamlNode) -> Result<String, Problem> {
    match (&node.value, &node.plain) {
        // As written: a field named `1` or `true` is text, although the same word as a value is
        // not.
        (_, Some(plain)) => Ok(plain.clone()),
        (Value::Text(text), None) => Ok(text.clone()),
        _ => Err(refusal(node.at, "the name of a field must be text, not a list or map")),
    }
}

/// The fields of a map, with those of its merge keys (`<<: *base`) that it does not have itself.
fn merged(entries: Vec<MapEntry>) -> Result<Vec<MapEntry>, Problem> {
    if entries.iter().all(|e| e.key != "<<") {
        return Ok(entries);
    }
    let (merges, mut own): (Vec<MapEntry>, Vec<MapEntry>) =
        entries.into_iter().partition(|e| e.key == "<<");
    let mut names: BTreeSet<String> = own.iter().map(|e| e.key.clone()).collect();
    for merge in merges {
        let sources =
            if let Value::List(items) = merge.value.value { items } else { vec![merge.value] };
        for source in sources {
            let Value::Map(fields) = source.value else {
                return Err(refusal(merge.at, "`<<` needs a map"));
            };
            // Own fields win over merged ones, and an earlier source over a later one, as YAML 1.1
            // defines.
            own.extend(fields.into_iter().filter(|f| names.insert(f.key.clone())));
        }
    }
    Ok(own)
}
