//! Samples that cannot be right: unknown is not read as known, and only the own node is left alone.

use evenkeel::decide::engine::Engine;
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::Plan;
use evenkeel::model::snapshot::lacking::Lack;
use evenkeel::model::snapshot::objects::{ObjectKind, Objects};
use evenkeel::model::snapshot::{Snapshot, import};
use evenkeel::model::usage::{Readings, import as metrics};
use evenkeel::policy::Policy;
use evenkeel::values::quantity;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::it::support::{Cluster, noon, parse, recommending, text};

const POLICY: &str = "usage: {minSamples: 1}
evictable: {minPodAge: 0s, minReplicas: 1}
strategies: [{lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%},
  sustainedFor: 0s}}]
";

/// A machine of 4 cores and 16 GiB.
pub(crate) fn node(name: &str) -> Value {
    let size = json!({"cpu": "4", "memory": "16Gi", "pods": "110"});
    let ready = json!([{"type": "Ready", "status": "True"}]);
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {"allocatable": size, "capacity": size, "conditions": ready}})
}

/// A sample of a node at noon.
pub(crate) fn uses(name: &str, cpu: &str) -> Value {
    uses_at(name, cpu, "2026-11-21T12:00:00Z")
}

fn uses_at(name: &str, cpu: &str, at: &str) -> Value {
    json!({"apiVersion": "metrics.k8s.io/v1beta1", "kind": "NodeMetrics",
        "metadata": {"name": name}, "timestamp": at, "window": "30s",
        "usage": {"cpu": cpu, "memory": "1Gi"}})
}

/// A pod of the ReplicaSet `web` on n1. `status` has a status for each container.
fn pod(name: &str, containers: &Value, status: &Value) -> Value {
    let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1",
        "controller": true});
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": name,
            "creationTimestamp": "2026-11-20T12:00:00Z", "ownerReferences": [owner]},
        "spec": {"nodeName": "n1", "containers": containers},
        "status": status});
    pod["status"]["phase"] = json!("Running");
    pod["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
    pod
}

/// A pod with one container that runs.
pub(crate) fn simple(name: &str) -> Value {
    let resources = json!({"requests": {"cpu": "300m", "memory": "256Mi"}});
    let containers = json!([{"name": "main", "image": "i", "resources": resources}]);
    pod(name, &containers, &json!({"containerStatuses": [running("main")]}))
}

fn running(name: &str) -> Value {
    json!({"name": name, "state": {"running": {"startedAt": "2026-11-20T12:00:00Z"}}})
}

/// A sample of a pod that covers these containers, each with this cpu.
pub(crate) fn pod_uses(name: &str, containers: &[&str], cpu: &str) -> Value {
    let usage = json!({"cpu": cpu, "memory": "100Mi"});
    let containers = containers.iter().map(|name| json!({"name": name, "usage": usage}));
    json!({"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
        "metadata": {"name": name, "namespace": "default"},
        "timestamp": "2026-11-21T12:00:00Z", "window": "30s",
        "containers": containers.collect::<Vec<_>>()})
}

/// Reads objects and metrics. ReplicaSets and Namespaces are not known.
pub(crate) fn read(all: &[Value]) -> (Objects, Readings) {
    let (mut objects, mut readings) = (Objects::default(), Readings::default());
    for kind in [ObjectKind::ReplicaSet, ObjectKind::Namespace] {
        objects.set_lacking(kind, Some(Lack::NotInFile));
    }
    for value in all {
        if !metrics::take(value, &mut readings) {
            objects.apply(import::object(value).unwrap().unwrap());
        }
    }
    (objects, readings)
}

fn plan(all: &[Value]) -> Plan {
    plan_by(parse(POLICY), all)
}

