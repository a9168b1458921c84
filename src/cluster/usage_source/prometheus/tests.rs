//! Reads from a fake Prometheus server that computes each response from the query.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Method, Response};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::error::PrometheusError;
use super::{Prometheus, response};
use crate::cluster::client::tests::served as serve;
use crate::model::snapshot::node_addresses::NodeAddresses;
use crate::model::usage::Readings;
use crate::policy::{self, Login, Policy, UsagePolicy};
use crate::values::Amount;

mod bad_responses;
mod clusters;
mod guards;
mod history;
mod requests;
mod servers;
mod tls;

/// The time of the fake server: 2026-01-01T00:00:00Z.
pub(crate) const NOW: i64 = 1_767_225_600;

/// The received requests, in order.
pub(crate) type RecordedRequests = Arc<Mutex<Vec<RecordedRequest>>>;

/// A request to the fake server. The parameters come from the URL or from the form.
pub(crate) struct RecordedRequest {
    method: Method,
    pub(crate) path: String,
    params: BTreeMap<String, String>,
    headers: HeaderMap,
}

/// Status, content type and body.
pub(crate) type CannedResponse = (u16, &'static str, String);

fn json_of(value: &Value) -> CannedResponse {
    (200, "application/json", value.to_string())
}

/// A server that responds to each query, which the policy of [`usage`] writes by its name.
pub(crate) fn router(
    respond: impl Fn(&str) -> CannedResponse + Clone + Send + Sync + 'static,
) -> (Router, RecordedRequests) {
    router_by(move |query, _, _| respond(query))
}

/// A server whose response depends on query, headers and method.
fn router_by(
    respond: impl Fn(&str, &HeaderMap, &Method) -> CannedResponse + Clone + Send + Sync + 'static,
) -> (Router, RecordedRequests) {
    router_by_request(move |request| {
        respond(&request.params["query"], &request.headers, &request.method)
    })
}

/// A server whose response depends on the parameters.
fn router_by_params(
    respond: impl Fn(&BTreeMap<String, String>) -> CannedResponse + Clone + Send + Sync + 'static,
) -> (Router, RecordedRequests) {
    router_by_request(move |request| respond(&request.params))
}

fn router_by_request(
    respond: impl Fn(&RecordedRequest) -> CannedResponse + Clone + Send + Sync + 'static,
) -> (Router, RecordedRequests) {
    let requests = RecordedRequests::default();
    let log = Arc::clone(&requests);
    let router = Router::new().fallback(move |request: Request| {
        let (log, respond) = (Arc::clone(&log), respond.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            let mut url = reqwest::Url::parse(&format!("http://p{}", parts.uri)).unwrap();
            if parts.method == Method::POST {
                url.set_query(Some(std::str::from_utf8(&body).unwrap()));
            }
            let recorded = RecordedRequest {
                method: parts.method,
                path: url.path().to_owned(),
                params: url.query_pairs().into_owned().collect(),
                headers: parts.headers,
            };
            let (status, kind, text) = respond(&recorded);
            log.lock().unwrap().push(recorded);
            Response::builder()
                .status(status)
                .header("content-type", kind)
                .body(Body::from(text))
                .unwrap()
        }
    });
    (router, requests)
}

/// A policy in which each query is the name of its field.
pub(crate) fn usage(url: &str, more: &str) -> UsagePolicy {
    let text = format!(
        "{{apiVersion: evenkeel/v1alpha1, kind: Policy, strategies: [removeDuplicates],
         usage: {{source: prometheus, smoothing: mean,
          prometheus: {{url: '{url}', retries: 0, timeout: 2s, {more}
          queries: {{nodeCpu: nodeCpu, nodeMemory: nodeMemory, nodeTime: nodeTime, podCpu: podCpu,
            podMemory: podMemory,
          podTime: podTime}}}}}}}}"
    );
    Policy::parse("policy.yaml", &text).unwrap_or_else(|e| panic!("{e}")).usage
}

