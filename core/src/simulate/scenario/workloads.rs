//! Parsing of the workloads of a scenario file.

use jiff::SignedDuration;

use crate::model::snapshot::facts::{Tolerates, Toleration};
use crate::model::usage::Measure;
use crate::schema::problem::Code;
use crate::schema::read::{Fields, Spot};
use crate::schema::scalar::{int32, percent};
use crate::schema::tree::Value;
use crate::values::selector::{NodeTerm, Selector};
use crate::values::value_of;

use super::fields::{Mentioned, amounts, first_nodes, labels, object_name};
use super::nodes::effect;
use super::usage::load;
use super::{BudgetRule, Evenness, Part, ScenarioWorkload, WorkloadKind};

/// The API server refuses a larger weight of a preference.
const MOST_WEIGHT: u32 = 100;
const STARTUP: SignedDuration = SignedDuration::from_secs(5);
const ENDING: SignedDuration = SignedDuration::from_secs(5);

pub(super) fn read(spot: Spot<'_, '_>, mentioned: &mut Mentioned<'_>) -> Vec<ScenarioWorkload> {
    spot.list("workloads", |item| Some(item.section(|f| workload(f, mentioned))))
        .unwrap_or_default()
}

fn workload(f: &mut Fields<'_, '_>, mentioned: &mut Mentioned<'_>) -> ScenarioWorkload {
    let kinds = WorkloadKind::ALL.map(|kind| (kind.name(), kind));
    let kind = f.field("kind").one_of(&kinds).unwrap_or(WorkloadKind::Deployment);
    if kind == WorkloadKind::DaemonSet && f.has("replicas") {
        f.complain(
            Code::Conflict,
            "replicas",
            "not allowed for a DaemonSet, which has one pod on each node",
        );
    }
    let requests = amounts(f.field("requests"));
    let requested = |name| value_of(&requests, name).unwrap_or_default();
    let requested = Measure { cpu: requested("cpu"), memory: requested("memory") };
    let replicas = f.field("replicas").whole(0).unwrap_or(1);
    let mut when = |name| f.field(name).duration(SignedDuration::ZERO);
    let (from, until) = (when("from"), when("until"));
    let (startup, ending, runs) = (when("startup"), when("ending"), when("runs"));
    if until.is_some_and(|until| until <= from.unwrap_or_default()) {
        f.complain(Code::Conflict, "until", "must be later than from");
    }
    if runs.is_some() && kind != WorkloadKind::Job {
        f.complain(Code::Conflict, "runs", "allowed only for a Job, whose pods complete");
    }
    let (required_nodes, preferred_nodes) = f.field("nodeAffinity").section(affinity);
    ScenarioWorkload {
        namespace: object_name(f.field("namespace")).unwrap_or_else(|| "default".to_owned()),
        name: object_name(f.required("name", "a name")).unwrap_or_default(),
        kind,
        replicas: if kind == WorkloadKind::DaemonSet { 0 } else { replicas },
        labels: labels(f.field("labels")),
        // Without `usage`, a pod uses its requests.
        usage: load(f.field("usage"), requested, &mut mentioned.files),
        requests,
        tolerations: f
            .field("tolerations")
            .list("tolerations", |item| item.section(toleration))
            .unwrap_or_default(),
        node_selector: labels(f.field("nodeSelector")),
        required_nodes,
        preferred_nodes,
        apart: f.field("apart").names().unwrap_or_default(),
        spread: f
            .field("spread")
            .list("constraints", |item| item.section(spread))
            .unwrap_or_default(),
        priority: priority(f.field("priority")).unwrap_or_default(),
        empty_dir: f.field("emptyDir").bool().unwrap_or(false),
        budget: budget(f.field("budget")),
        from,
        until,
        on: first_nodes(f.field("on"), mentioned),
        startup: startup.unwrap_or(STARTUP),
        ending: ending.unwrap_or(ENDING),
        runs,
    }
}

/// Parses node affinity terms as label selectors. Each required selector is an alternative.
fn affinity(f: &mut Fields<'_, '_>) -> (Option<Vec<NodeTerm>>, Vec<(i32, NodeTerm)>) {
    let term = |labels: Selector| NodeTerm { labels, fields: Selector::default() };
    let required = f.field("required").list("label selectors", |item| item.selector().map(term));
    let preferred = f.field("preferred").list("preferences", |item| {
        item.section(|f| {
            let weight = f.field("weight").whole(1).unwrap_or(1);
            if weight > MOST_WEIGHT {
                let sentence = format!("found {weight}, expected at most {MOST_WEIGHT}");
                f.complain(Code::OutOfRange, "weight", sentence);
            }
            let nodes = f.required("nodes", "a label selector of nodes").selector()?;
            Some((i32::try_from(weight).unwrap_or(i32::MAX), term(nodes)))
        })
    });
    (required, preferred.unwrap_or_default())
}

fn toleration(f: &mut Fields<'_, '_>) -> Option<Toleration> {
    let key = f.field("key").name();
    let value = f.field("value").name();
    let any = f.field("operator").one_of(&[("Exists", true), ("Equal", false)]).unwrap_or(false);
    if any && value.is_some() {
        f.complain(Code::Conflict, "value", "not allowed with operator Exists");
    }
    if !any && key.is_none() {
        f.complain(Code::MissingField, "key", "missing; only operator Exists has no value");
    }
    let operator = if any { Tolerates::Any } else { Tolerates::Equal(value.unwrap_or_default()) };
    let bound = f.field("effect");
    let bound = if bound.is_absent() { None } else { Some(effect(bound)?) };
    Some(Toleration { key, operator, effect: bound, seconds: None })
}

fn spread(f: &mut Fields<'_, '_>) -> Option<Evenness> {
    let key = f.required("topologyKey", "a node label, such as topology.kubernetes.io/zone").name();
    let skew = f.field("maxSkew").whole(1).unwrap_or(1);
    let hard =
        f.field("whenUnsatisfiable").one_of(&[("DoNotSchedule", true), ("ScheduleAnyway", false)]);
    Some(Evenness { topology_key: key?, max_skew: skew, hard: hard.unwrap_or(true) })
}

fn priority(spot: Spot<'_, '_>) -> Option<i32> {
    spot.scalar("a whole number", int32)
}

fn budget(spot: Spot<'_, '_>) -> Option<BudgetRule> {
    const EXPECTED: &str = "minAvailable or maxUnavailable: a number of pods, or a percentage";
    let place = spot.place();
    spot.node()?;
    spot.section(|f| {
        let least = part(f.field("minAvailable")).map(BudgetRule::Least);
        let most = part(f.field("maxUnavailable")).map(BudgetRule::Most);
        // The API server also rejects a budget with both or with none of them.
        if f.has("minAvailable") == f.has("maxUnavailable") {
            f.complain_at(Code::Conflict, &place, format!("expected exactly one of {EXPECTED}"));
        }
        least.or(most)
    })
}

fn part(spot: Spot<'_, '_>) -> Option<Part> {
    spot.scalar("a whole number of pods, or a percentage such as 50%", |node| match &node.value {
        Value::Int(number) => u32::try_from(*number).map(Part::Count).map_err(|_| Code::OutOfRange),
        Value::Text(_) => percent(node).map(Part::Share),
        Value::Null | Value::Bool(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => {
            Err(Code::WrongType)
        }
    })
}
