//! `evenkeel run`: the daemon.

use std::net::SocketAddr;

use super::{Misuse, Shared, policy};

/// Watches nodes, pods and their usage, decides every interval, and evicts what the plan says.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Decide and act once, then end: for a Job or CronJob
    #[arg(long)]
    once: bool,
    /// Decide and report, but evict nothing and write nothing; the same as `dryRun: true` in the policy
    #[arg(long)]
    dry_run: bool,
    /// Where the probes /healthz and /readyz answer
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8080", value_parser = address)]
    listen: SocketAddr,
    /// Who reports the events
    #[arg(long, value_name = "NAME", env = "POD_NAME", hide_env_values = true, default_value = "evenkeel")]
    instance: String,
    #[command(flatten)]
    pub(super) shared: Shared,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected an address such as 0.0.0.0:8080 or [::]:8080".to_owned())
}

/// Runs until told to stop.
#[expect(clippy::unused_async, reason = "the daemon is connected here")]
pub(super) async fn run(args: &Args) -> anyhow::Result<()> {
    let Some(path) = &args.shared.policy else {
        return Err(Misuse("run needs a policy: --policy FILE, or EVENKEEL_POLICY".to_owned()).into());
    };
    let _policy = policy::read(path)?;
    let _ = (args.once, args.dry_run, args.listen, &args.instance);
    anyhow::bail!("run is not connected to a cluster yet; plan --from FILE works without one")
}
