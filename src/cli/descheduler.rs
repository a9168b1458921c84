//! The command line of descheduler, taken as it stands, so that a manifest needs no other change than its image.
//!
//! Some flags mean something here too, some are understood and have no effect, and none is passed over in silence.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, FromArgMatches};
use jiff::SignedDuration;

use crate::policy::Policy;
use crate::values::selector::Selector;

use super::otlp::OtelFlags;

/// Flags that have a meaning here, and those that have none.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "As descheduler")]
pub(super) struct Flags {
    /// The policy, in place of --policy; without an interval it is carried out once
    #[arg(long, value_name = "FILE")]
    pub(super) policy_config_file: Option<PathBuf>,
    /// The time between two cycles, as `interval` in the policy; 0 is once
    #[arg(long, value_name = "DURATION", value_parser = interval)]
    pub(super) descheduling_interval: Option<SignedDuration>,
    /// How to reach the cluster, as --kubeconfig
    #[arg(long, value_name = "FILE", conflicts_with = "kubeconfig")]
    pub(super) client_connection_kubeconfig: Option<PathBuf>,
    /// Log lines for people or for machines, as --log-format
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(super) logging_format: Option<super::LogFormat>,
    /// How much to log: from 4 on what --log-level debug does
    #[arg(short = 'v', long = "v", value_name = "LEVEL", value_parser = clap::value_parser!(i32))]
    pub(super) verbosity: Option<i32>,
    /// Nodes to look at, as `nodeSelector` in the policy
    #[arg(long, value_name = "SELECTOR", value_parser = selector)]
    node_selector: Option<Selector>,
    /// Pods with local storage may go, as `evictable.allow: [localStorage]` in the policy
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    evict_local_storage_pods: Option<bool>,
    /// Evictions from one node in one cycle, as `limits.perNode` in the policy
    #[arg(long, value_name = "COUNT")]
    max_pods_to_evict_per_node: Option<u32>,
    /// Where probes and metrics answer by TLS as well [default with --policy-config-file: 10258; 0 is nowhere]
    #[arg(long, value_name = "PORT")]
    secure_port: Option<u16>,
    /// The address of --secure-port
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0")]
    bind_address: IpAddr,
    #[command(flatten)]
    pub(super) otel: OtelFlags,
    #[command(flatten)]
    idle: Idle,
}

/// The flags without a meaning here that were given, each with the reason.
#[derive(Debug, Default)]
struct Idle(Vec<(&'static str, &'static str)>);

/// Whether a flag stands alone, as `--flag` or `--flag=true`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Value,
    Bool,
}

const RATE: &str = "objects are watched rather than asked for, and `limits` bound the evictions";
const LISTEN: &str =
    "probes and metrics answer by a certificate of our own making, or where --listen says";
const LOG: &str = "the log goes to standard error at once; --log-level takes modules";

/// Flags without a meaning here.
const IDLE: [(&str, Takes, &str); 18] = [
    ("client-connection-qps", Takes::Value, RATE),
    ("client-connection-burst", Takes::Value, RATE),
    ("disable-metrics", Takes::Bool, "metrics are always served"),
    ("feature-gates", Takes::Value, "there are no feature gates"),
    (
        "enable-http2",
        Takes::Bool,
        "probes and metrics answer on HTTP/1.1",
    ),
    ("permit-address-sharing", Takes::Bool, LISTEN),
    ("permit-port-sharing", Takes::Bool, LISTEN),
    ("cert-dir", Takes::Value, LISTEN),
    ("tls-cert-file", Takes::Value, LISTEN),
    ("tls-private-key-file", Takes::Value, LISTEN),
    ("tls-cipher-suites", Takes::Value, LISTEN),
    ("tls-min-version", Takes::Value, LISTEN),
    ("tls-sni-cert-key", Takes::Value, LISTEN),
    ("http2-max-streams-per-connection", Takes::Value, LISTEN),
    ("disable-http2-serving", Takes::Bool, LISTEN),
    ("vmodule", Takes::Value, LOG),
    ("log-flush-frequency", Takes::Value, LOG),
    ("logtostderr", Takes::Bool, LOG),
];

