//! The draft of a plan: the cluster as the plan leaves it, with the decisions that led there.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::rc::Rc;

use crate::decide::placement::Landing;
use crate::decide::projection::{Projection, World};
use crate::decide::scheduler::{self, Forecast, PodParts, WithoutDestination};
use crate::model::plan::{
    Class, Idle, MisfitCounts, NodesInUse, Note, Reach, Reason, Refusal, Verdict,
};
use crate::model::snapshot::{NodeId, Pod, PodId};
use crate::values::Ratio;

mod candidate;
mod finish;
mod next_hour;
mod turns;

pub use candidate::{Candidate, DestinationLimits, Prospect};
use turns::Turns;

/// A forecast, and the number of accepted moves that it knew of. It is remembered because it costs
/// far more than anything else in a decision.
type RememberedForecast = (usize, Result<Prospect, Refusal>);

/// The projection after the moves so far, and the decisions. It also gives what the projection
/// gives.
#[derive(Debug)]
pub struct Draft<'w> {
    projection: Projection<'w>,
    other: OtherCase<'w>,
    accepted: Vec<Rc<(Candidate, Landing)>>,
    kept: BTreeMap<(usize, PodId), Refusal>,
    verdicts: Vec<Verdict>,
    notes: Vec<Note>,
    nodes_in_use: Option<NodesInUse>,
    /// The last forecast for each candidate, with the number of moves before it.
    remembered: RefCell<BTreeMap<(usize, PodId), RememberedForecast>>,
    /// Pods for which no other node has room, with the number of moves before.
    without_destination: RefCell<BTreeMap<PodParts, (usize, WithoutDestination)>>,
    /// The last forecast of all, with its pod and the number of moves before it.
    last_forecast: RefCell<Option<(PodId, usize, Rc<Forecast>)>>,
    turns: Turns,
    /// The work of the strategies that have run, by name, in forecasts times nodes.
    work: BTreeMap<&'static str, usize>,
}

/// The other projection that the scheduler may find. It finds each node as in the draft, as in this
/// one, or in between.
#[derive(Clone, Debug)]
pub enum OtherCase<'w> {
    /// There is none.
    None,
    /// Moves with several possible nodes have not landed anywhere. Each case is as likely as the
    /// other.
    Undecided(Projection<'w>),
    /// Pods that may wait for something else take no room, and such moves have not landed either.
    /// Nothing is known about these pods, so a move must be good in both cases.
    Doubtful(Projection<'w>),
}

impl<'w> OtherCase<'w> {
    /// Returns the projection.
    pub const fn projection(&self) -> Option<&Projection<'w>> {
        match self {
            OtherCase::None => None,
            OtherCase::Undecided(other) | OtherCase::Doubtful(other) => Some(other),
        }
    }
}

impl<'w> Deref for Draft<'w> {
    type Target = Projection<'w>;
    fn deref(&self) -> &Projection<'w> {
        &self.projection
    }
}

impl<'w> Draft<'w> {
    /// Creates a draft without decisions. Pods that wait for a node take room on it, except in the
    /// exact mode: descheduler counts only pods on nodes.
    pub fn new(world: World<'w>) -> Self {
        let projection = Projection::new(world);
        let (projection, without) =
            if world.policy.forecasts() { projection.with_waiting() } else { (projection, None) };
        let other = without.map_or(OtherCase::None, OtherCase::Doubtful);
        Draft { other, ..Draft::of(projection, Vec::new()) }
    }

    fn of(projection: Projection<'w>, accepted: Vec<Rc<(Candidate, Landing)>>) -> Self {
        Draft {
            projection,
            other: OtherCase::None,
            accepted,
            kept: BTreeMap::new(),
            verdicts: Vec::new(),
            notes: Vec::new(),
            nodes_in_use: None,
            remembered: RefCell::default(),
            without_destination: RefCell::default(),
            last_forecast: RefCell::default(),
            turns: Turns::default(),
            work: BTreeMap::new(),
        }
    }

