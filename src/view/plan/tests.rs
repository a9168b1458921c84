//! A plan as text: each section, in several widths.

use std::collections::BTreeMap;

use super::*;
use crate::model::guard::{GuardCause, GuardStop, GuardTarget};
use crate::model::ledger::Aim;
use crate::model::plan::{
    Balance, BalanceReport, BudgetCause, Class, Disruption, FallingNeed, Halt, Idle, Kept, Move,
    MoveWorth, NodePicture, NodesInUse, Note, Reason, Refusal, Replacement, SavedEvictions,
    Verdict,
};
use crate::model::plan::{Direction, Rightsizing, Suggestion};
use crate::model::plan::{Steer, SteerAction, SteerReason, SteerValue};
use crate::model::snapshot::facts::{Owner, OwnerKey, Skipped};
use crate::model::usage::Unmeasured;
use crate::policy::Basis;
use crate::values::{Amount, NodeMinutes, Ratio};

const STRATEGY: &str = "LowNodeUtilization";

fn ratio(percent: f64) -> Ratio {
    Ratio::percent(percent).unwrap()
}

/// Cpu and memory in percent, by node; `None` is unknown.
fn picture(nodes: &[(&str, Option<(f64, f64)>)], deviation: f64) -> BalanceReport {
    let one = |(name, shares): &(&str, Option<(f64, f64)>)| {
        let known = |of: fn(&(f64, f64)) -> f64| shares.as_ref().map(|s| ratio(of(s)));
        let ratios = BTreeMap::from([
            ("cpu".to_owned(), known(|s| s.0)),
            ("memory".to_owned(), known(|s| s.1)),
        ]);
        let (requests, actual) = (ratios.clone(), ratios.clone());
        let latest = actual.clone();
        NodePicture {
            name: (*name).to_owned(),
            ratios,
            requests,
            actual,
            latest,
            pool: None,
            band: BTreeMap::new(),
        }
    };
    let (deviation, above_mean) = (ratio(deviation), ratio(deviation * 1.5));
    let balance = Balance { mean: ratio(50.0), deviation, above_mean, outside_band: None };
    BalanceReport {
        basis: Basis::Actual,
        nodes: nodes.iter().map(one).collect(),
        balance: BTreeMap::from([("cpu".to_owned(), balance)]),
        pools: Vec::new(),
    }
}

fn hot(percent: f64) -> Class {
    Class::Hot {
        resource: "cpu".to_owned(),
        ratio: ratio(percent),
        target: ratio(60.0),
        expected: None,
        needed: Some(1),
    }
}

fn verdict(node: &str, class: Class) -> Verdict {
    Verdict { node: node.to_owned(), strategy: STRATEGY, class }
}

fn kept(pod: &str, refusal: Refusal) -> Kept {
    Kept {
        namespace: "shop".to_owned(),
        pod: pod.to_owned(),
        node: "n1".to_owned(),
        strategy: STRATEGY,
        refusal,
    }
}

fn a_move() -> Move {
    Move {
        namespace: "shop".to_owned(),
        pod: "cart-5d9c-x2x4z".to_owned(),
        uid: "u".to_owned(),
        node: "n1".to_owned(),
        to: Some("n2".to_owned()),
        possible_nodes: vec!["n2".to_owned()],
        strategy: STRATEGY,
        profile: "default".to_owned(),
        owner: Owner {
            kind: "ReplicaSet".to_owned(),
            name: "cart-5d9c".to_owned(),
            controller: true,
            ..Owner::default()
        },
        workload: Some(OwnerKey {
            namespace: "shop".to_owned(),
            kind: "Deployment".to_owned(),
            name: "cart".to_owned(),
        }),
        aim: Aim::Move,
        reason: Reason::HotNode {
            resource: "cpu".to_owned(),
            ratio: ratio(83.0),
            target: ratio(60.0),
            basis: Basis::Actual,
            expected: None,
        },
        relief: None,
        saves: None,
        worth: None,
    }
}

