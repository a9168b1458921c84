//! Usage that repeats: decisions by expected usage, beside decisions by the present alone.

use std::fmt::Write;
use std::ops::Range;

use evenkeel::decide::engine::Engine;
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::Plan;
use evenkeel::model::snapshot::NodeId;
use evenkeel::model::usage::{Measure, PodUsage};
use evenkeel::policy::Policy;
use evenkeel::simulate;
use evenkeel::simulate::scenario::Scenario;
use evenkeel::simulate::trace::{Eviction, Trace};
use evenkeel::values::Amount;
use insta::assert_snapshot;

use crate::dice::Dice;
use crate::it::support::{Cluster, after, text};

const NODES: u64 = 20;
/// So many that half of all cpu is in use during office hours.
const PODS_ON_FOUR_NODES: u64 = 45;
const DAYS: u64 = 14;

const POLICY: &str = "
apiVersion: evenkeel/v1alpha1
kind: Policy
interval: 10m
usage: {poll: 10m, window: 30m, smoothing: mean, staleAfter: 30m, minSamples: 2}
steering: {taintHot: true}
strategies:
- lowNodeUtilization: {thresholds: {cpu: 40%}, targetThresholds: {cpu: 60%}}
";

/// Two weeks of office hours, nightly batch and steady pods, on nodes chosen by chance.
struct TwoWeeks {
    scenario: String,
    usage: String,
}

/// Returns the cpu of a pod at an hour in millicores. The first day is a Monday.
fn cpu(pod: u64, peak: u64, hour: u64) -> u64 {
    let (day, hour) = (hour / 24 % 7, hour % 24);
    match pod % 4 {
        0 | 1 if day < 5 && (9..17).contains(&hour) => peak,
        2 if (1..5).contains(&hour) => peak + 300,
        3 => peak / 2,
        _ => 100,
    }
}

/// Returns the policy that learns, without steering, which would first set taints.
fn without_steering() -> Policy {
    let limits = "limits: {perWorkload: 100%}";
    let policy = learning().replace("steering: {taintHot: true}", limits);
    Policy::parse("policy.yaml", &policy).unwrap()
}

/// Returns the policy that also learns what repeats.
fn learning() -> String {
    POLICY.replace("minSamples: 2}", "minSamples: 2, ahead: 2h}")
}

fn two_weeks(node_count: u64, seed: u64) -> TwoWeeks {
    let pod_count = node_count * PODS_ON_FOUR_NODES / 16 * 4;
    let mut dice = Dice(seed);
    let mut usage = String::new();
    let mut nodes = Vec::new();
    for pod in 0..pod_count {
        let peak = 250 + dice.below(600);
        let hours = (0..DAYS * 24).map(|hour| {
            let cpu = cpu(pod, peak, hour);
            // A tenth more or less, by chance.
            (cpu * (90 + dice.below(21)) / 100).to_string()
        });
        writeln!(usage, "{}", hours.collect::<Vec<_>>().join(",")).unwrap();
    }
    for _ in 0..pod_count {
        nodes.push(format!("n{}", 1 + dice.below(node_count)));
    }
    let mut scenario = format!(
        "name: two-weeks\nabout: office hours, nightly batch, weekends\nduration: {}h\n\
         seed: {seed}\nnodes: [{{name: n, count: {node_count}, cpu: 8, memory: 32Gi}}]\nworkloads:\n",
        DAYS * 24
    );
    for (i, on) in nodes.chunks(4).enumerate() {
        let (row, on) = (i * 4, on.join(", "));
        writeln!(
            scenario,
            "- {{name: w{i}, replicas: 4, requests: {{cpu: 250m}}, on: [{on}], \
             usage: {{cpu: {{trace: {{file: usage.csv, row: {row}, step: 1h, unit: 1m}}}}}}}}"
        )
        .unwrap();
    }
    TwoWeeks { scenario, usage }
}

