//! The worth of a move: the expected and the achieved relief, and moves that are
//! not worth the start of their replacements.

use evenkeel::decide::draft::Draft;
use evenkeel::decide::projection::World;
use evenkeel::decide::strategy;
use evenkeel::model::ledger::{Ledger, StartTimes};
use evenkeel::model::plan::{MoveWorth, Outcome, Refusal, expected_effect};
use evenkeel::model::record::{RELIEF, RecordLine};
use evenkeel::model::relief::CycleRelief;
use evenkeel::model::snapshot::facts::PodFacts;
use evenkeel::model::snapshot::objects::Object;
use evenkeel::model::usage::{Measure, NodeUsage, PodUsage, PresentUsage, Usage};
use evenkeel::values::Amount;
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::it::support::watched::{EIGHT, Watched};
use crate::it::support::{Cluster, EVEN, noon, parse};

/// Usage that stands still, because no trend decides.
const STILL: &str = "usage: {smoothing: mean}\n";
/// The mean of the next four minutes decides.
const SOON: &str = "usage: {smoothing: trend, lookAhead: 4m}\n";

/// The replacements of `web` took so long the last time; `None` if there were none.
fn web(policy: &str, start: Option<SignedDuration>) -> Watched {
    let ledger = Ledger::default().with_starts(starts(start));
    Watched::new(EIGHT, &format!("{policy}{EVEN}"), ledger)
}

impl Watched {
    /// The worth of each move of the plan.
    fn worths(&self) -> Vec<MoveWorth> {
        self.plan().moves.iter().map(|planned| planned.worth.unwrap()).collect()
    }

    /// Carries out the plan. Every replacement is on this node, and Ready after so many seconds.
    fn evict_slowly(&mut self, land_on: &str, ready_after: i64) {
        let (plan, snapshot) = (self.plan(), self.snapshot());
        self.engine.intend(&snapshot, &plan.moves, self.now);
        let ready = self.now + SignedDuration::from_secs(ready_after);
        for planned in &plan.moves {
            self.engine.resolve(planned, &Outcome::Evicted);
            let (namespace, pod) = (&planned.namespace, &planned.pod);
            let new = self.cluster.replace(namespace, pod, land_on, self.now);
            let snapshot = self.snapshot();
            let id = snapshot.find_pod("default", &new).unwrap();
            let mut facts: PodFacts = (**snapshot.pod(id)).clone();
            facts.set_ready(true, ready);
            self.cluster.objects.apply(Object::Pod(Box::new(facts)));
        }
    }
}

const MINUTE: SignedDuration = SignedDuration::from_mins(1);

/// The last replacement of `web` took so long; `None` if there was none.
fn starts(start: Option<SignedDuration>) -> StartTimes {
    let text = start.map(|start| format!("{{\"default/Deployment/web\":[{}]}}", start.as_secs()));
    text.map(|text| StartTimes::parse(&text)).unwrap_or_default()
}

/// The period that is looked ahead changes nothing without a trend.
#[test]
fn a_deviation_that_no_trend_knows_does_not_grow() {
    let relief = |ahead: Option<SignedDuration>| {
        let policy = parse(EVEN);
        let (engine, snapshot) = Cluster::parse(EIGHT).seen(policy, Ledger::default());
        let now = engine.usage(&snapshot, noon());
        let varies = Measure { cpu: Amount::millicores(500), ..Measure::default() };
        let present = |ahead| PresentUsage {
            ahead,
            nodes: now.nodes.clone(),
            pods: now.pods.clone(),
            outlook: None,
        };
        let usage = Usage {
            present: ahead.map(|ahead| Box::new(present(ahead))),
            deviations: vec![varies; snapshot.pods.len()],
            errors: Vec::new(),
            ..now.clone()
        };
        let world = World::without_memory(engine.policy(), &snapshot, &usage, noon());
        let mut draft = Draft::new(world);
        strategy::run(&mut draft, 0, |_, _| {});
        let moves: Vec<_> = draft.accepted().cloned().collect();
        let reliefs = moves.iter().map(|one| draft.worth(one).unwrap().relief.get());
        reliefs.collect::<Vec<f64>>()
    };
    assert!(!relief(None).is_empty());
    assert_eq!(relief(Some(MINUTE * 15)), relief(None));
}

