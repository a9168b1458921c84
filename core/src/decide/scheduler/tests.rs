//! Forecasts in small clusters. Decisions of a real scheduler in large clusters are recorded in
//! `tests/data/placements`.

use serde_json::Value;

use super::question::Question;
use super::{Forecast, choice, choose, fits, forecast, preempted};
use crate::decide::placement::{Landing, Placement};
use crate::model::search_start::{NodeOrder, SearchStart};
use crate::model::snapshot::objects::Objects;
use crate::model::snapshot::{PodId, Snapshot, import};
use crate::policy::{FilterPlugin, FitStrategy, KubernetesRelease, Policy, ScorePlugin, Weights};

/// Three nodes in two zones, with 4 cores and 8 GiB each.
const NODES: &str = "
- {kind: Node, metadata: {name: a, labels: {kubernetes.io/hostname: a, zone: east}},
  status: &status {conditions: [{type: Ready, status: 'True'}],
    allocatable: {cpu: 4, memory: 8Gi, pods: 9}}}
- {kind: Node, metadata: {name: b, labels: {kubernetes.io/hostname: b, zone: east}},
  status: *status}
- {kind: Node, metadata: {name: c, labels: {kubernetes.io/hostname: c, zone: west}},
  status: *status}
";

/// Evaluates a function on a placement and the pod named `p`.
pub(super) fn ask<T>(
    objects: &str,
    tune: impl Fn(&mut Policy),
    question: impl Fn(&mut Placement<'_>, PodId) -> T,
) -> T {
    let mut policy = Policy::default_native();
    tune(&mut policy);
    let mut all = Objects::default();
    for mut value in serde_saphyr::from_str::<Vec<Value>>(&format!("{NODES}{objects}")).unwrap() {
        value["apiVersion"] = "v1".into();
        all.apply(import::object(&value).unwrap().unwrap());
    }
    let snapshot = Snapshot::join(&all, policy.resources());
    let unknown = SearchStart::default();
    let pod = snapshot.find_pod("default", "p").unwrap();
    question(&mut Placement::new(&policy, &snapshot, &unknown), pod)
}

/// Formats the possible nodes, and the reasons of the other nodes: `a b; c: tainted`.
fn outcome(objects: &str) -> String {
    ask(objects, |_| {}, |placement, pod| format_forecast(&forecast(placement, pod)))
}

fn format_forecast(forecast: &Forecast) -> String {
    let name = |node: crate::model::snapshot::NodeId| ["a", "b", "c"][node.0];
    let mut possible_nodes: Vec<&str> =
        forecast.possible_nodes.iter().map(|w| name(w.node)).collect();
    possible_nodes.sort_unstable();
    let mut parts = vec![possible_nodes.join(" ")];
    parts.extend(forecast.misfits.iter().map(|(node, why)| format!("{}: {why}", name(*node))));
    parts.join("; ")
}

/// Returns the score of one plugin on each node, in the order of their names.
fn points(objects: &str, plugin: ScorePlugin, tune: impl Fn(&mut Policy)) -> Vec<i64> {
    ask(objects, tune, |placement, pod| {
        let mut scored = forecast(placement, pod).scored;
        scored.sort_by_key(|s| s.node);
        scored.iter().map(|s| s.parts[plugin]).collect()
    })
}

pub(super) fn pod(name: &str, rest: &str) -> String {
    format!(
        "- {{kind: Pod, metadata: {{name: {name}, labels: {{app: {name}}}}}, spec: {{{rest}}}}}\n"
    )
}

pub(super) fn move_pod(placement: &mut Placement<'_>, pod: &str, to: &str) {
    let pod = placement.snapshot.find_pod("default", pod).unwrap();
    let landing = Landing { on: placement.snapshot.find_node(to), ..Landing::default() };
    placement.book(pod, &landing);
}

#[test]
fn a_host_port_is_used_once() {
    let web = |name: &str, on: &str, ip: &str| {
        pod(
            name,
            &format!("{on} containers: [{{name: c, ports: [{{hostPort: 80, hostIP: '{ip}'}}]}}]"),
        )
    };
    let others = web("q", "nodeName: a,", "10.0.0.1") + &web("r", "nodeName: b,", "10.0.0.2");
    assert_eq!(
        outcome(&(others.clone() + &web("p", "", ""))),
        "c; a: already using one of its host ports; b: already using one of its host ports"
    );
    assert_eq!(
        outcome(&(others + &web("p", "", "10.0.0.2"))),
        "c; b: already using one of its host ports"
    );
}

#[test]
fn before_1_33_the_host_ports_of_sidecars_do_not_count() {
    let port = "{name: c, restartPolicy: Always, ports: [{hostPort: 80}]}";
    let (main, sidecar) = (format!("containers: [{port}]"), format!("initContainers: [{port}]"));
    let nodes = |one: &str, other: &str, minor| {
        ask(
            &(pod("q", &format!("nodeName: a, {one}")) + &pod("p", other)),
            |policy| policy.set_release(KubernetesRelease::new(minor)),
            |placement, p| forecast(placement, p).scored.len(),
        )
    };
    for (one, other) in [(&main, &sidecar), (&sidecar, &main), (&sidecar, &sidecar)] {
        assert_eq!(nodes(one, other, 32), 3);
        assert_eq!(nodes(one, other, 33), 2);
    }
    assert_eq!(nodes(&main, &main, 32), 2);
}

#[test]
fn a_moved_pod_holds_its_host_port_and_its_anti_affinity_until_it_ends() {
    let port = "containers: [{name: c, ports: [{hostPort: 80}]}]";
    let apart = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
        {topologyKey: kubernetes.io/hostname,
        labelSelector: {matchExpressions: [{key: app, operator: Exists}]}}]}}";
    for rest in [port, apart] {
        let pods =
            pod("q", &format!("nodeName: a, {rest}")) + &pod("p", &format!("nodeName: b, {rest}"));
        let (during, after) = ask(
            &pods,
            |_| {},
            |placement, p| {
                move_pod(placement, "q", "c");
                let feasible = |question| choice::forecast(&question).scored.len();
                (feasible(Question::during(placement, p)), feasible(Question::after(placement, p)))
            },
        );
        assert_eq!((during, after), (0, 2), "{rest}");
    }
}

