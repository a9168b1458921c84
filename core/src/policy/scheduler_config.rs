//! Reads a `KubeSchedulerConfiguration`, the file that kube-scheduler is started with (`--config`):
//! the parts that influence where a pod lands.
//!
//! See <https://kubernetes.io/docs/reference/config-api/kube-scheduler-config.v1/>. In the parts
//! that are read here, everything that kube-scheduler would refuse is refused. `v1beta3` has the
//! same fields and the same defaults.

use super::Policy;
use super::kubernetes_release::KubernetesRelease;
use super::scheduler_profile::SchedulerProfile;
use crate::schema::problem::{Code, PolicyError, Problem};
use crate::schema::read::{Fields, Report, Spot};
use crate::schema::tree;

mod affinity;
mod arguments;
mod plugins;

const VERSIONS: [&str; 2] =
    ["kubescheduler.config.k8s.io/v1", "kubescheduler.config.k8s.io/v1beta3"];
/// The scheduler of pods that name none.
pub const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// The configuration of kube-scheduler.
#[derive(Clone, Debug, PartialEq)]
pub struct SchedulerConfig {
    /// The profiles, each with a unique name; never empty.
    pub profiles: Vec<SchedulerProfile>,
    /// Settings that the forecast does not model.
    pub warnings: Vec<Problem>,
}

impl SchedulerConfig {
    /// Reads the file. The name is for messages only.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, PolicyError> {
        let fail = |problems| PolicyError::new(file_name, text, problems);
        let root = tree::parse(text).map_err(|problem| fail(vec![problem]))?;
        let mut report = Report::default();
        // kube-scheduler, too, reads null as absent.
        report.be_lenient();
        let profiles = report.read(&root.in_yaml_1_1(), configuration);
        let warnings = report.take_warnings();
        let problems = report.close();
        if problems.is_empty() {
            Ok(SchedulerConfig { profiles, warnings })
        } else {
            Err(fail(problems))
        }
    }
}

impl Policy {
    /// The same policy with the schedulers of a file. A scheduler that the file does not name stays
    /// as it was, because a second scheduler has a file that describes only itself.
    #[must_use]
    pub fn with_schedulers(mut self, config: SchedulerConfig) -> Self {
        let release = self.scheduler.release;
        for profile in config.profiles {
            let mut known = std::iter::once(&mut self.scheduler).chain(&mut self.other_schedulers);
            match known.find(|p| p.name == profile.name) {
                Some(known) => *known = profile,
                None => self.other_schedulers.push(profile),
            }
        }
        self.with_release(release)
    }

    /// The same policy for the schedulers of this release of Kubernetes.
    #[must_use]
    pub fn with_release(mut self, release: KubernetesRelease) -> Self {
        self.set_release(release);
        self
    }

    /// Changes the release of Kubernetes whose schedulers place the pods.
    pub fn set_release(&mut self, release: KubernetesRelease) {
        self.scheduler.release = release;
        for other in &mut self.other_schedulers {
            other.release = release;
        }
    }

    /// The profile of the scheduler that a pod names. Without a name, or with an unknown one, it is
    /// the profile of the cluster's own scheduler.
    pub fn scheduler_of(&self, named: Option<&str>) -> &SchedulerProfile {
        let named = named.unwrap_or(DEFAULT_SCHEDULER);
        self.schedulers().find(|p| p.name == named).unwrap_or(&self.scheduler)
    }

    /// Returns true if the profile of the scheduler that a pod names is known.
    pub fn knows_scheduler(&self, named: Option<&str>) -> bool {
        self.scheduler_of(named).name == named.unwrap_or(DEFAULT_SCHEDULER)
    }

    /// All known profiles.
    pub fn schedulers(&self) -> impl Iterator<Item = &SchedulerProfile> {
        std::iter::once(&self.scheduler).chain(&self.other_schedulers)
    }
}

/// Fields that do not influence where a pod lands.
const OTHERS: [&str; 8] = [
    "parallelism",
    "leaderElection",
    "clientConnection",
    "enableProfiling",
    "enableContentionProfiling",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "delayCacheUntilActive",
];

