//! The file: objects and usage history, with real and with scrambled names.

use serde_json::json;

use super::*;
use crate::files::cluster_file;
use crate::model::snapshot::Snapshot;
use crate::model::snapshot::objects::ObjectKind;

/// A node with a pod, and usage of both.
fn recording() -> Recording {
    let mut recording = Recording::default();
    let node = json!({"metadata": {"name": "node-of-acme"},
        "status": {"allocatable": {"cpu": "8", "memory": "32Gi"}}});
    let pod = json!({"metadata": {"namespace": "payroll", "name": "salaries-0", "uid": "u",
            "creationTimestamp": "2026-11-20T12:00:00Z"},
        "spec": {"nodeName": "node-of-acme", "containers": [{"name": "c", "image": "c:1"}]},
        "status": {"phase": "Running"}});
    recording.add(vec![node], "v1", "Node");
    recording.add(vec![pod], "v1", "Pod");
    let mut history = None;
    let row = |kind: &str, metadata: Value, node: Option<&str>| {
        json!({"apiVersion": "evenkeel/v1alpha1", "kind": kind, "metadata": metadata,
            "node": node, "start": "2026-11-20T12:00:00Z", "step": "5m",
            "cpu": [100, null, 300], "memory": [64, null, 65]})
    };
    for object in [
        row("NodeUsageHistory", json!({"name": "node-of-acme"}), None),
        row(
            "PodUsageHistory",
            json!({"namespace": "payroll", "name": "salaries-0"}),
            Some("node-that-acme-sold"),
        ),
    ] {
        let item = object::read(&object).unwrap().unwrap();
        item.add_to(&mut history).unwrap();
    }
    recording.history = history;
    let series = json!({"apiVersion": "evenkeel/v1alpha1", "kind": "GuardHistory",
        "metadata": {"name": "errors"}, "start": "2026-11-20T12:00:00Z", "step": "5m",
        "labels": {"namespace": "payroll", "pod": "salaries-0"}, "values": [0.5, null, 0]});
    recording.guards = vec![GuardHistory::read(&series).unwrap().unwrap()];
    recording
}

fn text(recording: &Recording) -> String {
    let mut text = Vec::new();
    recording.write(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn a_file_has_one_line_for_each_object_and_each_row_of_usage() {
    let recording = recording();
    let text = text(&recording);
    assert_eq!(text.lines().count(), 2 + 5, "{text}");
    let read = cluster_file::parse(&text).unwrap();
    assert_eq!(read.history, recording.history);
    assert_eq!(read.guards, recording.guards);
    let usage = "usage over 10m of 1 node and 1 pod, measured at 2 of 3 times";
    assert_eq!(read.summary(), format!("1 node, 1 pod; no metrics; {usage}"));
    assert_eq!(
        recording.summary(),
        format!("1 node, 1 pod, 2 objects in total; metrics of 0 nodes and 0 pods; {usage}")
    );
}

#[test]
fn scrambled_names_of_the_history_are_those_of_the_objects() {
    let mut recording = recording();
    recording.scramble(7);
    let text = text(&recording);
    for word in ["acme", "payroll", "salaries"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    let history = recording.history.unwrap();
    let pod = ("namespace-1".to_owned(), "pod-1".to_owned());
    assert_eq!(history.pods[&pod].usage.get(2).unwrap().cpu.get(), 300_000_000);
    assert!(history.nodes.contains_key("node-1"));
    let labels = &recording.guards[0].labels;
    assert_eq!((labels["namespace"].as_str(), labels["pod"].as_str()), ("namespace-1", "pod-1"));
    assert!(text.contains(r#""name":"pod-1","namespace":"namespace-1""#), "{text}");
}

#[test]
fn a_guard_whose_label_names_a_workload_of_any_kind_names_it_when_scrambled() {
    let mut recording = recording();
    let series = json!({"apiVersion": "evenkeel/v1alpha1", "kind": "GuardHistory",
        "metadata": {"name": "errors"}, "start": "2026-11-20T12:00:00Z", "step": "5m",
        "labels": {"namespace": "payroll", "workload": "salaries"}, "values": [0.5]});
    recording.guards = vec![GuardHistory::read(&series).unwrap().unwrap()];
    for (api_version, kind, name) in [
        ("apps/v1", "StatefulSet", "workload-1"),
        ("batch/v1", "Job", "job-1"),
        ("apps/v1", "ReplicaSet", "replicaset-1"),
        ("v1", "ReplicationController", "controller-1"),
        ("v1", "Service", "workload-0"),
    ] {
        let mut recording = Recording { guards: recording.guards.clone(), ..Recording::default() };
        let workload = json!({"metadata": {"namespace": "payroll", "name": "salaries"}});
        recording.add(vec![workload], api_version, kind);
        recording.scramble(7);
        assert_eq!(recording.guards[0].labels["workload"], name, "{kind}");
    }
}

#[test]
fn a_kind_without_objects_is_recorded_as_an_empty_list() {
    let mut recording = recording();
    let lacks = |recording: &Recording| {
        let read = cluster_file::parse(&text(recording)).unwrap();
        let snapshot = Snapshot::join(&read.objects, []);
        snapshot.lacking.contains_key(&ObjectKind::Claim)
    };
    assert!(lacks(&recording));
    recording.add_empty("v1", "PersistentVolumeClaim");
    assert!(!lacks(&recording));
}
