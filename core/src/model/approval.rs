//! Evictions that wait for the approval of a person.
//!
//! A [`Proposal`] lists evictions, and its id is a digest of them. A person approves the id, so an
//! approval never covers an eviction that the person has not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use jiff::{SignedDuration, Timestamp};
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use crate::model::snapshot::Snapshot;
use crate::values::HARMLESS_DIFFERENCE;

/// The annotation whose value is the id of the approved proposal.
pub const APPROVED: &str = "evenkeel.io/approved";
/// The annotation with the name of the person who approved it.
pub const APPROVED_BY: &str = "evenkeel.io/approved-by";
/// The most bytes of a stored proposal. A ConfigMap holds 1 MiB.
const MOST_BYTES: usize = 900_000;
/// The bytes of the digest in an id: enough to tell proposals apart, few enough to type.
const ID_BYTES: usize = 6;

/// One eviction of a proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedMove {
    /// The namespace of the pod.
    pub namespace: String,
    /// The name of the pod.
    pub pod: String,
    /// The uid of the pod. Its replacement has another one, so no approval covers that.
    pub uid: String,
    /// The node of the pod.
    pub node: String,
    /// Every node where the replacement may land.
    #[serde(rename = "may_land")]
    pub possible_nodes: Vec<String>,
    /// The strategy that proposes the move.
    pub strategy: String,
    /// The reason of the strategy, for people. It is not part of the id, because it may have
    /// numbers of the moment.
    #[serde(default)]
    pub why: String,
}

impl ProposedMove {
    /// Returns true if the pod is still in the cluster, and nothing evicts or deletes it.
    pub fn stays(&self, snapshot: &Snapshot) -> bool {
        let pod = snapshot.find_pod(&self.namespace, &self.pod).map(|id| snapshot.pod(id));
        pod.is_some_and(|pod| pod.uid == self.uid && pod.stays())
    }
}

/// Evictions that a person may approve together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// The digest of the time and the moves.
    pub id: String,
    /// The time of the decision.
    pub at: Timestamp,
    /// The evictions, in order.
    pub moves: Vec<ProposedMove>,
    /// When it expires by the policy of that time, for the person who approves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
}

/// Reasons why a proposal is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum ProposalFlaw {
    #[error("its id is {found}, but its moves have the id {expected}: it was altered")]
    Altered {
        /// The id in the file.
        found: String,
        /// The id of the moves in the file.
        expected: String,
    },
    #[error("it is from {ahead:#} in the future, so one of the clocks is wrong")]
    Future {
        /// The time until then.
        ahead: SignedDuration,
    },
    #[error("it is {age:#} old, and proposals expire after {expires:#}")]
    Expired {
        age: SignedDuration,
        /// The age at which proposals expire.
        expires: SignedDuration,
    },
}

impl Proposal {
    /// Creates a proposal with its id.
    pub fn new(at: Timestamp, moves: Vec<ProposedMove>) -> Self {
        let id = id_of(at, &moves);
        Proposal { id, at, moves, expires: None }
    }

    /// Creates a proposal of the first moves, as many as a ConfigMap can hold. In a large cluster a
    /// move may have hundreds of possible nodes. The other moves are proposed later.
    pub fn storable(at: Timestamp, moves: Vec<ProposedMove>) -> Self {
        let mut proposal = Proposal::new(at, moves);
        while proposal.moves.len() > 1 && proposal.text().len() > MOST_BYTES {
            proposal.moves.truncate(proposal.moves.len() / 2);
            proposal = Proposal::new(at, proposal.moves);
        }
        proposal
    }

    /// Returns the stored text.
    pub fn text(&self) -> String {
        // This cannot fail: every value is text or a list of texts.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Returns the reason why the proposal is not valid now.
    ///
    /// # Errors
    /// If it was altered, is from the future, or has expired.
    pub fn check(&self, expires: SignedDuration, now: Timestamp) -> Result<(), ProposalFlaw> {
        let (found, expected) = (self.id.clone(), id_of(self.at, &self.moves));
        if found != expected {
            return Err(ProposalFlaw::Altered { found, expected });
        }
        let age = now.duration_since(self.at);
        let age = SignedDuration::from_secs(age.as_secs());
        if -age > HARMLESS_DIFFERENCE {
            return Err(ProposalFlaw::Future { ahead: -age });
        }
        if age >= expires {
            return Err(ProposalFlaw::Expired { age, expires });
        }
        Ok(())
    }
}

impl fmt::Display for ProposedMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} of node {}", self.namespace, self.pod, self.node)
    }
}

fn id_of(at: Timestamp, moves: &[ProposedMove]) -> String {
    let mut text = at.to_string();
    for one in moves {
        let fields = [&one.namespace, &one.pod, &one.uid, &one.node, &one.strategy];
        // A newline separates moves and a comma fields; no name of Kubernetes has either.
        text.push('\n');
        for field in fields.into_iter().chain(&one.possible_nodes) {
            text.push_str(field);
            text.push(',');
        }
    }
    let digest = digest(&SHA256, text.as_bytes());
    let bytes = digest.as_ref().iter().take(ID_BYTES);
    bytes.fold(String::new(), |mut id, byte| {
        let _ = write!(id, "{byte:02x}");
        id
    })
}

/// The evictions that a person has approved, by the uid of the pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approved {
    moves: BTreeMap<String, ProposedMove>,
    /// The uids of the pods that a person was asked about, while there is no answer.
    asked: BTreeSet<String>,
    /// Whether it is not known what a person was asked about.
    is_unknown: bool,
}

