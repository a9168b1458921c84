//! The history: repeats count once, bad lines are named, and weeks are summed.

use insta::assert_snapshot;
use jiff::SignedDuration;

use super::*;
use crate::model::record::{EVICTION, EvictionDetails, NodeRelief, OUTCOME, REFUSAL};
use crate::model::relief::CycleRelief;
use crate::model::snapshot::facts::OwnerKey;
use crate::values::{NodeMinutes, Ratio};
use crate::view::screen::Screen;

/// The line about a pod of a workload, this many hours after Sunday noon.
fn line(kind: &str, outcome: &str, pod: &str, hours: i64) -> RecordLine {
    let sunday: jiff::Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
    let decided = sunday + SignedDuration::from_hours(hours);
    let workload = pod.split('-').next().unwrap();
    let is_eviction = kind == EVICTION;
    let details = EvictionDetails {
        namespace: "shop".to_owned(),
        pod: pod.to_owned(),
        uid: format!("uid-{pod}"),
        workload: OwnerKey::try_from(format!("shop/Deployment/{workload}")).unwrap(),
        node: "n1".to_owned(),
        decided,
        outcome: outcome.to_owned(),
        message: (!is_eviction).then(|| format!("{outcome} it is")),
        strategy: is_eviction.then(|| "LowNodeUtilization".to_owned()),
        reason: is_eviction.then(|| "node usage: cpu 89% is above its target of 50%".to_owned()),
        trial: false,
        may_land: Vec::new(),
        to: (outcome == "helped").then(|| "n2".to_owned()),
        forecast: None,
        relief: None,
    };
    let delay = SignedDuration::from_mins(if kind == OUTCOME { 2 } else { 0 });
    RecordLine::of(&details.fact(kind, decided + delay), "evenkeel")
}

fn with_relief(line: &RecordLine, percent: f64) -> RecordLine {
    let mut line = line.clone();
    let share = Ratio::percent(percent).unwrap();
    let resource = "cpu".to_owned();
    line.data["relief"] = serde_json::json!(NodeRelief { resource, share });
    line
}

fn history(lines: &[RecordLine]) -> RecordHistory {
    let mut history = RecordHistory::default();
    for (index, line) in lines.iter().enumerate() {
        history.read_line("r", index + 1, line.json().as_bytes());
    }
    history.finish();
    history
}

fn shown(history: &RecordHistory, width: usize) -> String {
    history.text(Screen::plain(width)).to_string()
}

fn text(lines: &[RecordLine]) -> String {
    shown(&history(lines), 130)
}

