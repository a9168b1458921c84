//! Linear scales, round ticks and SVG paths.

use std::fmt::Write as _;

use jiff::SignedDuration;

/// Returns the position of a value on a linear scale from the first to the last of these values and
/// positions. A value outside the scale is at its end.
pub fn position(value: f64, values: (f64, f64), positions: (f64, f64)) -> f64 {
    let width = values.1 - values.0;
    let share = if width > 0.0 { ((value - values.0) / width).clamp(0.0, 1.0) } else { 0.0 };
    positions.0 + share * (positions.1 - positions.0)
}

/// Returns round shares from zero to the end of an axis that includes `most`, in at most six steps.
pub fn share_ticks(most: f64) -> Vec<f64> {
    let mut unit = 0.001;
    for _ in 0..8 {
        for step in [1.0, 2.0, 5.0].map(|part| part * unit) {
            // The small difference absorbs rounding errors, which `ceil` would turn into one step
            // too many.
            let steps = (most / step - 1e-9).ceil().max(1.0);
            if steps <= 6.0 {
                return (0..=6_u8)
                    .map(f64::from)
                    .take_while(|i| *i <= steps)
                    .map(|i| i * step)
                    .collect();
            }
        }
        unit *= 10.0;
    }
    vec![0.0, most]
}

/// Returns at most `count` round times from zero to `length`.
#[expect(clippy::maybe_infinite_iter, reason = "the steps grow until one is long enough")]
pub fn time_ticks(length: SignedDuration, count: i64) -> Vec<SignedDuration> {
    const ROUND: [i64; 20] = [
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_200, 1_800, 3_600, 7_200, 10_800, 21_600,
        43_200, 86_400, 172_800,
    ];
    let seconds = length.as_secs().max(0);
    let step = ROUND
        .into_iter()
        .chain((1..).map(|weeks| weeks * 604_800))
        .find(|step| seconds / step < count.max(1))
        .unwrap_or(seconds.max(1));
    (0..=seconds / step).map(|i| SignedDuration::from_secs(i * step)).collect()
}

/// Formats a number with at most one decimal: a tenth of a pixel is exact enough.
pub fn number(value: f64) -> String {
    let tenths = (value * 10.0).round() / 10.0;
    if tenths == 0.0 { "0".to_owned() } else { format!("{tenths}") }
}

/// Converts a count to a number for a scale.
#[expect(clippy::cast_precision_loss, reason = "counts of nodes and samples, far below 2^53")]
pub const fn count(of: usize) -> f64 {
    of as f64
}

/// Returns an SVG path through the points. A missing point interrupts the line; a single point
/// becomes a dot.
pub fn path(points: impl IntoIterator<Item = Option<(f64, f64)>>) -> String {
    let mut out = String::new();
    let mut run = 0;
    for point in points {
        let Some((x, y)) = point else {
            finish(&mut out, run);
            run = 0;
            continue;
        };
        let verb = if run == 0 { 'M' } else { 'L' };
        // Writing to a string cannot fail.
        let _ = write!(out, "{verb}{} {}", number(x), number(y));
        run += 1;
    }
    finish(&mut out, run);
    out
}

/// Draws a line of no length after a single point: with round caps it becomes a dot.
fn finish(out: &mut String, run: usize) {
    if run == 1 {
        out.push_str("h0");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_linear_and_clamps_values_outside() {
        let down = |value| position(value, (0.0, 1.0), (200.0, 0.0));
        assert_eq!(
            [0.0, 0.25, 1.0, 1.5, -1.0].map(|v| number(down(v))),
            ["200", "150", "0", "0", "200"]
        );
        assert_eq!(number(position(3.0, (3.0, 3.0), (5.0, 9.0))), "5");
    }

    #[test]
    fn share_ticks_are_round() {
        let texts = |most: f64| {
            share_ticks(most).iter().map(|t| number(t * 100.0)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(texts(1.0), "0 20 40 60 80 100");
        assert_eq!(texts(0.83), "0 20 40 60 80 100");
        assert_eq!(texts(0.55), "0 10 20 30 40 50 60");
        assert_eq!(texts(0.021), "0 0.5 1 1.5 2 2.5");
        assert_eq!(texts(1.3), "0 50 100 150");
        assert_eq!(texts(0.0), "0 0.1");
    }

    #[test]
    fn time_ticks_are_round() {
        let texts = |seconds: i64| {
            let ticks = time_ticks(SignedDuration::from_secs(seconds), 7);
            ticks.iter().map(|t| crate::values::text::age(*t)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(texts(7_200), "0s 20m 40m 1h 1h20m 1h40m 2h");
        assert_eq!(texts(600), "0s 2m 4m 6m 8m 10m");
        assert_eq!(texts(86_400), "0s 6h 12h 18h 1d");
        assert_eq!(texts(0), "0s");
    }

    #[test]
    fn a_missing_point_interrupts_a_path() {
        let points = [Some((0.0, 1.0)), Some((1.0, 2.04)), None, None, Some((4.0, 0.0)), None];
        assert_eq!(path(points), "M0 1L1 2M4 0h0");
    }
}
