//! Polls of usage: from the first source, or from the fallback while the first is stale.

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use tracing::{info, warn};

use crate::cluster::failures::{Failures, Request};
use crate::cluster::usage_source::{Source, SourceError};
use crate::model::snapshot::node_addresses::NodeAddresses;
use crate::model::usage::Readings;
use crate::policy::{SourceKind, UsagePolicy};
use crate::telemetry::metrics::Metrics;
use crate::view::status::facts::SourceStatus;

/// Polls the usage sources of a policy.
pub struct UsagePoller {
    first: PolledSource,
    fallback: Option<PolledSource>,
    stale_after: SignedDuration,
    /// Longest time between two reads whose gap is not filled from the source's history.
    gap: SignedDuration,
    active: ActiveSource,
}

/// The source that decisions are based on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ActiveSource {
    /// No source has been read yet.
    #[default]
    NotRead,
    /// This source is fresh.
    Fresh(SourceKind),
    /// Every source is stale.
    Stale,
}

/// A source and the result of its newest read.
struct PolledSource {
    source: Source,
    read: Option<Timestamp>,
    /// Time of the newest sample of a node.
    newest: Option<Timestamp>,
    /// Error of the last read: its kind and its message.
    error: Option<(&'static str, String)>,
    /// The remark that has been logged.
    remark: Option<&'static str>,
}

/// Result of one poll.
#[derive(Debug, Default)]
pub(super) struct Poll {
    pub(super) readings: Readings,
    /// The earlier usage that was missed, after a start or an outage.
    pub(super) missed: Option<MissedUsage>,
}

/// Usage that a source may know from before.
#[derive(Debug)]
pub(super) struct MissedUsage {
    source: SourceKind,
    since: Option<Timestamp>,
}

impl UsagePoller {
    /// Creates the sources of a policy. Sends no request.
    pub fn new(usage: &UsagePolicy, client: &Client) -> Self {
        let polled =
            |source| PolledSource { source, read: None, newest: None, error: None, remark: None };
        UsagePoller {
            first: polled(Source::first(usage, client)),
            fallback: Source::fallback(usage, client).map(polled),
            stale_after: usage.stale_after,
            // One failed poll leaves enough samples. After two, history is worth a query.
            gap: usage.poll.saturating_mul(2),
            active: ActiveSource::NotRead,
        }
    }

    /// Returns the source that decisions are based on.
    pub const fn active(&self) -> ActiveSource {
        self.active
    }

    /// Returns the state of the sources for the status page.
    pub(super) fn source_facts(&self) -> Vec<SourceStatus> {
        let facts = |polled: &PolledSource| SourceStatus {
            name: polled.name().into(),
            in_use: self.active == ActiveSource::Fresh(polled.source.kind()),
            read: polled.read,
            newest_sample: polled.newest,
            error: polled.error.as_ref().map(|(_, message)| message.clone()),
        };
        std::iter::once(&self.first).chain(&self.fallback).map(facts).collect()
    }

    /// Returns why usage is unknown now, or `None` if a source is fresh.
    pub(super) fn unknown_reason(&self) -> Option<String> {
        if matches!(self.active, ActiveSource::Fresh(_)) {
            return None;
        }
        let why = match (self.error(), self.first.newest, self.first.read) {
            (Some((_, message)), ..) => message,
            (None, Some(_), _) => "newest sample is too old",
            (None, None, Some(_)) => "no samples of nodes",
            (None, None, None) => "not read yet",
        };
        Some(format!("{}: {why}", self.first.name()))
    }

    /// Returns the name of the source that decisions are based on, if one is fresh.
    pub(super) const fn source_in_use(&self) -> Option<&'static str> {
        if let ActiveSource::Fresh(kind) = self.active { Some(kind.label()) } else { None }
    }

    /// Returns the error of the first source's last read: its kind and its message.
    pub(super) fn error(&self) -> Option<(&'static str, &str)> {
        self.first.error.as_ref().map(|(kind, message)| (*kind, message.as_str()))
    }

    /// Records which sources fail. The fallback counts only while it is asked.
    pub(super) fn report(&self, failures: &Failures) {
        let first = ActiveSource::Fresh(self.first.source.kind());
        let asked = self.fallback.iter().filter(|_| self.active != first);
        for polled in std::iter::once(&self.first).chain(asked) {
            let error = polled.error.as_ref().map(|(_, message)| message.as_str());
            failures.record(Request::Usage(polled.name()), error.map_or(Ok(()), Err));
        }
        if self.active == first
            && let Some(fallback) = &self.fallback
        {
            failures.works(Request::Usage(fallback.name()));
        }
    }

