//! Deterministic pseudo-random numbers for ties of the scheduler, pod names and noise.

/// SplitMix64 by Steele, Lea and Flood: one addition and one mixing step per number.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub(super) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }

    /// Returns five letters and digits as Kubernetes appends them to names. The alphabet cannot
    /// form words.
    pub(super) fn suffix(&mut self) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut bits = self.next();
        let mut letter = || {
            let at = usize::try_from(bits % 27).unwrap_or_default();
            bits /= 27;
            char::from(LETTERS[at])
        };
        (0..5).map(|_| letter()).collect()
    }
}

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Mixes the bits of a number.
pub(super) const fn mix(of: u64) -> u64 {
    let of = (of ^ (of >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let of = (of ^ (of >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    of ^ (of >> 31)
}

/// Returns a number from 0 to below 1: the upper 53 bits, which a float holds exactly.
#[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
pub(super) const fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        // The first two numbers of the reference implementation for this seed.
        let mut random = Random::new(1_234_567);
        assert_eq!(
            [random.next(), random.next()],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]
        );
        assert_eq!(Random::new(1).suffix(), Random::new(1).suffix());
        assert_ne!(Random::new(1).suffix(), Random::new(2).suffix());
    }

    #[test]
    fn shares_are_below_one() {
        assert!(unit(u64::MAX) < 1.0);
        assert!(unit(0) >= 0.0);
    }
}
