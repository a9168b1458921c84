//! A daemon for tests, whose cluster has nodes and pods without a watch.

use std::convert::Infallible;

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::json;

use super::{Approvals, Daemon};
use crate::cluster::Cluster;
use crate::cluster::client::tests::served;
use crate::cluster::clock;
use crate::cluster::evict::tests::planned;
use crate::cluster::ledger_store::LedgerStore;
use crate::cluster::proposal_store::ProposalStore;
use crate::cluster::usage_source::prometheus::tests::router;
use crate::model::plan::Move;
use crate::model::snapshot::facts::{Effect, NamespaceFacts, OwnerFacts, Taint};
use crate::model::snapshot::import;
use crate::model::snapshot::objects::{Object, ObjectKind};
use crate::policy::Policy;

/// A client whose requests get these bodies with status 200. There is no socket, so that tests may
/// pause the clock.
pub(super) fn client<F>(
    respond: impl Fn(Request<Body>) -> F + Clone + Send + Sync + 'static,
) -> Client
where
    F: Future<Output = String> + Send + 'static,
{
    let service = tower::service_fn(move |request| {
        let body = respond(request);
        async move { Ok::<_, Infallible>(Response::new(Body::from(body.await.into_bytes()))) }
    });
    Client::new(service, "default")
}

/// The answer to a request: an empty ledger, the usage of one node, or success.
pub(super) fn answer(path: &str) -> String {
    let answer = if path.contains("/configmaps") {
        json!({"metadata": {"name": "ledger", "resourceVersion": "7"}})
    } else if path.contains("/metrics.k8s.io") {
        json!({"items": [{"metadata": {"name": "n1"}, "timestamp": clock::now(),
            "window": "30s", "usage": {"cpu": "3", "memory": "1Gi"}}]})
    } else {
        json!({"kind": "Status", "status": "Success"})
    };
    answer.to_string()
}

/// A policy with these fields.
pub(super) fn policy(fields: &str) -> Policy {
    let text = format!("{{apiVersion: evenkeel/v1alpha1, kind: Policy, {fields}}}");
    Policy::parse("p", &text).unwrap_or_else(|error| panic!("{error}"))
}

impl Daemon {
    /// A daemon that acts without an election.
    pub(super) fn fake(client: &Client, policy: &Policy) -> Self {
        let store = LedgerStore::new(client.clone(), "system", "ledger");
        let proposals = ProposalStore::new(client.clone(), "system", "proposal");
        let approvals = Approvals::new(proposals, None);
        Daemon::new(Cluster::new(client.clone()), policy, "evenkeel-0", store, approvals)
    }
}

/// A node that is Ready or not.
pub(super) fn node(name: &str, ready: bool) -> Object {
    let status = if ready { "True" } else { "False" };
    let text = json!({"metadata": {"name": name},
        "status": {"conditions": [{"type": "Ready", "status": status}],
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}});
    import::json(ObjectKind::Node, text.to_string().as_bytes()).unwrap()
}

/// A Ready node with a taint that its pods do not tolerate.
pub(super) fn tainted(name: &str) -> Object {
    let Object::Node(mut facts) = node(name, true) else {
        panic!("a node");
    };
    facts.taints = vec![Taint {
        key: "maintenance".to_owned(),
        value: String::new(),
        effect: Effect::NoSchedule,
    }];
    Object::Node(facts)
}

/// A running pod of the namespace `shop`.
pub(super) fn pod(name: &str, uid: &str, node: &str) -> Object {
    let text = json!({
        "metadata": {"namespace": "shop", "name": name, "uid": uid,
            "creationTimestamp": "2026-11-21T12:00:00Z"},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": "Running"},
    });
    import::json(ObjectKind::Pod, text.to_string().as_bytes()).unwrap()
}

/// The namespace of the pods.
pub(super) fn namespace() -> Object {
    Object::Namespace("shop".to_owned(), NamespaceFacts::default())
}

/// A ReplicaSet of the namespace `shop`.
pub(super) fn replica_set(name: &str) -> Object {
    let name = ("shop".to_owned(), name.to_owned());
    Object::Owner(ObjectKind::ReplicaSet, name, OwnerFacts::default())
}

/// Three nodes, and the pods of [`moves`] on the first.
pub(super) fn objects(pods: usize) -> Vec<Object> {
    let nodes = ["n1", "n2", "n3"].map(|name| node(name, true));
    let pods = (0..pods).map(|i| pod(&format!("web-{i}"), &format!("u-{i}"), "n1"));
    let nodes = nodes.into_iter().chain([namespace()]);
    nodes.chain(pods).collect()
}

/// Moves of the pods of [`objects`], whose replacements may land on `n2`.
pub(super) fn moves(count: usize) -> Vec<Move> {
    (0..count)
        .map(|i| Move {
            pod: format!("web-{i}"),
            uid: format!("u-{i}"),
            possible_nodes: vec!["n2".to_owned()],
            ..planned()
        })
        .collect()
}

/// The address of a Prometheus that answers with one series while this is true, and with none
/// otherwise.
pub(super) async fn guard_server(
    fires: impl Fn() -> bool + Clone + Send + Sync + 'static,
) -> String {
    let answer = move |query: &str| {
        let firing = r#"{"metric": {"alertname": "Down"}, "value": [1767225600, "1"]}"#;
        let result = match (query, fires()) {
            ("time()", _) => r#"{"resultType": "scalar", "result": [1767225600, "0"]}"#.to_owned(),
            (_, false) => r#"{"resultType": "vector", "result": []}"#.to_owned(),
            (_, true) => format!(r#"{{"resultType": "vector", "result": [{firing}]}}"#),
        };
        let body = format!(r#"{{"status": "success", "data": {result}}}"#);
        (200, "application/json", body)
    };
    served(router(answer).0).await
}
