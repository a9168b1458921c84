//! Soft taints bring a cluster to rest that would not come to rest without them, and are removed
//! again.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::e2e::support::{
    ControlPlane, Launch, Policy, Process, audit::USER, even, eventually, evictions, in_words,
    requests, say, scene, that, used, with_control_plane,
};

const DISABLED: &[&str] = &["steering disabled", "deploy/base/steering.yaml"];
/// An admission policy that refuses every change of a node by the program.
const NO_TAINTS: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-taints}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], resources: [nodes], operations: [UPDATE]}
  matchConditions:
  - name: by-evenkeel
    expression: >-
      request.userInfo.username.startsWith('system:serviceaccount:kube-system:evenkeel')
  validations:
  - {expression: 'false', message: no taints here}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-taints}
spec: {policyName: no-taints, validationActions: [Deny]}
";
const HOT: &str = "evenkeel.io/steer=hot:PreferNoSchedule";

/// Steers, and evicts with the default limits.
const STEERS: Policy = Policy {
    interval: "20s",
    limits: "{}",
    // Shorter than the time for which the test watches the balanced cluster.
    rest: "2m",
    steering: "{taintHot: true}",
    ..Policy::USUAL
};
/// Steers but evicts nothing.
const STEERS_ALONE: Policy = Policy { interval: "5s", limits: "{perCycle: 0}", ..STEERS };

/// Seven heavy pods prefer the hot node. Without steering, each of them would come back.
#[test]
fn the_dead_loop_is_balanced_and_stays_so() {
    scene::with(scene::dead_loop, async |control_plane| {
        let before = used(control_plane).await.percentages();
        let launch = Launch::new(control_plane, &STEERS).await;
        let trial = launch.plan()["steering_trial"].take();
        assert_eq!(
            (&trial["hot"], &trial["relieved_with_taints"]),
            (&json!(1), &json!(1)),
            "{trial}"
        );
        say(&format!("dead loop, before the taint: {}", trial["message"]));
        let mut process = launch.run(&[]);
        tainted(control_plane, &mut process, true).await;
        even(control_plane, &mut process, 480).await;
        // It keeps the taint, because it is still above 65 % of its target.
        tainted(control_plane, &mut process, true).await;
        let times: Vec<Timestamp> = evictions(control_plane).iter().map(|e| e.at).collect();
        let (made, took) = (times.len(), times[times.len() - 1].duration_since(times[0]).as_secs());
        // By the program's own clock.
        let end = process.last_cycle().unwrap() + SignedDuration::from_mins(5);
        process
            .eventually("the end of five minutes", 420, async |process| {
                let last = process.last_cycle();
                that(last.is_some_and(|at| at >= end), format!("the last cycle was at {last:?}"))
            })
            .await;
        let after = used(control_plane).await;
        say(&format!("dead loop, steered, before: {}", in_words(&before)));
        say(&format!("dead loop, steered, after:  {}", in_words(&after.percentages())));
        say(&format!(
            "dead loop, steered: {made} evictions within {took} s, and none in the five minutes \
                after"
        ));
        assert!(after.highest() <= 50.0, "a node is hot again: {}", in_words(&after.percentages()));
        assert_eq!(evictions(control_plane).len(), made, "it goes on evicting");
        assert!(made <= 6, "four would do: {made}");
        assert!(process.stop(5).await.success());
    });
}

#[test]
fn it_touches_no_other_taint_and_leaves_none_behind() {
    scene::with_rights(async |control_plane| {
        const OTHER: &str = "dedicated=web:PreferNoSchedule";
        scene::lopsided(control_plane).await;
        control_plane.kubectl(&["taint", "node", "n1", OTHER]);
        let mut process = Launch::new(control_plane, &STEERS_ALONE).await.run(&[]);
        tainted(control_plane, &mut process, true).await;
        assert_eq!(scene::taints(control_plane, "n1").await, [OTHER, HOT]);
        process.cycles(3, 60).await;
        assert!(process.stop(10).await.success());
        assert_eq!(
            scene::taints(control_plane, "n1").await,
            [OTHER],
            "the program has ended and left its taint behind"
        );
        let patches = requests(control_plane)
            .into_iter()
            .filter(|r| r.verb == "patch" && !r.dry_run)
            .map(|r| (r.resource, r.name));
        let n1 = || ("nodes".to_owned(), "n1".to_owned());
        assert_eq!(patches.collect::<Vec<_>>(), [n1(), n1()], "once on, once off");

        // After a crash the next process removes the taint, even if its policy does not steer.
        let mut process = Launch::new(control_plane, &STEERS_ALONE).await.run(&[]);
        tainted(control_plane, &mut process, true).await;
        process.kill_9();
        let mut process =
            Launch::new(control_plane, &Policy { steering: "{}", ..STEERS_ALONE }).await.run(&[]);
        tainted(control_plane, &mut process, false).await;
        assert_eq!(scene::taints(control_plane, "n1").await, [OTHER]);
        assert_eq!((process.warnings(), evictions(control_plane).len()), (0, 0));
    });
}

