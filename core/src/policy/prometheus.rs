//! The section `usage.prometheus`: the address, the credentials and the queries.

use jiff::SignedDuration;

use super::help;
use crate::schema::compare::ONE_SECOND;
use crate::schema::kind::{duration, text, texts, whole};
use crate::schema::problem::Code;
use crate::schema::read::Fields;
use crate::schema::section::{Section, map};

mod queries;
mod values;

pub use queries::Queries;

use values::{headers, matchers, url};

/// A Prometheus, or a server with the same API: Thanos, Mimir, VictoriaMetrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrometheusPolicy {
    /// The address of its HTTP API, without `/api/v1`.
    pub url: String,
    /// The queries.
    pub queries: Queries,
    /// Label matchers that replace `$matchers` in queries; may be empty.
    pub matchers: String,
    /// Labels that name the node of a series; the first one that a series has decides.
    pub node_labels: Vec<String>,
    /// The interval at which Prometheus scrapes the nodes. `$range` in queries is four times as
    /// long.
    pub scrape_interval: SignedDuration,
    /// The period before its timestamp over which a value is averaged.
    pub averaged_over: SignedDuration,
    /// The time that one query may take.
    pub timeout: SignedDuration,
    /// How often a query is repeated after a temporary failure.
    pub retries: u32,
    /// A file with the certificate authorities to trust instead of those of the system.
    pub ca_file: Option<String>,
    /// The client certificate.
    pub client_certificate: Option<ClientCertificate>,
    /// The HTTP credentials.
    pub login: Option<Login>,
    /// Additional headers, such as `X-Scope-OrgID`.
    pub headers: Vec<(String, String)>,
}

/// Files of a client certificate, read again when they change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate, and the intermediate certificates up to its authority.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

/// HTTP credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// A token in this file. The file is read for every query, because tokens rotate.
    Bearer(String),
    /// A username, and a password in a file.
    Basic {
        /// The username.
        username: String,
        /// The file with the password.
        password_file: String,
    },
}

impl PrometheusPolicy {
    /// The label that names the cluster of a series in a store of several clusters. The dashboards
    /// of kube-prometheus-stack and Mimir use the same label. The default queries keep it.
    pub const CLUSTER_LABEL: &str = "cluster";

    /// The range of the queries: long enough to hold at least two scrapes.
    pub fn range(&self) -> SignedDuration {
        // A rate needs two scrapes in its range. Four times leaves room for one that fails or is
        // late.
        self.scrape_interval.saturating_mul(4)
    }

    /// A query with its placeholders replaced.
    pub fn rendered(&self, query: &str) -> String {
        query.replace("$matchers", &self.matchers).replace("$range", &promql_duration(self.range()))
    }

    /// A query for the mean of another one over a period that ends at the evaluation time.
    pub fn mean_over(&self, period: SignedDuration, query: &str) -> String {
        self.over_time("avg", period, query)
    }

    /// A query for the highest value of another one over such a period.
    pub fn highest_over(&self, period: SignedDuration, query: &str) -> String {
        self.over_time("max", period, query)
    }

    fn over_time(&self, function: &str, period: SignedDuration, query: &str) -> String {
        // Nothing changes between two scrapes.
        let resolution = promql_duration(self.scrape_interval.min(period));
        let period = promql_duration(period);
        format!("{function}_over_time(({})[{period}:{resolution}])", self.rendered(query))
    }
}

/// PromQL durations have no fractions, so 1.5 s must be written as 1500ms.
fn promql_duration(duration: SignedDuration) -> String {
    let millis = duration.as_millis();
    if millis % 1000 == 0 { format!("{}s", millis / 1000) } else { format!("{millis}ms") }
}

/// Declares `usage.prometheus`. The url is empty where the block lacks it; the caller refuses that.
pub(super) fn prometheus() -> Section<PrometheusPolicy> {
    // The scrape interval of kube-prometheus-stack.
    let scrape_interval = SignedDuration::from_secs(30);
    let section = Section::new(PrometheusPolicy {
        url: String::new(),
        queries: queries::queries().defaults(),
        matchers: String::new(),
        node_labels: ["node", "instance"].map(str::to_owned).to_vec(),
        scrape_interval,
        averaged_over: scrape_interval,
        timeout: SignedDuration::from_secs(10),
        retries: 2,
        ca_file: None,
        client_certificate: None,
        login: None,
        headers: Vec::new(),
    });
    credentials(tls(requests(series(section)))).check(check)
}

fn series(section: Section<PrometheusPolicy>) -> Section<PrometheusPolicy> {
    section
        .field("url", url(), |p| &mut p.url)
        .help(
            "The address, without /api/v1, but with the prefix of the server if it has one: \
             /prometheus for Mimir, /select/0/prometheus for a VictoriaMetrics cluster. Needed.",
        )
        .off("http://prometheus-operated.monitoring:9090")
        .field("scrapeInterval", duration(ONE_SECOND), |p| &mut p.scrape_interval)
        .help(
            "The interval at which Prometheus scrapes the nodes; with several intervals, the longest. `$range` in queries is four times as long, so that it holds at least two scrapes.",
        )
        .computed(
            "averagedOver",
            duration(SignedDuration::ZERO).optional(),
            |p| (p.averaged_over != p.scrape_interval).then_some(p.averaged_over),
            |p, averaged_over| p.averaged_over = averaged_over.unwrap_or(p.averaged_over),
        )
        .help(
            "The period over which a value is averaged. The default is scrapeInterval, because the default queries compare two scrapes.",
        )
        .off("30s")
        .field("matchers", matchers(), |p| &mut p.matchers)
        .help(
            "Label matchers that replace `$matchers` in queries, for example to select one of several clusters. If series with the names of our nodes have different values of the label `cluster`, none of them is used.",
        )
        .off("'cluster=\"prod\"'")
        .field("nodeLabels", texts(), |p| &mut p.node_labels)
        .help(
            "The labels that name the node of a series; the first one that a series has decides. \
             The value is the name of a node or an InternalIP, with or without a port.",
        )
        .field("queries", map(queries::queries()), |p| &mut p.queries)
        .help(help::QUERIES)
}

