//! Reasons for moving a pod.

use jiff::SignedDuration;
use serde::{Serialize, Serializer};

use crate::model::ledger::Aim;
use crate::model::snapshot::facts::{Effect, Taint};
use crate::policy::Basis;
use crate::values::Ratio;
use crate::values::text::{self, duration};

/// The present behind an expected ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// The ratio now.
    pub now: Ratio,
    /// The period after now for which the other ratio is expected.
    pub ahead: SignedDuration,
    /// How far the expected ratio may be off, if it follows from a trend.
    pub error: Option<Ratio>,
}

impl Expected {
    /// Returns how fast the ratio changes, and when it exceeds the target. Empty without a trend,
    /// and if the ratio stands still.
    fn course(&self, expected: Ratio, target: Ratio) -> String {
        let Some(error) = self.error else {
            return String::new();
        };
        // The mean of a period that begins now is the value in its middle.
        let minutes = self.ahead.as_secs_f64() / 60.0 / 2.0;
        let slope = (expected.get() - self.now.get()) / minutes;
        let points = (slope * 60.0 * 100.0).round();
        let way = match points {
            _ if points > 0.0 => "rising",
            _ if points < 0.0 => "falling",
            _ => return String::new(),
        };
        let unit = if points.abs() < 2.0 { "point" } else { "points" };
        let course = format!(", {way} {} {unit} an hour", points.abs());
        if self.now > target || slope <= 0.0 {
            return course;
        }
        let wait = minutes_text((target.get() - self.now.get()) / slope);
        let off = minutes_text(error.get() / slope);
        format!("{course}, above {target} in {wait} ± {off}")
    }
}

/// The reason for moving a pod. Serialises as its sentence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum Reason {
    #[error(
        "node {}: {resource} {ratio}{} is above its target of {target}",
        basis.weighed(),
        foreseen(.expected.as_ref(), *.ratio, *.target)
    )]
    HotNode {
        /// The resource that exceeds its target most.
        resource: String,
        /// The ratio of the node before this move.
        ratio: Ratio,
        target: Ratio,
        /// Usage or requests.
        basis: Basis,
        /// The ratio now, if `ratio` is an expectation.
        expected: Option<Expected>,
    },
    #[error("without it, kube-scheduler prefers its node for {pod} of {node}, which is hot")]
    Opening {
        /// The hot node.
        node: String,
        /// The pod of the hot node that can land well afterwards.
        pod: String,
    },
    #[error(
        "node {}: {resource} {ratio} and every other resource are at or below their thresholds ({threshold}), so the node is emptied",
        basis.weighed()
    )]
    UnderusedNode {
        /// The resource that is closest to its threshold.
        resource: String,
        /// The ratio of the node before any move.
        ratio: Ratio,
        threshold: Ratio,
        /// Usage or requests.
        basis: Basis,
    },
    #[error("{here} of {of} replicas are on this node, and its share is {share}")]
    Duplicate {
        /// Replicas on the node.
        here: usize,
        /// All replicas.
        of: usize,
        /// Replicas that the node may have.
        share: usize,
    },
    #[error("{key} {place} has {here} pods and {other} has {there}, and maxSkew is {max_skew}")]
    Skewed {
        /// The topology key.
        key: String,
        /// The topology domain of the pod.
        place: String,
        /// Pods in that domain.
        here: usize,
        /// Pods in the other domain.
        there: usize,
        /// The other domain.
        other: String,
        /// The allowed difference.
        max_skew: u32,
    },
    /// The pod is not moved. The candidate only asks the gates for their answer.
    #[error("only counted")]
    Counted,
    #[error("its required anti-affinity forbids {pod} in the same {topology_key}")]
    Neighbour {
        /// The other pod, as `namespace/name`.
        pod: String,
        /// The topology key that the two pods share.
        topology_key: String,
    },
    #[error(
        "preferred anti-affinity counts {weight} against its node and only {best} against another"
    )]
    NearAvoided {
        /// The sum of the weights of violated terms on its node.
        weight: i64,
        /// The smallest sum on another node.
        best: i64,
    },
    #[error("its node affinity no longer matches its node")]
    WrongNode,
    #[error("its preferred node affinity gives its node the weight {weight} and another {best}")]
    LessPreferred {
        /// The weight of its node.
        weight: i64,
        /// The highest weight of another node.
        best: i64,
    },
    #[error("does not tolerate the taint {0} of its node")]
    Taint(Taint),
    #[error("restarted {restarts} times, and the limit is {limit}")]
    Restarts {
        /// Restarts of its containers.
        restarts: u64,
        /// Restarts from which on the strategy selects a pod.
        limit: u32,
    },
    #[error("{}", all_findings(.0))]
    Found(Vec<Finding>),
}

impl Reason {
    /// Returns the purpose of an eviction for this reason. A finished pod has no replacement.
    pub const fn aim(&self, finished: bool) -> Aim {
        if finished {
            Aim::Clear
        } else if self.lies_in_the_pod() {
            Aim::Renew
        } else if matches!(self, Reason::Opening { .. }) {
            Aim::Opening
        } else {
            Aim::Move
        }
    }

    /// Returns true if the pod itself is the problem, not its node. Its replacement may then land
    /// on any node.
    pub const fn lies_in_the_pod(&self) -> bool {
        matches!(self, Reason::Restarts { .. } | Reason::Found(_))
    }

