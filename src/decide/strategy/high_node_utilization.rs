//! HighNodeUtilization: empties nodes that are below their thresholds, so that fewer nodes do the work.
//!
//! A node is emptied only if all its pods may go, but for those that every node has, and their replacements are foreseen
//! to land on nodes that stay, for half an emptied node saves nothing. The emptiest are tried first, and what they hold goes to nodes that are in use, or
//! at least fuller than they are. A scheduler that packs (`MostAllocated`) puts pods there; one that spreads would put
//! them on the node that was just emptied, which the forecast sees.
//!
//! cluster-autoscaler takes emptied nodes away. What it may not take away is not emptied, and what it is about to take
//! away takes no pods. See <https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md>.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use crate::decide::draft::{Candidate, DestinationLimits, Draft, Landing};
use crate::decide::gate;
use crate::model::plan::{Class, Idle, Note, Reach, Reason, Refusal, SteerValue, Verdict};
use crate::model::snapshot::facts::Role;
use crate::model::snapshot::{NodeId, Pod, PodId, Snapshot};
use crate::policy::{Basis, HighNodeUtilization, Rule, Thresholds};
use crate::values::{Amount, Ratio, ResourceId};

use super::low_node_utilization::unfit;

mod word;

/// The strategy at work.
#[derive(Debug)]
pub struct Running {
    /// Why nothing is done; `None` where something is.
    idle: Option<Idle>,
    /// Nodes that are not emptied, since pods of others go there.
    filled: BTreeSet<NodeId>,
    queue: VecDeque<Candidate>,
    asked: Option<PodId>,
    closed: BTreeSet<NodeId>,
}

/// What the strategy weighs, and by which marks.
#[derive(Debug)]
struct Marks {
    position: usize,
    basis: Basis,
    low: Vec<(ResourceId, Ratio)>,
    /// No node is filled above what it has.
    ceiling: Rc<[(ResourceId, Ratio)]>,
    /// Nor above this by what it uses.
    cool: Rc<[(ResourceId, Ratio)]>,
}

/// The nodes, and what has become of them.
#[derive(Debug, Default)]
struct Nodes {
    /// Below the thresholds and not emptied yet, the emptiest first.
    sources: Vec<NodeId>,
    takers: Vec<NodeId>,
    /// Sources to which pods are to go, so that they stay.
    filled: BTreeSet<NodeId>,
    /// Sources that have been emptied already.
    empty: BTreeSet<NodeId>,
}

impl Running {
    pub(super) fn start(
        draft: &mut Draft<'_>,
        position: usize,
        rule: &HighNodeUtilization,
    ) -> Self {
        let marks = Marks::new(draft, position, rule);
        let mut nodes = classify(draft, &marks);
        let idle = nodes.idle(rule);
        let queue = match idle.clone() {
            Some(why) => {
                draft.note(Note {
                    strategy: NAME,
                    pool: "default".to_owned(),
                    why,
                });
                VecDeque::new()
            }
            None => pack(draft, &marks, rule, &mut nodes),
        };
        Running {
            idle,
            filled: nodes.filled,
            queue,
            asked: None,
            closed: BTreeSet::new(),
        }
    }

    pub(super) fn next(&mut self, draft: &Draft<'_>) -> Option<Candidate> {
        let home = |pod: PodId| draft.world.snapshot.pod(pod).node;
        loop {
            let candidate = self.queue.pop_front()?;
            if let Some(last) = self.asked.take()
                && draft
                    .refusal(candidate.strategy, last)
                    .is_some_and(|why| why.reach() != Reach::Pod)
            {
                self.closed.extend(home(last));
            }
            if home(candidate.pod).is_none_or(|n| !self.closed.contains(&n)) {
                self.asked = Some(candidate.pod);
                return Some(candidate);
            }
        }
    }
}

impl Marks {
    fn new(draft: &Draft<'_>, position: usize, rule: &HighNodeUtilization) -> Self {
        let resources = &draft.world.snapshot.resources;
        let known = |levels: &Thresholds| -> Vec<(ResourceId, Ratio)> {
            levels
                .iter()
                .filter_map(|(name, ratio)| Some((resources.find(name)?, *ratio)))
                .collect()
        };
        let low = known(&rule.thresholds);
        let ceiling = low.iter().map(|(r, _)| (*r, Ratio::ONE)).collect();
        Marks {
            position,
            basis: rule.basis,
            low,
            ceiling,
            cool: known(&rule.ceilings).into(),
        }
    }

    fn is_under(&self, draft: &Draft<'_>, node: NodeId) -> bool {
        self.low.iter().all(|(r, threshold)| {
            draft
                .ratio(node, *r, self.basis)
                .is_some_and(|is| is <= *threshold)
        })
    }

