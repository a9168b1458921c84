//! HighNodeUtilization by actual usage empties a node fully or not at all, and every pod finds
//! another node.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::e2e::support::{
    ControlPlane, Launch, Process, eventually, evictions, healed, in_words, name, requests, rounds,
    say,
    scene::{self, node_of},
    that, used,
};

/// The default ceiling by usage, in percent.
const CEILING: f64 = 80.0;
const EMPTYING: &str = "evenkeel.io/steer=emptying:PreferNoSchedule";

/// A policy that empties nodes below 25 % of their CPU, with the default limits.
fn policy(steering: &str) -> String {
    format!(
        "apiVersion: evenkeel/v1alpha1\n\
         kind: Policy\n\
         interval: 10s\n\
         usage: {{poll: 5s, window: 40s, smoothing: mean, staleAfter: 90s, minSamples: 2}}\n\
         evictable: {{minPodAge: 0s}}\n\
         steering: {steering}\n\
         strategies:\n\
         - highNodeUtilization: {{basis: actual, thresholds: {{cpu: 25%}}}}\n"
    )
}

/// The default scheduler spreads light pods over n1 to n3. Then the scheduler is configured to
/// pack. n4 has a pod that its budget protects, the autoscaler may not remove n5, and the pods of
/// n6 would make n7, the fullest node, hot. n8 is in use.
#[test]
fn where_the_scheduler_packs_nodes_are_emptied_fully_or_not_at_all() {
    scene::with_rights(async |control_plane| {
        scene::nodes(control_plane, 8).await;
        light_pods(control_plane, 8).await;
        a_kept_pod(control_plane, "n4", 8).await;
        on(control_plane, "n5", 8, "spare", 2, "80m", &json!({})).await;
        let kept = "cluster-autoscaler.kubernetes.io/scale-down-disabled=true";
        control_plane.kubectl(&["annotate", "node", "n5", kept]);
        on(control_plane, "n6", 8, "greedy", 2, "850m", &json!({})).await;
        on(control_plane, "n7", 8, "busy", 5, "1000m", &rounds::requests("1000m")).await;
        on(control_plane, "n8", 8, "other", 3, "1000m", &rounds::requests("500m")).await;
        let scheduler = scene::packing_scheduler(control_plane);
        scene::usage_is_steady(control_plane).await;

        let before = Before::look(control_plane).await;
        let launch = Launch::written(control_plane, &policy("{}")).await.with_scheduler(scheduler);
        let mut process = launch.run(&[]);
        emptied(control_plane, &mut process, &scene::names(1, 3)).await;
        let gone = rests(control_plane, &mut process).await;
        before.compare(control_plane, &gone, 14).await;
        for landed in gone.iter().flat_map(|g| &g.landed) {
            assert_eq!(landed, "n7", "the fullest: {gone:#?}");
        }
        let why = reasons(&launch.plan());
        say(&format!("packing, reasons to stay: {why:?}"));
        for code in ["disruption-budget", "not-alone", "unremovable-node", "would-land-hot"] {
            assert!(why.contains_key(code), "no pod stays because of {code}: {why:?}");
        }
        assert!(process.stop(10).await.success());
    });
}

/// A similar cluster with the default scheduler, which would bring every pod back.
#[test]
fn where_the_scheduler_spreads_soft_taints_let_nodes_be_emptied() {
    scene::with_rights(async |control_plane| {
        scene::nodes(control_plane, 6).await;
        light_pods(control_plane, 6).await;
        a_kept_pod(control_plane, "n4", 6).await;
        on(control_plane, "n5", 6, "busy", 5, "1000m", &rounds::requests("1000m")).await;
        on(control_plane, "n6", 6, "other", 4, "1000m", &rounds::requests("1000m")).await;
        scene::usage_is_steady(control_plane).await;

        let before = Before::look(control_plane).await;
        let launch = Launch::written(control_plane, &policy("{}")).await;
        let mut process = launch.run(&[]);
        process.says(&["would-return"], 1, 180).await;
        process.cycles(4, 120).await;
        assert_eq!(evictions(control_plane).len(), 0);
        let plan = launch.plan();
        say(&format!(
            "spreading, not steered: nothing moves, and the plan says why: {:?}",
            reasons(&plan)
        ));
        assert_eq!(plan["moves"], json!([]));
        assert!(reasons(&plan).contains_key("would-return"), "{plan:#}");
        assert!(process.stop(10).await.success());

        let launch =
            Launch::written(control_plane, &policy("{taintEmptying: true, maxNodes: 50%}")).await;
        let mut process = launch.run(&[]);
        emptied(control_plane, &mut process, &scene::names(1, 3)).await;
        let gone = rests(control_plane, &mut process).await;
        before.compare(control_plane, &gone, 14).await;
        check_taints(control_plane, &gone);
        for node in scene::names(1, 3) {
            assert_eq!(
                scene::taints(control_plane, &node).await,
                [EMPTYING],
                "{node} lost the taint that keeps it empty"
            );
        }
        assert!(process.stop(10).await.success());
    });
}

