//! Explanations: what every strategy and every gate says of a pod, and what would have to change.

use std::collections::BTreeSet;

use evenkeel::cli::page_of;
use evenkeel::decide::engine::Engine;
use evenkeel::decide::explain::{Explanation, OfPod, Subject, foremost};
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::{PodVerdict, Refusal};
use evenkeel::model::snapshot::Snapshot;
use evenkeel::model::snapshot::facts::Skipped;
use evenkeel::model::snapshot::objects::Kind;
use evenkeel::values::Amount;
use insta::assert_snapshot;
use jiff::SignedDuration;
use proptest::prelude::*;

use crate::support::{Cluster, EVEN, noon, parse, random_cluster, text};

/// Every strategy there is, in an order in which each finds something to do.
const ALL: &str = "
evictable: {minPodAge: 30s}
limits: {perCycle: 9, perNode: 3, perNamespace: 8, perWorkload: 3, perMinute: none}
strategies:
- removeFailedPods: {minPodLifetimeSeconds: 600}
- podLifeTime: {maxPodLifeTimeSeconds: 36000, labelSelector: 'app in (app0, app1)'}
- removePodsHavingTooManyRestarts: {podRestartThreshold: 5}
- removePodsViolatingNodeTaints: {includePreferNoSchedule: true}
- removePodsViolatingNodeAffinity: {nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution]}
- removePodsViolatingInterPodAntiAffinity
- removePodsViolatingTopologySpreadConstraint: {namespaces: {exclude: [ns2]}}
- removeDuplicates: {excludeOwnerKinds: [Job]}
- highNodeUtilization: {thresholds: {cpu: 10%}}
- lowNodeUtilization: {thresholds: {cpu: 30%, memory: 40%}, targetThresholds: {cpu: 50%, memory: 60%}}
";

fn pod(engine: &Engine, snapshot: &Snapshot, name: &str) -> OfPod {
    let explanation = engine
        .explain(snapshot, &Subject::Pod(name.to_owned()), noon())
        .unwrap();
    let Explanation::Pod(it) = explanation else {
        panic!("{explanation:?}")
    };
    *it
}

fn clusters() -> impl Strategy<Value = String> {
    const PODS: [&str; 19] = [
        "daemon",
        "bare",
        "emptydir",
        "mirror",
        "stay",
        "no-metrics",
        "unready",
        "age=10s",
        "age=20h",
        "terminating",
        "phase=Failed",
        "phase=Succeeded",
        "restarts=7",
        "avoids=app1",
        "spread=zone:1",
        "owner=Job",
        "requires=disk:ssd",
        "tolerates=a=:NoSchedule",
        "image=x",
    ];
    const NODES: [&str; 6] = [
        "cordoned",
        "no-metrics",
        "not-ready",
        "taint=a:NoSchedule",
        "taint=b:PreferNoSchedule",
        "cpu=64",
    ];
    random_cluster::clusters((3, 4), &PODS, &NODES)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_strategy_has_a_word_for_every_pod_and_it_is_that_of_the_plan(text in clusters(), exact in any::<bool>()) {
        let policy = if exact { parse(ALL).exactly() } else { parse(ALL) };
        let names: Vec<&str> = policy.strategies.iter().map(|s| s.rule.name()).collect();
        let (engine, snapshot) = Cluster::parse(&text).seen(policy, Ledger::default());
        let plan = engine.decide(&snapshot, noon());
        for it in &snapshot.pods {
            let story = pod(&engine, &snapshot, &format!("{}/{}", it.namespace, it.name));
            prop_assert_eq!(story.words.iter().map(|said| said.strategy).collect::<Vec<_>>(), names.clone());
            let mut moved = false;
            for said in &story.words {
                let mine = |namespace: &str, pod: &str, strategy| (namespace, pod, strategy) == (it.namespace.as_str(), it.name.as_str(), said.strategy);
                let goes = plan.moves.iter().find(|m| mine(&m.namespace, &m.pod, m.strategy));
                let kept = plan.kept.iter().find(|k| mine(&k.namespace, &k.pod, k.strategy));
                let told = format!("{} of {}/{}: {} in\n{text}", said.strategy, it.namespace, it.name, said.word);
                match (&said.word, goes, kept) {
                    (PodVerdict::Moved { reason, to }, Some(m), _) => prop_assert!(*reason == m.reason && *to == m.to, "{told}"),
                    (PodVerdict::Kept(refusal), None, Some(k)) => prop_assert_eq!(refusal, &k.refusal, "{}", told),
                    (PodVerdict::NotSelected(_), None, None) => prop_assert!(!said.word.remedy().unwrap().is_empty()),
                    _ => prop_assert!(false, "{told}"),
                }
                // "Others go rather than it" is said only where a strategy chooses among pods that are alike.
                let chooses = ["RemoveDuplicates", "RemovePodsViolatingTopologySpreadConstraint"].contains(&said.strategy);
                prop_assert!(chooses || said.word.code() != "others-first", "{told}");
                prop_assert!(!moved || said.word.code() == "moved-before", "{told}");
                moved |= goes.is_some();
            }
            let gates = story.gates.unwrap();
            let named = story.words.iter().find(|said| matches!(said.word, PodVerdict::Moved { .. }))
                .or_else(|| story.words.iter().find(|said| matches!(said.word, PodVerdict::Kept(_))));
            if let Some(said) = named {
                let first = gates.answers.iter().find_map(|answer| answer.refusal.clone());
                prop_assert_eq!(gates.strategy, said.strategy);
                match &said.word {
                    PodVerdict::Moved { .. } => prop_assert_eq!(first, None, "{} in {}", it.name, text),
                    // These are said where a node is emptied as a whole, or only by descheduler's way; no gate knows of them.
                    PodVerdict::Kept(refusal) if exact || said.strategy == "HighNodeUtilization" => drop(refusal.remedy()),
                    PodVerdict::Kept(refusal) => prop_assert_eq!(first.as_ref(), Some(refusal), "{} in {}", it.name, text),
                    PodVerdict::NotSelected(_) => {}
                }
            }
        }
    }
}

