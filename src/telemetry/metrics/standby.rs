//! An instance that stands by says nothing of the cluster: what it said when it led would be taken for what is so now.

use super::Metrics;

impl Metrics {
    /// Takes back what the last plan and the ledger have come to. Counters stay, for what has happened has happened.
    pub(super) fn fall_silent(&self) {
        let it = &self.0;
        it.node_ratio.clear();
        it.node_class.clear();
        it.nodes.clear();
        for family in [&it.mean, &it.deviation, &it.above_mean] {
            family.clear();
        }
        it.band.clear();
        it.outside_band.clear();
        it.planned.clear();
        it.kept.clear();
        it.idle.clear();
        it.steered.clear();
        it.entries.clear();
        for gauge in [&it.halted, &it.resting, &it.repeat_offenders, &it.skipped] {
            gauge.set(0);
        }
        self.advice(&[], 0);
    }
}
