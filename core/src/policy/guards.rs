//! The list `guards`: queries that stop evictions while their value is above a limit.

use jiff::SignedDuration;

use super::Policy;
use crate::schema::kind::{Choice, choice, duration, number, text};
use crate::schema::problem::Code;
use crate::schema::read::Fields;
use crate::schema::section::Section;
use crate::values::query_value::QueryValue;

/// A query that stops evictions in its scope while its value is above a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Its name in reasons and metrics.
    pub name: String,
    /// The PromQL query, with the placeholders of usage queries.
    pub query: String,
    /// The limit: evictions stop while a value is above it.
    pub above: QueryValue,
    /// The evictions that one series stops.
    pub scope: GuardScope,
    /// How long a value must be above the limit before evictions stop.
    pub hold: SignedDuration,
    /// How long it must then be within the limit before evictions go on.
    pub recover: SignedDuration,
    /// Whether evictions stop while there is no answer, or while a series is missing.
    pub missing: WhenMissing,
}

crate::names! {
    /// The evictions that one series of a guard stops.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum GuardScope {
        /// All evictions.
        Cluster = "cluster",
        /// Those in the namespace that its labels name.
        Namespace = "namespace",
        /// Those of the workload that its labels name.
        Workload = "workload",
    }
    /// The word for it in policies and on the status page.
    pub fn label;
}

/// The meaning of a missing answer or series of a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenMissing {
    /// Evictions stop.
    Stop,
    /// Evictions go on.
    Allow,
}

const SCOPES: [Choice<GuardScope>; 3] = [
    (
        GuardScope::Cluster.label(),
        GuardScope::Cluster,
        "all evictions, by the highest value of all series",
    ),
    (
        GuardScope::Namespace.label(),
        GuardScope::Namespace,
        "those of the namespace in the label `namespace`",
    ),
    (
        GuardScope::Workload.label(),
        GuardScope::Workload,
        "those of the workload that the label `namespace` names together with the first of the labels `deployment`, `statefulset`, `daemonset`, `workload` (any kind) and `pod` that the series has",
    ),
];

const MISSING: [Choice<WhenMissing>; 2] = [
    (
        "stop",
        WhenMissing::Stop,
        "evictions stop: all of them without an answer, and those of the namespace or workload without its series",
    ),
    ("allow", WhenMissing::Allow, "evictions go on as if the query were quiet"),
];

/// Declares one item of `guards`.
pub(super) fn guard() -> Section<Guard> {
    let section = Section::new(Guard {
        name: String::new(),
        query: String::new(),
        above: QueryValue::default(),
        scope: GuardScope::Cluster,
        hold: SignedDuration::ZERO,
        recover: SignedDuration::from_mins(5),
        missing: WhenMissing::Stop,
    })
    .field("name", text(), |g| &mut g.name)
    .help("The name of the guard, for reasons and metrics.")
    .required("a name, for reasons and metrics")
    .field("query", text(), |g| &mut g.query)
    .help("The PromQL query. Its result is a vector or a scalar.")
    .required("a PromQL query");
    limits(section)
}

fn limits(section: Section<Guard>) -> Section<Guard> {
    section
        .field("above", number(), |g| &mut g.above)
        .help("The limit: evictions stop while a value is above it.")
        .field("scope", choice(&SCOPES), |g| &mut g.scope)
        .help("The evictions that a series stops:")
        .field("for", duration(SignedDuration::ZERO), |g| &mut g.hold)
        .help("How long a value must be above the limit before evictions stop.")
        .field("recover", duration(SignedDuration::ZERO), |g| &mut g.recover)
        .help(
            "How long it must then be within the limit before evictions go on. The default is the usual range of a rate, which shows an improvement only after that time.",
        )
        .field("missing", choice(&MISSING), |g| &mut g.missing)
        .help(
            "The meaning of no usable answer for longer than `usage.staleAfter`, and of a missing series:",
        )
}