/// One refusal: the cluster and the policy in which it is made, and what was evicted before.
struct Case {
    code: &'static str,
    cluster: String,
    policy: String,
    exact: bool,
    ledger: String,
}

impl Case {
    fn new(code: &'static str, cluster: impl Into<String>, policy: &str) -> Self {
        let ledger = r#"{"version":1,"entries":[],"resting":{}}"#.to_owned();
        Case {
            code,
            cluster: cluster.into(),
            policy: format!("{policy}\n{EVEN}"),
            exact: false,
            ledger,
        }
    }

    /// Of an ordinary hot node: one pod of the kind under test, its sibling elsewhere, and a cold node.
    fn of_pod(code: &'static str, pod: &str, policy: &str) -> Self {
        let cluster = format!(
            "
            node n1 system=2
              web cpu=100m memory=100Mi uses=3 {pod}
              idle*4 cpu=500m memory=500Mi uses=0
            node n2
              web cpu=100m uses=100m
            node n3
            "
        );
        Case::new(code, cluster, policy)
    }

    /// Of seven equal pods on a hot node, of which three would have to go.
    fn of_seven(code: &'static str, more: &str, policy: &str) -> Self {
        Case::new(
            code,
            format!("node n1\n  web*7 cpu=100m uses=1\nnode n2\n{more}"),
            policy,
        )
    }

    /// By another strategy.
    fn by(self, strategy: &str) -> Self {
        Case {
            policy: strategy.to_owned(),
            ..self
        }
    }

