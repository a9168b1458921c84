//! What the operator asks for: parsed once, then trusted.

use jiff::SignedDuration;

use crate::selector::Selector;
use crate::units::Ratio;

/// A whole policy, complete with defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Time between the starts of two cycles.
    pub interval: SignedDuration,
    /// Decide, but evict nothing.
    pub dry_run: bool,
    /// The nodes that strategies look at; all where `None`.
    pub node_selector: Option<Selector>,
    /// How usage is read and smoothed.
    pub usage: UsagePolicy,
    /// How much may be evicted.
    pub limits: Limits,
    /// How long a workload rests.
    pub cooldown: Cooldown,
    /// When the cluster itself is too unwell to touch.
    pub safety: Safety,
    /// Which pods may go at all; strategies refer to these by position. A native policy has exactly one.
    pub profiles: Vec<Profile>,
    /// What to do, in this order.
    pub strategies: Vec<Strategy>,
    /// As descheduler would: its victim order, and none of our guards (ledger, workload limits, landing).
    pub exact: bool,
}

/// What a strategy weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The sum of what pods request, as kube-scheduler sees it.
    Requests,
    /// What nodes and pods really use, smoothed.
    Actual,
}

/// How usage is read and smoothed.
#[derive(Clone, Debug, PartialEq)]
pub struct UsagePolicy {
    /// Where readings come from.
    pub source: SourceKind,
    /// Time between two readings.
    pub poll: SignedDuration,
    /// How far back samples count.
    pub window: SignedDuration,
    /// How the samples of a window become one figure.
    pub smoothing: Smoothing,
    /// A series whose newest sample is older than this is unknown.
    pub stale_after: SignedDuration,
    /// A series with fewer samples than this in its window is unknown.
    pub min_samples: u32,
}

/// Where readings come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The resource metrics API, metrics.k8s.io, as metrics-server serves it.
    MetricsApi,
}

/// How the samples of a window become one figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Smoothing {
    /// An average in which a sample's weight halves with each such time of age.
    HalfLife(SignedDuration),
    /// All samples count alike.
    Mean,
    /// The largest sample.
    Max,
    /// The smallest value that at least this share of the samples does not exceed.
    Percentile(Ratio),
}

/// How much may be evicted; `None` is no limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Evictions in one cycle.
    pub per_cycle: Option<u32>,
    /// Evictions from one node in one cycle.
    pub per_node: Option<u32>,
    /// Evictions in one namespace in one cycle.
    pub per_namespace: Option<u32>,
    /// Pods of one workload that are away at a time: evicted, and the replacement not yet Ready.
    pub per_workload: Option<Share>,
    /// Evictions in any minute, over cycles and restarts.
    pub per_minute: Option<u32>,
}

/// A number, or a percentage of a workload's replicas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// So many.
    Count(u32),
    /// This share, rounded down, but at least one.
    Portion(Ratio),
}

impl Share {
    /// How many of `replicas` that is.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a u32 fits; casts saturate"
    )]
    pub fn of(self, replicas: u32) -> u32 {
        match self {
            Share::Count(n) => n,
            // A hair of tolerance, so that 10 % of 10 is 1 in binary floating point too.
            Share::Portion(ratio) => ((f64::from(replicas) * ratio.get() + 1e-9).floor() as u32).max(1),
        }
    }
}

/// How long a workload rests.
#[derive(Clone, Debug, PartialEq)]
pub struct Cooldown {
    /// How long a replacement is left alone, and a workload after its first useless move.
    pub rest: SignedDuration,
    /// The longest rest that doubling leads to.
    pub cap: SignedDuration,
}

/// When the cluster itself is too unwell to touch.
#[derive(Clone, Debug, PartialEq)]
pub struct Safety {
    /// Evict nothing when more than this share of the nodes is not ready.
    pub max_not_ready: Ratio,
    /// Evict nothing when more than this share of the pods waits for a node.
    pub max_pending: Ratio,
}

/// Which pods may go at all, for the strategies that refer to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Shown in plans and events.
    pub name: String,
    /// The rules.
    pub evictable: Evictable,
}

