//! Standard output, which may be a terminal.

use std::io::{self, Write};

use crate::view::screen::harmless;

/// Escapes control characters, which names in files and recordings may have. No command has to
/// think of it, because each writes through this one.
///
/// In JSON they become escape sequences, so that its values stay.
pub(super) struct HarmlessWriter<W> {
    inner: W,
    /// Whether the program paints its output. Otherwise all colours come from elsewhere.
    colours: bool,
}

impl<W: Write> HarmlessWriter<W> {
    pub(super) const fn new(inner: W, colours: bool) -> Self {
        HarmlessWriter { inner, colours }
    }
}

impl<W: Write> Write for HarmlessWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Pages are written whole, so that neither a character nor a colour is cut in two.
        match std::str::from_utf8(bytes) {
            Ok(text) => self.inner.write_all(harmless(text, self.colours).as_bytes())?,
            Err(_) => self.inner.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
