//! The queries that evenkeel sends to Prometheus.

use serde_json::json;

use crate::schema::item::Item;
use crate::schema::kind::{Kind, text};
use crate::schema::read::Spot;
use crate::schema::section::Section;

/// One PromQL query each for all nodes or all pods. `$range` and `$matchers` are replaced before a
/// query is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queries {
    /// Cores in use, by node.
    pub node_cpu: String,
    /// Bytes of working set, by node.
    pub node_memory: String,
    /// When the values of a node were measured, in Unix seconds; with `None`, the time of the
    /// query.
    pub node_time: Option<String>,
    /// Cores in use, by namespace and pod.
    pub pod_cpu: String,
    /// Bytes of working set, by namespace and pod.
    pub pod_memory: String,
    /// When the values of a pod were measured; with `None`, the time of the query.
    pub pod_time: Option<String>,
}

/// The default queries prefer the metrics of the kubelet, then those of cAdvisor, then those of
/// node-exporter: kube-prometheus-stack keeps only these. `or on()` takes the next metric only
/// where the one before has no series at all, so that no node is counted twice. `irate` compares
/// the last two scrapes: it does not lag behind, and it does not report a new pod as idle.
impl Default for Queries {
    fn default() -> Self {
        let one_of = |parts: &[&str]| parts.join(" or on() ");
        // Prometheus renames labels that the scraped target has as well, without `honor_labels`.
        let own = "exported_node, exported_namespace, exported_pod";
        let by = format!("by (cluster, node, instance, namespace, pod, {own})");
        let container = r#"container!="",container!="POD",pod!="",$matchers"#;
        let each = format!("by (cluster, node, instance, namespace, pod, {own}, container)");
        Queries {
            node_cpu: one_of(&[
                "max by (cluster, node, instance) (irate(node_cpu_usage_seconds_total{$matchers}[$range]))",
                "max by (cluster, node, instance) (irate(container_cpu_usage_seconds_total{id=\"/\",$matchers}[$range]))",
                "sum by (cluster, node, instance) (max by (cluster, node, instance, cpu, mode) (irate(node_cpu_seconds_total{mode!~\"idle|iowait|steal|guest|guest_nice\",$matchers}[$range])))",
            ]),
            node_memory: one_of(&[
                "max by (cluster, node, instance) (node_memory_working_set_bytes{$matchers})",
                "max by (cluster, node, instance) (container_memory_working_set_bytes{id=\"/\",$matchers})",
                "max by (cluster, node, instance) (node_memory_MemTotal_bytes{$matchers} - node_memory_MemAvailable_bytes{$matchers})",
            ]),
            node_time: Some(one_of(&[
                "max by (cluster, node, instance) (timestamp(node_cpu_usage_seconds_total{$matchers}))",
                "max by (cluster, node, instance) (timestamp(container_cpu_usage_seconds_total{id=\"/\",$matchers}))",
                "max by (cluster, node, instance) (timestamp(node_memory_MemTotal_bytes{$matchers}))",
            ])),
            pod_cpu: one_of(&[
                &format!("max {by} (irate(pod_cpu_usage_seconds_total{{$matchers}}[$range]))"),
                &format!(
                    "sum {by} (max {each} (irate(container_cpu_usage_seconds_total{{{container}}}[$range])))"
                ),
            ]),
            pod_memory: one_of(&[
                &format!("max {by} (pod_memory_working_set_bytes{{$matchers}})"),
                &format!(
                    "sum {by} (max {each} (container_memory_working_set_bytes{{{container}}}))"
                ),
            ]),
            pod_time: Some(one_of(&[
                &format!("max {by} (timestamp(pod_cpu_usage_seconds_total{{$matchers}}))"),
                &format!("max {by} (timestamp(container_cpu_usage_seconds_total{{{container}}}))"),
            ])),
        }
    }
}

/// Declares `usage.prometheus.queries`.
pub(super) fn queries() -> Section<Queries> {
    of_pods(of_nodes(Section::new(Queries::default())))
}

fn of_nodes(section: Section<Queries>) -> Section<Queries> {
    section
        .field("nodeCpu", text(), |q| &mut q.node_cpu)
        .help("Cores in use, by node.")
        .off(
            "'max by (cluster, node, instance) (irate(node_cpu_usage_seconds_total{$matchers}[$range]))'",
        )
        .field("nodeMemory", text(), |q| &mut q.node_memory)
        .help("Bytes of working set, by node.")
        .off("'max by (cluster, node, instance) (node_memory_working_set_bytes{$matchers})'")
        .field("nodeTime", query_or_none(), |q| &mut q.node_time)
        .help(
            "When the values of a node were measured, in Unix seconds. Stale values are recognised by it. With `none`, all values count as measured at the time of the query, and a value that Prometheus last received five minutes ago counts as fresh.",
        )
        .off(
            "'max by (cluster, node, instance) (timestamp(node_cpu_usage_seconds_total{$matchers}))'",
        )
}

fn of_pods(section: Section<Queries>) -> Section<Queries> {
    section
        .field("podCpu", text(), |q| &mut q.pod_cpu)
        .help("Cores in use, by pod.")
        .off(
            "'max by (cluster, node, instance, namespace, pod, exported_node, exported_namespace, exported_pod) (irate(pod_cpu_usage_seconds_total{$matchers}[$range]))'",
        )
        .field("podMemory", text(), |q| &mut q.pod_memory)
        .help("Bytes of working set, by pod.")
        .off(
            "'max by (cluster, node, instance, namespace, pod, exported_node, exported_namespace, exported_pod) (pod_memory_working_set_bytes{$matchers})'",
        )
        .field("podTime", query_or_none(), |q| &mut q.pod_time)
        .help(
            "When the values of a pod were measured. `none` has the same effect as for `nodeTime`.",
        )
        .off(
            "'max by (cluster, node, instance, namespace, pod, exported_node, exported_namespace, exported_pod) (timestamp(pod_cpu_usage_seconds_total{$matchers}))'",
        )
}

fn query_or_none() -> Kind<Option<String>> {
    let schema = json!({"type": "string", "minLength": 1});
    let write = |query: &Option<String>| Some(Item::text(query.as_deref().unwrap_or("none")));
    Kind::new("text or `none`", schema, read_query, write)
}

#[expect(clippy::option_option, reason = "`none` is a value, unlike an invalid field")]
fn read_query(spot: Spot<'_, '_>) -> Option<Option<String>> {
    let query = spot.name()?;
    Some(Some(query).filter(|query| query != "none"))
}