    /// How full a node is, in the resource that it has least left of.
    fn fullness(&self, draft: &Draft<'_>, node: NodeId) -> Ratio {
        let ratios = self
            .low
            .iter()
            .filter_map(|(r, _)| draft.ratio(node, *r, self.basis));
        ratios.max_by(|a, b| a.order(*b)).unwrap_or_default()
    }

    fn fullest_first(&self, draft: &Draft<'_>, nodes: &mut [NodeId]) {
        nodes.sort_by(|a, b| {
            self.fullness(draft, *b)
                .order(self.fullness(draft, *a))
                .then(a.cmp(b))
        });
    }

    /// The resource that is nearest to its threshold.
    fn reason(&self, draft: &Draft<'_>, node: NodeId) -> Reason {
        let ratio = |r: ResourceId| draft.ratio(node, r, self.basis).unwrap_or_default();
        let left = |(r, threshold): &(ResourceId, Ratio)| threshold.minus(ratio(*r));
        let nearest = self
            .low
            .iter()
            .min_by(|a, b| left(a).order(left(b)))
            .copied();
        let (resource, threshold) = nearest.unwrap_or((ResourceId::CPU, Ratio::ZERO));
        let name = draft.world.snapshot.resources.name(resource).to_owned();
        Reason::UnderusedNode {
            resource: name,
            ratio: ratio(resource),
            threshold,
            basis: self.basis,
        }
    }

    fn candidate(&self, pod: PodId, reason: &Reason, nodes: &[NodeId]) -> Candidate {
        let (ceiling, cool) = (Rc::clone(&self.ceiling), Rc::clone(&self.cool));
        let room = DestinationLimits {
            nodes: nodes.into(),
            ceiling,
            basis: self.basis,
            cool,
        };
        Candidate {
            pod,
            strategy: self.position,
            reason: reason.clone(),
            room: Some(room),
        }
    }
}

impl Nodes {
    fn idle(&self, rule: &HighNodeUtilization) -> Option<Idle> {
        let cold = self.sources.len();
        if cold == 0 {
            return Some(Idle::NothingUnderused);
        }
        if u32::try_from(cold).is_ok_and(|n| n <= rule.number_of_nodes) {
            return Some(Idle::FewCold {
                cold,
                more_than: rule.number_of_nodes,
            });
        }
        (self.takers.is_empty() && cold == 1).then_some(Idle::NoDestination)
    }

    /// Where the pods of a source may go: nodes in use, and sources that are fuller, or are filled already. Moving them to
    /// an emptier node would gain nothing.
    fn goals(&self, draft: &Draft<'_>, source: NodeId) -> Vec<NodeId> {
        let behind = self
            .sources
            .iter()
            .position(|n| *n == source)
            .unwrap_or_default();
        let open = |n: &NodeId| *n != source && !draft.world.snapshot.node(*n).cordoned;
        let stays = |n: &NodeId| !leaving(draft, *n) && !steered(draft, *n);
        // What is being emptied comes first, before nodes that are empty.
        let fuller = self
            .sources
            .iter()
            .skip(behind + 1)
            .filter(|n| stays(n) && !self.empty.contains(n));
        let filled = self
            .filled
            .iter()
            .filter(|n| !self.sources[behind..].contains(n));
        self.takers
            .iter()
            .chain(fuller)
            .chain(filled)
            .copied()
            .filter(open)
            .collect()
    }
}

/// Whether a node is about to be taken away, by its taints.
fn leaving(draft: &Draft<'_>, node: NodeId) -> bool {
    const MARKS: [&str; 2] = [
        "ToBeDeletedByClusterAutoscaler",
        "DeletionCandidateOfClusterAutoscaler",
    ];
    draft
        .world
        .snapshot
        .node(node)
        .taints
        .iter()
        .any(|t| MARKS.contains(&t.key.as_str()))
}

/// Whether the scheduler is steered around a node so that it can be emptied.
fn steered(draft: &Draft<'_>, node: NodeId) -> bool {
    draft
        .world
        .snapshot
        .node(node)
        .taints
        .iter()
        .any(|t| SteerValue::of(t) == Some(SteerValue::Emptying))
}

/// Why cluster-autoscaler may not take a node away, once it is empty but for what may not go.
pub fn unremovable(draft: &Draft<'_>, node: NodeId) -> Option<String> {
    let snapshot = draft.world.snapshot;
    if snapshot.node(node).scale_down_disabled {
        return Some("the node has the annotation scale-down-disabled: true".to_owned());
    }
    let unsafe_pod = |p: &&PodId| snapshot.pod(**p).annotations.safe_to_evict == Some(false);
    let pod = snapshot
        .node(node)
        .pods
        .iter()
        .find(unsafe_pod)
        .map(|p| snapshot.pod(*p))?;
    Some(format!(
        "pod {} has the annotation safe-to-evict: false",
        pod.name
    ))
}

