//! The usage of pods and nodes over hours or weeks, as `evenkeel snapshot --history` records it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use jiff::{SignedDuration, Timestamp};

use crate::values::Amount;
use crate::values::text::{count, duration};

use super::Measure;

pub mod object;
pub mod recorder;
mod predecessors;

/// Nanocores per millicore.
const MILLICORE: u64 = 1_000_000;
/// Bytes per mebibyte.
const MEBIBYTE: u64 = 1 << 20;

/// Recorded usage of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageHistory {
    /// The times of the values.
    pub range: HistoryRange,
    /// Usage of each node outside of its pods.
    pub nodes: BTreeMap<String, RecordedUsage>,
    /// Usage of each pod by namespace and name.
    pub pods: BTreeMap<(String, String), PodHistory>,
}

/// The recorded usage of a pod and of the pods that it replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodHistory {
    /// The usage at each step.
    pub usage: RecordedUsage,
    /// The node of the first value, if the source reported one.
    pub node: Option<String>,
}

/// Times with an equal distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryRange {
    /// The time of the first value.
    pub start: Timestamp,
    /// The time from one value to the next.
    pub step: SignedDuration,
    /// The number of values.
    pub steps: usize,
}

/// The usage at each step; `None` where it was not measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedUsage(Vec<Option<PackedMeasure>>);

/// Whole millicores and mebibytes. With an absent one it takes eight bytes, because a week of a
/// large cluster has tens of millions of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PackedMeasure {
    millicores_plus_one: NonZeroU32,
    mebibytes: u32,
}

impl UsageHistory {
    /// Creates a history without values.
    pub const fn new(range: HistoryRange) -> Self {
        UsageHistory { range, nodes: BTreeMap::new(), pods: BTreeMap::new() }
    }

    /// Returns its length and size as text: `usage over 24h of 10 nodes and 80 pods, measured at
    /// 280 of 288 times`.
    pub fn summary(&self) -> String {
        let (measured, steps) = (self.measured_steps(), self.range.steps);
        let gaps = if measured < steps {
            format!(", measured at {measured} of {steps} times")
        } else {
            String::new()
        };
        format!(
            "usage over {} of {} and {}{gaps}",
            duration(self.range.length()),
            count(self.nodes.len(), "node"),
            count(self.pods.len(), "pod")
        )
    }

    /// Returns the number of steps at which at least one node or pod was measured.
    fn measured_steps(&self) -> usize {
        let mut measured = vec![false; self.range.steps];
        let pods = self.pods.values().map(|pod| &pod.usage);
        for row in self.nodes.values().chain(pods) {
            for (known, value) in measured.iter_mut().zip(&row.0) {
                *known |= value.is_some();
            }
        }
        measured.into_iter().filter(|known| *known).count()
    }

    /// Returns the history under other names.
    #[must_use]
    pub fn renamed(
        self,
        mut node: impl FnMut(&str) -> String,
        mut pod: impl FnMut(&(String, String)) -> (String, String),
    ) -> Self {
        let nodes = self.nodes.into_iter();
        let nodes = nodes.map(|(name, usage)| (node(&name), usage)).collect();
        let mut renamed = |(name, mut history): ((String, String), PodHistory)| {
            history.node = history.node.map(|name| node(&name));
            (pod(&name), history)
        };
        let pods = self.pods.into_iter().map(&mut renamed).collect();
        UsageHistory { range: self.range, nodes, pods }
    }
}

impl HistoryRange {
    /// Reads the step of a recorded object.
    pub(in crate::model) fn step(text: &str) -> Result<SignedDuration, String> {
        let step: Option<SignedDuration> = text.parse().ok();
        let step = step.filter(|step| *step >= SignedDuration::from_secs(1));
        step.ok_or_else(|| "step: expected a duration of at least 1s, such as 5m".to_owned())
    }

    /// Returns the time from the first value to the last, at least one step.
    pub fn length(&self) -> SignedDuration {
        let steps = i32::try_from(self.steps).unwrap_or(i32::MAX);
        self.step.saturating_mul(steps.saturating_sub(1).max(1))
    }

    /// Returns the time of a value.
    fn time(&self, position: usize) -> Timestamp {
        let steps = i32::try_from(position).unwrap_or(i32::MAX);
        let passed = self.step.saturating_mul(steps);
        self.start.saturating_add(passed).unwrap_or(self.start)
    }

    /// Returns the position of the value that is nearest to a time. After the last value the first
    /// one follows; `None` without any value.
    pub fn repeated_position(&self, at: Timestamp) -> Option<usize> {
        let step = self.step.as_millis().max(1);
        let passed = at.duration_since(self.start).as_millis() + step / 2;
        let steps = i128::try_from(self.steps).ok().filter(|steps| *steps > 0)?;
        usize::try_from(passed.div_euclid(step).rem_euclid(steps)).ok()
    }

