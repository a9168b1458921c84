//! Realistic traces: hot nodes lose one pod after another.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::model::plan::Balance;
use crate::policy::Basis;
use crate::simulate::trace::{Event, Eviction, NodeTrace, Refused, Summary, Trace, TraceBand};
use crate::values::Ratio;

const STEPS: usize = 121;

pub(super) struct TraceShape {
    pub(super) policy: &'static str,
    pub(super) nodes: usize,
    pub(super) hot: usize,
    /// Steps between two evictions.
    pub(super) every: usize,
    /// The share of a node that one pod uses.
    pub(super) pod: f64,
}

/// A cluster in which some nodes are hot and the others are nearly idle.
#[expect(clippy::too_many_lines, reason = "one loop over time")]
pub(super) fn trace(shape: &TraceShape) -> Trace {
    let mut random = Random(7);
    let start: Timestamp = "2026-11-21T07:30:00Z".parse().unwrap();
    let names: Vec<String> = (1..=shape.nodes).map(|i| format!("node-{i:02}")).collect();
    let mut level: Vec<f64> =
        (0..shape.nodes)
            .map(|i| {
                if i < shape.hot {
                    0.78 + 0.12 * random.next()
                } else {
                    0.18 + 0.32 * random.next()
                }
            })
            .collect();
    let request: Vec<f64> = (0..shape.nodes).map(|_| 0.52 + 0.12 * random.next()).collect();
    let mut series: Vec<[Vec<Option<Ratio>>; 4]> = vec![Default::default(); shape.nodes];
    let mut pods: Vec<Vec<u32>> = vec![Vec::new(); shape.nodes];
    let mut count: Vec<u32> = vec![28; shape.nodes];
    let mut evictions = Vec::new();
    for step in 0..STEPS {
        if step >= 8 && (step - 8) % shape.every == 0 {
            let from = most(&level, f64::total_cmp);
            if level[from] > 0.70 {
                let to = most(&level, |a, b| b.total_cmp(a));
                level[from] -= shape.pod;
                level[to] += shape.pod;
                count[from] -= 1;
                count[to] += 1;
                let n = evictions.len();
                evictions.push(Eviction {
                    at: start + SignedDuration::from_mins(i64::try_from(step).unwrap()),
                    namespace: "shop".to_owned(),
                    pod: format!("checkout-7d4b9c-{n:03x}"),
                    workload: Some("shop/Deployment/checkout".to_owned()),
                    age: SignedDuration::from_hours(30),
                    from: names[from].clone(),
                    may_land: vec![
                        names[if n % 5 == 3 { (to + 1) % shape.nodes } else { to }].clone(),
                    ],
                    foreseen: Some(
                        names[if n % 5 == 3 { (to + 1) % shape.nodes } else { to }].clone(),
                    ),
                    to: (n != 10).then(|| names[to].clone()),
                    helped: if n == 10 { None } else { Some(n % 6 != 4) },
                    strategy: "LowNodeUtilization".to_owned(),
                    reason: format!(
                        "node {} uses {:.0}% of its cpu, above 70%",
                        names[from],
                        (level[from] + shape.pod) * 100.0
                    ),
                });
            }
        }
        for i in 0..shape.nodes {
            let wave =
                (count_f(step) / 19.0 + count_f(i)).sin() * 0.02 + (random.next() - 0.5) * 0.015;
            let late = i + 1 == shape.nodes && step < 30;
            let down = i + 2 == shape.nodes && step > 90;
            let sample = |v: f64| (!late && !down).then(|| Ratio::new(v.max(0.0)).unwrap());
            series[i][0].push(sample(level[i] + wave));
            series[i][1].push(sample(0.35 + level[i] * 0.3 + wave / 2.0));
            series[i][2].push(sample(request[i] + f64::from(count[i]) * 0.002));
            series[i][3].push(sample(request[i] * 0.9));
            pods[i].push(count[i]);
        }
    }
    let nodes: Vec<NodeTrace> = (0..shape.nodes)
        .map(|i| NodeTrace {
            name: names[i].clone(),
            actual: [
                ("cpu".to_owned(), series[i][0].clone()),
                ("memory".to_owned(), series[i][1].clone()),
            ]
            .into(),
            requests: [
                ("cpu".to_owned(), series[i][2].clone()),
                ("memory".to_owned(), series[i][3].clone()),
            ]
            .into(),
            pods: pods[i].clone(),
        })
        .collect();
    let balance = ["cpu", "memory"].map(|r| (r.to_owned(), balance_of(&nodes, r))).into();
    finished(shape, nodes, evictions, balance)
}

