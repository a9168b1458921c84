//! A Prometheus played by a function of the query: what is answered well, badly, slowly, and by whom it is asked.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Response};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::trouble::Trouble;
use super::{Prometheus, answer};
use crate::model::snapshot::node_addresses::NodeAddresses;
use crate::model::usage::Readings;
use crate::policy::{self, Login, Policy, UsagePolicy};
use crate::values::Amount;

mod bad_answers;
mod clusters;
mod kinds;
mod tls;

/// When the played Prometheus is asked: 2026-01-01T00:00:00Z.
pub(crate) const NOW: i64 = 1_767_225_600;

/// What was asked: the path, the parameters, the headers.
pub(crate) type Asked = Arc<Mutex<Vec<(String, BTreeMap<String, String>, HeaderMap)>>>;

/// Status, content type, body.
pub(crate) type Said = (u16, &'static str, String);

fn json_of(value: &Value) -> Said {
    (200, "application/json", value.to_string())
}

/// A router that answers each query by its name in the policy of [`policy`].
pub(crate) fn router(
    answer: impl Fn(&str) -> Said + Clone + Send + Sync + 'static,
) -> (Router, Asked) {
    router_by(move |query, _| answer(query))
}

/// The same by who asks.
fn router_by(
    answer: impl Fn(&str, &HeaderMap) -> Said + Clone + Send + Sync + 'static,
) -> (Router, Asked) {
    let asked = Asked::default();
    let log = Arc::clone(&asked);
    let router = Router::new().fallback(move |request: Request| {
        let (log, answer) = (Arc::clone(&log), answer.clone());
        async move {
            let url = reqwest::Url::parse(&format!("http://p{}", request.uri())).unwrap();
            let params: BTreeMap<String, String> = url.query_pairs().into_owned().collect();
            let query = params["query"].clone();
            let headers = request.headers().clone();
            let (status, kind, text) = answer(&query, &headers);
            log.lock()
                .unwrap()
                .push((url.path().to_owned(), params, headers));
            Response::builder()
                .status(status)
                .header("content-type", kind)
                .body(Body::from(text))
                .unwrap()
        }
    });
    (router, asked)
}

pub(crate) async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

/// A policy whose queries are called as their fields are.
pub(crate) fn usage(url: &str, more: &str) -> UsagePolicy {
    let text = format!(
        "{{apiVersion: evenkeel/v1alpha1, kind: Policy, strategies: [removeDuplicates], usage: {{source: prometheus,
          prometheus: {{url: '{url}', retries: 0, timeout: 2s, {more}
          queries: {{nodeCpu: nodeCpu, nodeMemory: nodeMemory, nodeTime: nodeTime, podCpu: podCpu, podMemory: podMemory,
          podTime: podTime}}}}}}}}"
    );
    Policy::parse("policy.yaml", &text)
        .unwrap_or_else(|e| panic!("{e}"))
        .usage
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

fn vector(result: &Value) -> Said {
    json_of(&json!({"status": "success", "data": {"resultType": "vector", "result": result}}))
}

fn point(value: &str) -> Value {
    json!([NOW, value])
}

/// A healthy answer to each query: n1 and n2 with one pod on n1.
pub(crate) fn healthy(query: &str) -> Said {
    let node = |value: &str| {
        let of = |labels: Value| json!({"metric": labels, "value": point(value)});
        vector(&json!([
            of(json!({"node": "n1", "instance": "x:1"})),
            of(json!({"instance": "10.0.0.2:9100"}))
        ]))
    };
    let pod = |value: &str| {
        let labels = json!({"node": "n1", "namespace": "shop", "pod": "web"});
        vector(&json!([{"metric": labels, "value": point(value)}]))
    };
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
        other => panic!("nobody asks for {other}"),
    }
}

