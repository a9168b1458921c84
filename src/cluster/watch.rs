//! One kind, listed and then watched for as long as we run.
//!
//! kube's own watcher is not used, for three reasons. It fails a whole page for one object that does not decode. It does
//! not tell when a watch that had failed works again, unless an object happens to change. And it decodes each object
//! whole and hands it on, where we want the facts alone.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::pin::pin;
use std::time::Duration;

use futures::{AsyncBufRead, AsyncBufReadExt};
use http::Request;
use http::header::ACCEPT;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info, warn};

use crate::model::snapshot::facts::Skipped;
use crate::model::snapshot::import;
use crate::model::snapshot::objects::{Kind, Name, Object};

use super::client::{code, why};
use super::{Cluster, Outage};

/// Objects in one page of a list.
const PAGE: u32 = 500;
/// How long a page may take.
const PAGE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a watch may take to begin.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// The API server ends a watch after so many seconds. The sooner, the sooner a connection is found out that is dead but
/// not closed; it costs one request per kind.
const WATCH_SECONDS: u64 = 30;
/// A watch that is silent for longer than it lasts is dead.
const SILENCE: Duration = Duration::from_secs(WATCH_SECONDS + 10);
/// The pauses between attempts grow from the first to the last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// A kind that is watched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watched {
    pub(super) kind: Kind,
    pub(super) path: &'static str,
    /// Whether its metadata is all that is asked for.
    metadata_only: bool,
}

/// The kinds that are watched.
pub(super) const WATCHED: [Watched; 11] = [
    whole(Kind::Node, "/api/v1/nodes"),
    whole(Kind::Pod, "/api/v1/pods"),
    whole(Kind::Budget, "/apis/policy/v1/poddisruptionbudgets"),
    whole(Kind::Namespace, "/api/v1/namespaces"),
    whole(Kind::Class, "/apis/scheduling.k8s.io/v1/priorityclasses"),
    whole(Kind::Claim, "/api/v1/persistentvolumeclaims"),
    whole(Kind::Volume, "/api/v1/persistentvolumes"),
    whole(Kind::Service, "/api/v1/services"),
    metadata(Kind::ReplicaSet, "/apis/apps/v1/replicasets"),
    metadata(
        Kind::ReplicationController,
        "/api/v1/replicationcontrollers",
    ),
    metadata(Kind::Job, "/apis/batch/v1/jobs"),
];

const fn whole(kind: Kind, path: &'static str) -> Watched {
    Watched {
        kind,
        path,
        metadata_only: false,
    }
}

const fn metadata(kind: Kind, path: &'static str) -> Watched {
    Watched {
        kind,
        path,
        metadata_only: true,
    }
}

/// Why a list or a watch has come to its end.
#[derive(Debug)]
enum Fault {
    /// The position is too old: everything has to be listed anew.
    Expired,
    /// Nothing has been heard for so long.
    Silent(Duration),
    /// Anything else.
    Broken(String),
}

/// One kind of one cluster.
pub(super) struct Feed {
    cluster: Cluster,
    watched: Watched,
    /// The resource version up to which everything is known; `None` where everything has to be listed anew.
    position: Option<String>,
    /// Requests that failed in a row.
    failures: u32,
    /// How often in a row everything had to be listed anew before a single event came.
    losses: u32,
}

/// A page of a list, each item as the text that it is.
#[derive(Deserialize)]
struct Page<'t> {
    #[serde(default)]
    metadata: PageMetadata,
    #[serde(borrow, default)]
    items: Option<Vec<&'t RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PageMetadata {
    resource_version: String,
    r#continue: String,
}

/// A line of a watch.
#[derive(Deserialize)]
struct Line<'t> {
    #[serde(borrow, rename = "type")]
    event: Cow<'t, str>,
    #[serde(borrow)]
    object: &'t RawValue,
}

/// The one field of an object that tells how far we are.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Versioned {
    metadata: Version,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Version {
    resource_version: String,
}

/// What the API server says instead of an event.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Refusal {
    code: u16,
    message: String,
}

impl Feed {
    pub(super) const fn new(cluster: Cluster, watched: Watched) -> Self {
        Feed {
            cluster,
            watched,
            position: None,
            failures: 0,
            losses: 0,
        }
    }

