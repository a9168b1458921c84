//! Usage of hours or weeks, read in parts so that no response is large.

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::node_addresses::NodeAddresses;
use crate::model::usage::Readings;
use crate::model::usage::recorded::HistoryRange;

use super::error::PrometheusError;
use super::query::QueryTimes;
use super::usage_query::UsageQuery;
use super::{Prometheus, millis};

/// The steps of the first part, when it is not yet known how many pods there are.
const FIRST_PART: usize = 10;
/// The most steps of a part. Prometheus allows 11,000.
pub(super) const MOST_IN_PART: usize = 120;
/// The most samples of a part. They take up to 75 MB while they are joined.
const MOST_SAMPLES: usize = 50_000;
/// How Prometheus rejects a query that reads more than its `--query.max-samples`.
const TOO_MANY_SAMPLES: &str = "too many samples";

impl Prometheus {
    /// The times of a history of this length that ends at the present.
    ///
    /// A value is the mean over one step, and its time is the middle of the step. Steps are aligned
    /// to the clock, so that a later history has the same ones.
    pub async fn history_range(
        &self,
        length: SignedDuration,
        step: SignedDuration,
    ) -> Result<HistoryRange, PrometheusError> {
        let now = self.server_time().await?;
        let step_millis = millis(step).max(1);
        let steps = (millis(length) / step_millis).max(1);
        let start = now - now.rem_euclid(step_millis) - steps * step_millis + step_millis / 2;
        Ok(HistoryRange {
            start: Timestamp::from_millisecond(start).unwrap_or_default(),
            step,
            steps: usize::try_from(steps).unwrap_or(usize::MAX),
        })
    }

    /// Reads the mean usage of each step of a range and passes it to `take` in the order of time.
    /// Steps without any usage are left out.
    ///
    /// # Errors
    /// The reason why Prometheus yields no usage, or none in the whole range.
    pub async fn read_history(
        &self,
        node_addresses: &NodeAddresses,
        range: HistoryRange,
        mut take: impl FnMut(Timestamp, &Readings),
    ) -> Result<(), PrometheusError> {
        let step = millis(range.step).max(1);
        // A mean is evaluated at the end of its step.
        let half = step - step / 2;
        let steps = Steps { start: range.start.as_millisecond() + half, step, count: range.steps };
        let queries = self.history_queries(range.step);
        let take = |at: Timestamp, readings: Readings| {
            let at = Timestamp::from_millisecond(at.as_millisecond() - half).unwrap_or(at);
            take(at, &readings);
        };
        self.read_in_parts(node_addresses, &queries, steps, FIRST_PART, take).await
    }

    /// Reads steps in parts, the first of which has this many steps, and passes them to `take` in
    /// the order of time. The readings of one part are held at a time.
    ///
    /// # Errors
    /// The reason why Prometheus yields no usage, or none in all steps.
    pub(super) async fn read_in_parts(
        &self,
        node_addresses: &NodeAddresses,
        queries: &[(UsageQuery, String)],
        steps: Steps,
        first_part: usize,
        mut take: impl FnMut(Timestamp, Readings),
    ) -> Result<(), PrometheusError> {
        let (mut done, mut part, mut most) = (0, first_part, MOST_IN_PART);
        let (mut found, mut empty) = (false, None);
        while done < steps.count {
            part = part.min(most).min(steps.count - done);
            let times = steps.times(done, part);
            let read = self.query_all(node_addresses, queries.to_vec(), times);
            match read.await {
                Ok(all) => {
                    found |= !all.is_empty();
                    done += part;
                    part = next_part(&all);
                    for (at, readings) in all {
                        take(at, readings);
                    }
                }
                // Prometheus may be younger than the range, or may have had an outage.
                Err(error @ PrometheusError::NoData { .. }) => {
                    empty = Some(error);
                    done += part;
                }
                Err(error) if part > 1 && is_too_much(&error) => most = part / 2,
                Err(error) => return Err(error),
            }
        }
        match empty {
            Some(error) if !found => Err(error),
            _ => Ok(()),
        }
    }

    /// The queries for usage. Times of measurement are of no use in a mean.
    fn history_queries(&self, step: SignedDuration) -> Vec<(UsageQuery, String)> {
        let queries = &self.policy.queries;
        [
            (UsageQuery::NodeCpu, &queries.node_cpu),
            (UsageQuery::NodeMemory, &queries.node_memory),
            (UsageQuery::PodCpu, &queries.pod_cpu),
            (UsageQuery::PodMemory, &queries.pod_memory),
        ]
        .map(|(query, promql)| (query, self.policy.mean_over(step, promql)))
        .to_vec()
    }
}

/// Evaluation times with an equal distance, in milliseconds of Unix time.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    pub(super) start: i64,
    pub(super) step: i64,
    pub(super) count: usize,
}

impl Steps {
    /// The time of a step.
    pub(super) fn time(self, position: usize) -> Timestamp {
        let steps = i64::try_from(position).unwrap_or(i64::MAX);
        let at = self.start.saturating_add(steps.saturating_mul(self.step));
        Timestamp::from_millisecond(at).unwrap_or_default()
    }

    /// The step that is nearest to a time, because servers round times.
    pub(super) fn position(self, at: i64) -> Option<usize> {
        usize::try_from((at - self.start + self.step / 2).div_euclid(self.step)).ok()
    }

    pub(super) fn times(self, first: usize, count: usize) -> QueryTimes {
        let offset =
            |steps: usize| i64::try_from(steps).unwrap_or(i64::MAX).saturating_mul(self.step);
        let start = self.start.saturating_add(offset(first));
        QueryTimes::Range { start, end: start.saturating_add(offset(count - 1)), step: self.step }
    }
}

/// The steps of the next part, by the samples of this one.
fn next_part(all: &[(Timestamp, Readings)]) -> usize {
    let samples =
        |(_, readings): &(Timestamp, Readings)| readings.nodes.len() + readings.pods.len();
    part_of(all.iter().map(samples).max().unwrap_or_default())
}

/// The steps of a part if each step has this many samples.
pub(super) fn part_of(samples: usize) -> usize {
    (MOST_SAMPLES / samples.max(1)).clamp(1, MOST_IN_PART)
}

/// Whether a part had too many steps for the server or for our limits.
fn is_too_much(error: &PrometheusError) -> bool {
    if let PrometheusError::QueryRejected { why, .. } = error {
        return why.contains(TOO_MANY_SAMPLES);
    }
    matches!(error, PrometheusError::TooLarge(_) | PrometheusError::Timeout(_))
}
