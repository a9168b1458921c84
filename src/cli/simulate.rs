//! `evenkeel simulate`: what a policy would do over hours, in a cluster in memory.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use jiff::SignedDuration;

use crate::model::plan::short;
use crate::simulate;
use crate::simulate::scenario::{Given, PolicySource, Scenario};
use crate::simulate::trace::Trace;

use super::policy::Chosen;
use super::show::Screen;
use super::{Misuse, file, policy, report};

use self::page::SimulationText;

mod page;

const EXAMPLES: &str = "\
Examples:
  evenkeel simulate                                 three full nodes, and seven that join later
  evenkeel simulate --list                          the scenarios that are built in
  evenkeel simulate daily-wave --policy mine.yaml   a built-in scenario under your policy
  evenkeel simulate --from cluster.json             your own cluster, with its usage as it was then
  evenkeel simulate --policy a.yaml --policy b.yaml two policies side by side
  evenkeel simulate --html page.html                the run as a page with pictures
  evenkeel simulate --show late-nodes > mine.yaml   a scenario to change
  evenkeel simulate mine.yaml                       it, changed";

/// Runs a cluster in memory through hours in moments, and shows what a policy does to it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// A built-in scenario, or a file that holds one [default: late-nodes]
    #[arg(value_name = "SCENARIO")]
    scenario: Option<String>,
    /// Begin with a cluster from a file of objects, as `plan --from` reads it; its usage stays as it was
    #[arg(long, value_name = "FILE", conflicts_with = "scenario")]
    from: Option<PathBuf>,
    /// The policy to try; twice to compare two [default: that of the scenario]
    #[arg(long, value_name = "FILE")]
    policy: Vec<PathBuf>,
    #[command(flatten)]
    scheduler: super::scheduler::Scheduler,
    /// How long to go on, in simulated time [default: as the scenario says, or 2h]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    duration: Option<SignedDuration>,
    /// What decides ties and noise; another one gives another run [default: as the scenario says]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// As tables for people, or everything that happened for machines
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    output: Output,
    /// Also write a page with pictures, for a browser: one file that loads nothing from anywhere
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// List every node, eviction and event
    #[arg(short = 'v', long)]
    all: bool,
    /// List the scenarios that are built in
    #[arg(long, exclusive = true)]
    list: bool,
    /// Print a built-in scenario: a file to copy and change
    #[arg(long, value_name = "SCENARIO", exclusive = true)]
    show: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum Output {
    #[default]
    Text,
    Json,
}

/// A scenario, and the folder that file names in it start from.
struct Loaded {
    scenario: Scenario,
    folder: PathBuf,
    /// Lines for the head of the page.
    head: Vec<String>,
}

/// Runs the scenario under each policy, and shows what happened.
pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    if args.list {
        return list(out);
    }
    if let Some(name) = &args.show {
        return Ok(out.write_all(built_in(name)?.as_bytes())?);
    }
    if args.policy.len() > 2 {
        return Err(Misuse("--policy: at most two can be compared".to_owned()).into());
    }
    let mut loaded = load(args)?;
    loaded.scenario.duration = args.duration.unwrap_or(loaded.scenario.duration);
    loaded.scenario.seed = args.seed.unwrap_or(loaded.scenario.seed);
    let mut chosen = policies(args, &loaded)?;
    for it in &mut chosen {
        let (known, warnings) = args.scheduler.apply(it.policy.clone())?;
        it.policy = known;
        loaded.head.extend(warnings);
        loaded.head.push(format!(
            "policy: {}: {}",
            it.from,
            policy::sentence(&it.policy)
        ));
        loaded.head.extend(policy::warnings(&it.policy, &it.from));
    }
    let traces: Vec<Trace> = chosen
        .into_iter()
        .map(|it| carry_out(&loaded.scenario, it))
        .collect();
    if let Some(path) = &args.html {
        std::fs::write(path, report::html(&traces)).with_context(|| path.display().to_string())?;
    }
    match args.output {
        Output::Text => {
            let page = SimulationText {
                traces: &traces,
                head: &loaded.head,
                all: args.all,
                screen: Screen::here(),
            };
            out.write_all(page.to_string().as_bytes())?;
        }
        Output::Json => {
            match &traces[..] {
                [one] => serde_json::to_writer_pretty(&mut *out, one),
                all => serde_json::to_writer_pretty(&mut *out, all),
            }
            .map_err(io::Error::from)?;
            writeln!(out)?;
        }
    }
    Ok(())
}

fn list(out: &mut dyn Write) -> anyhow::Result<()> {
    for name in Scenario::names() {
        let scenario = parse(name, built_in(name)?)?;
        writeln!(out, "{name:16} {}", scenario.about)?;
    }
    Ok(())
}

