//! `evenkeel approve`: shows the evictions that wait for an approval, and approves them.

use std::io::Write;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};

use crate::cluster::Cluster;
use crate::cluster::clock;
use crate::cluster::ledger_store::StoreError;
use crate::cluster::pauses;
use crate::cluster::proposal_store::{ProposalStore, StoredProposal};
use crate::model::approval::{Proposal, ProposalFlaw};
use crate::values::text::{count, list};
use crate::view::table::Table;

use super::{Misuse, examples, runtime, screen};

/// The most nodes in a row; the rest is a number.
const MOST_NODES: usize = 3;
/// The most times that an approval is written.
const ATTEMPTS: u32 = 5;
const IGNORED: &str = "evenkeel ignores an approval of it";

/// Shows the evictions that wait for an approval, or approves them.
#[derive(Debug, clap::Args)]
#[command(after_help = examples::APPROVE)]
pub(super) struct ApproveArgs {
    /// The id of the proposal to approve [default: show the proposal]
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Namespace of the proposal
    #[arg(short, long, value_name = "NAME", default_value = "kube-system")]
    namespace: String,
    /// Name of the ConfigMap of the proposal
    #[arg(long, value_name = "NAME", default_value = "evenkeel-proposal")]
    proposal: String,
    /// Kubeconfig of the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod's service
    /// account]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

pub(super) fn run(args: &ApproveArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let text = runtime()?.block_on(async {
        let cluster = Cluster::connect(args.kubeconfig.as_deref()).await?;
        let client = cluster.client();
        let store = ProposalStore::new(client.clone(), &args.namespace, &args.proposal);
        let Some(id) = &args.id else {
            let stored = store.read().await.map_err(anyhow::Error::msg)?;
            return Ok(shown(&stored, screen().width, clock::now()));
        };
        let by = pauses::user(client).await;
        approve(&store, id, by.as_deref()).await
    })?;
    Ok(out.write_all(text.as_bytes())?)
}

/// Approves the proposal with this id, as it is stored after another person or evenkeel has written
/// at the same moment.
async fn approve(store: &ProposalStore, id: &str, by: Option<&str>) -> anyhow::Result<String> {
    let mut attempts = ATTEMPTS;
    loop {
        let stored = store.read().await.map_err(anyhow::Error::msg)?;
        let proposal = approvable(&stored, id, clock::now()).map_err(Misuse)?;
        attempts -= 1;
        match store.approve(&stored, id, by).await {
            Err(StoreError::Conflict(_)) if attempts > 0 => {}
            Err(error) => return Err(error.into()),
            Ok(()) => {
                let evictions = count(proposal.moves.len(), "eviction");
                return Ok(format!("approved {id}: the next cycle makes up to {evictions}\n"));
            }
        }
    }
}

/// The stored proposal, if it has this id and is valid.
fn approvable<'s>(
    stored: &'s StoredProposal,
    id: &str,
    now: Timestamp,
) -> Result<&'s Proposal, String> {
    match &stored.proposal {
        Some(proposal) if proposal.id == id => match flaw(proposal, now) {
            None => Ok(proposal),
            Some(flaw) => Err(format!("proposal {id}: {flaw}; {IGNORED}")),
        },
        Some(other) => Err(format!(
            "found proposal {}, expected {id}: it was replaced; `evenkeel approve` shows the new \
             one",
            other.id
        )),
        None => Err(format!("found no proposal, expected {id}: nothing waits for an approval")),
    }
}

/// The reason why evenkeel ignores an approval.
fn flaw(proposal: &Proposal, now: Timestamp) -> Option<ProposalFlaw> {
    let lives = |expires: Timestamp| expires.duration_since(proposal.at);
    proposal.check(proposal.expires.map_or(SignedDuration::MAX, lives), now).err()
}

