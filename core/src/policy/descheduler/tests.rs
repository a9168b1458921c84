//! Reading policies of descheduler.

use insta::assert_snapshot;
use jiff::SignedDuration;

use super::super::{
    AffinityKind, Basis, Names, NodeTaints, Policy, PriorityThreshold, Rule, Share, StorageClasses,
};
use crate::policy::native;
use crate::schema::problem::Code;

fn parse(text: &str) -> Result<Policy, String> {
    Policy::parse("policy.yaml", text).map_err(|e| e.to_string())
}

/// A policy whose only profile is this, from line 3 on.
fn profile(text: &str) -> Result<Policy, String> {
    let text = text.replace('\n', "\n  ");
    parse(&format!("apiVersion: descheduler/v1alpha2\nprofiles:\n- name: main\n  {text}\n"))
}

/// A policy that runs one plugin with these arguments.
fn plugin(point: &str, name: &str, args: &str) -> Result<Policy, String> {
    profile(&format!(
        "pluginConfig: [{{name: {name}, args: {args}}}]\nplugins: {{{point}: {{enabled: [{name}]}}}}"
    ))
}

/// A policy with these arguments of DefaultEvictor.
fn evictor(args: &str) -> Result<Policy, String> {
    profile(&format!(
        "pluginConfig: [{{name: RemoveDuplicates}}, {{name: DefaultEvictor, args: {args}}}]\nplugins: {{balance: {{enabled: [RemoveDuplicates]}}}}"
    ))
}

/// The policy as a converted one is: without warnings, and without what only the exact mode reads.
fn converted(mut policy: Policy) -> Policy {
    policy.warnings.clear();
    for profile in &mut policy.profiles {
        profile.evictable.protected.resource_claims_exactly = None;
    }
    policy
}

/// The first line of the error.
fn first(result: Result<Policy, String>) -> String {
    result.unwrap_err().lines().next().unwrap_or_default().to_owned()
}