#[test]
fn a_pod_lands_where_its_volumes_are_accessible() {
    let claim = "
- {kind: PersistentVolumeClaim, metadata: {name: data}, spec: {volumeName: pv}}
- {kind: PersistentVolume, metadata: {name: pv},
  spec: {nodeAffinity: {required: {nodeSelectorTerms: [
    {matchExpressions: [{key: zone, operator: In, values: [west]}]}]}}}}
";
    let user = pod("p", "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]");
    let far = "unable to reach its volumes";
    assert_eq!(outcome(&(claim.to_owned() + &user)), format!("c; a: {far}; b: {far}"));
    assert_eq!(outcome(&user), "a b c", "an unknown claim adds no condition");
}

#[test]
fn a_read_write_once_pod_claim_delays_the_replacement() {
    let claim = "- {kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOncePod]}}\n";
    let user = |name: &str, on: &str| {
        claim.to_owned()
            + &pod(
                name,
                &format!("{on} volumes: [{{name: v, persistentVolumeClaim: {{claimName: data}}}}]"),
            )
    };
    assert_eq!(outcome(&user("p", "nodeName: a,")), "a b c");
    let barred = "blocked by another pod that uses its volume claim";
    let both = user("q", "nodeName: a,") + &user("p", "");
    assert_eq!(outcome(&both), format!("; a: {barred}; b: {barred}; c: {barred}"));
}

#[test]
fn a_gated_pod_lands_on_no_node() {
    let closed = "closed because it has scheduling gates";
    assert_eq!(
        outcome(&pod("p", "schedulingGates: [{name: g}]")),
        format!("; a: {closed}; b: {closed}; c: {closed}")
    );
}

const NEAR_ITSELF: &str = "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution:
    [{topologyKey: zone, labelSelector: {matchLabels: {app: p}}}]}}";

