//! Nodes that have just become usable. They are worth a cycle at once, because pods can move there.

use std::collections::BTreeSet;

/// The nodes that were usable at the last look: Ready and not cordoned.
#[derive(Debug, Default)]
pub(super) struct UsableNodes(Option<BTreeSet<String>>);

impl UsableNodes {
    /// Returns the nodes that have joined, become Ready or been uncordoned since the last look.
    /// There are none at the first look.
    pub(super) fn arrivals(&mut self, now: BTreeSet<String>) -> Vec<String> {
        let arrived = self.0.as_ref().map(|before| now.difference(before).cloned().collect());
        self.0 = Some(now);
        arrived.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_arrives_when_it_can_take_pods_and_could_not_before() {
        let mut usable = UsableNodes::default();
        let mut arrivals =
            |names: &[&str]| usable.arrivals(names.iter().map(|name| (*name).to_owned()).collect());
        assert!(arrivals(&["n1"]).is_empty());
        assert_eq!(arrivals(&["n1", "n2", "n4"]), ["n2", "n4"]);
        assert_eq!(arrivals(&["n1", "n3"]), ["n3"]);
        assert!(arrivals(&["n1"]).is_empty());
        assert_eq!(arrivals(&["n1", "n2", "n3"]), ["n2", "n3"]);
    }
}
