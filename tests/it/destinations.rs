//! Nodes that take no new pods, nodes whose kubelet refuses a pod, and nodes that do not have what
//! a strategy weighs.

use std::collections::BTreeSet;

use evenkeel::decide::draft::Draft;
use evenkeel::decide::projection::World;
use evenkeel::model::plan::Plan;
use evenkeel::model::usage::Usage;
use evenkeel::values::ResourceId;
use insta::assert_snapshot;

use crate::it::support::{Cluster, EVEN, nodes, noon, parse, played, text};
use crate::shared::table::rows;

/// A hot node with four pods, and two other nodes.
fn hot(pods: &str, n2: &str, n3: &str) -> Cluster {
    Cluster::parse(&format!(
        "node n1\n web*4 cpu=300m uses=1500m {pods}\nnode n2 {n2}\nnode n3 {n3}"
    ))
}

/// The sentences that keep pods, each once.
fn why(plan: &Plan) -> String {
    assert!(plan.moves.is_empty(), "{}", text(plan));
    let all: BTreeSet<String> = plan.kept.iter().map(|k| k.refusal.to_string()).collect();
    all.into_iter().collect::<Vec<_>>().join("; ")
}

fn landings(cluster: &Cluster) -> Vec<String> {
    let plan = cluster.plan(EVEN);
    plan.moves.iter().flat_map(|m| m.possible_nodes.clone()).collect()
}

/// Four pods on a hot node with these words, two nodes with these, and why no pod goes to n2.
const DESTINATIONS: &str = "
# A toleration makes a closed node no better.
tolerates=node.kubernetes.io/disk-pressure:NoSchedule | closed=DiskPressure | | is under disk pressure
tolerates=node.kubernetes.io/disk-pressure:NoSchedule | closed=DiskPressure | cordoned system=3 | is under disk pressure
# A cordoned node is about to be drained.
tolerates=node.kubernetes.io/unschedulable:NoSchedule | cordoned | cordoned | is cordoned
tolerates=node.kubernetes.io/unschedulable:NoSchedule | | | moves
# An autoscaler removes the node.
tolerates=*:NoSchedule | taint=ToBeDeletedByClusterAutoscaler=1764000000:NoSchedule | cordoned | is being removed by an autoscaler
tolerates=*:NoSchedule | taint=karpenter.sh/disrupted:NoSchedule | cordoned | is being removed by an autoscaler
tolerates=*:NoSchedule | taint=karpenter.sh/disruption=disrupting:NoSchedule | cordoned | is being removed by an autoscaler
# cluster-autoscaler takes this taint back when pods arrive.
tolerates=*:PreferNoSchedule | taint=DeletionCandidateOfClusterAutoscaler:PreferNoSchedule | cpu=200m | moves
# The machine of the node stops.
tolerates=*:NoSchedule | taint=node.cloudprovider.kubernetes.io/shutdown:NoSchedule | | is about to stop, by its taint
tolerates=*:NoSchedule | taint=node.kubernetes.io/out-of-service=nodeshutdown:NoExecute | | is about to stop, by its taint
tolerates=*:NoSchedule | taint=cloud.google.com/impending-node-termination:NoSchedule | | is about to stop, by its taint
tolerates=*:NoSchedule | taint=aws-node-termination-handler/spot-itn=1764000000:NoSchedule | | is about to stop, by its taint
# The kubelet would refuse a pod that needs another operating system; a label of the pod counts as well.
os=linux | os=windows | os=linux system=1 | cannot run it: it needs linux, and the node runs windows
os=linux | | os=linux | cannot run it: it needs linux, and the node runs an unknown operating system
labels=kubernetes.io/os:linux | os=windows | cordoned | cannot run it: it needs linux, and the node runs windows
os=linux | os=linux | os=linux | moves
| os=windows | os=windows | moves
| | | moves
# The kubelet may not pull the image, and lists it with its registry and tag.
image=web never-pulls | images=web:2 | cordoned | cannot run it: its pull policy is Never, and the node does not list its image web
image=web never-pulls | images=redis:7,docker.io/library/web:latest | cordoned | moves
image=library/web:1 never-pulls | images=docker.io/library/web:1 | cordoned | moves
image=web:1 never-pulls | images=myweb:1 | cordoned | cannot run it: its pull policy is Never, and the node does not list its image web:1
image=web | images=web:2 | cordoned | moves
never-pulls-volume=model | images=web:2 | cordoned | cannot run it: its pull policy is Never, and the node does not list its image model
never-pulls-volume=model | images=model | cordoned | moves
# The driver of the volume does not run there: the second node has no CSINode. A driver that is on no node is unknown.
volume=ebs | drivers=nfs | cordoned drivers=ebs | lacks the CSI driver ebs of its volume
volume=ebs | | cordoned drivers=ebs | lacks the CSI driver ebs of its volume
volume=ebs | drivers=nfs,ebs | cordoned drivers=ebs | moves
volume=ebs | drivers=nfs | cordoned | moves
# Nothing is attached for an inline volume, so no limit counts.
inline=secrets | drivers=nfs | cordoned drivers=secrets | lacks the CSI driver secrets of its volume
inline=secrets | drivers=nfs,secrets | cordoned drivers=secrets | moves
inline=secrets | attach=secrets:0 | cordoned drivers=secrets | moves
# A taint removes the pod after a while.
tolerates=maintenance:NoExecute@60 | taint=maintenance:NoExecute | system=1 | it would soon leave: its taint maintenance:NoExecute would remove it after 1m
tolerates=maintenance:NoExecute | taint=maintenance:NoExecute | cordoned | moves
tolerates=*:NoExecute@300 | taint=node.kubernetes.io/unreachable:NoExecute | cordoned | it would soon leave: its taint node.kubernetes.io/unreachable:NoExecute would remove it after 5m
tolerates=*:NoExecute@60 | taint=maintenance:NoSchedule | cpu=200m | moves
";