#[test]
fn the_first_pod_with_affinity_to_its_own_group_may_land_anywhere() {
    assert_eq!(outcome(&pod("p", NEAR_ITSELF)), "a b c");
    let other = "- {kind: Pod, metadata: {name: q, labels: {app: p}}, spec: {nodeName: c}}\n";
    let without_affinity = "without a pod that it must run near";
    assert_eq!(
        outcome(&(other.to_owned() + &pod("p", NEAR_ITSELF))),
        format!("c; a: {without_affinity}; b: {without_affinity}")
    );
}

#[test]
fn anti_affinity_applies_in_both_directions() {
    let apart = |app: &str| {
        format!(
            "affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution:
            [{{topologyKey: zone, labelSelector: {{matchLabels: {{app: {app}}}}}}}]}}}}"
        )
    };
    let avoided = "occupied by a pod that it avoids";
    let apart_from_q = pod("q", "nodeName: a") + &pod("p", &apart("q"));
    assert_eq!(outcome(&apart_from_q), format!("c; a: {avoided}; b: {avoided}"));
    let avoiding = "occupied by a pod that avoids it";
    let is_avoided = pod("q", &format!("nodeName: a, {}", apart("p"))) + &pod("p", "");
    assert_eq!(outcome(&is_avoided), format!("c; a: {avoiding}; b: {avoiding}"));
}

#[test]
fn a_replacement_may_land_before_or_after_the_pod_ends() {
    // The pod uses 3 of 4 cores. While it exists, its node is full. Afterwards all nodes are equal.
    let large = "nodeName: a, containers: [{name: c, resources: {requests: {cpu: 3}}}]";
    let chances = |objects: &str| {
        ask(
            objects,
            |_| {},
            |placement, pod| {
                let mut possible_nodes = forecast(placement, pod).possible_nodes;
                possible_nodes.sort_by_key(|w| w.node);
                possible_nodes.iter().map(|w| w.chance.to_string()).collect::<Vec<_>>().join(" ")
            },
        )
    };
    // A quarter of one third, and for the other nodes three quarters of one half in addition.
    assert_eq!(chances(&pod("p", large)), "8.3% 46% 46%");
    let set = "- {kind: Pod, metadata: {name: p, ownerReferences: [{kind: StatefulSet, name: s, controller: true}]},
        spec: {nodeName: a, containers: [{name: c, resources: {requests: {cpu: 3}}}]}}\n";
    assert_eq!(
        chances(set),
        "33% 33% 33%",
        "the replacement of a StatefulSet pod always comes after it"
    );
}

#[test]
fn earlier_moves_count() {
    let large = "containers: [{name: c, resources: {requests: {cpu: 3}}}]";
    let objects = pod("q", &format!("nodeName: a, {large}")) + &pod("p", large);
    let full = "short of cpu by requests";
    assert_eq!(outcome(&objects), format!("b c; a: {full}"));
    let moved = ask(
        &objects,
        |_| {},
        |placement, pod| {
            move_pod(placement, "q", "b");
            format_forecast(&forecast(placement, pod))
        },
    );
    assert_eq!(moved, format!("a c; b: {full}"));
}

/// A pending pod that has reserved room on a node.
fn nominated(name: &str, node: &str, rest: &str) -> String {
    let pod = pod(name, rest);
    let whole = pod.trim_end().strip_suffix('}').unwrap();
    format!("{whole}, status: {{nominatedNodeName: {node}}}}}\n")
}

const LARGE: &str = "containers: [{name: c, resources: {requests: {cpu: 3}}}]";

#[test]
fn a_nominated_pod_reserves_room_from_pods_of_lower_or_equal_priority() {
    let with = |own: &str, other: &str| {
        let reserved = nominated("q", "b", &format!("{LARGE}, {other}"));
        outcome(&(reserved + &pod("p", &format!("{LARGE}, {own}"))))
    };
    let reserved = "a c; b: short of cpu by requests";
    assert_eq!(with("priority: 5", "priority: 5"), reserved);
    assert_eq!(with("priority: 4", "priority: 5"), reserved);
    assert_eq!(with("priority: 6", "priority: 5"), "a b c");
    // Without a priority it is zero.
    assert_eq!(with("priority: -1", "hostNetwork: true"), reserved);
    assert_eq!(with("priority: 1", "hostNetwork: true"), "a b c");
    // Bound to another node, it needs no room here any more.
    assert_eq!(with("priority: 5", "priority: 5, nodeName: c"), "a b; c: short of cpu by requests");
    // The scheduler does not know the nominations of another one.
    assert_eq!(with("priority: 5", "priority: 5, schedulerName: mine"), "a b c");
}

