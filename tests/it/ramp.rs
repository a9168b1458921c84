//! The ramp: the first eviction of a workload is a trial, and the next one waits for its result.

use evenkeel::model::guard::{GuardAnswer, GuardReading, GuardSeries};
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::Plan;
use evenkeel::model::snapshot::facts::{Container, PodPhase, Role};
use evenkeel::model::snapshot::objects::ObjectKind;
use evenkeel::simulate;
use evenkeel::simulate::scenario::Scenario;
use evenkeel::values::query_value::QueryValue;

use crate::it::support::watched::{EIGHT, Watched};
use crate::it::support::{Cluster, EVEN, parse};

const RAMP: &str = "ramp: {watch: 2m}\n";
const ALL_AT_ONCE: &str = "limits: {perWorkload: 100%}\n";

/// A cluster that has been watched for five minutes.
fn ramped(cluster: &str, policy: &str) -> Watched {
    let policy = format!("{policy}{ALL_AT_ONCE}{EVEN}");
    let mut ramp = Watched::new(cluster, &policy, Ledger::default());
    ramp.pass(300);
    ramp
}

/// The first pod has left, and its replacement is Ready on n2.
fn begun() -> (Watched, String) {
    let mut ramp = ramped(EIGHT, RAMP);
    let mut made = ramp.evict("n2");
    (ramp, made.remove(0))
}

impl Watched {
    /// The number of moves, and the codes of the refusals without repetition.
    fn next(&self) -> String {
        let plan = self.plan();
        let mut codes: Vec<&str> = plan.kept.iter().map(|k| k.refusal.code()).collect();
        codes.sort_unstable();
        codes.dedup();
        format!("{} move, stay: {}", plan.moves.len(), codes.join(" "))
    }

    /// Why the first pod stays.
    fn why(&self) -> String {
        let plan = self.plan();
        let kept = plan.kept.first();
        kept.map(|k| k.refusal.to_string()).unwrap_or_default()
    }

    fn make_ready(&mut self, pod: &str, ready: bool) {
        let now = self.now;
        self.change(pod, |facts| facts.set_ready(ready, now));
    }

    fn delete(&mut self, pod: &str) {
        let key = ("default".to_owned(), pod.to_owned());
        self.cluster.objects.delete(ObjectKind::Pod, &key);
    }

    /// The pods that have not moved, in the order of their names.
    fn siblings(&self) -> Vec<String> {
        let snapshot = self.snapshot();
        let names = snapshot.pods.iter().map(|pod| pod.name.clone());
        names.filter(|name| !name.contains('+')).collect()
    }

    fn restart(&mut self, pod: &str, restarts: u32) {
        self.change(pod, |facts| {
            let container = Container {
                name: "main".to_owned(),
                role: Role::Main,
                runs: true,
                image: String::new(),
                never_pulled: false,
                requested: Vec::new(),
                restarts,
                waiting: None,
                ended: None,
            };
            facts.containers = vec![container].into();
        });
    }

    /// The states of all evictions.
    fn ledger(&self) -> String {
        let entries = self.engine.ledger().entries().iter();
        let states = entries.map(|e| format!("{:?}", e.state));
        states.collect::<Vec<_>>().join(" ")
    }
}

#[test]
fn the_first_pod_goes_and_the_others_wait_for_its_result() {
    let mut ramp = ramped(EIGHT, RAMP);
    assert_eq!(ramp.next(), "1 move, stay: trial", "within one cycle, too");
    insta::assert_snapshot!(ramp.why(), @"the first eviction of its workload is a trial; the \
        next waits until the replacement has been Ready for 2m");
    ramp.evict("n2");
    ramp.pass(120);
    assert_eq!(ramp.next(), "0 move, stay: trial");
    assert_eq!(ramp.ledger(), "Watched");
    ramp.pass(15);
    assert_eq!(ramp.ledger(), "Settled(Landed)");
    assert_eq!(ramp.next(), "3 move, stay: ");
}

#[test]
fn a_trial_that_has_ended_well_is_not_judged_again() {
    let (mut ramp, replacement) = begun();
    ramp.pass(135);
    ramp.restart(&replacement, 1);
    ramp.pass(60);
    assert_eq!(ramp.endings, ["landed"]);
}

