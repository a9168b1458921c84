//! The command line: one file for each command.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use tracing_subscriber::filter::{EnvFilter, FilterExt, FilterFn, LevelFilter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use crate::policy::Policy;
use crate::telemetry::traces::{self, Traces};
use crate::view::screen::{Screen, harmless};

mod apply;
mod approve;
mod descheduler;
mod doctor;
mod election;
mod examples;
mod explain;
mod file;
mod history;
mod live;
mod otlp;
mod parse;
mod pause;
mod plan;
mod policy;
mod record;
mod run;
mod scheduler;
mod signals;
mod simulate;
mod snapshot;
mod status;
mod terminal;

use parse::BooleanFlag;
pub use status::status_text;

const EXAMPLES: &str = "\
Examples:
  evenkeel plan                              show the moves for the current cluster, and the reasons
  evenkeel plan --from cluster.yaml          the same from a file, without a cluster
  evenkeel explain pod shop/web-0            show why a pod moves or stays, and how to change that
  evenkeel doctor                            check rights, usage, budgets and other programs
  evenkeel status                            show what the running instance does
  evenkeel history record.jsonl              show what was evicted, and the sums of each week
  evenkeel pause --reason TEXT --for 2h      stop evictions for two hours
  evenkeel approve                           show the evictions that wait for an approval
  evenkeel simulate                          run hours of a cluster in memory under a policy
  evenkeel policy check policy.yaml          validate a policy
  evenkeel run --policy policy.yaml          keep the cluster balanced
  evenkeel run --policy policy.yaml --dry-run --once

Exit status: 0 success, 1 failure, 2 wrong usage or invalid policy.";

/// A rebalancer for Kubernetes: evicts the few pods whose move balances the nodes, by actual usage.
#[derive(Debug, Parser)]
#[command(name = "evenkeel", version, max_term_width = 110, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the daemon: watch a cluster and keep it balanced
    Run(Box<run::RunArgs>),
    /// Show which pods would move and why the others stay; evicts nothing
    Plan(plan::PlanArgs),
    /// Explain one pod, node or workload: why it moves or stays, and how to change that
    Explain(explain::ExplainArgs),
    /// Check whether a cluster lets evenkeel do its work, and what to change
    Doctor(doctor::DoctorArgs),
    /// Show what a running instance does, from its status page
    Status(status::StatusArgs),
    /// Print the record of evictions and sum it by week
    History(history::RecordHistoryArgs),
    /// Stop evictions, in the cluster or in one namespace
    Pause(pause::PauseArgs),
    /// Allow evictions again after a pause
    Resume(pause::ResumeArgs),
    /// Show the evictions that wait for an approval, or approve them
    Approve(approve::ApproveArgs),
    /// Make exactly the evictions of a plan file, each checked again
    Apply(Box<apply::ApplyArgs>),
    /// Try a policy on a cluster in memory; hours take seconds
    Simulate(simulate::SimulateArgs),
    /// Record a cluster in a file for plan --from and simulate --from
    Snapshot(snapshot::SnapshotArgs),
    /// Check or convert policies
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    /// Print shell completions
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
    /// Write a manual page for each command into a folder
    Man {
        /// Folder, which must exist
        folder: PathBuf,
    },
    /// Print the version
    Version,
}

/// The flag for the mode in which a policy of descheduler decides as descheduler does.
#[derive(Clone, Copy, Debug, clap::Args)]
struct ExactArgs {
    /// Decide as descheduler does: evict in its order, without the checks that it does not have
    #[arg(long, boolean(), default_value = "false")]
    exact: bool,
}

impl ExactArgs {
    /// The policy in this mode if the flag is set.
    fn apply(self, policy: Policy) -> Policy {
        if self.exact { policy.exactly() } else { policy }
    }
}

/// Flags that `run`, `plan` and `explain` share.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Cluster and log")]
struct Shared {
    /// Policy: what to balance, the limits, and which pods may be evicted
    #[arg(long, value_name = "FILE", env = "EVENKEEL_POLICY", hide_env_values = true)]
    policy: Option<PathBuf>,
    #[command(flatten)]
    scheduler: scheduler::SchedulerArgs,
    /// Kubeconfig of the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod's service
    /// account]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Namespace of the ledger and of the proposal
    #[arg(
        long,
        value_name = "NAME",
        env = "POD_NAMESPACE",
        hide_env_values = true,
        default_value = "kube-system"
    )]
    namespace: String,
    /// Name of the ledger, the ConfigMap that records earlier evictions
    #[arg(long, value_name = "NAME", default_value = "evenkeel-ledger")]
    ledger: String,
    /// Name of the ConfigMap with the evictions that wait for an approval
    #[arg(long, value_name = "NAME", default_value = "evenkeel-proposal")]
    proposal: String,
    /// Format of log lines; the log goes to standard error
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    log_format: LogFormat,
    /// Log level: error, warn, info, debug or trace, optionally per module as in
    /// `info,kube=debug` [default: info for run and apply, warn otherwise]
    #[arg(long, value_name = "LEVEL", env = "RUST_LOG", hide_env_values = true)]
    log_level: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum LogFormat {
    #[default]
    Text,
    Json,
}

