//! The stored ledger: complete, bounded and read without misinterpretation.

use std::ops::Range;

use evenkeel::decide::engine::Engine;
use evenkeel::model::ledger::{
    Aim, Ending, Ledger, MOST_FORESEEN_BYTES, ReliefLimit, StartTimes, State,
};
use evenkeel::model::plan::Outcome;
use evenkeel::model::snapshot::{PodId, Snapshot};
use evenkeel::model::usage::Measure;
use evenkeel::values::{Amount, Ratio};
use insta::assert_snapshot;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use crate::it::support::watched::Watched;
use crate::it::support::{Cluster, EVEN, after, cases, hot_if, noon, parse, text};

fn hot(pods: usize) -> Cluster {
    Cluster::parse(&format!(
        "node n1 cpu=4000 pods=9999\n  web*{pods} cpu=100m uses=24\nnode n2 cpu=4000 pods=9999"
    ))
}

#[test]
fn a_stored_ledger_reads_back_the_same() {
    let (mut engine, snapshot) = hot(200).seen(parse(EVEN), Ledger::default());
    let plan = engine.decide(&snapshot, noon());
    engine.intend(&snapshot, &plan.moves[..2], noon());
    engine.resolve(&plan.moves[0], &Outcome::Evicted);
    let written = engine.ledger().write();
    assert_eq!(&Ledger::parse(&written).unwrap(), engine.ledger());
    let intended = concat!(
        r#"{"entries":[{"at":"2026-11-21T12:00:00Z","foreseen":["n2"],"#,
        r#""newest":"2026-11-21T11:00:00Z","node":"n1","pod":"web-1","relief":{"atMost":1.197,"#,
        r#""resource":"cpu"},"state":"evicted","uid":"uid-default-web-1","workload":"default/Deployment/web"},"#,
        r#"{"at":"2026-11-21T12:00:00Z","foreseen":["n2"],"newest":"2026-11-21T11:00:00Z","#,
        r#""node":"n1","pod":"web-10","relief":{"atMost":1.191,"resource":"cpu"},"#,
        r#""state":"intended","uid":"uid-default-web-10","workload":"default/Deployment/web"}],"resting":{},"version":1}"#
    );
    assert_eq!(written, intended);
}

