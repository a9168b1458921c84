//! The HTTP server of the status page: read-only, and by default reachable only from this machine.

use std::net::{IpAddr, SocketAddr};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, REFERRER_POLICY,
};
use axum::http::header::{X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::cluster::clock;
use crate::view::status::page;

use super::super::{Health, connections};
use super::Board;

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";

/// Serves `/` and `/status.json` until `stop` is cancelled.
///
/// On a loopback address the server answers only requests whose Host header is a loopback name.
/// This prevents DNS rebinding: a foreign web page whose name resolves to this machine cannot read
/// the status.
pub async fn serve(
    listener: TcpListener,
    board: Board,
    health: Health,
    stop: CancellationToken,
) -> std::io::Result<()> {
    // On other addresses the operator has chosen to publish the page, under any name.
    let guarded = listener.local_addr()?.ip().is_loopback();
    let router = Router::new()
        .route("/", get(async |State(state)| respond(&state, HTML, Board::html)))
        .route("/status.json", get(async |State(state)| respond(&state, JSON, Board::json)))
        .fallback(async || {
            (StatusCode::NOT_FOUND, "not found: this server has / and /status.json\n")
        })
        .layer(from_fn_with_state(guarded, guard))
        .with_state((board, health));
    connections::serve(listener.into(), router, stop).await
}

type Render = fn(&Board, &Health, Timestamp) -> Option<String>;

fn respond(state: &(Board, Health), content_type: &'static str, render: Render) -> Response {
    let (board, health) = state;
    match render(board, health, clock::now()) {
        Some(body) => ([(CONTENT_TYPE, content_type)], body).into_response(),
        None => (StatusCode::NOT_FOUND, "the status page is off\n").into_response(),
    }
}

/// Refuses foreign Host headers on a loopback address, and adds security headers to every response.
async fn guard(State(guarded): State<bool>, request: Request, next: Next) -> Response {
    let mut response = if guarded && !is_local(request.headers(), request.uri()) {
        let why =
            "refused: this page is for this machine only; open it as localhost or 127.0.0.1\n";
        (StatusCode::FORBIDDEN, why).into_response()
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(policy) = HeaderValue::from_str(page::policy()) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Whether the request has exactly one Host header and it names this machine.
fn is_local(headers: &HeaderMap, uri: &Uri) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next().and_then(|h| h.to_str().ok()), hosts.next()) else {
        return false;
    };
    // An absolute request target, as sent to a proxy, takes precedence over the Host header (RFC
    // 9112, section 3.2.2).
    is_loopback_name(host)
        && uri.authority().is_none_or(|authority| is_loopback_name(authority.as_str()))
}

fn is_loopback_name(host: &str) -> bool {
    if let Ok(address) = host.parse::<SocketAddr>() {
        return address.ip().is_loopback();
    }
    let name = host
        .rsplit_once(':')
        .filter(|(_, port)| port.parse::<u16>().is_ok())
        .map_or(host, |(name, _)| name);
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(hosts: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, host.parse().unwrap());
        }
        is_local(&headers, &Uri::from_static("/"))
    }

    #[test]
    fn only_loopback_names_are_accepted() {
        for host in
            ["localhost", "LOCALHOST:8081", "127.0.0.1", "127.0.0.1:9", "[::1]", "[::1]:8081"]
        {
            assert!(accepts(&[host]), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:8081",
            "10.0.0.1",
            "[::2]:1",
            "",
            ":8081",
        ] {
            assert!(!accepts(&[host]), "{host}");
        }
        assert!(!accepts(&[]), "no Host header");
        assert!(!accepts(&["localhost", "evil.example"]), "two Host headers");
        assert!(!accepts(&["evil.example@localhost"]));
    }
}