/// Which pods may go at all.
#[derive(Clone, Debug, PartialEq)]
pub struct Evictable {
    /// Namespaces whose pods may go.
    pub namespaces: Names,
    /// Labels that a pod's namespace must carry.
    pub namespace_selector: Option<Selector>,
    /// Labels that a pod must carry.
    pub pod_selector: Option<Selector>,
    /// Only pods with a priority below this may go; pods without a priority always may.
    pub priority_below: PriorityThreshold,
    /// A workload with fewer replicas than this is left alone, and a move leaves at least one less than this Ready.
    pub min_replicas: u32,
    /// A pod younger than this is left alone.
    pub min_pod_age: SignedDuration,
    /// What is protected.
    pub protected: Protections,
    /// Nodes that count as destinations; all where `None`.
    pub destinations: Option<Selector>,
    /// A pod may go only if it fits another node. Balancing strategies of native policies always ask that.
    pub node_fit: bool,
}

/// Names that are taken in or left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Names {
    /// All but these.
    Except(Vec<String>),
    /// These alone.
    Only(Vec<String>),
}

impl Names {
    /// All names.
    pub const ALL: Names = Names::Except(Vec::new());

    /// Whether this name is taken in.
    pub fn admit(&self, name: &str) -> bool {
        match self {
            Names::Except(names) => !names.iter().any(|n| n == name),
            Names::Only(names) => names.iter().any(|n| n == name),
        }
    }
}

/// A priority, or the name of a class that has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PriorityThreshold {
    /// This value.
    Value(i32),
    /// The value of this PriorityClass, as the cluster has it.
    Class(String),
}

/// What is protected from eviction. Mirror and static pods always are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent protection of the policy file")]
pub struct Protections {
    /// Pods with an emptyDir or hostPath volume.
    pub local_storage: bool,
    /// Pods of a DaemonSet.
    pub daemon_sets: bool,
    /// Pods with a priority of 2,000,000,000 or more.
    pub system_critical: bool,
    /// Pods with no owner that have failed; other pods with no owner are always protected.
    pub failed_bare: bool,
    /// Pods with a persistentVolumeClaim.
    pub persistent_volumes: Option<StorageClasses>,
    /// Pods that no PodDisruptionBudget selects.
    pub without_budget: bool,
    /// Pods with dynamic resource claims.
    pub resource_claims: bool,
    /// Pods with the annotation `descheduler.alpha.kubernetes.io/prefer-no-eviction`.
    pub prefer_no_eviction: bool,
}

/// Which persistent volumes protect their pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageClasses {
    /// All of them.
    Any,
    /// Those of these classes, and those whose class cannot be told.
    Named(Vec<String>),
}

/// One strategy to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Strategy {
    /// Position of its profile in [`Policy::profiles`].
    pub profile: usize,
    /// What it does.
    pub rule: Rule,
}

/// What a strategy does, with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// Evens out: from nodes above their target to nodes below their threshold.
    LowNodeUtilization(LowNodeUtilization),
    /// Packs: empties nodes that are below their threshold.
    HighNodeUtilization(HighNodeUtilization),
    /// Spreads equal pods of one owner over the nodes.
    RemoveDuplicates(RemoveDuplicates),
    /// Keeps topology spread constraints that have come to be violated.
    RemovePodsViolatingTopologySpreadConstraint(TopologySpread),
    /// Parts pods that required anti-affinity keeps apart.
    RemovePodsViolatingInterPodAntiAffinity(Scope),
    /// Moves pods to nodes that their node affinity asks for.
    RemovePodsViolatingNodeAffinity(NodeAffinity),
    /// Moves pods from nodes with taints that they do not tolerate.
    RemovePodsViolatingNodeTaints(NodeTaints),
    /// Gives pods that keep restarting another node.
    RemovePodsHavingTooManyRestarts(TooManyRestarts),
    /// Ends pods that are old, or in a state that they do not leave.
    PodLifeTime(PodLifeTime),
    /// Clears failed pods away.
    RemoveFailedPods(FailedPods),
}

