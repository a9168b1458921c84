//! Metrics match the catalogue and docs/metrics.md, and their labels are bounded. After a change
//! run `UPDATE_DOCS=1 cargo test --test it metrics`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use evenkeel::cluster::client::from_config;
use evenkeel::cluster::clock::ServerClock;
use evenkeel::cluster::failures::{Failures, Request};
use evenkeel::cluster::request_metrics::RequestMetrics;
use evenkeel::model::guard::GuardReport;
use evenkeel::model::ledger::{Ending, Landed, Ledger, Settled};
use evenkeel::model::plan::{Outcome, Plan, SteerOutcome};
use evenkeel::model::relief::CycleRelief;
use evenkeel::model::snapshot::Snapshot;
use evenkeel::model::snapshot::facts::OwnerKey;
use evenkeel::model::usage::{EndedHour, Hindsight};
use evenkeel::policy::{GuardScope, Policy};
use evenkeel::telemetry::metrics::catalogue::{
    DESCHEDULER, LabelValues, MetricInfo, MetricKind, MetricLabel,
};
use evenkeel::telemetry::metrics::{Metrics, Phase};
use evenkeel::values::NodeMinutes;
use evenkeel::values::query_value::QueryValue;
use jiff::SignedDuration;

use crate::it::support::{Cluster, EVEN, check_generated, noon, parse, text};
use crate::shared::boards::read;

const POLICY: &str = "
steering: {taintHot: true}
usage: {smoothing: max}
strategies:
- lowNodeUtilization:
    thresholds: {cpu: 30%}
    targetThresholds: {cpu: 50%}
    nodePools: [{name: other, nodeSelector: pool=other}]
";

/// Returns a plan with a value for every metric of plans.
fn plan_with_everything() -> (Plan, Policy) {
    let cluster = "node n1\n web*7 cpu=100m uses=1/1Gi\nnode n2\nnode n3 no-metrics cordoned\nnode \
        n4 labels=pool:other taint=a:NoSchedule";
    let plan = Cluster::parse(&format!("{cluster}\nbudget web allows=1")).plan(POLICY);
    assert!(
        !plan.moves.is_empty() && !plan.kept.is_empty() && !plan.steering.is_empty(),
        "{}",
        text(&plan)
    );
    (plan, parse(POLICY))
}

fn settled(ending: Ending, landed: Option<Landed>) -> Settled {
    let workload = OwnerKey {
        namespace: "shop".to_owned(),
        kind: "Deployment".to_owned(),
        name: "secret".to_owned(),
    };
    Settled {
        workload,
        pod: "secret-1".to_owned(),
        from: "n1".to_owned(),
        to: None,
        landed,
        replacement: None,
        ending,
    }
}

/// Returns the metrics of requests to an API server that does not exist.
async fn failed_requests() -> RequestMetrics {
    let requests = RequestMetrics::default();
    let client = from_config(
        kube::Config::new("http://127.0.0.1:1".parse().unwrap()),
        &requests,
        &ServerClock::default(),
    )
    .unwrap();
    for path in [
        "/api/v1/namespaces/secret-space/pods/secret-1",
        "/apis/secret.example/v1/secrets/secret",
        "/version",
    ] {
        client.request_text(http::Request::get(path).body(Vec::new()).unwrap()).await.unwrap_err();
    }
    requests
}

/// Returns a failure whose message must not become a label.
fn lasting_failures() -> Failures {
    let failures = Failures::default();
    failures.record(Request::Ledger, Err("secret error"));
    failures
}

