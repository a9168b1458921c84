//! Amounts, ratios and resources: numbers that carry their unit.

use std::fmt;
use std::ops::{Index, IndexMut};

use jiff::SignedDuration;
use serde::{Deserialize, Serialize, Serializer};
use smallvec::SmallVec;

mod codes;
mod node_minutes;
pub mod quantity;
pub mod query_value;
pub mod selector;
pub mod text;

pub use node_minutes::NodeMinutes;

/// A smaller difference of two clocks is harmless: no rest and no age that matters is that short.
pub const HARMLESS_DIFFERENCE: SignedDuration = SignedDuration::from_mins(1);

/// An amount of one resource in its base unit: nanocores of cpu, bytes of memory, a count of any
/// other resource.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Amount(u64);

impl Amount {
    /// Zero.
    pub const ZERO: Amount = Amount(0);
    /// One unit of a countable resource, such as a pod.
    pub const ONE: Amount = Amount(1);
    /// Nanocores per core.
    pub const NANOS: u64 = 1_000_000_000;

    /// Creates an amount from base units.
    pub const fn new(base_units: u64) -> Self {
        Amount(base_units)
    }

    /// Creates an amount of cpu from millicores.
    pub const fn millicores(milli: u64) -> Self {
        Amount(milli.saturating_mul(1_000_000))
    }

    /// Returns the amount in base units: nanocores, bytes or a count.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the sum. It saturates, because no real amount comes near the limit.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Amount(self.0.saturating_add(other.0))
    }

    /// Returns the difference, or zero if `other` is larger.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Amount(self.0.saturating_sub(other.0))
    }

    /// Returns this amount as a share of `whole`; `None` if `whole` is zero, because the share is
    /// undefined.
    pub fn share_of(self, whole: Self) -> Option<Ratio> {
        if whole.0 == 0 { None } else { Ratio::new(self.as_f64() / whole.as_f64()) }
    }

    /// Converts to a float for statistics: exact up to 2^53 base units, which is 9 million cores or
    /// 8 PiB.
    #[expect(clippy::cast_precision_loss, reason = "the doc comment states the bound")]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Returns the amount that is closest to a statistic. Negative values and not-a-number become
    /// zero.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, as wanted"
    )]
    pub fn from_f64(base_units: f64) -> Self {
        Amount(base_units.round().max(0.0) as u64)
    }

    /// Returns this share of the amount, rounded down.
    #[must_use]
    pub fn times(self, ratio: Ratio) -> Self {
        Amount::from_f64((self.as_f64() * ratio.get()).floor())
    }
}

impl std::iter::Sum for Amount {
    fn sum<I: Iterator<Item = Amount>>(iter: I) -> Self {
        iter.fold(Amount::ZERO, Amount::plus)
    }
}

/// A share of allocatable: finite and not negative. Above 1 if usage or requests exceed
/// allocatable.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Ratio(f64);

impl Serialize for Ratio {
    /// Writes four decimals, which is a hundredth of a percent. Further digits are arithmetic
    /// noise.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64((self.0 * 10_000.0).round() / 10_000.0)
    }
}

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let share = f64::deserialize(deserializer)?;
        let expected = "a ratio from 0";
        Ratio::new(share).ok_or_else(|| {
            serde::de::Error::invalid_value(serde::de::Unexpected::Float(share), &expected)
        })
    }
}

impl Ratio {
    /// 0%.
    pub const ZERO: Ratio = Ratio(0.0);
    /// 1%.
    pub const ONE_PERCENT: Ratio = Ratio(0.01);
    /// 5%.
    pub const TWENTIETH: Ratio = Ratio(0.05);
    /// 10%.
    pub const TENTH: Ratio = Ratio(0.1);
    /// 25%.
    pub const QUARTER: Ratio = Ratio(0.25);
    /// 50%.
    pub const HALF: Ratio = Ratio(0.5);
    /// 100%.
    pub const ONE: Ratio = Ratio(1.0);

