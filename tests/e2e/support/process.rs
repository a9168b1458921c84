//! The program: a process with a log.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use jiff::Timestamp;
use serde_json::Value;

use super::control_plane::ControlPlane;
use super::wait::{eventually, that};

const PROGRAM: &str = env!("CARGO_BIN_EXE_evenkeel");
/// In the one line that it says of each cycle.
const CYCLE: &str = "\"message\":\"cycle: ";
/// What a failure shows of the log.
const TAIL: usize = 60;

/// What the policy of a scenario has of its own.
pub struct Policy {
    pub interval: &'static str,
    pub limits: &'static str,
    pub rest: &'static str,
    pub basis: &'static str,
    pub stale_after: &'static str,
    pub steering: &'static str,
    pub tolerance: &'static str,
}

impl Policy {
    pub const USUAL: Policy = Policy {
        interval: "10s",
        limits: "{perWorkload: 100%}",
        rest: "10m",
        basis: "actual",
        stale_after: "90s",
        steering: "{}",
        tolerance: "0%",
    };

    /// The text of the policy file, with usage from metrics.k8s.io.
    fn text(&self) -> String {
        self.by("")
    }

    /// The same with more to say of where usage comes from.
    pub fn by(&self, source: &str) -> String {
        let Policy {
            interval,
            limits,
            rest,
            basis,
            stale_after,
            steering,
            tolerance,
        } = self;
        format!(
            "apiVersion: evenkeel/v1alpha1\n\
             kind: Policy\n\
             interval: {interval}\n\
             basis: {basis}\n\
             usage: {{{source}poll: 5s, window: 40s, smoothing: mean, staleAfter: {stale_after}, minSamples: 2}}\n\
             evictable: {{minPodAge: 0s}}\n\
             limits: {limits}\n\
             cooldown: {{rest: {rest}, cap: 6h}}\n\
             forecast: {{tolerance: {tolerance}}}\n\
             steering: {steering}\n\
             strategies:\n\
             - lowNodeUtilization:\n\
             \x20   thresholds: {{cpu: 30%}}\n\
             \x20   targetThresholds: {{cpu: 50%}}\n\
             \x20   sustainedFor: 10s\n"
        )
    }
}

/// How the program is to be started.
pub struct Launch {
    policy: PathBuf,
    kubeconfig: PathBuf,
    scheduler: Option<PathBuf>,
    /// Where the status page answers.
    shown: Option<u16>,
    port: u16,
}

impl Launch {
    /// With this policy, straight at the API server.
    pub async fn new(control_plane: &ControlPlane, policy: &Policy) -> Self {
        Launch::by(control_plane, policy, &control_plane.server()).await
    }

    /// With this policy, by way of a proxy.
    pub async fn by(control_plane: &ControlPlane, policy: &Policy, server: &str) -> Self {
        Launch::with(control_plane, &policy.text(), server).await
    }

    /// With a policy file as somebody has written it, straight at the API server.
    pub async fn written(control_plane: &ControlPlane, policy: &str) -> Self {
        Launch::with(control_plane, policy, &control_plane.server()).await
    }

    async fn with(control_plane: &ControlPlane, policy: &str, server: &str) -> Self {
        let policy = control_plane.write("policy.yaml", policy);
        Launch {
            policy,
            kubeconfig: control_plane.kubeconfig(server).await,
            scheduler: None,
            shown: None,
            port: control_plane.port(0),
        }
    }

    /// The same, told how the scheduler is configured.
    pub fn with_scheduler(self, config: PathBuf) -> Self {
        Launch {
            scheduler: Some(config),
            ..self
        }
    }

    /// The same with a status page.
    pub fn shown(self) -> Self {
        Launch {
            shown: Some(self.port + STATUS),
            ..self
        }
    }

