//! A random small cluster, its usage and its ledger, from objects to a plan and back to the ledger.
#![no_main]

use std::collections::BTreeSet;
use std::sync::LazyLock;

use evenkeel::decide::engine::Engine;
use evenkeel::decide::explain::Subject;
use evenkeel::model::ledger::{Ledger, StartTimes};
use evenkeel::model::plan::{Outcome, Plan};
use evenkeel::model::snapshot::lacking::Lack;
use evenkeel::model::snapshot::objects::{ObjectKind, Objects};
use evenkeel::model::snapshot::{Snapshot, import};
use evenkeel::policy::Policy;
use evenkeel_fuzz::cluster::{self, Cluster};
use jiff::{SignedDuration, Timestamp};
use libfuzzer_sys::arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;

static POLICIES: LazyLock<Vec<Policy>> = LazyLock::new(|| {
    let read = |text: &&str| Policy::parse("policy.yaml", text);
    let policies: Result<Vec<Policy>, _> = cluster::POLICIES.iter().map(read).collect();
    policies.unwrap_or_else(|error| panic!("{error}"))
});

fuzz_target!(|input: &[u8]| {
    let cluster = Cluster::of(&mut Unstructured::new(input));
    let policy = POLICIES[cluster.policy % POLICIES.len()].clone();
    let per_cycle = policy.limits.per_cycle;
    let mut objects = Objects::default();
    // There are none, which would keep every pod if their lists were complete.
    for kind in [ObjectKind::Namespace, ObjectKind::ReplicaSet, ObjectKind::StatefulSet] {
        objects.set_lacking(kind, Some(Lack::NotInFile));
    }
    for value in &cluster.objects {
        match import::object(value) {
            Ok(object) => object.into_iter().for_each(|o| objects.apply(o)),
            Err((kind, skipped)) => objects.skip(kind, skipped),
        }
    }
    let snapshot = Snapshot::join(&objects, policy.resources());
    let now: Timestamp = cluster::NOW.parse().unwrap();
    let ledger = Ledger::parse(&cluster.ledger.to_string()).unwrap_or_default();
    let mut engine = Engine::new(policy, ledger);
    engine.clamp_ledger(now);
    engine.observe_steady(&snapshot, &cluster.readings, now);
    engine.observe(&snapshot, &cluster.readings, now);
    engine.settle(&snapshot, now);

    let plan = engine.decide(&snapshot, now);
    let pods = u32::try_from(snapshot.pods.len()).unwrap();
    check(&plan, &snapshot, per_cycle.map(|share| share.of(pods) as usize));
    let again = engine.decide(&snapshot, now);
    assert_eq!(format!("{:?}", plan.moves), format!("{:?}", again.moves));
    serde_json::to_string(&plan).unwrap();
    let observed = engine.join_usage(&snapshot, now);
    engine.examine(&observed);
    for subject in [
        Subject::Pod("default/p0".to_owned()),
        Subject::Node("n0".to_owned()),
        Subject::Workload("default/ReplicaSet/a".to_owned()),
    ] {
        let _ = engine.explain(&snapshot, &subject, now);
    }

    engine.intend(&snapshot, &plan.moves, now);
    for done in plan.moves.iter().skip(1) {
        engine.resolve(done, &Outcome::Evicted);
    }
    let kept = engine.ledger();
    let starts = StartTimes::parse(&kept.starts().write());
    assert_eq!(&Ledger::parse(&kept.write()).unwrap().with_starts(starts), kept);
    let later = now + SignedDuration::from_mins(1);
    engine.settle(&snapshot, later);
    engine.decide(&snapshot, later);
});

fn check(plan: &Plan, snapshot: &Snapshot, per_cycle: Option<usize>) {
    assert!(per_cycle.is_none_or(|most| plan.moves.len() <= most));
    let mut moved = BTreeSet::new();
    for planned in &plan.moves {
        let pod = snapshot.find_pod(&planned.namespace, &planned.pod);
        let pod = snapshot.pod(pod.expect("a pod that exists"));
        assert_eq!(pod.uid, planned.uid);
        assert!(moved.insert((&planned.namespace, &planned.pod)), "moved twice");
    }
    for kept in &plan.kept {
        assert!(!moved.contains(&(&kept.namespace, &kept.pod)), "moved and kept");
        assert!(!kept.refusal.code().is_empty() && !kept.refusal.to_string().is_empty());
    }
}
