//! A random number generator that gives the same cluster for the same seed.

/// Splitmix64.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5851_f42d_4c95_7f2d)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// True with this probability in percent.
    pub fn percent(&mut self, often: u64) -> bool {
        self.next() % 100 < often
    }

    /// An index into a list of this length.
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.next() % len as u64).unwrap()
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.index(from.len())]
    }

    /// Random letters as controllers append them to names.
    pub fn letters(&mut self, many: usize) -> String {
        (0..many)
            .map(|_| char::from(self.pick(b"bcdfghjklmnpqrstvwxz2456789")))
            .collect()
    }
}
