//! Recorded responses of servers other than Prometheus 2: Prometheus 3.14, Thanos 0.42.4,
//! VictoriaMetrics 1.150, a VictoriaMetrics cluster 1.100 and Mimir of April 2026.

use insta::assert_snapshot;
use serde_json::json;

use super::{
    CannedResponse, NOW, healthy, json_of, node_addresses, prometheus, read_with, router, serve,
};

/// The error of a read in which nodeCpu gets this response.
async fn error_from(response: CannedResponse) -> String {
    let error = read_with("nodeCpu", move || response.clone()).await.unwrap_err();
    format!("[{}] {error}", error.kind())
}

fn plain(status: u16, text: &str) -> CannedResponse {
    (status, "text/plain; charset=utf-8", format!("{text}\n"))
}

/// A valid response to nodeCpu with one more field.
fn healthy_with(key: &str, value: serde_json::Value) -> CannedResponse {
    let mut response: serde_json::Value = serde_json::from_str(&healthy("nodeCpu").2).unwrap();
    response[key] = value;
    json_of(&response)
}

#[tokio::test]
async fn a_missing_or_surplus_path_prefix_is_recognised() {
    assert_snapshot!(error_from(plain(404, "404 page not found")).await,
        @"[absent] has no /api/v1/query (404): the url must be the address of Prometheus without \
            /api/v1, but with its prefix if it has one, such as /prometheus for Mimir or \
            /select/0/prometheus for a VictoriaMetrics cluster");
    let single = error_from(plain(
        400,
        r#"unsupported path requested: "/select/0/prometheus/api/v1/query""#,
    ));
    assert!(single.await.starts_with("[absent] has no /api/v1/query (400): "));
    for why in [
        "auth error: cannot parse accountID from \"v1\": strconv.ParseUint: parsing \"v1\": \
            invalid syntax",
        r#"unsupported path requested: "/select/0/api/v1/query""#,
    ] {
        let cluster = format!(
            "remoteAddr: \"127.0.0.1:50144\"; requestURI: /api/v1/query?query=nodeCpu&nocache=1; \
             {why}"
        );
        assert!(
            error_from(plain(400, &cluster))
                .await
                .starts_with("[absent] has no /api/v1/query (400): "),
            "{cluster}"
        );
    }
}

#[tokio::test]
async fn a_missing_tenant_is_not_reported_as_a_missing_password() {
    assert_snapshot!(error_from(plain(401, "no org id")).await,
        @"[unauthorized] requires a valid tenant (401: no org id); set it by `headers: \
            {X-Scope-OrgID: …}`");
    assert_snapshot!(error_from(plain(401,
        "tenant ID 'a/b' contains unsupported character '/'")).await,
            @"[unauthorized] requires a valid tenant (401: tenant ID 'a/b' contains unsupported \
                character '/'); set it by `headers: {X-Scope-OrgID: …}`");
    assert_snapshot!(error_from(plain(422, "too many tenant IDs present in the request. max: 1 \
        actual: 2")).await,
        @"[unauthorized] requires a valid tenant (422: too many tenant IDs present in the \
            request. max: 1 actual: 2); set it by `headers: {X-Scope-OrgID: …}`");
}

#[tokio::test]
async fn an_empty_result_names_the_tenant() {
    let empty = |query: &str| match query {
        "time()" => healthy(query),
        _ => json_of(&json!({"status": "success", "data": {"resultType": "vector", "result": []}})),
    };
    let prometheus = prometheus(&serve(router(empty).0).await, "headers: {x-scope-orgid: team-b},");
    assert_snapshot!(prometheus.read(&node_addresses()).await.unwrap_err(),
        @"returns no data for the query nodeCpu: does it scrape the kubelets at least twice in \
            2m, and is \"team-b\" the right tenant (x-scope-orgid)? check `scrapeInterval`, \
            `matchers` and `queries`");
}

/// VictoriaMetrics starts its message with the query, and a default query is longer than the part
/// that is shown.
#[tokio::test]
async fn the_query_does_not_displace_the_reason() {
    let query = format!("sum(node_cpu_usage_seconds_total{{id=\"{}\"}}", "/".repeat(400));
    let quoted = format!("{query:?}");
    let respond = move |query: &str| {
        if query == "time()" {
            return healthy(query);
        }
        let error = format!(
            "error when executing query={quoted} for (time={NOW}000, step=300000): unexpected end"
        );
        (
            400,
            "application/json",
            json!({"status": "error", "errorType": "400", "error": error}).to_string(),
        )
    };
    let mut prometheus = prometheus(&serve(router(respond).0).await, "");
    let policy = crate::policy::PrometheusPolicy {
        queries: crate::policy::Queries { node_cpu: query, ..prometheus.policy.queries.clone() },
        ..(*prometheus.policy).clone()
    };
    prometheus.policy = std::sync::Arc::new(policy);
    assert_snapshot!(prometheus.read(&node_addresses()).await.unwrap_err(),
        @"rejects the query nodeCpu: error when executing query=… for (time=1767225600000, \
            step=300000): unexpected end");
}

