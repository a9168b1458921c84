//! One query of the Prometheus HTTP API: its path and its parameters.

/// Parameters that Prometheus ignores and that make compatible servers respond as Prometheus does.
const COMPATIBILITY: [(&str, &str); 4] = [
    // Thanos and VictoriaMetrics: fail instead of returning a partial result.
    ("partial_response", "false"),
    ("deny_partial_response", "1"),
    // VictoriaMetrics: return the newest samples. By default it hides the last 30 s.
    ("latency_offset", "1s"),
    // VictoriaMetrics: evaluate at the given times. Its cache rounds them.
    ("nocache", "1"),
];

/// A PromQL expression and the times to evaluate it at.
#[derive(Clone, Copy, Debug)]
pub(super) struct PromQuery<'q> {
    /// Its name in the policy, for errors.
    pub(super) name: &'static str,
    pub(super) promql: &'q str,
    pub(super) times: QueryTimes,
}

/// Evaluation times, in milliseconds of Unix time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryTimes {
    /// The server's own present time.
    ServerNow,
    At(i64),
    Range {
        start: i64,
        end: i64,
        step: i64,
    },
}

impl QueryTimes {
    pub(super) const fn is_range(self) -> bool {
        matches!(self, QueryTimes::Range { .. })
    }

    pub(super) const fn path(self) -> &'static str {
        if self.is_range() { "/api/v1/query_range" } else { "/api/v1/query" }
    }

    /// The parameters besides the query itself.
    pub(super) fn params(self) -> Vec<(&'static str, String)> {
        let mut params = match self {
            QueryTimes::ServerNow => Vec::new(),
            QueryTimes::At(at) => vec![("time", seconds(at))],
            QueryTimes::Range { start, end, step } => {
                vec![("start", seconds(start)), ("end", seconds(end)), ("step", seconds(step))]
            }
        };
        params.extend(COMPATIBILITY.map(|(name, value)| (name, value.to_owned())));
        params
    }
}

/// Milliseconds as seconds with their fraction: `1435781451.781`.
fn seconds(millis: i64) -> String {
    format!("{}.{:03}", millis / 1000, millis % 1000)
}
