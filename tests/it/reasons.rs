//! Every code of a plan or a policy check has a line in docs/reasons.md. After a change run
//! `UPDATE_DOCS=1 cargo test --test it reasons`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use evenkeel::model::guard::{GuardCause, GuardStop, GuardTarget};
use evenkeel::model::ledger::{Decline, Ending, Rest, RestCause};
use evenkeel::model::plan::{
    BadLanding, BrokenPreference, BudgetCause, ClaimFlaw, Class, Disruption, Halt, Idle,
    JobFailureCause, KubeletRefusal, Misfit, NoGain, NoReplacementCause, NodesInUse, NotSelected,
    OrderCause, Outcome, PlacementCause, Protected, Refusal, Removal, Replacement, StartFlaw,
    SteerOutcome, SteerReason, Stop, Temporary, UnknownObjects, Untried,
};
use evenkeel::model::snapshot::facts::{Effect, NodeClosure, NotSafeToEvict, Taint};
use evenkeel::model::snapshot::lacking::Lack;
use evenkeel::model::snapshot::objects::ObjectKind;
use evenkeel::model::snapshot::pause::{Pause, PauseEnd, PauseScope};
use evenkeel::model::usage::{SampleFlaw, Unmeasured};
use evenkeel::policy::{Basis, ScorePlugin};
use evenkeel::schema::problem::Code;
use evenkeel::values::query_value::QueryValue;
use evenkeel::values::{NodeMinutes, Ratio};
use evenkeel::view::status::headline::{Headline, no_evictions};
use jiff::SignedDuration;

use crate::it::support::{check_generated, noon};
use crate::shared::boards::read;

fn pause(scope: PauseScope) -> Pause {
    Pause {
        scope,
        reason: "incident 4711".to_owned(),
        by: Some("alice".to_owned()),
        since: Some(noon()),
        end: PauseEnd::ByHand,
    }
}

fn stop(target: GuardTarget) -> GuardStop {
    GuardStop {
        guard: "errors".to_owned(),
        target,
        cause: GuardCause::Above {
            value: QueryValue::new(0.31).unwrap(),
            limit: QueryValue::new(0.05).unwrap(),
            unknown: None,
        },
    }
}

fn web() -> GuardTarget {
    GuardTarget::Workload("shop/Deployment/web".to_owned().try_into().unwrap())
}