    fn remembering(self, entries: &str, resting: &str) -> Self {
        let ledger = format!(r#"{{"version":1,"entries":[{entries}],"resting":{{{resting}}}}}"#);
        Case { ledger, ..self }
    }

    /// The engine, what it sees, and the pod that is refused for this.
    fn seen(&self) -> (Engine, Snapshot, String) {
        let policy = if self.exact {
            parse(&self.policy).exactly()
        } else {
            parse(&self.policy)
        };
        let mut cluster = Cluster::parse(&self.cluster);
        if self.code == "doubtful-node" {
            let (kind, namespace, name) = ("Pod".to_owned(), "shop".to_owned(), "odd".to_owned());
            let odd = Skipped {
                kind,
                namespace,
                name,
                node: Some("n1".to_owned()),
                why: "spec: found 7".to_owned(),
            };
            cluster.objects.skip(Kind::Pod, odd);
        }
        let (engine, snapshot) = cluster.seen(policy, Ledger::parse(&self.ledger).unwrap());
        let plan = engine.decide(&snapshot, noon());
        let kept = plan
            .kept
            .iter()
            .find(|kept| kept.refusal.code() == self.code);
        let kept = kept
            .unwrap_or_else(|| panic!("nothing is refused for {}:\n{}", self.code, text(&plan)));
        let name = format!("{}/{}", kept.namespace, kept.pod);
        (engine, snapshot, name)
    }
}

/// An eviction from `n1` that helped, five minutes ago.
fn evicted(workload: &str) -> String {
    format!(
        r#"{{"workload":"default/Deployment/{workload}","pod":"{workload}-0","uid":"uid-gone-{workload}","node":"n1",
        "at":"2026-11-21T11:55:00Z","newest":"2026-11-21T11:00:00Z","state":{{"settled":"helped"}}}}"#
    )
}

fn by_nature() -> Vec<Case> {
    vec![
        Case::of_pod("mirror-pod", "mirror", ""),
        Case::of_pod("static-pod", "static", ""),
        Case {
            exact: true,
            ..Case::of_pod("terminating", "terminating", "")
        },
        Case::of_pod("daemon-set", "daemon", ""),
        Case::of_pod("system-critical", "priority=2000000000", ""),
        Case::of_pod("priority", "priority=10", "evictable: {priorityBelow: 10}"),
        Case::of_pod(
            "unknown-priority-class",
            "priority=10",
            "evictable: {priorityBelow: absent}",
        ),
        Case::of_pod("bare-pod", "bare", ""),
        Case::of_pod("local-storage", "emptydir", ""),
        Case::of_pod(
            "persistent-volume",
            "claim",
            "evictable: {protect: [persistentVolumes]}",
        ),
        Case::of_pod(
            "resource-claims",
            "devices",
            "evictable: {protect: [resourceClaims]}",
        ),
        Case::of_pod("no-budget", "", "evictable: {protect: [withoutBudget]}"),
        Case::of_pod("prefer-no-eviction", "stay", ""),
        Case::of_pod(
            "namespace",
            "",
            "evictable: {namespaces: {exclude: [default]}}",
        ),
        Case::of_pod("pod-selector", "", "evictable: {podSelector: tier=web}"),
        Case::of_pod("too-young", "age=20s", ""),
        Case::of_pod("too-few-replicas", "namespace=other", ""),
        Case::new(
            "last-ready-replica",
            "node n1 system=2\n web uses=3\nnode n2\n web uses=100m unready",
            "",
        ),
        Case::new(
            "unmeasured",
            "node n1 system=6\n web uses=1 no-metrics\nnode n2\n web\nnode n3",
            "",
        ),
        Case::new(
            "doubtful-node",
            "node n1 taint=a:NoSchedule\n web*2\nnode n2",
            "",
        )
        .by("strategies: [{removePodsViolatingNodeTaints: {}}]"),
    ]
}

fn by_the_moment() -> Vec<Case> {
    let useless = r#""default/Deployment/web":{"useless":2,"until":"2026-11-21T12:18:00Z","attempt":"2026-11-21T11:40:00Z"}"#;
    let full: Vec<String> = (0..1500).map(|i| evicted(&format!("other{i}"))).collect();
    vec![
        Case::of_seven(
            "cycle-limit",
            "",
            "limits: {perCycle: 1, perWorkload: none, perMinute: none}",
        ),
        Case::of_seven(
            "node-limit",
            "",
            "limits: {perNode: 1, perWorkload: none, perMinute: none}",
        ),
        Case::of_seven(
            "namespace-limit",
            "",
            "limits: {perNamespace: 1, perWorkload: none, perMinute: none}",
        ),
        Case::of_seven(
            "rate-limit",
            "",
            "limits: {perMinute: 1, perWorkload: none}",
        ),
        Case::of_seven(
            "workload-limit",
            "",
            "limits: {perWorkload: 1, perMinute: none}",
        ),
        Case::of_seven("disruption-budget", "budget web allows=1", ""),
        Case::of_seven(
            "several-budgets",
            "budget web allows=9\nbudget web allows=9 name=second",
            "",
        ),
        Case::of_seven("stale-budget", "budget web allows=9 stale", ""),
        Case::of_pod("resting", "age=5m", "").remembering(&evicted("web"), ""),
        Case::of_pod("ineffective-move", "", "").remembering("", useless),
        Case::of_pod("ledger-full", "", "").remembering(&full.join(","), ""),
    ]
}

