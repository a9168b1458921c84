//! The contents of a snapshot, and the plan that is made from it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{renamed, scrambled_names, strip};
use crate::decide::engine::Engine;
use crate::model::ledger::Ledger;
use crate::model::plan::Plan;
use crate::model::snapshot::{Snapshot, import};
use crate::policy::Policy;

mod decisions;

const RICH: &str = r"
apiVersion: v1
kind: Pod
metadata:
  name: shop-secret-name-1
  namespace: shop-secret
  uid: u-secret
  creationTimestamp: '2026-01-01T00:00:00Z'
  managedFields: [{manager: secret-manager}]
  labels: {app: secret-app, rev: '7', app.kubernetes.io/name: secret-app}
  annotations:
    descheduler.alpha.kubernetes.io/evict: 'true'
    controller.kubernetes.io/pod-deletion-cost: '-5'
    cluster-autoscaler.kubernetes.io/safe-to-evict: 'false'
    kubernetes.io/config.mirror: secret-hash
    kubectl.kubernetes.io/last-applied-configuration: secret-configuration
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: secret-rs, controller: true,
    uid: secret-uid}]
spec:
  nodeName: secret-node
  priority: 10
  schedulerName: secret-scheduler
  serviceAccountName: secret-account
  hostname: secret-host
  imagePullSecrets: [{name: secret-pull}]
  schedulingGates: [{name: secret.io/gate}]
  nodeSelector: {secret-disk: secret-ssd}
  containers:
  - name: secret-c
    image: 'secret.io/web:7'
    command: [secret-command]
    args: ['--password=secret']
    env: [{name: PASSWORD, value: secret}]
    envFrom: [{secretRef: {name: secret}}]
    resources: {requests: {cpu: 250m, memory: 1Mi, secret.io/fpga: '1'}}
    ports: [{containerPort: 80, hostPort: 8080, name: secret, hostIP: 10.9.8.7}]
    livenessProbe: {exec: {command: [secret]}}
  initContainers: [{name: secret-i, image: 'secret-init', restartPolicy: Always,
    resources: {limits: {cpu: '1'}}}]
  topologySpreadConstraints:
  - {maxSkew: 1, topologyKey: secret-zone, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [rev],
    labelSelector: {matchLabels: {app: secret-app}}}
  resourceClaims: [{name: secret-gpu}]
  resources: {requests: {cpu: '1'}}
  tolerations:
  - {operator: Exists}
  - {key: secret-taint, value: secret-b, effect: NoExecute}
  - {key: secret-sla, operator: Gt, value: '90'}
  volumes:
  - {name: secret-tmp, emptyDir: {}}
  - {name: secret-host, hostPath: {path: /secret}}
  - {name: secret-data, persistentVolumeClaim: {claimName: secret-data-0}}
  - {name: secret-s, secret: {secretName: secret}}
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: secret-cores, operator: Gt, values: ['7']}]
        - matchFields: [{key: metadata.name, operator: In, values: [secret-node]}]
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 60, preference: {matchExpressions: [{key: secret-disk, operator: In,
        values: [secret-nvme]}]}}
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: secret-app}},
        namespaceSelector: {}, namespaces: [secret-ns]}
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 40, podAffinityTerm: {topologyKey: secret-zone,
        labelSelector: {matchLabels: {app: secret-batch}}}}
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: secret-zone, labelSelector: {matchLabels: {app: secret-db}}}
status:
  phase: Running
  startTime: '2026-01-01T00:00:05Z'
  allocatedResources: {cpu: '3'}
  resources: {requests: {cpu: '3'}}
  message: secret words
  podIP: 10.1.2.3
  hostIP: 10.1.2.4
  conditions:
  - {type: Ready, status: 'True', message: secret words}
  - {type: secret.io/gate, status: 'False', reason: Unschedulable,
    lastTransitionTime: '2026-01-01T00:00:03Z'}
  containerStatuses:
  - {name: secret-c, restartCount: 120, state: {waiting: {reason: CrashLoopBackOff,
    message: secret}}, imageID: secret-sha}
";

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