    /// Polls once. Asks the fallback only while the first source is stale.
    pub(super) async fn poll(
        &mut self,
        node_addresses: &NodeAddresses,
        metrics: &Metrics,
        now: Timestamp,
    ) -> Option<Poll> {
        let (gap, stale_after) = (self.gap, self.stale_after);
        let first = self.first.poll(node_addresses, metrics, gap, stale_after, now);
        let mut poll = first.await;
        let mut used = self.first.is_fresh(self.stale_after, now).then(|| self.first.source.kind());
        if let Some(fallback) = self.fallback.as_mut().filter(|_| used.is_none()) {
            let second = fallback.poll(node_addresses, metrics, gap, stale_after, now);
            let second = second.await;
            if fallback.is_fresh(self.stale_after, now) {
                used = Some(fallback.source.kind());
                // A fallback can be fresh by its last read although this one failed.
                poll = second.or(poll);
            }
        }
        self.set_active(used.map_or(ActiveSource::Stale, ActiveSource::Fresh), metrics);
        poll
    }

    /// Reads usage that was missed and passes it to `take` in the order of time. `samples` is about
    /// the number of nodes and pods.
    pub(super) async fn read_missed(
        &self,
        missed: &MissedUsage,
        node_addresses: &NodeAddresses,
        samples: usize,
        mut take: impl FnMut(Timestamp, &Readings),
    ) {
        let mut sources = std::iter::once(&self.first).chain(&self.fallback);
        let Some(polled) = sources.find(|polled| polled.source.kind() == missed.source) else {
            return;
        };
        let mut count = 0;
        let counted = |at, readings: Readings| {
            count += 1;
            take(at, &readings);
        };
        let source = &polled.source;
        let read = source.read_past(node_addresses, missed.since, samples, counted);
        let (result, source) = (read.await, polled.name());
        if let Err(error) = result {
            // Without history, the window fills by polling.
            warn!(
                source,
                "cannot read usage history: {error}; nodes stay unknown until polls fill the window"
            );
        } else if count > 0 {
            info!(source, readings = count, "read usage history");
        }
    }

    /// Records the source in use, and logs each change.
    fn set_active(&mut self, active: ActiveSource, metrics: &Metrics) {
        let kinds = std::iter::once(&self.first).chain(&self.fallback).map(PolledSource::name);
        let used = if let ActiveSource::Fresh(kind) = active { Some(kind.label()) } else { None };
        metrics.source_in_use(used, kinds);
        let before = std::mem::replace(&mut self.active, active);
        // A source can stay stale for hours. Only changes are logged.
        if before == active {
            return;
        }
        let first = self.first.source.kind();
        match active {
            ActiveSource::Fresh(kind) if kind != first => {
                warn!(
                    source = kind.label(),
                    "usage comes from fallback {} while {} is stale",
                    kind.label(),
                    first.label()
                );
            }
            ActiveSource::Fresh(kind) if matches!(before, ActiveSource::Fresh(_)) => {
                info!(source = kind.label(), "usage comes from {} again", kind.label());
            }
            ActiveSource::Fresh(kind) => {
                info!(source = kind.label(), "usage comes from {}", kind.label());
            }
            ActiveSource::NotRead | ActiveSource::Stale => {
                warn!(
                    "no usage source is fresh: no evictions by usage until one is, check the \
                        sources"
                );
            }
        }
    }
}

