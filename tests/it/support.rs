//! Test clusters as text, and helpers to plan on them.
//!
//! ```text
//! node n1 cpu=8 memory=32Gi system=500m/1Gi labels=pool:gpu taint=key:NoSchedule cordoned
//! node n2 not-ready no-metrics no-scale-down
//! node n3 closed=Deleting,DiskPressure os=windows images=web:1,log:2 features=user-namespaces,gvisor
//! node n4 steer=hot
//!   hot*3 cpu=100m memory=100Mi uses=1/200Mi   # three pods of Deployment and ReplicaSet hot
//!   agent cpu=100m uses=100m daemon
//! budget hot allows=1   # with `owner=VirtualMachineInstance` that of a virtual machine
//! ```
//!
//! A line `service web selects=app:web` is a Service, a line `namespace other labels=team:a` gives a
//! namespace its labels (and `deleting` a deletionTimestamp), and a line `lacking
//! Namespace` makes all objects of a kind unknown, and `unreadable Pod name=odd` one object. A pod takes `age=`, `priority=`, `namespace=`,
//! `labels=`, `gpu=` (a request of nvidia.com/gpu), `safe-to-evict=`, and the words `bare`,
//! `daemon`, `unready`, `emptydir`, `claim`, `devices`, `mirror`, `static`, `stay` and
//! `no-metrics`. [`pod_options`] and [`storage`] list more options. Usage is cpu/memory.

mod pod_options;
mod storage;
pub(crate) mod program;
pub(crate) mod random_cluster;
pub(crate) mod watched;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use evenkeel::decide::engine::Engine;
use evenkeel::model::ledger::{Ledger, NodeLoads};
use evenkeel::model::plan::Plan;
use evenkeel::model::snapshot::facts::{
    Annotations, BudgetFacts, Image, NamespaceFacts, NodeClosure, NodeFacts, NonZeroRequests,
    NotSafeToEvict, Owner, PodFacts, PodPhase, PodSizes, PodSpecFacts, Qos, Skipped, Volumes,
};
use evenkeel::model::snapshot::lacking::Lack;
use evenkeel::model::snapshot::objects::{Object, ObjectKind, Objects};
use evenkeel::model::snapshot::{NodeId, Snapshot};
use evenkeel::model::usage::{ContainerSet, Measure, Readings, Sample};
use evenkeel::policy::Policy;
use evenkeel::simulate;
use evenkeel::simulate::scenario::{PolicySource, Scenario};
use evenkeel::simulate::trace::Trace;
use evenkeel::values::Amount;
use evenkeel::values::quantity;
use evenkeel::values::selector::{Labels, Selector};
use jiff::{SignedDuration, Timestamp};
use proptest::test_runner::Config;
use serde_json::Value;

use crate::shared::boards::read;

/// Configures a property test with this many cases, or with `PROPTEST_CASES` if it is set.
///
/// Without optimisation a case takes up to 100 ms. CI sets the variable.
pub(crate) fn cases(usual: u32) -> Config {
    let config = Config::default();
    if std::env::var_os("PROPTEST_CASES").is_some() {
        return config;
    }
    Config { cases: usual, ..config }
}

/// Returns the plan with recommended requests, as `evenkeel plan` makes it.
pub(crate) fn recommending(engine: &Engine, snapshot: &Snapshot, now: Timestamp) -> Plan {
    let observed = engine.join_usage(snapshot, now);
    let rightsizing = engine.rightsizing(&observed);
    Plan { rightsizing, ..engine.decide_observed(&observed, |_| {}) }
}

/// A kubeconfig without credentials for a cluster with these fields, such as `server: 'http://…'`.
pub(crate) fn kubeconfig(cluster: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Config, current-context: c,
          contexts: [{{name: c, context: {{cluster: c, user: u}}}}],
          users: [{{name: u, user: {{}}}}], clusters: [{{name: c, cluster: {{{cluster}}}}}]}}"
    )
}