fn plan_by(policy: Policy, all: &[Value]) -> Plan {
    let (objects, readings) = read(all);
    let snapshot = Snapshot::join(&objects, policy.resources());
    let mut engine = Engine::new(policy, Ledger::default());
    engine.observe_steady(&snapshot, &readings, noon());
    recommending(&engine, &snapshot, noon())
}

/// The class of a node.
fn class(plan: &Plan, node: &str) -> String {
    let verdict = plan.nodes.iter().find(|verdict| verdict.node == node);
    verdict.unwrap().class.to_string()
}

/// As where a file has two recordings of the same second.
#[test]
fn two_samples_that_differ_at_the_same_time_are_none() {
    let nodes = ["n1", "n2", "n3"].map(node);
    let others = [uses("n2", "300m"), uses("n3", "300m"), simple("web-0"), simple("web-1")];
    let pods = ["web-0", "web-1"].map(|name| pod_uses(name, &["main"], "1"));
    let whole = [&nodes[..], &others, &pods].concat();
    let plan = |more: &[Value]| plan(&[&whole[..], more].concat());
    let twice = "left alone: its sample cannot be read: it is given twice for the same time, with \
                 differences";
    let (hot, cold) = (uses("n1", "3"), uses("n1", "1"));
    for both in [[hot.clone(), cold.clone()], [cold.clone(), hot.clone()]] {
        assert_eq!(class(&plan(&both), "n1"), twice);
    }
    assert!(!plan(&[hot.clone(), hot.clone()]).moves.is_empty());
    // The newer one of two decides.
    let earlier = uses_at("n1", "1", "2026-11-21T11:59:00Z");
    assert!(!plan(&[earlier.clone(), hot.clone()]).moves.is_empty());
    let plan = plan(&[hot, earlier, pod_uses("web-0", &["main"], "900m")]);
    assert!(plan.moves.iter().all(|planned| planned.pod != "web-0"), "{}", text(&plan));
}

/// As an adapter answers that has no data of a machine.
#[test]
fn a_sample_without_memory_is_none() {
    let mut idle = uses("n2", "0");
    idle["usage"]["memory"] = json!("0");
    let plan = plan(&[node("n1"), node("n2"), uses("n1", "1"), idle]);
    let why = "left alone: its sample cannot be read: memory: found 0, expected more";
    assert_eq!(class(&plan, "n2"), why);
}

/// Why pods stay, in order and without repetition.
fn kept(plan: &Plan) -> Vec<String> {
    let mut reasons: Vec<String> = plan.kept.iter().map(|kept| kept.refusal.to_string()).collect();
    reasons.dedup();
    reasons
}

/// A hot node with two pods of these containers, of which a sample covers some.
fn of_containers(spec: &Value, status: &Value, covered: &[&str]) -> Plan {
    let mut all = vec![node("n1"), node("n2"), uses("n1", "3400m"), uses("n2", "100m")];
    for name in ["web-0", "web-1", "web-2"] {
        all.push(pod(name, spec, status));
        all.push(pod_uses(name, covered, "300m"));
    }
    plan(&all)
}

#[test]
fn a_sample_that_lacks_a_running_container_does_not_measure_its_pod() {
    let spec = json!([{"name": "main"}, {"name": "worker"}]);
    let status = json!({"containerStatuses": [running("main"), running("worker")]});
    let plan = of_containers(&spec, &status, &["main"]);
    assert_eq!(
        kept(&plan),
        ["its usage is unknown: its sample does not cover container worker, which runs"]
    );
    assert_eq!((plan.moves.len(), plan.rightsizing.len()), (0, 0));
    let whole = of_containers(&spec, &status, &["main", "worker"]);
    assert!(!whole.moves.is_empty(), "{}", text(&whole));
}

