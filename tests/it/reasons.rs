//! Every code that a plan or a policy check may show has its line in docs/reasons.md. After a change:
//! `UPDATE_DOCS=1 cargo test --test it reasons`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use evenkeel::plan::{Class, Halt, Idle, Outcome, Pull, Refusal, SteerOutcome, SteerReason};
use evenkeel::policy::problem::Code;
use evenkeel::policy::{Basis, ScorePlugin};
use evenkeel::telemetry::status::State;
use evenkeel::units::Ratio;
use evenkeel::usage::Unmeasured;
use jiff::SignedDuration;

/// One of each, with what would have to change for the pod to go.
#[expect(clippy::too_many_lines, reason = "a list")]
fn refusals() -> Vec<(Refusal, &'static str)> {
    let minutes = SignedDuration::from_mins;
    vec![
        (Refusal::Mirror, "Nothing: move the manifest on the node."),
        (Refusal::Static, "Nothing: move the manifest on the node."),
        (Refusal::Terminating, "Nothing: it is going."),
        (Refusal::DaemonSet, "`evictable.allow: [daemonSets]`; seldom of use."),
        (Refusal::SystemCritical, "`evictable.allow: [systemCritical]`, or a lower priority."),
        (
            Refusal::Priority { priority: 1000, threshold: 500 },
            "A higher `evictable.priorityBelow`, or a lower priority.",
        ),
        (
            Refusal::UnknownPriorityClass("batch".to_owned()),
            "Create the PriorityClass, or mend `evictable.priorityBelow`.",
        ),
        (Refusal::Bare, "Give it a controller. Failed bare pods: `evictable.allow: [failedBare]`."),
        (Refusal::LocalStorage, "`evictable.allow: [localStorage]`, or no emptyDir and hostPath."),
        (
            Refusal::PersistentVolume("data-0".to_owned()),
            "Take `persistentVolumes` out of `evictable.protect`, or name classes in `protectedStorageClasses`.",
        ),
        (Refusal::ResourceClaims, "Take `resourceClaims` out of `evictable.protect`."),
        (Refusal::NoBudget, "Give it a PodDisruptionBudget, or take `withoutBudget` out of `evictable.protect`."),
        (Refusal::PrefersToStay, "Remove the annotation, or `evictable.allow: [preferNoEviction]`."),
        (
            Refusal::Namespace("kube-system".to_owned()),
            "`evictable.namespaces`, `evictable.namespaceSelector`, or the strategy's own namespaces.",
        ),
        (Refusal::PodSelector, "`evictable.podSelector`, or the pod's labels."),
        (Refusal::Young { age: minutes(1), least: minutes(5) }, "Wait, or a shorter `evictable.minPodAge`."),
        (Refusal::TooFewReplicas { have: 1, least: 2 }, "More replicas, or a lower `evictable.minReplicas`."),
        (
            Refusal::LastReady { left: 0, least: 1, planned: 0 },
            "Wait until other replicas are Ready, or a lower `evictable.minReplicas`.",
        ),
        (Refusal::Unmeasured(Unmeasured::Missing), "The source must tell of the pod; see `usage` in the policy."),
        (Refusal::Doubtful("Pod shop/odd cannot be read: spec".to_owned()), "Mend the object that cannot be read."),
        (Refusal::CycleLimit(20), "Wait for the next cycle, or a higher `limits.perCycle`."),
        (Refusal::NodeLimit(5), "Wait for the next cycle, or a higher `limits.perNode`."),
        (Refusal::NamespaceLimit(10), "Wait for the next cycle, or a higher `limits.perNamespace`."),
        (Refusal::RateLimit(30), "Wait, or a higher `limits.perMinute`."),
        (
            Refusal::WorkloadLimit { away: 2, most: 2 },
            "Wait until its replacements are Ready, or a higher `limits.perWorkload`.",
        ),
        (
            Refusal::Budget { name: "web".to_owned(), planned: 0 },
            "More healthy replicas, or a budget that allows more.",
        ),
        (Refusal::SeveralBudgets(vec!["a".to_owned(), "b".to_owned()]), "Let one budget alone cover the pod."),
        (Refusal::StaleBudget("web".to_owned()), "Wait for the disruption controller."),
        (Refusal::Resting(minutes(8)), "Wait, or a shorter `cooldown.rest`."),
        (
            Refusal::Useless { times: 2, left: minutes(18) },
            "Wait; better, mend what draws the pod back, such as a preferred affinity.",
        ),
        (Refusal::LedgerFull(1500), "Wait until entries are forgotten, or a shorter `cooldown.rest`."),
        (Refusal::NoRoom("3 are tainted".to_owned()), "Room on another node, by requests and by usage."),
        (
            Refusal::WouldReturn {
                node: "n1".to_owned(),
                chance: Ratio::ONE,
                pull: Pull::Score(ScorePlugin::NodeAffinity),
            },
            "What draws it there: a preferred affinity or spread of its own, or requests that do not say what it uses. With `steering`, hot nodes draw less.",
        ),
        (
            Refusal::WouldBeHot {
                node: "n5".to_owned(),
                resource: "cpu".to_owned(),
                ratio: Ratio::percent(78.0).unwrap(),
                target: Ratio::percent(70.0).unwrap(),
                basis: Basis::Actual,
            },
            "Requests nearer to what pods use, so that the scheduler sees it; more room; or `forecast.tolerance`.",
        ),
        (Refusal::WouldBeUnknown("n5".to_owned()), "The source must tell of that node; see `usage` in the policy."),
        (
            Refusal::WouldNotHelp("n5".to_owned()),
            "What draws it there rather than to a node where it would help; or `forecast.tolerance`.",
        ),
        (Refusal::WouldBeExcluded("n5".to_owned()), "`evictable.destinations`, or what draws it there."),
        (
            Refusal::Unremovable("pod web-1 has the annotation safe-to-evict: false".to_owned()),
            "The annotations of cluster-autoscaler on the node and its pods.",
        ),
        (
            Refusal::NotAlone("web-1".to_owned()),
            "Whatever keeps the other pod of its node: a node is emptied as a whole or not at all.",
        ),
    ]
}

