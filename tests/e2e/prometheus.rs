//! Usage from a real Prometheus that scrapes the kubelets: as good as metrics.k8s.io, and at once after a restart.

use std::collections::BTreeMap;

use http::{Method, StatusCode};

use crate::kit::audit::{evictions, requests};
use crate::kit::bed::{Bed, on_a_bed};
use crate::kit::keel::{Keel, Launch, Policy};
use crate::kit::prometheus::{Prometheus, source};
use crate::kit::proxy::Stage;
use crate::kit::scene;
use crate::kit::usage::{in_words, used};
use crate::kit::wait::{say, that};

/// One eviction a cycle, so that there is more to do after a failure.
const SLOWLY: Policy = Policy { limits: "{perCycle: 1, perWorkload: 100%}", stale_after: "15s", ..Policy::USUAL };

#[test]
fn late_nodes_are_filled_as_by_metrics_server_and_nobody_asks_that() {
    on_a_bed(async |bed| {
        scene::rights(bed);
        let prometheus = Prometheus::start(bed, 10).await;
        scene::late_nodes(bed).await;
        let policy = Policy { interval: "20s", limits: "{}", ..Policy::USUAL };
        let mut keel = Launch::written(bed, &policy.by(&source(&prometheus.url()))).await.run(&[]);
        keel.eventually("every node at its target", 420, async |_| {
            let used = used(bed).await;
            that(used.highest() <= 50.0, in_words(&used.percentages()))
        })
        .await;
        // It stays so.
        scene::settle(bed).await;
        keel.cycles(4, 120).await;
        scene::settle(bed).await;
        let (made, after) = (evictions(bed), used(bed).await);
        let light = made.iter().filter(|e| !e.name.starts_with("hot-")).count();
        say(&format!("Prometheus: late nodes, after: {}", in_words(&after.percentages())));
        say(&format!("Prometheus: late nodes: {} evictions, {light} of light pods", made.len()));
        assert!(after.highest() <= 50.0, "a node is hot still: {}", in_words(&after.percentages()));
        assert!(made.len() <= 12, "eleven would do: {made:#?}");
        assert_eq!(light, 0, "{made:#?}");
        assert!(!requests(bed).iter().any(|r| r.group == "metrics.k8s.io"), "metrics-server was asked");
    });
}

#[test]
fn both_sources_come_to_the_same_and_a_restart_acts_at_once() {
    on_a_bed(async |bed| {
        scene::rights(bed);
        let prometheus = Prometheus::start(bed, 4).await;
        scene::lopsided_by(bed, 8).await;
        let by_prometheus = Policy::USUAL.by(&source(&prometheus.url()));
        let asked = ratios(&mut Launch::written(bed, &by_prometheus).await.run(&["--dry-run"])).await;
        let told = ratios(&mut Launch::new(bed, &Policy::USUAL).await.run(&["--dry-run"])).await;
        assert_eq!((asked.len(), told.len()), (8, 8), "cpu and memory of four nodes: {asked:?} {told:?}");
        let apart = |name: &String| (asked[name] - told[name]).abs() / told[name];
        let furthest = told.keys().map(|name| (apart(name), name)).max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        say(&format!("Prometheus and metrics-server: at most {:.1} % apart, {}", furthest.0 * 100.0, furthest.1));
        assert!(furthest.0 <= 0.02, "{asked:#?} {told:#?}");

        // One that has just started knows the window that it has not seen, and acts in its very first cycle.
        let launch = Launch::written(bed, &SLOWLY.by(&source(&prometheus.url()))).await;
        for run in 1..=2 {
            let mut keel = launch.run(&[]);
            keel.cycles(1, 60).await;
            let first = keel.log().into_iter().find(|line| line.contains("\"message\":\"cycle: ")).unwrap();
            assert!(first.contains("\"outcome\":\"acted\""), "run {run}: {first}");
            assert_eq!(evictions(bed).len(), run, "run {run}");
            keel.kill_9();
        }
        say("Prometheus: started and restarted, it evicts in its first cycle");
    });
}

