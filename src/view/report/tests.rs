//! The content of the report, hostile names in it, and its size.

use std::sync::LazyLock;

use jiff::SignedDuration;

use super::html;
use crate::policy::{Basis, Policy};
use crate::simulate;
use crate::simulate::scenario::Scenario;
use crate::simulate::trace::{TimeAbove, Trace};
use crate::values::Ratio;

const EVIL: &str = "<script>alert(1)</script>\"'&";

const SCENARIO: &str = "
name: Ten nodes at night
about: Three nodes are busy and seven are nearly idle, but all have similar requests.
duration: 2h
nodes:
- {name: n, count: 8, cpu: 8, memory: 32Gi}
- {name: late, cpu: 8, memory: 32Gi, joins: 30m}
- {name: lost, cpu: 8, memory: 32Gi, fails: 90m}
workloads:
- {name: checkout, namespace: shop, replicas: 30, requests: {cpu: 500m, memory: 1Gi},
   usage: {cpu: 700m, memory: 1Gi}, on: [n1, n2, n3]}
- {name: web, replicas: 40, requests: {cpu: 500m, memory: 1Gi}, usage: {cpu: 100m, memory: 1Gi},
   on: [n4, n5, n6, n7, n8, lost]}
";

/// Runs the scenario at this interval, with this many evictions per cycle.
fn run(interval: &str, per_cycle: u32) -> Trace {
    let policy = format!(
        "{{apiVersion: evenkeel/v1alpha1, kind: Policy, interval: {interval},
          limits: {{perCycle: {per_cycle}, perNode: none, perNamespace: none, perWorkload: 100%}},
          cooldown: {{rest: 1m}}, strategies: [lowNodeUtilization: {{
            thresholds: {{cpu: 30%, memory: 30%}}, targetThresholds: {{cpu: 70%, memory: 80%}}}}]}}"
    );
    let scenario = Scenario::parse("s.yaml", SCENARIO).unwrap();
    simulate::run(&scenario, Policy::parse("p.yaml", &policy).unwrap(), "slow.yaml", |_| {})
}

/// Two evictions per minute, the first of which did not help.
fn small(policy: &str) -> Trace {
    static RUN: LazyLock<Trace> = LazyLock::new(|| run("1m", 2));
    let mut trace = Trace { policy: policy.to_owned(), ..RUN.clone() };
    trace.evictions[0].helped = Some(false);
    trace
}

/// The same with as many copies of its nodes, and of its evictions.
fn large(nodes: usize) -> Trace {
    let mut trace = small("gentle.yaml");
    let (some, evictions) = (trace.nodes.clone(), trace.evictions.clone());
    for copy in 1..nodes.div_ceil(some.len()) {
        trace.nodes.extend(some.clone().into_iter().map(|mut node| {
            node.name = format!("{}-{copy}", node.name);
            node
        }));
        trace.evictions.extend(evictions.clone());
    }
    trace
}

/// A trace in which every text is hostile.
fn hostile() -> Trace {
    let mut trace = small(EVIL);
    trace.scenario = EVIL.to_owned();
    trace.about = EVIL.to_owned();
    for node in &mut trace.nodes {
        node.name = format!("{}{EVIL}", node.name);
        for series in [&mut node.actual, &mut node.requests] {
            let cpu = series["cpu"].clone();
            series.insert(EVIL.to_owned(), cpu);
        }
    }
    for eviction in &mut trace.evictions {
        eviction.namespace = EVIL.to_owned();
        eviction.pod = EVIL.to_owned();
        eviction.workload = Some(EVIL.to_owned());
        eviction.from = format!("{}{EVIL}", eviction.from);
        eviction.foreseen = Some(EVIL.to_owned());
        eviction.may_land = vec![EVIL.to_owned()];
        eviction.to = Some(EVIL.to_owned());
        eviction.strategy = EVIL.to_owned();
        eviction.reason = EVIL.to_owned();
    }
    for event in &mut trace.events {
        event.what = EVIL.to_owned();
    }
    let cpu = trace.bands["cpu"];
    trace.bands.insert(EVIL.to_owned(), cpu);
    let cpu = trace.balance["cpu"].clone();
    trace.balance.insert(EVIL.to_owned(), cpu);
    let (before, after) = (trace.summary.before["cpu"], trace.summary.after["cpu"]);
    trace.summary.before.insert(EVIL.to_owned(), before);
    trace.summary.after.insert(EVIL.to_owned(), after);
    let refused = trace.refusals["cycle-limit"].clone();
    trace.refusals.insert(
        EVIL.to_owned(),
        crate::simulate::trace::Refused { last: EVIL.to_owned(), ..refused },
    );
    trace
}

