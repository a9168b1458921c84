//! Comparison of the forecast with the decisions of the real scheduler.

use std::collections::BTreeMap;
use std::fmt;

use evenkeel::decide::placement::Placement;
use evenkeel::decide::scheduler::{Forecast, Parts, forecast};
use evenkeel::model::search_start::SearchStart;
use evenkeel::model::snapshot::objects::{ObjectKind, Objects};
use evenkeel::model::snapshot::{Snapshot, import};
use evenkeel::policy::{Policy, ScorePlugin};
use serde_json::{Value, json};

use super::case::{Case, RecordedPlacement};

/// From this number of nodes on, the scheduler visits only some of them, and no forecast can know
/// which.
const SAMPLED: usize = 100;
const POLICY: &str =
    "apiVersion: evenkeel/v1alpha1\nkind: Policy\nstrategies:\n- removeDuplicates: {}\n";

/// The accuracy of the forecast.
#[derive(Default)]
pub(crate) struct Figures {
    /// Pods that found a node, and those on a forecast node.
    pub(crate) landed: usize,
    pub(crate) foreseen: usize,
    /// The same two counts for replacements.
    replaced: (usize, usize),
    /// Pods that found no node, and those without a forecast node.
    pub(crate) nowhere: usize,
    pub(crate) nowhere_foreseen: usize,
    width: Width,
    /// Scored nodes, and those with an equal forecast score.
    scored: usize,
    agreed: usize,
    /// The number of nodes that differ in each score, with an example.
    off: BTreeMap<String, (usize, String)>,
    /// One line for each pod that landed on an unexpected node.
    pub(crate) misses: Vec<String>,
}

/// The sizes of the forecast sets, compared with the sets of truly tied nodes: their sums and the
/// ratios.
#[derive(Default)]
struct Width {
    ours: usize,
    equal: usize,
    ratios: f64,
    count: usize,
}

impl Figures {
    /// Returns the percentage of landings within the forecast set.
    pub(crate) fn hits(&self) -> f64 {
        float(self.foreseen) / float(self.landed.max(1)) * 100.0
    }

    /// Returns the percentage of scored nodes whose scores are all as forecast.
    pub(crate) fn agreement(&self) -> f64 {
        float(self.agreed) / float(self.scored.max(1)) * 100.0
    }

    /// Returns how many times larger the forecast sets are than the truly tied sets: the mean, or
    /// the ratio of the sums if that is worse.
    pub(crate) fn width(&self) -> f64 {
        let Width { ours, equal, ratios, count } = self.width;
        (ratios / float(count.max(1))).max(float(ours) / float(equal.max(1)))
    }

    /// Adds the placements of a cluster.
    pub(crate) fn add(&mut self, case: &Case) {
        assert!(
            case.plugins.iter().eq(ScorePlugin::ALL.map(ScorePlugin::name)),
            "{:?}",
            case.plugins
        );
        let policy = Policy::parse("policy.yaml", POLICY).unwrap();
        let policy = policy.with_release(case.release.parse().unwrap());
        let mut objects = Objects::default();
        for object in &case.objects {
            apply(&mut objects, object);
        }
        for (i, placement) in case.placements.iter().enumerate() {
            let mut pod = placement.pod.clone();
            let (namespace, name) = placement.name();
            let mut asked = (namespace, name.clone());
            match &placement.replaces {
                Some(old) => asked.1.clone_from(old),
                None => apply(&mut objects, &pod),
            }
            let foreseen = foresee(&policy, &Snapshot::join(&objects, policy.resources()), &asked);
            objects.delete(ObjectKind::Pod, &asked);
            if placement.asleep {
                continue;
            }
            let instead =
                placement.replaces.as_ref().map(|old| format!(" for {old}")).unwrap_or_default();
            let at = format!("{:02}-{} #{i} {name}{instead}", case.seed, case.name);
            if let Some(node) = &placement.node {
                self.judge(&at, placement, node, &foreseen);
                if case.objects.iter().filter(|o| o["kind"] == "Node").count() < SAMPLED {
                    self.compare(&at, placement, &foreseen);
                }
                pod["spec"]["nodeName"] = json!(node);
                apply(&mut objects, &pod);
            } else {
                self.judge_nowhere(&at, placement, &foreseen);
            }
        }
    }

    fn judge(&mut self, at: &str, placement: &RecordedPlacement, node: &String, ours: &Foreseen) {
        self.landed += 1;
        let replaced = usize::from(placement.replaces.is_some());
        self.replaced.0 += replaced;
        if ours.possible_nodes.contains(node) {
            self.foreseen += 1;
            self.replaced.1 += replaced;
        } else {
            self.misses.push(format!(
                "{at}: landed on {node}, expected {}",
                ours.explain(placement, node)
            ));
        }
    }

