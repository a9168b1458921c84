//! The local clock, and how far it differs from the clock of the API server.
//!
//! Creation times of pods come from the API server, and rests are counted by the local clock. If
//! the two differ, or the local clock is set during a run, pods would seem older and rests over.
//! Waits and periods within the program are therefore counted by the steady clock.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::HeaderMap;
use http::header::DATE;
use jiff::fmt::rfc2822::DateTimeParser;
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::values::HARMLESS_DIFFERENCE;

use super::lock;

/// A `Date` header has whole seconds.
const RESOLUTION: SignedDuration = SignedDuration::from_secs(1);

/// Returns the present time by the local clock.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the edge: everything below takes the time as an argument"
)]
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// The clock of the API server by the `Date` headers of its responses. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct ServerClock(Arc<Mutex<Option<ClockReading>>>);

/// How far the local clock is ahead of that of the API server, which is negative if it is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockDifference(pub SignedDuration);

impl fmt::Display for ClockDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = if self.0.is_negative() { "behind" } else { "ahead of" };
        let minutes = (self.0.as_secs().abs() + 30) / 60;
        let difference = SignedDuration::from_mins(minutes);
        write!(f, "the local clock is {difference:#} {side} that of the API server")
    }
}

impl ServerClock {
    /// Returns the difference of the clocks at this time if it is more than a minute for certain.
    /// `None` before the first response.
    pub fn difference(&self, now: LocalTime) -> Option<ClockDifference> {
        let reading = *lock(&self.0);
        reading?.difference(now)
    }

    /// Reads a date as if a response had had it now.
    #[cfg(test)]
    pub(crate) fn see(&self, date: Timestamp) {
        let mut headers = HeaderMap::new();
        let date =
            jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&date).unwrap();
        headers.insert(DATE, date.parse().unwrap());
        self.read(LocalTime::now(), &headers);
    }

    /// Reads the headers of the response to a request that was sent at this time.
    pub(super) fn read(&self, asked: LocalTime, headers: &HeaderMap) {
        if let Some(reading) = ClockReading::new(asked, headers, LocalTime::now()) {
            *lock(&self.0) = Some(reading);
        }
    }
}

/// A time by both local clocks. The steady one cannot be set, so it decides the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LocalTime {
    steady: Instant,
    wall: Timestamp,
}

impl LocalTime {
    /// The present.
    pub fn now() -> Self {
        LocalTime { wall: now(), steady: Instant::now() }
    }

    /// The time by the wall clock, to compare with times from elsewhere.
    pub const fn wall(self) -> Timestamp {
        self.wall
    }

    /// Returns how long ago this was by the steady clock.
    pub fn elapsed(self) -> SignedDuration {
        LocalTime::now().after(self)
    }

    /// Returns the time between an earlier time and this one by the steady clock; zero if the
    /// other one is later.
    pub fn after(self, earlier: LocalTime) -> SignedDuration {
        let steady = self.steady.duration_since(earlier.steady);
        SignedDuration::try_from(steady).unwrap_or(SignedDuration::MAX)
    }

    /// Returns the time before this one by this much.
    #[must_use]
    pub fn minus(self, period: Duration) -> Self {
        LocalTime {
            wall: self.wall - period,
            steady: self.steady.checked_sub(period).unwrap_or(self.steady),
        }
    }

    /// How far the wall clock was set ahead between another time and this one.
    fn step_since(self, earlier: LocalTime) -> SignedDuration {
        self.wall.duration_since(earlier.wall) - self.after(earlier)
    }
}

/// The bounds within which the local clock was ahead of the API server's at a response.
#[derive(Clone, Copy, Debug)]
struct ClockReading {
    least: SignedDuration,
    most: SignedDuration,
    at: LocalTime,
}

impl ClockReading {
    /// The server wrote the header between the request and the response. `None` if the header is
    /// missing or invalid, or if the local clock was set meanwhile.
    fn new(asked: LocalTime, headers: &HeaderMap, at: LocalTime) -> Option<Self> {
        if at.step_since(asked).abs() > RESOLUTION {
            return None;
        }
        let date = headers.get(DATE)?.to_str().ok()?;
        let date = DateTimeParser::new().parse_timestamp(date).ok()?;
        Some(ClockReading {
            least: asked.wall.duration_since(date) - RESOLUTION,
            most: at.wall.duration_since(date),
            at,
        })
    }

