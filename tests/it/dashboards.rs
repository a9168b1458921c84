//! The Grafana dashboard: every metric that it asks for is one that the program exposes.

use std::collections::BTreeSet;
use std::path::Path;

use evenkeel::telemetry::metrics::catalogue::ALL;
use evenkeel::telemetry::metrics::{Form, Metrics};
use serde_json::Value;

use crate::kit::{Cluster, EVEN, parse};

fn dashboard() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("dashboards/evenkeel.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn names(text: &str) -> BTreeSet<String> {
    let ends = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let name = |part: &str| format!("evenkeel_{}", &part[..part.find(ends).unwrap_or(part.len())]);
    text.split("evenkeel_").skip(1).map(name).collect()
}

#[test]
fn every_metric_of_the_dashboard_is_exposed_and_every_exposed_one_is_shown() {
    let exposed: BTreeSet<String> = ALL.iter().map(|about| about.full_name()).collect();
    let queries: Vec<String> = dashboard()["panels"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|p| p["targets"].as_array().unwrap())
        .map(|t| t["expr"].as_str().unwrap().to_owned())
        .collect();
    let asked: BTreeSet<String> = queries.iter().flat_map(|q| names(q)).collect();
    let base = |name: &String| {
        ["_bucket", "_sum", "_count"].iter().find_map(|s| name.strip_suffix(s)).unwrap_or(name).to_owned()
    };
    let asked: BTreeSet<String> = asked.iter().map(base).collect();
    let unknown: Vec<_> = asked.difference(&exposed).collect();
    assert!(unknown.is_empty(), "not exposed: {unknown:?}");
    let hidden: Vec<_> = exposed.difference(&asked).collect();
    assert!(hidden.is_empty(), "exposed and shown nowhere: {hidden:?}");
}

#[test]
fn a_node_that_has_left_leaves_no_series_behind() {
    let metrics = Metrics::default();
    metrics.plan(&Cluster::parse("node n1\n web cpu=1 uses=1\nnode n2").plan(EVEN), &parse(EVEN));
    assert!(metrics.text(Form::Classic).contains("node=\"n2\""));
    metrics.plan(&Cluster::parse("node n1\n web cpu=1 uses=1\nnode n3").plan(EVEN), &parse(EVEN));
    assert!(
        !metrics.text(Form::Classic).contains("node=\"n2\"") && metrics.text(Form::Classic).contains("node=\"n3\"")
    );
}

#[test]
fn panels_do_not_overlap_and_each_says_what_it_shows() {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut cells = BTreeSet::new();
    for panel in panels {
        assert!(panel["description"].as_str().is_some_and(|d| d.len() > 10), "{}", panel["title"]);
        let at = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        assert!(at("x") + at("w") <= 24);
        for x in at("x")..at("x") + at("w") {
            for y in at("y")..at("y") + at("h") {
                assert!(cells.insert((x, y)), "{} overlaps another panel", panel["title"]);
            }
        }
    }
}
