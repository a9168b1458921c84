//! The section `evictable`: which pods may be evicted at all.

use jiff::SignedDuration;
use serde_json::json;

use crate::schema::item::Item;
use crate::schema::kind::{
    Kind, boolean, choices, duration, names_in_or_out, selector, texts, whole,
};
use crate::schema::names::Names;
use crate::schema::problem::Code;
use crate::schema::read::{Fields, Spot};
use crate::schema::section::Section;
use crate::schema::tree::Value;
use crate::values::selector::Selector;

mod protections;

use protections::{EXTRAS, LIFTS};
pub use protections::{Protections, StorageClasses};

/// The name of the profile that `evictable` makes.
pub(super) const DEFAULT_PROFILE: &str = "default";
/// Priorities from here on belong to the system.
pub const SYSTEM_CRITICAL: i32 = 2_000_000_000;

/// A named set of rules that strategies refer to.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The name in plans and events.
    pub name: String,
    /// The rules.
    pub evictable: Evictable,
}

/// Which pods may be evicted at all.
#[derive(Clone, Debug, PartialEq)]
pub struct Evictable {
    /// Namespaces whose pods may be evicted.
    pub namespaces: Names,
    /// Labels that a pod's namespace must have.
    pub namespace_selector: Option<Selector>,
    /// Labels that a pod must have.
    pub pod_selector: Option<Selector>,
    /// Only pods with a lower priority may be evicted; pods without a priority always may.
    pub priority_below: PriorityThreshold,
    /// A workload with fewer replicas is left alone, and a move leaves at least one less than this
    /// Ready.
    pub min_replicas: u32,
    /// A younger pod is left alone.
    pub min_pod_age: SignedDuration,
    /// Protected pods.
    pub protected: Protections,
    /// Nodes that count as destinations; all where `None`.
    pub destinations: Option<Selector>,
    /// A pod is evicted only if it fits another node. Balancing strategies of native policies
    /// always require that.
    pub node_fit: bool,
}

/// A priority, or the name of a PriorityClass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PriorityThreshold {
    /// This value.
    Value(i32),
    /// The value of this PriorityClass in the cluster.
    Class(String),
}

/// Declares `evictable`.
pub(super) fn evictable() -> Section<Evictable> {
    let section = Section::new(Evictable {
        namespaces: Names::ALL,
        namespace_selector: None,
        pod_selector: None,
        priority_below: PriorityThreshold::Value(SYSTEM_CRITICAL),
        min_replicas: 2,
        min_pod_age: SignedDuration::from_mins(1),
        protected: Protections::USUAL,
        destinations: None,
        node_fit: true,
    });
    destinations(protections(ages(selectors(section)))).check(|f, evictable| {
        storage_classes_need_a_protection(f, &evictable.protected);
        warn_of_idle_lifts(f, evictable);
    })
}

/// Warns of items of `allow` that lift nothing, because another field protects the same pods or no
/// pods.
fn warn_of_idle_lifts(f: &mut Fields<'_, '_>, evictable: &Evictable) {
    let protected = &evictable.protected;
    let below_system = evictable.priority_below != PriorityThreshold::Value(SYSTEM_CRITICAL);
    let idle = [
        (
            !protected.preemption && evictable.node_fit,
            "preemption has no effect without `nodeFit: false`",
        ),
        (
            !protected.system_critical && below_system,
            "systemCritical has no effect with priorityBelow",
        ),
        (
            !protected.single_replicas_with_budget && evictable.min_replicas < 2,
            "singleReplicasWithBudget has no effect with minReplicas below 2",
        ),
    ];
    for (_, sentence) in idle.into_iter().filter(|(is_idle, _)| *is_idle) {
        f.warn(Code::Ignored, "allow", sentence);
    }
}

fn selectors(section: Section<Evictable>) -> Section<Evictable> {
    section
        .field("namespaces", names_in_or_out(), |e| &mut e.namespaces)
        .help(
            "Namespaces whose pods may be evicted: all except those in `exclude`, or only those in `include`, such as {include: [web, batch]}. Not both.",
        )
        .field("namespaceSelector", selector(), |e| &mut e.namespace_selector)
        .help("Labels that a pod's namespace must have.")
        .field("podSelector", selector(), |e| &mut e.pod_selector)
        .help("Labels that a pod must have.")
}

