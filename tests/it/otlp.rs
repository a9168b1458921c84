//! Traces: the program against a fake API server and a fake collector.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use self::program::{Exit, Program};
use self::server::ApiServer;
use crate::shared::otlp_collector::{Collector, Response};

mod program;
mod server;
mod tls;

/// Trace of a cycle over three pods with too many restarts: one is evicted, one is refused by its
/// budget, and one stays because it is the last that is Ready.
const CYCLE: &str = "\
cycle evenkeel.strategies=1 evenkeel.dry_run=false evenkeel.outcome=acted evenkeel.moves=2 \
evenkeel.evicted=1 evenkeel.kept=1
  settle
  get http.method=GET http.url=/api/v1/namespaces/kube-system/configmaps/evenkeel-proposal \
http.status_code=404 ERROR
  decide
  save
    create http.method=POST http.url=/api/v1/namespaces/kube-system/configmaps? http.status_code=201
  act evenkeel.moves=2
    evict k8s.namespace.name=shop k8s.pod.name=web-1 k8s.pod.uid=uid-web-1 k8s.node.name=n1 \
evenkeel.strategy=RemovePodsHavingTooManyRestarts evenkeel.reason=restarted 200 times, and the \
limit is 100 \
http.response.status_code=201 evenkeel.outcome=evicted
      HTTP http.method=POST http.url=/api/v1/namespaces/shop/pods/web-1/eviction? \
      http.status_code=201
    evict k8s.namespace.name=shop k8s.pod.name=web-2 k8s.pod.uid=uid-web-2 k8s.node.name=n1 \
evenkeel.strategy=RemovePodsHavingTooManyRestarts evenkeel.reason=restarted 200 times, and the \
limit is 100 \
http.response.status_code=429 evenkeel.outcome=refused error.type=refused \
ERROR refused by a PodDisruptionBudget: the budget allows no more
      HTTP http.method=POST http.url=/api/v1/namespaces/shop/pods/web-2/eviction? \
      http.status_code=429 ERROR
  save
    replace http.method=PUT http.url=/api/v1/namespaces/kube-system/configmaps/evenkeel-ledger? \
    http.status_code=201
";

const POLL: &str = "\
observe evenkeel.source=metricsApi evenkeel.nodes=2 evenkeel.pods=0 evenkeel.skipped=0
  HTTP http.method=GET http.url=/apis/metrics.k8s.io/v1beta1/nodes http.status_code=200
  HTTP http.method=GET http.url=/apis/metrics.k8s.io/v1beta1/pods http.status_code=200
";

async fn servers(response: Response) -> (ApiServer, Collector) {
    (ApiServer::start().await, Collector::start(response).await)
}

/// Returns a log without timestamps and durations.
fn without_times(log: &str) -> String {
    let words = |line: &str| {
        let kept = line
            .split([' ', ','])
            .filter(|word| !word.contains("2026-") && !word.contains("took_ms"));
        kept.collect::<Vec<_>>().join(" ")
    };
    log.lines().map(words).collect::<Vec<_>>().join("\n")
}

