//! The contents of a snapshot, which is a file with one line for each object.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};

use crate::model::guard::recorded::GuardHistory;
use crate::model::snapshot::import;
use crate::model::snapshot::objects::Objects;
use crate::model::usage::recorded::UsageHistory;
use crate::model::usage::recorded::object;
use crate::values::text::count;

use super::rename::{NameKind, ScrambledNames};
use super::strip;

/// The contents of a snapshot.
#[derive(Default)]
pub(crate) struct Recording {
    /// Every object, stripped.
    objects: Vec<Value>,
    /// An empty list for each kind without an object.
    empty: Vec<Value>,
    pub(crate) facts: Objects,
    pub(crate) history: Option<UsageHistory>,
    pub(crate) guards: Vec<GuardHistory>,
    /// A line about each part that is missing.
    pub(crate) notes: Vec<String>,
}

impl Recording {
    /// Adds an empty list of a kind that the cluster has no object of. Otherwise the kind would
    /// count as not recorded.
    pub(crate) fn add_empty(&mut self, api_version: &str, kind: &str) {
        let list = json!({"apiVersion": api_version, "kind": format!("{kind}List"), "items": []});
        self.empty.push(list);
    }

    /// Strips the items of a list and adds them. Items of a list lack their kind and version.
    pub(crate) fn add(&mut self, items: Vec<Value>, api_version: &str, kind: &str) {
        for mut item in items {
            if let Value::Object(fields) = &mut item {
                fields.insert("apiVersion".to_owned(), api_version.into());
                fields.insert("kind".to_owned(), kind.into());
            }
            // An object that no plan can read is in the file all the same.
            if let Ok(Some(object)) = import::object(&item) {
                self.facts.apply(object);
            }
            self.objects.extend(strip::strip(&item));
        }
    }

    /// Replaces all names. Those in the history stay equal to those of the objects.
    pub(crate) fn scramble(&mut self, seed: u64) {
        let mut names = strip::scrambled_names(&self.objects, seed);
        self.objects = strip::renamed(&self.objects, &mut names);
        let history = self.history.take();
        self.history = history.map(|history| renamed(history, &names));
        let guards = std::mem::take(&mut self.guards);
        self.guards = renamed_guards(guards, &names);
    }

    /// Writes a JSON list with one line for each object, so that files can be compared and
    /// searched.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let objects = self.objects.iter().chain(&self.empty);
        let objects = objects.map(Value::to_string);
        let history = self.history.iter().flat_map(object::write);
        let guards = self.guards.iter().filter_map(GuardHistory::to_json);
        out.write_all(b"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[")?;
        for (i, line) in objects.chain(history).chain(guards).enumerate() {
            out.write_all(if i == 0 { b"\n" } else { b",\n" })?;
            out.write_all(line.as_bytes())?;
        }
        out.write_all(b"\n]}\n")
    }

    /// The numbers of objects, and the usage history.
    pub(crate) fn summary(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for object in &self.objects {
            let kind = object.get("kind").and_then(Value::as_str);
            *counts.entry(kind.unwrap_or_default()).or_default() += 1;
        }
        let of = |kind: &str| counts.get(kind).copied().unwrap_or_default();
        let mut summary = format!(
            "{}, {}, {} in total; metrics of {} and {}",
            count(of("Node"), "node"),
            count(of("Pod"), "pod"),
            count(self.objects.len(), "object"),
            count(of("NodeMetrics"), "node"),
            count(of("PodMetrics"), "pod")
        );
        if let Some(history) = &self.history {
            summary.push_str("; ");
            summary.push_str(&history.summary());
        }
        summary
    }
}

/// The history with the names that the objects got.
fn renamed(history: UsageHistory, names: &ScrambledNames) -> UsageHistory {
    history.renamed(
        |node| names.replacement(NameKind::Node, node),
        |(namespace, pod)| {
            (
                names.replacement(NameKind::Namespace, namespace),
                names.replacement(NameKind::Pod, pod),
            )
        },
    )
}

/// Returns series of guards with the names that the objects got.
fn renamed_guards(guards: Vec<GuardHistory>, names: &ScrambledNames) -> Vec<GuardHistory> {
    let renamed = |mut series: GuardHistory| {
        for (label, name) in &mut series.labels {
            let known = kinds_of(label).iter().find_map(|kind| names.find(*kind, name));
            *name = known.unwrap_or_else(|| names.replacement(NameKind::Workload, name));
        }
        series
    };
    guards.into_iter().map(renamed).collect()
}

/// The kinds of the names in a label of a guard. The label `workload` names one of any kind.
fn kinds_of(label: &str) -> &'static [NameKind] {
    match label {
        "namespace" => &[NameKind::Namespace],
        "pod" => &[NameKind::Pod],
        _ => &[
            NameKind::Workload,
            NameKind::Job,
            NameKind::ReplicaSet,
            NameKind::ReplicationController,
        ],
    }
}

#[cfg(test)]
mod tests;
