//! Words follow from the check that decided: each plan names the fact that keeps the pod, and no
//! other.

use std::process::Command;

use evenkeel::decide::explain::Subject;
use evenkeel::model::ledger::{Ledger, Rest, RestCause};
use evenkeel::model::plan::{Protected, Refusal, Temporary};
use evenkeel::view::explain::explanation_text;
use jiff::SignedDuration;

use crate::it::support::program::{printed, temporary};
use crate::it::support::{Cluster, EVEN, noon, parse, text};

fn explained(cluster: &str, policy: &str, pod: &str) -> String {
    let (engine, snapshot) = Cluster::parse(cluster).seen(parse(policy), Ledger::default());
    let subject = Subject::Pod(pod.to_owned());
    explanation_text(&engine.explain(&snapshot, &subject, noon()).unwrap(), 300)
}

fn lacks(text: &str, wrong: &[&str]) {
    for wrong in wrong {
        assert!(!text.contains(wrong), "{wrong:?} in: {text}");
    }
}

#[test]
fn the_evict_annotation_is_named_and_no_policy_overrides_it() {
    let page = explained(
        "
        node n1
          web*5 cpu=100m uses=1 evict=false
        node n2
        ",
        EVEN,
        "web-1",
    );
    let why = "its annotation descheduler.alpha.kubernetes.io/evict forbids it";
    assert!(page.contains(why), "{page}");
    lacks(&page, &["prefer-no-eviction", "preferNoEviction"]);
}

#[test]
fn a_pod_of_a_closed_or_cordoned_node_would_stay_on_an_open_one() {
    for closed in ["cordoned", "closed=DiskPressure"] {
        let cluster = format!("node n1 {closed}\n web*2 cpu=100m uses=100m\nnode n2\nnode n3");
        let page = explained(&cluster, EVEN, "web-1");
        assert!(page.contains("nothing to change: its node needs no relief"), "{page}");
        let packing = "strategies: [{highNodeUtilization: {thresholds: {cpu: 1%}}}]";
        let page = explained(&cluster, packing, "web-1");
        assert!(page.contains("nothing to change: its node stays, unless you raise"), "{page}");
    }
}

#[test]
fn the_remedy_for_a_job_follows_from_why_it_would_fail() {
    let next = "wait until it has ended; give the next Job a `podFailurePolicy` that ignores";
    let first = "wait until it has ended; in the next Job, let the first rule of the";
    for (job, remedy) in [
        ("backoff=0", next),
        ("per-index=1", next),
        ("evicted=fails-job", first),
        ("evicted=ignored deadline=30m", "or raise `activeDeadlineSeconds` of the Job"),
        ("evicted=ignored foreign", "to change that: wait until it has ended\n"),
    ] {
        let cluster = format!("node n1\n web*5 cpu=100m uses=1 owner=Job runs-once {job}\nnode n2");
        let page = explained(&cluster, EVEN, "web-1");
        assert!(page.contains(remedy), "{job}: {page}");
    }
}

const POOLS: &str = "strategies: [{lowNodeUtilization: {nodePools: [
    {name: apps, nodeSelector: pool=apps, thresholds: {cpu: 30%}, targetThresholds: {cpu: 50%}},
    {name: data, nodeSelector: pool=data, thresholds: {cpu: 30%},
     targetThresholds: {cpu: 50%}}]}}]\n";

#[test]
fn a_node_outside_of_the_pool_is_no_gain_for_that_reason() {
    let plan = |labels: &str| {
        let cluster = format!(
            "
            node n1 labels=pool:apps
              web*5 cpu=100m uses=1
            node n2 labels=pool:apps
              fill cpu=4 uses=100m
            node g1 {labels}
            "
        );
        text(&Cluster::parse(&cluster).plan(POOLS))
    };
    let none = plan("");
    assert!(none.contains("land on g1, where the move would improve nothing: g1 is in no pool"));
    let other = plan("labels=pool:data");
    assert!(other.contains("g1 is in another pool, data"), "{other}");
    let selected = format!("nodeSelector: '!gpu'\n{POOLS}");
    let cluster = "
        node n1 labels=pool:apps
          web*5 cpu=100m uses=1
        node n2 labels=pool:apps
          fill cpu=4 uses=100m
        node g1 labels=pool:apps,gpu:yes
        ";
    let excluded = text(&Cluster::parse(cluster).plan(&selected));
    assert!(excluded.contains("could land on g1, which the policy does not select"), "{excluded}");
}

#[test]
fn a_pod_without_constraints_is_kept_by_the_default_spread_of_its_scheduler() {
    let cluster = |spread: &str| {
        format!(
            "
            node n1
              hot cpu=100m uses=5 labels=tier:a{spread}
            node n2
              hot*2 cpu=100m uses=100m labels=tier:a{spread}
            "
        )
    };
    let default = explained(&cluster(""), EVEN, "hot-1");
    assert!(
        default.contains("the default topology spread of its scheduler outweighs"),
        "{default}"
    );
    lacks(&default, &["its topology spread constraints"]);
    let own = explained(&cluster(" spread=kubernetes.io/hostname:1 soft"), EVEN, "hot-1");
    assert!(own.contains("its topology spread constraints outweigh"), "{own}");
    lacks(&own, &["default topology spread"]);
}

#[test]
fn a_pod_that_fits_nowhere_else_is_told_what_keeps_the_nodes_away() {
    let page = explained(
        "
        node n1
          db*5 cpu=100m uses=1 on=kubernetes.io/hostname:n1
        node n2
        ",
        EVEN,
        "db-1",
    );
    assert!(page.contains("1 is not matching its node selector"), "{page}");
    assert!(page.contains("to change that: let its node selector match another node"));
    assert!(page.contains("returns to its node: no other node can run it"));
    lacks(&page, &["make room", "scores the free nodes"]);
}

