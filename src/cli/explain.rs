//! `evenkeel explain`: one pod, one node or one workload, from a live cluster or from a file.

use std::io::Write;

use crate::decide::explain::{Explanation, Subject};

use super::plan::{self, Look, Looked, Output};
use super::show::Screen;
use super::{Shared, complain};

mod node;
mod page;
mod pod;
mod spark;

const EXAMPLES: &str = "\
Examples:
  evenkeel explain pod shop/web-5d9c7b-x2x4z     why it goes or stays, and where it would land
  evenkeel explain node n1 --look 5m             how it stands; watches its usage for 5 minutes
  evenkeel explain workload shop/web             its pods, its budgets, what is remembered of it
  evenkeel explain pod web-0 --from cluster.json

A pod is NAMESPACE/NAME, or its name alone where no other namespace has it. A workload is what
controls pods at the top, such as a Deployment: NAMESPACE/NAME, KIND/NAME, NAMESPACE/KIND/NAME or
its name alone. A file for --from is one for plan; with the ConfigMap of the ledger in it, earlier
evictions count as well. It needs no right that plan does not need.";

/// Decides as plan does, and tells all that there is to tell about one thing. Nothing is evicted.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// What sort of thing
    #[arg(value_enum)]
    what: What,
    /// Its name: `shop/web-0`
    name: String,
    #[command(flatten)]
    look: Look,
    /// List every node and every pod
    #[arg(short = 'v', long)]
    all: bool,
    #[command(flatten)]
    pub(super) shared: Shared,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum What {
    #[value(aliases = ["pods", "po"])]
    Pod,
    #[value(aliases = ["nodes", "no"])]
    Node,
    #[value(aliases = ["workloads"])]
    Workload,
}

/// Looks, explains and prints.
pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let subject = match args.what {
        What::Pod => Subject::Pod(args.name.clone()),
        What::Node => Subject::Node(args.name.clone()),
        What::Workload => Subject::Workload(args.name.clone()),
    };
    let Looked {
        engine,
        snapshot,
        now,
        head,
        warnings,
        ..
    } = plan::look(&args.look, &args.shared, "looked at")?;
    let explanation = engine.explain(&snapshot, &subject, now)?;
    match args.look.output {
        Output::Text => {
            let page = page::Page {
                explanation: &explanation,
                head: &head,
                all: args.all,
                screen: Screen::here(),
            };
            out.write_all(page.to_string().as_bytes())?;
        }
        Output::Json => {
            for warning in &warnings {
                complain(warning);
            }
            serde_json::to_writer_pretty(&mut *out, &explanation).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
    }
    Ok(())
}

/// An explanation as a page without colours, so many columns wide.
pub fn page_of(explanation: &Explanation, width: usize) -> String {
    page::Page {
        explanation,
        head: &[],
        all: false,
        screen: Screen {
            width,
            colours: false,
        },
    }
    .to_string()
}
