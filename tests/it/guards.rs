//! Evictions that the queries of the policy stop while a service suffers.

use std::collections::BTreeMap;

use evenkeel::decide::engine::Engine;
use evenkeel::model::guard::{GuardAnswer, GuardReading, GuardSeries};
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::Untried;
use evenkeel::model::snapshot::Snapshot;
use evenkeel::policy::Policy;
use evenkeel::simulate;
use evenkeel::simulate::scenario::{PolicySource, Scenario};
use evenkeel::values::query_value::QueryValue;
use evenkeel::view::status::facts::PlanStatus;
use jiff::SignedDuration;

use crate::it::support::{Cluster, EVEN, after, considered, parse};

const CLUSTER: &str = "
namespace shop
namespace bank
node n1
  web cpu=500m memory=100Mi uses=3 namespace=shop
  api cpu=500m memory=100Mi uses=3 namespace=bank
node n2
  web cpu=100m uses=100m namespace=shop
  api cpu=100m uses=100m namespace=bank
node n3
";

/// An engine whose guards are asked by hand.
struct Asked {
    engine: Engine,
    snapshot: Snapshot,
}

/// Series as `namespace=shop pod=web-1: 0.3`, separated by commas.
fn series(text: &str) -> Vec<GuardSeries> {
    let lines = text.split(',').filter(|line| !line.trim().is_empty());
    let one = |line: &str| {
        let (labels, value) = line.rsplit_once(':').unwrap();
        let labels = labels.split_whitespace().map(|label| {
            let (name, value) = label.split_once('=').unwrap();
            (name.to_owned(), value.to_owned())
        });
        GuardSeries {
            labels: labels.collect(),
            value: QueryValue::new(value.trim().parse().unwrap()),
        }
    };
    lines.map(one).collect()
}

impl Asked {
    /// One guard with the name `g`, the limit 0.05 and these other fields.
    fn guard(fields: &str) -> Self {
        let policy = format!(
            "usage: {{prometheus: {{url: 'http://p'}}}}\n\
             guards: [{{name: g, query: q, above: 0.05{fields}}}]\n{EVEN}"
        );
        let (engine, snapshot) = Cluster::parse(CLUSTER).seen(parse(&policy), Ledger::default());
        Asked { engine, snapshot }
    }

    /// Records an answer at this second after noon, or an error.
    fn hears(&mut self, second: i64, answer: Result<&str, &str>) {
        let answer = answer.map(|text| GuardAnswer { at: after(second), series: series(text) });
        let reading = GuardReading {
            guard: "g".to_owned(),
            answers: answer.map(|one| vec![one]).map_err(str::to_owned),
        };
        self.engine.observe_guards(&self.snapshot, &[reading]);
    }

    /// The evictions that are stopped at this second after noon.
    fn stops(&self, second: i64) -> String {
        let stops = self.engine.guards().stops(after(second));
        let lines: Vec<String> = stops.iter().map(ToString::to_string).collect();
        lines.join("\n")
    }

    /// The evictions that are stopped right after an answer.
    fn after(&mut self, second: i64, answer: &str) -> String {
        self.hears(second, Ok(answer));
        self.stops(second)
    }

    /// Why nothing is considered, or the refusals and the first move.
    fn plan(&self, second: i64) -> String {
        considered(&self.engine.decide(&self.snapshot, after(second)))
    }
}

