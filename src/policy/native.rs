//! The native format, `evenkeel/v1alpha1`. Its defaults stand here, each beside the field that it is for.

use jiff::SignedDuration;

use super::problem::Code;
use super::prometheus::prometheus;
use super::read::{Bound, Fields, Spot};
use super::rightsizing;
use super::scalar::percent;
use super::steering;
use super::strategies::strategy;
use super::tree::Value;
use super::{
    Basis, Cooldown, Evictable, Forecast, Limits, Names, Policy, PriorityThreshold, Profile,
    Protections, Safety, SchedulerProfile, Share, Smoothing, SourceKind, StorageClasses, Strategy,
    UsagePolicy,
};
use crate::values::Ratio;

/// What `apiVersion` says in a native file.
pub(super) const VERSION: &str = "evenkeel/v1alpha1";

const ONE_SECOND: SignedDuration = SignedDuration::from_secs(1);
const HALF_LIFE: SignedDuration = SignedDuration::from_mins(2);
/// The name of the profile that `evictable` makes.
pub(super) const DEFAULT_PROFILE: &str = "default";
/// From here on, priorities belong to the system.
pub(super) const SYSTEM_CRITICAL: i32 = 2_000_000_000;

/// Reads a native policy.
pub(crate) fn policy(root: Spot<'_, '_>) -> Policy {
    root.section(|f| {
        f.required("apiVersion", VERSION)
            .word(Code::UnsupportedVersion, &[(VERSION, ())]);
        f.required("kind", "Policy")
            .word(Code::UnsupportedVersion, &[("Policy", ())]);
        let interval = f.field("interval").duration(ONE_SECOND);
        let basis = basis(f.field("basis")).unwrap_or(Basis::Actual);
        let profiles = profiles(f);
        let policy = Policy {
            exact: false,
            warnings: Vec::new(),
            scheduler: SchedulerProfile::default(),
            other_schedulers: Vec::new(),
            interval: interval.unwrap_or(SignedDuration::from_mins(1)),
            dry_run: f.field("dryRun").bool().unwrap_or(false),
            node_selector: f.field("nodeSelector").selector(),
            usage: f.field("usage").section(usage),
            grace_period: f.field("gracePeriod").duration(SignedDuration::ZERO),
            limits: f.field("limits").section(limits),
            cooldown: f.field("cooldown").section(cooldown),
            safety: f.field("safety").section(safety),
            forecast: f.field("forecast").section(forecast),
            steering: f.field("steering").section(steering::steering),
            rightsizing: f.field("rightsizing").section(rightsizing::rightsizing),
            strategies: strategies(f, basis, &profiles),
            profiles,
        };
        steering::check(f, &policy);
        policy
    })
}

/// What to weigh.
pub(super) fn basis(spot: Spot<'_, '_>) -> Option<Basis> {
    spot.one_of(&[("requests", Basis::Requests), ("actual", Basis::Actual)])
}

/// The one profile that `evictable` makes, or those that have names of their own.
fn profiles(f: &mut Fields<'_, '_>) -> Vec<Profile> {
    let one = Profile {
        name: DEFAULT_PROFILE.to_owned(),
        evictable: f.field("evictable").section(evictable),
    };
    if f.has("evictable") && f.has("profiles") {
        f.complain(
            Code::Conflict,
            "profiles",
            "profiles and evictable do not go together; keep one of them",
        );
    }
    let mut taken: Vec<String> = Vec::new();
    let named = f.field("profiles").list("profiles", |item| {
        item.section(|f| {
            let name = f
                .required("name", "a name, for strategies to refer to")
                .name();
            if name.as_ref().is_some_and(|n| taken.contains(n)) {
                f.complain(Code::Conflict, "name", "another profile has this name");
            }
            taken.extend(name.clone());
            Some(Profile {
                name: name?,
                evictable: f.field("evictable").section(evictable),
            })
        })
    });
    named.filter(|p| !p.is_empty()).unwrap_or_else(|| vec![one])
}

