//! `evenkeel pause` and `evenkeel resume`: evictions that a person stops.

use std::io::Write;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};

use crate::cluster::Cluster;
use crate::cluster::clock::LocalTime;
use crate::cluster::pauses;
use crate::model::snapshot::pause::{Pause, PauseEnd, PauseScope};

use super::parse::{pause_reason, pause_time};
use super::{examples, runtime};

/// Which evictions are meant.
#[derive(Debug, clap::Args)]
struct PauseTarget {
    /// Only the evictions of this namespace [default: all of the cluster]
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// Kubeconfig of the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod's service
    /// account]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

/// Stops evictions until you resume them, or for some time.
#[derive(Debug, clap::Args)]
#[command(after_help = examples::PAUSE)]
pub(super) struct PauseArgs {
    /// Why; plans, the status page and the log show it
    #[arg(long, value_name = "TEXT", value_parser = pause_reason)]
    reason: String,
    /// How long, such as 30m or 2h [default: until resumed]
    #[arg(long = "for", value_name = "DURATION", value_parser = pause_time)]
    time: Option<SignedDuration>,
    #[command(flatten)]
    target: PauseTarget,
}

/// Allows evictions again.
#[derive(Debug, clap::Args)]
pub(super) struct ResumeArgs {
    #[command(flatten)]
    target: PauseTarget,
}

impl PauseTarget {
    const fn scope(&self) -> PauseScope {
        match self.namespace {
            Some(_) => PauseScope::Namespace,
            None => PauseScope::Cluster,
        }
    }

    /// The namespace that holds the annotation.
    fn holder(&self) -> &str {
        let namespace = self.namespace.as_deref();
        namespace.unwrap_or(PauseScope::CLUSTER_NAMESPACE)
    }

    /// The namespace, or the cluster.
    fn place(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("namespace {namespace}"),
            None => "the cluster".to_owned(),
        }
    }

    /// The evictions in words.
    fn evictions(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("evictions in namespace {namespace}"),
            None => "all evictions".to_owned(),
        }
    }
}

pub(super) fn pause(args: &PauseArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let (target, now) = (&args.target, LocalTime::now().wall());
    let end = match args.time {
        Some(time) => PauseEnd::At(rounded(now.checked_add(time)?)),
        None => PauseEnd::ByHand,
    };
    let (paused, earlier) = runtime()?.block_on(async {
        let cluster = Cluster::connect(target.kubeconfig.as_deref()).await?;
        let paused = Pause {
            scope: target.scope(),
            reason: args.reason.clone(),
            by: pauses::user(cluster.client()).await,
            since: Some(rounded(now)),
            end,
        };
        let earlier = pauses::pause(cluster.client(), target.holder(), &paused).await;
        Ok::<_, anyhow::Error>((paused, earlier.map_err(anyhow::Error::msg)?))
    })?;
    writeln!(out, "{} are {paused}", target.evictions())?;
    if let Some(earlier) = earlier.filter(|earlier| earlier.holds(now)) {
        writeln!(out, "this replaces an earlier pause: {earlier}")?;
    }
    Ok(())
}

pub(super) fn resume(args: &ResumeArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let target = &args.target;
    let (earlier, wider) = runtime()?.block_on(async {
        let cluster = Cluster::connect(target.kubeconfig.as_deref()).await?;
        let client = cluster.client();
        let resumed = pauses::resume(client, target.holder(), target.scope()).await;
        let earlier = resumed.map_err(anyhow::Error::msg)?;
        let wider = match target.scope() {
            PauseScope::Namespace => pauses::of_cluster(client).await,
            PauseScope::Cluster => None,
        };
        Ok::<_, anyhow::Error>((earlier, wider))
    })?;
    let place = target.place();
    match earlier {
        Some(earlier) => writeln!(out, "{place} is no longer paused; it was {earlier}")?,
        None => writeln!(out, "{place} was not paused")?,
    }
    if target.namespace.is_none() {
        writeln!(out, "pauses of single namespaces, if there are any, go on")?;
    } else if let Some(pause) = wider.filter(|pause| pause.holds(LocalTime::now().wall())) {
        writeln!(out, "{}; `evenkeel resume` ends that", pause.sentence())?;
    }
    Ok(())
}

/// Whole seconds, as people write times.
fn rounded(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}
