//! The native format, `evenkeel/v1alpha1`: the fields at the top of a policy.

use jiff::SignedDuration;

use super::approval::{self, approval};
use super::evictable::{DEFAULT_PROFILE, Evictable, Profile, evictable};
use super::guards::{self, guard};
use super::help;
use super::limits::{self, cooldown, forecast, limits, safety};
use super::node_utilization::{self, basis};
use super::ramp::ramp;
use super::rightsizing::rightsizing;
use super::steering::{self, steering};
use super::strategies;
use super::usage::usage;
use super::windows::{self, windows};
use super::{Basis, Policy, SchedulerProfile};
use crate::schema::compare::ONE_SECOND;
use crate::schema::item::Item;
use crate::schema::kind::{boolean, constant, duration, selector, text};
use crate::schema::outline::FieldOutline;
use crate::schema::problem::Code;
use crate::schema::read::{Fields, Place, Spot};
use crate::schema::section::{Section, map, map_or_none, maps};
use crate::schema::tree::Value;

/// The `apiVersion` of a native policy.
pub(super) const VERSION: &str = "evenkeel/v1alpha1";

/// A policy as it is written.
#[derive(Clone)]
struct Document {
    /// The usage that strategies compare by default. In a [`Policy`], each strategy has its own.
    basis: Basis,
    evictable: Evictable,
    profiles: Vec<NamedProfile>,
    policy: Policy,
}

/// An item of `profiles`, and the place of its name.
#[derive(Clone)]
struct NamedProfile {
    profile: Profile,
    place: Option<Place>,
}

pub(crate) fn policy(root: Spot<'_, '_>) -> Policy {
    root.section(|f| document().read(f)).policy
}

/// Writes a policy in the native format. Fields with defaults are left out.
pub(super) fn write(policy: &Policy) -> String {
    let section = document();
    Item::Map(section.write(&Document::of(policy, section.defaults()))).document()
}

/// The declared fields, for documentation.
pub(super) fn outline() -> Vec<FieldOutline> {
    document().outline()
}

impl Document {
    /// A single profile with the default name is written as `evictable`.
    fn of(policy: &Policy, mut document: Document) -> Self {
        document.policy = policy.clone();
        match policy.profiles.as_slice() {
            // One profile of the default name is what `evictable` makes, and reads shorter.
            [one] if one.name == DEFAULT_PROFILE => document.evictable = one.evictable.clone(),
            profiles => document.profiles = profiles.iter().map(NamedProfile::of).collect(),
        }
        document
    }

    /// The profiles that strategies refer to.
    fn named_profiles(&self) -> Vec<Profile> {
        if self.profiles.is_empty() {
            let (name, evictable) = (DEFAULT_PROFILE.to_owned(), self.evictable.clone());
            return vec![Profile { name, evictable }];
        }
        self.profiles.iter().map(|named| named.profile.clone()).collect()
    }
}

impl NamedProfile {
    fn of(profile: &Profile) -> Self {
        NamedProfile { profile: profile.clone(), place: None }
    }
}

fn defaults() -> Policy {
    Policy {
        exact: false,
        warnings: Vec::new(),
        scheduler: SchedulerProfile::default(),
        other_schedulers: Vec::new(),
        interval: SignedDuration::from_mins(1),
        dry_run: false,
        node_selector: None,
        usage: usage().defaults(),
        grace_period: None,
        limits: limits().defaults(),
        cooldown: cooldown().defaults(),
        ramp: None,
        windows: windows().defaults(),
        safety: safety().defaults(),
        guards: Vec::new(),
        approval: approval().defaults(),
        forecast: forecast().defaults(),
        steering: steering().defaults(),
        rightsizing: rightsizing().defaults(),
        strategies: Vec::new(),
        profiles: Vec::new(),
    }
}

