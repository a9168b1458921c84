//! The command line of descheduler, so that a manifest needs no change but its image.
//!
//! Some flags have a meaning here. The others are accepted, and a warning says that they have no
//! effect.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use jiff::SignedDuration;

use crate::policy::Policy;
use crate::values::selector::Selector;

use super::otlp::OtelFlags;
use super::parse::{self, BooleanFlag};

/// descheduler's default for `--secure-port`.
const SECURE_PORT: u16 = 10258;

/// The flags of descheduler.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Flags of descheduler")]
pub(super) struct DeschedulerArgs {
    /// Policy, instead of --policy; runs once unless an interval is given
    #[arg(long, value_name = "FILE")]
    pub(super) policy_config_file: Option<PathBuf>,
    /// Time between two cycles, instead of `interval` in the policy; 0 runs once
    #[arg(long, value_name = "DURATION", value_parser = parse::interval)]
    pub(super) descheduling_interval: Option<SignedDuration>,
    /// Same as --kubeconfig
    #[arg(long, value_name = "FILE", conflicts_with = "kubeconfig")]
    pub(super) client_connection_kubeconfig: Option<PathBuf>,
    /// Same as --log-format
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(super) logging_format: Option<super::LogFormat>,
    /// Verbosity; 4 and above is --log-level debug
    #[arg(short = 'v', long = "v", value_name = "LEVEL", value_parser = clap::value_parser!(i32))]
    pub(super) verbosity: Option<i32>,
    /// Nodes to process, instead of `nodeSelector` in the policy
    #[arg(long, value_name = "SELECTOR", value_parser = selector)]
    node_selector: Option<Selector>,
    /// Allow evictions of pods with local storage, as `evictable.allow: [localStorage]` in the
    /// policy
    #[arg(long, boolean())]
    evict_local_storage_pods: Option<bool>,
    /// Most evictions per node and cycle, as `limits.perNode` in the policy
    #[arg(long, value_name = "COUNT")]
    max_pods_to_evict_per_node: Option<u32>,
    /// Port for probes and metrics over TLS; 0 disables it [default: 10258 with
    /// --policy-config-file]
    #[arg(long, value_name = "PORT")]
    secure_port: Option<u16>,
    /// Address for --secure-port
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0")]
    bind_address: IpAddr,
    #[command(flatten)]
    pub(super) otel: OtelFlags,
    #[command(flatten)]
    ignored: IgnoredFlags,
}

/// The given flags that have no effect, each with the reason.
#[derive(Debug, Default)]
struct IgnoredFlags(Vec<(&'static str, &'static str)>);

/// The value of a flag. Boolean flags may omit it: `--flag` is `--flag=true`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FlagValue {
    Required,
    OptionalBool,
}
use FlagValue::{OptionalBool, Required};

const RATE: &str = "objects are watched, not polled, and `limits` bounds the evictions";
const LISTEN: &str = "--secure-port uses a self-signed certificate, and --listen serves plain HTTP";
const LOG: &str =
    "the log goes to standard error without a buffer; --log-level sets levels per module";

/// The flags without effect.
const IGNORED: [(&str, FlagValue, &str); 18] = [
    ("client-connection-qps", Required, RATE),
    ("client-connection-burst", Required, RATE),
    ("disable-metrics", OptionalBool, "metrics are always served"),
    ("feature-gates", Required, "there are no feature gates"),
    ("enable-http2", OptionalBool, "probes and metrics are served over HTTP/1.1"),
    ("permit-address-sharing", OptionalBool, LISTEN),
    ("permit-port-sharing", OptionalBool, LISTEN),
    ("cert-dir", Required, LISTEN),
    ("tls-cert-file", Required, LISTEN),
    ("tls-private-key-file", Required, LISTEN),
    ("tls-cipher-suites", Required, LISTEN),
    ("tls-min-version", Required, LISTEN),
    ("tls-sni-cert-key", Required, LISTEN),
    ("http2-max-streams-per-connection", Required, LISTEN),
    ("disable-http2-serving", OptionalBool, LISTEN),
    ("vmodule", Required, LOG),
    ("log-flush-frequency", Required, LOG),
    ("logtostderr", OptionalBool, LOG),
];

