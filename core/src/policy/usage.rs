//! The section `usage`: how usage is measured and smoothed.

use jiff::SignedDuration;
use serde_json::json;

use super::PrometheusPolicy;
use super::help;
use super::prometheus::prometheus;
use crate::schema::compare::{ONE_MINUTE, ONE_SECOND, named_time, time};
use crate::schema::item::Item;
use crate::schema::kind::{Choice, Kind, choice, duration, duration_item, ratio_item, whole};
use crate::schema::problem::Code;
use crate::schema::read::{Bound, Fields, Spot};
use crate::schema::section::{Section, map_if};
use crate::schema::tree::Value;
use crate::values::Ratio;

/// How usage is measured and smoothed.
#[derive(Clone, Debug, PartialEq)]
pub struct UsagePolicy {
    /// The source of samples.
    pub source: SourceKind,
    /// The source of samples while those of `source` are stale.
    pub fallback: Option<SourceKind>,
    /// How Prometheus is queried; present whenever it is the source or the fallback, or there are
    /// guards.
    pub prometheus: Option<PrometheusPolicy>,
    /// Time between two polls.
    pub poll: SignedDuration,
    /// How far back samples count.
    pub window: SignedDuration,
    /// How samples become one value.
    pub smoothing: Smoothing,
    /// The age of the newest sample from which on usage is unknown.
    pub stale_after: SignedDuration,
    /// Usage is unknown with fewer samples in the window.
    pub min_samples: u32,
    /// The period after now whose expected usage decides; `None` decides by the present.
    pub ahead: Option<SignedDuration>,
    /// The period after now whose mean usage is expected by trend.
    pub look_ahead: SignedDuration,
    /// Whether every sample counts, also one that cannot be right, and nodes have the average of a
    /// running descheduler as well. No file sets this, only [`Policy::exactly`](super::Policy).
    pub every_sample: bool,
}

impl UsagePolicy {
    /// The default of `staleAfter`.
    pub const STALE_AFTER: SignedDuration = SignedDuration::from_secs(90);

    /// Returns true if Prometheus is the source or the fallback.
    pub fn reads_prometheus(&self) -> bool {
        [Some(self.source), self.fallback].contains(&Some(SourceKind::Prometheus))
    }

    /// Returns the period in which the weight of a sample halves where samples are weighed by age.
    pub fn half_life(&self) -> SignedDuration {
        self.smoothing.half_life().unwrap_or(self.window / 2)
    }

    /// Returns the period after now whose mean usage is expected by trend; `None` unless samples
    /// are smoothed that way.
    pub fn look_ahead(&self) -> Option<SignedDuration> {
        (self.smoothing == Smoothing::Trend).then_some(self.look_ahead)
    }

    /// Returns how far back a trend looks; `None` unless samples are smoothed that way.
    pub fn trend_past(&self) -> Option<SignedDuration> {
        (self.smoothing == Smoothing::Trend).then_some(TREND_PAST)
    }
}

crate::names! {
    /// A source of samples.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SourceKind {
        /// The resource metrics API, metrics.k8s.io, as metrics-server serves it.
        MetricsApi = "metricsApi",
        /// Prometheus, or a server with the same API.
        Prometheus = "prometheus",
    }
    /// The word for it in policies, logs and metrics.
    pub fn label;
}

/// The half-life of present usage, where the trend of usage decides.
const TREND_HALF_LIFE: SignedDuration = SignedDuration::from_mins(2);

/// The period before now from which the trend of usage is learned.
pub(crate) const TREND_PAST: SignedDuration = SignedDuration::from_hours(2);

/// The default of `lookAhead`. With half an hour, cuts of the contest need 4 to 9 % more
/// evictions, see `docs/decisions/usage.md`.
const LOOK_AHEAD: SignedDuration = SignedDuration::from_mins(15);

/// The longest `lookAhead`: the factors and the error of a trend are those of half an hour.
const MOST_LOOK_AHEAD: SignedDuration = SignedDuration::from_hours(1);

/// How samples become one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Smoothing {
    /// An average in which a sample's weight halves with each such period of age. It also counts
    /// samples from before the window.
    HalfLife(SignedDuration),
    /// The usage of the period `lookAhead` that follows from the trend of the node.
    Trend,
    /// All samples of the window count alike.
    Mean,
    /// The largest sample.
    Max,
    /// The smallest value that at least this share of the samples does not exceed.
    Percentile(Ratio),
}

impl Smoothing {
    /// Returns the period in which the weight of a sample halves; `None` if age does not matter.
    pub const fn half_life(self) -> Option<SignedDuration> {
        match self {
            Smoothing::HalfLife(half) => Some(half),
            Smoothing::Trend => Some(TREND_HALF_LIFE),
            Smoothing::Mean | Smoothing::Max | Smoothing::Percentile(_) => None,
        }
    }

