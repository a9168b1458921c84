//! The program, run on temporary files.

use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// Runs the program in the folder of the repository.
pub(crate) fn program(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).output().unwrap()
}

/// Returns what the program prints, or its errors if it prints nothing.
pub(crate) fn printed(arguments: &[&str]) -> String {
    let output = program(arguments);
    let bytes = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    String::from_utf8(bytes).unwrap()
}

/// Writes a temporary file and returns its path.
pub(crate) fn temporary(text: &str) -> String {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let path = format!("{}/file-{}-{number}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    std::fs::write(&path, text).unwrap();
    path
}
