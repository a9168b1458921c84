//! Decisions by the trend of usage: small clusters in which the usage of one node changes.

use evenkeel::simulate::scenario::Scenario;
use evenkeel::simulate::{self, trace::Trace};
use jiff::SignedDuration;

use crate::it::support::parse;

/// Three nodes of four cores. On the first one are four heavy and twenty light pods with this usage
/// of cpu and memory. `more` is added to the scenario.
fn cluster(usage: [&str; 3], more: &str) -> Scenario {
    cluster_on(&["n1"], usage, more)
}

/// The same with such pods on each of these nodes.
fn cluster_on(nodes: &[&str], [heavy, light, memory]: [&str; 3], more: &str) -> Scenario {
    let workload = |name: &str, (node, i): (&str, i32), cpu: &str| {
        format!(
            "- {{name: {name}-{node}-{i}, replicas: 2, on: [{node}], \
             requests: {{cpu: 100m, memory: 128Mi}}, usage: {{cpu: {cpu}, memory: {memory}}}}}\n"
        )
    };
    let mut text = format!(
        "name: change\nabout: Usage of one node changes\nduration: 4h\n{more}\n\
         nodes: [{{name: n, count: 3, cpu: 4, memory: 16Gi}}]\nworkloads:\n"
    );
    for node in nodes {
        text.extend((1..=2).map(|i| workload("heavy", (node, i), heavy)));
        text.extend((1..=10).map(|i| workload("light", (node, i), light)));
    }
    Scenario::parse("change.yaml", &text).unwrap_or_else(|e| panic!("{e}"))
}

/// Plays a scenario with decisions by trend.
fn trace(scenario: &Scenario, interval: &str) -> Trace {
    let policy = format!(
        "interval: {interval}\nusage: {{smoothing: trend}}\nstrategies: [{{lowNodeUtilization: \
         {{thresholds: {{cpu: 30%, memory: 30%}}, targetThresholds: {{cpu: 60%, memory: 60%}}}}}}]"
    );
    simulate::run(scenario, parse(&policy), "trend", |_| {})
}

/// Plays a scenario and returns its evictions and the minutes above a target.
fn play(scenario: &Scenario, interval: &str) -> (u32, i64) {
    let trace = trace(scenario, interval);
    let above = trace.summary.above_target.values();
    let minutes = above.map(|above| above.total.as_mins()).sum();
    (trace.summary.evictions, minutes)
}

/// Cpu that rises from 50 % to 72 % of the node in four hours.
const RISING: [&str; 3] =
    ["{leak: {base: 330m, perHour: 37m}}", "{leak: {base: 34m, perHour: 4m}}", "200Mi"];

#[test]
fn a_rising_node_is_relieved_before_it_is_hot_by_few_heavy_pods() {
    for interval in ["1m", "5m"] {
        let (evictions, minutes) = play(&cluster(RISING, ""), interval);
        assert!((1..=3).contains(&evictions), "{interval}: {evictions}");
        assert!(minutes <= 15, "{interval}: {minutes}");
    }
}

#[test]
fn the_plan_says_how_fast_the_node_rises_and_when_it_is_above_its_target() {
    let trace = trace(&cluster(RISING, ""), "1m");
    let first = &trace.evictions[0].reason;
    let says = |words: &str| assert!(first.contains(words), "{first}");
    says("node usage: cpu 60%, expected in the next 15m (now 60%, rising ");
    says(" points an hour, above 60% in ");
}

#[test]
fn usage_that_falls_moves_nothing() {
    // From 58 % of the node to 46 % in four hours.
    let falling = [
        "{wave: {mean: 330m, swing: 50m, period: 8h}}",
        "{wave: {mean: 35m, swing: 5m, period: 8h}}",
        "200Mi",
    ];
    for interval in ["1m", "5m"] {
        assert_eq!(play(&cluster(falling, ""), interval), (0, 0), "{interval}");
    }
}

/// Cpu of the heavy pods that makes a step from 50 % of the node to at least 63 % after two hours.
fn step(peak: u32, lasts: &str) -> String {
    format!("{{bursts: {{base: 330m, peak: {peak}m, every: 2h, for: {lasts}}}}}")
}

