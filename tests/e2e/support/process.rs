//! The program under test: a process with a log.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use jiff::Timestamp;
use serde_json::Value;

use super::clock;
use super::control_plane::{ControlPlane, run};
use super::ledger;
use super::wait::{eventually, that};

const PROGRAM: &str = env!("CARGO_BIN_EXE_evenkeel");
/// Part of the one log line that each cycle writes.
const CYCLE: &str = "\"message\":\"cycle: ";
/// How many log lines a failure prints.
const TAIL: usize = 60;

/// The fields of the policy that tests change.
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

    /// The same with more fields for the source of usage.
    pub fn by(&self, source: &str) -> String {
        let Policy { interval, limits, rest, basis, stale_after, steering, tolerance } = self;
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

/// How the program is started.
pub struct Launch {
    policy: PathBuf,
    kubeconfig: PathBuf,
    scheduler: Option<PathBuf>,
    /// The port of the status page, if there is one.
    shown: Option<u16>,
    /// The file with the offset of the clock, if the clock can be set.
    clock: Option<PathBuf>,
    ledger: &'static str,
    port: u16,
}

impl Launch {
    /// With this policy, connected directly to the API server.
    pub async fn new(control_plane: &ControlPlane, policy: &Policy) -> Self {
        Launch::by(control_plane, policy, &control_plane.server()).await
    }

    /// With this policy, through a proxy.
    pub async fn by(control_plane: &ControlPlane, policy: &Policy, server: &str) -> Self {
        Launch::through(control_plane, &policy.text(), server).await
    }

    /// With the text of a policy file, connected directly to the API server.
    pub async fn written(control_plane: &ControlPlane, policy: &str) -> Self {
        Launch::through(control_plane, policy, &control_plane.server()).await
    }

    /// With the text of a policy file, through a proxy.
    pub async fn through(control_plane: &ControlPlane, policy: &str, server: &str) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // Each instance has its own file, because it reads the file again when it changes.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let policy = control_plane.write(&format!("policy-{number}.yaml"), policy);
        Launch {
            policy,
            kubeconfig: control_plane.kubeconfig(server).await,
            scheduler: None,
            shown: None,
            clock: None,
            ledger: ledger::NAME,
            port: control_plane.port(0),
        }
    }

    /// The same with a scheduler configuration.
    pub fn with_scheduler(self, config: PathBuf) -> Self {
        Launch { scheduler: Some(config), ..self }
    }

    /// The same with a status page.
    pub fn shown(self) -> Self {
        Launch { shown: Some(self.port + STATUS), ..self }
    }

    /// The same with a wall clock that is off by the seconds in this file, such as `+3600`.
    pub fn with_clock(self, offset: PathBuf) -> Self {
        Launch { clock: Some(offset), ..self }
    }

    /// The same with another ledger.
    pub fn with_ledger(self, ledger: &'static str) -> Self {
        Launch { ledger, ..self }
    }

    /// The URL of the status page.
    pub fn status_url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port + STATUS)
    }

    /// The text at a path of the status page's server.
    pub async fn page(&self, path: &str) -> String {
        let config = kube::Config::new(self.status_url().parse().unwrap());
        let client = kube::Client::try_from(config).unwrap();
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        client.request_text(request).await.unwrap()
    }

    /// The parsed `/status.json`.
    pub async fn status(&self) -> Value {
        serde_json::from_str(&self.page("/status.json").await).unwrap()
    }

    /// No status page unless a test asks for one, because tests run side by side.
    fn status_listen(&self) -> String {
        self.shown.map_or("none".to_owned(), |port| format!("127.0.0.1:{port}"))
    }

    /// Changes the policy file, as a kubelet does: the new file replaces the old one at once.
    pub fn rewrite(&self, policy: &str) {
        let new = self.policy.with_extension("new");
        std::fs::write(&new, policy).unwrap();
        std::fs::rename(new, &self.policy).unwrap();
    }

    /// The same for a second instance at another port.
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

    /// Starts `evenkeel run`.
    pub fn run(&self, more: &[&str]) -> Process {
        let mut command = self.command("run");
        command.args([
            "--namespace",
            "kube-system",
            "--ledger",
            self.ledger,
            "--log-format",
            "json",
        ]);
        command.arg("--listen").arg(format!("127.0.0.1:{}", self.port));
        command.arg("--status-listen").arg(self.status_listen()).args(more);
        if let Some(offset) = &self.clock {
            command.envs(clock::environment(offset));
        }
        Process::start(command, self.port)
    }

    /// Starts the program as descheduler's manifests do when only the image is changed:
    /// `--policy-config-file FILE` and these arguments. Only the listen addresses are added, so
    /// that no port outside the testbed is used.
    pub fn as_descheduler(&self, more: &[&str]) -> Process {
        let mut command = Command::new(PROGRAM);
        command.arg("--policy-config-file").arg(&self.policy).args(more);
        command.arg("--listen").arg(format!("127.0.0.1:{}", self.port));
        command.arg("--status-listen").arg(self.status_listen());
        command.arg("--secure-port").arg((self.port + SECURE).to_string());
        // Replaces the pod's ServiceAccount, because there is no pod here.
        command.env("KUBECONFIG", &self.kubeconfig);
        Process::start(command, self.port)
    }

    /// Starts the program with the arguments of a pod. Only the paths and addresses differ.
    pub fn as_in_pod(&self, args: &Value) -> Process {
        let mut command = Command::new(PROGRAM);
        for arg in args.as_array().unwrap() {
            let arg = arg.as_str().unwrap();
            let name = arg.split('=').next().unwrap();
            match name {
                "--policy" | "--policy-config-file" => {
                    command.arg(name).arg(&self.policy);
                }
                "--listen" => {}
                _ => {
                    command.arg(arg);
                }
            }
        }
        command.arg("--listen").arg(format!("127.0.0.1:{}", self.port));
        command.arg("--status-listen").arg(self.status_listen());
        command.env("KUBECONFIG", &self.kubeconfig).env("POD_NAMESPACE", "kube-system");
        Process::start(command, self.port)
    }

    /// The output of `evenkeel plan -o json`.
    pub fn plan_text(&self, more: &[&str]) -> String {
        run(self.command("plan").args(["-o", "json"]).args(more))
    }

    /// Records the cluster and its usage over this time in a file.
    pub fn record(&self, history: &str, step: &str, file: &Path) {
        let mut command = self.command("snapshot");
        command.args(["--history", history, "--step", step, "-o"]);
        run(command.arg(file));
    }

    /// The parsed output of `evenkeel simulate -o json` for a recording.
    pub fn replay(&self, file: &Path) -> Value {
        let mut command = Command::new(PROGRAM);
        command.args(["simulate", "-o", "json", "--policy"]);
        command.arg(&self.policy).arg("--from").arg(file);
        serde_json::from_str(&run(&mut command)).unwrap()
    }

    /// Whether `evenkeel doctor` found no failure, and its lines.
    pub fn doctor(&self, more: &[&str]) -> (bool, Vec<Value>) {
        let mut command = self.command("doctor");
        let output = command.args(["-o", "json"]).args(more).output().unwrap();
        let lines = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            let said = String::from_utf8_lossy(&output.stderr);
            panic!("doctor: {error}: {said}")
        });
        (output.status.success(), lines)
    }

    /// The output of `evenkeel status` for the status page of the running program.
    pub fn status_text(&self) -> String {
        let mut command = Command::new(PROGRAM);
        run(command.args(["status", "--url", &self.status_url()]))
    }

    /// The end of `evenkeel apply` for a plan file.
    pub fn apply(&self, plan: &Path, args: &[&str]) -> Output {
        let mut command = self.command("apply");
        command.arg(plan).args(["--ledger", self.ledger]).args(args);
        command.output().unwrap()
    }

    /// The output of `evenkeel history` for a record.
    pub fn history(record: &Path) -> String {
        run(Command::new(PROGRAM).args(["history", "--weeks"]).arg(record))
    }

    /// The output of a command that a person runs with the rights of an administrator.
    pub fn as_person(control_plane: &ControlPlane, args: &[&str]) -> String {
        let mut command = Command::new(PROGRAM);
        let kubeconfig = control_plane.dir.join("admin.kubeconfig");
        run(command.args(args).arg("--kubeconfig").arg(kubeconfig))
    }

    /// The output of `evenkeel explain`.
    pub fn explain_text(&self, more: &[&str]) -> String {
        run(self.command("explain").args(more))
    }

    /// The parsed output of `evenkeel explain -o json`.
    pub fn explain(&self, what: &[&str]) -> Value {
        serde_json::from_str(&self.explain_text(&[what, &["-o", "json"]].concat())).unwrap()
    }

    /// The parsed output of `evenkeel plan -o json`.
    pub fn plan(&self) -> Value {
        serde_json::from_str(&self.plan_text(&[])).unwrap()
    }
}

