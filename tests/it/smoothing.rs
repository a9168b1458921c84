//! Usage: smoothing, unknown usage, and the immediate effect of a move.

use evenkeel::decide::engine::Engine;
use evenkeel::model::ledger::{Aim, Ledger};
use evenkeel::model::plan::Plan;
use evenkeel::model::snapshot::{NodeId, PodId};
use evenkeel::model::usage::{Measure, Unmeasured};
use evenkeel::values::Amount;
use jiff::SignedDuration;

use crate::it::support::{Cluster, EVEN, after, nodes, noon, parse};

fn cores(of: Option<Measure>) -> f64 {
    let millis = of.map(|m| m.cpu.get() / 1_000_000).expect("known");
    f64::from(u32::try_from(millis).unwrap()) / 1000.0
}

fn engine(smoothing: &str) -> Engine {
    Engine::new(
        parse(&format!("usage: {{window: 2m, smoothing: {smoothing}}}\n{EVEN}")),
        Ledger::default(),
    )
}

/// Of what belongs to no pod, an average with a half-life has the medians of three samples: one core.
#[test]
fn each_smoothing_method_gives_its_own_value() {
    for (smoothing, expected) in
        [("mean", 2.0), ("max", 3.0), ("{percentile: 50}", 2.0), ("{halfLife: 15s}", 2.0)]
    {
        let mut engine = engine(smoothing);
        let cluster = Cluster::parse("node n1\n  web*2 cpu=100m uses=500m\nnode n2");
        let snapshot = cluster.snapshot(engine.policy());
        for (at, system) in [(0, 0), (15, 1), (30, 2)] {
            let mut readings = cluster.readings(after(at));
            let node = readings.nodes.get_mut("n1").unwrap();
            node.used.cpu = node.used.cpu.plus(Amount::millicores(1000 * system));
            engine.observe(&snapshot, &readings, after(at));
        }
        let used = cores(engine.usage(&snapshot, after(30)).node(NodeId(0)));
        assert!((used - expected).abs() < 0.001, "{smoothing}: {used}");
    }
}

#[test]
fn a_window_of_just_enough_samples_holds_them_although_the_newest_one_is_not_of_now() {
    let policy = format!("usage: {{poll: 15s, window: 30s, minSamples: 3}}\n{EVEN}");
    let mut engine = Engine::new(parse(&policy), Ledger::default());
    let cluster = Cluster::parse("node n1\n  web cpu=100m uses=500m");
    let snapshot = cluster.snapshot(engine.policy());
    for at in [15, 30, 45] {
        engine.observe(&snapshot, &cluster.readings(after(at - 10)), after(at));
    }
    let used = cores(engine.usage(&snapshot, after(45)).pod(PodId(0)));
    assert!((used - 0.5).abs() < 0.001, "{used}");
}

#[test]
fn a_plan_says_how_many_nodes_have_no_trend_yet() {
    let mut engine = engine("trend");
    let cluster = Cluster::parse("node n1\n  web*2 cpu=100m uses=500m\nnode n2");
    let snapshot = cluster.snapshot(engine.policy());
    let mut says = Vec::new();
    for at in (0..=600).step_by(15) {
        engine.observe(&snapshot, &cluster.readings(after(at)), after(at));
        let plan = engine.decide(&snapshot, after(at));
        says.push(plan.no_trend.map(|none| none.to_string()));
    }
    let first = "no trend yet on 1 of 1 node with pods: the newest usage decides there";
    assert_eq!(says[2].as_deref(), Some(first));
    assert_eq!(says.last(), Some(&None));
}

#[test]
fn a_move_affects_both_nodes_at_once() {
    let mut engine = engine("mean");
    let mut cluster =
        Cluster::parse("node n1 system=100m\n  web*4 cpu=100m uses=1\nnode n2 system=100m");
    for at in [0, 15, 30] {
        let snapshot = cluster.snapshot(engine.policy());
        engine.observe(&snapshot, &cluster.readings(after(at)), after(at));
    }
    let before = cluster.readings(after(40));
    cluster.replace("default", "web-4", "n2", after(41));
    let snapshot = cluster.snapshot(engine.policy());
    // No reading includes the new pod, and the latest node samples still include the old one.
    engine.observe(&snapshot, &before, after(42));
    let usage = engine.usage(&snapshot, after(42));
    assert_eq!((cores(usage.node(NodeId(0))), cores(usage.node(NodeId(1)))), (3.1, 1.1));
}