/// Returns the YAML documents of a file of the repository.
pub(crate) fn documents(path: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(&read(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Returns the only YAML document of a file of the repository.
pub(crate) fn document(path: &str) -> Value {
    let [document] = &documents(path)[..] else { panic!("{path} has other documents") };
    document.clone()
}

/// Compares a generated file of the repository, or writes it with `UPDATE_DOCS=1`.
pub(crate) fn check_generated(path: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, text).unwrap();
    }
    let current = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(current == text, "{path} is not current: UPDATE_DOCS=1 cargo test --test it");
}

/// Returns the time of every test.
pub(crate) fn noon() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

/// Returns the time this many seconds after noon.
pub(crate) fn after(seconds: i64) -> Timestamp {
    noon() + SignedDuration::from_secs(seconds)
}

/// Returns what is known of nodes if this says which of them are hot.
pub(crate) fn hot_if(hot: &dyn Fn(NodeId) -> Option<bool>) -> NodeLoads<'_> {
    NodeLoads { hot, ratio: &|_, _| None }
}

/// Returns a cluster with one heavy pod on a hot node with these words; its sibling runs elsewhere, and one node is cold.
pub(crate) fn one_heavy_pod(pod: &str) -> String {
    format!(
        "
        node n1 system=2
          web cpu=100m memory=100Mi uses=3 {pod}
          idle*4 cpu=500m memory=500Mi uses=0
        node n2
          web cpu=100m uses=100m
        node n3
        "
    )
}

/// A cluster and its usage.
#[derive(Clone, Default)]
pub(crate) struct Cluster {
    pub(crate) objects: Objects,
    pub(crate) nodes: BTreeMap<String, Measure>,
    pub(crate) pods: BTreeMap<(String, String), Measure>,
    made: u32,
}

impl Cluster {
    pub(crate) fn parse(text: &str) -> Self {
        let mut cluster = Cluster::default();
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        let mut node = String::new();
        for line in
            text.lines().map(|l| l.split('#').next().unwrap()).filter(|l| !l.trim().is_empty())
        {
            let words = Words::of(line);
            match words.first {
                "node" => node = cluster.add_node(&words),
                "budget" => cluster.add_budget(&words),
                "service" => cluster.objects.apply(Object::Service(
                    ("default".to_owned(), words.second.to_owned()),
                    words.get("selects").map(pairs).unwrap_or_default(),
                )),
                "storage-class" => cluster.objects.apply(storage::class(&words)),
                "namespace" => cluster.objects.apply(Object::Namespace(
                    words.second.to_owned(),
                    NamespaceFacts {
                        labels: words.labels(),
                        annotations: words.get("annotations").map(pairs).unwrap_or_default(),
                        deleting: words.has("deleting"),
                    },
                )),
                "lacking" => {
                    let mut kinds = ObjectKind::ALL.into_iter();
                    let kind = kinds.find(|kind| kind.name() == words.second).unwrap();
                    cluster.objects.set_lacking(kind, Some(Lack::NotInFile));
                }
                "unreadable" => cluster.skip(&words, &node),
                "class" => cluster
                    .objects
                    .apply(Object::Class(words.second.to_owned(), words.parsed("value").unwrap())),
                pods => {
                    let (name, count) = pods.split_once('*').unwrap_or((pods, "1"));
                    for _ in 0..count.parse().unwrap() {
                        let next = counts.entry(name.to_owned()).or_default();
                        *next += 1;
                        cluster.add_pod(&words, &node, name, *next);
                    }
                }
            }
        }
        if !text.contains("lacking Namespace") {
            cluster.add_namespaces();
        }
        cluster
    }

    /// Adds the namespaces of pods that have no line.
    fn add_namespaces(&mut self) {
        let known = self.objects.names(ObjectKind::Namespace);
        let pods = self.objects.pods().map(|pod| pod.namespace.clone());
        let names: BTreeSet<String> = pods.collect();
        let unknown = |name: &String| !known.contains(&(String::new(), name.clone()));
        for name in names.into_iter().filter(unknown) {
            self.objects.apply(Object::Namespace(name, NamespaceFacts::default()));
        }
    }