/// As an object without its status has it, and a pod whose sidecar alone runs.
#[test]
fn a_sample_of_a_pod_that_does_not_run_yet_does_not_measure_it() {
    let mut all = vec![node("n1"), node("n2"), uses("n1", "3400m"), uses("n2", "100m")];
    for name in ["web-0", "web-1"] {
        let mut pod = simple(name);
        pod["status"] = json!(null);
        all.extend([pod, pod_uses(name, &["main"], "300m")]);
    }
    let why = "its usage is unknown: by its status, it does not run, or not for long";
    assert_eq!(kept(&plan(&all)), [why]);
}

#[test]
fn another_container_does_not_stand_in_for_the_one_that_runs() {
    let spec = json!([{"name": "main"}, {"name": "worker"}]);
    let status = json!({"containerStatuses": [running("main"), running("worker")]});
    let plan = of_containers(&spec, &status, &["main", "removed"]);
    assert!(plan.moves.is_empty() && !kept(&plan).is_empty());
}

#[test]
fn a_pod_that_is_ready_runs_the_containers_whose_status_is_missing() {
    let spec = json!([{"name": "main"}, {"name": "worker"}]);
    assert!(of_containers(&spec, &json!({}), &["main"]).moves.is_empty());
    let whole = of_containers(&spec, &json!({}), &["main", "worker"]);
    assert!(!whole.moves.is_empty());
}

#[test]
fn containers_that_have_ended_or_wait_need_no_sample() {
    let spec = json!([{"name": "main"}, {"name": "job"}, {"name": "late"}]);
    let ended = json!({"name": "job", "state": {"terminated": {"exitCode": 0}}});
    let waits = json!({"name": "late", "state": {"waiting": {"reason": "ContainerCreating"}}});
    let status = json!({"containerStatuses": [running("main"), ended, waits]});
    assert!(!of_containers(&spec, &status, &["main"]).moves.is_empty());
}

#[test]
fn a_sidecar_needs_a_sample_and_an_ephemeral_container_does_not() {
    let with = |init: &Value, debug: &Value| {
        let mut all = vec![node("n1"), node("n2"), uses("n1", "3400m"), uses("n2", "100m")];
        for name in ["web-0", "web-1", "web-2"] {
            let mut pod = simple(name);
            pod["spec"]["initContainers"] = json!([{"name": "proxy", "restartPolicy": "Always"}]);
            pod["spec"]["ephemeralContainers"] = json!([{"name": "debug"}]);
            pod["status"]["initContainerStatuses"] = init.clone();
            pod["status"]["ephemeralContainerStatuses"] = debug.clone();
            all.extend([pod, pod_uses(name, &["main"], "300m")]);
        }
        plan(&all)
    };
    let none = json!([{"name": "proxy", "state": {"terminated": {"exitCode": 0}}}]);
    assert!(!with(&none, &json!([running("debug")])).moves.is_empty());
    let sidecar = with(&json!([running("proxy")]), &json!([]));
    assert!(kept(&sidecar)[0].contains("container proxy"), "{}", text(&sidecar));
}

#[test]
fn a_nodes_own_sample_decides_where_its_pods_show_more() {
    // The node uses 40 % by its own sample, and 70 % by those of its pods.
    let mut all = vec![node("n1"), node("n2"), uses("n1", "1600m"), uses("n2", "200m")];
    for name in ["web-0", "web-1", "web-2", "web-3"] {
        all.extend([simple(name), pod_uses(name, &["main"], "700m")]);
    }
    let even = plan(&all);
    assert_eq!(class(&even, "n1"), "between threshold and target: nothing to do");
    assert_eq!(even.before.nodes[0].ratios["cpu"].unwrap().to_string(), "40%");
    // The same where one of them has no sample.
    all.pop();
    assert!(plan(&all).moves.is_empty());
}

