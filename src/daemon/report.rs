//! What the loop says of a cycle: one line that tells its outcome, and lines for what has changed.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use tracing::{debug, info, warn};

use crate::model::plan::{Class, Move, Outcome, Plan};
use crate::model::usage::Unmeasured;

/// Nodes named in one line; a person counts the rest.
const NAMED: usize = 5;

/// What has been logged and need not be again.
#[derive(Clone, Debug, Default)]
pub struct Told {
    left_alone: BTreeMap<&'static str, Vec<String>>,
}

impl Told {
    /// Names the nodes that are left alone, whenever they are other than before.
    pub(super) fn nodes(&mut self, plan: &Plan) {
        let mut groups: BTreeMap<&'static str, (Vec<String>, String)> = BTreeMap::new();
        for verdict in &plan.nodes {
            let kind = match &verdict.class {
                Class::Unknown(why) => why.kind(),
                Class::Doubtful(_) => "doubtful",
                class @ (Class::Hot { .. }
                | Class::Warming { .. }
                | Class::Cold
                | Class::ColdCordoned
                | Class::Even
                | Class::Underused
                | Class::InUse
                | Class::InUseCordoned
                | Class::Leaving
                | Class::NotReady
                | Class::NotSelected) => {
                    debug!(node = verdict.node, strategy = verdict.strategy, "{class}");
                    continue;
                }
            };
            let (names, _) = groups
                .entry(kind)
                .or_insert_with(|| (Vec::new(), verdict.class.to_string()));
            names.push(verdict.node.clone());
        }
        let now: BTreeMap<&'static str, Vec<String>> = groups
            .iter()
            .map(|(k, (names, _))| (*k, names.clone()))
            .collect();
        if now.is_empty() && !self.left_alone.is_empty() {
            info!("the usage of every node is known again");
        }
        for (kind, (names, said)) in groups {
            if self.left_alone.get(kind) == Some(&names) {
                continue;
            }
            let listed = list(&names);
            if kind == Unmeasured::FEW {
                info!(nodes = names.len(), "{listed}: {said}");
            } else {
                warn!(nodes = names.len(), code = kind, "{listed}: {said}");
            }
        }
        self.left_alone = now;
    }
}

fn list(names: &[String]) -> String {
    let first = names
        .iter()
        .take(NAMED)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    let (noun, more) = (
        if names.len() == 1 { "node" } else { "nodes" },
        names.len().saturating_sub(NAMED),
    );
    if more == 0 {
        format!("{noun} {first}")
    } else {
        format!("{noun} {first} and {more} more")
    }
}

/// The nodes where the replacement may land, the likeliest first; `None` where nobody asked.
pub(super) fn node_addresses(it: &Move) -> Option<String> {
    let named: Vec<&str> = it.may_land.iter().take(NAMED).map(String::as_str).collect();
    let more = it.may_land.len() - named.len();
    let rest = if more == 0 {
        String::new()
    } else {
        format!(" and {more} more")
    };
    (!named.is_empty()).then(|| named.join(" ") + &rest)
}

/// Logs the line of a cycle, and gives the word for its outcome.
pub(super) fn cycle(
    plan: &Plan,
    outcomes: &[Outcome],
    dry: bool,
    took: SignedDuration,
) -> &'static str {
    let outcome = match (plan.halted.is_some(), plan.moves.is_empty(), dry) {
        (true, _, _) => "halted",
        (_, true, _) => "idle",
        (_, _, true) => "dry-run",
        _ => "acted",
    };
    if dry {
        for it in &plan.moves {
            let (namespace, pod, node, reason) =
                (&it.namespace, &it.pod, &it.node, it.reason.to_string());
            info!(
                namespace,
                pod,
                node,
                may_land = node_addresses(it),
                strategy = it.strategy,
                reason,
                "dry run: would be evicted"
            );
        }
    }
    let evicted = outcomes.iter().filter(|o| **o == Outcome::Evicted).count();
    let nodes = count(plan.nodes.iter().map(|v| v.class.code()));
    let kept = count(plan.kept.iter().map(|k| k.refusal.code()));
    let (planned, skipped, millis) = (plan.moves.len(), plan.skipped.len(), took.as_millis());
    info!(outcome, planned, evicted, nodes, kept, skipped, took_ms = %millis, "cycle: {}", summary(plan, evicted));
    outcome
}

/// The cycle in one clause, for people.
pub(super) fn summary(plan: &Plan, evicted: usize) -> String {
    if let Some(halt) = &plan.halted {
        return halt.to_string();
    }
    let pods = |n: usize| {
        if n == 1 {
            "1 pod".to_owned()
        } else {
            format!("{n} pods")
        }
    };
    match plan.moves.len() {
        0 if !plan.kept.is_empty() => {
            let (n, why) = commonest(plan.kept.iter().map(|k| k.refusal.to_string()));
            let of = if n < plan.kept.len() {
                format!("{n} of them ")
            } else {
                String::new()
            };
            format!(
                "nothing evicted; {} would help, and must stay: {of}{why}",
                pods(plan.kept.len())
            )
        }
        0 if plan.notes.is_empty() => {
            let unknown = plan
                .nodes
                .iter()
                .filter(|v| matches!(v.class, Class::Unknown(_)))
                .count();
            format!(
                "nothing can be weighed: {unknown} of {} nodes are of unknown usage",
                plan.nodes.len()
            )
        }
        0 => {
            let notes: Vec<String> = plan.notes.iter().map(|n| n.why.to_string()).collect();
            format!("nothing to do: {}{}", notes.join("; "), plan.aside())
        }
        planned => format!("{evicted} of {} evicted", pods(planned)),
    }
}

/// The sentence that is said most often, and how often.
fn commonest(sentences: impl Iterator<Item = String>) -> (usize, String) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for sentence in sentences {
        *counts.entry(sentence).or_default() += 1;
    }
    counts
        .into_iter()
        .map(|(sentence, n)| (n, sentence))
        .max_by_key(|(n, _)| *n)
        .unwrap_or_default()
}

/// `code=n` for each code, by code.
fn count<'c>(codes: impl Iterator<Item = &'c str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for code in codes {
        *counts.entry(code).or_default() += 1;
    }
    counts
        .iter()
        .map(|(code, n)| format!("{code}={n}"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_nodes_are_counted_and_few_are_named() {
        let names = |n: usize| (1..=n).map(|i| format!("n{i}")).collect::<Vec<_>>();
        assert_eq!(list(&names(1)), "node n1");
        assert_eq!(list(&names(3)), "nodes n1, n2, n3");
        assert_eq!(list(&names(1000)), "nodes n1, n2, n3, n4, n5 and 995 more");
    }

    #[test]
    fn the_commonest_reason_is_told() {
        assert_eq!(
            commonest(["a", "b", "b"].map(str::to_owned).into_iter()),
            (2, "b".to_owned())
        );
    }

    #[test]
    fn codes_are_counted_in_their_own_order() {
        assert_eq!(count(["b", "a", "b"].into_iter()), "a=1 b=2");
    }
}
