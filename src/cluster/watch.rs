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

use crate::snapshot::facts::Skipped;
use crate::snapshot::import;
use crate::snapshot::objects::{Kind, Name, Object};

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
    path: &'static str,
    /// Whether its metadata is all that is asked for.
    metadata_only: bool,
}

/// The kinds that are watched.
pub(super) const WATCHED: [Watched; 9] = [
    whole(Kind::Node, "/api/v1/nodes"),
    whole(Kind::Pod, "/api/v1/pods"),
    whole(Kind::Budget, "/apis/policy/v1/poddisruptionbudgets"),
    whole(Kind::Namespace, "/api/v1/namespaces"),
    whole(Kind::Class, "/apis/scheduling.k8s.io/v1/priorityclasses"),
    whole(Kind::Claim, "/api/v1/persistentvolumeclaims"),
    metadata(Kind::ReplicaSet, "/apis/apps/v1/replicasets"),
    metadata(Kind::ReplicationController, "/api/v1/replicationcontrollers"),
    metadata(Kind::Job, "/apis/batch/v1/jobs"),
];

const fn whole(kind: Kind, path: &'static str) -> Watched {
    Watched { kind, path, metadata_only: false }
}

const fn metadata(kind: Kind, path: &'static str) -> Watched {
    Watched { kind, path, metadata_only: true }
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
        Feed { cluster, watched, position: None, failures: 0, losses: 0 }
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
            let page: Page<'_> = serde_json::from_str(&text).map_err(|e| Fault::Broken(format!("no list: {e}")))?;
            self.take(page.items.unwrap_or_default(), &mut listed);
            if page.metadata.r#continue.is_empty() {
                self.position = Some(page.metadata.resource_version);
                break;
            }
            query = format!("limit={PAGE}&continue={}", escaped(&page.metadata.r#continue));
        }
        self.cluster.objects().retain(self.watched.kind, &listed);
        self.cluster.listed(self.watched.kind);
        self.recover();
        Ok(())
    }

    /// Takes in the items of a page.
    fn take(&self, items: Vec<&RawValue>, listed: &mut BTreeSet<Name>) {
        // Read before the lock is taken, for others wait for it.
        let read: Vec<_> = items.into_iter().map(|item| import::text(self.watched.kind, item.get())).collect();
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
        let Line { event, object } = parsed.map_err(|e| self.lose(format!("no event of a watch: {e}")))?;
        if event == "ERROR" {
            let refusal: Refusal = serde_json::from_str(object.get()).unwrap_or_default();
            return Err(if refusal.code == 410 { Fault::Expired } else { self.lose(refusal.message) });
        }
        if event != "BOOKMARK" {
            self.change(&event, object.get());
        }
        let version = serde_json::from_str::<Versioned>(object.get()).unwrap_or_default().metadata.resource_version;
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
                ("it has fallen behind, and everything is listed anew".to_owned(), Duration::ZERO)
            }
            Fault::Silent(time) => (format!("nothing heard for {} s", time.as_secs()), time),
            Fault::Broken(why) => (why, Duration::ZERO),
        };
        self.failures += 1;
        // A list is dear: it is repeated ever more slowly where each time the watch that follows it fails at once.
        self.losses += u32::from(watching && self.position.is_none());
        let times = self.failures.max(self.losses);
        let kind = self.watched.kind;
        let news = self.cluster.failed(kind, Outage { since: now() - silent_for, why: why.clone() }, times > 1);
        if news {
            warn!(
                kind = kind.name(),
                why, "a watch fails; it is tried until it works, and nothing is evicted meanwhile"
            );
        } else {
            debug!(kind = kind.name(), why, times, "a watch fails");
        }
        PAUSES.0.saturating_mul(1 << (times - 1).min(16)).min(PAUSES.1)
    }
}

fn name_of(read: &Result<Object, Skipped>) -> Name {
    match read {
        Ok(object) => object.key().1,
        Err(skipped) => (skipped.namespace.clone(), skipped.name.clone()),
    }
}

/// Reads a line, or tells that there is none any more.
async fn next_line(stream: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>) -> Result<bool, Fault> {
    line.clear();
    match timeout(SILENCE, stream.read_until(b'\n', line)).await {
        Err(_) => Err(Fault::Silent(SILENCE)),
        Ok(Ok(bytes)) => Ok(bytes > 0),
        // Servers and what is between cut streams without a farewell; what came was whole.
        Ok(Err(error)) if error.kind() == ErrorKind::UnexpectedEof && line.is_empty() => Ok(false),
        Ok(Err(error)) => Err(Fault::Broken(error.to_string())),
    }
}

async fn within<T>(limit: Duration, request: impl Future<Output = kube::Result<T>>) -> Result<T, Fault> {
    match timeout(limit, request).await {
        Err(_) => Err(Fault::Silent(limit)),
        Ok(Err(error)) if code(&error) == Some(410) => Err(Fault::Expired),
        Ok(Err(error)) => Err(Fault::Broken(why(&error))),
        Ok(Ok(answer)) => Ok(answer),
    }
}

/// As part of a query: a continue token is base64 and has characters that mean something there.
fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

#[expect(clippy::disallowed_methods, reason = "an outage is told by the wall clock, here at the edge")]
fn now() -> Timestamp {
    Timestamp::now()
}
