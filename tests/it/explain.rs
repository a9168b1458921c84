//! Explanations: the verdict of each strategy and each gate on a pod, with its remedy.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel::decide::engine::Engine;
use evenkeel::decide::explain::{Explanation, PodExplanation, Subject, foremost};
use evenkeel::model::approval::ProposedMove;
use evenkeel::model::guard::{GuardAnswer, GuardReading, GuardSeries};
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::{PodVerdict, Refusal};
use evenkeel::model::snapshot::Snapshot;
use evenkeel::model::snapshot::facts::Skipped;
use evenkeel::model::snapshot::objects::ObjectKind;
use evenkeel::policy::Smoothing;
use evenkeel::values::Amount;
use evenkeel::values::query_value::QueryValue;
use evenkeel::view::explain::explanation_text;
use insta::assert_snapshot;
use jiff::SignedDuration;
use proptest::prelude::*;

use crate::it::support::program::{printed, program, temporary};
use crate::it::support::random_cluster::{NODES, PODS};
use crate::it::support::{Cluster, EVEN, cases, noon, one_heavy_pod, parse, random_cluster, text};
use crate::shared::boards::read;
use crate::shared::table::rows;

/// Every strategy, in an order in which each finds pods.
const ALL_STRATEGIES: &str = "
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
- lowNodeUtilization: {thresholds: {cpu: 30%, memory: 40%},
  targetThresholds: {cpu: 50%, memory: 60%}}
";

fn pod(engine: &Engine, snapshot: &Snapshot, name: &str) -> PodExplanation {
    let explanation = engine.explain(snapshot, &Subject::Pod(name.to_owned()), noon()).unwrap();
    let Explanation::Pod(pod) = explanation else { panic!("{explanation:?}") };
    *pod
}

fn clusters() -> impl Strategy<Value = String> {
    let pods = [
        "age=20h",
        "terminating",
        "phase=Failed",
        "phase=Succeeded",
        "restarts=7",
        "anti-affinity=app1",
        "spread=zone:1",
        "owner=Job",
        "requires=disk:ssd",
        "tolerates=a=:NoSchedule",
        "image=x",
    ];
    let pods = [&PODS[..], &pods].concat();
    let nodes = [&NODES[..], &["taint=b:PreferNoSchedule", "cpu=64"]].concat();
    random_cluster::clusters((3, 4), &pods, &nodes)
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn the_verdict_of_each_strategy_on_each_pod_agrees_with_the_plan(
        text in clusters(),
        exact in any::<bool>(),
    ) {
        let policy = if exact { parse(ALL_STRATEGIES).exactly() } else { parse(ALL_STRATEGIES) };
        let names: Vec<&str> = policy.strategies.iter().map(|s| s.rule.name()).collect();
        let (engine, snapshot) = Cluster::parse(&text).seen(policy, Ledger::default());
        let plan = engine.decide(&snapshot, noon());
        for subject in &snapshot.pods {
            let explained =
                pod(&engine, &snapshot, &format!("{}/{}", subject.namespace, subject.name));
            prop_assert_eq!(
                explained.verdicts.iter().map(|line| line.strategy).collect::<Vec<_>>(),
                names.clone()
            );
            let mut moved = false;
            for line in &explained.verdicts {
                let matches = |namespace: &str, pod: &str, strategy| {
                    (namespace, pod, strategy)
                        == (subject.namespace.as_str(), subject.name.as_str(), line.strategy)
                };
                let planned = plan
                    .moves
                    .iter()
                    .find(|planned| matches(&planned.namespace, &planned.pod, planned.strategy));
                let kept = plan
                    .kept
                    .iter()
                    .find(|kept| matches(&kept.namespace, &kept.pod, kept.strategy));
                let context = format!(
                    "{} on {}/{}: {} in\n{text}",
                    line.strategy, subject.namespace, subject.name, line.verdict
                );
                match (&line.verdict, planned, kept) {
                    (PodVerdict::Moved { reason, to, .. }, Some(planned), _) => {
                        prop_assert!(*reason == planned.reason && *to == planned.to, "{context}");
                    }
                    (PodVerdict::Kept(refusal), None, Some(kept)) => {
                        prop_assert_eq!(refusal, &kept.refusal, "{}", context);
                    }
                    (PodVerdict::NotSelected(_), None, None) => {
                        prop_assert!(!line.verdict.remedy().unwrap().is_empty());
                    }
                    _ => prop_assert!(false, "{context}"),
                }
                // Only a strategy that chooses among equal pods says that others go first.
                let chooses = ["RemoveDuplicates", "RemovePodsViolatingTopologySpreadConstraint"]
                    .contains(&line.strategy);
                prop_assert!(chooses || line.verdict.code() != "others-first", "{context}");
                prop_assert!(!moved || line.verdict.code() == "moved-before", "{context}");
                moved |= planned.is_some();
            }
            let gates = explained.gates.unwrap();
            let selected = explained
                .verdicts
                .iter()
                .find(|line| matches!(line.verdict, PodVerdict::Moved { .. }))
                .or_else(|| {
                    explained
                        .verdicts
                        .iter()
                        .find(|line| matches!(line.verdict, PodVerdict::Kept(_)))
                });
            if let Some(line) = selected {
                let first = gates.answers.iter().find_map(|answer| answer.refusal.clone());
                prop_assert_eq!(gates.strategy, line.strategy);
                match &line.verdict {
                    PodVerdict::Moved { .. } => {
                        prop_assert_eq!(first, None, "{} in {}", subject.name, text);
                    }
                    // HighNodeUtilization refuses a pod if its whole node cannot be emptied, and
                    // exact decisions follow descheduler; no gate has such a refusal.
                    PodVerdict::Kept(refusal)
                        if exact || line.strategy == "HighNodeUtilization" =>
                    {
                        drop(refusal.remedy());
                    }
                    PodVerdict::Kept(refusal) => prop_assert_eq!(
                        first.as_ref(),
                        Some(refusal),
                        "{} in {}",
                        subject.name,
                        text
                    ),
                    PodVerdict::Proposed { .. } | PodVerdict::NotSelected(_) => {}
                }
            }
        }
    }
}

