//! Usage from Prometheus: each query returns one kind of figure for all nodes or all pods.
//!
//! The first query asks for the server's time, and the others are evaluated at exactly that time.
//! The figures so belong together, and the local clock has no influence.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use tracing::debug;

use crate::model::snapshot::node_addresses::NodeAddresses;
use crate::model::usage::Readings;
use crate::policy::{self, UsagePolicy};

use self::client::PrometheusClient;
use self::error::PrometheusError;
use self::history::{Steps, part_of};
use self::query::{PromQuery, QueryTimes};
use self::readings::{JoinOptions, ReadingsBuilder};
use self::response::QueryResult;
use self::usage_query::UsageQuery;

mod query;
pub mod error;
mod http_error;
mod connection;
mod client;
mod labels;
mod response;
mod usage_query;
mod readings;
mod history;
mod guards;

/// The longest read. Usage that arrives later is of little use, even with rare polls.
const LONGEST_READ: Duration = Duration::from_secs(30);
/// The tenant headers of Mimir and Thanos. An unknown tenant and one without data return the same
/// empty result.
const TENANT_HEADERS: [&str; 2] = ["X-Scope-OrgID", "THANOS-TENANT"];
/// The most evaluation times of a range query. More do not change what a window tells.
const MOST_STEPS: i32 = 60;
/// The distance of the evaluation times before the window: a trend has a mean for each such period.
const STEP_BEFORE: SignedDuration = SignedDuration::from_mins(3);
/// The most samples from before the window. A command holds all of them at once, in up to 150 MB.
const MOST_BEFORE: usize = 500_000;
/// Queries of the present that run at once.
const QUERIES_AT_ONCE: usize = 2;
/// The query for the server's time.
const TIME: &str = "time()";

/// A Prometheus server, or a compatible one.
#[derive(Clone)]
pub struct Prometheus {
    policy: Arc<policy::PrometheusPolicy>,
    client: PrometheusClient,
    /// The polling interval, which also limits a read of the present.
    poll: SignedDuration,
    window: SignedDuration,
    /// How far back trends look.
    trend: SignedDuration,
}

impl Prometheus {
    /// Creates the source that a policy describes, without reading a file or sending a request.
    pub fn new(policy: policy::PrometheusPolicy, usage: &UsagePolicy) -> Self {
        let policy = Arc::new(policy);
        Prometheus {
            client: PrometheusClient::new(Arc::clone(&policy), deadline(usage.poll)),
            policy,
            poll: usage.poll,
            window: usage.window,
            trend: usage.trend_past().unwrap_or_default(),
        }
    }

    /// The URL from the policy.
    pub fn url(&self) -> &str {
        &self.policy.url
    }

    /// Reads the present usage of all nodes and pods.
    pub async fn read(&self, node_addresses: &NodeAddresses) -> Result<Readings, PrometheusError> {
        let read = async {
            let now = self.server_time().await?;
            let queries = self.queries();
            let times = QueryTimes::At(now);
            let mut all = self.query_all(node_addresses, queries, times).await?;
            Ok(all.pop().map(|(_, readings)| readings).unwrap_or_default())
        };
        within(deadline(self.poll), Box::pin(read)).await
    }

    /// Reads the usage since a time, but at most of one window and of the time in which trends look
    /// back, and passes it to `take` in the order of time. `samples` is about the number of nodes
    /// and pods: of many, few steps are held at a time.
    pub async fn read_past(
        &self,
        node_addresses: &NodeAddresses,
        since: Option<Timestamp>,
        samples: usize,
        mut take: impl FnMut(Timestamp, Readings),
    ) -> Result<(), PrometheusError> {
        let now = within(LONGEST_READ, self.server_time()).await?;
        let (queries, first) = (self.queries(), part_of(samples));
        let window = self.missed(now, since);
        let before = self.before(window, now, since, samples);
        let read = self.read_in_parts(node_addresses, &queries, before, first, &mut take);
        if let Err(error) = within(LONGEST_READ, Box::pin(read)).await {
            // Decisions need the window alone.
            debug!("trends begin with the window, because the time before is not known: {error}");
        }
        let read = self.read_in_parts(node_addresses, &queries, window, first, take);
        within(LONGEST_READ, Box::pin(read)).await
    }

    async fn server_time(&self) -> Result<i64, PrometheusError> {
        let query = PromQuery { name: TIME, promql: TIME, times: QueryTimes::ServerNow };
        response::time(&self.client.query(&query).await?)
    }

    /// The evaluation times since a time. The last one is the present.
    fn missed(&self, end: i64, since: Option<Timestamp>) -> Steps {
        // Nothing changes between two scrapes.
        let step = self.poll.max(self.policy.scrape_interval).max(self.window / MOST_STEPS);
        let step = millis(step).max(1000);
        let earliest = end - millis(self.window) / step * step;
        let start = since.map_or(earliest, |since| earliest.max(since.as_millisecond()));
        let count = (end - start).max(0) / step;
        Steps {
            start: end - count * step,
            step,
            count: usize::try_from(count).unwrap_or_default() + 1,
        }
    }

    /// The evaluation times before the window, from which trends are learned. Of many samples there
    /// are fewer.
    fn before(&self, window: Steps, now: i64, since: Option<Timestamp>, samples: usize) -> Steps {
        let step = millis(STEP_BEFORE);
        let earliest = now - millis(self.trend);
        let earliest = since.map_or(earliest, |since| earliest.max(since.as_millisecond()));
        let count = usize::try_from((window.start - earliest) / step).unwrap_or_default();
        let count = count.min(MOST_BEFORE / samples.max(1));
        let length = i64::try_from(count).unwrap_or_default() * step;
        Steps { start: window.start - length, step, count }
    }

