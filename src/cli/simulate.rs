//! `evenkeel simulate`: hours of a cluster in memory under a policy.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use jiff::SignedDuration;

use crate::files::cluster_file::{self, ClusterFile};
use crate::model::guard::recorded::GuardHistory;
use crate::model::usage::SkippedSamples;
use crate::model::usage::recorded::object;
use crate::policy::{Policy, UsagePolicy};
use crate::simulate;
use crate::simulate::compare::{HourDifference, differing_hours};
use crate::simulate::scenario::{Given, PolicySource, Scenario};
use crate::simulate::trace::Trace;
use crate::values::text::{self, count};
use crate::view::report;
use crate::view::simulation::SimulationText;
use crate::view::table::Table;

use super::file::WholeFile;
use super::plan::OutputFormat;
use super::policy::LoadedPolicy;
use super::{Misuse, examples, file, parse, policy, screen, write_json};

use self::progress::Progress;

mod progress;

/// The most names in a line.
const MOST_NAMES: usize = 5;

/// Runs a cluster in memory under a policy and shows the evictions and the balance. Hours take
/// seconds.
#[derive(Debug, clap::Args)]
#[command(after_help = examples::SIMULATE)]
pub(super) struct SimulateArgs {
    /// Name of a built-in scenario, or a scenario file [default: late-nodes]
    #[arg(value_name = "SCENARIO")]
    scenario: Option<String>,
    /// Start with the cluster in a file of objects, as for `plan --from`. Usage that
    /// `snapshot --history` recorded is replayed; otherwise usage stays constant
    #[arg(long, value_name = "FILE", conflicts_with = "scenario")]
    from: Option<PathBuf>,
    /// Policy to try; give it twice to compare two [default: the policy of the scenario]
    #[arg(long, value_name = "FILE")]
    policy: Vec<PathBuf>,
    #[command(flatten)]
    exact: super::ExactArgs,
    #[command(flatten)]
    scheduler: super::scheduler::SchedulerArgs,
    /// Simulated time [default: the duration in the scenario, that of the recorded usage, or 2h]
    #[arg(long, value_name = "DURATION", value_parser = parse::simulated_time)]
    duration: Option<SignedDuration>,
    /// Seed for ties and noise; another seed gives another run [default: the seed in the scenario]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Output format: tables, or JSON with every detail
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    output: OutputFormat,
    /// Also write a report with charts: one HTML file that loads nothing else
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// List every node, eviction and event
    #[arg(short = 'v', long)]
    all: bool,
    /// List the built-in scenarios
    #[arg(long, exclusive = true)]
    list: bool,
    /// Print a built-in scenario as a file to copy and change
    #[arg(long, value_name = "SCENARIO", exclusive = true)]
    show: Option<String>,
}

/// A scenario to run.
struct LoadedScenario {
    scenario: Scenario,
    /// The folder that file names in the scenario are relative to.
    folder: PathBuf,
    /// The first lines of the output.
    head: Vec<String>,
}

/// Runs of one scenario under several policies, as JSON.
#[derive(serde::Serialize)]
struct ComparedRuns<'t> {
    runs: Vec<&'t Trace>,
    differing_hours: Vec<HourDifference>,
}

/// Runs the scenario under each policy and prints the result.
pub(super) fn run(args: &SimulateArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    if args.list {
        return list(out);
    }
    if let Some(name) = &args.show {
        return Ok(out.write_all(built_in(name)?.as_bytes())?);
    }
    if args.policy.len() > 2 {
        let found = args.policy.len();
        return Err(
            Misuse(format!("--policy: found {found} policies, expected at most two")).into()
        );
    }
    if args.html.as_deref() == Some(Path::new("-")) {
        let problem = "--html: found -, expected a file; standard output has the tables";
        return Err(Misuse(problem.to_owned()).into());
    }
    let mut loaded = load(args)?;
    let policies = policies(args, &mut loaded)?;
    // A run may take hours, so the report must be possible before.
    let problem = |path: &Path| format!("{}: cannot write the file", path.display());
    let html = args.html.as_deref().map(|path| {
        let file = WholeFile::new(path).with_context(|| problem(path));
        file.map(|file| (path, file))
    });
    let html = html.transpose()?;
    let traces: Vec<Trace> =
        policies.into_iter().map(|policy| simulate(&loaded.scenario, policy)).collect();
    // The report is written first, because printing fails on a closed pipe, as with `| head`.
    if let Some((path, file)) = html {
        let written = file.write(|file| file.write_all(report::html(&traces).as_bytes()));
        written.with_context(|| problem(path))?;
    }
    print(args, &loaded, &traces, out)
}