fn class(draft: &Draft<'_>, marks: &Marks, node: NodeId) -> Class {
    match unfit(draft, marks.basis, node) {
        Some(class) => class,
        None if marks.is_under(draft, node) => Class::Underused,
        None if draft.world.snapshot.node(node).cordoned => Class::InUseCordoned,
        None if leaving(draft, node) => Class::Leaving,
        None => Class::InUse,
    }
}

/// Writes down what each node is.
fn classify(draft: &mut Draft<'_>, marks: &Marks) -> Nodes {
    let mut nodes = Nodes::default();
    for node in draft.world.snapshot.node_ids() {
        let class = class(draft, marks, node);
        if class == Class::Underused {
            nodes.sources.push(node);
        } else if class == Class::InUse {
            nodes.takers.push(node);
        }
        draft.judge(Verdict {
            node: draft.world.snapshot.node(node).name.clone(),
            strategy: NAME,
            class,
        });
    }
    marks.fullest_first(draft, &mut nodes.sources);
    nodes.sources.reverse();
    // What is about to be taken away anyway, or is being emptied, is finished first.
    nodes
        .sources
        .sort_by_key(|n| !(leaving(draft, *n) || steered(draft, *n)));
    nodes.empty = nodes
        .sources
        .iter()
        .copied()
        .filter(|n| is_empty(draft.world.snapshot, *n))
        .collect();
    nodes
}

/// Tries the sources on a copy of the draft, over and over until none more can be emptied.
fn pack(
    draft: &mut Draft<'_>,
    marks: &Marks,
    rule: &HighNodeUtilization,
    nodes: &mut Nodes,
) -> VecDeque<Candidate> {
    let mut queue = VecDeque::new();
    let mut ahead = draft.trial();
    let mut left: Vec<NodeId> = nodes.sources.clone();
    loop {
        let before = left.len();
        let mut stuck = Vec::new();
        for source in std::mem::take(&mut left) {
            if nodes.filled.contains(&source) {
                continue;
            }
            match empty(&ahead, marks, rule, (source, &nodes.goals(&ahead, source))) {
                Ok((after, moves)) => {
                    for candidate in &moves {
                        nodes.filled.extend(
                            after
                                .landing(candidate.pod)
                                .filter(|n| nodes.sources.contains(n)),
                        );
                    }
                    nodes.sources.retain(|n| *n != source || moves.is_empty());
                    ahead = after;
                    queue.extend(moves);
                }
                Err(answers) => stuck.push((source, answers)),
            }
        }
        left = stuck.iter().map(|(source, _)| *source).collect();
        if left.len() == before || left.is_empty() {
            for (candidate, why) in stuck.into_iter().flat_map(|(_, answers)| answers) {
                draft.refuse(&candidate, why);
            }
            return queue;
        }
    }
}

/// Pods that stay, and why.
type Answers = Vec<(Candidate, Refusal)>;

/// What a node would be emptied by, and the draft as it would then be; or why each of its pods stays.
fn empty<'w>(
    ahead: &Draft<'w>,
    marks: &Marks,
    rule: &HighNodeUtilization,
    (source, goals): (NodeId, &[NodeId]),
) -> Result<(Draft<'w>, Vec<Candidate>), Answers> {
    let snapshot = ahead.world.snapshot;
    let reason = marks.reason(ahead, source);
    let (mut pods, held) = pods(ahead, marks, rule, source);
    // The large ones first, for the small ones find a gap.
    pods.sort_by_cached_key(|p| (Reverse(size(ahead, marks, source, *p)), *p));
    let all = |why: Refusal| {
        let answer = |p: &PodId| (marks.candidate(*p, &reason, goals), why.clone());
        pods.iter().map(answer).collect::<Answers>()
    };
    if let Some(why) = unremovable(ahead, source) {
        return Err(all(Refusal::Unremovable(why)));
    }
    if let Some((held, why)) = held.filter(|_| !pods.is_empty()) {
        let mut answers = all(Refusal::NotAlone(snapshot.pod(held).name.clone()));
        answers.push((marks.candidate(held, &reason, goals), why));
        return Err(answers);
    }
    let (mut after, mut moves) = (ahead.trial(), Vec::new());
    for &pod in &pods {
        match land(&after, marks, pod, &reason, goals) {
            Ok((candidate, landing)) => {
                after.accept(candidate.clone(), landing);
                moves.push(candidate);
            }
            Err(why) => {
                let others = || Refusal::NotAlone(snapshot.pod(pod).name.clone());
                let answer = |p: PodId| if p == pod { why.clone() } else { others() };
                return Err(pods
                    .iter()
                    .map(|p| (marks.candidate(*p, &reason, goals), answer(*p)))
                    .collect());
            }
        }
    }
    let mut kindly = moves.clone();
    kindly.sort_by_key(|c| {
        let it = snapshot.pod(c.pod);
        (
            it.priority,
            it.qos,
            it.annotations.prefer_no_eviction,
            Reverse(it.created),
            it.annotations.deletion_cost,
            c.pod,
        )
    });
    // Where pods bear on each other, as by topology spread, not every order leads there.
    Ok(replay(ahead, &kindly).map_or((after, moves), |after| (after, kindly)))
}

