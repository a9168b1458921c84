//! The command line of descheduler, taken as it stands, so that a manifest needs no other change than its image.
//!
//! Some flags mean something here too, some are understood and have no effect, and none is passed over in silence.

use std::ffi::OsString;
use std::path::PathBuf;

use jiff::SignedDuration;

use crate::policy::Policy;
use crate::selector::Selector;

/// Flags that have a meaning here, and those that have none.
#[derive(Debug, Default, clap::Args)]
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
    #[command(flatten)]
    idle: Idle,
}

/// Flags without a meaning here, each with the reason.
#[derive(Debug, Default, clap::Args)]
struct Idle {
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    leader_elect: Option<String>,
    #[arg(long, hide = true)]
    leader_elect_lease_duration: Option<String>,
    #[arg(long, hide = true)]
    leader_elect_renew_deadline: Option<String>,
    #[arg(long, hide = true)]
    leader_elect_retry_period: Option<String>,
    #[arg(long, hide = true)]
    leader_elect_resource_lock: Option<String>,
    #[arg(long, hide = true)]
    leader_elect_resource_name: Option<String>,
    #[arg(long, hide = true)]
    leader_elect_resource_namespace: Option<String>,
    #[arg(long, hide = true)]
    client_connection_qps: Option<String>,
    #[arg(long, hide = true)]
    client_connection_burst: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    disable_metrics: Option<String>,
    #[arg(long, hide = true)]
    feature_gates: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    enable_http2: Option<String>,
    #[arg(long, hide = true)]
    otel_collector_endpoint: Option<String>,
    #[arg(long, hide = true)]
    otel_transport_ca_cert: Option<String>,
    #[arg(long, hide = true)]
    otel_service_name: Option<String>,
    #[arg(long, hide = true)]
    otel_trace_namespace: Option<String>,
    #[arg(long, hide = true)]
    otel_sample_rate: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    otel_fallback_no_op_on_error: Option<String>,
    #[command(flatten)]
    serving: Serving,
}

/// Flags of the server for probes and metrics, and of the log.
#[expect(clippy::struct_field_names, reason = "the names are those of descheduler's flags")]
#[derive(Debug, Default, clap::Args)]
struct Serving {
    #[arg(long, hide = true)]
    bind_address: Option<String>,
    #[arg(long, hide = true)]
    secure_port: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    permit_address_sharing: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    permit_port_sharing: Option<String>,
    #[arg(long, hide = true)]
    cert_dir: Option<String>,
    #[arg(long, hide = true)]
    tls_cert_file: Option<String>,
    #[arg(long, hide = true)]
    tls_private_key_file: Option<String>,
    #[arg(long, hide = true)]
    tls_cipher_suites: Option<String>,
    #[arg(long, hide = true)]
    tls_min_version: Option<String>,
    #[arg(long, hide = true)]
    tls_sni_cert_key: Option<String>,
    #[arg(long, hide = true)]
    http2_max_streams_per_connection: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    disable_http2_serving: Option<String>,
    #[arg(long, hide = true)]
    vmodule: Option<String>,
    #[arg(long, hide = true)]
    log_flush_frequency: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    logtostderr: Option<String>,
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
    pub(super) fn once(&self) -> bool {
        match self.descheduling_interval {
            Some(interval) => interval.is_zero(),
            None => self.policy_config_file.is_some(),
        }
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
        self.verbosity.map(|level| if level >= 4 { "debug" } else { "info" })
    }

    /// Each flag that is given and has no effect, with the reason.
    pub(super) fn warnings(&self) -> Vec<String> {
        let groups = [self.idle.leader(), self.idle.client(), self.idle.tracing(), self.idle.serving.given()];
        let given = groups.into_iter().flatten().filter(|(_, given, _)| *given);
        given.map(|(flag, _, why)| format!("--{flag} has no effect: {why}")).collect()
    }
}

type Given = (&'static str, bool, &'static str);

impl Idle {
    fn leader(&self) -> Vec<Given> {
        const WHY: &str = "the ledger is written by one at a time, so nothing is evicted twice";
        vec![
            ("leader-elect", self.leader_elect.as_ref().is_some_and(|v| v != "false"), WHY),
            ("leader-elect-lease-duration", self.leader_elect_lease_duration.is_some(), WHY),
            ("leader-elect-renew-deadline", self.leader_elect_renew_deadline.is_some(), WHY),
            ("leader-elect-retry-period", self.leader_elect_retry_period.is_some(), WHY),
            ("leader-elect-resource-lock", self.leader_elect_resource_lock.is_some(), WHY),
            ("leader-elect-resource-name", self.leader_elect_resource_name.is_some(), WHY),
            ("leader-elect-resource-namespace", self.leader_elect_resource_namespace.is_some(), WHY),
        ]
    }

