//! `evenkeel plan`: the moves of one cycle, on a live cluster or on a file.

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::cluster::clock;
use crate::cluster::usage_source::SourceError;
use crate::decide::engine::Engine;
use crate::files::cluster_file::{self, ClusterFile};
use crate::model::ledger::Ledger;
use crate::model::plan::Plan;
use crate::model::snapshot::Snapshot;
use crate::model::snapshot::facts::Skipped;
use crate::model::snapshot::objects::ObjectKind;
use crate::policy::Policy;
use crate::values::text::count;
use crate::view::plan::PlanText;

use super::live::{self, Observation};
use super::policy::LoadedPolicy;
use super::{Shared, complain, file, parse, policy, runtime, screen, write_json};

/// Shows the moves that one cycle would make, and why every other pod stays. Evicts nothing.
///
/// A plan assumes steady usage: a node counts as hot at once, however long the policy would wait.
#[derive(Debug, clap::Args)]
#[command(after_help = cluster_file::HOW_TO)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    input: InputArgs,
    /// List every node, every pod that stays and every workload with oversized or undersized
    /// requests
    #[arg(short = 'v', long)]
    all: bool,
    #[command(flatten)]
    pub(super) shared: Shared,
}

/// Where the cluster is read from, and the format of the output.
#[derive(Debug, clap::Args)]
pub(super) struct InputArgs {
    /// Read the cluster from a YAML or JSON file of objects, as kubectl prints them; `-` is
    /// standard input
    #[arg(long, value_name = "FILE")]
    pub(super) from: Option<PathBuf>,
    /// With --from: the present time, in RFC 3339 or Unix seconds [default: the time of the newest
    /// metrics]
    #[arg(long, value_name = "TIME", requires = "from", value_parser = parse::timestamp)]
    now: Option<Timestamp>,
    /// Poll the usage of a live cluster for this long first [default: one reading; with Prometheus,
    /// its whole window]
    #[arg(
        long,
        value_name = "DURATION",
        conflicts_with = "from",
        value_parser = parse::positive_duration
    )]
    look: Option<SignedDuration>,
    /// Output format: tables, or JSON with every detail
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(super) output: OutputFormat,
    #[command(flatten)]
    exact: super::ExactArgs,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
pub(super) enum OutputFormat {
    #[default]
    Text,
    Json,
}

/// An engine that has seen the usage, and the snapshot to decide on.
pub(super) struct Prepared {
    pub(super) engine: Engine,
    pub(super) snapshot: Snapshot,
    pub(super) now: Timestamp,
    pub(super) head: Vec<String>,
    /// Warnings about the policy and the scheduler configuration; they are also in the head.
    pub(super) warnings: Vec<String>,
    /// Usage sources that could not be read, each with the reason.
    pub(super) usage_failures: Vec<SourceError>,
    /// Metrics that could not be read.
    skipped: Vec<Skipped>,
}

/// A plan as `evenkeel apply` takes it.
#[derive(Serialize)]
struct IdentifiedPlan<'p> {
    /// The digest of its evictions.
    id: &'p str,
    #[serde(flatten)]
    plan: &'p Plan,
}

/// Makes the plan and prints it.
pub(super) fn run(args: &PlanArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let prepared = prepare(&args.input, &args.shared, "plan for")?;
    let observed = prepared.engine.join_usage(&prepared.snapshot, prepared.now);
    let mut plan = prepared.engine.decide_observed(&observed, |_| {});
    prepared.engine.propose(&observed, &mut plan);
    plan.rightsizing = prepared.engine.rightsizing(&observed);
    let ledger = prepared.engine.ledger();
    plan.steering_trial = prepared.engine.steering_trial(&observed, ledger, &plan);
    plan.replica_trial = prepared.engine.replica_trial(&observed, ledger, &plan);
    prepared.engine.predict_landings(&observed, &mut plan);
    plan.skipped.extend_from_slice(&prepared.skipped);
    let text = PlanText {
        plan: &plan,
        policy: prepared.engine.policy(),
        head: &prepared.head,
        all: args.all,
        screen: screen(),
    };
    let id = &plan.as_proposal().id;
    let json = IdentifiedPlan { id, plan: &plan };
    prepared.print(args.input.output, &text, &json, out)
}

impl Prepared {
    /// Prints a result: as text, whose head has the warnings, or as JSON alone.
    pub(super) fn print(
        &self,
        format: OutputFormat,
        text: &impl Display,
        json: &impl Serialize,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        match format {
            OutputFormat::Text => Ok(out.write_all(text.to_string().as_bytes())?),
            OutputFormat::Json => {
                self.warnings.iter().for_each(|warning| complain(warning));
                write_json(out, json)
            }
        }
    }
}

/// Reads the policy and the cluster, and feeds the usage to an engine.
///
/// `purpose` begins the first line of the head, such as `plan for`.
pub(super) fn prepare(
    input: &InputArgs,
    shared: &Shared,
    purpose: &str,
) -> anyhow::Result<Prepared> {
    let (loaded, warnings) = load_policy(input, shared)?;
    prepare_with(loaded, warnings, input, shared, purpose)
}

