//! Objects without what no plan needs, with their names or with made-up ones.

use serde_json::{Map, Value};

use super::fields::{self, ANNOTATIONS, Fields, Keep, MIRROR, STORAGE_CLASS};
use super::rename::{Learn, Rename, Same, Space};

/// What is kept of an object; `None` where it is of a kind that no plan needs.
pub(super) fn strip(object: &Value) -> Option<Value> {
    walk(object, &mut Same)
}

/// The objects, stripped and with made-up names, in the order of those.
pub(super) fn scramble(objects: &[Value], chance: u64) -> Vec<Value> {
    let mut learnt = Learn::default();
    for object in objects {
        walk(object, &mut learnt);
    }
    let mut made = learnt.make(chance);
    let mut all: Vec<Value> = objects
        .iter()
        .filter_map(|object| walk(object, &mut made))
        .collect();
    all.sort_by_cached_key(|object| {
        let word = |pointer| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        (
            word("/kind"),
            word("/metadata/namespace"),
            word("/metadata/name"),
        )
    });
    all
}

fn walk(object: &Value, names: &mut dyn Rename) -> Option<Value> {
    let word = |key| object.get(key).and_then(Value::as_str);
    let (kind, version) = (word("kind")?, word("apiVersion")?);
    let (own, fields) = fields::of(kind)?;
    let mut kept = Map::new();
    kept.insert("apiVersion".to_owned(), version.into());
    kept.insert("kind".to_owned(), kind.into());
    kept.extend(fields_of(object, fields, &mut Walk { own, names }));
    Some(Value::Object(kept))
}

struct Walk<'w> {
    /// Of which sort the name of the object itself is.
    own: Space,
    names: &'w mut dyn Rename,
}

fn fields_of(value: &Value, fields: Fields, walk: &mut Walk<'_>) -> Map<String, Value> {
    let mut kept = Map::new();
    for (name, keep) in fields {
        if let Some(found) = value.get(name).filter(|v| !v.is_null()) {
            kept.extend(
                walk.keep(found, *keep)
                    .map(|value| ((*name).to_owned(), value)),
            );
        }
    }
    kept
}

impl Walk<'_> {
    fn keep(&mut self, value: &Value, keep: Keep) -> Option<Value> {
        if let Value::Array(items) = value {
            return Some(
                items
                    .iter()
                    .filter_map(|item| self.keep(item, keep))
                    .collect(),
            );
        }
        match keep {
            Keep::Plain => (!value.is_object()).then(|| value.clone()),
            Keep::There => Some(Value::Object(Map::new())),
            Keep::Own => self.text(value, self.own),
            Keep::Name(space) => self.text(value, space),
            Keep::Key => self.text(value, Space::Key),
            Keep::Fields(fields) => value
                .is_object()
                .then(|| fields_of(value, fields, self).into()),
            Keep::Labels => Some(self.labels(value.as_object()?)),
            Keep::Amounts => Some(self.amounts(value.as_object()?)),
            Keep::Annotations => Some(self.annotations(value.as_object()?)),
            Keep::Expressions => self.expression(value),
            Keep::NodeFields => {
                let fields = &[
                    ("key", Keep::Plain),
                    ("operator", Keep::Plain),
                    ("values", Keep::Name(Space::Node)),
                ];
                Some(fields_of(value, fields, self).into())
            }
            Keep::Taint => self.taint(value),
            Keep::Owners => self.owner(value),
        }
    }

    fn text(&mut self, value: &Value, space: Space) -> Option<Value> {
        value
            .as_str()
            .map(|real| self.names.name(space, real).into())
    }

    fn labels(&mut self, labels: &Map<String, Value>) -> Value {
        let pair = |(key, value): (&String, &Value)| {
            let value = self.names.value(key, value.as_str()?);
            Some((self.names.name(Space::Key, key), value.into()))
        };
        labels.iter().filter_map(pair).collect::<Map<_, _>>().into()
    }

    fn amounts(&mut self, amounts: &Map<String, Value>) -> Value {
        let pair = |(resource, amount): (&String, &Value)| {
            (self.names.name(Space::Resource, resource), amount.clone())
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
        for (name, value) in annotations
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
        {
            let value = match name {
                MIRROR => "mirror".to_owned(),
                STORAGE_CLASS => self.names.name(Space::Storage, value),
                _ if ANNOTATIONS.contains(&name) => value.to_owned(),
                _ => continue,
            };
            kept.insert(name.to_owned(), value.into());
        }
        kept.into()
    }

    /// A requirement on a label.
    fn expression(&mut self, value: &Value) -> Option<Value> {
        let key = value.get("key")?.as_str()?;
        self.order(key, value);
        let mut kept = fields_of(
            value,
            &[("key", Keep::Key), ("operator", Keep::Plain)],
            self,
        );
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
        self.order(key, value);
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

    /// Numbers stay numbers where they are compared.
    fn order(&mut self, key: &str, value: &Value) {
        if matches!(
            value.get("operator").and_then(Value::as_str),
            Some("Gt" | "Lt")
        ) {
            self.names.compared(key);
        }
    }

    fn owner(&mut self, value: &Value) -> Option<Value> {
        let kind = value.get("kind")?.as_str()?;
        let space = match kind {
            "Node" => Space::Node,
            "Pod" => Space::Pod,
            "ReplicaSet" => Space::ReplicaSet,
            "ReplicationController" => Space::ReplicationController,
            "Job" => Space::Job,
            _ => Space::Workload,
        };
        let fields = [
            ("kind", Keep::Name(Space::Kind)),
            ("name", Keep::Name(space)),
            ("uid", Keep::Name(Space::Uid)),
            ("controller", Keep::Plain),
        ];
        let mut kept = Map::new();
        for (name, keep) in fields {
            if let Some(found) = value.get(name) {
                kept.extend(self.keep(found, keep).map(|value| (name.to_owned(), value)));
            }
        }
        Some(kept.into())
    }
}

#[cfg(test)]
mod tests;
