//! The way to a collector: its address, TLS, headers, and what its answers mean.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_body_util::BodyExt;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use percent_encoding::percent_decode_str;
use prost::Message;
use reqwest::{Certificate, Client, Url, redirect};
use tokio_rustls::rustls::crypto::ring;

use crate::cluster::error_text::{causes, one_line};

use super::grpc;

/// Where OTLP by HTTP takes traces.
const PATH: &str = "/v1/traces";

/// The port at which collectors take gRPC.
const GRPC_PORT: u16 = 4317;

/// Of an answer, so much is of interest.
const MOST: usize = 64 << 10;

/// A collector, and how to speak with it.
#[derive(Clone, Debug)]
pub struct Collector {
    /// Exactly where each request goes.
    pub url: Url,
    /// In which of the two ways.
    pub protocol: Protocol,
    /// Whom to trust, in place of the authorities of the system.
    pub authority: Option<PathBuf>,
    /// What goes with each request.
    pub headers: HeaderMap,
    /// How long one batch may take, further attempts included.
    pub timeout: Duration,
}

/// How OTLP is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// gRPC.
    Grpc,
    /// Protobuf in the body of an HTTP request.
    Http,
}

/// Why spans are not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The file of the authorities is of no use.
    #[error("cannot use {}, the file of the authorities to trust: {why}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// TLS fails.
    #[error("{0}")]
    Tls(String),
    /// There is no way to it.
    #[error("it cannot be reached: {0}")]
    Down(String),
    /// It takes too long.
    #[error("no answer within {}", seconds(*.0))]
    Slow(Duration),
    /// It answers with a status of HTTP that is no success.
    #[error("it refuses them with {code}{}{}", after_colon(why), hint(*.code == 401 || *.code == 403))]
    Refused {
        /// The status.
        code: u16,
        /// What it says.
        why: String,
    },
    /// It answers with a status of gRPC that is no success.
    #[error("it refuses them with {}{}{}", grpc::name(*.code), after_colon(why), hint(*.code == 16 || *.code == 7))]
    Status {
        /// The status.
        code: u32,
        /// What it says.
        why: String,
    },
    /// It has taken some and no others.
    #[error("it rejects some{}", after_colon(why))]
    Rejected {
        /// How many.
        spans: usize,
        /// What it says.
        why: String,
    },
    /// What answers is no collector, or does not speak this protocol.
    #[error("it gives {0}")]
    Nonsense(String),
}

fn after_colon(why: &str) -> String {
    if why.is_empty() {
        String::new()
    } else {
        format!(": {why}")
    }
}

const fn hint(wants_token: bool) -> &'static str {
    if wants_token {
        "; OTEL_EXPORTER_OTLP_HEADERS is the place for a token"
    } else {
        ""
    }
}

fn seconds(time: Duration) -> impl fmt::Display {
    format!("{} s", time.as_secs_f64())
}

impl Trouble {
    /// Of which kind it is, with its code where it has one. The words may differ each time.
    pub(super) const fn kind(&self) -> (&'static str, u32) {
        match self {
            Trouble::File { .. } => ("file", 0),
            Trouble::Tls(_) => ("tls", 0),
            Trouble::Down(_) => ("down", 0),
            Trouble::Slow(_) => ("slow", 0),
            Trouble::Refused { code, .. } => ("refused", *code as u32),
            Trouble::Status { code, .. } => ("status", *code),
            Trouble::Rejected { .. } => ("rejected", 0),
            Trouble::Nonsense(_) => ("nonsense", 0),
        }
    }

    /// Whether the same spans may be taken later.
    pub fn may_pass(&self) -> bool {
        match self {
            Trouble::Down(_) => true,
            Trouble::Refused { code, .. } => matches!(code, 429 | 502 | 503 | 504),
            Trouble::Status { code, .. } => grpc::may_pass(*code),
            Trouble::File { .. }
            | Trouble::Tls(_)
            | Trouble::Slow(_)
            | Trouble::Rejected { .. }
            | Trouble::Nonsense(_) => false,
        }
    }
}

impl Protocol {
    /// By its name in `OTEL_EXPORTER_OTLP_PROTOCOL`; without one by the port.
    pub fn named(name: Option<&str>, url: &Url) -> Option<Self> {
        match name {
            Some("grpc") => Some(Protocol::Grpc),
            Some("http/protobuf") => Some(Protocol::Http),
            Some(_) => None,
            None if url.port() == Some(GRPC_PORT) => Some(Protocol::Grpc),
            None => Some(Protocol::Http),
        }
    }

    /// Exactly where requests go that are for this endpoint.
    pub fn place(self, endpoint: &Url) -> Url {
        let mut url = endpoint.clone();
        let before = endpoint.path().trim_end_matches('/');
        match self {
            Protocol::Grpc => url.set_path(grpc::PATH),
            Protocol::Http if before.ends_with(PATH) => url.set_path(before),
            Protocol::Http => url.set_path(&format!("{before}{PATH}")),
        }
        url
    }
}

/// Headers as `OTEL_EXPORTER_OTLP_HEADERS` has them: `name=value,name=value`, values escaped as in a URL. Whatever is none
/// is given back by its name alone, for its value may be a secret.
pub fn headers(text: &str) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (place, pair) in text
        .split(',')
        .map(str::trim)
        .enumerate()
        .filter(|(_, pair)| !pair.is_empty())
    {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("number {} has no =", place + 1))?;
        let name = name.trim();
        let sound = HeaderName::try_from(name)
            .map_err(|_| format!("number {} has a name that is none", place + 1))?;
        let value = percent_decode_str(value.trim()).collect::<Vec<u8>>();
        let mut value = HeaderValue::try_from(value)
            .map_err(|_| format!("the value of {name} cannot be sent"))?;
        value.set_sensitive(true);
        headers.append(sound, value);
    }
    Ok(headers)
}

