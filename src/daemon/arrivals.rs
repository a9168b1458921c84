//! Nodes that have just become usable. They are worth a cycle at once, because pods can move there.

use std::collections::BTreeSet;

use crate::model::snapshot::Snapshot;

/// The nodes that were usable at the last look: Ready and not cordoned.
#[derive(Debug, Default)]
pub(super) struct UsableNodes(Option<BTreeSet<String>>);

impl UsableNodes {
    /// Returns the nodes that have joined, become Ready or been uncordoned since the last look.
    /// There are none at the first look.
    pub(super) fn arrivals(&mut self, snapshot: &Snapshot) -> Vec<String> {
        let usable = snapshot.nodes.iter();
        let usable = usable.filter(|node| node.ready && !node.cordoned);
        let now: BTreeSet<String> = usable.map(|node| node.name.clone()).collect();
        let before = self.0.replace(now.clone());
        before.map_or_else(Vec::new, |before| {
            now.difference(&before).cloned().collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::snapshot::import;
    use crate::model::snapshot::objects::Objects;

    /// Nodes as `name`, `name!` if not Ready, and `name-` if cordoned.
    fn snapshot(nodes: &[&str]) -> Snapshot {
        let mut objects = Objects::default();
        for node in nodes {
            let name = node.trim_end_matches(['!', '-']);
            let (ready, cordoned) = (!node.ends_with('!'), node.ends_with('-'));
            let status = if ready { "True" } else { "False" };
            let object = serde_json::json!({
                "kind": "Node", "apiVersion": "v1", "metadata": {"name": name},
                "spec": {"unschedulable": cordoned},
                "status": {"conditions": [{"type": "Ready", "status": status}]},
            });
            objects.apply(import::object(&object).unwrap().unwrap());
        }
        Snapshot::join(&objects, [])
    }

    #[test]
    fn a_node_arrives_when_it_joins_becomes_ready_or_is_uncordoned() {
        let mut usable = UsableNodes::default();
        assert!(usable.arrivals(&snapshot(&["n1", "n2!", "n3-"])).is_empty());
        assert_eq!(
            usable.arrivals(&snapshot(&["n1", "n2", "n3-", "n4"])),
            ["n2", "n4"]
        );
        assert_eq!(usable.arrivals(&snapshot(&["n1", "n3"])), ["n3"]);
        assert!(usable.arrivals(&snapshot(&["n1", "n3-"])).is_empty());
        assert_eq!(
            usable.arrivals(&snapshot(&["n1", "n2", "n3"])),
            ["n2", "n3"]
        );
    }
}
