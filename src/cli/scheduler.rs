//! The flags that describe the cluster's scheduler.

use std::path::PathBuf;

use crate::policy::{KubernetesRelease, Policy, SchedulerConfig};

use super::{Misuse, file, policy};

/// The cluster's scheduler.
#[derive(Debug, clap::Args)]
pub(super) struct SchedulerArgs {
    /// KubeSchedulerConfiguration of the cluster, as kube-scheduler takes with --config; its
    /// profiles predict where replacements land [default: the defaults of Kubernetes]
    #[arg(long, value_name = "FILE")]
    scheduler_config: Option<PathBuf>,
    /// Release of the cluster's kube-scheduler, such as 1.34; formulas differ between releases
    /// [default: that of the API server; without one, the newest that evenkeel knows]
    #[arg(long, value_name = "VERSION")]
    kubernetes_version: Option<KubernetesRelease>,
}

impl SchedulerArgs {
    /// The release that the flag names.
    pub(super) const fn release(&self) -> Option<KubernetesRelease> {
        self.kubernetes_version
    }

    /// The policy with the release and the scheduler profiles of the file, and a warning for each
    /// setting that the forecast ignores.
    pub(super) fn apply(&self, policy: Policy) -> anyhow::Result<(Policy, Vec<String>)> {
        let policy = match self.kubernetes_version {
            Some(release) => policy.with_release(release),
            None => policy,
        };
        let mut warnings: Vec<String> =
            self.kubernetes_version.and_then(KubernetesRelease::warning).into_iter().collect();
        let Some(path) = &self.scheduler_config else {
            return Ok((policy, warnings));
        };
        let label = file::label(path);
        let text = file::text(path).map_err(|error| Misuse(format!("{error:#}")))?;
        let config =
            SchedulerConfig::parse(&label, &text).map_err(|error| Misuse(error.to_string()))?;
        warnings.extend(policy::warnings(&config.warnings, &label));
        Ok((policy.with_schedulers(config), warnings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_that_the_forecast_does_not_know_is_a_warning() {
        let warnings = |minor| {
            let release = Some(KubernetesRelease::new(minor));
            let args = SchedulerArgs { scheduler_config: None, kubernetes_version: release };
            args.apply(Policy::default_native()).unwrap().1.join("\n")
        };
        assert_eq!(
            warnings(99),
            "forecasts may be wrong: Kubernetes 1.99 is not between 1.31 and 1.37, whose \
             schedulers are known"
        );
        assert_eq!(warnings(34), "");
    }
}
