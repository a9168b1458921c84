//! Requests that keep failing.
//!
//! Each part that sends requests records here whether they work. A failure that lasts is logged
//! with its cause, then at most once a minute. The metrics and the status page show it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::SignedDuration;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::model::snapshot::objects::ObjectKind;
use crate::view::status::facts::LastingFailure;

use super::error_text::one_line;
use super::lock;

/// A failure that lasts this long is logged. Evictions stop after the same time without a watch.
const LASTING: Duration = Duration::from_secs(10);
/// The time after which a failure is logged again.
const AGAIN: Duration = Duration::from_secs(60);
/// Events, taints and lines of the record are only written now and then. If the last one failed
/// longer ago than this, it says nothing about now. All other requests are repeated at each poll or
/// cycle.
const FORGOTTEN: Duration = Duration::from_secs(2 * 3600);
/// How often the failures are looked at.
const LOOK: Duration = Duration::from_secs(2);

/// The subject of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Request {
    /// The list and the watch of a kind.
    Watch(ObjectKind),
    /// The usage from a source.
    Usage(&'static str),
    /// The queries of the guards.
    Guards,
    /// The ConfigMap of the ledger.
    Ledger,
    /// The ConfigMap of the proposal.
    Proposal,
    /// The Lease.
    Lease,
    /// Events about evictions and taints.
    Events,
    /// The steering taints.
    Taints,
    /// The release of Kubernetes.
    Release,
    /// Lines of the record.
    Record,
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Request::Watch(kind) => write!(f, "watch of {}", kind.name()),
            Request::Usage(source) => write!(f, "usage from {source}"),
            Request::Guards => f.write_str("guards"),
            Request::Ledger => f.write_str("ledger"),
            Request::Proposal => f.write_str("proposal"),
            Request::Lease => f.write_str("lease"),
            Request::Events => f.write_str("events"),
            Request::Taints => f.write_str("taints"),
            Request::Release => f.write_str("release of Kubernetes"),
            Request::Record => f.write_str("record"),
        }
    }
}

impl Request {
    /// Returns true if only a leader sends it.
    pub const fn is_of_leader(self) -> bool {
        matches!(
            self,
            Request::Ledger
                | Request::Proposal
                | Request::Events
                | Request::Taints
                | Request::Record
        )
    }

    /// Returns the consequence while it fails.
    const fn effect(self) -> &'static str {
        match self {
            Request::Watch(_) => "no evictions until it works again",
            Request::Usage(_) => "its samples age, and nodes without fresh usage are left alone",
            Request::Guards => "its answer ages, and `missing` of the guard says what that means",
            Request::Ledger => "no evictions without it",
            Request::Proposal => "no eviction that needs an approval is made",
            Request::Lease => "this instance cannot lead",
            Request::Events => "evictions go on without events",
            Request::Taints => "steering waits",
            Request::Release => "the forecast assumes a release",
            Request::Record => {
                "evictions go on, and lines that are not rejected wait in the ledger"
            }
        }
    }
}

/// The failures. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Failures {
    failing: Arc<Mutex<BTreeMap<Request, Failing>>>,
    counted: Family<FailureLabels, Counter>,
    lasting: Family<FailureLabels, Gauge<f64, AtomicU64>>,
}

/// Failures in a row.
#[derive(Clone, Debug)]
struct Failing {
    since: Instant,
    /// The first failure. A watch may have been silent before it.
    first: Instant,
    /// The last one. A request that is not repeated is no lasting failure.
    last: Instant,
    why: String,
    effect: &'static str,
    logged: Option<Instant>,
}

/// The label of a metric.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct FailureLabels {
    request: String,
}

impl Failing {
    fn lasts(&self) -> bool {
        self.last.duration_since(self.first) >= LASTING
    }

    fn is_news(&self, now: Instant) -> bool {
        let is_due = |logged| now.duration_since(logged) >= AGAIN && self.last > logged;
        self.lasts() && self.logged.is_none_or(is_due)
    }
}

impl Failures {
    /// Failed requests in the registry.
    pub fn counted(&self) -> Family<FailureLabels, Counter> {
        self.counted.clone()
    }

