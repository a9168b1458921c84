//! Cooldown: replacements rest, a workload moves a few pods at a time, and ineffective moves are
//! not repeated.

use evenkeel::model::ledger::{Ending, Ledger};
use evenkeel::model::plan::{Outcome, Plan};

use crate::it::support::watched::Watched;
use crate::it::support::{Cluster, EVEN, after, noon, text};

/// A cluster that has been watched for five minutes.
fn watched(cluster: &str, policy: &str) -> Watched {
    let mut watch = Watched::new(cluster, policy, Ledger::default());
    watch.pass(300);
    watch
}

impl Watched {
    fn intend(&mut self, plan: &Plan) {
        let snapshot = self.snapshot();
        self.engine.intend(&snapshot, &plan.moves, self.now);
    }

    fn standing(&self) -> [(&'static str, usize); 3] {
        let cooldown = &self.engine.policy().cooldown;
        self.engine.ledger().by_phase(&self.snapshot(), cooldown, self.now)
    }

    fn ending(&self) -> Vec<String> {
        self.engine.ledger().entries().iter().map(|e| format!("{:?}", e.state)).collect()
    }
}

const HOT: &str = "
    node n1
      hot*7 cpu=100m uses=1
    node n2
    node n3
";

fn one_at_a_time() -> String {
    format!("limits: {{perWorkload: 1}}\ncooldown: {{rest: 10m, cap: 1h}}\n{EVEN}")
}

/// Asks for one eviction, which another component takes over, and returns the pod.
fn defer_one(watch: &mut Watched) -> String {
    let (plan, snapshot) = (watch.plan(), watch.snapshot());
    watch.engine.intend(&snapshot, &plan.moves[..1], watch.now);
    let deferred = Outcome::Deferred("Eviction triggered evacuation".to_owned());
    watch.engine.resolve(&plan.moves[0], &deferred);
    plan.moves[0].pod.clone()
}

#[test]
fn an_eviction_that_another_component_makes_later_counts_against_all_limits() {
    for limit in ["perCycle: 1", "perNode: 1", "perNamespace: 1", "perWorkload: 1"] {
        let policy = format!("limits: {{{limit}}}\ncooldown: {{rest: 1m, cap: 1h}}\n{EVEN}");
        let mut watch = watched(HOT, &policy);
        defer_one(&mut watch);
        watch.pass(25 * 60);
        assert!(watch.plan().moves.is_empty(), "{limit}: still under way");
    }
}

#[test]
fn a_pod_whose_eviction_is_under_way_is_not_asked_for_again() {
    let mut watch = watched(HOT, EVEN);
    let pod = defer_one(&mut watch);
    watch.pass(5 * 60);
    let plan = watch.plan();
    assert!(plan.moves.iter().all(|m| m.pod != pod));
    // Its migration has failed, so its workload rests.
    watch.pass(26 * 60);
    assert_eq!(watch.engine.ledger().resting(watch.now), 1);
    assert!(watch.plan().moves.is_empty());
}

/// The pod that is evicted first, and the plan as long as the watch of pods lags: the evicted pod
/// still seems to be Ready.
fn plan_while_the_watch_lags(cluster: &str) -> (String, Plan) {
    let policy = format!("limits: {{perWorkload: none, perCycle: 1}}\n{EVEN}");
    let mut watch = watched(cluster, &policy);
    let plan = watch.plan();
    assert_eq!(plan.moves.len(), 1, "{}", text(&plan));
    watch.intend(&plan);
    watch.engine.resolve(&plan.moves[0], &Outcome::Evicted);
    watch.pass(15);
    (plan.moves[0].pod.clone(), watch.plan())
}

#[test]
fn a_replica_whose_eviction_is_under_way_does_not_count_as_ready() {
    let cluster = "
        node n1 system=4
          hot*2 cpu=100m uses=2
        node n2
        node n3
    ";
    let (_, plan) = plan_while_the_watch_lags(cluster);
    let why: Vec<&str> = plan.kept.iter().map(|kept| kept.refusal.code()).collect();
    assert_eq!((plan.moves.len(), why), (0, vec!["under-way", "last-ready-replica"]));
}

/// The first eviction is all that the Job survives.
#[test]
fn a_pod_of_a_job_whose_eviction_is_under_way_counts_as_failed() {
    let cluster = "
        node n1 system=1
          sums*4 cpu=300m uses=1 owner=Job runs-once backoff=1
        node n2
        node n3
    ";
    let (_, plan) = plan_while_the_watch_lags(cluster);
    let mut why = plan.kept.iter().map(|kept| kept.refusal.code());
    assert!(plan.moves.is_empty() && why.any(|code| code == "job-would-fail"), "{}", text(&plan));
}

/// The replacement of the pod with the higher ordinal waits for the other one.
#[test]
fn an_ordered_stateful_set_waits_for_a_pod_whose_eviction_is_under_way() {
    let cluster = "
        node n1 system=2
          db*4 cpu=300m uses=1 owner=StatefulSet ordered
        node n2
        node n3
    ";
    let (evicted, plan) = plan_while_the_watch_lags(cluster);
    assert_eq!(evicted, "db-1");
    let mut why = plan.kept.iter().map(|kept| kept.refusal.code());
    assert!(plan.moves.is_empty() && why.any(|code| code == "waits-in-order"), "{}", text(&plan));
}

#[test]
fn a_pod_that_is_gone_at_last_counts_as_evicted() {
    let mut watch = watched(HOT, &one_at_a_time());
    let pod = defer_one(&mut watch);
    watch.pass(20 * 60);
    watch.cluster.replace("default", &pod, "n2", watch.now);
    watch.pass(30);
    assert_eq!(watch.ending(), ["Settled(Landed)"]);
}

/// As a database of a StatefulSet, whose replacement is created when the pod has ended.
#[test]
fn the_time_for_a_replacement_begins_when_the_evicted_pod_has_ended() {
    let mut watch = watched(HOT, &one_at_a_time());
    let (plan, snapshot) = (watch.plan(), watch.snapshot());
    watch.engine.intend(&snapshot, &plan.moves, watch.now);
    watch.engine.resolve(&plan.moves[0], &Outcome::Evicted);
    let pod = plan.moves[0].pod.clone();
    watch.change(&pod, |facts| facts.terminating = true);
    watch.pass(25 * 60);
    assert_eq!(watch.ending(), ["Evicted"]);
    let replacement = watch.cluster.replace("default", &pod, "n2", watch.now);
    watch.change(&replacement, |facts| (facts.terminating, facts.ready) = (false, false));
    watch.pass(9 * 60);
    assert_eq!(watch.ending(), ["Evicted"]);
    watch.change(&replacement, |facts| facts.ready = true);
    watch.pass(30);
    assert_eq!(watch.ending(), ["Settled(Landed)"], "its node is watched");
    watch.pass(31 * 60);
    assert!(watch.ending().is_empty());
}

#[test]
fn a_pod_that_another_component_is_evicting_stays() {
    let cluster = HOT.replace("uses=1", "uses=1 leaving");
    let plan = watched(&cluster, EVEN).plan();
    assert!(plan.moves.is_empty());
    assert_eq!(plan.kept[0].refusal.code(), "under-way");
}

#[test]
fn each_return_to_the_same_node_doubles_the_rest_of_the_workload() {
    let mut watch = watched(HOT, &one_at_a_time());
    let mut evicted_at = Vec::new();
    for _ in 0..(4 * 60 * 4) {
        if !watch.evict("n1").is_empty() {
            evicted_at.push((watch.now - noon()).get_seconds());
        }
        watch.pass(15);
    }
    let rests: Vec<_> = evicted_at.windows(2).map(|w| (w[1] - w[0]) / 60).collect();
    assert_eq!(rests, [10, 20, 40, 60, 60], "minutes between evictions, up to the cap of an hour");
}

#[test]
fn workloads_with_repeatedly_ineffective_moves_are_counted() {
    let mut watch = watched(HOT, &one_at_a_time());
    let mut seen = Vec::new();
    while watch.engine.ledger().repeatedly_ineffective() == 0 {
        if !watch.evict("n1").is_empty() {
            seen.push(watch.standing());
        }
        watch.pass(15);
        seen.push(watch.standing());
        assert!(watch.now < after(3600), "{seen:?}");
    }
    seen.dedup();
    let [open, resting, settled] = ["open", "resting", "settled"];
    let states =
        |counts: [usize; 3]| [(open, counts[0]), (resting, counts[1]), (settled, counts[2])];
    assert_eq!(seen, [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]].map(states));
    assert_eq!(watch.engine.ledger().resting(watch.now), 1);
}

