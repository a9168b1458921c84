//! The manifests: they fit the program, and grant no more than it needs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use evenkeel::model::plan::{STEERING_KEY, SteerValue};
use evenkeel::policy::{Policy, Rule, Share};
use serde_json::{Value, json};

use crate::it::support::{document, documents};
use crate::shared::boards::read;

const DEPLOYMENT: &str = "deploy/base/deployment.yaml";
const RBAC: &str = "deploy/base/rbac.yaml";
const STEERING: &str = "deploy/base/steering.yaml";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns all documents that kustomize reads: every document below deploy/ except the policy,
/// which is evenkeel's own, and the Helm chart.
fn manifests() -> Vec<(String, Value)> {
    let (mut folders, mut found): (Vec<PathBuf>, _) = (vec![root().join("deploy")], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
            let path = entry.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            if entry.ends_with("deploy/helm") {
                // tests/it/chart.rs and tests/e2e/chart.rs check the chart.
            } else if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|e| e == "yaml")
                && !entry.ends_with("policy.yaml")
            {
                found.extend(documents(&path).into_iter().map(|d| (path.clone(), d)));
            }
        }
    }
    assert!(found.len() > 10, "only {} documents below deploy/", found.len());
    found
}

/// Returns every key of a document, at any depth.
fn keys(value: &Value) -> BTreeSet<&str> {
    match value {
        Value::Object(map) => {
            map.iter().flat_map(|(k, v)| keys(v).into_iter().chain([k.as_str()])).collect()
        }
        Value::Array(list) => list.iter().flat_map(keys).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => BTreeSet::new(),
    }
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().map(|v| v.as_str().unwrap()).collect()
}

/// Returns the pod of the Deployment and its only container.
fn pod() -> (Value, Value) {
    let pod = document(DEPLOYMENT)["spec"]["template"]["spec"].clone();
    assert_eq!(pod["containers"].as_array().map(Vec::len), Some(1));
    let container = pod["containers"][0].clone();
    (pod, container)
}

fn option<'a>(args: &[&'a str], name: &str) -> &'a str {
    let found: Vec<_> =
        args.iter().filter_map(|a| a.strip_prefix(name)?.strip_prefix('=')).collect();
    assert_eq!(found.len(), 1, "{name} in {args:?}");
    found[0]
}

// ---- the pod ----

#[test]
fn the_pod_has_no_privileges() {
    let (pod, container) = pod();
    let user = json!({
        "runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    });
    assert_eq!(pod["securityContext"], user);
    let confined = json!({
        "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"]},
    });
    assert_eq!(container["securityContext"], confined);
    // No host access and nothing writable: the policy is the only mount.
    for volume in pod["volumes"].as_array().unwrap() {
        assert_eq!(keys(volume), BTreeSet::from(["configMap", "name"]));
    }
    assert!(container["volumeMounts"].as_array().unwrap().iter().all(|m| m["readOnly"] == true));
}

#[test]
fn no_other_manifest_gives_the_pod_more() {
    // A string patch, a role from another folder or an image from another registry would appear
    // here.
    for (path, manifest) in manifests() {
        let mut known = BTreeSet::from(["apiVersion", "kind", "resources"]);
        match manifest["kind"].as_str().unwrap() {
            "Kustomization" if path.starts_with("deploy/base/") => {
                known.extend(["namespace", "labels", "configMapGenerator"]);
            }
            "Kustomization" => known.extend(["components", "patches"]),
            // The rights tests below check its resources.
            "Component" if path == "deploy/components/steering/kustomization.yaml" => {}
            "Component" => known.extend(["patches", "replacements"]),
            _ => continue,
        }
        let fields: BTreeSet<_> =
            manifest.as_object().unwrap().keys().map(String::as_str).collect();
        assert!(fields.is_subset(&known), "{path}: {fields:?}");
    }
    for (path, manifest) in manifests().iter().filter(|(path, _)| path != DEPLOYMENT) {
        let keys = keys(manifest);
        for loose in [
            "securityContext",
            "initContainers",
            "volumes",
            "volumeMounts",
            "serviceAccountName",
            "image",
        ] {
            assert!(!keys.contains(loose), "{path} sets {loose}");
        }
    }
    for (path, manifest) in manifests() {
        for of_the_node in
            ["hostNetwork", "hostPID", "hostIPC", "hostPath", "hostPort", "privileged"]
        {
            assert!(!keys(&manifest).contains(of_the_node), "{path} sets {of_the_node}");
        }
    }
}

