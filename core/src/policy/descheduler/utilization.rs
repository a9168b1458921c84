//! Low- and HighNodeUtilization in the form of descheduler, and its sources of usage.

use jiff::SignedDuration;

use super::super::node_utilization::{emptying, high_defaults, only_pool};
use super::super::{Basis, HighNodeUtilization, LowNodeUtilization, Names, Rule};
use super::text;
use crate::schema::problem::Code;
use crate::schema::read::Fields;
use crate::schema::section::Section;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MetricsSource {
    Metrics,
    Prometheus,
}

/// A query of descheduler returns a share of each node. It names no resource, so the share of a pod
/// is unknown.
const RATIO: &str = "a query for one ratio per node does not show what moving a pod would change; \
    use KubernetesMetrics, or a native policy with `usage: \
    {source: prometheus, prometheus: {url: …}}` and thresholds for cpu and memory";

const SOURCES: [(&str, MetricsSource); 2] =
    [("KubernetesMetrics", MetricsSource::Metrics), ("Prometheus", MetricsSource::Prometheus)];

/// Reads the sources that a policy provides.
pub(super) fn sources(f: &mut Fields<'_, '_>) -> Vec<MetricsSource> {
    let collector =
        f.field("metricsCollector").section(|f| f.field("enabled").bool().unwrap_or(false));
    if collector {
        let sentence = "deprecated but still in effect; descheduler has replaced this by metricsProviders: [{source: KubernetesMetrics}]";
        f.warn(Code::Deprecated, "metricsCollector", sentence);
    }
    let mut found: Vec<MetricsSource> = Vec::new();
    f.field("metricsProviders").list("metrics providers", |item| {
        item.section(|f| {
            let source = f.required("source", "KubernetesMetrics or Prometheus").one_of(&SOURCES);
            let url = f.field("prometheus").section(prometheus);
            if source == Some(MetricsSource::Prometheus) && url.is_none() && f.sound() {
                f.complain(
                    Code::MissingField,
                    "prometheus",
                    "missing, expected the url of Prometheus",
                );
            }
            if source.is_some_and(|s| found.contains(&s)) {
                f.complain(Code::RepeatedField, "source", "this source is repeated");
            }
            found.extend(source);
            source
        })
    });
    if collector && found.contains(&MetricsSource::Metrics) {
        let sentence = "metricsCollector and the provider KubernetesMetrics exclude each other; \
            keep the provider";
        f.complain(Code::Conflict, "metricsCollector", sentence);
    }
    if found.contains(&MetricsSource::Prometheus) {
        f.warn(
            Code::Ignored,
            "metricsProviders",
            "no effect: this Prometheus is not queried; a native policy can, with usage.prometheus",
        );
    }
    found.extend(collector.then_some(MetricsSource::Metrics));
    found
}

/// The url of a Prometheus, and the reference to its token.
fn prometheus(f: &mut Fields<'_, '_>) -> Option<String> {
    let url = f.field("url").name();
    let token = f.field("authToken").section(|f| {
        f.field("secretReference").section(|f| (text(f.field("namespace")), text(f.field("name"))))
    });
    if f.has("authToken") && (token.0.is_none() || token.1.is_none()) {
        f.complain(
            Code::MissingField,
            "authToken",
            "secretReference needs both a namespace and a name",
        );
    }
    if url.as_deref().is_some_and(|u| !is_url(u)) {
        f.complain(Code::WrongType, "url", "not a url, such as http://prometheus.monitoring:9090");
    }
    url
}

fn is_url(text: &str) -> bool {
    let uri = text.parse::<http::Uri>();
    uri.is_ok_and(|uri| uri.scheme().is_some() && uri.host().is_some())
}

/// LowNodeUtilization. Its namespaces may come from elsewhere.
pub(super) fn low(
    f: &mut Fields<'_, '_>,
    basis: Basis,
    evictable_namespaces: Names,
) -> LowNodeUtilization {
    let deviation = f.field("useDeviationThresholds").bool().unwrap_or(false);
    LowNodeUtilization {
        basis,
        pools: only_pool(f, deviation),
        deviation,
        number_of_nodes: Some(f.field("numberOfNodes").whole(0).unwrap_or(0)),
        sustained_for: SignedDuration::ZERO,
        evictable_namespaces,
        per_node: None,
    }
}

/// LowNodeUtilization with all fields of v1alpha2.
pub(super) fn low_v1alpha2(f: &mut Fields<'_, '_>, sources: &[MetricsSource]) -> Rule {
    let basis = basis(f, sources);
    let namespaces = evictable_namespaces(f, "evictableNamespaces");
    let per_node = f.field("evictionLimits").section(|f| f.field("node").whole(0));
    Rule::LowNodeUtilization(LowNodeUtilization { per_node, ..low(f, basis, namespaces) })
}

/// HighNodeUtilization, which compares requests only.
pub(super) fn high(f: &mut Fields<'_, '_>, evictable_namespaces: Names) -> Rule {
    let rule = emptying(Section::new(high_defaults(Basis::Requests))).read(f);
    Rule::HighNodeUtilization(HighNodeUtilization { evictable_namespaces, ..rule })
}

/// Namespaces that are left alone; descheduler can only exclude.
pub(super) fn evictable_namespaces(f: &mut Fields<'_, '_>, field: &'static str) -> Names {
    let names = f.field(field).names_in_or_out().unwrap_or(Names::ALL);
    if matches!(names, Names::Only(_)) {
        f.complain(Code::Conflict, field, "only `exclude` is possible here");
    }
    names
}

fn basis(f: &mut Fields<'_, '_>, sources: &[MetricsSource]) -> Basis {
    if !f.has("metricsUtilization") {
        f.field("metricsUtilization");
        return Basis::Requests;
    }
    let (server, source, query) = f.field("metricsUtilization").section(|f| {
        let server = f.field("metricsServer").bool().unwrap_or(false);
        let source = f.field("source").one_of(&SOURCES);
        let query = f.field("prometheus").section(|f| f.field("query").name());
        if server && f.has("source") {
            f.complain(
                Code::Conflict,
                "metricsServer",
                "metricsServer and source exclude each other; keep source",
            );
        } else if server {
            f.warn(
                Code::Deprecated,
                "metricsServer",
                "deprecated but still in effect; descheduler has replaced this by `source`",
            );
        } else if !f.has("source") {
            f.complain(Code::MissingField, "source", "missing, expected KubernetesMetrics");
        }
        if source == Some(MetricsSource::Metrics) && f.has("prometheus") {
            f.complain(Code::Conflict, "prometheus", "this is only for the source Prometheus");
        }
        (server, source, query)
    });
    if source == Some(MetricsSource::Prometheus) {
        let sentence =
            if query.is_none() { "missing, expected a query for Prometheus; and " } else { "" };
        f.complain(Code::Unsupported, "metricsUtilization", format!("{sentence}{RATIO}"));
    } else if (server || source.is_some()) && !sources.contains(&MetricsSource::Metrics) {
        let sentence =
            "this needs `metricsProviders: [{source: KubernetesMetrics}]` at the top of the policy";
        f.complain(Code::Conflict, "metricsUtilization", sentence);
    }
    Basis::Actual
}
