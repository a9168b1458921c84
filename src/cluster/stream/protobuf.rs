//! The wire format of protobuf, as far as lists need it: an envelope, and in it a list whose items
//! are read one by one.
//!
//! See <https://protobuf.dev/programming-guides/encoding/>.

use futures::AsyncBufRead;
use prost::Message;

use crate::model::api::{Envelope, ListMetadata};

use super::limited::{Limited, LimitedError, fits};

/// `raw` of `Unknown`.
const RAW: u64 = 2;
/// `metadata` and `items` of every list.
const METADATA: u64 = 1;
const ITEMS: u64 = 2;
/// Wire types.
const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const LENGTH_DELIMITED: u64 = 2;
const FIXED_32: u64 = 5;

/// A list in its envelope.
pub(super) struct ProtobufList {
    /// The bytes of the list that are still to be read; `None` before its start.
    left: Option<u64>,
    pub(super) metadata: ListMetadata,
}

/// The key of a field.
struct Key {
    number: u64,
    wire_type: u64,
}

impl ProtobufList {
    pub(super) fn new() -> Self {
        ProtobufList { left: None, metadata: ListMetadata::default() }
    }

    /// Reads the next item into the buffer. Returns false after the last one.
    pub(super) async fn next<R: AsyncBufRead + Unpin>(
        &mut self,
        body: &mut Limited<R>,
        limit: usize,
        item: &mut Vec<u8>,
    ) -> Result<bool, LimitedError> {
        let mut left = match self.left {
            Some(left) => left,
            None => start(body).await?,
        };
        while left > 0 {
            let key = key(body, &mut left).await?;
            if key.wire_type != LENGTH_DELIMITED {
                skip(body, &key, &mut left).await?;
                continue;
            }
            let length = length(body, &mut left).await?;
            left = left.checked_sub(length).ok_or_else(overrun)?;
            if key.number != METADATA && key.number != ITEMS {
                body.skip(length).await?;
                continue;
            }
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            fits(length, limit, "list item")?;
            body.exactly(length, item).await?;
            if key.number == ITEMS {
                self.left = Some(left);
                return Ok(true);
            }
            self.metadata = ListMetadata::decode(item.as_slice())
                .map_err(|e| LimitedError::Invalid(format!("invalid list: {e}")))?;
        }
        self.left = Some(0);
        body.drain().await?;
        Ok(false)
    }
}

/// Reads the envelope up to the list and returns the size of the list.
async fn start<R: AsyncBufRead + Unpin>(body: &mut Limited<R>) -> Result<u64, LimitedError> {
    let mut magic = Vec::new();
    body.exactly(Envelope::MAGIC.len(), &mut magic).await?;
    if magic != Envelope::MAGIC {
        return Err(LimitedError::Invalid("invalid list: no protobuf of Kubernetes".to_owned()));
    }
    let mut left = u64::MAX;
    loop {
        let key = key(body, &mut left).await?;
        if key.number == RAW && key.wire_type == LENGTH_DELIMITED {
            return length(body, &mut left).await;
        }
        skip(body, &key, &mut left).await?;
    }
}

async fn key<R: AsyncBufRead + Unpin>(
    body: &mut Limited<R>,
    left: &mut u64,
) -> Result<Key, LimitedError> {
    let key = length(body, left).await?;
    Ok(Key { number: key >> 3, wire_type: key & 7 })
}

async fn skip<R: AsyncBufRead + Unpin>(
    body: &mut Limited<R>,
    key: &Key,
    left: &mut u64,
) -> Result<(), LimitedError> {
    let bytes = match key.wire_type {
        VARINT => {
            length(body, left).await?;
            0
        }
        FIXED_64 => 8,
        LENGTH_DELIMITED => length(body, left).await?,
        FIXED_32 => 4,
        other => {
            return Err(LimitedError::Invalid(format!(
                "invalid list: wire type {other} of field {}",
                key.number
            )));
        }
    };
    *left = left.checked_sub(bytes).ok_or_else(overrun)?;
    body.skip(bytes).await
}

/// Reads a number of variable length: seven bits a byte, the lowest first.
async fn length<R: AsyncBufRead + Unpin>(
    body: &mut Limited<R>,
    left: &mut u64,
) -> Result<u64, LimitedError> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = body.byte().await?.ok_or_else(super::limited::cut)?;
        *left = left.checked_sub(1).ok_or_else(overrun)?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(LimitedError::Invalid("invalid list: a number without end".to_owned()))
}

fn overrun() -> LimitedError {
    LimitedError::Invalid("invalid list: a field is larger than the list".to_owned())
}
