//! Which pod, node or workload is meant; and what is alike, where there is none.

use std::collections::BTreeSet;
use std::fmt;

use crate::model::snapshot::facts::OwnerKey;
use crate::model::snapshot::{NodeId, PodId, Snapshot, WorkloadId};

/// So many names that are alike are told.
const MOST_NEAR: usize = 4;

/// What is to be explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A pod: `namespace/name`, or its name alone where no other namespace has it.
    Pod(String),
    /// A node, by its name.
    Node(String),
    /// What controls pods at the top: `namespace/name`, `namespace/kind/name`, `kind/name`, or its name alone.
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

/// There is no such thing, or more than one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct NotFound {
    /// `pod`, `node` or `workload`.
    pub kind: &'static str,
    /// As it was asked for.
    pub asked: String,
    /// Whether all of `near` are meant, rather than alike.
    pub several: bool,
    /// Names that are alike, the likeliest first.
    pub near: Vec<String>,
    /// What it may be instead.
    pub hint: Option<String>,
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotFound {
            kind,
            asked,
            several,
            near,
            hint,
        } = self;
        let either = || match near.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => String::new(),
        };
        if *several {
            return write!(
                f,
                "more than one {kind} is called {asked}; say which: {}",
                either()
            );
        }
        write!(f, "no {kind} {asked}")?;
        if let Some(hint) = hint {
            write!(f, "; {hint}")
        } else if near.is_empty() {
            Ok(())
        } else {
            write!(f, "; did you mean {}?", either())
        }
    }
}

/// Where it is in the snapshot.
pub(super) enum Found {
    Pod(PodId),
    Node(NodeId),
    Workload(WorkloadId),
}

pub(super) fn find(snapshot: &Snapshot, subject: &Subject) -> Result<Found, NotFound> {
    let asked = subject.name();
    match subject {
        Subject::Node(_) => {
            let names = || snapshot.nodes.iter().map(|n| n.name.clone()).collect();
            snapshot
                .find_node(asked)
                .map(Found::Node)
                .ok_or_else(|| unknown(subject, names(), None))
        }
        Subject::Pod(_) => {
            let meant = |pod: &PodId| {
                name_of_pod(snapshot, *pod) == asked || snapshot.pod(*pod).name == asked
            };
            let name = |pod: PodId| name_of_pod(snapshot, pod);
            let found: Vec<(PodId, String)> = snapshot
                .pod_ids()
                .filter(meant)
                .map(|pod| (pod, name(pod)))
                .collect();
            only(subject, &found, || {
                let hint = workloads(snapshot, asked)
                    .first()
                    .map(|id| instead(snapshot, *id));
                unknown(subject, snapshot.pod_ids().map(name).collect(), hint)
            })
            .map(Found::Pod)
        }
        Subject::Workload(_) => {
            let name = |id: WorkloadId| snapshot.workload(id).key.to_string();
            let found: Vec<_> = workloads(snapshot, asked)
                .into_iter()
                .map(|id| (id, name(id)))
                .collect();
            only(subject, &found, || {
                let pod = snapshot
                    .pod_ids()
                    .find(|pod| name_of_pod(snapshot, *pod) == asked);
                let hint = pod.map(|_| format!("{asked} is a pod: `explain pod {asked}`"));
                let short = snapshot
                    .workloads
                    .iter()
                    .map(|w| format!("{}/{}", w.key.namespace, w.key.name));
                unknown(subject, short.collect(), hint)
            })
            .map(Found::Workload)
        }
    }
}

fn name_of_pod(snapshot: &Snapshot, pod: PodId) -> String {
    let it = snapshot.pod(pod);
    format!("{}/{}", it.namespace, it.name)
}

fn instead(snapshot: &Snapshot, id: WorkloadId) -> String {
    let OwnerKey {
        namespace,
        kind,
        name,
    } = &snapshot.workload(id).key;
    format!("{namespace}/{name} is a {kind}: `explain workload {namespace}/{name}`")
}

/// The one that is found, where it is one.
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

/// The workloads that a text may mean.
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

/// Whether a word is the kind, as kubectl takes it: in any case, in the plural, or by its short name.
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
    let long = SHORT
        .iter()
        .find(|(short, _)| *short == word)
        .map_or(word.as_str(), |(_, long)| *long);
    kind == long || long.strip_suffix('s') == Some(kind.as_str())
}

/// Names that begin like what was asked for; where there is none, those that are a few letters away.
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
    NotFound {
        kind: subject.kind(),
        asked: asked.to_owned(),
        several: false,
        near,
        hint,
    }
}