/// A refusal, and the cluster, the policy and the ledger in which it occurs.
struct Case {
    code: &'static str,
    cluster: String,
    policy: String,
    exact: bool,
    ledger: String,
    approved: Vec<ProposedMove>,
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
            approved: Vec::new(),
        }
    }

    /// A refusal in a row of [`CASES`].
    fn of_row(row: &[&'static str]) -> Self {
        let [code, kind, words, policy] = *row else { panic!("{row:?}") };
        let (lines, policy) = (words.replace("; ", "\n"), policy.replace("; ", "\n"));
        let mut words = words.split("; ").map(|word| word.replace("/ ", "\n "));
        let mut word = || words.next().unwrap_or_default();
        let cluster = match kind {
            "pod" => one_heavy_pod(&lines),
            "seven" => format!("node n1\n  web*7 cpu=100m uses=1\nnode n2\n{lines}"),
            "landing" => format!(
                "node n1 system=2 labels=pool:a\n web*2 cpu=100m uses=3 {}\nnode n2 {}
                 node n3 labels=pool:a {}\n full cpu=7 memory=24Gi",
                word(),
                word(),
                word()
            ),
            "emptied" => format!(
                "node n1 {}\n web cpu=100m uses=100m\n {}\nnode n2\n web cpu=4 uses=4
                 node n3\n api*2 cpu=1 uses=2",
                word(),
                word()
            ),
            _ => lines,
        };
        let case = Case::new(code, cluster, &policy);
        if policy.contains("strategies:") { Case { policy, ..case } } else { case }
    }

    fn of_pod(code: &'static str, pod: &str, policy: &str) -> Self {
        Case::new(code, one_heavy_pod(pod), policy)
    }

    /// The same after a person has approved that a pod moves to a node.
    fn with_approval(self, uid: &str, to: &str) -> Self {
        let approved = ProposedMove {
            namespace: "default".to_owned(),
            pod: "web-1".to_owned(),
            uid: uid.to_owned(),
            node: "n1".to_owned(),
            possible_nodes: vec![to.to_owned()],
            strategy: "LowNodeUtilization".to_owned(),
            why: String::new(),
        };
        Case { approved: vec![approved], ..self }
    }

    fn with_ledger(self, entries: &str, resting: &str) -> Self {
        let ledger = format!(r#"{{"version":1,"entries":[{entries}],"resting":{{{resting}}}}}"#);
        Case { ledger, ..self }
    }

    fn with_rejected(self, uid: &str, fault: &str, until: &str) -> Self {
        let record = format!(
            r#"{{"fault":"{fault}","times":2,"at":"2026-11-21T11:58:00Z","until":"{until}"}}"#
        );
        let rejected = format!(r#"{{"default/Deployment/web":{{"{uid}":{record}}}}}"#);
        let ledger =
            format!(r#"{{"version":1,"entries":[],"resting":{{}},"rejected":{rejected}}}"#);
        Case { ledger, ..self }
    }

    /// The engine, the snapshot and the pod that is refused.
    fn run(&self) -> (Engine, Snapshot, String) {
        let policy = if self.exact { parse(&self.policy).exactly() } else { parse(&self.policy) };
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
            cluster.objects.skip(ObjectKind::Pod, odd);
        }
        let ledger = Ledger::parse(&self.ledger).unwrap();
        let (mut engine, snapshot) = cluster.seen(policy, ledger);
        engine.approve(&self.approved);
        engine.observe_guards(&snapshot, &[errors()]);
        let plan = engine.decide(&snapshot, noon());
        let kept = plan.kept.iter().find(|kept| kept.refusal.code() == self.code);
        let kept = kept
            .unwrap_or_else(|| panic!("no pod is refused with {}:\n{}", self.code, text(&plan)));
        let name = format!("{}/{}", kept.namespace, kept.pod);
        (engine, snapshot, name)
    }
}

/// An answer above the limit of the guard `errors`.
fn errors() -> GuardReading {
    let series = GuardSeries {
        labels: BTreeMap::from([("namespace".to_owned(), "default".to_owned())]),
        value: QueryValue::new(1.0),
    };
    GuardReading {
        guard: "errors".to_owned(),
        answers: Ok(vec![GuardAnswer { at: noon(), series: vec![series] }]),
    }
}

/// A ledger entry: an eviction from `n1` five minutes ago that helped.
fn evicted(workload: &str) -> String {
    format!(
        r#"{{"workload":"default/Deployment/{workload}","pod":"{workload}-0",
          "uid":"uid-gone-{workload}","node":"n1",
        "at":"2026-11-21T11:55:00Z","newest":"2026-11-21T11:00:00Z",
          "state":{{"settled":"helped"}}}}"#
    )
}

