//! Pods that are protected from eviction, and how a policy lifts and adds protections.

use crate::schema::kind::Choice;

/// Pods that are protected from eviction. Mirror and static pods always are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one independent protection of the policy file"
)]
pub struct Protections {
    /// Pods with an emptyDir or hostPath volume.
    pub local_storage: bool,
    /// Pods of a DaemonSet.
    pub daemon_sets: bool,
    /// Pods with a priority of 2,000,000,000 or more.
    pub system_critical: bool,
    /// Failed pods without an owner; other pods without an owner are always protected.
    pub failed_bare: bool,
    /// Pods with a persistentVolumeClaim.
    pub persistent_volumes: Option<StorageClasses>,
    /// Pods that no PodDisruptionBudget selects.
    pub without_budget: bool,
    /// Pods with dynamic resource claims.
    pub resource_claims: bool,
    /// Whether a policy of descheduler protects them, for the exact mode, which makes no forecast.
    pub resource_claims_exactly: Option<bool>,
    /// Pods with the annotation `descheduler.alpha.kubernetes.io/prefer-no-eviction`.
    pub prefer_no_eviction: bool,
    /// Pods that start and stop together with other pods. The exact mode evicts them.
    pub gangs: bool,
    /// Pods whose work ends and whose controller is no Job. The exact mode evicts them.
    pub runs_to_completion: bool,
    /// Pods with the annotation `karpenter.sh/do-not-disrupt`. The exact mode evicts them.
    pub do_not_disrupt: bool,
    /// Pods with the annotation `cluster-autoscaler.kubernetes.io/safe-to-evict` and the value
    /// `false` or `on-completion`. The exact mode evicts them.
    pub safe_to_evict: bool,
    /// Pods whose replacement needs a new volume at a place that cannot be foreseen. The exact mode
    /// evicts them.
    pub new_volumes: bool,
    /// Pods whose replacement fits only where the scheduler removes pods of lower priority for it.
    /// Without `nodeFit`, the replacement may otherwise stay pending. The exact mode evicts them.
    pub preemption: bool,
    /// Pods of a workload with fewer than `minReplicas`, even if a PodDisruptionBudget covers them
    /// and allows a disruption.
    pub single_replicas_with_budget: bool,
}

/// The persistent volumes that protect their pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageClasses {
    /// All of them.
    Any,
    /// Those of these classes, and those whose class is unknown.
    Named(Vec<String>),
}

/// A protection that `allow` lifts.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Lift {
    LocalStorage,
    DaemonSets,
    SystemCritical,
    FailedBare,
    PreferNoEviction,
    DoNotDisrupt,
    NotSafeToEvict,
    Gangs,
    RunsToCompletion,
    ResourceClaims,
    NewVolumes,
    Preemption,
    SingleReplicasWithBudget,
}

pub(super) const LIFTS: [Choice<Lift>; 13] = [
    (
        "localStorage",
        Lift::LocalStorage,
        "pods with an emptyDir, hostPath or other volume of their node",
    ),
    ("daemonSets", Lift::DaemonSets, "pods of a DaemonSet"),
    ("systemCritical", Lift::SystemCritical, "pods with a priority of 2000000000 or more"),
    (
        "failedBare",
        Lift::FailedBare,
        "failed pods without an owner (other pods without an owner are always protected)",
    ),
    (
        "preferNoEviction",
        Lift::PreferNoEviction,
        "pods with the annotation descheduler.alpha.kubernetes.io/prefer-no-eviction",
    ),
    ("doNotDisrupt", Lift::DoNotDisrupt, "pods with the annotation karpenter.sh/do-not-disrupt"),
    (
        "notSafeToEvict",
        Lift::NotSafeToEvict,
        "pods with the annotation cluster-autoscaler.kubernetes.io/safe-to-evict: false or on-completion",
    ),
    (
        "gangs",
        Lift::Gangs,
        "pods of a PodGroup, JobSet, LeaderWorkerSet, Kueue pod group, Volcano Job, PodGang or YuniKorn task group",
    ),
    (
        "runsToCompletion",
        Lift::RunsToCompletion,
        "pods with `restartPolicy` Never or OnFailure whose controller is no Job, such as an Argo Workflow, a TaskRun or a SparkApplication",
    ),
    ("resourceClaims", Lift::ResourceClaims, "pods with dynamic resource claims"),
    (
        "newVolumes",
        Lift::NewVolumes,
        "pods whose replacement needs a new volume, unless it is provisioned where the pod lands",
    ),
    (
        "preemption",
        Lift::Preemption,
        "with `nodeFit: false`, pods whose replacement fits only if the scheduler removes pods of lower priority",
    ),
    (
        "singleReplicasWithBudget",
        Lift::SingleReplicasWithBudget,
        "pods of a workload with fewer than `minReplicas`, if a PodDisruptionBudget covers them and allows a disruption",
    ),
];

