//! The containers that samples cover.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A set of container names in a [`ContainerNames`]. The default is a set that is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContainerSet(u32);

/// The names of containers. The pods of one controller have the same, so each set is kept once.
#[derive(Clone, Debug, Default)]
pub struct ContainerNames {
    sets: Vec<Arc<[String]>>,
    positions: BTreeMap<Arc<[String]>, ContainerSet>,
}

impl ContainerNames {
    /// Adds a set, unless it is known already.
    pub fn add(&mut self, mut names: Vec<String>) -> ContainerSet {
        names.sort_unstable();
        if let Some(set) = self.positions.get(names.as_slice()) {
            return *set;
        }
        let names: Arc<[String]> = names.into();
        self.sets.push(Arc::clone(&names));
        let set = ContainerSet(u32::try_from(self.sets.len()).unwrap_or_default());
        self.positions.insert(names, set);
        set
    }

    /// Returns true if the set lacks a container. A set that is not known lacks none.
    pub fn lacks(&self, ContainerSet(set): ContainerSet, name: &str) -> bool {
        let position = usize::try_from(set).ok().and_then(|set| set.checked_sub(1));
        let names = position.and_then(|position| self.sets.get(position));
        names.is_some_and(|names| names.binary_search_by(|own| own.as_str().cmp(name)).is_err())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_are_kept_once_and_an_unknown_set_lacks_nothing() {
        let mut names = ContainerNames::default();
        let [web, log] = ["web", "log"].map(str::to_owned);
        let both = names.add(vec![web.clone(), log.clone()]);
        assert_eq!(names.add(vec![log, web.clone()]), both);
        let one = names.add(vec![web]);
        assert!(names.lacks(one, "log") && !names.lacks(both, "log"));
        assert!(!names.lacks(ContainerSet::default(), "log"));
    }
}
