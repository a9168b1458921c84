//! Usage from a real Prometheus that scrapes the kubelets: equal to metrics.k8s.io, and complete
//! right after a restart.

use std::collections::BTreeMap;

use http::{Method, StatusCode};
use serde_json::json;

use crate::e2e::support::{
    Launch, Policy, Process, Prometheus, Stage, evictions, prometheus::source,
    rounds::another_eviction, run, say, scene, that,
};

/// One eviction per cycle, which leaves work for the time after a failure.
const SLOWLY: Policy =
    Policy { limits: "{perCycle: 1, perWorkload: 100%}", stale_after: "15s", ..Policy::USUAL };

#[test]
fn both_sources_agree_and_a_restarted_process_acts_in_its_first_cycle() {
    scene::with_rights(async |control_plane| {
        let prometheus = Prometheus::start(control_plane, 4).await;
        scene::more_lopsided(control_plane).await;
        let by_prometheus = Policy::USUAL.by(&source(&prometheus.url()));
        let by_queries =
            ratios(&mut Launch::written(control_plane, &by_prometheus).await.run(&["--dry-run"]))
                .await;
        let by_metrics_server =
            ratios(&mut Launch::new(control_plane, &Policy::USUAL).await.run(&["--dry-run"])).await;
        assert_eq!(
            (by_queries.len(), by_metrics_server.len()),
            (8, 8),
            "cpu and memory of four nodes: {by_queries:?} {by_metrics_server:?}"
        );
        let difference = |name: &String| {
            (by_queries[name] - by_metrics_server[name]).abs() / by_metrics_server[name]
        };
        let largest = by_metrics_server
            .keys()
            .map(|name| (difference(name), name))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap();
        say(&format!(
            "Prometheus and metrics-server differ by at most {:.1} %: {}",
            largest.0 * 100.0,
            largest.1
        ));
        assert!(largest.0 <= 0.02, "{by_queries:#?} {by_metrics_server:#?}");

        // `plan` also uses the whole window, not only the present usage.
        let rightsizing =
            &Launch::written(control_plane, &by_prometheus).await.plan()["rightsizing"][0];
        assert!(
            rightsizing["samples"].as_u64()
                >= rightsizing["measured"].as_u64().map(|pods| pods * 2),
            "{rightsizing}"
        );

        // A process that has just started reads the past window and acts in its first cycle.
        let launch = Launch::written(control_plane, &SLOWLY.by(&source(&prometheus.url()))).await;
        for run in 1..=2 {
            let mut process = launch.run(&[]);
            process.cycles(1, 60).await;
            let first = process
                .log()
                .into_iter()
                .find(|line| line.contains("\"message\":\"cycle: "))
                .unwrap();
            assert!(first.contains("\"outcome\":\"acted\""), "run {run}: {first}");
            assert_eq!(evictions(control_plane).len(), run, "run {run}");
            process.kill_9();
        }
        say("Prometheus: evicts in the first cycle after a start and a restart");
        let start = tokio::time::Instant::now();
        assert!(launch.run(&["--once"]).ended(60).await.success());
        assert_eq!(evictions(control_plane).len(), 3);
        say(&format!("Prometheus: a single run ends after {:.1} s", start.elapsed().as_secs_f64()));
    });
}

