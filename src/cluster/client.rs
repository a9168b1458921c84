//! How the API server is reached, and what its errors say.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::HeaderValue;
use http::header::USER_AGENT;
use kube::client::ClientBuilder;
use kube::config::{Config, InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Error};

use crate::cluster::error_text::causes;

use crate::cluster::request_metrics::RequestMetrics;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig that was asked for, or that is there by default, is of no use.
    #[error("cannot use the kubeconfig {path}: {why}", path = path.as_deref().unwrap_or(Path::new("found")).display())]
    Kubeconfig {
        /// Where it is, where it was named.
        path: Option<PathBuf>,
        /// What is wrong with it.
        why: KubeconfigError,
    },
    /// There is no kubeconfig, and we are not in a pod.
    #[error("no kubeconfig is given or found, and this is no pod with a ServiceAccount: {0}")]
    Nowhere(InClusterError),
    /// TLS or credentials cannot be set up.
    #[error("cannot set up the client: {}", why(.0))]
    Client(Error),
}

/// A client by the kubeconfig of this path; where none is given, by `$KUBECONFIG` or `~/.kube/config`; where there is
/// none either, by the ServiceAccount of the pod that this runs in. Its requests are counted.
pub async fn connect(
    kubeconfig: Option<&Path>,
    calls: &RequestMetrics,
) -> Result<Client, ConnectError> {
    let broken = |why| ConnectError::Kubeconfig {
        path: kubeconfig.map(Path::to_owned),
        why,
    };
    let options = KubeConfigOptions::default();
    let config = if let Some(path) = kubeconfig {
        let read = Kubeconfig::read_from(path).map_err(broken)?;
        Config::from_custom_kubeconfig(read, &options)
            .await
            .map_err(broken)?
    } else {
        match Config::from_kubeconfig(&options).await {
            Err(KubeconfigError::FindPath | KubeconfigError::ReadConfig(..)) => {
                Config::incluster().map_err(ConnectError::Nowhere)?
            }
            other => other.map_err(broken)?,
        }
    };
    from_config(config, calls).map_err(ConnectError::Client)
}

/// A client that tries each request once, and counts it.
pub fn from_config(mut config: Config, calls: &RequestMetrics) -> Result<Client, Error> {
    // By default a request that is answered with 429, 503 or 504 is sent again up to 15 times, evictions included: a
    // budget that forbids an eviction would then hold us up, and end in an eviction that nobody decided any more.
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.headers.push((
        USER_AGENT,
        HeaderValue::from_static(concat!("evenkeel/", env!("CARGO_PKG_VERSION"))),
    ));
    Ok(ClientBuilder::try_from(config)?.with_layer(calls).build())
}

/// The status code that the API server answered with; `None` where it did not answer.
pub fn code(error: &Error) -> Option<u16> {
    if let Error::Api(status) = error {
        Some(status.code)
    } else {
        None
    }
}

