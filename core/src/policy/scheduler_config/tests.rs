//! Reading configurations of kube-scheduler.

use insta::assert_snapshot;

use super::super::Policy;
use super::super::native::tests::messages;
use super::super::scheduler_profile::{DefaultSpread, FilterPlugin, FitStrategy, ScorePlugin};
use super::{SchedulerConfig, SchedulerProfile};

/// A file with this below its head, which is the first two lines.
fn parse(part: &str) -> Result<SchedulerConfig, String> {
    let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    SchedulerConfig::parse("sched.yaml", &format!("{head}{part}")).map_err(|error| messages(&error))
}

fn refused(part: &str) -> String {
    parse(part).unwrap_err()
}

/// The one profile of a file with these plugins.
fn with(plugins: &str) -> SchedulerProfile {
    let config =
        parse(&format!("profiles:\n- plugins: {plugins}\n")).unwrap_or_else(|e| panic!("{e}"));
    config.profiles[0].clone()
}

fn warned(part: &str) -> String {
    parse(part).unwrap().warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The weights, in the order of the default profile.
fn weights(profile: &SchedulerProfile) -> [i64; 7] {
    ScorePlugin::ALL.map(|plugin| profile.weights[plugin])
}

/// As kubeadm users pass it to pack nodes.
const PACKING: &str = "
leaderElection: {leaderElect: true}
clientConnection: {kubeconfig: /etc/kubernetes/scheduler.conf}
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: NodeResourcesFitArgs
      scoringStrategy:
        type: MostAllocated
        resources:
        - {name: cpu, weight: 3}
        - {name: memory, weight: 1}
        - {name: nvidia.com/gpu}
  plugins:
    score:
      disabled:
      - name: NodeResourcesBalancedAllocation
      enabled:
      - {name: NodeResourcesFit, weight: 10}
";

#[test]
fn a_file_without_profiles_is_the_default_profile() {
    for text in
        ["", "profiles: []", "parallelism: 8\nprofiles:\n- schedulerName: default-scheduler"]
    {
        let config = parse(text).unwrap();
        assert_eq!(
            (config.profiles, config.warnings.len()),
            (vec![SchedulerProfile::default()], 0),
            "{text}"
        );
    }
    let older = "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration";
    assert_eq!(SchedulerConfig::parse("f", older).unwrap().profiles, [SchedulerProfile::default()]);
}

#[test]
fn a_scheduler_that_packs() {
    let profile = parse(PACKING).unwrap().profiles.remove(0);
    assert_eq!(profile.fit.strategy, FitStrategy::MostAllocated);
    let counts = [("cpu", 3), ("memory", 1), ("nvidia.com/gpu", 1)];
    assert_eq!(profile.fit.resources, counts.map(|(name, weight)| (name.to_owned(), weight)));
    assert_eq!(weights(&profile), [3, 2, 10, 2, 2, 0, 1]);
    assert!(profile.filters_off.is_empty() && !profile.unknown_scores);
}

#[test]
#[expect(clippy::too_many_lines, reason = "one long configuration and its meaning")]
fn the_arguments_of_every_plugin_that_matters() {
    let config = parse(
        "
percentageOfNodesToScore: 50
profiles:
- schedulerName: spread
  percentageOfNodesToScore: 0
  pluginConfig:
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
      - {maxSkew: 2, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule,
        nodeTaintsPolicy: Honor}
  - name: InterPodAffinity
    args: {hardPodAffinityWeight: 100, ignorePreferredTermsOfExistingPods: true}
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions: [{key: pool, operator: In, values: [web, batch]}]
        preferredDuringSchedulingIgnoredDuringExecution:
        - {weight: 7, preference: {matchExpressions: [{key: cores, operator: Gt, values: ['8']}]}}
  - name: NodeResourcesBalancedAllocation
    args: {resources: [{name: cpu, weight: 1}, {name: nvidia.com/gpu, weight: 1}]}
  - name: DefaultPreemption
    args: {minCandidateNodesPercentage: 10}
- schedulerName: by-ratio
  pluginConfig:
  - name: NodeResourcesFit
    args:
      ignoredResources: [example.com/foo]
      ignoredResourceGroups: [example.com]
      scoringStrategy:
        type: RequestedToCapacityRatio
        requestedToCapacityRatio:
          shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]
",
    )
    .unwrap_or_else(|e| panic!("{e}"));
    let [spread, ratio] = &config.profiles[..] else { panic!("{:?}", config.profiles) };
    let DefaultSpread::List(constraints) = &spread.spread else { panic!("{:?}", spread.spread) };
    let shown =
        constraints.iter().map(|c| (c.max_skew, c.topology_key.as_str(), c.hard, c.honours_taints));
    let expected = [
        (1, "topology.kubernetes.io/zone", false, false),
        (2, "kubernetes.io/hostname", true, true),
    ];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
    assert_eq!(
        (spread.pod_affinity.hard_weight, spread.pod_affinity.ignore_preferences_of_others),
        (100, true)
    );
    let (required, preferred) =
        (spread.added_affinity.required.as_ref().unwrap(), &spread.added_affinity.preferred);
    assert_eq!(required[0].labels.to_string(), "pool in (web,batch)");
    assert_eq!((preferred[0].0, preferred[0].1.labels.to_string()), (7, "cores>8".to_owned()));
    assert_eq!(spread.balanced, ["cpu", "nvidia.com/gpu"]);
    assert_eq!(ratio.fit.strategy, FitStrategy::RequestedToCapacityRatio(vec![(0, 0), (100, 10)]));
    assert_eq!(ratio.fit.resources, SchedulerProfile::default().fit.resources);
    assert!(ratio.fit.ignored_resources.contains("example.com/foo"));
    assert_eq!(
        (spread.percentage_of_nodes_to_score, ratio.percentage_of_nodes_to_score),
        (Some(0), Some(50)),
        "what a profile says goes before what the file says"
    );
}

