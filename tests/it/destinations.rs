//! Nodes that take no new pods, nodes whose kubelet refuses a pod, and nodes that do not have what
//! a strategy weighs.

use std::collections::BTreeSet;

use evenkeel::decide::draft::Draft;
use evenkeel::decide::projection::World;
use evenkeel::model::plan::Plan;
use evenkeel::model::usage::Usage;
use evenkeel::policy::{FitStrategy, ScorePlugin};
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

#[test]
fn a_node_that_is_being_deleted_is_no_destination() {
    let plan = hot("", "closed=Deleting", "cordoned").plan(EVEN);
    assert_snapshot!(text(&plan), @r"
    keep web-1 on n1: its replacement could land on n2, which is being deleted
    keep web-2 on n1: its replacement could land on n2, which is being deleted
    keep web-3 on n1: its replacement could land on n2, which is being deleted
    keep web-4 on n1: its replacement could land on n2, which is being deleted
    ");
    assert_snapshot!(nodes(&plan), @r"
    n1: hot: cpu 75% is above the target 50%, and needs 2 evictions
    n2: left alone: being deleted
    n3: at or below every threshold, but cordoned: takes no pods
    ");
}

#[test]
fn a_node_with_an_unreadable_pod_takes_no_pods() {
    let policy = "evictable: {minReplicas: 1, minPodAge: 0s}\nstrategies: [{podLifeTime: {maxPodLifeTimeSeconds: 600}}]";
    let plan = |odd: &str| {
        let cluster = format!("node n1 cordoned\n web cpu=1 age=20m\nnode n2\n {odd}");
        Cluster::parse(&cluster).plan(policy)
    };
    assert_eq!(
        why(&plan("unreadable Pod name=odd")),
        "its replacement could land on n2, which is left alone: Pod default/odd cannot be read: \
         spec"
    );
    assert_eq!(plan("").moves.len(), 1);
}

#[test]
fn the_scheduler_may_choose_a_node_that_is_being_deleted() {
    // Nothing tells the scheduler, so both nodes may win.
    let plan = hot("", "closed=Deleting", "").plan(EVEN);
    assert_eq!(why(&plan), "its replacement could land on n2, which is being deleted");
}

#[test]
fn a_node_that_is_being_deleted_gives_no_pods_because_they_are_drained() {
    let cluster =
        Cluster::parse("node n1 closed=Deleting\n web*4 cpu=300m uses=1500m\nnode n2\nnode n3");
    let plan = cluster.plan(EVEN);
    assert!(plan.moves.is_empty(), "{}", text(&plan));
    assert_snapshot!(nodes(&plan), @r"
    n1: left alone: being deleted
    n2: at or below every threshold: may take pods
    n3: at or below every threshold: may take pods
    ");
}

#[test]
fn a_node_with_a_bad_condition_takes_no_pods_even_before_its_taint_is_set() {
    for closure in
        ["MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "NeverReady"]
    {
        let cluster = hot("", &format!("closed={closure}"), "");
        let landings = landings(&cluster);
        assert!(!landings.is_empty(), "{closure}");
        assert!(landings.iter().all(|node| node == "n3"), "{closure}: {landings:?}");
        let only = hot("", &format!("closed={closure}"), "cordoned").plan(EVEN);
        assert!(only.moves.is_empty(), "{closure}: {}", text(&only));
    }
}

#[test]
fn a_node_on_which_pods_of_two_workloads_wait_for_a_sandbox_takes_no_pods() {
    let plan = |pods: &str| {
        let cluster = format!(
            "node n1
              web*4 cpu=300m uses=1500m
            node n2
              {pods}
            node n3 cordoned"
        );
        Cluster::parse(&cluster).plan(EVEN)
    };
    let waits = |app: &str, time: &str| {
        let condition = format!("condition=PodReadyToStartContainers:False::{time}");
        format!("{app} cpu=10m creating={time} {condition}\n")
    };
    let two = waits("a", "20m") + &waits("b", "11m");
    let closed = plan(&two);
    assert_eq!(why(&closed), "its replacement could land on n2, which is unable to start pods");
    assert!(closed.moves.is_empty(), "{}", text(&closed));
    assert_snapshot!(nodes(&closed), @r"
    n1: hot: cpu 75% is above the target 50%, and needs 2 evictions
    n2: at or below every threshold, but unable to start pods: takes no pods
    n3: at or below every threshold, but cordoned: takes no pods
    ");
    for open in [
        waits("a", "20m"),
        waits("a", "20m").repeat(2),
        waits("a", "20m") + &waits("b", "9m"),
        // The node has started a pod since one of them waits, or since both do.
        two.clone() + "c cpu=10m uses=10m started=12m",
        two + "c cpu=10m uses=10m started=5m",
        "a cpu=10m creating=20m\nb cpu=10m creating=20m".to_owned(),
    ] {
        assert!(!plan(&open).moves.is_empty(), "{open}: {}", text(&plan(&open)));
    }
}

#[test]
fn a_pod_that_waits_for_a_sandbox_may_get_another_one_on_its_node() {
    let policy = "evictable: {minReplicas: 1, minPodAge: 0s}
strategies: [{podLifeTime: {maxPodLifeTimeSeconds: 600, states: [Pending]}}]";
    let waits = "cpu=1 creating=20m condition=PodReadyToStartContainers:False::20m";
    let cluster = format!("node n1 cordoned\nnode n2\n a {waits}\n b {waits}\nnode n3\n c cpu=5");
    let plan = Cluster::parse(&cluster).plan(policy);
    assert_eq!(plan.moves.len(), 2, "{}", text(&plan));
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
fn no_pod_goes_where_the_kubelet_has_just_refused_its_sibling() {
    let plan = |n2: &str| {
        let cluster =
            format!("node n1\n web*4 cpu=300m uses=1500m\nnode n2\n {n2}\nnode n3 cordoned");
        Cluster::parse(&cluster).plan(EVEN)
    };
    for reason in ["OutOfcpu", "NodeAffinity", "SysctlForbidden", "AReasonOfALaterRelease"] {
        let refused = plan(&format!("web phase=Failed reason={reason} age=59m"));
        let expected = format!(
            "its replacement could land on n2, which cannot run it: its kubelet refused another \
             pod of the workload within the last hour, with {reason}"
        );
        assert_eq!(why(&refused), expected);
    }
    for other in [
        "web phase=Failed reason=OutOfcpu age=60m",
        "web phase=Failed reason=Evicted age=5m",
        "web phase=Failed reason=NodeShutdown age=5m",
        "web phase=Failed reason=Crashed exits=Error:1 age=5m",
        "other phase=Failed reason=OutOfcpu age=5m",
        "web phase=Failed reason=OutOfcpu age=5m\n web age=4m",
    ] {
        assert!(!plan(other).moves.is_empty(), "{other}");
    }
}

#[test]
fn no_pod_leaves_a_tainted_node_for_a_cordoned_one() {
    let tolerates = "tolerates=node.kubernetes.io/unschedulable:NoSchedule";
    let cluster = "node n1 taint=a:NoSchedule\n web*2 cpu=300m POD\nnode n2 cordoned";
    let cluster = Cluster::parse(&cluster.replace("POD", tolerates));
    let plan = cluster.plan("strategies: [removePodsViolatingNodeTaints]");
    assert_eq!(why(&plan), "its replacement could land on n2, which is cordoned");
}

#[test]
fn a_node_under_pressure_may_lose_pods() {
    let cluster = Cluster::parse(
        "node n1 closed=MemoryPressure\n web*4 cpu=300m uses=1500m\nnode n2\nnode n3",
    );
    assert!(!cluster.plan(EVEN).moves.is_empty());
}

#[test]
fn no_pod_that_runs_on_one_system_goes_to_another_although_it_names_none() {
    let plan = |pods: &str| {
        let text =
            format!("node n1 os=linux\n web*4 cpu=300m uses=1500m {pods}\nnode n2 os=windows");
        Cluster::parse(&text).plan(EVEN)
    };
    let refused = why(&plan(""));
    assert!(
        refused.ends_with("n2, which cannot run it: it needs linux, and the node runs windows")
    );
    // One that does not run may have landed on the wrong system.
    assert!(!plan("unready").moves.is_empty());
}

#[test]
fn no_pod_goes_where_a_feature_of_its_node_is_missing_that_it_needs() {
    let plan = |home: &str, needs: &str, n2: &str| {
        let text = format!("node n1 {home}\n web*4 cpu=300m uses=1500m {needs}\nnode n2 {n2}");
        Cluster::parse(&text).plan(EVEN)
    };
    for (feature, shown) in [
        ("strict-groups", "supplementalGroupsPolicy: Strict"),
        ("user-namespaces", "user namespaces"),
        ("gvisor", "the runtime handler gvisor"),
    ] {
        let home = format!("features=runc,{feature}");
        let needs = format!("needs={feature}");
        assert_eq!(
            why(&plan(&home, &needs, "features=runc")),
            format!(
                "its replacement could land on n2, which cannot run it: it needs {shown}, which \
                 the node does not report"
            )
        );
        for (home, needs, n2) in
            [(&*home, &*needs, &*home), (&*home, "", "features=runc"), ("", &*needs, "")]
        {
            assert!(!plan(home, needs, n2).moves.is_empty(), "{home} {needs} {n2}");
        }
    }
}

#[test]
fn a_node_without_a_resource_is_not_emptied_for_it() {
    let mut policy = parse(
        "evictable: {minReplicas: 1}
strategies: [{highNodeUtilization: {thresholds: {nvidia.com/gpu: 60%}}}]",
    );
    policy.scheduler.fit.strategy = FitStrategy::MostAllocated;
    policy.scheduler.weights[ScorePlugin::PodTopologySpread] = 0;
    policy.scheduler.weights[ScorePlugin::NodeResourcesBalancedAllocation] = 0;
    let cluster = Cluster::parse(
        "node g1 gpu=4\n train cpu=500m gpu=1 uses=100m
         node g2 gpu=4\n train*3 cpu=500m gpu=1 uses=100m
         node c1\n web*2 cpu=500m uses=100m\nnode c2\n web cpu=500m uses=100m",
    );
    let plan = cluster.plan_by(policy);
    let moves = plan.moves.iter();
    let moves: Vec<_> = moves.map(|m| (m.pod.as_str(), m.to.as_deref())).collect();
    assert_eq!(moves, [("train-1", Some("g2"))]);
    assert_snapshot!(nodes(&plan), @r"
    c1: left alone: it has no nvidia.com/gpu
    c2: left alone: it has no nvidia.com/gpu
    g1: at or below every threshold: to be emptied
    g2: above a threshold: stays and may take pods
    ");
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
fn a_node_is_judged_by_the_resources_that_it_has() {
    let policy = "strategies: [{lowNodeUtilization: {basis: requests, thresholds: {cpu: 30%, nvidia.com/gpu: 30%}, targetThresholds: {cpu: 60%, nvidia.com/gpu: 60%}}}]";
    let cluster = Cluster::parse(
        "node g1 gpu=4\n train*3 cpu=500m gpu=1\nnode g2 gpu=4\nnode c1\n web*4 cpu=1500m
         node c2\n api cpu=500m",
    );
    let plan = cluster.plan(policy);
    assert_snapshot!(nodes(&plan), @r"
    c1: hot: cpu 75% is above the target 60%, and needs 1 eviction
    c2: at or below every threshold: may take pods
    g1: hot: nvidia.com/gpu 75% is above the target 60%, and needs 1 eviction
    g2: at or below every threshold: may take pods
    ");
    assert!(plan.moves.iter().any(|m| m.node == "c1"), "{}", text(&plan));
}

#[test]
fn a_node_that_has_lost_its_devices_is_not_cold() {
    let policy = "strategies: [{lowNodeUtilization: {basis: requests, thresholds: {nvidia.com/gpu: 30%}, targetThresholds: {nvidia.com/gpu: 60%}}}]";
    let cluster =
        Cluster::parse("node g1 gpu=4\n train*3 gpu=1\nnode g2 gpu=0\n train gpu=1\nnode g3 gpu=4");
    assert_snapshot!(nodes(&cluster.plan(policy)), @r"
    g1: hot: nvidia.com/gpu 75% is above the target 60%, and needs 1 eviction
    g2: between threshold and target: nothing to do
    g3: at or below every threshold: may take pods
    ");
}

#[test]
fn a_node_without_allocatable_is_left_alone() {
    let mut policy = parse(
        "evictable: {minReplicas: 1}
strategies: [{highNodeUtilization: {thresholds: {cpu: 20%}}}]",
    );
    policy.scheduler.fit.strategy = FitStrategy::MostAllocated;
    let cluster = Cluster::parse(
        "node n1\n train*4 cpu=1500m uses=1\nnode n2 no-allocatable\n web cpu=500m uses=100m
         node n3\n api*3 cpu=1 uses=1",
    );
    let plan = cluster.plan_by(policy);
    assert_snapshot!(text(&plan), @r"
    default: no node is below its thresholds, so none is emptied
    ");
    assert_snapshot!(nodes(&plan), @r"
    n1: above a threshold: stays and may take pods
    n2: left alone: it reports no allocatable cpu
    n3: above a threshold: stays and may take pods
    ");
    let low = cluster.plan(EVEN);
    assert_snapshot!(nodes(&low), @r"
    n1: between threshold and target: nothing to do
    n2: left alone: it reports no allocatable cpu
    n3: between threshold and target: nothing to do
    ");
}

#[test]
fn a_pending_pod_costs_no_budget_in_the_plan_either() {
    let policy = "evictable: {minReplicas: 0}
safety: {maxPending: 100%}
strategies:
- podLifeTime: {maxPodLifeTimeSeconds: 60, states: [ImagePullBackOff]}
- podLifeTime: {maxPodLifeTimeSeconds: 60, states: [Running]}";
    let cluster = Cluster::parse(
        "node n1\n web phase=Pending waits=ImagePullBackOff age=2h\n web*3 cpu=100m\nnode n2
         budget web allows=2 desired=10",
    );
    assert_snapshot!(text(&cluster.plan(policy)), @r"
    move web-1 from n1 to n2: is 2h old, older than 1m and is in the state ImagePullBackOff
    move web-2 from n1 to n2: is 1h old, older than 1m and is in the state Running
    move web-3 from n1 to n1: is 1h old, older than 1m and is in the state Running
    keep web-4 on n1: PodDisruptionBudget web allows no disruption beyond the 2 planned
    ");
}

/// A hot node whose heaviest pod fits only where another pod of the plan leaves.
fn into_room_of(slow: &str) -> Cluster {
    Cluster::parse(&format!(
        "node n1\n web cpu=3 uses=3500m\n base cpu=4500m uses=1500m
         node n2\n slow cpu=5 age=48h uses=0 {slow}\n fixed cpu=2 uses=0
         node n3\n other cpu=2500m uses=2500m"
    ))
}

const RENEW_AND_EVEN: &str = "evictable: {minReplicas: 0}
strategies:
- podLifeTime: {maxPodLifeTimeSeconds: 86400}
- lowNodeUtilization: {thresholds: {cpu: 20%}, targetThresholds: {cpu: 50%}}";

#[test]
fn a_pod_that_ends_late_holds_its_room_for_as_long_as_it_may() {
    let quick = into_room_of("").plan(RENEW_AND_EVEN);
    assert_snapshot!(text(&quick), @r"
    move slow-1 from n2 to n3: is 2d old, older than 1d
    move base-1 from n1 to n2: node usage: cpu 62% is above its target of 50%
    ");
    let slow = into_room_of("grace=1h").plan(RENEW_AND_EVEN);
    assert_snapshot!(text(&slow), @r"
    move slow-1 from n2 to n3: is 2d old, older than 1d
    keep base-1 on n1: no other node can take it: 2 are short of cpu by requests
    keep web-1 on n1: no other node can take it: 2 are short of cpu by requests
    ");
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

/// The replacement of db is created when db has ended. If that of web took its place on n2 until
/// then, it would land on n3, which would be hot.
#[test]
fn no_replacement_takes_the_place_of_one_that_comes_later() {
    let plan = |owner: &str| {
        let cluster = Cluster::parse(&format!(
            "
            node n1
              db cpu=1 uses=2 {owner}
              web*7 cpu=600m uses=700m
            node n2
              a cpu=1 uses=2
            node n3
              b cpu=1400m uses=3500m
            "
        ));
        let low = "{thresholds: {cpu: 40%}, targetThresholds: {cpu: 60%}}";
        let policy = "limits: {perWorkload: 1}\nevictable: {minReplicas: 1}\nstrategies:";
        let text = text(&cluster.plan(&format!("{policy} [{{lowNodeUtilization: {low}}}]")));
        text.lines().take(2).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(plan("owner=StatefulSet"), @"
    move db-1 from n1 to n2: node usage: cpu 86% is above its target of 60%
    keep web-1 on n1: its replacement could take the place on n2 of that of db-1, which comes later
    ");
    assert_snapshot!(plan(""), @"
    move db-1 from n1 to n2: node usage: cpu 86% is above its target of 60%
    move web-1 from n1 to n3: node usage: cpu 61% is above its target of 60%
    ");
}

/// The scheduler may put the replacement of any on n2 or on n3. The other pod fits on one of them
/// alone, whichever has which name, so it waits until that of any has a node.
#[test]
fn a_pod_waits_while_an_earlier_replacement_may_take_its_only_node() {
    let plan = |pinned: &str, [n2, n3]: [&str; 2], extra: &str| {
        let cluster = Cluster::parse(&format!(
            "
            node n1 cpu=8 labels=disk:ssd taint=old:NoSchedule
              any cpu=3
              {pinned}
            node n2 cpu=4 {n2}
            node n3 cpu=4 {n3}
            {extra}
            "
        ));
        let policy = "evictable: {minReplicas: 1}\nstrategies: [removePodsViolatingNodeTaints]";
        let text = text(&cluster.plan(policy));
        let pinned = text.lines().find(|line| line.contains(" web-1 "));
        pinned.unwrap().to_owned()
    };
    let ssd = "labels=disk:ssd";
    let displaced = "the replacement of any-1 could land on n3, and no node could then take its own \
                     replacement";
    let full = "1 is not matching its node affinity, 1 is short of cpu by requests";
    for (disks, other, why) in [(["", ssd], "n3", displaced), ([ssd, ""], "n2", full)] {
        let moved = format!("move web-1 from n1 to {other}");
        let said = plan("web cpu=3 requires=disk:ssd", disks, "");
        assert!(said.contains(why), "{said}");
        // A smaller one fits beside it.
        let said = plan("web cpu=1 requires=disk:ssd", disks, "");
        assert!(said.starts_with(&moved), "{said}");
        // A third node takes the earlier one without doubt.
        let said = plan("web cpu=3 requires=disk:ssd", disks, "node n4 cpu=16");
        assert!(said.starts_with(&moved), "{said}");
    }
    let web = "web cpu=500m requires=disk:ssd anti-affinity=any";
    let said = plan(web, ["", ssd], "");
    assert!(said.contains(displaced), "{said}");
}

/// The scheduler may put the waiting pod on n2 or on n3.
#[test]
fn a_pod_waits_while_a_waiting_pod_may_take_its_only_node() {
    let plan = |first: &str, pinned: &str, [n2, n3]: [&str; 2]| {
        let cluster = Cluster::parse(&format!(
            "
            node n1 cpu=8 taint=old:NoSchedule
              web cpu={pinned} requires=disk:ssd
            node n2 cpu=4 {n2}
            node n3 cpu=4 {n3}
              {first} pending
            "
        ));
        let policy = "evictable: {minReplicas: 1}\nsafety: {maxPending: 100%}\nstrategies: \
                      [removePodsViolatingNodeTaints]";
        text(&cluster.plan(policy))
    };
    let ssd = "labels=disk:ssd";
    let said = plan("first cpu=3", "3", ["", ssd]);
    let displaced = "first-1 could land on n3, and no node could then take its own replacement";
    assert!(said.contains(displaced), "{said}");
    // It fits beside it, the waiting pod can only get the other node, or both nodes take it.
    for (first, pinned, disks) in [
        ("first cpu=3", "1", ["", ssd]),
        ("first cpu=3 requires=disk:hdd", "3", ["labels=disk:hdd", ssd]),
        ("first cpu=3", "3", [ssd, ssd]),
    ] {
        let said = plan(first, pinned, disks);
        assert!(said.contains("move web-1 from n1"), "{said}");
    }
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
fn a_pod_that_is_being_created_counts_by_its_requests_until_it_runs() {
    let cluster = |new: &str| {
        Cluster::parse(&format!(
            "node n1\n web*4 cpu=100m uses=1500m\nnode n2\n new cpu=4 {new}\nnode n3 cordoned"
        ))
    };
    let creating = cluster("creating=20m").plan(EVEN);
    assert_eq!(
        why(&creating),
        "its replacement could land on n2, where cpu usage would reach 69%, above the target \
            of 50%"
    );
    // Its init container or sidecar is measured, and the others have not started.
    for waits in ["creating=20m", "creating=10s"] {
        let initialised = cluster(&format!("{waits} uses=10m")).plan(EVEN);
        assert_eq!(text(&initialised), text(&creating), "{waits}");
    }
    // It has just begun to run, and no sample has come yet.
    let started = cluster("age=20m started=5s").plan(EVEN);
    assert_eq!(text(&started), text(&creating));
    // An old pod that the source does not measure is part of its node's own sample.
    let unmeasured = cluster("age=20m").plan(EVEN);
    assert!(!unmeasured.moves.is_empty(), "{}", text(&unmeasured));
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

#[test]
fn a_pod_that_waits_for_something_else_takes_no_room() {
    // The waiting pod fits only on n2, which is hot by usage and empty by requests.
    let answer = |waits: &str| {
        let cluster = Cluster::parse(&format!(
            "
            storage-class fast driver=ebs
            storage-class now driver=ebs immediate
            storage-class local driver=kubernetes.io/no-provisioner
            storage-class usual driver=ebs default
            node n1 system=1
              web*4 cpu=300m uses=1
            node n2 system=5
            node n3
              fill*12 cpu=100m uses=10m
              big cpu=7 pending {waits}
            "
        ));
        text(&cluster.plan(EVEN))
    };
    // It takes all of n2, so replacements go to n3.
    for room in ["", "unbound=fast", "unbound=fast selected=n2", "unbound=?"] {
        let plan = answer(room);
        assert!(plan.contains("move web-1 from n1 to n3"), "{room}: {plan}");
    }
    let held = [
        "claim",
        "unbound=gone",
        "unbound=fast selected=n3",
        // It may get what it waits for, or not.
        "unbound=now",
        "unbound=local",
        "unbound=-",
        "devices",
        "gang=train",
    ];
    for held in held {
        let plan = answer(held);
        assert!(!plan.contains("move "), "{held}: {plan}");
        assert!(plan.contains("could land on n2"), "{held}: {plan}");
    }
}

#[test]
fn a_pod_that_waits_for_something_else_does_not_make_a_likely_landing_worse() {
    // The waiting pod can go to n5 only, so that two of three good nodes remain, as without it.
    for waits in ["", "gang=train"] {
        let cluster = Cluster::parse(&format!(
            "
            node n1 system=1
              web*4 cpu=300m uses=1
            node n2 system=5
            node n3
            node n4
            node n5 labels=gpu:yes taint=gpu:NoSchedule
              train cpu=4 pending requires=gpu:yes tolerates=gpu:NoSchedule {waits}
            "
        ));
        let plan = text(&cluster.plan(EVEN));
        assert!(plan.contains("move web-1 from n1"), "{waits}: {plan}");
    }
}
