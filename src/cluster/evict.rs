//! Evictions: each is requested once.

use std::collections::BTreeMap;
use std::time::Duration;

use http::StatusCode;
use http::header::RETRY_AFTER;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::Eviction;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{DeleteOptions, ObjectMeta, Preconditions};
use kube::api::PostParams;
use kube::client::Body;
use kube::core::{Request, Status};
use kube::{Client, Error, Resource};
use serde_json::Value;

use crate::model::plan::{Move, Outcome};

use super::client::{TIMEOUT, error_message};
use super::error_text::{is_denied_by_admission, one_line};

/// The words of KubeVirt's webhook about a virtual machine that it migrates.
const TRIGGERED: &str = "Eviction triggered evacuation";
/// The words of the API server where its authorizers deny an eviction. A refusal by a webhook or an
/// admission policy has others (`pkg/endpoints/handlers/responsewriters/errors.go`).
const DENIED: &str = "cannot create resource \"pods/eviction\"";
/// The words of the API server for errors that arise before it deletes a pod: a webhook does not
/// respond, or refuses with a code of its own (`pkg/admission/plugin/webhook`), or several budgets
/// cover the pod (`pkg/registry/core/pod/storage/eviction.go`).
const BEFORE_DELETION: [&str; 3] =
    ["failed calling webhook", "admission webhook \"", "more than one PodDisruptionBudget"];
/// The longest wait that a response may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// Requests the eviction of a pod.
///
/// The pod's uid is a precondition, which protects a pod that took the name after the plan was
/// made. `grace` replaces the pod's own grace period. The client must come from [`super::client`],
/// because other clients repeat requests.
pub async fn evict(client: &Client, planned: &Move, grace: Option<i64>) -> Outcome {
    if planned.uid.is_empty() {
        return Outcome::Failed(
            "the pod has no uid, and another pod with its name could be evicted".to_owned(),
        );
    }
    match tokio::time::timeout(TIMEOUT, send(client, planned, grace)).await {
        Ok(Ok((status, body))) => outcome(&status, &body),
        Ok(Err(error)) => Outcome::Unanswered(error_message(&error)),
        Err(_) => {
            Outcome::Unanswered(format!("the API server took longer than {} s", TIMEOUT.as_secs()))
        }
    }
}

/// The parts of a response that say why.
struct Answer {
    code: StatusCode,
    retry_after: Option<Duration>,
}

/// Sends the request and returns the response with its body.
///
/// Not `Api::evict`: it writes `delete_options` instead of `deleteOptions`, and the API server
/// would ignore precondition and grace period. Its errors also lack the headers.
async fn send(
    client: &Client,
    planned: &Move,
    grace: Option<i64>,
) -> Result<(Answer, Vec<u8>), Error> {
    let body = serde_json::to_vec(&eviction(planned, grace)).map_err(Error::SerdeError)?;
    let path = Pod::url_path(&(), Some(&planned.namespace));
    let request = Request::new(path)
        .create_subresource("eviction", &planned.pod, &PostParams::default(), body)
        .map_err(Error::BuildRequest)?;
    let response = client.send(request.map(Body::from)).await?;
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .map(|seconds| Duration::from_secs(seconds).min(LONGEST_WAIT));
    let answer = Answer { code: response.status(), retry_after };
    let body = response.into_body().collect_bytes().await?;
    Ok((answer, body.to_vec()))
}

fn eviction(planned: &Move, grace: Option<i64>) -> Eviction {
    let annotations = BTreeMap::from([
        ("reason".to_owned(), format!("{}: {}", planned.strategy, planned.reason)),
        ("requested-by".to_owned(), requested_by(planned).to_owned()),
    ]);
    Eviction {
        metadata: ObjectMeta {
            name: Some(planned.pod.clone()),
            namespace: Some(planned.namespace.clone()),
            annotations: Some(annotations),
            ..ObjectMeta::default()
        },
        delete_options: Some(DeleteOptions {
            preconditions: Some(Preconditions {
                uid: Some(planned.uid.clone()),
                resource_version: None,
            }),
            grace_period_seconds: grace,
            ..DeleteOptions::default()
        }),
    }
}

/// Who requests the eviction. For a virtual machine it is descheduler: only then KubeVirt gives the
/// migration a lower priority than that of a drain (`eviction-source` in its eviction webhook).
fn requested_by(planned: &Move) -> &'static str {
    let machine = planned.owner.is("kubevirt.io", "VirtualMachineInstance");
    if machine { "sigs.k8s.io/descheduler" } else { "evenkeel" }
}

