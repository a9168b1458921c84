//! The admission policy limits the program's right to patch nodes to the steering taint.

use serde_json::{Map, Value, json};

use crate::e2e::support::{ControlPlane, audit::USER, eventually, say, scene, that};
use crate::shared::table::rows;

const NODE: &str = "/api/v1/nodes/n1";
const STATUS: &str = "/api/v1/nodes/n1/status";
/// A ServiceAccount with the same roles to which the admission policy does not apply.
const OTHER: &str = "system:serviceaccount:kube-system:other";
/// The messages of the policy.
const ONLY_UPDATES: &str = "may only change the taint evenkeel.io/steer";
const METADATA: &str = "may not change the labels, annotations or other metadata";
const SPEC: &str = "may not cordon a node or change its spec";
const OTHER_TAINT: &str = "may not add, change, reorder or remove a taint other than";
const FORM: &str = "must have the effect PreferNoSchedule and the value hot, emptying or full";

/// A role that grants everything on nodes, so that only the admission policy limits the account.
const WIDE_ROLE: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: everything-on-nodes}
rules: [{apiGroups: [''], resources: [nodes, nodes/status], verbs: ['*']}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: everything-on-nodes}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: everything-on-nodes}
subjects:
- {kind: ServiceAccount, name: evenkeel, namespace: kube-system}
- {kind: ServiceAccount, name: other, namespace: kube-system}
";

/// The taints that n1 has while changes are attempted.
fn taints() -> [Value; 3] {
    [
        json!({"key": "dedicated", "value": "web", "effect": "PreferNoSchedule"}),
        json!({"key": "gpu", "effect": "PreferNoSchedule"}),
        steering("hot", "PreferNoSchedule"),
    ]
}

fn steering(value: &str, effect: &str) -> Value {
    json!({"key": "evenkeel.io/steer", "value": value, "effect": effect})
}

/// Changes that the account must not make: the name, the message, and the merge patch.
const FORBIDDEN: &str = "
a new label | METADATA | {metadata: {labels: {a: b}}}
a changed label | METADATA | {metadata: {labels: {kubernetes.io/hostname: n2}}}
a removed label | METADATA | {metadata: {labels: {kubernetes.io/hostname: null}}}
no labels | METADATA | {metadata: {labels: null}}
an annotation | METADATA | {metadata: {annotations: {a: b}}}
a finalizer | METADATA | {metadata: {finalizers: [example.com/a]}}
an owner | METADATA | {metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u}]}}
a label beside the taint | METADATA | {metadata: {labels: {a: b}}, spec: {taints: [DEDICATED, GPU]}}
a cordon | SPEC | {spec: {unschedulable: true}}
a provider | SPEC | {spec: {providerID: 'cloud://n1'}}
pod addresses | SPEC | {spec: {podCIDR: 10.0.0.0/24, podCIDRs: [10.0.0.0/24]}}
no taints | OTHER_TAINT | {spec: {taints: null}}
another taint | OTHER_TAINT | {spec: {taints: [DEDICATED, GPU, HOT, {key: a, effect: NoExecute}]}}
another effect of another taint | OTHER_TAINT | {spec: {taints: [DEDICATED, {key: gpu, effect: NoExecute}, HOT]}}
another value of another taint | OTHER_TAINT | {spec: {taints: [{key: dedicated, value: db, effect: PreferNoSchedule}, GPU, HOT]}}
one taint less | OTHER_TAINT | {spec: {taints: [GPU, HOT]}}
another order | OTHER_TAINT | {spec: {taints: [GPU, DEDICATED, HOT]}}
a key that begins like ours | OTHER_TAINT | {spec: {taints: [DEDICATED, GPU, HOT, {key: evenkeel.io/steer2, effect: PreferNoSchedule}]}}
our taint with NoExecute | FORM | {spec: {taints: [DEDICATED, GPU, {key: evenkeel.io/steer, value: hot, effect: NoExecute}]}}
our taint with NoSchedule | FORM | {spec: {taints: [DEDICATED, GPU, {key: evenkeel.io/steer, value: hot, effect: NoSchedule}]}}
our taint with another value | FORM | {spec: {taints: [DEDICATED, GPU, {key: evenkeel.io/steer, value: cold, effect: PreferNoSchedule}]}}
";

fn forbidden_patches() -> Vec<(&'static str, Value, &'static str)> {
    let [dedicated, gpu, hot] = taints().map(|taint| taint.to_string());
    let patch = |patch: &str| {
        let patch = patch.replace("DEDICATED", &dedicated).replace("GPU", &gpu);
        serde_saphyr::from_str(&patch.replace("HOT", &hot)).unwrap()
    };
    let message = |name: &str| match name {
        "METADATA" => METADATA,
        "SPEC" => SPEC,
        "OTHER_TAINT" => OTHER_TAINT,
        _ => FORM,
    };
    rows(FORBIDDEN).map(|row| (row[0], patch(row[2]), message(row[1]))).collect()
}

