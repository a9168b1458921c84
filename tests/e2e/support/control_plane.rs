//! A control plane for one test, stopped when the test is over, however it ends.

use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::audit::AuditLog;
use super::proxy::{self, Proxy};
use super::slots::{self, Slot};
use super::wait::say;

/// Below the ports that the kernel gives to outgoing connections.
const PORTS: std::ops::Range<u16> = 24000..32000;
/// A command that hangs fails its test instead of the whole suite.
const KUBECTL_SECONDS: &str = "180";
/// The same for a test; the longest takes eight minutes.
const TEST_TIME: Duration = Duration::from_secs(20 * 60);
/// How many control planes start at once. A start takes many times the CPU of a running one, so that
/// a dozen at once would each take a minute, and several on a slow machine.
static STARTS: Semaphore = Semaphore::const_new(3);
static NEXT_PORT: AtomicU16 = AtomicU16::new(0);

pub const TESTBED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/testbed");

/// A running control plane and its files.
pub struct ControlPlane {
    pub dir: PathBuf,
    pub client: Client,
    pub(super) audit: AuditLog,
    port: u16,
    /// The proxy of every program, if the tests run without protobuf.
    json: Option<Proxy>,
    /// Stops the control plane when its standard input is closed.
    keeper: Child,
    /// Released after the control plane has stopped, because fields are dropped after `drop`.
    slot: Slot,
}

/// Runs a test on a control plane of its own, and fails if the API server forbade the program a
/// request.
pub fn with_control_plane(test: impl AsyncFnOnce(&ControlPlane)) {
    with_scheduler_flags("", test);
}

/// Does the same with more flags for kube-scheduler.
pub fn with_scheduler_flags(flags: &str, test: impl AsyncFnOnce(&ControlPlane)) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let slot = slots::acquire();
    runtime.block_on(async {
        let control_plane = ControlPlane::start(flags, slot).await;
        let ended = tokio::time::timeout(TEST_TIME, test(&control_plane)).await;
        assert!(ended.is_ok(), "the test did not end within {TEST_TIME:?}");
        let forbidden = super::audit::forbidden(&control_plane);
        assert!(forbidden.is_empty(), "the role lacks rights: {forbidden:#?}");
        let (seconds, name) = (control_plane.slot.seconds(), slots::test_name());
        say(&format!("{seconds} s: {name}"));
    });
}

impl ControlPlane {
    async fn start(scheduler: &str, slot: Slot) -> Self {
        let (dir, port) = place();
        // Its standard input is closed when this process ends, even by a signal.
        let keeper = Command::new("setsid")
            .args(["bash", "-c", "cat; exec \"$0\" \"$1\"", &format!("{TESTBED}/down.sh")])
            .arg(&dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut up = Command::new(format!("{TESTBED}/up.sh"));
        up.env("TESTBED_SCHEDULER", scheduler).arg(&dir).arg(port.to_string());
        let start = STARTS.acquire().await.unwrap();
        run(&mut up);
        drop(start);
        let client = Client::try_from(admin(&dir).await).unwrap();
        let mut control_plane = ControlPlane {
            audit: AuditLog::at(dir.join("audit.log")),
            dir,
            client,
            port,
            json: None,
            keeper,
            slot,
        };
        if proxy::json_only() {
            let upstream = control_plane.upstream().await;
            control_plane.json = Some(Proxy::before(upstream, 0).await);
        }
        control_plane
    }

    /// One of the five ports that the control plane leaves free.
    pub fn port(&self, which: u16) -> u16 {
        assert!(which < 5);
        self.port + 5 + which
    }

    /// The URL of the API server, or of a proxy before it that refuses protobuf.
    pub fn server(&self) -> String {
        let direct = || format!("https://127.0.0.1:{}", self.port + 1);
        self.json.as_ref().map_or_else(direct, Proxy::url)
    }

    /// The address at which the simulated kubelets serve their metrics.
    pub fn kubelets(&self) -> String {
        format!("127.0.0.1:{}", self.port + 3)
    }

    /// A client without credentials behind the proxy.
    pub async fn upstream(&self) -> Client {
        let mut config = admin(&self.dir).await;
        config.auth_info = kube::config::AuthInfo::default();
        config.default_retry = false;
        Client::try_from(config).unwrap()
    }

    /// Runs kubectl as the administrator and returns its output.
    pub fn kubectl(&self, args: &[&str]) -> String {
        run(self.kubectl_command().args(args))
    }

    fn kubectl_command(&self) -> Command {
        // `kubectl delete` waits for ever for a StatefulSet's pod that is replaced at once.
        let mut command = Command::new("timeout");
        command.args([KUBECTL_SECONDS, "kubectl"]);
        command.env("KUBECONFIG", self.dir.join("admin.kubeconfig"));
        command.env("KUBECACHEDIR", self.dir.join("kubectl-cache"));
        command
    }

    /// Applies these manifests.
    pub fn apply(&self, manifests: &str) {
        self.apply_with(manifests, &[]);
    }

    /// Does the same with more arguments for kubectl.
    pub fn apply_with(&self, manifests: &str, args: &[&str]) {
        let mut command = self.kubectl_command();
        command.args(["apply", "--server-side", "--force-conflicts", "-f", "-"]).args(args);
        run_with(&mut command, manifests);
    }

    /// Starts, stops or restarts a component of the control plane.
    pub fn component(&self, action: &str, name: &str) {
        run(Command::new(format!("{TESTBED}/component.sh")).arg(&self.dir).args([action, name]));
    }

    /// Sends a GET to the API server.
    pub async fn get(&self, path: &str) -> Value {
        let answer = self.send("GET", path, None, &Value::Null).await;
        answer.unwrap_or_else(|error| panic!("GET {path}: {error:?}"))
    }

    /// Sends a request as this account, by default the administrator. Returns the status code and
    /// the message of an error.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        user: Option<&str>,
        body: &Value,
    ) -> Result<Value, (u16, String)> {
        let kind = if method == "PATCH" { "merge-patch+json" } else { "json" };
        let mut request = http::Request::builder().method(method).uri(path);
        request = request.header("Content-Type", format!("application/{kind}"));
        if let Some(user) = user {
            request = request.header("Impersonate-User", user);
        }
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        match self.client.request(request.body(body).unwrap()).await {
            Ok(answer) => Ok(answer),
            Err(kube::Error::Api(status)) => Err((status.code, status.message)),
            Err(error) => panic!("{method} {path}: {error}"),
        }
    }

