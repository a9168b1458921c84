//! A node and a workload on a page.

use std::fmt;

use crate::cli::show::nodes::{Ticks, draw, figures};
use crate::cli::show::{Ink, columns};
use crate::decide::explain::{
    NodeExplanation, PodLine, ResourceStatus, StrategyView, WorkloadExplanation, foremost,
};
use crate::model::plan::{PodVerdict, SteerValue};
use crate::values::Amount;

use super::page::{Page, folded, to_change};
use super::pod::budgets;
use super::spark;

/// Longer lists are cut, unless all is asked for.
const MOST_PODS: usize = 25;
const BAR: usize = 24;

impl Page<'_> {
    pub(super) fn node(&self, f: &mut fmt::Formatter<'_>, it: &NodeExplanation) -> fmt::Result {
        let taints = if it.taints.is_empty() {
            String::new()
        } else {
            format!("taints {}", it.taints.join(" "))
        };
        let about = [
            if it.ready {
                "Ready".to_owned()
            } else {
                "not Ready".to_owned()
            },
            if it.cordoned {
                "cordoned".to_owned()
            } else {
                String::new()
            },
            crate::cli::file::counted(it.pods.len(), "pod", "pods"),
            taints,
        ];
        self.headline(f, &format!("Node {}", it.name), &about)?;
        if let Some(doubt) = &it.doubt {
            self.beside(f, "", &doubt.message, Some(Ink::Doubt))?;
            self.remedy(f, 0, doubt.remedy.as_deref())?;
        }
        self.halted(f, it.halted.as_ref())?;
        self.load(f, &it.load)?;
        self.views(f, &it.views)?;
        if let Some(steer) = &it.steering {
            self.title(
                f,
                "Steering",
                "its soft taint, which makes it the scheduler's last choice",
            )?;
            let what = [
                Some(steer.action.code()),
                steer.action.value().map(SteerValue::text),
            ];
            let what = what.into_iter().flatten().collect::<Vec<_>>().join(" ");
            self.beside(f, &format!("{what}  "), &steer.why.to_string(), None)?;
            self.remedy(f, what.len() + 2, steer.why.remedy().as_deref())?;
        }
        if !it.arriving.is_empty() {
            self.title(
                f,
                "Arriving",
                "pods of other nodes that are foreseen to land here",
            )?;
            self.beside(f, "", &it.arriving.join(", "), Some(Ink::Cold))?;
        }
        self.pods(f, &it.pods, false)
    }

    pub(super) fn workload(
        &self,
        f: &mut fmt::Formatter<'_>,
        it: &WorkloadExplanation,
    ) -> fmt::Result {
        let key = &it.workload;
        let about = [
            format!("{} of {} Ready", it.ready, it.replicas),
            budgets(&it.budgets),
        ];
        self.headline(
            f,
            &format!("{} {}/{}", key.kind, key.namespace, key.name),
            &about,
        )?;
        self.halted(f, it.halted.as_ref())?;
        self.pods(f, &it.pods, true)?;
        self.ledger(f, &it.ledger, it.at)
    }

    fn views(&self, f: &mut fmt::Formatter<'_>, views: &[StrategyView]) -> fmt::Result {
        if views.is_empty() {
            return Ok(());
        }
        self.title(
            f,
            "Strategies",
            "what those make of it that look at nodes as a whole; before → after this cycle's moves",
        )?;
        for view in views {
            let ink = match view.class.code {
                "hot" => Some(Ink::Hot),
                "cold" | "underused" => Some(Ink::Cold),
                "warming" | "unknown" | "doubtful" | "not-ready" => Some(Ink::Doubt),
                _ => None,
            };
            let sentence = view.class.message.trim_start_matches("hot: ");
            self.beside(
                f,
                &format!("{}  ", view.strategy),
                &format!("{}: {sentence}", view.class.code),
                ink,
            )?;
            self.remedy(f, 2, view.class.remedy.as_deref())?;
            let rows: Vec<Vec<String>> = view
                .standing
                .iter()
                .map(|(name, it)| standing(name, it))
                .collect();
            for line in columns(&rows) {
                writeln!(f, "  {line}")?;
            }
            for (pool, idle) in &view.idle {
                self.beside(
                    f,
                    "  ",
                    &format!("pool {pool} is left as it is: {}", idle.message),
                    Some(Ink::Doubt),
                )?;
                self.remedy(f, 2, idle.remedy.as_deref())?;
            }
        }
        Ok(())
    }

    fn pods(&self, f: &mut fmt::Formatter<'_>, pods: &[PodLine], with_node: bool) -> fmt::Result {
        if pods.is_empty() {
            return writeln!(f, "\nno pods");
        }
        self.title(
            f,
            "Pods",
            "the heaviest first; of each the word that matters most",
        )?;
        let (shown, left_out) = self.fit(pods.len(), MOST_PODS);
        let used = |pod: &PodLine, of: fn(Amount, Amount) -> String| {
            pod.used.map_or("?".to_owned(), |used| {
                of(used.cpu_nanocores, used.memory_bytes)
            })
        };
        let row = |pod: &PodLine| {
            let place = if with_node {
                pod.node.clone().unwrap_or_else(|| "-".to_owned())
            } else {
                String::new()
            };
            vec![
                format!("{}/{}", pod.namespace, pod.name),
                place,
                if pod.ready {
                    String::new()
                } else {
                    "not Ready".to_owned()
                },
                format!("{:>5}", used(pod, |cpu, _| spark::cores(cpu))),
                format!("{:>6}", used(pod, |_, memory| spark::bytes(memory))),
            ]
        };
        let heads = columns(&super::page::without_empty(
            pods[..shown].iter().map(row).collect(),
        ));
        let width = heads
            .iter()
            .map(|head| head.chars().count())
            .max()
            .unwrap_or(0)
            + 2;
        let mut last: Option<String> = None;
        for (head, pod) in heads.iter().zip(pods) {
            let said = foremost(&pod.words);
            let sentence = said.map_or(String::new(), |said| match said.word {
                PodVerdict::Kept(_) => format!("stays: {}", said.word),
                PodVerdict::Moved { .. } | PodVerdict::NotSelected(_) => said.word.to_string(),
            });
            let repeated = last.as_ref() == Some(&sentence);
            let told = if repeated {
                "the same".to_owned()
            } else {
                sentence.clone()
            };
            let ink = said.map_or(Ink::Dim, |said| Page::ink(&said.word));
            self.wide(f, &format!("{head:width$}"), &told, ink)?;
            if let Some(remedy) = said
                .and_then(|said| said.word.remedy())
                .filter(|_| !repeated && kept(pod))
            {
                self.wide(f, &" ".repeat(width), &to_change(&remedy), Ink::Dim)?;
            }
            last = Some(sentence);
        }
        self.more(f, left_out, "pods")
    }

    /// Beside its head where there is room, else under it.
    fn wide(&self, f: &mut fmt::Formatter<'_>, head: &str, text: &str, ink: Ink) -> fmt::Result {
        if head.chars().count() + 36 <= self.screen.width {
            return self.beside(f, head, text, Some(ink));
        }
        if !head.trim().is_empty() {
            writeln!(f, "{}", head.trim_end())?;
        }
        for line in folded(&format!("    {text}"), self.screen.width, 4) {
            writeln!(f, "{}", self.screen.paint(ink, &line))?;
        }
        Ok(())
    }
}

fn kept(pod: &PodLine) -> bool {
    foremost(&pod.words).is_some_and(|said| matches!(said.word, PodVerdict::Kept(_)))
}

/// `cpu  ██████┊███│░░  89% →  55%  threshold 30%  target 60%  over by 2.3`.
fn standing(name: &str, it: &ResourceStatus) -> Vec<String> {
    let ticks = Ticks {
        low: it.low,
        high: it.high,
    };
    let bar = draw(
        it.ratio.unwrap_or_default(),
        it.after.unwrap_or_default(),
        ticks,
        BAR,
    );
    let amount = |amount: Amount| match name {
        "cpu" => spark::cores(amount),
        "memory" => spark::bytes(amount),
        _ => amount.get().to_string(),
    };
    vec![
        name.to_owned(),
        bar,
        figures(it.ratio, it.after).trim_end().to_owned(),
        it.low
            .map(|low| format!("┊ threshold {low}"))
            .unwrap_or_default(),
        it.high
            .map(|high| format!("│ target {high}"))
            .unwrap_or_default(),
        it.over
            .map(|over| format!("over by {}", amount(over)))
            .unwrap_or_default(),
    ]
}
