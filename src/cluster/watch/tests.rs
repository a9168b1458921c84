//! Lists and watches against a fake API server.

use std::sync::{Arc, Mutex};

use super::*;
use crate::cluster::client::tests::{ApiRequests, fake, status};
use crate::model::snapshot::facts::PodFacts;
use crate::model::snapshot::{Pod, Snapshot};
use serde_json::json;

const PODS: WatchedKind = WATCHED_KINDS[1];
const CLASSES: WatchedKind = WATCHED_KINDS[4];

fn pod(name: &str, node: &str, version: u32) -> serde_json::Value {
    json!({"metadata": {"name": name, "namespace": "a", "resourceVersion": version.to_string()},
        "spec": {"nodeName": node}})
}

fn page(version: &str, next: &str, items: &[serde_json::Value]) -> (u16, String) {
    (
        200,
        json!({"metadata": {"resourceVersion": version, "continue": next}, "items": items})
            .to_string(),
    )
}

fn lines(events: &[(&str, serde_json::Value)]) -> (u16, String) {
    (
        200,
        events
            .iter()
            .map(|(event, object)| json!({"object": object, "type": event}).to_string() + "\n")
            .collect(),
    )
}

async fn watcher(
    watched: WatchedKind,
    answer: impl Fn(&str, &str, &str) -> (u16, String) + Clone + Send + Sync + 'static,
) -> (Watcher, ApiRequests) {
    let (client, requests) = fake(answer).await;
    (Watcher::new(Cluster::new(client), watched), requests)
}

/// The pods and the nodes in their facts, because the snapshot here has no nodes.
fn pods(cluster: &Cluster) -> Vec<String> {
    let shown = |pod: &Pod| {
        let facts: &PodFacts = pod;
        format!("{} on {}", facts.name, facts.node.as_deref().unwrap_or("none"))
    };
    cluster.snapshot([]).pods.iter().map(shown).collect()
}

fn skipped(cluster: &Cluster) -> Vec<(String, Option<String>)> {
    let snapshot: Snapshot = cluster.snapshot([]);
    snapshot.skipped.into_iter().map(|s| (s.name, s.node)).collect()
}

#[tokio::test]
async fn a_list_is_read_page_by_page_and_an_invalid_object_is_skipped() {
    let (mut watcher, requests) = watcher(PODS, |_, uri, _| {
        if uri.contains("continue=a%2Fb%3D") {
            page("7", "", &[pod("p3", "n3", 3)])
        } else {
            let broken =
                json!({"metadata": {"name": "p2", "namespace": "a"}, "spec": {"nodeName": "n2",
                    "containers": 1}});
            page("7", "a/b=", &[pod("p1", "n1", 1), broken])
        }
    })
    .await;
    watcher.by_page = true;
    watcher.list().await.unwrap();
    assert_eq!(pods(&watcher.cluster), ["p1 on n1", "p3 on n3"]);
    assert_eq!(skipped(&watcher.cluster), [("p2".to_owned(), Some("n2".to_owned()))]);
    assert_eq!(watcher.position.as_deref(), Some("7"));
    assert!(watcher.cluster.health()[&ObjectKind::Pod].synced && !watcher.cluster.synced());
    assert!(
        requests
            .lock()
            .unwrap()
            .iter()
            .all(|(_, uri, _)| uri.starts_with("/api/v1/pods?limit=500"))
    );
}

#[tokio::test]
async fn a_list_comes_as_a_whole_and_by_page_where_that_fails() {
    let (mut watcher, requests) = watcher(PODS, |_, uri, _| match uri {
        "/api/v1/pods?limit=0" => {
            let cut = page("6", "", &[pod("p1", "n1", 1), pod("p2", "n1", 2)]).1;
            (200, cut[..cut.len() - 1].to_owned())
        }
        "/api/v1/pods?limit=500" => page("7", "a", &[pod("p1", "n1", 1)]),
        _ => page("7", "", &[pod("p3", "n3", 3)]),
    })
    .await;
    let error = watcher.list().await.unwrap_err();
    assert_eq!(error.why, "the answer ended early");
    watcher.list().await.unwrap();
    // The second pod was deleted between the two lists.
    assert_eq!(pods(&watcher.cluster), ["p1 on n1", "p3 on n3"]);
    let requests: Vec<String> = requests.lock().unwrap().iter().map(|r| r.1.clone()).collect();
    assert_eq!(
        requests,
        ["/api/v1/pods?limit=0", "/api/v1/pods?limit=500", "/api/v1/pods?limit=500&continue=a"]
    );
    assert!(!watcher.by_page, "the next list comes as a whole again");
}

