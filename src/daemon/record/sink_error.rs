//! Reasons why a line of the record is not written.

use std::io;

/// The reason why a line is not written.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The file or the output cannot be written.
    #[error("cannot write to {0}: {1}")]
    Io(String, io::Error),
    /// The request cannot be sent, or there is no response.
    #[error("{0}")]
    NotSent(String),
    /// The response has a status that is not a success.
    #[error("HTTP status {code}{}", after_colon(message))]
    Status {
        /// HTTP status code.
        code: u16,
        /// Message of the server; may be empty.
        message: String,
    },
}

fn after_colon(message: &str) -> String {
    if message.is_empty() {
        String::new()
    } else {
        format!(": {message}")
    }
}

impl SinkError {
    /// Returns true if the sink takes other lines, but never this one.
    pub const fn is_about_the_line(&self) -> bool {
        matches!(
            self,
            SinkError::Status {
                code: 400 | 413 | 415 | 422,
                ..
            }
        )
    }
}
