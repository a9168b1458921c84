//! LowNodeUtilization: moves pods from nodes above a target to nodes where they fit below it.
//!
//! The strategy compares the movable pods of all hot nodes and moves the most promising one first:
//! the one that removes most of an excess and whose replacement most probably lands well. In a
//! large cluster kube-scheduler chooses among few nodes, so this order matters more than which node
//! is hottest. Among pods that each suffice, the least important one goes. A pod that relieves
//! nothing is never selected.
//!
//! Moves that almost certainly help come first, and few others are made in one cycle (`pace`). If
//! nothing can leave a hot node because kube-scheduler would send every replacement to a warm node
//! or back, the strategy moves a pod of another node first (`opening`).
//!
//! A pod that only has to wait for a few intervals counts as gone, so that no worse pod is moved
//! instead. Nothing is begun on a node whose movable pods together can remove less than a quarter
//! of the excess.

use std::collections::{BTreeMap, BTreeSet};

use crate::decide::draft::{Candidate, Draft};
use crate::decide::gate;
use crate::model::plan::{Class, NotSelected, Note, Reach, Reason, Refusal, Verdict};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::LowNodeUtilization;
use crate::values::Amount;

use super::{ResourceLevel, SelectPods, StrategyRun};

use benefit::Benefit;
use excess::ResourceExcess;
use hot_node::{HotNode, still_runs};
use nodes::classify;
use opening::{Heat, Openings};
use pace::Pace;
use pool::BalancedPool;
use queue::CandidateQueue;
use search::NextPod;

mod benefit;
mod chain;
mod eligible;
mod excess;
mod hot_node;
mod nodes;
mod opening;
mod pace;
mod pool;
mod queue;
mod search;

pub use eligible::{absent, fit, unfit};
pub use nodes::{AboveTarget, above_share, above_target, room_ratio};
pub use pool::{in_force, judged};

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
    /// The last candidate. The excess of its node may have changed since.
    last: Option<PodId>,
    /// The hot nodes that still need relief.
    hot: BTreeMap<NodeId, HotNode>,
    queue: CandidateQueue,
    started: bool,
    /// The number of accepted moves when all pods were queued.
    queued_after: usize,
    pace: Pace,
    /// The expected number of moves so far that do not help.
    doubt: f64,
    openings: Openings,
}

/// The number of intervals that a pod may have to wait and still counts as about to leave.
const HORIZON: i32 = 3;

impl<'w> LowNodeUtilizationRun<'w> {
    pub(super) fn start(
        draft: &mut Draft<'w>,
        position: usize,
        rule: &'w LowNodeUtilization,
    ) -> Self {
        let bands = in_force(draft, rule);
        let classes = classify(draft, position, rule, &bands);
        let pools: Vec<BalancedPool> = bands
            .into_iter()
            .map(|band| BalancedPool::new(band, &classes, rule))
            .collect();
        for pool in &pools {
            if let Some(why) = &pool.idle {
                draft.note(Note {
                    strategy: LowNodeUtilization::NAME,
                    pool: pool.band.pool.clone(),
                    why: why.clone(),
                });
            }
        }
        for (node, class) in &classes {
            draft.judge(Verdict {
                node: draft.world.snapshot.node(*node).name.clone(),
                strategy: LowNodeUtilization::NAME,
                class: class.clone(),
            });
        }
        let positions = pools.iter().enumerate();
        LowNodeUtilizationRun {
            pool_of: positions
                .flat_map(|(i, pool)| pool.band.nodes.iter().map(move |n| (*n, i)))
                .collect(),
            position,
            rule,
            classes,
            pools,
            asked: BTreeSet::new(),
            last: None,
            hot: BTreeMap::new(),
            queue: CandidateQueue::default(),
            started: false,
            queued_after: 0,
            pace: Pace::default(),
            doubt: 0.0,
            openings: Openings::default(),
        }
    }

    /// Decides about a pod: the benefit of moving it, or why it is not selected.
    fn judge(&self, draft: &Draft<'_>, pod: PodId) -> Result<Benefit, NotSelected> {
        let facts = draft.world.snapshot.pod(pod);
        let node = facts.node.ok_or(NotSelected::Nowhere)?;
        still_runs(facts)?;
        let excess = self.excess(draft, node)?;
        self.hot_node(draft, node, excess).judge(draft, pod)
    }

    /// The resources in which a node exceeds its targets, the worst first. Pods that only have to
    /// wait count as gone.
    ///
    /// The result is never empty: otherwise it says why no pod of the node is selected.
    fn excess(&self, draft: &Draft<'_>, node: NodeId) -> Result<Vec<ResourceExcess>, NotSelected> {
        let class = self.classes.get(&node).unwrap_or(&Class::NotSelected);
        let (Class::Hot { .. }, Some(pool)) = (class, self.pool(node)) else {
            return Err(NotSelected::Node(class.clone()));
        };
        if let Some(idle) = &pool.idle {
            return Err(NotSelected::Idle(idle.clone()));
        }
        let waiting = self.waiting(draft, node);
        let targets = pool.band.high.iter();
        let mut excess: Vec<ResourceExcess> = targets
            .filter_map(|(resource, target)| {
                let weights = waiting.iter();
                let gone: Amount = weights
                    .filter_map(|p| draft.weight(*p, *resource, self.rule.basis))
                    .sum();
                ResourceExcess::new(draft, self.rule.basis, node, (*resource, *target), gone)
            })
            .collect();
        if excess.is_empty() {
            let pods = draft.world.snapshot.node(node).pods.iter();
            let going = pods.filter(|p| draft.moves(**p)).count();
            let waiting = waiting.len();
            return Err(NotSelected::Enough { going, waiting });
        }
        excess.sort_by(|a, b| {
            let (distance_a, distance_b) = (a.above.distance(), b.above.distance());
            let worst_first = distance_b.order(distance_a);
            worst_first.then(a.above.resource.cmp(&b.above.resource))
        });
        Ok(excess)
    }

