//! `evenkeel snapshot --history` against a server that plays the API server and Prometheus, and the
//! replay of its file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use serde_json::{Value, json};

use crate::it::support;

const PROGRAM: &str = env!("CARGO_BIN_EXE_evenkeel");
/// The time of the server: noon.
const NOW: i64 = 1_795_262_400;
const STEP: i64 = 300;
/// The pod `web-5d8c7b9f64-bbbbb` replaced `web-5d8c7b9f64-aaaaa` on another node then.
const REPLACED: i64 = NOW - 2 * 3600;
/// Prometheus had no samples for this long before noon.
const OUTAGE: std::ops::Range<i64> = NOW - 5 * 3600..NOW - 4 * 3600;

/// Pods and their nodes, the time in which each ran, and its cores.
const PODS: [(&str, &str, std::ops::Range<i64>, &str); 5] = [
    ("web-5d8c7b9f64-aaaaa", "n1", 0..REPLACED, "2.5"),
    ("web-5d8c7b9f64-bbbbb", "n2", REPLACED..i64::MAX, "2.5"),
    ("web-5d8c7b9f64-ccccc", "n1", 0..i64::MAX, "2.5"),
    ("web-5d8c7b9f64-ddddd", "n1", 0..i64::MAX, "1"),
    ("agent-x2x4z", "n3", 0..i64::MAX, "0.1"),
];

fn node(name: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}]}})
}

fn pod(name: &str, node: &str, since: i64) -> Value {
    let created = jiff::Timestamp::from_second(since.max(NOW - 90_000)).unwrap();
    let (kind, owner) = match name.rsplit_once('-') {
        Some((owner, _)) if owner == "agent" => ("DaemonSet", owner),
        Some((owner, _)) => ("ReplicaSet", owner),
        None => panic!("{name}"),
    };
    json!({"metadata": {"namespace": "shop", "name": name, "uid": name,
            "creationTimestamp": created.to_string(),
            "labels": {"app": owner, "pod-template-hash": "5d8c7b9f64"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": kind, "name": owner,
                "uid": owner, "controller": true}]},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "c:1",
            "resources": {"requests": {"cpu": "100m", "memory": "100Mi"}}}]},
        "status": {"phase": "Running", "startTime": created.to_string(),
            "conditions": [{"type": "Ready", "status": "True"}]}})
}

/// The lists of the API server.
fn list(path: &str) -> Value {
    let present = PODS.iter().filter(|(_, _, ran, _)| ran.contains(&NOW));
    let items: Vec<Value> = match path {
        "/api/v1/nodes" => ["n1", "n2", "n3"].map(node).to_vec(),
        "/api/v1/pods" => present.map(|(name, node, ran, _)| pod(name, node, ran.start)).collect(),
        "/apis/apps/v1/replicasets" => {
            vec![json!({"metadata": {"namespace": "shop", "name": "web-5d8c7b9f64",
                "uid": "web-5d8c7b9f64"}})]
        }
        "/api/v1/namespaces" => vec![json!({"metadata": {"name": "shop"}})],
        _ => Vec::new(),
    };
    json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"},
        "items": items})
}

/// The response to a query: pods that ran use their cores and 1 GiB. Nodes use half a core more.
fn queried(path: &str, params: &BTreeMap<String, String>) -> Value {
    let query = &params["query"];
    if path == "/api/v1/query" {
        assert_eq!(query, "time()");
        return json!({"resultType": "scalar", "result": [NOW, "0"]});
    }
    let second = |name: &str| params[name].split('.').next().unwrap().parse::<i64>().unwrap();
    let steps = (second("end") - second("start")) / second("step");
    let times: Vec<i64> = (0..=steps)
        .map(|i| second("start") + i * second("step"))
        .filter(|time| !OUTAGE.contains(time))
        .collect();
    let series = |labels: Value, value: &dyn Fn(i64) -> Option<String>| {
        let values = times.iter().filter_map(|time| Some(json!([time, value(*time)?])));
        let values: Vec<Value> = values.collect();
        (!values.is_empty()).then(|| json!({"metric": labels, "values": values}))
    };
    let result: Vec<Option<Value>> = if query.contains("pod_") {
        let of = |(name, node, ran, cores): &(&str, &str, std::ops::Range<i64>, &str)| {
            let labels = json!({"namespace": "shop", "pod": name, "node": node});
            let memory = query.contains("memory");
            let value = if memory { "1073741824" } else { cores };
            series(labels, &|time| ran.contains(&time).then(|| value.to_owned()))
        };
        PODS.iter().map(of).collect()
    } else {
        let of = |node: &str| {
            let here = |time: i64| {
                let here = PODS.iter().filter(move |pod| pod.1 == node);
                here.filter(move |pod| pod.2.contains(&time))
            };
            series(json!({"node": node}), &|time| {
                let cores = here(time).map(|pod| pod.3.parse::<f64>().unwrap());
                let cores: f64 = 0.5 + cores.sum::<f64>();
                let bytes = (1 + here(time).count()) << 30;
                let memory = query.contains("memory");
                Some(if memory { bytes.to_string() } else { cores.to_string() })
            })
        };
        ["n1", "n2", "n3"].map(of).to_vec()
    };
    let result: Vec<Value> = result.into_iter().flatten().collect();
    json!({"resultType": "matrix", "result": result})
}