#[test]
fn invalid_responses_cause_no_evictions_and_the_process_recovers() {
    scene::with_rights(async |control_plane| {
        let prometheus = Prometheus::start(control_plane, 4).await;
        scene::more_lopsided(control_plane).await;
        let meddler = prometheus.meddler(control_plane).await;
        let mut process =
            Launch::written(control_plane, &SLOWLY.by(&source(&meddler.url()))).await.run(&[]);
        another_eviction(control_plane, &mut process, 180).await;

        // Earlier readings are used until they are stale.
        let invalid = meddler.answer(StatusCode::OK, &[Method::GET], "/api/v1/");
        process.says(&["no usage source is fresh"], 1, 90).await;
        process.cycles(1, 60).await;
        let before = evictions(control_plane).len();
        process.cycles(2, 60).await;
        assert_eq!(process.probe("/readyz").await, Ok(503));
        drop(invalid);
        let refused = meddler.answer(StatusCode::UNAUTHORIZED, &[Method::GET], "/api/v1/");
        process
            .eventually("a log line about the credentials", 60, async |process| {
                that(process.count(&["does not accept our credentials (401)"]) > 0, "none")
            })
            .await;
        process.cycles(2, 60).await;
        let slow = meddler.hold(Stage::Unanswered, &[Method::GET], "/api/v1/");
        drop(refused);
        process
            .eventually("a log line about the timeout", 60, async |process| {
                that(process.count(&["took longer than"]) > 0, "none")
            })
            .await;
        process.cycles(2, 60).await;
        assert_eq!(evictions(control_plane).len(), before, "evicted on stale usage");
        slow.release();
        let seconds = another_eviction(control_plane, &mut process, 180).await;
        say(&format!(
            "Prometheus: invalid responses, 401 and timeouts: next eviction {seconds} s after \
                their end"
        ));
        assert_eq!(process.probe("/readyz").await, Ok(200));
    });
}

/// The smoothed cpu and memory ratios of the nodes, once their windows are full.
async fn ratios(process: &mut Process) -> BTreeMap<String, f64> {
    process.cycles(6, 180).await;
    let text = process.metrics().await;
    let lines =
        text.lines().filter_map(|line| line.strip_prefix("evenkeel_node_ratio{")?.split_once("} "));
    let smoothed = |labels: &str| {
        labels.contains("basis=\"actual\"") && !labels.contains("smoothing=\"none\"")
    };
    let actual = lines.filter(|(labels, _)| smoothed(labels));
    actual.map(|(labels, value)| (labels.to_owned(), value.parse().unwrap())).collect()
}

/// The labels of the kubelet's series of a pod, for `POD` below.
const POD: &str = r#"node="n1",instance="10.0.0.1:10250",namespace="shop",pod="web""#;
/// Those of the series of node-exporter, for `EXPORTER` below.
const EXPORTER: &str = r#"instance="10.0.0.1:9100""#;

