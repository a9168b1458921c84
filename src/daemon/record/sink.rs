//! Where the record goes: a file, standard output or an HTTP server.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::cluster::lock;
use crate::model::record::RecordLine;

use super::http_sink::HttpSink;
use super::sink_error::SinkError;

/// Where the lines go.
pub enum Sink {
    /// The end of this file. It is opened for each line, so that it may be moved away at any time,
    /// and each line is synced to the disk before it counts as written.
    File(PathBuf),
    /// Standard output, or a writer of a test.
    Output(Output),
    /// An HTTP server.
    Http(Box<HttpSink>),
}

/// A writer that is shared with the thread that writes.
pub type Output = Arc<Mutex<dyn Write + Send>>;

impl Sink {
    /// Returns the sink of a file. It is created if it does not exist.
    ///
    /// Returns an error if it cannot be written.
    pub fn file(path: &Path) -> Result<Self, SinkError> {
        open(path).map_err(|error| SinkError::Io(path.display().to_string(), error))?;
        Ok(Sink::File(path.to_owned()))
    }

    /// Returns standard output.
    pub fn standard_output() -> Self {
        Sink::Output(Arc::new(Mutex::new(io::stdout())))
    }

    pub(super) async fn write(&mut self, line: &RecordLine) -> Result<(), SinkError> {
        let text = format!("{}\n", line.json());
        match self {
            Sink::Http(http) => http.write(line).await,
            Sink::File(path) => {
                let (name, path) = (path.display().to_string(), path.clone());
                let opened = in_thread(move || open_at_line(&path)).await;
                let mut file = opened.map_err(|error| SinkError::Io(name.clone(), error))?;
                let written = in_thread(move || append(&mut file, &text)).await;
                written.map_err(|error| SinkError::Unfinished(name, error))
            }
            Sink::Output(output) => {
                let output = Arc::clone(output);
                let written = in_thread(move || print(&output, &text)).await;
                written.map_err(|error| SinkError::Unfinished("standard output".to_owned(), error))
            }
        }
    }
}

/// Runs a function that may wait for a disk or a reader.
async fn in_thread<T: Send + 'static>(
    write: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let written = tokio::task::spawn_blocking(write).await;
    written.unwrap_or_else(|error| Err(io::Error::other(error)))
}

fn print(output: &Output, text: &str) -> io::Result<()> {
    let mut output = lock(output);
    output.write_all(text.as_bytes())?;
    output.flush()
}

/// Opens a file whose next byte begins a line.
fn open_at_line(path: &Path) -> io::Result<File> {
    let mut file = open(path)?;
    if ends_within_a_line(&mut file)? {
        file.write_all(b"\n")?;
    }
    Ok(file)
}

fn append(file: &mut File, text: &str) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    // Pipes and devices cannot be synced.
    if file.metadata()?.is_file() {
        file.sync_data()?;
    }
    Ok(())
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).open(path)
}

/// Whether a crash or a full disk has cut the last line.
fn ends_within_a_line(file: &mut File) -> io::Result<bool> {
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::record::tests::fact;

    #[tokio::test]
    async fn a_line_that_a_crash_has_cut_does_not_spoil_the_next_one() {
        let path = std::env::temp_dir().join(format!("evenkeel-record-{}", std::process::id()));
        std::fs::write(&path, "{\"specversion\":\"1.0\",\"id").unwrap();
        let mut sink = Sink::file(&path).unwrap();
        let lines = [fact("u-1"), fact("u-2")].map(|fact| RecordLine::of(&fact, "s"));
        for line in &lines {
            sink.write(line).await.unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let read: Vec<_> = text.lines().map(RecordLine::parse).collect();
        assert!(read[0].is_err() && read.len() == 3, "{text}");
        assert_eq!(read[2].as_ref().unwrap(), &lines[1]);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_an_error_at_the_start() {
        let error = Sink::file(Path::new("/nowhere/record")).err().unwrap();
        assert!(error.to_string().starts_with("cannot write to /nowhere/record: "), "{error}");
    }
}
