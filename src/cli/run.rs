//! `evenkeel run`: the daemon.

use std::env;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use kube::Client;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::cluster::Cluster;
use crate::cluster::clock;
use crate::cluster::lease::election::LeaseTiming;
use crate::cluster::ledger_store::LedgerStore;
use crate::cluster::proposal_store::ProposalStore;
use crate::daemon::{self, Approvals, Daemon, LeaderRole, PolicyFile, ReleaseCheck};
use crate::model::approval::Proposal;
use crate::policy::Policy;
use crate::telemetry;
use crate::telemetry::connections;
use crate::telemetry::tls::TlsListener;
use crate::telemetry::traces::Traces;
use crate::view::status::facts::InstanceInfo;

use super::descheduler::DeschedulerArgs;
use super::election::{LeaderElectionArgs, LeaseDefaults};
use super::otlp::OtlpFlags;
use super::parse::BooleanFlag;
use super::record::RecordFlags;
use super::{Misuse, Shared, file, parse, policy, signals};

use self::status_page::{StatusAddress, serve_status, status_address};

mod status_page;

/// Watches nodes, pods and their usage. Each interval it makes a plan and evicts the pods in it.
#[derive(Debug, clap::Args)]
pub(super) struct RunArgs {
    /// Run one cycle and exit, as in a Job or a CronJob. It holds the Lease meanwhile, and fails if
    /// another instance keeps it; with --policy-config-file, only if the Lease is named
    #[arg(long, boolean(), default_value = "false")]
    once: bool,
    /// Decide and report without evicting or writing anything; the same as `dryRun: true` in the
    /// policy
    #[arg(long, boolean(), default_value = "false")]
    dry_run: bool,
    #[command(flatten)]
    exact: super::ExactArgs,
    /// Address of the probes /healthz and /readyz and of /metrics; unused with --once
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "0.0.0.0:8080",
        value_parser = parse::listen_address
    )]
    listen: SocketAddr,
    /// Address of the read-only status page, or `none`; unused with --once. If the address is in
    /// use, the daemon logs a warning and runs without the page
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:8081",
        value_parser = status_address
    )]
    status_listen: StatusAddress,
    /// Serve metrics under descheduler's names as well [default: true with --policy-config-file]
    #[arg(long, boolean())]
    descheduler_metrics: Option<bool>,
    /// Name of this instance in events and as the holder of the Lease
    #[arg(
        long,
        value_name = "NAME",
        env = "POD_NAME",
        hide_env_values = true,
        default_value = "evenkeel"
    )]
    instance: String,
    /// The plan whose evictions are made, and no others; for `evenkeel apply`.
    #[arg(skip)]
    given: Option<Proposal>,
    #[command(flatten)]
    pub(super) shared: Shared,
    #[command(flatten)]
    otlp: OtlpFlags,
    #[command(flatten)]
    record: RecordFlags,
    #[command(flatten)]
    descheduler: DeschedulerArgs,
    #[command(flatten)]
    election: LeaderElectionArgs,
}

impl RunArgs {
    /// Makes this a single run that makes the evictions of a plan, and no others.
    pub(super) fn make_only(&mut self, plan: Proposal) {
        self.once = true;
        self.given = Some(plan);
    }

    /// Starts the log, and the traces if a collector is configured.
    pub(super) fn start_log(&self, runtime: &Handle) -> anyhow::Result<Option<Traces>> {
        let optional = self.descheduler.otel.otel_fallback_no_op_on_error == Some(true);
        let (traces, failure) = match self.start_traces(runtime) {
            Err(error) if optional => (None, Some(error)),
            traces => (traces?, None),
        };
        let format = self.descheduler.logging_format.unwrap_or(self.shared.log_format);
        let default_level = self.descheduler.log_level().unwrap_or("info");
        self.shared.start_log(default_level, format, traces.as_ref())?;
        // Only now is there a log for the warning.
        if let Some(error) = failure {
            warn!("traces disabled: {error}");
        }
        Ok(traces)
    }