fn quiet() -> Plan {
    let before = picture(&[("n1", Some((45.0, 50.0))), ("n2", Some((40.0, 50.0)))], 2.0);
    Plan {
        at: "2026-11-21T07:30:00Z".parse().unwrap(),
        halted: None,
        paused: Vec::new(),
        guards: Vec::new(),
        steering: Vec::new(),
        steering_trial: None,
        replica_trial: None,
        moves: Vec::new(),
        proposed: Vec::new(),
        unmade: Vec::new(),
        kept: Vec::new(),
        nodes: vec![verdict("n1", Class::Even), verdict("n2", Class::Even)],
        notes: vec![Note { strategy: STRATEGY, pool: "default".to_owned(), why: Idle::NothingHot }],
        nodes_in_use: None,
        after: before.clone(),
        before,
        rightsizing: Vec::new(),
        skipped: Vec::new(),
        unknown: Vec::new(),
        no_trend: None,
    }
}

fn busy() -> Plan {
    let skipped = Skipped {
        kind: "Pod".to_owned(),
        namespace: "shop".to_owned(),
        name: "odd".to_owned(),
        node: Some("n4".to_owned()),
        why: "spec.containers[0].resources: found \"lots\"".to_owned(),
    };
    let doubtful = Class::Unreadable(skipped.to_string());
    let cold = ("n2", Some((5.5, 20.0)));
    Plan {
        moves: vec![a_move()],
        kept: vec![
            kept("web-1", Replacement::LocalStorage.into()),
            kept(
                "db-0",
                Refusal::Disruption(Disruption::Budget {
                    name: "db".to_owned(),
                    cause: BudgetCause::Unhealthy,
                }),
            ),
            kept(
                "db-1",
                Refusal::Disruption(Disruption::Budget {
                    name: "db".to_owned(),
                    cause: BudgetCause::Unhealthy,
                }),
            ),
        ],
        nodes: vec![
            verdict("n1", hot(83.0)),
            verdict("n2", Class::Cold),
            verdict("n3", Class::Unknown(Unmeasured::Missing)),
            verdict("n4", doubtful),
        ],
        notes: Vec::new(),
        before: picture(
            &[("n1", Some((83.0, 45.0))), cold, ("n3", None), ("n4", Some((50.0, 50.0)))],
            31.0,
        ),
        after: picture(
            &[
                ("n1", Some((58.0, 45.0))),
                ("n2", Some((30.5, 20.0))),
                ("n3", None),
                ("n4", Some((50.0, 50.0))),
            ],
            11.0,
        ),
        skipped: vec![skipped],
        ..quiet()
    }
}

fn text(plan: &Plan, width: usize, all: bool) -> String {
    text_by(plan, Policy::BUILT_IN, width, all)
}

fn text_by(plan: &Plan, policy: &str, width: usize, all: bool) -> String {
    PlanText {
        plan,
        policy: &Policy::parse("policy", policy).unwrap(),
        head: &["plan for cluster.yaml: 4 nodes".to_owned()],
        all,
        screen: Screen::plain(width),
    }
    .to_string()
}

fn summary(plan: &Plan) -> String {
    let policy = Policy::parse("built-in policy", Policy::BUILT_IN).unwrap();
    PlanText { plan, policy: &policy, head: &[], all: false, screen: Screen::plain(100) }.summary()
}