impl clap::Args for IgnoredFlags {
    fn augment_args(command: Command) -> Command {
        command.args(IGNORED.map(|(flag, value, _)| {
            let argument = Arg::new(flag).long(flag).hide(true);
            // Some of them may be repeated.
            let argument = argument.action(ArgAction::Append);
            match value {
                Required => argument,
                OptionalBool => {
                    argument.num_args(0..=1).require_equals(true).default_missing_value("true")
                }
            }
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for IgnoredFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = IGNORED.iter().filter(|(flag, value, _)| {
            let text = matches.get_one::<String>(flag);
            // A boolean flag set to false asks for nothing, so ignoring it needs no warning.
            text.is_some_and(|text| *value == Required || parse::boolean(text) != Ok(false))
        });
        Ok(IgnoredFlags(given.map(|(flag, _, why)| (*flag, *why)).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Inserts `run` if the arguments begin with a flag: descheduler has no commands.
pub(super) fn with_command(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let own_flags = ["-h", "--help", "-V", "--version"];
    let first = arguments.get(1).and_then(|argument| argument.to_str());
    let is_flag = |text: &str| text.starts_with('-') && text != "-" && !own_flags.contains(&text);
    if first.is_some_and(is_flag) {
        arguments.insert(1, "run".into());
    }
    arguments
}

impl DeschedulerArgs {
    /// Whether to run a single cycle: with an interval of 0 or, as in descheduler, without an
    /// interval.
    pub(super) const fn once(&self) -> bool {
        match self.descheduling_interval {
            Some(interval) => interval.is_zero(),
            None => self.policy_config_file.is_some(),
        }
    }

    /// The address on which descheduler serves its probes.
    pub(super) fn secure_address(&self) -> Option<SocketAddr> {
        let default = self.policy_config_file.is_some().then_some(SECURE_PORT);
        let port = self.secure_port.or(default).filter(|port| *port != 0)?;
        Some(SocketAddr::new(self.bind_address, port))
    }

    /// The policy with the settings that the flags override.
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

    /// The log level for `-v`.
    pub(super) fn log_level(&self) -> Option<&'static str> {
        self.verbosity.map(|level| if level >= 4 { "debug" } else { "info" })
    }

    /// A warning for each given flag without effect. `policy` is that of --policy.
    pub(super) fn warnings(&self, policy: Option<&Path>) -> Vec<String> {
        let policy = policy.filter(|_| self.policy_config_file.is_some());
        let policy = policy.map(|_| ("policy", "--policy-config-file names the policy"));
        let ignored = self.ignored.0.iter().copied().chain(policy);
        ignored.map(|(flag, why)| format!("--{flag} has no effect: {why}")).collect()
    }
}

fn selector(text: &str) -> Result<Selector, String> {
    Selector::parse(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Debug, Parser)]
    struct DeschedulerOnly {
        #[command(flatten)]
        flags: DeschedulerArgs,
        #[arg(long)]
        policy: Option<PathBuf>,
        #[arg(long)]
        kubeconfig: Option<PathBuf>,
    }

    fn flags(line: &str) -> DeschedulerArgs {
        DeschedulerOnly::try_parse_from(format!("evenkeel {line}").split_whitespace())
            .unwrap_or_else(|error| panic!("{error}"))
            .flags
    }

    #[test]
    fn the_command_lines_of_descheduler_manifests_work() {
        let deployment =
            flags("--policy-config-file /policy-dir/policy.yaml --descheduling-interval 5m --v 3");
        assert!(!deployment.once());
        assert_eq!(deployment.descheduling_interval, Some(SignedDuration::from_mins(5)));
        assert_eq!(deployment.log_level(), Some("info"));
        assert!(flags("--policy-config-file=/policy-dir/policy.yaml -v=4").once());
        assert_eq!(flags("-v=4").log_level(), Some("debug"));
        assert!(flags("--policy-config-file p --descheduling-interval 0").once());
        assert!(!flags("").once());
        let old = flags(
            "-v=3 --evict-local-storage-pods --max-pods-to-evict-per-node=7 --node-selector a=b",
        );
        let policy = old.apply(
            Policy::parse("p", "{apiVersion: descheduler/v1alpha2, profiles: [{name: a}]}")
                .unwrap(),
        );
        assert!(!policy.profiles[0].evictable.protected.local_storage);
        assert_eq!(
            (policy.limits.per_node, policy.node_selector.unwrap().to_string().as_str()),
            (Some(7), "a=b")
        );
    }

    #[test]
    fn probes_are_served_where_descheduler_serves_them() {
        let secure = |line: &str| flags(line).secure_address().map(|a| a.to_string());
        assert_eq!(secure("--policy-config-file p --v 3").as_deref(), Some("0.0.0.0:10258"));
        assert_eq!(
            secure("--policy-config-file p --secure-port 9443 --bind-address ::1").as_deref(),
            Some("[::1]:9443")
        );
        assert_eq!(secure("--policy-config-file p --secure-port=0"), None);
        assert_eq!(secure(""), None);
    }

    #[test]
    fn the_guide_for_users_of_descheduler_lists_every_flag() {
        let guide = include_str!("../../docs/from-descheduler.md");
        let used = DeschedulerOnly::command();
        let used = used.get_arguments().filter_map(Arg::get_long);
        for flag in used.filter(|flag| !["policy", "help"].contains(flag)) {
            assert!(guide.contains(&format!("`--{flag}`")), "--{flag}");
        }
    }

    #[test]
    fn a_flag_without_effect_gives_a_warning() {
        let given = flags("--disable-metrics=true --secure-port=0 --enable-http2 --vmodule=x");
        let warnings = given.warnings(None);
        assert_eq!(warnings.len(), 3, "{warnings:#?}");
        assert!(warnings[0].starts_with("--disable-metrics has no effect: "));
        let both = flags("--policy-config-file p").warnings(Some(Path::new("q")));
        assert_eq!(both, ["--policy has no effect: --policy-config-file names the policy"]);
        for no in ["false", "False", "F", "0"] {
            let given = flags(&format!("--disable-metrics={no} --v 2"));
            assert!(given.warnings(Some(Path::new("q"))).is_empty(), "{no}");
        }
    }

    #[test]
    fn boolean_flags_take_every_value_that_those_of_descheduler_take() {
        for (value, is_set) in [("True", true), ("1", true), ("t", true), ("FALSE", false)] {
            let given = flags(&format!("--evict-local-storage-pods={value}"));
            assert_eq!(given.evict_local_storage_pods, Some(is_set), "{value}");
        }
        assert_eq!(flags("--evict-local-storage-pods").evict_local_storage_pods, Some(true));
    }

    #[test]
    fn a_command_line_that_begins_with_a_flag_runs_the_daemon() {
        let second =
            |text: &str| with_command(text.split(' ').map(OsString::from).collect()).remove(1);
        assert_eq!(second("evenkeel --policy-config-file=p --v 3"), "run");
        assert_eq!(second("evenkeel plan --all"), "plan");
        assert_eq!(second("evenkeel --version"), "--version");
    }
}
