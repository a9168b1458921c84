//! Reasons why a collector does not take spans.

use std::path::PathBuf;
use std::time::Duration;

use crate::cluster::error_text::after_colon;

/// Reason why a batch of spans is lost, or why traces cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// The CA file cannot be used.
    #[error("cannot use CA file {}: {reason}", file.display())]
    CaFile {
        /// Path of the file.
        file: PathBuf,
        /// The I/O or parse error.
        reason: String,
    },
    /// The TLS handshake fails.
    #[error("TLS error: {0}")]
    Tls(String),
    /// The connection fails or breaks.
    #[error("cannot connect: {0}")]
    Connection(String),
    /// The batch takes longer than it may.
    #[error("no response within {} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// The response has an HTTP status that is not a success.
    #[error("HTTP status {code}{}{}", after_colon(reason), token_hint(*.code))]
    Status {
        /// HTTP status code.
        code: u16,
        /// Message of the server, or the name of the status.
        reason: String,
    },
    /// The collector took some spans of a batch and rejected the others.
    #[error("{spans} spans rejected{}", after_colon(reason))]
    Rejected {
        /// Number of rejected spans.
        spans: usize,
        /// Message of the collector.
        reason: String,
    },
    /// The exporter library fails before it sends anything.
    #[error("{0}")]
    Exporter(String),
}

impl TraceError {
    /// Returns a stable name of the kind of error, with its HTTP status. The message may differ
    /// between two errors of one kind.
    pub(super) const fn kind(&self) -> (&'static str, u16) {
        match self {
            TraceError::CaFile { .. } => ("ca-file", 0),
            TraceError::Tls(_) => ("tls", 0),
            TraceError::Connection(_) => ("connection", 0),
            TraceError::Timeout(_) => ("timeout", 0),
            TraceError::Status { code, .. } => ("status", *code),
            TraceError::Rejected { .. } => ("rejected", 0),
            TraceError::Exporter(_) => ("exporter", 0),
        }
    }
}

const fn token_hint(code: u16) -> &'static str {
    if code == 401 || code == 403 { "; set the token in OTEL_EXPORTER_OTLP_HEADERS" } else { "" }
}
