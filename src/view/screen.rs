//! The terminal: its width, its colours, and text that is folded to fit.

use std::borrow::Cow;
use std::fmt;

use crate::view::table::{Table, display_width, folded, push_escaped};

/// A text needs this much room beside its head; with less, it starts on the next line.
const LEAST_BESIDE: usize = 36;

/// Larger clusters show this many of the fullest and of the emptiest nodes.
const END: usize = 20;

/// Select Graphic Rendition of ECMA-48: plain, bold, faint, red, cyan and yellow.
const COLOURS: [&str; 6] = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[36m", "\x1b[33m"];

/// The width and the colours of the output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// In columns.
    pub(crate) width: usize,
    pub(crate) colours: bool,
}

/// The look of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Bold,
    Dim,
    Hot,
    Cold,
    Warning,
}

impl Ink {
    /// Returns the colour of a node's class, which its code names; `None` for one without.
    pub(crate) fn of_class(code: &str) -> Option<Self> {
        match code {
            "hot" => Some(Ink::Hot),
            "cold" | "cold-closed" | "underused" => Some(Ink::Cold),
            "warming" | "unknown" | "doubtful" | "not-ready" | "no-allocatable" => {
                Some(Ink::Warning)
            }
            _ => None,
        }
    }
}

impl Screen {
    /// A screen of this width without colours.
    pub(crate) const fn plain(width: usize) -> Self {
        Screen { width, colours: false }
    }

    pub(crate) fn paint(self, ink: Ink, text: &str) -> String {
        let [plain, bold, dim, hot, cold, warning] = COLOURS;
        let begin = match ink {
            Ink::Bold => bold,
            Ink::Dim => dim,
            Ink::Hot => hot,
            Ink::Cold => cold,
            Ink::Warning => warning,
        };
        if self.colours && !text.is_empty() {
            format!("{begin}{text}{plain}")
        } else {
            text.to_owned()
        }
    }

    /// Writes the lines of a table, its last column folded to the width of the screen.
    pub(crate) fn table(self, f: &mut fmt::Formatter<'_>, table: &Table) -> fmt::Result {
        let lines = table.folded(self.width);
        lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }

    /// Paints a text in the colour of a node's class, which its code names.
    pub(crate) fn paint_class(self, code: Option<&str>, text: &str) -> String {
        self.paint_if(code.and_then(Ink::of_class), text)
    }

    /// Writes an empty line, a title and a note on it.
    pub(crate) fn title(self, f: &mut fmt::Formatter<'_>, title: &str, note: &str) -> fmt::Result {
        writeln!(f)?;
        self.heading(f, title, note, Some(Ink::Dim))
    }

    /// Writes a bold head and a text after it, folded with an indent.
    pub(crate) fn heading(
        self,
        f: &mut fmt::Formatter<'_>,
        head: &str,
        text: &str,
        ink: Option<Ink>,
    ) -> fmt::Result {
        for line in folded(&format!("{head}  {text}"), self.width, 4) {
            let (head, rest) = match line.strip_prefix(head) {
                Some(rest) => (head, rest),
                None => ("", line.as_str()),
            };
            let rest = self.paint_if(ink, rest);
            writeln!(f, "{}{rest}", self.paint(Ink::Bold, head))?;
        }
        Ok(())
    }

    /// Writes a text, folded with an indent.
    pub(crate) fn line(
        self,
        f: &mut fmt::Formatter<'_>,
        text: &str,
        ink: Option<Ink>,
    ) -> fmt::Result {
        let lines = folded(text, self.width, 4);
        lines.iter().try_for_each(|line| writeln!(f, "{}", self.paint_if(ink, line)))
    }

    /// Writes a text beside its head, folded under itself.
    pub(crate) fn beside(
        self,
        f: &mut fmt::Formatter<'_>,
        head: &str,
        text: &str,
        ink: Option<Ink>,
    ) -> fmt::Result {
        let indent = display_width(head);
        let mut lines = folded(&format!("{head}{text}"), self.width, indent).into_iter();
        let first = lines.next().unwrap_or_default();
        let text = first.strip_prefix(head).unwrap_or_default();
        writeln!(f, "{}", format!("{head}{}", self.paint_if(ink, text)).trim_end())?;
        for line in lines {
            let text = line.trim_start();
            let indent = &line[..line.len() - text.len()];
            writeln!(f, "{indent}{}", self.paint_if(ink, text))?;
        }
        Ok(())
    }

