//! The checks of `evenkeel doctor` as text for the terminal.

use std::fmt;

use crate::decide::doctor::{Diagnosis, Severity};
use crate::view::screen::{Ink, Screen};
use crate::view::table::folded;

/// The width of severity and check.
const INDENT: usize = 21;

/// A line for each check, with the remedy below.
pub(crate) struct DiagnosesText<'d> {
    pub(crate) diagnoses: &'d [Diagnosis],
    /// The source of the cluster is the first line.
    pub(crate) head: &'d [String],
    pub(crate) screen: Screen,
}

impl fmt::Display for DiagnosesText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(first) = self.head.first() {
            self.screen.line(f, first, None)?;
            writeln!(f)?;
        }
        for diagnosis in self.diagnoses {
            let (word, ink) = match diagnosis.severity {
                Severity::Ok => ("ok", Ink::Cold),
                Severity::Warning => ("warning", Ink::Warning),
                Severity::Failure => ("failure", Ink::Hot),
            };
            let word = self.screen.paint(ink, &format!("{word:<8}"));
            let begin = format!("{:<13}", diagnosis.check);
            self.folded(f, &format!("{word}{begin}"), &diagnosis.message)?;
            if let Some(remedy) = &diagnosis.remedy {
                self.folded(f, &" ".repeat(INDENT), &format!("→ {remedy}"))?;
            }
        }
        Ok(())
    }
}

impl DiagnosesText<'_> {
    fn folded(&self, f: &mut fmt::Formatter<'_>, begin: &str, text: &str) -> fmt::Result {
        let width = self.screen.width.saturating_sub(INDENT);
        let mut lines = folded(text, width, 0).into_iter();
        writeln!(f, "{begin}{}", lines.next().unwrap_or_default())?;
        for line in lines {
            writeln!(f, "{:INDENT$}{line}", "")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reader_copies_is_not_broken_at_a_hyphen() {
        let remedy =
            "allow single pods by the annotation `evenkeel.io/evict-single-replica: \"true\"`";
        for width in 60..120 {
            let text = DiagnosesText {
                diagnoses: &[Diagnosis::warning("replicas", "1 workload", remedy)],
                head: &[],
                screen: Screen::plain(width),
            };
            assert!(text.to_string().contains("`evenkeel.io/evict-single-replica:"), "{text}");
        }
    }

    #[test]
    fn the_head_fits_the_terminal() {
        let head = ["checks of a-cluster.json: 10 nodes, 90 pods, 1 PodDisruptionBudget; metrics \
            of 10 nodes and 90 pods"
            .to_owned()];
        let text = DiagnosesText {
            diagnoses: &[Diagnosis::ok("nodes", "10 nodes, all Ready")],
            head: &head,
            screen: Screen::plain(60),
        };
        let text = text.to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        assert!(text.contains("\n\nok      nodes"), "{text}");
    }
}