#[tokio::test]
async fn a_partial_result_is_an_error() {
    let part = healthy_with("isPartial", json!(true));
    assert_snapshot!(error_from(part).await,
        @"[partial] returns a partial result for the query nodeCpu, and missing usage would pass \
            for idle: isPartial: true");
    let denied = "error occured during search: cannot fetch query results from vmstorage nodes: \
        cannot perform search on vmstorage 127.0.0.1:23113";
    let denied = json!({"status": "error", "errorType": "503", "error": denied}).to_string();
    assert_snapshot!(error_from((503, "application/json", denied)).await,
        @"[broken] fails with status 503: error occured during search: cannot fetch query results \
            from vmstorage nodes: cannot perform search on vmstorage 127.0.0.1:23113");
    let whole = healthy_with("isPartial", json!(false));
    assert_eq!(read_with("nodeCpu", move || whole.clone()).await.unwrap().nodes.len(), 2);
}

/// Thanos fails instead of returning a partial result. Its query-frontend does the same, with JSON
/// labelled as plain text.
#[tokio::test]
async fn an_unavailable_store_is_named_by_thanos_and_by_its_frontend() {
    let error = "expanding series: proxy Series(): fetch series for \
        {cluster=\"a\", prometheus_replica=\"r2\"} Addr: 127.0.0.1:23043: rpc error: code = \
        Unavailable";
    let said = json!({"status": "error", "errorType": "execution", "error": error}).to_string();
    let (thanos, frontend) = (
        error_from((422, "application/json", said.clone())).await,
        error_from((422, "text/plain; charset=utf-8", said)).await,
    );
    assert_snapshot!(thanos,
        @"[refused] rejects the query nodeCpu: expanding series: proxy Series(): fetch series for \
            {cluster=\"a\", prometheus_replica=\"r2\"} Addr: 127.0.0.1:23043: rpc error: code = \
            Unavailable");
    assert_eq!(frontend, thanos);
    let limit = "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the \
        query resolution (?step=XX)";
    assert_snapshot!(error_from(plain(400, limit)).await,
        @"[refused] rejects the query nodeCpu: exceeded maximum resolution of 11,000 points per \
            timeseries. Try decreasing the query resolution (?step=XX)");
    let asleep = json!({"status": "error", "errorType": "execution", "error": "expanding series: \
        proxy Series(): No StoreAPIs available"});
    assert!(
        error_from((422, "application/json", asleep.to_string()))
            .await
            .ends_with("No StoreAPIs available")
    );
}

/// Prometheus 3 and Mimir separate remarks from warnings, Thanos does not.
#[tokio::test]
async fn a_remark_is_not_a_partial_result() {
    let remark = json!(["PromQL info: metric might not be a counter, name does not end in \
            _total/_sum/_count/_bucket: \"busy\" (1:6)"]);
    for key in ["infos", "warnings"] {
        let said = healthy_with(key, remark.clone());
        assert_eq!(
            read_with("nodeCpu", move || said.clone()).await.unwrap().nodes.len(),
            2,
            "{key}"
        );
    }
    let both = healthy_with("warnings", json!([remark[0], "store b: deadline exceeded"]));
    assert!(error_from(both).await.ends_with("store b: deadline exceeded"));
}

/// VictoriaMetrics hides the last 30 s by default.
#[tokio::test]
async fn every_query_asks_for_complete_and_present_results() {
    let (router, requests) = router(healthy);
    let prometheus = prometheus(&serve(router).await, "");
    prometheus.read(&node_addresses()).await.unwrap();
    for request in requests.lock().unwrap().iter() {
        let params = &request.params;
        let value = |name: &str| params.get(name).map(String::as_str);
        assert_eq!(
            [
                value("partial_response"),
                value("deny_partial_response"),
                value("latency_offset"),
                value("nocache")
            ],
            [Some("false"), Some("1"), Some("1s"), Some("1")],
            "{params:?}"
        );
    }
}
