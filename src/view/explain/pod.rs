//! A pod as text.

use std::fmt;

use crate::decide::explain::{
    BudgetLine, GateVerdicts, PodExplanation, ReplacementForecast, StrategyVerdict, foremost,
};
use crate::model::ledger::Aim;
use crate::model::plan::PodVerdict;
use crate::values::text::{age, are, list};
use crate::view::screen::Ink;

use super::{ExplanationText, verdict_ink};

/// Longer lists are cut unless `--all` is given.
const MOST_NAMES: usize = 6;

impl ExplanationText<'_> {
    pub(super) fn pod(&self, f: &mut fmt::Formatter<'_>, pod: &PodExplanation) -> fmt::Result {
        self.headline(f, &format!("Pod {}/{}", pod.namespace, pod.name), &facts(pod))?;
        // If no pod is considered, each strategy would only repeat why.
        let decided = pod.halted.is_none();
        if decided {
            self.verdict(f, &pod.verdicts)?;
        }
        self.halted(f, pod.halted.as_ref())?;
        self.load(f, &pod.load)?;
        if decided {
            self.strategies(f, &pod.verdicts)?;
        }
        if let Some(gates) = &pod.gates {
            self.gates(f, gates)?;
            self.replacement(f, gates)?;
        }
        if let Some(landing) = &pod.landing {
            self.landing(f, landing)?;
        }
        self.ledger(f, &pod.ledger, pod.at)
    }

    /// Writes the most important verdict and the strategy that made it.
    fn verdict(&self, f: &mut fmt::Formatter<'_>, verdicts: &[StrategyVerdict]) -> fmt::Result {
        let Some(first) = foremost(verdicts) else {
            return writeln!(f, "the policy has no strategy");
        };
        let (verdict, ink) = match &first.verdict {
            PodVerdict::NotSelected(_) if verdicts.len() > 1 => {
                return self.screen.line(f, "no strategy selects this pod", Some(Ink::Bold));
            }
            PodVerdict::Moved { .. } => (first.verdict.to_string(), Ink::Cold),
            PodVerdict::Proposed { .. } => (format!("proposed: {}", first.verdict), Ink::Cold),
            PodVerdict::Kept(_) => (format!("stays: {}", first.verdict), Ink::Warning),
            PodVerdict::NotSelected(_) => (format!("not selected: {}", first.verdict), Ink::Bold),
        };
        let line = format!("{}: {verdict}", first.strategy);
        self.screen.line(f, &line, Some(ink))?;
        self.remedy(f, 0, first.verdict.remedy().as_deref())
    }

    /// Writes the verdict of each strategy. With a single strategy it is printed above.
    fn strategies(&self, f: &mut fmt::Formatter<'_>, verdicts: &[StrategyVerdict]) -> fmt::Result {
        if verdicts.len() < 2 {
            return Ok(());
        }
        self.screen.title(f, "Strategies", "the verdict of each, in the order of the policy")?;
        for line in verdicts {
            let ink = verdict_ink(&line.verdict);
            let verdict = match line.verdict {
                PodVerdict::Moved { aim, .. } => match aim {
                    Aim::Move | Aim::Opening => "moves",
                    Aim::Renew => "is renewed",
                    Aim::Clear => "is removed",
                },
                PodVerdict::Proposed { .. } => "proposed",
                PodVerdict::Kept(_) => "stays",
                PodVerdict::NotSelected(_) => "not selected",
            };
            writeln!(f, "{}  {}", line.strategy, self.screen.paint(ink, verdict))?;
            let text = line.verdict.to_string();
            self.screen.beside(f, "  ", &text, Some(ink).filter(|ink| *ink != Ink::Dim))?;
            self.remedy(f, 2, line.verdict.remedy().as_deref())?;
        }
        Ok(())
    }

    fn gates(&self, f: &mut fmt::Formatter<'_>, gates: &GateVerdicts) -> fmt::Result {
        let note = format!("each checked alone, as if {} selected the pod now", gates.strategy);
        self.screen.title(f, "Gates", &note)?;
        for answer in &gates.answers {
            let head = format!("{:11}  ", answer.gate.code());
            let Some(refusal) = &answer.refusal else {
                self.screen.beside(f, &head, "admits", None)?;
                continue;
            };
            let text = format!("refuses: {refusal}");
            self.screen.beside(f, &head, &text, Some(Ink::Warning))?;
            self.remedy(f, head.len(), Some(&refusal.remedy()))?;
        }
        Ok(())
    }

    /// Writes the verdict of each rule of the gate `replacement`.
    fn replacement(&self, f: &mut fmt::Formatter<'_>, gates: &GateVerdicts) -> fmt::Result {
        let note = "the conditions for a replacement that starts";
        self.screen.title(f, "Replacement", note)?;
        if gates.replacement.is_empty() {
            writeln!(f, "none: the pod has finished and needs no replacement")?;
        }
        for verdict in &gates.replacement {
            let head = format!("{:15}  ", verdict.rule);
            let Some(refusal) = &verdict.refusal else {
                self.screen.beside(f, &head, verdict.question, None)?;
                continue;
            };
            let text = format!("no: {}", refusal.message);
            self.screen.beside(f, &head, &text, Some(Ink::Warning))?;
        }
        Ok(())
    }

    fn landing(&self, f: &mut fmt::Formatter<'_>, landing: &ReplacementForecast) -> fmt::Result {
        let note = if landing.scores_known {
            "predicted nodes of the replacement, by the scheduler's scores"
        } else {
            "predicted nodes of the replacement, by filters only: the scores are unknown"
        };
        self.screen.title(f, "Landing", note)?;
        if landing.nodes.is_empty() {
            writeln!(f, "none: no node can run it")?;
        } else {
            self.candidates(f, &landing.nodes)?;
        }
        if let Some(cause) = &landing.return_cause {
            self.screen.beside(f, "returns to its node: ", cause, Some(Ink::Warning))?;
        }
        for misfits in &landing.misfits {
            let (most, _) = self.shown(misfits.nodes.len(), MOST_NAMES);
            let names = list(&misfits.nodes, most);
            let are = are(misfits.nodes.len());
            let text = format!("cannot run it: {names} {are} {}", misfits.reason);
            self.screen.line(f, &text, Some(Ink::Dim))?;
        }
        Ok(())
    }
}

fn facts(pod: &PodExplanation) -> [String; 6] {
    let node = pod.node.as_ref().map(|node| format!("on {node}"));
    let owner = pod.workload.as_ref();
    let owner = owner.map(|workload| format!("of {} {}", workload.kind, workload.name));
    let priority = pod.priority.map(|priority| format!("priority {priority}"));
    let state = if pod.ready { "Ready".to_owned() } else { format!("{}, not Ready", pod.phase) };
    [
        node.unwrap_or_else(|| "on no node".to_owned()),
        owner.unwrap_or_else(|| "without a controller".to_owned()),
        state,
        pod.created.map_or("of unknown age".to_owned(), |created| {
            format!("{} old", age(pod.at.duration_since(created)))
        }),
        priority.unwrap_or_default(),
        budgets(&pod.budgets),
    ]
}

/// `PodDisruptionBudget web allows 1`.
pub(super) fn budgets(budgets: &[BudgetLine]) -> String {
    let texts: Vec<String> = budgets
        .iter()
        .map(|budget| format!("PodDisruptionBudget {} allows {}", budget.name, budget.allowed))
        .collect();
    texts.join(", ")
}
