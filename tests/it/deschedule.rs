//! Strategies that judge every pod by itself: for each argument a pod that it covers and one that
//! it does not.

use std::fmt::Write as _;

use evenkeel::model::plan::Plan;
use evenkeel::model::snapshot::facts::PodPhase;
use evenkeel::model::snapshot::{Pod, Snapshot};
use evenkeel::policy::{Policy, PriorityThreshold};
use evenkeel::values::selector::Selector;
use jiff::SignedDuration;
use proptest::prelude::*;

use crate::it::support::{Cluster, cases, noon, only, text};

const RESTARTS: &str = "{removePodsHavingTooManyRestarts: {podRestartThreshold: 100}}";
const PENDING: &str = "{podLifeTime: {states: [Pending]}}";
const FAILED: &str = "removeFailedPods";
const TAINTS: &str = "removePodsViolatingNodeTaints";
const APART: &str = "removePodsViolatingInterPodAntiAffinity";

/// RemovePodsViolatingNodeAffinity with these arguments; `required` and `preferred` are the kinds.
fn affinity(arguments: &str) -> Policy {
    let during = |kind: &str| format!("{kind}DuringSchedulingIgnoredDuringExecution");
    let arguments = arguments
        .replace("required", &during("required"))
        .replace("preferred", &during("preferred"));
    only(&format!("{{removePodsViolatingNodeAffinity: {{{arguments}}}}}"))
}

const REQUIRED: &str = "nodeAffinityType: [required]";
const PREFERRED: &str = "nodeAffinityType: [preferred]";

fn said(cluster: &str, policy: Policy) -> String {
    text(&Cluster::parse(cluster).plan_by(policy))
}

/// The names of the moved pods, in order. Fails if a pod is refused.
fn moved(cluster: &str, policy: Policy) -> String {
    let plan = Cluster::parse(cluster).plan_by(policy);
    assert!(plan.kept.is_empty() && plan.halted.is_none(), "{}", text(&plan));
    pods_of(&plan)
}

/// The names of the moved pods, in order. Other pods may be refused.
fn moved_among_others(cluster: &str, policy: Policy) -> String {
    pods_of(&Cluster::parse(cluster).plan_by(policy))
}

fn pods_of(plan: &Plan) -> String {
    let pods: Vec<&str> = plan.moves.iter().map(|m| m.pod.as_str()).collect();
    pods.join(" ")
}

/// Applies a strategy with each of these arguments to a node with these pods and an empty node.
fn each(strategy: &str, pods: &str, cases: &[(&str, &str)]) {
    let cluster = format!("node n1\n{pods}\nnode n2");
    for (arguments, expected) in cases {
        let policy = only(&format!("{{{strategy}: {{{arguments}}}}}"));
        assert_eq!(moved(&cluster, policy), *expected, "{arguments}");
    }
}

const LIMPING: &str = "
    few restarts=99
    many restarts=100
    most restarts=300 waits=CrashLoopBackOff
    both restarts=60 init-restarts=60 init-waits=CrashLoopBackOff
    other restarts=150 namespace=other labels=tier:db
    dead restarts=200 phase=Failed
";

#[test]
fn too_many_restarts() {
    each(
        "removePodsHavingTooManyRestarts",
        LIMPING,
        &[
            ("podRestartThreshold: 100", "most-1 dead-1 other-1 many-1"),
            ("podRestartThreshold: 201", "most-1"),
            (
                "podRestartThreshold: 100, includingInitContainers: true",
                "most-1 dead-1 other-1 both-1 many-1",
            ),
            ("podRestartThreshold: 100, states: [CrashLoopBackOff]", "most-1"),
            ("podRestartThreshold: 100, states: [Running]", "most-1 other-1 many-1"),
            (
                "podRestartThreshold: 100, states: [CrashLoopBackOff], includingInitContainers: true",
                "most-1 both-1",
            ),
            ("podRestartThreshold: 100, namespaces: {include: [other]}", "other-1"),
            ("podRestartThreshold: 100, namespaces: {exclude: [other]}", "most-1 dead-1 many-1"),
            ("podRestartThreshold: 100, labelSelector: tier=db", "other-1"),
        ],
    );
    let plan = said(&format!("node n1\n{LIMPING}\nnode n2"), only(RESTARTS));
    assert!(
        plan.starts_with("move most-1 from n1 to n2: restarted 300 times, and the limit is 100"),
        "{plan}"
    );
}

