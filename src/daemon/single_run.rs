//! A single run, as a Job or a CronJob makes it.

use jiff::SignedDuration;
use tokio::time::Instant;
use tracing::info;

use crate::cluster::clock;
use crate::policy::{Basis, Policy, Rule};

use super::cycle::Cycle;
use super::{Daemon, DaemonError, after, sleep_until, stop};

/// Observes until more samples cannot change the plan, acts once, and ends. This is how a Job runs.
///
/// A single run sets no steering taints and removes those that it finds. Nothing would remove them
/// between two runs, once their reason is gone.
///
/// It acts only while it holds the Lease, because a Deployment may run beside it.
pub async fn run_once(mut daemon: Daemon, policy: Policy) -> Result<(), DaemonError> {
    // The future is too large for the stack.
    let ended = Box::pin(run_single(&mut daemon, policy)).await;
    daemon.lead.leave().await;
    daemon.events.finish(stop::LAST_EVENTS).await;
    ended
}

async fn run_single(daemon: &mut Daemon, mut policy: Policy) -> Result<(), DaemonError> {
    let stop = daemon.stop.clone();
    let Some(ledger) = daemon.start().await? else {
        return Ok(());
    };
    if policy.steering.is_on() {
        info!("steering is off: a single run could not remove its taints later");
        policy.steering = policy.steering.off();
    }
    let poll = policy.usage.poll;
    let wait = UsageWait::of(&policy);
    let mut engine = daemon.engine(policy, ledger);
    if wait.longest.is_positive() {
        info!("observing usage before the decision, for at most {:#}", wait.longest);
    }
    let give_up = after(Instant::now(), wait.longest);
    // One success is enough: later failures only let the samples age.
    let mut seen = false;
    while !stop.is_cancelled() {
        let now = Instant::now();
        let polled = stop.run_until_cancelled(daemon.observe(&mut engine)).await;
        seen |= polled == Some(true);
        let enough = (seen || !wait.required) && daemon.has_enough_samples(&engine, clock::now());
        if enough || now >= give_up {
            if !seen && wait.required {
                let why = daemon.usage.unknown_reason().unwrap_or_default();
                return Err(DaemonError::NoUsage(format!("no usage source could be read: {why}")));
            }
            // Not before, so that a run that only observes does not hold the Lease.
            let won = stop.run_until_cancelled(daemon.win_lead(&mut engine));
            let Some(won) = won.await else {
                return Ok(());
            };
            won?;
            if Instant::now() > after(now, poll) {
                daemon.observe(&mut engine).await;
            }
            daemon.check_release(&mut engine, now).await;
            let denied = Cycle::new(daemon, &mut engine).run().await?;
            daemon.finish_record(&mut engine).await;
            if let Some(why) = denied {
                return Err(DaemonError::NoRight(why));
            }
            let given = daemon.approvals.given.as_ref();
            let wanted = given.filter(|_| daemon.approvals.made == 0 && !daemon.is_dry(&engine));
            return wanted
                .map_or(Ok(()), |given| Err(DaemonError::NothingApplied(given.moves.len())));
        }
        let due = after(now, poll).min(give_up);
        daemon.health.beat(due);
        sleep_until(due, &stop).await;
    }
    Ok(())
}

/// How a single run observes usage before it decides.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UsageWait {
    /// A whole window, and then until hot nodes have been hot for `sustainedFor`. Zero if usage
    /// changes no decision.
    pub(super) longest: SignedDuration,
    /// Whether the run fails without usage. Ceilings apply only where usage is known.
    required: bool,
}

impl UsageWait {
    pub(super) fn of(policy: &Policy) -> Self {
        let rules = policy.strategies.iter().map(|s| &s.rule);
        let sustained = rules.filter_map(|rule| sustained_for(rule, policy.exact));
        let usage = &policy.usage;
        let longest = sustained
            .max()
            .map(|s| s.saturating_add(usage.window).saturating_add(usage.stale_after));
        UsageWait { longest: longest.unwrap_or_default(), required: policy.weighs_usage() }
    }
}

/// How long usage must last before a rule acts on it; `None` if the rule ignores usage.
#[expect(clippy::wildcard_enum_match_arm, reason = "the other strategies ignore usage")]
fn sustained_for(rule: &Rule, exact: bool) -> Option<SignedDuration> {
    match rule {
        Rule::LowNodeUtilization(rule) => {
            (rule.basis == Basis::Actual).then_some(rule.sustained_for)
        }
        // Its ceilings limit actual usage with any basis. While the window of a node fills, they
        // admit no pod, so a run that does not wait evicts nothing. `--exact` has no ceilings.
        Rule::HighNodeUtilization(rule) => {
            (rule.basis == Basis::Actual || !exact).then_some(SignedDuration::ZERO)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a single run observes usage with these strategies.
    fn usage_wait(strategies: &str) -> UsageWait {
        let text = format!(
            "apiVersion: evenkeel/v1alpha1\nkind: Policy\n\
             usage: {{window: 2m, staleAfter: 1m}}\nstrategies:\n{strategies}"
        );
        UsageWait::of(&Policy::parse("policy.yaml", &text).unwrap())
    }

    #[test]
    fn a_single_run_waits_for_usage_that_limits_its_destinations() {
        let wait = usage_wait("- highNodeUtilization: {basis: requests, thresholds: {cpu: 20%}}\n");
        assert_eq!(wait.longest, SignedDuration::from_mins(3));
        assert!(!wait.required, "without metrics, requests decide");
    }

    #[test]
    fn a_single_run_does_not_wait_for_usage_that_changes_nothing() {
        let wait = usage_wait("- removeDuplicates: {}\n");
        assert_eq!(wait.longest, SignedDuration::ZERO);
        assert!(!wait.required);
    }

    #[test]
    fn a_single_run_that_weighs_usage_requires_it_and_waits_until_it_is_sustained() {
        let wait = usage_wait(
            "- lowNodeUtilization: {basis: actual, thresholds: {cpu: 20%}, \
             targetThresholds: {cpu: 50%}, sustainedFor: 30s}\n",
        );
        assert_eq!(wait.longest, SignedDuration::from_secs(210));
        assert!(wait.required);
    }
}
