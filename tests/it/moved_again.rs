//! A pod that is moved again and again rests longer each time, so that strategies that undo each
//! other come to rest.

use crate::it::support::played;

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
    assert_eq!(by_day, [54, 23, 28]);
}
