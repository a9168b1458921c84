//! Metrics of the last plan.

use jiff::SignedDuration;
use tokio::time::Instant;

use crate::cluster::lock;
use crate::model::plan::{BalanceReport, NodePicture, Plan, PoolPicture};
use crate::policy::{Basis, Policy};

use super::{Metrics, count};

impl Metrics {
    /// Records the last plan. Removes series of nodes and pools that it no longer contains.
    pub fn plan(&self, plan: &Plan, policy: &Policy) {
        let mut plan_at = lock(&self.plan_at);
        *plan_at = Some(Instant::now());
        self.clear_series();
        let all = &self.all;
        all.halted.set(i64::from(plan.halted.is_some()));
        all.proposed.set(count(plan.proposed.len()));
        self.verdicts(plan);
        self.moves(plan, policy);
        self.reasons(plan);
        all.skipped.set(count(plan.skipped.len()));
        all.set_rightsizing(&plan.rightsizing, policy.rightsizing.top);
        self.report(&plan.before, policy);
    }

    fn moves(&self, plan: &Plan, policy: &Policy) {
        let all = &self.all;
        for strategy in policy.strategies.iter().map(|strategy| strategy.rule.name()) {
            let moves = plan.moves.iter().filter(|planned| planned.strategy == strategy).count();
            all.planned.of([strategy]).set(count(moves));
        }
        for steer in &plan.steering {
            let labels = [steer.action.code(), steer.why.code()];
            all.steered.of(labels).inc();
        }
    }

    /// Reasons why pods stay and why strategies are idle.
    fn reasons(&self, plan: &Plan) {
        let all = &self.all;
        for kept in &plan.kept {
            all.kept.of([kept.strategy, kept.refusal.code()]).inc();
        }
        for note in &plan.notes {
            let labels = [note.strategy, &note.pool, note.why.code()];
            all.idle.of(labels).set(1);
        }
    }

    /// Two strategies of the same name may give a node the same class, which counts once.
    fn verdicts(&self, plan: &Plan) {
        for verdict in &plan.nodes {
            let (strategy, class) = (verdict.strategy, verdict.class.code());
            let labels = [&verdict.node, strategy, class];
            // Several rules of one strategy can give a node the same class. It counts once.
            if self.all.node_class.of(labels).set(1) == 0 {
                self.all.nodes.of([strategy, class]).inc();
            }
        }
    }

    fn report(&self, report: &BalanceReport, policy: &Policy) {
        for node in &report.nodes {
            self.ratios(node, policy);
        }
        for pool in &report.pools {
            self.pool(pool);
        }
    }

    /// Resources without measurements have requests only.
    fn ratios(&self, node: &NodePicture, policy: &Policy) {
        let smoothed = policy.usage.smoothing.label();
        let shown = [
            // Raw and smoothed usage are both shown, so that an alert can use the one and a graph
            // the other.
            (Basis::Requests, "none", &node.requests),
            (Basis::Actual, "none", &node.latest),
            (Basis::Actual, smoothed, &node.actual),
        ];
        for (basis, smoothing, ratios) in shown {
            let is_shown =
                |resource: &String| basis == Basis::Requests || node.latest.contains_key(resource);
            for (resource, ratio) in ratios.iter().filter(|(resource, _)| is_shown(resource)) {
                // Unknown usage has no series, because a zero would look idle.
                let Some(ratio) = ratio else { continue };
                let labels = [&node.name, resource, basis.label(), smoothing];
                self.all.node_ratio.of(labels).set(ratio.get());
            }
        }
    }

    fn pool(&self, pool: &PoolPicture) {
        let all = &self.all;
        let basis = pool.basis.label();
        for (resource, balance) in &pool.balance {
            let labels = [&pool.name, resource, basis];
            all.mean.of(labels).set(balance.mean.get());
            all.deviation.of(labels).set(balance.deviation.get());
            all.above_mean.of(labels).set(balance.above_mean.get());
        }
        for (resource, band) in &pool.band {
            for (bound, threshold) in [("low", band.threshold), ("high", band.target)] {
                let Some(threshold) = threshold else { continue };
                let labels = [&pool.name, resource, basis, bound];
                all.band.of(labels).set(threshold.get());
            }
        }
        if let Some(outside) = pool.outside_band {
            let series = all.outside_band.of([&pool.name, basis]);
            series.set(count(outside));
        }
    }

    /// Removes the series of the last plan.
    fn clear_series(&self) {
        let all = &self.all;
        all.node_ratio.clear();
        all.node_class.clear();
        all.nodes.clear();
        for family in [&all.mean, &all.deviation, &all.above_mean] {
            family.clear();
        }
        all.band.clear();
        all.outside_band.clear();
        all.planned.clear();
        all.kept.clear();
        all.idle.clear();
        all.steered.clear();
    }

    /// Removes the values of the last plan once it is older than this.
    pub fn expire_plan(&self, longest: SignedDuration) {
        let longest = longest.unsigned_abs();
        let is_old = lock(&self.plan_at).is_some_and(|at| at.elapsed() > longest);
        if is_old {
            self.clear_plan();
        }
    }

    /// Removes the values of the last plan and the ledger on a standby. They would look current,
    /// but only the leader updates them. Counters keep their values.
    pub(super) fn clear_plan(&self) {
        let mut plan_at = lock(&self.plan_at);
        *plan_at = None;
        self.clear_series();
        let all = &self.all;
        all.entries.clear();
        all.expectation_error.clear();
        let of_ledger = [&all.resting, &all.repeat_offenders, &all.rejected];
        for gauge in [&all.halted, &all.proposed, &all.skipped].into_iter().chain(of_ledger) {
            gauge.set(0);
        }
        all.set_rightsizing(&[], 0);
    }
}
