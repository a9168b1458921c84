//! `evenkeel plan`: what would be done, from a live cluster or from a file.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};

use crate::decide::engine::Engine;
use crate::model::ledger::Ledger;
use crate::model::snapshot::Snapshot;
use crate::model::snapshot::facts::Skipped;
use crate::model::usage::Readings;
use crate::policy::Policy;

use super::show::{Page, Screen};
use super::{Misuse, Shared, file, live, policy, runtime};

/// Takes what it sees for steady: how long a node has been hot is not asked.
#[derive(Debug, clap::Args)]
#[command(after_help = file::HOW_TO)]
pub(super) struct Args {
    #[command(flatten)]
    look: Look,
    /// List every node, every pod that stays and every workload whose requests are far from use
    #[arg(short = 'v', long)]
    all: bool,
    #[command(flatten)]
    pub(super) shared: Shared,
}

/// What is looked at, and how it is told.
#[derive(Debug, clap::Args)]
pub(super) struct Look {
    /// Read the cluster from a file of objects, YAML or JSON, as kubectl prints them; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(super) from: Option<PathBuf>,
    /// With --from: take this for the present, RFC 3339 or Unix seconds [default: when the newest metrics were taken]
    #[arg(long, value_name = "TIME", requires = "from", value_parser = moment)]
    now: Option<Timestamp>,
    /// Watch a live cluster for so long first, poll by poll [default: one reading, and of Prometheus the whole window]
    #[arg(long = "look", value_name = "DURATION", conflicts_with = "from", value_parser = duration)]
    watch: Option<SignedDuration>,
    /// As tables for people, or all of it for machines
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(super) output: Output,
    /// As descheduler would: its order of victims, and none of the guards that it does not have
    #[arg(long)]
    exact: bool,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
pub(super) enum Output {
    #[default]
    Text,
    Json,
}

/// All that a plan is made from, but the policy.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) snapshot: Snapshot,
    /// In the order of time; the last is the present one.
    pub(super) readings: Vec<(Timestamp, Readings)>,
    /// What is remembered of earlier evictions; empty where there is no telling.
    pub(super) ledger: Ledger,
    pub(super) now: Timestamp,
    /// Lines for the head of the page: what was looked at, and when.
    pub(super) head: Vec<String>,
}

/// An engine that has looked, and what it looked at.
pub(super) struct Looked {
    pub(super) engine: Engine,
    pub(super) snapshot: Snapshot,
    pub(super) now: Timestamp,
    pub(super) head: Vec<String>,
    /// What is of no effect in the policy, a line for each; also in the head.
    pub(super) warnings: Vec<String>,
    /// Samples that could not be read.
    skipped: Vec<Skipped>,
}

/// Looks at a file or at a live cluster; at the latter for as long as it is told, and into the past where the source has one.
pub(super) fn look(look: &Look, shared: &Shared, what_for: &str) -> anyhow::Result<Looked> {
    let mut chosen = policy::read_or_built_in(shared.policy.as_deref())?;
    if look.exact {
        chosen.policy = chosen.policy.exactly();
    }
    let (known, of_the_scheduler) = shared.scheduler.apply(chosen.policy)?;
    chosen.policy = known;
    let mut seen = match &look.from {
        Some(path) => from_file(path, &chosen.policy, look.now, shared)?,
        None => runtime()?.block_on(live::look(
            shared,
            &chosen.policy,
            look.watch.unwrap_or_default(),
        ))?,
    };
    if let Some(bad) = chosen.policy.bad_class(&seen.snapshot.classes) {
        return Err(Misuse(bad.to_string()).into());
    }
    let mut head = seen.head;
    if let Some(first) = head.first_mut() {
        *first = format!("{what_for} {first}");
    }
    head.push(format!(
        "policy: {}: {}",
        chosen.from,
        policy::sentence(&chosen.policy)
    ));
    let mut warnings = policy::warnings(&chosen.policy, &chosen.from);
    warnings.extend(of_the_scheduler);
    head.extend(warnings.clone());
    let mut engine = Engine::new(chosen.policy, seen.ledger);
    for (at, readings) in &seen.readings {
        engine.observe_steady(&seen.snapshot, readings, *at);
    }
    let skipped = seen
        .readings
        .pop()
        .map(|(_, last)| last.skipped)
        .unwrap_or_default();
    Ok(Looked {
        engine,
        snapshot: seen.snapshot,
        now: seen.now,
        head,
        warnings,
        skipped,
    })
}