    fn judge_nowhere(&mut self, at: &str, placement: &RecordedPlacement, ours: &Foreseen) {
        self.nowhere += 1;
        if ours.possible_nodes.is_empty() {
            self.nowhere_foreseen += 1;
        } else {
            let why = placement.why.as_deref().unwrap_or_default();
            self.misses
                .push(format!("{at}: landed nowhere, expected {:?}; {why}", ours.possible_nodes));
        }
    }

    fn compare(&mut self, at: &str, placement: &RecordedPlacement, ours: &Foreseen) {
        self.width.count += 1;
        self.width.ours += ours.possible_nodes.len();
        self.width.equal += placement.equal.len();
        self.width.ratios += float(ours.possible_nodes.len()) / float(placement.equal.len());
        // A replacement has two forecasts in one, and only one of them came true.
        for (node, theirs) in placement.scores.iter().filter(|_| placement.replaces.is_none()) {
            self.scored += 1;
            let off = ours.off(node, theirs);
            self.agreed += usize::from(off.is_empty());
            for (what, sizes) in off {
                let (nodes, first) = self.off.entry(what).or_default();
                *nodes += 1;
                if *nodes == 1 {
                    *first = format!("{at}: {node} {sizes}");
                }
            }
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures {
            landed, foreseen, replaced, nowhere, nowhere_foreseen, scored, agreed, ..
        } = self;
        writeln!(
            f,
            "{landed} pods landed, {foreseen} of them where we named a node: {:.2} %",
            self.hits()
        )?;
        writeln!(
            f,
            "{} of them replaced another pod, {} of those where we named a node",
            replaced.0, replaced.1
        )?;
        writeln!(f, "we name {:.2} times as many nodes as are truly equal", self.width())?;
        writeln!(
            f,
            "{nowhere} pods landed nowhere, and for {nowhere_foreseen} of them we name no node"
        )?;
        write!(f, "{agreed} of {scored} nodes have the same scores")?;
        for (what, (nodes, first)) in &self.off {
            write!(f, "\n  {nodes} nodes differ in {what}, the first in {first}")?;
        }
        self.misses.iter().try_for_each(|miss| write!(f, "\n{miss}"))
    }
}

/// Returns the forecast by node name.
struct Foreseen {
    possible_nodes: Vec<String>,
    scores: BTreeMap<String, Parts>,
    misfits: BTreeMap<String, String>,
}

impl Foreseen {
    fn new(snapshot: &Snapshot, forecast: &Forecast) -> Self {
        let name = |node| snapshot.node(node).name.clone();
        Foreseen {
            possible_nodes: forecast.possible_nodes.iter().map(|w| name(w.node)).collect(),
            scores: forecast.scored.iter().map(|s| (name(s.node), s.parts)).collect(),
            misfits: forecast
                .misfits
                .iter()
                .map(|(node, why)| (name(*node), why.to_string()))
                .collect(),
        }
    }

    /// Returns the expected nodes with their reasons.
    fn explain(&self, placement: &RecordedPlacement, node: &String) -> String {
        let mut parts = vec![format!("{:?}", self.possible_nodes)];
        parts.extend(self.misfits.get(node).map(|why| format!("by us {node} is {why}")));
        let misfits =
            self.scores.keys().filter(|n| *n != node && !placement.scores.contains_key(*n));
        parts.extend(misfits.map(|n| format!("only by us {n} fits")));
        for (node, theirs) in &placement.scores {
            parts.extend(
                self.off(node, theirs)
                    .iter()
                    .map(|(what, sizes)| format!("{node}: {what} {sizes}")),
            );
        }
        parts.join("; ")
    }

    /// Returns the differences in the scores of a node: plugin, forecast and actual score.
    fn off(&self, node: &str, theirs: &[i64]) -> Vec<(String, String)> {
        let Some(ours) = self.scores.get(node) else {
            return vec![("whether it fits".to_owned(), "no, not yes".to_owned())];
        };
        let both = ScorePlugin::ALL
            .into_iter()
            .zip(theirs)
            .map(|(plugin, theirs)| (plugin, ours[plugin], *theirs));
        let off = both.filter(|(_, ours, theirs)| ours != theirs);
        off.map(|(plugin, ours, theirs)| {
            (plugin.name().to_owned(), format!("{ours}, not {theirs}"))
        })
        .collect()
    }
}

fn foresee(policy: &Policy, snapshot: &Snapshot, (namespace, name): &(String, String)) -> Foreseen {
    let pod =
        snapshot.find_pod(namespace, name).unwrap_or_else(|| panic!("{:?}", snapshot.skipped));
    let unknown = SearchStart::default();
    let placement = Placement::new(policy, snapshot, &unknown);
    Foreseen::new(snapshot, &forecast(&placement, pod))
}

fn apply(objects: &mut Objects, value: &Value) {
    if let Some(object) =
        import::object(value).unwrap_or_else(|(_, skipped)| panic!("{skipped}: {value}"))
    {
        objects.apply(object);
    }
}

fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}
