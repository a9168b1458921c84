//! The pace of one cycle: how many moves may be made that are not sound.
//!
//! A move that is not sound may land badly, or leaves its node with as much to do as before. It is
//! worth an eviction only if nothing better can be done. Often something better can be done a
//! moment later: each move changes which nodes kube-scheduler visits next, and which it prefers. So
//! tentative moves are made only if no sound move is left, and few of them in a cycle.

/// The most moves of a cycle after which a tentative one is still made.
const FEW: usize = 2;
/// With many hot nodes, one such move for this many of them. Both were chosen on random clusters
/// (`tests/arena.sh`): with more moves in a cycle, evictions grow by a third at 200 nodes. At 1,000
/// nodes, one for 20 hot nodes needs 9 % more evictions, and 9 % less time above the targets.
const NODES_FOR_EACH: usize = 30;
/// With more hot nodes than this, most of them would stay hot for hours if each move had to be a
/// good one.
const MANY_HOT: usize = 40;

/// The moves that one cycle has proposed.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// The number of hot nodes when the cycle began.
    hot: usize,
    /// The number of sound moves that were proposed.
    sound: usize,
    /// The number of openings and tentative moves that were proposed.
    tentative: usize,
    /// Whether an opening was looked for in place of the next tentative move.
    opening_tried: bool,
    /// Whether the rest waits for the next cycle.
    ended: bool,
}

impl Pace {
    pub(super) fn of_cycle(hot: usize) -> Self {
        Pace {
            hot,
            ..Pace::default()
        }
    }

    pub(super) const fn count_sound(&mut self) {
        self.sound += 1;
    }

    pub(super) const fn count_tentative(&mut self) {
        self.tentative += 1;
        self.opening_tried = false;
    }

    /// Returns true if an opening may take the place of the next tentative move. True once for each
    /// such move.
    pub(super) const fn try_opening(&mut self) -> bool {
        let tries = !self.opening_tried;
        self.opening_tried = true;
        tries
    }

    /// Returns true if the cycle may propose another tentative move.
    pub(super) fn allows_tentative(&self) -> bool {
        self.sound + self.tentative < FEW.max(self.hot.div_ceil(NODES_FOR_EACH))
    }

    /// Returns true if so many nodes are hot that openings may be worse.
    pub(super) const fn is_urgent(&self) -> bool {
        self.hot > MANY_HOT
    }

    /// Returns true if nothing was proposed.
    pub(super) const fn is_empty(&self) -> bool {
        self.sound == 0 && self.tentative == 0
    }

    /// Leaves the rest for the next cycle.
    pub(super) const fn end(&mut self) {
        self.ended = true;
    }

    pub(super) const fn has_ended(&self) -> bool {
        self.ended
    }
}
