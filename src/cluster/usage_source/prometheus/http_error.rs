//! Interprets HTTP responses: statuses, content types, error messages and broken connections.

use reqwest::header::{CONTENT_TYPE, HeaderName, LOCATION};
use reqwest::{Response, StatusCode};

use crate::cluster::error_text::{after_colon, causes, one_line};
use crate::policy::Login;

use super::error::PrometheusError;
use super::query::PromQuery;

/// How much of an error response is read.
const LARGEST_ERROR: usize = 64 << 10;
/// Shorter queries stay in error messages.
const SHORTEST_ELIDED: usize = 20;

/// Returns the body of a successful JSON response, or an error with a remedy.
pub(super) async fn checked_body(
    response: Response,
    query: &PromQuery<'_>,
    login: Option<&Login>,
    limit: usize,
) -> Result<String, PrometheusError> {
    let status = response.status();
    if status.is_redirection() {
        let location = header(&response, &LOCATION);
        return Err(PrometheusError::Redirected(or(location, "another address")));
    }
    let content_type = header(&response, &CONTENT_TYPE);
    let media_type = media_type(&content_type);
    let (json, plain) = (media_type == "application/json", media_type == "text/plain");
    if status.is_success() {
        if !json {
            return Err(PrometheusError::NotJson(or(content_type, "an unknown type")));
        }
        return body(response, limit).await;
    }
    let text = body(response, LARGEST_ERROR).await.unwrap_or_default();
    // The query-frontend of Thanos labels its JSON as plain text.
    let why = match json_error(&text).filter(|_| json || plain) {
        Some(why) => why,
        None if plain => text,
        None => String::new(),
    };
    let why = one_line(&without_query(&why, query.promql));
    Err(error_of(status, why, query, login))
}

fn header(response: &Response, name: &HeaderName) -> String {
    let value = response.headers().get(name).and_then(|v| v.to_str().ok());
    value.map(one_line).unwrap_or_default()
}

fn media_type(content_type: &str) -> String {
    let media_type = content_type.split(';').next().unwrap_or_default();
    media_type.trim().to_ascii_lowercase()
}

fn or(text: String, default: &str) -> String {
    if text.is_empty() { default.to_owned() } else { text }
}

fn error_of(
    status: StatusCode,
    why: String,
    query: &PromQuery<'_>,
    login: Option<&Login>,
) -> PrometheusError {
    let code = status.as_u16();
    if is_tenant_error(&why) {
        return PrometheusError::Tenant { code, why };
    }
    if status == StatusCode::NOT_FOUND || (status.is_client_error() && is_unknown_path(&why)) {
        let path = query.times.path().to_owned();
        return PrometheusError::ApiNotFound { code, path };
    }
    match status {
        StatusCode::UNAUTHORIZED => PrometheusError::Unauthorized(unauthorized(login, &why)),
        StatusCode::FORBIDDEN => PrometheusError::Forbidden(after_colon(&why)),
        // Prometheus reports errors in the query by these two.
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY if !why.is_empty() => {
            let query = query.name;
            PrometheusError::QueryRejected { query, why }
        }
        _ => PrometheusError::Status {
            code,
            why: or(why, status.canonical_reason().unwrap_or("no reason given")),
        },
    }
}

fn unauthorized(login: Option<&Login>, why: &str) -> String {
    let why = after_colon(why);
    match login {
        None => format!("; set bearerTokenFile or basicAuth{why}"),
        Some(Login::Bearer(file) | Login::Basic { password_file: file, .. }) => {
            format!(", read again from {file}{why}")
        }
    }
}

/// Reads the whole body, which must be UTF-8 and within the limit.
async fn body(mut response: Response, limit: usize) -> Result<String, PrometheusError> {
    let mut bytes: Vec<u8> = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| unreachable(&error))? {
        if bytes.len() + chunk.len() > limit {
            return Err(PrometheusError::TooLarge(limit));
        }
        bytes.extend_from_slice(&chunk);
    }
    String::from_utf8(bytes)
        .map_err(|_| PrometheusError::InvalidResponse("it is not UTF-8".to_owned()))
}

fn json_error(text: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let error = ["error", "message"].iter().find_map(|key| value.get(key)?.as_str());
    error.map(str::to_owned)
}

/// Removes the query from an error message. VictoriaMetrics starts with the query or with the whole
/// request, and a long query would displace the reason.
fn without_query(why: &str, promql: &str) -> String {
    let after_request = why
        .strip_prefix("remoteAddr: ")
        .and_then(|rest| rest.split_once("requestURI: ")?.1.split_once("; "));
    let why = after_request.map_or(why, |(_, reason)| reason);
    if promql.len() <= SHORTEST_ELIDED {
        return why.to_owned();
    }
    why.replace(&format!("{promql:?}"), "…").replace(promql, "…")
}

/// Recognises Mimir's messages about a tenant that is missing, invalid, or one of several where it
/// accepts one.
fn is_tenant_error(why: &str) -> bool {
    why.starts_with("no org id") || why.contains("tenant ID")
}

/// Recognises an unknown path in VictoriaMetrics, which returns another status than 404. Its
/// cluster version reads the tenant from the start of the path.
fn is_unknown_path(why: &str) -> bool {
    why.starts_with("unsupported path requested") || why.contains("cannot parse accountID")
}

/// Explains why no response came, with the remedy for common TLS errors.
pub(super) fn unreachable(error: &reqwest::Error) -> PrometheusError {
    let text = one_line(&causes(error));
    let tls = if text.contains("certificate expired") {
        "has an expired certificate"
    } else if text.contains("UnknownIssuer") || text.contains("BadSignature") {
        "has a certificate of an untrusted authority; set the authority's certificate as caFile"
    } else if text.contains("certificate") {
        "cannot be reached by TLS"
    } else {
        return PrometheusError::Unreachable(text);
    };
    PrometheusError::Tls(format!("{tls}: {text}"))
}
