//! TaintToleration: the pod must tolerate every NoSchedule and NoExecute taint. Each
//! PreferNoSchedule taint that it does not tolerate lowers the score.

use jiff::SignedDuration;

use crate::model::snapshot::NodeId;
use crate::model::snapshot::facts::{Effect, NodeClosure, Taint, Tolerates, Toleration};

use super::normalise::normalise;
use super::question::Question;

/// The taints of a node that is not Ready. The node controller sets one of them.
const ABSENT: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// Returns true if the tolerations cover every NoSchedule and NoExecute taint. PreferNoSchedule
/// only affects scores.
pub(super) fn tolerated(taints: &[Taint], tolerations: &[Toleration]) -> bool {
    taints
        .iter()
        .filter(|t| t.effect != Effect::PreferNoSchedule)
        .all(|t| tolerations.iter().any(|by| covers(by, t)))
}

/// Returns true if the taint that the control plane sets for a closure keeps a pod away.
pub(super) fn closes(closure: NodeClosure, tolerations: &[Toleration]) -> bool {
    let taint =
        |key: &str| Taint { key: key.to_owned(), value: String::new(), effect: Effect::NoSchedule };
    let taint = closure.taint().map(taint);
    taint.is_some_and(|taint| !tolerations.iter().any(|by| covers(by, &taint)))
}

/// Returns true if the tolerations allow a node that is not Ready, by its taint if that is already
/// set.
pub(super) fn absence_tolerated(taints: &[Taint], tolerations: &[Toleration]) -> bool {
    let mut not_ready = taints.iter().filter(|t| ABSENT.contains(&t.key.as_str())).peekable();
    not_ready.peek().is_some() && not_ready.all(|t| tolerations.iter().any(|by| covers(by, t)))
}

/// Returns the NoExecute taint that removes a pod first although the pod tolerates it, and the time
/// until then; `None` if none does.
///
/// Of several tolerations of a taint the first one counts (`GetMatchingTolerations` in
/// kubernetes/pkg/apis/core/v1/helper/helpers.go, `getMinTolerationTime` in
/// pkg/controller/tainteviction/taint_eviction.go). So do those of a node that is not Ready, which
/// every pod tolerates for five minutes by the defaults of admission.
pub(super) fn removed_by<'t>(
    taints: &'t [Taint],
    tolerations: &[Toleration],
) -> Option<(&'t Taint, SignedDuration)> {
    let limited = taints.iter().filter(|t| t.effect == Effect::NoExecute).filter_map(|t| {
        let by = tolerations.iter().find(|by| covers(by, t))?;
        Some((t, SignedDuration::from_secs(by.seconds?.max(0))))
    });
    limited.min_by_key(|(_, after)| *after)
}

pub(super) fn score(question: &Question<'_, '_>, nodes: &[NodeId]) -> Vec<i64> {
    let tolerations = &question.pod.tolerations;
    let bothers = |t: &&Taint| {
        t.effect == Effect::PreferNoSchedule && !tolerations.iter().any(|by| covers(by, t))
    };
    let count = |node: &NodeId| question.node(*node).taints.iter().filter(bothers).count();
    let mut counts: Vec<i64> =
        nodes.iter().map(|n| i64::try_from(count(n)).unwrap_or(i64::MAX)).collect();
    normalise(&mut counts, true);
    counts
}

