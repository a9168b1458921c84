//! Alerts, their page and their tests are consistent, and the manifests find the pod.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use evenkeel::model::ledger::Ending;
use serde_json::Value;

use crate::it::reasons::endings;
use crate::it::support::document;
use crate::shared::boards::{alerts, read, selectors};

const FOLDER: &str = "deploy/components/monitoring";
const PAGE: &str = "https://github.com/evenkeel/evenkeel/blob/main/docs/alerts.md#";

fn name(alert: &Value) -> &str {
    alert["alert"].as_str().unwrap()
}

// ---- the alerts ----

#[test]
fn every_alert_has_texts_a_severity_and_a_runbook() {
    for alert in alerts() {
        let name = name(&alert);
        assert!(name.starts_with("Evenkeel"), "{name}");
        assert!(alert["for"].is_string(), "{name} has no `for`");
        assert!(
            ["info", "warning"].contains(&alert["labels"]["severity"].as_str().unwrap()),
            "{name}"
        );
        let annotations = &alert["annotations"];
        for text in ["summary", "description"] {
            assert!(
                annotations[text].as_str().is_some_and(|t| t.len() > 20),
                "{name} has no {text}"
            );
        }
        assert_eq!(annotations["runbook_url"], format!("{PAGE}{}", name.to_lowercase()));
        assert!(
            selectors(alert["expr"].as_str().unwrap()).iter().next().is_some(),
            "{name} uses none of our metrics"
        );
    }
}

#[test]
fn the_page_of_alerts_has_exactly_the_alerts() {
    let page = read("docs/alerts.md");
    let mut sections: BTreeMap<&str, &str> = BTreeMap::new();
    for section in page.split("\n### ").skip(1) {
        let (title, text) = section.split_once('\n').unwrap();
        sections.insert(title, text);
    }
    let alerts = alerts();
    let names: BTreeSet<&str> = alerts.iter().map(name).collect();
    assert_eq!(sections.keys().copied().collect::<BTreeSet<_>>(), names);
    for alert in &alerts {
        let severity = format!("Severity: {}.", alert["labels"]["severity"].as_str().unwrap());
        assert!(sections[name(alert)].contains(&severity), "{}: {severity}", name(alert));
    }
    // Every code on the page exists.
    let reasons = read("docs/reasons.md");
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    for code in rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2)) {
        let ends = Ending::CODES.contains(&code);
        assert!(ends || reasons.contains(&format!("| `{code}` |")), "unknown code {code}");
    }
}

#[test]
fn every_alert_has_a_test_that_fires_and_one_that_does_not() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules");
    let (mut firing, mut silent) = (BTreeSet::new(), BTreeSet::new());
    for file in std::fs::read_dir(folder).unwrap() {
        let tests =
            document(&format!("tests/rules/{}", file.unwrap().file_name().to_str().unwrap()));
        let all = tests["tests"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|t| t["alert_rule_test"].as_array().unwrap());
        for test in all {
            let is_silent = test["exp_alerts"].as_array().unwrap().is_empty();
            let name = test["alertname"].as_str().unwrap().to_owned();
            if is_silent {
                silent.insert(name)
            } else {
                firing.insert(name)
            };
        }
    }
    let names: BTreeSet<String> = alerts().iter().map(|a| name(a).to_owned()).collect();
    assert_eq!((&firing, &silent), (&names, &names));
}

#[test]
fn the_alert_counts_the_endings_that_have_not_helped() {
    let alerts = alerts();
    let alert = alerts.iter().find(|a| name(a) == "EvenkeelEvictionsDoNotHelp").unwrap();
    let counted = selectors(alert["expr"].as_str().unwrap());
    let matched: BTreeSet<&str> = counted.iter().map(|s| s.matchers[0].2.as_str()).collect();
    let is_useless = |e: &Ending| e.is_ineffective() || *e == Ending::NoRelief;
    let useless = endings().into_iter().filter(is_useless);
    let useless: Vec<&str> = useless.map(|ending| ending.code()).collect();
    assert_eq!(matched, BTreeSet::from([useless.join("|").as_str(), "not-replaced"]));
}

// ---- the manifests ----

#[test]
fn the_service_and_the_service_monitor_find_the_pod() {
    let kustomization = document("deploy/base/kustomization.yaml");
    // `includeTemplates` adds these labels to the pods.
    let labels = &kustomization["labels"][0];
    assert_eq!(labels["includeTemplates"], true);
    let service = document(&format!("{FOLDER}/service.yaml"));
    assert_eq!(service["spec"]["selector"], labels["pairs"]);
    // With the name of the installation, which becomes the label `job`.
    let mut with_job = labels["pairs"].clone();
    with_job["app.kubernetes.io/instance"] = "evenkeel".into();
    assert_eq!(service["metadata"]["labels"], with_job);
    let deployment = document("deploy/base/deployment.yaml");
    let ports = deployment["spec"]["template"]["spec"]["containers"][0]["ports"]
        .as_array()
        .unwrap()
        .clone();
    let port = &service["spec"]["ports"][0];
    let pod_port = ports.iter().find(|p| p["name"] == port["targetPort"]).unwrap();
    assert_eq!(port["port"], pod_port["containerPort"]);

    let monitor = document(&format!("{FOLDER}/servicemonitor.yaml"));
    assert_eq!(monitor["spec"]["selector"]["matchLabels"], labels["pairs"]);
    assert!(
        service["metadata"]["labels"].get(monitor["spec"]["jobLabel"].as_str().unwrap()).is_some()
    );
    let endpoint = &monitor["spec"]["endpoints"][0];
    assert_eq!((&endpoint["port"], endpoint["path"].as_str()), (&port["name"], Some("/metrics")));
    // Without it, Prometheus would replace a workload's namespace by the one of the scraped pod.
    assert_eq!(endpoint["honorLabels"], true);
}

#[test]
fn only_the_monitoring_component_needs_the_operator() {
    let component = document(&format!("{FOLDER}/kustomization.yaml"));
    assert_eq!(component["kind"], "Component");
    let listed: BTreeSet<&str> =
        component["resources"].as_array().unwrap().iter().map(|r| r.as_str().unwrap()).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    let files =
        std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> = files.filter(|f| f != "kustomization.yaml").collect();
    assert_eq!(listed, files.iter().map(String::as_str).collect());
    for file in &files {
        let object = document(&format!("{FOLDER}/{file}"));
        assert_eq!(
            (&object["metadata"]["name"], &object["metadata"]["namespace"]),
            (&"evenkeel".into(), &"kube-system".into())
        );
    }
    for other in ["base", "overlays/job", "overlays/cronjob"] {
        let text = read(&format!("deploy/{other}/kustomization.yaml"));
        assert!(!text.contains("monitoring"), "deploy/{other} uses the monitoring component");
    }
    assert!(
        read("deploy/README.md").contains("components/monitoring"),
        "deploy/README.md does not mention the component"
    );
}