fn by_the_landing() -> Vec<Case> {
    let to = |n2: &str, n3: &str| {
        format!(
            "node n1 system=2 labels=pool:a\n web*2 cpu=100m uses=3\nnode n2 {n2}\nnode n3 labels=pool:a {n3}\n full cpu=7 memory=24Gi"
        )
    };
    let pooled = "strategies: [{lowNodeUtilization: {nodeSelector: pool=a, thresholds: {cpu: 30%}, targetThresholds: {cpu: 50%}}}]";
    let emptying = "strategies: [{highNodeUtilization: {basis: actual, thresholds: {cpu: 20%}}}]";
    let half_empty = |node: &str, pod: &str| {
        format!(
            "node n1 {node}\n web cpu=100m uses=100m\n {pod}\nnode n2\n web cpu=4 uses=4\nnode n3\n api*2 cpu=1 uses=2"
        )
    };
    vec![
        Case::new(
            "no-room",
            "node n1 system=2\n web*2 uses=3\nnode n3 taint=dedicated:NoSchedule",
            "",
        ),
        Case::new(
            "would-return",
            "node n1 system=2\n web*2 cpu=100m uses=3\nnode n2 taint=a:PreferNoSchedule",
            "",
        ),
        Case::new("would-land-hot", to("system=3", ""), ""),
        Case::new("would-land-unknown", to("no-metrics", ""), ""),
        Case::new("would-not-help", to("", ""), "").by(pooled),
        Case::new(
            "would-land-excluded",
            to("", ""),
            "evictable: {destinations: pool=a}",
        ),
        Case::new("unremovable-node", half_empty("no-scale-down", ""), "").by(emptying),
        Case::new(
            "not-alone",
            half_empty("", "lone cpu=100m uses=100m bare"),
            "",
        )
        .by(emptying),
    ]
}

#[test]
fn every_refusal_is_explained_with_what_would_have_to_change() {
    let mut missing: BTreeSet<&str> = crate::reasons::refusals()
        .iter()
        .map(Refusal::code)
        .collect();
    for case in by_nature()
        .into_iter()
        .chain(by_the_moment())
        .chain(by_the_landing())
    {
        let (engine, snapshot, name) = case.seen();
        let explanation = engine
            .explain(&snapshot, &Subject::Pod(name.clone()), noon())
            .unwrap();
        let Explanation::Pod(story) = &explanation else {
            panic!("{explanation:?}")
        };
        let said = foremost(&story.words).unwrap();
        let PodVerdict::Kept(refusal) = &said.word else {
            panic!("{name}: {}", said.word)
        };
        assert_eq!(refusal.code(), case.code);
        // A line is broken where the page ends.
        let page: Vec<String> = page_of(&explanation, 80)
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        let page = page.join(" ");
        assert!(
            page.contains(&format!("it stays: {refusal}")),
            "{}: {page}",
            case.code
        );
        let remedy = match refusal.remedy().strip_prefix("nothing") {
            Some(rest) => format!("nothing to change{rest}"),
            None => format!("to change that: {}", refusal.remedy()),
        };
        assert!(page.contains(&remedy), "{}: {page}", case.code);
        let json = serde_json::to_value(&explanation).unwrap();
        assert_eq!(json["words"][0]["code"], case.code);
        assert_eq!(json["words"][0]["remedy"], refusal.remedy());
        missing.remove(case.code);
    }
    assert!(missing.is_empty(), "not shown: {missing:?}");
}

