//! Virtual machines of KubeVirt, whose eviction only starts a migration.
//!
//! KubeVirt's webhook refuses the eviction of a virt-launcher pod and migrates the machine instead.
//! Its promise to do so is a PodDisruptionBudget that belongs to the machine and selects its pod:
//! KubeVirt makes one only for machines that migrate on eviction (`VMIMigratableOnEviction` in
//! pkg/util/migrations and pkg/virt-controller/watch/drain/disruptionbudget of kubevirt/kubevirt).
//! That budget allows no disruption, so the API server refuses the request where the webhook does
//! not respond.
//!
//! The annotation `request-evict-only` is required, too, but it is no promise: every virt-launcher
//! pod has it (`generatePodAnnotations` in pkg/virt-controller/services/template.go), also with
//! `evictionStrategy: None`, where an eviction stops the machine.

use super::{Pod, Snapshot};
use crate::model::snapshot::facts::PodPhase;

impl Snapshot {
    /// Whether an eviction request for a pod only starts the migration of its virtual machine.
    ///
    /// The pod runs until the machine has moved to a second one, which cannot be on the same node
    /// (`createTargetPod` in pkg/virt-controller/watch/migration).
    pub fn migrates(&self, pod: &Pod) -> bool {
        let machine = pod.controller().filter(|o| o.is("kubevirt.io", "VirtualMachineInstance"));
        let (Some(machine), [budget]) = (machine, pod.budgets.as_slice()) else {
            return false;
        };
        let budget = &self.budgets[budget.0];
        let is_own = budget.controller.as_ref().is_some_and(|owner| owner.same(machine));
        // While a migration is under way, the machine has a second pod.
        let pods = budget.pods.iter().filter(|pod| self.pod(**pod).stays());
        pod.annotations.request_evict_only
            && pod.phase == PodPhase::Running
            && pod.ready
            && is_own
            && budget.allowed == 0
            && pods.count() == 1
    }
}
