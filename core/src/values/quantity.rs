//! Kubernetes quantities, without rounding errors: `100m`, `1.5Gi`, `2e3`.
//!
//! The grammar is that of
//! <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/>. Parsing uses
//! no floats, because a request that is off by one byte no longer equals the one in the cluster.

use super::Amount;

/// One whole unit in nano units.
const WHOLE: i128 = Amount::NANOS as i128;
/// The largest quantity in nano units: 2^63-1 whole units.
const MOST: i128 = i64::MAX as i128 * WHOLE;

/// A Kubernetes quantity in nano units (1e-9): `1` is 1,000,000,000.
///
/// The magnitude is at most 2^63-1 whole units. The value is negative if the text is.
///
/// # Examples
///
/// ```
/// use evenkeel_core::values::Amount;
/// use evenkeel_core::values::quantity::Quantity;
///
/// let request = Quantity::parse("1.5Gi")?;
/// assert_eq!(request.to_amount("memory"), Some(Amount::new(1_610_612_736)));
/// assert_eq!(Quantity::parse("250m")?.to_amount("cpu"), Some(Amount::millicores(250)));
/// # Ok::<(), evenkeel_core::values::quantity::QuantityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity(i128);

/// A text that is not a quantity, or not an amount of a resource.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum QuantityError {
    #[error(
        "{0:?} does not start with a number; expected digits with at most one point, optionally after + or -"
    )]
    Number(String),
    /// The suffix after the number is unknown; holds the suffix and the whole text.
    #[error(
        "unknown suffix {0:?} in {1:?}; expected none, n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent such as e3 or E-3"
    )]
    Suffix(String, String),
    #[error("{0:?} is negative; expected zero or more")]
    Negative(String),
}

impl Quantity {
    /// Parses a quantity as Kubernetes does. Digits finer than nano round away from zero, so a
    /// small amount never becomes zero. Magnitudes above 2^63-1 are capped.
    ///
    /// Returns an error if the text is not in the grammar, which allows no surrounding space.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end =
            unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = [whole, fraction].concat();
        if digits.is_empty() || fraction.contains('.') {
            return Err(QuantityError::Number(text.to_owned()));
        }
        let Some((power, unit)) = meaning(suffix) else {
            return Err(QuantityError::Suffix(suffix.to_owned(), text.to_owned()));
        };
        let nanos =
            nanos(digits.as_bytes(), power.saturating_add_unsigned(whole.len() as u64), unit);
        Ok(Quantity(if negative { -nanos } else { nanos }))
    }

    /// Converts to the base unit of this resource: nanocores of `cpu`, whole units of any other
    /// resource, rounded up.
    ///
    /// Returns `None` for a negative quantity. Saturates at the largest amount, which only cpu can
    /// reach, at 18 billion cores.
    pub fn to_amount(self, resource: &str) -> Option<Amount> {
        let nanos = u128::try_from(self.0).ok()?;
        let base_units =
            if resource == "cpu" { nanos } else { nanos.div_ceil(WHOLE.unsigned_abs()) };
        Some(Amount::new(u64::try_from(base_units).unwrap_or(u64::MAX)))
    }
}

/// Parses the amount of a resource: [`Quantity::parse`], then [`Quantity::to_amount`].
///
/// Returns an error if the text is not a quantity or is negative.
pub fn amount(resource: &str, text: &str) -> Result<Amount, QuantityError> {
    Quantity::parse(text)?
        .to_amount(resource)
        .ok_or_else(|| QuantityError::Negative(text.to_owned()))
}

