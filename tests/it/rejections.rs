//! Rejected evictions: the pod rests, with a growing pause, and others are tried instead.

use evenkeel::model::ledger::{Fault, Ledger};
use evenkeel::model::plan::{Move, Outcome, Refusal, Setbacks};
use evenkeel::model::snapshot::facts::OwnerKey;
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::it::support::watched::Watched;
use crate::it::support::{hot_if, noon};

/// Each pod is older than the policy allows, so every one of them should go.
const OLD: &str = "
    node n1
      api*8 cpu=100m age=2h
      db*8 cpu=100m age=2h namespace=payments
      web*8 cpu=100m age=2h
    node n2
";

fn answered(per_cycle: u32) -> Watched {
    let policy = format!(
        "limits: {{perWorkload: none, perNode: none, perNamespace: none, perMinute: none, \
         perCycle: {per_cycle}}}\ncooldown: {{rest: 10m, cap: 6h}}\n\
         evictable: {{minReplicas: 1}}\n\
         strategies: [{{podLifeTime: {{maxPodLifeTimeSeconds: 3600}}}}]\n"
    );
    Watched::new(OLD, &policy, Ledger::default())
}

impl Watched {
    /// Runs a cycle and returns each planned pod with the code of its outcome.
    fn cycle(&mut self, answer: impl Fn(&Move) -> Outcome) -> Vec<String> {
        let snapshot = self.snapshot();
        self.engine.settle(&snapshot, self.now);
        let plan = self.engine.decide(&snapshot, self.now);
        self.engine.intend(&snapshot, &plan.moves, self.now);
        let (mut setbacks, mut outcomes) = (Setbacks::default(), Vec::new());
        for planned in &plan.moves {
            let untried = setbacks.obstacle(planned).map(Outcome::Untried);
            let outcome = untried.unwrap_or_else(|| answer(planned));
            setbacks.note(planned, &outcome);
            self.engine.resolve(planned, &outcome);
            outcomes.push(outcome);
        }
        let (moves, now) = (&plan.moves, self.now);
        self.engine.rest_rejected(moves, &outcomes, now);
        let tried = moves.iter().zip(&outcomes);
        tried.map(|(planned, outcome)| format!("{} {}", planned.pod, outcome.code())).collect()
    }

    fn wait(&mut self, minutes: i64) {
        self.now += SignedDuration::from_mins(minutes);
    }

    /// Why a pod stays.
    fn kept(&self, pod: &str) -> Option<Refusal> {
        let mut kept = self.plan().kept.into_iter();
        kept.find(|kept| kept.pod == pod).map(|kept| kept.refusal)
    }

    fn why_kept(&self, pod: &str) -> String {
        self.kept(pod).unwrap().to_string()
    }
}

fn broken() -> Outcome {
    Outcome::Failed("failed calling webhook \"guard\": no endpoints available".to_owned())
}

fn denied() -> Outcome {
    Outcome::Refused("admission webhook \"guard\" denied the request".to_owned())
}

fn granted() -> Outcome {
    Outcome::Evicted
}

#[test]
fn a_pod_whose_eviction_fails_rests_and_the_others_go_in_the_same_cycle() {
    let mut answered = answered(2);
    let fails = |planned: &Move| match planned.pod.as_str() {
        "api-1" => broken(),
        _ => granted(),
    };
    let first = answered.cycle(fails);
    assert_eq!(first, ["api-1 failed", "api-2 evicted"]);
    answered.wait(1);
    let second = answered.cycle(fails);
    assert_eq!(second, ["api-3 evicted", "api-4 evicted"]);
    assert_snapshot!(
        answered.why_kept("api-1"),
        @"its last eviction was rejected; it rests for another 9m"
    );
}

#[test]
fn the_pause_doubles_up_to_the_cap_and_outlives_a_restart() {
    let mut answered = answered(1);
    let mut pauses = Vec::new();
    for _ in 0..8 {
        assert_eq!(answered.cycle(|_| broken()), ["api-1 failed"]);
        let restarted = Ledger::parse(&answered.engine.ledger().write()).unwrap();
        answered.engine.reload(restarted);
        let pause = answered.kept("api-1").unwrap().wait().unwrap();
        pauses.push(pause.as_mins());
        answered.wait(pause.as_mins());
    }
    assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 360, 360]);
}

#[test]
fn a_workload_that_a_webhook_denies_does_not_keep_others_from_being_chosen() {
    let mut answered = answered(4);
    let denies = |planned: &Move| {
        if planned.pod.starts_with("api") { denied() } else { granted() }
    };
    let first = answered.cycle(denies);
    assert_eq!(first, ["api-1 refused", "api-2 refused", "api-3 refused", "api-4 untried"]);
    answered.wait(1);
    // Its last pod, since the fault may be that of the others.
    let second = answered.cycle(denies);
    assert_eq!(second, ["api-4 refused", "web-1 evicted", "web-2 evicted", "web-3 evicted"]);
    answered.wait(10);
    assert_eq!(
        answered.cycle(denies)[..2],
        ["api-1 refused", "web-4 evicted"],
        "after their rest, they are tried one at a time"
    );
}

