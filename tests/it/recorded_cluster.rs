//! A simulation of a recorded cluster: it starts with the pods in the file, and its controllers
//! create those that the real ones would create.

use evenkeel::model::snapshot::import;
use evenkeel::model::snapshot::objects::Objects;
use evenkeel::model::usage::Readings;
use evenkeel::simulate;
use evenkeel::simulate::scenario::{Given, Scenario};
use evenkeel::simulate::trace::Trace;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::it::samples;
use crate::it::support::program::{printed, program, temporary};
use crate::it::support::{noon, parse};

const POLICY: &str = "evictable: {minPodAge: 0s, minReplicas: 1}
strategies: [{lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%},
  sustainedFor: 0s}}]
";

/// A machine of 4 cores, and its usage.
fn node(name: &str, cpu: &str) -> [Value; 2] {
    [samples::node(name), samples::uses(name, cpu)]
}

/// A running pod of an owner such as `StatefulSet/web` that uses one core.
fn pod(name: &str, owner: &str, node: &str) -> [Value; 2] {
    let (kind, owner) = owner.split_once('/').unwrap();
    let group = if kind == "Job" { "batch/v1" } else { "apps/v1" };
    let mut pod = samples::simple(name);
    pod["metadata"]["ownerReferences"] =
        json!([{"apiVersion": group, "kind": kind, "name": owner, "controller": true}]);
    pod["spec"]["nodeName"] = json!(node);
    pod["status"]["startTime"] = json!("2026-11-20T12:00:00Z");
    [pod, samples::pod_uses(name, &["main"], "1")]
}

/// A StatefulSet that wants so many pods.
fn set(replicas: u32) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": replicas, "ordinals": {"start": 1}}})
}

/// A hot node, a free one, and these objects.
fn with(objects: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut all: Vec<Value> = [node("a", "3500m"), node("b", "100m")].concat();
    all.extend(objects);
    all
}

fn run(all: &[Value], policy: &str) -> Trace {
    let (objects, readings) = samples::read(all);
    run_with(objects, readings, policy)
}

fn run_with(objects: Objects, readings: Readings, policy: &str) -> Trace {
    let given = Given { objects, readings, at: noon(), history: None, guards: Vec::new() };
    let mut scenario = Scenario::of("cluster.json".to_owned(), given);
    scenario.duration = SignedDuration::from_mins(20);
    simulate::run(&scenario, parse(policy), "policy.yaml", |_| {})
}

/// The pods of each node at the start and at the end.
fn pods(trace: &Trace) -> Vec<(u32, u32)> {
    let ends = |pods: &[u32]| (pods[0], *pods.last().unwrap());
    trace.nodes.iter().map(|node| ends(&node.pods)).collect()
}

/// As where a file has two recordings of the node.
#[test]
fn a_node_that_cannot_be_read_takes_no_pods() {
    let pods = ["web-1", "web-2"].iter().flat_map(|name| pod(name, "ReplicaSet/web", "a"));
    let (mut objects, readings) = samples::read(&with(pods));
    assert!(!run_with(objects.clone(), readings.clone(), POLICY).evictions.is_empty());
    let [mut other, _] = node("b", "100m");
    other["metadata"]["labels"] = json!({"zone": "z"});
    objects.add(import::object(&other).unwrap().unwrap());
    let trace = run_with(objects, readings, POLICY);
    assert!(trace.evictions.is_empty(), "{:?}", trace.evictions);
    assert!(trace.unknown_objects.iter().any(|line| line.contains("Node b cannot be read")));
}

#[test]
fn a_stateful_set_keeps_its_pods_with_any_names() {
    for names in [["web-1", "web-2"], ["pod-7", "pod-4"]] {
        let all = with(names.iter().flat_map(|name| pod(name, "StatefulSet/web", "a")));
        let trace = run(&[all, vec![set(2)]].concat(), POLICY);
        assert_eq!(pods(&trace), [(2, 1), (0, 1)], "{:?}", trace.refusals);
        assert_eq!(trace.evictions[0].to.as_deref(), Some("b"));
    }
}

/// As where usage of the hours before the recording is replayed.
#[test]
fn a_pod_that_became_ready_after_the_start_is_ready_from_the_start() {
    let mut set = set(2);
    set["spec"]["minReadySeconds"] = json!(30);
    let pods = [("web-1", "b"), ("web-2", "a")].map(|(name, node)| {
        let [mut pod, usage] = pod(name, "StatefulSet/web", node);
        pod["status"]["conditions"][0]["lastTransitionTime"] = json!("2026-11-21T20:00:00Z");
        [pod, usage]
    });
    let trace = run(&[with(pods.concat()), vec![set]].concat(), POLICY);
    assert!(!trace.refusals.contains_key("waits-in-order"), "{:?}", trace.refusals);
}

