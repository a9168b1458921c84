//! Lays our forecast beside what the real scheduler did.

use std::collections::BTreeMap;
use std::fmt;

use evenkeel::draft::{Draft, HotSince, World};
use evenkeel::ledger::Ledger;
use evenkeel::policy::Policy;
use evenkeel::scheduler::{Forecast, forecast};
use evenkeel::snapshot::objects::Objects;
use evenkeel::snapshot::{Snapshot, import};
use evenkeel::usage::Usage;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::case::{Case, Placement};

/// From so many nodes on the scheduler does not look at all of them, and which it skips nobody can foresee.
const SAMPLED: usize = 100;
const POLICY: &str = "apiVersion: evenkeel/v1alpha1\nkind: Policy\nstrategies:\n- removeDuplicates: {}\n";

/// How well we foresee.
#[derive(Default)]
pub struct Figures {
    /// Pods that found a node, and how many of them found one that we named.
    pub landed: usize,
    pub foreseen: usize,
    /// Pods that found none, and for how many of them we named none.
    pub nowhere: usize,
    pub nowhere_foreseen: usize,
    /// Over the pods that found a node: the sizes of our sets, those of the sets of truly equal nodes, and the sum of
    /// the ratios between the two.
    ours: usize,
    equal: usize,
    ratios: f64,
    measured: usize,
    /// Nodes that were scored, and how many of them we gave the same score.
    scored: usize,
    agreed: usize,
    /// By plugin, how many nodes' scores differ.
    off: BTreeMap<String, usize>,
    /// One line for each pod that landed where we did not expect it.
    pub misses: Vec<String>,
}

impl Figures {
    /// Percentage of the landings that were in our set.
    pub fn hits(&self) -> f64 {
        percentage(self.foreseen, self.landed)
    }

    /// How much larger our set is than that of the truly equal nodes, on average.
    pub fn width(&self) -> f64 {
        let mean = self.ratios / float(self.measured.max(1));
        mean.max(float(self.ours) / float(self.equal.max(1)))
    }

    /// Adds a cluster.
    pub fn add(&mut self, case: &Case) {
        let policy = Policy::parse("policy.yaml", POLICY).unwrap();
        let mut objects = Objects::default();
        case.objects.iter().for_each(|o| apply(&mut objects, o));
        let nodes = case.objects.iter().filter(|o| o["kind"] == "Node").count();
        for (i, placement) in case.placements.iter().enumerate() {
            let mut pod = placement.pod.clone();
            apply(&mut objects, &pod);
            let snapshot = Snapshot::join(&objects, policy.resources());
            let foreseen = foresee(&policy, &snapshot, placement);
            self.judge(&format!("{:02}-{} #{i}", case.seed, case.name), case, placement, &foreseen, nodes < SAMPLED);
            match &placement.node {
                Some(node) => {
                    pod["spec"]["nodeName"] = json!(node);
                    apply(&mut objects, &pod);
                }
                None => {
                    let (namespace, name) = placement.name();
                    objects.delete(evenkeel::snapshot::objects::Kind::Pod, &(namespace.to_owned(), name.to_owned()));
                }
            }
        }
    }

    fn judge(&mut self, at: &str, case: &Case, placement: &Placement, ours: &Foreseen, sees_all: bool) {
        let pod = placement.pod["metadata"]["name"].as_str().unwrap();
        let Some(node) = &placement.node else {
            self.nowhere += 1;
            self.nowhere_foreseen += usize::from(ours.winners.is_empty());
            if !ours.winners.is_empty() {
                let why = placement.why.as_deref().unwrap_or_default();
                self.misses.push(format!("{at} {pod}: landed nowhere, we expect {:?}; {why}", ours.winners));
            }
            return;
        };
        self.landed += 1;
        if ours.winners.contains(node) {
            self.foreseen += 1;
        } else {
            self.misses.push(format!("{at} {pod}: landed on {node}, {}", ours.explain(case, placement)));
        }
        if sees_all {
            self.measured += 1;
            self.ours += ours.winners.len();
            self.equal += placement.equal.len();
            self.ratios += float(ours.winners.len()) / float(placement.equal.len());
            self.compare(case, placement, ours);
        }
    }

