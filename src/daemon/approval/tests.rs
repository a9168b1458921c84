//! A proposal from its first cycle to its last.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::field::Field;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::cluster::client::tests::{FakeObject, fake, status};
use crate::cluster::clock;
use crate::cluster::ledger_store::StoreError;
use crate::cluster::proposal_store::{ProposalStore, StoredProposal};
use crate::daemon::Daemon;
use crate::daemon::cycle::Cycle;
use crate::daemon::cycle::tests::{owned, violating_pods};
use crate::daemon::fixture::{self, node, pod, replica_set};
use crate::decide::engine::Engine;
use crate::model::approval::Proposal;
use crate::model::record::APPROVAL;

/// An API server with ConfigMaps, and the pods that it has evicted.
#[derive(Default)]
struct FakeServer {
    maps: BTreeMap<String, FakeObject>,
    evicted: Vec<String>,
    /// Whether the proposal cannot be written.
    refuses: bool,
    /// Whether the proposal cannot be read.
    is_unreadable: bool,
}

impl FakeServer {
    fn respond(&mut self, method: &str, uri: &str, body: &str) -> (u16, String) {
        let path = uri.split('?').next().unwrap();
        let name = path.rsplit('/').next().unwrap().to_owned();
        if let Some(pod) = path.strip_suffix("/eviction") {
            self.evicted.push(pod.rsplit('/').next().unwrap().to_owned());
            return (201, r#"{"kind": "Status", "status": "Success"}"#.to_owned());
        }
        if !path.contains("/configmaps") {
            return (201, r#"{"kind": "Status", "status": "Success"}"#.to_owned());
        }
        let fails = self.refuses && method == "PUT" || self.is_unreadable && method == "GET";
        if fails && name == "proposal" {
            return status(500, "etcd is away");
        }
        let object = self.maps.entry(name).or_default();
        if object.kept.is_none() {
            object.keep(json!({}));
        }
        if method != "PATCH" {
            return object.answer(method, body);
        }
        let mut map = object.kept.clone().unwrap();
        let change: Value = serde_json::from_str(body).unwrap();
        let seen = &change["metadata"]["resourceVersion"];
        if !seen.is_null() && *seen != map["metadata"]["resourceVersion"] {
            return status(409, "the object has been modified");
        }
        let set = change["metadata"]["annotations"].as_object().unwrap();
        let set = set.iter().filter(|(_, value)| !value.is_null());
        map["metadata"]["annotations"] =
            set.map(|(key, value)| (key.clone(), value.clone())).collect();
        object.keep(map)
    }
}

/// The levels and messages of the log.
#[derive(Clone, Default)]
struct LogLines(Arc<Mutex<Vec<String>>>);

impl LogLines {
    fn count(&self, part: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|line| line.contains(part)).count()
    }
}

impl<S: Subscriber> Layer<S> for LogLines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        event.record(&mut |field: &Field, value: &dyn Debug| {
            if field.name() == "message" {
                let line = format!("{} {value:?}", event.metadata().level());
                self.0.lock().unwrap().push(line);
            }
        });
    }
}

struct ApprovalFixture {
    daemon: Daemon,
    engine: Engine,
    server: Arc<Mutex<FakeServer>>,
    store: ProposalStore,
}

impl ApprovalFixture {
    /// A cluster in which each of nine pods violates a taint of its node.
    async fn new(approval: &str) -> Self {
        let server = Arc::new(Mutex::new(FakeServer::default()));
        let shared = Arc::clone(&server);
        let answer = move |method: &str, uri: &str, body: &str| {
            shared.lock().unwrap().respond(method, uri, body)
        };
        let (client, _) = fake(answer).await;
        let policy = fixture::policy(&format!(
            "approval: {approval}, \
             limits: {{perCycle: 2}}, evictable: {{minReplicas: 1, minPodAge: 0s}}, \
             strategies: [{{removePodsViolatingNodeTaints: {{}}}}]"
        ));
        let (daemon, engine) = violating_pods(&client, policy).await;
        ApprovalFixture {
            daemon,
            engine,
            server,
            store: ProposalStore::new(client, "system", "proposal"),
        }
    }

