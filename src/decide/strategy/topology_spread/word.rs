//! Why a pod was not asked for.

use std::collections::BTreeSet;

use crate::decide::gate;
use crate::decide::strategy::StrategyRun;
use crate::model::plan::NotSelected;
use crate::model::snapshot::PodId;
use crate::policy::TopologySpread;

use super::super::exact_spread;
use super::super::run::serves;
use super::{Constraint, Place, Running, constraints, counts, helps, in_scope, nodes, places};

/// The places of a constraint, as they were when the strategy began.
struct Laid {
    constraint: Constraint,
    places: Vec<Place>,
}

impl Running {
    /// By what the strategy asks, in its order: the pod, the constraints that are about it, and how its place stands.
    pub(in crate::decide::strategy) fn not_selected(
        turn: &StrategyRun<'_, '_>,
        rule: &TopologySpread,
        pods: &[PodId],
    ) -> Vec<NotSelected> {
        if pods.is_empty() {
            return Vec::new();
        }
        let (draft, exact) = (turn.before, turn.before.world.policy.exact);
        let nodes = nodes(draft);
        let kept = constraints(draft, turn.position, rule, &nodes);
        let chosen: BTreeSet<PodId> = if exact {
            exact_spread::choose(draft, rule, kept.clone(), &nodes)
                .into_iter()
                .map(|(pod, _)| pod)
                .collect()
        } else {
            BTreeSet::new()
        };
        let lay = |constraint: Constraint| Laid {
            places: places(draft, &constraint, &nodes, !exact),
            constraint,
        };
        let laid: Vec<Laid> = kept.into_iter().map(lay).collect();
        pods.iter()
            .map(|pod| of_pod(turn, rule, (&laid, &chosen), *pod))
            .collect()
    }
}

fn of_pod(
    turn: &StrategyRun<'_, '_>,
    rule: &TopologySpread,
    (laid, chosen): (&[Laid], &BTreeSet<PodId>),
    pod: PodId,
) -> NotSelected {
    let (draft, it) = (turn.before, turn.before.world.snapshot.pod(pod));
    if let Err(why) = serves(draft, pod) {
        return why;
    }
    if !in_scope(rule, it) {
        return rule.scope.leaves_out(it).unwrap_or(NotSelected::Labels);
    }
    if !counts(draft, turn.position, rule, pod) {
        let why = gate::evictable(pod, turn.position, draft).err();
        return why.map_or(NotSelected::OthersFirst, |why| {
            NotSelected::MayNotGo(Box::new(why))
        });
    }
    if chosen.contains(&pod) {
        return turn.late(pod);
    }
    let about = laid.iter().filter(|l| l.means(turn, pod));
    let standing = about.map(|l| l.standing(turn, pod));
    standing
        .max_by_key(|(nearness, _)| *nearness)
        .map_or(NotSelected::NoSpread, |(_, why)| why)
}

impl Laid {
    fn means(&self, turn: &StrategyRun<'_, '_>, pod: PodId) -> bool {
        let labels = &turn.before.world.snapshot.pod(pod).labels;
        self.constraint.pods.contains(&pod)
            && self
                .constraint
                .spread(turn.before)
                .pods
                .as_ref()
                .is_some_and(|s| s.matches(labels))
    }

    /// Why the pod was not asked for by this constraint; the larger the number, the nearer it came.
    fn standing(&self, turn: &StrategyRun<'_, '_>, pod: PodId) -> (u8, NotSelected) {
        let spread = self.constraint.spread(turn.before);
        let Some(from) = self
            .places
            .iter()
            .position(|place| place.pods.contains(&pod))
        else {
            return (0, NotSelected::NoPlace(spread.topology_key.clone()));
        };
        let here = &self.places[from];
        if (0..self.places.len()).any(|to| helps(&self.places, spread, from, to)) {
            return (2, turn.late(pod));
        }
        let least = self
            .places
            .iter()
            .map(|place| place.size)
            .min()
            .unwrap_or_default();
        let (key, max_skew) = (spread.topology_key.clone(), spread.max_skew);
        (
            1,
            NotSelected::WithinSkew {
                key,
                here: here.size,
                least,
                max_skew,
            },
        )
    }
}
