//! Finds a pod, node or workload by name, and suggests similar names.

use std::collections::BTreeSet;
use std::fmt;

use crate::model::snapshot::facts::{OwnerKey, Skipped};
use crate::model::snapshot::{NodeId, PodId, Snapshot, WorkloadId};

/// The largest number of similar names in an error.
const MOST_NEAR: usize = 4;

/// The object to explain, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A pod: `namespace/name`, or its name alone if it is unique.
    Pod(String),
    /// A node: its name.
    Node(String),
    /// A top controller: `namespace/name`, `namespace/kind/name`, `kind/name`, or its name alone.
    Workload(String),
}

impl Subject {
    const fn kind(&self) -> &'static str {
        match self {
            Subject::Pod(_) => "pod",
            Subject::Node(_) => "node",
            Subject::Workload(_) => "workload",
        }
    }

    fn name(&self) -> &str {
        match self {
            Subject::Pod(name) | Subject::Node(name) | Subject::Workload(name) => name,
        }
    }
}

/// No object has the name, or several have it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct NotFound {
    /// `pod`, `node` or `workload`.
    pub kind: &'static str,
    /// The name as the user gave it.
    pub asked: String,
    /// Whether `near` lists objects with this name, instead of similar names.
    pub several: bool,
    /// Names, the most similar first.
    pub near: Vec<String>,
    /// The object of another kind that has this name.
    pub hint: Option<String>,
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotFound { kind, asked, several, near, hint } = self;
        let either = match near.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => String::new(),
        };
        if *several {
            return write!(f, "more than one {kind} is called {asked}; say which: {either}");
        }
        write!(f, "no {kind} {asked}")?;
        if let Some(hint) = hint {
            write!(f, "; {hint}")
        } else if near.is_empty() {
            Ok(())
        } else {
            write!(f, "; did you mean {either}?")
        }
    }
}

/// The object in the snapshot.
pub(super) enum Match {
    Pod(PodId),
    Node(NodeId),
    Workload(WorkloadId),
}

pub(super) fn find(snapshot: &Snapshot, subject: &Subject) -> Result<Match, NotFound> {
    match subject {
        Subject::Node(name) => find_node(snapshot, subject, name),
        Subject::Pod(name) => find_pod(snapshot, subject, name),
        Subject::Workload(name) => find_workload(snapshot, subject, name),
    }
}

fn find_node(snapshot: &Snapshot, subject: &Subject, name: &str) -> Result<Match, NotFound> {
    snapshot.find_node(name).map(Match::Node).ok_or_else(|| {
        let names = snapshot.nodes.iter().map(|n| n.name.clone());
        unknown(subject, names.collect(), unreadable(snapshot, subject))
    })
}

fn find_pod(snapshot: &Snapshot, subject: &Subject, name: &str) -> Result<Match, NotFound> {
    let found: Vec<(PodId, String)> = snapshot
        .pod_ids()
        .map(|pod| (pod, name_of_pod(snapshot, pod)))
        .filter(|(pod, full)| full == name || snapshot.pod(*pod).name == name)
        .collect();
    let pod = only(subject, &found, || {
        let workloads = workloads(snapshot, name);
        let hint = workloads.first().map(|id| workload_hint(snapshot, *id));
        let hint = unreadable(snapshot, subject).or(hint);
        let names = snapshot.pod_ids().map(|pod| name_of_pod(snapshot, pod));
        unknown(subject, names.collect(), hint)
    });
    pod.map(Match::Pod)
}

fn find_workload(snapshot: &Snapshot, subject: &Subject, name: &str) -> Result<Match, NotFound> {
    let found: Vec<(WorkloadId, String)> = workloads(snapshot, name)
        .into_iter()
        .map(|id| (id, snapshot.workload(id).key.to_string()))
        .collect();
    let workload = only(subject, &found, || {
        let mut pods = snapshot.pod_ids();
        let is_pod = pods.any(|pod| name_of_pod(snapshot, pod) == name);
        let hint = is_pod.then(|| format!("{name} is a pod: `explain pod {name}`"));
        let keys = snapshot.workloads.iter().map(|w| &w.key);
        let names = keys.map(|key| format!("{}/{}", key.namespace, key.name));
        unknown(subject, names.collect(), hint)
    });
    workload.map(Match::Workload)
}