/// Returns the names of the tags in order. Fails if the page is not well nested.
fn tags(page: &str) -> Vec<String> {
    const VOID: [&str; 6] = ["meta", "link", "br", "col", "!DOCTYPE", "input"];
    let (mut open, mut all) = (Vec::new(), Vec::new());
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let (inside, after) = rest.split_once('>').unwrap();
        assert!(!inside.contains('<'), "unclosed tag: {inside}");
        assert_eq!(inside.matches('"').count() % 2, 0, "unclosed quote: {inside}");
        rest = after;
        let name = inside.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if inside.starts_with('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "closed at {inside}");
        } else {
            all.push(name.to_owned());
            if !inside.ends_with('/') && !VOID.contains(&name) {
                open.push(name.to_owned());
            }
            if ["script", "style"].contains(&name) {
                rest = &rest[rest.find("</").unwrap()..];
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
    all
}

fn count(page: &str, part: &str) -> usize {
    page.matches(part).count()
}

#[test]
fn two_runs_have_a_table_of_the_hours_in_which_they_differ() {
    let (some, more) = (small("some.yaml"), large(20));
    assert_ne!(some.evictions.len(), more.evictions.len());
    let page = html(&[some.clone(), more]);
    assert!(page.contains("<h3>Hours that differ</h3>"));
    assert!(html(&[some.clone(), some.clone()]).contains("both have the same evictions"));
    assert!(!html(&[some]).contains("Hours that differ"));
}

#[test]
fn every_eviction_has_a_row_and_a_mark_in_each_chart() {
    let trace = small("a.yaml");
    let page = html(&[trace]);
    tags(&page);
    // Two resources, each with a line chart and a map. The legend of each line chart adds a mark.
    assert_eq!(count(&page, "class=\"mark no\""), 2 * 2 + 2);
    assert_eq!(count(&page, "<tr><td class=\"when\">"), 9);
    assert!(page.contains("<title>1m: shop/checkout-"));
    assert!(page.contains("<dt>evictions</dt><dd>9 "));
}

#[test]
fn hostile_names_are_escaped_everywhere() {
    let page = html(&[hostile(), hostile()]);
    assert!(!page.contains("<script>alert"), "a name became a script element");
    assert_eq!(count(&page, "<script"), 1);
    assert!(!page.contains("\"'&"), "a name ended an attribute");
    let (hostile, harmless) = (tags(&page), tags(&html(&[small("a"), small("b")])));
    let scripts = |tags: &[String]| tags.iter().filter(|t| *t == "script").count();
    assert_eq!((scripts(&hostile), scripts(&harmless)), (1, 1));
}

#[test]
fn the_page_loads_nothing() {
    let page = html(&[small("a.yaml"), small("b.yaml")]);
    for reference in [
        "http:", "https:", "url(", "@import", "src=", "<img", "<iframe", "<object", "fetch(",
        "XMLHttp",
    ] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert!(page.contains("<link rel=\"icon\" href=\"data:,\">"));
    assert!(page.contains("default-src 'none'; style-src 'sha256-"));
    assert_eq!(count(&page, "href="), 1);
}

#[test]
fn the_page_is_deterministic() {
    assert_eq!(html(&[small("a"), large(40)]), html(&[small("a"), large(40)]));
}

#[test]
fn the_comparison_marks_the_better_figure() {
    let page = html(&[small("quick.yaml"), run("5m", 1)]);
    tags(&page);
    let table = &page[page.find("class=\"compare\"").unwrap()..];
    let table = &table[..table.find("</table>").unwrap()];
    assert!(table.contains("<th>quick.yaml</th><th>slow.yaml</th>"));
    assert!(table.contains("<tr><th>time to balance</th><td class=\"best\">"), "{table}");
    assert!(table.contains("cpu: standard deviation"));
}

#[test]
fn a_dry_run_is_named_and_its_evictions_are_no_better_value() {
    let mut dry = small("dry.yaml");
    dry.dry_run = true;
    dry.evictions.clear();
    dry.summary.evictions = 0;
    let page = html(&[small("a.yaml"), dry.clone()]);
    assert!(page.contains("<p>dry.yaml: the policy is a dry run, which evicts nothing</p>"));
    assert!(page.contains("<tr><th>evictions</th><td>9 <small></small></td><td>0 "), "{page}");
    assert!(html(&[dry]).contains("<p>the policy is a dry run"));
}

#[test]
fn runs_with_different_bases_are_compared_by_usage() {
    let mut other = small("requests.yaml");
    other.basis = Basis::Requests;
    // This run is perfectly even by requests; by usage it equals the other run.
    for balance in other.summary.after.values_mut() {
        balance.deviation = Ratio::ZERO;
    }
    let page = html(&[small("actual.yaml"), other]);
    tags(&page);
    assert!(
        page.contains(
            "Measured by actual usage, because these policies balance by different things."
        )
    );
    let table = &page[page.find("class=\"compare\"").unwrap()..];
    let table = &table[..table.find("</table>").unwrap()];
    for row in ["cpu: standard deviation", "time to balance"] {
        let row = &table[table.find(row).unwrap()..];
        assert!(!row[..row.find("</tr>").unwrap()].contains("best"), "{row}");
    }
}

#[test]
fn runs_with_equal_labels_are_numbered() {
    let page = html(&[small("p.yaml"), small("p.yaml")]);
    assert!(page.contains("<th>p.yaml (1)</th><th>p.yaml (2)</th>"));
}

#[test]
fn a_page_of_many_nodes_stays_small() {
    let page = html(&[large(300)]);
    tags(&page);
    assert!(page.contains("fullest at the start") && !page.contains("class=\"line was-hot"));
    let both = html(&[large(1000), large(1000)]);
    assert!(both.len() < 5_000_000, "{} bytes", both.len());
}

#[test]
fn long_tables_are_folded() {
    let trace = large(300);
    let beyond = trace.evictions.len() - 50;
    assert!(html(&[trace]).contains(&format!("<summary>{beyond} more</summary>")));
}

#[test]
fn the_page_has_the_figures_of_the_summary() {
    let mut trace = small("a.yaml");
    let above = TimeAbove { total: SignedDuration::from_mins(360), ..TimeAbove::default() };
    trace.summary.above_target.insert("cpu".to_owned(), above);
    trace.summary.time_to_balance = Some(SignedDuration::ZERO);
    let balanced = html(&[trace.clone()]);
    assert!(balanced.contains("<dt>node-minutes above target</dt><dd>cpu 360, "));
    assert!(balanced.contains("<dt>time to balance</dt><dd>always balanced "));
    trace.summary.unknown_nodes.insert("n1".to_owned());
    assert!(html(&[trace]).contains("<dt>time to balance</dt><dd>unknown "));
}

#[test]
fn an_empty_run_is_a_valid_page() {
    let mut trace = small("a.yaml");
    trace.nodes.clear();
    trace.evictions.clear();
    trace.events.clear();
    trace.refusals.clear();
    trace.bands.clear();
    trace.balance.clear();
    trace.summary.before.clear();
    trace.summary.after.clear();
    trace.summary.time_to_balance = None;
    trace.end = trace.start;
    for page in [html(&[trace]), html(&[])] {
        tags(&page);
        assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
    }
}

#[test]
fn without_bands_the_page_shows_cpu_and_memory() {
    let mut trace = small("a.yaml");
    trace.bands.clear();
    trace.basis = Basis::Requests;
    let page = html(&[trace]);
    tags(&page);
    assert!(
        page.contains("<h2>cpu</h2>")
            && page.contains("<h2>memory</h2>")
            && page.contains("heat plain")
    );
    assert!(!page.contains("class=\"zone-hot\""));
}

#[test]
fn a_node_that_is_down_at_the_end_is_not_called_gone() {
    let page = html(&[small("gentle.yaml")]);
    assert!(page.contains(" → down") && !page.contains("gone"));
}