    async fn query_all(
        &self,
        node_addresses: &NodeAddresses,
        queries: Vec<(UsageQuery, String)>,
        times: QueryTimes,
    ) -> Result<Vec<(Timestamp, Readings)>, PrometheusError> {
        let asks = |query| queries.iter().any(|(asked, _)| *asked == query);
        let mut builder = ReadingsBuilder::new(JoinOptions {
            node_addresses,
            node_labels: &self.policy.node_labels,
            window: self.policy.averaged_over,
            node_time: asks(UsageQuery::NodeTime),
            pod_time: asks(UsageQuery::PodTime),
        });
        // Results of a large cluster take much memory, so few are held at a time.
        let concurrent = if times.is_range() { 1 } else { QUERIES_AT_ONCE };
        let results = stream::iter(queries)
            .map(|(query, promql)| self.result(query, promql, times))
            .buffered(concurrent);
        let mut results = std::pin::pin!(results);
        while let Some((query, result)) = results.try_next().await? {
            let other = builder.add(query, result)?;
            // In the past, all nodes may have been others than today.
            if let Some(example) = other.filter(|_| !times.is_range() && !node_addresses.is_empty())
            {
                return Err(PrometheusError::OtherCluster { query: query.name(), example });
            }
        }
        Ok(builder.finish())
    }

    /// The queries of the policy.
    fn queries(&self) -> Vec<(UsageQuery, String)> {
        let queries = &self.policy.queries;
        [
            (UsageQuery::NodeCpu, Some(&queries.node_cpu)),
            (UsageQuery::NodeMemory, Some(&queries.node_memory)),
            (UsageQuery::NodeTime, queries.node_time.as_ref()),
            (UsageQuery::PodCpu, Some(&queries.pod_cpu)),
            (UsageQuery::PodMemory, Some(&queries.pod_memory)),
            (UsageQuery::PodTime, queries.pod_time.as_ref()),
        ]
        .into_iter()
        .filter_map(|(query, promql)| Some((query, self.policy.rendered(promql?))))
        .collect()
    }

    /// Runs one query. An empty result is an error, because nodes without usage would pass for
    /// idle.
    async fn result(
        &self,
        query: UsageQuery,
        promql: String,
        times: QueryTimes,
    ) -> Result<(UsageQuery, QueryResult), PrometheusError> {
        let text =
            self.client.query(&PromQuery { name: query.name(), promql: &promql, times }).await?;
        let mut result = response::series(query.name(), &text)?;
        if let QueryTimes::At(at) = times {
            result.set_time(at);
        }
        if result.series.is_empty() && result.rejected.is_empty() {
            return Err(PrometheusError::NoData { query: query.name(), hint: self.hint() });
        }
        Ok((query, result))
    }

    /// Possible causes of an empty result.
    fn hint(&self) -> String {
        let range = self.policy.range();
        let tenant = self.policy.headers.iter().find(|(name, _)| {
            TENANT_HEADERS.iter().any(|header| header.eq_ignore_ascii_case(name))
        });
        let tenant = tenant
            .map(|(name, value)| format!(", and is {value:?} the right tenant ({name})"))
            .unwrap_or_default();
        format!(
            "does it scrape the kubelets at least twice in {range:#}{tenant}? check \
             `scrapeInterval`, `matchers` and `queries`"
        )
    }
}

/// Joins answers to the queries for cpu, memory and time of nodes, then of pods, as a range query
/// or at the time of the first value. For the fuzz targets in `fuzz/`.
#[doc(hidden)]
pub fn join_in_memory(
    answers: [&str; 6],
    range: bool,
    node_addresses: &NodeAddresses,
) -> Result<Vec<(Timestamp, Readings)>, PrometheusError> {
    const QUERIES: [UsageQuery; 6] = [
        UsageQuery::NodeCpu,
        UsageQuery::NodeMemory,
        UsageQuery::NodeTime,
        UsageQuery::PodCpu,
        UsageQuery::PodMemory,
        UsageQuery::PodTime,
    ];
    let node_labels = ["node".to_owned(), "instance".to_owned()];
    let mut builder = ReadingsBuilder::new(JoinOptions {
        node_addresses,
        node_labels: &node_labels,
        window: SignedDuration::from_mins(2),
        node_time: true,
        pod_time: true,
    });
    for (query, answer) in QUERIES.into_iter().zip(answers) {
        let mut result = response::series(query.name(), answer)?;
        if !range {
            result.set_time(response::time(answers[0]).unwrap_or_default());
        }
        builder.add(query, result)?;
    }
    Ok(builder.finish())
}

fn millis(duration: SignedDuration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// The longest read of the present.
fn deadline(poll: SignedDuration) -> Duration {
    poll.unsigned_abs().min(LONGEST_READ)
}

/// Limits the duration of a read, because the next poll waits for it.
async fn within<T>(
    limit: Duration,
    read: impl Future<Output = Result<T, PrometheusError>>,
) -> Result<T, PrometheusError> {
    tokio::time::timeout(limit, read).await.unwrap_or(Err(PrometheusError::Timeout(limit)))
}

#[cfg(test)]
pub(crate) mod tests;