/// Declares a whole policy.
fn document() -> Section<Document> {
    let section = Section::new(Document {
        basis: Basis::Actual,
        evictable: evictable().defaults(),
        profiles: Vec::new(),
        policy: defaults(),
    });
    all_strategies(sections(profiles(general(section)))).check(|f, document| {
        check_profiles(f, document);
        check_usage(f, &document.policy);
        limits::check_grace_period(f, "gracePeriod", document.policy.grace_period);
        approval::check(f, &document.policy);
        node_utilization::check(f, "strategies", &document.policy.strategies);
        steering::check(f, &document.policy);
        windows::check(f, &document.policy);
        guards::check(f, &document.policy);
    })
}

fn general(section: Section<Document>) -> Section<Document> {
    section
        .computed("apiVersion", constant(VERSION), |_| (), |_, ()| ())
        .required(VERSION)
        .always_written()
        .shown_as(VERSION)
        .computed("kind", constant("Policy"), |_| (), |_, ()| ())
        .required("Policy")
        .always_written()
        .shown_as("Policy")
        .field("interval", duration(ONE_SECOND), |d| &mut d.policy.interval)
        .help("How often to look at the cluster and decide.")
        .always_written()
        .field("basis", basis(), |d| &mut d.basis)
        .help("The usage that strategies compare. A strategy may set its own.")
        .field("dryRun", boolean(), |d| &mut d.policy.dry_run)
        .help("Decide and report, but evict nothing. A good start.")
        .field("nodeSelector", selector(), |d| &mut d.policy.node_selector)
        .help(
            "The nodes that strategies look at; an empty selector means all nodes. Other nodes give no pods, and strategies that look for a better node, such as those of utilization, spread and affinity, choose none of them. The replacement of a pod that only has to leave, for a taint or its age, may land on them.",
        )
        .field("usage", map(usage()), |d| &mut d.policy.usage)
        .help("How usage is measured. It matters to strategies that compare actual usage.")
}

fn profiles(section: Section<Document>) -> Section<Document> {
    section
        .field("evictable", map(evictable()), |d| &mut d.evictable)
        .help("Which pods may be evicted at all. Static pods and mirror pods never are.")
        .field("profiles", maps("profiles", profile()), |d| &mut d.profiles)
        .help(
            "Several sets of such rules with names, instead of `evictable`. A strategy chooses one by `profile: batch` in its arguments; a strategy that does not uses the first one.",
        )
        .off("\n- {name: batch, evictable: {minReplicas: 1}}")
        .field("gracePeriod", duration(SignedDuration::ZERO).optional(), |d| {
            &mut d.policy.grace_period
        })
        .help("The termination grace period of evicted pods, instead of their own. With 0, the API server forgets a pod whose containers still run.")
        .off("30s")
}

fn profile() -> Section<NamedProfile> {
    let profile = Profile { name: String::new(), evictable: evictable().defaults() };
    Section::new(NamedProfile::of(&profile))
        .field("name", text(), |p| &mut p.profile.name)
        .help("The name that strategies refer to.")
        .required("a name, for strategies to refer to")
        .field("evictable", map(evictable()), |p| &mut p.profile.evictable)
        .help("The rules, with the fields of `evictable` above.")
        .check(|f, p| p.place = f.place().map(|_| f.place_of("name")))
}