#[test]
fn a_sample_that_is_read_repeatedly_counts_once() {
    let mut engine = engine("mean");
    let cluster = Cluster::parse("node n1\n  web*2 cpu=100m uses=1\nnode n2");
    let snapshot = cluster.snapshot(engine.policy());
    for at in [0, 15, 30] {
        engine.observe(&snapshot, &cluster.readings(noon()), after(at));
    }
    assert_eq!(
        engine.usage(&snapshot, after(30)).unmeasured(NodeId(0)),
        Some(Unmeasured::Few { have: 1, need: 3 })
    );
}

#[test]
fn stale_and_future_samples_make_a_node_unknown() {
    let mut engine = engine("mean");
    let cluster = Cluster::parse("node n1\n  web*2 cpu=100m uses=1\nnode n2");
    let snapshot = cluster.snapshot(engine.policy());
    for at in [0, 15, 30] {
        engine.observe(&snapshot, &cluster.readings(after(at)), after(at));
    }
    let unmeasured = |at| engine.usage(&snapshot, after(at)).unmeasured(NodeId(0));
    assert_eq!(unmeasured(31), None);
    assert_eq!(unmeasured(121), Some(Unmeasured::Stale(SignedDuration::from_secs(91))));
    assert_eq!(unmeasured(-61), Some(Unmeasured::Future(SignedDuration::from_secs(91))));
}

#[test]
fn after_a_start_no_pod_moves_to_a_node_of_unknown_usage() {
    let policy = EVEN.replace("strategies: [", "strategies: [{removeDuplicates: {}}, ");
    let mut engine = Engine::new(parse(&policy), Ledger::default());
    let cluster = Cluster::parse(
        "node n1\n  web*2 cpu=100m uses=1\nnode n2\n  api cpu=0 uses=2\n  job cpu=0 uses=2",
    );
    let snapshot = cluster.snapshot(engine.policy());
    let mut said = Vec::new();
    for at in [0, 15, 30] {
        engine.observe(&snapshot, &cluster.readings(after(at)), after(at));
        let plan = engine.decide(&snapshot, after(at));
        said.extend(plan.kept.iter().map(|k| k.refusal.to_string()));
        assert_eq!(plan.moves.len(), 0, "{at}");
    }
    let unknown = "its replacement could land on n2, whose usage is unknown";
    assert_eq!(
        said,
        [
            unknown,
            unknown,
            "its replacement could land on n2, where cpu usage would reach 62%, above the target \
                of 50%"
        ]
    );
}

/// An engine for which a node is hot after a minute, and a cluster with a node that becomes hot.
fn hot_after_a_minute() -> (Engine, Cluster) {
    let policy = EVEN.replace("thresholds: {cpu: 30%}", "sustainedFor: 1m, thresholds: {cpu: 30%}");
    let engine = Engine::new(parse(&policy), Ledger::default());
    let cluster = Cluster::parse("node n1\n  web*6 cpu=100m uses=1\nnode n2");
    (engine, cluster)
}

#[test]
fn setting_the_clock_back_does_not_restart_the_hot_period() {
    let (mut engine, cluster) = hot_after_a_minute();
    let snapshot = cluster.snapshot(engine.policy());
    // The third poll finds the node hot. Then the local clock goes back by a minute, and the clock
    // of the source does not.
    for (ours, theirs) in [(0, 0), (30, 30), (60, 60), (30, 90), (60, 120), (90, 150)] {
        engine.observe(&snapshot, &cluster.readings(after(theirs)), after(ours));
    }
    assert_eq!(
        nodes(&engine.decide(&snapshot, after(90))).lines().next(),
        Some("n1: hot: cpu 75% is above the target 50%, and needs 2 evictions")
    );
}