fn strategies(f: &mut Fields<'_, '_>, basis: Basis, profiles: &[Profile]) -> Vec<Strategy> {
    const EXPECTED: &str = "a list with at least one strategy, such as lowNodeUtilization";
    let spot = f.required("strategies", EXPECTED);
    if spot
        .node()
        .is_some_and(|n| n.value == Value::List(Vec::new()) || n.value == Value::Null)
    {
        return spot.refuse(Code::OutOfRange, EXPECTED).unwrap_or_default();
    }
    spot.list("strategies", |item| strategy(item, basis, profiles))
        .unwrap_or_default()
}

const SOURCES: [(&str, SourceKind); 2] = [
    ("metricsApi", SourceKind::MetricsApi),
    ("prometheus", SourceKind::Prometheus),
];

fn usage(f: &mut Fields<'_, '_>) -> UsagePolicy {
    let usage = UsagePolicy {
        source: f
            .field("source")
            .one_of(&SOURCES)
            .unwrap_or(SourceKind::MetricsApi),
        fallback: f.field("fallback").one_of(&SOURCES),
        prometheus: f.field("prometheus").section(prometheus),
        poll: f
            .field("poll")
            .duration(ONE_SECOND)
            .unwrap_or(SignedDuration::from_secs(15)),
        window: f
            .field("window")
            .duration(ONE_SECOND)
            .unwrap_or(SignedDuration::from_mins(5)),
        smoothing: smoothing(f.field("smoothing")).unwrap_or(Smoothing::HalfLife(HALF_LIFE)),
        stale_after: f
            .field("staleAfter")
            .duration(ONE_SECOND)
            .unwrap_or(SignedDuration::from_secs(90)),
        min_samples: f.field("minSamples").whole(1).unwrap_or(3),
    };
    if f.sound() {
        sources(f, &usage);
        compare(f, &usage);
    }
    usage
}

/// What must hold between the sources and the block that describes one of them.
fn sources(f: &mut Fields<'_, '_>, usage: &UsagePolicy) {
    if usage.fallback == Some(usage.source) {
        f.complain(
            Code::Conflict,
            "fallback",
            "this is the source already; name the other one, or leave the field out",
        );
    }
    let asked = [Some(usage.source), usage.fallback].contains(&Some(SourceKind::Prometheus));
    match (f.has("prometheus"), &usage.prometheus) {
        (true, None) => f.complain(Code::MissingField, "prometheus", NO_URL),
        (true, Some(_)) if !asked => {
            let sentence = "nothing asks for this; write `source: prometheus` or `fallback: prometheus` beside it";
            f.complain(Code::Conflict, "prometheus", sentence);
        }
        (false, _) if asked => f.complain(Code::MissingField, "prometheus", NO_URL),
        (true, Some(_)) | (false, _) => {}
    }
}

const NO_URL: &str = "missing, expected where Prometheus is: `prometheus: {url: \"http://prometheus.monitoring:9090\"}`";

/// What must hold between the fields of `usage`, or usage would never be known.
fn compare(f: &mut Fields<'_, '_>, usage: &UsagePolicy) {
    let (poll, window) = (time("poll", usage.poll), time("window", usage.window));
    let least = usage
        .poll
        .saturating_mul(i32::try_from(usage.min_samples - 1).unwrap_or(i32::MAX));
    let field = if f.has("minSamples") {
        "minSamples"
    } else {
        "poll"
    };
    f.ordered(
        &Bound {
            field,
            name: "poll × (minSamples − 1)",
            ..time("", least)
        },
        &window,
    );
    f.ordered(&poll, &time("staleAfter", usage.stale_after));
    if let Some(prometheus) = &usage.prometheus {
        let scrape = prometheus.scrape_interval;
        let least = scrape.saturating_mul(i32::try_from(usage.min_samples - 1).unwrap_or(i32::MAX));
        let name = "prometheus.scrapeInterval";
        f.ordered(
            &Bound {
                field: "prometheus",
                name,
                ..time("", scrape)
            },
            &time("staleAfter", usage.stale_after),
        );
        let name = "prometheus.scrapeInterval × (minSamples − 1)";
        f.ordered(
            &Bound {
                field: "prometheus",
                name,
                ..time("", least)
            },
            &window,
        );
    }
    if let Smoothing::HalfLife(half) = usage.smoothing {
        f.ordered(
            &Bound {
                name: "smoothing.halfLife",
                ..time("smoothing", half)
            },
            &window,
        );
    }
}