#[test]
fn a_node_that_uses_much_less_than_its_pods_is_unknown_with_both_values() {
    let class_of = |cpu: &str, memory: &str, of_pod: &str, created: &str| {
        let mut own = uses("n2", cpu);
        own["usage"]["memory"] = json!(memory);
        let mut all = vec![node("n1"), node("n2"), uses("n1", "3"), own];
        for name in ["web-0", "web-1"] {
            let mut pod = simple(name);
            pod["spec"]["nodeName"] = json!("n2");
            pod["metadata"]["creationTimestamp"] = json!(created);
            let mut used = pod_uses(name, &["main"], "1");
            used["containers"][0]["usage"]["memory"] = json!(of_pod);
            all.extend([pod, used]);
        }
        class(&plan(&all), "n2")
    };
    let old = "2026-11-20T12:00:00Z";
    assert_eq!(
        class_of("990m", "1Gi", "64Mi", old),
        "left alone: its sample is contradictory: cpu 990m, and its pods use 2"
    );
    assert_eq!(
        class_of("2", "4Mi", "1Gi", old),
        "left alone: its sample is contradictory: memory 4Mi, and its pods use 2Gi"
    );
    for (cpu, memory, of_pod, created) in [
        ("1", "1Gi", "64Mi", old),
        ("2", "100Mi", "4Gi", old),
        ("990m", "1Gi", "64Mi", "2026-11-21T12:00:01Z"),
    ] {
        let class = class_of(cpu, memory, of_pod, created);
        assert!(!class.contains("contradictory"), "{cpu} {memory}: {class}");
    }
}

