//! Two instances, one for each node pool, act at the same time.

use serde_json::json;

use crate::e2e::support::{
    ControlPlane, Launch, Policy, even, eventually, evictions, ledger, say, scene, that,
};

/// The second instance has its own ledger and Lease, as a second release of the chart has.
const SECOND: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: second-ledger, namespace: kube-system}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: second, namespace: kube-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: second, namespace: kube-system}
rules:
- {apiGroups: [''], resources: [configmaps], resourceNames: [second-ledger], verbs: [get, update]}
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [second],
  verbs: [get, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: second, namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: second}
subjects: [{kind: ServiceAccount, name: evenkeel, namespace: kube-system}]
";

/// Four nodes from n`first` with this label. All six heavy pods are on the first.
async fn pool(control_plane: &ControlPlane, name: &str, first: u32) {
    let nodes = scene::names(first, first + 3);
    for node in &nodes {
        control_plane.kubectl(&["label", "node", node, &format!("pool={name}")]);
    }
    scene::cordon(control_plane, &nodes[1..]).await;
    let here = json!({"nodeSelector": {"pool": name}});
    let hot = format!("hot-{name}");
    scene::deployment_with(control_plane, &hot, 6, scene::HEAVY, &here).await;
    scene::uncordon(control_plane, &nodes[1..]).await;
}

/// The workloads in a ledger.
async fn workloads(ledger: &str, control_plane: &ControlPlane) -> Vec<String> {
    let entries = ledger::entries_of(ledger, control_plane).await;
    let workload = |entry: &serde_json::Value| entry["workload"].as_str().unwrap().to_owned();
    let mut workloads: Vec<String> = entries.iter().map(workload).collect();
    workloads.dedup();
    workloads
}

/// Waits until these nodes have a taint and no others do.
async fn only_tainted(control_plane: &ControlPlane, expected: &[&str]) {
    eventually(&format!("taints on {expected:?} alone"), 120, async || {
        let mut tainted = Vec::new();
        for node in scene::names(1, 8) {
            if !scene::taints(control_plane, &node).await.is_empty() {
                tainted.push(node);
            }
        }
        that(tainted == expected, tainted.join(", "))
    })
    .await;
}

#[test]
fn one_instance_for_each_node_pool_balances_its_own_pool_and_leaves_the_other_alone() {
    scene::with_rights(async |control_plane| {
        control_plane.apply(SECOND);
        scene::nodes(control_plane, 8).await;
        pool(control_plane, "a", 1).await;
        pool(control_plane, "b", 5).await;
        scene::usage_is_steady(control_plane).await;

        let policy = |pool: &str| {
            let policy = Policy { steering: "{taintHot: true}", ..Policy::USUAL };
            policy.by("") + &format!("nodeSelector: 'pool={pool}'\n")
        };
        let first = Launch::written(control_plane, &policy("a")).await;
        let mut first = first.run(&["--leader-elect"]);
        first.cycles(1, 60).await;
        let second = Launch::written(control_plane, &policy("b")).await;
        let second = second.with_ledger("second-ledger");
        let mut second = second
            .at(control_plane.port(1))
            .run(&["--leader-elect", "--leader-elect-resource-name=second"]);
        even(control_plane, &mut second, 300).await;
        second.cycles(2, 60).await;
        first.cycles(2, 60).await;
        // Both nodes are still above 65 % of their target, so they keep their taints.
        only_tainted(control_plane, &["n1", "n5"]).await;

        let made = evictions(control_plane);
        let of = |pool: &str| made.iter().filter(|e| e.name.starts_with(pool)).count();
        assert_eq!((of("hot-a"), of("hot-b"), made.len()), (3, 3, 6), "{made:#?}");
        let ledgers = [
            workloads(ledger::NAME, control_plane).await,
            workloads("second-ledger", control_plane).await,
        ];
        assert_eq!(ledgers, [["default/Deployment/hot-a"], ["default/Deployment/hot-b"]]);
        let began = |pool: &str| made.iter().find(|e| e.name.starts_with(pool)).unwrap().at;
        let apart = began("hot-a").duration_since(began("hot-b")).abs().as_millis();
        say(&format!(
            "two pools: 3 evictions each, the first ones {apart} ms apart, no foreign entry"
        ));

        assert!(second.stop(30).await.success());
        only_tainted(control_plane, &["n1"]).await;
        assert!(first.stop(30).await.success());
        only_tainted(control_plane, &[]).await;
    });
}