fn time(field: &str, value: SignedDuration) -> Bound<'_, SignedDuration> {
    Bound {
        field,
        name: field,
        value,
        shown: format!("{value:#}"),
    }
}

fn smoothing(spot: Spot<'_, '_>) -> Option<Smoothing> {
    const EXPECTED: &str = "mean, max, {halfLife: 2m} or {percentile: 95}";
    let place = spot.place();
    match &spot.node()?.value {
        Value::Text(word) if word == "mean" => Some(Smoothing::Mean),
        Value::Text(word) if word == "max" => Some(Smoothing::Max),
        Value::Map(_) => spot.section(|f| {
            let half = f
                .field("halfLife")
                .duration(ONE_SECOND)
                .map(Smoothing::HalfLife);
            let percentile = f
                .field("percentile")
                .scalar("a percentile from 1 to 100", |node| {
                    percent(node).and_then(|p| {
                        if p.get() < 0.01 {
                            Err(Code::OutOfRange)
                        } else {
                            Ok(p)
                        }
                    })
                });
            if f.has("halfLife") == f.has("percentile") {
                f.complain_at(
                    Code::Conflict,
                    place,
                    format!("give one way of smoothing: {EXPECTED}"),
                );
            }
            half.or(percentile.map(Smoothing::Percentile))
        }),
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::List(_) => spot.refuse(Code::WrongType, EXPECTED),
    }
}

fn limits(f: &mut Fields<'_, '_>) -> Limits {
    Limits {
        per_cycle: f.field("perCycle").limit(Some(20)),
        per_node: f.field("perNode").limit(Some(5)),
        per_namespace: f.field("perNamespace").limit(None),
        per_workload: f
            .field("perWorkload")
            .share(Ratio::percent(25.0).map(Share::Portion)),
        per_minute: f.field("perMinute").limit(Some(30)),
    }
}

fn cooldown(f: &mut Fields<'_, '_>) -> Cooldown {
    let rest = f
        .field("rest")
        .duration(ONE_SECOND)
        .unwrap_or(SignedDuration::from_mins(10));
    let cap = f
        .field("cap")
        .duration(ONE_SECOND)
        .unwrap_or(SignedDuration::from_hours(6));
    if f.sound() {
        f.ordered(&time("rest", rest), &time("cap", cap));
    }
    Cooldown { rest, cap }
}

fn forecast(f: &mut Fields<'_, '_>) -> Forecast {
    Forecast {
        tolerance: f.field("tolerance").percent().unwrap_or(Ratio::ZERO),
    }
}

fn safety(f: &mut Fields<'_, '_>) -> Safety {
    let percent = |p| Ratio::percent(p).unwrap_or(Ratio::ZERO);
    Safety {
        max_not_ready: f.field("maxNotReady").percent().unwrap_or(percent(40.0)),
        max_pending: f.field("maxPending").percent().unwrap_or(percent(20.0)),
    }
}

fn evictable(f: &mut Fields<'_, '_>) -> Evictable {
    Evictable {
        node_fit: f.field("nodeFit").bool().unwrap_or(true),
        namespaces: f
            .field("namespaces")
            .names_in_or_out()
            .unwrap_or(Names::ALL),
        namespace_selector: f.field("namespaceSelector").selector(),
        pod_selector: f.field("podSelector").selector(),
        priority_below: priority(f.field("priorityBelow"))
            .unwrap_or(PriorityThreshold::Value(SYSTEM_CRITICAL)),
        min_replicas: f.field("minReplicas").whole(0).unwrap_or(2),
        min_pod_age: f
            .field("minPodAge")
            .duration(SignedDuration::ZERO)
            .unwrap_or(SignedDuration::from_mins(1)),
        protected: protections(f),
        destinations: f.field("destinations").selector(),
    }
}