/// Formats an amount of this resource as an exact Kubernetes quantity: `250m`, `1536Mi`. [`amount`]
/// parses the result.
pub fn text(resource: &str, amount: Amount) -> String {
    const OF_CPU: [(u64, &str); 4] =
        [(Amount::NANOS, ""), (1_000_000, "m"), (1_000, "u"), (1, "n")];
    const OF_OTHERS: [(u64, &str); 5] =
        [(1 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki"), (1, "")];
    let units: &[(u64, &str)] = if resource == "cpu" { &OF_CPU } else { &OF_OTHERS };
    let fits =
        units.iter().find(|(unit, _)| amount.get() > 0 && amount.get().is_multiple_of(*unit));
    fits.map_or("0".to_owned(), |(unit, suffix)| format!("{}{suffix}", amount.get() / unit))
}

/// Returns a suffix as a power of ten and the remaining unit in nano units. `None` for an unknown
/// suffix, and for an exponent beyond 64 bits, which Kubernetes rejects too.
fn meaning(suffix: &str) -> Option<(i64, i128)> {
    let (power, doublings) = match suffix {
        "n" => (-9, 0),
        "u" => (-6, 0),
        "m" => (-3, 0),
        "" => (0, 0),
        "k" => (3, 0),
        "M" => (6, 0),
        "G" => (9, 0),
        "T" => (12, 0),
        "P" => (15, 0),
        "E" => (18, 0),
        "Ki" => (0, 10),
        "Mi" => (0, 20),
        "Gi" => (0, 30),
        "Ti" => (0, 40),
        "Pi" => (0, 50),
        "Ei" => (0, 60),
        exponent => (exponent.strip_prefix(['e', 'E'])?.parse().ok()?, 0),
    };
    Some((power, WHOLE << doublings))
}

/// Returns the nanos of a number of units, rounded up and capped. The decimal point is before the
/// digit at `point`, which may be outside the digits.
fn nanos(digits: &[u8], point: i64, unit: i128) -> i128 {
    let Some(zeros) = digits.iter().position(|digit| *digit != b'0') else {
        return 0;
    };
    let digits = &digits[zeros..];
    // Clamping changes no result: from 1e19 units on everything is capped, and below 1e-30 units of
    // 1 Ei everything rounds up to one nano.
    let point = point.saturating_sub_unsigned(zeros as u64).clamp(-30, 20);
    let digit = |at| {
        usize::try_from(at).ok().and_then(|at| digits.get(at)).map_or(0, |d| i128::from(*d - b'0'))
    };
    let whole = (0..point).fold(0, |units, at| units * 10 + digit(at));
    // Go from the last digit to the first: dividing by ten at each digit then loses only whether
    // the result is exact.
    let end = i64::try_from(digits.len()).unwrap_or(i64::MAX);
    let (part, exact) = (point..end).rev().fold((0, true), |(part, exact), at| {
        let tenths = digit(at) * unit + part;
        (tenths / 10, exact && tenths % 10 == 0)
    });
    whole.saturating_mul(unit).saturating_add(part + i128::from(!exact)).min(MOST)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};
    use proptest::sample::select;

    use super::*;

    /// Kubernetes's own result for each text.
    const RECORDED: &str = include_str!("../../../tests/data/quantities.txt");

    /// Kubernetes reads these texts as zero, but only on its parser's fast path: it rejects them
    /// with `e-10`. The grammar requires a digit, and a user who writes `Ki` has forgotten one.
    const NO_DIGIT: [&str; 19] = [
        "-", "+", ".", "-.", "+.", "m", "k", "Ki", "-m", "+Ki", ".m", ".Ki", "E", "e3", "-e3",
        ".e3", "e-3", "+e3", "n",
    ];

    /// Kubernetes lets these exponents wrap at 32 bits, so `1e4294967296` is 1. Other exponents of
    /// this kind are not recorded, because the Kubernetes parser does not terminate with them.
    const WRAPPED: [(&str, i128); 9] = [
        ("1e4294967295", MOST),
        ("1e4294967296", MOST),
        ("1e4294967299", MOST),
        ("-1e4294967299", -MOST),
        ("1e9223372036854775807", MOST),
        ("1e-4294967296", 1),
        ("1e-4294967293", 1),
        ("1e-2147483649", 1),
        ("1.5e-2147483648", 1),
    ];

    fn recorded() -> impl Iterator<Item = (&'static str, &'static str)> {
        RECORDED
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split_once('\t').unwrap())
    }

    /// Returns the recorded nanos. Kubernetes documents the cap for all quantities, but its parser
    /// does not apply it to decimal suffixes. Here every quantity is capped, because Kubernetes's
    /// own `Value` of larger ones is zero or wraps.
    fn capped(nanos: &str) -> Option<i128> {
        let (sign, magnitude) =
            nanos.strip_prefix('-').map_or((1, nanos), |magnitude| (-1, magnitude));
        match magnitude {
            "error" => None,
            long if long == "huge" || long.len() > MOST.to_string().len() => Some(sign * MOST),
            exact => Some(sign * exact.parse::<i128>().unwrap().min(MOST)),
        }
    }

    #[test]
    fn every_recorded_text_parses_as_in_kubernetes() {
        let mut exceptions = 0;
        for (text, nanos) in recorded() {
            let read = Quantity::parse(text).ok().map(|quantity| quantity.0);
            if NO_DIGIT.contains(&text) {
                assert_eq!((nanos, read), ("0", None), "{text:?}");
                exceptions += 1;
            } else if let Some((_, unwrapped)) =
                WRAPPED.iter().find(|(wrapped, _)| *wrapped == text)
            {
                assert_eq!(read, Some(*unwrapped), "{text:?}");
                assert_ne!(read, capped(nanos), "{text:?} no longer wraps");
                exceptions += 1;
            } else {
                assert_eq!(read, capped(nanos), "{text:?}");
            }
        }
        assert_eq!(exceptions, NO_DIGIT.len() + WRAPPED.len());
        assert!(recorded().count() > 700);
    }

    #[test]
    fn the_cap_holds_for_every_suffix() {
        for text in
            ["9223372036854775807", "9223372036854775808", "9.3E", "8Ei", "1e19", "1e4294967296"]
        {
            assert_eq!(Quantity::parse(text), Ok(Quantity(MOST)), "{text:?}");
            assert_eq!(Quantity::parse(&format!("-{text}")), Ok(Quantity(-MOST)), "{text:?}");
        }
    }

    #[test]
    fn cpu_is_counted_in_nanocores_and_other_resources_in_whole_units_rounded_up() {
        let read = |resource, text| amount(resource, text).map(Amount::get);
        assert_eq!(read("cpu", "250m"), Ok(250_000_000));
        assert_eq!(read("cpu", "1n"), Ok(1));
        assert_eq!(read("memory", "1.5Gi"), Ok(1_610_612_736));
        assert_eq!(read("memory", "128974848000m"), Ok(128_974_848));
        assert_eq!(read("memory", "1m"), Ok(1));
        assert_eq!(read("memory", "1000.000000001"), Ok(1001));
        assert_eq!(read("nvidia.com/gpu", "-0"), Ok(0));
    }

    #[test]
    fn amounts_saturate() {
        assert_eq!(amount("cpu", "20G"), Ok(Amount::new(u64::MAX)));
        assert_eq!(amount("memory", "1e99"), Ok(Amount::new(i64::MAX.unsigned_abs())));
    }

    #[test]
    fn errors_name_the_text_and_the_expected_form() {
        let wording: Vec<_> = ["", "1.2.3", "512MB", "1 Gi", "1e99999999999999999999", "-1n"]
            .map(|text| amount("memory", text).unwrap_err().to_string())
            .into();
        let numbers = "expected digits with at most one point, optionally after + or -";
        let suffixes = "expected none, n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent such as e3 or E-3";
        let expected = [
            format!(r#""" does not start with a number; {numbers}"#),
            format!(r#""1.2.3" does not start with a number; {numbers}"#),
            format!(r#"unknown suffix "MB" in "512MB"; {suffixes}"#),
            format!(r#"unknown suffix " Gi" in "1 Gi"; {suffixes}"#),
            format!(
                r#"unknown suffix "e99999999999999999999" in "1e99999999999999999999"; {suffixes}"#
            ),
            r#""-1n" is negative; expected zero or more"#.to_owned(),
        ];
        assert_eq!(wording, expected);
    }

    /// Multiplies digits by a factor and adds a carry, as in written multiplication.
    fn multiply(digits: &mut Vec<u8>, factor: u8, mut carry: u8) {
        for digit in digits.iter_mut().rev() {
            let product = *digit * factor + carry;
            (*digit, carry) = (product % 10, product / 10);
        }
        digits.insert(0, carry);
    }

    /// Computes the nanos slowly: doubles and shifts the digits, and rounds those below nano up.
    fn slowly(whole: &str, fraction: &str, power: i32, doublings: u32) -> i128 {
        let mut digits: Vec<u8> =
            whole.bytes().chain(fraction.bytes()).map(|digit| digit - b'0').collect();
        for _ in 0..doublings {
            multiply(&mut digits, 2, 0);
        }
        let shift = power + 9 - i32::try_from(fraction.len()).unwrap();
        let below = usize::try_from(-shift).unwrap_or(0);
        digits.extend(std::iter::repeat_n(0, usize::try_from(shift).unwrap_or(0)));
        digits.splice(0..0, std::iter::repeat_n(0, below));
        let below = digits.split_off(digits.len() - below);
        multiply(&mut digits, 1, u8::from(below.iter().any(|digit| *digit > 0)));
        let text: String =
            digits.iter().skip_while(|digit| **digit == 0).map(u8::to_string).collect();
        let most = MOST.to_string();
        if (text.len(), text.as_str()) > (most.len(), most.as_str()) {
            MOST
        } else {
            text.parse().unwrap_or(0)
        }
    }

    /// Generates a suffix with its power of ten and its power of two.
    fn suffixes() -> impl Strategy<Value = (String, i32, u32)> {
        let decimal = vec![
            ("n", -9),
            ("u", -6),
            ("m", -3),
            ("", 0),
            ("k", 3),
            ("M", 6),
            ("G", 9),
            ("T", 12),
            ("P", 15),
            ("E", 18),
        ];
        let decimal = select(decimal).prop_map(|(name, power)| (name.to_owned(), power, 0));
        let binary =
            select(vec![("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)]);
        let binary = binary.prop_map(|(name, doublings)| (name.to_owned(), 0, doublings));
        let exponent = (select(vec!['e', 'E']), any::<bool>(), -99..99);
        let exponent = exponent.prop_map(|(letter, plus, power)| {
            let sign = if plus && power >= 0 { "+" } else { "" };
            (format!("{letter}{sign}{power}"), power, 0)
        });
        proptest::prop_oneof![decimal, binary, exponent]
    }

    #[test]
    fn amounts_are_written_as_kubernetes_does() {
        let cpu = [0, 1, 1_500, 10_000_000, 1_200_000_000, 2_000_000_000]
            .map(|n| text("cpu", Amount::new(n)));
        assert_eq!(cpu, ["0", "1n", "1500n", "10m", "1200m", "2"]);
        let memory =
            [0, 1, 1536, 16 << 20, 3 << 29, 2 << 30].map(|n| text("memory", Amount::new(n)));
        assert_eq!(memory, ["0", "1", "1536", "16Mi", "1536Mi", "2Gi"]);
    }

    proptest! {
        #[test]
        fn parsing_agrees_with_written_arithmetic(
            sign in "[-+]?", whole in "0{0,3}[0-9]{0,22}", fraction in "0{0,20}[0-9]{0,30}",
            point in any::<bool>(), (suffix, power, doublings) in suffixes(),
        ) {
            let is_empty = whole.is_empty() && fraction.is_empty();
            let whole = if is_empty { "0".to_owned() } else { whole };
            let dot = if point || !fraction.is_empty() { "." } else { "" };
            let nanos = slowly(&whole, &fraction, power, doublings);
            let expected = if sign == "-" { -nanos } else { nanos };
            prop_assert_eq!(Quantity::parse(&format!("{sign}{whole}{dot}{fraction}{suffix}")),
                Ok(Quantity(expected)));
        }

        #[test]
        fn a_formatted_amount_parses_to_itself(
            units in any::<u64>(), zeros in 0_u32..16,
            resource in select(vec!["cpu", "memory"]),
        ) {
            let thousands = 1_000_u64.pow(zeros % 4);
            for units in [units, units / thousands * thousands, units >> zeros << zeros] {
                let of = Amount::new(units);
                // Parsing caps amounts above the largest quantity.
                let most = if resource == "cpu" { u64::MAX } else { u64::MAX / 2 };
                prop_assert_eq!(amount(resource, &text(resource, of)),
                    Ok(of.min(Amount::new(most))));
            }
        }

        #[test]
        fn no_text_makes_parsing_panic(text in ".*", resource in select(vec!["cpu", "memory"])) {
            let _ = amount(resource, &text);
        }

        #[test]
        fn similar_texts_are_within_the_cap_or_rejected(
            text in "[-+]?[0-9.]{0,30}[eEinumkKMGTP]{0,2}[-+]?[0-9]{0,22}",
        ) {
            if let Ok(Quantity(nanos)) = Quantity::parse(&text) {
                prop_assert!((-MOST..=MOST).contains(&nanos));
                prop_assert_eq!(amount("memory", &text).is_ok(), nanos >= 0);
            }
        }
    }
}