fn warnings(exit: &Exit) -> Vec<&str> {
    exit.log.lines().filter(|line| line.contains(r#""level":"WARN""#)).collect()
}

fn assert_no_warning(exit: &Exit) {
    assert_eq!((exit.code, warnings(exit).len()), (Some(0), 0), "{}", exit.log);
}

/// Asserts that the cycle did the same work as without a collector, and logged only this warning.
fn assert_only_warning(server: &ApiServer, exit: &Exit, warning: &str) {
    assert_eq!(exit.code, Some(0), "{}", exit.log);
    assert_eq!(server.evicted(), ["web-1", "web-2"], "{}", exit.log);
    assert!(exit.log.contains(r#""message":"cycle: 1 of 2 pods evicted""#), "{}", exit.log);
    let warnings = warnings(exit);
    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    assert!(warnings[0].contains(warning), "{}", warnings[0]);
}

#[tokio::test]
async fn a_cycle_is_a_trace_down_to_each_eviction_and_a_poll_is_another_trace() {
    let (server, collector) = servers(Response::Success).await;
    let exit = Program::traced(&server, &collector.url()).run().await;
    assert_no_warning(&exit);
    assert_eq!(collector.trees("cycle"), CYCLE);
    assert_eq!(collector.trees("observe"), POLL);
    assert_eq!(
        collector.trees(""),
        format!("{POLL}{CYCLE}"),
        "no other spans, in particular none of watches"
    );
    assert_eq!(collector.orphans(), 0);
}

#[tokio::test]
async fn the_flags_of_descheduler_send_http_to_the_same_address() {
    let (server, collector) = servers(Response::Success).await;
    let exit = Program::once(&server)
        .flag("--otel-collector-endpoint", collector.url().trim_start_matches("http://"))
        .flag("--otel-service-name", "descheduler")
        .flag("--otel-trace-namespace", "kube-system")
        .flag("--otel-sample-rate", "1.0")
        .run()
        .await;
    assert_no_warning(&exit);
    assert_eq!(collector.trees(""), format!("{POLL}{CYCLE}"));
    let resource = collector.resource();
    assert_eq!(resource["service.name"], "descheduler");
    assert_eq!(resource["service.namespace"], "kube-system");
    assert!(collector.requests().iter().all(|(path, _)| path == "/v1/traces"));
}

#[tokio::test]
async fn a_grpc_port_ends_the_program_unless_the_fallback_is_on() {
    let server = ApiServer::start().await;
    let program = || Program::once(&server).flag("--otel-collector-endpoint", "c:4317");
    let reason = "--otel-collector-endpoint: port 4317 takes gRPC; evenkeel sends OTLP over HTTP, \
                  use the collector's HTTP port, usually 4318";
    let exit = program().run().await;
    assert_eq!(exit.code, Some(2), "{}", exit.log);
    assert!(exit.log.contains(reason), "{}", exit.log);
    assert!(server.evicted().is_empty());
    let exit = program().flag("--otel-fallback-no-op-on-error", "true").run().await;
    assert_only_warning(&server, &exit, reason);
}

#[tokio::test]
async fn the_environment_variables_of_opentelemetry_are_respected() {
    let (server, collector) = servers(Response::Success).await;
    let exit = Program::once(&server)
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url())
        .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc,x-tenant=shop")
        .env("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test,service.name=keel")
        .env("RUST_LOG", "warn")
        .run()
        .await;
    assert_eq!((exit.code, exit.log.as_str()), (Some(0), ""));
    assert_eq!(collector.trees("cycle"), CYCLE, "the log level does not change the trace");
    for (path, headers) in collector.requests() {
        assert_eq!(path, "/v1/traces");
        assert_eq!(
            headers["authorization"].to_str().unwrap().to_owned()
                + " "
                + headers["x-tenant"].to_str().unwrap(),
            "Bearer abc shop"
        );
        assert_eq!(headers["content-type"], "application/x-protobuf");
    }
    let resource = collector.resource();
    let attributes =
        ["service.name", "service.version", "service.instance.id", "deployment.environment"]
            .map(|key| &resource[key]);
    assert_eq!(attributes, ["keel", env!("CARGO_PKG_VERSION"), "keel-0", "test"]);
}

#[tokio::test]
async fn no_endpoint_or_a_share_of_zero_sends_nothing() {
    let (server, collector) = servers(Response::Success).await;
    assert_eq!(
        Program::once(&server).env("OTEL_EXPORTER_OTLP_ENDPOINT", "").run().await.code,
        Some(0)
    );
    let none = Program::traced(&server, &collector.url()).flag("--otlp-sample-ratio", "0");
    assert_eq!(none.run().await.code, Some(0));
    assert_eq!(server.evicted().len(), 4);
    assert!(collector.requests().is_empty());
}

#[tokio::test]
async fn log_lines_are_the_same_with_traces_and_without() {
    let collector = Collector::start(Response::Success).await;
    for format in ["text", "json"] {
        let mut logs = Vec::new();
        for url in ["", &collector.url()] {
            let server = ApiServer::start().await;
            let exit = Program::traced(&server, url).format(format).run().await;
            logs.push(without_times(&exit.log));
        }
        assert_eq!(logs[0].lines().count(), 8, "{}", logs[0]);
        assert_eq!(logs[0], logs[1]);
        assert!(!logs[1].contains("span") && !logs[1].contains("k8s."), "{}", logs[1]);
    }
}

#[tokio::test]
async fn an_unreachable_collector_costs_only_a_warning() {
    let server = ApiServer::start().await;
    let exit = Program::traced(&server, "http://127.0.0.1:1").run().await;
    assert_only_warning(&server, &exit, "traces are lost: cannot connect: ");
    let warning = warnings(&exit)[0];
    assert!(warning.contains(r#""collector":"http://127.0.0.1:1/v1/traces""#), "{warning}");
}

#[tokio::test]
async fn a_grpc_response_is_reported_with_the_http_port() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut peer, _) = listener.accept().await.unwrap();
            // The SETTINGS frame with which an HTTP/2 server starts.
            peer.write_all(b"\0\0\0\x04\0\0\0\0\0").await.unwrap();
            // Ends when the peer closes the connection.
            let _ = peer.read_to_end(&mut Vec::new()).await;
        }
    });
    let server = ApiServer::start().await;
    let program = Program::traced(&server, &format!("http://{address}"));
    let hint = "; if this port takes gRPC, use the collector's HTTP port, usually 4318";
    assert_only_warning(&server, &program.run().await, hint);
}

