//! The values of YAML scalars, in YAML 1.2 and in YAML 1.1.

use granit_parser::ScalarStyle;

use super::{Value, YamlNode};
use crate::schema::problem::Position;

pub(super) fn node_of(text: String, style: ScalarStyle, at: Position) -> YamlNode {
    if style != ScalarStyle::Plain {
        return YamlNode { at, value: Value::Text(text), plain: None };
    }
    let value = match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(&text).unwrap_or_else(|| Value::Text(text.clone())),
    };
    YamlNode { at, value, plain: Some(text) }
}

/// A number in the core schema of YAML 1.2.
fn number(text: &str) -> Option<Value> {
    let in_radix = |prefix, radix| {
        text.strip_prefix(prefix).and_then(|digits| i64::from_str_radix(digits, radix).ok())
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
    // Rust also reads `inf` and `nan`, which are text in YAML.
    if !bare.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let whole = in_radix("0o", 8)
        .or_else(|| in_radix("0x", 16))
        // `parse` reads leading zeros as decimal, as YAML 1.2 does.
        .or_else(|| text.parse().ok());
    whole.map(Value::Int).or_else(|| text.parse().ok().map(Value::Float))
}

/// The value of a plain scalar that YAML 1.1 reads differently than YAML 1.2.
pub(super) fn yaml_1_1(plain: &str) -> Option<Value> {
    match plain {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => return Some(Value::Bool(true)),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => return Some(Value::Bool(false)),
        _ => {}
    }
    // YAML 1.1 allows underscores between digits.
    let digits = plain.replace('_', "");
    let (sign, bare) = digits.split_at(usize::from(digits.starts_with(['+', '-'])));
    if !bare.starts_with(|c: char| c.is_ascii_digit()) || plain.starts_with('_') {
        return None;
    }
    let in_radix = |prefix, radix| {
        let digits = bare
            .strip_prefix(prefix)
            .filter(|rest| !rest.is_empty() && !rest.starts_with(['+', '-']))?;
        i64::from_str_radix(&format!("{sign}{digits}"), radix).ok().map(Value::Int)
    };
    in_radix("0b", 2).or_else(|| in_radix("0", 8)).or_else(|| number(&digits))
}

/// The value as JSON writes it: a number without a fraction is a whole one.
pub(super) fn in_json(value: Value) -> Value {
    let Value::Float(number) = value else {
        return value;
    };
    let whole = (number.fract() == 0.0).then(|| format!("{number:.0}").parse());
    match whole {
        Some(Ok(whole)) => Value::Int(whole),
        Some(Err(_)) | None => value,
    }
}
