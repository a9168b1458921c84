//! A node and a workload as text.

use std::fmt;

use crate::decide::explain::{
    NodeExplanation, PodLine, ResourceStatus, StrategyView, WorkloadExplanation, foremost,
};
use crate::model::plan::{PodVerdict, Steer, TargetBand};
use crate::values::Amount;
use crate::values::text::count;
use crate::view::bar::Bar;
use crate::view::screen::{Ink, padded};
use crate::view::table::Table;

use super::pod::budgets;
use super::spark;
use super::{ExplanationText, to_change, verdict_ink};

/// Longer lists are cut unless `--all` is given.
const MOST_PODS: usize = 25;
const BAR: usize = 12;

impl ExplanationText<'_> {
    pub(super) fn node(&self, f: &mut fmt::Formatter<'_>, node: &NodeExplanation) -> fmt::Result {
        let taints = match &node.taints[..] {
            [] => String::new(),
            taints => format!("taints {}", taints.join(" ")),
        };
        let facts = [
            if node.ready { "Ready" } else { "not Ready" }.to_owned(),
            if node.cordoned { "cordoned" } else { "" }.to_owned(),
            count(node.pods.len(), "pod"),
            taints,
        ];
        self.headline(f, &format!("Node {}", node.name), &facts)?;
        if let Some(unreadable) = &node.unreadable {
            self.screen.line(f, &unreadable.message, Some(Ink::Warning))?;
            self.remedy(f, 0, unreadable.remedy.as_deref())?;
        }
        self.halted(f, node.halted.as_ref())?;
        self.load(f, &node.load)?;
        self.views(f, &node.views)?;
        self.steering(f, node.steering.as_ref())?;
        if !node.arriving.is_empty() {
            self.screen.title(f, "Arriving", "pods of other nodes that would land here")?;
            self.screen.line(f, &node.arriving.join(", "), Some(Ink::Cold))?;
        }
        self.pods(f, &node.pods, false)
    }

    pub(super) fn workload(
        &self,
        f: &mut fmt::Formatter<'_>,
        workload: &WorkloadExplanation,
    ) -> fmt::Result {
        let key = &workload.workload;
        let facts = [
            format!("{} of {} Ready", workload.ready, workload.replicas),
            budgets(&workload.budgets),
        ];
        self.headline(f, &format!("{} {}/{}", key.kind, key.namespace, key.name), &facts)?;
        self.halted(f, workload.halted.as_ref())?;
        self.pods(f, &workload.pods, true)?;
        self.ledger(f, &workload.ledger, workload.at)
    }

    /// Writes the class of the node for each strategy that balances nodes.
    fn views(&self, f: &mut fmt::Formatter<'_>, views: &[StrategyView]) -> fmt::Result {
        if views.is_empty() {
            return Ok(());
        }
        let note = "balancing strategies; before → after the moves of this cycle";
        self.screen.title(f, "Strategies", note)?;
        for view in views {
            self.view(f, view)?;
        }
        Ok(())
    }

    fn view(&self, f: &mut fmt::Formatter<'_>, view: &StrategyView) -> fmt::Result {
        let ink = Ink::of_class(view.class.code);
        let sentence = view.class.message.trim_start_matches("hot: ");
        let text = format!("{}: {sentence}", view.class.code);
        self.screen.beside(f, &format!("{}  ", view.strategy), &text, ink)?;
        self.remedy(f, 2, view.class.remedy.as_deref())?;
        let rows =
            view.standing.iter().map(|(resource, standing)| standing_row(resource, standing));
        for line in Table::new(rows).lines() {
            writeln!(f, "  {line}")?;
        }
        for (pool, idle) in &view.idle {
            let text = format!("no moves in pool {pool}: {}", idle.message);
            self.screen.beside(f, "  ", &text, Some(Ink::Warning))?;
            self.remedy(f, 2, idle.remedy.as_deref())?;
        }
        Ok(())
    }

    fn steering(&self, f: &mut fmt::Formatter<'_>, steer: Option<&Steer>) -> fmt::Result {
        let Some(steer) = steer else { return Ok(()) };
        let note = "a PreferNoSchedule taint, so that the scheduler chooses this node last";
        self.screen.title(f, "Steering", note)?;
        let head = format!("{}  ", steer.action);
        self.screen.beside(f, &head, &steer.why.to_string(), None)?;
        self.remedy(f, head.len(), steer.why.remedy().as_deref())
    }

    fn pods(&self, f: &mut fmt::Formatter<'_>, pods: &[PodLine], with_node: bool) -> fmt::Result {
        if pods.is_empty() {
            return writeln!(f, "\nno pods");
        }
        let note = "heaviest first, each with its most important verdict";
        self.screen.title(f, "Pods", note)?;
        let (most, left_out) = self.shown(pods.len(), MOST_PODS);
        let rows = pods[..most].iter().map(|pod| pod_row(pod, with_node));
        let heads = padded(&Table::new(rows).right(3).right(4).lines());
        let mut previous = String::new();
        for (head, pod) in heads.iter().zip(pods) {
            previous = self.pod_verdict(f, head, pod, &previous)?;
        }
        self.screen.left_out(f, left_out, " pods")
    }

    /// Writes the verdict on a pod and returns it. A verdict equal to the previous one is not
    /// repeated.
    fn pod_verdict(
        &self,
        f: &mut fmt::Formatter<'_>,
        head: &str,
        pod: &PodLine,
        previous: &str,
    ) -> Result<String, fmt::Error> {
        let Some(line) = foremost(&pod.verdicts) else {
            writeln!(f, "{}", head.trim_end())?;
            return Ok(String::new());
        };
        let is_kept = matches!(line.verdict, PodVerdict::Kept(_));
        let text = match line.verdict {
            PodVerdict::Kept(_) => format!("stays: {}", line.verdict),
            PodVerdict::Proposed { .. } => format!("proposed: {}", line.verdict),
            PodVerdict::Moved { .. } | PodVerdict::NotSelected(_) => line.verdict.to_string(),
        };
        let is_repeated = text == previous;
        let printed = if is_repeated { "as above" } else { &text };
        let ink = verdict_ink(&line.verdict);
        self.screen.beside_or_below(f, head, printed, Some(ink))?;
        if let Some(remedy) = line.verdict.remedy().filter(|_| is_kept && !is_repeated) {
            let indent = " ".repeat(head.chars().count());
            let remedy = to_change(&remedy);
            self.screen.beside_or_below(f, &indent, &remedy, Some(Ink::Dim))?;
        }
        Ok(text)
    }
}