    /// The items of a list.
    pub async fn list(&self, path: &str) -> Vec<Value> {
        self.get(path).await["items"].as_array().expect("a list has items").clone()
    }

    /// Writes a kubeconfig of the program's ServiceAccount for this server.
    pub async fn kubeconfig(&self, server: &str) -> PathBuf {
        let path = "/api/v1/namespaces/kube-system/serviceaccounts/evenkeel/token";
        let body =
            json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
        let answer = self.send("POST", path, None, &body).await.unwrap();
        let authority = std::fs::read(self.dir.join("pki/ca.crt")).unwrap();
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": cluster(server, &authority)}],
            "users": [{"name": "test", "user": {"token": answer["status"]["token"]}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        });
        let scheme = server.split(':').next().unwrap();
        self.write(&format!("evenkeel-{scheme}.kubeconfig"), &config.to_string())
    }

    /// Writes a file into the control plane's folder.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Prints the state of the cluster after a failure.
    fn tell(&self) {
        let looks: [&[&str]; 4] = [
            &["get", "pods", "-A", "-o", "wide", "--no-headers"],
            &["top", "nodes"],
            &["get", "poddisruptionbudgets,leases.coordination.k8s.io", "-A"],
            &["get", "configmap", "-n", "kube-system", "evenkeel-ledger", "-o", "yaml"],
        ];
        eprintln!("--- the cluster, whose files are kept in {}", self.dir.display());
        for look in looks {
            let output = self.kubectl_command().args(look).output().unwrap();
            eprintln!("$ kubectl {}\n{}", look.join(" "), String::from_utf8_lossy(&output.stdout));
        }
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        let failed = std::thread::panicking();
        if failed {
            self.tell();
        }
        drop(self.keeper.stdin.take());
        let stopped = self.keeper.wait();
        if !failed && stopped.is_ok_and(|status| status.success()) {
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}

fn cluster(server: &str, authority: &[u8]) -> Value {
    if !server.starts_with("https:") {
        return json!({"server": server});
    }
    let encoded = k8s_openapi::ByteString(authority.to_vec());
    json!({"server": server, "certificate-authority-data": encoded})
}

async fn admin(dir: &Path) -> Config {
    let kubeconfig = Kubeconfig::read_from(dir.join("admin.kubeconfig")).unwrap();
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap()
}

/// Ten free ports, and an empty folder named after the first.
fn place() -> (PathBuf, u16) {
    let ports = PORTS.end - PORTS.start;
    // Two suites on one machine start at different ports.
    let start = u16::try_from(std::process::id() % u32::from(ports / 10)).unwrap() * 10;
    loop {
        let port = PORTS.start + (start + NEXT_PORT.fetch_add(10, Ordering::Relaxed)) % ports;
        let free = (port..port + 10).all(|p| TcpListener::bind(("127.0.0.1", p)).is_ok());
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("control_plane-{port}"));
        if free {
            let _ = std::fs::remove_dir_all(&dir);
            std::fs::create_dir_all(&dir).unwrap();
            return (dir, port);
        }
    }
}

/// Runs a command, which must succeed, and returns its output.
pub fn run(command: &mut Command) -> String {
    run_with(command, "")
}

/// Does the same with this standard input.
pub fn run_with(command: &mut Command, input: &str) -> String {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    said
}