impl PolledSource {
    const fn name(&self) -> &'static str {
        self.source.kind().label()
    }

    /// Whether the newest sample is fresh. One failed read does not make a source stale.
    fn is_fresh(&self, stale_after: SignedDuration, now: Timestamp) -> bool {
        self.newest.is_some_and(|at| now.duration_since(at) <= stale_after)
    }

    async fn poll(
        &mut self,
        node_addresses: &NodeAddresses,
        metrics: &Metrics,
        gap: SignedDuration,
        stale_after: SignedDuration,
        now: Timestamp,
    ) -> Option<Poll> {
        match self.read(node_addresses, gap, now).await {
            Ok(poll) => {
                // One wrong clock must not make a stale source fresh.
                let newest = poll.readings.newest_node(now, stale_after);
                metrics.source_read(self.name(), now, newest, poll.readings.skipped.count());
                if let Some(remark) = poll.readings.remark
                    && self.remark.replace(remark).is_none()
                {
                    warn!(source = self.name(), "{remark}");
                }
                // A store can return older samples than before, for example from another replica.
                (self.read, self.newest) = (Some(now), newest.max(self.newest));
                self.error = None;
                Some(poll)
            }
            Err(error) => {
                metrics.source_failed(self.name(), error.kind());
                self.error = Some((error.kind(), error.to_string()));
                None
            }
        }
    }

    /// Reads the current usage. After a start or an outage, earlier usage is missed.
    async fn read(
        &self,
        node_addresses: &NodeAddresses,
        gap: SignedDuration,
        now: Timestamp,
    ) -> Result<Poll, SourceError> {
        let readings = self.source.read(node_addresses).await?;
        // History costs a range query per metric, so only a gap justifies it.
        let complete = self.read.is_some_and(|at| now.duration_since(at) <= gap);
        let missed =
            (!complete).then(|| MissedUsage { source: self.source.kind(), since: self.read });
        Ok(Poll { readings, missed })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::cluster::client::tests::{fake, served};
    use crate::cluster::usage_source::prometheus::tests::{
        NOW, healthy, node_addresses, router, usage,
    };

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// A fake metrics.k8s.io with one node, measured at this time.
    async fn metrics_api(second: i64) -> Client {
        let item = move || {
            let usage = r#""usage": {"cpu": "1", "memory": "1Ki"}"#;
            format!(
                r#"{{"items": [{{"metadata": {{"name": "n1"}}, "timestamp": "{}", {usage}}}]}}"#,
                at(second)
            )
        };
        let (client, _) = fake(move |_, uri, _| {
            (200, if uri.ends_with("nodes") { item() } else { r#"{"items": []}"#.to_owned() })
        })
        .await;
        client
    }

    #[tokio::test]
    async fn the_fallback_is_used_only_while_the_first_source_is_stale() {
        let there = Arc::new(AtomicBool::new(false));
        let is_up = Arc::clone(&there);
        let answer = move |query: &str| {
            if is_up.load(Ordering::Relaxed) {
                healthy(query)
            } else {
                (500, "text/plain", String::new())
            }
        };
        let mut rules = usage(&served(router(answer).0).await, "");
        rules.fallback = Some(SourceKind::MetricsApi);
        let (client, metrics) = (metrics_api(NOW).await, Metrics::default());
        let mut poller = UsagePoller::new(&rules, &client);
        let mut active = Vec::new();
        // The samples of the healthy Prometheus are seven seconds older than NOW.
        for (second, up) in
            [(0, false), (1, true), (2, false), (80, false), (85, false), (86, true), (300, true)]
        {
            there.store(up, Ordering::Relaxed);
            poller.poll(&node_addresses(), &metrics, at(NOW + second)).await;
            active.push(poller.active());
        }
        let (first, second) = (
            ActiveSource::Fresh(SourceKind::Prometheus),
            ActiveSource::Fresh(SourceKind::MetricsApi),
        );
        assert_eq!(active, [second, first, first, first, second, second, ActiveSource::Stale]);
        let text = metrics.text();
        assert!(
            text.contains(
                "evenkeel_source_errors_total{source=\"prometheus\",kind=\"broken\"} 4\n"
            ),
            "{text}"
        );
        assert!(text.contains("evenkeel_source_in_use{source=\"prometheus\"} 0\n"), "{text}");
        assert_eq!(poller.unknown_reason().unwrap(), "prometheus: newest sample is too old");
    }

    #[tokio::test]
    async fn a_source_without_samples_of_nodes_says_so() {
        let (client, _) = fake(|_, _, _| (200, r#"{"items": []}"#.to_owned())).await;
        let rules = UsagePolicy { source: SourceKind::MetricsApi, ..usage("http://unused", "") };
        let mut poller = UsagePoller::new(&rules, &client);
        assert_eq!(poller.unknown_reason().unwrap(), "metricsApi: not read yet");
        poller.poll(&node_addresses(), &Metrics::default(), at(NOW)).await;
        assert_eq!(poller.unknown_reason().unwrap(), "metricsApi: no samples of nodes");
    }

    #[tokio::test]
    async fn history_is_read_at_the_start_and_after_a_gap() {
        let (router, asked) = router(healthy);
        let rules = usage(&served(router).await, "");
        let mut poller = UsagePoller::new(&rules, &metrics_api(NOW).await);
        let mut ranges = Vec::new();
        for second in [0, 15, 30, 90] {
            let (addresses, now) = (node_addresses(), at(NOW + second));
            let poll = poller.poll(&addresses, &Metrics::default(), now).await;
            if let Some(missed) = poll.unwrap().missed {
                poller.read_missed(&missed, &addresses, 10, |_, _| {}).await;
            }
            ranges.push(
                asked.lock().unwrap().iter().filter(|a| a.path == "/api/v1/query_range").count(),
            );
        }
        assert_eq!(ranges, [6, 6, 6, 12]);
    }
}