/// Series with the increase per scrape of 30 s or the constant value, and the expected results of
/// the default queries.
const QUERY_CASES: [(&str, &str); 4] = [
    // cAdvisor series of a pod with two containers that use 1.5 cores, as kube-prometheus-stack
    // stores them, and node-exporter series of a node that uses 0.7 cores.
    (
        "stack",
        r#"
        container_cpu_usage_seconds_total{POD,container="a",id="/a"} 0+15x20
        container_cpu_usage_seconds_total{POD,container="b",id="/b"} 0+30x20
        container_cpu_usage_seconds_total{POD,id="/pod"} 0+45x20
        container_memory_working_set_bytes{POD,container="a",id="/a"} 7x20
        node_cpu_seconds_total{EXPORTER,cpu="0",mode="user"} 0+15x20
        node_cpu_seconds_total{EXPORTER,cpu="1",mode="system"} 0+6x20
        node_cpu_seconds_total{EXPORTER,cpu="1",mode="idle"} 0+9x20
        node_memory_MemTotal_bytes{EXPORTER} 100x20
        node_memory_MemAvailable_bytes{EXPORTER} 30x20
        nodeCpu {EXPORTER} = 0.7
        nodeMemory {EXPORTER} = 70
        nodeTime {EXPORTER} = 300
        podCpu {POD} = 1.5
        podMemory {POD} = 7
        podTime {POD} = 300
        "#,
    ),
    // Only cAdvisor, with a total for the node and the node's name as instance.
    (
        "cadvisor",
        r#"
        container_cpu_usage_seconds_total{instance="n1",id="/"} 0+60x20
        container_memory_working_set_bytes{instance="n1",id="/"} 50x20
        container_cpu_usage_seconds_total{instance="n1",namespace="shop",pod="web",container="a",id="/a"} 0+15x20
        nodeCpu {instance="n1"} = 2
        nodeMemory {instance="n1"} = 50
        podCpu {instance="n1",namespace="shop",pod="web"} = 0.5
        "#,
    ),
    // /metrics/resource of the kubelet beside cAdvisor and node-exporter: nothing counts twice.
    (
        "resource",
        r#"
        node_cpu_usage_seconds_total{node="n1",instance="10.0.0.1:10250"} 0+90x20
        pod_cpu_usage_seconds_total{POD} 0+45x20
        container_cpu_usage_seconds_total{POD,container="a"} 0+45x20
        container_cpu_usage_seconds_total{node="n1",instance="10.0.0.1:10250",id="/"} 0+95x20
        node_cpu_seconds_total{EXPORTER,cpu="0",mode="user"} 0+15x20
        nodeCpu {node="n1",instance="10.0.0.1:10250"} = 3
        podCpu {POD} = 1.5
        "#,
    ),
    // Two replicas of Prometheus in one store without deduplication: nothing counts twice.
    (
        "replicas",
        r#"
        container_cpu_usage_seconds_total{cluster="a",prometheus_replica="r1",POD,container="a",id="/a"} 0+15x20
        container_cpu_usage_seconds_total{cluster="a",prometheus_replica="r2",POD,container="a",id="/a"} 0+15x20
        node_cpu_seconds_total{cluster="a",prometheus_replica="r1",EXPORTER,cpu="0",mode="user"} 0+15x20
        node_cpu_seconds_total{cluster="a",prometheus_replica="r2",EXPORTER,cpu="0",mode="user"} 0+15x20
        node_memory_MemTotal_bytes{cluster="a",prometheus_replica="r1",EXPORTER} 100x20
        node_memory_MemAvailable_bytes{cluster="a",prometheus_replica="r1",EXPORTER} 30x20
        node_memory_MemTotal_bytes{cluster="a",prometheus_replica="r2",EXPORTER} 100x20
        node_memory_MemAvailable_bytes{cluster="a",prometheus_replica="r2",EXPORTER} 30x20
        nodeCpu {cluster="a",EXPORTER} = 0.5
        nodeMemory {cluster="a",EXPORTER} = 70
        podCpu {cluster="a",POD} = 0.5
        "#,
    ),
];

#[test]
fn the_default_queries_work_on_all_common_scrape_configurations() {
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    for (name, case) in QUERY_CASES {
        let case = case.replace("POD", POD).replace("EXPORTER", EXPORTER);
        let (mut series, mut expected) = (Vec::new(), Vec::new());
        for line in case.trim().lines().map(str::trim) {
            if let Some((result, value)) = line.split_once(" = ") {
                let (query, labels) = result.split_once(' ').unwrap();
                let sample = json!({"labels": labels, "value": value.parse::<f64>().unwrap()});
                expected.push(json!({"expr": default_query(query), "eval_time": "5m",
                    "exp_samples": [sample]}));
            } else {
                let (name, values) = line.rsplit_once(' ').unwrap();
                series.push(json!({"series": name, "values": values}));
            }
        }
        let test = json!({"interval": "30s", "input_series": series, "promql_expr_test": expected});
        let file = dir.join(format!("queries-{name}.yml"));
        std::fs::write(&file, json!({"tests": [test]}).to_string()).unwrap();
        run(std::process::Command::new("promtool").args(["test", "rules"]).arg(&file));
    }
}

fn default_query(name: &str) -> String {
    let text = "{apiVersion: evenkeel/v1alpha1, kind: Policy, strategies: [removeDuplicates],
        usage: {source: prometheus, prometheus: {url: 'http://p'}}}";
    let prometheus =
        evenkeel::policy::Policy::parse("policy.yaml", text).unwrap().usage.prometheus.unwrap();
    let queries = &prometheus.queries;
    let query = match name {
        "nodeCpu" => &queries.node_cpu,
        "nodeMemory" => &queries.node_memory,
        "nodeTime" => queries.node_time.as_ref().unwrap(),
        "podCpu" => &queries.pod_cpu,
        "podMemory" => &queries.pod_memory,
        "podTime" => queries.pod_time.as_ref().unwrap(),
        other => panic!("{other}"),
    };
    prometheus.rendered(query)
}
