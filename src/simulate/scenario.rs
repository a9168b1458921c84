//! What is simulated, as plain data: nodes, workloads, what they really use, and what happens to them.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::facts::{Taint, Toleration};
use crate::model::snapshot::objects::Objects;
use crate::model::usage::{Measure, Readings};
use crate::policy::problem::PolicyError;
use crate::policy::read::Report;
use crate::policy::tree;
use crate::policy::{FitStrategy, Policy};
use crate::values::selector::{Labels, NodeTerm, Selector};
use crate::values::{Amount, Ratio};

use super::load::Load;

mod built_in;
mod nodes;
mod read;
mod usage;
mod workloads;

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// What it is about, in a sentence.
    pub about: String,
    /// What decides ties and noise.
    pub seed: u64,
    /// How long.
    pub duration: SignedDuration,
    /// The policy that goes with it; the built-in one where it names none.
    pub policy: Option<PolicySource>,
    /// Which nodes its scheduler likes; as the policy says where it does not.
    pub scheduler: Option<FitStrategy>,
    /// The nodes, each by itself.
    pub nodes: Vec<NodeSpec>,
    /// The workloads.
    pub workloads: Vec<Workload>,
    /// How usage is measured.
    pub metrics: Metrics,
    /// A cluster that is there at the start, beside nodes and workloads.
    pub given: Option<Given>,
}

/// Where a policy comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicySource {
    /// It is written in the scenario.
    Inline(Box<Policy>),
    /// It is in a file, named as the scenario names it.
    File(String),
}

/// A node, and what happens to it; times count from the start.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSpec {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: Labels,
    /// Its taints.
    pub taints: Vec<Taint>,
    /// What pods may use of it, by resource.
    pub allocatable: Vec<(String, Amount)>,
    /// What the system uses of it beside all pods.
    pub base: Measure,
    /// When it joins; it is there from the start where `None`.
    pub joins: Option<SignedDuration>,
    /// When it stops answering.
    pub fails: Option<SignedDuration>,
    /// When it is cordoned and its pods are evicted.
    pub drains: Option<SignedDuration>,
    /// When it answers again, and takes pods again.
    pub recovers: Option<SignedDuration>,
}

/// What makes pods, and what they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Where it lives.
    pub namespace: String,
    /// Its name; its pods carry it as the label `app`.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// How many pods; a DaemonSet has one on each node instead.
    pub replicas: u32,
    /// Labels of its pods beside `app`.
    pub labels: Labels,
    /// What each pod requests, by resource.
    pub requests: Vec<(String, Amount)>,
    /// What each pod uses; what it requests where `None`.
    pub usage: Option<Load>,
    /// What its pods tolerate; those of a DaemonSet tolerate everything.
    pub tolerations: Vec<Toleration>,
    /// Labels that a node must carry.
    pub node_selector: Labels,
    /// Required node affinity: one of these must hold.
    pub required_nodes: Option<Vec<NodeTerm>>,
    /// Preferred node affinity, with weights from 1 to 100.
    pub preferred_nodes: Vec<(i32, NodeTerm)>,
    /// Labels by which two of its pods may not be in one place: required anti-affinity to itself.
    pub apart: Vec<String>,
    /// Topology spread constraints over its own pods.
    pub spread: Vec<Evenness>,
    /// The priority of its pods.
    pub priority: i32,
    /// Whether its pods have an emptyDir.
    pub empty_dir: bool,
    /// Its PodDisruptionBudget.
    pub budget: Option<BudgetRule>,
    /// When it is made; it is there from the start, its pods an hour old, where `None`.
    pub from: Option<SignedDuration>,
    /// When it is deleted.
    pub until: Option<SignedDuration>,
    /// Where its first pods are, in turn; where empty, the scheduler places them.
    pub on: Placement,
    /// From being bound to being Ready.
    pub startup: SignedDuration,
    /// From being told to go to being gone.
    pub ending: SignedDuration,
    /// After so long a pod has done its work; `None` where it never has.
    pub runs: Option<SignedDuration>,
}

/// A topology spread constraint over the pods of its own workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evenness {
    /// The label whose value makes two nodes one place.
    pub topology_key: String,
    /// How many more may be in one place than in another.
    pub max_skew: u32,
    /// Whether the scheduler must keep it (`DoNotSchedule`) or prefers to (`ScheduleAnyway`).
    pub hard: bool,
}

/// Where the first pods of a workload are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Wherever the scheduler puts them.
    Scheduled,
    /// On these nodes, in turn.
    On(Vec<String>),
    /// On all nodes of the start, in turn.
    Evenly,
}

