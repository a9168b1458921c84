//! Pods whose replacement would not come or not start stay, and the control plane shows why.

use serde_json::{Value, json};

use crate::e2e::support::{ControlPlane, Launch, eventually, evictions, name, say, scene, that};

/// Evicts every pod that runs for a second.
const EVERY_POD: &str = "
apiVersion: evenkeel/v1alpha1
kind: Policy
usage: {poll: 5s}
evictable: {minPodAge: 0s}
limits: {perCycle: none, perNode: none, perNamespace: none, perMinute: none, perWorkload: LIMIT}
cooldown: {rest: 1s}
strategies: [{podLifeTime: {maxPodLifeTimeSeconds: 1, namespaces: {include: [default]}}}]
";

fn policy(limit: &str) -> String {
    EVERY_POD.replace("LIMIT", limit)
}

/// The codes of the pods that stay, each as `pod code`.
fn kept(plan: &Value) -> Vec<String> {
    let word = |kept: &Value, field: &str| kept[field].as_str().unwrap().to_owned();
    let kept = plan["kept"].as_array().unwrap().iter();
    kept.map(|kept| format!("{} {}", word(kept, "pod"), word(kept, "code"))).collect()
}

async fn evict(control_plane: &ControlPlane, pod: &str) {
    let path = format!("/api/v1/namespaces/default/pods/{pod}/eviction");
    let body = json!({"apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": {"name": pod, "namespace": "default"}});
    control_plane.send("POST", &path, None, &body).await.unwrap();
}

async fn pods_of(control_plane: &ControlPlane, app: &str) -> Vec<Value> {
    let path = format!("/api/v1/namespaces/default/pods?labelSelector=app%3D{app}");
    control_plane.list(&path).await
}

fn workload(kind: &str, name: &str, replicas: u32, spec: &Value) -> String {
    json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": spec}},
    })
    .to_string()
}

fn job(name: &str, backoff_limit: u32) -> String {
    let template = json!({"metadata": {"labels": {"app": name}},
        "spec": {"restartPolicy": "Never", "containers": containers()}});
    let spec = json!({"parallelism": 2, "completions": 2, "backoffLimit": backoff_limit,
        "template": template});
    json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec})
    .to_string()
}

fn containers() -> Value {
    let requests = json!({"cpu": "50m", "memory": "10Mi"});
    json!([{"name": "main", "image": "main", "resources": {"requests": requests}}])
}

async fn all_ready(control_plane: &ControlPlane, app: &str, replicas: usize) {
    eventually(&format!("{app} to be Ready"), 120, async || {
        let pods = pods_of(control_plane, app).await;
        let ready = pods.iter().filter(|pod| is_ready(pod)).count();
        that(ready == replicas, format!("{ready} of {replicas}"))
    })
    .await;
}

fn is_ready(pod: &Value) -> bool {
    pod["metadata"]["deletionTimestamp"].is_null() && scene::is_ready(pod)
}

#[test]
fn one_eviction_fails_a_job_without_retries_and_its_pods_stay() {
    scene::with_rights(async |control_plane| {
        scene::nodes(control_plane, 3).await;
        // The simulated kubelet would end the pods of a Job at once.
        control_plane.component("stop", "kwok");
        for (name, limit) in [("fragile", 0), ("robust", 6)] {
            control_plane.apply(&job(name, limit));
        }
        eventually("four pods on nodes", 60, async || {
            let pods = control_plane.list("/api/v1/namespaces/default/pods").await;
            let bound = pods.iter().filter(|pod| !scene::node_of(pod).is_empty()).count();
            that(bound == 4, format!("{bound} of 4"))
        })
        .await;

        let launch = Launch::written(control_plane, &policy("none")).await;
        let plan = eventually("pods old enough", 30, async || {
            let plan = launch.plan();
            let moves = plan["moves"].as_array().unwrap().len();
            that(moves > 0, kept(&plan).join(", ")).map(|()| plan)
        })
        .await;
        let moved = plan["moves"].as_array().unwrap().iter().map(|m| m["pod"].to_string());
        assert!(moved.into_iter().all(|pod| pod.contains("robust-")), "{plan:#}");
        let stay = kept(&plan);
        let fragile = |line: &&String| line.starts_with("fragile-");
        assert_eq!(stay.iter().filter(fragile).count(), 2, "{stay:?}");
        assert!(stay.iter().filter(fragile).all(|l| l.ends_with(" job-would-fail")), "{stay:?}");

        let pods = pods_of(control_plane, "fragile").await;
        evict(control_plane, &name(&pods[0])).await;
        eventually("the Job to fail", 60, async || {
            let job = "/apis/batch/v1/namespaces/default/jobs/fragile";
            let status = &control_plane.get(job).await["status"];
            let conditions = status["conditions"].as_array().into_iter().flatten();
            let mut reasons = conditions.into_iter().map(|c| c["reason"].to_string());
            that(reasons.any(|reason| reason.contains("BackoffLimitExceeded")), status.to_string())
        })
        .await;
        say("one eviction failed a Job with backoffLimit 0, and evenkeel had left it alone");
    });
}

