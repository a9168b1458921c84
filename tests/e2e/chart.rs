//! The Helm chart: it renders what kustomize builds, gives each value of descheduler's chart its
//! effect, and installs a program that works with the rights that it grants.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::e2e::support::audit::evictions;
use crate::e2e::support::control_plane::{ControlPlane, run, with_control_plane};
use crate::e2e::support::helm::{self, RELEASE, objects, refused, rendered, rendered_with_hooks};
use crate::e2e::support::process::Launch;
use crate::e2e::support::scene;
use crate::e2e::support::wait::{eventually, that};

/// Labels and annotations that only the chart sets.
const OF_THE_CHART: [&str; 5] = [
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/version",
    "checksum/policy",
    "helm.sh/chart",
];

type ByName = BTreeMap<String, Value>;

#[test]
fn the_chart_renders_what_kustomize_builds() {
    let cases = [
        (json!({}), scene::manifests("base")),
        // A run cannot be scraped, and an alert for its absence would fire for ever.
        (
            json!({"kind": "CronJob", "serviceMonitor": {"enabled": true},
                   "prometheusRule": {"enabled": true}}),
            scene::manifests("overlays/cronjob"),
        ),
        (
            json!({"serviceMonitor": {"enabled": true}, "prometheusRule": {"enabled": true}}),
            with_monitoring(),
        ),
    ];
    for (values, kustomized) in cases {
        let (chart, kustomized) = (by_name(rendered(&values)), by_name(objects(&kustomized)));
        let names = |objects: &ByName| objects.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&chart), names(&kustomized), "{values}");
        for (name, object) in &kustomized {
            assert_eq!(&chart[name], object, "{name} with {values}");
        }
    }
}

/// The base with the component for the Prometheus Operator.
fn with_monitoring() -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chart-monitoring");
    scene::kustomized(&folder, "monitoring", "namespace: kube-system\n")
}

/// The objects by kind and name, without what only one of the two tools adds.
fn by_name(objects: Vec<Value>) -> ByName {
    objects
        .into_iter()
        .map(|mut object| {
            plain(&mut object);
            let kind = object["kind"].as_str().unwrap().to_owned();
            // kustomize does not know that these have no namespace.
            if kind.starts_with("ValidatingAdmission") {
                object["metadata"].as_object_mut().unwrap().remove("namespace");
            }
            (format!("{kind}/{}", object["metadata"]["name"]), object)
        })
        .collect()
}