#[tokio::test]
async fn objects_missing_from_a_later_list_are_forgotten() {
    let (mut watcher, _) = watcher(PODS, |_, _, _| page("2", "", &[pod("p2", "n1", 2)])).await;
    let old = import::json(ObjectKind::Pod, pod("p1", "n1", 1).to_string().as_bytes()).unwrap();
    watcher.cluster.objects().apply(old);
    watcher.list().await.unwrap();
    assert_eq!(pods(&watcher.cluster), ["p2 on n1"]);
}

/// As proxies answer: by an error with status 200, or without the version that every list of an API
/// server has.
#[tokio::test]
async fn an_answer_that_is_no_list_forgets_no_object() {
    for answer in [r#"{"error": "session expired"}"#, r#"{"items": []}"#] {
        let (mut watcher, _) = watcher(PODS, move |_, _, _| (200, answer.to_owned())).await;
        let old = import::json(ObjectKind::Pod, pod("p1", "n1", 1).to_string().as_bytes());
        watcher.cluster.objects().apply(old.unwrap());
        let error = watcher.list().await.unwrap_err();
        assert!(error.why.starts_with("invalid list: it has no "), "{error:?}");
        watcher.fail(&error);
        assert_eq!(pods(&watcher.cluster), ["p1 on n1"]);
        assert!(watcher.cluster.health()[&ObjectKind::Pod].outage.is_some());
    }
}

/// The outage begins with the first of them, although each is answered with status 200.
#[tokio::test]
async fn watches_that_break_without_news_are_one_outage_and_end_in_a_list() {
    let (mut watcher, requests) = watcher(PODS, |_, uri, _| {
        if uri.contains("watch=") {
            (200, "{\"type\": \"ADD".to_owned())
        } else {
            page("7", "", &[pod("p2", "n1", 2)])
        }
    })
    .await;
    let outage = |watcher: &Watcher| watcher.cluster.health()[&ObjectKind::Pod].outage.clone();
    watcher.position = Some("1".to_owned());
    let mut outages = Vec::new();
    for _ in 0..MOST_ERRORS {
        assert_eq!(watcher.position.as_deref(), Some("1"));
        let error = watcher.watch("1").await.unwrap_err();
        watcher.fail(&error);
        outages.push(outage(&watcher).unwrap().since);
    }
    assert_eq!(watcher.position, None, "only a list can help");
    assert!(outages.iter().all(|since| *since == outages[0]), "{outages:?}");
    watcher.list().await.unwrap();
    assert_eq!(outage(&watcher), None);
    assert_eq!(watcher.position.as_deref(), Some("7"));
    let requests = requests.lock().unwrap();
    let asks_for_news = |uri: &str| uri.contains("&timeoutSeconds=5&");
    let short: Vec<bool> = requests.iter().map(|r| asks_for_news(&r.1)).collect();
    assert_eq!(short, [false, true, true, false]);
}

/// An event ends the outage while the watch still runs.
#[tokio::test]
async fn the_first_event_after_a_broken_watch_ends_the_outage() {
    let (mut watcher, _) = watcher(PODS, |_, _, _| {
        let event = lines(&[("ADDED", pod("p1", "n1", 5))]).1;
        (200, event + "{\"type\": \"ADD")
    })
    .await;
    watcher.unheard = 2;
    watcher.fail(&StreamError::broken("refused"));
    watcher.watch("1").await.unwrap_err();
    assert_eq!(watcher.cluster.health()[&ObjectKind::Pod].outage, None);
    assert_eq!((watcher.unheard, watcher.position.as_deref()), (0, Some("5")));
}

/// The refusal deletes the objects of the earlier pages, so these are read again.
#[tokio::test]
async fn a_refusal_within_a_list_starts_it_again_from_its_first_page() {
    let refused = Arc::new(Mutex::new(false));
    let (mut watcher, _) = watcher(CLASSES, move |_, uri, _| {
        let class = |name: &str| json!({"metadata": {"name": name}, "value": 7});
        if !uri.contains("continue=") {
            page("7", "more", &[class("high")])
        } else if std::mem::replace(&mut refused.lock().unwrap(), true) {
            page("7", "", &[class("low")])
        } else {
            status(403, "priorityclasses is forbidden")
        }
    })
    .await;
    watcher.by_page = true;
    let error = watcher.list().await.unwrap_err();
    assert_eq!(error.code, Some(403));
    watcher.fail(&error);
    watcher.list().await.unwrap();
    let known = watcher.cluster.objects().names(ObjectKind::Class);
    let known: Vec<String> = known.into_iter().map(|(_, name)| name).collect();
    assert_eq!(known, ["high", "low"]);
}