    /// Where that page is.
    pub fn status_url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port + STATUS)
    }

    /// Without a page unless one is asked for: tests run beside each other.
    fn status_listen(&self) -> String {
        self.shown
            .map_or("none".to_owned(), |port| format!("127.0.0.1:{port}"))
    }

    /// The same, answering at another of the ports that are free: for a second instance.
    pub fn at(self, port: u16) -> Self {
        Launch { port, ..self }
    }

    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .arg(verb)
            .arg("--policy")
            .arg(&self.policy)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig);
        if let Some(config) = &self.scheduler {
            command.arg("--scheduler-config").arg(config);
        }
        command
    }

    /// `evenkeel run`, as a process of its own.
    pub fn run(&self, more: &[&str]) -> Process {
        let mut command = self.command("run");
        command.args([
            "--namespace",
            "kube-system",
            "--ledger",
            "evenkeel-ledger",
            "--log-format",
            "json",
        ]);
        command
            .arg("--listen")
            .arg(format!("127.0.0.1:{}", self.port));
        command
            .arg("--status-listen")
            .arg(self.status_listen())
            .args(more);
        Process::start(command, self.port)
    }

    /// As a manifest of descheduler starts it with only its image changed: `--policy-config-file FILE` and these.
    /// Nothing is added but where to listen, so that no port of this machine but the testbed's need be free.
    pub fn as_descheduler(&self, more: &[&str]) -> Process {
        let mut command = Command::new(PROGRAM);
        command
            .arg("--policy-config-file")
            .arg(&self.policy)
            .args(more);
        command
            .arg("--listen")
            .arg(format!("127.0.0.1:{}", self.port));
        command.arg("--status-listen").arg(self.status_listen());
        command
            .arg("--secure-port")
            .arg((self.port + SECURE).to_string());
        // In place of the pod's ServiceAccount, for here is no pod.
        command.env("KUBECONFIG", &self.kubeconfig);
        Process::start(command, self.port)
    }

    /// `evenkeel plan -o json`: the bytes.
    pub fn plan_text(&self, more: &[&str]) -> String {
        let output = self
            .command("plan")
            .args(["-o", "json"])
            .args(more)
            .output()
            .unwrap();
        let Output {
            status,
            stdout,
            stderr,
        } = output;
        assert!(
            status.success(),
            "plan: {status}: {}",
            String::from_utf8_lossy(&stderr)
        );
        String::from_utf8(stdout).unwrap()
    }

    /// `evenkeel explain`, as a person sees it.
    pub fn explain_text(&self, more: &[&str]) -> String {
        let Output {
            status,
            stdout,
            stderr,
        } = self.command("explain").args(more).output().unwrap();
        assert!(
            status.success(),
            "explain {more:?}: {status}: {}",
            String::from_utf8_lossy(&stderr)
        );
        String::from_utf8(stdout).unwrap()
    }

    /// `evenkeel explain -o json`.
    pub fn explain(&self, what: &[&str]) -> Value {
        serde_json::from_str(&self.explain_text(&[what, &["-o", "json"]].concat())).unwrap()
    }

    /// What `evenkeel explain` says where there is no such thing.
    pub fn explain_error(&self, what: &[&str]) -> String {
        let output = self.command("explain").args(what).output().unwrap();
        assert!(!output.status.success(), "explain {what:?} found something");
        String::from_utf8(output.stderr).unwrap()
    }

    /// `evenkeel plan -o json`.
    pub fn plan(&self) -> Value {
        serde_json::from_str(&self.plan_text(&[])).unwrap()
    }
}

/// How far the port for TLS is from the other.
const SECURE: u16 = 4;
/// How far the port of the status page is.
const STATUS: u16 = 3;

/// A running program.
pub struct Process {
    child: Child,
    port: u16,
    log: Arc<Mutex<Vec<String>>>,
    /// They end with the last line.
    readers: Vec<JoinHandle<()>>,
}