    fn compare(&mut self, case: &Case, placement: &Placement, ours: &Foreseen) {
        for (node, theirs) in &placement.scores {
            self.scored += 1;
            let agreed = ours.scores.get(node).is_some_and(|o| o.total == theirs.iter().sum::<i64>());
            self.agreed += usize::from(agreed);
            for plugin in ours.off(case, node, theirs) {
                *self.off.entry(plugin).or_default() += 1;
            }
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures { landed, foreseen, nowhere, nowhere_foreseen, scored, agreed, .. } = self;
        let width = self.width();
        writeln!(f, "{landed} placements: {foreseen} landed where we named a node, {:.2} %", self.hits())?;
        writeln!(f, "we name {width:.2} times as many nodes as are truly equal")?;
        writeln!(f, "{nowhere} pods landed nowhere, and for {nowhere_foreseen} of them we name no node")?;
        write!(f, "{agreed} of {scored} nodes have the same score")?;
        for (plugin, nodes) in &self.off {
            write!(f, "\n  {nodes} nodes: {plugin}")?;
        }
        self.misses.iter().try_for_each(|miss| write!(f, "\n{miss}"))
    }
}

/// Our forecast, by name.
struct Foreseen {
    winners: Vec<String>,
    scores: BTreeMap<String, Score>,
    misfits: BTreeMap<String, String>,
}

struct Score {
    total: i64,
}

impl Foreseen {
    fn new(snapshot: &Snapshot, forecast: &Forecast) -> Self {
        let name = |node| snapshot.node(node).name.clone();
        Foreseen {
            winners: forecast.winners.iter().map(|w| name(w.node)).collect(),
            scores: forecast.scored.iter().map(|s| (name(s.node), Score { total: s.total })).collect(),
            misfits: forecast.misfits.iter().map(|(node, why)| (name(*node), why.to_string())).collect(),
        }
    }

    /// Why another node was expected.
    fn explain(&self, case: &Case, placement: &Placement) -> String {
        let node = placement.node.as_ref().unwrap();
        if let Some(why) = self.misfits.get(node) {
            return format!("which is {why} by us; expected {:?}", self.winners);
        }
        let too_many: Vec<&String> =
            self.scores.keys().filter(|n| !placement.scores.is_empty() && !placement.scores.contains_key(*n)).collect();
        let mut text = format!("expected {:?}", self.winners);
        if !too_many.is_empty() {
            text += &format!("; misfits that fit by us: {too_many:?}");
        }
        for (node, theirs) in &placement.scores {
            let off = self.off(case, node, theirs);
            if !off.is_empty() {
                text += &format!("; {node}: {}", off.join(", "));
            }
        }
        text
    }

    /// What differs in the score of a node.
    fn off(&self, _case: &Case, node: &str, theirs: &[i64]) -> Vec<String> {
        let Some(ours) = self.scores.get(node) else { return vec!["fits, and not by us".to_owned()] };
        let total = theirs.iter().sum::<i64>();
        if ours.total == total { Vec::new() } else { vec!["the total".to_owned()] }
    }
}

fn foresee(policy: &Policy, snapshot: &Snapshot, placement: &Placement) -> Foreseen {
    let (namespace, name) = placement.name();
    let pod = snapshot.find_pod(namespace, name).unwrap_or_else(|| panic!("{:?}", snapshot.skipped));
    let (usage, ledger, hot_since) = (Usage::default(), Ledger::default(), HotSince::new());
    let usage = Usage { nodes: Vec::new(), ..usage };
    let world =
        World { policy, snapshot, usage: &usage, ledger: &ledger, hot_since: &hot_since, now: Timestamp::UNIX_EPOCH };
    Foreseen::new(snapshot, &forecast(&Draft::new(world), pod))
}

fn apply(objects: &mut Objects, value: &Value) {
    let read = import::object(value).unwrap_or_else(|(_, skipped)| panic!("{skipped}: {value}"));
    read.into_iter().for_each(|object| objects.apply(object));
}

fn percentage(part: usize, whole: usize) -> f64 {
    float(part) / float(whole.max(1)) * 100.0
}

fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}