#[test]
fn a_nominated_pod_counts_for_ports_pods_and_anti_affinity() {
    let port = "containers: [{name: c, ports: [{hostPort: 80}]}]";
    assert_eq!(
        outcome(&(nominated("q", "b", port) + &pod("p", port))),
        "a c; b: already using one of its host ports"
    );
    let many: String = (0..9).map(|i| nominated(&format!("q{i}"), "b", "")).collect();
    assert_eq!(outcome(&(many + &pod("p", ""))), "a c; b: short of pods by requests");
    let apart = |app: &str| {
        format!(
            "affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [
            {{topologyKey: zone, labelSelector: {{matchLabels: {{app: {app}}}}}}}]}}}}"
        )
    };
    assert_eq!(
        outcome(&(nominated("q", "b", "") + &pod("p", &apart("q")))),
        "a c; b: occupied by a pod that it avoids"
    );
    assert_eq!(
        outcome(&(nominated("q", "b", &apart("p")) + &pod("p", ""))),
        "a c; b: occupied by a pod that avoids it"
    );
}

#[test]
fn a_pod_goes_to_the_node_that_is_nominated_for_it_if_it_fits_there() {
    assert_eq!(outcome(&nominated("p", "b", LARGE)), "b");
    let best = ask(&nominated("p", "b", LARGE), |_| {}, |placement, pod| choose(placement, pod, 2));
    assert_eq!((best.0.iter().map(|n| n.0).collect::<Vec<_>>(), best.1), (vec![1], 2));
    let taken = pod("q", &format!("nodeName: b, {LARGE}"));
    assert_eq!(outcome(&(taken + &nominated("p", "b", LARGE))), "a c; b: short of cpu by requests");
    assert_eq!(outcome(&nominated("p", "gone", LARGE)), "a b c");
}

/// The pod that the pod named `p` would remove, and its node: `q from a`.
fn victim(objects: &str, tune: impl Fn(&mut Policy)) -> String {
    ask(objects, tune, |placement, pod| {
        let snapshot = placement.snapshot;
        preempted(placement, pod).map_or_else(String::new, |(node, pod)| {
            format!("{} from {}", snapshot.pod(pod).name, snapshot.node(node).name)
        })
    })
}

#[test]
fn a_pod_that_fits_nowhere_removes_the_fewest_pods_of_lower_priority() {
    let on = |name: &str, node: &str, cpu: u32, rest: &str| {
        let request = format!("containers: [{{name: c, resources: {{requests: {{cpu: {cpu}}}}}}}]");
        pod(name, &format!("nodeName: {node}, {request}, {rest}"))
    };
    let full = on("a1", "a", 4, "priority: 9") + &on("c1", "c", 4, "priority: 9");
    let p = pod("p", &format!("{LARGE}, priority: 5"));
    let none = |_: &mut Policy| {};
    let two = on("large", "b", 2, "priority: 4") + &on("small", "b", 1, "priority: 3");
    // With the small pod alone, one core is used; with the large one, two are.
    assert_eq!(victim(&(full.clone() + &two + &p), none), "large from b");
    let equal = two.replace("priority: 4", "priority: 5");
    assert_eq!(victim(&(full.clone() + &equal + &p), none), "");
    assert_eq!(victim(&(two.clone() + &p), none), "", "two nodes have room");
    let never = p.replace("priority: 5", "priority: 5, preemptionPolicy: Never");
    assert_eq!(victim(&(full.clone() + &two + &never), none), "");
    let off = |policy: &mut Policy| policy.scheduler.preempts = false;
    assert_eq!(victim(&(full.clone() + &two + &p), off), "");
    // Nothing is lost with pods that terminate.
    let end = "labels: {app: large}, deletionTimestamp: '2026-01-01T00:00:00Z'";
    let ends = two.replace("labels: {app: large}", end);
    assert_eq!(victim(&(full.clone() + &ends + &p), none), "");
    // A removal changes no taint, and does not help where a nominated pod waits for the room.
    let closed =
        "- {kind: Node, metadata: {name: b}, spec: {unschedulable: true}, status: *status}\n";
    assert_eq!(victim(&(full.clone() + closed + &two + &p), none), "");
    let waits = nominated("q", "b", &format!("{LARGE}, priority: 5"));
    assert_eq!(victim(&(full + &two + &waits + &p), none), "");
}