#[test]
fn without_a_ramp_no_pod_waits_for_another() {
    for off in ["", "ramp: none\n"] {
        assert_eq!(ramped(EIGHT, off).next(), "4 move, stay: ");
    }
}

#[test]
fn the_time_counts_from_when_the_replacement_was_last_not_ready() {
    let (mut ramp, replacement) = begun();
    ramp.make_ready(&replacement, false);
    ramp.pass(90);
    assert_eq!(ramp.ledger(), "Evicted");
    ramp.make_ready(&replacement, true);
    ramp.pass(60);
    ramp.make_ready(&replacement, false);
    ramp.make_ready(&replacement, true);
    ramp.pass(105);
    assert_eq!(ramp.ledger(), "Watched");
    ramp.pass(15);
    assert_eq!(ramp.ledger(), "Settled(Landed)");
}

#[test]
fn a_replacement_that_restarts_more_often_than_its_siblings_ends_the_trial() {
    let (mut ramp, replacement) = begun();
    ramp.engine.keep_facts();
    ramp.restart(&replacement, 1);
    ramp.pass(15);
    assert_eq!(ramp.ledger(), "Settled(GotWorse(Restarts))");
    let fact = &ramp.engine.ledger().facts()[0].data;
    assert_eq!((&fact["outcome"], &fact["trial"]), (&"got-worse".into(), &true.into()));
    assert_eq!(ramp.next(), "0 move, stay: got-worse");
    insta::assert_snapshot!(ramp.why(), @"its workload got worse by an eviction and rests for \
        another 10m: the replacement has restarted more often than most of its siblings");
}

#[test]
fn a_workload_whose_pods_all_restart_is_not_worse_for_it() {
    let (mut ramp, replacement) = begun();
    let siblings = ramp.siblings();
    for sibling in &siblings[..4] {
        ramp.restart(sibling, 1);
    }
    ramp.restart(&replacement, 1);
    ramp.pass(135);
    assert_eq!(ramp.ledger(), "Settled(Landed)", "most have restarted");
}

#[test]
fn a_workload_with_fewer_ready_pods_than_before_got_worse() {
    let (mut ramp, _) = begun();
    let sibling = ramp.siblings().remove(0);
    ramp.make_ready(&sibling, false);
    ramp.pass(120);
    assert_eq!(ramp.ledger(), "Watched", "it may recover");
    ramp.pass(15);
    assert_eq!(ramp.ledger(), "Settled(GotWorse(Readiness))");
    insta::assert_snapshot!(ramp.why(), @"its workload got worse by an eviction and rests for \
        another 10m: fewer of its pods are Ready than before");
}

#[test]
fn a_workload_that_was_scaled_down_is_not_worse_for_it() {
    let (mut ramp, _) = begun();
    let sibling = ramp.siblings().remove(0);
    ramp.delete(&sibling);
    ramp.pass(135);
    assert_eq!(ramp.ledger(), "Settled(Landed)");
}

#[test]
fn a_pod_that_was_not_ready_before_is_no_decline() {
    let mut ramp = ramped(EIGHT, RAMP);
    ramp.make_ready("web-8", false);
    ramp.evict("n2");
    ramp.pass(135);
    assert_eq!(ramp.ledger(), "Settled(Landed)");
}

#[test]
fn a_workload_that_got_worse_rests_and_begins_with_a_trial_again() {
    let (mut ramp, replacement) = begun();
    ramp.restart(&replacement, 1);
    ramp.pass(9 * 60);
    assert_eq!(ramp.next(), "0 move, stay: got-worse");
    ramp.pass(90);
    assert_eq!(ramp.endings, ["got-worse"], "said once");
    assert_eq!(ramp.next(), "1 move, stay: trial");
}

#[test]
fn a_move_that_was_useless_ends_a_trial_at_once_as_without_a_ramp() {
    let mut ramp = ramped(EIGHT, RAMP);
    ramp.evict("n1");
    ramp.pass(15);
    assert_eq!(ramp.ledger(), "Settled(SameNode)");
    assert_eq!(ramp.next(), "0 move, stay: ineffective-move too-young");
    ramp.pass(10 * 60);
    assert_eq!(ramp.next(), "1 move, stay: trial");
}