fn priority(spot: Spot<'_, '_>) -> Option<PriorityThreshold> {
    let expected =
        format!("a whole number up to {SYSTEM_CRITICAL}, or the name of a PriorityClass");
    let is_name = |text: &str| text.contains(|c: char| c.is_ascii_alphabetic());
    spot.scalar(&expected, |node| match &node.value {
        Value::Int(number) => match i32::try_from(*number) {
            Ok(number) if number <= SYSTEM_CRITICAL => Ok(PriorityThreshold::Value(number)),
            _ => Err(Code::OutOfRange),
        },
        Value::Text(name) if is_name(name) => Ok(PriorityThreshold::Class(name.clone())),
        Value::Null
        | Value::Bool(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::List(_)
        | Value::Map(_) => Err(Code::WrongType),
    })
}

/// A protection that `allow` lifts.
#[derive(Clone, Copy, PartialEq)]
enum Lift {
    LocalStorage,
    DaemonSets,
    SystemCritical,
    FailedBare,
    PreferNoEviction,
}

/// A protection that `protect` adds.
#[derive(Clone, Copy, PartialEq)]
enum Extra {
    PersistentVolumes,
    WithoutBudget,
    ResourceClaims,
}

fn protections(f: &mut Fields<'_, '_>) -> Protections {
    let lifts = [
        ("localStorage", Lift::LocalStorage),
        ("daemonSets", Lift::DaemonSets),
        ("systemCritical", Lift::SystemCritical),
        ("failedBare", Lift::FailedBare),
        ("preferNoEviction", Lift::PreferNoEviction),
    ];
    let extras = [
        ("persistentVolumes", Extra::PersistentVolumes),
        ("withoutBudget", Extra::WithoutBudget),
        ("resourceClaims", Extra::ResourceClaims),
    ];
    let allow = f
        .field("allow")
        .list("protections to lift", |item| item.one_of(&lifts))
        .unwrap_or_default();
    let protect = f
        .field("protect")
        .list("protections to add", |item| item.one_of(&extras))
        .unwrap_or_default();
    let volumes = protect.contains(&Extra::PersistentVolumes);
    Protections {
        local_storage: !allow.contains(&Lift::LocalStorage),
        daemon_sets: !allow.contains(&Lift::DaemonSets),
        system_critical: !allow.contains(&Lift::SystemCritical),
        failed_bare: !allow.contains(&Lift::FailedBare),
        prefer_no_eviction: !allow.contains(&Lift::PreferNoEviction),
        persistent_volumes: storage_classes(f, volumes),
        without_budget: protect.contains(&Extra::WithoutBudget),
        resource_claims: protect.contains(&Extra::ResourceClaims),
    }
}

/// Which volumes protect their pod, if volumes do at all.
fn storage_classes(f: &mut Fields<'_, '_>, protected: bool) -> Option<StorageClasses> {
    let classes = f
        .field("protectedStorageClasses")
        .names()
        .filter(|c| !c.is_empty());
    if classes.is_some() && !protected {
        let sentence =
            "this narrows persistentVolumes, so `protect` must name persistentVolumes too";
        f.complain(Code::Conflict, "protectedStorageClasses", sentence);
    }
    protected.then(|| classes.map_or(StorageClasses::Any, StorageClasses::Named))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    const STRATEGY: &str = "strategies: [{lowNodeUtilization: {thresholds: {cpu: 1%}, targetThresholds: {cpu: 2%}}}]\n";

    /// A whole file around the part that a test is about, which begins in line 3.
    fn parse(part: &str) -> Result<Policy, String> {
        let text = format!("apiVersion: evenkeel/v1alpha1\nkind: Policy\n{part}\n{STRATEGY}");
        Policy::parse("policy.yaml", &text).map_err(|e| e.to_string())
    }

    fn refused(part: &str) -> String {
        parse(part).unwrap_err()
    }

    #[test]
    fn a_short_file_suffices_and_the_rest_has_defaults() {
        let policy = parse("").unwrap();
        let defaults = Policy {
            strategies: policy.strategies.clone(),
            ..Policy::default_native()
        };
        assert_eq!(policy, defaults);
        assert_eq!(policy.limits.per_cycle, Some(20));
        assert!(Policy::default_native().strategies.is_empty());
    }

    #[test]
    fn a_section_with_nothing_in_it_has_the_defaults_too() {
        assert_eq!(parse("usage:\n  # poll: 30s\nlimits: {}"), parse(""));
    }

    #[test]
    fn what_is_written_is_what_is_meant() {
        let policy = parse(
            "interval: 1h30m
nodeSelector: {matchLabels: {pool: web}, matchExpressions: [{key: zone, operator: In, values: [a, b]}]}
usage: {smoothing: {percentile: 95}}
evictable: {priorityBelow: business, allow: [daemonSets], protect: [persistentVolumes], protectedStorageClasses: [ssd]}
limits: {perCycle: none, perNode: 0, perWorkload: 2}",
        )
        .unwrap();
        assert_eq!(policy.interval, SignedDuration::from_mins(90));
        assert_eq!(
            policy.node_selector.unwrap().to_string(),
            "pool=web,zone in (a,b)"
        );
        assert_eq!(
            policy.usage.smoothing,
            Smoothing::Percentile(Ratio::percent(95.0).unwrap())
        );
        assert_eq!(
            (policy.limits.per_cycle, policy.limits.per_node),
            (None, Some(0))
        );
        assert_eq!(policy.limits.per_workload, Some(Share::Count(2)));
        let evictable = &policy.profiles[0].evictable;
        assert_eq!(
            evictable.priority_below,
            PriorityThreshold::Class("business".into())
        );
        assert!(!evictable.protected.daemon_sets && evictable.protected.local_storage);
        assert_eq!(
            evictable.protected.persistent_volumes,
            Some(StorageClasses::Named(vec!["ssd".into()]))
        );
    }

    #[test]
    fn no_share_of_a_workload_is_no_pod_rather_than_at_least_one() {
        assert_eq!(
            parse("limits: {perWorkload: 0%}")
                .unwrap()
                .limits
                .per_workload,
            Some(Share::Count(0))
        );
    }

    #[test]
    fn all_that_is_wrong_is_said_at_once_from_top_to_bottom() {
        assert_snapshot!(refused("interval: soon\ndryRun: yes\nlimits: {perNode: -1}"), @"
        policy.yaml:3:11: interval: found soon, expected a duration from 1s to 8760h, such as 90s, 5m or 1h30m
          | interval: soon
          |           ^
        policy.yaml:4:9: dryRun: found yes, expected true or false
          | dryRun: yes
          |         ^
        policy.yaml:5:19: limits.perNode: found -1, expected a whole number from 0 on, or none for no limit
          | limits: {perNode: -1}
          |                   ^
        ");
    }

    #[test]
    fn a_misspelt_field_is_an_error_with_a_suggestion() {
        assert_snapshot!(refused("cooldown: {rets: 5m}"), @"
        policy.yaml:3:12: cooldown.rets: unknown field (did you mean `rest`?); allowed here: rest, cap
          | cooldown: {rets: 5m}
          |            ^
        ");
    }

    #[test]
    fn a_field_in_the_wrong_place_is_told_where_it_belongs() {
        assert_snapshot!(refused("staleAfter: 1m"), @"
        policy.yaml:3:1: staleAfter: unknown field (it belongs in `usage`); allowed here: apiVersion, kind, interval, basis, evictable, profiles, dryRun, nodeSelector, usage, gracePeriod, limits, cooldown, safety, forecast, steering, rightsizing, strategies
          | staleAfter: 1m
          | ^
        ");
    }

    #[test]
    fn a_repeated_field_is_an_error_wherever_it_stands() {
        assert_snapshot!(refused("limits:\n  perNode: 1\n  perCycle: 2\n  perNode: 3"), @"
        policy.yaml:6:3: limits.perNode: this field stands here a second time; keep one of them
          |   perNode: 3
          |   ^
        ");
        assert_snapshot!(refused("evictable: {podSelector: {matchLabels: {a: b, a: c}}}"), @"
        policy.yaml:3:47: evictable.podSelector.matchLabels.a: this field stands here a second time; keep one of them
          | evictable: {podSelector: {matchLabels: {a: b, a: c}}}
          |                                               ^
        ");
    }

    #[test]
    fn an_empty_file_is_told_what_every_file_needs() {
        assert_snapshot!(Policy::parse("policy.yaml", "# nothing yet\n").unwrap_err(), @"
        policy.yaml:1:1: apiVersion: missing, expected evenkeel/v1alpha1
          | # nothing yet
          | ^
        policy.yaml:1:1: kind: missing, expected Policy
          | # nothing yet
          | ^
        policy.yaml:1:1: strategies: missing, expected a list with at least one strategy, such as lowNodeUtilization
          | # nothing yet
          | ^
        ");
    }

    #[test]
    fn a_file_that_is_no_map_is_told_only_that() {
        assert_snapshot!(Policy::parse("policy.yaml", "- interval: 5m").unwrap_err(), @"
        policy.yaml:1:1: found a list, expected a map of fields
          | - interval: 5m
          | ^
        ");
    }

    #[test]
    fn another_version_is_refused_without_a_word_about_its_fields() {
        let text = "apiVersion: evenkeel/v9\nkind: Policy\nprofiles: []";
        assert_snapshot!(Policy::parse("policy.yaml", text).unwrap_err(), @"
        policy.yaml:1:13: apiVersion: found evenkeel/v9, expected evenkeel/v1alpha1, descheduler/v1alpha2 or descheduler/v1alpha1
          | apiVersion: evenkeel/v9
          |             ^
        ");
    }

    #[test]
    fn another_kind_is_refused() {
        let text = format!("apiVersion: evenkeel/v1alpha1\nkind: Politics\n{STRATEGY}");
        assert_snapshot!(Policy::parse("policy.yaml", &text).unwrap_err(), @"
        policy.yaml:2:7: kind: found Politics, expected Policy
          | kind: Politics
          |       ^
        ");
    }

    #[test]
    fn there_must_be_a_strategy() {
        let text = "apiVersion: evenkeel/v1alpha1\nkind: Policy\nstrategies: []";
        assert_snapshot!(Policy::parse("policy.yaml", text).unwrap_err(), @"
        policy.yaml:3:13: strategies: found an empty list, expected a list with at least one strategy, such as lowNodeUtilization
          | strategies: []
          |             ^
        ");
    }

    #[test]
    fn a_value_of_another_type_is_shown_beside_what_is_allowed() {
        assert_snapshot!(refused("usage: {poll: 15, window: [5m], minSamples: 2.5}"), @"
        policy.yaml:3:15: usage.poll: found 15, expected a duration from 1s to 8760h, such as 90s, 5m or 1h30m
          | usage: {poll: 15, window: [5m], minSamples: 2.5}
          |               ^
        policy.yaml:3:27: usage.window: found a list, expected a duration from 1s to 8760h, such as 90s, 5m or 1h30m
          | usage: {poll: 15, window: [5m], minSamples: 2.5}
          |                           ^
        policy.yaml:3:45: usage.minSamples: found 2.5, expected a whole number from 1 on
          | usage: {poll: 15, window: [5m], minSamples: 2.5}
          |                                             ^
        ");
        assert_snapshot!(refused("usage: 5m"), @"
        policy.yaml:3:8: usage: found 5m, expected a map of fields
          | usage: 5m
          |        ^
        ");
        assert_snapshot!(refused("basis: real"), @"
        policy.yaml:3:8: basis: found real, expected requests or actual
          | basis: real
          |        ^
        ");
    }

    #[test]
    fn a_limit_is_a_number_or_none_and_never_nothing() {
        assert_snapshot!(refused("limits: {perCycle: 5%, perNode: ~, perWorkload: 101%}"), @"
        policy.yaml:3:20: limits.perCycle: found 5%, expected a whole number from 0 on, or none for no limit
          | limits: {perCycle: 5%, perNode: ~, perWorkload: 101%}
          |                    ^
        policy.yaml:3:24: limits.perNode: found nothing, expected a whole number from 0 on, or none for no limit
          | limits: {perCycle: 5%, perNode: ~, perWorkload: 101%}
          |                        ^
        policy.yaml:3:49: limits.perWorkload: found 101%, expected a whole number, a percentage from 0% to 100%, or none for no limit
          | limits: {perCycle: 5%, perNode: ~, perWorkload: 101%}
          |                                                 ^
        ");
    }

    #[test]
    fn the_window_must_have_room_for_the_samples_and_the_half_life() {
        assert_snapshot!(refused("usage: {poll: 1m, window: 90s}"), @"
        policy.yaml:3:19: usage.window: window is 1m 30s, but must be at least poll × (minSamples − 1), which is 2m
          | usage: {poll: 1m, window: 90s}
          |                   ^
        policy.yaml:3:19: usage.window: window is 1m 30s, but must be at least smoothing.halfLife, which is 2m by default
          | usage: {poll: 1m, window: 90s}
          |                   ^
        ");
        assert_snapshot!(refused("usage: {smoothing: {halfLife: 10m}}"), @"
        policy.yaml:3:9: usage.smoothing: smoothing.halfLife is 10m, but must be at most window, which is 5m by default
          | usage: {smoothing: {halfLife: 10m}}
          |         ^
        ");
    }

    #[test]
    fn usage_must_not_go_stale_between_two_polls() {
        assert_snapshot!(refused("usage: {poll: 2m}"), @"
        policy.yaml:3:9: usage.poll: poll is 2m, but must be at most staleAfter, which is 1m 30s by default
          | usage: {poll: 2m}
          |         ^
        ");
    }

    #[test]
    fn smoothing_is_one_thing() {
        assert_snapshot!(refused("usage: {smoothing: {halfLife: 1m, percentile: 95}}"), @"
        policy.yaml:3:20: usage.smoothing: give one way of smoothing: mean, max, {halfLife: 2m} or {percentile: 95}
          | usage: {smoothing: {halfLife: 1m, percentile: 95}}
          |                    ^
        ");
        assert_snapshot!(refused("usage: {smoothing: median}"), @"
        policy.yaml:3:20: usage.smoothing: found median, expected mean, max, {halfLife: 2m} or {percentile: 95}
          | usage: {smoothing: median}
          |                    ^
        ");
        assert_snapshot!(refused("usage: {smoothing: {percentile: 0}}"), @"
        policy.yaml:3:33: usage.smoothing.percentile: found 0, expected a percentile from 1 to 100
          | usage: {smoothing: {percentile: 0}}
          |                                 ^
        ");
    }

    #[test]
    fn a_rest_is_not_longer_than_the_longest() {
        assert_snapshot!(refused("cooldown: {rest: 7h}"), @"
        policy.yaml:3:12: cooldown.rest: rest is 7h, but must be at most cap, which is 6h by default
          | cooldown: {rest: 7h}
          |            ^
        ");
    }

    #[test]
    fn priorities_of_the_system_are_out_of_reach() {
        assert_snapshot!(refused("evictable: {priorityBelow: 2000001000}"), @"
        policy.yaml:3:28: evictable.priorityBelow: found 2000001000, expected a whole number up to 2000000000, or the name of a PriorityClass
          | evictable: {priorityBelow: 2000001000}
          |                            ^
        ");
    }

    #[test]
    fn a_protection_is_called_by_its_name() {
        assert_snapshot!(refused("evictable: {allow: [localstorage], protect: withoutBudget}"), @"
        policy.yaml:3:21: evictable.allow[0]: found localstorage, expected localStorage, daemonSets, systemCritical, failedBare or preferNoEviction
          | evictable: {allow: [localstorage], protect: withoutBudget}
          |                     ^
        policy.yaml:3:45: evictable.protect: found withoutBudget, expected a list of protections to add
          | evictable: {allow: [localstorage], protect: withoutBudget}
          |                                             ^
        ");
    }

    #[test]
    fn storage_classes_narrow_a_protection_that_is_there() {
        assert_snapshot!(refused("evictable: {protectedStorageClasses: [ssd]}"), @"
        policy.yaml:3:13: evictable.protectedStorageClasses: this narrows persistentVolumes, so `protect` must name persistentVolumes too
          | evictable: {protectedStorageClasses: [ssd]}
          |             ^
        ");
    }
}
