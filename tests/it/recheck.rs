//! A planned move is checked again just before it is made.

use evenkeel::decide::engine::Engine;
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::{Plan, Untried};
use evenkeel::model::snapshot::Snapshot;
use evenkeel::model::snapshot::facts::{NamespaceFacts, OwnerFacts, PodFacts};
use evenkeel::model::snapshot::objects::{Object, ObjectKind};
use evenkeel::policy::Policy;

use crate::it::support::{Cluster, EVEN, after, noon, parse};

/// A plan that moves pods of a workload, which has a pod elsewhere too.
struct Planned {
    cluster: Cluster,
    engine: Engine,
    decided: Snapshot,
    plan: Plan,
}

impl Planned {
    fn by(policy: Policy) -> Self {
        let cluster = Cluster::parse(
            "
            namespace default
            node n1
              web*4 cpu=300m uses=1500m wanted=5
            node n2
              web cpu=300m uses=100m wanted=5
            node n3
            ",
        );
        let (engine, decided) = cluster.seen(policy, Ledger::default());
        let plan = engine.decide(&decided, noon());
        assert!(!plan.moves.is_empty());
        Planned { cluster, engine, decided, plan }
    }

    /// Why the first move is not made after this change of the cluster.
    fn after(&self, change: impl FnOnce(&mut Cluster)) -> Option<Untried> {
        let mut cluster = self.cluster.clone();
        change(&mut cluster);
        let newer = cluster.snapshot(self.engine.policy());
        let moves = &self.plan.moves;
        let current = self.engine.gates_again(moves, newer, noon());
        self.engine.recheck(&moves[0], &self.decided, &current, noon())
    }

    /// Makes every pod but that of the first move not Ready.
    fn unready(&self, cluster: &mut Cluster) {
        let planned = &self.plan.moves[0];
        let others: Vec<PodFacts> =
            cluster.objects.pods().filter(|pod| pod.name != planned.pod).cloned().collect();
        for mut pod in others {
            pod.set_ready(false, noon());
            cluster.objects.apply(Object::Pod(Box::new(pod)));
        }
    }
}

fn why(untried: Option<Untried>) -> String {
    let untried = untried.unwrap();
    assert!(!untried.ends_the_plan(), "the others go on");
    assert!(matches!(untried, Untried::Refused(_)), "{untried}");
    untried.to_string()
}

#[test]
fn a_move_is_made_if_nothing_has_changed() {
    assert_eq!(Planned::by(parse(EVEN)).after(|_| {}), None);
}

#[test]
fn no_move_is_made_once_the_window_has_closed() {
    let windows = "windows: {allow: ['Sat 11:00-12:01']}";
    let planned = Planned::by(parse(&format!("{windows}\n{EVEN}")));
    let moves = &planned.plan.moves;
    let at = |seconds: i64| {
        let newer = planned.cluster.snapshot(planned.engine.policy());
        let current = planned.engine.gates_again(moves, newer, after(seconds));
        planned.engine.recheck(&moves[0], &planned.decided, &current, after(seconds))
    };
    assert_eq!([59, 60].map(at), [None, Some(Untried::OutsideWindow)]);
    assert!(Untried::OutsideWindow.ends_the_plan());
}

#[test]
fn a_pod_stays_whose_siblings_have_become_unready() {
    let planned = Planned::by(parse(EVEN));
    let why = why(planned.after(|cluster| planned.unready(cluster)));
    assert!(why.contains("since the plan was made: 0 other replicas would be Ready"), "{why}");
}

#[test]
fn a_pod_stays_whose_controller_or_namespace_is_gone() {
    let planned = Planned::by(parse(EVEN));
    let deleted = planned.after(|cluster| {
        let web = ("default".to_owned(), "web".to_owned());
        cluster.objects.delete(ObjectKind::ReplicaSet, &web);
        // Another one is known, so the kind is.
        let other = ("default".to_owned(), "other".to_owned());
        let other = Object::Owner(ObjectKind::ReplicaSet, other, OwnerFacts::default());
        cluster.objects.apply(other);
    });
    assert!(why(deleted).contains("its ReplicaSet web does not exist"));
    let deleting = planned.after(|cluster| {
        let facts = NamespaceFacts { deleting: true, ..NamespaceFacts::default() };
        cluster.objects.apply(Object::Namespace("default".to_owned(), facts));
    });
    assert!(why(deleting).contains("its namespace default is being deleted"));
}

#[test]
fn the_exact_mode_checks_no_gate_again() {
    let planned = Planned::by(parse(EVEN).exactly());
    assert_eq!(planned.after(|cluster| planned.unready(cluster)), None);
}