/// Refusals with the cluster and the policy in which they occur. Lines end with `;`.
const CASES: &str = "
# One heavy pod with these words.
mirror-pod | pod | mirror |
static-pod | pod | static |
daemon-set | pod | daemon |
system-critical | pod | priority=2000000000 |
priority | pod | priority=10 | evictable: {priorityBelow: 10}
unknown-priority-class | pod | priority=10 | evictable: {priorityBelow: absent}
bare-pod | pod | bare |
unknown-priority | pod | class=absent |
local-storage | pod | emptydir |
persistent-volume | pod | claim | evictable: {protect: [persistentVolumes]}
resource-claims | pod | devices |
do-not-disrupt | pod | do-not-disrupt=true |
not-safe-to-evict | pod | safe-to-evict=false |
no-budget | pod | | evictable: {protect: [withoutBudget]}
prefer-no-eviction | pod | stay |
evict-false | pod | evict=false |
namespace | pod | | evictable: {namespaces: {exclude: [default]}}
pod-selector | pod | | evictable: {podSelector: tier=web}
too-young | pod | age=20s |
too-few-replicas | pod | namespace=other |
new-volume | pod | ephemeral=- |
unusable-claim | pod | claim |
shared-volume | pod | shares=ebs; aux cpu=100m uses=0 shares=ebs |
unknown-objects | pod | claim; lacking PersistentVolumeClaim |
runs-to-completion | pod | owner=Workflow runs-once |
job-would-fail | pod | owner=Job runs-once backoff=0 |
outside-window | pod | | windows: {forbid: [Sat]}
# A whole cluster.
gang | all | node n1 system=2; web uses=3 gang=train; node n2; web uses=100m gang=train |
last-ready-replica | all | node n1 system=2; web uses=3; node n2; web uses=100m unready |
unmeasured | all | node n1 system=6; web uses=1 no-metrics; node n2; web; node n3 |
doubtful-node | all | node n1 taint=a:NoSchedule; web*2; node n2 | strategies: [removePodsViolatingNodeTaints]
no-replacement | all | node n1 system=2; web*2 uses=3 owner-deleting; node n2 |
namespace-deleted | all | namespace default deleting; node n1 system=2; web*2 uses=3; node n2 |
names-node | all | node n1 system=2; web*2 uses=3 template-node=n1; node n2 |
gated | all | node n1 system=2; web*2 uses=3 template-gated; node n2 |
does-not-start | all | node n1 system=2; web*2 uses=3 age=2h; node n2; web creating=1h waits=ImagePullBackOff |
other-revision | all | node n1 system=2; web*2 uses=3 owner=StatefulSet parallel newest=web-b labels=controller-revision-hash:web-a; node n2 |
missing-priority-class | all | class other value=7; node n1 system=2; web*2 uses=3 class=gone priority=1; node n2 |
unknown-owner | all | node n1 system=2; web*2 uses=3 owner=Job no-object; node n2 |
waits-in-order | all | node n2; web owner=StatefulSet unready; node n1 system=2; web*2 uses=3 owner=StatefulSet |
no-room | all | node n1 system=2; web*2 uses=3; node n3 taint=dedicated:NoSchedule |
would-return | all | node n1 system=2; web*2 cpu=100m uses=3; node n2 taint=a:PreferNoSchedule |
would-preempt | all | node n1 taint=a:NoSchedule; vip*2 cpu=4 priority=10; node n2; web*2 cpu=3 | evictable: {nodeFit: false}; strategies: [removePodsViolatingNodeTaints]
would-trade | all | node a1 labels=zone:a; web spread=zone:1,kubernetes.io/hostname:1 soft cpu=300m; node a2 labels=zone:a; web spread=zone:1,kubernetes.io/hostname:1 soft cpu=300m; node a3 labels=zone:a; node b1 labels=zone:b; web*2 spread=zone:1,kubernetes.io/hostname:1 soft cpu=300m | strategies: [{removePodsViolatingTopologySpreadConstraint: {constraints: [ScheduleAnyway]}}]
# One of seven equal pods on a hot node, three of which would have to move.
paused | seven | namespace default annotations=evenkeel.io/pause:audit |
guarded | seven | namespace default | usage: {prometheus: {url: 'http://p'}}; guards: [{name: errors, query: q, scope: namespace}]
cycle-limit | seven | | limits: {perCycle: 1, perWorkload: none, perMinute: none}
node-limit | seven | | limits: {perNode: 1, perWorkload: none, perMinute: none}
namespace-limit | seven | | limits: {perNamespace: 1, perWorkload: none, perMinute: none}
rate-limit | seven | | limits: {perMinute: 1, perWorkload: none}
workload-limit | seven | | limits: {perWorkload: 1, perMinute: none}
trial | seven | | ramp: {watch: 2m}; limits: {perWorkload: none}
disruption-budget | seven | budget web allows=1 |
several-budgets | seven | budget web allows=9; budget web allows=9 name=second |
stale-budget | seven | budget web allows=9 stale |
unreadable-budget | seven | unreadable PodDisruptionBudget name=web |
# Two pods on a hot node with these words, and two nodes, the second one full.
would-land-hot | landing | ; system=3 |
would-land-unknown | landing | ; no-metrics |
would-not-help | landing | | strategies: [{lowNodeUtilization: {nodeSelector: pool=a, thresholds: {cpu: 30%}, targetThresholds: {cpu: 50%}}}]
would-land-doubtful | landing | ; / unreadable Pod name=odd |
would-land-closed | landing | ; closed=Deleting |
would-be-refused | landing | os=linux; os=windows |
would-lack-driver | landing | volume=ebs; drivers=nfs; drivers=ebs |
would-be-removed | landing | tolerates=a:NoExecute@60; taint=a:NoExecute |
would-land-excluded | landing | | evictable: {destinations: pool=a}
# A node with these words and this pod that is to be emptied.
unremovable-node | emptied | no-scale-down | strategies: [{highNodeUtilization: {basis: actual, thresholds: {cpu: 20%}}}]
not-alone | emptied | ; lone cpu=100m uses=100m bare | strategies: [{highNodeUtilization: {basis: actual, thresholds: {cpu: 20%}}}]
";

