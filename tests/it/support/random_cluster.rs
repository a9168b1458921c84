//! Random clusters as text.

use std::fmt::Write as _;

use proptest::prelude::*;

/// Options of pods, most of which must not move.
pub(crate) const PODS: [&str; 8] =
    ["daemon", "bare", "emptydir", "mirror", "stay", "no-metrics", "unready", "age=10s"];
/// Options of nodes that receive no pods.
pub(crate) const NODES: [&str; 4] = ["cordoned", "no-metrics", "not-ready", "taint=a:NoSchedule"];

/// Generates up to eight nodes in three zones with up to twelve pods each, of four apps in three
/// namespaces. Each pod and each node has at most one of the given options; to have none is as
/// likely as to have one of `plain` of them.
pub(crate) fn clusters(
    plain: (usize, usize),
    pods: &[&'static str],
    nodes: &[&'static str],
) -> impl Strategy<Value = String> + use<> {
    let (mark, kind) = (one_of(plain.0, pods), one_of(plain.1, nodes));
    let pod = (0..4_u8, 0..3_u8, 50..2500_u32, 0..6000_u32, mark).prop_map(
        |(app, space, milli, mebi, mark)| {
            format!(
                "  app{app} namespace=ns{space} cpu=100m memory=64Mi uses={milli}m/{mebi}Mi \
            {mark}\n"
            )
        },
    );
    let pods = prop::collection::vec(pod, 0..12);
    nodes_with(pods, kind, 8).prop_map(|nodes| nodes + "budget app0 namespace=ns0 allows=1\n")
}

/// One of these options, or none, which is as likely as one of `plain` of them.
pub(crate) fn one_of(
    plain: usize,
    options: &[&'static str],
) -> impl Strategy<Value = &'static str> + use<> {
    prop::sample::select([&vec![""; plain], options].concat())
}

/// Generates fewer than this many nodes in three zones with such pods and options.
pub(crate) fn nodes_with(
    pods: impl Strategy<Value = Vec<String>>,
    kind: impl Strategy<Value = &'static str>,
    fewer_than: usize,
) -> impl Strategy<Value = String> {
    let node = (pods, kind, 0..3_u8);
    prop::collection::vec(node, 2..fewer_than).prop_map(|nodes| {
        let mut text = String::new();
        for (position, (pods, kind, zone)) in nodes.iter().enumerate() {
            let _ = write!(text, "node n{position} labels=zone:z{zone} {kind}\n{}", pods.concat());
        }
        text
    })
}
