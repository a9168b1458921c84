//! Workloads by chance, and their pods.

use serde_json::{Value, json};

use super::cluster::{HOSTNAME, IMAGES, Theme, ZONE};
use super::dice::Dice;

const APPS: [&str; 5] = ["web", "api", "db", "cache", "batch"];
const TOPOLOGIES: [&str; 4] = [HOSTNAME, ZONE, ZONE, "disk"];
const CPU: [&str; 12] =
    ["10m", "50m", "100m", "100m", "250m", "333m", "500m", "500m", "1", "1500m", "2", "0.7"];
const MEMORY: [&str; 11] =
    ["32Mi", "64Mi", "128Mi", "200M", "256Mi", "512Mi", "1Gi", "2Gi", "3500M", "4Gi", "100000Ki"];

/// The nodes that workloads may refer to.
pub struct Place {
    pub nodes: Vec<String>,
}

/// Pods of one kind.
pub struct Workload {
    kind: &'static str,
    namespace: &'static str,
    name: String,
    labels: Value,
    spec: Value,
    volumes: Option<&'static str>,
    seed: u64,
    made: u64,
    /// Objects that belong to it and are not handed out yet.
    pub objects: Vec<Value>,
    zones: Vec<String>,
    nodes: Vec<String>,
}

impl Workload {
    pub fn roll(theme: &Theme, place: &Place, dice: &mut Dice, seed: u64, i: u64) -> Self {
        let app = dice.pick(&APPS);
        let kind =
            dice.pick(&["ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet", "Job", "Bare"]);
        let namespace = dice.pick(&["shop", "shop", "bank", "lab"]);
        let hash = dice.letters(9);
        let name = match kind {
            "ReplicaSet" => format!("{app}-{i}-{hash}"),
            _ => format!("{app}-{i}"),
        };
        let mut labels = json!({"app": app, "instance": format!("{app}-{i}"),
            "tier": dice.pick(&["front", "back"])});
        match kind {
            "ReplicaSet" => labels["pod-template-hash"] = json!(hash),
            "StatefulSet" => labels["controller-revision-hash"] = json!(format!("{name}-{hash}")),
            _ => {}
        }
        let mut workload = Workload {
            kind,
            namespace,
            name,
            spec: spec(theme, place, dice, app),
            labels,
            volumes: dice
                .percent(theme.volumes)
                .then(|| dice.pick(&["own", "own", "own", "shared", "shared", "once"])),
            seed,
            made: 0,
            objects: Vec::new(),
            zones: (1..=4).map(|z| format!("z{z}")).collect(),
            nodes: place.nodes.clone(),
        };
        workload.add_controller();
        if dice.percent(theme.services) {
            workload.add_service(dice, i);
        }
        if workload.volumes.is_some_and(|v| v != "own") {
            workload.add_volume(dice, 0);
        }
        workload
    }

    fn add_controller(&mut self) {
        if !["ReplicaSet", "StatefulSet"].contains(&self.kind) {
            return;
        }
        let template = json!({"metadata": {"labels": self.labels},
            "spec": {"containers": [{"name": "main", "image": "main"}]}});
        let mut select = self.labels.clone();
        select
            .as_object_mut()
            .unwrap()
            .retain(|key, _| ["app", "instance", "pod-template-hash"].contains(&key.as_str()));
        let mut controller = json!({
            "apiVersion": "apps/v1", "kind": self.kind,
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {"replicas": 3, "selector": {"matchLabels": select}, "template": template},
        });
        if self.kind == "StatefulSet" {
            controller["spec"]["serviceName"] = json!(self.name);
        } else {
            let deployment = self.name.rsplit_once('-').unwrap().0;
            controller["metadata"]["ownerReferences"] = owner("Deployment", deployment);
        }
        self.objects.push(controller);
    }