/// Refusals that follow from more than the cluster and the policy.
fn special_cases() -> Vec<Case> {
    let approved = |code| Case::of_pod(code, "", "approval: {required: true}");
    let useless = r#""default/Deployment/web":{"useless":2,"until":"2026-11-21T12:18:00Z",
        "attempt":"2026-11-21T11:40:00Z"}"#;
    let worse = useless.replace("\"attempt\"", "\"decline\":\"readiness\",\"attempt\"");
    let full: Vec<String> = (0..5000).map(|i| evicted(&format!("other{i}"))).collect();
    let (soon, past) = ("2026-11-21T12:18:00Z", "2026-11-21T11:58:00Z");
    let no_limit = "limits: {perWorkload: none}";
    vec![
        Case { exact: true, ..Case::of_pod("terminating", "terminating", "") },
        approved("not-approved").with_approval("another", "n3"),
        approved("lands-elsewhere").with_approval("uid-default-web-1", "n9"),
        Case::of_pod("under-way", "", "")
            .with_ledger(&evicted("web").replace("uid-gone-web", "uid-default-web-1"), ""),
        Case::of_pod("resting", "age=5m", "").with_ledger(&evicted("web"), ""),
        Case::of_pod("ineffective-move", "", "").with_ledger("", useless),
        Case::of_pod("got-worse", "", "").with_ledger("", &worse),
        Case::of_pod("rejected-eviction", "", "").with_rejected("uid-default-web-1", "pod", soon),
        Case::of_row(&["rejected-workload", "seven", "", no_limit])
            .with_rejected("uid-gone", "pod", past),
        Case::of_pod("no-right", "", "").with_rejected(
            "uid-default-other",
            "noRight",
            "2026-11-21T12:08:00Z",
        ),
        Case::of_pod("ledger-full", "", "").with_ledger(&full.join(","), ""),
    ]
}

