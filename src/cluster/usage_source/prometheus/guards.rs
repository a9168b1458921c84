//! Guards: their queries, now and over the past.

use jiff::{SignedDuration, Timestamp};

use crate::model::guard::{GuardAnswer, GuardSeries, TARGET_LABELS};
use crate::model::usage::recorded::HistoryRange;
use crate::policy::Guard;
use crate::values::query_value::QueryValue;

use super::error::PrometheusError;
use super::history::{MOST_IN_PART, Steps};
use super::query::{PromQuery, QueryTimes};
use super::response::{self, TimeSeries};
use super::{MOST_STEPS, Prometheus, deadline, millis, within};

/// The name of the query in errors, which follow the name of the guard.
const QUERY: &str = "of the guard";

impl Prometheus {
    /// Asks the query of a guard. The time of the answer is `now`, the local time.
    ///
    /// # Errors
    /// The reason why there is no usable answer.
    pub async fn ask_guard(
        &self,
        guard: &Guard,
        now: Timestamp,
    ) -> Result<GuardAnswer, PrometheusError> {
        let asked = async {
            let query = self.policy.rendered(&guard.query);
            let series = self.ask(&query, QueryTimes::ServerNow).await?;
            let newest = |series: TimeSeries| {
                let value = series.points.last().map(|(_, value)| *value);
                as_series(&series, value)
            };
            let series = series.into_iter().map(newest).collect();
            Ok(GuardAnswer { at: now, series })
        };
        within(deadline(self.poll), Box::pin(asked)).await
    }

    /// Asks the query of a guard at times of the past that reach back for as long as they matter,
    /// which are the times `for` and `recover`. The last time is `now`, the local time.
    ///
    /// # Errors
    /// The reason why there is no usable answer.
    pub async fn ask_guard_since(
        &self,
        guard: &Guard,
        now: Timestamp,
    ) -> Result<Vec<GuardAnswer>, PrometheusError> {
        let asked = async {
            let past = guard.hold.saturating_add(guard.recover);
            let step = millis(self.poll.max(past / MOST_STEPS)).max(1000);
            let (end, count) = (self.server_time().await?, millis(past) / step + 1);
            let steps = Steps {
                start: end - count * step,
                step,
                count: usize::try_from(count).unwrap_or_default() + 1,
            };
            let mut answers = self.answers(&self.policy.rendered(&guard.query), steps).await?;
            // The clocks of the two machines may differ.
            let local = |at: Timestamp| {
                let age = end.saturating_sub(at.as_millisecond());
                now.saturating_sub(SignedDuration::from_millis(age))
            };
            for answer in &mut answers {
                answer.at = local(answer.at).unwrap_or(answer.at);
            }
            Ok(answers)
        };
        within(deadline(self.poll), Box::pin(asked)).await
    }

    /// Asks for the highest values of a guard in each step of a range.
    ///
    /// # Errors
    /// The reason why there is no usable answer.
    pub async fn guard_history(
        &self,
        guard: &Guard,
        range: HistoryRange,
    ) -> Result<Vec<GuardAnswer>, PrometheusError> {
        let query = self.policy.highest_over(range.step, &guard.query);
        let (step, mut answers) = (millis(range.step).max(1), Vec::new());
        // A value is evaluated at the end of its step, and its time is the middle.
        let start = range.start.as_millisecond() + step - step / 2;
        while answers.len() < range.steps {
            let first = i64::try_from(answers.len()).unwrap_or(i64::MAX);
            let part = Steps {
                start: start.saturating_add(first.saturating_mul(step)),
                step,
                count: MOST_IN_PART.min(range.steps - answers.len()),
            };
            answers.extend(self.answers(&query, part).await?);
        }
        Ok(answers)
    }

    /// Asks at each step. A step without a series has an answer without one.
    async fn answers(
        &self,
        query: &str,
        steps: Steps,
    ) -> Result<Vec<GuardAnswer>, PrometheusError> {
        let times = steps.times(0, steps.count);
        let mut answers: Vec<GuardAnswer> = (0..steps.count)
            .map(|position| GuardAnswer { at: steps.time(position), series: Vec::new() })
            .collect();
        for series in self.ask(query, times).await? {
            for (at, value) in &series.points {
                let answer = steps.position(*at).and_then(|i| answers.get_mut(i));
                if let Some(answer) = answer {
                    answer.series.push(as_series(&series, Some(*value)));
                }
            }
        }
        Ok(answers)
    }

    async fn ask(
        &self,
        query: &str,
        times: QueryTimes,
    ) -> Result<Vec<TimeSeries>, PrometheusError> {
        let query = PromQuery { name: QUERY, promql: query, times };
        let text = self.client.query(&query).await?;
        response::unchecked_series(QUERY, &text)
    }
}

fn as_series(series: &TimeSeries, value: Option<f64>) -> GuardSeries {
    let label = |name: &str| Some((name.to_owned(), series.labels.own(name)?));
    GuardSeries {
        labels: TARGET_LABELS.into_iter().filter_map(label).collect(),
        value: value.and_then(QueryValue::new),
    }
}