/// Does not compile when a refusal is new: add it above, and here.
#[expect(clippy::match_same_arms, reason = "a list, in lines that a person can read")]
fn is_listed(refusal: &Refusal) {
    match refusal {
        Refusal::Mirror | Refusal::Static | Refusal::Terminating | Refusal::DaemonSet | Refusal::SystemCritical => {}
        Refusal::Priority { .. } | Refusal::UnknownPriorityClass(_) | Refusal::Bare | Refusal::LocalStorage => {}
        Refusal::PersistentVolume(_) | Refusal::ResourceClaims | Refusal::NoBudget | Refusal::PrefersToStay => {}
        Refusal::Namespace(_) | Refusal::PodSelector | Refusal::Young { .. } | Refusal::TooFewReplicas { .. } => {}
        Refusal::LastReady { .. } | Refusal::Unmeasured(_) | Refusal::Doubtful(_) | Refusal::CycleLimit(_) => {}
        Refusal::NodeLimit(_) | Refusal::NamespaceLimit(_) | Refusal::RateLimit(_) | Refusal::WorkloadLimit { .. } => {}
        Refusal::Budget { .. } | Refusal::SeveralBudgets(_) | Refusal::StaleBudget(_) | Refusal::Resting(_) => {}
        Refusal::WouldReturn { .. } | Refusal::WouldBeHot { .. } | Refusal::WouldBeUnknown(_) => {}
        Refusal::WouldNotHelp(_) | Refusal::WouldBeExcluded(_) | Refusal::Unremovable(_) => {}
        Refusal::Useless { .. } | Refusal::LedgerFull(_) | Refusal::NoRoom(_) | Refusal::NotAlone(_) => {}
    }
}

fn classes() -> Vec<Class> {
    let (resource, ratio, target) = ("cpu".to_owned(), Ratio::percent(83.0).unwrap(), Ratio::percent(60.0).unwrap());
    let (since, sustained_for) = (SignedDuration::from_secs(40), SignedDuration::from_mins(2));
    vec![
        Class::Hot { resource: resource.clone(), ratio, target },
        Class::Warming { resource, ratio, target, since, sustained_for },
        Class::Cold,
        Class::ColdCordoned,
        Class::Even,
        Class::Underused,
        Class::InUse,
        Class::InUseCordoned,
        Class::Leaving,
        Class::Unknown(Unmeasured::Stale(SignedDuration::from_mins(3))),
        Class::Doubtful("Pod shop/odd cannot be read: spec".to_owned()),
        Class::NotReady,
        Class::NotSelected,
    ]
}

#[expect(clippy::match_same_arms, reason = "a list, in lines that a person can read")]
fn is_listed_class(class: &Class) {
    match class {
        Class::Hot { .. } | Class::Warming { .. } | Class::Cold | Class::ColdCordoned | Class::Even => {}
        Class::Underused | Class::InUse | Class::InUseCordoned | Class::Leaving | Class::Unknown(_) => {}
        Class::Doubtful(_) | Class::NotReady | Class::NotSelected => {}
    }
}