/// Returns one refusal of each kind.
#[expect(clippy::too_many_lines, reason = "a list of examples or of fields")]
pub(crate) fn refusals() -> Vec<Refusal> {
    let minutes = SignedDuration::from_mins;
    let rest = |cause, left| Refusal::Rest(Rest { cause, left: minutes(left) });
    let cause = PlacementCause::Score(ScorePlugin::NodeAffinity);
    vec![
        Protected::Mirror.into(),
        Protected::Static.into(),
        Temporary::Terminating.into(),
        Protected::DaemonSet.into(),
        Protected::SystemCritical.into(),
        Refusal::Protected(Protected::Priority { priority: 1000, threshold: 500 }),
        Protected::UnknownPriorityClass("batch".to_owned()).into(),
        Replacement::Bare.into(),
        Replacement::UnknownOwner("Job calc".to_owned()).into(),
        Refusal::Replacement(Replacement::NoReplacement {
            owner: "ReplicaSet web".to_owned(),
            cause: NoReplacementCause::Deleting,
        }),
        Replacement::NamespaceDeleted("shop".to_owned()).into(),
        Replacement::RunsToCompletion("Workflow build".to_owned()).into(),
        Refusal::Replacement(Replacement::JobWouldFail {
            job: "Job calc".to_owned(),
            cause: JobFailureCause::BackoffLimit { failed: 6, limit: 6 },
        }),
        Refusal::Replacement(Replacement::NamesNode {
            owner: "ReplicaSet web".to_owned(),
            node: "n1".to_owned(),
        }),
        Replacement::Gated("ReplicaSet web".to_owned()).into(),
        Refusal::Replacement(Replacement::OtherRevision {
            owner: "StatefulSet db".to_owned(),
            revision: "db-6d4cf56db6".to_owned(),
        }),
        Refusal::Replacement(Replacement::WaitsInOrder {
            pod: "db-0".to_owned(),
            cause: OrderCause::NotReady,
        }),
        Refusal::Replacement(Replacement::DoesNotStart {
            owner: "ReplicaSet web".to_owned(),
            pod: "web-9".to_owned(),
            flaw: StartFlaw::Waits("ImagePullBackOff".to_owned()),
        }),
        Replacement::MissingPriorityClass("high".to_owned()).into(),
        Protected::UnknownPriority("high".to_owned()).into(),
        Replacement::LocalStorage.into(),
        Protected::PersistentVolume("data-0".to_owned()).into(),
        Protected::ResourceClaims.into(),
        Protected::NoBudget.into(),
        Protected::PreferNoEviction.into(),
        Protected::EvictFalse.into(),
        Replacement::NewVolume("web-1-cache".to_owned()).into(),
        Refusal::Replacement(Replacement::Claim {
            claim: "data-0".to_owned(),
            flaw: ClaimFlaw::Deleting,
        }),
        Refusal::Replacement(Replacement::SharedVolume {
            claim: "data-0".to_owned(),
            pod: "web-2".to_owned(),
        }),
        Replacement::Unknown(UnknownObjects::all(ObjectKind::Volume, Lack::Forbidden)).into(),
        Protected::Gang("PodGroup train".to_owned()).into(),
        Protected::DoNotDisrupt.into(),
        Protected::NotSafeToEvict(NotSafeToEvict::Always).into(),
        Protected::Namespace("kube-system".to_owned()).into(),
        Protected::PodSelector.into(),
        Refusal::Temporary(Temporary::Young { age: minutes(1), least: minutes(5) }),
        Refusal::Disruption(Disruption::TooFewReplicas { have: 1, least: 2 }),
        Refusal::Disruption(Disruption::LastReady { left: 0, least: 1, leaving: 0 }),
        Stop::Unmeasured(Unmeasured::Missing).into(),
        Stop::Unreadable("Pod shop/odd cannot be read: spec".to_owned()).into(),
        Temporary::OutsideWindow(minutes(90)).into(),
        Temporary::NeedsApproval { asked: true }.into(),
        Stop::NotApproved.into(),
        BadLanding::LandsElsewhere("n5".to_owned()).into(),
        BadLanding::WouldDisplace { node: "n5".to_owned(), pod: "db-0".to_owned() }.into(),
        BadLanding::CouldBeDisplaced {
            node: "n5".to_owned(),
            first: "the replacement of web-1".to_owned(),
        }
        .into(),
        Temporary::CycleLimit(20).into(),
        Temporary::NodeLimit(5).into(),
        Temporary::NamespaceLimit(10).into(),
        Temporary::RateLimit(30).into(),
        Refusal::Temporary(Temporary::WorkloadLimit { away: 2, leaving: 1, most: 2 }),
        Refusal::Disruption(Disruption::Budget {
            name: "web".to_owned(),
            cause: BudgetCause::Forbids("maxUnavailable: 0".to_owned()),
        }),
        Disruption::SeveralBudgets("a, b".to_owned()).into(),
        Disruption::StaleBudget("web".to_owned()).into(),
        Disruption::UnreadableBudget("web".to_owned()).into(),
        Temporary::UnderWay.into(),
        Stop::Paused(pause(PauseScope::Namespace)).into(),
        Stop::Guarded(Box::new(stop(web()))).into(),
        rest(RestCause::Replacement, 8),
        rest(RestCause::Ineffective(2), 18),
        Temporary::Trial { watch: minutes(2), within: minutes(2) }.into(),
        Refusal::Stop(Stop::NotWorthIt {
            node: "n1".to_owned(),
            above: NodeMinutes::new(3.0).unwrap(),
            start: minutes(20),
        }),
        rest(RestCause::GotWorse(Decline::Readiness), 9),
        rest(RestCause::Rejected(2), 18),
        Stop::WorkloadRejected.into(),
        rest(RestCause::NoRight, 9),
        Stop::LedgerFull(880).into(),
        Replacement::NoRoom([Misfit::Taint, Misfit::Volume].into_iter().collect()).into(),
        Refusal::Replacement(Replacement::WouldPreempt {
            node: "n2".to_owned(),
            pod: "web-1".to_owned(),
        }),
        Refusal::Landing(BadLanding::WouldReturn {
            node: "n1".to_owned(),
            chance: Ratio::ONE,
            cause,
        }),
        Refusal::Landing(BadLanding::WouldBeHot {
            node: "n5".to_owned(),
            resource: "cpu".to_owned(),
            ratio: Ratio::percent(78.0).unwrap(),
            target: Ratio::percent(70.0).unwrap(),
            while_emptying: false,
            basis: Basis::Actual,
            within_a_day: false,
        }),
        BadLanding::WouldBeUnknown("n5".to_owned()).into(),
        Refusal::Landing(BadLanding::WouldNotHelp { node: "n5".to_owned(), why: NoGain::NoPool }),
        BadLanding::WouldTrade("n5".to_owned(), BrokenPreference::Spread("zone".to_owned())).into(),
        BadLanding::WouldBeUnreadable(
            "n5".to_owned(),
            "Pod shop/odd cannot be read: spec".to_owned(),
        )
        .into(),
        BadLanding::WouldBeClosed("n5".to_owned(), NodeClosure::Deleting).into(),
        BadLanding::WouldLackDriver("n5".to_owned(), "ebs.csi.aws.com".to_owned()).into(),
        Refusal::Landing(BadLanding::WouldBeRemoved(
            "n5".to_owned(),
            Removal {
                taint: Taint {
                    key: "maintenance".to_owned(),
                    value: String::new(),
                    effect: Effect::NoExecute,
                },
                after: minutes(1),
            },
        )),
        BadLanding::WouldBeRefused(
            "n5".to_owned(),
            KubeletRefusal::OtherSystem {
                needs: "linux".to_owned(),
                runs: Some("windows".to_owned()),
            },
        )
        .into(),
        BadLanding::WouldBeExcluded("n5".to_owned()).into(),
        Stop::Unremovable("pod web-1 has the annotation safe-to-evict: false".to_owned()).into(),
        Stop::NotAlone("web-1".to_owned()).into(),
    ]
}

