//! A pod that is moved again and again rests longer each time, so that strategies that undo each
//! other come to rest.

use evenkeel::decide::explain::Subject;
use evenkeel::model::ledger::{Aim, Ledger, State};
use evenkeel::view::status::facts::LedgerStatus;

use crate::it::support::watched::{EIGHT, Watched};
use crate::it::support::{Cluster, EVEN, after, hot_if, noon, parse, played};

/// Pods prefer two nodes, which a burst every two hours makes hot.
const BURSTS: &str = "
name: bursts
about: Pods that leave the nodes they prefer while these are hot
duration: 72h
nodes:
- {name: a, count: 2, cpu: 8, memory: 32Gi, labels: {disk: ssd}}
- {name: b, count: 4, cpu: 8, memory: 32Gi}
workloads:
- name: web
  replicas: 8
  requests: {cpu: 1, memory: 1Gi}
  usage: {cpu: {bursts: {base: 800m, peak: 2, every: 2h, for: 20m}}, memory: 800Mi}
  nodeAffinity: {preferred: [{weight: 50, nodes: {matchLabels: {disk: ssd}}}]}
- name: db
  replicas: 4
  requests: {cpu: 1, memory: 2Gi}
  usage: {cpu: 600m, memory: 1500Mi}
  on: [b1, b2, b3, b4]
policy:
  apiVersion: evenkeel/v1alpha1
  kind: Policy
  steering: {taintHot: true}
  strategies:
  - removePodsViolatingNodeAffinity:
      nodeAffinityType: [preferredDuringSchedulingIgnoredDuringExecution]
  - lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}}
";

#[test]
fn strategies_that_undo_each_other_come_to_rest() {
    let trace = played(BURSTS);
    let mut by_day = [0; 3];
    for eviction in &trace.evictions {
        let day = eviction.at.duration_since(trace.start).as_hours() / 24;
        by_day[usize::try_from(day).unwrap()] += 1;
    }
    // If every replacement rested for as long as the first, there would be 89, 96 and 96.
    assert_eq!(by_day, [52, 24, 24]);
}

#[test]
fn the_status_page_and_explain_name_the_whole_rest_of_a_pod_that_is_moved_again() {
    let policy = format!("limits: {{perCycle: 1}}\n{EVEN}");
    let mut watched = Watched::new(EIGHT, &policy, Ledger::default());
    watched.pass(300);
    let replacement = watched.evict("n2").remove(0);
    watched.pass(60);
    let ledger = watched.engine.ledger().write();
    let again = ledger.replace(r#""state":"#, r#""again":3,"state":"#);
    watched.engine.reload(Ledger::parse(&again).unwrap());
    let (snapshot, now) = (watched.snapshot(), watched.now);
    let (ledger, cooldown) = (watched.engine.ledger(), watched.engine.policy().cooldown.clone());
    let pod = snapshot.find_pod("default", &replacement).unwrap();
    let end = now + ledger.rest(&snapshot, pod, &cooldown, now).unwrap().left;
    let minutes = end.duration_since(now).as_mins();
    assert_eq!(minutes, 79, "ten minutes doubled three times, since a minute ago");
    let status = LedgerStatus::of(ledger, &snapshot, &cooldown, now);
    assert!(status.entries.items.iter().all(|entry| entry.rests_until == Some(end)));
    let explained = watched.engine.explain(&snapshot, &Subject::Pod(replacement), now).unwrap();
    let explained = serde_json::json!(explained);
    let evictions = explained["ledger"]["evictions"].as_array().unwrap();
    assert!(!evictions.is_empty());
    for eviction in evictions {
        assert_eq!(eviction["rests_until"], end.to_string());
    }
}

/// The ledger after an eviction of web-1 at noon that had been moved three times before.
fn moved_three_times(more: &str) -> Ledger {
    let policy = parse(EVEN);
    let snapshot = Cluster::parse(EIGHT).snapshot(&policy);
    let mut ledger = Ledger::default();
    let pod = snapshot.find_pod("default", "web-1").unwrap();
    ledger.intend(&snapshot, pod, Aim::Move, &[], noon());
    ledger.requested("uid-default-web-1", State::Evicted);
    let again = ledger.write().replace(r#""state":"#, r#""again":3,"state":"#);
    Ledger::parse(&again.replace(r#""resting":{}"#, &format!(r#""resting":{{{more}}}"#))).unwrap()
}

#[test]
fn of_the_rests_of_a_pod_and_of_its_workload_the_later_counts() {
    for (until, rests) in [("12:05", 80), ("13:30", 90)] {
        let streak = format!(
            r#""default/Deployment/web":{{"useless":1,"until":"2026-11-21T{until}:00Z",
                "attempt":"2026-11-21T11:00:00Z"}}"#
        );
        let mut watched = Watched::new(EIGHT, EVEN, moved_three_times(&streak));
        let new = watched.cluster.replace("default", "web-1", "n2", noon());
        watched.engine.settle(&watched.snapshot(), noon());
        let (snapshot, engine) = (watched.snapshot(), &watched.engine);
        let pod = snapshot.find_pod("default", &new).unwrap();
        let rest = engine.ledger().rest(&snapshot, pod, &engine.policy().cooldown, noon());
        assert_eq!(rest.unwrap().left.as_mins(), rests);
    }
}

#[test]
fn an_eviction_rests_in_metrics_and_pages_as_long_as_its_replacement_does() {
    let mut watched = Watched::new(EIGHT, EVEN, moved_three_times(""));
    let explained = |watched: &Watched| {
        let subject = Subject::Workload("default/web".to_owned());
        let explained = watched.engine.explain(&watched.snapshot(), &subject, watched.now).unwrap();
        serde_json::json!(explained)["ledger"]["evictions"][0]["rests_until"].clone()
    };
    let resting = |watched: &Watched| {
        let (ledger, cooldown) = (watched.engine.ledger(), &watched.engine.policy().cooldown);
        ledger.by_phase(&watched.snapshot(), cooldown, watched.now)[1].1
    };
    assert!(explained(&watched).is_null(), "nothing replaces the pod yet");
    watched.cluster.replace("default", "web-1", "n2", after(1));
    watched.pass(60);
    assert_eq!((watched.endings.len(), resting(&watched)), (1, 1));
    assert!(explained(&watched).is_string());
    watched.pass(79 * 60 - 15);
    assert_eq!(resting(&watched), 1, "ten minutes doubled three times");
    watched.pass(30);
    assert_eq!(resting(&watched), 0);
}

#[test]
fn a_finished_pod_that_is_cleared_away_awaits_no_replacement_and_does_not_rest() {
    let watched = Watched::new(EIGHT, EVEN, Ledger::default());
    let (snapshot, cooldown) = (watched.snapshot(), &watched.engine.policy().cooldown);
    let mut ledger = Ledger::default();
    let pod = snapshot.find_pod("default", "web-1").unwrap();
    ledger.intend(&snapshot, pod, Aim::Clear, &[], noon());
    ledger.requested("uid-default-web-1", State::Evicted);
    assert_eq!(LedgerStatus::of(&ledger, &snapshot, cooldown, noon()).open, 0);
    ledger.settle(&snapshot, hot_if(&|_| None), cooldown, None, noon());
    let phases = ledger.by_phase(&snapshot, cooldown, noon());
    assert_eq!(phases, [("open", 0), ("resting", 0), ("settled", 1)]);
}
