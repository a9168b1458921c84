//! Text files and standard input.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

use crate::files::cluster_file::{self, ClusterFile};

/// The path as the user wrote it, or `standard input` for `-`.
pub(super) fn label(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// Reads the text of a file or of standard input, in UTF-8 or UTF-16.
pub(super) fn text(path: &Path) -> anyhow::Result<String> {
    static READS_STDIN: AtomicBool = AtomicBool::new(false);
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        // A second one would find nothing.
        if READS_STDIN.swap(true, Ordering::Relaxed) {
            anyhow::bail!("found - twice, expected a file: standard input can be read only once");
        }
        std::io::stdin().lock().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::read(path).map(|content| bytes = content)
    };
    read.context("cannot read the file").and_then(|()| decode(bytes)).with_context(|| label(path))
}

/// A file that is written as a whole: an earlier one stays as it is until the new one is complete.
pub(super) struct WholeFile {
    path: PathBuf,
    /// The incomplete file beside it; `None` for what is no file, such as `/dev/stdout`.
    partial: Option<PathBuf>,
}

impl WholeFile {
    /// Checks that the file can be written, before work of which the result would be lost.
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(found) if !found.is_file() => {
                return Ok(WholeFile { path: path.to_owned(), partial: None });
            }
            Ok(_) | Err(_) => {}
        }
        // The target of a link is replaced, and not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut partial = path.clone().into_os_string();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        File::create(&partial).and_then(|_| fs::remove_file(&partial))?;
        Ok(WholeFile { path, partial: Some(partial) })
    }

    /// Writes the file. If only its old place cannot be taken, the incomplete file stays.
    pub(super) fn write(
        &self,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let target = self.partial.as_ref().unwrap_or(&self.path);
        let written = File::create(target).and_then(|file| {
            let mut file = BufWriter::new(file);
            content(&mut file)?;
            file.flush()
        });
        let Some(partial) = &self.partial else {
            return Ok(written?);
        };
        if written.is_err() {
            let _ = fs::remove_file(partial);
        }
        written?;
        if let Ok(earlier) = fs::metadata(&self.path) {
            fs::set_permissions(partial, earlier.permissions())?;
        }
        let replaced = fs::rename(partial, &self.path);
        replaced.with_context(|| format!("the new file is {}", partial.display()))
    }
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
    fn a_file_that_cannot_be_written_completely_stays_as_it_was() {
        let folder = std::env::temp_dir().join(format!("evenkeel-file-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("c.json");
        let whole = WholeFile::new(&path).unwrap();
        assert!(fs::read_dir(&folder).unwrap().next().is_none(), "only its folder is checked");
        whole.write(|out| out.write_all(b"first")).unwrap();
        let full = |out: &mut dyn Write| {
            out.write_all(b"half of the sec")?;
            Err(io::ErrorKind::StorageFull.into())
        };
        WholeFile::new(&path).unwrap().write(full).unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "the incomplete file is gone");
        WholeFile::new(&path).unwrap().write(|out| out.write_all(b"second")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_that_does_not_exist_is_found_before_anything_is_written() {
        assert!(WholeFile::new(Path::new("/no-such-folder/c.json")).is_err());
        assert!(WholeFile::new(&std::env::temp_dir()).is_err(), "a folder");
        WholeFile::new(Path::new("/dev/null")).unwrap().write(|out| out.write_all(b"a")).unwrap();
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