#[test]
fn without_the_right_to_steer_everything_else_goes_on() {
    with_control_plane(async |control_plane| {
        scene::rights_without_steering(control_plane);
        scene::lopsided(control_plane).await;
        let policy = Policy { interval: "5s", ..STEERS };
        let launch = Launch::new(control_plane, &policy).await.shown();
        let mut process = launch.run(&[]);
        process.says(DISABLED, 1, 180).await;
        even(control_plane, &mut process, 240).await;
        process.cycles(2, 60).await;
        let page = launch.status().await;
        let reason = page["plan"]["steering_denied"].as_str().unwrap();
        assert!(reason.contains("cannot patch resource \"nodes\""), "{reason}");
        assert_eq!((process.count(DISABLED), process.warnings()), (1, 1));
        say(&format!(
            "without the right to steer: {} evictions, one warning",
            evictions(control_plane).len()
        ));
        scene::rights(control_plane);
        process.says(&["steering enabled"], 1, 60).await;
        process.cycles(1, 60).await;
        assert!(launch.status().await["plan"]["steering_denied"].is_null());
        assert!(process.stop(10).await.success());
    });
}

/// The role grants the patch, but a policy of the administrator refuses it with status 422.
#[test]
fn where_an_admission_policy_refuses_the_taint_steering_waits() {
    scene::with_rights(async |control_plane| {
        control_plane.apply(NO_TAINTS);
        scene::lopsided(control_plane).await;
        let mut process = Launch::new(control_plane, &STEERS_ALONE).await.run(&[]);
        process.says(DISABLED, 1, 180).await;
        let withheld = "evenkeel_steered_nodes{action=\"withhold\",code=\"not-permitted\"} 1";
        process.shows(withheld, 120).await;
        process.cycles(3, 60).await;
        assert_eq!(process.count(&["no taints here"]), 1);
        assert_eq!((process.count(DISABLED), process.warnings()), (1, 1));
        let kind = "validatingadmissionpolicybinding";
        control_plane.kubectl(&["delete", kind, "no-taints"]);
        process.says(&["steering enabled"], 1, 60).await;
        tainted(control_plane, &mut process, true).await;
        assert!(process.stop(10).await.success());
        assert!(scene::taints(control_plane, "n1").await.is_empty());

        // Without the policy of deploy/base, the right is wider than it should be.
        control_plane.kubectl(&["delete", kind, "evenkeel-steering"]);
        eventually("the end of the admission policy", 60, async || {
            that(may_label(control_plane).await, "still in force")
        })
        .await;
        let mut process = Launch::new(control_plane, &STEERS_ALONE).await.run(&[]);
        let unlimited = ["permission to patch nodes is not limited to the taint"];
        process.says(&unlimited, 1, 180).await;
        tainted(control_plane, &mut process, true).await;
        assert_eq!((process.count(&unlimited), process.warnings()), (1, 1));
        assert!(process.stop(10).await.success());
    });
}

/// Whether the program's account may change a label, by a dry run.
async fn may_label(control_plane: &ControlPlane) -> bool {
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    let path = "/api/v1/nodes/n1?dryRun=All";
    control_plane.send("PATCH", path, Some(USER), &label).await.is_ok()
}

/// Waits until n1 has the taint, or has lost it.
async fn tainted(control_plane: &ControlPlane, process: &mut Process, whether: bool) {
    let what = if whether { "the taint" } else { "the taint to go" };
    process
        .eventually(what, 180, async |_| {
            let taints = scene::taints(control_plane, "n1").await;
            that(taints.iter().any(|t| t == HOT) == whether, format!("{taints:?}"))
        })
        .await;
}