    /// The stable label.
    pub const fn label(self) -> &'static str {
        match self {
            Smoothing::HalfLife(_) => "half_life",
            Smoothing::Trend => "trend",
            Smoothing::Mean => "mean",
            Smoothing::Max => "max",
            Smoothing::Percentile(_) => "percentile",
        }
    }
}

const SOURCES: [Choice<SourceKind>; 2] = [
    (
        SourceKind::MetricsApi.label(),
        SourceKind::MetricsApi,
        "the resource metrics API, metrics.k8s.io, as metrics-server serves it",
    ),
    (
        SourceKind::Prometheus.label(),
        SourceKind::Prometheus,
        "Prometheus or a server with the same API (Thanos, Mimir, VictoriaMetrics); set `prometheus` below",
    ),
];

/// The same sources, explained once.
const FALLBACKS: [Choice<SourceKind>; 2] =
    [(SOURCES[0].0, SOURCES[0].1, ""), (SOURCES[1].0, SOURCES[1].1, "")];

/// Declares `usage`.
pub(super) fn usage() -> Section<UsagePolicy> {
    let section = Section::new(UsagePolicy {
        source: SourceKind::MetricsApi,
        fallback: None,
        prometheus: None,
        poll: SignedDuration::from_secs(15),
        window: SignedDuration::from_mins(5),
        smoothing: Smoothing::Trend,
        stale_after: UsagePolicy::STALE_AFTER,
        min_samples: 3,
        ahead: None,
        look_ahead: LOOK_AHEAD,
        every_sample: false,
    });
    samples(sources(section)).check(|f, usage| {
        if f.sound() {
            check_sources(f, usage);
            check_times(f, usage);
            check_look_ahead(f, usage);
        }
    })
}

fn sources(section: Section<UsagePolicy>) -> Section<UsagePolicy> {
    section
        .field("source", choice(&SOURCES), |u| &mut u.source)
        .help("The source of usage samples:")
        .field("fallback", choice(&FALLBACKS).optional(), |u| &mut u.fallback)
        .help(
            "The source to use while the samples of `source` are stale: the other one of the two.",
        )
        .off("prometheus")
        .field("prometheus", map_if(prometheus(), |p| !p.url.is_empty()), |u| &mut u.prometheus)
        .help(
            "How Prometheus is queried, for usage and for `guards`. The url is enough if Prometheus scrapes the kubelets, as kube-prometheus-stack does.",
        )
}

fn samples(section: Section<UsagePolicy>) -> Section<UsagePolicy> {
    section
        .field("poll", duration(ONE_SECOND), |u| &mut u.poll)
        .help(
            "Time between two polls. Polling more often than the source updates its values has no benefit.",
        )
        .field("window", duration(ONE_SECOND), |u| &mut u.window)
        .help("How far back samples count, except for `trend` and an average with a half-life.")
        .field("smoothing", smoothing(), |u| &mut u.smoothing)
        .help("How samples become one value:")
        .field("staleAfter", duration(ONE_SECOND), |u| &mut u.stale_after)
        .help(
            "Usage is unknown if the newest sample is older than this. At least `poll`. A node with unknown usage is not idle: a strategy by usage takes no pods from it, and counts a landing there as a bad one (`forecast.tolerance`).",
        )
        .field("minSamples", whole(1), |u| &mut u.min_samples)
        .help(
            "Usage is also unknown with fewer samples in the window. The window must be long enough for them.",
        )
        .field("ahead", duration(ONE_MINUTE).optional(), |u| &mut u.ahead)
        .help(help::AHEAD)
        .off("2h")
        .field("lookAhead", duration(ONE_MINUTE), |u| &mut u.look_ahead)
        .help(
            "With `smoothing: trend`, the period from now whose expected usage decides. A node is hot if its mean usage in this period is expected to be above a target, and a replacement must not make a node hot in it. At most 1h: how well a trend is known is learned for half an hour.",
        )
}

/// Refuses a period that is longer than a trend is known for, and warns of one that no smoothing
/// looks at.
fn check_look_ahead(f: &mut Fields<'_, '_>, usage: &UsagePolicy) {
    if usage.look_ahead > MOST_LOOK_AHEAD {
        let sentence = format!(
            "is {:#}, but must be at most {MOST_LOOK_AHEAD:#}, because a trend is learned for half an hour",
            usage.look_ahead
        );
        f.complain(Code::OutOfRange, "lookAhead", sentence);
    }
    if usage.look_ahead != LOOK_AHEAD && usage.look_ahead().is_none() {
        let sentence = "has no effect without `smoothing: trend`";
        f.warn(Code::Ignored, "lookAhead", sentence);
    }
}

