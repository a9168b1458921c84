//! A table of invalid responses and their consequences.

use insta::assert_snapshot;
use proptest::prelude::{any, prop_assert, proptest};
use serde_json::{Value, json};

use super::super::response;
use super::{CannedResponse, NOW, healthy, json_of, point, read_with, vector};

/// Each row replaces one response of a healthy server: description, query, response.
#[expect(clippy::too_many_lines, reason = "a table")]
#[tokio::test]
async fn no_invalid_response_becomes_usage() {
    let n1 = |value: Value| json!({"metric": {"node": "n1"}, "value": value});
    let success = |data: Value| json_of(&json!({"status": "success", "data": data}));
    let body = |text: &str| (200, "application/json", text.to_owned());
    let series = |items: Vec<Value>| vector(&Value::Array(items));
    let table: Vec<(&'static str, &'static str, CannedResponse)> = vec![
        ("not a number", "nodeCpu", series(vec![n1(point("NaN"))])),
        ("infinity", "nodeCpu", series(vec![n1(point("+Inf"))])),
        (
            "a negative number",
            "nodeCpu",
            series(vec![n1(point("-0.5"))]),
        ),
        (
            "more than any machine has",
            "nodeCpu",
            series(vec![n1(point("1e30"))]),
        ),
        ("a word", "nodeMemory", series(vec![n1(point("much"))])),
        (
            "a value that is not a string",
            "nodeMemory",
            series(vec![n1(json!([NOW, 5]))]),
        ),
        ("not a pair", "nodeMemory", series(vec![n1(json!([NOW]))])),
        (
            "a time that is not a number",
            "nodeMemory",
            series(vec![n1(json!(["soon", "5"]))]),
        ),
        (
            "a native histogram",
            "nodeMemory",
            series(vec![
                json!({"metric": {"node": "n1"}, "histogram": [NOW, {}]}),
            ]),
        ),
        (
            "an item that is not a series",
            "nodeMemory",
            series(vec![json!(7)]),
        ),
        (
            "no node label",
            "nodeMemory",
            series(vec![json!({"metric": {}, "value": point("5")})]),
        ),
        (
            "a node of another cluster",
            "nodeMemory",
            series(vec![
                json!({"metric": {"node": "x", "instance": "10.0.0.1:1"}, "value": point("5")}),
            ]),
        ),
        (
            "a time beyond every clock",
            "nodeTime",
            series(vec![n1(point("1e300"))]),
        ),
        (
            "a pod without a namespace",
            "podCpu",
            series(vec![json!({"metric": {"pod": "web"}, "value": point("5")})]),
        ),
        (
            "a scalar",
            "nodeCpu",
            success(json!({"resultType": "scalar", "result": point("5")})),
        ),
        (
            "a string",
            "nodeCpu",
            success(json!({"resultType": "string", "result": point("5")})),
        ),
        ("an empty result", "podCpu", series(vec![])),
        (
            "a partial result",
            "nodeCpu",
            json_of(
                &json!({"status": "success", "data": {"resultType": "vector", "result": [n1(point("5"))]}, "warnings": ["store b: deadline exceeded"]}),
            ),
        ),
        (
            "an error with status 200",
            "nodeCpu",
            json_of(
                &json!({"status": "error", "errorType": "execution", "error": "too many\nsamples"}),
            ),
        ),
        (
            "a rejected query",
            "nodeCpu",
            (
                400,
                "application/json",
                json!({"status": "error", "errorType": "bad_data", "error": "1:3: parse error"})
                    .to_string(),
            ),
        ),
        ("no data", "nodeCpu", json_of(&json!({"status": "success"}))),
        (
            "not a list",
            "nodeCpu",
            success(json!({"resultType": "vector", "result": {}})),
        ),
        (
            "a truncated body",
            "nodeCpu",
            body(
                r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{"node":"n1""#,
            ),
        ),
        ("control characters", "nodeCpu", body("\u{0}\u{1}")),
        ("an empty body", "nodeCpu", body("")),
        (
            "a login page",
            "nodeCpu",
            (
                200,
                "text/html; charset=utf-8",
                "<html>Log in</html>".to_owned(),
            ),
        ),
        (
            "a result as plain text",
            "nodeCpu",
            (200, "text/plain", healthy("nodeCpu").2),
        ),
        ("a redirect", "nodeCpu", (302, "text/html", String::new())),
        ("forbidden", "nodeCpu", (403, "text/plain", "no".to_owned())),
        (
            "an unknown path",
            "nodeCpu",
            (404, "text/plain", "404 page not found".to_owned()),
        ),
        (
            "too many requests",
            "nodeCpu",
            (429, "text/plain", String::new()),
        ),
        (
            "an overloaded server",
            "nodeCpu",
            (
                503,
                "application/json",
                json!({"status": "error", "errorType": "timeout", "error": "query timed out"})
                    .to_string(),
            ),
        ),
        (
            "a bad gateway",
            "nodeCpu",
            (502, "text/html", "<html>".to_owned()),
        ),
        (
            "no time",
            "time()",
            success(json!({"resultType": "vector", "result": []})),
        ),
    ];
    assert!(table.len() >= 20);
    let mut results = String::new();
    for (what, query, response) in table {
        let result = match read_with(query, move || response.clone()).await {
            Err(error) => format!("[{}] {error}", error.kind()),
            Ok(readings) => {
                // The invalid figure is missing, the others are present, and the reason is listed.
                let readable = if query.starts_with("pod") {
                    readings.pods.len()
                } else {
                    readings.nodes.len()
                };
                assert_eq!(readable, 0, "{what}: {readings:?}");
                let others = if query.starts_with("pod") {
                    readings.nodes.len()
                } else {
                    readings.pods.len()
                };
                assert!(
                    others > 0 && !readings.skipped.is_empty(),
                    "{what}: {readings:?}"
                );
                readings.skipped[0].to_string()
            }
        };
        results.extend([what, ": ", &result, "\n"]);
    }
    assert_snapshot!(results, @r#"
    not a number: nodeCpu {node="n1"} cannot be read: NaN is no amount
    infinity: nodeCpu {node="n1"} cannot be read: +Inf is no amount
    less than nothing: nodeCpu {node="n1"} cannot be read: less than nothing
    more than any machine has: nodeCpu {node="n1"} cannot be read: more than any machine has
    a word: nodeMemory {node="n1"} cannot be read: much is no number
    a number without quotes: nodeMemory {node="n1"} cannot be read: a value that is no text
    no pair: nodeMemory {node="n1"} cannot be read: no pair of time and value
    a time that is none: nodeMemory {node="n1"} cannot be read: no time
    a native histogram: nodeMemory {node="n1"} cannot be read: no number, but perhaps a histogram
    an item that is no series: nodeMemory {} cannot be read: no series
    no label of a node: [foreign] answers the query nodeMemory with nothing about this cluster, but with {} (no label that tells the node): does it hold this cluster, do `matchers` choose it, and do `nodeLabels` name the label of the node?
    a node of another cluster: [foreign] answers the query nodeMemory with nothing about this cluster, but with {instance="10.0.0.1:1",node="x"} (no node of this cluster): does it hold this cluster, do `matchers` choose it, and do `nodeLabels` name the label of the node?
    a time that is past all clocks: nodeTime {node="n1"} cannot be read: no time
    a pod without a namespace: [foreign] answers the query podCpu with nothing about this cluster, but with {pod="web"} (no labels namespace and pod): does it hold this cluster, do `matchers` choose it, and do `nodeLabels` name the label of the node?
    a scalar: [nonsense] answers the query nodeCpu with scalar, where a vector of series is needed
    a string: [nonsense] answers the query nodeCpu with string, where a vector of series is needed
    nothing: [empty] gives nothing for the query podCpu: does it scrape the kubelets, at least twice in 2m? `scrapeInterval`, `matchers` and `queries` say what is looked for
    a part: [partial] answers the query nodeCpu in part only, and a part taken for the whole would look idle: store b: deadline exceeded
    an error with a good status: [refused] does not answer the query nodeCpu: execution: too many samples
    a question that is refused: [refused] does not answer the query nodeCpu: 1:3: parse error
    no data: [nonsense] answers with what is no answer of Prometheus: no `data`
    no list: [nonsense] answers the query nodeCpu with no list of series, where a vector of series is needed
    half an answer: [nonsense] answers with what is no answer of Prometheus: EOF while parsing an object at line 1 column 82
    no text: [nonsense] answers with what is no answer of Prometheus: expected value at line 1 column 1
    an empty body: [nonsense] answers with what is no answer of Prometheus: EOF while parsing a value at line 1 column 0
    a page: [nonsense] answers with text/html; charset=utf-8 in place of JSON: is the url that of Prometheus, and is there a login in front of it?
    a number as a page: [nonsense] answers with text/plain in place of JSON: is the url that of Prometheus, and is there a login in front of it?
    elsewhere: [nonsense] sends us to another place; if that is Prometheus, write it as url
    forbidden: [forbidden] forbids us to ask (403): no
    another path: [absent] has no /api/v1/query (404): the url must be that of Prometheus, without /api/v1, but with its prefix where it has one, such as /prometheus of Mimir or /select/0/prometheus of a VictoriaMetrics cluster
    too many requests: [broken] fails with status 429: Too Many Requests
    an overload: [broken] fails with status 503: query timed out
    a broken gateway: [broken] fails with status 502: Bad Gateway
    no time: [nonsense] answers the query time() with vector, where a vector of series is needed
    "#);
}

proptest! {
    #[test]
    fn no_response_panics_and_every_value_is_finite_and_not_negative(
        text in ".{0,40}", number in any::<f64>(), label in "[a-z\"{}]{0,6}", choice in 0..6,
    ) {
        let value = match choice {
            0 => json!([number, text]), 1 => json!([NOW, number.to_string()]), 2 => json!([NOW, text]),
            3 => json!([text, number]), 4 => json!(text), _ => json!([NOW, "1", number]),
        };
        let item = json!({"metric": {label: text.clone()}, "value": value.clone(), "values": [value.clone(), value]});
        let body = json!({"status": "success", "data": {"resultType": "vector", "result": [item, text.clone()]}});
        for body in [body.to_string(), text] {
            let series = response::series("nodeCpu", &body).map(|r| r.series).unwrap_or_default();
            let mut points = series.iter().flat_map(|s| &s.points);
            prop_assert!(points.all(|(_, v)| v.is_finite() && *v >= 0.0), "{}", body);
        }
    }
}