    /// Lists and watches, and never ends.
    pub(super) async fn follow(mut self) {
        loop {
            let (begun, watching) = (Instant::now(), self.position.is_some());
            let round = match self.position.clone() {
                None => self.list().await,
                Some(position) => self.watch(position).await,
            };
            let pause = match round {
                Ok(()) => PAUSES.0.saturating_sub(begun.elapsed()),
                Err(fault) => self.fail(fault, watching),
            };
            sleep(pause).await;
        }
    }

    /// Lists every object, page by page, and forgets those that are not listed.
    async fn list(&mut self) -> Result<(), Fault> {
        let mut listed = BTreeSet::new();
        let mut query = format!("limit={PAGE}");
        loop {
            let request = self.request(&query, "PartialObjectMetadataList")?;
            let text = within(PAGE_TIMEOUT, self.cluster.client.request_text(request)).await?;
            let page: Page<'_> =
                serde_json::from_str(&text).map_err(|e| Fault::Broken(format!("no list: {e}")))?;
            self.take(page.items.unwrap_or_default(), &mut listed);
            if page.metadata.r#continue.is_empty() {
                self.position = Some(page.metadata.resource_version);
                break;
            }
            query = format!(
                "limit={PAGE}&continue={}",
                escaped(&page.metadata.r#continue)
            );
        }
        self.cluster.objects().retain(self.watched.kind, &listed);
        self.cluster.listed(self.watched.kind);
        self.recover();
        Ok(())
    }

    /// Takes in the items of a page.
    fn take(&self, items: Vec<&RawValue>, listed: &mut BTreeSet<Name>) {
        // Read before the lock is taken, for others wait for it.
        let read: Vec<_> = items
            .into_iter()
            .map(|item| import::text(self.watched.kind, item.get()))
            .collect();
        let mut objects = self.cluster.objects();
        for object in read {
            listed.insert(name_of(&object));
            match object {
                Ok(object) => objects.apply(object),
                Err(skipped) => objects.skip(self.watched.kind, skipped),
            }
        }
    }

    /// Watches from a position on, until the API server ends the watch, as it does every so often.
    async fn watch(&mut self, position: String) -> Result<(), Fault> {
        let query = format!(
            "watch=true&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}&resourceVersion={}",
            escaped(&position)
        );
        let request = self.request(&query, "PartialObjectMetadata")?;
        let stream = within(START_TIMEOUT, self.cluster.client.request_stream(request)).await?;
        self.recover();
        let mut stream = pin!(stream);
        let mut line = Vec::new();
        while next_line(&mut stream, &mut line).await? {
            self.hear(&line)?;
            self.losses = 0;
        }
        self.losses = 0;
        Ok(())
    }

    /// Takes in one line of a watch. After one that is no event, only a list can tell what is so.
    fn hear(&mut self, line: &[u8]) -> Result<(), Fault> {
        let parsed = serde_json::from_slice(line);
        let Line { event, object } =
            parsed.map_err(|e| self.lose(format!("no event of a watch: {e}")))?;
        if event == "ERROR" {
            let refusal: Refusal = serde_json::from_str(object.get()).unwrap_or_default();
            return Err(if refusal.code == 410 {
                Fault::Expired
            } else {
                self.lose(refusal.message)
            });
        }
        if event != "BOOKMARK" {
            self.change(&event, object.get());
        }
        let version = serde_json::from_str::<Versioned>(object.get())
            .unwrap_or_default()
            .metadata
            .resource_version;
        if !version.is_empty() {
            self.position = Some(version);
        }
        Ok(())
    }

    fn lose(&mut self, why: String) -> Fault {
        self.position = None;
        Fault::Broken(why)
    }

    fn change(&self, event: &str, object: &str) {
        let kind = self.watched.kind;
        let read = import::text(kind, object);
        let mut objects = self.cluster.objects();
        match read {
            read if event == "DELETED" => objects.delete(kind, &name_of(&read)),
            Ok(object) => objects.apply(object),
            Err(skipped) => objects.skip(kind, skipped),
        }
    }