    fn add_service(&mut self, dice: &mut Dice, i: u64) {
        let key = dice.pick(&["app", "instance", "instance", "tier"]);
        self.objects.push(json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": format!("s{i}"), "namespace": self.namespace},
            "spec": {"selector": {key: self.labels[key]}, "ports": [{"port": 80}]},
        }));
    }

    fn add_volume(&mut self, dice: &mut Dice, number: u64) {
        let (name, claim) =
            (format!("pv-{}-{}-{number}", self.seed, self.name), self.claim(number));
        let mode = match self.volumes {
            Some("shared") => "ReadWriteMany",
            Some("once") => "ReadWriteOncePod",
            _ => "ReadWriteOnce",
        };
        let mut volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": "1Gi"}, "accessModes": [mode], "storageClassName": "slow",
                "nfs": {"server": "nowhere", "path": "/"},
                "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                    "namespace": self.namespace, "name": claim},
            },
        });
        let zone =
            dice.pick(&self.zones.iter().map(String::as_str).collect::<Vec<_>>()[..]).to_owned();
        let term = |key: &str, values: Vec<String>| {
            let expression = json!({"key": key, "operator": "In", "values": values});
            json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}})
        };
        match dice.between(0, 4) {
            0 => volume["metadata"]["labels"] = json!({ZONE: zone}),
            1 => volume["metadata"]["labels"] = json!({ZONE: format!("{zone}__z1")}),
            2 => volume["spec"]["nodeAffinity"] = term(ZONE, vec![zone]),
            3 => {
                let names =
                    (0..3).map(|_| self.nodes[dice.index(self.nodes.len())].clone()).collect();
                volume["spec"]["nodeAffinity"] = term(HOSTNAME, names);
            }
            _ => {}
        }
        self.objects.push(volume);
        self.objects.push(json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": claim, "namespace": self.namespace,
                "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {
                "accessModes": [mode], "storageClassName": "slow", "volumeName": name,
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }));
    }

    fn claim(&self, number: u64) -> String {
        format!("data-{}-{}-{number}", self.seed, self.name)
    }

    /// One more pod.
    pub fn pod(&mut self, dice: &mut Dice) -> Value {
        let number = self.made;
        self.made += 1;
        let name = match self.kind {
            "StatefulSet" | "Bare" => format!("{}-{number}", self.name),
            _ => format!("{}-{}", self.name, dice.letters(5)),
        };
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": self.namespace, "labels": self.labels},
            "spec": self.spec,
        });
        match self.kind {
            "StatefulSet" => {
                pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] =
                    json!(number.to_string());
            }
            "Job" => pod["spec"]["restartPolicy"] = json!("Never"),
            _ => {}
        }
        if self.kind != "Bare" {
            pod["metadata"]["ownerReferences"] = owner(self.kind, &self.name);
        }
        if let Some(volumes) = self.volumes {
            let number = if volumes == "own" { number } else { 0 };
            if volumes == "own" {
                self.add_volume(dice, number);
            }
            let claim = json!({"claimName": self.claim(number)});
            pod["spec"]["volumes"] = json!([{"name": "data", "persistentVolumeClaim": claim}]);
        }
        pod
    }
}

fn owner(kind: &str, name: &str) -> Value {
    let version = if kind == "Job" { "batch/v1" } else { "apps/v1" };
    let uid = "00000000-0000-0000-0000-000000000002";
    json!([{"apiVersion": version, "kind": kind, "name": name, "controller": true, "uid": uid}])
}

fn spec(theme: &Theme, place: &Place, dice: &mut Dice, app: &str) -> Value {
    let mut spec = json!({"containers": containers(theme, dice), "affinity": {}});
    if dice.percent(12) {
        let mut init = container(theme, dice, "init");
        if dice.percent(50) {
            init["restartPolicy"] = json!("Always");
            if dice.percent(theme.ports) {
                init["ports"] = json!([{"containerPort": 70, "hostPort": 7070}]);
            }
        }
        spec["initContainers"] = json!([init, container(theme, dice, "init-2")]);
    }
    match dice.between(0, 59) {
        0 => spec["resources"] = json!({"requests": {"cpu": "6", "memory": "12Gi"}}),
        1 => spec["resources"] = json!({"requests": {"cpu": "5"}}),
        2 => spec["resources"] = json!({"limits": {"memory": "13Gi"}}),
        _ => {}
    }
    if dice.percent(5) {
        spec["runtimeClassName"] = json!("heavy");
    }
    if dice.percent(theme.ports / 5) {
        spec["hostNetwork"] = json!(true);
        // The API server takes the container's port for the host's.
        let port = spec.pointer("/containers/0/ports/0/hostPort").cloned().unwrap_or(json!(8080));
        spec["containers"][0]["ports"] = json!([{"containerPort": port}]);
    }
    if dice.percent(theme.tolerating) {
        spec["tolerations"] = tolerations(dice);
    }
    if dice.percent(theme.node_affinity) {
        like_nodes(place, dice, &mut spec);
    }
    if dice.percent(theme.pod_affinity) {
        like_pods(dice, app, &mut spec);
    }
    if dice.percent(theme.spread) {
        spec["topologySpreadConstraints"] = spread(dice, app);
    }
    spec
}

