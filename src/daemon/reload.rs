//! The policy file is read again while the program runs.
//!
//! A valid policy takes effect at the next cycle, never within one. Usage windows and the ledger
//! are kept. A policy that cannot be read or is invalid changes nothing.

use jiff::Timestamp;
use tracing::{error, info, warn};

use crate::cluster::clock;
use crate::cluster::events;
use crate::cluster::failures::Request;
use crate::cluster::usage_source::guards::GuardSource;
use crate::decide::engine::Engine;
use crate::policy::Policy;
use crate::view::status::facts::RefusedPolicy;

use super::{Daemon, LeaderRole, UsagePoller};

/// Reads the policy, with the flags that change it, and the warnings about both. An error names
/// every problem.
pub type ReadPolicy = Box<dyn Fn() -> Result<(Policy, Vec<String>), String> + Send>;
/// Creates this instance's role in the election. A dry run takes part in none.
pub type JoinElection = Box<dyn Fn() -> LeaderRole + Send>;

/// The file of the policy in force.
pub struct PolicyFile {
    /// Reads the file.
    pub read: ReadPolicy,
    /// Describes a policy in one clause.
    pub describe: fn(&Policy) -> String,
    /// Creates the role of this instance, once a reload ends a dry run.
    pub join_election: JoinElection,
    /// The name of this instance, which is that of its pod.
    pub instance: String,
    /// The namespace of its pod.
    pub namespace: String,
    /// The policy as it was read last. The one in force also follows the release of Kubernetes.
    pub read_last: Policy,
    /// The error that was reported last, as long as the file has it.
    pub refused: Option<String>,
}

/// The difference between the file and the policy in force.
#[derive(Debug, PartialEq)]
enum PolicyChange {
    None,
    /// The file has another valid policy, with these warnings.
    New(Box<Policy>, Vec<String>),
    /// The file has an error that was not reported yet.
    Refused(String),
    /// The file has the policy in force again, after an error.
    Restored,
}

impl PolicyFile {
    /// Compares the file with the policy that was read last.
    fn compare(&mut self) -> PolicyChange {
        match (self.read)() {
            Ok((policy, _)) if policy == self.read_last => match self.refused.take() {
                Some(_) => PolicyChange::Restored,
                None => PolicyChange::None,
            },
            Ok((policy, warnings)) => {
                self.refused = None;
                self.read_last = policy.clone();
                PolicyChange::New(Box::new(policy), warnings)
            }
            Err(error) if self.refused.as_ref() == Some(&error) => PolicyChange::None,
            Err(error) => {
                self.refused = Some(error.clone());
                PolicyChange::Refused(error)
            }
        }
    }
}

/// Returns true if a policy decides whether the request is made, and where.
const fn is_by_policy(request: Request) -> bool {
    matches!(
        request,
        Request::Usage(_) | Request::Guards | Request::Proposal | Request::Lease | Request::Taints
    )
}

impl Daemon {
    /// Puts the policy of the file into force, if it has changed and is valid.
    pub(super) async fn reload_policy(&mut self, engine: &mut Engine) {
        let Some(file) = &mut self.policy_file else {
            return;
        };
        match file.compare() {
            PolicyChange::None => {}
            PolicyChange::New(policy, warnings) => {
                for warning in warnings {
                    warn!("{warning}");
                }
                self.change_policy(engine, *policy).await;
            }
            PolicyChange::Refused(error) => self.refuse_policy(engine, &error),
            PolicyChange::Restored => {
                info!("the policy file has the policy in force again");
                self.metrics.policy_refused(false);
                self.board.about(|about| about.policy_refused = None);
            }
        }
    }