#[test]
fn a_node_is_hot_only_after_the_sustained_period() {
    let (mut engine, cluster) = hot_after_a_minute();
    let snapshot = cluster.snapshot(engine.policy());
    let (mut said, mut idle) = (Vec::new(), Vec::new());
    for at in (0..=120).step_by(30) {
        engine.observe(&snapshot, &cluster.readings(after(at)), after(at));
        let plan = engine.decide(&snapshot, after(at));
        said.push(nodes(&plan).lines().next().unwrap().to_owned());
        idle.extend(plan.notes.iter().map(|note| note.why.to_string()));
    }
    // During that period, no note claims that no node is above its target.
    assert_eq!(idle, ["1 node is above its target, but not for long enough yet"; 2]);
    assert_eq!(
        said,
        [
            "n1: left alone: 1 of 3 required samples",
            "n1: left alone: 2 of 3 required samples",
            "n1: warming: cpu 75% has been above the target 50% for 0s, and the node counts as hot \
                after 1m",
            "n1: warming: cpu 75% has been above the target 50% for 30s, and the node counts as \
                hot after 1m",
            "n1: hot: cpu 75% is above the target 50%, and needs 2 evictions",
        ]
    );
}

#[test]
fn a_new_pod_with_the_same_name_starts_without_samples() {
    let mut engine = engine("mean");
    let mut cluster = Cluster::parse("node n1\n  db*1 cpu=250m uses=4\nnode n2");
    let snapshot = cluster.snapshot(engine.policy());
    for at in [0, 15, 30] {
        engine.observe(&snapshot, &cluster.readings(after(at)), after(at));
    }
    let old = snapshot.pods[0].clone();
    let mut new = (*old).clone();
    new.uid = "another".to_owned();
    (new.created, new.started) = (after(35), Some(after(35)));
    cluster.objects.apply(evenkeel::model::snapshot::objects::Object::Pod(Box::new(new)));
    let snapshot = cluster.snapshot(engine.policy());
    // The reading belongs to the previous pod, so the new pod gets its request as usage.
    engine.observe(&snapshot, &cluster.readings(after(34)), after(45));
    assert!(
        (cores(engine.usage(&snapshot, after(45)).pod(evenkeel::model::snapshot::PodId(0))) - 0.25)
            .abs()
            < 1e-9
    );
}

#[test]
fn after_a_restart_samples_that_include_a_moved_pod_do_not_count() {
    let mut before = engine("mean");
    let mut cluster =
        Cluster::parse("node n1 system=100m\n  web*4 cpu=100m uses=1\nnode n2 system=100m");
    let snapshot = cluster.snapshot(before.policy());
    let pod = snapshot.find_pod("default", "web-4").unwrap();
    let mut ledger = Ledger::default();
    ledger.intend(&snapshot, pod, Aim::Move, &[], after(0));
    before.reload(ledger);
    // The node's next sample is an average over the time of the move and includes half of the pod.
    let uid = snapshot.pod(pod).uid.clone();
    cluster.replace("default", "web-4", "n2", after(1));
    let snapshot = cluster.snapshot(before.policy());
    let mut restarted = Engine::new(before.policy().clone(), before.ledger().clone());
    restarted.settle(&snapshot, after(2));
    assert!(restarted.ledger().entries().iter().any(|e| e.uid == uid));
    let mut mixed = cluster.readings(after(5));
    mixed.nodes.get_mut("n1").unwrap().used.cpu = Amount::millicores(3600);
    restarted.observe(&snapshot, &mixed, after(5));
    for at in [20, 35] {
        restarted.observe(&snapshot, &cluster.readings(after(at)), after(at));
        let known = restarted.usage(&snapshot, after(at)).unmeasured(NodeId(0));
        assert_eq!(known, Some(Unmeasured::Few { have: if at == 20 { 1 } else { 2 }, need: 3 }));
    }
    restarted.observe(&snapshot, &cluster.readings(after(50)), after(50));
    assert!((cores(restarted.usage(&snapshot, after(50)).node(NodeId(0))) - 3.1).abs() < 1e-9);
}