impl Rule {
    /// The name that users know, in plans, events and logs.
    pub const fn name(&self) -> &'static str {
        match self {
            Rule::LowNodeUtilization(_) => "LowNodeUtilization",
            Rule::HighNodeUtilization(_) => "HighNodeUtilization",
            Rule::RemoveDuplicates(_) => "RemoveDuplicates",
            Rule::RemovePodsViolatingTopologySpreadConstraint(_) => "RemovePodsViolatingTopologySpreadConstraint",
            Rule::RemovePodsViolatingInterPodAntiAffinity(_) => "RemovePodsViolatingInterPodAntiAffinity",
            Rule::RemovePodsViolatingNodeAffinity(_) => "RemovePodsViolatingNodeAffinity",
            Rule::RemovePodsViolatingNodeTaints(_) => "RemovePodsViolatingNodeTaints",
            Rule::RemovePodsHavingTooManyRestarts(_) => "RemovePodsHavingTooManyRestarts",
            Rule::PodLifeTime(_) => "PodLifeTime",
            Rule::RemoveFailedPods(_) => "RemoveFailedPods",
        }
    }
}

/// Arguments of LowNodeUtilization.
#[derive(Clone, Debug, PartialEq)]
pub struct LowNodeUtilization {
    /// What it weighs.
    pub basis: Basis,
    /// Groups of nodes that are balanced each in itself; a node belongs to the first that selects it.
    pub pools: Vec<Pool>,
    /// Thresholds are distances from the mean of the pool rather than shares.
    pub deviation: bool,
    /// Act only when more nodes than this are below their threshold.
    pub number_of_nodes: u32,
    /// A node counts as hot only when it has been so for this long. Requests are not noisy and do not wait.
    pub sustained_for: SignedDuration,
    /// Namespaces whose pods this strategy may move.
    pub evictable_namespaces: Names,
    /// Evictions by this strategy from one node in one cycle.
    pub per_node: Option<u32>,
}

/// Which pods a strategy looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// In these namespaces.
    pub namespaces: Names,
    /// With these labels; all where `None`.
    pub pods: Option<Selector>,
}

/// Arguments of HighNodeUtilization.
#[derive(Clone, Debug, PartialEq)]
pub struct HighNodeUtilization {
    /// What it weighs.
    pub basis: Basis,
    /// A node at or below all of these is emptied.
    pub thresholds: Thresholds,
    /// Act only when more nodes than this are below their threshold.
    pub number_of_nodes: u32,
    /// Move only pods that request a resource with a threshold.
    pub only_thresholding_resources: bool,
    /// Namespaces whose pods this strategy may move.
    pub evictable_namespaces: Names,
}

/// Arguments of RemoveDuplicates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoveDuplicates {
    /// In these namespaces.
    pub namespaces: Names,
    /// Pods with an owner of such a kind are left alone.
    pub exclude_owner_kinds: Vec<String>,
}

/// Arguments of RemovePodsViolatingTopologySpreadConstraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologySpread {
    /// Which pods it looks at.
    pub scope: Scope,
    /// Constraints with `whenUnsatisfiable: DoNotSchedule`.
    pub hard: bool,
    /// Constraints with `whenUnsatisfiable: ScheduleAnyway`.
    pub soft: bool,
    /// Move only pods that fit a node of a domain below the average.
    pub node_fit: bool,
}

/// Arguments of RemovePodsViolatingNodeAffinity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAffinity {
    /// Which pods it looks at.
    pub scope: Scope,
    /// The kinds of affinity to keep, in this order.
    pub kinds: Vec<AffinityKind>,
}

/// A kind of node affinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AffinityKind {
    /// `requiredDuringSchedulingIgnoredDuringExecution`.
    Required,
    /// `preferredDuringSchedulingIgnoredDuringExecution`.
    Preferred,
}

/// Arguments of RemovePodsViolatingNodeTaints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTaints {
    /// Which pods it looks at.
    pub scope: Scope,
    /// Taints with effect PreferNoSchedule count as well.
    pub include_prefer_no_schedule: bool,
    /// The taints that count, as `key` or `key=value`.
    pub taints: Names,
}

/// Arguments of RemovePodsHavingTooManyRestarts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooManyRestarts {
    /// Which pods it looks at.
    pub scope: Scope,
    /// So many restarts, over all containers, are too many.
    pub threshold: u32,
    /// Restarts of init containers count as well.
    pub including_init_containers: bool,
    /// Only pods in one of these states: a phase, or why a container waits; all where empty.
    pub states: Vec<String>,
}

