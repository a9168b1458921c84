//! Random clusters as text.

use std::fmt::Write as _;

use proptest::prelude::*;

/// Generates up to eight nodes in three zones with up to twelve pods each, of four apps in three
/// namespaces. Each pod and each node has at most one of the given options; to have none is as
/// likely as to have one of `plain` of them.
pub(crate) fn clusters(
    plain: (usize, usize),
    pods: &[&'static str],
    nodes: &[&'static str],
) -> impl Strategy<Value = String> {
    let some = |plain: usize, kinds: &[&'static str]| {
        prop::sample::select([&vec![""; plain], kinds].concat())
    };
    let (mark, kind) = (some(plain.0, pods), some(plain.1, nodes));
    let pod = (0..4_u8, 0..3_u8, 50..2500_u32, 0..6000_u32, mark).prop_map(
        |(app, space, milli, mebi, mark)| {
            format!(
                "  app{app} namespace=ns{space} cpu=100m memory=64Mi uses={milli}m/{mebi}Mi \
            {mark}\n"
            )
        },
    );
    let node = (prop::collection::vec(pod, 0..12), kind, 0..3_u8);
    prop::collection::vec(node, 2..8).prop_map(|nodes| {
        let mut text = String::new();
        for (position, (pods, kind, zone)) in nodes.iter().enumerate() {
            let _ = write!(
                text,
                "node n{position} labels=zone:z{zone} {kind}\n{}",
                pods.concat()
            );
        }
        text + "budget app0 namespace=ns0 allows=1\n"
    })
}
