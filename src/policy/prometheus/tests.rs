//! What a policy may say of Prometheus, and what it is told when it says something else.

use insta::assert_snapshot;
use jiff::SignedDuration;

use super::super::{Login, Policy, Prometheus, Queries, SourceKind};

fn parse(usage: &str) -> Result<Policy, String> {
    let text = format!(
        "apiVersion: evenkeel/v1alpha1\nkind: Policy\nusage: {usage}\nstrategies: [{{lowNodeUtilization: {{thresholds: \
         {{cpu: 1%}}, targetThresholds: {{cpu: 2%}}}}}}]\n"
    );
    Policy::parse("policy.yaml", &text).map_err(|e| e.to_string())
}

fn prometheus(fields: &str) -> Prometheus {
    let usage = format!("{{source: prometheus, prometheus: {{url: 'http://p:9090', {fields}}}}}");
    parse(&usage)
        .unwrap_or_else(|e| panic!("{e}"))
        .usage
        .prometheus
        .unwrap()
}

/// The first line of what is wrong.
fn refused(usage: &str) -> String {
    parse(usage)
        .unwrap_err()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

fn refused_field(field: &str) -> String {
    let text = refused(&format!(
        "{{source: prometheus, prometheus: {{url: 'http://p', {field}}}}}"
    ));
    text.split_once(": ")
        .map(|(_, said)| said.to_owned())
        .unwrap_or(text)
}

const ALL: &str = r#"{source: prometheus, fallback: metricsApi, prometheus: {url: "https://p.example/tenant/", scrapeInterval: 15s,
    averagedOver: 1m, matchers: 'cluster="a"', nodeLabels: [instance], timeout: 3s, retries: 0, caFile: /ca,
    clientCertificateFile: /crt, clientKeyFile: /key, basicAuth: {username: me, passwordFile: /word},
    headers: {X-Scope-OrgID: "a|b"}, queries: {nodeCpu: 'sum(x{$matchers}[$range])', nodeMemory: m, nodeTime: none, podCpu: c, podMemory: n, podTime: t}}}"#;

#[test]
fn where_it_is_suffices() {
    let it = prometheus("");
    assert_eq!(
        (it.url.as_str(), it.scrape_interval),
        ("http://p:9090", SignedDuration::from_secs(30))
    );
    assert_eq!(
        (it.queries, it.averaged_over),
        (Queries::default(), SignedDuration::from_secs(30))
    );
    assert_eq!(
        parse("{source: metricsApi}").unwrap().usage.prometheus,
        None
    );
}

#[test]
fn what_is_written_is_what_is_meant_and_is_written_again_alike() {
    let policy = parse(ALL).unwrap();
    let it = policy.usage.prometheus.clone().unwrap();
    assert_eq!(
        (policy.usage.source, policy.usage.fallback),
        (SourceKind::Prometheus, Some(SourceKind::MetricsApi))
    );
    assert_eq!(it.url, "https://p.example/tenant");
    assert_eq!(
        it.login,
        Some(Login::Basic {
            username: "me".into(),
            password_file: "/word".into()
        })
    );
    assert_eq!(it.headers, [("X-Scope-OrgID".to_owned(), "a|b".to_owned())]);
    assert_eq!(
        (
            it.queries.node_time.as_deref(),
            it.queries.pod_time.as_deref()
        ),
        (None, Some("t"))
    );
    assert_eq!(
        it.rendered(&it.queries.node_cpu),
        r#"sum(x{cluster="a"}[60s])"#
    );
    for text in [
        ALL,
        "{source: prometheus, prometheus: {url: 'http://p', bearerTokenFile: /token}}",
    ] {
        let policy = parse(text).unwrap();
        let again = Policy::parse("again.yaml", &policy.to_native());
        assert_eq!(
            again.unwrap_or_else(|e| panic!("{e}")).usage,
            policy.usage,
            "{}",
            policy.to_native()
        );
    }
}

