//! ImageLocality: a node scores by the size of the pod's images that it already has. Each size is
//! scaled by the share of nodes with the image, so that pods do not all follow the first one.
//!
//! An example: a pod of one container, whose image of 500 MiB is on 2 of 10 nodes. It counts as
//! 100 MiB there, and these nodes score 100 × (100 − 23) ÷ (1000 − 23) = 7.

use crate::model::snapshot::NodeId;
use crate::model::snapshot::facts::{Image, Role};

use super::question::Question;

/// A smaller total scores zero.
const LEAST: i64 = 23 << 20;
/// This size per container scores 100.
const MOST_EACH: i64 = 1000 << 20;

/// Scores the nodes.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "as the scheduler rounds it"
)]
pub(super) fn score(question: &Question<'_, '_>, nodes: &[NodeId]) -> Option<Vec<i64>> {
    let snapshot = question.snapshot;
    let containers = question.pod.containers.iter().filter(|c| c.role != Role::Ephemeral);
    let images: Vec<_> = containers
        .clone()
        .filter_map(|c| question.index().image(&Image::with_tag(&c.image)))
        .collect();
    if images.is_empty() {
        return None;
    }
    let mut sums = vec![0_i64; snapshot.nodes.len()];
    for image in images {
        let spread = image.nodes.len() as f64 / snapshot.nodes.len() as f64;
        let worth = (image.size as f64 * spread) as i64;
        image.nodes.iter().for_each(|node| sums[node.0] += worth);
    }
    let most = MOST_EACH * i64::try_from(containers.count()).unwrap_or(i64::MAX);
    Some(nodes.iter().map(|node| points(sums[node.0], most)).collect())
}

fn points(sum: i64, most: i64) -> i64 {
    100 * (sum.clamp(LEAST, most.max(LEAST)) - LEAST) / (most - LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_rise_from_the_least_to_the_most_size() {
        let most = 2 * MOST_EACH;
        let found: Vec<_> =
            [0, 23, 43, 1011, 1012, 2000, 9000].map(|mib| points(mib << 20, most)).into();
        // 100 × (size − 23) / (2000 − 23) in MiB, rounded down.
        assert_eq!(found, [0, 0, 1, 49, 50, 100, 100]);
    }

    #[test]
    fn a_name_without_a_tag_means_the_latest() {
        let all = ["web", "web:7", "host:5000/web", "host:5000/web:7", "web@sha256:ab"]
            .map(Image::with_tag);
        assert_eq!(
            all,
            ["web:latest", "web:7", "host:5000/web:latest", "host:5000/web:7", "web@sha256:ab"]
        );
    }
}