fn containers(theme: &Theme, dice: &mut Dice) -> Vec<Value> {
    let mut containers: Vec<Value> = (0..dice.pick(&[1, 1, 1, 2, 3]))
        .map(|i| container(theme, dice, &format!("c{i}")))
        .collect();
    if dice.percent(theme.ports) {
        let mut port = json!({"containerPort": 80, "hostPort": dice.pick(&[8080, 8080, 9090])});
        if dice.percent(30) {
            port["hostIP"] = json!(dice.pick(&["127.0.0.1", "10.0.0.1", "0.0.0.0"]));
        }
        if dice.percent(20) {
            port["protocol"] = json!("UDP");
        }
        containers[0]["ports"] = json!([port]);
    }
    containers
}

fn container(theme: &Theme, dice: &mut Dice, name: &str) -> Value {
    let image =
        if dice.percent(theme.images) { dice.pick(&IMAGES).0 } else { "registry.local/other:v1" };
    let mut requests = json!({});
    if !dice.percent(theme.weightless) {
        if dice.percent(90) {
            requests["cpu"] = json!(dice.pick(&CPU));
        }
        if dice.percent(85) {
            requests["memory"] = json!(dice.pick(&MEMORY));
        }
        if dice.percent(5) {
            requests["ephemeral-storage"] = json!("4Gi");
        }
    }
    let mut resources = json!({"requests": requests});
    if dice.percent(4) {
        resources["limits"] = json!({"example.com/gpu": "1"});
        resources["requests"]["example.com/gpu"] = json!("1");
    } else if dice.percent(10) {
        // The API server takes the limits for the requests.
        resources = json!({"limits": requests});
    }
    json!({"name": name, "image": image, "resources": resources})
}

