//! Strips objects of the fields that no plan needs, and scrambles their names.

use serde_json::{Map, Value};

use crate::model::snapshot::facts::OVER_QUOTA;

use super::fields::{self, ANNOTATIONS, GANGS, Keep, MIRROR, PAUSES, SELECTED_NODE, STORAGE_CLASS};
use super::rename::{NameCollector, NameKind, RealNames, Renamer, ScrambledNames};

/// The object with only the fields that a plan needs; `None` for a kind that no plan needs.
pub(super) fn strip(object: &Value) -> Option<Value> {
    walk(object, &mut RealNames)
}

/// A replacement for each name in the objects. The seed decides which one.
pub(super) fn scrambled_names(objects: &[Value], seed: u64) -> ScrambledNames {
    let mut collector = NameCollector::default();
    // A replacement depends on all names of its kind, so they are collected first.
    for object in objects {
        walk(object, &mut collector);
        if let Some(pod) = object["metadata"]["name"].as_str().filter(|_| object["kind"] == "Pod") {
            note_parts(pod, object, &mut collector);
        }
    }
    collector.scramble(seed)
}

/// Takes note of the names of which a pod's own name and those of its claims are made.
fn note_parts(pod: &str, object: &Value, collector: &mut NameCollector) {
    let items = |list: &'static str| object.pointer(list).and_then(Value::as_array).into_iter();
    let owners = items("/metadata/ownerReferences").flatten();
    let sets = owners.filter(|owner| owner["kind"] == "StatefulSet");
    for set in sets.filter_map(|set| set["name"].as_str()) {
        collector.note_set(pod, set);
    }
    let volumes = items("/spec/volumes").flatten();
    let ephemeral = volumes.filter(|volume| volume.get("ephemeral").is_some());
    for volume in ephemeral.filter_map(|volume| volume["name"].as_str()) {
        collector.note_volume(pod, volume);
    }
}

/// The objects, stripped and with other names, sorted by these.
pub(super) fn renamed(objects: &[Value], names: &mut ScrambledNames) -> Vec<Value> {
    let mut all: Vec<Value> = objects.iter().filter_map(|object| walk(object, names)).collect();
    // The original order is alphabetical by real names and would reveal something.
    all.sort_by_cached_key(|object| {
        ["/kind", "/metadata/namespace", "/metadata/name"].map(|pointer| {
            let text = object.pointer(pointer).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        })
    });
    all
}

fn walk(object: &Value, names: &mut dyn Renamer) -> Option<Value> {
    let kind = object.get("kind")?.as_str()?;
    let version = object.get("apiVersion")?.as_str()?;
    let (own_kind, fields) = fields::fields_of_kind(kind)?;
    let mut kept = Map::new();
    kept.insert("apiVersion".to_owned(), version.into());
    kept.insert("kind".to_owned(), kind.into());
    kept.extend(fields_of(object, fields, &mut Stripper { own_kind, names }));
    Some(Value::Object(kept))
}

/// Copies the fields to keep, and replaces the names in them.
struct Stripper<'w> {
    /// The kind of the object's own name.
    own_kind: NameKind,
    names: &'w mut dyn Renamer,
}

fn fields_of(
    value: &Value,
    fields: &[(&str, Keep)],
    stripper: &mut Stripper<'_>,
) -> Map<String, Value> {
    let mut kept = Map::new();
    for (name, keep) in fields {
        if let Some(found) = value.get(name).filter(|v| !v.is_null()) {
            kept.extend(stripper.keep(found, *keep).map(|value| ((*name).to_owned(), value)));
        }
    }
    kept
}