#[test]
fn a_plan_ends_when_the_evictions_of_three_workloads_fail_and_their_pauses_do_not_grow() {
    let mut answered = answered(24);
    let planned = answered.cycle(|_| broken());
    let tried: Vec<&String> = planned.iter().filter(|p| p.ends_with("failed")).collect();
    assert_eq!(tried.len(), 7, "three of two workloads, one of the third: {planned:?}");
    for _ in 0..3 {
        answered.wait(10);
        answered.cycle(|_| broken());
    }
    assert_snapshot!(
        answered.why_kept("api-1"),
        @"its last eviction was rejected; it rests for another 10m"
    );
}

#[test]
fn a_missing_right_rests_the_pods_of_its_namespace_and_no_other() {
    let mut answered = answered(24);
    let forbids = |planned: &Move| {
        if planned.namespace == "payments" {
            Outcome::Forbidden("cannot create resource \"pods/eviction\"".to_owned())
        } else {
            granted()
        }
    };
    let tried = answered.cycle(forbids);
    assert_eq!(tried.iter().filter(|p| p.ends_with("forbidden")).count(), 1);
    assert_eq!(tried.iter().filter(|p| p.ends_with("evicted")).count(), 16);
    for _ in 0..3 {
        answered.wait(1);
        let kept = answered.why_kept("db-4");
        assert!(kept.starts_with("no right to evict pods in its namespace"), "{kept}");
        answered.wait(9);
        let again = answered.cycle(forbids);
        assert_eq!(again.iter().filter(|p| p.ends_with("forbidden")).count(), 1);
    }
}

#[test]
fn a_budget_that_was_used_up_meanwhile_rests_its_pod_from_the_second_time_on() {
    let mut answered = answered(1);
    let used_up = |_: &Move| Outcome::OverBudget("the disruption budget web".to_owned());
    let mut tried = Vec::new();
    for _ in 0..3 {
        tried.extend(answered.cycle(used_up));
        answered.wait(1);
    }
    assert_eq!(tried, ["api-1 refused", "api-1 refused", "api-2 refused"]);
}

#[test]
fn a_pod_whose_evictions_get_no_response_rests_from_the_second_time_on() {
    let mut answered = answered(1);
    let silent = |_: &Move| Outcome::Unanswered("no response".to_owned());
    let mut tried = Vec::new();
    for _ in 0..3 {
        tried.extend(answered.cycle(silent));
        answered.wait(2);
    }
    assert_eq!(tried, ["api-1 unanswered", "api-1 unanswered", "api-2 unanswered"]);
}

#[test]
fn rejections_are_bounded_and_those_of_pods_that_are_gone_are_forgotten() {
    let answered = answered(1);
    let (mut ledger, cooldown) = (Ledger::default(), answered.engine.policy().cooldown.clone());
    for i in 0..5000 {
        let workload = OwnerKey::try_from(format!("shop/Deployment/{}-{i}", "w".repeat(60)));
        let uid = format!("{i:036}");
        ledger.rejected(&workload.unwrap(), &uid, Fault::Pod, &cooldown, noon());
    }
    let written = ledger.write();
    assert!(written.len() <= ledger.bytes(), "{}", written.len());
    assert!(ledger.bytes() < 150_000, "{}", ledger.bytes());
    assert!(!ledger.size().is_full(0));
    assert_eq!(Ledger::parse(&written).unwrap(), ledger);
    let snapshot = answered.cluster.snapshot(answered.engine.policy());
    ledger.settle(&snapshot, hot_if(&|_| Some(false)), &cooldown, None, noon());
    assert_eq!(ledger, Ledger::default());
}

#[test]
fn two_ledgers_keep_the_rejections_of_both() {
    let cooldown = answered(1).engine.policy().cooldown.clone();
    let workload = OwnerKey::try_from("shop/Deployment/web".to_owned()).unwrap();
    let with = |uids: &[&str]| {
        let mut ledger = Ledger::default();
        for uid in uids {
            ledger.rejected(&workload, uid, Fault::Pod, &cooldown, noon());
        }
        ledger
    };
    let none = Ledger::default();
    assert_eq!(with(&["a"]).merged(&none, &with(&["b"])), with(&["a", "b"]));
    let base = with(&["a"]);
    assert_eq!(none.merged(&base, &base), none, "it ended here");
    let clamped = with(&["a"]).clamp(&cooldown, noon() - SignedDuration::from_hours(24));
    assert_eq!(clamped, 2, "times in the future are limited");
}

#[test]
fn an_eviction_of_another_pod_shows_that_the_fault_is_not_that_of_the_workload() {
    let cooldown = answered(1).engine.policy().cooldown.clone();
    let workload = OwnerKey::try_from("default/Deployment/api".to_owned()).unwrap();
    let mut ledger = Ledger::default();
    ledger.rejected(&workload, "uid-1", Fault::Pod, &cooldown, noon());
    assert!(ledger.is_suspect(&workload));
    ledger.another_goes(&workload);
    assert!(!ledger.is_suspect(&workload));
}