fn built_in(name: &str) -> anyhow::Result<&'static str> {
    let known: Vec<&str> = Scenario::names().collect();
    let near = known
        .iter()
        .map(|n| (strsim::damerau_levenshtein(n, name), *n))
        .min();
    let hint = near
        .filter(|(far, _)| *far <= 3)
        .map_or(String::new(), |(_, n)| format!(" (did you mean {n}?)"));
    let unknown = || {
        Misuse(format!(
            "no scenario is called {name}{hint}; built in are {}",
            known.join(", ")
        ))
    };
    Ok(Scenario::built_in(name).ok_or_else(unknown)?)
}

fn parse(label: &str, text: &str) -> anyhow::Result<Scenario> {
    Ok(Scenario::parse(label, text).map_err(|error| Misuse(error.to_string()))?)
}

fn load(args: &Args) -> anyhow::Result<Loaded> {
    if let Some(path) = &args.from {
        return given(path);
    }
    let name = args.scenario.as_deref().unwrap_or("late-nodes");
    let path = Path::new(name);
    let is_file = name == "-" || name.contains(['/', '.']) || path.exists();
    let (label, text) = if Scenario::built_in(name).is_none() && is_file {
        (
            file::label(path),
            file::text(path).map_err(|error| Misuse(format!("{error:#}")))?,
        )
    } else {
        (name.to_owned(), built_in(name)?.to_owned())
    };
    let scenario = parse(&label, &text)?;
    let folder = path
        .parent()
        .filter(|_| is_file)
        .map(Path::to_path_buf)
        .unwrap_or_default();
    let named = if label == scenario.name {
        String::new()
    } else {
        format!(" ({label})")
    };
    let head = vec![format!(
        "scenario: {}{named}: {}",
        scenario.name, scenario.about
    )];
    Ok(Loaded {
        scenario,
        folder,
        head,
    })
}

fn given(path: &Path) -> anyhow::Result<Loaded> {
    let found = file::read(path)?;
    let newest = found
        .readings
        .nodes
        .values()
        .chain(found.readings.pods.values())
        .map(|s| s.at)
        .max();
    let head = vec![format!(
        "cluster: {}: {}",
        file::label(path),
        found.sentence()
    )];
    let Some(at) = newest else {
        return Err(Misuse(format!(
            "{}: no metrics, so no usage to simulate\n\n{}",
            file::label(path),
            file::HOW_TO
        ))
        .into());
    };
    let scenario = Scenario::of(
        file::label(path),
        Given {
            objects: found.objects,
            readings: found.readings,
            at,
        },
    );
    Ok(Loaded {
        scenario,
        folder: PathBuf::new(),
        head,
    })
}

/// The policies that are asked for, or that of the scenario, or the one that is built in.
fn policies(args: &Args, loaded: &Loaded) -> anyhow::Result<Vec<Chosen>> {
    if !args.policy.is_empty() {
        return args
            .policy
            .iter()
            .map(|path| policy::read_or_built_in(Some(path)))
            .collect();
    }
    let one = match &loaded.scenario.policy {
        None => policy::read_or_built_in(None)?,
        Some(PolicySource::File(name)) => {
            policy::read_or_built_in(Some(&loaded.folder.join(name)))?
        }
        Some(PolicySource::Inline(policy)) => Chosen {
            policy: (**policy).clone(),
            from: "of the scenario".to_owned(),
        },
    };
    Ok(vec![one])
}

fn carry_out(scenario: &Scenario, chosen: Chosen) -> Trace {
    let mut progress = Progress::new(scenario.duration);
    let trace = simulate::run(scenario, chosen.policy, &chosen.from, |elapsed| {
        progress.tell(elapsed)
    });
    progress.clear();
    trace
}

/// A line on standard error, for runs that take long and people who wait.
struct Progress {
    whole: SignedDuration,
    began: Instant,
    told: Option<Instant>,
    wanted: bool,
}

impl Progress {
    fn new(whole: SignedDuration) -> Self {
        Progress {
            whole,
            began: clock(),
            told: None,
            wanted: io::stderr().is_terminal(),
        }
    }

    fn tell(&mut self, elapsed: SignedDuration) {
        const PATIENCE: Duration = Duration::from_secs(1);
        if !self.wanted || self.told.unwrap_or(self.began).elapsed() < PATIENCE {
            return;
        }
        self.told = Some(clock());
        let _ = write!(
            io::stderr(),
            "\r{:>8} of {} simulated",
            short(elapsed),
            short(self.whole)
        );
    }

    fn clear(&self) {
        if self.told.is_some() {
            let _ = write!(io::stderr(), "\r{:40}\r", "");
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "an edge: how long a person has waited"
)]
fn clock() -> Instant {
    Instant::now()
}

/// A duration as policies have it, such as `6h`.
fn duration(text: &str) -> Result<SignedDuration, String> {
    let parsed: Option<SignedDuration> = text.parse().ok();
    let sound = |d: &SignedDuration| (60..=31_536_000).contains(&d.as_secs());
    parsed
        .filter(sound)
        .ok_or_else(|| "expected a duration from 1m to 8760h, such as 6h".to_owned())
}