fn prometheus(url: &str, more: &str) -> Prometheus {
    let usage = usage(url, more);
    Prometheus::new(usage.prometheus.clone().unwrap(), &usage)
}

pub(crate) fn node_addresses() -> NodeAddresses {
    let mut node_addresses = NodeAddresses::default();
    node_addresses.add("n1", &["10.0.0.1".to_owned()]);
    node_addresses.add("n2", &["10.0.0.2".to_owned()]);
    node_addresses
}

fn vector(result: &Value) -> CannedResponse {
    json_of(&json!({"status": "success", "data": {"resultType": "vector", "result": result}}))
}

fn matrix(result: &Value) -> CannedResponse {
    json_of(&json!({"status": "success", "data": {"resultType": "matrix", "result": result}}))
}

/// A vector of series, each with its labels and its value: `node=n1 instance=x:1 1.5; node=n2 2`.
fn series(text: &str) -> CannedResponse {
    let one = |text: &str| {
        let (labels, value) = text.rsplit_once(' ').unwrap_or(("", text));
        let labels = labels.split_whitespace().map(|label| label.split_once('=').unwrap());
        json!({"metric": labels.collect::<BTreeMap<_, _>>(), "value": point(value)})
    };
    vector(&text.split("; ").map(one).collect())
}

fn point(value: &str) -> Value {
    json!([NOW, value])
}

/// A valid response to each query: n1 and n2, with one pod on n1.
pub(crate) fn healthy(query: &str) -> CannedResponse {
    let node = |value: &str| {
        series(&format!("node=n1 instance=x:1 {value}; instance=10.0.0.2:9100 {value}"))
    };
    let pod = |value: &str| series(&format!("node=n1 namespace=shop pod=web {value}"));
    let taken = (NOW - 7).to_string();
    match query {
        "time()" => json_of(
            &json!({"status": "success", "data": {"resultType": "scalar", "result": point("0")}}),
        ),
        "nodeCpu" => node("1.5"),
        "nodeMemory" => node("2048"),
        "nodeTime" => node(&taken),
        "podCpu" => pod("0.25"),
        "podMemory" => pod("1024"),
        "podTime" => pod(&taken),
        other => panic!("unexpected query {other}"),
    }
}

