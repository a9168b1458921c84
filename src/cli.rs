//! What people type: one file for each command.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use tracing_subscriber::filter::{EnvFilter, FilterExt, FilterFn, LevelFilter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use crate::daemon::telemetry::traces::{self, Traces};

mod descheduler;
mod election;
mod explain;
mod file;
mod live;
mod otlp;
mod plan;
mod policy;
mod report;
mod run;
mod scheduler;
mod show;
mod simulate;
mod snapshot;

pub use explain::page_of;

const EXAMPLES: &str = "\
Examples:
  evenkeel plan                              what would be moved in the current cluster, and why
  evenkeel plan --from cluster.yaml          the same from a file, without a cluster
  evenkeel explain pod shop/web-0            why a pod goes or stays, and what would have to change
  evenkeel simulate                          hours of a cluster in memory under a policy
  evenkeel policy check policy.yaml          whether a policy is sound
  evenkeel run --policy policy.yaml          keep the cluster even
  evenkeel run --policy policy.yaml --dry-run --once

Exit status: 0 done, 1 failed, 2 wrong usage or policy.";

/// A rebalancer for Kubernetes: evicts the few pods whose move evens the cluster out, by what they really use.
#[derive(Debug, Parser)]
#[command(name = "evenkeel", version, max_term_width = 110, after_help = EXAMPLES, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Watch a cluster and keep it even
    Run(Box<run::Args>),
    /// Show what would be moved and why everything else stays; evicts nothing
    Plan(plan::Args),
    /// Tell why a pod goes or stays, or how a node or a workload stands, and what would have to change
    Explain(explain::Args),
    /// Try a policy on a cluster in memory: hours in moments
    Simulate(simulate::Args),
    /// Record a cluster in a file, for plan --from and simulate --from
    Snapshot(snapshot::Args),
    /// Work with policies
    #[command(subcommand)]
    Policy(policy::Command),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the version
    Version,
}

/// What `run`, `plan` and `explain` have in common.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Cluster and log")]
struct Shared {
    /// The policy: what to balance, within which bounds, and which pods may go
    #[arg(
        long,
        value_name = "FILE",
        env = "EVENKEEL_POLICY",
        hide_env_values = true
    )]
    policy: Option<PathBuf>,
    #[command(flatten)]
    scheduler: scheduler::Scheduler,
    /// How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod's service account]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The namespace that holds the ledger
    #[arg(
        long,
        value_name = "NAME",
        env = "POD_NAMESPACE",
        hide_env_values = true,
        default_value = "kube-system"
    )]
    namespace: String,
    /// The ConfigMap in which earlier evictions are remembered
    #[arg(long, value_name = "NAME", default_value = "evenkeel-ledger")]
    ledger: String,
    /// Log lines for people or for machines; they go to standard error
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    log_format: LogFormat,
    /// error, warn, info, debug or trace, also by module: `info,kube=debug` [default: info for run, warn for plan]
    #[arg(long, value_name = "LEVEL", env = "RUST_LOG", hide_env_values = true)]
    log_level: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum LogFormat {
    #[default]
    Text,
    Json,
}

/// Wrong usage, or a policy that makes no sense: the caller has to change something.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Misuse(String);

/// Reads the arguments, does what they ask and tells how it went.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse_from(descheduler::with_command(std::env::args_os().collect())) {
        Ok(cli) => cli,
        Err(asked) if !asked.use_stderr() => {
            // Help or version: whoever asked and went away did not want the rest.
            let _ = asked.print();
            return ExitCode::SUCCESS;
        }
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            return ExitCode::from(2);
        }
        Err(error) => {
            let text = error.render().to_string();
            complain(text.trim_start_matches("error: ").trim_end());
            return ExitCode::from(2);
        }
    };
    let mut out = io::BufWriter::new(io::stdout().lock());
    let done = cli
        .command
        .run(&mut out)
        .and_then(|()| out.flush().map_err(Into::into));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has seen enough, as in `| head`.
        Err(error)
            if error
                .downcast_ref()
                .is_some_and(|e: &io::Error| e.kind() == io::ErrorKind::BrokenPipe) =>
        {
            ExitCode::SUCCESS
        }
        Err(error) => {
            complain(&format!("{error:#}"));
            if error.is::<Misuse>() {
                ExitCode::from(2)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

/// To standard error; where that is closed, nobody is left to tell.
fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "evenkeel: {text}");
}

impl Command {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self {
            Command::Run(args) => {
                let runtime = runtime()?;
                let traces = args.start_log(runtime.handle())?;
                let done = runtime.block_on(run::run(args));
                if let Some(traces) = traces {
                    traces.stop();
                }
                done
            }
            Command::Plan(args) => {
                args.shared
                    .start_log("warn", args.shared.log_format, None)?;
                plan::run(args, out)
            }
            Command::Explain(args) => {
                args.shared
                    .start_log("warn", args.shared.log_format, None)?;
                explain::run(args, out)
            }
            Command::Simulate(args) => simulate::run(args, out),
            Command::Snapshot(args) => snapshot::run(args, out),
            Command::Policy(command) => policy::run(command, out),
            Command::Completions { shell } => {
                let mut script = Vec::new();
                clap_complete::generate(*shell, &mut Cli::command(), "evenkeel", &mut script);
                Ok(out.write_all(&script)?)
            }
            Command::Version => Ok(writeln!(out, "evenkeel {}", env!("CARGO_PKG_VERSION"))?),
        }
    }
}

