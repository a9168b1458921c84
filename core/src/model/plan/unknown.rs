//! Objects that may exist and are not known.

use std::fmt;

use crate::model::snapshot::lacking::Lack;
use crate::model::snapshot::objects::ObjectKind;
use crate::values::text::{agree, count};

/// Objects that a replacement depends on and that are not known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnknownObjects {
    /// Their kind.
    pub kind: ObjectKind,
    /// The name of the object, if others of the kind are known.
    pub name: Option<String>,
    /// The reason why none of the kind is known; `None` if others are.
    pub lack: Option<Lack>,
}

/// Objects that are not known, and the number of pods that this concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKind {
    /// The objects.
    pub objects: UnknownObjects,
    /// The pods whose replacements depend on them.
    pub pods: usize,
}

impl UnknownObjects {
    /// Returns the value for all objects of a kind.
    pub const fn all(kind: ObjectKind, lack: Lack) -> Self {
        UnknownObjects { kind, name: None, lack: Some(lack) }
    }

    /// Returns the value for a namespace whose labels are not known.
    pub fn namespace(name: &str, lack: Option<Lack>) -> Self {
        UnknownObjects {
            kind: ObjectKind::Namespace,
            name: lack.is_none().then(|| name.to_owned()),
            lack,
        }
    }

    /// Returns true if the pods that depend on them stay. Otherwise decisions do without the
    /// objects.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a new kind keeps its pods unless it is listed here"
    )]
    pub fn keep_pods(&self) -> bool {
        match self.kind {
            ObjectKind::CsiNode | ObjectKind::Attachment => self.lack != Some(Lack::NotInFile),
            ObjectKind::Service
            | ObjectKind::Budget
            | ObjectKind::ReplicaSet
            | ObjectKind::ReplicationController
            | ObjectKind::StatefulSet => false,
            _ => true,
        }
    }

    /// Returns true if nothing is evicted because of them: pauses are annotations of Namespaces.
    pub fn hide_pauses(&self) -> bool {
        let is_of_cluster = matches!(self.lack, Some(Lack::Forbidden | Lack::NotServed));
        self.kind == ObjectKind::Namespace && is_of_cluster
    }

    /// Returns what follows if none of the kind is known, for any cluster.
    pub fn consequence(&self) -> &'static str {
        match self.kind {
            ObjectKind::Node | ObjectKind::Pod => "nothing can move",
            ObjectKind::Budget => "none is counted",
            ObjectKind::Namespace if self.hide_pauses() => {
                "`evenkeel run` evicts nothing, because a pause would not be seen"
            }
            ObjectKind::Namespace => {
                "pods whose replacements depend on them stay, and pauses are not seen"
            }
            ObjectKind::Class => "pods whose priority depends on them stay",
            ObjectKind::ReplicaSet
            | ObjectKind::ReplicationController
            | ObjectKind::StatefulSet => {
                "their pods may move, and whether the controller still wants them is not checked"
            }
            ObjectKind::Job => "their pods stay",
            ObjectKind::Claim
            | ObjectKind::Volume
            | ObjectKind::StorageClass
            | ObjectKind::CsiNode
            | ObjectKind::Attachment
            | ObjectKind::Service => {
                if self.keep_pods() {
                    "pods whose replacements depend on them stay"
                } else {
                    "the forecast does without them"
                }
            }
        }
    }

    /// Returns true if all that follows is about the pods whose replacements depend on them.
    fn are_counted(&self) -> bool {
        let is_general = matches!(
            self.kind,
            ObjectKind::Node
                | ObjectKind::Pod
                | ObjectKind::Budget
                | ObjectKind::Class
                | ObjectKind::ReplicaSet
                | ObjectKind::ReplicationController
                | ObjectKind::StatefulSet
                | ObjectKind::Job
        );
        !is_general && !self.hide_pauses()
    }

    /// Returns the change that would make them known.
    pub fn remedy(&self) -> String {
        let resource = self.kind.resource();
        match self.lack {
            Some(Lack::Forbidden) => {
                format!("let evenkeel list and watch {resource}, as deploy/base/rbac.yaml does")
            }
            Some(Lack::NotServed) => format!("use an API server that serves {resource}"),
            Some(Lack::NotInFile) | None => {
                format!("record {resource} too (`evenkeel snapshot` does, `plan --help` shows how)")
            }
        }
    }
}

impl fmt::Display for UnknownObjects {
    /// Formats the objects and the reason: `PersistentVolumeClaims, which are unknown: the file has
    /// none`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.name();
        match (&self.name, self.lack) {
            (Some(name), _) => write!(f, "{kind} {name}, which is unknown"),
            (None, Some(lack)) => write!(f, "{}, which are unknown: {lack}", self.kind.plural()),
            (None, None) => write!(f, "{}, which are unknown", self.kind.plural()),
        }
    }
}

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pods, kind) = (count(self.pods, "pod"), self.objects.kind);
        match (self.objects.lack, &self.objects.name) {
            (Some(Lack::NotInFile), _) => write!(f, "the file has no {}", kind.plural())?,
            (Some(Lack::Forbidden), _) => write!(f, "evenkeel may not list {}", kind.plural())?,
            (Some(Lack::NotServed), _) => {
                write!(f, "the API server does not serve {}", kind.plural())?;
            }
            (None, Some(name)) => write!(f, "{} {name} is unknown", kind.name())?,
            (None, None) => write!(f, "{} are unknown", kind.plural())?,
        }
        match (self.pods, self.objects.keep_pods()) {
            _ if !self.objects.are_counted() => write!(f, ": {}", self.objects.consequence()),
            (0, _) => write!(f, ": no pod depends on them now"),
            (n, true) => write!(
                f,
                ": {pods} {} because the replacement depends on them",
                agree(n, "stays", "stay")
            ),
            (_, false) => write!(f, ": the forecast for {pods} does without them"),
        }
    }
}

crate::object!(UnknownKind, |unknown| {
    "kind": unknown.objects.kind.name(),
    "name": unknown.objects.name,
    "why": unknown.objects.lack,
    "pods": unknown.pods,
    "stay": unknown.objects.keep_pods(),
    "message": unknown.to_string(),
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_follows_for_the_pods() {
        let line = |kind, lack| {
            let objects = UnknownObjects::all(kind, lack);
            UnknownKind { objects, pods: 0 }.to_string()
        };
        assert_eq!(
            line(ObjectKind::ReplicaSet, Lack::Forbidden),
            "evenkeel may not list ReplicaSets: their pods may move, and whether the controller \
             still wants them is not checked"
        );
        assert_eq!(
            line(ObjectKind::Job, Lack::Forbidden),
            "evenkeel may not list Jobs: their pods stay"
        );
        assert_eq!(
            line(ObjectKind::Namespace, Lack::NotServed),
            "the API server does not serve Namespaces: `evenkeel run` evicts nothing, because a \
             pause would not be seen"
        );
        assert_eq!(
            line(ObjectKind::CsiNode, Lack::NotServed),
            "the API server does not serve CSINodes: no pod depends on them now"
        );
    }
}
