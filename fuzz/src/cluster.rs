//! Random small clusters from the bytes of an input. Most values are usual; some are extreme.

use evenkeel::model::usage::{ContainerSet, Measure, Readings, Sample};
use evenkeel::values::Amount;
use jiff::{SignedDuration, Timestamp};
use libfuzzer_sys::arbitrary::Unstructured;
use serde_json::{Value, json};

/// The time of every plan.
pub const NOW: &str = "2026-11-21T12:00:00Z";

const MOST_NODES: usize = 5;
const MOST_PODS: usize = 20;
const MOST_ENTRIES: usize = 6;

/// The policies. The input selects one.
pub const POLICIES: [&str; 6] = [
    "{apiVersion: evenkeel/v1alpha1, kind: Policy, evictable: {minPodAge: 0s, minReplicas: 1},
      strategies: [{lowNodeUtilization: {thresholds: {cpu: 30%, memory: 30%}, targetThresholds: {cpu: 50%, memory: 50%}}}]}",
    "{apiVersion: evenkeel/v1alpha1, kind: Policy, basis: requests, evictable: {minPodAge: 0s},
      limits: {perCycle: 3, perNode: 1, perWorkload: none}, steering: {taintHot: true, taintEmptying: true},
      strategies: [{highNodeUtilization: {thresholds: {cpu: 40%, memory: 40%}}}]}",
    "{apiVersion: evenkeel/v1alpha1, kind: Policy, evictable: {minPodAge: 0s, minReplicas: 1}, forecast: {tolerance: 100%},
      safety: {maxNotReady: 100%, maxPending: 100%}, steering: {taintHot: true},
      strategies: [{removeDuplicates: {}}, {removePodsViolatingTopologySpreadConstraint: {}},
        {removePodsViolatingInterPodAntiAffinity: {}}, {removePodsViolatingNodeAffinity: {nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution]}},
        {removePodsViolatingNodeTaints: {}}]}",
    "{apiVersion: evenkeel/v1alpha1, kind: Policy, evictable: {minPodAge: 0s, minReplicas: 1}, limits: {perMinute: 2},
      strategies: [{removePodsHavingTooManyRestarts: {podRestartThreshold: 3}}, {podLifeTime: {maxPodLifeTimeSeconds: 60}},
        {removeFailedPods: {}}]}",
    "{apiVersion: descheduler/v1alpha2, kind: DeschedulerPolicy, profiles: [{name: p, pluginConfig: [
      {name: DefaultEvictor, args: {nodeFit: true, evictLocalStoragePods: true}},
      {name: LowNodeUtilization, args: {thresholds: {cpu: 20, pods: 20}, targetThresholds: {cpu: 50, pods: 50}, useDeviationThresholds: true}}],
      plugins: {balance: {enabled: [LowNodeUtilization]}}}]}",
    "{apiVersion: evenkeel/v1alpha1, kind: Policy, evictable: {minPodAge: 0s, minReplicas: 1}, forecast: {tolerance: 100%},
      limits: {perCycle: none, perNode: none, perWorkload: none, perMinute: none},
      strategies: [{lowNodeUtilization: {basis: requests, thresholds: {cpu: 10%}, targetThresholds: {cpu: 20%}}},
        {removeDuplicates: {}}]}",
];

const CPU: [&str; 8] = ["100m", "500m", "1", "2", "4", "0", "1n", "9E"];
const MEMORY: [&str; 8] = ["64Mi", "1Gi", "4Gi", "8Gi", "16Gi", "0", "1", "8191Pi"];
const TIMES: [&str; 6] = [
    "2026-11-21T11:00:00Z",
    "2026-11-21T11:59:30Z",
    "2026-11-21T12:00:00Z",
    "2026-11-21T12:05:00Z",
    "-009999-01-02T01:59:59Z",
    "9999-12-30T22:00:00Z",
];
const APPS: [&str; 4] = ["a", "b", "c", "d"];
const ZONES: [&str; 3] = ["z1", "z2", "z3"];

/// The parts of a cluster.
pub struct Cluster {
    /// Nodes, pods, budgets and ReplicaSets.
    pub objects: Vec<Value>,
    pub readings: Readings,
    pub ledger: Value,
    pub policy: usize,
}

impl Cluster {
    pub fn of(bytes: &mut Unstructured<'_>) -> Self {
        let policy = number(bytes, POLICIES.len() - 1);
        let (nodes, pods) = (1 + number(bytes, MOST_NODES - 1), number(bytes, MOST_PODS));
        let mut objects: Vec<Value> = (0..nodes).map(|i| node(bytes, i)).collect();
        objects.extend((0..pods).map(|i| pod(bytes, i, nodes)));
        for app in &APPS[..number(bytes, 2)] {
            objects.push(budget(bytes, app));
        }
        let ledger = ledger(bytes, pods, nodes);
        let readings = readings(bytes, nodes, pods);
        Cluster { objects, readings, ledger, policy }
    }
}