/// Reads from a healthy Prometheus that answers one query otherwise.
async fn read_with(
    query: &'static str,
    said: impl Fn() -> Said + Clone + Send + Sync + 'static,
) -> Result<Readings, Trouble> {
    let (router, _) = router(move |asked| {
        if asked == query {
            said()
        } else {
            healthy(asked)
        }
    });
    prometheus(&serve(router).await, "")
        .read(&node_addresses())
        .await
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

#[tokio::test]
async fn nodes_and_pods_are_read_with_the_time_at_which_they_were_measured() {
    let (router, asked) = router(healthy);
    let readings = prometheus(&serve(router).await, "")
        .read(&node_addresses())
        .await
        .unwrap();
    let n1 = readings.nodes["n1"];
    assert_eq!(
        (n1.used.cpu, n1.used.memory),
        (Amount::millicores(1500), Amount::new(2048))
    );
    assert_eq!(
        (n1.at, n1.window),
        (at(NOW - 7), SignedDuration::from_secs(30))
    );
    assert_eq!(
        readings.nodes["n2"], n1,
        "by its address, for it has no other label"
    );
    let web = ("shop".to_owned(), "web".to_owned());
    assert_eq!(
        (readings.pods[&web].used.cpu, readings.placed[&web].as_str()),
        (Amount::millicores(250), "n1")
    );
    assert!(readings.skipped.is_empty(), "{:?}", readings.skipped);
    let asked = asked.lock().unwrap();
    assert_eq!(
        asked.len(),
        7,
        "the time, and one query for each sort of figure"
    );
    assert!(
        asked
            .iter()
            .skip(1)
            .all(|(path, p, _)| path == "/api/v1/query" && p["time"] == format!("{NOW}.000"))
    );
}

#[tokio::test]
async fn what_is_told_twice_is_taken_with_care() {
    let twice = || {
        let of = |instance: &str, value: &str| json!({"metric": {"node": "n1", "instance": instance}, "value": point(value)});
        vector(&json!([of("a:1", "1"), of("b:1", "3"), of("c:1", "2")]))
    };
    let readings = read_with("nodeCpu", twice).await.unwrap();
    assert_eq!(readings.nodes["n1"].used.cpu, Amount::millicores(3000));
    assert_eq!(
        readings.skipped[0].to_string(),
        r#"nodeCpu {instance="b:1",node="n1"} cannot be read: told twice, and so are 1 more"#
    );
}

#[tokio::test]
async fn of_namesakes_on_two_nodes_the_one_that_was_measured_last_counts() {
    let both = |query: &str| {
        let of = |node: &str, value: &str| json!({"metric": {"node": node, "namespace": "shop", "pod": "web"}, "value": point(value)});
        match query {
            "podCpu" | "podMemory" => vector(&json!([of("n1", "1"), of("n2", "2")])),
            "podTime" => vector(&json!([
                of("n1", &(NOW - 200).to_string()),
                of("n2", &(NOW - 5).to_string())
            ])),
            _ => healthy(query),
        }
    };
    let (router, _) = router(both);
    let readings = prometheus(&serve(router).await, "")
        .read(&node_addresses())
        .await
        .unwrap();
    let web = ("shop".to_owned(), "web".to_owned());
    assert_eq!(
        (readings.pods[&web].used.cpu, readings.placed[&web].as_str()),
        (Amount::millicores(2000), "n2")
    );
}

#[tokio::test]
async fn the_past_is_read_by_one_query_for_each_sort_of_figure() {
    let (router, asked) = router(|query| {
        if query == "time()" {
            return healthy(query);
        }
        // n1 was measured each half minute, seven seconds before the moments that are asked about, and is not told of at one moment in between.
        let labels = json!({"node": "n1", "namespace": "shop", "pod": "web"});
        let moments: Vec<i64> = (0..=10)
            .map(|i| NOW - 300 + 30 * i)
            .filter(|t| *t != NOW - 150)
            .collect();
        let value = |t: i64| {
            if query.ends_with("Time") {
                (t - 7).to_string()
            } else {
                "2".to_owned()
            }
        };
        let values: Vec<Value> = moments.iter().map(|t| json!([t, value(*t)])).collect();
        json_of(
            &json!({"status": "success", "data": {"resultType": "matrix", "result": [{"metric": labels, "values": values}]}}),
        )
    });
    let prometheus = prometheus(&serve(router).await, "");
    let past = prometheus.read_past(&node_addresses(), None).await.unwrap();
    assert_eq!(
        (past.len(), past[0].0, past[9].0),
        (10, at(NOW - 300), at(NOW))
    );
    assert!(past.is_sorted_by_key(|(at, _)| *at));
    assert_eq!(
        past[1].1.nodes["n1"].at,
        at(NOW - 277),
        "when it was measured, not when it was asked for"
    );
    let ranges: Vec<BTreeMap<String, String>> = asked
        .lock()
        .unwrap()
        .iter()
        .filter(|a| a.0 == "/api/v1/query_range")
        .map(|a| a.1.clone())
        .collect();
    assert_eq!(ranges.len(), 6);
    assert_eq!(
        (ranges[0]["step"].as_str(), ranges[0]["start"].as_str()),
        ("30.000", "1767225300.000")
    );

    let since = Some(at(NOW - 100));
    prometheus
        .read_past(&node_addresses(), since)
        .await
        .unwrap();
    assert_eq!(
        asked.lock().unwrap().last().unwrap().1["start"],
        (NOW - 90).to_string() + ".000",
        "only what is not known"
    );
}

#[tokio::test]
async fn values_that_do_not_follow_each_other_in_time_are_left_out() {
    let text = json!({"status": "success", "data": {"resultType": "matrix", "result": [
        {"metric": {"node": "n1"}, "values": [[10, "1"], [30, "2"], [20, "3"], [30, "4"], [40, "NaN"], [50, "5"]]}]}});
    let answer = answer::series("nodeCpu", &text.to_string()).unwrap();
    assert_eq!(
        answer.series[0].points,
        [(10_000, 1.0), (30_000, 2.0), (50_000, 5.0)]
    );
    assert_eq!(answer.refused.len(), 1);
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_to_the_end() {
    let (router, _) = router(|query| match query {
        "nodeCpu" => (200, "application/json", " ".repeat(3 << 20)),
        _ => healthy(query),
    });
    let mut prometheus = prometheus(&serve(router).await, "");
    prometheus.asker = prometheus.asker.at_most(1 << 20);
    let trouble = prometheus.read(&node_addresses()).await.unwrap_err();
    assert_eq!(
        trouble.to_string(),
        "answers with more than 1 MiB; narrow the query by `matchers`"
    );
}

#[tokio::test]
async fn whoever_does_not_answer_is_not_waited_for() {
    let url = serve(Router::new().fallback(std::future::pending::<()>)).await;
    let trouble = prometheus(&url, "")
        .read(&node_addresses())
        .await
        .unwrap_err();
    assert_eq!(trouble, Trouble::Slow(Duration::from_secs(2)));
    let nobody = prometheus("http://127.0.0.1:1", "")
        .read(&node_addresses())
        .await
        .unwrap_err();
    assert!(
        nobody.to_string().contains("Connection refused"),
        "{nobody}"
    );
}

#[tokio::test]
async fn what_may_pass_is_asked_again_and_what_may_not_is_not() {
    for (status, expected) in [(503, 3), (429, 3), (400, 1), (403, 1)] {
        let (router, asked) = router(move |_| (status, "text/plain", String::new()));
        let mut usage = usage(&serve(router).await, "");
        let policy = policy::Prometheus {
            retries: 2,
            ..usage.prometheus.take().unwrap()
        };
        assert!(
            Prometheus::new(policy, &usage)
                .read(&node_addresses())
                .await
                .is_err()
        );
        assert_eq!(asked.lock().unwrap().len(), expected, "{status}");
    }
}

#[tokio::test]
async fn it_recovers_by_itself() {
    let times = Arc::new(AtomicU32::new(0));
    let (router, _) = router(move |query| match times.fetch_add(1, Ordering::Relaxed) {
        0 => (500, "text/plain", String::new()),
        _ => healthy(query),
    });
    let prometheus = prometheus(&serve(router).await, "");
    assert!(prometheus.read(&node_addresses()).await.is_err());
    assert_eq!(
        prometheus
            .read(&node_addresses())
            .await
            .unwrap()
            .nodes
            .len(),
        2
    );
}

/// A file of this test's own, gone with it.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("evenkeel-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        File(path)
    }

    fn write(&self, text: &str) {
        std::fs::write(&self.0, text).unwrap();
    }

    fn name(&self) -> String {
        self.0.to_str().unwrap().to_owned()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[tokio::test]
async fn a_token_that_was_replaced_is_read_anew() {
    let accepted = Arc::new(Mutex::new("Bearer one".to_owned()));
    let expected = Arc::clone(&accepted);
    let (guarded, _) = router_by(move |query, headers| {
        let known = headers
            .get("authorization")
            .is_some_and(|a| *a == *expected.lock().unwrap());
        if known {
            healthy(query)
        } else {
            (401, "text/plain", "no".to_owned())
        }
    });
    let url = serve(guarded).await;
    let token = File::new("token", "one\n");
    let with_token = prometheus(&url, &format!("bearerTokenFile: '{}',", token.name()));
    assert!(with_token.read(&node_addresses()).await.is_ok());
    *accepted.lock().unwrap() = "Bearer two".to_owned();
    let refused = with_token
        .read(&node_addresses())
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(
        refused,
        format!(
            "does not accept our credentials (401), which were read anew from {}: no",
            token.name()
        )
    );
    token.write("two");
    assert!(
        with_token.read(&node_addresses()).await.is_ok(),
        "without a restart"
    );
    token.write("");
    let empty = with_token
        .read(&node_addresses())
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(
        empty,
        format!("bearerTokenFile: cannot use {}: it is empty", token.name())
    );
    let without = prometheus(&url, "")
        .read(&node_addresses())
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(
        without,
        "does not accept our credentials (401); write bearerTokenFile or basicAuth: no"
    );
    let missing = prometheus(&url, "bearerTokenFile: /nowhere/token,")
        .read(&node_addresses())
        .await
        .unwrap_err()
        .to_string();
    assert!(
        missing.starts_with("bearerTokenFile: cannot use /nowhere/token: No such file"),
        "{missing}"
    );
}

#[tokio::test]
async fn a_password_and_the_tenant_are_sent() {
    let (router, asked) = router(healthy);
    let word = File::new("password", "se:sam\n");
    let more = format!(
        "basicAuth: {{username: ali, passwordFile: '{}'}}, headers: {{X-Scope-OrgID: 'a|b'}},",
        word.name()
    );
    let it = prometheus(&serve(router).await, &more);
    assert!(matches!(it.policy.login, Some(Login::Basic { .. })));
    it.read(&node_addresses()).await.unwrap();
    for (_, _, headers) in asked.lock().unwrap().iter() {
        assert_eq!(
            (&headers["authorization"], &headers["x-scope-orgid"]),
            (
                &"Basic YWxpOnNlOnNhbQ==".parse().unwrap(),
                &"a|b".parse().unwrap()
            )
        );
    }
}
