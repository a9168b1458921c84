//! Bad input is refused, and never panics: policies in the formats of descheduler, ledgers, records
//! and proposals with bytes changed, moved, doubled and cut. The core does the same with its policy
//! and with objects of the API. `PROPTEST_CASES=100000 cargo test --test it fuzz` goes on for
//! longer.

use evenkeel::model::approval::{Proposal, ProposedMove};
use evenkeel::model::ledger::Ledger;
use evenkeel::model::record::RecordLine;
use evenkeel::policy::Policy;
use jiff::SignedDuration;
use proptest::prelude::*;
use proptest::sample::Index;

const V1ALPHA2: &str = r#"
apiVersion: "descheduler/v1alpha2"
kind: "DeschedulerPolicy"
nodeSelector: pool=web
maxNoOfPodsToEvictPerNode: 5
metricsProviders: [{source: KubernetesMetrics}]
profiles:
- name: main
  pluginConfig:
  - name: DefaultEvictor
    args:
      minReplicas: 2
      minPodAge: 5m
      nodeFit: true
      priorityThreshold: {value: 1000}
      labelSelector: {matchExpressions: [{key: app, operator: In, values: [a, b]}]}
      podProtections: {extraEnabled: [PodsWithPVC],
        config: {PodsWithPVC: {protectedStorageClasses: [{name: fast}]}}}
  - name: LowNodeUtilization
    args: {thresholds: {cpu: 20, memory: 20.5}, targetThresholds: {cpu: 50, memory: 50},
      metricsUtilization: {source: KubernetesMetrics}, evictionLimits: {node: 3}}
  - name: PodLifeTime
    args: {maxPodLifeTimeSeconds: 86400, states: [Running],
      conditions: [{type: Ready,
        minTimeSinceLastTransitionSeconds: 5}], ownerKinds: {exclude: [Job]}}
  - name: RemovePodsViolatingNodeTaints
    args: {excludedTaints: [dedicated=x, other], namespaces: {include: [a]}}
  plugins:
    deschedule: {enabled: [PodLifeTime, RemovePodsViolatingNodeTaints]}
    balance: {enabled: [LowNodeUtilization]}
"#;

const V1ALPHA1: &str = r#"
apiVersion: "descheduler/v1alpha1"
kind: "DeschedulerPolicy"
evictLocalStoragePods: true
strategies:
  "RemoveDuplicates": {enabled: true, params: {removeDuplicates: {excludeOwnerKinds: [ReplicaSet]}}}
  "LowNodeUtilization":
     enabled: true
     params:
       nodeResourceUtilizationThresholds:
         thresholds: {"cpu" : 20, "memory": 20, "pods": 20}
         targetThresholds: {"cpu" : 50, "memory": 50, "pods": 50}
  "PodLifeTime": {enabled: true, params: {podLifeTime: {maxPodLifeTimeSeconds: 86400,
    podStatusPhases: [Pending]}}}
  "RemovePodsViolatingTopologySpreadConstraint": {enabled: false,
    params: {includeSoftConstraints: true}}
"#;

/// Characters with a meaning in YAML.
const MARKS: &[u8] = b":-{}[]#&*!|>'\"%@`,?\n\t 0";

/// One change to a text: a byte replaced, a piece moved elsewhere, doubled or cut out.
fn change(text: &mut Vec<u8>, (what, at, to, byte): (u8, Index, Index, u8)) {
    if text.is_empty() {
        return;
    }
    let (at, to) = (at.index(text.len()), to.index(text.len()));
    let (from, until) = (at.min(to), at.max(to).min(at.min(to) + 40));
    match what {
        0 => text[at] = byte,
        1 => drop(text.drain(from..until)),
        2 => {
            let piece = text[from..until].to_vec();
            let _ = text.splice(to..to, piece);
        }
        _ => text.insert(at, MARKS[usize::from(byte) % MARKS.len()]),
    }
}

const LEDGERS: [&str; 2] = [
    include_str!("../../fuzz/corpus/ledger/usual.json"),
    include_str!("../../fuzz/corpus/ledger/rejected.json"),
];

const RECORD: &str = include_str!("../../fuzz/corpus/record/eviction.json");

fn proposal() -> Proposal {
    let moves = ["web-1", "web-2"].map(|pod| ProposedMove {
        namespace: "shop".to_owned(),
        pod: pod.to_owned(),
        uid: format!("u-{pod}"),
        node: "n1".to_owned(),
        possible_nodes: vec!["n2".to_owned(), "n3".to_owned()],
        strategy: "LowNodeUtilization".to_owned(),
        why: String::new(),
    });
    Proposal::new("2026-11-21T12:00:00Z".parse().unwrap(), moves.to_vec())
}

type Change = (u8, Index, Index, u8);

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = (0..4_u8, any::<Index>(), any::<Index>(), any::<u8>());
    prop::collection::vec(change, 1..8)
}

fn tampered(text: &str, changes: Vec<Change>) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for one in changes {
        change(&mut bytes, one);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

proptest! {
    #[test]
    fn a_policy_that_was_tampered_with_is_read_or_refused(
        format in 0..2_usize,
        changes in changes(),
    ) {
        match Policy::parse("policy.yaml", &tampered([V1ALPHA2, V1ALPHA1][format], changes)) {
            Ok(policy) => prop_assert!(!policy.profiles.is_empty()),
            Err(error) => {
                prop_assert!(!error.problems.is_empty());
                for problem in &error.problems {
                    prop_assert!(problem.line >= 1 && problem.column >= 1, "{error}");
                }
            }
        }
    }

    #[test]
    fn a_ledger_that_was_tampered_with_is_read_or_refused(
        which in 0..2_usize,
        changes in changes(),
    ) {
        let text = tampered(LEDGERS[which], changes);
        if let Ok(ledger) = Ledger::parse(&text) {
            prop_assert_eq!(&Ledger::parse(&ledger.write()).unwrap(), &ledger);
        }
    }

    #[test]
    fn a_line_of_the_record_that_was_tampered_with_is_read_or_refused(changes in changes()) {
        if let Ok(line) = RecordLine::parse(&tampered(RECORD, changes)) {
            prop_assert!(!line.sentence().is_empty());
            prop_assert_eq!(RecordLine::parse(&line.json()).unwrap(), line);
        }
    }

    /// Only the reason, which is for people, and the order of fields may differ.
    #[test]
    fn a_proposal_that_was_tampered_with_is_refused_or_has_the_same_moves(changes in changes()) {
        let original = proposal();
        let text = tampered(&original.text(), changes);
        let Ok(mut read) = serde_json::from_str::<Proposal>(&text) else {
            return Ok(());
        };
        let (hour, now) = (SignedDuration::from_hours(1), original.at);
        if read.id == original.id && read.check(hour, now).is_ok() {
            read.moves.iter_mut().for_each(|one| one.why.clear());
            prop_assert_eq!(read, original);
        }
    }
}

#[test]
fn what_is_tampered_with_is_sound_before() {
    for ledger in LEDGERS {
        Ledger::parse(ledger).unwrap_or_else(|error| panic!("{error}"));
    }
    let line = RecordLine::parse(RECORD).unwrap_or_else(|error| panic!("{error}"));
    assert!(line.details().unwrap().is_some());
    for format in [V1ALPHA2, V1ALPHA1] {
        Policy::parse("policy.yaml", format).unwrap_or_else(|error| panic!("{error}"));
    }
}
