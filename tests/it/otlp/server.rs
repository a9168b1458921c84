//! A fake API server with two nodes and three pods that restarted too often.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// A running API server.
pub(super) struct ApiServer {
    address: String,
    evicted: Arc<Mutex<Vec<String>>>,
}

impl ApiServer {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let evicted = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&evicted);
        let router =
            Router::new().fallback(move |request: Request| respond(request, Arc::clone(&log)));
        tokio::spawn(async move { axum::serve(listener, router).await });
        ApiServer { address, evicted }
    }

    /// Its URL.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Names of pods whose eviction was requested, in order.
    pub(super) fn evicted(&self) -> Vec<String> {
        self.evicted.lock().unwrap().clone()
    }
}

async fn respond(request: Request, evicted: Arc<Mutex<Vec<String>>>) -> Response<Body> {
    let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
    if request.uri().query().unwrap_or_default().contains("watch=") {
        return Response::new(Body::from_stream(futures::stream::pending::<
            Result<Vec<u8>, std::io::Error>,
        >()));
    }
    let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap();
    let (status, value) = match method.as_str() {
        "GET" => read(&path),
        _ if path.ends_with("/eviction") => {
            let name = path.split('/').nth_back(1).unwrap().to_owned();
            evicted.lock().unwrap().push(name.clone());
            // The PodDisruptionBudget is visible to the API server only.
            if name == "web-2" {
                let (code, mut value) = refusal(429, "the budget allows no more");
                value["details"] = json!({"causes": [{"reason": "DisruptionBudget"}]});
                (code, value)
            } else {
                (201, json!({"kind": "Status"}))
            }
        }
        _ => {
            let mut value: Value = serde_json::from_slice(&body).unwrap();
            value["metadata"]["resourceVersion"] = json!("2");
            (201, value)
        }
    };
    Response::builder().status(status).body(Body::from(value.to_string())).unwrap()
}

fn refusal(code: u16, message: &str) -> (u16, Value) {
    (
        code,
        json!({"kind": "Status", "status": "Failure", "code": code, "reason": "Refused",
            "message": message}),
    )
}

fn read(path: &str) -> (u16, Value) {
    let items: Vec<Value> = match path {
        "/api/v1/nodes" => ["n1", "n2"].map(node).to_vec(),
        "/api/v1/pods" => ["web-1", "web-2", "web-3"].map(pod).to_vec(),
        "/api/v1/namespaces" => vec![json!({"metadata": {"name": "shop"}})],
        "/apis/apps/v1/replicasets" => vec![json!({"metadata": meta("web")})],
        "/apis/metrics.k8s.io/v1beta1/nodes" => {
            ["n1", "n2"].map(|name| measured(name, "usage")).to_vec()
        }
        "/apis/metrics.k8s.io/v1beta1/pods" => Vec::new(),
        "/version" => return (200, version()),
        _ if path.contains("/configmaps/") => {
            let (code, mut value) = refusal(404, "not found");
            value["reason"] = json!("NotFound");
            return (code, value);
        }
        _ => Vec::new(),
    };
    (200, json!({"metadata": {"resourceVersion": "1"}, "items": items}))
}

fn version() -> Value {
    let fields = [
        ("major", "1"),
        ("minor", "36"),
        ("gitVersion", "v1.36.0"),
        ("gitCommit", ""),
        ("gitTreeState", ""),
        ("buildDate", ""),
        ("goVersion", ""),
        ("compiler", ""),
        ("platform", ""),
    ];
    fields.into_iter().collect()
}

fn meta(name: &str) -> Value {
    json!({"name": name, "namespace": "shop", "uid": format!("uid-{name}"),
        "creationTimestamp": "2026-01-01T00:00:00Z"})
}

fn node(name: &str) -> Value {
    let room = json!({"cpu": "8", "memory": "16Gi", "pods": "110"});
    let ready =
        json!([{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    let mut meta = meta(name);
    meta["namespace"].take();
    meta["labels"] = json!({"kubernetes.io/hostname": name});
    json!({"metadata": meta, "spec": {}, "status": {"capacity": room, "allocatable": room,
        "conditions": ready}})
}

fn pod(name: &str) -> Value {
    let mut meta = meta(name);
    meta["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web",
        "uid": "uid-web", "controller": true}]);
    let containers =
        json!([{"name": "main", "image": "main", "resources": {"requests": {"cpu": "100m"}}}]);
    let running = json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}});
    let status = json!([{
        "name": "main", "image": "main", "imageID": "", "ready": true, "restartCount": 200,
        "state": running,
    }]);
    let ready =
        json!([{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    json!({
        "metadata": meta,
        "spec": {"nodeName": "n1", "containers": containers},
        "status": {
            "phase": "Running", "startTime": "2026-01-01T00:00:00Z", "conditions": ready,
            "containerStatuses": status,
        },
    })
}

#[expect(clippy::disallowed_methods, reason = "samples must be fresh by the program's clock")]
fn measured(name: &str, field: &str) -> Value {
    let mut item =
        json!({"metadata": {"name": name}, "timestamp": jiff::Timestamp::now(), "window": "10s"});
    item[field] = json!({"cpu": "1", "memory": "1Gi"});
    item
}
