//! Past samples from the source: after a restart, evenkeel continues as if it had never stopped.

use evenkeel::decide::engine::Engine;
use evenkeel::model::ledger::{Aim, Ledger};
use evenkeel::model::snapshot::{NodeId, Snapshot};
use evenkeel::model::usage::{ContainerSet, Measure, Readings, Sample};
use evenkeel::values::Amount;
use jiff::{SignedDuration, Timestamp};

use crate::it::support::{Cluster, EVEN, after, nodes, parse};

const HOT: &str = "node n1 system=100m\n  web*6 cpu=100m uses=1\nnode n2 system=100m";

fn engine() -> Engine {
    let policy = EVEN.replace("thresholds: {cpu: 30%}", "sustainedFor: 1m, thresholds: {cpu: 30%}");
    Engine::new(
        parse(&format!("usage: {{window: 2m, smoothing: mean}}\n{policy}")),
        Ledger::default(),
    )
}

fn past(cluster: &Cluster, from: i64, to: i64) -> Vec<(Timestamp, Readings)> {
    let moments = (from..=to).step_by(15);
    moments.map(|at| (after(at), cluster.readings(after(at)))).collect()
}

/// Records past usage in the order of time.
fn catch_up(engine: &mut Engine, snapshot: &Snapshot, past: &[(Timestamp, Readings)]) {
    for (at, readings) in past {
        engine.observe(snapshot, readings, *at);
    }
}

fn cores(engine: &Engine, cluster: &Cluster, at: i64) -> Option<f64> {
    let snapshot = cluster.snapshot(engine.policy());
    let used = engine.usage(&snapshot, after(at)).node(NodeId(0))?;
    Some(used.cpu.as_f64() / 1e9)
}

#[test]
fn a_restart_acts_at_once_if_the_source_has_past_samples() {
    let cluster = Cluster::parse(HOT);
    let mut engine = engine();
    let snapshot = cluster.snapshot(engine.policy());
    engine.observe(&snapshot, &cluster.readings(after(120)), after(120));
    assert!(
        engine.decide(&snapshot, after(120)).moves.is_empty(),
        "by one sample nothing is known"
    );

    let mut engine = self::engine();
    catch_up(&mut engine, &snapshot, &past(&cluster, 0, 105));
    engine.observe(&snapshot, &cluster.readings(after(120)), after(120));
    let plan = engine.decide(&snapshot, after(120));
    assert_eq!(
        nodes(&plan).lines().next(),
        Some("n1: hot: cpu 76% is above the target 50%, and needs 3 evictions")
    );
    assert!(!plan.moves.is_empty());
}

#[test]
fn samples_from_the_future_do_not_count() {
    let cluster = Cluster::parse(HOT);
    let mut engine = engine();
    let snapshot = cluster.snapshot(engine.policy());
    for ahead in [200, 400, 600] {
        engine.observe(&snapshot, &cluster.readings(after(120 + ahead)), after(120));
    }
    assert_eq!(cores(&engine, &cluster, 120), None);
}

#[test]
fn a_gap_in_past_samples_is_a_gap() {
    let cluster = Cluster::parse(HOT);
    let mut engine = engine();
    let snapshot = cluster.snapshot(engine.policy());
    let mut told = past(&cluster, 0, 120);
    // Only the oldest sample includes n1.
    for (_, readings) in told.iter_mut().skip(1) {
        readings.nodes.remove("n1");
    }
    catch_up(&mut engine, &snapshot, &told);
    assert_eq!(cores(&engine, &cluster, 120), None);
}

/// Adds a sample of a pod `batch` that is no longer in the cluster, and that the source places on n1.
fn add_batch(readings: &mut Readings, at: Timestamp, milli: u64) -> Measure {
    let used = Measure { cpu: Amount::millicores(milli), memory: Amount::ZERO };
    let window = SignedDuration::from_secs(10);
    let batch = ("default".to_owned(), "batch".to_owned());
    let sample = Sample { at, window, used, containers: ContainerSet::default() };
    readings.pods.insert(batch.clone(), sample);
    readings.placed.insert(batch, "n1".to_owned());
    used
}