    fn request(&self, query: &str, shape: &str) -> Result<Request<Vec<u8>>, Fault> {
        let accept = if self.watched.metadata_only {
            // A server that cannot do so sends the whole object, of which the metadata is read alone.
            format!("application/json;as={shape};g=meta.k8s.io;v=v1,application/json")
        } else {
            "application/json".to_owned()
        };
        Request::get(format!("{}?{query}", self.watched.path))
            .header(ACCEPT, accept)
            .body(Vec::new())
            .map_err(|e| Fault::Broken(e.to_string()))
    }

    /// The API server answers as it should.
    fn recover(&mut self) {
        self.failures = 0;
        if self.cluster.recovered(self.watched.kind) {
            info!("every watch works again");
        }
    }

    /// Notes a failure, and tells how long to wait.
    fn fail(&mut self, fault: Fault, watching: bool) -> Duration {
        let (why, silent_for) = match fault {
            Fault::Expired => {
                self.position = None;
                (
                    "it has fallen behind, and everything is listed anew".to_owned(),
                    Duration::ZERO,
                )
            }
            Fault::Silent(time) => (format!("nothing heard for {} s", time.as_secs()), time),
            Fault::Broken(why) => (why, Duration::ZERO),
        };
        self.failures += 1;
        // A list is dear: it is repeated ever more slowly where each time the watch that follows it fails at once.
        self.losses += u32::from(watching && self.position.is_none());
        let times = self.failures.max(self.losses);
        let kind = self.watched.kind;
        let news = self.cluster.failed(
            kind,
            Outage {
                since: now() - silent_for,
                why: why.clone(),
            },
            times > 1,
        );
        if news {
            warn!(
                kind = kind.name(),
                why, "a watch fails; it is tried until it works, and nothing is evicted meanwhile"
            );
        } else {
            debug!(kind = kind.name(), why, times, "a watch fails");
        }
        PAUSES
            .0
            .saturating_mul(1 << (times - 1).min(16))
            .min(PAUSES.1)
    }
}

fn name_of(read: &Result<Object, Skipped>) -> Name {
    match read {
        Ok(object) => object.key().1,
        Err(skipped) => (skipped.namespace.clone(), skipped.name.clone()),
    }
}

/// Reads a line, or tells that there is none any more.
async fn next_line(
    stream: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
) -> Result<bool, Fault> {
    line.clear();
    match timeout(SILENCE, stream.read_until(b'\n', line)).await {
        Err(_) => Err(Fault::Silent(SILENCE)),
        Ok(Ok(bytes)) => Ok(bytes > 0),
        // Servers and what is between cut streams without a farewell; what came was whole.
        Ok(Err(error)) if error.kind() == ErrorKind::UnexpectedEof && line.is_empty() => Ok(false),
        Ok(Err(error)) => Err(Fault::Broken(error.to_string())),
    }
}

