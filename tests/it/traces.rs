//! Recorded usage in scenarios: rows of a file, one for each pod.

use evenkeel::policy::Policy;
use evenkeel::simulate;
use evenkeel::simulate::scenario::Scenario;
use evenkeel::simulate::trace::Trace;
use evenkeel::values::Ratio;
use insta::assert_snapshot;
use jiff::SignedDuration;

const POLICY: &str = "{apiVersion: evenkeel/v1alpha1, kind: Policy, strategies: [{
    lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}}}]}";

/// The only file is `day.csv` with these rows.
fn parse(text: &str, day: &str) -> Result<Scenario, String> {
    let open = |name: &str| match name {
        "day.csv" => Ok(day.to_owned()),
        _ => Err("No such file".to_owned()),
    };
    Scenario::parse_with("s.yaml", text, &open).map_err(|error| error.to_string())
}

fn scenario(nodes: &str, workload: &str) -> String {
    format!("name: s\nabout: s\nduration: 30m\nnodes: {nodes}\nworkloads:\n- {workload}\n")
}

fn run(text: &str, day: &str) -> Trace {
    let scenario = parse(text, day).unwrap_or_else(|problems| panic!("{problems}"));
    let policy = Policy::parse("policy.yaml", POLICY).unwrap();
    simulate::run(&scenario, policy, "policy.yaml", |_| {})
}

/// The cpu of a node in percent at a minute.
fn cpu(trace: &Trace, node: &str, minute: i64) -> i64 {
    let node = trace.nodes.iter().find(|n| n.name == node).unwrap();
    let step = minute * 60 / trace.step.as_secs();
    let ratio = node.actual["cpu"][usize::try_from(step).unwrap()];
    percent(ratio.unwrap())
}

#[expect(clippy::cast_possible_truncation, reason = "a percentage is small")]
fn percent(ratio: Ratio) -> i64 {
    (ratio.get() * 100.0).round() as i64
}

const TWO_NODES: &str = "[{name: n, count: 2, cpu: 1, memory: 1Gi}]";

#[test]
fn each_replica_uses_its_own_row_of_the_file() {
    let text = scenario(
        TWO_NODES,
        "{name: web, replicas: 2, on: [n1, n2], \
         usage: {cpu: {trace: {file: day.csv, row: 1, step: 10m, unit: 10m}}}}",
    );
    let trace = run(&text, "99\n10,20\n30,10\n");
    assert_eq!([0, 5, 10, 20].map(|m| cpu(&trace, "n1", m)), [10, 15, 20, 10]);
    assert_eq!([0, 5, 10, 20].map(|m| cpu(&trace, "n2", m)), [30, 20, 10, 30]);
}

#[test]
fn rows_are_reused_if_there_are_more_replicas() {
    let text = scenario(
        TWO_NODES,
        "{name: web, replicas: 3, on: [n1, n1, n2], \
         usage: {cpu: {trace: {file: day.csv, step: 5m, unit: 10m}}}}",
    );
    let trace = run(&text, "10\n20\n");
    assert_eq!(["n1", "n2"].map(|n| cpu(&trace, n, 0)), [30, 10]);
}

#[test]
fn each_pod_of_a_daemon_set_uses_its_own_row() {
    let text = scenario(
        TWO_NODES,
        "{name: agent, kind: DaemonSet, \
         usage: {cpu: {trace: {file: day.csv, step: 5m, unit: 1m}}}}",
    );
    let trace = run(&text, "100\n200\n");
    assert_eq!(["n1", "n2"].map(|n| cpu(&trace, n, 0)), [10, 20]);
}

#[test]
fn memory_is_traced_like_cpu() {
    let text = scenario(
        TWO_NODES,
        "{name: web, on: [n1], usage: {memory: {trace: {file: day.csv, step: 5m, unit: 256Mi}}}}",
    );
    let trace = run(&text, "1,3\n");
    let memory = |step: usize| percent(trace.nodes[0].actual["memory"][step].unwrap());
    let steps = usize::try_from(300 / trace.step.as_secs()).unwrap();
    assert_eq!([memory(0), memory(steps)], [25, 75]);
}

/// Two hot pods on the first node. One of them moves, and its replacement is as hot.
fn moved(kind: &str) -> Trace {
    let text = scenario(
        "[{name: n, count: 2, cpu: 10, memory: 1Gi}]",
        &format!(
            "{{name: web, kind: {kind}, replicas: 4, on: [n1, n1, n1, n2], requests: {{cpu: 1}}, \
             usage: {{cpu: {{trace: {{file: day.csv, step: 1m, unit: 1m}}}}}}}}"
        ),
    );
    run(&text, "2900\n2500\n2000\n500\n")
}

