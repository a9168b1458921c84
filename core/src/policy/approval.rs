//! The section `approval`: evictions that wait until a person agrees.

use jiff::SignedDuration;

use super::Policy;
use crate::schema::compare::ONE_SECOND;
use crate::schema::kind::{boolean, duration, whole};
use crate::schema::problem::Code;
use crate::schema::read::Fields;
use crate::schema::section::Section;

/// Which evictions need the approval of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApprovalPolicy {
    /// Whether evictions need an approval at all.
    pub required: bool,
    /// The evictions of a cycle that need none.
    pub automatic: u32,
    /// The age at which a proposal is no longer valid, whether it is approved or not.
    pub expires: SignedDuration,
}

/// Declares `approval`.
pub(super) fn approval() -> Section<ApprovalPolicy> {
    Section::new(ApprovalPolicy {
        required: false,
        automatic: 0,
        expires: SignedDuration::from_hours(1),
    })
    .field("required", boolean(), |a| &mut a.required)
    .help(
        "Write the evictions of a plan into the ConfigMap `evenkeel-proposal`, and make them only after `evenkeel approve ID`. Each one is checked again, as without approval.",
    )
    .field("automatic", whole(0), |a| &mut a.automatic)
    .help(
        "How many evictions of a cycle need no approval. With 3, only the others wait, and none of them is among the 3 of a later cycle before its proposal expires. Those of HighNodeUtilization always wait, because half an emptied node saves nothing.",
    )
    .field("expires", duration(ONE_SECOND), |a| &mut a.expires)
    .help(
        "The age at which a proposal, or a plan for `evenkeel apply`, is no longer valid, approved or not. Then a new one is proposed. With `required`, it must be longer than `interval`.",
    )
    .check(|f, a| check_automatic(f, *a))
}

/// Refuses approvals that end before the next cycle, which would carry them out.
pub(super) fn check(f: &mut Fields<'_, '_>, policy: &Policy) {
    let (approval, interval) = (policy.approval, policy.interval);
    if approval.required && approval.expires <= interval {
        let sentence = format!(
            "is {:#}, but must be longer than interval, which is {interval:#}",
            approval.expires
        );
        let place = f.place_below("approval", "expires");
        f.complain_at(Code::OutOfRange, &place, sentence);
    }
}

fn check_automatic(f: &mut Fields<'_, '_>, approval: ApprovalPolicy) {
    if approval.automatic > 0 && !approval.required {
        let sentence = "has no effect without `required: true`";
        f.warn(Code::Ignored, "automatic", sentence);
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::native::tests::parse;

    #[test]
    fn automatic_evictions_need_a_rule_that_they_are_exempt_from() {
        let warnings = parse("approval: {automatic: 3}").unwrap().warnings;
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        let exempt = parse("approval: {required: true, automatic: 3}").unwrap();
        assert!(exempt.warnings.is_empty());
    }

    #[test]
    fn an_approval_lasts_until_the_next_cycle() {
        let hourly =
            |expires: &str| parse(&format!("interval: 1h\napproval: {{required: true{expires}}}"));
        assert!(hourly(", expires: 61m").is_ok());
        let error = hourly("").unwrap_err();
        let sentence = "approval.expires: is 1h, but must be longer than interval, which is 1h";
        assert!(error.contains(sentence), "{error}");
        assert!(parse("interval: 1h").is_ok(), "nothing waits for an approval");
    }
}
