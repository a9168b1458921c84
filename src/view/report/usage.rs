//! Makes runs of policies with different bases comparable: their balance is recomputed from actual
//! usage.

use std::collections::BTreeMap;

use crate::decide::engine::balance_report::balance;
use crate::model::plan::Balance;
use crate::simulate::trace::Trace;
use crate::values::Ratio;

/// The balance of a resource at each step.
type BalanceSeries = Vec<Option<Balance>>;

/// Returns the runs with their balance by actual usage, or `None` if all policies balance by the
/// same basis.
pub(super) fn comparable(traces: &[Trace]) -> Option<Vec<Trace>> {
    let first = traces.first()?;
    let same = traces.iter().all(|trace| trace.basis == first.basis);
    (!same).then(|| traces.iter().map(by_usage).collect())
}

fn by_usage(trace: &Trace) -> Trace {
    let balance: BTreeMap<String, BalanceSeries> = ["cpu", "memory"]
        .map(|resource| (resource.to_owned(), balance_series(trace, resource)))
        .into();
    let mut trace = trace.clone();
    trace.summary.before = each(&balance, |series| series.first().copied().flatten());
    trace.summary.after = each(&balance, |series| series.last().copied().flatten());
    trace.balance = balance;
    trace
}

fn balance_series(trace: &Trace, resource: &str) -> BalanceSeries {
    let steps = trace
        .nodes
        .iter()
        .filter_map(|node| node.actual.get(resource).map(Vec::len))
        .max()
        .unwrap_or_default();
    (0..steps)
        .map(|step| {
            let ratios: Vec<Ratio> = trace
                .nodes
                .iter()
                .filter_map(|node| node.actual.get(resource)?.get(step).copied().flatten())
                .collect();
            balance(&ratios, None)
        })
        .collect()
}

fn each(
    balance: &BTreeMap<String, BalanceSeries>,
    pick: fn(&BalanceSeries) -> Option<Balance>,
) -> BTreeMap<String, Balance> {
    balance
        .iter()
        .filter_map(|(resource, series)| Some((resource.clone(), pick(series)?)))
        .collect()
}
