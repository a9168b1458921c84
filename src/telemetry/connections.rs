//! Serves HTTP so that no client can hold the port shut.
//!
//! axum's own server accepts any number of connections and waits for each forever. Here, a
//! connection that does not send its request in time ends, a handshake never delays another
//! connection, and the newest connection displaces the oldest when there are too many.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// The most connections at a time. A kubelet and a few scrapers need less than ten.
const MOST_CONNECTIONS: usize = 64;
/// The longest TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest time to send the head of a request, also of a later one on the same connection.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest life of a connection, for clients that do not read the response.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(120);
/// Time that connections get to finish at the end of the program.
const GRACE: Duration = Duration::from_secs(1);
/// The pause after an accept that failed, for example without a free file descriptor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Connections that wait to be accepted, as tokio has it.
const BACKLOG: i32 = 1024;

/// A listening port, with or without TLS.
pub struct Port {
    /// The socket.
    pub tcp: TcpListener,
    /// The keys of TLS.
    pub tls: Option<TlsAcceptor>,
}

/// Listens on an address. `0.0.0.0` means every address of both families, as in Go: a pod of a
/// cluster with IPv6 alone has no other, and the kubelet's probes come there.
pub async fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let both = SocketAddr::from((Ipv6Addr::UNSPECIFIED, address.port()));
    if address.ip() == Ipv4Addr::UNSPECIFIED
        && let Ok(listener) = listen_dual(both)
    {
        return Ok(listener);
    }
    TcpListener::bind(address).await
}

/// Listens on an address of IPv6, and of IPv4, too, which `net.ipv6.bindv6only` does not change.
fn listen_dual(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV6, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_only_v6(false)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

impl From<TcpListener> for Port {
    fn from(tcp: TcpListener) -> Self {
        Port { tcp, tls: None }
    }
}

/// Serves the routes until `stop` is cancelled.
pub async fn serve(port: Port, router: Router, stop: CancellationToken) -> io::Result<()> {
    let Port { tcp, tls } = port;
    let mut connections = Connections::default();
    while let Some(accepted) = stop.run_until_cancelled(tcp.accept()).await {
        match accepted {
            Ok((stream, _)) => {
                let (router, stop) = (router.clone(), stop.clone());
                connections.add(connection(stream, tls.clone(), router, stop));
            }
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
    // A client that keeps its connection open must not delay the end of the program.
    let _ = timeout(GRACE, connections.tasks.join_all()).await;
    Ok(())
}

/// The open connections.
#[derive(Default)]
struct Connections {
    tasks: JoinSet<()>,
    /// In the order of their beginning.
    handles: VecDeque<AbortHandle>,
}

impl Connections {
    fn add(&mut self, connection: impl Future<Output = ()> + Send + 'static) {
        while self.tasks.try_join_next().is_some() {}
        self.handles.retain(|handle| !handle.is_finished());
        if self.handles.len() >= MOST_CONNECTIONS
            && let Some(oldest) = self.handles.pop_front()
        {
            oldest.abort();
        }
        self.handles.push_back(self.tasks.spawn(connection));
    }
}

async fn connection(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    router: Router,
    stop: CancellationToken,
) {
    let served = async {
        let Some(tls) = tls else {
            return exchange(stream, router, stop).await;
        };
        // A client without TLS is dropped.
        if let Ok(Ok(stream)) = timeout(HANDSHAKE_TIMEOUT, tls.accept(stream)).await {
            exchange(stream, router, stop).await;
        }
    };
    let _ = timeout(CONNECTION_TIMEOUT, served).await;
}

/// Responds to the requests of one connection. Errors concern only the client.
async fn exchange<S>(stream: S, router: Router, stop: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = TowerToHyperService::new(router);
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::task::JoinHandle;

    use super::*;

    async fn server() -> (std::net::SocketAddr, CancellationToken, JoinHandle<io::Result<()>>) {
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop) = (tcp.local_addr().unwrap(), CancellationToken::new());
        let router = Router::new().route("/healthz", get(async || "ok"));
        let task = tokio::spawn(serve(tcp.into(), router, stop.clone()));
        (address, stop, task)
    }

    /// Opens connections and sends this on each.
    async fn open(address: std::net::SocketAddr, count: usize, text: &str) -> Vec<TcpStream> {
        let mut streams = Vec::new();
        for _ in 0..count {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(text.as_bytes()).await.unwrap();
            streams.push(stream);
        }
        streams
    }

    async fn probe(address: std::net::SocketAddr) -> String {
        let text = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        let mut stream = open(address, 1, text).await.remove(0);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    /// As in a cluster with IPv6 alone, where the probes come to `[::1]` or to the pod's address.
    #[tokio::test]
    async fn an_unspecified_address_means_both_families() {
        let tcp = listen("0.0.0.0:0".parse().unwrap()).await.unwrap();
        let port = tcp.local_addr().unwrap().port();
        let router = Router::new().route("/healthz", get(async || "ok"));
        tokio::spawn(serve(tcp.into(), router, CancellationToken::new()));
        for host in ["127.0.0.1", "[::1]"] {
            let address = format!("{host}:{port}").parse().unwrap();
            assert!(probe(address).await.ends_with("ok"), "{host}");
        }
        // A taken port is an error, whichever family it is taken in.
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = taken.local_addr().unwrap().port();
        assert!(listen(format!("0.0.0.0:{port}").parse().unwrap()).await.is_err());
    }

    #[tokio::test]
    async fn connections_that_send_nothing_or_half_a_request_delay_no_probe() {
        let (address, stop, _) = server().await;
        let idle = open(address, MOST_CONNECTIONS * 2, "").await;
        let half = open(address, MOST_CONNECTIONS * 2, "GET /healthz HTTP/1.1\r\n").await;
        assert!(probe(address).await.starts_with("HTTP/1.1 200"));
        drop((idle, half));
        stop.cancel();
    }

    #[tokio::test]
    async fn the_oldest_of_too_many_connections_is_closed() {
        let (address, _, _) = server().await;
        let mut streams = open(address, MOST_CONNECTIONS + 1, "").await;
        let mut nothing = [0];
        // Ends as soon as the server closes it: no timeout of a test is as short.
        let read = timeout(HEADER_TIMEOUT / 2, streams[0].read(&mut nothing)).await;
        assert!(matches!(read, Ok(Ok(0) | Err(_))), "{read:?}");
    }

    #[tokio::test]
    async fn half_a_request_ends_after_a_while() {
        let (address, _, _) = server().await;
        let mut half = open(address, 1, "GET / HTTP/1.1\r\n").await.remove(0);
        let mut answer = Vec::new();
        let ended = timeout(HEADER_TIMEOUT * 4, half.read_to_end(&mut answer)).await;
        assert!(ended.is_ok(), "the connection is still open");
    }

    #[tokio::test]
    async fn an_open_connection_does_not_delay_the_end() {
        let (address, stop, task) = server().await;
        let _idle = open(address, 3, "").await;
        assert!(probe(address).await.starts_with("HTTP/1.1 200"));
        stop.cancel();
        let ended = timeout(GRACE * 5, task).await;
        assert!(ended.is_ok(), "the server still waits");
    }
}