#[test]
fn probes_use_the_port_that_the_pod_listens_on() {
    let (_, container) = pod();
    let port = container["ports"][0].clone();
    assert_eq!(port["name"], "http");
    let listen =
        option(&strings(&container["args"]), "--listen").rsplit_once(':').unwrap().1.to_owned();
    assert_eq!(port["containerPort"].to_string(), listen);
    for (probe, path) in [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")] {
        assert_eq!(container[probe]["httpGet"], json!({"path": path, "port": "http"}), "{probe}");
    }
}

#[test]
fn the_pod_has_high_priority_and_one_instance_acts() {
    let (pod, container) = pod();
    assert_eq!(pod["priorityClassName"], "system-cluster-critical");
    assert_eq!(container["resources"]["requests"], json!({"cpu": "50m", "memory": "64Mi"}));
    assert!(container["resources"]["limits"]["memory"].is_string(), "no memory limit");
    let spec = &document(DEPLOYMENT)["spec"];
    let by_and_by =
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}});
    assert_eq!((&spec["replicas"], &spec["strategy"]), (&json!(1), &by_and_by));
    // Two instances run at the same time during a rollout, so a Lease decides which one acts.
    assert!(strings(&container["args"]).contains(&"--leader-elect"));
}

#[test]
fn the_policy_is_mounted_at_its_path_and_a_change_rolls_the_pod() {
    let (pod, container) = pod();
    let kustomization = document("deploy/base/kustomization.yaml");
    let map = &kustomization["configMapGenerator"][0];
    // A generated name ends in a hash of the content, unless one of these options disables it.
    assert!(map["options"].is_null() && kustomization["generatorOptions"].is_null());
    let (volume, mount) = (&pod["volumes"][0], &container["volumeMounts"][0]);
    assert_eq!(volume["configMap"]["name"], map["name"]);
    assert_eq!(volume["name"], mount["name"]);
    let file = strings(&map["files"])[0].to_owned();
    let looks = option(&strings(&container["args"]), "--policy").to_owned();
    assert_eq!(looks, format!("{}/{file}", mount["mountPath"].as_str().unwrap()));
    assert!(root().join("deploy/base").join(file).is_file());
}

/// The workflow of a release runs the script once the image is pushed.
#[test]
fn a_release_names_its_image_by_digest() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pinned");
    let files = ["deploy/helm/evenkeel/values.yaml", "deploy/base/deployment.yaml"];
    for file in files {
        let copy = folder.join(file);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::write(copy, read(file)).unwrap();
    }
    let digest = format!("sha256:{}", "0123456789abcdef".repeat(4));
    let pin = |digest: &str| {
        let mut script = Command::new(root().join(".github/release/pin.sh"));
        script.arg(digest).arg(&folder).output().unwrap()
    };
    assert!(!pin("latest").status.success());
    let output = pin(&digest);
    assert!(output.status.success(), "{output:?}");
    let [values, deployment] = files.map(|f| fs::read_to_string(folder.join(f)).unwrap());
    assert!(values.contains(&format!("  digest: {digest}\n")));
    let version = env!("CARGO_PKG_VERSION");
    let image = format!("image: ghcr.io/evenkeel/evenkeel:v{version}@{digest}\n");
    assert!(deployment.contains(&image), "{deployment}");
    assert!(!pin(&digest).status.success(), "it is pinned already");
}