#[test]
fn default_queries_hold_nothing_that_is_not_put_in() {
    let it = prometheus("");
    let Queries {
        node_cpu,
        node_memory,
        node_time,
        pod_cpu,
        pod_memory,
        pod_time,
    } = &it.queries;
    for query in [node_cpu, node_memory, pod_cpu, pod_memory]
        .into_iter()
        .chain(node_time)
        .chain(pod_time)
    {
        assert!(!it.rendered(query).contains('$'), "{query}");
    }
}

#[test]
fn a_source_that_is_named_is_described_and_one_that_is_described_is_named() {
    assert_snapshot!(refused("{source: prometheus}"), @r#"policy.yaml:3:1: usage.prometheus: missing, expected where Prometheus is: `prometheus: {url: "http://prometheus.monitoring:9090"}`"#);
    assert_snapshot!(refused("{fallback: prometheus, prometheus: {timeout: 1s}}"), @r#"policy.yaml:3:31: usage.prometheus: missing, expected where Prometheus is: `prometheus: {url: "http://prometheus.monitoring:9090"}`"#);
    assert_snapshot!(refused("{prometheus: {url: 'http://p'}}"), @"policy.yaml:3:9: usage.prometheus: nothing asks for this; write `source: prometheus` or `fallback: prometheus` beside it");
    assert_snapshot!(refused("{source: metricsApi, fallback: metricsApi}"), @"policy.yaml:3:29: usage.fallback: this is the source already; name the other one, or leave the field out");
    assert_snapshot!(refused("{source: graphite}"), @"policy.yaml:3:17: usage.source: found graphite, expected metricsApi or prometheus");
}

#[test]
fn a_url_is_one_that_can_be_asked() {
    let said = |url: &str| {
        let text = refused(&format!(
            "{{source: prometheus, prometheus: {{url: '{url}'}}}}"
        ));
        text.split_once("url: ")
            .map(|(_, said)| said.to_owned())
            .unwrap_or(text)
    };
    for url in ["prometheus:9090", "ftp://p", "http://", "/p", "http://p p"] {
        assert!(said(url).contains("not a url"), "{url}: {}", said(url));
    }
    assert_snapshot!(said("https://me:word@p"), @"a password does not belong into a policy; write basicAuth with a passwordFile");
    assert_snapshot!(said("http://p/?x=y"), @"this is to end before the `?`: what is asked is added to it");
}

#[test]
fn secrets_are_files_and_go_together_or_not() {
    assert_snapshot!(refused_field("bearerTokenFile: /t, basicAuth: {username: a, passwordFile: /p}"), @"usage.prometheus.basicAuth: basicAuth and bearerTokenFile do not go together; keep one of them");
    assert_snapshot!(refused_field("basicAuth: {username: a}"), @"usage.prometheus.basicAuth.passwordFile: missing; basicAuth needs both username and passwordFile");
    assert_snapshot!(refused_field("clientKeyFile: /k"), @"usage.prometheus.clientCertificateFile: missing, for clientKeyFile needs it");
    assert_snapshot!(refused_field("headers: {authorization: x}"), @"usage.prometheus.headers.authorization: a secret does not belong into a policy; write bearerTokenFile or basicAuth");
    assert_snapshot!(refused_field("headers: {'a b': x}"), @r#"usage.prometheus.headers["a b"]: not the name of a header"#);
}

#[test]
fn other_fields_say_what_they_take() {
    assert_snapshot!(refused_field("matchers: '{a=\"b\"}'"), @r#"usage.prometheus.matchers: label matchers without braces, such as cluster="prod""#);
    assert_snapshot!(refused_field("nodeLabels: []"), @"usage.prometheus.nodeLabels: no label is named; name one, or leave the field out");
    assert_snapshot!(refused_field("queries: {nodeCPU: x}"), @"usage.prometheus.queries.nodeCPU: unknown field (did you mean `nodeCpu`?); allowed here: nodeCpu, nodeMemory, nodeTime, podCpu, podMemory, podTime");
    assert_snapshot!(refused_field("scrapeInterval: 2m"), @"usage.prometheus: prometheus.scrapeInterval is 2m, but must be at most staleAfter, which is 1m 30s by default");
}