/// Like [`prepare`], with a policy that has been read.
pub(super) fn prepare_with(
    mut loaded: LoadedPolicy,
    scheduler_warnings: Vec<String>,
    input: &InputArgs,
    shared: &Shared,
    purpose: &str,
) -> anyhow::Result<Prepared> {
    let mut observation = observe(input, shared, &loaded.policy)?;
    let snapshot = &observation.snapshot;
    let knows_classes = !snapshot.lacking.contains_key(&ObjectKind::Class);
    policy::check_classes(&loaded.policy, knows_classes.then_some(&snapshot.classes))?;
    let mut head = observation.head;
    if let Some(first) = head.first_mut() {
        *first = format!("{purpose} {first}");
    }
    head.push(loaded.line());
    let mut warnings = policy::warnings(&loaded.policy.warnings, &loaded.source);
    warnings.extend(scheduler_warnings);
    head.extend(warnings.clone());
    if observation.guards.is_none() && !loaded.policy.guards.is_empty() {
        let guards = count(loaded.policy.guards.len(), "guard");
        head.push(format!("guards: {guards} ignored, because a file has no Prometheus to ask"));
        loaded.policy.guards.clear();
    }
    let mut engine = Engine::new(loaded.policy, observation.ledger);
    let guards = observation.guards.unwrap_or_default();
    engine.observe_guards(&observation.snapshot, &guards);
    if let Some(release) = observation.release {
        engine.set_release(release);
    }
    for (at, readings) in &observation.readings {
        engine.observe_steady(&observation.snapshot, readings, *at);
    }
    let newest = observation.readings.pop();
    Ok(Prepared {
        engine,
        snapshot: observation.snapshot,
        now: observation.now,
        head,
        warnings,
        usage_failures: observation.usage_failures,
        skipped: newest.map(|(_, readings)| readings.skipped.into_list()).unwrap_or_default(),
    })
}

/// The policy with the scheduler's configuration, and a warning for each unsupported setting of
/// that.
pub(super) fn load_policy(
    input: &InputArgs,
    shared: &Shared,
) -> anyhow::Result<(LoadedPolicy, Vec<String>)> {
    let mut loaded = policy::read_or_built_in(shared.policy.as_deref())?;
    loaded.policy = input.exact.apply(loaded.policy);
    let (policy, warnings) = shared.scheduler.apply(loaded.policy)?;
    loaded.policy = policy;
    Ok((loaded, warnings))
}

fn observe(input: &InputArgs, shared: &Shared, policy: &Policy) -> anyhow::Result<Observation> {
    match &input.from {
        Some(path) => from_file(path, policy, input.now, shared),
        None => runtime()?.block_on(live::observe(shared, policy, input.look.unwrap_or_default())),
    }
}

fn from_file(
    path: &Path,
    policy: &Policy,
    now: Option<Timestamp>,
    shared: &Shared,
) -> anyhow::Result<Observation> {
    let mut cluster = file::read(path)?;
    let (now, origin) = match (now, cluster.newest_metrics(policy.usage.stale_after)) {
        (Some(now), _) => (now, "set by --now"),
        (None, Some(newest)) => (newest, "the time of the newest metrics"),
        (None, None) => (clock::now(), "the present, because the file has no metrics"),
    };
    let mut head = vec![
        format!("{}: {}", file::label(path), cluster.summary()),
        format!("time: {now:.0}, {origin}"),
    ];
    if cluster.readings.nodes.is_empty() && policy.weighs_usage() {
        let line = "no node metrics in the file: unknown usage does not count as idle; \
                    --help shows how to add them";
        head.push(line.to_owned());
    }
    let ledger = ledger_of_file(&mut cluster, path, shared, &mut head)?;
    let snapshot = Snapshot::join(&cluster.objects, policy.resources());
    head.extend(snapshot.on_unknown_nodes());
    Ok(Observation {
        snapshot,
        readings: vec![(now, cluster.readings)],
        ledger,
        now,
        guards: None,
        release: None,
        head,
        usage_failures: Vec::new(),
    })
}

/// The ledger in the file; the head says which one is used.
fn ledger_of_file(
    cluster: &mut ClusterFile,
    path: &Path,
    shared: &Shared,
    head: &mut Vec<String>,
) -> anyhow::Result<Ledger> {
    let name = format!("configmap {}/{}", shared.namespace, shared.ledger);
    let key = (shared.namespace.clone(), shared.ledger.clone());
    if let Some(text) = cluster.ledgers.remove(&key) {
        head.push(format!("ledger: {name} of the file"));
        return Ledger::parse(&text).with_context(|| format!("{}: {name}", file::label(path)));
    }
    let others: Vec<String> =
        cluster.ledgers.keys().map(|(namespace, name)| format!("{namespace}/{name}")).collect();
    if !others.is_empty() {
        let others = others.join(", ");
        head.push(format!(
            "ledger: ignored {others}: expected {name}; --namespace and --ledger name another"
        ));
    }
    Ok(Ledger::default())
}
