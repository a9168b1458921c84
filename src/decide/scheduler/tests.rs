//! What the scheduler decides in small clusters. What it decides in large ones is recorded in `tests/data/placements`.

use serde_json::Value;

use super::{Forecast, choose, fits, forecast};
use crate::decide::draft::{Candidate, Draft, HotSince, Landing, World};
use crate::model::ledger::Ledger;
use crate::model::plan::Reason;
use crate::model::snapshot::objects::Objects;
use crate::model::snapshot::{PodId, Snapshot, import};
use crate::model::usage::Usage;
use crate::policy::{FilterPlugin, FitStrategy, Policy, ScorePlugin, Weights};

/// Three nodes in two zones, with 4 cores and 8 GiB each.
const NODES: &str = "
- {kind: Node, metadata: {name: a, labels: {kubernetes.io/hostname: a, zone: east}}, status: &status {allocatable: {cpu: 4, memory: 8Gi, pods: 9}}}
- {kind: Node, metadata: {name: b, labels: {kubernetes.io/hostname: b, zone: east}}, status: *status}
- {kind: Node, metadata: {name: c, labels: {kubernetes.io/hostname: c, zone: west}}, status: *status}
";

/// What is asked of a draft about the pod named `p`.
fn ask<T>(
    objects: &str,
    tune: impl Fn(&mut Policy),
    question: impl Fn(&mut Draft<'_>, PodId) -> T,
) -> T {
    let mut policy = Policy::default_native();
    tune(&mut policy);
    let mut all = Objects::default();
    for mut value in serde_saphyr::from_str::<Vec<Value>>(&format!("{NODES}{objects}")).unwrap() {
        value["apiVersion"] = "v1".into();
        all.apply(import::object(&value).unwrap().unwrap());
    }
    let snapshot = Snapshot::join(&all, policy.resources());
    let (usage, ledger, hot_since) = (Usage::default(), Ledger::default(), HotSince::new());
    let now = jiff::Timestamp::UNIX_EPOCH;
    let world = World {
        policy: &policy,
        snapshot: &snapshot,
        usage: &usage,
        ledger: &ledger,
        hot_since: &hot_since,
        now,
    };
    let pod = snapshot.find_pod("default", "p").unwrap();
    question(&mut Draft::new(world), pod)
}

/// Who wins, and why the others cannot: `a b; c: tainted`.
fn told(objects: &str) -> String {
    ask(objects, |_| {}, |draft, pod| tell(&forecast(draft, pod)))
}

fn tell(forecast: &Forecast) -> String {
    let name = |node: crate::model::snapshot::NodeId| ["a", "b", "c"][node.0];
    let mut winners: Vec<&str> = forecast.winners.iter().map(|w| name(w.node)).collect();
    winners.sort_unstable();
    let mut parts = vec![winners.join(" ")];
    parts.extend(
        forecast
            .misfits
            .iter()
            .map(|(node, why)| format!("{}: {why}", name(*node))),
    );
    parts.join("; ")
}

/// The points of one plugin on each node, in the order of their names.
fn points(objects: &str, plugin: ScorePlugin, tune: impl Fn(&mut Policy)) -> Vec<i64> {
    ask(objects, tune, |draft, pod| {
        let mut scored = forecast(draft, pod).scored;
        scored.sort_by_key(|s| s.node);
        scored.iter().map(|s| s.parts[plugin]).collect()
    })
}

fn pod(name: &str, rest: &str) -> String {
    format!(
        "- {{kind: Pod, metadata: {{name: {name}, labels: {{app: {name}}}}}, spec: {{{rest}}}}}\n"
    )
}

#[test]
fn host_ports_are_taken_once() {
    let web = |name: &str, on: &str, ip: &str| {
        pod(
            name,
            &format!("{on} containers: [{{name: c, ports: [{{hostPort: 80, hostIP: '{ip}'}}]}}]"),
        )
    };
    let others = web("q", "nodeName: a,", "10.0.0.1") + &web("r", "nodeName: b,", "10.0.0.2");
    assert_eq!(
        told(&(others.clone() + &web("p", "", ""))),
        "c; a: using a port that the pod takes; b: using a port that the pod takes"
    );
    assert_eq!(
        told(&(others + &web("p", "", "10.0.0.2"))),
        "c; b: using a port that the pod takes"
    );
}

#[test]
fn volumes_lead_a_pod_to_where_they_are() {
    let claim = "
- {kind: PersistentVolumeClaim, metadata: {name: data}, spec: {volumeName: pv}}
- {kind: PersistentVolume, metadata: {name: pv}, spec: {nodeAffinity: {required: {nodeSelectorTerms: [
    {matchExpressions: [{key: zone, operator: In, values: [west]}]}]}}}}
";
    let user = pod(
        "p",
        "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]",
    );
    let far = "out of reach of the pod's volumes";
    assert_eq!(
        told(&(claim.to_owned() + &user)),
        format!("c; a: {far}; b: {far}")
    );
    assert_eq!(
        told(&user),
        "a b c",
        "a claim that is not known asks for nothing"
    );
}

#[test]
fn a_claim_for_one_pod_keeps_the_replacement_waiting_until_the_pod_has_gone() {
    let claim = "- {kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOncePod]}}\n";
    let user = |name: &str, on: &str| {
        claim.to_owned()
            + &pod(
                name,
                &format!("{on} volumes: [{{name: v, persistentVolumeClaim: {{claimName: data}}}}]"),
            )
    };
    assert_eq!(told(&user("p", "nodeName: a,")), "a b c");
    let barred = "barred while another pod uses the pod's volume claim";
    let both = user("q", "nodeName: a,") + &user("p", "");
    assert_eq!(
        told(&both),
        format!("; a: {barred}; b: {barred}; c: {barred}")
    );
}

#[test]
fn a_pod_with_gates_goes_nowhere() {
    let closed = "closed to a pod with scheduling gates";
    assert_eq!(
        told(&pod("p", "schedulingGates: [{name: g}]")),
        format!("; a: {closed}; b: {closed}; c: {closed}")
    );
}

const NEAR_ITSELF: &str = "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution:
    [{topologyKey: zone, labelSelector: {matchLabels: {app: p}}}]}}";