    /// A node with its excess, and whether its remaining pods can remove that excess.
    fn hot_node(&self, draft: &Draft<'_>, node: NodeId, excess: Vec<ResourceExcess>) -> HotNode {
        let movable = self.evictable(draft, self.remaining(draft, node));
        HotNode::new(draft, self.rule.basis, node, excess, &movable)
    }

    /// The pods that may be evicted, wherever they would land.
    fn evictable(&self, draft: &Draft<'_>, pods: impl Iterator<Item = PodId>) -> Vec<PodId> {
        pods.filter(|p| gate::evictable(*p, self.position, draft).is_ok())
            .collect()
    }

    /// The pods of a node that are still to be judged.
    fn remaining(&self, draft: &Draft<'_>, node: NodeId) -> impl Iterator<Item = PodId> {
        staying(draft, node).filter(|p| !self.asked.contains(p))
    }

    /// Whether a gate has refused everything on this node.
    fn is_closed(&self, draft: &Draft<'_>, node: NodeId) -> bool {
        self.refusals(draft, node)
            .any(|(_, why)| why.reach() != Reach::Pod)
    }

    /// The pods of a node that only have to wait for a few intervals.
    fn waiting(&self, draft: &Draft<'_>, node: NodeId) -> Vec<PodId> {
        let refusals = self.refusals(draft, node);
        let waiting = refusals.filter(|(_, why)| leaves_soon(draft, why));
        waiting.map(|(pod, _)| pod).collect()
    }

    fn refusals<'d>(
        &self,
        draft: &'d Draft<'_>,
        node: NodeId,
    ) -> impl Iterator<Item = (PodId, &'d Refusal)> {
        let asked = draft.pods_on(node).filter(|p| self.asked.contains(p));
        asked.filter_map(|p| Some((p, draft.refusal(self.position, p)?)))
    }

    fn pool(&self, node: NodeId) -> Option<&BalancedPool> {
        self.pools.get(*self.pool_of.get(&node)?)
    }

    /// The pod as a candidate for the destinations of its pool.
    fn candidate_because(&self, draft: &Draft<'_>, pod: PodId, reason: Reason) -> Candidate {
        let node = draft.world.snapshot.pod(pod).node;
        let pool = node.and_then(|node| self.pool(node));
        Candidate {
            pod,
            strategy: self.position,
            reason,
            destinations: pool.map(|pool| pool.destinations(self.rule.basis)),
        }
    }
}

impl SelectPods for LowNodeUtilizationRun<'_> {
    fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        self.refresh(draft);
        while !self.waits_for_landings() {
            let pod = match self.search(draft) {
                Some(NextPod::Refused(pod)) => pod,
                Some(NextPod::Sound(pod)) => {
                    self.pace.count_sound();
                    pod
                }
                None if !self.pace.allows_tentative() => return None,
                None => return self.opening_at_end(draft),
                Some(NextPod::Tentative(_)) if !self.pace.allows_tentative() => {
                    self.pace.end();
                    break;
                }
                Some(NextPod::Tentative(entry)) if self.pace.try_opening() => {
                    self.queue.put_back(entry);
                    match self.next_opening(draft, Heat::Forbidden) {
                        Some(opener) => return Some(opener),
                        None => continue,
                    }
                }
                Some(NextPod::Tentative(entry)) => {
                    self.pace.count_tentative();
                    self.least_important(draft, entry)
                }
            };
            self.asked.insert(pod);
            self.last = Some(pod);
            // A refused pod of a node that has been relieved since is no candidate.
            if let Some(candidate) = self.candidate_of(draft, pod) {
                return Some(candidate);
            }
        }
        self.next_refused(draft)
    }

    fn refused(&mut self, draft: &Draft<'_>) -> Vec<(Candidate, Refusal)> {
        self.refused_before(draft)
    }

    fn not_selected(&self, run: &StrategyRun<'_, '_>, pod: PodId) -> NotSelected {
        match self.judge(run.after, pod) {
            Ok(_) if self.waits_for_landings() => NotSelected::LeftForLater,
            Ok(_) if run.is_late(pod) => run.late(pod),
            Ok(_) if self.queue.is_spent() => NotSelected::NotReached,
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
        let thresholds = pool.band.low.iter().zip(pool.band.high.iter());
        thresholds
            .filter(|((resource, _), _)| !run.before.lacks(node, *resource))
            .map(|((resource, low), (_, high))| ResourceLevel {
                resource: *resource,
                basis,
                ratio: room_ratio(run.before, node, *resource, basis),
                low: Some(*low),
                high: Some(*high),
            })
            .collect()
    }
}

/// The pods of a node that stay there so far.
fn staying(draft: &Draft<'_>, node: NodeId) -> impl Iterator<Item = PodId> {
    let snapshot = draft.world.snapshot;
    let pods = snapshot.node(node).pods.iter().copied();
    pods.filter(move |p| snapshot.pod(*p).stays() && !draft.moves(*p))
}

/// Whether a refused pod may move within a few intervals, so that no worse pod should move instead
/// of it now.
fn leaves_soon(draft: &Draft<'_>, why: &Refusal) -> bool {
    let horizon = draft.world.policy.interval * HORIZON;
    match why.wait() {
        // Every pod waits for the window, so none may move instead of it.
        Some(_) if matches!(why, Refusal::OutsideWindow(_)) => true,
        Some(wait) => wait <= horizon,
        None => why.is_temporary(),
    }
}

impl LowNodeUtilization {
    /// The name in verdicts and moves.
    pub const NAME: &str = "LowNodeUtilization";
}