fn print(
    args: &SimulateArgs,
    loaded: &LoadedScenario,
    traces: &[Trace],
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    match (args.output, traces) {
        (OutputFormat::Text, traces) => {
            let page =
                SimulationText { traces, head: &loaded.head, all: args.all, screen: screen() };
            Ok(out.write_all(page.to_string().as_bytes())?)
        }
        (OutputFormat::Json, [one]) => write_json(out, one),
        (OutputFormat::Json, several) => {
            let runs: Vec<&Trace> = several.iter().collect();
            let differing_hours = differing_hours(&runs);
            let compared = ComparedRuns { runs, differing_hours };
            write_json(out, &compared)
        }
    }
}

fn list(out: &mut dyn Write) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for name in Scenario::names() {
        let scenario = parse_scenario(name, built_in(name)?, Path::new(""))?;
        rows.push(vec![name.to_owned(), scenario.about]);
    }
    let table = Table::new(rows);
    // A pipe gets one line per scenario, for scripts.
    let lines =
        if std::io::stdout().is_terminal() { table.folded(screen().width) } else { table.lines() };
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The text of a built-in scenario.
fn built_in(name: &str) -> anyhow::Result<&'static str> {
    if let Some(text) = Scenario::built_in(name) {
        return Ok(text);
    }
    let known: Vec<&str> = Scenario::names().collect();
    let nearest =
        known.iter().map(|known| (strsim::damerau_levenshtein(known, name), *known)).min();
    let hint = nearest
        // More than three edits are another word and no typing error.
        .filter(|(distance, _)| *distance <= 3)
        .map_or(String::new(), |(_, name)| format!("; did you mean {name}?"));
    let known = known.join(", ");
    Err(Misuse(format!("found no scenario {name}, expected a file or one of {known}{hint}")).into())
}

/// Parses a scenario. The files that it names are in the folder.
fn parse_scenario(label: &str, text: &str, folder: &Path) -> anyhow::Result<Scenario> {
    let open =
        |name: &str| file::text(&folder.join(name)).map_err(|e| format!("{:#}", e.root_cause()));
    Ok(Scenario::parse_with(label, text, &open).map_err(|error| Misuse(error.to_string()))?)
}

/// Loads the scenario with the duration and the seed of the flags.
fn load(args: &SimulateArgs) -> anyhow::Result<LoadedScenario> {
    let mut loaded = match &args.from {
        Some(path) => from_cluster(path)?,
        None => from_scenario(args.scenario.as_deref().unwrap_or("late-nodes"))?,
    };
    loaded.scenario.duration = args.duration.unwrap_or(loaded.scenario.duration);
    loaded.scenario.seed = args.seed.unwrap_or(loaded.scenario.seed);
    Ok(loaded)
}

/// A built-in scenario, or one in a file.
fn from_scenario(name: &str) -> anyhow::Result<LoadedScenario> {
    let path = Path::new(name);
    // A name with a slash or dot is meant as a file, so that the error names the file and not the
    // scenarios.
    let is_file = name == "-" || name.contains(['/', '.']) || path.exists();
    let (label, text) = if Scenario::built_in(name).is_none() && is_file {
        let text = file::text(path).map_err(|error| Misuse(format!("{error:#}")))?;
        (file::label(path), text)
    } else {
        (name.to_owned(), built_in(name)?.to_owned())
    };
    let folder = path.parent().filter(|_| is_file).unwrap_or(Path::new(""));
    let scenario = parse_scenario(&label, &text, folder)?;
    let origin = if label == scenario.name { String::new() } else { format!(" ({label})") };
    let head = format!("scenario: {}{origin}: {}", scenario.name, scenario.about);
    Ok(LoadedScenario { scenario, folder: folder.to_path_buf(), head: vec![head] })
}

/// A scenario that starts with the cluster in a file.
fn from_cluster(path: &Path) -> anyhow::Result<LoadedScenario> {
    let cluster = file::read(path)?;
    let label = file::label(path);
    let mut head = vec![format!("cluster: {label}: {}", cluster.summary())];
    head.extend(ignored_rows(&cluster.readings.skipped));
    head.extend(unmeasured_nodes(&cluster));
    let history_start = cluster.history.as_ref().map(|history| history.range.start);
    let Some(at) = cluster.newest_metrics(UsagePolicy::STALE_AFTER).or(history_start) else {
        let problem = "found no metrics, expected the usage to simulate";
        return Err(Misuse(format!("{label}: {problem}\n\n{}", cluster_file::HOW_TO)).into());
    };
    let given = Given {
        objects: cluster.objects,
        readings: cluster.readings,
        at,
        history: cluster.history,
        guards: cluster.guards,
    };
    Ok(LoadedScenario { scenario: Scenario::of(label, given), folder: PathBuf::new(), head })
}

