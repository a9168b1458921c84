//! The section `ramp`: the first eviction of a workload is a trial.

use jiff::SignedDuration;

use crate::schema::compare::ONE_SECOND;
use crate::schema::kind::duration;
use crate::schema::section::Section;

/// How the first eviction of a workload is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RampPolicy {
    /// How long the replacement has to be Ready before the next pod of the workload goes.
    pub watch: SignedDuration,
}

/// Declares `ramp`.
pub(super) fn ramp() -> Section<RampPolicy> {
    Section::new(RampPolicy { watch: SignedDuration::from_mins(2) })
        .field("watch", duration(ONE_SECOND), |r| &mut r.watch)
        .help(
            "How long the replacement has to be Ready, without interruption, before the next pod of the workload may go.",
        )
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use crate::policy::native::tests::parse;

    fn watch(ramp: &str) -> Option<i64> {
        parse(ramp).unwrap().ramp.map(|ramp| ramp.watch.as_secs())
    }

    #[test]
    fn a_ramp_is_off_unless_the_policy_has_one() {
        for off in ["", "ramp:", "ramp: none"] {
            assert_eq!(watch(off), None, "{off}");
        }
        assert_eq!(watch("ramp: {}"), Some(120));
        assert_eq!(watch("ramp: {watch: 5m}"), Some(300));
    }

    #[test]
    fn the_exact_mode_has_no_ramp() {
        assert_eq!(parse("ramp: {}").unwrap().exactly().ramp, None);
    }

    #[test]
    fn problems_name_their_fields() {
        assert_snapshot!(
            parse("ramp: 2m").unwrap_err(),
            @"policy.yaml:3:7: ramp: found 2m, expected a map of fields, or none"
        );
        assert_snapshot!(parse("ramp: {watch: 0s, wait: 1m}").unwrap_err(), @"
        policy.yaml:3:15: ramp.watch: found 0s, expected a duration from 1s to 8760h, such as 90s, 5m or 1h30m
        policy.yaml:3:19: ramp.wait: unknown field; allowed here: watch
        ");
    }
}
