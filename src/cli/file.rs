//! Text files and standard input.

use std::io::Read;
use std::path::Path;

use anyhow::Context;

use crate::files::cluster_file::{self, ClusterFile};

/// The path as the user wrote it, or `standard input` for `-`.
pub(super) fn label(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// Reads the text of a file or of standard input, in UTF-8 or UTF-16.
pub(super) fn text(path: &Path) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::read(path).map(|content| bytes = content)
    };
    read.context("cannot read the file").and_then(|()| decode(bytes)).with_context(|| label(path))
}

/// Reads a file. Objects that are not valid are skipped and counted; a file without nodes is an
/// error.
pub(super) fn read(path: &Path) -> anyhow::Result<ClusterFile> {
    let text = text(path)?;
    cluster_file::parse(&text).with_context(|| label(path))
}

/// Decodes UTF-8, or UTF-16 with a byte order mark, which shells on Windows write.
fn decode(bytes: Vec<u8>) -> anyhow::Result<String> {
    match bytes.get(..3) {
        Some([0xff, 0xfe, _]) => utf16(&bytes[2..], u16::from_le_bytes),
        Some([0xfe, 0xff, _]) => utf16(&bytes[2..], u16::from_be_bytes),
        Some([0x1f, 0x8b, _]) => anyhow::bail!("compressed; gunzip it first"),
        Some([0xef, 0xbb, 0xbf]) => utf8(bytes[3..].to_vec()),
        _ => utf8(bytes),
    }
}

fn utf8(bytes: Vec<u8>) -> anyhow::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.split(|byte| *byte == b'\n').count();
        let byte = good.rsplit(|byte| *byte == b'\n').next().map_or(0, <[u8]>::len) + 1;
        anyhow::anyhow!("found binary data, expected text: line {line}, byte {byte} is not UTF-8")
    })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> anyhow::Result<String> {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units)
        .collect::<Result<String, _>>()
        .context("found invalid UTF-16 after its byte order mark")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf_8_and_utf_16_are_decoded() {
        let wide: Vec<u8> = "\u{feff}kind".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(decode(wide).unwrap(), "kind");
        assert_eq!(decode(b"\xef\xbb\xbfkind".to_vec()).unwrap(), "kind");
    }

    #[test]
    fn what_is_not_text_is_named_with_its_place() {
        let error = |bytes: &[u8]| decode(bytes.to_vec()).unwrap_err().to_string();
        assert_eq!(
            error(b"kind: List\nitems: \xff\n"),
            "found binary data, expected text: line 2, byte 8 is not UTF-8"
        );
        assert!(error(b"\xff\x00\x01").ends_with("line 1, byte 1 is not UTF-8"));
        assert!(error(b"\xef\xbb\xbfa\xff").ends_with("line 1, byte 2 is not UTF-8"));
        assert_eq!(error(b"\x1f\x8b\x08\x00"), "compressed; gunzip it first");
    }
}