    fn start_traces(&self, runtime: &Handle) -> Result<Option<Traces>, Misuse> {
        let Some(settings) = self.otlp.settings(&self.descheduler.otel, &self.instance)? else {
            return Ok(None);
        };
        let collector = settings.collector.name();
        let started = Traces::start(settings, runtime.clone());
        started.map(Some).map_err(|error| Misuse(format!("traces to {collector}: {error}")))
    }

    /// The description of this program on the status page.
    fn about(&self, policy: &Policy) -> InstanceInfo {
        InstanceInfo {
            version: env!("CARGO_PKG_VERSION").into(),
            instance: self.instance.clone(),
            policy: policy::sentence(policy),
            policy_since: clock::now(),
            dry_run: policy.dry_run,
            exact: policy.exact,
            started: clock::now(),
            ..InstanceInfo::default()
        }
    }

    /// The policy with the flags that change it, and the warnings about both.
    pub(super) fn policy(&self) -> anyhow::Result<(Policy, Vec<String>)> {
        // --policy may come from the environment, so --policy-config-file, which is always typed,
        // comes first.
        let path = self.descheduler.policy_config_file.as_ref();
        let Some(path) = path.or(self.shared.policy.as_ref()) else {
            let problem = "found no policy, expected --policy FILE or EVENKEEL_POLICY";
            return Err(Misuse(problem.to_owned()).into());
        };
        let policy = self.descheduler.apply(policy::read(path)?);
        let mut warnings = policy::warnings(&policy.warnings, &file::label(path));
        let (policy, scheduler_warnings) = self.shared.scheduler.apply(policy)?;
        // From the environment it may be meant for other commands.
        let in_environment = env::var_os("EVENKEEL_POLICY").map(PathBuf::from);
        let typed =
            self.shared.policy.as_ref().filter(|path| Some(*path) != in_environment.as_ref());
        warnings.extend(self.descheduler.warnings(typed.map(PathBuf::as_path)));
        warnings.extend(scheduler_warnings);
        let mut policy = self.exact.apply(policy);
        policy.dry_run |= self.dry_run;
        if self.given.is_some() {
            // No eviction that is not in the plan.
            (policy.approval.required, policy.approval.automatic) = (true, 0);
        }
        Ok((policy, warnings))
    }

    /// The file of the policy, to be read again while the daemon runs.
    fn policy_file(
        self: &Arc<Self>,
        policy: &Policy,
        timing: Option<LeaseTiming>,
        client: &Client,
    ) -> PolicyFile {
        let (reader, elector) = (Arc::clone(self), Arc::clone(self));
        let client = client.clone();
        PolicyFile {
            read: Box::new(move || reader.policy().map_err(|error| format!("{error:#}"))),
            describe: policy::sentence,
            join_election: Box::new(move || elector.join_election(timing, &client)),
            instance: self.instance.clone(),
            namespace: self.shared.namespace.clone(),
            read_last: policy.clone(),
            refused: None,
        }
    }

    fn kubeconfig(&self) -> Option<&Path> {
        let path = self.descheduler.client_connection_kubeconfig.as_ref();
        path.or(self.shared.kubeconfig.as_ref()).map(PathBuf::as_path)
    }

    const fn once(&self) -> bool {
        self.once || self.descheduler.once()
    }

    /// Whether it runs with descheduler's command line.
    const fn as_descheduler(&self) -> bool {
        self.descheduler.policy_config_file.is_some()
    }

    /// The role of this instance among several.
    fn lead(&self, timing: Option<LeaseTiming>, policy: &Policy, client: &Client) -> LeaderRole {
        if timing.is_some() && policy.dry_run {
            info!("leader election disabled: a dry run writes nothing, not even a Lease");
            return LeaderRole::default();
        }
        self.join_election(timing, client)
    }

    fn approvals(&self, client: &Client) -> Approvals {
        let (namespace, name) = (&self.shared.namespace, &self.shared.proposal);
        let store = ProposalStore::new(client.clone(), namespace, name);
        Approvals::new(store, self.given.clone())
    }

