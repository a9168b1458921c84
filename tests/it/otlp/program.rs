//! The program as a process, with a policy that evicts pods with too many restarts.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};

use super::server::ApiServer;
use crate::it::support;

const PROGRAM: &str = env!("CARGO_BIN_EXE_evenkeel");

/// Far longer than any step here takes, and far shorter than the timeouts that a test must not wait
/// for.
const TIMEOUT: Duration = Duration::from_secs(100);

const POLICY: &str = "
apiVersion: evenkeel/v1alpha1
kind: Policy
interval: 1s
usage: {poll: 1s, window: 10m, staleAfter: 1h, minSamples: 1}
evictable: {minPodAge: 0s}
limits: {perWorkload: 100%}
cooldown: {rest: 1s, cap: 1s}
strategies:
- removePodsHavingTooManyRestarts: {podRestartThreshold: 100}
";

/// A command line to be run.
pub(super) struct Program {
    command: Command,
    folder: PathBuf,
    format: &'static str,
}

/// Exit code and log of a process.
pub(super) struct Exit {
    pub(super) code: Option<i32>,
    pub(super) log: String,
}

/// A running process, and its log line by line.
pub(super) struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStderr>>,
    folder: PathBuf,
}

impl Program {
    /// A process that runs until it is stopped.
    pub(super) fn daemon(server: &ApiServer) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let folder = format!(
            "evenkeel-otlp-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir(&folder).unwrap();
        let (policy, kubeconfig) = (folder.join("policy.yaml"), folder.join("kubeconfig"));
        std::fs::write(&policy, POLICY).unwrap();
        let text = support::kubeconfig(&format!("server: '{}'", server.address()));
        std::fs::write(&kubeconfig, text).unwrap();
        let mut command = Command::new(PROGRAM);
        // The environment of the tests must not change the program's traces.
        for (name, _) in
            std::env::vars().filter(|(name, _)| name.starts_with("OTEL_") || name == "RUST_LOG")
        {
            command.env_remove(name);
        }
        command.arg("run").arg("--policy").arg(policy).arg("--kubeconfig").arg(kubeconfig);
        command.args(["--listen", "127.0.0.1:0", "--instance", "keel-0"]);
        command.env("OTEL_BSP_SCHEDULE_DELAY", "50");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        Program { command, folder, format: "json" }
    }

    /// A process that ends after one cycle.
    pub(super) fn once(server: &ApiServer) -> Self {
        let mut program = Program::daemon(server);
        program.command.arg("--once");
        program
    }

    /// A process that ends after one cycle and sends its traces to this collector.
    pub(super) fn traced(server: &ApiServer, collector: &str) -> Self {
        Program::once(server).flag("--otlp-endpoint", collector)
    }

    pub(super) fn flag(mut self, flag: &str, value: &str) -> Self {
        self.command.arg(format!("{flag}={value}"));
        self
    }

    pub(super) fn format(self, format: &'static str) -> Self {
        Program { format, ..self }
    }

    pub(super) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(super) fn start(mut self) -> Process {
        let mut child = self.command.arg("--log-format").arg(self.format).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        Process { child, lines, folder: self.folder }
    }

    pub(super) async fn run(self) -> Exit {
        self.start().ended().await
    }
}

impl Process {
    /// Waits for a line with these words. Returns it with all lines before it.
    pub(super) async fn logs(&mut self, words: &str) -> String {
        let mut log = String::new();
        let found = async {
            while let Some(line) = self.lines.next_line().await.unwrap() {
                log += &(line.clone() + "\n");
                if line.contains(words) {
                    return true;
                }
            }
            false
        };
        assert!(
            tokio::time::timeout(TIMEOUT, found).await.unwrap_or_default(),
            "no line with {words:?}:\n{log}"
        );
        log
    }

    /// Sends SIGTERM and waits for the end.
    pub(super) async fn stop(self) -> Exit {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().await.unwrap().success());
        self.ended().await
    }

    pub(super) async fn ended(mut self) -> Exit {
        let all = async {
            let mut log = String::new();
            while let Some(line) = self.lines.next_line().await.unwrap() {
                log += &(line + "\n");
            }
            let code = self.child.wait().await.unwrap().code();
            Exit { code, log }
        };
        let ended = tokio::time::timeout(TIMEOUT, all).await.expect("the process does not end");
        std::fs::remove_dir_all(&self.folder).unwrap();
        ended
    }
}
