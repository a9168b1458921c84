//! The native format, `evenkeel/v1alpha1`. Its defaults stand here, each beside the field that it is for.

use jiff::SignedDuration;

use super::problem::Code;
use super::read::{Bound, Fields, Spot};
use super::scalar::percent;
use super::strategies::strategy;
use super::tree::Value;
use super::{
    Basis, Cooldown, Evictable, Limits, Names, Policy, PriorityThreshold, Profile, Protections, Safety, Share,
    Smoothing, SourceKind, StorageClasses, UsagePolicy,
};
use crate::units::Ratio;

/// What `apiVersion` says in a native file.
pub(super) const VERSION: &str = "evenkeel/v1alpha1";

pub(super) const ONE_SECOND: SignedDuration = SignedDuration::from_secs(1);
const WINDOW: SignedDuration = SignedDuration::from_mins(5);
const HALF_LIFE: SignedDuration = SignedDuration::from_mins(2);
/// From here on, priorities belong to the system.
const SYSTEM_CRITICAL: i32 = 2_000_000_000;

/// Reads a native policy.
pub(super) fn policy(root: Spot<'_, '_>) -> Policy {
    root.section(|f| {
        f.required("apiVersion", VERSION).word(Code::UnsupportedVersion, &[(VERSION, ())]);
        f.required("kind", "Policy").word(Code::UnsupportedVersion, &[("Policy", ())]);
        let basis = basis(f.field("basis")).unwrap_or(Basis::Actual);
        Policy {
            interval: f.field("interval").duration(ONE_SECOND).unwrap_or(SignedDuration::from_mins(1)),
            dry_run: f.field("dryRun").bool().unwrap_or(false),
            node_selector: f.field("nodeSelector").selector(),
            usage: f.field("usage").section(usage),
            limits: f.field("limits").section(limits),
            cooldown: f.field("cooldown").section(cooldown),
            safety: f.field("safety").section(safety),
            profiles: vec![Profile { name: "default".to_owned(), evictable: f.field("evictable").section(evictable) }],
            strategies: strategies(f, basis),
        }
    })
}

/// What to weigh.
pub(super) fn basis(spot: Spot<'_, '_>) -> Option<Basis> {
    spot.one_of(&[("requests", Basis::Requests), ("actual", Basis::Actual)])
}

fn strategies(f: &mut Fields<'_, '_>, basis: Basis) -> Vec<super::Strategy> {
    let what = "a list with at least one strategy, such as lowNodeUtilization";
    let spot = f.required("strategies", what);
    let empty = spot
        .node()
        .is_some_and(|n| matches!(&n.value, Value::List(items) if items.is_empty()) || n.value == Value::Null);
    if empty {
        return spot.refuse(Code::OutOfRange, what).unwrap_or_default();
    }
    spot.list("strategies", |item| strategy(item, basis)).unwrap_or_default()
}

fn usage(f: &mut Fields<'_, '_>) -> UsagePolicy {
    let usage = UsagePolicy {
        source: f.field("source").one_of(&[("metricsApi", SourceKind::MetricsApi)]).unwrap_or(SourceKind::MetricsApi),
        poll: f.field("poll").duration(ONE_SECOND).unwrap_or(SignedDuration::from_secs(15)),
        window: f.field("window").duration(ONE_SECOND).unwrap_or(WINDOW),
        smoothing: smoothing(f.field("smoothing")).unwrap_or(Smoothing::HalfLife(HALF_LIFE)),
        stale_after: f.field("staleAfter").duration(ONE_SECOND).unwrap_or(SignedDuration::from_secs(90)),
        min_samples: f.field("minSamples").whole(1).unwrap_or(3),
    };
    if f.sound() {
        compare(f, &usage);
    }
    usage
}

/// What must hold between the fields of `usage`, or usage would never be known.
fn compare(f: &mut Fields<'_, '_>, usage: &UsagePolicy) {
    let (poll, window) = (time("poll", usage.poll), time("window", usage.window));
    let least = usage.poll.saturating_mul(i32::try_from(usage.min_samples - 1).unwrap_or(i32::MAX));
    let field = if f.has("minSamples") { "minSamples" } else { "poll" };
    f.ordered(&Bound { field, name: "poll × (minSamples − 1)", ..time("", least) }, &window);
    f.ordered(&poll, &time("staleAfter", usage.stale_after));
    if let Smoothing::HalfLife(half) = usage.smoothing {
        f.ordered(&Bound { name: "smoothing.halfLife", ..time("smoothing", half) }, &window);
    }
}