fn tolerations(dice: &mut Dice) -> Value {
    let all = [
        json!({"key": "dedicated", "operator": "Equal", "value": "batch", "effect": "NoSchedule"}),
        json!({"key": "dedicated", "operator": "Exists"}),
        json!({"key": "spot", "operator": "Exists"}),
        json!({"key": "spot", "value": "true", "effect": "PreferNoSchedule"}),
        json!({"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}),
        json!({"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}),
        json!({"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}),
        json!({"key": "node.kubernetes.io/unreachable", "operator": "Exists"}),
        json!({"operator": "Exists", "effect": "PreferNoSchedule"}),
        json!({"operator": "Exists"}),
    ];
    json!((0..dice.between(1, 3)).map(|_| all[dice.index(all.len())].clone()).collect::<Vec<_>>())
}

fn like_nodes(place: &Place, dice: &mut Dice, spec: &mut Value) {
    if dice.percent(25) {
        spec["nodeSelector"] = match dice.between(0, 2) {
            0 => json!({"disk": "ssd"}),
            1 => json!({"pool": dice.pick(&["a", "b"])}),
            _ => json!({ZONE: "z1"}),
        };
    }
    let mut affinity = json!({});
    if dice.percent(40) {
        let terms: Vec<Value> =
            (0..dice.between(1, 2)).map(|_| node_term(place, dice, true)).collect();
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] =
            json!({"nodeSelectorTerms": terms});
    }
    if dice.percent(85) {
        let terms: Vec<Value> = (0..dice.between(1, 3))
            .map(|_| {
                let weight = dice.pick(&[1, 10, 25, 50, 100]);
                json!({"weight": weight, "preference": node_term(place, dice, false)})
            })
            .collect();
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = json!(terms);
    }
    spec["affinity"]["nodeAffinity"] = affinity;
}

fn node_term(place: &Place, dice: &mut Dice, required: bool) -> Value {
    let name = || json!(place.nodes);
    if !required && dice.percent(4) {
        return json!({});
    }
    if dice.percent(8) {
        let one = name()[dice.index(place.nodes.len())].clone();
        let operator = if required { "NotIn" } else { "In" };
        return json!({"matchFields": [{"key": "metadata.name", "operator": operator,
            "values": [one]}]});
    }
    let expressions: Vec<Value> = (0..dice.pick(&[1, 1, 2]))
        .map(|_| match dice.between(0, 6) {
            0 => json!({"key": "disk", "operator": "In", "values": ["ssd"]}),
            1 => json!({"key": "pool", "operator": "In", "values": ["a", "c"]}),
            2 => json!({"key": "pool", "operator": "NotIn", "values": ["b"]}),
            3 => json!({"key": "pool", "operator": dice.pick(&["Exists", "DoesNotExist"])}),
            4 => json!({"key": "cores", "operator": dice.pick(&["Gt", "Lt"]), "values": ["3"]}),
            5 => json!({"key": ZONE, "operator": "In", "values": ["z1", "z3"]}),
            _ => json!({"key": ZONE, "operator": "NotIn", "values": ["z2"]}),
        })
        .collect();
    json!({"matchExpressions": expressions})
}

fn selector(dice: &mut Dice, app: &str) -> Value {
    match dice.between(0, 19) {
        // Of these two, one selects all and the other nothing.
        0 => json!({}),
        1 => Value::Null,
        2..=11 => json!({"matchLabels": {"app": app}}),
        12..=14 => json!({"matchLabels": {"tier": "front"}}),
        15 | 16 => {
            json!({"matchExpressions": [{"key": "app", "operator": "In",
                "values": [app, dice.pick(&APPS)]}]})
        }
        17 | 18 => {
            json!({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["back"]}]})
        }
        _ => json!({"matchLabels": {"app": dice.pick(&APPS)}}),
    }
}

fn like_pods(dice: &mut Dice, app: &str, spec: &mut Value) {
    for kind in ["podAffinity", "podAntiAffinity"] {
        let anti = kind == "podAntiAffinity";
        let mut affinity = json!({});
        if dice.percent(if anti { 35 } else { 15 }) {
            let term = pod_term(dice, app, if anti { HOSTNAME } else { ZONE });
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = json!([term]);
        }
        if dice.percent(70) {
            let terms: Vec<Value> = (0..dice.between(1, 2))
                .map(|_| {
                    let topology = dice.pick(&TOPOLOGIES);
                    json!({"weight": dice.pick(&[1, 20, 50, 100]),
                        "podAffinityTerm": pod_term(dice, app, topology)})
                })
                .collect();
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] = json!(terms);
        }
        if affinity.as_object().unwrap().is_empty() {
            continue;
        }
        spec["affinity"][kind] = affinity;
    }
}

fn pod_term(dice: &mut Dice, app: &str, topology: &str) -> Value {
    let topology = if dice.percent(70) { topology } else { dice.pick(&TOPOLOGIES) };
    let mut term = json!({"topologyKey": topology, "labelSelector": selector(dice, app)});
    match dice.between(0, 9) {
        0 => term["namespaces"] = json!(["shop", "bank"]),
        1 => term["namespaceSelector"] = json!({"matchLabels": {"team": "red"}}),
        2 => term["namespaceSelector"] = json!({}),
        3 => {
            term["namespaces"] = json!(["bank"]);
            term["namespaceSelector"] = json!({"matchLabels": {"team": "red"}});
        }
        4 if !term["labelSelector"].is_null() => {
            term["matchLabelKeys"] = json!(["pod-template-hash"]);
        }
        5 if !term["labelSelector"].is_null() => {
            term["mismatchLabelKeys"] = json!(["pod-template-hash"]);
        }
        _ => {}
    }
    term
}

fn spread(dice: &mut Dice, app: &str) -> Value {
    let mut constraints: Vec<Value> = Vec::new();
    for _ in 0..dice.pick(&[1, 1, 2, 2, 3]) {
        let topology = dice.pick(&[HOSTNAME, HOSTNAME, ZONE, ZONE, ZONE, "disk", "pool"]);
        let when = dice.pick(&["DoNotSchedule", "ScheduleAnyway", "ScheduleAnyway"]);
        if constraints
            .iter()
            .any(|c| c["topologyKey"] == topology && c["whenUnsatisfiable"] == when)
        {
            continue;
        }
        let mut constraint = json!({
            "topologyKey": topology, "whenUnsatisfiable": when,
            "maxSkew": dice.pick(&[1, 1, 2, 3, 5]),
            "labelSelector": selector(dice, app),
        });
        if when == "DoNotSchedule" && dice.percent(20) {
            constraint["minDomains"] = json!(dice.pick(&[2, 3, 5]));
        }
        if dice.percent(25) {
            constraint["nodeAffinityPolicy"] = json!(dice.pick(&["Honor", "Ignore"]));
        }
        if dice.percent(25) {
            constraint["nodeTaintsPolicy"] = json!(dice.pick(&["Honor", "Ignore"]));
        }
        if dice.percent(20) && !constraint["labelSelector"].is_null() {
            constraint["matchLabelKeys"] = json!(["pod-template-hash"]);
        }
        constraints.push(constraint);
    }
    json!(constraints)
}