fn warnings(policy: &Policy) -> String {
    policy
        .warnings
        .iter()
        .map(|w| format!("{}:{} {w}", w.line, w.column))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn a_policy_is_read_with_all_that_it_says() {
    let policy = parse(
        "apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
nodeSelector: pool=a
maxNoOfPodsToEvictPerNode: 2
maxNoOfPodsToEvictTotal: 0
gracePeriodSeconds: 30
profiles:
- name: first
  pluginConfig:
  - {name: DefaultEvictor, args: {nodeFit: true, minReplicas: 3, minPodAge: 1h,
    priorityThreshold: {name: high}}}
  - {name: RemoveDuplicates}
  - {name: RemovePodsViolatingNodeTaints, args: {excludedTaints: [a=b]}}
  plugins:
    balance: {enabled: [RemoveDuplicates]}
    deschedule: {enabled: [RemovePodsViolatingNodeTaints]}
- pluginConfig: [{name: PodLifeTime, args: {maxPodLifeTimeSeconds: 60,
  namespaces: {include: [x], exclude: []}}}]
  plugins: {deschedule: {enabled: [PodLifeTime]}, preEvictionFilter: {enabled: [DefaultEvictor]}}
",
    )
    .unwrap();
    let names: Vec<(usize, &str)> =
        policy.strategies.iter().map(|s| (s.profile, s.rule.name())).collect();
    assert_eq!(
        names,
        [(0, "RemovePodsViolatingNodeTaints"), (1, "PodLifeTime"), (0, "RemoveDuplicates")]
    );
    assert_eq!(
        (policy.limits.per_node, policy.limits.per_cycle, policy.limits.per_namespace),
        (Some(2), Some(Share::Count(0)), None)
    );
    assert_eq!(policy.limits.per_workload, Policy::default_native().limits.per_workload);
    assert!(matches!(policy.limits.per_workload, Some(Share::Portion(_))));
    assert_eq!(policy.grace_period, Some(SignedDuration::from_secs(30)));
    let [first, second] = policy.profiles.as_slice() else { panic!("{:?}", policy.profiles) };
    assert_eq!((first.name.as_str(), second.name.as_str()), ("first", "profile-2"));
    let rules = &first.evictable;
    assert_eq!((rules.min_replicas, rules.node_fit), (3, true));
    assert_eq!(rules.min_pod_age, SignedDuration::from_hours(1));
    assert_eq!(rules.priority_below, PriorityThreshold::Class("high".to_owned()));
    assert_eq!((second.evictable.min_replicas, second.evictable.node_fit), (1, false));
    let Rule::PodLifeTime(rule) = &policy.strategies[1].rule else {
        panic!("{:?}", policy.strategies)
    };
    assert_eq!(rule.scope.namespaces, Names::Only(vec!["x".to_owned()]));
    assert_eq!(warnings(&policy), "");
}

#[test]
fn thresholds_are_numbers_and_their_basis_is_the_source_of_usage() {
    let args = "{thresholds: {cpu: 0.5, pods: 20}, targetThresholds: {cpu: 50, pods: 50}, evictionLimits: {node: 3},
        metricsUtilization: {source: KubernetesMetrics}}";
    let text = |provider: &str| {
        format!(
            "apiVersion: descheduler/v1alpha2\n{provider}\nprofiles: [{{name: a,
              pluginConfig: [{{name: LowNodeUtilization,
            args: {args}}}], plugins: {{balance: {{enabled: [LowNodeUtilization]}}}}}}]"
        )
    };
    let policy = parse(&text("metricsProviders: [{source: KubernetesMetrics}]")).unwrap();
    let Rule::LowNodeUtilization(rule) = &policy.strategies[0].rule else { panic!("another rule") };
    assert_eq!((rule.basis, rule.per_node), (Basis::Actual, Some(3)));
    assert!((rule.pools[0].thresholds[0].1.get() - 0.005).abs() < 1e-12);
    assert!(first(parse(&text(""))).contains("this needs `metricsProviders"));
    let old = parse(&text("metricsCollector: {enabled: true}")).unwrap();
    assert!(matches!(&old.strategies[0].rule,
            Rule::LowNodeUtilization(rule) if rule.basis == Basis::Actual));
    assert_eq!(old.warnings[0].code, Code::Deprecated);
    assert_snapshot!(first(plugin("balance", "LowNodeUtilization",
        "{thresholds: {cpu: '20'}, targetThresholds: {cpu: 120}}")),
            @"policy.yaml:4:70: profiles[0].pluginConfig[0].args.thresholds.cpu: found \"20\", expected a percentage from 0 to 100, as a number");
    let prometheus = "{thresholds: {MetricResource: 20}, targetThresholds: {MetricResource: 50}, metricsUtilization: {source: Prometheus, prometheus: {query: q}}}";
    assert!(
        plugin("balance", "LowNodeUtilization", prometheus).unwrap_err().contains(
            "a query for one ratio per node does not show what moving a pod would change"
        )
    );
}

#[test]
fn protections_are_lists_or_the_older_fields_and_not_both() {
    let of = |args: &str| evictor(args).unwrap().profiles.remove(0).evictable.protected;
    let none = of("{}");
    assert!(none.local_storage && none.daemon_sets && none.system_critical && none.failed_bare);
    assert!(!none.prefer_no_eviction && none.persistent_volumes.is_none());
    // Descheduler has no setting for these, so they are guards of evenkeel.
    assert!(none.gangs && none.do_not_disrupt && none.safe_to_evict && none.resource_claims);
    assert_eq!(none.resource_claims_exactly, Some(false));
    let old = of("{evictLocalStoragePods: yes, ignorePvcPods: true, noEvictionPolicy: Mandatory}");
    assert!(
        !old.local_storage
            && old.persistent_volumes == Some(StorageClasses::Any)
            && old.prefer_no_eviction
    );
    let new =
        of("{podProtections: {defaultDisabled: [FailedBarePods], extraEnabled: [PodsWithPVC, PodsWithResourceClaims],
        config: {PodsWithPVC: {protectedStorageClasses: [{name: fast}]}}}}");
    assert!(!new.failed_bare && new.local_storage);
    assert_eq!(new.resource_claims_exactly, Some(true));
    assert_eq!(new.persistent_volumes, Some(StorageClasses::Named(vec!["fast".to_owned()])));
    let both = "{evictDaemonSetPods: true, podProtections: {defaultDisabled: [FailedBarePods]}}";
    assert!(evictor(both).unwrap_err().contains("exclude each other"));
    assert!(
        evictor("{podProtections: {extraEnabled: [PodsWithPVC, PodsWithPVC]}}")
            .unwrap_err()
            .contains("repeated")
    );
    assert!(evictor("{podProtections: {extraEnabled: [DaemonSetPods]}}").is_err());
    assert!(
        evictor("{priorityThreshold: {value: 1, name: a}}")
            .unwrap_err()
            .contains("exclude each other")
    );
    assert!(evictor("{priorityThreshold: {value: 2000000001}}").is_err());
}