/// Wrong usage or an invalid policy: the caller has to change something. The exit status is 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Misuse(String);

/// Runs the command that the arguments name and returns its exit status.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let command = as_called(arguments.first());
    let matches = command.try_get_matches_from(descheduler::with_command(arguments));
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return report_usage(&error),
    };
    // Not locked, because the record of `run` may go there too.
    let stdout = io::BufWriter::new(io::stdout());
    let mut out = terminal::HarmlessWriter::new(stdout, screen().colours);
    let result = cli.command.run(&mut out);
    match result.and_then(|()| out.flush().map_err(Into::into)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::from(if error.is::<Misuse>() { 2 } else { 1 })
        }
    }
}

/// The command line, with the name by which the program was called: kubectl starts a plugin as
/// `kubectl-evenkeel`.
fn as_called(program: Option<&OsString>) -> clap::Command {
    let name = program.and_then(|path| Path::new(path).file_stem());
    let is_plugin = name.is_some_and(|name| name == "kubectl-evenkeel");
    if is_plugin { Cli::command().bin_name("kubectl evenkeel") } else { Cli::command() }
}

/// Prints what clap returns instead of arguments: help, the version, or an error.
fn report_usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // A reader such as `| head` may have closed the pipe.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
    } else {
        let text = error.render().to_string();
        complain(text.trim_start_matches("error: ").trim_end());
    }
    ExitCode::from(2)
}

/// Whether the reader of the output has gone, as in `| head`.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Prints a line to standard error; does nothing if that is closed.
fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "evenkeel: {}", harmless(text, false));
}

/// Writes a value as JSON, with a newline at the end.
fn write_json(out: &mut dyn Write, value: &impl serde::Serialize) -> anyhow::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value).map_err(io::Error::from)?;
    Ok(writeln!(out)?)
}

impl Command {
    fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self {
            Command::Run(args) => run_daemon(*args),
            Command::Approve(args) => approve::run(&args, out),
            Command::Apply(args) => run_daemon(args.run()?),
            Command::Plan(args) => {
                args.shared.start_log("warn", args.shared.log_format, None)?;
                plan::run(&args, out)
            }
            Command::Explain(args) => {
                args.shared.start_log("warn", args.shared.log_format, None)?;
                explain::run(&args, out)
            }
            Command::Doctor(args) => {
                args.shared.start_log("warn", args.shared.log_format, None)?;
                doctor::run(&args, out)
            }
            Command::Status(args) => status::run(&args, out),
            Command::History(args) => history::run(&args, out),
            Command::Pause(args) => pause::pause(&args, out),
            Command::Resume(args) => pause::resume(&args, out),
            Command::Simulate(args) => simulate::run(&args, out),
            Command::Snapshot(args) => snapshot::run(&args, out),
            Command::Policy(command) => policy::run(&command, out),
            Command::Completions { shell } => {
                // Generated in memory: clap_complete panics when the pipe closes.
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut Cli::command(), "evenkeel", &mut script);
                Ok(out.write_all(&script)?)
            }
            Command::Man { folder } => clap_mangen::generate_to(Cli::command(), &folder)
                .with_context(|| format!("man: cannot write to {}", folder.display())),
            Command::Version => Ok(writeln!(out, "evenkeel {}", env!("CARGO_PKG_VERSION"))?),
        }
    }
}

impl Shared {
    fn start_log(
        &self,
        default_level: &str,
        format: LogFormat,
        traces: Option<&Traces>,
    ) -> anyhow::Result<()> {
        let filter = log_filter(self.log_level.as_deref().unwrap_or_default(), default_level)?;
        // Our spans are for traces only and would lengthen each log line. The log and the traces
        // have a filter each, so a quiet log leaves no gaps in a trace.
        let no_spans = FilterFn::new(|metadata| metadata.is_event() || !traces::is_ours(metadata));
        let filter = filter.and(no_spans.with_max_level_hint(LevelFilter::TRACE));
        let lines = fmt::layer().with_writer(io::stderr);
        let lines = match format {
            LogFormat::Text => lines
                .with_ansi(io::stderr().is_terminal() && !no_colour())
                .with_filter(filter)
                .boxed(),
            LogFormat::Json => lines.json().flatten_event(true).with_filter(filter).boxed(),
        };
        let started =
            tracing_subscriber::registry().with(lines).with(traces.map(Traces::layer)).try_init();
        started.context("cannot start the log")
    }
}