fn run(case: &TwoWeeks, policy: &str) -> Trace {
    let open = |_: &str| Ok(case.usage.clone());
    let scenario = Scenario::parse_with("two-weeks.yaml", &case.scenario, &open);
    let scenario = scenario.unwrap_or_else(|problems| panic!("{problems}"));
    let policy = Policy::parse("policy.yaml", policy).unwrap_or_else(|e| panic!("{e}"));
    simulate::run(&scenario, policy, "policy.yaml", |_| {})
}

/// Evictions, and node-minutes above the target.
fn figures(trace: &Trace) -> (u32, i64) {
    let above = &trace.summary.above_target["cpu"];
    (trace.summary.evictions, above.total.as_mins())
}

/// In a small cluster, one eviction more or less on the first day decides. The figures in the
/// documentation are those of `EVENKEEL_NODES=80 EVENKEEL_SEEDS=20`.
#[test]
#[expect(clippy::disallowed_methods, reason = "more seeds by hand")]
fn what_repeats_leads_to_less_time_above_the_target_with_no_more_evictions() {
    let number = |name: &str, default| std::env::var(name).map_or(default, |n| n.parse().unwrap());
    let (nodes, seeds) = (number("EVENKEEL_NODES", NODES), number("EVENKEEL_SEEDS", 2));
    let (mut report, mut evictions, mut minutes) = (String::new(), (0, 0), (0, 0));
    let mut each = true;
    for seed in 1..=seeds {
        let case = two_weeks(nodes, seed);
        let (reacting, learned) = (run(&case, POLICY), run(&case, &learning()));
        assert!(says_what_was_expected(&learned));
        let ((more, longer), (fewer, shorter)) = (figures(&reacting), figures(&learned));
        evictions = (evictions.0 + more, evictions.1 + fewer);
        minutes = (minutes.0 + longer, minutes.1 + shorter);
        // The size of the documentation is large enough for a claim about each seed.
        each &= nodes < 80 || fewer < more && shorter < longer;
        writeln!(
            report,
            "seed {seed}: {more} evictions and {longer} min, learning {fewer} and {shorter} min"
        )
        .unwrap();
    }
    println!("{report}");
    assert!(each && evictions.1 <= evictions.0 && minutes.1 < minutes.0, "{report}");
}

/// Whether an eviction says the expected usage. On the first day nothing is known yet.
fn says_what_was_expected(trace: &Trace) -> bool {
    let says = |e: &Eviction| e.reason.contains(", expected in the next 2h (now ");
    let first_day = |e: &&Eviction| e.at.duration_since(trace.start).as_hours() < 24;
    let (first, later): (Vec<_>, Vec<_>) = trace.evictions.iter().partition(first_day);
    assert!(!first.into_iter().any(says));
    later.into_iter().any(says)
}

/// Observes a cluster every ten minutes between two times, in minutes after noon. Each pod uses 800
/// millicores during the office hours of working days, and 100 otherwise.
fn observe_office(engine: &mut Engine, cluster: &Cluster, minutes: Range<i64>) {
    observe_hours(engine, cluster, minutes, |_, hour| {
        let weekend = hour / 24 % 7 < 2;
        if !weekend && (9..17).contains(&(hour % 24)) { 800 } else { 100 }
    });
}

/// Observes a cluster every ten minutes between two times, in minutes after noon. A function gives
/// the millicores of a pod at an hour after the midnight before, when Saturday began.
fn observe_hours(
    engine: &mut Engine,
    cluster: &Cluster,
    minutes: Range<i64>,
    cpu: impl Fn(&str, i64) -> u64,
) {
    let snapshot = cluster.snapshot(engine.policy());
    for minute in minutes.step_by(10) {
        let at = after(minute * 60);
        let mut readings = cluster.readings(at);
        let hour = 12 + minute / 60;
        for ((_, pod), sample) in &mut readings.pods {
            sample.used.cpu = Amount::millicores(cpu(pod, hour));
        }
        for node in &snapshot.nodes {
            let pods = node.pods.iter().map(|pod| &snapshot.pod(*pod).name);
            let sum = pods.map(|pod| cpu(pod, hour)).sum();
            let sample = readings.nodes.get_mut(&node.name).unwrap();
            sample.used.cpu = Amount::millicores(sum);
        }
        engine.observe(&snapshot, &readings, at);
    }
}

