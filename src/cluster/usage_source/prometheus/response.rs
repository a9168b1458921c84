//! Parses responses of the Prometheus HTTP API and rejects every value that is not a usable number.
//!
//! Format: <https://prometheus.io/docs/prometheus/latest/querying/api/>.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::cluster::error_text::one_line;

use super::error::PrometheusError;
use super::labels::SeriesLabels;

/// How Prometheus 3 starts a remark that takes nothing from the result. Prometheus and Mimir list
/// remarks under `infos`; Thanos lists them under `warnings`.
const REMARK: &str = "PromQL info: ";

/// The expected result of a usage query.
const SERIES: &str = "a vector of series";

/// The parsed result of one query.
#[derive(Debug, Default, PartialEq)]
pub(super) struct QueryResult {
    pub(super) series: Vec<TimeSeries>,
    /// Rejected series and values, each with the labels (if readable) and the reason.
    pub(super) rejected: Vec<(SeriesLabels, String)>,
}

/// Values of one series, each with its time in milliseconds of Unix time. Those of usage are finite
/// and not negative.
#[derive(Debug, PartialEq)]
pub(super) struct TimeSeries {
    pub(super) labels: SeriesLabels,
    pub(super) points: Vec<(i64, f64)>,
}

impl QueryResult {
    /// Sets the time of every value to the requested one, because servers round it differently from
    /// query to query.
    pub(super) fn set_time(&mut self, at: i64) {
        for series in &mut self.series {
            series.points.truncate(1);
            series.points.iter_mut().for_each(|point| point.0 = at);
        }
    }

    fn add(&mut self, item: &str) {
        let Ok(item) = serde_json::from_str::<SeriesItem>(item) else {
            self.rejected.push((labels_of(item), "not a series".to_owned()));
            return;
        };
        let values = item.values.unwrap_or_else(|| item.value.into_iter().collect());
        if values.is_empty() {
            // A native histogram has the field `histogram` instead of `value`.
            let why = "no value, perhaps a native histogram".to_owned();
            self.rejected.push((item.metric, why));
            return;
        }
        let (points, why) = points_of(&values);
        self.rejected.extend(why.map(|why| (item.metric.clone(), why)));
        if !points.is_empty() {
            self.series.push(TimeSeries { labels: item.metric, points });
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ApiResponse<'t> {
    status: String,
    #[serde(borrow)]
    data: Option<ResponseData<'t>>,
    #[serde(default)]
    error_type: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    warnings: Option<Vec<String>>,
    /// VictoriaMetrics: whether some of its storage nodes did not respond.
    #[serde(default)]
    is_partial: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResponseData<'t> {
    result_type: String,
    #[serde(borrow)]
    result: Option<&'t RawValue>,
}

#[derive(Deserialize)]
struct SeriesItem {
    metric: SeriesLabels,
    #[serde(default)]
    value: Option<Value>,
    #[serde(default)]
    values: Option<Vec<Value>>,
}

impl ApiResponse<'_> {
    /// The sign of a partial result, if there is one. A partial result does not say which part is
    /// missing.
    fn partial(&self) -> Option<String> {
        let mut warnings = self.warnings.iter().flatten();
        match warnings.find(|text| !text.starts_with(REMARK)) {
            Some(warning) => Some(one_line(warning)),
            None => self.is_partial.then(|| "isPartial: true".to_owned()),
        }
    }
}

/// Reads the series of an instant or a range query.
pub(super) fn series(query: &'static str, text: &str) -> Result<QueryResult, PrometheusError> {
    let mut result = QueryResult::default();
    for item in items(query, text)? {
        result.add(item.get());
    }
    Ok(result)
}

/// Reads the series of a query whose values may be any; a scalar is one without labels. A series
/// that cannot be read is an error, because its value may be above a limit.
pub(super) fn unchecked_series(
    query: &'static str,
    text: &str,
) -> Result<Vec<TimeSeries>, PrometheusError> {
    let unreadable = |why: &str| PrometheusError::InvalidResponse(why.to_owned());
    let (result_type, result) = open(query, text)?;
    if result_type == "scalar" {
        let point = serde_json::from_str(result.get()).map_err(|error| error.to_string());
        let point = point.and_then(|point| number_of(&point));
        return Ok(vec![TimeSeries {
            labels: SeriesLabels::default(),
            points: vec![point.map_err(|why| unreadable(&why))?],
        }]);
    }
    let series = |item: &RawValue| {
        let item: SeriesItem =
            serde_json::from_str(item.get()).map_err(|error| unreadable(&error.to_string()))?;
        let values = item.values.unwrap_or_else(|| item.value.into_iter().collect());
        let points: Result<Vec<_>, String> = values.iter().map(number_of).collect();
        let points = points.map_err(|why| unreadable(&why))?;
        if points.is_empty() {
            return Err(unreadable("a series has no value, perhaps a native histogram"));
        }
        Ok(TimeSeries { labels: item.metric, points })
    };
    items(query, text)?.into_iter().map(series).collect()
}

/// Returns the series of a response, unread.
fn items<'t>(query: &'static str, text: &'t str) -> Result<Vec<&'t RawValue>, PrometheusError> {
    let (result_type, result) = open(query, text)?;
    if result_type != "vector" && result_type != "matrix" {
        return Err(PrometheusError::ResultType {
            query,
            found: format!("a {result_type}"),
            expected: SERIES,
        });
    }
    serde_json::from_str(result.get()).map_err(|_| PrometheusError::ResultType {
        query,
        found: "no list of series".to_owned(),
        expected: SERIES,
    })
}

/// Reads the server's time, in milliseconds, from the response to the query `time()`.
pub(super) fn time(text: &str) -> Result<i64, PrometheusError> {
    let (result_type, result) = open(super::TIME, text)?;
    let point = match serde_json::from_str::<Value>(result.get()) {
        // Prometheus returns a scalar, VictoriaMetrics a vector of one.
        Ok(value) if result_type == "vector" => value.pointer("/0/value").cloned(),
        other => other.ok(),
    };
    let time = point.and_then(|point| point_of(&point).ok());
    time.map(|(at, _)| at).ok_or(PrometheusError::ResultType {
        query: super::TIME,
        found: format!("a {result_type}"),
        expected: "a scalar",
    })
}

/// Returns the type of the result and the result itself.
fn open<'t>(query: &'static str, text: &'t str) -> Result<(String, &'t RawValue), PrometheusError> {
    let response: ApiResponse<'_> =
        serde_json::from_str(text).map_err(|e| PrometheusError::InvalidResponse(e.to_string()))?;
    if response.status != "success" {
        let why = one_line(&format!("{}: {}", response.error_type, response.error));
        return Err(PrometheusError::QueryRejected { query, why });
    }
    if let Some(warning) = response.partial() {
        return Err(PrometheusError::Partial { query, warning });
    }
    let data = response.data.ok_or_else(|| missing("data"))?;
    let result = data.result.ok_or_else(|| missing("data.result"))?;
    Ok((data.result_type, result))
}

