//! Traces: the program against a played API server and a played collector.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use self::collector::{Answer, Collector};
use self::program::{Ended, Program};
use self::server::Server;

mod collector;
mod program;
mod server;
mod tls;

/// Three pods restarted too often: one goes, one has a budget that is used up, and one is the last that is Ready.
const CYCLE: &str = "\
cycle evenkeel.strategies=1 evenkeel.dry_run=false evenkeel.outcome=acted evenkeel.moves=2 evenkeel.evicted=1 evenkeel.kept=1
  settle
  decide
  save
    create http.method=POST http.url=/api/v1/namespaces/kube-system/configmaps? http.status_code=201
  act evenkeel.moves=2
    evict k8s.namespace.name=shop k8s.pod.name=web-1 k8s.pod.uid=uid-web-1 k8s.node.name=n1 \
evenkeel.strategy=RemovePodsHavingTooManyRestarts evenkeel.reason=restarted 200 times, and the limit is 100 \
http.response.status_code=201 evenkeel.outcome=evicted
      create_subresource http.method=POST http.url=/api/v1/namespaces/shop/pods/web-1/eviction? http.status_code=201
    create http.method=POST http.url=/apis/events.k8s.io/v1/namespaces/shop/events? http.status_code=201
    evict k8s.namespace.name=shop k8s.pod.name=web-2 k8s.pod.uid=uid-web-2 k8s.node.name=n1 \
evenkeel.strategy=RemovePodsHavingTooManyRestarts evenkeel.reason=restarted 200 times, and the limit is 100 \
http.response.status_code=429 evenkeel.outcome=refused error.type=refused \
ERROR refused by the API server: the budget allows no more
      create_subresource http.method=POST http.url=/api/v1/namespaces/shop/pods/web-2/eviction? http.status_code=429 ERROR
  save
    replace http.method=PUT http.url=/api/v1/namespaces/kube-system/configmaps/evenkeel-ledger? http.status_code=201
";

const POLL: &str = "\
observe evenkeel.source=metricsApi evenkeel.nodes=2 evenkeel.pods=0 evenkeel.skipped=0
  HTTP http.method=GET http.url=/apis/metrics.k8s.io/v1beta1/nodes http.status_code=200
  HTTP http.method=GET http.url=/apis/metrics.k8s.io/v1beta1/pods http.status_code=200
";

/// The lines of a log without what is never twice the same.
fn timeless(log: &str) -> String {
    let words = |line: &str| {
        let kept = line
            .split([' ', ','])
            .filter(|word| !word.contains("2026-") && !word.contains("took_ms"));
        kept.collect::<Vec<_>>().join(" ")
    };
    log.lines().map(words).collect::<Vec<_>>().join("\n")
}

