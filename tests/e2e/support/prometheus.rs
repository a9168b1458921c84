//! A real Prometheus beside the control plane. It scrapes /metrics/resource of the simulated
//! kubelets, or evenkeel itself.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use reqwest::Url;
use serde_json::Value;

use super::control_plane::ControlPlane;
use super::proxy::Proxy;
use super::wait::{eventually, that};

/// The scrape interval.
const SCRAPE_INTERVAL: &str = "5s";

/// A running Prometheus, killed on drop.
pub struct Prometheus {
    child: Child,
    port: u16,
}

impl Prometheus {
    /// Starts a Prometheus that scrapes the nodes n1 to n`count`. Returns when it listens.
    pub async fn start(control_plane: &ControlPlane, count: u32) -> Self {
        let mut config = format!(
            "global: {{scrape_interval: {SCRAPE_INTERVAL}}}\n\
             scrape_configs:\n\
             - job_name: kubelet\n\
             \x20 static_configs:\n"
        );
        let kubelet = control_plane.kubelets();
        for i in 1..=count {
            let path = format!("/metrics/nodes/n{i}/metrics/resource");
            let labels = format!("{{node: n{i}, __metrics_path__: {path}}}");
            writeln!(config, "  - {{targets: ['{kubelet}'], labels: {labels}}}").unwrap();
        }
        Prometheus::configured(control_plane, &config).await
    }

    /// Starts a Prometheus that scrapes evenkeel every second, with the labels of
    /// deploy/components/monitoring, and evaluates these rules.
    pub async fn of_the_program(control_plane: &ControlPlane, rules: Option<&Path>) -> Self {
        let jobs = format!(
            "- job_name: evenkeel\n\
             \x20 honor_labels: true\n\
             \x20 static_configs:\n\
             \x20 - \
             {{targets: ['127.0.0.1:{}'], labels: {{namespace: kube-system, node: elsewhere}}}}\n",
            control_plane.port(0),
        );
        Prometheus::with_rules(control_plane, rules, &jobs).await
    }

    /// Starts a Prometheus that scrapes a service every second and evaluates these rules.
    pub async fn of_exporter(
        control_plane: &ControlPlane,
        address: SocketAddr,
        rules: Option<&Path>,
    ) -> Self {
        let jobs = format!(
            "- job_name: services\n\
             \x20 static_configs: [{{targets: ['{address}']}}]\n",
        );
        Prometheus::with_rules(control_plane, rules, &jobs).await
    }

    /// Starts a Prometheus that scrapes these jobs and evaluates these rules every second.
    async fn with_rules(control_plane: &ControlPlane, rules: Option<&Path>, jobs: &str) -> Self {
        let rules = rules.map(|path| format!("'{}'", path.display()));
        let rules = rules.unwrap_or_default();
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
             rule_files: [{rules}]\n\
             scrape_configs:\n\
             {jobs}"
        );
        Prometheus::configured(control_plane, &config).await
    }

    async fn configured(control_plane: &ControlPlane, config: &str) -> Self {
        let (config, port) = (control_plane.write("prometheus.yml", config), control_plane.port(2));
        let log = std::fs::File::create(control_plane.dir.join("prometheus.log")).unwrap();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", control_plane.dir.join("prometheus").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("prometheus: {error}; .ci/run installs it"));
        let prometheus = Prometheus { child, port };
        eventually("Prometheus to listen", 60, async || {
            let connection = std::net::TcpStream::connect(("127.0.0.1", port));
            that(connection.is_ok(), "it does not listen")
        })
        .await;
        prometheus
    }

    /// The field `data` of a response.
    pub async fn get(&self, path: &str, query: &[(&str, &str)]) -> Value {
        let url = Url::parse_with_params(&format!("{}{path}", self.url()), query).unwrap();
        let client =
            kube::Client::try_from(kube::Config::new(self.url().parse().unwrap())).unwrap();
        let path = url.as_str().strip_prefix(&self.url()).unwrap();
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let response: Value =
            client.request(request).await.unwrap_or_else(|error| panic!("{query:?}: {error}"));
        response["data"].clone()
    }

    /// A proxy in front of it that can hold, replace and cut responses.
    pub async fn meddler(&self, control_plane: &ControlPlane) -> Proxy {
        let upstream =
            kube::Client::try_from(kube::Config::new(self.url().parse().unwrap())).unwrap();
        Proxy::before(upstream, control_plane.port(3)).await
    }

    /// Its URL.
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

/// The fields of a policy that select this source, without the smoothing.
pub fn source(url: &str) -> String {
    format!(
        "source: prometheus, prometheus: {{url: '{url}', scrapeInterval: {SCRAPE_INTERVAL}, timeout: 2s}}, "
    )
}
