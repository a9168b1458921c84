//! Usage as it comes in: from the first source, or while that is stale from the one that stands in for it.

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use tracing::{info, warn};

use crate::cluster::usage_source::{Source, SourceError};
use crate::daemon::telemetry::metrics::Metrics;
use crate::daemon::telemetry::status;
use crate::model::snapshot::node_addresses::NodeAddresses;
use crate::model::usage::Readings;
use crate::policy::{SourceKind, UsagePolicy};

/// The sources, and how they are doing.
pub struct Feed {
    first: Line,
    fallback: Option<Line>,
    stale_after: SignedDuration,
    /// From when on a gap between two reads is filled.
    gap: SignedDuration,
    standing: Standing,
}

/// Which source decisions are made by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// None has been read yet.
    #[default]
    Waiting,
    /// This one is fresh.
    By(SourceKind),
    /// Every one is stale.
    Stale,
}

/// One source, and what became of it lately.
struct Line {
    source: Source,
    read: Option<Timestamp>,
    /// The newest sample of a node that it has told.
    newest: Option<Timestamp>,
    /// Why it could not be read last time: the kind of trouble, and a sentence.
    error: Option<(&'static str, String)>,
}

/// What a look has shown.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// What was used before, where the source remembers it and we do not.
    pub(super) past: Vec<(Timestamp, Readings)>,
    pub(super) readings: Readings,
}

impl Feed {
    /// The sources of a policy. Nothing is asked yet.
    pub fn new(usage: &UsagePolicy, client: &Client) -> Self {
        let line = |source| Line {
            source,
            read: None,
            newest: None,
            error: None,
        };
        Feed {
            first: line(Source::first(usage, client)),
            fallback: Source::fallback(usage, client).map(line),
            stale_after: usage.stale_after,
            gap: usage.poll.saturating_mul(2),
            standing: Standing::Waiting,
        }
    }

    /// Which source decisions are made by.
    pub const fn standing(&self) -> Standing {
        self.standing
    }

    /// How the sources are doing, for people.
    pub(super) fn told(&self) -> Vec<status::facts::SourceStatus> {
        let told = |line: &Line| status::facts::SourceStatus {
            name: line.name(),
            in_use: self.standing == Standing::By(line.source.kind()),
            read: line.read,
            newest_sample: line.newest,
            error: line.error.as_ref().map(|(_, said)| said.clone()),
        };
        std::iter::once(&self.first)
            .chain(&self.fallback)
            .map(told)
            .collect()
    }

    /// Why nothing is known of usage now; `None` where a source is fresh.
    pub(super) fn blind(&self) -> Option<String> {
        if matches!(self.standing, Standing::By(_)) {
            return None;
        }
        let why = self
            .trouble()
            .map_or("its newest sample is too old", |(_, said)| said);
        Some(format!("{}: {why}", self.first.name()))
    }

    /// The source that decisions are made by, if any is fresh.
    pub(super) const fn used(&self) -> Option<&'static str> {
        if let Standing::By(kind) = self.standing {
            Some(kind.label())
        } else {
            None
        }
    }

    /// Why the first source could not be read last time: the kind of trouble, and a sentence.
    pub(super) fn trouble(&self) -> Option<(&'static str, &str)> {
        self.first
            .error
            .as_ref()
            .map(|(kind, said)| (*kind, said.as_str()))
    }

    /// Looks once. The fallback is asked only while the first has nothing that is fresh.
    pub(super) async fn look(
        &mut self,
        node_addresses: &NodeAddresses,
        metrics: &Metrics,
        now: Timestamp,
    ) -> Option<Look> {
        let mut look = self
            .first
            .look(node_addresses, metrics, self.gap, now)
            .await;
        let mut used = self
            .first
            .is_fresh(self.stale_after, now)
            .then(|| self.first.source.kind());
        if let Some(fallback) = self.fallback.as_mut().filter(|_| used.is_none()) {
            let second = fallback.look(node_addresses, metrics, self.gap, now).await;
            if fallback.is_fresh(self.stale_after, now) {
                used = Some(fallback.source.kind());
                look = second.or(look);
            }
        }
        self.stand(used.map_or(Standing::Stale, Standing::By), metrics);
        look
    }

    /// Tells which source is in use, whenever that is another.
    fn stand(&mut self, standing: Standing, metrics: &Metrics) {
        let kinds = std::iter::once(&self.first)
            .chain(&self.fallback)
            .map(Line::name);
        let used = if let Standing::By(kind) = standing {
            Some(kind.label())
        } else {
            None
        };
        metrics.source_in_use(used, kinds);
        let before = std::mem::replace(&mut self.standing, standing);
        if before == standing {
            return;
        }
        let first = self.first.source.kind();
        match standing {
            Standing::By(kind) if kind != first => {
                warn!(
                    source = kind.label(),
                    "usage is read from {} while {} is stale",
                    kind.label(),
                    first.label()
                );
            }
            Standing::By(kind) if before != Standing::Waiting => {
                info!(
                    source = kind.label(),
                    "usage is read from {} again",
                    kind.label()
                );
            }
            Standing::By(kind) => {
                info!(source = kind.label(), "usage is read from {}", kind.label())
            }
            Standing::Waiting | Standing::Stale => {
                warn!(
                    "no source of usage is fresh; nodes become unknown, and unknown nodes are left alone"
                );
            }
        }
    }
}

