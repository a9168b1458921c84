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

/// The object of a node is deleted before its pods are.
#[test]
fn a_replica_on_a_node_that_is_gone_is_not_the_other_ready_one() {
    let mut cluster = Cluster::parse("node n1\n web\nnode n2\n web\nnode n3");
    cluster.objects.delete(ObjectKind::Node, &(String::new(), "n1".to_owned()));
    let plan = text(&cluster.plan(EVERY_POD));
    assert!(plan.contains("keep web-2 on n2: 0 other replicas would be Ready"), "{plan}");
}

/// The set has four pods that stay, but one of them instead of web-3.
#[test]
fn a_stateful_set_creates_only_the_pods_of_its_ordinals() {
    let set = "cpu=300m owner=StatefulSet parallel wanted=4";
    let cluster = format!("node n1\n web*2 {set}\n web {set} terminating\n web*2 {set}\nnode n2");
    let cluster = Cluster::parse(&cluster);
    let plan = text(&cluster.plan(EVERY_POD));
    assert!(plan.contains("move web-4"), "{plan}");
    assert!(plan.contains("keep web-5 on n1: its StatefulSet web creates no"), "{plan}");
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