    fn join_election(&self, timing: Option<LeaseTiming>, client: &Client) -> LeaderRole {
        let Some(timing) = timing else {
            return LeaderRole::default();
        };
        let defaults = LeaseDefaults {
            instance: &self.instance,
            namespace: &self.shared.namespace,
            as_descheduler: self.as_descheduler(),
        };
        self.election.lead(timing, &defaults, client)
    }

    fn daemon(
        self: &Arc<Self>,
        cluster: Cluster,
        policy: &Policy,
        timing: Option<LeaseTiming>,
        stop: &CancellationToken,
    ) -> Daemon {
        let client = cluster.client().clone();
        let store = LedgerStore::new(client.clone(), &self.shared.namespace, &self.shared.ledger);
        let approvals = self.approvals(&client);
        let mut daemon = Daemon {
            stop: stop.clone(),
            release: ReleaseCheck::new(self.shared.scheduler.release()),
            lead: self.lead(timing, policy, &client),
            policy_file: Some(self.policy_file(policy, timing, &client)),
            ..Daemon::new(cluster, policy, &self.instance, store, approvals)
        };
        // The dashboards of descheduler query its names.
        if self.descheduler_metrics.unwrap_or(self.as_descheduler()) {
            daemon.metrics = daemon.metrics.with_descheduler();
        }
        daemon
    }

    /// Serves the probes and the metrics. The task ends when the daemon stops.
    async fn serve_probes(
        &self,
        daemon: &Daemon,
        stop: &CancellationToken,
    ) -> anyhow::Result<JoinHandle<std::io::Result<()>>> {
        let (health, metrics) = (&daemon.health, &daemon.metrics);
        let listener = connections::listen(self.listen)
            .await
            .with_context(|| format!("--listen: cannot listen on {}", self.listen))?;
        let probes = telemetry::serve(listener, health.clone(), metrics.clone(), stop.clone());
        let probes = tokio::spawn(probes);
        self.serve_secure(daemon, stop).await?;
        Ok(probes)
    }

    /// Serves the probes and the metrics where descheduler does.
    async fn serve_secure(&self, daemon: &Daemon, stop: &CancellationToken) -> anyhow::Result<()> {
        let Some(address) = self.descheduler.secure_address() else {
            return Ok(());
        };
        let listener = TlsListener::bind(address)
            .await
            .with_context(|| format!("--secure-port: cannot listen on {address}"))?;
        let (health, metrics) = (daemon.health.clone(), daemon.metrics.clone());
        tokio::spawn(telemetry::serve(listener, health, metrics, stop.clone()));
        Ok(())
    }
}

/// Runs until a signal stops the daemon.
pub(super) async fn run(args: Arc<RunArgs>) -> anyhow::Result<()> {
    let timing = args.election.timing(args.once(), args.as_descheduler())?;
    let (policy, warnings) = args.policy()?;
    for warning in warnings {
        warn!("{warning}");
    }
    let record = args.record.settings()?;
    let stop = CancellationToken::new();
    signals::stop_on_signals(&stop)?;
    let cluster = Cluster::connect(args.kubeconfig()).await?;
    cluster.start(&stop);
    let mut daemon = args.daemon(cluster, &policy, timing, &stop);
    daemon.recorder = record.map(|record| daemon.recorder(record));
    info!("evenkeel {}: {}", env!("CARGO_PKG_VERSION"), policy::sentence(&policy));
    if args.once() {
        // The CronJob of descheduler has a liveness probe, which would end a run that observes
        // usage for minutes.
        args.serve_secure(&daemon, &stop).await?;
        return Ok(Box::pin(daemon::run_once(daemon, policy)).await?);
    }
    // The probes are served before the first lists, which may take longer than a kubelet waits.
    let probes = args.serve_probes(&daemon, &stop).await?;
    if let StatusAddress::At(address) = args.status_listen {
        daemon.board = serve_status(address, args.about(&policy), &daemon.health, &stop).await;
    }
    // The future is too large for the stack.
    let ended = Box::pin(daemon::run(daemon, policy)).await;
    stop.cancel();
    probes.await??;
    Ok(ended?)
}
