//! Is a pod that stays explained, on a real cluster and with no right but the program's own?

use crate::kit::audit::eviction_calls;
use crate::kit::control_plane::on_a_bed;
use crate::kit::process::{Launch, Policy};
use crate::kit::scene;
use crate::kit::wait::say;

/// The dead loop: seven heavy pods prefer the hot node.
#[test]
fn a_pod_that_would_return_is_explained_and_what_would_have_to_change() {
    on_a_bed(async |control_plane| {
        scene::rights(control_plane);
        scene::dead_loop(control_plane).await;
        let launch = Launch::new(control_plane, &Policy::USUAL).await;
        let pod = scene::pods(control_plane)
            .await
            .into_iter()
            .find(|pod| pod.starts_with("hot-"))
            .unwrap();
        let refusal = "its replacement would return to n1: its preferred node affinity outweighs the free nodes";
        let change = "a preferred node affinity that does not favour n1; or `steering`, by which hot nodes draw less";

        let it = launch.explain(&["pod", &format!("default/{pod}")]);
        let word = &it["words"][0];
        assert_eq!(
            (word["answer"].as_str(), word["code"].as_str()),
            (Some("kept"), Some("would-return")),
            "{it:#}"
        );
        assert_eq!(
            (word["message"].as_str(), word["rightsizing"].as_str()),
            (Some(refusal), Some(change))
        );
        let admits = |gate: &str| {
            let answers = it["gates"]["answers"].as_array().unwrap();
            answers
                .iter()
                .find(|answer| answer["gate"] == gate)
                .unwrap()["admits"]
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
        let home = &it["landing"]["nodes"][0];
        assert_eq!(
            (
                home["node"].as_str(),
                home["chance"].as_f64(),
                home["parts"]["NodeAffinity"].as_i64()
            ),
            (Some("n1"), Some(1.0), Some(200))
        );
        assert_eq!(it["landing"]["nodes"].as_array().unwrap().len(), 10);

        // Watched for a while, there is a course to see.
        let page = launch.explain_text(&["pod", &pod, "--look", "35s"]);
        say(&page);
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains(&format!("it stays: {refusal}"))
                && words.contains(&format!("to change that: {change}")),
            "{page}"
        );
        let cpu = page.lines().find(|line| line.starts_with("cpu ")).unwrap();
        assert!(
            cpu.contains("█") && cpu.contains("min ") && cpu.contains("max "),
            "{page}"
        );

        let page = launch.explain_text(&["node", "n1"]);
        say(&page);
        assert!(
            page.contains("LowNodeUtilization  hot: cpu 89% is above the target 50%"),
            "{page}"
        );
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
        assert_eq!(
            (workload["replicas"].as_u64(), workload["ready"].as_u64()),
            (Some(7), Some(7))
        );
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
