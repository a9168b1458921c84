//! Arguments of the strategies that look at the state of a pod: its restarts, its age, its failure.
//!
//! Native policies and those of descheduler write them alike.

use jiff::SignedDuration;
use serde_json::json;

use super::arguments::check_owner_kinds;
use super::{ConditionTest, FailedPods, Names, PodLifeTime, Scope, TooManyRestarts};
use crate::schema::item::Item;
use crate::schema::kind::{
    Kind, boolean, exit_codes, names_in_or_out, seconds, text, texts, whole,
};
use crate::schema::problem::Code;
use crate::schema::read::{Fields, Spot};
use crate::schema::section::{Section, maps};

/// Declares the arguments of removePodsHavingTooManyRestarts, without its scope.
pub(super) fn restarts() -> Section<TooManyRestarts> {
    Section::new(TooManyRestarts {
        scope: Scope::ALL,
        threshold: 1,
        including_init_containers: false,
        states: Vec::new(),
    })
    .field("podRestartThreshold", whole(1), |r| &mut r.threshold)
    .help(
        "The number of restarts, over all containers of a pod, that is too many. There is no default.",
    )
    .required("the number of restarts that is too many")
    .always_written()
    .shown_as("100")
    .field("includingInitContainers", boolean(), |r| &mut r.including_init_containers)
    .help("Restarts of init containers count as well.")
    .field("states", states(&["Running", "CrashLoopBackOff"]), |r| &mut r.states)
    .help("Only pods in one of these states: Running, CrashLoopBackOff.")
    .off("[CrashLoopBackOff]")
    .check(|f, r| {
        if i32::try_from(r.threshold).is_err() {
            let expected = format!("a whole number from 1 to {}", i32::MAX);
            f.field("podRestartThreshold").refuse::<()>(Code::OutOfRange, expected);
        }
    })
}

fn states(allowed: &'static [&'static str]) -> Kind<Vec<String>> {
    let schema = json!({"type": "array", "items": {"enum": allowed}});
    let write = |states: &Vec<String>| (!states.is_empty()).then(|| Item::texts(states));
    Kind::new("list of states", schema, move |spot| read_states(spot, allowed), write)
}

