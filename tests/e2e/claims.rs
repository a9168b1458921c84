//! Claims, volumes and attachments: where the real scheduler leaves a replacement pending, no pod
//! is evicted.

use serde_json::{Value, json};

use crate::e2e::support::{
    ControlPlane, Launch, Policy, Request, eventually, evicted, evictions, name, requests, say,
    scene, that,
};

const DRIVER: &str = "ebs.csi.example.com";
const CLAIMS: &str = "persistentvolumeclaims";

/// Creates these claims, each bound to a volume of its own.
fn bound_claims(control_plane: &ControlPlane, claims: &[String], mode: &str) {
    let spec = |claim: &String| {
        let volume = format!("pv-{claim}");
        let (size, modes) = (json!({"storage": "1Gi"}), json!([mode]));
        json!({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume},
                "spec": {"capacity": size, "accessModes": modes, "storageClassName": "manual",
                    "claimRef": {"namespace": "default", "name": claim},
                    "csi": {"driver": DRIVER, "volumeHandle": format!("vol-{claim}")}}},
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"name": claim, "namespace": "default"},
                "spec": {"accessModes": modes, "storageClassName": "manual",
                    "volumeName": volume, "resources": {"requests": size}}},
        ]})
    };
    for claim in claims {
        control_plane.apply(&spec(claim).to_string());
    }
}

async fn all_bound(control_plane: &ControlPlane, claims: usize) {
    eventually("the claims to be bound", 60, async || {
        let all = control_plane.list("/api/v1/namespaces/default/persistentvolumeclaims").await;
        let bound = all.iter().filter(|c| c["status"]["phase"] == "Bound").count();
        that(bound == claims, format!("{bound} of {claims}"))
    })
    .await;
}

/// A StatefulSet `db` of heavy pods, each with a claim of its template.
async fn stateful_set(control_plane: &ControlPlane, replicas: u32) {
    let usage = json!({"kwok.x-k8s.io/usage-cpu": "1000m", "kwok.x-k8s.io/usage-memory": "200Mi"});
    let manifest = json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {"replicas": replicas, "serviceName": "db", "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}, "annotations": usage},
                "spec": {"containers": [{"name": "main", "image": "main", "resources":
                        {"requests": {"cpu": "100m", "memory": "100Mi"}},
                    "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"},
                "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "manual",
                    "resources": {"requests": {"storage": "1Gi"}}}}]}});
    control_plane.apply(&manifest.to_string());
    eventually("StatefulSet db", 120, async || {
        let set = control_plane.get("/apis/apps/v1/namespaces/default/statefulsets/db").await;
        let ready = &set["status"]["readyReplicas"];
        that(*ready == replicas, set["status"].to_string())
    })
    .await;
}

/// Four nodes, and on n1 six heavy pods of the StatefulSet.
async fn stateful_scene(control_plane: &ControlPlane) {
    scene::nodes(control_plane, 4).await;
    scene::cordon(control_plane, &scene::names(2, 4)).await;
    let claims: Vec<String> = (0..6).map(|number| format!("data-db-{number}")).collect();
    bound_claims(control_plane, &claims, "ReadWriteOnce");
    stateful_set(control_plane, 6).await;
    all_bound(control_plane, 6).await;
    scene::uncordon(control_plane, &scene::names(2, 4)).await;
    scene::usage_is_steady(control_plane).await;
}

/// The codes of the pods that stay.
fn codes(plan: &Value) -> Vec<&str> {
    let kept = plan["kept"].as_array().unwrap();
    kept.iter().map(|kept| kept["code"].as_str().unwrap()).collect()
}

/// Returns the message of the scheduler about a pod that it has not placed.
async fn unschedulable(control_plane: &ControlPlane, pod: &str, uid: &Value) -> String {
    eventually("a replacement that the scheduler refuses", 60, async || {
        let pod = find(control_plane, pod).await;
        let conditions = pod["status"]["conditions"].as_array();
        let refused = conditions
            .into_iter()
            .flatten()
            .find(|c| c["type"] == "PodScheduled" && c["status"] == "False");
        match refused {
            Some(condition) if pod["metadata"]["uid"] != *uid => {
                Ok(condition["message"].as_str().unwrap_or_default().to_owned())
            }
            _ => Err(pod["status"].to_string()),
        }
    })
    .await
}

/// Returns a pod; `null` while it does not exist.
async fn find(control_plane: &ControlPlane, pod: &str) -> Value {
    let pods = control_plane.list("/api/v1/namespaces/default/pods").await;
    let found = pods.into_iter().find(|object| name(object) == pod);
    found.unwrap_or_default()
}

#[test]
fn pods_stay_while_their_claims_are_being_deleted() {
    scene::with(stateful_scene, async |control_plane| {
        let launch = Launch::new(control_plane, &Policy::USUAL).await;
        let plan = launch.plan();
        assert!(!plan["moves"].as_array().unwrap().is_empty(), "{plan:#}");

        control_plane.kubectl(&["delete", "pvc", "--all", "--wait=false"]);
        let plan = launch.plan();
        assert_eq!(plan["moves"], json!([]), "{plan:#}");
        let codes = codes(&plan);
        assert!(!codes.is_empty() && codes.iter().all(|c| *c == "unusable-claim"), "{plan:#}");
        let mut process = launch.run(&[]);
        process.says(&["unusable-claim=", "cycle: "], 2, 120).await;
        assert_eq!(evictions(control_plane).len(), 0);

        // The fate of a pod that goes all the same.
        let before = find(control_plane, "db-0").await;
        control_plane.kubectl(&["delete", "pod", "db-0", "--wait=false"]);
        let why = unschedulable(control_plane, "db-0", &before["metadata"]["uid"]).await;
        say(&format!("a claim that is being deleted: {why}"));
        // The old claim goes with its last pod, and nothing binds the new one.
        assert!(why.to_lowercase().contains("persistentvolumeclaim"), "{why}");
    });
}

