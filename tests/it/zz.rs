use crate::kit::*;
use std::fmt::Write as _;
#[test]
fn zz() {
    let mut t = String::new();
    for (node, heavy, light) in [(1, 7, 1), (2, 7, 1), (3, 6, 2)].into_iter().chain((4..=10).map(|n| (n, 0, 8))) {
        let _ = writeln!(t, "node n{node}\n agent cpu=100m uses=100m/200Mi daemon");
        let _ = writeln!(t, " hot*{heavy} cpu=100m uses=1/200Mi\n cold*{light} cpu=100m uses=50m/200Mi");
    }
    let c = Cluster::parse(&t);
    println!("{}", text(&c.plan(EVEN)));
    println!("{}", text(&Cluster::parse("node n1\n web*6 cpu=100m uses=1\nnode n2").plan(EVEN)));
}