#[test]
fn a_pod_removes_the_pod_that_holds_its_host_port_or_its_domain() {
    let port = "containers: [{name: c, ports: [{hostPort: 80}]}]";
    let user =
        |name: &str, rank: i32| pod(name, &format!("nodeName: {name}, {port}, priority: {rank}"));
    let p = pod("p", &format!("{port}, priority: 5"));
    let other = pod("o", "nodeName: c, priority: 1");
    let users = user("a", 6) + &user("b", 7) + &user("c", 4);
    assert_eq!(victim(&(users + &other + &p), |_| {}), "c from c");
    let apart = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
        {topologyKey: zone, labelSelector: {matchLabels: {tier: x}}}]}}, priority: 5";
    let there = |name: &str, node: &str, rank: i32| {
        format!(
            "- {{kind: Pod, metadata: {{name: {name}, labels: {{tier: x}}}}, spec: {{nodeName: {node}, priority: {rank}}}}}\n"
        )
    };
    // The zone of a and b has a pod on each. Only one node is freed, so the other pod excludes
    // both.
    let both = there("q", "a", 1) + &there("r", "b", 1) + &there("s", "c", 9) + &pod("p", apart);
    assert_eq!(victim(&both, |_| {}), "");
    let one = there("q", "a", 1) + &there("s", "c", 9) + &pod("p", apart);
    assert_eq!(victim(&one, |_| {}), "q from a");
}

#[test]
fn with_an_unknown_scheduler_any_feasible_node_may_win() {
    let busy = pod("q", "nodeName: a, containers: [{name: c, resources: {requests: {cpu: 2}}}]");
    assert_eq!(outcome(&(busy.clone() + &pod("p", ""))), "b c");
    assert_eq!(outcome(&(busy + &pod("p", "schedulerName: mine"))), "a b c");
}

#[test]
fn pods_of_one_controller_or_service_are_spread_by_default() {
    let owned = |name: &str, on: &str| {
        format!(
            "- {{kind: Pod, metadata: {{name: {name}, labels: {{app: web}},
            ownerReferences: [{{kind: ReplicaSet, name: r,
              controller: true}}]}}, spec: {{{on}}}}}\n"
        )
    };
    let one = owned("q", "nodeName: a") + &owned("p", "");
    // No node has a zone by the label that counts. On a 1 × ln 5 + 2 = 3.6, rounded 4; on b and c
    // 2; and twice 100 × (4 + 2 − n) / 4.
    assert_eq!(points(&one, ScorePlugin::PodTopologySpread, |_| {}), [100, 200, 200]);
    let of_service = "- {kind: Service, metadata: {name: web}, spec: {selector: {app: web}}}\n"
        .to_owned()
        + &one.replace("ReplicaSet", "Job");
    assert_eq!(points(&of_service, ScorePlugin::PodTopologySpread, |_| {}), [100, 200, 200]);
    let none = |policy: &mut Policy| {
        policy.scheduler.spread = crate::policy::DefaultSpread::List(Vec::new());
    };
    assert_eq!(points(&one, ScorePlugin::PodTopologySpread, none), [0, 0, 0]);
    let of_other_group = one.replace("{kind: R", "{apiVersion: apps.kruise.io/v1beta1, kind: R");
    assert_eq!(points(&of_other_group, ScorePlugin::PodTopologySpread, |_| {}), [0, 0, 0]);
}

