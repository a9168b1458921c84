//! The input of a simulation as plain data: nodes, workloads, their real usage, and events.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::model::guard::recorded::GuardHistory;
use crate::model::snapshot::facts::{Taint, Toleration};
use crate::model::snapshot::objects::Objects;
use crate::model::usage::recorded::UsageHistory;
use crate::model::usage::{Measure, Readings};
use crate::policy::{FitStrategy, Policy, other_file};
use crate::schema::problem::PolicyError;
use crate::schema::read::Report;
use crate::schema::tree;
use crate::values::selector::{Labels, NodeTerm, Selector};
use crate::values::{Amount, Ratio, value_of};

use super::load::Load;

use files::Files;
pub use guards::GuardCourse;

mod built_in;
mod fields;
mod files;
mod guards;
mod nodes;
mod read;
mod usage;
mod workloads;

/// The input of a simulation.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// A sentence that describes it.
    pub about: String,
    /// The seed for ties and noise.
    pub seed: u64,
    /// The simulated duration.
    pub duration: SignedDuration,
    /// Its policy; the default policy if it names none.
    pub policy: Option<PolicySource>,
    /// Which nodes its scheduler prefers; as in the policy if it does not say.
    pub scheduler: Option<FitStrategy>,
    /// The nodes, one by one.
    pub nodes: Vec<NodeSpec>,
    /// The workloads.
    pub workloads: Vec<ScenarioWorkload>,
    /// The way usage is measured.
    pub metrics: MetricsSettings,
    /// The series of guards.
    pub guard_courses: Vec<GuardCourse>,
    /// A recorded cluster that exists at the start, besides nodes and workloads.
    pub given: Option<Given>,
}

/// The source of a policy.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicySource {
    /// A policy written in the scenario.
    Inline(Box<Policy>),
    /// A policy file, as named in the scenario.
    File(String),
}

/// A node and its events. Times count from the start.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSpec {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: Labels,
    /// Its taints.
    pub taints: Vec<Taint>,
    /// Its allocatable amounts, by resource.
    pub allocatable: Vec<(String, Amount)>,
    /// Its usage outside of pods.
    pub base: Measure,
    /// The time when it joins; `None` if it exists from the start.
    pub joins: Option<SignedDuration>,
    /// The time when it fails.
    pub fails: Option<SignedDuration>,
    /// The time when it is cordoned and drained.
    pub drains: Option<SignedDuration>,
    /// The time when it is up again and takes pods.
    pub recovers: Option<SignedDuration>,
}

/// A workload: its controller and its pods.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioWorkload {
    /// Its namespace.
    pub namespace: String,
    /// Its name, which its pods have as the label `app`.
    pub name: String,
    /// Its kind.
    pub kind: WorkloadKind,
    /// The number of pods. A DaemonSet has one on each node instead.
    pub replicas: u32,
    /// The labels of its pods besides `app`.
    pub labels: Labels,
    /// The requests of each pod, by resource.
    pub requests: Vec<(String, Amount)>,
    /// The usage of each pod; `None` uses as much as requested.
    pub usage: Option<Load>,
    /// The tolerations of its pods. Those of a DaemonSet tolerate everything.
    pub tolerations: Vec<Toleration>,
    /// Its node selector.
    pub node_selector: Labels,
    /// Its required node affinity, of which one term must match.
    pub required_nodes: Option<Vec<NodeTerm>>,
    /// Its preferred node affinity, with weights from 1 to 100.
    pub preferred_nodes: Vec<(i32, NodeTerm)>,
    /// The topology keys of its required anti-affinity to its own pods.
    pub apart: Vec<String>,
    /// Its topology spread constraints over its own pods.
    pub spread: Vec<Evenness>,
    /// The priority of its pods.
    pub priority: i32,
    /// Whether its pods have an emptyDir volume.
    pub empty_dir: bool,
    /// Its PodDisruptionBudget.
    pub budget: Option<BudgetRule>,
    /// The time when it is created; `None` if it exists from the start with pods that are an hour
    /// old.
    pub from: Option<SignedDuration>,
    /// The time when it is deleted.
    pub until: Option<SignedDuration>,
    /// The nodes of its first pods, in turn. If empty, the scheduler places them.
    pub on: FirstNodes,
    /// The time from binding to Ready.
    pub startup: SignedDuration,
    /// The time from deletion to the end of a pod.
    pub ending: SignedDuration,
    /// The time after which a pod completes; `None` for never.
    pub runs: Option<SignedDuration>,
}

/// A topology spread constraint over the pods of its own workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evenness {
    /// The topology key: nodes with the same value form a domain.
    pub topology_key: String,
    /// The maximum difference between domains.
    pub max_skew: u32,
    /// Whether the scheduler must keep it (`DoNotSchedule`) or prefers to (`ScheduleAnyway`).
    pub hard: bool,
}

/// The nodes of a workload's first pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstNodes {
    /// Nodes that the scheduler chooses.
    Scheduled,
    /// On these nodes, in turn.
    On(Vec<String>),
    /// All nodes of the start, in turn.
    Evenly,
}

crate::names! {
    /// The kinds of workloads that are simulated.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum WorkloadKind {
        /// Replaces a pod as soon as it terminates.
        Deployment = "Deployment",
        /// Replaces a pod by one with the same name after the old one is gone.
        StatefulSet = "StatefulSet",
        /// Runs one pod on each node, regardless of taints.
        DaemonSet = "DaemonSet",
        /// Replaces a pod that has not completed.
        Job = "Job",
        /// Pods without a controller.
        Bare = "Pod",
    }
    /// Returns the name in the API.
    pub fn name;
}

