//! The kinds of values that fields take: each has a reader, a writer, a name for the reference and
//! a JSON Schema.

#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method path has one lifetime, and a kind reads values of every lifetime"
)]

use jiff::SignedDuration;
use serde_json::{Value as Json, json};

use super::item::Item;
use super::names::Names;
use super::outline::{Form, ValueForm};
use super::problem::Code;
use super::read::Spot;
use super::share::Share;
use super::wording::either;
use crate::values::Ratio;
use crate::values::query_value::QueryValue;
use crate::values::selector::Selector;

/// Returns how a value is written.
type WriteValue<V> = Box<dyn Fn(&V) -> Option<Item>>;

/// A kind of value.
pub(crate) struct Kind<V> {
    pub(crate) form: Form,
    pub(crate) read: Box<dyn Fn(Spot<'_, '_>) -> Option<V>>,
    /// `None` where the value is written by leaving the field out.
    pub(crate) write: WriteValue<V>,
}

impl<V: 'static> Kind<V> {
    pub(crate) fn new(
        words: impl Into<String>,
        schema: Json,
        read: impl Fn(Spot<'_, '_>) -> Option<V> + 'static,
        write: impl Fn(&V) -> Option<Item> + 'static,
    ) -> Self {
        let words = words.into();
        let form = Form::Value(ValueForm { words, schema, choices: Vec::new(), blank: None });
        Kind { form, read: Box::new(read), write: Box::new(write) }
    }

    /// The same kind for a value that may be absent.
    pub(crate) fn optional(self) -> Kind<Option<V>> {
        let Kind { form, read, write } = self;
        Kind {
            form,
            read: Box::new(move |spot| read(spot).map(Some)),
            write: Box::new(move |value| value.as_ref().and_then(&write)),
        }
    }

    /// The same kind; the example shows an absent value so.
    pub(crate) fn shown_empty_as(self, blank: &'static str) -> Self {
        self.described(|form| form.blank = Some(blank))
    }

    /// The same kind with this change of its documentation.
    pub(crate) fn described(mut self, change: impl FnOnce(&mut ValueForm)) -> Self {
        if let Form::Value(form) = &mut self.form {
            change(form);
        }
        self
    }
}

/// `true` or `false`.
pub(crate) fn boolean() -> Kind<bool> {
    Kind::new(
        "boolean",
        json!({"type": "boolean"}),
        |spot| spot.bool(),
        |flag| Some(Item::Flag(*flag)),
    )
}

pub(crate) fn whole(least: u32) -> Kind<u32> {
    let schema = json!({"type": "integer", "minimum": least, "maximum": u32::MAX});
    let words = format!("whole number from {least}");
    Kind::new(
        words,
        schema,
        move |spot| spot.whole(least),
        |number| Some(Item::Number(i64::from(*number))),
    )
}

/// A number, which may be negative or have a fraction.
pub(crate) fn number() -> Kind<QueryValue> {
    Kind::new(
        "number",
        json!({"type": "number"}),
        |spot| spot.number(),
        |value| Some(number_item(*value)),
    )
}

/// A whole number is written without a fraction.
#[expect(clippy::cast_possible_truncation, reason = "a whole number below 1e15 fits")]
fn number_item(value: QueryValue) -> Item {
    let number = value.get();
    if number.fract() == 0.0 && number.abs() < 1e15 {
        Item::Number(number as i64)
    } else {
        Item::Float(number)
    }
}

/// A whole number, or `none` for no limit.
pub(crate) fn limit() -> Kind<Option<u32>> {
    let schema = json!({"anyOf": [{"type": "integer", "minimum": 0}, {"const": "none"}]});
    Kind::new(
        "whole number or `none`",
        schema,
        |spot| spot.limit(),
        |limit| Some(limit.map_or(none(), |n| Item::Number(i64::from(n)))),
    )
}

/// A whole number, a percentage, or `none` for no limit.
pub(crate) fn share() -> Kind<Option<Share>> {
    let schema = json!({"anyOf": [
        {"type": "integer", "minimum": 0}, {"$ref": "#/$defs/percentText"}, {"const": "none"}]});
    Kind::new(
        "whole number, percentage or `none`",
        schema,
        |spot| spot.share(),
        |share| Some(share_item(*share)),
    )
}

