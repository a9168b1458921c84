//! The wall clock of a process, set by libfaketime. The steady clock stays right.

use std::path::{Path, PathBuf};

use super::control_plane::ControlPlane;

const LIBRARY: &str = "faketime/libfaketimeMT.so.1";

/// Sets the clock of an instance ahead by these seconds, and returns the file that says so.
pub fn set(control_plane: &ControlPlane, instance: usize, seconds: i64) -> PathBuf {
    // The process must never read half a file.
    let new = control_plane.write("clock-new", &format!("{seconds:+}"));
    let file = new.with_file_name(format!("clock-{instance}"));
    std::fs::rename(new, &file).unwrap();
    file
}

/// The environment of a process whose clock follows such a file.
pub fn environment(file: &Path) -> [(&'static str, PathBuf); 5] {
    let folders = std::fs::read_dir("/usr/lib").unwrap();
    let mut libraries = folders.map(|folder| folder.unwrap().path().join(LIBRARY));
    let library = libraries.find(|path| path.exists());
    let yes = || PathBuf::from("1");
    [
        (
            "LD_PRELOAD",
            library.expect("libfaketime; .ci/run installs it"),
        ),
        ("FAKETIME_TIMESTAMP_FILE", file.to_owned()),
        ("FAKETIME_NO_CACHE", yes()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", yes()),
        ("NO_FAKE_STAT", yes()),
    ]
}