/// Says that the source places all pods on n1.
fn place_on_n1(told: &mut [(Timestamp, Readings)]) {
    for (_, readings) in told {
        let names: Vec<_> = readings.pods.keys().cloned().collect();
        readings.placed.extend(names.into_iter().map(|pod| (pod, "n1".to_owned())));
    }
}

#[test]
fn a_departed_pod_in_past_samples_does_not_count_on_its_node() {
    let cluster =
        Cluster::parse("node n1 system=100m\n  web*2 cpu=100m uses=1\nnode n2 system=100m");
    let mut engine = engine();
    let snapshot = cluster.snapshot(engine.policy());
    let mut told = past(&cluster, 0, 120);
    // A pod with four cores ran there for the first minute and a half.
    for (at, readings) in told.iter_mut().take(6) {
        let used = add_batch(readings, *at, 4000);
        let node = readings.nodes.get_mut("n1").unwrap();
        node.used = node.used.plus(used);
    }
    catch_up(&mut engine, &snapshot, &told);
    let used = cores(&engine, &cluster, 120).unwrap();
    assert!((used - 2.1).abs() < 1e-9, "{used}");
}

#[test]
fn the_last_sample_of_a_departed_pod_is_not_subtracted_forever() {
    let cluster = Cluster::parse("node n1 system=3\n  web*2 cpu=100m uses=1\nnode n2 system=100m");
    let mut engine = engine();
    let snapshot = cluster.snapshot(engine.policy());
    let mut told = past(&cluster, 0, 120);
    // The source keeps reporting the last sample of a pod that left long ago.
    for (_, readings) in &mut told {
        add_batch(readings, after(-200), 2000);
    }
    catch_up(&mut engine, &snapshot, &told);
    assert!((cores(&engine, &cluster, 120).unwrap() - 5.0).abs() < 1e-9);
}

#[test]
fn a_pod_that_started_later_is_not_part_of_an_earlier_sample() {
    let mut cluster =
        Cluster::parse("node n1 system=100m\n  web*2 cpu=100m uses=1\nnode n2 system=100m");
    let mut before = past(&cluster, 0, 60);
    place_on_n1(&mut before);
    cluster.replace("default", "web-1", "n2", after(70));
    cluster.replace("default", "web-1+1", "n1", after(75));
    let mut engine = engine();
    let snapshot = cluster.snapshot(engine.policy());
    catch_up(&mut engine, &snapshot, &before);
    // Five clean earlier samples: the node is known, and the new pod gets the usage of its sibling.
    assert!((cores(&engine, &cluster, 75).unwrap() - 2.1).abs() < 1e-9);
}

#[test]
fn a_restart_during_balancing_continues_at_once() {
    let mut cluster =
        Cluster::parse("node n1 system=100m\n  web*8 cpu=100m uses=900m\nnode n2 system=100m");
    let mut told = past(&cluster, 0, 120);
    place_on_n1(&mut told);
    let mut engine = engine();
    let snapshot = cluster.snapshot(engine.policy());
    let mut ledger = Ledger::default();
    ledger.intend(
        &snapshot,
        snapshot.find_pod("default", "web-8").unwrap(),
        Aim::Move,
        &[],
        after(121),
    );
    engine.reload(ledger);
    cluster.replace("default", "web-8", "n2", after(122));
    let snapshot = cluster.snapshot(engine.policy());
    catch_up(&mut engine, &snapshot, &told);
    let plan = engine.decide(&snapshot, after(123));
    assert_eq!(
        nodes(&plan).lines().next(),
        Some("n1: hot: cpu 80% is above the target 50%, and needs 3 evictions")
    );

    // Without past locations of the evicted pod, its usage cannot be separated from the node's
    // remainder.
    let mut engine = Engine::new(engine.policy().clone(), engine.ledger().clone());
    for (_, readings) in &mut told {
        readings.placed.clear();
    }
    told.drain(..6);
    catch_up(&mut engine, &snapshot, &told);
    let plan = engine.decide(&snapshot, after(123));
    assert_eq!(nodes(&plan).lines().next(), Some("n1: left alone: 0 of 3 required samples"));
}
