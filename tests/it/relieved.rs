//! Whether a move has relieved its node shows within half an hour.

use evenkeel::model::ledger::Ledger;

use crate::it::support::watched::{EIGHT, Watched};
use crate::it::support::{EVEN, text};

/// Four of eight pods with a core each have left a node of eight cores, whose target is 50 %.
fn four_have_left() -> Watched {
    let policy = format!("usage: {{smoothing: mean}}\n{EVEN}");
    let mut watched = Watched::new(EIGHT, &policy, Ledger::default());
    watched.pass_using(6, |_| 1000.0);
    assert_eq!(watched.evict("n2").len(), 4);
    watched.pass_using(1, |_| 1000.0);
    assert_eq!(watched.endings, ["landed"; 4], "each replacement is Ready on n2");
    watched.endings.clear();
    watched
}

#[test]
fn a_move_has_helped_once_its_node_was_relieved_for_half_an_hour() {
    let mut watched = four_have_left();
    watched.pass_using(29, |_| 1000.0);
    assert!(watched.endings.is_empty(), "{:?}", watched.endings);
    watched.pass_using(1, |_| 1000.0);
    assert_eq!(watched.endings, ["helped"; 4]);
    watched.pass_using(60, |_| 2000.0);
    assert_eq!(watched.endings.len(), 4, "later usage is not the fault of the move");
}

/// The first move leaves 87.5 %, of which the node may have 94 %, the second 75 % and 81 %, and so
/// on. Four pods that use 1.6 cores each are 80 %.
#[test]
fn a_node_that_is_still_hot_was_relieved_by_the_moves_whose_effect_stays() {
    let mut watched = four_have_left();
    watched.pass_using(29, |_| 1600.0);
    assert_eq!(watched.endings, ["no-relief"; 2]);
    watched.pass_using(1, |_| 1600.0);
    assert_eq!(watched.endings, ["no-relief", "no-relief", "helped", "helped"]);
}

/// Where usage rises, the other pods of the workload are those that have to go next.
#[test]
fn after_moves_without_relief_the_workload_does_not_rest() {
    let mut watched = four_have_left();
    watched.pass_using(10, |_| 2000.0);
    assert_eq!(watched.endings, ["no-relief"; 4]);
    let goes = text(&watched.plan());
    assert!(goes.starts_with("move web-5 from n1 to n3"), "{goes}");
}

/// Half an hour later an earlier move helps. That does not end the rest after the bad landing.
#[test]
fn a_later_bad_landing_is_not_forgotten() {
    let mut watched = four_have_left();
    watched.pass_using(28, |_| 1600.0);
    watched.evict("n1");
    watched.pass_using(1, |_| 1600.0);
    assert!(watched.endings.contains(&"same-node"), "{:?}", watched.endings);
    let resting = |watched: &Watched| watched.engine.ledger().resting(watched.now);
    assert_eq!(resting(&watched), 1);
    watched.pass_using(2, |_| 1600.0);
    assert!(watched.endings.contains(&"helped"), "{:?}", watched.endings);
    assert_eq!(resting(&watched), 1);
}

#[test]
fn without_usage_only_the_landing_is_known() {
    let mut watched = four_have_left();
    watched.cluster.nodes.remove("n1");
    watched.pass(31 * 60);
    assert_eq!(watched.endings, ["renewed"; 4]);
}