/// Arguments of PodLifeTime; what is given must all hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodLifeTime {
    /// Which pods it looks at.
    pub scope: Scope,
    /// Older than this.
    pub max_age: Option<SignedDuration>,
    /// In one of these states: a phase, a reason of the pod, or why a container waits or ended; all where empty.
    pub states: Vec<String>,
    /// With one of these conditions; all where empty.
    pub conditions: Vec<ConditionTest>,
    /// With a container that ended with one of these codes; all where empty.
    pub exit_codes: Vec<i32>,
    /// With an owner of such a kind (`Only`), or of none of these kinds (`Except`).
    pub owner_kinds: Names,
    /// States and exit codes of init containers count as well.
    pub including_init_containers: bool,
    /// States of ephemeral containers count as well.
    pub including_ephemeral_containers: bool,
}

/// What a pod's condition must be; what is given must all hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionTest {
    /// Its type.
    pub kind: Option<String>,
    /// Its status.
    pub status: Option<String>,
    /// Its reason.
    pub reason: Option<String>,
    /// It has been so for at least this long.
    pub for_at_least: Option<SignedDuration>,
}

/// Arguments of RemoveFailedPods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedPods {
    /// Which pods it looks at.
    pub scope: Scope,
    /// At least this old.
    pub min_age: SignedDuration,
    /// Failed for one of these reasons; all where empty.
    pub reasons: Vec<String>,
    /// With a container that ended with one of these codes; all where empty.
    pub exit_codes: Vec<i32>,
    /// Pods with an owner of such a kind are left alone.
    pub exclude_owner_kinds: Vec<String>,
    /// Reasons and exit codes of init containers count as well.
    pub including_init_containers: bool,
}

/// Nodes that are balanced among themselves, by the same thresholds.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// Shown in plans.
    pub name: String,
    /// The nodes; all where `None`.
    pub selector: Option<Selector>,
    /// A node at or below all of these may take pods.
    pub thresholds: Thresholds,
    /// A node above any of these is hot.
    pub targets: Thresholds,
}