/// The dead loop: heavy pods prefer the hot node. Usage rose for four minutes; one of them was evicted before, and came back.
fn dead_loop(policy: &str) -> (Engine, Snapshot) {
    let cluster = Cluster::parse(
        "
        node n1 system=200m/1Gi labels=disk:ssd
          hot*4 cpu=100m memory=256Mi uses=1500m/600Mi prefers=disk:ssd*100
          agent cpu=100m uses=100m/60Mi daemon
        node n2 system=200m/1Gi
          hot cpu=100m memory=256Mi uses=100m/100Mi prefers=disk:ssd*100
        node n3 system=200m/1Gi cordoned
        node n4 system=200m/1Gi taint=dedicated:NoSchedule
        budget hot allows=2
        ",
    );
    let ledger = evicted("hot")
        .replace("helped", "sameNode")
        .replace("11:55", "11:20");
    let useless = r#""default/Deployment/hot":{"useless":1,"until":"2026-11-21T11:30:00Z","attempt":"2026-11-21T11:20:00Z"}"#;
    let ledger = Ledger::parse(&format!(
        r#"{{"version":1,"entries":[{ledger}],"resting":{{{useless}}}}}"#
    ))
    .unwrap();
    let policy = parse(policy);
    let snapshot = cluster.snapshot(&policy);
    let mut engine = Engine::new(policy, ledger);
    for (minute, share) in [(4, 40), (3, 55), (2, 70), (1, 90), (0, 100)] {
        let at = noon() - SignedDuration::from_mins(minute);
        let mut readings = cluster.readings(at);
        for sample in readings
            .pods
            .values_mut()
            .chain(readings.nodes.values_mut())
        {
            sample.used.cpu = Amount::new(sample.used.cpu.get() / 100 * share);
        }
        engine.observe_steady(&snapshot, &readings, at);
    }
    (engine, snapshot)
}

fn page(policy: &str, subject: &Subject, width: usize) -> String {
    let (engine, snapshot) = dead_loop(policy);
    page_of(&engine.explain(&snapshot, subject, noon()).unwrap(), width)
}

#[test]
fn a_pod_on_a_page() {
    assert_snapshot!(page(EVEN, &Subject::Pod("default/hot-1".to_owned()), 100), @r#"

    Pod default/hot-1  on n1, of Deployment hot, Ready, 1h old, PodDisruptionBudget hot allows 2
    LowNodeUtilization: it stays: its replacement would return to n1: its preferred node affinity
    outweighs the free nodes
    to change that: change the preferred node affinity so that it does not favour n1; or use `steering`,
    so that the scheduler avoids hot nodes

    Usage  window of 5m, 5 samples; decisions go by a mean that fades with age
    cpu     ▃▄▆▇█  min 600m   now 1.5    max 1.5    smoothed 1.22   requests 100m
    memory  █████  min 600Mi  now 600Mi  max 600Mi  smoothed 600Mi  requests 256Mi

    Gates  each asked by itself, as if LowNodeUtilization named the pod now
    evictable   admits it
    disruption  admits it
    cooldown    admits it
    landing     refuses: its replacement would return to n1: its preferred node affinity outweighs the
                free nodes
                to change that: change the preferred node affinity so that it does not favour n1; or use
                `steering`, so that the scheduler avoids hot nodes
    limits      admits it

    Landing  where its replacement would land, by the scheduler's scores
    n1 (home)  100%  score 768  its own node: nothing is gained
          NodeAffinity=200, NodeResourcesFit=93, PodTopologySpread=100
    n2           0%  score 672  helps; the node would be 18% full
          NodeAffinity=0, NodeResourcesFit=97, PodTopologySpread=200
    the same on all: ImageLocality, InterPodAffinity, NodeResourcesBalancedAllocation, TaintToleration
    drawn home: its preferred node affinity outweighs the free nodes
    cannot take it: n3 is cordoned
    cannot take it: n4 is tainted

    Ledger  what is remembered of default/Deployment/hot
    the last move did not help; the workload rested until 2026-11-21T11:30:00Z
    40m ago  hot-0  n1 → n1  the replacement returned to the same node
    "#);
}

#[test]
fn a_pod_that_no_strategy_asks_for() {
    let several = "
strategies:
- removePodsHavingTooManyRestarts: {podRestartThreshold: 100}
- removePodsViolatingNodeTaints
- podLifeTime: {maxPodLifeTimeSeconds: 604800, namespaces: {include: [batch]}}
- lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 50%}}
";
    let page = page(several, &Subject::Pod("hot-5".to_owned()), 80);
    assert_snapshot!(page.split("\n\nGates").next().unwrap(), @r#"

    Pod default/hot-5  on n2, of Deployment hot, Ready, 1h old, PodDisruptionBudget
        hot allows 2
    no strategy asks for it

    Usage  window of 5m, 5 samples; decisions go by a mean that fades with age
    cpu     ▃▄▆▇█  min 40m    now 100m   max 100m   smoothed 82m    requests 100m
    memory  █████  min 100Mi  now 100Mi  max 100Mi  smoothed 100Mi  requests 256Mi

    Strategies  what each says of it, in order
    RemovePodsHavingTooManyRestarts  not asked
      it restarted 0 times, fewer than the limit of 100
      nothing to change while it runs well, or lower `podRestartThreshold`
    RemovePodsViolatingNodeTaints  not asked
      its node has no taint that the strategy considers
      nothing to change: it may stay on its node
    PodLifeTime  not asked
      the strategy does not select its namespace
      to change that: change the strategy's `namespaces`
    LowNodeUtilization  not asked
      its node is at or below every threshold and needs no relief
      nothing to change: its node needs no relief, unless you lower its
      `targetThresholds`
    "#);
}

