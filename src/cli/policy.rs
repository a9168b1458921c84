//! `evenkeel policy`, and the loading of policies for the other commands.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::policy::{Policy, Rule};
use crate::schema::problem::{PolicyError, Problem};
use crate::values::text::{count, duration};
use crate::view::words;

use super::{Misuse, complain, file};

/// Work with policies.
#[derive(Debug, clap::Subcommand)]
pub(super) enum PolicyCommand {
    /// Validate a policy and print every problem; the exit status is 2 if there is one
    Check {
        /// Policy; `-` is standard input
        file: PathBuf,
    },
    /// Print a policy, such as one for descheduler, in the native format; warns about settings
    /// without effect
    Convert {
        /// Policy; `-` is standard input
        file: PathBuf,
    },
}

/// Refuses a policy that names a PriorityClass which the cluster does not have. `classes` are the
/// values of its PriorityClasses; `None` if a file lacks them.
pub(super) fn check_classes(
    policy: &Policy,
    classes: Option<&BTreeMap<String, i32>>,
) -> anyhow::Result<()> {
    match classes.and_then(|classes| policy.bad_class(classes)) {
        Some(unknown) => Err(Misuse(unknown.to_string()).into()),
        None => Ok(()),
    }
}

/// A policy and where it comes from.
#[derive(Debug)]
pub(super) struct LoadedPolicy {
    pub(super) policy: Policy,
    pub(super) source: String,
}

impl LoadedPolicy {
    /// A line for the head of the output.
    pub(super) fn line(&self) -> String {
        format!("policy: {}: {}", self.source, sentence(&self.policy))
    }
}

/// Checks or converts a policy.
pub(super) fn run(command: &PolicyCommand, out: &mut dyn Write) -> anyhow::Result<()> {
    match command {
        PolicyCommand::Check { file } => check(file, out),
        PolicyCommand::Convert { file } => convert(file, out),
    }
}

fn check(path: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    let policy = parse(path, PolicyError::with_every_problem)?;
    let label = file::label(path);
    for warning in warnings(&policy.warnings, &label) {
        writeln!(out, "{warning}")?;
    }
    Ok(writeln!(out, "{label}: ok: {}", sentence(&policy))?)
}

fn convert(path: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    let policy = read(path)?;
    let label = file::label(path);
    // Standard output is the policy alone.
    for warning in warnings(&policy.warnings, &label) {
        complain(&warning);
    }
    if policy.strategies.is_empty() {
        let problem =
            "found no enabled strategy, expected at least one, as the native format requires";
        return Err(Misuse(format!("{label}: {problem}")).into());
    }
    Ok(out.write_all(policy.to_native().as_bytes())?)
}

/// Reads the policy in a file. A problem in it is wrong usage.
pub(super) fn read(path: &Path) -> anyhow::Result<Policy> {
    parse(path, PolicyError::to_string)
}

/// Returns the text of a file. That of standard input is kept, because it can be read only once,
/// and some commands read a policy again.
fn text(path: &Path) -> anyhow::Result<String> {
    static STDIN: OnceLock<String> = OnceLock::new();
    if path != Path::new("-") {
        return file::text(path);
    }
    if let Some(text) = STDIN.get() {
        return Ok(text.clone());
    }
    let text = file::text(path)?;
    Ok(STDIN.get_or_init(|| text).clone())
}

fn parse(path: &Path, describe: fn(&PolicyError) -> String) -> anyhow::Result<Policy> {
    let text = text(path).map_err(|error| Misuse(format!("{error:#}")))?;
    let policy = Policy::parse(&file::label(path), &text);
    Ok(policy.map_err(|error| Misuse(describe(&error)))?)
}

/// Reads the policy in a file, or returns the built-in one.
pub(super) fn read_or_built_in(path: Option<&Path>) -> anyhow::Result<LoadedPolicy> {
    if let Some(path) = path {
        return Ok(LoadedPolicy { policy: read(path)?, source: file::label(path) });
    }
    let policy = Policy::parse("built-in policy", Policy::BUILT_IN);
    Ok(LoadedPolicy {
        policy: policy.map_err(|error| anyhow::anyhow!("{error}"))?,
        source: "built-in (see --policy)".to_owned(),
    })
}

/// The settings without effect, a line for each.
pub(super) fn warnings(warnings: &[Problem], label: &str) -> Vec<String> {
    let shown = |warning: &Problem| {
        let (line, column) = (warning.line, warning.column);
        format!("{label}:{line}:{column}: warning: {warning}")
    };
    warnings.iter().map(shown).collect()
}

/// A policy in one clause: `1 strategy (LowNodeUtilization on actual usage), every 1m`.
pub(super) fn sentence(policy: &Policy) -> String {
    let names: Vec<String> = policy.strategies.iter().map(|entry| strategy(&entry.rule)).collect();
    let list = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    format!(
        "{}{list}, every {}{}",
        count(names.len(), "strategy"),
        duration(policy.interval),
        if policy.dry_run { ", dry run" } else { "" }
    )
}

/// The name of a strategy, with its basis if it can have more than one.
#[expect(clippy::wildcard_enum_match_arm, reason = "only these two strategies have a basis")]
pub(super) fn strategy(rule: &Rule) -> String {
    match rule {
        Rule::LowNodeUtilization(args) => {
            format!("{} on {}", rule.name(), words::basis(args.basis))
        }
        Rule::HighNodeUtilization(args) => {
            format!("{} on {}", rule.name(), words::basis(args.basis))
        }
        _ => rule.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_policy_is_valid() {
        let loaded = read_or_built_in(None).unwrap();
        assert_eq!(
            sentence(&loaded.policy),
            "1 strategy (LowNodeUtilization on actual usage), every 1m"
        );
    }

    #[test]
    fn a_missing_policy_file_is_wrong_usage() {
        let error = read(Path::new("/no/such/policy.yaml")).unwrap_err();
        assert!(error.is::<Misuse>());
        assert!(error.to_string().starts_with("/no/such/policy.yaml: "), "{error}");
    }
}
