//! Parts that several fuzz targets share.

pub mod cluster;

use std::sync::LazyLock;

use evenkeel::cluster::from_memory::BodyInMemory;
use evenkeel::model::snapshot::objects::ObjectKind;
use tokio::runtime::{Builder, Runtime};

/// Splits an input into a kind, which the first byte selects (`a` the first kind), and the rest.
pub fn kind(input: &[u8]) -> Option<(ObjectKind, &[u8])> {
    let (first, rest) = input.split_first()?;
    let position = usize::from(first.wrapping_sub(b'a')) % ObjectKind::ALL.len();
    Some((ObjectKind::ALL[position], rest))
}

/// Splits an input into the body of an answer and its kind. The first byte selects the kind, the
/// second the format (`p` protobuf), the third how many bytes arrive at once.
pub fn body(input: &[u8]) -> Option<(ObjectKind, BodyInMemory<'_>)> {
    let (kind, rest) = kind(input)?;
    let (format, rest) = rest.split_first()?;
    let (piece, bytes) = rest.split_first()?;
    let body = BodyInMemory { protobuf: *format == b'p', bytes, piece: usize::from(*piece) * 4 };
    Some((kind, body))
}

/// Runs a future to its end.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    static RUNTIME: LazyLock<Runtime> =
        LazyLock::new(|| Builder::new_current_thread().enable_time().build().unwrap());
    RUNTIME.block_on(future)
}
