//! The gates: which pods stay, and the reason in the plan.

use std::collections::BTreeSet;

use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::Plan;
use evenkeel::policy::Policy;
use insta::assert_snapshot;

use crate::it::support::{Cluster, EVEN, considered, nodes, noon, one_heavy_pod, parse, text};

/// Plans for a hot node with one pod of the tested kind, a sibling on another node, and a cold
/// node.
fn answer(pod: &str, policy: &str) -> String {
    let cluster = Cluster::parse(&one_heavy_pod(pod));
    let plan = cluster.plan(policy);
    match plan.kept.first() {
        Some(kept) => format!("{}: {}", kept.refusal.code(), kept.refusal),
        None => text(&plan),
    }
}

fn refused(pod: &str, policy: &str, code: &str) {
    let said = answer(pod, &format!("{policy}\n{EVEN}"));
    assert!(said.starts_with(&format!("{code}: ")), "{pod:?} with {policy:?}: {said}");
}

fn moved(pod: &str, policy: &str) {
    let said = answer(pod, &format!("{policy}\n{EVEN}"));
    assert!(said.starts_with("move web-1 from n1 to n"), "{pod:?} with {policy:?}: {said}");
}

#[test]
fn an_ordinary_pod_moves() {
    moved("", "");
}

/// As on a machine whose clock is behind, or with an early `--now`.
#[test]
fn a_pod_of_the_future_has_no_age_yet() {
    let plan = |least: &str| {
        let cluster = Cluster::parse("node n1 taint=a:NoSchedule\n web*2 age=-1h\nnode n2");
        let strategies = "strategies: [{removePodsViolatingNodeTaints: {}}]";
        considered(&cluster.plan(&format!("evictable: {{minPodAge: {least}}}\n{strategies}")))
    };
    assert!(plan("0s").contains("move web-1"), "{}", plan("0s"));
    let young = "web-1 stays, too-young: it is 0s old, and the minimum age is 5m";
    assert!(plan("5m").starts_with(young), "{}", plan("5m"));
}

#[test]
fn properties_of_a_pod_protect_it() {
    for (pod, code, lifted_by) in [
        ("daemon", "daemon-set", "evictable: {minReplicas: 1, allow: [daemonSets]}"),
        ("emptydir", "local-storage", "evictable: {allow: [localStorage]}"),
        ("stay", "prefer-no-eviction", "evictable: {allow: [preferNoEviction]}"),
        ("devices", "resource-claims", "evictable: {allow: [resourceClaims]}"),
        ("do-not-disrupt=true", "do-not-disrupt", "evictable: {allow: [doNotDisrupt]}"),
        ("safe-to-evict=false", "not-safe-to-evict", "evictable: {allow: [notSafeToEvict]}"),
        (
            "safe-to-evict=on-completion",
            "not-safe-to-evict",
            "evictable: {allow: [notSafeToEvict]}",
        ),
        ("priority=2000000000", "system-critical", "evictable: {allow: [systemCritical]}"),
        ("age=20s", "too-young", "evictable: {minPodAge: 10s}"),
        ("namespace=other", "too-few-replicas", "evictable: {minReplicas: 1}"),
    ] {
        refused(pod, "", code);
        moved(pod, lifted_by);
    }
}

