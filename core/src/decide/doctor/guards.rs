//! Whether the queries of the guards answer, and whether their labels match the cluster.

use crate::decide::projection::World;
use crate::model::guard::{GuardReport, GuardTarget};
use crate::values::text::{count, list};

use super::{Diagnosis, NAMED};

const CHECK: &str = "guards";
const ANSWER: &str = "run its query by hand against `usage.prometheus`";
const LABELS: &str = "compare the labels of its series with the names of namespaces, workloads and pods; a pod that has just been replaced has series for some minutes, and a series without a label such as `deployment` counts for its namespace";

/// A line for each guard.
pub(super) fn guards(world: World<'_>) -> impl Iterator<Item = Diagnosis> {
    let reports = world.guards.reports(world.now).into_iter();
    reports.map(|report| diagnosis(&report))
}

fn diagnosis(report: &GuardReport) -> Diagnosis {
    let name = &report.guard;
    if let Some(why) = &report.missing {
        let message = format!("guard {name}: {why}");
        let stops = report.stops.iter().any(|stop| stop.target == GuardTarget::Cluster);
        if stops {
            return Diagnosis::failure(CHECK, message, ANSWER);
        }
        if report.stops.is_empty() {
            return Diagnosis::warning(CHECK, format!("{message}, which allows evictions"), ANSWER);
        }
    }
    if let Some(first) = report.stops.first() {
        let message = match report.stops.len() - 1 {
            0 => first.to_string(),
            more => format!("{first}, and {}", count(more, "more stop")),
        };
        return Diagnosis::warning(CHECK, message, first.remedy());
    }
    if !report.unknown.is_empty() {
        let message = format!(
            "guard {name}: its series name unknown objects: {}",
            list(&report.unknown, NAMED)
        );
        return Diagnosis::warning(CHECK, message, LABELS);
    }
    let limit = report.limit;
    Diagnosis::ok(
        CHECK,
        match report.highest {
            Some(highest) => format!(
                "guard {name}: {} series, the highest value is {highest}, the limit {limit}",
                report.series
            ),
            None => format!("guard {name}: {}, which is quiet", report.no_value()),
        },
    )
}