/// The kinds of workload that are simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Replaces a pod as soon as it is told to go.
    Deployment,
    /// Replaces a pod by one of the same name, once the old one is gone.
    StatefulSet,
    /// One pod on each node, whatever its taints.
    DaemonSet,
    /// Replaces a pod that has not done its work.
    Job,
    /// Pods that nothing replaces.
    Bare,
}

impl Kind {
    /// As the API spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Deployment => "Deployment",
            Kind::StatefulSet => "StatefulSet",
            Kind::DaemonSet => "DaemonSet",
            Kind::Job => "Job",
            Kind::Bare => "Pod",
        }
    }
}

/// What a PodDisruptionBudget asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BudgetRule {
    /// So many must stay healthy.
    Least(Part),
    /// So many may be away.
    Most(Part),
}

/// A number of pods, or a share of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    /// So many.
    Count(u32),
    /// This share, rounded up.
    Share(Ratio),
}

/// How usage is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics {
    /// A sample can be read so long after it was taken.
    pub delay: SignedDuration,
    /// From one sample to the next; a sample is the average over this time.
    pub resolution: SignedDuration,
    /// Nodes without samples.
    pub gaps: Vec<Gap>,
}

/// A time in which nodes and their pods have no samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The nodes; all where empty.
    pub nodes: Vec<String>,
    /// From when.
    pub from: SignedDuration,
    /// Until when.
    pub until: SignedDuration,
}

/// A cluster as it was found, with what it used then.
#[derive(Clone, Debug)]
pub struct Given {
    /// Its objects.
    pub objects: Objects,
    /// What it used.
    pub readings: Readings,
    /// When that was.
    pub at: Timestamp,
}

impl Default for Metrics {
    /// As metrics-server does by default: every 15 s, and as late.
    fn default() -> Self {
        let resolution = SignedDuration::from_secs(15);
        Metrics {
            delay: resolution,
            resolution,
            gaps: Vec::new(),
        }
    }
}

impl Scenario {
    /// Reads a scenario file. The name is for messages only.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, PolicyError> {
        let fail = |problems| PolicyError::new(file_name, text, problems);
        let root = tree::parse(text).map_err(|problem| fail(vec![problem]))?;
        let mut report = Report::default();
        let scenario = report.read(&root, read::scenario);
        let problems = report.close();
        if problems.is_empty() {
            Ok(scenario)
        } else {
            Err(fail(problems))
        }
    }

    /// The names of the scenarios that are built in, the one to begin with first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        built_in::ALL.iter().map(|(name, _)| *name)
    }

    /// The text of a built-in scenario: a file to copy.
    pub fn built_in(name: &str) -> Option<&'static str> {
        built_in::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, text)| *text)
    }

    /// A cluster as it was found: what it uses stays as it is.
    pub fn of(name: String, given: Given) -> Self {
        Scenario {
            name,
            about: "A cluster as it was found, with what it used then.".to_owned(),
            seed: 1,
            duration: SignedDuration::from_hours(2),
            policy: None,
            scheduler: None,
            nodes: Vec::new(),
            workloads: Vec::new(),
            metrics: Metrics::default(),
            given: Some(given),
        }
    }

    /// When simulated time begins: a Monday, or when the given cluster was looked at.
    pub fn start(&self) -> Timestamp {
        let monday = Timestamp::from_second(1_767_571_200).unwrap_or_default();
        self.given.as_ref().map_or(monday, |given| given.at)
    }

    /// The namespaces of its workloads.
    pub fn namespaces(&self) -> BTreeSet<&str> {
        self.workloads
            .iter()
            .map(|w| w.namespace.as_str())
            .collect()
    }
}

impl Workload {
    /// What its budget and its constraints select: its own pods.
    pub fn selector(&self) -> Selector {
        let requirement = crate::values::selector::Requirement {
            key: "app".to_owned(),
            test: crate::values::selector::Test::In(vec![self.name.clone()]),
        };
        Selector::new(vec![requirement])
    }

    /// What one of its pods uses.
    pub fn load(&self) -> Load {
        let requested = |name: &str| {
            self.requests
                .iter()
                .find(|(n, _)| n == name)
                .map(|(_, amount)| *amount)
        };
        let of = |name| requested(name).unwrap_or(Amount::ZERO);
        self.usage.clone().unwrap_or_else(|| {
            Load::steady(Measure {
                cpu: of("cpu"),
                memory: of("memory"),
            })
        })
    }
}

impl BudgetRule {
    /// How many of so many pods must be healthy. Percentages round up, as
    /// <https://kubernetes.io/docs/tasks/run-application/configure-pdb/> says.
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