/// The kubelet has deleted its emptyDir, and its devices are free.
#[test]
fn a_finished_pod_loses_nothing_by_its_eviction() {
    let cluster = Cluster::parse("node n1\n web*2 phase=Failed emptydir devices age=2h\nnode n2");
    let plan = cluster.plan("strategies: [removeFailedPods]");
    assert_snapshot!(text(&plan), @"
    move web-1 from n1 to ?: has failed
    move web-2 from n1 to ?: has failed
    ");
}

/// The budget of the machine allows no disruption, and KubeVirt's webhook responds before it counts.
#[test]
fn a_virtual_machine_that_migrates_may_go_despite_its_own_budget() {
    let verdict = |pod: &str, budget: &str, policy: &str| {
        let cluster = Cluster::parse(&format!(
            "
            node n1 system=2
              vm cpu=100m uses=3 owner=VirtualMachineInstance runs-once emptydir {pod}
              idle*4 cpu=500m uses=0
            node n2
            node n3
            budget vm allows=0 desired=1 expected=1 {budget}
            "
        ));
        considered(&cluster.plan(&format!("{policy}{EVEN}")))
    };
    let own = "owner=VirtualMachineInstance";
    let said = verdict("request-evict-only", own, "");
    assert!(said.starts_with("move vm-1 from n1"), "{said}");
    let said = verdict("request-evict-only unready", own, "");
    assert!(said.contains("vm-1 stays, local-storage: "), "{said}");
    let lifted = "evictable: {minReplicas: 1, allow: [localStorage, runsToCompletion]}\n";
    for (pod, budget, code) in [
        ("", own, "local-storage"),
        ("request-evict-only", "", "local-storage"),
        ("request-evict-only", "owner=VirtualMachine", "local-storage"),
        ("request-evict-only\n  vm owner=VirtualMachineInstance", own, "local-storage"),
        ("request-evict-only leaving", own, "under-way"),
    ] {
        let said = verdict(pod, budget, "");
        assert!(said.contains(&format!("vm-1 stays, {code}: ")), "{pod} {budget}: {said}");
        let said = verdict(pod, budget, lifted);
        let code = if code == "under-way" { code } else { "disruption-budget" };
        assert!(said.contains(&format!("vm-1 stays, {code}: ")), "{pod} {budget}: {said}");
    }
}

/// The second pod of the machine avoids the first, which runs until the machine has moved. So the
/// machine goes to n2 although its own node has the most room by requests.
#[test]
fn a_virtual_machine_that_migrates_never_lands_on_its_own_node() {
    let verdict = |pod: &str| {
        let cluster = Cluster::parse(&format!(
            "
            node n1 system=2
              vm cpu=100m uses=3 {pod}
              idle*4 cpu=500m uses=0
            node n2
              parked cpu=3 uses=0
            budget vm allows=0 desired=1 expected=1 owner=VirtualMachineInstance
            "
        ));
        considered(&cluster.plan(&format!("evictable: {{minReplicas: 1}}\n{EVEN}")))
    };
    let said = verdict("owner=VirtualMachineInstance runs-once request-evict-only");
    assert!(said.starts_with("move vm-1 from n1 to n2"), "{said}");
}

#[test]
fn do_not_disrupt_with_a_time_counts_from_the_start_of_the_pod() {
    refused("age=50m do-not-disrupt=1h", "", "do-not-disrupt");
    let said = answer("age=50m do-not-disrupt=1h", EVEN);
    assert!(said.ends_with("protects it for another 10m"), "{said}");
    moved("age=70m do-not-disrupt=1h", "");
    moved("safe-to-evict=true", "");
}

#[test]
fn a_member_of_a_gang_stays_while_other_members_run() {
    let answer = |others: &str, policy: &str| {
        let cluster = Cluster::parse(&format!(
            "
            node n1 system=2
              web cpu=100m memory=100Mi uses=3 gang=train
              idle*4 cpu=500m memory=500Mi uses=0
            node n2
              web cpu=100m uses=100m
              helper cpu=100m uses=100m {others}
            node n3
            "
        ));
        text(&cluster.plan(&format!("{policy}{EVEN}")))
    };
    let moves = "move web-1 from n1 to n3: node usage: cpu 62% is above its target of 50%";
    assert_snapshot!(
        answer("gang=train", ""),
        @"keep web-1 on n1: it belongs to PodGroup train, whose other pods would stop or wait \
          without it"
    );
    assert_eq!(answer("gang=train", "evictable: {allow: [gangs]}\n"), moves);
    // The pod is the last one of its group.
    assert_eq!(answer("gang=train phase=Succeeded", ""), moves);
    assert_eq!(answer("gang=other", ""), moves);
    // A group of the same name in another namespace is another group.
    assert_eq!(answer("gang=train namespace=b", ""), moves);
}

#[test]
fn a_pod_with_volumes_moves_only_within_the_attach_limits() {
    let answer = |other: &str| {
        let cluster = Cluster::parse(&format!(
            "
            node n1 system=2 attach=ebs:2
              web cpu=100m memory=100Mi uses=3 volume=ebs
              idle*4 cpu=500m memory=500Mi uses=0
            node n2 attach=ebs:1
              web cpu=100m uses=100m volume=ebs
            {other}
            "
        ));
        text(&cluster.plan(EVEN))
    };
    let moves = "move web-1 from n1 to n3: node usage: cpu 62% is above its target of 50%";
    assert_snapshot!(
        answer("node n3 attach=ebs:0"),
        @"keep web-1 on n1: no other node can take it: 2 are at the limit of volumes of ebs"
    );
    assert_eq!(answer("node n3 attach=ebs:1"), moves);
    // A driver without a limit, and a limit of another driver.
    assert_eq!(answer("node n3 drivers=ebs"), moves);
    assert_eq!(answer("node n3 attach=nfs:0 drivers=ebs"), moves);
    let reserved = answer("node n3 attach=ebs:1\n job volume=ebs nominated=n3");
    assert!(reserved.starts_with("keep web-1 on n1: "), "{reserved}");
    let finished = "node n3 attach=ebs:1\n job uses=0 volume=ebs phase=Succeeded";
    assert_eq!(answer(finished), moves);
}

#[test]
fn earlier_moves_of_a_plan_use_up_the_attach_limits() {
    let cluster = Cluster::parse(
        "
        node n1 attach=ebs:3
          web*3 cpu=100m memory=100Mi uses=2 volume=ebs
          idle*4 cpu=500m memory=500Mi uses=0
        node n2 attach=ebs:1
        ",
    );
    let policy = EVEN.replace("{cpu: 50%}", "{cpu: 30%}");
    let plan = cluster.plan(&policy);
    assert_eq!(plan.moves.len(), 1, "{}", text(&plan));
    assert!(text(&plan).contains("1 is at the limit of volumes of ebs"));
}

#[test]
fn a_pod_moves_if_its_new_volume_is_provisioned_where_it_lands() {
    let answer = |class: &str, policy: &str| {
        let cluster = Cluster::parse(&format!(
            "
            {class}
            node n1 system=2 labels=zone:a
              web cpu=100m memory=100Mi uses=3 ephemeral=fast
              idle*4 cpu=500m memory=500Mi uses=0
            node n2 labels=zone:b
              web cpu=100m uses=100m
            node n3 labels=zone:c
              busy cpu=500m uses=100m
            node n4 labels=zone:d
            "
        ));
        text(&cluster.plan(&format!("{policy}{EVEN}")))
    };
    let stays = "keep web-1 on n1: its replacement needs a new volume for claim web-1-scratch, \
        which may be provisioned anywhere";
    let to = |node: &str| {
        format!("move web-1 from n1 to {node}: node usage: cpu 62% is above its target of 50%")
    };
    let immediate = "storage-class fast driver=ebs immediate";
    assert_eq!(answer(immediate, ""), stays);
    assert_eq!(answer("storage-class fast driver=kubernetes.io/no-provisioner", ""), stays);
    assert_eq!(answer(immediate, "evictable: {allow: [newVolumes]}\n"), to("n4"));
    assert_eq!(answer("storage-class fast driver=ebs", ""), to("n4"));
    assert_eq!(answer("storage-class fast driver=ebs zones=a,c", ""), to("n3"));
    assert_snapshot!(
        answer("storage-class fast driver=ebs zones=a", ""),
        @"keep web-1 on n1: no other node can take it: 3 are unable to reach its volumes"
    );
}

#[test]
fn descheduler_policies_keep_the_marks_of_other_tools_unless_the_mode_is_exact() {
    let policy = "
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: p
  pluginConfig:
  - {name: PodLifeTime, args: {maxPodLifeTimeSeconds: 60}}
  plugins: {deschedule: {enabled: [PodLifeTime]}}
";
    let cluster = Cluster::parse(
        "
        node n1
          train*2 cpu=100m gang=train
          batch cpu=100m safe-to-evict=false
          model cpu=100m do-not-disrupt=true
          video cpu=100m devices
          web cpu=100m
        node n2
        ",
    );
    let plan = |exact: bool| {
        let policy = Policy::parse("policy.yaml", policy).unwrap();
        cluster.plan_by(if exact { policy.exactly() } else { policy })
    };
    let moved = |plan: &Plan| plan.moves.iter().map(|m| m.pod.clone()).collect::<Vec<_>>();
    assert_eq!(moved(&plan(false)), ["web-1"]);
    assert_eq!(moved(&plan(true)).len(), 6);
}

#[test]
fn no_setting_overrides_the_protection_of_mirror_static_and_terminating_pods() {
    for (pod, code) in [("mirror", "mirror-pod"), ("static", "static-pod"), ("bare", "bare-pod")] {
        let all = "evictable: {minReplicas: 1, allow: [localStorage, daemonSets, systemCritical, failedBare]}";
        refused(pod, all, code);
    }
    // The annotation that forces an eviction does not affect mirror and static pods.
    refused("mirror evict=true", "", "mirror-pod");
    moved("emptydir evict=true", "");
    // Only the policy may allow these.
    refused("bare evict=true", "", "bare-pod");
    for (pod, code, allow) in [
        ("owner=DaemonSet evict=true", "daemon-set", "daemonSets"),
        ("priority=2000000000 evict=true", "system-critical", "systemCritical"),
    ] {
        refused(pod, "", code);
        moved(pod, &format!("evictable: {{allow: [{allow}]}}"));
    }
    for value in ["false", "False", "no", "0"] {
        refused(&format!("evict={value}"), "", "evict-false");
    }
}

#[test]
fn the_policy_may_protect_more() {
    refused("claim", "evictable: {protect: [persistentVolumes]}", "persistent-volume");
    let fast = "evictable: {protect: [persistentVolumes], protectedStorageClasses: [fast]}";
    // A claim without a class, or with the empty one, may have a volume of any class.
    for (class, code) in [
        ("fast", "persistent-volume"),
        ("?", "persistent-volume"),
        ("-", "persistent-volume"),
        ("slow", "unusable-claim"),
    ] {
        refused(&format!("unbound={class}"), fast, code);
    }
    refused("", "evictable: {protect: [withoutBudget]}", "no-budget");
    refused("priority=10", "evictable: {priorityBelow: 10}", "priority");
    moved("priority=9", "evictable: {priorityBelow: 10}");
    refused("priority=10", "evictable: {priorityBelow: absent}", "unknown-priority-class");
    refused("", "evictable: {namespaces: {exclude: [default]}}", "namespace");
    refused("", "evictable: {podSelector: tier=web}", "pod-selector");
    moved("labels=tier:web", "evictable: {podSelector: tier=web}");
    refused("", "evictable: {minReplicas: 3}", "too-few-replicas");
    refused("", "evictable: {namespaceSelector: team=a}", "namespace");
}

#[test]
fn the_last_ready_replica_stays() {
    let cluster = Cluster::parse(
        "
        node n1 system=2
          web cpu=100m uses=3
        node n2
          web cpu=100m uses=100m unready
        ",
    );
    let plan = cluster.plan(EVEN);
    assert_eq!(
        text(&plan),
        "keep web-1 on n1: 0 other replicas would be Ready, and at least 1 must be"
    );
}

#[test]
fn the_runs_of_a_cron_job_are_no_replicas_of_each_other() {
    let cluster = Cluster::parse(
        "
        node n1 system=2
          sums owner=Job revision=monday cpu=100m uses=3
        node n2
          sums owner=Job revision=tuesday cpu=100m uses=100m
        ",
    );
    let plan = cluster.plan(EVEN);
    assert_eq!(
        text(&plan),
        "keep sums-1 on n1: its workload has 1 of the 2 replicas that the policy requires"
    );
}

#[test]
fn the_head_and_the_workers_of_a_custom_resource_are_no_replicas_of_each_other() {
    let plan = |kind: &str, head: &str| {
        let cluster = format!(
            "
            node n1 system=2
              ray owner={kind} cpu=100m uses=3 {head}
            node n2
              ray*2 owner={kind} cpu=100m uses=100m image=ray labels=ray.io/node-type:worker
            node n3
            "
        );
        text(&Cluster::parse(&cluster).plan(EVEN))
    };
    let head = "labels=ray.io/node-type:head image=ray";
    let stays = "keep ray-1 on n1: its workload has 1 of the 2 replicas that the policy requires";
    assert_eq!(plan("ray.io/RayCluster", head), stays);
    let other_image = "labels=ray.io/node-type:worker image=head";
    assert_eq!(plan("ray.io/RayCluster", other_image), stays);
    assert!(plan("apps/ReplicaSet", head).starts_with("move ray-1"));
    assert!(plan("ray.io/RayCluster", &head.replace("head", "worker")).starts_with("move ray-1"));
    for role in ["role-name:decode", "modelserving.volcano.sh/role:decode"] {
        let decode = format!("labels=ray.io/node-type:worker,{role} image=ray");
        assert_eq!(plan("orchestration.aibrix.ai/RoleSet", &decode), stays);
    }
}

#[test]
fn pods_whose_controllers_have_different_kinds_are_no_replicas_of_each_other() {
    let plan = |manager: &str| {
        let cluster = format!(
            "
            node n1 system=2
              flink cpu=100m uses=3 {manager}
            node n2
              flink*2 owner=Deployment cpu=100m uses=100m
            node n3
            "
        );
        text(&Cluster::parse(&cluster).plan(EVEN))
    };
    assert_eq!(
        plan("owner=ReplicaSet"),
        "keep flink-1 on n1: its workload has 1 of the 2 replicas that the policy requires"
    );
    assert!(plan("owner=Deployment").starts_with("move flink-1"));
}

#[test]
fn a_revision_that_a_service_selects_has_only_its_own_replicas() {
    let plan = |services: &str| {
        let cluster = format!(
            "
            {services}
            node n1 system=2
              web cpu=100m uses=3 revision=a labels=rollouts-pod-template-hash:a
            node n2
              web*2 cpu=100m uses=100m revision=b labels=rollouts-pod-template-hash:b
            node n3
            "
        );
        text(&Cluster::parse(&cluster).plan(EVEN))
    };
    let active = "service active selects=app:web,rollouts-pod-template-hash";
    assert_eq!(
        plan(&format!("{active}:a")),
        "keep web-1 on n1: its workload has 1 of the 2 replicas that the policy requires"
    );
    for others in ["service all selects=app:web", &format!("{active}:b"), ""] {
        assert!(plan(others).starts_with("move web-1"), "{others}");
    }
}

#[test]
fn a_single_replica_moves_if_its_owner_or_its_budget_admits_it() {
    let with_budget = "evictable: {allow: [singleReplicasWithBudget]}\n";
    let answer = |pod: &str, budget: &str, policy: &str| {
        let cluster = Cluster::parse(&format!(
            "
            {budget}
            node n1 system=2
              db cpu=100m memory=100Mi uses=3 {pod}
              idle*4 cpu=500m memory=500Mi uses=0
            node n2
            "
        ));
        let plan = cluster.plan(&format!("{policy}{EVEN}"));
        let kept = plan.kept.first().map(|kept| kept.refusal.code());
        kept.unwrap_or(if plan.moves.len() == 1 { "moved" } else { "" })
    };
    assert_eq!(answer("", "", ""), "too-few-replicas");
    assert_eq!(answer("evict-single", "", ""), "moved");
    assert_eq!(answer("evict-single", "budget db allows=0", ""), "disruption-budget");
    assert_eq!(answer("", "budget db allows=1", ""), "too-few-replicas");
    assert_eq!(answer("", "budget db allows=1", with_budget), "moved");
    assert_eq!(answer("", "budget db allows=0", with_budget), "too-few-replicas");
    assert_eq!(answer("", "", with_budget), "too-few-replicas");
    let two = "budget db allows=1\nbudget db allows=1 name=second";
    assert_eq!(answer("", two, with_budget), "too-few-replicas");
}

/// The effect of a lower `minReplicas` on a cluster as a sentence; empty without a trial.
fn replica_trial(cluster: &str, policy: &str) -> String {
    let cluster = Cluster::parse(cluster);
    let (engine, snapshot) = cluster.seen(parse(policy), Ledger::default());
    let observed = engine.join_usage(&snapshot, noon());
    let plan = engine.decide_observed(&observed, |_| {});
    let trial = engine.replica_trial(&observed, engine.ledger(), &plan);
    trial.map(|trial| trial.to_string()).unwrap_or_default()
}

const SINGLES: &str = "
node n1
  a cpu=100m uses=1
  b cpu=100m uses=1
  c cpu=100m uses=1
  d cpu=100m uses=1
  e cpu=100m uses=1
node n2
  f cpu=100m uses=2
  g cpu=100m uses=2
  h cpu=100m uses=2
node n3
node n4
";

#[test]
fn a_trial_shows_what_single_replicas_cost() {
    assert_snapshot!(
        replica_trial(SINGLES, EVEN),
        @"8 of 8 pods that stay on hot nodes are single replicas; with \
      `evictable.minReplicas: 1`, 2 evictions would bring 2 of 2 hot nodes to target; without it 0"
    );
    // The limits of a cycle do not apply to the trial.
    let limited = format!("limits: {{perCycle: 0}}\n{EVEN}");
    assert_eq!(replica_trial(SINGLES, &limited), replica_trial(SINGLES, EVEN));
    let pairs = SINGLES.replace("node n4", "node n4\n a cpu=100m uses=0");
    let three = format!("evictable: {{minReplicas: 3}}\n{EVEN}");
    let said = replica_trial(&pairs, &three);
    assert!(said.contains("belong to workloads with too few replicas; with"), "{said}");
}

#[test]
fn without_single_replicas_or_without_a_gain_there_is_no_replica_trial() {
    // The only pods that may move do so.
    assert_eq!(replica_trial(SINGLES, &format!("evictable: {{minReplicas: 1}}\n{EVEN}")), "");
    // Other nodes cannot take the pods.
    let full = SINGLES.replace("node n3", "").replace("node n4", "node n4 taint=a:NoSchedule");
    assert_eq!(replica_trial(&full, EVEN), "");
    // Most candidates stay for another reason.
    let local = SINGLES.replace("uses=1", "uses=1 emptydir").replace("uses=2", "uses=2 stay");
    assert_eq!(replica_trial(&local, EVEN), "");
}

#[test]
fn a_budget_is_checked_in_advance() {
    let cluster = |budget: &str| {
        Cluster::parse(&format!(
            "
            node n1
              web*7 cpu=100m uses=1
            node n2
            {budget}
            "
        ))
    };
    let moves = |budget: &str| cluster(budget).plan(EVEN).moves.len();
    assert_eq!(moves(""), 3);
    assert_eq!(moves("budget web allows=1"), 1);
    assert_eq!(moves("budget web allows=0"), 0);
    let codes = |budget: &str| {
        cluster(budget).plan(EVEN).kept.iter().map(|k| k.refusal.code()).collect::<Vec<_>>()
    };
    assert_eq!(codes("budget web allows=0"), ["disruption-budget"; 7]);
    // The other two pods wait for the first. No other pod is selected instead of them.
    assert_eq!(codes("budget web allows=1"), ["disruption-budget"; 2]);
    assert_eq!(codes("budget web allows=9 stale"), ["stale-budget"; 7]);
    assert_eq!(
        codes("budget web allows=9\nbudget web allows=9 name=second"),
        ["several-budgets"; 7]
    );
}

#[test]
fn a_budget_that_cannot_be_read_may_cover_every_pod_of_its_namespace() {
    let plan = |pods: &str, budget: &str| {
        let cluster = Cluster::parse(&format!(
            "
            node n1
              web*7 cpu=100m uses=1 {pods}
            node n2
            {budget}
            "
        ));
        text(&cluster.plan(EVEN))
    };
    let unreadable = "unreadable PodDisruptionBudget name=odd";
    assert_eq!(
        plan("", unreadable).lines().next(),
        Some(
            "keep web-1 on n1: PodDisruptionBudget odd of its namespace cannot be read and may \
             cover it"
        )
    );
    assert!(!plan("", unreadable).contains("move"));
    // One of another namespace covers none of them.
    let free = plan("", "");
    assert_eq!(plan("", &format!("{unreadable} namespace=other")), free);
    assert!(free.contains("move"), "{free}");
    // A readable one that refuses is named instead.
    let both = plan("", &format!("budget web allows=0\n{unreadable}"));
    assert!(both.contains("PodDisruptionBudget web"), "{both}");
}

#[test]
fn each_limit_applies_on_its_own() {
    let cluster = Cluster::parse(
        "
        node n1
          web*7 cpu=100m uses=1
          full cpu=6 memory=24Gi uses=0
        node n2
          api*7 cpu=100m uses=1
          full cpu=6 memory=24Gi uses=0
        node n3
        node n4
        ",
    );
    for (limits, expected, code) in [
        ("{perCycle: 4, perWorkload: none, perMinute: none, perNode: none}", 4, "cycle-limit"),
        (
            "{perCycle: 1 or 25%, perWorkload: none, perMinute: none, perNode: none}",
            4,
            "cycle-limit",
        ),
        ("{perMinute: 3 or 12.5%, perWorkload: none, perNode: none}", 3, "rate-limit"),
        ("{perNode: 2, perWorkload: none, perMinute: none}", 4, "node-limit"),
        ("{perNamespace: 1, perWorkload: none, perMinute: none}", 1, "namespace-limit"),
        ("{perMinute: 5, perWorkload: none}", 5, "rate-limit"),
        ("{perWorkload: 2, perMinute: none}", 4, "workload-limit"),
        ("{perCycle: 0}", 0, "cycle-limit"),
    ] {
        let plan = cluster.plan(&format!("limits: {limits}\n{EVEN}"));
        assert_eq!(plan.moves.len(), expected, "{limits}: {}", text(&plan));
        assert!(plan.kept.iter().all(|k| k.refusal.code() == code), "{limits}: {}", text(&plan));
    }
    let own =
        EVEN.replace("thresholds: {cpu: 30%}", "evictionLimits: {node: 1}, thresholds: {cpu: 30%}");
    assert_eq!(cluster.plan(&own).moves.len(), 2);
}

#[test]
fn a_node_that_the_scheduler_would_not_choose_is_no_destination() {
    for (node, why) in [
        ("node n3 taint=dedicated:NoSchedule", "1 is tainted"),
        ("node n3 cpu=50m", "1 is short of cpu by requests"),
    ] {
        let cluster = Cluster::parse(&format!(
            "
            node n1 system=2
              web*2 cpu=100m uses=3
            {node}
            "
        ));
        let said = text(&cluster.plan(EVEN));
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn a_terminating_pod_uses_its_node_until_it_has_ended() {
    // job-1 may run for another minute or hour. Until it ends, n2 has no room for four more cores.
    let plan =
        Cluster::parse("node n1\n web*2 cpu=100m uses=3\nnode n2\n job cpu=0 uses=4 terminating")
            .plan(EVEN);
    assert!(nodes(&plan).contains("n2: at or below every threshold"));
    assert_snapshot!(text(&plan), @"
    keep web-1 on n1: its replacement could land on n2, where cpu usage would reach 88%, above \
        the target of 50%
    keep web-2 on n1: its replacement could land on n2, where cpu usage would reach 88%, above \
        the target of 50%
    ");
}

#[test]
fn a_soft_taint_is_an_obstacle_only_if_it_decides() {
    let plan = |hot: &str| {
        let cluster = format!(
            "node n1 system=2 {hot}\n web*2 cpu=100m uses=3\nnode n2 taint=a:PreferNoSchedule"
        );
        text(&Cluster::parse(&cluster).plan(EVEN))
    };
    assert_snapshot!(plan(""), @"
    keep web-1 on n1: its replacement would return to n1: the free nodes have PreferNoSchedule \
        taints
    keep web-2 on n1: its replacement would return to n1: the free nodes have PreferNoSchedule \
        taints
    ");
    assert_snapshot!(plan("taint=a:PreferNoSchedule"), @r"
    move web-1 from n1 to n2: node usage: cpu 100% is above its target of 50%
    keep web-2 on n1: 0 other replicas would be Ready, and at least 1 must be
    ");
}

/// Outside of a window the plan lists the pods that would move now.
#[test]
fn outside_a_window_the_plan_lists_the_pods_that_would_move() {
    let cluster = Cluster::parse(
        "
        node n1
          web*7 cpu=100m uses=1
        node n2
          web cpu=100m uses=100m
        node n3
        node n4
        ",
    );
    let today = noon().strftime("%a").to_string();
    let open = cluster.plan(&format!("windows: {{allow: ['{today} 11:00-13:00']}}\n{EVEN}"));
    assert!(!open.moves.is_empty(), "{}", text(&open));
    let closed = cluster.plan(&format!("windows: {{forbid: ['{today} 11:00-13:00']}}\n{EVEN}"));
    assert!(closed.moves.is_empty(), "{}", text(&closed));
    let named = |pods: Vec<&str>| pods.into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(
        named(closed.kept.iter().map(|kept| kept.pod.as_str()).collect()),
        named(open.moves.iter().map(|planned| planned.pod.as_str()).collect()),
    );
    for kept in &closed.kept {
        assert_eq!(kept.refusal.code(), "outside-window");
        assert_eq!(
            kept.refusal.to_string(),
            "the windows of the policy forbid evictions for another 1h"
        );
    }
}

/// Plans without `nodeFit` for a pod on a tainted node. The only other node is full.
fn without_node_fit(vip: &str, other: &str, more: &str, tune: impl Fn(&mut Policy)) -> String {
    let cluster = Cluster::parse(&format!(
        "
        node n1 taint=closed:NoSchedule
          vip cpu=4 {vip}
        node n2
          web cpu=6 {other}
        {more}
        "
    ));
    let mut policy = parse(
        "evictable: {nodeFit: false, minReplicas: 1, minPodAge: 0s}
strategies: [{removePodsViolatingNodeTaints: {}}]\n",
    );
    tune(&mut policy);
    text(&cluster.plan_by(policy))
}

#[test]
fn a_move_that_would_preempt_another_pod_is_refused() {
    let same = |_: &mut Policy| {};
    let high = "priority=10";
    let moves =
        "move vip-1 from n1 to ?: does not tolerate the taint closed:NoSchedule of its node";
    assert_snapshot!(
        without_node_fit(high, "", "", same),
        @"keep vip-1 on n1: its replacement fits on no node and could remove web-1 of lower \
          priority from n2"
    );
    let allowed = |policy: &mut Policy| policy.profiles[0].evictable.protected.preemption = false;
    assert_eq!(without_node_fit(high, "", "", allowed), moves);
    // The replacement would stay pending without harm.
    assert_eq!(without_node_fit("priority=10 never-preempts", "", "", same), moves);
    assert_eq!(without_node_fit("", "", "", same), moves);
    assert_eq!(without_node_fit(high, "priority=10", "", same), moves);
    // Another node has room.
    assert_eq!(without_node_fit(high, "", "node n3", same), moves.replace('?', "n3"));
    // A pod of lower priority whose removal does not help.
    let beside = "node n3 taint=a:NoSchedule\n low cpu=4 tolerates=a:NoSchedule";
    assert_eq!(without_node_fit(high, "priority=10", beside, same), moves);
    assert_eq!(without_node_fit(high, "terminating", beside, same), moves);
    // Descheduler does not look.
    let exact = |policy: &mut Policy| *policy = policy.clone().exactly();
    assert_eq!(without_node_fit(high, "", "", exact), moves);
    // With nodeFit the reason is unchanged.
    let fit = |policy: &mut Policy| policy.profiles[0].evictable.node_fit = true;
    assert_snapshot!(
        without_node_fit(high, "", "", fit),
        @"keep vip-1 on n1: no other node can take it: 1 is short of cpu by requests"
    );
}

#[test]
fn a_replacement_that_fits_on_its_own_node_preempts_nothing() {
    let policy = "evictable: {nodeFit: false, minReplicas: 1, minPodAge: 0s}
strategies: [{podLifeTime: {maxPodLifeTimeSeconds: 600}}]\n";
    let plan = Cluster::parse(
        "
        node n1
          vip cpu=6 priority=10
        node n2
          web cpu=6 age=1m
        ",
    )
    .plan(policy);
    assert_eq!(plan.moves.len(), 1, "{}", text(&plan));
}

#[test]
fn without_node_fit_a_replacement_takes_the_room_of_its_node() {
    let policy = "evictable: {nodeFit: false, minReplicas: 1, minPodAge: 0s}
strategies: [{removePodsViolatingNodeTaints: {}}]\n";
    let answer = |priority: &str| {
        let cluster = Cluster::parse(&format!(
            "
            node n1 cpu=16 taint=closed:NoSchedule
              first cpu=5 {priority}
              second cpu=5 {priority}
            node n2
            node n3
              low cpu=4
            "
        ));
        text(&cluster.plan(policy))
    };
    // The first one takes n2, so the second one fits nowhere.
    assert_snapshot!(answer(""), @r"
    move first-1 from n1 to n2: does not tolerate the taint closed:NoSchedule of its node
    move second-1 from n1 to ?: does not tolerate the taint closed:NoSchedule of its node
    ");
    assert_snapshot!(answer("priority=10"), @r"
    move first-1 from n1 to n2: does not tolerate the taint closed:NoSchedule of its node
    keep second-1 on n1: its replacement fits on no node and could remove low-1 of lower priority from n3
    ");
}

#[test]
fn without_node_fit_a_replacement_that_returns_keeps_its_node_full() {
    let policy = "evictable: {nodeFit: false, minReplicas: 1, minPodAge: 0s}
strategies:
- podLifeTime: {maxPodLifeTimeSeconds: 600, labelSelector: app=old}
- lowNodeUtilization: {basis: requests, thresholds: {cpu: 40%}, targetThresholds: {cpu: 80%}}\n";
    let plan = Cluster::parse(
        "
        node n1 labels=disk:ssd
          old cpu=3 age=20m requires=disk:ssd
          web cpu=4
        node n2
        ",
    )
    .plan(policy);
    assert_snapshot!(text(&plan), @r"
    move old-1 from n1 to n1: is 20m old, older than 10m
    move web-1 from n1 to n2: node requests: cpu 88% is above its target of 80%
    ");
}

#[test]
fn without_node_fit_a_replacement_does_not_land_on_a_node_that_takes_no_pods() {
    let same = |_: &mut Policy| {};
    assert_snapshot!(
        without_node_fit("", "", "node n3 closed=Deleting", same),
        @"keep vip-1 on n1: its replacement could land on n3, which is being deleted"
    );
}

#[test]
fn a_replacement_that_comes_back_brings_its_usage_back() {
    let cluster = Cluster::parse("node n1\n web cpu=500m uses=100m\nnode n2\n api*2 cpu=2 uses=2");
    let plan = cluster.plan(
        "forecast: {tolerance: 100%}
evictable: {minReplicas: 1}
strategies: [{highNodeUtilization: {basis: actual, thresholds: {cpu: 20%}}}]",
    );
    assert_eq!(plan.moves[0].to.as_deref(), Some("n1"));
    assert_eq!(plan.after.nodes, plan.before.nodes);
}

#[test]
fn room_that_a_pending_pod_has_reserved_is_not_free() {
    let answer = |waits: &str| {
        let cluster = Cluster::parse(&format!(
            "
            node n1 system=2
              web*2 cpu=1 memory=1Gi uses=3 priority=5
              idle*4 cpu=500m memory=500Mi uses=0 priority=5
            node n2
              victim cpu=2 uses=0 terminating
              {waits}
            "
        ));
        text(&cluster.plan(EVEN))
    };
    // The job does not fit before the victim has ended.
    let moved = answer("job cpu=7500m nominated=n2 priority=4");
    assert!(moved.starts_with("move web-1 from n1 to n2: "), "{moved}");
    let stays = "keep web-1 on n1: no other node can take it: 1 is short of cpu by requests";
    let kept = answer("job cpu=7500m nominated=n2 priority=5");
    assert!(kept.starts_with(stays), "{kept}");
}

#[test]
fn a_pod_that_waits_takes_the_room_where_it_fits() {
    let policy = "evictable: {minReplicas: 1, minPodAge: 0s}
safety: {maxPending: 100%}
strategies: [{removePodsViolatingNodeTaints: {}}]\n";
    let plan = |waits: &str, web: &str| {
        let cluster = format!(
            "node n1 taint=old:NoSchedule
               {waits}
               web cpu=4 {web}
             node n2"
        );
        text(&Cluster::parse(&cluster).plan(policy))
    };
    let moves = "move web-1 from n1 to n2: does not tolerate the taint old:NoSchedule of its node";
    let kept = "keep web-1 on n1: no other node can take it: 1 is short of cpu by requests";
    assert_eq!(plan("", ""), moves);
    assert_eq!(plan("job cpu=5 pending", ""), kept);
    // The scheduler places it before the replacement exists, even if that is more important.
    assert_eq!(plan("job cpu=5 pending", "priority=10"), kept);
    // These wait for something else than room.
    assert_eq!(plan("job cpu=5 gated", ""), moves);
    assert_eq!(plan("job cpu=5 pending terminating", ""), moves);
    assert_eq!(plan("job cpu=9 pending", ""), moves);
    // A scheduler without a known profile applies the same filters.
    assert_eq!(plan("job cpu=5 pending scheduler=other", ""), kept);
    // The more important one fits, and then the other one does not.
    let two = |first: u8, second: u8| {
        let waits =
            format!("big cpu=6 pending priority={first}\n small cpu=3 pending priority={second}");
        plan(&waits, "")
    };
    assert_eq!(two(2, 1), kept);
    assert_eq!(two(1, 2), moves);
}

#[test]
fn pods_that_wait_beside_each_other_take_the_room_of_several_nodes() {
    let policy = "evictable: {minReplicas: 1, minPodAge: 0s}
safety: {maxPending: 100%}
strategies: [{removePodsViolatingNodeTaints: {}}]\n";
    let plan = |jobs: u8| {
        let cluster = format!(
            "node n1 taint=old:NoSchedule
               job*{jobs} cpu=5 pending
               web cpu=4
             node n2
             node n3"
        );
        Cluster::parse(&cluster).plan(policy).moves.len()
    };
    assert_eq!([0, 1, 2, 3, 30].map(plan), [1, 1, 0, 0, 0]);
}

#[test]
fn the_exact_mode_counts_only_pods_on_nodes() {
    let policy = parse(
        "evictable: {minReplicas: 1, minPodAge: 0s}
strategies: [{removePodsViolatingNodeTaints: {}}]\n",
    );
    let cluster = "node n1 taint=old:NoSchedule\n job cpu=5 pending\n web cpu=4\nnode n2";
    let plan = Cluster::parse(cluster).plan_by(policy.exactly());
    assert_eq!(plan.moves.len(), 1, "{}", text(&plan));
}
