//! A number in two bytes, with three digits.

/// The bits of the mantissa.
const DIGITS: u32 = 10;
const ONE: f64 = (1_u32 << DIGITS) as f64;

/// A number that is zero or at least one, rounded to a thousandth of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::model::usage) struct Compact(u16);

impl Compact {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "both parts are below their bounds"
    )]
    pub(in crate::model::usage) fn new(value: f64) -> Self {
        if value.is_nan() || value < 1.0 {
            return Compact(0);
        }
        // Zero stands for no number, so that exponents begin at one.
        let exponent = value.log2().floor().min(61.0);
        let mantissa = ((value / exponent.exp2() - 1.0) * ONE)
            .round()
            .min(ONE - 1.0);
        Compact(((exponent as u16 + 1) << DIGITS) | mantissa as u16)
    }

    pub(in crate::model::usage) fn get(self) -> f64 {
        let (exponent, mantissa) = (self.0 >> DIGITS, self.0 & ((1 << DIGITS) - 1));
        if exponent == 0 {
            return 0.0;
        }
        (f64::from(exponent) - 1.0).exp2() * (1.0 + f64::from(mantissa) / ONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_kept() {
        for value in [0.0, 1.0, 7.0, 999.0, 1e6, 123_456_789.0, 64e9, 1e17] {
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
