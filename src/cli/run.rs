//! `evenkeel run`: the daemon.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;
use jiff::Timestamp;
use kube::Client;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::cluster::Cluster;
use crate::cluster::lease::election::Timing;
use crate::cluster::ledger_store::LedgerStore;
use crate::daemon::telemetry::metrics::Metrics;
use crate::daemon::telemetry::status::facts::About;
use crate::daemon::telemetry::status::{self, Board};
use crate::daemon::telemetry::tls::TlsListener;
use crate::daemon::telemetry::traces::Traces;
use crate::daemon::telemetry::{self, Health};
use crate::daemon::{self, Daemon, LeaderRole, LogState, Steered, UsagePoller};
use crate::policy::Policy;

use super::descheduler::Flags;
use super::election::Election;
use super::otlp::OtlpFlags;
use super::{Misuse, Shared, file, policy};

/// Watches nodes, pods and their usage, decides every interval, and evicts what the plan says.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Decide and act once, then end: for a Job or CronJob
    #[arg(long)]
    once: bool,
    /// Decide and report, but evict nothing and write nothing; the same as `dryRun: true` in the policy
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false",
        value_name = "BOOL", hide_possible_values = true, action = clap::ArgAction::Set)]
    dry_run: bool,
    /// As descheduler would: its order of victims, and none of the guards that it does not have
    #[arg(long)]
    exact: bool,
    /// Where the probes /healthz and /readyz and the metrics /metrics answer; not with --once
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8080", value_parser = address)]
    listen: SocketAddr,
    /// Where the status page answers, to look at only; `none` for nowhere; not with --once. Where another has the address, a
    /// warning says so, and all else goes on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8081", value_parser = place)]
    status_listen: Place,
    /// Metrics by the names of descheduler beside our own [default: true with --policy-config-file]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL",
        hide_possible_values = true)]
    descheduler_metrics: Option<bool>,
    /// The name under which evictions are reported in events, and a Lease is held
    #[arg(
        long,
        value_name = "NAME",
        env = "POD_NAME",
        hide_env_values = true,
        default_value = "evenkeel"
    )]
    pub(super) instance: String,
    #[command(flatten)]
    pub(super) shared: Shared,
    #[command(flatten)]
    otlp: OtlpFlags,
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    election: Election,
}

impl Args {
    /// Starts the log, and the traces where somebody is to have them.
    pub(super) fn start_log(&self, runtime: &Handle) -> anyhow::Result<Option<Traces>> {
        let (traces, failed) = match self.traces(runtime) {
            Err(error) if self.flags.otel.otel_fallback_no_op_on_error == Some(true) => {
                (None, Some(error))
            }
            traces => (traces?, None),
        };
        let format = self.flags.logging_format.unwrap_or(self.shared.log_format);
        self.shared.start_log(
            self.flags.log_level().unwrap_or("info"),
            format,
            traces.as_ref(),
        )?;
        if let Some(error) = failed {
            warn!("no traces are sent: {error}");
        }
        Ok(traces)
    }

    fn traces(&self, runtime: &Handle) -> Result<Option<Traces>, Misuse> {
        let Some(settings) = self.otlp.settings(&self.flags.otel, &self.instance)? else {
            return Ok(None);
        };
        let place = settings.collector.name();
        let started = Traces::start(settings, runtime.clone());
        Ok(Some(started.map_err(|trouble| {
            Misuse(format!("traces for {place}: {trouble}"))
        })?))
    }

    /// What the status page says of the program.
    fn about(&self, policy: &Policy) -> About {
        About {
            version: env!("CARGO_PKG_VERSION"),
            instance: self.instance.clone(),
            policy: policy::sentence(policy),
            dry_run: self.dry_run || policy.dry_run,
            exact: policy.exact,
            started: clock(),
        }
    }

    /// The policy, with all that the command line says of it.
    fn policy(&self) -> anyhow::Result<Policy> {
        // What is typed counts for more than what the environment says.
        let Some(path) = self
            .flags
            .policy_config_file
            .as_ref()
            .or(self.shared.policy.as_ref())
        else {
            return Err(
                Misuse("run needs a policy: --policy FILE, or EVENKEEL_POLICY".to_owned()).into(),
            );
        };
        let policy = self.flags.apply(policy::read(path)?);
        for warning in policy::warnings(&policy, &file::label(path)) {
            warn!("{warning}");
        }
        let (policy, of_the_scheduler) = self.shared.scheduler.apply(policy)?;
        for warning in self.flags.warnings().into_iter().chain(of_the_scheduler) {
            warn!("{warning}");
        }
        Ok(if self.exact { policy.exactly() } else { policy })
    }

    /// Whoever runs it by descheduler's command line has dashboards that ask for descheduler's metrics.
    fn metrics(&self, cluster: &Cluster) -> Metrics {
        let metrics = Metrics::new(cluster.calls());
        let by_its_names = self
            .descheduler_metrics
            .unwrap_or(self.flags.policy_config_file.is_some());
        if by_its_names {
            metrics.with_descheduler()
        } else {
            metrics
        }
    }

    const fn once(&self) -> bool {
        self.once || self.flags.once()
    }