#[test]
fn pods_stay_while_other_replicas_are_away() {
    scene::with_rights(async |control_plane| {
        scene::nodes(control_plane, 3).await;
        let spec = json!({"containers": containers()});
        control_plane.apply(&workload("StatefulSet", "db", 3, &spec));
        control_plane.apply(&workload("Deployment", "web", 4, &spec));
        all_ready(control_plane, "db", 3).await;
        all_ready(control_plane, "web", 4).await;

        control_plane.component("stop", "scheduler");
        let web = pods_of(control_plane, "web").await;
        for pod in ["db-0".to_owned(), name(&web[0]), name(&web[1])] {
            evict(control_plane, &pod).await;
        }
        let launch = Launch::written(control_plane, &policy("25%")).await;
        let stay = eventually("replacements that wait", 60, async || {
            let plan = launch.plan();
            let stay = kept(&plan);
            let counted = |code: &str| stay.iter().filter(|line| line.ends_with(code)).count();
            that(
                counted(" workload-limit") == 2
                    && counted(" waits-in-order") == 2
                    && plan["moves"].as_array().unwrap().is_empty(),
                plan.to_string(),
            )
            .map(|()| stay)
        })
        .await;
        say(&format!("stay while others are away: {}", stay.join(", ")));

        // The StatefulSet creates no db-2 as long as db-0 waits.
        evict(control_plane, "db-2").await;
        eventually("the end of db-2", 60, async || {
            let names: Vec<String> = pods_of(control_plane, "db").await.iter().map(name).collect();
            that(names == ["db-0", "db-1"], names.join(", "))
        })
        .await;
        control_plane.component("start", "scheduler");
        all_ready(control_plane, "db", 3).await;
    });
}

/// The flaw of a workload of the broken cluster. Two thirds of them are sound.
#[derive(Clone, Copy)]
enum Flaw {
    /// Nothing, in a Deployment or a StatefulSet.
    None,
    /// The template names the node.
    NodeName,
    /// Its PriorityClass is deleted later.
    LostClass,
    /// Its claim is being deleted later.
    LostClaim,
    /// The pods belong to a ConfigMap, which is no controller.
    ForeignOwner,
    /// The Deployment and its ReplicaSet are deleted later, and their pods are not.
    Orphans,
    /// The work ends, and its controller is of a kind that is not watched.
    Ends,
}

const FLAWS: [Flaw; 7] = [
    Flaw::None,
    Flaw::NodeName,
    Flaw::LostClass,
    Flaw::LostClaim,
    Flaw::ForeignOwner,
    Flaw::Orphans,
    Flaw::Ends,
];

/// The moves that are wanted in all.
const MOVES: usize = 200;

#[test]
fn no_move_of_a_broken_cluster_leaves_a_pod_pending() {
    scene::with_rights(async |control_plane| {
        scene::nodes(control_plane, 12).await;
        let sound = broken_workloads(control_plane).await;
        let launch = Launch::written(control_plane, &policy("none")).await;
        let (mut rounds, mut moved) = (0, 0);
        while moved < MOVES {
            assert!(rounds < 12, "{moved} moves in {rounds} rounds");
            assert!(launch.run(&["--once"]).ended(180).await.success());
            (rounds, moved) = (rounds + 1, evictions(control_plane).len());
            for (app, replicas) in &sound {
                all_ready(control_plane, app, *replicas).await;
            }
        }
        let pods = control_plane.list("/api/v1/namespaces/default/pods").await;
        let pending: Vec<String> = pods.iter().filter(|pod| !is_ready(pod)).map(name).collect();
        assert!(pending.is_empty(), "{pending:?}");
        // Those without a replacement are still the pods that were created first.
        assert_eq!(pods.len(), PODS, "a pod was lost");
        say(&format!("{moved} moves in {rounds} rounds, and every replacement runs"));
    });
}

