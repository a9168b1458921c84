//! `evenkeel plan`: what would be done, from a live cluster or from a file.

use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::engine::Engine;
use crate::ledger::Ledger;
use crate::policy::Policy;
use crate::snapshot::Snapshot;
use crate::usage::Readings;

use super::show::{Page, Screen};
use super::{Misuse, Shared, file, live, policy, runtime};

/// Looks once and takes what it sees for steady: how long a node has been hot is not asked.
#[derive(Debug, clap::Args)]
#[command(after_help = file::HOW_TO)]
pub(super) struct Args {
    /// Read the cluster from a file of objects, YAML or JSON, as kubectl prints them; `-` is standard input
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// With --from: take this for the present, RFC 3339 or Unix seconds [default: when the newest metrics were taken]
    #[arg(long, value_name = "TIME", requires = "from", value_parser = moment)]
    now: Option<Timestamp>,
    /// As tables for people, or the whole plan for machines
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    output: Output,
    /// As descheduler would: its order of victims, and none of the guards that it does not have
    #[arg(long)]
    exact: bool,
    /// List every node, every pod that stays and every workload whose requests are far from use
    #[arg(short = 'v', long)]
    all: bool,
    #[command(flatten)]
    pub(super) shared: Shared,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum Output {
    #[default]
    Text,
    Json,
}

/// All that a plan is made from, but the policy.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) snapshot: Snapshot,
    pub(super) readings: Readings,
    /// What is remembered of earlier evictions; empty where there is no telling.
    pub(super) ledger: Ledger,
    pub(super) now: Timestamp,
    /// Lines for the head of the page: what was looked at, and when.
    pub(super) head: Vec<String>,
}

/// Makes the plan and prints it.
pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut chosen = policy::read_or_built_in(args.shared.policy.as_deref())?;
    if args.exact {
        chosen.policy = chosen.policy.exactly();
    }
    let (known, of_the_scheduler) = args.shared.scheduler.apply(chosen.policy)?;
    chosen.policy = known;
    let seen = match &args.from {
        Some(path) => from_file(path, &chosen.policy, args.now)?,
        None => runtime()?.block_on(live::look(&args.shared, &chosen.policy))?,
    };
    if let Some(bad) = chosen.policy.bad_class(&seen.snapshot.classes) {
        return Err(Misuse(bad.to_string()).into());
    }
    let mut head = seen.head;
    head.push(format!("policy: {}: {}", chosen.from, policy::sentence(&chosen.policy)));
    let mut warnings = policy::warnings(&chosen.policy, &chosen.from);
    warnings.extend(of_the_scheduler);
    head.extend(warnings.clone());
    let mut engine = Engine::new(chosen.policy, seen.ledger);
    engine.observe_steady(&seen.snapshot, &seen.readings, seen.now);
    let mut plan = engine.decide(&seen.snapshot, seen.now);
    plan.skipped.extend(seen.readings.skipped);
    match args.output {
        Output::Text => {
            let page =
                Page { plan: &plan, policy: engine.policy(), head: &head, all: args.all, screen: Screen::here() };
            out.write_all(page.to_string().as_bytes())?;
        }
        Output::Json => {
            for warning in &warnings {
                super::complain(warning);
            }
            serde_json::to_writer_pretty(&mut *out, &plan).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
    }
    Ok(())
}

fn from_file(path: &Path, policy: &Policy, now: Option<Timestamp>) -> anyhow::Result<Seen> {
    let found = file::read(path)?;
    let newest = found.readings.nodes.values().chain(found.readings.pods.values()).map(|s| s.at).max();
    let (now, clock) = match (now, newest) {
        (Some(now), _) => (now, "as told by --now"),
        (None, Some(newest)) => (newest, "when the newest metrics were taken"),
        (None, None) => (present(), "the present, for the file has no metrics"),
    };
    let mut head =
        vec![format!("plan for {}: {}", file::label(path), found.sentence()), format!("time: {now:.0}, {clock}")];
    if found.readings.nodes.is_empty() && policy.weighs_usage() {
        head.push("no usage of nodes in the file, and unknown is not idle: --help tells how to add it".to_owned());
    }
    let snapshot = Snapshot::join(&found.objects, policy.resources());
    Ok(Seen { snapshot, readings: found.readings, ledger: Ledger::default(), now, head })
}

#[expect(clippy::disallowed_methods, reason = "an edge: the time of a plan is that of its making")]
fn present() -> Timestamp {
    Timestamp::now()
}

/// RFC 3339, or seconds since 1970.
fn moment(text: &str) -> Result<Timestamp, String> {
    let seconds = || text.parse().ok().and_then(|s| Timestamp::from_second(s).ok());
    let expected = || "expected a time such as 2026-01-31T12:00:00Z, or Unix seconds".to_owned();
    text.parse().ok().or_else(seconds).ok_or_else(expected)
}
