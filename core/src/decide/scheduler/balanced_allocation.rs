//! NodeResourcesBalancedAllocation: a node scores by how much the pod balances the requested shares
//! of its resources. Since Kubernetes 1.36 the change of the balance counts, centred on 75. Before,
//! the balance counted that the node would have.
//!
//! An example: with the pod, 5 of 8 cores and 8 of 32 GiB are requested. The shares 62.5 % and 25 %
//! are 18.75 points from their mean, so the balance is 81. Without the pod, of 1 core and 1 GiB, it
//! is 85. Kubernetes 1.35 gives 81, and 1.36 gives 50 + (50 + 81 − 85) ÷ 2 = 73.

use smallvec::SmallVec;

use crate::model::snapshot::NodeId;
use crate::policy::KubernetesRelease;

use super::node_resources::{ResourceRequests, ScoredResource};
use super::question::Question;

/// Scores the nodes. Since Kubernetes 1.33 a pod without requests is not scored, because all such
/// pods would go to one node.
pub(super) fn score(question: &Question<'_, '_>, nodes: &[NodeId]) -> Option<Vec<i64>> {
    let weighed: Vec<ScoredResource> = question
        .profile
        .balanced
        .iter()
        .filter_map(|name| ScoredResource::new(question, name, 1, false))
        .collect();
    let release = question.profile.release;
    let requests = weighed.iter().any(ScoredResource::requested);
    if !requests && !release.balances_pods_without_requests() {
        return None;
    }
    let levels = |node: &NodeId| {
        weighed.iter().filter_map(|w| w.level(question, *node)).collect::<SmallVec<[_; 4]>>()
    };
    let points = |node| points(&levels(node), release);
    Some(nodes.iter().map(points).collect())
}

fn points(levels: &[ResourceRequests], release: KubernetesRelease) -> i64 {
    let with = evenness(levels, |level| level.after);
    if !release.balance_counts_the_change() {
        return with;
    }
    let without = evenness(levels, |level| level.before);
    50 + (50 + with - without) / 2
}

/// Returns 100 minus the standard deviation of the shares: 100 if all shares are equal.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "as the scheduler rounds it"
)]
fn evenness(levels: &[ResourceRequests], taken: impl Fn(&ResourceRequests) -> i64) -> i64 {
    let share = |level: &ResourceRequests| (taken(level) as f64 / level.whole as f64).min(1.0);
    let deviation = match levels {
        [one, other] => ((share(one) - share(other)) / 2.0).abs(),
        [] | [_] => 0.0,
        _ => {
            let shares: SmallVec<[f64; 4]> = levels.iter().map(share).collect();
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            (shares.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / shares.len() as f64)
                .sqrt()
        }
    };
    ((1.0 - deviation) * 100.0) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(before: i64, after: i64) -> ResourceRequests {
        ResourceRequests { whole: 100, before, after }
    }

    #[test]
    fn before_1_36_the_balance_with_the_pod_counts() {
        let points = |levels: &[_]| points(levels, KubernetesRelease::new(35));
        assert_eq!(points(&[level(10, 50), level(50, 50)]), 100);
        assert_eq!(points(&[level(50, 90), level(50, 50)]), 80);
        assert_eq!(points(&[level(30, 40), level(50, 60)]), 90);
        assert_eq!(points(&[level(30, 40)]), 100);
    }

    #[test]
    fn it_is_the_change_that_counts() {
        let points = |levels: &[_]| points(levels, KubernetesRelease::new(36));
        // From 10% against 50% (balance 80) to 50% against 50% (100): 50 + (50 + 20) / 2.
        assert_eq!(points(&[level(10, 50), level(50, 50)]), 85);
        assert_eq!(points(&[level(50, 90), level(50, 50)]), 65);
        assert_eq!(points(&[level(30, 40), level(50, 60)]), 75);
        assert_eq!(points(&[level(30, 40)]), 75);
    }

    #[test]
    fn of_three_resources_the_standard_deviation_counts() {
        // Shares 0, 0.3 and 0.6: mean 0.3, deviation √0.06 = 0.2449.
        assert_eq!(evenness(&[level(0, 0), level(0, 30), level(0, 60)], |l| l.after), 75);
        // A node with requests above allocatable counts as full.
        assert_eq!(evenness(&[level(0, 300), level(0, 100)], |l| l.after), 100);
    }
}