fn outcome(answer: &Answer, body: &[u8]) -> Outcome {
    let Some(status) = Some(body).and_then(read_status) else {
        return match answer.code {
            // Priority and fairness responds with plain text.
            StatusCode::TOO_MANY_REQUESTS => {
                let text = String::from_utf8_lossy(body).trim().to_owned();
                Outcome::Throttled(text, answer.retry_after)
            }
            code if code.is_success() && serde_json::from_slice::<Value>(body).is_ok() => {
                Outcome::Evicted
            }
            code => Outcome::Unanswered(format!("status {code} without an object")),
        };
    };
    if answer.code.is_success() {
        return Outcome::Evicted;
    }
    let why = message(&status);
    match status.code {
        429 | 500 if is_deferred(&why) => Outcome::Deferred(why),
        // It concerns this pod, and perhaps others like it.
        400..500 if is_denied_by_admission(&status.message) => Outcome::Refused(why),
        404 => Outcome::Gone,
        // The server says so itself, and a webhook gives no reason.
        409 | 429 if names_budget(&status) => Outcome::OverBudget(why),
        // The uid precondition failed: another pod has the name now.
        409 => Outcome::Changed,
        // It concerns the connection, so the other pods of the plan would fail too.
        401 => Outcome::Unauthorized(why),
        429 if status.reason == "TooManyRequests" => {
            let told = status.details.map(|details| details.retry_after_seconds);
            let told = told.filter(|seconds| *seconds > 0);
            let wait = told.map(|seconds| Duration::from_secs(seconds.into()).min(LONGEST_WAIT));
            Outcome::Throttled(why, answer.retry_after.or(wait))
        }
        408 => Outcome::Unanswered(why),
        403 if why.contains(DENIED) => Outcome::Forbidden(why),
        // It concerns this pod too, as far as is known.
        400..500 => Outcome::Refused(why),
        _ if BEFORE_DELETION.iter().any(|words| why.contains(words)) => Outcome::Failed(why),
        // An error of etcd, or a proxy gave up or responded instead of the API server. The pod may
        // be deleted all the same.
        _ => Outcome::Unanswered(why),
    }
}

/// Reads a Status object; `None` if a proxy has responded with something else.
fn read_status(body: &[u8]) -> Option<Status> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let is_status = value["kind"] == "Status";
    is_status.then(|| serde_json::from_value(value).ok())?
}

fn message(status: &Status) -> String {
    let message = if status.message.is_empty() {
        format!("status {} {}", status.code, status.reason)
    } else {
        status.message.clone()
    };
    // The name of a budget is only here.
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let causes = causes.map(|cause| cause.message.as_str());
    let new = causes.filter(|cause| !cause.is_empty() && !message.contains(cause));
    let parts: Vec<&str> = std::iter::once(message.as_str()).chain(new).collect();
    one_line(&parts.join(" "))
}

/// Returns true if a budget allows no eviction, or too many evictions change it at the same time.
fn names_budget(status: &Status) -> bool {
    status.details.as_ref().is_some_and(|details| {
        let mut causes = details.causes.iter();
        details.kind == "poddisruptionbudgets"
            || causes.any(|cause| cause.reason == "DisruptionBudget")
    })
}

/// Whether KubeVirt's webhook has refused the eviction because it migrates the virtual machine
/// first. descheduler looks for the same words. A machine that cannot migrate gets another message.
fn is_deferred(message: &str) -> bool {
    message.contains(TRIGGERED)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::cluster::client::tests::{client_of, fake, serve, status};
    use crate::model::ledger::Aim;
    use crate::model::plan::Reason;
    use crate::model::snapshot::facts::Owner;
    use crate::policy::Basis;
    use crate::values::Ratio;

    pub(crate) fn planned() -> Move {
        Move {
            namespace: "shop".to_owned(),
            pod: "web-1".to_owned(),
            uid: "u-1".to_owned(),
            node: "n1".to_owned(),
            to: None,
            possible_nodes: Vec::new(),
            strategy: "LowNodeUtilization",
            profile: "default".to_owned(),
            owner: Owner {
                kind: "ReplicaSet".to_owned(),
                name: "web".to_owned(),
                controller: true,
                ..Owner::default()
            },
            workload: None,
            aim: Aim::Move,
            reason: Reason::HotNode {
                resource: "cpu".to_owned(),
                ratio: Ratio::percent(89.0).unwrap(),
                target: Ratio::percent(50.0).unwrap(),
                basis: Basis::Actual,
                expected: None,
            },
            relief: None,
            saves: None,
            worth: None,
        }
    }

    #[tokio::test]
    async fn the_request_has_the_uid_as_precondition_and_the_reason() {
        let (client, requests) =
            fake(|_, _, _| (201, r#"{"kind": "Status", "status": "Success"}"#.to_owned())).await;
        assert_eq!(evict(&client, &planned(), Some(5)).await, Outcome::Evicted);
        let (method, uri, body) = requests.lock().unwrap()[0].clone();
        assert_eq!(
            (method.as_str(), uri.split('?').next()),
            ("POST", Some("/api/v1/namespaces/shop/pods/web-1/eviction"))
        );
        let expected = serde_json::json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {
                "name": "web-1",
                "namespace": "shop",
                "annotations": {
                    "reason": "LowNodeUtilization: node usage: cpu 89% is above its target of 50%",
                    "requested-by": "evenkeel",
                },
            },
            "deleteOptions": {"gracePeriodSeconds": 5, "preconditions": {"uid": "u-1"}},
        });
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), expected);
        // KubeVirt knows only descheduler.
        let mut machine = planned();
        machine.owner.kind = "VirtualMachineInstance".to_owned();
        let annotations = eviction(&machine, None).metadata.annotations.unwrap();
        assert_eq!(annotations["requested-by"], "sigs.k8s.io/descheduler");
    }

    /// A status, the code of the outcome, and the message. With an error of its storage, the API
    /// server may have deleted the pod.
    const OUTCOMES: &str = r#"
