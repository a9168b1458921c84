//! One object of a file, by what becomes of it.

use serde_json::Value;

use crate::model::guard::recorded::GuardHistory;
use crate::model::ledger::Ledger;
use crate::model::snapshot::facts::Skipped;
use crate::model::snapshot::import;
use crate::model::snapshot::objects::{Object, ObjectKind};
use crate::model::usage::recorded::object::{self, HistoryItem};

/// One object of a document.
pub(super) enum ObjectItem {
    Object(Box<Object>),
    Skipped(ObjectKind, Box<Skipped>),
    Metrics(Value),
    History(Result<Box<HistoryItem>, Box<Skipped>>),
    Guard(Result<Box<GuardHistory>, Box<Skipped>>),
    Ledger((String, String), String),
    Unused(String),
    /// A list of one kind, which may be empty, or a part of one that goes on.
    Listed {
        kind: ObjectKind,
        goes_on: bool,
    },
}

impl ObjectItem {
    pub(super) fn new(value: Value) -> Self {
        let kind = text_at(&value, "/kind").to_owned();
        if text_at(&value, "/apiVersion").starts_with("metrics.k8s.io/") {
            return ObjectItem::Metrics(value);
        }
        if let Some(item) = object::read(&value) {
            return ObjectItem::History(item.map(Box::new).map_err(Box::new));
        }
        if let Some(series) = GuardHistory::read(&value) {
            return ObjectItem::Guard(series.map(Box::new).map_err(Box::new));
        }
        if let Some(ledger) = ObjectItem::ledger(&value) {
            return ledger;
        }
        match import::object(&value) {
            Ok(Some(object)) => ObjectItem::Object(Box::new(object)),
            Err((kind, skipped)) => ObjectItem::Skipped(kind, Box::new(skipped)),
            Ok(None) if kind.is_empty() => ObjectItem::Unused("without a kind".to_owned()),
            Ok(None) => ObjectItem::Unused(kind),
        }
    }

    /// The ledger in a ConfigMap; `None` for any other object.
    fn ledger(value: &Value) -> Option<Self> {
        let name = text_at(value, "/metadata/name");
        if text_at(value, "/kind") != "ConfigMap" || name.is_empty() {
            return None;
        }
        let text = value.get("data")?.get(Ledger::KEY)?.as_str()?.to_owned();
        let namespace = text_at(value, "/metadata/namespace");
        Some(ObjectItem::Ledger((namespace.to_owned(), name.to_owned()), text))
    }
}

/// The text at a JSON pointer; empty if there is none.
fn text_at<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
