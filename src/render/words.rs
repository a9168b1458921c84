//! Texts of a page: what is escaped, and how numbers read.

use jiff::SignedDuration;

use crate::values::Ratio;

/// A text as it may stand between tags and within quotes. Names are anyone's choice: nothing in them may be markup, and
/// nothing may turn the direction of what follows.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape(text, &mut out);
    out
}

/// The same, at the end of another text.
pub(super) fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push('\n'),
            c if c.is_control() || turns(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}

/// Whether a character changes the direction of writing: <https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters>.
const fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `37 %`, with a space that does not break.
pub fn percent(share: f64) -> String {
    let ratio = Ratio::new(share.max(0.0)).unwrap_or_default();
    ratio.to_string().replace('%', "\u{202f}%")
}

/// `45s`, `20m`, `1h20m`, `2d4h`: the two largest units that say something.
pub fn span(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().max(0);
    let parts = [
        (seconds / 86_400, "d"),
        (seconds / 3_600 % 24, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
    ];
    let first = parts.iter().position(|(n, _)| *n > 0).unwrap_or(3);
    let told = parts
        .iter()
        .skip(first)
        .take(2)
        .enumerate()
        .filter(|(i, (n, _))| *i == 0 || *n > 0);
    told.fold(String::new(), |text, (_, (n, unit))| {
        text + &n.to_string() + unit
    })
}

/// A name that is cut in its middle where it is longer than `most` characters: both ends tell names apart.
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

/// The names of nodes for narrow places: without the domain that all have in common.
pub fn node_labels(names: &[&str], most: usize) -> Vec<String> {
    let domain = |name: &str| name.split_once('.').map(|(_, rest)| rest.to_owned());
    let shared = names.first().and_then(|first| domain(first));
    let common =
        names.len() > 1 && shared.is_some() && names.iter().all(|name| domain(name) == shared);
    let host = |name: &str| {
        if common {
            name.split('.').next().unwrap_or_default().to_owned()
        } else {
            name.to_owned()
        }
    };
    names.iter().map(|name| short(&host(name), most)).collect()
}

/// `1 node`, `2 nodes`.
pub fn counted(count: usize, word: &str) -> String {
    if count == 1 {
        format!("1 {word}")
    } else {
        format!("{count} {word}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_markup() {
        assert_eq!(
            escaped("<b a=\"1\" c='2'>&\u{0}\u{202e}ä"),
            "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;\u{fffd}\u{fffd}ä"
        );
    }

    #[test]
    fn durations_are_told_by_two_units() {
        let told: Vec<_> = [0, 45, 60, 1200, 3600, 4800, 86_400, 187_200, 90_061]
            .map(|s| span(SignedDuration::from_secs(s)))
            .into();
        assert_eq!(
            told,
            [
                "0s", "45s", "1m", "20m", "1h", "1h20m", "1d", "2d4h", "1d1h"
            ]
        );
    }

    #[test]
    fn shares_are_told_in_percent() {
        assert_eq!(
            [0.0, 0.042, 0.37, 1.2].map(percent),
            ["0\u{202f}%", "4.2\u{202f}%", "37\u{202f}%", "120\u{202f}%"]
        );
    }

    #[test]
    fn long_names_keep_both_ends_and_lose_what_all_share() {
        assert_eq!(short("node-0123456789", 9), "node…6789");
        assert_eq!(short("n1", 9), "n1");
        assert_eq!(
            node_labels(&["ip-1.eu.internal", "ip-2.eu.internal"], 9),
            ["ip-1", "ip-2"]
        );
        assert_eq!(node_labels(&["a.eu", "a.us"], 9), ["a.eu", "a.us"]);
    }
}
