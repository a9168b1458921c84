//! Leader election among several instances; the flags have the names that Kubernetes gives them.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use kube::Client;

use crate::cluster::lease::election::LeaseTiming;
use crate::cluster::lease::{Candidacy, Elector};
use crate::daemon::LeaderRole;

use super::parse::BooleanFlag;
use super::{Misuse, parse};

/// The default name of the Lease.
pub(super) const LEASE: &str = "evenkeel";
/// The default name with `--policy-config-file`: the one that descheduler uses.
const DESCHEDULER_LEASE: &str = "descheduler";

const NOT_WITH_ONCE: &str = "\
--leader-elect: found a single run, expected a daemon: leave out --leader-elect; a daemon runs \
without --once, and with --policy-config-file only if it has --descheduling-interval";

/// The flags of leader election, with the defaults of descheduler.
#[expect(clippy::struct_field_names, reason = "the flags are named after the fields")]
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Leader election")]
pub(super) struct LeaderElectionArgs {
    /// Evict only while holding a Lease, so that one of several instances is active; not with
    /// --once
    #[arg(long, boolean(), default_value = "false")]
    leader_elect: bool,
    /// Time without a renewal after which another instance takes over
    #[arg(long, value_name = "DURATION", default_value = "137s", value_parser = parse::timer)]
    leader_elect_lease_duration: Duration,
    /// Time for which a leader keeps trying to renew the Lease; less than the lease duration
    #[arg(long, value_name = "DURATION", default_value = "107s", value_parser = parse::timer)]
    leader_elect_renew_deadline: Duration,
    /// Time between two renewals by the leader, and between two attempts by the others
    #[arg(long, value_name = "DURATION", default_value = "26s", value_parser = parse::timer)]
    leader_elect_retry_period: Duration,
    /// Name of the Lease [default: evenkeel, or descheduler with --policy-config-file, where a
    /// single run takes no Lease that is not named]
    #[arg(long, value_name = "NAME")]
    leader_elect_resource_name: Option<String>,
    /// Namespace of the Lease [default: the namespace of the ledger]
    #[arg(long, value_name = "NAME")]
    leader_elect_resource_namespace: Option<String>,
    /// Kind of the lock; only Leases are supported
    #[arg(
        long,
        value_name = "KIND",
        default_value = "leases",
        value_parser = ["leases"],
        hide_possible_values = true
    )]
    leader_elect_resource_lock: String,
}

/// The name of this instance, and the Lease that is used unless the flags name another.
pub(super) struct LeaseDefaults<'a> {
    pub(super) instance: &'a str,
    pub(super) namespace: &'a str,
    pub(super) as_descheduler: bool,
}

impl LeaderElectionArgs {
    /// The durations of the election, or nothing if this instance takes no Lease.
    pub(super) fn timing(
        &self,
        once: bool,
        as_descheduler: bool,
    ) -> Result<Option<LeaseTiming>, Misuse> {
        match (self.leader_elect, once) {
            // A single run would end, and release the Lease, before another instance could need it.
            (true, true) => Err(Misuse(NOT_WITH_ONCE.to_owned())),
            (true, false) => self.checked_timing().map(Some),
            // descheduler's roles give a Job or CronJob no right to a Lease, and these name none.
            (false, true) if as_descheduler && self.leader_elect_resource_name.is_none() => {
                Ok(None)
            }
            // A single run never acts beside a leader, so it holds the Lease during its cycle.
            (false, true) => Ok(Some(self.checked_timing()?.of_single_run())),
            (false, false) => Ok(None),
        }
    }

    fn checked_timing(&self) -> Result<LeaseTiming, Misuse> {
        LeaseTiming::new(
            self.leader_elect_lease_duration,
            self.leader_elect_renew_deadline,
            self.leader_elect_retry_period,
        )
        .map_err(|error| Misuse(format!("leader election: {error}")))
    }

    /// The role of this instance in the election.
    pub(super) fn lead(
        &self,
        timing: LeaseTiming,
        defaults: &LeaseDefaults<'_>,
        client: &Client,
    ) -> LeaderRole {
        let default_name = if defaults.as_descheduler { DESCHEDULER_LEASE } else { LEASE };
        let name = self.leader_elect_resource_name.as_deref();
        let namespace = self.leader_elect_resource_namespace.as_deref();
        let candidacy = Candidacy {
            namespace: namespace.unwrap_or(defaults.namespace).to_owned(),
            name: name.unwrap_or(default_name).to_owned(),
            // As in client-go: the name of the host and a random part.
            identity: format!("{}_{:016x}", defaults.instance, random()),
            timing,
        };
        let (elector, leadership) = Elector::new(client.clone(), candidacy);
        LeaderRole::candidate(elector, leadership)
    }
}

/// A number that differs between processes: a restarted container keeps its name but is another
/// candidate.
fn random() -> u64 {
    // The standard library seeds the hasher with random numbers of the operating system.
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct ElectionOnly {
        #[command(flatten)]
        election: LeaderElectionArgs,
    }

    fn election(line: &str) -> LeaderElectionArgs {
        let line = format!("evenkeel {line}");
        let parsed = ElectionOnly::try_parse_from(line.split_whitespace());
        parsed.unwrap_or_else(|error| panic!("{error}")).election
    }

    fn timing(line: &str, once: bool) -> Result<Option<LeaseTiming>, String> {
        election(line).timing(once, false).map_err(|misuse| misuse.to_string())
    }

    #[test]
    fn there_is_no_election_unless_requested() {
        for line in ["", "--leader-elect=false", "--leader-elect-lease-duration 15s"] {
            assert_eq!(timing(line, false), Ok(None), "{line}");
        }
    }

    /// Like the CronJob of the chart, which names the Lease.
    #[test]
    fn a_single_run_takes_the_lease_unless_it_runs_as_descheduler_and_names_none() {
        let takes_lease = |line: &str, as_descheduler: bool| {
            election(line).timing(true, as_descheduler).unwrap().is_some()
        };
        assert!(takes_lease("", false));
        assert!(!takes_lease("", true));
        assert!(takes_lease("--leader-elect-resource-name=evenkeel", true));
    }

    #[test]
    fn the_durations_default_to_those_of_descheduler() {
        let [lease, renew, retry] = [137, 107, 26].map(Duration::from_secs);
        assert_eq!(timing("--leader-elect", false), Ok(LeaseTiming::new(lease, renew, retry).ok()));
        let error =
            timing("--leader-elect=true --leader-elect-lease-duration 15s", false).unwrap_err();
        assert_eq!(
            error,
            "leader election: the renew deadline is 107s, expected less than the lease duration of \
                15s"
        );
    }

    #[test]
    fn a_single_run_cannot_take_part_in_an_election() {
        let error = timing("--leader-elect", true).unwrap_err();
        assert!(error.starts_with("--leader-elect: found a single run"), "{error}");
    }

    #[test]
    fn two_processes_have_different_identities() {
        assert_ne!(random(), random());
    }
}