#[test]
fn nothing_is_evicted_by_bad_answers_and_it_recovers() {
    on_a_bed(async |bed| {
        scene::rights(bed);
        let prometheus = Prometheus::start(bed, 4).await;
        scene::lopsided_by(bed, 8).await;
        let meddler = prometheus.meddler(bed).await;
        let mut keel = Launch::written(bed, &SLOWLY.by(&source(&meddler.url()))).await.run(&[]);
        more_evictions(bed, &mut keel, 180).await;

        // What was read before may be acted on until it is stale.
        let nonsense = meddler.answer(StatusCode::OK, &[Method::GET], "/api/v1/");
        keel.says(&["no source of usage is fresh"], 1, 90).await;
        keel.cycles(1, 60).await;
        let before = evictions(bed).len();
        keel.cycles(2, 60).await;
        assert_eq!(keel.probe("/readyz").await, Ok(503));
        drop(nonsense);
        let refused = meddler.answer(StatusCode::UNAUTHORIZED, &[Method::GET], "/api/v1/");
        keel.eventually("word of the credentials", 60, async |keel| {
            that(keel.count(&["does not accept our credentials (401)"]) > 0, "none")
        })
        .await;
        keel.cycles(2, 60).await;
        let slow = meddler.hold(Stage::Unanswered, &[Method::GET], "/api/v1/");
        drop(refused);
        keel.eventually("word of the time it takes", 60, async |keel| {
            that(keel.count(&["took longer than"]) > 0, "none")
        })
        .await;
        keel.cycles(2, 60).await;
        assert_eq!(evictions(bed).len(), before, "evicted on stale usage");
        slow.release();
        let seconds = more_evictions(bed, &mut keel, 180).await;
        say(&format!("Prometheus: nonsense, 401 and silence: the next eviction {seconds} s after they were over"));
        assert_eq!(keel.probe("/readyz").await, Ok(200));
    });
}

#[test]
fn metrics_server_stands_in_while_prometheus_is_away() {
    on_a_bed(async |bed| {
        scene::rights(bed);
        let prometheus = Prometheus::start(bed, 4).await;
        scene::lopsided_by(bed, 8).await;
        let meddler = prometheus.meddler(bed).await;
        let policy = SLOWLY.by(&format!("{}fallback: metricsApi, ", source(&meddler.url())));
        let policy = policy.replace("staleAfter: 15s", "staleAfter: 30s");
        let away = meddler.answer(StatusCode::BAD_GATEWAY, &[Method::GET], "/api/v1/");
        let mut keel = Launch::written(bed, &policy).await.run(&[]);
        more_evictions(bed, &mut keel, 180).await;
        assert_eq!(keel.count(&["usage is read from metricsApi while prometheus is stale"]), 1);
        drop(away);
        keel.eventually("Prometheus to be asked again", 60, async |keel| {
            that(keel.count(&["usage is read from prometheus again"]) > 0, "it is not")
        })
        .await;
        let text = keel.metrics().await;
        assert!(text.contains("evenkeel_source_in_use{source=\"prometheus\"} 1\n"), "{text}");
        assert!(text.contains("evenkeel_source_in_use{source=\"metricsApi\"} 0\n"), "{text}");
    });
}

/// What it takes the nodes' cpu and memory for, once their windows are full.
async fn ratios(keel: &mut Keel) -> BTreeMap<String, f64> {
    keel.cycles(6, 180).await;
    let text = keel.metrics().await;
    let lines = text.lines().filter_map(|line| line.strip_prefix("evenkeel_node_ratio{")?.split_once("} "));
    let actual = lines.filter(|(labels, _)| labels.contains("basis=\"actual\"") && !labels.contains("\"pods\""));
    actual.map(|(labels, value)| (labels.to_owned(), value.parse().unwrap())).collect()
}

/// Waits for one more, and tells how long it took.
async fn more_evictions(bed: &Bed, keel: &mut Keel, seconds: u64) -> u64 {
    let (start, before) = (tokio::time::Instant::now(), evictions(bed).len());
    keel.eventually("an eviction", seconds, async |_| {
        let after = evictions(bed).len();
        that(after > before, format!("{before} before, {after} now"))
    })
    .await;
    start.elapsed().as_secs()
}