fn warnings(ended: &Ended) -> Vec<&str> {
    ended
        .log
        .lines()
        .filter(|line| line.contains(r#""level":"WARN""#))
        .collect()
}

/// That a cycle has done all that it does without a collector, with this one warning.
fn assert_unharmed(server: &Server, ended: &Ended, warning: &str) {
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    assert_eq!(server.evicted(), ["web-1", "web-2"], "{}", ended.log);
    assert!(
        ended
            .log
            .contains(r#""message":"cycle: 1 of 2 pods evicted""#),
        "{}",
        ended.log
    );
    let warnings = warnings(ended);
    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    assert!(warnings[0].contains(warning), "{}", warnings[0]);
}

#[tokio::test]
async fn a_cycle_is_a_tree_down_to_each_eviction_and_a_poll_is_one_of_its_own() {
    let (server, collector) = (Server::start().await, Collector::start(Answer::Good).await);
    let ended = Program::once(&server)
        .flag("--otlp-endpoint", &collector.url())
        .run()
        .await;
    assert_eq!(
        (ended.code, warnings(&ended).len()),
        (Some(0), 0),
        "{}",
        ended.log
    );
    assert_eq!(collector.trees("cycle"), CYCLE);
    assert_eq!(collector.trees("observe"), POLL);
    assert_eq!(
        collector.trees(""),
        format!("{POLL}{CYCLE}"),
        "and nothing else, no watch above all"
    );
    assert_eq!(collector.orphans(), 0);
}

#[tokio::test]
async fn the_flags_of_descheduler_speak_grpc() {
    let (server, collector) = (Server::start().await, Collector::start(Answer::Good).await);
    let ended = Program::once(&server)
        .flag(
            "--otel-collector-endpoint",
            collector.url().trim_start_matches("http://"),
        )
        .flag("--otel-service-name", "descheduler")
        .flag("--otel-trace-namespace", "kube-system")
        .flag("--otel-sample-rate", "1.0")
        .run()
        .await;
    assert_eq!(
        (ended.code, warnings(&ended).len()),
        (Some(0), 0),
        "{}",
        ended.log
    );
    assert_eq!(collector.trees(""), format!("{POLL}{CYCLE}"));
    let who = collector.resource();
    assert_eq!(
        (
            who["service.name"].as_str(),
            who["service.namespace"].as_str()
        ),
        ("descheduler", "kube-system")
    );
    for (path, headers) in collector.requests() {
        assert_eq!(
            path,
            "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
        );
        assert_eq!(headers["te"], "trailers");
    }
}

#[tokio::test]
async fn the_environment_of_opentelemetry_is_heeded() {
    let (server, collector) = (Server::start().await, Collector::start(Answer::Good).await);
    let ended = Program::once(&server)
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url())
        .env(
            "OTEL_EXPORTER_OTLP_HEADERS",
            "authorization=Bearer%20abc,x-tenant=shop",
        )
        .env(
            "OTEL_RESOURCE_ATTRIBUTES",
            "deployment.environment=test,service.name=keel",
        )
        .env("RUST_LOG", "warn")
        .run()
        .await;
    assert_eq!((ended.code, ended.log.as_str()), (Some(0), ""));
    assert_eq!(
        collector.trees("cycle"),
        CYCLE,
        "a quiet log is no reason for a trace with holes"
    );
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
    let who = collector.resource();
    let told = [
        "service.name",
        "service.version",
        "service.instance.id",
        "deployment.environment",
    ]
    .map(|k| &who[k]);
    assert_eq!(told, ["keel", env!("CARGO_PKG_VERSION"), "keel-0", "test"]);
}

#[tokio::test]
async fn without_an_endpoint_or_with_a_share_of_nothing_nothing_is_sent() {
    let (server, collector) = (Server::start().await, Collector::start(Answer::Good).await);
    assert_eq!(
        Program::once(&server)
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", "")
            .run()
            .await
            .code,
        Some(0)
    );
    let none = Program::once(&server)
        .flag("--otlp-endpoint", &collector.url())
        .flag("--otlp-sample-ratio", "0");
    assert_eq!(none.run().await.code, Some(0));
    assert_eq!(server.evicted().len(), 4);
    assert!(collector.requests().is_empty());
}

#[tokio::test]
async fn log_lines_are_the_same_with_traces_and_without() {
    let collector = Collector::start(Answer::Good).await;
    for format in ["text", "json"] {
        let mut logs = Vec::new();
        for url in ["", &collector.url()] {
            let server = Server::start().await;
            let ended = Program::once(&server)
                .format(format)
                .flag("--otlp-endpoint", url)
                .run()
                .await;
            logs.push(timeless(&ended.log));
        }
        assert_eq!(logs[0].lines().count(), 5, "{}", logs[0]);
        assert_eq!(logs[0], logs[1]);
        assert!(
            !logs[1].contains("span") && !logs[1].contains("k8s."),
            "{}",
            logs[1]
        );
    }
}

#[tokio::test]
async fn a_collector_that_is_away_harms_nothing() {
    for (flag, place, said) in [
        (
            "--otlp-endpoint",
            "http://127.0.0.1:1",
            "the collector http://127.0.0.1:1/v1/traces does not take them",
        ),
        (
            "--otel-collector-endpoint",
            "127.0.0.1:1",
            "the collector http://127.0.0.1:1 does not take them; all else goes on: it cannot be reached: ",
        ),
    ] {
        let server = Server::start().await;
        let ended = Program::once(&server).flag(flag, place).run().await;
        assert_unharmed(&server, &ended, said);
    }
}

/// Somebody who says this to whoever calls, and the flag by which it is called.
async fn spoken_to_by(flag: &str, greeting: &'static [u8]) -> (Server, Ended) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut caller, _) = listener.accept().await.unwrap();
            caller.write_all(greeting).await.unwrap();
            // Until it hangs up.
            let _ = caller.read_to_end(&mut Vec::new()).await;
        }
    });
    let server = Server::start().await;
    let ended = Program::once(&server)
        .flag(flag, &format!("http://{address}"))
        .run()
        .await;
    (server, ended)
}

#[tokio::test]
async fn the_wrong_protocol_is_told_with_the_right_one() {
    let (server, ended) = spoken_to_by("--otlp-endpoint", b"\0\0\0\x04\0\0\0\0\0").await;
    assert_unharmed(
        &server,
        &ended,
        "; if it speaks gRPC there, say --otlp-protocol grpc",
    );
    let (server, ended) = spoken_to_by(
        "--otel-collector-endpoint",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    )
    .await;
    let said = "; if it does not speak gRPC there, say --otlp-endpoint and its port for HTTP, such as 4318";
    assert_unharmed(&server, &ended, said);
}