fn classes() -> Vec<Class> {
    let (resource, ratio, target) =
        ("cpu".to_owned(), Ratio::percent(83.0).unwrap(), Ratio::percent(60.0).unwrap());
    let (since, sustained_for) = (SignedDuration::from_secs(40), SignedDuration::from_mins(2));
    vec![
        Class::Hot { resource: resource.clone(), ratio, target, expected: None, needed: Some(2) },
        Class::Warming { resource, ratio, target, since, sustained_for },
        Class::Cold,
        Class::ColdClosed(NodeClosure::DiskPressure),
        Class::Even,
        Class::Underused,
        Class::InUse,
        Class::InUseClosed(NodeClosure::DiskPressure),
        Class::Leaving,
        Class::Unknown(Unmeasured::Stale(SignedDuration::from_mins(3))),
        Class::Unreadable("Pod shop/odd cannot be read: spec".to_owned()),
        Class::NotReady,
        Class::Deleting,
        Class::NoAllocatable("cpu".to_owned()),
        Class::Lacks(vec!["nvidia.com/gpu".to_owned()]),
        Class::NotSelected,
    ]
}

fn idles() -> Vec<Idle> {
    vec![
        Idle::NothingHot,
        Idle::NotForLong(3),
        Idle::NothingCold(2),
        Idle::AllCold,
        Idle::FewCold { cold: 1, more_than: 1 },
        Idle::NothingUnderused,
        Idle::NothingToEmpty(NodesInUse {
            in_use: 40,
            needed: 16,
            resource: "cpu".to_owned(),
            basis: Basis::Actual,
        }),
        Idle::SearchUnfinished { tried: 140, left: 760, of: "underused nodes" },
        Idle::NoDestination,
        Idle::Unmeasurable("nvidia.com/gpu".to_owned()),
    ]
}