/// Images that have no digest are listed where a release is described.
#[test]
fn images_without_a_digest_are_named_in_the_docs() {
    let docs = read("docs/releasing.md");
    for file in ["Dockerfile", "Dockerfile.release"] {
        let text = read(file);
        let images = text.lines().filter_map(|line| line.strip_prefix("FROM "));
        for image in images.map(|image| image.split(' ').next().unwrap()) {
            let named = docs.contains(&format!("`{file}`")) && docs.contains(&format!("`{image}`"));
            assert!(image.contains("@sha256:") || named, "{file}: {image}");
        }
    }
}

#[test]
fn the_image_is_of_this_version_and_of_the_same_user() {
    let (pod, container) = pod();
    assert_eq!(
        container["image"],
        concat!("ghcr.io/evenkeel/evenkeel:v", env!("CARGO_PKG_VERSION"))
    );
    assert!(container["command"].is_null(), "the image knows its program");
    let dockerfile = read("Dockerfile");
    let (_, last) = dockerfile.rsplit_once("\nFROM ").unwrap();
    assert!(
        last.starts_with("gcr.io/distroless/")
            && last.lines().next().unwrap().ends_with(":nonroot"),
        "{last}"
    );
    let user = last.lines().find_map(|l| l.strip_prefix("USER ")).unwrap();
    assert_eq!(user, format!("{0}:{0}", pod["securityContext"]["runAsUser"]));
}

// ---- permissions ----

fn rules() -> Vec<(String, Value)> {
    let mut rules = Vec::new();
    for role in documents(RBAC) {
        let kind = role["kind"].as_str().unwrap();
        let own = role["rules"].as_array().cloned().unwrap_or_default();
        rules.extend(own.into_iter().map(|rule| (kind.to_owned(), rule)));
    }
    rules
}

#[test]
fn the_objects_that_the_program_may_update_are_shipped_empty() {
    let shipped = documents("deploy/base/state.yaml");
    for object in &shipped {
        let fields: Vec<_> = object.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["apiVersion", "kind", "metadata"], "no content");
    }
    let shipped: BTreeSet<String> = shipped
        .iter()
        .map(|object| {
            let (kind, name) = (&object["kind"], &object["metadata"]["name"]);
            format!("{}s/{}", kind.as_str().unwrap(), name.as_str().unwrap()).to_lowercase()
        })
        .collect();
    let mut updated = BTreeSet::new();
    for (_, rule) in rules() {
        for name in rule.get("resourceNames").map(strings).unwrap_or_default() {
            let resources = strings(&rule["resources"]).into_iter();
            updated.extend(resources.map(|resource| format!("{resource}/{name}")));
        }
    }
    assert_eq!(shipped, updated);
    let base = document("deploy/base/kustomization.yaml");
    assert!(strings(&base["resources"]).contains(&"state.yaml"));
}

#[test]
fn only_the_port_of_the_probes_is_open() {
    let policy = document("deploy/base/networkpolicy.yaml");
    let spec = &policy["spec"];
    assert_eq!(spec["policyTypes"], json!(["Ingress"]));
    assert_eq!(spec["ingress"], json!([{"ports": [{"port": "http"}]}]));
    let base = document("deploy/base/kustomization.yaml");
    assert!(strings(&base["resources"]).contains(&"networkpolicy.yaml"));
}

/// Whether the program uses every right of its roles is a test of tests/e2e/rights.rs.
#[test]
fn the_roles_never_grant_more_than_reading_evicting_events_and_own_objects() {
    for (kind, rule) in rules() {
        let fields: BTreeSet<_> = rule.as_object().unwrap().keys().map(String::as_str).collect();
        let known = BTreeSet::from(["apiGroups", "resources", "resourceNames", "verbs"]);
        assert!(fields.is_subset(&known), "{rule}");
        let (resources, verbs) = (strings(&rule["resources"]), strings(&rule["verbs"]));
        for verb in &verbs {
            assert!(
                ["get", "list", "watch", "create", "update"].contains(verb),
                "{verb} in {rule}"
            );
        }
        for resource in &resources {
            assert!(!["*", "secrets", "serviceaccounts"].contains(resource), "{rule}");
            assert!(!resource.contains('/') || *resource == "pods/eviction", "{rule}");
        }
        let group = strings(&rule["apiGroups"]);
        assert!(!group.contains(&"*") && !group.contains(&"rbac.authorization.k8s.io"), "{rule}");
        if kind == "ClusterRole" && verbs.iter().any(|v| !["list", "watch"].contains(v)) {
            assert!(verbs == ["create"], "{rule}");
            assert!(
                resources == ["pods/eviction"]
                    || (resources, group) == (vec!["events"], vec!["events.k8s.io"])
            );
        }
        // RBAC cannot restrict a create to one name.
        assert!(kind == "ClusterRole" || !verbs.contains(&"create"), "{rule}");
        if verbs.iter().any(|v| ["get", "update"].contains(v)) {
            assert!(!strings(&rule["resourceNames"]).is_empty(), "{rule} is for any name");
        }
    }
}