fn others() -> Vec<Value> {
    [
        "{apiVersion: v1, kind: Node, metadata: {name: n1,
         labels: {kubernetes.io/hostname: n1, topology.kubernetes.io/zone: za},
           annotations: {cluster-autoscaler.kubernetes.io/scale-down-disabled: 'true'}},
          spec: {unschedulable: true, providerID: x,
            taints: [{key: gpu, value: t4, effect: NoSchedule}]},
          status: {allocatable: {cpu: 7910m, memory: 4Ki},
            images: [{names: ['web:7'], sizeBytes: 9}],
                   conditions: [{type: Ready, status: 'False'}]}}",
        "{apiVersion: policy/v1, kind: PodDisruptionBudget,
         metadata: {name: b, namespace: d, generation: 3},
          spec: {selector: {matchExpressions: [{key: app, operator: NotIn, values: [a, b]}]},
            unhealthyPodEvictionPolicy: AlwaysAllow},
          status: {disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, \
            observedGeneration: 2}}",
        "{apiVersion: v1, kind: Namespace, metadata: {name: d, labels: {team: a},
           annotations: {evenkeel.io/pause: '',
             evenkeel.io/pause-until: '2026-11-21T14:00:00Z'},
           deletionTimestamp: '2026-11-21T13:00:00Z'}}",
        "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 7}",
        "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, namespace: d,
           annotations: {volume.beta.kubernetes.io/storage-class: old}}, spec: {storageClassName: \
            ssd, volumeName: v, accessModes: [ReadWriteOncePod]}}",
        "{apiVersion: v1, kind: PersistentVolume,
         metadata: {name: v, labels: {topology.kubernetes.io/zone: za__zb}},
          spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: \
            kubernetes.io/hostname, operator: In, values: [n1]}]}]}}}}",
        "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: d}, spec: {selector: {app: a}, clusterIP: 10.0.0.1}}",
        "{apiVersion: apps/v1, kind: ReplicaSet,
         metadata: {name: r, namespace: d, ownerReferences: [{kind: Deployment, name: w,
           controller: true}]},
          spec: {template: {spec: {containers: [{env: [{value: x}]}]}}},
          status: {conditions: [{type: ReplicaFailure, status: 'True', reason: FailedCreate,
            message: exceeded quota}]}}",
        "{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: d},
          spec: {podReplacementPolicy: Failed},
          status: {failed: 1, uncountedTerminatedPods: {succeeded: [u0], failed: [u1, u2]}}}",
    ]
    .map(yaml)
    .into()
}

/// The facts of an object that decisions use.
fn facts(value: &Value) -> String {
    format!("{:?}", import::object(value).unwrap().unwrap())
}

fn scramble(objects: &[Value], seed: u64) -> Vec<Value> {
    renamed(objects, &mut scrambled_names(objects, seed))
}

#[test]
fn a_stripped_object_has_the_same_facts() {
    for object in others() {
        assert_eq!(facts(&strip(&object).unwrap()), facts(&object));
    }
    let pod = yaml(RICH);
    assert_eq!(facts(&strip(&pod).unwrap()), facts(&pod));
}

#[test]
fn a_pause_stays_and_its_reason_goes() {
    let paused = "{apiVersion: v1, kind: Namespace, metadata: {name: d, annotations: \
                  {evenkeel.io/pause: a secret, evenkeel.io/pause-by: alice}}}";
    let stripped = strip(&yaml(paused)).unwrap();
    let kept = &stripped["metadata"]["annotations"];
    assert_eq!(*kept, serde_json::json!({"evenkeel.io/pause": ""}));
}

#[test]
fn a_scrambled_annotation_keeps_only_the_values_that_decisions_tell_apart() {
    let value_of = |name: &str, value: &str| {
        let pod = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "p", "annotations": {name: value}}});
        let all = scramble(&[pod], 1);
        all[0]["metadata"]["annotations"][name].as_str().unwrap().to_owned()
    };
    for (name, value) in [
        ("cluster-autoscaler.kubernetes.io/safe-to-evict", "on-completion"),
        ("controller.kubernetes.io/pod-deletion-cost", "-5"),
        ("descheduler.alpha.kubernetes.io/evict", "No"),
        ("evenkeel.io/pause-until", "2026-11-21T14:00:00Z"),
        ("karpenter.sh/do-not-disrupt", "5m"),
        ("kubernetes.io/config.source", "api"),
    ] {
        assert_eq!(value_of(name, value), value, "{name}");
    }
    for (name, value) in [
        ("descheduler.alpha.kubernetes.io/eviction-in-progress", "migration by alice"),
        ("descheduler.alpha.kubernetes.io/request-evict-only", "ask alice@acme.com"),
        ("evenkeel.io/pause-until", "alice is back"),
    ] {
        assert_eq!(value_of(name, value), "text-1", "{name}");
    }
}

