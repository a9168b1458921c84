//! A scenario's nodes and workloads as Kubernetes objects.

use evenkeel::model::snapshot::facts::{Effect, Tolerates, Toleration};
use evenkeel::model::usage::Measure;
use evenkeel::simulate::load::Moment;
use evenkeel::simulate::scenario::{
    BudgetRule, Evenness, NodeSpec, Part, Scenario, ScenarioWorkload, WorkloadKind,
};
use evenkeel::values::Amount;
use evenkeel::values::selector::{NodeTerm, Requirement, Test};
use serde_json::{Map, Value, json};

/// The DaemonSet that uses the scenario's system usage on each node.
pub const SYSTEM: &str = "system";
pub const CPU: &str = "kwok.x-k8s.io/usage-cpu";
pub const MEMORY: &str = "kwok.x-k8s.io/usage-memory";

/// A node as `nodes.sh` makes it.
pub fn node(spec: &NodeSpec) -> Value {
    let path = format!("/metrics/nodes/{}/metrics/resource", spec.name);
    let taint = |t: &evenkeel::model::snapshot::facts::Taint| {
        json!({"key": t.key, "value": t.value,
        "effect": effect(t.effect)})
    };
    let taints: Vec<Value> = spec.taints.iter().map(taint).collect();
    let has = amounts(&spec.allocatable);
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": spec.name, "labels": spec.labels,
            "annotations": {"metrics.k8s.io/resource-metrics-path": path,
                "kwok.x-k8s.io/node": "fake"},
        },
        "spec": {"taints": taints},
        "status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"},
                {"type": "Hostname", "address": spec.name}],
            "allocatable": has, "capacity": has,
        },
    })
}

/// The namespaces, and a DaemonSet for the usage that no pod of the scenario accounts for. It
/// requests nothing, so the scheduler ignores it.
pub fn setting(scenario: &Scenario) -> Vec<Value> {
    let namespace =
        |name: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let mut all: Vec<Value> = scenario.namespaces().into_iter().map(namespace).collect();
    let base = scenario.nodes.first().map(|node| node.base).unwrap_or_default();
    let requests = json!({"cpu": "0", "memory": "0"});
    all.push(json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": SYSTEM, "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": {"app": SYSTEM}},
            "template": {
                "metadata": {"labels": {"app": SYSTEM}, "annotations": usage(base)},
                "spec": {
                    "tolerations": [{"operator": "Exists"}],
                    "containers": [{"name": "main", "image": "main",
                        "resources": {"requests": requests}}],
                },
            },
        },
    }));
    all
}

/// A workload with its budget.
pub fn workload(workload: &ScenarioWorkload) -> Vec<Value> {
    let mut labels = workload.labels.clone();
    labels.insert("app".to_owned(), workload.name.clone());
    let annotations = usage(workload.load().at(Moment::default()));
    let template =
        json!({"metadata": {"labels": labels, "annotations": annotations}, "spec": pod(workload)});
    let metadata = json!({"name": workload.name, "namespace": workload.namespace});
    let selector = json!({"matchLabels": {"app": workload.name}});
    let spec = match workload.kind {
        WorkloadKind::Deployment => {
            json!({"replicas": workload.replicas, "selector": selector, "template": template})
        }
        // The simulator creates all replicas at once.
        WorkloadKind::StatefulSet => json!({
            "replicas": workload.replicas, "selector": selector, "template": template,
            "serviceName": workload.name,
            "podManagementPolicy": "Parallel",
        }),
        WorkloadKind::DaemonSet => json!({"selector": selector, "template": template}),
        WorkloadKind::Job | WorkloadKind::Bare => {
            panic!("{}: a {} is not played", workload.name, workload.kind.name())
        }
    };
    let mut all =
        vec![json!({"apiVersion": "apps/v1", "kind": workload.kind.name(), "metadata": metadata,
            "spec": spec})];
    all.extend(workload.budget.map(|rule| {
        let spec = match rule {
            BudgetRule::Least(part) => json!({"minAvailable": share(part), "selector": selector}),
            BudgetRule::Most(part) => json!({"maxUnavailable": share(part), "selector": selector}),
        };
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata,
            "spec": spec})
    }));
    all
}

/// The annotations that make a pod use this amount.
pub fn usage(used: Measure) -> Value {
    json!({CPU: format!("{}n", used.cpu.get()), MEMORY: used.memory.get().to_string()})
}