impl Stripper<'_> {
    fn keep(&mut self, value: &Value, keep: Keep) -> Option<Value> {
        if let Value::Array(items) = value {
            return Some(items.iter().filter_map(|item| self.keep(item, keep)).collect());
        }
        match keep {
            Keep::Plain => (!value.is_object()).then(|| value.clone()),
            Keep::Presence => Some(Value::Object(Map::new())),
            Keep::OwnName => self.text(value, self.own_kind),
            Keep::Name(kind) => self.text(value, kind),
            Keep::Key => self.text(value, NameKind::Key),
            Keep::Fields(fields) => {
                value.is_object().then(|| fields_of(value, fields, self).into())
            }
            Keep::Labels => Some(self.labels(value.as_object()?)),
            Keep::Amounts => Some(self.amounts(value.as_object()?)),
            Keep::Annotations => Some(self.annotations(value.as_object()?)),
            Keep::Expressions => self.expression(value),
            Keep::NodeFields => {
                let fields = &[
                    ("key", Keep::Plain),
                    ("operator", Keep::Plain),
                    ("values", Keep::Name(NameKind::Node)),
                ];
                Some(fields_of(value, fields, self).into())
            }
            Keep::Taint => self.taint(value),
            Keep::Condition => self.condition(value),
            Keep::Owners => self.owner(value),
        }
    }

    fn text(&mut self, value: &Value, kind: NameKind) -> Option<Value> {
        value.as_str().map(|real| self.names.name(kind, real).into())
    }

    fn labels(&mut self, labels: &Map<String, Value>) -> Value {
        let pair = |(key, value): (&String, &Value)| {
            let value = self.names.value(key, value.as_str()?);
            Some((self.names.name(NameKind::Key, key), value.into()))
        };
        labels.iter().filter_map(pair).collect::<Map<_, _>>().into()
    }

    fn amounts(&mut self, amounts: &Map<String, Value>) -> Value {
        let pair = |(resource, amount): (&String, &Value)| {
            (self.names.name(NameKind::Resource, resource), amount.clone())
        };
        amounts
            .iter()
            .filter(|(_, amount)| !amount.is_object())
            .map(pair)
            .collect::<Map<_, _>>()
            .into()
    }

    fn annotations(&mut self, annotations: &Map<String, Value>) -> Value {
        let mut kept = Map::new();
        for (name, value) in
            annotations.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
        {
            let value = match name {
                // Only the presence of this annotation counts, and its value is a hash of the real
                // pod.
                MIRROR => "mirror".to_owned(),
                // The reason of a pause may name people or secrets.
                _ if PAUSES.contains(&name) && value != "false" => String::new(),
                SELECTED_NODE => self.names.name(NameKind::Node, value),
                STORAGE_CLASS => self.names.name(NameKind::Storage, value),
                _ if GANGS.contains(&name) => self.names.name(NameKind::Value, value),
                _ if ANNOTATIONS.contains(&name) => self.names.name(NameKind::Text, value),
                _ => continue,
            };
            kept.insert(name.to_owned(), value.into());
        }
        kept.into()
    }

    /// A requirement on a label, in `matchExpressions`.
    fn expression(&mut self, value: &Value) -> Option<Value> {
        let key = value.get("key")?.as_str()?;
        self.note_comparison(key, value);
        let mut kept = fields_of(value, &[("key", Keep::Key), ("operator", Keep::Plain)], self);
        if let Some(values) = value.get("values").and_then(Value::as_array) {
            let values = values
                .iter()
                .filter_map(Value::as_str)
                .map(|v| Value::from(self.names.value(key, v)));
            kept.insert("values".to_owned(), values.collect());
        }
        Some(kept.into())
    }

    fn taint(&mut self, value: &Value) -> Option<Value> {
        value.as_object()?;
        let key = value.get("key").and_then(Value::as_str).unwrap_or_default();
        self.note_comparison(key, value);
        let fields = &[
            ("key", Keep::Key),
            ("operator", Keep::Plain),
            ("effect", Keep::Plain),
            ("tolerationSeconds", Keep::Plain),
        ];
        let mut kept = fields_of(value, fields, self);
        if let Some(real) = value.get("value").and_then(Value::as_str) {
            kept.insert("value".to_owned(), self.names.value(key, real).into());
        }
        Some(kept.into())
    }

    /// Keeps numbers as numbers if an operator compares them.
    fn note_comparison(&mut self, key: &str, value: &Value) {
        if matches!(value.get("operator").and_then(Value::as_str), Some("Gt" | "Lt")) {
            self.names.compare_as_numbers(key);
        }
    }

    fn owner(&mut self, value: &Value) -> Option<Value> {
        let kind = value.get("kind")?.as_str()?;
        let kind = match kind {
            "Node" => NameKind::Node,
            "Pod" => NameKind::Pod,
            "ReplicaSet" => NameKind::ReplicaSet,
            "ReplicationController" => NameKind::ReplicationController,
            "Job" => NameKind::Job,
            _ => NameKind::Workload,
        };
        let fields = [
            ("apiVersion", Keep::Name(NameKind::Version)),
            ("kind", Keep::Name(NameKind::Kind)),
            ("name", Keep::Name(kind)),
            ("uid", Keep::Name(NameKind::Uid)),
            ("controller", Keep::Plain),
        ];
        Some(fields_of(value, &fields, self).into())
    }

    /// A condition. One of another program than Kubernetes may have any reason.
    fn condition(&mut self, value: &Value) -> Option<Value> {
        let is_known = NameKind::Condition.keeps(value.get("type")?.as_str()?);
        let fields = [
            ("type", Keep::Name(NameKind::Condition)),
            ("status", Keep::Plain),
            ("reason", if is_known { Keep::Plain } else { Keep::Name(NameKind::Reason) }),
            ("lastTransitionTime", Keep::Plain),
        ];
        let mut kept = fields_of(value, &fields, self);
        let message = value.get("message").and_then(Value::as_str);
        if message.is_some_and(|message| message.contains(OVER_QUOTA)) {
            kept.insert("message".to_owned(), OVER_QUOTA.into());
        }
        Some(kept.into())
    }
}

#[cfg(test)]
mod tests;