/// As that of a Job. Its containers are not Ready any more, and ran for longer than they started.
#[test]
fn a_trial_whose_replacement_has_done_its_work_ends_well_and_teaches_no_start() {
    let (mut ramp, replacement) = begun();
    ramp.pass(15);
    let now = ramp.now;
    ramp.change(&replacement, |facts| {
        facts.phase = PodPhase::Succeeded;
        facts.set_ready(false, now);
    });
    ramp.pass(15);
    assert_eq!(ramp.ledger(), "Settled(Renewed)");
    assert!(ramp.engine.ledger().starts().is_empty());
}

#[test]
fn a_trial_whose_replacement_never_stays_ready_ends() {
    let (mut ramp, replacement) = begun();
    for _ in 0..13 {
        ramp.make_ready(&replacement, false);
        ramp.make_ready(&replacement, true);
        ramp.pass(60);
    }
    assert_eq!(ramp.ledger(), "Settled(NeverReady)");
    let (mut gone, replacement) = begun();
    gone.delete(&replacement);
    gone.pass(11 * 60);
    assert_eq!(gone.ledger(), "Settled(NotReplaced)");
    assert_eq!(gone.next(), "1 move, stay: trial", "it tells nothing");
}

const BOTH: &str = "
    node n1
      web*4 cpu=100m uses=1
      api*4 cpu=100m uses=1
    node n2
    node n3
";

/// The workloads of the moves.
fn moved(plan: &Plan) -> String {
    let pods = plan.moves.iter().map(|m| m.pod[..3].to_owned());
    pods.collect::<Vec<_>>().join(" ")
}

#[test]
fn two_workloads_do_not_wait_for_each_other() {
    let mut ramp = ramped(BOTH, RAMP);
    assert_eq!(moved(&ramp.plan()), "api web");
    let made = ramp.evict("n2");
    let worse = made.iter().find(|pod| pod.starts_with("api")).unwrap();
    ramp.restart(worse, 1);
    ramp.pass(135);
    assert_eq!(moved(&ramp.plan()), "web web");
}

#[test]
fn no_workload_waits_for_a_trial_whose_replacement_is_not_ready() {
    let mut ramp = ramped(BOTH, "ramp: {watch: 30s}\n");
    assert_eq!(moved(&ramp.plan()), "api", "the next cycle may move the others of api");
    let starting = ramp.evict("n2").remove(0);
    ramp.make_ready(&starting, false);
    ramp.pass(60);
    assert_eq!(moved(&ramp.plan()), "web");
    ramp.make_ready(&starting, true);
    ramp.pass(15);
    assert_eq!((moved(&ramp.plan()).as_str(), ramp.ledger().as_str()), ("", "Watched"));
}

#[test]
fn after_a_quiet_time_the_next_eviction_is_a_trial_again() {
    let (mut ramp, _) = begun();
    ramp.pass(135);
    let proven = ramp.next();
    ramp.pass(29 * 60);
    assert_eq!(ramp.next(), proven, "the node of the trial is watched for half an hour");
    ramp.pass(2 * 60);
    assert_eq!(ramp.next(), "1 move, stay: trial");
}

