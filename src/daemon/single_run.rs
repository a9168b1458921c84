//! A single run, as a Job or a CronJob makes it.

use jiff::SignedDuration;
use tokio::time::Instant;
use tracing::info;

use crate::cluster::clock;
use crate::model::approval::{Proposal, ProposedMove};
use crate::model::ledger::{Ledger, State};
use crate::policy::{Basis, Policy, Rule};

use super::cycle::Cycle;
use super::{Daemon, DaemonError, after, sleep_until, stop};

/// Observes until more samples cannot change the plan, acts once, and ends. This is how a Job runs.
///
/// A single run sets no steering taints and removes those that it finds. Nothing would remove them
/// between two runs, once their reason is gone.
///
/// It acts only while it holds the Lease, because a Deployment may run beside it.
///
/// A signal is a clean end only once the cycle has begun. Before, nothing of what was asked for is
/// done, and a Job or a pipeline must see that.
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
        return Err(DaemonError::Stopped);
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
            won.await.unwrap_or(Err(DaemonError::Stopped))?;
            if Instant::now() > after(now, poll) {
                daemon.observe(&mut engine).await;
            }
            daemon.check_release(&mut engine, now).await;
            if stop.is_cancelled() {
                break;
            }
            let denied = Cycle::new(daemon, &mut engine).run().await?;
            daemon.finish_record(&mut engine).await;
            if let Some(why) = denied {
                return Err(DaemonError::NoRight(why));
            }
            let given = daemon.approvals.given.as_ref();
            let wanted = given.filter(|_| daemon.approvals.made == 0 && !engine.policy().dry_run);
            return wanted.map_or(Ok(()), |given| Err(nothing_applied(given, engine.ledger())));
        }
        let due = after(now, poll).min(give_up);
        daemon.health.beat(due);
        sleep_until(due, &stop).await;
    }
    Err(DaemonError::Stopped)
}

/// None of the evictions of a plan was possible. Some may have been made by an earlier run.
fn nothing_applied(given: &Proposal, ledger: &Ledger) -> DaemonError {
    let entries = ledger.entries().iter().filter(|entry| entry.state != State::Intended);
    let is_made = |one: &&ProposedMove| entries.clone().any(|entry| entry.uid == one.uid);
    let made = given.moves.iter().filter(is_made).count();
    DaemonError::NothingApplied { planned: given.moves.len(), made }
}

