//! Every code that a plan or a policy check may show has its line in docs/reasons.md. After a change:
//! `UPDATE_DOCS=1 cargo test --test it reasons`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use evenkeel::daemon::telemetry::status::Headline;
use evenkeel::model::ledger::Ending;
use evenkeel::model::plan::{
    Class, Halt, Idle, NotSelected, Outcome, PlacementCause, Refusal, SteerOutcome, SteerReason,
};
use evenkeel::model::usage::Unmeasured;
use evenkeel::policy::problem::Code;
use evenkeel::policy::{Basis, ScorePlugin};
use evenkeel::values::Ratio;
use jiff::SignedDuration;

/// One of each.
pub(crate) fn refusals() -> Vec<Refusal> {
    let minutes = SignedDuration::from_mins;
    let of_n5 = |basis| Refusal::WouldBeHot {
        node: "n5".to_owned(),
        resource: "cpu".to_owned(),
        ratio: Ratio::percent(78.0).unwrap(),
        target: Ratio::percent(70.0).unwrap(),
        basis,
    };
    let pull = PlacementCause::Score(ScorePlugin::NodeAffinity);
    vec![
        Refusal::Mirror,
        Refusal::Static,
        Refusal::Terminating,
        Refusal::DaemonSet,
        Refusal::SystemCritical,
        Refusal::Priority {
            priority: 1000,
            threshold: 500,
        },
        Refusal::UnknownPriorityClass("batch".to_owned()),
        Refusal::Bare,
        Refusal::LocalStorage,
        Refusal::PersistentVolume("data-0".to_owned()),
        Refusal::ResourceClaims,
        Refusal::NoBudget,
        Refusal::PrefersToStay,
        Refusal::Namespace("kube-system".to_owned()),
        Refusal::PodSelector,
        Refusal::Young {
            age: minutes(1),
            least: minutes(5),
        },
        Refusal::TooFewReplicas { have: 1, least: 2 },
        Refusal::LastReady {
            left: 0,
            least: 1,
            planned: 0,
        },
        Refusal::Unmeasured(Unmeasured::Missing),
        Refusal::Doubtful("Pod shop/odd cannot be read: spec".to_owned()),
        Refusal::CycleLimit(20),
        Refusal::NodeLimit(5),
        Refusal::NamespaceLimit(10),
        Refusal::RateLimit(30),
        Refusal::WorkloadLimit { away: 2, most: 2 },
        Refusal::Budget {
            name: "web".to_owned(),
            planned: 0,
        },
        Refusal::SeveralBudgets(vec!["a".to_owned(), "b".to_owned()]),
        Refusal::StaleBudget("web".to_owned()),
        Refusal::Resting(minutes(8)),
        Refusal::Useless {
            times: 2,
            left: minutes(18),
        },
        Refusal::LedgerFull(1500),
        Refusal::NoRoom("3 are tainted".to_owned()),
        Refusal::WouldReturn {
            node: "n1".to_owned(),
            chance: Ratio::ONE,
            pull,
        },
        of_n5(Basis::Actual),
        Refusal::WouldBeUnknown("n5".to_owned()),
        Refusal::WouldNotHelp("n5".to_owned()),
        Refusal::WouldBeExcluded("n5".to_owned()),
        Refusal::Unremovable("pod web-1 has the annotation safe-to-evict: false".to_owned()),
        Refusal::NotAlone("web-1".to_owned()),
    ]
}

