//! The built-in scenarios. Each can be copied to a file.

/// Scenarios by name, the recommended first one first.
pub(super) const ALL: [(&str, &str); 11] = [
    ("late-nodes", include_str!("../scenarios/late-nodes.yaml")),
    ("dead-loop", include_str!("../scenarios/dead-loop.yaml")),
    ("daily-wave", include_str!("../scenarios/daily-wave.yaml")),
    ("morning", include_str!("../scenarios/morning.yaml")),
    ("leak", include_str!("../scenarios/leak.yaml")),
    ("noisy-neighbour", include_str!("../scenarios/noisy-neighbour.yaml")),
    ("consolidation", include_str!("../scenarios/consolidation.yaml")),
    ("large", include_str!("../scenarios/large.yaml")),
    ("third-node", include_str!("../scenarios/third-node.yaml")),
    ("two-workers", include_str!("../scenarios/two-workers.yaml")),
    ("forty-replicas", include_str!("../scenarios/forty-replicas.yaml")),
];