    async fn change_policy(&mut self, engine: &mut Engine, policy: Policy) {
        let was_dry = engine.policy().dry_run;
        let is_dry = policy.dry_run;
        if is_dry && !was_dry {
            // A dry run changes no node and holds no Lease, so neither may stay behind.
            self.resign(engine).await;
            self.lead = LeaderRole::default();
        } else if !was_dry && policy.node_selector != engine.policy().node_selector {
            // The taints of nodes that are no longer selected count as those of another instance.
            self.remove_taints(engine).await;
        }
        if policy.usage != engine.policy().usage {
            self.usage = UsagePoller::new(&policy.usage, self.cluster.client());
            self.metrics.forget_sources();
        }
        if policy.usage != engine.policy().usage || policy.guards != engine.policy().guards {
            self.guards = GuardSource::new(&policy);
            self.guards_asked = None;
        }
        // Requests that still fail are recorded again. A dry run writes no ledger.
        let is_gone = |request| is_by_policy(request) || is_dry && request == Request::Ledger;
        self.cluster.failures().forget(is_gone);
        self.metrics.expect(&policy);
        engine.change_policy(policy);
        if let Some(release) = self.release.known() {
            engine.set_release(release);
        }
        let Some(file) = &self.policy_file else {
            return;
        };
        let (description, now) = ((file.describe)(engine.policy()), clock::now());
        if was_dry && !is_dry {
            self.lead = (file.join_election)();
            self.lead.enter();
        }
        info!("policy reloaded: {description}");
        self.metrics.policy_in_force(now);
        self.metrics.policy_reloaded("applied");
        self.metrics.policy_refused(false);
        let exact = engine.policy().exact;
        self.board.about(|about| {
            (about.dry_run, about.exact) = (is_dry, exact);
            about.policy.clone_from(&description);
            (about.policy_since, about.policy_refused) = (now, None);
        });
        let note = format!("policy reloaded: {description}");
        self.record_policy(engine, "PolicyReloaded", &note, now);
    }

    fn refuse_policy(&mut self, engine: &Engine, problems: &str) {
        error!("policy refused, the policy in force stays: {problems}");
        self.metrics.policy_reloaded("refused");
        self.metrics.policy_refused(true);
        let now = clock::now();
        let note = format!("policy refused, the policy in force stays: {problems}");
        self.board.about(|about| {
            let error = problems.to_owned();
            about.policy_refused = Some(RefusedPolicy { at: now, error });
        });
        self.record_policy(engine, events::POLICY_REFUSED, &note, now);
    }

