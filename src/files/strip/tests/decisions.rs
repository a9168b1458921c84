//! Small clusters with names that decisions read. A snapshot of each of them, with real and with
//! scrambled names, is decided like the cluster.

use serde_json::{Value, json};

use super::{plan, scramble, shape, strip};

const CREATED: &str = "2026-11-20T12:00:00Z";
const MEASURED: &str = "2026-11-21T12:00:00Z";

/// A node of 16 cores with its usage.
fn node(name: &str, used: &str, taints: &Value) -> [Value; 2] {
    let size = json!({"cpu": "16", "memory": "64Gi", "pods": "110"});
    let status = json!({"allocatable": size, "nodeInfo": {"operatingSystem": "linux"},
        "conditions": [{"type": "Ready", "status": "True"}]});
    let labels = json!({"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"});
    [
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "spec": {"taints": taints}, "status": status}),
        json!({"apiVersion": "metrics.k8s.io/v1beta1", "kind": "NodeMetrics",
            "metadata": {"name": name}, "timestamp": MEASURED, "window": "30s",
            "usage": {"cpu": used, "memory": "4Gi"}}),
    ]
}

fn object(api_version: &str, kind: &str, name: &str, rest: &Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "namespace": "default", "uid": format!("{kind}-{name}"),
            "creationTimestamp": CREATED}});
    join(&mut object, rest);
    object
}

/// Adds the fields of the second object to the first.
fn join(object: &mut Value, more: &Value) {
    match (object, more) {
        (Value::Object(fields), Value::Object(more)) => {
            for (name, value) in more {
                join(fields.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (object, more) => *object = more.clone(),
    }
}

fn owners(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"ownerReferences": [{"apiVersion": api_version, "kind": kind, "name": name,
        "uid": format!("{kind}-{name}"), "controller": true}]})
}

/// A running pod that uses a core, with more fields.
fn pod(name: &str, node: &str, more: &[&Value]) -> [Value; 2] {
    let rest = json!({
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "web:1"}]},
        "status": {"phase": "Running", "startTime": CREATED,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": CREATED}]},
    });
    let mut pod = object("v1", "Pod", name, &rest);
    for more in more {
        join(&mut pod, more);
    }
    let metrics = json!({"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
        "metadata": {"name": name, "namespace": "default"}, "timestamp": MEASURED,
        "window": "30s", "containers": [{"name": "c", "usage": {"cpu": "1", "memory": "64Mi"}}]});
    [pod, metrics]
}

/// Eight pods of a Deployment on a node, with more fields.
fn deployment(name: &str, on: &str, more: &dyn Fn(&str) -> Value) -> Vec<Value> {
    let set = format!("{name}-rs");
    let above = json!({"metadata": owners("apps/v1", "Deployment", name), "spec": {"replicas": 8}});
    let mut all = vec![object("apps/v1", "ReplicaSet", &set, &above)];
    let own = json!({"metadata": owners("apps/v1", "ReplicaSet", &set)});
    for i in 0..8 {
        let name = format!("{name}-{i}");
        all.extend(pod(&name, on, &[&own, &more(&name)]));
    }
    all
}

/// A hot node and two cold ones, the first of them with these taints.
fn nodes(taints: &Value) -> Vec<Value> {
    let none = json!([]);
    [node("n1", "15", &none), node("n2", "1", taints), node("n3", "1", &none)].concat()
}

/// A hot node and a cold one.
fn two_nodes(taints: &Value) -> Vec<Value> {
    nodes(taints)[..4].to_vec()
}

fn leaving(key: &str) -> Vec<Value> {
    let taints = json!([{"key": key, "value": "1764", "effect": "NoSchedule"}]);
    let tolerant = |_: &str| json!({"spec": {"tolerations": [{"operator": "Exists"}]}});
    [two_nodes(&taints), deployment("web", "n1", &tolerant)].concat()
}

fn steered() -> Vec<Value> {
    let taint = json!([{"key": "evenkeel.io/steer", "value": "hot", "effect": "PreferNoSchedule"}]);
    [nodes(&taint), deployment("web", "n1", &|_| json!({}))].concat()
}

/// Pods with one owner. They have no restart policy, so only the owner says what they are.
fn owned(api_version: &str, kind: &str) -> Vec<Value> {
    let own = json!({"metadata": owners(api_version, kind, "work")});
    let pods = (0..8).flat_map(|i| pod(&format!("work-{i}"), "n1", &[&own]));
    nodes(&json!([])).into_iter().chain(pods).collect()
}

/// Pods of a custom resource, each with a role of its own.
fn of_many_roles() -> Vec<Value> {
    let own = json!({"metadata": owners("kubernetes.dask.org/v1", "DaskCluster", "dask")});
    let pods = (0..8).flat_map(|i| {
        let role = format!("role-{i}");
        let labels = json!({"metadata": {"labels": {"dask.org/component": role}}});
        pod(&format!("dask-{i}"), "n1", &[&own, &labels])
    });
    nodes(&json!([])).into_iter().chain(pods).collect()
}