fn sections(section: Section<Document>) -> Section<Document> {
    section
        .field("limits", map(limits()), |d| &mut d.policy.limits)
        .help("How much may be evicted. `none` means no limit; 0 means nothing at all.")
        .field("cooldown", map(cooldown()), |d| &mut d.policy.cooldown)
        .help("How long a workload is left alone after an eviction.")
        .field("ramp", map_or_none(ramp()), |d| &mut d.policy.ramp)
        .help(help::RAMP)
        .off("{watch: 2m}")
        .field("windows", map(windows()), |d| &mut d.policy.windows)
        .help(
            "When evictions are allowed. Outside of the windows evenkeel observes and plans as always.",
        )
        .field("safety", map(safety()), |d| &mut d.policy.safety)
        .help("When the cluster itself is unhealthy, nothing is evicted.")
        .field("guards", maps("guards", guard()), |d| &mut d.policy.guards)
        .help(help::GUARDS)
        .off(GUARDS)
        .field("approval", map(approval()), |d| &mut d.policy.approval)
        .help("Whether a person has to agree before pods are evicted.")
        .field("forecast", map(forecast()), |d| &mut d.policy.forecast)
        .help(
            "Before evenkeel evicts a pod, it forecasts where the scheduler will place the replacement.",
        )
        .field("steering", map(steering()), |d| &mut d.policy.steering)
        .help(help::STEERING)
        .field("rightsizing", map(rightsizing()), |d| &mut d.policy.rightsizing)
        .help(help::RIGHTSIZING)
}

/// The guards of the example.
const GUARDS: &str = "
- {name: critical-alerts, query: 'ALERTS{alertstate=\"firing\",severity=\"critical\"}'}
- {name: errors, query: 'job:errors:ratio_rate5m', above: 0.05, scope: workload, for: 1m, recover: 10m, missing: allow}";

fn all_strategies(section: Section<Document>) -> Section<Document> {
    section
        .custom(
            "strategies",
            strategies::outline(),
            Box::new(read_strategies),
            Box::new(|document| {
                let profiles = &document.policy.profiles;
                let strategies = &document.policy.strategies;
                let items = strategies.iter().filter_map(|s| strategies::write(s, profiles));
                Some(Item::List(items.collect()))
            }),
        )
        .help("The strategies to run, in this order. Each item is one strategy with its arguments.")
        .required(SOME_STRATEGY)
        .always_written()
}

const SOME_STRATEGY: &str = "a list with at least one strategy, such as lowNodeUtilization";

/// Reads the strategies. They come last, because they refer to the basis and the profiles.
fn read_strategies(document: &mut Document, spot: Spot<'_, '_>) {
    // Before the strategies, because each of them refers to a profile.
    document.policy.profiles = document.named_profiles();
    let empty =
        spot.node().is_some_and(|n| n.value == Value::List(Vec::new()) || n.value == Value::Null);
    if empty {
        spot.refuse::<()>(Code::OutOfRange, SOME_STRATEGY);
        return;
    }
    let (basis, profiles) = (document.basis, &document.policy.profiles);
    let strategies = spot.list("strategies", |item| strategies::read(item, basis, profiles));
    document.policy.strategies = strategies.unwrap_or_default();
}

/// Warns of expected usage that no strategy weighs.
fn check_usage(f: &mut Fields<'_, '_>, policy: &Policy) {
    if policy.usage.ahead.is_some() && !policy.weighs_usage() && !policy.has_ceilings() {
        let place = f.place_below("usage", "ahead");
        let sentence = "has no effect, because every strategy compares requests";
        f.warn_at(Code::Ignored, &place, sentence);
    }
}

fn check_profiles(f: &mut Fields<'_, '_>, document: &Document) {
    if f.has("evictable") && f.has("profiles") {
        let sentence = "profiles and evictable exclude each other; keep one of them";
        f.complain(Code::Conflict, "profiles", sentence);
    }
    for (i, named) in document.profiles.iter().enumerate() {
        let name = &named.profile.name;
        let earlier = &document.profiles[..i];
        // A missing name is reported already.
        let repeated = !name.is_empty() && earlier.iter().any(|p| p.profile.name == *name);
        if let Some(place) = named.place.clone().filter(|_| repeated) {
            f.complain_at(Code::Conflict, &place, "another profile has this name");
        }
        let is_used = document.policy.strategies.iter().any(|strategy| strategy.profile == i);
        if let Some(place) = named.place.as_ref().filter(|_| !is_used) {
            f.warn_at(Code::Ignored, place, "no strategy uses this profile");
        }
    }
}

#[cfg(test)]
pub(in crate::policy) mod tests;