#[test]
fn every_refusal_is_explained_with_its_remedy() {
    let mut missing: BTreeSet<&str> =
        crate::it::reasons::refusals().iter().map(Refusal::code).collect();
    // Such a pod is proposed: see the tests of approvals.
    missing.remove("needs-approval");
    // Such a pod stays on a node that cools down: see the tests of the worth.
    missing.remove("not-worth-it");
    // Such pods stay because of the moves before them: see the tests of destinations.
    missing.remove("would-displace");
    missing.remove("could-be-displaced");
    for case in rows(CASES).map(|row| Case::of_row(&row)).chain(special_cases()) {
        let (engine, snapshot, name) = case.run();
        let explanation = engine.explain(&snapshot, &Subject::Pod(name.clone()), noon()).unwrap();
        let Explanation::Pod(explained) = &explanation else { panic!("{explanation:?}") };
        let line = foremost(&explained.verdicts).unwrap();
        let PodVerdict::Kept(refusal) = &line.verdict else { panic!("{name}: {}", line.verdict) };
        assert_eq!(refusal.code(), case.code);
        // Lines are folded, so the comparison ignores line breaks.
        let words: Vec<String> =
            explanation_text(&explanation, 80).split_whitespace().map(str::to_owned).collect();
        let page = words.join(" ");
        assert!(page.contains(&format!(": stays: {refusal}")), "{}: {page}", case.code);
        let remedy = match refusal.remedy().strip_prefix("nothing") {
            Some(rest) => format!("nothing to change{rest}"),
            None => format!("to change that: {}", refusal.remedy()),
        };
        assert!(page.contains(&remedy), "{}: {page}", case.code);
        let json = serde_json::to_value(&explanation).unwrap();
        assert_eq!(json["verdicts"][0]["code"], case.code);
        assert_eq!(json["verdicts"][0]["remedy"], refusal.remedy());
        missing.remove(case.code);
    }
    assert!(missing.is_empty(), "not shown: {missing:?}");
}

