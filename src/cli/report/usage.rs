//! Runs that weigh different things, beside each other: their evenness is that of what is really used.

use std::collections::BTreeMap;

use crate::decide::engine::balance_report::balance;
use crate::model::plan::Balance;
use crate::simulate::trace::Trace;
use crate::values::Ratio;

/// The runs as they are where they weigh the same, else with the evenness of what was really used.
pub(super) fn comparable(traces: &[Trace]) -> Option<Vec<Trace>> {
    let first = traces.first()?;
    let alike = traces.iter().all(|t| t.basis == first.basis);
    (!alike).then(|| traces.iter().map(by_usage).collect())
}

fn by_usage(trace: &Trace) -> Trace {
    let series = |resource: &str| -> Vec<Option<Balance>> {
        let points = trace
            .nodes
            .iter()
            .filter_map(|n| n.actual.get(resource).map(Vec::len))
            .max()
            .unwrap_or_default();
        let at = |point: usize| -> Vec<Ratio> {
            trace
                .nodes
                .iter()
                .filter_map(|n| n.actual.get(resource)?.get(point).copied().flatten())
                .collect()
        };
        (0..points).map(|point| balance(&at(point), None)).collect()
    };
    let even: BTreeMap<String, Vec<Option<Balance>>> = ["cpu", "memory"]
        .map(|resource| (resource.to_owned(), series(resource)))
        .into();
    let ends = |of: fn(&[Option<Balance>]) -> Option<Balance>| {
        even.iter()
            .filter_map(|(resource, series)| Some((resource.clone(), of(series)?)))
            .collect()
    };
    let mut trace = trace.clone();
    trace.summary.before = ends(|series| series.first().copied().flatten());
    trace.summary.after = ends(|series| series.last().copied().flatten());
    trace.balance = even;
    trace
}