/// Does not compile when a refusal is new: add it above, and here.
#[expect(
    clippy::match_same_arms,
    reason = "a list, in lines that a person can read"
)]
fn is_listed(refusal: &Refusal) {
    match refusal {
        Refusal::Mirror
        | Refusal::Static
        | Refusal::Terminating
        | Refusal::DaemonSet
        | Refusal::SystemCritical => {}
        Refusal::Priority { .. }
        | Refusal::UnknownPriorityClass(_)
        | Refusal::Bare
        | Refusal::LocalStorage => {}
        Refusal::PersistentVolume(_)
        | Refusal::ResourceClaims
        | Refusal::NoBudget
        | Refusal::PrefersToStay => {}
        Refusal::Namespace(_)
        | Refusal::PodSelector
        | Refusal::Young { .. }
        | Refusal::TooFewReplicas { .. } => {}
        Refusal::LastReady { .. }
        | Refusal::Unmeasured(_)
        | Refusal::Doubtful(_)
        | Refusal::CycleLimit(_) => {}
        Refusal::NodeLimit(_)
        | Refusal::NamespaceLimit(_)
        | Refusal::RateLimit(_)
        | Refusal::WorkloadLimit { .. } => {}
        Refusal::Budget { .. }
        | Refusal::SeveralBudgets(_)
        | Refusal::StaleBudget(_)
        | Refusal::Resting(_) => {}
        Refusal::WouldReturn { .. } | Refusal::WouldBeHot { .. } | Refusal::WouldBeUnknown(_) => {}
        Refusal::WouldNotHelp(_) | Refusal::WouldBeExcluded(_) | Refusal::Unremovable(_) => {}
        Refusal::Useless { .. }
        | Refusal::LedgerFull(_)
        | Refusal::NoRoom(_)
        | Refusal::NotAlone(_) => {}
    }
}

fn classes() -> Vec<Class> {
    let (resource, ratio, target) = (
        "cpu".to_owned(),
        Ratio::percent(83.0).unwrap(),
        Ratio::percent(60.0).unwrap(),
    );
    let (since, sustained_for) = (SignedDuration::from_secs(40), SignedDuration::from_mins(2));
    vec![
        Class::Hot {
            resource: resource.clone(),
            ratio,
            target,
        },
        Class::Warming {
            resource,
            ratio,
            target,
            since,
            sustained_for,
        },
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

#[expect(
    clippy::match_same_arms,
    reason = "a list, in lines that a person can read"
)]
fn is_listed_class(class: &Class) {
    match class {
        Class::Hot { .. }
        | Class::Warming { .. }
        | Class::Cold
        | Class::ColdCordoned
        | Class::Even => {}
        Class::Underused
        | Class::InUse
        | Class::InUseCordoned
        | Class::Leaving
        | Class::Unknown(_) => {}
        Class::Doubtful(_) | Class::NotReady | Class::NotSelected => {}
    }
}

fn idles() -> Vec<Idle> {
    vec![
        Idle::NothingHot,
        Idle::NotForLong(3),
        Idle::NothingCold(2),
        Idle::AllCold,
        Idle::FewCold {
            cold: 1,
            more_than: 1,
        },
        Idle::NothingUnderused,
        Idle::NoDestination,
        Idle::Unmeasurable("nvidia.com/gpu".to_owned()),
    ]
}

#[expect(
    clippy::match_same_arms,
    reason = "a list, in lines that a person can read"
)]
fn is_listed_idle(idle: &Idle) {
    match idle {
        Idle::NothingHot | Idle::NotForLong(_) | Idle::NothingCold(_) | Idle::AllCold => {}
        Idle::FewCold { .. }
        | Idle::NothingUnderused
        | Idle::NoDestination
        | Idle::Unmeasurable(_) => {}
    }
}

/// Why a strategy does not ask for a pod, one of each.
fn not_selected() -> Vec<NotSelected> {
    let (hours, late) = (SignedDuration::from_hours, Box::new(Refusal::NodeLimit(5)));
    vec![
        NotSelected::Halted(Halt::FewNodes(1)),
        NotSelected::MovedBefore("RemoveDuplicates"),
        NotSelected::Nowhere,
        NotSelected::Terminating,
        NotSelected::Finished,
        NotSelected::Namespace,
        NotSelected::Labels,
        NotSelected::OwnerKind,
        NotSelected::Node(Class::Even),
        NotSelected::Idle(Idle::NothingCold(2)),
        NotSelected::Late(late),
        NotSelected::MayNotGo(Box::new(Refusal::Bare)),
        NotSelected::Enough {
            going: 2,
            waiting: 1,
        },
        NotSelected::RelievesNothing(vec!["memory".to_owned()]),
        NotSelected::TooLight {
            resource: "cpu".to_owned(),
            relief: Ratio::percent(3.0).unwrap(),
            least: Ratio::QUARTER,
        },
        NotSelected::GoesWithNode,
        NotSelected::RequestsNothing,
        NotSelected::Filled,
        NotSelected::RoomUsedUp,
        NotSelected::OthersFirst,
        NotSelected::NoOwner,
        NotSelected::NoDuplicate,
        NotSelected::OneNode,
        NotSelected::WithinShare { here: 2, share: 2 },
        NotSelected::NoSpread,
        NotSelected::NoPlace("zone".to_owned()),
        NotSelected::WithinSkew {
            key: "zone".to_owned(),
            here: 3,
            least: 2,
            max_skew: 1,
        },
        NotSelected::NoAntiAffinity,
        NotSelected::NoNeighbour,
        NotSelected::Parted,
        NotSelected::NoNodeAffinity,
        NotSelected::SuitableNode,
        NotSelected::NoTaint,
        NotSelected::Tolerated,
        NotSelected::FewRestarts {
            restarts: 3,
            limit: 100,
        },
        NotSelected::NotOld {
            age: hours(30),
            least: hours(168),
        },
        NotSelected::OtherState,
        NotSelected::OtherCondition,
        NotSelected::OtherExitCode,
        NotSelected::NotFailed,
    ]
}