fn job_with_its_usual_manager() -> Vec<Value> {
    let job = json!({"spec": {"parallelism": 8, "completions": 100, "backoffLimit": 1000,
        "managedBy": "kubernetes.io/job-controller",
        "podReplacementPolicy": "TerminatingOrFailed"}, "status": {"startTime": CREATED}});
    let mut all = owned("batch/v1", "Job");
    all.push(object("batch/v1", "Job", "work", &job));
    all
}

/// Machines that migrate on eviction, each with the budget that KubeVirt makes for it.
fn machines() -> Vec<Value> {
    let mut all = nodes(&json!([]));
    for i in 0..6 {
        let name = format!("vm-{i}");
        let owners = owners("kubevirt.io/v1", "VirtualMachineInstance", &name);
        let labels = json!({"vm": name});
        let own = json!({"metadata": {"labels": labels, "annotations":
            {"descheduler.alpha.kubernetes.io/request-evict-only": ""}},
            "spec": {"restartPolicy": "Never"}});
        all.extend(pod(
            &format!("virt-launcher-{name}"),
            "n1",
            &[&json!({"metadata": owners}), &own],
        ));
        let budget = json!({"metadata": owners, "spec": {"minAvailable": 1,
            "selector": {"matchLabels": labels}}, "status": {"disruptionsAllowed": 0,
            "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}});
        all.push(object("policy/v1", "PodDisruptionBudget", &name, &budget));
    }
    all
}

fn pods_that_name_their_system() -> Vec<Value> {
    let labels = |_: &str| json!({"metadata": {"labels": {"kubernetes.io/os": "linux"}}});
    [nodes(&json!([])), deployment("web", "n1", &labels)].concat()
}

fn drivers(driver: &str, limits: [(&str, u32); 2]) -> Vec<Value> {
    let node = |(node, count)| {
        let driver = json!({"name": driver, "nodeID": "i", "allocatable": {"count": count}});
        object("storage.k8s.io/v1", "CSINode", node, &json!({"spec": {"drivers": [driver]}}))
    };
    limits.map(node).into()
}

/// A volume with its claim.
fn bound(claim: &str, source: &Value) -> [Value; 2] {
    let volume = format!("pv-{claim}");
    let bound = json!({"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {"storageClassName": "fast", "volumeName": volume,
            "accessModes": ["ReadWriteOnce"]}, "status": {"phase": "Bound"}});
    let mut of = json!({"spec": {"storageClassName": "fast",
        "claimRef": {"namespace": "default", "name": claim}}, "status": {"phase": "Bound"}});
    join(&mut of, &json!({"spec": source}));
    [
        object("v1", "PersistentVolumeClaim", claim, &bound),
        object("v1", "PersistentVolume", &volume, &of),
    ]
}

fn class(provisioner: &str) -> Value {
    let class = json!({"provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"});
    object("storage.k8s.io/v1", "StorageClass", "fast", &class)
}

/// Disks of a plugin that CSI migration has replaced. The cold node has no room for another one.
fn disks_of_a_replaced_plugin() -> Vec<Value> {
    let mut all = two_nodes(&json!([]));
    let disk = |pod: &str| {
        json!({"spec": {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName":
            format!("c-{pod}")}}]}})
    };
    all.extend(deployment("web", "n1", &disk));
    let own = json!({"metadata": owners("v1", "ReplicationController", "other")});
    all.extend(pod("other", "n2", &[&own, &disk("other")]));
    for pod in (0..8).map(|i| format!("web-{i}")).chain(["other".to_owned()]) {
        let source = json!({"awsElasticBlockStore": {"volumeID": format!("vol-{pod}")}});
        all.extend(bound(&format!("c-{pod}"), &source));
    }
    all.push(class("kubernetes.io/aws-ebs"));
    all.extend(drivers("ebs.csi.aws.com", [("n1", 9), ("n2", 1)]));
    all
}