impl Shared {
    fn start_log(
        &self,
        otherwise: &str,
        format: LogFormat,
        traces: Option<&Traces>,
    ) -> anyhow::Result<()> {
        let level = self.log_level.as_deref().unwrap_or(otherwise);
        // kube's client logs an error for every connection that fails; the watches say it once, in our words.
        let filter = EnvFilter::try_new(format!("kube_client=off,{level}")).map_err(|error| {
            Misuse(format!(
                "log level: found {level:?}, expected error, warn, info, debug or trace: {error}"
            ))
        })?;
        // Our spans are for traces: lines stay as short as they are. Each has its own filter, so that a quiet log is no
        // reason for a trace with holes.
        let not_ours = FilterFn::new(|it| it.is_event() || !traces::is_ours(it));
        let filter = filter.and(not_ours.with_max_level_hint(LevelFilter::TRACE));
        let lines = fmt::layer().with_writer(io::stderr);
        let lines = match format {
            LogFormat::Text => lines
                .with_ansi(io::stderr().is_terminal() && !plain())
                .with_filter(filter)
                .boxed(),
            LogFormat::Json => lines.json().flatten_event(true).with_filter(filter).boxed(),
        };
        let started = tracing_subscriber::registry()
            .with(lines)
            .with(traces.map(Traces::layer))
            .try_init();
        started.map_err(|error| anyhow::anyhow!("the log cannot be started: {error}"))
    }
}

/// A runtime for the commands that talk to a cluster; the others do without.
fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("threads cannot be started")
}

/// Whether the user wants no colours: <https://no-color.org>.
fn plain() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Cli, String> {
        Cli::try_parse_from(line.split(' ')).map_err(|e| e.to_string())
    }

    #[test]
    fn the_commands_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_can_be_typed() {
        for line in [
            "evenkeel run --policy p.yaml --once --dry-run --namespace a --ledger b --listen 127.0.0.1:0",
            "evenkeel run --policy-config-file p.yaml --descheduling-interval=5m -v 3 --leader-elect --dry-run=true",
            "evenkeel run --policy p.yaml --exact --dry-run=false --client-connection-kubeconfig k --logging-format json",
            "evenkeel policy convert p.yaml",
            "evenkeel plan --exact",
            "evenkeel plan --scheduler-config s.yaml",
            "evenkeel run --policy p.yaml --scheduler-config s.yaml",
            "evenkeel run --policy p.yaml --otlp-endpoint http://c:4318 --otlp-sample-ratio 0.1 --otlp-headers a=b",
            "evenkeel run --policy-config-file p.yaml --otel-collector-endpoint c:4318 --otel-fallback-no-op-on-error",
            "evenkeel simulate --scheduler-config s.yaml",
            "evenkeel plan",
            "evenkeel plan --from - --now 2026-11-21T07:30:00Z -o json",
            "evenkeel plan --from c.yaml --now 1795246200 --all",
            "evenkeel plan -v --kubeconfig k --log-format json --log-level debug",
            "evenkeel explain pod shop/web-0",
            "evenkeel explain node n1 --from c.json --exact -o json",
            "evenkeel explain workload shop/deployment/web --look 2m --all",
            "evenkeel snapshot --scramble -o c.json --kubeconfig k",
            "evenkeel simulate",
            "evenkeel simulate dead-loop --policy a.yaml --policy b.yaml --duration 6h --seed 7 -o json -v",
            "evenkeel simulate --from c.json",
            "evenkeel simulate --list",
            "evenkeel simulate --show late-nodes",
            "evenkeel policy check p.yaml",
            "evenkeel completions bash",
            "evenkeel version",
        ] {
            assert!(parse(line).is_ok(), "{line}: {:?}", parse(line).err());
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (line, said) in [
            ("evenkeel", "Usage: evenkeel <COMMAND>"),
            ("evenkeel plan --now 2026-11-21T07:30:00Z", "--from"),
            (
                "evenkeel plan --from f --now noon",
                "expected a time such as",
            ),
            ("evenkeel explain", "<WHAT>"),
            (
                "evenkeel explain job a",
                "possible values: pod, node, workload",
            ),
            (
                "evenkeel explain pod a --look soon",
                "expected a duration such as 5m",
            ),
            (
                "evenkeel explain pod a --look 5m --from f",
                "cannot be used with",
            ),
            ("evenkeel plan -o xml", "possible values: text, json"),
            (
                "evenkeel run --descheduling-interval soon",
                "expected a duration such as 5m",
            ),
            (
                "evenkeel run --kubeconfig a --client-connection-kubeconfig b",
                "cannot be used with",
            ),
            (
                "evenkeel simulate --duration soon",
                "expected a duration from 1m to 8760h",
            ),
            (
                "evenkeel simulate late-nodes --from c.json",
                "cannot be used with",
            ),
            ("evenkeel run --listen here", "expected an address such as"),
            (
                "evenkeel run --leader-elect-resource-lock endpoints",
                "possible values: leases",
            ),
            (
                "evenkeel run --leader-elect-retry-period soon",
                "expected a duration such as 15s",
            ),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(said), "{line}: {error}");
        }
    }
}
