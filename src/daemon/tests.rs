//! The order of polls and cycles.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::cycle::tests::violating_pods;
use super::fixture::{self, answer, client};
use super::{Daemon, run_loop};
use crate::cluster::usage_source::guards::GuardSource;
use crate::decide::engine::Engine;
use crate::model::ledger::Ledger;

/// Polls fall due every 15 s and cycles every 55 s, so that a cycle usually falls due a few seconds
/// before a poll.
#[tokio::test(start_paused = true)]
async fn a_cycle_polls_first_what_is_due_soon() {
    let (start, asked) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
    let log = Arc::clone(&asked);
    let client = client(move |request| {
        let path = request.uri().path().to_owned();
        let answer = answer(&path);
        log.lock().unwrap().push((start.elapsed().as_secs(), path));
        async move { answer }
    });
    let policy = fixture::policy(
        "interval: 55s, \
        usage: {source: metricsApi, poll: 15s}, limits: {perCycle: 1}, \
        evictable: {minReplicas: 1, minPodAge: 0s}, \
        strategies: [{removePodsViolatingNodeTaints: {}}]",
    );
    let (mut daemon, mut engine) = violating_pods(&client, policy).await;
    let looped = run_loop(&mut daemon, &mut engine);
    timeout(Duration::from_secs(120), looped).await.unwrap_err();
    let asked = asked.lock().unwrap();
    let times = |text: &str| -> Vec<u64> {
        let requests = asked.iter().filter(|(_, path)| path.ends_with(text));
        requests.map(|(second, _)| *second).collect()
    };
    assert_eq!(times("/eviction"), [0, 55, 110]);
    assert_eq!(times("/v1beta1/nodes"), [0, 15, 30, 45, 55, 70, 85, 100, 110]);
}

/// An alert would otherwise fire for ever in a cluster without metrics-server.
#[tokio::test(start_paused = true)]
async fn a_source_that_no_decision_needs_is_not_reported_as_failing() {
    for (strategy, expected) in [
        ("removeDuplicates: {}", 0),
        ("lowNodeUtilization: {thresholds: {cpu: 20%}, targetThresholds: {cpu: 50%}}", 1),
        // Its ceilings are by usage, as far as that is known.
        ("highNodeUtilization: {basis: requests, thresholds: {cpu: 20%}}", 1),
    ] {
        let policy = fixture::policy(&format!("strategies: [{strategy}]"));
        let client = client(|_| async { "no metrics".to_owned() });
        let mut daemon = Daemon::fake(&client, &policy);
        let mut engine = Engine::new(policy, Ledger::default());
        for _ in 0..2 {
            assert!(!daemon.observe(&mut engine).await);
            tokio::time::advance(Duration::from_secs(60)).await;
        }
        assert_eq!(daemon.cluster.failures().lasting().len(), expected, "{strategy}");
    }
}

/// A Prometheus that accepts connections and never answers delays polls by its deadline, twice.
#[tokio::test(start_paused = true)]
async fn evictions_go_on_beside_a_prometheus_that_hangs() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let evictions = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&evictions);
    let client = client(move |request| {
        let path = request.uri().path();
        *counted.lock().unwrap() += usize::from(path.ends_with("/eviction"));
        let answer = answer(path);
        async move { answer }
    });
    let policy = fixture::policy(&format!(
        "limits: {{perCycle: 1}}, \
          usage: {{source: prometheus, fallback: metricsApi, poll: 30s, \
            prometheus: {{url: 'http://{}'}}}}, \
          guards: [{{name: g, query: ALERTS, missing: allow}}], \
          evictable: {{minReplicas: 1, minPodAge: 0s}}, \
          strategies: [{{removePodsViolatingNodeTaints: {{}}}}]",
        listener.local_addr().unwrap()
    ));
    let (mut daemon, mut engine) = violating_pods(&client, policy).await;
    daemon.guards = GuardSource::new(engine.policy());
    let looped = run_loop(&mut daemon, &mut engine);
    timeout(Duration::from_secs(180), looped).await.unwrap_err();
    assert!(*evictions.lock().unwrap() > 0);
}