/// Returns metrics after every event has happened once.
async fn full_metrics() -> Metrics {
    let metrics = Metrics::new(&failed_requests().await, &lasting_failures()).with_descheduler();
    let (plan, policy) = plan_with_everything();
    metrics.expect(&policy);
    metrics.leader(true);
    metrics.plan(&plan, &policy);
    metrics.taint(&plan.steering[0], &SteerOutcome::Failed("secret error".to_owned()));
    metrics.outcome(&plan.moves[0], &Outcome::Evicted);
    metrics.outcome(&plan.moves[0], &Outcome::Failed("secret error".to_owned()));
    metrics.strategy(
        plan.moves[0].strategy,
        &plan.moves[0].profile,
        SignedDuration::from_millis(3),
    );
    metrics.settled(&settled(Ending::Helped, Some(Landed::AsForeseen)));
    metrics.relieved(&CycleRelief {
        decided: noon(),
        moves: 1,
        predicted: NodeMinutes::new(60.0).unwrap(),
        achieved: NodeMinutes::new(45.0).unwrap(),
    });
    metrics.ledger(&Ledger::default(), &Snapshot::default(), &policy.cooldown, noon());
    metrics.hindsight(&hindsight());
    metrics.cycle("acted", SignedDuration::from_millis(100));
    metrics.phase(Phase::Decide, SignedDuration::from_millis(10));
    metrics.source_read("metricsApi", noon(), Some(noon()), 0);
    metrics.source_failed("prometheus", "slow");
    metrics.source_in_use(Some("metricsApi"), ["metricsApi", "prometheus"]);
    metrics.guards(&[guard_report()]);
    metrics
}

fn guard_report() -> GuardReport {
    GuardReport {
        guard: "errors".to_owned(),
        scope: GuardScope::Cluster,
        answered: Some(noon()),
        missing: None,
        series: 1,
        highest: QueryValue::new(0.3),
        limit: QueryValue::default(),
        unknown: Vec::new(),
        stops: Vec::new(),
    }
}

/// A pod that used twice its usual cpu, as in the hour before.
fn hindsight() -> Hindsight {
    let mut hindsight = Hindsight::default();
    hindsight.add(EndedHour { hour: 7, used: 2e8, usual: 1e8, unchanged: 2e8 });
    hindsight
}

/// Help, type and label values of an exposed family.
#[derive(Default)]
struct ExposedFamily<'t> {
    help: &'t str,
    kind: &'t str,
    labels: BTreeMap<&'t str, BTreeSet<&'t str>>,
}

/// Parses families by name. Label values in these tests contain no quotes and no commas.
fn families(text: &str) -> BTreeMap<&str, ExposedFamily<'_>> {
    let mut families: BTreeMap<&str, ExposedFamily<'_>> = BTreeMap::new();
    let mut last = "";
    for line in text.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").map(|l| l.split_once(' ').unwrap())
        {
            last = name;
            families.entry(last).or_default().help = help;
        } else if let Some((name, kind)) =
            line.strip_prefix("# TYPE ").map(|l| l.split_once(' ').unwrap())
        {
            families.get_mut(name).unwrap().kind = kind;
        } else {
            assert!(line.starts_with(last), "{line} is below {last}");
            let labels =
                line.split_once('{').map_or("", |(_, rest)| rest.split_once('}').unwrap().0);
            for (name, value) in
                labels.split(',').filter(|l| !l.is_empty()).map(|l| l.split_once('=').unwrap())
            {
                families
                    .get_mut(last)
                    .unwrap()
                    .labels
                    .entry(name)
                    .or_default()
                    .insert(value.trim_matches('"'));
            }
        }
    }
    families
}

/// The metrics under our own names.
fn catalogue() -> Vec<&'static MetricInfo> {
    Metrics::default().catalogue().to_vec()
}

fn all() -> impl Iterator<Item = &'static MetricInfo> {
    catalogue().into_iter().chain(DESCHEDULER)
}

#[tokio::test]
async fn each_metric_is_exposed_as_in_the_catalogue() {
    let text = full_metrics().await.text();
    let exposed = families(&text);
    let listed: BTreeSet<String> = all().map(MetricInfo::full_name).collect();
    assert_eq!(exposed.keys().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>(), listed);
    for info in all() {
        let (name, family) = (info.full_name(), &exposed[&*info.full_name()]);
        assert_eq!((family.help, family.kind), (&*format!("{}.", info.help), info.kind.label()));
        let labels: BTreeSet<&str> = family.labels.keys().copied().filter(|l| *l != "le").collect();
        assert_eq!(
            labels,
            info.labels.iter().map(|MetricLabel(label, _)| *label).collect(),
            "{name}"
        );
        for MetricLabel(label, values) in info.labels {
            let LabelValues::Fixed(words) = values else {
                continue;
            };
            let others: Vec<_> =
                family.labels[*label].iter().filter(|v| !words.contains(v)).collect();
            assert!(others.is_empty(), "{name} has {label} of {others:?}");
        }
    }
}

