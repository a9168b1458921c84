//! The release of Kubernetes that the API server runs, because kube-scheduler is of the same
//! release except during an upgrade.

use kube::Client;

use crate::policy::KubernetesRelease;

use super::client::within_deadline;

/// Asks the API server for its release.
///
/// Returns an error text if it does not answer, or with an unknown version.
pub async fn read(client: &Client) -> Result<KubernetesRelease, String> {
    let version = within_deadline(client.apiserver_version()).await?;
    let release = format!("{}.{}", version.major, version.minor);
    release.parse().map_err(|expected| format!("found version {release}, {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::client::tests::silent;

    #[tokio::test(start_paused = true)]
    async fn an_api_server_that_does_not_respond_is_not_awaited_for_ever() {
        assert_eq!(read(&silent()).await.unwrap_err(), "no response within 35 s");
    }
}