#[test]
fn a_pod_of_a_stateful_set_with_a_service_of_its_own_is_not_spread() {
    for key in ["statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"] {
        let of_set = |name: &str, on: &str| {
            format!(
                "- {{kind: Pod, metadata: {{name: {name}, labels: {{app: set, {key}: {name}}},
                ownerReferences: [{{apiVersion: apps/v1, kind: StatefulSet, name: set,
                  controller: true}}]}}, spec: {{{on}}}}}\n"
            )
        };
        let pods = of_set("q", "nodeName: a") + &of_set("p", "");
        let spread = |selector: &str| {
            let service = "- {kind: Service, metadata: {name: s}, spec: {selector: ".to_owned();
            let objects = service + selector + "}}\n" + &pods;
            points(&objects, ScorePlugin::PodTopologySpread, |_| {})
        };
        assert_eq!(spread("{app: set}"), [100, 200, 200]);
        assert_eq!(spread(&format!("{{{key}: q}}")), [100, 200, 200]);
        assert_eq!(spread(&format!("{{{key}: p}}")), [200, 200, 200]);
    }
}

#[test]
fn an_image_that_a_node_names_twice_counts_once() {
    let images = |names: &str| {
        let node = format!(
            "- {{kind: Node, metadata: {{name: a}}, status: {{images: [{{names: {names},
              sizeBytes: 900000000}}], conditions: [{{type: Ready, status: 'True'}}],
              allocatable: {{cpu: 4, memory: 8Gi, pods: 9}}}}}}\n"
        );
        let objects = node + &pod("p", "containers: [{name: c, image: 'web:1'}]");
        points(&objects, ScorePlugin::ImageLocality, |_| {})
    };
    assert_eq!(images("['web:1', 'web:1']"), images("['web:1']"));
    assert_ne!(images("['web:1']"), [0, 0, 0]);
}

#[test]
fn the_older_label_of_a_zone_comes_first() {
    let node = |name: &str, labels: &str| {
        format!("- {{kind: Node, metadata: {{name: {name}, labels: {{{labels}}}}}}}\n")
    };
    let (old, stable) = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone");
    let objects = node("a", &format!("{old}: east"))
        + &node("b", &format!("{old}: east, {stable}: west"))
        + &node("c", &format!("{stable}: west"))
        + &pod("p", "");
    let order = |placement: &mut Placement<'_>, _| {
        placement.index().rotation(NodeOrder::Name).iter().map(|n| n.0).collect::<Vec<_>>()
    };
    assert_eq!(ask(&objects, |_| {}, order), [0, 2, 1]);
}

/// In a cluster of 203 nodes it finds 100.
#[test]
fn a_pod_weighs_by_the_number_of_nodes_that_the_scheduler_finds() {
    let owned = |name: &str, on: &str| {
        format!(
            "- {{kind: Pod, metadata: {{name: {name}, ownerReferences: [{{kind: ReplicaSet, name: r, controller: true}}]}}, spec: {{{on}}}}}\n"
        )
    };
    let status = "{conditions: [{type: Ready, status: 'True'}], allocatable: {cpu: 4, pods: 9}}";
    let node = |i: usize| {
        let labels = format!("{{kubernetes.io/hostname: n{i}}}");
        format!("- {{kind: Node, metadata: {{name: n{i}, labels: {labels}}}, status: {status}}}\n")
    };
    let siblings = ["q1", "q2", "q3"].map(|name| owned(name, "nodeName: a")).concat();
    let objects = (0..200).map(node).collect::<String>() + &siblings + &owned("p", "");
    // On a 3 × ln 102 + 2 = 15.9, rounded 16; on the others 2; and twice 100 × (16 + 2 − n) / 16.
    let points = points(&objects, ScorePlugin::PodTopologySpread, |_| {});
    assert_eq!((points[0], points[1], points.len()), (24, 200, 203));
}

