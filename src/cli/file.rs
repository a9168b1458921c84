//! Text files and standard input.

use std::io::Read;
use std::path::Path;

use anyhow::Context;

use crate::files::cluster_file::{self, ClusterFile};

/// The path as the user wrote it, or `standard input` for `-`.
pub(super) fn label(path: &Path) -> String {
    if path == Path::new("-") {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

/// Reads the text of a file or of standard input, in UTF-8 or UTF-16.
pub(super) fn text(path: &Path) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::read(path).map(|content| bytes = content)
    };
    read.context("cannot read the file")
        .and_then(|()| decode(bytes))
        .with_context(|| label(path))
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
        Some([0xef, 0xbb, 0xbf]) => Ok(String::from_utf8(bytes[3..].to_vec())?),
        _ => String::from_utf8(bytes).context("found binary data, expected text"),
    }
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
        let wide: Vec<u8> = "\u{feff}kind"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(decode(wide).unwrap(), "kind");
        assert_eq!(decode(b"\xef\xbb\xbfkind".to_vec()).unwrap(), "kind");
        assert!(decode(b"\xff\x00\x01".to_vec()).is_err());
    }
}
