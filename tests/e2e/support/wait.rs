//! Waits for conditions, each with a deadline.

use std::io::Write;
use std::time::Duration;

/// How often a condition is checked. Most checks ask the API server, which costs more CPU than the
/// program under test.
const POLL: Duration = Duration::from_millis(500);

/// How many times as long as named a condition may take. The times are those of a machine with
/// little else to do, and CI compiles beside the tests.
const PATIENCE: u32 = 3;

/// Checks until the result is `Ok`. Panics after [`PATIENCE`] times `seconds`, with the last error.
pub async fn eventually<T>(
    what: &str,
    seconds: u64,
    mut look: impl AsyncFnMut() -> Result<T, String>,
) -> T {
    let deadline = tokio::time::Instant::now() + PATIENCE * Duration::from_secs(seconds);
    loop {
        match look().await {
            Ok(seen) => return seen,
            Err(last) if tokio::time::Instant::now() > deadline => {
                panic!("no {what} within {PATIENCE} times {seconds} s: {last}")
            }
            Err(_) => tokio::time::sleep(POLL).await,
        }
    }
}

/// `Ok` if the condition holds, otherwise this error.
pub fn that(holds: bool, otherwise: impl Into<String>) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}

/// Prints a line whether the test passes or not.
pub fn say(figure: &str) {
    // The test harness captures `eprintln!`.
    std::io::stderr().write_all(format!("      {figure}\n").as_bytes()).unwrap();
}

/// The current time, by the clock that the programs under test read.
#[expect(clippy::disallowed_methods, reason = "the programs under test read the real clock")]
pub fn present() -> jiff::Timestamp {
    jiff::Timestamp::now()
}