#[test]
fn a_peak_of_ten_minutes_moves_nothing() {
    for (peak, lasts) in [(460, "10m"), (520, "10m"), (600, "10m"), (700, "10m"), (600, "5m")] {
        for (resolution, interval) in [("15s", "1m"), ("60s", "1m"), ("15s", "5m")] {
            let metrics = format!("metrics: {{resolution: {resolution}}}");
            let peak = cluster([&step(peak, lasts), "34m", "200Mi"], &metrics);
            let (evictions, minutes) = play(&peak, interval);
            assert!(minutes >= 5, "{minutes}");
            assert_eq!(evictions, 0, "{lasts}, {resolution}, {interval}");
        }
    }
}

#[test]
fn a_step_that_stays_is_relieved_within_half_an_hour() {
    for (peak, interval) in [(460, "1m"), (600, "1m"), (700, "1m"), (460, "5m"), (600, "5m")] {
        let (evictions, minutes) =
            play(&cluster([&step(peak, "2h"), "34m", "200Mi"], ""), interval);
        assert!((1..=2).contains(&evictions), "{peak}: {evictions}");
        assert!(minutes <= 31, "{peak}: {minutes}");
    }
}

#[test]
fn a_steep_rise_for_longer_than_a_peak_is_relieved() {
    // From 27 % of the node to 87 % within 20 minutes, and back.
    let wave = "{wave: {mean: 400m, swing: 300m, period: 40m, peak: 20m}}";
    let (evictions, minutes) = play(&cluster([wave, "34m", "200Mi"], ""), "1m");
    assert!((1..=3).contains(&evictions), "{evictions}");
    assert!(minutes <= 20, "{minutes}");
}

#[test]
fn a_node_that_stays_hot_after_a_step_is_relieved_once_another_one_has_room() {
    // From 10 % to 75 % of the node after an hour. The node that takes its pods joins later.
    let workload = |i| {
        format!(
            "- {{name: web-{i}, replicas: 2, on: [hot], requests: {{cpu: 100m}}, usage: {{cpu: \
             {{bursts: {{base: 40m, peak: 300m, every: 1h, for: 1h}}}}}}}}\n"
        )
    };
    let text = format!(
        "name: step\nabout: The usage of one node makes a step\nduration: 3h\nnodes:\n\
         - {{name: hot, cpu: 4, memory: 16Gi}}\n\
         - {{name: new, cpu: 4, memory: 16Gi, joins: 1h10m}}\nworkloads:\n{}",
        (0..5).map(workload).collect::<String>()
    );
    let scenario = Scenario::parse("step.yaml", &text).unwrap_or_else(|e| panic!("{e}"));
    let (evictions, minutes) = play(&scenario, "1m");
    assert!((2..=3).contains(&evictions), "{evictions}");
    assert!(minutes <= 30, "{minutes}");
}

#[test]
fn the_second_eviction_of_a_plan_does_not_take_the_first_one_for_a_fall() {
    // By half a percent of the node a minute.
    let rising = ["{leak: {base: 330m, perHour: 500m}}", "34m", "200Mi"];
    let trace = trace(&cluster(rising, ""), "10m");
    let [_, first, second] = &trace.evictions[..3] else {
        panic!("{:?}", trace.evictions);
    };
    assert_eq!(first.at, second.at);
    assert!(second.reason.contains("expected"), "{}", second.reason);
    assert!(!second.reason.contains("falling"), "{}", second.reason);
}

#[test]
fn a_rise_of_all_nodes_at_once_moves_nothing() {
    let (evictions, _) = play(&cluster_on(&["n1", "n2", "n3"], RISING, ""), "1m");
    assert_eq!(evictions, 0);
}

#[test]
fn sparse_samples_lead_to_the_same_relief() {
    let sparse = cluster(RISING, "metrics: {resolution: 60s, delay: 30s}");
    let (evictions, minutes) = play(&sparse, "1m");
    assert!((1..=3).contains(&evictions), "{evictions}");
    assert!(minutes <= 15, "{minutes}");
}