    /// Whether it stands in for descheduler.
    pub(super) const fn as_descheduler(&self) -> bool {
        self.flags.policy_config_file.is_some()
    }

    /// Our part among several instances.
    fn lead(&self, timing: Option<Timing>, policy: &Policy, client: &Client) -> LeaderRole {
        let Some(timing) = timing else {
            return LeaderRole::default();
        };
        if self.dry_run || policy.dry_run {
            info!(
                "a dry run writes nothing, not even a lease: it decides whether or not another instance leads"
            );
            return LeaderRole::default();
        }
        self.election.lead(timing, self, client)
    }
}

/// Where the status page answers.
#[derive(Clone, Copy, Debug)]
enum Place {
    Nowhere,
    At(SocketAddr),
}

fn place(text: &str) -> Result<Place, String> {
    match text {
        "none" | "off" => Ok(Place::Nowhere),
        text => text
            .parse()
            .map(Place::At)
            .map_err(|_| "expected an address such as 127.0.0.1:8081, or none".to_owned()),
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "expected an address such as 0.0.0.0:8080 or [::]:8080".to_owned())
}

/// Runs until told to stop.
pub(super) async fn run(args: &Args) -> anyhow::Result<()> {
    let timing = args.election.timing(args.once())?;
    let policy = args.policy()?;
    let stop = CancellationToken::new();
    stop_on_signals(&stop)?;
    let kubeconfig = args
        .flags
        .client_connection_kubeconfig
        .as_ref()
        .or(args.shared.kubeconfig.as_ref());
    let cluster = Cluster::connect(kubeconfig.map(PathBuf::as_path)).await?;
    cluster.start(&stop);
    let client = cluster.client().clone();
    let lead = args.lead(timing, &policy, &client);
    let mut daemon = Daemon {
        store: LedgerStore::new(client.clone(), &args.shared.namespace, &args.shared.ledger),
        usage: UsagePoller::new(&policy.usage, &client),
        metrics: args.metrics(&cluster),
        cluster,
        health: Health::default(),
        board: Board::default(),
        dry_run: args.dry_run,
        instance: args.instance.clone(),
        log_state: LogState::default(),
        steered: Steered::default(),
        lead,
    };
    info!(
        "evenkeel {}: {}",
        env!("CARGO_PKG_VERSION"),
        policy::sentence(&policy)
    );
    if args.once() {
        return Ok(daemon::run_once(daemon, policy, stop).await?);
    }
    let listener = TcpListener::bind(args.listen).await;
    let listener = listener.with_context(|| format!("cannot listen on {}", args.listen))?;
    let probes = telemetry::serve(
        listener,
        daemon.health.clone(),
        daemon.metrics.clone(),
        stop.clone(),
    );
    let probes = tokio::spawn(probes);
    if let Some(address) = args.flags.secure() {
        let listener = TlsListener::bind(address)
            .await
            .with_context(|| format!("cannot listen on {address}"))?;
        tokio::spawn(telemetry::serve(
            listener,
            daemon.health.clone(),
            daemon.metrics.clone(),
            stop.clone(),
        ));
    }
    if let Place::At(address) = args.status_listen {
        daemon.board = show(address, args.about(&policy), &daemon.health, &stop).await;
    }
    // Too large for the stack.
    let ended = Box::pin(daemon::run(daemon, policy, stop.clone())).await;
    stop.cancel();
    probes.await??;
    Ok(ended?)
}

/// Serves the status page. To rebalance matters more than to be looked at: without it, all else goes on.
async fn show(
    address: SocketAddr,
    about: About,
    health: &Health,
    stop: &CancellationToken,
) -> Board {
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) => {
            warn!(%address, "there is no status page, since its address cannot be had: {error}; --status-listen names another, or none");
            return Board::default();
        }
    };
    let board = Board::new(about);
    info!("status page at http://{address}/");
    tokio::spawn(status::serve(
        listener,
        board.clone(),
        health.clone(),
        stop.clone(),
    ));
    board
}

/// Ctrl-C and SIGTERM let the call that is under way end, and write down what came of it.
fn stop_on_signals(stop: &CancellationToken) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stop = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        info!("told to stop");
        stop.cancel();
    });
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the edge, where time is read"
)]
fn clock() -> Timestamp {
    Timestamp::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_page_is_somewhere_or_nowhere() {
        assert!(matches!(place("[::1]:8081"), Ok(Place::At(_))));
        assert!(matches!(
            (place("none"), place("off")),
            (Ok(Place::Nowhere), Ok(Place::Nowhere))
        ));
        assert_eq!(
            place("8081").unwrap_err(),
            "expected an address such as 127.0.0.1:8081, or none"
        );
    }

    #[tokio::test]
    async fn without_its_address_there_is_no_page_and_that_is_all() {
        let about = || About {
            version: "0.1.0",
            instance: String::new(),
            policy: String::new(),
            dry_run: false,
            exact: false,
            started: clock(),
        };
        let (health, stop) = (Health::default(), CancellationToken::new());
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = taken.local_addr().unwrap();
        let told = async || {
            show(address, about(), &health, &stop)
                .await
                .json(&health, clock())
        };
        assert_eq!(told().await, None);
        drop(taken);
        assert!(told().await.is_some());
        stop.cancel();
    }
}