#[test]
fn the_account_can_change_the_steering_taint_and_nothing_else() {
    scene::with(prepare, async |control_plane| {
        let before = content(control_plane).await;
        let patches = forbidden_patches();
        for (name, patch, message) in &patches {
            let refused = control_plane.send("PATCH", NODE, Some(USER), patch).await;
            is_refused(name, &refused, message);
        }
        // Subresources, creation and deletion.
        let busy = json!({"status": {"conditions": null}});
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
        let new = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n3"}});
        let others = [
            ("its status", "PATCH", STATUS, &busy),
            ("deletion", "DELETE", NODE, &options),
            ("creation", "POST", "/api/v1/nodes", &new),
        ];
        let refusals = patches.len() + others.len();
        for (name, method, path, body) in others {
            let refused = control_plane.send(method, path, Some(USER), body).await;
            is_refused(name, &refused, ONLY_UPDATES);
        }
        assert_eq!(content(control_plane).await, before, "n1 has changed");

        let [dedicated, gpu, hot] = taints();
        let emptying = steering("emptying", "PreferNoSchedule");
        let foreign = vec![dedicated, gpu];
        let allowed = [
            foreign.clone(),
            [foreign.clone(), vec![hot.clone()]].concat(),
            [foreign.clone(), vec![emptying]].concat(),
            [vec![hot], foreign.clone()].concat(),
            foreign,
        ];
        for taints in &allowed {
            set_taints(control_plane, USER, taints).await.unwrap();
            let now = control_plane.get(NODE).await;
            assert_eq!(now["spec"]["taints"], json!(taints));
        }
        say(&format!(
            "admission policy: {refusals} attempts refused, {} changes of the taint allowed",
            allowed.len()
        ));
    });
}

#[test]
fn a_broken_admission_policy_affects_no_other_account() {
    scene::with(prepare, async |control_plane| {
        // A large node costs no more than a policy may.
        set_size(control_plane, 1000, 2000).await;
        let mut taints = control_plane.get(NODE).await["spec"]["taints"].clone();
        let all = taints.as_array_mut().unwrap();
        all.push(steering("hot", "PreferNoSchedule"));
        set_taints(control_plane, USER, all).await.unwrap();
        set_taints(control_plane, OTHER, &[]).await.unwrap();

        // The policy does not limit another account.
        let label = json!({"metadata": {"labels": {"a": "b"}}});
        control_plane.send("PATCH", NODE, Some(OTHER), &label).await.unwrap();
        // This field does not exist, so the expression fails.
        let break_it = json!([{"op": "replace", "path": "/spec/validations/0/expression",
            "value": "object.metadata.labels['missing'] == ''"}]);
        control_plane.kubectl(&[
            "patch",
            "validatingadmissionpolicy",
            "evenkeel-steering",
            "--type=json",
            &format!("--patch={break_it}"),
        ]);
        eventually("the broken policy to refuse our taint", 60, async || {
            let hot = [steering("hot", "PreferNoSchedule")];
            let removed = set_taints(control_plane, USER, &[]).await;
            that(
                removed.is_err() || set_taints(control_plane, USER, &hot).await.is_err(),
                "still allowed",
            )
        })
        .await;
        let label = json!({"metadata": {"labels": {"a": "c"}}});
        control_plane.send("PATCH", NODE, Some(OTHER), &label).await.unwrap();
        control_plane.kubectl(&["cordon", "n1"]);
        control_plane.kubectl(&["uncordon", "n1"]);
    });
}

/// Two nodes, the roles, and an admission policy that is in force.
async fn prepare(control_plane: &ControlPlane) {
    control_plane.apply(WIDE_ROLE);
    scene::nodes(control_plane, 2).await;
    let patch = json!({"spec": {"taints": taints()}});
    control_plane.kubectl(&["patch", "node", "n1", "--type=merge", &format!("--patch={patch}")]);
    let mut attempts = 0;
    eventually("the admission policy", 60, async || {
        // Each attempt needs another value: one that succeeded before would change nothing.
        attempts += 1;
        let label = json!({"metadata": {"labels": {"probe": attempts.to_string()}}});
        let refused = control_plane.send("PATCH", "/api/v1/nodes/n2", Some(USER), &label).await;
        that(refused.is_err_and(|error| error.1.contains(METADATA)), "not in force")
    })
    .await;
}

/// Gives n1 this many labels and other taints.
async fn set_size(control_plane: &ControlPlane, labels: usize, taints: usize) {
    let label = |i: usize| (format!("l{i}.example.com/a"), json!("v".repeat(60)));
    let taint =
        |i: usize| json!({"key": format!("t{i}.example.com/a"), "effect": "PreferNoSchedule"});
    let labels: Map<String, Value> = (0..labels).map(label).collect();
    let annotations = json!({"a": "v".repeat(200_000)});
    let taints: Vec<Value> = (0..taints).map(taint).collect();
    let patch = json!({"metadata": {"labels": labels, "annotations": annotations},
        "spec": {"taints": taints}});
    control_plane.send("PATCH", NODE, Some(OTHER), &patch).await.unwrap();
}

async fn set_taints(
    control_plane: &ControlPlane,
    user: &str,
    taints: &[Value],
) -> Result<Value, (u16, String)> {
    let patch = json!({"spec": {"taints": taints}});
    control_plane.send("PATCH", NODE, Some(user), &patch).await
}

fn is_refused(name: &str, response: &Result<Value, (u16, String)>, message: &str) {
    let Err((code, text)) = response else { panic!("{name} is allowed") };
    assert_eq!(*code, 403, "{name}: {text}");
    assert!(text.contains("evenkeel-steering") && text.contains(message), "{name}: {text}");
}

/// The parts of n1 that no controller changes.
async fn content(control_plane: &ControlPlane) -> [Value; 3] {
    let mut node = control_plane.get(NODE).await;
    [node["metadata"]["labels"].take(), node["metadata"]["annotations"].take(), node["spec"].take()]
}
