//! OTLP by gRPC: one message there, one back, and the status in the trailers.

use http::header::{CONTENT_TYPE, TE};
use http::{HeaderMap, HeaderValue};
use percent_encoding::percent_decode_str;

use crate::cluster::error_text::one_line;

use super::collector::Trouble;

/// The method that takes traces.
pub(super) const PATH: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

/// A byte that says whether it is compressed, and four with the length, stand before each message.
const PREFIX: usize = 5;

/// The headers of a call.
pub(super) fn headers() -> HeaderMap {
    HeaderMap::from_iter([
        (CONTENT_TYPE, HeaderValue::from_static("application/grpc")),
        (TE, HeaderValue::from_static("trailers")),
    ])
}

/// A message as it goes over the wire.
pub(super) fn framed(message: &[u8]) -> Vec<u8> {
    // A batch is bounded, far below four gigabytes.
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    [&[0][..], &length.to_be_bytes(), message].concat()
}

/// The message in the body of an answer; `None` where there is none that can be read.
pub(super) fn unframed(body: &[u8]) -> Option<&[u8]> {
    let (prefix, message) = body.split_at_checked(PREFIX)?;
    (prefix[0] == 0).then_some(message)
}

/// What the trailers say, or the headers where an answer has no body.
pub(super) fn judge(headers: &HeaderMap) -> Result<(), Trouble> {
    let text = |name| {
        headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
    };
    let Some(status) = text("grpc-status") else {
        return Err(Trouble::Nonsense(
            "an answer without a gRPC status; is it a collector, and does it take gRPC?".to_owned(),
        ));
    };
    if status == "0" {
        return Ok(());
    }
    let why = percent_decode_str(text("grpc-message").unwrap_or_default())
        .decode_utf8_lossy()
        .into_owned();
    Err(Trouble::Status {
        code: status.parse().unwrap_or(UNKNOWN),
        why: one_line(&why),
    })
}

const UNKNOWN: u32 = 2;

/// The name of a status.
pub(super) const fn name(code: u32) -> &'static str {
    match code {
        1 => "CANCELLED",
        3 => "INVALID_ARGUMENT",
        4 => "DEADLINE_EXCEEDED",
        5 => "NOT_FOUND",
        6 => "ALREADY_EXISTS",
        7 => "PERMISSION_DENIED",
        8 => "RESOURCE_EXHAUSTED",
        9 => "FAILED_PRECONDITION",
        10 => "ABORTED",
        11 => "OUT_OF_RANGE",
        12 => "UNIMPLEMENTED",
        13 => "INTERNAL",
        14 => "UNAVAILABLE",
        15 => "DATA_LOSS",
        16 => "UNAUTHENTICATED",
        _ => "UNKNOWN",
    }
}

/// Whether the same call may go through later, by the specification of OTLP.
pub(super) const fn may_pass(code: u32) -> bool {
    matches!(code, 1 | 4 | 10 | 11 | 14 | 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_its_length_before_it() {
        assert_eq!(framed(b"abc"), [0, 0, 0, 0, 3, b'a', b'b', b'c']);
        assert_eq!(unframed(&framed(b"abc")), Some(&b"abc"[..]));
        assert_eq!(unframed(&framed(b"")), Some(&b""[..]));
        assert_eq!(unframed(b"abc"), None);
        assert_eq!(
            unframed(&[1, 0, 0, 0, 0]),
            None,
            "compressed, which nobody asked for"
        );
    }

    #[test]
    fn a_status_is_told_by_its_name() {
        let headers = |status: &'static str, message: &'static str| {
            let name = http::HeaderName::from_static;
            HeaderMap::from_iter([
                (name("grpc-status"), HeaderValue::from_static(status)),
                (name("grpc-message"), HeaderValue::from_static(message)),
            ])
        };
        assert!(judge(&headers("0", "")).is_ok());
        let refused = judge(&headers("16", "no%20token")).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "it refuses them with UNAUTHENTICATED: no token; OTEL_EXPORTER_OTLP_HEADERS is the place for a token"
        );
        assert!(judge(&headers("14", "")).unwrap_err().may_pass());
        assert!(
            judge(&HeaderMap::new())
                .unwrap_err()
                .to_string()
                .contains("without a gRPC status")
        );
    }
}
