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
    /// Whether these pods stay. Otherwise the forecast does without the objects.
    pub stay: bool,
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

    /// Returns the change that would make them known.
    pub fn remedy(&self) -> String {
        let resource = self.kind.resource();
        match self.lack {
            Some(Lack::Forbidden) => {
                format!("let evenkeel list and watch {resource} (see `evenkeel doctor`)")
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
        match (self.pods, self.stay) {
            _ if kind == ObjectKind::Budget => f.write_str(": none is counted"),
            _ if kind == ObjectKind::Pod => f.write_str(": nothing can move"),
            _ if is_unchecked_owner(kind) => {
                f.write_str(": whether they still want their pods is not checked")
            }
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

/// Whether pods of such a controller may move even if it is unknown.
const fn is_unchecked_owner(kind: ObjectKind) -> bool {
    matches!(
        kind,
        ObjectKind::ReplicaSet | ObjectKind::ReplicationController | ObjectKind::StatefulSet
    )
}

crate::object!(UnknownKind, |unknown| {
    "kind": unknown.objects.kind.name(),
    "name": unknown.objects.name,
    "why": unknown.objects.lack,
    "pods": unknown.pods,
    "stay": unknown.stay,
    "message": unknown.to_string(),
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_follows_for_the_pods() {
        let line = |kind, lack| {
            let objects = UnknownObjects::all(kind, lack);
            let unknown = UnknownKind { objects, pods: 0, stay: true };
            unknown.to_string()
        };
        assert_eq!(
            line(ObjectKind::ReplicaSet, Lack::Forbidden),
            "evenkeel may not list ReplicaSets: whether they still want their pods is not checked"
        );
        assert_eq!(
            line(ObjectKind::CsiNode, Lack::NotServed),
            "the API server does not serve CSINodes: no pod depends on them now"
        );
    }
}
