//! Pauses: annotations by which people stop evictions, in one namespace or in the whole cluster.
//!
//! They are annotations of namespaces, which are watched, so that a pause counts within moments and
//! needs no other right. A pause of the cluster counts on the namespace `kube-system` only, because
//! people who may change that namespace may stop evenkeel anyway.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use super::facts::Skipped;

/// Evictions that a person has stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The evictions that it stops.
    pub scope: PauseScope,
    /// Why; empty if the person has not said it.
    pub reason: String,
    /// Who; `None` if unknown.
    pub by: Option<String>,
    /// When it began; `None` if unknown.
    pub since: Option<Timestamp>,
    /// When it ends.
    pub end: PauseEnd,
}

/// When a pause ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseEnd {
    /// When somebody removes the annotation.
    ByHand,
    /// At this time.
    At(Timestamp),
    /// Never by itself, because this text is no time.
    Unreadable(String),
    /// When the namespace, which cannot be read now, can be read again. It may have a pause.
    WhenReadable,
}

/// The evictions that a pause stops, and the annotation that holds its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseScope {
    /// The evictions of the namespace that has the annotation.
    Namespace,
    /// All evictions of the cluster.
    Cluster,
}

impl PauseScope {
    /// The namespace whose annotation pauses the cluster.
    pub const CLUSTER_NAMESPACE: &str = "kube-system";

    /// The annotation whose value is the reason.
    const fn annotation(self) -> &'static str {
        match self {
            PauseScope::Namespace => "evenkeel.io/pause",
            PauseScope::Cluster => "evenkeel.io/pause-all",
        }
    }

    /// The names of all annotations of a pause: of its reason, the person, its begin and its end.
    pub fn annotations(self) -> [String; 4] {
        ["", "-by", "-since", "-until"].map(|part| format!("{}{part}", self.annotation()))
    }
}

impl Pause {
    /// Returns the pause of a namespace that cannot be read: it may have the annotations of one.
    fn of_unreadable(skipped: &Skipped, scope: PauseScope) -> Self {
        Pause {
            scope,
            reason: one_line(&skipped.to_string()),
            by: None,
            since: None,
            end: PauseEnd::WhenReadable,
        }
    }

    /// Reads the annotations of a namespace; `None` if they pause nothing of this scope.
    pub fn read(annotations: &BTreeMap<String, String>, scope: PauseScope) -> Option<Self> {
        let names = scope.annotations();
        let [reason, by, since, until] = names.map(|name| annotations.get(&name));
        let reason = reason.filter(|reason| *reason != "false")?;
        Some(Pause {
            scope,
            reason: one_line(reason),
            by: by.map(|by| one_line(by)).filter(|by| !by.is_empty()),
            since: since.and_then(|since| since.parse().ok()),
            end: match until {
                None => PauseEnd::ByHand,
                Some(until) => {
                    until.parse().map_or_else(|_| PauseEnd::Unreadable(until.clone()), PauseEnd::At)
                }
            },
        })
    }

    /// Returns the annotations from which [`Pause::read`] reads the pause; `None` for one that is
    /// missing.
    pub fn annotations(&self) -> [(String, Option<String>); 4] {
        let until = match &self.end {
            PauseEnd::ByHand | PauseEnd::WhenReadable => None,
            PauseEnd::At(until) => Some(until.to_string()),
            PauseEnd::Unreadable(text) => Some(text.clone()),
        };
        let [reason, by, since, end] = self.scope.annotations();
        [
            (reason, Some(self.reason.clone())),
            (by, self.by.clone()),
            (since, self.since.map(|since| since.to_string())),
            (end, until),
        ]
    }

    /// Returns the scope and the reason of the pause, as a sentence about a pod.
    pub fn sentence(&self) -> String {
        match self.scope {
            PauseScope::Namespace => format!("its namespace is {self}"),
            PauseScope::Cluster => format!("all evictions are {self}"),
        }
    }

