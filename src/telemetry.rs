//! Telemetry of the running program: probes, metrics, traces and the status page.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use jiff::SignedDuration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::cluster::failures::Failures;
use crate::cluster::lock;
use crate::view::status::LoopHealth;

use connections::Port;
use metrics::{Metrics, TEXT_FORMAT};

pub mod connections;
pub mod metrics;
pub mod status;
pub mod tls;
pub mod traces;

/// The loop counts as stuck when it is this late.
const STUCK: SignedDuration = SignedDuration::from_mins(2);

/// State that the probes report. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Health {
    pulse: Arc<Mutex<Pulse>>,
    failures: Failures,
}

#[derive(Clone, Debug, Default)]
struct Pulse {
    /// Time by which the loop should run again.
    due: Option<Instant>,
    /// Reason why the loop cannot decide; `None` if it can.
    waiting_for: Option<String>,
    /// Whether the loop was able to decide at least once.
    started: bool,
    /// Whether another instance decides instead.
    standby: bool,
}

impl Health {
    /// Creates the state, with the requests that keep failing.
    pub fn new(failures: &Failures) -> Self {
        Health { failures: failures.clone(), ..Health::default() }
    }

    /// Records that the loop runs, and when it is due again.
    pub fn beat(&self, due: Instant) {
        self.with(|pulse| pulse.due = Some(due));
    }

    /// Records that the loop can decide.
    pub fn ready(&self) {
        self.with(|pulse| *pulse = Pulse { started: true, due: pulse.due, ..Pulse::default() });
    }

    /// Records that the loop could decide, but another instance leads.
    pub fn standby(&self) {
        self.with(|pulse| {
            *pulse = Pulse { started: true, due: pulse.due, standby: true, ..Pulse::default() }
        });
    }

    /// Records why the loop cannot decide.
    pub fn waiting(&self, what: impl Into<String>) {
        let what = what.into();
        self.with(|pulse| pulse.waiting_for = Some(what));
    }

    fn with<T>(&self, f: impl FnOnce(&mut Pulse) -> T) -> T {
        f(&mut lock(&self.pulse))
    }

    /// Returns the condition of the loop for the status page.
    fn of_loop(&self) -> LoopHealth {
        LoopHealth {
            overdue: self.overdue(),
            waiting_for: self.with(|pulse| pulse.waiting_for.clone()),
            failures: self.failures.lasting(),
        }
    }

    /// Returns how late the loop is, if it counts as stuck.
    fn overdue(&self) -> Option<SignedDuration> {
        // No due time means that the loop has not begun. Waiting for the first lists is not stuck.
        let due = self.with(|pulse| pulse.due)?;
        let seconds = i64::try_from(due.elapsed().as_secs()).unwrap_or(i64::MAX);
        let late = SignedDuration::from_secs(seconds);
        Some(late).filter(|late| *late > STUCK)
    }

    #[cfg(test)]
    pub(crate) fn is_stuck(&self) -> bool {
        self.overdue().is_some()
    }

    fn live(&self) -> (StatusCode, String) {
        match self.overdue() {
            Some(late) => {
                (StatusCode::SERVICE_UNAVAILABLE, format!("stuck: overdue for {late:#}\n"))
            }
            None => (StatusCode::OK, "ok\n".to_owned()),
        }
    }

    fn readiness(&self) -> (StatusCode, String) {
        let pulse = self.with(|pulse| pulse.clone());
        match pulse.waiting_for {
            Some(what) => (StatusCode::SERVICE_UNAVAILABLE, format!("waiting: {what}\n")),
            // A standby is ready: the rollout of a Deployment with several replicas would hang
            // otherwise.
            None if pulse.standby => (StatusCode::OK, "ok, standby\n".to_owned()),
            None if pulse.started => (StatusCode::OK, "ok\n".to_owned()),
            None => (StatusCode::SERVICE_UNAVAILABLE, "starting\n".to_owned()),
        }
    }
}

/// Index of the paths.
const INDEX: &str = concat!(
    "evenkeel ",
    env!("CARGO_PKG_VERSION"),
    "\n/healthz  liveness\n/readyz   readiness\n/metrics  Prometheus metrics\n\
    The status page has its own address, by default http://127.0.0.1:8081/ (--status-listen).\n"
);

/// Serves `/healthz`, `/readyz` and `/metrics` until `stop` is cancelled.
pub async fn serve(
    port: impl Into<Port>,
    health: Health,
    metrics: Metrics,
    stop: CancellationToken,
) -> std::io::Result<()> {
    let scrape = async move || ([(CONTENT_TYPE, TEXT_FORMAT)], metrics.text());
    let router = Router::new()
        .route("/", get(async || INDEX))
        .route("/metrics", get(scrape))
        .route("/healthz", get(async |State(health): State<Health>| health.live()))
        .route("/readyz", get(async |State(health): State<Health>| health.readiness()))
        .with_state(health);
    connections::serve(port.into(), router, stop).await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_program_is_ready_while_it_can_decide() {
        let health = Health::default();
        assert_eq!(health.readiness().0, StatusCode::SERVICE_UNAVAILABLE);
        health.ready();
        assert_eq!(health.readiness(), (StatusCode::OK, "ok\n".to_owned()));
        health.standby();
        assert_eq!(health.readiness(), (StatusCode::OK, "ok, standby\n".to_owned()));
        health.waiting("the watch of pods");
        assert_eq!(
            health.readiness(),
            (StatusCode::SERVICE_UNAVAILABLE, "waiting: the watch of pods\n".to_owned())
        );
    }

    #[tokio::test(start_paused = true)]
    async fn liveness_fails_when_the_loop_is_long_overdue() {
        let health = Health::default();
        assert_eq!(health.live().0, StatusCode::OK, "no due time yet");
        health.beat(Instant::now() + Duration::from_secs(60));
        tokio::time::advance(Duration::from_secs(60 + 119)).await;
        assert_eq!(health.live().0, StatusCode::OK);
        tokio::time::advance(Duration::from_secs(2)).await;
        let (status, text) = health.live();
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(text, "stuck: overdue for 2m 1s\n");
    }
}