#[test]
fn a_plan_with_moves() {
    insta::assert_snapshot!(text(&busy(), 100, false), @r#"
    plan for cluster.yaml: 4 nodes

    Nodes  by actual usage, before → after, fullest first
                      cpu  ┊ 30%  │ 60%                         memory  ┊ 40%  │ 70%
    n1  hot, needs 1  ████████┊███████░│░░░░░       83% →  58%  ███████████┊█       │         45%
    n4  ?             ████████┊█████   │            50%         ███████████┊██      │         50%
    n2  cold          ██▒▒▒▒▒▒┊        │           5.5% →  30%  ██████     ┊        │         20%
    n3  ?                     ┊        │              ?                    ┊        │           ?
    █ stays   ░ leaves   ▒ arrives
    needs: evictions until the node is below its targets
    ┊ threshold: cold if below all   │ target: hot if above any

    Left alone  nodes that no pod should leave or land on
    n4: Pod shop/odd cannot be read: spec.containers[0].resources: found "lots"
    n3: no samples

    Moves  in this order; from → predicted node
      1  shop/cart-5d9c-x2x4z  n1 → n2  Deployment/cart  cpu 83% is above 60%

    Kept  selected pods that stay, by refusal code
      2  disruption-budget  PodDisruptionBudget db allows no disruption now
                            such as shop/db-0 on n1
      1  local-storage      its data on its node would be lost
                            shop/web-1 on n1
    --all lists each pod

    Balance  of the 3 of 4 nodes with known usage, before → after; less is better
         standard deviation  fullest above mean  mean
    cpu  31% → 11%           46% → 16%           50%

    Skipped  objects that cannot be read; a node with such a pod is left alone
    Pod shop/odd cannot be read: spec.containers[0].resources: found "lots"

    1 move would bring 1 of 1 hot node below target
    "#);
}

#[test]
fn a_move_says_what_it_is_worth_and_what_it_costs() {
    let mut plan = busy();
    plan.moves[0].worth = Some(MoveWorth {
        relief: NodeMinutes::new(34.2).unwrap(),
        ready_after: Some(jiff::SignedDuration::from_secs(20)),
        success: Some(ratio(97.0)),
    });
    let text = text(&plan, 160, false);
    let expected = "cpu 83% is above 60%; expected relief 34 node-minutes in the next hour; \
                    helps with a probability of 97%; replacement Ready after about 20s";
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains(expected), "{text}");
    let json = serde_json::json!(plan.moves[0]);
    let worth = serde_json::json!({
        "relief_minutes": 34.2, "ready_after_seconds": 20, "success": 0.97,
    });
    assert_eq!(json["worth"], worth);
}

#[test]
fn a_move_says_how_many_of_the_needed_evictions_it_removes() {
    let mut plan = busy();
    plan.moves[0].worth = Some(MoveWorth {
        relief: NodeMinutes::new(34.2).unwrap(),
        ready_after: None,
        success: Some(ratio(97.0)),
    });
    let mut says = |moves, saved: Option<usize>, success: f64| {
        plan.moves[0].saves = Some(SavedEvictions {
            moves,
            need: saved.map(|saved| FallingNeed { saved, needed: 2 }),
            success: ratio(success),
        });
        let text = text(&plan, 160, false);
        let words: Vec<&str> = text.split_whitespace().collect();
        let line = words.join(" ");
        let (_, after) = line.split_once("above 60%; ").unwrap();
        after.split_once("; expected relief").unwrap().0.to_owned()
    };
    assert_eq!(says(1, Some(1), 97.0), "removes 1 of 2 needed evictions with a probability of 97%");
    assert_eq!(says(1, Some(1), 100.0), "removes 1 of 2 needed evictions");
    assert_eq!(
        says(3, Some(1), 62.0),
        "first of 3 moves that remove 1 of 2 needed evictions with a probability of 62%"
    );
    assert_eq!(says(2, None, 100.0), "first of 2 moves");
}