#[test]
fn a_pod_that_came_after_the_nodes_sample_counts_beside_it() {
    let mut all = vec![node("n1"), node("n2"), uses("n1", "1600m"), uses("n2", "200m")];
    all.extend([simple("web-0"), pod_uses("web-0", &["main"], "1800m")]);
    let mut new = simple("web-1");
    new["metadata"]["creationTimestamp"] = json!("2026-11-21T12:00:01Z");
    new["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("400m");
    all.push(new);
    let used = plan(&all).before.nodes[0].ratios["cpu"].unwrap();
    assert!((used.get() * 4.0) > 1.9, "{used}");
}

#[test]
fn more_than_a_node_can_have_is_unknown_with_the_value() {
    let of = |cpu: &str| {
        let all = [node("n1"), node("n2"), uses("n1", cpu), uses("n2", "200m")];
        class(&plan(&all), "n1")
    };
    assert_eq!(
        of("4611686018427387"),
        "left alone: its sample is contradictory: cpu 18446744073 or more, and its node \
            has 4"
    );
    assert_eq!(of("9"), "left alone: its sample is contradictory: cpu 9, and its node has 4");
    // A counter that is read late shows up to twice as much, and the node is full.
    assert_eq!(of("4100m"), "hot: cpu 102% is above the target 60%");
    let mut memory = uses("n1", "1");
    memory["usage"]["memory"] = json!("17Gi");
    let all = [node("n1"), node("n2"), memory, uses("n2", "200m")];
    assert_eq!(
        class(&plan(&all), "n1"),
        "left alone: its sample is contradictory: memory 17Gi, and its node has 16Gi"
    );
}

#[test]
fn a_pod_cannot_use_more_than_its_node_has() {
    let mut all = vec![node("n1"), node("n2"), uses("n1", "3"), uses("n2", "200m")];
    for (name, cpu) in [("web-0", "900"), ("web-1", "900"), ("web-2", "900")] {
        all.extend([simple(name), pod_uses(name, &["main"], cpu)]);
    }
    let plan = plan(&all);
    // All of the node's own sample belongs to no pod then.
    assert!(class(&plan, "n1").starts_with("hot: cpu 75%"), "{}", class(&plan, "n1"));
    let said = plan.kept.iter().map(|kept| kept.refusal.to_string());
    let said: Vec<String> = said.collect();
    assert!(said.iter().any(|why| why.contains("cpu 900, and its node has 4")), "{said:?}");
}

#[test]
fn a_sample_from_before_its_node_existed_is_of_another_machine() {
    let class_of = |at: &str| {
        let mut new = node("n2");
        new["metadata"]["creationTimestamp"] = json!("2026-11-21T11:59:50Z");
        let all = [node("n1"), new, uses("n1", "3"), uses_at("n2", "200m", at)];
        class(&plan(&all), "n2")
    };
    assert_eq!(class_of("2026-11-21T11:59:40Z"), "left alone: no samples");
    assert!(!class_of("2026-11-21T11:59:50Z").contains("left alone"));
}

#[test]
fn the_window_of_a_node_ends_with_the_node() {
    let policy = parse(POLICY);
    let mut engine = Engine::new(policy.clone(), Ledger::default());
    let mut observe = |all: &[Value], after: i64| {
        let (objects, readings) = read(all);
        let snapshot = Snapshot::join(&objects, policy.resources());
        let now = noon() + SignedDuration::from_secs(after);
        engine.observe_steady(&snapshot, &readings, now);
        class(&engine.decide(&snapshot, now), "n2")
    };
    let [n1, mut n2] = ["n1", "n2"].map(node);
    let first = [n1.clone(), n2.clone(), uses("n1", "3"), uses("n2", "200m")];
    assert!(!observe(&first, 0).contains("left alone"));
    n2["metadata"]["creationTimestamp"] = json!("2026-11-21T12:00:10Z");
    assert_eq!(observe(&[n1, n2, uses("n1", "3")], 14), "left alone: no samples");
}

#[test]
fn an_unreadable_sample_is_a_reason_of_its_own() {
    let of = |cpu: &str| {
        let all = [node("n1"), node("n2"), uses("n1", cpu), uses("n2", "200m")];
        class(&plan(&all), "n1")
    };
    assert_eq!(
        of("-3"),
        "left alone: its sample cannot be read: usage.cpu: \"-3\" is negative; expected zero or \
            more"
    );
    for cpu in ["NaN", "Infinity", ""] {
        assert!(of(cpu).starts_with("left alone: its sample cannot be read: "), "{}", of(cpu));
    }
    let mut all = vec![node("n1"), node("n2"), uses("n1", "3400m"), uses("n2", "200m")];
    for name in ["web-0", "web-1"] {
        all.extend([simple(name), pod_uses(name, &["main"], "-800m")]);
    }
    let said = kept(&plan(&all));
    assert!(said[0].starts_with("its usage is unknown: its sample cannot be read: "), "{said:?}");
}

#[test]
fn a_sample_that_is_ahead_leaves_only_its_own_node_alone() {
    let ahead = uses_at("n2", "200m", "2027-11-21T12:00:00Z");
    let all = [node("n1"), node("n2"), node("n3"), uses("n1", "1"), ahead, uses("n3", "1")];
    let plan = plan(&all);
    assert!(class(&plan, "n2").starts_with("left alone: the latest sample is 8760h ahead"));
    assert!(!class(&plan, "n1").contains("left alone"));
}

#[test]
fn in_exact_mode_every_sample_counts() {
    let mut all = vec![node("n1"), node("n2"), uses("n1", "9"), uses("n2", "100m")];
    // The sample of a pod lacks a container that runs.
    all.extend([simple("web-0"), pod_uses("web-0", &["other"], "300m")]);
    let plan = plan_by(parse(POLICY).exactly(), &all);
    assert_eq!(class(&plan, "n1"), "hot: cpu 225% is above the target 60%");
    assert_eq!(plan.moves.len(), 1, "{:?}", kept(&plan));
}

#[test]
fn a_clock_that_was_ahead_and_is_right_again_counts_at_once() {
    let objects = [node("n1"), node("n2")];
    let (objects, ahead) =
        read(&[&objects[..], &[uses_at("n1", "1", "2027-11-21T12:00:00Z")]].concat());
    let right = read(&[uses("n1", "1")]).1;
    let policy = parse(POLICY);
    let snapshot = Snapshot::join(&objects, policy.resources());
    let mut engine = Engine::new(policy, Ledger::default());
    engine.observe_steady(&snapshot, &ahead, noon());
    let later = noon() + SignedDuration::from_secs(15);
    engine.observe_steady(&snapshot, &right, later);
    assert!(!class(&engine.decide(&snapshot, later), "n1").contains("left alone"));
}

/// A workload whose containers were killed at these limits, and use 300Mi.
fn killed(limits: [&str; 2], last_state: &Value, ready: &str) -> Plan {
    let mut all = vec![node("n1"), node("n2"), uses("n1", "1300m"), uses("n2", "100m")];
    let mut status = running("main");
    status["restartCount"] = json!(300);
    status["lastState"] = last_state.clone();
    for (name, limit) in ["web-0", "web-1"].into_iter().zip(limits) {
        let resources = json!({"requests": {"cpu": "800m", "memory": "1Gi"},
            "limits": {"memory": limit}});
        let containers = json!([{"name": "main", "image": "i", "resources": resources}]);
        let status = json!({"containerStatuses": [status]});
        let mut pod = pod(name, &containers, &status);
        pod["status"]["conditions"][0]["status"] = json!(ready);
        all.extend([pod, pod_uses(name, &["main"], "300m")]);
    }
    plan(&all)
}

/// The memory that is recommended.
fn memory(plan: &Plan) -> Option<String> {
    let suggestion = plan.rightsizing.first()?.resources.get("memory")?;
    Some(quantity::text("memory", suggestion.suggested))
}

#[test]
fn no_recommendation_is_below_the_memory_at_which_a_container_was_killed() {
    let oom = json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}});
    let other = json!({"terminated": {"exitCode": 1, "reason": "Error"}});
    assert_eq!(memory(&killed(["1Gi"; 2], &other, "True")).unwrap(), "128Mi");
    assert_eq!(memory(&killed(["1Gi"; 2], &oom, "True")), None);
    assert_eq!(memory(&killed(["2Gi"; 2], &oom, "True")).unwrap(), "2Gi");
    // The newest pod has a lower limit than the older one.
    assert_eq!(memory(&killed(["4Gi", "1Gi"], &oom, "True")), None);
}