/// Labels must not contain values without a bound: pods, workloads and error messages. Only a
/// metric under descheduler's name, exposed on request, has namespaces.
#[tokio::test]
async fn no_label_contains_a_pod_name_or_an_error_message() {
    let metrics = Metrics::new(&failed_requests().await, &lasting_failures());
    let text = |pods: usize| {
        let cluster = format!(
            "node n1\n  secret*{pods} namespace=secret-space cpu=100m uses={}m\n  secret-bare \
                namespace=secret-space bare uses=1\nnode n2",
            6000 / pods
        );
        let (policy, mut plan) = (parse(EVEN), Cluster::parse(&cluster).plan(EVEN));
        // Right-sizing has labels with workload names, up to the number in the policy.
        plan.rightsizing.clear();
        metrics.plan(&plan, &policy);
        for planned in &plan.moves {
            metrics.outcome(planned, &Outcome::Failed("secret error".to_owned()));
        }
        for ending in [Ending::Helped, Ending::SameNode] {
            metrics.settled(&settled(ending, Some(Landed::Elsewhere)));
        }
        metrics.text()
    };
    let (few, many) = (text(30), text(60));
    assert!(!many.contains("secret"), "{many}");
    assert_eq!(few.lines().count(), many.lines().count());
}

#[test]
fn counters_exist_from_the_start() {
    let metrics = Metrics::default();
    metrics.expect(&parse(POLICY));
    let text = metrics.text();
    for series in [
        r#"evenkeel_evictions_total{strategy="LowNodeUtilization",outcome="evicted"} 0"#,
        r#"evenkeel_settled_moves_total{ending="same-node"} 0"#,
        r#"evenkeel_landings_total{forecast="elsewhere"} 0"#,
        r#"evenkeel_cycles_total{outcome="failed"} 0"#,
        r#"evenkeel_taint_changes_total{action="add",outcome="done"} 0"#,
        r#"evenkeel_phase_duration_seconds_count{phase="act"} 0"#,
        "evenkeel_leader 0",
    ] {
        assert!(text.lines().any(|l| l == series), "{series} is not in\n{text}");
    }
}

