//! Exactly one of two instances acts, and the other continues where the first stopped.

use http::Method;
use jiff::Timestamp;
use serde_json::Value;

use crate::e2e::support::{
    ControlPlane, Launch, Policy, Process, Proxy, Stage, even, eviction_calls, evictions, ledger,
    say, scene, that,
};

const EVICTION: &str = "/eviction";
const LEADING: &str = "\"message\":\"leading: ";
/// Logged by an instance that has not led.
const STANDING_BY: &str = "\"message\":\"standing by: ";
/// Logged once by an instance that has led. `STANDING_BY` follows only if the holder changes later.
const LOST_THE_LEAD: &str = "\"message\":\"lost the lead: standing by, ";
const GIVEN_BACK: &str = "\"message\":\"released the lease\"";
const TRIED: &str = "\"message\":\"eviction: ";
const UNTRIED: &str = "\"outcome\":\"untried\"";

/// With a lease duration of a few seconds.
fn lease(duration: &str, deadline: &str) -> Vec<String> {
    let flag = |name: &str, value: &str| format!("--leader-elect-{name}={value}");
    let more = [
        flag("lease-duration", duration),
        flag("renew-deadline", deadline),
        flag("retry-period", "1s"),
    ];
    std::iter::once("--leader-elect".to_owned()).chain(more).collect()
}

