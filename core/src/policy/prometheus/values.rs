//! Values that only `usage.prometheus` has: the url, label matchers and headers.

use serde_json::json;

use crate::schema::item::Item;
use crate::schema::kind::Kind;
use crate::schema::problem::Code;
use crate::schema::read::Spot;
use crate::schema::tree::Value;

pub(super) fn url() -> Kind<String> {
    let schema = json!({"type": "string", "pattern": "^https?://[^?#@]+$"});
    Kind::new("url", schema, read_url, |url| (!url.is_empty()).then(|| Item::text(url)))
}

fn read_url(spot: Spot<'_, '_>) -> Option<String> {
    spot.checked(|text| {
        let uri: http::Uri =
            text.parse().map_err(|_| "not a url, such as http://prometheus.monitoring:9090")?;
        let host = uri.host().is_some_and(|h| !h.is_empty());
        if !host || !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err("not a url that begins with http:// or https://, such as http://prometheus.monitoring:9090");
        }
        if uri.authority().is_some_and(|a| a.as_str().contains('@')) {
            return Err("a policy must not contain a password; use basicAuth with a passwordFile");
        }
        if !has_sound_port(uri.authority().map_or("", http::uri::Authority::as_str)) {
            return Err("not a url with a port from 1 to 65535, such as http://prometheus.monitoring:9090");
        }
        if uri.query().is_some() || text.contains('#') {
            return Err("remove everything from the `?` or `#` on: evenkeel adds its own query");
        }
        Ok(text.trim_end_matches('/').to_owned())
    })
}

/// Whether the port of an authority is one, if there is a colon for it. The colons of an IPv6
/// address are in brackets.
fn has_sound_port(authority: &str) -> bool {
    let after_address = authority.rsplit(']').next().unwrap_or_default();
    let port = after_address.rsplit_once(':').map(|(_, port)| port);
    port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// Label matchers without braces; may be empty.
pub(super) fn matchers() -> Kind<String> {
    let schema = json!({"type": "string", "pattern": "^([^{}]*=[^{}]*)?$"});
    Kind::new("label matchers", schema, read_matchers, |matchers| {
        (!matchers.is_empty()).then(|| Item::text(matchers))
    })
}

fn read_matchers(spot: Spot<'_, '_>) -> Option<String> {
    if spot.node().is_some_and(|n| n.value == Value::Text(String::new())) {
        return None;
    }
    spot.checked(|text| {
        if text.contains(['{', '}']) || !are_matchers(text) {
            return Err("label matchers without braces, such as cluster=\"prod\"");
        }
        Ok(text.to_owned())
    })
}

/// Whether a text is a list of matchers as in PromQL: `name="value"` and the operators `!=`, `=~`
/// and `!~`, between commas. One comma may end the list.
fn are_matchers(text: &str) -> bool {
    let mut rest = text.trim_start();
    loop {
        let Some(after) = after_matcher(rest) else {
            return false;
        };
        rest = after.trim_start();
        if rest.is_empty() {
            return true;
        }
        let Some(after) = rest.strip_prefix(',') else {
            return false;
        };
        rest = after.trim_start();
        if rest.is_empty() {
            return true;
        }
    }
}

/// The text after a matcher at the beginning of a text; `None` if there is none.
fn after_matcher(text: &str) -> Option<&str> {
    // A name in quotes may have any characters, since Prometheus 3.
    let after_name = after_string(text).or_else(|| {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let after = text.trim_start_matches(is_of_name);
        let is_name = after.len() < text.len() && !text.starts_with(|c: char| c.is_ascii_digit());
        is_name.then_some(after)
    })?;
    let mut operators = ["=~", "!~", "!=", "="].into_iter();
    let operator = after_name.trim_start();
    let value = operators.find_map(|sign| operator.strip_prefix(sign))?;
    after_string(value.trim_start())
}

/// The text after a string at the beginning of a text; `None` if there is none. A backslash escapes
/// the next character, except between backticks.
fn after_string(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| ['"', '\'', '`'].contains(c))?;
    let mut characters = text[1..].char_indices();
    while let Some((i, c)) = characters.next() {
        if c == quote {
            return Some(&text[i + 2..]);
        }
        if c == '\\' && quote != '`' {
            characters.next()?;
        }
    }
    None
}

pub(super) fn headers() -> Kind<Vec<(String, String)>> {
    let schema =
        json!({"type": "object", "additionalProperties": {"type": "string", "minLength": 1}});
    Kind::new("map of headers", schema, read_headers, |headers| {
        let fields = headers.iter().map(|(name, value)| (name.clone(), Item::text(value)));
        (!headers.is_empty()).then(|| Item::Map(fields.collect()))
    })
}

fn read_headers(spot: Spot<'_, '_>) -> Option<Vec<(String, String)>> {
    spot.node()?;
    spot.each("headers", |entry, value| {
        let name = &entry.key;
        if http::HeaderName::try_from(name.as_str()).is_err() {
            return value.at_key().complain(Code::WrongType, "not the name of a header");
        }
        if name.eq_ignore_ascii_case("authorization") {
            let sentence = "a policy must not contain a secret; use bearerTokenFile or basicAuth";
            return value.at_key().complain(Code::Conflict, sentence);
        }
        let value = value.checked(|text| {
            http::HeaderValue::try_from(text)
                .map_err(|_| "not the value of a header: one line of plain text")?;
            Ok(text.to_owned())
        });
        Some((name.clone(), value?))
    })
}
