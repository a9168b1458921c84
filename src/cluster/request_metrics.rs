//! Requests to the API server, counted by verb, resource and answer: the names of objects never become a label.

use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Method, Request, Response};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use tower::{Layer, Service};
use tracing::Span;

/// The counters; clones share them. As a layer, it counts what goes through it.
#[derive(Clone, Debug, Default)]
pub struct RequestMetrics(Family<CallLabels, Counter>);

/// What tells requests apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct CallLabels {
    verb: &'static str,
    resource: &'static str,
    code: &'static str,
}

/// Resources by the path that they are asked for at; a subresource stands after its resource.
const RESOURCES: [(&str, &str, &str); 18] = [
    ("api/v1", "nodes", "nodes"),
    ("api/v1", "pods", "pods"),
    ("api/v1", "pods/eviction", "pods/eviction"),
    ("api/v1", "namespaces", "namespaces"),
    ("api/v1", "services", "services"),
    ("api/v1", "configmaps", "configmaps"),
    ("api/v1", "persistentvolumes", "persistentvolumes"),
    ("api/v1", "persistentvolumeclaims", "persistentvolumeclaims"),
    ("api/v1", "replicationcontrollers", "replicationcontrollers"),
    ("apis/apps/v1", "replicasets", "replicasets"),
    ("apis/apps/v1", "deployments", "deployments"),
    ("apis/batch/v1", "jobs", "jobs"),
    (
        "apis/policy/v1",
        "poddisruptionbudgets",
        "poddisruptionbudgets",
    ),
    (
        "apis/scheduling.k8s.io/v1",
        "priorityclasses",
        "priorityclasses",
    ),
    ("apis/events.k8s.io/v1", "events", "events"),
    ("apis/coordination.k8s.io/v1", "leases", "leases"),
    (
        "apis/metrics.k8s.io/v1beta1",
        "nodes",
        "nodes.metrics.k8s.io",
    ),
    ("apis/metrics.k8s.io/v1beta1", "pods", "pods.metrics.k8s.io"),
];

/// What is none of these.
const OTHER: &str = "other";

impl RequestMetrics {
    /// The counters, to be scraped.
    pub fn counted(&self) -> Family<CallLabels, Counter> {
        self.0.clone()
    }
}

impl<S> Layer<S> for RequestMetrics {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted {
            inner,
            calls: self.clone(),
        }
    }
}

/// A client whose requests are counted.
#[derive(Clone, Debug)]
pub struct Counted<S> {
    inner: S,
    calls: RequestMetrics,
}

impl<S, B, R> Service<Request<B>> for Counted<S>
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
        let mut open = Open::new(&self.calls, &request);
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            if let Ok(response) = &answer {
                open.answered(response.status().as_u16());
                // A span that is about one request has a field for this; others let it pass.
                Span::current().record("http.response.status_code", response.status().as_u16());
            }
            answer
        })
    }
}

/// A request under way. One that is given up, as when it takes too long, counts as one without an answer.
struct Open {
    calls: RequestMetrics,
    labels: CallLabels,
}

impl Open {
    fn new<B>(calls: &RequestMetrics, request: &Request<B>) -> Self {
        let (resource, named) = resource(request.uri().path());
        let watch = request
            .uri()
            .query()
            .is_some_and(|q| q.split('&').any(|p| p == "watch=true" || p == "watch=1"));
        let verb = verb(request.method(), named, watch);
        Open {
            calls: calls.clone(),
            labels: CallLabels {
                verb,
                resource,
                code: "error",
            },
        }
    }

    const fn answered(&mut self, code: u16) {
        self.labels.code = class(code);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.calls.0.get_or_create(&self.labels).inc();
    }
}

/// The resource that a path leads to, and whether it names one object.
fn resource(path: &str) -> (&'static str, bool) {
    let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    let (group, rest) =
        parts.split_at(
            parts
                .len()
                .min(if parts.first() == Some(&"apis") { 3 } else { 2 }),
        );
    let rest = match rest {
        ["namespaces", _, inside @ ..] if !inside.is_empty() => inside,
        all => all,
    };
    let asked = match rest {
        [resource, _, sub, ..] => format!("{resource}/{sub}"),
        [resource, ..] => (*resource).to_owned(),
        [] => String::new(),
    };
    let group = group.join("/");
    let known = RESOURCES
        .iter()
        .find(|(in_group, path, _)| *in_group == group && *path == asked);
    (known.map_or(OTHER, |(_, _, label)| label), rest.len() > 1)
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
    fn a_path_tells_the_resource_and_never_the_name() {
        for (path, expected) in [
            ("/api/v1/pods", ("pods", false)),
            ("/api/v1/namespaces/shop/pods", ("pods", false)),
            ("/api/v1/namespaces/shop/pods/web-1", ("pods", true)),
            (
                "/api/v1/namespaces/shop/pods/web-1/eviction",
                ("pods/eviction", true),
            ),
            ("/api/v1/namespaces", ("namespaces", false)),
            ("/api/v1/namespaces/shop", ("namespaces", true)),
            ("/api/v1/namespaces/pods/pods/pods", ("pods", true)),
            ("/apis/apps/v1/replicasets", ("replicasets", false)),
            (
                "/apis/metrics.k8s.io/v1beta1/pods",
                ("pods.metrics.k8s.io", false),
            ),
            (
                "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/evenkeel",
                ("leases", true),
            ),
            ("/apis/example.com/v1/pods", (OTHER, false)),
            ("/version", (OTHER, false)),
            ("/", (OTHER, false)),
            ("", (OTHER, false)),
        ] {
            assert_eq!(resource(path), expected, "{path}");
        }
    }
}