fn name_of_pod(snapshot: &Snapshot, pod: PodId) -> String {
    let facts = snapshot.pod(pod);
    format!("{}/{}", facts.namespace, facts.name)
}

fn workload_hint(snapshot: &Snapshot, id: WorkloadId) -> String {
    let OwnerKey { namespace, kind, name } = &snapshot.workload(id).key;
    format!("{namespace}/{name} is a {kind}: `explain workload {namespace}/{name}`")
}

/// The sentence about a pod or node of this name that could not be read.
fn unreadable(snapshot: &Snapshot, subject: &Subject) -> Option<String> {
    let asked = subject.name();
    let is_it = |one: &&Skipped| {
        one.kind.eq_ignore_ascii_case(subject.kind())
            && (one.name == asked || format!("{}/{}", one.namespace, one.name) == asked)
    };
    snapshot.skipped.iter().find(is_it).map(ToString::to_string)
}

/// The single match.
fn only<T: Copy>(
    subject: &Subject,
    found: &[(T, String)],
    none: impl FnOnce() -> NotFound,
) -> Result<T, NotFound> {
    match found {
        [(one, _)] => Ok(*one),
        [] => Err(none()),
        several => Err(NotFound {
            kind: subject.kind(),
            asked: subject.name().to_owned(),
            several: true,
            near: several.iter().map(|(_, name)| name.clone()).collect(),
            hint: None,
        }),
    }
}

fn workloads(snapshot: &Snapshot, asked: &str) -> Vec<WorkloadId> {
    let parts: Vec<&str> = asked.split('/').collect();
    let means = |key: &OwnerKey| match parts[..] {
        [name] => key.name == name,
        [first, name] => key.name == name && (key.namespace == first || is_kind(&key.kind, first)),
        [namespace, kind, name] => {
            key.namespace == namespace && is_kind(&key.kind, kind) && key.name == name
        }
        _ => false,
    };
    let all = snapshot.workloads.iter().enumerate();
    all.filter(|(_, workload)| means(&workload.key))
        .map(|(position, _)| WorkloadId(position))
        .collect()
}

/// Whether a word names the kind as kubectl accepts it: in any case, in the plural, or by its short
/// name.
fn is_kind(kind: &str, word: &str) -> bool {
    const SHORT: [(&str, &str); 6] = [
        ("deploy", "deployment"),
        ("sts", "statefulset"),
        ("ds", "daemonset"),
        ("rs", "replicaset"),
        ("rc", "replicationcontroller"),
        ("cj", "cronjob"),
    ];
    let (kind, word) = (kind.to_lowercase(), word.to_lowercase());
    let long =
        SHORT.iter().find(|(short, _)| *short == word).map_or(word.as_str(), |(_, long)| *long);
    kind == long || long.strip_suffix('s') == Some(kind.as_str())
}

/// The error with names that begin like the given one, or otherwise differ from it by a few
/// letters.
fn unknown(subject: &Subject, names: BTreeSet<String>, hint: Option<String>) -> NotFound {
    let asked = subject.name();
    let begins = |name: &str| {
        let bare = name.rsplit('/').next().unwrap_or(name);
        name.starts_with(asked) || bare.starts_with(asked)
    };
    let (mut near, others): (Vec<String>, Vec<String>) =
        names.into_iter().partition(|name| begins(name));
    let within = asked.chars().count().div_ceil(4);
    let mut alike: Vec<(usize, String)> = others
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&name, asked), name))
        .filter(|(distance, _)| *distance <= within)
        .collect();
    alike.sort();
    if near.is_empty() {
        near.extend(alike.into_iter().map(|(_, name)| name));
    }
    near.truncate(MOST_NEAR);
    NotFound { kind: subject.kind(), asked: asked.to_owned(), several: false, near, hint }
}