#[test]
fn without_the_right_to_claims_pods_with_claims_stay_and_others_go() {
    scene::with_rights(async |control_plane| {
        without_right(control_plane, CLAIMS);
        scene::nodes(control_plane, 4).await;
        scene::cordon(control_plane, &scene::names(2, 4)).await;
        bound_claims(control_plane, &["shared".to_owned()], "ReadWriteMany");
        let volumes = json!({"volumes": [{"name": "data",
            "persistentVolumeClaim": {"claimName": "shared"}}]});
        scene::deployment_with(control_plane, "kept", 3, "1000m", &volumes).await;
        scene::deployment(control_plane, "free", 3, "1000m").await;
        scene::uncordon(control_plane, &scene::names(2, 4)).await;
        scene::usage_is_steady(control_plane).await;

        let launch = Launch::new(control_plane, &Policy::USUAL).await;
        let plan = launch.plan();
        let said = "evenkeel may not list PersistentVolumeClaims: 3 pods stay because the \
                    replacement depends on them";
        assert_eq!(plan["unknown"][0]["message"], said, "{plan:#}");
        let moves = plan["moves"].as_array().unwrap();
        let free = moves.iter().all(|m| m["pod"].as_str().unwrap().starts_with("free-"));
        assert!(free && !moves.is_empty(), "{plan:#}");
        let (_, lines) = launch.doctor(&[]);
        let kinds = lines.iter().find(|line| line["check"] == "kinds").unwrap();
        assert_eq!(kinds["message"], said);

        let mut process = launch.run(&[]);
        evicted(control_plane, &mut process, 2, 240).await;
        process.cycles(2, 60).await;
        let evicted: Vec<String> = evictions(control_plane).into_iter().map(|e| e.name).collect();
        assert!(evicted.iter().all(|pod| pod.starts_with("free-")), "{evicted:?}");
        assert_eq!(process.count(&["may not list PersistentVolumeClaims"]), 1);

        // The kind is known as soon as the right is there.
        scene::rights(control_plane);
        process
            .eventually("the claims to be listed", 120, async |_| {
                let lists = |r: &Request| r.resource == CLAIMS && r.verb == "list" && r.code == 200;
                that(requests(control_plane).iter().any(lists), "not yet")
            })
            .await;
        assert_eq!(launch.plan()["unknown"], json!([]));
    });
}

/// Takes a resource out of the ClusterRole of `deploy/base`.
fn without_right(control_plane: &ControlPlane, resource: &str) {
    let role: Value = serde_json::from_str(&control_plane.kubectl(&[
        "get",
        "clusterrole",
        "evenkeel",
        "-o",
        "json",
    ]))
    .unwrap();
    let mut rules = role["rules"].as_array().unwrap().clone();
    for rule in &mut rules {
        rule["resources"].as_array_mut().unwrap().retain(|granted| granted != resource);
    }
    rules.retain(|rule| !rule["resources"].as_array().unwrap().is_empty());
    let patch = json!({"rules": rules}).to_string();
    control_plane.kubectl(&["patch", "clusterrole", "evenkeel", "--type=merge", "-p", &patch]);
}

/// The scheduler counts a volume whose pod is gone as long as its attachment exists.
#[test]
fn a_volume_that_is_still_attached_counts_towards_the_limit() {
    scene::with(stateful_scene, async |control_plane| {
        let left: Vec<String> = (2..=4).map(|number| format!("left-{number}")).collect();
        bound_claims(control_plane, &left, "ReadWriteOnce");
        for (number, claim) in (2..=4).zip(&left) {
            let node = format!("n{number}");
            limit(control_plane, &node, 1);
            attach(control_plane, &node, &format!("pv-{claim}"));
        }
        limit(control_plane, "n1", 25);
        let launch = Launch::new(control_plane, &Policy::USUAL).await;
        let plan = launch.plan();
        assert_eq!(plan["moves"], json!([]), "{plan:#}");
        let kept = plan["kept"].to_string();
        assert!(kept.contains("at the limit of volumes of ebs.csi.example.com"), "{plan:#}");

        // The scheduler agrees: away from n1, there is no room.
        scene::cordon(control_plane, &scene::names(1, 1)).await;
        let before = find(control_plane, "db-0").await;
        control_plane.kubectl(&["delete", "pod", "db-0", "--wait=false"]);
        let why = unschedulable(control_plane, "db-0", &before["metadata"]["uid"]).await;
        say(&format!("volumes that are still attached: {why}"));
        assert!(why.contains("exceed max volume count"), "{why}");

        control_plane.kubectl(&["delete", "volumeattachment", "--all"]);
        eventually("a node for the replacement", 120, async || {
            let pod = find(control_plane, "db-0").await;
            that(pod["spec"]["nodeName"].is_string(), pod.to_string())
        })
        .await;
    });
}

fn limit(control_plane: &ControlPlane, node: &str, count: u32) {
    let csi_node = json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode",
        "metadata": {"name": node},
        "spec": {"drivers": [{"name": DRIVER, "nodeID": node, "topologyKeys": [],
            "allocatable": {"count": count}}]}});
    control_plane.apply(&csi_node.to_string());
}

fn attach(control_plane: &ControlPlane, node: &str, volume: &str) {
    let attachment = json!({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
        "metadata": {"name": format!("left-on-{node}")},
        "spec": {"attacher": DRIVER, "nodeName": node,
            "source": {"persistentVolumeName": volume}}});
    control_plane.apply(&attachment.to_string());
}