/// Reads from a healthy server with another response to one query.
async fn read_with(
    query: &'static str,
    respond: impl Fn() -> CannedResponse + Clone + Send + Sync + 'static,
) -> Result<Readings, PrometheusError> {
    let (router, _) = router(move |name| if name == query { respond() } else { healthy(name) });
    prometheus(&serve(router).await, "").read(&node_addresses()).await
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

#[tokio::test]
async fn readings_have_the_time_of_measurement() {
    let (router, requests) = router(healthy);
    let readings = prometheus(&serve(router).await, "").read(&node_addresses()).await.unwrap();
    let n1 = readings.nodes["n1"];
    assert_eq!((n1.used.cpu, n1.used.memory), (Amount::millicores(1500), Amount::new(2048)));
    assert_eq!((n1.at, n1.window), (at(NOW - 7), SignedDuration::from_secs(30)));
    assert_eq!(readings.nodes["n2"], n1, "found by address, because the series has no other label");
    let web = ("shop".to_owned(), "web".to_owned());
    assert_eq!(
        (readings.pods[&web].used.cpu, readings.placed[&web].as_str()),
        (Amount::millicores(250), "n1")
    );
    assert_eq!(readings.skipped.count(), 0, "{:?}", readings.skipped);
    let requests = requests.lock().unwrap();
    assert_eq!(requests.len(), 7, "the time, then one query per figure");
    assert!(
        requests
            .iter()
            .skip(1)
            .all(|r| r.path == "/api/v1/query" && r.params["time"] == format!("{NOW}.000"))
    );
}

#[tokio::test]
async fn of_duplicate_series_the_largest_usage_counts() {
    let twice = || series("node=n1 instance=a:1 1; node=n1 instance=b:1 3; node=n1 instance=c:1 2");
    let readings = read_with("nodeCpu", twice).await.unwrap();
    assert_eq!(readings.nodes["n1"].used.cpu, Amount::millicores(3000));
    assert_eq!(
        readings.skipped.examples()[0].to_string(),
        r#"nodeCpu {instance="b:1",node="n1"} cannot be read: duplicate series (and 1 more)"#
    );
}

#[tokio::test]
async fn of_two_pods_with_one_name_the_one_measured_last_counts() {
    let both = |query: &str| {
        let of = |one: &str, other: &str| {
            let pod = "namespace=shop pod=web";
            series(&format!("node=n1 {pod} {one}; node=n2 {pod} {other}"))
        };
        match query {
            "podCpu" | "podMemory" => of("1", "2"),
            "podTime" => of(&(NOW - 200).to_string(), &(NOW - 5).to_string()),
            _ => healthy(query),
        }
    };
    let (router, _) = router(both);
    let readings = prometheus(&serve(router).await, "").read(&node_addresses()).await.unwrap();
    let web = ("shop".to_owned(), "web".to_owned());
    assert_eq!(
        (readings.pods[&web].used.cpu, readings.placed[&web].as_str()),
        (Amount::millicores(2000), "n2")
    );
    // The other one counts if the pod is on its node.
    let [(node, sample)] = &readings.elsewhere[&web][..] else {
        panic!("{:?}", readings.elsewhere);
    };
    assert_eq!((node.as_str(), sample.at), ("n1", at(NOW - 200)));
}

#[tokio::test]
async fn a_query_of_pods_may_lack_the_label_of_the_node() {
    let respond = |query: &str| match query {
        "podCpu" => series("namespace=shop pod=web 2"),
        "podMemory" => series("node=n1 namespace=shop pod=web 1"),
        "podTime" => series(&format!("node=n1 namespace=shop pod=web {NOW}")),
        _ => healthy(query),
    };
    let (router, _) = router(respond);
    let readings = prometheus(&serve(router).await, "").read(&node_addresses()).await.unwrap();
    let web = ("shop".to_owned(), "web".to_owned());
    assert!(readings.unreadable_pods.is_empty(), "{:?}", readings.unreadable_pods);
    assert_eq!(
        (readings.pods[&web].used.cpu, readings.placed[&web].as_str()),
        (Amount::millicores(2000), "n1")
    );
}

/// The readings since a time, of a cluster with few pods.
async fn read_past(
    prometheus: &Prometheus,
    since: Option<Timestamp>,
) -> Vec<(Timestamp, Readings)> {
    let mut past = Vec::new();
    let (addresses, take) = (node_addresses(), |at, readings| past.push((at, readings)));
    let read = prometheus.read_past(&addresses, since, 10, take);
    read.await.unwrap();
    past
}

#[tokio::test]
async fn the_past_is_read_by_one_range_query_per_figure() {
    let (router, requests) = router(|query| {
        if query == "time()" {
            return healthy(query);
        }
        // n1 is measured every 30 s, seven seconds before each evaluation time. One time in between
        // has no sample.
        let labels = json!({"node": "n1", "namespace": "shop", "pod": "web"});
        let moments: Vec<i64> =
            (0..=10).map(|i| NOW - 300 + 30 * i).filter(|t| *t != NOW - 150).collect();
        let value = |t: i64| {
            if query.ends_with("Time") { (t - 7).to_string() } else { "2".to_owned() }
        };
        let values: Vec<Value> = moments.iter().map(|t| json!([t, value(*t)])).collect();
        matrix(&json!([{"metric": labels, "values": values}]))
    });
    let prometheus = prometheus(&serve(router).await, "");
    let past = read_past(&prometheus, None).await;
    assert_eq!((past.len(), past[0].0, past[9].0), (10, at(NOW - 300), at(NOW)));
    assert!(past.is_sorted_by_key(|(at, _)| *at));
    assert_eq!(
        past[1].1.nodes["n1"].at,
        at(NOW - 277),
        "the time of measurement, not of evaluation"
    );
    let ranges: Vec<BTreeMap<String, String>> = requests
        .lock()
        .unwrap()
        .iter()
        .filter(|r| r.path == "/api/v1/query_range")
        .map(|r| r.params.clone())
        .collect();
    assert_eq!(ranges.len(), 6);
    assert_eq!(
        (ranges[0]["step"].as_str(), ranges[0]["start"].as_str()),
        ("30.000", "1767225300.000")
    );

    let since = Some(at(NOW - 100));
    read_past(&prometheus, since).await;
    assert_eq!(
        requests.lock().unwrap().last().unwrap().params["start"],
        (NOW - 90).to_string() + ".000",
        "only the unknown part"
    );
}

/// The steps of the past that are asked for if trends decide, as step, start and end in seconds
/// from now, of a cluster with so many nodes and pods. The time before the window cannot be read.
async fn steps_for_trends(since: Option<i64>, samples: usize) -> Vec<[i64; 3]> {
    let (router, requests) = router_by_params(|params| match params["query"].as_str() {
        "time()" => healthy("time()"),
        _ if params["step"] == "180.000" => (503, "text/plain", "busy".to_owned()),
        _ => matrix(&json!([{"metric": {"node": "n1", "namespace": "shop", "pod": "web"},
            "values": [[NOW, "2"]]}])),
    });
    let mut usage = usage(&serve(router).await, "");
    usage.smoothing = crate::policy::Smoothing::Trend;
    let prometheus = Prometheus::new(usage.prometheus.clone().unwrap(), &usage);
    let (addresses, mut found) = (node_addresses(), 0);
    let since = since.map(|ago| at(NOW - ago));
    let read = prometheus.read_past(&addresses, since, samples, |_, _| found += 1);
    read.await.unwrap();
    assert!(found > 0);
    let requests = requests.lock().unwrap();
    let asked = requests.iter().filter(|request| request.params["query"] == "nodeCpu");
    let number = |text: &str| text.split('.').next().unwrap().parse::<i64>().unwrap();
    let steps = asked.map(|request| {
        let time = |name: &str| NOW - number(&request.params[name]);
        [number(&request.params["step"]), time("start"), time("end")]
    });
    steps.collect()
}

#[tokio::test]
async fn trends_get_two_hours_in_steps_of_three_minutes_if_they_can_be_read() {
    assert_eq!(steps_for_trends(None, 10).await, [[180, 7140, 480], [30, 300, 0]]);
    assert_eq!(steps_for_trends(Some(1000), 10).await, [[180, 840, 480], [30, 300, 0]]);
    // Of many pods, ten steps.
    let of_many = steps_for_trends(None, 50_000).await;
    assert_eq!(of_many[..2], [[180, 2100, 2100], [30, 300, 300]]);
}

/// All steps of a large cluster would take a gigabyte at once.
#[tokio::test]
async fn the_past_of_many_pods_is_read_step_by_step() {
    let (router, requests) = router(|query| {
        if query == "time()" {
            return healthy(query);
        }
        let labels = json!({"node": "n1", "namespace": "shop", "pod": "web"});
        matrix(&json!([{"metric": labels, "values": [[NOW, "2"]]}]))
    });
    let prometheus = prometheus(&serve(router).await, "");
    let addresses = node_addresses();
    let read = prometheus.read_past(&addresses, None, 50_000, |_, _| {});
    read.await.unwrap();
    let requests = requests.lock().unwrap();
    let ranges = requests.iter().filter(|r| r.path == "/api/v1/query_range");
    let first: Vec<_> = ranges.take(6).map(|r| (&r.params["start"], &r.params["end"])).collect();
    assert!(first.iter().all(|(start, end)| start == end), "{first:?}");
}

#[tokio::test]
async fn values_whose_times_do_not_increase_are_dropped() {
    let (_, _, text) = matrix(&json!([{"metric": {"node": "n1"},
        "values": [[10, "1"], [30, "2"], [20, "3"], [30, "4"], [40, "NaN"], [50, "5"]]}]));
    let result = response::series("nodeCpu", &text).unwrap();
    assert_eq!(result.series[0].points, [(10_000, 1.0), (30_000, 2.0), (50_000, 5.0)]);
    assert_eq!(result.rejected.len(), 1);
}

#[tokio::test]
async fn a_body_above_the_limit_is_not_read() {
    let (router, _) = router(|query| match query {
        "nodeCpu" => (200, "application/json", " ".repeat(3 << 20)),
        _ => healthy(query),
    });
    let mut prometheus = prometheus(&serve(router).await, "");
    prometheus.client.largest_body = 1 << 20;
    let error = prometheus.read(&node_addresses()).await.unwrap_err();
    assert_eq!(error.to_string(), "returns more than 1 MiB; narrow the queries by `matchers`");
}

#[tokio::test]
async fn a_server_that_does_not_respond_is_an_error_within_the_timeout() {
    let url = serve(Router::new().fallback(std::future::pending::<()>)).await;
    let error = prometheus(&url, "").read(&node_addresses()).await.unwrap_err();
    assert_eq!(error, PrometheusError::Timeout(Duration::from_secs(2)));
    let nobody = prometheus("http://127.0.0.1:1", "").read(&node_addresses()).await.unwrap_err();
    assert!(nobody.to_string().contains("Connection refused"), "{nobody}");
}

#[tokio::test]
async fn only_temporary_errors_are_retried() {
    for (status, expected) in [(503, 3), (429, 3), (400, 1), (403, 1)] {
        let (router, requests) = router(move |_| (status, "text/plain", String::new()));
        let mut usage = usage(&serve(router).await, "");
        let policy = policy::PrometheusPolicy { retries: 2, ..usage.prometheus.take().unwrap() };
        assert!(Prometheus::new(policy, &usage).read(&node_addresses()).await.is_err());
        assert_eq!(requests.lock().unwrap().len(), expected, "{status}");
    }
}

#[tokio::test]
async fn a_failure_is_named_before_the_time_of_a_read_is_over() {
    let (router, requests) = router(move |_| (503, "text/plain", "busy".to_owned()));
    let mut usage = usage(&serve(router).await, "");
    usage.poll = SignedDuration::from_secs(1);
    let policy = policy::PrometheusPolicy { retries: 9, ..usage.prometheus.take().unwrap() };
    let error = Prometheus::new(policy, &usage).read(&node_addresses()).await.unwrap_err();
    assert_eq!(error.to_string(), "fails with status 503: busy");
    assert!(requests.lock().unwrap().len() > 1);
}

#[tokio::test]
async fn a_read_after_a_failure_succeeds() {
    let times = Arc::new(AtomicU32::new(0));
    let (router, _) = router(move |query| match times.fetch_add(1, Ordering::Relaxed) {
        0 => (500, "text/plain", String::new()),
        _ => healthy(query),
    });
    let prometheus = prometheus(&serve(router).await, "");
    assert!(prometheus.read(&node_addresses()).await.is_err());
    assert_eq!(prometheus.read(&node_addresses()).await.unwrap().nodes.len(), 2);
}

/// A file in the temporary directory, removed on drop.
struct TempFile(PathBuf);

impl TempFile {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("evenkeel-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        TempFile(path)
    }

    fn write(&self, text: &str) {
        std::fs::write(&self.0, text).unwrap();
    }

    fn name(&self) -> String {
        self.0.to_str().unwrap().to_owned()
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[tokio::test]
async fn a_replaced_token_is_used_without_a_restart() {
    let accepted = Arc::new(Mutex::new("Bearer one".to_owned()));
    let expected = Arc::clone(&accepted);
    let (guarded, _) = router_by(move |query, headers, _| {
        let known = headers.get("authorization").is_some_and(|a| *a == *expected.lock().unwrap());
        if known { healthy(query) } else { (401, "text/plain", "no".to_owned()) }
    });
    let url = serve(guarded).await;
    let token = TempFile::new("token", "one\n");
    let with_token = prometheus(&url, &format!("bearerTokenFile: '{}',", token.name()));
    assert!(with_token.read(&node_addresses()).await.is_ok());
    *accepted.lock().unwrap() = "Bearer two".to_owned();
    let refused = with_token.read(&node_addresses()).await.unwrap_err().to_string();
    assert_eq!(
        refused,
        format!("does not accept our credentials (401), read again from {}: no", token.name())
    );
    token.write("two");
    assert!(with_token.read(&node_addresses()).await.is_ok(), "without a restart");
    token.write("");
    let empty = with_token.read(&node_addresses()).await.unwrap_err().to_string();
    assert_eq!(
        empty,
        format!("cannot be queried: bearerTokenFile: cannot use {}: it is empty", token.name())
    );
    let without = prometheus(&url, "").read(&node_addresses()).await.unwrap_err().to_string();
    assert_eq!(
        without,
        "does not accept our credentials (401); set bearerTokenFile or basicAuth: no"
    );
    let missing = prometheus(&url, "bearerTokenFile: /nowhere/token,")
        .read(&node_addresses())
        .await
        .unwrap_err()
        .to_string();
    assert!(
        missing.contains(": bearerTokenFile: cannot use /nowhere/token: No such file"),
        "{missing}"
    );
}

#[tokio::test]
async fn password_and_tenant_are_sent_with_every_request() {
    let (router, requests) = router(healthy);
    let password = TempFile::new("password", "se:sam\n");
    let more = format!(
        "basicAuth: {{username: ali, passwordFile: '{}'}}, headers: {{X-Scope-OrgID: 'a|b'}},",
        password.name()
    );
    let prometheus = prometheus(&serve(router).await, &more);
    assert!(matches!(prometheus.policy.login, Some(Login::Basic { .. })));
    prometheus.read(&node_addresses()).await.unwrap();
    for request in requests.lock().unwrap().iter() {
        let headers = &request.headers;
        assert_eq!(
            (&headers["authorization"], &headers["x-scope-orgid"]),
            (&"Basic YWxpOnNlOnNhbQ==".parse().unwrap(), &"a|b".parse().unwrap())
        );
    }
}

/// Two series of the pod shop/web, one of which is measured by an exporter that is a pod itself.
fn exported(query: &str) -> CannedResponse {
    let of = |value: &str| {
        series(&format!(
            "node=n1 namespace=monitoring pod=exporter-7 exported_namespace=shop exported_pod=web \
             {value}"
        ))
    };
    match query {
        "podCpu" | "podMemory" => of("2"),
        "podTime" => of(&(NOW - 5).to_string()),
        _ => healthy(query),
    }
}

#[tokio::test]
async fn the_pods_own_labels_count_and_not_those_of_the_exporter() {
    let readings =
        prometheus(&serve(router(exported).0).await, "").read(&node_addresses()).await.unwrap();
    let pods: Vec<_> = readings.pods.keys().cloned().collect();
    assert_eq!(pods, [("shop".to_owned(), "web".to_owned())]);
    assert!(readings.remark.unwrap().contains("honor_labels"));
}

#[tokio::test]
async fn a_value_that_is_no_usage_is_the_reason_of_its_node() {
    for (value, why) in [
        ("-1", "nodeCpu: negative value"),
        ("NaN", "nodeCpu: NaN is not finite"),
        ("+Inf", "nodeCpu: +Inf is not finite"),
        ("4e15", "nodeCpu: 4e15, more than any machine has"),
    ] {
        let one = series(&format!("node=n1 {value}"));
        let readings = read_with("nodeCpu", move || one.clone()).await.unwrap();
        assert_eq!(&*readings.unreadable_nodes["n1"], why);
    }
}

#[tokio::test]
async fn everything_that_is_measured_uses_memory() {
    let nodes = read_with("nodeMemory", || series("node=n1 0")).await.unwrap();
    assert!(nodes.unreadable_nodes["n1"].contains("memory is 0"), "{nodes:?}");
    let pods = "node=n1 namespace=shop pod=web 0";
    let pods = read_with("podMemory", move || series(pods)).await.unwrap();
    assert!(pods.pods.is_empty() && pods.unreadable_pods.len() == 1, "{pods:?}");
}
