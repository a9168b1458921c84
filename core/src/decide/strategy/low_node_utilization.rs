//! LowNodeUtilization: moves pods from nodes above a target to nodes where they fit below it.
//!
//! Its objective is one number: the evictions that are made plus those that are still needed. The
//! need of a hot node is the fewest of its movable pods that must leave to bring it below its
//! targets (`targets/excess`). Moves that lower it almost certainly come first (`search`). Then
//! come few others in each cycle: single pods and openings, by the evictions that they probably
//! save for each one that they make (`uncertain`, `opening`).
//!
//! A pod that only has to wait for the next cycle counts as gone, so that no worse pod is moved
//! instead. Nothing is begun on a node whose movable pods together can remove less than a quarter
//! of the excess.

use std::collections::{BTreeMap, BTreeSet};

use crate::decide::draft::{Candidate, Draft};
use crate::decide::gate;
use crate::decide::targets::{classify, in_force};
use crate::model::plan::{Class, NotSelected, Reason, Refusal, SavedEvictions};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::LowNodeUtilization;

use super::{ResourceLevel, SelectPods, StrategyRun};

use hot_node::HotNode;
use need::leaves_soon;
use pool::BalancedPool;
use search::SearchState;

mod hot_node;
mod need;
mod opening;
mod pool;
mod relief;
mod search;
mod uncertain;

/// One cycle of the strategy.
#[derive(Debug)]
pub(super) struct LowNodeUtilizationRun<'w> {
    position: usize,
    rule: &'w LowNodeUtilization,
    /// The class of each node when the strategy began.
    classes: BTreeMap<NodeId, Class>,
    pools: Vec<BalancedPool>,
    /// The hot nodes that still need relief.
    hot: BTreeMap<NodeId, HotNode>,
    search: SearchState,
    /// The pods that the openings of this cycle are for.
    followers: BTreeSet<PodId>,
    /// The work of the search for moves that are not certain, in forecasts times nodes.
    uncertain_work: usize,
}

impl<'w> LowNodeUtilizationRun<'w> {
    pub(super) fn start(
        draft: &mut Draft<'w>,
        position: usize,
        rule: &'w LowNodeUtilization,
    ) -> Self {
        let pools = in_force(draft, rule);
        let classes = classify(draft, position, rule, &pools);
        let balanced = |pool| BalancedPool::new(pool, &classes, rule.number_of_nodes);
        let pools: Vec<BalancedPool> = pools.into_iter().map(balanced).collect();
        for pool in &pools {
            if let Some(why) = &pool.idle {
                draft.note(LowNodeUtilization::NAME, &pool.in_force.pool, why.clone());
            }
        }
        let hot = classes.iter().filter(|(_, class)| class.is_hot());
        let hot: Vec<NodeId> = hot.map(|(node, _)| *node).collect();
        let mut run = LowNodeUtilizationRun {
            position,
            rule,
            classes,
            pools,
            hot: BTreeMap::new(),
            search: SearchState::new(hot.len(), draft.work_left(position)),
            followers: BTreeSet::new(),
            uncertain_work: 0,
        };
        for node in hot {
            run.renew(draft, node);
        }
        run.begin_round(draft);
        for (node, class) in &mut run.classes {
            let both = (&mut *class, run.hot.get(node));
            if let (Class::Hot { expected, needed, .. }, Some(hot)) = both {
                (*expected, *needed) = (hot.expected(draft), hot.needed());
            }
            draft.add_verdict(LowNodeUtilization::NAME, *node, class.clone());
        }
        run
    }

    fn pool(&self, node: NodeId) -> Option<&BalancedPool> {
        // The nodes of a pool are in the order of positions.
        self.pools.iter().find(|pool| pool.in_force.nodes.binary_search(&node).is_ok())
    }

    /// The pod as a candidate for the destinations of its pool.
    fn candidate_because(&self, draft: &Draft<'_>, pod: PodId, reason: Reason) -> Candidate {
        let pool = draft.world.snapshot.pod(pod).node.and_then(|node| self.pool(node));
        let destinations = pool.map(|pool| pool.destinations.clone());
        Candidate::new(pod, self.position, reason).within(destinations)
    }

    /// The evictions that the node of a pod needs less after the move of this pod alone.
    fn saved_alone(&self, draft: &Draft<'_>, pod: PodId) -> Option<SavedEvictions> {
        let hot = self.hot.get(&draft.world.snapshot.pod(pod).node?)?;
        Some(SavedEvictions {
            moves: 1,
            need: Some(hot.fall_without(|one| one.weight(draft, pod))?),
            success: draft.success_of(self.position, pod)?,
        })
    }
}