    /// Returns a copy without refusals and verdicts, to try the effect of a few more moves.
    #[must_use]
    pub fn fork(&self) -> Self {
        let other = self.other.clone();
        Draft { other, ..Draft::of(self.projection.clone(), self.accepted.clone()) }
    }

    /// Returns a copy without refusals and verdicts in which every pod that leaves soon has ended
    /// for the scheduler, as in a later cycle. Replacements are where the draft expects them. For
    /// usage, terminating pods count as in this draft, and so do the other nodes where moves may
    /// land.
    #[must_use]
    pub fn later(&self) -> Self {
        Draft::of(self.projection.later(), self.accepted.clone())
    }

    /// Returns a copy of a later draft in which one more pod has moved, and has ended if it does so
    /// soon.
    #[must_use]
    pub fn later_after(&self, candidate: Candidate, landing: Landing) -> Self {
        let projection = self.projection.later_after(candidate.pod, &landing);
        let mut later = Draft::of(projection, self.accepted.clone());
        later.accepted.push(Rc::new((candidate, landing)));
        later
    }

    /// Returns the expected node of a moved pod's replacement.
    pub fn landing(&self, pod: PodId) -> Option<NodeId> {
        self.move_of(pod)?.1.on
    }

    /// Returns the moves so far, in order.
    pub fn accepted(&self) -> impl Iterator<Item = &Candidate> {
        self.accepted.iter().map(|accepted| &accepted.0)
    }

    /// Returns where the moves so far may land, in order.
    pub fn landings(&self) -> impl Iterator<Item = &Landing> {
        self.accepted.iter().map(|accepted| &accepted.1)
    }

    /// Counts the moves so far that match a condition.
    pub fn count(&self, counts: impl Fn(&Candidate, &Pod) -> bool) -> u32 {
        let counted = self.accepted().filter(|c| counts(c, self.world.snapshot.pod(c.pod)));
        u32::try_from(counted.count()).unwrap_or(u32::MAX)
    }

    /// Returns the refusal of a pod for a strategy.
    pub fn refusal(&self, strategy: usize, pod: PodId) -> Option<&Refusal> {
        self.kept.get(&(strategy, pod))
    }

    /// Returns all refusals for a strategy, by pod.
    pub fn refusals(&self, strategy: usize) -> impl Iterator<Item = (PodId, &Refusal)> {
        let kept = self.kept.range((strategy, PodId(0))..);
        let kept = kept.take_while(move |((s, _), _)| *s == strategy);
        kept.map(|((_, pod), why)| (*pod, why))
    }

    /// Returns the move of a pod and its expected landing, if the draft moves it.
    pub fn move_of(&self, pod: PodId) -> Option<(&Candidate, &Landing)> {
        if !self.moves(pod) {
            return None;
        }
        let (candidate, landing) = &**self.accepted.iter().find(|one| one.0.pod == pod)?;
        Some((candidate, landing))
    }

