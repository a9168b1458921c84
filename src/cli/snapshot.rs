//! `evenkeel snapshot`: a cluster in a file, for `plan --from` and `simulate --from`.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::cluster::Cluster;
use crate::cluster::list::{self, ListedKind};

use super::{complain, file, runtime};

mod fields;
mod rename;
mod strip;

const NOTES: &str = "\
Only the fields that a plan needs are kept: no environment, argument or command of a container,
no Secret, no ConfigMap, no annotation but those that say whether a pod may be evicted. Names are
kept, unless --scramble makes up others.

Examples:
  evenkeel snapshot -o cluster.json
  evenkeel plan --from cluster.json
  evenkeel snapshot --scramble | gzip > for-a-bug-report.json.gz";

/// Lists everything once, the usage included, and evicts nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = NOTES)]
pub(super) struct Args {
    /// Where to write it, as JSON [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Make up names for nodes, namespaces, pods, workloads, labels, images, claims and classes; what belongs together
    /// still does, and a policy that selects by names or labels will not find them
    #[arg(long)]
    scramble: bool,
    /// How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod's service account]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

/// Lists, strips and writes.
pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let (objects, notes) = runtime()?.block_on(recorded(args))?;
    for note in &notes {
        complain(note);
    }
    let objects = if args.scramble {
        strip::scramble(&objects, RandomState::new().hash_one(0))
    } else {
        objects
    };
    let told = sentence(&objects);
    match &args.output {
        None => out.write_all(text(&objects).as_bytes())?,
        Some(path) => {
            std::fs::write(path, text(&objects)).with_context(|| path.display().to_string())?;
            writeln!(out, "{}: {told}", file::label(path))?;
        }
    }
    Ok(())
}

/// Every object, stripped, and what is to be said about what is missing.
async fn recorded(args: &Args) -> anyhow::Result<(Vec<Value>, Vec<String>)> {
    let cluster = Cluster::connect(args.kubeconfig.as_deref()).await?;
    let (mut objects, mut failed, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for ListedKind {
        api_version,
        kind,
        path,
    } in list::watched()
    {
        match list::pages(cluster.client(), &path).await {
            Ok(items) => take(items, &api_version, kind, &mut objects),
            Err(why) => failed.push(format!("{kind}: {why}")),
        }
    }
    if !failed.is_empty() {
        // Without budgets, say, a plan would evict what it must not.
        bail!(
            "nothing is written, for these kinds cannot be listed:\n  {}",
            failed.join("\n  ")
        );
    }
    for (resource, kind) in [("nodes", "NodeMetrics"), ("pods", "PodMetrics")] {
        match list::pages(
            cluster.client(),
            &format!("/apis/metrics.k8s.io/v1beta1/{resource}"),
        )
        .await
        {
            Ok(items) => take(items, "metrics.k8s.io/v1beta1", kind, &mut objects),
            Err(why) => notes.push(format!(
                "the snapshot has no {kind}, so no usage of {resource}: {why}"
            )),
        }
    }
    Ok((objects, notes))
}

/// Items of a list do not say what they are.
fn take(items: Vec<Value>, api_version: &str, kind: &str, into: &mut Vec<Value>) {
    for mut item in items {
        if let Value::Object(fields) = &mut item {
            fields.insert("apiVersion".to_owned(), api_version.into());
            fields.insert("kind".to_owned(), kind.into());
        }
        into.extend(strip::strip(&item));
    }
}

/// One JSON list with a line for each object, so that files can be compared and searched.
fn text(objects: &[Value]) -> String {
    let lines: Vec<String> = objects.iter().map(Value::to_string).collect();
    format!(
        "{{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n{}\n]}}\n",
        lines.join(",\n")
    )
}

fn sentence(objects: &[Value]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for object in objects {
        *counts
            .entry(
                object
                    .get("kind")
                    .and_then(Value::as_str)
                    .unwrap_or_default(),
            )
            .or_default() += 1;
    }
    let of = |kind: &str| counts.get(kind).copied().unwrap_or_default();
    format!(
        "{} nodes, {} pods, {} objects in all; metrics of {} nodes and {} pods",
        of("Node"),
        of("Pod"),
        objects.len(),
        of("NodeMetrics"),
        of("PodMetrics")
    )
}
