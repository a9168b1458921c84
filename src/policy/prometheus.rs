//! Usage by Prometheus, as the policy describes it: where it is, who we are there, and what to ask.

use jiff::SignedDuration;

use super::problem::Code;
use super::read::{Fields, Spot};
use super::tree::Value;

/// A Prometheus, or what answers like one: Thanos, Mimir, VictoriaMetrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prometheus {
    /// Where its HTTP API is, without `/api/v1`.
    pub url: String,
    /// What to ask.
    pub queries: Queries,
    /// Label matchers that stand for `$matchers` in queries; may be empty.
    pub matchers: String,
    /// Labels that may tell the node of a series; the first that a series has decides.
    pub node_labels: Vec<String>,
    /// How often the nodes are scraped. `$range` in queries is four times as long.
    pub scrape_interval: SignedDuration,
    /// Over how long before its time a value is the average.
    pub averaged_over: SignedDuration,
    /// How long one query may take.
    pub timeout: SignedDuration,
    /// How often a query is sent again that failed for a reason that may pass.
    pub retries: u32,
    /// A file with the certificates of the authorities to trust, in place of those of the system.
    pub ca_file: Option<String>,
    /// Who we are by TLS.
    pub client_certificate: Option<ClientCertificate>,
    /// Who we are by HTTP.
    pub login: Option<Login>,
    /// Headers to send, such as `X-Scope-OrgID`.
    pub headers: Vec<(String, String)>,
}

/// Files, read again when they change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate, and those that lead to its authority.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

/// Who we are by HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// A token in this file, which is read for every query, since tokens rotate.
    Bearer(String),
    /// A name, and a password in a file.
    Basic {
        /// The name.
        username: String,
        /// The file.
        password_file: String,
    },
}

/// What to ask: one query for all nodes or all pods, each in PromQL. `$range` and `$matchers` are put in before it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queries {
    /// Cores in use, by node.
    pub node_cpu: String,
    /// Bytes of working set, by node.
    pub node_memory: String,
    /// When the figures of a node were taken, in Unix seconds; with `None`, when they were asked for.
    pub node_time: Option<String>,
    /// Cores in use, by namespace and pod.
    pub pod_cpu: String,
    /// Bytes of working set, by namespace and pod.
    pub pod_memory: String,
    /// When the figures of a pod were taken; with `None`, when they were asked for.
    pub pod_time: Option<String>,
}

/// What the kubelet tells of its node comes first; then what cAdvisor does; then node-exporter, which is all that
/// kube-prometheus-stack keeps. `or on()` takes the next only where there is none of the one before, so that no node is
/// told of twice. `irate` is of the last two scrapes: it neither lags behind nor takes a pod that has just come for idle.
impl Default for Queries {
    fn default() -> Self {
        let one_of = |parts: &[&str]| parts.join(" or on() ");
        let by = "by (cluster, node, instance, namespace, pod)";
        let container = r#"container!="",container!="POD",pod!="",$matchers"#;
        let each = "by (cluster, node, instance, namespace, pod, container)";
        Queries {
            node_cpu: one_of(&[
                "max by (cluster, node, instance) (irate(node_cpu_usage_seconds_total{$matchers}[$range]))",
                r#"max by (cluster, node, instance) (irate(container_cpu_usage_seconds_total{id="/",$matchers}[$range]))"#,
                "sum by (cluster, node, instance) (max by (cluster, node, instance, cpu, mode) (irate(node_cpu_seconds_total{mode!~\"idle|iowait|steal|guest|guest_nice\",$matchers}[$range])))",
            ]),
            node_memory: one_of(&[
                "max by (cluster, node, instance) (node_memory_working_set_bytes{$matchers})",
                r#"max by (cluster, node, instance) (container_memory_working_set_bytes{id="/",$matchers})"#,
                "max by (cluster, node, instance) (node_memory_MemTotal_bytes{$matchers} - node_memory_MemAvailable_bytes{$matchers})",
            ]),
            node_time: Some(one_of(&[
                "max by (cluster, node, instance) (timestamp(node_cpu_usage_seconds_total{$matchers}))",
                r#"max by (cluster, node, instance) (timestamp(container_cpu_usage_seconds_total{id="/",$matchers}))"#,
                "max by (cluster, node, instance) (timestamp(node_memory_MemTotal_bytes{$matchers}))",
            ])),
            pod_cpu: one_of(&[
                &format!("max {by} (irate(pod_cpu_usage_seconds_total{{$matchers}}[$range]))"),
                &format!(
                    "sum {by} (max {each} (irate(container_cpu_usage_seconds_total{{{container}}}[$range])))"
                ),
            ]),
            pod_memory: one_of(&[
                &format!("max {by} (pod_memory_working_set_bytes{{$matchers}})"),
                &format!(
                    "sum {by} (max {each} (container_memory_working_set_bytes{{{container}}}))"
                ),
            ]),
            pod_time: Some(one_of(&[
                &format!("max {by} (timestamp(pod_cpu_usage_seconds_total{{$matchers}}))"),
                &format!("max {by} (timestamp(container_cpu_usage_seconds_total{{{container}}}))"),
            ])),
        }
    }
}