#[tokio::test]
async fn a_refusal_is_a_warning_without_the_password() {
    let (server, collector) = servers(Response::Status(401)).await;
    let secret = "http://me:secret@".to_owned() + collector.url().trim_start_matches("http://");
    let exit = Program::traced(&server, &secret).run().await;
    assert_only_warning(
        &server,
        &exit,
        "HTTP status 401: Unauthorized; set the token in OTEL_EXPORTER_OTLP_HEADERS",
    );
    assert!(!exit.log.contains("secret"), "{}", exit.log);
    let (_, headers) = &collector.requests()[0];
    assert_eq!(headers["authorization"], "Basic bWU6c2VjcmV0");
}

#[tokio::test]
async fn rejected_spans_are_a_warning_with_the_reason() {
    let (server, collector) = servers(Response::PartialSuccess).await;
    let exit = Program::traced(&server, &collector.url()).run().await;
    assert_only_warning(&server, &exit, "traces are lost: 1 spans rejected: quota exceeded");
    assert_eq!(collector.trees("cycle"), CYCLE);
}

#[tokio::test]
async fn a_hanging_collector_delays_neither_the_cycle_nor_the_end() {
    let (server, collector) = servers(Response::Hang).await;
    // The test's own timeout is far shorter than these five minutes.
    let program = Program::traced(&server, &collector.url()).flag("--otlp-timeout", "5m");
    assert_only_warning(&server, &program.run().await, "traces are lost: no response within 4 s");
}

#[tokio::test]
async fn an_outage_and_its_end_are_each_logged_once() {
    let (server, collector) = servers(Response::Status(503)).await;
    let program = Program::daemon(&server)
        .flag("--otlp-endpoint", &collector.url())
        .flag("--otlp-timeout", "100");
    let mut running = program.start();
    let mut log = String::new();
    while collector.requests().len() < 5 {
        log += &running.logs(r#""message":"cycle: "#).await;
    }
    collector.respond(Response::Success);
    log += &running.logs("takes traces again").await;
    log += &running.logs(r#""message":"cycle: "#).await;
    let exit = running.stop().await;
    log += &exit.log;
    assert_eq!(exit.code, Some(0), "{log}");
    let count = |words: &str| log.lines().filter(|line| line.contains(words)).count();
    assert_eq!(count("HTTP status 503: Service Unavailable"), 1, "{log}");
    assert_eq!(count("takes traces again; "), 1, "{log}");
    assert!(collector.trees("cycle").contains("evenkeel.outcome="), "{}", collector.trees(""));
}

#[tokio::test]
async fn a_private_authority_is_trusted_by_its_ca_file() {
    let (url, collector, ca_file) = tls::start().await;
    let (server, file) = (ApiServer::start().await, ca_file.path());
    let exit = Program::traced(&server, &url).flag("--otlp-ca-file", file).run().await;
    assert_no_warning(&exit);
    assert_eq!(collector.trees("cycle"), CYCLE);

    let descheduler = Program::once(&server)
        .flag("--otel-collector-endpoint", url.trim_start_matches("https://"));
    let exit = descheduler.flag("--otel-transport-ca-cert", file).run().await;
    assert_no_warning(&exit);
    assert_eq!(collector.trees("cycle"), CYCLE.repeat(2));

    let server = ApiServer::start().await;
    let without_ca = Program::traced(&server, &url).run().await;
    let said = "TLS error: the collector's certificate has an unknown issuer, set --otlp-ca-file: ";
    assert_only_warning(&server, &without_ca, said);
}

#[tokio::test]
async fn a_missing_ca_file_ends_the_program_unless_the_fallback_is_on() {
    let server = ApiServer::start().await;
    let program = || {
        Program::once(&server)
            .flag("--otel-collector-endpoint", "c:4318")
            .flag("--otel-transport-ca-cert", "/nowhere/ca.crt")
    };
    let exit = program().run().await;
    let reason = "cannot use CA file /nowhere/ca.crt: No such file or directory";
    assert_eq!(exit.code, Some(2), "{}", exit.log);
    let prefix = "evenkeel: traces to https://c:4318/v1/traces: ";
    assert!(exit.log.starts_with(prefix), "{}", exit.log);
    assert!(exit.log.contains(reason), "{}", exit.log);
    assert!(server.evicted().is_empty());
    let exit = program().flag("--otel-fallback-no-op-on-error", "true").run().await;
    assert_only_warning(
        &server,
        &exit,
        &format!("traces disabled: traces to https://c:4318/v1/traces: {reason}"),
    );
}
