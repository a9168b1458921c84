//! The pools, bands and readings in the balance report of a plan.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use evenkeel::model::plan::{BalanceReport, TargetBand};
use evenkeel::values::Ratio;
use insta::assert_snapshot;

use crate::it::support::{Cluster, EVEN, after, noon, parse};

/// The pools and nodes of a report, a line for each.
fn show(report: &BalanceReport) -> String {
    let mut out = String::new();
    for pool in &report.pools {
        let (name, basis, nodes) = (&pool.name, pool.basis.label(), pool.nodes);
        let outside = pool.outside_band.map_or("?".to_owned(), |n| n.to_string());
        let _ =
            writeln!(out, "{name} by {basis}: {outside} of {nodes} outside {}", band(&pool.band));
        for (resource, balance) in &pool.balance {
            let (mean, deviation, above) = (balance.mean, balance.deviation, balance.above_mean);
            let _ = writeln!(
                out,
                "  {resource}: mean {mean}, deviation {deviation}, largest {above} above"
            );
        }
    }
    for node in &report.nodes {
        let pool = node.pool.as_deref().unwrap_or("no pool");
        let latest = node.latest["cpu"].map_or("unknown".to_owned(), |r| r.to_string());
        let _ = writeln!(out, "{}: {pool}, cpu read {latest}, {}", node.name, band(&node.band));
    }
    out
}

fn band(band: &BTreeMap<String, TargetBand>) -> String {
    let bound = |ratio: Option<Ratio>| ratio.map_or("-".to_owned(), |ratio| ratio.to_string());
    let each = |(resource, band): (&String, &TargetBand)| {
        format!("{resource} {} to {}", bound(band.threshold), bound(band.target))
    };
    if band.is_empty() {
        return "no band".to_owned();
    }
    band.iter().map(each).collect::<Vec<_>>().join(", ")
}

const CLUSTER: &str = "
node n1
  a cpu=1 uses=6/8Gi
node n2
  b cpu=1 uses=2/8Gi
node n3 labels=pool:gpu gpu=4
  c cpu=1 gpu=3 uses=1/8Gi
node n4 no-metrics
";

#[test]
fn each_pool_has_its_own_band_and_an_unmeasured_node_is_in_no_pool() {
    let policy = "
strategies:
- lowNodeUtilization:
    thresholds: {cpu: 30%}
    targetThresholds: {cpu: 50%}
    nodePools: [{name: gpu, nodeSelector: pool=gpu, thresholds: {nvidia.com/gpu: 20%},
      targetThresholds: {nvidia.com/gpu: 60%}}]
";
    assert_snapshot!(show(&Cluster::parse(CLUSTER).plan(policy).before), @"
    gpu by actual: 1 of 1 outside nvidia.com/gpu 20% to 60%
      cpu: mean 12%, deviation 0%, largest 0% above
      memory: mean 25%, deviation 0%, largest 0% above
      nvidia.com/gpu: mean 75%, deviation 0%, largest 0% above
    default by actual: 2 of 2 outside cpu 30% to 50%
      cpu: mean 50%, deviation 25%, largest 25% above
      memory: mean 25%, deviation 0%, largest 0% above
    n1: default, cpu read 75%, cpu 30% to 50%
    n2: default, cpu read 25%, cpu 30% to 50%
    n3: gpu, cpu read 12%, nvidia.com/gpu 20% to 60%
    n4: no pool, cpu read unknown, no band
    ");
}

#[test]
fn deviation_thresholds_are_shown_as_absolute_bounds() {
    let policy =
        "strategies: [{lowNodeUtilization: {useDeviationThresholds: true, thresholds: {cpu: 10%},
          targetThresholds: {cpu: 5%}}}]";
    assert_snapshot!(show(&Cluster::parse(CLUSTER).plan(policy).before), @"
    default by actual: 3 of 3 outside cpu 28% to 42%
      cpu: mean 38%, deviation 27%, largest 38% above
      memory: mean 25%, deviation 0%, largest 0% above
    n1: default, cpu read 75%, cpu 28% to 42%
    n2: default, cpu read 25%, cpu 28% to 42%
    n3: default, cpu read 12%, cpu 28% to 42%
    n4: no pool, cpu read unknown, no band
    ");
}

