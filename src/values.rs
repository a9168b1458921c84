//! Numbers that mean something: amounts, ratios, and a value for each resource.

use std::fmt;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize, Serializer};
use smallvec::SmallVec;

pub mod quantity;
pub mod selector;
pub mod text;

/// How much of one resource, in its base unit: nanocores of cpu, bytes of memory, a count of anything else.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Amount(u64);

impl Amount {
    /// None of it.
    pub const ZERO: Amount = Amount(0);
    /// One of a countable resource, such as a pod.
    pub const ONE: Amount = Amount(1);
    /// Nanocores in one core.
    pub const NANOS: u64 = 1_000_000_000;

    /// An amount of so many base units.
    pub const fn new(base_units: u64) -> Self {
        Amount(base_units)
    }

    /// So many thousandths of a core.
    pub const fn millicores(milli: u64) -> Self {
        Amount(milli.saturating_mul(1_000_000))
    }

    /// Base units: nanocores, bytes or a count.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The sum; saturates, for no real amount comes near the limit.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Amount(self.0.saturating_add(other.0))
    }

    /// The difference, or zero where `other` is larger.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Amount(self.0.saturating_sub(other.0))
    }

    /// This amount as a share of `whole`; `None` where `whole` is zero, since no share of nothing is known.
    pub fn share_of(self, whole: Self) -> Option<Ratio> {
        if whole.0 == 0 {
            None
        } else {
            Ratio::new(self.as_f64() / whole.as_f64())
        }
    }

    /// For statistics only: exact up to 2^53 base units, which is 9 million cores or 8 PiB.
    #[expect(
        clippy::cast_precision_loss,
        reason = "the doc comment states the bound"
    )]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// The nearest amount to a statistic; negative values and not-a-number become zero.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, as wanted"
    )]
    pub fn from_f64(base_units: f64) -> Self {
        Amount(base_units.round().max(0.0) as u64)
    }

    /// This share of the amount, rounded down.
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

/// A share of allocatable: finite and not negative; above 1 where more is used than there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Ratio(f64);

impl Serialize for Ratio {
    /// To four decimals, a hundredth of a percent: what is beyond is noise of the arithmetic.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64((self.0 * 10_000.0).round() / 10_000.0)
    }
}

impl Ratio {
    /// Nothing used.
    pub const ZERO: Ratio = Ratio(0.0);
    /// A quarter of it used.
    pub const QUARTER: Ratio = Ratio(0.25);
    /// All of it used.
    pub const ONE: Ratio = Ratio(1.0);

    /// `None` where the value is negative, infinite or not a number.
    pub fn new(share: f64) -> Option<Self> {
        (share.is_finite() && share >= 0.0).then_some(Ratio(share))
    }

    /// From a percentage; `None` as for [`Ratio::new`].
    pub fn percent(percent: f64) -> Option<Self> {
        Ratio::new(percent / 100.0)
    }

    /// The share: 0.5 is half.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The sum of two shares.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Ratio(self.0 + other.0)
    }

    /// The difference, or zero where `other` is larger.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Ratio((self.0 - other.0).max(0.0))
    }

    /// No more than `most`.
    #[must_use]
    pub fn at_most(self, most: Self) -> Self {
        Ratio(self.0.min(most.0))
    }

    /// A total order, for sorting: a ratio is never not-a-number.
    pub fn order(self, other: Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl fmt::Display for Ratio {
    /// Whole percents, or a tenth where there is one to show below ten percent.
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

/// Position of a resource in the tables of one snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(pub usize);

impl ResourceId {
    /// `cpu`, in every snapshot.
    pub const CPU: ResourceId = ResourceId(0);
    /// `memory`, in every snapshot.
    pub const MEMORY: ResourceId = ResourceId(1);
    /// `pods`, in every snapshot: each pod uses one.
    pub const PODS: ResourceId = ResourceId(2);
}

/// The resources of one snapshot, by position: cpu, memory and pods, then all others by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources(Vec<String>);

impl Resources {
    /// The three that every cluster has, and those named.
    pub fn with<'a>(others: impl IntoIterator<Item = &'a str>) -> Self {
        let basic = ["cpu", "memory", "pods"];
        let others: std::collections::BTreeSet<&str> =
            others.into_iter().filter(|n| !basic.contains(n)).collect();
        Resources(basic.into_iter().chain(others).map(str::to_owned).collect())
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The position of a name, if the snapshot knows it.
    pub fn find(&self, name: &str) -> Option<ResourceId> {
        self.0.iter().position(|n| n == name).map(ResourceId)
    }

    /// The name at a position.
    pub fn name(&self, id: ResourceId) -> &str {
        &self.0[id.0]
    }

    /// All positions, in order.
    pub fn ids(&self) -> impl Iterator<Item = ResourceId> + use<> {
        (0..self.0.len()).map(ResourceId)
    }
}

/// One value for each resource of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerResource<T>(SmallVec<[T; 4]>);

impl<T: Clone> PerResource<T> {
    /// The same value for each of `count` resources.
    pub fn all(count: usize, value: T) -> Self {
        PerResource(SmallVec::from_elem(value, count))
    }
}

impl<T> PerResource<T> {
    /// A value computed for each of `count` resources.
    pub fn from_fn(count: usize, f: impl FnMut(ResourceId) -> T) -> Self {
        PerResource((0..count).map(ResourceId).map(f).collect())
    }

    /// Positions and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (ResourceId, &T)> {
        self.0.iter().enumerate().map(|(i, v)| (ResourceId(i), v))
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

/// How an amount of a named resource reads to a person: `1.5 cores`, `3.2 GiB`, `4 nvidia.com/gpu`.
pub fn show(resource: &str, amount: Amount) -> String {
    match resource {
        "cpu" => format!(
            "{:.2} cores",
            amount.as_f64() / Amount::millicores(1000).as_f64()
        ),
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
    fn a_share_of_nothing_is_unknown() {
        assert_eq!(Amount::new(5).share_of(Amount::ZERO), None);
        assert_eq!(Amount::new(5).share_of(Amount::new(10)), Ratio::new(0.5));
    }

    #[test]
    fn a_ratio_is_never_negative_nor_infinite_nor_unknown() {
        for bad in [-0.1, f64::NAN, f64::INFINITY] {
            assert_eq!(Ratio::new(bad), None);
        }
    }

    #[test]
    fn ratios_read_as_percentages() {
        let shown: Vec<_> = [0.0, 0.005, 0.04, 0.0955, 0.836, 1.2]
            .map(|r| Ratio(r).to_string())
            .into();
        assert_eq!(shown, ["0%", "0.5%", "4%", "9.6%", "84%", "120%"]);
    }

    #[test]
    fn ratios_are_written_to_four_decimals() {
        let text: Vec<_> = [1.0 / 3.0, 0.1 + 0.2, 1.0]
            .map(|r| serde_json::to_string(&Ratio(r)).unwrap())
            .into();
        assert_eq!(text, ["0.3333", "0.3", "1.0"]);
    }

    #[test]
    fn resources_begin_with_the_three_that_every_cluster_has() {
        let resources = Resources::with(["nvidia.com/gpu", "memory", "ephemeral-storage"]);
        let names: Vec<_> = resources
            .ids()
            .map(|r| resources.name(r).to_owned())
            .collect();
        assert_eq!(
            names,
            [
                "cpu",
                "memory",
                "pods",
                "ephemeral-storage",
                "nvidia.com/gpu"
            ]
        );
    }
}