    /// Writes a text beside its head, or under it if there is little room.
    pub(crate) fn beside_or_below(
        self,
        f: &mut fmt::Formatter<'_>,
        head: &str,
        text: &str,
        ink: Option<Ink>,
    ) -> fmt::Result {
        if display_width(head) + LEAST_BESIDE.min(display_width(text)) <= self.width {
            return self.beside(f, head, text, ink);
        }
        if !head.trim().is_empty() {
            writeln!(f, "{}", head.trim_end())?;
        }
        self.beside(f, "     ", text, ink)
    }

    /// Writes a dim line that says what else can be shown.
    pub(crate) fn hint(self, f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
        self.line(f, text, Some(Ink::Dim))
    }

    /// Writes how many entries of a list are left out, if any.
    pub(crate) fn left_out(
        self,
        f: &mut fmt::Formatter<'_>,
        count: usize,
        what: &str,
    ) -> fmt::Result {
        if count == 0 {
            Ok(())
        } else {
            self.hint(f, &format!("… {count} more{what}: --all lists them"))
        }
    }

    /// Writes a line for each of the first and of the last nodes, and how many are in between.
    pub(crate) fn ends<T>(
        self,
        f: &mut fmt::Formatter<'_>,
        all: bool,
        nodes: &[T],
        line: impl Fn(&T) -> String,
    ) -> fmt::Result {
        let (most, left_out) = shown(all, nodes.len(), 2 * END);
        let first = if left_out > 0 { END } else { most };
        nodes[..first].iter().try_for_each(|node| writeln!(f, "{}", line(node)))?;
        self.left_out(f, left_out, " nodes in between")?;
        nodes[first + left_out..].iter().try_for_each(|node| writeln!(f, "{}", line(node)))
    }

    fn paint_if(self, ink: Option<Ink>, text: &str) -> String {
        ink.map_or_else(|| text.to_owned(), |ink| self.paint(ink, text))
    }
}

/// The text without control characters that could manipulate a terminal, such as those in the names
/// of a file. Line breaks, tabs and, on a screen with colours, those of [`Screen::paint`] stay.
pub(crate) fn harmless(text: &str, colours: bool) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_harmful) {
        let (before, found) = rest.split_at(at);
        shown.push_str(before);
        let colour = COLOURS.iter().find(|colour| colours && found.starts_with(**colour));
        if let Some(colour) = colour {
            shown.push_str(colour);
            rest = &found[colour.len()..];
        } else {
            let mut characters = found.chars();
            if let Some(c) = characters.next() {
                push_escaped(&mut shown, c);
            }
            rest = characters.as_str();
        }
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

fn is_harmful(c: char) -> bool {
    c.is_control() && !['\n', '\t'].contains(&c)
}

/// The lines of a list that are shown, and the number of those that are left out.
pub(crate) const fn shown(all: bool, lines: usize, most: usize) -> (usize, usize) {
    if all || lines <= most { (lines, 0) } else { (most, lines - most) }
}

/// Pads each line to the width of the widest, plus a gap for the text beside it.
pub(crate) fn padded(lines: &[String]) -> Vec<String> {
    let width = lines.iter().map(|line| display_width(line)).max().unwrap_or(0) + 2;
    let pad = |line: &String| " ".repeat(width - display_width(line));
    lines.iter().map(|line| format!("{line}{}", pad(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_that_can_take_pods_or_be_emptied_has_the_same_colour() {
        let screen = Screen { width: 80, colours: true };
        for class in ["cold", "cold-closed", "underused"] {
            let painted = screen.paint_class(Some(class), class);
            assert_eq!(painted, screen.paint(Ink::Cold, class));
        }
        assert_eq!(screen.paint_class(Some("even"), "even"), "even");
    }

    #[test]
    fn control_characters_are_escaped_and_colours_stay() {
        let screen = Screen { width: 80, colours: true };
        let painted = format!("{}\tn1\n", screen.paint(Ink::Hot, "hot"));
        assert_eq!(harmless(&painted, true), painted);
        assert_eq!(harmless(&painted, false), "\\u001b[31mhot\\u001b[0m\tn1\n");
        assert_eq!(
            harmless("a\x1b]0;title\x07b\x1b[2Jc\r\u{9b}d\x1b", true),
            "a\\u001b]0;title\\u0007b\\u001b[2Jc\\u000d\\u009bd\\u001b"
        );
        let json = serde_json::to_string("a\u{9b}\u{7f}\u{1b}").unwrap();
        let read: String = serde_json::from_str(&harmless(&json, true)).unwrap();
        assert_eq!(read, "a\u{9b}\u{7f}\u{1b}");
    }
}