#[test]
fn a_pinned_volume_asks_for_no_room() {
    let page = explained(
        "
        storage-class fast driver=ebs zones=a
        node n1 labels=zone:a
          web*5 cpu=100m uses=1 ephemeral=fast
        node n2 labels=zone:b
        ",
        EVEN,
        "web-1",
    );
    assert!(page.contains("1 is unable to reach its volumes"), "{page}");
    assert!(page.contains("a volume pins it to the nodes that can reach it"), "{page}");
    lacks(&page, &["make room", "scores the free nodes"]);
}

#[test]
fn a_reason_that_ends_at_a_known_time_says_when() {
    let left = SignedDuration::from_mins(5);
    let cause = RestCause::Replacement;
    for refusal in [
        Refusal::Temporary(Temporary::OutsideWindow(left)),
        Refusal::Temporary(Temporary::DoNotDisrupt(left)),
        Refusal::Rest(Rest { cause, left }),
    ] {
        assert_eq!(refusal.wait(), Some(left), "{refusal}");
    }
    assert_eq!(Refusal::Protected(Protected::DoNotDisrupt).wait(), None);
    assert!(Refusal::Temporary(Temporary::DoNotDisrupt(left)).is_temporary());
}

/// The plan of the program for a file of objects and a policy.
fn planned(objects: &str, policy: &str) -> String {
    let (file, policy) = (temporary(&format!("---\n{objects}")), temporary(policy));
    printed(&["plan", "--from", &file, "--policy", &policy])
}

fn node(name: &str, label: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Node, metadata: {{name: {name}, labels: {{{label}}}}}, status: \
         {{allocatable: {{cpu: '4', memory: 8Gi, pods: '20'}}, conditions: [{{type: Ready, status: \
         'True'}}]}}}}\n---\n"
    )
}

fn pod(name: &str, node: &str, spec: &str, phase: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: default, uid: u-{name}, \
         creationTimestamp: '2026-11-20T00:00:00Z', labels: {{app: web}}, ownerReferences: \
         [{{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: rs, controller: true}}]}}, spec: \
         {{nodeName: {node}, {spec} containers: [{{name: c, image: c, resources: {{requests: \
         {{cpu: '3'}}}}}}]}}, status: {{phase: {phase}, startTime: '2026-11-20T00:00:00Z', \
         conditions: [{{type: Ready, status: 'True'}}]}}}}\n---\n"
    )
}

const PREFERS: &str = "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 9, preference: {matchExpressions: [{key: disk, operator: In, values: [ssd]}]}}]}},";

#[test]
fn the_summary_fits_the_strategy_and_requests_stand_in_for_missing_usage() {
    let objects = [
        node("a", ""),
        node("b", ""),
        node("s", "disk: ssd"),
        pod("web-0", "a", PREFERS, "Running"),
        pod("web-1", "s", PREFERS, "Running"),
    ]
    .concat();
    let policy = "apiVersion: evenkeel/v1alpha1\nkind: Policy\nstrategies:\n\
        - removePodsViolatingNodeAffinity: {nodeAffinityType: [preferredDuringSchedulingIgnoredDuringExecution]}\n";
    let page = planned(&objects, policy);
    let summary = "no moves possible: 1 pod that RemovePodsViolatingNodeAffinity selects stays";
    assert!(page.contains(summary), "{page}");
    assert!(page.contains("Nodes  by requests") && page.contains("75%"), "{page}");
    lacks(&page, &["hot", "would help", " ?"]);
}

#[test]
fn a_finished_pod_is_removed_and_a_landing_without_limits_is_still_named() {
    let objects = [
        node("a", ""),
        node("b", ""),
        pod("done", "a", "", "Failed"),
        pod("web-0", "b", "", "Running"),
    ]
    .concat();
    let policy = "apiVersion: evenkeel/v1alpha1\nkind: Policy\nevictable: {nodeFit: false, \
        minReplicas: 0}\nstrategies:\n- podLifeTime: {maxPodLifeTimeSeconds: 60}\n";
    let page = planned(&objects, policy);
    assert!(page.contains("a, removed"), "{page}");
    assert!(page.contains("b → a"), "{page}");
    lacks(&page, &["→ ?", "hot"]);
}

#[test]
fn a_missing_kubeconfig_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .arg("plan")
        .env("KUBECONFIG", "/nonexistent/config")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("cannot read /nonexistent/config: No such file"), "{error}");
}

#[test]
fn an_invalid_kubeconfig_is_named() {
    let file = format!("{}/words-kubeconfig", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&file, "x: [").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .arg("plan")
        .env("KUBECONFIG", &file)
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains(&format!("the kubeconfig {file} of $KUBECONFIG: ")), "{error}");
}

#[test]
fn a_missing_policy_is_not_missed_by_another_command() {
    let one = r#"{"namespace": "default", "pod": "web-1", "uid": "u", "node": "n1",
        "may_land": ["n2"], "strategy": "PodLifeTime"}"#;
    let plan = format!(r#"{{"id": "0", "at": "{}", "moves": [{one}], "proposed": []}}"#, noon());
    let file = temporary(&plan);
    let output = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args(["apply", &file])
        .env_remove("EVENKEEL_POLICY")
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "evenkeel: found no policy, expected --policy FILE or EVENKEEL_POLICY\n"
    );
}
