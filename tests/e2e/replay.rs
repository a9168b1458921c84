//! The replay of a run that Prometheus recorded: the same evictions and the same balance.

use crate::e2e::support::{
    Launch, Policy, Prometheus, Request, eventually, evictions, in_words, prometheus::source,
    requests, rounds::late_nodes_are_filled, say, scene, that, used,
};

/// The standard deviation of percentages.
fn deviation(percentages: &[f64]) -> f64 {
    let count = f64::from(u32::try_from(percentages.len()).unwrap());
    let mean = percentages.iter().sum::<f64>() / count;
    let squares = percentages.iter().map(|percent| (percent - mean).powi(2));
    (squares.sum::<f64>() / count).sqrt()
}

/// Counts the containers that were scraped for a minute.
const SCRAPED: &str =
    "count(count_over_time(container_cpu_usage_seconds_total{namespace=\"default\"}[5m]) >= 12)";

/// Waits until every container of late nodes was scraped for a minute.
async fn scraped(prometheus: &Prometheus) {
    eventually("a minute of usage", 180, async || {
        let found = prometheus.get("/api/v1/query", &[("query", SCRAPED)]).await;
        let count = found["result"][0]["value"][1].as_str();
        that(count == Some("80"), format!("{count:?} containers"))
    })
    .await;
}

/// The recording begins before the nodes exist and ends when the cluster is balanced.
#[test]
fn a_replay_of_a_recorded_run_gives_the_same_evictions_and_the_same_balance() {
    scene::with_rights(async |control_plane| {
        let prometheus = Prometheus::start(control_plane, 10).await;
        scene::late_nodes(control_plane).await;
        scraped(&prometheus).await;
        let policy = Policy { interval: "20s", limits: "{}", ..Policy::USUAL };
        let policy = policy.by(&source(&prometheus.url()));
        let launch = Launch::written(control_plane, &policy).await;
        late_nodes_are_filled(control_plane, &launch).await;
        let of_metrics_server = |r: &Request| r.group == "metrics.k8s.io";
        assert!(!requests(control_plane).iter().any(of_metrics_server));
        let made = evictions(control_plane).len();
        let file = control_plane.write("recording.json", "");
        launch.record("20m", "15s", &file);
        let percentages = used(control_plane).await.percentages();

        let replay = launch.replay(&file);
        let replayed = replay["evictions"].as_array().unwrap().len();
        let nodes = replay["nodes"].as_array().unwrap().iter();
        let ends: Vec<f64> = nodes
            .map(|node| node["actual"]["cpu"].as_array().unwrap().last().unwrap())
            .map(|share| share.as_f64().unwrap() * 100.0)
            .collect();
        let [before, after] =
            [deviation(&percentages.values().copied().collect::<Vec<_>>()), deviation(&ends)];
        say(&format!(
            "replay: {made} evictions, {replayed} replayed; standard deviation {before:.1} and \
             {after:.1} points; nodes at the end {}",
            in_words(&percentages)
        ));
        assert!(made >= 10, "{made}");
        assert!(
            made.abs_diff(replayed) * 10 <= made,
            "{made} evictions, {replayed} replayed: {:#}",
            replay["evictions"]
        );
        assert!((before - after).abs() <= 2.0, "{before} {after}: {ends:?}");
    });
}