/// The proposal as a table.
fn shown(stored: &StoredProposal, width: usize, now: Timestamp) -> String {
    let Some(proposal) = &stored.proposal else {
        return "nothing waits for an approval\n".to_owned();
    };
    let Proposal { id, at, moves, .. } = proposal;
    let mut rows = vec![["pod", "node", "may land on", "reason"].map(str::to_owned).to_vec()];
    rows.extend(moves.iter().map(|one| {
        let pod = format!("{}/{}", one.namespace, one.pod);
        let nodes = list(&one.possible_nodes, MOST_NODES);
        vec![pod, one.node.clone(), nodes, one.why.clone()]
    }));
    let approved = stored.proposal_if_approved();
    let state = match (flaw(proposal, now), approved, &stored.approved_by) {
        (Some(flaw), ..) => format!("{flaw}; {IGNORED}"),
        (None, None, _) => format!("approve with `evenkeel approve {id}`"),
        (None, Some(_), Some(by)) => format!("approved by {by}"),
        (None, Some(_), None) => "approved".to_owned(),
    };
    let table = Table::new(rows).folded(width).join("\n");
    format!("proposal {id} of {at:.0}\n\n{table}\n\n{state}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::approval::ProposedMove;

    const BEFORE: Timestamp = Timestamp::constant(1_795_752_000, 0);
    const EXPIRES: Timestamp = Timestamp::constant(1_795_752_001, 0);

    fn stored() -> StoredProposal {
        let at: Timestamp = "2026-11-27T03:00:00Z".parse().unwrap();
        let one = ProposedMove {
            namespace: "shop".to_owned(),
            pod: "web-1".to_owned(),
            uid: "u".to_owned(),
            node: "n1".to_owned(),
            possible_nodes: vec!["n2".to_owned(), "n3".to_owned()],
            strategy: "lowNodeUtilization".to_owned(),
            why: "cpu of n1 is 71%, above the target of 60%".to_owned(),
        };
        let mut proposal = Proposal::new(at, vec![one]);
        proposal.expires = Some(EXPIRES);
        let mut stored = StoredProposal::default();
        stored.proposal = Some(proposal);
        stored
    }

    #[test]
    fn a_proposal_says_how_to_approve_it_or_who_has() {
        let mut stored = stored();
        let id = stored.proposal.as_ref().unwrap().id.clone();
        let waiting = shown(&stored, 100, BEFORE);
        assert!(waiting.contains("shop/web-1"), "{waiting}");
        assert!(waiting.ends_with(&format!("approve with `evenkeel approve {id}`\n")));
        (stored.approved, stored.approved_by) = (Some(id), Some("ada".to_owned()));
        assert!(shown(&stored, 100, BEFORE).ends_with("approved by ada\n"));
    }

    #[test]
    fn only_the_stored_proposal_can_be_approved() {
        let error = approvable(&stored(), "000000000000", BEFORE).unwrap_err();
        assert!(error.contains("it was replaced"), "{error}");
        let none = approvable(&StoredProposal::default(), "000000000000", BEFORE).unwrap_err();
        assert!(none.starts_with("found no proposal"), "{none}");
    }

    #[test]
    fn a_proposal_that_has_expired_cannot_be_approved() {
        let stored = stored();
        let id = &stored.proposal.as_ref().unwrap().id;
        assert!(approvable(&stored, id, BEFORE).is_ok());
        let error = approvable(&stored, id, EXPIRES).unwrap_err();
        let expired = "it is 1h 1s old, and proposals expire after 1h 1s; evenkeel ignores an \
            approval of it";
        assert_eq!(error, format!("proposal {id}: {expired}"));
        assert!(shown(&stored, 100, EXPIRES).ends_with(&format!("\n{expired}\n")));
    }

    #[test]
    fn a_proposal_that_was_altered_cannot_be_approved() {
        let mut stored = stored();
        let proposal = stored.proposal.as_mut().unwrap();
        proposal.moves[0].possible_nodes.push("n4".to_owned());
        let id = proposal.id.clone();
        let error = approvable(&stored, &id, BEFORE).unwrap_err();
        assert!(error.contains("it was altered; evenkeel ignores an approval of it"), "{error}");
        assert!(shown(&stored, 100, BEFORE).contains("it was altered"));
    }
}
