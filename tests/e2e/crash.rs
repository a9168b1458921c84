//! No eviction is forgotten when the program is killed in the middle of a cycle and started again.

use std::collections::BTreeSet;

use http::Method;

use crate::e2e::support::{
    ControlPlane, Launch, Policy, Process, Proxy, Stage, even, evictions, ledger, say, scene,
};

const EVICTION: &str = "/eviction";
const LEDGER: &str = "/configmaps/evenkeel-ledger";
const WRITES: &[Method] = &[Method::PUT, Method::PATCH];

#[test]
fn a_crash_between_ledger_and_eviction_loses_nothing() {
    survives(async |proxy, process| {
        let hold = proxy.hold(Stage::Unsent, &[Method::POST], EVICTION);
        hold.caught(120).await;
        process.kill_9();
    });
}

#[test]
fn a_crash_between_an_eviction_and_its_answer_loses_nothing() {
    survives(async |proxy, process| {
        let hold = proxy.hold(Stage::Unanswered, &[Method::POST], EVICTION);
        hold.caught(120).await;
        process.kill_9();
    });
}

#[test]
fn a_crash_before_the_outcome_is_written_down_loses_nothing() {
    survives(async |proxy, process| {
        let eviction = proxy.hold(Stage::Unanswered, &[Method::POST], EVICTION);
        eviction.caught(120).await;
        let writing = proxy.hold(Stage::Unsent, WRITES, LEDGER);
        eviction.release();
        writing.caught(60).await;
        process.kill_9();
    });
}

/// Starts the program behind a proxy, crashes it, starts it again, and waits until the cluster is
/// balanced.
fn survives(crash: impl AsyncFnOnce(&Proxy, &mut Process)) {
    scene::with(scene::lopsided, async |control_plane| {
        let originals = scene::pods(control_plane).await;
        let proxy = Proxy::start(control_plane).await;
        let mut process = Launch::by(control_plane, &Policy::USUAL, &proxy.url()).await.run(&[]);
        crash(&proxy, &mut process).await;
        let at_crash = check(control_plane, &originals).await;

        let mut process = Launch::new(control_plane, &Policy::USUAL).await.run(&[]);
        even(control_plane, &mut process, 240).await;
        process.cycles(3, 120).await;
        let in_the_end = check(control_plane, &originals).await;
        say(&format!("crash: {at_crash} evictions made before it, {in_the_end} in all"));
        assert_eq!(in_the_end, 3, "three moves even this cluster out");
    });
}

/// Fails if an eviction is missing from the ledger, or if a replacement was evicted during its
/// rest. Returns the number of evictions.
async fn check(control_plane: &ControlPlane, originals: &BTreeSet<String>) -> usize {
    let evicted: BTreeSet<String> = evictions(control_plane).into_iter().map(|e| e.name).collect();
    let written: BTreeSet<String> =
        ledger::entries(control_plane).await.iter().map(ledger::pod).collect();
    let forgotten: Vec<_> = evicted.difference(&written).collect();
    assert!(forgotten.is_empty(), "evicted, and not in the ledger: {forgotten:?}");
    let replacements: Vec<_> = evicted.difference(originals).collect();
    assert!(replacements.is_empty(), "replacements evicted within their rest: {replacements:?}");
    evicted.len()
}
