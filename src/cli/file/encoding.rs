//! The encodings of text files.

use anyhow::Context;

/// Decodes UTF-8, or UTF-16 with a byte order mark, which shells on Windows write.
pub(super) fn decode(bytes: Vec<u8>) -> anyhow::Result<String> {
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