fn pod(workload: &ScenarioWorkload) -> Value {
    let requests = json!({"requests": amounts(&workload.requests)});
    let apart = |key: &String| {
        json!({"labelSelector": {"matchLabels": {"app": workload.name}},
        "topologyKey": key})
    };
    let apart: Vec<Value> = workload.apart.iter().map(apart).collect();
    let preferred =
        |(weight, term): &(i32, NodeTerm)| json!({"weight": weight, "preference": node_term(term)});
    let preferred: Vec<Value> = workload.preferred_nodes.iter().map(preferred).collect();
    let mut nodes = json!({"preferredDuringSchedulingIgnoredDuringExecution": preferred});
    if let Some(terms) = &workload.required_nodes {
        let terms: Vec<Value> = terms.iter().map(node_term).collect();
        nodes["requiredDuringSchedulingIgnoredDuringExecution"] =
            json!({"nodeSelectorTerms": terms});
    }
    let everything = || vec![json!({"operator": "Exists"})];
    let tolerations = if workload.kind == WorkloadKind::DaemonSet {
        everything()
    } else {
        workload.tolerations.iter().map(toleration).collect()
    };
    assert!(
        workload.priority == 0 && !workload.empty_dir,
        "{}: a priority or an emptyDir is not played",
        workload.name
    );
    json!({
        "containers": [{"name": "main", "image": "main", "resources": requests}],
        "affinity": {
            "nodeAffinity": nodes,
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": apart},
        },
        "nodeSelector": workload.node_selector, "tolerations": tolerations,
        "topologySpreadConstraints": workload.spread.iter().map(|s| spread(workload, s)).collect::<Vec<_>>(),
        "terminationGracePeriodSeconds": 1,
    })
}

fn spread(workload: &ScenarioWorkload, evenness: &Evenness) -> Value {
    json!({
        "maxSkew": evenness.max_skew, "topologyKey": evenness.topology_key,
        "whenUnsatisfiable": if evenness.hard { "DoNotSchedule" } else { "ScheduleAnyway" },
        "labelSelector": {"matchLabels": {"app": workload.name}},
    })
}

fn node_term(term: &NodeTerm) -> Value {
    json!({
        "matchExpressions": term.labels.requirements().iter().map(expression).collect::<Vec<_>>(),
        "matchFields": term.fields.requirements().iter().map(expression).collect::<Vec<_>>(),
    })
}

fn expression(requirement: &Requirement) -> Value {
    let (operator, values) = match &requirement.test {
        Test::In(values) => ("In", values.clone()),
        Test::NotIn(values) => ("NotIn", values.clone()),
        Test::Exists => ("Exists", Vec::new()),
        Test::Absent => ("DoesNotExist", Vec::new()),
        Test::Above(bound) => ("Gt", vec![bound.to_string()]),
        Test::Below(bound) => ("Lt", vec![bound.to_string()]),
    };
    json!({"key": requirement.key, "operator": operator, "values": values})
}

fn toleration(one: &Toleration) -> Value {
    let mut fields = Map::new();
    fields.extend(one.key.as_ref().map(|key| ("key".to_owned(), json!(key))));
    fields.extend(one.effect.map(|e| ("effect".to_owned(), json!(effect(e)))));
    let (operator, value) = match &one.operator {
        Tolerates::Any => ("Exists", None),
        Tolerates::Equal(value) => ("Equal", Some(value.clone())),
        Tolerates::Above(bound) => ("Gt", Some(bound.to_string())),
        Tolerates::Below(bound) => ("Lt", Some(bound.to_string())),
    };
    fields.insert("operator".to_owned(), json!(operator));
    fields.extend(value.map(|value| ("value".to_owned(), json!(value))));
    Value::Object(fields)
}

const fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::NoSchedule => "NoSchedule",
        Effect::PreferNoSchedule => "PreferNoSchedule",
        Effect::NoExecute => "NoExecute",
    }
}

fn share(part: Part) -> Value {
    match part {
        Part::Count(n) => json!(n),
        Part::Share(share) => json!(format!("{:.0}%", share.get() * 100.0)),
    }
}

/// Quantities: cpu is counted in billionths, everything else in its own units.
fn amounts(all: &[(String, Amount)]) -> Value {
    let quantity = |(name, amount): &(String, Amount)| {
        let unit = if name == "cpu" { "n" } else { "" };
        (name.clone(), json!(format!("{}{unit}", amount.get())))
    };
    all.iter().map(quantity).collect::<Map<_, _>>().into()
}