#[test]
fn plugins_are_merged_as_kube_scheduler_does_it() {
    // All scores but one are off. Its weight is 1 if the file sets none, regardless of its default.
    assert_eq!(
        weights(&with("{score: {disabled: [{name: '*'}], enabled: [{name: TaintToleration}]}}")),
        [1, 0, 0, 0, 0, 0, 0]
    );
    assert_eq!(
        weights(&with("{multiPoint: {enabled: [{name: TaintToleration}]}}")),
        [1, 2, 1, 2, 2, 1, 1]
    );
    assert_eq!(
        weights(&with("{multiPoint: {enabled: [{name: NodeAffinity, weight: 9}]}}")),
        [3, 9, 1, 2, 2, 1, 1]
    );
    // The extension point goes before multiPoint.
    let both = "{multiPoint: {enabled: [{name: NodeAffinity, weight: 9}]}, score: {enabled: [{name: NodeAffinity, weight: 4}]}}";
    assert_eq!(weights(&with(both)), [3, 4, 1, 2, 2, 1, 1]);
    // A plugin outside multiPoint works only at the extension points that name it.
    let some = with(
        "{multiPoint: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit}]}, filter: {enabled: [{name: NodeName}]}}",
    );
    assert_eq!(weights(&some), [0, 0, 1, 0, 0, 0, 0]);
    let on: Vec<_> =
        FilterPlugin::ALL.into_iter().filter(|p| !some.filters_off.contains(p)).collect();
    assert_eq!(on, [FilterPlugin::NodeName, FilterPlugin::NodeResourcesFit]);
    let off = "{postFilter: {disabled: [{name: DefaultPreemption}]}}";
    assert!(!some.preempts && !with(off).preempts && with("{}").preempts);
    // Off at one point, it stays at work at the other.
    let filters = with("{filter: {disabled: [{name: TaintToleration}]}}");
    assert_eq!((weights(&filters)[0], filters.filters_off.len()), (3, 1));
    assert!(
        with("{multiPoint: {disabled: [{name: PodTopologySpread}]}}")
            .filters_off
            .contains(&FilterPlugin::PodTopologySpread)
    );
}

#[test]
fn a_plugin_that_nobody_here_knows_makes_scores_unknown() {
    let trimaran =
        "profiles:\n- plugins:\n    score: {enabled: [{name: TargetLoadPacking, weight: 5}]}\n";
    assert!(parse(trimaran).unwrap().profiles[0].unknown_scores);
    assert_snapshot!(warned(trimaran),
        @"profiles[0].plugins.score.enabled[0]: TargetLoadPacking is not a plugin of kube-scheduler and scores nodes; the forecast does not know how, so it treats all nodes that can take a pod as equally likely");
    let coscheduling = "profiles:\n- plugins:\n    multiPoint: {enabled: [{name: Coscheduling}]}\n";
    assert!(parse(coscheduling).unwrap().profiles[0].unknown_scores);
    assert!(
        warned(coscheduling).ends_with("if it does not score, list it in plugins.score.disabled")
    );
    let silent = format!("{coscheduling}    score: {{disabled: [{{name: Coscheduling}}]}}\n");
    assert!(!parse(&silent).unwrap().profiles[0].unknown_scores && warned(&silent).is_empty());
    let filter = "profiles:\n- plugins: {filter: {enabled: [{name: Mine}]}, permit: {enabled: [{name: Mine}]}}";
    assert!(!parse(filter).unwrap().profiles[0].unknown_scores);
    assert_snapshot!(warned(filter),
        @"profiles[0].plugins.filter.enabled[0]: Mine is not a plugin of kube-scheduler; the forecast does not know which nodes it excludes");
}

