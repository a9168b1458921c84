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
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) value: Value,
    /// A scalar without quotes, as it is written: `30%`, `0x1F`, `yes`, or nothing at all.
    pub(crate) plain: Option<String>,
}

/// A value of YAML.
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
    /// Text, with quotes or without.
    Text(String),
    /// Values in order.
    List(Vec<Node>),
    /// Fields in order, each as often as it is written.
    Map(Vec<Entry>),
}

/// A field of a map.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) at: Position,
    pub(crate) value: Node,
}

impl Node {
    /// Nothing, at a place.
    pub(crate) const fn null(at: Position) -> Self {
        Node {
            at,
            value: Value::Null,
            plain: None,
        }
    }

    /// What YAML 1.1 takes it for, which the programs of Kubernetes read: `yes` is true, `010` eight and `1_000` a
    /// thousand.
    pub(crate) fn in_yaml_1_1(&self) -> Self {
        let value = match &self.value {
            Value::List(items) => Value::List(items.iter().map(Node::in_yaml_1_1).collect()),
            Value::Map(entries) => {
                let of = |e: &Entry| Entry {
                    key: e.key.clone(),
                    at: e.at,
                    value: e.value.in_yaml_1_1(),
                };
                Value::Map(entries.iter().map(of).collect())
            }
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => self
                .plain
                .as_deref()
                .and_then(older)
                .unwrap_or_else(|| self.value.clone()),
        };
        Node {
            at: self.at,
            value,
            plain: self.plain.clone(),
        }
    }

    /// How a message shows it: scalars as they are written.
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
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        let Value::Map(entries) = &self.value else {
            return None;
        };
        entries.iter().find(|e| e.key == key).map(|e| &e.value)
    }

    /// How many values it holds, itself among them, and how deep they are nested.
    fn extent(&self) -> (usize, usize) {
        let children: Vec<&Node> = match &self.value {
            Value::List(items) => items.iter().collect(),
            Value::Map(entries) => entries.iter().map(|e| &e.value).collect(),
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => {
                Vec::new()
            }
        };
        let below = children.into_iter().map(Node::extent);
        let (count, depth) = below.fold((0, 0), |(n, d), (count, depth)| (n + count, d.max(depth)));
        (count + 1, depth + 1)
    }
}

/// Reads the one document of a text. A text without any is an empty document.
pub(crate) fn parse(text: &str) -> Result<Node, Problem> {
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
    Ok(builder.root.unwrap_or(Node::null(Position::START)))
}

fn position(marker: Marker) -> Position {
    Position {
        line: marker.line().max(1),
        column: marker.col() + 1,
    }
}

fn misread(error: &ScanError) -> Problem {
    refusal(
        position(*error.marker()),
        format!("not valid YAML: {}", error.kind()),
    )
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
    Map {
        entries: Vec<Entry>,
        key: Option<(String, Position)>,
    },
}