/// A whole number, a percentage, the larger of both, or `none` for no limit.
pub(crate) fn growing_share() -> Kind<Option<Share>> {
    let schema = json!({"anyOf": [
        {"type": "integer", "minimum": 0}, {"$ref": "#/$defs/percentText"},
        {"type": "string", "pattern": "^[0-9]+ +or +[0-9]+(\\.[0-9]*)? *%$"}, {"const": "none"}]});
    Kind::new(
        "whole number, percentage, the larger of both such as `20 or 1%`, or `none`",
        schema,
        |spot| spot.growing_share(),
        |share| Some(share_item(*share)),
    )
}

fn share_item(share: Option<Share>) -> Item {
    match share {
        None => none(),
        Some(Share::Count(count)) => Item::Number(i64::from(count)),
        Some(Share::Portion(ratio)) => ratio_item(ratio),
        Some(Share::Larger(count, ratio)) => {
            Item::text(format!("{count} or {}", percent_text(ratio)))
        }
    }
}

fn none() -> Item {
    Item::text("none")
}

/// A percentage from 0% to 100%.
pub(crate) fn percent() -> Kind<Ratio> {
    let schema = json!({"$ref": "#/$defs/percentage"});
    Kind::new("percentage", schema, |spot| spot.percent(), |ratio| Some(ratio_item(*ratio)))
}

/// A percentile from 1 to 100.
pub(crate) fn percentile() -> Kind<Ratio> {
    let schema = json!({"$ref": "#/$defs/percentage"});
    Kind::new(
        "percentile from 1 to 100",
        schema,
        |spot| spot.percentile(),
        |ratio| Some(ratio_item(*ratio)),
    )
}

/// The shortest percentage that reads as exactly this ratio.
pub(crate) fn ratio_item(ratio: Ratio) -> Item {
    Item::text(percent_text(ratio))
}

fn percent_text(ratio: Ratio) -> String {
    let percents = ratio.get() * 100.0;
    // A double needs at most 17 significant digits to read back as the same value.
    let candidates = (0..=17).map(|digits| format!("{percents:.digits$}"));
    let mut exact =
        candidates.filter(|text| text.parse().ok().and_then(Ratio::percent) == Some(ratio));
    format!("{}%", exact.next().unwrap_or_else(|| percents.to_string()))
}

/// A duration such as `1h30m`.
pub(crate) fn duration(least: SignedDuration) -> Kind<SignedDuration> {
    let words =
        if least.is_zero() { "duration".to_owned() } else { format!("duration from {least:#}") };
    let schema = json!({"$ref": "#/$defs/duration"});
    Kind::new(
        words,
        schema,
        move |spot| spot.duration(least),
        |duration| Some(duration_item(*duration)),
    )
}

/// A duration as one word, such as `1m30s`; the reader does not accept spaces between the units.
pub(crate) fn duration_item(duration: SignedDuration) -> Item {
    Item::text(format!("{duration:#}").replace(' ', ""))
}

/// A duration as a number of seconds.
pub(crate) fn seconds() -> Kind<SignedDuration> {
    let schema = json!({"type": "integer", "minimum": 0, "maximum": u32::MAX});
    Kind::new(
        "seconds",
        schema,
        |spot| spot.seconds(),
        |duration| Some(Item::Number(duration.as_secs())),
    )
}

/// Text that is not empty.
pub(crate) fn text() -> Kind<String> {
    let schema = json!({"type": "string", "minLength": 1});
    Kind::new(
        "text",
        schema,
        |spot| spot.name(),
        |text: &String| (!text.is_empty()).then(|| Item::text(text)),
    )
}

/// A list of texts; an empty one is left out.
pub(crate) fn texts() -> Kind<Vec<String>> {
    let schema = json!({"type": "array", "items": {"type": "string", "minLength": 1}});
    Kind::new(
        "list of texts",
        schema,
        |spot| spot.names(),
        |texts: &Vec<String>| (!texts.is_empty()).then(|| Item::texts(texts)),
    )
}

/// Exit codes of containers.
pub(crate) fn exit_codes() -> Kind<Vec<i32>> {
    let schema = json!({"type": "array", "items": {"type": "integer"}});
    Kind::new(
        "list of exit codes",
        schema,
        |spot| spot.list("exit codes", |item| item.exit_code()),
        |codes: &Vec<i32>| exit_codes_item(codes),
    )
}