fn read_states(spot: Spot<'_, '_>, allowed: &[&'static str]) -> Option<Vec<String>> {
    let words: Vec<(&str, &str)> = allowed.iter().map(|word| (*word, *word)).collect();
    spot.list("states", |item| item.one_of(&words).map(str::to_owned))
}

/// The states that PodLifeTime knows: phases, and reasons of pods and containers.
const STATES: [&str; 24] = [
    "Running",
    "Pending",
    "Succeeded",
    "Failed",
    "Unknown",
    "NodeAffinity",
    "NodeLost",
    "Shutdown",
    "UnexpectedAdmissionError",
    "PodInitializing",
    "ContainerCreating",
    "ImagePullBackOff",
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "ErrImagePull",
    "CreateContainerError",
    "InvalidImageName",
    "OOMKilled",
    "Error",
    "Completed",
    "DeadlineExceeded",
    "Evicted",
    "ContainerCannotRun",
    "StartError",
];

/// Reads states that PodLifeTime knows.
pub(super) fn life_states(spot: Spot<'_, '_>) -> Option<Vec<String>> {
    read_states(spot, &STATES)
}

/// Declares the arguments of podLifeTime, without its scope. They may be empty; [`criterion`]
/// refuses that.
pub(super) fn life_time() -> Section<PodLifeTime> {
    let section = Section::new(PodLifeTime {
        scope: Scope::ALL,
        max_age: None,
        states: Vec::new(),
        conditions: Vec::new(),
        exit_codes: Vec::new(),
        owner_kinds: Names::ALL,
        including_init_containers: false,
        including_ephemeral_containers: false,
    });
    life_time_options(life_time_criteria(section))
}

fn life_time_criteria(section: Section<PodLifeTime>) -> Section<PodLifeTime> {
    section
        .field("maxPodLifeTimeSeconds", seconds().optional(), |r| &mut r.max_age)
        .help("Pods that are older than this.")
        .off("86400")
        .field("states", states(&STATES), |r| &mut r.states)
        .help(
            "Pods in one of these states: a phase such as Pending, a reason of the pod such as NodeLost, or the reason why a container waits or terminated, such as ImagePullBackOff.",
        )
        .off("[Pending, ImagePullBackOff]")
        .field("conditions", maps("conditions", condition()), |r| &mut r.conditions)
        .help("Pods with one of these conditions. All given parts of a condition must match.")
        .off(
            "\n- {type: Ready, status: \"False\", reason: ContainersNotReady, minTimeSinceLastTransitionSeconds: 600}",
        )
        .field("exitCodes", exit_codes(), |r| &mut r.exit_codes)
        .help("Pods with a container that exited with one of these codes.")
        .off("[137]")
}

fn life_time_options(section: Section<PodLifeTime>) -> Section<PodLifeTime> {
    section
        .field("ownerKinds", names_in_or_out(), |r| &mut r.owner_kinds)
        .help(
            "Only pods with an owner of one of these kinds (`include`), or without one (`exclude`).",
        )
        .off("{include: [Job]}")
        .field("includingInitContainers", boolean(), |r| &mut r.including_init_containers)
        .help("States and exit codes of init containers count as well.")
        .field("includingEphemeralContainers", boolean(), |r| &mut r.including_ephemeral_containers)
        .help("States of ephemeral containers count as well.")
}

/// Refuses arguments without any criterion, because every pod would have lived too long.
pub(super) fn criterion(f: &mut Fields<'_, '_>, rule: &PodLifeTime) {
    let (Names::Except(kinds) | Names::Only(kinds)) = &rule.owner_kinds;
    check_owner_kinds(f, "ownerKinds", kinds);
    let open = rule.states.is_empty() && rule.conditions.is_empty() && rule.exit_codes.is_empty();
    if open && rule.max_age.is_none() && f.sound() {
        let sentence =
            "missing, expected a number of seconds here, or states, conditions or exitCodes";
        f.complain(Code::MissingField, "maxPodLifeTimeSeconds", sentence);
    }
}

fn condition() -> Section<ConditionTest> {
    Section::new(ConditionTest { kind: None, status: None, reason: None, for_at_least: None })
        .field("type", text().optional(), |c| &mut c.kind)
        .help("The type of the condition.")
        .field("status", text().optional(), |c| &mut c.status)
        .help("Its status.")
        .field("reason", text().optional(), |c| &mut c.reason)
        .help("Its reason.")
        .field("minTimeSinceLastTransitionSeconds", seconds().optional(), |c| &mut c.for_at_least)
        .help("The least time since its status changed.")
        .check(|f, c| {
            let empty = [&c.kind, &c.status, &c.reason].iter().all(|part| part.is_none());
            if empty && c.for_at_least.is_none() && f.sound() {
                let sentence =
                    "missing, expected this or status, reason or minTimeSinceLastTransitionSeconds";
                f.complain(Code::MissingField, "type", sentence);
            }
        })
}

/// Declares the arguments of removeFailedPods, without its scope.
pub(super) fn failed() -> Section<FailedPods> {
    let section = Section::new(FailedPods {
        scope: Scope::ALL,
        min_age: SignedDuration::from_hours(1),
        reasons: Vec::new(),
        exit_codes: Vec::new(),
        exclude_owner_kinds: Vec::new(),
        including_init_containers: false,
    });
    failed_options(failed_criteria(section))
}

fn failed_criteria(section: Section<FailedPods>) -> Section<FailedPods> {
    section
        .field("minPodLifetimeSeconds", seconds(), |r| &mut r.min_age)
        .help("Pods that are at least this old.")
        .field("reasons", texts(), |r| &mut r.reasons)
        .help("Pods that failed for one of these reasons, of the pod or of one of its containers.")
        .off("[OutOfcpu, CreateContainerConfigError]")
        .field("exitCodes", exit_codes(), |r| &mut r.exit_codes)
        .help("Pods with a container that exited with one of these codes.")
        .off("[1]")
}

fn failed_options(section: Section<FailedPods>) -> Section<FailedPods> {
    section
        .field("excludeOwnerKinds", texts(), |r| &mut r.exclude_owner_kinds)
        .help("Pods with an owner of one of these kinds are left alone.")
        .off("[Job]")
        .check(|f, rule| check_owner_kinds(f, "excludeOwnerKinds", &rule.exclude_owner_kinds))
        .field("includingInitContainers", boolean(), |r| &mut r.including_init_containers)
        .help("Reasons and exit codes of init containers count as well.")
}
