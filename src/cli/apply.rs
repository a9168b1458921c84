//! `evenkeel apply`: makes exactly the evictions of a plan that a person has read.

use std::path::{Path, PathBuf};

use anyhow::Context;
use jiff::Timestamp;
use serde::Deserialize;

use crate::cluster::clock;
use crate::model::approval::{Proposal, ProposedMove};

use super::run::RunArgs;
use super::{Misuse, examples, file};

/// Flags of `run` that have no effect in a single run.
const FOR_A_DAEMON: [&str; 8] = [
    "once",
    "listen",
    "status_listen",
    "descheduler_metrics",
    "leader_elect",
    "descheduling_interval",
    "secure_port",
    "bind_address",
];

/// Makes exactly the evictions of a plan file, each checked again.
#[derive(Debug, clap::Args)]
#[command(
    after_help = examples::APPLY,
    mut_args(|arg| if FOR_A_DAEMON.contains(&arg.get_id().as_str()) { arg.hide(true) } else { arg })
)]
pub(super) struct ApplyArgs {
    /// The plan, as `evenkeel plan -o json` writes it
    #[arg(value_name = "FILE")]
    plan: PathBuf,
    #[command(flatten)]
    run: RunArgs,
}

/// The parts of a plan that identify its evictions.
#[derive(Debug, Deserialize)]
#[serde(expecting = "a map")]
struct PlanFile {
    id: String,
    at: Timestamp,
    moves: Vec<ProposedMove>,
    proposed: Vec<ProposedMove>,
}

impl ApplyArgs {
    /// The single run that makes these evictions.
    pub(super) fn run(self) -> anyhow::Result<RunArgs> {
        let plan = read(&self.plan)?;
        let mut run = self.run;
        let expires = run.policy()?.0.approval.expires;
        let checked = plan.check(expires, clock::now());
        checked.with_context(|| file::label(&self.plan))?;
        run.make_only(plan);
        Ok(run)
    }
}

fn read(path: &Path) -> anyhow::Result<Proposal> {
    let text = file::text(path)?;
    parse(&text).map_err(|why| Misuse(format!("{}: {why}", file::label(path))).into())
}

fn parse(text: &str) -> Result<Proposal, String> {
    let file: PlanFile = serde_json::from_str(text).map_err(|error| {
        format!("{error}; expected a plan as `evenkeel plan -o json` writes it")
    })?;
    let mut moves = file.moves;
    moves.extend(file.proposed);
    if moves.is_empty() {
        return Err("the plan has no evictions".to_owned());
    }
    let (id, at) = (file.id, file.at);
    Ok(Proposal { id, at, moves, expires: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_plan_is_refused() {
        let error = parse("{\"moves\": []}").unwrap_err();
        assert!(error.contains("missing field `id`"), "{error}");
        let error = parse("null").unwrap_err();
        assert!(error.starts_with("invalid type: null, expected a map at"), "{error}");
        let none = r#"{"id": "0", "at": "2026-11-27T03:00:00Z", "moves": [],
            "proposed": []}"#;
        assert_eq!(parse(none).unwrap_err(), "the plan has no evictions");
    }
}
