//! HighNodeUtilization by real usage: are nodes emptied fully or not at all, and does every pod find a place?

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::kit::audit::{evictions, requests};
use crate::kit::bed::{Bed, on_a_bed};
use crate::kit::keel::{Keel, Launch};
use crate::kit::rounds::{self, healed};
use crate::kit::scene::{self, node_of};
use crate::kit::usage::{in_words, name, used};
use crate::kit::wait::{eventually, say, that};

/// The ceiling that a policy has unasked, by usage.
const CEILING: f64 = 80.0;
const EMPTYING: &str = "evenkeel.io/steer=emptying:PreferNoSchedule";

/// Nodes that use at most a quarter of their CPU are emptied, with the limits that one gets unasked.
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

/// Light pods are spread over n1 to n3, as the stock scheduler does it; then the scheduler is told to pack. n4 has a pod
/// that its budget keeps, n5 may not be switched off, and what n6 has would make n7, the fullest, hot. n8 is in use.
#[test]
fn where_the_scheduler_packs_nodes_are_emptied_fully_or_not_at_all() {
    on_a_bed(async |bed| {
        scene::rights(bed);
        scene::nodes(bed, 8).await;
        light_pods(bed, 8).await;
        a_kept_pod(bed, "n4", 8).await;
        on(bed, ("n5", 8), "spare", (2, "80m"), &json!({})).await;
        bed.kubectl(&[
            "annotate",
            "node",
            "n5",
            "cluster-autoscaler.kubernetes.io/scale-down-disabled=true",
        ]);
        on(bed, ("n6", 8), "greedy", (2, "850m"), &json!({})).await;
        on(
            bed,
            ("n7", 8),
            "busy",
            (5, "1000m"),
            &rounds::requests("1000m"),
        )
        .await;
        on(
            bed,
            ("n8", 8),
            "other",
            (3, "1000m"),
            &rounds::requests("500m"),
        )
        .await;
        let scheduler = scene::packing_scheduler(bed);
        scene::settle(bed).await;

        let before = Before::look(bed).await;
        let launch = Launch::written(bed, &policy("{}"))
            .await
            .with_scheduler(scheduler);
        let mut keel = launch.run(&[]);
        emptied(bed, &mut keel, &scene::names(1, 3)).await;
        let gone = rests(bed, &mut keel).await;
        before.compare(bed, &gone, 14).await;
        for landed in gone.iter().flat_map(|g| &g.landed) {
            assert_eq!(landed, "n7", "the fullest: {gone:#?}");
        }
        let why = reasons(&launch.plan());
        say(&format!("packing, what stays: {why:?}"));
        for code in [
            "disruption-budget",
            "not-alone",
            "unremovable-node",
            "would-land-hot",
        ] {
            assert!(why.contains_key(code), "nobody stays for {code}: {why:?}");
        }
        assert!(keel.stop(10).await.success());
    });
}