/// The rule of a PodDisruptionBudget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BudgetRule {
    /// The number of pods that must stay healthy.
    Least(Part),
    /// The number of pods that may be unavailable.
    Most(Part),
}

/// A number of pods, or a share of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    /// A number.
    Count(u32),
    /// A share, rounded up.
    Share(Ratio),
}

/// The way usage is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricsSettings {
    /// The time after which a sample can be read.
    pub delay: SignedDuration,
    /// The time from one sample to the next. A sample is the average over it.
    pub resolution: SignedDuration,
    /// Periods without samples.
    pub gaps: Vec<Gap>,
}

/// A period in which nodes and their pods have no samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The nodes; all nodes if empty.
    pub nodes: Vec<String>,
    /// The start.
    pub from: SignedDuration,
    /// The end.
    pub until: SignedDuration,
}

/// A recorded cluster with its usage.
#[derive(Clone, Debug)]
pub struct Given {
    /// The objects.
    pub objects: Objects,
    /// The usage at the time of the recording.
    pub readings: Readings,
    /// The time of the recording.
    pub at: Timestamp,
    /// The usage before, which is replayed. Without it, usage stays constant.
    pub history: Option<UsageHistory>,
    /// The recorded series of guards.
    pub guards: Vec<GuardHistory>,
}

impl Default for MetricsSettings {
    /// The defaults of metrics-server: a sample every 15 s with a delay of 15 s.
    fn default() -> Self {
        let resolution = SignedDuration::from_secs(15);
        MetricsSettings { delay: resolution, resolution, gaps: Vec::new() }
    }
}

impl Scenario {
    /// Parses a scenario that needs no other file. The name is only for messages.
    ///
    /// Returns an error with every invalid field and its position.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, PolicyError> {
        let none = |_: &str| Err("found no folder to read files from".to_owned());
        Scenario::parse_with(file_name, text, &none)
    }

    /// Like [`Scenario::parse`]. `open` returns the text of a file that the scenario names, or why
    /// it cannot be read.
    pub fn parse_with(
        file_name: &str,
        text: &str,
        open: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, PolicyError> {
        let fail = |problems| PolicyError::new(file_name, text, problems);
        let root = tree::parse(text).map_err(|problem| fail(vec![problem]))?;
        if let Some(problem) = other_file::objects_of_cluster(&root) {
            return Err(fail(vec![problem]));
        }
        let mut report = Report::default();
        let scenario = report.read(&root, |spot| read::scenario(spot, Files::new(open)));
        let problems = report.close();
        if problems.is_empty() { Ok(scenario) } else { Err(fail(problems)) }
    }

    /// Returns the names of the built-in scenarios, the recommended first one first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        built_in::ALL.iter().map(|(name, _)| *name)
    }

    /// Returns the text of a built-in scenario, which can be copied to a file.
    pub fn built_in(name: &str) -> Option<&'static str> {
        built_in::ALL.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// Creates the scenario of a recorded cluster. Its recorded usage is replayed; without one,
    /// usage stays constant for two hours.
    pub fn of(name: String, given: Given) -> Self {
        let length = given.history.as_ref().map(|history| history.range.length());
        let about = match length {
            Some(_) => "A replay of the recorded usage of a cluster.",
            None => "A recorded cluster with constant usage.",
        };
        Scenario {
            name,
            about: about.to_owned(),
            seed: 1,
            duration: length.unwrap_or(SignedDuration::from_hours(2)),
            policy: None,
            scheduler: None,
            nodes: Vec::new(),
            workloads: Vec::new(),
            metrics: MetricsSettings::default(),
            guard_courses: Vec::new(),
            given: Some(given),
        }
    }

    /// Returns the start of simulated time: a Monday, the start of the recorded usage, or the time
    /// of the recording.
    pub fn start(&self) -> Timestamp {
        let monday = Timestamp::from_second(1_767_571_200).unwrap_or_default();
        match &self.given {
            None => monday,
            Some(Given { history: None, at, .. }) => *at,
            Some(Given { history: Some(history), .. }) => history.range.start,
        }
    }

    /// Returns the namespaces of its workloads.
    pub fn namespaces(&self) -> BTreeSet<&str> {
        self.workloads.iter().map(|w| w.namespace.as_str()).collect()
    }
}

impl ScenarioWorkload {
    /// Returns the selector of its own pods, which its budget and constraints use.
    pub fn selector(&self) -> Selector {
        let requirement = crate::values::selector::Requirement {
            key: "app".to_owned(),
            test: crate::values::selector::Test::In(vec![self.name.clone()]),
        };
        Selector::new(vec![requirement])
    }

    /// Returns the usage of one of its pods.
    pub fn load(&self) -> Load {
        self.usage.clone().unwrap_or_else(|| {
            Load::steady(Measure {
                cpu: self.requested("cpu").unwrap_or(Amount::ZERO),
                memory: self.requested("memory").unwrap_or(Amount::ZERO),
            })
        })
    }

    /// Returns the request of one of its pods; `None` if it has none for this resource.
    pub fn requested(&self, resource: &str) -> Option<Amount> {
        value_of(&self.requests, resource)
    }
}

impl BudgetRule {
    /// Returns the required number of healthy pods. Percentages round up, as in
    /// <https://kubernetes.io/docs/tasks/run-application/configure-pdb/>.
    pub fn desired(self, expected: u32) -> u32 {
        match self {
            BudgetRule::Least(part) => part.of(expected),
            BudgetRule::Most(part) => expected.saturating_sub(part.of(expected)),
        }
    }
}

impl Part {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a u32 fits"
    )]
    fn of(self, whole: u32) -> u32 {
        match self {
            Part::Count(n) => n,
            Part::Share(share) => (f64::from(whole) * share.get() - 1e-9).ceil().max(0.0) as u32,
        }
    }
}