/// Generic ephemeral volumes that are attached. The cold node has room for two more.
fn attached_ephemeral_volumes() -> Vec<Value> {
    let mut all = two_nodes(&json!([]));
    let scratch = |_: &str| {
        let template = json!({"spec": {"storageClassName": "fast"}});
        let volume = json!({"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}});
        json!({"spec": {"volumes": [volume]}})
    };
    all.extend(deployment("web", "n1", &scratch));
    let own = json!({"metadata": owners("v1", "ReplicationController", "other")});
    for name in ["other-0", "other-1"] {
        all.extend(pod(name, "n2", &[&own, &scratch(name)]));
    }
    let of_web = (0..8).map(|i| (format!("web-{i}"), "n1"));
    let of_other = (0..2).map(|i| (format!("other-{i}"), "n2"));
    for (pod, node) in of_web.chain(of_other) {
        let handle = format!("h-{pod}");
        let source = json!({"csi": {"driver": "csi.acme.com", "volumeHandle": handle}});
        all.extend(bound(&format!("{pod}-scratch"), &source));
        let attached = json!({"spec": {"attacher": "csi.acme.com", "nodeName": node,
            "source": {"persistentVolumeName": format!("pv-{pod}-scratch")}}});
        all.push(object("storage.k8s.io/v1", "VolumeAttachment", &pod, &attached));
    }
    all.push(class("csi.acme.com"));
    all.extend(drivers("csi.acme.com", [("n1", 9), ("n2", 4)]));
    all
}

/// Pods that share one volume, which its plugin does not attach to a node.
fn shared_files(source: &Value) -> Vec<Value> {
    let volume = json!({"name": "d", "persistentVolumeClaim": {"claimName": "files"}});
    let files = |_: &str| json!({"spec": {"volumes": [volume]}});
    let mut all = [nodes(&json!([])), deployment("web", "n1", &files)].concat();
    all.extend(bound("files", source));
    all.push(class("csi.acme.com"));
    all
}

/// Pods with a device that a device class provides for their extended resource.
fn devices() -> Vec<Value> {
    let device = json!({"extendedResourceClaimStatus": {"resourceClaimName": "gpu"}});
    [nodes(&json!([])), deployment("web", "n1", &|_| json!({"status": device}))].concat()
}

/// Another workload, whose pods a quota refuses.
fn over_quota() -> Vec<Value> {
    let condition = json!({"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
        "message": "pods \"a\" is forbidden: exceeded quota: compute, used: pods=8"});
    let set = object("apps/v1", "ReplicaSet", "a", &json!({"status": {"conditions": [condition]}}));
    [nodes(&json!([])), deployment("web", "n1", &|_| json!({})), vec![set]].concat()
}

/// A StatefulSet whose pods are of the revision before the newest one.
fn old_revision(partition: u32) -> Vec<Value> {
    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": partition}});
    let set = json!({"spec": {"replicas": 8, "podManagementPolicy": "Parallel",
        "updateStrategy": strategy}, "status": {"updateRevision": "db-b"}});
    let mut own = json!({"metadata": owners("apps/v1", "StatefulSet", "db")});
    join(&mut own, &json!({"metadata": {"labels": {"controller-revision-hash": "db-a"}}}));
    let pods = (0..8).flat_map(|i| pod(&format!("db-{i}"), "n1", &[&own]));
    let mut all: Vec<Value> = nodes(&json!([])).into_iter().chain(pods).collect();
    all.push(object("apps/v1", "StatefulSet", "db", &set));
    all
}

#[test]
fn a_snapshot_is_decided_like_its_cluster_with_real_and_with_scrambled_names() {
    let clusters = [
        ("leave", nodes_and(&deployment("web", "n1", &|_| json!({})))),
        ("would-land-closed", leaving("ToBeDeletedByClusterAutoscaler")),
        ("would-land-closed", leaving("karpenter.sh/disrupted")),
        ("would-land-closed", leaving("karpenter.sh/disruption")),
        ("steering remove", steered()),
        ("runs-to-completion", owned("tekton.dev/v1", "TaskRun")),
        ("runs-to-completion", owned("argoproj.io/v1alpha1", "Workflow")),
        ("runs-to-completion", owned("sparkoperator.k8s.io/v1", "SparkApplication")),
        ("runs-to-completion", owned("kubeflow.org/v1", "PyTorchJob")),
        ("too-few-replicas", of_many_roles()),
        ("leave", job_with_its_usual_manager()),
        ("leave", machines()),
        ("leave", pods_that_name_their_system()),
        ("no-room", disks_of_a_replaced_plugin()),
        ("leave", attached_ephemeral_volumes()),
        ("leave", shared_files(&json!({"nfs": {"server": "s", "path": "/"}}))),
        ("shared-volume", shared_files(&json!({"csi": {"driver": "csi.acme.com"}}))),
        ("resource-claims", devices()),
        ("no-replacement", over_quota()),
        ("other-revision", old_revision(0)),
        ("leave", old_revision(8)),
    ];
    let mut others = Vec::new();
    for (number, (decided, cluster)) in clusters.into_iter().enumerate() {
        let real = shape(&plan(&cluster));
        assert!(real.iter().any(|line| line.starts_with(decided)), "{number}: {real:#?}");
        let stripped: Vec<Value> = cluster.iter().filter_map(strip).collect();
        let scrambled = (0..3).map(|seed| scramble(&stripped, seed));
        for (copy, objects) in [stripped.clone()].into_iter().chain(scrambled).enumerate() {
            let decided = shape(&plan(&objects));
            if decided != real {
                others.push(format!("{number}.{copy}: {decided:?} instead of {real:?}"));
            }
        }
    }
    assert!(others.is_empty(), "{others:#?}");
}

fn nodes_and(others: &[Value]) -> Vec<Value> {
    [nodes(&json!([])), others.to_vec()].concat()
}
