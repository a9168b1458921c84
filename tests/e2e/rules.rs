//! promtool checks the alerts: they are well-formed, and each fires only when it should.

use std::path::Path;
use std::process::Command;

use crate::e2e::support::{run, scene};
use crate::shared::boards;

#[test]
fn promtool_accepts_the_alerts_and_their_tests() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rules");
    std::fs::create_dir_all(&folder).unwrap();
    let alerts = folder.join("alerts.yaml");
    std::fs::write(&alerts, boards::groups().to_string()).unwrap();
    run(Command::new("promtool")
        .args(["check", "rules", "--lint=all", "--lint-fatal"])
        .arg(&alerts));
    // The tests name the rule file relative to their own folder.
    for entry in
        std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules")).unwrap()
    {
        let entry = entry.unwrap();
        let copy = folder.join(entry.file_name());
        std::fs::copy(entry.path(), &copy).unwrap();
        run(Command::new("promtool").args(["test", "rules"]).arg(&copy));
    }
}

#[test]
fn the_manifests_of_monitoring_use_the_namespace_of_the_base() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("monitoring");
    let built = scene::kustomized(&folder, "monitoring", "namespace: balance\n");
    for kind in ["Deployment", "Service", "ServiceMonitor", "PrometheusRule"] {
        let kind = format!("kind: {kind}\n");
        let one = built.split("\n---\n").filter(|m| m.contains(&kind)).collect::<Vec<_>>();
        assert!(one.len() == 1 && one[0].contains("\n  namespace: balance\n"), "{kind}: {one:?}");
    }
    assert!(
        built.contains("{{ $labels.job }}"),
        "kustomize has changed the templates of the alerts"
    );
}