/// How a single run observes usage before it decides.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UsageWait {
    /// A whole window, then until hot nodes have been hot for `sustainedFor`, and until late
    /// samples have arrived. Zero if usage changes no decision.
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
    use std::time::Duration;

    use jiff::Timestamp;
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use crate::daemon::cycle::tests::{owned, violating_pods};
    use crate::daemon::fixture::{answer, client, objects, replica_set};
    use crate::model::usage::{Readings, import};

    const NO_USAGE_NEEDED: &str = "- removePodsViolatingNodeTaints: {}\n";
    const BY_USAGE: &str = "- lowNodeUtilization: {basis: actual, thresholds: {cpu: 20%}, \
                            targetThresholds: {cpu: 50%}}\n";

    fn policy(strategies: &str) -> Policy {
        let text = format!(
            "apiVersion: evenkeel/v1alpha1\nkind: Policy\n\
             evictable: {{minReplicas: 1, minPodAge: 0s}}\nstrategies:\n{strategies}"
        );
        Policy::parse("policy.yaml", &text).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_single_run_that_is_stopped_before_its_cycle_fails() {
        for (unanswered, strategies) in [
            ("any list", NO_USAGE_NEEDED),
            ("/configmaps", NO_USAGE_NEEDED),
            ("/metrics.k8s.io", BY_USAGE),
            ("nothing", BY_USAGE),
            ("/version", NO_USAGE_NEEDED),
        ] {
            let client = client(move |request| {
                let path = request.uri().path().to_owned();
                async move {
                    if path.contains(unanswered) {
                        std::future::pending::<()>().await;
                    }
                    answer(&path)
                }
            });
            let policy = policy(strategies);
            let daemon = Daemon::fake(&client, &policy);
            daemon.cluster.apply(objects(0));
            if unanswered != "any list" {
                daemon.cluster.list_all();
            }
            let stop = daemon.stop.clone();
            let signal = async {
                tokio::time::sleep(Duration::from_secs(5)).await;
                stop.cancel();
            };
            let (ended, ()) = tokio::join!(run_once(daemon, policy), signal);
            assert_eq!(
                ended.unwrap_err().to_string(),
                "no evictions: stopped by a signal before the cycle",
                "{unanswered}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_single_run_that_is_stopped_in_its_cycle_ends_well() {
        let stop = CancellationToken::new();
        let signal = stop.clone();
        let client = client(move |request| {
            let path = request.uri().path().to_owned();
            if path.ends_with("/eviction") {
                signal.cancel();
            }
            async move { answer(&path) }
        });
        let policy = policy(NO_USAGE_NEEDED);
        let (mut daemon, _) = violating_pods(&client, policy.clone()).await;
        daemon.cluster.list_all();
        daemon.stop = stop.clone();
        run_once(daemon, policy).await.unwrap();
        assert!(stop.is_cancelled(), "by the first eviction");
    }

    #[test]
    fn a_plan_that_was_carried_out_before_says_so() {
        let ledger = r#"{"version": 1, "resting": {}, "entries": [
            {"workload": "shop/ReplicaSet/web", "pod": "web-1", "uid": "u-1", "node": "n1",
            "at": "2026-11-21T12:00:00Z", "newest": "2026-11-21T11:00:00Z", "state": "evicted"}]}"#;
        let moves = ["u-1", "u-2"].map(|uid| ProposedMove {
            namespace: "shop".to_owned(),
            pod: "web-1".to_owned(),
            uid: uid.to_owned(),
            node: "n1".to_owned(),
            possible_nodes: Vec::new(),
            strategy: "LowNodeUtilization".to_owned(),
            why: String::new(),
        });
        let plan = Proposal::new(START, moves.to_vec());
        let error = |ledger: &Ledger| nothing_applied(&plan, ledger).to_string();
        let none = "no evictions: the plan has 2 evictions, and none is possible now";
        assert_eq!(error(&Ledger::default()), none);
        assert_eq!(error(&Ledger::parse(ledger).unwrap()), format!("{none}; 1 made before"));
    }

    #[tokio::test]
    async fn a_single_run_waits_until_the_pods_of_a_hot_node_have_enough_samples() {
        let strategies = format!("{BY_USAGE}usage: {{window: 30s, poll: 15s, minSamples: 3}}\n");
        let policy = policy(&strategies);
        let client = client(async |_| String::new());
        let daemon = Daemon::fake(&client, &policy);
        daemon.cluster.apply(objects(0));
        daemon.cluster.apply((0..4).map(|i| owned(&format!("web-{i}"))));
        daemon.cluster.apply((0..4).map(|i| replica_set(&format!("web-{i}-set"))));
        let mut engine = daemon.engine(policy, Ledger::default());
        let mut enough = Vec::new();
        for at in [0, 15, 30].map(|seconds| START + SignedDuration::from_secs(seconds)) {
            let snapshot = daemon.cluster.snapshot(engine.policy().resources());
            engine.observe(&snapshot, &hot_readings(at), at);
            enough.push(daemon.has_enough_samples(&engine, at));
        }
        assert_eq!(enough, [false, false, true]);
        let snapshot = daemon.cluster.snapshot(engine.policy().resources());
        let plan = engine.decide(&snapshot, START + SignedDuration::from_secs(30));
        assert!(!plan.moves.is_empty(), "{:?}", plan.kept);
    }

    /// An hour after the pods were created.
    const START: Timestamp = Timestamp::constant(1_795_266_000, 0);

    /// Samples of four pods that use most of the first node. The other nodes use little.
    fn hot_readings(at: Timestamp) -> Readings {
        let mut readings = Readings::default();
        let mut read = |object: serde_json::Value| import::take(&object, &mut readings);
        let used = |cpu: &str| json!({"cpu": cpu, "memory": "1Gi"});
        for (node, cpu) in [("n1", "3600m"), ("n2", "100m"), ("n3", "100m")] {
            read(json!({"apiVersion": "metrics.k8s.io/v1beta1", "kind": "NodeMetrics",
                "metadata": {"name": node}, "timestamp": at, "window": "15s", "usage": used(cpu)}));
        }
        for pod in (0..4).map(|i| format!("web-{i}")) {
            let containers = json!([{"name": "c", "usage": used("850m")}]);
            read(json!({"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
                "metadata": {"namespace": "shop", "name": pod}, "timestamp": at,
                "window": "15s", "containers": containers}));
        }
        readings
    }

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