#[test]
fn the_first_of_a_group_that_wants_to_be_together_may_go_anywhere() {
    assert_eq!(told(&pod("p", NEAR_ITSELF)), "a b c");
    let other = "- {kind: Pod, metadata: {name: q, labels: {app: p}}, spec: {nodeName: c}}\n";
    let lonely = "not near a pod that this one must be near";
    assert_eq!(
        told(&(other.to_owned() + &pod("p", NEAR_ITSELF))),
        format!("c; a: {lonely}; b: {lonely}")
    );
}

#[test]
fn anti_affinity_holds_both_ways() {
    let apart = |app: &str| {
        format!(
            "affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution:
            [{{topologyKey: zone, labelSelector: {{matchLabels: {{app: {app}}}}}}}]}}}}"
        )
    };
    let avoided = "taken by a pod that this one avoids";
    let avoids = pod("q", "nodeName: a") + &pod("p", &apart("q"));
    assert_eq!(told(&avoids), format!("c; a: {avoided}; b: {avoided}"));
    let avoiding = "taken by a pod that avoids this one";
    let is_avoided = pod("q", &format!("nodeName: a, {}", apart("p"))) + &pod("p", "");
    assert_eq!(
        told(&is_avoided),
        format!("c; a: {avoiding}; b: {avoiding}")
    );
}

#[test]
fn a_replacement_may_come_while_the_pod_ends_or_after_it() {
    // 3 of 4 cores: while the pod is there, its node is full. After it, all are alike.
    let large = "nodeName: a, containers: [{name: c, resources: {requests: {cpu: 3}}}]";
    let chances = |objects: &str| {
        ask(
            objects,
            |_| {},
            |draft, pod| {
                let mut winners = forecast(draft, pod).winners;
                winners.sort_by_key(|w| w.node);
                winners
                    .iter()
                    .map(|w| w.chance.to_string())
                    .collect::<Vec<_>>()
                    .join(" ")
            },
        )
    };
    // Half of one third, and for the others half of one half on top.
    assert_eq!(chances(&pod("p", large)), "17% 42% 42%");
    let set = "- {kind: Pod, metadata: {name: p, ownerReferences: [{kind: StatefulSet, name: s, controller: true}]},
        spec: {nodeName: a, containers: [{name: c, resources: {requests: {cpu: 3}}}]}}\n";
    assert_eq!(
        chances(set),
        "33% 33% 33%",
        "that of a StatefulSet always comes after it"
    );
}

#[test]
fn earlier_moves_count() {
    let large = "containers: [{name: c, resources: {requests: {cpu: 3}}}]";
    let objects = pod("q", &format!("nodeName: a, {large}")) + &pod("p", large);
    let full = "without enough cpu to request";
    assert_eq!(told(&objects), format!("b c; a: {full}"));
    let moved = ask(
        &objects,
        |_| {},
        |draft, pod| {
            let other = draft.world.snapshot.find_pod("default", "q").unwrap();
            let to = draft.world.snapshot.find_node("b");
            let candidate = Candidate {
                pod: other,
                strategy: 0,
                reason: Reason::Counted,
                room: None,
            };
            draft.accept(
                candidate,
                Landing {
                    on: to,
                    among: Vec::new(),
                },
            );
            tell(&forecast(draft, pod))
        },
    );
    assert_eq!(moved, format!("a c; b: {full}"));
}

#[test]
fn of_another_scheduler_any_node_that_fits_may_be_the_choice() {
    let busy = pod(
        "q",
        "nodeName: a, containers: [{name: c, resources: {requests: {cpu: 2}}}]",
    );
    assert_eq!(told(&(busy.clone() + &pod("p", ""))), "b c");
    assert_eq!(told(&(busy + &pod("p", "schedulerName: mine"))), "a b c");
}

