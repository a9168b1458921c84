//! `evenkeel snapshot`: records a cluster in a file for `plan --from` and `simulate --from`.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::cluster::Cluster;
use crate::cluster::list::{self, ListedKind};
use crate::values::text::count;

use super::{complain, file, runtime};

mod fields;
mod rename;
mod strip;

const NOTES: &str = "\
The file has only the fields that a plan needs: no environment variables, arguments or commands of
containers, no Secrets, no ConfigMaps, and only the annotations that control evictions. Names are
kept unless --scramble replaces them.

Examples:
  evenkeel snapshot -o cluster.json
  evenkeel plan --from cluster.json
  evenkeel snapshot --scramble | gzip > for-a-bug-report.json.gz";

/// Lists every object that a plan needs once, with the usage. Evicts nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = NOTES)]
pub(super) struct SnapshotArgs {
    /// File to write, as JSON [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the names of nodes, namespaces, pods, workloads, labels, images, claims and classes.
    /// Equal names stay equal, but a policy that selects by name or label no longer matches
    #[arg(long)]
    scramble: bool,
    /// Kubeconfig of the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod's service
    /// account]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

/// Lists the objects, strips them and writes them.
pub(super) fn run(args: &SnapshotArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let (objects, notes) = runtime()?.block_on(record(args))?;
    for note in &notes {
        complain(note);
    }
    let objects = if args.scramble {
        strip::scramble(&objects, RandomState::new().hash_one(0))
    } else {
        objects
    };
    match &args.output {
        None => out.write_all(text(&objects).as_bytes())?,
        Some(path) => {
            std::fs::write(path, text(&objects))
                .with_context(|| format!("{}: cannot write the file", path.display()))?;
            writeln!(out, "{}: {}", file::label(path), summary(&objects))?;
        }
    }
    Ok(())
}

/// Every object, stripped, and a note for each kind of metrics that is missing.
async fn record(args: &SnapshotArgs) -> anyhow::Result<(Vec<Value>, Vec<String>)> {
    let cluster = Cluster::connect(args.kubeconfig.as_deref()).await?;
    let mut objects = list_objects(&cluster).await?;
    let mut notes = Vec::new();
    for (resource, kind) in [("nodes", "NodeMetrics"), ("pods", "PodMetrics")] {
        let path = format!("/apis/metrics.k8s.io/v1beta1/{resource}");
        match list::pages(cluster.client(), &path).await {
            Ok(items) => add(items, "metrics.k8s.io/v1beta1", kind, &mut objects),
            Err(error) => notes.push(format!(
                "the snapshot has no {kind}, so the usage of {resource} is unknown: {error}"
            )),
        }
    }
    Ok((objects, notes))
}

/// Every object that the daemon watches. Fails if a kind cannot be listed: without
/// PodDisruptionBudgets, for example, a plan would evict protected pods.
async fn list_objects(cluster: &Cluster) -> anyhow::Result<Vec<Value>> {
    let (mut objects, mut failures) = (Vec::new(), Vec::new());
    for ListedKind {
        api_version,
        kind,
        path,
    } in list::watched()
    {
        match list::pages(cluster.client(), &path).await {
            Ok(items) => add(items, &api_version, kind, &mut objects),
            Err(error) => failures.push(format!("{kind}: {error}")),
        }
    }
    if failures.is_empty() {
        Ok(objects)
    } else {
        let failures = failures.join("\n  ");
        bail!("nothing written: cannot list these kinds:\n  {failures}")
    }
}

/// Strips the items of a list and adds them. Items of a list lack their kind and version.
fn add(items: Vec<Value>, api_version: &str, kind: &str, objects: &mut Vec<Value>) {
    for mut item in items {
        if let Value::Object(fields) = &mut item {
            fields.insert("apiVersion".to_owned(), api_version.into());
            fields.insert("kind".to_owned(), kind.into());
        }
        objects.extend(strip::strip(&item));
    }
}

/// A JSON list with one line for each object, so that files can be compared and searched.
fn text(objects: &[Value]) -> String {
    let lines: Vec<String> = objects.iter().map(Value::to_string).collect();
    format!(
        "{{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n{}\n]}}\n",
        lines.join(",\n")
    )
}

fn summary(objects: &[Value]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for object in objects {
        let kind = object.get("kind").and_then(Value::as_str);
        *counts.entry(kind.unwrap_or_default()).or_default() += 1;
    }
    let of = |kind: &str| counts.get(kind).copied().unwrap_or_default();
    format!(
        "{}, {}, {} in total; metrics of {} and {}",
        count(of("Node"), "node"),
        count(of("Pod"), "pod"),
        count(objects.len(), "object"),
        count(of("NodeMetrics"), "node"),
        count(of("PodMetrics"), "pod")
    )
}