/// Returns true if a toleration covers a taint.
pub(super) fn covers(by: &Toleration, taint: &Taint) -> bool {
    let number = || taint.value.parse::<i64>().ok();
    by.effect.is_none_or(|e| e == taint.effect)
        && by.key.as_ref().is_none_or(|k| *k == taint.key)
        && match &by.operator {
            Tolerates::Any => true,
            Tolerates::Equal(value) => *value == taint.value,
            Tolerates::Above(bound) => number().is_some_and(|n| n > *bound),
            Tolerates::Below(bound) => number().is_some_and(|n| n < *bound),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taint(key: &str, value: &str, effect: Effect) -> Taint {
        Taint { key: key.to_owned(), value: value.to_owned(), effect }
    }

    fn toleration(key: Option<&str>, operator: Tolerates, effect: Option<Effect>) -> Toleration {
        Toleration { key: key.map(str::to_owned), operator, effect, seconds: None }
    }

    #[test]
    fn a_soft_taint_keeps_nobody_out() {
        assert!(tolerated(&[taint("a", "", Effect::PreferNoSchedule)], &[]));
        assert!(!tolerated(&[taint("a", "", Effect::NoSchedule)], &[]));
        assert!(!tolerated(&[taint("a", "", Effect::NoExecute)], &[]));
    }

    #[test]
    fn one_catch_all_covers_any_number_of_taints() {
        let taints = [taint("a", "1", Effect::NoSchedule), taint("b", "2", Effect::NoExecute)];
        assert!(tolerated(&taints, &[toleration(None, Tolerates::Any, None)]));
    }

    #[test]
    fn a_node_that_is_not_ready_takes_those_who_tolerate_its_taint() {
        let taints =
            [taint(ABSENT[1], "", Effect::NoSchedule), taint(ABSENT[1], "", Effect::NoExecute)];
        let any = toleration(None, Tolerates::Any, None);
        // The default tolerations of admission let a pod stay for a while. They do not let it start
        // anywhere.
        let stays = toleration(Some(ABSENT[1]), Tolerates::Any, Some(Effect::NoExecute));
        assert!(
            absence_tolerated(&taints, std::slice::from_ref(&any))
                && !absence_tolerated(&taints, &[stays])
        );
        assert!(!absence_tolerated(&[], &[any]));
    }

    #[test]
    fn the_first_toleration_of_a_taint_limits_the_time_on_a_node() {
        let taints = [
            taint("a", "", Effect::NoExecute),
            taint("b", "", Effect::NoExecute),
            taint("b", "", Effect::NoSchedule),
            taint(ABSENT[1], "", Effect::NoExecute),
        ];
        let by = |key, seconds| Toleration { seconds, ..toleration(key, Tolerates::Any, None) };
        let removed = |tolerations: &[Toleration]| {
            let found = removed_by(&taints, tolerations);
            found.map(|(taint, after)| (taint.key.as_str(), after.as_secs()))
        };
        assert_eq!(removed(&[by(None, None)]), None);
        let default = [by(Some(ABSENT[1]), Some(300)), by(None, None)];
        assert_eq!(removed(&default), Some((ABSENT[1], 300)));
        let both = [by(Some("a"), Some(60)), by(Some("b"), Some(-5))];
        assert_eq!(removed(&both), Some(("b", 0)));
        assert_eq!(removed(&both[..1]), Some(("a", 60)));
        assert_eq!(removed(&[by(None, None), by(Some("a"), Some(60))]), None);
    }

    #[test]
    fn a_cordon_can_be_tolerated() {
        let cordon = "node.kubernetes.io/unschedulable";
        assert!(closes(NodeClosure::Cordoned, &[]));
        assert!(!closes(NodeClosure::Cordoned, &[toleration(Some(cordon), Tolerates::Any, None)]));
    }

    #[test]
    fn key_value_and_effect_must_all_agree() {
        let taints = [taint("a", "5", Effect::NoSchedule)];
        let equal = |v: &str| Tolerates::Equal(v.to_owned());
        assert!(tolerated(&taints, &[toleration(Some("a"), equal("5"), Some(Effect::NoSchedule))]));
        assert!(!tolerated(&taints, &[toleration(Some("a"), equal("6"), None)]));
        assert!(!tolerated(&taints, &[toleration(Some("b"), Tolerates::Any, None)]));
        assert!(!tolerated(
            &taints,
            &[toleration(Some("a"), Tolerates::Any, Some(Effect::NoExecute))]
        ));
        assert!(tolerated(&taints, &[toleration(Some("a"), Tolerates::Above(4), None)]));
        assert!(!tolerated(&taints, &[toleration(Some("a"), Tolerates::Below(5), None)]));
    }
}