/// Returns one reason of each kind for not selecting a pod.
fn not_selected() -> Vec<NotSelected> {
    let (hours, late) =
        (SignedDuration::from_hours, Box::new(Refusal::Temporary(Temporary::NodeLimit(5))));
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
        NotSelected::MayNotGo(Box::new(Refusal::Replacement(Replacement::Bare))),
        NotSelected::Enough { going: 2, waiting: 1 },
        NotSelected::RelievesNothing(vec!["memory".to_owned()]),
        NotSelected::WithinVariation {
            resource: "cpu".to_owned(),
            above: Ratio::percent(0.8).unwrap(),
            variation: Ratio::percent(4.2).unwrap(),
        },
        NotSelected::OutOfReach {
            resource: "cpu".to_owned(),
            relief: Ratio::percent(3.0).unwrap(),
            least: Ratio::QUARTER,
        },
        NotSelected::SavesNothing { need: 2 },
        NotSelected::LeftForLater,
        NotSelected::NotReached,
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
        NotSelected::WithinSkew { key: "zone".to_owned(), here: 3, least: 2, max_skew: 1 },
        NotSelected::NoAntiAffinity,
        NotSelected::NoNeighbour,
        NotSelected::NoBetterNode,
        NotSelected::Parted,
        NotSelected::NoNodeAffinity,
        NotSelected::SuitableNode,
        NotSelected::NoTaint,
        NotSelected::Tolerated,
        NotSelected::NoLessTainted,
        NotSelected::FewRestarts { restarts: 3, limit: 100 },
        NotSelected::NotOld { age: Some(hours(30)), least: hours(168) },
        NotSelected::OtherState,
        NotSelected::OtherCondition,
        NotSelected::OtherExitCode,
        NotSelected::NotFailed,
    ]
}

fn halts() -> Vec<Halt> {
    let most = Ratio::percent(40.0).unwrap();
    vec![
        Halt::FewNodes(1),
        Halt::NotReady { not_ready: 3, of: 5, most },
        Halt::Pending { pending: 30, of: 60, most },
        Halt::Paused(pause(PauseScope::Cluster)),
        Halt::Guarded(Box::new(stop(GuardTarget::Cluster))),
    ]
}

/// Returns one outcome of each kind for an eviction.
fn outcomes() -> Vec<Outcome> {
    let why = || "its message".to_owned();
    vec![
        Outcome::Evicted,
        Outcome::Deferred(why()),
        Outcome::OverBudget(why()),
        Outcome::Refused(why()),
        Outcome::Forbidden(why()),
        Outcome::Unauthorized(why()),
        Outcome::Throttled(why(), None),
        Outcome::Gone,
        Outcome::Changed,
        Outcome::Failed(why()),
        Outcome::Unanswered(why()),
        Outcome::Untried(Untried::Failed),
    ]
}

fn untried() -> Vec<Untried> {
    let clock = "the local clock is 1h ahead of that of the API server";
    let watch = "watch of Pod disconnected since 2026-11-21T12:00:00Z: connection refused";
    vec![
        Untried::Failed,
        Untried::FailingEverywhere(3),
        Untried::WorkloadRejected(3),
        Untried::Forbidden("shop".to_owned()),
        Untried::NotLeading,
        Untried::Stopping,
        Untried::Expired(SignedDuration::from_secs(20)),
        Untried::Throttled,
        Untried::Blind(watch.to_owned()),
        Untried::PausesUnknown(Lack::Forbidden),
        Untried::WrongClock(clock.to_owned()),
        Untried::Unsafe(halts()[1].to_string()),
        Untried::OutsideWindow,
        Untried::Paused(pause(PauseScope::Namespace)),
        Untried::Guarded(Box::new(stop(web()))),
        Untried::PodChanged,
        Untried::DestinationChanged("n2".to_owned()),
        Untried::Refused(Replacement::UnknownOwner("ReplicaSet web".to_owned()).to_string()),
    ]
}

