//! What can be wrong with a Prometheus, each with what to do about it.

use std::time::Duration;

/// Why Prometheus told nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// A file of ours cannot be read.
    #[error("{field}: cannot use {file}: {why}")]
    File {
        /// The field of the policy that names it.
        field: &'static str,
        /// The file.
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// Nobody answers there.
    #[error("does not answer: {0}")]
    Down(String),
    /// TLS does not come about.
    #[error("{0}")]
    Tls(String),
    /// No answer in time.
    #[error("took longer than {} s; `timeout` and `poll` bound it", .0.as_secs_f64())]
    Slow(Duration),
    /// It does not know us.
    #[error("does not accept our credentials (401){0}")]
    Unauthorized(String),
    /// It keeps tenants apart, and was not told well of which.
    #[error(
        "keeps tenants apart ({code}: {why}); `headers: {{X-Scope-OrgID: …}}` names the one to ask"
    )]
    Tenant {
        /// The status.
        code: u16,
        /// What it said.
        why: String,
    },
    /// It knows us, and does not let us.
    #[error("forbids us to ask (403){0}")]
    Forbidden(String),
    /// It wants us elsewhere.
    #[error("sends us to {0}; if that is Prometheus, write it as url")]
    Moved(String),
    /// There is no API.
    #[error(
        "has no {path} ({code}): the url must be that of Prometheus, without /api/v1, but with its prefix where it has one, such as /prometheus of Mimir or /select/0/prometheus of a VictoriaMetrics cluster"
    )]
    Absent {
        /// The status.
        code: u16,
        /// What was asked for.
        path: String,
    },
    /// It is in trouble itself.
    #[error("fails with status {code}: {why}")]
    Broken {
        /// The status.
        code: u16,
        /// What it said.
        why: String,
    },
    /// It says that something is wrong with a query.
    #[error("does not answer the query {query}: {why}")]
    Refused {
        /// Its name in the policy.
        query: &'static str,
        /// What it said.
        why: String,
    },
    /// It says that something is missing in its answer.
    #[error(
        "answers the query {query} in part only, and a part taken for the whole would look idle: {warning}"
    )]
    Partial {
        /// Its name in the policy.
        query: &'static str,
        /// What it said.
        warning: String,
    },
    /// Something other than JSON.
    #[error(
        "answers with {0} in place of JSON: is the url that of Prometheus, and is there a login in front of it?"
    )]
    Page(String),
    /// JSON that is no answer.
    #[error("answers with what is no answer of Prometheus: {0}")]
    Nonsense(String),
    /// An answer of another type than series.
    #[error("answers the query {query} with {found}, where a vector of series is needed")]
    Shape {
        /// Its name in the policy.
        query: &'static str,
        /// What it gave.
        found: String,
    },
    /// Usage of machines that are none of ours.
    #[error(
        "answers the query {query} with nothing about this cluster, but with {example}: does it hold this cluster, do `matchers` choose it, and do `nodeLabels` name the label of the node?"
    )]
    Foreign {
        /// Its name in the policy.
        query: &'static str,
        /// The labels of a series.
        example: String,
    },
    /// Our nodes by name, but of several clusters.
    #[error(
        "tells of nodes that are called as ours in several clusters, {label}={one:?} and {label}={other:?}: say by `matchers` which is this one, such as '{label}={one:?}'"
    )]
    Clusters {
        /// The label that tells clusters apart.
        label: &'static str,
        /// One value of it.
        one: String,
        /// Another.
        other: String,
    },
    /// More than we take.
    #[error("answers with more than {} MiB; narrow the query by `matchers`", .0 >> 20)]
    Huge(usize),
    /// Nothing.
    #[error("gives nothing for the query {query}: {hint}")]
    Empty {
        /// Its name in the policy.
        query: &'static str,
        /// What may be the cause.
        hint: String,
    },
}

impl Trouble {
    /// The stable label, one of few.
    pub const fn kind(&self) -> &'static str {
        match self {
            Trouble::File { .. } => "file",
            Trouble::Down(_) => "down",
            Trouble::Tls(_) => "tls",
            Trouble::Slow(_) => "slow",
            Trouble::Unauthorized(_) | Trouble::Tenant { .. } => "unauthorized",
            Trouble::Forbidden(_) => "forbidden",
            Trouble::Moved(_) | Trouble::Page(_) | Trouble::Nonsense(_) | Trouble::Shape { .. } => {
                "nonsense"
            }
            Trouble::Absent { .. } => "absent",
            Trouble::Broken { .. } => "broken",
            Trouble::Refused { .. } => "refused",
            Trouble::Partial { .. } => "partial",
            Trouble::Foreign { .. } => "foreign",
            Trouble::Clusters { .. } => "clusters",
            Trouble::Huge(_) => "huge",
            Trouble::Empty { .. } => "empty",
        }
    }

    /// Whether the same question may be answered a moment later.
    pub(super) const fn may_pass(&self) -> bool {
        match self {
            Trouble::Down(_) | Trouble::Slow(_) => true,
            Trouble::Broken { code, .. } => *code >= 500 || *code == 429,
            Trouble::File { .. }
            | Trouble::Tls(_)
            | Trouble::Unauthorized(_)
            | Trouble::Tenant { .. }
            | Trouble::Forbidden(_)
            | Trouble::Moved(_)
            | Trouble::Absent { .. }
            | Trouble::Refused { .. }
            | Trouble::Partial { .. }
            | Trouble::Page(_)
            | Trouble::Nonsense(_)
            | Trouble::Shape { .. }
            | Trouble::Foreign { .. }
            | Trouble::Clusters { .. }
            | Trouble::Huge(_)
            | Trouble::Empty { .. } => false,
        }
    }
}
