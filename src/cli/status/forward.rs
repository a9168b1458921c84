//! A forwarded port of a pod.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::Url;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// The deadline for the first connection.
const TIMEOUT: Duration = Duration::from_secs(15);

/// A running `kubectl port-forward`. It ends when this is dropped.
///
/// kube can forward ports itself, but only over WebSockets, with fifteen more crates and two of
/// them in a second version. kubectl is there wherever this command is a plugin.
pub(super) struct PortForward {
    _kubectl: Child,
    /// The local port.
    port: u16,
}

impl PortForward {
    /// Starts to forward a port of a pod and waits until it listens.
    pub(super) async fn start(
        kubeconfig: Option<&Path>,
        namespace: &str,
        pod: &str,
        port: u16,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new("kubectl");
        if let Some(path) = kubeconfig {
            command.arg("--kubeconfig").arg(path);
        }
        command
            .args(["--namespace", namespace, "port-forward", "--address", "127.0.0.1"])
            .args([&format!("pod/{pod}"), &format!(":{port}")]);
        Self::of(command).await
    }

    async fn of(mut command: Command) -> anyhow::Result<Self> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut kubectl = command.spawn().context(
            "cannot start kubectl, which forwards the port; install it, or forward the port and \
             use --url",
        )?;
        let listening = timeout(TIMEOUT, local_port(&mut kubectl)).await;
        let Ok(listening) = listening else {
            bail!("kubectl port-forward: no connection within {} s", TIMEOUT.as_secs());
        };
        if let Some(port) = listening? {
            return Ok(PortForward { _kubectl: kubectl, port });
        }
        let mut error = String::new();
        if let Some(stderr) = &mut kubectl.stderr {
            stderr.read_to_string(&mut error).await?;
        }
        // The lines before the last are the log of kubectl.
        let last = error.lines().rev().find(|line| !line.is_empty());
        bail!("kubectl port-forward: {}", last.unwrap_or("ended"));
    }

    /// The address of the forwarded port.
    pub(super) fn url(&self) -> anyhow::Result<Url> {
        Ok(Url::parse(&format!("http://127.0.0.1:{}/", self.port))?)
    }
}

/// Reads `Forwarding from 127.0.0.1:40123 -> 8081`. Returns `None` if kubectl ends without it.
async fn local_port(kubectl: &mut Child) -> anyhow::Result<Option<u16>> {
    // It stays open: kubectl ends when it cannot write a line about each connection.
    let Some(stdout) = &mut kubectl.stdout else {
        return Ok(None);
    };
    let mut lines = BufReader::new(stdout).lines();
    while let Some(line) = lines.next_line().await? {
        let address = line.strip_prefix("Forwarding from 127.0.0.1:");
        let port = address.and_then(|rest| rest.split(' ').next()?.parse().ok());
        if port.is_some() {
            return Ok(port);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[tokio::test]
    async fn the_local_port_is_read_from_kubectl() {
        let script = "echo 'Forwarding from 127.0.0.1:40123 -> 8081'; sleep 60";
        let forward = PortForward::of(shell(script)).await.unwrap();
        assert_eq!(forward.url().unwrap().as_str(), "http://127.0.0.1:40123/");
    }

    #[tokio::test]
    async fn kubectl_may_write_more_lines() {
        let script = "echo 'Forwarding from 127.0.0.1:40123 -> 8081'; sleep 0.1
            echo 'Handling connection for 40123'";
        let forward = PortForward::of(shell(script)).await.unwrap();
        let PortForward { _kubectl: mut kubectl, .. } = forward;
        let status = kubectl.wait().await.unwrap();
        assert!(status.success(), "{status}");
    }

    #[tokio::test]
    async fn the_error_of_kubectl_is_shown() {
        let script = "exec >&2; echo 'E1122 memcache.go'
            echo 'Error from server (NotFound): pods \"evenkeel\" not found'; exit 1";
        let error = PortForward::of(shell(script)).await.err().unwrap();
        assert_eq!(
            error.to_string(),
            "kubectl port-forward: Error from server (NotFound): pods \"evenkeel\" not found"
        );
    }
}
