//! Pods stay whose replacement would not exist, would not start, or would not find what it needs.

use std::collections::BTreeMap;

use evenkeel::decide::explain::{Explanation, Subject};
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::Plan;
use evenkeel::model::snapshot::Snapshot;
use evenkeel::model::snapshot::facts::{Owner, WhenEvicted};
use evenkeel::model::snapshot::objects::ObjectKind;
use insta::assert_snapshot;
use proptest::prelude::*;

use crate::it::support::{Cluster, EVEN, cases, noon, parse, random_cluster, text};

/// PodLifeTime, which would evict every pod of the text clusters.
const EVERY_POD: &str = "strategies: [{podLifeTime: {maxPodLifeTimeSeconds: 60}}]\n";

/// These lines, a hot node with four pods like this, and two cold nodes.
fn hot(lines: &str, pod: &str) -> Cluster {
    Cluster::parse(&format!(
        "
        {lines}
        node n1 system=1
          web*4 cpu=300m uses=1 {pod}
        node n2
        node n3
        "
    ))
}

/// Plans for a hot node with four pods like this, and two cold nodes.
fn plan(pod: &str, policy: &str) -> String {
    let cluster = hot("", &format!("memory=256Mi {pod}"));
    text(&cluster.plan(&format!("{policy}\nlimits: {{perWorkload: none, perNode: none}}\n{EVEN}")))
}

fn moves(pod: &str, policy: &str) {
    let plan = plan(pod, policy);
    assert!(plan.starts_with("move web-"), "{pod}: {plan}");
}

fn stays(pod: &str, because: &str) {
    let plan = plan(pod, "");
    assert!(!plan.contains("move "), "{pod}: {plan}");
    assert!(plan.contains(because), "{pod}: {plan}");
}

#[test]
fn an_owner_that_is_not_the_controller_replaces_nothing() {
    moves("", "");
    stays("no-controller", "no controller would recreate it");
}

#[test]
fn a_controller_that_is_deleted_or_fails_or_has_enough_pods_replaces_nothing() {
    stays("owner-deleting", "its ReplicaSet web creates no replacement: it is being deleted");
    stays(
        "owner-fails",
        "its Deployment web creates no replacement: its condition ReplicaFailure says that it \
         cannot create pods",
    );
    stays("wanted=3", "its ReplicaSet web creates no replacement: it wants 3 and has 4");
    stays(
        "owner=StatefulSet ordered wanted=0",
        "its StatefulSet web creates no replacement: it wants 0",
    );
    stays("wanted=0", "it wants 0 and has 4");
    moves("wanted=4", "");
}

#[test]
fn a_deployment_with_a_replica_set_that_fails_replaces_nothing() {
    let newer = "web cpu=300m revision=b owner-fails";
    let plan = |namespace: &str| {
        let lines = format!("node n0 cordoned\n {newer} namespace={namespace}");
        text(&hot(&lines, "memory=256Mi").plan(EVEN))
    };
    let why = "keep web-2 on n1: its Deployment web creates no replacement: its condition \
               ReplicaFailure";
    assert!(plan("default").starts_with(why), "{}", plan("default"));
    assert!(plan("other").contains("move web-"), "{}", plan("other"));
}

#[test]
fn a_namespace_takes_no_new_pods_if_two_of_its_workloads_fail_or_one_at_a_quota() {
    let plan = |others: &str| {
        text(&hot(&format!("node n0 cordoned\n{others}"), "memory=256Mi").plan(EVEN))
    };
    let why = "keep web-1 on n1: its ReplicaSet web creates no replacement: the condition \
               ReplicaFailure of others says that its namespace takes no new pods";
    for refused in ["a owner-fails\nb owner-fails", "a owner-over-quota"] {
        assert!(plan(refused).starts_with(why), "{}", plan(refused));
    }
    for open in [
        "a owner-fails",
        "a owner-fails revision=a\na owner-fails revision=b",
        "a owner-fails\nb owner-fails namespace=other",
        "a owner-over-quota namespace=other",
    ] {
        assert!(plan(open).starts_with("move web-"), "{}", plan(open));
    }
}

#[test]
fn a_namespace_that_is_being_deleted_takes_no_new_pods() {
    let plan = |namespace: &str| {
        let cluster = hot(&format!("namespace default {namespace}"), "memory=256Mi");
        text(&cluster.plan(EVEN))
    };
    assert!(plan("").starts_with("move web-1"), "{}", plan(""));
    let stays = plan("deleting");
    let why = "keep web-1 on n1: its namespace default is being deleted, so the API server would \
               refuse its eviction";
    assert!(stays.starts_with(why), "{stays}");
}

