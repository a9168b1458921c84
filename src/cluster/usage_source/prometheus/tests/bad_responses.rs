//! A table of invalid responses and their consequences.

use insta::assert_snapshot;
use proptest::prelude::{any, prop_assert, proptest};
use serde_json::json;

use super::super::response as parsed;
use super::{CannedResponse, NOW, read_with, series};

/// Each row replaces one response of a healthy server: description, query, response. A response is
/// the result of a vector, as series or as JSON, `data` and the data, or status, type and body.
const TABLE: &str = r#"
not a number | nodeCpu | node=n1 NaN
infinity | nodeCpu | node=n1 +Inf
a negative number | nodeCpu | node=n1 -0.5
more than any machine has | nodeCpu | node=n1 1e30
a word | nodeMemory | node=n1 much
a value that is not a string | nodeMemory | [{"metric": {"node": "n1"}, "value": [NOW, 5]}]
not a pair | nodeMemory | [{"metric": {"node": "n1"}, "value": [NOW]}]
a time that is not a number | nodeMemory | [{"metric": {"node": "n1"}, "value": ["soon", "5"]}]
a native histogram | nodeMemory | [{"metric": {"node": "n1"}, "histogram": [NOW, {}]}]
an item that is not a series | nodeMemory | [7]
no node label | nodeMemory | 5
a node of another cluster | nodeMemory | node=x instance=10.0.0.1:1 5
a time beyond every clock | nodeTime | node=n1 1e300
a pod without a namespace | podCpu | pod=web 5
a scalar | nodeCpu | data {"resultType": "scalar", "result": [NOW, "5"]}
a string | nodeCpu | data {"resultType": "string", "result": [NOW, "5"]}
an empty result | podCpu | []
a partial result | nodeCpu | 200 application/json {"status": "success", "data": {"resultType": "vector", "result": [{"metric": {"node": "n1"}, "value": [NOW, "5"]}]}, "warnings": ["store b: deadline exceeded"]}
an error with status 200 | nodeCpu | 200 application/json {"status": "error", "errorType": "execution", "error": "too many\nsamples"}
a rejected query | nodeCpu | 400 application/json {"status": "error", "errorType": "bad_data", "error": "1:3: parse error"}
no data | nodeCpu | 200 application/json {"status": "success"}
not a list | nodeCpu | data {"resultType": "vector", "result": {}}
a truncated body | nodeCpu | 200 application/json {"status":"success","data":{"resultType":"vector","result":[{"metric":{"node":"n1"
control characters | nodeCpu | 200 application/json CONTROL
an empty body | nodeCpu | 200 application/json
a login page | nodeCpu | 200 text/html;charset=utf-8 <html>Log in</html>
a result as plain text | nodeCpu | 200 text/plain {"status": "success", "data": {"resultType": "vector", "result": []}}
a redirect | nodeCpu | 302 text/html
forbidden | nodeCpu | 403 text/plain no
an unknown path | nodeCpu | 404 text/plain 404 page not found
too many requests | nodeCpu | 429 text/plain
an overloaded server | nodeCpu | 503 application/json {"status": "error", "errorType": "timeout", "error": "query timed out"}
a bad gateway | nodeCpu | 502 text/html <html>
no time | time() | data {"resultType": "vector", "result": []}
"#;

fn response(text: &'static str) -> CannedResponse {
    let json = |text: &str| text.replace("NOW", &NOW.to_string());
    let success = |data: &str| format!("{{\"status\": \"success\", \"data\": {}}}", json(data));
    if text.starts_with('[') {
        let data = format!("{{\"resultType\": \"vector\", \"result\": {text}}}");
        return (200, "application/json", success(&data));
    }
    if let Some(data) = text.strip_prefix("data ") {
        return (200, "application/json", success(data));
    }
    let mut parts = text.splitn(3, ' ');
    match parts.next().and_then(|status| status.parse().ok()).filter(|status| *status >= 200) {
        None => series(text),
        Some(status) => {
            let kind = parts.next().unwrap();
            let body = json(parts.next().unwrap_or_default());
            (status, kind, body.replace("CONTROL", "\u{0}\u{1}"))
        }
    }
}

#[expect(clippy::too_many_lines, reason = "a table")]
#[tokio::test]
async fn no_invalid_response_becomes_usage() {
    let mut results = String::new();
    for row in TABLE.trim().lines() {
        let [what, query, text] = row.split(" | ").collect::<Vec<_>>().try_into().unwrap();
        let result = match read_with(query, move || response(text)).await {
            Err(error) => format!("[{}] {error}", error.kind()),
            Ok(readings) => {
                // The invalid figure is missing, the others are present, and the reason is listed.
                let (nodes, pods) = (readings.nodes.len(), readings.pods.len());
                let (readable, others) =
                    if query.starts_with("pod") { (pods, nodes) } else { (nodes, pods) };
                assert_eq!(readable, 0, "{what}: {readings:?}");
                assert!(others > 0 && readings.skipped.count() > 0, "{what}: {readings:?}");
                readings.skipped.examples()[0].to_string()
            }
        };
        results.extend([what, ": ", &result, "\n"]);
    }
    assert_snapshot!(results, @"
    not a number: nodeCpu {node=\"n1\"} cannot be read: NaN is not finite
    infinity: nodeCpu {node=\"n1\"} cannot be read: +Inf is not finite
    a negative number: nodeCpu {node=\"n1\"} cannot be read: negative value
    more than any machine has: nodeCpu {node=\"n1\"} cannot be read: more than any machine has
    a word: nodeMemory {node=\"n1\"} cannot be read: much is not a number
    a value that is not a string: nodeMemory {node=\"n1\"} cannot be read: the value is not a string
    not a pair: nodeMemory {node=\"n1\"} cannot be read: not a pair of time and value
    a time that is not a number: nodeMemory {node=\"n1\"} cannot be read: invalid time
    a native histogram: nodeMemory {node=\"n1\"} cannot be read: no value, perhaps a native \
        histogram
    an item that is not a series: nodeMemory {} cannot be read: not a series
    no node label: [foreign] returns no series of this cluster for the query nodeMemory, only \
        others such as {} (no label names the node): does it store this cluster, do `matchers` \
        select it, and do `nodeLabels` name the label of the node?
    a node of another cluster: [foreign] returns no series of this cluster for the query \
        nodeMemory, only others such as {instance=\"10.0.0.1:1\",node=\"x\"} (not a node of this \
        cluster): does it store this cluster, do `matchers` select it, and do `nodeLabels` name \
        the label of the node?
    a time beyond every clock: nodeTime {node=\"n1\"} cannot be read: invalid time
    a pod without a namespace: [foreign] returns no series of this cluster for the query podCpu, \
        only others such as {pod=\"web\"} (no labels namespace and pod): does it store this \
        cluster, do `matchers` select it, and do `nodeLabels` name the label of the node?
    a scalar: [nonsense] returns a scalar for the query nodeCpu, expected a vector of series
    a string: [nonsense] returns a string for the query nodeCpu, expected a vector of series
    an empty result: [empty] returns no data for the query podCpu: does it scrape the kubelets at \
        least twice in 2m? check `scrapeInterval`, `matchers` and `queries`
    a partial result: [partial] returns a partial result for the query nodeCpu, and missing usage \
        would pass for idle: store b: deadline exceeded
    an error with status 200: [refused] rejects the query nodeCpu: execution: too many samples
    a rejected query: [refused] rejects the query nodeCpu: 1:3: parse error
    no data: [nonsense] returns an invalid response: no `data`
    not a list: [nonsense] returns no list of series for the query nodeCpu, expected a vector of \
        series
    a truncated body: [nonsense] returns an invalid response: EOF while parsing an object at line \
        1 column 82
    control characters: [nonsense] returns an invalid response: expected value at line 1 column 1
    an empty body: [nonsense] returns an invalid response: EOF while parsing a value at line 1 \
        column 0
    a login page: [nonsense] returns text/html;charset=utf-8 instead of JSON: is the url that of \
        Prometheus, and is a login page in front of it?
    a result as plain text: [nonsense] returns text/plain instead of JSON: is the url that of \
        Prometheus, and is a login page in front of it?
    a redirect: [nonsense] redirects to another address; if that is Prometheus, set it as url
    forbidden: [forbidden] denies the query (403): no
    an unknown path: [absent] has no /api/v1/query (404): the url must be the address of \
        Prometheus without /api/v1, but with its prefix if it has one, such as /prometheus for \
        Mimir or /select/0/prometheus for a VictoriaMetrics cluster
    too many requests: [broken] fails with status 429: Too Many Requests
    an overloaded server: [broken] fails with status 503: query timed out
    a bad gateway: [broken] fails with status 502: Bad Gateway
    no time: [nonsense] returns a vector for the query time(), expected a scalar
    ");
}

proptest! {
    #[test]
    fn no_response_panics_and_every_value_is_finite_and_not_negative(
        text in ".{0,40}", number in any::<f64>(), label in "[a-z\"{}]{0,6}", choice in 0..6,
    ) {
        let value = match choice {
            0 => json!([number, text]), 1 => json!([NOW, number.to_string()]), 2 => json!([NOW,
                text]),
            3 => json!([text, number]), 4 => json!(text), _ => json!([NOW, "1", number]),
        };
        let item = json!({"metric": {label: text.clone()}, "value": value.clone(),
            "values": [value.clone(), value]});
        let body = json!({"status": "success", "data": {"resultType": "vector", "result": [item,
            text.clone()]}});
        for body in [body.to_string(), text] {
            let series = parsed::series("nodeCpu", &body).map(|r| r.series).unwrap_or_default();
            let mut points = series.iter().flat_map(|s| &s.points);
            prop_assert!(points.all(|(_, v)| v.is_finite() && *v >= 0.0), "{}", body);
        }
    }
}
