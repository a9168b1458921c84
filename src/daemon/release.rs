//! The release of Kubernetes, by which the forecast chooses its formulas.

use std::time::Duration;

use tokio::time::{Instant, timeout};
use tracing::{info, warn};

use crate::cluster::failures::Request;
use crate::cluster::release;
use crate::decide::engine::Engine;
use crate::policy::KubernetesRelease;

use super::Daemon;

/// The time from one request to the next. An upgrade of the control plane takes longer.
const EVERY: Duration = Duration::from_secs(600);
/// The time that an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The known release of the cluster, and the time of the next request.
#[derive(Clone, Debug, Default)]
pub struct ReleaseCheck {
    /// Whether the command line names the release. Then the API server is not asked.
    given: bool,
    known: Option<KubernetesRelease>,
    due: Option<Instant>,
    warned: bool,
}

impl ReleaseCheck {
    /// Creates a check. It sends no requests if the command line names the release.
    pub fn new(given: Option<KubernetesRelease>) -> Self {
        ReleaseCheck { given: given.is_some(), ..ReleaseCheck::default() }
    }

    /// The release that the API server has named last.
    pub(super) const fn known(&self) -> Option<KubernetesRelease> {
        self.known
    }

    fn is_due(&self, now: Instant) -> bool {
        !self.given && self.due.is_none_or(|due| due <= now)
    }
}

impl Daemon {
    /// Asks the API server for its release if that is due. Without an answer, the last one counts.
    pub(super) async fn check_release(&mut self, engine: &mut Engine, now: Instant) {
        if !self.release.is_due(now) {
            return;
        }
        self.release.due = now.checked_add(EVERY);
        let asked = timeout(PATIENCE, release::read(self.cluster.client())).await;
        match asked.unwrap_or_else(|_| Err("no answer".to_owned())) {
            Ok(release) if self.release.known == Some(release) => {
                self.cluster.failures().works(Request::Release);
            }
            Ok(release) => {
                self.cluster.failures().works(Request::Release);
                self.release.known = Some(release);
                engine.set_release(release);
                tell(release);
            }
            Err(error) => {
                let failures = self.cluster.failures();
                failures.record(Request::Release, Err(&error));
                if std::mem::replace(&mut self.release.warned, true) {
                    return;
                }
                let assumed = engine.policy().scheduler.release;
                warn!(
                    "release of Kubernetes unknown, forecasts assume {assumed}: {error}; \
                     --kubernetes-version sets it"
                );
            }
        }
    }
}

fn tell(release: KubernetesRelease) {
    match release.warning() {
        None => info!("forecasts follow kube-scheduler {release}"),
        Some(warning) => warn!("{warning}"),
    }
}
