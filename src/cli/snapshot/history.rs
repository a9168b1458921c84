//! The flags of a usage history, and its reading from Prometheus.

use std::path::PathBuf;

use anyhow::{Context, bail};
use jiff::SignedDuration;

use crate::cli::{Misuse, parse, policy};
use crate::cluster::usage_source::prometheus::Prometheus;
use crate::model::guard::recorded::GuardHistory;
use crate::model::snapshot::objects::Objects;
use crate::model::snapshot::{Pod, Snapshot};
use crate::model::usage::recorded::recorder::UsageRecorder;
use crate::model::usage::recorded::{HistoryRange, UsageHistory};
use crate::policy::{Guard, Policy};
use crate::values::text::{age, agree, count, duration};

/// The most values of a pod: ten weeks in steps of five minutes.
const MOST_STEPS: i64 = 20_160;

/// How much of the past to record.
#[derive(Debug, clap::Args)]
pub(super) struct HistoryArgs {
    /// Also record the usage of every pod over this time, such as 24h or 2w, from the Prometheus
    /// of the policy; `simulate --from` replays it
    #[arg(long, value_name = "DURATION", value_parser = parse::history_length)]
    history: Option<SignedDuration>,
    /// With --history: the time from one value to the next; each value is the mean over it
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = parse::history_step,
        default_value = "5m",
        requires = "history"
    )]
    step: SignedDuration,
    /// With --history: the policy, whose usage.prometheus says how to query Prometheus
    #[arg(long, value_name = "FILE", env = "EVENKEEL_POLICY", hide_env_values = true)]
    policy: Option<PathBuf>,
}

/// A Prometheus, and the times to ask it for.
pub(super) struct HistorySource {
    prometheus: Prometheus,
    guards: Vec<Guard>,
    length: SignedDuration,
    step: SignedDuration,
}

impl HistorySource {
    /// The source of the policy; `None` if no history is wanted.
    pub(super) fn new(args: &HistoryArgs) -> anyhow::Result<Option<Self>> {
        let Some(length) = args.history else {
            return Ok(None);
        };
        check_steps(length, args.step)?;
        let Some(path) = &args.policy else {
            let problem = "--history: found no --policy, expected one that names a Prometheus";
            return Err(Misuse(problem.to_owned()).into());
        };
        let Policy { usage, guards, .. } = policy::read(path)?;
        let Some(prometheus) = usage.prometheus.clone() else {
            let problem = "--history: found no usage.prometheus, expected its url";
            return Err(Misuse(format!("{}: {problem}", path.display())).into());
        };
        Ok(Some(HistorySource {
            prometheus: Prometheus::new(prometheus, &usage),
            guards,
            length,
            step: args.step,
        }))
    }

    /// Reads the usage of the nodes and pods. The second value is a note about pods without any.
    pub(super) async fn read(
        &self,
        facts: &Objects,
    ) -> anyhow::Result<(UsageHistory, Option<String>)> {
        let snapshot = Snapshot::join(facts, []);
        let failed = || format!("nothing written: Prometheus at {}", self.prometheus.url());
        let range = self.prometheus.history_range(self.length, self.step);
        let range = range.await.with_context(failed)?;
        let mut recorder = UsageRecorder::new(&snapshot, range);
        self.prometheus
            .read_history(&facts.node_addresses(), range, |at, readings| {
                recorder.add(at, readings);
            })
            .await
            .with_context(failed)?;
        let history = recorder.finish();
        if history.nodes.is_empty() || history.pods.is_empty() {
            bail!(
                "{}: found no usage of these nodes and pods: do `matchers` select this cluster, \
                 and do `nodeLabels` name the label of the node?",
                failed()
            );
        }
        let note = missing(&snapshot, &history);
        Ok((history, note))
    }
}

impl HistorySource {
    /// Reads the series of the guards at the times of the usage. The second value has a note for
    /// each guard without an answer.
    pub(super) async fn read_guards(
        &self,
        range: HistoryRange,
    ) -> (Vec<GuardHistory>, Vec<String>) {
        let (mut all, mut notes) = (Vec::new(), Vec::new());
        for guard in &self.guards {
            match self.prometheus.guard_history(guard, range).await {
                Ok(answers) => all.extend(GuardHistory::of(&guard.name, range, &answers)),
                Err(error) => notes.push(format!(
                    "the snapshot has no guard {}: Prometheus at {} {error}",
                    guard.name,
                    self.prometheus.url()
                )),
            }
        }
        (all, notes)
    }
}

/// Limits the number of values of a pod, and so the size of the file.
fn check_steps(length: SignedDuration, step: SignedDuration) -> anyhow::Result<()> {
    let steps = length.as_secs() / step.as_secs().max(1);
    let problem = match steps {
        2..=MOST_STEPS => return Ok(()),
        ..2 => format!("expected at most {}", duration(length / 2)),
        _ => {
            let least = SignedDuration::from_secs((length.as_secs() + MOST_STEPS - 1) / MOST_STEPS);
            format!("expected at least {}", duration(least))
        }
    };
    let (step, length) = (duration(step), age(length));
    Err(Misuse(format!("--step: found {step} for a history of {length}, {problem}")).into())
}

/// A note about running pods without any value.
fn missing(snapshot: &Snapshot, history: &UsageHistory) -> Option<String> {
    let lacks = |pod: &&Pod| {
        let name = (pod.namespace.clone(), pod.name.clone());
        pod.stays() && pod.node.is_some() && !history.pods.contains_key(&name)
    };
    let missing = snapshot.pods.iter().filter(lacks).count();
    let have = agree(missing, "has", "have");
    (missing > 0).then(|| format!("{} {have} no recorded usage", count(missing, "pod")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_as_long_as_the_history_needs() {
        let [minute, day] = [SignedDuration::from_mins(1), SignedDuration::from_hours(24)];
        let problem = |length, step| check_steps(length, step).map_err(|e| e.to_string());
        assert_eq!(problem(day * 84, minute * 6), Ok(()));
        assert_eq!(
            problem(day * 84, minute * 5),
            Err("--step: found 5m for a history of 84d, expected at least 6m".to_owned())
        );
        assert_eq!(
            problem(minute * 10, minute * 60),
            Err("--step: found 1h for a history of 10m, expected at most 5m".to_owned())
        );
    }
}
