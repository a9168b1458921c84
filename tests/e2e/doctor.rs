//! `evenkeel doctor` against a real API server.

use crate::e2e::support::{Launch, Policy, scene};

#[test]
fn doctor_finds_missing_rights_and_missing_metrics_and_nothing_else() {
    scene::with(scene::lopsided, async |control_plane| {
        let policy = Policy { steering: "{taintHot: true}", ..Policy::USUAL };
        let launch = Launch::new(control_plane, &policy).await;
        let (ended_well, lines) = launch.doctor(&[]);
        assert!(ended_well, "{lines:#?}");
        for line in &lines {
            assert_eq!(line["severity"], "ok", "{line}");
        }
        let checks: Vec<&str> = lines.iter().map(|l| l["check"].as_str().unwrap()).collect();
        assert_eq!(checks[..3], ["api-server", "clock", "rights"]);

        control_plane.kubectl(&["delete", "clusterrolebinding", "evenkeel-steering"]);
        control_plane.component("stop", "metrics-server");
        let (ended_well, lines) = launch.doctor(&[]);
        assert!(!ended_well);
        let failures: Vec<_> = lines.iter().filter(|l| l["severity"] == "failure").collect();
        let of = |check: &str| failures.iter().find(|l| l["check"] == check);
        let rights = of("rights").unwrap()["message"].as_str().unwrap();
        assert!(rights.ends_with("may not patch nodes"), "{rights}");
        let source = of("usage-source").unwrap()["message"].as_str().unwrap();
        assert!(source.contains("metrics.k8s.io"), "{source}");
        assert_eq!(of("usage").unwrap()["severity"], "failure");
        assert_eq!(failures.len(), 3, "{failures:#?}");
    });
}