fn run(launch: &Launch, flags: &[String]) -> Process {
    launch.run(&flags.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Waits until the process has logged this many lines with these words since its start, because
/// they may be there already.
async fn said(process: &mut Process, words: &[&str], lines: usize, seconds: u64) {
    let what = format!("{lines} lines with {words:?}");
    process
        .eventually(&what, seconds, async |process| {
            that(process.count(words) >= lines, format!("{} so far", process.count(words)))
        })
        .await;
}

/// Number of evictions that the instance requested.
fn calls(process: &Process) -> usize {
    process.count(&[TRIED]) - process.count(&[TRIED, UNTRIED])
}

async fn spec(control_plane: &ControlPlane) -> Value {
    control_plane
        .get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/evenkeel")
        .await["spec"]
        .clone()
}

fn time(value: &Value) -> Timestamp {
    value.as_str().unwrap().parse().unwrap()
}

async fn leads(process: &Process) -> bool {
    process.metrics().await.contains("evenkeel_leader 1\n")
}

#[test]
fn when_the_leader_dies_the_other_continues_from_the_ledger() {
    scene::with(scene::lopsided, async |control_plane| {
        let originals = scene::pods(control_plane).await;
        let flags = lease("15s", "10s");
        let proxy = Proxy::start(control_plane).await;
        let mut one = run(&Launch::by(control_plane, &Policy::USUAL, &proxy.url()).await, &flags);
        // The worst moment: a pod is evicted, and its outcome is not saved yet.
        let hold = proxy.hold(Stage::Unanswered, &[Method::POST], EVICTION);
        said(&mut one, &[LEADING], 1, 60).await;
        let mut other = run(
            &Launch::new(control_plane, &Policy::USUAL).await.at(control_plane.port(2)),
            &flags,
        );
        said(&mut other, &[STANDING_BY, " leads\""], 1, 60).await;
        hold.caught(120).await;
        assert!(leads(&one).await && !leads(&other).await);
        assert_eq!(other.probe("/readyz").await, Ok(200), "who stands by is ready to");
        assert_eq!(
            (other.count(&[TRIED]), other.count(&["cycle: "])),
            (0, 0),
            "who stands by decides nothing"
        );
        one.kill_9();
        let last = spec(control_plane).await;

        said(&mut other, &[LEADING], 1, 120).await;
        let taken = time(&other.lines(LEADING)[0]["timestamp"]);
        let silent = taken.duration_since(time(&last["renewTime"]));
        assert!(
            silent.as_secs() >= 15,
            "taken over after {silent:#}, from a leader that may have lived"
        );
        even(control_plane, &mut other, 300).await;
        other.cycles(3, 120).await;

        let evicted: Vec<String> = evictions(control_plane).into_iter().map(|e| e.name).collect();
        let written: Vec<String> =
            ledger::entries(control_plane).await.iter().map(ledger::pod).collect();
        assert!(
            evicted.iter().all(|pod| written.contains(pod)),
            "{evicted:?}, and in the ledger {written:?}"
        );
        assert!(
            evicted.iter().all(|pod| originals.contains(pod)),
            "replacements went within their rest: {evicted:?}"
        );
        assert_eq!(evicted.len(), 3, "three moves even this cluster out");
        let now = spec(control_plane).await;
        assert_eq!(
            now["leaseTransitions"].as_i64(),
            last["leaseTransitions"].as_i64().map(|n| n + 1)
        );
        say(&format!(
            "leader killed: the other led {silent:#} after its last renewal; 3 evictions in all"
        ));
    });
}

#[test]
fn a_leader_that_was_suspended_past_its_lease_evicts_nothing_when_it_resumes() {
    scene::with(scene::more_lopsided, async |control_plane| {
        let flags = lease("8s", "5s");
        let proxy = Proxy::start(control_plane).await;
        let hold = proxy.hold(Stage::Unanswered, &[Method::POST], EVICTION);
        let mut one = run(&Launch::by(control_plane, &Policy::USUAL, &proxy.url()).await, &flags);
        said(&mut one, &[LEADING], 1, 60).await;
        let mut other = run(
            &Launch::new(control_plane, &Policy::USUAL).await.at(control_plane.port(2)),
            &flags,
        );
        said(&mut other, &[STANDING_BY], 1, 60).await;
        hold.caught(120).await;
        // The plan has more moves. The response to the first arrives while the process is
        // suspended.
        one.signal("STOP");
        hold.release();
        said(&mut other, &[LEADING], 1, 120).await;
        one.signal("CONT");
        said(&mut one, &[TRIED, UNTRIED], 1, 60).await;
        said(&mut one, &[LOST_THE_LEAD], 1, 60).await;
        assert_eq!(one.probe("/readyz").await, Ok(200));
        assert!(!leads(&one).await && leads(&other).await);

        even(control_plane, &mut other, 300).await;
        other.cycles(2, 60).await;
        let (asked, untried) = (eviction_calls(control_plane).len(), one.count(&[TRIED, UNTRIED]));
        assert_eq!(asked, 1 + calls(&other), "the API server was asked by one that did not lead");
        say(&format!(
            "leader suspended: {untried} moves of its plan were not tried, 0 made after it resumed"
        ));
    });
}

#[test]
fn a_leader_that_is_stopped_hands_over_at_once() {
    scene::with(scene::more_lopsided, async |control_plane| {
        let originals = scene::pods(control_plane).await;
        // Far longer than the test waits: only a handover can end this lease.
        let flags = lease("1h", "50m");
        let policy = Policy { limits: "{perCycle: 1, perWorkload: 100%}", ..Policy::USUAL };
        let mut one = run(&Launch::new(control_plane, &policy).await, &flags);
        said(&mut one, &[LEADING], 1, 60).await;
        let mut other =
            run(&Launch::new(control_plane, &policy).await.at(control_plane.port(2)), &flags);
        said(&mut other, &[STANDING_BY], 1, 60).await;
        said(&mut one, &[TRIED], 2, 180).await;
        assert!(one.stop(30).await.success());
        said(&mut other, &[LEADING], 1, 60).await;
        let at = |process: &Process, words: &str| time(&process.lines(words)[0]["timestamp"]);
        let after = at(&other, LEADING).duration_since(at(&one, GIVEN_BACK));
        even(control_plane, &mut other, 300).await;
        other.cycles(2, 60).await;

        let evicted: Vec<String> = evictions(control_plane).into_iter().map(|e| e.name).collect();
        assert!(
            evicted.iter().all(|pod| originals.contains(pod)),
            "replacements went within their rest: {evicted:?}"
        );
        assert_eq!(evicted.len(), 5, "five moves even this cluster out");
        let asked = (calls(&one), calls(&other));
        assert_eq!(eviction_calls(control_plane).len(), asked.0 + asked.1);
        assert!(asked.0 >= 2 && asked.1 >= 1, "{asked:?}");
        say(&format!(
            "leader stopped: the other led {after:#} after the release, with a retry period of 1 s"
        ));
        assert!(other.stop(30).await.success());
        assert_eq!(
            spec(control_plane).await.get("holderIdentity"),
            None,
            "the last leader releases the Lease too"
        );
    });
}