#[test]
fn a_workload_whose_value_is_above_the_limit_stays_and_the_others_go() {
    let mut asked = Asked::guard(", scope: workload");
    asked.hears(1, Ok("namespace=bank deployment=api: 0.3, namespace=shop pod=web-1: 0.01"));
    insta::assert_snapshot!(asked.plan(1), @"
    api-1 stays, guarded: guard g stops evictions of bank/Deployment/api: its value 0.3 is above \
        0.05
    move web-1 from n1 to n3: node usage: cpu 75% is above its target of 50%
    ");
}

#[test]
fn a_namespace_whose_value_is_above_the_limit_stays_and_the_others_go() {
    let mut asked = Asked::guard(", scope: namespace");
    asked.hears(1, Ok("namespace=bank: 1, namespace=shop: 0"));
    insta::assert_snapshot!(asked.plan(1), @"
    api-1 stays, guarded: guard g stops evictions in namespace bank: its value 1 is above 0.05
    move web-1 from n1 to n3: node usage: cpu 75% is above its target of 50%
    ");
}

#[test]
fn a_firing_alert_stops_everything_and_a_resolved_one_lets_it_go_on() {
    let mut asked = Asked::guard("");
    asked.hears(1, Ok(""));
    assert!(asked.plan(1).contains("move "), "an empty answer is quiet");
    insta::assert_snapshot!(asked.after(15, "alertname=Down: 1, alertname=Slow: 1"),
        @"guard g stops all evictions: its value 1 is above 0.05");
    assert_eq!(asked.plan(15), asked.stops(15));
    asked.hears(30, Ok(""));
    insta::assert_snapshot!(asked.stops(60),
        @"guard g stops all evictions: its value was above 0.05 and must stay within it for \
            another 4m30s");
    assert_ne!(asked.after(329, ""), "", "less than five minutes");
    assert_eq!(asked.after(330, ""), "");
}

#[test]
fn a_value_must_be_above_the_limit_for_some_time() {
    let mut asked = Asked::guard(", for: 1m, recover: 0s");
    assert_eq!(asked.after(0, ": 1"), "");
    assert_eq!(asked.after(30, ": 0.01"), "", "the time begins again");
    assert_eq!(asked.after(45, ": 1"), "");
    assert_eq!(asked.after(104, ": 1"), "");
    assert_ne!(asked.after(105, ": 1"), "");
    assert_eq!(asked.after(120, ": 0.05"), "", "the limit itself is allowed");
}

#[test]
fn values_near_the_limit_do_not_flap() {
    let mut asked = Asked::guard(", recover: 1m");
    asked.hears(0, Ok(": 1"));
    for second in [15, 45, 75, 105] {
        asked.hears(second, Ok(": 0.04"));
        assert_ne!(asked.after(second + 15, ": 0.06"), "", "{second}");
    }
}

#[test]
fn a_value_that_is_just_above_the_limit_does_not_look_equal_to_it() {
    let mut asked = Asked::guard("");
    let stops = asked.after(0, ": 0.050004");
    assert_eq!(stops, "guard g stops all evictions: its value 0.050004 is above 0.05");
}

#[test]
fn a_clock_that_is_set_back_ends_no_stop_and_hides_no_answer() {
    let mut asked = Asked::guard(", recover: 1m");
    assert_ne!(asked.after(3600, ": 1"), "");
    assert_ne!(asked.after(10, ": 0.01"), "");
    assert_ne!(asked.after(69, ": 0.01"), "");
    assert_eq!(asked.after(70, ": 0.01"), "");
    assert_ne!(asked.after(5, ": 1"), "");
}

#[test]
fn a_guard_without_an_answer_is_missing() {
    let mut asked = Asked::guard("");
    let before = asked.stops(0);
    asked.hears(1, Err("Prometheus at http://p does not respond"));
    let error = asked.stops(1);
    asked.hears(15, Ok(": 0.01"));
    // One failed poll is no outage.
    asked.hears(30, Err("Prometheus at http://p does not respond"));
    assert_eq!(asked.stops(105), "");
    let stale = asked.stops(106);
    insta::assert_snapshot!([before, error, stale].join("\n"), @"
    guard g stops all evictions: its query has not been asked yet
    guard g stops all evictions: no answer: Prometheus at http://p does not respond
    guard g stops all evictions: no answer: Prometheus at http://p does not respond
    ");
    assert_eq!(asked.after(120, ": 0.01"), "");

    let mut allowed = Asked::guard(", missing: allow");
    assert_eq!(allowed.stops(0), "");
    allowed.hears(1, Ok(": 1"));
    assert_ne!(allowed.stops(91), "");
    assert_eq!(allowed.stops(92), "");
}

#[test]
fn a_measured_series_that_is_lost_is_missing() {
    let both = "namespace=shop deployment=web: 0.01, namespace=bank deployment=api: 0.01";
    let mut asked = Asked::guard(", scope: workload");
    assert_eq!(asked.after(0, both), "");
    insta::assert_snapshot!(asked.after(15, "namespace=shop deployment=web: 0.01"),
        @"guard g stops evictions of bank/Deployment/api: it returned a series before and \
            returns none now");
    assert_ne!(asked.after(900, "namespace=shop deployment=web: 0.01"), "");
    assert_eq!(asked.after(915, both), "");

    let mut allowed = Asked::guard(", scope: workload, missing: allow");
    allowed.hears(0, Ok(both));
    assert_eq!(allowed.after(15, ""), "");
}

#[test]
fn a_value_that_is_not_a_number_is_missing_also_in_the_first_answer() {
    let mut asked = Asked::guard(", scope: workload");
    let both = "namespace=shop deployment=web: NaN, namespace=bank deployment=api: 0.01";
    insta::assert_snapshot!(asked.after(0, both),
        @"guard g stops evictions of shop/Deployment/web: its value is not a number");
    assert_ne!(asked.after(900, both), "");
    assert_eq!(asked.after(915, &both.replace("NaN", "0.01")), "");
    assert_ne!(asked.after(930, &both.replace("NaN", "inf")), "");

    let mut alone = Asked::guard("");
    insta::assert_snapshot!(alone.after(0, ": NaN"),
        @"guard g stops all evictions: its value is not a number");
    assert_eq!(alone.after(15, ": NaN, : 0.01"), "", "the highest value counts");
    let mut allowed = Asked::guard(", missing: allow");
    assert_eq!(allowed.after(0, ": NaN"), "");
}

#[test]
fn a_series_that_exists_only_above_the_limit_is_quiet_once_it_is_gone() {
    let mut asked = Asked::guard(", scope: namespace, recover: 1m");
    assert_ne!(asked.after(0, "namespace=shop: 1"), "");
    insta::assert_snapshot!(asked.after(15, "namespace=bank: 1"), @"
    guard g stops evictions in namespace bank: its value 1 is above 0.05
    guard g stops evictions in namespace shop: its value was above 0.05 and must stay within it \
        for another 1m
    ");
    assert_eq!(asked.after(75, "").lines().count(), 1, "only bank");
    assert_eq!(asked.after(135, ""), "");
}

#[test]
fn a_series_without_a_namespace_is_no_answer_or_is_left_out() {
    for (scope, labels) in [("namespace", "pod=web-1: 0"), ("workload", "deployment=web: 0")] {
        let mut asked = Asked::guard(&format!(", scope: {scope}"));
        let stops = asked.after(0, labels);
        assert!(stops.starts_with("guard g stops all evictions: its series need"), "{stops}");
        let mut allowed = Asked::guard(&format!(", scope: {scope}, missing: allow"));
        assert_eq!(allowed.after(0, labels), "");
    }
    let mut allowed = Asked::guard(", scope: workload, missing: allow");
    insta::assert_snapshot!(allowed.after(0, "namespace=shop deployment=web: 0.9, job=api: 0"),
        @"guard g stops evictions of shop/Deployment/web: its value 0.9 is above 0.05");
}

#[test]
fn a_series_without_the_label_of_a_workload_counts_for_its_namespace() {
    let both = "namespace=shop deployment=web: 0.9, namespace=bank job=api: 0";
    for missing in ["stop", "allow"] {
        let mut asked = Asked::guard(&format!(", scope: workload, missing: {missing}"));
        let only_web =
            "guard g stops evictions of shop/Deployment/web: its value 0.9 is above 0.05";
        assert_eq!(asked.after(0, both), only_web);
        assert_eq!(asked.engine.guards().reports(after(0))[0].missing, None);
    }
    let mut asked = Asked::guard(", scope: workload");
    insta::assert_snapshot!(asked.after(0, "namespace=bank job=api: 0.9"),
        @"guard g stops evictions in namespace bank: its value 0.9 of an unknown object, a \
            workload of namespace bank, is above 0.05");
}

#[test]
fn a_series_of_an_unknown_workload_stops_its_namespace() {
    let mut asked = Asked::guard(", scope: workload, recover: 0s");
    let gone = "namespace=shop pod=web-gone";
    insta::assert_snapshot!(asked.after(0, &format!("{gone}: 1")),
        @"guard g stops evictions in namespace shop: its value 1 of an unknown object, pod \
            shop/web-gone, is above 0.05");
    assert_eq!(asked.after(15, &format!("{gone}: 0")), "");
    asked.hears(30, Ok(&format!("{gone}: 1")));
    assert_eq!(asked.after(45, ""), "");
    let mut allowed = Asked::guard(", scope: workload, missing: allow");
    assert_eq!(allowed.after(0, &format!("{gone}: 1")), "");
}

#[test]
fn the_series_of_a_pod_that_has_left_still_belongs_to_its_workload() {
    let mut asked = Asked::guard(", scope: workload");
    asked.hears(0, Ok("namespace=shop pod=web-2: 0.01"));
    let second = "  web cpu=100m uses=100m namespace=shop\n";
    let without = Cluster::parse(&CLUSTER.replace(second, ""));
    asked.snapshot = without.snapshot(asked.engine.policy());
    insta::assert_snapshot!(asked.after(15, "namespace=shop pod=web-2: 1"),
        @"guard g stops evictions of shop/Deployment/web: its value 1 is above 0.05");
}

#[test]
fn labels_name_workloads_of_any_kind() {
    let mut asked = Asked::guard(", scope: workload");
    let stops = |asked: &mut Asked, second, labels: &str| asked.after(second, labels);
    let by_workload = stops(&mut asked, 0, "namespace=shop workload=web: 1");
    assert!(by_workload.contains("evictions of shop/Deployment/web"), "{by_workload}");
    // An exporter may add its own pod.
    let both = stops(&mut asked, 15, "namespace=bank deployment=api pod=exporter-0: 1");
    assert!(both.contains("evictions of bank/Deployment/api"), "{both}");
}

#[test]
fn a_guard_stops_a_plan_that_is_being_carried_out() {
    let mut asked = Asked::guard(", scope: workload");
    asked.hears(0, Ok("namespace=shop deployment=web: 0, namespace=bank deployment=api: 0"));
    let plan = asked.engine.decide(&asked.snapshot, after(0));
    let planned = &plan.moves[0];
    let untried = |asked: &Asked, second| {
        let (engine, snapshot) = (&asked.engine, &asked.snapshot);
        let current = engine.gates_again(&plan.moves, snapshot.clone(), after(second));
        engine.recheck(planned, snapshot, &current, after(second))
    };
    assert_eq!(untried(&asked, 1), None);
    let workload = planned.workload.as_ref().unwrap();
    let mut values = BTreeMap::from([("shop", "web"), ("bank", "api")]);
    values.remove(workload.namespace.as_str());
    let (other, name) = values.pop_first().unwrap();
    let own = format!(
        "namespace={} deployment={}: 1, namespace={other} deployment={name}: 0",
        workload.namespace, workload.name
    );
    asked.hears(5, Ok(&own));
    let why = untried(&asked, 5).unwrap();
    assert!(matches!(why, Untried::Guarded(_)), "{why}");
    assert!(!why.ends_the_plan(), "the others go on");
    let all = untried(&asked, 96).unwrap();
    assert!(all.to_string().contains("its newest answer is 1m31s old"), "{all}");
    assert!(all.ends_the_plan());
}

#[test]
fn a_changed_guard_is_asked_anew_and_an_unchanged_one_keeps_its_state() {
    let mut asked = Asked::guard("");
    asked.hears(0, Ok(": 1"));
    let policy = asked.engine.policy().clone();
    let mut changed = policy.clone();
    changed.dry_run = true;
    asked.engine.change_policy(changed.clone());
    assert!(asked.stops(1).contains("its value 1 is above"), "{}", asked.stops(1));
    changed.guards[0].above = QueryValue::new(7.0).unwrap();
    asked.engine.change_policy(changed);
    assert!(asked.stops(1).contains("has not been asked yet"), "{}", asked.stops(1));
}

/// Two workloads on one hot node. The errors of one rise for the first half hour.
const SCENARIO: &str = "
name: errors
about: A service that suffers
duration: 1h
nodes: [{name: n, count: 4, cpu: 8, memory: 32Gi}]
workloads:
- {name: web, replicas: 4, on: [n1], requests: {cpu: 100m, memory: 1Gi}, usage: {cpu: 900m}}
- {name: api, replicas: 4, on: [n1], requests: {cpu: 100m, memory: 1Gi}, usage: {cpu: 900m}}
guards:
- {guard: g, labels: {namespace: default, deployment: api}, value: 0.01}
- {guard: g, labels: {namespace: default, deployment: web}, value: 0.3, until: 30m}
- {guard: g, labels: {namespace: default, deployment: web}, value: 0.01, from: 30m}
policy:
  apiVersion: evenkeel/v1alpha1
  kind: Policy
  usage: {prometheus: {url: 'http://p'}}
  guards: [{name: g, query: q, above: 0.05, scope: workload, recover: 10m}]
  strategies:
  - lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 50%}}
";

/// The minutes of the first and the last eviction of each workload.
fn minutes_of_evictions(scenario: &Scenario, policy: Policy) -> BTreeMap<String, (i64, i64)> {
    let trace = simulate::run(scenario, policy, "policy.yaml", |_| {});
    let mut minutes = BTreeMap::new();
    for eviction in &trace.evictions {
        let workload = eviction.pod.split('-').next().unwrap().to_owned();
        let minute = eviction.at.duration_since(trace.start).as_mins();
        let entry = minutes.entry(workload).or_insert((minute, minute));
        entry.1 = minute;
    }
    minutes
}

#[test]
fn a_simulated_workload_stays_while_its_errors_are_high_and_the_others_go() {
    let scenario = Scenario::parse("s.yaml", SCENARIO).unwrap_or_else(|e| panic!("{e}"));
    let Some(PolicySource::Inline(policy)) = scenario.policy.clone() else { panic!("{SCENARIO}") };
    let minutes = minutes_of_evictions(&scenario, (*policy).clone());
    assert!(minutes["api"].0 < 10, "{minutes:?}");
    assert!(!minutes.contains_key("web") || minutes["web"].0 >= 40, "{minutes:?}");

    let without = Scenario { guard_courses: Vec::new(), ..scenario };
    let free = minutes_of_evictions(&without, *policy);
    assert!(free["web"].0 < 10, "a guard without a series is ignored: {free:?}");
}

#[test]
fn while_a_simulated_prometheus_is_down_a_guard_does_what_its_missing_says() {
    let series = SCENARIO.find("guards:").unwrap()..SCENARIO.find("policy:").unwrap();
    let mut text = SCENARIO.to_owned();
    text.replace_range(
        series,
        "guards:\n\
         - {guard: g, value: none, until: 30m}\n\
         - {guard: g, labels: {namespace: default, deployment: web}, value: 0.01, from: 30m}\n",
    );
    let first = |text: &str| {
        let scenario = Scenario::parse("s.yaml", text).unwrap_or_else(|e| panic!("{e}"));
        let Some(PolicySource::Inline(policy)) = scenario.policy.clone() else { panic!("{text}") };
        let minutes = minutes_of_evictions(&scenario, *policy);
        minutes.values().map(|(first, _)| *first).min()
    };
    assert!(first(&text).is_some_and(|minute| minute >= 30));
    let allows = text.replace("scope: workload", "scope: workload, missing: allow");
    assert!(first(&allows).is_some_and(|minute| minute < 10));
}

#[test]
fn a_series_of_a_scenario_is_checked() {
    let broken = SCENARIO.replace("value: 0.3, until: 30m", "from: 30m, until: 30m");
    let error = Scenario::parse("s.yaml", &broken).unwrap_err().to_string();
    for part in [
        "guards[1].value: missing, expected the value of the series, or none for no answer",
        "guards[1].until: must be later than from",
    ] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn doctor_says_whether_a_guard_answers_and_what_its_labels_name() {
    let examined = |asked: &Asked, second| {
        let observed = asked.engine.join_usage(&asked.snapshot, after(second));
        let all = asked.engine.examine(&observed).into_iter();
        let own = all.filter(|diagnosis| diagnosis.check == "guards");
        let lines = own.map(|d| format!("{:?}: {}", d.severity, d.message));
        lines.collect::<Vec<_>>().join("\n")
    };
    let mut asked = Asked::guard(", scope: workload");
    let mut lines = vec![examined(&asked, 0)];
    for (second, answer) in [
        (1, Err("Prometheus at http://p does not respond")),
        (2, Ok("")),
        (3, Ok("namespace=shop deployment=web: 0.01, namespace=shop deployment=gone: 0")),
        (4, Ok("namespace=shop deployment=web: 0.01")),
        (5, Ok("namespace=shop deployment=web: 0.3")),
        (6, Ok("job=web: 0.3")),
    ] {
        asked.hears(second, answer);
        lines.push(examined(&asked, second));
    }
    let mut allowed = Asked::guard(", scope: workload, missing: allow");
    allowed.hears(1, Ok("job=web: 0.3"));
    lines.push(examined(&allowed, 1));
    allowed.hears(2, Ok("job=web: 0.3, namespace=shop deployment=web: 0.3"));
    lines.push(examined(&allowed, 2));
    let mut undefined = Asked::guard(", scope: workload, missing: allow");
    undefined.hears(1, Ok("namespace=shop deployment=web: NaN"));
    lines.push(examined(&undefined, 1));
    insta::assert_snapshot!(lines.join("\n"), @"
    Failure: guard g: its query has not been asked yet
    Failure: guard g: no answer: Prometheus at http://p does not respond
    Ok: guard g: its query answers without a series, which is quiet
    Warning: guard g: its series name unknown objects: shop/Deployment/gone
    Ok: guard g: 1 series, the highest value is 0.01, the limit 0.05
    Warning: guard g stops evictions of shop/Deployment/web: its value 0.3 is above 0.05
    Failure: guard g: its series need the label `namespace`, and one lacks it
    Warning: guard g: its series need the label `namespace`, and one lacks it, which allows \
        evictions
    Warning: guard g stops evictions of shop/Deployment/web: its value 0.3 is above 0.05
    Ok: guard g: its values are not numbers, which is quiet
    ");
}

#[test]
fn a_namespace_with_pods_is_known_even_if_namespaces_cannot_be_listed() {
    let mut asked = Asked::guard(", scope: namespace, missing: allow");
    let unlisted = CLUSTER.replace("namespace shop\nnamespace bank\n", "lacking Namespace\n");
    asked.snapshot = Cluster::parse(&unlisted).snapshot(asked.engine.policy());
    assert_ne!(asked.after(0, "namespace=shop: 1"), "");
}

#[test]
fn the_status_names_each_guard_with_its_newest_value() {
    let shown = |asked: &Asked, second: i64| {
        let plan = asked.engine.decide(&asked.snapshot, after(second));
        let reports = asked.engine.guards().reports(after(second));
        let status = PlanStatus::of(&plan, &[], false, SignedDuration::ZERO).with_guards(&reports);
        let guard = serde_json::to_value(&status.guard_states.items[0]).unwrap();
        let text = |name: &str| {
            let value = &guard[name];
            let text = value.as_str().map(str::to_owned);
            text.unwrap_or_else(|| value.to_string())
        };
        ["guard", "scope", "value", "limit", "answered", "state", "message"].map(text).join(" | ")
    };
    let mut asked = Asked::guard(", scope: namespace, for: 1m");
    insta::assert_snapshot!(shown(&asked, 0), @"g | namespace | null | 0.05 | null | stops | all evictions: its query has not been asked yet");
    asked.hears(1, Ok("namespace=bank: 0.01"));
    insta::assert_snapshot!(shown(&asked, 2), @"g | namespace | 0.01 | 0.05 | 2026-11-21T12:00:01Z | quiet | its values are within the limit");
    asked.hears(15, Ok("namespace=bank: 0.3"));
    insta::assert_snapshot!(shown(&asked, 16), @"g | namespace | 0.3 | 0.05 | 2026-11-21T12:00:15Z | quiet | above the limit, but not for long enough yet");
    asked.hears(80, Ok("namespace=bank: 0.3"));
    insta::assert_snapshot!(shown(&asked, 81), @"g | namespace | 0.3 | 0.05 | 2026-11-21T12:01:20Z | stops | evictions in namespace bank: its value 0.3 is above 0.05");
    let mut allowing = Asked::guard(", missing: allow");
    allowing.hears(1, Err("timeout"));
    insta::assert_snapshot!(shown(&allowing, 2), @"g | cluster | null | 0.05 | null | missing | no answer: timeout, which allows evictions");
    allowing.hears(3, Ok("job=web: NaN"));
    insta::assert_snapshot!(shown(&allowing, 4), @"g | cluster | null | 0.05 | 2026-11-21T12:00:03Z | quiet | its values are not numbers");
    allowing.hears(5, Ok("job=web: inf"));
    insta::assert_snapshot!(shown(&allowing, 6), @"g | cluster | inf | 0.05 | 2026-11-21T12:00:05Z | stops | all evictions: its value inf is above 0.05");
}
