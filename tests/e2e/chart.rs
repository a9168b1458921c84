//! The Helm chart: it renders what kustomize builds, gives each value of descheduler's chart its
//! effect, and installs a program that works with the rights that it grants.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::e2e::support::{
    ControlPlane, Launch, eventually, evicted,
    helm::{self, RELEASE, objects, refused, rendered, rendered_with_hooks},
    run, scene, that, with_control_plane,
};
use crate::shared::table::rows;

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

/// Values, the object that they change, and the field with its content there.
const EFFECTS: &str = "
{image: {repository: mirror.example/evenkeel, tag: v9, digest: DIGEST}} | Deployment | POD/containers/0/image | mirror.example/evenkeel:v9@DIGEST
{image: {repository: mirror.example/evenkeel, tag: v9}} | Deployment | POD/containers/0/image | mirror.example/evenkeel:v9
{image: {repository: registry.k8s.io/descheduler/descheduler, tag: v9}} | Deployment | POD/containers/0/image | ghcr.io/evenkeel/evenkeel:vVERSION
{tolerations: [{key: a, operator: Exists}]} | Deployment | POD/tolerations | [{key: a, operator: Exists}]
{topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]} | Deployment | POD/topologySpreadConstraints | [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]
{initContainers: [{name: first, image: first}]} | Deployment | POD/initContainers | [{name: first, image: first}]
{nodeSelector: {a: b}} | Deployment | POD/nodeSelector | {a: b}
{affinity: {nodeAffinity: {}}} | Deployment | POD/affinity | {nodeAffinity: {}}
{dnsConfig: {nameservers: [10.0.0.1]}} | Deployment | POD/dnsConfig | {nameservers: [10.0.0.1]}
{priorityClassName: system-node-critical} | Deployment | POD/priorityClassName | system-node-critical
{imagePullSecrets: [{name: registry}]} | Deployment | POD/imagePullSecrets | [{name: registry}]
{automountServiceAccountToken: false} | Deployment | POD/automountServiceAccountToken | false
{serviceAccount: {create: false, name: own}} | Deployment | POD/serviceAccountName | own
{command: [/bin/descheduler]} | Deployment | POD/containers/0/command | [/bin/descheduler]
{resources: {limits: {cpu: 500m}}} | Deployment | POD/containers/0/resources/limits | {cpu: 500m, memory: 512Mi}
{resources: {requests: {cpu: 0.5}}} | Deployment | POD/containers/0/resources/requests/cpu | 0.5
{securityContext: {runAsUser: 1000}} | Deployment | POD/containers/0/securityContext/runAsUser | 1000
{podSecurityContext: {fsGroup: 1000}} | Deployment | POD/securityContext/fsGroup | 1000
{podLabels: {a: b}} | Deployment | /spec/template/metadata/labels/a | b
{podAnnotations: {a: b}} | Deployment | /spec/template/metadata/annotations/a | b
{deploymentAnnotations: {a: b}} | Deployment | /metadata/annotations/a | b
{livenessProbe: {httpGet: {port: 10258, scheme: HTTPS}}} | Deployment | POD/containers/0/livenessProbe/httpGet/port | 10258
{livenessProbe: null} | Deployment | POD/containers/0/livenessProbe/httpGet/port | http
{ports: [{containerPort: 10258}]} | Deployment | POD/containers/0/ports/1/containerPort | 10258
{automountServiceAccountToken: false, extraServiceAccountVolumes: [{name: token, projected: {}}]} | Deployment | POD/volumes/1/name | token
{automountServiceAccountToken: false, extraServiceAccountVolumeMounts: [{name: token, mountPath: /t}]} | Deployment | POD/containers/0/volumeMounts/1/name | token
{nameOverride: x} | Deployment | /metadata/name | evenkeel-x
{fullnameOverride: x} | Deployment | /metadata/name | x
{namespaceOverride: x} | Deployment | /metadata/namespace | x
{commonLabels: {a: b}} | Deployment | /metadata/labels/a | b
{steering: {rights: false}} | Deployment | /kind | Deployment
# Without a Lease, the old and the new pod of a rollout would both evict.
{leaderElection: {enabled: false}} | Deployment | /spec/strategy | {type: Recreate}
{cmdOptions: {leader-elect: false}} | Deployment | /spec/strategy/type | Recreate
{kind: CronJob, schedule: '*/2 * * * *'} | CronJob | /spec/schedule | '*/2 * * * *'
{kind: CronJob, timeZone: Etc/UTC} | CronJob | /spec/timeZone | Etc/UTC
{kind: CronJob, suspend: true} | CronJob | /spec/suspend | true
{kind: CronJob, cronJobApiVersion: batch/v1} | CronJob | /apiVersion | batch/v1
{kind: CronJob, startingDeadlineSeconds: 200} | CronJob | /spec/startingDeadlineSeconds | 200
{kind: CronJob, successfulJobsHistoryLimit: 0} | CronJob | /spec/successfulJobsHistoryLimit | 0
{kind: CronJob, failedJobsHistoryLimit: 7} | CronJob | /spec/failedJobsHistoryLimit | 7
{kind: CronJob, activeDeadlineSeconds: 60} | CronJob | /spec/jobTemplate/spec/activeDeadlineSeconds | 60
{kind: CronJob, ttlSecondsAfterFinished: 600} | CronJob | /spec/jobTemplate/spec/ttlSecondsAfterFinished | 600
{kind: CronJob, cronJobAnnotations: {a: b}} | CronJob | /metadata/annotations | {a: b}
{kind: CronJob, jobAnnotations: {a: b}} | CronJob | /spec/jobTemplate/metadata/annotations | {a: b}
# With labels of its own, a Job does not get those of its pod, by which the notes find it.
{kind: CronJob, jobLabels: {a: b}} | CronJob | /spec/jobTemplate/metadata/labels | {a: b, app.kubernetes.io/name: evenkeel, app.kubernetes.io/instance: evenkeel}
{kind: CronJob, cronJobLabels: {a: b}} | CronJob | /metadata/labels/a | b
# A run serves nothing, so a probe would end it.
{kind: CronJob, livenessProbe: {httpGet: {port: 10258}}} | CronJob | RUN/containers/0/livenessProbe | null
# The API server allows no longer name of a CronJob.
{kind: CronJob, fullnameOverride: SIXTY} | CronJob | /metadata/name | FIFTY2
{serviceMonitor: {enabled: true}} | ServiceMonitor | /spec/endpoints/0/honorLabels | true
{serviceMonitor: {enabled: true, interval: 1m}} | ServiceMonitor | /spec/endpoints/0/interval | 1m
{serviceMonitor: {enabled: true, namespace: monitoring}} | ServiceMonitor | /metadata/namespace | monitoring
{serviceMonitor: {enabled: true, namespace: monitoring}} | ServiceMonitor | /spec/namespaceSelector/matchNames/0 | kube-system
{serviceMonitor: {enabled: true, additionalLabels: {a: b}}} | ServiceMonitor | /metadata/labels/a | b
{serviceMonitor: {enabled: true, metricRelabelings: [{action: keep}]}} | ServiceMonitor | /spec/endpoints/0/metricRelabelings | [{action: keep}]
{serviceMonitor: {enabled: true, relabelings: [{action: keep}]}} | ServiceMonitor | /spec/endpoints/0/relabelings | [{action: keep}]
{service: {enabled: true, ipFamilyPolicy: SingleStack}} | Service | /spec/ipFamilyPolicy | SingleStack
{podDisruptionBudget: {enabled: true, maxUnavailable: 1}} | PodDisruptionBudget | /spec | {maxUnavailable: 1, selector: {matchLabels: {app.kubernetes.io/name: evenkeel, app.kubernetes.io/instance: evenkeel}}}
{serviceAccount: {name: own, annotations: {a: b}}} | ServiceAccount | /metadata/name | own
{serviceAccount: {name: own, annotations: {a: b}}} | ServiceAccount | /metadata/annotations | {a: b}
{serviceAccount: {automountServiceAccountToken: false}} | ServiceAccount | /automountServiceAccountToken | false
{grafanaDashboard: {enabled: true}, existingPolicy: own} | ConfigMap/evenkeel-dashboard | /metadata/labels/grafana_dashboard | '1'
{networkPolicy: {enabled: true, from: [{podSelector: {}}]}} | NetworkPolicy | /spec/ingress/0 | {ports: [{port: http}], from: [{podSelector: {}}]}
";

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn each_value_has_its_effect() {
    let digest = format!("sha256:{}", "0123456789abcdef".repeat(4));
    let effects = EFFECTS
        .replace("POD/", &format!("{POD}/"))
        .replace("RUN/", &format!("{RUN}/"))
        .replace("DIGEST", &digest)
        .replace("VERSION", env!("CARGO_PKG_VERSION"))
        .replace("SIXTY", &"x".repeat(60))
        .replace("FIFTY2", &"x".repeat(52));
    for row in rows(&effects) {
        let [values, kind, field, expected] = row[..] else { panic!("{row:?}") };
        let object = of_kind(&rendered(&yaml(values)), kind);
        let found = object.pointer(field).cloned().unwrap_or_default();
        assert_eq!(found, yaml(expected), "{values}: {field} of {kind}");
    }
    let labelled = rendered(&json!({"commonLabels": {"a": "b"}}));
    assert!(!labelled.iter().any(|object| object["kind"] == "Service"));
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

/// Values, flags that follow from them, and one that does not.
const FLAGS: &str = "
{} | --policy=/etc/evenkeel/policy.yaml --leader-elect | --once
{kind: CronJob} | --once | --leader-elect
{dryRun: true} | --dry-run | --once
# Of two wishes, the one that evicts nothing.
{dryRun: true, cmdOptions: {dry-run: false}} | --dry-run | --dry-run=false
{cmdOptions: {dry-run: false}} | --dry-run=false | --dry-run
# The ports and the Lease of descheduler, but no interval: its CronJob runs once.
{deschedulerPolicy: {profiles: [{name: a}]}, cmdOptions: {v: 3}} | --policy-config-file=/etc/evenkeel/policy.yaml --v=3 | --descheduling-interval=5m
{deschedulerPolicy: {profiles: [{name: a}]}, kind: Deployment} | --descheduling-interval=5m --leader-elect-resource-name=evenkeel | --once
{kind: Deployment, deschedulingInterval: 2m} | --descheduling-interval=2m | --once
{leaderElection: {leaseDuration: 15s, resourceName: descheduler}} | --leader-elect-lease-duration=15s --leader-elect-resource-name=descheduler | --once
{leaderElection: {enabled: false}} | run | --leader-elect
# A flag that is given twice would be refused.
{cmdOptions: {listen: '[::]:8080', dry-run: null}, dryRun: true} | --listen=[::]:8080 --dry-run | --listen=0.0.0.0:8080
{cmdOptions: {max-pods-to-evict-per-node: 2000000}} | --max-pods-to-evict-per-node=2000000 | --once
{ports: [{containerPort: 10258}]} | --secure-port=10258 | --once
{schedulerConfig: 'a: b'} | --scheduler-config=/etc/evenkeel-scheduler/scheduler.yaml | --once
";

#[test]
fn the_flags_follow_from_the_values() {
    for row in rows(FLAGS) {
        let [values, present, absent] = row[..] else { panic!("{row:?}") };
        let args = args(&yaml(values));
        for flag in present.split(' ') {
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
            (json!({"kind": "CronJob", "suspend": true}), "It is suspended and does nothing"),
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
        let args = deployed.pointer(&format!("{POD}/containers/0/args")).unwrap().clone();
        let config =
            control_plane.get("/api/v1/namespaces/kube-system/configmaps/evenkeel-policy").await;
        let policy = config["data"]["policy.yaml"].as_str().unwrap();
        let launch = Launch::written(control_plane, policy).await;
        let mut process = launch.as_in_pod(&args);
        evicted(control_plane, &mut process, 2, 240).await;
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
