//! The soft taints by which the scheduler is steered away from nodes.

use std::fmt;

use crate::model::plan::{Steer, SteerValue};
use crate::view::screen::shown;
use crate::view::table::Table;

use super::PlanText;

/// Longer lists are cut unless `--all` is given.
const MOST_TAINTS: usize = 20;

impl PlanText<'_> {
    pub(super) fn steering(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plan.steering.is_empty() {
            return Ok(());
        }
        let note = "PreferNoSchedule taints, so that the scheduler chooses these nodes last";
        self.screen.title(f, "Steering", note)?;
        let (most, left_out) = shown(self.all, self.plan.steering.len(), MOST_TAINTS);
        let rows = self.plan.steering[..most].iter().map(taint_row);
        self.table(f, Table::new(rows))?;
        self.screen.left_out(f, left_out, "")
    }
}

fn taint_row(steer: &Steer) -> Vec<String> {
    let value = steer.action.value().map(SteerValue::text);
    let action: Vec<&str> = [Some(steer.action.code()), value]
        .into_iter()
        .flatten()
        .collect();
    vec![steer.node.clone(), action.join(" "), steer.why.to_string()]
}