/// Checks that n1 to n3 got their taint once, before the first eviction from each.
fn check_taints(control_plane: &ControlPlane, gone: &[Gone]) {
    let patches: Vec<_> = requests(control_plane)
        .into_iter()
        .filter(|r| r.verb == "patch" && r.resource == "nodes" && !r.dry_run)
        .collect();
    let tainted: BTreeSet<&str> = patches.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(tainted, BTreeSet::from(["n1", "n2", "n3"]), "{patches:#?}");
    assert_eq!(patches.len(), 3, "a taint went and came again: {patches:#?}");
    for (gone, eviction) in gone.iter().zip(evictions(control_plane)) {
        let first = patches.iter().find(|p| p.name == gone.node).unwrap();
        assert!(first.at < eviction.at, "{eviction:?} was before {first:?}");
    }
}

/// Twelve light pods of three workloads, four on each of n1 to n3, and both pods of a fourth on n1.
async fn light_pods(control_plane: &ControlPlane, nodes: u32) {
    scene::cordon(control_plane, &scene::names(4, nodes)).await;
    for (name, replicas) in [("web", 6), ("api", 3), ("shop", 3)] {
        scene::deployment(control_plane, name, replicas, "80m").await;
        let spread = rounds::spread(control_plane, name).await;
        assert!(
            spread.len() == 3 && spread.values().all(|n| *n == replicas as usize / 3),
            "{name}: {spread:?}"
        );
    }
    scene::uncordon(control_plane, &scene::names(4, nodes)).await;
    on(control_plane, "n1", nodes, "pair", 2, "50m", &json!({})).await;
}

/// Adds two pods that may be evicted, and two whose budget allows no disruption.
async fn a_kept_pod(control_plane: &ControlPlane, node: &str, nodes: u32) {
    on(control_plane, node, nodes, "calm", 2, "80m", &json!({})).await;
    on(control_plane, node, nodes, "stuck", 2, "80m", &json!({})).await;
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "stuck", "namespace": "default"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "stuck"}}},
    });
    control_plane.apply(&budget.to_string());
    eventually("the budget to count its pods", 60, async || {
        let budget = control_plane
            .get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/stuck")
            .await;
        that(budget["status"]["expectedPods"] == 2, budget["status"].to_string())
    })
    .await;
}

/// A Deployment with all of its pods on one node.
async fn on(
    control_plane: &ControlPlane,
    node: &str,
    nodes: u32,
    name: &str,
    replicas: u32,
    cpu: &str,
    more: &Value,
) {
    let others: Vec<String> = scene::names(1, nodes).into_iter().filter(|n| n != node).collect();
    scene::cordon(control_plane, &others).await;
    scene::deployment_with(control_plane, name, replicas, cpu, more).await;
    scene::uncordon(control_plane, &others).await;
}

/// The names of the pods in namespace default, node by node.
async fn by_node(control_plane: &ControlPlane) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for pod in control_plane.list("/api/v1/namespaces/default/pods").await {
        all.entry(node_of(&pod)).or_default().insert(name(&pod));
    }
    all
}

/// Waits until these nodes run nothing but their agents.
async fn emptied(control_plane: &ControlPlane, process: &mut Process, nodes: &[String]) {
    process
        .eventually("the nodes to be empty", 480, async |_| {
            let now = by_node(control_plane).await;
            let left: Vec<_> = nodes.iter().filter_map(|n| now.get(n)).flatten().collect();
            that(left.is_empty(), format!("{left:?}"))
        })
        .await;
}

