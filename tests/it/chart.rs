//! The Helm chart without helm: its values are documented, typed, and those of the manifests.
//! After a change of values.yaml run `UPDATE_DOCS=1 cargo test --test it chart`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use evenkeel::policy::Policy;
use serde_json::{Map, Value, json};

use crate::it::support::{check_generated, document};
use crate::shared::boards::read;

const CHART: &str = "deploy/helm/evenkeel";
/// Top-level values of descheduler's chart, version 0.36, and those below them whose place in the
/// pod is not their name.
const DESCHEDULER_VALUES: &str = "
affinity automountServiceAccountToken activeDeadlineSeconds cmdOptions command commonLabels
cronJobAnnotations cronJobApiVersion cronJobLabels deploymentAnnotations deschedulerPolicy
deschedulerPolicyAPIVersion deschedulingInterval dnsConfig extraServiceAccountVolumeMounts
extraServiceAccountVolumes failedJobsHistoryLimit fullnameOverride image imagePullSecrets
initContainers jobAnnotations jobLabels kind leaderElection livenessProbe nameOverride
namespaceOverride nodeSelector podAnnotations podDisruptionBudget podLabels podSecurityContext ports
priorityClassName rbac replicas resources schedule securityContext service serviceAccount
serviceMonitor startingDeadlineSeconds successfulJobsHistoryLimit suspend timeZone tolerations
topologySpreadConstraints ttlSecondsAfterFinished serviceAccount.name serviceAccount.annotations
leaderElection.enabled serviceMonitor.enabled
";

/// Values that the templates need. helm removes a value that is `null`, and then a required one is
/// missing.
const REQUIRED: &str = "
cronJobApiVersion deschedulerPolicyAPIVersion grafanaDashboard image image.repository leaderElection
logFormat networkPolicy podDisruptionBudget prometheusRule rbac rbac.create replicas schedule
service serviceAccount serviceAccount.create serviceMonitor serviceMonitor.apiVersion steering
steering.rights
";

/// Maps that descheduler's chart does not have, so that no values file brings unknown keys of them.
const CLOSED: [&str; 4] = ["grafanaDashboard", "networkPolicy", "prometheusRule", "steering"];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn values() -> Value {
    document(&format!("{CHART}/values.yaml"))
}

/// A value that has a comment, or a heading.
enum Line {
    Heading(String),
    Documented { path: Vec<String>, help: String },
}

/// The headings and documented values of values.yaml, in order.
fn documented() -> Vec<Line> {
    let mut lines = Vec::new();
    let mut above: Vec<(usize, String)> = Vec::new();
    let mut help = String::new();
    for line in read(&format!("{CHART}/values.yaml")).lines() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if let Some(heading) = text.strip_prefix("# ---- ") {
            lines.push(Line::Heading(heading.trim_end_matches(" ----").to_owned()));
        } else if let Some(start) = text.strip_prefix("# -- ") {
            start.clone_into(&mut help);
        } else if let Some(more) = text.strip_prefix("# ") {
            if !help.is_empty() {
                write!(help, " {more}").unwrap();
            }
        } else if let Some((key, _)) = text.split_once(':') {
            above.retain(|(outer, _)| *outer < indent);
            above.push((indent, key.to_owned()));
            if !help.is_empty() {
                let path = above.iter().map(|(_, key)| key.clone()).collect();
                let help = std::mem::take(&mut help);
                lines.push(Line::Documented { path, help });
            }
        }
    }
    lines
}

fn value_at<'v>(values: &'v Value, path: &[String]) -> &'v Value {
    path.iter().fold(values, |value, key| &value[key])
}