fn idles() -> Vec<Idle> {
    vec![
        Idle::NothingHot,
        Idle::NothingCold(2),
        Idle::AllCold,
        Idle::FewCold { cold: 1, more_than: 1 },
        Idle::NothingUnderused,
        Idle::NoDestination,
        Idle::Unmeasurable("nvidia.com/gpu".to_owned()),
    ]
}

#[expect(clippy::match_same_arms, reason = "a list, in lines that a person can read")]
fn is_listed_idle(idle: &Idle) {
    match idle {
        Idle::NothingHot | Idle::NothingCold(_) | Idle::AllCold | Idle::FewCold { .. } => {}
        Idle::NothingUnderused | Idle::NoDestination | Idle::Unmeasurable(_) => {}
    }
}

fn halts() -> Vec<Halt> {
    let most = Ratio::percent(40.0).unwrap();
    vec![Halt::FewNodes(1), Halt::NotReady { not_ready: 3, of: 5, most }, Halt::Pending { pending: 30, of: 60, most }]
}

fn outcomes() -> Vec<Outcome> {
    let why = || "what it said".to_owned();
    vec![
        Outcome::Evicted,
        Outcome::Refused(why()),
        Outcome::Gone,
        Outcome::Changed,
        Outcome::Failed(why()),
        Outcome::Unanswered(why()),
        Outcome::Untried,
    ]
}

fn steer_reasons() -> Vec<SteerReason> {
    let ratio = |percent| Ratio::percent(percent).unwrap();
    vec![
        SteerReason::Hot { resource: "cpu".to_owned(), ratio: ratio(83.0), target: ratio(60.0) },
        SteerReason::Cooling { resource: "cpu".to_owned(), ratio: ratio(57.0), cool: ratio(54.0) },
        SteerReason::Emptying,
        SteerReason::Empty,
        SteerReason::Enough(3),
        SteerReason::Cooled,
        SteerReason::NotEmptied,
        SteerReason::Unsure("left alone: no metrics".to_owned()),
        SteerReason::NotAsked,
        SteerReason::Ending,
    ]
}

#[expect(clippy::match_same_arms, reason = "a list, in lines that a person can read")]
fn is_listed_steer_reason(why: &SteerReason) {
    match why {
        SteerReason::Hot { .. } | SteerReason::Cooling { .. } | SteerReason::Emptying | SteerReason::Empty => {}
        SteerReason::Enough(_) | SteerReason::Cooled | SteerReason::NotEmptied | SteerReason::Unsure(_) => {}
        SteerReason::NotAsked | SteerReason::Ending => {}
    }
}

fn steer_outcomes() -> Vec<SteerOutcome> {
    let why = || "what it said".to_owned();
    vec![
        SteerOutcome::Done,
        SteerOutcome::Unneeded,
        SteerOutcome::Forbidden(why()),
        SteerOutcome::Failed(why()),
        SteerOutcome::Unanswered(why()),
    ]
}

const CODES: [(Code, &str); 12] = [
    (Code::Syntax, "The file is not YAML, or uses a part of it that is refused, such as tags or a second document."),
    (Code::UnsupportedVersion, "The file is of a version or kind that is not read."),
    (Code::UnknownField, "A field that does not exist; where one is alike, it is named."),
    (Code::RepeatedField, "A field that stands twice in one place."),
    (Code::MissingField, "A field that must be there is not."),
    (Code::WrongType, "A value of another type, or in another form, than the field takes."),
    (Code::OutOfRange, "A value of the right type that is too large or too small."),
    (Code::BadSelector, "A label selector that cannot be read."),
    (Code::Conflict, "Values that are right one by one, but not together."),
    (Code::Unsupported, "Understood, but not to be had here."),
    (Code::Ignored, "A warning: read, and of no effect, or of another one than might be thought."),
    (Code::Deprecated, "A warning: an old way to say it, which still holds."),
];

fn states() -> Vec<State> {
    let why = || "what it said".to_owned();
    vec![
        State::Starting,
        State::Waiting("the first list of every watch".to_owned()),
        State::Standby(Some("evenkeel-1".to_owned())),
        State::Stuck(SignedDuration::from_mins(3)),
        State::Failed(why()),
        State::Halted(Halt::FewNodes(1).to_string()),
        State::Moving { evicted: 3, planned: 4, ago: SignedDuration::from_secs(40), hot: 2, awaited: 2 },
        State::WouldMove { planned: 3, hot: 2 },
        State::Uneven { hot: 1, kept: 7, why: Refusal::NoBudget.to_string() },
        State::Unpacked { underused: 2, kept: 1, why: Refusal::Bare.to_string() },
        State::Packed(5),
        State::Warming(1),
        State::Blind(4),
        State::Even { even: 9, cold: 3, unknown: 0 },
        State::Idle,
    ]
}

