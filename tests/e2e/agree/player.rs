//! Plays a scenario on a control plane, in real time.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use evenkeel::model::usage::Measure;
use evenkeel::policy::FitStrategy;
use evenkeel::simulate::load::{Curve, Moment, Shape};
use evenkeel::simulate::scenario::{FirstNodes, Scenario, ScenarioWorkload, WorkloadKind};
use evenkeel::values::Amount;
use futures::stream::{self, StreamExt};
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::e2e::support::{
    ControlPlane, Process, eventually, name,
    scene::{self, node_of},
    that,
};

use super::manifests::{self, CPU, MEMORY, SYSTEM};

const LONG: u64 = 120;
/// Usage changes in steps of this many seconds. metrics-server would not show shorter ones.
const STEP: i64 = 10;
/// How soon a replacement's usage follows the scenario instead of its template.
const LOOK: SignedDuration = SignedDuration::from_secs(2);
/// How much longer a control plane may take than the simulator: two rests.
const PATIENCE: SignedDuration = SignedDuration::from_secs(160);
/// The age that the simulator gives to pods that exist from the start.
const AGE: SignedDuration = SignedDuration::from_hours(1);

pub struct Player<'p> {
    pub control_plane: &'p ControlPlane,
    pub scenario: &'p Scenario,
}

