//! Exposed metrics are well-formed, complete and correct for a real Prometheus and promtool.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use evenkeel::telemetry::metrics::Metrics;
use evenkeel::telemetry::metrics::catalogue::{DESCHEDULER, MetricInfo};
use serde_json::Value;

use crate::e2e::support::{
    Launch, Policy, Process, Prometheus, control_plane::run_with, evictions, say, scene, that, used,
};

/// With the default limits, so that some pods have to wait.
const STEERS: Policy =
    Policy { interval: "5s", limits: "{}", steering: "{taintHot: true}", ..Policy::USUAL };
/// Not exposed here, because no source and no request fails and no hour of the day comes twice.
const UNSEEN: [&str; 4] = [
    "evenkeel_source_errors_total",
    "evenkeel_request_failing_seconds",
    "evenkeel_request_failures_total",
    "evenkeel_expectation_error_ratio",
];

#[test]
#[expect(clippy::too_many_lines, reason = "one scenario, step by step")]
fn prometheus_and_promtool_accept_every_metric() {
    scene::with(scene::lopsided, async |control_plane| {
        let prometheus = Prometheus::of_the_program(control_plane, None).await;
        let server = format!("prometheus: {{url: '{}', timeout: 2s}}, ", prometheus.url());
        let guard = "guards: [{name: never, query: vector(0), above: 1}]\n";
        let policy = STEERS.by(&server) + guard;
        let launch = Launch::written(control_plane, &policy).await;
        let mut process = launch.run(&[]);
        let listed: BTreeSet<String> = Metrics::default()
            .catalogue()
            .iter()
            .map(|a| a.full_name())
            .filter(|n| !UNSEEN.contains(&&**n))
            .collect();
        let mut seen = BTreeSet::new();
        process
            .eventually("every metric, and an even cluster", 300, async |process| {
                seen.extend(families(&process.metrics().await));
                let missing: Vec<_> = listed.difference(&seen).collect();
                let highest = used(control_plane).await.highest();
                that(
                    missing.is_empty() && highest <= 50.0,
                    format!("no {missing:?} yet, and a node at {highest} %"),
                )
            })
            .await;
        process
            .eventually("landings of all evictions", 120, async |process| {
                let landings = samples(&process.metrics().await, "evenkeel_landings_total");
                let counted: usize =
                    landings.values().map(|count| count.parse::<usize>().unwrap()).sum();
                let made = evictions(control_plane).len();
                that(counted == made, format!("{counted} of {made}"))
            })
            .await;
        let made = evictions(control_plane).len();
        let text = process.metrics().await;
        assert_eq!(
            run_with(Command::new("promtool").args(["check", "metrics"]), &text),
            "",
            "{text}"
        );
        let landed = samples(&text, "evenkeel_landings_total");
        say(&format!("metrics: {made} evictions, whose replacements landed: {landed:?}"));
        assert_eq!(landed[r#"forecast="elsewhere""#], "0", "{landed:?}");
        assert_eq!(samples(&text, "evenkeel_leader")[""], "1");
        let evicted = r#"strategy="LowNodeUtilization",outcome="evicted""#;
        assert_eq!(samples(&text, "evenkeel_evictions_total")[evicted], made.to_string());
        let calls = samples(&text, "evenkeel_api_requests_total");
        assert_eq!(
            calls[r#"verb="create",resource="pods/eviction",code="2xx""#],
            made.to_string(),
            "{calls:#?}"
        );
        let other: Vec<_> = calls.keys().filter(|labels| labels.contains("other")).collect();
        assert!(other.is_empty(), "requests whose resource has no name: {other:?}");
        scraped(&prometheus, &mut process).await;
        assert!(process.stop(10).await.success());

        let mut process = launch.run(&["--descheduler-metrics"]);
        process.cycles(2, 120).await;
        let counted = families(&process.metrics().await);
        let loops: Vec<String> =
            [DESCHEDULER[0], DESCHEDULER[2], DESCHEDULER[3]].map(MetricInfo::full_name).to_vec();
        assert!(loops.iter().all(|name| counted.contains(name)), "{counted:?}");
    });
}

/// Prometheus knows the type of every metric after a scrape.
async fn scraped(prometheus: &Prometheus, process: &mut Process) {
    process
        .eventually("Prometheus to know the type of every metric", 60, async |process| {
            let counted = families(&process.metrics().await);
            let metadata = prometheus.get("/api/v1/metadata", &[]).await;
            let known =
                |about: &MetricInfo| metadata[about.full_name()][0]["type"] == about.kind.label();
            let metrics = Metrics::default();
            let counted =
                metrics.catalogue().iter().filter(|about| counted.contains(&about.full_name()));
            let otherwise: Vec<_> =
                counted.filter(|about| !known(about)).map(|about| about.full_name()).collect();
            that(otherwise.is_empty(), format!("not so {otherwise:?}: {metadata}"))
        })
        .await;
    let targets = prometheus.get("/api/v1/targets", &[]).await;
    let target = &targets["activeTargets"][0];
    assert_eq!(
        (&target["health"], &target["lastError"]),
        (&Value::from("up"), &Value::from("")),
        "{target}"
    );
}

fn families(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter_map(|l| l.strip_prefix("# HELP ")?.split_once(' '))
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// Samples of a counter or gauge by their labels.
fn samples(text: &str, name: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix(name)?.rsplit_once(' '));
    let plain = |labels: &str| labels.trim_start_matches('{').trim_end_matches('}').to_owned();
    lines.map(|(labels, value)| (plain(labels), value.to_owned())).collect()
}
