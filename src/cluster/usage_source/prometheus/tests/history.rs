//! Usage of hours or weeks: its times, its gaps, and parts that fit the limits of servers.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{
    CannedResponse, NOW, PrometheusError, RecordedRequests, at, healthy, matrix, node_addresses,
    prometheus, router_by_params, serve,
};
use crate::model::usage::Readings;
use crate::model::usage::recorded::HistoryRange;
use crate::values::Amount;

const STEP: i64 = 300;

/// A response with a value of each series at every requested time. `value` may leave some out.
fn values(
    series: &[(Value, &'static str)],
    times: &[i64],
    skips: impl Fn(i64) -> bool,
) -> CannedResponse {
    let times = times.iter().filter(|time| !skips(**time));
    let times: Vec<i64> = times.copied().collect();
    let series = series.iter().filter(|_| !times.is_empty());
    let result: Vec<Value> = series
        .map(|(labels, value)| {
            let values: Vec<Value> = times.iter().map(|time| json!([time, value])).collect();
            json!({"metric": labels, "values": values})
        })
        .collect();
    matrix(&Value::Array(result))
}

/// The node n1 and a pod on it, at the requested times.
fn usual(query: &str, times: &[i64], skips: impl Fn(i64) -> bool) -> CannedResponse {
    let labels = json!({"node": "n1", "namespace": "shop", "pod": "web"});
    let value = match query {
        _ if query.contains("nodeCpu") => "2",
        _ if query.contains("podCpu") => "0.5",
        _ => "1048576",
    };
    values(&[(labels, value)], times, skips)
}

type History = (HistoryRange, Vec<(jiff::Timestamp, Readings)>);

/// Reads a history of this many steps from a server that responds to queries at these times.
async fn read(
    steps: i64,
    respond: impl Fn(&str, &[i64]) -> CannedResponse + Clone + Send + Sync + 'static,
) -> (Result<History, PrometheusError>, RecordedRequests) {
    let (router, requests) = router_by_params(move |params| {
        let number = |name: &str| params[name].parse::<f64>().unwrap().round();
        if params["query"] == "time()" {
            return healthy("time()");
        }
        #[expect(clippy::cast_possible_truncation, reason = "seconds of this decade")]
        let [start, end, step] = ["start", "end", "step"].map(|name| number(name) as i64);
        let times: Vec<i64> = (0..=(end - start) / step).map(|i| start + i * step).collect();
        respond(&params["query"], &times)
    });
    let prometheus = prometheus(&serve(router).await, "");
    let step = SignedDuration::from_secs(STEP);
    let length = SignedDuration::from_secs(steps * STEP);
    let range = prometheus.history_range(length, step).await.unwrap();
    let mut all = Vec::new();
    let take = |at, readings: &Readings| all.push((at, readings.clone()));
    let done = prometheus.read_history(&node_addresses(), range, take).await;
    (done.map(|()| (range, all)), requests)
}

/// The evaluation times of the range queries for the cpu of nodes: the number of steps of each.
fn parts(requests: &RecordedRequests) -> Vec<i64> {
    let requests = requests.lock().unwrap();
    let asked = requests.iter().filter(|r| r.params["query"].contains("nodeCpu"));
    let second = |text: &str| text.split('.').next().unwrap().parse::<i64>().unwrap();
    asked.map(|r| (second(&r.params["end"]) - second(&r.params["start"])) / STEP + 1).collect()
}

#[tokio::test]
async fn each_value_is_the_mean_of_a_step_at_its_middle() {
    let (read, requests) = read(12, |query, times| usual(query, times, |_| false)).await;
    let (range, all) = read.unwrap();
    assert_eq!(range.start, at(NOW - 12 * STEP + STEP / 2));
    assert_eq!((range.steps, all.len()), (12, 12));
    let times: Vec<_> = all.iter().map(|(at, _)| *at).collect();
    assert_eq!((times[0], times[11]), (range.start, at(NOW - STEP / 2)));
    let web = ("shop".to_owned(), "web".to_owned());
    let (_, last) = all.last().unwrap();
    assert_eq!(last.pods[&web].used.cpu, Amount::millicores(500));
    assert_eq!(last.nodes["n1"].used.memory, Amount::new(1 << 20));
    let requests = requests.lock().unwrap();
    let asked: BTreeSet<&str> = requests.iter().map(|r| r.params["query"].as_str()).collect();
    assert_eq!(
        asked.into_iter().collect::<Vec<_>>(),
        [
            "avg_over_time((nodeCpu)[300s:30s])",
            "avg_over_time((nodeMemory)[300s:30s])",
            "avg_over_time((podCpu)[300s:30s])",
            "avg_over_time((podMemory)[300s:30s])",
            "time()",
        ]
    );
}

#[tokio::test]
async fn a_long_range_is_read_in_parts_and_no_step_twice() {
    let (read, requests) = read(1000, |query, times| usual(query, times, |_| false)).await;
    let (_, all) = read.unwrap();
    let times: BTreeSet<_> = all.iter().map(|(at, _)| *at).collect();
    assert_eq!((all.len(), times.len()), (1000, 1000));
    let parts = parts(&requests);
    assert_eq!((parts[0], parts[1], parts.iter().sum::<i64>()), (10, 120, 1000));
}

#[tokio::test]
async fn a_part_that_is_too_much_for_the_server_is_read_in_smaller_ones() {
    let (read, requests) = read(20, |query, times| {
        if times.len() <= 4 {
            return usual(query, times, |_| false);
        }
        let why = "query processing would load too many samples into memory in query execution";
        let text = json!({"status": "error", "errorType": "execution", "error": why});
        (422, "application/json", text.to_string())
    })
    .await;
    assert_eq!(read.unwrap().1.len(), 20);
    assert_eq!(parts(&requests), [10, 5, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
}

#[tokio::test]
async fn steps_without_samples_are_left_out() {
    // Prometheus is 40 steps old, and had an outage of ten.
    let lacks =
        |time| time <= NOW - 40 * STEP || (NOW - 20 * STEP..NOW - 10 * STEP).contains(&time);
    let (read, _) = read(100, move |query, times| usual(query, times, lacks)).await;
    let (range, all) = read.unwrap();
    assert_eq!((range.steps, all.len()), (100, 30));
}

#[tokio::test]
async fn not_a_number_and_negative_values_are_gaps() {
    let (read, _) = read(2, |query, times| {
        let labels = json!({"node": "n1", "namespace": "shop", "pod": "web"});
        let bad = if query.contains("podCpu") { "NaN" } else { "1" };
        values(&[(labels, bad)], times, |_| false)
    })
    .await;
    let (_, all) = read.unwrap();
    assert!(all.iter().all(|(_, readings)| readings.pods.is_empty()));
    assert!(all.iter().all(|(_, readings)| readings.nodes.len() == 1));
}

#[tokio::test]
async fn of_replicas_that_scrape_the_same_pod_the_largest_value_counts() {
    let (read, _) = read(2, |query, times| {
        let of = |replica: &str| {
            json!({"node": "n1", "namespace": "shop", "pod": "web", "prometheus": replica})
        };
        let (one, other) = if query.contains("podCpu") { ("1", "3") } else { ("5", "5") };
        values(&[(of("a"), one), (of("b"), other)], times, |_| false)
    })
    .await;
    let web = ("shop".to_owned(), "web".to_owned());
    let cpu = read.unwrap().1[0].1.pods[&web].used.cpu;
    assert_eq!(cpu, Amount::millicores(3000));
}

#[tokio::test]
async fn a_range_without_any_sample_is_an_error() {
    let (read, _) = read(30, |query, times| usual(query, times, |_| true)).await;
    assert_eq!(read.unwrap_err().kind(), "empty");
}