/// The same kind of cluster with the scheduler as it comes, which would bring every pod back.
#[test]
fn where_the_scheduler_spreads_soft_taints_let_nodes_be_emptied() {
    on_a_bed(async |bed| {
        scene::rights_to_steer(bed);
        scene::nodes(bed, 6).await;
        light_pods(bed, 6).await;
        a_kept_pod(bed, "n4", 6).await;
        on(
            bed,
            ("n5", 6),
            "busy",
            (5, "1000m"),
            &rounds::requests("1000m"),
        )
        .await;
        on(
            bed,
            ("n6", 6),
            "other",
            (4, "1000m"),
            &rounds::requests("1000m"),
        )
        .await;
        scene::settle(bed).await;

        let before = Before::look(bed).await;
        let launch = Launch::written(bed, &policy("{}")).await;
        let mut keel = launch.run(&[]);
        keel.says(&["would-return"], 1, 180).await;
        keel.cycles(4, 120).await;
        assert_eq!(evictions(bed).len(), 0);
        let plan = launch.plan();
        say(&format!(
            "spreading, not steered: nothing moves, and the plan says why: {:?}",
            reasons(&plan)
        ));
        assert_eq!(plan["moves"], json!([]));
        assert!(reasons(&plan).contains_key("would-return"), "{plan:#}");
        assert!(keel.stop(10).await.success());

        let launch = Launch::written(bed, &policy("{taintEmptying: true, maxNodes: 50%}")).await;
        let mut keel = launch.run(&[]);
        emptied(bed, &mut keel, &scene::names(1, 3)).await;
        let gone = rests(bed, &mut keel).await;
        before.compare(bed, &gone, 14).await;
        let patches: Vec<_> = requests(bed)
            .into_iter()
            .filter(|r| r.verb == "patch" && r.resource == "nodes")
            .collect();
        let tainted: BTreeSet<&str> = patches.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(tainted, BTreeSet::from(["n1", "n2", "n3"]), "{patches:#?}");
        assert_eq!(
            patches.len(),
            3,
            "a taint went and came again: {patches:#?}"
        );
        for (gone, eviction) in gone.iter().zip(evictions(bed)) {
            let first = patches.iter().find(|p| p.name == gone.node).unwrap();
            assert!(first.at < eviction.at, "{eviction:?} was before {first:?}");
        }
        for node in scene::names(1, 3) {
            assert_eq!(
                scene::taints(bed, &node).await,
                [EMPTYING],
                "{node} had better stay empty"
            );
        }
        assert!(keel.stop(10).await.success());
    });
}

/// Twelve light pods of three workloads, four on each of n1 to n3, and both pods of a fourth on n1.
async fn light_pods(bed: &Bed, nodes: u32) {
    scene::cordon(bed, &scene::names(4, nodes)).await;
    for (name, replicas) in [("web", 6), ("api", 3), ("shop", 3)] {
        scene::deployment(bed, name, replicas, "80m").await;
        let spread = rounds::spread(bed, name).await;
        assert!(
            spread.len() == 3 && spread.values().all(|n| *n == replicas as usize / 3),
            "{name}: {spread:?}"
        );
    }
    scene::uncordon(bed, &scene::names(4, nodes)).await;
    on(bed, ("n1", nodes), "pair", (2, "50m"), &json!({})).await;
}

/// Two pods that could go, and two whose budget allows no disruption.
async fn a_kept_pod(bed: &Bed, node: &str, nodes: u32) {
    on(bed, (node, nodes), "calm", (2, "80m"), &json!({})).await;
    on(bed, (node, nodes), "stuck", (2, "80m"), &json!({})).await;
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "stuck", "namespace": "default"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "stuck"}}},
    });
    bed.apply(&budget.to_string());
    eventually("the budget to count its pods", 60, async || {
        let it = bed
            .get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/stuck")
            .await;
        that(it["status"]["expectedPods"] == 2, it["status"].to_string())
    })
    .await;
}

/// A Deployment all of whose pods are on one of so many nodes.
async fn on(
    bed: &Bed,
    (node, nodes): (&str, u32),
    name: &str,
    (replicas, cpu): (u32, &str),
    more: &Value,
) {
    let others: Vec<String> = scene::names(1, nodes)
        .into_iter()
        .filter(|n| n != node)
        .collect();
    scene::cordon(bed, &others).await;
    scene::deployment_with(bed, name, replicas, cpu, more).await;
    scene::uncordon(bed, &others).await;
}

/// The names of the pods in namespace default, node by node.
async fn by_node(bed: &Bed) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for pod in bed.list("/api/v1/namespaces/default/pods").await {
        all.entry(node_of(&pod)).or_default().insert(name(&pod));
    }
    all
}

/// Waits until nobody is on these nodes but their agents.
async fn emptied(bed: &Bed, keel: &mut Keel, nodes: &[String]) {
    keel.eventually("the nodes to be empty", 480, async |_| {
        let now = by_node(bed).await;
        let left: Vec<_> = nodes.iter().filter_map(|n| now.get(n)).flatten().collect();
        that(left.is_empty(), format!("{left:?}"))
    })
    .await;
}