/// The requests by path and query.
type Asked = Arc<Mutex<Vec<(String, BTreeMap<String, String>)>>>;

async fn serve() -> (String, Asked) {
    let asked = Asked::default();
    let log = Arc::clone(&asked);
    let router = Router::new().fallback(move |request: Request| {
        let log = Arc::clone(&log);
        async move {
            let url = reqwest::Url::parse(&format!("http://p{}", request.uri())).unwrap();
            let params: BTreeMap<String, String> = url.query_pairs().into_owned().collect();
            let (status, body) = match url.path() {
                path @ ("/api/v1/query" | "/api/v1/query_range") => {
                    (200, json!({"status": "success", "data": queried(path, &params)}))
                }
                path if path.starts_with("/apis/metrics.k8s.io") => (404, json!({})),
                path => (200, list(path)),
            };
            log.lock().unwrap().push((url.path().to_owned(), params));
            Response::builder()
                .status(status)
                .header("content-type", "application/json")
                .body(Body::from(body.to_string()))
                .unwrap()
        }
    });
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0));
    let listener = listener.await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    (format!("http://{address}"), asked)
}

/// A folder with a kubeconfig and two policies; removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, url: &str) -> Self {
        let folder = format!("evenkeel-{name}-{}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(folder));
        std::fs::create_dir(&folder.0).unwrap();
        let kubeconfig = support::kubeconfig(&format!("server: '{url}'"));
        let policy = |target: &str| {
            format!(
                "apiVersion: evenkeel/v1alpha1\nkind: Policy\n\
                 usage: {{source: prometheus, prometheus: {{url: '{url}'}}}}\n\
                 evictable: {{minReplicas: 1}}\nstrategies:\n\
                 - lowNodeUtilization: {{thresholds: {{cpu: 30%}}, targetThresholds: {{cpu: {target}}}}}\n"
            )
        };
        for (file, text) in [
            ("kubeconfig", kubeconfig),
            ("policy.yaml", policy("50%")),
            ("patient.yaml", policy("95%")),
        ] {
            std::fs::write(folder.0.join(file), text).unwrap();
        }
        folder
    }

    /// Runs the program in the folder.
    async fn evenkeel(&self, line: &str) -> Output {
        let mut command = Command::new(PROGRAM);
        command.current_dir(&self.0).args(line.split(' '));
        command.env_remove("EVENKEEL_POLICY");
        // The server runs on this runtime.
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        output.await.unwrap()
    }

    /// The standard output of a command that succeeds.
    async fn stdout(&self, line: &str) -> String {
        let output = self.evenkeel(line).await;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const RECORD: &str = "snapshot --history 24h --policy policy.yaml --kubeconfig kubeconfig";

#[tokio::test(flavor = "multi_thread")]
async fn a_day_is_recorded_from_prometheus() {
    let (url, asked) = serve().await;
    let folder = Folder::new("recording", &url);
    let said = folder.stdout(&format!("{RECORD} -o cluster.json")).await;
    assert_eq!(
        said,
        "cluster.json: 3 nodes, 4 pods, 9 objects in total; metrics of 0 nodes and 0 pods; \
         usage over 23h55m of 3 nodes and 4 pods, measured at 276 of 288 times\n"
    );
    let points = |params: &BTreeMap<String, String>| {
        let second = |name: &str| params.get(name)?.split('.').next()?.parse::<i64>().ok();
        Some((second("end")? - second("start")?) / STEP + 1)
    };
    let most = asked.lock().unwrap().iter().filter_map(|(_, p)| points(p)).max();
    assert_eq!(most, Some(120), "far from the 11,000 that Prometheus allows");

    // A dash is standard output.
    let printed: Value =
        serde_json::from_str(&folder.stdout(&format!("{RECORD} -o -")).await).unwrap();
    assert_eq!(printed["kind"], "List");
    assert!(!folder.0.join("-").exists());

    let text = std::fs::read_to_string(folder.0.join("cluster.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let row = |name: &str| {
        let mut items = file["items"].as_array().unwrap().iter();
        let is_it = |item: &&Value| {
            let kind = item["kind"].as_str().unwrap();
            kind.ends_with("UsageHistory") && item["metadata"]["name"] == name
        };
        items.find(is_it).unwrap()
    };
    let moved = row("web-5d8c7b9f64-bbbbb");
    assert_eq!((&moved["node"], &moved["step"]), (&json!("n1"), &json!("5m")));
    let cpu = moved["cpu"].as_array().unwrap();
    assert_eq!(cpu.len(), 288);
    assert_eq!(cpu.iter().filter(|value| value.is_null()).count(), 12, "the outage");
    assert!(cpu.iter().all(|value| value.is_null() || *value == 2500));
    let rest = row("n1")["cpu"].as_array().unwrap();
    assert!(rest.iter().all(|value| value.is_null() || *value == 500));

    let plan = folder.stdout("plan --from cluster.json --policy policy.yaml").await;
    assert!(plan.contains("usage over 23h55m of 3 nodes and 4 pods"), "{plan}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_policies_are_replayed_and_compared_by_hour() {
    let (url, _) = serve().await;
    let folder = Folder::new("compared", &url);
    folder.stdout(&format!("{RECORD} -o cluster.json")).await;
    let line = "simulate --from cluster.json --policy policy.yaml --policy patient.yaml -o json";
    let compared: Value = serde_json::from_str(&folder.stdout(line).await).unwrap();
    let [run, patient] = [&compared["runs"][0], &compared["runs"][1]];
    assert_eq!(run["start"], "2026-11-20T12:02:30Z");
    assert!(run["evictions"][0]["from"] == "n1", "{run:#}");
    assert_eq!(patient["evictions"], json!([]));
    let hour = &compared["differing_hours"][0];
    assert_eq!(hour["start"], "2026-11-20T12:00:00Z");
    assert!(hour["evictions"][0].as_u64() >= Some(1), "{hour}");
    let text = folder.stdout(line.trim_end_matches(" -o json")).await;
    assert!(text.contains("Hours that differ"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scrambled_recording_gives_the_same_replay() {
    let (url, _) = serve().await;
    let folder = Folder::new("scrambled", &url);
    folder.stdout(&format!("{RECORD} -o real.json")).await;
    folder.stdout(&format!("{RECORD} --scramble -o scrambled.json")).await;
    let text = std::fs::read_to_string(folder.0.join("scrambled.json")).unwrap();
    assert!(!text.contains("web") && !text.contains("agent"), "{text}");
    let mut figures = Vec::new();
    for file in ["real", "scrambled"] {
        let line = format!("simulate --from {file}.json --policy policy.yaml -o json");
        let run: Value = serde_json::from_str(&folder.stdout(&line).await).unwrap();
        figures.push(run["summary"]["evictions"].clone());
    }
    assert_eq!(figures[0], figures[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_without_a_prometheus_to_ask_is_wrong_usage() {
    let folder = Folder::new("no-prometheus", "http://127.0.0.1:9");
    for (line, problem) in [
        ("snapshot --history 24h", "found no --policy"),
        ("snapshot --history 24h --policy other.yaml", "found no usage.prometheus"),
        ("snapshot --history 12w --step 10s --policy policy.yaml", "expected at least 6m"),
    ] {
        let other = "apiVersion: evenkeel/v1alpha1\nkind: Policy\nstrategies: [removeDuplicates]";
        std::fs::write(folder.0.join("other.yaml"), other).unwrap();
        let output = folder.evenkeel(line).await;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {errors}");
        assert!(errors.contains(problem), "{line}: {errors}");
    }
}