#[test]
fn after_a_move_that_helped_older_siblings_may_move() {
    let mut watch = watched(HOT, &one_at_a_time());
    for _ in 0..3 {
        assert_eq!(watch.evict("n2").len(), 1, "{}", text(&watch.plan()));
        watch.pass(30);
    }
    assert_eq!(watch.evict("n2").len(), 0, "n1 uses half its cores now");
    assert_eq!(watch.ending(), ["Settled(Landed)"; 3]);
}

#[test]
fn a_replacement_rests_on_any_node() {
    let mut watch = watched(HOT, &one_at_a_time());
    watch.evict("n2");
    watch.pass(15);
    assert_eq!(watch.ending(), ["Settled(Landed)"]);
    // Other pods make n2 hot. The strategy selects the replacement there, and it rests.
    let mut more = Cluster::parse("node n2\n  other*6 cpu=100m uses=1 daemon");
    let others = more.nodes.remove("n2").unwrap();
    let used = watch.cluster.nodes.get_mut("n2").unwrap();
    *used = used.plus(others);
    watch.cluster.pods.append(&mut more.pods);
    let snapshot = more.snapshot(watch.engine.policy());
    for pod in &snapshot.pods {
        watch
            .cluster
            .objects
            .apply(evenkeel::model::snapshot::objects::Object::Pod(Box::new((**pod).clone())));
    }
    watch.pass(240);
    let plan = watch.plan();
    let replacement = plan.kept.iter().find(|k| k.pod.contains('+')).expect("asked for");
    assert_eq!(replacement.refusal.code(), "resting", "{}", text(&plan));
}

