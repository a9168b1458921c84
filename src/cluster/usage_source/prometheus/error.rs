//! Reasons why Prometheus yields no usage, each with its remedy.

use std::time::Duration;

/// Why a read from Prometheus failed. The text continues "Prometheus at {url} …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrometheusError {
    /// A file that the policy names is missing or invalid.
    #[error("cannot be queried: {field}: cannot use {file}: {why}")]
    File {
        /// The field of the policy that names the file.
        field: &'static str,
        /// The file.
        file: String,
        /// The reason.
        why: String,
    },
    /// No connection, or one that breaks.
    #[error("does not respond: {0}")]
    Unreachable(String),
    /// The TLS handshake fails.
    #[error("{0}")]
    Tls(String),
    /// No response within the deadline.
    #[error(
        "took longer than {} s to respond; `timeout` and `poll` set the limit",
        .0.as_secs_f64()
    )]
    Timeout(Duration),
    /// Status 401.
    #[error("does not accept our credentials (401){0}")]
    Unauthorized(String),
    /// The tenant header is missing or invalid.
    #[error("requires a valid tenant ({code}: {why}); set it by `headers: {{X-Scope-OrgID: …}}`")]
    Tenant {
        /// The HTTP status.
        code: u16,
        /// The reason from the response.
        why: String,
    },
    /// Status 403.
    #[error("denies the query (403){0}")]
    Forbidden(String),
    /// A redirect. evenkeel follows none, because a redirect may lead the credentials elsewhere.
    #[error("redirects to {0}; if that is Prometheus, set it as url")]
    Redirected(String),
    /// The address serves no query API.
    #[error(
        "has no {path} ({code}): the url must be the address of Prometheus without /api/v1, but \
         with its prefix if it has one, such as /prometheus for Mimir or /select/0/prometheus for \
         a VictoriaMetrics cluster"
    )]
    ApiNotFound {
        /// The HTTP status.
        code: u16,
        /// The requested path.
        path: String,
    },
    /// Any other status that reports a failure.
    #[error("fails with status {code}: {why}")]
    Status {
        /// The HTTP status.
        code: u16,
        /// The reason from the response.
        why: String,
    },
    /// Prometheus reports an error in the query.
    #[error("rejects the query {query}: {why}")]
    QueryRejected {
        /// The query's name in the policy.
        query: &'static str,
        /// The reason from the response.
        why: String,
    },
    /// A proxy takes the query neither by POST nor by GET.
    #[error(
        "cannot receive the query {query} of {bytes} bytes: POST is not allowed ({post}), and the \
         URL of a GET is too long ({get}); allow POST or shorten the query"
    )]
    QueryTooLong {
        /// The query's name in the policy.
        query: &'static str,
        /// The length of the query.
        bytes: usize,
        /// The HTTP status of the POST.
        post: u16,
        /// The HTTP status of the GET.
        get: u16,
    },
    /// Some stores behind the server did not respond.
    #[error(
        "returns a partial result for the query {query}, and missing usage would pass for idle: {warning}"
    )]
    Partial {
        /// The query's name in the policy.
        query: &'static str,
        /// The warning from the response.
        warning: String,
    },
    /// The response has another content type than JSON.
    #[error(
        "returns {0} instead of JSON: is the url that of Prometheus, and is a login page in front \
         of it?"
    )]
    NotJson(String),
    /// The body is not a response of the Prometheus API.
    #[error("returns an invalid response: {0}")]
    InvalidResponse(String),
    /// The result is not a set of series.
    #[error("returns {found} for the query {query}, expected {expected}")]
    ResultType {
        /// The query's name in the policy.
        query: &'static str,
        /// The type of the result.
        found: String,
        /// The expected type.
        expected: &'static str,
    },
    /// All series belong to other clusters.
    #[error(
        "returns no series of this cluster for the query {query}, only others such as {example}: \
         does it store this cluster, do `matchers` select it, and do `nodeLabels` name the label \
         of the node?"
    )]
    OtherCluster {
        /// The query's name in the policy.
        query: &'static str,
        /// The labels of one series.
        example: String,
    },
    /// The series belong to several clusters that share node names.
    #[error(
        "returns nodes of several clusters that share the names of this cluster's nodes, \
         {label}={one:?} and {label}={other:?}: select this cluster by label {label} in `matchers`"
    )]
    SeveralClusters {
        /// The label that distinguishes clusters.
        label: &'static str,
        /// One of its values.
        one: String,
        /// Another of its values.
        other: String,
    },
    /// The body exceeds the limit.
    #[error("returns more than {} MiB; narrow the queries by `matchers`", .0 >> 20)]
    TooLarge(usize),
    /// The result is empty.
    #[error("returns no data for the query {query}: {hint}")]
    NoData {
        /// The query's name in the policy.
        query: &'static str,
        /// Possible causes.
        hint: String,
    },
}

impl PrometheusError {
    /// The stable value of the metric label; several errors share one.
    pub const fn kind(&self) -> &'static str {
        match self {
            PrometheusError::File { .. } => "file",
            PrometheusError::Unreachable(_) => "down",
            PrometheusError::Tls(_) => "tls",
            PrometheusError::Timeout(_) => "slow",
            PrometheusError::Unauthorized(_) | PrometheusError::Tenant { .. } => "unauthorized",
            PrometheusError::Forbidden(_) => "forbidden",
            PrometheusError::Redirected(_)
            | PrometheusError::NotJson(_)
            | PrometheusError::InvalidResponse(_)
            | PrometheusError::ResultType { .. } => "nonsense",
            PrometheusError::ApiNotFound { .. } => "absent",
            PrometheusError::Status { .. } => "broken",
            PrometheusError::QueryRejected { .. } | PrometheusError::QueryTooLong { .. } => {
                "refused"
            }
            PrometheusError::Partial { .. } => "partial",
            PrometheusError::OtherCluster { .. } => "foreign",
            PrometheusError::SeveralClusters { .. } => "clusters",
            PrometheusError::TooLarge(_) => "huge",
            PrometheusError::NoData { .. } => "empty",
        }
    }

    /// Whether the same query may succeed a moment later.
    pub(super) const fn is_temporary(&self) -> bool {
        matches!(
            self,
            PrometheusError::Unreachable(_)
                | PrometheusError::Timeout(_)
                | PrometheusError::Status { code: 429 | 500.., .. }
        )
    }
}