#[tokio::test]
async fn events_are_applied_and_advance_the_position() {
    let (mut watcher, requests) = watcher(PODS, |_, _, _| {
        lines(&[
            ("ADDED", pod("p1", "n1", 11)),
            ("ADDED", pod("p2", "n1", 12)),
            ("MODIFIED", pod("p1", "n2", 13)),
            ("DELETED", pod("p2", "n1", 14)),
            (
                "MODIFIED",
                json!({"metadata": {"name": "p3", "namespace": "a",
                "resourceVersion": "15"}, "spec": 1}),
            ),
            ("BOOKMARK", json!({"metadata": {"resourceVersion": "20"}})),
        ])
    })
    .await;
    watcher.watch("10").await.unwrap();
    assert_eq!(pods(&watcher.cluster), ["p1 on n2"]);
    assert_eq!(skipped(&watcher.cluster), [("p3".to_owned(), None)]);
    assert_eq!(watcher.position.as_deref(), Some("20"));
    assert!(requests.lock().unwrap()[0].1.ends_with("&resourceVersion=10"));
}

#[tokio::test]
async fn a_deleted_skipped_object_is_forgotten() {
    let broken =
        json!({"metadata": {"name": "p", "namespace": "a", "resourceVersion": "1"}, "spec": 1});
    let (mut watcher, _) = watcher(PODS, move |_, _, _| {
        lines(&[("ADDED", broken.clone()), ("DELETED", broken.clone())])
    })
    .await;
    watcher.watch("0").await.unwrap();
    assert_eq!(skipped(&watcher.cluster), []);
}

/// The answers of a watch from position 1, the errors, and the positions after them.
#[tokio::test]
async fn only_an_expired_position_or_an_invalid_event_leads_to_a_list() {
    let error = |code: u16, message: &str| {
        let object = json!({"kind": "Status", "code": code, "message": message});
        lines(&[("ADDED", pod("p1", "n1", 5)), ("ERROR", object)])
    };
    let old = "too old resource version";
    let invalid = "invalid watch event: ";
    for (answer, why, position, format) in [
        (error(410, old), old, None, Format::Protobuf),
        (status(410, "gone"), "gone", None, Format::Protobuf),
        ((200, "no json\n".to_owned()), invalid, None, Format::Json),
        (error(500, "etcd is away"), "etcd is away", Some("5"), Format::Protobuf),
        (
            (200, "{\"type\": \"ADD".to_owned()),
            "the answer ended early",
            Some("1"),
            Format::Protobuf,
        ),
        (status(403, "pods is forbidden"), "pods is forbidden", Some("1"), Format::Protobuf),
    ] {
        let (mut watcher, _) = watcher(PODS, move |_, _, _| answer.clone()).await;
        watcher.position = Some("1".to_owned());
        let error = watcher.watch("1").await.unwrap_err();
        assert!(error.why.starts_with(why), "{error:?}");
        assert_eq!(error.is_expired(), error.code == Some(410), "{error:?}");
        watcher.fail(&error);
        assert_eq!((watcher.position.as_deref(), watcher.accepted), (position, format), "{why}");
    }
}

#[tokio::test]
async fn an_error_that_repeats_leads_to_a_list() {
    let away = json!({"kind": "Status", "code": 500, "message": "etcd is away"});
    let (mut watcher, _) = watcher(PODS, move |_, _, _| lines(&[("ERROR", away.clone())])).await;
    watcher.position = Some("5".to_owned());
    let error = watcher.watch("5").await.unwrap_err();
    for _ in 0..3 {
        assert!(watcher.position.is_some());
        watcher.fail(&error);
    }
    assert_eq!(watcher.position, None, "only a list can help");
}