#[test]
fn without_anything_that_scores_the_first_node_wins() {
    let silent = "profiles: [{plugins: {score: {disabled: [{name: '*'}]}}}]\n";
    let first = |part: &str| parse(part).unwrap().profiles[0].takes_first;
    assert!(first(silent) && !first(""));
    assert!(!first(&silent.replace("disabled", "enabled: [{name: ImageLocality}], disabled")));
    // VolumeBinding scores, too, although it gives all nodes the same score by default.
    let names = ScorePlugin::ALL.map(|plugin| format!("{{name: {}}}", plugin.name())).join(", ");
    assert!(!first(&silent.replace("{name: '*'}", &names)));
    for (verb, alone) in [("filterVerb", false), ("prioritizeVerb", false), ("bindVerb", true)] {
        let extended = format!("{silent}extenders: [{{urlPrefix: http://here, {verb}: v}}]");
        assert_eq!(first(&extended), alone, "{verb}");
    }
}

#[test]
fn an_extender_is_told_of() {
    let scoring =
        "extenders: [{urlPrefix: http://here, filterVerb: f, prioritizeVerb: p, weight: 2}]";
    assert!(parse(scoring).unwrap().profiles[0].unknown_scores);
    assert_snapshot!(warned(scoring), @"
    extenders: an extender filters nodes; the forecast does not know which nodes it excludes
    extenders: an extender scores nodes; the forecast does not know how, so it treats all nodes that can take a pod as equally likely
    ");
    let some = "extenders: [{urlPrefix: http://here, prioritizeVerb: p, weight: 2, managedResources: [{name: a.b/c}]}]";
    assert!(!parse(some).unwrap().profiles[0].unknown_scores);
    assert!(warned(some).contains("for pods that request its managed resources"));
    assert_eq!(warned("extenders: [{urlPrefix: http://here, bindVerb: b}]"), "");
}

#[test]
fn what_kube_scheduler_would_refuse_is_refused_with_its_place() {
    assert_snapshot!(refused("profiles:\n- schedulerName: a\n  pluginConfig:\n  - name: \
        NodeResourcesFit\n    args: {scoringStrategy: {type: BestFit}}"), @"sched.yaml:7:36: profiles[0].pluginConfig[0].args.scoringStrategy.type: found BestFit, expected LeastAllocated, MostAllocated or RequestedToCapacityRatio");
    assert_snapshot!(refused("percentageOfNodesToScore: 101\nprofiles: [{schedulerName: a, plugin: {}}]"), @"
    sched.yaml:3:27: percentageOfNodesToScore: found 101, expected a whole number from 0 to 100
    sched.yaml:4:31: profiles[0].plugin: unknown field (did you mean `plugins`?); allowed here: \
        schedulerName, percentageOfNodesToScore, plugins, pluginConfig
    ");
    let policy =
        SchedulerConfig::parse("sched.yaml", "apiVersion: v1\nkind: ConfigMap").unwrap_err();
    assert_snapshot!(policy.to_string().lines().next().unwrap(),
        @"sched.yaml:1:13: apiVersion: found v1, expected kubescheduler.config.k8s.io/v1 or kubescheduler.config.k8s.io/v1beta3");
}

/// Profiles, and a part of the reason.
const REFUSED: &str = "
{schedulerName: a}, {} | with several profiles, each needs a schedulerName
{schedulerName: a}, {schedulerName: a} | another profile has this name
{plugins: {score: {enabled: [{weight: 2}]}}} | enabled[0].name: missing, expected the name of a plugin
{pluginConfig: [{name: A}, {name: A}]} | has arguments already
{pluginConfig: [{name: PodTopologySpread, args: {defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway}]}}]} | custom constraints need defaultingType: List
{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 9, score: 1}, {utilization: 9, score: 2}]}}}}]} | the utilization of each point must be above
{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio}}}]} | needs requestedToCapacityRatio with a shape
{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}]} | found 101, expected a whole number from 0 to 100
{pluginConfig: [{name: NodeAffinity, args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Like}]}]}}}}]} | matchExpressions[0].operator:
";

#[test]
fn what_kube_scheduler_would_refuse_is_refused_with_a_reason() {
    for line in REFUSED.trim().lines() {
        let (profiles, said) = line.split_once(" | ").unwrap();
        let error = refused(&format!("profiles: [{profiles}]"));
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_policy_has_the_profile_of_each_scheduler() {
    let config = parse("profiles: [{schedulerName: packer, percentageOfNodesToScore: 7}]").unwrap();
    let policy = Policy::default_native().with_schedulers(config);
    let percentage = |name: Option<&str>| policy.scheduler_of(name).percentage_of_nodes_to_score;
    // A second scheduler leaves the first as it is, and one of which nothing is known counts as the
    // first.
    assert_eq!([None, Some("packer"), Some("other")].map(percentage), [None, Some(7), None]);
    let own = parse("profiles: [{percentageOfNodesToScore: 9}]").unwrap();
    assert_eq!(
        Policy::default_native().with_schedulers(own).scheduler.percentage_of_nodes_to_score,
        Some(9)
    );
}