    /// Adds an object that cannot be read; a pod is on the last node.
    fn skip(&mut self, words: &Words<'_>, node: &str) {
        let mut kinds = ObjectKind::ALL.into_iter();
        let kind = kinds.find(|kind| kind.name() == words.second).unwrap();
        let is_global = matches!(kind, ObjectKind::Namespace | ObjectKind::Class);
        let usual = if is_global { "" } else { "default" };
        let skipped = Skipped {
            kind: kind.name().to_owned(),
            namespace: words.get("namespace").unwrap_or(usual).to_owned(),
            name: words.get("name").unwrap().to_owned(),
            node: (kind == ObjectKind::Pod).then(|| node.to_owned()),
            why: "spec".to_owned(),
        };
        self.objects.skip(kind, skipped);
    }

    fn add_node(&mut self, words: &Words<'_>) -> String {
        let name = words.second.to_owned();
        let mut labels = words.labels();
        labels.insert("kubernetes.io/hostname".to_owned(), name.clone());
        let amounts = [("cpu", "8"), ("memory", "32Gi"), ("pods", "110")];
        let mut allocatable: Vec<_> = amounts
            .iter()
            .filter(|_| !words.has("no-allocatable"))
            .map(|(r, default)| ((*r).to_owned(), amount(r, words.get(r).unwrap_or(default))))
            .collect();
        if let Some(gpus) = words.get("gpu") {
            allocatable.push(("nvidia.com/gpu".to_owned(), amount("nvidia.com/gpu", gpus)));
        }
        let steer = words.get("steer").map(|v| format!("evenkeel.io/steer={v}:PreferNoSchedule"));
        let taints = words.get("taint").into_iter().flat_map(|t| t.split(','));
        let taints = taints.chain(steer.as_deref()).map(pod_options::taint);
        self.objects.apply(Object::Node(NodeFacts {
            name: name.clone(),
            labels,
            taints: taints.collect(),
            ready: !words.has("not-ready"),
            closures: closures(words),
            os: words.get("os").map(str::to_owned),
            features: words.get("features").map(pod_options::features).unwrap_or_default(),
            images: words.get("images").map(images).unwrap_or_default(),
            allocatable,
            unremovable: words
                .has("no-scale-down")
                .then_some("cluster-autoscaler.kubernetes.io/scale-down-disabled"),
            ..NodeFacts::default()
        }));
        if let Some(csi_node) = storage::csi_node(words) {
            self.objects.apply(csi_node);
        }
        if !words.has("no-metrics") {
            self.nodes.insert(name.clone(), measure(words.get("system").unwrap_or("0")));
        }
        name
    }

    fn add_budget(&mut self, words: &Words<'_>) {
        let allowed: u32 = words.parsed("allows").unwrap();
        self.objects.apply(Object::Budget(BudgetFacts {
            namespace: words.get("namespace").unwrap_or("default").to_owned(),
            name: words.get("name").unwrap_or(words.second).to_owned(),
            controller: words.get("owner").map(|kind| pod_options::owner(kind, words.second)),
            selector: Some(Selector::parse(&format!("app={}", words.second)).unwrap()),
            allowed,
            healthy: 10,
            desired: words.parsed("desired").unwrap_or(10 - allowed),
            expected: words.parsed("expected").or(words.parsed("desired")).unwrap_or(11),
            forbids: words.get("forbids").map(|rule| rule.replace(':', ": ")),
            sync_failed: words.get("sync-failed").map(str::to_owned),
            stale: words.has("stale"),
            always_unhealthy: words.has("always-unhealthy"),
        }));
    }

    fn add_pod(&mut self, words: &Words<'_>, node: &str, app: &str, number: u32) {
        let pod = pod_options::dress(pod(words, node, app, number), words);
        let key = (pod.namespace.clone(), pod.name.clone());
        if let Some(uses) = words.get("uses").filter(|_| !words.has("no-metrics")) {
            let used = measure(uses);
            self.pods.insert(key, used);
            self.nodes.entry(node.to_owned()).and_modify(|m| *m = m.plus(used));
        }
        for object in storage::bound(words, &pod) {
            self.objects.apply(object);
        }
        self.objects.apply(pod_options::controller(&pod, words, app));
        self.objects.apply(Object::Pod(Box::new(pod)));
    }

    /// Returns one poll at this time.
    pub(crate) fn readings(&self, at: Timestamp) -> Readings {
        let sample = |used: &Measure| Sample {
            at,
            window: SignedDuration::from_secs(10),
            used: *used,
            containers: ContainerSet::default(),
        };
        Readings {
            nodes: self.nodes.iter().map(|(k, m)| (k.clone(), sample(m))).collect(),
            pods: self.pods.iter().map(|(k, m)| (k.clone(), sample(m))).collect(),
            ..Readings::default()
        }
    }