#[test]
fn lines_are_printed_in_order_and_summed_by_the_week_of_the_eviction() {
    // Sunday and Monday are in different weeks, and a late outcome counts in the first.
    let lines = [
        line(EVICTION, "evicted", "web-1", 0),
        line(EVICTION, "evicted", "web-2", 13),
        line(EVICTION, "evicted", "db-1", 14),
        line(REFUSAL, "refused", "db-2", 14),
        line(OUTCOME, "helped", "web-1", 0),
        line(OUTCOME, "same-node", "web-2", 13),
        line(OUTCOME, "landed", "db-1", 14),
    ];
    assert_snapshot!(text(&lines), @"
    2026-11-22 12:00:00Z  evicted    shop/web-1  n1        LowNodeUtilization: node usage: cpu 89% is above its target of 50%
    2026-11-22 12:02:00Z  helped     shop/web-1  n1 -> n2  helped it is
    2026-11-23 01:00:00Z  evicted    shop/web-2  n1        LowNodeUtilization: node usage: cpu 89% is above its target of 50%
    2026-11-23 01:02:00Z  same-node  shop/web-2  n1        same-node it is
    2026-11-23 02:00:00Z  evicted    shop/db-1   n1        LowNodeUtilization: node usage: cpu 89% is above its target of 50%
    2026-11-23 02:00:00Z  refused    shop/db-2   n1        refused it is
    2026-11-23 02:02:00Z  landed     shop/db-1   n1        landed it is

    week of     evicted  helped  useless  pending  refused
    2026-11-16        1       1        0        0        0
    2026-11-23        2       0        1        1        1

    week of     most moved
    2026-11-16  shop/Deployment/web 1
    2026-11-23  shop/Deployment/db 1, shop/Deployment/web 1
    ");
}

#[test]
fn a_reason_without_room_beside_its_line_is_below_it() {
    assert_snapshot!(shown(&history(&[line(EVICTION, "evicted", "web-1", 0)]), 80), @"
    2026-11-22 12:00:00Z  evicted  shop/web-1  n1
         LowNodeUtilization: node usage: cpu 89% is above its target of 50%

    week of     evicted  helped  useless  pending  refused
    2026-11-16        1       0        0        1        0

    week of     most moved
    2026-11-16  shop/Deployment/web 1
    ");
}

#[test]
fn the_weeks_fit_a_terminal_of_80_columns() {
    let pods = ["paymentgatewayapi-0", "recommendations-0", "notifications-0"];
    let evictions = pods.map(|pod| with_relief(&line(EVICTION, "evicted", pod, 0), 12.0));
    let mut history = history(&[&evictions[..], &[relief_line(0, 145.0, 130.0)]].concat());
    history.lines.clear();
    assert_snapshot!(shown(&history, 80), @"
    week of     evicted  helped  useless  pending  refused  relief   minutes saved
    2026-11-16        3       0        0        3        0  cpu 12%  130 of 145

    week of     most moved
    2026-11-16  shop/Deployment/notifications 1, shop/Deployment/paymentgatewayapi
                1, shop/Deployment/recommendations 1
    ");
}

#[test]
fn a_repeated_line_counts_once() {
    let first = line(EVICTION, "evicted", "web-1", 0);
    let mut again = first.clone();
    again.possiblyrepeated = true;
    let history = history(&[first.clone(), again]);
    assert_eq!(history.lines, [first]);
    let weeks = serde_json::json!(history.weeks);
    assert_eq!(weeks[0]["evictions"], 1);
    assert_eq!(weeks[0]["pending"], 1);
}

#[test]
fn a_deferred_eviction_counts_once_it_is_made() {
    let deferred = line(EVICTION, "deferred", "vm-1", 0);
    let made = line(EVICTION, "evicted", "vm-1", 1);
    let weeks = |lines: &[RecordLine]| serde_json::json!(history(lines).weeks);
    assert_eq!(weeks(std::slice::from_ref(&deferred))[0]["evictions"], 0);
    assert_eq!(weeks(&[deferred.clone(), made.clone()])[0]["evictions"], 1);
    let ended = |hours: i64| line(OUTCOME, "never-ready", "vm-1", hours);
    assert_eq!(weeks(&[deferred.clone(), ended(0)])[0]["ineffective"], 0, "it was not made");
    assert_eq!(weeks(&[deferred, made, ended(1)])[0]["ineffective"], 1);
}

#[test]
fn relief_is_the_mean_of_those_that_are_known() {
    let [one, two, unknown] = ["a-1", "a-2", "a-3"].map(|pod| line(EVICTION, "evicted", pod, 0));
    let lines = [with_relief(&one, 10.0), with_relief(&two, 4.0), unknown];
    let history = history(&lines);
    let weeks = serde_json::json!(history.weeks);
    let expected = serde_json::json!({"cpu": {"mean": 0.07, "evictions": 2}});
    assert_eq!(weeks[0]["relief"], expected);
    let text = shown(&history, 120);
    assert!(text.contains("cpu 7%"), "{text}");
}

/// The line about moves that were decided this many hours after Sunday noon.
fn relief_line(hours: i64, predicted: f64, achieved: f64) -> RecordLine {
    let sunday: jiff::Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
    let decided = sunday + SignedDuration::from_hours(hours);
    let relief = CycleRelief {
        decided,
        moves: 2,
        predicted: NodeMinutes::new(predicted).unwrap(),
        achieved: NodeMinutes::new(achieved).unwrap(),
    };
    let later = decided + SignedDuration::from_mins(61);
    RecordLine::of(&relief.fact(later), "evenkeel")
}

#[test]
fn saved_time_is_summed_by_the_week_of_the_decision_and_repeats_count_once() {
    let lines = [
        relief_line(0, 60.0, 30.0),
        relief_line(11, 40.0, 44.0),
        relief_line(0, 60.0, 30.0),
        relief_line(13, 9.0, 9.0),
    ];
    let history = history(&lines);
    let weeks = serde_json::json!(history.weeks);
    let expected = serde_json::json!({"moves": 4, "predicted": 100.0, "achieved": 74.0});
    assert_eq!(weeks[0]["worth"], expected);
    assert_eq!(weeks[1]["worth"]["moves"], 2);
    let text = shown(&history, 150);
    let says = |words: &str| assert!(text.contains(words), "{text}");
    says("measured  2 moves  ");
    says("2 moves: 30 node-minutes saved in an hour, 60 node-minutes predicted");
    says("minutes saved\n");
    says("74 of 100\n");
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_line() {
    let mut history = RecordHistory::default();
    let good = line(EVICTION, "evicted", "web-1", 0).json();
    history.read_line("record.jsonl", 1, format!("\u{feff}{good}").as_bytes());
    assert_eq!(history.lines.len(), 1);
}

#[test]
fn bad_lines_are_named_and_the_others_are_read() {
    let mut history = RecordHistory::default();
    let good = line(EVICTION, "evicted", "web-1", 0).json();
    for (index, text) in [&good[..20], "", "INFO evenkeel: started", &good].iter().enumerate() {
        history.read_line("record.jsonl", index + 1, text.as_bytes());
    }
    history.read_line("record.jsonl", 5, b"\xff\xfe");
    history.finish();
    assert_eq!(history.lines.len(), 1);
    let unread: Vec<String> = history.unread.iter().map(UnreadLine::to_string).collect();
    assert_snapshot!(unread.join("\n"), @"
    record.jsonl:1: expected a CloudEvent in JSON: EOF while parsing an object at column 20; \
        skipped
    record.jsonl:3: expected a CloudEvent in JSON: expected value at column 1; skipped
    record.jsonl:5: expected a CloudEvent in JSON: expected value at column 1; skipped
    ");
}

#[test]
fn other_types_are_printed_with_their_subject() {
    let mut other = line(EVICTION, "evicted", "web-1", 0);
    other.kind = "io.evenkeel.trial.v1".to_owned();
    other.data = serde_json::json!({"state": "ended"});
    assert_eq!(text(&[other]), "2026-11-22 12:00:00Z  io.evenkeel.trial.v1  shop/web-1\n");
}