/// A protection that `protect` adds.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Extra {
    PersistentVolumes,
    WithoutBudget,
}

pub(super) const EXTRAS: [Choice<Extra>; 2] = [
    ("persistentVolumes", Extra::PersistentVolumes, "pods with a persistentVolumeClaim"),
    ("withoutBudget", Extra::WithoutBudget, "pods that no PodDisruptionBudget selects"),
];

impl Protections {
    /// The protections of a native policy that names none.
    pub(in crate::policy) const USUAL: Protections = Protections {
        local_storage: true,
        daemon_sets: true,
        system_critical: true,
        failed_bare: true,
        persistent_volumes: None,
        without_budget: false,
        resource_claims: true,
        resource_claims_exactly: None,
        prefer_no_eviction: true,
        gangs: true,
        runs_to_completion: true,
        do_not_disrupt: true,
        safe_to_evict: true,
        new_volumes: true,
        preemption: true,
        single_replicas_with_budget: true,
    };

    const fn flag(&mut self, lift: Lift) -> &mut bool {
        match lift {
            Lift::LocalStorage => &mut self.local_storage,
            Lift::DaemonSets => &mut self.daemon_sets,
            Lift::SystemCritical => &mut self.system_critical,
            Lift::FailedBare => &mut self.failed_bare,
            Lift::PreferNoEviction => &mut self.prefer_no_eviction,
            Lift::DoNotDisrupt => &mut self.do_not_disrupt,
            Lift::NotSafeToEvict => &mut self.safe_to_evict,
            Lift::Gangs => &mut self.gangs,
            Lift::RunsToCompletion => &mut self.runs_to_completion,
            Lift::ResourceClaims => &mut self.resource_claims,
            Lift::NewVolumes => &mut self.new_volumes,
            Lift::Preemption => &mut self.preemption,
            Lift::SingleReplicasWithBudget => &mut self.single_replicas_with_budget,
        }
    }

    pub(super) const fn lift(&mut self, lift: Lift) {
        *self.flag(lift) = false;
    }

    pub(super) fn lifted(&self) -> Vec<Lift> {
        let mut protections = self.clone();
        let lifts = LIFTS.into_iter().map(|(_, lift, _)| lift);
        lifts.filter(|lift| !*protections.flag(*lift)).collect()
    }

    pub(super) fn add(&mut self, extra: Extra) {
        match extra {
            Extra::PersistentVolumes => self.persistent_volumes = Some(StorageClasses::Any),
            Extra::WithoutBudget => self.without_budget = true,
        }
    }

    pub(super) fn added(&self) -> Vec<Extra> {
        let has = |extra: &Extra| match extra {
            Extra::PersistentVolumes => self.persistent_volumes.is_some(),
            Extra::WithoutBudget => self.without_budget,
        };
        let extras = EXTRAS.into_iter().map(|(_, extra, _)| extra);
        extras.filter(has).collect()
    }

    pub(super) fn storage_classes(&self) -> Vec<String> {
        match &self.persistent_volumes {
            Some(StorageClasses::Named(classes)) => classes.clone(),
            Some(StorageClasses::Any) | None => Vec::new(),
        }
    }

    /// Protects only volumes of these classes, if volumes are protected at all.
    pub(super) fn narrow(&mut self, classes: Vec<String>) {
        if self.persistent_volumes.is_some() && !classes.is_empty() {
            self.persistent_volumes = Some(StorageClasses::Named(classes));
        }
    }
}