impl Process {
    fn start(mut command: Command, port: u16) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let readers = vec![
            collect(child.stdout.take().unwrap(), &log),
            collect(child.stderr.take().unwrap(), &log),
        ];
        Process {
            child,
            port,
            log,
            readers,
        }
    }

    /// Every line that it has said so far.
    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// The lines of its log with these words, taken apart.
    pub fn lines(&self, words: &str) -> Vec<Value> {
        let log = self.log();
        let lines = log.iter().filter(|line| line.contains(words));
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// How many lines of its log hold all these words.
    pub fn count(&self, words: &[&str]) -> usize {
        self.log()
            .iter()
            .filter(|line| words.iter().all(|w| line.contains(w)))
            .count()
    }

    /// Waits for something, as long as the program runs.
    pub async fn eventually<T>(
        &mut self,
        what: &str,
        seconds: u64,
        mut look: impl AsyncFnMut(&Process) -> Result<T, String>,
    ) -> T {
        eventually(what, seconds, async || {
            let ended = self.child.try_wait().unwrap();
            assert!(
                ended.is_none(),
                "waiting for {what}, the program has ended: {ended:?}"
            );
            look(&*self).await
        })
        .await
    }

    /// Waits until so many more cycles are over.
    pub async fn cycles(&mut self, more: usize, seconds: u64) {
        self.says(&[CYCLE], more, seconds).await;
    }

    /// When the last cycle was over, by the program's own clock.
    pub fn last_cycle(&self) -> Option<Timestamp> {
        let line = self.log().into_iter().rfind(|line| line.contains(CYCLE))?;
        let line: Value = serde_json::from_str(&line).unwrap();
        line["timestamp"].as_str().unwrap().parse().ok()
    }

    /// How many lines of its log are warnings or errors.
    pub fn warnings(&self) -> usize {
        self.count(&["\"level\":\"WARN\""]) + self.count(&["\"level\":\"ERROR\""])
    }

    /// Waits until it has said so many more lines with these words.
    pub async fn says(&mut self, words: &[&str], more: usize, seconds: u64) {
        let before = self.count(words);
        let what = format!("{more} more lines with {words:?}");
        self.eventually(&what, seconds, async |process| {
            let after = process.count(words);
            that(after >= before + more, format!("{} so far", after - before))
        })
        .await;
    }

    /// Ends it at once, as a power cut would.
    pub fn kill_9(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends it a signal: STOP, CONT and so on.
    pub fn signal(&self, name: &str) {
        super::control_plane::run(
            Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]),
        );
    }

    /// Asks it to end, and waits until it has.
    pub async fn stop(&mut self, seconds: u64) -> ExitStatus {
        self.signal("TERM");
        self.ended(seconds).await
    }

    /// Waits until it has ended by itself, and all that it said is in its log.
    pub async fn ended(&mut self, seconds: u64) -> ExitStatus {
        eventually("the end of the program", seconds, async || {
            let status = self
                .child
                .try_wait()
                .unwrap()
                .ok_or_else(|| "it runs".to_owned())?;
            that(
                self.readers.iter().all(JoinHandle::is_finished),
                "its last lines are not read yet",
            )?;
            Ok(status)
        })
        .await
    }

    /// The code with which a probe is answered; an error where nobody listens.
    pub async fn probe(&self, path: &str) -> Result<u16, String> {
        self.ask(&format!("http://127.0.0.1:{}", self.port), path)
            .await
    }

    /// The same where descheduler answers: by TLS, with a certificate that the kubelet does not verify.
    pub async fn probe_by_tls(&self, path: &str) -> Result<u16, String> {
        self.ask(&format!("https://127.0.0.1:{}", self.port + SECURE), path)
            .await
    }

    /// What somebody with curl would see of its metrics.
    pub async fn metrics(&self) -> String {
        let server = format!("http://127.0.0.1:{}", self.port);
        let client = kube::Client::try_from(kube::Config::new(server.parse().unwrap())).unwrap();
        client
            .request_text(http::Request::get("/metrics").body(Vec::new()).unwrap())
            .await
            .unwrap()
    }

    async fn ask(&self, server: &str, path: &str) -> Result<u16, String> {
        let mut config = kube::Config::new(server.parse().unwrap());
        config.accept_invalid_certs = true;
        config.default_retry = false;
        let client = kube::Client::try_from(config).unwrap();
        let request = http::Request::get(path)
            .body(kube::client::Body::empty())
            .unwrap();
        client
            .send(request)
            .await
            .map(|answer| answer.status().as_u16())
            .map_err(|error| error.to_string())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = self.log();
            let tail = &log[log.len().saturating_sub(TAIL)..];
            eprintln!(
                "--- the end of the program's log, of {} lines\n{}",
                log.len(),
                tail.join("\n")
            );
        }
    }
}

fn collect(from: impl Read + Send + 'static, log: &Arc<Mutex<Vec<String>>>) -> JoinHandle<()> {
    let log = Arc::clone(log);
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            log.lock().unwrap().push(line);
        }
    })
}
