//! Usage from Prometheus: a query for each sort of figure, all nodes or all pods at once.
//!
//! First it is asked what time it is there, and then for the figures of just that moment, so that they belong together
//! and our own clock has no part in it.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::node_addresses::NodeAddresses;
use crate::model::usage::Readings;
use crate::policy::{self, UsagePolicy};

use self::answer::Answer;
use self::client::Asker;
use self::frames::{Frames, Rules, Set};
use self::trouble::Trouble;

mod answer;
mod client;
mod frames;
pub mod trouble;

/// However seldom polls are, usage that comes later than this is hardly better than none.
const LONGEST_LOOK: Duration = Duration::from_secs(30);
/// By which headers Mimir and Thanos are told of the tenant. One that has nothing looks like one that does not exist.
const TENANT_HEADERS: [&str; 2] = ["X-Scope-OrgID", "THANOS-TENANT"];
/// More moments than these tell no more of a window.
const MOST_STEPS: i32 = 60;

/// One Prometheus.
#[derive(Clone)]
pub struct Prometheus {
    policy: Arc<policy::Prometheus>,
    asker: Asker,
    /// Time between two polls: no look at the present takes longer.
    poll: SignedDuration,
    window: SignedDuration,
}

/// Which moments are asked about, in milliseconds of Unix time.
#[derive(Clone, Copy)]
enum Moments {
    One(i64),
    Many { from: i64, to: i64, step: i64 },
}

impl Prometheus {
    /// The Prometheus that a policy describes. Nothing is asked or read yet.
    pub fn new(policy: policy::Prometheus, usage: &UsagePolicy) -> Self {
        let policy = Arc::new(policy);
        let asker = Asker::new(Arc::clone(&policy));
        Prometheus {
            policy,
            asker,
            poll: usage.poll,
            window: usage.window,
        }
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.policy.url
    }

    /// Reads the usage of all nodes and pods once.
    pub async fn read(&self, node_addresses: &NodeAddresses) -> Result<Readings, Trouble> {
        let look = async {
            let now = self.time().await?;
            let mut all = self.look(node_addresses, Moments::One(now)).await?;
            Ok(all.pop().map(|(_, readings)| readings).unwrap_or_default())
        };
        in_time(self.poll.unsigned_abs().min(LONGEST_LOOK), Box::pin(look)).await
    }

    /// Reads what was used since then, for a window at most, in the order of time.
    pub async fn read_past(
        &self,
        node_addresses: &NodeAddresses,
        since: Option<Timestamp>,
    ) -> Result<Vec<(Timestamp, Readings)>, Trouble> {
        let look = async {
            let to = self.time().await?;
            let millis = |d: SignedDuration| i64::try_from(d.as_millis()).unwrap_or(i64::MAX);
            // Between two scrapes there is nothing new.
            let step = self
                .poll
                .max(self.policy.scrape_interval)
                .max(self.window / MOST_STEPS);
            let step = millis(step).max(1000);
            let earliest = to - millis(self.window) / step * step;
            let from = since.map_or(earliest, |since| earliest.max(since.as_millisecond()));
            // The last moment of all is the present one.
            let from = to - (to - from).max(0) / step * step;
            self.look(node_addresses, Moments::Many { from, to, step })
                .await
        };
        in_time(LONGEST_LOOK, Box::pin(look)).await
    }

    async fn time(&self) -> Result<i64, Trouble> {
        let text = self
            .asker
            .ask("/api/v1/query", &[("query", "time()")], "time()")
            .await?;
        answer::time(&text)
    }

    async fn look(
        &self,
        node_addresses: &NodeAddresses,
        moments: Moments,
    ) -> Result<Vec<(Timestamp, Readings)>, Trouble> {
        let asked = &self.policy.queries;
        let mut frames = Frames::new(Rules {
            node_addresses,
            node_labels: &self.policy.node_labels,
            window: self.policy.averaged_over,
            timed: [asked.node_time.is_some(), asked.pod_time.is_some()],
        });
        let sets = [
            (Set::NodeCpu, Some(&asked.node_cpu)),
            (Set::NodeMemory, Some(&asked.node_memory)),
            (Set::NodeTime, asked.node_time.as_ref()),
            (Set::PodCpu, Some(&asked.pod_cpu)),
            (Set::PodMemory, Some(&asked.pod_memory)),
            (Set::PodTime, asked.pod_time.as_ref()),
        ];
        // The past of a large cluster is much: one answer of it is held at a time.
        let at_once = if matches!(moments, Moments::One(_)) {
            sets.len()
        } else {
            1
        };
        let questions = sets
            .into_iter()
            .filter_map(|(set, query)| Some((set, query?)));
        let answers = stream::iter(questions).map(|(set, query)| self.answer(set, query, moments));
        let mut answers = answers.buffered(at_once);
        while let Some((set, answer)) = answers.try_next().await? {
            let other = frames.take(set, answer)?;
            // Of the past there may be nothing but what is gone.
            if let (Moments::One(_), Some(example), false) =
                (moments, other, node_addresses.is_empty())
            {
                return Err(Trouble::Foreign {
                    query: set.name(),
                    example,
                });
            }
        }
        Ok(frames.finish())
    }

    /// The answer to one query, which must not be empty: what nobody measures would else pass for what nobody uses.
    async fn answer(
        &self,
        set: Set,
        query: &str,
        moments: Moments,
    ) -> Result<(Set, Answer), Trouble> {
        let query = self.policy.rendered(query);
        let seconds = |millis: i64| format!("{}.{:03}", millis / 1000, millis % 1000);
        let text = match moments {
            Moments::One(at) => {
                let at = seconds(at);
                self.asker
                    .ask(
                        "/api/v1/query",
                        &[("query", &query), ("time", &at)],
                        set.name(),
                    )
                    .await?
            }
            Moments::Many { from, to, step } => {
                let (from, to, step) = (seconds(from), seconds(to), seconds(step));
                let params = [
                    ("query", query.as_str()),
                    ("start", &from),
                    ("end", &to),
                    ("step", &step),
                ];
                self.asker
                    .ask("/api/v1/query_range", &params, set.name())
                    .await?
            }
        };
        let mut answer = answer::series(set.name(), &text)?;
        if let Moments::One(at) = moments {
            answer.all_at(at);
        }
        if answer.series.is_empty() && answer.refused.is_empty() {
            return Err(Trouble::Empty {
                query: set.name(),
                hint: self.hint(),
            });
        }
        Ok((set, answer))
    }

    fn hint(&self) -> String {
        let range = self.policy.range();
        let of_tenants = |name: &str| {
            TENANT_HEADERS
                .iter()
                .any(|header| header.eq_ignore_ascii_case(name))
        };
        let tenant = self
            .policy
            .headers
            .iter()
            .find(|(name, _)| of_tenants(name));
        let tenant = tenant
            .map(|(name, value)| format!(", and is {value:?} the tenant ({name})"))
            .unwrap_or_default();
        format!(
            "does it scrape the kubelets, at least twice in {range:#}{tenant}? `scrapeInterval`, `matchers` and `queries` say what is looked for"
        )
    }
}

/// A look that takes longer would hold up all else.
async fn in_time<T>(
    limit: Duration,
    look: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    tokio::time::timeout(limit, look)
        .await
        .unwrap_or(Err(Trouble::Slow(limit)))
}

#[cfg(test)]
pub(crate) mod tests;