/// Checks that names are unique, and that Prometheus is set if and only if it is used.
pub(super) fn check(f: &mut Fields<'_, '_>, policy: &Policy) {
    let guards = &policy.guards;
    for (i, guard) in guards.iter().enumerate() {
        let earlier = &guards[..i];
        // A missing name is reported already.
        let repeated = !guard.name.is_empty() && earlier.iter().any(|g| g.name == guard.name);
        if repeated {
            let sentence = format!("two guards have the name {:?}", guard.name);
            let place = f.place_in_list("guards", i, "name");
            f.complain_at(Code::Conflict, &place, sentence);
        }
    }
    let usage = &policy.usage;
    if !f.sound() {
        return;
    }
    if usage.prometheus.is_some() && guards.is_empty() && !usage.reads_prometheus() {
        let place = f.place_below("usage", "prometheus");
        f.complain_at(Code::Conflict, &place, UNUSED);
    }
    if usage.prometheus.is_none() && !guards.is_empty() {
        f.complain(Code::MissingField, "guards", NO_URL);
    }
}

const NO_URL: &str = "they need the address of Prometheus: `usage: {prometheus: {url: \"http://prometheus.monitoring:9090\"}}`";
const UNUSED: &str =
    "unused; write `source: prometheus` or `fallback: prometheus` beside it, or guards";

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::policy::native::tests::messages;

    const PROMETHEUS: &str = "usage: {prometheus: {url: 'http://p:9090'}}";

    fn parse(usage: &str, guards: &str) -> Result<Policy, String> {
        let text = format!(
            "apiVersion: evenkeel/v1alpha1\nkind: Policy\nstrategies: [removeDuplicates]\n{usage}\n\
             guards:\n{guards}"
        );
        Policy::parse("policy.yaml", &text).map_err(|error| messages(&error))
    }

    #[test]
    fn a_guard_needs_a_name_and_a_query_and_stops_when_it_is_missing() {
        let policy = parse(PROMETHEUS, "- {name: alerts, query: ALERTS}").unwrap();
        let expected = Guard {
            name: "alerts".to_owned(),
            query: "ALERTS".to_owned(),
            above: QueryValue::default(),
            scope: GuardScope::Cluster,
            hold: SignedDuration::ZERO,
            recover: SignedDuration::from_mins(5),
            missing: WhenMissing::Stop,
        };
        assert_eq!(policy.guards, [expected]);
    }

    #[test]
    fn problems_name_their_fields() {
        let broken = "- {query: up}\n- {name: b, query: '', above: high, scope: pod, for: -1s}\n\
                      - {name: c, query: up, missing: ignore, limit: 3}";
        assert_snapshot!(parse(PROMETHEUS, broken).unwrap_err(), @"
        policy.yaml:6:3: guards[0].name: missing, expected a name, for reasons and metrics
        policy.yaml:7:20: guards[1].query: found \"\", expected text
        policy.yaml:7:31: guards[1].above: found high, expected a number
        policy.yaml:7:44: guards[1].scope: found pod, expected cluster, namespace or workload
        policy.yaml:7:54: guards[1].for: found -1s, expected a duration from 0s to 8760h, such as 90s, 5m or 1h30m
        policy.yaml:8:33: guards[2].missing: found ignore, expected stop or allow
        policy.yaml:8:41: guards[2].limit: unknown field; allowed here: name, query, above, scope, for, recover, missing
        ");
        let twice = "- {name: a, query: up}\n- {name: a, query: down}";
        assert_snapshot!(
            parse(PROMETHEUS, twice).unwrap_err(),
            @r#"policy.yaml:7:4: guards[1].name: two guards have the name "a""#
        );
    }

    #[test]
    fn guards_need_the_address_of_prometheus() {
        assert_snapshot!(
            parse("", "- {name: a, query: up}").unwrap_err(),
            @r#"policy.yaml:5:1: guards: they need the address of Prometheus: `usage: {prometheus: {url: "http://prometheus.monitoring:9090"}}`"#
        );
    }
}
