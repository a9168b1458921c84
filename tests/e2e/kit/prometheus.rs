//! A real Prometheus beside the control plane, which scrapes what the simulated kubelets serve at /metrics/resource.

use std::fmt::Write;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::bed::Bed;
use super::proxy::Proxy;
use super::wait::{eventually, that};

/// How often it scrapes.
const SCRAPES: &str = "5s";

/// A running Prometheus, gone with this.
pub struct Prometheus {
    child: Child,
    port: u16,
}

impl Prometheus {
    /// Starts one for the nodes n1 to n`count`; returns when it answers.
    pub async fn start(bed: &Bed, count: u32) -> Self {
        Prometheus::with(bed, count, "").await
    }

    /// Starts one that scrapes the program, which listens at this port.
    pub async fn of_the_program(bed: &Bed, port: u16) -> Self {
        let job = format!("- job_name: evenkeel\n  static_configs: [{{targets: ['127.0.0.1:{port}']}}]\n");
        Prometheus::with(bed, 0, &job).await
    }

    /// What it answers to a GET.
    pub async fn get(&self, path: &str) -> Value {
        let client = kube::Client::try_from(kube::Config::new(self.url().parse().unwrap())).unwrap();
        client.request(http::Request::get(path).body(Vec::new()).unwrap()).await.unwrap()
    }

    async fn with(bed: &Bed, count: u32, more: &str) -> Self {
        let mut config = format!(
            "global: {{scrape_interval: {SCRAPES}}}\n\
             scrape_configs:\n\
             - job_name: kubelet\n\
             \x20 static_configs:{}\n",
            if count == 0 { " []" } else { "" }
        );
        let kubelet = bed.kubelets();
        for i in 1..=count {
            let path = format!("/metrics/nodes/n{i}/metrics/resource");
            let labels = format!("{{node: n{i}, __metrics_path__: {path}}}");
            writeln!(config, "  - {{targets: ['{kubelet}'], labels: {labels}}}").unwrap();
        }
        config.push_str(more);
        let (config, port) = (bed.write("prometheus.yml", &config), bed.port(2));
        let log = std::fs::File::create(bed.dir.join("prometheus.log")).unwrap();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", bed.dir.join("prometheus").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("prometheus: {error}; .ci/run installs it"));
        let it = Prometheus { child, port };
        eventually("Prometheus to answer", 60, async || {
            let there = std::net::TcpStream::connect(("127.0.0.1", port));
            that(there.is_ok(), "nobody listens")
        })
        .await;
        it
    }

    /// A meddler before it.
    pub async fn meddler(&self, bed: &Bed) -> Proxy {
        let upstream = kube::Client::try_from(kube::Config::new(self.url().parse().unwrap())).unwrap();
        Proxy::before(upstream, bed.port(3)).await
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a policy says of usage that comes from there, besides how it is smoothed.
pub fn source(url: &str) -> String {
    format!("source: prometheus, prometheus: {{url: '{url}', scrapeInterval: {SCRAPES}, timeout: 2s}}, ")
}
