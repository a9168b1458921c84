//! Explanations on a real cluster, with the permissions of the daemon.

use crate::e2e::support::audit::eviction_calls;
use crate::e2e::support::process::{Launch, Policy};
use crate::e2e::support::scene;
use crate::e2e::support::wait::say;

/// The dead loop: seven heavy pods prefer the hot node, so their replacements would return to it.
#[test]
#[expect(clippy::too_many_lines, reason = "one scenario, step by step")]
fn a_pod_that_would_return_is_explained_with_its_remedy() {
    scene::with(scene::dead_loop, async |control_plane| {
        let launch = Launch::new(control_plane, &Policy::USUAL).await;
        let pod = scene::pods(control_plane)
            .await
            .into_iter()
            .find(|pod| pod.starts_with("hot-"))
            .unwrap();
        let refusal = "its replacement would return to n1: its preferred node affinity outweighs \
            the free nodes";
        let change = "change the preferred node affinity so that it does not favour n1; or use \
            `steering`, so that the scheduler avoids its node";

        let explanation = launch.explain(&["pod", &format!("default/{pod}")]);
        let verdict = &explanation["verdicts"][0];
        assert_eq!(
            (verdict["answer"].as_str(), verdict["code"].as_str()),
            (Some("kept"), Some("would-return")),
            "{explanation:#}"
        );
        assert_eq!(
            (verdict["message"].as_str(), verdict["remedy"].as_str()),
            (Some(refusal), Some(change))
        );
        let admits = |gate: &str| {
            let answers = explanation["gates"]["answers"].as_array().unwrap();
            answers.iter().find(|answer| answer["gate"] == gate).unwrap()["admits"]
                .as_bool()
                .unwrap()
        };
        assert!(
            admits("evictable")
                && admits("disruption")
                && admits("cooldown")
                && !admits("landing")
                && admits("limits")
        );
        let home = &explanation["landing"]["nodes"][0];
        assert_eq!(
            (
                home["node"].as_str(),
                home["chance"].as_f64(),
                home["parts"]["NodeAffinity"].as_i64()
            ),
            (Some("n1"), Some(1.0), Some(200))
        );
        assert_eq!(explanation["landing"]["nodes"].as_array().unwrap().len(), 10);

        // Several polls give a sparkline with a minimum and a maximum.
        let page = launch.explain_text(&["pod", &pod, "--look", "35s"]);
        say(&page);
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains(&format!(": stays: {refusal}"))
                && words.contains(&format!("to change that: {change}")),
            "{page}"
        );
        let cpu = page.lines().find(|line| line.starts_with("cpu ")).unwrap();
        assert!(cpu.contains("█") && cpu.contains("min ") && cpu.contains("max "), "{page}");

        let page = launch.explain_text(&["node", "n1"]);
        say(&page);
        // A busy machine measures a few percent less than the 98 % that the pods ask for.
        let (before, after) = ("LowNodeUtilization  hot: cpu ", "% is above the target 50%");
        let line = page.lines().find(|line| line.starts_with(before)).unwrap_or_default();
        let ratio = line.strip_prefix(before).and_then(|rest| rest.split_once(after));
        let ratio = ratio.and_then(|(ratio, _)| ratio.parse().ok());
        assert!(ratio.is_some_and(|it: u8| (90..=99).contains(&it)), "{page}");
        let node = launch.explain(&["node", "n1"]);
        assert_eq!(node["views"][0]["class"]["code"], "hot");
        assert_eq!(
            node["pods"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|pod| name_of(pod).starts_with("hot-"))
                .count(),
            7
        );

        let workload = launch.explain(&["workload", "default/hot"]);
        assert_eq!((workload["replicas"].as_u64(), workload["ready"].as_u64()), (Some(7), Some(7)));
        let error = launch.explain_error(&["pod", "default/hot"]);
        assert!(
            error.contains("default/hot is a Deployment: `explain workload default/hot`"),
            "{error}"
        );
        assert!(eviction_calls(control_plane).is_empty());
    });
}

fn name_of(pod: &serde_json::Value) -> &str {
    pod["name"].as_str().unwrap()
}
