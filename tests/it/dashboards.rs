//! The Grafana dashboard and the alerts use metrics that the program exposes, and the dashboard has
//! a valid layout.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel::model::ledger::{Fault, Ledger};
use evenkeel::telemetry::metrics::Metrics;
use evenkeel::telemetry::metrics::catalogue::{LabelValues, MetricInfo};
use serde_json::Value;

use crate::it::support::{Cluster, EVEN, noon, parse};
use crate::shared::boards::{
    Selector, alerts, asked_by, dashboard, queries, read, selectors, variables,
};

/// Labels that Prometheus and Kubernetes' service discovery add to each series of a target.
const TARGET_LABELS: [&str; 4] = ["cluster", "namespace", "job", "instance"];

/// Every selector of the dashboard.
fn dashboard_selectors() -> BTreeSet<Selector> {
    let of_variables = variables().into_iter().map(|v| v.selector);
    queries()
        .into_iter()
        .map(|q| q.expr)
        .chain(of_variables)
        .flat_map(|text| selectors(&text))
        .collect()
}

/// Every selector of the alerts.
fn alert_selectors() -> BTreeSet<Selector> {
    alerts().iter().flat_map(asked_by).flat_map(|text| selectors(&text)).collect()
}

fn exposed() -> BTreeMap<String, &'static MetricInfo> {
    let metrics = Metrics::default();
    let all = metrics.catalogue().iter();
    all.map(|info| (info.full_name(), *info)).collect()
}

/// Returns the metric that a series belongs to.
fn base(name: &str) -> &str {
    ["_bucket", "_sum", "_count"].iter().find_map(|s| name.strip_suffix(s)).unwrap_or(name)
}

#[test]
fn dashboard_and_alerts_use_exposed_metrics_and_the_dashboard_shows_all_of_them() {
    let exposed = exposed();
    for selector in dashboard_selectors().iter().chain(&alert_selectors()) {
        assert!(exposed.contains_key(base(&selector.metric)), "{} is not exposed", selector.metric);
    }
    let of_panels: BTreeSet<String> = queries()
        .iter()
        .flat_map(|q| selectors(&q.expr))
        .map(|s| base(&s.metric).to_owned())
        .collect();
    let hidden: Vec<_> = exposed.keys().filter(|name| !of_panels.contains(*name)).collect();
    assert!(hidden.is_empty(), "exposed and shown nowhere: {hidden:?}");
}

#[test]
fn selectors_use_existing_labels_and_values() {
    let exposed = exposed();
    for selector in dashboard_selectors().iter().chain(&alert_selectors()) {
        let info = exposed[base(&selector.metric)];
        for (label, _, value) in &selector.matchers {
            if TARGET_LABELS.contains(&label.as_str()) {
                continue;
            }
            let known = info.labels.iter().find(|known| known.0 == label);
            let Some(known) = known else { panic!("{} has no label {label}", selector.text()) };
            for word in value.split('|').filter(|word| !word.starts_with('$') && *word != ".*") {
                let there = match known.1 {
                    LabelValues::Fixed(values) => values.contains(&word),
                    LabelValues::Codes(_) => {
                        read("docs/reasons.md").contains(&format!("| `{word}` |"))
                    }
                    LabelValues::Names(_) => false,
                };
                assert!(there, "{}: {label} is never {word}", selector.text());
            }
        }
    }
}

#[test]
fn queries_group_by_existing_labels_and_legends_use_grouped_labels() {
    let exposed = exposed();
    for query in queries() {
        let title = &query.panel["title"];
        let asked = selectors(&query.expr);
        let mut labels: BTreeSet<&str> = BTreeSet::from(["le"]);
        labels.extend(TARGET_LABELS);
        labels
            .extend(asked.iter().flat_map(|s| exposed[base(&s.metric)].labels.iter().map(|l| l.0)));
        let mut kept = BTreeSet::new();
        for part in query.expr.split("by (").skip(1) {
            kept.extend(part.split_once(')').unwrap().0.split(", "));
        }
        for label in &kept {
            assert!(labels.contains(label), "{title}: no metric has {label}");
        }
        for label in query.legend() {
            assert!(kept.contains(label), "{title}: {label} is not kept");
        }
    }
}

