//! Reading native policies, and the messages for their problems.

use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::policy::{Policy, PriorityThreshold, Share, Smoothing, StorageClasses};
use crate::schema::problem::PolicyError;
use crate::values::Ratio;

const STRATEGY: &str =
    "strategies: [{lowNodeUtilization: {thresholds: {cpu: 1%}, targetThresholds: {cpu: 2%}}}]\n";

/// A whole file; the tested part begins in line 3.
pub(in crate::policy) fn parse(part: &str) -> Result<Policy, String> {
    let text = format!("apiVersion: evenkeel/v1alpha1\nkind: Policy\n{part}\n{STRATEGY}");
    Policy::parse("policy.yaml", &text).map_err(|error| messages(&error))
}

/// The messages of an error, without the lines of the file below each.
pub(in crate::policy) fn messages(error: &PolicyError) -> String {
    let text = error.to_string();
    let messages = text.lines().filter(|line| !line.starts_with("  |"));
    messages.collect::<Vec<_>>().join("\n")
}

fn refused(part: &str) -> String {
    parse(part).unwrap_err()
}

#[test]
fn omitted_fields_have_their_defaults() {
    let policy = parse("").unwrap();
    let defaults = Policy { strategies: policy.strategies.clone(), ..Policy::default_native() };
    assert_eq!(policy, defaults);
    let most = policy.limits.per_cycle.unwrap();
    assert_eq!((most.of(300), most.of(12_000)), (20, 120));
    assert!(Policy::default_native().strategies.is_empty());
    assert!(policy.rightsizing.is_on() && !policy.steering.is_on() && !policy.approval.required);
    assert_eq!(policy.ramp, None);
}

#[test]
fn an_empty_section_has_its_defaults() {
    assert_eq!(parse("usage:\n  # poll: 30s\nlimits: {}"), parse(""));
}

#[test]
fn a_trend_is_not_extended_beyond_an_hour() {
    assert_eq!(
        parse("usage: {lookAhead: 1h}").unwrap().usage.look_ahead(),
        Some(SignedDuration::from_hours(1))
    );
    assert_snapshot!(
        refused("usage: {lookAhead: 4h}"),
        @"policy.yaml:3:9: usage.lookAhead: is 4h, but must be at most 1h, because a trend is learned for half an hour"
    );
}

#[test]
fn written_values_are_read() {
    let policy = parse(
        "interval: 1h30m
nodeSelector: {matchLabels: {pool: web}, matchExpressions: [{key: zone, operator: In,
  values: [a, b]}]}
usage: {smoothing: {percentile: 95}}
evictable: {priorityBelow: business, allow: [daemonSets], protect: [persistentVolumes],
  protectedStorageClasses: [ssd]}
limits: {perCycle: none, perNode: 0, perWorkload: 2, perMinute: 5 or 2.5%}",
    )
    .unwrap();
    assert_eq!(policy.interval, SignedDuration::from_mins(90));
    assert_eq!(policy.node_selector.unwrap().to_string(), "pool=web,zone in (a,b)");
    assert_eq!(policy.usage.smoothing, Smoothing::Percentile(Ratio::percent(95.0).unwrap()));
    assert_eq!((policy.limits.per_cycle, policy.limits.per_node), (None, Some(0)));
    assert_eq!(policy.limits.per_workload, Some(Share::Count(2)));
    let per_cycle = parse("limits: {perCycle: 0 or 0%}").unwrap().limits.per_cycle;
    assert_eq!(per_cycle, Some(Share::Count(0)));
    let per_minute = Share::Larger(5, Ratio::percent(2.5).unwrap());
    assert_eq!(policy.limits.per_minute, Some(per_minute));
    let evictable = &policy.profiles[0].evictable;
    assert_eq!(evictable.priority_below, PriorityThreshold::Class("business".into()));
    assert!(!evictable.protected.daemon_sets && evictable.protected.local_storage);
    assert_eq!(
        evictable.protected.persistent_volumes,
        Some(StorageClasses::Named(vec!["ssd".into()]))
    );
}

#[test]
fn zero_percent_of_a_workload_is_no_pod_instead_of_one() {
    assert_eq!(
        parse("limits: {perWorkload: 0%}").unwrap().limits.per_workload,
        Some(Share::Count(0))
    );
}