    /// How long requests have failed, in seconds in the registry.
    pub fn lasting_seconds(&self) -> Family<FailureLabels, Gauge<f64, AtomicU64>> {
        self.lasting.clone()
    }

    /// Records whether a request works, with the cause if it does not.
    pub fn record(&self, request: Request, result: Result<(), &str>) {
        match result {
            Ok(()) => self.works(request),
            Err(why) => self.failed(request, why, Instant::now()),
        }
    }

    /// Records a failure that began at this time, or earlier.
    pub fn failed(&self, request: Request, why: &str, since: Instant) {
        let now = Instant::now();
        let mut failing = lock(&self.failing);
        let failure = failing.entry(request).or_insert_with(|| Failing {
            since,
            first: now,
            last: now,
            why: String::new(),
            effect: request.effect(),
            logged: None,
        });
        (failure.last, failure.why) = (now, one_line(why));
        failure.since = failure.since.min(since);
        let labels = FailureLabels::of(request);
        let lasts = now.duration_since(failure.since);
        self.lasting.get_or_create(&labels).set(lasts.as_secs_f64());
        self.counted.get_or_create(&labels).inc();
    }

    /// Changes the consequence of a failure.
    pub fn change_effect(&self, request: Request, effect: &'static str) {
        if let Some(failure) = lock(&self.failing).get_mut(&request) {
            failure.effect = effect;
        }
    }

    /// Records that a request works.
    pub fn works(&self, request: Request) {
        let Some(failure) = lock(&self.failing).remove(&request) else {
            return;
        };
        let labels = FailureLabels::of(request);
        self.lasting.get_or_create(&labels).set(0.0);
        if failure.logged.is_some() {
            info!("{request}: works again");
        }
    }

    /// Drops the failures of requests that are not made any more.
    pub fn forget(&self, is_gone: impl Fn(Request) -> bool) {
        lock(&self.failing).retain(|request, _| self.keep(*request, !is_gone(*request)));
    }

    /// Returns whether to keep a failure, and shows that a dropped one has ended.
    fn keep(&self, request: Request, keep: bool) -> bool {
        if !keep {
            self.lasting.get_or_create(&FailureLabels::of(request)).set(0.0);
        }
        keep
    }

    /// Returns true if the last request of this kind has failed.
    pub fn is_failing(&self, request: Request) -> bool {
        lock(&self.failing).contains_key(&request)
    }

    /// Returns the failures that last.
    pub fn lasting(&self) -> Vec<LastingFailure> {
        let failing = lock(&self.failing);
        let lasting = failing.iter().filter(|(_, failure)| failure.lasts());
        let of = |(request, failure): (&Request, &Failing)| LastingFailure {
            request: request.to_string(),
            lasts: whole_seconds(failure.since.elapsed()),
            why: failure.why.clone(),
            effect: failure.effect.into(),
        };
        lasting.map(of).collect()
    }

    /// Logs failures that last, until `stop`.
    pub async fn say(self, stop: CancellationToken) {
        let logged = async {
            loop {
                tokio::time::sleep(LOOK).await;
                for line in self.news() {
                    warn!("{line}");
                }
            }
        };
        stop.run_until_cancelled(logged).await;
    }

