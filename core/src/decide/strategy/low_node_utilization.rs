//! LowNodeUtilization: moves pods from nodes above a target to nodes where they fit below it.
//!
//! Its objective is one number: the evictions that are made plus those that are still needed. The
//! need of a hot node is the fewest of its movable pods that must leave to bring it below its
//! targets (`targets/excess`). Moves that lower it almost certainly come first (`search`). Then
//! come few others in each cycle: single pods and sequences, by the evictions that they probably
//! save for each one that they make (`sequence`).
//!
//! A pod that only has to wait for the next cycle counts as gone, so that no worse pod is moved
//! instead. Nothing is begun on a node whose movable pods together can remove less than a quarter
//! of the excess.

use std::collections::{BTreeMap, BTreeSet};

use crate::decide::draft::{Candidate, Draft};
use crate::decide::gate;
use crate::decide::targets::{classify, in_force};
use crate::model::plan::{Class, NotSelected, Reason, Refusal};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::LowNodeUtilization;

use super::{ResourceLevel, SelectPods, StrategyRun};

use hot_node::HotNode;
use pool::BalancedPool;
use search::SearchState;

mod hot_node;
mod need;
mod opening;
mod pool;
mod relief;
mod search;
mod sequence;

/// One cycle of the strategy.
#[derive(Debug)]
pub(super) struct LowNodeUtilizationRun<'w> {
    position: usize,
    rule: &'w LowNodeUtilization,
    /// The class of each node when the strategy began.
    classes: BTreeMap<NodeId, Class>,
    pools: Vec<BalancedPool>,
    /// The position of each node's pool.
    pool_of: BTreeMap<NodeId, usize>,
    /// Pods that were candidates.
    asked: BTreeSet<PodId>,
    /// The hot nodes that still need relief.
    hot: BTreeMap<NodeId, HotNode>,
    search: SearchState,
    /// The pods of hot nodes that follow a pod of this cycle in a later one.
    followers: BTreeSet<PodId>,
    /// The work of the search for sequences in this cycle.
    sequence_work: usize,
}

impl<'w> LowNodeUtilizationRun<'w> {
    pub(super) fn start(
        draft: &mut Draft<'w>,
        position: usize,
        rule: &'w LowNodeUtilization,
    ) -> Self {
        let pools = in_force(draft, rule);
        let classes = classify(draft, position, rule, &pools);
        let pools: Vec<BalancedPool> = pools
            .into_iter()
            .map(|pool| BalancedPool::new(pool, &classes, rule))
            .collect();
        for pool in &pools {
            if let Some(why) = &pool.idle {
                draft.note(LowNodeUtilization::NAME, &pool.in_force.pool, why.clone());
            }
        }
        let positions = pools.iter().enumerate();
        let mut run = LowNodeUtilizationRun {
            pool_of: positions
                .flat_map(|(i, pool)| pool.in_force.nodes.iter().map(move |n| (*n, i)))
                .collect(),
            position,
            rule,
            classes,
            pools,
            asked: BTreeSet::new(),
            hot: BTreeMap::new(),
            search: SearchState::default(),
            followers: BTreeSet::new(),
            sequence_work: 0,
        };
        run.begin(draft);
        for (node, class) in &mut run.classes {
            if let (Class::Hot { needed, .. }, Some(hot)) = (&mut *class, run.hot.get(node)) {
                *needed = hot.needed();
            }
            draft.add_verdict(LowNodeUtilization::NAME, *node, class.clone());
        }
        run
    }

    fn pool(&self, node: NodeId) -> Option<&BalancedPool> {
        self.pools.get(*self.pool_of.get(&node)?)
    }

    /// The pod as a candidate for the destinations of its pool.
    fn candidate_because(&self, draft: &Draft<'_>, pod: PodId, reason: Reason) -> Candidate {
        let node = draft.world.snapshot.pod(pod).node;
        let pool = node.and_then(|node| self.pool(node));
        Candidate::new(pod, self.position, reason).within(pool.map(BalancedPool::destinations))
    }
}

impl SelectPods for LowNodeUtilizationRun<'_> {
    fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        if self.search.waits_for_landings() {
            return None;
        }
        let certain = self.next_certain(draft);
        let next = certain.or_else(|| self.next_uncertain(draft))?;
        self.asked.insert(next.pod);
        Some(next)
    }

    fn answered(&mut self, draft: &Draft<'_>, pod: PodId, refusal: Option<&Refusal>) {
        self.take_answer(draft, pod, refusal);
    }

    fn refused(&mut self, draft: &Draft<'_>) -> Vec<(Candidate, Refusal)> {
        self.refused_before(draft)
    }

    fn not_selected(&self, run: &StrategyRun<'_, '_>, pod: PodId) -> NotSelected {
        match self.judge(run.after, pod) {
            Ok(_) if self.search.waits_for_landings() => NotSelected::LeftForLater,
            Ok(_) if run.is_late(pod) => run.late(pod),
            Ok(_) if self.search.is_spent() => NotSelected::NotReached,
            Ok(relief) if relief.saves == 0 => {
                let node = run.after.world.snapshot.pod(pod).node;
                let hot = node.and_then(|node| self.need_of(run.after, node));
                let need = hot.map_or(0, |hot| hot.need());
                NotSelected::SavesNothing { need }
            }
            // Its node was relieved, but a move that came later may land there.
            Ok(_) => NotSelected::LeftForLater,
            Err(NotSelected::TooLight { .. } | NotSelected::OutOfReach { .. })
                if run.is_late(pod) =>
            {
                run.late(pod)
            }
            Err(why @ (NotSelected::TooLight { .. } | NotSelected::OutOfReach { .. })) => {
                // The protection of a pod explains more than its weight.
                let protected = gate::evictable(pod, self.position, run.after).err();
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
        let Some(pool) = self.pool(node) else {
            return Vec::new();
        };
        let basis = self.rule.basis;
        let thresholds = pool
            .in_force
            .thresholds
            .iter()
            .zip(pool.in_force.targets.iter());
        thresholds
            .filter(|((resource, _), _)| !run.before.lacks(node, *resource))
            .map(|((resource, threshold), (_, target))| ResourceLevel {
                resource: *resource,
                basis,
                ratio: run.before.room_ratio(node, *resource, basis),
                threshold: Some(*threshold),
                target: Some(*target),
            })
            .collect()
    }
}

impl LowNodeUtilization {
    /// The name in verdicts and moves.
    pub const NAME: &str = "LowNodeUtilization";
}
