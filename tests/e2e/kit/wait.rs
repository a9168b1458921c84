//! Waiting for facts, never for seconds: with a deadline, and a word on what was seen last.

use std::io::Write;
use std::time::Duration;

/// Looks again and again until there is something to see; fails after so many seconds.
pub async fn eventually<T>(
    what: &str,
    seconds: u64,
    mut look: impl AsyncFnMut() -> Result<T, String>,
) -> T {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(seconds);
    loop {
        match look().await {
            Ok(seen) => return seen,
            Err(last) if tokio::time::Instant::now() > deadline => {
                panic!("{seconds} s in vain for {what}: {last}")
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(250)).await,
        }
    }
}

/// A condition as something to look for.
pub fn that(holds: bool, otherwise: impl Into<String>) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}

/// Says a figure to whoever runs the suite, whether the test passes or not.
pub fn say(figure: &str) {
    // Not eprintln: the test harness would keep it to itself.
    std::io::stderr()
        .write_all(format!("      {figure}\n").as_bytes())
        .unwrap();
}

/// The time, as the programs under test read it.
#[expect(
    clippy::disallowed_methods,
    reason = "what is tried runs by the real clock"
)]
pub fn present() -> jiff::Timestamp {
    jiff::Timestamp::now()
}
