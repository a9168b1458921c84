//! Text for people: counts, lists and durations.

use jiff::SignedDuration;

/// A count and its noun: `1 pod`, `3 pods`, `2 strategies`.
pub fn count(count: usize, noun: &str) -> String {
    format!("{count} {}", plural(count, noun))
}

/// The noun that agrees with a count: `pod`, `pods`, `strategies`.
pub fn plural(count: usize, noun: &str) -> String {
    if count == 1 {
        return noun.to_owned();
    }
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{noun}s"),
    }
}

/// The word that agrees with a count, such as `stays` or `stay`.
pub const fn agree<'w>(count: usize, singular: &'w str, plural: &'w str) -> &'w str {
    if count == 1 { singular } else { plural }
}

/// `is` or `are`.
pub const fn are(count: usize) -> &'static str {
    agree(count, "is", "are")
}

/// The first names of a list: `a, b, c and 4 more`.
pub fn list(names: &[impl AsRef<str>], most: usize) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    let shown = shown.join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// A size in whole mebibytes: `8 MiB`.
pub fn mebibytes(bytes: usize) -> String {
    format!("{} MiB", bytes >> 20)
}

/// A duration in whole seconds with all its units: `1h30m`, `45s`, `0s`.
pub fn duration(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().max(0);
    units(&[(seconds / 3600, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")])
}

/// A duration in its two largest units, for ages: `8d3h`, `1h30m`, `45s`.
pub fn age(age: SignedDuration) -> String {
    let seconds = age.as_secs().max(0);
    let parts = [
        (seconds / 86_400, "d"),
        (seconds / 3600 % 24, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
    ];
    let first = parts.iter().position(|(n, _)| *n > 0).unwrap_or(2).min(2);
    units(&parts[first..first + 2])
}

/// The parts that are not zero; `0s` if all are.
fn units(parts: &[(i64, &str)]) -> String {
    let mut text = String::new();
    for (n, unit) in parts.iter().filter(|(n, _)| *n > 0) {
        text.push_str(&n.to_string());
        text.push_str(unit);
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_agree_with_their_count() {
        assert_eq!(count(0, "pod"), "0 pods");
        assert_eq!(count(1, "PodDisruptionBudget"), "1 PodDisruptionBudget");
        assert_eq!(
            (count(2, "strategy"), count(2, "day")),
            ("2 strategies".into(), "2 days".into())
        );
        assert_eq!((are(1), agree(2, "stays", "stay")), ("is", "stay"));
    }

    #[test]
    fn a_long_list_is_cut_and_says_how_many_are_missing() {
        assert_eq!(list(&["a", "b"], 2), "a, b");
        assert_eq!(list(&["a", "b", "c", "d"], 2), "a, b and 2 more");
    }

    #[test]
    fn durations_show_all_units_and_ages_the_two_largest() {
        let seconds = [-5, 0, 45, 60, 3605, 4800, 86_400, 90_061, 187_200];
        assert_eq!(
            seconds.map(|s| duration(SignedDuration::from_secs(s))),
            ["0s", "0s", "45s", "1m", "1h5s", "1h20m", "24h", "25h1m1s", "52h"]
        );
        assert_eq!(
            seconds.map(|s| age(SignedDuration::from_secs(s))),
            ["0s", "0s", "45s", "1m", "1h", "1h20m", "1d", "1d1h", "2d4h"]
        );
    }
}
