//! Reads files with a token or a password. They are read for every request, because they may be
//! replaced at any time.

use std::path::Path;

/// Returns the text of a file with one line, without the space around it.
///
/// # Errors
/// The reason why the file cannot be used, without any of its text.
pub fn read(file: &Path) -> Result<String, String> {
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let text = text.trim();
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    if text.contains(char::is_control) {
        return Err("it contains more than one line".to_owned());
    }
    Ok(text.to_owned())
}