/// Returns the plan by trend for a node of eight cores after 26 hours in which its 40 pods use these
/// millicores in turn, and memory that rises to so many mebibytes.
fn plan_for_light_pods(policy: &str, cpu: [u64; 2], memory: u64) -> Plan {
    let policy = policy.replace("steering: {taintHot: true}", "").replace("mean", "trend");
    let policy = policy.replace("cpu: 60%", "cpu: 60%, memory: 60%");
    let policy = policy.replace("cpu: 40%", "cpu: 40%, memory: 40%");
    let mut engine = Engine::new(Policy::parse("policy.yaml", &policy).unwrap(), Ledger::default());
    let cluster = Cluster::parse("node n1\n  web*40 cpu=100m uses=140m\nnode n2\nnode n3");
    let snapshot = cluster.snapshot(engine.policy());
    let last = 26 * 6;
    for poll in 0..=last {
        let now = after(i64::try_from(poll).unwrap() * 600);
        let mut readings = cluster.readings(now);
        let used = Measure {
            cpu: Amount::millicores(cpu[usize::try_from(poll % 2).unwrap()]),
            memory: Amount::new((memory << 20) * poll / last),
        };
        readings.pods.values_mut().for_each(|sample| sample.used = used);
        readings.nodes.get_mut("n1").unwrap().used =
            (0..40).fold(Measure::default(), |sum, _| sum.plus(used));
        engine.observe(&snapshot, &readings, now);
    }
    engine.decide(&snapshot, after(26 * 3600))
}

#[test]
fn light_pods_relieve_a_node_that_varies_also_if_hours_are_learned() {
    // 70 % of the node, give or take 14 points. A pod uses less than 2 %.
    for policy in [POLICY, &learning()] {
        let plan = plan_for_light_pods(policy, [112, 168], 100);
        assert!(!plan.moves.is_empty(), "{}", text(&plan));
    }
}

#[test]
fn memory_follows_its_trend_also_if_hours_of_cpu_are_learned() {
    // 62 % of 32 GiB are 508 MiB for each of 40 pods.
    let text = text(&plan_for_light_pods(&learning(), [20, 20], 508));
    assert!(text.contains("node usage: memory 61%, expected in the next 15m (now 62%"), "{text}");
}

/// Returns the expected millicores of a pod that was replaced a minute before the end, whose
/// siblings have followed office hours since Saturday noon.
fn expected_of_new_pod(policy: &str, minutes: i64) -> u64 {
    let policy = Policy::parse("policy.yaml", policy).unwrap();
    let mut engine = Engine::new(policy, Ledger::default());
    let mut cluster = Cluster::parse("node n1\n  web*3 cpu=100m uses=100m\nnode n2");
    observe_office(&mut engine, &cluster, 0..minutes);
    cluster.replace("default", "web-3", "n2", after((minutes - 1) * 60));
    observe_office(&mut engine, &cluster, minutes..minutes + 1);
    let snapshot = cluster.snapshot(engine.policy());
    let usage = engine.usage(&snapshot, after(minutes * 60));
    let new = snapshot.node(NodeId(1)).pods[0];
    let PodUsage::Estimated(expected) = usage.pods[new.0] else {
        panic!("{:?}", usage.pods[new.0]);
    };
    expected.cpu.get() / 1_000_000
}

#[test]
fn a_pod_without_samples_is_expected_to_use_what_its_siblings_usually_do() {
    let tuesday_at_half_past_eight = 68 * 60 + 30;
    assert_eq!(expected_of_new_pod(&learning(), tuesday_at_half_past_eight), 800);
    let saturday_at_half_past_ten_pm = (7 * 24 + 10) * 60 + 30;
    assert_eq!(expected_of_new_pod(&learning(), saturday_at_half_past_ten_pm), 100);
    let beyond_sunday = learning().replace("ahead: 2h", "ahead: 36h");
    assert_eq!(expected_of_new_pod(&beyond_sunday, saturday_at_half_past_ten_pm), 800);
}

