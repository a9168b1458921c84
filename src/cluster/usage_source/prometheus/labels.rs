//! The labels of a series.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use crate::cluster::error_text::one_line;

/// The prefix of a label of a series that the scraped target has as well.
const EXPORTED: &str = "exported_";

/// Labels by name, sorted. A series has few, so a map would take three times the memory, and a
/// large cluster has a hundred thousand series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SeriesLabels(Vec<(String, String)>);

impl SeriesLabels {
    /// The value of a label.
    pub(super) fn get(&self, name: &str) -> Option<&String> {
        self.iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }

    /// The value of the label that the series itself has; an empty one counts as absent, as in
    /// Prometheus. Where a label of the scraped target has the same name, Prometheus puts
    /// `exported_` before that of the series, unless `honor_labels` is set.
    pub(super) fn own(&self, name: &str) -> Option<String> {
        let value = self.renamed(name).or_else(|| self.filled(name));
        value.cloned()
    }

    /// Whether `pod` or `namespace` belong to the scraped target, and not to the measured pod.
    pub(super) fn names_another_pod(&self) -> bool {
        ["pod", "namespace"].iter().any(|name| self.renamed(name).is_some())
    }

    fn renamed(&self, name: &str) -> Option<&String> {
        self.filled(&format!("{EXPORTED}{name}"))
    }

    fn filled(&self, name: &str) -> Option<&String> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// The first labels, as in `{node="n1"}`.
    pub(super) fn shown(&self) -> String {
        let first = self.iter().take(4);
        let labels = first.map(|(name, value)| format!("{name}={value:?}"));
        one_line(&format!("{{{}}}", labels.collect::<Vec<_>>().join(",")))
    }

    /// The names and values.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(String, String)> {
        self.0.iter()
    }
}

impl<'de> Deserialize<'de> for SeriesLabels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(LabelsVisitor)
    }
}

struct LabelsVisitor;

impl<'de> Visitor<'de> for LabelsVisitor {
    type Value = SeriesLabels;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of labels")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<SeriesLabels, M::Error> {
        let mut labels = Vec::new();
        while let Some(label) = map.next_entry::<String, String>()? {
            labels.push(label);
        }
        labels.sort();
        Ok(SeriesLabels(labels))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_sorted_and_anything_but_text_is_an_error() {
        let labels: SeriesLabels = serde_json::from_str(r#"{"pod":"web","node":"n1"}"#).unwrap();
        let names: Vec<&str> = labels.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["node", "pod"]);
        assert_eq!(labels.get("pod").unwrap(), "web");
        assert_eq!(labels.get("namespace"), None);
        for invalid in [r#"{"pod":1}"#, r#"["pod"]"#, "null"] {
            assert!(serde_json::from_str::<SeriesLabels>(invalid).is_err(), "{invalid}");
        }
    }
}