impl Collector {
    /// What to call it in a log: its address, without a password that may stand there.
    pub fn name(&self) -> String {
        let mut url = self.url.clone();
        // A URL that has a host takes both.
        let _ = url.set_username("").and_then(|()| url.set_password(None));
        if self.protocol == Protocol::Grpc {
            url.set_path("");
        }
        url.as_str().trim_end_matches('/').to_owned()
    }

    /// A client with whatever stands in the files now.
    pub(super) fn connect(&self) -> Result<Client, Trouble> {
        // The same provider as the kube client has. Where one is installed already, it is this.
        let _ = ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("evenkeel/", env!("CARGO_PKG_VERSION")))
            // A token is not for whoever is pointed at.
            .redirect(redirect::Policy::none());
        builder = match self.protocol {
            Protocol::Grpc => builder.http2_prior_knowledge(),
            Protocol::Http => builder.http1_only(),
        };
        if let Some(file) = &self.authority {
            builder = builder.tls_certs_only(certificates(file)?);
        }
        builder.build().map_err(|error| {
            Trouble::Tls(format!(
                "TLS cannot be set up: {}",
                one_line(&causes(&error))
            ))
        })
    }

    /// Sends a message once.
    pub(super) async fn send(&self, client: &Client, message: &[u8]) -> Result<(), Trouble> {
        let mut headers = match self.protocol {
            Protocol::Grpc => grpc::headers(),
            Protocol::Http => HeaderMap::from_iter([(
                CONTENT_TYPE,
                HeaderValue::from_static("application/x-protobuf"),
            )]),
        };
        headers.extend(self.headers.clone());
        let body = match self.protocol {
            Protocol::Grpc => grpc::framed(message),
            Protocol::Http => message.to_vec(),
        };
        let sent = client
            .post(self.url.clone())
            .headers(headers)
            .body(body)
            .send()
            .await;
        self.judge(sent.map_err(|error| self.unreached(&error))?.into())
            .await
    }

    /// What an answer means.
    async fn judge(&self, answer: http::Response<reqwest::Body>) -> Result<(), Trouble> {
        let (head, body) = answer.into_parts();
        let body = http_body_util::Limited::new(body, MOST).collect().await;
        let body = body.map_err(|error| Trouble::Down(one_line(&causes(&*error))))?;
        let trailers = body.trailers().cloned();
        let bytes = body.to_bytes();
        if !head.status.is_success() {
            let why = if head.status.is_redirection() {
                "another place".to_owned()
            } else {
                text(&head.headers, &bytes)
            };
            return Err(Trouble::Refused {
                code: head.status.as_u16(),
                why: reason(head.status, why),
            });
        }
        match self.protocol {
            Protocol::Http => taken(&bytes),
            Protocol::Grpc => {
                grpc::judge(&trailers.unwrap_or(head.headers))?;
                grpc::unframed(&bytes).map_or(Ok(()), taken)
            }
        }
    }

    /// Why no answer came, and what to do about the commonest of it.
    fn unreached(&self, error: &reqwest::Error) -> Trouble {
        let text = one_line(&causes(error));
        if text.contains("certificate expired") {
            return Trouble::Tls(format!("it has a certificate that has expired: {text}"));
        }
        if text.contains("UnknownIssuer") || text.contains("BadSignature") {
            let hint = "it has a certificate of an authority that is not trusted; give that authority's by --otlp-ca-file";
            return Trouble::Tls(format!("{hint}: {text}"));
        }
        if text.contains("certificate") {
            return Trouble::Tls(format!("it cannot be reached by TLS: {text}"));
        }
        let hint = match self.protocol {
            _ if error.is_connect() => "",
            Protocol::Http => "; if it speaks gRPC there, say --otlp-protocol grpc",
            Protocol::Grpc => {
                "; if it does not speak gRPC there, say --otlp-endpoint and its port for HTTP, such as 4318"
            }
        };
        Trouble::Down(text + hint)
    }
}

/// What an error says, where it says it in words.
fn text(headers: &HeaderMap, body: &[u8]) -> String {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    let words = kind.starts_with("text/plain") || kind.starts_with("application/json");
    if words {
        one_line(&String::from_utf8_lossy(body))
    } else {
        String::new()
    }
}

/// The words for a status, and what was said of it.
fn reason(status: StatusCode, why: String) -> String {
    match (status.canonical_reason(), why.is_empty()) {
        (Some(known), true) => known.to_owned(),
        _ => why,
    }
}

/// Whether all spans were taken. An answer that cannot be read says nothing against it.
fn taken(message: &[u8]) -> Result<(), Trouble> {
    let partial = ExportTraceServiceResponse::decode(message)
        .ok()
        .and_then(|answer| answer.partial_success);
    match partial {
        Some(some) if some.rejected_spans > 0 => Err(Trouble::Rejected {
            spans: usize::try_from(some.rejected_spans).unwrap_or(usize::MAX),
            why: one_line(&some.error_message),
        }),
        Some(_) | None => Ok(()),
    }
}

fn certificates(file: &Path) -> Result<Vec<Certificate>, Trouble> {
    let broken = |why: String| Trouble::File {
        file: file.to_owned(),
        why,
    };
    let text = std::fs::read(file).map_err(|error| broken(error.to_string()))?;
    let found =
        Certificate::from_pem_bundle(&text).map_err(|error| broken(one_line(&causes(&error))))?;
    if found.is_empty() {
        Err(broken("there is no certificate in it".to_owned()))
    } else {
        Ok(found)
    }
}