/// The pods of the broken cluster.
const PODS: usize = 160;

/// Creates 40 workloads of four pods, of which each has one flaw or none, and then breaks what they
/// need. Returns those that must be whole in the end.
async fn broken_workloads(control_plane: &ControlPlane) -> Vec<(String, usize)> {
    let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": "lost"}, "value": 7});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "owner", "namespace": "default"}});
    control_plane.apply(&class.to_string());
    control_plane.apply(&map.to_string());
    let owner = "/api/v1/namespaces/default/configmaps/owner";
    let uid = control_plane.get(owner).await["metadata"]["uid"].clone();
    let (mut sound, mut manifests) = (Vec::new(), Vec::new());
    let (mut orphans, mut claims) = (Vec::new(), Vec::new());
    for number in 0..PODS / 4 {
        // Two of three are sound.
        let flaw = if number % 3 == 0 { FLAWS[number / 3 % FLAWS.len()] } else { Flaw::None };
        let app = format!("app{number}");
        manifests.extend(broken(&app, number, flaw, &uid));
        match flaw {
            Flaw::None => sound.push((app, 4)),
            Flaw::Orphans => orphans.push(app),
            Flaw::LostClaim => claims.push(app),
            Flaw::NodeName | Flaw::LostClass | Flaw::ForeignOwner | Flaw::Ends => {}
        }
    }
    let list = manifests.join(",");
    control_plane.apply(&format!(r#"{{"apiVersion": "v1", "kind": "List", "items": [{list}]}}"#));
    eventually("all pods to be Ready", 240, async || {
        let pods = control_plane.list("/api/v1/namespaces/default/pods").await;
        let ready = pods.iter().filter(|pod| is_ready(pod)).count();
        that(ready == PODS, format!("{ready} of {PODS}"))
    })
    .await;
    control_plane.kubectl(&["delete", "priorityclass", "lost"]);
    for claim in claims {
        // Its protection keeps it until no pod uses it.
        control_plane.kubectl(&["delete", "pvc", &claim, "--wait=false"]);
    }
    for app in orphans {
        let label = format!("app={app}");
        control_plane.kubectl(&["delete", "deployment", &app, "--cascade=orphan"]);
        control_plane.kubectl(&["delete", "replicaset", "-l", &label, "--cascade=orphan"]);
    }
    sound
}

/// The manifests of one workload of four pods.
fn broken(app: &str, number: usize, flaw: Flaw, uid: &Value) -> Vec<String> {
    let spec = |more: Value| {
        let mut spec = json!({"containers": containers()});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    };
    let pods = |owner: Value, more: Value| {
        let pod = move |i: usize| {
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("{app}-{i}"),
                "namespace": "default", "labels": {"app": app}, "ownerReferences": [owner]},
                "spec": spec(more.clone())})
            .to_string()
        };
        (0..4).map(pod).collect::<Vec<_>>()
    };
    let of_map = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid});
    let mut controller = of_map.clone();
    controller["controller"] = json!(true);
    let deployment = |more: Value| vec![workload("Deployment", app, 4, &spec(more))];
    match flaw {
        Flaw::None if number.is_multiple_of(2) => {
            vec![workload("StatefulSet", app, 4, &spec(json!({})))]
        }
        Flaw::None | Flaw::Orphans => deployment(json!({})),
        Flaw::NodeName => deployment(json!({"nodeName": format!("n{}", number % 12 + 1)})),
        Flaw::LostClass => deployment(json!({"priorityClassName": "lost"})),
        Flaw::LostClaim => {
            let volume = json!({"name": "data", "persistentVolumeClaim": {"claimName": app}});
            let deployment = deployment(json!({"volumes": [volume]}));
            [claim(app), deployment].concat()
        }
        Flaw::ForeignOwner => pods(of_map, json!({})),
        Flaw::Ends => pods(controller, json!({"restartPolicy": "Never"})),
    }
}

/// A claim that many nodes can use, and its volume.
fn claim(name: &str) -> Vec<String> {
    let (modes, size) = (json!(["ReadWriteMany"]), json!({"storage": "1Gi"}));
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"accessModes": modes, "storageClassName": "", "volumeName": name,
            "resources": {"requests": size}}});
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {"accessModes": modes, "capacity": size, "nfs": {"server": "nfs", "path": "/"}}});
    vec![volume.to_string(), claim.to_string()]
}
