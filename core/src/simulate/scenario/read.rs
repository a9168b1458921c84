//! Parsing of a scenario file: its head, its metrics, and checks between its parts.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use crate::policy::{FitStrategy, native};
use crate::schema::problem::Code;
use crate::schema::read::{Fields, Spot};
use crate::schema::tree::Value;

use super::fields::{Mentioned, node_names};
use super::files::Files;
use super::{Gap, MetricsSettings, PolicySource, Scenario, guards, nodes, workloads};

/// The most nodes or pods. More are probably a mistake.
const MOST_NODES: usize = 5_000;
const MOST_PODS: u64 = 150_000;
const ONE_SECOND: SignedDuration = SignedDuration::from_secs(1);
const ONE_MINUTE: SignedDuration = SignedDuration::from_mins(1);

pub(super) fn scenario(root: Spot<'_, '_>, files: Files<'_>) -> Scenario {
    root.section(|f| {
        let mut mentioned = Mentioned { nodes: Vec::new(), files };
        let scenario = Scenario {
            name: f.required("name", "the name of the scenario").name().unwrap_or_default(),
            about: f
                .required("about", "a sentence that describes the scenario")
                .name()
                .unwrap_or_default(),
            // A fixed default, so that the same file gives the same run without a seed.
            seed: u64::from(f.field("seed").whole(0).unwrap_or(1)),
            duration: f
                .required("duration", "the duration, such as 2h")
                .duration(ONE_MINUTE)
                .unwrap_or(ONE_MINUTE),
            policy: policy(f.field("policy")),
            scheduler: scheduler(f.field("scheduler")),
            nodes: nodes::read(f.required("nodes", "a list with at least two nodes")),
            workloads: workloads::read(
                f.required("workloads", "a list of workloads"),
                &mut mentioned,
            ),
            metrics: f.field("metrics").section(|f| metrics(f, &mut mentioned)),
            guard_courses: guards::read(f.field("guards")),
            given: None,
        };
        // Checks between parts would repeat problems of parts that could not be read.
        if f.sound() {
            check(f, &scenario, &mentioned);
        }
        scenario
    })
}

fn check(f: &mut Fields<'_, '_>, scenario: &Scenario, mentioned: &Mentioned<'_>) {
    if scenario.nodes.len() > MOST_NODES {
        f.complain(Code::OutOfRange, "nodes", format!("more than {MOST_NODES} nodes"));
    }
    let pods: u64 = scenario.workloads.iter().map(|w| u64::from(w.replicas)).sum();
    if pods > MOST_PODS {
        f.complain(Code::OutOfRange, "workloads", format!("more than {MOST_PODS} pods"));
    }
    twice(f, "nodes", scenario.nodes.iter().map(|n| n.name.clone()));
    twice(f, "workloads", scenario.workloads.iter().map(|w| format!("{}/{}", w.namespace, w.name)));
    let known: BTreeSet<&str> = scenario.nodes.iter().map(|n| n.name.as_str()).collect();
    for (place, name) in mentioned.nodes.iter().filter(|(_, name)| !known.contains(name.as_str())) {
        let near = known.iter().map(|n| (strsim::damerau_levenshtein(n, name), *n)).min();
        let hint = near
            .filter(|(far, _)| *far <= 2)
            .map_or(String::new(), |(_, n)| format!(" (did you mean `{n}`?)"));
        f.complain_at(Code::Conflict, place, format!("no node has the name `{name}`{hint}"));
    }
}

fn twice(f: &mut Fields<'_, '_>, field: &str, names: impl Iterator<Item = String>) {
    let mut seen = BTreeSet::new();
    for name in names {
        if seen.contains(&name) {
            f.complain(
                Code::Conflict,
                field,
                format!("duplicate name `{name}`; names must be unique"),
            );
            return;
        }
        seen.insert(name);
    }
}

/// Parses a policy in the scenario or the name of a policy file.
fn policy(spot: Spot<'_, '_>) -> Option<PolicySource> {
    match &spot.node()?.value {
        Value::Map(_) => Some(PolicySource::Inline(Box::new(native::policy(spot)))),
        Value::Text(word) if word == "default" => None,
        Value::Text(_) => spot.name().map(PolicySource::File),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::List(_) => {
            spot.refuse(Code::WrongType, "a policy, the name of a policy file, or default")
        }
    }
}

/// Parses the node preference of the scheduler, by the names of NodeResourcesFit.
fn scheduler(spot: Spot<'_, '_>) -> Option<FitStrategy> {
    let packs = spot.one_of(&[("LeastAllocated", false), ("MostAllocated", true)])?;
    Some(if packs { FitStrategy::MostAllocated } else { FitStrategy::LeastAllocated })
}

fn metrics(f: &mut Fields<'_, '_>, mentioned: &mut Mentioned<'_>) -> MetricsSettings {
    let usual = MetricsSettings::default();
    let resolution = f.field("resolution").duration(ONE_SECOND).unwrap_or(usual.resolution);
    MetricsSettings {
        delay: f.field("delay").duration(SignedDuration::ZERO).unwrap_or(usual.delay),
        resolution,
        gaps: f
            .field("gaps")
            .list("gaps", |item| Some(item.section(|f| gap(f, mentioned))))
            .unwrap_or_default(),
    }
}

fn gap(f: &mut Fields<'_, '_>, mentioned: &mut Mentioned<'_>) -> Gap {
    let nodes = node_names(f.field("nodes"), mentioned);
    let from =
        f.required("from", "the start of the gap, such as 10m").duration(SignedDuration::ZERO);
    let until =
        f.required("until", "the end of the gap, such as 20m").duration(SignedDuration::ZERO);
    if from.zip(until).is_some_and(|(from, until)| until <= from) {
        f.complain(Code::Conflict, "until", "must be later than from");
    }
    Gap { nodes, from: from.unwrap_or_default(), until: until.unwrap_or_default() }
}