fn pod_row(pod: &PodLine, with_node: bool) -> Vec<String> {
    let node = pod.node.as_deref().unwrap_or("-");
    let used = pod.used.as_ref();
    let cpu = used.map_or("?".to_owned(), |used| spark::cores(used.cpu));
    let memory = used.map_or("?".to_owned(), |used| spark::bytes(used.memory));
    vec![
        format!("{}/{}", pod.namespace, pod.name),
        if with_node { node } else { "" }.to_owned(),
        if pod.ready { "" } else { "not Ready" }.to_owned(),
        cpu,
        memory,
    ]
}

/// `cpu  ██████┊███│░░  89% →  55%  ┊ threshold 30%  │ target 60%  over by 2.3`.
fn standing_row(resource: &str, standing: &ResourceStatus) -> Vec<String> {
    let band = TargetBand { threshold: standing.threshold, target: standing.target };
    let bar = Bar::change(standing.ratio, standing.after, band);
    let over = standing.over.map(|over| amount(resource, over));
    vec![
        resource.to_owned(),
        bar.text(BAR),
        bar.figures().trim_end().to_owned(),
        band.threshold.map_or(String::new(), |ratio| format!("┊ threshold {ratio}")),
        band.target.map_or(String::new(), |ratio| format!("│ target {ratio}")),
        over.map_or(String::new(), |over| format!("over by {over}")),
    ]
}

fn amount(resource: &str, amount: Amount) -> String {
    match resource {
        "cpu" => spark::cores(amount),
        "memory" => spark::bytes(amount),
        _ => amount.get().to_string(),
    }
}