impl Prometheus {
    /// The label by which a store of several clusters tells them apart, as the dashboards of kube-prometheus-stack and Mimir
    /// take it. The default queries keep it.
    pub const CLUSTER_LABEL: &str = "cluster";

    /// How long the queries look back for two scrapes at least.
    pub fn range(&self) -> SignedDuration {
        self.scrape_interval.saturating_mul(4)
    }

    /// A query as it is sent.
    pub fn rendered(&self, query: &str) -> String {
        let millis = self.range().as_millis();
        let range = if millis % 1000 == 0 {
            format!("{}s", millis / 1000)
        } else {
            format!("{millis}ms")
        };
        query
            .replace("$matchers", &self.matchers)
            .replace("$range", &range)
    }
}

/// How often Prometheus scrapes where nobody says otherwise, by kube-prometheus-stack.
pub(super) const SCRAPE_INTERVAL: SignedDuration = SignedDuration::from_secs(30);
/// How long one query may take.
pub(super) const TIMEOUT: SignedDuration = SignedDuration::from_secs(10);
pub(super) const RETRIES: u32 = 2;
pub(super) const NODE_LABELS: [&str; 2] = ["node", "instance"];
const ONE_SECOND: SignedDuration = SignedDuration::from_secs(1);

/// Reads the block `usage.prometheus`; `None` where it lacks a url, of which the caller complains.
pub(super) fn prometheus(f: &mut Fields<'_, '_>) -> Option<Prometheus> {
    let url = url(f.field("url"));
    let scrape_interval = f
        .field("scrapeInterval")
        .duration(ONE_SECOND)
        .unwrap_or(SCRAPE_INTERVAL);
    let node_labels = f.field("nodeLabels").names();
    if node_labels.as_ref().is_some_and(Vec::is_empty) {
        f.complain(
            Code::OutOfRange,
            "nodeLabels",
            "no label is named; name one, or leave the field out",
        );
    }
    Some(Prometheus {
        queries: f.field("queries").section(queries),
        matchers: matchers(f.field("matchers")).unwrap_or_default(),
        node_labels: node_labels.unwrap_or_else(|| NODE_LABELS.map(str::to_owned).to_vec()),
        scrape_interval,
        averaged_over: f
            .field("averagedOver")
            .duration(SignedDuration::ZERO)
            .unwrap_or(scrape_interval),
        timeout: f.field("timeout").duration(ONE_SECOND).unwrap_or(TIMEOUT),
        retries: f.field("retries").whole(0).unwrap_or(RETRIES),
        ca_file: f.field("caFile").name(),
        client_certificate: client_certificate(f),
        login: login(f),
        headers: headers(f.field("headers")),
        url: url?,
    })
}