fn time(field: &str, value: SignedDuration) -> Bound<'_, SignedDuration> {
    Bound { field, name: field, value, shown: format!("{value:#}") }
}

fn smoothing(spot: Spot<'_, '_>) -> Option<Smoothing> {
    const EXPECTED: &str = "mean, max, {halfLife: 2m} or {percentile: 95}";
    let place = spot.place();
    match &spot.node()?.value {
        Value::Text(word) if word == "mean" => Some(Smoothing::Mean),
        Value::Text(word) if word == "max" => Some(Smoothing::Max),
        Value::Map(_) => spot.section(|f| {
            let half = f.field("halfLife").duration(ONE_SECOND).map(Smoothing::HalfLife);
            let percentile = f.field("percentile").scalar("a percentile from 1 to 100", |node| {
                percent(node).and_then(|p| if p.get() < 0.01 { Err(Code::OutOfRange) } else { Ok(p) })
            });
            if f.has("halfLife") == f.has("percentile") {
                f.complain_at(Code::Conflict, place, format!("give one way of smoothing: {EXPECTED}"));
            }
            half.or(percentile.map(Smoothing::Percentile))
        }),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) | Value::List(_) => {
            spot.refuse(Code::WrongType, EXPECTED)
        }
    }
}

fn limits(f: &mut Fields<'_, '_>) -> Limits {
    Limits {
        per_cycle: f.field("perCycle").limit().unwrap_or(Some(20)),
        per_node: f.field("perNode").limit().unwrap_or(Some(5)),
        per_namespace: f.field("perNamespace").limit().unwrap_or(None),
        per_workload: f.field("perWorkload").share().unwrap_or(Ratio::percent(25.0).map(Share::Portion)),
        per_minute: f.field("perMinute").limit().unwrap_or(Some(30)),
    }
}

fn cooldown(f: &mut Fields<'_, '_>) -> Cooldown {
    let rest = f.field("rest").duration(ONE_SECOND).unwrap_or(SignedDuration::from_mins(10));
    let cap = f.field("cap").duration(ONE_SECOND).unwrap_or(SignedDuration::from_hours(6));
    if f.sound() {
        f.ordered(&time("rest", rest), &time("cap", cap));
    }
    Cooldown { rest, cap }
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
        namespaces: f.field("namespaces").names_in_or_out().unwrap_or(Names::ALL),
        namespace_selector: f.field("namespaceSelector").selector(),
        pod_selector: f.field("podSelector").selector(),
        priority_below: priority(f.field("priorityBelow")).unwrap_or(PriorityThreshold::Value(SYSTEM_CRITICAL)),
        min_replicas: f.field("minReplicas").whole(0).unwrap_or(2),
        min_pod_age: f.field("minPodAge").duration(SignedDuration::ZERO).unwrap_or(SignedDuration::from_mins(1)),
        protected: protections(f),
        destinations: f.field("destinations").selector(),
    }
}