/// A share for each named resource, in the order of the names.
pub type Thresholds = Vec<(String, Ratio)>;
impl Policy {
    /// STUB
    pub fn parse(_f: &str, text: &str) -> Result<Policy, String> {
        use serde_json::Value as V;
        let v: V = serde_saphyr::from_str(text).map_err(|e| e.to_string())?;
        let dur = |v: &V, d: &str| -> SignedDuration { v.as_str().unwrap_or(d).parse().unwrap() };
        let lim = |v: &V, d: Option<u32>| match v {
            V::Null => d,
            V::String(_) => None,
            n => n.as_u64().map(|x| u32::try_from(x).unwrap()),
        };
        let pct = |v: &V| -> Ratio {
            match v {
                V::String(s) => Ratio::percent(s.trim_end_matches('%').parse().unwrap()).unwrap(),
                n => Ratio::percent(n.as_f64().unwrap()).unwrap(),
            }
        };
        let thr =
            |v: &V| -> Thresholds { v.as_object().into_iter().flatten().map(|(k, v)| (k.clone(), pct(v))).collect() };
        let sel = |v: &V| v.as_str().filter(|s| !s.is_empty()).map(|s| Selector::parse(s).unwrap());
        let names = |v: &V| -> Names {
            let l =
                |v: &V| v.as_array().into_iter().flatten().map(|x| x.as_str().unwrap().to_owned()).collect::<Vec<_>>();
            if v["include"].is_array() { Names::Only(l(&v["include"])) } else { Names::Except(l(&v["exclude"])) }
        };
        let e = &v["evictable"];
        let has = |k: &str, w: &str| e[k].as_array().into_iter().flatten().any(|x| x == w);
        let basis = |v: &V| match v.as_str() {
            Some("requests") => Basis::Requests,
            _ => Basis::Actual,
        };
        let u = &v["usage"];
        let l = &v["limits"];
        let c = &v["cooldown"];
        Ok(Policy {
            exact: false,
            interval: dur(&v["interval"], "1m"),
            dry_run: v["dryRun"].as_bool().unwrap_or(false),
            node_selector: sel(&v["nodeSelector"]),
            usage: UsagePolicy {
                source: SourceKind::MetricsApi,
                poll: dur(&u["poll"], "15s"),
                window: dur(&u["window"], "5m"),
                smoothing: match &u["smoothing"] {
                    V::String(s) if s == "mean" => Smoothing::Mean,
                    V::String(_) => Smoothing::Max,
                    V::Object(m) if m.contains_key("percentile") => Smoothing::Percentile(pct(&m["percentile"])),
                    V::Object(m) => Smoothing::HalfLife(dur(&m["halfLife"], "")),
                    _ => Smoothing::HalfLife(dur(&V::Null, "2m")),
                },
                stale_after: dur(&u["staleAfter"], "90s"),
                min_samples: u["minSamples"].as_u64().unwrap_or(3) as u32,
            },
            limits: Limits {
                per_cycle: lim(&l["perCycle"], Some(20)),
                per_node: lim(&l["perNode"], Some(5)),
                per_namespace: lim(&l["perNamespace"], None),
                per_minute: lim(&l["perMinute"], Some(30)),
                per_workload: match &l["perWorkload"] {
                    V::Null => Some(Share::Portion(Ratio::percent(25.0).unwrap())),
                    V::String(s) if s == "none" => None,
                    V::String(s) => Some(Share::Portion(pct(&V::String(s.clone())))),
                    n => Some(Share::Count(n.as_u64().unwrap() as u32)),
                },
            },
            cooldown: Cooldown { rest: dur(&c["rest"], "10m"), cap: dur(&c["cap"], "6h") },
            safety: Safety { max_not_ready: Ratio::percent(40.0).unwrap(), max_pending: Ratio::percent(20.0).unwrap() },
            profiles: vec![Profile {
                name: "default".into(),
                evictable: Evictable {
                    namespaces: names(&e["namespaces"]),
                    namespace_selector: sel(&e["namespaceSelector"]),
                    pod_selector: sel(&e["podSelector"]),
                    priority_below: match &e["priorityBelow"] {
                        V::String(s) => PriorityThreshold::Class(s.clone()),
                        n => PriorityThreshold::Value(n.as_i64().unwrap_or(2_000_000_000) as i32),
                    },
                    min_replicas: e["minReplicas"].as_u64().unwrap_or(2) as u32,
                    min_pod_age: dur(&e["minPodAge"], "1m"),
                    node_fit: true,
                    destinations: None,
                    protected: Protections {
                        local_storage: !has("allow", "localStorage"),
                        daemon_sets: !has("allow", "daemonSets"),
                        system_critical: !has("allow", "systemCritical"),
                        failed_bare: !has("allow", "failedBare"),
                        prefer_no_eviction: !has("allow", "preferNoEviction"),
                        persistent_volumes: has("protect", "persistentVolumes").then_some(StorageClasses::Any),
                        without_budget: has("protect", "withoutBudget"),
                        resource_claims: false,
                    },
                },
            }],
            strategies: v["strategies"]
                .as_array()
                .unwrap()
                .iter()
                .map(|s| {
                    let s = &s["lowNodeUtilization"];
                    let mut pools: Vec<Pool> = s["nodePools"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .map(|p| Pool {
                            name: p["name"].as_str().unwrap().into(),
                            selector: sel(&p["nodeSelector"]),
                            thresholds: thr(&p["thresholds"]),
                            targets: thr(&p["targetThresholds"]),
                        })
                        .collect();
                    if s["thresholds"].is_object() {
                        pools.push(Pool {
                            name: "default".into(),
                            selector: sel(&s["nodeSelector"]),
                            thresholds: thr(&s["thresholds"]),
                            targets: thr(&s["targetThresholds"]),
                        });
                    }
                    Strategy {
                        profile: 0,
                        rule: Rule::LowNodeUtilization(LowNodeUtilization {
                            basis: basis(&s["basis"]),
                            pools,
                            deviation: s["useDeviationThresholds"].as_bool().unwrap_or(false),
                            number_of_nodes: s["numberOfNodes"].as_u64().unwrap_or(0) as u32,
                            sustained_for: dur(&s["sustainedFor"], "2m"),
                            evictable_namespaces: names(&s["evictableNamespaces"]),
                            per_node: lim(&s["evictionLimits"]["node"], None),
                        }),
                    }
                })
                .collect(),
        })
    }
}