    pub(crate) fn snapshot(&self, policy: &Policy) -> Snapshot {
        Snapshot::join(&self.objects, policy.resources())
    }

    /// Returns the plan for this cluster under a policy as text, with an empty ledger.
    pub(crate) fn plan(&self, policy: &str) -> Plan {
        self.plan_by(parse(policy))
    }

    /// Returns the plan for this cluster under a parsed policy.
    pub(crate) fn plan_by(&self, policy: Policy) -> Plan {
        let (engine, snapshot) = self.seen(policy, Ledger::default());
        recommending(&engine, &snapshot, noon())
    }

    /// Returns an engine that has observed this cluster once as steady, and the snapshot.
    pub(crate) fn seen(&self, policy: Policy, ledger: Ledger) -> (Engine, Snapshot) {
        let snapshot = self.snapshot(&policy);
        let mut engine = Engine::new(policy, ledger);
        engine.observe_steady(&snapshot, &self.readings(noon()), noon());
        (engine, snapshot)
    }

    /// Carries out a plan: each replacement is on the node that the plan expects.
    pub(crate) fn carry_out(&mut self, plan: &Plan) {
        for m in &plan.moves {
            let to = m.to.as_deref().unwrap();
            self.replace(&m.namespace, &m.pod, to, noon() - SignedDuration::from_hours(1));
        }
    }

    /// Replaces an evicted pod, as a controller and the scheduler do: the pod leaves and a new one
    /// is on a node.
    pub(crate) fn replace(
        &mut self,
        namespace: &str,
        name: &str,
        to: &str,
        now: Timestamp,
    ) -> String {
        let key = (namespace.to_owned(), name.to_owned());
        let snapshot = Snapshot::join(&self.objects, []);
        let old = snapshot.pod(snapshot.find_pod(namespace, name).unwrap());
        let from = old.node.map(|n| snapshot.node(n).name.clone()).unwrap();
        let mut new: PodFacts = (**old).clone();
        self.made += 1;
        new.name = format!("{name}+{}", self.made);
        new.uid = format!("uid-{}", new.name);
        new.node = Some(to.to_owned());
        (new.created, new.started) = (now, Some(now));
        new.set_ready(new.ready, now);
        self.objects.delete(ObjectKind::Pod, &key);
        let used = self.pods.remove(&key).unwrap_or_default();
        self.pods.insert((namespace.to_owned(), new.name.clone()), used);
        self.nodes.entry(from).and_modify(|m| *m = m.minus(used));
        self.nodes.entry(to.to_owned()).and_modify(|m| *m = m.plus(used));
        let made = new.name.clone();
        self.objects.apply(Object::Pod(Box::new(new)));
        made
    }
}