fn steer_reasons() -> Vec<SteerReason> {
    let ratio = |percent| Ratio::percent(percent).unwrap();
    vec![
        SteerReason::Hot {
            resource: "cpu".to_owned(),
            ratio: ratio(83.0),
            target: ratio(60.0),
            expected: None,
        },
        SteerReason::Warm { resource: "cpu".to_owned(), ratio: ratio(55.0), limit: ratio(51.0) },
        SteerReason::Cooling { resource: "cpu".to_owned(), ratio: ratio(57.0), cool: ratio(54.0) },
        SteerReason::Unlanded,
        SteerReason::Emptying,
        SteerReason::Empty,
        SteerReason::Full,
        SteerReason::Enough { most: 3, of: 4 },
        SteerReason::Cooled,
        SteerReason::NotEmptied,
        SteerReason::Needed("n1".to_owned()),
        SteerReason::NotFull,
        SteerReason::Unsure("left alone: no samples".to_owned()),
        SteerReason::Halted(Box::new(Halt::FewNodes(1))),
        SteerReason::NotPermitted,
        SteerReason::NotAsked,
        SteerReason::Ending,
    ]
}

fn steer_outcomes() -> Vec<SteerOutcome> {
    let why = || "its message".to_owned();
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
        "The file is not YAML, or uses an unsupported part of it, such as tags or a second \
            document.",
    ),
    (Code::UnsupportedVersion, "The file has an unsupported version or kind."),
    (Code::UnknownField, "An unknown field. The message suggests a similar one."),
    (Code::RepeatedField, "A field that occurs twice."),
    (Code::MissingField, "A required field is missing."),
    (Code::WrongType, "A value with the wrong type or format."),
    (Code::OutOfRange, "A value that is too large or too small."),
    (Code::BadSelector, "An invalid label selector."),
    (Code::Conflict, "Values that are valid separately but not together."),
    (Code::Unsupported, "Valid, but not supported here."),
    (Code::Ignored, "A warning: the field has no effect, or another effect than expected."),
    (Code::Deprecated, "A warning: an old form that still works."),
];

const CYCLES: [(&str, &str); 6] = [
    ("acted", "Evictions were requested. `evicted` is the number that succeeded."),
    ("dry-run", "Pods would be evicted, but this is a dry run."),
    ("idle", "No pod moves."),
    ("halted", "No pod is considered."),
    (
        "waiting",
        "A watch is cut off, Namespaces cannot be listed, the clocks differ, or the ledger is uncertain: nothing is decided.",
    ),
    ("failed", "An error ended the cycle, such as a ledger that cannot be saved."),
];

/// Returns the causes that the log shows with a code.
fn unmeasured() -> Vec<Unmeasured> {
    let (minutes, flaw) = (SignedDuration::from_mins, Unmeasured::Flawed);
    vec![
        Unmeasured::Missing,
        Unmeasured::Stale(minutes(3)),
        Unmeasured::Future(minutes(10)),
        flaw(SampleFlaw::Unreadable("cpu: -5".into())),
        flaw(SampleFlaw::Partial("sidecar".into())),
        flaw(SampleFlaw::Contradictory("cpu 40, and its node has 8".into())),
        flaw(SampleFlaw::OtherNode("n3".into())),
    ]
}

fn guard_causes() -> Vec<GuardCause> {
    vec![
        stop(web()).cause,
        GuardCause::Recovering {
            limit: QueryValue::new(0.05).unwrap(),
            left: SignedDuration::from_mins(4),
        },
        GuardCause::Missing("its newest answer is 3m old".to_owned()),
    ]
}

fn states() -> Vec<Headline> {
    let why = || "its message".to_owned();
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
            why: no_evictions(7, &Refusal::Protected(Protected::NoBudget).to_string()),
        },
        Headline::Unpacked {
            underused: 2,
            why: no_evictions(1, &Refusal::Replacement(Replacement::Bare).to_string()),
        },
        Headline::Packed(5),
        Headline::Warming(1),
        Headline::Blind(4),
        Headline::Even { even: 9, cold: 3, closed: 0, unknown: 0 },
        Headline::Idle,
    ]
}

pub(crate) const fn endings() -> [Ending; 9] {
    [
        Ending::Landed,
        Ending::Helped,
        Ending::NoRelief,
        Ending::Renewed,
        Ending::SameNode,
        Ending::HotNode,
        Ending::NeverReady,
        Ending::GotWorse(Decline::Restarts),
        Ending::NotReplaced,
    ]
}

