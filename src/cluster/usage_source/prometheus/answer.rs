//! What Prometheus answers, read with mistrust: what is no number is no number.
//!
//! The format is that of <https://prometheus.io/docs/prometheus/latest/querying/api/>.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::cluster::error_text::said;

use super::trouble::Trouble;

/// The answer to one query.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Answer {
    pub(super) series: Vec<Series>,
    /// What cannot be read of it, with the labels of the series where these could be.
    pub(super) refused: Vec<(Labels, String)>,
}

pub(super) type Labels = BTreeMap<String, String>;

/// One series: values that are finite and not negative, each with the millisecond of Unix time that it is for.
#[derive(Debug, PartialEq)]
pub(super) struct Series {
    pub(super) labels: Labels,
    pub(super) points: Vec<(i64, f64)>,
}

impl Answer {
    /// Takes every value for one of this moment, which was asked about: whoever rounds it does so in each answer anew.
    pub(super) fn all_at(&mut self, at: i64) {
        for series in &mut self.series {
            series.points.truncate(1);
            series.points.iter_mut().for_each(|point| point.0 = at);
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'t> {
    status: String,
    #[serde(borrow)]
    data: Option<Data<'t>>,
    #[serde(default)]
    error_type: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    warnings: Option<Vec<String>>,
    /// VictoriaMetrics: whether some of its stores did not answer.
    #[serde(default)]
    is_partial: bool,
}

/// How Prometheus 3 begins a remark on a query that takes nothing from its answer. Prometheus and Mimir list those apart, as
/// `infos`; Thanos lists them among its warnings.
const REMARK: &str = "PromQL info: ";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data<'t> {
    result_type: String,
    #[serde(borrow)]
    result: Option<&'t RawValue>,
}

#[derive(Deserialize)]
struct Item {
    metric: Labels,
    #[serde(default)]
    value: Option<Value>,
    #[serde(default)]
    values: Option<Vec<Value>>,
}

/// Reads the series of an instant or a range query.
pub(super) fn series(query: &'static str, text: &str) -> Result<Answer, Trouble> {
    let (kind, result) = open(query, text)?;
    if kind != "vector" && kind != "matrix" {
        return Err(Trouble::Shape { query, found: kind });
    }
    let items: Vec<&RawValue> = serde_json::from_str(result.get()).map_err(|_| Trouble::Shape {
        query,
        found: "no list of series".to_owned(),
    })?;
    let mut answer = Answer::default();
    for item in items {
        take(item.get(), &mut answer);
    }
    Ok(answer)
}

/// Reads what time it is there, from the answer to the query `time()`.
pub(super) fn time(text: &str) -> Result<i64, Trouble> {
    const QUERY: &str = "time()";
    let (kind, result) = open(QUERY, text)?;
    let bad = || Trouble::Shape {
        query: QUERY,
        found: kind.clone(),
    };
    let value: Value = serde_json::from_str(result.get()).map_err(|_| bad())?;
    // Prometheus gives a scalar here, VictoriaMetrics a vector of one.
    let point = if kind == "vector" {
        value.pointer("/0/value").cloned().ok_or_else(bad)?
    } else {
        value
    };
    point_of(&point).map(|(at, _)| at).map_err(|_| bad())
}

/// The type of the result, and the result. Whoever answers in part only does not say which part.
fn open<'t>(query: &'static str, text: &'t str) -> Result<(String, &'t RawValue), Trouble> {
    let envelope: Envelope<'_> =
        serde_json::from_str(text).map_err(|e| Trouble::Nonsense(e.to_string()))?;
    if envelope.status != "success" {
        let Envelope {
            error_type, error, ..
        } = envelope;
        return Err(Trouble::Refused {
            query,
            why: said(&format!("{error_type}: {error}")),
        });
    }
    if let Some(warning) = envelope
        .warnings
        .unwrap_or_default()
        .into_iter()
        .find(|text| !text.starts_with(REMARK))
    {
        return Err(Trouble::Partial {
            query,
            warning: said(&warning),
        });
    }
    if envelope.is_partial {
        return Err(Trouble::Partial {
            query,
            warning: "isPartial: true".to_owned(),
        });
    }
    let data = envelope
        .data
        .ok_or_else(|| Trouble::Nonsense("no `data`".to_owned()))?;
    let result = data
        .result
        .ok_or_else(|| Trouble::Nonsense("no `data.result`".to_owned()))?;
    Ok((data.result_type, result))
}

fn take(text: &str, answer: &mut Answer) {
    let Ok(item) = serde_json::from_str::<Item>(text) else {
        let labels = serde_json::from_str::<Value>(text)
            .ok()
            .and_then(|v| Labels::deserialize(v.get("metric")?).ok());
        return answer
            .refused
            .push((labels.unwrap_or_default(), "no series".to_owned()));
    };
    let values = item
        .values
        .unwrap_or_else(|| item.value.into_iter().collect());
    if values.is_empty() {
        // Native histograms have no `value`.
        return answer
            .refused
            .push((item.metric, "no number, but perhaps a histogram".to_owned()));
    }
    let (mut points, mut why) = (Vec::with_capacity(values.len()), None);
    for value in &values {
        match point_of(value) {
            Ok(point) if points.last().is_some_and(|(last, _)| *last >= point.0) => {
                why = why.or(Some("times that do not rise".to_owned()));
            }
            Ok(point) => points.push(point),
            Err(error) => why = why.or(Some(error)),
        }
    }
    answer
        .refused
        .extend(why.map(|why| (item.metric.clone(), why)));
    if !points.is_empty() {
        answer.series.push(Series {
            labels: item.metric,
            points,
        });
    }
}

/// `[1435781451.781, "0.5"]`
fn point_of(value: &Value) -> Result<(i64, f64), String> {
    let parts = value
        .as_array()
        .filter(|p| p.len() == 2)
        .ok_or("no pair of time and value")?;
    let seconds = parts[0]
        .as_f64()
        .filter(|s| s.is_finite() && s.abs() < 1e11)
        .ok_or("no time")?;
    let text = parts[1].as_str().ok_or("a value that is no text")?;
    let value: f64 = text
        .parse()
        .map_err(|_| format!("{} is no number", said(text)))?;
    if !value.is_finite() {
        return Err(format!("{text} is no amount"));
    }
    if value < 0.0 {
        return Err("less than nothing".to_owned());
    }
    Ok((millis(seconds), value))
}

#[expect(clippy::cast_possible_truncation, reason = "the caller bounds it")]
fn millis(seconds: f64) -> i64 {
    (seconds * 1000.0).round() as i64
}