#[test]
fn a_pending_replacement_counts_on_its_expected_node() {
    // db-1 moves from n1 to n2. As with a StatefulSet, its replacement is created only after it has
    // ended.
    let cluster = Cluster::parse(
        "node n1\n db cpu=4 uses=3 terminating\nnode n2\nnode n3\n web*2 cpu=100m uses=3",
    );
    let snapshot = cluster.snapshot(&parse(EVEN));
    let plan = |ledger: Ledger| {
        let (engine, snapshot) = cluster.seen(parse(EVEN), ledger);
        engine.decide(&snapshot, noon())
    };
    let mut ledger = Ledger::default();
    assert_eq!(plan(ledger.clone()).moves[0].possible_nodes, ["n2"]);
    let db = snapshot.find_pod("default", "db-1").unwrap();
    ledger.intend(&snapshot, db, Aim::Move, &["n2".to_owned()], noon());
    ledger.requested("uid-default-db-1", State::Evicted);
    assert_snapshot!(text(&plan(ledger)), @"
    keep web-1 on n3: its replacement could land on n2, where cpu usage would reach 75%, above \
        the target of 50%
    keep web-2 on n3: its replacement could land on n2, where cpu usage would reach 75%, above \
        the target of 50%
    ");
}

#[test]
fn an_invalid_ledger_is_rejected_with_its_position() {
    let error = |text: &str| Ledger::parse(text).unwrap_err().to_string();
    assert_snapshot!(error("{}"), @"not a ledger: missing field `version` at line 1 column 2");
    assert_snapshot!(
        error(r#"{"version":2,"entries":[],"resting":{}}"#),
        @"unsupported version 2, expected 1"
    );
    assert_snapshot!(
        error(r#"{"version":1,"entries":[],"resting":{},"more":1}"#),
        @"not a ledger: unknown field `more`, expected one of `version`, `entries`, `resting`, \
          `replacements`, `rejected`, `unrecorded` at line 1 column 45"
    );
    assert_snapshot!(
        error(r#"{"version":1,"entries":[{"workload":"web"}],"resting":{}}"#),
        @r#"not a ledger: found "web", expected namespace/Kind/name at line 1 column 42"#
    );
}

/// A cluster of Deployments with one pod each, with names as people choose them.
fn workloads(numbers: Range<usize>) -> Cluster {
    let pods = numbers.map(|i| {
        let team = i % 20;
        format!("  checkout-backend-{i} cpu=1m namespace=team-{team}-production")
    });
    let pods = pods.collect::<Vec<_>>().join("\n");
    Cluster::parse(&format!("node n9 cpu=4000 pods=99999\n{pods}\nnode n8"))
}

/// Records an eviction of a pod that runs in this cluster, from a node that it is to relieve.
fn evict(ledger: &mut Ledger, snapshot: &Snapshot, pod: PodId, at: Timestamp) {
    let uid = &snapshot.pod(pod).uid;
    ledger.intend(snapshot, pod, Aim::Move, &[], at);
    ledger.expect_relief(uid, ReliefLimit::new("cpu", Ratio::HALF));
    ledger.requested(uid, State::Evicted);
}

/// Fills a ledger with evictions whose outcome is not known yet.
fn full_ledger() -> Ledger {
    let snapshot = workloads(0..5000).snapshot(&parse(EVEN));
    let mut ledger = Ledger::default();
    for pod in snapshot.pod_ids() {
        if ledger.size().is_full(0) {
            return ledger;
        }
        evict(&mut ledger, &snapshot, pod, noon());
    }
    panic!("5000 evictions do not fill a ledger");
}

#[test]
fn a_full_ledger_refuses_evictions_and_fits_a_config_map() {
    let ledger = full_ledger();
    let written = ledger.write();
    assert!(written.len() <= 1_000_000, "{} bytes", written.len());
    let (engine, snapshot) = hot(200).seen(parse(EVEN), ledger);
    let plan = engine.decide(&snapshot, noon());
    assert!(plan.moves.is_empty());
    assert_snapshot!(text(&plan), @"keep web-1 on n1: the ledger is full at 880 kB");
}

#[test]
fn a_full_ledger_is_the_reason_for_each_hot_node_also_after_another_strategy() {
    let cluster = Cluster::parse(
        "node n1\n web*4 cpu=500m uses=2\nnode n2\n api*4 cpu=500m uses=2\nnode n3\nnode n4
         old*2 cpu=100m age=1000h",
    );
    let old = "strategies: [{podLifeTime: {maxPodLifeTimeSeconds: 3000000}}, ";
    let both = EVEN.replace("strategies: [", old);
    let (engine, snapshot) = cluster.seen(parse(&both), full_ledger());
    assert_snapshot!(text(&engine.decide(&snapshot, noon())), @"
    keep old-1 on n4: the ledger is full at 880 kB
    keep old-2 on n4: the ledger is full at 880 kB
    keep api-1 on n2: the ledger is full at 880 kB
    keep web-1 on n1: the ledger is full at 880 kB
    ");
}

/// Nothing replaces a finished pod, so that nothing of it has to rest.
#[test]
fn a_full_ledger_does_not_hold_up_finished_pods() {
    let cluster =
        Cluster::parse("node n1\n web*2 cpu=100m age=2h\n batch phase=Failed age=2h\nnode n2");
    let policy = "strategies: [{podLifeTime: {maxPodLifeTimeSeconds: 60}}]";
    let (engine, snapshot) = cluster.seen(parse(policy), full_ledger());
    assert_snapshot!(text(&engine.decide(&snapshot, noon())), @"
    move batch-1 from n1 to ?: is 2h old, older than 1m
    keep web-1 on n1: the ledger is full at 880 kB
    keep web-2 on n1: the ledger is full at 880 kB
    ");
}

/// Each eviction is of another workload.
#[test]
fn a_ledger_has_room_for_thirty_evictions_a_minute_during_a_rest_of_six_hours() {
    let policy = parse(&format!("cooldown: {{rest: 6h, cap: 6h}}\n{EVEN}"));
    let (mut ledger, mut replaced, mut ended) = (Ledger::default(), Vec::new(), 0);
    for minute in 0..6 * 60 {
        let mut cluster = workloads(minute * 30..(minute + 1) * 30);
        let at = after(i64::try_from(minute).unwrap() * 60);
        let snapshot = cluster.snapshot(&policy);
        assert!(!ledger.size().is_full(29), "{} bytes after {minute} minutes", ledger.bytes());
        for pod in snapshot.pod_ids() {
            evict(&mut ledger, &snapshot, pod, at);
        }
        for pod in &snapshot.pods {
            cluster.replace(&pod.namespace, &pod.name, "n8", at + SignedDuration::from_secs(5));
        }
        let snapshot = cluster.snapshot(&policy);
        let soon = at + SignedDuration::from_secs(30);
        let settled =
            ledger.settle(&snapshot, hot_if(&|_| Some(false)), &policy.cooldown, None, soon).0;
        assert_eq!(settled.iter().filter(|s| s.ending == Ending::Landed).count(), 30);
        ended += settled.len() - 30;
        replaced.push(snapshot);
    }
    let watched = ledger.watched_nodes().count();
    assert_eq!((ended + watched, watched < 1000), (6 * 60 * 30, true), "each move ends once more");
    let written = ledger.write();
    let sizes = (written.len(), ledger.bytes());
    assert!(sizes.0 <= sizes.1 && sizes.1 < 900_000, "{sizes:?}");
    assert!(ledger.entries().len() < 1000, "most are stored as rests");
    let read = Ledger::parse(&written).unwrap();
    let starts = ledger.starts().clone();
    assert_eq!(read.with_starts(starts.clone()), ledger);
    let end = after(6 * 3600 - 1);
    for snapshot in &replaced {
        let rest = ledger.rest(snapshot, PodId(0), &policy.cooldown, end);
        assert!(rest.is_some(), "a replacement may be evicted");
    }
    let snapshot = workloads(0..0).snapshot(&policy);
    for hour in [19, 20] {
        let cool = hot_if(&|_| Some(false));
        ledger.settle(&snapshot, cool, &policy.cooldown, None, after(hour * 3600));
    }
    let learned = Ledger::default().with_starts(starts);
    assert_eq!(ledger, learned, "nothing else is left after two rests");
}

/// All limits are off, and each forecast names the most nodes that are stored.
#[test]
fn stored_forecasts_are_bounded() {
    let snapshot = hot(2000).snapshot(&parse(EVEN));
    let nodes: Vec<String> =
        (0..32).map(|n| format!("ip-10-0-{n}-17.eu-central-1.compute.internal")).collect();
    let mut ledger = Ledger::default();
    for position in 0..1500 {
        ledger.intend(&snapshot, PodId(position), Aim::Move, &nodes, noon());
    }
    let kept: usize =
        ledger.entries().iter().flat_map(|e| &e.possible_nodes).map(String::len).sum();
    assert!(kept > MOST_FORESEEN_BYTES / 2 && kept <= MOST_FORESEEN_BYTES, "{kept} bytes of names");
    assert!(ledger.write().len() * 2 < 1024 * 1024, "{} bytes", ledger.write().len());
    let mut ledger = Ledger::default();
    let most = [nodes, vec!["one-more".to_owned()]].concat();
    ledger.intend(&snapshot, PodId(0), Aim::Move, &most, noon());
    assert!(
        ledger.entries()[0].possible_nodes.is_empty(),
        "a forecast is kept whole or not at all"
    );
}

/// The counts in a stored ledger may be any numbers.
#[test]
fn a_count_of_bad_landings_at_its_limit_does_not_overflow() {
    let cluster = Cluster::parse("node n1\n  web*2 cpu=100m\nnode n2\nnode n3\n");
    let policy = parse(EVEN);
    let text = r#"{"version":1,"entries":[{"workload":"default/Deployment/web","pod":"web-9",
        "uid":"gone","node":"n2","at":"2026-11-21T11:59:00Z","newest":"2026-11-21T10:00:00Z",
        "state":"evicted","foreseen":["n3","n1"]}],
        "resting":{"default/Deployment/web":{"useless":4294967295,"until":"2026-11-21T11:00:00Z",
        "attempt":"2026-11-21T11:00:00Z","foreseen":4294967295}}}"#;
    let mut ledger = Ledger::parse(text).unwrap();
    let settled = ledger
        .settle(&cluster.snapshot(&policy), hot_if(&|_| Some(true)), &policy.cooldown, None, noon())
        .0;
    assert_eq!(settled[0].ending, Ending::HotNode);
    // Three unlucky moves of four billion do not shorten the rest.
    let written: serde_json::Value = serde_json::from_str(&ledger.write()).unwrap();
    let streak = &written["resting"]["default/Deployment/web"];
    assert_eq!(streak["foreseen"], 3);
    assert_eq!(streak["until"], "2026-11-21T18:00:00Z");
}

#[test]
fn a_late_start_does_not_replace_the_time_of_a_later_eviction() {
    let cluster = Cluster::parse("node n1\n  web cpu=100m unready\n  web cpu=100m\nnode n2\n");
    let policy = parse(EVEN);
    let eviction = |at: &str, replacement: &str, ending: &str| {
        format!(
            r#"{{"workload":"default/Deployment/web","pod":"gone-{replacement}","uid":"{at}",
            "node":"n2","at":"2026-11-21T{at}:00Z","newest":"2026-11-21T10:00:00Z",
            "state":{{"settled":"{ending}"}},"replacement":"uid-default-{replacement}"}}"#
        )
    };
    let late = eviction("11:50", "web-1", "neverReady");
    let later = eviction("11:55", "web-2", "helped");
    let starts = |entries: &[String], learned: &str| {
        let entries = entries.join(",");
        let text = format!(r#"{{"version":1,"entries":[{entries}],"resting":{{}}}}"#);
        let starts = format!(r#"{{"default/Deployment/web":[{learned}]}}"#);
        let ledger = Ledger::parse(&text).unwrap();
        let mut ledger = ledger.with_starts(StartTimes::parse(&starts));
        let snapshot = cluster.snapshot(&policy);
        ledger.settle(&snapshot, hot_if(&|_| Some(false)), &policy.cooldown, None, noon());
        ledger.starts().write()
    };
    let web = |times: &str| format!(r#"{{"default/Deployment/web":[{times}]}}"#);
    assert_eq!(starts(std::slice::from_ref(&late), "20"), web("600"));
    assert_eq!(starts(&[late, later], "540,10"), web("540,10"));
}

#[test]
fn a_ledger_without_forecasts_can_be_read() {
    let old = concat!(
        r#"{"entries":[{"at":"2026-11-21T12:00:00Z","newest":"2026-11-21T11:00:00Z","#,
        r#""node":"n1","pod":"web-1","state":"evicted","uid":"u","#,
        r#""workload":"default/Deployment/web"}],"resting":{},"version":1}"#
    );
    let ledger = Ledger::parse(old).unwrap();
    assert!(ledger.entries()[0].possible_nodes.is_empty());
    assert_eq!(ledger.write(), old);
}

/// A pod, an aim, the expected nodes and the time of an eviction.
fn ledger_entry() -> impl Strategy<Value = (usize, u8, Vec<String>, i64)> {
    let nodes = prop::collection::vec("[a-z0-9.-]{1,40}", 0..20);
    (0..20_usize, 0..4_u8, nodes, 0..200_i64)
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn any_stored_ledger_reads_back_the_same(
        pods in prop::collection::vec(ledger_entry(), 0..30),
    ) {
        let snapshot = hot(20).snapshot(&parse(EVEN));
        let mut ledger = Ledger::default();
        for (pod, aim, foreseen, seconds) in &pods {
            let aim = [Aim::Move, Aim::Renew, Aim::Clear, Aim::Opening][usize::from(*aim)];
            ledger.intend(&snapshot, PodId(*pod), aim, foreseen, after(*seconds));
            if seconds % 2 == 0 {
                ledger.requested(&snapshot.pod(PodId(*pod)).uid, State::Evicted);
            }
        }
        let written = ledger.write();
        prop_assert_eq!(&Ledger::parse(&written).unwrap(), &ledger);
        prop_assert_eq!(Ledger::parse(&written).unwrap().write(), written);
    }
}

#[test]
fn old_entries_are_removed() {
    let cluster = hot(200);
    let (mut engine, snapshot) = cluster.seen(parse(EVEN), Ledger::default());
    let plan = engine.decide(&snapshot, noon());
    engine.intend(&snapshot, &plan.moves[..1], noon());
    let mut moved = cluster.clone();
    moved.replace("default", &plan.moves[0].pod, "n2", after(2));
    let snapshot = moved.snapshot(engine.policy());
    engine.settle(&snapshot, after(30));
    assert_eq!(engine.ledger().entries().len(), 1, "its replacement rests");
    for seconds in [30 + 1800 - 1, 30 + 1800] {
        engine.settle(&snapshot, after(seconds));
        assert_eq!(engine.ledger().entries().len(), 1, "its node is watched for half an hour");
    }
    engine.settle(&snapshot, after(30 + 1801));
    assert!(engine.ledger().entries().is_empty(), "its replacement has rested long ago");
}

#[test]
fn a_late_replacement_rests_although_the_rest_is_short() {
    let policy = format!("cooldown: {{rest: 1m, cap: 1h}}\n{EVEN}");
    let mut cluster = Cluster::parse("node n1\n  web*4\nnode n2");
    let mut engine = Engine::new(parse(&policy), without_fourth(&cluster));
    let new = cluster.replace("default", "web-4", "n2", after(580));
    let snapshot = cluster.snapshot(engine.policy());
    engine.observe_steady(&snapshot, &cluster.readings(after(600)), after(600));
    assert_eq!(engine.settle(&snapshot, after(601)).len(), 1);
    engine.settle(&snapshot, after(610));
    let pod = snapshot.find_pod("default", &new).unwrap();
    let rest = engine.ledger().rest(&snapshot, pod, &engine.policy().cooldown, after(610));
    assert_eq!(rest.map(|rest| rest.left.as_secs()), Some(30));
}

/// A workload that was scaled a moment ago has many siblings of the same second.
#[test]
fn stored_siblings_of_the_same_second_are_bounded() {
    let policy = parse(EVEN);
    let snapshot = Cluster::parse("node n1 pods=999\n  web*64 age=0s\nnode n2").snapshot(&policy);
    let mut ledger = Ledger::default();
    for pod in snapshot.pod_ids() {
        ledger.intend(&snapshot, pod, Aim::Move, &[], noon());
    }
    let [first, .., last] = ledger.entries() else {
        panic!("64 entries");
    };
    assert_eq!((first.twins.len(), first.newest), (64, noon()));
    // Without the uids, pods of that second do not count as replacements.
    assert_eq!((last.twins.len(), last.newest), (0, after(1)));
    let twins = ledger.entries().iter().flat_map(|e| &e.twins);
    let bytes: usize = twins.map(String::len).sum();
    assert!((32_768..65_536).contains(&bytes), "{bytes} bytes of uids");
    assert!(ledger.write().len() <= ledger.bytes());
}

/// The stored ledger after the eviction of web-4.
fn without_fourth(cluster: &Cluster) -> Ledger {
    let snapshot = cluster.snapshot(&parse(EVEN));
    let pod = snapshot.find_pod("default", "web-4").unwrap();
    let mut ledger = Ledger::default();
    ledger.intend(&snapshot, pod, Aim::Move, &[], noon());
    ledger.requested("uid-default-web-4", State::Evicted);
    Ledger::parse(&ledger.write()).unwrap()
}

#[test]
fn a_move_to_a_node_without_usage_has_not_helped() {
    let text = "node n1\n  web*4 uses=1\nnode n2 no-metrics";
    let ledger = without_fourth(&Cluster::parse(text));
    let mut watched = Watched::new(text, EVEN, ledger);
    watched.cluster.replace("default", "web-4", "n2", after(1));
    let mut known = Watched::new(text, EVEN, watched.engine.ledger().clone());
    known.cluster = watched.cluster.clone();
    watched.pass(600);
    assert!(watched.endings.is_empty(), "{:?}", watched.endings);
    watched.pass(15);
    assert_eq!(watched.endings, ["renewed"], "only that it is Ready is known");
    let used = Measure { cpu: Amount::millicores(1_000), memory: Amount::ZERO };
    known.cluster.nodes.insert("n2".to_owned(), used);
    known.pass(60);
    assert_eq!(known.endings, ["helped"]);
}

/// Creation times are in whole seconds. In a young workload the siblings are as new as the
/// replacement.
#[test]
fn siblings_created_in_the_same_second_are_not_replacements() {
    let mut cluster = Cluster::parse("node n1\n  web*4 age=0s\nnode n2");
    let mut engine = Engine::new(parse(EVEN), without_fourth(&cluster));
    let new = cluster.replace("default", "web-4", "n2", noon());
    let settled = engine.settle(&cluster.snapshot(engine.policy()), after(601));
    assert_eq!(settled[0].to.as_deref(), Some("n2"), "{settled:?}");
    assert_eq!(engine.ledger().entries()[0].replacement, Some(format!("uid-{new}")));
}
