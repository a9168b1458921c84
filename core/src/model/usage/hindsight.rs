//! How right the expectations of usage were, known an hour later.

use crate::values::Ratio;

/// The mean cpu of a pod in an hour that has ended, and what two forecasts said before, in
/// nanocores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EndedHour {
    /// The hour, in hours since 1970.
    pub hour: i64,
    /// The cpu that was used.
    pub used: f64,
    /// The cpu that was usual at this hour of the day.
    pub usual: f64,
    /// The cpu in the last observed hour before it.
    pub unchanged: f64,
}

/// The errors of two forecasts of the last full hour, summed over the pods that have learned it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hindsight {
    hour: i64,
    used: f64,
    error_of_usual: f64,
    error_of_unchanged: f64,
}

impl Hindsight {
    /// Adds the hour of one pod. The first pod with a newer hour begins a new sum.
    pub fn add(&mut self, ended: EndedHour) {
        if ended.hour < self.hour {
            return;
        }
        if ended.hour > self.hour {
            *self = Hindsight { hour: ended.hour, ..Hindsight::default() };
        }
        self.used += ended.used;
        self.error_of_usual += (ended.used - ended.usual).abs();
        self.error_of_unchanged += (ended.used - ended.unchanged).abs();
    }

    /// Returns the error of the usual cpu of the hour, as a share of the cpu that was used. `None`
    /// if no pod used cpu in an hour that it had learned before.
    pub fn usual(&self) -> Option<Ratio> {
        self.share(self.error_of_usual)
    }

    /// Returns the error of a forecast that each pod uses as much cpu as in the hour before, as a
    /// share of the cpu that was used.
    pub fn unchanged(&self) -> Option<Ratio> {
        self.share(self.error_of_unchanged)
    }

    fn share(&self, error: f64) -> Option<Ratio> {
        Ratio::new(error / self.used).filter(|_| self.used > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn hour(hour: i64, used: f64, usual: f64, unchanged: f64) -> EndedHour {
        EndedHour { hour, used, usual, unchanged }
    }

    #[test]
    fn errors_of_pods_do_not_cancel_each_other() {
        let mut hindsight = Hindsight::default();
        assert_eq!([hindsight.usual(), hindsight.unchanged()], [None, None]);
        hindsight.add(hour(7, 100.0, 110.0, 300.0));
        hindsight.add(hour(7, 300.0, 290.0, 100.0));
        assert_eq!(hindsight.usual(), Ratio::new(0.05));
        assert_eq!(hindsight.unchanged(), Ratio::new(1.0));
    }

    #[test]
    fn only_the_newest_hour_counts() {
        let mut hindsight = Hindsight::default();
        hindsight.add(hour(7, 100.0, 200.0, 100.0));
        hindsight.add(hour(8, 100.0, 100.0, 150.0));
        hindsight.add(hour(7, 100.0, 200.0, 100.0));
        assert_eq!(hindsight.usual(), Some(Ratio::ZERO));
        assert_eq!(hindsight.unchanged(), Ratio::new(0.5));
    }
}