    /// Returns the other projection that the scheduler may find.
    pub const fn other_case(&self) -> &OtherCase<'w> {
        &self.other
    }

    /// Returns the weight of each forecast. With moves that are undecided, either forecast may
    /// hold.
    pub const fn forecast_weight(&self) -> f64 {
        if matches!(self.other, OtherCase::Undecided(_)) { 0.5 } else { 1.0 }
    }

    /// Returns the nodes where the moves so far may land.
    pub fn possible_nodes(&self) -> BTreeSet<NodeId> {
        self.landings()
            .flat_map(|landing| landing.possible_nodes.iter().copied().chain(landing.on))
            .collect()
    }

    /// Records a move and shifts the load of the pod.
    pub fn accept(&mut self, candidate: Candidate, landing: Landing) {
        // The replacement is created when the pod has ended, in an order that is not known.
        let snapshot = self.world.snapshot;
        let in_turn = scheduler::in_turn(snapshot, snapshot.pod(candidate.pod));
        let undecided = landing.is_undecided() || in_turn;
        if undecided && matches!(self.other, OtherCase::None) {
            self.other = OtherCase::Undecided(self.projection.clone());
        }
        if let OtherCase::Undecided(without) | OtherCase::Doubtful(without) = &mut self.other {
            let nowhere = Landing { starts: landing.starts.clone(), ..Landing::default() };
            let landing = if undecided { &nowhere } else { &landing };
            without.book(candidate.pod, landing);
        }
        self.projection.book(candidate.pod, &landing);
        self.accepted.push(Rc::new((candidate, landing)));
    }

    /// Records the refusal of a candidate.
    pub fn refuse(&mut self, candidate: &Candidate, why: Refusal) {
        self.kept.insert((candidate.strategy, candidate.pod), why);
    }

    /// Returns true if the gates would refuse every further running pod of a node for a strategy.
    pub fn is_closed(&self, strategy: usize, node: NodeId) -> bool {
        let mut refusals = self.refusals_on(strategy, node);
        refusals.any(|why| why.reach() != Reach::Pod)
    }

    /// Returns true if the node of a pod is closed for a strategy, see [`Draft::is_closed`].
    pub fn closes_node_of(&self, strategy: usize, pod: PodId) -> bool {
        let node = self.world.snapshot.pod(pod).node;
        node.is_some_and(|node| self.is_closed(strategy, node))
    }

    /// Returns true if the gates would refuse a pod for a strategy, whether or not it runs, because
    /// its node is closed.
    pub fn is_on_closed_node(&self, strategy: usize, pod: PodId) -> bool {
        let closes = |node| {
            let mut refusals = self.refusals_on(strategy, node);
            refusals.any(|why| why.reach() == Reach::Node)
        };
        self.world.snapshot.pod(pod).node.is_some_and(closes)
    }

    fn refusals_on(&self, strategy: usize, node: NodeId) -> impl Iterator<Item = &Refusal> {
        let pods = self.world.snapshot.node(node).pods.iter();
        pods.filter_map(move |pod| self.refusal(strategy, *pod))
    }

    /// Records the class in which a strategy puts a node.
    pub fn add_verdict(&mut self, strategy: &'static str, node: NodeId, class: Class) {
        let node = self.world.snapshot.node(node).name.clone();
        self.verdicts.push(Verdict { node, strategy, class });
    }

    /// Returns the verdicts so far.
    pub fn verdicts(&self) -> &[Verdict] {
        &self.verdicts
    }

    /// Returns the notes so far.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Returns the nodes in use, if a strategy empties some of them.
    pub const fn nodes_in_use(&self) -> Option<&NodesInUse> {
        self.nodes_in_use.as_ref()
    }

    /// Records that a strategy empties some of these nodes.
    pub fn empties(&mut self, nodes: NodesInUse) {
        self.nodes_in_use = Some(nodes);
    }

    /// Records the reason why a strategy does nothing in a pool.
    pub fn note(&mut self, strategy: &'static str, pool: &str, why: Idle) {
        self.notes.push(Note { strategy, pool: pool.to_owned(), why });
    }

    /// Returns the work of the forecast for a candidate, in nodes.
    pub fn forecast_work(&self) -> usize {
        let forecasts = 1 + usize::from(self.other.projection().is_some());
        forecasts * self.world.snapshot.nodes.len()
    }

    /// Returns the work that a strategy of the policy may do: its part of what the strategies of
    /// the same kind have left, if all that are still to come get as much.
    pub fn work_left(&self, position: usize) -> usize {
        let name = self.world.strategy(position).rule.name();
        let to_come = self.world.policy.strategies[position..].iter();
        let parts = to_come.filter(|strategy| strategy.rule.name() == name).count();
        let done = self.work.get(name).copied().unwrap_or_default();
        scheduler::MOST_WORK.saturating_sub(done) / parts
    }

    /// Limits the forecasts for the candidates of a strategy, of which so many may come.
    pub fn limit_forecasts(&mut self, position: usize, candidates: usize) {
        self.turns = Turns::new(self.work_left(position), candidates, self.world.cycle());
    }

    /// Ends the turns of a strategy, and counts its work: its own, or that of the turns.
    pub fn end_turns(&mut self, position: usize, own: Option<usize>) {
        let turns = std::mem::take(&mut self.turns);
        let name = self.world.strategy(position).rule.name();
        *self.work.entry(name).or_default() += own.unwrap_or_else(|| turns.work());
    }

    /// Begins the turn of the next candidate.
    pub fn next_turn(&mut self) {
        self.turns.begin(self.forecast_work());
    }

    /// Returns true if the present candidate gets a forecast in this cycle.
    pub const fn has_turn(&self) -> bool {
        !self.turns.is_over()
    }

    /// Returns the forecast for a pod. The next one for the same pod is the same one, until the
    /// draft accepts a move.
    pub fn forecast(&self, pod: PodId) -> Rc<Forecast> {
        let moves = self.accepted.len();
        if let Some((of, at, forecast)) = &*self.last_forecast.borrow()
            && (*of, *at) == (pod, moves)
        {
            return Rc::clone(forecast);
        }
        self.turns.spend(self.forecast_work());
        let forecast = Rc::new(scheduler::forecast(self, pod));
        *self.last_forecast.borrow_mut() = Some((pod, moves, Rc::clone(&forecast)));
        forecast
    }

    /// Returns the forecast for a candidate. For a pod of a hot node, it is made again only after
    /// the draft has accepted another move.
    pub fn remembered(
        &self,
        candidate: &Candidate,
        forecast: impl FnOnce() -> Result<Prospect, Refusal>,
    ) -> Result<Prospect, Refusal> {
        // Only these candidates are asked about more than once, always for the same reason.
        if !matches!(candidate.reason, Reason::HotNode { .. }) {
            return forecast();
        }
        let (key, moves) = ((candidate.strategy, candidate.pod), self.accepted.len());
        let known = self.remembered.borrow().get(&key).cloned();
        match known {
            Some((at, answer)) if at == moves => answer,
            _ => {
                let answer = forecast();
                let entry = (moves, answer.clone());
                self.remembered.borrow_mut().insert(key, entry);
                answer
            }
        }
    }

    /// Records that no other node has room for a pod, and the reasons of these nodes.
    pub fn remember_misfits(&self, pod: PodId, misfits: &MisfitCounts) {
        if let Some(parts) = scheduler::parts(self, pod)
            && let Some(found) = WithoutDestination::new(self, pod, misfits.clone())
        {
            self.without_destination.borrow_mut().insert(parts, (self.accepted.len(), found));
        }
    }

    /// Returns the reasons of all nodes but its own if none of them has room for a pod, as is known
    /// from an equal pod. The draft has accepted no move since.
    pub fn known_misfits(&self, pod: PodId) -> Option<MisfitCounts> {
        let known = self.without_destination.borrow();
        if known.is_empty() {
            return None;
        }
        let (moves, known) = known.get(&scheduler::parts(self, pod)?)?;
        if *moves == self.accepted.len() { known.misfits_of(self, pod) } else { None }
    }

    /// Returns the refusal of a candidate by a forecast that is remembered, of this or an earlier
    /// state of the draft.
    pub fn remembered_refusal(&self, strategy: usize, pod: PodId) -> Option<Refusal> {
        let remembered = self.remembered.borrow();
        remembered.get(&(strategy, pod))?.1.as_ref().err().cloned()
    }

    /// Returns the probability that moving a candidate helps, if a forecast is remembered.
    pub fn success_of(&self, strategy: usize, pod: PodId) -> Option<Ratio> {
        let remembered = self.remembered.borrow();
        let prospect = remembered.get(&(strategy, pod))?.1.as_ref().ok()?;
        Some(prospect.success)
    }
}
