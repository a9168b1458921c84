//! Work that ends may not begin again, unless a Job does it.
//!
//! The kubelet restarts no container of a pod with `restartPolicy: Never` on another node, and the
//! API has no way to ask a custom controller whether it makes a new pod. Many fail the whole run
//! instead: Argo Workflows fails the step unless it has a `retryStrategy`, Tekton cancels the
//! TaskRun, and a PyTorchJob or MPIJob loses the work of all pods since the last checkpoint. A Job
//! of `batch/v1` has documented rules, which [`super::job`] follows. The pods of a RayJob belong to
//! a RayCluster, which KubeRay makes for it and marks; without its head, the RayJob has failed.

use crate::decide::draft::{Candidate, Draft};
use crate::model::plan::Replacement;
use crate::model::snapshot::facts::Owner;

use super::controller::named;

pub(super) fn admit(candidate: &Candidate, draft: &Draft<'_>) -> Result<(), Replacement> {
    let snapshot = draft.world.snapshot;
    let pod = snapshot.pod(candidate.pod);
    let Some(controller) = pod.controller() else {
        return Ok(());
    };
    if controller.is("batch", "Job") || !candidate.rules(draft.world).protected.runs_to_completion {
        return Ok(());
    }
    let of_ray_job =
        pod.labels.get("ray.io/originated-from-crd").is_some_and(|crd| crd == "RayJob");
    let ends = pod.runs_once || of_ray_job || runs_to_completion(controller);
    if ends && !snapshot.migrates(pod) {
        Err(Replacement::RunsToCompletion(named(controller)))
    } else {
        Ok(())
    }
}

/// Whether pods of this controller do work that ends. A pod that creates others, such as the driver
/// of a Spark application, is no controller that anything restarts.
fn runs_to_completion(controller: &Owner) -> bool {
    controller.kind == "Pod" || Owner::ending_of(&controller.kind).is_some()
}
