//! The output of `evenkeel pause` and `evenkeel resume`, with a fake API server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::{Method, StatusCode, Uri};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::process::Command;

use crate::it::support;

/// The annotations of each namespace.
type Annotations = BTreeMap<String, Map<String, Value>>;

/// An API server of alice with namespaces and nothing else.
struct FakeServer {
    kubeconfig: PathBuf,
}

impl FakeServer {
    async fn start(name: &str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let stored = Arc::new(Mutex::new(Annotations::new()));
        let router = Router::new().fallback(async move |method: Method, uri: Uri, body: Bytes| {
            answer(&method, uri.path(), &body, &mut stored.lock().unwrap())
        });
        tokio::spawn(async move { axum::serve(listener, router).await });
        let file = format!("evenkeel-pause-{name}-{}", std::process::id());
        let kubeconfig = std::env::temp_dir().join(file);
        let text = support::kubeconfig(&format!("server: 'http://{address}'"));
        std::fs::write(&kubeconfig, text).unwrap();
        FakeServer { kubeconfig }
    }

    /// Runs a command and returns what it says, without times.
    async fn says(&self, command: &str) -> String {
        let mut program = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        let program = program.args(command.split(' ')).arg("--kubeconfig").arg(&self.kubeconfig);
        let output = program.output().await.unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let words = |line: &str| {
            let is_time = |word: &&str| word.starts_with("20") && word.contains('T');
            let words = line.split(' ').filter(|word| !is_time(word));
            words.collect::<Vec<_>>().join(" ")
        };
        text.lines().map(words).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.kubeconfig);
    }
}

fn answer(
    method: &Method,
    path: &str,
    body: &[u8],
    stored: &mut Annotations,
) -> (StatusCode, String) {
    let Some(name) = path.strip_prefix("/api/v1/namespaces/") else {
        let user = json!({"metadata": {}, "status": {"userInfo": {"username": "alice"}}});
        return (StatusCode::CREATED, user.to_string());
    };
    let annotations = stored.entry(name.to_owned()).or_default();
    if method == Method::PATCH {
        let sent: Value = serde_json::from_slice(body).unwrap();
        annotations.extend(sent["metadata"]["annotations"].as_object().unwrap().clone());
        annotations.retain(|_, value| !value.is_null());
    }
    let namespace = json!({"metadata": {"name": name, "annotations": annotations}});
    (StatusCode::OK, namespace.to_string())
}

#[tokio::test]
async fn the_end_of_one_pause_does_not_claim_the_end_of_another() {
    let server = FakeServer::start("two").await;
    assert_eq!(
        server.says("pause -n shop --reason inventory").await,
        "evictions in namespace shop are paused by alice since inventory"
    );
    server.says("pause --reason incident").await;
    assert_eq!(
        server.says("resume -n shop").await,
        "namespace shop is no longer paused; it was paused by alice since inventory\n\
         all evictions are paused by alice since incident; `evenkeel resume` ends that"
    );
    assert_eq!(
        server.says("resume").await,
        "the cluster is no longer paused; it was paused by alice since incident\n\
         pauses of single namespaces, if there are any, go on"
    );
    assert_eq!(server.says("resume -n shop").await, "namespace shop was not paused");
}

#[tokio::test]
async fn a_pause_names_the_one_that_it_replaces() {
    let server = FakeServer::start("replaced").await;
    server.says("pause -n shop --reason migration").await;
    assert_eq!(
        server.says("pause -n shop --reason test --for 1h").await,
        "evictions in namespace shop are paused by alice since until test\n\
         this replaces an earlier pause: paused by alice since migration"
    );
}