    async fn cycle(&mut self) {
        let cycle = Cycle::new(&mut self.daemon, &mut self.engine);
        cycle.run().await.unwrap();
    }

    async fn stored(&self) -> StoredProposal {
        self.store.read().await.unwrap()
    }

    async fn proposal(&self) -> Proposal {
        self.stored().await.proposal.unwrap()
    }

    /// A person approves the stored proposal.
    async fn approve(&self, by: Option<&str>) -> Proposal {
        let stored = self.stored().await;
        let proposal = stored.proposal.clone().unwrap();
        self.store.approve(&stored, &proposal.id, by).await.unwrap();
        proposal
    }

    /// Writes the record. Returns the ids of its new lines about approvals, and whether they may be
    /// repeated.
    fn written(&mut self) -> Vec<(String, bool)> {
        let facts = self.engine.ledger().facts().to_vec();
        self.engine.recorded(&facts.iter().map(|fact| fact.id.clone()).collect());
        let approvals = facts.into_iter().filter(|fact| fact.kind == APPROVAL);
        approvals.map(|fact| (fact.id, fact.possibly_repeated)).collect()
    }

    /// Another process takes over with the stored ledger.
    async fn take_over(&mut self) {
        let ledger = self.daemon.store.load().await.unwrap();
        self.engine = Engine::new(self.engine.policy().clone(), ledger);
        self.engine.keep_facts();
        self.daemon.approvals.recorded = None;
    }

    /// The policy gets these windows.
    fn limit_to(&mut self, windows: &str) {
        let mut policy = self.engine.policy().clone();
        policy.windows = fixture::policy(&format!(
            "windows: {windows}, \
             strategies: [removeDuplicates]"
        ))
        .windows;
        self.engine.change_policy(policy);
    }

    fn evicted(&self) -> Vec<String> {
        self.server.lock().unwrap().evicted.clone()
    }
}

fn pods(proposal: &Proposal) -> Vec<&str> {
    let moves = proposal.moves.iter();
    moves.map(|one| one.pod.as_str()).collect()
}

#[tokio::test]
async fn nothing_is_evicted_before_a_person_agrees_and_then_exactly_what_was_proposed() {
    let mut fixture = ApprovalFixture::new("{required: true}").await;
    for _ in 0..3 {
        fixture.cycle().await;
    }
    assert!(fixture.evicted().is_empty());
    let proposal = fixture.proposal().await;
    assert_eq!(pods(&proposal), ["web-0", "web-1"]);
    fixture.approve(Some("ada")).await;
    // A second person does the same.
    fixture.approve(Some("bob")).await;
    fixture.cycle().await;
    assert_eq!(fixture.evicted(), ["web-0", "web-1"]);
    let next = fixture.stored().await;
    assert_eq!(next.approved, None, "an approval counts once");
    assert_eq!(fixture.daemon.approvals.waiting, next.proposal);
    fixture.cycle().await;
    assert_eq!(fixture.evicted().len(), 2);
}

#[tokio::test]
async fn a_proposal_that_was_replaced_meanwhile_cannot_be_approved() {
    let mut fixture = ApprovalFixture::new("{required: true}").await;
    fixture.cycle().await;
    let seen = fixture.stored().await;
    let id = seen.proposal.clone().unwrap().id;
    fixture.store.write(fixture.stored().await, None).await.unwrap();
    let error = fixture.store.approve(&seen, &id, Some("ada")).await.unwrap_err();
    assert_eq!(error, StoreError::Conflict("system/proposal".to_owned()));
    assert_eq!(fixture.stored().await.approved_by, None);
}

#[tokio::test]
async fn a_proposal_stays_the_same_until_it_is_approved() {
    let mut fixture = ApprovalFixture::new("{required: true}").await;
    fixture.cycle().await;
    let first = fixture.proposal().await;
    // A pod that the next plan would name first.
    fixture.daemon.cluster.apply([replica_set("web--set"), owned("web-")]);
    fixture.cycle().await;
    assert_eq!(fixture.proposal().await, first);
}

