//! The client of the API server, and the messages of its errors.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::HeaderValue;
use http::header::USER_AGENT;
use kube::client::ClientBuilder;
use kube::config::{Config, InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Error};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};

use super::clock::ServerClock;
use super::error_text::{causes, one_line};
use super::proxy;
use super::request_metrics::{RequestMetrics, RequestObserver};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The deadline of a request. The API server waits for a webhook for up to 30 s
/// (`timeoutSeconds`), ten by default, and a client that gives up before ends the request: neither
/// would `failurePolicy: Ignore` take effect, nor the answer name the webhook.
pub(super) const TIMEOUT: Duration = Duration::from_secs(35);
/// Everything but the unreserved characters of RFC 3986.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Why no client could be created.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The given or default kubeconfig is invalid.
    #[error("cannot use the kubeconfig {}: {}", shown(path.as_deref()), kubeconfig_flaw(why))]
    Kubeconfig {
        /// Its path, if one was given.
        path: Option<PathBuf>,
        /// The reason.
        why: KubeconfigError,
    },
    /// There is no kubeconfig, and the program does not run in a pod.
    #[error(
        "no kubeconfig: {}; and this is not a pod with a ServiceAccount: {in_cluster}",
        missing(kubeconfig)
    )]
    Nowhere {
        /// Why there is no kubeconfig.
        kubeconfig: KubeconfigError,
        /// Why there is no ServiceAccount.
        in_cluster: InClusterError,
    },
    /// TLS or credentials are invalid.
    #[error("cannot create the client: {}", error_message(.0))]
    Client(Error),
}

/// The kubeconfig that was given, or the one that the client looks for without.
fn shown(path: Option<&Path>) -> String {
    let named = std::env::var_os("KUBECONFIG").filter(|files| !files.is_empty());
    match (path, named) {
        (Some(path), _) => path.display().to_string(),
        (None, Some(files)) => format!("{} of $KUBECONFIG", files.display()),
        (None, None) => "~/.kube/config".to_owned(),
    }
}

/// The flaw of a kubeconfig. The client's own text about `NO_PROXY` does not say why.
fn kubeconfig_flaw(why: &KubeconfigError) -> String {
    if let KubeconfigError::ParseNoProxy(why) = why {
        format!("NO_PROXY: {why}")
    } else {
        why.to_string()
    }
}

/// The kubeconfig that does not exist: a file that `$KUBECONFIG` names, or the default one.
fn missing(why: &KubeconfigError) -> String {
    if let KubeconfigError::ReadConfig(error, path) = why {
        format!("cannot read {}: {error}", path.display())
    } else {
        why.to_string()
    }
}

/// Creates a client that counts its requests and reads the server's clock.
///
/// The configuration comes from the given kubeconfig; without one, from `$KUBECONFIG` or
/// `~/.kube/config`; and without those, from the ServiceAccount of the pod.
pub async fn connect(
    kubeconfig: Option<&Path>,
    metrics: &RequestMetrics,
    clock: &ServerClock,
) -> Result<Client, ConnectError> {
    let invalid = |why| ConnectError::Kubeconfig { path: kubeconfig.map(Path::to_owned), why };
    let read = match kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let config = match read {
        Ok(read) => from_kubeconfig(read).await.map_err(invalid)?,
        // Only a missing kubeconfig leads to the ServiceAccount. A broken one is an error, so that
        // no other cluster is used by mistake.
        Err(why) if kubeconfig.is_none() && is_missing(&why) => {
            let nowhere = |in_cluster| ConnectError::Nowhere { kubeconfig: why, in_cluster };
            Config::incluster().map_err(nowhere)?
        }
        Err(why) => return Err(invalid(why)),
    };
    from_config(config, metrics, clock).map_err(ConnectError::Client)
}

/// Returns the configuration of the current context, with the proxy that its API server needs.
#[expect(clippy::disallowed_methods, reason = "here the client reads the environment as well")]
async fn from_kubeconfig(kubeconfig: Kubeconfig) -> Result<Config, KubeconfigError> {
    let proxy = proxy::in_kubeconfig(&kubeconfig);
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    let variable = |name: &str| std::env::var(name).ok();
    let proxy = proxy::choose(proxy, &config.cluster_url, variable);
    config.proxy_url = proxy.map_err(KubeconfigError::ParseProxyUrl)?;
    Ok(config)
}

fn is_missing(why: &KubeconfigError) -> bool {
    let not_found = matches!(
        why,
        KubeconfigError::ReadConfig(error, _) if error.kind() == ErrorKind::NotFound
    );
    not_found || matches!(why, KubeconfigError::FindPath)
}