const AGEING: &str = "
    old age=192h
    older age=195h namespace=other
    exact age=168h
    young age=1h waits=ImagePullBackOff
    unborn age=-1h
    sick age=2h exits=OOMKilled:137 condition=Ready:False:NotServing:30m
    init age=3h init-exits=Error:2 init-waits=PodInitializing
    look age=4h ephemeral-waits=ErrImagePull ephemeral-exits=Error:3
    gone age=5h phase=Failed reason=Evicted owner=Job
    done age=6h phase=Succeeded owner=Job
    vague age=1h condition=Ready:False::
";

#[test]
fn pod_life_time() {
    each(
        "podLifeTime",
        AGEING,
        &[
            ("maxPodLifeTimeSeconds: 604800", "older-1 old-1"),
            ("maxPodLifeTimeSeconds: 604800, namespaces: {include: [other]}", "older-1"),
            ("maxPodLifeTimeSeconds: 604800, states: [Failed]", ""),
            ("states: [Evicted]", "gone-1"),
            ("states: [Succeeded, Failed]", "done-1 gone-1"),
            ("states: [ImagePullBackOff, OOMKilled]", "sick-1 young-1"),
            ("states: [PodInitializing, ErrImagePull]", ""),
            ("states: [PodInitializing], includingInitContainers: true", "init-1"),
            ("states: [ErrImagePull], includingEphemeralContainers: true", "look-1"),
            ("exitCodes: [137]", "sick-1"),
            ("exitCodes: [2]", ""),
            ("exitCodes: [2], includingInitContainers: true", "init-1"),
            ("exitCodes: [3], includingEphemeralContainers: true", ""),
            ("states: [Failed, Running], ownerKinds: {include: [Job]}", "gone-1"),
            ("states: [Failed, Running], ownerKinds: {exclude: [ReplicaSet]}", "gone-1"),
            ("conditions: [{type: Ready, status: 'False'}]", "sick-1 vague-1"),
            ("conditions: [{type: Ready, status: 'True'}]", ""),
            ("conditions: [{reason: NotServing}]", "sick-1"),
            ("conditions: [{minTimeSinceLastTransitionSeconds: 1800}]", "sick-1"),
            ("conditions: [{minTimeSinceLastTransitionSeconds: 1860}]", ""),
        ],
    );
}

#[test]
fn the_reason_names_every_condition_of_the_policy() {
    let rule = "{podLifeTime: {maxPodLifeTimeSeconds: 3600, exitCodes: [137],
        ownerKinds: {include: [ReplicaSet]}}}";
    let plan = said(&format!("node n1\n{AGEING}\nnode n2"), only(rule));
    insta::assert_snapshot!(
        plan,
        @"move sick-1 from n1 to n2: is 2h old, older than 1h, has a container that ended with exit \
          code 137 and belongs to a ReplicaSet"
    );
}

/// As in a file whose metadata is stripped.
#[test]
fn a_pod_of_unknown_age_is_not_old() {
    let cluster = "node n1\n web*2 no-age\n gone no-age phase=Failed\nnode n2";
    assert_eq!(moved(cluster, only("{podLifeTime: {maxPodLifeTimeSeconds: 3600}}")), "");
    assert_eq!(moved(cluster, only(FAILED)), "");
    assert_eq!(moved(cluster, only("{removeFailedPods: {minPodLifetimeSeconds: 0}}")), "gone-1");
}

#[test]
fn the_oldest_pods_go_first_on_all_nodes_together() {
    let cluster = "
        node n1
          b age=9h
          d age=3h
        node n2
          a age=12h
          c age=6h
    ";
    let mut policy = only("{podLifeTime: {maxPodLifeTimeSeconds: 3600}}");
    assert_eq!(moved(cluster, policy.clone()), "a-1 b-1 c-1 d-1");
    // A node at its limit is skipped. The other nodes are not affected.
    policy.limits.per_node = Some(1);
    assert_eq!(
        said(cluster, policy).lines().map(|l| l.split(':').next().unwrap()).collect::<Vec<_>>(),
        ["move a-1 from n2 to n1", "move b-1 from n1 to n2", "keep c-1 on n2", "keep d-1 on n1"]
    );
}

const FALLEN: &str = "
    runs age=2h
    evicted age=2h phase=Failed reason=Evicted
    fresh age=59m phase=Failed
    job age=2h phase=Failed owner=Job exits=Error:1
    init age=2h phase=Failed init-exits=StartError:128
    other age=2h phase=Failed waits=CreateContainerError namespace=other
";

