//! Of two instances, does exactly one act, and does the other go on where the first stopped?

use http::Method;
use jiff::Timestamp;
use serde_json::Value;

use crate::kit::audit::{eviction_calls, evictions};
use crate::kit::bed::{Bed, on_a_bed};
use crate::kit::keel::{Keel, Launch, Policy};
use crate::kit::ledger;
use crate::kit::proxy::{Proxy, Stage};
use crate::kit::scene;
use crate::kit::usage::{in_words, used};
use crate::kit::wait::{say, that};

const EVICTION: &str = "/eviction";
const LEADING: &str = "\"message\":\"leading: ";
const STANDING_BY: &str = "\"message\":\"standing by: ";
const GIVEN_BACK: &str = "\"message\":\"the lead is given back\"";
const TRIED: &str = "\"message\":\"eviction: ";
const UNTRIED: &str = "\"outcome\":\"untried\"";

/// With a lease duration of seconds.
fn lease(duration: &str, deadline: &str) -> Vec<String> {
    let flag = |name: &str, value: &str| format!("--leader-elect-{name}={value}");
    let more = [
        flag("lease-duration", duration),
        flag("renew-deadline", deadline),
        flag("retry-period", "1s"),
    ];
    std::iter::once("--leader-elect".to_owned())
        .chain(more)
        .collect()
}

