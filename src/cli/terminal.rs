//! Standard output, which may be a terminal.

use std::io::{self, Write};

use crate::view::screen::harmless;

/// Escapes control characters, which names in files and recordings may have. No command has to
/// think of it, because each writes through this one.
///
/// In JSON they become escape sequences, so that its values stay.
pub(super) struct HarmlessWriter<W>(W);

impl<W: Write> HarmlessWriter<W> {
    pub(super) const fn new(inner: W) -> Self {
        HarmlessWriter(inner)
    }
}

impl<W: Write> Write for HarmlessWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Pages are written whole, so that neither a character nor a colour is cut in two.
        match std::str::from_utf8(bytes) {
            Ok(text) => self.0.write_all(harmless(text).as_bytes())?,
            Err(_) => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
