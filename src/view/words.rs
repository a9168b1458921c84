//! How numbers and names read on a page.

use crate::policy::Basis;
use crate::values::Ratio;

/// The heads of a table of the balance.
pub(super) const BALANCE_HEADS: [&str; 4] =
    ["", "standard deviation", "fullest above mean", "mean"];

/// Formats a share as `37 %`, with a space that does not break.
pub fn percent(share: f64) -> String {
    let ratio = Ratio::new(share.max(0.0)).unwrap_or_default();
    ratio.to_string().replace('%', "\u{202f}%")
}

/// Writes a change as `30% → 50%`, or as one figure where both read the same.
pub fn change<T: ToString + Copy>(before: T, after: T) -> String {
    let (before, after) = (before.to_string(), after.to_string());
    if before == after { before } else { format!("{before} → {after}") }
}

/// Sorts the names of resources: cpu and memory first, then the others in their order.
pub fn usual_first(resources: &mut [&str]) {
    resources.sort_by_key(|resource| match *resource {
        "cpu" => 0,
        "memory" => 1,
        _ => 2,
    });
}

/// Shortens a name to `most` characters by cutting its middle, because both ends tell names apart.
pub fn short(name: &str, most: usize) -> String {
    let count = name.chars().count();
    if count <= most || most < 3 {
        return name.to_owned();
    }
    let tail = (most - 1) / 2;
    let head: String = name.chars().take(most - 1 - tail).collect();
    let end: String = name.chars().skip(count - tail).collect();
    format!("{head}…{end}")
}

/// Returns short node names: without the domain that all of them share, and at most `most`
/// characters long.
pub fn node_labels(names: &[&str], most: usize) -> Vec<String> {
    let domain = names.first().and_then(|first| domain(first));
    // A single node keeps its domain, because nothing shows that it is common.
    let shared = names.len() > 1
        && domain.is_some()
        && names.iter().all(|name| self::domain(name) == domain);
    names
        .iter()
        .map(|name| match name.split_once('.') {
            Some((host, _)) if shared => short(host, most),
            _ => short(name, most),
        })
        .collect()
}

fn domain(name: &str) -> Option<&str> {
    name.split_once('.').map(|(_, domain)| domain)
}

/// The basis as a sentence names it.
pub(crate) const fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Requests => "requests",
        Basis::Actual => "actual usage",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_formatted_as_a_percentage() {
        assert_eq!(
            [0.0, 0.042, 0.37, 1.2].map(percent),
            ["0\u{202f}%", "4.2\u{202f}%", "37\u{202f}%", "120\u{202f}%"]
        );
    }

    #[test]
    fn long_names_keep_both_ends_and_lose_the_shared_domain() {
        assert_eq!(short("node-0123456789", 9), "node…6789");
        assert_eq!(short("n1", 9), "n1");
        assert_eq!(node_labels(&["ip-1.eu.internal", "ip-2.eu.internal"], 9), ["ip-1", "ip-2"]);
        assert_eq!(node_labels(&["a.eu", "a.us"], 9), ["a.eu", "a.us"]);
    }
}