#[tokio::test]
async fn a_watch_without_event_or_bookmark_leads_to_a_list() {
    let (mut watcher, _) = watcher(PODS, |_, _, _| lines(&[])).await;
    watcher.position = Some("1".to_owned());
    let error = watcher.watch("1").await.unwrap_err();
    assert_eq!(error.why, "watch ended early, without an event or a bookmark, listing again");
    assert_eq!(watcher.position, None);
    // A watch of a kind of which the API server has seen no event.
    watcher.position = Some("1".to_owned());
    watcher.failures = 3;
    let silent = Watched { since: Instant::now() - STEADY, news: false };
    watcher.judge(&silent, Ok(())).unwrap();
    assert_eq!((&watcher.position, watcher.failures), (&None, 0));
    // A cut after the same time is the first failure in a row.
    watcher.failures = 3;
    let cut = watcher.judge(&silent, Err(StreamError::broken("cut")));
    assert_pause(watcher.fail(&cut.unwrap_err()).as_millis(), 500);
    let bookmark = json!({"metadata": {"resourceVersion": "20"}});
    let (mut watcher, _) =
        self::watcher(PODS, move |_, _, _| lines(&[("BOOKMARK", bookmark.clone())])).await;
    watcher.watch("1").await.unwrap();
    assert_eq!(watcher.position.as_deref(), Some("20"));
}

#[tokio::test]
async fn a_list_that_a_busy_server_refuses_is_asked_for_again_as_a_whole() {
    let refused = Arc::new(Mutex::new(false));
    let (mut watcher, requests) = watcher(PODS, move |_, _, _| {
        if std::mem::replace(&mut refused.lock().unwrap(), true) {
            page("7", "", &[pod("p1", "n1", 1)])
        } else {
            (429, "Too many requests".to_owned())
        }
    })
    .await;
    assert_eq!(watcher.list().await.unwrap_err().code, Some(429));
    watcher.list().await.unwrap();
    assert_eq!(pods(&watcher.cluster), ["p1 on n1"]);
    let requests = requests.lock().unwrap();
    assert!(requests.iter().all(|r| r.1 == "/api/v1/pods?limit=0"), "{requests:?}");
}

/// Every other request for a page is refused. The pauses must not grow from page to page: then they
/// would take at least 3.7 s.
#[tokio::test]
async fn each_page_that_is_refused_has_a_short_pause() {
    let asked = Arc::new(Mutex::new(0));
    let (mut watcher, _) = watcher(PODS, move |_, _, _| {
        let mut asked = asked.lock().unwrap();
        *asked += 1;
        match *asked {
            8 => page("7", "", &[]),
            odd if odd % 2 == 1 => (429, "Too many requests".to_owned()),
            _ => page("7", "more", &[]),
        }
    })
    .await;
    watcher.by_page = true;
    let start = Instant::now();
    watcher.list().await.unwrap();
    let took = start.elapsed();
    assert!(took < Duration::from_millis(3500), "four pauses took {took:?}");
}

#[tokio::test]
async fn pauses_grow_to_half_a_minute_until_a_watch_works() {
    let bookmark = json!({"metadata": {"resourceVersion": "20"}});
    let (mut watcher, _) = watcher(PODS, move |_, uri, _| {
        if uri.contains("watch=") {
            lines(&[("BOOKMARK", bookmark.clone())])
        } else {
            page("1", "", &[])
        }
    })
    .await;
    let broken = StreamError::broken("refused");
    for longest in [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000] {
        assert_pause(watcher.fail(&broken).as_millis(), longest);
        watcher.list().await.unwrap();
    }
    watcher.watch("1").await.unwrap();
    assert_pause(watcher.fail(&broken).as_millis(), 500);
}

#[tokio::test]
async fn one_event_before_each_error_does_not_end_the_backoff() {
    let gone = json!({"kind": "Status", "code": 410, "message": "too old resource version"});
    let (mut watcher, _) = watcher(PODS, move |_, _, _| {
        lines(&[("ADDED", pod("p1", "n1", 5)), ("ERROR", gone.clone())])
    })
    .await;
    for longest in [500, 1000, 2000] {
        let error = watcher.watch("1").await.unwrap_err();
        assert_pause(watcher.fail(&error).as_millis(), longest);
    }
}

/// Jitter shortens a pause by up to a half.
fn assert_pause(pause: u128, longest: u128) {
    // The doubled pause of 16 s is cut to 15 s before jitter, hence the lower bound.
    let shortest = (longest / 2).min(15_000) - 1;
    assert!((shortest..=longest).contains(&pause), "{pause} of {longest} ms");
}

#[tokio::test]
async fn the_cluster_is_synced_after_every_kind_is_listed() {
    let (client, _) =
        fake(
            |_, uri, _| {
                if uri.contains("watch=") { (200, String::new()) } else { page("1", "", &[]) }
            },
        )
        .await;
    let cluster = Cluster::new(client);
    assert!(!cluster.synced());
    let stop = tokio_util::sync::CancellationToken::new();
    cluster.start(&stop);
    cluster.wait_synced().await;
    assert!(cluster.synced());
    stop.cancel();
}
