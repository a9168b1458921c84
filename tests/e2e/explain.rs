//! Explanations on a real cluster, with the permissions of the daemon.

use crate::e2e::support::{Launch, Policy, eviction_calls, say, scene};

/// Seven heavy pods prefer the hot node, so their replacements would return to it. Several polls
/// give a sparkline with a minimum and a maximum.
#[test]
fn a_live_cluster_is_explained() {
    scene::with(scene::dead_loop, async |control_plane| {
        let launch = Launch::new(control_plane, &Policy::USUAL).await;
        let pods = scene::pods(control_plane).await;
        let pod = pods.iter().find(|pod| pod.starts_with("hot-")).unwrap();
        let explanation = launch.explain(&["pod", &format!("default/{pod}")]);
        assert_eq!(explanation["verdicts"][0]["code"], "would-return", "{explanation:#}");
        assert_eq!(explanation["landing"]["nodes"].as_array().unwrap().len(), 10);

        let page = launch.explain_text(&["pod", pod, "--look", "35s"]);
        say(&page);
        let cpu = page.lines().find(|line| line.starts_with("cpu ")).unwrap();
        assert!(cpu.contains("█") && cpu.contains("min ") && cpu.contains("max "), "{page}");
        let workload = launch.explain(&["workload", "default/hot"]);
        assert_eq!((workload["replicas"].as_u64(), workload["ready"].as_u64()), (Some(7), Some(7)));
        assert!(eviction_calls(control_plane).is_empty());
    });
}
