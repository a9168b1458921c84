//! A release of Kubernetes, as far as it changes what kube-scheduler decides.

use std::fmt;
use std::str::FromStr;

/// A minor release of Kubernetes, such as 1.36.
///
/// The differences between the schedulers of 1.31 to 1.37 that matter to the forecast:
///
/// | release | change |
/// |---|---|
/// | 1.33 | NodeResourcesBalancedAllocation skips pods without requests |
/// | 1.33 | NodePorts counts the host ports of sidecars |
/// | 1.36 | NodeResourcesBalancedAllocation scores the change of the balance, not the balance |
///
/// Not covered: since 1.37, VolumeBinding prefers nodes with free capacity for new volumes, if
/// their driver reports it. In 1.31, NodeResourcesFit does not add the requests of sidecars to
/// those of the other containers of a pod that has a node (`calculateResource` in
/// pkg/scheduler/framework/types.go of 1.31 and 1.32).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KubernetesRelease {
    minor: u32,
}

impl KubernetesRelease {
    /// The oldest release whose scheduler is known. Older ones are treated like it.
    pub const OLDEST: Self = Self::new(31);
    /// The newest release whose scheduler is known. Newer ones are treated like it.
    pub const NEWEST: Self = Self::new(37);

    /// Creates the release 1.`minor`.
    pub const fn new(minor: u32) -> Self {
        KubernetesRelease { minor }
    }

    /// Returns true if the scheduler of the release is known.
    pub fn is_known(self) -> bool {
        (Self::OLDEST..=Self::NEWEST).contains(&self)
    }

    /// Returns the warning about a release whose scheduler is not known.
    pub fn warning(self) -> Option<String> {
        let (oldest, newest) = (Self::OLDEST, Self::NEWEST);
        (!self.is_known()).then(|| {
            format!(
                "forecasts may be wrong: Kubernetes {self} is not between {oldest} and {newest}, whose schedulers are known"
            )
        })
    }

    /// Returns true if NodeResourcesBalancedAllocation scores pods without requests.
    pub(crate) fn balances_pods_without_requests(self) -> bool {
        self < Self::new(33)
    }

    /// Returns true if NodePorts counts the host ports of sidecars (pkg/scheduler/util/utils.go of
    /// Kubernetes 1.33, and plugins/nodeports/node_ports.go of 1.32).
    pub(crate) fn counts_ports_of_sidecars(self) -> bool {
        self >= Self::new(33)
    }

    /// Returns true if NodeResourcesBalancedAllocation scores the change that the pod makes, and
    /// not the balance that follows (kubernetes/kubernetes#135573).
    pub(crate) fn balance_counts_the_change(self) -> bool {
        self >= Self::new(36)
    }
}

impl Default for KubernetesRelease {
    /// The newest known release.
    fn default() -> Self {
        Self::NEWEST
    }
}

impl fmt::Display for KubernetesRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.minor)
    }
}

/// A text that does not name a release.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a version of Kubernetes, such as 1.34 or v1.34.2")]
pub struct UnknownRelease;

impl FromStr for KubernetesRelease {
    type Err = UnknownRelease;

    /// Parses `1.34`, `v1.34.2` and `v1.34.2-gke.100`.
    fn from_str(text: &str) -> Result<Self, UnknownRelease> {
        let rest = text.strip_prefix('v').unwrap_or(text);
        let rest = rest.strip_prefix("1.").ok_or(UnknownRelease)?;
        let end = rest.find(|c: char| !c.is_ascii_digit());
        let (minor, rest) = rest.split_at(end.unwrap_or(rest.len()));
        if !(rest.is_empty() || rest.starts_with(['.', '-', '+'])) {
            return Err(UnknownRelease);
        }
        minor.parse().map(Self::new).map_err(|_| UnknownRelease)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_read_from_every_form_of_a_version() {
        for text in ["1.34", "v1.34", "v1.34.2", "1.34+", "v1.34.2-gke.100", "v1.34.0+k3s1"] {
            assert_eq!(text.parse(), Ok(KubernetesRelease::new(34)), "{text}");
        }
        for text in ["", "1", "1.", "2.0", "1.x", "1.34x", "latest"] {
            assert_eq!(text.parse::<KubernetesRelease>(), Err(UnknownRelease), "{text}");
        }
    }

    #[test]
    fn releases_are_ordered_by_number() {
        assert!(KubernetesRelease::new(9) < KubernetesRelease::OLDEST);
        assert!(!KubernetesRelease::new(30).is_known());
        assert!(KubernetesRelease::new(31).is_known());
        assert!(!KubernetesRelease::new(38).is_known());
        assert_eq!(KubernetesRelease::new(34).to_string(), "1.34");
    }
}
