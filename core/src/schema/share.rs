//! A number, a share of a total, or the larger of both.

use crate::values::Ratio;

/// A number, or a percentage of a total such as a workload's replicas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// This number.
    Count(u32),
    /// This share, rounded down, but at least one.
    Portion(Ratio),
    /// This number, or this share if that is more.
    Larger(u32, Ratio),
}

impl Share {
    /// The number that this is of a total.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a u32 fits; casts saturate"
    )]
    pub fn of(self, total: u32) -> u32 {
        match self {
            Share::Count(n) => n,
            // The tolerance makes 10 % of 10 exactly 1, which binary floating point would round
            // down to 0.
            Share::Portion(ratio) => {
                ((f64::from(total) * ratio.get() + 1e-9).floor() as u32).max(1)
            }
            Share::Larger(n, ratio) => Share::Portion(ratio).of(total).max(n),
        }
    }
}