fn configuration(root: Spot<'_, '_>) -> Vec<SchedulerProfile> {
    root.section(|f| {
        f.required("apiVersion", VERSIONS[0])
            .word(Code::UnsupportedVersion, &VERSIONS.map(|v| (v, ())));
        let kind = "KubeSchedulerConfiguration";
        f.required("kind", kind).word(Code::UnsupportedVersion, &[(kind, ())]);
        for name in OTHERS {
            f.field(name);
        }
        let percentage = f.field("percentageOfNodesToScore").between(0, 100);
        let mut names: Vec<String> = Vec::new();
        let profiles = f
            .field("profiles")
            .list("profiles", |item| Some(item.section(|f| profile(f, &mut names))));
        let mut profiles =
            profiles.filter(|p| !p.is_empty()).unwrap_or_else(|| vec![SchedulerProfile::default()]);
        if let [.., _, _] = profiles.as_slice()
            && names.len() < profiles.len()
        {
            f.complain(
                Code::MissingField,
                "profiles",
                "with several profiles, each needs a schedulerName",
            );
        }
        let (opaque, extended) = extenders(f);
        for profile in &mut profiles {
            profile.percentage_of_nodes_to_score =
                profile.percentage_of_nodes_to_score.or(percentage);
            profile.unknown_scores |= opaque;
            profile.takes_first &= !extended;
        }
        profiles
    })
}

/// A profile; `names` are those of the profiles before it.
fn profile(f: &mut Fields<'_, '_>, names: &mut Vec<String>) -> SchedulerProfile {
    let name = f.field("schedulerName").name();
    if name.as_ref().is_some_and(|n| names.contains(n)) {
        f.complain(Code::Conflict, "schedulerName", "another profile has this name");
    }
    names.extend(name.clone());
    let mut profile = SchedulerProfile {
        name: name.unwrap_or_else(|| DEFAULT_SCHEDULER.to_owned()),
        percentage_of_nodes_to_score: f.field("percentageOfNodesToScore").between(0, 100),
        ..SchedulerProfile::default()
    };
    f.field("plugins").section(|f| plugins::plugins(f, &mut profile));
    arguments::plugin_config(f, &mut profile);
    profile
}

/// Whether an extender scores nodes for all pods, in an unknown way, and whether any filters or
/// scores nodes at all.
fn extenders(f: &mut Fields<'_, '_>) -> (bool, bool) {
    let verbs = f.field("extenders").list("extenders", |item| {
        Some(item.section(|f| {
            for other in [
                "urlPrefix",
                "preemptVerb",
                "weight",
                "bindVerb",
                "enableHTTPS",
                "tlsConfig",
                "httpTimeout",
                "nodeCacheCapable",
                "ignorable",
            ] {
                f.field(other);
            }
            // An extender with managed resources sees only the pods that request one of them.
            let managed =
                f.field("managedResources").list("resources", |_| Some(())).unwrap_or_default();
            let (filters, scores) =
                (f.field("filterVerb").name(), f.field("prioritizeVerb").name());
            (filters.is_some(), scores.is_some(), managed.is_empty())
        }))
    });
    let verbs = verbs.unwrap_or_default();
    if verbs.iter().any(|(filters, ..)| *filters) {
        f.warn(
            Code::Ignored,
            "extenders",
            "an extender filters nodes; the forecast does not know which nodes it excludes",
        );
    }
    if verbs.iter().any(|(_, scores, all)| *scores && !all) {
        f.warn(
            Code::Ignored,
            "extenders",
            "an extender scores nodes for pods that request its managed resources; the forecast ignores these scores",
        );
    }
    let opaque = verbs.iter().any(|(_, scores, all)| *scores && *all);
    if opaque {
        f.warn(Code::Ignored, "extenders", format!("an extender scores nodes; {ANYWHERE}"));
    }
    (opaque, verbs.iter().any(|(filters, scores, _)| *filters || *scores))
}

/// The consequence of unknown scores.
const ANYWHERE: &str =
    "the forecast does not know how, so it treats all nodes that can take a pod as equally likely";

#[cfg(test)]
mod tests;
