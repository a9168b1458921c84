//! Why a pod was not asked for.

use std::collections::BTreeMap;

use crate::decide::draft::Draft;
use crate::decide::gate;
use crate::decide::strategy::StrategyRun;
use crate::decide::strategy::run::serves;
use crate::model::plan::NotSelected;
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::RemoveDuplicates;

use super::{Group, Key, Running, Table, counts, doubled, keys, left_out, nodes, table};

/// What is found of one owner of a pod; the later, the nearer it came to being asked for.
#[derive(PartialEq)]
struct Found {
    nearness: u8,
    why: NotSelected,
}

impl Running {
    /// By what the strategy asks, in its order: the pod, its owners, and how its replicas are spread.
    pub(in crate::decide::strategy) fn not_selected(
        turn: &StrategyRun<'_, '_>,
        rule: &RemoveDuplicates,
        pods: &[PodId],
    ) -> Vec<NotSelected> {
        if pods.is_empty() {
            return Vec::new();
        }
        let nodes = nodes(turn.before);
        let table = table(turn.before, turn.position, rule, &nodes);
        pods.iter()
            .map(|pod| of_pod(turn, rule, (&table, &nodes), *pod))
            .collect()
    }
}

fn of_pod(
    turn: &StrategyRun<'_, '_>,
    rule: &RemoveDuplicates,
    (table, nodes): (&Table<'_>, &[NodeId]),
    pod: PodId,
) -> NotSelected {
    let (draft, it) = (turn.before, turn.before.world.snapshot.pod(pod));
    let node = match serves(draft, pod) {
        Ok(node) => node,
        Err(why) => return why,
    };
    if let Some(why) = left_out(rule, it) {
        return why;
    }
    if !counts(draft, turn.position, pod) {
        let why = gate::evictable(pod, turn.position, draft).err();
        return why.map_or(NotSelected::OthersFirst, |why| {
            NotSelected::MayNotGo(Box::new(why))
        });
    }
    let found = keys(it)
        .into_iter()
        .filter_map(|key| Some(of_group(turn, table.get(&key)?, nodes, (node, pod))));
    found
        .max_by_key(|found| found.nearness)
        .map_or(NotSelected::NoOwner, |found| found.why)
}

fn of_group(
    turn: &StrategyRun<'_, '_>,
    by_node: &BTreeMap<NodeId, BTreeMap<Vec<Key<'_>>, Vec<PodId>>>,
    nodes: &[NodeId],
    (node, pod): (NodeId, PodId),
) -> Found {
    let draft: &Draft<'_> = turn.before;
    if doubled(by_node).next().is_none() {
        return Found {
            nearness: 0,
            why: NotSelected::NoDuplicate,
        };
    }
    let Some(group) = Group::new(draft, nodes, by_node) else {
        return Found {
            nearness: 1,
            why: NotSelected::OneNode,
        };
    };
    let here = group.here.get(&node).copied().unwrap_or_default();
    if here <= group.share {
        return Found {
            nearness: 2,
            why: NotSelected::WithinShare {
                here,
                share: group.share,
            },
        };
    }
    Found {
        nearness: 3,
        why: turn.late(pod),
    }
}
