//! A cluster and an engine that looks at it every 15 s.

use evenkeel::decide::engine::Engine;
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::{Outcome, Plan};
use evenkeel::model::snapshot::Snapshot;
use evenkeel::model::snapshot::facts::PodFacts;
use evenkeel::model::snapshot::objects::Object;
use evenkeel::model::usage::Measure;
use evenkeel::values::Amount;
use jiff::{SignedDuration, Timestamp};

use super::{Cluster, noon, parse};

/// Eight pods of one core each on the first of three nodes of eight cores.
pub(crate) const EIGHT: &str = "
    node n1
      web*8 cpu=100m uses=1
    node n2
    node n3
";

pub(crate) struct Watched {
    pub(crate) cluster: Cluster,
    pub(crate) engine: Engine,
    pub(crate) now: Timestamp,
    /// The codes of all endings so far.
    pub(crate) endings: Vec<&'static str>,
}

impl Watched {
    pub(crate) fn new(cluster: &str, policy: &str, ledger: Ledger) -> Self {
        Watched {
            cluster: Cluster::parse(cluster),
            engine: Engine::new(parse(policy), ledger),
            now: noon(),
            endings: Vec::new(),
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.cluster.snapshot(self.engine.policy())
    }

    pub(crate) fn plan(&self) -> Plan {
        self.engine.decide(&self.snapshot(), self.now)
    }

    /// Changes a pod.
    pub(crate) fn change(&mut self, pod: &str, change: impl Fn(&mut PodFacts)) {
        let snapshot = self.snapshot();
        let pod = snapshot.find_pod("default", pod).unwrap();
        let mut facts: PodFacts = (**snapshot.pod(pod)).clone();
        change(&mut facts);
        self.cluster.objects.apply(Object::Pod(Box::new(facts)));
    }

    /// Looks at the cluster.
    pub(crate) fn look(&mut self) {
        let (snapshot, readings) = (self.snapshot(), self.cluster.readings(self.now));
        self.engine.observe(&snapshot, &readings, self.now);
        let settled = self.engine.settle(&snapshot, self.now);
        self.endings.extend(settled.iter().map(|s| s.ending.code()));
    }

    pub(crate) fn pass(&mut self, seconds: i64) {
        let end = self.now + SignedDuration::from_secs(seconds);
        while self.now < end {
            self.now += SignedDuration::from_secs(15);
            self.look();
        }
    }

    /// Passes time, in which each pod of `web` uses so many millicores after so many minutes.
    pub(crate) fn pass_using(&mut self, minutes: i64, cpu: impl Fn(f64) -> f64) {
        let start = self.now;
        let end = start + SignedDuration::from_mins(minutes);
        while self.now < end {
            self.now += SignedDuration::from_secs(15);
            self.use_cpu(cpu(self.now.duration_since(start).as_secs_f64() / 60.0));
            self.look();
        }
    }

    fn use_cpu(&mut self, millicores: f64) {
        let used = Measure { cpu: Amount::from_f64(millicores * 1e6), ..Measure::default() };
        for node in self.cluster.nodes.values_mut() {
            *node = Measure::default();
        }
        let snapshot = self.snapshot();
        for (name, pod) in &mut self.cluster.pods {
            let Some(id) = snapshot.find_pod(&name.0, &name.1) else {
                continue;
            };
            *pod = used;
            let node = &snapshot.node(snapshot.pod(id).node.unwrap()).name;
            let sum = self.cluster.nodes.get_mut(node).unwrap();
            *sum = sum.plus(used);
        }
    }

    /// Carries out the plan. Every replacement is Ready on this node a second later. Returns the
    /// replacements.
    pub(crate) fn evict(&mut self, land_on: &str) -> Vec<String> {
        let (plan, snapshot) = (self.plan(), self.snapshot());
        self.engine.intend(&snapshot, &plan.moves, self.now);
        let later = self.now + SignedDuration::from_secs(1);
        let made = plan.moves.iter().map(|m| {
            self.engine.resolve(m, &Outcome::Evicted);
            self.cluster.replace(&m.namespace, &m.pod, land_on, later)
        });
        made.collect()
    }
}
