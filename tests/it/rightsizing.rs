//! Right-sizing: workloads whose requests are far from their usage, and the recommended requests.

use std::collections::BTreeSet;

use evenkeel::decide::engine::Engine;
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::{Plan, Rightsizing};
use evenkeel::telemetry::metrics::Metrics;
use evenkeel::values::{Amount, quantity};
use insta::assert_snapshot;
use jiff::SignedDuration;
use proptest::prelude::{prop_assert, proptest};

use crate::it::support::{Cluster, EVEN, after, cases, parse, recommending};

/// The recommendations as short text.
fn said(plan: &Plan) -> String {
    plan.rightsizing.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn line(workload: &Rightsizing) -> String {
    let mut parts =
        vec![format!("{} {} of {} pods", workload.workload, workload.measured, workload.pods)];
    for (resource, of) in &workload.resources {
        let text = |amount| quantity::text(resource, amount);
        let request = of.request.map_or("none".to_owned(), text);
        let (code, suggested, typical) =
            (of.direction.code(), text(of.suggested), text(of.typical));
        parts.push(format!(
            "{resource} {code} {request} → {suggested}, uses {typical}, wrong by {} ({})",
            text(of.total),
            of.wrong_by
        ));
    }
    parts.join("; ")
}

/// Heavy pods with low requests, and light pods with high requests.
const WRONG: &str = "node n1\n  hot*4 cpu=100m memory=100Mi uses=1/200Mi\n  agent cpu=100m \
                     memory=100Mi uses=80m/80Mi daemon owner=DaemonSet
node n2\n  idle*2 cpu=2 memory=4Gi uses=50m/100Mi\n  agent cpu=100m memory=100Mi uses=80m/80Mi \
    daemon owner=DaemonSet";

#[test]
fn too_low_and_too_high_requests_are_listed_the_worst_first() {
    assert_snapshot!(said(&Cluster::parse(WRONG).plan(EVEN)), @"
    default/Deployment/hot 4 of 4 pods; cpu too_low 100m → 1150m, uses 1, wrong by 4200m (26%); \
        memory too_low 100Mi → 240Mi, uses 200Mi, wrong by 560Mi (0.9%)
    default/Deployment/idle 2 of 2 pods; cpu too_high 2 → 60m, uses 50m, wrong by 3880m (24%); \
        memory too_high 4Gi → 128Mi, uses 100Mi, wrong by 7936Mi (12%)
    ");
}

#[test]
fn a_pod_without_requests_has_no_current_request() {
    let cluster = Cluster::parse("node n1\n  web*2 uses=500m/100Mi\n  cron*3 uses=0/0\nnode n2");
    assert_snapshot!(said(&cluster.plan(EVEN)), @"
    default/Deployment/web 2 of 2 pods; cpu too_low none → 580m, uses 500m, wrong by 1160m \
        (7.2%); memory too_low none → 128Mi, uses 100Mi, wrong by 256Mi (0.4%)
    default/Deployment/cron 3 of 3 pods; cpu too_low none → 10m, uses 0, wrong by 30m (0.2%); \
        memory too_low none → 16Mi, uses 0, wrong by 48Mi (0.1%)
    ");
}

#[test]
fn a_suggestion_never_exceeds_the_limit() {
    let cluster = Cluster::parse(
        "node n1\n  web*2 cpu=100m memory=64Mi limit=500m/- uses=500m/100Mi\nnode n2",
    );
    assert_snapshot!(
        said(&cluster.plan(EVEN)),
        @"default/Deployment/web 2 of 2 pods; cpu too_low 100m → 500m, uses 500m, wrong by 800m \
          (5%); memory too_low 64Mi → 128Mi, uses 100Mi, wrong by 128Mi (0.2%)"
    );
}

#[test]
fn no_suggestion_exceeds_the_largest_node() {
    let cluster = "node n1 cpu=2\nnode n2 cpu=4\n db cpu=2 memory=1Gi uses=3700m/1Gi";
    assert_snapshot!(
        said(&Cluster::parse(cluster).plan(EVEN)),
        @"default/Deployment/db 1 of 1 pods; cpu too_low 2 → 4, uses 3700m, wrong by 2 (33%)"
    );
}

#[test]
fn what_init_containers_and_the_runtime_class_reserve_is_not_too_much() {
    let cluster = Cluster::parse(
        "node n1
  migrated*2 cpu=2 memory=4Gi init=2/4Gi uses=50m/100Mi
  boxed*2 cpu=560m memory=544Mi overhead=500m/512Mi uses=50m/20Mi
  both*2 cpu=2 memory=1Gi init=500m/- overhead=100m/- uses=50m/800Mi
node n2",
    );
    assert_snapshot!(
        said(&cluster.plan(EVEN)),
        @"default/Deployment/both 2 of 2 pods; cpu too_high 2 → 600m, uses 50m, wrong by 2800m (18%)"
    );
}

#[test]
fn a_request_within_the_tolerance_is_not_listed() {
    let near = "node n1\n  web*2 cpu=900m memory=1Gi uses=1/1Gi\nnode n2";
    assert_eq!(said(&Cluster::parse(near).plan(EVEN)), "");
    let strict = format!("rightsizing: {{tolerance: 10%}}\n{EVEN}");
    assert_snapshot!(
        said(&Cluster::parse(near).plan(&strict)),
        @"default/Deployment/web 2 of 2 pods; cpu too_low 900m → 1150m, uses 1, wrong by 500m \
          (3.1%); memory too_low 1Gi → 1184Mi, uses 1Gi, wrong by 320Mi (0.5%)"
    );
    let off = format!("rightsizing: {{top: 0}}\n{EVEN}");
    assert_eq!(said(&Cluster::parse(WRONG).plan(&off)), "");
}

#[test]
fn pods_with_too_few_samples_do_not_count() {
    let mut engine = Engine::new(parse(EVEN), Ledger::default());
    let cluster = Cluster::parse(
        "node n1\n  hot*2 cpu=100m uses=1/100Mi\n  new*2 cpu=100m age=1m uses=1/100Mi not-started \
         no-metrics
  mute*2 cpu=100m uses=1/100Mi no-metrics\n  down*2 cpu=100m uses=1/100Mi unready\n  bare \
      cpu=100m uses=1/100Mi bare
  mirror cpu=100m uses=1/100Mi mirror owner=Node\n  static cpu=100m uses=1/100Mi static\nnode n2",
    );
    let snapshot = cluster.snapshot(engine.policy());
    let mut told = Vec::new();
    for at in [0, 15, 30] {
        engine.observe(&snapshot, &cluster.readings(after(at)), after(at));
        told.push(said(&recommending(&engine, &snapshot, after(at))));
    }
    assert_eq!(told[..2], ["", ""], "the window is still filling");
    assert_snapshot!(
        told[2],
        @"default/Deployment/hot 2 of 2 pods; cpu too_low 100m → 1150m, uses 1, wrong by 2100m \
          (13%); memory too_low none → 128Mi, uses 100Mi, wrong by 256Mi (0.4%)"
    );
    let stale = recommending(&engine, &snapshot, after(30 + 91));
    assert_eq!(said(&stale), "", "the samples are stale");
}

#[test]
fn the_measured_pods_of_a_partly_measured_workload_count() {
    let cluster = Cluster::parse(
        "node n1\n  web*3 cpu=100m uses=1/100Mi\n  web cpu=100m uses=9/100Mi unready
  web cpu=100m uses=9/100Mi age=1m no-metrics\nnode n2",
    );
    assert_snapshot!(
        said(&cluster.plan(EVEN)),
        @"default/Deployment/web 3 of 5 pods; cpu too_low 100m → 1150m, uses 1, wrong by 5250m \
          (33%); memory too_low none → 128Mi, uses 100Mi, wrong by 640Mi (1%)"
    );
}

#[test]
fn in_a_rollout_the_request_of_the_newest_pod_counts() {
    let cluster = Cluster::parse(
        "node n1\n  web*3 cpu=100m memory=128Mi uses=1/100Mi\n  web cpu=1200m memory=128Mi age=5m \
            uses=1/100Mi\nnode n2",
    );
    assert_eq!(said(&cluster.plan(EVEN)), "");
}

/// Plans after cpu samples 15 seconds apart. Memory in mebibytes has the same numbers as cpu in
/// cores.
fn watched(policy: &str, cores: &[f64]) -> Plan {
    let mut engine = Engine::new(parse(policy), Ledger::default());
    let cluster =
        Cluster::parse("node n1 cpu=1000 memory=1Ti\n  web cpu=1m memory=1Mi uses=1/1Gi\nnode n2");
    let snapshot = cluster.snapshot(engine.policy());
    let mut now = after(0);
    for used in cores {
        let mut readings = cluster.readings(now);
        for sample in readings.pods.values_mut() {
            sample.used.cpu = Amount::from_f64(used * 1e9);
            sample.used.memory = Amount::from_f64(used * f64::from(1 << 30));
        }
        engine.observe(&snapshot, &readings, now);
        now += SignedDuration::from_secs(15);
    }
    recommending(&engine, &snapshot, now - SignedDuration::from_secs(15))
}

#[test]
fn memory_covers_the_peak_and_cpu_the_percentile() {
    let mut cores = vec![1.0; 20];
    cores[7] = 4.0;
    let half = format!("rightsizing: {{percentile: 50, headroom: 0%}}\n{EVEN}");
    assert_snapshot!(
        said(&watched(&half, &cores)),
        @"default/Deployment/web 1 of 1 pods; cpu too_low 1m → 1, uses 1, wrong by 999m \
          (0.1%); memory too_low 1Mi → 4Gi, uses 1Gi, wrong by 4095Mi (0.4%)"
    );
    let all = format!("rightsizing: {{percentile: 100, headroom: 0%}}\n{EVEN}");
    assert_snapshot!(
        said(&watched(&all, &cores)),
        @"default/Deployment/web 1 of 1 pods; cpu too_low 1m → 4, uses 1, wrong by 3999m \
          (0.4%); memory too_low 1Mi → 4Gi, uses 1Gi, wrong by 4095Mi (0.4%)"
    );
    let rightsizing = &watched(EVEN, &cores).rightsizing[0];
    assert_eq!((rightsizing.samples, rightsizing.span), (20, SignedDuration::from_secs(19 * 15)));
}

#[test]
fn json_has_amounts_in_the_format_of_a_manifest() {
    let plan =
        Cluster::parse("node n1\n  hot*4 cpu=100m memory=100Mi limit=2/- uses=1/200Mi\nnode n2")
            .plan(EVEN);
    assert_snapshot!(serde_json::to_string_pretty(&plan.rightsizing).unwrap(), @r#"
    [
      {
        "workload": "default/Deployment/hot",
        "pods": 4,
        "measured": 4,
        "samples": 4,
        "span": "PT0S",
        "resources": {
          "cpu": {
            "direction": "too_low",
            "request": "100m",
            "typical": "1",
            "suggested": "1150m",
            "limit": "2",
            "total": "4200m",
            "wrong_by": 0.2625
          },
          "memory": {
            "direction": "too_low",
            "request": "100Mi",
            "typical": "200Mi",
            "suggested": "240Mi",
            "limit": null,
            "total": "560Mi",
            "wrong_by": 0.0085
          }
        }
      }
    ]
    "#);
}

#[test]
fn metrics_count_all_workloads_and_name_the_worst() {
    let metrics = Metrics::default();
    let of_rightsizing = || {
        let text = metrics.text();
        text.lines()
            .filter(|l| l.starts_with("evenkeel_rightsizing"))
            .map(str::to_owned)
            .collect::<BTreeSet<_>>()
    };
    let policy = parse(&format!("rightsizing: {{top: 1}}\n{EVEN}"));
    let plan = Cluster::parse(WRONG).plan(EVEN);
    metrics.plan(&plan, &policy);
    let series = of_rightsizing().into_iter().collect::<Vec<_>>().join("\n");
    let workload = r#"namespace="default",kind="Deployment",workload="hot""#;
    assert_snapshot!(series.replace(workload, "HOT"), @r#"
    evenkeel_rightsizing_request{HOT,resource="cpu",unit="core"} 0.1
    evenkeel_rightsizing_request{HOT,resource="memory",unit="byte"} 104857600.0
    evenkeel_rightsizing_suggested_request{HOT,resource="cpu",unit="core"} 1.15
    evenkeel_rightsizing_suggested_request{HOT,resource="memory",unit="byte"} 251658240.0
    evenkeel_rightsizing_workloads{resource="cpu",direction="too_high"} 1
    evenkeel_rightsizing_workloads{resource="cpu",direction="too_low"} 1
    evenkeel_rightsizing_workloads{resource="memory",direction="too_high"} 1
    evenkeel_rightsizing_workloads{resource="memory",direction="too_low"} 1
    "#);
    metrics.plan(&Plan { rightsizing: plan.rightsizing[1..].to_vec(), ..plan }, &policy);
    assert!(
        of_rightsizing().iter().all(|l| !l.contains("hot")),
        "a workload with right requests has no series"
    );
}

proptest! {
    #![proptest_config(cases(50))]

    #[test]
    fn a_recommendation_covers_the_usage_and_more_usage_never_lowers_it(
        cores in proptest::collection::vec(0.0_f64..50.0, 3..20),
        more in 0.0_f64..5.0,
        which in 0_usize..20,
        percentile in 1_usize..100,
        headroom in 0_u32..100,
    ) {
        let policy =
            format!("rightsizing: {{percentile: {percentile}, headroom: {headroom}%}}\n{EVEN}");
        let suggested = |cores: &[f64], resource: &str| {
            let plan = watched(&policy, cores);
            plan.rightsizing
                .first()
                .and_then(|a| a.resources.get(resource))
                .map_or(0.0, |s| s.suggested.as_f64())
        };
        // It covers the share of samples that the percentile demands. Between two samples any value
        // is right.
        let mut sorted = cores.clone();
        sorted.sort_by(f64::total_cmp);
        let covered = cores.len() * percentile / 100;
        let least = if covered == 0 { sorted[0] } else { sorted[covered - 1] };
        let cpu = suggested(&cores, "cpu");
        prop_assert!(cpu >= least * 1e9 - 1.0, "{cpu} is below {least}");
        let memory = suggested(&cores, "memory");
        prop_assert!(memory >= sorted[sorted.len() - 1] * f64::from(1 << 30) - 1.0);
        let mut larger = cores.clone();
        let place = which % larger.len();
        larger[place] += more;
        prop_assert!(suggested(&larger, "cpu") >= cpu && suggested(&larger, "memory") >= memory);
    }
}
