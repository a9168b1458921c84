//! The parts of list and watch responses that the watcher reads.
//!
//! Items stay raw text, so that one item that cannot be decoded does not fail the others.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// A page of a list.
#[derive(Deserialize)]
pub(super) struct ListPage<'t> {
    #[serde(default)]
    pub(super) metadata: ListMetadata,
    #[serde(borrow, default)]
    pub(super) items: Option<Vec<&'t RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ListMetadata {
    pub(super) resource_version: String,
    pub(super) r#continue: String,
}

/// A line of a watch.
#[derive(Deserialize)]
pub(super) struct WatchEvent<'t> {
    #[serde(borrow, rename = "type")]
    pub(super) event: Cow<'t, str>,
    #[serde(borrow)]
    pub(super) object: &'t RawValue,
}

/// The fields of a `Status` object, which the API server sends instead of an event when a watch
/// fails.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WatchStatus {
    pub(super) code: u16,
    pub(super) message: String,
}

/// The only field of an object that matters for the position of a watch.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Versioned {
    metadata: VersionedMetadata,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct VersionedMetadata {
    resource_version: String,
}

/// Returns the resource version of an object, if it has one.
pub(super) fn resource_version(object: &str) -> Option<String> {
    let versioned: Versioned = serde_json::from_str(object).unwrap_or_default();
    Some(versioned.metadata.resource_version).filter(|version| !version.is_empty())
}
