//! Prometheus behind TLS: an authority of its own, a certificate that has expired, one that we must show.

use axum::serve::Listener;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;

use std::sync::Arc;

use super::{File, healthy, node_addresses, prometheus, router};

/// Whoever signs certificates.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: rcgen::Certificate,
}

struct Signed {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        Authority {
            issuer: Issuer::new(params, key),
            certificate,
        }
    }

    fn sign(&self, last_year: i32) -> Signed {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(last_year, 1, 1);
        Signed {
            certificate: params.signed_by(&key, &self.issuer).unwrap(),
            key,
        }
    }

    fn file(&self, name: &str) -> File {
        File::new(name, &pem("CERTIFICATE", self.certificate.der()))
    }
}

fn pem(kind: &str, der: &[u8]) -> String {
    let text = serde_json::to_value(k8s_openapi::ByteString(der.to_vec())).unwrap();
    let text: Vec<char> = text.as_str().unwrap().chars().collect();
    let lines: Vec<String> = text.chunks(64).map(|line| line.iter().collect()).collect();
    format!(
        "-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n",
        lines.join("\n")
    )
}

struct Tls {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = std::net::SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, from) = Listener::accept(&mut self.tcp).await;
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, from);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}

/// A healthy Prometheus with this certificate; with `clients`, only for whom that authority vouches.
async fn serve_tls(own: &Signed, clients: Option<&Authority>) -> String {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(authority.certificate.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let key = PrivateKeyDer::Pkcs8(own.key.serialize_der().into());
    let config = builder
        .with_single_cert(vec![own.certificate.der().clone()], key)
        .unwrap();
    let tcp = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = tcp.local_addr().unwrap().port();
    let listener = Tls {
        tcp,
        acceptor: TlsAcceptor::from(Arc::new(config)),
    };
    tokio::spawn(async move { axum::serve(listener, router(healthy).0).await });
    format!("https://localhost:{port}")
}

async fn said(url: &str, more: &str) -> String {
    match prometheus(url, more).read(&node_addresses()).await {
        Ok(readings) => format!("{} nodes", readings.nodes.len()),
        Err(trouble) => format!("[{}] {trouble}", trouble.kind()),
    }
}

#[tokio::test]
async fn an_authority_of_its_own_is_trusted_when_the_policy_says_so() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let url = serve_tls(&ours.sign(2050), None).await;
    let (trusted, other) = (ours.file("ca-1"), theirs.file("ca-2"));
    assert_eq!(
        said(&url, &format!("caFile: '{}',", trusted.name())).await,
        "2 nodes"
    );
    let stranger = said(&url, &format!("caFile: '{}',", other.name())).await;
    assert!(
        stranger.starts_with(
            "[tls] has a certificate of an authority that is not trusted; give that authority's as caFile"
        ),
        "{stranger}"
    );
    let system = said(&url, "").await;
    assert!(
        system.starts_with("[tls] has a certificate of an authority that is not trusted"),
        "{system}"
    );
    let elsewhere = said(
        &url.replace("localhost", "127.0.0.1"),
        &format!("caFile: '{}',", trusted.name()),
    )
    .await;
    assert!(
        elsewhere.starts_with("[tls] cannot be reached by TLS: "),
        "{elsewhere}"
    );
    let empty = File::new("ca-3", "nothing");
    let none = said(&url, &format!("caFile: '{}',", empty.name())).await;
    assert_eq!(
        none,
        format!(
            "[file] caFile: cannot use {}: there is no certificate in it",
            empty.name()
        )
    );
}

#[tokio::test]
async fn a_certificate_that_has_expired_is_told_and_a_new_authority_is_taken_without_a_restart() {
    let ours = Authority::new();
    let ca = ours.file("ca-4");
    let url = serve_tls(&ours.sign(2020), None).await;
    let expired = said(&url, &format!("caFile: '{}',", ca.name())).await;
    assert!(
        expired.starts_with("[tls] has a certificate that has expired"),
        "{expired}"
    );

    let next = Authority::new();
    let url = serve_tls(&next.sign(2050), None).await;
    let it = prometheus(&url, &format!("caFile: '{}',", ca.name()));
    assert!(it.read(&node_addresses()).await.is_err());
    ca.write(&pem("CERTIFICATE", next.certificate.der()));
    assert_eq!(it.read(&node_addresses()).await.unwrap().nodes.len(), 2);
}

#[tokio::test]
async fn who_we_are_is_shown_by_a_certificate() {
    let ours = Authority::new();
    let url = serve_tls(&ours.sign(2050), Some(&ours)).await;
    let ca = ours.file("ca-5");
    let own = ours.sign(2050);
    let certificate = File::new("crt", &pem("CERTIFICATE", own.certificate.der()));
    let key = File::new("key", &pem("PRIVATE KEY", &own.key.serialize_der()));
    let more = format!(
        "caFile: '{}', clientCertificateFile: '{}', clientKeyFile: '{}',",
        ca.name(),
        certificate.name(),
        key.name()
    );
    assert_eq!(said(&url, &more).await, "2 nodes");
    let nobody = said(&url, &format!("caFile: '{}',", ca.name())).await;
    assert!(
        nobody.starts_with("[tls] ") || nobody.starts_with("[down] "),
        "{nobody}"
    );
    key.write("no key");
    let broken = said(&url, &more).await;
    assert!(
        broken.starts_with(&format!(
            "[file] clientCertificateFile: cannot use {}: ",
            certificate.name()
        )),
        "{broken}"
    );
}