/// The lines to log. An empty level, as of an empty environment variable, means the default.
fn log_filter(level: &str, default_level: &str) -> Result<EnvFilter, Misuse> {
    let refused = |found: &str| {
        Misuse(format!(
            "--log-level or RUST_LOG: found {found:?}, expected error, warn, info, debug or trace, \
             optionally per module as in info,kube=debug"
        ))
    };
    let directives = level.split(',').map(str::trim).filter(|d| !d.is_empty());
    let mut directives: Vec<&str> = directives.collect();
    if directives.is_empty() {
        directives.push(default_level);
    }
    for directive in directives.iter().filter(|d| !d.contains('=')) {
        // Otherwise a mistyped level would be the name of a module, and the log would be empty.
        let parsed = directive.parse::<LevelFilter>();
        parsed.map_err(|_| refused(directive))?;
    }
    // kube's client logs an error for each failed connection; the watches report each failure once.
    let all = format!("kube_client=off,{}", directives.join(","));
    EnvFilter::try_new(all).map_err(|_| refused(level))
}

fn run_daemon(args: run::RunArgs) -> anyhow::Result<()> {
    let runtime = runtime()?;
    let traces = args.start_log(runtime.handle())?;
    let done = runtime.block_on(run::run(Arc::new(args)));
    if let Some(traces) = traces {
        traces.stop();
    }
    // The thread of a write to a disk or a pipe may hang.
    runtime.shutdown_background();
    done
}

/// A runtime for the commands that talk to a cluster.
fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start threads")
}

/// The terminal of standard output. A pipe or a file gets 100 columns without colours.
fn screen() -> Screen {
    if !io::stdout().is_terminal() {
        return Screen::plain(100);
    }
    let size = terminal_size::terminal_size_of(io::stdout());
    let width = size.map_or(100, |(width, _)| usize::from(width.0));
    Screen { width: width.clamp(60, 160), colours: !no_colour() }
}

fn no_colour() -> bool {
    is_colourless(|name| std::env::var_os(name))
}

