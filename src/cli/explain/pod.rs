//! A pod on a page.

use std::fmt;

use crate::cli::show::{Ink, columns};
use crate::decide::explain::{
    BudgetLine, FittingNode, GateVerdicts, PodExplanation, ReplacementForecast, StrategyVerdict,
    foremost,
};
use crate::model::plan::{PodVerdict, whole};
use crate::values::Ratio;

use super::page::{Page, verb, without_empty};

/// Longer lists are cut, unless all is asked for.
const MOST_NODES: usize = 5;
const MOST_NAMES: usize = 6;

impl Page<'_> {
    pub(super) fn pod(&self, f: &mut fmt::Formatter<'_>, it: &PodExplanation) -> fmt::Result {
        let about = [
            it.node
                .as_ref()
                .map_or("on no node".to_owned(), |node| format!("on {node}")),
            it.workload
                .as_ref()
                .map_or("bare".to_owned(), |w| format!("of {} {}", w.kind, w.name)),
            if it.ready {
                "Ready".to_owned()
            } else {
                format!("{}, not Ready", it.phase)
            },
            format!("{} old", whole(it.at.duration_since(it.created))),
            it.priority
                .map(|priority| format!("priority {priority}"))
                .unwrap_or_default(),
            budgets(&it.budgets),
        ];
        self.headline(f, &format!("Pod {}/{}", it.namespace, it.name), &about)?;
        self.verdict(f, &it.words)?;
        self.halted(f, it.halted.as_ref())?;
        self.load(f, &it.load)?;
        self.words(f, &it.words)?;
        if let Some(gates) = &it.gates {
            self.gates(f, gates)?;
        }
        if let Some(landing) = &it.landing {
            self.landing(f, landing)?;
        }
        self.ledger(f, &it.ledger, it.at)
    }

    /// The one sentence that matters most, and who says it.
    fn verdict(&self, f: &mut fmt::Formatter<'_>, words: &[StrategyVerdict]) -> fmt::Result {
        let Some(said) = foremost(words) else {
            return writeln!(f, "the policy has no strategy");
        };
        if matches!(said.word, PodVerdict::NotSelected(_)) && words.len() > 1 {
            return writeln!(
                f,
                "{}",
                self.screen.paint(Ink::Bold, "no strategy asks for it")
            );
        }
        let ink = if matches!(said.word, PodVerdict::NotSelected(_)) {
            Ink::Bold
        } else {
            Page::ink(&said.word)
        };
        let line = match &said.word {
            PodVerdict::Moved { .. } => format!("{}: it {}", said.strategy, said.word),
            PodVerdict::Kept(_) => format!("{}: it stays: {}", said.strategy, said.word),
            PodVerdict::NotSelected(_) => {
                format!("{}: it is not asked to go: {}", said.strategy, said.word)
            }
        };
        self.beside(f, "", &line, Some(ink))?;
        self.remedy(f, 0, said.word.remedy().as_deref())
    }

    /// One strategy has the whole verdict already.
    fn words(&self, f: &mut fmt::Formatter<'_>, words: &[StrategyVerdict]) -> fmt::Result {
        if words.len() < 2 {
            return Ok(());
        }
        self.title(f, "Strategies", "what each says of it, in order")?;
        for said in words {
            let ink = Page::ink(&said.word);
            writeln!(
                f,
                "{}  {}",
                said.strategy,
                self.screen.paint(ink, verb(said))
            )?;
            self.beside(
                f,
                "  ",
                &said.word.to_string(),
                Some(ink).filter(|ink| *ink != Ink::Dim),
            )?;
            self.remedy(f, 2, said.word.remedy().as_deref())?;
        }
        Ok(())
    }

    fn gates(&self, f: &mut fmt::Formatter<'_>, gates: &GateVerdicts) -> fmt::Result {
        self.title(
            f,
            "Gates",
            &format!(
                "each asked by itself, as if {} named the pod now",
                gates.strategy
            ),
        )?;
        for answer in &gates.answers {
            let head = format!("{:10}  ", answer.gate.code());
            match &answer.refusal {
                None => self.beside(f, &head, "admits it", None)?,
                Some(why) => {
                    self.beside(f, &head, &format!("refuses: {why}"), Some(Ink::Doubt))?;
                    self.remedy(f, head.len(), Some(&why.remedy()))?;
                }
            }
        }
        Ok(())
    }

    fn landing(&self, f: &mut fmt::Formatter<'_>, landing: &ReplacementForecast) -> fmt::Result {
        let by = if landing.scores_known {
            "by the scheduler's scores"
        } else {
            "by filters alone: the scores of its scheduler are not known"
        };
        self.title(
            f,
            "Landing",
            &format!("where its replacement would land, {by}"),
        )?;
        if landing.nodes.is_empty() {
            writeln!(f, "nowhere: no node can take it")?;
        } else {
            self.fits(f, &landing.nodes)?;
        }
        if let Some(pull) = &landing.pull_home {
            self.beside(f, "drawn home: ", pull, Some(Ink::Doubt))?;
        }
        for misfits in &landing.misfits {
            let (shown, left_out) = self.fit(misfits.nodes.len(), MOST_NAMES);
            let names = misfits.nodes[..shown].join(", ");
            let more = if left_out > 0 {
                format!(" and {left_out} more")
            } else {
                String::new()
            };
            let verb = if misfits.nodes.len() == 1 {
                "is"
            } else {
                "are"
            };
            self.beside(
                f,
                "",
                &format!("cannot take it: {names}{more} {verb} {}", misfits.reason),
                Some(Ink::Dim),
            )?;
        }
        Ok(())
    }

    fn fits(&self, f: &mut fmt::Formatter<'_>, nodes: &[FittingNode]) -> fmt::Result {
        // Who may win is never left out, nor is the pod's own node.
        let matters = |fit: &&FittingNode| fit.chance > Ratio::ZERO || fit.home;
        let (mut shown, others): (Vec<&FittingNode>, Vec<&FittingNode>) =
            nodes.iter().partition(matters);
        let (winners, _) = self.fit(shown.len(), 2 * MOST_NODES);
        shown.truncate(winners);
        let (rest, _) = self.fit(others.len(), MOST_NODES.saturating_sub(shown.len()).max(2));
        shown.extend(&others[..rest]);
        shown.sort_by_key(|fit| nodes.iter().position(|other| other.node == fit.node));
        let plugins: Vec<&str> = nodes[0].parts.keys().copied().collect();
        let told = |plugin: &&&str| {
            let first = nodes[0].parts[**plugin];
            nodes.iter().any(|fit| fit.parts[**plugin] != first)
        };
        let deciding: Vec<&str> = plugins.iter().filter(told).copied().collect();
        let alike: Vec<&str> = plugins
            .iter()
            .filter(|plugin| !deciding.contains(plugin))
            .copied()
            .collect();
        let parts = |fit: &FittingNode| {
            deciding
                .iter()
                .map(|p| format!("{p}={}", fit.parts[*p]))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let scored = nodes.iter().any(|fit| fit.score != 0);
        let row = |fit: &&FittingNode| {
            let name = if fit.home {
                format!("{} (home)", fit.node)
            } else {
                fit.node.clone()
            };
            let score = if scored {
                format!("score {}", fit.score)
            } else {
                String::new()
            };
            vec![name, format!("{:>4}", fit.chance), score, gain(fit)]
        };
        let lines = columns(&without_empty(shown.iter().map(row).collect()));
        let mut last = String::new();
        for (line, fit) in lines.iter().zip(&shown) {
            let ink = (fit.chance > Ratio::ZERO).then_some(Ink::Bold);
            self.beside(f, "", line, ink)?;
            let parts = parts(fit);
            if scored && parts != last {
                self.beside(f, "      ", &parts, Some(Ink::Dim))?;
            }
            last = parts;
        }
        if scored && !alike.is_empty() && nodes.len() > 1 {
            self.beside(
                f,
                "",
                &format!("the same on all: {}", alike.join(", ")),
                Some(Ink::Dim),
            )?;
        }
        self.more(f, nodes.len() - shown.len(), "nodes that could take it")
    }
}

fn gain(fit: &FittingNode) -> String {
    match &fit.gain {
        Some(Ok(full)) => format!("helps; the node would be {full} full"),
        Some(Err(_)) | None => fit.flaw().unwrap_or_default(),
    }
}

/// `PodDisruptionBudget web allows 1`.
pub(super) fn budgets(budgets: &[BudgetLine]) -> String {
    let told = |it: &BudgetLine| format!("PodDisruptionBudget {} allows {}", it.name, it.allowed);
    budgets.iter().map(told).collect::<Vec<_>>().join(", ")
}
