//! The HTTP client of a Prometheus server: TLS files, redirect policy, credentials.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prometheus_http_query::Client;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Certificate, ClientBuilder, Identity, redirect};
use tokio_rustls::rustls::crypto::ring;

use crate::cluster::error_text::{causes, one_line};
use crate::cluster::{lock, secret_file};
use crate::policy;
use crate::policy::Login;

use super::error::PrometheusError;

/// Builds the HTTP client and the headers of each request. Clones share the client.
#[derive(Clone)]
pub(super) struct Connector {
    policy: Arc<policy::PrometheusPolicy>,
    connection: Arc<Mutex<Option<Connection>>>,
}

/// A client and the files it was built from. The next request after a change of the files rebuilds
/// it.
struct Connection {
    files: TlsFiles,
    client: Client,
}

/// Contents of the TLS files that the policy names.
#[derive(Clone, PartialEq, Eq)]
struct TlsFiles {
    authorities: Option<Vec<u8>>,
    /// Client certificate and key, in one PEM text.
    identity: Option<Vec<u8>>,
}

impl Connector {
    pub(super) fn new(policy: Arc<policy::PrometheusPolicy>) -> Self {
        Connector { policy, connection: Arc::default() }
    }

    pub(super) fn timeout(&self) -> Duration {
        self.policy.timeout.unsigned_abs()
    }

    pub(super) fn login(&self) -> Option<&Login> {
        self.policy.login.as_ref()
    }

    pub(super) fn client(&self) -> Result<Client, PrometheusError> {
        let files = self.tls_files()?;
        let mut connection = lock(&self.connection);
        if let Some(current) = connection.as_ref().filter(|c| c.files == files) {
            return Ok(current.client.clone());
        }
        let client = self.connect(&files)?;
        *connection = Some(Connection { files, client: client.clone() });
        Ok(client)
    }

    /// The headers of the policy and the credentials. Reads the credential files, since tokens
    /// rotate.
    pub(super) fn headers(&self) -> Result<HeaderMap, PrometheusError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.policy.headers {
            headers.append(header_name(name)?, header_value(name, value)?);
        }
        if let Some(login) = self.login() {
            headers.insert(AUTHORIZATION, authorization(login)?);
        }
        Ok(headers)
    }

    fn tls_files(&self) -> Result<TlsFiles, PrometheusError> {
        let identity = match &self.policy.client_certificate {
            None => None,
            Some(files) => {
                let mut pem = read("clientCertificateFile", &files.certificate)?;
                pem.push(b'\n');
                pem.extend(read("clientKeyFile", &files.key)?);
                Some(pem)
            }
        };
        let ca_file = self.policy.ca_file.as_ref();
        Ok(TlsFiles {
            authorities: ca_file.map(|file| read("caFile", file)).transpose()?,
            identity,
        })
    }

    fn connect(&self, files: &TlsFiles) -> Result<Client, PrometheusError> {
        // An error means that the kube client has installed the same provider before.
        let _ = ring::default_provider().install_default();
        let builder = reqwest::Client::builder()
            .user_agent(concat!("evenkeel/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.timeout())
            // Redirects lead to login pages, and a token must not reach another host.
            .redirect(redirect::Policy::none())
            .http1_only();
        let builder = self.with_authorities(builder, files)?;
        let client = self.with_identity(builder, files)?.build().map_err(|e| {
            PrometheusError::Tls(format!("cannot be queried: TLS setup failed: {}", detail(&e)))
        })?;
        Client::from(client, &self.policy.url)
            .map_err(|e| PrometheusError::Unreachable(one_line(&e.to_string())))
    }

    fn with_authorities(
        &self,
        builder: ClientBuilder,
        files: &TlsFiles,
    ) -> Result<ClientBuilder, PrometheusError> {
        let (Some(pem), Some(file)) = (&files.authorities, &self.policy.ca_file) else {
            return Ok(builder);
        };
        let certificates =
            Certificate::from_pem_bundle(pem).map_err(|e| unusable("caFile", file, detail(&e)))?;
        if certificates.is_empty() {
            return Err(unusable("caFile", file, "it contains no certificate"));
        }
        Ok(builder.tls_certs_only(certificates))
    }

    fn with_identity(
        &self,
        builder: ClientBuilder,
        files: &TlsFiles,
    ) -> Result<ClientBuilder, PrometheusError> {
        let (Some(pem), Some(names)) = (&files.identity, &self.policy.client_certificate) else {
            return Ok(builder);
        };
        let identity = Identity::from_pem(pem)
            .map_err(|e| unusable("clientCertificateFile", &names.certificate, detail(&e)))?;
        Ok(builder.identity(identity))
    }
}

fn detail(error: &reqwest::Error) -> String {
    one_line(&causes(error))
}

fn unusable(field: &'static str, file: &str, why: impl Into<String>) -> PrometheusError {
    PrometheusError::File { field, file: file.to_owned(), why: why.into() }
}

// Reading a policy has checked both already.
fn header_name(name: &str) -> Result<HeaderName, PrometheusError> {
    name.parse().map_err(|_| PrometheusError::Unreachable(format!("{name:?} is not a header name")))
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, PrometheusError> {
    value
        .parse()
        .map_err(|_| PrometheusError::Unreachable(format!("the value of header {name} is invalid")))
}

fn authorization(login: &Login) -> Result<HeaderValue, PrometheusError> {
    let (field, file, text) = match login {
        Login::Bearer(file) => {
            let token = secret("bearerTokenFile", file)?;
            ("bearerTokenFile", file, format!("Bearer {token}"))
        }
        Login::Basic { username, password_file } => {
            let password = secret("basicAuth.passwordFile", password_file)?;
            let encoded = STANDARD.encode(format!("{username}:{password}"));
            ("basicAuth.passwordFile", password_file, format!("Basic {encoded}"))
        }
    };
    let mut value = HeaderValue::try_from(text)
        .map_err(|_| unusable(field, file, "it is not valid in a header"))?;
    // Keeps the secret out of debug output.
    value.set_sensitive(true);
    Ok(value)
}

fn read(field: &'static str, file: &str) -> Result<Vec<u8>, PrometheusError> {
    std::fs::read(file).map_err(|e| unusable(field, file, e.to_string()))
}

fn secret(field: &'static str, file: &str) -> Result<String, PrometheusError> {
    secret_file::read(Path::new(file)).map_err(|why| unusable(field, file, why))
}