#[test]
fn a_node_on_a_page() {
    assert_snapshot!(page(EVEN, &Subject::Node("n1".to_owned()), 100), @r#"

    Node n1  Ready, 5 pods

    Usage  window of 5m, 5 samples; decisions go by a mean that fades with age
    cpu     ▃▄▆▇█  min 2.52   now 6.3    max 6.3    smoothed 5.11   requests 500m  of 8
    memory  █████  min 3.4Gi  now 3.4Gi  max 3.4Gi  smoothed 3.4Gi  requests 1Gi   of 32Gi

    Strategies  what those make of it that look at nodes as a whole; before → after this cycle's moves
    LowNodeUtilization  hot: cpu 64% is above the target 50%
      cpu  ███████┊████│██            64%  ┊ threshold 30%  │ target 50%  over by 1.11

    Pods  the heaviest first; of each the word that matters most
    default/hot-1     1.22   600Mi  stays: its replacement would return to n1: its preferred node
                                    affinity outweighs the free nodes
                                    to change that: change the preferred node affinity so that it does
                                    not favour n1; or use `steering`, so that the scheduler avoids hot
                                    nodes
    default/hot-2     1.22   600Mi  the same
    default/hot-3     1.22   600Mi  the same
    default/hot-4     1.22   600Mi  the same
    default/agent-1    82m    60Mi  too light: moving it would remove 7.3% of the cpu excess, and at
                                    least 25% is required when the target is out of reach
    "#);
}

#[test]
fn a_workload_on_a_page() {
    assert_snapshot!(page(EVEN, &Subject::Workload("default/deploy/hot".to_owned()), 80), @r#"

    Deployment default/hot  5 of 5 Ready, PodDisruptionBudget hot allows 2

    Pods  the heaviest first; of each the word that matters most
    default/hot-1  n1   1.22   600Mi  stays: its replacement would return to n1: its
                                      preferred node affinity outweighs the free
                                      nodes
                                      to change that: change the preferred node
                                      affinity so that it does not favour n1; or use
                                      `steering`, so that the scheduler avoids hot
                                      nodes
    default/hot-2  n1   1.22   600Mi  the same
    default/hot-3  n1   1.22   600Mi  the same
    default/hot-4  n1   1.22   600Mi  the same
    default/hot-5  n2    82m   100Mi  its node is at or below every threshold and
                                      needs no relief

    Ledger  what is remembered of default/Deployment/hot
    the last move did not help; the workload rested until 2026-11-21T11:30:00Z
    40m ago  hot-0  n1 → n1  the replacement returned to the same node
    "#);
}

#[test]
fn what_is_not_there_is_told_with_what_is_alike() {
    let (engine, snapshot) = dead_loop(EVEN);
    let error = |subject| {
        engine
            .explain(&snapshot, &subject, noon())
            .unwrap_err()
            .to_string()
    };
    let pod = |name: &str| error(Subject::Pod(name.to_owned()));
    assert_eq!(
        pod("default/hto-1"),
        "no pod default/hto-1; did you mean default/hot-1, default/hot-2, default/hot-3 or default/hot-4?"
    );
    assert_eq!(
        pod("default/agent"),
        "no pod default/agent; default/agent is a DaemonSet: `explain workload default/agent`"
    );
    assert_eq!(pod("age"), "no pod age; did you mean default/agent-1?");
    assert_eq!(pod("unheard-of"), "no pod unheard-of");
    assert_eq!(
        error(Subject::Node("n9".to_owned())),
        "no node n9; did you mean n1, n2, n3 or n4?"
    );
    let workload = |name: &str| error(Subject::Workload(name.to_owned()));
    assert_eq!(
        workload("default/hot-1"),
        "no workload default/hot-1; default/hot-1 is a pod: `explain pod default/hot-1`"
    );
    assert_eq!(workload("sts/hot"), "no workload sts/hot");
}

#[test]
fn a_name_that_two_namespaces_have_is_asked_back() {
    let (engine, snapshot) = Cluster::parse("node n1\n web\n web namespace=shop\nnode n2")
        .seen(parse(EVEN), Ledger::default());
    let error = |subject| {
        engine
            .explain(&snapshot, &subject, noon())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error(Subject::Workload("web".to_owned())),
        "more than one workload is called web; say which: default/Deployment/web or shop/Deployment/web"
    );
    assert!(
        engine
            .explain(
                &snapshot,
                &Subject::Workload("deployments/web".to_owned()),
                noon()
            )
            .is_err()
    );
    assert!(
        engine
            .explain(&snapshot, &Subject::Workload("shop/web".to_owned()), noon())
            .is_ok()
    );
}

fn program(arguments: &[&str]) -> std::process::Output {
    let root = env!("CARGO_MANIFEST_DIR");
    std::process::Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .current_dir(root)
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn the_readme_shows_what_it_says() {
    let readme =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let (_, after) = readme.split_once("```sh\nevenkeel explain ").unwrap();
    let (command, after) = after.split_once("\n```\n\n```text\n").unwrap();
    let (shown, _) = after.split_once("```").unwrap();
    let arguments: Vec<&str> = ["explain"].into_iter().chain(command.split(' ')).collect();
    let said = String::from_utf8(program(&arguments).stdout).unwrap();
    assert!(said.contains(shown), "{said}");
}

#[test]
fn a_ledger_in_the_file_counts() {
    let cluster = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/examples/late-nodes.yaml"
    ))
    .unwrap();
    let pod = "default/hot-6f9c7d8b54-5pztx";
    let said = |name: &str, data: &str| {
        let map = format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: kube-system}}\n{data}"
        );
        let file = format!("{}/{name}.yaml", env!("CARGO_TARGET_TMPDIR"));
        std::fs::write(&file, format!("{cluster}\n{map}")).unwrap();
        program(&[
            "explain",
            "pod",
            pod,
            "--from",
            &file,
            "--namespace",
            "kube-system",
        ])
    };
    let useless = r#"{"version":1,"entries":[],"resting":{"default/Deployment/hot":{"useless":2,"until":"2026-11-21T07:48:00Z","attempt":"2026-11-21T07:00:00Z"}}}"#;
    let data = format!("data: {{ledger.json: '{useless}'}}\n");
    let page = String::from_utf8(said("evenkeel-ledger", &data).stdout).unwrap();
    assert!(
        page.contains("ledger: configmap kube-system/evenkeel-ledger of the file"),
        "{page}"
    );
    assert!(
        page.contains(
            "the last 2 moves of its workload did not help; the workload rests for another 18m"
        ),
        "{page}"
    );
    // Under another name it is another program's.
    let page = String::from_utf8(said("other-ledger", &data).stdout).unwrap();
    assert!(page.contains("ledger: left out of account: --namespace and --ledger say which counts; the file has kube-system/other-ledger"), "{page}");
    assert!(page.contains("LowNodeUtilization: it moves"), "{page}");
    let broken = said("evenkeel-ledger", "data: {ledger.json: '{}'}\n");
    let error = String::from_utf8(broken.stderr).unwrap();
    assert!(
        !broken.status.success()
            && error.contains("configmap kube-system/evenkeel-ledger: not a ledger"),
        "{error}"
    );
}
