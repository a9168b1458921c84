//! A fake collector behind TLS, with a certificate of an authority that no system trusts.

use std::path::PathBuf;
use std::sync::Arc;

use axum::serve::Listener;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::server::TlsStream;

use crate::shared::otlp_collector::{Collector, Response};

/// The CA file, deleted with this value.
pub(super) struct CaFile(PathBuf);

impl CaFile {
    pub(super) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for CaFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
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
            let (stream, peer) = Listener::accept(&mut self.tcp).await;
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, peer);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}

/// Starts the collector. Returns its URL, the collector and the CA file to trust.
pub(super) async fn start() -> (String, Collector, CaFile) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap();
    let file = std::env::temp_dir().join(format!("evenkeel-otlp-ca-{}.crt", std::process::id()));
    std::fs::write(&file, pem(certificate.der())).unwrap();

    let own = KeyPair::generate().unwrap();
    let signed = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let signed = signed.signed_by(&own, &Issuer::new(params, key)).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let key = PrivateKeyDer::Pkcs8(own.serialize_der().into());
    let mut config = builder.with_single_cert(vec![signed.der().clone()], key).unwrap();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let tcp = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("https://localhost:{}", tcp.local_addr().unwrap().port());
    let listener = TlsListener { tcp, acceptor: TlsAcceptor::from(Arc::new(config)) };
    (url.clone(), Collector::on(listener, url, Response::Success), CaFile(file))
}

fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
}