#[tokio::test]
async fn another_leader_carries_out_what_was_approved_before() {
    let mut fixture = ApprovalFixture::new("{required: true}").await;
    fixture.cycle().await;
    fixture.approve(None).await;
    fixture.take_over().await;
    fixture.cycle().await;
    assert_eq!(fixture.evicted(), ["web-0", "web-1"]);
}

#[tokio::test]
async fn an_approval_is_kept_while_nothing_can_be_decided() {
    let mut fixture = ApprovalFixture::new("{required: true}").await;
    fixture.engine.keep_facts();
    fixture.cycle().await;
    let proposal = fixture.proposal().await;
    // Too many nodes are not Ready.
    fixture.daemon.cluster.apply([node("n2", false), node("n3", false)]);
    fixture.cycle().await;
    assert_eq!(fixture.proposal().await, proposal);
    assert_eq!(fixture.daemon.approvals.waiting.as_ref(), Some(&proposal));
    fixture.approve(Some("ada")).await;
    fixture.cycle().await;
    assert!(fixture.evicted().is_empty());
    assert_eq!(fixture.written(), [], "it is not carried out");

    fixture.daemon.cluster.apply([node("n2", true), node("n3", true)]);
    fixture.cycle().await;
    assert_eq!(fixture.evicted(), ["web-0", "web-1"]);
    assert_eq!(fixture.written().len(), 1);
    assert_eq!(fixture.stored().await.approved, None);
}

/// The windows of a whole week, or of another day than today.
fn windows(are_open: bool) -> String {
    let today = clock::now().to_zoned(TimeZone::UTC).strftime("%a").to_string();
    let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    let position = days.iter().position(|day| *day == today).unwrap();
    // Not the next day either, which may begin meanwhile.
    let days = if are_open { "Mon-Sun" } else { days[(position + 3) % 7] };
    format!("{{allow: [{days}]}}")
}

#[tokio::test]
async fn a_proposal_and_its_approval_are_kept_outside_of_the_windows() {
    let mut fixture = ApprovalFixture::new("{required: true}").await;
    fixture.engine.keep_facts();
    fixture.cycle().await;
    let proposal = fixture.proposal().await;
    fixture.limit_to(&windows(false));
    fixture.cycle().await;
    assert_eq!(fixture.proposal().await, proposal);
    fixture.approve(Some("ada")).await;
    fixture.cycle().await;
    assert!(fixture.evicted().is_empty());
    assert_eq!(fixture.written(), [], "it is not carried out");
    assert_eq!(fixture.daemon.approvals.waiting, None, "it waits for the windows");
    fixture.limit_to(&windows(true));
    fixture.cycle().await;
    assert_eq!(fixture.evicted(), ["web-0", "web-1"]);
    assert_eq!(fixture.stored().await.approved, None);
}

#[tokio::test]
async fn an_eviction_that_is_not_made_is_a_warning_once_its_approval_has_ended() {
    let mut fixture = ApprovalFixture::new("{required: true}").await;
    fixture.cycle().await;
    fixture.approve(Some("ada")).await;
    let lines = LogLines::default();
    let log = tracing_subscriber::registry().with(lines.clone());
    // If there is one subscriber in the process, tracing asks that of the thread that logs a line
    // first, and another test may be the one.
    let _other = tracing::Dispatch::new(tracing_subscriber::registry());
    let _log = tracing::subscriber::set_default(log);
    fixture.limit_to(&windows(false));
    for _ in 0..2 {
        fixture.cycle().await;
    }
    assert_eq!(lines.count("WARN"), 0, "it is kept until the windows open");
    assert_eq!(lines.count("approved by ada"), 1);
    // The policy protects the pods by now.
    let mut policy = fixture.engine.policy().clone();
    policy.profiles[0].evictable.min_replicas = 1000;
    fixture.engine.change_policy(policy);
    fixture.limit_to(&windows(true));
    for _ in 0..2 {
        fixture.cycle().await;
    }
    assert!(fixture.evicted().is_empty());
    assert_eq!(lines.count("WARN"), 2, "one for each of its evictions");
}

