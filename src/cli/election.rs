//! Who of several instances acts: the flags of leader election, by the names that Kubernetes gives them.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use jiff::SignedDuration;
use kube::Client;

use crate::cluster::lease::election::Timing;
use crate::cluster::lease::{Candidacy, Elector};
use crate::daemon::LeaderRole;

use super::{Misuse, run};

/// The name of the Lease where no other is given, and where descheduler would keep it.
const NAMES: (&str, &str) = ("evenkeel", "descheduler");

const ONCE: &str = "--leader-elect makes no sense for a single run: leave out one of the two; with --policy-config-file, \
                    which runs once by itself, give a --descheduling-interval";

/// The flags; the defaults are those of descheduler.
#[expect(clippy::struct_field_names, reason = "the flags are named after them")]
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Leader election")]
pub(super) struct Election {
    /// Act only while holding a Lease: of several instances one acts, the others stand by; not with --once
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false",
        value_name = "BOOL", hide_possible_values = true, action = clap::ArgAction::Set)]
    leader_elect: bool,
    /// How long a leader has to be silent before another takes over
    #[arg(long, value_name = "DURATION", default_value = "137s", value_parser = duration)]
    leader_elect_lease_duration: Duration,
    /// How long a leader that cannot renew the Lease goes on; less than the lease duration
    #[arg(long, value_name = "DURATION", default_value = "107s", value_parser = duration)]
    leader_elect_renew_deadline: Duration,
    /// How often the leader renews the Lease and the others look at it
    #[arg(long, value_name = "DURATION", default_value = "26s", value_parser = duration)]
    leader_elect_retry_period: Duration,
    /// The name of the Lease [default: evenkeel; with --policy-config-file: descheduler]
    #[arg(long, value_name = "NAME")]
    leader_elect_resource_name: Option<String>,
    /// The namespace of the Lease [default: that of the ledger]
    #[arg(long, value_name = "NAME")]
    leader_elect_resource_namespace: Option<String>,
    /// What is held; there is nothing but a Lease
    #[arg(long, value_name = "KIND", default_value = "leases", value_parser = ["leases"], hide_possible_values = true)]
    leader_elect_resource_lock: String,
}

impl Election {
    /// The durations, where others are to be reckoned with. `once` is a single run.
    pub(super) fn timing(&self, once: bool) -> Result<Option<Timing>, Misuse> {
        if !self.leader_elect {
            return Ok(None);
        }
        if once {
            return Err(Misuse(ONCE.to_owned()));
        }
        let (lease, renew) = (
            self.leader_elect_lease_duration,
            self.leader_elect_renew_deadline,
        );
        let timing = Timing::new(lease, renew, self.leader_elect_retry_period);
        timing
            .map(Some)
            .map_err(|error| Misuse(format!("leader election: {error}")))
    }

    /// Our part, as the instance of this name.
    pub(super) fn lead(&self, timing: Timing, args: &run::Args, client: &Client) -> LeaderRole {
        let usual = if args.as_descheduler() {
            NAMES.1
        } else {
            NAMES.0
        };
        let namespace = self
            .leader_elect_resource_namespace
            .as_ref()
            .unwrap_or(&args.shared.namespace);
        let candidacy = Candidacy {
            namespace: namespace.clone(),
            name: self
                .leader_elect_resource_name
                .clone()
                .unwrap_or_else(|| usual.to_owned()),
            identity: format!("{}_{:016x}", args.instance, chance()),
            timing,
        };
        LeaderRole::candidate(Elector::new(client.clone(), candidacy))
    }
}

/// A number that no other process has: a container that is started again has the same name, and is another candidate.
fn chance() -> u64 {
    // Seeded by the operating system.
    RandomState::new().build_hasher().finish()
}

/// A duration as Go writes it.
fn duration(text: &str) -> Result<Duration, String> {
    let read: Option<SignedDuration> = text.parse().ok();
    read.and_then(|it| Duration::try_from(it).ok())
        .ok_or_else(|| "expected a duration such as 15s".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Only {
        #[command(flatten)]
        election: Election,
    }

    fn timing(line: &str, once: bool) -> Result<Option<Timing>, String> {
        let line = format!("evenkeel {line}");
        let only = Only::try_parse_from(line.split_whitespace()).unwrap_or_else(|e| panic!("{e}"));
        only.election
            .timing(once)
            .map_err(|misuse| misuse.to_string())
    }

    #[test]
    fn unless_it_is_asked_for_there_is_no_election() {
        for line in [
            "",
            "--leader-elect=false",
            "--leader-elect-lease-duration 15s",
        ] {
            assert_eq!(timing(line, true), Ok(None), "{line}");
        }
    }

    #[test]
    fn the_durations_are_those_of_descheduler() {
        let [lease, renew, retry] = [137, 107, 26].map(Duration::from_secs);
        assert_eq!(
            timing("--leader-elect", false),
            Ok(Timing::new(lease, renew, retry).ok())
        );
        let error = timing(
            "--leader-elect=true --leader-elect-lease-duration 15s",
            false,
        )
        .unwrap_err();
        assert_eq!(
            error,
            "leader election: the renew deadline is 107s, expected less than the lease duration of 15s"
        );
    }

    #[test]
    fn a_single_run_has_nobody_to_hand_over_to() {
        let error = timing("--leader-elect", true).unwrap_err();
        assert!(
            error.starts_with("--leader-elect makes no sense for a single run: "),
            "{error}"
        );
    }

    #[test]
    fn no_two_processes_have_the_same_name() {
        assert_ne!(chance(), chance());
    }

    #[test]
    fn durations_are_read_as_go_writes_them() {
        assert_eq!(duration("2m17s"), Ok(Duration::from_secs(137)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert!(duration("-5s").is_err() && duration("soon").is_err());
    }
}
