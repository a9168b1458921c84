//! Every query of the dashboard and every selector of an alert returns data from a real Prometheus
//! that scrapes the program.
//!
//! An alert has no result while all is well. Therefore each selector of its expression and of its
//! annotations must find series, and Prometheus must evaluate the rule without an error.
//! `tests/rules` tests when alerts fire.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::e2e::support::{Launch, Prometheus, present, say, scene, that};
use crate::shared::boards::{
    Query, Variable, alerts, asked_by, groups, queries, selectors, variables,
};

/// Two strategies on two bases, one of them idle. One eviction per cycle, so that other pods have
/// to wait.
const POLICY: &str = "\
apiVersion: evenkeel/v1alpha1
kind: Policy
interval: 5s
usage: {poll: 5s, window: 40s, smoothing: mean, staleAfter: 90s, minSamples: 2,
  prometheus: {url: 'URL'}}
guards: [{name: quiet, query: vector(0)}]
evictable: {minPodAge: 0s}
limits: {perCycle: 1, perWorkload: 100%}
steering: {taintHot: true}
strategies:
- lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 50%}, sustainedFor: 10s}
- highNodeUtilization: {basis: requests, thresholds: {cpu: 1%}}
";

/// Metrics that need a failing API server.
const TROUBLE: [&str; 3] = ["5xx|error", "source_errors", "evenkeel_request_fail"];
/// The metric that has values only on the second day.
const SECOND_DAY: &str = "evenkeel_expectation_error_ratio";
/// The metric that has values only an hour after a move.
const NEXT_HOUR: &str = "evenkeel_relief_ratio";
/// The increase of endings, which there are only half an hour after a move from a hot node.
const HALF_AN_HOUR: &str = "increase(evenkeel_settled_moves_total";
/// Series that exist only with `smoothing: trend`, which the policy here does not have.
const TREND: &str = r#"smoothing="trend""#;
/// The code of pods that wait for a window, which the policy here does not have.
const WINDOW: &str = r#"code="outside-window""#;
/// Fallbacks of queries for empty results.
const STAND_INS: [&str; 2] = [" or 0 * count(", " or vector("];
/// Time range of the dashboard in seconds.
const SHOWN: u64 = 900;
/// Number of points of a panel.
const POINTS: u64 = 1000;

#[test]
fn every_query_of_the_dashboard_and_every_selector_of_the_alerts_returns_data() {
    scene::with(scene::lopsided_beside_a_mute_node, async |control_plane| {
        let rules = control_plane.write("alerts.yaml", &groups().to_string());
        let prometheus = Prometheus::of_the_program(control_plane, Some(&rules)).await;
        let record = control_plane.dir.join("record.jsonl");
        let mut process = Launch::written(control_plane, &POLICY.replace("URL", &prometheus.url()))
            .await
            .run(&["--record", record.to_str().unwrap()]);
        let start = tokio::time::Instant::now();
        let all = questions();
        let mut open = all.clone();
        let needs_errors =
            |question: &Question| TROUBLE.iter().any(|word| question.text().contains(word));
        process
            .eventually("every query to return data", 240, async |_| {
                open = unanswered(&prometheus, std::mem::take(&mut open)).await;
                that(open.iter().all(needs_errors), in_words(&open))
            })
            .await;
        control_plane.component("stop", "metrics-server");
        process
            .eventually("those of errors to return data too", 120, async |_| {
                open = unanswered(&prometheus, std::mem::take(&mut open)).await;
                that(open.is_empty(), in_words(&open))
            })
            .await;
        say(&format!(
            "dashboard: {} queries and selectors, each with data after {} s",
            all.len(),
            start.elapsed().as_secs()
        ));
        with_values_that_were_chosen(&prometheus).await;
        rules_are_evaluated(&prometheus).await;
    });
}

/// A query that must return data.
#[derive(Clone)]
enum Question {
    /// A query of a panel with all values of each variable.
    Panel(Box<Query>),
    /// The values of a variable.
    Values(Variable),
    /// A selector of an alert.
    Series(String),
}

impl Question {
    /// PromQL, with variables.
    fn text(&self) -> &str {
        match self {
            Question::Panel(query) => &query.expr,
            Question::Values(variable) => &variable.selector,
            Question::Series(selector) => selector,
        }
    }
}

fn in_words(questions: &[Question]) -> String {
    questions.iter().map(Question::text).collect::<Vec<_>>().join("\n")
}

fn questions() -> Vec<Question> {
    let series: BTreeSet<String> = alerts()
        .iter()
        .flat_map(asked_by)
        .flat_map(|text| selectors(&text))
        .map(|question| question.text())
        .filter(|text| !text.contains(WINDOW))
        .collect();
    let panels = queries_of_the_first_day().map(|query| Question::Panel(Box::new(query)));
    let questions: Vec<Question> = panels
        .chain(variables().into_iter().map(Question::Values))
        .chain(series.into_iter().map(Question::Series))
        .collect();
    assert!(questions.len() > 80, "only {}", questions.len());
    questions
}