fn priority(spot: Spot<'_, '_>) -> Option<PriorityThreshold> {
    let expected = format!("a whole number up to {SYSTEM_CRITICAL}, or the name of a PriorityClass");
    spot.scalar(&expected, |node| match &node.value {
        Value::Int(number) => match i32::try_from(*number) {
            Ok(number) if number <= SYSTEM_CRITICAL => Ok(PriorityThreshold::Value(number)),
            _ => Err(Code::OutOfRange),
        },
        Value::Text(name) if name.contains(|c: char| c.is_ascii_alphabetic()) => {
            Ok(PriorityThreshold::Class(name.clone()))
        }
        Value::Null | Value::Bool(_) | Value::Float(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => {
            Err(Code::WrongType)
        }
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
    let allow = f.field("allow").list("protections to lift", |item| item.one_of(&lifts)).unwrap_or_default();
    let protect = f.field("protect").list("protections to add", |item| item.one_of(&extras)).unwrap_or_default();
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
    let classes = f.field("protectedStorageClasses").names().filter(|c| !c.is_empty());
    if classes.is_some() && !protected {
        let sentence = "this narrows persistentVolumes, so `protect` must name persistentVolumes too";
        f.complain(Code::Conflict, "protectedStorageClasses", sentence);
    }
    protected.then(|| classes.map_or(StorageClasses::Any, StorageClasses::Named))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn show() {
        match Policy::parse("policy.example.yaml", Policy::EXAMPLE) {
            Ok(p) => println!("{p:#?}"),
            Err(e) => println!("{e}"),
        }
        let head = "apiVersion: evenkeel/v1alpha1\nkind: Policy\n";
        let tail = "strategies:\n- lowNodeUtilization:\n    thresholds: {cpu: 30%}\n    targetThresholds: {cpu: 60%}\n";
        for t in [
            "".to_owned(),
            "a: [".into(),
            "- a".into(),
            "just words".into(),
            "\ta: b".into(),
            "a: b\n  c: d\n".into(),
            "a: {b: c".into(),
            "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles: []".into(),
            "apiVersion: 3\n".into(),
            "a: &a [x, *a]".into(),
            "a: *b".into(),
            format!("{head}{tail}---\na: b"),
            format!("{head}nodeSelector: !gpu\n{tail}"),
            format!("{head}nodeSelector: a b\nintervall: 5m\nwindow: 3m\ndryRun: yes\n{tail}"),
            format!(
                "{head}usage: {{poll: 5, window: 0s, smoothing: median, staleAfter: -1m, minSamples: 2.5}}\n{tail}"
            ),
            format!("{head}usage: {{window: 1m}}\ncooldown: {{rest: 7h}}\n{tail}"),
            format!("{head}usage: {{poll: 2m, smoothing: {{halfLife: 1m, percentile: 400}}}}\n{tail}"),
            format!("{head}usage: {{poll: 3m, smoothing: {{}}}}\nusage: 3\n{tail}"),
            format!("{head}usage: {{poll: 3m}}\n{tail}"),
            format!("{head}usage: {{minSamples: 100}}\n{tail}"),
            format!("{head}strategies:\n- lowNodeUtilization:\n  thresholds: {{cpu: 30%}}\n"),
            format!(
                "{head}strategies:\n- LowNodeUtilization:\n    thresholds: {{cpu: 30%}}\n- foo: 3\n- bar\n- lowNodeUtilization: {{}}\n  bar: {{}}\n"
            ),
            format!("{head}strategies:\n"),
            format!("{head}strategies: []\n"),
            format!(
                "{head}strategies:\n- lowNodeUtilization:\n    thresholds: {{cpu: 130%, memory: 0.3, gpu: 30%, pods: 10 percent}}\n    targetTresholds: {{cpu: 50%}}\n"
            ),
            format!(
                "{head}strategies:\n- lowNodeUtilization:\n    thresholds: {{cpu: 70%, memory: 3%}}\n    targetThresholds: {{cpu: 50%, pods: 5}}\n    nodePools:\n    - name: default\n      nodeSelector: {{matchLabels: {{a: true}}, matchExpressions: [{{key: a, operator: Like}}, {{key: b, operator: In}}]}}\n    - nodeSelector: 5\n      thresholds: {{}}\n"
            ),
            format!(
                "{head}evictable:\n  namespaces: {{exclude: [a], include: [b]}}\n  priorityBelow: 2000000001\n  protectedStorageClasses: [a]\n  allow: [localstorage, 3]\n  protect: localStorage\n  minReplicas: -1\n{tail}"
            ),
            format!(
                "{head}limits: {{perCycle: 5%, perNode: null, perWorkload: 101%, perMinute: lots}}\nsafety: {{maxPending: 1.5.2%}}\n{tail}"
            ),
        ] {
            println!("-----\n{t}\n");
            match Policy::parse("policy.yaml", &t) {
                Ok(p) => println!("fine {:?}", p),
                Err(e) => println!("{e}"),
            }
        }
    }
}