/// Waits until several cycles evict nothing. Returns the evicted pods.
async fn rests(control_plane: &ControlPlane, process: &mut Process) -> Vec<Gone> {
    process
        .eventually("it to learn where every pod went", 120, async |process| {
            let (told, made) =
                (process.lines("\"message\":\"settled: ").len(), evictions(control_plane).len());
            that(told == made, format!("{told} of {made}"))
        })
        .await;
    loop {
        let made = evictions(control_plane).len();
        process.cycles(6, 180).await;
        if evictions(control_plane).len() == made {
            return Gone::all(process);
        }
    }
}

/// An evicted pod, as the program logged it.
#[derive(Debug)]
struct Gone {
    pod: String,
    node: String,
    may_land: Vec<String>,
    landed: Option<String>,
}

impl Gone {
    /// All evicted pods, in order.
    fn all(process: &Process) -> Vec<Gone> {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let settled: BTreeMap<String, Option<String>> = process
            .lines("\"message\":\"settled: ")
            .iter()
            .map(|s| (word(&s["pod"]), s["to"].as_str().map(str::to_owned)))
            .collect();
        let made = process
            .lines("\"outcome\":\"evicted\"")
            .into_iter()
            .filter(|line| line["pod"].is_string());
        let gone = made.map(|line| Gone {
            pod: word(&line["pod"]),
            node: word(&line["node"]),
            may_land: word(&line["may_land"]).split(' ').map(str::to_owned).collect(),
            landed: settled.get(&word(&line["pod"])).cloned().flatten(),
        });
        gone.collect()
    }
}

/// The cluster before anything happens.
struct Before {
    pods: BTreeMap<String, BTreeSet<String>>,
    percentages: BTreeMap<String, f64>,
}

impl Before {
    async fn look(control_plane: &ControlPlane) -> Self {
        Before {
            pods: by_node(control_plane).await,
            percentages: used(control_plane).await.percentages(),
        }
    }

    /// Checks the final state: each node is emptied fully or not at all, every moved pod was
    /// evicted once and landed where the forecast said, no pod is pending, and no node is above its
    /// ceiling.
    async fn compare(&self, control_plane: &ControlPlane, gone: &[Gone], moves: usize) {
        healed(control_plane).await;
        scene::usage_is_steady(control_plane).await;
        let (after, used) = (by_node(control_plane).await, used(control_plane).await);
        say(&format!("packing, before: {}", in_words(&self.percentages)));
        say(&format!("packing, after:  {}", in_words(&used.percentages())));
        let drained: BTreeSet<&str> = gone.iter().map(|g| g.node.as_str()).collect();
        let made = evictions(control_plane);
        let took = made[made.len() - 1].at.duration_since(made[0].at).as_secs();
        let mut landings: BTreeMap<&str, usize> = BTreeMap::new();
        for to in gone.iter().filter_map(|g| g.landed.as_deref()) {
            *landings.entry(to).or_default() += 1;
        }
        say(&format!(
            "packing: {drained:?} emptied by {} evictions within {took} s; landed: {landings:?}",
            made.len()
        ));
        for (node, pods) in &self.pods {
            let now = after.get(node).cloned().unwrap_or_default();
            if drained.contains(node.as_str()) {
                assert!(now.is_empty(), "{node} is only partly emptied: {now:?}");
            } else {
                assert!(now.is_superset(pods), "{node} has lost some: {now:?} of {pods:?}");
            }
        }
        assert_eq!(made.len(), moves, "each pod once: {made:#?}");
        assert_eq!(
            gone.iter().map(|g| &g.pod).collect::<Vec<_>>(),
            made.iter().map(|e| &e.name).collect::<Vec<_>>()
        );
        for eviction in gone {
            let foreseen =
                eviction.landed.as_ref().is_some_and(|to| eviction.may_land.contains(to));
            assert!(foreseen, "it landed on a node that the forecast did not name: {eviction:?}");
        }
        let waiting = control_plane.list("/api/v1/pods?fieldSelector=status.phase%3DPending").await;
        assert!(waiting.is_empty(), "{waiting:#?}");
        assert!(used.highest() <= CEILING, "a node is hot: {}", in_words(&used.percentages()));
    }
}

/// How often each refusal code occurs in a plan.
fn reasons(plan: &Value) -> BTreeMap<String, usize> {
    let mut codes = BTreeMap::new();
    for kept in plan["kept"].as_array().unwrap() {
        *codes.entry(kept["code"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    codes
}