404 gone m
409 changed m
403 refused m
422 refused m
401 unauthorized m
408 unanswered m
500 unanswered m
502 unanswered m
503 unanswered m
504 unanswered m
500 failed Internal error occurred: failed calling webhook "guard.example.com": failed to call webhook: Post "https://guard.shop.svc:443/": context deadline exceeded
500 failed admission webhook "guard.example.com" denied the request: not now
500 failed This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.
500 unanswered etcdserver: request timed out
500 unanswered etcdserver: leader changed
500 unanswered rpc error: code = Unavailable desc = error reading from server: EOF
500 unanswered rpc error: code = Unavailable desc = transport is closing
500 unanswered context deadline exceeded
403 forbidden pods "web-1" is forbidden: User "system:serviceaccount:a:b" cannot create resource "pods/eviction" in API group "" in the namespace "shop"
403 refused admission webhook "guard.example.com" denied the request: not now
403 refused pods "web-1" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: not now
"#;

    #[tokio::test]
    async fn each_answer_has_its_outcome_and_no_request_is_repeated() {
        for row in OUTCOMES.trim().lines() {
            let [code, outcome, message] =
                row.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
            let code = code.parse().unwrap();
            let (client, requests) = fake(move |_, _, _| status(code, message)).await;
            assert_eq!(evict(&client, &planned(), None).await.code(), outcome, "{row}");
            assert_eq!(requests.lock().unwrap().len(), 1, "{row}");
        }
    }

    /// The outcome of a 429 with this body and header, as recorded from an API server.
    async fn busy(body: &'static str, retry_after: Option<&'static str>) -> Outcome {
        let client = serve(axum::Router::new().fallback(async move || {
            let mut headers = axum::http::HeaderMap::new();
            if let Some(seconds) = retry_after {
                headers.insert(RETRY_AFTER, seconds.parse().unwrap());
            }
            (StatusCode::TOO_MANY_REQUESTS, headers, body)
        }))
        .await;
        evict(&client, &planned(), None).await
    }

    #[tokio::test]
    async fn a_429_of_priority_and_fairness_asks_to_wait() {
        let text = "Too many requests, please try again later.\n";
        let wait = Some(Duration::from_secs(7));
        let message = text.trim().to_owned();
        let throttled = Outcome::Throttled(message, wait);
        assert_eq!(busy(text, Some("7")).await, throttled);
        assert!(throttled.ends_the_plan().is_some());
        assert!(matches!(busy(text, None).await, Outcome::Throttled(_, None)));
        let body = r#"{"kind":"Status","status":"Failure","code":429,"reason":"TooManyRequests",
            "message":"storage is (re)initializing","details":{"retryAfterSeconds":1}}"#;
        let second = Some(Duration::from_secs(1));
        let message = "storage is (re)initializing".to_owned();
        assert_eq!(busy(body, None).await, Outcome::Throttled(message, second));
    }

    #[tokio::test]
    async fn a_429_of_a_budget_or_a_webhook_concerns_one_pod() {
        for body in [
            r#"{"kind":"Status","status":"Failure","code":429,"reason":"TooManyRequests",
                "message":"Cannot evict pod as it would violate the pod's disruption budget.",
                "details":{"causes":[{"reason":"DisruptionBudget","message":"m"}]}}"#,
            r#"{"kind":"Status","status":"Failure","code":429,
                "message":"admission webhook \"v\" denied the request: not live-migratable"}"#,
        ] {
            let outcome = busy(body, Some("10")).await;
            let is_of_pod = matches!(outcome, Outcome::Refused(_) | Outcome::OverBudget(_));
            assert!(is_of_pod, "{outcome:?}");
            assert_eq!(outcome.ends_the_plan(), None);
        }
    }

    /// As while many of its pods are evicted at the same time.
    #[tokio::test]
    async fn a_conflict_over_a_budget_is_none_over_the_pod() {
        let body = r#"{"kind":"Status","status":"Failure","code":409,"reason":"Conflict",
            "message":"Operation cannot be fulfilled on poddisruptionbudgets.policy \"web\": the \
                object has been modified",
            "details":{"name":"web","group":"policy","kind":"poddisruptionbudgets"}}"#;
        let body = body.replace("\\\n", "");
        let (client, _) = fake(move |_, _, _| (409, body.clone())).await;
        let outcome = evict(&client, &planned(), None).await;
        assert!(matches!(outcome, Outcome::OverBudget(_)), "{outcome:?}");
    }

    #[tokio::test]
    async fn a_refusal_by_a_budget_names_the_budget() {
        let body = r#"{"kind":"Status","status":"Failure","code":429,"reason":"TooManyRequests",
            "message":"Cannot evict pod as it would violate the pod's disruption budget.",
            "details":{"causes":[{"reason":"DisruptionBudget",
                "message":"The disruption budget web needs 4 healthy pods and has 4"}]}}"#;
        assert_eq!(
            busy(body, None).await.to_string(),
            "refused by a PodDisruptionBudget: Cannot evict pod as it would violate the pod's \
             disruption budget. The disruption budget web needs 4 healthy pods and has 4"
        );
    }

    #[tokio::test]
    async fn a_denial_concerns_one_pod_whatever_its_status() {
        let by_webhook = "admission webhook \"guard.example.com\" denied the request: not now";
        let by_policy = "pods \"web-1\" is forbidden: ValidatingAdmissionPolicy 'p' with binding \
            'b' denied request: not now";
        for message in [by_webhook, by_policy] {
            for code in [400, 401, 403, 404, 408, 409, 413, 422, 429, 502, 504] {
                let (client, _) = fake(move |_, _, _| status(code, message)).await;
                let outcome = evict(&client, &planned(), None).await;
                let expected = if code < 500 { "refused" } else { "failed" };
                // A policy has a status below 500.
                if code < 500 || message == by_webhook {
                    assert_eq!(outcome.code(), expected, "{code}");
                    assert_eq!(outcome.ends_the_plan(), None);
                }
            }
        }
    }

    #[tokio::test]
    async fn an_eviction_that_starts_a_migration_is_deferred() {
        for start in ["", "Evacuation in progress: "] {
            let text = format!("admission webhook denied the request: {start}{TRIGGERED} of vm");
            for code in [429, 500] {
                let body = serde_json::json!({"kind": "Status", "code": code, "message": text});
                let body = body.to_string();
                let (client, _) = fake(move |_, _, _| (code, body.clone())).await;
                let outcome = evict(&client, &planned(), None).await;
                assert!(matches!(outcome, Outcome::Deferred(_)), "{outcome:?}");
            }
        }
    }

    #[tokio::test]
    async fn without_a_valid_response_the_outcome_is_unknown() {
        let unreachable = client_of("http://127.0.0.1:1");
        assert_eq!(evict(&unreachable, &planned(), None).await.code(), "unanswered");
        for invalid in [(200, "<html>".to_owned()), (503, r#"{"error": "no upstream"}"#.to_owned())]
        {
            let (client, _) = fake(move |_, _, _| invalid.clone()).await;
            assert_eq!(evict(&client, &planned(), None).await.code(), "unanswered");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_api_server_is_an_unknown_outcome() {
        let client = serve(axum::Router::new().fallback(std::future::pending::<()>)).await;
        assert_eq!(evict(&client, &planned(), None).await.code(), "unanswered");
    }

    #[tokio::test]
    async fn a_pod_without_uid_is_not_evicted() {
        let (client, requests) = fake(|_, _, _| (201, "{}".to_owned())).await;
        assert_eq!(
            evict(&client, &Move { uid: String::new(), ..planned() }, None).await.code(),
            "failed"
        );
        assert!(requests.lock().unwrap().is_empty());
    }
}
