//! Nodes that have just become usable. They are worth a cycle at once, because pods can move there.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

/// When each node was last usable: Ready and not cordoned.
#[derive(Debug, Default)]
pub(super) struct UsableNodes {
    last: BTreeMap<String, Instant>,
    looked: Option<Instant>,
}

impl UsableNodes {
    /// Returns the nodes that have joined, become Ready or been uncordoned since the last look.
    /// There are none at the first look, and a node that was usable less than an interval ago is
    /// none: one that flaps would make a cycle at every poll, against the limits per cycle.
    pub(super) fn arrivals(
        &mut self,
        usable: BTreeSet<String>,
        at: Instant,
        interval: Duration,
    ) -> Vec<String> {
        let looked = self.looked.replace(at);
        // Looks may be rarer than cycles.
        let counts = |last: Instant| looked == Some(last) || at.duration_since(last) < interval;
        self.last.retain(|_, last| counts(*last));
        let came = |name: String| self.last.insert(name.clone(), at).is_none().then_some(name);
        let arrived: Vec<String> = usable.into_iter().filter_map(came).collect();
        if looked.is_none() { Vec::new() } else { arrived }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_arrives_when_it_can_take_pods_and_could_not_for_an_interval() {
        let (start, mut usable) = (Instant::now(), UsableNodes::default());
        let mut arrivals = |minute: u64, names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            let at = start + Duration::from_secs(60 * minute);
            usable.arrivals(names, at, Duration::from_secs(120))
        };
        assert!(arrivals(0, &["n1"]).is_empty());
        assert_eq!(arrivals(1, &["n1", "n2", "n4"]), ["n2", "n4"]);
        assert_eq!(arrivals(2, &["n1", "n3"]), ["n3"]);
        // n2 was usable two minutes ago, n4 was not seen since, and n3 flaps.
        assert!(arrivals(3, &["n1"]).is_empty());
        assert_eq!(arrivals(4, &["n1", "n2", "n3"]), ["n2", "n3"]);
        assert!(arrivals(5, &["n1", "n3"]).is_empty());
        assert!(arrivals(6, &["n1", "n2", "n3"]).contains(&"n2".to_owned()));
        // A node that stays usable does not arrive, however rarely one looks.
        assert!(arrivals(60, &["n1", "n2", "n3"]).is_empty());
    }
}