/// The latest, the smoothed and the requested ratio of a node are three series. A gpu has no
/// measurements.
#[test]
fn a_ratio_has_its_basis_and_its_smoothing_as_labels() {
    let metrics = Metrics::default();
    let policy = "
usage: {smoothing: max}
strategies: [{lowNodeUtilization: {thresholds: {cpu: 30%, nvidia.com/gpu: 10%},
  targetThresholds: {cpu: 50%, nvidia.com/gpu: 90%}}}]";
    let cluster =
        Cluster::parse("node n1 gpu=4\n  web cpu=1 gpu=1 uses=6\nnode n2 gpu=4 no-metrics");
    metrics.plan(&cluster.plan(policy), &parse(policy));
    let text = metrics.text();
    let lines: Vec<&str> =
        text.lines().filter_map(|l| l.strip_prefix("evenkeel_node_ratio")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {node="n1",resource="cpu",basis="actual",smoothing="max"} 0.75
    {node="n1",resource="cpu",basis="actual",smoothing="none"} 0.75
    {node="n1",resource="cpu",basis="requests",smoothing="none"} 0.125
    {node="n1",resource="memory",basis="actual",smoothing="max"} 0.0
    {node="n1",resource="memory",basis="actual",smoothing="none"} 0.0
    {node="n1",resource="memory",basis="requests",smoothing="none"} 0.0
    {node="n1",resource="nvidia.com/gpu",basis="requests",smoothing="none"} 0.25
    {node="n2",resource="cpu",basis="requests",smoothing="none"} 0.0
    {node="n2",resource="memory",basis="requests",smoothing="none"} 0.0
    {node="n2",resource="nvidia.com/gpu",basis="requests",smoothing="none"} 0.0
    "#);
    let bands: Vec<&str> =
        text.lines().filter_map(|l| l.strip_prefix("evenkeel_band_ratio")).collect();
    insta::assert_snapshot!(bands.join("\n"), @r#"
    {pool="default",resource="cpu",basis="actual",bound="high"} 0.5
    {pool="default",resource="cpu",basis="actual",bound="low"} 0.3
    {pool="default",resource="nvidia.com/gpu",basis="actual",bound="high"} 0.9
    {pool="default",resource="nvidia.com/gpu",basis="actual",bound="low"} 0.1
    "#);
}

#[test]
fn halted_plans_and_idle_strategies_are_exposed() {
    let metrics = Metrics::default();
    metrics.plan(&Cluster::parse("node n1\n  web cpu=1 uses=1\nnode n2").plan(EVEN), &parse(EVEN));
    let text = metrics.text();
    assert!(text.contains("\nevenkeel_halted 0\n"));
    let labels = r#"{strategy="LowNodeUtilization",pool="default",code="all-cold"}"#;
    let idle = &format!("evenkeel_idle_strategies{labels} 1");
    assert!(text.contains(idle), "{text}");
    metrics.plan(&Cluster::parse("node n1\n  web cpu=1 uses=1").plan(EVEN), &parse(EVEN));
    let text = metrics.text();
    assert!(
        text.contains("\nevenkeel_halted 1\n") && !text.contains("evenkeel_idle_strategies{"),
        "{text}"
    );
}

/// The forecast for identical replacements counts for each of them.
#[test]
fn landings_are_compared_with_the_forecast() {
    let policy = format!(
        "limits: {{perWorkload: none, perNode: none, perCycle: none, perMinute: none}}\n{EVEN}"
    );
    let land = |to: [&str; 2]| {
        let mut cluster =
            Cluster::parse("node n1\n  web*7 cpu=100m uses=1\nnode n2\nnode n3 taint=a:NoSchedule");
        let (mut engine, snapshot) = cluster.seen(parse(&policy), Ledger::default());
        let moves = engine.decide(&snapshot, noon()).moves;
        assert!(moves.len() >= 2 && moves.iter().all(|m| m.possible_nodes == ["n2"]), "{moves:?}");
        engine.intend(&snapshot, &moves[..2], noon());
        engine.reload(Ledger::parse(&engine.ledger().write()).unwrap());
        for (planned, to) in moves.iter().zip(to) {
            engine.resolve(planned, &Outcome::Evicted);
            cluster.replace("default", &planned.pod, to, crate::it::support::after(1));
        }
        let settled =
            engine.settle(&cluster.snapshot(engine.policy()), crate::it::support::after(30));
        assert!(
            engine.ledger().entries().iter().all(|e| e.possible_nodes.is_empty()),
            "settled entries keep no forecast"
        );
        settled.iter().map(|s| s.landed.unwrap().code()).collect::<Vec<_>>()
    };
    assert_eq!(land(["n2", "n2"]), ["as_foreseen", "as_foreseen"]);
    assert_eq!(land(["n2", "n3"]), ["as_foreseen", "elsewhere"]);
}

fn document() -> String {
    let mut doc = String::from(
        "# Metrics\n\n\
        `/metrics` exposes these metrics in the Prometheus text format. A test keeps this page \
        equal to the catalogue in the\nprogram. Ratios are shares of allocatable from 0 to 1; \
        times are in seconds. No label contains a pod name or an error\nmessage. The number of \
        series depends only on nodes, pools, resources, guards and `rightsizing.top`; under\n\
        descheduler's names also on namespaces.\n",
    );
    doc += "\n| metric | type | labels | meaning |\n|---|---|---|---|\n";
    doc += &rows(&catalogue());
    doc += "\n## Under descheduler's names\n\n\
        Exposed in addition with `run --descheduler-metrics`, or if `run` gets descheduler's flag \
        `--policy-config-file`.\n\
        `--descheduler-metrics=false` turns them off. Names that descheduler deprecated in 0.34 \
        and still serves are not exposed.\n";
    doc += "\n| metric | type | labels | meaning |\n|---|---|---|---|\n";
    doc += &rows(&DESCHEDULER);
    doc += "\n## Labels\n\n| label | metrics | values |\n|---|---|---|\n";
    let mut labels: BTreeMap<(&str, LabelValues), Vec<String>> = BTreeMap::new();
    for info in all() {
        for MetricLabel(label, values) in info.labels {
            labels.entry((label, *values)).or_default().push(format!("`{}`", info.full_name()));
        }
    }
    for ((label, values), names) in labels {
        let values = match values {
            LabelValues::Fixed(words) => {
                words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ")
            }
            LabelValues::Codes(page) => format!("the codes of [{page}]({page})"),
            LabelValues::Names(bound) => bound.to_owned(),
        };
        let _ = writeln!(doc, "| `{label}` | {} | {values} |", names.join(", "));
    }
    doc
}

fn rows(metrics: &[&MetricInfo]) -> String {
    let mut out = String::new();
    for info in metrics {
        let labels: Vec<String> =
            info.labels.iter().map(|MetricLabel(label, _)| format!("`{label}`")).collect();
        let (name, kind) = (info.full_name(), info.kind.label());
        let _ = writeln!(out, "| `{name}` | {kind} | {} | {}. |", labels.join(", "), info.help);
    }
    out
}

#[test]
fn the_page_of_metrics_matches_the_catalogue() {
    check_generated("docs/metrics.md", &document());
}

#[test]
fn linked_sections_of_codes_exist() {
    let reasons = read("docs/reasons.md");
    let anchor = |title: &str| title.to_lowercase().replace(' ', "-").replace(',', "");
    let anchors: BTreeSet<String> =
        reasons.lines().filter_map(|l| l.strip_prefix("## ")).map(anchor).collect();
    for MetricLabel(_, values) in all().flat_map(|a| a.labels) {
        if let LabelValues::Codes(page) = values {
            let wanted = page.strip_prefix("reasons.md#").unwrap();
            assert!(anchors.contains(wanted), "{page} is not in {anchors:?}");
        }
    }
}

#[test]
fn names_follow_the_conventions() {
    for info in catalogue() {
        assert!(info.kind != MetricKind::Counter || !info.name.ends_with("total"), "{}", info.name);
        assert!(
            info.kind != MetricKind::Histogram
                || ["_seconds", "_ratio"].iter().any(|unit| info.name.ends_with(unit)),
            "{}",
            info.name
        );
        assert!(!info.help.ends_with('.') && !info.help.contains(['\\', '\n']), "{}", info.help);
        assert!(
            info.help.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit()),
            "{}",
            info.help
        );
    }
}

#[tokio::test]
async fn the_error_of_the_forecast_goes_with_the_lead_and_when_nothing_is_learned() {
    let shows = |metrics: &Metrics| metrics.text().contains("evenkeel_expectation_error_ratio{");
    let metrics = full_metrics().await;
    assert!(shows(&metrics));
    metrics.hindsight(&Hindsight::default());
    assert!(!shows(&metrics), "nothing is learned");
    metrics.hindsight(&hindsight());
    assert!(shows(&metrics));
    metrics.leader(false);
    assert!(!shows(&metrics), "a standby");
}

#[tokio::test]
async fn no_scrape_is_without_the_state_of_a_guard() {
    let metrics = full_metrics().await;
    std::thread::scope(|scope| {
        let polls = scope.spawn(|| (0..20_000).for_each(|_| metrics.guards(&[guard_report()])));
        while !polls.is_finished() {
            let text = metrics.text();
            for family in
                ["evenkeel_guard_value{", "evenkeel_guard_stops{", "evenkeel_guard_missing{"]
            {
                assert!(text.contains(family), "{family}");
            }
        }
    });
}
