//! Reading `usage.prometheus`, and the messages for its problems.

use insta::assert_snapshot;
use jiff::SignedDuration;

use super::super::{Login, Policy, PrometheusPolicy, Queries, SourceKind};

fn parse(usage: &str) -> Result<Policy, String> {
    let text = format!(
        "apiVersion: evenkeel/v1alpha1\nkind: Policy\nusage: {usage}\nstrategies: [{{lowNodeUtilization: {{thresholds: {{cpu: 1%}}, targetThresholds: {{cpu: 2%}}}}}}]\n"
    );
    Policy::parse("policy.yaml", &text).map_err(|e| e.to_string())
}

fn prometheus(fields: &str) -> PrometheusPolicy {
    let usage = format!("{{source: prometheus, prometheus: {{url: 'http://p:9090', {fields}}}}}");
    parse(&usage).unwrap_or_else(|e| panic!("{e}")).usage.prometheus.unwrap()
}

/// The first line of the error.
fn refused(usage: &str) -> String {
    parse(usage).unwrap_err().lines().next().unwrap_or_default().to_owned()
}

fn refused_field(field: &str) -> String {
    let text =
        refused(&format!("{{source: prometheus, prometheus: {{url: 'http://p', {field}}}}}"));
    text.split_once(": ").map(|(_, said)| said.to_owned()).unwrap_or(text)
}

