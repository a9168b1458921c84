//! `evenkeel status`: the status page of a running instance, in the terminal.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::Url;
use tokio_rustls::rustls::crypto::ring;

use crate::cluster::Cluster;
use crate::cluster::instances;
use crate::view::screen::Screen;
use crate::view::status::shown::ShownStatus;
use crate::view::status::text::StatusText;

use super::plan::OutputFormat;
use super::{examples, runtime, screen};

use self::forward::PortForward;

mod forward;

/// The deadline for the answer of the instance.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Shows what a running instance does: its last plan, its moves, and why other pods stay.
#[derive(Debug, clap::Args)]
#[command(after_help = examples::STATUS)]
pub(super) struct StatusArgs {
    /// Kubeconfig of the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod's service
    /// account]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Namespace of the instance
    #[arg(short, long, value_name = "NAME", default_value = "kube-system")]
    namespace: String,
    /// Name of the Lease whose holder is shown
    #[arg(long, value_name = "NAME", default_value = "evenkeel")]
    lease: String,
    /// Pod of the instance [default: the holder of the Lease, or a running pod]
    #[arg(long, value_name = "NAME")]
    pod: Option<String>,
    /// Port of the status page in the pod
    #[arg(long, value_name = "PORT", default_value_t = 8081)]
    port: u16,
    /// Address of a status page that can be reached from here, instead of a pod
    #[arg(
        long,
        value_name = "URL",
        conflicts_with_all = ["kubeconfig", "namespace", "lease", "pod", "port"]
    )]
    url: Option<Url>,
    /// List every node, move and pod of the page
    #[arg(short = 'v', long)]
    all: bool,
    /// Format of the output
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    output: OutputFormat,
}

/// Reads the status and prints it.
pub(super) fn run(args: &StatusArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let json = runtime()?.block_on(fetch(args))?;
    match args.output {
        OutputFormat::Json => out.write_all(&json)?,
        OutputFormat::Text => {
            write!(out, "{}", text(&json, args.all, screen())?)?;
        }
    }
    Ok(())
}

fn text(json: &[u8], all: bool, screen: Screen) -> anyhow::Result<String> {
    let status: ShownStatus = serde_json::from_slice(json)
        .context("the answer is not the status of evenkeel; another program may use this port")?;
    let text = StatusText { status: &status, all, screen };
    Ok(text.to_string())
}

/// The content of `/status.json` as text without colours, at most `width` columns wide.
///
/// # Errors
/// The content is not a status.
pub fn status_text(json: &[u8], width: usize) -> anyhow::Result<String> {
    text(json, false, Screen::plain(width))
}

async fn fetch(args: &StatusArgs) -> anyhow::Result<Vec<u8>> {
    if let Some(url) = &args.url {
        return get(url).await;
    }
    let pod = if let Some(pod) = &args.pod {
        pod.clone()
    } else {
        let cluster = Cluster::connect(args.kubeconfig.as_deref()).await?;
        let pod = instances::active_pod(cluster.client(), &args.namespace, &args.lease).await;
        pod.map_err(anyhow::Error::msg)?
    };
    let forward =
        PortForward::start(args.kubeconfig.as_deref(), &args.namespace, &pod, args.port).await?;
    get(&forward.url()?)
        .await
        .with_context(|| format!("pod {pod}: port {} does not serve a status page", args.port))
}

/// Reads `/status.json` below an address.
async fn get(url: &Url) -> anyhow::Result<Vec<u8>> {
    let mut url = url.clone();
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    let url = url.join("status.json")?;
    // An error means that one is installed already.
    let _ = ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build()?;
    let response = client.get(url.clone()).send().await;
    let response = response.with_context(|| format!("cannot read {url}"))?;
    if !response.status().is_success() {
        bail!("{url} answers {}", response.status());
    }
    let body = response.bytes().await;
    Ok(body.with_context(|| format!("cannot read {url}"))?.into())
}
