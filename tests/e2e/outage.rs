//! Does it get over failures of what it depends on, without a restart and without acting on stale data?

use http::{Method, StatusCode};

use crate::kit::audit::evictions;
use crate::kit::bed::{Bed, on_a_bed};
use crate::kit::keel::{Keel, Launch, Policy};
use crate::kit::proxy::Proxy;
use crate::kit::scene;
use crate::kit::wait::{say, that};

/// One eviction a cycle, so that there is more to do after the failure.
const SLOWLY: Policy = Policy {
    limits: "{perCycle: 1, perWorkload: 100%}",
    stale_after: "30s",
    ..Policy::USUAL
};

/// A cycle in which nothing was decided.
const WAITING: &[&str] = &["\"outcome\":\"waiting\""];

#[test]
fn it_goes_on_after_the_api_server_was_restarted() {
    on_a_bed(async |bed| {
        scene::rights(bed);
        scene::lopsided_by(bed, 8).await;
        let mut keel = Launch::new(bed, &SLOWLY).await.run(&[]);
        more_evictions(bed, &mut keel, 1, 180).await;
        bed.component("restart", "apiserver");
        let seconds = more_evictions(bed, &mut keel, 1, 240).await;
        say(&format!(
            "API server restarted: the next eviction {seconds} s later"
        ));
    });
}

#[test]
fn it_waits_while_there_are_no_metrics() {
    on_a_bed(async |bed| {
        scene::rights(bed);
        scene::lopsided_by(bed, 8).await;
        let proxy = Proxy::start(bed).await;
        let mut keel = Launch::by(bed, &SLOWLY, &proxy.url()).await.run(&[]);
        more_evictions(bed, &mut keel, 1, 180).await;

        let complaints = keel.warnings();
        let outage = proxy.answer(
            StatusCode::SERVICE_UNAVAILABLE,
            &[Method::GET],
            "/apis/metrics.k8s.io",
        );
        // What was read before may be acted on until it is stale, 30 s later.
        keel.cycles(5, 120).await;
        let before = evictions(bed).len();
        keel.cycles(8, 180).await;
        assert_eq!(evictions(bed).len(), before, "evicted on stale metrics");
        assert!(
            keel.warnings() > complaints,
            "the log says nothing of the missing metrics"
        );
        drop(outage);
        let seconds = more_evictions(bed, &mut keel, 1, 180).await;
        say(&format!(
            "no metrics for two minutes: the next eviction {seconds} s after they were back"
        ));
    });
}

#[test]
fn it_waits_while_its_watches_are_cut() {
    on_a_bed(async |bed| {
        scene::rights(bed);
        scene::lopsided_by(bed, 8).await;
        let proxy = Proxy::start(bed).await;
        let mut keel = Launch::by(bed, &SLOWLY, &proxy.url()).await.run(&[]);
        more_evictions(bed, &mut keel, 1, 180).await;

        let complaints = keel.warnings();
        let (lists, gone) = ("/api/v1/pods", "watch=true");
        let outages = [lists, gone]
            .map(|text| proxy.answer(StatusCode::SERVICE_UNAVAILABLE, &[Method::GET], text));
        proxy.cut_watches();
        keel.cycles(2, 120).await;
        let before = evictions(bed).len();
        keel.cycles(4, 150).await;
        assert_eq!(
            evictions(bed).len(),
            before,
            "evicted on a stale picture of the cluster"
        );
        assert!(
            keel.warnings() > complaints,
            "the log says nothing of the watches"
        );
        drop(outages);
        let seconds = more_evictions(bed, &mut keel, 1, 240).await;
        say(&format!(
            "watches cut for a minute: the next eviction {seconds} s after they were back"
        ));

        // Cut once, with the server there to start again: nothing to wait for.
        let waits = keel.count(WAITING);
        proxy.cut_watches();
        keel.cycles(3, 90).await;
        assert_eq!(keel.count(WAITING), waits);
    });
}

/// Waits for so many more, and tells how long it took.
async fn more_evictions(bed: &Bed, keel: &mut Keel, more: usize, seconds: u64) -> u64 {
    let (start, before) = (tokio::time::Instant::now(), evictions(bed).len());
    keel.eventually("an eviction", seconds, async |_| {
        let after = evictions(bed).len();
        that(
            after >= before + more,
            format!("{before} before, {after} now"),
        )
    })
    .await;
    start.elapsed().as_secs()
}
