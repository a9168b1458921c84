//! The soft taints: which nodes the scheduler is steered around.

use std::fmt;

use crate::model::plan::{Steer, SteerValue};

use super::{Page, columns};

/// Longer lists are cut, unless all is asked for.
const MOST: usize = 20;

impl Page<'_> {
    pub(super) fn steering(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plan.steering.is_empty() {
            return Ok(());
        }
        self.title(
            f,
            "Steering",
            "soft taints, which make a node the scheduler's last choice",
        )?;
        let (shown, left_out) = self.fit(self.plan.steering.len(), MOST);
        for line in columns(
            &self.plan.steering[..shown]
                .iter()
                .map(row)
                .collect::<Vec<_>>(),
        ) {
            writeln!(f, "{line}")?;
        }
        if left_out == 0 {
            Ok(())
        } else {
            self.more(f, &format!("{left_out} more"))
        }
    }
}

fn row(it: &Steer) -> Vec<String> {
    let what = [
        Some(it.action.code()),
        it.action.value().map(SteerValue::text),
    ];
    let what: Vec<&str> = what.into_iter().flatten().collect();
    vec![it.node.clone(), what.join(" "), it.why.to_string()]
}