#[test]
fn pods_that_do_not_run_recommend_nothing() {
    let error = json!({"terminated": {"exitCode": 1, "reason": "Error"}});
    assert!(killed(["1Gi"; 2], &error, "False").rightsizing.is_empty());
    // The Ready condition of a pod may be older than the status of its containers.
    let mut all = vec![node("n1"), node("n2"), uses("n1", "1300m"), uses("n2", "100m")];
    for name in ["web-0", "web-1"] {
        let mut pod = simple(name);
        let waiting = json!({"waiting": {"reason": "CrashLoopBackOff"}});
        pod["status"]["containerStatuses"][0]["state"] = waiting;
        all.extend([pod, pod_uses(name, &["main"], "10m")]);
    }
    assert!(plan(&all).rightsizing.is_empty());
}

/// A terminating pod that holds 8 of the 10 cores of the only other node.
const TERMINATING: &str =
    "node free cpu=10\n  old cpu=8 terminating\nnode hot cpu=10\n  web*3 cpu=3";

#[test]
fn requests_of_terminating_pods_take_room_until_they_have_ended() {
    let policy = "basis: requests\nevictable: {minPodAge: 0s, minReplicas: 1}
strategies: [{lowNodeUtilization: {thresholds: {cpu: 50%}, targetThresholds: {cpu: 80%}}}]\n";
    let plan = Cluster::parse(TERMINATING).plan(policy);
    let free = &plan.before.nodes[0];
    assert_eq!(free.ratios["cpu"].unwrap().to_string(), "80%");
    assert_eq!(class(&plan, "free"), "between threshold and target: nothing to do");
    assert_eq!(class(&plan, "hot"), "hot: cpu 90% is above the target 80%, and needs 1 eviction");
}