fn number(bytes: &mut Unstructured<'_>, most: usize) -> usize {
    bytes.int_in_range(0..=most).unwrap_or_default()
}

fn choose<T: Copy>(bytes: &mut Unstructured<'_>, from: &[T]) -> T {
    *bytes.choose(from).unwrap_or(&from[0])
}

/// True for one byte of `n`.
fn once_in(bytes: &mut Unstructured<'_>, n: u8) -> bool {
    bytes.arbitrary::<u8>().unwrap_or(1) % n == 0
}

fn node(bytes: &mut Unstructured<'_>, i: usize) -> Value {
    let name = format!("n{i}");
    let mut taints = Vec::new();
    if once_in(bytes, 6) {
        let effect = choose(bytes, &["NoSchedule", "PreferNoSchedule", "NoExecute"]);
        let key = choose(bytes, &["a", "evenkeel.io/steer"]);
        taints.push(json!({"key": key, "value": "hot", "effect": effect}));
    }
    let ready = if once_in(bytes, 8) { "False" } else { "True" };
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {
            "kubernetes.io/hostname": name, "topology.kubernetes.io/zone": choose(bytes, &ZONES),
        }},
        "spec": {"unschedulable": once_in(bytes, 8), "taints": taints},
        "status": {
            "allocatable": {"cpu": choose(bytes, &CPU), "memory": choose(bytes, &MEMORY), "pods": choose(bytes, &["110", "3", "0"])},
            "conditions": [{"type": "Ready", "status": ready}],
        },
    })
}

fn pod(bytes: &mut Unstructured<'_>, i: usize, nodes: usize) -> Value {
    let app = choose(bytes, &APPS);
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("p{i}"), "namespace": "default", "uid": format!("u{i}"), "labels": {"app": app},
            "creationTimestamp": choose(bytes, &TIMES), "annotations": annotations(bytes),
        },
        "spec": {
            "priority": choose(bytes, &[0, 0, 0, 1000, -7, i32::MAX, i32::MIN]),
            "containers": [{"name": "c", "image": "i", "resources": resources(bytes)}],
        },
        "status": {
            "phase": choose(bytes, &["Running", "Running", "Running", "Pending", "Failed", "Succeeded"]),
            "conditions": [{"type": "Ready", "status": choose(bytes, &["True", "True", "False"])}],
            "containerStatuses": [{"name": "c", "restartCount": choose(bytes, &[0, 5, i32::MAX, -1]), "state": {"running": {}}}],
        },
    });
    if !once_in(bytes, 10) {
        pod["spec"]["nodeName"] = json!(format!("n{}", number(bytes, nodes)));
    }
    if !once_in(bytes, 10) {
        let kind = choose(bytes, &["ReplicaSet", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"]);
        let owner = json!({"apiVersion": "apps/v1", "kind": kind, "name": app, "uid": app, "controller": true});
        pod["metadata"]["ownerReferences"] = json!([owner]);
    }
    if once_in(bytes, 12) {
        pod["metadata"]["deletionTimestamp"] = json!(choose(bytes, &TIMES));
    }
    if once_in(bytes, 4) {
        place(bytes, &mut pod["spec"], app);
    }
    pod
}

fn annotations(bytes: &mut Unstructured<'_>) -> Value {
    match bytes.arbitrary::<u8>().unwrap_or_default() {
        0xf0 => json!({"controller.kubernetes.io/pod-deletion-cost": "-2147483648"}),
        0xf1 => json!({"karpenter.sh/do-not-disrupt": "5m"}),
        0xf2 => json!({"evenkeel.io/evict-single-replica": "true"}),
        0xf3 => json!({"descheduler.alpha.kubernetes.io/evict": "true"}),
        _ => json!({}),
    }
}

fn resources(bytes: &mut Unstructured<'_>) -> Value {
    let cpu = choose(bytes, &CPU);
    let requests = json!({"cpu": cpu, "memory": choose(bytes, &MEMORY)});
    if once_in(bytes, 4) {
        json!({"requests": requests, "limits": {"cpu": choose(bytes, &CPU)}})
    } else {
        json!({"requests": requests})
    }
}

/// Adds rules of placement.
fn place(bytes: &mut Unstructured<'_>, spec: &mut Value, app: &str) {
    let selector = json!({"matchLabels": {"app": app}});
    let key = choose(bytes, &["topology.kubernetes.io/zone", "kubernetes.io/hostname", "none"]);
    match number(bytes, 5) {
        0 => {
            let skew = choose(bytes, &[1, 2, i32::MAX]);
            let when = choose(bytes, &["DoNotSchedule", "ScheduleAnyway"]);
            spec["topologySpreadConstraints"] = json!([
                {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector}]);
        }
        1 => {
            let term = json!({"topologyKey": key, "labelSelector": selector});
            spec["affinity"] = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}});
        }
        2 => {
            let term = json!({"topologyKey": key, "labelSelector": selector});
            let weight = choose(bytes, &[1, 100]);
            spec["affinity"] = json!({"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": weight, "podAffinityTerm": term}]}});
        }
        3 => {
            let operator = choose(bytes, &["In", "NotIn", "Exists", "Gt"]);
            let term =
                json!({"matchExpressions": [{"key": key, "operator": operator, "values": ["z1"]}]});
            spec["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [term]}}});
        }
        4 => spec["tolerations"] = json!([{"operator": "Exists"}]),
        _ => spec["nodeSelector"] = json!({key: choose(bytes, &ZONES)}),
    }
}