/// What an error says, without the wrapping that the client puts around it.
pub fn why(error: &Error) -> String {
    let Error::Api(status) = error else {
        return causes(error);
    };
    if status.message.is_empty() {
        format!("status {} {}", status.code, status.reason)
    } else {
        status.message.clone()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use axum::Router;
    use axum::body::Body;
    use axum::extract::Request;
    use axum::http::Response;
    use prometheus_client::encoding::text;
    use prometheus_client::registry::Registry;
    use std::sync::{Arc, Mutex};

    /// What a fake API server was asked: method, path and query, and body.
    pub(crate) type Asked = Arc<Mutex<Vec<(String, String, String)>>>;

    /// A real client of an API server that answers with what this function makes of method, path with query, and body.
    pub(crate) async fn fake(
        answer: impl Fn(&str, &str, &str) -> (u16, String) + Clone + Send + Sync + 'static,
    ) -> (Client, Asked) {
        let asked = Asked::default();
        let log = Arc::clone(&asked);
        let router = Router::new().fallback(move |request: Request| {
            let (log, answer) = (Arc::clone(&log), answer.clone());
            async move {
                assert!(
                    request.headers()["user-agent"]
                        .to_str()
                        .unwrap()
                        .starts_with("evenkeel/")
                );
                let (method, uri) = (request.method().to_string(), request.uri().to_string());
                let body = axum::body::to_bytes(request.into_body(), usize::MAX)
                    .await
                    .unwrap();
                let body = String::from_utf8(body.to_vec()).unwrap();
                log.lock()
                    .unwrap()
                    .push((method.clone(), uri.clone(), body.clone()));
                let (status, text) = answer(&method, &uri, &body);
                Response::builder()
                    .status(status)
                    .body(Body::from(text))
                    .unwrap()
            }
        });
        (serve(router).await, asked)
    }

    /// A real client of this router.
    pub(crate) async fn serve(router: Router) -> Client {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
            .await
            .unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        client_of(&format!("http://{address}"))
    }

    pub(crate) fn client_of(url: &str) -> Client {
        from_config(
            Config::new(url.parse().unwrap()),
            &RequestMetrics::default(),
        )
        .unwrap()
    }

    /// What the API server says when it refuses.
    pub(crate) fn status(code: u16, message: &str) -> (u16, String) {
        let reason = if code == 404 { "NotFound" } else { "" };
        let body = serde_json::json!({
            "kind": "Status", "status": "Failure", "code": code, "message": message, "reason": reason,
        });
        (code, body.to_string())
    }

    #[tokio::test]
    async fn errors_say_what_the_api_server_said_and_nothing_is_asked_twice() {
        for (answer, expected) in [
            (
                status(503, "the server is currently unable to handle the request"),
                "the server is currently unable to",
            ),
            (status(429, "too many requests"), "too many requests"),
            (status(500, ""), "status 500"),
            (
                (404, "404 page not found\n".to_owned()),
                "404 page not found",
            ),
        ] {
            let code_expected = answer.0;
            let (client, asked) = fake(move |_, _, _| answer.clone()).await;
            let request = http::Request::get("/version").body(Vec::new()).unwrap();
            let error = client.request_text(request).await.unwrap_err();
            assert!(why(&error).starts_with(expected), "{}", why(&error));
            assert_eq!(
                (code(&error), asked.lock().unwrap().len()),
                (Some(code_expected), 1)
            );
        }
    }

    #[tokio::test]
    async fn errors_of_the_connection_name_their_cause_once() {
        let client = client_of("http://127.0.0.1:1");
        let request = http::Request::get("/version").body(Vec::new()).unwrap();
        let error = client.request_text(request).await.unwrap_err();
        assert_eq!(code(&error), None);
        assert_eq!(
            why(&error),
            "client error (Connect): tcp connect error: Connection refused (os error 111)"
        );
    }

    #[tokio::test]
    async fn a_kubeconfig_that_is_not_there_is_named() {
        let error = connect(
            Some(Path::new("/nowhere/config")),
            &RequestMetrics::default(),
        )
        .await
        .err()
        .unwrap();
        assert!(
            error
                .to_string()
                .starts_with("cannot use the kubeconfig /nowhere/config: "),
            "{error}"
        );
    }

    #[tokio::test]
    async fn what_goes_through_the_client_is_counted_whether_or_not_it_is_answered() {
        let router = Router::new().fallback(async |request: Request| {
            if request.uri().path().contains("slow") {
                std::future::pending::<()>().await;
            }
            let code = if request.method() == http::Method::POST {
                429
            } else {
                200
            };
            Response::builder()
                .status(code)
                .body(Body::from("{}"))
                .unwrap()
        });
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
            .await
            .unwrap();
        let url = format!("http://{}/behind/a/proxy", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let calls = RequestMetrics::default();
        let client = from_config(Config::new(url.parse().unwrap()), &calls).unwrap();
        let ask = |method: &str, path: &str| {
            let request = http::Request::builder()
                .method(method)
                .uri(path)
                .body(Vec::new())
                .unwrap();
            let client = client.clone();
            async move { client.request_text(request).await }
        };
        ask("GET", "/api/v1/pods?limit=500").await.unwrap();
        ask("GET", "/api/v1/pods?watch=true&timeoutSeconds=290")
            .await
            .unwrap();
        ask("POST", "/api/v1/namespaces/shop/pods/secret-name/eviction")
            .await
            .unwrap_err();
        let slow = ask("GET", "/api/v1/nodes/slow");
        tokio::time::timeout(std::time::Duration::from_millis(50), slow)
            .await
            .unwrap_err();
        let mut registry = Registry::default();
        registry.register("api_requests", "Requests", calls.counted());
        let mut out = String::new();
        text::encode(&mut out, &registry).unwrap();
        let mut lines: Vec<&str> = out.lines().filter(|l| !l.starts_with('#')).collect();
        lines.sort_unstable();
        assert_eq!(
            lines,
            [
                r#"api_requests_total{verb="create",resource="pods/eviction",code="4xx"} 1"#,
                r#"api_requests_total{verb="get",resource="nodes",code="error"} 1"#,
                r#"api_requests_total{verb="list",resource="pods",code="2xx"} 1"#,
                r#"api_requests_total{verb="watch",resource="pods",code="2xx"} 1"#,
            ]
        );
    }
}
