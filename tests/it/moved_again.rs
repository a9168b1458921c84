//! A pod that is moved again and again rests longer each time, so that strategies that undo each
//! other come to rest.

use evenkeel::decide::explain::Subject;
use evenkeel::model::ledger::Ledger;
use evenkeel::view::status::facts::LedgerStatus;

use crate::it::support::watched::{EIGHT, Watched};
use crate::it::support::{EVEN, played};

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
