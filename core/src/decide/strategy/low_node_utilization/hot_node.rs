//! The decision about the pods of one hot node: which of them relieve it, and how much.

use crate::decide::draft::Draft;
use crate::decide::targets::{LoadBasis, ResourceExcess};
use crate::model::plan::{FallingNeed, NotSelected, Reason, SavedEvictions};
use crate::model::snapshot::{NodeId, PodId};
use crate::policy::Basis;
use crate::values::{Amount, Ratio};

use super::relief::PodRelief;

/// The smallest share of an excess that the movable pods of a node must be able to remove together.
/// With less, the node would stay about as hot as it is, so nothing is begun.
const WORTHWHILE: Ratio = Ratio::QUARTER;

/// A hot node, with its excess and the prospect of removing it.
#[derive(Debug)]
pub(super) struct HotNode {
    pub(super) node: NodeId,
    basis: Basis,
    /// At least one, the worst first.
    excess: Vec<ResourceExcess>,
    /// The largest standard deviation of a load above its target, as a share of the node.
    variation: Ratio,
    /// Why nothing is begun on this node; `None` if something is.
    why_not: Option<NotSelected>,
    /// The pods that are worth asking for, in order.
    pub(super) pods: Vec<(PodId, PodRelief)>,
}

impl HotNode {
    /// `movable` are the pods that may be evicted and have not been asked for yet.
    pub(super) fn new(
        draft: &Draft<'_>,
        basis: Basis,
        node: NodeId,
        excess: Vec<ResourceExcess>,
        movable: &[PodId],
    ) -> Self {
        let variations = excess.iter().map(|e| e.variation(draft, basis, node));
        let variations: Vec<Ratio> = variations.collect();
        let why_not = within_variation(draft, &excess, &variations)
            .or_else(|| out_of_reach(draft, basis, &excess, movable));
        let with_need = |one: ResourceExcess| {
            let loads = movable.iter();
            one.with_need(
                loads
                    .filter_map(|p| draft.weight(*p, one.above.resource, basis))
                    .collect(),
            )
        };
        let larger = |a, b: &Ratio| if *b > a { *b } else { a };
        HotNode {
            variation: match LoadBasis::of(draft, node) {
                // The error of a trend is that of a minute, and many pods use less than it.
                LoadBasis::Trend => Ratio::ZERO,
                LoadBasis::Present | LoadBasis::Learned => {
                    variations.iter().fold(Ratio::ZERO, larger)
                }
            },
            why_not,
            pods: Vec::new(),
            node,
            basis,
            excess: excess.into_iter().map(with_need).collect(),
        }
    }

    /// Returns the relief by a pod of this node, or why the pod is not selected.
    pub(super) fn judge(&self, draft: &Draft<'_>, pod: PodId) -> Result<PodRelief, NotSelected> {
        let relief = self.relief(draft, pod)?;
        if let Some(why) = &self.why_not {
            return Err(why.clone());
        }
        match relief.too_light(self.variation) {
            Some((relief, least)) => Err(NotSelected::TooLight { relief, least }),
            None => Ok(relief),
        }
    }

    /// Returns the relief by a pod of this node, or why there is none.
    pub(super) fn relief(&self, draft: &Draft<'_>, pod: PodId) -> Result<PodRelief, NotSelected> {
        NotSelected::unless_gone(draft.world.snapshot.pod(pod))?;
        let relief = PodRelief::of(draft, self.basis, pod, self.node, &self.excess);
        if relief.is_none() {
            let names = self.excess.iter().map(|excess| excess.above.name(draft));
            return Err(NotSelected::RelievesNothing(names.collect()));
        }
        Ok(relief)
    }

    /// The fewest evictions that bring the node below its targets; zero if its excess is too small
    /// to count.
    pub(super) fn need(&self) -> usize {
        if matches!(self.why_not, Some(NotSelected::WithinVariation { .. })) {
            return 0;
        }
        self.excess.iter().map(|one| one.need).max().unwrap_or(0)
    }

    /// The evictions that the node needs less after the move of one of its pods alone, which
    /// succeeds with this probability; `None` if it needs as many.
    pub(super) fn saved_by(
        &self,
        draft: &Draft<'_>,
        pod: PodId,
        success: Ratio,
    ) -> Option<SavedEvictions> {
        let after = self.excess.iter().map(|one| {
            let weight = draft.weight(pod, one.above.resource, self.basis);
            one.need - usize::from(weight.is_some_and(|weight| weight >= one.step))
        });
        let needed = self.need();
        let saved = needed.saturating_sub(after.max().unwrap_or_default());
        let need = (saved > 0).then_some(FallingNeed { saved, needed })?;
        Some(SavedEvictions {
            moves: 1,
            need: Some(need),
            success,
        })
    }

    /// The need as it is shown: `None` if nothing is begun on the node, or all its pods together
    /// are too light.
    pub(super) fn needed(&self) -> Option<usize> {
        let too_light = self.excess.iter().any(|one| one.step == Amount::ZERO);
        (self.why_not.is_none() && !too_light).then(|| self.need())
    }

    /// The same in parts of evictions.
    pub(super) fn parts(&self) -> f64 {
        if self.need() == 0 {
            return 0.0;
        }
        self.excess.iter().map(|one| one.parts).fold(0.0, f64::max)
    }

    /// How far the node is above the target that it exceeds most, in hundredths of a percent.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "ratios are far from the bounds, and casts saturate"
    )]
    pub(super) fn worst_distance(&self) -> i64 {
        let worst = self.excess.first();
        worst.map_or(0, |worst| (worst.above.distance().get() * 10_000.0) as i64)
    }

    /// Why a pod of this node is evicted: the resource that exceeds its target most.
    pub(super) fn reason(&self, draft: &Draft<'_>) -> Option<Reason> {
        let worst = self.excess.first()?;
        Some(Reason::HotNode {
            resource: worst.above.name(draft),
            ratio: worst.above.ratio,
            target: worst.above.target,
            basis: self.basis,
            expected: worst.expected(draft, self.basis, self.node),
        })
    }
}

/// Says that the node is hardly above its targets, compared with how much its load varies.
fn within_variation(
    draft: &Draft<'_>,
    excess: &[ResourceExcess],
    variations: &[Ratio],
) -> Option<NotSelected> {
    let (worst, variation) = (excess.first()?, variations.first()?);
    let mut loads = excess.iter().zip(variations);
    let within = loads.all(|(load, variation)| load.is_within(*variation));
    within.then(|| NotSelected::WithinVariation {
        resource: worst.above.name(draft),
        above: worst.above.distance(),
        variation: *variation,
    })
}

/// Returns the worst excess of which the movable pods together can remove too little.
///
/// The first pod leaves a node only if the node can come below its targets, or much closer to them,
/// even if that takes several cycles. A pod of unknown usage counts as enough.
fn out_of_reach(
    draft: &Draft<'_>,
    basis: Basis,
    excess: &[ResourceExcess],
    movable: &[PodId],
) -> Option<NotSelected> {
    let worst = excess.first()?;
    let reliefs = movable.iter().map(|p| worst.relief(draft, basis, *p));
    let relief: Amount = reliefs.collect::<Option<Vec<_>>>()?.into_iter().sum();
    (relief < worst.amount.times(WORTHWHILE)).then(|| NotSelected::OutOfReach {
        resource: worst.above.name(draft),
        relief: relief.share_of(worst.amount).unwrap_or_default(),
        least: WORTHWHILE,
    })
}
