//! The way to the API server through a proxy, as kubectl takes it.

use std::path::PathBuf;
use std::process::Output;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;

use crate::it::support;

const VARIABLES: [&str; 4] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];

/// An API server of which no name service knows the host.
const BEHIND_THE_PROXY: &str = "http://k8s.corp.invalid:8080";

/// The first line of `evenkeel resume` if it has reached the fake API server.
const REACHED: &str = "the cluster was not paused\n";

/// An HTTP and SOCKS proxy. For every host, it connects to the same fake API server.
struct Proxy {
    address: String,
    /// The address of the fake API server itself.
    api_server: String,
    /// The hosts that it was asked for.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    async fn start() -> Self {
        let api_server = fake_api_server().await;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (log, target) = (Arc::clone(&asked), api_server.clone());
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let (log, target) = (Arc::clone(&log), target.clone());
                tokio::spawn(async move {
                    let mut server = TcpStream::connect(target).await.unwrap();
                    let host = accept(&mut client).await;
                    log.lock().unwrap().push(host);
                    let _ = copy_bidirectional(&mut client, &mut server).await;
                });
            }
        });
        Proxy { address, api_server, asked }
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

/// Accepts the request for a tunnel by either protocol, and returns the host and port.
async fn accept(client: &mut TcpStream) -> String {
    let mut first = [0];
    client.read_exact(&mut first).await.unwrap();
    if first == [5] {
        return accept_socks(client).await;
    }
    let mut head = first.to_vec();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.unwrap());
    }
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    let head = String::from_utf8(head).unwrap();
    head.strip_prefix("CONNECT ").unwrap().split(' ').next().unwrap().to_owned()
}

/// The protocol of RFC 1928 without authentication, after its version.
async fn accept_socks(client: &mut TcpStream) -> String {
    let methods = client.read_u8().await.unwrap();
    client.read_exact(&mut vec![0; usize::from(methods)]).await.unwrap();
    client.write_all(&[5, 0]).await.unwrap();
    let mut head = [0; 5];
    client.read_exact(&mut head).await.unwrap();
    let [5, 1, 0, 3, length] = head else {
        panic!("no request by the name of a host: {head:?}");
    };
    let mut host = vec![0; usize::from(length)];
    client.read_exact(&mut host).await.unwrap();
    let port = client.read_u16().await.unwrap();
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
    format!("{}:{port}", String::from_utf8(host).unwrap())
}

async fn fake_api_server() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let namespace = r#"{"metadata": {"name": "kube-system"}}"#;
    let router = Router::new().fallback(async move || namespace);
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// Runs `evenkeel resume` with a cluster of the kubeconfig and with variables of the environment.
async fn resume(cluster: &str, variables: &[(&str, &str)]) -> Output {
    let kubeconfig = kubeconfig(cluster);
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    for name in VARIABLES {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    let command = command.args(["resume", "--kubeconfig"]).arg(&kubeconfig);
    let output = command.envs(variables.iter().copied()).output().await.unwrap();
    std::fs::remove_file(kubeconfig).unwrap();
    output
}

/// The path of a new kubeconfig.
fn kubeconfig(cluster: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("evenkeel-proxies-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, support::kubeconfig(cluster)).unwrap();
    path
}

fn reached(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stdout).starts_with(REACHED)
}

#[tokio::test]
async fn the_proxy_of_the_environment_leads_to_the_cluster() {
    let proxy = Proxy::start().await;
    let (server, url) =
        (format!("server: '{BEHIND_THE_PROXY}'"), format!("http://{}", proxy.address));
    // Only the host of the API server counts in NO_PROXY, and not that of the proxy.
    let variables = [("HTTP_PROXY", url.as_str()), ("NO_PROXY", "127.0.0.1,localhost,.svc")];
    let output = resume(&server, &variables).await;
    assert!(reached(&output), "{output:?}");
    assert_eq!(proxy.asked(), ["k8s.corp.invalid:8080"]);
}

#[tokio::test]
async fn the_proxy_of_the_kubeconfig_leads_to_the_cluster() {
    let proxy = Proxy::start().await;
    for scheme in ["http", "socks5"] {
        let url = format!("{scheme}://{}", proxy.address);
        let cluster = format!("server: '{BEHIND_THE_PROXY}', proxy-url: '{url}'");
        let variables = [("HTTP_PROXY", "http://127.0.0.1:1"), ("NO_PROXY", "*")];
        let output = resume(&cluster, &variables).await;
        assert!(reached(&output), "{scheme}: {output:?}");
        assert_eq!(proxy.asked(), ["k8s.corp.invalid:8080"]);
    }
}

#[tokio::test]
async fn tls_goes_through_the_proxy_for_tls() {
    let proxy = Proxy::start().await;
    let cluster = "server: 'https://k8s.corp.invalid:6443', insecure-skip-tls-verify: true";
    let url = format!("http://{}", proxy.address);
    let output = resume(cluster, &[("HTTPS_PROXY", &url)]).await;
    assert!(!reached(&output), "the fake API server has no TLS");
    assert_eq!(proxy.asked(), ["k8s.corp.invalid:6443"]);
}

#[tokio::test]
async fn what_no_proxy_names_is_asked_directly() {
    let proxy = Proxy::start().await;
    let (server, url) =
        (format!("server: '{BEHIND_THE_PROXY}'"), format!("http://{}", proxy.address));
    let variables = [("HTTP_PROXY", url.as_str()), ("NO_PROXY", ".corp.invalid")];
    let output = resume(&server, &variables).await;
    assert!(!reached(&output), "no name service knows the host");
    assert!(proxy.asked().is_empty());
}

#[tokio::test]
async fn a_cluster_on_this_machine_is_asked_directly() {
    let proxy = Proxy::start().await;
    let server = format!("server: 'http://{}'", proxy.api_server);
    let output = resume(&server, &[("HTTP_PROXY", &format!("http://{}", proxy.address))]).await;
    assert!(reached(&output), "{output:?}");
    assert!(proxy.asked().is_empty());
}
