//! The way to Prometheus: TLS, credentials that rotate, bounded answers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderName, LOCATION};
use reqwest::{Certificate, Client, Identity, RequestBuilder, Response, StatusCode, Url, redirect};
use tokio_rustls::rustls::crypto::ring;

use crate::cluster::error_text::{causes, said};
use crate::policy;
use crate::policy::Login;

use super::trouble::Trouble;

/// The longest answer that is read. Of 150,000 pods, one query gives a sixth of it.
const MOST: usize = 256 << 20;
/// What some need to be told so as to answer as Prometheus does, which itself passes over it.
const MANNERS: [(&str, &str); 4] = [
    // Thanos, and VictoriaMetrics: rather an error than a part.
    ("partial_response", "false"),
    ("deny_partial_response", "1"),
    // VictoriaMetrics: what is known now, where it would else give what was known half a minute ago for now; and for the
    // moments that are asked about, where it would else choose some that it has in its cache.
    ("latency_offset", "1s"),
    ("nocache", "1"),
];
/// Of an answer that is an error, so much is of interest.
const MOST_OF_ERROR: usize = 64 << 10;

/// Asks one Prometheus. Clones share the connection.
#[derive(Clone)]
pub(super) struct Asker {
    policy: Arc<policy::Prometheus>,
    timeout: Duration,
    most: usize,
    connection: Arc<Mutex<Option<Connection>>>,
}

/// A client, and the files that it was made with: where these change, it is made anew.
struct Connection {
    files: Files,
    client: Client,
}

#[derive(Clone, PartialEq, Eq)]
struct Files {
    authority: Option<Vec<u8>>,
    /// Certificate and key.
    identity: Option<Vec<u8>>,
}

impl Asker {
    pub(super) fn new(policy: Arc<policy::Prometheus>) -> Self {
        let timeout = policy.timeout.unsigned_abs();
        Asker {
            policy,
            timeout,
            most: MOST,
            connection: Arc::default(),
        }
    }

    #[cfg(test)]
    pub(super) fn at_most(mut self, bytes: usize) -> Self {
        self.most = bytes;
        self
    }