fn ages(section: Section<Evictable>) -> Section<Evictable> {
    section
        .field("priorityBelow", priority_threshold(), |e| &mut e.priority_below)
        .help(
            "Only pods with a lower priority may be evicted. A number up to 2000000000, where the priorities of the system begin, or the name of a PriorityClass.",
        )
        .field("minReplicas", whole(0), |e| &mut e.min_replicas)
        .help(
            "A workload with fewer replicas is left alone, since a single replica leaves a gap until its replacement is Ready. The annotation evenkeel.io/evict-single-replica: \
             \"true\" exempts a pod.",
        )
        .always_written()
        .field("minPodAge", duration(SignedDuration::ZERO), |e| &mut e.min_pod_age)
        .help("A younger pod is left alone.")
        .always_written()
}

fn protections(section: Section<Evictable>) -> Section<Evictable> {
    section
        .computed(
            "allow",
            choices("protections to lift", &LIFTS),
            |e| e.protected.lifted(),
            |e, lifts| lifts.into_iter().for_each(|lift| e.protected.lift(lift)),
        )
        .help("Protections to lift. Each of these protects pods unless it is listed here:")
        .computed(
            "protect",
            choices("protections to add", &EXTRAS),
            |e| e.protected.added(),
            |e, extras| extras.into_iter().for_each(|extra| e.protected.add(extra)),
        )
        .help("Protections to add:")
        .computed(
            "protectedStorageClasses",
            texts(),
            |e| e.protected.storage_classes(),
            |e, classes| e.protected.narrow(classes),
        )
        .help(
            "With persistentVolumes in `protect`: protect only pods with volumes of these storage classes.",
        )
        .off("[local-ssd]")
}

fn destinations(section: Section<Evictable>) -> Section<Evictable> {
    section
        .field("destinations", selector(), |e| &mut e.destinations)
        .help(
            "Only nodes with these labels count as a destination for a pod. An empty selector means all nodes.",
        )
        .field("nodeFit", boolean(), |e| &mut e.node_fit)
        .help(
            "Evict a pod only if it fits another node. Strategies that name destinations look for one in any case. With false, the replacement may stay pending if it fits nowhere; a pod whose replacement fits only if others are removed stays, see preemption in `allow`. Where it fits, the landing is checked as usual.",
        )
}

fn storage_classes_need_a_protection(f: &mut Fields<'_, '_>, protected: &Protections) {
    const FIELD: &str = "protectedStorageClasses";
    // An empty list means the same as no list.
    if protected.persistent_volumes.is_none() && f.has(FIELD) && !f.is_empty_list(FIELD) {
        let sentence =
            "this narrows persistentVolumes, so `protect` must list persistentVolumes too";
        f.complain(Code::Conflict, FIELD, sentence);
    }
}

fn priority_threshold() -> Kind<PriorityThreshold> {
    let schema = json!({"anyOf": [
        {"type": "integer", "maximum": SYSTEM_CRITICAL, "minimum": i32::MIN},
        {"type": "string", "pattern": "[A-Za-z]"}]});
    let write = |threshold: &PriorityThreshold| {
        Some(match threshold {
            PriorityThreshold::Value(value) => Item::Number(i64::from(*value)),
            PriorityThreshold::Class(name) => Item::text(name),
        })
    };
    Kind::new("whole number or PriorityClass", schema, read_priority, write)
}

fn read_priority(spot: Spot<'_, '_>) -> Option<PriorityThreshold> {
    let expected =
        format!("a whole number up to {SYSTEM_CRITICAL}, or the name of a PriorityClass");
    spot.scalar(&expected, |node| match &node.value {
        Value::Int(number) => match i32::try_from(*number) {
            Ok(number) if number <= SYSTEM_CRITICAL => Ok(PriorityThreshold::Value(number)),
            _ => Err(Code::OutOfRange),
        },
        // Text without a letter is more likely a mistyped number than the name of a class.
        Value::Text(name) if name.contains(|c: char| c.is_ascii_alphabetic()) => {
            Ok(PriorityThreshold::Class(name.clone()))
        }
        Value::Null
        | Value::Bool(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::List(_)
        | Value::Map(_) => Err(Code::WrongType),
    })
}
