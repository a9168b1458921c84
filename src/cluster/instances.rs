//! Finds the pod of a running instance.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, Client};

use super::client::within_deadline;

/// The label that the manifests and the chart set on every pod of evenkeel.
const LABEL: &str = "app.kubernetes.io/name=evenkeel";

/// Returns the pod that acts: the holder of the Lease, or without a holder the running pod whose
/// name sorts first.
///
/// # Errors
/// The message of the API server, or that no pod runs.
pub async fn active_pod(client: &Client, namespace: &str, lease: &str) -> Result<String, String> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let found = within_deadline(leases.get_opt(lease)).await;
    let found = found.map_err(|why| format!("Lease {namespace}/{lease}: {why}"))?;
    if let Some(pod) = found.as_ref().and_then(holder) {
        return Ok(pod);
    }
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let running = ListParams::default().labels(LABEL).fields("status.phase=Running");
    let listed = within_deadline(pods.list_metadata(&running)).await;
    let listed = listed.map_err(|why| format!("pods in {namespace}: {why}"))?;
    let names = listed.items.into_iter().filter_map(|pod| pod.metadata.name);
    names.min().ok_or_else(|| {
        format!("no pod with the label {LABEL} runs in namespace {namespace}; name one with --pod")
    })
}

/// The pod in the identity of the holder, which is `POD_RANDOM`.
fn holder(lease: &Lease) -> Option<String> {
    let identity = lease.spec.as_ref()?.holder_identity.as_deref()?;
    let (pod, _) = identity.rsplit_once('_')?;
    (!pod.is_empty()).then(|| pod.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::client::tests::{fake, silent, status};
    use super::*;

    const NO_LEASE: &str = r#"{"metadata":{"name":"evenkeel"},"spec":{"holderIdentity":""}}"#;

    async fn active(lease: (u16, String), pods: &'static str) -> Result<String, String> {
        let (client, _) = fake(move |_, uri, _| match uri {
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/evenkeel" => lease.clone(),
            _ => (200, format!(r#"{{"metadata":{{}},"items":[{pods}]}}"#)),
        })
        .await;
        active_pod(&client, "kube-system", "evenkeel").await
    }

    #[tokio::test]
    async fn the_holder_of_the_lease_acts() {
        let lease = r#"{"metadata":{},"spec":{"holderIdentity":"evenkeel-7d_00ff"}}"#;
        let pod = active((200, lease.to_owned()), "").await;
        assert_eq!(pod.as_deref(), Ok("evenkeel-7d"));
    }

    #[tokio::test]
    async fn without_a_holder_the_first_running_pod_acts() {
        let pods = r#"{"metadata":{"name":"evenkeel-b"}},{"metadata":{"name":"evenkeel-a"}}"#;
        for lease in [(200, NO_LEASE.to_owned()), status(404, "not found")] {
            assert_eq!(active(lease, pods).await.as_deref(), Ok("evenkeel-a"));
        }
    }

    #[tokio::test]
    async fn failures_name_the_object() {
        let error = active((200, NO_LEASE.to_owned()), "").await.unwrap_err();
        assert!(
            error.starts_with("no pod with the label app.kubernetes.io/name=evenkeel"),
            "{error}"
        );
        let error = active(status(403, "leases is forbidden"), "").await.unwrap_err();
        assert_eq!(error, "Lease kube-system/evenkeel: leases is forbidden");
    }

    #[tokio::test(start_paused = true)]
    async fn an_api_server_that_does_not_respond_is_not_awaited_for_ever() {
        let error = active_pod(&silent(), "kube-system", "evenkeel").await.unwrap_err();
        assert_eq!(error, "Lease kube-system/evenkeel: no response within 35 s");
    }
}