#[test]
fn no_pod_goes_where_it_would_not_run_or_not_stay() {
    for case in rows(DESTINATIONS) {
        let [pods, n2, n3, which] = case[..] else { panic!("{case:?}") };
        let cluster = hot(pods, n2, n3);
        if which == "moves" {
            assert!(!landings(&cluster).is_empty(), "{case:?}");
        } else {
            let expected = format!("its replacement could land on n2, which {which}");
            assert_eq!(why(&cluster.plan(EVEN)), expected, "{case:?}");
        }
    }
}

#[test]
fn a_node_without_a_resource_is_neither_cold_nor_counted_by_it() {
    let policy = "strategies: [{lowNodeUtilization: {basis: requests, thresholds: {nvidia.com/gpu: 30%}, targetThresholds: {nvidia.com/gpu: 60%}}}]";
    let cluster = Cluster::parse(
        "node g1 gpu=4\n train*3 cpu=500m gpu=1\nnode g2 gpu=4\nnode c1\n web*2 cpu=500m",
    );
    let plan = cluster.plan(policy);
    assert_snapshot!(nodes(&plan), @r"
    c1: left alone: it has no nvidia.com/gpu
    g1: hot: nvidia.com/gpu 75% is above the target 60%, and needs 1 eviction
    g2: at or below every threshold: may take pods
    ");
    let balance = &plan.before.balance["nvidia.com/gpu"];
    assert_eq!(balance.mean.to_string(), "38%");
    assert_eq!(balance.deviation.to_string(), "38%");
    assert_eq!(plan.before.pools[0].nodes, 2);
    let of_c1 = plan.before.nodes.iter().find(|node| node.name == "c1");
    assert!(!of_c1.unwrap().ratios.contains_key("nvidia.com/gpu"));
}

#[test]
fn a_pod_that_has_long_been_deleted_or_ends_late_does_not_count_as_gone() {
    let cluster = Cluster::parse(
        "node n1\n a cpu=1 ends=20s\nnode n2\n b cpu=1 ends=1h\nnode n3\n c cpu=1 ends=-1h",
    );
    let policy = parse(EVEN);
    let snapshot = cluster.snapshot(&policy);
    let usage = Usage::default();
    let draft = Draft::new(World::without_memory(&policy, &snapshot, &usage, noon()));
    let cores = |draft: &Draft<'_>| {
        let nodes = snapshot.node_ids();
        let cores = nodes.map(|n| draft.reserved(n)[ResourceId::CPU].get() / 1_000_000_000);
        cores.collect::<Vec<_>>()
    };
    assert_eq!(cores(&draft), [1, 1, 1]);
    assert_eq!(cores(&draft.later()), [0, 1, 1]);
}

#[test]
fn nor_does_one_of_a_later_cycle() {
    let text = "
name: later
about: A pod of a StatefulSet takes minutes to end, and another pod of its node may follow
duration: 30m
nodes: [{name: n, count: 3, cpu: 8, memory: 32Gi}]
workloads:
- {name: db, kind: StatefulSet, replicas: 1, requests: {cpu: 1}, usage: {cpu: 2}, on: [n1], ending: 3m}
- {name: web, replicas: 7, requests: {cpu: 600m}, usage: {cpu: 700m}, on: [n1]}
- {name: a, kind: Pod, requests: {cpu: 1}, usage: {cpu: 2}, on: [n2]}
- {name: b, kind: Pod, requests: {cpu: 1400m}, usage: {cpu: 3500m}, on: [n3]}
policy:
  apiVersion: evenkeel/v1alpha1
  kind: Policy
  interval: 1m
  limits: {perCycle: 1}
  evictable: {minReplicas: 1}
  strategies:
  - lowNodeUtilization: {thresholds: {cpu: 40%}, targetThresholds: {cpu: 60%}}
";
    let trace = played(text);
    let landed = trace.evictions.iter().map(|e| format!("{} {}", e.pod, e.to.as_deref().unwrap()));
    let landed: Vec<String> = landed.map(|one| one.replace("-5d8c7b9f64", "")).collect();
    assert_eq!(landed.len(), 2, "{landed:?}");
    assert_eq!(landed[0], "db-0 n2");
    assert!(landed[1].ends_with(" n3"), "{landed:?}");
}

#[test]
fn a_pod_that_is_being_created_counts_at_least_its_requests() {
    // A sibling uses less than the pod asks for, and another one more.
    for (uses, expected) in [("1", "50%"), ("6", "75%")] {
        let cluster = Cluster::parse(&format!(
            "node n1\n web cpu=4 uses={uses}\nnode n2\n web cpu=4 creating=20m\nnode n3"
        ));
        let plan = cluster.plan(EVEN);
        let n2 = plan.before.nodes.iter().find(|node| node.name == "n2");
        assert_eq!(n2.unwrap().ratios["cpu"].unwrap().to_string(), expected);
    }
}
