//! The queries of guards, now and in the past.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::SignedDuration;
use serde_json::json;

use super::{
    CannedResponse, NOW, RecordedRequests, at, healthy, json_of, matrix, router_by_params, series,
    serve, vector,
};
use crate::cluster::usage_source::guards::GuardSource;
use crate::model::guard::{GuardAnswer, GuardReading};
use crate::policy::Policy;

/// A source with one guard, whose query gets these answers. The second one is for the past.
async fn source(
    now: impl Fn() -> CannedResponse + Clone + Send + Sync + 'static,
    past: impl Fn() -> CannedResponse + Clone + Send + Sync + 'static,
) -> (GuardSource, RecordedRequests) {
    let (router, requests) = router_by_params(move |params| {
        if params["query"] == "time()" {
            healthy("time()")
        } else if params.contains_key("start") {
            past()
        } else {
            now()
        }
    });
    let text = format!(
        "{{apiVersion: evenkeel/v1alpha1, kind: Policy, strategies: [removeDuplicates],
          usage: {{prometheus: {{url: '{}', retries: 0, matchers: 'cluster=\"a\"'}}}},
          guards: [{{name: g, query: 'q{{$matchers}}', for: 15s, recover: 30s}}]}}",
        serve(router).await
    );
    let policy = Policy::parse("policy.yaml", &text).unwrap_or_else(|e| panic!("{e}"));
    (GuardSource::new(&policy), requests)
}

async fn ask(source: &mut GuardSource, second: i64) -> Result<Vec<GuardAnswer>, String> {
    let now = at(NOW) + SignedDuration::from_secs(second);
    let mut readings: Vec<GuardReading> = source.ask(now).await;
    assert_eq!(readings.len(), 1);
    readings.remove(0).answers
}

/// The time in seconds, and the labels and the value of each series.
fn shown(answer: &GuardAnswer) -> String {
    let series = answer.series.iter().map(|series| {
        let labels = series.labels.iter();
        let labels = labels.map(|(name, value)| format!("{name}={value} "));
        let value = series.value.map(|value| value.to_string());
        labels.collect::<String>() + &value.unwrap_or("nothing".to_owned())
    });
    let at = answer.at.as_second() - NOW;
    format!("{at}: {}", series.collect::<Vec<_>>().join(", "))
}

#[tokio::test]
async fn the_past_is_asked_first_and_after_an_outage() {
    let fails = Arc::new(AtomicBool::new(false));
    let failing = Arc::clone(&fails);
    let now = move || {
        if failing.load(Ordering::Relaxed) {
            (500, "text/plain", String::new())
        } else {
            series("1")
        }
    };
    let values = json!([[NOW - 60, "2"], [NOW - 45, "3"], [NOW, "4"]]);
    let past = move || matrix(&json!([{"metric": {"pod": "web"}, "values": values}]));
    let (mut source, requests) = source(now, past).await;
    let lines: Vec<String> = ask(&mut source, 5).await.unwrap().iter().map(shown).collect();
    // The local clock is five seconds ahead of the server.
    let expected = ["-55: pod=web 2", "-40: pod=web 3", "-25: ", "-10: ", "5: pod=web 4"];
    assert_eq!(lines, expected);

    let count = async |source: &mut GuardSource, second| {
        ask(source, second).await.map(|answers| answers.len())
    };
    assert_eq!(count(&mut source, 20).await, Ok(1));
    fails.store(true, Ordering::Relaxed);
    let error = count(&mut source, 35).await.unwrap_err();
    assert!(error.contains("fails with status 500"), "{error}");
    fails.store(false, Ordering::Relaxed);
    assert_eq!(count(&mut source, 110).await, Ok(1), "90 s are no outage");
    assert_eq!(count(&mut source, 201).await, Ok(5));
    let requests = requests.lock().unwrap();
    let queries = requests.iter().map(|request| &request.params["query"]);
    let own: Vec<&String> = queries.filter(|query| *query != "time()").collect();
    assert!(own.iter().all(|query| *query == "q{cluster=\"a\"}"), "{own:?}");
}

#[tokio::test]
async fn any_number_is_a_value_and_names_of_the_series_itself_count() {
    let now = || {
        series(
            "namespace=shop pod=web code=500 -2.5; \
             namespace=monitoring exported_namespace=shop deployment=web NaN; +Inf",
        )
    };
    let (mut source, _) = source(now, || matrix(&json!([]))).await;
    assert_eq!(ask(&mut source, 0).await.unwrap().len(), 5);
    let answers = ask(&mut source, 15).await.unwrap();
    assert_eq!(
        shown(&answers[0]),
        "15: namespace=shop pod=web -2.5, deployment=web namespace=shop nothing, inf"
    );
}

#[tokio::test]
async fn an_answer_that_cannot_be_trusted_is_none() {
    let partial = json!({"status": "success", "warnings": ["a store is down"],
        "data": {"resultType": "vector", "result": []}});
    let text = json!({"status": "success",
        "data": {"resultType": "string", "result": [NOW, "1"]}});
    let histogram = json!({"status": "success", "data": {"resultType": "vector",
        "result": [{"metric": {}, "histogram": [NOW, {}]}]}});
    let refused = json!({"status": "error", "errorType": "bad_data", "error": "parse error"});
    for (answer, part) in [
        (partial, "a partial result for the query of the guard"),
        (text, "a string for the query of the guard, expected a vector"),
        (histogram, "perhaps a native histogram"),
        (refused, "rejects the query of the guard: bad_data: parse error"),
    ] {
        let (mut source, _) = source(|| vector(&json!([])), move || json_of(&answer)).await;
        let error = ask(&mut source, 0).await.unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_scalar_is_a_value() {
    let scalar = || {
        json_of(&json!({"status": "success",
            "data": {"resultType": "scalar", "result": [NOW, "3"]}}))
    };
    let (mut source, _) = source(scalar, || matrix(&json!([]))).await;
    ask(&mut source, 0).await.unwrap();
    let answers = ask(&mut source, 15).await.unwrap();
    assert_eq!(shown(&answers[0]), "15: 3");
}

#[tokio::test]
async fn a_recording_has_the_highest_value_of_each_step() {
    let (router, requests) = router_by_params(|params| {
        if params["query"] == "time()" {
            return healthy("time()");
        }
        let end: f64 = params["end"].parse().unwrap();
        matrix(&json!([{"metric": {"pod": "web"}, "values": [[end, "7"]]}]))
    });
    let prometheus = super::prometheus(&serve(router).await, "");
    let minutes = SignedDuration::from_mins;
    let range = prometheus.history_range(minutes(15), minutes(5)).await.unwrap();
    let text = "{apiVersion: evenkeel/v1alpha1, kind: Policy, strategies: [removeDuplicates],
        usage: {prometheus: {url: 'http://p'}}, guards: [{name: g, query: q}]}";
    let policy = Policy::parse("policy.yaml", text).unwrap();
    let answers = prometheus.guard_history(&policy.guards[0], range).await.unwrap();
    let series = answers.iter().map(|answer| answer.series.len());
    assert_eq!(series.collect::<Vec<_>>(), [0, 0, 1]);
    assert_eq!(answers[2].series[0].labels["pod"], "web");
    let requests = requests.lock().unwrap();
    let last = &requests.last().unwrap().params["query"];
    assert_eq!(last, "max_over_time((q)[300s:30s])");
}