    /// Returns true if the move mends a preference of the pod, which does not justify breaking
    /// another one.
    pub fn is_a_wish(&self) -> bool {
        match self {
            Reason::Taint(taint) => taint.effect == Effect::PreferNoSchedule,
            Reason::Duplicate { .. }
            | Reason::Skewed { .. }
            | Reason::LessPreferred { .. }
            | Reason::NearAvoided { .. } => true,
            Reason::HotNode { .. }
            | Reason::UnderusedNode { .. }
            | Reason::Opening { .. }
            | Reason::Counted
            | Reason::Neighbour { .. }
            | Reason::WrongNode
            | Reason::Restarts { .. }
            | Reason::Found(_) => false,
        }
    }

    /// Returns true if the move is only a preference, which does not justify landing on a node that
    /// is hot by usage.
    pub fn is_a_preference(&self) -> bool {
        let balances = matches!(self, Reason::HotNode { .. } | Reason::UnderusedNode { .. });
        balances || self.is_a_wish()
    }
}

/// Formats minutes, without seconds.
fn minutes_text(minutes: f64) -> String {
    let whole = minutes.round();
    if whole > 0.0 {
        duration(SignedDuration::from_secs_f64(whole * 60.0))
    } else {
        "0m".to_owned()
    }
}

/// Returns the words after a node's ratio in a reason.
pub(super) fn foreseen(expected: Option<&Expected>, ratio: Ratio, target: Ratio) -> String {
    expected.map_or(String::new(), |present| {
        let (ahead, now) = (duration(present.ahead), present.now);
        let course = present.course(ratio, target);
        format!(", expected in the next {ahead} (now {now}{course}),")
    })
}

fn all_findings(findings: &[Finding]) -> String {
    let mut text = String::new();
    for (i, finding) in findings.iter().enumerate() {
        text.push_str(match i {
            0 => "",
            _ if i + 1 == findings.len() => " and ",
            _ => ", ",
        });
        text.push_str(&finding.to_string());
    }
    text
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One property of a pod that the policy selects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum Finding {
    #[error("has failed")]
    Failed,
    #[error("is {} old, older than {}", text::age(*.age), text::age(*.most))]
    Age {
        age: SignedDuration,
        /// The highest age that the policy allows.
        most: SignedDuration,
    },
    #[error("is in the state {0}")]
    State(String),
    #[error("has the condition {kind}={status}{}", in_brackets(.reason))]
    Condition {
        /// The type of the condition.
        kind: String,
        /// The status of the condition.
        status: String,
        /// The reason of the condition, often empty.
        reason: String,
    },
    #[error("has a container that ended with exit code {0}")]
    ExitCode(i32),
    #[error("belongs to a {0}")]
    Owner(String),
}

fn in_brackets(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(" ({reason})") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::plan::{Class, SteerReason};

    fn percent(value: f64) -> Ratio {
        Ratio::percent(value).unwrap()
    }

    /// A quarter of an hour, before which the ratio is this one.
    fn from(now: f64, error: Option<f64>) -> Expected {
        let ahead = SignedDuration::from_mins(15);
        Expected { now: percent(now), ahead, error: error.map(percent) }
    }

    /// The reason of a node with this usage now and expected in the next quarter of an hour.
    fn hot(now: f64, expected: f64, error: Option<f64>) -> String {
        let reason = Reason::HotNode {
            resource: "cpu".into(),
            ratio: percent(expected),
            target: percent(60.0),
            basis: Basis::Actual,
            expected: Some(from(now, error)),
        };
        reason.to_string()
    }

    #[test]
    fn a_node_that_is_expected_to_be_hot_is_not_said_to_be_so_now() {
        let class = Class::Hot {
            resource: "cpu".into(),
            ratio: percent(60.5),
            target: percent(60.0),
            expected: Some(from(59.0, Some(0.4))),
            needed: Some(1),
        };
        assert_eq!(
            class.to_string(),
            "hot: cpu 60%, expected in the next 15m (now 59%, rising 12 points an hour, \
             above 60% in 5m ± 2m), is above the target 60%, and needs 1 eviction"
        );
        let taint = SteerReason::Hot {
            resource: "cpu".into(),
            ratio: percent(60.5),
            target: percent(60.0),
            expected: Some(from(59.0, None)),
        };
        assert_eq!(
            taint.to_string(),
            "cpu 60%, expected in the next 15m (now 59%), is above the target 60%: new pods should \
             land elsewhere"
        );
    }

    #[test]
    fn a_trend_says_how_fast_the_node_rises_and_when_it_is_above_its_target() {
        assert_eq!(
            hot(59.0, 60.5, Some(0.4)),
            "node usage: cpu 60%, expected in the next 15m (now 59%, rising 12 points an hour, above 60% in 5m ± 2m), is above its target of 60%"
        );
    }

    #[test]
    fn a_slow_rise_has_hours() {
        let text = hot(58.0, 58.25, Some(1.0));
        assert!(text.contains("rising 2 points an hour, above 60% in 1h ± 30m"), "{text}");
    }

    #[test]
    fn a_node_above_its_target_rises_or_falls() {
        let text = hot(64.0, 64.5, Some(1.0));
        assert!(text.contains("(now 64%, rising 4 points an hour), is"), "{text}");
        let text = hot(64.0, 64.125, Some(1.0));
        assert!(text.contains("rising 1 point an hour), is"), "{text}");
        let text = hot(64.0, 63.0, Some(1.0));
        assert!(text.contains("(now 64%, falling 8 points an hour), is"), "{text}");
    }

    #[test]
    fn usage_that_stands_still_or_was_learned_has_no_course() {
        for error in [Some(1.0), None] {
            let text = hot(64.0, 64.0, error);
            assert!(text.contains("(now 64%), is"), "{text}");
        }
        assert!(hot(26.0, 70.0, None).contains("(now 26%), is"));
    }
}
