//! An instance that stands by says nothing of the cluster: what it said when it led would be taken for what is so now.

use std::sync::PoisonError;

use super::Metrics;

impl Metrics {
    /// Takes back what the last plan and the ledger have come to. Counters stay, for what has happened has happened.
    pub(super) fn fall_silent(&self) {
        let _whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        let it = &self.all;
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
        it.rightsizing.take(&[], 0);
    }
}