    /// Returns a line for each failure to say now. One outage usually fails many requests, so those
    /// with one cause share a line.
    fn news(&self) -> Vec<String> {
        let now = Instant::now();
        let mut failing = lock(&self.failing);
        failing.retain(|request, failure| {
            let is_rare = matches!(request, Request::Events | Request::Taints | Request::Record);
            self.keep(*request, !is_rare || now.duration_since(failure.last) < FORGOTTEN)
        });
        let mut lines: BTreeMap<(String, &'static str), (Vec<String>, Duration)> = BTreeMap::new();
        for (request, failure) in failing.iter_mut() {
            if failure.is_news(now) {
                failure.logged = Some(now);
                let key = (failure.why.clone(), failure.effect);
                let (requests, longest) = lines.entry(key).or_default();
                requests.push(request.to_string());
                *longest = (*longest).max(now.duration_since(failure.since));
            }
        }
        let line = |((why, effect), (requests, longest)): (_, (Vec<String>, _))| {
            let lasts = whole_seconds(longest);
            let requests = requests.join(", ");
            format!("{requests}: failing for {lasts:#}: {why}; {effect}")
        };
        lines.into_iter().map(line).collect()
    }
}

impl FailureLabels {
    fn of(request: Request) -> Self {
        FailureLabels { request: request.to_string() }
    }
}

fn whole_seconds(time: Duration) -> SignedDuration {
    SignedDuration::from_secs(i64::try_from(time.as_secs()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PODS: Request = Request::Watch(ObjectKind::Pod);
    const CSI_NODES: Request = Request::Watch(ObjectKind::CsiNode);

    /// The lines that are logged while these requests fail every two seconds, each with its second.
    async fn logged(failures: &Failures, requests: &[Request], seconds: u64) -> Vec<(u64, String)> {
        let (start, mut lines) = (Instant::now(), Vec::new());
        for second in (0..seconds).step_by(2) {
            for request in requests {
                failures.record(*request, Err("refused"));
            }
            lines.extend(failures.news().into_iter().map(|line| (second, line)));
            tokio::time::advance(Duration::from_secs(2)).await;
        }
        assert!(start.elapsed() >= Duration::from_secs(seconds));
        lines
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_said_with_its_cause_and_then_once_a_minute() {
        let lines = logged(&Failures::default(), &[CSI_NODES], 180).await;
        let seconds: Vec<u64> = lines.iter().map(|(second, _)| *second).collect();
        assert_eq!(seconds, [10, 70, 130]);
        assert_eq!(
            lines[1].1,
            "watch of CSINode: failing for 1m 10s: refused; no evictions until it works again"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_outage_of_many_requests_is_one_line() {
        let failures = Failures::default();
        let lines = logged(&failures, &[PODS, CSI_NODES, Request::Ledger], 20).await;
        let lines: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
        assert_eq!(
            lines,
            [
                "watch of Pod, watch of CSINode: failing for 10s: refused; no evictions until it \
                 works again",
                "ledger: failing for 10s: refused; no evictions without it"
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_short_failure_and_one_that_is_not_repeated_are_not_said() {
        let failures = Failures::default();
        assert!(logged(&failures, &[PODS], 8).await.is_empty());
        failures.works(PODS);
        failures.record(Request::Events, Err("refused"));
        tokio::time::advance(Duration::from_secs(600)).await;
        assert!(failures.news().is_empty() && failures.lasting().is_empty());
        failures.record(Request::Events, Err("refused"));
        assert_eq!(failures.lasting().len(), 1);
        failures.works(Request::Events);
        assert!(failures.lasting().is_empty());
    }

    /// Whether a request fails by the metric.
    fn is_failing(failures: &Failures, request: Request) -> bool {
        failures.lasting_seconds().get_or_create(&FailureLabels::of(request)).get() > 0.0
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_of_a_rare_request_that_is_not_repeated_for_two_hours_is_over() {
        let failures = Failures::default();
        logged(&failures, &[Request::Taints, Request::Ledger], 60).await;
        assert_eq!(failures.lasting().len(), 2);
        assert!(is_failing(&failures, Request::Taints));
        tokio::time::advance(FORGOTTEN).await;
        failures.news();
        assert_eq!(failures.lasting().len(), 1);
        assert!(!is_failing(&failures, Request::Taints));
        assert!(is_failing(&failures, Request::Ledger));
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_are_not_made_any_more_are_forgotten() {
        let failures = Failures::default();
        logged(&failures, &[PODS, Request::Proposal], 60).await;
        failures.forget(|request| request == Request::Proposal);
        let lasting: Vec<String> =
            failures.lasting().into_iter().map(|failure| failure.request).collect();
        assert_eq!(lasting, ["watch of Pod"]);
        assert!(!is_failing(&failures, Request::Proposal));
    }

    #[tokio::test(start_paused = true)]
    async fn causes_that_differ_each_time_are_said_once_a_minute_and_fill_no_memory() {
        let (failures, mut lines) = (Failures::default(), 0);
        for port in 0..90 {
            failures.record(PODS, Err(&format!("port {port}")));
            tokio::time::advance(Duration::from_secs(2)).await;
            lines += failures.news().len();
        }
        assert_eq!((lines, failures.lasting().len()), (3, 1));
    }
}
