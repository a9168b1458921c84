//! Prometheus over TLS: a private authority, an expired certificate, client certificates.

use axum::serve::Listener;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;

use std::sync::Arc;

use super::{TempFile, healthy, node_addresses, prometheus, router};

/// A certificate authority.
struct TestAuthority {
    issuer: Issuer<'static, KeyPair>,
    certificate: rcgen::Certificate,
}

struct SignedCertificate {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl TestAuthority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        TestAuthority { issuer: Issuer::new(params, key), certificate }
    }

    fn sign(&self, last_year: i32) -> SignedCertificate {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(last_year, 1, 1);
        SignedCertificate { certificate: params.signed_by(&key, &self.issuer).unwrap(), key }
    }

    fn file(&self, name: &str) -> TempFile {
        TempFile::new(name, &pem("CERTIFICATE", self.certificate.der()))
    }
}

fn pem(kind: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    format!("-----BEGIN {kind}-----\n{text}\n-----END {kind}-----\n")
}

struct TlsListener {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for TlsListener {
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

/// Serves a healthy Prometheus with this certificate. With `clients`, it requires a client
/// certificate of that authority.
async fn serve_tls(own: &SignedCertificate, clients: Option<&TestAuthority>) -> String {
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
    let config = builder.with_single_cert(vec![own.certificate.der().clone()], key).unwrap();
    let tcp = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = tcp.local_addr().unwrap().port();
    let listener = TlsListener { tcp, acceptor: TlsAcceptor::from(Arc::new(config)) };
    tokio::spawn(async move { axum::serve(listener, router(healthy).0).await });
    format!("https://localhost:{port}")
}

async fn result_of(url: &str, more: &str) -> String {
    match prometheus(url, more).read(&node_addresses()).await {
        Ok(readings) => format!("{} nodes", readings.nodes.len()),
        Err(error) => format!("[{}] {error}", error.kind()),
    }
}

#[tokio::test]
async fn a_private_authority_is_trusted_if_the_policy_names_it() {
    let (ours, theirs) = (TestAuthority::new(), TestAuthority::new());
    let url = serve_tls(&ours.sign(2050), None).await;
    let (trusted, other) = (ours.file("ca-1"), theirs.file("ca-2"));
    assert_eq!(result_of(&url, &format!("caFile: '{}',", trusted.name())).await, "2 nodes");
    let untrusted = result_of(&url, &format!("caFile: '{}',", other.name())).await;
    assert!(
        untrusted.starts_with(
            "[tls] has a certificate of an untrusted authority; set the authority's certificate as \
                caFile"
        ),
        "{untrusted}"
    );
    let system = result_of(&url, "").await;
    assert!(system.starts_with("[tls] has a certificate of an untrusted authority"), "{system}");
    let elsewhere = result_of(
        &url.replace("localhost", "127.0.0.1"),
        &format!("caFile: '{}',", trusted.name()),
    )
    .await;
    assert!(elsewhere.starts_with("[tls] cannot be reached by TLS: "), "{elsewhere}");
    let empty = TempFile::new("ca-3", "nothing");
    let none = result_of(&url, &format!("caFile: '{}',", empty.name())).await;
    assert_eq!(
        none,
        format!(
            "[file] cannot be queried: caFile: cannot use {}: it contains no certificate",
            empty.name()
        )
    );
}

#[tokio::test]
async fn an_expired_certificate_is_named_and_a_new_authority_needs_no_restart() {
    let ours = TestAuthority::new();
    let ca = ours.file("ca-4");
    let url = serve_tls(&ours.sign(2020), None).await;
    let expired = result_of(&url, &format!("caFile: '{}',", ca.name())).await;
    assert!(expired.starts_with("[tls] has an expired certificate"), "{expired}");

    let next = TestAuthority::new();
    let url = serve_tls(&next.sign(2050), None).await;
    let prometheus = prometheus(&url, &format!("caFile: '{}',", ca.name()));
    assert!(prometheus.read(&node_addresses()).await.is_err());
    ca.write(&pem("CERTIFICATE", next.certificate.der()));
    assert_eq!(prometheus.read(&node_addresses()).await.unwrap().nodes.len(), 2);
}

#[tokio::test]
async fn the_client_certificate_is_sent() {
    let ours = TestAuthority::new();
    let url = serve_tls(&ours.sign(2050), Some(&ours)).await;
    let ca = ours.file("ca-5");
    let own = ours.sign(2050);
    let certificate = TempFile::new("crt", &pem("CERTIFICATE", own.certificate.der()));
    let key = TempFile::new("key", &pem("PRIVATE KEY", &own.key.serialize_der()));
    let more = format!(
        "caFile: '{}', clientCertificateFile: '{}', clientKeyFile: '{}',",
        ca.name(),
        certificate.name(),
        key.name()
    );
    assert_eq!(result_of(&url, &more).await, "2 nodes");
    let anonymous = result_of(&url, &format!("caFile: '{}',", ca.name())).await;
    assert!(anonymous.starts_with("[tls] ") || anonymous.starts_with("[down] "), "{anonymous}");
    key.write("no key");
    let broken = result_of(&url, &more).await;
    assert!(
        broken.starts_with(&format!(
            "[file] cannot be queried: clientCertificateFile: cannot use {}: ",
            certificate.name()
        )),
        "{broken}"
    );
}
