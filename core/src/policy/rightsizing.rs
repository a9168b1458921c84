//! The section `rightsizing`: reports of wrong requests, with recommendations.

use crate::schema::kind::{percent, percentile, whole};
use crate::schema::section::Section;
use crate::values::Ratio;

/// How requests are recommended. Rightsizing neither evicts nor changes anything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RightsizingPolicy {
    /// The share of the cpu samples that the recommended request covers. For memory it covers all
    /// samples, because a pod that lacks memory is killed, while a pod that lacks cpu is only slow.
    pub percentile: Ratio,
    /// The margin added to that, as a share of it.
    pub headroom: Ratio,
    /// No report while the larger of request and recommendation exceeds the smaller by at most this
    /// share.
    pub tolerance: Ratio,
    /// How many workloads the status page and the metrics list, the worst first; 0 turns
    /// rightsizing off.
    pub top: u32,
}

impl RightsizingPolicy {
    /// Whether recommendations are computed.
    pub const fn is_on(&self) -> bool {
        self.top > 0
    }
}

/// Declares `rightsizing`.
pub(super) fn rightsizing() -> Section<RightsizingPolicy> {
    let percents = |p| Ratio::percent(p).unwrap_or_default();
    Section::new(RightsizingPolicy {
        percentile: percents(95.0),
        headroom: percents(15.0),
        tolerance: percents(30.0),
        top: 10,
    })
    .field("percentile", percentile(), |r| &mut r.percentile)
    .help(
        "For cpu, the recommended request covers this percentile of the samples in `usage.window`, across all pods of a workload. For memory it covers every sample, because a pod that lacks memory is killed. A longer window knows more. The recommendation is for a pod: if that has several containers, it is for all of them together.",
    )
    .field("headroom", percent(), |r| &mut r.headroom)
    .help(
        "The margin added to that. The sum is rounded up to 10m and 16Mi, and never exceeds the pod's limit or the largest node.",
    )
    .field("tolerance", percent(), |r| &mut r.tolerance)
    .help(
        "No report if the larger of request and recommendation exceeds the smaller by at most this.",
    )
    .field("top", whole(0), |r| &mut r.top)
    .help(
        "How many workloads the status page and the metrics list. Workloads whose error is the largest share of the cluster come first. With 0, nothing is computed.",
    )
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use crate::policy::native::tests::parse;

    #[test]
    fn a_list_of_no_workloads_switches_it_off() {
        assert!(!parse("rightsizing: {top: 0}").unwrap().rightsizing.is_on());
    }

    #[test]
    fn problems_name_their_fields() {
        assert_snapshot!(parse("rightsizing: {percentile: 0, headroom: 120%, tolerance: far, top: -1, most: \
            3}").unwrap_err(), @"
        policy.yaml:3:27: rightsizing.percentile: found 0, expected a percentile from 1 to 100
        policy.yaml:3:40: rightsizing.headroom: found 120%, expected a percentage from 0% to 100%
        policy.yaml:3:57: rightsizing.tolerance: found far, expected a percentage from 0% to 100%
        policy.yaml:3:67: rightsizing.top: found -1, expected a whole number from 0 on
        policy.yaml:3:71: rightsizing.most: unknown field; allowed here: percentile, headroom, tolerance, top
        ");
    }
}
