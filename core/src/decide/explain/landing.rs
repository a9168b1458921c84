//! Where the scheduler would place a replacement, and why.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::decide::draft::{Candidate, Draft};
use crate::decide::gate;
use crate::decide::scheduler::{self, Scored};
use crate::model::plan::{BadLanding, horizon, limit_name};
use crate::model::snapshot::NodeId;
use crate::policy::ScorePlugin;
use crate::values::Ratio;

/// Where the scheduler would place a replacement, and why.
#[derive(Clone, Debug, Serialize)]
pub struct ReplacementForecast {
    /// Whether the scores of the pod's scheduler are known. If not, any node that can take the
    /// replacement may win.
    pub scores_known: bool,
    /// The nodes that can take it, the best score first.
    pub nodes: Vec<FittingNode>,
    /// The other nodes, by the reason why they cannot take it.
    pub misfits: Vec<Misfits>,
    /// Why the scheduler would choose the pod's own node; `None` if it would not.
    pub return_cause: Option<String>,
}

/// A node that can take the replacement.
#[derive(Clone, Debug)]
pub struct FittingNode {
    /// The node.
    pub node: String,
    /// Whether it is the pod's own node.
    pub home: bool,
    /// The probability that it wins.
    pub chance: Ratio,
    /// Its score.
    pub score: i64,
    /// The contribution of each plugin to the score.
    pub parts: BTreeMap<&'static str, i64>,
    /// The node's largest ratio afterwards, or why the move gains nothing. `None` in the exact
    /// mode, which does not check.
    pub gain: Option<Result<Ratio, BadLanding>>,
}

/// Nodes with the same reason why they cannot take the replacement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Misfits {
    /// The reason, after "is" or "are".
    pub reason: String,
    /// The nodes.
    pub nodes: Vec<String>,
}

impl FittingNode {
    /// Why a landing on this node gains nothing; `None` if it gains something, or in the exact
    /// mode.
    pub fn flaw(&self) -> Option<String> {
        Some(match self.gain.as_ref()?.as_ref().err()? {
            BadLanding::WouldReturn { .. } => "its own node: nothing is gained".to_owned(),
            BadLanding::WouldBeHot {
                resource,
                ratio,
                target,
                while_emptying,
                basis,
                within_a_day,
                ..
            } => {
                format!(
                    "{resource} would be {ratio} by {}{}, above the {} of {target}",
                    basis.label(),
                    horizon(*within_a_day),
                    limit_name(*while_emptying)
                )
            }
            BadLanding::WouldBeUnknown(_) => "its usage is unknown".to_owned(),
            BadLanding::WouldNotHelp { why, .. } => format!("nothing is gained: the node {why}"),
            BadLanding::WouldTrade(_, preference) => format!("it would break {preference}"),
            BadLanding::WouldBeUnreadable(_, why) => format!("it is left alone: {why}"),
            BadLanding::WouldBeClosed(_, closure) => format!("it is {closure}"),
            BadLanding::WouldBeRefused(_, other) => format!("it cannot run the pod: {other}"),
            BadLanding::WouldLackDriver(_, driver) => format!("it lacks the CSI driver {driver}"),
            BadLanding::WouldBeRemoved(_, by) => format!("it would soon leave: {by}"),
            BadLanding::WouldBeExcluded(_) => "the policy excludes it as destination".to_owned(),
            flaw @ (BadLanding::LandsElsewhere(_)
            | BadLanding::WouldDisplace { .. }
            | BadLanding::CouldBeDisplaced { .. }) => flaw.to_string(),
        })
    }
}

crate::object!(FittingNode, |fit| {
    "node": fit.node,
    "home": fit.home,
    "chance": fit.chance,
    "score": fit.score,
    "parts": fit.parts,
    "helps": fit.gain.as_ref().map(Result::is_ok),
    "ratio_after": fit.gain.as_ref().and_then(|gain| gain.as_ref().ok()),
    "code": fit.gain.as_ref().and_then(|gain| Some(gain.as_ref().err()?.code_and_remedy().0)),
    "message": fit.flaw(),
});

pub(super) fn landing(candidate: &Candidate, draft: &Draft<'_>) -> ReplacementForecast {
    let snapshot = draft.world.snapshot;
    let forecast = scheduler::forecast(draft, candidate.pod);
    let gains: BTreeMap<NodeId, _> =
        gate::landings(candidate, draft, &forecast).into_iter().collect();
    let home = snapshot.pod(candidate.pod).node;
    let fit = |scored: &Scored| FittingNode {
        node: snapshot.node(scored.node).name.clone(),
        home: Some(scored.node) == home,
        chance: forecast.chance(scored.node),
        score: scored.total,
        parts: ScorePlugin::ALL
            .into_iter()
            .map(|plugin| (plugin.name(), scored.parts[plugin]))
            .collect(),
        gain: gains.get(&scored.node).cloned(),
    };
    let mut nodes: Vec<FittingNode> = forecast.scored.iter().map(fit).collect();
    // Nodes that may win come first. Another node may have a better score in the case that does not
    // occur.
    nodes.sort_by(|a, b| {
        (b.chance > Ratio::ZERO).cmp(&(a.chance > Ratio::ZERO)).then(b.score.cmp(&a.score))
    });
    let mut misfits: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (node, why) in &forecast.misfits {
        misfits.entry(why.to_string()).or_default().push(snapshot.node(*node).name.clone());
    }
    ReplacementForecast {
        scores_known: scheduler::is_known(draft, candidate.pod),
        nodes,
        misfits: misfits.into_iter().map(|(reason, nodes)| Misfits { reason, nodes }).collect(),
        return_cause: gate::return_cause(candidate, draft, &forecast)
            .map(|cause| cause.to_string()),
    }
}
