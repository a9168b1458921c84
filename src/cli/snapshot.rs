//! `evenkeel snapshot`: records a cluster in a file for `plan --from` and `simulate --from`.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use kube::Client;

use crate::cluster::Cluster;
use crate::cluster::list::{self, ListError, ListedKind};
use crate::files::recording::Recording;
use crate::model::plan::UnknownObjects;
use crate::model::snapshot::import;
use crate::model::snapshot::lacking::Lack;
use crate::model::snapshot::objects::ObjectKind;

use super::file::WholeFile;
use super::{complain, examples, file, runtime};

use self::history::{HistoryArgs, HistorySource};

mod history;

/// Lists every object that a plan needs once, with the usage. Evicts nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = examples::SNAPSHOT)]
pub(super) struct SnapshotArgs {
    /// File to write, as JSON; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Replace the names of nodes, namespaces, pods, workloads, labels, images, claims and classes.
    /// Equal names stay equal, but a policy that selects by name or label no longer matches
    #[arg(long)]
    scramble: bool,
    #[command(flatten)]
    history: HistoryArgs,
    /// Kubeconfig of the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod's service
    /// account]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

/// Lists the objects, strips them and writes them.
pub(super) fn run(args: &SnapshotArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let source = HistorySource::new(&args.history)?;
    let path = &args.output;
    let problem = || format!("{}: cannot write the file", path.display());
    // A recording may take minutes, so the file must be possible before.
    let file = (path != Path::new("-")).then(|| WholeFile::new(path)).transpose();
    let file = file.with_context(problem)?;
    let mut recording = runtime()?.block_on(record(args, source.as_ref()))?;
    for note in &recording.notes {
        complain(note);
    }
    if args.scramble {
        recording.scramble(RandomState::new().hash_one(0));
    }
    let Some(file) = file else {
        return Ok(recording.write(out)?);
    };
    file.write(|out| recording.write(out)).with_context(problem)?;
    Ok(writeln!(out, "{}: {}", file::label(path), recording.summary())?)
}

/// Every object and the history, if there is a source for it.
async fn record(args: &SnapshotArgs, source: Option<&HistorySource>) -> anyhow::Result<Recording> {
    let cluster = Cluster::connect(args.kubeconfig.as_deref()).await?;
    let mut recording = Recording::default();
    list_objects(cluster.client(), &mut recording).await?;
    for (resource, kind) in [("nodes", "NodeMetrics"), ("pods", "PodMetrics")] {
        let path = format!("/apis/metrics.k8s.io/v1beta1/{resource}");
        match list::pages(cluster.client(), &path).await {
            Ok(items) => recording.add(items, "metrics.k8s.io/v1beta1", kind),
            Err(error) => recording.notes.push(format!(
                "the snapshot has no {kind}, so the usage of {resource} is unknown: {error}"
            )),
        }
    }
    if let Some(source) = source {
        let (history, note) = source.read(&recording.facts).await?;
        let (guards, notes) = source.read_guards(history.range).await;
        recording.guards = guards;
        recording.history = Some(history);
        recording.notes.extend(note.into_iter().chain(notes));
    }
    Ok(recording)
}

/// Every object that the daemon watches. Fails if a kind cannot be listed without which nothing can
/// be decided: without PodDisruptionBudgets, a plan would evict protected pods.
async fn list_objects(client: &Client, recording: &mut Recording) -> anyhow::Result<()> {
    let mut failures = Vec::new();
    for ListedKind { api_version, kind, path } in list::watched() {
        match list::pages(client, &path).await {
            Ok(items) => {
                if items.is_empty() {
                    recording.add_empty(&api_version, kind);
                }
                recording.add(items, &api_version, kind);
            }
            // The other kinds would take as long.
            Err(error @ ListError::Silent(_)) => {
                bail!("nothing written: cannot list {kind}: {error}")
            }
            Err(error) => match import::kind_of(&api_version, kind).filter(|k| k.is_optional()) {
                Some(kind) => recording.notes.push(without(kind, &error)),
                None => failures.push(format!("{kind}: {error}")),
            },
        }
    }
    if failures.is_empty() {
        Ok(())
    } else {
        let failures = failures.join("\n  ");
        bail!("nothing written: cannot list these kinds:\n  {failures}")
    }
}

/// The note about a kind that cannot be listed.
fn without(kind: ObjectKind, error: &ListError) -> String {
    let consequence = UnknownObjects::all(kind, Lack::NotInFile).consequence();
    format!("the snapshot has no {}: {error}; {consequence}", kind.plural())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::client::tests::silent;

    #[tokio::test(start_paused = true)]
    async fn an_api_server_that_does_not_respond_is_not_awaited_for_each_kind() {
        let begun = tokio::time::Instant::now();
        let error = list_objects(&silent(), &mut Recording::default()).await.unwrap_err();
        let waited = "nothing written: cannot list Node: no response for 20 s";
        assert_eq!(error.to_string(), waited);
        assert!(begun.elapsed().as_secs() < 90, "{:?}", begun.elapsed());
    }
}