/// Waits until several cycles have passed in which nothing happens, and returns who went.
async fn rests(bed: &Bed, keel: &mut Keel) -> Vec<Gone> {
    keel.eventually("it to learn where every pod went", 120, async |keel| {
        let (told, made) = (
            keel.lines("\"message\":\"settled: ").len(),
            evictions(bed).len(),
        );
        that(told == made, format!("{told} of {made}"))
    })
    .await;
    loop {
        let made = evictions(bed).len();
        keel.cycles(6, 180).await;
        if evictions(bed).len() == made {
            return Gone::all(keel);
        }
    }
}

/// A pod that was evicted, by the program's log.
#[derive(Debug)]
struct Gone {
    pod: String,
    node: String,
    may_land: Vec<String>,
    landed: Option<String>,
}

impl Gone {
    /// In the order in which they went.
    fn all(keel: &Keel) -> Vec<Gone> {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let settled: BTreeMap<String, Option<String>> = keel
            .lines("\"message\":\"settled: ")
            .iter()
            .map(|s| (word(&s["pod"]), s["to"].as_str().map(str::to_owned)))
            .collect();
        let made = keel
            .lines("\"outcome\":\"evicted\"")
            .into_iter()
            .filter(|line| line["pod"].is_string());
        let gone = made.map(|line| Gone {
            pod: word(&line["pod"]),
            node: word(&line["node"]),
            may_land: word(&line["may_land"])
                .split(' ')
                .map(str::to_owned)
                .collect(),
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
    async fn look(bed: &Bed) -> Self {
        Before {
            pods: by_node(bed).await,
            percentages: used(bed).await.percentages(),
        }
    }

    /// What must hold when nothing more happens: each node as a whole or not at all, as many evictions as there were
    /// pods to move, each pod where it was foreseen, none waiting, no node above its ceiling.
    async fn compare(&self, bed: &Bed, gone: &[Gone], moves: usize) {
        healed(bed).await;
        scene::settle(bed).await;
        let (after, used) = (by_node(bed).await, used(bed).await);
        say(&format!("packing, before: {}", in_words(&self.percentages)));
        say(&format!(
            "packing, after:  {}",
            in_words(&used.percentages())
        ));
        let drained: BTreeSet<&str> = gone.iter().map(|g| g.node.as_str()).collect();
        let made = evictions(bed);
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
                assert!(now.is_empty(), "{node} is emptied by half: {now:?}");
            } else {
                assert!(
                    now.is_superset(pods),
                    "{node} has lost some: {now:?} of {pods:?}"
                );
            }
        }
        assert_eq!(made.len(), moves, "each pod once: {made:#?}");
        assert_eq!(
            gone.iter().map(|g| &g.pod).collect::<Vec<_>>(),
            made.iter().map(|e| &e.name).collect::<Vec<_>>()
        );
        for it in gone {
            let foreseen = it
                .landed
                .as_ref()
                .is_some_and(|to| it.may_land.contains(to));
            assert!(foreseen, "it landed where it was not foreseen: {it:?}");
        }
        let waiting = bed
            .list("/api/v1/pods?fieldSelector=status.phase%3DPending")
            .await;
        assert!(waiting.is_empty(), "{waiting:#?}");
        assert!(
            used.highest() <= CEILING,
            "a node is hot: {}",
            in_words(&used.percentages())
        );
    }
}

/// How often a plan gives which reason to stay.
fn reasons(plan: &Value) -> BTreeMap<String, usize> {
    let mut codes = BTreeMap::new();
    for kept in plan["kept"].as_array().unwrap() {
        *codes
            .entry(kept["code"].as_str().unwrap().to_owned())
            .or_default() += 1;
    }
    codes
}