#[test]
fn a_stateful_set_recreates_a_pod_that_was_being_deleted_unless_it_wants_fewer() {
    for (replicas, total) in [(2, 2), (1, 1)] {
        let mut all = with(pod("web-1", "StatefulSet/web", "a"));
        let [mut last, _] = pod("web-2", "StatefulSet/web", "a");
        last["metadata"]["deletionTimestamp"] = json!("2026-11-21T12:00:30Z");
        all.extend([last, set(replicas)]);
        let ends = pods(&run(&all, POLICY));
        assert_eq!(ends[0].1 + ends[1].1, total, "{ends:?}");
    }
}

/// A real cluster detaches it within minutes.
#[test]
fn a_volume_that_was_still_attached_without_its_pod_does_not_stay_attached() {
    let mut all = with([set(2)]);
    let csi = |name: &str, most: u32| {
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name},
            "spec": {"drivers": [{"name": "ebs", "nodeID": name, "allocatable": {"count": most}}]}})
    };
    all.extend([csi("a", 9), csi("b", 1)]);
    for name in ["web-1", "web-2", "gone"] {
        all.push(json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {"csi": {"driver": "ebs", "volumeHandle": name}}, "status": {"phase": "Bound"}}));
        all.push(json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"accessModes": ["ReadWriteOnce"], "volumeName": name},
            "status": {"phase": "Bound"}}));
    }
    for name in ["web-1", "web-2"] {
        let [mut pod, used] = pod(name, "StatefulSet/web", "a");
        let claim = json!({"claimName": name});
        pod["spec"]["volumes"] = json!([{"name": "data", "persistentVolumeClaim": claim}]);
        all.extend([pod, used]);
    }
    all.push(json!({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
        "metadata": {"name": "left"}, "spec": {"attacher": "ebs", "nodeName": "b",
            "source": {"persistentVolumeName": "gone"}}, "status": {"attached": true}}));
    let trace = run(&all, POLICY);
    assert_eq!(pods(&trace), [(2, 1), (0, 1)], "{:?}", trace.refusals);
}

/// `agent` runs on a, although b admits it too; c is tainted.
fn daemons() -> Vec<Value> {
    let [mut c, used] = node("c", "100m");
    c["spec"]["taints"] = json!([{"key": "only", "effect": "NoSchedule"}]);
    let mut all = with(pod("agent-a", "DaemonSet/agent", "a"));
    all.extend([c, used]);
    all
}

#[test]
fn a_daemon_set_starts_with_its_recorded_pods_and_no_others() {
    assert_eq!(pods(&run(&daemons(), POLICY)), [(1, 1), (0, 0), (0, 0)]);
}

#[test]
fn an_evicted_pod_of_a_daemon_set_returns_to_its_node() {
    let policy = "evictable: {minPodAge: 0s, minReplicas: 1, allow: [daemonSets]}
strategies: [{podLifeTime: {maxPodLifeTimeSeconds: 3600}}]
";
    let trace = run(&daemons(), policy);
    assert_eq!(trace.summary.evictions, 1, "{:?}", trace.refusals);
    assert_eq!(pods(&trace), [(1, 1), (0, 0), (0, 0)]);
}

#[test]
fn a_job_with_completed_pods_replaces_an_evicted_one() {
    let mut all = with(["j-1", "j-2", "j-3"].iter().flat_map(|name| pod(name, "Job/j", "a")));
    for name in ["j-done-1", "j-done-2", "j-done-3"] {
        let [mut done, _] = pod(name, "Job/j", "a");
        done["status"]["phase"] = json!("Succeeded");
        all.push(done);
    }
    all.push(json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "j", "namespace": "default"},
        "spec": {"parallelism": 3, "completions": 9}, "status": {"active": 3, "succeeded": 3}}));
    let policy = POLICY.replace("minReplicas: 1", "minReplicas: 1, allow: [runsToCompletion]");
    let trace = run(&all, &policy);
    assert_eq!(pods(&trace), [(3, 1), (0, 2)], "{:?}", trace.refusals);
}

#[test]
fn the_pods_that_a_job_has_lost_count_against_its_limit() {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "run", "namespace": "default"},
        "spec": {"parallelism": 4, "completions": 9, "backoffLimit": 1}});
    let pods = ["run-1", "run-2", "run-3"].map(|name| pod(name, "Job/run", "a"));
    let all = with(pods.concat().into_iter().chain([job]));
    let trace =
        run(&all, &format!("limits: {{perWorkload: none, perNode: none}}\nramp: none\n{POLICY}"));
    assert_eq!(trace.evictions.len(), 1, "{:?}", trace.evictions);
}

