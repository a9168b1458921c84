//! Parses the queries of the dashboard and of the alerts.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

/// File of the alert rules.
pub(crate) const RULES: &str = "deploy/components/monitoring/prometheusrule.yaml";

/// Returns the dashboard.
pub(crate) fn dashboard() -> Value {
    serde_json::from_str(&read("dashboards/evenkeel.json")).unwrap()
}

/// Reads a file of the repository.
pub(crate) fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A query of a panel.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    /// The panel.
    pub(crate) panel: Value,
    /// The target with the query.
    pub(crate) target: Value,
    /// PromQL with variables.
    pub(crate) expr: String,
}

impl Query {
    /// Returns the labels in the legend.
    pub(crate) fn legend(&self) -> Vec<&str> {
        let legend = self.target["legendFormat"].as_str().unwrap();
        legend.split("{{").skip(1).map(|rest| rest.split_once("}}").unwrap().0).collect()
    }
}

/// Returns the queries of all panels and annotations.
pub(crate) fn queries() -> Vec<Query> {
    let of_panel = |panel: Value| {
        let targets = panel["targets"].as_array().cloned().unwrap_or_default();
        targets.into_iter().map(move |target| {
            let expr = target["expr"].as_str().unwrap().to_owned();
            Query { panel: panel.clone(), target, expr }
        })
    };
    let of_mark = |mark: Value| {
        let expr = mark["expr"].as_str().unwrap().to_owned();
        Query {
            panel: json!({"title": mark["name"]}),
            target: json!({"legendFormat": mark["textFormat"]}),
            expr,
        }
    };
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap().iter().cloned().flat_map(of_panel);
    panels
        .chain(dashboard["annotations"]["list"].as_array().unwrap().iter().cloned().map(of_mark))
        .collect()
}

/// A variable with values from Prometheus: `label_values(selector, label)`.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    /// Name of the variable.
    pub(crate) name: String,
    /// Selector of the series.
    pub(crate) selector: String,
    /// Label of the series.
    pub(crate) label: String,
    /// Value for "All", if it can be chosen.
    pub(crate) all: Option<String>,
}

/// Returns these variables in the order in which Grafana queries them.
pub(crate) fn variables() -> Vec<Variable> {
    let dashboard = dashboard();
    let list =
        dashboard["templating"]["list"].as_array().unwrap().iter().filter(|v| v["type"] == "query");
    let variable = |entry: &Value| {
        let query = entry["query"]["query"].as_str().unwrap();
        assert_eq!(entry["definition"], query, "the definition differs from the query");
        let inner = query
            .strip_prefix("label_values(")
            .and_then(|q| q.strip_suffix(')'))
            .expect("label_values(…)");
        let (selector, label) = inner.rsplit_once(", ").expect("a selector and a label");
        Variable {
            name: entry["name"].as_str().unwrap().to_owned(),
            selector: selector.to_owned(),
            label: label.to_owned(),
            all: entry["allValue"].as_str().map(str::to_owned),
        }
    };
    list.map(variable).collect()
}

/// Returns the groups in the format of a Prometheus rule file.
pub(crate) fn groups() -> Value {
    let rule: Value =
        serde_saphyr::from_str(&read(RULES)).unwrap_or_else(|e| panic!("{RULES}: {e}"));
    rule["spec"].clone()
}

/// Returns all alerts.
pub(crate) fn alerts() -> Vec<Value> {
    let groups = groups();
    groups["groups"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|g| g["rules"].as_array().unwrap().clone())
        .collect()
}

/// Returns the queries of an alert: its expression, and the queries in its annotations.
pub(crate) fn asked_by(alert: &Value) -> Vec<String> {
    let annotations = alert["annotations"].as_object().unwrap().values();
    let texts = annotations.map(|text| text.as_str().unwrap().replace("=%q", "=~\".*\""));
    texts
        .chain([alert["expr"].as_str().unwrap().to_owned()])
        .filter(|text| text.contains("evenkeel_"))
        .collect()
}

/// A selector of series in a query.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Selector {
    /// Name of the metric; empty if the matchers name it.
    pub(crate) metric: String,
    /// Label, operator and value.
    pub(crate) matchers: Vec<(String, String, String)>,
}

impl Selector {
    /// Returns the selector in PromQL.
    pub(crate) fn text(&self) -> String {
        let matchers: Vec<String> =
            self.matchers.iter().map(|(l, op, v)| format!("{l}{op}\"{v}\"")).collect();
        format!("{}{{{}}}", self.metric, matchers.join(","))
    }
}

/// Returns all selectors of our metrics. Parses only the part of PromQL that our queries use.
pub(crate) fn selectors(query: &str) -> BTreeSet<Selector> {
    let mut found = BTreeSet::new();
    for (at, _) in query.match_indices("evenkeel_") {
        let rest = &query[at..];
        let end =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (metric, rest) = rest.split_at(end);
        let inner =
            rest.strip_prefix('{').map(|inner| &inner[..inner.find('}').expect("a closing brace")]);
        found.insert(Selector {
            metric: metric.to_owned(),
            matchers: inner.map(matchers).unwrap_or_default(),
        });
    }
    found
}

fn matchers(inner: &str) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    let mut rest = inner;
    while let Some((before, after)) = rest.split_once('"') {
        let (value, more) = after.split_once('"').expect("a closing quote");
        let at = before.find(['=', '!']).expect("an operator");
        let (label, operator) = before.split_at(at);
        found.push((
            label.trim_matches([',', ' ']).to_owned(),
            operator.to_owned(),
            value.to_owned(),
        ));
        rest = more;
    }
    found
}