impl SelectPods for LowNodeUtilizationRun<'_> {
    fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        while !self.waits_for_next_cycle(draft) {
            let certain = self.next_certain(draft);
            if let Some(mut next) = certain.or_else(|| self.next_uncertain(draft)) {
                next.saves = next.saves.or_else(|| self.saved_alone(draft, next.pod));
                return Some(next);
            }
            if !self.begin_without_refused(draft) {
                break;
            }
        }
        None
    }

    /// Finds the need of the pod's node again if the answer has changed it.
    fn answered(&mut self, draft: &Draft<'_>, pod: PodId, refusal: Option<&Refusal>) {
        let success = draft.success_of(self.position, pod).filter(|_| refusal.is_none());
        if let Some(success) = success {
            self.search.useless += 1.0 - success.get();
        }
        // No lighter pods go instead of a pod that may go within the time that is looked ahead.
        let waits = |why: &Refusal| {
            let most = draft.world.policy.usage.look_ahead().unwrap_or_default();
            !leaves_soon(draft, why) && why.wait().is_some_and(|wait| wait <= most)
        };
        if let Some(node) = draft.world.snapshot.pod(pod).node
            && !refusal.is_some_and(waits)
        {
            self.renew(draft, node);
        }
    }

    /// The pods that the forecast refuses in the last round. A later move may have made a place for
    /// one of them, which the next cycle then considers. Once the work is used up, the answer at
    /// that time counts.
    fn refused(&mut self, draft: &Draft<'_>) -> Vec<(Candidate, Refusal)> {
        let mut asked = std::mem::take(&mut self.search.asked);
        asked.append(&mut self.search.given_up);
        let ask = |pod| {
            let mut refusal = draft.remembered_refusal(self.position, pod)?;
            let candidate = self.candidate_of(draft, pod)?;
            if !self.search.is_spent() {
                self.search.work += draft.forecast_work();
                refusal = gate::admit(&candidate, draft).err()?;
            }
            Some((candidate, refusal))
        };
        asked.into_iter().filter_map(ask).collect()
    }

    fn work(&self) -> Option<usize> {
        Some(self.search.work.max(self.uncertain_work))
    }

    fn not_reached(&self, draft: &Draft<'_>) -> usize {
        if !self.search.is_spent() {
            return 0;
        }
        let pods = self.hot.values().flat_map(|hot| &hot.pods);
        let left = pods.filter(|(_, relief)| relief.saves > 0 || relief.unknown);
        left.filter(|(pod, _)| !self.is_answered(draft, *pod)).count()
    }

    fn not_selected(&self, run: &StrategyRun<'_, '_>, pod: PodId) -> NotSelected {
        let draft = run.after;
        match self.judge(draft, pod) {
            Ok(_) if self.search.waits_for_landings() => NotSelected::LeftForLater,
            Ok(_) | Err(NotSelected::OutOfReach { .. }) if run.is_late(pod) => run.late(pod),
            Ok(_) if self.search.is_spent() => NotSelected::NotReached,
            Ok(relief) if relief.saves == 0 => {
                let hot =
                    draft.world.snapshot.pod(pod).node.and_then(|node| self.need_of(draft, node));
                NotSelected::SavesNothing { need: hot.map_or(0, |hot| hot.need()) }
            }
            // Its node was relieved, but a move that came later may land there.
            Ok(_) => NotSelected::LeftForLater,
            Err(why @ NotSelected::OutOfReach { .. }) => {
                // The protection of a pod explains more than the weight of all.
                let protected = gate::evictable(pod, self.position, draft).err();
                protected.map_or(why, |refusal| NotSelected::MayNotGo(Box::new(refusal)))
            }
            Err(why) => why,
        }
    }

    /// The pod as a candidate if its node were hot.
    fn candidate(&self, run: &StrategyRun<'_, '_>, pod: PodId) -> Candidate {
        self.candidate_because(run.after, pod, Reason::Counted)
    }

    fn levels(&self, run: &StrategyRun<'_, '_>, node: NodeId) -> Vec<ResourceLevel> {
        let Some(BalancedPool { in_force, .. }) = self.pool(node) else {
            return Vec::new();
        };
        let level = |(&(resource, threshold), &(_, target))| ResourceLevel {
            resource,
            basis: in_force.basis,
            ratio: run.before.room_ratio(node, resource, in_force.basis),
            threshold: Some(threshold),
            target: Some(target),
        };
        let levels = in_force.thresholds.iter().zip(in_force.targets.iter()).map(level);
        levels.filter(|level| !run.before.lacks(node, level.resource)).collect()
    }
}

impl LowNodeUtilization {
    /// The name in verdicts and moves.
    pub const NAME: &str = "LowNodeUtilization";
}