fn url(spot: Spot<'_, '_>) -> Option<String> {
    spot.checked(|text| {
        let uri: http::Uri = text.parse().map_err(|_| "not a url, such as http://prometheus.monitoring:9090")?;
        let host = uri.host().is_some_and(|h| !h.is_empty());
        if !host || !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err("not a url that begins with http:// or https://, such as http://prometheus.monitoring:9090");
        }
        if uri.authority().is_some_and(|a| a.as_str().contains('@')) {
            return Err("a password does not belong into a policy; write basicAuth with a passwordFile");
        }
        if uri.query().is_some() || text.contains('#') {
            return Err("this is to end before the `?`: what is asked is added to it");
        }
        Ok(text.trim_end_matches('/').to_owned())
    })
}

/// Text that may be empty, and stands within braces.
fn matchers(spot: Spot<'_, '_>) -> Option<String> {
    if spot
        .node()
        .is_some_and(|n| n.value == Value::Text(String::new()))
    {
        return None;
    }
    spot.checked(|text| {
        if text.contains(['{', '}']) || !text.contains('=') {
            return Err("label matchers without braces, such as cluster=\"prod\"");
        }
        Ok(text.to_owned())
    })
}

fn queries(f: &mut Fields<'_, '_>) -> Queries {
    let default = Queries::default();
    let optional = |spot: Spot<'_, '_>, default: Option<String>| match spot.name() {
        Some(word) if word == "none" => None,
        Some(query) => Some(query),
        None => default,
    };
    Queries {
        node_cpu: f.field("nodeCpu").name().unwrap_or(default.node_cpu),
        node_memory: f.field("nodeMemory").name().unwrap_or(default.node_memory),
        node_time: optional(f.field("nodeTime"), default.node_time),
        pod_cpu: f.field("podCpu").name().unwrap_or(default.pod_cpu),
        pod_memory: f.field("podMemory").name().unwrap_or(default.pod_memory),
        pod_time: optional(f.field("podTime"), default.pod_time),
    }
}

fn client_certificate(f: &mut Fields<'_, '_>) -> Option<ClientCertificate> {
    let (certificate, key) = (
        f.field("clientCertificateFile").name(),
        f.field("clientKeyFile").name(),
    );
    for (given, missing) in [
        ("clientCertificateFile", "clientKeyFile"),
        ("clientKeyFile", "clientCertificateFile"),
    ] {
        if f.has(given) && !f.has(missing) {
            f.complain(
                Code::MissingField,
                missing,
                format!("missing, for {given} needs it"),
            );
        }
    }
    Some(ClientCertificate {
        certificate: certificate?,
        key: key?,
    })
}

fn login(f: &mut Fields<'_, '_>) -> Option<Login> {
    let bearer = f.field("bearerTokenFile").name().map(Login::Bearer);
    let given = f.has("basicAuth");
    let basic = f.field("basicAuth").section(|f| {
        let (username, password_file) =
            (f.field("username").name(), f.field("passwordFile").name());
        for field in ["username", "passwordFile"] {
            if given && !f.has(field) {
                f.complain(
                    Code::MissingField,
                    field,
                    "missing; basicAuth needs both username and passwordFile",
                );
            }
        }
        Some(Login::Basic {
            username: username?,
            password_file: password_file?,
        })
    });
    if f.has("bearerTokenFile") && given {
        let sentence = "basicAuth and bearerTokenFile do not go together; keep one of them";
        f.complain(Code::Conflict, "basicAuth", sentence);
    }
    bearer.or(basic)
}

fn headers(spot: Spot<'_, '_>) -> Vec<(String, String)> {
    if spot.is_absent() {
        return Vec::new();
    }
    let read = spot.each("headers", |entry, value| {
        let name = &entry.key;
        if http::HeaderName::try_from(name.as_str()).is_err() {
            return value
                .at_key()
                .complain(Code::WrongType, "not the name of a header");
        }
        if name.eq_ignore_ascii_case("authorization") {
            let sentence =
                "a secret does not belong into a policy; write bearerTokenFile or basicAuth";
            return value.at_key().complain(Code::Conflict, sentence);
        }
        let value = value.checked(|text| {
            http::HeaderValue::try_from(text)
                .map_err(|_| "not the value of a header: one line of plain text")?;
            Ok(text.to_owned())
        });
        Some((name.clone(), value?))
    });
    read.unwrap_or_default()
}

#[cfg(test)]
mod tests;