#[expect(clippy::too_many_lines, reason = "one long trace")]
fn finished(
    shape: &TraceShape,
    nodes: Vec<NodeTrace>,
    evictions: Vec<Eviction>,
    balance: BTreeMap<String, Vec<Option<Balance>>>,
) -> Trace {
    let start: Timestamp = "2026-11-21T07:30:00Z".parse().unwrap();
    let ratio = |p: f64| Ratio::percent(p).unwrap();
    let event = |minute: i64, what: &str| Event {
        at: start + SignedDuration::from_mins(minute),
        what: what.to_owned(),
    };
    let helped =
        u32::try_from(evictions.iter().filter(|e| e.helped == Some(true)).count()).unwrap();
    let right =
        u32::try_from(evictions.iter().filter(|e| e.to.is_some() && e.to == e.foreseen).count())
            .unwrap();
    let all = u32::try_from(evictions.len()).unwrap();
    let side = |of: fn(&Vec<Option<Balance>>) -> Option<Balance>| {
        balance.iter().filter_map(|(r, b)| Some((r.clone(), of(b)?))).collect::<BTreeMap<_, _>>()
    };
    let summary = Summary {
        cycles: 120,
        stopped: 0,
        evictions: all,
        helped,
        unknown: u32::try_from(evictions.iter().filter(|e| e.helped.is_none()).count()).unwrap(),
        foreseen: (right, all),
        pending: u32::from(all > 10),
        time_to_balance: evictions.last().map(|e| e.at.duration_since(start)),
        before: side(|b| b.iter().flatten().next().copied()),
        after: side(|b| b.iter().rev().flatten().next().copied()),
        empty_nodes: 0,
        above_target: BTreeMap::new(),
        relieved_after: None,
        moved_again: 0,
        unknown_nodes: BTreeSet::new(),
    };
    let refused = |times, last: &str| Refused { times, last: last.to_owned() };
    Trace {
        scenario: "Ten nodes at night".to_owned(),
        about: "Three nodes are busy and seven are nearly idle, but all have similar requests."
            .to_owned(),
        policy: shape.policy.to_owned(),
        start,
        end: start + SignedDuration::from_hours(2),
        step: SignedDuration::from_mins(1),
        basis: Basis::Actual,
        bands: [
            ("cpu".to_owned(), TraceBand { threshold: ratio(30.0), target: ratio(70.0) }),
            ("memory".to_owned(), TraceBand { threshold: ratio(30.0), target: ratio(80.0) }),
        ]
        .into(),
        targets_vary: false,
        dry_run: false,
        unknown_objects: Vec::new(),
        reliefs: Vec::new(),
        events: vec![
            event(30, &format!("{} joined", nodes[nodes.len() - 1].name)),
            event(90, &format!("{} failed", nodes[nodes.len() - 2].name)),
            event(91, "metrics were missing for two readings"),
        ],
        nodes,
        evictions,
        balance,
        refusals: [
            (
                "disruption-budget".to_owned(),
                refused(41, "PodDisruptionBudget shop/checkout allows no disruption now"),
            ),
            (
                "cooling-down".to_owned(),
                refused(
                    118,
                    "shop/Deployment/checkout was evicted from 4 minutes ago, and rests for 10",
                ),
            ),
            (
                "no-room".to_owned(),
                refused(
                    6,
                    "no other node has room for it: 7 are above their target, 2 lack memory",
                ),
            ),
        ]
        .into(),
        summary,
    }
}

fn balance_of(nodes: &[NodeTrace], resource: &str) -> Vec<Option<Balance>> {
    let at = |step: usize| {
        let all: Vec<f64> =
            nodes.iter().filter_map(|n| n.actual[resource][step]).map(Ratio::get).collect();
        let mean = all.iter().sum::<f64>() / count_f(all.len());
        let variance = all.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count_f(all.len());
        let most = all.iter().copied().fold(0.0, f64::max);
        let ratio = |v: f64| Ratio::new(v).unwrap();
        Some(Balance {
            mean: ratio(mean),
            deviation: ratio(variance.sqrt()),
            above_mean: ratio(most - mean),
            outside_band: None,
        })
    };
    (0..STEPS).map(at).collect()
}

fn most(values: &[f64], order: fn(&f64, &f64) -> std::cmp::Ordering) -> usize {
    (0..values.len()).max_by(|a, b| order(&values[*a], &values[*b])).unwrap()
}

fn count_f(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap())
}

/// A random generator with the same sequence every time.
struct Random(u64);

impl Random {
    /// Returns a number between zero and one.
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 32).unwrap()) / f64::from(u32::MAX)
    }
}