#[expect(clippy::match_same_arms, reason = "a list, in lines that a person can read")]
fn is_listed_state(state: &State) {
    match state {
        State::Starting | State::Waiting(_) | State::Stuck(_) | State::Failed(_) | State::Halted(_) => {}
        State::Moving { .. } | State::WouldMove { .. } | State::Uneven { .. } | State::Warming(_) => {}
        State::Unpacked { .. }
        | State::Packed(_)
        | State::Standby(_)
        | State::Blind(_)
        | State::Even { .. }
        | State::Idle => {}
    }
}

fn document() -> String {
    let mut doc = String::from(
        "# Reasons\n\nEvery code that a plan, a log line, a metric or a policy check may show. Codes are stable; sentences are for people and\nmay get better. A test keeps this page as the program speaks.\n",
    );
    doc += "\n## Why a pod stays\n\n`kept[].code` of a plan, and the metric `evenkeel_kept_pods`.\n\n| code | it says, for example | what would have to change |\n|---|---|---|\n";
    for (refusal, advice) in refusals() {
        is_listed(&refusal);
        let _ = writeln!(doc, "| `{}` | {refusal} | {advice} |", refusal.code());
    }
    doc += "\n## What a strategy takes a node for\n\n`nodes[].code` of a plan, and the metric `evenkeel_nodes`.\n\n| code | it says, for example |\n|---|---|\n";
    for class in classes() {
        is_listed_class(&class);
        let _ = writeln!(doc, "| `{}` | {class} |", class.code());
    }
    doc +=
        "\n## Why a strategy does nothing\n\n`notes[].code` of a plan.\n\n| code | it says, for example |\n|---|---|\n";
    for idle in idles() {
        is_listed_idle(&idle);
        let _ = writeln!(doc, "| `{}` | {idle} |", idle.code());
    }
    doc += "\n## Why nothing at all is considered\n\n`halted` of a plan.\n\n";
    for halt in halts() {
        let _ = writeln!(doc, "- {halt}");
    }
    doc += "\n## What became of an eviction\n\n`outcome` in the log, and the metric `evenkeel_evictions_total`.\n\n| code | it says |\n|---|---|\n";
    for outcome in outcomes() {
        let _ = writeln!(doc, "| `{}` | {outcome} |", outcome.code());
    }
    doc += "\n## Why a node is steered around, or is no more\n\n`steering[].code` of a plan.\n\n| code | it says, for example |\n|---|---|\n";
    for why in steer_reasons() {
        is_listed_steer_reason(&why);
        let _ = writeln!(doc, "| `{}` | {why} |", why.code());
    }
    doc += "\n## What became of a taint\n\n`outcome` in the log, and the metric `evenkeel_taint_changes_total`.\n\n| code | it says |\n|---|---|\n";
    for outcome in steer_outcomes() {
        let _ = writeln!(doc, "| `{}` | {outcome} |", outcome.code());
    }
    doc += "\n## How it is\n\nThe headline of the status page, and `state.code` of its `/status.json`.\n\n| code | it says, for example |\n|---|---|\n";
    for state in states() {
        is_listed_state(&state);
        let _ = writeln!(doc, "| `{}` | {state} |", state.code());
    }
    doc += "\n## What is wrong with a policy\n\n`evenkeel policy check` names file, line, column, field, what was found and what is allowed.\n\n| code | meaning |\n|---|---|\n";
    for (code, meaning) in CODES {
        let _ = writeln!(doc, "| `{}` | {meaning} |", serde_json::json!(code).as_str().unwrap());
    }
    doc
}

#[test]
fn the_page_of_reasons_is_as_the_program_speaks() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reasons.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, document()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == document(), "docs/reasons.md is not current: UPDATE_DOCS=1 cargo test --test it reasons");
}

#[test]
fn no_two_refusals_share_a_code_and_none_is_without_a_sentence() {
    let refusals = refusals();
    let codes: BTreeSet<&str> = refusals.iter().map(|(r, _)| r.code()).collect();
    assert_eq!(codes.len(), refusals.len());
    for (refusal, advice) in &refusals {
        assert!(refusal.to_string().len() > 10 && advice.ends_with('.'), "{refusal}: {advice}");
    }
}
