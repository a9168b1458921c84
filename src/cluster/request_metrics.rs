//! Observes requests to the API server: counts them by verb, resource and status class, and reads
//! the clock of the server. Names of objects never become labels.

use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Method, Request, Response};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use tower::{Layer, Service};
use tracing::Span;

use super::clock::{LocalTime, ServerClock};

/// The counters. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct RequestMetrics(Family<RequestLabels, Counter>);

/// The labels of a counter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    verb: &'static str,
    resource: &'static str,
    code: &'static str,
}

/// Resources by API group. A subresource follows its resource.
const RESOURCES: [(&str, &str); 23] = [
    ("version", "version"),
    ("api/v1", "nodes"),
    ("api/v1", "pods"),
    ("api/v1", "pods/eviction"),
    ("api/v1", "namespaces"),
    ("api/v1", "services"),
    ("api/v1", "configmaps"),
    ("api/v1", "persistentvolumes"),
    ("api/v1", "persistentvolumeclaims"),
    ("api/v1", "replicationcontrollers"),
    ("apis/apps/v1", "replicasets"),
    ("apis/apps/v1", "statefulsets"),
    ("apis/apps/v1", "deployments"),
    ("apis/batch/v1", "jobs"),
    ("apis/policy/v1", "poddisruptionbudgets"),
    ("apis/scheduling.k8s.io/v1", "priorityclasses"),
    ("apis/storage.k8s.io/v1", "storageclasses"),
    ("apis/storage.k8s.io/v1", "csinodes"),
    ("apis/storage.k8s.io/v1", "volumeattachments"),
    ("apis/events.k8s.io/v1", "events"),
    ("apis/coordination.k8s.io/v1", "leases"),
    ("apis/metrics.k8s.io/v1beta1", "nodes.metrics.k8s.io"),
    ("apis/metrics.k8s.io/v1beta1", "pods.metrics.k8s.io"),
];

/// The end of a label that is not a part of the path.
const METRICS: &str = ".metrics.k8s.io";

/// The label of any other resource.
const OTHER: &str = "other";

impl RequestMetrics {
    /// The counters for the registry.
    pub fn counted(&self) -> Family<RequestLabels, Counter> {
        self.0.clone()
    }
}

/// Observes the requests of a client and their responses, as a tower layer.
#[derive(Clone, Debug)]
pub struct RequestObserver {
    /// Counts the requests.
    pub metrics: RequestMetrics,
    /// Reads the clock of the server.
    pub clock: ServerClock,
}

impl<S> Layer<S> for RequestObserver {
    type Service = ObservedService<S>;

    fn layer(&self, inner: S) -> ObservedService<S> {
        ObservedService { inner, observer: self.clone() }
    }
}

/// A client whose requests are observed.
#[derive(Clone, Debug)]
pub struct ObservedService<S> {
    inner: S,
    observer: RequestObserver,
}

impl<S, B, R> Service<Request<B>> for ObservedService<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let mut pending = PendingRequest::new(&self.observer.metrics, &request);
        let (clock, asked) = (self.observer.clock.clone(), LocalTime::now());
        let response = self.inner.call(request);
        Box::pin(async move {
            let response = response.await;
            if let Ok(response) = &response {
                // The date of an aggregated API is that of its own server.
                if !pending.labels.resource.ends_with(METRICS) {
                    clock.read(asked, response.headers());
                }
                pending.set_status(response.status().as_u16());
                // Only spans of a single request have this field; others ignore it.
                Span::current().record("http.response.status_code", response.status().as_u16());
            }
            response
        })
    }
}

/// A request without a response yet. Dropping it, for example at a timeout, counts an error.
struct PendingRequest {
    metrics: RequestMetrics,
    labels: RequestLabels,
}

impl PendingRequest {
    fn new<B>(metrics: &RequestMetrics, request: &Request<B>) -> Self {
        let (resource, named) = resource(request.uri().path());
        let watch = request
            .uri()
            .query()
            .is_some_and(|q| q.split('&').any(|p| p == "watch=true" || p == "watch=1"));
        let verb = verb(request.method(), named, watch);
        PendingRequest {
            metrics: metrics.clone(),
            labels: RequestLabels { verb, resource, code: "error" },
        }
    }

    const fn set_status(&mut self, code: u16) {
        self.labels.code = class(code);
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        self.metrics.0.get_or_create(&self.labels).inc();
    }
}

/// Returns the label of a path's resource, and whether the path names one object.
fn resource(path: &str) -> (&'static str, bool) {
    let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    let (group, rest) =
        parts.split_at(parts.len().min(if parts.first() == Some(&"apis") { 3 } else { 2 }));
    let rest = match rest {
        ["namespaces", _, inside @ ..] if !inside.is_empty() => inside,
        all => all,
    };
    let group = group.join("/");
    // A path without a resource, such as `/version`, is one object.
    let named = rest.len() != 1;
    let path = match rest {
        [resource, _, sub, ..] => format!("{resource}/{sub}"),
        [resource, ..] => (*resource).to_owned(),
        [] => group.clone(),
    };
    let known = RESOURCES.iter().find(|(in_group, label)| {
        *in_group == group && label.strip_suffix(METRICS).unwrap_or(label) == path
    });
    (known.map_or(OTHER, |(_, label)| label), named)
}

fn verb(method: &Method, named: bool, watch: bool) -> &'static str {
    match *method {
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ if watch => "watch",
        _ if named => "get",
        _ => "list",
    }
}

const fn class(code: u16) -> &'static str {
    match code / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        _ => "5xx",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_label_is_the_resource_and_never_a_name() {
        for (path, expected) in [
            ("/version", ("version", true)),
            ("/api/v1/pods", ("pods", false)),
            ("/api/v1/namespaces/shop/pods", ("pods", false)),
            ("/api/v1/namespaces/shop/pods/web-1", ("pods", true)),
            ("/api/v1/namespaces/shop/pods/web-1/eviction", ("pods/eviction", true)),
            ("/api/v1/namespaces", ("namespaces", false)),
            ("/api/v1/namespaces/shop", ("namespaces", true)),
            ("/api/v1/namespaces/pods/pods/pods", ("pods", true)),
            ("/apis/apps/v1/replicasets", ("replicasets", false)),
            ("/apis/metrics.k8s.io/v1beta1/pods", ("pods.metrics.k8s.io", false)),
            (
                "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/evenkeel",
                ("leases", true),
            ),
            ("/apis/example.com/v1/pods", (OTHER, false)),
            ("/", (OTHER, true)),
            ("", (OTHER, true)),
        ] {
            assert_eq!(resource(path), expected, "{path}");
        }
    }
}