fn exit_codes_item(codes: &[i32]) -> Option<Item> {
    let items = codes.iter().map(|code| Item::Number(i64::from(*code)));
    (!codes.is_empty()).then(|| Item::List(items.collect()))
}

/// Names to include or to exclude.
pub(crate) fn names_in_or_out() -> Kind<Names> {
    let schema = json!({"$ref": "#/$defs/names"});
    let words = "`{exclude: […]}` or `{include: […]}`";
    Kind::new(words, schema, |spot| spot.names_in_or_out(), names_item)
        .shown_empty_as("{exclude: []}")
}

fn names_item(names: &Names) -> Option<Item> {
    match names {
        // Excluding nothing means all namespaces, which is the default.
        Names::Except(names) if names.is_empty() => None,
        Names::Except(names) => Some(Item::one("exclude", Item::texts(names))),
        Names::Only(names) => Some(Item::one("include", Item::texts(names))),
    }
}

/// A label selector; one that selects everything is `None`.
pub(crate) fn selector() -> Kind<Option<Selector>> {
    let schema = json!({"$ref": "#/$defs/labelSelector"});
    Kind::new(
        "label selector",
        schema,
        |spot| Some(spot.selector()),
        |selector: &Option<Selector>| selector.as_ref().map(selector_item),
    )
    .shown_empty_as("\"\"")
}

pub(crate) fn selector_item(selector: &Selector) -> Item {
    Item::text(selector.to_string())
}

/// A word of a choice, its value and its meaning.
pub(crate) type Choice<V> = (&'static str, V, &'static str);

pub(crate) fn choice<V: Copy + PartialEq + 'static>(choices: &'static [Choice<V>]) -> Kind<V> {
    let words: Vec<&str> = choices.iter().map(|(word, ..)| *word).collect();
    let schema = json!({"enum": words});
    let pairs: Vec<(&str, V)> = choices.iter().map(|(word, value, _)| (*word, *value)).collect();
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    let words = either(&quoted.iter().map(String::as_str).collect::<Vec<_>>());
    let kind = Kind::new(
        words,
        schema,
        move |spot| spot.one_of(&pairs),
        |value| word_of(choices, *value).map(Item::text),
    );
    kind.described(|form| form.choices = helped(choices))
}

/// A list of some of these words; `what` names them. An empty list is left out.
pub(crate) fn choices<V: Copy + PartialEq + 'static>(
    what: &'static str,
    choices: &'static [Choice<V>],
) -> Kind<Vec<V>> {
    let words: Vec<&str> = choices.iter().map(|(word, ..)| *word).collect();
    let schema = json!({"type": "array", "items": {"enum": words}});
    let pairs: Vec<(&str, V)> = choices.iter().map(|(word, value, _)| (*word, *value)).collect();
    let kind = Kind::new(
        format!("list of {what}"),
        schema,
        move |spot| spot.list(what, |item| item.one_of(&pairs)),
        |values: &Vec<V>| {
            let words = values.iter().filter_map(|value| word_of(choices, *value));
            (!values.is_empty()).then(|| Item::texts(words))
        },
    );
    kind.described(|form| form.choices = helped(choices)).shown_empty_as("[]")
}

#[expect(clippy::needless_pass_by_value, reason = "the values are small enums")]
fn word_of<V: PartialEq>(choices: &[Choice<V>], value: V) -> Option<&'static str> {
    choices.iter().find(|(_, v, _)| *v == value).map(|(word, ..)| *word)
}

/// The words with an explanation.
fn helped<V>(choices: &[Choice<V>]) -> Vec<(&'static str, &'static str)> {
    let words = choices.iter().map(|(word, _, help)| (*word, *help));
    words.filter(|(_, help)| !help.is_empty()).collect()
}

/// A field that has the same value in every policy.
pub(crate) fn constant(word: &'static str) -> Kind<()> {
    Kind::new(
        format!("`{word}`"),
        json!({"const": word}),
        move |spot| spot.word(Code::UnsupportedVersion, &[(word, ())]),
        move |()| Some(Item::text(word)),
    )
}