#[tokio::test]
async fn a_collector_that_refuses_harms_nothing_and_hears_no_more_of_it() {
    let (server, collector) = (
        Server::start().await,
        Collector::start(Answer::Status(401)).await,
    );
    let secret = "http://me:secret@".to_owned() + collector.url().trim_start_matches("http://");
    let ended = Program::once(&server)
        .flag("--otlp-endpoint", &secret)
        .run()
        .await;
    assert_unharmed(
        &server,
        &ended,
        "it refuses them with 401: Unauthorized; OTEL_EXPORTER_OTLP_HEADERS is the place for a token",
    );
    assert!(!ended.log.contains("secret"), "{}", ended.log);
}

#[tokio::test]
async fn a_collector_that_hangs_is_not_waited_for() {
    for flag in ["--otlp-endpoint", "--otel-collector-endpoint"] {
        let (server, collector) = (
            Server::start().await,
            Collector::start(Answer::Silence).await,
        );
        // The program is given up on long before these five minutes are over.
        let program = Program::once(&server)
            .flag(flag, &collector.url())
            .flag("--otlp-timeout", "5m");
        assert_unharmed(
            &server,
            &program.run().await,
            "all else goes on: no answer within 4 s",
        );
    }
}

#[tokio::test]
async fn an_outage_is_told_once_and_so_is_its_end() {
    let (server, collector) = (
        Server::start().await,
        Collector::start(Answer::Status(503)).await,
    );
    let program = Program::daemon(&server)
        .flag("--otlp-endpoint", &collector.url())
        .flag("--otlp-timeout", "100");
    let mut running = program.start();
    let mut log = String::new();
    while collector.requests().len() < 5 {
        log += &running.says(r#""message":"cycle: "#).await;
    }
    collector.answers(Answer::Good);
    log += &running.says("takes spans again").await;
    log += &running.says(r#""message":"cycle: "#).await;
    let ended = running.stop().await;
    log += &ended.log;
    assert_eq!(ended.code, Some(0), "{log}");
    let told = |words: &str| log.lines().filter(|line| line.contains(words)).count();
    assert_eq!(
        told("it refuses them with 503: Service Unavailable"),
        1,
        "{log}"
    );
    assert_eq!(told("takes spans again; "), 1, "{log}");
    assert!(
        collector.trees("cycle").contains("evenkeel.outcome="),
        "{}",
        collector.trees("")
    );
}

#[tokio::test]
async fn an_authority_of_its_own_is_trusted_where_its_file_is_given() {
    let (url, collector, authority) = tls::start().await;
    let (server, file) = (Server::start().await, authority.path());
    let ended = Program::once(&server)
        .flag("--otlp-endpoint", &url)
        .flag("--otlp-ca-file", file)
        .run()
        .await;
    assert_eq!(
        (ended.code, warnings(&ended).len()),
        (Some(0), 0),
        "{}",
        ended.log
    );
    assert_eq!(collector.trees("cycle"), CYCLE);

    let theirs = Program::once(&server).flag(
        "--otel-collector-endpoint",
        url.trim_start_matches("https://"),
    );
    let ended = theirs.flag("--otel-transport-ca-cert", file).run().await;
    assert_eq!(
        (ended.code, warnings(&ended).len()),
        (Some(0), 0),
        "{}",
        ended.log
    );
    assert_eq!(collector.trees("cycle"), CYCLE.repeat(2));

    let server = Server::start().await;
    let stranger = Program::once(&server)
        .flag("--otlp-endpoint", &url)
        .run()
        .await;
    let said = "it has a certificate of an authority that is not trusted; give that authority's by --otlp-ca-file: ";
    assert_unharmed(&server, &stranger, said);
}

#[tokio::test]
async fn what_cannot_be_set_up_ends_the_program_unless_it_is_told_to_go_on() {
    let server = Server::start().await;
    let broken = || {
        let it = Program::once(&server).flag("--otel-collector-endpoint", "c:4317");
        it.flag("--otel-transport-ca-cert", "/nowhere/ca.crt")
    };
    let ended = broken().run().await;
    let said = "cannot use /nowhere/ca.crt, the file of the authorities to trust: No such file or directory";
    assert_eq!(ended.code, Some(2), "{}", ended.log);
    assert!(
        ended
            .log
            .starts_with("evenkeel: traces for https://c:4317: "),
        "{}",
        ended.log
    );
    assert!(ended.log.contains(said), "{}", ended.log);
    assert!(server.evicted().is_empty());
    let ended = broken()
        .flag("--otel-fallback-no-op-on-error", "true")
        .run()
        .await;
    assert_unharmed(
        &server,
        &ended,
        &format!("no traces are sent: traces for https://c:4317: {said}"),
    );
}
