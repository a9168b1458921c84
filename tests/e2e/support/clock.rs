//! The wall clock of a process, set by libfaketime. The steady clock stays right.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

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

/// Sets the clock of an instance ahead by an hour and back, again and again for this long, so that
/// it is set between any two steps of a cycle. It is right at the end.
pub async fn jump(control_plane: &ControlPlane, instance: usize, period: Duration) {
    let start = Instant::now();
    while start.elapsed() < period {
        set(control_plane, instance, 3600);
        set(control_plane, instance, 0);
        tokio::time::sleep(Duration::from_micros(100)).await;
    }
}

/// The environment of a process whose clock follows such a file.
pub fn environment(file: &Path) -> [(&'static str, PathBuf); 5] {
    let folders = std::fs::read_dir("/usr/lib").unwrap();
    let mut libraries = folders.map(|folder| folder.unwrap().path().join(LIBRARY));
    let library = libraries.find(|path| path.exists());
    let yes = || PathBuf::from("1");
    [
        ("LD_PRELOAD", library.expect("libfaketime; .ci/run installs it")),
        ("FAKETIME_TIMESTAMP_FILE", file.to_owned()),
        ("FAKETIME_NO_CACHE", yes()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", yes()),
        ("NO_FAKE_STAT", yes()),
    ]
}