#[test]
fn a_trial_goes_on_with_the_stored_ledger() {
    let (mut ramp, replacement) = begun();
    ramp.pass(30);
    let written = ramp.engine.ledger().write();
    assert!(written.contains(r#""state":"watched","trial":8"#), "{written}");
    ramp.engine.reload(Ledger::parse(&written).unwrap());
    assert_eq!(ramp.next(), "0 move, stay: trial");
    ramp.restart(&replacement, 1);
    ramp.pass(15);
    let written = ramp.engine.ledger().write();
    assert!(written.len() <= ramp.engine.ledger().bytes());
    ramp.engine.reload(Ledger::parse(&written).unwrap());
    assert_eq!(ramp.next(), "0 move, stay: got-worse");
}

#[test]
fn a_ramp_that_is_turned_off_lets_the_next_pods_go() {
    let (mut ramp, _) = begun();
    ramp.pass(30);
    ramp.engine.change_policy(parse(&format!("{ALL_AT_ONCE}{EVEN}")));
    assert_eq!(ramp.next(), "3 move, stay: ");
    ramp.pass(15);
    assert_eq!(ramp.ledger(), "Settled(Landed)");
}

/// One guard of the scope workload, and its answer after the first eviction.
fn guarded(answer: Result<f64, &str>) -> String {
    let policy = format!(
        "{RAMP}usage: {{prometheus: {{url: 'http://p'}}}}\n\
         guards: [{{name: errors, query: q, above: 0.05, scope: workload, recover: 0s}}]\n"
    );
    let mut ramp = ramped(EIGHT, &policy);
    let hears = |ramp: &mut Watched, answer: Result<f64, &str>| {
        let labels = [("namespace", "default"), ("deployment", "web")];
        let series = |value| GuardSeries {
            labels: labels.map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
            value: QueryValue::new(value),
        };
        let answers =
            answer.map(|value| vec![GuardAnswer { at: ramp.now, series: vec![series(value)] }]);
        let reading =
            GuardReading { guard: "errors".to_owned(), answers: answers.map_err(str::to_owned) };
        let snapshot = ramp.snapshot();
        ramp.engine.observe_guards(&snapshot, &[reading]);
    };
    hears(&mut ramp, Ok(0.01));
    ramp.evict("n2");
    ramp.pass(75);
    hears(&mut ramp, answer);
    ramp.pass(75);
    let during = ramp.ledger();
    hears(&mut ramp, Ok(0.01));
    ramp.pass(15);
    format!("{during}, then {}", ramp.ledger())
}

#[test]
fn a_trial_ends_well_only_while_the_guards_are_quiet() {
    assert_eq!(guarded(Ok(0.02)), "Settled(Landed), then Settled(Landed)");
    assert_eq!(guarded(Ok(0.4)), "Settled(GotWorse(Guard)), then Settled(GotWorse(Guard))");
    assert_eq!(guarded(Err("timeout")), "Watched, then Settled(Landed)");
}

#[test]
fn the_exact_mode_has_no_trials() {
    let policy = parse(&format!("{RAMP}{ALL_AT_ONCE}{EVEN}")).exactly();
    let without = parse(&format!("{ALL_AT_ONCE}{EVEN}")).exactly();
    let cluster = Cluster::parse(EIGHT);
    let plan = cluster.plan_by(policy);
    assert_eq!(plan.moves, cluster.plan_by(without).moves);
    assert!(plan.moves.len() > 1, "{}", plan.moves.len());
}

/// The scenario late-nodes, whose nodes join after ten minutes, with an interval of a minute.
#[test]
fn late_nodes_are_relieved_later_by_the_intervals_that_the_watch_needs() {
    let scenario = Scenario::built_in("late-nodes").unwrap();
    let scenario = Scenario::parse("late-nodes.yaml", scenario).unwrap();
    let balanced_after = |ramp: &str| {
        let strategies = EVEN.replace("50%", "60%");
        let policy = parse(&format!("ramp: {ramp}\n{strategies}"));
        let summary = simulate::run(&scenario, policy, "policy.yaml", |_| {}).summary;
        (summary.evictions, summary.time_to_balance.unwrap().as_mins())
    };
    assert_eq!(balanced_after("none"), (8, 12));
    assert_eq!(balanced_after("{watch: 30s}"), (8, 13));
    assert_eq!(balanced_after("{watch: 2m}"), (8, 15));
}

/// As where a CronJob runs once an hour. The trial is then older than two rests when its result is
/// known.
#[test]
fn a_good_result_counts_in_the_cycle_that_finds_it_however_late_that_is() {
    let file = "{name: rare, about: rare cycles, duration: 3h, nodes: [{name: n, count: 3}], \
                workloads: [{name: web, replicas: 8, requests: {cpu: 100m}, usage: {cpu: 1}, \
                on: [n1]}]}";
    let scenario = Scenario::parse("rare.yaml", file).unwrap();
    let policy = parse(&format!("interval: 1h\n{RAMP}{ALL_AT_ONCE}{EVEN}"));
    let trace = simulate::run(&scenario, policy, "policy.yaml", |_| {});
    let hours = trace.evictions.iter().map(|e| e.at.duration_since(trace.start).as_hours());
    assert_eq!(hours.collect::<Vec<_>>(), [1, 2, 2, 2, 2]);
}
