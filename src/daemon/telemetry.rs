//! What the running program says of itself: whether it is alive, whether it is ready, and its metrics.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use axum::serve::Listener;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use metrics::{Form, Metrics};

pub mod metrics;
pub mod status;
pub mod tls;
pub mod traces;

/// The loop is taken for stuck when it has not come round for this long, beyond the time that it meant to wait.
const STUCK: SignedDuration = SignedDuration::from_mins(2);

/// The state that probes look at; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<Mutex<Pulse>>);

#[derive(Clone, Debug, Default)]
struct Pulse {
    /// When the loop means to come round again at the latest.
    due: Option<Timestamp>,
    /// Why it cannot decide; `None` when it can.
    waiting_for: Option<String>,
    /// Whether it has ever been able to decide.
    started: bool,
    /// Whether another instance decides in its stead.
    standby: bool,
}

impl Health {
    /// The loop comes round, and means to be back by then.
    pub fn beat(&self, due: Timestamp) {
        self.with(|pulse| pulse.due = Some(due));
    }

    /// It can decide.
    pub fn ready(&self) {
        self.with(|pulse| {
            *pulse = Pulse {
                started: true,
                due: pulse.due,
                ..Pulse::default()
            }
        });
    }

    /// It could decide, and another instance does.
    pub fn standby(&self) {
        self.with(|pulse| {
            *pulse = Pulse {
                started: true,
                due: pulse.due,
                standby: true,
                ..Pulse::default()
            }
        });
    }

    /// It cannot decide, and why.
    pub fn waiting(&self, what: impl Into<String>) {
        let what = what.into();
        self.with(|pulse| pulse.waiting_for = Some(what));
    }

    fn with<T>(&self, f: impl FnOnce(&mut Pulse) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Why it cannot decide; `None` when it can, or has not tried yet.
    fn waiting_for(&self) -> Option<String> {
        self.with(|pulse| pulse.waiting_for.clone())
    }

    /// For how long it should have come round, if it is taken for stuck.
    fn overdue(&self, now: Timestamp) -> Option<SignedDuration> {
        let due = self.with(|pulse| pulse.due)?;
        Some(now.duration_since(due)).filter(|late| *late > STUCK)
    }

    fn live(&self, now: Timestamp) -> (StatusCode, String) {
        match self.overdue(now) {
            Some(late) => (
                StatusCode::SERVICE_UNAVAILABLE,
                format!("stuck: overdue for {late:#}\n"),
            ),
            None => (StatusCode::OK, "ok\n".to_owned()),
        }
    }

    fn readiness(&self) -> (StatusCode, String) {
        let pulse = self.with(|pulse| pulse.clone());
        match pulse.waiting_for {
            Some(what) => (
                StatusCode::SERVICE_UNAVAILABLE,
                format!("waiting: {what}\n"),
            ),
            None if pulse.standby => (StatusCode::OK, "ok, standby\n".to_owned()),
            None if pulse.started => (StatusCode::OK, "ok\n".to_owned()),
            None => (StatusCode::SERVICE_UNAVAILABLE, "starting\n".to_owned()),
        }
    }
}

/// What is where.
const PLACES: &str = concat!(
    "evenkeel ",
    env!("CARGO_PKG_VERSION"),
    "\n/healthz  whether it is alive\n/readyz   whether it can decide\n/metrics  for Prometheus\n\
    The status page has an address of its own, by default http://127.0.0.1:8081/ (--status-listen).\n"
);

/// Serves `/healthz`, `/readyz` and `/metrics` until told to stop.
pub async fn serve<L>(
    listener: L,
    health: Health,
    metrics: Metrics,
    stop: CancellationToken,
) -> std::io::Result<()>
where
    L: Listener,
    L::Addr: std::fmt::Debug,
{
    let scraped = async move |headers: HeaderMap| {
        let accept = headers
            .get(ACCEPT)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let form = Form::accepted(accept);
        ([(CONTENT_TYPE, form.content_type())], metrics.text(form))
    };
    let router = Router::new()
        .route("/", get(async || PLACES))
        .route("/metrics", get(scraped))
        .route(
            "/healthz",
            get(async |State(health): State<Health>| health.live(clock())),
        )
        .route(
            "/readyz",
            get(async |State(health): State<Health>| health.readiness()),
        )
        .with_state(health);
    let server =
        axum::serve(listener, router).with_graceful_shutdown(stop.clone().cancelled_owned());
    tokio::select! {
        done = server => done,
        // A probe that holds its connection open must not hold us.
        () = async { stop.cancelled().await; tokio::time::sleep(Duration::from_secs(1)).await } => Ok(()),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the edge, where time is read"
)]
fn clock() -> Timestamp {
    Timestamp::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_ready_once_it_can_decide_and_for_as_long() {
        let health = Health::default();
        assert_eq!(health.readiness().0, StatusCode::SERVICE_UNAVAILABLE);
        health.ready();
        assert_eq!(health.readiness(), (StatusCode::OK, "ok\n".to_owned()));
        health.standby();
        assert_eq!(
            health.readiness(),
            (StatusCode::OK, "ok, standby\n".to_owned())
        );
        health.waiting("the watch of pods");
        assert_eq!(
            health.readiness(),
            (
                StatusCode::SERVICE_UNAVAILABLE,
                "waiting: the watch of pods\n".to_owned()
            )
        );
    }

    #[test]
    fn it_is_dead_when_the_loop_is_long_overdue() {
        let health = Health::default();
        let due: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        assert_eq!(
            health.live(due).0,
            StatusCode::OK,
            "nothing was promised yet"
        );
        health.beat(due);
        assert_eq!(
            health.live(due + SignedDuration::from_secs(119)).0,
            StatusCode::OK
        );
        assert_eq!(
            health.live(due + SignedDuration::from_secs(121)).0,
            StatusCode::SERVICE_UNAVAILABLE
        );
    }
}