#[test]
fn the_workload_limit_bounds_the_pods_being_replaced() {
    let mut watch = watched(HOT, &one_at_a_time());
    let plan = watch.plan();
    assert_eq!(plan.moves.len(), 1);
    watch.intend(&plan);
    watch.engine.resolve(&plan.moves[0], &Outcome::Evicted);
    watch.cluster.objects.delete(
        evenkeel::model::snapshot::objects::ObjectKind::Pod,
        &(plan.moves[0].namespace.clone(), plan.moves[0].pod.clone()),
    );
    watch.pass(60);
    // Nothing has replaced the pod yet, so the next one has to wait.
    let plan = watch.plan();
    assert!(plan.moves.is_empty());
    assert!(plan.kept.iter().all(|k| k.refusal.code() == "workload-limit"), "{}", text(&plan));
}

#[test]
fn a_recorded_eviction_counts_for_a_minute_after_a_crash() {
    let mut watch = watched(HOT, &one_at_a_time());
    let plan = watch.plan();
    watch.intend(&plan);
    // Only the stored ledger survives the crash.
    let written = watch.engine.ledger().write();
    watch.engine.reload(Ledger::parse(&written).unwrap());
    watch.pass(30);
    assert!(watch.plan().moves.is_empty(), "the call may still be on its way");
    watch.pass(60);
    assert_eq!(watch.plan().moves.len(), 1, "the pod is still there: the call was never made");
}

#[test]
fn a_crash_after_an_eviction_loses_nothing() {
    let mut watch = watched(HOT, &one_at_a_time());
    let plan = watch.plan();
    watch.intend(&plan);
    let written = watch.engine.ledger().write();
    let made = watch.cluster.replace("default", &plan.moves[0].pod, "n1", after(301));
    watch.engine.reload(Ledger::parse(&written).unwrap());
    watch.pass(15);
    let entry = &watch.engine.ledger().entries()[0];
    assert_eq!(entry.state, evenkeel::model::ledger::State::Settled(Ending::SameNode));
    assert_eq!(entry.replacement.as_deref(), Some(format!("uid-{made}").as_str()));
    let siblings = watch.plan().kept.into_iter().filter(|k| k.pod != made);
    assert!(
        siblings.map(|k| k.refusal.code()).all(|code| code == "ineffective-move"),
        "{}",
        text(&watch.plan())
    );
}

#[test]
fn a_refused_eviction_leaves_no_entry() {
    let mut watch = watched(HOT, &one_at_a_time());
    let plan = watch.plan();
    watch.intend(&plan);
    watch.engine.resolve(&plan.moves[0], &Outcome::Refused("budget".to_owned()));
    assert!(watch.engine.ledger().entries().is_empty());
}

const OLD: &str = "
    node n1
      web phase=Failed age=2h
      web*4 age=2h
    node n2
    node n3
";

fn one_at_a_time_by(strategy: &str) -> String {
    format!("limits: {{perWorkload: 1}}\nstrategies: [{{{strategy}}}]\n")
}

/// Only a new pod was required, so it does not matter that the scheduler chooses the same node
/// again.
#[test]
fn a_pod_evicted_for_its_age_may_return_to_its_node() {
    let policy = one_at_a_time_by("podLifeTime: {maxPodLifeTimeSeconds: 3600, states: [Running]}");
    let mut watch = watched(OLD, &policy);
    for _ in 0..4 {
        assert_eq!(watch.evict("n1").len(), 1, "{}", text(&watch.plan()));
        watch.pass(15);
    }
    assert_eq!(watch.ending(), ["Settled(Renewed)"; 4]);
    assert_eq!(watch.evict("n1").len(), 0, "all pods are young");
}

/// The ReplicaSet replaced the failed pod long ago, so no replacement is expected and newer pods
/// are none.
#[test]
fn evicting_a_failed_pod_does_not_delay_its_workload() {
    let mut watch = watched(OLD, &one_at_a_time_by("removeFailedPods: {}"));
    let plan = watch.plan();
    watch.intend(&plan);
    watch.engine.resolve(&plan.moves[0], &Outcome::Evicted);
    let key = ("default".to_owned(), plan.moves[0].pod.clone());
    watch.cluster.objects.delete(evenkeel::model::snapshot::objects::ObjectKind::Pod, &key);
    let new = watch.cluster.replace("default", "web-2", "n2", after(301));
    watch.pass(15);
    assert_eq!(watch.ending(), ["Settled(NotReplaced)"]);
    let (ledger, snapshot) = (watch.engine.ledger(), watch.snapshot());
    let new = snapshot.find_pod("default", &new).unwrap();
    assert_eq!(ledger.away(&ledger.entries()[0].workload), 0);
    assert_eq!(ledger.rest(&snapshot, new, &watch.engine.policy().cooldown, watch.now), None);
}
