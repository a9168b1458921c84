//! The strategies' turns as in a plan, with what each says of the pods that are asked about.

use crate::decide::draft::{Candidate, Draft};
use crate::decide::strategy::{self, Level, StrategyRun};
use crate::model::plan::{Class, Idle, NotSelected, PodVerdict};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::{HighNodeUtilization, LowNodeUtilization, Strategy};

use super::{Case, Said};

/// What the strategies have decided, and what they say.
pub(super) struct Decided<'w> {
    /// When all is decided.
    pub(super) draft: Draft<'w>,
    /// By strategy, what it says of each pod asked about.
    pub(super) said: Vec<Vec<Said>>,
    /// By strategy, what it makes of the node asked about.
    pub(super) made: Vec<Made>,
    /// Each time that the first pod was asked for: the candidate, and the draft of that moment.
    heard: Vec<(Candidate, Draft<'w>)>,
    /// By strategy, the first pod as its candidate, whether or not it asked.
    candidates: Vec<Candidate>,
}

/// What a strategy makes of a node.
pub(super) struct Made {
    pub(super) strategy: usize,
    pub(super) class: Option<Class>,
    /// Why it does nothing, by pool.
    pub(super) idle: Vec<(String, Idle)>,
    pub(super) levels: Vec<Level>,
}

impl<'w> Decided<'w> {
    /// Decides as the engine does, and asks about these pods and this node.
    pub(super) fn new(case: &Case<'w>, pods: &[PodId], node: Option<NodeId>) -> Self {
        let draft = Draft::new(case.world);
        let (said, made, heard, candidates) = Default::default();
        let mut decided = Decided {
            draft,
            said,
            made,
            heard,
            candidates,
        };
        for position in 0..case.world.policy.strategies.len() {
            match case.halted {
                Some(halt) => {
                    let word = PodVerdict::NotSelected(NotSelected::Halted(halt.clone()));
                    decided.said.push(
                        pods.iter()
                            .map(|_| decided.says(position, word.clone()))
                            .collect(),
                    );
                    decided.made.push(Made {
                        strategy: position,
                        class: None,
                        idle: Vec::new(),
                        levels: Vec::new(),
                    });
                }
                None => decided.turn(position, pods, node),
            }
        }
        decided
    }

    fn turn(&mut self, position: usize, pods: &[PodId], node: Option<NodeId>) {
        let first = pods.first().copied();
        let before = self.draft.trial();
        let (verdicts, notes) = (self.draft.verdicts().len(), self.draft.notes().len());
        let heard = &mut self.heard;
        let running = strategy::run(&mut self.draft, position, |candidate, draft| {
            if Some(candidate.pod) == first {
                heard.push((candidate.clone(), draft.trial()));
            }
        });
        let turn = StrategyRun {
            position,
            before: &before,
            after: &self.draft,
        };
        let words: Vec<PodVerdict> = pods
            .iter()
            .map(|pod| running.verdict(&turn, *pod))
            .collect();
        self.candidates
            .extend(first.map(|pod| running.candidate(&turn, pod)));
        let name = node.map(|node| self.draft.world.snapshot.node(node).name.as_str());
        let verdict = self.draft.verdicts()[verdicts..]
            .iter()
            .find(|v| Some(v.node.as_str()) == name);
        let notes = self.draft.notes()[notes..]
            .iter()
            .map(|note| (note.pool.clone(), note.why.clone()));
        self.made.push(Made {
            strategy: position,
            class: verdict.map(|v| v.class.clone()),
            idle: notes.collect(),
            levels: node
                .map(|node| running.levels(&turn, node))
                .unwrap_or_default(),
        });
        self.said.push(
            words
                .into_iter()
                .map(|word| self.says(position, word))
                .collect(),
        );
    }

    fn says(&self, position: usize, word: PodVerdict) -> Said {
        let strategy: &Strategy = self.draft.strategy(position);
        let profile = self.draft.world.policy.profiles[strategy.profile]
            .name
            .clone();
        Said {
            strategy: strategy.rule.name(),
            profile,
            word,
        }
    }

    /// What all strategies say of one of the pods.
    pub(super) fn of(&self, pod: usize) -> Vec<Said> {
        self.said
            .iter()
            .filter_map(|of_strategy| of_strategy.get(pod).cloned())
            .collect()
    }

    /// The first pod as a candidate: of the strategy that moves it, else of one that would have, else of the first that
    /// balances, else of the first; with the draft in which the gates were, or would be, asked. `None` where the policy has no strategy.
    pub(super) fn candidate(&self, pod: PodId) -> Option<(Candidate, &Draft<'w>)> {
        let by = |wanted: fn(&PodVerdict) -> bool| {
            self.said
                .iter()
                .position(|words| words.first().is_some_and(|said| wanted(&said.word)))
        };
        let named = by(|word| matches!(word, PodVerdict::Moved { .. }))
            .or_else(|| by(|word| matches!(word, PodVerdict::Kept(_))));
        if let Some(position) = named
            && let Some((candidate, draft)) = self
                .heard
                .iter()
                .find(|(candidate, _)| candidate.strategy == position)
        {
            return Some((candidate.clone(), draft));
        }
        let strategies = &self.draft.world.policy.strategies;
        let balances = |strategy: &Strategy| {
            LowNodeUtilization::of(&strategy.rule).is_some()
                || HighNodeUtilization::of(&strategy.rule).is_some()
        };
        let position = named
            .or_else(|| strategies.iter().position(balances))
            .unwrap_or(0);
        strategies.get(position)?;
        let candidate = self.candidates.get(position).cloned();
        Some((
            candidate.unwrap_or_else(|| Candidate::counted(pod, position)),
            &self.draft,
        ))
    }
}