#[test]
fn a_band_of_one_strategy_does_not_hide_that_of_another_basis() {
    let policy = "
strategies:
- lowNodeUtilization: {basis: requests, thresholds: {cpu: 5%}, targetThresholds: {cpu: 10%}}
- lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 50%}}
- lowNodeUtilization: {thresholds: {cpu: 1%}, targetThresholds: {cpu: 2%}}
";
    assert_snapshot!(show(&Cluster::parse(CLUSTER).plan(policy).before), @"
    default by requests: 4 of 4 outside cpu 5% to 10%
      cpu: mean 9.4%, deviation 5.4%, largest 3.1% above
      memory: mean 0%, deviation 0%, largest 0% above
    default by actual: 3 of 3 outside cpu 30% to 50%
      cpu: mean 38%, deviation 27%, largest 38% above
      memory: mean 25%, deviation 0%, largest 0% above
    n1: default, cpu read 75%, cpu 5% to 10%
    n2: default, cpu read 25%, cpu 5% to 10%
    n3: default, cpu read 12%, cpu 5% to 10%
    n4: default, cpu read unknown, cpu 5% to 10%
    ");
}

#[test]
fn high_node_utilization_has_thresholds_on_its_basis_and_limits_on_usage() {
    let policy = "strategies: [{highNodeUtilization: {basis: requests, thresholds: {cpu: 20%}}}]";
    assert_snapshot!(show(&Cluster::parse(CLUSTER).plan(policy).before), @"
    default by requests: 4 of 4 outside cpu 20% to -
      cpu: mean 9.4%, deviation 5.4%, largest 3.1% above
      memory: mean 0%, deviation 0%, largest 0% above
    default by actual: 0 of 3 outside cpu - to 80%, memory - to 80%
      cpu: mean 38%, deviation 27%, largest 38% above
      memory: mean 25%, deviation 0%, largest 0% above
    n1: default, cpu read 75%, cpu 20% to -
    n2: default, cpu read 25%, cpu 20% to -
    n3: default, cpu read 12%, cpu 20% to -
    n4: default, cpu read unknown, cpu 20% to -
    ");
}

#[test]
fn without_a_balancing_strategy_all_nodes_are_one_pool() {
    assert_snapshot!(show(&Cluster::parse(CLUSTER).plan("strategies: [removePodsViolatingNodeTaints]").before), @"
    all by actual: ? of 3 outside no band
      cpu: mean 38%, deviation 27%, largest 38% above
      memory: mean 25%, deviation 0%, largest 0% above
    all by requests: ? of 4 outside no band
      cpu: mean 9.4%, deviation 5.4%, largest 3.1% above
      memory: mean 0%, deviation 0%, largest 0% above
    n1: all, cpu read 75%, no band
    n2: all, cpu read 25%, no band
    n3: all, cpu read 12%, no band
    n4: no pool, cpu read unknown, no band
    ");
}

#[test]
fn the_newest_reading_is_reported_beside_the_smoothed_one_until_it_is_stale() {
    let policy = parse(&format!("{EVEN}usage: {{minSamples: 1, smoothing: mean, staleAfter: 2m}}"));
    let mut cluster = Cluster::parse("node n1\n a cpu=1 uses=2\nnode n2\n b cpu=1 uses=2");
    let snapshot = cluster.snapshot(&policy);
    let mut engine =
        evenkeel::decide::engine::Engine::new(policy, evenkeel::model::ledger::Ledger::default());
    engine.observe(&snapshot, &cluster.readings(noon()), noon());
    let more = evenkeel::model::usage::Measure {
        cpu: evenkeel::values::Amount::millicores(6000),
        ..Default::default()
    };
    cluster.nodes.insert("n1".to_owned(), more);
    cluster.pods.insert(("default".to_owned(), "a-1".to_owned()), more);
    engine.observe(&snapshot, &cluster.readings(after(30)), after(30));
    let n1 = |now| {
        let report = engine.decide(&snapshot, now).before;
        (report.nodes[0].ratios["cpu"], report.nodes[0].latest["cpu"])
    };
    assert_eq!(n1(after(30)), (Ratio::percent(50.0), Ratio::percent(75.0)));
    assert_eq!(n1(after(300)), (None, None));
}