#[test]
fn a_controller_does_not_have_the_pods_that_end_or_have_ended() {
    for gone in ["terminating", "phase=Failed"] {
        let cluster = Cluster::parse(&format!(
            "
            node n1 system=1
              web*4 cpu=300m uses=1 wanted=4
              web cpu=300m wanted=4 {gone}
            node n2
            node n3
            "
        ));
        let policy = format!("limits: {{perWorkload: none, perNode: none}}\n{EVEN}");
        let plan = text(&cluster.plan(&policy));
        assert!(plan.starts_with("move web-"), "{gone}: {plan}");
    }
}

#[test]
fn a_controller_that_does_not_exist_is_unknown() {
    let mut cluster = Cluster::parse(
        "
        node n1 system=1
          web*4 cpu=300m uses=1
        node n2
          other cpu=300m
        node n3
        ",
    );
    let web = ("default".to_owned(), "web".to_owned());
    cluster.objects.delete(ObjectKind::ReplicaSet, &web);
    let plan = text(&cluster.plan(EVEN));
    let unknown = "keep web-1 on n1: its ReplicaSet web does not exist or cannot be read, so whether \
                   it is replaced is unknown";
    assert!(plan.starts_with(unknown), "{plan}");
}

#[test]
fn the_last_controller_of_a_kind_that_does_not_exist_is_unknown_too() {
    let answer = |more: &str| {
        let mut cluster = hot(more, "");
        let web = ("default".to_owned(), "web".to_owned());
        cluster.objects.delete(ObjectKind::ReplicaSet, &web);
        text(&cluster.plan(EVEN))
    };
    let unknown = "keep web-1 on n1: its ReplicaSet web does not exist or cannot be read";
    // The list of ReplicaSets is complete, whether it is empty or has one that cannot be read.
    for more in ["", "unreadable ReplicaSet name=web"] {
        assert!(answer(more).starts_with(unknown), "{}", answer(more));
    }
    assert!(answer("lacking ReplicaSet").starts_with("move web-1"));
}

#[test]
fn work_that_ends_stays_unless_the_policy_allows_it() {
    for owner in ["Workflow", "TaskRun", "SparkApplication", "PyTorchJob", "MPIJob", "Pod"] {
        let pod = format!("owner={owner} runs-once");
        stays(&pod, &format!("its {owner} web may lose its work or fail without it"));
        moves(&pod, "evictable: {allow: [runsToCompletion]}");
    }
    stays("owner=RayCluster runs-once", "it runs to completion");
    stays("owner=PyTorchJob", "it runs to completion");
    let ray_job = "ray.io/originated-from-crd:RayJob";
    stays(&format!("owner=RayCluster labels={ray_job}"), "it runs to completion");
    moves("owner=CloneSet", "");
}