    /// Records an event on the own pod. A dry run writes nothing, and outside a cluster there is no
    /// pod.
    fn record_policy(&self, engine: &Engine, reason: &str, note: &str, at: Timestamp) {
        let Some(file) = &self.policy_file else {
            return;
        };
        if engine.policy().dry_run {
            return;
        }
        let snapshot = self.cluster.snapshot(engine.policy().resources());
        let own = snapshot
            .pods
            .iter()
            .find(|pod| pod.name == file.instance && pod.namespace == file.namespace);
        if let Some(pod) = own {
            self.events.policy(pod, reason, note, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::json;
    use tokio::time::Instant;

    use super::*;
    use crate::cluster::client::tests::fake;
    use crate::daemon::fixture::client;
    use crate::model::ledger::Ledger;
    use crate::model::plan::STEERING_KEY;
    use crate::model::snapshot::import;
    use crate::model::snapshot::objects::ObjectKind;

    const FIRST: &str =
        "{apiVersion: evenkeel/v1alpha1, kind: Policy, strategies: [removeDuplicates]}";

    fn parse(text: &str) -> Result<Policy, String> {
        Policy::parse("policy.yaml", text).map_err(|error| error.to_string())
    }

    /// A poll of the old guards says nothing about the new ones.
    #[tokio::test]
    async fn the_guards_of_a_new_policy_count_as_not_asked() {
        let client = client(|_| async { String::new() });
        let first = parse(FIRST).unwrap();
        let mut daemon = Daemon::fake(&client, &first);
        let mut engine = Engine::new(first, Ledger::default());
        daemon.guards_asked = Some(Instant::now());
        let same = FIRST.replace("kind", "interval: 9m, kind");
        daemon.change_policy(&mut engine, parse(&same).unwrap()).await;
        assert!(daemon.guards_asked.is_some());
        let guarded = FIRST.replace(
            "kind",
            "usage: {prometheus: {url: 'http://p'}}, guards: [{name: g, query: ALERTS}], kind",
        );
        daemon.change_policy(&mut engine, parse(&guarded).unwrap()).await;
        assert!(daemon.guards_asked.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_that_a_new_policy_does_not_ask_neither_fails_nor_is_in_use() {
        let client = client(|_| async { String::new() });
        let first = parse(FIRST).unwrap();
        let mut daemon = Daemon::fake(&client, &first);
        let mut engine = Engine::new(first, Ledger::default());
        let failures = daemon.cluster.failures().clone();
        for _ in 0..2 {
            failures.record(Request::Usage("metrics.k8s.io"), Err("no response"));
            failures.record(Request::Ledger, Err("no response"));
            tokio::time::advance(std::time::Duration::from_secs(60)).await;
        }
        daemon.metrics.source_in_use(Some("metricsApi"), ["metricsApi"]);
        let prometheus = FIRST
            .replace("kind", "usage: {source: prometheus, prometheus: {url: 'http://p'}}, kind");
        daemon.change_policy(&mut engine, parse(&prometheus).unwrap()).await;
        let failing = || failures.lasting().into_iter().map(|one| one.request).collect::<Vec<_>>();
        assert_eq!(failing(), ["ledger"]);
        assert!(!daemon.metrics.text().contains("source_in_use{"));
        let dry = prometheus.replace("kind", "dryRun: true, kind");
        daemon.change_policy(&mut engine, parse(&dry).unwrap()).await;
        assert!(failing().is_empty(), "{:?}", failing());
    }

    /// Neither this instance nor another one would remove them later.
    #[tokio::test]
    async fn a_policy_that_selects_other_nodes_leaves_no_taint_behind() {
        let node = json!({"metadata": {"name": "n1"}, "spec": {"taints": [
            {"key": STEERING_KEY, "value": "hot", "effect": "PreferNoSchedule"}]}});
        let object = import::json(ObjectKind::Node, node.to_string().as_bytes()).unwrap();
        let (client, asked) = fake(move |method, _, _| {
            let list = json!({"metadata": {}, "items": [node]});
            (200, if method == "GET" { list.to_string() } else { node.to_string() })
        })
        .await;
        let first = parse(FIRST).unwrap();
        let mut daemon = Daemon::fake(&client, &first);
        daemon.cluster.apply([object]);
        let mut engine = Engine::new(first, Ledger::default());
        let mut patches = async |text: &str| {
            daemon.change_policy(&mut engine, parse(text).unwrap()).await;
            let asked = asked.lock().unwrap();
            asked.iter().filter(|(method, ..)| method == "PATCH").count()
        };
        assert_eq!(patches(&FIRST.replace("kind", "interval: 9m, kind")).await, 0);
        assert_eq!(patches(&FIRST.replace("kind", "nodeSelector: 'pool=a', kind")).await, 1);
    }

    #[test]
    fn a_change_and_an_error_are_reported_once() {
        let text = Arc::new(Mutex::new(FIRST.to_owned()));
        let write = |new: &str| new.clone_into(&mut text.lock().unwrap());
        let shared = Arc::clone(&text);
        let mut file = PolicyFile {
            read: Box::new(move || {
                Ok((parse(&shared.lock().unwrap())?, vec!["has no effect".to_owned()]))
            }),
            describe: |_| String::new(),
            join_election: Box::new(LeaderRole::default),
            instance: String::new(),
            namespace: String::new(),
            read_last: parse(FIRST).unwrap(),
            refused: None,
        };
        assert_eq!(file.compare(), PolicyChange::None);

        write("# a comment\n");
        let PolicyChange::Refused(error) = file.compare() else {
            panic!("an empty file was accepted")
        };
        assert!(error.contains("apiVersion"), "{error}");
        assert_eq!(file.compare(), PolicyChange::None, "reported again");
        write(&format!("# a comment\n{FIRST}"));
        assert_eq!(file.compare(), PolicyChange::Restored);
        assert_eq!(file.compare(), PolicyChange::None);

        let second = FIRST.replace("kind", "interval: 9m, kind");
        write(&second);
        let new = Box::new(parse(&second).unwrap());
        assert_eq!(file.compare(), PolicyChange::New(new, vec!["has no effect".to_owned()]));
    }
}