    /// Creates a ratio; `None` if the value is negative, infinite or not a number.
    pub fn new(share: f64) -> Option<Self> {
        (share.is_finite() && share >= 0.0).then_some(Ratio(share))
    }

    /// Creates a ratio from a percentage; `None` as for [`Ratio::new`].
    pub fn percent(percent: f64) -> Option<Self> {
        Ratio::new(percent / 100.0)
    }

    /// Creates the ratio of a part to a whole; `None` for an empty whole.
    pub fn of_counts(part: usize, whole: usize) -> Option<Self> {
        let count = |number| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
        Ratio::new(count(part) / count(whole))
    }

    /// Returns the share: 0.5 is half.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Returns the sum of two shares.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Ratio(self.0 + other.0)
    }

    /// Returns the difference, or zero if `other` is larger.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Ratio((self.0 - other.0).max(0.0))
    }

    /// Returns the smaller of the two.
    #[must_use]
    pub fn at_most(self, most: Self) -> Self {
        Ratio(self.0.min(most.0))
    }

    /// Returns the larger of the two.
    #[must_use]
    pub fn at_least(self, least: Self) -> Self {
        Ratio(self.0.max(least.0))
    }

    /// Returns how many of so many equal parts of the whole it fills, rounded down, for orders that
    /// ignore smaller differences.
    pub fn parts(self, of: u64) -> u64 {
        Amount(of).times(self).0
    }

    /// Compares two ratios. The order is total, because a ratio is never not-a-number.
    pub fn order(self, other: Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl fmt::Display for Ratio {
    /// Writes whole percents, with one decimal below ten percent if it is not zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.0 * 100.0;
        let text = if percent < 9.95 && (percent - percent.round()).abs() > 0.05 {
            format!("{percent:.1}%")
        } else {
            format!("{percent:.0}%")
        };
        f.pad(&text)
    }
}

/// The position of a resource in the tables of one snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(pub usize);

impl ResourceId {
    /// `cpu`, the same in every snapshot.
    pub const CPU: ResourceId = ResourceId(0);
    /// `memory`, the same in every snapshot.
    pub const MEMORY: ResourceId = ResourceId(1);
    /// `pods`, the same in every snapshot: each pod uses one.
    pub const PODS: ResourceId = ResourceId(2);
}

/// The resources of one snapshot by position: cpu, memory and pods, then all others by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources(Vec<String>);

impl Resources {
    /// The resources that most pods request.
    const USUAL: [&'static str; 3] = ["cpu", "memory", "ephemeral-storage"];

    /// Returns the constant name of a usual resource; `None` for others.
    pub fn usual(name: &str) -> Option<&'static str> {
        Resources::USUAL.into_iter().find(|usual| *usual == name)
    }

    /// Creates the list of cpu, memory, pods and these other resources.
    pub fn with<'a>(others: impl IntoIterator<Item = &'a str>) -> Self {
        let basic = ["cpu", "memory", "pods"];
        let others: std::collections::BTreeSet<&str> =
            others.into_iter().filter(|n| !basic.contains(n)).collect();
        Resources(basic.into_iter().chain(others).map(str::to_owned).collect())
    }

    /// Returns the number of resources.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the values of named resources, without those that the cluster does not have.
    pub fn known<'s, T: Copy>(
        &'s self,
        named: &'s [(String, T)],
    ) -> impl Iterator<Item = (ResourceId, T)> + use<'s, T> {
        let known = |(name, value): &(String, T)| Some((self.find(name)?, *value));
        named.iter().filter_map(known)
    }

    /// Returns the position of a name, if the snapshot knows the resource.
    pub fn find(&self, name: &str) -> Option<ResourceId> {
        self.0.iter().position(|n| n == name).map(ResourceId)
    }

    /// Returns the name at a position.
    pub fn name(&self, id: ResourceId) -> &str {
        &self.0[id.0]
    }

    /// Returns all positions, in order.
    pub fn ids(&self) -> impl Iterator<Item = ResourceId> + use<> {
        (0..self.0.len()).map(ResourceId)
    }
}