#[test]
fn work_that_ends_gets_no_advice_to_lower_the_replicas() {
    let cluster = Cluster::parse(
        "
        node n1 system=3
          step cpu=300m uses=2 owner=Workflow runs-once
          train cpu=300m uses=2 owner=Job backoff=0
        node n2
        node n3
        ",
    );
    let plan = cluster.plan(EVEN);
    assert_snapshot!(text(&plan), @"
    keep step-1 on n1: it runs to completion, and its Workflow step may lose its work or fail \
        without it
    keep train-1 on n1: its eviction would fail its Job train: its backoffLimit is 0, and 0 of its pods have failed or leave
    ");
    assert!(plan.replica_trial.is_none());
    assert!(plan.kept.iter().all(|kept| !kept.refusal.remedy().contains("minReplicas")));
}

#[test]
fn a_job_that_would_fail_keeps_its_pods() {
    moves("owner=Job runs-once", "");
    let fails = "its eviction would fail its Job web: ";
    for (pod, because) in [
        ("backoff=0", "its backoffLimit is 0, and 0 of its pods have failed or leave"),
        ("backoff=3 failed=3", "its backoffLimit is 3, and 3 of its pods have failed or leave"),
        (
            "per-index=0 index-failures=0 backoff=9",
            "the limit for each index is 0, and its index has failed 0 times",
        ),
        (
            "per-index=2 backoff=9",
            "the limit for each index is 2, and its index has failed an unknown number of times",
        ),
        ("evicted=fails-job", "a rule of its podFailurePolicy fails it"),
        ("evicted=fails-index", "a rule of its podFailurePolicy fails it"),
        ("deadline=20m age=1h", "its deadline is in 20m, and the pod has worked for 1h"),
        ("foreign", "another controller manages it"),
    ] {
        stays(&format!("owner=Job runs-once {pod}"), &format!("{fails}{because}"));
    }
}

#[test]
fn a_job_that_survives_lets_its_pods_go() {
    moves("owner=Job runs-once backoff=0 evicted=ignored", "");
    moves("owner=Job runs-once deadline=2h age=1h", "");
    moves("owner=Job runs-once per-index=1 index-failures=0 backoff=9", "");
}

#[test]
fn the_moves_of_one_plan_count_against_the_limit_of_a_job() {
    let plan = |job: &str| {
        let cluster = format!("node n1\n web*4 cpu=300m owner=Job runs-once {job}\nnode n2");
        Cluster::parse(&cluster).plan(EVERY_POD)
    };
    let moved = |job: &str| plan(job).moves.len();
    assert_eq!(moved("backoff=1"), 1);
    // None has failed yet.
    let why = "its backoffLimit is 1, and 1 of its pods has failed or leaves";
    assert!(text(&plan("backoff=1")).contains(why), "{}", text(&plan("backoff=1")));
    assert_eq!(moved("backoff=4 failed=2"), 2);
    assert!(moved("backoff=6") > 2);
    assert!(moved("backoff=0 evicted=ignored") > 2);
}

#[test]
fn a_pod_of_a_job_that_is_being_deleted_counts_once_also_if_it_counts_late() {
    let moves = |job: &str, last: &str| {
        let cluster = Cluster::parse(&format!(
            "
            node n1
              web*3 cpu=300m owner=Job runs-once {job}
              web cpu=300m owner=Job runs-once {job} {last}
            node n2
            "
        ));
        !cluster.plan(EVERY_POD).moves.is_empty()
    };
    // The failed pod may be the one that is being deleted, or another that is gone.
    assert!(moves("backoff=2 failed=1", "terminating"));
    assert!(!moves("backoff=2 failed=1 counts-late", "terminating"));
    assert!(moves("backoff=3 failed=1 counts-late", "terminating"));
    assert!(moves("backoff=2 failed=1 counts-late", "phase=Failed"));
    assert!(moves("backoff=2 failed=1 counts-late", "phase=Succeeded terminating"));
}

#[test]
fn a_job_that_is_not_known_is_unknown() {
    let mut cluster = hot("", "owner=Job runs-once");
    let web = ("default".to_owned(), "web".to_owned());
    cluster.objects.delete(ObjectKind::Job, &web);
    let plan = text(&cluster.plan(EVEN));
    assert!(
        plan.contains("keep web-1 on n1: its Job web does not exist or cannot be read"),
        "{plan}"
    );
}

#[test]
fn a_pod_that_has_no_node_although_one_fits_keeps_those_of_its_controller() {
    let plan = |pending: &str| {
        let cluster =
            format!("node n1 system=1\n web*4 cpu=1 uses=1\n {pending}\nnode n2\nnode n3");
        let policy = format!("limits: {{perWorkload: none, perNode: none}}\n{EVEN}");
        text(&Cluster::parse(&cluster).plan(&format!("safety: {{maxPending: 50%}}\n{policy}")))
    };
    let stays = "keep web-1 on n1: new pods of its ReplicaSet web do not start: web-5 has no node, \
                 although the forecast finds one for it";
    for pending in ["web cpu=1 pending", "web cpu=1 pending age=61s"] {
        assert!(plan(pending).starts_with(stays), "{}", plan(pending));
    }
    for other in [
        "web cpu=1 pending age=60s",
        "web cpu=9 pending",
        "web cpu=1 nominated=n2",
        "web cpu=1 gated",
        "other cpu=1 pending",
    ] {
        assert!(plan(other).contains("move web-"), "{other}: {}", plan(other));
    }
}

#[test]
fn a_controller_whose_newest_pod_does_not_start_keeps_the_others() {
    let plan = |newer: &str| {
        let cluster = format!(
            "node n1 system=1
              web*4 cpu=300m uses=1 age=2h
            node n2
              {newer}
            node n3"
        );
        let policy = format!("limits: {{perWorkload: none, perNode: none}}\n{EVEN}");
        text(&Cluster::parse(&cluster).plan(&policy))
    };
    for reason in ["ImagePullBackOff", "CreateContainerConfigError", "CrashLoopBackOff"] {
        let stays = plan(&format!("web cpu=300m creating=1h waits={reason}"));
        let why = format!("new pods of its ReplicaSet web do not start: web-5 waits with {reason}");
        assert!(stays.starts_with(&format!("keep web-1 on n1: {why}")), "{stays}");
    }
    // Pods of one rollout are created one after the other.
    let rollout = plan("web cpu=300m creating=120m30s waits=ErrImagePull");
    assert!(rollout.contains("web-5 waits with ErrImagePull"), "{rollout}");
    // Its container ended an hour ago, and the kubelet does not find the image any more.
    let lost = "web cpu=300m creating=9h waits=ErrImagePull condition=Ready:False::1h";
    assert!(plan(lost).contains("web-5 waits with ErrImagePull"), "{}", plan(lost));
    for newer in [
        "web cpu=300m creating=9m waits=ContainerCreating",
        // A pod that was created before, or after which another one has started, shows nothing.
        "web cpu=300m creating=122m waits=ErrImagePull",
        "web cpu=300m creating=120m30s waits=CrashLoopBackOff",
        "web cpu=300m creating=3h waits=CrashLoopBackOff",
        "web cpu=300m creating=1h waits=CrashLoopBackOff\n web cpu=300m uses=100m age=30m",
        "other cpu=300m creating=1h waits=CrashLoopBackOff",
    ] {
        assert!(plan(newer).contains("move web-"), "{newer}: {}", plan(newer));
    }
}

#[test]
fn a_controller_whose_newest_pod_does_not_become_ready_keeps_the_others() {
    let plan = |newer: &str, n2: &str| {
        let cluster = format!(
            "node n1 system=1
              web*4 cpu=300m uses=1 age=2h
              {newer}
            node n2 {n2}
            node n3"
        );
        let policy = format!("limits: {{perWorkload: none, perNode: none}}\n{EVEN}");
        text(&Cluster::parse(&cluster).plan(&policy))
    };
    let why = "new pods of its ReplicaSet web do not start: web-5 was not Ready within ten minutes";
    for newer in [
        "web creating=10m waits=ContainerCreating",
        "web age=1h unready",
        "web age=1h unready condition=Ready:False::59m",
        // It crashes, and runs between two back-offs.
        "web age=1h unready restarts=3 condition=Ready:False::1m",
        "web age=1h init-restarts=3 unready waits=PodInitializing condition=Ready:False::1m",
        // Another controller has to remove a scheduling gate that a webhook adds.
        "web age=1h gated",
    ] {
        let stays = plan(newer, "");
        assert!(stays.starts_with(&format!("keep web-1 on n1: {why}")), "{newer}: {stays}");
    }
    for newer in [
        "web age=9m unready",
        "web age=2h unready",
        "web age=1h unready condition=Ready:False::20m",
        "web age=1h unready\n web cpu=300m age=30m",
        "web age=9m gated",
    ] {
        assert!(plan(newer, "").contains("move web-"), "{newer}: {}", plan(newer, ""));
    }
}

#[test]
fn a_pod_on_a_node_that_fails_shows_nothing_about_its_template() {
    let plan = |n4: &str| {
        let cluster = format!(
            "node n1 system=1
              web*4 cpu=300m uses=1 age=2h
            node n2
            node n3
            node n4 {n4}
              web cpu=300m creating=1h waits=ErrImagePull"
        );
        text(&Cluster::parse(&cluster).plan(&format!("limits: {{perWorkload: none}}\n{EVEN}")))
    };
    assert!(plan("").contains("web-5 waits with ErrImagePull"), "{}", plan(""));
    assert!(plan("not-ready").starts_with("move web-1"), "{}", plan("not-ready"));
}

#[test]
fn a_template_that_names_a_node_brings_the_pod_back() {
    stays(
        "template-node=n1",
        "the template of its ReplicaSet web names node n1, so its replacement returns to it",
    );
    stays("owner=Job runs-once template-node=n1", "the template of its Job web names node n1");
    stays("owner=StatefulSet ordered template-node=n1", "StatefulSet web names node n1");
}

#[test]
fn a_stateful_set_with_a_newer_revision_would_not_bring_the_same_pod() {
    let set = "owner=StatefulSet parallel labels=controller-revision-hash:web-a";
    let why = "its StatefulSet web would replace it by revision web-b, which is not its own";
    stays(&format!("{set} newest=web-b"), why);
    moves(&format!("{set} newest=web-a"), "");
    // The partition of the rolling update is above the four pods, or below the last one.
    moves(&format!("{set} newest=web-b@5"), "");
    let plan = plan(&format!("{set} newest=web-b@4"), "");
    assert!(plan.contains("move web-1") && !plan.contains("move web-4"), "{plan}");
    let broken = life(&format!("node n1\n web*4 cpu=300m unready {set} newest=web-b\nnode n2"));
    assert!(broken.starts_with("move web-1"), "{broken}");
}

#[test]
fn a_template_with_scheduling_gates_keeps_the_pod() {
    stays(
        "template-gated",
        "the template of its ReplicaSet web has scheduling gates, so its replacement waits until \
         they are removed",
    );
}

#[test]
fn a_class_that_does_not_exist_any_more_refuses_the_replacement() {
    let class = |pod: &str, classes: &str| text(&hot(classes, pod).plan(EVEN));
    let missing = "its PriorityClass gone does not exist, so the API server would refuse its \
                   replacement";
    assert!(class("class=gone priority=5", "class other value=5").contains(missing));
    assert!(class("class=other priority=5", "class other value=5").starts_with("move web-"));
    assert!(class("class=gone priority=5", "").contains(missing));
    for unknown in ["lacking PriorityClass", "unreadable PriorityClass name=gone"] {
        let plan = class("class=gone priority=5", unknown);
        assert!(plan.starts_with("move web-"), "{unknown}: {plan}");
    }
}

#[test]
fn a_pod_without_a_resolved_priority_has_that_of_its_class() {
    let plan = |pod: &str, policy: &str| {
        let cluster = hot("class high value=1000000", pod);
        text(&cluster.plan(&format!("{policy}\n{EVEN}")))
    };
    let below = "evictable: {priorityBelow: 1000}";
    let high = plan("class=high", below);
    assert!(high.contains("its priority 1000000 is not below the threshold 1000"), "{high}");
    assert!(plan("class=high", "").starts_with("move web-"));
    let unknown = plan("class=absent", "evictable: {minPodAge: 0s}");
    assert!(unknown.contains("its priority is unknown"), "{unknown}");
    let system = plan("class=system-node-critical", "");
    assert!(system.contains("its priority is system-critical"), "{system}");
}

/// Plans for PodLifeTime, with a limit of a quarter of each workload.
fn life(cluster: &str) -> String {
    let limits = "limits: {perCycle: none, perNode: none, perMinute: none, perWorkload: 25%}";
    text(&Cluster::parse(cluster).plan(&format!("{limits}\n{EVERY_POD}")))
}

#[test]
fn replicas_that_are_away_for_any_reason_count_against_the_limit_of_a_workload() {
    let answer = |others: &str| {
        life(&format!(
            "
            node n2
              web*2 cpu=300m wanted=4
            node n3
            node n1 {others}
            "
        ))
    };
    let away = "2 pods are not Ready, being replaced or moved by this plan in its workload, and \
                the limit is 1";
    for others in [
        "not-ready\n web*2 cpu=300m wanted=4",
        "\n web*2 cpu=300m wanted=4 unready",
        "\n web*2 cpu=300m wanted=4 terminating",
        "",
    ] {
        let plan = answer(others);
        for serves in ["web-1", "web-2"] {
            let stays = format!("keep {serves} on n2: {away}");
            assert!(plan.contains(&stays), "{others}: {plan}");
        }
    }
    assert!(answer("\n web*2 cpu=300m wanted=4").contains("move web-1"));
}

#[test]
fn a_replica_on_a_node_that_does_not_answer_is_not_the_other_ready_one() {
    let answer = |node: &str| {
        let cluster = format!("node n1 {node}\n web cpu=300m\nnode n2\n web cpu=300m\nnode n3");
        text(&Cluster::parse(&cluster).plan(&format!("limits: {{perWorkload: none}}\n{EVERY_POD}")))
    };
    assert!(answer("").starts_with("move web-1"));
    let plan = answer("not-ready");
    assert!(plan.contains("keep web-2 on n2: 0 other replicas would be Ready"), "{plan}");
    // The object of a node is deleted before its pods are.
    let mut cluster = Cluster::parse("node n1\n web\nnode n2\n web\nnode n3");
    cluster.objects.delete(ObjectKind::Node, &(String::new(), "n1".to_owned()));
    let plan = text(&cluster.plan(EVERY_POD));
    assert!(plan.contains("keep web-2 on n2: 0 other replicas would be Ready"), "{plan}");
}

#[test]
fn a_replica_on_a_node_that_is_being_removed_does_not_stay() {
    let plan = |node: &str, others: u32, limit: &str| {
        let cluster =
            format!("node n1 {node}\n web cpu=300m\nnode n2\n web*{others} cpu=300m\nnode n3");
        text(&Cluster::parse(&cluster).plan(&format!("limits: {{{limit}}}\n{EVERY_POD}")))
    };
    let last = "keep web-2 on n2: 0 other replicas would be Ready";
    let away = "keep web-2 on n2: 1 pod is not Ready, being replaced or moved by this plan";
    for going in ["closed=Deleting", "taint=karpenter.sh/disrupted:NoSchedule"] {
        let alone = plan(going, 1, "perWorkload: none");
        assert!(alone.contains(last), "{alone}");
        let limited = plan(going, 3, "perWorkload: 1");
        assert!(limited.contains(away), "{limited}");
    }
    // The replicas that end in any case may go first.
    let taint = "taint=karpenter.sh/disrupted:NoSchedule";
    assert!(plan(taint, 3, "perWorkload: 1").starts_with("move web-1"));
    let all = Cluster::parse(&format!("node n1 {taint}\n web*4 cpu=300m\nnode n2\nnode n3"));
    assert!(text(&all.plan(EVERY_POD)).starts_with("move web-1"));
    assert!(plan("cordoned", 1, "perWorkload: none").starts_with("move web-1"));
}

#[test]
fn no_replacement_is_sent_to_a_node_that_is_not_ready() {
    // The taints of the node controller stand in the way only of pods that do not tolerate them.
    let unreachable = "node.kubernetes.io/unreachable";
    let answer = |taint: &str| {
        life(&format!(
            "
            node n1
              web*4 cpu=300m tolerates={unreachable}:NoSchedule
            node n2 cpu=1
            node n3 {taint}
            "
        ))
    };
    assert!(answer("").contains("move web-1"));
    let plan = answer(&format!("not-ready taint={unreachable}:NoSchedule"));
    assert!(!plan.contains("move "), "{plan}");
    assert!(plan.contains("could land on n3, which is not Ready"), "{plan}");
}

#[test]
fn a_pod_that_does_not_serve_may_still_leave() {
    let plan = life("node n1\n web*4 cpu=300m unready\nnode n2");
    assert!(plan.starts_with("move web-1"), "{plan}");
}

#[test]
fn a_stateful_set_that_waits_for_a_lower_ordinal_creates_nothing() {
    let answer = |first: &str, kind: &str| {
        let set = if kind.contains("owner=") { "" } else { "owner=StatefulSet" };
        life(&format!(
            "
            lacking StatefulSet
            node n1
              db cpu=300m {set} {kind} {first}
            node n2
              db*3 cpu=300m {set} {kind}
            node n3
            "
        ))
    };
    let waits = "its StatefulSet starts pods in order, and db-1 is not Ready";
    assert!(answer("unready", "no-object").contains(waits));
    // That of OpenKruise numbers and orders its pods in the same way.
    assert!(answer("unready", "owner=apps.kruise.io/StatefulSet").contains(waits));
    assert!(answer("terminating", "ordered").contains(waits));
    assert!(!answer("", "ordered").contains(waits));
}

#[test]
fn a_stateful_set_of_which_a_pod_does_not_end_keeps_the_others() {
    let answer = |pod: &str, n2: &str| {
        life(&format!(
            "
            node n1
              db*3 cpu=300m owner=StatefulSet parallel
            node n2 {n2}
              db cpu=300m owner=StatefulSet parallel {pod}
            node n3
            "
        ))
    };
    let hangs = "new pods of its StatefulSet db do not start: db-4 should have ended more than \
                 ten minutes ago";
    assert_eq!(answer("ends=-11m", "").matches(hangs).count(), 3);
    for (pod, n2) in [("ends=-9m", ""), ("ends=-11m", "not-ready")] {
        assert!(!answer(pod, n2).contains(hangs), "{pod} {n2}");
    }
}

#[test]
fn an_ordered_stateful_set_waits_for_min_ready_seconds() {
    let answer = |min_ready: &str, age: &str| {
        let ready = format!("condition=Ready:True::{age}");
        life(&format!(
            "
            node n1
              db cpu=300m owner=StatefulSet ordered min-ready={min_ready} {ready}
            node n2
              db*3 cpu=300m owner=StatefulSet ordered min-ready={min_ready} condition=Ready:True::3h
            node n3
            "
        ))
    };
    let waits = "its StatefulSet starts pods in order, and db-1 has been Ready for less than \
                 minReadySeconds";
    assert_eq!(answer("1h", "30s").matches(waits).count(), 3);
    assert!(!answer("1h", "2h").contains(waits));
    assert!(!answer("0s", "30s").contains(waits));
}

#[test]
fn a_plan_moves_one_pod_of_an_ordered_stateful_set() {
    let answer = |policy: &str| {
        let pods = format!("web*4 cpu=300m owner=StatefulSet {policy}");
        let cluster = Cluster::parse(&format!("node n1\n {pods}\nnode n2\nnode n3"));
        text(&cluster.plan(EVERY_POD))
    };
    let ordered = answer("ordered");
    assert_eq!(ordered.matches("move web-").count(), 1, "{ordered}");
    let waits = "its StatefulSet starts pods in order, and web-1 moves before it";
    assert_eq!(ordered.matches(waits).count(), 3, "{ordered}");
    assert!(answer("parallel").matches("move web-").count() > 1);
}

#[test]
fn other_pods_of_a_hot_node_do_not_wait_for_an_ordered_stateful_set() {
    let cluster = Cluster::parse(
        "
        node n1
          db*3 cpu=300m uses=1 owner=StatefulSet ordered
          web*4 cpu=300m uses=1
        node n2
        node n3
        node n4
        ",
    );
    let plan = text(&cluster.plan(&format!("limits: {{perWorkload: none}}\n{EVEN}")));
    assert_eq!(plan.matches("move db-").count(), 1, "{plan}");
    assert!(plan.matches("move web-").count() >= 2, "{plan}");
}

#[test]
fn a_stateful_set_creates_only_the_pods_of_its_ordinals() {
    for policy in ["parallel", "ordered"] {
        // As while a set is moved to another cluster, pod by pod.
        stays(
            &format!("owner=StatefulSet {policy} wanted=4 ordinals=10"),
            "its StatefulSet web creates no replacement: it wants only the ordinals 10 to 13",
        );
    }
    moves("owner=StatefulSet parallel wanted=4", "");
    // The set has four pods, but one of them instead of web-3.
    let pods = "node n1
 web*5 cpu=300m owner=StatefulSet parallel wanted=4
node n2";
    let mut cluster = Cluster::parse(pods);
    let third = ("default".to_owned(), "web-3".to_owned());
    cluster.objects.delete(ObjectKind::Pod, &third);
    let plan = text(&cluster.plan(EVERY_POD));
    assert!(plan.contains("move web-4"), "{plan}");
    assert!(plan.contains("keep web-5 on n1: its StatefulSet web creates no"), "{plan}");
    // While it is scaled down, it creates a missing pod of its ordinals all the same. One that is
    // not Ready would keep it from ending the others.
    let plan = text(&Cluster::parse(pods).plan(EVERY_POD));
    assert!(plan.contains("move web-4"), "{plan}");
    assert!(plan.contains("keep web-5 on n1: its StatefulSet web creates no"), "{plan}");
}

#[test]
fn a_new_ephemeral_volume_gets_the_class_of_its_template_or_the_default_of_today() {
    let answer =
        |class: &str, classes: &str| text(&hot(classes, &format!("ephemeral={class}")).plan(EVEN));
    let anywhere = "its replacement needs a new volume for claim web-1-scratch, which may be \
                    provisioned anywhere";
    let old = "storage-class a driver=ebs default created=2026-01-01T00:00:00Z";
    let new = "storage-class b driver=ebs immediate default created=2026-02-01T00:00:00Z";
    assert!(answer("?", old).starts_with("move web-1"));
    assert!(answer("?", &format!("{old}\n{new}")).contains(anywhere));
    assert!(answer("a", &format!("{old}\n{new}")).starts_with("move web-1"));
    // Neither the default class nor any other provisions it.
    assert!(answer("-", old).contains(anywhere));
}

/// The claim of the running pod was bound while its class existed.
#[test]
fn a_new_ephemeral_volume_of_a_class_that_does_not_exist_is_never_provisioned() {
    let stays = |class: &str, why: &str| {
        let pod = format!("ephemeral={class}");
        let classes = "storage-class c driver=ebs";
        for (pod, policy) in [
            (pod.clone(), ""),
            (pod.clone(), "evictable: {allow: [newVolumes]}\n"),
            (format!("{pod} evict=true"), ""),
        ] {
            let plan = text(&hot(classes, &pod).plan(&format!("{policy}{EVEN}")));
            let claim = "its PersistentVolumeClaim web-1-scratch";
            let expected = format!("keep web-1 on n1: {claim} {why}, so its replacement could");
            assert!(plan.starts_with(&expected), "{pod}, {policy}: {plan}");
        }
    };
    stays("gone", "names StorageClass gone, which does not exist");
    stays("?", "names no StorageClass, and none is the default");
    let plan = text(&hot("storage-class c driver=ebs", "ephemeral=c").plan(EVEN));
    assert!(plan.starts_with("move web-1"), "{plan}");
}

/// The other pod would get the claim when this one ends, and the replacement would wait.
#[test]
fn a_pod_keeps_the_claim_for_one_pod_that_another_one_awaits() {
    let answer = |waits: &str| {
        let cluster = Cluster::parse(&format!(
            "
            node n1 system=2
              web cpu=100m uses=3 shares=ebs one-pod
              idle*4 cpu=500m uses=0
            node n2
            node n3
              {waits}
            "
        ));
        text(&cluster.plan(&format!("evictable: {{minReplicas: 1}}\n{EVEN}")))
    };
    assert!(answer("").starts_with("move web-1"), "{}", answer(""));
    let waits = answer("new cpu=100m pending shares=ebs one-pod");
    let why = "keep web-1 on n1: its PersistentVolumeClaim shared can be used";
    assert!(waits.starts_with(why), "{waits}");
}

#[test]
fn a_pod_of_a_node_is_a_mirror_pod_also_without_the_annotation() {
    stays("owner=Node", "mirror pod: the kubelet would recreate it");
    stays("owner=Node evict=true", "mirror pod: the kubelet would recreate it");
}

#[test]
fn the_annotation_of_a_pod_overrides_what_only_its_owner_loses() {
    moves("evict=true owner=Workflow runs-once", "");
    moves("evict=true owner=Job runs-once backoff=0", "");
    stays("evict=true template-node=n1", "names node n1");
}

#[test]
fn the_exact_mode_asks_for_no_replacement() {
    let policy = parse(EVERY_POD).exactly();
    let cluster = Cluster::parse("node n1\n web*4 cpu=300m owner=Job runs-once backoff=0\nnode n2");
    let plan = text(&cluster.plan_by(policy));
    assert_eq!(plan.matches("move web-").count(), 4, "{plan}");
}

#[test]
fn explain_lists_every_rule_of_the_gate() {
    let cluster = Cluster::parse("node n1\n web*2 cpu=300m owner=Job runs-once backoff=0\nnode n2");
    let (engine, snapshot) = cluster.seen(parse(EVEN), Ledger::default());
    let subject = Subject::Pod("web-1".to_owned());
    let Explanation::Pod(pod) = engine.explain(&snapshot, &subject, noon()).unwrap() else {
        panic!("a pod")
    };
    let rules = pod.gates.unwrap().replacement;
    let lines = rules.iter().map(|verdict| {
        let code = verdict.refusal.as_ref().map_or("admits", |why| why.code);
        format!("{}: {code}", verdict.rule)
    });
    assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @"
    controller: admits
    namespace: admits
    completion: admits
    job: job-would-fail
    order: admits
    start: admits
    priority-class: admits
    template: admits
    known: admits
    claims: admits
    new-volumes: admits
    local-volumes: admits
    shared-volumes: admits
    ");
}

/// Random clusters with controllers that are gone or end, and nodes that are down.
fn broken_clusters() -> impl Strategy<Value = String> {
    const PODS: [&str; 16] = [
        "no-controller",
        "bare",
        "owner-deleting",
        "wanted=1",
        "wanted=9",
        "template-node=n0",
        "class=gone priority=5",
        "class=absent",
        "owner=Workflow runs-once",
        "owner=Job runs-once backoff=0",
        "owner=Job runs-once backoff=2 failed=1",
        "owner=Job runs-once backoff=1 evicted=ignored",
        "owner=Job runs-once deadline=30m",
        "owner=StatefulSet unready",
        "terminating",
        "no-metrics",
    ];
    const NODES: [&str; 4] = ["cordoned", "not-ready", "no-metrics", "taint=a:NoSchedule"];
    random_cluster::clusters((6, 4), &PODS, &NODES)
        .prop_map(|cluster| format!("class other value=7\n{cluster}"))
}

/// Whether a controller still creates a pod for each moved pod, counted in another way.
fn replaced(snapshot: &Snapshot, plan: &Plan) -> Result<(), String> {
    let mut lost: BTreeMap<(String, Owner), u32> = BTreeMap::new();
    for planned in &plan.moves {
        let pod = snapshot.pod(snapshot.find_pod(&planned.namespace, &planned.pod).unwrap());
        let name = || format!("{}/{}", planned.namespace, planned.pod);
        let owner = pod.owners.iter().find(|owner| owner.controller).ok_or_else(name)?;
        let facts = snapshot.controller_facts(&pod.namespace, owner);
        let facts = facts.cloned().unwrap_or_default();
        let count = lost.entry((pod.namespace.clone(), owner.clone())).or_default();
        *count += 1;
        let class = pod.priority_class.as_deref();
        let starts = !facts.deleting
            && facts.node.is_none()
            && class.is_none_or(|class| class == "other")
            && (!pod.runs_once || owner.kind == "Job");
        let survives = facts.job.is_none_or(|job| {
            job.when_evicted == WhenEvicted::Ignored || job.failed + *count <= job.backoff_limit
        });
        let of_owner = snapshot.pods.iter().filter(|other| {
            other.namespace == pod.namespace && other.owners == pod.owners && other.stays()
        });
        let wants = facts.wanted.is_none_or(|n| usize::try_from(n).unwrap() >= of_owner.count());
        let node = planned.to.as_deref().and_then(|to| snapshot.find_node(to)).ok_or_else(name)?;
        let node = snapshot.node(node);
        if !(starts && survives && wants && node.ready && node.closures.is_empty()) {
            return Err(name());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn no_plan_moves_a_pod_that_is_not_replaced(cluster in broken_clusters()) {
        for policy in [EVEN, EVERY_POD] {
            let cluster = Cluster::parse(&cluster);
            let plan = cluster.plan(policy);
            let outcome = replaced(&cluster.snapshot(&parse(policy)), &plan);
            prop_assert_eq!(outcome, Ok(()), "{}", text(&plan));
        }
    }
}