fn missing(field: &str) -> PrometheusError {
    PrometheusError::InvalidResponse(format!("no `{field}`"))
}

fn labels_of(item: &str) -> SeriesLabels {
    let value: Option<Value> = serde_json::from_str(item).ok();
    value.and_then(|v| SeriesLabels::deserialize(v.get("metric")?).ok()).unwrap_or_default()
}

/// Returns the usable points and the first reason for which one was rejected.
fn points_of(values: &[Value]) -> (Vec<(i64, f64)>, Option<String>) {
    let mut points: Vec<(i64, f64)> = Vec::with_capacity(values.len());
    let mut why = None;
    for value in values {
        match point_of(value) {
            Ok(point) if points.last().is_some_and(|(last, _)| *last >= point.0) => {
                why = why.or(Some("times do not increase".to_owned()));
            }
            Ok(point) => points.push(point),
            Err(error) => why = why.or(Some(error)),
        }
    }
    (points, why)
}

/// Reads a sample with a usable number.
fn point_of(value: &Value) -> Result<(i64, f64), String> {
    let (at, number) = number_of(value)?;
    if !number.is_finite() {
        let text = value.get(1).and_then(Value::as_str).unwrap_or_default();
        return Err(format!("{text} is not finite"));
    }
    if number < 0.0 {
        return Err("negative value".to_owned());
    }
    Ok((at, number))
}

/// Reads a sample such as `[1435781451.781, "0.5"]`.
fn number_of(value: &Value) -> Result<(i64, f64), String> {
    let Some([time, value]) = value.as_array().map(Vec::as_slice) else {
        return Err("not a pair of time and value".to_owned());
    };
    let seconds =
        time.as_f64().filter(|s| s.is_finite() && s.abs() < 1e11).ok_or("invalid time")?;
    let text = value.as_str().ok_or("the value is not a string")?;
    let value: f64 = text.parse().map_err(|_| format!("{} is not a number", one_line(text)))?;
    Ok((millis(seconds), value))
}

#[expect(clippy::cast_possible_truncation, reason = "the caller limits the value")]
fn millis(seconds: f64) -> i64 {
    (seconds * 1000.0).round() as i64
}