impl Line {
    const fn name(&self) -> &'static str {
        self.source.kind().label()
    }

    /// Whether a sample of some node is fresh. A source that fails for a moment is still the one in use.
    fn is_fresh(&self, stale_after: SignedDuration, now: Timestamp) -> bool {
        self.newest
            .is_some_and(|at| now.duration_since(at) <= stale_after)
    }

    async fn look(
        &mut self,
        node_addresses: &NodeAddresses,
        metrics: &Metrics,
        gap: SignedDuration,
        now: Timestamp,
    ) -> Option<Look> {
        match self.read(node_addresses, gap, now).await {
            Ok(look) => {
                let newest = look.readings.nodes.values().map(|s| s.at).max();
                metrics.source_read(self.name(), now, newest, look.readings.skipped.len());
                (self.read, self.newest) = (Some(now), newest.max(self.newest));
                if self.error.take().is_some() {
                    info!(source = self.name(), "{} answers again", self.name());
                }
                Some(look)
            }
            Err(error) => {
                metrics.source_failed(self.name(), error.kind());
                let said = error.to_string();
                if self
                    .error
                    .as_ref()
                    .is_none_or(|(_, before)| *before != said)
                {
                    warn!(
                        source = self.name(),
                        kind = error.kind(),
                        "usage cannot be read: {said}"
                    );
                }
                self.error = Some((error.kind(), said));
                None
            }
        }
    }

    /// What it tells now, and after a restart or an outage what it has to tell of the time before.
    async fn read(
        &self,
        node_addresses: &NodeAddresses,
        gap: SignedDuration,
        now: Timestamp,
    ) -> Result<Look, SourceError> {
        let readings = self.source.read(node_addresses).await?;
        if self.read.is_some_and(|at| now.duration_since(at) <= gap) {
            return Ok(Look {
                past: Vec::new(),
                readings,
            });
        }
        // Without its past, the window fills by itself.
        let past = self
            .source
            .read_past(node_addresses, self.read)
            .await
            .unwrap_or_else(|error| {
                warn!(
                    source = self.name(),
                    "what was used before cannot be read, so the window fills anew: {error}"
                );
                Vec::new()
            });
        if !past.is_empty() {
            info!(
                source = self.name(),
                readings = past.len(),
                "usage of the time before was read"
            );
        }
        Ok(Look { past, readings })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::cluster::client::tests::fake;
    use crate::cluster::usage_source::prometheus::tests::{
        NOW, healthy, node_addresses, router, serve, usage,
    };
    use crate::daemon::telemetry::metrics::Form;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// metrics.k8s.io that tells of one node, measured at this time.
    async fn metrics_api(second: i64) -> Client {
        let item = move || {
            let usage = r#""usage": {"cpu": "1", "memory": "1Ki"}"#;
            format!(
                r#"{{"items": [{{"metadata": {{"name": "n1"}}, "timestamp": "{}", {usage}}}]}}"#,
                at(second)
            )
        };
        let (client, _) = fake(move |_, uri, _| {
            (
                200,
                if uri.ends_with("nodes") {
                    item()
                } else {
                    r#"{"items": []}"#.to_owned()
                },
            )
        })
        .await;
        client
    }

    #[tokio::test]
    async fn the_fallback_stands_in_while_the_first_is_stale_and_no_longer() {
        let there = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&there);
        let answer = move |query: &str| {
            if told.load(Ordering::Relaxed) {
                healthy(query)
            } else {
                (500, "text/plain", String::new())
            }
        };
        let mut rules = usage(&serve(router(answer).0).await, "");
        rules.fallback = Some(SourceKind::MetricsApi);
        let (client, metrics) = (metrics_api(NOW).await, Metrics::default());
        let mut feed = Feed::new(&rules, &client);
        let mut standing = Vec::new();
        // The healthy Prometheus tells of samples of seven seconds before NOW.
        for (second, up) in [
            (0, false),
            (1, true),
            (2, false),
            (80, false),
            (85, false),
            (86, true),
            (300, true),
        ] {
            there.store(up, Ordering::Relaxed);
            feed.look(&node_addresses(), &metrics, at(NOW + second))
                .await;
            standing.push(feed.standing());
        }
        let (first, second) = (
            Standing::By(SourceKind::Prometheus),
            Standing::By(SourceKind::MetricsApi),
        );
        assert_eq!(
            standing,
            [second, first, first, first, second, second, Standing::Stale]
        );
        let text = metrics.text(Form::Classic);
        assert!(
            text.contains(
                "evenkeel_source_errors_total{source=\"prometheus\",kind=\"broken\"} 4\n"
            ),
            "{text}"
        );
        assert!(
            text.contains("evenkeel_source_in_use{source=\"prometheus\"} 0\n"),
            "{text}"
        );
        assert_eq!(
            feed.blind().unwrap(),
            "prometheus: its newest sample is too old"
        );
    }

    #[tokio::test]
    async fn the_past_is_read_at_the_start_and_after_a_gap() {
        let (router, asked) = router(healthy);
        let rules = usage(&serve(router).await, "");
        let mut feed = Feed::new(&rules, &metrics_api(NOW).await);
        let mut ranges = Vec::new();
        for second in [0, 15, 30, 90] {
            feed.look(&node_addresses(), &Metrics::default(), at(NOW + second))
                .await
                .unwrap();
            ranges.push(
                asked
                    .lock()
                    .unwrap()
                    .iter()
                    .filter(|a| a.path == "/api/v1/query_range")
                    .count(),
            );
        }
        assert_eq!(ranges, [6, 6, 6, 12]);
    }
}
