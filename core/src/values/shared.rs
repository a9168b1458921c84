//! Values that are shared until one of them changes.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A value that equal owners share. A change through one owner copies it first.
///
/// For values that are `Eq`, `Arc` compares the places in memory before the contents.
#[derive(Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SharedValue<T>(Arc<T>);

impl<T> SharedValue<T> {
    /// Returns true if both are the same value in memory.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the place in memory. While the value is borrowed, no other value has it.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// Returns true if nothing else shares the value.
    pub fn is_alone(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

impl<T: PartialEq> SharedValue<T> {
    /// Shares the other value if both are equal. Returns true if they are.
    pub fn unify(&mut self, other: &Self) -> bool {
        let equal = self == other;
        if equal {
            self.0 = Arc::clone(&other.0);
        }
        equal
    }
}

impl<T> Clone for SharedValue<T> {
    fn clone(&self) -> Self {
        SharedValue(Arc::clone(&self.0))
    }
}

impl<T> From<T> for SharedValue<T> {
    fn from(value: T) -> Self {
        SharedValue(Arc::new(value))
    }
}

impl<T> Deref for SharedValue<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for SharedValue<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<'a, T> IntoIterator for &'a SharedValue<Vec<T>> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T: fmt::Debug> fmt::Debug for SharedValue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_through_one_owner_leaves_the_other() {
        let first = SharedValue::from(vec![1]);
        let mut second = first.clone();
        assert!(second.is_same(&first) && !first.is_alone());
        second.push(2);
        assert_eq!((&*first, &*second), (&vec![1], &vec![1, 2]));
    }

    #[test]
    fn only_equal_values_are_unified() {
        let first = SharedValue::from(1);
        let (mut equal, mut other) = (SharedValue::from(1), SharedValue::from(2));
        assert!(equal.unify(&first) && equal.is_same(&first));
        assert!(!other.unify(&first) && *other == 2);
    }
}
