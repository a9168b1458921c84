//! Scores from counts.

/// Scales counts so that the largest becomes 100. Reversed, the largest becomes 0 and a count of
/// zero becomes 100 (`helper.DefaultNormalizeScore`).
pub(super) fn normalise(counts: &mut [i64], reverse: bool) {
    let most = counts.iter().copied().max().unwrap_or_default();
    for count in counts {
        let share = if most == 0 { 0 } else { 100 * *count / most };
        *count = if reverse { 100 - share } else { share };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_count_is_worth_all_or_nothing() {
        let normalised = |mut counts: [i64; 3], reverse| {
            normalise(&mut counts, reverse);
            counts
        };
        assert_eq!(normalised([0, 1, 3], false), [0, 33, 100]);
        assert_eq!(normalised([0, 1, 3], true), [100, 67, 0]);
        assert_eq!(normalised([0, 0, 0], false), [0, 0, 0]);
        assert_eq!(normalised([0, 0, 0], true), [100, 100, 100]);
    }
}