#[test]
fn a_policy_that_learns_no_more_has_no_error_of_its_expectations() {
    let mut engine = Engine::new(without_steering(), Ledger::default());
    let cluster = Cluster::parse("node n1\n  web cpu=100m uses=100m\nnode n2");
    observe_office(&mut engine, &cluster, 0..3 * 24 * 60);
    assert!(engine.hindsight().usual().is_some());
    engine.change_policy(Policy::parse("policy.yaml", POLICY).unwrap());
    assert_eq!(engine.hindsight().usual(), None);
}

/// Returns the plan at half past midnight on Tuesday, after two and a half days. Batch pods use a
/// core from one to five, office pods 750 millicores from nine to five, mixed pods a core from one
/// to five and 400 millicores from nine to five, and others 800 millicores.
fn plan_at_night(cluster: &str) -> Plan {
    let mut engine = Engine::new(without_steering(), Ledger::default());
    let cluster = Cluster::parse(cluster);
    let now = (2 * 24 + 12) * 60 + 30;
    observe_hours(&mut engine, &cluster, 0..now + 1, |pod, hour| {
        match (pod.split('-').next(), hour % 24) {
            (Some("batch" | "mixed"), 1..5) => 1000,
            (Some("office"), 9..17) => 750,
            (Some("mixed"), 9..17) => 400,
            (Some("batch" | "mixed" | "office"), _) => 100,
            _ => 800,
        }
    });
    let snapshot = cluster.snapshot(engine.policy());
    engine.decide(&snapshot, after(now * 60))
}

/// At night n1 is hot. n2 has room then, but not during office hours.
#[test]
fn a_pod_goes_where_it_has_room_in_every_hour_of_the_day() {
    let night = "
        node n1
          batch*5 cpu=500m uses=100m
          api*2 cpu=500m uses=800m
        node n2
          office*6 cpu=100m uses=100m";
    assert_snapshot!(text(&plan_at_night(night)), @r"
    move batch-1 from n1 to n2: node usage: cpu 82%, expected in the next 2h (now 26%), is above its target of 60%
    move batch-2 from n1 to n2: node usage: cpu 70%, expected in the next 2h (now 25%), is above its target of 60%
    ");
    let only_api = night.replace("uses=100m\n          api", "uses=100m stay\n          api");
    let plan = plan_at_night(&only_api);
    assert_snapshot!(
        text(&plan).lines().next().unwrap(),
        @"keep api-1 on n1: its replacement could land on n2, where cpu usage would reach 66% within a day, above the target of 60%"
    );
    assert!(plan.moves.is_empty());
    // With an office pod less there is room for one.
    let more = only_api.replace("office*6", "office*5");
    let more = more.replace("batch*5", "batch*4").replace("api*2", "api*3");
    let plan = plan_at_night(&more);
    assert_snapshot!(text(&plan).lines().take(2).collect::<Vec<_>>().join("\n"), @r"
    move api-1 from n1 to n2: node usage: cpu 80%, expected in the next 2h (now 35%), is above its target of 60%
    keep api-2 on n1: its replacement could land on n2, where cpu usage would reach 67% within a day, above the target of 60%
    ");
}

/// n2 is above its target by 6 % of a node in the eight hours of the office. At night each pod takes
/// 12 % of a node away from n1 for four hours, and what it may add by day is half of that.
#[test]
fn a_landing_may_add_half_of_what_the_move_removes() {
    let plan = |pods: &str| {
        let cluster = format!(
            "
            node n1
              {pods}*5 cpu=500m uses=100m
              api*2 cpu=500m uses=800m stay
            node n2
              office*7 cpu=100m uses=100m"
        );
        let plan = text(&plan_at_night(&cluster));
        let first = plan.lines().find(|line| line.contains(pods));
        first.unwrap_or_default().to_owned()
    };
    assert_snapshot!(
        plan("batch"),
        @"move batch-1 from n1 to n2: node usage: cpu 82%, expected in the next 2h (now 26%), is above its target of 60%"
    );
    assert_snapshot!(
        plan("mixed"),
        @"keep mixed-1 on n1: its replacement could land on n2, where cpu usage would reach 71% within a day, above the target of 60%"
    );
}