#[expect(clippy::too_many_lines, reason = "a list of examples or of fields")]
fn pod(words: &Words<'_>, node: &str, app: &str, number: u32) -> PodFacts {
    let namespace = words.get("namespace").unwrap_or("default").to_owned();
    let name = format!("{app}-{number}");
    let owner = if words.has("daemon") { "DaemonSet" } else { "ReplicaSet" };
    let owners = vec![Owner {
        kind: owner.to_owned(),
        name: app.to_owned(),
        controller: !words.has("no-controller"),
        ..Owner::default()
    }];
    let mut labels = words.labels();
    labels.insert("app".to_owned(), app.to_owned());
    let mut requests = vec![
        ("cpu".into(), amount("cpu", words.get("cpu").unwrap_or("0"))),
        ("memory".into(), amount("memory", words.get("memory").unwrap_or("0"))),
    ];
    if let Some(gpus) = words.get("gpu") {
        requests.push(("nvidia.com/gpu".into(), amount("nvidia.com/gpu", gpus)));
    }
    let age = words.parsed("age").unwrap_or(SignedDuration::from_hours(1));
    PodFacts {
        uid: format!("uid-{namespace}-{name}"),
        volumes: Volumes {
            local: words.has("emptydir"),
            claims: storage::claims(words, &name),
            ephemeral: storage::ephemeral(words, &name),
            inline_drivers: words.get("inline").map(str::to_owned).into_iter().collect(),
            never_pulled: words.get("never-pulls-volume").map(str::to_owned).into_iter().collect(),
        }
        .into(),
        namespace,
        name,
        labels: labels.into(),
        node: Some(node.to_owned()),
        phase: PodPhase::Running,
        ready: !words.has("unready"),
        terminating: words.has("terminating") || words.get("ends").is_some(),
        ends: words.parsed("ends").map(|left: SignedDuration| noon() + left),
        created: noon() - age,
        started: Some(noon() - age),
        running_since: Some(noon() - age),
        sizes: PodSizes {
            requests,
            overhead: pod_options::amounts(words, "overhead"),
            init_peak: pod_options::amounts(words, "init"),
            limits: pod_options::amounts(words, "limit"),
            killed_at: None,
            non_zero_requests: non_zero_requests(words),
            non_zero_requests_of_containers: non_zero_requests(words),
        }
        .into(),
        spec: PodSpecFacts {
            annotations: Annotations {
                mirror: words.has("mirror"),
                static_pod: words.has("static"),
                evict: words.get("evict").map(str::to_owned),
                prefer_no_eviction: words.has("stay"),
                deletion_cost: words.parsed("cost").unwrap_or_default(),
                not_safe_to_evict: words.get("safe-to-evict").and_then(NotSafeToEvict::of_value),
                index_failures: words.parsed("index-failures"),
                evict_single_replica: words.has("evict-single"),
                eviction_in_progress: words.has("leaving"),
                request_evict_only: words.has("request-evict-only"),
                do_not_disrupt: words.get("do-not-disrupt").map(pod_options::do_not_disrupt),
            },
            gang: words.get("gang").map(pod_options::gang),
            owners: if words.has("bare") { Vec::new() } else { owners },
            priority: words.parsed("priority"),
            priority_class: words.get("class").map(str::to_owned),
            runs_once: words.has("runs-once"),
            preempts: !words.has("never-preempts"),
            nominated: words.get("nominated").map(str::to_owned),
            qos: Qos::Burstable,
            grace: words.parsed("grace").unwrap_or(PodSpecFacts::USUAL_GRACE),
            os: words.get("os").map(str::to_owned),
            needs: words.get("needs").map(pod_options::features).unwrap_or_default(),
            node_selector: words.get("on").map(pairs).unwrap_or_default(),
            resource_claims: words.has("devices"),
            ..PodSpecFacts::default()
        }
        .into(),
        ..PodFacts::default()
    }
}

/// Returns the scoring requests of one container with the requests of the line.
fn non_zero_requests(words: &Words<'_>) -> NonZeroRequests {
    let of = |resource: &str, absent: &str| amount(resource, words.get(resource).unwrap_or(absent));
    NonZeroRequests { cpu: of("cpu", "100m"), memory: of("memory", "200Mi") }
}

struct Words<'l> {
    first: &'l str,
    second: &'l str,
    rest: Vec<&'l str>,
}

impl<'l> Words<'l> {
    fn of(line: &'l str) -> Self {
        let rest: Vec<_> = line.split_whitespace().collect();
        Words { first: rest[0], second: rest.get(1).copied().unwrap_or_default(), rest }
    }

    fn get(&self, key: &str) -> Option<&'l str> {
        self.rest.iter().find_map(|w| w.strip_prefix(key)?.strip_prefix('='))
    }

    fn has(&self, mark: &str) -> bool {
        self.rest.contains(&mark)
    }

    fn parsed<T: FromStr<Err: Debug>>(&self, key: &str) -> Option<T> {
        self.get(key).map(|text| text.parse().unwrap())
    }

    fn labels(&self) -> Labels {
        self.get("labels").map(pairs).unwrap_or_default()
    }
}

