//! A live cluster, looked at once.

use crate::policy::Policy;

use super::Shared;
use super::plan::Seen;

/// What a live cluster shows now.
#[expect(clippy::unused_async, reason = "the cluster is connected here")]
pub(super) async fn look(shared: &Shared, _policy: &Policy) -> anyhow::Result<Seen> {
    let _ = (&shared.kubeconfig, &shared.namespace, &shared.ledger);
    anyhow::bail!("plan is not connected to a cluster yet; use --from FILE")
}