#[test]
fn queries_select_the_chosen_instances_and_every_variable_is_used() {
    for selector in queries().iter().flat_map(|q| selectors(&q.expr)) {
        for of_the_target in ["job", "instance"] {
            let wanted = (of_the_target.to_owned(), "=~".to_owned(), format!("${of_the_target}"));
            assert!(
                selector.matchers.contains(&wanted),
                "{} is of any {of_the_target}",
                selector.text()
            );
        }
    }
    let asked: Vec<Selector> = dashboard_selectors().into_iter().collect();
    let uses = |word: &str| asked.iter().any(|s| s.matchers.iter().any(|m| m.2 == word));
    let known: BTreeSet<String> = variables().iter().map(|v| format!("${}", v.name)).collect();
    assert!(known.iter().all(|word| uses(word)), "of no effect: one of {known:?}");
    for (_, operator, value) in
        asked.iter().flat_map(|s| &s.matchers).filter(|m| m.2.starts_with('$'))
    {
        assert!(known.contains(value), "{value} is no variable");
        // A variable with several values needs a regular expression.
        let several =
            variables().iter().any(|v| format!("${}", v.name) == *value && v.all.is_some());
        assert_eq!(operator, if several { "=~" } else { "=" }, "{value}");
    }
    for variable in variables() {
        let metric = &selectors(&variable.selector).iter().next().unwrap().metric.clone();
        let known = exposed()[metric].labels.iter().any(|label| label.0 == variable.label);
        assert!(
            known || TARGET_LABELS.contains(&variable.label.as_str()),
            "{metric} has no {}",
            variable.label
        );
    }
    for variable in variables().iter().filter(|v| v.name != "resource") {
        assert_eq!(variable.all.as_deref(), Some(".*"), "{} cannot be all", variable.name);
    }
}