impl Approved {
    /// Creates the approval of these moves.
    pub fn new(moves: &[ProposedMove]) -> Self {
        let by_uid = moves.iter().map(|one| (one.uid.clone(), one.clone()));
        Approved { moves: by_uid.collect(), ..Approved::default() }
    }

    /// Creates the state in which nothing is approved, and these moves wait; `None` if it is not
    /// known which.
    pub fn none_of(moves: Option<&[ProposedMove]>) -> Self {
        let asked = moves.unwrap_or_default().iter().map(|one| one.uid.clone()).collect();
        Approved { moves: BTreeMap::new(), asked, is_unknown: moves.is_none() }
    }

    /// Returns true if it is not known what a person was asked about.
    pub const fn is_unknown(&self) -> bool {
        self.is_unknown
    }

    /// Returns true if the pod with this uid waits for a person.
    pub fn is_asked(&self, uid: &str) -> bool {
        self.asked.contains(uid)
    }

    /// Returns the approved move of the pod with this uid.
    pub fn of(&self, uid: &str) -> Option<&ProposedMove> {
        self.moves.get(uid)
    }

    /// Returns the approved moves, in the order of their uids.
    pub fn moves(&self) -> impl Iterator<Item = &ProposedMove> {
        self.moves.values()
    }

    /// Returns true if nothing is approved.
    pub fn is_empty(&self) -> bool {
        self.moves.is_empty()
    }
}

/// An approved eviction that is not made, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unmade {
    /// The namespace of the pod.
    pub namespace: String,
    /// The name of the pod.
    pub pod: String,
    /// The node of the pod when it was approved.
    pub node: String,
    /// The difference since then, in words.
    pub why: String,
}

impl fmt::Display for Unmade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unmade { namespace, pod, node, why } = self;
        write!(f, "the approved eviction of {namespace}/{pod} from {node} is not made: {why}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn proposed(pod: &str) -> ProposedMove {
        ProposedMove {
            namespace: "shop".to_owned(),
            pod: pod.to_owned(),
            uid: format!("uid-{pod}"),
            node: "n1".to_owned(),
            possible_nodes: vec!["n2".to_owned(), "n3".to_owned()],
            strategy: "lowNodeUtilization".to_owned(),
            why: String::new(),
        }
    }

    /// Checks a proposal of 03:00 at this time.
    fn check(now: &str) -> Result<(), ProposalFlaw> {
        let proposal = Proposal::new(time("2026-11-27T03:00:00Z"), vec![proposed("web-1")]);
        proposal.check(SignedDuration::from_hours(1), time(now))
    }

    #[test]
    fn a_proposal_is_valid_until_it_expires() {
        assert_eq!(check("2026-11-27T03:59:59Z"), Ok(()));
        let late = check("2026-11-27T04:00:00Z").unwrap_err().to_string();
        assert_eq!(late, "it is 1h old, and proposals expire after 1h");
    }

    #[test]
    fn a_proposal_from_the_future_is_refused_instead_of_living_longer() {
        assert_eq!(check("2026-11-27T02:59:00Z"), Ok(()));
        let early = check("2026-11-27T01:00:00Z").unwrap_err().to_string();
        assert_eq!(early, "it is from 2h in the future, so one of the clocks is wrong");
    }

    #[test]
    fn whatever_the_decision_depends_on_changes_the_id() {
        let at = time("2026-11-27T03:00:00Z");
        let id = |change: fn(&mut ProposedMove)| {
            let mut one = proposed("web-1");
            change(&mut one);
            Proposal::new(at, vec![one]).id
        };
        let original = id(|_| {});
        let changes: [fn(&mut ProposedMove); 5] = [
            |m| m.pod = "web-2".to_owned(),
            |m| m.uid = "other".to_owned(),
            |m| m.node = "n9".to_owned(),
            |m| m.possible_nodes.truncate(1),
            |m| m.strategy = "removeDuplicates".to_owned(),
        ];
        for change in changes {
            assert_ne!(id(change), original);
        }
        assert_eq!(id(|m| m.why = "cpu 71%".to_owned()), original);
    }

    #[test]
    fn a_stored_proposal_has_no_more_moves_than_a_config_map_can_hold() {
        let at = time("2026-11-27T03:00:00Z");
        let nodes: Vec<String> = (0..500).map(|i| format!("node-{i}.example.com")).collect();
        let moves: Vec<ProposedMove> = (0..100)
            .map(|i| ProposedMove {
                possible_nodes: nodes.clone(),
                ..proposed(&format!("web-{i}"))
            })
            .collect();
        let stored = Proposal::storable(at, moves.clone());
        let number = stored.moves.len();
        assert!((10..100).contains(&number), "{number}");
        assert!(stored.text().len() <= MOST_BYTES);
        assert_eq!(stored, Proposal::new(at, moves[..number].to_vec()));
    }

    #[test]
    fn an_altered_proposal_is_refused() {
        let at = time("2026-11-27T03:00:00Z");
        let mut proposal = Proposal::new(at, vec![proposed("web-1")]);
        proposal.moves.push(proposed("db-0"));
        let flaw = proposal.check(SignedDuration::from_hours(1), at);
        assert!(matches!(flaw, Err(ProposalFlaw::Altered { .. })));
    }
}