#[test]
fn required_constraints_exclude_the_fuller_domains() {
    let spread = |rest: &str| {
        format!(
            "topologySpreadConstraints: [{{maxSkew: 1, topologyKey: zone,
              whenUnsatisfiable: DoNotSchedule, {rest}
            labelSelector: {{matchLabels: {{app: p}}}}}}]"
        )
    };
    let other = "- {kind: Pod, metadata: {name: q, labels: {app: p}}, spec: {nodeName: a}}\n";
    let uneven = "excluded by its topology spread constraints";
    assert_eq!(
        outcome(&(other.to_owned() + &pod("p", &spread("")))),
        format!("c; a: {uneven}; b: {uneven}")
    );
    // One pod in each of two domains is even. If three domains are required, it is one too many.
    let both = format!(
        "{other}{}",
        other.replace("name: q", "name: r").replace("nodeName: a", "nodeName: c")
    );
    assert_eq!(outcome(&(both.clone() + &pod("p", &spread("")))), "a b c");
    let nowhere = format!("; a: {uneven}; b: {uneven}; c: {uneven}");
    assert_eq!(outcome(&(both + &pod("p", &spread("minDomains: 3,")))), nowhere);
    // A terminating pod does not count.
    let ends = other.replace("name: q,", "name: q, deletionTimestamp: '2026-01-01T00:00:00Z',");
    assert_eq!(outcome(&(ends + &pod("p", &spread("")))), "a b c");
}

#[test]
fn the_profile_selects_plugins_and_weights() {
    let busy = pod(
        "q",
        "nodeName: a, containers: [{name: c, resources: {requests: {cpu: 1, memory: 2Gi}}}]",
    );
    let small = pod("p", "containers: [{name: c, resources: {requests: {cpu: 1, memory: 2Gi}}}]");
    let objects = busy + &small;
    assert_eq!(points(&objects, ScorePlugin::NodeResourcesFit, |_| {}), [50, 75, 75]);
    let pack = |policy: &mut Policy| policy.scheduler.fit.strategy = FitStrategy::MostAllocated;
    assert_eq!(points(&objects, ScorePlugin::NodeResourcesFit, pack), [50, 25, 25]);
    let off = |policy: &mut Policy| policy.scheduler.weights = Weights::NONE;
    assert_eq!(
        ask(&objects, off, |placement, pod| format_forecast(&forecast(placement, pod))),
        "a b c"
    );
    let tainted = objects.replace("kind: Node", "")
        + "- {kind: Node, metadata: {name: b}, spec: {unschedulable: true}, status: {conditions: [{type: Ready, status: 'True'}]}}\n";
    let cordons = |policy: &mut Policy| {
        policy.scheduler.filters_off.insert(FilterPlugin::NodeUnschedulable);
    };
    let fit = |tune: &dyn Fn(&mut Policy)| {
        ask(&tainted, tune, |placement, pod| {
            let node = placement.snapshot.find_node("b").unwrap();
            fits(placement, pod, node).map_err(|why| why.to_string())
        })
    };
    assert_eq!(fit(&|_| {}), Err("cordoned".to_owned()));
    assert_eq!(fit(&cordons), Err("short of cpu by requests".to_owned()));
}

#[test]
fn the_next_search_starts_where_the_last_one_ended() {
    // With fewer than a hundred nodes each search visits all of them.
    let busy = pod("q", "nodeName: a, containers: [{name: c, resources: {requests: {cpu: 2}}}]");
    let (best, next) =
        ask(&(busy + &pod("p", "")), |_| {}, |placement, pod| choose(placement, pod, 2));
    assert_eq!((best.iter().map(|n| n.0).collect::<Vec<_>>(), next), (vec![2, 1], 2));
}

#[test]
fn without_scores_the_first_node_with_room_wins() {
    let first = |policy: &mut Policy| {
        policy.scheduler.weights = Weights::NONE;
        policy.scheduler.takes_first = true;
    };
    let full = pod("q", &format!("nodeName: b, {LARGE}"));
    let chosen = |p: &str| {
        let objects = full.clone() + &pod("p", p);
        let (best, next) = ask(&objects, first, |placement, pod| choose(placement, pod, 1));
        (best.iter().map(|n| n.0).collect::<Vec<_>>(), next)
    };
    assert_eq!(chosen(LARGE), (vec![2], 0));
    // Another scheduler may score.
    assert_eq!(chosen(&format!("{LARGE}, schedulerName: mine")), (vec![2, 0], 1));
}