fn queries_of_the_first_day() -> impl Iterator<Item = Query> {
    let later = [SECOND_DAY, NEXT_HOUR, HALF_AN_HOUR, TREND];
    let absent = move |query: &Query| later.iter().any(|text| query.expr.contains(text));
    let queries = queries().into_iter();
    queries.filter(move |query| !absent(query))
}

/// Returns the queries without a result.
async fn unanswered(prometheus: &Prometheus, open: Vec<Question>) -> Vec<Question> {
    let mut left = Vec::new();
    let all = everything();
    for question in open {
        let found = match &question {
            Question::Panel(query) => shows(prometheus, query, &all).await,
            Question::Values(variable) => !values(prometheus, variable, &all).await.is_empty(),
            Question::Series(selector) => {
                let query = format!("last_over_time({selector}[{SHOWN}s])");
                has_figures(&prometheus.get("/api/v1/query", &[("query", &query)]).await)
            }
        };
        if !found {
            left.push(question);
        }
    }
    left
}

/// Values of the variables if everything is chosen. A variable without "All" is the resource, set
/// to `cpu`.
fn everything() -> BTreeMap<String, String> {
    variables().into_iter().map(|v| (v.name, v.all.unwrap_or_else(|| "cpu".to_owned()))).collect()
}

/// The same dashboard with every value chosen separately.
async fn with_values_that_were_chosen(prometheus: &Prometheus) {
    let mut chosen: BTreeMap<String, String> = BTreeMap::new();
    for variable in variables() {
        let values = values(prometheus, &variable, &chosen).await;
        assert!(!values.is_empty(), "{variable:?}");
        let text = if variable.all.is_some() {
            format!("({})", values.join("|"))
        } else {
            "cpu".to_owned()
        };
        assert!(variable.all.is_some() || values.contains(&text), "{text} is not among {values:?}");
        chosen.insert(variable.name, text.replace('.', "\\\\."));
    }
    for query in queries_of_the_first_day() {
        assert!(
            shows(prometheus, &query, &chosen).await,
            "nothing for {}: {}",
            chosen["node"],
            query.expr
        );
    }
}

/// Whether a panel showed data with a legend at any time in the range: a pod may be kept for a few
/// seconds only, and a panel of the latest values is asked less often than that. Fallback values do
/// not count.
async fn shows(prometheus: &Prometheus, query: &Query, chosen: &BTreeMap<String, String>) -> bool {
    let expr = STAND_INS
        .iter()
        .fold(query.expr.as_str(), |expr, fallback| expr.split(fallback).next().unwrap());
    let most = query.panel["maxDataPoints"].as_u64().unwrap_or(POINTS);
    let step = SHOWN.div_ceil(most).max(1);
    let expr = filled(expr, chosen, step);
    let now = present().as_second();
    let from = now - i64::try_from(SHOWN).unwrap();
    let (start, end, step) = (from.to_string(), now.to_string(), step.to_string());
    let range = [("query", expr.as_str()), ("start", &start), ("end", &end), ("step", &step)];
    let answer = prometheus.get("/api/v1/query_range", &range).await;
    let series = answer["result"].as_array().unwrap();
    for (series, label) in
        series.iter().flat_map(|s| query.legend().into_iter().map(move |label| (s, label)))
    {
        assert!(
            series["metric"][label].is_string(),
            "{} has no {label}: {series}",
            query.panel["title"]
        );
    }
    has_figures(&answer)
}

/// Replaces intervals like Grafana, with a scrape interval of one second.
fn filled(expr: &str, chosen: &BTreeMap<String, String>, step: u64) -> String {
    let rate = (step + 1).max(4);
    let mut text = expr
        .replace("$__rate_interval", &format!("{rate}s"))
        .replace("$__range", &format!("{SHOWN}s"));
    for (name, value) in chosen {
        text = text.replace(&format!("${name}"), value);
    }
    assert!(!text.contains('$'), "a variable that there is not: {text}");
    text
}

async fn values(
    prometheus: &Prometheus,
    variable: &Variable,
    chosen: &BTreeMap<String, String>,
) -> Vec<String> {
    let selector = filled(&variable.selector, chosen, 1);
    let path = format!("/api/v1/label/{}/values", variable.label);
    let values = prometheus.get(&path, &[("match[]", &selector)]).await;
    values.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect()
}

/// Whether there is exactly one value and it is a number.
fn has_figures(answer: &Value) -> bool {
    let series = answer["result"].as_array().unwrap().iter();
    let mut points = series
        .flat_map(|s| s["values"].as_array().cloned().unwrap_or_else(|| vec![s["value"].clone()]));
    points.any(|point| point[1].as_str().is_some_and(|figure| figure != "NaN"))
}

async fn rules_are_evaluated(prometheus: &Prometheus) {
    let answer = prometheus.get("/api/v1/rules", &[]).await;
    let rules: Vec<&Value> = answer["groups"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|g| g["rules"].as_array().unwrap())
        .collect();
    assert_eq!(rules.len(), alerts().len());
    for rule in rules {
        assert_eq!(rule["health"], "ok", "{}: {}", rule["name"], rule["lastError"]);
    }
}
