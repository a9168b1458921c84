//! How queries are sent: POST for long ones, GET where a proxy rejects POST, tenant and token with
//! every request.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use axum::http::Method;
use insta::assert_snapshot;

use super::{
    Prometheus, PrometheusError, RecordedRequests, TempFile, healthy, matrix, node_addresses,
    prometheus, read_past, router, router_by, serve,
};
use crate::model::usage::Readings;

/// A query of 20 kB.
fn long_query() -> String {
    let matchers: Vec<String> = (0..740).map(|i| format!("namespace!=\"team & {i:07}\"")).collect();
    let query = format!("nodeCpu{{{}}}", matchers.join(","));
    assert!(query.len() > 20_000, "{}", query.len());
    query
}

fn with_long_query(url: &str, more: &str) -> Prometheus {
    let mut usage = super::usage(url, more);
    let mut policy = usage.prometheus.take().unwrap();
    policy.queries.node_cpu = long_query();
    Prometheus::new(policy, &usage)
}

/// A healthy server that responds to a POST, and to a GET of a long query, with these statuses if
/// they are not 200.
async fn read_by(post: u16, get: u16) -> (Result<Readings, PrometheusError>, RecordedRequests) {
    let (router, requests) = router_by(move |query, _, method| {
        let (long, status) =
            (query.len() > 20_000, if method == Method::POST { post } else { get });
        match (long, status) {
            (true, 200) => healthy("nodeCpu"),
            (true, status) => (status, "text/plain", String::new()),
            (false, _) => healthy(query),
        }
    });
    let prometheus = with_long_query(&serve(router).await, "");
    (prometheus.read(&node_addresses()).await, requests)
}

fn methods_of_long_query(requests: &RecordedRequests) -> Vec<Method> {
    let requests = requests.lock().unwrap();
    let long = requests.iter().filter(|r| r.params["query"] == long_query());
    long.map(|r| r.method.clone()).collect()
}

#[tokio::test]
async fn a_query_of_20_kb_is_sent_by_post_and_short_ones_by_get() {
    let (readings, requests) = read_by(200, 414).await;
    assert_eq!(readings.unwrap().nodes.len(), 2);
    assert_eq!(methods_of_long_query(&requests), [Method::POST]);
    for request in requests.lock().unwrap().iter() {
        let long = request.params["query"].len() > 20_000;
        assert_eq!(request.method == Method::POST, long, "{}", request.params["query"]);
        assert_eq!(request.params["partial_response"], "false");
        if long {
            assert_eq!(request.params["time"], format!("{}.000", super::NOW));
            assert_eq!(request.headers["content-type"], "application/x-www-form-urlencoded");
        }
    }
}

#[tokio::test]
async fn get_is_used_where_a_proxy_rejects_post() {
    for status in [403, 405, 415, 501] {
        let (readings, requests) = read_by(status, 200).await;
        assert_eq!(readings.unwrap().nodes.len(), 2, "{status}");
        assert_eq!(methods_of_long_query(&requests), [Method::POST, Method::GET], "{status}");
    }
}

#[tokio::test]
async fn a_query_that_fits_neither_post_nor_get_names_both_statuses() {
    let (result, _) = read_by(405, 414).await;
    assert_snapshot!(result.unwrap_err(),
        @"cannot receive the query nodeCpu of 20728 bytes: POST is not allowed (405), and the URL \
            of a GET is too long (414); allow POST or shorten the query");
    let (result, requests) = read_by(400, 200).await;
    assert_eq!(result.unwrap_err().kind(), "broken", "400 is no reason to try GET");
    assert_eq!(methods_of_long_query(&requests), [Method::POST]);
}

#[tokio::test]
async fn long_range_queries_are_sent_by_post_as_well() {
    let (router, requests) = router(|query| match query {
        "time()" => healthy(query),
        _ => matrix(&serde_json::json!([{
            "metric": {"node": "n1", "namespace": "shop", "pod": "web"},
            "values": [[super::NOW - 30, "1"], [super::NOW, "1"]],
        }])),
    });
    let prometheus = with_long_query(&serve(router).await, "");
    read_past(&prometheus, None).await;
    assert_eq!(methods_of_long_query(&requests), [Method::POST]);
    let requests = requests.lock().unwrap();
    let long = requests.iter().find(|r| r.method == Method::POST).unwrap();
    assert_eq!(
        (long.path.as_str(), long.params["start"].as_str()),
        ("/api/v1/query_range", "1767225300.000")
    );
}

#[tokio::test]
async fn the_prefix_of_the_url_and_fractions_of_seconds_are_kept() {
    let (router, requests) = router(|query| match query {
        "time()" => {
            let (status, kind, text) = healthy(query);
            (status, kind, text.replace("1767225600", "1767225600.781"))
        }
        _ => healthy(query),
    });
    let url = serve(router).await;
    let prometheus = prometheus(&format!("{url}/select/0/prometheus"), "");
    prometheus.read(&node_addresses()).await.unwrap();
    for request in requests.lock().unwrap().iter().skip(1) {
        assert_eq!(
            (request.path.as_str(), request.params["time"].as_str()),
            ("/select/0/prometheus/api/v1/query", "1767225600.781")
        );
    }
}

#[tokio::test]
async fn tenant_and_token_are_sent_by_post_and_by_get_and_a_new_token_within_one_read() {
    let token = Arc::new(TempFile::new("token-per-request", "first"));
    let (rotated, counter) = (Arc::clone(&token), Arc::new(AtomicU32::new(0)));
    let accepted = Arc::new(Mutex::new("Bearer first"));
    // After the third request, the server accepts only the new token.
    let (router, requests) = router_by(move |query, headers, method| {
        if counter.fetch_add(1, Ordering::Relaxed) == 3 {
            *accepted.lock().unwrap() = "Bearer second";
            rotated.write("second");
        }
        if headers["authorization"] != *accepted.lock().unwrap() {
            return (401, "text/plain", "expired".to_owned());
        }
        match (query.len() > 20_000, method == Method::POST) {
            (true, true) => (405, "text/plain", String::new()),
            (true, false) => healthy("nodeCpu"),
            _ => healthy(query),
        }
    });
    let more = format!("bearerTokenFile: '{}', headers: {{X-Scope-OrgID: team-a}},", token.name());
    let prometheus = with_long_query(&serve(router).await, &more);
    let readings = prometheus.read(&node_addresses()).await.unwrap();
    assert_eq!(readings.nodes.len(), 2);
    let requests = requests.lock().unwrap();
    assert!(requests.iter().all(|r| r.headers["x-scope-orgid"] == "team-a"));
    for expected in ["Bearer first", "Bearer second"] {
        assert!(requests.iter().any(|r| r.headers["authorization"] == expected), "{expected}");
    }
}
