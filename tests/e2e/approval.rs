//! A person approves evictions by the command line, and applies a plan without a daemon.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::e2e::support::{ControlPlane, Launch, Policy, evictions, scene, that};

fn evicted(control_plane: &ControlPlane) -> BTreeSet<String> {
    let evictions = evictions(control_plane);
    evictions.iter().map(|e| e.name.clone()).collect()
}

/// The pods of a list of moves.
fn pods(moves: &Value) -> BTreeSet<String> {
    let moves = moves.as_array().unwrap().iter();
    moves.map(|one| one["pod"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_daemon_evicts_what_a_person_has_approved_and_nothing_else() {
    scene::with(scene::more_lopsided, async |control_plane| {
        let policy = format!("{}approval: {{required: true}}\n", Policy::USUAL.by(""));
        let launch = Launch::written(control_plane, &policy).await.shown();
        let mut process = launch.run(&[]);
        process
            .eventually("a proposal", 240, async |process| {
                let metrics = process.metrics().await;
                let none = metrics.contains("evenkeel_proposed_moves 0");
                that(!none && metrics.contains("evenkeel_proposed_moves "), "none")
            })
            .await;
        process.cycles(3, 120).await;
        assert!(evictions(control_plane).is_empty());
        let stored =
            control_plane.get("/api/v1/namespaces/kube-system/configmaps/evenkeel-proposal").await;
        let proposal: Value =
            serde_json::from_str(stored["data"]["proposal.json"].as_str().unwrap()).unwrap();
        let id = proposal["id"].as_str().unwrap();
        let shown = Launch::as_person(control_plane, &["approve"]);
        assert!(shown.contains(&format!("evenkeel approve {id}")), "{shown}");
        let status = launch.status_text();
        assert!(status.contains(id), "{status}");

        // Two people agree at the same moment.
        let approve = || Launch::as_person(control_plane, &["approve", id]);
        let both = std::thread::scope(|scope| {
            [scope.spawn(approve), scope.spawn(approve)].map(|person| person.join().unwrap())
        });
        for said in both {
            assert!(said.starts_with(&format!("approved {id}")), "{said}");
        }
        let wanted = pods(&proposal["moves"]);
        process
            .eventually("the approved evictions", 120, async |_| {
                let now = evicted(control_plane);
                that(now == wanted, format!("{now:?}, not {wanted:?}"))
            })
            .await;
        process.cycles(3, 120).await;
        assert_eq!(evicted(control_plane), wanted);
        assert_eq!(evictions(control_plane).len(), wanted.len());
    });
}

#[test]
fn a_plan_file_is_carried_out_once_and_not_if_it_was_altered() {
    scene::with(scene::more_lopsided, async |control_plane| {
        let launch = Launch::new(control_plane, &Policy::USUAL).await;
        let text = launch.plan_text(&[]);
        let wanted = pods(&serde_json::from_str::<Value>(&text).unwrap()["moves"]);
        assert!(!wanted.is_empty(), "{text}");
        let (pod, other) = (wanted.first().unwrap(), "web-0");
        let altered = control_plane.write("altered.json", &text.replace(pod, other));
        let output = launch.apply(&altered, &[]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains("it was altered"), "{error}");
        assert!(evictions(control_plane).is_empty());

        let plan = control_plane.write("plan.json", &text);
        let dry = launch.apply(&plan, &["--dry-run"]);
        let log = String::from_utf8_lossy(&dry.stderr).into_owned();
        let named = wanted.iter().any(|pod| log.contains(pod.as_str()));
        assert!(dry.status.success() && named && !log.contains("has to approve"), "{log}");
        assert!(evictions(control_plane).is_empty());

        let output = launch.apply(&plan, &[]);
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{log}");
        let made = evicted(control_plane);
        assert!(!made.is_empty() && made.is_subset(&wanted), "{made:?}, not {wanted:?}");

        let again = launch.apply(&plan, &[]);
        let error = String::from_utf8_lossy(&again.stderr).into_owned();
        assert!(!again.status.success() && error.contains("is possible now"), "{error}");
        assert_eq!(evicted(control_plane), made);
    });
}