/// A line about nodes without usage, which are neither relieved nor given pods.
fn unmeasured_nodes(cluster: &ClusterFile) -> Option<String> {
    let measured = |name: &String| {
        let history = cluster.history.as_ref();
        cluster.readings.nodes.contains_key(name)
            || history.is_some_and(|history| history.nodes.contains_key(name))
    };
    let names: Vec<&str> = cluster
        .objects
        .nodes()
        .filter(|node| !measured(&node.name))
        .map(|node| node.name.as_str())
        .collect();
    let (object, command) = match &cluster.history {
        Some(_) => ("NodeUsageHistory", "`evenkeel snapshot --history`"),
        None => ("NodeMetrics", "`evenkeel snapshot`"),
    };
    let nodes = count(names.len(), "node");
    (!names.is_empty()).then(|| {
        format!(
            "the usage of {nodes} is unknown ({}): the file has no {object} of them, which \
             {command} records",
            text::list(&names, MOST_NAMES)
        )
    })
}

/// A line about rows of recorded usage and recorded guards that cannot be read.
fn ignored_rows(skipped: &SkippedSamples) -> Option<String> {
    let examples = skipped.examples();
    let is_row = |kind: &str| object::is_history(kind) || kind == GuardHistory::KIND;
    let mut rows = examples.iter().filter(|row| is_row(&row.kind));
    let first = rows.next()?;
    Some(match rows.count() + skipped.count() - examples.len() {
        0 => format!("ignored: {first}"),
        more => format!("ignored: {first}, and {}", count(more, "further row")),
    })
}

/// The policies to run, with the scheduler's configuration; the head gets a line for each, and
/// their warnings.
fn policies(args: &SimulateArgs, loaded: &mut LoadedScenario) -> anyhow::Result<Vec<LoadedPolicy>> {
    let mut policies = chosen_policies(args, loaded)?;
    for chosen in &mut policies {
        if let Some(given) = &loaded.scenario.given {
            policy::check_classes(&chosen.policy, given.objects.classes())?;
        }
        let (policy, warnings) = args.scheduler.apply(chosen.policy.clone())?;
        chosen.policy = args.exact.apply(policy);
        loaded.head.extend(warnings);
        loaded.head.push(chosen.line());
        loaded.head.extend(guard_notes(&chosen.policy, &loaded.scenario));
        loaded.head.extend(policy::warnings(&chosen.policy.warnings, &chosen.source));
    }
    Ok(policies)
}

/// Lines about guards without a series, and series without a guard.
fn guard_notes(policy: &Policy, scenario: &Scenario) -> Vec<String> {
    let names: BTreeSet<&str> = policy.guards.iter().map(|guard| guard.name.as_str()).collect();
    let known = scenario.guards();
    let listed = |names: Vec<&&str>| text::list(&names, MOST_NAMES);
    let silent: Vec<&&str> = names.difference(&known).collect();
    let unused: Vec<&&str> = known.difference(&names).collect();
    let mut notes = Vec::new();
    if !silent.is_empty() {
        let names = listed(silent);
        notes.push(format!("guards ignored, because they have no series here: {names}"));
    }
    if !unused.is_empty() {
        let names = listed(unused);
        notes.push(format!("series ignored, because the policy has no such guard: {names}"));
    }
    notes
}

/// The policies of the flags, else that of the scenario, else the built-in one.
fn chosen_policies(
    args: &SimulateArgs,
    loaded: &LoadedScenario,
) -> anyhow::Result<Vec<LoadedPolicy>> {
    if !args.policy.is_empty() {
        return args.policy.iter().map(|path| policy::read_or_built_in(Some(path))).collect();
    }
    let chosen = match &loaded.scenario.policy {
        None => policy::read_or_built_in(None)?,
        Some(PolicySource::File(name)) => {
            policy::read_or_built_in(Some(&loaded.folder.join(name)))?
        }
        Some(PolicySource::Inline(policy)) => {
            LoadedPolicy { policy: (**policy).clone(), source: "of the scenario".to_owned() }
        }
    };
    Ok(vec![chosen])
}

fn simulate(scenario: &Scenario, chosen: LoadedPolicy) -> Trace {
    let mut progress = Progress::new(scenario.duration);
    let trace = simulate::run(scenario, chosen.policy, &chosen.source, |elapsed| {
        progress.update(elapsed);
    });
    progress.finish();
    trace
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_cannot_be_read_is_named() {
        let node = "{apiVersion: v1, kind: Node, metadata: {name: n1}}";
        let row = |kind: &str, values: &str| {
            format!(
                "{{apiVersion: evenkeel/v1alpha1, kind: {kind}, metadata: {{name: x}}, \
                 start: 2026-11-20T12:02:30Z, step: 5m, {values}}}"
            )
        };
        let ignored = |row: String| {
            let cluster = cluster_file::parse(&format!("- {node}\n- {row}\n")).unwrap();
            ignored_rows(&cluster.readings.skipped).unwrap_or_default()
        };
        let usage = ignored(row("NodeUsageHistory", "cpu: [1], memory: []"));
        assert!(usage.starts_with("ignored: NodeUsageHistory x cannot be read: "), "{usage}");
        let guard = ignored(row("GuardHistory", "values: [high]"));
        assert!(guard.starts_with("ignored: GuardHistory x cannot be read: "), "{guard}");
        assert_eq!(ignored(row("GuardHistory", "values: [1]")), "");
    }
}