/// Makes the plan and prints it.
pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let Looked {
        engine,
        snapshot,
        now,
        head,
        warnings,
        skipped,
    } = look(&args.look, &args.shared, "plan for")?;
    let mut plan = engine.decide(&snapshot, now);
    plan.skipped.extend(skipped);
    match args.look.output {
        Output::Text => {
            let page = Page {
                plan: &plan,
                policy: engine.policy(),
                head: &head,
                all: args.all,
                screen: Screen::here(),
            };
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

fn from_file(
    path: &Path,
    policy: &Policy,
    now: Option<Timestamp>,
    shared: &Shared,
) -> anyhow::Result<Seen> {
    let mut found = file::read(path)?;
    let newest = found
        .readings
        .nodes
        .values()
        .chain(found.readings.pods.values())
        .map(|s| s.at)
        .max();
    let (now, clock) = match (now, newest) {
        (Some(now), _) => (now, "as told by --now"),
        (None, Some(newest)) => (newest, "when the newest metrics were taken"),
        (None, None) => (present(), "the present, for the file has no metrics"),
    };
    let mut head = vec![
        format!("{}: {}", file::label(path), found.sentence()),
        format!("time: {now:.0}, {clock}"),
    ];
    if found.readings.nodes.is_empty() && policy.weighs_usage() {
        head.push(
            "no usage of nodes in the file, and unknown is not idle: --help tells how to add it"
                .to_owned(),
        );
    }
    let ledger = ledger_of_file(&mut found, path, shared, &mut head)?;
    let snapshot = Snapshot::join(&found.objects, policy.resources());
    Ok(Seen {
        snapshot,
        readings: vec![(now, found.readings)],
        ledger,
        now,
        head,
    })
}

/// The ledger that the file holds; what is said of it goes to the head of the page.
fn ledger_of_file(
    found: &mut file::Found,
    path: &Path,
    shared: &Shared,
    head: &mut Vec<String>,
) -> anyhow::Result<Ledger> {
    let of = format!("configmap {}/{}", shared.namespace, shared.ledger);
    if let Some(text) = found
        .ledgers
        .remove(&(shared.namespace.clone(), shared.ledger.clone()))
    {
        head.push(format!("ledger: {of} of the file"));
        return Ledger::parse(&text).with_context(|| format!("{}: {of}", file::label(path)));
    }
    let others: Vec<String> = found
        .ledgers
        .keys()
        .map(|(namespace, name)| format!("{namespace}/{name}"))
        .collect();
    if !others.is_empty() {
        let sentence =
            "left out of account: --namespace and --ledger say which counts; the file has";
        head.push(format!("ledger: {sentence} {}", others.join(", ")));
    }
    Ok(Ledger::default())
}

#[expect(
    clippy::disallowed_methods,
    reason = "an edge: the time of a plan is that of its making"
)]
fn present() -> Timestamp {
    Timestamp::now()
}

fn duration(text: &str) -> Result<SignedDuration, String> {
    let positive = |time: &SignedDuration| *time > SignedDuration::ZERO;
    text.parse()
        .ok()
        .filter(positive)
        .ok_or_else(|| "expected a duration such as 5m".to_owned())
}

/// RFC 3339, or seconds since 1970.
fn moment(text: &str) -> Result<Timestamp, String> {
    let seconds = || {
        text.parse()
            .ok()
            .and_then(|s| Timestamp::from_second(s).ok())
    };
    let expected = || "expected a time such as 2026-01-31T12:00:00Z, or Unix seconds".to_owned();
    text.parse().ok().or_else(seconds).ok_or_else(expected)
}