#[test]
fn a_leak_of_memory_is_relieved_before_the_node_is_full() {
    let leak = "{leak: {base: 330Mi, perHour: 40Mi}}";
    let (evictions, minutes) = play(&cluster(["100m", "20m", leak], ""), "1m");
    assert!((1..=8).contains(&evictions), "{evictions}");
    assert!(minutes <= 15, "{minutes}");
}

#[test]
fn a_jump_of_a_minute_moves_nothing() {
    // From 50 % of the node to at least 80 %, every half hour.
    for peak in [640, 990] {
        let heavy = format!("{{bursts: {{base: 330m, peak: {peak}m, every: 30m, for: 1m}}}}");
        for resolution in ["15s", "30s", "60s"] {
            let metrics = format!("metrics: {{resolution: {resolution}}}");
            let (evictions, _) = play(&cluster([&heavy, "34m", "200Mi"], &metrics), "1m");
            assert_eq!(evictions, 0, "{peak}, {resolution}");
        }
    }
}

#[test]
fn a_pod_that_needs_much_cpu_to_start_moves_nothing() {
    // It starts after 100 minutes on a node at 48 %, with 1500m for two minutes and 150m after.
    let starting = "{bursts: {base: 1500m, peak: 150m, every: 102m, for: 10h}}";
    let text = format!(
        "name: start\nabout: A pod starts\nduration: 3h\n\
         nodes: [{{name: n, count: 3, cpu: 4, memory: 16Gi}}]\nworkloads:\n\
         - {{name: web, replicas: 16, on: [n1], requests: {{cpu: 100m}}, usage: {{cpu: 120m}}}}\n\
         - {{name: jvm, from: 100m, on: [n1], requests: {{cpu: 100m}}, usage: {{cpu: {starting}}}}}"
    );
    let scenario = Scenario::parse("start.yaml", &text).unwrap_or_else(|e| panic!("{e}"));
    let (evictions, minutes) = play(&scenario, "1m");
    assert!(minutes >= 1, "{minutes}");
    assert_eq!(evictions, 0);
}

#[test]
fn a_step_that_stays_below_the_target_moves_nothing() {
    // From 35 % to 55 % of the node after an hour.
    let step = ["{bursts: {base: 170m, peak: 370m, every: 1h, for: 1h}}", "36m", "200Mi"];
    // The last one is measured before and after an outage.
    let sources = ["resolution: 15s", "resolution: 30s", "resolution: 60s"];
    for source in sources.into_iter().chain(["gaps: [{from: 50m, until: 70m}]"]) {
        let metrics = format!("metrics: {{{source}}}");
        assert_eq!(play(&cluster(step, &metrics), "1m"), (0, 0), "{source}");
    }
}

#[test]
fn usage_that_stands_still_below_the_target_moves_nothing() {
    let still = cluster(["360m", "40m", "200Mi"], "");
    assert_eq!(play(&still, "1m"), (0, 0));
}

#[test]
fn a_saw_tooth_around_a_mean_below_the_target_moves_nothing_once_it_was_seen() {
    let saw = [
        "{wave: {mean: 330m, swing: 60m, period: 10m, peak: 5m}}",
        "{wave: {mean: 34m, swing: 6m, period: 10m, peak: 5m}}",
        "200Mi",
    ];
    let trace = trace(&cluster(saw, ""), "1m");
    // The first tooth is a rise like any other.
    let seen = trace.start + SignedDuration::from_mins(10);
    let later = trace.evictions.iter().filter(|eviction| eviction.at > seen);
    assert_eq!(later.count(), 0);
    assert!(trace.evictions.len() <= 1);
}

#[test]
fn a_node_whose_usage_varies_gives_no_more_pods_because_its_trend_may_err() {
    // Light pods vary by a third within ten minutes, and heavy ones rise.
    let varying = [
        "{leak: {base: 40m, perHour: 70m}}",
        "{wave: {mean: 80m, swing: 25m, period: 10m, peak: 5m}}",
        "200Mi",
    ];
    let (evictions, minutes) = play(&cluster(varying, ""), "1m");
    assert!(evictions <= 3, "{evictions}");
    assert!(minutes <= 115, "{minutes}");
}