#[expect(
    clippy::match_same_arms,
    reason = "a list, in lines that a person can read"
)]
fn is_listed_unasked(why: &NotSelected) {
    match why {
        NotSelected::Halted(_)
        | NotSelected::MovedBefore(_)
        | NotSelected::Nowhere
        | NotSelected::Terminating => {}
        NotSelected::Finished
        | NotSelected::Namespace
        | NotSelected::Labels
        | NotSelected::OwnerKind
        | NotSelected::Node(_) => {}
        NotSelected::Idle(_)
        | NotSelected::Late(_)
        | NotSelected::MayNotGo(_)
        | NotSelected::Enough { .. } => {}
        NotSelected::RelievesNothing(_)
        | NotSelected::TooLight { .. }
        | NotSelected::GoesWithNode => {}
        NotSelected::RequestsNothing
        | NotSelected::Filled
        | NotSelected::RoomUsedUp
        | NotSelected::OthersFirst => {}
        NotSelected::NoOwner
        | NotSelected::NoDuplicate
        | NotSelected::OneNode
        | NotSelected::WithinShare { .. } => {}
        NotSelected::NoSpread
        | NotSelected::NoPlace(_)
        | NotSelected::WithinSkew { .. }
        | NotSelected::NoAntiAffinity => {}
        NotSelected::NoNeighbour
        | NotSelected::Parted
        | NotSelected::NoNodeAffinity
        | NotSelected::SuitableNode => {}
        NotSelected::NoTaint
        | NotSelected::Tolerated
        | NotSelected::FewRestarts { .. }
        | NotSelected::NotOld { .. } => {}
        NotSelected::OtherState
        | NotSelected::OtherCondition
        | NotSelected::OtherExitCode
        | NotSelected::NotFailed => {}
    }
}

fn halts() -> Vec<Halt> {
    let most = Ratio::percent(40.0).unwrap();
    vec![
        Halt::FewNodes(1),
        Halt::NotReady {
            not_ready: 3,
            of: 5,
            most,
        },
        Halt::Pending {
            pending: 30,
            of: 60,
            most,
        },
    ]
}

