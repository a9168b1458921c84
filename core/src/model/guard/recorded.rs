//! Recorded series of guards as objects of a file: one for each series, with a list of values.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::snapshot::facts::Skipped;
use crate::model::usage::recorded::HistoryRange;
use crate::values::query_value::QueryValue;
use crate::values::text::duration;

use super::{GuardAnswer, GuardSeries};

const API_VERSION: &str = "evenkeel/v1alpha1";

/// One recorded series of a guard. A guard without a series has one without any value.
#[derive(Clone, Debug, PartialEq)]
pub struct GuardHistory {
    /// The name of the guard.
    pub guard: String,
    /// The labels that name its target.
    pub labels: BTreeMap<String, String>,
    /// The times of the values.
    pub range: HistoryRange,
    /// The values; `None` where the series did not exist.
    pub values: Vec<Option<QueryValue>>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct GuardObject {
    api_version: String,
    kind: String,
    metadata: GuardName,
    start: Timestamp,
    step: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    values: Vec<Option<f64>>,
}

#[derive(Deserialize, Serialize)]
struct GuardName {
    name: String,
}

impl GuardHistory {
    /// The kind of the objects.
    pub const KIND: &str = "GuardHistory";

    /// Returns the series of a guard, from its answers at the times of a range.
    pub fn of(guard: &str, range: HistoryRange, answers: &[GuardAnswer]) -> Vec<Self> {
        let row = |labels| GuardHistory {
            guard: guard.to_owned(),
            labels,
            range,
            values: vec![None; range.steps],
        };
        let mut rows: BTreeMap<BTreeMap<String, String>, GuardHistory> = BTreeMap::new();
        for (position, answer) in answers.iter().enumerate() {
            for series in &answer.series {
                let labels = series.labels.clone();
                let row = rows.entry(labels.clone()).or_insert_with(|| row(labels));
                if let Some(value) = row.values.get_mut(position) {
                    *value = series.value.max(*value);
                }
            }
        }
        if rows.is_empty() {
            return vec![row(BTreeMap::new())];
        }
        rows.into_values().collect()
    }

    /// Returns the series as it was at a time; `None` if it did not exist.
    fn at(&self, at: Timestamp) -> Option<GuardSeries> {
        let value = *self.values.get(self.range.repeated_position(at)?)?;
        Some(GuardSeries { labels: self.labels.clone(), value: Some(value?) })
    }

    /// Returns the object as JSON.
    pub fn to_json(&self) -> Option<String> {
        // JSON has no infinite numbers.
        let finite = |value: QueryValue| value.get().clamp(f64::MIN, f64::MAX);
        let object = GuardObject {
            api_version: API_VERSION.to_owned(),
            kind: Self::KIND.to_owned(),
            metadata: GuardName { name: self.guard.clone() },
            start: self.range.start,
            step: duration(self.range.step),
            labels: self.labels.clone(),
            values: self.values.iter().map(|v| v.map(finite)).collect(),
        };
        serde_json::to_string(&object).ok()
    }

    /// Reads an object. Returns `None` if it is of another kind.
    pub fn read(value: &Value) -> Option<Result<Self, Skipped>> {
        let word = |key| value.get(key).and_then(Value::as_str);
        if word("apiVersion") != Some(API_VERSION) || word("kind") != Some(Self::KIND) {
            return None;
        }
        let name = value.pointer("/metadata/name").and_then(Value::as_str);
        let object = GuardObject::deserialize(value).map_err(|error| error.to_string());
        Some(object.and_then(GuardHistory::try_from).map_err(|why| Skipped {
            kind: Self::KIND.to_owned(),
            namespace: String::new(),
            name: name.unwrap_or_default().to_owned(),
            node: None,
            why,
        }))
    }
}

impl TryFrom<GuardObject> for GuardHistory {
    type Error = String;

    fn try_from(object: GuardObject) -> Result<Self, String> {
        let values = object.values.into_iter();
        Ok(GuardHistory {
            guard: object.metadata.name,
            labels: object.labels,
            range: HistoryRange {
                start: object.start,
                step: HistoryRange::step(&object.step)?,
                steps: values.len(),
            },
            values: values.map(|value| QueryValue::new(value?)).collect(),
        })
    }
}

/// Returns the recorded answer of a guard at a time; `None` if nothing of it was recorded. A
/// recording starts again after its end, as recorded usage does.
pub fn answer(all: &[GuardHistory], guard: &str, at: Timestamp) -> Option<GuardAnswer> {
    let mut own = all.iter().filter(|series| series.guard == guard).peekable();
    own.peek()?;
    let series = own.filter_map(|series| series.at(at)).collect();
    Some(GuardAnswer { at, series })
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn what_is_written_reads_back_and_answers_as_it_was() {
        let range = HistoryRange {
            start: Timestamp::UNIX_EPOCH,
            step: SignedDuration::from_mins(5),
            steps: 3,
        };
        let time = |minutes| Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes);
        let series = |pod: &str, value| GuardSeries {
            labels: BTreeMap::from([("pod".to_owned(), pod.to_owned())]),
            value: QueryValue::new(value),
        };
        let answers = [
            (0, vec![]),
            (5, vec![series("a", 0.5), series("b", f64::INFINITY)]),
            (10, vec![series("a", -1.0)]),
        ];
        let answers = answers.map(|(at, series)| GuardAnswer { at: time(at), series });
        let rows = GuardHistory::of("g", range, &answers);
        let quiet = GuardHistory::of("quiet", range, &answers[..1]);
        let texts = rows.iter().chain(&quiet).filter_map(GuardHistory::to_json);
        let read = texts.map(|text| {
            let value = serde_json::from_str(&text).unwrap();
            GuardHistory::read(&value).unwrap().unwrap()
        });
        let read: Vec<GuardHistory> = read.collect();
        assert_eq!(read.len(), 3);
        for minute in [0, 10] {
            let expected = &answers[usize::try_from(minute / 5).unwrap()];
            assert_eq!(answer(&read, "g", time(minute)).as_ref(), Some(expected));
        }
        let peak = answer(&read, "g", time(6)).unwrap();
        assert_eq!(peak.series[1].value, QueryValue::new(f64::MAX));
        assert_eq!(answer(&read, "quiet", time(5)).unwrap().series, []);
        let again = answer(&read, "g", time(20)).unwrap();
        assert_eq!(again.series, peak.series, "it starts again after 15 minutes");
        assert_eq!(answer(&read, "other", time(5)), None);
    }

    #[test]
    fn an_unreadable_object_is_named() {
        let text = r#"{"apiVersion": "evenkeel/v1alpha1", "kind": "GuardHistory",
            "metadata": {"name": "g"}, "start": "2026-11-20T12:00:00Z", "step": "0s", "values": []}"#;
        let value = serde_json::from_str(text).unwrap();
        let skipped = GuardHistory::read(&value).unwrap().unwrap_err();
        assert_eq!(
            skipped.to_string(),
            "GuardHistory g cannot be read: step: expected a duration of at least 1s, such as 5m"
        );
    }
}