impl clap::Args for Idle {
    fn augment_args(command: Command) -> Command {
        let arguments = IDLE.map(|(flag, takes, _)| {
            let argument = Arg::new(flag).long(flag).hide(true);
            match takes {
                Takes::Value => argument,
                Takes::Bool => argument
                    .num_args(0..=1)
                    .require_equals(true)
                    .default_missing_value("true"),
            }
        });
        command.args(arguments)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Idle {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let value = |flag| matches.get_one::<String>(flag);
        // What is said not to be wanted is not missed.
        let given = IDLE.iter().filter(|(flag, takes, _)| {
            value(flag).is_some_and(|v| {
                *takes == Takes::Value || !["false", "0", "f"].contains(&v.as_str())
            })
        });
        Ok(Idle(given.map(|(flag, _, why)| (*flag, *why)).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Arguments that begin with a flag are those of descheduler, which has no `run`.
pub(super) fn with_command(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let ours = ["-h", "--help", "-V", "--version"];
    let first = arguments.get(1).and_then(|a| a.to_str());
    if first.is_some_and(|a| a.starts_with('-') && a != "-" && !ours.contains(&a)) {
        arguments.insert(1, "run".into());
    }
    arguments
}

impl Flags {
    /// Whether the policy is to be carried out once and no more: with an interval of 0, and as descheduler does it
    /// where there is none.
    pub(super) const fn once(&self) -> bool {
        match self.descheduling_interval {
            Some(interval) => interval.is_zero(),
            None => self.policy_config_file.is_some(),
        }
    }

    /// Where descheduler would answer probes.
    pub(super) fn secure(&self) -> Option<SocketAddr> {
        let port = self
            .secure_port
            .or(self.policy_config_file.is_some().then_some(10258));
        port.filter(|port| *port != 0)
            .map(|port| SocketAddr::new(self.bind_address, port))
    }

    /// The policy with what the flags say of it.
    pub(super) fn apply(&self, mut policy: Policy) -> Policy {
        if let Some(interval) = self.descheduling_interval.filter(|i| !i.is_zero()) {
            policy.interval = interval;
        }
        if let Some(selector) = &self.node_selector {
            policy.node_selector = Some(selector.clone()).filter(|s| !s.is_empty());
        }
        if self.max_pods_to_evict_per_node.is_some() {
            policy.limits.per_node = self.max_pods_to_evict_per_node;
        }
        if self.evict_local_storage_pods == Some(true) {
            for profile in &mut policy.profiles {
                profile.evictable.protected.local_storage = false;
            }
        }
        policy
    }

    /// What to log.
    pub(super) fn log_level(&self) -> Option<&'static str> {
        self.verbosity
            .map(|level| if level >= 4 { "debug" } else { "info" })
    }

    /// Each flag that is given and has no effect, with the reason.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.idle
            .0
            .iter()
            .map(|(flag, why)| format!("--{flag} has no effect: {why}"))
            .collect()
    }
}

/// A duration as Go writes it, `0` among them.
fn interval(text: &str) -> Result<SignedDuration, String> {
    let expected = || "expected a duration such as 5m, or 0 for once".to_owned();
    let duration = if text == "0" {
        SignedDuration::ZERO
    } else {
        text.parse().map_err(|_| expected())?
    };
    let usable = duration.is_zero() || duration >= SignedDuration::from_secs(1);
    if usable {
        Ok(duration)
    } else {
        Err(expected())
    }
}

fn selector(text: &str) -> Result<Selector, String> {
    Selector::parse(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Only {
        #[command(flatten)]
        flags: Flags,
        #[arg(long)]
        policy: Option<PathBuf>,
        #[arg(long)]
        kubeconfig: Option<PathBuf>,
    }

    fn flags(line: &str) -> Flags {
        Only::try_parse_from(format!("evenkeel {line}").split_whitespace())
            .unwrap_or_else(|e| panic!("{e}"))
            .flags
    }

    #[test]
    fn the_command_lines_of_its_manifests_are_understood() {
        let deployment =
            flags("--policy-config-file /policy-dir/policy.yaml --descheduling-interval 5m --v 3");
        assert!(!deployment.once());
        assert_eq!(
            deployment.descheduling_interval,
            Some(SignedDuration::from_mins(5))
        );
        assert_eq!(deployment.log_level(), Some("info"));
        assert!(flags("--policy-config-file=/policy-dir/policy.yaml -v=4").once());
        assert_eq!(flags("-v=4").log_level(), Some("debug"));
        assert!(flags("--policy-config-file p --descheduling-interval 0").once());
        assert!(!flags("").once());
        let old = flags(
            "-v=3 --evict-local-storage-pods --max-pods-to-evict-per-node=7 --node-selector a=b",
        );
        let policy = old.apply(
            Policy::parse(
                "p",
                "{apiVersion: descheduler/v1alpha2, profiles: [{name: a}]}",
            )
            .unwrap(),
        );
        assert!(!policy.profiles[0].evictable.protected.local_storage);
        assert_eq!(
            (
                policy.limits.per_node,
                policy.node_selector.unwrap().to_string().as_str()
            ),
            (Some(7), "a=b")
        );
    }

    #[test]
    fn probes_answer_where_its_manifests_ask_for_them() {
        let secure = |line: &str| flags(line).secure().map(|a| a.to_string());
        assert_eq!(
            secure("--policy-config-file p --v 3").as_deref(),
            Some("0.0.0.0:10258")
        );
        assert_eq!(
            secure("--policy-config-file p --secure-port 9443 --bind-address ::1").as_deref(),
            Some("[::1]:9443")
        );
        assert_eq!(secure("--policy-config-file p --secure-port=0"), None);
        assert_eq!(secure(""), None);
    }

    #[test]
    fn what_has_no_effect_is_named() {
        let given = flags("--disable-metrics=true --secure-port=0 --enable-http2 --vmodule=x");
        let warnings = given.warnings();
        assert_eq!(warnings.len(), 3, "{warnings:#?}");
        assert!(warnings[0].starts_with("--disable-metrics has no effect: "));
        assert!(flags("--disable-metrics=false --v 2").warnings().is_empty());
    }

    #[test]
    fn a_line_that_begins_with_a_flag_is_one_to_run() {
        let second =
            |text: &str| with_command(text.split(' ').map(OsString::from).collect()).remove(1);
        assert_eq!(second("evenkeel --policy-config-file=p --v 3"), "run");
        assert_eq!(second("evenkeel plan --all"), "plan");
        assert_eq!(second("evenkeel --version"), "--version");
    }
}