/// Creates a client that sends each request once, counts it, and reads the server's clock from the
/// response.
pub fn from_config(
    mut config: Config,
    metrics: &RequestMetrics,
    clock: &ServerClock,
) -> Result<Client, Error> {
    // By default, kube repeats a request up to 15 times after 429, 503 or 504. An eviction that a
    // budget forbids would then block the cycle, and could succeed long after the decision.
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.headers.push((
        USER_AGENT,
        HeaderValue::from_static(concat!("evenkeel/", env!("CARGO_PKG_VERSION"))),
    ));
    let observer = RequestObserver { metrics: metrics.clone(), clock: clock.clone() };
    Ok(ClientBuilder::try_from(config)?.with_layer(&observer).build())
}

/// The HTTP status of the response; `None` if there was none.
pub fn status_code(error: &Error) -> Option<u16> {
    if let Error::Api(status) = error { Some(status.code) } else { None }
}

/// The reason that the client gives to a response without a Status object.
const NO_STATUS: &str = "Failed to parse error data";

/// The message of an error without the client's own wording around it.
pub fn error_message(error: &Error) -> String {
    let Error::Api(status) = error else {
        return causes(error);
    };
    // Proxies answer without a Status object: with nothing, or with a page of their own.
    if status.message.is_empty() {
        format!("status {} {}", status.code, status.reason)
    } else if status.reason == NO_STATUS {
        format!("status {}: {}", status.code, one_line(&status.message))
    } else {
        status.message.clone()
    }
}

/// Waits for a response until the deadline, and returns the message of an error.
pub(super) async fn within_deadline<T>(
    request: impl Future<Output = Result<T, Error>>,
) -> Result<T, String> {
    match tokio::time::timeout(TIMEOUT, request).await {
        Ok(answer) => answer.map_err(|error| error_message(&error)),
        Err(_) => Err(format!("no response within {} s", TIMEOUT.as_secs())),
    }
}