#[test]
fn failed_pods() {
    each(
        "removeFailedPods",
        FALLEN,
        &[
            ("", "evicted-1 init-1 job-1 other-1"),
            ("minPodLifetimeSeconds: 0", "evicted-1 fresh-1 init-1 job-1 other-1"),
            ("reasons: [Evicted]", "evicted-1"),
            ("reasons: [Error, CreateContainerError]", "job-1 other-1"),
            ("reasons: [StartError]", ""),
            ("reasons: [StartError], includingInitContainers: true", "init-1"),
            ("exitCodes: [1]", "job-1"),
            ("exitCodes: [128]", ""),
            ("exitCodes: [128], includingInitContainers: true", "init-1"),
            ("exitCodes: [1], reasons: [Evicted]", ""),
            ("excludeOwnerKinds: [Job]", "evicted-1 init-1 other-1"),
            ("namespaces: {include: [other]}", "other-1"),
        ],
    );
}

#[test]
fn a_finished_pod_needs_no_room_no_budget_and_no_siblings() {
    let cluster = "
        node n1 cpu=1
          web cpu=1 phase=Failed age=2h
          web cpu=100m phase=Failed age=2h
        node n2 cpu=100m
        budget web allows=0
    ";
    let mut policy = only(FAILED);
    let evictable = &mut policy.profiles[0].evictable;
    (evictable.min_replicas, evictable.node_fit) = (2, true);
    policy.limits.per_workload = Some(evenkeel::policy::Share::Count(1));
    let plan = Cluster::parse(cluster).plan_by(policy.clone());
    insta::assert_snapshot!(text(&plan), @r"
    move web-1 from n1 to ?: has failed
    move web-2 from n1 to ?: has failed
    ");
    assert_eq!(plan.before, plan.after);
    // Descheduler still requires room for it, and a node without unreadable objects.
    insta::assert_snapshot!(said(cluster, policy.exactly()), @r"
    move web-2 from n1 to ?: has failed
    keep web-1 on n1: no other node can take it: 1 is short of cpu by requests
    ");
}

#[test]
fn a_failed_bare_pod_goes_if_the_policy_allows_it() {
    let cluster = "node n1\n lone bare phase=Failed age=2h\nnode n2";
    let mut policy = only(FAILED);
    assert_eq!(said(cluster, policy.clone()), "keep lone-1 on n1: no controller would recreate it");
    policy.profiles[0].evictable.protected.failed_bare = false;
    assert_eq!(moved(cluster, policy), "lone-1");
}

#[test]
fn node_taints() {
    let cluster = "
        node n1 taint=dedicated=db:NoSchedule,soft:PreferNoSchedule,out:NoExecute
          web
          db tolerates=dedicated=db:NoSchedule
          done phase=Succeeded
          other namespace=other
        node n2
    ";
    for (arguments, expected) in [
        ("", "web-1 other-1"),
        ("includePreferNoSchedule: true", "db-1 web-1 other-1"),
        ("excludedTaints: [dedicated]", ""),
        ("excludedTaints: [dedicated=db]", ""),
        ("excludedTaints: [dedicated=web, out]", "web-1 other-1"),
        ("includedTaints: [dedicated=db]", "web-1 other-1"),
        ("includedTaints: [soft]", ""),
        ("includedTaints: [soft], includePreferNoSchedule: true", "db-1 web-1 other-1"),
        ("includedTaints: []", ""),
        ("namespaces: {exclude: [other]}", "web-1"),
    ] {
        let policy = only(&format!("{{removePodsViolatingNodeTaints: {{{arguments}}}}}"));
        assert_eq!(moved(cluster, policy), expected, "{arguments}");
    }
    insta::assert_snapshot!(said(cluster, only(TAINTS)), @r"
    move web-1 from n1 to n2: does not tolerate the taint dedicated=db:NoSchedule of its node
    move other-1 from n1 to n2: does not tolerate the taint dedicated=db:NoSchedule of its node
    ");
}

#[test]
fn only_ready_and_selected_nodes_are_looked_at() {
    let cluster = "
        node n1 taint=a:NoSchedule labels=pool:x
          web
        node n2 taint=a:NoSchedule labels=pool:x not-ready
          web
        node n3 taint=a:NoSchedule labels=pool:y
          web
        node n4 taint=a:NoSchedule labels=pool:x cordoned
          web
        node n5 labels=pool:x
    ";
    let mut policy = only(TAINTS);
    assert_eq!(moved(cluster, policy.clone()), "web-1 web-3 web-4");
    policy.node_selector = Selector::parse("pool=x").ok();
    assert_eq!(moved(cluster, policy), "web-1 web-4");
}

#[test]
fn node_fit_requires_room_and_counts_earlier_moves() {
    let cluster = "
        node n1 taint=a:NoSchedule
          web*2 cpu=1
        node n2 cpu=1500m labels=pool:x
        node n3 cpu=1500m taint=a:NoSchedule
    ";
    let mut policy = only(TAINTS);
    policy.profiles[0].evictable.node_fit = true;
    insta::assert_snapshot!(said(cluster, policy.clone()), @r"
    move web-1 from n1 to n2: does not tolerate the taint a:NoSchedule of its node
    keep web-2 on n1: no other node can take it: 1 is tainted, 1 is short of cpu by requests
    ");
    policy.profiles[0].evictable.destinations = Selector::parse("pool=y").ok();
    insta::assert_snapshot!(said(cluster, policy.clone()), @r"
    keep web-1 on n1: its replacement could land on n2, which the policy excludes as a destination
    keep web-2 on n1: its replacement could land on n2, which the policy excludes as a destination
    ");
    // Descheduler checks each pod without regard to earlier evictions.
    policy.profiles[0].evictable.destinations = None;
    assert_eq!(moved(cluster, policy.exactly()), "web-1 web-2");
}

#[test]
fn required_node_affinity() {
    let cluster = "
        node n1 labels=disk:hdd
          here requires=disk:hdd
          moved requires=disk:ssd
          nowhere requires=disk:tape
          selector on=disk:ssd
          other requires=disk:ssd namespace=other
        node n2 labels=disk:ssd
    ";
    insta::assert_snapshot!(said(cluster, affinity(REQUIRED)), @r"
    move moved-1 from n1 to n2: its node affinity no longer matches its node
    move other-1 from n1 to n2: its node affinity no longer matches its node
    keep nowhere-1 on n1: no other node can take it: 1 is not matching its node affinity
    ");
    assert_eq!(said(cluster, affinity(PREFERRED)), "");
    let scoped = format!("{REQUIRED}, namespaces: {{include: [other]}}");
    assert_eq!(moved(cluster, affinity(&scoped)), "other-1");
}

#[test]
fn a_preferred_node_counts_only_if_it_has_room() {
    let cluster = |room: &str| {
        format!(
            "
            node n1 labels=disk:hdd
              web cpu=1 prefers=disk:ssd*60
              idle cpu=1
            node n2 labels=disk:ssd {room}
            node n3
            "
        )
    };
    let preferred = || affinity(PREFERRED);
    insta::assert_snapshot!(
        said(&cluster(""), preferred()),
        @"move web-1 from n1 to n2: its preferred node affinity gives its node the weight 0 and \
          another 60"
    );
    let full = "keep web-1 on n1: no other node can take it: 1 is short of cpu by requests";
    let elsewhere = "keep web-1 on n1: its replacement could land on n3, where the move would improve nothing: \
         n3 is no better by its preferred node affinity";
    assert_eq!(said(&cluster("cpu=500m"), preferred()), elsewhere);
    // The exact mode does not move it either, because it would be evicted again and again.
    assert_eq!(said(&cluster("cpu=500m"), preferred().exactly()), full);
    assert_eq!(said(&cluster(""), affinity(REQUIRED)), "");
    assert_eq!(
        said(
            "node n1 labels=disk:ssd\n web prefers=disk:ssd*1\nnode n2 labels=disk:ssd",
            preferred()
        ),
        ""
    );
}

#[test]
fn a_pod_that_violates_several_rules_is_moved_once() {
    let cluster = "
        node n1
          web requires=disk:ssd prefers=disk:ssd*5
          full cpu=99 requires=disk:ssd prefers=disk:ssd*5
        node n2 labels=disk:ssd
    ";
    let plan = said(cluster, affinity("nodeAffinityType: [preferred, required]"));
    assert_eq!(plan.lines().count(), 2, "{plan}");
    // A second strategy does not select a pod that is already to be moved.
    let mut policy = affinity(REQUIRED);
    policy.strategies.push(policy.strategies[0].clone());
    assert_eq!(said(cluster, policy).matches("web-1").count(), 1);
}

#[test]
fn one_of_two_pods_that_avoid_each_other_goes() {
    let rule = || only(APART);
    let cluster = "
        node n1
          web priority=5 anti-affinity=web
          web priority=1 anti-affinity=web
          web anti-affinity=web
        node n2
        node n3
    ";
    insta::assert_snapshot!(said(cluster, rule()), @"
    move web-3 from n1 to n2: its required anti-affinity forbids default/web-1 in the same \
        kubernetes.io/hostname
    move web-2 from n1 to n3: its required anti-affinity forbids default/web-1 in the same \
        kubernetes.io/hostname
    ");
    // Of pods on different nodes, too, the less important one goes.
    let zone = "
        node n1 labels=zone:a
          web priority=5 anti-affinity=web@zone
        node n2 labels=zone:a
          web anti-affinity=web@zone
        node n3 labels=zone:b
    ";
    assert_eq!(moved(zone, rule()), "web-2");
    // A pod that may not be evicted is still a neighbour. A pod without the rule is never selected.
    let cluster = "
        node n1
          web bare anti-affinity=web
          web priority=1 anti-affinity=web
          api priority=-5 anti-affinity=none
        node n2
    ";
    insta::assert_snapshot!(said(cluster, rule()), @"
    move web-2 from n1 to n2: its required anti-affinity forbids default/web-1 in the same \
        kubernetes.io/hostname
    keep web-1 on n1: no controller would recreate it
    ");
}

#[test]
fn neighbours_are_matched_by_domain_label_and_namespace() {
    let rule = || only(APART);
    let zones = |zone: &str| {
        format!(
            "
            node n1 labels=zone:a
              web anti-affinity=db@zone
            node n2 labels=zone:{zone}
              db
            "
        )
    };
    assert_eq!(moved(&zones("a"), rule()), "web-1");
    assert_eq!(moved(&zones("b"), rule()), "");
    let namespaces = |word: &str| {
        format!(
            "
            namespace other labels=team:a
            namespace third
            namespace default
            node n1
              web {word}
              web namespace=other
              web namespace=third
            node n2
            "
        )
    };
    // The pod with the same name in another namespace is another pod. It counts if the rule
    // includes that namespace.
    assert_eq!(moved(&namespaces("anti-affinity=web"), rule()), "");
    assert_eq!(moved(&namespaces("anti-affinity=web avoids-in=team:a"), rule()), "web-1");
    assert_eq!(moved(&namespaces("anti-affinity=web avoids-in=team:b"), rule()), "");
    // Descheduler counts a terminating neighbour, and a node as one domain with itself even without
    // the label.
    for cluster in [
        "node n1\n web anti-affinity=db\n db terminating\nnode n2",
        "node n1\n web anti-affinity=db@zone\n db\nnode n2",
    ] {
        assert_eq!(moved(cluster, rule()), "");
        assert_eq!(moved(cluster, rule().exactly()), "web-1");
    }
    let finished = "node n1\n web anti-affinity=db\n db phase=Failed\nnode n2";
    assert_eq!(moved(finished, rule()), "");
}

#[test]
fn a_limit_takes_its_share_of_each_workload_of_a_node() {
    let cluster = "node n1\n a*6 restarts=200\n b*3 restarts=200\nnode n2";
    for policy in [only(RESTARTS), only(RESTARTS).exactly()] {
        assert_eq!(moved(cluster, policy), "a-1 b-1 a-2 a-3 b-2 a-4 a-5 b-3 a-6");
    }
}

/// The API server refuses the eviction, also of a finished pod.
#[test]
fn in_a_namespace_that_is_being_deleted_pods_stay() {
    let cluster = "
        namespace default deleting
        node n1
          web restarts=200
          web restarts=200 phase=Failed
        node n2
    ";
    for policy in [only(RESTARTS), only(RESTARTS).exactly()] {
        let plan = Cluster::parse(cluster).plan_by(policy);
        let codes: Vec<&str> = plan.kept.iter().map(|kept| kept.refusal.code()).collect();
        assert_eq!(codes, ["namespace-deleted"; 2], "{}", text(&plan));
    }
}

#[test]
fn in_exact_mode_a_pod_that_another_strategy_evicts_is_still_a_neighbour() {
    let policy = only(&format!("{PENDING}, {APART}"));
    let cluster = "node n1\n web anti-affinity=db\n db phase=Pending\nnode n2";
    assert_eq!(moved(cluster, policy.clone()), "db-1");
    assert_eq!(moved(cluster, policy.exactly()), "db-1 web-1");
    // A finished pod is gone at once.
    let policy = only(&format!("{FAILED}, {APART}")).exactly();
    let cluster = "node n1\n web anti-affinity=db\n db phase=Failed age=2h\nnode n2";
    assert_eq!(moved(cluster, policy), "db-1");
}

#[test]
fn in_exact_mode_an_evicted_finished_pod_is_no_replica() {
    let of_two = |strategies: &str| {
        let mut policy = only(strategies);
        policy.profiles[0].evictable.min_replicas = 2;
        policy.exactly()
    };
    let cluster =
        "node n1\n web phase=Failed age=2h\n web phase=Failed age=1m restarts=200\nnode n2";
    insta::assert_snapshot!(said(cluster, of_two(&format!("{FAILED}, {RESTARTS}"))), @r"
    move web-1 from n1 to ?: has failed
    keep web-2 on n1: its workload has 1 of the 2 replicas that the policy requires
    ");
    assert_eq!(moved(cluster, of_two(RESTARTS)), "web-2");
    // The pods are listed node by node, but by PodLifeTime for all nodes at once.
    let apart = "node n1\n web phase=Failed restarts=200\nnode n2\n web phase=Failed restarts=200";
    insta::assert_snapshot!(said(apart, of_two(RESTARTS)), @r"
    move web-1 from n1 to ?: restarted 200 times, and the limit is 100
    keep web-2 on n2: its workload has 1 of the 2 replicas that the policy requires
    ");
    assert_eq!(moved(apart, of_two("{podLifeTime: {states: [Failed]}}")), "web-1 web-2");
}

#[test]
fn in_exact_mode_the_pods_of_the_only_owner_are_replicas_in_every_phase() {
    let moved_by = |least: u32, pods: &str| {
        let mut policy = only(RESTARTS);
        policy.profiles[0].evictable.min_replicas = least;
        moved_among_others(&format!("node n1\n{pods}\nnode n2"), policy.exactly())
    };
    let rollout = "web restarts=200 revision=a\n web*2 restarts=200 revision=b";
    assert_eq!(moved_by(2, rollout), "web-2 web-3");
    assert_eq!(moved_by(3, rollout), "");
    for other in ["terminating", "phase=Failed"] {
        let pods = format!("web restarts=200\n web {other}");
        assert_eq!(moved_by(2, &pods), "web-1", "{other}");
        assert_eq!(moved_by(3, &pods), "", "{other}");
    }
    // Descheduler does not count for a pod with several owners.
    assert_eq!(moved_by(2, "web restarts=200 two-owners"), "web-1");
    // An owner need not be the controller.
    assert_eq!(moved_by(2, "web restarts=200 no-controller"), "");
    let two = "web*2 restarts=200 no-controller";
    assert_eq!(moved_by(2, two), "web-1 web-2");
    assert_eq!(moved_by(2, "web restarts=200 evict=true"), "web-1");
}

#[test]
fn in_exact_mode_the_priority_threshold_goes_with_the_protection_of_critical_pods() {
    let mut policy = only(RESTARTS);
    policy.profiles[0].evictable.priority_below = PriorityThreshold::Value(1000);
    let cluster = "node n1\n web restarts=200 priority=5000\nnode n2";
    assert_eq!(moved_among_others(cluster, policy.clone().exactly()), "");
    policy.profiles[0].evictable.protected.system_critical = false;
    assert_eq!(moved_among_others(cluster, policy.clone().exactly()), "web-1");
    assert_eq!(moved_among_others(cluster, policy), "");
}

#[test]
fn in_exact_mode_node_fit_and_node_affinity_each_look_for_a_node_of_their_own() {
    let mut policy = affinity(REQUIRED);
    policy.node_selector = Selector::parse("pool=a").ok();
    policy.profiles[0].evictable.node_fit = true;
    policy.profiles[0].evictable.destinations = Selector::parse("pool=b").ok();
    policy = policy.exactly();
    let home = "node n1 labels=pool:a\n web requires=disk:ssd\n";
    let (ours, theirs) = ("node n2 labels=pool:a,disk:ssd\n", "node n3 labels=pool:b,disk:ssd\n");
    assert_eq!(moved_among_others(&format!("{home}{ours}{theirs}"), policy.clone()), "web-1");
    assert_eq!(moved_among_others(&format!("{home}{ours}"), policy.clone()), "");
    assert_eq!(moved_among_others(&format!("{home}{theirs}"), policy), "");
}

#[test]
fn the_scope_of_anti_affinity_limits_the_neighbours_only_in_exact_mode() {
    let rule =
        |scope: &str| only(&format!("{{removePodsViolatingInterPodAntiAffinity: {{{scope}}}}}"));
    let cluster = "
        namespace data labels=team:a
        node n1
          web anti-affinity=db avoids-in=team:a
          db namespace=data
        node n2
    ";
    let all = "labelSelector: 'app in (web,db)'";
    assert_eq!(moved(cluster, rule(all)), "web-1");
    assert_eq!(moved(cluster, rule(all).exactly()), "web-1");
    for without_db in [
        "labelSelector: app=web",
        "namespaces: {exclude: [data]}",
        "namespaces: {include: [default]}",
    ] {
        assert_eq!(moved(cluster, rule(without_db)), "web-1");
        assert_eq!(moved(cluster, rule(without_db).exactly()), "");
    }
    assert_eq!(moved(cluster, rule("namespaces: {exclude: [default]}")), "");
}

#[test]
fn a_node_that_the_policy_does_not_select_keeps_avoiding_pods_out_of_its_zone() {
    let mut policy = only(APART);
    policy.node_selector = Selector::parse("pool=web").ok();
    for other in ["pool:spot", "pool:web not-ready"] {
        let cluster = format!(
            "
            node n1 labels=zone:a,pool:web
              web anti-affinity=db@zone
            node n2 labels=zone:b,pool:web
            node n3 labels=zone:a,{other}
              db
            "
        );
        assert_eq!(moved(&cluster, policy.clone()), "web-1", "{other}");
        assert_eq!(moved(&cluster, policy.clone().exactly()), "", "{other}");
    }
}

#[test]
fn exact_mode_drops_the_extra_checks_but_keeps_the_corrections() {
    let mut policy = only(RESTARTS);
    policy.profiles[0].evictable.min_replicas = 2;
    policy.profiles[0].evictable.pod_selector = Selector::parse("app=web").ok();
    policy.limits.per_workload = Some(evenkeel::policy::Share::Count(1));
    let cluster = "
        node n1
          web*2 restarts=200
          forced restarts=200 evict=true
          kept restarts=200 evict=false
          mirror restarts=200 evict=true mirror
        node n2
    ";
    insta::assert_snapshot!(said(cluster, policy.clone()), @r"
    move web-1 from n1 to n2: restarted 200 times, and the limit is 100
    keep forced-1 on n1: its labels do not match the policy's podSelector
    keep kept-1 on n1: its labels do not match the policy's podSelector
    keep mirror-1 on n1: mirror pod: the kubelet would recreate it
    keep web-2 on n1: 0 other replicas would be Ready, and at least 1 must be
    ");
    insta::assert_snapshot!(said(cluster, policy.exactly()), @r"
    move web-1 from n1 to ?: restarted 200 times, and the limit is 100
    move forced-1 from n1 to ?: restarted 200 times, and the limit is 100
    move web-2 from n1 to ?: restarted 200 times, and the limit is 100
    keep kept-1 on n1: its annotation descheduler.alpha.kubernetes.io/evict forbids it
    keep mirror-1 on n1: mirror pod: the kubelet would recreate it
    ");
}

#[test]
fn a_pod_that_the_kubelet_has_not_started_is_young_in_exact_mode_only() {
    let mut policy = only(PENDING);
    policy.profiles[0].evictable.min_pod_age = SignedDuration::from_mins(1);
    let cluster = "node n1\n web phase=Pending not-started age=1h\nnode n2";
    assert_eq!(moved(cluster, policy.clone()), "web-1");
    assert_eq!(
        said(cluster, policy.exactly()),
        "keep web-1 on n1: it is 0s old, and the minimum age is 1m"
    );
}

/// Up to six nodes with up to ten pods each. Many of the pods violate a rule.
fn clusters() -> impl Strategy<Value = String> {
    let marks = vec![
        "",
        "bare",
        "daemon",
        "terminating",
        "stay",
        "phase=Failed",
        "phase=Succeeded",
        "phase=Pending",
        "restarts=7",
        "restarts=12",
        "age=30h",
        "anti-affinity=app0",
        "anti-affinity=app1@zone",
        "requires=disk:ssd",
        "prefers=disk:ssd*9",
        "tolerates=a=b:NoSchedule",
        "cpu=7",
        "evict=true",
        "priority=9",
    ];
    let pod = (0..3_u8, 0..2_u8, prop::sample::subsequence(marks, 0..4)).prop_map(
        |(app, space, marks)| format!("  app{app} namespace=ns{space} {}\n", marks.join(" ")),
    );
    let kind = vec![
        "",
        "cordoned",
        "not-ready",
        "taint=a=b:NoSchedule",
        "taint=c:NoExecute,d:PreferNoSchedule",
    ];
    let labels = vec!["disk:ssd", "disk:hdd", "zone:a", "zone:a,disk:ssd", "zone:b"];
    let node = (
        prop::collection::vec(pod, 0..10),
        prop::sample::select(kind),
        prop::sample::select(labels),
    );
    prop::collection::vec(node, 2..6).prop_map(|nodes| {
        let mut text = String::new();
        for (position, (pods, kind, labels)) in nodes.iter().enumerate() {
            let _ = write!(text, "node n{position} labels={labels} {kind}\n{}", pods.concat());
        }
        text
    })
}

/// All six strategies with few arguments.
fn everything(exact: bool, node_fit: bool) -> Policy {
    let during = "DuringSchedulingIgnoredDuringExecution";
    let mut policy = only(&format!(
        "{APART}, {{removePodsViolatingNodeAffinity:
           {{nodeAffinityType: [required{during}, preferred{during}]}}}},
         {TAINTS}, {{removePodsHavingTooManyRestarts: {{podRestartThreshold: 10}}}},
         {{podLifeTime: {{maxPodLifeTimeSeconds: 86400}}}},
         {{removeFailedPods: {{minPodLifetimeSeconds: 0}}}}"
    ));
    policy.safety.max_not_ready = evenkeel::values::Ratio::ONE;
    policy.profiles[0].evictable.node_fit = node_fit;
    if exact { policy.exactly() } else { policy }
}

/// Whether a pod violates the rule of a strategy, as a simple model of the rule.
fn breaks(strategy: &str, pod: &Pod, snapshot: &Snapshot) -> bool {
    let node = snapshot.node(pod.node.unwrap());
    let has = |label: &str, value: &str| node.labels.get(label).is_some_and(|v| v == value);
    let age = noon().duration_since(pod.created);
    match strategy {
        "RemovePodsViolatingInterPodAntiAffinity" => {
            pod.required_anti_affinity.iter().any(|term| {
                let other =
                    |p: &&Pod| p.uid != pod.uid && p.namespace == pod.namespace && !p.finished();
                let label =
                    |p: &Pod| p.node.and_then(|n| snapshot.node(n).labels.get(&term.topology_key));
                let near = |p: &&Pod| {
                    label(p) == label(pod) && (label(pod).is_some() || p.node == pod.node)
                };
                snapshot
                    .pods
                    .iter()
                    .filter(other)
                    .filter(near)
                    .any(|p| term.pods.as_ref().unwrap().matches(&p.labels))
            })
        }
        "RemovePodsViolatingNodeAffinity" => {
            (pod.required_nodes.is_some() || !pod.preferred_nodes.is_empty())
                && !has("disk", "ssd")
                && !pod.finished()
        }
        "RemovePodsViolatingNodeTaints" => {
            node.taints.iter().any(|t| t.key == "a")
                && pod.tolerations.is_empty()
                && !pod.finished()
        }
        "RemovePodsHavingTooManyRestarts" => {
            pod.containers.iter().map(|c| c.restarts).sum::<u32>() >= 10
        }
        "PodLifeTime" => age > SignedDuration::from_hours(24),
        "RemoveFailedPods" => pod.phase == PodPhase::Failed,
        other => panic!("{other}"),
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn a_strategy_selects_only_pods_that_its_rule_covers(
        cluster in clusters(),
        exact: bool,
        node_fit: bool,
    ) {
        let cluster = Cluster::parse(&cluster);
        let policy = everything(exact, node_fit);
        let snapshot = cluster.snapshot(&policy);
        let plan = cluster.plan_by(policy.clone());
        let moves = plan.moves.iter().map(|m| (m.strategy, &m.namespace, &m.pod));
        let mut asked: Vec<_> =
            moves.chain(plan.kept.iter().map(|k| (k.strategy, &k.namespace, &k.pod))).collect();
        for (strategy, namespace, name) in &asked {
            let pod = snapshot.pod(snapshot.find_pod(namespace, name).unwrap());
            prop_assert!(
                breaks(strategy, pod, &snapshot),
                "{strategy} asks for {name}:\n{}",
                text(&plan)
            );
            prop_assert!(!pod.terminating && snapshot.node(pod.node.unwrap()).ready, "{name}");
        }
        let all = asked.len();
        asked.sort_unstable();
        asked.dedup();
        prop_assert_eq!(asked.len(), all, "asked twice:\n{}", text(&plan));
        let mut uids: Vec<_> = plan.moves.iter().map(|m| &m.uid).collect();
        uids.sort_unstable();
        uids.dedup();
        prop_assert_eq!(uids.len(), plan.moves.len(), "evicted twice:\n{}", text(&plan));
        // The same world gives the same plan.
        prop_assert_eq!(text(&plan), text(&cluster.plan_by(policy)));
    }

    #[test]
    fn a_pod_that_violates_a_rule_moves_or_the_plan_says_why_not(cluster in clusters()) {
        let cluster = Cluster::parse(&cluster);
        let policy = everything(false, false);
        let snapshot = cluster.snapshot(&policy);
        let plan = cluster.plan_by(policy);
        if plan.halted.is_some() {
            return Ok(());
        }
        for pod in
            snapshot.pods.iter().filter(|p| !p.terminating && snapshot.node(p.node.unwrap()).ready)
        {
            let strategies = [
                "RemovePodsViolatingNodeTaints",
                "RemovePodsHavingTooManyRestarts",
                "PodLifeTime",
                "RemoveFailedPods",
            ];
            let broken = strategies.iter().any(|s| breaks(s, pod, &snapshot));
            let moved = plan.moves.iter().any(|m| m.uid == pod.uid);
            let kept =
                plan.kept.iter().any(|k| (&k.namespace, &k.pod) == (&pod.namespace, &pod.name));
            prop_assert!(!broken || moved || kept, "{} is passed over:\n{}", pod.name, text(&plan));
        }
    }
}
