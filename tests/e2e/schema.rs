//! The JSON Schema of the policy agrees with the reader. helm validates values by the schema of
//! their chart, so a chart with the schema of the policy validates policies.

use std::path::{Path, PathBuf};

use evenkeel::policy::Policy;

use crate::e2e::support::helm::helm;

/// A chart whose values are a policy.
fn chart() -> PathBuf {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("schema-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("Chart.yaml"), "apiVersion: v2\nname: policy\nversion: 0.1.0\n")
        .unwrap();
    std::fs::write(folder.join("values.schema.json"), Policy::schema()).unwrap();
    folder
}

/// The error of the schema, if there is one.
fn error(chart: &Path, policy: &str) -> Option<String> {
    let file = chart.join("policy.txt");
    std::fs::write(&file, policy).unwrap();
    let output = helm(&["template", "policy"]).arg(chart).arg("--values").arg(&file).output();
    let output = output.unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    (!output.status.success()).then_some(error)
}

/// Policies of the repository in the native format, and those of descheduler converted to it.
fn policies() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let mut policies = vec![
        ("example".to_owned(), Policy::example()),
        ("deploy/base".to_owned(), read(&root.join("deploy/base/policy.yaml"))),
    ];
    for entry in std::fs::read_dir(root.join("tests/e2e/policies")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let policy = Policy::parse(&name, &read(&path)).unwrap_or_else(|e| panic!("{e}"));
        policies.push((name, policy.to_native()));
    }
    policies
}

#[test]
fn the_schema_accepts_valid_policies_and_refuses_what_the_reader_refuses() {
    let chart = chart();
    let policies = policies();
    assert!(policies.len() > 10);
    for (name, text) in policies {
        Policy::parse(&name, &text).unwrap_or_else(|error| panic!("{error}"));
        let error = error(&chart, &text);
        assert_eq!(error, None, "{name}:\n{text}");
    }
    for wrong in [
        "interval: 7",
        "intervall: 1m",
        "dryRun: yes please",
        "usage: {window: -1m}",
        "usage: {source: graphite}",
        "limits: {perNode: -1}",
        "limits: {perWorkload: 10 percent}",
        "windows: {allow: Mon}",
        "steering: {taintHot: 1}",
        "strategies: [{lowNodeUtilization: {thresholds: {cpu: fast}}}]",
        "strategies: [{levelNodes: {}}]",
        "strategies: []",
        "kind: DeschedulerPolicy",
    ] {
        let field = wrong.split(':').next().unwrap();
        let base = [
            ("apiVersion", "apiVersion: evenkeel/v1alpha1"),
            ("kind", "kind: Policy"),
            ("strategies", "strategies: [removeDuplicates]"),
        ];
        let mut text: Vec<&str> =
            base.iter().filter(|(f, _)| *f != field).map(|(_, l)| *l).collect();
        text.push(wrong);
        let text = text.join("\n") + "\n";
        assert!(Policy::parse("wrong.yaml", &text).is_err(), "the reader accepts {wrong}");
        assert!(error(&chart, &text).is_some(), "the schema accepts {wrong}");
    }
    std::fs::remove_dir_all(chart).unwrap();
}
