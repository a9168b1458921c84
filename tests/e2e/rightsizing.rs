//! The plan names workloads whose requests mislead the scheduler.

use serde_json::Value;

use crate::e2e::support::audit::eviction_calls;
use crate::e2e::support::process::{Launch, Policy};
use crate::e2e::support::scene;
use crate::e2e::support::usage::millicores;
use crate::e2e::support::wait::{say, that};

/// The default headroom of a suggested request over the measured usage.
const HEADROOM: f64 = 1.15;

/// The heavy pods request a tenth of the core that they use, so the scheduler does not move them to
/// the late nodes.
#[test]
fn the_heavy_workload_is_named_first_with_a_request_that_fits() {
    scene::with(scene::late_nodes, async |control_plane| {
        let launch = Launch::new(control_plane, &Policy::USUAL).await;
        let plan = launch.plan();
        let first = &plan["rightsizing"][0];
        let cpu = &first["resources"]["cpu"];
        say(&format!("{} pods of {}: {cpu}", first["pods"], first["workload"]));
        assert_eq!(first["workload"], "default/Deployment/hot", "{:#}", plan["rightsizing"]);
        assert_eq!((&first["pods"], &first["measured"]), (&Value::from(20), &Value::from(20)));
        assert_eq!(
            (&cpu["direction"], &cpu["request"]),
            (&Value::from("too_low"), &Value::from("100m"))
        );
        let fits = |key: &str, meant: f64| (millicores(&cpu[key]) - meant).abs() <= meant / 10.0;
        assert!(fits("typical", 1000.0) && fits("suggested", 1000.0 * HEADROOM), "{cpu:#}");

        let mut process = launch.run(&["--dry-run"]);
        let suggested = "evenkeel_rightsizing_suggested_request{namespace=\"default\",\
            kind=\"Deployment\",workload=\"hot\",resource=\"cpu\",unit=\"core\"} ";
        let cores: f64 = process
            .eventually("the same in metrics, by the samples of a window", 120, async |process| {
                let text = process.metrics().await;
                let value = text.lines().find_map(|line| line.strip_prefix(suggested));
                that(value.is_some(), "not there yet".to_owned())?;
                Ok(value.and_then(|v| v.parse().ok()).unwrap_or_default())
            })
            .await;
        say(&format!("the daemon suggests {cores} cores"));
        assert!((cores - HEADROOM).abs() <= HEADROOM / 10.0, "{cores}");
        assert!(eviction_calls(control_plane).is_empty());
    });
}