async fn within<T>(
    limit: Duration,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, Fault> {
    match timeout(limit, request).await {
        Err(_) => Err(Fault::Silent(limit)),
        Ok(Err(error)) if code(&error) == Some(410) => Err(Fault::Expired),
        Ok(Err(error)) => Err(Fault::Broken(why(&error))),
        Ok(Ok(answer)) => Ok(answer),
    }
}

/// As part of a query: a continue token is base64 and has characters that mean something there.
pub(super) fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "an outage is told by the wall clock, here at the edge"
)]
fn now() -> Timestamp {
    Timestamp::now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::client::tests::{Asked, client_of, fake, status};
    use crate::model::snapshot::Snapshot;
    use serde_json::json;

    const PODS: Watched = WATCHED[1];

    fn pod(name: &str, node: &str, version: u32) -> serde_json::Value {
        json!({"metadata": {"name": name, "namespace": "a", "resourceVersion": version.to_string()}, "spec": {"nodeName": node}})
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

    async fn feed(
        watched: Watched,
        answer: impl Fn(&str, &str, &str) -> (u16, String) + Clone + Send + Sync + 'static,
    ) -> (Feed, Asked) {
        let (client, asked) = fake(answer).await;
        (Feed::new(Cluster::new(client), watched), asked)
    }

    fn pods(cluster: &Cluster) -> Vec<String> {
        cluster
            .snapshot([])
            .pods
            .iter()
            .map(|p| format!("{} on {}", p.name, p.node_name()))
            .collect()
    }

    trait NodeName {
        fn node_name(&self) -> &str;
    }

    impl NodeName for crate::model::snapshot::Pod {
        /// The node that the facts name; the snapshot here has none.
        fn node_name(&self) -> &str {
            let facts: &crate::model::snapshot::facts::Pod = self;
            facts.node.as_deref().unwrap_or("none")
        }
    }

    fn skipped(cluster: &Cluster) -> Vec<(String, Option<String>)> {
        let snapshot: Snapshot = cluster.snapshot([]);
        snapshot
            .skipped
            .into_iter()
            .map(|s| (s.name, s.node))
            .collect()
    }

    #[tokio::test]
    async fn a_list_is_read_page_by_page_and_a_bad_object_harms_no_other() {
        let (mut feed, asked) = feed(PODS, |_, uri, _| {
            if uri.contains("continue=a%2Fb%3D") {
                page("7", "", &[pod("p3", "n3", 3)])
            } else {
                let broken =
                    json!({"metadata": {"name": "p2", "namespace": "a"}, "spec": {"nodeName": "n2", "containers": 1}});
                page("7", "a/b=", &[pod("p1", "n1", 1), broken])
            }
        })
        .await;
        feed.list().await.unwrap();
        assert_eq!(pods(&feed.cluster), ["p1 on n1", "p3 on n3"]);
        assert_eq!(
            skipped(&feed.cluster),
            [("p2".to_owned(), Some("n2".to_owned()))]
        );
        assert_eq!(feed.position.as_deref(), Some("7"));
        assert!(feed.cluster.health()[&Kind::Pod].synced && !feed.cluster.synced());
        assert!(
            asked
                .lock()
                .unwrap()
                .iter()
                .all(|(_, uri, _)| uri.starts_with("/api/v1/pods?limit=500"))
        );
    }

    #[tokio::test]
    async fn what_a_later_list_does_not_show_is_forgotten() {
        let (mut feed, _) = feed(PODS, |_, _, _| page("2", "", &[pod("p2", "n1", 2)])).await;
        let old = import::text(Kind::Pod, &pod("p1", "n1", 1).to_string()).unwrap();
        feed.cluster.objects().apply(old);
        feed.list().await.unwrap();
        assert_eq!(pods(&feed.cluster), ["p2 on n1"]);
    }

    #[tokio::test]
    async fn events_are_followed_and_the_position_moves_on() {
        let (mut feed, asked) = feed(PODS, |_, _, _| {
            lines(&[
                ("ADDED", pod("p1", "n1", 11)),
                ("ADDED", pod("p2", "n1", 12)),
                ("MODIFIED", pod("p1", "n2", 13)),
                ("DELETED", pod("p2", "n1", 14)),
                ("MODIFIED", json!({"metadata": {"name": "p3", "namespace": "a", "resourceVersion": "15"}, "spec": 1})),
                ("BOOKMARK", json!({"metadata": {"resourceVersion": "20"}})),
            ])
        })
        .await;
        feed.watch("10".to_owned()).await.unwrap();
        assert_eq!(pods(&feed.cluster), ["p1 on n2"]);
        assert_eq!(skipped(&feed.cluster), [("p3".to_owned(), None)]);
        assert_eq!(feed.position.as_deref(), Some("20"));
        assert!(asked.lock().unwrap()[0].1.ends_with("&resourceVersion=10"));
    }

    #[tokio::test]
    async fn a_skipped_object_that_is_deleted_is_forgotten() {
        let broken =
            json!({"metadata": {"name": "p", "namespace": "a", "resourceVersion": "1"}, "spec": 1});
        let (mut feed, _) = feed(PODS, move |_, _, _| {
            lines(&[("ADDED", broken.clone()), ("DELETED", broken.clone())])
        })
        .await;
        feed.watch("0".to_owned()).await.unwrap();
        assert_eq!(skipped(&feed.cluster), []);
    }

    #[tokio::test]
    async fn owners_are_asked_for_by_their_metadata() {
        let router = axum::Router::new().fallback(|request: axum::extract::Request| async move {
            let accept = request.headers()["accept"].to_str().unwrap().to_owned();
            assert_eq!(
                accept,
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
            );
            page(
                "1",
                "",
                &[json!({"metadata": {"name": "web-1", "namespace": "a"}})],
            )
            .1
        });
        let client = crate::cluster::client::tests::serve(router).await;
        let mut feed = Feed::new(Cluster::new(client), WATCHED[8]);
        feed.list().await.unwrap();
        assert_eq!(feed.cluster.objects().count(Kind::ReplicaSet), 1);
    }

    #[tokio::test]
    async fn a_position_that_is_too_old_leads_to_a_list() {
        let gone = json!({"kind": "Status", "code": 410, "message": "too old resource version"});
        let (mut feed, _) = feed(PODS, move |_, _, _| lines(&[("ERROR", gone.clone())])).await;
        feed.position = Some("1".to_owned());
        let fault = feed.watch("1".to_owned()).await.unwrap_err();
        assert!(matches!(fault, Fault::Expired), "{fault:?}");
        feed.fail(fault, true);
        assert_eq!(feed.position, None);
        let (mut feed, _) = self::feed(PODS, |_, _, _| status(410, "gone")).await;
        assert!(matches!(
            feed.watch("1".to_owned()).await,
            Err(Fault::Expired)
        ));
        assert!(matches!(feed.list().await, Err(Fault::Expired)));
    }

    #[tokio::test]
    async fn what_is_no_event_leads_to_a_list_as_well() {
        let refused = json!({"kind": "Status", "code": 500, "message": "etcd is away"});
        for answer in [
            (200, "no json\n".to_owned()),
            lines(&[("ERROR", refused)]),
            (200, "{\"type\": \"ADD".to_owned()),
        ] {
            let (mut feed, _) = feed(PODS, move |_, _, _| answer.clone()).await;
            feed.position = Some("1".to_owned());
            assert!(matches!(
                feed.watch("1".to_owned()).await,
                Err(Fault::Broken(_))
            ));
            assert_eq!(feed.position, None);
        }
    }

    #[tokio::test]
    async fn a_watch_that_cannot_begin_keeps_its_position() {
        let (mut feed, _) = feed(PODS, |_, _, _| status(403, "pods is forbidden")).await;
        feed.position = Some("1".to_owned());
        let fault = feed.watch("1".to_owned()).await.unwrap_err();
        assert!(
            matches!(&fault, Fault::Broken(why) if why == "pods is forbidden"),
            "{fault:?}"
        );
        feed.fail(fault, true);
        assert_eq!(feed.position.as_deref(), Some("1"));
    }

    #[tokio::test]
    async fn pauses_grow_to_half_a_minute_and_begin_anew_when_the_api_server_answers() {
        let mut feed = Feed::new(Cluster::new(client_of("http://127.0.0.1:1")), PODS);
        feed.position = Some("1".to_owned());
        let mut pauses: Vec<_> = (0..9)
            .map(|_| {
                feed.fail(Fault::Broken("refused".to_owned()), true)
                    .as_millis()
            })
            .collect();
        feed.recover();
        pauses.push(feed.fail(Fault::Expired, true).as_millis());
        assert_eq!(
            pauses,
            [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000, 500]
        );
        // Each list goes well, and each watch after it fails at once.
        for expected in [1000, 2000, 4000] {
            feed.recover();
            feed.position = Some("1".to_owned());
            assert_eq!(feed.fail(Fault::Expired, true).as_millis(), expected);
        }
    }

    #[tokio::test]
    async fn every_kind_is_listed_before_the_cluster_is_known() {
        let (client, _) = fake(|_, uri, _| {
            if uri.contains("watch=") {
                (200, String::new())
            } else {
                page("1", "", &[])
            }
        })
        .await;
        let cluster = Cluster::new(client);
        assert!(!cluster.synced());
        let stop = tokio_util::sync::CancellationToken::new();
        cluster.start(&stop);
        cluster.wait_synced().await;
        assert!(cluster.synced());
        stop.cancel();
    }
}