#[tokio::test]
async fn an_approval_is_kept_while_the_api_server_wants_no_eviction() {
    let mut fixture = ApprovalFixture::new("{required: true}").await;
    fixture.cycle().await;
    fixture.approve(Some("ada")).await;
    fixture.daemon.throttled_until = Some(Instant::now() + Duration::from_secs(60));
    fixture.cycle().await;
    assert!(fixture.evicted().is_empty());
    fixture.daemon.throttled_until = None;
    fixture.cycle().await;
    assert_eq!(fixture.evicted(), ["web-0", "web-1"]);
    assert_eq!(fixture.stored().await.approved, None);
}

#[tokio::test]
async fn an_approval_of_gone_pods_ends_even_if_nothing_can_be_decided() {
    let mut fixture = ApprovalFixture::new("{required: true}").await;
    fixture.cycle().await;
    let proposal = fixture.approve(None).await;
    for one in &proposal.moves {
        fixture.daemon.cluster.apply([pod(&one.pod, "another", "n1")]);
    }
    fixture.daemon.cluster.apply([node("n2", false), node("n3", false)]);
    fixture.cycle().await;
    assert_eq!(fixture.stored().await.proposal, None);
}

#[tokio::test]
async fn an_altered_or_expired_proposal_is_not_carried_out() {
    let mut fixture = ApprovalFixture::new("{required: true}").await;
    fixture.cycle().await;
    let mut proposal = fixture.proposal().await;
    proposal.moves[0].pod = "web-7".to_owned();
    proposal.moves[0].uid = "uid-web-7".to_owned();
    let seen = fixture.stored().await;
    fixture.store.write(seen, Some(&proposal)).await.unwrap();
    fixture.approve(None).await;
    fixture.cycle().await;
    assert!(fixture.evicted().is_empty());
    assert_eq!(pods(&fixture.proposal().await), ["web-0", "web-1"], "anew");

    let at = proposal.at - jiff::SignedDuration::from_hours(2);
    let old = Proposal::new(at, proposal.moves);
    let seen = fixture.stored().await;
    fixture.store.write(seen, Some(&old)).await.unwrap();
    fixture.approve(None).await;
    fixture.cycle().await;
    assert!(fixture.evicted().is_empty());
}

#[tokio::test]
async fn evictions_that_need_no_approval_go_at_once() {
    let mut fixture = ApprovalFixture::new("{required: true, automatic: 1}").await;
    fixture.cycle().await;
    assert_eq!(fixture.evicted(), ["web-0"]);
    assert_eq!(pods(&fixture.proposal().await), ["web-1"]);
}

#[tokio::test]
async fn what_a_person_was_asked_about_is_not_automatic_before_the_proposal_expires() {
    let mut fixture = ApprovalFixture::new("{required: true, automatic: 1}").await;
    fixture.cycle().await;
    let asked = fixture.proposal().await;
    assert_eq!(pods(&asked), ["web-1"]);
    assert_eq!(asked.expires, Some(asked.at + jiff::SignedDuration::from_hours(1)));
    fixture.cycle().await;
    assert_eq!(fixture.evicted(), ["web-0", "web-2"]);
    assert_eq!(fixture.proposal().await, asked);
    let old = Proposal::new(asked.at - jiff::SignedDuration::from_hours(2), asked.moves);
    let seen = fixture.stored().await;
    fixture.store.write(seen, Some(&old)).await.unwrap();
    fixture.cycle().await;
    assert_eq!(fixture.evicted(), ["web-0", "web-2", "web-1"]);
}