/// How `prometheus` fits `source` and `fallback`.
fn check_sources(f: &mut Fields<'_, '_>, usage: &UsagePolicy) {
    if usage.fallback == Some(usage.source) {
        let sentence = "this is the source already; name the other one, or remove the field";
        f.complain(Code::Conflict, "fallback", sentence);
    }
    let needed = usage.reads_prometheus() || f.has("prometheus");
    if needed && usage.prometheus.is_none() {
        f.complain(Code::MissingField, "prometheus", NO_URL);
    }
}

const NO_URL: &str = "missing, expected the address of Prometheus: `prometheus: {url: \"http://prometheus.monitoring:9090\"}`";

/// How the durations fit each other: otherwise usage would always be unknown.
fn check_times(f: &mut Fields<'_, '_>, usage: &UsagePolicy) {
    let intervals = i32::try_from(usage.min_samples - 1).unwrap_or(i32::MAX);
    let window = time("window", usage.window);
    let stale_after = time("staleAfter", usage.stale_after);
    let field = if f.has("minSamples") { "minSamples" } else { "poll" };
    let least = usage.poll.saturating_mul(intervals);
    f.ordered(&named_time(field, "poll × (minSamples − 1)", least), &window);
    f.ordered(&time("poll", usage.poll), &stale_after);
    let prometheus = usage.prometheus.as_ref();
    if let Some(prometheus) = prometheus.filter(|_| usage.reads_prometheus()) {
        let scrape = prometheus.scrape_interval;
        f.ordered(&of_prometheus("prometheus.scrapeInterval", scrape), &stale_after);
        let least = scrape.saturating_mul(intervals);
        f.ordered(&of_prometheus("prometheus.scrapeInterval × (minSamples − 1)", least), &window);
    }
}

fn of_prometheus(name: &str, value: SignedDuration) -> Bound<'_, SignedDuration> {
    named_time("prometheus", name, value)
}

const SMOOTHING: &str = "trend, mean, max, {halfLife: 10m} or {percentile: 95}";

fn smoothing() -> Kind<Smoothing> {
    let schema = json!({"anyOf": [
        {"enum": ["trend", "mean", "max"]},
        {"type": "object", "required": ["halfLife"], "additionalProperties": false,
         "properties": {"halfLife": {"$ref": "#/$defs/duration"}}},
        {"type": "object", "required": ["percentile"], "additionalProperties": false,
         "properties": {"percentile": {"$ref": "#/$defs/percentage"}}}]});
    let write = |smoothing: &Smoothing| {
        Some(match smoothing {
            Smoothing::Trend => Item::text("trend"),
            Smoothing::Mean => Item::text("mean"),
            Smoothing::Max => Item::text("max"),
            Smoothing::HalfLife(half) => Item::one("halfLife", duration_item(*half)),
            Smoothing::Percentile(percentile) => Item::one("percentile", ratio_item(*percentile)),
        })
    };
    let words = "`trend`, `mean`, `max`, `{halfLife: …}` or `{percentile: …}`";
    let choices = vec![
        (
            "trend",
            "the mean that is expected in the period `lookAhead`: evenkeel learns from the last two hours of each node whether a change of its usage lasts and whether a rise goes on",
        ),
        (
            "{halfLife: 10m}",
            "an average in which the weight of a sample halves with every ten minutes of age; it also counts samples from before the window",
        ),
        ("mean", "all samples count alike"),
        ("max", "the largest sample: cautious, plans for the peak"),
        ("{percentile: 95}", "the value that 95 % of the samples do not exceed"),
    ];
    Kind::new(words, schema, read_smoothing, write).described(|form| form.choices = choices)
}

fn read_smoothing(spot: Spot<'_, '_>) -> Option<Smoothing> {
    let place = spot.place();
    match &spot.node()?.value {
        Value::Text(word) if word == "trend" => Some(Smoothing::Trend),
        Value::Text(word) if word == "mean" => Some(Smoothing::Mean),
        Value::Text(word) if word == "max" => Some(Smoothing::Max),
        Value::Map(_) => spot.section(|f| {
            let half = f.field("halfLife").duration(ONE_SECOND).map(Smoothing::HalfLife);
            let percentile = f.field("percentile").percentile();
            if f.has("halfLife") == f.has("percentile") {
                let sentence = format!("give one way of smoothing: {SMOOTHING}");
                f.complain_at(Code::Conflict, &place, sentence);
            }
            half.or(percentile.map(Smoothing::Percentile))
        }),
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::List(_) => spot.refuse(Code::WrongType, SMOOTHING),
    }
}
