//! Address, headers and TLS of a collector.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use reqwest::{Certificate, Client, Url, redirect};
use tokio_rustls::rustls::crypto::ring;

use crate::cluster::error_text::{causes, one_line};

use super::error::TraceError;

/// Path of traces in OTLP over HTTP.
const TRACES_PATH: &str = "/v1/traces";

/// A collector that takes OTLP over HTTP.
#[derive(Clone, Debug)]
pub struct Collector {
    /// Exact URL of each request.
    pub url: Url,
    /// Certificate authorities to trust instead of those of the system.
    pub ca_file: Option<PathBuf>,
    /// Headers of each request.
    pub headers: HeaderMap,
    /// Time for one batch, with all its retries.
    pub timeout: Duration,
}

/// Returns the URL of traces below an endpoint.
pub fn traces_url(endpoint: &Url) -> Url {
    let mut url = endpoint.clone();
    let path = endpoint.path().trim_end_matches('/');
    // Both forms are common: the endpoint of all signals, and the full URL of traces.
    if path.ends_with(TRACES_PATH) {
        url.set_path(path);
    } else {
        url.set_path(&format!("{path}{TRACES_PATH}"));
    }
    url
}

/// Parses `OTEL_EXPORTER_OTLP_HEADERS`: `name=value,name=value` with percent-encoded values. Errors
/// never show a value, because it may be a secret.
pub fn headers(text: &str) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (index, pair) in text.split(',').map(str::trim).enumerate() {
        if pair.is_empty() {
            continue;
        }
        let (name, value) =
            pair.split_once('=').ok_or_else(|| format!("header {} has no '='", index + 1))?;
        let name = name.trim();
        let header = HeaderName::try_from(name)
            .map_err(|_| format!("header {} has an invalid name", index + 1))?;
        let value = percent_decode_str(value.trim()).collect::<Vec<u8>>();
        let mut value = HeaderValue::try_from(value)
            .map_err(|_| format!("the value of {name} is not a valid header value"))?;
        value.set_sensitive(true);
        headers.append(header, value);
    }
    Ok(headers)
}

impl Collector {
    /// Returns the address for log lines, without the password that the URL may contain.
    pub fn name(&self) -> String {
        let mut url = self.url.clone();
        // Both calls fail only for a URL without a host, and the flags require a host.
        let _ = url.set_username("").and_then(|()| url.set_password(None));
        url.as_str().trim_end_matches('/').to_owned()
    }

    /// Builds a client. Reads the CA file again, so that a renewed authority is trusted without a
    /// restart.
    pub(crate) fn connect(&self) -> Result<Client, TraceError> {
        // The kube client uses the same provider. An error means that it is installed already.
        let _ = ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("evenkeel/", env!("CARGO_PKG_VERSION")))
            .http1_only()
            // A redirect would send the token to another server.
            .redirect(redirect::Policy::none());
        if let Some(file) = &self.ca_file {
            builder = builder.tls_certs_only(certificates(file)?);
        }
        builder.build().map_err(|error| TraceError::Tls(one_line(&causes(&error))))
    }
}

fn certificates(file: &Path) -> Result<Vec<Certificate>, TraceError> {
    let error = |reason: String| TraceError::CaFile { file: file.to_owned(), reason };
    let text = std::fs::read(file).map_err(|cause| error(cause.to_string()))?;
    let certificates =
        Certificate::from_pem_bundle(&text).map_err(|cause| error(one_line(&causes(&cause))))?;
    if certificates.is_empty() {
        return Err(error("it contains no certificate".to_owned()));
    }
    Ok(certificates)
}