fn run(launch: &Launch, flags: &[String]) -> Keel {
    launch.run(&flags.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Waits until it has said so many lines with these words, counted from its start: it may be quicker than we are.
async fn said(keel: &mut Keel, words: &[&str], lines: usize, seconds: u64) {
    let what = format!("{lines} lines with {words:?}");
    keel.eventually(&what, seconds, async |keel| {
        that(
            keel.count(words) >= lines,
            format!("{} so far", keel.count(words)),
        )
    })
    .await;
}

/// How many evictions it asked for.
fn calls(keel: &Keel) -> usize {
    keel.count(&[TRIED]) - keel.count(&[TRIED, UNTRIED])
}

async fn spec(bed: &Bed) -> Value {
    bed.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/evenkeel")
        .await["spec"]
        .clone()
}

fn time(value: &Value) -> Timestamp {
    value.as_str().unwrap().parse().unwrap()
}

async fn even(bed: &Bed, keel: &mut Keel) {
    keel.eventually("an even cluster", 300, async |_| {
        let used = used(bed).await;
        that(used.highest() <= 50.0, in_words(&used.percentages()))
    })
    .await;
}

async fn leads(keel: &Keel) -> bool {
    keel.metrics().await.contains("evenkeel_leader 1\n")
}

#[test]
fn when_the_leader_dies_the_other_goes_on_from_the_ledger() {
    on_a_bed(async |bed| {
        scene::rights(bed);
        scene::lopsided(bed).await;
        let originals = scene::pods(bed).await;
        let flags = lease("15s", "10s");
        let proxy = Proxy::start(bed).await;
        let mut one = run(&Launch::by(bed, &Policy::USUAL, &proxy.url()).await, &flags);
        // At the worst moment: a pod is gone, and nobody has been told.
        let hold = proxy.hold(Stage::Unanswered, &[Method::POST], EVICTION);
        said(&mut one, &[LEADING], 1, 60).await;
        let mut other = run(
            &Launch::new(bed, &Policy::USUAL).await.at(bed.port(2)),
            &flags,
        );
        said(&mut other, &[STANDING_BY, " leads\""], 1, 60).await;
        hold.caught(120).await;
        assert!(leads(&one).await && !leads(&other).await);
        assert_eq!(
            other.probe("/readyz").await,
            Ok(200),
            "who stands by is ready to"
        );
        assert_eq!(
            (other.count(&[TRIED]), other.count(&["cycle: "])),
            (0, 0),
            "who stands by decides nothing"
        );
        one.kill_9();
        let last = spec(bed).await;

        said(&mut other, &[LEADING], 1, 120).await;
        let taken = time(&other.lines(LEADING)[0]["timestamp"]);
        let silent = taken.duration_since(time(&last["renewTime"]));
        assert!(
            silent.as_secs() >= 15,
            "taken over after {silent:#}, from a leader that may have lived"
        );
        even(bed, &mut other).await;
        other.cycles(3, 120).await;

        let evicted: Vec<String> = evictions(bed).into_iter().map(|e| e.name).collect();
        let written: Vec<String> = ledger::entries(bed).await.iter().map(ledger::pod).collect();
        assert!(
            evicted.iter().all(|pod| written.contains(pod)),
            "{evicted:?}, and in the ledger {written:?}"
        );
        assert!(
            evicted.iter().all(|pod| originals.contains(pod)),
            "replacements went within their rest: {evicted:?}"
        );
        assert_eq!(evicted.len(), 3, "three moves even this cluster out");
        let now = spec(bed).await;
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
fn a_leader_that_slept_through_its_lease_evicts_nothing_when_it_wakes() {
    on_a_bed(async |bed| {
        scene::rights(bed);
        scene::lopsided_by(bed, 8).await;
        let flags = lease("8s", "5s");
        let proxy = Proxy::start(bed).await;
        let hold = proxy.hold(Stage::Unanswered, &[Method::POST], EVICTION);
        let mut one = run(&Launch::by(bed, &Policy::USUAL, &proxy.url()).await, &flags);
        said(&mut one, &[LEADING], 1, 60).await;
        let mut other = run(
            &Launch::new(bed, &Policy::USUAL).await.at(bed.port(2)),
            &flags,
        );
        said(&mut other, &[STANDING_BY], 1, 60).await;
        hold.caught(120).await;
        // It has more moves to make, and is told that the first was made while it sleeps.
        one.signal("STOP");
        hold.release();
        said(&mut other, &[LEADING], 1, 120).await;
        one.signal("CONT");
        said(&mut one, &[TRIED, UNTRIED], 1, 60).await;
        said(&mut one, &[STANDING_BY], 1, 60).await;
        assert_eq!(one.probe("/readyz").await, Ok(200));
        assert!(!leads(&one).await && leads(&other).await);

        even(bed, &mut other).await;
        other.cycles(2, 60).await;
        let (asked, untried) = (eviction_calls(bed).len(), one.count(&[TRIED, UNTRIED]));
        assert_eq!(
            asked,
            1 + calls(&other),
            "the API server was asked by one that did not lead"
        );
        say(&format!(
            "leader asleep: {untried} moves of its plan were left, and 0 made after it woke"
        ));
    });
}

#[test]
fn a_leader_that_is_told_to_stop_hands_over_at_once() {
    on_a_bed(async |bed| {
        scene::rights(bed);
        scene::lopsided_by(bed, 8).await;
        let originals = scene::pods(bed).await;
        // Nobody could wait for this lease to run out.
        let flags = lease("1h", "50m");
        let policy = Policy {
            limits: "{perCycle: 1, perWorkload: 100%}",
            ..Policy::USUAL
        };
        let mut one = run(&Launch::new(bed, &policy).await, &flags);
        said(&mut one, &[LEADING], 1, 60).await;
        let mut other = run(&Launch::new(bed, &policy).await.at(bed.port(2)), &flags);
        said(&mut other, &[STANDING_BY], 1, 60).await;
        said(&mut one, &[TRIED], 2, 180).await;
        assert!(one.stop(30).await.success());
        said(&mut other, &[LEADING], 1, 60).await;
        let at = |keel: &Keel, words: &str| time(&keel.lines(words)[0]["timestamp"]);
        let after = at(&other, LEADING).duration_since(at(&one, GIVEN_BACK));
        even(bed, &mut other).await;
        other.cycles(2, 60).await;

        let evicted: Vec<String> = evictions(bed).into_iter().map(|e| e.name).collect();
        assert!(
            evicted.iter().all(|pod| originals.contains(pod)),
            "replacements went within their rest: {evicted:?}"
        );
        assert_eq!(evicted.len(), 5, "five moves even this cluster out");
        let asked = (calls(&one), calls(&other));
        assert_eq!(eviction_calls(bed).len(), asked.0 + asked.1);
        assert!(asked.0 >= 2 && asked.1 >= 1, "{asked:?}");
        say(&format!(
            "leader stopped: the other led {after:#} after it had given back, with a retry period of 1 s"
        ));
        assert!(other.stop(30).await.success());
        assert_eq!(
            spec(bed).await.get("holderIdentity"),
            None,
            "the last one gives it back too"
        );
    });
}