/// The offset of the TLS port from the listen port.
const SECURE: u16 = 4;
/// The offset of the status page's port from the listen port.
const STATUS: u16 = 3;

/// A running program.
pub struct Process {
    child: Child,
    port: u16,
    log: Arc<Mutex<Vec<String>>>,
    /// Threads that read the log. They end with its last line.
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
        Process { child, port, log, readers }
    }

    /// All log lines so far.
    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// The parsed log lines that contain this text.
    pub fn lines(&self, words: &str) -> Vec<Value> {
        let log = self.log();
        let lines = log.iter().filter(|line| line.contains(words));
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// How many log lines contain all these texts.
    pub fn count(&self, words: &[&str]) -> usize {
        self.log().iter().filter(|line| words.iter().all(|w| line.contains(w))).count()
    }

    /// Waits for a condition. Fails if the program ends meanwhile.
    pub async fn eventually<T>(
        &mut self,
        what: &str,
        seconds: u64,
        mut look: impl AsyncFnMut(&Process) -> Result<T, String>,
    ) -> T {
        eventually(what, seconds, async || {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "waiting for {what}, the program has ended: {ended:?}");
            look(&*self).await
        })
        .await
    }

    /// Waits for more cycles to end.
    pub async fn cycles(&mut self, more: usize, seconds: u64) {
        self.says(&[CYCLE], more, seconds).await;
    }

    /// The end of the last cycle, by the program's clock.
    pub fn last_cycle(&self) -> Option<Timestamp> {
        let line = self.log().into_iter().rfind(|line| line.contains(CYCLE))?;
        let line: Value = serde_json::from_str(&line).unwrap();
        line["timestamp"].as_str().unwrap().parse().ok()
    }

    /// How many log lines are warnings or errors.
    pub fn warnings(&self) -> usize {
        self.count(&["\"level\":\"WARN\""]) + self.count(&["\"level\":\"ERROR\""])
    }

    /// Waits for more log lines that contain all these texts.
    pub async fn says(&mut self, words: &[&str], more: usize, seconds: u64) {
        let before = self.count(words);
        let what = format!("{more} more lines with {words:?}");
        self.eventually(&what, seconds, async |process| {
            let after = process.count(words);
            that(after >= before + more, format!("{} so far", after - before))
        })
        .await;
    }

    /// Waits until its metrics have this text.
    pub async fn shows(&mut self, sample: &str, seconds: u64) {
        self.eventually(sample, seconds, async |process| {
            let metrics = process.metrics().await;
            that(metrics.contains(sample), metrics)
        })
        .await;
    }

    /// Kills the program at once, as a power cut would.
    pub fn kill_9(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Whether the program has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Sends a signal: STOP, CONT and so on.
    pub fn signal(&self, name: &str) {
        run(Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]));
    }

    /// The memory that the program occupies.
    pub fn resident_mebibytes(&self) -> u64 {
        self.status("VmRSS") / 1024
    }

    /// A number of the kernel about the process, such as `VmRSS` (in KiB) or `Threads`.
    pub fn status(&self, field: &str) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(path).unwrap();
        let line = text.lines().find_map(|l| l.strip_prefix(field)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// The number of open file descriptors.
    pub fn descriptors(&self) -> usize {
        let path = format!("/proc/{}/fd", self.child.id());
        std::fs::read_dir(path).unwrap().count()
    }

    /// Asks the program to stop, and waits for its end.
    pub async fn stop(&mut self, seconds: u64) -> ExitStatus {
        self.signal("TERM");
        self.ended(seconds).await
    }

    /// Waits until the program has ended by itself and its whole log is read.
    pub async fn ended(&mut self, seconds: u64) -> ExitStatus {
        eventually("the end of the program", seconds, async || {
            let status = self.child.try_wait().unwrap().ok_or_else(|| "it runs".to_owned())?;
            that(
                self.readers.iter().all(JoinHandle::is_finished),
                "its last lines are not read yet",
            )?;
            Ok(status)
        })
        .await
    }

    /// The status code of a probe, or an error if the port is closed.
    pub async fn probe(&self, path: &str) -> Result<u16, String> {
        self.ask(&format!("http://127.0.0.1:{}", self.port), path).await
    }

    /// The same by TLS on descheduler's port, with a certificate that the kubelet does not verify.
    pub async fn probe_by_tls(&self, path: &str) -> Result<u16, String> {
        self.ask(&format!("https://127.0.0.1:{}", self.port + SECURE), path).await
    }

    /// The response of `/metrics`.
    pub async fn metrics(&self) -> String {
        let server = format!("http://127.0.0.1:{}", self.port);
        let client = kube::Client::try_from(kube::Config::new(server.parse().unwrap())).unwrap();
        // A process that has just begun does not listen yet.
        eventually("the metrics", 60, async || {
            let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
            let answer = client.request_text(request).await;
            answer.map_err(|error| error.to_string())
        })
        .await
    }

    async fn ask(&self, server: &str, path: &str) -> Result<u16, String> {
        let mut config = kube::Config::new(server.parse().unwrap());
        config.accept_invalid_certs = true;
        config.default_retry = false;
        let client = kube::Client::try_from(config).unwrap();
        let request = http::Request::get(path).body(kube::client::Body::empty()).unwrap();
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