fn budget(bytes: &mut Unstructured<'_>, app: &str) -> Value {
    json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": app, "namespace": "default", "generation": 1},
        "spec": {"selector": {"matchLabels": {"app": app}}, "maxUnavailable": 1},
        "status": {
            "observedGeneration": number(bytes, 2), "disruptionsAllowed": choose(bytes, &[0, 1, i32::MAX]),
            "currentHealthy": choose(bytes, &[3, 0, i32::MAX]), "desiredHealthy": choose(bytes, &[2, 0, i32::MAX]),
        },
    })
}

fn ledger(bytes: &mut Unstructured<'_>, pods: usize, nodes: usize) -> Value {
    let entry = |bytes: &mut Unstructured<'_>| {
        let state = choose(bytes, &["intended", "deferred", "evicted"]);
        let ending = choose(bytes, &["helped", "sameNode", "hotNode", "notReplaced"]);
        let state = if once_in(bytes, 3) { json!({"settled": ending}) } else { json!(state) };
        let pod = number(bytes, pods);
        json!({
            "workload": format!("default/ReplicaSet/{}", choose(bytes, &APPS)), "pod": format!("p{pod}"),
            "uid": format!("u{pod}"), "node": format!("n{}", number(bytes, nodes)), "state": state,
            "at": choose(bytes, &TIMES), "newest": choose(bytes, &TIMES),
            "foreseen": [format!("n{}", number(bytes, nodes))],
        })
    };
    let count = number(bytes, MOST_ENTRIES);
    let entries: Vec<Value> = (0..count).map(|_| entry(bytes)).collect();
    let streak = json!({"useless": choose(bytes, &[1, u32::MAX]), "until": choose(bytes, &TIMES),
        "attempt": choose(bytes, &TIMES), "foreseen": choose(bytes, &[0, 1, u32::MAX])});
    let resting =
        if once_in(bytes, 3) { json!({"default/ReplicaSet/a": streak}) } else { json!({}) };
    json!({"version": 1, "entries": entries, "resting": resting})
}

fn readings(bytes: &mut Unstructured<'_>, nodes: usize, pods: usize) -> Readings {
    let mut readings = Readings::default();
    for i in 0..nodes {
        if !once_in(bytes, 10) {
            readings.nodes.insert(format!("n{i}"), sample(bytes));
        }
    }
    for i in 0..pods {
        if !once_in(bytes, 10) {
            let name = ("default".to_owned(), format!("p{i}"));
            readings.pods.insert(name, sample(bytes));
        }
    }
    readings
}

fn sample(bytes: &mut Unstructured<'_>) -> Sample {
    let now: Timestamp = NOW.parse().unwrap();
    let at = if once_in(bytes, 8) { choose(bytes, &TIMES).parse().unwrap() } else { now };
    let extreme = once_in(bytes, 16);
    let mut amount = |unit: u64| {
        let number: u64 = if extreme {
            bytes.arbitrary().unwrap_or_default()
        } else {
            u64::from(bytes.arbitrary::<u8>().unwrap_or_default()) * unit
        };
        Amount::new(number)
    };
    let (cpu, memory) = (amount(20_000_000), amount(32 << 20));
    Sample {
        at,
        window: SignedDuration::from_secs(15),
        used: Measure { cpu, memory },
        containers: ContainerSet::default(),
    }
}