    /// Returns the position of the value that is nearest to a time; `None` outside of the range.
    fn position(&self, at: Timestamp) -> Option<usize> {
        let step = self.step.as_millis().max(1);
        let passed = at.duration_since(self.start).as_millis() + step / 2;
        let position = usize::try_from(passed.div_euclid(step)).ok()?;
        (position < self.steps).then_some(position)
    }
}

impl RecordedUsage {
    /// Creates a row without values.
    fn unknown(steps: usize) -> Self {
        RecordedUsage(vec![None; steps])
    }

    /// Returns the number of steps.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.first().is_none()
    }

    fn count(&self) -> usize {
        self.0.iter().flatten().count()
    }

    /// Returns the usage at a step, if known.
    pub fn get(&self, step: usize) -> Option<Measure> {
        Some(self.0.get(step).copied().flatten()?.measure())
    }

    /// Returns the first step with a value.
    pub fn first(&self) -> Option<usize> {
        self.0.iter().position(Option::is_some)
    }

    fn last(&self) -> Option<usize> {
        self.0.iter().rposition(Option::is_some)
    }

    fn set(&mut self, step: usize, used: Option<Measure>) {
        if let Some(value) = self.0.get_mut(step) {
            *value = used.and_then(PackedMeasure::new);
        }
    }

    /// Takes the values of another row for the steps before this one.
    fn fill_before(&mut self, step: usize, other: &RecordedUsage) {
        for (value, earlier) in self.0.iter_mut().take(step).zip(&other.0) {
            *value = value.or(*earlier);
        }
    }
}

impl PackedMeasure {
    /// Rounds to the nearest value. `None` beyond four million cores or four pebibytes, which no
    /// machine has.
    fn new(used: Measure) -> Option<Self> {
        let rounded = |amount: Amount, unit: u64| (amount.get() + unit / 2) / unit;
        PackedMeasure::from_parts(
            u32::try_from(rounded(used.cpu, MILLICORE)).ok()?,
            u32::try_from(rounded(used.memory, MEBIBYTE)).ok()?,
        )
    }

    fn from_parts(millicores: u32, mebibytes: u32) -> Option<Self> {
        let millicores_plus_one = NonZeroU32::new(millicores.checked_add(1)?)?;
        Some(PackedMeasure { millicores_plus_one, mebibytes })
    }

    const fn millicores(self) -> u32 {
        self.millicores_plus_one.get() - 1
    }

    fn measure(self) -> Measure {
        Measure {
            cpu: Amount::millicores(self.millicores().into()),
            memory: Amount::new(u64::from(self.mebibytes) * MEBIBYTE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(millicores: u64, mebibytes: u64) -> Measure {
        Measure { cpu: Amount::millicores(millicores), memory: Amount::new(mebibytes * MEBIBYTE) }
    }

    #[test]
    fn a_value_takes_eight_bytes_and_zero_is_not_unknown() {
        assert_eq!(size_of::<Option<PackedMeasure>>(), 8);
        let mut row = RecordedUsage::unknown(3);
        row.set(1, Some(Measure::default()));
        row.set(2, Some(measure(250, 64)));
        assert_eq!(
            [0, 1, 2, 3].map(|step| row.get(step)),
            [None, Some(Measure::default()), Some(measure(250, 64)), None]
        );
        assert_eq!((row.first(), row.last()), (Some(1), Some(2)));
    }

    #[test]
    fn amounts_are_rounded_to_the_nearest_millicore_and_mebibyte() {
        let mut row = RecordedUsage::unknown(1);
        let used = Measure { cpu: Amount::new(1_500_000), memory: Amount::new(MEBIBYTE / 2 - 1) };
        row.set(0, Some(used));
        assert_eq!(row.get(0), Some(measure(2, 0)));
    }

    #[test]
    fn the_summary_says_how_many_times_were_measured() {
        let step = SignedDuration::from_mins(1);
        let range = HistoryRange { start: Timestamp::UNIX_EPOCH, step, steps: 3 };
        let mut history = UsageHistory::new(range);
        let mut measured_at = |step: usize| {
            let row = history.nodes.entry("n1".to_owned());
            row.or_insert_with(|| RecordedUsage::unknown(3)).set(step, Some(measure(1, 1)));
            history.summary()
        };
        assert_eq!(measured_at(1), "usage over 2m of 1 node and 0 pods, measured at 1 of 3 times");
        assert_eq!(measured_at(0), "usage over 2m of 1 node and 0 pods, measured at 2 of 3 times");
        assert_eq!(measured_at(2), "usage over 2m of 1 node and 0 pods");
    }

    #[test]
    fn a_time_belongs_to_the_nearest_step_of_the_range() {
        let range = HistoryRange {
            start: Timestamp::from_second(1000).unwrap(),
            step: SignedDuration::from_secs(60),
            steps: 3,
        };
        let position = |second| range.position(Timestamp::from_second(second).unwrap());
        assert_eq!(
            [960, 971, 1000, 1029, 1030, 1149, 1150].map(position),
            [None, Some(0), Some(0), Some(0), Some(1), Some(2), None]
        );
        assert_eq!(range.length(), SignedDuration::from_mins(2));
    }
}
