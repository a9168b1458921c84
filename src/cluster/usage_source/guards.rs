//! The guards of a policy, asked from its Prometheus.

use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};

use crate::model::guard::GuardReading;
use crate::policy::{Guard, Policy};

use super::from_prometheus;
use super::prometheus::Prometheus;
use super::prometheus::error::PrometheusError;

/// Asks the guards of a policy.
pub struct GuardSource {
    prometheus: Option<Prometheus>,
    guards: Vec<AskedGuard>,
    /// The age at which an answer counts no longer.
    stale_after: SignedDuration,
}

struct AskedGuard {
    rule: Guard,
    answered: Option<Timestamp>,
}

impl GuardSource {
    /// Creates the source. Sends no request.
    pub fn new(policy: &Policy) -> Self {
        let usage = &policy.usage;
        let prometheus = usage.prometheus.clone();
        let guards =
            policy.guards.iter().map(|rule| AskedGuard { rule: rule.clone(), answered: None });
        GuardSource {
            prometheus: prometheus.map(|p| Prometheus::new(p, usage)),
            guards: guards.collect(),
            stale_after: usage.stale_after,
        }
    }

    /// Returns true if the policy has no guards.
    pub const fn is_empty(&self) -> bool {
        self.guards.is_empty()
    }

    /// Asks every guard once. After a start or an outage the past is read too, so that `for` and
    /// `recover` hold as if the program had been there. `now` is the local time.
    pub async fn ask(&mut self, now: Timestamp) -> Vec<GuardReading> {
        let Some(prometheus) = &self.prometheus else {
            return Vec::new();
        };
        let stale_after = self.stale_after;
        let guards = self.guards.iter_mut();
        // All at once, so that a server that does not respond delays the loop by one deadline.
        join_all(guards.map(|guard| guard.ask(prometheus, stale_after, now))).await
    }
}

impl AskedGuard {
    async fn ask(
        &mut self,
        prometheus: &Prometheus,
        stale_after: SignedDuration,
        now: Timestamp,
    ) -> GuardReading {
        let is_recent = |at| now.duration_since(at) <= stale_after;
        let answers = if self.answered.is_some_and(is_recent) {
            let answer = prometheus.ask_guard(&self.rule, now).await;
            answer.map(|answer| vec![answer])
        } else {
            prometheus.ask_guard_since(&self.rule, now).await
        };
        if answers.is_ok() {
            self.answered = Some(now);
        }
        let text = |error: PrometheusError| from_prometheus(prometheus, error).to_string();
        GuardReading { guard: self.rule.name.clone(), answers: answers.map_err(text) }
    }
}
