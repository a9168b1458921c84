//! Parsing of fields that several parts of a scenario have.

use crate::schema::problem::Code;
use crate::schema::read::{Place, Spot};
use crate::schema::scalar::text;
use crate::schema::tree::Value;
use crate::values::selector::Labels;
use crate::values::{Amount, quantity};

use super::FirstNodes;
use super::files::Files;

/// References to nodes, which are checked after all nodes are known, and to files.
pub(super) struct Mentioned<'f> {
    pub(super) nodes: Vec<(Place, String)>,
    pub(super) files: Files<'f>,
}

/// Parses node names, which are checked later.
pub(super) fn node_names(spot: Spot<'_, '_>, mentioned: &mut Mentioned<'_>) -> Vec<String> {
    let names = spot.list("names of nodes", |item| {
        let place = item.place();
        let name = item.name()?;
        mentioned.nodes.push((place, name.clone()));
        Some(name)
    });
    names.unwrap_or_default()
}

/// Parses the nodes of a workload's first pods.
pub(super) fn first_nodes(spot: Spot<'_, '_>, mentioned: &mut Mentioned<'_>) -> FirstNodes {
    match spot.node().map(|n| &n.value) {
        None => FirstNodes::Scheduled,
        Some(Value::Text(word)) if word == "evenly" => FirstNodes::Evenly,
        Some(Value::List(_)) => FirstNodes::On(node_names(spot, mentioned)),
        Some(_) => {
            let refused =
                spot.refuse(Code::WrongType, "a list of nodes, such as [n1, n2], or evenly");
            refused.unwrap_or(FirstNodes::Scheduled)
        }
    }
}

/// Parses an amount of a resource.
pub(super) fn quantity(spot: Spot<'_, '_>, resource: &str) -> Option<Amount> {
    let example = match resource {
        "cpu" => "a quantity of cpu, such as 500m or 2",
        "memory" => "a quantity of memory, such as 200Mi or 4Gi",
        _ => "a quantity, such as 1",
    };
    spot.scalar(example, |node| {
        let text = match &node.value {
            Value::Text(text) => Ok(text.as_str()),
            Value::Int(_) | Value::Float(_) => node.plain.as_deref().ok_or(Code::WrongType),
            Value::Null | Value::Bool(_) | Value::List(_) | Value::Map(_) => Err(Code::WrongType),
        }?;
        quantity::amount(resource, text).map_err(|_| Code::WrongType)
    })
}

/// Parses a map of resources to amounts.
pub(super) fn amounts(spot: Spot<'_, '_>) -> Vec<(String, Amount)> {
    if spot.is_absent() {
        return Vec::new();
    }
    let each = spot.each("resources and quantities", |entry, value| {
        Some((entry.key.clone(), quantity(value, &entry.key)?))
    });
    each.unwrap_or_default()
}

/// Parses a map of labels.
pub(super) fn labels(spot: Spot<'_, '_>) -> Labels {
    if spot.is_absent() {
        return Labels::new();
    }
    let each = spot.each("labels", |entry, value| match value.node().map(|n| &n.value) {
        Some(Value::Text(text)) => Some((entry.key.clone(), text.clone())),
        _ => Some((entry.key.clone(), value.name()?)),
    });
    each.unwrap_or_default().into_iter().collect()
}

/// Parses an object name, with the rules of Kubernetes.
pub(super) fn object_name(spot: Spot<'_, '_>) -> Option<String> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    let name = spot.node().and_then(|node| text(node).ok());
    if name.is_none_or(|name| name.chars().all(is_name) && name.len() <= 200) {
        spot.name()
    } else {
        spot.refuse(Code::WrongType, "a name of lower-case letters, digits, - and .")
    }
}
