//! Whether a cluster lets evenkeel do its work: usage, nodes, budgets, pods and other programs.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::decide::draft::Draft;
use crate::decide::gate;
use crate::decide::projection::{LONG_START, World};
use crate::model::plan::{Halt, Protected, Refusal, Replacement};
use crate::model::snapshot::facts::{NodeClosure, PodPhase, Skipped};
use crate::model::snapshot::pause::PauseEnd;
use crate::model::snapshot::{Node, NodeId, Pod, PodId, Snapshot, WorkloadId};
use crate::policy::SchedulerProfile;
use crate::values::text::{count, list};

mod budgets;
mod guards;
mod kinds;

/// The most names that a line lists.
const NAMED: usize = 3;
/// Names and labels of programs that remove or add nodes.
const AUTOSCALERS: [&str; 3] = ["cluster-autoscaler", "aws-cluster-autoscaler", "karpenter"];
/// Labels and taints by which these programs mark nodes. Where a cloud runs them, nothing else
/// shows them.
const AUTOSCALER_MARKS: [&str; 3] =
    ["karpenter.sh/nodepool", "karpenter.sh/disrupted", NodeClosure::CANDIDATE];
/// Names and labels of other programs that evict pods to balance a cluster.
const DESCHEDULERS: [&str; 3] = ["descheduler", "koord-descheduler", "volcano-descheduler"];
/// The scheduler of pods that name none.
const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// The result of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing to do.
    Ok,
    /// evenkeel works, but does less than it could, or something unexpected.
    Warning,
    /// evenkeel cannot work.
    Failure,
}

/// One line of `evenkeel doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// How bad the state is.
    pub severity: Severity,
    /// The stable code of the check.
    pub check: &'static str,
    /// The state that was found.
    pub message: String,
    /// The change that would help; `None` if nothing is to do.
    pub remedy: Option<String>,
}

impl Diagnosis {
    /// Nothing to do.
    pub fn ok(check: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Diagnosis { severity: Severity::Ok, check, message, remedy: None }
    }

    /// evenkeel does less than it could.
    pub fn warning(
        check: &'static str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Diagnosis {
            severity: Severity::Warning,
            remedy: Some(remedy.into()),
            ..Diagnosis::ok(check, message)
        }
    }

    /// evenkeel cannot work.
    pub fn failure(
        check: &'static str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Diagnosis { severity: Severity::Failure, ..Diagnosis::warning(check, message, remedy) }
    }
}

/// Checks everything that the objects and the usage of a cluster show.
pub(super) fn examine(world: World<'_>, halted: Option<&Halt>) -> Vec<Diagnosis> {
    let draft = Draft::new(world);
    let mut all = vec![
        nodes(world.snapshot, halted),
        usage(world),
        objects(world.snapshot),
        kinds::kinds(&draft),
        schedulers(world),
    ];
    all.extend(world.snapshot.on_unknown_nodes().map(|message| {
        let remedy = "a file must contain these nodes; pods of a deleted node go soon";
        Diagnosis::warning("nodes", message, remedy)
    }));
    all.extend(pauses(world));
    all.extend(guards::guards(world));
    all.extend(budgets::budgets(&draft));
    all.extend([
        single_replicas(&draft),
        immovable_pods(&draft),
        other_deschedulers(world.snapshot),
        autoscalers(world.snapshot),
    ]);
    all
}

/// The namespaces whose evictions are paused, and pauses that are not seen. A pause of the cluster
/// is a reason of [`nodes`].
fn pauses(world: World<'_>) -> impl Iterator<Item = Diagnosis> {
    let paused = world.snapshot.pauses.namespaces(world.now);
    let paused = paused.map(|(namespace, pause)| {
        let message = format!("namespace {namespace} is {pause}");
        let remedy = if pause.end == PauseEnd::WhenReadable {
            pause.remedy().to_owned()
        } else {
            format!("`evenkeel resume -n {namespace}` allows its evictions again")
        };
        Diagnosis::warning("pauses", message, remedy)
    });
    kinds::unseen_pauses(world.snapshot).into_iter().chain(paused)
}