/// A loop without exit: heavy pods prefer the hot node. Usage rose for four minutes. One of the
/// pods was evicted before, and its replacement returned.
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
    let ledger = evicted("hot").replace("helped", "sameNode").replace("11:55", "11:20");
    let useless = r#""default/Deployment/hot":{"useless":1,"until":"2026-11-21T11:30:00Z",
        "attempt":"2026-11-21T11:20:00Z"}"#;
    let ledger =
        Ledger::parse(&format!(r#"{{"version":1,"entries":[{ledger}],"resting":{{{useless}}}}}"#))
            .unwrap();
    let mut policy = parse(policy);
    policy.usage.smoothing = Smoothing::HalfLife(SignedDuration::from_mins(2));
    let snapshot = cluster.snapshot(&policy);
    let mut engine = Engine::new(policy, ledger);
    for (minute, share) in [(4, 40), (3, 55), (2, 70), (1, 90), (0, 100)] {
        let at = noon() - SignedDuration::from_mins(minute);
        let mut readings = cluster.readings(at);
        for sample in readings.pods.values_mut().chain(readings.nodes.values_mut()) {
            sample.used.cpu = Amount::new(sample.used.cpu.get() / 100 * share);
        }
        engine.observe_steady(&snapshot, &readings, at);
    }
    (engine, snapshot)
}

fn page(policy: &str, subject: &Subject, width: usize) -> String {
    let (engine, snapshot) = dead_loop(policy);
    explanation_text(&engine.explain(&snapshot, subject, noon()).unwrap(), width)
        .trim_start()
        .into()
}

#[test]
fn the_page_of_a_pod() {
    assert_snapshot!(page(EVEN, &Subject::Pod("default/hot-1".to_owned()), 100), @r"
    Pod default/hot-1  on n1, of Deployment hot, Ready, 1h old, PodDisruptionBudget hot allows 2
    LowNodeUtilization: stays: its replacement would return to n1: its preferred node affinity outweighs
        the free nodes
    to change that: change the preferred node affinity so that it does not favour n1; or use `steering`,
        so that the scheduler avoids its node

    Usage  5 samples in 5m; decisions use an average with a half-life
    cpu     ▃▄▆▇█  min 600m   now 1.5    max 1.5    smoothed 1.22   requests 100m
    memory  █████  min 600Mi  now 600Mi  max 600Mi  smoothed 600Mi  requests 256Mi

    Gates  each checked alone, as if LowNodeUtilization selected the pod now
    evictable    admits
    replacement  admits
    replicas     admits
    disruption   admits
    cooldown     admits
    worth        admits
    approval     admits
    landing      refuses: its replacement would return to n1: its preferred node affinity outweighs the
                 free nodes
                 to change that: change the preferred node affinity so that it does not favour n1; or
                 use `steering`, so that the scheduler avoids its node
    limits       admits

    Replacement  the conditions for a replacement that starts
    controller       a controller creates a replacement
    namespace        its namespace is not being deleted
    completion       its work does not end, or belongs to a Job
    job              its Job survives the eviction
    order            its StatefulSet can create a pod now
    start            new pods of its controller start
    priority-class   the API server accepts its PriorityClass
    template         its template stays, and the scheduler chooses its node
    known            everything that its place depends on is known
    claims           its claims and their volumes can be used
    new-volumes      its new volumes are provisioned where it lands
    local-volumes    none of its volumes is storage of its node
    shared-volumes   no other pod holds or awaits its volumes

    Landing  predicted nodes of the replacement, by the scheduler's scores
    n1 (current)  100%  score 768  its own node: nothing is gained
          NodeAffinity=200, NodeResourcesFit=93, PodTopologySpread=100
    n2              0%  score 672  helps; the node would be 18% full
          NodeAffinity=0, NodeResourcesFit=97, PodTopologySpread=200
    equal on all nodes: ImageLocality, InterPodAffinity, NodeResourcesBalancedAllocation,
        TaintToleration
    returns to its node: its preferred node affinity outweighs the free nodes
    cannot run it: n3 is cordoned
    cannot run it: n4 is tainted

    Ledger  earlier evictions of default/Deployment/hot
    the last move did not help; the workload rested until 2026-11-21T11:30:00Z
    40m ago  hot-0  n1 → n1  the replacement returned to the same node
    ");
}

#[test]
fn the_page_of_a_pod_that_no_strategy_selects() {
    let several = "
strategies:
- removePodsHavingTooManyRestarts: {podRestartThreshold: 100}
- removePodsViolatingNodeTaints
- podLifeTime: {maxPodLifeTimeSeconds: 604800, namespaces: {include: [batch]}}
- lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 50%}}
";
    let page = page(several, &Subject::Pod("hot-5".to_owned()), 80);
    assert_snapshot!(page.split("\n\nGates").next().unwrap(), @r"
    Pod default/hot-5  on n2, of Deployment hot, Ready, 1h old, PodDisruptionBudget
        hot allows 2
    no strategy selects this pod

    Usage  5 samples in 5m; decisions use an average with a half-life
    cpu     ▃▄▆▇█  min 40m    now 100m   max 100m   smoothed 82m    requests 100m
    memory  █████  min 100Mi  now 100Mi  max 100Mi  smoothed 100Mi  requests 256Mi

    Strategies  the verdict of each, in the order of the policy
    RemovePodsHavingTooManyRestarts  not selected
      it restarted 0 times, fewer than the limit of 100
      nothing to change while it runs well, or lower `podRestartThreshold`
    RemovePodsViolatingNodeTaints  not selected
      its node has no taint that the strategy considers
      nothing to change: it may stay on its node
    PodLifeTime  not selected
      the strategy does not select its namespace
      to change that: change the strategy's `namespaces`
    LowNodeUtilization  not selected
      its node is at or below every threshold and needs no relief
      nothing to change: its node needs no relief, unless you lower its
      `targetThresholds`
    ");
}

#[test]
fn a_pod_without_a_creation_time_has_no_age() {
    let engine = Engine::new(parse(EVEN), Ledger::default());
    let snapshot = Cluster::parse("node n1\n web no-age\nnode n2").snapshot(engine.policy());
    let page = explanation_text(
        &engine.explain(&snapshot, &Subject::Pod("web-1".to_owned()), noon()).unwrap(),
        100,
    );
    assert!(page.contains("of Deployment web, Ready, of unknown age"), "{page}");
}

#[test]
fn a_node_that_reports_no_amounts_is_not_said_to_have_none() {
    let cluster = Cluster::parse("node n1 cpu=0\nnode n2\nnode n3");
    let (engine, snapshot) = cluster.seen(parse(EVEN), Ledger::default());
    let explained = engine.explain(&snapshot, &Subject::Node("n1".to_owned()), noon()).unwrap();
    let page = explanation_text(&explained, 100);
    assert!(page.contains("requests 0m\n") && page.contains("of 32Gi\n"), "{page}");
}

#[test]
fn a_finished_pod_needs_no_replacement() {
    let cluster = Cluster::parse("node n1\n web phase=Failed\nnode n2");
    let policy = parse("strategies: [removeFailedPods]");
    let (engine, snapshot) = cluster.seen(policy, Ledger::default());
    let explained = pod(&engine, &snapshot, "web-1");
    assert!(explained.landing.is_none());
    let text = explanation_text(&Explanation::Pod(Box::new(explained)), 80);
    let none = "starts\nnone: the pod has finished and needs no replacement\n\nLedger  ";
    assert!(text.contains(none), "{text}");
}

#[test]
fn the_page_of_a_node() {
    assert_snapshot!(page(EVEN, &Subject::Node("n1".to_owned()), 100), @r"
    Node n1  Ready, 5 pods

    Usage  5 samples in 5m; decisions use an average with a half-life
    cpu     ▃▄▆▇█  min 2.52   now 6.3    max 6.3    smoothed 5.09   requests 500m  of 8
    memory  █████  min 3.4Gi  now 3.4Gi  max 3.4Gi  smoothed 3.4Gi  requests 1Gi   of 32Gi

    Strategies  balancing strategies; before → after the moves of this cycle
    LowNodeUtilization  hot: cpu 64% is above the target 50%, and needs 1 eviction
      cpu  ████┊█│█       64%  ┊ threshold 30%  │ target 50%  over by 1.09

    Pods  heaviest first, each with its most important verdict
    default/hot-1    1.22  600Mi  stays: its replacement would return to n1: its preferred node affinity
                                  outweighs the free nodes
                                  to change that: change the preferred node affinity so that it does not
                                  favour n1; or use `steering`, so that the scheduler avoids its node
    default/hot-2    1.22  600Mi  as above
    default/hot-3    1.22  600Mi  as above
    default/hot-4    1.22  600Mi  as above
    default/agent-1   82m   60Mi  the strategy does not count it, because it may not be evicted: its
                                  DaemonSet would recreate it on the same node
    ");
}

#[test]
fn bars_of_a_node_and_a_comparison_fit_a_terminal_of_80_columns() {
    let page = printed(&["explain", "node", "n1", "--from", "examples/late-nodes.yaml"]);
    let bars: Vec<&str> = page.lines().filter(|line| line.contains("│ target")).collect();
    assert_eq!(bars.len(), 2, "{page}");
    let policy = ["--policy", "policy.example.yaml"];
    let compared = printed(&[&["simulate", "two-workers"], &policy[..], &policy[..]].concat());
    let nodes = compared.split("\n\n").find(|section| section.starts_with("Nodes")).unwrap();
    for line in bars.into_iter().chain(nodes.lines()) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn the_page_of_a_workload() {
    assert_snapshot!(page(EVEN, &Subject::Workload("default/deploy/hot".to_owned()), 80), @r"
    Deployment default/hot  5 of 5 Ready, PodDisruptionBudget hot allows 2

    Pods  heaviest first, each with its most important verdict
    default/hot-1  n1  1.22  600Mi  stays: its replacement would return to n1: its
                                    preferred node affinity outweighs the free nodes
                                    to change that: change the preferred node
                                    affinity so that it does not favour n1; or use
                                    `steering`, so that the scheduler avoids its
                                    node
    default/hot-2  n1  1.22  600Mi  as above
    default/hot-3  n1  1.22  600Mi  as above
    default/hot-4  n1  1.22  600Mi  as above
    default/hot-5  n2   82m  100Mi  its node is at or below every threshold and
                                    needs no relief

    Ledger  earlier evictions of default/Deployment/hot
    the last move did not help; the workload rested until 2026-11-21T11:30:00Z
    40m ago  hot-0  n1 → n1  the replacement returned to the same node
    ");
}

#[test]
fn an_unknown_name_is_answered_with_similar_names() {
    let (engine, snapshot) = dead_loop(EVEN);
    let error = |subject| engine.explain(&snapshot, &subject, noon()).unwrap_err().to_string();
    let pod = |name: &str| error(Subject::Pod(name.to_owned()));
    assert_eq!(
        pod("default/hto-1"),
        "no pod default/hto-1; did you mean default/hot-1, default/hot-2, default/hot-3 or \
            default/hot-4?"
    );
    assert_eq!(
        pod("default/agent"),
        "no pod default/agent; default/agent is a DaemonSet: `explain workload default/agent`"
    );
    assert_eq!(pod("age"), "no pod age; did you mean default/agent-1?");
    assert_eq!(pod("unheard-of"), "no pod unheard-of");
    assert_eq!(error(Subject::Node("n9".to_owned())), "no node n9; did you mean n1, n2, n3 or n4?");
    let workload = |name: &str| error(Subject::Workload(name.to_owned()));
    assert_eq!(
        workload("default/hot-1"),
        "no workload default/hot-1; default/hot-1 is a pod: `explain pod default/hot-1`"
    );
    assert_eq!(workload("sts/hot"), "no workload sts/hot");
}

#[test]
fn a_pod_that_cannot_be_read_is_named_with_the_reason() {
    let cluster = Cluster::parse("node n1\n web\nnode n2");
    let (engine, mut snapshot) = cluster.seen(parse(EVEN), Ledger::default());
    snapshot.skipped.push(Skipped {
        kind: "Pod".to_owned(),
        namespace: "default".to_owned(),
        name: "odd".to_owned(),
        node: Some("n1".to_owned()),
        why: "spec.priority: found x".to_owned(),
    });
    for name in ["odd", "default/odd"] {
        let error = engine.explain(&snapshot, &Subject::Pod(name.to_owned()), noon()).unwrap_err();
        let text = "Pod default/odd cannot be read: spec.priority: found x";
        assert_eq!(error.to_string(), format!("no pod {name}; {text}"));
    }
}

#[test]
fn an_ambiguous_name_is_answered_with_the_candidates() {
    let (engine, snapshot) = Cluster::parse("node n1\n web\n web namespace=shop\nnode n2")
        .seen(parse(EVEN), Ledger::default());
    let error = |subject| engine.explain(&snapshot, &subject, noon()).unwrap_err().to_string();
    assert_eq!(
        error(Subject::Workload("web".to_owned())),
        "more than one workload is called web; say which: default/Deployment/web or \
            shop/Deployment/web"
    );
    assert!(
        engine
            .explain(&snapshot, &Subject::Workload("deployments/web".to_owned()), noon())
            .is_err()
    );
    assert!(engine.explain(&snapshot, &Subject::Workload("shop/web".to_owned()), noon()).is_ok());
}

/// The first block of output that a page shows below a command.
fn shown<'p>(page: &'p str, command: &str) -> &'p str {
    let (_, after) = page.split_once(command).unwrap();
    let (_, after) = after.split_once("```text\n").unwrap();
    after.split_once("```").unwrap().0
}

#[test]
fn the_docs_show_the_real_output_of_explain() {
    let page = read("docs/using.md");
    let command = "explain pod hot-6f9c7d8b54-8sd9d --from examples/late-nodes.yaml";
    let arguments: Vec<&str> = command.split(' ').collect();
    let output = printed(&arguments);
    assert!(output.contains(shown(&page, command)), "{output}");
}

#[test]
fn the_readme_shows_the_real_output_of_simulate() {
    let readme = read("README.md");
    assert_eq!(printed(&["simulate"]), shown(&readme, "cargo run -- simulate"));
}

#[test]
fn a_node_of_unknown_usage_has_no_value_that_decisions_use() {
    let cluster = read("examples/late-nodes.yaml");
    let node = "{apiVersion: v1, kind: Node, metadata: {name: extra}, status: {allocatable: {cpu: \
                '4', memory: 8Gi, pods: '20'}, conditions: [{type: Ready, status: 'True'}]}}";
    let file = temporary(&format!("{cluster}\n---\n{node}\n"));
    let page = printed(&["explain", "node", "extra", "--from", &file]);
    assert!(page.contains("Usage  0 samples in 5m\n"), "{page}");
    assert!(page.contains("unknown: "), "{page}");
}

#[test]
fn a_ledger_in_the_file_is_used() {
    let cluster = read("examples/late-nodes.yaml");
    let pod = "default/hot-6f9c7d8b54-5pztx";
    let explain = |name: &str, data: &str| {
        let map = format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: kube-system}}\n{data}"
        );
        let file = temporary(&format!("{cluster}\n{map}"));
        program(&["explain", "pod", pod, "--from", &file, "--namespace", "kube-system"])
    };
    let useless = r#"{"version":1,"entries":[],
        "resting":{"default/Deployment/hot":{"useless":2,"until":"2026-11-21T07:48:00Z",
          "attempt":"2026-11-21T07:00:00Z"}}}"#;
    let data = format!("data: {{ledger.json: '{useless}'}}\n");
    let page = String::from_utf8(explain("evenkeel-ledger", &data).stdout).unwrap();
    assert!(page.contains("ledger: configmap kube-system/evenkeel-ledger of the file"), "{page}");
    assert!(
        page.contains(
            "the last 2 moves of its workload did not help; the workload rests for another 18m"
        ),
        "{page}"
    );
    // A ledger with another name belongs to another instance.
    let page = String::from_utf8(explain("other-ledger", &data).stdout).unwrap();
    let ignored =
        "ledger: ignored kube-system/other-ledger: expected configmap kube-system/evenkeel-ledger;";
    assert!(page.contains(ignored), "{page}");
    assert!(page.contains("LowNodeUtilization: moves"), "{page}");
    let broken = explain("evenkeel-ledger", "data: {ledger.json: '{}'}\n");
    let error = String::from_utf8(broken.stderr).unwrap();
    assert!(
        !broken.status.success()
            && error.contains("configmap kube-system/evenkeel-ledger: not a ledger"),
        "{error}"
    );
}
