//! The flag that names the scheduler's configuration.

use std::path::PathBuf;

use crate::policy::{Policy, SchedulerConfig};

use super::{Misuse, file};

/// The configuration of the cluster's scheduler.
#[derive(Debug, clap::Args)]
pub(super) struct SchedulerArgs {
    /// KubeSchedulerConfiguration of the cluster, as kube-scheduler takes with --config; its
    /// profiles predict where replacements land [default: the defaults of Kubernetes]
    #[arg(long, value_name = "FILE")]
    scheduler_config: Option<PathBuf>,
}

impl SchedulerArgs {
    /// The policy with the scheduler profiles of the file, and a warning for each setting that the
    /// forecast ignores.
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
            .map(|warning| {
                let (line, column) = (warning.line, warning.column);
                format!("{label}:{line}:{column}: warning: {warning}")
            })
            .collect();
        Ok((policy.with_schedulers(config), warnings))
    }
}