#[test]
fn pods_of_one_controller_or_service_are_spread_unless_the_profile_says_otherwise() {
    let owned = |name: &str, on: &str| {
        format!(
            "- {{kind: Pod, metadata: {{name: {name}, labels: {{app: web}},
            ownerReferences: [{{kind: ReplicaSet, name: r, controller: true}}]}}, spec: {{{on}}}}}\n"
        )
    };
    let one = owned("q", "nodeName: a") + &owned("p", "");
    // No node has a zone by the label that counts. On a 1 × ln 5 + 2 = 3.6, rounded 4; on b and c 2; and twice 100 × (4 + 2 − n) / 4.
    assert_eq!(
        points(&one, ScorePlugin::PodTopologySpread, |_| {}),
        [100, 200, 200]
    );
    let of_service = "- {kind: Service, metadata: {name: web}, spec: {selector: {app: web}}}\n"
        .to_owned()
        + &one.replace("ReplicaSet", "Job");
    assert_eq!(
        points(&of_service, ScorePlugin::PodTopologySpread, |_| {}),
        [100, 200, 200]
    );
    let none = |policy: &mut Policy| {
        policy.scheduler.spread = crate::policy::DefaultSpread::List(Vec::new())
    };
    assert_eq!(
        points(&one, ScorePlugin::PodTopologySpread, none),
        [0, 0, 0]
    );
}

#[test]
fn constraints_that_must_be_kept_rule_out_the_fuller_places() {
    let spread = |rest: &str| {
        format!(
            "topologySpreadConstraints: [{{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, {rest}
            labelSelector: {{matchLabels: {{app: p}}}}}}]"
        )
    };
    let other = "- {kind: Pod, metadata: {name: q, labels: {app: p}}, spec: {nodeName: a}}\n";
    let uneven = "ruled out by the pod's topology spread";
    assert_eq!(
        told(&(other.to_owned() + &pod("p", &spread("")))),
        format!("c; a: {uneven}; b: {uneven}")
    );
    // A pod in each of two places is even; where three are asked for, it is one too many.
    let both = format!(
        "{other}{}",
        other
            .replace("name: q", "name: r")
            .replace("nodeName: a", "nodeName: c")
    );
    assert_eq!(told(&(both.clone() + &pod("p", &spread("")))), "a b c");
    let nowhere = format!("; a: {uneven}; b: {uneven}; c: {uneven}");
    assert_eq!(
        told(&(both + &pod("p", &spread("minDomains: 3,")))),
        nowhere
    );
    // One that ends does not count.
    let ends = other.replace(
        "name: q,",
        "name: q, deletionTimestamp: '2026-01-01T00:00:00Z',",
    );
    assert_eq!(told(&(ends + &pod("p", &spread("")))), "a b c");
}

#[test]
fn the_profile_decides() {
    let busy = pod(
        "q",
        "nodeName: a, containers: [{name: c, resources: {requests: {cpu: 1, memory: 2Gi}}}]",
    );
    let small = pod(
        "p",
        "containers: [{name: c, resources: {requests: {cpu: 1, memory: 2Gi}}}]",
    );
    let objects = busy + &small;
    assert_eq!(
        points(&objects, ScorePlugin::NodeResourcesFit, |_| {}),
        [50, 75, 75]
    );
    let pack = |policy: &mut Policy| policy.scheduler.fit.strategy = FitStrategy::MostAllocated;
    assert_eq!(
        points(&objects, ScorePlugin::NodeResourcesFit, pack),
        [50, 25, 25]
    );
    let off = |policy: &mut Policy| policy.scheduler.weights = Weights::NONE;
    assert_eq!(
        ask(&objects, off, |draft, pod| tell(&forecast(draft, pod))),
        "a b c"
    );
    let tainted = objects.replace("kind: Node", "")
        + "- {kind: Node, metadata: {name: b}, spec: {unschedulable: true}}\n";
    let cordons = |policy: &mut Policy| {
        policy
            .scheduler
            .filters_off
            .insert(FilterPlugin::NodeUnschedulable);
    };
    let fit = |tune: &dyn Fn(&mut Policy)| {
        ask(&tainted, tune, |draft, pod| {
            let node = draft.world.snapshot.find_node("b").unwrap();
            fits(draft, pod, node).map_err(|why| why.to_string())
        })
    };
    assert_eq!(fit(&|_| {}), Err("cordoned".to_owned()));
    assert_eq!(
        fit(&cordons),
        Err("without enough cpu to request".to_owned())
    );
}

#[test]
fn the_search_goes_on_where_it_ended() {
    // Of fewer than a hundred nodes each search sees all.
    let busy = pod(
        "q",
        "nodeName: a, containers: [{name: c, resources: {requests: {cpu: 2}}}]",
    );
    let (best, next) = ask(
        &(busy + &pod("p", "")),
        |_| {},
        |draft, pod| choose(draft, pod, 2),
    );
    assert_eq!(
        (best.iter().map(|n| n.0).collect::<Vec<_>>(), next),
        (vec![2, 1], 2)
    );
}
