//! How the API server is reached, and what its errors say.

use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::HeaderValue;
use http::header::USER_AGENT;
use kube::config::{Config, InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Error};

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
/// none either, by the ServiceAccount of the pod that this runs in.
pub async fn connect(kubeconfig: Option<&Path>) -> Result<Client, ConnectError> {
    let broken = |why| ConnectError::Kubeconfig { path: kubeconfig.map(Path::to_owned), why };
    let options = KubeConfigOptions::default();
    let config = if let Some(path) = kubeconfig {
        let read = Kubeconfig::read_from(path).map_err(broken)?;
        Config::from_custom_kubeconfig(read, &options).await.map_err(broken)?
    } else {
        match Config::from_kubeconfig(&options).await {
            Err(KubeconfigError::FindPath | KubeconfigError::ReadConfig(..)) => {
                Config::incluster().map_err(ConnectError::Nowhere)?
            }
            other => other.map_err(broken)?,
        }
    };
    from_config(config).map_err(ConnectError::Client)
}

/// A client that tries each request once.
pub fn from_config(mut config: Config) -> Result<Client, Error> {
    // By default a request that is answered with 429, 503 or 504 is sent again up to 15 times, evictions included: a
    // budget that forbids an eviction would then hold us up, and end in an eviction that nobody decided any more.
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.headers.push((USER_AGENT, HeaderValue::from_static(concat!("evenkeel/", env!("CARGO_PKG_VERSION")))));
    Client::try_from(config)
}

/// The status code that the API server answered with; `None` where it did not answer.
pub fn code(error: &Error) -> Option<u16> {
    match error {
        Error::Api(status) => Some(status.code),
        _ => None,
    }
}

/// What an error says, without the wrapping that the client puts around it.
pub fn why(error: &Error) -> String {
    match error {
        Error::Api(status) if status.message.is_empty() => format!("status {} {}", status.code, status.reason),
        Error::Api(status) => status.message.clone(),
        other => chain(other),
    }
}

/// The causes from the outermost on. Many repeat their own cause, which is then left out.
fn chain(error: &Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if let Some(last) = parts.last_mut() {
            *last = last.replace(&format!(": {text}"), "");
        }
        parts.push(text);
        next = cause.source();
    }
    parts.dedup();
    if parts.is_empty() { error.to_string() } else { parts.join(": ") }
}