/// The default for the table; a long one is only in values.yaml.
fn default_text(value: &Value) -> String {
    let text = match value {
        Value::Null => return String::new(),
        Value::String(text) if text.is_empty() => return "`\"\"`".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    if text.len() > 60 { "see values.yaml".to_owned() } else { format!("`{text}`") }
}

fn readme() -> String {
    let values = values();
    let mut table = String::new();
    for line in documented() {
        match line {
            Line::Heading(heading) => {
                write!(table, "\n### {heading}\n\n| value | meaning | default |\n|---|---|---|\n")
            }
            Line::Documented { path, help } => {
                let default = default_text(value_at(&values, &path));
                writeln!(table, "| `{}` | {help} | {default} |", path.join("."))
            }
        }
        .unwrap();
    }
    format!("{}{table}", read("deploy/helm/README.head.md"))
}

#[test]
fn the_readme_lists_every_value() {
    check_generated("deploy/helm/evenkeel/README.md", &readme());
}

#[test]
fn every_value_is_documented() {
    let paths: Vec<Vec<String>> = documented()
        .into_iter()
        .filter_map(|line| match line {
            Line::Documented { path, .. } => Some(path),
            Line::Heading(_) => None,
        })
        .collect();
    let mut leaves = Vec::new();
    collect_leaves(&values(), &mut Vec::new(), &mut leaves);
    for leaf in leaves {
        let known = paths.iter().any(|path| leaf.starts_with(path));
        assert!(known, "{} has no comment", leaf.join("."));
    }
}

fn collect_leaves(value: &Value, path: &mut Vec<String>, leaves: &mut Vec<Vec<String>>) {
    match value.as_object().filter(|map| !map.is_empty()) {
        None => leaves.push(path.clone()),
        Some(map) => {
            for (key, value) in map {
                path.push(key.clone());
                collect_leaves(value, path, leaves);
                path.pop();
            }
        }
    }
}

/// Schemas that do not follow from the default.
fn special(path: &str) -> Option<Value> {
    let schema = match path {
        "kind" => json!({"enum": ["", "CronJob", "Deployment"]}),
        "logFormat" => json!({"enum": ["json", "text"]}),
        "onPolicyChange" => json!({"enum": ["restart", "reload"]}),
        "steering.rights" => json!({"enum": ["auto", true, false]}),
        "deschedulerPolicyAPIVersion" => {
            json!({"enum": ["descheduler/v1alpha2", "descheduler/v1alpha1"]})
        }
        // Kubernetes takes quantities as text and as numbers, and the program checks the policy of
        // descheduler, with line and column.
        "resources" | "deschedulerPolicy" => json!({"type": ["object", "null"]}),
        "podDisruptionBudget.minAvailable" | "podDisruptionBudget.maxUnavailable" => {
            json!({"type": ["integer", "string", "null"]})
        }
        "replicas" => json!({"type": "integer", "minimum": 0}),
        "policy" => policy_schema(),
        "image.tag" => json!({"type": "string"}),
        "image.digest" => {
            json!({"type": ["string", "null"], "pattern": "^(sha256:[0-9a-f]{64})?$"})
        }
        _ => return None,
    };
    Some(schema)
}

fn is_required(path: &[String]) -> bool {
    REQUIRED.split_whitespace().any(|name| name == path.join("."))
}

/// The schema of a value: its type is that of its default. `null` removes a default that is not
/// required.
fn schema(value: &Value, path: &mut Vec<String>, help: &[(Vec<String>, String)]) -> Value {
    let kind = match value {
        Value::Null => None,
        Value::Bool(_) => Some("boolean"),
        Value::Number(_) => Some("integer"),
        Value::String(_) => Some("string"),
        Value::Array(_) => Some("array"),
        Value::Object(_) => Some("object"),
    };
    let name = path.join(".");
    let typed = || match kind {
        Some(kind) if is_required(path) => json!({"type": kind}),
        Some(kind) => json!({"type": [kind, "null"]}),
        None => json!({}),
    };
    let given = special(&name);
    let is_whole = given.is_some();
    let mut schema_of = given.unwrap_or_else(typed);
    if let Some(map) = value.as_object().filter(|map| !is_whole && !map.is_empty()) {
        add_values(&mut schema_of, map, path, help);
    }
    if CLOSED.contains(&name.as_str()) {
        schema_of["additionalProperties"] = json!(false);
    }
    if let Some((_, help)) = help.iter().find(|(documented, _)| documented == path) {
        schema_of["description"] = json!(help);
    }
    schema_of
}

/// Adds the schemas of the values in a map, and which of them are required.
fn add_values(
    schema_of: &mut Value,
    map: &Map<String, Value>,
    path: &mut Vec<String>,
    help: &[(Vec<String>, String)],
) {
    let mut required = Vec::new();
    for (key, value) in map {
        path.push(key.clone());
        schema_of["properties"][key] = schema(value, path, help);
        if is_required(path) {
            required.push(key);
        }
        path.pop();
    }
    if !required.is_empty() {
        schema_of["required"] = json!(required);
    }
}

/// The schema of the policy. The chart adds the two fields that are the same in each policy.
fn policy_schema() -> Value {
    let mut schema: Value = serde_json::from_str(&Policy::schema()).unwrap();
    let fields = schema.as_object_mut().unwrap();
    for field in ["$defs", "$schema", "title"] {
        fields.remove(field);
    }
    schema["required"] = json!(["strategies"]);
    schema
}

#[test]
fn the_schema_has_the_types_of_the_defaults() {
    let documented = documented().into_iter().filter_map(|line| match line {
        Line::Documented { path, help } => Some((path, help)),
        Line::Heading(_) => None,
    });
    let help: Vec<(Vec<String>, String)> = documented.collect();
    let native: Value = serde_json::from_str(&Policy::schema()).unwrap();
    // Values that the chart does not have are accepted, as by descheduler's chart; the notes of the
    // release name them.
    let mut schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$defs": native["$defs"],
        "type": "object",
    });
    add_values(&mut schema, values().as_object().unwrap(), &mut Vec::new(), &help);
    check_generated("deploy/helm/evenkeel/values.schema.json", &format!("{schema:#}\n"));
}