/// Who has to leave a node for it to be empty; and one who may not, with the reason.
fn pods(
    ahead: &Draft<'_>,
    marks: &Marks,
    rule: &HighNodeUtilization,
    source: NodeId,
) -> (Vec<PodId>, Option<(PodId, Refusal)>) {
    let (mut leaving, mut held) = (Vec::new(), None);
    for &pod in &ahead.world.snapshot.node(source).pods {
        if !wanted(ahead, pod, rule)
            || ahead.moves(pod)
            || goes_with_its_node(ahead.world.snapshot.pod(pod))
        {
            continue;
        }
        match gate::evictable(pod, marks.position, ahead) {
            Ok(()) => leaving.push(pod),
            Err(why) if why.is_temporary() => leaving.push(pod),
            Err(why) => held = held.or(Some((pod, why))),
        }
    }
    (leaving, held)
}

/// Whether a pod keeps no node from being empty: what a node always has, and what has ended or is about to.
pub fn goes_with_its_node(pod: &Pod) -> bool {
    let placed = pod.annotations.mirror
        || pod.annotations.static_pod
        || pod.owners.iter().any(|o| o.kind == "DaemonSet");
    placed || !pod.stays()
}

/// Whether there is nothing on a node that would have to leave for it to be empty.
pub fn is_empty(snapshot: &Snapshot, node: NodeId) -> bool {
    snapshot
        .node(node)
        .pods
        .iter()
        .all(|pod| goes_with_its_node(snapshot.pod(*pod)))
}

/// The draft after these moves in this order; `None` where one of them then finds no room.
fn replay<'w>(ahead: &Draft<'w>, moves: &[Candidate]) -> Option<Draft<'w>> {
    let mut after = ahead.trial();
    for candidate in moves {
        let landing = gate::landing(candidate, &after).ok()?;
        after.accept(candidate.clone(), landing);
    }
    Some(after)
}

/// Where a pod would land, if that is one of the goals. What merely has to wait for a limit is taken for gone.
fn land(
    draft: &Draft<'_>,
    marks: &Marks,
    pod: PodId,
    reason: &Reason,
    goals: &[NodeId],
) -> Result<(Candidate, Landing), Refusal> {
    let candidate = marks.candidate(pod, reason, goals);
    let landing = match gate::admit(&candidate, draft) {
        Err(why) if why.is_temporary() => gate::landing(&candidate, draft)?,
        answer => answer?,
    };
    Ok((candidate, landing))
}

/// A pod's share of its node, in millionths, of the resource that it takes most of.
fn size(draft: &Draft<'_>, marks: &Marks, node: NodeId, pod: PodId) -> u64 {
    let whole = &draft.world.snapshot.node(node).allocatable;
    let share = |r: ResourceId| {
        draft
            .weight(pod, r, marks.basis)
            .unwrap_or_default()
            .share_of(whole[r])
    };
    let most = marks
        .low
        .iter()
        .filter_map(|(r, _)| share(*r))
        .max_by(|a, b| a.order(*b))
        .unwrap_or_default();
    Amount::new(1_000_000).times(most).get()
}

/// Whether the pod is one that the strategy moves at all.
fn wanted(draft: &Draft<'_>, pod: PodId, rule: &HighNodeUtilization) -> bool {
    !rule.only_thresholding_resources || requests_some(draft, pod, rule)
}

/// Whether the pod has a request of some resource with a threshold.
fn requests_some(draft: &Draft<'_>, pod: PodId, rule: &HighNodeUtilization) -> bool {
    let containers = draft
        .world
        .snapshot
        .pod(pod)
        .containers
        .iter()
        .filter(|c| c.role != Role::Ephemeral);
    let mut requested = containers.flat_map(|c| &c.requested);
    requested.any(|name| {
        rule.thresholds
            .iter()
            .any(|(threshold, _)| threshold == name)
    })
}

const NAME: &str = HighNodeUtilization::NAME;

impl HighNodeUtilization {
    /// How verdicts and moves name it.
    pub const NAME: &str = "HighNodeUtilization";

    /// The rule, where it is this one.
    pub const fn of(rule: &Rule) -> Option<&HighNodeUtilization> {
        if let Rule::HighNodeUtilization(rule) = rule {
            Some(rule)
        } else {
            None
        }
    }
}