#[test]
fn each_problem_is_shown_at_its_place_with_what_is_expected() {
    let problems = [
        // All problems are reported in file order.
        "interval: soon\ndryRun: yes\nlimits: {perNode: -1}",
        // A misspelt field is an error with a suggestion.
        "cooldown: {rets: 5m}",
        // A misplaced field is reported with its right place.
        "staleAfter: 1m",
        // A repeated field is an error at any depth.
        "limits:\n  perNode: 1\n  perCycle: 2\n  perNode: 3",
        "evictable: {podSelector: {matchLabels: {a: b, a: c}}}",
        // A value of the wrong type is shown with the expected type.
        "usage: {poll: 15, window: [5m], minSamples: 2.5}",
        "usage: 5m",
        "basis: real",
        // A limit is a number, a share or the word none.
        "limits: {perCycle: 5 or none, perNode: 5%, perNamespace: ~, perWorkload: 101%}",
        // The window holds the samples.
        "usage: {poll: 1m, window: 90s}",
        // Usage must not go stale between two polls.
        "usage: {poll: 2m}",
        // Smoothing has exactly one form.
        "usage: {smoothing: {halfLife: 1m, percentile: 95}}",
        "usage: {smoothing: median}",
        "usage: {smoothing: {percentile: 0}}",
        // A rest does not exceed its cap.
        "cooldown: {rest: 7h}",
        // System priorities are refused.
        "evictable: {priorityBelow: 2000001000}",
        // Unknown protections are refused.
        "evictable: {allow: [localstorage], protect: withoutBudget}",
        // Storage classes need their protection.
        "evictable: {protectedStorageClasses: [ssd]}",
        // A number that is too large is refused with the largest.
        "limits: {perNode: 4294967296, perMinute: 4294967296}\n\
        rightsizing: {top: 99999999999}",
    ];
    assert_snapshot!(problems.map(refused).join("\n"), @"
    policy.yaml:3:11: interval: found soon, expected a duration from 1s to 8760h, such as 90s, 5m or 1h30m
    policy.yaml:4:9: dryRun: found yes, expected true or false
    policy.yaml:5:19: limits.perNode: found -1, expected a whole number from 0 on, or none for no limit
    policy.yaml:3:12: cooldown.rets: unknown field (did you mean `rest`?); allowed here: rest, cap
    policy.yaml:3:1: staleAfter: unknown field (it belongs in `usage`); allowed here: apiVersion, kind, interval, basis, dryRun, nodeSelector, usage, evictable, profiles, gracePeriod, limits, cooldown, ramp, windows, safety, guards, approval, forecast, steering, rightsizing, strategies
    policy.yaml:6:3: limits.perNode: this field is repeated; keep one of them
    policy.yaml:3:47: evictable.podSelector.matchLabels.a: this field is repeated; keep one of them
    policy.yaml:3:15: usage.poll: found 15, expected a duration from 1s to 8760h, such as 90s, 5m or 1h30m
    policy.yaml:3:27: usage.window: found a list, expected a duration from 1s to 8760h, such as 90s, 5m or 1h30m
    policy.yaml:3:45: usage.minSamples: found 2.5, expected a whole number from 1 on
    policy.yaml:3:8: usage: found 5m, expected a map of fields
    policy.yaml:3:8: basis: found real, expected actual or requests
    policy.yaml:3:20: limits.perCycle: found 5 or none, expected a whole number, a percentage from 0% to 100%, the larger of both such as 20 or 1%, or none for no limit
    policy.yaml:3:40: limits.perNode: found 5%, expected a whole number from 0 on, or none for no limit
    policy.yaml:3:44: limits.perNamespace: found nothing, expected a whole number from 0 on, or none for no limit
    policy.yaml:3:74: limits.perWorkload: found 101%, expected a whole number, a percentage from 0% to 100%, or none for no limit
    policy.yaml:3:19: usage.window: window is 1m 30s, but must be at least poll × (minSamples − 1), which is 2m
    policy.yaml:3:9: usage.poll: poll is 2m, but must be at most staleAfter, which is 1m 30s by default
    policy.yaml:3:20: usage.smoothing: give one way of smoothing: trend, mean, max, {halfLife: 10m} or {percentile: 95}
    policy.yaml:3:20: usage.smoothing: found median, expected trend, mean, max, {halfLife: 10m} or {percentile: 95}
    policy.yaml:3:33: usage.smoothing.percentile: found 0, expected a percentile from 1 to 100
    policy.yaml:3:12: cooldown.rest: rest is 7h, but must be at most cap, which is 6h by default
    policy.yaml:3:28: evictable.priorityBelow: found 2000001000, expected a whole number up to 2000000000, or the name of a PriorityClass
    policy.yaml:3:21: evictable.allow[0]: found localstorage, expected localStorage, daemonSets, systemCritical, failedBare, preferNoEviction, doNotDisrupt, notSafeToEvict, gangs, runsToCompletion, resourceClaims, newVolumes, preemption or singleReplicasWithBudget
    policy.yaml:3:45: evictable.protect: found withoutBudget, expected a list of protections to add
    policy.yaml:3:13: evictable.protectedStorageClasses: this narrows persistentVolumes, so `protect` must list persistentVolumes too
    policy.yaml:3:19: limits.perNode: found 4294967296, expected a whole number from 0 to 4294967295, or none for no limit
    policy.yaml:3:42: limits.perMinute: found 4294967296, expected a whole number up to 4294967295, a percentage from 0% to 100%, the larger of both such as 20 or 1%, or none for no limit
    policy.yaml:4:20: rightsizing.top: found 99999999999, expected a whole number from 0 to 4294967295
    ");
}

#[test]
fn an_empty_file_lacks_the_required_fields() {
    assert_snapshot!(messages(&Policy::parse("policy.yaml", "# nothing yet\n").unwrap_err()), @"
    policy.yaml:1:1: apiVersion: missing, expected evenkeel/v1alpha1
    policy.yaml:1:1: kind: missing, expected Policy
    policy.yaml:1:1: strategies: missing, expected a list with at least one strategy, such as lowNodeUtilization
    ");
}

#[test]
fn a_file_that_is_not_a_map_has_one_problem() {
    assert_snapshot!(Policy::parse("policy.yaml", "- interval: 5m").unwrap_err(), @"
    policy.yaml:1:1: found a list, expected a map of fields
      | - interval: 5m
      | ^
    ");
}

#[test]
fn an_unknown_version_is_refused_without_checking_its_fields() {
    let text = "apiVersion: evenkeel/v9\nkind: Policy\nprofiles: []";
    assert_snapshot!(
        messages(&Policy::parse("policy.yaml", text).unwrap_err()),
        @"policy.yaml:1:13: apiVersion: found evenkeel/v9, expected evenkeel/v1alpha1, descheduler/v1alpha2 or descheduler/v1alpha1"
    );
}

#[test]
fn another_kind_is_refused() {
    let text = format!("apiVersion: evenkeel/v1alpha1\nkind: Politics\n{STRATEGY}");
    assert_snapshot!(
        messages(&Policy::parse("policy.yaml", &text).unwrap_err()),
        @"policy.yaml:2:7: kind: found Politics, expected Policy"
    );
}

#[test]
fn at_least_one_strategy_is_required() {
    let text = "apiVersion: evenkeel/v1alpha1\nkind: Policy\nstrategies: []";
    assert_snapshot!(
        messages(&Policy::parse("policy.yaml", text).unwrap_err()),
        @"policy.yaml:3:13: strategies: found an empty list, expected a list with at least one strategy, such as lowNodeUtilization"
    );
}

#[test]
fn what_is_written_reads_back_the_same() {
    for part in [
        "interval: 90s",
        "interval: 1h1m1s",
        "approval: {required: true}",
        "approval: {required: true, automatic: 3, expires: 30m}",
        "ramp: none",
        "ramp: {}",
        "ramp: {watch: 30s}",
        "rightsizing: {percentile: 50, headroom: 0%}",
        "rightsizing: {tolerance: 12.5%, top: 3}",
        "rightsizing: {percentile: 99.5%, top: 0}",
        "steering: {taintHot: true, maxNodes: none}",
        "steering: {taintEmptying: true, maxNodes: 2}",
        "steering: {maxNodes: 12.5%}",
        "windows: {timeZone: Asia/Tokyo, allow: ['Fri-Mon 22:00-06:00', Wed], forbid: ['12:00-24:00']}",
        "usage: {prometheus: {url: 'http://p:9090'}}\nguards:\n\
            - {name: a, query: 'ALERTS{severity=\"critical\"}'}\n\
            - {name: b, query: b, above: 0.05, scope: workload, for: 1m, recover: 0s, missing: allow}\n\
            - {name: c, query: c, above: -3, scope: namespace}",
    ] {
        let policy = parse(part).unwrap();
        let written = policy.to_native();
        let again = Policy::parse("native", &written).unwrap();
        assert_eq!(again.warnings.len(), policy.warnings.len(), "{written}");
        let warnings = policy.warnings.clone();
        assert_eq!(Policy { warnings, ..again }, policy, "{written}");
    }
}

/// Such an average counts samples from before the window as well.
#[test]
fn an_average_by_age_may_have_a_half_life_above_the_window() {
    assert!(parse("usage: {smoothing: {halfLife: 1h}}").is_ok());
}

/// The warnings of a policy, one a line.
fn warnings(text: &str) -> String {
    let text = format!("apiVersion: evenkeel/v1alpha1\nkind: Policy\n{text}");
    let policy = Policy::parse("policy.yaml", &text).unwrap_or_else(|e| panic!("{e}"));
    let lines = policy.warnings.iter().map(ToString::to_string);
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn fields_without_effect_are_named() {
    let low = |fields: &str| {
        format!(
            "strategies: [{{lowNodeUtilization: {{thresholds: {{cpu: 1%}}, targetThresholds: {{cpu: 2%}}{fields}}}}}]\n"
        )
    };
    let usual = low("");
    assert_snapshot!(warnings(&format!("usage: {{smoothing: mean, lookAhead: 1h}}\n{usual}")),
        @"usage.lookAhead: has no effect without `smoothing: trend`");
    assert_eq!(warnings(&format!("usage: {{lookAhead: 1h}}\n{usual}")), "");
    assert_snapshot!(warnings(&format!("basis: requests\nusage: {{ahead: 2h}}\n{usual}")),
        @"usage.ahead: has no effect, because every strategy compares requests");
    assert_eq!(warnings(&format!("usage: {{ahead: 2h}}\n{usual}")), "");
    let packing = "strategies: [{highNodeUtilization: {basis: requests, thresholds: {cpu: 1%}}}]";
    assert_eq!(
        warnings(&format!("usage: {{ahead: 2h}}\n{packing}")),
        "",
        "its ceilings are of usage"
    );
    assert_snapshot!(warnings(&low(", basis: requests, sustainedFor: 5m")),
        @"strategies[0].lowNodeUtilization.sustainedFor: has no effect on requests");
    assert_eq!(warnings(&low(", sustainedFor: 5m")), "");
    assert_snapshot!(warnings(&format!("evictable: {{allow: [preemption]}}\n{usual}")),
        @"evictable.allow: preemption has no effect without `nodeFit: false`");
    let lifts = "allow: [systemCritical, singleReplicasWithBudget]";
    let idle = format!("evictable: {{{lifts}, priorityBelow: 1000, minReplicas: 1}}\n{usual}");
    assert_snapshot!(warnings(&idle), @"
    evictable.allow: systemCritical has no effect with priorityBelow
    evictable.allow: singleReplicasWithBudget has no effect with minReplicas below 2
    ");
    assert_eq!(warnings(&format!("evictable: {{{lifts}}}\n{usual}")), "");
    let profiles = |used: &str| {
        format!("profiles: [{{name: a}}, {{name: b}}]\n{}", low(&format!(", profile: {used}")))
    };
    assert_snapshot!(warnings(&profiles("b")), @"profiles[0].name: no strategy uses this profile");
    let windows =
        |allow: &str| warnings(&format!("interval: 30m\nwindows: {{allow: [{allow}]}}\n{usual}"));
    assert_snapshot!(windows("'02:00-02:20', 'Sat 23:55-00:15'"),
        @"windows.allow: each window is shorter than interval, so it may pass without a cycle");
    assert_eq!(windows("'02:00-02:20', 'Sat 23:50-00:20'"), "");
    let pending = format!("evictable: {{allow: [preemption], nodeFit: false}}\n{usual}");
    assert_eq!(warnings(&pending), "");
}

#[test]
fn strategies_that_undo_the_moves_of_each_other_are_named() {
    let both = |low: &str| {
        format!(
            "strategies:\n- lowNodeUtilization: {{thresholds: {{cpu: 10%}}, targetThresholds: \
             {{cpu: 20%}}{low}}}\n- highNodeUtilization: {{thresholds: {{cpu: 5%}}}}\n"
        )
    };
    assert_snapshot!(warnings(&both(", useDeviationThresholds: true")),
        @"strategies: LowNodeUtilization with useDeviationThresholds moves pods back to the nodes that HighNodeUtilization empties; use thresholds that are no deviations, or one of the two strategies");
    assert_eq!(warnings(&both("")), "", "fixed targets are ceilings of the other strategy");
}