#[test]
fn the_notes_know_every_value() {
    let values = values();
    let names = values.as_object().unwrap().keys().map(String::as_str);
    let known: Vec<&str> = ["global"].into_iter().chain(names).collect();
    let text = format!(
        "{{{{/* The values of the chart, so that the notes can name those that it does not have. \
         Generated. */}}}}\n{{{{- define \"evenkeel.knownValues\" -}}}}\n{}\n{{{{- end -}}}}\n",
        known.join(",")
    );
    check_generated("deploy/helm/evenkeel/templates/_values.tpl", &text);
}

#[test]
fn values_of_descheduler_are_values_of_the_chart() {
    let values = values();
    for name in DESCHEDULER_VALUES.split_whitespace() {
        let path: Vec<String> = name.split('.').map(str::to_owned).collect();
        let (last, outer) = path.split_last().unwrap();
        let map = value_at(&values, outer).as_object().unwrap();
        assert!(map.contains_key(last), "the chart has no value {name}");
    }
}

#[test]
fn the_default_policy_is_that_of_the_manifests() {
    let mut manifests = document("deploy/base/policy.yaml");
    let fields = manifests.as_object_mut().unwrap();
    assert_eq!(
        (fields.remove("apiVersion"), fields.remove("kind")),
        (Some(json!("evenkeel/v1alpha1")), Some(json!("Policy")))
    );
    assert_eq!(values()["policy"], manifests);
}

/// A copy could differ from its original, so the chart has links.
#[test]
fn the_chart_shares_rights_alerts_and_dashboard_with_the_manifests() {
    let folder = path(&format!("{CHART}/files"));
    for entry in std::fs::read_dir(&folder).unwrap() {
        let entry = entry.unwrap().path();
        let target = std::fs::read_link(&entry).unwrap_or_else(|error| {
            panic!("{} is no link: {error}", entry.display());
        });
        assert!(target.is_relative() && folder.join(target).is_file());
    }
}

#[test]
fn the_chart_has_the_version_of_the_program() {
    let chart = document(&format!("{CHART}/Chart.yaml"));
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!((&chart["version"], &chart["appVersion"]), (&json!(version), &json!(version)));
    let images = chart["annotations"]["artifacthub.io/images"].as_str().unwrap();
    assert!(images.contains(&format!("evenkeel:v{version}\n")), "{images}");
    let pages =
        ["README.md", "docs/first-steps.md", "deploy/README.md", "deploy/helm/README.head.md"];
    for page in pages {
        let text = read(page);
        let named = |before: &'static str| text.split(before).skip(1);
        let named: Vec<&str> =
            ["?ref=v", "/evenkeel:v", "\n  version: "].into_iter().flat_map(named).collect();
        assert!(!named.is_empty(), "{page} names no version");
        for after in named {
            let end = after.find(|c: char| !c.is_ascii_digit() && c != '.');
            assert_eq!(&after[..end.unwrap_or(after.len())], version, "{page}");
        }
    }
}