    fn client(&self) -> Vec<Given> {
        const RATE: &str = "objects are watched rather than asked for, and `limits` bound the evictions";
        vec![
            ("client-connection-qps", self.client_connection_qps.is_some(), RATE),
            ("client-connection-burst", self.client_connection_burst.is_some(), RATE),
            (
                "disable-metrics",
                self.disable_metrics.as_ref().is_some_and(|v| v != "false"),
                "metrics are always served",
            ),
            ("feature-gates", self.feature_gates.is_some(), "there are no feature gates"),
            ("enable-http2", self.enable_http2.is_some(), "probes and metrics answer on HTTP/1.1"),
        ]
    }

    fn tracing(&self) -> Vec<Given> {
        const WHY: &str = "no traces are sent";
        vec![
            ("otel-collector-endpoint", self.otel_collector_endpoint.is_some(), WHY),
            ("otel-transport-ca-cert", self.otel_transport_ca_cert.is_some(), WHY),
            ("otel-service-name", self.otel_service_name.is_some(), WHY),
            ("otel-trace-namespace", self.otel_trace_namespace.is_some(), WHY),
            ("otel-sample-rate", self.otel_sample_rate.is_some(), WHY),
            ("otel-fallback-no-op-on-error", self.otel_fallback_no_op_on_error.is_some(), WHY),
        ]
    }
}

impl Serving {
    fn given(&self) -> Vec<Given> {
        const LISTEN: &str = "probes and metrics answer where --listen says, on plain HTTP";
        const LOG: &str = "the log goes to standard error at once; --log-level takes modules";
        vec![
            ("bind-address", self.bind_address.is_some(), LISTEN),
            ("secure-port", self.secure_port.is_some(), LISTEN),
            ("permit-address-sharing", self.permit_address_sharing.is_some(), LISTEN),
            ("permit-port-sharing", self.permit_port_sharing.is_some(), LISTEN),
            ("cert-dir", self.cert_dir.is_some(), LISTEN),
            ("tls-cert-file", self.tls_cert_file.is_some(), LISTEN),
            ("tls-private-key-file", self.tls_private_key_file.is_some(), LISTEN),
            ("tls-cipher-suites", self.tls_cipher_suites.is_some(), LISTEN),
            ("tls-min-version", self.tls_min_version.is_some(), LISTEN),
            ("tls-sni-cert-key", self.tls_sni_cert_key.is_some(), LISTEN),
            ("http2-max-streams-per-connection", self.http2_max_streams_per_connection.is_some(), LISTEN),
            ("disable-http2-serving", self.disable_http2_serving.is_some(), LISTEN),
            ("vmodule", self.vmodule.is_some(), LOG),
            ("log-flush-frequency", self.log_flush_frequency.is_some(), LOG),
            ("logtostderr", self.logtostderr.is_some(), LOG),
        ]
    }
}

/// A duration as Go writes it, `0` among them.
fn interval(text: &str) -> Result<SignedDuration, String> {
    let expected = || "expected a duration such as 5m, or 0 for once".to_owned();
    let duration = if text == "0" { SignedDuration::ZERO } else { text.parse().map_err(|_| expected())? };
    let usable = duration.is_zero() || duration >= SignedDuration::from_secs(1);
    if usable { Ok(duration) } else { Err(expected()) }
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
        Only::try_parse_from(format!("evenkeel {line}").split_whitespace()).unwrap_or_else(|e| panic!("{e}")).flags
    }

    #[test]
    fn the_command_lines_of_its_manifests_are_understood() {
        let deployment = flags("--policy-config-file /policy-dir/policy.yaml --descheduling-interval 5m --v 3");
        assert!(!deployment.once());
        assert_eq!(deployment.descheduling_interval, Some(SignedDuration::from_mins(5)));
        assert_eq!(deployment.log_level(), Some("info"));
        assert!(flags("--policy-config-file=/policy-dir/policy.yaml -v=4").once());
        assert_eq!(flags("-v=4").log_level(), Some("debug"));
        assert!(flags("--policy-config-file p --descheduling-interval 0").once());
        assert!(!flags("").once());
        let old = flags("-v=3 --evict-local-storage-pods --max-pods-to-evict-per-node=7 --node-selector a=b");
        let policy =
            old.apply(Policy::parse("p", "{apiVersion: descheduler/v1alpha2, profiles: [{name: a}]}").unwrap());
        assert!(!policy.profiles[0].evictable.protected.local_storage);
        assert_eq!((policy.limits.per_node, policy.node_selector.unwrap().to_string().as_str()), (Some(7), "a=b"));
    }

    #[test]
    fn what_has_no_effect_is_named() {
        let given = flags("--leader-elect=true --secure-port=0 --disable-metrics --leader-elect-resource-name=x");
        let warnings = given.warnings();
        assert_eq!(warnings.len(), 4, "{warnings:#?}");
        assert!(warnings[0].starts_with("--leader-elect has no effect: "));
        assert!(flags("--leader-elect=false --v 2").warnings().is_empty());
    }

    #[test]
    fn a_line_that_begins_with_a_flag_is_one_to_run() {
        let second = |text: &str| with_command(text.split(' ').map(OsString::from).collect()).remove(1);
        assert_eq!(second("evenkeel --policy-config-file=p --v 3"), "run");
        assert_eq!(second("evenkeel plan --all"), "plan");
        assert_eq!(second("evenkeel --version"), "--version");
    }
}
