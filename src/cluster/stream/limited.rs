//! Reads a body piece by piece, with a limit on the size of each piece and on the time without
//! data.

use std::io::ErrorKind;
use std::time::Duration;

use futures::{AsyncBufRead, AsyncBufReadExt};
use tokio::time::timeout;

use crate::values::text::mebibytes;

/// A body. Its pieces are read one after the other.
pub(super) struct Limited<R> {
    body: R,
    /// The longest time without data.
    silence: Duration,
}

/// Why a piece cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LimitedError {
    /// No data for this time.
    Silent(Duration),
    /// The connection broke, or the body ended within a piece.
    Broken(String),
    /// The body does not have its announced format.
    Invalid(String),
    /// A piece is larger than its limit.
    TooLarge(String),
}

impl<R: AsyncBufRead + Unpin> Limited<R> {
    pub(super) const fn new(body: R) -> Self {
        Limited { body, silence: Duration::from_secs(60) }
    }

    /// Sets the longest time without data.
    pub(super) const fn silence(mut self, silence: Duration) -> Self {
        self.silence = silence;
        self
    }

    /// Returns the next data without taking it; empty at the end.
    pub(super) async fn peek(&mut self) -> Result<&[u8], LimitedError> {
        let silence = self.silence;
        match timeout(silence, self.body.fill_buf()).await {
            Err(_) => Err(LimitedError::Silent(silence)),
            Ok(Ok(data)) => Ok(data),
            // Servers and proxies cut streams without closing them properly. Whether the last piece
            // is complete is decided by its reader.
            Ok(Err(error)) if error.kind() == ErrorKind::UnexpectedEof => Ok(&[]),
            Ok(Err(error)) => Err(LimitedError::Broken(error.to_string())),
        }
    }

    /// Takes data that was peeked at.
    pub(super) fn take(&mut self, bytes: usize) {
        self.body.consume_unpin(bytes);
    }

    /// Reads everything that is left.
    pub(super) async fn rest(&mut self, limit: usize) -> Result<Vec<u8>, LimitedError> {
        let mut all = Vec::new();
        loop {
            let data = self.peek().await?;
            let bytes = data.len();
            if bytes == 0 {
                return Ok(all);
            }
            fits(all.len() + bytes, limit, "answer")?;
            all.extend_from_slice(data);
            self.take(bytes);
        }
    }

    /// Reads and drops everything that is left, so that the connection can serve another request.
    pub(super) async fn drain(&mut self) -> Result<(), LimitedError> {
        loop {
            let bytes = self.peek().await?.len();
            if bytes == 0 {
                return Ok(());
            }
            self.take(bytes);
        }
    }

    /// Reads this many bytes into an emptied buffer.
    pub(super) async fn exactly(
        &mut self,
        bytes: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), LimitedError> {
        into.clear();
        while into.len() < bytes {
            let data = self.peek().await?;
            if data.is_empty() {
                return Err(cut());
            }
            let part = data.len().min(bytes - into.len());
            into.extend_from_slice(&data[..part]);
            self.take(part);
        }
        Ok(())
    }

    /// Drops this many bytes.
    pub(super) async fn skip(&mut self, bytes: u64) -> Result<(), LimitedError> {
        let mut left = bytes;
        while left > 0 {
            let data = self.peek().await?.len();
            if data == 0 {
                return Err(cut());
            }
            let part = usize::try_from(left).unwrap_or(usize::MAX).min(data);
            self.take(part);
            left -= part as u64;
        }
        Ok(())
    }

    /// Reads one byte; `None` at the end.
    pub(super) async fn byte(&mut self) -> Result<Option<u8>, LimitedError> {
        let byte = self.peek().await?.first().copied();
        if byte.is_some() {
            self.take(1);
        }
        Ok(byte)
    }
}

/// The error of a body that ends within a piece.
pub(super) fn cut() -> LimitedError {
    LimitedError::Broken("the answer ended early".to_owned())
}

/// Checks the size of a piece. `what` names it.
pub(super) fn fits(bytes: usize, limit: usize, what: &str) -> Result<(), LimitedError> {
    if bytes <= limit {
        return Ok(());
    }
    Err(LimitedError::TooLarge(format!("{what} larger than the limit of {}", mebibytes(limit))))
}