fn plain(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !OF_THE_CHART.contains(&key.as_str()));
            map.values_mut().for_each(plain);
        }
        Value::Array(list) => list.iter_mut().for_each(plain),
        // kustomize adds a hash to the name of the policy, and keeps its comments.
        Value::String(text) if text.starts_with("evenkeel-policy-") => {
            text.truncate("evenkeel-policy".len());
        }
        Value::String(text) if text.contains("\nkind: Policy\n") => {
            *value = serde_saphyr::from_str(text).unwrap();
        }
        // kustomize does not change a namespace inside an expression, so the manifests allow any.
        Value::String(text) if text.contains("serviceaccount:[^:]+:") => {
            *text = text.replace("[^:]+", "kube-system");
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The object of a kind, or of a kind and name.
fn of_kind(objects: &[Value], kind: &str) -> Value {
    let (kind, name) = kind.split_once('/').unwrap_or((kind, ""));
    let is_named = |object: &&Value| name.is_empty() || object["metadata"]["name"] == name;
    let of_kind = objects.iter().filter(|object| object["kind"] == kind);
    let found: Vec<&Value> = of_kind.filter(is_named).collect();
    assert_eq!(found.len(), 1, "{kind}: {found:?}");
    found[0].clone()
}

const POD: &str = "/spec/template/spec";
const RUN: &str = "/spec/jobTemplate/spec/template/spec";
const CONTAINER: &str = "/spec/template/spec/containers/0";

/// A value, the object that it changes, and the field with its content there.
struct Effect {
    values: Value,
    kind: &'static str,
    field: String,
    expected: Value,
}

fn effect(values: Value, kind: &'static str, field: &str, expected: Value) -> Effect {
    let field = field.to_owned();
    Effect { values, kind, field, expected }
}

/// A value that appears unchanged in the pod.
fn in_pod(value: &str, content: &Value) -> Effect {
    let values = json!({"kind": "Deployment", value: content});
    effect(values, "Deployment", &format!("{POD}/{value}"), content.clone())
}

/// A value that appears unchanged in the CronJob.
fn in_cron_job(value: &str, content: &Value, field: &str) -> Effect {
    let values = json!({"kind": "CronJob", value: content});
    effect(values, "CronJob", field, content.clone())
}

#[expect(clippy::too_many_lines, reason = "a list of values")]
fn effects_on_pods() -> Vec<Effect> {
    let tolerations = json!([{"key": "a", "operator": "Exists"}]);
    let spread =
        json!([{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]);
    let init = json!([{"name": "first", "image": "first"}]);
    let account = json!({"serviceAccount": {"create": false, "name": "own"}});
    let image = |repository: &str| json!({"image": {"repository": repository, "tag": "v9"}});
    let image_field = format!("{CONTAINER}/image");
    let digest = format!("sha256:{}", "0123456789abcdef".repeat(4));
    let mut pinned = image("mirror.example/evenkeel");
    pinned["image"]["digest"] = json!(digest);
    vec![
        effect(
            pinned,
            "Deployment",
            &image_field,
            json!(format!("mirror.example/evenkeel:v9@{digest}")),
        ),
        in_pod("tolerations", &tolerations),
        in_pod("topologySpreadConstraints", &spread),
        in_pod("initContainers", &init),
        in_pod("nodeSelector", &json!({"a": "b"})),
        in_pod("affinity", &json!({"nodeAffinity": {}})),
        in_pod("dnsConfig", &json!({"nameservers": ["10.0.0.1"]})),
        in_pod("priorityClassName", &json!("system-node-critical")),
        in_pod("imagePullSecrets", &json!([{"name": "registry"}])),
        in_pod("automountServiceAccountToken", &json!(false)),
        effect(account, "Deployment", &format!("{POD}/serviceAccountName"), json!("own")),
        effect(
            image("mirror.example/evenkeel"),
            "Deployment",
            &image_field,
            json!("mirror.example/evenkeel:v9"),
        ),
        effect(
            image("registry.k8s.io/descheduler/descheduler"),
            "Deployment",
            &image_field,
            json!(concat!("ghcr.io/evenkeel/evenkeel:v", env!("CARGO_PKG_VERSION"))),
        ),
        effect(
            json!({"command": ["/bin/descheduler"]}),
            "Deployment",
            &format!("{CONTAINER}/command"),
            json!(["/bin/descheduler"]),
        ),
        effect(
            json!({"resources": {"limits": {"cpu": "500m"}}}),
            "Deployment",
            &format!("{CONTAINER}/resources/limits"),
            json!({"cpu": "500m", "memory": "512Mi"}),
        ),
        effect(
            json!({"resources": {"requests": {"cpu": 0.5}}}),
            "Deployment",
            &format!("{CONTAINER}/resources/requests/cpu"),
            json!(0.5),
        ),
        effect(
            json!({"securityContext": {"runAsUser": 1000}}),
            "Deployment",
            &format!("{CONTAINER}/securityContext/runAsUser"),
            json!(1000),
        ),
        effect(
            json!({"podSecurityContext": {"fsGroup": 1000}}),
            "Deployment",
            &format!("{POD}/securityContext/fsGroup"),
            json!(1000),
        ),
        effect(
            json!({"podLabels": {"a": "b"}}),
            "Deployment",
            "/spec/template/metadata/labels/a",
            json!("b"),
        ),
        effect(
            json!({"podAnnotations": {"a": "b"}}),
            "Deployment",
            "/spec/template/metadata/annotations/a",
            json!("b"),
        ),
        effect(
            json!({"deploymentAnnotations": {"a": "b"}}),
            "Deployment",
            "/metadata/annotations/a",
            json!("b"),
        ),
        effect(
            json!({"livenessProbe": {"httpGet": {"port": 10258, "scheme": "HTTPS"}}}),
            "Deployment",
            &format!("{CONTAINER}/livenessProbe/httpGet/port"),
            json!(10258),
        ),
        effect(
            json!({"livenessProbe": null}),
            "Deployment",
            &format!("{CONTAINER}/livenessProbe/httpGet/port"),
            json!("http"),
        ),
        effect(
            json!({"ports": [{"containerPort": 10258}]}),
            "Deployment",
            &format!("{CONTAINER}/ports/1/containerPort"),
            json!(10258),
        ),
        effect(
            json!({"automountServiceAccountToken": false,
                   "extraServiceAccountVolumes": [{"name": "token", "projected": {}}]}),
            "Deployment",
            &format!("{POD}/volumes/1/name"),
            json!("token"),
        ),
        effect(
            json!({"automountServiceAccountToken": false,
                   "extraServiceAccountVolumeMounts": [{"name": "token", "mountPath": "/t"}]}),
            "Deployment",
            &format!("{CONTAINER}/volumeMounts/1/name"),
            json!("token"),
        ),
    ]
}

fn effects_on_cron_jobs() -> Vec<Effect> {
    let job = "/spec/jobTemplate";
    vec![
        in_cron_job("schedule", &json!("*/2 * * * *"), "/spec/schedule"),
        in_cron_job("timeZone", &json!("Etc/UTC"), "/spec/timeZone"),
        in_cron_job("suspend", &json!(true), "/spec/suspend"),
        in_cron_job("cronJobApiVersion", &json!("batch/v1"), "/apiVersion"),
        in_cron_job("startingDeadlineSeconds", &json!(200), "/spec/startingDeadlineSeconds"),
        in_cron_job("successfulJobsHistoryLimit", &json!(0), "/spec/successfulJobsHistoryLimit"),
        in_cron_job("failedJobsHistoryLimit", &json!(7), "/spec/failedJobsHistoryLimit"),
        in_cron_job(
            "activeDeadlineSeconds",
            &json!(60),
            &format!("{job}/spec/activeDeadlineSeconds"),
        ),
        in_cron_job(
            "ttlSecondsAfterFinished",
            &json!(600),
            &format!("{job}/spec/ttlSecondsAfterFinished"),
        ),
        in_cron_job("cronJobAnnotations", &json!({"a": "b"}), "/metadata/annotations"),
        in_cron_job("jobAnnotations", &json!({"a": "b"}), &format!("{job}/metadata/annotations")),
        // With labels of its own, a Job does not get those of its pod, by which the notes find it.
        effect(
            json!({"kind": "CronJob", "jobLabels": {"a": "b"}}),
            "CronJob",
            &format!("{job}/metadata/labels"),
            json!({"a": "b", "app.kubernetes.io/name": "evenkeel",
                   "app.kubernetes.io/instance": "evenkeel"}),
        ),
        effect(
            json!({"kind": "CronJob", "cronJobLabels": {"a": "b"}}),
            "CronJob",
            "/metadata/labels/a",
            json!("b"),
        ),
        // A run serves nothing, so a probe would end it.
        effect(
            json!({"kind": "CronJob", "livenessProbe": {"httpGet": {"port": 10258}}}),
            "CronJob",
            &format!("{RUN}/containers/0/livenessProbe"),
            Value::Null,
        ),
    ]
}

#[expect(clippy::too_many_lines, reason = "a list of values")]
fn effects_on_other_objects() -> Vec<Effect> {
    let monitor = |more: Value| {
        let mut values = json!({"serviceMonitor": {"enabled": true}});
        let fields = values["serviceMonitor"].as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        values
    };
    let of_monitor = |more: Value, field: &str, expected: Value| {
        effect(monitor(more), "ServiceMonitor", field, expected)
    };
    let rules = json!([{"action": "keep"}]);
    vec![
        of_monitor(json!({}), "/spec/endpoints/0/honorLabels", json!(true)),
        of_monitor(json!({"interval": "1m"}), "/spec/endpoints/0/interval", json!("1m")),
        of_monitor(json!({"namespace": "monitoring"}), "/metadata/namespace", json!("monitoring")),
        of_monitor(
            json!({"namespace": "monitoring"}),
            "/spec/namespaceSelector/matchNames/0",
            json!("kube-system"),
        ),
        of_monitor(json!({"additionalLabels": {"a": "b"}}), "/metadata/labels/a", json!("b")),
        of_monitor(
            json!({"metricRelabelings": rules}),
            "/spec/endpoints/0/metricRelabelings",
            rules.clone(),
        ),
        of_monitor(json!({"relabelings": rules}), "/spec/endpoints/0/relabelings", rules.clone()),
        effect(
            json!({"service": {"enabled": true, "ipFamilyPolicy": "SingleStack"}}),
            "Service",
            "/spec/ipFamilyPolicy",
            json!("SingleStack"),
        ),
        effect(
            json!({"podDisruptionBudget": {"enabled": true, "maxUnavailable": 1}}),
            "PodDisruptionBudget",
            "/spec",
            json!({"maxUnavailable": 1, "selector": {"matchLabels":
                {"app.kubernetes.io/name": "evenkeel", "app.kubernetes.io/instance": "evenkeel"}}}),
        ),
        effect(
            json!({"serviceAccount": {"name": "own", "annotations": {"a": "b"}}}),
            "ServiceAccount",
            "/metadata",
            json!({"name": "own", "annotations": {"a": "b"}}),
        ),
        effect(
            json!({"serviceAccount": {"automountServiceAccountToken": false}}),
            "ServiceAccount",
            "/automountServiceAccountToken",
            json!(false),
        ),
        effect(json!({"nameOverride": "x"}), "Deployment", "/metadata/name", json!("evenkeel-x")),
        effect(json!({"fullnameOverride": "x"}), "Deployment", "/metadata/name", json!("x")),
        effect(json!({"namespaceOverride": "x"}), "Deployment", "/metadata/namespace", json!("x")),
        // The API server allows no longer name of a CronJob.
        effect(
            json!({"fullnameOverride": "x".repeat(60), "kind": "CronJob"}),
            "CronJob",
            "/metadata/name",
            json!("x".repeat(52)),
        ),
        // Without a Lease, the old and the new pod of a rollout would both evict.
        effect(
            json!({"leaderElection": {"enabled": false}}),
            "Deployment",
            "/spec/strategy",
            json!({"type": "Recreate"}),
        ),
        effect(
            json!({"cmdOptions": {"leader-elect": false}}),
            "Deployment",
            "/spec/strategy/type",
            json!("Recreate"),
        ),
        effect(json!({"commonLabels": {"a": "b"}}), "Service", "/metadata/labels/a", Value::Null),
        effect(json!({"commonLabels": {"a": "b"}}), "Deployment", "/metadata/labels/a", json!("b")),
        effect(json!({"steering": {"rights": false}}), "Deployment", "/kind", json!("Deployment")),
        effect(
            json!({"grafanaDashboard": {"enabled": true}, "existingPolicy": "own"}),
            "ConfigMap/evenkeel-dashboard",
            "/metadata/labels/grafana_dashboard",
            json!("1"),
        ),
        effect(
            json!({"networkPolicy": {"enabled": true, "from": [{"podSelector": {}}]}}),
            "NetworkPolicy",
            "/spec/ingress/0",
            json!({"ports": [{"port": "http"}], "from": [{"podSelector": {}}]}),
        ),
    ]
}

#[test]
fn each_value_has_its_effect() {
    let effects = [effects_on_pods(), effects_on_cron_jobs(), effects_on_other_objects()];
    for Effect { values, kind, field, expected } in effects.into_iter().flatten() {
        let objects = rendered(&values);
        if kind == "Service" && !objects.iter().any(|object| object["kind"] == kind) {
            assert!(expected.is_null(), "{values}: no Service");
            continue;
        }
        let object = of_kind(&objects, kind);
        let found = object.pointer(&field).cloned().unwrap_or_default();
        if field == "/metadata" {
            for (key, value) in expected.as_object().unwrap() {
                assert_eq!(&found[key], value, "{values}: {key}");
            }
        } else {
            assert_eq!(found, expected, "{values}: {field} of {kind}");
        }
    }
}

fn args(values: &Value) -> Vec<String> {
    let objects = rendered(values);
    let pod = objects
        .iter()
        .find_map(|object| object.pointer(POD).or_else(|| object.pointer(RUN)))
        .unwrap();
    let args = pod["containers"][0]["args"].as_array().unwrap();
    args.iter().map(|arg| arg.as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_flags_follow_from_the_values() {
    let policy = json!({"profiles": [{"name": "a"}]});
    for (values, present, absent) in [
        (json!({}), vec!["--policy=/etc/evenkeel/policy.yaml", "--leader-elect"], "--once"),
        (json!({"kind": "CronJob"}), vec!["--once"], "--leader-elect"),
        (json!({"dryRun": true}), vec!["--dry-run"], "--once"),
        // Of two wishes, the one that evicts nothing.
        (
            json!({"dryRun": true, "cmdOptions": {"dry-run": false}}),
            vec!["--dry-run"],
            "--dry-run=false",
        ),
        (json!({"cmdOptions": {"dry-run": false}}), vec!["--dry-run=false"], "--dry-run"),
        // The ports and the Lease of descheduler, but no interval: its CronJob runs once.
        (
            json!({"deschedulerPolicy": policy, "cmdOptions": {"v": 3}}),
            vec!["--policy-config-file=/etc/evenkeel/policy.yaml", "--v=3"],
            "--descheduling-interval=5m",
        ),
        (
            json!({"deschedulerPolicy": policy, "kind": "Deployment"}),
            vec!["--descheduling-interval=5m", "--leader-elect-resource-name=evenkeel"],
            "--once",
        ),
        (
            json!({"kind": "Deployment", "deschedulingInterval": "2m"}),
            vec!["--descheduling-interval=2m"],
            "--once",
        ),
        (
            json!({"leaderElection": {"leaseDuration": "15s", "resourceName": "descheduler"}}),
            vec!["--leader-elect-lease-duration=15s", "--leader-elect-resource-name=descheduler"],
            "--once",
        ),
        (json!({"leaderElection": {"enabled": false}}), vec!["run"], "--leader-elect"),
        // A flag that is given twice would be refused.
        (
            json!({"cmdOptions": {"listen": "[::]:8080", "dry-run": null}, "dryRun": true}),
            vec!["--listen=[::]:8080", "--dry-run"],
            "--listen=0.0.0.0:8080",
        ),
        (
            json!({"cmdOptions": {"max-pods-to-evict-per-node": 2_000_000}}),
            vec!["--max-pods-to-evict-per-node=2000000"],
            "--once",
        ),
        (json!({"ports": [{"containerPort": 10258}]}), vec!["--secure-port=10258"], "--once"),
        (
            json!({"schedulerConfig": "a: b"}),
            vec!["--scheduler-config=/etc/evenkeel-scheduler/scheduler.yaml"],
            "--once",
        ),
    ] {
        let args = args(&values);
        for flag in present {
            assert_eq!(args.iter().filter(|arg| *arg == flag).count(), 1, "{values}: {args:?}");
        }
        assert!(!args.iter().any(|arg| arg == absent), "{values}: {args:?}");
    }
}

#[test]
fn a_changed_policy_starts_a_new_pod_unless_it_is_reloaded() {
    let checksum = |values: Value| {
        let deployment = of_kind(&rendered(&values), "Deployment");
        deployment["spec"]["template"]["metadata"]["annotations"]["checksum/policy"].clone()
    };
    let changed = |how: &str| json!({"onPolicyChange": how, "policy": {"interval": "2m"}});
    assert_ne!(checksum(json!({})), checksum(changed("restart")));
    assert_eq!(checksum(changed("reload")), Value::Null);
}

#[test]
fn the_right_to_taint_nodes_comes_with_its_limit() {
    let native = json!({});
    let without = json!({"policy": {"steering": {"taintHot": false}}});
    let descheduler = json!({"kind": "Deployment", "deschedulerPolicy": {"profiles": []}});
    for (values, steers) in [(native, true), (without, false), (descheduler, false)] {
        let objects = rendered(&values);
        let limited = objects.iter().any(|object| object["kind"] == "ValidatingAdmissionPolicy");
        let granted = objects.iter().any(|object| object.to_string().contains("\"patch\""));
        assert_eq!((granted, limited), (steers, steers), "{values}");
    }
    // Accounts of the same name in other namespaces, and of names with another character, are free.
    for (account, expected) in [
        (json!({"name": "own"}), ":kube-system:own$"),
        (json!({"create": false}), ":kube-system:default$"),
        (json!({"name": "own.account"}), ":kube-system:own[.]account$"),
    ] {
        let objects = rendered(&json!({"serviceAccount": account}));
        let limit = of_kind(&objects, "ValidatingAdmissionPolicy");
        let condition = limit["spec"]["matchConditions"][0]["expression"].as_str().unwrap();
        assert!(condition.contains(expected), "{account}: {condition}");
    }
}

/// Without them the program would be refused by its own role.
#[test]
fn objects_and_rights_follow_the_flags_that_name_them() {
    let options = json!({"ledger": "ours", "proposal": "asked",
        "leader-elect-resource-name": "lock", "leader-elect-resource-namespace": "ops"});
    let all = rendered(&json!({"cmdOptions": options}));
    let granting = all.iter().filter(|object| object["kind"] == "Role");
    let rules = granting.flat_map(|role| role["rules"].as_array().unwrap());
    let named: Vec<&Value> =
        rules.filter_map(|rule| rule["resourceNames"].as_array()).flatten().collect();
    for (kind, name) in [("ConfigMap", "ours"), ("ConfigMap", "asked"), ("Lease", "lock")] {
        let is_it = |object: &&Value| object["kind"] == kind && object["metadata"]["name"] == name;
        assert!(all.iter().any(|object| is_it(&object)), "{kind} {name}");
        assert!(named.contains(&&json!(name)), "{name}: {named:?}");
    }
    assert_eq!(of_kind(&all, "Lease")["metadata"]["namespace"], "ops");
    assert!(!named.contains(&&json!("evenkeel-ledger")), "{named:?}");
}

/// Probes, network policy and ServiceMonitor name the port.
#[test]
fn the_ports_follow_the_flag_that_listens() {
    for (options, port) in [(json!({}), 8080), (json!({"listen": "[::]:9090"}), 9090)] {
        let all = rendered(&json!({"cmdOptions": options, "service": {"enabled": true}}));
        let pod = &of_kind(&all, "Deployment")["spec"]["template"]["spec"];
        assert_eq!(pod["containers"][0]["ports"][0]["containerPort"], port);
        assert_eq!(of_kind(&all, "Service")["spec"]["ports"][0]["port"], port);
    }
}

#[test]
fn mistakes_in_values_are_refused_with_the_reason() {
    for (values, reason) in [
        (json!({"kind": "Job"}), "kind"),
        (json!({"replicas": 2, "leaderElection": {"enabled": false}}), "leaderElection.enabled"),
        (json!({"replicas": 2, "cmdOptions": {"leader-elect": false}}), "leaderElection.enabled"),
        (json!({"replicas": 2, "leaderElection": {"enabled": null}}), "leaderElection.enabled"),
        (json!({"cmdOptions": {"namespace": "ops"}}), "namespaceOverride"),
        (json!({"replicas": "two"}), "replicas"),
        (json!({"logFormat": null}), "logFormat"),
        (json!({"leaderElection": null}), "leaderElection"),
        (json!({"rbac": {"create": null}}), "create"),
        (json!({"policy": null}), "policy: found null"),
        (json!({"networkPolicy": {"form": []}}), "form"),
        (json!({"policy": {"interval": 5}}), "interval"),
        (json!({"policy": {"intervall": "5m"}}), "intervall"),
        (json!({"policy": {"strategies": [{"lowNodeUtilisation": {}}]}}), "strategies"),
        (json!({"steering": {"rights": "yes"}}), "rights"),
    ] {
        let error = refused(&values);
        assert!(error.contains(reason), "{values}: {error}");
    }
}

#[test]
fn the_test_of_a_release_examines_what_the_release_uses() {
    let values = json!({"cmdOptions": {"exact": null}, "image": {"pullPolicy": "Never"},
        "leaderElection": {"resourceNamespace": "ops"}});
    let pod = of_kind(&rendered_with_hooks(&values), "Pod");
    let container = &pod["spec"]["containers"][0];
    let args = container["args"].as_array().unwrap();
    let lease = ["name=evenkeel", "namespace=ops"];
    let lease = lease.map(|part| format!("--leader-elect-resource-{part}"));
    for arg in ["doctor", "--exact"].into_iter().chain(lease.iter().map(String::as_str)) {
        assert!(args.contains(&json!(arg)), "{arg}: {container}");
    }
    assert_eq!(container["imagePullPolicy"], "Never");
}

/// The default values of descheduler's chart.
const DEFAULTS: &str = include_str!("../data/helm/descheduler-0.36-defaults.json");

/// The default values of descheduler's chart, and values as public repositories set them.
fn values_in_use() -> Vec<Value> {
    let policy = json!({"profiles": [{
        "name": "default",
        "pluginConfig": [
            {"name": "DefaultEvictor", "args": {"nodeFit": true}},
            {"name": "LowNodeUtilization",
             "args": {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}}}],
        "plugins": {"balance": {"enabled": ["LowNodeUtilization"]}}}]});
    vec![
        serde_json::from_str(DEFAULTS).unwrap(),
        json!({"kind": "Deployment"}),
        json!({"kind": "Deployment", "replicas": 2, "deschedulingInterval": "1m",
               "deschedulerPolicyAPIVersion": "descheduler/v1alpha2", "deschedulerPolicy": policy,
               "service": {"enabled": true}, "serviceMonitor": {"enabled": true},
               "leaderElection": {"enabled": true}}),
        json!({"kind": "Deployment", "replicas": 3, "leaderElection": {"enabled": true},
               "deschedulerPolicy": policy}),
        json!({"kind": "Deployment", "deschedulerPolicy": policy,
               "tolerations": [{"key": "spot", "operator": "Equal", "value": "spot"}]}),
        json!({"kind": "CronJob", "schedule": "15 */6 * * *", "timeZone": "Etc/UTC",
               "command": ["/bin/descheduler"], "cmdOptions": {"v": 3}, "leaderElection": {},
               "suspend": false, "priorityClassName": "system-cluster-critical",
               "deschedulerPolicy": {"nodeSelector": "a=b", "maxNoOfPodsToEvictPerNode": 10,
                                     "metricsCollector": {"enabled": true},
                                     "profiles": policy["profiles"]}}),
        json!({"resources": {"requests": {"cpu": "10m"}, "limits": {"memory": "128Mi"}},
               "successfulJobsHistoryLimit": 1, "failedJobsHistoryLimit": 1,
               "podSecurityPolicy": {"create": false},
               "deschedulerPolicyAPIVersion": "descheduler/v1alpha1",
               "deschedulerPolicy": {"strategies": {"RemoveDuplicates": {"enabled": true}}}}),
        json!({"rbac": {"create": false}, "serviceAccount": {"create": false, "name": "own"},
               "cmdOptions": {"dry-run": true, "logging-format": "json"},
               "livenessProbe": {"httpGet": {"path": "/healthz", "port": 10258, "scheme": "HTTPS"}},
               "ports": [{"containerPort": 10258, "protocol": "TCP"}], "kind": "Deployment",
               "deschedulerPolicy": policy}),
    ]
}

#[test]
fn values_in_use_pass_lint_and_the_api_server() {
    with_control_plane(async |control_plane| {
        for values in values_in_use() {
            let file = helm::values_file(&values);
            run(helm::helm(&["lint", "--strict", &helm::chart(), "--values"]).arg(&file));
            std::fs::remove_file(file).unwrap();
            // The API server of the test does not have the kinds of the Prometheus Operator.
            let known = |object: &&Value| object["kind"] != "ServiceMonitor";
            for object in rendered(&values).iter().filter(known) {
                control_plane.apply_with(&object.to_string(), &["--dry-run=server"]);
            }
        }
    });
}

fn helm_in(control_plane: &ControlPlane, args: &[&str], values: &Value) -> String {
    let file = helm::values_file(values);
    let mut command = helm::helm(args);
    command.env("KUBECONFIG", control_plane.dir.join("admin.kubeconfig"));
    command.env("HELM_CACHE_HOME", control_plane.dir.join("helm"));
    command.args(["--namespace", "kube-system"]);
    if ["install", "upgrade"].contains(&args[0]) {
        command.arg(helm::chart()).arg("--values").arg(&file);
    }
    let said = run(&mut command);
    std::fs::remove_file(file).unwrap();
    said
}

#[test]
fn the_notes_say_what_the_values_do() {
    with_control_plane(async |control_plane| {
        let (dry, acts) = ("evicts nothing yet", "It evicts pods from now on");
        let not_dry = |options: Value| json!({"policy": {"dryRun": false}, "cmdOptions": options});
        let mut both = not_dry(json!({"dry-run": false}));
        both["dryRun"] = json!(true);
        let run = json!({"kind": "CronJob", "prometheusRule": {"enabled": true}});
        for (values, expected) in [
            (json!({}), dry),
            (not_dry(json!({})), acts),
            (not_dry(json!({"dry-run": null})), dry),
            (not_dry(json!({"dry-run": false})), acts),
            (both, dry),
            (run, "no Service, ServiceMonitor or"),
        ] {
            let notes = helm_in(control_plane, &["install", RELEASE, "--dry-run=client"], &values);
            assert!(notes.contains(expected), "{values}: {notes}");
        }
    });
}

/// The objects of the release that the API server has.
fn installed(control_plane: &ControlPlane) -> String {
    let kinds = "deployments,configmaps,serviceaccounts,roles,rolebindings,clusterroles,\
                 clusterrolebindings,validatingadmissionpolicies,services";
    let mine = "app.kubernetes.io/managed-by=Helm";
    control_plane.kubectl(&["get", kinds, "-n", "kube-system", "-l", mine, "-o", "name"])
}

async fn deployment(control_plane: &ControlPlane) -> Value {
    let path = "/apis/apps/v1/namespaces/kube-system/deployments/evenkeel";
    control_plane.get(path).await
}

#[test]
fn a_release_is_installed_works_is_upgraded_rolled_back_and_removed() {
    with_control_plane(async |control_plane| {
        scene::lopsided(control_plane).await;
        let policy = json!({
            "dryRun": false, "interval": "10s", "limits": {"perWorkload": "100%"},
            "usage": {"poll": "5s", "window": "40s", "smoothing": "mean", "minSamples": 2},
            "evictable": {"minPodAge": "0s"},
            "strategies": [{"lowNodeUtilization": {
                "thresholds": {"cpu": "30%"}, "targetThresholds": {"cpu": "50%"},
                "sustainedFor": "10s"}}],
        });
        let values = json!({"policy": policy});
        let notes = helm_in(control_plane, &["install", RELEASE], &values);
        assert!(notes.contains("It evicts pods from now on"), "{notes}");
        eventually("the pod of the release", 60, async || {
            let ready = deployment(control_plane).await["status"]["readyReplicas"].clone();
            that(ready == 1, ready.to_string())
        })
        .await;

        // The pod is simulated, so the program starts here: with the arguments of the pod, its
        // policy, its account and the rights that the release grants.
        let deployed = deployment(control_plane).await;
        let args = deployed.pointer(&format!("{CONTAINER}/args")).unwrap().clone();
        let config =
            control_plane.get("/api/v1/namespaces/kube-system/configmaps/evenkeel-policy").await;
        let policy = config["data"]["policy.yaml"].as_str().unwrap();
        let launch = Launch::written(control_plane, policy).await;
        let mut process = launch.as_in_pod(&args);
        process
            .eventually("evictions", 240, async |_| {
                that(evictions(control_plane).len() >= 2, "fewer")
            })
            .await;
        process.cycles(1, 60).await;
        assert!(process.stop(10).await.success());

        let before = installed(control_plane);
        let mut steering_off = values.clone();
        steering_off["policy"]["steering"] = json!({"taintHot": false});
        helm_in(control_plane, &["upgrade", RELEASE], &steering_off);
        let upgraded = installed(control_plane);
        assert!(before.contains("evenkeel-steering") && !upgraded.contains("evenkeel-steering"));
        helm_in(control_plane, &["rollback", RELEASE, "1"], &json!({}));
        assert_eq!(installed(control_plane), before);
        helm_in(control_plane, &["uninstall", RELEASE], &json!({}));
        assert_eq!(installed(control_plane), "");
    });
}