#[test]
fn a_replacement_goes_on_with_the_row_of_its_pod() {
    for kind in ["Deployment", "StatefulSet"] {
        let trace = moved(kind);
        assert_eq!(trace.summary.evictions, 1, "{kind}");
        let usage = ["n1", "n2"].map(|n| cpu(&trace, n, 29));
        assert_eq!(usage.iter().sum::<i64>(), 79, "{kind}");
        assert!(usage.iter().all(|cpu| *cpu <= 60), "{kind}: {usage:?}");
    }
}

#[test]
fn the_time_above_the_target_is_counted_in_every_step_and_by_hour() {
    // Above the target of 60 % from the middle of one value to the middle of the next.
    let text = scenario(
        TWO_NODES,
        "{name: web, replicas: 2, on: [n1, n2], \
         usage: {cpu: {trace: {file: day.csv, step: 30m, unit: 10m}}}}",
    )
    .replace("duration: 30m", "duration: 2h");
    let trace = run(&text, "40,80\n10,10\n");
    let above = &trace.summary.above_target["cpu"];
    assert_eq!(above.total, above.by_hour.iter().copied().sum());
    let minutes: Vec<i64> = above.by_hour.iter().map(SignedDuration::as_mins).collect();
    // The last 15 seconds before 45 minutes are above, the first after 15 minutes are not yet.
    assert_eq!(minutes, [29, 29]);
}

#[test]
fn mistakes_name_the_file_the_field_and_what_was_expected() {
    let refused = |trace: &str, day: &str| {
        let text =
            scenario(TWO_NODES, &format!("{{name: web, usage: {{cpu: {{trace: {trace}}}}}}}"));
        parse(&text, day).unwrap_err()
    };
    let all = [
        refused("{file: night.csv, step: 5m, unit: 1m}", "1"),
        refused("{file: day.csv, row: 2, step: 5m, unit: 1m}", "1\n2"),
        refused("{file: day.csv, step: 5m, unit: 1m}", "1,2\n3,x"),
        refused("{file: day.csv, row: -1, unit: lots}", "1"),
    ];
    assert_snapshot!(all.join("\n"), @"
    s.yaml:6:43: workloads[0].usage.cpu.trace.file: night.csv: No such file
      | - {name: web, usage: {cpu: {trace: {file: night.csv, step: 5m, unit: 1m}}}}
      |                                           ^
    s.yaml:6:57: workloads[0].usage.cpu.trace.row: found 2, expected a row below 2, the rows of \
        the file
      | - {name: web, usage: {cpu: {trace: {file: day.csv, row: 2, step: 5m, unit: 1m}}}}
      |                                                         ^
    s.yaml:6:43: workloads[0].usage.cpu.trace.file: day.csv: line 2, field 2: found `x`, expected \
        a number of at least 0
      | - {name: web, usage: {cpu: {trace: {file: day.csv, step: 5m, unit: 1m}}}}
      |                                           ^
    s.yaml:6:29: workloads[0].usage.cpu.trace.step: missing, expected the time from one value to \
        the next, such as 5m
      | - {name: web, usage: {cpu: {trace: {file: day.csv, row: -1, unit: lots}}}}
      |                             ^
    s.yaml:6:57: workloads[0].usage.cpu.trace.row: found -1, expected a whole number from 0 on
      | - {name: web, usage: {cpu: {trace: {file: day.csv, row: -1, unit: lots}}}}
      |                                                         ^
    s.yaml:6:67: workloads[0].usage.cpu.trace.unit: found lots, expected a quantity of cpu, such \
        as 500m or 2
      | - {name: web, usage: {cpu: {trace: {file: day.csv, row: -1, unit: lots}}}}
      |                                                                   ^
    ");
}

#[test]
fn a_scenario_without_a_folder_cannot_name_files() {
    let text = scenario(
        TWO_NODES,
        "{name: web, usage: {cpu: {trace: {file: day.csv, step: 5m, unit: 1m}}}}",
    );
    let problem = Scenario::parse("s.yaml", &text).unwrap_err().to_string();
    assert!(problem.contains("day.csv: found no folder to read files from"), "{problem}");
}