#[expect(clippy::too_many_lines, reason = "a list of examples or of fields")]
fn document() -> String {
    let mut doc = String::from(
        "# Reasons\n\nThe codes of plans, `explain`, the log, the record, the status page and policy \
            checks. Codes are stable. Sentences are for people\nand may change. \
            [Metrics](metrics.md#labels) lists the other values of labels, and \
            [Using evenkeel](using.md#doctor)\nthe checks of `doctor`. A test keeps this page up to date.\n",
    );
    doc += "\n## Why a pod stays\n\n`kept[].code` of a plan, and the metric \
        `evenkeel_kept_pods`.\n\n| code | example message | remedy |\n|---|---|---|\n";
    for refusal in refusals() {
        let _ = writeln!(doc, "| `{}` | {refusal} | {} |", refusal.code(), refusal.remedy());
    }
    doc += "\n## Why a strategy does not select a pod\n\n`verdicts[].code` of `evenkeel explain pod \
        -o json`.\n\n| code | example message | remedy |\n|---|---|---|\n";
    for why in not_selected() {
        let _ = writeln!(doc, "| `{}` | {why} | {} |", why.code(), why.remedy());
    }
    doc += "\n## Classes of nodes\n\n`nodes[].code` of a plan, and the metric \
        `evenkeel_nodes`.\n\n| code | example message | remedy |\n|---|---|---|\n";
    for class in classes() {
        let remedy = class.remedy().unwrap_or_default();
        let _ = writeln!(doc, "| `{}` | {class} | {remedy} |", class.code());
    }
    doc += "\n## Why a strategy does nothing\n\n`notes[].code` of a plan, and the metric \
        `evenkeel_idle_strategies`.\n\n| code | example message | remedy |\n|---|---|---|\n";
    for idle in idles() {
        let _ = writeln!(doc, "| `{}` | {idle} | {} |", idle.code(), idle.remedy());
    }
    doc += "\n## Why no pod is considered\n\n`halted` of a plan.\n\n| example message | remedy \
        |\n|---|---|\n";
    for halt in halts() {
        let _ = writeln!(doc, "| {halt} | {} |", halt.remedy());
    }
    doc += "\n## Outcomes of eviction requests\n\n`outcome` in the log, and the metric \
        `evenkeel_evictions_total`.\n\n| code | message |\n|---|---|\n";
    for outcome in outcomes() {
        let _ = writeln!(doc, "| `{}` | {outcome} |", outcome.code());
    }
    doc += "\n## Why a planned eviction is not tried\n\nThe next cycle decides again.\n\n| \
            message | the rest of the plan |\n|---|---|\n";
    for why in untried() {
        let rest = if why.ends_the_plan() { "waits" } else { "goes on" };
        let _ = writeln!(doc, "| {why} | {rest} |");
    }
    doc += "\n## Outcomes of moves\n\n`settled` in the log, and the metric \
        `evenkeel_settled_moves_total`.\n\n| code | message | the workload rests \
        |\n|---|---|---|\n";
    for ending in endings() {
        let rests = if ending.is_ineffective() { "yes" } else { "no" };
        let _ = writeln!(doc, "| `{}` | {ending} | {rests} |", ending.code());
    }
    doc += "\n## Why a node gets or loses the steering taint\n\n`steering[].code` of a plan, and \
        the metric `evenkeel_steered_nodes`.\n\n| code | example message | remedy \
        |\n|---|---|---|\n";
    for why in steer_reasons() {
        let _ =
            writeln!(doc, "| `{}` | {why} | {} |", why.code(), why.remedy().unwrap_or_default());
    }
    doc += "\n## Outcomes of taint changes\n\n`outcome` in the log, and the metric \
        `evenkeel_taint_changes_total`.\n\n| code | message |\n|---|---|\n";
    for outcome in steer_outcomes() {
        let _ = writeln!(doc, "| `{}` | {outcome} |", outcome.code());
    }
    doc += "\n## States\n\nThe headline of the status page, and `state.code` of its \
        `/status.json`.\n\n| code | example message |\n|---|---|\n";
    for state in states() {
        let _ = writeln!(doc, "| `{}` | {state} |", state.code());
    }
    doc += "\n## Outcomes of cycles\n\n`outcome` in the log, and the metric \
        `evenkeel_cycles_total`.\n\n| code | meaning |\n|---|---|\n";
    for (code, meaning) in CYCLES {
        let _ = writeln!(doc, "| `{code}` | {meaning} |");
    }
    doc += "\n## Why usage is unknown\n\n`code` in the log, for nodes that are left alone. A plan \
        has the message, with the class `unknown` of a node\nor the reason `unmeasured` of a \
        pod.\n\n| code | example message |\n|---|---|\n";
    for why in unmeasured() {
        let _ = writeln!(doc, "| `{}` | {why} |", why.kind());
    }
    doc += "\n## Why a guard stops evictions\n\n`code` in the log, and `guards[].code` of a \
        plan.\n\n| code | example message |\n|---|---|\n";
    for cause in guard_causes() {
        let _ = writeln!(doc, "| `{}` | {cause} |", cause.code());
    }
    doc += "\n## Policy errors\n\n`evenkeel policy check` names file, line, column and field, the \
        value found and the values allowed.\n\n| code | meaning |\n|---|---|\n";
    for (code, meaning) in CODES {
        let _ = writeln!(doc, "| `{}` | {meaning} |", serde_json::json!(code).as_str().unwrap());
    }
    doc
}

