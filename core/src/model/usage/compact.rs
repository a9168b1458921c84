//! A number in two bytes, with three digits.

/// The bits of the mantissa.
const DIGITS: u32 = 10;
const LARGEST_MANTISSA: u64 = (1 << DIGITS) - 1;
/// The bits of a double's mantissa, and of it those that are dropped.
const DOUBLE_DIGITS: u32 = f64::MANTISSA_DIGITS - 1;
const DROPPED: u32 = DOUBLE_DIGITS - DIGITS;
/// The exponent field of the double that is one.
const ONE: u64 = 1023;
/// Larger numbers become this one.
const LARGEST: f64 = 4e18;

/// A number that is zero or at least one, rounded to a thousandth of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::model::usage) struct Compact(u16);

impl Compact {
    pub(in crate::model::usage) const ZERO: Self = Compact(0);

    pub(in crate::model::usage) fn new(value: f64) -> Self {
        if value.is_nan() || value < 1.0 {
            return Compact(0);
        }
        let bits = value.min(LARGEST).to_bits();
        // Zero stands for no number, so that exponents begin at one.
        let exponent = (bits >> DOUBLE_DIGITS) - ONE + 1;
        let rounded = (bits & ((1 << DOUBLE_DIGITS) - 1)) + (1 << (DROPPED - 1));
        let mantissa = (rounded >> DROPPED).min(LARGEST_MANTISSA);
        Compact(u16::try_from((exponent << DIGITS) | mantissa).unwrap_or(u16::MAX))
    }

    #[inline]
    pub(in crate::model::usage) fn get(self) -> f64 {
        if self == Self::ZERO {
            return 0.0;
        }
        f64::from_bits((u64::from(self.0) << DROPPED) + ((ONE - 1) << DOUBLE_DIGITS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_kept() {
        for value in [0.0, 1.0, 1.0009, 1.9999, 7.0, 999.0, 1e6, 123_456_789.0, 64e9, 1e17] {
            let kept = Compact::new(value).get();
            assert!((kept - value).abs() <= value * 0.000_5, "{value} {kept}");
        }
    }

    #[test]
    fn numbers_out_of_range_become_the_nearest_one() {
        assert_eq!(Compact::new(-5.0), Compact::new(0.0));
        assert_eq!(Compact::new(f64::NAN), Compact::new(0.0));
        assert!(Compact::new(f64::INFINITY).get() > 1e18);
    }
}