fn nodes(snapshot: &Snapshot, halted: Option<&Halt>) -> Diagnosis {
    if let Some(halt) = halted {
        return Diagnosis::failure("nodes", format!("no evictions: {halt}"), halt.remedy());
    }
    let down = |node: &&Node| !node.ready || node.is_closed_by(NodeClosure::NeverReady);
    let not_ready = snapshot.nodes.iter().filter(down);
    let names: Vec<String> = not_ready.map(|node| node.name.clone()).collect();
    let total = count(snapshot.nodes.len(), "node");
    if names.is_empty() {
        return Diagnosis::ok("nodes", format!("{total}, all Ready"));
    }
    let message = format!("{} of {total} not Ready: {}", names.len(), list(&names, NAMED));
    Diagnosis::warning("nodes", message, "repair or remove these nodes")
}

fn usage(world: World<'_>) -> Diagnosis {
    let World { snapshot, usage, .. } = world;
    if !world.policy.weighs_usage() {
        return Diagnosis::ok("usage", "the policy compares requests, not usage");
    }
    let ready = snapshot.node_ids().zip(&snapshot.nodes);
    let nodes: Vec<NodeId> = ready.filter_map(|(id, node)| node.ready.then_some(id)).collect();
    let running = snapshot.pod_ids().zip(&snapshot.pods);
    let pods: Vec<PodId> = running.filter_map(|(id, pod)| runs(pod).then_some(id)).collect();
    let (total, all) = (nodes.len(), pods.len());
    let unknown: Vec<NodeId> =
        nodes.into_iter().filter(|id| usage.unmeasured(*id).is_some()).collect();
    let with = pods.iter().filter(|id| usage.is_measured(**id)).count();
    let shares = format!(
        "fresh usage of {} of {total} nodes and {with} of {all} pods",
        total - unknown.len()
    );
    let Some(first) = unknown.first() else {
        return if with == all {
            Diagnosis::ok("usage", shares)
        } else {
            Diagnosis::warning(
                "usage",
                shares,
                "wait until new pods have samples, or see whether the source measures all pods",
            )
        };
    };
    let name = &snapshot.node(*first).name;
    let why = usage.unmeasured(*first).map(|why| why.to_string());
    let message = format!("{shares}; {name}: {}", why.unwrap_or_default());
    let remedy = "install or repair metrics-server (`kubectl top nodes` shows what it has), or the queries of Prometheus; a node without usage gives no pods by usage, and a landing there is a bad one";
    if unknown.len() == total {
        Diagnosis::failure("usage", message, remedy)
    } else {
        Diagnosis::warning("usage", message, remedy)
    }
}

fn objects(snapshot: &Snapshot) -> Diagnosis {
    match Skipped::summary(&snapshot.skipped) {
        None => Diagnosis::ok("objects", "every object was read"),
        Some(message) => Diagnosis::warning("objects", message, "correct these objects"),
    }
}

/// The scheduler's configuration is not an object of the API, so only pods show which one places
/// them.
fn schedulers(world: World<'_>) -> Diagnosis {
    let known: BTreeSet<&str> = world.policy.schedulers().map(|s| s.name.as_str()).collect();
    let pods = world.snapshot.pods.iter().filter(|pod| runs(pod));
    let wanted = pods.map(|pod| pod.scheduler.as_deref().unwrap_or(DEFAULT_SCHEDULER));
    let others: BTreeSet<String> =
        wanted.filter(|name| !known.contains(name)).map(str::to_owned).collect();
    if !others.is_empty() {
        let names: Vec<String> = others.into_iter().collect();
        let message = format!("pods name a scheduler that is not known: {}", list(&names, NAMED));
        let remedy = "give evenkeel its configuration by `--scheduler-config`";
        return Diagnosis::warning("scheduler", message, remedy);
    }
    let release = world.policy.scheduler.release;
    let default = SchedulerProfile { release, ..SchedulerProfile::default() };
    let message = if world.policy.scheduler == default {
        "the defaults of kube-scheduler are assumed; give --scheduler-config if it has its own"
    } else {
        "the forecast uses the configuration of --scheduler-config"
    };
    Diagnosis::ok("scheduler", message)
}