#[test]
fn a_virtual_machine_migrates_despite_its_budget() {
    let machines = ["vm-1", "vm-2", "vm-3"].map(|name| {
        let [mut launcher, usage] = pod(name, &format!("VirtualMachineInstance/{name}"), "a");
        let owners = json!([{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
            "name": name, "controller": true}]);
        launcher["metadata"]["ownerReferences"] = owners.clone();
        launcher["metadata"]["labels"] = json!({"vm": name});
        launcher["metadata"]["annotations"] =
            json!({"descheduler.alpha.kubernetes.io/request-evict-only": ""});
        let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": "default", "ownerReferences": owners},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"vm": name}}},
            "status": {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1,
                "expectedPods": 1}});
        [launcher, usage, budget]
    });
    let trace = run(&with(machines.concat()), POLICY);
    assert_eq!(pods(&trace), [(3, 1), (0, 2)], "{:?}", trace.refusals);
}

#[test]
fn a_node_that_joined_during_the_recording_is_measured_from_the_start() {
    let names = ["web-1", "web-2", "web-3"];
    let mut all = with(names.iter().flat_map(|name| pod(name, "ReplicaSet/web", "a")));
    all[2]["metadata"]["creationTimestamp"] = json!("2026-11-21T13:00:00Z");
    assert!(run(&all, POLICY).summary.evictions > 0);
}

#[test]
fn a_policy_that_names_a_class_which_the_file_lacks_is_refused() {
    let mut items = with(pod("web-1", "ReplicaSet/web", "a"));
    items.push(json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": "high"}, "value": 1000}));
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    let policy = POLICY.replace("minReplicas: 1", "priorityBelow: none-such");
    let policy = format!("apiVersion: evenkeel/v1alpha1\nkind: Policy\n{policy}");
    let (cluster, policy) = (temporary(&list.to_string()), temporary(&policy));
    for command in ["plan", "simulate"] {
        let output = program(&[command, "--from", &cluster, "--policy", &policy]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{command}: {error}");
        assert!(error.contains("no PriorityClass none-such"), "{command}: {error}");
    }
}

#[test]
fn objects_that_are_not_known_are_named_and_a_hot_node_that_is_left_alone_counts_as_hot() {
    let mut all = with(pod("web-1", "ReplicaSet/web", "a"));
    let [mut odd, _] = pod("odd", "ReplicaSet/web", "a");
    odd["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("lots");
    all.push(odd);
    let list = json!({"apiVersion": "v1", "kind": "List", "items": all});
    let file = temporary(&list.to_string());
    let page = printed(&["simulate", "--from", &file, "--duration", "5m"]);
    for line in [
        "\nthe file has no PodDisruptionBudgets: ",
        "\n1 object cannot be read, such as: Pod default/odd cannot be read:",
        "time to balance            not reached\n",
        "\n0 evictions; at least one node was still hot at the end",
    ] {
        assert!(page.contains(line), "{page}");
    }
}

#[test]
fn a_pod_on_a_node_that_the_file_lacks_keeps_its_node() {
    let list = json!({"apiVersion": "v1", "kind": "List",
        "items": with(pod("web-1", "ReplicaSet/web", "gone"))});
    let file = temporary(&list.to_string());
    let plan = printed(&["plan", "--from", &file]);
    assert!(plan.contains("\n1 pod has a node that is not known: gone\n"), "{plan}");
    let pod = printed(&["explain", "pod", "web-1", "--from", &file]);
    assert!(pod.contains("Pod default/web-1  on gone"), "{pod}");
    assert!(pod.contains("it is on no known node"), "{pod}");
}

#[test]
fn a_report_needs_a_file() {
    let output = program(&["simulate", "morning", "--html", "-"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("--html: found -, expected a file"), "{error}");
}

#[test]
fn an_earlier_report_stays_until_the_new_one_is_complete() {
    let folder = env!("CARGO_TARGET_TMPDIR");
    let (path, earlier) = (format!("{folder}/report.html"), format!("{folder}/earlier.html"));
    let _ = std::fs::remove_file(&earlier);
    std::fs::write(&path, "earlier").unwrap();
    // A second name of the same file shows whether it is written or replaced.
    std::fs::hard_link(&path, &earlier).unwrap();
    let output = program(&["simulate", "--duration", "5m", "--html", &path]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(std::fs::read_to_string(&earlier).unwrap(), "earlier");
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("<!DOCTYPE html>"));
}