impl Builder {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other events bring no value, and new ones are opt-in"
    )]
    fn take(&mut self, event: Event<'_>, at: Position) -> Result<(), Problem> {
        match event {
            Event::Scalar(_, _, _, Some(tag))
            | Event::SequenceStart(_, _, Some(tag))
            | Event::MappingStart(_, _, Some(tag)) => {
                let tag = printable(&format!("{}{}", tag.original_handle(), tag.suffix()), 40);
                let sentence = format!(
                    "`{tag}` is a YAML tag, which a policy cannot have; text like it needs quotes"
                );
                Err(refusal(at, sentence))
            }
            Event::Scalar(text, style, anchor, None) => {
                self.place(scalar(text.into_owned(), style, at), anchor)
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
            Event::DocumentStart(..) => self.document(at),
            // Not asked for, or not of the document.
            _ => Ok(()),
        }
    }

    fn document(&mut self, at: Position) -> Result<(), Problem> {
        self.documents += 1;
        match self.documents {
            1 => Ok(()),
            _ => Err(refusal(
                at,
                "a second document begins here; a policy file holds one",
            )),
        }
    }

    fn begin(&mut self, at: Position, anchor: usize, content: Content) -> Result<(), Problem> {
        if self.open.len() >= MOST_DEPTH {
            return Err(refusal(
                at,
                format!("values are nested more than {MOST_DEPTH} deep"),
            ));
        }
        self.open.push(Open {
            at,
            anchor,
            content,
        });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Problem> {
        let Some(Open {
            at,
            anchor,
            content,
        }) = self.open.pop()
        else {
            return Ok(());
        };
        let value = match content {
            Content::List(items) => Value::List(items),
            Content::Map { entries, .. } => Value::Map(merged(entries)?),
        };
        self.place(
            Node {
                at,
                value,
                plain: None,
            },
            anchor,
        )
    }

    /// Puts the value that an alias stands for in its place. It keeps the position where it is written.
    fn follow(&mut self, anchor: usize, at: Position) -> Result<(), Problem> {
        let Some(node) = self.anchors.get(&anchor) else {
            return Err(refusal(
                at,
                "this alias stands inside the value that it refers to",
            ));
        };
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

    fn place(&mut self, node: Node, anchor: usize) -> Result<(), Problem> {
        self.nodes += 1;
        if self.nodes > MOST_NODES {
            return Err(too_many(node.at));
        }
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.root = Some(node),
            Some(Content::List(items)) => items.push(node),
            Some(Content::Map { entries, key }) => match key.take() {
                Some((key, at)) => entries.push(Entry {
                    key,
                    at,
                    value: node,
                }),
                None => *key = Some((key_text(&node)?, node.at)),
            },
        }
        Ok(())
    }
}

fn too_many(at: Position) -> Problem {
    refusal(
        at,
        format!("more than {MOST_NODES} values, counting what aliases stand for"),
    )
}

fn key_text(node: &Node) -> Result<String, Problem> {
    match (&node.value, &node.plain) {
        (_, Some(plain)) => Ok(plain.clone()),
        (Value::Text(text), None) => Ok(text.clone()),
        _ => Err(refusal(
            node.at,
            "the name of a field must be a word, not a list or map",
        )),
    }
}

/// The fields of a map, with those that merge keys (`<<: *base`) bring in where it has none of its own.
fn merged(entries: Vec<Entry>) -> Result<Vec<Entry>, Problem> {
    if entries.iter().all(|e| e.key != "<<") {
        return Ok(entries);
    }
    let (merges, mut own): (Vec<Entry>, Vec<Entry>) =
        entries.into_iter().partition(|e| e.key == "<<");
    let mut names: BTreeSet<String> = own.iter().map(|e| e.key.clone()).collect();
    for merge in merges {
        let sources = if let Value::List(items) = merge.value.value {
            items
        } else {
            vec![merge.value]
        };
        for source in sources {
            let Value::Map(fields) = source.value else {
                return Err(refusal(
                    merge.at,
                    "`<<` takes in the fields of a map, and this is none",
                ));
            };
            own.extend(fields.into_iter().filter(|f| names.insert(f.key.clone())));
        }
    }
    Ok(own)
}

fn scalar(text: String, style: ScalarStyle, at: Position) -> Node {
    if style != ScalarStyle::Plain {
        return Node {
            at,
            value: Value::Text(text),
            plain: None,
        };
    }
    let value = match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(&text).unwrap_or_else(|| Value::Text(text.clone())),
    };
    Node {
        at,
        value,
        plain: Some(text),
    }
}

/// A number, by the core schema of YAML 1.2.
fn number(text: &str) -> Option<Value> {
    let in_radix = |prefix, radix| {
        text.strip_prefix(prefix)
            .and_then(|digits| i64::from_str_radix(digits, radix).ok())
    };
    let bare = text.strip_prefix(['+', '-']).unwrap_or(text);
    match bare {
        ".inf" | ".Inf" | ".INF" if text.starts_with('-') => {
            return Some(Value::Float(f64::NEG_INFINITY));
        }
        ".inf" | ".Inf" | ".INF" => return Some(Value::Float(f64::INFINITY)),
        ".nan" | ".NaN" | ".NAN" => return Some(Value::Float(f64::NAN)),
        _ => {}
    }
    // Rust also reads `inf` and `nan`, which are words here.
    if !bare.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let whole = in_radix("0o", 8)
        .or_else(|| in_radix("0x", 16))
        .or_else(|| text.parse().ok());
    whole
        .map(Value::Int)
        .or_else(|| text.parse().ok().map(Value::Float))
}