#[test]
fn a_scrambled_condition_keeps_its_type_and_reason_only_if_kubernetes_sets_it() {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
    "status": {"conditions": [
        {"type": "Ready", "status": "False", "reason": "KubeletNotReady"},
        {"type": "PayrollDiskBad", "status": "False", "reason": "PayrollFine"},
    ]}});
    let conditions = &scramble(&[node], 1)[0]["status"]["conditions"];
    let expected = json!([
        {"type": "Ready", "status": "False", "reason": "KubeletNotReady"},
        {"type": "example.com/condition-1", "status": "False", "reason": "Reason1"},
    ]);
    assert_eq!(*conditions, expected);
}

#[test]
fn fields_and_kinds_that_no_plan_needs_are_left_out() {
    let text = strip(&yaml(RICH)).unwrap().to_string();
    for gone in [
        "PASSWORD",
        "password",
        "command",
        "manager",
        "configuration",
        "words",
        "pull",
        "sha",
        "account",
        "/secret",
        "10.1.2",
        "secret-hash",
    ] {
        assert!(!text.contains(gone), "{gone}: {text}");
    }
    for kind in ["Secret", "ConfigMap", "Event"] {
        assert_eq!(
            strip(&json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}})),
            None
        );
    }
}

#[test]
fn scrambled_names_contain_nothing_of_the_real_ones() {
    let all = scramble(&[yaml(RICH)], 1);
    let text = all[0].to_string();
    for real in ["secret", "10.9.8.7", "rev", "shop"] {
        assert!(!text.contains(real), "{real}: {text}");
    }
    for kept in [
        "app.kubernetes.io/name",
        "descheduler.alpha.kubernetes.io/evict",
        "CrashLoopBackOff",
        "ReplicaSet",
        "kubernetes.io/hostname",
    ] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
}

#[test]
fn references_between_objects_survive_scrambling() {
    let mut objects = others();
    objects.push(yaml(RICH));
    objects.push(json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": "secret-rs", "namespace": "shop-secret"}}));
    let all = scramble(&objects, 3);
    let of = |kind: &str, pointer: &str| -> Vec<Value> {
        all.iter()
            .filter(|o| o["kind"] == kind)
            .filter_map(|o| o.pointer(pointer).cloned())
            .collect()
    };
    let owner = &of("Pod", "/metadata/ownerReferences/0/name")[0];
    assert!(of("ReplicaSet", "/metadata/name").contains(owner));
    let node = of("Node", "/metadata/name");
    assert_eq!(of("Node", "/metadata/labels/kubernetes.io~1hostname"), node);
    let term = "/spec/nodeAffinity/required/nodeSelectorTerms/0/matchExpressions/0/values/0";
    assert_eq!(of("PersistentVolume", term), node);
    assert_eq!(
        of("PersistentVolumeClaim", "/spec/volumeName"),
        of("PersistentVolume", "/metadata/name")
    );
    let zones = of("PersistentVolume", "/metadata/labels/topology.kubernetes.io~1zone");
    let zone = of("Node", "/metadata/labels/topology.kubernetes.io~1zone");
    assert!(zones[0].as_str().unwrap().starts_with(zone[0].as_str().unwrap()), "{zones:?}");
    // Values that are compared as numbers stay numbers.
    assert_eq!(of("Pod", "/spec/tolerations/2/value"), [json!("90")]);
    assert_eq!(
        of(
            "Pod",
            "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution\
             /nodeSelectorTerms/0/matchExpressions/0/values"
        ),
        [json!(["7"])]
    );
    assert_eq!(all, scramble(&objects, 3));
}

#[test]
fn a_nomination_and_the_preemption_policy_survive_scrambling() {
    let node = others().remove(0);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"preemptionPolicy": "Never"}, "status": {"nominatedNodeName": "n1"}});
    assert_eq!(facts(&strip(&pod).unwrap()), facts(&pod));
    let all = scramble(&[node, pod], 5);
    assert_ne!(all[0]["metadata"]["name"], "n1");
    assert_eq!(all[1]["status"]["nominatedNodeName"], all[0]["metadata"]["name"]);
    assert_eq!(all[1]["spec"]["preemptionPolicy"], "Never");
}

#[test]
fn another_seed_gives_other_names() {
    let nodes: Vec<Value> = (0..9)
        .map(|i| {
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{i}"),
            "generation": i}})
        })
        .collect();
    let order = |seed| {
        scramble(&nodes, seed)
            .iter()
            .map(|n| n["metadata"]["generation"].clone())
            .collect::<Vec<_>>()
    };
    assert_ne!(order(1), order(2));
}