/// Percent-encodes a value of a query string. Continue tokens are base64, whose `+`, `/` and `=`
/// have other meanings there.
pub(super) fn query_value(value: &str) -> PercentEncode<'_> {
    utf8_percent_encode(value, ESCAPED)
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
    use serde_json::{Value, json};
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};

    /// The requests that a fake API server received: method, path with query, and body.
    pub(crate) type ApiRequests = Arc<Mutex<Vec<(String, String, String)>>>;

    /// A real client of a fake API server. The function computes a response from method, path with
    /// query, and body.
    pub(crate) async fn fake(
        answer: impl Fn(&str, &str, &str) -> (u16, String) + Clone + Send + Sync + 'static,
    ) -> (Client, ApiRequests) {
        let requests = ApiRequests::default();
        let log = Arc::clone(&requests);
        let router = Router::new().fallback(move |request: Request| {
            let (log, answer) = (Arc::clone(&log), answer.clone());
            async move {
                assert!(request.headers()["user-agent"].to_str().unwrap().starts_with("evenkeel/"));
                let (method, uri) = (request.method().to_string(), request.uri().to_string());
                let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap();
                let body = String::from_utf8(body.to_vec()).unwrap();
                log.lock().unwrap().push((method.clone(), uri.clone(), body.clone()));
                let (status, text) = answer(&method, &uri, &body);
                Response::builder().status(status).body(Body::from(text)).unwrap()
            }
        });
        (serve(router).await, requests)
    }

    /// A client whose requests get no response. There is no socket, so that tests may pause the
    /// clock.
    pub(crate) fn silent() -> Client {
        let service = tower::service_fn(async |_: Request<kube::client::Body>| {
            std::future::pending::<Result<Response<Body>, Infallible>>().await
        });
        Client::new(service, "default")
    }

    /// A real client of this router.
    pub(crate) async fn serve(router: Router) -> Client {
        client_of(&served(router).await)
    }

    /// The address of a server of this router.
    pub(crate) async fn served(router: Router) -> String {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        format!("http://{address}")
    }

    pub(crate) fn client_of(url: &str) -> Client {
        from_config(
            Config::new(url.parse().unwrap()),
            &RequestMetrics::default(),
            &ServerClock::default(),
        )
        .unwrap()
    }

    /// A `Status` response of the API server.
    pub(crate) fn status(code: u16, message: &str) -> (u16, String) {
        let reason = if code == 404 { "NotFound" } else { "" };
        let body = json!({
            "kind": "Status", "status": "Failure", "code": code, "message": message,
                "reason": reason,
        });
        (code, body.to_string())
    }

    /// An object of an API server that updates only its newest version.
    #[derive(Default)]
    pub(crate) struct FakeObject {
        pub(crate) kept: Option<Value>,
        version: u64,
    }

    impl FakeObject {
        /// Stores the object as its next version.
        pub(crate) fn keep(&mut self, mut object: Value) -> (u16, String) {
            self.version += 1;
            object["metadata"]["resourceVersion"] = json!(self.version.to_string());
            let text = object.to_string();
            self.kept = Some(object);
            (200, text)
        }

        pub(crate) fn answer(&mut self, method: &str, body: &str) -> (u16, String) {
            let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
            let sent = || serde_json::from_str::<Value>(body).unwrap();
            match (method, &self.kept) {
                ("GET" | "PUT", None) => status(404, "not found"),
                ("GET", Some(object)) => (200, object.to_string()),
                ("POST", Some(_)) => status(409, "already exists"),
                ("PUT", Some(object)) if version(&sent()) != version(object) => {
                    status(409, "the object has been modified")
                }
                ("POST", None) | ("PUT", Some(_)) => self.keep(sent()),
                _ => panic!("{method}"),
            }
        }
    }

    #[tokio::test]
    async fn errors_carry_the_message_of_the_api_server_and_no_request_is_repeated() {
        for (answer, expected) in [
            (
                status(503, "the server is currently unable to handle the request"),
                "the server is currently unable to",
            ),
            (status(429, "too many requests"), "too many requests"),
            (status(500, ""), "status 500"),
            ((404, "404 page not found\n".to_owned()), "status 404: 404 page not found"),
            (
                (501, "<!DOCTYPE HTML>\n<html>\n  <p>no</p>\n</html>\n".to_owned()),
                "status 501: <!DOCTYPE HTML> <html> <p>no</p> </html>",
            ),
        ] {
            let code_expected = answer.0;
            let (client, requests) = fake(move |_, _, _| answer.clone()).await;
            let request = http::Request::get("/version").body(Vec::new()).unwrap();
            let error = client.request_text(request).await.unwrap_err();
            let message = error_message(&error);
            assert!(message.starts_with(expected), "{message}");
            assert_eq!(
                (status_code(&error), requests.lock().unwrap().len()),
                (Some(code_expected), 1)
            );
        }
    }

    #[tokio::test]
    async fn connection_errors_name_their_cause_once() {
        let client = client_of("http://127.0.0.1:1");
        let request = http::Request::get("/version").body(Vec::new()).unwrap();
        let error = client.request_text(request).await.unwrap_err();
        assert_eq!(status_code(&error), None);
        assert_eq!(
            error_message(&error),
            "client error (Connect): tcp connect error: Connection refused (os error 111)"
        );
    }

    #[tokio::test]
    async fn a_missing_kubeconfig_is_named() {
        let error = connect(
            Some(Path::new("/nowhere/config")),
            &RequestMetrics::default(),
            &ServerClock::default(),
        )
        .await
        .err()
        .unwrap();
        assert!(
            error.to_string().starts_with("cannot use the kubeconfig /nowhere/config: "),
            "{error}"
        );
    }

    #[tokio::test]
    async fn every_request_is_counted_with_or_without_a_response() {
        let router = Router::new().fallback(async |request: Request| {
            if request.uri().path().contains("slow") {
                std::future::pending::<()>().await;
            }
            let code = if request.method() == http::Method::POST { 429 } else { 200 };
            Response::builder().status(code).body(Body::from("{}")).unwrap()
        });
        let url = format!("{}/behind/a/proxy", served(router).await);
        let metrics = RequestMetrics::default();
        let (config, clock) = (Config::new(url.parse().unwrap()), ServerClock::default());
        let client = from_config(config, &metrics, &clock).unwrap();
        let send = |method: &str, path: &str| {
            let request =
                http::Request::builder().method(method).uri(path).body(Vec::new()).unwrap();
            let client = client.clone();
            async move { client.request_text(request).await }
        };
        send("GET", "/api/v1/pods?limit=500").await.unwrap();
        send("GET", "/api/v1/pods?watch=true&timeoutSeconds=290").await.unwrap();
        send("POST", "/api/v1/namespaces/shop/pods/secret-name/eviction").await.unwrap_err();
        let slow = send("GET", "/api/v1/nodes/slow");
        tokio::time::timeout(std::time::Duration::from_millis(50), slow).await.unwrap_err();
        let mut registry = Registry::default();
        registry.register("api_requests", "Requests", metrics.counted());
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
