//! The time of readings whose own clock is not known, as in a file.

use jiff::{SignedDuration, Timestamp};

use super::Readings;

impl Readings {
    /// Returns the time of the newest sample that is not ahead of a clock.
    pub fn newest_node(&self, now: Timestamp, tolerance: SignedDuration) -> Option<Timestamp> {
        let times = self.nodes.values().map(|sample| sample.at);
        times.filter(|at| at.duration_since(now) <= tolerance).max()
    }

    /// Returns the time of the newest sample, as most nodes see it; `None` without samples.
    ///
    /// Each node stamps its samples by its own clock, and one that is wrong must not become the
    /// time of all others. So the period of this length with samples of most nodes counts. Of two
    /// with as many, it is the earlier one that does not end before a time that has passed.
    pub fn present(&self, period: SignedDuration, passed: Timestamp) -> Option<Timestamp> {
        let start = self.fullest_period(period, passed)?;
        let (nodes, pods) = (self.nodes.values(), self.pods.values());
        let times = nodes.chain(pods).map(|sample| sample.at);
        times.filter(|at| *at >= start && at.duration_since(start) <= period).max()
    }

    /// Returns the start of the period with samples of most nodes, or of most pods without nodes.
    fn fullest_period(&self, period: SignedDuration, passed: Timestamp) -> Option<Timestamp> {
        let mut times: Vec<Timestamp> = match self.nodes.len() {
            0 => self.pods.values().map(|sample| sample.at).collect(),
            _ => self.nodes.values().map(|sample| sample.at).collect(),
        };
        times.sort_unstable();
        let mut until = 0;
        let mut best: Option<(usize, Timestamp)> = None;
        for (from, start) in times.iter().enumerate() {
            while times.get(until).is_some_and(|at| at.duration_since(*start) <= period) {
                until += 1;
            }
            let count = until - from;
            let is_better = best.is_none_or(|(most, earlier)| {
                let is_over = passed.duration_since(earlier) > period;
                count > most || (count == most && is_over)
            });
            if is_better {
                best = Some((count, *start));
            }
        }
        best.map(|(_, start)| start)
    }
}

#[cfg(test)]
mod tests {
    use crate::model::usage::{ContainerSet, Measure, Sample};

    use super::*;

    const MINUTE: SignedDuration = SignedDuration::from_mins(1);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// One sample of each node at these seconds.
    fn readings(seconds: &[i64]) -> Readings {
        let sample = |second: &i64| Sample {
            at: at(*second),
            window: SignedDuration::ZERO,
            used: Measure::default(),
            containers: ContainerSet::default(),
        };
        let nodes = seconds.iter().enumerate();
        Readings {
            nodes: nodes.map(|(i, s)| (format!("n{i}"), sample(s))).collect(),
            ..Readings::default()
        }
    }

    fn present(seconds: &[i64], passed: i64) -> Option<i64> {
        let present = readings(seconds).present(MINUTE, at(passed));
        present.map(Timestamp::as_second)
    }

    #[test]
    fn one_clock_that_is_ahead_is_not_the_time_of_the_others() {
        assert_eq!(present(&[], 0), None);
        assert_eq!(present(&[100, 110, 120], 0), Some(120));
        assert_eq!(present(&[100, 110, 31_536_000], 0), Some(110));
        assert_eq!(present(&[100, 110, 115, 9_000, 9_001], 0), Some(115));
    }

    #[test]
    fn of_two_nodes_the_one_nearer_to_the_objects_is_right() {
        assert_eq!(present(&[1_000, 31_536_000], 900), Some(1_000));
        assert_eq!(present(&[1_000, 9_000], 8_990), Some(9_000));
    }

    #[test]
    fn a_sample_that_is_ahead_does_not_make_a_source_fresh() {
        let readings = readings(&[100, 110, 31_536_000]);
        assert_eq!(readings.newest_node(at(500), MINUTE), Some(at(110)));
    }
}
