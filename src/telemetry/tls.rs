//! Probes over TLS with a self-signed certificate, as descheduler's manifests expect.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{CertifiedKey, KeyPair};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{self, ServerConfig};

use super::connections::{self, Port};

/// Listener for TLS connections.
pub struct TlsListener {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl TlsListener {
    /// Binds the address and creates a key and a self-signed certificate, as descheduler does. The
    /// kubelet does not verify certificates of probes.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        let generated =
            rcgen::generate_simple_self_signed(["evenkeel".to_owned(), "localhost".to_owned()]);
        let acceptor = acceptor(&generated.map_err(io::Error::other)?);
        let acceptor = acceptor.map_err(io::Error::other)?;
        Ok(TlsListener { tcp: connections::listen(address).await?, acceptor })
    }
}

fn acceptor(own: &CertifiedKey<KeyPair>) -> Result<TlsAcceptor, rustls::Error> {
    let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
    // An explicit provider: with a second one in the dependency tree, the default builder panics.
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

impl From<TlsListener> for Port {
    fn from(listener: TlsListener) -> Self {
        Port { tcp: listener.tcp, tls: Some(listener.acceptor) }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio_rustls::TlsConnector;
    use tokio_rustls::rustls::{ClientConfig, RootCertStore};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::telemetry::metrics::Metrics;
    use crate::telemetry::{Health, serve};

    #[tokio::test]
    async fn tls_clients_get_a_response_and_plain_ones_do_not_block_them() {
        let generated = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let mut listener = TlsListener::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        // Replaces the certificate by one that the test client trusts.
        listener.acceptor = acceptor(&generated).unwrap();
        let address = listener.tcp.local_addr().unwrap();
        let (health, stop) = (Health::default(), CancellationToken::new());
        health.ready();
        let server = tokio::spawn(serve(listener, health, Metrics::default(), stop.clone()));

        // Neither delays the others: no handshake, and one that never ends.
        let _silent = TcpStream::connect(address).await.unwrap();
        let mut plain = TcpStream::connect(address).await.unwrap();
        plain.write_all(b"GET /healthz HTTP/1.1\r\n\r\n").await.unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(generated.cert.der().clone()).unwrap();
        let client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap();
        let client = TlsConnector::from(Arc::new(
            client.with_root_certificates(roots).with_no_client_auth(),
        ));
        let tcp = TcpStream::connect(address).await.unwrap();
        let mut secure = client.connect("localhost".try_into().unwrap(), tcp).await.unwrap();
        secure
            .write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .await
            .unwrap();
        let mut answer = String::new();
        secure.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        stop.cancel();
        server.await.unwrap().unwrap();
    }
}