/// Whether the user wants no colours (<https://no-color.org>), or the terminal has none.
fn is_colourless(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    variable("NO_COLOR").is_some_and(|value| !value.is_empty())
        || variable("TERM").is_some_and(|terminal| terminal == "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Cli, String> {
        Cli::try_parse_from(line.split(' ')).map_err(|error| error.to_string())
    }

    #[test]
    fn the_commands_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_reason_that_would_pause_nothing_is_refused() {
        assert!(parse("evenkeel pause --reason incident").is_ok());
        let error = parse("evenkeel pause --reason false").unwrap_err();
        assert!(error.contains("the annotation false pauses nothing"), "{error}");
    }

    #[test]
    fn a_user_or_a_terminal_may_want_no_colours() {
        let colourless =
            |name: &str, value: &str| is_colourless(|asked| (asked == name).then(|| value.into()));
        assert!(colourless("NO_COLOR", "1") && colourless("TERM", "dumb"));
        assert!(!colourless("NO_COLOR", "") && !colourless("TERM", "xterm"));
    }

    #[test]
    fn help_names_the_command_that_was_typed() {
        let help = |program: &str| {
            let called = as_called(Some(&OsString::from(program)));
            let error = called.try_get_matches_from([program, "plan", "--help"]);
            error.unwrap_err().to_string()
        };
        assert!(help("/usr/local/bin/evenkeel").contains("Usage: evenkeel plan"));
        let plugin = help("/root/.krew/bin/kubectl-evenkeel");
        assert!(plugin.contains("Usage: kubectl evenkeel plan"), "{plugin}");
    }

    #[test]
    fn every_command_has_a_manual_page() {
        let folder = std::env::temp_dir().join(format!("evenkeel-man-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        clap_mangen::generate_to(Cli::command(), &folder).unwrap();
        for command in ["evenkeel", "evenkeel-plan", "evenkeel-doctor", "evenkeel-policy-check"] {
            let page = std::fs::read_to_string(folder.join(format!("{command}.1"))).unwrap();
            assert!(page.contains(".SH SYNOPSIS"), "{command}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn every_command_line_parses() {
        for line in [
            "evenkeel run --policy p.yaml --once --dry-run --namespace a --ledger b --listen \
                127.0.0.1:0",
            "evenkeel run --policy-config-file p.yaml --descheduling-interval=5m -v 3 \
                --leader-elect --dry-run=true",
            "evenkeel run --policy p.yaml --exact --dry-run=false --client-connection-kubeconfig k \
                --logging-format json",
            "evenkeel policy convert p.yaml",
            "evenkeel plan --exact",
            "evenkeel plan --exact=false",
            "evenkeel run --policy p.yaml --exact=true --once=true",
            "evenkeel simulate --exact=1",
            "evenkeel plan --scheduler-config s.yaml",
            "evenkeel run --policy p.yaml --scheduler-config s.yaml",
            "evenkeel run --policy p.yaml --otlp-endpoint http://c:4318 --otlp-sample-ratio 0.1 \
                --otlp-headers a=b",
            "evenkeel run --policy-config-file p.yaml --otel-collector-endpoint c:4318 \
                --otel-fallback-no-op-on-error",
            "evenkeel simulate --scheduler-config s.yaml",
            "evenkeel plan",
            "evenkeel plan --from - --now 2026-11-21T07:30:00Z -o json",
            "evenkeel plan --from c.yaml --now 1795246200 --all",
            "evenkeel plan -v --kubeconfig k --log-format json --log-level debug",
            "evenkeel explain pod shop/web-0",
            "evenkeel explain node n1 --from c.json --exact -o json",
            "evenkeel explain workload shop/deployment/web --look 2m --all",
            "evenkeel history --weeks -o json old.jsonl -",
            "evenkeel run --policy p.yaml --record https://h/x --record-format text \
                --record-bearer-token-file t --record-ca-file c --record-source evenkeel/prod",
            "evenkeel doctor --service-account kube-system/evenkeel",
            "evenkeel doctor --from c.json -o json --policy p.yaml",
            "evenkeel snapshot --scramble -o c.json --kubeconfig k",
            "evenkeel snapshot --history 2w --step 15m --policy p.yaml -o c.json",
            "evenkeel simulate",
            "evenkeel simulate dead-loop --policy a.yaml --policy b.yaml --duration 6h --seed 7 -o \
                json -v",
            "evenkeel simulate --from c.json",
            "evenkeel simulate --list",
            "evenkeel simulate --show late-nodes",
            "evenkeel policy check p.yaml",
            "evenkeel completions bash",
            "evenkeel man out",
            "evenkeel version",
        ] {
            assert!(parse(line).is_ok(), "{line}: {:?}", parse(line).err());
        }
    }

    #[test]
    fn a_log_level_is_a_level_and_not_the_name_of_a_module() {
        let filter = |level: &str| {
            let filter = log_filter(level, "info");
            filter.map_err(|error| error.to_string())
        };
        for level in ["", " ", "INFO", "off", "3", "warn, kube=debug", "hyper=off,info"] {
            assert!(filter(level).is_ok(), "{level}");
        }
        let is_default =
            |level: &str| filter(level).unwrap().to_string() == filter("info").unwrap().to_string();
        assert!(is_default("") && !is_default("debug"));
        for (level, found) in [
            ("warning", "\"warning\""),
            ("kube=debug,inof", "\"inof\""),
            ("hyper", "\"hyper\""),
            ("info,kube=loud", "\"info,kube=loud\""),
        ] {
            let error = filter(level).unwrap_err();
            assert!(error.contains(&format!("found {found}, expected error, warn")), "{error}");
        }
    }

    #[test]
    fn wrong_usage_is_rejected() {
        for (line, expected) in [
            ("evenkeel", "Usage: evenkeel <COMMAND>"),
            ("evenkeel plan --now 2026-11-21T07:30:00Z", "--from"),
            ("evenkeel plan --from f --now noon", "expected a time such as"),
            ("evenkeel explain", "<KIND>"),
            ("evenkeel explain job a", "possible values: pod, node, workload"),
            ("evenkeel explain pod a --look soon", "expected a duration such as 5m"),
            ("evenkeel explain pod a --look 5m --from f", "cannot be used with"),
            ("evenkeel doctor --service-account evenkeel", "expected an account such as"),
            ("evenkeel plan -o xml", "possible values: text, json"),
            ("evenkeel run --descheduling-interval soon", "expected a duration such as 5m"),
            ("evenkeel run --kubeconfig a --client-connection-kubeconfig b", "cannot be used with"),
            ("evenkeel simulate --duration soon", "expected a duration from 1m to 365d"),
            (
                "evenkeel pause --reason r --for 1000000w",
                "--for <DURATION>': expected a duration up",
            ),
            ("evenkeel simulate late-nodes --from c.json", "cannot be used with"),
            ("evenkeel run --listen here", "expected an address such as"),
            ("evenkeel run --leader-elect-resource-lock endpoints", "possible values: leases"),
            ("evenkeel run --leader-elect-retry-period soon", "expected a duration such as 15s"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