fn single_replicas(draft: &Draft<'_>) -> Diagnosis {
    let snapshot = draft.world.snapshot;
    let refused = refusals(draft).filter(|(_, why)| why.too_few_replicas().is_some());
    let workloads: BTreeSet<WorkloadId> =
        refused.filter_map(|(pod, _)| snapshot.pod(pod).workload).collect();
    if workloads.is_empty() {
        return Diagnosis::ok("replicas", "no workload has fewer replicas than `minReplicas`");
    }
    let names: Vec<String> =
        workloads.iter().map(|id| snapshot.workload(*id).key.to_string()).collect();
    let number = count(names.len(), "workload");
    let message =
        format!("{number} with fewer replicas than `minReplicas`: {}", list(&names, NAMED));
    let remedy = "add replicas, or allow single pods by the annotation `evenkeel.io/evict-single-replica: \"true\"`";
    Diagnosis::warning("replicas", message, remedy)
}

/// Pods that no cycle moves, because of a lasting reason. System pods and those that the policy
/// leaves out stay on purpose, and count only if no other pod is left.
fn immovable_pods(draft: &Draft<'_>) -> Diagnosis {
    let none_may_move = running(draft).next().is_some() && !running(draft).any(may_move(draft));
    let counts = |pod: PodId, why: &Refusal| {
        lasts(pod, why, draft) && (none_may_move || !is_on_purpose(why))
    };
    let mut reasons: BTreeMap<&'static str, (usize, String)> = BTreeMap::new();
    for (_, why) in refusals(draft).filter(|(pod, why)| counts(*pod, why)) {
        let entry = reasons.entry(why.code());
        entry.or_insert_with(|| (0, why.remedy())).0 += 1;
    }
    let total: usize = reasons.values().map(|(pods, _)| pods).sum();
    let Some((_, remedy)) = reasons.values().max_by_key(|(pods, _)| *pods) else {
        let message = "no pod is protected, apart from DaemonSet, static and system pods, and pods that the policy leaves out";
        return Diagnosis::ok("pods", message);
    };
    let each: Vec<String> =
        reasons.iter().map(|(code, (pods, _))| format!("{pods} {code}")).collect();
    let which = if none_may_move {
        "no running pod can ever move".to_owned()
    } else {
        format!("{} can never move", count(total, "pod"))
    };
    Diagnosis::warning("pods", format!("{which}: {}", each.join(", ")), remedy)
}

/// Whether a strategy may move a pod, now or in a later cycle.
fn may_move<'d>(draft: &'d Draft<'_>) -> impl Fn(PodId) -> bool + 'd {
    let strategies = 0..draft.world.policy.strategies.len();
    move |pod| {
        let refused = |strategy| gate::evictable(pod, strategy, draft).err();
        strategies
            .clone()
            .any(|strategy| refused(strategy).is_none_or(|why| !lasts(pod, &why, draft)))
    }
}

/// The running pods, if the policy has a strategy.
fn running<'d>(draft: &'d Draft<'_>) -> impl Iterator<Item = PodId> + 'd {
    let snapshot = draft.world.snapshot;
    let has_strategy = !draft.world.policy.strategies.is_empty();
    snapshot.pod_ids().filter(move |id| has_strategy && runs(snapshot.pod(*id)))
}

/// The pods that the policy does not let go, each with the reason.
fn refusals<'d>(draft: &'d Draft<'_>) -> impl Iterator<Item = (PodId, Refusal)> + 'd {
    running(draft).filter_map(|id| gate::evictable(id, 0, draft).err().map(|why| (id, why)))
}

