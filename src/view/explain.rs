//! An explanation as text for the terminal.

use std::fmt;

use crate::decide::explain::{CodedMessage, Explanation};
use crate::model::plan::PodVerdict;
use crate::view::screen::{Ink, Screen, shown};

mod landing;
mod ledger;
mod node;
mod pod;
mod spark;
mod usage;

/// An explanation, and how to show it.
pub(crate) struct ExplanationText<'e> {
    pub(crate) explanation: &'e Explanation,
    /// The first lines: the source of the cluster, the time and the policy.
    pub(crate) head: &'e [String],
    /// List everything.
    pub(crate) all: bool,
    pub(crate) screen: Screen,
}

impl fmt::Display for ExplanationText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.head {
            self.screen.line(f, line, None)?;
        }
        match self.explanation {
            Explanation::Pod(pod) => self.pod(f, pod),
            Explanation::Node(node) => self.node(f, node),
            Explanation::Workload(workload) => self.workload(f, workload),
        }
    }
}

impl ExplanationText<'_> {
    /// Writes the object and its facts; empty facts are left out.
    fn headline(&self, f: &mut fmt::Formatter<'_>, object: &str, facts: &[String]) -> fmt::Result {
        let facts: Vec<&str> =
            facts.iter().map(String::as_str).filter(|fact| !fact.is_empty()).collect();
        writeln!(f)?;
        self.screen.heading(f, object, &facts.join(", "), None)
    }

    /// Writes the remedy for the verdict above.
    fn remedy(
        &self,
        f: &mut fmt::Formatter<'_>,
        indent: usize,
        remedy: Option<&str>,
    ) -> fmt::Result {
        let Some(remedy) = remedy else { return Ok(()) };
        let text = to_change(remedy);
        if indent == 0 {
            return self.screen.line(f, &text, Some(Ink::Dim));
        }
        self.screen.beside(f, &" ".repeat(indent), &text, Some(Ink::Dim))
    }

    /// Writes why the whole cycle makes no decisions, if it makes none.
    fn halted(&self, f: &mut fmt::Formatter<'_>, halted: Option<&CodedMessage>) -> fmt::Result {
        let Some(halted) = halted else { return Ok(()) };
        let text = format!("no pods considered: {}", halted.message);
        self.screen.line(f, &text, Some(Ink::Warning))?;
        self.remedy(f, 0, halted.remedy.as_deref())
    }

    /// The lines of a list that are shown, and the number of those that are left out.
    const fn shown(&self, lines: usize, most: usize) -> (usize, usize) {
        shown(self.all, lines, most)
    }
}

/// An explanation as text without colours, at most `width` columns wide.
pub fn explanation_text(explanation: &Explanation, width: usize) -> String {
    ExplanationText { explanation, head: &[], all: false, screen: Screen::plain(width) }.to_string()
}

/// The remedy as a sentence.
fn to_change(remedy: &str) -> String {
    match remedy.strip_prefix("nothing") {
        Some(rest) => format!("nothing to change{rest}"),
        None => format!("to change that: {remedy}"),
    }
}

/// The colour of a verdict.
const fn verdict_ink(verdict: &PodVerdict) -> Ink {
    match verdict {
        PodVerdict::Moved { .. } | PodVerdict::Proposed { .. } => Ink::Cold,
        PodVerdict::Kept(_) => Ink::Warning,
        PodVerdict::NotSelected(_) => Ink::Dim,
    }
}
