//! Reasons why a pod could not start with a claim.

/// The reason why a replacement could not start with a PersistentVolumeClaim. The sentence follows
/// the name of the claim.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClaimFlaw {
    /// The claim does not exist.
    #[error("does not exist")]
    Missing,
    /// The claim could not be read.
    #[error("cannot be read")]
    Unreadable,
    /// The claim has a deletionTimestamp.
    #[error("is being deleted")]
    Deleting,
    /// The volume of the claim is gone.
    #[error("has lost its volume")]
    Lost,
    /// The claim is not bound, and its class does not wait for a pod.
    #[error("is not bound, and does not wait for a pod to be bound")]
    Unbound,
    /// The claim is not bound, and its class does not exist.
    #[error("names StorageClass {0}, which does not exist")]
    NoClass(String),
    /// The claim is bound to a volume that does not exist.
    #[error("is bound to PersistentVolume {0}, which does not exist")]
    NoVolume(String),
    /// The volume belongs to another claim.
    #[error("is bound to PersistentVolume {0}, which belongs to another claim")]
    VolumeOfOther(String),
    /// The volume has a deletionTimestamp.
    #[error("is bound to PersistentVolume {0}, which is being deleted")]
    VolumeDeleting(String),
    /// The volume has the phase `Failed`.
    #[error("is bound to PersistentVolume {0}, which has failed")]
    VolumeFailed(String),
    /// The volume has the phase `Released`.
    #[error("is bound to PersistentVolume {0}, which is released")]
    VolumeReleased(String),
}

impl ClaimFlaw {
    /// Returns the change that makes the claim usable.
    pub(super) fn remedy(&self, claim: &str) -> String {
        match self {
            ClaimFlaw::Missing => format!("create PersistentVolumeClaim {claim}"),
            ClaimFlaw::Unreadable => format!("correct PersistentVolumeClaim {claim}"),
            ClaimFlaw::Deleting => format!(
                "restore the data and the pod at a time of your choice: PersistentVolumeClaim {claim} \
                 ends with the pod"
            ),
            ClaimFlaw::Lost | ClaimFlaw::Unbound => {
                format!("bind PersistentVolumeClaim {claim} to a volume (`kubectl describe pvc`)")
            }
            ClaimFlaw::NoClass(class) => format!("create StorageClass {class}"),
            ClaimFlaw::VolumeOfOther(volume) => {
                format!("correct `claimRef` of PersistentVolume {volume}")
            }
            ClaimFlaw::NoVolume(volume)
            | ClaimFlaw::VolumeDeleting(volume)
            | ClaimFlaw::VolumeFailed(volume)
            | ClaimFlaw::VolumeReleased(volume) => {
                format!("restore PersistentVolume {volume}, or let the pod use another volume")
            }
        }
    }
}
