//! Usage from the API metrics.k8s.io, which metrics-server serves.

use std::time::Duration;

use futures::AsyncBufRead;
use kube::Client;

use crate::cluster::stream::{Format, ListBody, Reply, StreamError, get};
use crate::model::usage::Readings;
use crate::model::usage::import::{self, protobuf};

use super::SourceError;

const API: &str = "metrics.k8s.io/v1beta1";
/// The deadline of a request. Usage that arrives later is of little use.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The limit of all items of an answer together: several times those of 150,000 pods in protobuf.
const BUDGET: usize = 128 * 1024 * 1024;

/// The API metrics.k8s.io of one cluster.
#[derive(Clone)]
pub struct MetricsApi {
    client: Client,
}

impl MetricsApi {
    /// Creates the source from a client of the API server.
    pub const fn new(client: Client) -> Self {
        MetricsApi { client }
    }

    /// Reads the usage of all nodes and pods, by one list each at the same time.
    pub async fn read(&self) -> Result<Readings, SourceError> {
        let (nodes, pods) =
            tokio::try_join!(self.list("nodes", add_node), self.list("pods", add_pod))?;
        let mut readings = nodes;
        readings.pods = pods.pods;
        readings.containers = pods.containers;
        readings.unreadable_pods = pods.unreadable_pods;
        readings.skipped.join(pods.skipped);
        Ok(readings)
    }

    /// Reads a list item by item. An invalid item does not affect the others.
    async fn list(
        &self,
        resource: &'static str,
        add: impl Fn(Format, &[u8], &mut Readings),
    ) -> Result<Readings, SourceError> {
        let uri = format!("/apis/{API}/{resource}");
        let read = async {
            let reply = match get(&self.client, &uri, Format::Protobuf).await {
                // A proxy may refuse the request because of one format.
                Err(error) if error.may_be_about_protobuf() => {
                    get(&self.client, &uri, Format::Json).await?
                }
                reply => reply?,
            };
            readings(reply, add).await
        };
        match tokio::time::timeout(TIMEOUT, read).await {
            Ok(result) => result.map_err(|error| source_error(resource, error)),
            Err(_) => {
                Err(SourceError::Slow { what: format!("{resource} of {API}"), limit: TIMEOUT })
            }
        }
    }
}

/// Reads the items of a list.
pub(in crate::cluster) async fn readings<R: AsyncBufRead + Unpin>(
    reply: Reply<R>,
    add: impl Fn(Format, &[u8], &mut Readings),
) -> Result<Readings, StreamError> {
    let mut readings = Readings::default();
    let mut list = ListBody::new(reply, BUDGET);
    while let Some((format, item)) = list.next().await? {
        add(format, item, &mut readings);
    }
    Ok(readings)
}

pub(in crate::cluster) fn add_node(format: Format, item: &[u8], into: &mut Readings) {
    match format {
        // An item that does not parse, such as one with a number out of range, is recorded as
        // skipped.
        Format::Json => import::node(&serde_json::from_slice(item).unwrap_or_default(), into),
        Format::Protobuf => protobuf::node(item, into),
    }
}

pub(in crate::cluster) fn add_pod(format: Format, item: &[u8], into: &mut Readings) {
    match format {
        Format::Json => import::pod(&serde_json::from_slice(item).unwrap_or_default(), into),
        Format::Protobuf => protobuf::pod(item, into),
    }
}

fn source_error(resource: &'static str, error: StreamError) -> SourceError {
    let why = error.why;
    match error.code {
        Some(404) => SourceError::Absent { api: API },
        Some(403) => SourceError::Forbidden { api: API, resource, why },
        Some(503) => SourceError::Down { api: API, why },
        _ => SourceError::Failed { what: format!("{resource} of {API}"), why },
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::cluster::client::tests::{client_of, fake, serve, status};
    use crate::cluster::usage_source::Source;
    use crate::model::snapshot::node_addresses::NodeAddresses;
    use crate::values::Amount;

    async fn read(
        answer: impl Fn(&str, &str, &str) -> (u16, String) + Clone + Send + Sync + 'static,
    ) -> Result<Readings, SourceError> {
        let (client, _) = fake(answer).await;
        Source::MetricsApi(MetricsApi::new(client)).read(&NodeAddresses::default()).await
    }

    #[tokio::test]
    async fn nodes_and_pods_are_read_and_invalid_items_are_skipped() {
        let readings = read(|_, uri, _| {
            let usage = "\"timestamp\": \"2026-01-01T00:00:00Z\", \"usage\": {\"cpu\": \"1\", \"memory\": \"1Ki\"}";
            let text = match uri {
                "/apis/metrics.k8s.io/v1beta1/nodes" => {
                    format!(
                        "{{\"items\": [{{\"metadata\": {{\"name\": \"n1\"}}, {usage}}}, 7, \
                        {{\"metadata\": {{\"name\": \"n2\"}}}}, 1e999]}}"
                    )
                }
                _ => r#"{"items": null}"#.to_owned(),
            };
            (200, text)
        })
        .await
        .unwrap();
        assert_eq!(readings.nodes["n1"].used.cpu, Amount::millicores(1000));
        assert_eq!(
            (readings.nodes.len(), readings.pods.len(), readings.skipped.count()),
            (1, 0, 3)
        );
    }

    #[tokio::test]
    async fn a_proxy_that_refuses_protobuf_is_asked_for_json() {
        let asked = Arc::new(Mutex::new(BTreeSet::new()));
        let readings = read(move |_, uri, _| {
            if asked.lock().unwrap().insert(uri.to_owned()) {
                return status(406, "only JSON here");
            }
            let item = r#"{"metadata": {"name": "n1"}, "timestamp": "2026-01-01T00:00:00Z",
                "usage": {"cpu": "1", "memory": "1Ki"}}"#;
            let items = if uri.ends_with("nodes") { item } else { "" };
            (200, format!(r#"{{"items": [{items}]}}"#))
        });
        assert_eq!(readings.await.unwrap().nodes.len(), 1);
    }

    #[tokio::test]
    async fn errors_name_the_remedy() {
        let message =
            async |code| read(move |_, _, _| status(code, "m")).await.unwrap_err().to_string();
        assert_eq!(
            message(503).await,
            "metrics.k8s.io/v1beta1 is unavailable: is metrics-server running? (m)"
        );
        assert_eq!(
            message(404).await,
            "the API metrics.k8s.io/v1beta1 does not exist in this cluster; install metrics-server"
        );
        let pods_only = read(|_, uri, _| {
            if uri.ends_with("pods") {
                status(403, "m")
            } else {
                (200, r#"{"items": []}"#.to_owned())
            }
        });
        assert_eq!(
            pods_only.await.unwrap_err().to_string(),
            "cannot list pods of metrics.k8s.io/v1beta1: the role must allow verb list on pods in \
             API group metrics.k8s.io (m)"
        );
        assert!(message(500).await.ends_with("of metrics.k8s.io/v1beta1: m"));
        let invalid = read(|_, _, _| (200, "<html>".to_owned())).await.unwrap_err().to_string();
        assert!(
            invalid.starts_with("cannot read nodes of metrics.k8s.io/v1beta1: invalid list: "),
            "{invalid}"
        );
        let unreachable =
            MetricsApi::new(client_of("http://127.0.0.1:1")).read().await.unwrap_err().to_string();
        assert!(unreachable.contains("Connection refused"), "{unreachable}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_server_is_an_error() {
        let client = serve(axum::Router::new().fallback(std::future::pending::<()>)).await;
        assert!(MetricsApi::new(client).read().await.is_err());
    }
}