#[test]
fn the_roles_are_bound_only_to_its_own_account() {
    let account = document("deploy/base/serviceaccount.yaml");
    assert_eq!(pod().0["serviceAccountName"], account["metadata"]["name"]);
    let (name, namespace) = (&account["metadata"]["name"], &account["metadata"]["namespace"]);
    assert_eq!((name, namespace), (&json!("evenkeel"), &json!("kube-system")));
    let subject = json!([{"kind": "ServiceAccount", "name": name, "namespace": namespace}]);
    let (mut roles, mut bound) = (BTreeSet::new(), BTreeSet::new());
    for manifest in documents(RBAC) {
        let kind = manifest["kind"].as_str().unwrap().to_owned();
        if let Some(role) = kind.strip_suffix("Binding") {
            assert_eq!(manifest["subjects"], subject, "{kind}");
            assert_eq!(manifest["roleRef"]["kind"], role, "{kind}");
            bound.insert((role.to_owned(), manifest["roleRef"]["name"].to_string()));
        } else {
            // Aggregated rules of other roles would not appear in this file.
            assert!(manifest["aggregationRule"].is_null(), "{kind}");
            roles.insert((kind, manifest["metadata"]["name"].to_string()));
        }
    }
    assert_eq!(bound, roles);
    for (path, manifest) in manifests().iter().filter(|(path, _)| path != RBAC && path != STEERING)
    {
        assert!(
            !manifest["kind"].as_str().unwrap().contains("Role"),
            "{path} has a role or a binding too"
        );
    }
}