/// One of each thing that may become of an eviction.
pub(crate) fn outcomes() -> Vec<Outcome> {
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
        SteerReason::Hot {
            resource: "cpu".to_owned(),
            ratio: ratio(83.0),
            target: ratio(60.0),
        },
        SteerReason::Cooling {
            resource: "cpu".to_owned(),
            ratio: ratio(57.0),
            cool: ratio(54.0),
        },
        SteerReason::Unlanded,
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

#[expect(
    clippy::match_same_arms,
    reason = "a list, in lines that a person can read"
)]
fn is_listed_steer_reason(why: &SteerReason) {
    match why {
        SteerReason::Hot { .. }
        | SteerReason::Cooling { .. }
        | SteerReason::Emptying
        | SteerReason::Empty => {}
        SteerReason::Enough(_)
        | SteerReason::Unlanded
        | SteerReason::Cooled
        | SteerReason::NotEmptied
        | SteerReason::Unsure(_) => {}
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
    (
        Code::Syntax,
        "The file is not YAML, or uses a part of it that is refused, such as tags or a second document.",
    ),
    (
        Code::UnsupportedVersion,
        "The file is of a version or kind that is not read.",
    ),
    (
        Code::UnknownField,
        "A field that does not exist; where one is alike, it is named.",
    ),
    (
        Code::RepeatedField,
        "A field that stands twice in one place.",
    ),
    (Code::MissingField, "A field that must be there is not."),
    (
        Code::WrongType,
        "A value of another type, or in another form, than the field takes.",
    ),
    (
        Code::OutOfRange,
        "A value of the right type that is too large or too small.",
    ),
    (Code::BadSelector, "A label selector that cannot be read."),
    (
        Code::Conflict,
        "Values that are right one by one, but not together.",
    ),
    (Code::Unsupported, "Understood, but not to be had here."),
    (
        Code::Ignored,
        "A warning: read, and of no effect, or of another one than might be thought.",
    ),
    (
        Code::Deprecated,
        "A warning: an old way to say it, which still holds.",
    ),
];

fn states() -> Vec<Headline> {
    let why = || "what it said".to_owned();
    vec![
        Headline::Starting,
        Headline::Waiting("the first list of every watch".to_owned()),
        Headline::Standby(Some("evenkeel-1".to_owned())),
        Headline::Stuck(SignedDuration::from_mins(3)),
        Headline::Failed(why()),
        Headline::Halted(Halt::FewNodes(1).to_string()),
        Headline::Moving {
            evicted: 3,
            planned: 4,
            ago: SignedDuration::from_secs(40),
            hot: 2,
            awaited: 2,
        },
        Headline::WouldMove { planned: 3, hot: 2 },
        Headline::Uneven {
            hot: 1,
            kept: 7,
            why: Refusal::NoBudget.to_string(),
        },
        Headline::Unpacked {
            underused: 2,
            kept: 1,
            why: Refusal::Bare.to_string(),
        },
        Headline::Packed(5),
        Headline::Warming(1),
        Headline::Blind(4),
        Headline::Even {
            even: 9,
            cold: 3,
            unknown: 0,
        },
        Headline::Idle,
    ]
}

#[expect(
    clippy::match_same_arms,
    reason = "a list, in lines that a person can read"
)]
fn is_listed_state(state: &Headline) {
    match state {
        Headline::Starting
        | Headline::Waiting(_)
        | Headline::Stuck(_)
        | Headline::Failed(_)
        | Headline::Halted(_) => {}
        Headline::Moving { .. }
        | Headline::WouldMove { .. }
        | Headline::Uneven { .. }
        | Headline::Warming(_) => {}
        Headline::Unpacked { .. }
        | Headline::Packed(_)
        | Headline::Standby(_)
        | Headline::Blind(_)
        | Headline::Even { .. }
        | Headline::Idle => {}
    }
}

const fn endings() -> [Ending; 6] {
    [
        Ending::Helped,
        Ending::Renewed,
        Ending::SameNode,
        Ending::HotNode,
        Ending::NeverReady,
        Ending::NotReplaced,
    ]
}

/// Whoever adds an ending adds it to the list above too.
const fn is_listed_ending(ending: Ending) {
    match ending {
        Ending::Helped
        | Ending::Renewed
        | Ending::SameNode
        | Ending::HotNode
        | Ending::NeverReady
        | Ending::NotReplaced => {}
    }
}