/// Returns the moves and refusals for a node that uses 56 % of its cpu and falls by two points a minute,
/// so that it is at its target of 50 % in three minutes.
fn decided_with(start: Option<SignedDuration>) -> (usize, Vec<Refusal>) {
    let even = EVEN.replace("cpu: 50%}", "cpu: 50%}, sustainedFor: 0s");
    let policy = parse(&format!("{SOON}{even}"));
    let (engine, snapshot) =
        Cluster::parse(&EIGHT.replace("uses=1", "uses=560m")).seen(policy, Ledger::default());
    let now = engine.usage(&snapshot, noon());
    let soon = Measure { cpu: Amount::millicores(520), ..Measure::default() };
    let hot = snapshot.find_node("n1").unwrap();
    let mut usage = Usage {
        pods: vec![PodUsage::Known(soon); snapshot.pods.len()],
        errors: vec![Some(Measure::default()); snapshot.nodes.len()],
        present: Some(Box::new(PresentUsage {
            ahead: MINUTE * 4,
            nodes: now.nodes.clone(),
            pods: now.pods.clone(),
            outlook: None,
        })),
        ..now
    };
    let sum = Measure { cpu: Amount::millicores(8 * 520), ..Measure::default() };
    usage.nodes[hot.0] = NodeUsage::Known(sum);
    let ledger = Ledger::default().with_starts(starts(start));
    let world = World::without_memory(engine.policy(), &snapshot, &usage, noon());
    let mut draft = Draft::new(World { ledger: &ledger, ..world });
    strategy::run(&mut draft, 0, |_, _| {});
    let refusals = draft.refusals(0).map(|(_, refusal)| refusal.clone());
    (draft.accepted().count(), refusals.collect())
}

#[test]
fn a_pod_that_starts_for_20_minutes_stays_for_3_minutes_of_excess() {
    let (moves, refusals) = decided_with(Some(MINUTE * 20));
    assert_eq!(moves, 0);
    assert_snapshot!(
        refusals[0],
        @"its move could save n1 3 node-minutes above the target in the next hour, and its \
          replacement takes about 20m to be Ready"
    );
    assert!(refusals.iter().all(|refusal| refusal.code() == "not-worth-it"));
}

#[test]
fn a_pod_that_starts_within_10_seconds_goes_for_3_minutes_of_excess() {
    let (moves, refusals) = decided_with(Some(SignedDuration::from_secs(10)));
    assert_eq!((moves, refusals), (1, Vec::new()));
}

#[test]
fn a_pod_whose_start_is_not_known_goes() {
    assert_eq!(decided_with(None), (1, Vec::new()));
}

#[test]
fn an_excess_that_lasts_is_worth_a_slow_start() {
    let mut watched = web(STILL, Some(MINUTE * 20));
    watched.pass_using(6, |_| 1000.0);
    let first = watched.worths()[0];
    assert_eq!(first.ready_after, Some(MINUTE * 20));
}

#[test]
fn the_moves_of_a_node_share_the_hour_that_they_save() {
    let mut watched = web(STILL, None);
    watched.pass_using(6, |_| 1000.0);
    let reliefs: Vec<f64> = watched.worths().iter().map(|w| w.relief.get()).collect();
    // Four of eight pods must leave, and only the last of them brings the node to its target.
    assert_eq!(reliefs, [0.0, 0.0, 0.0, 60.0]);
}

#[test]
fn a_start_is_learned_from_the_replacement_and_said_with_the_next_move() {
    let mut watched = web(STILL, None);
    watched.pass_using(6, |_| 1000.0);
    assert_eq!(watched.worths()[0].ready_after, None);
    watched.evict_slowly("n2", 10);
    watched.pass_using(30, |_| 1000.0);
    assert_eq!(
        watched.engine.ledger().starts().write(),
        r#"{"default/Deployment/web":[10,10,10]}"#
    );
    watched.pass_using(6, |_| 2000.0);
    let worth = watched.worths()[0];
    let said = expected_effect(None, Some(worth));
    assert!(said.ends_with("; replacement Ready after about 10s"), "{said}");
}