/// The admission policy limits the patch to one taint. tests/e2e/admission.rs tests that.
#[test]
fn patching_nodes_is_granted_only_with_the_admission_policy() {
    assert!(!read(RBAC).contains("patch"), "{RBAC} grants a patch");
    let [role, binding, policy, policy_binding] = &documents(STEERING)[..] else {
        panic!("{STEERING} has other documents")
    };
    assert_eq!(
        role["rules"],
        json!([{"apiGroups": [""], "resources": ["nodes"], "verbs": ["patch"]}])
    );
    assert!(role["aggregationRule"].is_null());
    let of_the_base =
        documents(RBAC).into_iter().find(|d| d["kind"] == "ClusterRoleBinding").unwrap();
    assert_eq!(binding["subjects"], of_the_base["subjects"]);
    let name = &role["metadata"]["name"];
    let reference =
        json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name});
    assert_eq!((&role["kind"], &binding["roleRef"]), (&json!("ClusterRole"), &reference));
    assert_eq!(
        (&policy["kind"], &policy["spec"]["failurePolicy"]),
        (&json!("ValidatingAdmissionPolicy"), &json!("Fail"))
    );
    assert_eq!(
        policy_binding["spec"],
        json!({"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]})
    );
    assert!(
        strings(&document("deploy/base/kustomization.yaml")["resources"])
            .contains(&"steering.yaml")
    );
}

#[test]
fn the_admission_policy_names_the_taint_and_the_account() {
    let policy = documents(STEERING).swap_remove(2);
    let key = &policy["spec"]["variables"][0];
    assert_eq!(
        (&key["name"], &key["expression"]),
        (&json!("key"), &json!(format!("'{STEERING_KEY}'")))
    );
    let values = SteerValue::ALL.map(SteerValue::text);
    let allowed = format!("in ['{}']", values.join("', '"));
    let expressions = policy["spec"]["validations"].as_array().unwrap();
    assert!(expressions.iter().any(|v| v["expression"].as_str().unwrap().contains(&allowed)));
    // 403 tells the program that a retry is useless.
    assert!(expressions.iter().all(|v| v["reason"] == "Forbidden"));
    let account = document("deploy/base/serviceaccount.yaml");
    let name = account["metadata"]["name"].as_str().unwrap();
    let conditions = policy["spec"]["matchConditions"].as_array().unwrap();
    assert_eq!(conditions.len(), 1);
    let condition = conditions[0]["expression"].as_str().unwrap();
    assert!(condition.contains(&format!(":{name}$")), "{condition}");
}

#[test]
fn one_component_removes_everything_for_steering() {
    let component = document("deploy/components/without-steering/kustomization.yaml");
    assert_eq!(component["kind"], "Component");
    let kind_and_name =
        |manifest: &Value| (manifest["kind"].to_string(), manifest["metadata"]["name"].to_string());
    let removed = component["patches"].as_array().unwrap().iter().map(|entry| {
        let patch: Value = serde_saphyr::from_str(entry["patch"].as_str().unwrap()).unwrap();
        assert_eq!(patch["$patch"], "delete");
        kind_and_name(&patch)
    });
    let present: Vec<_> = documents(STEERING).iter().map(kind_and_name).collect();
    assert_eq!(removed.collect::<Vec<_>>(), present);
}

#[test]
fn the_readme_explains_every_permission() {
    let readme = read("deploy/README.md");
    for (_, rule) in rules() {
        for resource in strings(&rule["resources"]) {
            let named = format!("`{resource}`");
            let explained = readme.lines().any(|l| l.starts_with('|') && l.contains(&named));
            assert!(explained, "{resource} is not in a table of deploy/README.md");
        }
    }
}

// ---- once ----

#[test]
fn a_job_runs_the_same_pod_once() {
    let (_, container) = pod();
    let patch = document("deploy/components/once/pod.yaml")["spec"]["template"]["spec"].clone();
    assert_eq!(patch["restartPolicy"], "Never");
    // The command is the same except for these three options, so the two stay consistent.
    let mut args = strings(&container["args"]);
    args.retain(|a| !a.starts_with("--listen") && *a != "--leader-elect");
    args.insert(1, "--once");
    let once = &patch["containers"][0];
    assert_eq!(once["name"], container["name"]);
    assert_eq!(strings(&once["args"]), args);
    for served in ["ports", "livenessProbe", "readinessProbe"] {
        assert_eq!(once.get(served), Some(&Value::Null), "{served} stays");
    }
}

#[test]
fn overlays_take_the_pod_of_the_deployment_and_leave_the_deployment_out() {
    let component = document("deploy/components/once/kustomization.yaml");
    assert_eq!(component["patches"], json!([{"path": "pod.yaml"}]));
    let copy = &component["replacements"][0];
    assert_eq!(
        copy["source"],
        json!({"kind": "Deployment", "name": "evenkeel", "fieldPath": "spec.template"})
    );
    for (overlay, kind, to) in
        [("job", "Job", "spec.template"), ("cronjob", "CronJob", "spec.jobTemplate.spec.template")]
    {
        let kustomization = document(&format!("deploy/overlays/{overlay}/kustomization.yaml"));
        let own = format!("{overlay}.yaml");
        assert_eq!(strings(&kustomization["resources"]), ["../../base", &own]);
        assert_eq!(strings(&kustomization["components"]), ["../../components/once"]);
        let patches = kustomization["patches"].as_array().unwrap();
        let patch: Value = serde_saphyr::from_str(patches[0]["patch"].as_str().unwrap()).unwrap();
        assert_eq!(
            (patches.len(), &patch["$patch"], &patch["kind"]),
            (1, &json!("delete"), &json!("Deployment"))
        );

        let manifest = document(&format!("deploy/overlays/{overlay}/{own}"));
        assert_eq!(
            (&manifest["kind"], &manifest["metadata"]["name"]),
            (&json!(kind), &json!("evenkeel"))
        );
        assert!(!keys(&manifest).contains("containers"), "{own} has a pod of its own");
        let target = copy["targets"]
            .as_array()
            .unwrap()
            .iter()
            .find(|t| t["select"]["kind"] == kind)
            .unwrap();
        assert_eq!(target["select"]["name"], "evenkeel");
        assert_eq!(strings(&target["fieldPaths"]), [to]);
    }
}

#[test]
fn runs_end_and_do_not_pile_up() {
    let job = document("deploy/overlays/job/job.yaml")["spec"].clone();
    let cron = document("deploy/overlays/cronjob/cronjob.yaml")["spec"].clone();
    let policy = policy("deploy/base/policy.yaml");
    let sustained = policy.low_node_utilization().map(|rule| rule.sustained_for).max().unwrap();
    let longest = policy.usage.window + policy.usage.stale_after + sustained;
    for spec in [&job, &cron["jobTemplate"]["spec"]] {
        assert_eq!(spec["backoffLimit"], 0);
        let deadline = spec["activeDeadlineSeconds"].as_i64().unwrap();
        assert!((longest.as_secs() + 1..=600).contains(&deadline), "{deadline} s");
    }
    // A person who changes the policy reads on which fields the deadline depends.
    for file in ["deploy/overlays/job/job.yaml", "deploy/overlays/cronjob/cronjob.yaml"] {
        for field in ["`usage.window`", "`usage.staleAfter`", "`sustainedFor`"] {
            assert!(read(file).contains(field), "{file}: {field}");
        }
    }
    assert!(job["ttlSecondsAfterFinished"].is_u64());
    assert_eq!(
        (&cron["schedule"], &cron["concurrencyPolicy"]),
        (&json!("*/5 * * * *"), &json!("Forbid"))
    );
    // The CronJob controller checks every 10 s and starts nothing with a shorter deadline.
    assert!(cron["startingDeadlineSeconds"].as_u64().is_some_and(|s| (10..300).contains(&s)));
    for kept in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        assert!(cron[kept].as_u64().is_some_and(|n| (1..=3).contains(&n)), "{kept}");
    }
}

