//! `evenkeel explain`: one pod, node or workload, of a live cluster or of a file.

use std::io::Write;

use crate::decide::explain::Subject;
use crate::view::explain::ExplanationText;

use super::plan::{self, InputArgs};
use super::{Shared, examples, screen};

/// Decides as plan does and prints every detail of one object. Evicts nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = examples::EXPLAIN)]
pub(super) struct ExplainArgs {
    /// Kind of the object
    #[arg(value_enum)]
    kind: SubjectKind,
    /// Name of the object, such as `shop/web-0`
    name: String,
    #[command(flatten)]
    input: InputArgs,
    /// List every node and every pod
    #[arg(short = 'v', long)]
    all: bool,
    #[command(flatten)]
    pub(super) shared: Shared,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum SubjectKind {
    #[value(aliases = ["pods", "po"])]
    Pod,
    #[value(aliases = ["nodes", "no"])]
    Node,
    #[value(aliases = ["workloads"])]
    Workload,
}

/// Explains the object and prints the result.
pub(super) fn run(args: &ExplainArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let subject = match args.kind {
        SubjectKind::Pod => Subject::Pod(args.name.clone()),
        SubjectKind::Node => Subject::Node(args.name.clone()),
        SubjectKind::Workload => Subject::Workload(args.name.clone()),
    };
    let prepared = plan::prepare(&args.input, &args.shared, "explanation from")?;
    let explanation = prepared.engine.explain(&prepared.snapshot, &subject, prepared.now)?;
    let text = ExplanationText {
        explanation: &explanation,
        head: &prepared.head,
        all: args.all,
        screen: screen(),
    };
    prepared.print(args.input.output, &text, &explanation, out)
}