#[test]
fn a_grace_period_of_zero_is_taken_with_a_warning() {
    let policy = "apiVersion: descheduler/v1alpha2\ngracePeriodSeconds: 0\nprofiles: []";
    let native = native::tests::parse("gracePeriod: 0s").unwrap();
    for policy in [parse(policy).unwrap(), native] {
        assert_eq!(policy.grace_period, Some(SignedDuration::ZERO));
        let warnings = warnings(&policy);
        assert!(warnings.contains("with 0, the API server forgets a pod"), "{warnings}");
    }
}

#[test]
fn what_would_be_passed_over_in_silence_is_refused_with_a_suggestion() {
    assert_snapshot!(first(parse("apiVersion: descheduler/v1alpha2\nmaxNoOfPodsToEvictPerNod: \
        1\nprofiles: []")),
        @"policy.yaml:2:1: maxNoOfPodsToEvictPerNod: unknown field (did you mean `maxNoOfPodsToEvictPerNode`?); allowed here: kind, apiVersion, nodeSelector, maxNoOfPodsToEvictPerNode, maxNoOfPodsToEvictPerNamespace, maxNoOfPodsToEvictTotal, gracePeriodSeconds, evictionFailureEventNotification, metricsCollector, metricsProviders, profiles");
    assert!(
        first(profile("plugins: {Deschedule: {enabled: []}}"))
            .contains("did you mean `deschedule`?")
    );
    assert_snapshot!(first(profile("pluginConfig: [{name: RemoveDuplicate}]")),
        @"policy.yaml:4:25: profiles[0].pluginConfig[0].name: found RemoveDuplicate, expected the name of a plugin (did you mean `RemoveDuplicates`?); these are DefaultEvictor, LowNodeUtilization, HighNodeUtilization, RemoveDuplicates, RemovePodsViolatingTopologySpreadConstraint, RemovePodsViolatingInterPodAntiAffinity, RemovePodsViolatingNodeAffinity, RemovePodsViolatingNodeTaints, RemovePodsHavingTooManyRestarts, PodLifeTime, RemoveFailedPods");
    assert_snapshot!(first(plugin("deschedule", "RemoveDuplicates", "{}")),
        @"policy.yaml:5:36: profiles[0].plugins.deschedule.enabled[0]: RemoveDuplicates belongs in `balance`");
    assert_snapshot!(first(profile("plugins: {balance: {enabled: [RemoveDuplicates]}}")),
        @"policy.yaml:4:33: profiles[0].plugins.balance.enabled[0]: RemoveDuplicates has no entry in pluginConfig; add `- name: RemoveDuplicates`, with args if it needs them");
    assert!(
        parse("apiVersion: descheduler/v1alpha2\nprofiles: []\nprofiles: []")
            .unwrap_err()
            .contains("repeated")
    );
    assert!(
        parse("apiVersion: descheduler/v1alpha2\n---\n{}")
            .unwrap_err()
            .contains("a second document")
    );
    assert!(
        parse("kind: DeschedulerPolicy\nprofiles: []").unwrap_err().contains("apiVersion: missing")
    );
}