/// A StatefulSet that waits for its first pod, on a hot node.
fn ordered_set() -> Vec<Value> {
    let mut all = Vec::new();
    for (name, cpu) in [("n1", "7"), ("n2", "500m"), ("n3", "500m")] {
        let size = json!({"cpu": "8", "memory": "32Gi", "pods": "110"});
        let ready = json!([{"type": "Ready", "status": "True"}]);
        all.push(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "status": {"allocatable": size, "conditions": ready}}));
        all.push(json!({"apiVersion": "metrics.k8s.io/v1beta1", "kind": "NodeMetrics",
            "metadata": {"name": name}, "timestamp": "2026-11-21T12:00:00Z", "window": "30s",
            "usage": {"cpu": cpu, "memory": "1Gi"}}));
    }
    for (name, ready) in [("db-0", "False"), ("db-1", "True"), ("db-2", "True")] {
        let owner = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db",
            "controller": true});
        all.push(json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "uid": name,
                "creationTimestamp": "2026-11-20T12:00:00Z", "ownerReferences": [owner]},
            "spec": {"nodeName": "n1", "containers": [{"name": "c"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}}));
        all.push(json!({"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
            "metadata": {"name": name, "namespace": "default"},
            "timestamp": "2026-11-21T12:00:00Z", "window": "30s",
            "containers": [{"name": "c", "usage": {"cpu": "2", "memory": "1Gi"}}]}));
    }
    all.push(json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default"}, "spec": {"replicas": 3}}));
    all
}

#[test]
fn the_pods_of_a_scrambled_stateful_set_keep_their_order() {
    let objects = ordered_set();
    let real = shape(&plan(&objects));
    assert!(real.contains(&"waits-in-order 2".to_owned()), "{real:?}");
    let scrambled = scramble(&objects, 3);
    assert_eq!(shape(&plan(&scrambled)), real);
    let names = |kind: &str| -> Vec<&str> {
        let all = scrambled.iter().filter(|object| object["kind"] == kind);
        all.filter_map(|object| object["metadata"]["name"].as_str()).collect()
    };
    for pods in [names("Pod"), names("PodMetrics")] {
        assert_eq!(pods, ["workload-1-0", "workload-1-1", "workload-1-2"]);
    }
}

/// The plan of the built-in policy for these objects.
fn plan(objects: &[Value]) -> Plan {
    let text = serde_json::to_string(objects).unwrap();
    let cluster = crate::files::cluster_file::parse(&text).unwrap();
    let policy = Policy::parse("built-in policy", Policy::BUILT_IN).unwrap();
    let now = cluster.newest_metrics(policy.usage.stale_after).unwrap();
    let snapshot = Snapshot::join(&cluster.objects, policy.resources());
    let mut engine = Engine::new(policy, Ledger::default());
    engine.observe_steady(&snapshot, &cluster.readings, now);
    engine.decide(&snapshot, now)
}

/// A plan without its names: the moves per node, the refusals per code, and the balance.
fn shape(plan: &Plan) -> Vec<String> {
    let mut lines: Vec<String> =
        plan.before.nodes.iter().map(|n| format!("before {:?}", n.ratios)).collect();
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for planned in &plan.moves {
        *left.entry(&planned.node).or_default() += 1;
    }
    lines.extend(left.values().map(|n| format!("leave {n}")));
    let mut kept: BTreeMap<&str, usize> = BTreeMap::new();
    for stays in &plan.kept {
        *kept.entry(stays.refusal.code()).or_default() += 1;
    }
    lines.extend(kept.iter().map(|(code, n)| format!("{code} {n}")));
    lines.extend(plan.steering.iter().map(|steer| format!("steering {}", steer.action.code())));
    lines.extend(plan.before.balance.iter().map(|(r, b)| format!("{r} {}", b.deviation)));
    lines.extend(plan.after.balance.iter().map(|(r, b)| format!("{r} {}", b.deviation)));
    lines.sort();
    lines
}

#[test]
fn a_plan_from_a_snapshot_equals_the_plan_from_the_cluster() {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/late-nodes.yaml"))
            .unwrap();
    let list = yaml(&text);
    let whole = list["items"].as_array().unwrap();
    let stripped: Vec<Value> = whole.iter().filter_map(strip).collect();
    let from_whole = plan(whole);
    assert!(!from_whole.moves.is_empty());
    assert_eq!(
        serde_json::to_string(&plan(&stripped)).unwrap(),
        serde_json::to_string(&from_whole).unwrap()
    );
    for seed in 0..3 {
        let scrambled = scramble(&stripped, seed);
        assert_eq!(scrambled.len(), stripped.len());
        assert_eq!(shape(&plan(&scrambled)), shape(&from_whole));
    }
}