    /// The text of a good answer. What may pass is asked again, after a pause that doubles.
    pub(super) async fn ask(
        &self,
        path: &str,
        params: &[(&str, &str)],
        name: &'static str,
    ) -> Result<String, Trouble> {
        let mut pause = Duration::from_millis(250);
        let mut left = self.policy.retries;
        loop {
            match self.ask_once(path, params, name).await {
                Err(trouble) if trouble.may_pass() && left > 0 => left -= 1,
                done => return done,
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }

    async fn ask_once(
        &self,
        path: &str,
        params: &[(&str, &str)],
        name: &'static str,
    ) -> Result<String, Trouble> {
        let answer = async {
            let first = self.send(path, params).await?;
            // A token may have been replaced between our reading it and its being looked at.
            let response =
                if first.status() == StatusCode::UNAUTHORIZED && self.policy.login.is_some() {
                    self.send(path, params).await?
                } else {
                    first
                };
            self.judge(path, params, name, response).await
        };
        tokio::time::timeout(self.timeout, answer)
            .await
            .unwrap_or(Err(Trouble::Slow(self.timeout)))
    }

    async fn send(&self, path: &str, params: &[(&str, &str)]) -> Result<Response, Trouble> {
        let mut url = Url::parse(&format!("{}{path}", self.policy.url))
            .map_err(|e| Trouble::Down(e.to_string()))?;
        url.query_pairs_mut()
            .extend_pairs(params)
            .extend_pairs(MANNERS);
        self.authorised(self.client()?.get(url))?
            .send()
            .await
            .map_err(|error| unreached(&error))
    }

    /// Turns whatever is no good answer into what to do about it.
    async fn judge(
        &self,
        path: &str,
        params: &[(&str, &str)],
        name: &'static str,
        response: Response,
    ) -> Result<String, Trouble> {
        let status = response.status();
        let header = |header: HeaderName| {
            let value = response.headers().get(header).and_then(|v| v.to_str().ok());
            value.map(said).unwrap_or_default()
        };
        if status.is_redirection() {
            let location = header(LOCATION);
            return Err(Trouble::Moved(if location.is_empty() {
                "another place".to_owned()
            } else {
                location
            }));
        }
        let kind = header(CONTENT_TYPE);
        let is = |type_: &str| {
            kind.split(';')
                .next()
                .is_some_and(|k| k.trim().eq_ignore_ascii_case(type_))
        };
        let (json, plain) = (is("application/json"), is("text/plain"));
        if status.is_success() {
            if !json {
                return Err(Trouble::Page(if kind.is_empty() {
                    "something".to_owned()
                } else {
                    kind
                }));
            }
            return body(response, self.most).await;
        }
        let text = body(response, MOST_OF_ERROR).await.unwrap_or_default();
        // The query-frontend of Thanos calls its JSON plain text.
        let why = match error_of(&text).filter(|_| json || plain) {
            Some(why) => why,
            None if plain => text,
            None => String::new(),
        };
        Err(self.refusal(path, name, status, said(&without_query(&why, params))))
    }

    fn refusal(&self, path: &str, name: &'static str, status: StatusCode, why: String) -> Trouble {
        let colon = if why.is_empty() {
            String::new()
        } else {
            format!(": {why}")
        };
        match (status, &self.policy.login) {
            (code, _) if is_of_tenants(&why) => Trouble::Tenant {
                code: code.as_u16(),
                why,
            },
            (code, _)
                if code == StatusCode::NOT_FOUND
                    || (code.is_client_error() && knows_no_path(&why)) =>
            {
                Trouble::Absent {
                    code: code.as_u16(),
                    path: path.to_owned(),
                }
            }
            (StatusCode::UNAUTHORIZED, None) => {
                Trouble::Unauthorized("; write bearerTokenFile or basicAuth".to_owned() + &colon)
            }
            (
                StatusCode::UNAUTHORIZED,
                Some(
                    Login::Bearer(file)
                    | Login::Basic {
                        password_file: file,
                        ..
                    },
                ),
            ) => Trouble::Unauthorized(format!(", which were read anew from {file}{colon}")),
            (StatusCode::FORBIDDEN, _) => Trouble::Forbidden(colon),
            // With one of these, it is said what is wrong with the question.
            (StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY, _) if !why.is_empty() => {
                Trouble::Refused { query: name, why }
            }
            (code, _) => {
                let why = if why.is_empty() {
                    code.canonical_reason().unwrap_or("no word why").to_owned()
                } else {
                    why
                };
                Trouble::Broken {
                    code: code.as_u16(),
                    why,
                }
            }
        }
    }

    /// Credentials are read for every question.
    fn authorised(&self, mut request: RequestBuilder) -> Result<RequestBuilder, Trouble> {
        for (name, value) in &self.policy.headers {
            request = request.header(name, value);
        }
        match &self.policy.login {
            None => Ok(request),
            Some(Login::Bearer(file)) => Ok(request.bearer_auth(secret("bearerTokenFile", file)?)),
            Some(Login::Basic {
                username,
                password_file,
            }) => Ok(request.basic_auth(
                username,
                Some(secret("basicAuth.passwordFile", password_file)?),
            )),
        }
    }

    fn client(&self) -> Result<Client, Trouble> {
        let files = self.files()?;
        let mut connection = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = connection.as_ref().filter(|c| c.files == files) {
            return Ok(known.client.clone());
        }
        let client = self.connect(&files)?;
        *connection = Some(Connection {
            files,
            client: client.clone(),
        });
        Ok(client)
    }

    fn files(&self) -> Result<Files, Trouble> {
        let identity = match &self.policy.client_certificate {
            None => None,
            Some(files) => {
                let mut both = read("clientCertificateFile", &files.certificate)?;
                both.push(b'\n');
                both.extend(read("clientKeyFile", &files.key)?);
                Some(both)
            }
        };
        let authority = self
            .policy
            .ca_file
            .as_ref()
            .map(|file| read("caFile", file))
            .transpose()?;
        Ok(Files {
            authority,
            identity,
        })
    }

    fn connect(&self, files: &Files) -> Result<Client, Trouble> {
        // The same provider as the kube client has. Where one is installed already, it is this.
        let _ = ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("evenkeel/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.timeout)
            // A login page is no Prometheus, and a token is not for whoever is pointed at.
            .redirect(redirect::Policy::none())
            .http1_only();
        let broken = |field, file: &str, why: String| Trouble::File {
            field,
            file: file.to_owned(),
            why,
        };
        if let (Some(text), Some(file)) = (&files.authority, &self.policy.ca_file) {
            let certificates = Certificate::from_pem_bundle(text)
                .map_err(|e| broken("caFile", file, said(&causes(&e))))?;
            if certificates.is_empty() {
                return Err(broken(
                    "caFile",
                    file,
                    "there is no certificate in it".to_owned(),
                ));
            }
            builder = builder.tls_certs_only(certificates);
        }
        if let (Some(text), Some(names)) = (&files.identity, &self.policy.client_certificate) {
            let identity = Identity::from_pem(text);
            builder = builder.identity(identity.map_err(|e| {
                broken(
                    "clientCertificateFile",
                    &names.certificate,
                    said(&causes(&e)),
                )
            })?);
        }
        builder
            .build()
            .map_err(|e| Trouble::Tls(format!("cannot set up TLS: {}", said(&causes(&e)))))
    }
}

/// The whole body, which must be text, and not too much of it.
async fn body(mut response: Response, most: usize) -> Result<String, Trouble> {
    let mut bytes: Vec<u8> = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| unreached(&error))? {
        if bytes.len() + chunk.len() > most {
            return Err(Trouble::Huge(most));
        }
        bytes.extend_from_slice(&chunk);
    }
    String::from_utf8(bytes).map_err(|_| Trouble::Nonsense("it is no UTF-8".to_owned()))
}

fn error_of(text: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let found = ["error", "message"]
        .iter()
        .find_map(|key| value.get(key)?.as_str());
    found.map(str::to_owned)
}

/// What is wrong, without the query in it: VictoriaMetrics begins with that, or with the whole of what it was asked, and a
/// long one would leave no room for the rest.
fn without_query(why: &str, params: &[(&str, &str)]) -> String {
    let asked = why
        .strip_prefix("remoteAddr: ")
        .and_then(|rest| rest.split_once("requestURI: ")?.1.split_once("; "));
    let why = asked.map_or(why, |(_, rest)| rest);
    let query = params
        .iter()
        .find(|(name, query)| *name == "query" && query.len() > 20)
        .map(|(_, query)| *query);
    query.map_or_else(
        || why.to_owned(),
        |query| why.replace(&format!("{query:?}"), "…").replace(query, "…"),
    )
}

/// What Mimir says where the tenant is missing, is none, or is several where it takes one.
fn is_of_tenants(why: &str) -> bool {
    why.starts_with("no org id") || why.contains("tenant ID")
}

/// VictoriaMetrics says so with another status than 404; a cluster of it takes the first parts of the path for a tenant.
fn knows_no_path(why: &str) -> bool {
    why.starts_with("unsupported path requested") || why.contains("cannot parse accountID")
}

/// Why no answer came, and what to do about the commonest of it.
fn unreached(error: &reqwest::Error) -> Trouble {
    let text = said(&causes(error));
    let certificate = text.contains("certificate");
    if text.contains("certificate expired") {
        return Trouble::Tls(format!("has a certificate that has expired: {text}"));
    }
    if text.contains("UnknownIssuer") || text.contains("BadSignature") {
        let hint = "has a certificate of an authority that is not trusted; give that authority's as caFile";
        return Trouble::Tls(format!("{hint}: {text}"));
    }
    if certificate {
        Trouble::Tls(format!("cannot be reached by TLS: {text}"))
    } else {
        Trouble::Down(text)
    }
}

fn read(field: &'static str, file: &str) -> Result<Vec<u8>, Trouble> {
    std::fs::read(file).map_err(|e| Trouble::File {
        field,
        file: file.to_owned(),
        why: e.to_string(),
    })
}

fn secret(field: &'static str, file: &str) -> Result<String, Trouble> {
    let broken = |why: &str| Trouble::File {
        field,
        file: file.to_owned(),
        why: why.to_owned(),
    };
    let text = String::from_utf8(read(field, file)?).map_err(|_| broken("it is no UTF-8"))?;
    let text = text.trim();
    if text.is_empty() {
        return Err(broken("it is empty"));
    }
    if text.contains(char::is_control) {
        Err(broken("it holds more than one line"))
    } else {
        Ok(text.to_owned())
    }
}