/// A person may have been asked about it, or may have approved another one of its node.
#[tokio::test]
async fn no_eviction_is_automatic_while_the_proposal_cannot_be_read() {
    let mut fixture = ApprovalFixture::new("{required: true, automatic: 1}").await;
    fixture.server.lock().unwrap().is_unreadable = true;
    fixture.cycle().await;
    assert!(fixture.evicted().is_empty());
    fixture.server.lock().unwrap().is_unreadable = false;
    fixture.cycle().await;
    let waiting = fixture.daemon.approvals.waiting.clone();
    assert_eq!(pods(waiting.as_ref().unwrap()), ["web-1"]);
    fixture.server.lock().unwrap().is_unreadable = true;
    fixture.cycle().await;
    assert_eq!(fixture.evicted(), ["web-0"]);
    assert_eq!(fixture.daemon.approvals.waiting, waiting);
}

#[tokio::test]
async fn the_record_tells_who_has_approved_what() {
    let mut fixture = ApprovalFixture::new("{required: true}").await;
    fixture.engine.keep_facts();
    fixture.cycle().await;
    let proposal = fixture.approve(Some("ada")).await;
    fixture.cycle().await;
    let facts = fixture.engine.ledger().facts().iter();
    let approvals: Vec<_> = facts.filter(|fact| fact.kind == APPROVAL).collect();
    assert_eq!(approvals.len(), 1);
    assert_eq!(approvals[0].subject, proposal.id);
    let message = "ada approved the eviction of shop/web-0 of node n1, shop/web-1 of node n1";
    assert_eq!(approvals[0].data["message"], message);
}

#[tokio::test]
async fn an_approval_is_one_fact_while_its_proposal_cannot_be_removed() {
    let mut fixture = ApprovalFixture::new("{required: true}").await;
    fixture.engine.keep_facts();
    fixture.cycle().await;
    let proposal = fixture.approve(Some("ada")).await;
    fixture.server.lock().unwrap().refuses = true;
    fixture.cycle().await;
    let id = format!("{}/approved", proposal.id);
    assert_eq!(fixture.written(), [(id.clone(), false)]);
    fixture.cycle().await;
    assert_eq!(fixture.written(), []);
    fixture.take_over().await;
    fixture.cycle().await;
    assert_eq!(fixture.written(), [(id, true)]);
}

/// It can be read, so nothing else would say why no person is asked.
#[tokio::test]
async fn a_proposal_that_cannot_be_written_is_a_lasting_failure() {
    let mut fixture = ApprovalFixture::new("{required: true}").await;
    let cycle_later = async |fixture: &mut ApprovalFixture, refuses: bool| {
        fixture.server.lock().unwrap().refuses = refuses;
        fixture.cycle().await;
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(60)).await;
        tokio::time::resume();
        let lasting = fixture.daemon.cluster.failures().lasting();
        lasting.into_iter().map(|failure| failure.request).collect::<Vec<_>>()
    };
    cycle_later(&mut fixture, true).await;
    assert_eq!(cycle_later(&mut fixture, true).await, ["proposal"]);
    assert_eq!(fixture.daemon.approvals.waiting, None, "nothing that could be approved");
    assert!(cycle_later(&mut fixture, false).await.is_empty());
    assert!(fixture.daemon.approvals.waiting.is_some());
}

#[tokio::test]
async fn nothing_waits_once_a_new_policy_requires_no_approval() {
    let mut fixture = ApprovalFixture::new("{required: true}").await;
    fixture.cycle().await;
    assert!(fixture.daemon.approvals.waiting.is_some());
    let mut policy = fixture.engine.policy().clone();
    policy.approval.required = false;
    fixture.engine.change_policy(policy);
    fixture.cycle().await;
    assert_eq!(fixture.daemon.approvals.waiting, None);
    assert_eq!(fixture.stored().await.proposal, None);
}

#[tokio::test]
async fn without_the_rule_nothing_is_written() {
    let mut fixture = ApprovalFixture::new("{}").await;
    fixture.cycle().await;
    assert_eq!(fixture.evicted().len(), 2);
    let server = fixture.server.lock().unwrap();
    let kept = server.maps["proposal"].kept.as_ref().unwrap();
    assert_eq!(kept["metadata"]["resourceVersion"], "1");
}
