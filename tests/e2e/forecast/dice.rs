//! Chances of a random cluster.

pub(super) use crate::dice::Dice;

impl Dice {
    pub fn new(seed: u64) -> Self {
        Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5851_f42d_4c95_7f2d)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True with this probability in percent.
    pub fn percent(&mut self, often: u64) -> bool {
        self.below(100) < often
    }

    /// Random letters as controllers append them to names.
    pub fn letters(&mut self, many: usize) -> String {
        (0..many).map(|_| char::from(self.pick(b"bcdfghjklmnpqrstvwxz2456789"))).collect()
    }
}