impl Player<'_> {
    /// Creates the cluster. When this returns, every pod is placed, Ready and measured.
    pub async fn set(&self) {
        self.configure_scheduler();
        // While the scheduler is stopped, pods can be bound to the nodes that the scenario names.
        self.control_plane.component("stop", "scheduler");
        let mut all = manifests::setting(self.scenario);
        all.extend(self.scenario.nodes.iter().filter(|n| n.joins.is_none()).map(manifests::node));
        all.extend(
            self.scenario
                .workloads
                .iter()
                .filter(|w| w.from.is_none())
                .flat_map(manifests::workload),
        );
        self.apply(&all);
        for workload in self.scenario.workloads.iter().filter(|w| w.from.is_none()) {
            self.place(workload).await;
        }
        scene::ready(self.control_plane).await;
        self.control_plane.component("start", "scheduler");
        let (began, mut restarted) = (Instant::now(), false);
        eventually("every pod to serve", LONG, async || {
            let pods = self.control_plane.list("/api/v1/pods").await;
            let nodes = self.scenario.nodes.iter().filter(|n| n.joins.is_none()).count();
            let there = self.scenario.workloads.iter().filter(|w| w.from.is_none());
            let of = |w: &ScenarioWorkload| {
                if w.kind == WorkloadKind::DaemonSet {
                    nodes
                } else {
                    usize::try_from(w.replicas).unwrap()
                }
            };
            let expected = nodes + there.map(of).sum::<usize>();
            let running = pods.iter().filter(|p| p["status"]["phase"] == "Running").count();
            // On a busy machine, one kwok of hundreds kept its nodes Ready and started no pod.
            if running == 0 && began.elapsed().as_secs() > LONG && !restarted {
                restarted = true;
                self.control_plane.component("stop", "kwok");
                self.control_plane.component("start", "kwok");
            }
            that(running == expected, format!("{running} of {expected}"))
        })
        .await;
        scene::usage_is_steady(self.control_plane).await;
    }

    /// Plays the scenario to its end. If nothing changes by itself any more, it goes on until
    /// `done`, because a slow machine needs longer for the same result. Excess evictions are
    /// detected all the same.
    pub async fn play(&self, process: &mut Process, done: impl Fn() -> bool) {
        let start = Instant::now();
        let end = self.scenario.duration;
        let last = if self.stands_still() { end + PATIENCE } else { end };
        let mut born = BTreeMap::new();
        let mut before = SignedDuration::from_nanos(-1);
        let mut next_look = SignedDuration::ZERO;
        process
            .eventually("the end of the scenario", 3600, async |_| {
                let now = SignedDuration::try_from(start.elapsed()).unwrap().min(last);
                self.happen(before, now);
                before = now;
                if now >= next_look {
                    self.live(&mut born, now).await;
                    // The comparison needs the usage at the very end.
                    next_look = if now < end { (now + LOOK).min(end) } else { now + LOOK };
                }
                that(now == last || (now >= end && done()), format!("{now:#} have passed"))
            })
            .await;
    }

    /// Whether usage and workloads no longer change at the end.
    fn stands_still(&self) -> bool {
        let steady = |curve: &Curve| matches!(curve.shape, Shape::Steady(_));
        self.scenario
            .workloads
            .iter()
            .map(ScenarioWorkload::load)
            .all(|load| steady(&load.cpu) && steady(&load.memory))
    }

    /// The balance of CPU over nodes, in percent: the standard deviation, and how far the fullest
    /// node is above the mean.
    pub async fn balance(&self) -> (f64, f64) {
        scene::usage_is_steady(self.control_plane).await;
        let used = crate::e2e::support::usage::used(self.control_plane).await.nodes;
        let has = |name: &str| self.allocatable(name).as_f64() / 1e6;
        let shares: Vec<f64> =
            used.iter().map(|(node, millicores)| millicores / has(node) * 100.0).collect();
        assert_eq!(shares.len(), self.scenario.nodes.len(), "a node without usage: {used:?}");
        #[expect(clippy::cast_precision_loss, reason = "a handful of nodes")]
        let count = shares.len() as f64;
        let mean = shares.iter().sum::<f64>() / count;
        let variance = shares.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / count;
        (variance.sqrt(), shares.iter().fold(0.0_f64, |most, s| most.max(*s)) - mean)
    }

    /// Writes the scenario's scheduler configuration. The next start of kube-scheduler reads it.
    fn configure_scheduler(&self) {
        let strategy = match &self.scenario.scheduler {
            None | Some(FitStrategy::LeastAllocated) => return,
            Some(FitStrategy::MostAllocated) => "MostAllocated",
            Some(FitStrategy::RequestedToCapacityRatio(_)) => panic!("no scenario can say this"),
        };
        let resources = "[{name: cpu, weight: 1}, {name: memory, weight: 1}]";
        let fit = format!("{{type: {strategy}, resources: {resources}}}");
        let profiles = format!(
            "profiles:\n\
             - schedulerName: default-scheduler\n\
             \x20 pluginConfig: [{{name: NodeResourcesFit, args: {{scoringStrategy: {fit}}}}}]\n"
        );
        let config =
            std::fs::read_to_string(self.control_plane.dir.join("scheduler.yaml")).unwrap();
        self.control_plane.write("scheduler.yaml", &(config + &profiles));
    }

    fn apply(&self, all: &[Value]) {
        if !all.is_empty() {
            self.control_plane
                .apply(&json!({"apiVersion": "v1", "kind": "List", "items": all}).to_string());
        }
    }

    /// Binds the pods of a workload to its nodes in turn, in place of the scheduler.
    async fn place(&self, workload: &ScenarioWorkload) {
        let on = match &workload.on {
            FirstNodes::Scheduled => return,
            FirstNodes::On(nodes) => nodes.clone(),
            FirstNodes::Evenly => self
                .scenario
                .nodes
                .iter()
                .filter(|n| n.joins.is_none())
                .map(|n| n.name.clone())
                .collect(),
        };
        let namespace = &workload.namespace;
        let path =
            format!("/api/v1/namespaces/{namespace}/pods?labelSelector=app%3D{}", workload.name);
        let mut turn = 0;
        let all = usize::try_from(workload.replicas).unwrap();
        eventually("the pods to place", LONG, async || {
            for pod in self.control_plane.list(&path).await.iter().filter(|p| node_of(p).is_empty())
            {
                let (name, node) = (name(pod), &on[turn % on.len()]);
                let body = json!({
                    "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
                    "target": {"apiVersion": "v1", "kind": "Node", "name": node},
                });
                let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/binding");
                self.control_plane.send("POST", &path, None, &body).await.unwrap();
                turn += 1;
            }
            that(turn == all, format!("{turn} of {all}"))
        })
        .await;
    }

    /// Applies the changes to nodes and workloads between two points in time.
    fn happen(&self, before: SignedDuration, now: SignedDuration) {
        let due = |at: Option<SignedDuration>| at.is_some_and(|at| before < at && at <= now);
        let nodes = self.scenario.nodes.iter().filter(|n| due(n.joins)).map(manifests::node);
        let workloads =
            self.scenario.workloads.iter().filter(|w| due(w.from)).flat_map(manifests::workload);
        self.apply(&nodes.chain(workloads).collect::<Vec<_>>());
        for gone in self.scenario.workloads.iter().filter(|w| due(w.until)) {
            self.control_plane.kubectl(&[
                "delete",
                gone.kind.name(),
                "-n",
                &gone.namespace,
                &gone.name,
                "--wait=false",
            ]);
        }
    }

    /// Makes every pod use what the scenario prescribes for this time. Records when each pod was
    /// first seen.
    async fn live(&self, born: &mut BTreeMap<String, SignedDuration>, now: SignedDuration) {
        let pods = self.control_plane.list("/api/v1/pods").await;
        let first = if born.is_empty() { -AGE } else { now };
        for pod in &pods {
            born.entry(uid(pod)).or_insert(first);
        }
        let bound = pods.iter().filter(|p| !node_of(p).is_empty());
        let mut meant: Vec<(&Value, Measure)> =
            bound.filter_map(|p| Some((p, self.meant(p, born[&uid(p)], now)?))).collect();
        let mut asked: BTreeMap<String, Amount> = BTreeMap::new();
        for (pod, used) in &meant {
            let sum = asked.entry(node_of(pod)).or_default();
            *sum = sum.plus(used.cpu);
        }
        // A node with more demand than CPU gives each pod its share.
        for (pod, used) in &mut meant {
            let node = node_of(pod);
            let has = self.allocatable(&node);
            if asked[&node] > has {
                used.cpu = used.cpu.times(has.share_of(asked[&node]).unwrap());
            }
        }
        let changed = meant.into_iter().filter(|(pod, used)| {
            let (shown, wanted) = (&pod["metadata"]["annotations"], manifests::usage(*used));
            shown[CPU] != wanted[CPU] || shown[MEMORY] != wanted[MEMORY]
        });
        stream::iter(changed)
            .for_each_concurrent(8, async |(pod, used)| self.make_use(pod, used).await)
            .await;
    }

    /// The usage of a pod of the scenario at this time.
    fn meant(&self, pod: &Value, born: SignedDuration, now: SignedDuration) -> Option<Measure> {
        let metadata = &pod["metadata"];
        if metadata["labels"]["app"] == SYSTEM {
            return self.scenario.nodes.iter().find(|n| n.name == node_of(pod)).map(|n| n.base);
        }
        let is_its = |w: &&ScenarioWorkload| {
            metadata["labels"]["app"] == w.name && metadata["namespace"] == w.namespace
        };
        let workload = self.scenario.workloads.iter().find(is_its)?;
        let mut hasher = DefaultHasher::new();
        uid(pod).hash(&mut hasher);
        let whole = SignedDuration::from_secs(now.as_secs() / STEP * STEP);
        Some(workload.load().at(Moment {
            elapsed: whole,
            age: whole - born,
            seed: hasher.finish(),
        }))
    }

    async fn make_use(&self, pod: &Value, used: Measure) {
        let namespace = pod["metadata"]["namespace"].as_str().unwrap();
        let path = format!("/api/v1/namespaces/{namespace}/pods/{}", name(pod));
        let body = json!({"metadata": {"annotations": manifests::usage(used)}});
        let answer = self.control_plane.send("PATCH", &path, None, &body).await;
        // It may have been evicted meanwhile.
        assert!(answer.as_ref().map_or_else(|(code, _)| *code == 404, |_| true), "{answer:?}");
    }

    fn allocatable(&self, node: &str) -> Amount {
        let spec = self.scenario.nodes.iter().find(|n| n.name == node).unwrap();
        spec.allocatable.iter().find(|(name, _)| name == "cpu").unwrap().1
    }
}

fn uid(pod: &Value) -> String {
    pod["metadata"]["uid"].as_str().unwrap().to_owned()
}
