//! When a workload's requests count as far from what it uses, and what is suggested in their place.

use super::problem::Code;
use super::read::Fields;
use super::scalar::percent;
use crate::values::Ratio;

/// How requests are suggested; nothing of it evicts or changes anything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RightsizingPolicy {
    /// The share of the samples of cpu that the suggested request covers. Of memory it covers all, for a pod that lacks
    /// memory is killed, where one that lacks cpu is slow.
    pub percentile: Ratio,
    /// What is put on top of that, as a share of it.
    pub headroom: Ratio,
    /// The larger of request and suggestion may exceed the smaller by this share of the smaller, and nothing is said.
    pub tolerance: Ratio,
    /// How many workloads the page and the metrics name, the worst first; with 0 nothing is computed at all.
    pub top: u32,
}

impl RightsizingPolicy {
    /// Whether anything is computed.
    pub const fn is_on(&self) -> bool {
        self.top > 0
    }
}

/// Reads the section `rightsizing`.
pub(super) fn rightsizing(f: &mut Fields<'_, '_>) -> RightsizingPolicy {
    let percents = |p| Ratio::percent(p).unwrap_or_default();
    let percentile = f
        .field("percentile")
        .scalar("a percentile from 1 to 100", |node| {
            percent(node).and_then(|p| {
                if p.get() < 0.01 {
                    Err(Code::OutOfRange)
                } else {
                    Ok(p)
                }
            })
        });
    RightsizingPolicy {
        percentile: percentile.unwrap_or(percents(95.0)),
        headroom: f.field("headroom").percent().unwrap_or(percents(15.0)),
        tolerance: f.field("tolerance").percent().unwrap_or(percents(30.0)),
        top: f.field("top").whole(0).unwrap_or(10),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use crate::policy::Policy;

    fn parse(rightsizing: &str) -> Result<Policy, String> {
        let text = format!(
            "apiVersion: evenkeel/v1alpha1\nkind: Policy\nrightsizing: {rightsizing}\nstrategies: [{{lowNodeUtilization: {{thresholds: {{cpu: 1%}}, targetThresholds: {{cpu: 2%}}}}}}]\n"
        );
        Policy::parse("policy.yaml", &text).map_err(|e| e.to_string())
    }

    #[test]
    fn it_is_on_unless_it_is_turned_off() {
        let default = parse("{}").unwrap().rightsizing;
        assert!(default.is_on() && default == Policy::default_native().rightsizing);
        assert!(!parse("{top: 0}").unwrap().rightsizing.is_on());
    }

    #[test]
    fn what_is_written_is_what_is_read_again() {
        for text in [
            "{}",
            "{percentile: 50, headroom: 0%}",
            "{tolerance: 12.5%, top: 3}",
            "{percentile: 99.5%, top: 0}",
        ] {
            let policy = parse(text).unwrap();
            let again = Policy::parse("native", &policy.to_native()).unwrap();
            assert_eq!(
                (again.rightsizing, again.warnings.len()),
                (policy.rightsizing, 0),
                "{}",
                policy.to_native()
            );
        }
    }

    #[test]
    fn a_file_of_descheduler_gets_the_default() {
        let text = "{apiVersion: descheduler/v1alpha2, kind: DeschedulerPolicy, profiles: []}";
        assert_eq!(
            Policy::parse("policy.yaml", text).unwrap().rightsizing,
            Policy::default_native().rightsizing
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert_snapshot!(parse("{percentile: 0, headroom: 120%, tolerance: far, top: -1, most: 3}").unwrap_err(), @"
        policy.yaml:3:22: rightsizing.percentile: found 0, expected a percentile from 1 to 100
          | rightsizing: {percentile: 0, headroom: 120%, tolerance: far, top: -1, most: 3}
          |                      ^
        policy.yaml:3:35: rightsizing.headroom: found 120%, expected a percentage from 0% to 100%
          | rightsizing: {percentile: 0, headroom: 120%, tolerance: far, top: -1, most: 3}
          |                                   ^
        policy.yaml:3:52: rightsizing.tolerance: found far, expected a percentage from 0% to 100%
          | rightsizing: {percentile: 0, headroom: 120%, tolerance: far, top: -1, most: 3}
          |                                                    ^
        policy.yaml:3:62: rightsizing.top: found -1, expected a whole number from 0 on
          | rightsizing: {percentile: 0, headroom: 120%, tolerance: far, top: -1, most: 3}
          |                                                              ^
        policy.yaml:3:66: rightsizing.most: unknown field; allowed here: percentile, headroom, tolerance, top
          | rightsizing: {percentile: 0, headroom: 120%, tolerance: far, top: -1, most: 3}
          |                                                                  ^
        ");
    }
}
