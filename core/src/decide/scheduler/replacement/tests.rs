//! The derived forecast equals the one that is computed for both cases from the beginning.

use proptest::collection::vec;
use proptest::prelude::{prop_assert_eq, prop_oneof, proptest};
use proptest::strategy::{Just, Strategy};

use super::super::tests::{ask, move_pod, pod};
use super::*;

/// A part of a spec that the scheduler considers.
fn part() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        4 => Just(""),
        1 => Just("priority: 5, "),
        1 => Just(
            "topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: \
             DoNotSchedule, labelSelector: {}}], "
        ),
        1 => Just(
            "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: q1}}}]}}, "
        ),
        1 => Just(
            "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchExpressions: [{key: app, operator: In, values: [q0, q2]}]}}]}}, "
        ),
    ]
}

/// Requests that sometimes leave no room for another pod.
fn container() -> impl Strategy<Value = String> {
    (0..4_u32, 0..4_u32, 0..4_u32).prop_map(|(cpu, memory, port)| {
        let port = if port == 0 { "ports: [{hostPort: 80}], " } else { "" };
        let requests = format!("{{cpu: {}, memory: {memory}Gi}}", f64::from(cpu) * 0.7);
        format!("containers: [{{name: c, {port}resources: {{requests: {requests}}}}}]")
    })
}

fn any_pods() -> impl Strategy<Value = Vec<(&'static str, &'static str, String)>> {
    let node = prop_oneof![Just("a"), Just("b"), Just("c")];
    vec((node, part(), container()), 1..8)
}

proptest! {
    #[test]
    fn the_derived_forecast_is_the_computed_one(
        pods in any_pods(),
        own in (part(), container()),
        home in prop_oneof![Just("a"), Just("b")],
        moved in vec((0..8_usize, prop_oneof![Just("a"), Just("b"), Just("c")]), 0..3),
    ) {
        let others = pods.iter().enumerate().map(|(i, (node, part, container))| {
            pod(&format!("q{i}"), &format!("nodeName: {node}, {part}{container}"))
        });
        let objects: String = others.collect();
        let own = pod("p", &format!("nodeName: {home}, {}{}", own.0, own.1));
        let (derived, computed) = ask(&(objects + &own), |_| {}, |placement, pod| {
            let mut names: Vec<_> = moved.iter().map(|(q, to)| (*q % pods.len(), *to)).collect();
            names.sort_unstable();
            names.dedup_by_key(|(q, _)| *q);
            for (q, to) in names {
                move_pod(placement, &format!("q{q}"), to);
            }
            let during = choice::forecast(&Question::during(placement, pod));
            let after = choice::forecast(&Question::after(placement, pod));
            (forecast(placement, pod), either(during, after))
        });
        prop_assert_eq!(derived.possible_nodes, computed.possible_nodes);
        prop_assert_eq!(derived.scored, computed.scored);
        prop_assert_eq!(derived.misfits, computed.misfits);
    }
}