    fn difference(self, now: LocalTime) -> Option<ClockDifference> {
        let step = now.step_since(self.at);
        let (least, most) = (self.least + step, self.most + step);
        if least > HARMLESS_DIFFERENCE {
            Some(ClockDifference(least))
        } else if most < -HARMLESS_DIFFERENCE {
            Some(ClockDifference(most))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use jiff::fmt::rfc2822::DateTimePrinter;
    use tower::{Layer, Service};

    use super::super::request_metrics::{RequestMetrics, RequestObserver};
    use super::*;

    /// A local time: seconds after a date by the wall clock, and by the steady clock.
    fn local(start: Instant, wall: i64, steady: u64) -> LocalTime {
        let date: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
        LocalTime {
            wall: date + SignedDuration::from_secs(wall),
            steady: start + Duration::from_secs(steady),
        }
    }

    fn headers(date: &str) -> HeaderMap {
        HeaderMap::from_iter([(DATE, date.parse().unwrap())])
    }

    fn shown(reading: Option<ClockReading>, now: LocalTime) -> String {
        let difference = reading.unwrap().difference(now);
        difference.map_or("equal".to_owned(), |difference| difference.to_string())
    }

    #[test]
    fn a_wall_clock_that_is_set_changes_neither_order_nor_periods() {
        let start = Instant::now();
        let (before, set_back) = (local(start, 0, 0), local(start, -3600, 10));
        assert!(before < set_back);
        assert_eq!(set_back.after(before), SignedDuration::from_secs(10));
        assert_eq!(set_back.minus(Duration::from_secs(10)).after(before), SignedDuration::ZERO);
    }

    #[test]
    fn a_difference_of_more_than_a_minute_is_found_however_slow_the_response() {
        let start = Instant::now();
        let read = |wall: i64, took: u64| {
            let took_wall = i64::try_from(took).unwrap();
            let (asked, at) = (local(start, wall, 0), local(start, wall + took_wall, took));
            let headers = headers("Fri, 20 Nov 2026 12:00:00 GMT");
            shown(ClockReading::new(asked, &headers, at), at)
        };
        assert_eq!(read(0, 0), "equal");
        assert_eq!(read(-30, 300), "equal", "a slow response");
        assert_eq!(read(60, 0), "equal");
        assert_eq!(read(601, 1), "the local clock is 10m ahead of that of the API server");
        assert_eq!(read(-3601, 1), "the local clock is 1h behind that of the API server");
    }

    #[test]
    fn a_clock_that_is_set_is_noticed_before_the_next_response() {
        let start = Instant::now();
        let first = local(start, 0, 0);
        let reading = ClockReading::new(first, &headers("Fri, 20 Nov 2026 12:00:00 GMT"), first);
        assert_eq!(shown(reading, local(start, 500, 500)), "equal");
        assert_eq!(
            shown(reading, local(start, 4101, 500)),
            "the local clock is 1h ahead of that of the API server"
        );
        assert_eq!(
            shown(reading, local(start, -100, 500)),
            "the local clock is 10m behind that of the API server"
        );
    }

    #[tokio::test]
    async fn each_response_of_the_api_server_itself_is_read() {
        let clock = ServerClock::default();
        let server = tower::service_fn(async |date: Request<&'static str>| {
            let response = Response::builder().header(DATE, *date.body());
            response.body(())
        });
        let observer = RequestObserver { metrics: RequestMetrics::default(), clock: clock.clone() };
        let mut client = observer.layer(server);
        let mut read = async |path, date| {
            client.call(Request::get(path).body(date).unwrap()).await.unwrap();
            clock.difference(LocalTime::now()).map(|difference| difference.0.is_negative())
        };
        let (past, future) = ("Fri, 20 Nov 2020 12:00:00 GMT", "Wed, 20 Nov 2120 12:00:00 GMT");
        assert_eq!(read("/api/v1/pods", past).await, Some(false));
        assert_eq!(read("/api/v1/pods", future).await, Some(true));
        let now = DateTimePrinter::new().timestamp_to_rfc9110_string(&now()).unwrap();
        assert_eq!(read("/api/v1/pods", now.leak()).await, None);
        assert_eq!(read("/apis/metrics.k8s.io/v1beta1/pods", past).await, None, "metrics-server");
    }

    #[test]
    fn without_a_valid_date_nothing_is_known() {
        let start = Instant::now();
        let at = local(start, 0, 0);
        assert!(ClockReading::new(at, &HeaderMap::new(), at).is_none());
        assert!(ClockReading::new(at, &headers("yesterday"), at).is_none());
        let set = local(start, 3600, 1);
        let headers = headers("Fri, 20 Nov 2026 12:00:00 GMT");
        assert!(ClockReading::new(at, &headers, set).is_none(), "set meanwhile");
        assert!(ServerClock::default().difference(LocalTime::now()).is_none());
    }
}