/// A plain scalar that YAML 1.1 takes for something else than YAML 1.2 does.
fn older(plain: &str) -> Option<Value> {
    match plain {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => return Some(Value::Bool(true)),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => return Some(Value::Bool(false)),
        _ => {}
    }
    let digits = plain.replace('_', "");
    let (sign, bare) = digits.split_at(usize::from(digits.starts_with(['+', '-'])));
    if !bare.starts_with(|c: char| c.is_ascii_digit()) || plain.starts_with('_') {
        return None;
    }
    let in_radix = |prefix, radix| {
        let digits = bare
            .strip_prefix(prefix)
            .filter(|rest| !rest.is_empty() && !rest.starts_with(['+', '-']))?;
        i64::from_str_radix(&format!("{sign}{digits}"), radix)
            .ok()
            .map(Value::Int)
    };
    in_radix("0b", 2)
        .or_else(|| in_radix("0", 8))
        .or_else(|| number(&digits))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::{ProptestConfig, proptest};

    use super::*;

    /// Each value with its place, one to a line.
    fn show(text: &str) -> String {
        fn walk(node: &Node, name: &str, lines: &mut Vec<String>) {
            let Position { line, column } = node.at;
            match &node.value {
                Value::List(items) => items
                    .iter()
                    .for_each(|n| walk(n, &format!("{name}[]"), lines)),
                Value::Map(entries) => entries.iter().for_each(|e| {
                    walk(
                        &e.value,
                        &format!("{name}/{}@{}:{}", e.key, e.at.line, e.at.column),
                        lines,
                    );
                }),
                value @ (Value::Null
                | Value::Bool(_)
                | Value::Int(_)
                | Value::Float(_)
                | Value::Text(_)) => {
                    lines.push(format!("{line}:{column} {name} {value:?} {}", node.shown()));
                }
            }
        }
        let mut lines = Vec::new();
        walk(&parse(text).unwrap(), "", &mut lines);
        lines.join("\n")
    }

    #[test]
    fn yaml_1_1_takes_some_words_and_digits_for_something_else() {
        let list = "[y, No, 'yes', on, true, 010, -0b11, 0o17, 0x1F, 1_000, 1_0.5, 08, 0, -0, x_1, _1, 2h, y_, 1:30, 30%]";
        let Value::List(items) = parse(list).unwrap().in_yaml_1_1().value else {
            panic!("not a list")
        };
        let values: Vec<String> = items
            .iter()
            .map(|node| format!("{:?}", node.value))
            .collect();
        assert_snapshot!(values.join(" "), @r#"Bool(true) Bool(false) Text("yes") Bool(true) Bool(true) Int(8) Int(-3) Int(15) Int(31) Int(1000) Float(10.5) Int(8) Int(0) Int(0) Text("x_1") Text("_1") Text("2h") Text("y_") Text("1:30") Text("30%")"#);
        assert_eq!(parse("a: [{b: off}]").unwrap().in_yaml_1_1(), {
            let mut node = parse("a: [{b: off}]").unwrap();
            let Value::Map(entries) = &mut node.value else {
                panic!("not a map")
            };
            let Value::List(items) = &mut entries[0].value.value else {
                panic!("not a list")
            };
            let Value::Map(inner) = &mut items[0].value else {
                panic!("not a map")
            };
            inner[0].value.value = Value::Bool(false);
            node
        });
    }

    fn refused(text: &str) -> String {
        let problem = parse(text).unwrap_err();
        format!("{}:{}: {problem}", problem.line, problem.column)
    }

    #[test]
    fn every_value_and_every_name_knows_where_it_stands() {
        assert_snapshot!(show("# a comment\na:\n  - b: 1\n    c: [x, 'y']\n\"d e\": {ü: z, f: }\ng: |\n   h"), @r#"
        3:8 /a@2:1[]/b@3:5 Int(1) 1
        4:9 /a@2:1[]/c@4:5[] Text("x") x
        4:12 /a@2:1[]/c@4:5[] Text("y") "y"
        5:12 /d e@5:1/ü@5:9 Text("z") z
        5:16 /d e@5:1/f@5:15 Null nothing
        7:4 /g@6:1 Text("h\n") "h\n"
        "#);
    }

    #[test]
    fn numbers_and_words_are_told_from_text_in_quotes() {
        assert_snapshot!(show("[20, '20', 0x1F, 1e3, -.5, yes, true, 'true', ~, 30%, 5m, 99999999999999999999, inf, --1, 1.2.3]"), @r#"
        1:2 [] Int(20) 20
        1:6 [] Text("20") "20"
        1:12 [] Int(31) 0x1F
        1:18 [] Float(1000.0) 1e3
        1:23 [] Float(-0.5) -.5
        1:28 [] Text("yes") yes
        1:33 [] Bool(true) true
        1:39 [] Text("true") "true"
        1:47 [] Null nothing
        1:50 [] Text("30%") 30%
        1:55 [] Text("5m") 5m
        1:59 [] Float(1e20) 99999999999999999999
        1:81 [] Text("inf") inf
        1:86 [] Text("--1") --1
        1:91 [] Text("1.2.3") 1.2.3
        "#);
    }

    #[test]
    fn a_repeated_name_is_kept_for_the_reader_to_refuse() {
        assert_snapshot!(show("a: 1\na: 2"), @"
        1:4 /a@1:1 Int(1) 1
        2:4 /a@2:1 Int(2) 2
        ");
    }

    #[test]
    fn an_alias_stands_for_its_value_and_a_merge_for_fields_not_given() {
        assert_snapshot!(show("a: &x {b: 1, c: 2}\nd: *x\ne: {<<: *x, c: 3}"), @"
        1:11 /a@1:1/b@1:8 Int(1) 1
        1:17 /a@1:1/c@1:14 Int(2) 2
        1:11 /d@2:1/b@1:8 Int(1) 1
        1:17 /d@2:1/c@1:14 Int(2) 2
        3:16 /e@3:1/c@3:13 Int(3) 3
        1:11 /e@3:1/b@1:8 Int(1) 1
        ");
        assert_snapshot!(refused("a: {<<: 5}"), @"1:5: `<<` takes in the fields of a map, and this is none");
    }

    #[test]
    fn windows_line_ends_and_byte_order_marks_do_not_move_anything() {
        assert_snapshot!(show("\u{feff}a: 1\r\nb: 2\r\n"), @"
        1:4 /a@1:1 Int(1) 1
        2:4 /b@2:1 Int(2) 2
        ");
    }

    #[test]
    fn a_text_without_a_document_is_nothing() {
        for text in ["", "# only a comment", "---", "---\n..."] {
            assert_eq!(parse(text).unwrap().value, Value::Null, "{text}");
        }
    }

    #[test]
    fn what_is_not_yaml_is_refused_at_its_place() {
        let broken = [
            "a: [1,",
            "a: b\n  c: d",
            "a:\n\t- b",
            "a: 'b",
            "a: b: c",
            "a: @b",
            "- a\nb: c",
            "a: *b",
            "\u{0}",
        ];
        assert_snapshot!(broken.map(refused).join("\n"), @r"
        1:4: not valid YAML: unclosed bracket '['
        2:4: not valid YAML: mapping values are not allowed in this context
        2:2: not valid YAML: tabs disallowed within this context (block indentation)
        1:4: not valid YAML: unclosed quote
        1:5: not valid YAML: mapping values are not allowed in this context
        1:4: not valid YAML: unexpected character: `@'
        2:1: not valid YAML: while parsing a block collection, did not find expected '-' indicator
        1:4: not valid YAML: while parsing node, found unknown anchor
        1:1: not valid YAML: unexpected character: `\u{0}'
        ");
    }

    #[test]
    fn what_yaml_allows_and_a_policy_does_not_is_refused() {
        let refusals = [
            "a: 1\n---\nb: 2",
            "a: !gpu",
            "a: !!str 5",
            "? [a]\n: b",
            "a: &x [*x]",
        ];
        assert_snapshot!(refusals.map(refused).join("\n"), @"
        2:1: a second document begins here; a policy file holds one
        1:4: `!gpu` is a YAML tag, which a policy cannot have; text like it needs quotes
        1:4: `!!str` is a YAML tag, which a policy cannot have; text like it needs quotes
        1:3: the name of a field must be a word, not a list or map
        1:8: this alias stands inside the value that it refers to
        ");
    }

    #[test]
    fn deep_nesting_and_bombs_are_refused() {
        assert_snapshot!(refused(&"[".repeat(10_000)), @"1:65: not valid YAML: recursion limit exceeded");
        assert_snapshot!(refused(&"- ".repeat(10_000)), @"1:129: not valid YAML: recursion limit exceeded");
        let row = |i: usize, times| {
            format!(
                "a{i}: &a{i} [{}]\n",
                vec![format!("*a{}", i.saturating_sub(1)); times].join(",")
            )
        };
        let bomb: String = std::iter::once("a0: &a0 [x]\n".to_owned())
            .chain((1..10).map(|i| row(i, 10)))
            .collect();
        assert_snapshot!(refused(&bomb), @"6:14: more than 50000 values, counting what aliases stand for");
        let tower: String = std::iter::once("a0: &a0 [x]\n".to_owned())
            .chain((1..100).map(|i| row(i, 1)))
            .collect();
        assert_snapshot!(refused(&tower), @"63:12: with this alias, values are nested more than 64 deep");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,200}", yaml in "[ab:,&*!<>|?%'\"#~\\-\\[\\]{}@\\n\\t 0-9.]{0,120}") {
            let _ = (parse(&text), parse(&yaml));
        }
    }
}