fn document() -> String {
    let mut doc = String::from(
        "# Reasons\n\nEvery code that a plan, a log line, a metric or a policy check may show. Codes are stable; sentences are for people and\nmay get better. A test keeps this page as the program speaks.\n",
    );
    doc += "\n## Why a pod stays\n\n`kept[].code` of a plan, and the metric `evenkeel_kept_pods`.\n\n| code | it says, for example | what would have to change |\n|---|---|---|\n";
    for refusal in refusals() {
        is_listed(&refusal);
        let _ = writeln!(
            doc,
            "| `{}` | {refusal} | {} |",
            refusal.code(),
            refusal.remedy()
        );
    }
    doc += "\n## Why a strategy does not ask for a pod\n\n`words[].code` of `evenkeel explain pod -o json`.\n\n| code | it says, for example | what would have to change |\n|---|---|---|\n";
    for why in not_selected() {
        is_listed_unasked(&why);
        let _ = writeln!(doc, "| `{}` | {why} | {} |", why.code(), why.remedy());
    }
    doc += "\n## What a strategy takes a node for\n\n`nodes[].code` of a plan, and the metric `evenkeel_nodes`.\n\n| code | it says, for example | what would have to change |\n|---|---|---|\n";
    for class in classes() {
        is_listed_class(&class);
        let rightsizing = class.remedy().unwrap_or_default();
        let _ = writeln!(doc, "| `{}` | {class} | {rightsizing} |", class.code());
    }
    doc += "\n## Why a strategy does nothing\n\n`notes[].code` of a plan, and the metric `evenkeel_idle_strategies`.\n\n| code | it says, for example | what would have to change |\n|---|---|---|\n";
    for idle in idles() {
        is_listed_idle(&idle);
        let _ = writeln!(doc, "| `{}` | {idle} | {} |", idle.code(), idle.remedy());
    }
    doc += "\n## Why nothing at all is considered\n\n`halted` of a plan.\n\n| it says, for example | what would have to change |\n|---|---|\n";
    for halt in halts() {
        let _ = writeln!(doc, "| {halt} | {} |", halt.remedy());
    }
    doc += "\n## What became of an eviction\n\n`outcome` in the log, and the metric `evenkeel_evictions_total`.\n\n| code | it says |\n|---|---|\n";
    for outcome in outcomes() {
        let _ = writeln!(doc, "| `{}` | {outcome} |", outcome.code());
    }
    doc += "\n## How a move went\n\n`settled` in the log, and the metric `evenkeel_settled_moves_total`.\n\n| code | it says | the workload rests for it |\n|---|---|---|\n";
    for ending in endings() {
        is_listed_ending(ending);
        let rests = if ending.is_ineffective() { "yes" } else { "no" };
        let _ = writeln!(doc, "| `{}` | {ending} | {rests} |", ending.code());
    }
    doc += "\n## Why a node is steered around, or is no more\n\n`steering[].code` of a plan, and the metric `evenkeel_steered_nodes`.\n\n| code | it says, for example | what would have to change |\n|---|---|---|\n";
    for why in steer_reasons() {
        is_listed_steer_reason(&why);
        let _ = writeln!(
            doc,
            "| `{}` | {why} | {} |",
            why.code(),
            why.remedy().unwrap_or_default()
        );
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
        let _ = writeln!(
            doc,
            "| `{}` | {meaning} |",
            serde_json::json!(code).as_str().unwrap()
        );
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
    assert!(
        written == document(),
        "docs/reasons.md is not current: UPDATE_DOCS=1 cargo test --test it reasons"
    );
}

/// Counters are there for each from the start.
#[test]
fn every_outcome_of_a_taint_is_in_the_list_of_labels() {
    assert_eq!(
        steer_outcomes()
            .iter()
            .map(SteerOutcome::code)
            .collect::<Vec<_>>(),
        SteerOutcome::CODES
    );
}

#[test]
fn no_two_refusals_share_a_code_and_each_tells_what_would_have_to_change() {
    let refusals = refusals();
    let codes: BTreeSet<&str> = refusals.iter().map(Refusal::code).collect();
    assert_eq!(codes.len(), refusals.len());
    for refusal in &refusals {
        says_enough(&refusal.to_string(), &refusal.remedy());
    }
    let not_selected = not_selected();
    let codes: BTreeSet<&str> = not_selected.iter().map(NotSelected::code).collect();
    assert_eq!(codes.len(), not_selected.len());
    for why in &not_selected {
        says_enough(&why.to_string(), &why.remedy());
    }
    for idle in idles() {
        says_enough(&idle.to_string(), &idle.remedy());
    }
    for halt in halts() {
        says_enough(&halt.to_string(), &halt.remedy());
    }
}

/// Clauses, which stand within a line: without a full stop, and long enough to mean something.
fn says_enough(sentence: &str, rightsizing: &str) {
    for text in [sentence, rightsizing] {
        assert!(
            text.len() > 10 && !text.ends_with('.'),
            "{sentence}: {rightsizing}"
        );
    }
}
