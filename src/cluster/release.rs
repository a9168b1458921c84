//! The release of Kubernetes that the API server runs, because kube-scheduler is of the same
//! release except during an upgrade.

use kube::Client;

use crate::policy::KubernetesRelease;

use super::error_text::causes;

/// Asks the API server for its release.
///
/// Returns an error text if it does not answer, or with an unknown version.
pub async fn read(client: &Client) -> Result<KubernetesRelease, String> {
    let version = client.apiserver_version().await;
    let version = version.map_err(|error| causes(&error))?;
    let release = format!("{}.{}", version.major, version.minor);
    release.parse().map_err(|expected| format!("found version {release}, {expected}"))
}