/// Whether a refusal lasts until somebody changes something. Other checks name too few replicas and
/// unknown objects.
fn lasts(pod: PodId, why: &Refusal, draft: &Draft<'_>) -> bool {
    match why {
        Refusal::Protected(why) => !matches!(why, Protected::UnknownPriority(_)),
        Refusal::Replacement(Replacement::OtherRevision { .. }) => !rolls_out(pod, draft),
        Refusal::Replacement(why) => matches!(
            why,
            Replacement::Bare
                | Replacement::UnknownOwner(_)
                | Replacement::RunsToCompletion(_)
                | Replacement::JobWouldFail { .. }
                | Replacement::NamesNode { .. }
                | Replacement::Gated(_)
                | Replacement::MissingPriorityClass(_)
                | Replacement::LocalStorage
                | Replacement::NewVolume(_)
        ),
        Refusal::Disruption(_)
        | Refusal::Rest(_)
        | Refusal::Stop(_)
        | Refusal::Temporary(_)
        | Refusal::Landing(_) => false,
    }
}

/// Whether a controller still replaces its pods by those of another revision: not all have been
/// Ready for long.
fn rolls_out(pod: PodId, draft: &Draft<'_>) -> bool {
    let World { snapshot, now, .. } = draft.world;
    let is_new = |since| now.duration_since(since) < LONG_START;
    let mut siblings = snapshot.siblings(snapshot.pod(pod));
    siblings.any(|(_, other)| !other.serves() || other.ready_since().is_some_and(is_new))
}

/// Whether a refusal is what the policy says, or right for a system pod.
fn is_on_purpose(why: &Refusal) -> bool {
    let Refusal::Protected(why) = why else {
        return false;
    };
    matches!(
        why,
        Protected::Mirror
            | Protected::Static
            | Protected::DaemonSet
            | Protected::SystemCritical
            | Protected::Priority { .. }
            | Protected::Namespace(_)
            | Protected::PodSelector
    )
}

fn other_deschedulers(snapshot: &Snapshot) -> Diagnosis {
    let found = programs(snapshot, &DESCHEDULERS);
    if found.is_empty() {
        return Diagnosis::ok("deschedulers", "no other descheduler runs");
    }
    let message = format!("another program evicts pods: {}", list(&found, NAMED));
    let remedy = "remove it or evenkeel; both would plan for the same free capacity";
    Diagnosis::failure("deschedulers", message, remedy)
}

fn autoscalers(snapshot: &Snapshot) -> Diagnosis {
    let mut found = programs(snapshot, &AUTOSCALERS);
    found.extend(AUTOSCALER_MARKS.into_iter().filter_map(|mark| {
        let marked = snapshot.nodes.iter().filter(|node| {
            node.labels.contains_key(mark) || node.taints.iter().any(|taint| taint.key == mark)
        });
        let number = marked.count();
        (number > 0).then(|| format!("{} with {mark}", count(number, "node")))
    }));
    if found.is_empty() {
        let message = "no pod or node shows an autoscaler of nodes";
        return Diagnosis::ok("autoscalers", message);
    }
    let message = format!("an autoscaler of nodes runs: {}", list(&found, NAMED));
    let remedy = "its consolidation and lowNodeUtilization work against each other: keep the thresholds of cold nodes below its utilization threshold";
    Diagnosis::warning("autoscalers", message, remedy)
}

/// The pods of programs with these names, without those of this one, whose labels and names may be
/// descheduler's. A CronJob has finished pods most of the time.
fn programs(snapshot: &Snapshot, names: &[&str]) -> Vec<String> {
    let labels = ["app.kubernetes.io/name", "app", "k8s-app"];
    let is_program = |pod: &&Pod| {
        let by_label = labels.iter().filter_map(|label| pod.labels.get(*label));
        by_label.into_iter().any(|value| names.contains(&value.as_str()))
            || names.iter().any(|name| pod.name.starts_with(&format!("{name}-")))
    };
    let is_own = |pod: &&Pod| pod.containers.iter().any(|container| is_evenkeel(&container.image));
    let pods = snapshot.pods.iter().filter(|pod| is_program(pod) && !is_own(pod));
    pods.map(|pod| format!("{}/{}", pod.namespace, pod.name)).collect()
}

/// Whether the last part of the repository of an image is the name of this program.
fn is_evenkeel(image: &str) -> bool {
    let (_, last) = image.rsplit_once('/').unwrap_or(("", image));
    last.split(['@', ':']).next() == Some("evenkeel")
}

fn runs(pod: &Pod) -> bool {
    pod.stays() && pod.node.is_some() && pod.phase == PodPhase::Running
}
