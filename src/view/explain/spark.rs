//! Sparklines, and amounts in short form.

use crate::values::Amount;
use crate::view::scale::count;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The width of a line in characters.
const WIDEST: usize = 40;

/// A sparkline from zero to the largest sample. With more samples than fit, each block is the mean
/// of several.
pub(super) fn line(samples: &[Amount]) -> String {
    let most = samples.iter().max().copied().unwrap_or_default();
    let each = samples.len().div_ceil(WIDEST).max(1);
    let blocks = samples.chunks(each).map(|part| block(part, most));
    blocks.collect()
}

/// The block whose height is the mean of the samples.
fn block(samples: &[Amount], most: Amount) -> char {
    let sum: f64 = samples.iter().map(|amount| amount.as_f64()).sum();
    let mean = Amount::from_f64(sum / count(samples.len()));
    let share = mean.share_of(most).unwrap_or_default().get();
    let height = BLOCKS
        .iter()
        .zip(1_u8..)
        .take_while(|(_, step)| (f64::from(*step) - 0.5) / 8.0 <= share)
        .count();
    BLOCKS[height.saturating_sub(1)]
}

/// Cores: `1.25`, or `250m` below one.
pub(super) fn cores(amount: Amount) -> String {
    let milli = Amount::new(amount.get().div_ceil(1_000_000)).as_f64();
    if milli < 1000.0 { format!("{milli:.0}m") } else { trimmed(milli / 1000.0) }
}

/// Bytes: `512Mi`, `1.5Gi`.
pub(super) fn bytes(amount: Amount) -> String {
    let (mut value, mut unit) = (amount.as_f64(), "");
    for next in ["Ki", "Mi", "Gi", "Ti", "Pi"] {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    format!("{}{unit}", trimmed(value))
}

/// Three significant digits without trailing zeros.
fn trimmed(value: f64) -> String {
    let decimals = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_scales_to_the_largest_sample() {
        let amounts = |values: &[u64]| values.iter().map(|v| Amount::new(*v)).collect::<Vec<_>>();
        assert_eq!(line(&amounts(&[0, 1, 2, 4, 8])), "▁▁▂▄█");
        assert_eq!(line(&amounts(&[5])), "█");
        assert_eq!((line(&[]), line(&amounts(&[0, 0]))), (String::new(), "▁▁".to_owned()));
        assert_eq!(line(&amounts(&[7; 1000])).chars().count(), 40);
    }

    #[test]
    fn amounts_have_three_significant_digits() {
        let of = |milli| cores(Amount::millicores(milli));
        assert_eq!(
            [of(0), of(5), of(250), of(1000), of(1250), of(12_340)],
            ["0m", "5m", "250m", "1", "1.25", "12.3"]
        );
        let of = |bytes_| bytes(Amount::new(bytes_));
        assert_eq!(
            [of(0), of(512), of(1536), of(512 << 20), of(3 << 29), of(256 << 30)],
            ["0", "512", "1.5Ki", "512Mi", "1.5Gi", "256Gi"]
        );
    }
}
