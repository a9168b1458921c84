//! What commands are told of the cluster's scheduler.

use std::path::PathBuf;

use crate::policy::{Policy, SchedulerConfig};

use super::{Misuse, file};

/// How the scheduler is configured.
#[derive(Debug, clap::Args)]
pub(super) struct Scheduler {
    /// The file that kube-scheduler takes with --config, a `KubeSchedulerConfiguration`: where replacements land is
    /// foreseen by its profiles [default: as Kubernetes comes]
    #[arg(long, value_name = "FILE")]
    scheduler_config: Option<PathBuf>,
}

impl Scheduler {
    /// The policy with the profiles of the file, and what the forecast does not know of them, a line for each.
    pub(super) fn apply(&self, policy: Policy) -> anyhow::Result<(Policy, Vec<String>)> {
        let Some(path) = &self.scheduler_config else {
            return Ok((policy, Vec::new()));
        };
        let label = file::label(path);
        let text = file::text(path).map_err(|error| Misuse(format!("{error:#}")))?;
        let config =
            SchedulerConfig::parse(&label, &text).map_err(|error| Misuse(error.to_string()))?;
        let warnings = config
            .warnings
            .iter()
            .map(|w| format!("{label}:{}:{}: warning: {w}", w.line, w.column));
        let warnings = warnings.collect();
        Ok((policy.with_schedulers(config), warnings))
    }
}
