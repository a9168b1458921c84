//! The pods of a workload of the ledger.

use crate::model::snapshot::facts::OwnerKey;
use crate::model::snapshot::{PodId, Snapshot};

/// Returns the pods of a workload; none if it does not exist.
pub(super) fn pods_of<'s>(
    snapshot: &'s Snapshot,
    workload: &OwnerKey,
) -> impl Iterator<Item = PodId> + use<'s> {
    let id = snapshot.find_workload(workload);
    id.map(|w| snapshot.workload(w).pods.as_slice()).unwrap_or_default().iter().copied()
}

/// Returns the pod of a workload with this uid.
pub(super) fn find(snapshot: &Snapshot, workload: &OwnerKey, uid: &str) -> Option<PodId> {
    pods_of(snapshot, workload).find(|id| snapshot.pod(*id).uid == uid)
}