#[test]
fn every_node_class_has_its_own_colour() {
    let page = read("docs/reasons.md");
    let (_, section) = page.split_once("## Classes of nodes").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let mut all: Vec<&str> = rows.map(|row| row.split('`').nth(1).unwrap()).collect();
    let query = queries().into_iter().find(|q| q.panel["title"] == "Hot or cold, by node").unwrap();
    let shown = selectors(&query.expr);
    let classes = shown.iter().flat_map(|s| s.matchers.iter().filter(|m| m.0 == "class"));
    let mut coloured: Vec<&str> = classes.flat_map(|m| m.2.split('|')).collect();
    all.sort_unstable();
    coloured.sort_unstable();
    assert_eq!(coloured, all);
    let table = queries().into_iter().find(|q| q.panel["title"] == "Nodes now").unwrap();
    let overrides = table.panel["fieldConfig"]["overrides"].as_array().unwrap().iter();
    let properties = overrides.flat_map(|one| one["properties"].as_array().unwrap());
    let mapped = properties.filter(|property| property["id"] == "mappings");
    let mapped = mapped.flat_map(|property| property["value"].as_array().unwrap());
    let mapped = mapped.flat_map(|mapping| mapping["options"].as_object().unwrap().keys());
    let unknown: Vec<&String> = mapped.filter(|class| !all.contains(&class.as_str())).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn a_node_that_is_gone_has_no_series() {
    let metrics = Metrics::default();
    metrics.plan(&Cluster::parse("node n1\n web cpu=1 uses=1\nnode n2").plan(EVEN), &parse(EVEN));
    assert!(metrics.text().contains("node=\"n2\""));
    metrics.plan(&Cluster::parse("node n1\n web cpu=1 uses=1\nnode n3").plan(EVEN), &parse(EVEN));
    assert!(!metrics.text().contains("node=\"n2\"") && metrics.text().contains("node=\"n3\""));
}

/// Only the leader exposes values of a plan.
#[test]
fn a_standby_exposes_no_plan_and_no_ledger() {
    let policy = parse(&format!("steering: {{taintHot: true, maxNodes: none}}\n{EVEN}"));
    let cluster = Cluster::parse(
        "node n1\n  hot*4 cpu=100m memory=100Mi uses=1/200Mi\n  db cpu=100m uses=1500m \
            owner=StatefulSet\nnode n2\nnode n3 unready",
    );
    let (mut engine, snapshot) = cluster.seen(policy.clone(), Ledger::default());
    let plan = engine.decide(&snapshot, noon());
    engine.intend(&snapshot, &plan.moves, noon());
    let metrics = Metrics::default();
    metrics.leader(false);
    let silent = metrics.text();
    metrics.leader(true);
    metrics.plan(&plan, &policy);
    let mut ledger = engine.ledger().clone();
    let workload = plan.moves[0].ledger_key();
    ledger.rejected(&workload, "uid", Fault::Pod, &policy.cooldown, noon());
    metrics.ledger(&ledger, &snapshot, &policy.cooldown, noon());
    for told in [
        "node_class{",
        "kept_pods{",
        "planned_moves{",
        "steered_nodes{",
        "band_ratio{",
        "ledger_entries{",
        "ledger_rejected_pods 1",
    ] {
        assert!(
            metrics.text().contains(told),
            "the plan says nothing of {told}: {}",
            metrics.text()
        );
    }
    metrics.leader(false);
    assert_eq!(metrics.text(), silent);
}

/// Each panel belongs to the row before it.
#[test]
fn panels_are_in_reading_order() {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap();
    let places: Vec<(u64, u64)> = panels.iter().map(|p| (at(p, "y"), at(p, "x"))).collect();
    assert!(places.is_sorted(), "{places:?}");
}

/// By default Grafana keeps showing the last value, so that a program that has died would look
/// healthy.
#[test]
fn no_panel_keeps_the_last_value_of_a_dead_program() {
    for query in
        queries().into_iter().filter(|q| q.panel["type"] == "stat" && q.target["instant"] != true)
    {
        let title = &query.panel["title"];
        assert_eq!(
            query.panel["options"]["reduceOptions"]["calcs"],
            serde_json::json!(["last"]),
            "{title}"
        );
        assert!(query.expr.contains(" or vector("), "{title}: no fallback for an empty result");
    }
}

/// Known problems of Grafana that show only in a browser: with thresholds it prints "1+" instead of
/// a word, it draws transparent as black, and it prints the text for missing values of a graph on
/// the axis too.
#[test]
fn state_timelines_show_words_and_axes_do_not() {
    let dashboard = dashboard();
    for panel in dashboard["panels"].as_array().unwrap() {
        let defaults = &panel["fieldConfig"]["defaults"];
        if panel["type"] == "state-timeline" {
            assert_eq!(defaults["color"]["mode"], "fixed", "{}", panel["title"]);
            assert!(
                !defaults["mappings"].to_string().contains("transparent"),
                "{}",
                panel["title"]
            );
        }
        if panel["type"] == "timeseries" {
            assert!(defaults["noValue"].is_null(), "{}", panel["title"]);
        }
    }
}

fn at(panel: &Value, key: &str) -> u64 {
    panel["gridPos"][key].as_u64().unwrap()
}

#[test]
fn panels_do_not_overlap_and_each_has_a_description() {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap();
    let (mut cells, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for panel in panels {
        assert!(
            ids.insert(panel["id"].as_u64().unwrap()),
            "{} has the number of another",
            panel["title"]
        );
        assert!(at(panel, "x") + at(panel, "w") <= 24);
        for x in at(panel, "x")..at(panel, "x") + at(panel, "w") {
            for y in at(panel, "y")..at(panel, "y") + at(panel, "h") {
                assert!(cells.insert((x, y)), "{} overlaps another panel", panel["title"]);
            }
        }
        let Some(targets) = panel["targets"].as_array() else {
            assert_eq!(panel["type"], "row", "{} has no query", panel["title"]);
            continue;
        };
        assert!(panel["description"].as_str().is_some_and(|d| d.len() > 20), "{}", panel["title"]);
        let letters: BTreeSet<&str> =
            targets.iter().map(|t| t["refId"].as_str().unwrap()).collect();
        assert_eq!(letters.len(), targets.len(), "{}: two queries of one letter", panel["title"]);
    }
}

/// Every column of a table must come from a query, and renamed columns must be used by their new
/// name.
#[test]
fn the_columns_of_tables_exist() {
    let dashboard = dashboard();
    for table in dashboard["panels"].as_array().unwrap().iter().filter(|p| p["type"] == "table") {
        let targets = table["targets"].as_array().unwrap();
        let mut columns: BTreeSet<String> = BTreeSet::from(["Time".to_owned()]);
        for target in targets {
            assert_eq!(
                (&target["format"], &target["instant"]),
                (&"table".into(), &true.into()),
                "{}",
                table["title"]
            );
            let (_, labels) = target["expr"].as_str().unwrap().split_once("by (").unwrap();
            columns.extend(labels.split_once(')').unwrap().0.split(", ").map(str::to_owned));
            let letter = target["refId"].as_str().unwrap();
            columns.insert(if targets.len() == 1 {
                "Value".to_owned()
            } else {
                format!("Value #{letter}")
            });
        }
        let steps = table["transformations"].as_array().unwrap();
        let options = &steps.iter().find(|t| t["id"] == "organize").unwrap()["options"];
        let columns_of = |part: &str| {
            options[part].as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>()
        };
        for part in ["excludeByName", "indexByName", "renameByName"] {
            assert!(
                columns_of(part).is_subset(&columns),
                "{}: {part} of {columns:?}",
                table["title"]
            );
        }
        let renamed = options["renameByName"].as_object().unwrap();
        let headings: BTreeSet<&str> = columns
            .iter()
            .map(|c| renamed.get(c).map_or(c.as_str(), |n| n.as_str().unwrap()))
            .collect();
        let overridden = table["fieldConfig"]["overrides"]
            .as_array()
            .unwrap()
            .iter()
            .map(|o| &o["matcher"]["options"]);
        let sorted =
            table["options"]["sortBy"].as_array().unwrap().iter().map(|s| &s["displayName"]);
        for column in overridden.chain(sorted) {
            assert!(
                headings.contains(column.as_str().unwrap()),
                "{}: no column {column}",
                table["title"]
            );
        }
    }
}