const ALL: &str = "{source: prometheus, fallback: metricsApi, prometheus: {url: \"https://p.example/tenant/\", scrapeInterval: 15s,
    averagedOver: 1m, matchers: 'cluster=\"a\"', nodeLabels: [instance], timeout: 3s, retries: 0,
      caFile: /ca,
    clientCertificateFile: /crt, clientKeyFile: /key,
      basicAuth: {username: me, passwordFile: /word},
    headers: {X-Scope-OrgID: \"a|b\"}, queries: {nodeCpu: 'sum(x{$matchers}[$range])', nodeMemory: m, nodeTime: none, podCpu: c, podMemory: n, podTime: t}}}";

#[test]
fn the_url_is_enough() {
    let prometheus = prometheus("");
    assert_eq!(
        (prometheus.url.as_str(), prometheus.scrape_interval),
        ("http://p:9090", SignedDuration::from_secs(30))
    );
    assert_eq!(
        (prometheus.queries, prometheus.averaged_over),
        (Queries::default(), SignedDuration::from_secs(30))
    );
    assert_eq!(parse("{source: metricsApi}").unwrap().usage.prometheus, None);
}

#[test]
fn all_fields_are_read_and_written_back_the_same() {
    let policy = parse(ALL).unwrap();
    let prometheus = policy.usage.prometheus.clone().unwrap();
    assert_eq!(
        (policy.usage.source, policy.usage.fallback),
        (SourceKind::Prometheus, Some(SourceKind::MetricsApi))
    );
    assert_eq!(prometheus.url, "https://p.example/tenant");
    assert_eq!(
        prometheus.login,
        Some(Login::Basic { username: "me".into(), password_file: "/word".into() })
    );
    assert_eq!(prometheus.headers, [("X-Scope-OrgID".to_owned(), "a|b".to_owned())]);
    assert_eq!(
        (prometheus.queries.node_time.as_deref(), prometheus.queries.pod_time.as_deref()),
        (None, Some("t"))
    );
    assert_eq!(prometheus.rendered(&prometheus.queries.node_cpu), r#"sum(x{cluster="a"}[60s])"#);
    for text in
        [ALL, "{source: prometheus, prometheus: {url: 'http://p', bearerTokenFile: /token}}"]
    {
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
fn default_queries_have_all_placeholders_replaced() {
    let prometheus = prometheus("");
    let Queries { node_cpu, node_memory, node_time, pod_cpu, pod_memory, pod_time } =
        &prometheus.queries;
    for query in
        [node_cpu, node_memory, pod_cpu, pod_memory].into_iter().chain(node_time).chain(pod_time)
    {
        assert!(!prometheus.rendered(query).contains('$'), "{query}");
    }
}

#[test]
fn a_prometheus_source_needs_its_section_and_vice_versa() {
    assert_snapshot!(refused("{source: prometheus}"),
        @"policy.yaml:3:1: usage.prometheus: missing, expected the address of Prometheus: \
            `prometheus: {url: \"http://prometheus.monitoring:9090\"}`");
    assert_snapshot!(refused("{fallback: prometheus, prometheus: {timeout: 1s}}"),
        @"policy.yaml:3:31: usage.prometheus: missing, expected the address of Prometheus: \
            `prometheus: {url: \"http://prometheus.monitoring:9090\"}`");
    assert_snapshot!(refused("{prometheus: {url: 'http://p'}}"),
        @"policy.yaml:3:9: usage.prometheus: unused; write `source: prometheus` or `fallback: \
            prometheus` beside it, or guards");
    assert_snapshot!(refused("{source: metricsApi, fallback: metricsApi}"),
        @"policy.yaml:3:29: usage.fallback: this is the source already; name the other one, or remove the field");
    assert_snapshot!(refused("{source: graphite}"),
        @"policy.yaml:3:17: usage.source: found graphite, expected metricsApi or prometheus");
}

#[test]
fn invalid_urls_are_refused() {
    let said = |url: &str| {
        let text = refused(&format!("{{source: prometheus, prometheus: {{url: '{url}'}}}}"));
        text.split_once("url: ").map(|(_, said)| said.to_owned()).unwrap_or(text)
    };
    for url in ["prometheus:9090", "ftp://p", "http://", "/p", "http://p p"] {
        assert!(said(url).contains("not a url"), "{url}: {}", said(url));
    }
    assert_snapshot!(said("https://me:word@p"),
        @"a policy must not contain a password; use basicAuth with a passwordFile");
    assert_snapshot!(said("http://p/?x=y"),
        @"remove everything from the `?` or `#` on: evenkeel adds its own query");
}

#[test]
fn secrets_are_files_and_exclude_each_other() {
    assert_snapshot!(refused_field("bearerTokenFile: /t, basicAuth: {username: a, passwordFile: /p}"),
        @"usage.prometheus.basicAuth: basicAuth and bearerTokenFile exclude each other; keep one of them");
    assert_snapshot!(refused_field("basicAuth: {username: a}"),
        @"usage.prometheus.basicAuth.passwordFile: missing; basicAuth needs both username and passwordFile");
    assert_snapshot!(refused_field("clientKeyFile: /k"),
        @"usage.prometheus.clientCertificateFile: missing; clientKeyFile needs it");
    assert_snapshot!(refused_field("headers: {authorization: x}"),
        @"usage.prometheus.headers.authorization: a policy must not contain a secret; use bearerTokenFile or basicAuth");
    assert_snapshot!(refused_field("headers: {'a b': x}"),
        @r#"usage.prometheus.headers["a b"]: not the name of a header"#);
}

#[test]
fn invalid_values_are_reported_with_the_expected_form() {
    assert_snapshot!(refused_field("matchers: '{a=\"b\"}'"),
        @r#"usage.prometheus.matchers: label matchers without braces, such as cluster="prod""#);
    assert_snapshot!(refused_field("nodeLabels: []"),
        @"usage.prometheus.nodeLabels: no label is named; name one, or remove the field");
    assert_snapshot!(refused_field("queries: {nodeCPU: x}"),
        @"usage.prometheus.queries.nodeCPU: unknown field (did you mean `nodeCpu`?); allowed here: nodeCpu, nodeMemory, nodeTime, podCpu, podMemory, podTime");
    assert_snapshot!(refused_field("scrapeInterval: 2m"),
        @"usage.prometheus: prometheus.scrapeInterval is 2m, but must be at most staleAfter, which is 1m 30s by default");
}

#[test]
fn a_port_is_a_number_from_1_to_65535() {
    let url = |url: &str| {
        let policy = parse(&format!("{{source: prometheus, prometheus: {{url: '{url}'}}}}"));
        policy.map_err(|error| error.lines().next().unwrap_or_default().to_owned())
    };
    for good in ["http://x", "http://x:1", "https://x:65535/a:b", "http://[::1]", "http://[::1]:9"]
    {
        assert!(url(good).is_ok(), "{good}: {:?}", url(good));
    }
    for bad in ["http://x:99999", "http://x:abc", "http://x:", "http://x:0", "http://[::1]:0"] {
        let error = url(bad).unwrap_err();
        assert!(error.contains("not a url"), "{bad}: {error}");
    }
    assert!(url("http://x:0").unwrap_err().contains("a port from 1 to 65535"));
}

#[test]
fn matchers_are_those_of_promql() {
    let matchers = |text: &str| {
        let text = text.replace('\'', "''");
        let usage =
            format!("{{source: prometheus, prometheus: {{url: 'http://p', matchers: '{text}'}}}}");
        parse(&usage).is_ok()
    };
    for good in [
        r#"cluster="prod""#,
        r#"cluster = "prod" , _a1!~"x|y","#,
        r#"a=~'it\'s',b!="",c=`raw\`"#,
        r#"a="quoted \" and, comma=""#,
        r#""utf8.name"="x""#,
    ] {
        assert!(matchers(good), "{good}");
    }
    for bad in [
        "cluster=prod",
        r#"cluster="prod"#,
        "=",
        r#"clu-ster="x""#,
        r#"a="b",,c="d""#,
        r#",a="b""#,
        r#"a="b" c="d""#,
        r#"a=="b""#,
        r#"1a="b""#,
        r#"a="b\""#,
        r#"a"b""#,
        "é=\"b\"é",
    ] {
        assert!(!matchers(bad), "{bad}");
    }
}
