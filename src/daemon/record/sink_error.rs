//! Reasons why a line of the record is not written.

use std::io;

use crate::cluster::error_text::after_colon;

/// The reason why a line is not written.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The file cannot be opened.
    #[error("cannot write to {0}: {1}")]
    Io(String, io::Error),
    /// The file or the output took a part of the line, or perhaps all of it.
    #[error("cannot write to {0}: {1}")]
    Unfinished(String, io::Error),
    /// The request cannot be sent.
    #[error("{0}")]
    NotSent(String),
    /// There is no response.
    #[error("{0}")]
    Unanswered(String),
    /// The response has a status that is not a success.
    #[error("HTTP status {code}{}", after_colon(message))]
    Status {
        /// HTTP status code.
        code: u16,
        /// Message of the server; may be empty.
        message: String,
    },
}

impl SinkError {
    /// Returns true if the sink may have the line in spite of the error. A server that refuses a
    /// request (4xx) has not taken it.
    pub const fn may_be_written(&self) -> bool {
        match self {
            SinkError::Unfinished(..) | SinkError::Unanswered(_) => true,
            SinkError::Status { code, .. } => *code >= 500,
            SinkError::Io(..) | SinkError::NotSent(_) => false,
        }
    }

    /// Returns true if the sink takes other lines, but never this one.
    pub const fn is_about_the_line(&self) -> bool {
        matches!(self, SinkError::Status { code: 400 | 413 | 415 | 422, .. })
    }
}
