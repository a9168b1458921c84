//! Objects that a file gives more than once.

use std::sync::Arc;

use crate::model::snapshot::facts::{NamespaceFacts, Skipped};

use super::owners::owner_key;
use super::{Name, Object, ObjectKind, Objects};

impl Objects {
    /// Stores an object of a file. One that the file gives twice, with different facts, counts as
    /// unreadable: nothing tells which of them hold.
    pub fn add(&mut self, object: Object) {
        let (kind, name) = object.key();
        let key = (kind, name);
        if let Some(skipped) = self.skipped.get_mut(&key) {
            note_node(skipped, object.node());
        } else if self.differs(&object) {
            let (namespace, name) = key.1;
            let skipped = Skipped {
                kind: kind.name().to_owned(),
                namespace,
                name,
                node: object.node().map(str::to_owned),
                why: "it is given twice, with differences".to_owned(),
            };
            self.add_skipped(kind, skipped);
        } else {
            self.apply(object);
        }
    }

    /// Stores the reason why an object of a file cannot be read. An earlier object of this name
    /// counts as unreadable, too.
    pub fn add_skipped(&mut self, kind: ObjectKind, skipped: Skipped) {
        let key = (kind, (skipped.namespace.clone(), skipped.name.clone()));
        let earlier = self.node_of(kind, &key.1);
        let mut all = self.skipped.remove(&key).unwrap_or_default();
        if all.is_empty() {
            all.push(skipped.clone());
        }
        note_node(&mut all, skipped.node.as_deref());
        note_node(&mut all, earlier.as_deref());
        self.skip(kind, skipped);
        self.skipped.insert(key, all);
    }

    /// Whether an object of this kind and name has other facts.
    fn differs(&self, object: &Object) -> bool {
        let (kind, name) = object.key();
        match object {
            Object::Node(node) => other(self.nodes.get(&name.1).map(Arc::as_ref), node),
            Object::Pod(pod) => other(self.pods.get(&name).map(Arc::as_ref), &**pod),
            Object::Budget(budget) => other(self.budgets.get(&name).map(Arc::as_ref), budget),
            Object::Namespace(name, facts) => self.has_other_namespace(name, facts),
            Object::Class(_, value) => other(self.classes.get(&name.1), value),
            Object::Claim(_, claim) => other(self.claims.get(&name), claim),
            Object::Volume(_, volume) => other(self.volumes.get(&name.1), volume),
            Object::StorageClass(_, class) => other(self.storage_classes.get(&name.1), class),
            Object::CsiNode(_, drivers) => other(self.csi_drivers.get(&name.1), drivers),
            Object::Attachment(_, facts) => other(self.attachments.get(&name.1), facts),
            Object::Service(_, selector) => other(self.services.get(&name), selector),
            Object::Owner(_, _, owner) => other(self.owners.get(&owner_key(kind, name)), owner),
        }
    }

    fn has_other_namespace(&self, name: &str, facts: &NamespaceFacts) -> bool {
        let mut pauses = self.pauses.clone();
        pauses.set(name, &facts.annotations);
        let known = self.namespaces.get(name);
        known.is_some_and(|labels| {
            *labels != facts.labels
                || self.deleted_namespaces.contains(name) != facts.deleting
                || self.pauses != pauses
        })
    }

    /// Returns the node of the earlier object of this kind and name.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other kinds belong to no node")]
    fn node_of(&self, kind: ObjectKind, name: &Name) -> Option<String> {
        match kind {
            ObjectKind::Pod => self.pods.get(name)?.node.clone(),
            ObjectKind::Attachment => Some(self.attachments.get(&name.1)?.node.clone()),
            ObjectKind::Node | ObjectKind::CsiNode => Some(name.1.clone()),
            _ => None,
        }
    }
}

impl Object {
    /// Returns the node that the object tells something about.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other kinds belong to no node")]
    fn node(&self) -> Option<&str> {
        match self {
            Object::Pod(pod) => pod.node.as_deref(),
            Object::Attachment(_, attachment) => Some(&attachment.node),
            Object::Node(node) => Some(&node.name),
            Object::CsiNode(node, _) => Some(node),
            _ => None,
        }
    }
}

fn other<T: PartialEq>(known: Option<&T>, given: &T) -> bool {
    known.is_some_and(|known| known != given)
}

/// Adds a node that is doubtful as well.
fn note_node(all: &mut Vec<Skipped>, node: Option<&str>) {
    let Some((first, node)) = all.first().zip(node) else {
        return;
    };
    if all.iter().all(|skipped| skipped.node.as_deref() != Some(node)) {
        let node = Some(node.to_owned());
        let more = Skipped { node, ..first.clone() };
        all.push(more);
    }
}