// ---- the policy ----

fn policy(path: &str) -> Policy {
    Policy::parse(path, &read(path)).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn the_installed_policy_starts_in_dry_run_and_evicts_few_pods() {
    let policy = policy("deploy/base/policy.yaml");
    assert!(policy.dry_run, "applying deploy/base without changes must not evict pods");
    assert!(policy.steering.hot && !policy.steering.emptying);
    let limits = &policy.limits;
    let of_pods = |share: Option<Share>| share.map(|share| share.of(100_000));
    for (name, limit, most) in [
        ("perCycle", of_pods(limits.per_cycle), 10),
        ("perNode", limits.per_node, 5),
        ("perNamespace", limits.per_namespace, 10),
        ("perMinute", of_pods(limits.per_minute), 10),
    ] {
        assert!(limit.is_some_and(|n| n > 0 && n <= most), "{name} is {limit:?}");
    }
    // At most two of ten replicas are replaced at a time, and one of three.
    let away = |replicas| limits.per_workload.map(|share| share.of(replicas));
    assert!(
        away(10).is_some_and(|n| n <= 2) && away(3) == Some(1),
        "perWorkload is {:?}",
        limits.per_workload
    );
    for strategy in &policy.strategies {
        let Rule::LowNodeUtilization(rule) = &strategy.rule else { panic!("another rule") };
        for pool in &rule.pools {
            for ((resource, cold), (_, hot)) in pool.thresholds.iter().zip(&pool.targets) {
                assert!(
                    hot.get() - cold.get() >= 0.2,
                    "{resource}: too narrow a band sends pods back and forth"
                );
            }
        }
    }
}
