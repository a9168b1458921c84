//! `evenkeel policy`, and how commands come by their policy.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::model::plan::short;
use crate::policy::{Policy, Rule};

use super::{Misuse, file};

/// What can be done with policies.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Read a policy and name everything that is wrong with it; exits with 2 if something is
    Check {
        /// The policy; `-` is standard input
        file: PathBuf,
    },
    /// Print a policy in the native format, such as one of descheduler; tells on standard error what has no effect
    Convert {
        /// The policy; `-` is standard input
        file: PathBuf,
    },
}

/// A policy and where it comes from.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) policy: Policy,
    pub(super) from: String,
}

/// Evens out what is really used, with room between the bounds so that nothing moves to and fro.
const BUILT_IN: &str = "\
apiVersion: evenkeel/v1alpha1
kind: Policy
strategies:
- lowNodeUtilization:
    basis: actual
    thresholds: {cpu: 30%, memory: 40%}
    targetThresholds: {cpu: 60%, memory: 70%}
";

/// Does what the command asks.
pub(super) fn run(command: &Command, out: &mut dyn Write) -> anyhow::Result<()> {
    match command {
        Command::Check { file } => {
            let policy = read(file)?;
            let label = file::label(file);
            for warning in warnings(&policy, &label) {
                writeln!(out, "{warning}")?;
            }
            Ok(writeln!(out, "{label}: ok: {}", sentence(&policy))?)
        }
        Command::Convert { file } => {
            let policy = read(file)?;
            for warning in warnings(&policy, &file::label(file)) {
                super::complain(&warning);
            }
            if policy.strategies.is_empty() {
                let sentence = "no strategy is enabled, and a native policy has at least one";
                return Err(Misuse(format!("{}: {sentence}", file::label(file))).into());
            }
            Ok(out.write_all(policy.to_native().as_bytes())?)
        }
    }
}

/// The policy in a file.
pub(super) fn read(path: &Path) -> anyhow::Result<Policy> {
    let text = file::text(path).map_err(|error| Misuse(format!("{error:#}")))?;
    Ok(Policy::parse(&file::label(path), &text).map_err(|error| Misuse(error.to_string()))?)
}

/// The policy in a file, or the one that is built in.
pub(super) fn read_or_built_in(path: Option<&Path>) -> anyhow::Result<Chosen> {
    if let Some(path) = path {
        return Ok(Chosen {
            policy: read(path)?,
            from: file::label(path),
        });
    }
    let policy =
        Policy::parse("built-in policy", BUILT_IN).map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok(Chosen {
        policy,
        from: "built in, --policy FILE takes yours".to_owned(),
    })
}

/// What a policy says to no effect, a line for each.
pub(super) fn warnings(policy: &Policy, file: &str) -> Vec<String> {
    policy
        .warnings
        .iter()
        .map(|w| format!("{file}:{}:{}: warning: {w}", w.line, w.column))
        .collect()
}

/// A policy in one clause: `1 strategy (LowNodeUtilization on actual usage), every 1m`.
pub(super) fn sentence(policy: &Policy) -> String {
    let names: Vec<String> = policy
        .strategies
        .iter()
        .map(|s| strategy(&s.rule))
        .collect();
    let count = match names.len() {
        1 => "1 strategy".to_owned(),
        n => format!("{n} strategies"),
    };
    let dry = if policy.dry_run { ", dry run" } else { "" };
    format!(
        "{count} ({}), every {}{dry}",
        names.join(", "),
        short(policy.interval)
    )
}

/// A strategy and what it weighs, where that is a question.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others weigh nothing")]
pub(super) fn strategy(rule: &Rule) -> String {
    match rule {
        Rule::LowNodeUtilization(args) => format!("{} on {}", rule.name(), args.basis.words()),
        Rule::HighNodeUtilization(args) => format!("{} on {}", rule.name(), args.basis.words()),
        _ => rule.name().to_owned(),
    }
}

impl crate::policy::Basis {
    /// As a sentence says it.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Actual => "actual usage",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_policy_is_sound() {
        let chosen = read_or_built_in(None).unwrap();
        assert_eq!(
            sentence(&chosen.policy),
            "1 strategy (LowNodeUtilization on actual usage), every 1m"
        );
    }

    #[test]
    fn a_policy_that_is_not_there_is_wrong_usage() {
        let error = read(Path::new("/no/such/policy.yaml")).unwrap_err();
        assert!(error.is::<Misuse>());
        assert!(
            error.to_string().starts_with("/no/such/policy.yaml: "),
            "{error}"
        );
    }
}