#[test]
fn what_has_no_effect_is_a_warning() {
    let policy = profile(
        "pluginConfig: [{name: RemoveDuplicates}, {name: RemoveDuplicates}, {name: RemoveFailedPods}]
plugins:
  balance: {enabled: [RemoveDuplicates], disabled: [RemoveDuplicates, '*']}
  sort: {enabled: [RemoveDuplicates]}",
    )
    .unwrap();
    assert_snapshot!(warnings(&policy), @"
    4:51 profiles[0].pluginConfig[1].name: this plugin is already configured above; only the first entry counts
    4:77 profiles[0].pluginConfig[2].name: this plugin is configured but not enabled, so it does not run
    6:44 profiles[0].plugins.balance.disabled: no effect, as in descheduler: plugins that are not enabled do not run
    7:5 profiles[0].plugins.sort: no effect, as in descheduler
    ");
    let empty = parse("apiVersion: descheduler/v1alpha2").unwrap();
    assert!(warnings(&empty).contains("no strategy is enabled"));
    let undone = profile(
        "pluginConfig:
- {name: LowNodeUtilization, args: {useDeviationThresholds: true, thresholds: {cpu: 10}, targetThresholds: {cpu: 10}}}
- {name: HighNodeUtilization, args: {thresholds: {cpu: 20}}}
plugins: {balance: {enabled: [LowNodeUtilization, HighNodeUtilization]}}",
    );
    assert!(warnings(&undone.unwrap()).contains("that HighNodeUtilization empties"));
    let open = evictor("{evictSystemCriticalPods: true, priorityThreshold: {value: 5}}").unwrap();
    assert!(warnings(&open).contains("descheduler would ignore it"));
    let pattern = profile(
        "pluginConfig: [{name: RemoveDuplicates, args: {namespaces: {exclude: ['kube-*']}}}]
plugins: {balance: {enabled: [RemoveDuplicates]}}",
    );
    assert!(warnings(&pattern.unwrap()).contains("compared as a name, not as a pattern"));
}

/// The extension point, the name and refused arguments of a plugin.
const REFUSED: &str = "
deschedule RemovePodsHavingTooManyRestarts {}
deschedule RemovePodsHavingTooManyRestarts {podRestartThreshold: 1, states: [Pending]}
deschedule PodLifeTime {}
deschedule PodLifeTime {conditions: [{}]}
deschedule PodLifeTime {states: [Sleeping]}
deschedule PodLifeTime {podStatusPhases: [Running]}
deschedule RemovePodsViolatingNodeAffinity {}
deschedule RemovePodsViolatingNodeTaints {includedTaints: [a], excludedTaints: [b]}
deschedule RemovePodsViolatingNodeTaints {namespaces: {include: [a], exclude: [b]}}
deschedule RemoveFailedPods {exitCodes: ['1']}
balance RemovePodsViolatingTopologySpreadConstraint {constraints: [Always]}
balance HighNodeUtilization {}
balance HighNodeUtilization {thresholds: {cpu: 101}}
balance HighNodeUtilization {thresholds: {cpu: 20}, evictionModes: [Sometimes]}
balance HighNodeUtilization {thresholds: {cpu: 20}, evictableNamespaces: {include: [a]}}
balance RemoveDuplicates {labelSelector: {matchLabels: {a: b}}}
";

#[test]
fn arguments_are_checked_as_descheduler_checks_them() {
    for line in REFUSED.trim().lines() {
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        assert!(plugin(words[0], words[1], words[2]).is_err(), "{line}");
    }
    for args in [
        "{labelSelector: a=b}",
        "{labelSelector: {matchLabels: {a b: c}}}",
        "{labelSelector: {matchLabels: {a: '!'}}}",
        "{labelSelector: {matchExpressions: [{key: -a, operator: Exists}]}}",
        "{labelSelector: {matchExpressions: [{key: a, operator: Gt, values: ['1']}]}}",
        "{minPodAge: 1d}",
        "{minPodAge: 5}",
        "{minPodAge: 0}",
        "{minPodAge: '1:30:00'}",
        "{minPodAge: PT5M}",
        "{minPodAge: 5min}",
        "{minPodAge: 1hr}",
        "{nodeSelector: {a: b}}",
        "{nodeSelector: a in (b}",
        "{nodeSelector: pool notin (gpu cpu)}",
        "{nodeSelector: pool!=gpu/a100}",
        "{noEvictionPolicy: mandatory}",
    ] {
        assert!(evictor(args).is_err(), "{args}");
    }
    let taints = |args: &str| {
        let rule = plugin("deschedule", "RemovePodsViolatingNodeTaints", args)
            .unwrap()
            .strategies
            .remove(0)
            .rule;
        let Rule::RemovePodsViolatingNodeTaints(NodeTaints { taints, .. }) = rule else {
            panic!("{rule:?}")
        };
        taints
    };
    assert_eq!(taints("{includedTaints: []}"), Names::Only(Vec::new()));
    assert_eq!(taints("{includedTaints: }"), Names::ALL);
}

const OLD: &str = "apiVersion: \"descheduler/v1alpha1\"
kind: \"DeschedulerPolicy\"
evictLocalStoragePods: true
maxNoOfPodsToEvictPerNamespace: 4
strategies:
  \"RemoveDuplicates\":
     enabled: true
  \"RemovePodsViolatingInterPodAntiAffinity\":
     enabled: true
     weight: 1
  \"LowNodeUtilization\":
     enabled: true
     params:
       thresholdPriority: 1000
       labelSelector: {matchLabels: {a: b}}
       nodeResourceUtilizationThresholds:
         thresholds: {\"cpu\" : 20, \"memory\": 20, \"pods\": 20}
         targetThresholds: {\"cpu\" : 50, \"memory\": 50, \"pods\": 50}
  PodLifeTime: {enabled: true, params: {maxPodLifeTimeSeconds: 86400, nodeFit: true}}
  RemovePodsViolatingNodeTaints: {enabled: true, params: {includedTaints: [a], podLifeTime: {}}}
  RemovePodsViolatingNodeAffinity:
    enabled: true
    params: {nodeAffinityType: [preferredDuringSchedulingIgnoredDuringExecution]}
  RemoveFailedPods: {enabled: false, params: {whatever: 1}}
";

#[test]
fn words_that_yaml_1_1_takes_for_something_else_are_no_text() {
    let of = |args: &str| evictor(args).map(|policy| policy.profiles[0].evictable.node_fit);
    assert_eq!(of("{nodeFit: on, labelSelector: {matchLabels: {a: 'y'}}}"), Ok(true));
    assert_snapshot!(first(evictor("{labelSelector: {matchLabels: {tier: y}}}")),
        @"policy.yaml:4:110: profiles[0].pluginConfig[1].args.labelSelector.matchLabels.tier: \
            found y, expected text; write \"y\", with quotes");
    assert_snapshot!(first(plugin("balance", "RemoveDuplicates",
        "{namespaces: {exclude: [1_000]}}")),
            @"policy.yaml:4:73: profiles[0].pluginConfig[0].args.namespaces.exclude[0]: found 1_000, expected text; write \"1_000\", with quotes");
    let replicas = evictor("{minReplicas: 010}").unwrap().profiles[0].evictable.min_replicas;
    assert_eq!(replicas, 8);
    let restarts = plugin(
        "deschedule",
        "RemovePodsHavingTooManyRestarts",
        "{podRestartThreshold: 2147483648}",
    );
    assert_snapshot!(first(restarts),
        @"policy.yaml:4:86: profiles[0].pluginConfig[0].args.podRestartThreshold: found 2147483648, expected a whole number from 1 to 2147483647");
}

#[test]
fn numbers_are_those_of_json_however_they_are_written() {
    let thresholds = |cpu: &str| {
        let args = format!("{{thresholds: {{cpu: {cpu}}}}}");
        plugin("balance", "HighNodeUtilization", &args).map(|policy| {
            let Rule::HighNodeUtilization(rule) = &policy.strategies[0].rule else {
                panic!("another rule")
            };
            (rule.thresholds[0].1.get() * 1e4).round() / 1e4
        })
    };
    for (written, share) in [
        ("010", 0.08),
        ("08", 0.08),
        ("+20", 0.2),
        (".5", 0.005),
        ("1_0", 0.1),
        ("0x10", 0.16),
        ("2e+1", 0.2),
        ("12.5", 0.125),
        ("100", 1.0),
        ("0", 0.0),
    ] {
        assert_eq!(thresholds(written), Ok(share), "{written}");
    }
    for written in ["-1", "101", "100.5", "0145", ".inf", ".nan", "'20'", "20%", "true"] {
        assert!(thresholds(written).is_err(), "{written}");
    }
    let per_cycle = |total: &str| {
        let text = format!(
            "apiVersion: descheduler/v1alpha2\nmaxNoOfPodsToEvictTotal: {total}\nprofiles: []"
        );
        parse(&text).map(|policy| policy.limits.per_cycle)
    };
    for (written, total) in [("1.0", 1), ("1e3", 1000), ("1e+06", 1_000_000), ("1_0.0", 10)] {
        assert_eq!(per_cycle(written), Ok(Some(Share::Count(total))), "{written}");
    }
    for written in ["1.5", "1e10", "'1.0'", "-1.0"] {
        assert!(per_cycle(written).is_err(), "{written}");
    }
}

#[test]
fn durations_are_those_of_go() {
    let age = |text: &str| {
        let policy = evictor(&format!("{{minPodAge: {text}}}")).unwrap();
        let again = parse(&policy.to_native()).unwrap();
        assert_eq!(again.profiles, converted(policy.clone()).profiles);
        policy.profiles[0].evictable.min_pod_age
    };
    assert_eq!(age(".5h"), SignedDuration::from_mins(30));
    assert_eq!(age("1h1h"), SignedDuration::from_hours(2));
    assert_eq!(age("'0'"), SignedDuration::from_nanos(1));
}

#[test]
fn a_node_selector_may_compare_integers() {
    let policy = evictor("{nodeFit: true, nodeSelector: 'gpus>1,gpus<9'}").unwrap();
    let selector = policy.profiles[0].evictable.destinations.clone().unwrap();
    assert_eq!(selector.to_string(), "gpus>1,gpus<9");
    let again = parse(&policy.to_native()).unwrap();
    assert_eq!(again.profiles, converted(policy.clone()).profiles);
}

/// In descheduler it is part of `nodeFit` (`PodFitsAnyNode` gets the selected nodes).
#[test]
fn a_node_selector_without_node_fit_has_no_effect() {
    let policy = evictor("{nodeSelector: pool=a}").unwrap();
    assert_eq!(policy.profiles[0].evictable.destinations, None);
    let warning = warnings(&policy);
    assert!(warning.contains("nodeSelector: it selects the nodes of `nodeFit`"), "{warning}");
    assert!(warnings(&evictor("{nodeFit: true, nodeSelector: pool=a}").unwrap()).is_empty());
}

#[test]
fn messages_name_only_what_this_format_accepts() {
    assert!(
        first(evictor("{noEvictionPolicy: mandatory}"))
            .ends_with("found mandatory, expected Preferred or Mandatory")
    );
    assert!(evictor("{noEvictionPolicy: ''}").is_ok());
    for args in ["{}", "{thresholds: {}}", "{thresholds: 5}"] {
        let error = first(plugin("balance", "HighNodeUtilization", args));
        assert!(error.contains("such as {cpu: 30"), "{error}");
        assert!(!error.contains('%'), "{error}");
    }
    let collector = |text: &str| {
        let text = format!("apiVersion: descheduler/v1alpha2\nmetricsCollector: {text}");
        warnings(&parse(&text).unwrap())
    };
    assert!(collector("{enabled: true}").contains("deprecated but still in effect"));
    for off in ["{}", "{enabled: false}"] {
        assert!(!collector(off).contains("deprecated"), "{off}");
    }
}

#[test]
fn the_url_of_a_prometheus_must_be_one() {
    let by = |url: &str| {
        parse(&format!(
            "apiVersion: descheduler/v1alpha2\nmetricsProviders: [{{source: Prometheus, prometheus: {{url: '{url}'}}}}]"
        ))
    };
    assert!(first(by("/a")).contains("not a url, such as"));
    assert!(by("https://me@p/x?y=z").is_ok());
}

#[test]
fn arguments_may_say_of_which_kind_they_are() {
    let args = "{apiVersion: descheduler/v1alpha2, kind: DefaultEvictorArgs, nodeFit: true}";
    assert!(evictor(args).unwrap().profiles[0].evictable.node_fit);
    assert!(
        plugin("deschedule", "PodLifeTime", "{kind: PodLifeTimeArgs, maxPodLifeTimeSeconds: 5}")
            .is_ok()
    );
    assert!(plugin("deschedule", "PodLifeTime", "{kind: 5, maxPodLifeTimeSeconds: 5}").is_err());
}

#[test]
fn an_age_of_nothing_asks_that_a_pod_has_started() {
    let age = |args: &str| evictor(args).unwrap().profiles[0].evictable.min_pod_age;
    assert_eq!(age("{}"), SignedDuration::ZERO);
    assert_eq!(age("{minPodAge: 0s}"), SignedDuration::from_nanos(1));
    assert_eq!(age("{minPodAge: 5m}"), SignedDuration::from_mins(5));
    let native = evictor("{minPodAge: 0s}").unwrap().to_native();
    assert_eq!(
        parse(&native).unwrap().profiles[0].evictable.min_pod_age,
        SignedDuration::from_nanos(1),
        "{native}"
    );
}

#[test]
fn the_old_format_makes_a_profile_of_each_strategy() {
    let policy = parse(OLD).unwrap();
    let names: Vec<&str> = policy.strategies.iter().map(|s| s.rule.name()).collect();
    assert_eq!(
        names,
        [
            "RemovePodsViolatingInterPodAntiAffinity",
            "PodLifeTime",
            "RemovePodsViolatingNodeTaints",
            "RemovePodsViolatingNodeAffinity",
            "RemoveDuplicates",
            "LowNodeUtilization",
        ]
    );
    assert!(
        policy
            .profiles
            .iter()
            .all(|p| !p.evictable.protected.local_storage && !p.evictable.node_fit)
    );
    let low = &policy.profiles[policy.strategies[5].profile];
    assert_eq!(
        (low.name.as_str(), &low.evictable.priority_below),
        ("strategy-LowNodeUtilization-profile", &PriorityThreshold::Value(1000))
    );
    assert_eq!(policy.limits.per_namespace, Some(4));
    let Rule::PodLifeTime(rule) = &policy.strategies[1].rule else { panic!("another rule") };
    assert_eq!(rule.max_age, Some(SignedDuration::from_hours(24)));
    let Rule::RemovePodsViolatingNodeTaints(rule) = &policy.strategies[2].rule else {
        panic!("another rule")
    };
    assert_eq!(rule.taints, Names::Only(vec!["a".to_owned()]));
    let Rule::RemovePodsViolatingNodeAffinity(rule) = &policy.strategies[3].rule else {
        panic!("another rule")
    };
    assert_eq!(rule.kinds, [AffinityKind::Preferred]);
    assert_snapshot!(warnings(&policy), @"
    10:6 strategies.RemovePodsViolatingInterPodAntiAffinity.weight: no effect, as in descheduler: \
        strategies run in the order of the file
    15:8 strategies.LowNodeUtilization.params.labelSelector: no effect: LowNodeUtilization does not take this
    19:71 strategies.PodLifeTime.params.nodeFit: no effect, as in descheduler: PodLifeTime does not need a node that fits
    20:80 strategies.RemovePodsViolatingNodeTaints.params.podLifeTime: no effect: \
        RemovePodsViolatingNodeTaints does not take this
    ");
}

#[test]
fn the_old_format_is_refused_where_it_makes_no_sense() {
    let strategy =
        |text: &str| parse(&format!("apiVersion: descheduler/v1alpha1\nstrategies: {{{text}}}"));
    assert!(
        first(strategy("RemoveDuplicate: {enabled: false}"))
            .contains("did you mean `RemoveDuplicates`?")
    );
    assert!(
        first(strategy("PodLifeTime: {enabled: true}")).contains("maxPodLifeTimeSeconds: missing")
    );
    assert!(
        first(strategy("LowNodeUtilization: {enabled: true}"))
            .contains("nodeResourceUtilizationThresholds: missing")
    );
    assert!(
        strategy(
            "RemoveDuplicates: {enabled: true, params: {thresholdPriority: 1, thresholdPriorityClassName: a}}"
        )
        .is_err()
    );
    assert!(
        first(strategy("RemoveDuplicates: {enabled: true, params: {nodefit: true}}"))
            .contains("did you mean `nodeFit`?")
    );
    let low =
        "nodeResourceUtilizationThresholds: {thresholds: {cpu: 1}, targetThresholds: {cpu: 2}}";
    assert!(
        strategy(&format!(
            "LowNodeUtilization: {{enabled: true, params: {{namespaces: {{include: [a]}}, {low}}}}}"
        ))
        .is_err()
    );
}

#[test]
fn both_formats_come_out_the_same_in_the_native_one() {
    for text in [
        OLD,
        "{apiVersion: descheduler/v1alpha2, profiles: [{name: 'a: b',
         pluginConfig: [{name: PodLifeTime, args: {
        conditions: [{type: 'true', minTimeSinceLastTransitionSeconds: 5}], exitCodes: [-1, 137],
          ownerKinds: {exclude: [Job]}}}],
        plugins: {deschedule: {enabled: [PodLifeTime]}}}]}",
    ] {
        let policy = parse(text).unwrap();
        let again =
            parse(&policy.to_native()).unwrap_or_else(|e| panic!("{e}\n{}", policy.to_native()));
        assert_eq!(again, converted(policy));
    }
}

#[test]
fn an_argument_of_another_plugin_names_that_plugin() {
    let error = parse(
        "apiVersion: descheduler/v1alpha2
profiles:
- name: p
  pluginConfig:
  - {name: DefaultEvictor, args: {maxPodLifeTimeSeconds: 7}}
  - {name: PodLifeTime, args: {maxPodLifeTimeSeconds: 7, nodeFit: true}}
  plugins: {deschedule: {enabled: [PodLifeTime]}}
",
    );
    let error = error.unwrap_err();
    for hint in [
        "maxPodLifeTimeSeconds: unknown field (it belongs in the args of PodLifeTime); allowed",
        "nodeFit: unknown field (it belongs in the args of DefaultEvictor); allowed",
    ] {
        assert!(error.contains(hint), "{error}");
    }
}

#[test]
fn a_policy_without_strategies_says_where_they_belong() {
    for (version, field) in [("v1alpha2", "profiles"), ("v1alpha1", "strategies")] {
        let text = format!("apiVersion: descheduler/{version}\nmaxNoOfPodsToEvictPerNode: 5");
        let found = warnings(&parse(&text).unwrap());
        let start = format!("1:1 {field}: no strategy is enabled, so this policy does nothing; in");
        assert!(found.starts_with(&start), "{found}");
        assert!(found.contains("descheduler still evicts"), "{found}");
    }
}

#[test]
fn a_strategy_with_params_that_is_not_enabled_is_a_warning() {
    let of = |enabled: &str| {
        let policy = parse(&format!(
            "apiVersion: descheduler/v1alpha1
strategies:
  RemoveDuplicates: {{enabled: true}}
  PodLifeTime: {{{enabled}params: {{podLifeTime: {{maxPodLifeTimeSeconds: 7}}}}}}
"
        ));
        warnings(&policy.unwrap())
    };
    let found = of("");
    assert!(found.contains("strategies.PodLifeTime.params: this strategy"), "{found}");
    for decided in ["enabled: false, ", "enabled: true, "] {
        assert_eq!(of(decided), "");
    }
}