#[test]
fn the_page_of_reasons_is_up_to_date() {
    check_generated("docs/reasons.md", &document());
}

/// The codes of examples. Two outcomes share one.
fn codes<T>(examples: &[T], code: fn(&T) -> &'static str) -> Vec<&'static str> {
    let mut codes: Vec<_> = examples.iter().map(code).collect();
    codes.dedup();
    codes
}

#[test]
fn every_code_has_an_example() {
    assert_eq!(codes(&not_selected(), NotSelected::code), NotSelected::CODES);
    assert_eq!(codes(&classes(), Class::code), Class::CODES);
    assert_eq!(codes(&idles(), Idle::code), Idle::CODES);
    assert_eq!(codes(&outcomes(), Outcome::code), Outcome::CODES);
    assert_eq!(codes(&endings(), Ending::code), Ending::CODES);
    assert_eq!(codes(&steer_reasons(), SteerReason::code), SteerReason::CODES);
    assert_eq!(codes(&steer_outcomes(), SteerOutcome::code), SteerOutcome::CODES);
    assert_eq!(codes(&states(), Headline::code), Headline::CODES);
}

/// The codes in the table of each group of refusals: the texts that begin a pair.
fn refusal_codes() -> Vec<String> {
    let mut codes = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("core/src/model/plan/refusal");
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let (_, table) = text.split_once("fn code_and_remedy").unwrap_or_default();
        let table = table.split("\n    }\n").next().unwrap();
        let texts = table.split('(').filter_map(|pair| pair.trim_start().strip_prefix('"'));
        let texts = texts.map(|text| text.split('"').next().unwrap());
        codes.extend(texts.filter(|text| !text.contains([' ', '`'])).map(str::to_owned));
    }
    codes
}

#[test]
fn every_refusal_has_an_example() {
    let refusals = refusals();
    let mut missing = refusal_codes();
    assert!(missing.len() >= refusals.len(), "{missing:?}");
    missing.retain(|code| refusals.iter().all(|refusal| refusal.code() != code));
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_reason_not_to_try_an_eviction_has_an_example() {
    let source = read("core/src/model/plan/outcome.rs");
    let (_, variants) = source.split_once("pub enum Untried {").unwrap();
    let variants = variants.split("\n}\n").next().unwrap();
    assert_eq!(variants.matches("#[error(").count(), untried().len());
}

#[test]
fn refusal_codes_are_unique_and_every_refusal_has_a_remedy() {
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

/// Requires a clause: without a full stop, and long enough to have a meaning.
fn says_enough(sentence: &str, remedy: &str) {
    for text in [sentence, remedy] {
        assert!(text.len() > 10 && !text.ends_with('.'), "{sentence}: {remedy}");
    }
}