/// Returns the value of a name in a list of pairs; `None` if the list does not have the name.
pub fn value_of<T: Copy>(pairs: &[(impl AsRef<str>, T)], name: &str) -> Option<T> {
    let mut pairs = pairs.iter();
    let (_, value) = pairs.find(|(own, _)| own.as_ref() == name)?;
    Some(*value)
}

/// One value for each resource of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerResource<T>(SmallVec<[T; 4]>);

impl<T: Clone> PerResource<T> {
    /// Returns a table with the same value for each of `count` resources.
    pub fn all(count: usize, value: T) -> Self {
        PerResource(SmallVec::from_elem(value, count))
    }
}

impl<T> PerResource<T> {
    /// Returns a table with a computed value for each of `count` resources.
    pub fn from_fn(count: usize, f: impl FnMut(ResourceId) -> T) -> Self {
        PerResource((0..count).map(ResourceId).map(f).collect())
    }

    /// Returns positions and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (ResourceId, &T)> {
        self.0.iter().enumerate().map(|(i, v)| (ResourceId(i), v))
    }
}

impl PerResource<Amount> {
    /// Changes each amount by that of another table.
    pub fn change(&mut self, other: &Self, by: fn(Amount, Amount) -> Amount) {
        for (amount, other) in self.0.iter_mut().zip(&other.0) {
            *amount = by(*amount, *other);
        }
    }
}

impl<T> Index<ResourceId> for PerResource<T> {
    type Output = T;
    fn index(&self, id: ResourceId) -> &T {
        &self.0[id.0]
    }
}

impl<T> IndexMut<ResourceId> for PerResource<T> {
    fn index_mut(&mut self, id: ResourceId) -> &mut T {
        &mut self.0[id.0]
    }
}

/// Formats an amount of a named resource for people: `1.50 cores`, `3.2 GiB`, `4 nvidia.com/gpu`.
pub fn show(resource: &str, amount: Amount) -> String {
    match resource {
        "cpu" => format!("{:.2} cores", amount.as_f64() / Amount::millicores(1000).as_f64()),
        "memory" | "ephemeral-storage" => bytes(amount),
        other => format!("{} {other}", amount.get()),
    }
}

fn bytes(amount: Amount) -> String {
    let mut size = amount.as_f64();
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if size < 1024.0 {
            return format!("{size:.1} {unit}");
        }
        size /= 1024.0;
    }
    format!("{size:.1} TiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_zero_is_undefined() {
        assert_eq!(Amount::new(5).share_of(Amount::ZERO), None);
        assert_eq!(Amount::new(5).share_of(Amount::new(10)), Ratio::new(0.5));
    }

    #[test]
    fn negative_infinite_and_nan_values_are_not_ratios() {
        for bad in [-0.1, f64::NAN, f64::INFINITY] {
            assert_eq!(Ratio::new(bad), None);
        }
    }

    #[test]
    fn ratios_are_shown_as_percentages() {
        let shown: Vec<_> =
            [0.0, 0.005, 0.04, 0.0955, 0.836, 1.2].map(|r| Ratio(r).to_string()).into();
        assert_eq!(shown, ["0%", "0.5%", "4%", "9.6%", "84%", "120%"]);
    }

    #[test]
    fn ratios_serialise_with_four_decimals() {
        let text: Vec<_> =
            [1.0 / 3.0, 0.1 + 0.2, 1.0].map(|r| serde_json::to_string(&Ratio(r)).unwrap()).into();
        assert_eq!(text, ["0.3333", "0.3", "1.0"]);
    }

    #[test]
    fn resources_start_with_cpu_memory_and_pods() {
        let resources = Resources::with(["nvidia.com/gpu", "memory", "ephemeral-storage"]);
        let names: Vec<_> = resources.ids().map(|r| resources.name(r).to_owned()).collect();
        assert_eq!(names, ["cpu", "memory", "pods", "ephemeral-storage", "nvidia.com/gpu"]);
    }
}
