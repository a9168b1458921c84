//! Explanations: what every strategy and every gate says of a pod, and what would have to change.

use std::fmt::Write as _;

use evenkeel::engine::Engine;
use evenkeel::explain::{Explanation, OfNode, OfPod, OfWorkload, Subject};
use evenkeel::ledger::Ledger;
use evenkeel::plan::Word;
use evenkeel::snapshot::Snapshot;
use insta::assert_snapshot;
use proptest::prelude::*;

use crate::kit::{Cluster, EVEN, noon, parse};

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
    match engine.explain(snapshot, &Subject::Pod(name.to_owned()), noon()).unwrap() {
        Explanation::Pod(it) => *it,
        other => panic!("{other:?}"),
    }
}

fn clusters() -> impl Strategy<Value = String> {
    let mark = prop::sample::select(vec![
        "",
        "",
        "",
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
    ]);
    let pod = (0..4_u8, 0..3_u8, 50..2500_u32, 0..6000_u32, mark).prop_map(|(app, space, milli, mebi, mark)| {
        format!("  app{app} namespace=ns{space} cpu=100m memory=64Mi uses={milli}m/{mebi}Mi {mark}\n")
    });
    let kind = prop::sample::select(vec![
        "",
        "",
        "",
        "",
        "cordoned",
        "no-metrics",
        "not-ready",
        "taint=a:NoSchedule",
        "taint=b:PreferNoSchedule",
        "cpu=64",
    ]);
    let node = (prop::collection::vec(pod, 0..12), kind, 0..3_u8);
    prop::collection::vec(node, 2..8).prop_map(|nodes| {
        let mut text = String::new();
        for (position, (pods, kind, zone)) in nodes.iter().enumerate() {
            let _ = write!(text, "node n{position} labels=zone:z{zone} {kind}\n{}", pods.concat());
        }
        text + "budget app0 namespace=ns0 allows=1\n"
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

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
                    (Word::Moved { reason, to }, Some(m), _) => prop_assert!(*reason == m.reason && *to == m.to, "{told}"),
                    (Word::Kept(refusal), None, Some(k)) => prop_assert_eq!(refusal, &k.refusal, "{}", told),
                    (Word::Unasked(_), None, None) => prop_assert!(!said.word.advice().unwrap().is_empty()),
                    _ => prop_assert!(false, "{told}"),
                }
                // "Others go rather than it" is said only where a strategy chooses among pods that are alike.
                let chooses = ["RemoveDuplicates", "RemovePodsViolatingTopologySpreadConstraint"].contains(&said.strategy);
                prop_assert!(chooses || said.word.code() != "others-first", "{told}");
                prop_assert!(!moved || said.word.code() == "moved-before", "{told}");
                moved |= goes.is_some();
            }
            let gates = story.gates.unwrap();
            let named = story.words.iter().find(|said| matches!(said.word, Word::Moved { .. }))
                .or_else(|| story.words.iter().find(|said| matches!(said.word, Word::Kept(_))));
            if let Some(said) = named {
                let first = gates.answers.iter().find_map(|answer| answer.refusal.clone());
                prop_assert_eq!(gates.strategy, said.strategy);
                match &said.word {
                    Word::Moved { .. } => prop_assert_eq!(first, None, "{} in {}", it.name, text),
                    // These are said where a node is emptied as a whole, or only by descheduler's way; no gate knows of them.
                    Word::Kept(refusal) if exact || said.strategy == "HighNodeUtilization" => drop(refusal.advice()),
                    Word::Kept(refusal) => prop_assert_eq!(first.as_ref(), Some(refusal), "{} in {}", it.name, text),
                    Word::Unasked(_) => {}
                }
            }
        }
    }
}