    /// Returns how to end the pause.
    pub const fn remedy(&self) -> &'static str {
        if matches!(self.end, PauseEnd::WhenReadable) {
            return "correct the namespace, which cannot be read";
        }
        match self.scope {
            PauseScope::Namespace => {
                "`evenkeel resume -n NAMESPACE`, or remove the annotation evenkeel.io/pause from the namespace"
            }
            PauseScope::Cluster => {
                "`evenkeel resume`, or remove the annotation evenkeel.io/pause-all from the namespace kube-system"
            }
        }
    }

    /// Returns true until the pause has ended.
    pub fn holds(&self, now: Timestamp) -> bool {
        match self.end {
            PauseEnd::At(until) => now < until,
            PauseEnd::ByHand | PauseEnd::Unreadable(_) | PauseEnd::WhenReadable => true,
        }
    }
}

/// Joins lines, because the text stands in log lines and tables.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The person, the times and the reason, as the end of a sentence.
impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("paused")?;
        if let Some(by) = &self.by {
            write!(f, " by {by}")?;
        }
        if let Some(since) = self.since {
            write!(f, " since {since}")?;
        }
        match &self.end {
            PauseEnd::ByHand => {}
            PauseEnd::At(until) => write!(f, " until {until}")?,
            PauseEnd::Unreadable(text) => write!(f, ", with the end {text:?}, which is no time")?,
            PauseEnd::WhenReadable => f.write_str(" until it can be read again")?,
        }
        if self.reason.is_empty() {
            return Ok(());
        }
        write!(f, ": {}", self.reason)
    }
}

impl Serialize for Pause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// All pauses of a cluster, including those that have ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pauses {
    cluster: Option<Pause>,
    namespaces: BTreeMap<String, Pause>,
}

impl Pauses {
    /// Takes over the annotations of a namespace.
    pub(super) fn set(&mut self, namespace: &str, annotations: &BTreeMap<String, String>) {
        self.remove(namespace);
        if let Some(pause) = Pause::read(annotations, PauseScope::Namespace) {
            self.namespaces.insert(namespace.to_owned(), pause);
        }
        if namespace == PauseScope::CLUSTER_NAMESPACE {
            self.cluster = Pause::read(annotations, PauseScope::Cluster);
        }
    }

    /// Pauses a namespace that cannot be read.
    pub(super) fn set_unreadable(&mut self, skipped: &Skipped) {
        let namespace = skipped.name.as_str();
        let pause = |scope| Pause::of_unreadable(skipped, scope);
        self.namespaces.insert(namespace.to_owned(), pause(PauseScope::Namespace));
        if namespace == PauseScope::CLUSTER_NAMESPACE {
            self.cluster = Some(pause(PauseScope::Cluster));
        }
    }

    /// Forgets a namespace.
    pub(super) fn remove(&mut self, namespace: &str) {
        self.namespaces.remove(namespace);
        if namespace == PauseScope::CLUSTER_NAMESPACE {
            self.cluster = None;
        }
    }

    /// Returns true if the annotations of this namespace hold a pause.
    pub fn come_from(&self, namespace: &str) -> bool {
        let of_cluster = namespace == PauseScope::CLUSTER_NAMESPACE && self.cluster.is_some();
        of_cluster || self.namespaces.contains_key(namespace)
    }

    /// Returns the pause of the cluster, if it holds.
    pub fn of_cluster(&self, now: Timestamp) -> Option<&Pause> {
        self.cluster.as_ref().filter(|pause| pause.holds(now))
    }

    /// Returns the pause of a namespace, if it holds.
    pub fn of(&self, namespace: &str, now: Timestamp) -> Option<&Pause> {
        let pause = self.namespaces.get(namespace);
        pause.filter(|pause| pause.holds(now))
    }

    /// Returns the namespaces whose evictions are paused.
    pub fn namespaces(&self, now: Timestamp) -> impl Iterator<Item = (&str, &Pause)> {
        let pauses = self.namespaces.iter();
        let holding = pauses.filter(move |(_, pause)| pause.holds(now));
        holding.map(|(namespace, pause)| (namespace.as_str(), pause))
    }
}