#[test]
fn a_replacement_that_is_not_ready_in_time_shows_how_long_it_takes() {
    let mut watched = web(STILL, None);
    watched.pass_using(6, |_| 1000.0);
    watched.evict_slowly("n2", 20 * 60);
    let snapshot = watched.snapshot();
    for id in snapshot.node(snapshot.find_node("n2").unwrap()).pods.clone() {
        let mut facts: PodFacts = (**snapshot.pod(id)).clone();
        facts.set_ready(false, watched.now);
        watched.cluster.objects.apply(Object::Pod(Box::new(facts)));
    }
    watched.pass_using(15, |_| 1000.0);
    let starts = watched.engine.ledger().starts().write();
    assert_eq!(starts, r#"{"default/Deployment/web":[615,615,900]}"#);
}

#[test]
fn nothing_is_learned_from_a_replacement_that_nobody_saw_in_time() {
    let mut watched = web(STILL, None);
    watched.pass_using(6, |_| 1000.0);
    watched.evict_slowly("n2", 75 * 60);
    // The program was down, and the workload was rolled out meanwhile.
    watched.now += MINUTE * 80;
    watched.pass_using(1, |_| 1000.0);
    assert!(watched.engine.ledger().entries().is_empty(), "settled and forgotten");
    assert!(watched.engine.ledger().starts().is_empty());
}

#[test]
fn an_hour_later_the_moves_have_achieved_what_was_predicted() {
    let mut watched = web(STILL, None);
    watched.pass_using(6, |_| 1000.0);
    watched.evict_slowly("n2", 10);
    watched.pass_using(59, |_| 1000.0);
    assert!(watched.engine.take_reliefs(watched.now).is_empty(), "the hour is not over");
    watched.pass_using(2, |_| 1000.0);
    let reliefs = watched.engine.take_reliefs(watched.now);
    let [relief] = reliefs[..] else { panic!("{reliefs:?}") };
    assert_eq!((relief.moves, relief.predicted.get()), (4, 60.0));
    assert!((59.0..=60.0).contains(&relief.achieved.get()), "{relief}");
    assert!(relief.is_close());
    assert!(watched.engine.take_reliefs(watched.now).is_empty(), "said once");
}

#[test]
fn the_record_has_a_line_for_the_moves_of_a_cycle() {
    let mut watched = web(STILL, None);
    watched.engine.keep_facts();
    watched.pass_using(6, |_| 1000.0);
    watched.evict_slowly("n2", 10);
    watched.pass_using(61, |_| 1000.0);
    let reliefs = watched.engine.take_reliefs(watched.now);
    let facts = watched.engine.ledger().facts().iter();
    let lines = facts.map(|fact| RecordLine::of(fact, "prod"));
    let lines: Vec<RecordLine> = lines.filter(|line| line.kind == RELIEF).collect();
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(line.sentence(), format!("prod: {}", reliefs[0]));
    let line = RecordLine::parse(&line.json()).unwrap();
    let read = CycleRelief::of_line(&line).unwrap();
    assert_eq!((read.moves, read.predicted.get()), (4, 60.0));
    assert_eq!(read.decided, reliefs[0].decided);
}

#[test]
fn usage_that_falls_unexpectedly_leaves_less_to_achieve() {
    let mut watched = web(STILL, None);
    watched.pass_using(6, |_| 1000.0);
    watched.evict_slowly("n2", 10);
    watched.pass_using(20, |_| 1000.0);
    watched.pass_using(41, |_| 400.0);
    let reliefs = watched.engine.take_reliefs(watched.now);
    let ratio = reliefs[0].ratio().unwrap().get();
    assert!((0.3..0.36).contains(&ratio), "{ratio}");
}

#[test]
fn a_later_cycle_is_credited_with_its_own_moves_only() {
    let mut watched = web(STILL, None);
    watched.pass_using(6, |_| 1000.0);
    watched.evict_slowly("n2", 10);
    // The four pods that are left use more than before, so that another one leaves.
    watched.pass_using(20, |_| 1100.0);
    watched.evict_slowly("n3", 10);
    watched.pass_using(61, |_| 1100.0);
    let reliefs = watched.engine.take_reliefs(watched.now);
    let achieved: Vec<f64> = reliefs.iter().map(|r| r.achieved.get().round()).collect();
    // With 1.1 cores each, the first four moves alone leave the node above its target, and bring
    // the node of their replacements above it, so that a pod leaves each of both.
    assert_eq!(achieved, [0.0, 120.0]);
}

#[test]
fn a_node_without_readings_has_no_result() {
    let mut watched = web(STILL, None);
    watched.pass_using(6, |_| 1000.0);
    watched.evict_slowly("n2", 10);
    watched.pass_using(10, |_| 1000.0);
    let node = watched.cluster.nodes.remove("n1").unwrap();
    watched.now += SignedDuration::from_mins(20);
    watched.cluster.nodes.insert("n1".to_owned(), node);
    watched.pass_using(40, |_| 1000.0);
    assert!(watched.engine.take_reliefs(watched.now).is_empty());
}

#[test]
fn moves_by_requests_have_no_worth() {
    let requests = "strategies: [{lowNodeUtilization: {basis: requests, \
                    thresholds: {cpu: 30%}, targetThresholds: {cpu: 50%}}}]";
    let plan = Cluster::parse("node n1\n web*7 cpu=1 uses=1\nnode n2").plan(requests);
    assert!(!plan.moves.is_empty());
    assert!(plan.moves.iter().all(|planned| planned.worth.is_none()));
}

#[test]
fn a_move_says_with_which_probability_it_helps() {
    // The first replacement lands on n1 or n2. If it is n2, the second one makes n2 hot, by a
    // millicore.
    let plan = Cluster::parse(
        "
        node n0
          app0 namespace=ns0 cpu=100m memory=64Mi uses=50m/0Mi
          app0 namespace=ns0 cpu=100m memory=64Mi uses=1000m/0Mi
          app0 namespace=ns1 cpu=100m memory=64Mi uses=1239m/0Mi
          app3 namespace=ns2 cpu=100m memory=64Mi uses=1010m/0Mi
          app1 namespace=ns0 cpu=100m memory=64Mi uses=2003m/0Mi
        node n1
          app3 namespace=ns2 cpu=100m memory=64Mi uses=50m/0Mi
        node n2
          app0 namespace=ns0 cpu=100m memory=64Mi uses=1991m/0Mi daemon
        budget app0 namespace=ns0 allows=1
        ",
    )
    .plan(EVEN);
    let said = plan.moves.iter().map(|m| format!("{}{}", m.pod, expected_effect(m.saves, m.worth)));
    assert_snapshot!(said.collect::<Vec<_>>().join("\n"), @"
    app0-2; removes 1 of 2 needed evictions
    app3-1; removes the one needed eviction with a probability of 50%; expected relief 60 node-minutes in the next hour
    ");
}