#[test]
fn while_a_pod_leaves_at_every_sample_the_last_clean_ones_count() {
    let mut engine = engine("mean");
    let mut cluster = Cluster::parse("node n1 system=100m\n  web*19 cpu=100m uses=500m\nnode n2");
    for at in (0..=285).step_by(15) {
        let snapshot = cluster.snapshot(engine.policy());
        let mut readings = cluster.readings(after(at));
        if at > 30 {
            let node = readings.nodes.get_mut("n1").unwrap();
            node.used.cpu = node.used.cpu.plus(Amount::millicores(300));
        }
        engine.observe(&snapshot, &readings, after(at));
        if at < 30 {
            continue;
        }
        let used = cores(engine.usage(&snapshot, after(at)).node(NodeId(0)));
        let pods = snapshot.nodes[0].pods.len();
        let expected = f64::from(u32::try_from(pods).unwrap()) * 0.5 + 0.1;
        assert!((used - expected).abs() < 1e-9, "{used} at {at}");
        let leaving = format!("web-{}", at / 15);
        cluster.replace("default", &leaving, "n2", after(at + 10));
    }
}

#[test]
fn with_constant_pod_churn_the_smallest_remainder_counts() {
    let mut engine = engine("mean");
    let mut cluster = Cluster::parse("node n1 system=100m\n  web*9 cpu=100m uses=500m\nnode n2");
    let mut snapshot = cluster.snapshot(engine.policy());
    for (round, at) in (0..=120).step_by(15).enumerate() {
        let mut readings = cluster.readings(after(at));
        // Part of the pod that has just left is still in the node's sample.
        let node = readings.nodes.get_mut("n1").unwrap();
        node.used.cpu = node.used.cpu.plus(Amount::millicores(100));
        engine.observe(&snapshot, &readings, after(at));
        if round < 8 {
            cluster.replace("default", &format!("web-{}", round + 1), "n2", after(at + 10));
            snapshot = cluster.snapshot(engine.policy());
        }
    }
    let used = engine.usage(&snapshot, after(120)).node(NodeId(0));
    assert!((cores(used) - 0.7).abs() < 1e-9, "{used:?}");
}

/// Plans for a node of eight cores after samples of its five pods for ten minutes: their mean, and
/// the mean plus or minus a swing in turn.
fn after_swings(mean: f64, swing: f64) -> Plan {
    let by_average = format!("usage: {{smoothing: {{halfLife: 10m}}}}\n{EVEN}");
    let mut engine = Engine::new(parse(&by_average), Ledger::default());
    let cluster = Cluster::parse("node n1\n  web*5 cpu=100m uses=1\nnode n2\nnode n3");
    let snapshot = cluster.snapshot(engine.policy());
    for step in 0..=40 {
        let now = after(step * 15);
        let mut readings = cluster.readings(now);
        for (name, pod) in &mut readings.pods {
            let up = (step + i64::from(name.1.as_str() > "web-3")) % 2 == 0;
            let cores = if up { mean + swing } else { mean - swing };
            pod.used.cpu = Amount::from_f64(cores * 1e9);
        }
        let pods = readings.pods.values().map(|pod| pod.used.cpu).sum();
        readings.nodes.get_mut("n1").unwrap().used.cpu = pods;
        engine.observe(&snapshot, &readings, now);
    }
    engine.decide(&snapshot, after(600))
}

#[test]
fn a_small_excess_counts_only_where_usage_is_steady() {
    // n1 uses 51 % of its cpu; the target is 50 %.
    assert_eq!(after_swings(0.82, 0.0).moves.len(), 1);
    assert_eq!(after_swings(0.82, 0.3).moves.len(), 0);
    // With 60 %, the excess is larger than the usual variation.
    assert_eq!(after_swings(0.96, 0.3).moves.len(), 1);
}

/// A node of eight cores, five of which one pod uses, and an engine that has observed it.
fn with_a_heavy_pod(smoothing: &str) -> (Engine, Cluster) {
    let mut engine = engine(smoothing);
    let cluster = Cluster::parse(
        "node n1 system=200m\n  big cpu=1 uses=3\n  web*4 cpu=100m uses=500m\nnode n2",
    );
    let snapshot = cluster.snapshot(engine.policy());
    for at in (0..=60).step_by(15) {
        engine.observe(&snapshot, &cluster.readings(after(at)), after(at));
    }
    (engine, cluster)
}