#[test]
fn a_narrow_terminal_keeps_the_figures() {
    insta::assert_snapshot!(text(&busy(), 60, true), @r#"
    plan for cluster.yaml: 4 nodes

    Nodes  by actual usage, before → after, fullest first
                      cpu  ┊ 30%  │ 60%     memory  ┊ 40%  │ 70%
    n1  hot, needs 1  ██┊██│░   83% →  58%  ███┊  │   45%
    n4  ?             ██┊█ │    50%         ███┊  │   50%
    n2  cold          ▒▒┊  │   5.5% →  30%  ██ ┊  │   20%
    n3  ?               ┊  │      ?            ┊  │     ?
    █ stays   ░ leaves   ▒ arrives
    needs: evictions until the node is below its targets
    ┊ threshold: cold if below all   │ target: hot if above any

    Left alone  nodes that no pod should leave or land on
    n4: Pod shop/odd cannot be read:
        spec.containers[0].resources: found "lots"
    n3: no samples

    Moves  in this order; from → predicted node
      1  shop/cart-5d9c-x2x4z  n1 → n2  Deployment/cart
         cpu 83% is above 60%

    Kept  selected pods that stay, by refusal code
      2  disruption-budget  PodDisruptionBudget db allows no
                            disruption now
                            shop/db-0 on n1
                            shop/db-1 on n1
      1  local-storage      its data on its node would be lost
                            shop/web-1 on n1

    Balance  of the 3 of 4 nodes with known usage, before →
        after; less is better
         standard deviation  fullest above mean  mean
    cpu  31% → 11%           46% → 16%           50%

    Skipped  objects that cannot be read; a node with such a pod
        is left alone
    Pod shop/odd cannot be read: spec.containers[0].resources:
        found "lots"

    1 move would bring 1 of 1 hot node below target
    "#);
}

#[test]
fn a_plan_without_moves_is_short() {
    insta::assert_snapshot!(text(&quiet(), 80, false), @r"
    plan for cluster.yaml: 4 nodes

    Nodes  by actual usage, before → after, fullest first
              cpu  ┊ 30%  │ 60%                   memory  ┊ 40%  │ 70%
    n1  even  ███████┊██   │          45%         █████████┊█    │        50%
    n2  even  ███████┊█    │          40%         █████████┊█    │        50%
    ┊ threshold: cold if below all   │ target: hot if above any

    Balance  of all nodes, before → after; less is better
         standard deviation  fullest above mean  mean
    cpu  2%                  3%                  50%

    no moves needed: no node that takes part is above its target
    ");
}

#[test]
fn steering_taints_are_listed_before_the_moves() {
    let steer = |node: &str, action, why| Steer { node: node.to_owned(), action, why };
    let why = SteerReason::Hot {
        resource: "cpu".to_owned(),
        ratio: ratio(83.0),
        target: ratio(60.0),
        expected: None,
    };
    let steering = vec![
        steer("n1", SteerAction::Add(SteerValue::Hot), why),
        steer("n10", SteerAction::Remove, SteerReason::Cooled),
    ];
    let text = text(&Plan { steering, ..busy() }, 100, false);
    let (_, from) = text.split_once("\n\nSteering  ").unwrap();
    insta::assert_snapshot!(from.split_once("\n\nMoves").unwrap().0, @r"
    PreferNoSchedule taints, so that the scheduler chooses these nodes last
    n1   add hot  cpu 83% is above the target 60%: new pods should land elsewhere
    n10  remove   the node has cooled
    ");
}

fn far(name: &str, resources: Vec<(Direction, &'static str, u64, u64, f64)>) -> Rightsizing {
    let suggestion =
        |(direction, resource, now, suggested, wrong): (Direction, &'static str, u64, u64, f64)| {
            let units = if resource == "cpu" { 1_000_000 } else { 1 << 20 };
            let amount = |n: u64| Amount::new(n * units);
            let of = Suggestion {
                direction,
                resource,
                request: (now > 0).then(|| amount(now)),
                typical: amount(suggested),
                suggested: amount(suggested),
                limit: Some(amount(200)),
                total: amount(0),
                wrong_by: ratio(wrong),
            };
            (resource, of)
        };
    Rightsizing {
        workload: OwnerKey {
            namespace: "shop".to_owned(),
            kind: "Deployment".to_owned(),
            name: name.to_owned(),
        },
        pods: 4,
        measured: if name == "cart" { 3 } else { 4 },
        samples: 60,
        span: jiff::SignedDuration::from_secs(285),
        resources: resources.into_iter().map(suggestion).collect(),
    }
}

#[test]
fn oversized_and_undersized_requests_are_listed_with_a_suggestion() {
    let one = |n: u64| far(&format!("small-{n}"), vec![(Direction::TooLow, "memory", 0, 16, 0.1)]);
    let mut rightsizing = vec![
        far(
            "search",
            vec![
                (Direction::TooHigh, "cpu", 2000, 110, 24.0),
                (Direction::TooHigh, "memory", 4096, 816, 8.0),
            ],
        ),
        far("cart", vec![(Direction::TooLow, "cpu", 100, 200, 2.0)]),
    ];
    rightsizing.extend((1..=9).map(one));
    let plan = Plan { rightsizing, ..quiet() };
    let section_of = |width, all| {
        let text = text(&plan, width, all);
        let (_, from) = text.split_once("\n\nRequests ").unwrap();
        from.split_once("\n\n").unwrap().0.to_owned()
    };
    let section = |all| section_of(100, all);
    insta::assert_snapshot!(section(false), @"
    far from use  pod totals: current → recommended, p95 of cpu and maximum of memory, plus 15%
                             pods    cpu                  memory       wrong by
    shop/Deployment/search   4       2 → 110m             4Gi → 816Mi  24% of all cpu
    shop/Deployment/cart     3 of 4  100m → 200m (limit)  fits         2% of all cpu
    shop/Deployment/small-1  4       fits                 none → 16Mi  0.1% of all memory
    shop/Deployment/small-2  4       fits                 none → 16Mi  0.1% of all memory
    shop/Deployment/small-3  4       fits                 none → 16Mi  0.1% of all memory
    shop/Deployment/small-4  4       fits                 none → 16Mi  0.1% of all memory
    shop/Deployment/small-5  4       fits                 none → 16Mi  0.1% of all memory
    shop/Deployment/small-6  4       fits                 none → 16Mi  0.1% of all memory
    shop/Deployment/small-7  4       fits                 none → 16Mi  0.1% of all memory
    shop/Deployment/small-8  4       fits                 none → 16Mi  0.1% of all memory
    … 1 more: --all lists them
    from 4m45s, which may miss a peak: watch for a day before lowering a request
    ");
    assert_eq!(section(true).lines().count(), 1 + 1 + 11 + 1);
    let narrow = section_of(80, true);
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
}

#[test]
fn the_list_of_moves_says_what_becomes_of_the_pod() {
    let shown = |change: &dyn Fn(&mut Move)| {
        let mut plan = busy();
        change(&mut plan.moves[0]);
        text(&plan, 160, false)
    };
    let ways = |nodes: &[&str]| nodes.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
    let back = shown(&|planned| planned.possible_nodes = ways(&["n2", "n1"]));
    assert!(back.contains("n1 → n2, may come back"), "{back}");
    let others = shown(&|planned| planned.possible_nodes = ways(&["n2", "n1", "n3"]));
    assert!(others.contains("n1 → n2 or 1 other, may come back"), "{others}");
    let removed = shown(&|planned| planned.aim = Aim::Clear);
    assert!(removed.contains("n1, removed"), "{removed}");
    let to_itself =
        |aim: Aim| shown(&move |planned| (planned.to, planned.aim) = (Some("n1".to_owned()), aim));
    let (renewed, returned) = (to_itself(Aim::Renew), to_itself(Aim::Move));
    assert!(renewed.contains("n1, renewed there"), "{renewed}");
    assert!(returned.contains("n1, comes back"), "{returned}");
}

#[test]
fn the_summary_counts_a_node_once_however_many_strategies_find_it_hot() {
    let one = busy();
    let twice = |plan: &Plan| {
        let nodes = [&plan.nodes[..], &plan.nodes[..]].concat();
        Plan { nodes, ..plan.clone() }
    };
    assert_eq!(summary(&twice(&one)), summary(&one));
    let stays = Plan { after: one.before.clone(), ..one };
    assert_eq!(summary(&twice(&stays)), summary(&stays));
    let kept = Plan { moves: Vec::new(), ..stays };
    assert_eq!(summary(&twice(&kept)), summary(&kept));
}

#[test]
fn the_summary_says_what_the_plan_achieves() {
    assert_eq!(summary(&busy()), "1 move would bring 1 of 1 hot node below target");
    let stays = Plan { after: busy().before, ..busy() };
    assert_eq!(
        summary(&stays),
        "1 move would relieve 1 hot node, but bring none below target: 2 pods stay because of \
            disruption-budget"
    );
    let stuck = Plan { moves: Vec::new(), ..stays };
    assert_eq!(
        summary(&stuck),
        "no moves possible: 1 node is hot, but 3 pods that would help stay; see Kept"
    );
    let helpless = Plan { kept: Vec::new(), ..stuck };
    assert_eq!(summary(&helpless), "no moves possible: no pod would relieve n1 by leaving");
    let halted = Plan { halted: Some(Halt::FewNodes(1)), ..quiet() };
    assert_eq!(
        summary(&halted),
        "no pods considered: ready and selected nodes: 1; moving a pod requires two"
    );
    let blind = Plan { nodes: vec![verdict("n1", Class::Unknown(Unmeasured::Missing))], ..quiet() };
    assert_eq!(summary(&blind), "no decision possible: the usage of every node is unknown");
    for class in [Class::Unknown(Unmeasured::Missing), Class::NotReady, Class::Deleting] {
        let nodes = [vec![verdict("n0", class)], quiet().nodes].concat();
        assert_eq!(
            summary(&Plan { nodes, ..quiet() }),
            "no moves: no node that takes part is above its target; 1 node is left alone"
        );
    }
}

#[test]
fn the_summary_counts_each_pod_and_each_relieved_node_once() {
    let selected = |strategy: &'static str| {
        let kept = busy().kept.into_iter();
        kept.map(move |kept| Kept { strategy, ..kept })
    };
    let twice = Plan {
        moves: Vec::new(),
        kept: selected(STRATEGY).chain(selected("PodLifeTime")).collect(),
        ..quiet()
    };
    assert_eq!(
        summary(&twice),
        "no moves possible: 3 pods that strategies select stay (3 for LowNodeUtilization, 3 for \
         PodLifeTime); see Kept"
    );
    let why = Idle::SearchUnfinished { tried: 3, left: 1200, of: "selected pods" };
    let note = Note { strategy: "PodLifeTime", pool: "default".to_owned(), why };
    let unfinished = Plan { kept: selected("PodLifeTime").collect(), notes: vec![note], ..twice };
    assert_eq!(
        summary(&unfinished),
        "no moves possible: 3 pods that PodLifeTime selects stay; see Kept; 1200 more selected \
         pods were not reached in this cycle"
    );
    let full = ["n1", "n2", "n3"].map(|node| (node, Some((90.0, 50.0))));
    let of_three = Plan {
        nodes: ["n1", "n2", "n3"].map(|node| verdict(node, hot(90.0))).into(),
        after: picture(&full, 10.0),
        kept: Vec::new(),
        ..busy()
    };
    let relieved = "1 move would relieve 1 of 3 hot nodes, but bring none below target";
    assert_eq!(summary(&of_three), relieved);
    let elsewhere = Plan { nodes: vec![verdict("n3", hot(90.0))], ..of_three };
    assert_eq!(summary(&elsewhere), "1 move would not relieve 1 hot node");
}

#[test]
fn what_keeps_pods_counts_more_than_usage_that_another_strategy_lacks() {
    let nodes = vec![verdict("n1", Class::Unknown(Unmeasured::Missing))];
    let kept = busy().kept.into_iter().map(|kept| Kept { strategy: "RemoveDuplicates", ..kept });
    let plan = Plan { nodes, kept: kept.collect(), ..quiet() };
    assert_eq!(
        summary(&plan),
        "no moves possible: 3 pods that RemoveDuplicates selects stay; see Kept"
    );
    let mixed = "apiVersion: evenkeel/v1alpha1\nkind: Policy\nstrategies:\n\
                 - lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}}\n\
                 - removeDuplicates: {}\n";
    let title = "\nLeft alone  nodes that no pod should leave or land on";
    let text = text_by(&plan, mixed, 100, false);
    assert!(text.contains(&format!("{title} by LowNodeUtilization\n")), "{text}");
}

#[test]
fn an_opening_begins_to_relieve_the_hot_node() {
    let reason = Reason::Opening { node: "n1".to_owned(), pod: "heavy-1".to_owned() };
    let moves = vec![Move { node: "n2".to_owned(), reason, ..a_move() }];
    let plan = Plan { moves, after: busy().before, ..busy() };
    let text = summary(&plan);
    assert!(text.starts_with("1 move would begin to relieve 1 hot node: "), "{text}");
}

#[test]
fn where_no_node_can_be_emptied_the_summary_says_how_many_would_do() {
    let (resource, basis) = ("cpu".to_owned(), Basis::Actual);
    let why = Idle::NothingToEmpty(NodesInUse { in_use: 10, needed: 4, resource, basis });
    let note = Note { strategy: "HighNodeUtilization", pool: "default".to_owned(), why };
    let plan = Plan { moves: Vec::new(), notes: vec![note], after: busy().before, ..busy() };
    let text = summary(&plan);
    assert!(text.ends_with("; nodes in use: 10, at least 4 needed by cpu usage"), "{text}");
}

#[test]
fn where_nodes_are_emptied_the_summary_says_how_many_would_do() {
    let (resource, basis) = ("cpu".to_owned(), Basis::Requests);
    let nodes = NodesInUse { in_use: 10, needed: 4, resource, basis };
    let text = summary(&Plan { nodes_in_use: Some(nodes), ..busy() });
    assert!(text.ends_with("; nodes in use: 10, at least 4 needed by cpu requests"), "{text}");
}

#[test]
fn moves_that_wait_for_an_approval_are_not_impossible() {
    let plan = Plan { moves: Vec::new(), proposed: vec![a_move()], after: busy().before, ..busy() };
    assert_eq!(summary(&plan), "no move is approved; 1 move waits for an approval");
}

#[test]
fn a_large_cluster_shows_the_fullest_and_the_emptiest_nodes() {
    let names: Vec<String> = (0..100).map(|i| format!("n{i:02}")).collect();
    let mut share = 100.0;
    let nodes: Vec<_> = names
        .iter()
        .map(|n| {
            share -= 0.5;
            (n.as_str(), Some((share, 10.0)))
        })
        .collect();
    let before = picture(&nodes, 10.0);
    let plan = Plan { after: before.clone(), before, nodes: Vec::new(), ..quiet() };
    let lines = |all| {
        text(&plan, 100, all).lines().filter(|l| l.starts_with('n') && l.contains('%')).count()
    };
    assert_eq!((lines(false), lines(true)), (40, 100));
    assert!(text(&plan, 100, false).contains("… 60 more nodes in between: --all lists them"));
    assert!(!text(&plan, 100, false).contains("\nn50 "));
}

#[test]
fn colours_do_not_change_the_layout() {
    let policy = Policy::parse("built-in policy", Policy::BUILT_IN).unwrap();
    let plan = busy();
    let screen = Screen { width: 100, colours: true };
    let coloured =
        PlanText { plan: &plan, policy: &policy, head: &[], all: false, screen }.to_string();
    let mut bare = coloured;
    for code in ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[36m", "\x1b[33m"] {
        bare = bare.replace(code, "");
    }
    assert!(text(&plan, 100, false).ends_with(&bare));
}

#[test]
fn the_first_stops_of_guards_are_listed_and_all_lists_the_rest() {
    let stop = |i: usize| GuardStop {
        guard: "errors".to_owned(),
        target: GuardTarget::Namespace(format!("team-{i}")),
        cause: GuardCause::Missing("it returned a series before".to_owned()),
    };
    let plan = Plan { guards: (0..7).map(stop).collect(), ..quiet() };
    let lines = |all| text(&plan, 200, all).matches("guard errors stops evictions").count();
    assert_eq!((lines(false), lines(true)), (5, 7));
    assert!(text(&plan, 200, false).contains("guards stop 2 more; --all lists them"));
}