fn requests(section: Section<PrometheusPolicy>) -> Section<PrometheusPolicy> {
    section
        .field("timeout", duration(ONE_SECOND), |p| &mut p.timeout)
        .help(
            "The time that one query may take. Including all retries, no query takes longer than `poll`.",
        )
        .field("retries", whole(0), |p| &mut p.retries)
        .help("How often a query is repeated after a temporary failure.")
}

fn tls(section: Section<PrometheusPolicy>) -> Section<PrometheusPolicy> {
    section
        .field("caFile", text().optional(), |p| &mut p.ca_file)
        .help(
            "A file with the certificate authorities to trust instead of those of the system. It is read again when it changes.",
        )
        .off("/etc/evenkeel/prometheus/ca.crt")
        .computed(
            "clientCertificateFile",
            text().optional(),
            |p| p.client_certificate.as_ref().map(|c| c.certificate.clone()),
            |p, file| p.certificate_mut().certificate = file.unwrap_or_default(),
        )
        .help(
            "The files of a client certificate and its key, for servers that authenticate by TLS. \
             They are read again when they change.",
        )
        .off("/etc/evenkeel/prometheus/tls.crt")
        .computed(
            "clientKeyFile",
            text().optional(),
            |p| p.client_certificate.as_ref().map(|c| c.key.clone()),
            |p, file| p.certificate_mut().key = file.unwrap_or_default(),
        )
        .off("/etc/evenkeel/prometheus/tls.key")
}

fn credentials(section: Section<PrometheusPolicy>) -> Section<PrometheusPolicy> {
    section
        .computed(
            "bearerTokenFile",
            text().optional(),
            |p| p.login.as_ref().and_then(Login::bearer),
            |p, file| p.login = file.map(Login::Bearer),
        )
        .help(
            "The HTTP credentials: bearerTokenFile or basicAuth. The files are read for every query, because tokens rotate.",
        )
        .off("/var/run/secrets/kubernetes.io/serviceaccount/token")
        .computed(
            "basicAuth",
            map(basic_auth()),
            |p| BasicAuth::of(p.login.as_ref()),
            |p, basic| p.login = basic.login().or(p.login.take()),
        )
        .off("{username: evenkeel, passwordFile: /etc/evenkeel/prometheus/password}")
        .field("headers", headers(), |p| &mut p.headers)
        .help(
            "Additional headers, such as the one that names the tenant: X-Scope-OrgID for Mimir, THANOS-TENANT for Thanos.",
        )
        .off("{X-Scope-OrgID: prod}")
}

/// The fields of `basicAuth`; absent fields are empty.
#[derive(Clone, Default)]
struct BasicAuth {
    username: String,
    password_file: String,
}

impl BasicAuth {
    fn of(login: Option<&Login>) -> Self {
        match login {
            Some(Login::Basic { username, password_file }) => {
                BasicAuth { username: username.clone(), password_file: password_file.clone() }
            }
            Some(Login::Bearer(_)) | None => BasicAuth::default(),
        }
    }

    fn login(self) -> Option<Login> {
        (!self.username.is_empty())
            .then_some(Login::Basic { username: self.username, password_file: self.password_file })
    }
}

fn basic_auth() -> Section<BasicAuth> {
    Section::new(BasicAuth::default())
        .field("username", text(), |b| &mut b.username)
        .help("The username.")
        .field("passwordFile", text(), |b| &mut b.password_file)
        .help("The file with the password.")
        .check(|f, _| {
            for field in ["username", "passwordFile"] {
                if f.is_written() && !f.has(field) {
                    let sentence = "missing; basicAuth needs both username and passwordFile";
                    f.complain(Code::MissingField, field, sentence);
                }
            }
        })
}

impl PrometheusPolicy {
    fn certificate_mut(&mut self) -> &mut ClientCertificate {
        self.client_certificate.get_or_insert_default()
    }
}

impl Login {
    fn bearer(&self) -> Option<String> {
        match self {
            Login::Bearer(file) => Some(file.clone()),
            Login::Basic { .. } => None,
        }
    }
}

fn check(f: &mut Fields<'_, '_>, prometheus: &mut PrometheusPolicy) {
    if !f.has("averagedOver") {
        prometheus.averaged_over = prometheus.scrape_interval;
    }
    if f.is_empty_list("nodeLabels") {
        let sentence = "no label is named; name one, or remove the field";
        f.complain(Code::OutOfRange, "nodeLabels", sentence);
    }
    let (certificate, key) = ("clientCertificateFile", "clientKeyFile");
    for (given, missing) in [(certificate, key), (key, certificate)] {
        if f.has(given) && !f.has(missing) {
            let sentence = format!("missing; {given} needs it");
            f.complain(Code::MissingField, missing, sentence);
        }
    }
    if f.has("bearerTokenFile") && f.has("basicAuth") {
        let sentence = "basicAuth and bearerTokenFile exclude each other; keep one of them";
        f.complain(Code::Conflict, "basicAuth", sentence);
    }
}

#[cfg(test)]
mod tests;
