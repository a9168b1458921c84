//! Values that only `usage.prometheus` has: the url, label matchers and headers.

use serde_json::json;

use crate::schema::item::Item;
use crate::schema::kind::Kind;
use crate::schema::problem::Code;
use crate::schema::read::Spot;
use crate::schema::tree::Value;

pub(super) fn url() -> Kind<String> {
    let schema = json!({"type": "string", "pattern": "^https?://[^?#@]+$"});
    Kind::new("url", schema, read_url, |url| {
        (!url.is_empty()).then(|| Item::text(url))
    })
}

fn read_url(spot: Spot<'_, '_>) -> Option<String> {
    spot.checked(|text| {
        let uri: http::Uri = text
            .parse()
            .map_err(|_| "not a url, such as http://prometheus.monitoring:9090")?;
        let host = uri.host().is_some_and(|h| !h.is_empty());
        if !host || !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err("not a url that begins with http:// or https://, such as \
                http://prometheus.monitoring:9090");
        }
        if uri.authority().is_some_and(|a| a.as_str().contains('@')) {
            return Err("a policy must not contain a password; use basicAuth with a passwordFile");
        }
        if uri.query().is_some() || text.contains('#') {
            return Err("remove everything from the `?` or `#` on: evenkeel adds its own query");
        }
        Ok(text.trim_end_matches('/').to_owned())
    })
}

/// Label matchers without braces; may be empty.
pub(super) fn matchers() -> Kind<String> {
    let schema = json!({"type": "string", "pattern": "^([^{}]*=[^{}]*)?$"});
    Kind::new("label matchers", schema, read_matchers, |matchers| {
        (!matchers.is_empty()).then(|| Item::text(matchers))
    })
}

fn read_matchers(spot: Spot<'_, '_>) -> Option<String> {
    if spot
        .node()
        .is_some_and(|n| n.value == Value::Text(String::new()))
    {
        return None;
    }
    spot.checked(|text| {
        if text.contains(['{', '}']) || !text.contains('=') {
            return Err("label matchers without braces, such as cluster=\"prod\"");
        }
        Ok(text.to_owned())
    })
}

pub(super) fn headers() -> Kind<Vec<(String, String)>> {
    let schema =
        json!({"type": "object", "additionalProperties": {"type": "string", "minLength": 1}});
    Kind::new("map of headers", schema, read_headers, |headers| {
        let fields = headers
            .iter()
            .map(|(name, value)| (name.clone(), Item::text(value)));
        (!headers.is_empty()).then(|| Item::Map(fields.collect()))
    })
}

fn read_headers(spot: Spot<'_, '_>) -> Option<Vec<(String, String)>> {
    spot.node()?;
    spot.each("headers", |entry, value| {
        let name = &entry.key;
        if http::HeaderName::try_from(name.as_str()).is_err() {
            return value
                .at_key()
                .complain(Code::WrongType, "not the name of a header");
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
