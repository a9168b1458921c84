//! PodDisruptionBudgets that forbid every eviction.

use std::collections::{BTreeMap, BTreeSet};

use crate::decide::draft::Draft;
use crate::decide::gate;
use crate::model::plan::Disruption;
use crate::model::snapshot::objects::ObjectKind;
use crate::model::snapshot::{PodId, Snapshot};
use crate::values::text::{agree, count, list};

use super::{Diagnosis, NAMED, runs};

/// Budgets that let none of their running pods go, by the answer of the gate about each pod.
pub(super) fn budgets(draft: &Draft<'_>) -> Vec<Diagnosis> {
    let snapshot = draft.world.snapshot;
    let unknown = gate::unknown_kinds(draft);
    let unknown = unknown.iter().find(|u| u.objects.kind == ObjectKind::Budget);
    if let Some(unknown) = unknown {
        let remedy = unknown.objects.remedy();
        return vec![Diagnosis::warning("budgets", unknown.to_string(), remedy)];
    }
    // A pod may have many budgets, so each is asked for once.
    let covered: BTreeSet<&PodId> = snapshot.budgets.iter().flat_map(|b| &b.pods).collect();
    let covered = covered.into_iter().filter(|id| runs(snapshot.pod(**id)));
    let refused =
        covered.filter_map(|id| Some((id, gate::disruption(*id, 0, draft).err().filter(blocks)?)));
    let refused: BTreeMap<&PodId, Disruption> = refused.collect();
    let mut blocking: BTreeMap<String, (Disruption, BTreeSet<String>)> = BTreeMap::new();
    for budget in &snapshot.budgets {
        let pods = || budget.pods.iter().filter(|id| runs(snapshot.pod(**id)));
        let first = pods().next().and_then(|first| refused.get(first));
        let (Some(why), true) = (first, pods().all(|id| refused.contains_key(id))) else {
            continue;
        };
        let kind = blocking.entry(why_forbidden(why));
        let (_, names) = kind.or_insert_with(|| (why.clone(), BTreeSet::new()));
        names.insert(format!("{}/{}", budget.namespace, budget.name));
    }
    let mut lines: Vec<Diagnosis> = unreadable(snapshot).into_iter().collect();
    lines.extend(blocking.into_iter().map(|(kind, (why, names))| {
        let names: Vec<String> = names.into_iter().collect();
        blocking_budgets(&kind, &why, &names)
    }));
    if lines.is_empty() {
        let number = count(snapshot.budgets.len(), "PodDisruptionBudget");
        let message = format!("{number}, none of which forbids every eviction");
        lines.push(Diagnosis::ok("budgets", message));
    }
    lines
}

/// The line for budgets that cannot be read.
fn unreadable(snapshot: &Snapshot) -> Option<Diagnosis> {
    let budgets = snapshot.skipped.iter().filter(|one| one.kind == ObjectKind::Budget.name());
    let names = budgets.map(|one| format!("{}/{}", one.namespace, one.name));
    let names: Vec<String> = names.collect();
    let number = count(names.len(), "PodDisruptionBudget");
    let which = list(&names, NAMED);
    let message =
        format!("{number} cannot be read and may cover any pod of its namespace: {which}");
    let remedy = "correct it; until then no pod of the namespace moves";
    (!names.is_empty()).then(|| Diagnosis::warning("budgets", message, remedy))
}

/// The line for budgets that forbid every eviction for the same reason.
fn blocking_budgets(kind: &str, why: &Disruption, names: &[String]) -> Diagnosis {
    let number = count(names.len(), "PodDisruptionBudget");
    let forbid = agree(names.len(), "forbids", "forbid");
    let which = match (why, names) {
        (Disruption::SeveralBudgets(_), _) => "",
        (_, [_]) => "which ",
        _ => "each of which ",
    };
    let names_of_all = list(names, NAMED);
    let message = format!("{number} {forbid} every eviction: {names_of_all}, {which}{kind}");
    let remedy = match (why, names) {
        (Disruption::Budget { cause, .. }, [_, _, ..]) => cause.remedy("these budgets"),
        _ => why.code_and_remedy().1,
    };
    let remedy = format!("{remedy}; node drains wait for the same pods");
    Diagnosis::warning("budgets", message, remedy)
}

/// Whether a refusal of the gate for budgets lasts until somebody changes something. A status that
/// is not up to date lasts where the disruption controller does not run.
fn blocks(why: &Disruption) -> bool {
    let lasts = matches!(why, Disruption::Budget { cause, .. } if cause.lasts());
    lasts || matches!(why, Disruption::SeveralBudgets(_) | Disruption::StaleBudget(_))
}

/// The reason in a few words, equal for budgets with the same remedy.
fn why_forbidden(why: &Disruption) -> String {
    if let Disruption::SeveralBudgets(names) = why {
        return format!("because several cover the same pods ({names})");
    }
    if let Disruption::Budget { cause, .. } = why {
        return cause.to_string();
    }
    if let Disruption::StaleBudget(_) = why {
        return "has a status that is not up to date".to_owned();
    }
    why.to_string()
}