/// Returns the closures of `closed=` and `cordoned`, and of the keys of `taint=`.
fn closures(words: &Words<'_>) -> Vec<NodeClosure> {
    let of = |key| words.get(key).into_iter().flat_map(|text| text.split(','));
    let closure = |word: &str| match word {
        "Deleting" => NodeClosure::Deleting,
        "NeverReady" => NodeClosure::NeverReady,
        condition => NodeClosure::of_condition(condition).unwrap(),
    };
    let taints = of("taint").filter_map(|taint| {
        let key = taint.split([':', '=']).next().unwrap();
        NodeClosure::of_taint(key)
    });
    let cordon = words.has("cordoned").then_some(NodeClosure::Cordoned);
    of("closed").map(closure).chain(taints).chain(cordon).collect()
}

/// Returns the images with these names.
fn images(names: &str) -> Vec<Arc<Image>> {
    let image = |name: &str| Image { names: vec![name.to_owned()], size: 0 }.into();
    names.split(',').map(image).collect()
}

fn pairs(text: &str) -> Labels {
    text.split(',')
        .map(|p| p.split_once(':').unwrap())
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .collect()
}

fn amount(resource: &str, text: &str) -> Amount {
    quantity::amount(resource, text).unwrap()
}

fn measure(text: &str) -> Measure {
    let (cpu, memory) = text.split_once('/').unwrap_or((text, "0"));
    Measure { cpu: amount("cpu", cpu), memory: amount("memory", memory) }
}

/// Parses a policy from the part that a test is about. Limits are off unless the part sets them.
pub(crate) fn parse(text: &str) -> Policy {
    parse_as("policy.yaml", text)
}

/// The same with a name for the messages of errors.
pub(crate) fn parse_as(name: &str, text: &str) -> Policy {
    let mut whole = String::from("apiVersion: evenkeel/v1alpha1\nkind: Policy\n");
    if !text.contains("limits:") {
        whole += "limits: {perCycle: none, perNode: none, perWorkload: none, perMinute: none}\n";
    }
    whole += text;
    Policy::parse(name, &whole).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs a scenario under the policy that it contains.
pub(crate) fn played(text: &str) -> Trace {
    let scenario = Scenario::parse("scenario.yaml", text).unwrap_or_else(|e| panic!("{e}"));
    let Some(PolicySource::Inline(policy)) = &scenario.policy else { panic!("{text}") };
    simulate::run(&scenario, (**policy).clone(), "policy.yaml", |_| {})
}

/// LowNodeUtilization on actual cpu usage: from nodes above 50% to nodes at or below 30%.
pub(crate) const EVEN: &str =
    "strategies: [{lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 50%}}}]\n";

/// Returns a policy with these strategies, as YAML, without a minimum age or minimum number of
/// replicas.
pub(crate) fn only(strategies: &str) -> Policy {
    let mut policy = parse(&format!("strategies: [{strategies}]\n"));
    let evictable = &mut policy.profiles[0].evictable;
    (evictable.min_replicas, evictable.min_pod_age, evictable.node_fit) =
        (0, SignedDuration::ZERO, false);
    policy
}

/// Formats a plan as text, one line per move, refusal and note.
pub(crate) fn text(plan: &Plan) -> String {
    let mut lines = Vec::new();
    if let Some(halt) = &plan.halted {
        lines.push(format!("halted: {halt}"));
    }
    for m in &plan.moves {
        let to = m.to.as_deref().unwrap_or("?");
        lines.push(format!("move {} from {} to {to}: {}", m.pod, m.node, m.reason));
    }
    for k in &plan.kept {
        lines.push(format!("keep {} on {}: {}", k.pod, k.node, k.refusal));
    }
    lines.extend(plan.notes.iter().map(|n| format!("{}: {}", n.pool, n.why)));
    lines.join("\n")
}

/// Why no pod is considered, or the refusals with their codes and the first line of [`text`].
pub(crate) fn considered(plan: &Plan) -> String {
    if let Some(halt) = &plan.halted {
        return halt.to_string();
    }
    let kept = plan.kept.iter();
    let kept = kept.map(|k| format!("{} stays, {}: {}", k.pod, k.refusal.code(), k.refusal));
    let moves = text(plan);
    kept.chain(moves.lines().take(1).map(str::to_owned)).collect::<Vec<_>>().join("\n")
}

/// Formats the verdicts of a plan, one line per node.
pub(crate) fn nodes(plan: &Plan) -> String {
    plan.nodes.iter().map(|v| format!("{}: {}", v.node, v.class)).collect::<Vec<_>>().join("\n")
}