/// Returns the cpu of the first node after polls at these seconds without a sample of its pod `big`.
/// The node shows this much cpu.
fn without_the_heavy_pod(
    engine: &mut Engine,
    cluster: &Cluster,
    cores_of_node: f64,
    seconds: impl Iterator<Item = i64>,
) -> Vec<Result<f64, Unmeasured>> {
    let snapshot = cluster.snapshot(engine.policy());
    let mut known = Vec::new();
    for at in seconds {
        let mut readings = cluster.readings(after(at));
        readings.pods.remove(&("default".to_owned(), "big-1".to_owned()));
        readings.nodes.get_mut("n1").unwrap().used.cpu = Amount::from_f64(cores_of_node * 1e9);
        engine.observe(&snapshot, &readings, after(at));
        let usage = engine.usage(&snapshot, after(at));
        known.push(match usage.unmeasured(NodeId(0)) {
            Some(why) => Err(why),
            None => Ok(cores(usage.node(NodeId(0)))),
        });
    }
    known
}

#[test]
fn once_a_pod_is_measured_no_more_the_nodes_own_samples_decide() {
    // The pod crashes and uses nothing, or its node shows that it uses twice as much as before.
    for own in [2.2, 7.4] {
        let (mut engine, cluster) = with_a_heavy_pod("trend");
        let polls = (75..=240).step_by(15);
        let known = without_the_heavy_pod(&mut engine, &cluster, own, polls);
        // Until its last sample is older than `staleAfter`, the last clean samples decide.
        assert!(known[..6].iter().all(|cores| *cores == Ok(5.2)), "{known:?}");
        let few = |have| Err(Unmeasured::Few { have, need: 3 });
        assert_eq!(known[6..8], [few(1), few(2)]);
        let is_own = |cores: &f64| (cores - own).abs() < 0.002;
        assert!(known[8..].iter().flatten().all(is_own) && known[11].is_ok(), "{known:?}");
    }
}

#[test]
fn a_pod_that_is_measured_again_counts_once() {
    let (mut engine, cluster) = with_a_heavy_pod("mean");
    without_the_heavy_pod(&mut engine, &cluster, 2.2, (75..=240).step_by(15));
    let snapshot = cluster.snapshot(engine.policy());
    let mut known = Vec::new();
    for at in [255, 270, 285, 300] {
        engine.observe(&snapshot, &cluster.readings(after(at)), after(at));
        known.push(engine.usage(&snapshot, after(at)).node(NodeId(0)).map(|m| cores(Some(m))));
    }
    assert_eq!(known, [None, None, Some(5.2), Some(5.2)]);
}

#[test]
fn old_clean_samples_never_become_zero() {
    // The remainder is known from samples of 36 hours ago, which is a thousand half-lives.
    let (mut engine, mut cluster) = with_a_heavy_pod("trend");
    for (round, at) in (0..4).zip((129_600..).step_by(15)) {
        cluster.replace("default", &format!("web-{}", round + 1), "n2", after(at - 5));
        let snapshot = cluster.snapshot(engine.policy());
        engine.observe(&snapshot, &cluster.readings(after(at)), after(at));
        if round > 1 {
            let used = cores(engine.usage(&snapshot, after(at)).node(NodeId(0)));
            let pods = snapshot.nodes[0].pods.len() - 1;
            let expected = 3.0 + f64::from(u32::try_from(pods).unwrap()) * 0.5 + 0.2;
            assert!((used - expected).abs() < 1e-9, "{used}");
        }
    }
}

#[test]
fn one_wild_sample_of_a_node_alone_changes_nothing() {
    for smoothing in ["trend", "{halfLife: 10m}"] {
        let mut engine = engine(smoothing);
        let cluster = Cluster::parse("node n1 system=200m\n  web*4 cpu=100m uses=500m\nnode n2");
        let snapshot = cluster.snapshot(engine.policy());
        for (poll, at) in (0..=300).step_by(60).enumerate() {
            let mut readings = cluster.readings(after(at));
            if poll == 3 {
                readings.nodes.get_mut("n1").unwrap().used.cpu = Amount::millicores(15_900);
            }
            engine.observe(&snapshot, &readings, after(at));
            if poll >= 2 {
                let used = cores(engine.usage(&snapshot, after(at)).node(NodeId(0)));
                assert!((used - 2.2).abs() < 0.002, "{smoothing} {poll}: {used}");
            }
        }
    }
}
